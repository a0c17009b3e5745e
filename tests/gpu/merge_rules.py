"""When two phases of a wide load become one: the rules that have been thought of, and which explain counts.

A load of 8 or of 16 bytes a lane is dealt to phases of 16 or of 8 lanes. Where a rule's condition holds,
neighbouring phases go together. A rule is right if it gives every count; where several do, the patterns
do not tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, product
from operator import or_

from tilewise.hardware.limits import LANES
from tilewise.hardware.memory.banks import BANKS, WAVEFRONT, WORD

Some = Sequence[int | None]
"""The addresses of a warp; None where a lane is not active."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on the lanes of a part of the warp."""

    name: str
    holds: Callable[[Load, range], bool]
    """The rule: a load and the lanes of a part, and true if their phases may go together."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition, for which lanes it must hold, and whether conflicts hinder."""

    condition: Condition
    scope: str
    """`warp`: for all 32 lanes, and then all phases pair up. `phases`: for two phases, by themselves."""
    free: bool
    """True for a rule by which phases go together only where one wavefront is enough for both."""

    def __str__(self) -> str:
        where = {"warp": "in the whole warp", "phases": "in two phases"}[self.scope]
        return f"{self.condition.name}, {where}" + (", if then without conflict" if self.free else "")


def wavefronts(rule: Rule, bytes: int, addresses: Some) -> int:
    """The wavefronts of a load by a rule.

    >>> plain = next(rule for rule in RULES if rule.condition.name == "never")
    >>> wavefronts(plain, 16, [0] * 32)
    4
    >>> ones = next(rule for rule in RULES if rule.condition.name == "all in pairs n^1")
    >>> wavefronts(ones, 16, [0] * 32)
    2
    """
    return Load(bytes, addresses).by(rule)


class Load:
    """One load; what rules have in common is found once."""

    def __init__(self, bytes: int, addresses: Some) -> None:
        self.bytes, self.addresses = bytes, addresses
        self.together = min(LANES, WAVEFRONT // bytes)
        each = min(LANES, 2 * self.together)
        self.groups = [range(first, first + each) for first in range(0, LANES, each)]
        self.apart = [sum(self._cost(half) for half in self._halves(group)) for group in self.groups]
        self.joined = [self._cost(group) for group in self.groups]
        self._known: dict[tuple[str, range], bool] = {}
        self._pairs: dict[tuple[int, bool], int] = {}

    def by(self, rule: Rule) -> int:
        """The wavefronts by a rule."""
        whole = range(LANES)
        total = 0
        for group, apart, joined in zip(self.groups, self.apart, self.joined, strict=True):
            goes = self._holds(rule.condition, whole if rule.scope == "warp" else group)
            total += joined if goes and (joined <= 1 or not rule.free) else apart
        return total

    def _halves(self, group: range) -> tuple[range, ...]:
        if len(group) <= self.together:
            return (group,)
        middle = group.start + self.together
        return range(group.start, middle), range(middle, group.stop)

    def _cost(self, lanes: range) -> int:
        words: set[int] = set()
        for lane in lanes:
            address = self.addresses[lane]
            if address is not None:
                words.update(range(address // WORD, (address + self.bytes - 1) // WORD + 1))
        busy = [0] * BANKS
        for word in words:
            busy[word % BANKS] += 1
        return max(busy)

    def _holds(self, condition: Condition, lanes: range) -> bool:
        key = condition.name, lanes
        if key not in self._known:
            self._known[key] = condition.holds(self, lanes)
        return self._known[key]

    def paired(self, distance: int, idle_parts: bool) -> int:
        """The lanes, as bits, whose partner at n ^ distance has the same address or is not active."""
        key = distance, idle_parts
        if key not in self._pairs:
            lanes = (n for n in range(LANES) if _equal(self.addresses, n, distance, idle_parts))
            self._pairs[key] = sum(1 << n for n in lanes)
        return self._pairs[key]


# -- conditions ------------------------------------------------------------------------------------


def _equal(addresses: Some, lane: int, distance: int, idle_parts: bool) -> bool:
    own, other = addresses[lane], addresses[lane ^ distance]
    if own is None or other is None:
        return not idle_parts or own is other
    return own == other


def _bits(lanes: range) -> int:
    return (1 << lanes.stop) - (1 << lanes.start)


def _in_pairs(distances: tuple[int, ...], mixed: bool, idle_parts: bool) -> Condition:
    def holds(load: Load, lanes: range) -> bool:
        every = [load.paired(d, idle_parts) for d in distances]
        if mixed:
            every = [reduce(or_, every)]
        return any(pairs & _bits(lanes) == _bits(lanes) for pairs in every)

    numbers = [f"n^{d}" for d in distances]
    words = (" and " if mixed else " or ").join(numbers)
    idle = ", an idle partner parts" if idle_parts else ""
    return Condition(f"all in pairs {words}{', mixed' if mixed else ''}{idle}", holds)


def _in_fours(load: Load, lanes: range) -> bool:
    return load.paired(1, False) & load.paired(2, False) & _bits(lanes) == _bits(lanes)


def _few_addresses(load: Load, lanes: range) -> bool:
    asked = {load.addresses[lane] for lane in lanes} - {None}
    return len(asked) * 2 <= len(lanes)


def _conditions() -> Iterator[Condition]:
    yield Condition("never", lambda load, lanes: False)
    yield Condition("always", lambda load, lanes: True)
    yield Condition("all in fours n^1 and n^2", _in_fours)
    yield Condition("half as many addresses as lanes", _few_addresses)
    known = (1, 2, 4, 8, 16)
    sets = [(d,) for d in (*known, 3)] + list(combinations(known[:4], 2)) + [(1, 2, 3), (1, 2, 4), known]
    for distances, mixed, idle_parts in product(sets, (False, True), (False, True)):
        if len(distances) > 1 or not mixed:
            yield _in_pairs(distances, mixed, idle_parts)


RULES = tuple(
    Rule(condition, scope, free)
    for condition, scope, free in product(tuple(_conditions()), ("warp", "phases"), (False, True))
)
"""Every rule that has been thought of."""


# -- which of them explain counts ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fit:
    """The number of counts that a rule does not give, and the first of them."""

    rule: Rule
    wrong: int
    first: int | None

    def __str__(self) -> str:
        where = "" if self.first is None else f", first pattern {self.first}"
        return f"{self.wrong:5} counts it does not give{where}: {self.rule}"


def fitted(loads: Iterable[tuple[int, Some, int]], rules: Sequence[Rule] = RULES) -> list[Fit]:
    """Every rule, the best first, held to (bytes, addresses, wavefronts) of loads.

    >>> rule = next(rule for rule in RULES if rule.condition.name == "all in pairs n^2")
    >>> pairs = [64 * (lane & ~2) for lane in range(32)]
    >>> found = fitted([(16, pairs, wavefronts(rule, 16, pairs)), (16, [0] * 32, 2)])
    >>> found[0].wrong, next(fit.wrong for fit in found if fit.rule == rule)
    (0, 0)
    """
    wrong: list[list[int]] = [[] for _ in rules]
    for number, (bytes, addresses, count) in enumerate(loads):
        load = Load(bytes, addresses)
        for missed, rule in zip(wrong, rules, strict=True):
            if load.by(rule) != count:
                missed.append(number)
    found = [
        Fit(rule, len(missed), next(iter(missed), None)) for rule, missed in zip(rules, wrong, strict=True)
    ]
    return sorted(found, key=lambda fit: fit.wrong)
