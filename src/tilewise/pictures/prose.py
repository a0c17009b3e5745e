"""A layout in words: as arithmetic that a person would write, its facts, and all of it in a sentence.

S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]      laneid = 4*i + j, reg = k
Swizzle<3,3,3> o S[(128, 64) : (64, 1)]         m = x ^ (x>>3 & 56), x = 64*i + j
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from tilewise.check.diagnose import mode_of
from tilewise.core.axes import STORAGE, Axis
from tilewise.core.digits import Digit, merged
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, NotDecided
from tilewise.core.integers import counted
from tilewise.core.layout import Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import extents_of, leaves
from tilewise.core.units import converted, unit_bits
from tilewise.hardware.modes import CHUNK, Mode
from tilewise.hardware.tcgen05.addresses import COLUMN_BITS
from tilewise.pictures.scene.words import left_behind, size_words, taken_words

LETTERS = "ijklnpqr"
"""Names of modes; m is an axis."""


def index_names(layout: Layout) -> tuple[str, ...]:
    """Return the names of the index's modes: i, j, k, ..., or i0, i1, ... where there are many.

    >>> from tilewise import S
    >>> index_names(S[(8, (4, 2)) : (8, (2, 1))])
    ('i', 'j')
    """
    modes = len(layout.shape)
    return tuple(LETTERS[:modes]) if modes <= len(LETTERS) else tuple(f"i{mode}" for mode in range(modes))


def formulas_of(layout: Layout) -> tuple[str, ...]:
    """Return the place of an element's first copy, a formula for each axis that something moves along.

    >>> from tilewise import S, Swizzle, laneid, reg
    >>> formulas_of(S[(16, (4, 2)) : (4@laneid, (1@laneid, 1@reg))])
    ('laneid = 4*i + j//2', 'reg = j%2')
    >>> formulas_of(Swizzle(3, 3, 3) @ S[(128, 64) : (64, 1)])
    ('m = x ^ (x>>3 & 56), x = 64*i + j',)
    """
    layout = by_coordinates(layout)
    return tuple(_formula(layout, layout.axis(name)) for name in layout.moving)


def _formula(layout: Layout, axis: Axis) -> str:
    offset, outer = layout.offset[axis], layout.outer[axis]
    terms = " + ".join(_terms(layout, axis)).replace("+ -", "- ")
    inner = terms + _signed(offset) if terms else str(offset)
    chain = [swizzle for swizzle in reversed(layout.swizzles) if swizzle.bits]
    if axis != layout.swizzled_axis or not (chain or outer):
        return f"{axis} = {inner}"
    text = "x"
    if len(chain) == 1:
        (swizzle,) = chain
        shift = f">>{swizzle.shift}" if swizzle.shift > 0 else f"<<{-swizzle.shift}"
        text = f"x ^ (x{shift} & {swizzle.target})"
        text = f"({text})" if outer else text
    for swizzle in chain[len(chain) == 1 :]:
        text = f"Swizzle<{swizzle.bits},{swizzle.base},{swizzle.shift}>({text})"
    return f"{axis} = {text}{_signed(outer)}, x = {inner}"


def _signed(steps: int) -> str:
    return f" {'-' if steps < 0 else '+'} {abs(steps)}" if steps else ""


def mode_digits(layout: Layout, axis: Axis) -> list[list[Digit]]:
    """Return for each mode the fewest digits that move along an axis as it does, slowest first.

    >>> from tilewise import S, m
    >>> mode_digits(S[(8, (4, 2)) : (8, (2, 1))], m)
    [[(8, 8)], [(8, 1)]]
    """
    strides = iter(layout.strides)
    return [merged([(extent, next(strides)[axis]) for extent in leaves((mode,))]) for mode in layout.shape]


def _terms(layout: Layout, axis: Axis) -> Iterator[str]:
    """Yield a term for each digit that moves along an axis: its part of the mode, times its stride."""
    for name, digits in zip(index_names(layout), mode_digits(layout, axis), strict=True):
        below = prod(extent for extent, _ in digits)
        for position, (extent, factor) in enumerate(digits):
            below //= extent
            text = name if below == 1 else f"{name}//{below}"
            text = f"{text}%{extent}" if position else text
            text = text if text.isalnum() or factor == 1 else f"({text})"
            if factor:
                yield f"{'-' * (factor < 0)}{text}" if abs(factor) == 1 else f"{factor}*{text}"


BITS = {"byte": 8, "bit": 1}


def facts_of(layout: Layout, dtype: DType | None = None) -> Iterator[str]:
    """Return the facts of a layout, in the order in which one would ask.

    >>> from tilewise import S, Swizzle
    >>> print(*facts_of(S[(8, 64) : (72, 1)], DType.of("bf16")), sep="\\n")
    512 elements at m = 0..567: 1136 B
    one to one; 56 places between hold nothing, such as 64@m
    """
    try:
        ends = {axis.name: layout.extremes(axis) for axis in layout.axes}
    except NotDecided:
        yield counted(layout.size, "element")
    else:
        yield size_words(layout.size, ends, _room(layout, ends, dtype))
    one_to_one, holes = layout.injective, layout.holes
    such = f", such as {holes.witness}" if holes.witness is not None else ""
    shared = "" if one_to_one.answer else one_to_one.reason
    yield shared if one_to_one.answer is None else taken_words(shared, holes.count, such)
    if layout.disjoint_copies.answer is False:
        yield f"copies coincide: {layout.disjoint_copies.reason}"
    if any(swizzle.bits for swizzle in layout.swizzles):
        period = _in_bytes(layout, layout.period, dtype)
        yield f"its base is a multiple of {period}, by which the swizzle repeats"
    yield from left_behind(layout)


def _room(layout: Layout, ends: Mapping[str, tuple[int, int]], dtype: DType | None) -> str:
    """Return the bytes between the ends of a layout on one axis of storage, where they are known."""
    ((low, high), *more) = ends.values()
    if more or layout.axes[0].kind != STORAGE or (dtype is None and layout.unit == "element"):
        return ""
    return _in_bytes(layout, 1 + high - low, dtype)


def _in_bytes(layout: Layout, steps: int, dtype: DType | None) -> str:
    """So many steps of storage in bytes, where that is known."""
    bits = BITS.get(layout.unit) or (None if dtype is None else dtype.bits)
    if bits is None:
        return f"{steps} {layout.unit}s"
    return f"{steps * bits // 8} B"


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
"""Return the name of an axis's places."""


def prose_of(layout: Layout, dtype: DType | None = None) -> str:
    """Return the layout in a sentence.

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
    swizzles = [swizzle for swizzle in layout.swizzles if swizzle.bits]
    if swizzles:
        mode = None if dtype is None else swizzle_mode(layout, dtype)
        chunk = 1 << min(swizzle.base for swizzle in swizzles)
        many = f"chunks of {chunk} {layout.unit}s" if chunk > 1 else f"{layout.unit}s"
        said.append(
            f"chunks of {CHUNK} B are permuted in each {mode.period} B: the hardware's {mode} mode"
            if mode is not None
            else f"{many} are permuted in each {layout.period}"
        )
    try:
        said += [f"{layout.copies} copies of each"] if layout.copies > 1 else []
    except NotDecided:
        said.append("how many copies are distinct was not decided")
    return "; ".join(said)


def _spread(layout: Layout, dtype: DType | None) -> str:
    """Return the shape, and the places of each kind of axis; of memory alone its order."""
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
    """Return the number of places on an axis; of columns of tensor memory, where the type has a width."""
    many = layout.span(axis)
    if axis.name == "TCol" and dtype is not None:
        return counted(-(-many * unit_bits(layout.unit, dtype) // COLUMN_BITS), "column")
    return f"{many} {CALLED.get(axis.name, f'of {axis}')}"


# -- one axis of storage -----------------------------------------------------------------------------


def _ordered(layout: Layout) -> str:
    """Return the order in which the modes follow one another in memory."""
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


def swizzle_mode(layout: Layout, dtype: DType) -> Mode | None:
    """Return the mode of the hardware whose permutation of bytes the swizzle is; None of others, and without
    one.
    """
    if not layout.swizzles:
        return None
    try:
        mode = mode_of(converted(layout, "byte", dtype).swizzles)
    except LayoutError:
        return None
    return mode if mode and mode.bits else None
