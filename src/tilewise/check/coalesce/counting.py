"""Sectors of many requests at once, by the definition, in NumPy: for what no closed form decides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilewise.check.access.addresses import INACTIVE
from tilewise.check.access.lanes import check_lanes
from tilewise.hardware.limits import LANES
from tilewise.hardware.memory.sectors import LINE, SECTOR, TOGETHER

Int64s: TypeAlias = NDArray[np.int64]

AT_ONCE = 1 << 14
"""Requests that are counted together: a few megabytes."""


@dataclass(frozen=True, eq=False)
class Counts:
    """What every request takes, an entry a request."""

    sectors: Int64s
    lines: Int64s
    useful: Int64s
    """Different bytes that lanes ask for."""
    first: Int64s
    """The lowest address; 0 where no lane is active."""

    @property
    def ideal(self) -> Int64s:
        """The fewest sectors that hold as many bytes."""
        return -(-self.useful // SECTOR)


def count(bytes: int, addresses: Int64s) -> Counts:
    """The sectors of requests: addresses[request, lane], INACTIVE where a lane asks for nothing.

        requires       up to 32 lanes; addresses that are multiples of `bytes`
        postcondition  as `counted` says of every request

    >>> found = count(4, np.array([[8 * lane for lane in range(32)], [0] * 32]))
    >>> found.sectors.tolist(), found.ideal.tolist(), found.lines.tolist()
    ([8, 1], [4, 1], [2, 1])
    """
    requests, lanes = addresses.shape
    check_lanes(lanes)
    counts = Counts(*(np.zeros(requests, np.int64) for _ in range(4)))
    for part in _parts(requests):
        whole = np.full((part.stop - part.start, LANES), INACTIVE, np.int64)
        whole[:, :lanes] = addresses[part]
        grouped = whole.reshape(len(whole), -1, TOGETHER[bytes])
        counts.sectors[part] = _different(grouped, SECTOR).sum(axis=1)
        counts.lines[part] = _different(grouped, LINE).sum(axis=1)
        counts.useful[part] = bytes * _different(whole, 1)
        lowest = np.where(whole == INACTIVE, np.iinfo(np.int64).max, whole).min(axis=1)
        counts.first[part] = np.where((whole == INACTIVE).all(axis=1), 0, lowest)
    return counts


def _different(addresses: Int64s, size: int) -> Int64s:
    """How many blocks of `size` bytes are asked for, along the last axis."""
    blocks = np.sort(np.where(addresses == INACTIVE, INACTIVE, addresses // size), axis=-1)
    new = blocks != INACTIVE
    new[..., 1:] &= blocks[..., 1:] != blocks[..., :-1]
    found: Int64s = new.sum(axis=-1)
    return found


def _parts(requests: int) -> Iterator[slice]:
    for first in range(0, requests, AT_ONCE):
        yield slice(first, min(first + AT_ONCE, requests))
