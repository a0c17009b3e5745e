"""How the operands of mma.sync come from shared memory, and how its results get there.

from tilewise.check.feeding.question import feed

question    the way in: a layout, an operand, an instruction; the answer
fragments   who holds what of one instruction's operand
forms       the address of every byte that a lane holds; which form of ldmatrix or stmatrix moves the tile
steps       how the addresses of all instructions follow from the first ones
why         why nothing moves a tile, or no matrices, and the nearest layouts that matrices move
banks       the wavefronts that it takes, and the swizzle that takes fewer
"""

from __future__ import annotations

from tilewise.check.feeding.question import Feed, feed

__all__ = ["Feed", "feed"]
