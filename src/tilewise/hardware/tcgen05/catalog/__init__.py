"""tcgen05's entries of the catalogue, from a module for each of its parts."""

from __future__ import annotations

from tilewise.hardware.tcgen05.catalog import accumulators, addresses, loads, operands, scales, shapes

_PARTS = (operands, addresses, accumulators, loads, scales, shapes)

ENTRIES = tuple(entry for part in _PARTS for entry in part.ENTRIES)
ABSENT = {name: reason for part in _PARTS for name, reason in part.ABSENT.items()}
"""Names that are left out, and why."""
