"""Whole maps as NumPy arrays: the only room that enumerates, and it refuses before it allocates.

build      `table`: where every element of a window lives, an array an axis
occupancy  who lives at every place of the box, how many, which places are empty or shared
request    what was asked: the window, and what is too large
digits     mixed-radix numbers: how a window falls apart into digits, and what they reach
sums       the outer sum of a few small vectors, written once into fresh memory
swizzling  the swizzles on 64-bit addresses
"""

from __future__ import annotations

from tilewise.tables.build import Table, table
from tilewise.tables.occupancy import Box, coverage, empty_places, inverse, shared_places

__all__ = ["Box", "Table", "coverage", "empty_places", "inverse", "shared_places", "table"]
