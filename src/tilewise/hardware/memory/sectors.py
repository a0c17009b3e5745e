"""Sectors of global memory: the fetches or writes of one request of a warp.

An instruction of a warp is one request. It takes the different sectors, of 32 bytes, that its lanes ask for,
under a tag for each line of 128 bytes. The tags of all 32 lanes are compared at once since 7.0. The counters
of an H200 gave this for 640 loads and stores, and for the asynchronous copies of compiled kernels.

Copies that bypass the L1 are counted where they land: one for each sector of shared memory that a line
writes. An H200 gave this for rows whose target begins inside a sector; else both counts are equal.
"""

from __future__ import annotations

from tilewise.hardware.limits import LANES
from tilewise.hardware.sources import FORUM_SECTORS

SECTOR = 32
"""Bytes that are fetched together."""

LINE = 128
"""Bytes of a line of the cache: four sectors under one tag."""

WIDTHS = (1, 2, 4, 8, 16)
"""Bytes of one lane that one instruction can move."""

TOGETHER = dict.fromkeys(WIDTHS, LANES)
"""{bytes of a lane: lanes that are looked up at once}: a sector of two such groups would count twice.

The source is about accesses in general. An H200's counters agreed for loads and stores of each width.
"""

OPERATIONS = ("ld", "st", "cp.async")
"""The operations of global memory: loads, stores, and the copies to shared memory, which load."""

SOURCE = FORUM_SECTORS
