"""An exchange through shared memory: registers packed, stored, loaded after a wait, and packed again.

A single warp stores and loads in turns: the words of each load are stored right before it. A warp's accesses
are served in their order, and words come back while others are stored. If all stores went first, nothing
would come back until the last one is done. All turns use the same bytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tilewise.check.registers.accesses import Accesses, SharedAccess, Xored
from tilewise.check.registers.memory import ROW, Reach
from tilewise.check.registers.question import NOBODY, Int64s, RegisterQuestion
from tilewise.check.registers.steps import STEP, Packer, Row, Slot
from tilewise.core.bits import Basis
from tilewise.hardware.limits import LANES
from tilewise.hardware.matrices.forms import ROWS
from tilewise.hardware.memory.banks import WORD

ACCESS = 0.33
"""The cycles that an instruction costs beside its wavefronts."""

GIVEN = 0.5
"""The cycles of a word that lanes load to pick from, where its wavefronts take less: each lane gets all of
it, and an H200 hands 64 lanes a word in a cycle.
"""

ISSUE = 0.1
"""The cycles of a step that others hide."""

WAIT_OF_WARP, WAIT_OF_BLOCK = 2.0, 8.0
"""The cycles, of a warp's share, of the wait for stored words."""


@dataclass(frozen=True)
class ThroughMemory:
    """Stores, a wait, loads. Stored words are those of `before`, numbered by its packer."""

    asked: RegisterQuestion
    """The question of all threads that share memory: a block, or one warp."""
    stores: Accesses
    loads: Accesses
    same: tuple[int, ...]
    """The loaded position for every position of the target; negative where nothing is wanted."""
    swizzle: tuple[int, ...] = ()
    """Bits of addresses that are XORs."""
    turns: tuple[tuple[int, int], ...] = ()
    """Stores and loads of every turn, in their order; empty where all stores go first."""

    @cached_property
    def before(self) -> tuple[Packer, list[list[int]]]:
        """Return the packer of the words that are stored, and their numbers, access by access."""
        packer = Packer(self.asked.registers[0])
        words = [
            tuple(byte and register_of(self.asked, *byte) for byte in word)
            for access in self.stores.each
            for word in access.words
        ]
        numbers = iter(packer.all(words))
        return packer, [[next(numbers) or 0 for _ in access.words] for access in self.stores.each]

    @cached_property
    def after(self) -> tuple[Packer, list[int | None]]:
        """Return the packer of the target's registers, out of the loaded words, and their numbers."""
        loaded = [word for access in self.loads.each for word in access.words]
        where = {
            byte: (number, at) for number, word in enumerate(loaded) for at, byte in enumerate(word) if byte
        }
        packer = Packer(len(loaded), bool(self.loads.picked.columns))
        return packer, packer.all(words_of(self.asked, self.same, where))

    @property
    def each_turn(self) -> Iterator[tuple[Accesses, Accesses]]:
        """Yield the stores and the loads of every turn."""
        stored = loaded = 0
        for stores, loads in self.turns:
            yield (
                replace(self.stores, each=self.stores.each[stored : stored + stores]),
                replace(self.loads, each=self.loads.each[loaded : loaded + loads]),
            )
            stored, loaded = stored + stores, loaded + loads
        if not self.turns:
            yield self.stores, self.loads

    @property
    def bytes(self) -> int:
        """Return the bytes of shared memory, for the threads of `asked`: whole rows."""
        return -(-max(self.stores.reach, self.loads.reach) // ROW) * ROW

    @property
    def steps(self) -> int:
        """Return the number of byte permutations, of their orders that differ by thread, and of addresses
        that are no sum of a base and a constant.
        """
        packer = self.after[0]
        orders = {(step.by, packer.of_inputs(step)) for step in packer.steps if packer.picked}
        return len(self.before[0].steps) + len(packer.steps) + len(orders) + self.turned

    @cached_property
    def turned(self) -> int:
        """Return the number of addresses that are XORs of another."""
        return sum(len({access.turned for access in side.each} - {0}) for side in (self.stores, self.loads))

    @property
    def wavefronts(self) -> tuple[int, int]:
        """Return the wavefronts of the stores and of the loads, of all threads of `asked`."""
        return self.stores.wavefronts, self.loads.wavefronts

    @cached_property
    def cycles(self) -> float:
        """Return the cycles of a multiprocessor for one warp, where many run."""
        return self._taking(self.steps)

    def cheaper(self, limit: float) -> bool:
        """Return True if it takes fewer cycles; permutations of bytes are counted last."""
        return self._taking(self.turned) < limit and self.cycles < limit

    def _taking(self, steps: int) -> float:
        instructions = len(self.stores.each) + len(self.loads.each)
        stored, loaded = (count / self.asked.warps for count in self.wavefronts)
        if self.loads.picked.columns:
            loaded = max(loaded, GIVEN * sum(len(access.words) for access in self.loads.each))
        moved = stored + loaded + ACCESS * instructions
        return max(moved, STEP * (steps + instructions)) + ISSUE * steps + wait(self.asked)


def wait(asked: RegisterQuestion) -> float:
    """Return the weight of the wait for stored words."""
    return WAIT_OF_WARP if asked.alone else WAIT_OF_BLOCK


def register_of(asked: RegisterQuestion, position: int, byte: int) -> tuple[int, int]:
    """Return the register, and its byte, of a byte of a position."""
    register, slot = divmod(position, asked.per_register)
    return register, slot * asked.bits // 8 + byte


def words_of(
    asked: RegisterQuestion, taken: Sequence[int], where: dict[tuple[int, int], tuple[int, int]]
) -> list[Row]:
    """Return the registers of the target, made of the positions taken for each, whose bytes have arrived."""
    words: list[Row] = []
    for register in range(asked.registers[1]):
        room: list[Slot] = []
        for position in range(register * asked.per_register, (register + 1) * asked.per_register):
            own = taken[position] if position < len(taken) else NOBODY
            room += [None if own < 0 else where[own, byte] for byte in range(asked.bits // 8)]
        words.append(tuple(room))
    return words


# -- turns -----------------------------------------------------------------------------------------


def in_turns(way: ThroughMemory) -> ThroughMemory:
    """Return the same accesses in turns: two share a turn where addresses of threads have the bits in which
    their offsets differ.

    Warps that wait for one another take no turns. Neither do addresses that are sums: none of their bits can
    be left out.

    postcondition  what one turn loads it has stored
    """
    span, reached = Basis(), 0
    for access in (*way.stores.each, *way.loads.each):
        if not (way.asked.alone and isinstance(access.base, Xored)):
            return way
        for vector in (
            *access.base.columns,
            *(1 << bit for bit in range(access.reach.bytes.bit_length() - 1)),
        ):
            span.add(vector)
            reached |= vector
    kept = (1 << reached.bit_length()) - 1
    order: list[int] = []

    def turn_of(access: SharedAccess) -> int:
        for number, offset in enumerate(order):
            if access.offset ^ offset in span:
                return number
        order.append(access.offset)
        return len(order) - 1

    stored, loaded = ([turn_of(access) for access in side.each] for side in (way.stores, way.loads))
    if len(order) == 1 or set(stored) != set(loaded):
        return way
    sides = []
    for side in (way.stores, way.loads):
        each = (replace(access, offset=access.offset & kept) for access in sorted(side.each, key=turn_of))
        sides.append(replace(side, each=tuple(each)))
    counts = tuple((stored.count(turn), loaded.count(turn)) for turn in range(len(order)))
    return replace(way, stores=sides[0], loads=sides[1], turns=counts)


# -- the proof -------------------------------------------------------------------------------------


def follows(way: ThroughMemory) -> bool:
    """Return True if every thread gets the values it wants, and no two values meet at an
    address in a turn.
    """
    asked = way.asked
    unit = asked.bits // 8
    got = np.full_like(asked.wanted, NOBODY)
    for stores, loads in way.each_turn:
        room = np.full(max(stores.reach, loads.reach) // unit, NOBODY)
        stored = [(at, asked.held[np.ix_(*places)]) for at, *places in _touched(stores, unit)]
        for at, values in stored:
            room[at[values >= 0]] = values[values >= 0]
        if any((room[at] != values).any() for at, values in stored):
            return False
        for at, *places in _touched(loads, unit):
            got[np.ix_(*places)] = room[at]
    taken = np.array(way.same)
    wanted = asked.wanted[:, taken >= 0]
    return bool(((got[:, taken[taken >= 0]] == wanted) | (wanted < 0)).all())


def _touched(side: Accesses, unit: int) -> Iterator[tuple[Int64s, Int64s, list[int]]]:
    """Yield (memory[thread, position] in units, threads, positions) of all accesses, by units of words."""
    alike: defaultdict[tuple[object, ...], list[SharedAccess]] = defaultdict(list)
    for access in side.each:
        alike[access.base, access.below, len(access.words)].append(access)
    for each in alike.values():
        base, threads = each[0].base, np.flatnonzero(each[0].taking(side.active))
        supplied = base.at(side.threads)
        for slot in range(0, len(each[0].words) * WORD, unit):
            word, byte = divmod(slot, WORD)
            taken = [(own[0], access.offset) for access in each if (own := access.words[word][byte])]
            suppliers, column = _row(each[0].reach, threads, word, byte)
            if side.picked.columns:
                column = column ^ side.picked.at(side.threads)[threads, None]
            rows, offsets = supplied[suppliers, None], np.array([offset for _, offset in taken], np.int64)
            at = (rows ^ offsets if isinstance(base, Xored) else rows + offsets) + column
            yield at // unit, threads, [position for position, _ in taken]


def _row(reach: Reach, threads: Int64s, word: int, byte: int) -> tuple[Int64s, Int64s]:
    """Return the thread whose address a byte of a word is read from, or stored at, and the
    bytes behind it.
    """
    if not reach.matrix:
        return threads, np.array(WORD * word + byte)
    lane = threads % LANES
    half, inside = divmod(byte, 2)
    row, column = lane // 4, lane % 4 * WORD + byte
    if reach.trans:
        row, column = 2 * (lane % 4) + half, lane // 4 * 2 + inside
    return threads - lane + ROWS * word + row, column[:, None]
