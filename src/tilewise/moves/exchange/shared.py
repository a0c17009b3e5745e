"""An exchange through shared memory: registers packed, stored, loaded after a barrier, and packed again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from tilewise.check.registers.prices import STEP
from tilewise.moves.exchange.accesses import Accesses, Xored
from tilewise.moves.exchange.memory import ROW
from tilewise.moves.exchange.packing import Packer, Word
from tilewise.moves.exchange.question import NOBODY, Question

ACCESS = 0.33
"""Cycles that an instruction weighs beside its wavefronts."""

GIVEN = 0.5
"""Cycles that a word weighs which lanes load to pick from it, where its wavefronts take less: each of them
gets all of it, and an H200 hands 64 lanes a word in a cycle."""

ISSUE = 0.1
"""Cycles that a step weighs where others hide it."""

WAIT_OF_WARP, WAIT_OF_BLOCK = 2.0, 8.0
"""Cycles, of a warp's share, that the wait for what was stored weighs."""


@dataclass(frozen=True)
class Shared:
    """Stores, a wait, loads. Words that are stored are those of `before`, numbered as its packer has them."""

    asked: Question
    """Of all threads that share memory: a block, or one warp."""
    stores: Accesses
    loads: Accesses
    same: tuple[int, ...]
    """For every position of the target the one that is loaded for it; negative where nothing is wanted."""
    swizzle: tuple[int, ...] = ()
    """Bits of addresses that are XORs."""
    turns: tuple[tuple[int, int], ...] = ()
    """Stores and loads of every turn, in their order; none where all stores go first."""

    @cached_property
    def before(self) -> tuple[Packer, list[list[int]]]:
        """What makes the words that are stored, and their numbers, access by access."""
        unit, size = self.asked.bits // 8, self.asked.per_register
        packer = Packer(self.asked.registers[0])
        words = [
            _renumbered(word, lambda at, byte: (at // size, at % size * unit + byte))
            for access in self.stores.each
            for word in access.words
        ]
        numbers = iter(packer.all(words))
        return packer, [[next(numbers) or 0 for _ in access.words] for access in self.stores.each]

    @cached_property
    def after(self) -> tuple[Packer, list[int | None]]:
        """What makes the registers of the target of the words that are loaded, in their order."""
        unit, size = self.asked.bits // 8, self.asked.per_register
        where = {}
        number = 0
        for access in self.loads.each:
            for word in access.words:
                for at, byte in enumerate(word):
                    if byte is not None:
                        where[byte] = number, at
                number += 1
        packer = Packer(number, bool(self.loads.picked.columns))
        words: list[Word] = []
        for register in range(self.asked.registers[1]):
            room: list[tuple[int, int] | None] = []
            for position in range(register * size, (register + 1) * size):
                from_ = self.same[position] if position < len(self.same) else NOBODY
                room += [None if from_ < 0 else where[from_, byte] for byte in range(unit)]
            words.append((room[0], room[1], room[2], room[3]))
        return packer, packer.all(words)

    @property
    def each_turn(self) -> Iterator[tuple[Accesses, Accesses]]:
        """The stores and the loads of every turn."""
        stores, loads = iter(self.stores.each), iter(self.loads.each)
        for stored, loaded in self.turns or ((len(self.stores.each), len(self.loads.each)),):
            yield (
                replace(self.stores, each=tuple(islice(stores, stored))),
                replace(self.loads, each=tuple(islice(loads, loaded))),
            )

    @property
    def bytes(self) -> int:
        """Of shared memory, for the threads of `asked`: whole rows."""
        return -(-max(self.stores.reach, self.loads.reach) // ROW) * ROW

    @property
    def steps(self) -> int:
        """Permutations of bytes, their orders that threads have of their own, and addresses that are no sum
        of a base and a constant."""
        packer = self.after[0]
        orders = {(step.order, packer.of_given(step)) for step in packer.steps if packer.picked}
        return len(self.before[0].steps) + len(packer.steps) + len(orders) + self.turned

    @cached_property
    def turned(self) -> int:
        """Addresses that are XORs of another."""
        found = 0
        for side in (self.stores, self.loads):
            lows = {a.offset & a.base.mask for a in side.each if isinstance(a.base, Xored)}
            found += len(lows - {0})
        return found

    @property
    def wavefronts(self) -> tuple[int, int]:
        """Of the stores and of the loads, of all threads of `asked`."""
        return self.stores.wavefronts, self.loads.wavefronts

    @cached_property
    def cycles(self) -> float:
        """Of a multiprocessor for one warp, where many run."""
        return self._taking(self.steps)

    def cheaper(self, limit: float) -> bool:
        """Whether it takes fewer cycles; permutations of bytes are looked at last."""
        return self._taking(self.turned) < limit and self.cycles < limit

    def _taking(self, steps: int) -> float:
        instructions = len(self.stores.each) + len(self.loads.each)
        stored, loaded = (count / self.asked.warps for count in self.wavefronts)
        if self.loads.picked.columns:
            loaded = max(loaded, GIVEN * sum(len(access.words) for access in self.loads.each))
        moved = stored + loaded + ACCESS * instructions
        return max(moved, STEP * (steps + instructions)) + ISSUE * steps + wait(self.asked)


def _renumbered(word: Word, where: Callable[[int, int], tuple[int, int]]) -> Word:
    """A word whose bytes are named otherwise."""
    a, b, c, d = (None if byte is None else where(*byte) for byte in word)
    return a, b, c, d


def wait(asked: Question) -> float:
    return WAIT_OF_WARP if asked.alone else WAIT_OF_BLOCK
