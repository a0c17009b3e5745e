"""Accesses as layouts: which element of a tile each lane of a warp asks for, and at which address."""

from __future__ import annotations

from tilewise.check.access.access import Access, Lanes

__all__ = ["Access", "Lanes"]
