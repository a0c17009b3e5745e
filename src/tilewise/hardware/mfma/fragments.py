"""Register fragments of mfma: the lane of the wave and the register of each element.

Inputs first. K_L neighbours along K are in one lane. M times the blocks lanes hold the rest of that K_L deep
slice: block b, row i in lane i + M b. Each further slice takes the next lanes.

Results: H neighbours of a column are in one lane, four of them, one of f64. A row of such groups is side by
side in the lanes. Then come the rows of B_I blocks, and M_I rows of groups, as many as fill the lanes. The
other rows, and then the other blocks, go into further registers. The document's formula has the rows of
groups before the blocks. That is the same but for 4x4x4 of f64, the only one with several of both, and there
AMD's programs have the blocks first.

Where an instruction multiplies one block, an operand is the matrix, A [M, K], B [N, K], C and D [M, N]. With
several blocks it is [blocks, M, K], and so on: every block has its own product, and the document's A[b, i, k]
has the index b as well.
"""

from __future__ import annotations

from tilewise.core.axes import Axis
from tilewise.core.layout import Layout
from tilewise.hardware.digits import Digits, layout_of, without_ones
from tilewise.hardware.mfma.instructions import WAVE, BlockInstruction, BlockShape, having

LANE, REG = Axis("laneid"), Axis("reg")


def a_fragment(shape: BlockShape | str, dtype: str) -> Layout:
    """Return A [M, K], or [blocks, M, K], in registers, `reg` counting the elements of a lane.

    >>> print(a_fragment("32x32x8", "f16"))
    S[(32, (2, 4)) : (1@laneid, (32@laneid, 1@reg))]
    >>> print(a_fragment("4x4x4", "f16"))
    S[(16, 4, 4) : (4@laneid, 1@laneid, 1@reg)]
    """
    this = having(shape, dtype)[0]
    return _input(this, this.shape.m)


def b_fragment(shape: BlockShape | str, dtype: str) -> Layout:
    """Return B [N, K], or [blocks, N, K], in registers; the document draws B as K x N.

    >>> print(b_fragment("16x16x4", "f64"))
    S[(16, 4) : (1@laneid, 16@laneid)]
    """
    this = having(shape, dtype, operand="B")[0]
    return _input(this, this.shape.n)


def d_fragment(shape: BlockShape | str, dtype: str, blocks: int | None = None) -> Layout:
    """Return C or D [M, N], or [blocks, M, N], in registers; `blocks` where shape and type leave them open.

    >>> print(d_fragment("32x32x8", "f32"))
    S[((4, 2, 4), 32) : ((4@reg, 32@laneid, 1@reg), 1@laneid)]
    >>> print(d_fragment("16x16x4", "f64"))
    S[((4, 4), 16) : ((1@reg, 16@laneid), 1@laneid)]
    """
    this = having(shape, dtype, blocks, "D")[0]
    m, n = this.shape.m, this.shape.n
    high = 1 if this.d == "f64" else 4
    blocks_abreast = -(-WAVE // (n * m // high))
    rows_abreast = WAVE // blocks_abreast // n
    groups = m // (high * rows_abreast)
    block = (
        (this.blocks // blocks_abreast, high * groups @ REG),
        (blocks_abreast, n @ LANE),
    )
    row = ((groups, high @ REG), (rows_abreast, n * blocks_abreast @ LANE), (high, 1 @ REG))
    return _layout(this, block, row, ((n, 1 @ LANE),))


def _input(this: BlockInstruction, rows: int) -> Layout:
    """Return A or B, with as many rows as M, or N."""
    slices = WAVE // (rows * this.blocks)
    along = ((slices, rows * this.blocks @ LANE), (this.shape.k // slices, 1 @ REG))
    return _layout(this, ((this.blocks, rows @ LANE),), ((rows, 1 @ LANE),), along)


def _layout(this: BlockInstruction, block: Digits, *modes: Digits) -> Layout:
    """Return a layout of such modes, with a mode for several blocks, without digits of extent 1."""
    every = (block, *modes) if this.blocks > 1 else modes
    return layout_of(*map(without_ones, every))
