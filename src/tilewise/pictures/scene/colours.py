"""What gives an element its colour: its owner, the chunk that a swizzle moves, or eight bands of memory."""

from __future__ import annotations

from collections.abc import Sequence

from tilewise.core.axes import STORAGE
from tilewise.core.layout import Layout
from tilewise.pictures.scene.lines import extent
from tilewise.pictures.scene.logical import FAR
from tilewise.pictures.scene.model import Axis, Colour, Term

COLOURS = 8


def colour_of(layout: Layout, axes: Sequence[Axis], asked: str | None = None) -> Colour:
    """The colour by an axis that is asked for, else the one that tells most.

    That is the owner of most values, else the swizzled axis, else the first.

    >>> from tilewise import S, Swizzle, laneid, reg
    >>> colour_of(Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)], [Axis("m", "storage", 0, 511)]).words
    'by the chunks that the swizzle permutes'
    """
    owners = [axis for axis in axes if axis.kind != STORAGE]
    swizzled = [axis for axis in axes if layout.swizzles and axis.name == str(layout.swizzled_axis)]
    if asked is not None:
        axis = next(axis for axis in axes if axis.name == layout.axis(asked).name)
    else:
        axis = max(owners, key=extent) if owners else (*swizzled, *axes)[0]
    if axis in swizzled and layout.swizzles[-1].bits:
        target = layout.swizzles[-1].target
        chunks = 1 << layout.swizzles[-1].bits
        rule = Term(axis.name, divide=min(target & -target, FAR), modulo=min(COLOURS, chunks))
        return Colour(rule, "by the chunks that the swizzle permutes")
    many = extent(axis) > COLOURS
    if axis.kind == STORAGE:
        rule = Term(axis.name, COLOURS * axis.low, scale=COLOURS, divide=extent(axis))
        return Colour(rule, f"by {axis.name}" + (f" in {COLOURS} bands" if many else ""))
    return Colour(
        Term(axis.name, axis.low, modulo=COLOURS), f"by {axis.name}" + (f" mod {COLOURS}" if many else "")
    )
