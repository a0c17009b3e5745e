"""Stores and loads of a warp alone, in turns: what loads need is stored right before them.

A warp's accesses are served in their order, and words come back while others are stored. Where all stores go
first, nothing comes back until the last one is done; in turns the first words are back, and what comes after
goes on with them, while the last ones are stored. Each turn has the bytes of the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tilewise.hardware.limits import LANES
from tilewise.hardware.matrices.forms import ROWS
from tilewise.moves.exchange.accesses import Access, Accesses, Xored
from tilewise.moves.exchange.question import Int64s
from tilewise.moves.exchange.shared import Shared


def in_turns(way: Shared) -> Shared:
    """The same accesses in as many turns as there are.

    There are none where warps wait for one another, and where addresses are sums, of which no bit can be
    left out.

    postcondition  what one turn loads it has stored
    """
    sides = way.stores, way.loads
    xored = all(isinstance(access.base, Xored) for side in sides for access in side.each)
    if not (way.asked.alone and xored):
        return way
    supplied = [[_supplied(side, access) for access in side.each] for side in sides]
    turns = _turns(sides, supplied)
    count = max(turns[0]) + 1
    if count == 1:
        return way
    mask = _varying(sides, supplied, turns)
    stores, loads = (
        replace(side, each=_ordered(side, own, mask)) for side, own in zip(sides, turns, strict=True)
    )
    counts = tuple((turns[0].count(number), turns[1].count(number)) for number in range(count))
    return replace(way, stores=stores, loads=loads, turns=counts)


def _supplied(side: Accesses, access: Access) -> Int64s:
    """The addresses that threads supply which are looked at."""
    taking = access.taking(side.active)
    if access.way.matrix:
        taking &= np.arange(side.threads) % LANES < ROWS * len(access.words)
    return access.addresses(side.threads)[taking]


def _turns(sides: Sequence[Accesses], supplied: Sequence[Sequence[Int64s]]) -> tuple[list[int], list[int]]:
    """The turn of every store, and of every load: one for those that touch one byte."""
    grain = min(access.way.bytes for side in sides for access in side.each)
    bytes = [access.way.bytes for side in sides for access in side.each]
    labels = np.arange(len(bytes))
    owner = np.full(max(side.reach for side in sides) // grain + 1, -1)
    for number, at in enumerate(own for side in supplied for own in side):
        cells = at[:, None] // grain + np.arange(bytes[number] // grain)
        met = owner[cells]
        labels[np.isin(labels, labels[met[met >= 0]])] = number
        owner[cells] = number
    stores = len(sides[0].each)
    both = [own for own in dict.fromkeys(labels[:stores].tolist()) if own in labels[stores:]]
    named = [both.index(own) if own in both else 0 for own in labels.tolist()]
    return named[:stores], named[stores:]


def _varying(
    sides: Sequence[Accesses], supplied: Sequence[Sequence[Int64s]], turns: Sequence[Sequence[int]]
) -> int:
    """The bits of addresses, from the lowest on, that are all in which those of one turn differ."""
    first: dict[int, int] = {}
    found = max(access.way.bytes for side in sides for access in side.each) - 1
    for addresses, own in zip(supplied, turns, strict=True):
        for at, turn in zip(addresses, own, strict=True):
            found |= int(np.bitwise_or.reduce(at ^ first.setdefault(turn, int(at[0]))))
    return (1 << found.bit_length()) - 1


def _ordered(side: Accesses, turns: Sequence[int], mask: int) -> tuple[Access, ...]:
    """Accesses turn by turn, all at the same addresses but for what is not in the mask."""
    found = []
    for _, access in sorted(zip(turns, side.each, strict=True), key=lambda own: own[0]):
        base = access.base
        assert isinstance(base, Xored)
        own = Xored(tuple(column & mask for column in base.columns))
        found.append(replace(access, base=own, offset=access.offset & mask))
    return tuple(found)
