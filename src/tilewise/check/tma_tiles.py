"""Tiles that TMA fills in one box, and wgmma's tiles of atoms for a tensor as it lies."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewise.check.tma_question import contiguous_dimension, refusal, steps_of
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_extent, counted
from tilewise.core.layout import Layout
from tilewise.core.vectors import as_vector
from tilewise.hardware.engines import engine
from tilewise.hardware.modes import Mode
from tilewise.hardware.operands.tiles import ORDERS
from tilewise.hardware.operands.tiles import tile as tile_of_atoms
from tilewise.hardware.tma.landing import row_bytes, row_pitch


def default_tile(
    shape: Sequence[int],
    tile: Sequence[int],
    dtype: DType | str,
    mode: Mode | str,
    *,
    strides: Sequence[int] | None = None,
    order: str | None = None,
) -> Layout:
    """The tile that TMA fills in one box: rows as wide as the swizzle, all of them, then the next columns.

    Contiguous where the tensor is. With `order`, a tile of wgmma's atoms, which follow one another down
    the rows (mn) or along K (k) first: for swizzled K-major tiles mn is the tile without `order`, for
    MN-major ones k is.

    >>> print(default_tile((4096, 4096), (128, 128), "bf16", "128B"))
    Swizzle<3,3,3> o S[(128, (2, 64)) : (64, (8192, 1))]
    >>> print(default_tile((4096, 4096), (128, 64), "bf16", "128B", strides=(1, 4096)))
    Swizzle<3,3,3> o S[((2, 64), 64) : ((4096, 1), 64)]
    """
    mode, element = Mode.of(mode), DType.of(dtype)
    extents = tuple(as_extent(extent) for extent in tile)
    steps = steps_of(shape, strides)
    dim = contiguous_dimension(shape, steps) - len(shape) + len(extents)
    if dim < 0:
        raise refusal(
            "contiguous",
            "the tile has one element of the dimension along which the tensor is contiguous",
            "give the tile a mode for that dimension",
        )
    if order is not None:
        if order not in ORDERS:
            raise LayoutError("TW601", f"{order!r} is no order of atoms", hint="known: mn k")
        if len(extents) != 2:
            raise LayoutError(
                "TW003",
                f"atoms in order {order} for a tile of {counted(len(extents), 'mode')}",
                hint="[rows, K]",
            )
        return tile_of_atoms(mode, ("mn", "k")[dim], element, *extents, order=order)
    wide = mode.elements(element) if mode.bits else extents[dim]
    if extents[dim] > wide and extents[dim] % wide:
        raise Refused(
            "TW603",
            f"{extents[dim]} elements of {element} are no whole rows of the {mode} swizzle, {wide} each",
            witness={"mode": mode.name, "row": wide, "tile": list(extents)},
            hint=f"take a multiple of {wide}, or a narrower mode",
        )
    return _rows_of(min(wide, extents[dim]), extents, dim, mode, element)


def mode_for_wgmma(tile: Sequence[int], dtype: DType | str, major: str) -> Mode | None:
    """The widest swizzle of which such a tile is whole atoms that wgmma reads; None where there is none.

    >>> [mode_for_wgmma(tile, "bf16", "k") for tile in ((128, 64), (128, 96), (128, 24), (4, 64))]
    [Mode.of('128B'), Mode.of('64B'), None, None]
    """
    name, wgmma = DType.of(dtype).name, engine("wgmma")
    if name not in wgmma.types or len(tile) != 2:
        return None
    intake = wgmma.intake(name, "B")
    if major not in intake.majors or tile[0] % intake.rows[0] or tile[1] % intake.k:
        return None
    bits = tile[1 if major == "k" else 0] * intake.dtype.bits
    swizzled = (mode for mode in reversed(intake.modes[major]) if mode.bits)
    return next((mode for mode in swizzled if bits % (mode.width * 8) == 0), None)


def _rows_of(inner: int, extents: tuple[int, ...], dim: int, mode: Mode, element: DType) -> Layout:
    """Rows of `inner` elements along a dimension, over the other dimensions, then the next group."""
    pitch = row_pitch(mode, row_bytes(inner, element)) * 8 // element.bits
    modes: list[int | tuple[int, int]] = list(extents)
    strides: list[tuple[int, ...]] = []
    for i in range(len(extents)):
        below = prod(extent for j, extent in enumerate(extents) if j > i and j != dim)
        strides.append((pitch * below,))
    modes[dim], strides[dim] = inner, (1,)
    if inner < extents[dim]:
        rows = prod(extent for i, extent in enumerate(extents) if i != dim)
        modes[dim], strides[dim] = (extents[dim] // inner, inner), (pitch * rows, 1)
    layout = Layout(tuple(modes), tuple(as_vector(step) for steps in strides for step in steps))
    return layout.swizzled((mode.swizzle.scaled(8, element.bits),)) if mode.bits else layout
