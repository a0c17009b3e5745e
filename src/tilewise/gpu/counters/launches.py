"""Patterns dealt to launches, and the counts of each told apart again.

A profiler's time goes into launches, not into what they do. So up to four patterns of a kind can share one:
the first is executed once, the second 64 times, the third 4,096 times, and the sum is read in base 64, for
no access takes 64 wavefronts. A counter may say more than the access: a constant of the launch, and one of
each instruction. Both are known from a word that one lane asks for, once, twice and three times.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tilewise.core.errors import LayoutError
from tilewise.gpu.counters.kernels import MOST_PATTERNS, NOBODY
from tilewise.gpu.counters.kinds import KINDS, Kind
from tilewise.gpu.counters.patterns import Addresses, Pattern
from tilewise.hardware.limits import LANES

BASE = 64
CALIBRATING = (1, 2, 3)
"""How often the one word is asked for."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch: patterns of one kind by their numbers, and how often each is executed."""

    kind: Kind
    numbers: tuple[int, ...]
    addresses: tuple[Addresses, ...]
    times: tuple[int, ...]

    def data(self) -> dict[str, Any]:
        """As JSON: what the program under the profiler reads; an address that is not read is 0."""
        idle = 0 if self.kind.matrices else NOBODY
        filled = [[idle if a is None else a for a in addresses] for addresses in self.addresses]
        empty = [[idle] * LANES] * (MOST_PATTERNS - len(filled))
        times = [*self.times, *[0] * (MOST_PATTERNS - len(self.times))]
        return {"kernel": self.kind.kernel, "addresses": [*filled, *empty], "times": times}


def dealt(patterns: Iterable[tuple[int, Pattern]], together: int = 1) -> list[Launch]:
    """Launches of so many patterns each, in the patterns' order as far as kinds allow.

    >>> from tilewise.gpu.counters.patterns import patterns
    >>> [launch.times for launch in dealt(list(enumerate(patterns("shared")))[:3], together=3)]
    [(1, 64, 4096)]
    """
    waiting: dict[Kind, list[tuple[int, Pattern]]] = {}
    found = []
    for number, pattern in patterns:
        group = waiting.setdefault(pattern.kind, [])
        group.append((number, pattern))
        if len(group) == together:
            found.append(_launch(waiting.pop(pattern.kind)))
    return [*found, *map(_launch, waiting.values())]


def _launch(group: Sequence[tuple[int, Pattern]]) -> Launch:
    numbers, patterns = zip(*group, strict=True)
    times = tuple(BASE**place for place in range(len(patterns)))
    return Launch(patterns[0].kind, numbers, tuple(pattern.addresses for pattern in patterns), times)


def calibrating(groups: Sequence[str]) -> list[Launch]:
    """For each kind, the one word that lane 0 asks for, so often: what counters add is told from it."""
    found = []
    for kind in KINDS.values():
        if kind.group in groups:
            lanes = kind.supplied if kind.matrices else 1
            word = tuple(0 if lane < lanes else None for lane in range(LANES))
            found += [Launch(kind, (), (word,), (times,)) for times in CALIBRATING]
    return found


@dataclass(frozen=True, slots=True)
class Constants:
    """What a counter says beyond the access itself."""

    launch: int = 0
    """Once a launch."""
    instruction: int = 0
    """Once an execution."""

    @classmethod
    def of(cls, kind: Kind, counts: Sequence[int]) -> Constants:
        """From the counts of the one word, asked for once, twice, three times.

        >>> Constants.of(Kind.of("ld.4"), [2, 3, 4]), Constants.of(Kind.of("ldmatrix.x4"), [5, 10, 15])
        (Constants(launch=1, instruction=0), Constants(launch=0, instruction=1))
        """
        once, twice, thrice = counts
        each = twice - once
        if thrice - twice != each or each < 1:
            raise LayoutError(
                "TW402", f"{kind.name}: one word once, twice, three times counts {list(counts)}"
            )
        return cls(once - each, each - least(kind))


def least(kind: Kind) -> int:
    """What one word that lane 0 asks for costs: a wavefront, and of matrices one each."""
    return kind.matrices or 1


def told_apart(launch: Launch, count: int, constants: Constants) -> tuple[int, ...]:
    """The count of each pattern, constants taken off.

        requires  the launch executes its patterns 1, 64, 4,096 times

    >>> word = (0,) * 32
    >>> launch = Launch(Kind.of("ld.4"), (7, 8), (word, word), (1, 64))
    >>> told_apart(launch, 1 + (3 + 1) + 64 * (32 + 1), Constants(1, 1))
    (3, 32)
    """
    rest, found = count - constants.launch, []
    for _ in launch.numbers[:-1]:
        rest, digit = divmod(rest, BASE)
        found.append(digit - constants.instruction)
    return (*found, rest - constants.instruction)
