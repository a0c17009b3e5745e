"""What moves inside the threads, or inside the warps: by names, by permutations of bytes, by shuffles.

Where the upper bits of a register's number only change their names, the steps are found for the registers
that differ in the others, and repeated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tilewise.check.registers.affine import fitted as linear
from tilewise.check.registers.affine import predicted
from tilewise.check.registers.prices import cycles
from tilewise.check.registers.programs import programs
from tilewise.check.registers.steps import Program, Step
from tilewise.check.registers.warp import Transfer
from tilewise.hardware.limits import LANES
from tilewise.moves.exchange.affine import Side, sides
from tilewise.moves.exchange.packing import Packer, Word
from tilewise.moves.exchange.question import NOBODY, Question

MOST_SEARCHED = 16
"""Registers of a question for which shuffles are looked for, where there is another way."""


MOST_CROSSING = 2
"""Bits of a register and of the lane that change places, where there is another way: with three of them
an H200 took longer by shuffles than through shared memory (docs/shuffle.md)."""


@dataclass(frozen=True)
class Renamed:
    """Registers of the target out of those of the source, inside every thread."""

    packer: Packer
    results: tuple[int | None, ...]


def in_threads(asked: Question) -> Renamed | None:
    """The same positions of all threads, where every thread holds what it wants; None where some do not."""
    if asked.bits < 8:
        return None
    taken = []
    some = int((asked.wanted >= 0).any(axis=1).argmax())
    for position in range(asked.wanted.shape[1]):
        wanted = asked.wanted[:, position : position + 1]
        if (wanted < 0).all():
            taken.append(NOBODY)
            continue
        likely = np.arange(asked.held.shape[1])
        if wanted[some, 0] >= 0:
            likely = np.flatnonzero(asked.held[some] == wanted[some, 0])
        right = ((asked.held[:, likely] == wanted) | (wanted < 0)).all(axis=0)
        if not right.any():
            return None
        mine = likely[right]
        taken.append(position if position in mine else int(mine[0]))
    return _packed(asked, taken)


def _packed(asked: Question, taken: list[int]) -> Renamed:
    unit, size = asked.bits // 8, asked.per_register
    words: list[Word] = []
    for register in range(asked.registers[1]):
        room: list[tuple[int, int] | None] = []
        for position in range(register * size, (register + 1) * size):
            at = taken[position] if position < len(taken) else NOBODY
            room += [None if at < 0 else (at // size, at % size * unit + byte) for byte in range(unit)]
        words.append((room[0], room[1], room[2], room[3]))
    packer = Packer(asked.registers[0])
    return Renamed(packer, tuple(packer.all(words)))


# -- shuffles --------------------------------------------------------------------------------------


def by_shuffles(
    asked: Question, limit: float | None, without: frozenset[str] = frozenset()
) -> Program | None:
    """The cheapest steps of one warp; None where they surely take `limit` cycles or more.

    `without` leaves out movmatrix.

    requires  the question of one warp
    """
    small, ours, theirs = _part(asked)
    if limit is not None and max(small.registers) > MOST_SEARCHED:
        return None
    table = _table(small)
    found = linear(table)
    times = 1 << len(ours)
    if limit is not None and found is not None and found.crossing > MOST_CROSSING:
        return None
    if limit is not None and found is not None and predicted(found, table.per_register) * times >= limit:
        return None
    if found is None and limit is not None and table.positions * LANES > 1 << 10:
        return None
    best = min(programs(table, found, without), key=lambda own: (cycles(own), len(own.steps)))
    whole = _repeated(best, asked, ours, theirs)
    return None if limit is not None and cycles(whole) >= limit else whole


def _part(asked: Question) -> tuple[Question, list[int], list[int]]:
    """The question without bits of registers that only change their names, and those bits on both sides."""
    both = sides(asked)
    size = asked.per_register.bit_length() - 1
    pairs = [] if both is None else _renamed_bits(asked, *both)
    held, wanted = (np.arange(own.shape[1]) for own in (asked.held, asked.wanted))
    for here, there in pairs:
        held = held[held >> here & 1 == 0]
        wanted = wanted[wanted >> there & 1 == 0]
    part = replace(asked, held=asked.held[:, held], wanted=asked.wanted[:, wanted])
    return part, [here - size for here, _ in pairs], [there - size for _, there in pairs]


def _renamed_bits(asked: Question, store: Side, load: Side) -> list[tuple[int, int]]:
    """(bit of a position of the source, of the target) that are each other, and touch nothing else."""
    size = asked.per_register.bit_length() - 1
    found = []
    for there in range(size, len(load.positions)):
        column = load.positions[there]
        here = next((at for at, own in enumerate(store.positions) if own == column), -1)
        if here < size or not column or column.bit_count() != 1:
            continue
        others = [own for at, own in enumerate(load.columns) if at != there]
        others += [own for at, own in enumerate(store.columns) if at != here]
        whole = asked.held.shape[1] % (2 << here) == 0 and asked.wanted.shape[1] % (2 << there) == 0
        if whole and not any(own & column for own in (*others, load.origin)):
            found.append((here, there))
    return found


def _table(asked: Question) -> Transfer:
    """The question as the table of a warp."""
    holders: dict[int, list[tuple[int, int]]] = {}
    for lane, row in enumerate(asked.held.tolist()):
        for position, value in enumerate(row):
            if value >= 0:
                holders.setdefault(value, []).append((lane, position))
    sets = {value: frozenset(places) for value, places in holders.items()}
    sets[NOBODY] = frozenset()
    wanted = tuple(tuple(sets[value] for value in row) for row in asked.wanted.tolist())
    return Transfer(asked.bits, wanted, asked.held.shape[1])


def _repeated(program: Program, asked: Question, ours: list[int], theirs: list[int]) -> Program:
    """The program for every combination of the bits that were left out."""
    before, after = asked.registers
    results: list[int | None] = [None] * after
    steps: list[Step] = []
    for chosen in range(1 << len(ours)):
        first = before + len(steps)

        def number(own: int, chosen: int = chosen, first: int = first) -> int:
            if own < program.inputs:
                return _with_bits(own, ours, chosen)
            return first + own - program.inputs

        steps += [replace(step, of=tuple(map(number, step.of))) for step in program.steps]
        for at, own in enumerate(program.results):
            results[_with_bits(at, theirs, chosen)] = None if own is None else number(own)
    return Program(before, tuple(steps), tuple(results))


def _with_bits(number: int, bits: list[int], chosen: int) -> int:
    """A number with more bits put in where `bits` says."""
    for at, bit in sorted(enumerate(bits), key=lambda own: own[1]):
        low = number & (1 << bit) - 1
        number = (number ^ low) << 1 | (chosen >> at & 1) << bit | low
    return number
