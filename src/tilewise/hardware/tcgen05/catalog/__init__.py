"""tcgen05's entries of the catalogue, from a module for each of its parts."""

from __future__ import annotations

from tilewise.hardware.tcgen05.catalog import memory, operands, products, scales

ENTRIES = (
    *operands.ENTRIES,
    memory.ADDRESS,
    *products.ENTRIES,
    *memory.ENTRIES,
    *scales.ENTRIES,
    products.SHAPES,
)
