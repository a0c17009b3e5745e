"""Tables entry by entry: by the floor form, in bounded memory; always possible, and slower."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from tilewise.core.errors import LayoutError
from tilewise.tables.column import CHUNK, Column
from tilewise.tables.digits import FloorForm, Int64s, Run, floor_form, wrapped

MAX_SPREAD = 1 << 62
"""Flat indices that are farther apart do not count in 64 bits."""


class Listing(NamedTuple):
    """Entry t of a window has the flat index start + flat(t), and D(start + i) = values(i)."""

    flat: FloorForm
    values: FloorForm

    @property
    def elements(self) -> int:
        """Return the number of elements, copies not counted."""
        return self.flat.length

    def write(self, out: Int64s, column: Column) -> None:
        """Fill one axis of a table.

            requires       out has one entry for every t and every copy r
            postcondition  out[t, r] = P + Sw(O + D(start + flat(t)) + copies[r]), flat

        >>> evens_by_ten = listing(Run([(5, 10)], 0, 5), [3], [2])
        >>> out = np.empty(3, np.int64)
        >>> evens_by_ten.write(out, Column(5, np.array([0])))
        >>> out.tolist()
        [5, 25, 45]
        """
        offset = wrapped(column.offset + self.values.constant)
        grid = out.reshape(self.flat.length, len(column.copies))
        rows = max(1, CHUNK // len(column.copies))
        entries, scratch = np.arange(rows), np.empty((rows, len(column.copies)), np.int64)
        flat, sums, product = np.empty((3, rows), np.int64)
        for first in range(0, len(grid), rows):
            chunk = grid[first : first + rows]
            n = len(chunk)
            flat[:n] = 0
            self.flat.add_to(flat[:n], entries[:n], product[:n])
            sums[:n] = offset
            self.values.add_to(sums[:n], flat[:n], product[:n])
            np.add(sums[:n, None], column.copies, out=chunk)
            column.finish(chunk, scratch[:n])
            entries += rows


def listing(run: Run, counts: Sequence[int], weights: Sequence[int]) -> Listing:
    """Return the flat indices run.start + the sum of c_i * weights[i], for 0 <= c_i < counts[i]."""
    spread = run.stop - run.start
    if spread > MAX_SPREAD:
        raise LayoutError(
            "TW302",
            f"the flat indices of the window are {spread - 1} apart, beyond 64-bit integers",
            hint="ask for a narrower window, or in a shape whose modes the layout's digits divide",
        )
    window = list(zip(counts, weights, strict=True))[::-1]
    return Listing(floor_form(window, 0, prod(counts)), floor_form(run.digits, run.start, spread))
