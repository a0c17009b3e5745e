"""Packed weights: the place of weight (k, n), input and output, in AWQ, GPTQ and Marlin, and of a row's in
GGUF.

An element here is a weight of 4 or 8 bits. Its index is [K, N], as the packers have it: K inputs, N outputs.
`m` counts weights in the order of memory, the lowest bits of a word of 32 first: weight p of 4 bits is half
p % 2 of byte p / 2.

    AWQ     int32 [K, N / 8]       a word has 8 columns of a row, the even ones first: 0 2 4 6 1 3 5 7
    GPTQ    int32 [K / 8, N]       a word has 8 rows of a column, in order
            int32 [groups, N / 8]  a word of zeros has 8 columns of a row, in order
    Marlin  int32 [K / 16, 2 N]    tiles of 1,024 weights, 32 for each lane of a warp

A Marlin tile has 16 rows and 64 columns. The 32 weights of lane l are its B fragments of eight
mma.m16n8k16: of each 8 columns column l / 4, of each 8 rows rows 2 (l % 4) and 2 (l % 4) + 1. A word has the
first rows of such pairs in its lower half and the second ones in its upper half, so that masks take pairs
apart. With A of 8 bits the products are m16n8k32, and a tile has 32 rows and 32 columns.

GGUF keeps a row of K weights in K / 32 blocks, or K / 256, one after another, and each begins with its
scales. The index is [rows, K] there, and `m` counts elements from the tensor's first byte on, the low half of
a byte first. Scales take places too, where no weight is.

    Q4_0, MXFP4   the low halves of 16 bytes are weights 0 to 15 of a block, the high halves weights 16 to 31
    Q4_K          the same of 32 bytes and 64 weights, four times
    Q8_0          a byte each, in order
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tilewise.core.axes import Axis
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.hardware.digits import layout_of, without_ones

STORE = Axis("m")
WORD_BITS = 32

Steps = Sequence[tuple[int, int]]
"""Digits of an index inside a tile, the slowest first: the extent, and the weights of one step."""


@dataclass(frozen=True, slots=True)
class Tile:
    """Marlin's tile of weights: its extents, and the digits of k and n inside."""

    k: int
    n: int
    rows: Steps
    columns: Steps


TILES = {
    (4, 16): Tile(16, 64, ((2, 1), (4, 32), (2, 4)), ((4, 8), (2, 2), (8, 128))),
    (8, 16): Tile(16, 64, ((2, 1), (4, 32), (2, 2)), ((4, 8), (2, 4), (8, 128))),
    (4, 8): Tile(32, 32, ((2, 1), (4, 32), (4, 2)), ((2, 16), (2, 8), (8, 128))),
    (8, 8): Tile(32, 32, ((2, 4), (4, 32), (4, 1)), ((2, 16), (2, 8), (8, 128))),
}
"""{(bits of a weight, bits of an element of A): the tile}."""

GROUPED: Steps = ((8, 1), (8, 8))
"""The steps of 64 scales of a row. The scales of one column of each 8 lie together: one lane needs them."""
SINGLE: Steps = ((4, 2), (4, 8), (2, 1))
"""The steps of 32 scales. Those of two neighbouring columns of each 8, a lane's results, lie together."""
ZEROS: Steps = ((4, 1), (2, 4), (8, 8))
"""The steps of 64 zeros of a row: as GROUPED, the even ones of each word before the odd ones."""
COLUMNS = 64
"""The number of columns that Marlin's kernels take at once."""
ALL = -1
"""A group_size: one group of all inputs."""


def awq(rows: int, n: int) -> Layout:
    """Return the layout [rows, N] of AWQ's words: a row is an input of weights, or a group of zeros.

        requires       n a multiple of 8

    >>> print(awq(128, 64))
    S[(128, (8, 4, 2)) : (64, (8, 1, 4))]
    """
    check(n, 8, "n", "the columns of a word of AWQ")
    return _layout([(rows, n)], [(n // 8, 8), (4, 1), (2, 4)])


def gptq(k: int, n: int, bits: int = 4) -> Layout:
    """Return the layout [K, N] of GPTQ's weights: the rows of a word are neighbours along K.

        requires       k a multiple of 32 / bits

    >>> print(gptq(128, 64))
    S[((16, 8), 64) : ((512, 1), 8)]
    """
    each = WORD_BITS // bits
    check(k, each, "k", "the rows of a word of GPTQ")
    return _layout([(k // each, n * each), (each, 1)], [(n, each)])


def gptq_zeros(groups: int, n: int, bits: int = 4) -> Layout:
    """Return the layout [groups, N] of GPTQ's zeros, which are packed along N, where weights are along K.

    >>> print(gptq_zeros(2, 64))
    S[(2, 64) : (64, 1)]
    """
    check(n, WORD_BITS // bits, "n", "the columns of a word of GPTQ's zeros")
    return _layout([(groups, n)], [(n, 1)])


def marlin(k: int, n: int, bits: int = 4, a_bits: int = 16) -> Layout:
    """Return the layout [K, N] of Marlin's weights.

        requires       k and n multiples of the tile's, n of 64

    >>> print(marlin(64, 128))
    S[((4, 2, 4, 2), (2, 4, 2, 8)) : ((2048, 1, 32, 4), (1024, 8, 2, 128))]
    >>> print(marlin(16, 64, bits=8))
    S[((2, 4, 2), (4, 2, 8)) : ((1, 32, 2), (8, 4, 128))]
    """
    tile = TILES[bits, a_bits]
    check(k, tile.k, "k", "the rows of a tile of Marlin")
    check(n, COLUMNS, "n", "the columns that Marlin takes at a time")
    return _layout(
        [(k // tile.k, tile.k * n), *tile.rows],
        [(n // tile.n, tile.k * tile.n), *tile.columns],
    )


def marlin_scales(groups: int, n: int, order: Steps = GROUPED) -> Layout:
    """Return the layout [groups, N] of Marlin's scales, or of its zeros, in one of their orders.

        requires       n a multiple of 64

    >>> print(marlin_scales(2, 128))
    S[(2, (2, 8, 8)) : (128, (64, 1, 8))]
    >>> print(marlin_scales(1, 64, SINGLE))
    S[(1, (2, 4, 4, 2)) : (64, (32, 2, 8, 1))]
    """
    check(n, COLUMNS, "n", "the columns that Marlin takes at a time")
    wide = prod(extent for extent, _ in order)
    return _layout([(groups, n)], [(n // wide, wide), *order])


def groups_of(k: int, group_size: int) -> int:
    """Return the number of groups of inputs that share a scale; -1 is a group of all inputs.

    >>> groups_of(4096, 128), groups_of(4096, -1)
    (32, 1)
    """
    check(k, 1, "k", "the inputs")
    if group_size == ALL:
        return 1
    if group_size < 1 or k % group_size:
        raise Refused(
            "TW603",
            f"k = {k} is no whole number of groups of {group_size}",
            witness={"k": k, "group_size": group_size},
            hint=f"take a group_size that divides k; {ALL} is one group of all inputs",
        )
    return k // group_size


def check(extent: int, whole: int, name: str, what: str) -> None:
    """Refuse an extent that is no positive multiple of a packed group.

    >>> check(60, 16, "k", "the rows of a tile of Marlin")
    Traceback (most recent call last):
        ...
    tilewise.Refused: TW603: k = 60 is no multiple of 16, the rows of a tile of Marlin
      hint: the next that is one: k=64
    """
    if extent < 1:
        raise LayoutError("TW102", f"{name} is 1 or more, not {extent}", hint=f"such as {name}={whole}")
    if extent % whole:
        raise Refused(
            "TW603",
            f"{name} = {extent} is no multiple of {whole}, {what}",
            witness={name: extent, "multiple_of": whole},
            hint=f"the next that is one: {name}={-(-extent // whole) * whole}",
        )


def _layout(*modes: Steps) -> Layout:
    return layout_of(*(without_ones([(extent, step @ STORE) for extent, step in steps]) for steps in modes))


# -- blocks of GGUF ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Block:
    """A block of weights: their number, its bytes, and the digits of their index inside."""

    name: str
    dtype: str
    weights: int
    bytes: int
    first: int
    """The byte of the first weight."""
    steps: Steps
    """Digits of the index, the slowest first: the extent, and the weights of one step."""
    header: str
    """The fields before it."""

    def layout(self, rows: int, k: int) -> Layout:
        """Return the layout [rows, K] of a tensor.

            requires       k a multiple of the block's weights

        >>> print(BLOCKS["q4_0"].layout(2, 64))
        S[(2, (2, 2, 16)) : (72, (36, 1, 2))] + 4
        >>> print(BLOCKS["q4_k"].layout(1, 256))
        S[(1, (4, 2, 32)) : (288, (64, 1, 2))] + 32
        """
        check(k, self.weights, "k", f"the weights of a block of {self.name}")
        bits, blocks = DType.of(self.dtype).bits, k // self.weights
        step = self.bytes * 8 // bits
        along = [(extent, steps @ STORE) for extent, steps in ((blocks, step), *self.steps)]
        return layout_of(
            [(rows, blocks * step @ STORE)], without_ones(along), offset=self.first * 8 // bits @ STORE
        )


HALVES: Steps = ((2, 1), (16, 2))

BLOCKS = {
    block.name: block
    for block in (
        Block("q4_0", "u4", 32, 18, 2, HALVES, "d: f16, bytes 0..1"),
        Block("q8_0", "s8", 32, 34, 2, ((32, 1),), "d: f16, bytes 0..1"),
        Block(
            "q4_k",
            "u4",
            256,
            144,
            16,
            ((4, 64), (2, 1), (32, 2)),
            "d: f16, bytes 0..1; dmin: f16, bytes 2..3; scales: 8 scales and 8 minima of 6 bits, bytes 4..15",
        ),
        Block("mxfp4", "e2m1", 32, 17, 1, HALVES, "e: ue8m0, byte 0"),
    )
}
"""{name: the block}."""
