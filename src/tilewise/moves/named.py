"""Named moves: each is a pair of layouts, and the box that moves where one of them is larger.

The extents are those of the array that the move reads, row by row as it lies in memory. The target is rounded
up to whole blocks or atoms, or on the way back the source; `shape` holds the extents of the elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any, cast

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused, of_kind
from tilewise.core.integers import as_extent, as_int, counted
from tilewise.core.layout import Layout
from tilewise.core.shapes import spell
from tilewise.core.vectors import as_vector
from tilewise.hardware.modes import Mode
from tilewise.hardware.operands import tiles
from tilewise.hardware.operands.template import check_major_word
from tilewise.hardware.tcgen05.scales import blocks
from tilewise.hardware.wgmma.instructions import INPUTS, Input
from tilewise.moves.types import given_type, says_a_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.moves.memory import Plan

LAYOUT = "such as S[(4, 8) : (8, 1)]; parse() reads texts"
"""The hint for a layout."""

SCALE = DType.of("b8")
"""The bits of a scale factor of any kind."""


@dataclass(frozen=True, slots=True)
class Named:
    """The places of elements before and after, and the box that moves.

    >>> move = transpose(8192, 4096)
    >>> move.plan("bf16").kind
    'tile'
    >>> import numpy as np
    >>> transpose(2, 3).move(np.arange(6)).tolist()
    [0, 3, 1, 4, 2, 5]
    """

    source: Layout
    target: Layout
    shape: tuple[int, ...] | None = None
    """The box that moves; None where source and target have one size."""
    dtype: DType | None = None
    """The type of an element, if the move fixes it."""

    def __post_init__(self) -> None:
        for layout, name in ((self.source, "the source"), (self.target, "the target")):
            of_kind(layout, Layout, f"a layout for {name}", LAYOUT)
        if self.dtype is not None:
            object.__setattr__(self, "dtype", given_type(self.dtype))

    def plan(self, dtype: DType | str | None = None, **asked: Any) -> Plan:
        """Return the plan of the move; `tilewise.plan` describes the options.

        >>> pack_scales_128x4(300, 5).plan().bytes
        4572
        """
        from tilewise.moves import plan

        return cast("Plan", plan(self, dtype=dtype, **asked))

    def move(self, x: Any, **asked: Any) -> Any:
        """Return the elements of x, moved; `tilewise.move` describes the options.

        >>> import numpy as np
        >>> pack_scales_128x4(2, 4).move(np.arange(8, dtype=np.uint8), fill=9)[:20].tolist()
        [0, 1, 2, 3, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 4, 5, 6, 7]
        """
        from tilewise.moves import move

        return move(x, self, **asked)

    def element(self, dtype: DType | str | None = None) -> DType:
        """Return the given type, or the type of the name; refuse a type of another width."""
        asked = given_type(self.dtype if dtype is None else dtype)
        if self.dtype is not None and asked.bits != self.dtype.bits:
            raise LayoutError(
                "TW106",
                f"the move is of elements of {self.dtype.bits} bits, and {asked} has {asked.bits}",
                hint=f"leave the type out: it is {self.dtype}",
            )
        return asked

    def element_of(self, itemsize: int, dtype: DType | str | None = None) -> DType | str | None:
        """Return the type that an array's elements of `itemsize` bytes are read as; None for its own type.

        >>> tile_for_wgmma(64, 64, "bf16").element_of(2), core_matrices(64, 64, "e2m1").element_of(1)
        (None, e2m1)
        """
        if dtype is not None:
            return self.element(dtype)
        if self.dtype is None or self.dtype.bits == 8 * itemsize:
            return None
        if self.dtype.bits < 8 and itemsize == 1:
            return self.dtype
        raise LayoutError(
            "TW106",
            f"the move is of elements of {self.dtype.bits} bits, "
            f"and the array's have {counted(itemsize, 'byte')}",
            hint=f'dtype="{self.dtype}" says that its bytes hold {self.dtype}',
        )


def whole_move(source: Any, target: Any, shape: Any) -> Named:
    """Return the named move given in place of two layouts; refuse a target or a box beside it.

    >>> whole_move(transpose(2, 3), None, None) == transpose(2, 3)
    True
    >>> whole_move(transpose(2, 3), "u8", None)
    Traceback (most recent call last):
    tilewise.LayoutError: TW401: a named move is a whole move: it takes no target 'u8'
      hint: such as plan(transpose(8, 4), dtype="bf16")
    """
    if isinstance(source, Layout) and target is None:
        raise LayoutError(
            "TW401",
            "one layout is given, and a move has two",
            hint='such as plan(source, target, "bf16"), or move(x, None, target) of an array with strides',
        )
    if any(source is name for name in NAMES.values()):
        raise LayoutError(
            "TW401", f"{source.__name__} is given no extents", hint=f"call it: {source.__name__}(...)"
        )
    if not isinstance(source, Named):
        sides = (source, "the source"), (target, "the target")
        for layout, name in sides[::-1] if source is None else sides:  # an array may be its own source
            of_kind(layout, Layout, f"a layout for {name}", _given(layout))
    for given, word in ((target, "target"), (shape, "box")):
        if given is not None:
            raise LayoutError(
                "TW401",
                f"a named move is a whole move: it takes no {word} {given!r}",
                hint='such as plan(transpose(8, 4), dtype="bf16")',
            )
    move: Named = source
    return move


def _given(wrong: Any) -> str:
    """Return the hint for the layouts of a move, and for a named move in their place."""
    name = wrong.partition("(")[0].strip() if isinstance(wrong, str) else ""
    if name in NAMES:
        return f"a named move is no text: from tilewise.moves.named import {name}, and {name}(...) is one"
    whole = "a named move is given in place of both layouts"
    return f"{LAYOUT}; {whole}: from tilewise.moves.named import transpose, and transpose(2, 3) is one"


# -- arrays ----------------------------------------------------------------------------------------


def transpose(rows: int, columns: int) -> Named:
    """Return the move of a matrix, row by row, to its columns in turn: `numpy.transpose`, in memory.

    >>> transpose(8192, 4096).target
    S[(8192, 4096) : (1, 8192)]
    """
    return permute((rows, columns), (1, 0))


def permute(shape: Sequence[int] | int, order: Sequence[int] | int) -> Named:
    """Return the move of an array's modes to another order: `numpy.transpose(x, order)`, in memory.

        requires  an order that has every mode once; negative ones count from the end

    >>> permute((2, 3, 5), (2, 0, 1)).target
    S[(2, 3, 5) : (3, 1, 6)]
    """
    extents = tuple(as_extent(extent) for extent in _listed(shape))
    asked = tuple(as_int(mode, "a mode") for mode in _listed(order))
    modes = [mode + len(extents) if mode < 0 else mode for mode in asked]
    if sorted(modes) != [*range(len(extents))]:
        raise LayoutError(
            "TW202",
            f"{spell(asked)} is no order of the modes of {spell(extents)}",
            hint=f"such as {spell(tuple(reversed(range(len(extents)))))}: every mode once",
        )
    strides = [0] * len(extents)
    for mode, stride in zip(modes, _dense([extents[mode] for mode in modes]), strict=True):
        strides[mode] = stride
    return Named(_rows(extents), Layout(extents, tuple(map(as_vector, strides))))


def nchw_to_nhwc(n: int, c: int, h: int, w: int) -> Named:
    """Return the move of images with their channels first to images with their channels last.

    >>> nchw_to_nhwc(8, 64, 56, 56).target
    S[(8, 64, 56, 56) : (200704, 1, 3584, 64)]
    """
    return permute((n, c, h, w), (0, 2, 3, 1))


def nhwc_to_nchw(n: int, h: int, w: int, c: int) -> Named:
    """Return the move of images with their channels last to images with their channels first.

    >>> nhwc_to_nchw(8, 56, 56, 64).source.shape
    (8, 56, 56, 64)
    """
    return permute((n, h, w, c), (0, 3, 1, 2))


# -- what the tensor cores read --------------------------------------------------------------------


def pack_scales_128x4(rows: int, sf_k: int) -> Named:
    """Return the move of scale factors [rows, sf_k], row by row, to the 128 x 4 blocks of tcgen05 and cuBLAS.

    The move fills up the last blocks; `tilewise.simulate.scales.pack` does the same on the CPU.

    >>> pack_scales_128x4(300, 5).shape, pack_scales_128x4(300, 5).target.size
    ((300, 5), 3072)
    """
    rows, sf_k = as_extent(rows), as_extent(sf_k)
    packed = blocks(rows, sf_k)
    return Named(_rows((rows, sf_k)), packed, _box((rows, sf_k), packed), SCALE)


def unpack_scales_128x4(rows: int, sf_k: int) -> Named:
    """Return the move of scale factors from blocks of 128 x 4 to [rows, sf_k]; it leaves out the filling.

    >>> unpack_scales_128x4(128, 4).target
    S[(128, 4) : (4, 1)]
    """
    back = pack_scales_128x4(rows, sf_k)
    return Named(back.target, back.source, back.shape, back.dtype)


def tile_for_wgmma(
    rows: int,
    columns: int,
    dtype: DType | str,
    swizzle: Mode | str = "128B",
    *,
    major: str = "k",
    order: str = "mn",
) -> Named:
    """Return the move of a row-major matrix [rows, columns] to a tile of swizzled atoms, as wgmma reads it.

    The rows are those of A or of B, and the columns K. Atoms follow one another down the rows first, or with
    order "k" along K; the move fills up to whole atoms. A tensor prepared once, such as weights, then comes
    to shared memory by copies of bytes: down the rows first, every 8 rows of one atom's width are one run.

        requires  a type that wgmma multiplies, in a major in which it reads it; b16, u16 and others that only
                  name a width stand for the types of that width

    >>> print(tile_for_wgmma(128, 64, "bf16").target)
    Swizzle<3,3,3> o S[((16, 8), (1, 64)) : ((512, 64), (8192, 1))]
    >>> tile_for_wgmma(100, 72, "bf16").shape, tile_for_wgmma(100, 72, "bf16").target.size
    ((100, 72), 13312)
    >>> tile_for_wgmma(128, 64, "e4m3", major="mn")
    Traceback (most recent call last):
    tilewise.Refused: TW602: wgmma reads e4m3 K-major alone
      hint: leave out major, or say k: only f16 and bf16 have the transpose bit
    """
    element = given_type(dtype)
    _check_read_by_wgmma(element, check_major_word(major))
    return _tiled(rows, columns, element, Mode.of(swizzle), major, order)


def core_matrices(rows: int, columns: int, dtype: DType | str) -> Named:
    """Return the move of a row-major matrix to core matrices: 8 rows of 16 bytes each, without swizzle.

    >>> print(core_matrices(16, 16, "bf16").target)
    S[((2, 8), (2, 8)) : ((64, 8), (128, 1))]
    """
    return _tiled(rows, columns, given_type(dtype), Mode.of("none"), "k", "mn")


NAMES: dict[str, Callable[..., Named]] = {
    made.__name__: made
    for made in (
        transpose,
        permute,
        nchw_to_nhwc,
        nhwc_to_nchw,
        pack_scales_128x4,
        unpack_scales_128x4,
        tile_for_wgmma,
        core_matrices,
    )
}
"""All named moves by their names."""


def _tiled(rows: int, columns: int, element: DType, mode: Mode, major: str, order: str) -> Named:
    """Return the move of a row-major matrix to a tile of whole atoms."""
    extents = as_extent(rows), as_extent(columns)
    deep = tiles.extents(mode, major, element)
    whole = [-(-extent // step) * step for extent, step in zip(extents, deep, strict=True)]
    target = tiles.tile(mode, major, element, whole[0], whole[1], order)
    return Named(_rows(extents), target, _box(extents, target), element)


def _check_read_by_wgmma(element: DType, major: str) -> None:
    """Refuse a type that wgmma does not multiply, or does not read in that major."""
    as_wide = [row for row in INPUTS.values() if row.dtype.bits == element.bits]
    by_width = element.name not in INPUTS and says_a_width(element) and as_wide
    if not any(major in row.majors for row in by_width or [Input.of(element)]):
        read = f"elements of {element.bits} bits, as {element} are," if by_width else f"{element}"
        raise Refused(
            "TW602",
            f"wgmma reads {read} K-major alone",
            witness={"dtype": element.name, "major": major},
            hint="leave out major, or say k: only f16 and bf16 have the transpose bit",
        )


def _listed(modes: Sequence[int] | int) -> tuple[int, ...]:
    """Return the modes of an array as a tuple; a single mode may be a number."""
    return tuple(modes) if hasattr(modes, "__iter__") else (modes,)


def _rows(extents: Sequence[int]) -> Layout:
    """Return the layout of an array of those extents, row by row."""
    return Layout(tuple(extents), tuple(map(as_vector, _dense(extents))))


def _dense(extents: Sequence[int]) -> list[int]:
    """Return the strides of an array that lies row by row."""
    return [*accumulate(reversed(extents[1:]), mul, initial=1)][::-1] if extents else []


def _box(extents: tuple[int, ...], blocked: Layout) -> tuple[int, ...] | None:
    """Return the box that moves if a layout in blocks is larger, else None."""
    return None if blocked.size == prod(extents) else extents
