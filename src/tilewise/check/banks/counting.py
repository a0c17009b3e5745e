"""Wavefronts of many requests at once, by the definition, in NumPy: for what no closed form decides.

Words of a phase are sorted; those that differ from the one before are counted bank by bank.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilewise.check.access.addresses import INACTIVE
from tilewise.check.access.lanes import check_lanes, no_vector
from tilewise.hardware.limits import LANES
from tilewise.hardware.memory.banks import BANKS, WAVEFRONT, WORD, Operation

Int64s: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

AT_ONCE = 1 << 12
"""Requests that are counted together: a few megabytes."""


@dataclass(frozen=True, eq=False)
class Counts:
    """What every request takes, an entry a request."""

    wavefronts: Int64s
    ideal: Int64s
    ways: Int64s
    """Wavefronts of its worst phase."""


def count(operation: Operation, bytes: int, addresses: Int64s) -> Counts:
    """The wavefronts of requests: addresses[request, lane], INACTIVE where a lane asks for nothing.

        requires       up to 32 lanes; addresses that are multiples of `bytes`
        postcondition  as `counted` says of every request

    >>> found = count(Operation.of("ld"), 4, np.array([[128 * lane for lane in range(32)], [0] * 32]))
    >>> found.wavefronts.tolist(), found.ideal.tolist()
    ([32, 1], [1, 1])
    """
    together = operation.together(bytes)
    requests, lanes = addresses.shape
    check_lanes(lanes)
    whole = np.full((requests, LANES), INACTIVE, np.int64)
    whole[:, :lanes] = addresses
    _refuse_misaligned(whole, bytes)
    merged = _merged(whole, operation) if together < LANES else np.zeros(requests, np.bool_)
    counts = Counts(*(np.zeros(requests, np.int64) for _ in range(3)))
    for who, width in ((~merged, together), (merged, 2 * together)):
        for part in _parts(np.flatnonzero(who)):
            phases = _phases(whole[part].reshape(len(part), -1, width), bytes, operation.in_turn)
            counts.wavefronts[part] = phases.sum(axis=1)
            counts.ways[part] = phases.max(axis=1)
    asked = (whole != INACTIVE).sum(axis=1) * bytes
    counts.ideal[:] = np.minimum(counts.wavefronts, -(-asked // WAVEFRONT))
    return counts


def _parts(requests: Int64s) -> Iterator[Int64s]:
    for first in range(0, len(requests), AT_ONCE):
        yield requests[first : first + AT_ONCE]


def _refuse_misaligned(addresses: Int64s, bytes: int) -> None:
    wrong = (addresses != INACTIVE) & ((addresses < 0) | (addresses % bytes != 0))
    if wrong.any():
        request, lane = map(int, np.argwhere(wrong)[0])
        raise no_vector(f"lane {lane} of request {request}", bytes, int(addresses[request, lane]))


def _merged(addresses: Int64s, operation: Operation) -> Bools:
    """The requests whose lanes n and n ^ d ask for one address, where both ask, for a d of the operation."""
    merged = np.zeros(len(addresses), np.bool_)
    for distance in operation.pairs:
        other = addresses[:, np.arange(LANES) ^ distance]
        apart = (addresses != other) & (addresses != INACTIVE) & (other != INACTIVE)
        merged |= ~apart.any(axis=1)
    return merged


def _phases(addresses: Int64s, bytes: int, in_turn: bool) -> Int64s:
    """The wavefronts of [request, phase] for addresses[request, phase, lane]."""
    requests, phases, _ = addresses.shape
    inside = np.arange(max(1, bytes // WORD))
    words = np.where(addresses == INACTIVE, INACTIVE, addresses // WORD)[..., None] + inside
    words[addresses == INACTIVE] = INACTIVE
    words = np.sort(words.reshape(requests * phases, -1), axis=1)
    new = words != INACTIVE
    if not in_turn:
        new[:, 1:] &= words[:, 1:] != words[:, :-1]
    phase, _ = np.nonzero(new)
    taken = np.bincount(phase * BANKS + words[new] % BANKS, minlength=requests * phases * BANKS)
    busiest: Int64s = taken.reshape(requests, phases, BANKS).max(axis=2)
    return busiest
