"""The function from an index to the place of its element."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewise.codegen.bits import Diagonals
from tilewise.codegen.expressions import variable
from tilewise.codegen.functions import Function, Index, Range, listed
from tilewise.codegen.names import FreeNames, chosen
from tilewise.codegen.readings import DigitReading, candidates, cheapest_together
from tilewise.core.canonical import merged_replica
from tilewise.core.errors import NotDecided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.axes import Axis
    from tilewise.core.layout import Layout


def place_function(layout: Layout, name: str, index: Index, arguments: Sequence[str] = ()) -> Function:
    """Return the places of the elements of a layout, one result an axis.

        requires       the coordinates lie in the shape, or the flat index below the size
        postcondition  results[a](index, copy) for all copies are the places of the index

    >>> from tilewise import S
    >>> function = place_function(S[(8, 64) : (64, 1)], "place_of", Index())
    >>> [str(argument) for argument in function.arguments], [str(place) for place in function.results]
    (['i in 0..7', 'j in 0..63'], ['m in 0..511'])
    """
    copies, start = merged_replica(layout.replica)
    modes = [*index.modes(layout), *([copies] if copies else [])]
    defaults = [*index.names(layout), *(["copy"] if copies else [])]
    names = FreeNames()
    given, readings = [], []
    for wanted, iters in zip(chosen(defaults, arguments), modes, strict=True):
        last = prod(it.extent for it in iters) - 1
        given.append(Range(names.free(wanted), 0, last))
        value = Diagonals.of(variable(given[-1].name, 0, last))
        readings.append(DigitReading(value, tuple((it.extent, layout.on_axes(it.stride)) for it in iters)))
    ways = []
    for i, axis in enumerate(layout.axes):
        chain = layout.swizzles if axis == layout.swizzled_axis else ()
        ways.append(candidates(readings, i, layout.offset[axis] + start[axis], chain, layout.outer[axis]))
    places = listed([axis.name for axis in layout.axes])
    call = f"{name}({', '.join(argument.name for argument in given)})"
    counts = f", counted in {layout.unit}s" if layout.unit != "element" else ""
    which = f"; {given[-1].name} says which of its copies" if copies else ""
    sentences = [f"{call}: where the element lives, as {places}{counts}{which}."]
    if index.flat:
        sentences.append(f"{given[0].name} is the flat index ({index.order}).")
    results = tuple(range_on(layout, axis, axis.name) for axis in layout.axes)
    return Function(name, tuple(given), results, cheapest_together(ways), layout, index, tuple(sentences))


def range_on(layout: Layout, axis: Axis, name: str) -> Range:
    """Return the ends of an axis."""
    try:
        return Range(name, *layout.extremes(axis))
    except NotDecided:
        return Range(name, None, None)
