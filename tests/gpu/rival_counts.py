"""Other rules of a counter: a record tells them from ours, and shows which of them explain it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from tests.gpu.merge_rules import Fit, fitted
from tools.counters.counted import recorded
from tools.counters.kinds import Kind
from tools.counters.patterns import Pattern

from tilewise.gpu.verify.truth import Truth
from tilewise.hardware.limits import LANES
from tilewise.hardware.memory.banks import BANKS, WAVEFRONT, WORD
from tilewise.hardware.memory.sectors import SECTOR

Ways = Mapping[str, Callable[[Pattern], int]]
"""Ways of counting a pattern, by what they count."""


def fitted_merges(truth: Truth) -> list[Fit]:
    """The rules of merging, the best first, held to the loads of 8 and of 16 bytes of a record."""
    wide = (Kind.of("ld.8"), Kind.of("ld.16"))
    return fitted(
        (pattern.kind.bytes, pattern.addresses, counts["wavefronts"])
        for pattern, counts in recorded(truth)
        if pattern.kind in wide
    )


def explained(truth: Truth, name: str, ways: Ways, kinds: Sequence[Kind] = ()) -> dict[str, int]:
    """Return how many counts of some kinds, or of all, each way of counting does not give, the best first."""
    wrong = dict.fromkeys(ways, 0)
    for pattern, counts in recorded(truth):
        if not kinds or pattern.kind in kinds:
            for words, way in ways.items():
                wrong[words] += way(pattern) != counts[name]
    return dict(sorted(wrong.items(), key=lambda pair: pair[1]))


def _sectors(pattern: Pattern) -> int:
    last = pattern.kind.bytes - 1
    ends = ((a // SECTOR, (a + last) // SECTOR + 1) for a in pattern.addresses if a is not None)
    return len({number for first, end in ends for number in range(first, end)})


def _dealt(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern, 128 bytes of lanes at a time; the others are idle."""
    each = WAVEFRONT // max(WORD, pattern.kind.bytes)
    for first in range(0, LANES, each):
        own = range(first, first + each)
        addresses = tuple(a if lane in own else None for lane, a in enumerate(pattern.addresses))
        yield Pattern(pattern.kind, pattern.family, addresses)


SECTORS: Ways = {
    "different sectors of the warp": _sectors,
    "different sectors of each 128 bytes of lanes": lambda pattern: sum(map(_sectors, _dealt(pattern))),
}
"""Rules for the sectors of a request."""


def in_groups(pattern: Pattern, together: int, each_lane: bool) -> int:
    """Wavefronts where so many lanes go together, and equal words of theirs count once, or once a lane."""
    total = 0
    for first in range(0, LANES, together):
        asked = [
            (word, lane if each_lane else 0)
            for lane, address in enumerate(pattern.addresses[first : first + together])
            if address is not None
            for word in range(address // WORD, (address + pattern.kind.bytes - 1) // WORD + 1)
        ]
        busy = Counter(word % BANKS for word, _ in set(asked))
        total += max(busy.values(), default=0)
    return total


OTHERS: Ways = {
    f"words of {together} lanes at a time, equal ones {'each' if each_lane else 'once'}": partial(
        in_groups, together=together, each_lane=each_lane
    )
    for together in (8, 16, 32)
    for each_lane in (False, True)
}
"""Rules for the cost of atomics and asynchronous copies."""
