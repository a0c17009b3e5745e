"""One request of a warp, phase by phase: which lanes ask which banks for which words.

This is the definition that closed forms are held against: lanes are dealt to phases, and a phase takes as
many wavefronts as its busiest bank has different words. Of atomics and of asynchronous copies it is lanes
that count: those that meet at a word go one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tilewise.check.access.lanes import checked
from tilewise.hardware.limits import LANES
from tilewise.hardware.memory.banks import BANKS, WAVEFRONT, WORD, Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True, slots=True)
class Phase:
    """Lanes that go together, and the words that they ask for, bank by bank."""

    lanes: tuple[int, ...]
    banks: dict[int, dict[int, tuple[int, ...]]] = field(repr=False)
    """{bank: {word: the lanes that ask for it}}; word w is bytes 4 w to 4 w + 3."""
    in_turn: bool = False
    """Whether lanes that ask for one word go one after the other."""

    @property
    def wavefronts(self) -> int:
        """Different words of the busiest bank, each as often as it takes; 0 where no lane is active."""
        return max(map(self._taken, self.banks.values()), default=0)

    @property
    def busiest(self) -> int | None:
        """The first bank that takes that many."""
        return next(
            (bank for bank, words in self.banks.items() if self._taken(words) == self.wavefronts), None
        )

    def _taken(self, words: dict[int, tuple[int, ...]]) -> int:
        return sum(map(len, words.values())) if self.in_turn else len(words)

    def as_dict(self) -> dict[str, Any]:
        """As plain data.

        >>> counted("st", 4, [0, 128, None, 4]).phases[0].as_dict()["banks"]
        {'0': {'0': [0], '32': [1]}, '1': {'1': [3]}}
        """
        banks = {
            str(bank): {str(word): list(lanes) for word, lanes in words.items()}
            for bank, words in self.banks.items()
        }
        return {
            "lanes": list(self.lanes),
            "wavefronts": self.wavefronts,
            "bank": self.busiest,
            "banks": banks,
        }


@dataclass(frozen=True, slots=True)
class Request:
    """One instruction of a warp: its wavefronts, the fewest that its bytes need, and its phases."""

    operation: str
    bytes: int
    phases: tuple[Phase, ...]
    merged: int = 0
    """The d for which lanes n and n ^ d all ask for one address, so that phases are twice as wide; or 0."""

    @property
    def wavefronts(self) -> int:
        """Those of all phases."""
        return sum(phase.wavefronts for phase in self.phases)

    @property
    def active(self) -> int:
        """Lanes that ask for something."""
        return sum(len(phase.lanes) for phase in self.phases)

    @property
    def ideal(self) -> int:
        """As the profiler counts it: the bytes of the active lanes / 128, rounded up, and never more than
        it took, for lanes that share words can do with less."""
        return min(self.wavefronts, -(-self.bytes * self.active // WAVEFRONT))

    @property
    def ways(self) -> int:
        """Wavefronts of the worst phase: 1 where nothing conflicts."""
        return max((phase.wavefronts for phase in self.phases), default=0)

    @property
    def excess(self) -> int:
        """Wavefronts beyond the ideal: conflicts, and phases that few lanes of the warp fill."""
        return self.wavefronts - self.ideal

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "operation": self.operation,
            "bytes": self.bytes,
            "wavefronts": self.wavefronts,
            "ideal": self.ideal,
            "excess": self.excess,
            "merged": self.merged,
            "phases": [phase.as_dict() for phase in self.phases],
        }


def counted(operation: Operation | str, bytes: int, addresses: Sequence[int | None]) -> Request:
    """The wavefronts of one request whose lane n asks for `bytes` at addresses[n]; None where it is inactive.

        requires  up to 32 addresses, multiples of `bytes`

    >>> counted("ld", 4, [128 * lane for lane in range(32)]).wavefronts
    32
    >>> counted("ld", 16, [16 * lane for lane in range(32)]).wavefronts
    4
    >>> counted("ld", 16, [16 * (lane // 2) for lane in range(32)]).wavefronts
    2
    """
    own = Operation.of(operation)
    together = own.together(bytes)
    addresses = checked(bytes, addresses)
    merged = next((d for d in own.pairs if together < LANES and _paired(addresses, d)), 0)
    together = together * 2 if merged else together
    dealt = [range(first, first + together) for first in range(0, len(addresses), together)]
    phases = tuple(
        _phase([lane for lane in lanes if lane < len(addresses)], bytes, addresses, own.in_turn)
        for lanes in dealt
    )
    return Request(own.name, bytes, phases, merged)


def _paired(addresses: Sequence[int | None], distance: int) -> bool:
    """Whether active lanes n and n ^ distance ask for one address, all of them."""
    for lane, address in enumerate(addresses):
        other = lane ^ distance
        there = addresses[other] if other < len(addresses) else None
        if address is not None and there is not None and address != there:
            return False
    return True


def _phase(lanes: Sequence[int], bytes: int, addresses: Sequence[int | None], in_turn: bool) -> Phase:
    banks: dict[int, dict[int, list[int]]] = {}
    for lane in lanes:
        address = addresses[lane]
        if address is None:
            continue
        for word in range(address // WORD, (address + bytes - 1) // WORD + 1):
            banks.setdefault(word % BANKS, {}).setdefault(word, []).append(lane)
    sorted_banks = {
        bank: {word: tuple(who) for word, who in sorted(words.items())}
        for bank, words in sorted(banks.items())
    }
    return Phase(tuple(lane for lane in lanes if addresses[lane] is not None), sorted_banks, in_turn)
