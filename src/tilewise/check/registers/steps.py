"""Steps of a move as data, a builder that makes no step twice, and what they do, followed bit by bit.

A step makes one 32-bit register of others. What differs between lanes stands in `by`, a number a lane:

    shfl       the lane that is read: d = a of lane by[lane]
    select     d = b where by[lane], else a
    prmt       d = four bytes of a and b, by the hexadecimal digits of by[lane], lowest byte first
    rotate     d = a rotated left by by[lane] bits
    merge      d = the bits of a that by[lane] has, the others of b
    movmatrix  d = the 8 x 8 matrix of 16-bit elements in a, transposed; by is empty
    ballot     bit i of d = bit by[i] of a of lane i
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.hardware.limits import LANES, REGISTER_BITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

EXCHANGES = ("shfl", "movmatrix", "ballot")
"""The steps by which a lane gets what it has not: at most one register each."""

OPERATIONS = (*EXCHANGES, "select", "prmt", "rotate", "merge")


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction: registers that it reads, by number, and what differs between lanes."""

    operation: str
    of: tuple[int, ...]
    by: tuple[int, ...] = ()

    @property
    def exchanges(self) -> bool:
        """Whether something goes to another lane."""
        return self.operation in EXCHANGES

    @property
    def uniform(self) -> bool:
        """Whether all lanes do the same."""
        return len(set(self.by)) < 2


@dataclass(frozen=True, slots=True)
class Program:
    """Steps on registers: 0, 1, ... are the source's, and every step makes the next.

    `results` are the target's registers, by number; None where nothing belongs.
    """

    inputs: int
    steps: tuple[Step, ...]
    results: tuple[int | None, ...]

    @property
    def exchanges(self) -> int:
        """Steps by which something goes to another lane."""
        return sum(step.exchanges for step in self.steps)

    def counts(self) -> dict[str, int]:
        """Return how many steps there are of each operation that occurs."""
        found = {name: sum(step.operation == name for step in self.steps) for name in OPERATIONS}
        return {name: count for name, count in found.items() if count}

    @property
    def counted(self) -> str:
        """How many steps there are of each operation, as words."""
        return ", ".join(f"{count} {name}" for name, count in self.counts().items())


class Builder:
    """Makes steps, each once."""

    def __init__(self, inputs: int) -> None:
        self.inputs = inputs
        self.steps: list[Step] = []
        self.choices: dict[tuple[int | None, ...], int] = {}
        """{for every lane a register: the register that is that one}, of those that were made."""
        self._made: dict[Step, int] = {}

    def add(self, operation: str, of: tuple[int, ...], by: Sequence[int] = ()) -> int:
        """Return the register that such a step makes."""
        step = Step(operation, of, tuple(by))
        if step not in self._made:
            self._made[step] = self.inputs + len(self.steps)
            self.steps.append(step)
        return self._made[step]

    def program(self, results: Sequence[int | None]) -> Program:
        """Return the steps that the results need, renumbered in the order in which they were made."""
        needed = self._needed(results)
        numbers = {register: register for register in range(self.inputs)}
        for register in needed:
            numbers[register] = len(numbers)
        steps = tuple(
            Step(step.operation, tuple(numbers[own] for own in step.of), step.by)
            for step in (self.steps[register - self.inputs] for register in needed)
        )
        return Program(self.inputs, steps, tuple(None if own is None else numbers[own] for own in results))

    def _needed(self, results: Sequence[int | None]) -> list[int]:
        needed = {register for register in results if register is not None}
        for register in range(self.inputs + len(self.steps) - 1, self.inputs - 1, -1):
            if register in needed:
                needed |= set(self.steps[register - self.inputs].of)
        return sorted(register for register in needed if register >= self.inputs)


# -- what steps do ---------------------------------------------------------------------------------


Label = tuple[int, int] | None
"""A field of the source: (lane, which of its fields); None where nobody knows."""

Lanes = list[tuple[Label, ...]]
"""What a register holds in every lane, its fields from the lowest."""


def followed(program: Program, width: int) -> list[Lanes | None]:
    """Return what every register of the target holds, as fields of `width` bits of the source's.

    requires  width is 8, or a divisor of it by which all fields that are moved are aligned
    """
    fields = REGISTER_BITS // width
    registers: list[Lanes] = [
        [tuple((lane, own * fields + i) for i in range(fields)) for lane in range(LANES)]
        for own in range(program.inputs)
    ]
    for step in program.steps:
        operands = [registers[own] for own in step.of]
        registers.append([_made(step, operands, lane, width) for lane in range(LANES)])
    return [None if own is None else registers[own] for own in program.results]


def _made(step: Step, operands: list[Lanes], lane: int, width: int) -> tuple[Label, ...]:
    """Return the fields that a step makes in one lane."""
    a = operands[0]
    fields = len(a[lane])
    if step.operation == "movmatrix":
        return _transposed(a, lane, fields // 2)
    by = step.by[lane]
    if step.operation == "shfl":
        return a[by]
    if step.operation == "ballot":
        return tuple(a[other][step.by[other]] for other in range(LANES))
    if step.operation == "rotate":
        return tuple(a[lane][(i - by // width) % fields] for i in range(fields))
    b = operands[1]
    if step.operation == "select":
        return b[lane] if by else a[lane]
    if step.operation == "prmt":
        each = 8 // width
        both = a[lane] + b[lane]
        return tuple(both[(by >> 4 * (i // each) & 7) * each + i % each] for i in range(fields))
    kept = [by >> i * width & (1 << width) - 1 for i in range(fields)]
    return tuple(one if bits else other for one, other, bits in zip(a[lane], b[lane], kept, strict=True))


def _transposed(a: Lanes, lane: int, half: int) -> tuple[Label, ...]:
    """Return what movmatrix makes: lane 4 r + c gets elements 2 c and 2 c + 1 of column r."""
    column, found = lane // 4, list[Label]()
    for row in (2 * (lane % 4), 2 * (lane % 4) + 1):
        found += a[4 * row + column // 2][column % 2 * half :][:half]
    return tuple(found)
