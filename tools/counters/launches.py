"""Patterns dealt to launches, and the counts of each told apart again.

A profiler's time goes into launches, not into what they do. So up to three patterns of a kind can share one:
the first is executed 64 times, the second 4,096 times, the third 262,144 times, and the sum is read in base
64, for no access takes 64 wavefronts. The lowest digit is what the launch itself adds, and strays: on an
H200 the counter of stores had 1 to 11 more in 103 launches of 649, whatever was stored. The part that a
counter adds to each execution comes from a word that one lane asks for, 64, 128 and 192 times.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tilewise.core.errors import LayoutError
from tilewise.hardware.limits import LANES
from tools.counters.kernels import MOST_PATTERNS, NOBODY
from tools.counters.kinds import KINDS, Kind
from tools.counters.patterns import Addresses, Pattern

BASE = 64
CALIBRATING = (BASE, 2 * BASE, 3 * BASE)
"""The numbers of times that one lane asks for the word."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch: patterns of one kind by their numbers, and how often each is executed."""

    kind: Kind
    numbers: tuple[int, ...]
    addresses: tuple[Addresses, ...]
    times: tuple[int, ...]

    def data(self) -> dict[str, Any]:
        """Return the JSON that the program under the profiler reads; an address that is not read is 0."""
        idle = 0 if self.kind.matrices else NOBODY
        filled = [[idle if a is None else a for a in addresses] for addresses in self.addresses]
        empty = [[idle] * LANES] * (MOST_PATTERNS - len(filled))
        times = [*self.times, *[0] * (MOST_PATTERNS - len(self.times))]
        return {"kernel": self.kind.kernel, "addresses": [*filled, *empty], "times": times}


def dealt(patterns: Iterable[tuple[int, Pattern]], together: int = 1, *, once: bool = False) -> list[Launch]:
    """Launches of so many patterns each, in the patterns' order as far as kinds allow.

    `once`: each launch executes its one pattern once, for what is counted by instruction has no strays.

    >>> from tools.counters.patterns import patterns
    >>> [launch.times for launch in dealt(list(enumerate(patterns("shared")))[:3], together=3)]
    [(64, 4096, 262144)]
    """
    waiting: dict[Kind, list[tuple[int, Pattern]]] = {}
    found = []
    for number, pattern in patterns:
        group = waiting.setdefault(pattern.kind, [])
        group.append((number, pattern))
        if len(group) == together:
            found.append(_launch(waiting.pop(pattern.kind), once))
    return [*found, *(_launch(group, once) for group in waiting.values())]


def _launch(group: Sequence[tuple[int, Pattern]], once: bool) -> Launch:
    numbers, patterns = zip(*group, strict=True)
    assert not once or len(patterns) == 1
    times = tuple(BASE ** (place + (not once)) for place in range(len(patterns)))
    return Launch(patterns[0].kind, numbers, tuple(pattern.addresses for pattern in patterns), times)


def calibrating(groups: Sequence[str]) -> list[Launch]:
    """Return for each kind the one word that lane 0 reads, so often: the counters' constant follows from
    it.
    """
    found = []
    for kind in KINDS.values():
        if kind.group in groups:
            lanes = kind.supplied if kind.matrices else 1
            word = tuple(0 if lane < lanes else None for lane in range(LANES))
            found += [Launch(kind, (), (word,), (times,)) for times in CALIBRATING]
    return found


@dataclass(frozen=True, slots=True)
class Constants:
    """The part of a count that is not the access's own."""

    instruction: int = 0
    """Once an execution."""

    @classmethod
    def of(cls, kind: Kind, counts: Sequence[int]) -> Constants:
        """Return the constants, from the counts of the one word; strays are dropped.

        >>> Constants.of(Kind.of("ld.4"), [64, 129, 192])
        Constants(instruction=0)
        >>> Constants.of(Kind.of("ldmatrix.x4"), [320, 643, 960])
        Constants(instruction=1)
        """
        found = {count // times for count, times in zip(counts, CALIBRATING, strict=True)}
        if len(found) != 1 or found == {0}:
            often = ", ".join(map(str, CALIBRATING))
            raise LayoutError("TW402", f"{kind.name}: one word {often} times counts {list(counts)}")
        return cls(found.pop() - least(kind))


def strays(launch: Launch, count: int) -> int:
    """Return what a launch counted beside its patterns.

    >>> strays(Launch(Kind.of("st.4"), (7,), ((0,) * 32,), (64,)), 64 * 3 + 5)
    5
    """
    return count % launch.times[0]


def least(kind: Kind) -> int:
    """Return what one word that lane 0 asks for costs: a wavefront, and of matrices one each."""
    return kind.matrices or 1


def told_apart(launch: Launch, count: int, constants: Constants) -> tuple[int, ...]:
    """Return the count of each pattern, constants and strays taken off.

        requires  the launch executes its patterns 64, 4,096, 262,144 times, or one of them once

    >>> word = (0,) * 32
    >>> launch = Launch(Kind.of("ld.4"), (7, 8), (word, word), (64, 4096))
    >>> told_apart(launch, 5 + 64 * (3 + 1) + 4096 * (32 + 1), Constants(1))
    (3, 32)
    """
    rest, found = count // launch.times[0], []
    for _ in launch.numbers[:-1]:
        rest, digit = divmod(rest, BASE)
        found.append(digit - constants.instruction)
    return (*found, rest - constants.instruction)
