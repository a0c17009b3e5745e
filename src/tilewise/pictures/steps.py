"""From an index to its places, step by step: the definition, with the numbers filled in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewise.core.layout import Layout
from tilewise.core.shapes import spell
from tilewise.core.swizzles import Swizzle, undo_chain
from tilewise.core.text import vector_text
from tilewise.core.vectors import point

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAX_COPIES_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an explanation."""

    name: str
    lines: tuple[str, ...]


def steps_of(layout: Layout, flat: int, shape: Any = None) -> list[Step]:
    """Return the steps from a flat index to its places.

    >>> from tilewise import S, laneid, reg
    >>> for step in steps_of(S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)], 47):
    ...     print(step.name, *step.lines, sep="\\n  ")
    index
      (5, 3, 1) in (8, 4, 2) is element 47
    digits
      47 // 8     = 5   of 8
      47 // 2 % 4 = 3   of 4
      47 % 2      = 1   of 2
    strides
      5 * 4@laneid = 20@laneid
      3 * 1@laneid = 3@laneid
      1 * 1@reg    = 1@reg
    sum
      23@laneid + 1@reg
    place
      23@laneid + 1@reg
    """
    digits, strides, below = [], [], layout.size
    for position, it in enumerate(layout.shard):
        below //= it.extent
        digit = flat // below % it.extent
        formula = f"{flat}" + (f" // {below}" if below > 1 else "") + (f" % {it.extent}" if position else "")
        digits.append((formula, f"= {digit}", f"of {it.extent}"))
        stride = vector_text(it.stride)
        stride = f"({stride})" if len(it.stride.terms) > 1 else stride
        strides.append((f"{digit} * {stride}", f"= {vector_text(it.stride * digit)}"))
    index = layout.coordinates(flat, shape)
    written = str(index[0]) if len(index) == 1 else str(index)
    offset = layout.on_axes(layout.offset)
    summed = (a - o for a, o in zip(layout.before_swizzle(flat), offset, strict=True))
    steps = [
        Step("index", (f"{written} in {spell(layout.asked_in(shape))} is element {flat}",)),
        Step("digits", tuple(_aligned(digits))),
        Step("strides", tuple(_aligned(strides))),
        Step("sum", (str(point(layout.axes, summed)),)),
    ]
    if layout.offset.terms:
        total = point(layout.axes, layout.before_swizzle(flat))
        steps.append(Step("offset", (f"+ {vector_text(layout.offset)} = {total}",)))
    if layout.replica:
        base = layout.before_swizzle(flat)
        ends = [point(layout.axes, map(int.__add__, base, copy)) for copy in layout.copy_steps]
        starts = [point(layout.axes, copy) for copy in layout.copy_steps]
        lines = [f"+ {start} = {end}" for start, end in zip(starts, ends, strict=True)]
        steps.append(Step("copies", tuple(_some(lines))))
    for position, swizzle in reversed(list(enumerate(layout.swizzles))):
        steps.append(Step("xor", tuple(_xor_lines(layout, flat, position, swizzle))))
    if layout.outer.terms:
        steps.append(Step("outer", (f"+ {vector_text(layout.outer)}, outside the swizzle",)))
    places = [str(place) for place in layout.places(flat)]
    name = "place" if len(places) == 1 else "places"
    return [*(step for step in steps if step.lines), Step(name, tuple(_some(places)))]


def _xor_lines(layout: Layout, flat: int, position: int, swizzle: Swizzle) -> list[str]:
    """Return one swizzle of the chain at work on every copy's address."""
    axis = swizzle.axis
    lines = []
    outside = layout.swizzles[: position + 1]
    for place in layout.places(flat):
        before = undo_chain(outside, place[axis] - layout.outer[axis])
        field = (before & swizzle.source) >> (swizzle.base + max(0, swizzle.shift))
        flip = swizzle(before) ^ before
        low, high = swizzle.base + max(0, swizzle.shift), swizzle.base - min(0, swizzle.shift)
        bits = f"bits {low}..{low + swizzle.bits - 1}" if swizzle.bits else "no bits"
        lines.append(
            f"{swizzle}: {bits} of {before} are {field}; "
            f"{before} xor {field} << {high} = {before} xor {flip} = {swizzle(before)}@{axis}"
        )
    return _some(lines)


def _some(lines: list[str]) -> list[str]:
    if len(lines) <= _MAX_COPIES_SHOWN:
        return lines
    return [*lines[:_MAX_COPIES_SHOWN], f"... and {len(lines) - _MAX_COPIES_SHOWN} more"]


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows as columns."""
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "   ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        .rstrip()
        .replace("   =", " =")
        for row in rows
    ]
