"""Functions of the coordinates, as Python's lambdas: `lambda i, j: i * 64 + (j ^ i % 8 * 8)`.

A number is the offset of an element on `m`; several axes are named, as in `{laneid: i, reg: j}`. The text
is arithmetic on integers and is not run (see `formulas`). The reader evaluates every element,
so the layout is the function. A refusal names the element that no layout can place.
"""

from __future__ import annotations

from tilewise.core.algebra.recognition import recognise
from tilewise.core.axes import Axis
from tilewise.core.layout import Layout
from tilewise.core.shapes import Shape, extents_of
from tilewise.notation.dialects.given import Given, Reading
from tilewise.notation.formulas import Formula, read_lambda

EXAMPLES = (
    Given("lambda i, j: i * 64 + (j ^ (i % 8) * 8)", shape=(64, 64)),
    Given("lambda i, j: {laneid: i % 8 * 4 + j % 8 // 2, reg: i // 8 * 2 + j % 2}", shape=(16, 8)),
    Given("lambda x: x // 5 + x % 5 * 7", shape=(35,)),
)


def read(given: Given) -> Reading:
    """Return the layout that a function is on a shape."""
    formula = read_lambda(given.text, given.let)
    shape = given.needs_shape("a function of coordinates")
    return Reading(layout_of(formula, shape))


def layout_of(formula: Formula[Axis], shape: Shape) -> Layout:
    """Return the layout that a formula is on a shape, or refuse."""
    return recognise(formula.listed(extents_of(shape)), shape=shape)
