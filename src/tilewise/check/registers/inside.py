"""Moves inside the threads, or inside the warps: by renaming, by permutations of bytes, by shuffles.

Where the upper bits of a register's number only change their names, the steps are found for the registers
that differ in the others, and repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tilewise.check.registers.programs import programs
from tilewise.check.registers.question import NOBODY, Int64s, RegisterQuestion
from tilewise.check.registers.shared import register_of, words_of
from tilewise.check.registers.steps import Packer, Program, WarpStep, cycles
from tilewise.check.registers.warp import fitted, predicted
from tilewise.core.bits import sums
from tilewise.hardware.limits import LANES

MOST_SEARCHED = 16
"""The most registers of a question for which shuffles are searched, where there is another way."""


MOST_CROSSING = 2
"""The most bits of a register and of the lane that change places, where there is another way: with three an
H200 took longer by shuffles than through shared memory (docs/shuffle.md).
"""


def in_threads(asked: RegisterQuestion) -> Program | None:
    """Return the same permutations in all threads, where every thread holds all that it wants; None
    elsewhere.
    """
    if asked.bits < 8:
        return None
    taken = []
    some = int((asked.wanted >= 0).any(axis=1).argmax())
    for position, wanted in enumerate(asked.wanted.T[:, :, None]):
        if (wanted < 0).all():
            taken.append(NOBODY)
            continue
        likely = np.arange(asked.held.shape[1])
        if wanted[some, 0] >= 0:
            likely = np.flatnonzero(asked.held[some] == wanted[some, 0])
        right = likely[((asked.held[:, likely] == wanted) | (wanted < 0)).all(axis=0)]
        if not len(right):
            return None
        taken.append(position if position in right else int(right[0]))
    packer = Packer(asked.registers[0])
    every = [(position, byte) for position in taken for byte in range(asked.bits // 8)]
    words = words_of(asked, taken, {byte: register_of(asked, *byte) for byte in every})
    return packer.program(packer.all(words))


# -- shuffles --------------------------------------------------------------------------------------


def by_shuffles(
    asked: RegisterQuestion, limit: float | None, without: frozenset[str] = frozenset()
) -> Program | None:
    """Return the cheapest steps of one warp; None where they certainly take `limit` cycles or more.

    `without` leaves out movmatrix.

    requires  the question of one warp
    """
    renamed = _renamed_bits(asked)
    kept = [np.arange(side.shape[1]) for side in (asked.held, asked.wanted)]
    for pair in renamed:
        kept = [own[own >> bit & 1 == 0] for own, bit in zip(kept, pair, strict=True)]
    small = replace(asked, held=asked.held[:, kept[0]], wanted=asked.wanted[:, kept[1]])
    if limit is not None and max(small.registers) > MOST_SEARCHED:
        return None
    table = small.table()
    found = fitted(table)
    if limit is not None:
        if found is None and table.positions * LANES > 1 << 10:
            return None
        rounds = 0 if found is None else predicted(found, table.per_register) << len(renamed)
        if rounds >= limit or (found is not None and found.crossing > MOST_CROSSING):
            return None
    best = min(programs(table, found, without), key=lambda own: (cycles(own), len(own.steps)))
    whole = _repeated(best, asked, kept, renamed)
    return None if limit is not None and cycles(whole) >= limit else whole


def _repeated(
    program: Program, asked: RegisterQuestion, kept: Sequence[Int64s], renamed: Sequence[tuple[int, int]]
) -> Program:
    """Return the program of the positions that were kept, for all values of the bits that were left out."""
    size, (before, after) = asked.per_register, asked.registers
    ours, theirs = ([int(position) for position in own[::size]] for own in kept)
    results: list[int | None] = [None] * after
    steps: list[WarpStep] = []
    moved = (sums(1 << pair[side] for pair in renamed) for side in (0, 1))
    for here, there in zip(*moved, strict=True):
        first = before + len(steps)
        numbers = [*((own + here) // size for own in ours), *range(first, first + len(program.steps))]
        steps += [replace(step, of=tuple(numbers[own] for own in step.of)) for step in program.steps]
        for position, own in zip(theirs, program.results, strict=True):
            results[(position + there) // size] = None if own is None else numbers[own]
    return Program(before, tuple(steps), tuple(results))


def _renamed_bits(asked: RegisterQuestion) -> list[tuple[int, int]]:
    """Return (bit of a position of the source, of the target) that are equal, and touch nothing else."""
    if asked.sides is None:
        return []
    store, load = asked.sides
    size = asked.per_register.bit_length() - 1
    found = []
    for there, column in enumerate(load.positions):
        here = store.positions.index(column) if column in store.positions else NOBODY
        if min(here, there) < size or column.bit_count() != 1:
            continue
        others = [own for at, own in enumerate(load.columns) if at != there]
        others += [own for at, own in enumerate(store.columns) if at != here]
        whole = asked.held.shape[1] % (2 << here) == 0 and asked.wanted.shape[1] % (2 << there) == 0
        if whole and not any(own & column for own in (*others, load.origin)):
            found.append((here, there))
    return found
