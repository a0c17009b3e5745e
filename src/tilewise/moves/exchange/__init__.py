"""Moves between registers: from one fragment to another, inside a warp, a warpgroup or a block.

from tilewise.moves.exchange import exchange

plan       the way in: two layouts and a dtype; what is done and what it costs
question   which value every register holds, and which it shall hold
within     by names, by permutations of bytes, by shuffles
affine     both sides as maps over GF(2), and maps that are given vector by vector
memory     where units lie in shared memory, so that few lanes meet in a bank
accesses   stores and loads as data, and their wavefronts
shared     through memory: registers packed, stored, loaded, packed again
search     the best of all ways to reach it
turns      of a warp alone: stores right before the loads that need them
followed   the same, followed value by value
plain      the same for any extents, unit by unit
packing    words out of the bytes of others
source     the device function
"""

from __future__ import annotations

from tilewise.moves.exchange.plan import Exchange, exchange
from tilewise.moves.exchange.question import of_registers

__all__ = ["Exchange", "exchange", "of_registers"]
