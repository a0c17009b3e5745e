"""Accesses as layouts: the element of a tile that each lane of a warp requests, and its address.

access     an access, the addresses of its lanes, and the tile in memory, every element at its address
patterns   from the words of a text to rows, columns, matrices, TMA's chunks and register fragments as layouts
addresses  `lanes_of`: composed with the tile, or why no instruction makes it
asked      `access_of` from what a user requests; `widest`: the widest vectors, and what blocks wider ones
costs      the counts of a whole access, in any unit: what banks and sectors have in common
"""

from __future__ import annotations

from tilewise.check.access.access import Access, Lanes
from tilewise.check.access.addresses import lanes_of
from tilewise.check.access.asked import Width, access_of, widest

__all__ = ["Access", "Lanes", "Width", "access_of", "lanes_of", "widest"]
