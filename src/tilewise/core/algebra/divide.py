"""Divides: a layout as tiles of it, and which tile.

    logical    A o (B, complement(B, size of A)):  (in a tile, which tile)
    zipped     ((in a tile), (which tile));   tiled  ((in a tile), which tile, ...);   flat  all side by side

A tiler is a layout B of A's flat index, an extent n (for n : 1), or a tuple of tilers, one a mode: None
keeps its mode whole, `...` all that are not named, and modes without a tiler are not cut. All is on the
side of the index: copies, offsets and swizzles of A stay as they are. Nothing is rounded up: where tiles
do not fill A exactly there is no answer.
"""

from __future__ import annotations

from tilewise.core import orders
from tilewise.core.algebra.complements import complement
from tilewise.core.algebra.composition import as_tiler, compose
from tilewise.core.algebra.modes import as_tilers
from tilewise.core.algebra.pieces import Cut, acting, one_mode, split_evenly
from tilewise.core.errors import Refused
from tilewise.core.layout import Layout
from tilewise.core.vectors import ZERO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def logical_divide(layout: Layout, tiler: Any, *more: Any) -> Layout:
    """(what lies in a tile, which tile); of a tuple of tilers, so for every mode.

        requires       the translates of the tiler fill [0, size of A), or of the mode
        postcondition  result(t, r) == A(B(t) + C(r)) with C = complement(B, size of A)
        refused        TW506 the tiles do not fill A; else what `compose` refuses

    >>> from tilewise import S
    >>> logical_divide(S[(3, 2, 4) : (8, 1, 2)], S[4 : 2])
    S[((2, 2), (3, 2)) : ((1, 4), (8, 2))]
    >>> logical_divide(S[(8, 6) : (6, 1)], (4, None))
    S[((4, 2), 6) : ((6, 24), 1)]
    """
    if more or isinstance(tiler, tuple | list):
        return _cut(layout, tiler, more).logical()
    return _in_tiles(layout, tiler)


def zipped_divide(layout: Layout, tiler: Any, *more: Any) -> Layout:
    """((all modes in a tile), (which tile, all modes)).

        postcondition  its first mode is compose(A, tiler)

    >>> from tilewise import S
    >>> zipped_divide(S[(8, 6) : (6, 1)], (4, 3))
    S[((4, 3), (2, 2)) : ((6, 1), (24, 3))]
    """
    return _cut(layout, tiler, more).zipped()


def tiled_divide(layout: Layout, tiler: Any, *more: Any) -> Layout:
    """((all modes in a tile), which tile, mode by mode).

    >>> from tilewise import S
    >>> tiled_divide(S[(8, 6) : (6, 1)], (4, 3))
    S[((4, 3), 2, 2) : ((6, 1), 24, 3)]
    """
    return _cut(layout, tiler, more).tiled()


def flat_divide(layout: Layout, tiler: Any, *more: Any) -> Layout:
    """(in a tile, mode by mode, which tile, mode by mode).

    >>> from tilewise import S
    >>> flat_divide(S[(8, 6) : (6, 1)], (4, 3))
    S[(4, 3, 2, 2) : (6, 1, 24, 3)]
    """
    return _cut(layout, tiler, more).flat()


def _cut(layout: Layout, tiler: Any, more: tuple[Any, ...]) -> Cut:
    return Cut.of(layout, as_tilers(tiler, more), _in_tiles)


@orders.by_flat_in_modes
def _in_tiles(layout: Layout, tiler: Any) -> Layout:
    """`logical_divide` by one tiler of the flat index: a layout of two modes."""
    inner = acting(as_tiler(tiler))
    try:
        rest = complement(inner, layout.size)
    except Refused as no:
        if no.code != "TW506":
            raise
        raise Refused(
            "TW506",
            f"tiles {inner} do not make up {layout.size} elements: {no.message}",
            witness=no.witness,
            hint=_padded(layout, inner),
        ) from None
    shape = one_mode(inner.shape), one_mode(rest.shape)
    strides = (inner.strides or (ZERO,)) + rest.strides
    both = inner.with_parts(shape, strides, inner.replica, inner.offset)
    return split_evenly(layout, both) or compose(layout, both)


def _padded(layout: Layout, inner: Layout) -> str:
    """Say what to change where tiles do not fill a layout: CuTe takes tiles that run over its end."""
    advice = "choose a tiler that repeats evenly, or pad the layout"
    try:
        rest = complement(inner, layout.size, round_up=True)
    except Refused:
        return f"{advice}: no tile is cut off or run over"
    reached = rest.size * inner.size
    return f"{advice} to {reached} elements: CuTe goes on to there, with the complement {rest}"
