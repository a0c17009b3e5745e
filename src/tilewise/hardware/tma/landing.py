"""The byte of shared memory at which TMA puts every element of a box.

The rows of the inner dimension stand one after another from the address that the copy is given, the
box's own order above them; the mode's swizzle acts on the absolute address:

    byte(i, ..., j) = Sw(start + row(i, ...) * pitch + j * bytes)
"""

from __future__ import annotations

from dataclasses import replace

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_extent, as_int
from tilewise.core.layout import Layout
from tilewise.core.shapes import leaves
from tilewise.core.units import converted
from tilewise.core.vectors import Vector, as_vector
from tilewise.hardware.digits import layout_of
from tilewise.hardware.modes import Mode
from tilewise.hardware.tma.rules import MAX_RANK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def landing(box: Sequence[int] | int, dtype: DType | str, mode: Mode | str, start: int = 0) -> Layout:
    """Return the byte in shared memory of every element of a box, slowest dimension first.

    Elements of less than a byte are in the byte that holds them. `start` is the copy's address.

        requires       1 to 5 dimensions; a row of the inner dimension is a whole number of bytes
        postcondition  the shape is the box

    >>> print(landing((128, 64), "bf16", "128B"))
    Swizzle<3,4,3> o S[(128, 64) : (128, 2)]
    >>> print(landing((2, 128, 64), "bf16", "128B", start=1024))
    Swizzle<3,4,3> o (S[(2, 128, 64) : (16384, 128, 2)] + 1024)
    """
    mode, element = Mode.of(mode), DType.of(dtype)
    extents = tuple(as_extent(extent) for extent in ((box,) if isinstance(box, int) else box))
    if not 1 <= len(extents) <= MAX_RANK:
        raise LayoutError(
            "TW602", f"a box of {len(extents)} dimensions", hint=f"TMA copies 1 to {MAX_RANK} dimensions"
        )
    row, each, digits = row_bytes(extents[-1], element), per_byte(element), [*enumerate(extents)]
    if each > 1:  # narrower elements travel as bytes
        digits[-1], element = (len(extents) - 1, row), DType.of("u8")
    landed = converted(stacked(digits[::-1], len(extents), element, mode), "byte", element)
    return in_shared_bytes(landed, each) + as_int(start, "the address of the copy")


def in_shared_bytes(layout: Layout, each: int) -> Layout:
    """Return a layout of bytes as one of elements, `each` of which share a byte along the last dimension.

    >>> print(in_shared_bytes(landing((8, 128), "u8", "128B"), 2))
    Swizzle<3,4,3> o S[(8, (128, 2)) : (128, (1, 0))]
    """
    *outer, inner = layout.shape
    shape = (*outer, (*leaves((inner,)), each))
    return replace(layout, shape=shape, strides=(*layout.strides, Vector())) if each > 1 else layout


def row_pitch(mode: Mode, inner_bytes: int) -> int:
    """Return the bytes from one row of the inner dimension to the next.

    Under a swizzle a row takes its whole width, as a device showed; the rest of a narrower row is not
    written. Without a swizzle rows are packed.

    >>> row_pitch(Mode.of("128B"), 32), row_pitch(Mode.of("none"), 32)
    (128, 32)
    """
    return max(inner_bytes, mode.width) if mode.bits else inner_bytes


def row_bytes(extent: int, element: DType) -> int:
    """Return the bytes of a row of the inner dimension; refuse a part of a byte.

    >>> row_bytes(64, DType.of("bf16")), row_bytes(64, DType.of("e2m1"))
    (128, 32)
    """
    count, rest = divmod(extent * element.bits, 8)
    if rest:
        raise Refused(
            "TW607",
            f"{extent} elements of {element} end inside a byte",
            witness={"box": extent, "bits": element.bits},
            hint="rows of the inner dimension are whole multiples of 16 bytes",
        )
    return count


def stacked(digits: Sequence[tuple[int, int]], rank: int, dtype: DType | str, mode: Mode | str) -> Layout:
    """Return the tile [dimension, ...] that rows of boxes fill one after another, in elements.

    Each of `digits` is a dimension and an extent, the fastest first. The first is the row, and rows are a
    pitch apart.

    >>> print(stacked([(1, 64), (0, 128), (1, 2)], 2, "bf16", "128B"))
    Swizzle<3,3,3> o S[(128, (2, 64)) : (64, (8192, 1))]
    """
    mode, element = Mode.of(mode), DType.of(dtype)
    modes: list[list[tuple[int, Vector]]] = [[] for _ in range(rank)]
    (dim, row), *others = digits
    modes[dim] = [(row, as_vector(1))]
    step = row_pitch(mode, row_bytes(row, element)) * 8 // element.bits
    for dim, extent in others:
        modes[dim].insert(0, (extent, as_vector(step)))
        step *= extent
    plain = layout_of(*(digits or [(1, Vector())] for digits in modes))
    return plain.swizzled((mode.swizzle.scaled(8, element.bits),)) if mode.bits else plain


def per_byte(element: DType) -> int:
    """Return the number of elements in a byte, 1 for a byte and more; refuse elements that cross bytes.

    >>> per_byte(DType.of("bf16")), per_byte(DType.of("e2m1"))
    (1, 2)
    """
    each, rest = divmod(8, element.bits) if element.bits < 8 else (1, 0)
    if rest:
        raise Refused(
            "TW602",
            f"elements of {element.bits} bits cross bytes",
            witness={"dtype": element.name},
            hint="describe the copy in bytes (u8)",
        )
    return each
