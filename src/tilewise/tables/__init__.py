"""Whole maps as NumPy arrays: the only room that enumerates, and it refuses before it allocates.

build      `table`: the places of every element of a window, an array an axis
occupancy  for every place of the box: its element, its number of elements, empty and shared places
request    the window that a caller wants, and the refusal of one that is too large
digits     mixed-radix numbers: the digits of a window, and the numbers that they reach
sums       the outer sum of a few small vectors, written once into fresh memory
swizzling  the swizzles on 64-bit addresses
"""

from __future__ import annotations

from tilewise.tables.build import Table, table
from tilewise.tables.occupancy import Box, coverage, empty_places, inverse, shared_places

__all__ = ["Box", "Table", "coverage", "empty_places", "inverse", "shared_places", "table"]
