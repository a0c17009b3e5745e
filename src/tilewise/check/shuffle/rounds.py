"""Rounds of shuffles: in each, every lane offers one register and reads one of another lane's.

What all lanes need from others is parted into rounds so that no lane has to offer two registers in one.

**By algebra**, where the transfer is affine over GF(2). In round k lane l receives what belongs to position
k + phi(l) of it, for a linear phi, and the positions of a subspace P besides, which come from the same lane:
they share a register. The lane that is read is (A + B phi) l + B k + a. Wherever that is one to one, or lanes
that read one lane want the same of it, every lane offers one register.

    if A + I is in the columns of B, phi with B phi = A + I makes every round a butterfly, and the rounds
    with B k = a are what lanes keep
    else phi makes A + B phi one to one, where that can be

**By colouring**, elsewhere: an edge for each register that goes from a lane to another, a colour for each
round, no two of a lane's alike. A bipartite graph needs as many as the most edges that meet (Konig).
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.check.shuffle.bound import bound
from tilewise.check.shuffle.linear import LANE, Linear, combined, kernel, nearest
from tilewise.check.shuffle.transfer import Transfer
from tilewise.core.bits import Basis
from tilewise.hardware.limits import LANE_BITS, LANES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(slots=True)
class Round:
    """What every lane offers, positions of its own, and which lane it reads; None where it reads nothing."""

    offers: list[tuple[int, ...]]
    reads: list[int | None]

    @classmethod
    def empty(cls) -> Round:
        """A round in which nobody reads."""
        return cls([()] * LANES, [None] * LANES)

    @property
    def stays(self) -> bool:
        """Whether nobody reads another lane."""
        return all(its in (None, lane) for lane, its in enumerate(self.reads))


def schedules(table: Transfer, found: Linear | None) -> Iterator[list[Round]]:
    """Ways to part the move into rounds, those by algebra first: others are not tried where these are least.

    A round in which nobody reads another lane may be among them: it makes what lanes keep one register.
    """
    least = None
    for rounds in _by_algebra(table, found) if found is not None else ():
        moving = sum(not made.stays for made in rounds)
        least = moving if least is None else min(least, moving)
        yield rounds
    if least is None or least > bound(table, by_shuffles=True).count:
        yield _first_fit(table)
        yield _coloured(table)


# -- by algebra ------------------------------------------------------------------------------------


class _Spaces:
    """The positions of the target as a space over GF(2), with what they are good for."""

    def __init__(self, found: Linear, per_register: int, prefer_source: bool) -> None:
        self.found = found
        own = Basis()
        self.distinct = [
            1 << bit for bit, column in enumerate(found.of_position) if own.add(column)
        ]  # others repeat what the lane has
        repeated = kernel(list(found.of_position))
        self.repeats = [combined(repeated, chosen) for chosen in range(1 << len(repeated))]
        slots = per_register.bit_length() - 1
        shared = self._shared(slots, prefer_source)
        self.packed = shared
        basis = Basis(shared)
        self.rounds = [bit for bit in self.distinct if basis.add(bit)]

    def lane_of(self, position: int) -> int:
        """B: which lane bits of the source the bits of a position flip."""
        return self.found.step(position << LANE_BITS) & LANE

    def wants(self, row: Sequence[frozenset[tuple[int, int]]], position: int) -> bool:
        """Whether a lane has anything at a position, or at one that repeats it."""
        return any(row[at] for at in (position ^ own for own in self.repeats) if at < len(row))

    def _shared(self, slots: int, prefer_source: bool) -> list[int]:
        """P: positions that come from one lane, as many as a register holds; neighbours if possible."""
        alone = [
            combined(self.distinct, chosen) for chosen in kernel([self.lane_of(own) for own in self.distinct])
        ]
        low = (1 << slots) - 1

        def in_target(position: int) -> bool:
            return not position & ~low

        def in_source(position: int) -> bool:
            return not self.found.step(position << LANE_BITS) >> LANE_BITS & ~low

        candidates = [combined(alone, chosen) for chosen in range(1, min(1 << len(alone), 1 << 10))]
        first, second = (in_source, in_target) if prefer_source else (in_target, in_source)
        candidates.sort(key=lambda own: (-(first(own) * 2 + second(own)), own.bit_count(), own))
        basis, found = Basis(), list[int]()
        for own in candidates:
            if len(found) < slots and basis.add(own):
                found.append(own)
        return found


def _by_algebra(table: Transfer, found: Linear) -> Iterator[list[Round]]:
    seen = []
    for prefer_source in (True, False):
        spaces = _Spaces(found, table.per_register, prefer_source)
        if spaces.packed in seen:
            continue
        seen.append(spaces.packed)
        for phi in (_keeping(spaces), _one_to_one(spaces)):
            if phi is not None:
                rounds = _rounds(table, spaces, phi)
                moving = [made for made in rounds if not made.stays]
                yield moving
                if len(moving) < len(rounds):
                    yield rounds


def _keeping(spaces: _Spaces) -> list[int] | None:
    """phi with B phi = A + I, by the bits of the lane; None where there is none."""
    columns = Basis(spaces.lane_of(own) for own in spaces.rounds)
    if spaces.found.origin & LANE not in columns:
        return None
    phi = []
    for bit, column in enumerate(spaces.found.of_lane):
        chosen = columns.combination((column & LANE) ^ 1 << bit)
        if chosen is None:
            return None
        phi.append(combined(spaces.rounds, chosen))
    return phi


def _one_to_one(spaces: _Spaces) -> list[int] | None:
    """phi with which lanes that read one lane want the same of it; None where there is none."""
    found = spaces.found
    domain = [1 << bit for bit in range(LANE_BITS)] + [own << LANE_BITS for own in spaces.distinct]
    alike = [combined(domain, chosen) for chosen in kernel([found.step(own) for own in domain])]
    lanes = Basis(own & LANE for own in alike)
    images = Basis()
    vectors, values, waiting = [own & LANE for own in alike], [own >> LANE_BITS for own in alike], []
    for bit in range(LANE_BITS):
        if lanes.add(1 << bit):
            if images.add(found.of_lane[bit] & LANE):
                vectors.append(1 << bit)
                values.append(0)
            else:
                waiting.append(1 << bit)
    for bit in waiting:
        own = next((own for own in spaces.rounds if images.add(spaces.lane_of(own))), None)
        if own is None:
            return None
        vectors.append(bit)
        values.append(own)
    basis = Basis(vectors)
    return [combined(values, basis.combination(1 << bit) or 0) for bit in range(LANE_BITS)]


def _rounds(table: Transfer, spaces: _Spaces, phi: list[int]) -> list[Round]:
    """A round for every k in which somebody gets something."""
    result = []
    for chosen in range(1 << len(spaces.rounds)):
        k = combined(spaces.rounds, chosen)
        made = Round.empty()
        for lane in range(LANES):
            position = k ^ combined(phi, lane)
            for own in range(1 << len(spaces.packed)):
                at = position ^ combined(spaces.packed, own)
                if spaces.wants(table.wanted[lane], at):
                    place = spaces.found(at << LANE_BITS | lane)
                    its, held = place & LANE, place >> LANE_BITS
                    made.reads[lane] = its
                    made.offers[its] = tuple(sorted({*made.offers[its], held}))
        if any(its is not None for its in made.reads):
            result.append(made)
    return result


# -- by colouring ----------------------------------------------------------------------------------


def _parcels(table: Transfer) -> list[tuple[int, int, tuple[int, ...]]]:
    """(lane, lane that it reads, positions there) of every register that has to be sent."""
    needed: dict[tuple[int, int], dict[int, None]] = {}
    for lane, _, sources in table.at():
        its, position = nearest(lane, sources)
        if its != lane:
            needed.setdefault((lane, its), {})[position] = None
    size = table.per_register
    found = []
    for (lane, its), positions in needed.items():
        own = list(positions)
        found += [(lane, its, tuple(sorted(own[i : i + size]))) for i in range(0, len(own), size)]
    return found


def _first_fit(table: Transfer) -> list[Round]:
    """Each parcel in the first round where its lanes are free; lanes that want the same share an offer."""
    found: list[Round] = []
    parcels = _parcels(table)
    wide: dict[tuple[int, tuple[int, ...]], int] = {}
    for _, its, positions in parcels:
        wide[its, positions] = wide.get((its, positions), 0) + 1
    for lane, its, positions in sorted(parcels, key=lambda own: -wide[own[1], own[2]]):
        for made in (*found, Round.empty()):
            both = tuple(sorted({*made.offers[its], *positions}))
            if made.reads[lane] is None and len(both) <= table.per_register:
                made.offers[its] = both
                made.reads[lane] = its
                if not any(made is own for own in found):
                    found.append(made)
                break
    return found


def _coloured(table: Transfer) -> list[Round]:
    """As few rounds as the most parcels of a lane, received or sent."""
    reading: list[dict[int, int]] = [{} for _ in range(LANES)]  # lane: {round: parcel}
    sending: list[dict[int, int]] = [{} for _ in range(LANES)]
    parcels = _parcels(table)
    for own, (lane, its, _) in enumerate(parcels):
        one, other = _free(reading[lane]), _free(sending[its])
        if one != other:
            _swap(parcels, reading, sending, its, one, other)
        reading[lane][one] = sending[its][one] = own
    found = [Round.empty() for _ in range(1 + max((max(own) for own in reading if own), default=-1))]
    for lane, taken in enumerate(reading):
        for at, number in taken.items():
            _, its, positions = parcels[number]
            found[at].reads[lane] = its
            found[at].offers[its] = positions
    return found


def _free(taken: dict[int, int]) -> int:
    return next(colour for colour in range(len(taken) + 1) if colour not in taken)


def _swap(
    parcels: list[tuple[int, int, tuple[int, ...]]],
    reading: list[dict[int, int]],
    sending: list[dict[int, int]],
    its: int,
    one: int,
    other: int,
) -> None:
    """Free the colour `one` at the sender: the path of parcels in either colour that begins there swaps them.

    It cannot end at the reader that asks, which has no parcel of colour `one`.
    """
    path, at, sender, colour = [], its, True, one
    while (own := (sending if sender else reading)[at].get(colour)) is not None:
        path.append(own)
        at = parcels[own][0] if sender else parcels[own][1]
        sender, colour = not sender, one + other - colour
    colours = [one if i % 2 == 0 else other for i in range(len(path))]
    for own, colour in zip(path, colours, strict=True):
        del reading[parcels[own][0]][colour], sending[parcels[own][1]][colour]
    for own, colour in zip(path, colours, strict=True):
        reading[parcels[own][0]][one + other - colour] = own
        sending[parcels[own][1]][one + other - colour] = own
