"""How the operands of mma.sync come from shared memory, and how its results get there.

from tilewise.check.feeding.question import feed

question    the way in: a layout, an operand, an instruction; the answer
fragments   who holds what of one instruction's operand
tile        the address of every byte that a lane holds: one stride a bit, inside the tile's own swizzle
forms       which form of ldmatrix or stmatrix moves the tile, or which vectors
packed      elements of 4 and 6 bits, which ldmatrix unpacks
steps       how the addresses of all instructions follow from the first ones
why, rows   why nothing moves a tile, or no matrices
near        the nearest layouts that matrices move
"""

from __future__ import annotations

from tilewise.check.feeding.question import Feed, feed

__all__ = ["Feed", "feed"]
