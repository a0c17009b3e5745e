"""Sectors of global memory: what one request of a warp fetches."""

from __future__ import annotations

SECTOR = 32
"""Bytes that are fetched together."""

LINE = 128
"""Bytes of a line of the cache: four sectors under one tag."""

WIDTHS = (1, 2, 4, 8, 16)
"""Bytes of one lane that one instruction can move."""
