"""A layout in a sentence: what it spreads over what, and in which order."""

from __future__ import annotations

from math import prod

from tilewise.check.diagnose import mode_of
from tilewise.core.axes import STORAGE, Axis
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, NotDecided
from tilewise.core.integers import counted
from tilewise.core.layout import Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import extents_of
from tilewise.core.units import converted, unit_bits
from tilewise.hardware.modes import CHUNK, Mode
from tilewise.hardware.tcgen05.addresses import COLUMN_BITS
from tilewise.pictures.formula import index_names, mode_digits

CALLED = {
    "laneid": "lanes",
    "reg": "registers",
    "wid_in_wg": "warps of a warpgroup",
    "warpid": "warps",
    "wgid": "warpgroups",
    "tx": "threads",
    "tid_in_wg": "threads of a warpgroup",
    "TLane": "lanes of tensor memory",
    "TCol": "steps of TCol",
    "m": "elements of memory",
}
"""What the places on an axis are called."""


def prose_of(layout: Layout, dtype: DType | None = None) -> str:
    """The layout in a sentence.

    >>> from tilewise import S, Swizzle, laneid, reg
    >>> print(prose_of(S[(128, 64) : (72, 1)]))
    128 x 64, row-major, rows 72 apart: 8 of padding
    >>> print(prose_of(Swizzle(3, 3, 3) @ S[(128, 64) : (64, 1)], DType.of("bf16")))
    128 x 64, row-major; chunks of 16 B are permuted in each 1024 B: the hardware's 128B mode
    >>> print(prose_of(S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]))
    8 x 4 x 2 over 32 lanes, in 2 registers
    """
    layout = by_coordinates(layout)
    said = [_spread(layout, dtype)]
    if any(swizzle.bits for swizzle in layout.swizzles):
        said.append(_swizzled(layout, dtype))
    try:
        said += [f"{layout.copies} copies of each"] if layout.copies > 1 else []
    except NotDecided:
        said.append("how many copies are distinct was not decided")
    return "; ".join(said)


def _spread(layout: Layout, dtype: DType | None) -> str:
    """The shape, and the places of each kind of axis; of memory alone its order."""
    extents = extents_of(layout.shape)
    shape = " x ".join(map(str, extents)) if len(extents) > 1 else counted(layout.size, "element")
    owners, storage = (
        " x ".join(_places(layout, axis, dtype) for axis in layout.axes if (axis.kind == STORAGE) == stored)
        for stored in (False, True)
    )
    if not owners:
        return shape + (_ordered(layout) if len(layout.axes) == 1 else f" in {storage}")
    return f"{shape} over {owners}" + (f", in {storage}" if storage else "")


def _places(layout: Layout, axis: Axis, dtype: DType | None) -> str:
    """How many places an axis has; columns of tensor memory where the type says how wide they are."""
    many = layout.span(axis)
    if axis.name == "TCol" and dtype is not None:
        return counted(-(-many * unit_bits(layout.unit, dtype) // COLUMN_BITS), "column")
    return f"{many} {CALLED.get(axis.name, f'of {axis}')}"


# -- one axis of storage -----------------------------------------------------------------------------


def _ordered(layout: Layout) -> str:
    """How the modes follow one another in memory."""
    steps = mode_digits(layout, layout.axes[0])
    if len(steps) == 2 and all(len(own) == 1 for own in steps):
        return _of_two(*(own[0] for own in steps))
    digits = [
        (abs(stride), extent, name)
        for name, own in zip(index_names(layout), steps, strict=True)
        for extent, stride in own
    ]
    if len(digits) == 1:
        return "" if digits[0][0] == 1 else f", {digits[0][0]} apart"
    order = sorted(digits)
    packed = all(stride == prod(extent for _, extent, _ in order[:i]) for i, (stride, *_) in enumerate(order))
    said = [f"{extent} of {name}" + ("" if packed else f" {stride} apart") for stride, extent, name in order]
    return f", in the order of addresses {', '.join(said)}" if said else ""


def _of_two(rows: tuple[int, int], columns: tuple[int, int]) -> str:
    (many, down), (wide, along) = rows, columns
    for major, name, step, inner, extent in (
        ("row", "rows", down, along, wide),
        ("column", "columns", along, down, many),
    ):
        if inner == 1 and step == 0:
            return f", {name} on top of each other"
        if inner == 1 and step == extent:
            return f", {major}-major"
        if inner == 1 and step > extent:
            return f", {major}-major, {name} {step} apart: {step - extent} of padding"
    return f", rows {down} apart, columns {along} apart"


# -- swizzles ----------------------------------------------------------------------------------------


def _swizzled(layout: Layout, dtype: DType | None) -> str:
    """What the swizzle does, in bytes where the type is known."""
    mode = None if dtype is None else swizzle_mode(layout, dtype)
    if mode is not None:
        return f"chunks of {CHUNK} B are permuted in each {mode.period} B: the hardware's {mode} mode"
    chunk = 1 << min(swizzle.base for swizzle in layout.swizzles if swizzle.bits)
    many = f"chunks of {chunk} {layout.unit}s" if chunk > 1 else f"{layout.unit}s"
    return f"{many} are permuted in each {layout.period}"


def swizzle_mode(layout: Layout, dtype: DType) -> Mode | None:
    """The mode of the hardware whose permutation of bytes the swizzle is; None of others, and without one."""
    if not layout.swizzles:
        return None
    try:
        mode = mode_of(converted(layout, "byte", dtype).swizzles)
    except LayoutError:
        return None
    return mode if mode and mode.bits else None
