"""Accesses as layouts: which element of a tile each lane of a warp asks for, and at which address.

access     what is asked for, and the addresses that follow
lanes      the addresses of a request, one a lane, or why they are none
spelling   the words of a text
stored     the tile, every element at its address
vectors, matrices, fragments
           rows, columns and what lanes hold; the rows of ldmatrix; register fragments: as layouts
patterns   from a name to one of them
question, asked
           a pattern, what moves it and how wide: `access_of`
addresses  `lanes_of`: composed with the tile
refusals   why no instruction makes it
width      `widest`: the widest vectors, and what blocks wider ones
costs      the counts of a whole access, whatever is counted: what banks and sectors have in common
"""

from __future__ import annotations

from tilewise.check.access.access import Access, Lanes
from tilewise.check.access.addresses import lanes_of
from tilewise.check.access.asked import access_of
from tilewise.check.access.width import Width, widest

__all__ = ["Access", "Lanes", "Width", "access_of", "lanes_of", "widest"]
