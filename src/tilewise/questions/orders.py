"""The two orders of an index, in words."""

from __future__ import annotations

from tilewise.core.layout import Layout
from tilewise.core.orders import alike_in_modes

IN_THEIR_ORDERS = "a layout in CuTe's notation counts the leftmost digit fastest, the other one row-major"


def how_paired(a: Layout, b: Layout) -> list[str]:
    """Return a note on the pairs of layouts of both orders; nothing where both count alike."""
    if a.order == b.order:
        return []
    if alike_in_modes(a, b):
        return ["elements are paired by coordinates, for the modes have the same extents"]
    return [f"elements are paired by flat index: {IN_THEIR_ORDERS}"]
