"""An exchange of any extents: units one by one, at addresses that are sums of digits of a thread's number.

Memory is in the order of one side: its positions, each of all threads, or its threads, each with all
positions and an odd pitch, so that this side has no conflicts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewise.core.algebra.recognition import recognise
from tilewise.core.errors import Refused
from tilewise.hardware.memory.banks import WORD
from tilewise.moves.exchange.accesses import Access, Accesses, Counted
from tilewise.moves.exchange.followed import follows
from tilewise.moves.exchange.memory import Way
from tilewise.moves.exchange.question import NOBODY, Int64s, Question
from tilewise.moves.exchange.shared import Shared


def one_by_one(asked: Question) -> Shared | None:
    """The best order of memory; None where addresses are no sums of digits."""
    if asked.bits < 8:
        return None
    found = [made for slots in _orders(asked) if (made := _made(asked, slots)) is not None]
    return min(found, key=lambda own: own.cycles, default=None)


def _orders(asked: Question) -> Iterator[Int64s]:
    """For every value where it lies, in units."""
    count = int(asked.held.max()) + 1
    for side in (asked.held, asked.wanted):
        threads, positions = side.shape
        thread, position = np.nonzero(side >= 0)
        values = side[thread, position]
        for pitch in (0, positions | 1):
            places = thread * pitch + position if pitch else position * threads + thread
            slots = np.full(count, np.iinfo(np.int64).max)
            np.minimum.at(slots, values, places)
            yield slots


def _made(asked: Question, slots: Int64s) -> Shared | None:
    both = []
    for name, side in (("st", asked.held), ("ld", asked.wanted)):
        each = _accesses(side, slots, asked.bits // 8)
        if each is None:
            return None
        threads = len(side)
        both.append(Accesses(name, tuple(each), threads, tuple(map(bool, np.any(side >= 0, axis=1)))))
    same = [position if (column >= 0).any() else NOBODY for position, column in enumerate(asked.wanted.T)]
    found = Shared(asked, both[0], both[1], tuple(same))
    return found if follows(asked, found.stores, found.loads, found.same) else None


def _accesses(side: Int64s, slots: Int64s, unit: int) -> list[Access] | None:
    """One access for each position."""
    known: dict[tuple[int, ...], Counted | None] = {}
    found = []
    for position, column in enumerate(side.T):
        holding = np.flatnonzero(column >= 0)
        if not len(holding):
            continue
        below = int(holding[-1]) + 1
        if len(holding) < below:
            return None
        at = slots[column[:below]] * unit
        key = tuple((at - at[0]).tolist())
        if key not in known:
            known[key] = _sum(key)
        base = known[key]
        if base is None:
            return None
        room = tuple((position, byte) if byte < unit else None for byte in range(WORD))
        word = (room[0], room[1], room[2], room[3])
        whole = below == len(side)
        found.append(Access(Way(unit), (word,), base, int(at[0]), 0 if whole else below))
    return found


def _sum(steps: tuple[int, ...]) -> Counted | None:
    """Digits of a thread's number with these steps; None where there are none."""
    if len(steps) == 1:
        return Counted(())
    try:
        layout = recognise(list(steps))
    except Refused:
        return None
    if layout.swizzles or layout.copies > 1:
        return None
    (axis,) = layout.axes
    digits = tuple((extent, stride[axis]) for extent, stride in layout.digits)
    found = Counted(digits, layout.offset[axis])
    return found if found.at(len(steps)).tolist() == list(steps) else None
