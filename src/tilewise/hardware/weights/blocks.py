"""Blocks of GGUF: where ggml keeps each weight of a row, among the scales of its block.

A row of K weights is K / 32 blocks, or K / 256, one after another, and each block begins with its scales. An
element here is a weight, its index [rows, K]. `m` counts elements in the order of memory from the tensor's
first byte on, the low half of a byte first. Scales take places too, where no weight is.

    Q4_0, MXFP4   the low halves of 16 bytes are weights 0 to 15 of a block, the high halves weights 16 to 31
    Q4_K          the same of 32 bytes and 64 weights, four times
    Q8_0          a byte each, in order
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.hardware.digits import layout_of, without_ones
from tilewise.hardware.weights.packed import STORE, Steps, check


@dataclass(frozen=True, slots=True)
class Block:
    """A block of weights: how many, in how many bytes, and the digits of their index inside."""

    name: str
    dtype: str
    weights: int
    bytes: int
    first: int
    """The byte of the first weight."""
    steps: Steps
    """Digits of the index, the slowest first: how many, and how many weights one step is."""
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
