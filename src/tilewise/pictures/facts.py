"""The facts of a layout as short sentences: how large, whether one to one, what it is aligned to."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.core.axes import STORAGE
from tilewise.core.dtypes import DType
from tilewise.core.errors import NotDecided
from tilewise.core.integers import counted
from tilewise.core.layout import Layout

BITS = {"byte": 8, "bit": 1}


def facts_of(layout: Layout, dtype: DType | None = None) -> Iterator[str]:
    """What is true of a layout, in the order in which one would ask.

    >>> from tilewise import S, Swizzle
    >>> print(*facts_of(S[(8, 64) : (72, 1)], DType.of("bf16")), sep="\\n")
    512 elements at m = 0..567: 1136 B
    one to one; 56 places between hold nothing, such as 64@m
    """
    yield _size(layout, dtype)
    yield _taken(layout)
    if layout.disjoint_copies.answer is False:
        yield f"copies coincide: {layout.disjoint_copies.reason}"
    if any(swizzle.bits for swizzle in layout.swizzles):
        period = _in_bytes(layout, layout.period, dtype)
        yield f"its base is a multiple of {period}, by which the swizzle repeats"
    yield from left_behind(layout)


def left_behind(layout: Layout) -> Iterator[str]:
    """Where a known axis is left behind.

    >>> from tilewise import S, laneid
    >>> print(*left_behind(S[64 : 1@laneid]))
    laneid reaches 63: a wave of CDNA has lanes 0 to 63, and a warp 0 to 31
    """
    for axis in layout.axes:
        facts = axis.facts
        if facts is None or facts.extent is None:
            continue
        try:
            low, high = layout.extremes(axis)
        except NotDecided:
            continue
        if said := facts.beyond(axis.name, low, high):
            yield said


def _size(layout: Layout, dtype: DType | None) -> str:
    many = counted(layout.size, "element")
    try:
        ends = [(axis, *layout.extremes(axis)) for axis in layout.axes]
    except NotDecided:
        return many
    places = ", ".join(f"{axis} = {low}..{high}" for axis, low, high in ends)
    (axis, low, high), *more = ends
    room = "" if more or axis.kind != STORAGE else _in_bytes(layout, 1 + high - low, dtype)
    return f"{many} at {places}" + (
        f": {room}" if room and room != f"{1 + high - low} {layout.unit}s" else ""
    )


def _in_bytes(layout: Layout, steps: int, dtype: DType | None) -> str:
    """So many steps of storage in bytes, where that is known."""
    bits = BITS.get(layout.unit) or (None if dtype is None else dtype.bits)
    if bits is None:
        return f"{steps} {layout.unit}s"
    return f"{steps * bits // 8} B"


def _taken(layout: Layout) -> str:
    """Whether places are shared, and whether some are left out."""
    injective, holes = layout.injective, layout.holes
    if injective.answer is None:
        return injective.reason
    said = "one to one" if injective.answer else f"not one to one: {injective.reason}"
    if holes.count is None:
        return said
    if not holes.count:
        return f"{said}, without holes" if injective.answer else said
    such = f", such as {holes.witness}" if holes.witness is not None else ""
    between = "place between holds" if holes.count == 1 else "places between hold"
    return f"{said}; {holes.count} {between} nothing{such}"
