"""Both sides of an exchange as affine maps over GF(2): from threads and positions to labels.

A label is a place of the source, as bits: position + (thread << bits of the position). Of copies it is the
first. So source and target are maps to one space, and memory is a linear map from that space to addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import xor

import numpy as np

from tilewise.core.bits import Basis, combined, kernel
from tilewise.hardware.limits import LANE_BITS
from tilewise.moves.exchange.question import Int64s, Question


@dataclass(frozen=True)
class Side:
    """label = origin XOR the columns of the bits of the position and of the thread."""

    origin: int
    positions: tuple[int, ...]
    threads: tuple[int, ...]

    @property
    def lanes(self) -> tuple[int, ...]:
        """The columns of the bits of the lane."""
        return self.threads[:LANE_BITS]

    @property
    def warps(self) -> tuple[int, ...]:
        """The columns of the bits of the warp."""
        return self.threads[LANE_BITS:]

    @property
    def columns(self) -> tuple[int, ...]:
        """Those of positions, then those of threads."""
        return (*self.positions, *self.threads)


@lru_cache(maxsize=1)
def sides(asked: Question) -> tuple[Side, Side] | None:
    """Source and target; None where one is no affine map.

    postcondition  every value that is held, or wanted, is at its label
    """
    bits = _bits(asked.held.shape[1])
    flat = asked.held.ravel()
    count = int(flat.max()) + 1
    first = np.full(count, -1)
    where = np.flatnonzero(flat >= 0)
    thread, position = np.divmod(where, asked.held.shape[1])
    first[flat[where][::-1]] = (thread << bits | position)[::-1]
    labels = [np.where(values >= 0, first[values], -1) for values in (asked.held, asked.wanted)]
    base = int(first[flat[where[0]]])
    found = [fitted(np.where(own >= 0, own ^ base, -1)) for own in labels]
    if found[0] is None or found[1] is None:
        return None
    return found[0], found[1]


def _bits(count: int) -> int:
    return max(count - 1, 0).bit_length()


def fitted(labels: Int64s) -> Side | None:
    """The affine map with labels[thread, position] where those are not negative; None where there is none.

    A bit of which nothing is known moves nothing.
    """
    threads, positions = labels.shape
    low, high = _bits(positions), _bits(threads)
    at = [labels[0, 0], *labels[0, [1 << bit for bit in range(low)]]]
    at = list(map(int, [*at, *labels[[1 << bit for bit in range(high)], 0]]))
    if min(at) < 0:
        at = _eliminated(labels, low, high)
    if not at:
        return None
    columns = [0 if own < 0 else own ^ at[0] for own in at[1:]]
    side = Side(at[0], tuple(columns[:low]), tuple(columns[low:]))
    expected = _all(side, threads, positions)
    return side if (expected == labels)[labels >= 0].all() else None


def _eliminated(labels: Int64s, low: int, high: int) -> list[int]:
    """The labels of 0 and of each bit alone, as others tell them; negative where none do."""
    thread, position = np.nonzero(labels >= 0)
    places = thread << low | position
    values = labels[thread, position]
    order = np.argsort(_ones(places), kind="stable")
    near = order[: max(64, (low + high) * (low + high + 1))]
    found = Map()
    for place, value in zip(places[near].tolist(), values[near].tolist(), strict=True):
        found.define(1 | place << 1, value)
    if found.known(1) is None:
        found.define(1, int(values[near[0]]))
    told = [found.known(1 | place << 1) for place in (0, *(1 << bit for bit in range(low + high)))]
    return [-1 if own is None else own for own in told]


def _ones(places: Int64s) -> Int64s:
    found = np.zeros(len(places), np.int64)
    rest = places.copy()
    while rest.any():
        found += rest & 1
        rest >>= 1
    return found


def _all(side: Side, threads: int, positions: int) -> Int64s:
    """The labels of all places."""
    return spread(side.threads, threads)[:, None] ^ spread(side.positions, positions)[None, :] ^ side.origin


@lru_cache(maxsize=256)
def spread(columns: tuple[int, ...], count: int) -> Int64s:
    """The XOR of the columns of the bits of 0, 1, ..., count - 1.

    >>> spread((1, 4), 4).tolist()
    [0, 1, 4, 5]
    """
    found = np.zeros(1, np.int64)
    for column in columns:
        found = np.concatenate([found, found ^ column])
    found = found[:count]
    found.flags.writeable = False
    return found


# -- spaces ----------------------------------------------------------------------------------------


def independent(vectors: Iterable[int]) -> list[int]:
    """Those that are no combination of the ones before.

    >>> independent([1, 2, 3, 0, 4])
    [1, 2, 4]
    """
    basis = Basis()
    return [vector for vector in vectors if basis.add_new(vector)]


def meet(one: Sequence[int], other: Sequence[int]) -> list[int]:
    """A basis of what is in the spans of both.

    >>> meet([1, 2], [3, 4])
    [3]
    """
    ours = independent(one)
    both = [*ours, *independent(other)]
    mine = (1 << len(ours)) - 1
    return independent(combined(ours, chosen & mine) for chosen in kernel(both))


def total(vectors: Iterable[int]) -> int:
    """The XOR of vectors."""
    return reduce(xor, vectors, 0)


class Map:
    """A linear map over GF(2), given vector by vector.

    >>> swap = Map()
    >>> swap.define(1, 2), swap.define(2, 1), swap.define(3, 0)
    (True, True, False)
    >>> swap(3)
    3
    """

    def __init__(self) -> None:
        self._leading: dict[int, tuple[int, int]] = {}
        """{its length: (a vector, where it goes)} of a basis of what was said."""

    def define(self, vector: int, image: int) -> bool:
        """Say where a vector goes; whether that agrees with what was said before."""
        rest, told = self._reduced(vector)
        if not rest:
            return told == image
        self._leading[rest.bit_length()] = rest, told ^ image
        return True

    def known(self, vector: int) -> int | None:
        """Where a vector goes; None where nothing said so far tells."""
        rest, told = self._reduced(vector)
        return None if rest else told

    def _reduced(self, vector: int) -> tuple[int, int]:
        """What of a vector is not known, and where the rest of it goes."""
        told = 0
        while known := self._leading.get(vector.bit_length()):
            vector, told = vector ^ known[0], told ^ known[1]
        return vector, told

    def __call__(self, vector: int) -> int:
        image = self.known(vector)
        assert image is not None, vector
        return image
