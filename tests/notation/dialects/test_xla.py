"""XLA's layouts, held to what their tiles mean."""

from __future__ import annotations

from itertools import product

from tilewise import parse


def test_tiles_in_tiles_are_digits():
    """Tiles of 8 x 128 row by row, and inside each of them pairs of rows, column by column."""
    layout = parse("{1,0:T(8,128)(2,1)}", shape=(256, 512))
    for row, column in product((0, 1, 2, 7, 8, 9, 255), (0, 1, 127, 128, 511)):
        tile, inside = (row // 8) * 4 + column // 128, (row % 8) // 2 * 256 + column % 128 * 2 + row % 2
        assert layout.place(row, column)["m"] == tile * 1024 + inside
