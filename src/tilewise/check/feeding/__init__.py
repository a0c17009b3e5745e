"""The moves of mma.sync's operands from shared memory, and of its results to it.

from tilewise.check.feeding.question import feed

question    the way in: a layout, an operand, an instruction; the answer
fragments   the lane and register of each element of one instruction's operand
forms       the address of every byte that a lane holds; the form of ldmatrix or stmatrix that moves the tile
steps       the addresses of all instructions, from the first ones
why         the reasons why nothing moves a tile, or no matrices, and the nearest layouts that matrices move
banks       the wavefronts that it takes, and the swizzle that takes fewer
"""

from __future__ import annotations

from tilewise.check.feeding.question import Feed, feed

__all__ = ["Feed", "feed"]
