"""Shared-memory tiles of wgmma: the swizzle atoms of Table 38, and whole tiles made of them.

All operands that descriptors describe are made so: see `tilewise.hardware.operands.tiles`.
"""

from __future__ import annotations

from tilewise.hardware.operands.tiles import ORDERS, atom, extents, spacing, tile

__all__ = ["ORDERS", "atom", "extents", "spacing", "tile"]
