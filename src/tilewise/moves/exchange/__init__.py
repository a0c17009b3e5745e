"""Moves between registers: from one fragment to another, inside a warp, a warpgroup or a block.

from tilewise.moves.exchange import exchange

plan       the way in: two layouts and a dtype; the steps and their cost
source     the device function

The question, and the ways that answer it, are in `check.registers`.
"""

from __future__ import annotations

from tilewise.check.registers.question import of_registers
from tilewise.moves.exchange.plan import Exchange, exchange

__all__ = ["Exchange", "exchange", "of_registers"]
