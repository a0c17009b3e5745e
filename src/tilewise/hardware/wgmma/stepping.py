"""From tile to descriptors of wgmma: the first one, and what every step along M, N and K adds to it.

Every instruction reads 64 rows of A, or N rows of B, and 32 bytes of K. `tilewise.hardware.operands.stepping`
has how the steps follow.
"""

from __future__ import annotations

from tilewise.hardware.wgmma.engine import ENGINE

feeding = ENGINE.feeding
"""Returns the descriptors of a whole tile: see `Engine.feeding`."""

__all__ = ["feeding"]
