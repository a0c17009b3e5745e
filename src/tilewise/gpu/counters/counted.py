"""The counts as a record, and the record held against the model.

A record keeps the addresses themselves, so that it stays true whatever becomes of the patterns.

    counters.shared  wavefronts of loads, stores, ldmatrix and stmatrix
    counters.other   wavefronts of atomics and of asynchronous copies
    counters.ideal   the profiler's own count and ideal, an instruction at a time
    counters.global  sectors and requests of global memory
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from tilewise.check.banks import counted
from tilewise.check.coalesce import transfers
from tilewise.gpu.counters.kinds import Kind
from tilewise.gpu.counters.patterns import Pattern
from tilewise.gpu.counters.rules import SOURCE_PAGE, Fit, fitted
from tilewise.gpu.counters.rules import wavefronts as merged_wavefronts
from tilewise.gpu.verify.part import Findings
from tilewise.gpu.verify.truth import Truth
from tilewise.hardware.limits import LANES
from tilewise.hardware.memory.banks import BANKS, WAVEFRONT, WORD
from tilewise.hardware.memory.sectors import SECTOR

GROUPS: Mapping[str, tuple[str, ...]] = {
    "shared": ("wavefronts",),
    "other": ("wavefronts", "all"),
    "ideal": ("wavefronts", "ideal"),
    "global": ("sectors", "requests"),
}
"""What is counted of each pattern of a group."""

NOBODY = -1

Answers = Sequence[tuple[Pattern, Mapping[str, int]]]


def truth_of(group: str, answers: Answers, device: Mapping[str, Any]) -> Truth:
    """What a profiler counted, as a record."""
    cases = [{"kind": pattern.kind.name, "family": pattern.family, "length": LANES} for pattern, _ in answers]
    asked = [[NOBODY if a is None else a for a in pattern.addresses] for pattern, _ in answers]
    arrays = {name: np.array([counts[name] for _, counts in answers], np.int64) for name in GROUPS[group]}
    addresses = np.array(asked, np.int64).reshape(-1)
    return Truth(f"counters.{group}", cases, {"addresses": addresses, **arrays}, device)


def recorded(truth: Truth) -> Iterator[tuple[Pattern, dict[str, int]]]:
    """The patterns of a record, and what was counted of each."""
    names = [name for name in truth.arrays if name != "addresses"]
    for number, (case, row) in enumerate(zip(truth.cases, truth.parted("addresses"), strict=True)):
        addresses = tuple(None if a == NOBODY else int(a) for a in row)
        pattern = Pattern(Kind.of(case["kind"]), case["family"], addresses)
        yield pattern, {name: int(truth.arrays[name][number]) for name in names}


def compare(truth: Truth) -> Findings:
    """Hold every count that the model predicts against it."""
    found = Findings()
    group = truth.part.partition(".")[2]
    for number, (pattern, counts) in enumerate(recorded(truth)):
        want = predicted(pattern, group)
        for name, count in counts.items():
            if count != want.get(name, count):
                found.differs(
                    f"{pattern.kind.name}, {pattern.family}, pattern {number}",
                    f"{count} {name}, not {want[name]}",
                    found=count,
                    expected=want[name],
                    addresses=list(pattern.addresses),
                )
                break
        found.count(len(counts.keys() & want), kind=pattern.kind.name, family=pattern.family)
    return found


def predicted(pattern: Pattern, group: str) -> dict[str, int]:
    """What the model says of a pattern, by what is counted of its group.

    >>> predicted(Pattern(Kind.of("ld.4"), "one word", (0,) * 32), "shared")
    {'wavefronts': 1}
    >>> predicted(Pattern(Kind.of("global.ld.4"), "run", tuple(range(0, 128, 4))), "global")
    {'sectors': 4, 'requests': 1}
    """
    kind = pattern.kind
    if group == "global":
        transfer = transfers.counted(kind.operation, kind.bytes, pattern.addresses)
        return {"sectors": transfer.sectors, "requests": 1}
    request = counted(kind.operation, kind.bytes, pattern.addresses)
    if group == "ideal":
        return {"wavefronts": _on_the_page(pattern, request.wavefronts), "ideal": request.ideal}
    return {"wavefronts": request.wavefronts}


def _on_the_page(pattern: Pattern, wavefronts: int) -> int:
    """The wavefronts that the profiler's source page says: its own model, which merges fewer phases."""
    kind = pattern.kind
    wide = kind.operation == "ld" and kind.bytes * LANES > WAVEFRONT
    return merged_wavefronts(SOURCE_PAGE, kind.bytes, pattern.addresses) if wide else wavefronts


def _touched(pattern: Pattern, unit: int) -> set[int]:
    """The units of memory that the bytes of a pattern lie in."""
    last = pattern.kind.bytes - 1
    return {
        number
        for address in pattern.addresses
        if address is not None
        for number in range(address // unit, (address + last) // unit + 1)
    }


# -- which rules explain the counts ----------------------------------------------------------------


def fitted_merges(truth: Truth) -> list[Fit]:
    """The rules of merging, the best first, held to the loads of 8 and of 16 bytes of a record."""
    wide = (Kind.of("ld.8"), Kind.of("ld.16"))
    return fitted(
        (pattern.kind.bytes, pattern.addresses, counts["wavefronts"])
        for pattern, counts in recorded(truth)
        if pattern.kind in wide
    )


def _bytes(pattern: Pattern) -> int:
    return pattern.kind.bytes * sum(address is not None for address in pattern.addresses)


def _phases(pattern: Pattern) -> int:
    return sum(any(address is not None for address in part.addresses) for part in _dealt(pattern))


def _dealt(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern, 128 bytes of lanes at a time; the others are idle."""
    each = WAVEFRONT // max(WORD, pattern.kind.bytes)
    for first in range(0, LANES, each):
        own = range(first, first + each)
        addresses = tuple(a if lane in own else None for lane, a in enumerate(pattern.addresses))
        yield Pattern(pattern.kind, pattern.family, addresses)


IDEALS: Mapping[str, Callable[[Pattern], int]] = {
    "bytes of the active lanes / 128, rounded up, or its wavefronts if they are fewer": (
        lambda pattern: predicted(pattern, "ideal")["ideal"]
    ),
    "phases with an active lane": _phases,
    "phases of the whole warp": lambda pattern: max(
        1, pattern.kind.supplied * pattern.kind.bytes // WAVEFRONT
    ),
    "different words / 32, rounded up": lambda pattern: -(-len(_touched(pattern, WORD)) // BANKS),
    "bytes of the active lanes / 128, rounded up": lambda pattern: -(-_bytes(pattern) // WAVEFRONT),
}
"""What the profiler's ideal may be."""

SECTORS: Mapping[str, Callable[[Pattern], int]] = {
    "different sectors of the warp": lambda pattern: len(_touched(pattern, SECTOR)),
    "different sectors of each 128 bytes of lanes": lambda pattern: sum(
        len(_touched(part, SECTOR)) for part in _dealt(pattern)
    ),
}
"""What the sectors of a request may be."""


def in_groups(pattern: Pattern, together: int, each_lane: bool) -> int:
    """Wavefronts where so many lanes go together, and equal words of theirs count once, or once a lane.

    >>> same = Pattern(Kind.of("atom.4"), "one word", (0,) * 32)
    >>> in_groups(same, 32, False), in_groups(same, 32, True), in_groups(same, 8, False)
    (1, 32, 4)
    """
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


OTHERS: Mapping[str, Callable[[Pattern], int]] = {
    f"words of {together} lanes at a time, equal ones {'each' if each_lane else 'once'}": partial(
        in_groups, together=together, each_lane=each_lane
    )
    for together in (8, 16, 32)
    for each_lane in (False, True)
}
"""What atomics and asynchronous copies may cost."""


def explained(
    truth: Truth, name: str, ways: Mapping[str, Callable[[Pattern], int]], kinds: Sequence[Kind] = ()
) -> dict[str, int]:
    """How many counts of some kinds, or of all, each way of counting does not give, the best first."""
    wrong = dict.fromkeys(ways, 0)
    for pattern, counts in recorded(truth):
        if not kinds or pattern.kind in kinds:
            for words, way in ways.items():
                wrong[words] += way(pattern) != counts[name]
    return dict(sorted(wrong.items(), key=lambda pair: pair[1]))
