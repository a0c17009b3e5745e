"""Bank conflicts: the wavefronts of an access, the fewest possible, and the lanes that collide.

`counted` is the definition: the lanes of one request are dealt to phases, and a phase takes one wavefront for
each different word of its busiest bank. Atomics and asynchronous copies count lanes instead: lanes that meet
at a word go one after the other. `conflicts` counts a whole access of a tile; `count` counts many requests,
and asynchronous copies by both of their sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tilewise.check.access import Access, Lanes, access_of, lanes_of
from tilewise.check.access.access import INACTIVE, MOST_LISTED, checked, no_vector
from tilewise.check.access.costs import Costs, blocks_of, stand_ins, touched, whole_warps
from tilewise.core.bits import Bits, rank
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.integers import counted as many
from tilewise.core.layout import Layout
from tilewise.hardware.limits import LANES
from tilewise.hardware.memory.banks import BANKS, WAVEFRONT, WORD, Operation
from tilewise.hardware.memory.counters import wavefronts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.check.access.costs import Int64s


# -- one request -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Phase:
    """Lanes that go together, and the words that they ask for, bank by bank."""

    lanes: tuple[int, ...]
    banks: dict[int, dict[int, tuple[int, ...]]] = field(repr=False)
    """{bank: {word: the lanes that ask for it}}; word w is bytes 4 w to 4 w + 3."""
    in_turn: bool = False
    """True if lanes that ask for one word go one after the other."""
    meant: Mapping[int, Any] | None = field(default=None, repr=False)
    """{word: the word with names for which it stands}, where addresses have names."""

    @classmethod
    def of(cls, lanes: range, bytes: int, addresses: Sequence[int | None], in_turn: bool) -> Phase:
        """Return the phase of some lanes of a request."""
        banks: dict[int, dict[int, tuple[int, ...]]] = {}
        for word, who in touched(lanes, bytes, addresses, WORD).items():
            banks.setdefault(word % BANKS, {})[word] = who
        active = tuple([lane for lane in lanes if addresses[lane] is not None])
        return cls(active, dict(sorted(banks.items())), in_turn)

    def served(self, bank: int) -> list[tuple[int, tuple[int, ...]]]:
        """Return the word and the lanes of every wavefront that a bank takes."""
        words = self.banks[bank].items()
        return [(word, (lane,)) for word, lanes in words for lane in lanes] if self.in_turn else [*words]

    @property
    def wavefronts(self) -> int:
        """Return the words of the busiest bank, each as often as it takes; 0 where no lane is active."""
        return max(map(self._taken, self.banks.values()), default=0)

    @property
    def busiest(self) -> int | None:
        """Return the first of the busiest banks, or None where no lane is active."""
        most = self.wavefronts
        return next((bank for bank, words in self.banks.items() if self._taken(words) == most), None)

    def _taken(self, words: dict[int, tuple[int, ...]]) -> int:
        return sum(map(len, words.values())) if self.in_turn else len(words)

    def word(self, number: int) -> Any:
        """Return a word as it is named."""
        return number if self.meant is None else self.meant.get(number, number)

    def as_dict(self) -> dict[str, Any]:
        """Return the phase as plain data.

        >>> counted("st", 4, [0, 128, None, 4]).phases[0].as_dict()["banks"]
        {'0': {'0': [0], '32': [1]}, '1': {'1': [3]}}
        """
        banks = {
            str(bank): {str(self.word(word)): list(lanes) for word, lanes in words.items()}
            for bank, words in self.banks.items()
        }
        numbers = {"wavefronts": self.wavefronts, "bank": self.busiest}
        return {"lanes": list(self.lanes), **numbers, "banks": banks}


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
        """Return the wavefronts of all phases."""
        return sum(phase.wavefronts for phase in self.phases)

    @property
    def ideal(self) -> int:
        """Return the profiler's ideal: the bytes of the active lanes / 128, rounded up. It is at most the
        wavefronts taken: lanes that share words can take fewer.
        """
        active = sum(len(phase.lanes) for phase in self.phases)
        return min(self.wavefronts, -(-self.bytes * active // WAVEFRONT))

    @property
    def ways(self) -> int:
        """Return the wavefronts of the worst phase: 1 where nothing conflicts."""
        return max((phase.wavefronts for phase in self.phases), default=0)

    @property
    def excess(self) -> int:
        """Return the wavefronts beyond the ideal: conflicts, and phases that few lanes of the warp fill."""
        return self.wavefronts - self.ideal

    def as_dict(self) -> dict[str, Any]:
        """Return the request as plain data."""
        names = ("operation", "bytes", "wavefronts", "ideal", "excess", "merged")
        return {name: getattr(self, name) for name in names} | {
            "phases": [phase.as_dict() for phase in self.phases]
        }


def counted(operation: Operation | str, bytes: int, addresses: Sequence[int | None]) -> Request:
    """Return one request whose lane n asks for `bytes` at addresses[n], None where it is inactive.

        requires  up to 32 addresses, multiples of `bytes`

    >>> counted("ld", 4, [128 * lane for lane in range(32)]).wavefronts
    32
    >>> counted("ld", 16, [16 * lane for lane in range(32)]).wavefronts
    4
    >>> counted("ld", 16, [16 * (lane // 2) for lane in range(32)]).wavefronts
    2
    """
    rule = Operation.of(operation)
    together = rule.together(bytes)
    addresses = checked(bytes, addresses)
    merged = next((d for d in rule.pairs if together < LANES and _paired(addresses, d)), 0)
    together <<= bool(merged)
    lanes = range(len(addresses))
    dealt = [lanes[first : first + together] for first in lanes[::together]]
    phases = tuple([Phase.of(own, bytes, addresses, rule.in_turn) for own in dealt])
    return Request(rule.name, bytes, phases, merged)


def _paired(addresses: Sequence[int | None], distance: int) -> bool:
    """Return True if active lanes n and n ^ distance ask for one address, all of them."""
    pairs = [(lane, lane ^ distance) for lane in range(len(addresses)) if lane & distance]
    asked = [(addresses[high], addresses[low]) for high, low in pairs]
    return all(None in pair or pair[0] == pair[1] for pair in asked)


# -- a whole access --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ranks:
    """The ranks of the words of every phase, and of their banks."""

    words: int
    """A phase asks for 2^words different words."""
    banks: int
    """The words lie in 2^banks banks, as many in each."""
    phases: int
    """Phases of a request that have an active lane."""
    merged: int
    """The d of the pairs of lanes that doubled the phases; or 0."""


class Conflicts(Costs):
    """The wavefronts of an access, the fewest that its bytes need, and the places where they are lost."""

    def request(self, number: int) -> Request:
        """Return one request, phase by phase, as the definition has it."""
        operation, bytes, addresses = self.access.operation, self.access.bytes, self.lanes.request(number)
        if self.lanes.layout is None or not self.lanes.layout.has_names:
            return counted(operation, bytes, addresses)
        active = [address for address in addresses if address is not None]
        numbers, words = stand_ins(active, max(bytes, WORD)), range(max(1, bytes // WORD))
        pairs = [(own // WORD, meant // WORD) for own, meant in zip(numbers, active, strict=True)]
        meant = {own + word: address + word for own, address in pairs for word in words}
        request = counted(operation, bytes, numbers)
        return replace(request, phases=tuple(replace(phase, meant=meant) for phase in request.phases))

    @cached_property
    def wavefronts(self) -> int:
        """Return the wavefronts of all requests."""
        return self.total("wavefronts")

    @cached_property
    def ideal(self) -> int:
        """Return the profiler's ideal: one for 128 bytes of the active lanes, at most those taken."""
        return self.total("ideal")

    @property
    def excess(self) -> int:
        """Return the wavefronts beyond the ideal: conflicts, and phases that few lanes of the warp fill."""
        return self.wavefronts - self.ideal

    @property
    def ways(self) -> int:
        """Return the wavefronts of the worst phase: 1 where there is no conflict."""
        return max(self.counts["ways"])

    @property
    def worst(self) -> int:
        """Return the first request that takes the most wavefronts."""
        return self.first_most(self.counts["wavefronts"])

    @property
    def ranks(self) -> Ranks | None:
        """Return the ranks that prove the counts, or None where requests were counted."""
        names = ("words", "banks", "phases", "merged")
        return Ranks(*[self.counts[name][0] for name in names]) if self.closed else None

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as plain data; a request has its own `as_dict`."""
        names = ("wavefronts", "ideal", "excess", "ways", "closed")
        counts = {name: getattr(self, name) for name in names}
        ranks = self.ranks
        counts["ranks"] = None if ranks is None else {"words": ranks.words, "banks": ranks.banks}
        return self.access.as_dict() | counts | {"metric": wavefronts_of(self.access.operation.name)}

    def __str__(self) -> str:
        free = "no conflicts" if self.ways <= 1 else f"{self.ways} ways"
        return f"{self.access.name}: {many(self.wavefronts, 'wavefront')}, ideal {self.ideal}, {free}"


def conflicts(
    layout: Layout,
    access: Access | Layout | str,
    *,
    dtype: DType | str | None = None,
    operation: Operation | str | None = None,
    base: int = 0,
    most: int = MOST_LISTED,
) -> Conflicts:
    """Return the conflicts of an access of a tile in shared memory that begins at the byte address `base`.

        requires       the type of an element, which an `Access` has itself
        postcondition  request by request what `counted` says of the addresses
        refused        TW610 no one instruction makes the access, and why; TW301 no proof spares it to list
                       more than `most` addresses

    >>> from tilewise import S, Swizzle
    >>> rows = S[(64, 64) : (64, 1)]
    >>> print(conflicts(rows, "ldmatrix.x4", dtype="bf16"))
    ldmatrix.x4: 512 wavefronts, ideal 64, 8 ways
    >>> print(conflicts(Swizzle(3, 3, 3) @ rows, "ldmatrix.x4", dtype="bf16"))
    ldmatrix.x4: 64 wavefronts, ideal 64, no conflicts
    """
    element = dtype or (access.dtype if isinstance(access, Access) else None)
    if element is None:
        raise LayoutError("TW401", "the type of an element is not given", hint='such as dtype="bf16"')
    return conflicts_of(lanes_of(access_of(access, layout, element, operation, base), layout, base, most))


def conflicts_of(lanes: Lanes) -> Conflicts:
    """Return the conflicts of lanes whose addresses are known.

        postcondition  request by request what `counted` says; by ranks where the addresses are affine

    >>> from tilewise import S
    >>> column = Access("col", Operation.of("ld"), DType.of("f32"), (32, 32), S[(32, 32, 1) : (1, 32, 1)])
    >>> print(conflicts_of(Lanes(column, S[(32, 32) : (4, 128)])))
    col: 1024 wavefronts, ideal 32, 32 ways
    """
    names = ("wavefronts", "ideal", "ways")
    return Conflicts.counted(lanes, names, WORD, _by_ranks, counted, count)


def _by_ranks(access: Access, bits: Bits) -> Mapping[str, int] | None:
    """Return the counts of every request by ranks, or None where lanes take turns.

    The words that the lanes of a phase ask for are a coset of a space V. The flips of the lanes' bits, and of
    the words inside a vector, span V. With r = rank of V there are 2^r words. With b = rank of V in the 5
    bits of the bank, they fall into 2^b banks, the same number in each: V's words of one bank are a coset of
    the kernel. So each phase takes exactly 2^(r - b) wavefronts.

    Lanes n and n ^ d ask for one address iff bit d of the lane flips nothing.
    """
    rule, bytes, lanes = access.operation, access.bytes, access.lanes
    if rule.in_turn:
        return None
    flips = bits.flips[: lanes.bit_length() - 1]
    together = rule.together(bytes)
    paired = (d for d in rule.pairs if together < LANES and not any(flips[d.bit_length() - 1 :][:1]))
    merged = next(paired, 0)
    together = min(together << bool(merged), lanes)
    inside = [WORD << bit for bit in range((bytes // WORD).bit_length() - 1)]
    steps = [flip // WORD for flip in (*flips[: together.bit_length() - 1], *inside)]
    words, banks, phases = rank(steps), rank(step % BANKS for step in steps), lanes // together
    ways = 1 << words - banks
    ideal = min(phases * ways, -(-lanes * bytes // WAVEFRONT))
    ranks = {"words": words, "banks": banks, "phases": phases, "merged": merged}
    return ranks | {"wavefronts": phases * ways, "ideal": ideal, "ways": ways}


def count(
    operation: Operation | str, bytes: int, addresses: Int64s, sources: Int64s | None = None
) -> dict[str, Int64s]:
    """Return the counts of requests: addresses[request, lane], INACTIVE where a lane asks for nothing.

        requires       up to 32 lanes; addresses that are multiples of `bytes`; sources[request, lane] of
                       asynchronous copies alone, INACTIVE where a lane copies nothing or fills with zeros
        postcondition  as `counted` says of every request, where no sources are given

    >>> import numpy as np
    >>> requests = np.array([[128 * lane for lane in range(32)], [0] * 32])
    >>> {name: array.tolist() for name, array in count("ld", 4, requests).items()}
    {'wavefronts': [32, 1], 'ideal': [1, 1], 'ways': [32, 1]}
    >>> rows, columns = np.arange(0, 128, 4)[None], np.arange(0, 4096, 128)[None]
    >>> [count("cp.async", 4, rows, read)["wavefronts"].tolist() for read in (rows, columns)]
    [[1], [32]]
    """
    import numpy as np

    rule = Operation.of(operation)
    together = rule.together(bytes)
    whole = whole_warps(addresses)
    active = whole != INACTIVE
    for request, lane in np.argwhere(active & ((whole < 0) | (whole % bytes != 0)))[:1].tolist():
        raise no_vector(f"lane {lane} of request {request}", bytes, int(whole[request, lane]))
    merged = np.zeros(len(whole), np.bool_)
    for distance in rule.pairs if together < LANES else ():
        partner = np.arange(LANES) ^ distance
        merged |= ~((whole != whole[:, partner]) & active & active[:, partner]).any(axis=1)
    wavefronts, ways = np.zeros((2, len(whole)), np.int64)
    for doubled, part in enumerate((~merged, merged)):
        if not part.any():
            continue
        if sources is None:
            phases = blocks_of(whole[part], bytes, WORD, together << doubled, BANKS, rule.in_turn)
        else:
            assert rule.least, f"{rule.name} has one side"
            phases = turns_of(bytes, whole, whole_warps(sources))
        wavefronts[part], ways[part] = phases.sum(axis=1), phases.max(axis=1)
    needed = -(-active.sum(axis=1) * bytes // WAVEFRONT)
    return {"wavefronts": wavefronts, "ideal": np.minimum(wavefronts, needed), "ways": ways}


def turns_of(bytes: int, *sides: Int64s) -> Int64s:
    """Return the wavefronts of copies that read and write: [request, phase].

        requires  sides[request, lane] of whole warps: INACTIVE where a lane has nothing on that side

    A lane goes one wavefront after the last lane before it that has its bank on either side.

    >>> import numpy as np
    >>> targets, sources = np.full((2, 1, LANES), INACTIVE)
    >>> targets[0, :3], sources[0, :3] = [0, 4, 132], [0, 128, 8]  # lane 1 reads lane 0's bank
    >>> turns_of(4, targets, sources).tolist(), turns_of(4, targets).tolist()
    ([[3]], [[2]])
    """
    import numpy as np

    vectors = WAVEFRONT // bytes  # of a line, and lanes of a phase
    dealt = [side.reshape(-1, vectors) for side in sides]
    phases = np.arange(len(dealt[0]))
    last = np.zeros((len(sides), len(phases), vectors), np.int64)
    for lane in range(vectors):
        places = [(side[:, lane] != INACTIVE, side[:, lane] // bytes % vectors) for side in dealt]
        before = [np.where(has, own[phases, at], 0) for own, (has, at) in zip(last, places, strict=True)]
        turn = 1 + np.max(before, axis=0)
        for own, (has, at) in zip(last, places, strict=True):
            own[phases[has], at[has]] = turn[has]
    longest: Int64s = last.max(axis=(0, 2))
    return longest.reshape(len(sides[0]), -1)


# -- a phase as a picture --------------------------------------------------------------------------------


MARKS = "123456789abcdefghijklmnopqrstuvw"
"""The signs of wavefronts: the first is 1, the tenth a."""

NOTHING = "."

TOLD = 3
"""Lanes of a collision that `collision` names one by one."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """The cells of a phase: cells[row][bank] is the wavefront that serves lane lanes[row] there; or None."""

    lanes: tuple[int, ...]
    cells: tuple[tuple[int | None, ...], ...]
    given: tuple[int, ...]
    """The words that every bank gives, or lanes it serves in turn: the most is the count of the phase."""
    in_turn: bool = False

    def lines(self) -> Iterator[str]:
        """Return the picture as plain text."""
        yield "   bank " + "".join(f"{bank:<8}" for bank in range(0, BANKS, 4)).rstrip()
        for lane, row in zip(self.lanes, self.cells, strict=True):
            yield f"lane {lane:>2} " + " ".join(NOTHING if mark is None else MARKS[mark] for mark in row)
        counts = " ".join(MARKS[given - 1] if given else NOTHING for given in self.given)
        yield f"  {'turns' if self.in_turn else 'words'} {counts}"


def drawing_of(phase: Phase) -> Drawing:
    """Return the drawing of a phase: each bank gives its words in the order of their addresses, one a
    wavefront.

    Where lanes take turns, each lane has its own wavefront; lanes of one word go in their order.

    >>> (phase,) = counted("ld", 4, [0, 128, 128, 4]).phases
    >>> for line in drawing_of(phase).lines():
    ...     print(line[:23].rstrip())
       bank 0       4
    lane  0 1 . . . . . . .
    lane  1 2 . . . . . . .
    lane  2 2 . . . . . . .
    lane  3 . 1 . . . . . .
      words 2 1 . . . . . .
    """
    cells: dict[int, list[int | None]] = {lane: [None] * BANKS for lane in phase.lanes}
    served = {bank: phase.served(bank) for bank in phase.banks}
    for bank, wavefronts in served.items():
        for wavefront, (_, lanes) in enumerate(wavefronts):
            for lane in lanes:
                cells[lane][bank] = wavefront
    given = tuple(len(served.get(bank, ())) for bank in range(BANKS))
    return Drawing(phase.lanes, tuple(map(tuple, cells.values())), given, phase.in_turn)


def said(request: Request, number: int) -> str:
    """Return one phase of a request in a line.

    >>> said(counted("ld", 4, [0, 128, 256, 4]), 0)
    'phase 0: lanes 0..3, 3 wavefronts: bank 0 gives 3 words'
    >>> said(counted("atom", 4, [0, 0, 128, 4]), 0)
    'phase 0: lanes 0..3, 3 wavefronts: bank 0 serves 3 lanes in turn'
    """
    phase = request.phases[number]
    if phase.busiest is None:
        return f"phase {number}: no lane is active"
    lanes, wavefronts = phase.lanes, phase.wavefronts
    who = f"lanes {lanes[0]}..{lanes[-1]}" if len(lanes) > 1 else f"lane {lanes[0]}"
    if len(lanes) != lanes[-1] - lanes[0] + 1:
        who = f"{len(lanes)} lanes of {lanes[0]}..{lanes[-1]}"
    does = f"serves {wavefronts} lanes in turn" if phase.in_turn else f"gives {wavefronts} words"
    why = f": bank {phase.busiest} {does}" if wavefronts > 1 else ""
    return f"phase {number}: {who}, {many(wavefronts, 'wavefront')}{why}"


def collision(phase: Phase) -> str:
    """Return the lanes that ask the busiest bank for each of its bytes:

    >>> collision(counted("ld", 4, [0, 128, 256, 384, 4]).phases[0])
    'lane 0 asks it for byte 0, lane 1 for byte 128, lane 2 for byte 256, ...'
    >>> collision(counted("atom", 4, [0, 0, 128, 4]).phases[0])
    'lane 0 asks it for byte 0, lane 1 for byte 0, lane 2 for byte 128'
    """
    if phase.busiest is None or phase.wavefronts == 1:
        return ""
    served = phase.served(phase.busiest)
    first = [f"lane {lanes[0]} for byte {phase.word(word) * WORD}" for word, lanes in served[:TOLD]]
    first[0] = first[0].replace(" for ", " asks it for ", 1)
    return ", ".join(first) + ", ..." * (len(served) > TOLD)
