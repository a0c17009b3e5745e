"""From tile to descriptors of tcgen05: the first one, and what every step along M, N and K adds to it.

`tilewise.hardware.operands.stepping` has how the steps follow, and `deep` those of 48 bytes of K.
"""

from __future__ import annotations

from tilewise.hardware.tcgen05.deep import Deep
from tilewise.hardware.tcgen05.engine import ENGINE

feeding = ENGINE.feeding
"""Returns the descriptors of a whole tile of one CTA: see `Engine.feeding`."""

__all__ = ["Deep", "feeding"]
