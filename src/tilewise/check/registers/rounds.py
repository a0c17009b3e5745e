"""Rounds of shuffles: in each, every lane offers one register and reads one of another lane.

The registers that lanes need from others are parted into rounds, so that no lane offers two in one round.

**By algebra**, where the transfer is affine over GF(2). In round k lane l receives its position k + phi(l),
for a linear phi. It also receives the positions of a subspace P from the same lane: they share a register. It
reads lane (A + B phi) l + B k + a. Where that is one to one, or the readers of one lane want the same of it,
every lane offers one register.

    if A + I is in the columns of B, phi with B phi = A + I makes every round a butterfly, and the rounds
    with B k = a are what lanes keep
    else phi makes A + B phi one to one, where that can be

**By colouring**, elsewhere: an edge for each register that goes from a lane to another, a colour for each
round, no two of a lane's alike. A bipartite graph needs as many as the most edges that meet (Konig).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from itertools import count

from tilewise.check.registers.warp import LANE, LabelMap, WarpTable, bound, nearest
from tilewise.core.algebra.recognition import recognise
from tilewise.core.axes import Axis
from tilewise.core.bits import Basis, combined, kernel, sums, through
from tilewise.core.errors import Refused
from tilewise.hardware.limits import LANE_BITS, LANES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tilewise.core.layout import Layout


@dataclass(slots=True)
class Round:
    """The positions that every lane offers, and the lane that it reads, or None."""

    offers: list[tuple[int, ...]] = field(default_factory=lambda: [()] * LANES)
    reads: list[int | None] = field(default_factory=lambda: [None] * LANES)

    def add(self, lane: int, its: int, positions: tuple[int, ...]) -> None:
        """Make a lane read positions of another lane, which offers them beside those that others read."""
        self.reads[lane] = its
        self.offers[its] = tuple(sorted({*self.offers[its], *positions}))

    @property
    def stays(self) -> bool:
        """Return True if no lane reads another one."""
        return all(its in (None, lane) for lane, its in enumerate(self.reads))


def schedules(table: WarpTable, found: LabelMap | None) -> Iterator[list[Round]]:
    """Yield ways to part the move into rounds, those by algebra first: these may be the fewest there are.

    In some rounds no lane may read another one: such a round joins the kept units of a lane in one register.
    """
    tried, packed = list[int](), [-1]
    for prefer_source in (True, False):
        if found is None:
            break
        spaces = _Spaces(found, table.per_register, prefer_source)
        if spaces.packed == packed:
            continue
        packed = spaces.packed
        for phi in filter(None, (_keeping(spaces), _one_to_one(spaces))):
            rounds = _rounds(table, spaces, phi)
            moving = [made for made in rounds if not made.stays]
            tried.append(len(moving))
            yield moving
            if len(moving) < len(rounds):
                yield rounds
    if not tried or min(tried) > bound(table, by_shuffles=True).count:
        yield _first_fit(table)
        yield _coloured(table)


# -- by algebra ------------------------------------------------------------------------------------


class _Spaces:
    """The positions of the target as a space over GF(2), with its subspaces for rounds."""

    def __init__(self, found: LabelMap, per_register: int, prefer_source: bool) -> None:
        self.found = found
        basis = Basis()
        self.distinct = [1 << bit for bit, column in enumerate(found.positions) if basis.add(column)]
        self.repeats = sums(kernel(found.positions))  # positions that repeat others of the lane
        self.packed = self._packed(per_register, prefer_source)
        basis = Basis(self.packed)
        self.rounds = [bit for bit in self.distinct if basis.add(bit)]

    def lane_of(self, position: int) -> int:
        """Return B: the lane bits of the source that the bits of a position flip."""
        return combined(self.found.positions, position) & LANE

    def _packed(self, per_register: int, prefer_source: bool) -> list[int]:
        """Return P: positions that come from one lane, as many as a register holds; neighbours first."""
        alone = [combined(self.distinct, own) for own in kernel(list(map(self.lane_of, self.distinct)))]

        def merit(position: int) -> tuple[int, int, int]:
            held = combined(self.found.positions, position) >> LANE_BITS < per_register
            wanted = position < per_register
            first, second = (held, wanted) if prefer_source else (wanted, held)
            return -2 * first - second, position.bit_count(), position

        basis, found = Basis(), list[int]()
        for position in sorted(sums(alone)[1 : 1 << 10], key=merit):
            if 1 << len(found) < per_register and basis.add(position):
                found.append(position)
        return found


def _keeping(spaces: _Spaces) -> list[int] | None:
    """Return phi with B phi = A + I, by the bits of the lane, or None."""
    columns = Basis(map(spaces.lane_of, spaces.rounds))
    lanes = [(column & LANE) ^ 1 << bit for bit, column in enumerate(spaces.found.threads)]
    chosen = [columns.combination(lane) for lane in (spaces.found.origin & LANE, *lanes)]
    if None in chosen:
        return None
    return [combined(spaces.rounds, own or 0) for own in chosen[1:]]


def _one_to_one(spaces: _Spaces) -> list[int] | None:
    """Return phi under which the readers of one lane want the same of it, or None."""
    found, phi, images = spaces.found, Basis(), Basis()
    domain = [*(1 << bit for bit in range(LANE_BITS)), *(own << LANE_BITS for own in spaces.distinct)]
    columns = (*found.threads, *found.positions)
    for relation in kernel([combined(columns, own) for own in domain]):
        alike = combined(domain, relation)
        phi.define(alike & LANE, alike >> LANE_BITS)
    waiting = []
    for bit, column in enumerate(found.threads):
        if 1 << bit not in phi:
            if images.add(column & LANE):
                phi.define(1 << bit, 0)
            else:
                waiting.append(1 << bit)
    for lane in waiting:
        position = next((own for own in spaces.rounds if images.add(spaces.lane_of(own))), None)
        if position is None:
            return None
        phi.define(lane, position)
    return [phi.combination(1 << bit) or 0 for bit in range(LANE_BITS)]


def _rounds(table: WarpTable, spaces: _Spaces, phi: list[int]) -> list[Round]:
    """Return a round for every k in which some lane gets something."""
    result = []
    lanes, together = sums(phi), sums(spaces.packed)
    for k in sums(spaces.rounds):
        made = Round()
        for lane, row in enumerate(table.wanted):
            for own in together:
                at = k ^ lanes[lane] ^ own
                same = (at ^ repeat for repeat in spaces.repeats)
                if any(row[position] for position in same if position < len(row)):
                    place = spaces.found.label(lane, at)
                    made.add(lane, place & LANE, (place >> LANE_BITS,))
        if any(its is not None for its in made.reads):
            result.append(made)
    return result


# -- by colouring ----------------------------------------------------------------------------------


def _parcels(table: WarpTable) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return (lane, lane that it reads, positions there) of every register that has to be sent."""
    needed: defaultdict[tuple[int, int], dict[int, None]] = defaultdict(dict)
    for lane, _, sources in table.at():
        its, position = nearest(lane, sources)
        if its != lane:
            needed[lane, its][position] = None
    size = table.per_register
    return [
        (lane, its, tuple(sorted([*positions][i : i + size])))
        for (lane, its), positions in needed.items()
        for i in range(0, len(positions), size)
    ]


def _first_fit(table: WarpTable) -> list[Round]:
    """Return each parcel in the first round where its lanes are free; equal parcels share an offer."""
    found: list[Round] = []
    parcels = _parcels(table)
    alike = Counter(parcel[1:] for parcel in parcels)
    for lane, its, positions in sorted(parcels, key=lambda parcel: -alike[parcel[1:]]):
        for made in found:
            together = {*made.offers[its], *positions}
            if made.reads[lane] is None and len(together) <= table.per_register:
                break
        else:
            found.append(made := Round())
        made.add(lane, its, positions)
    return found


def _coloured(table: WarpTable) -> list[Round]:
    """Return the fewest rounds: the most parcels of any lane, received or sent.

    Let the first free colours of the reader and of the sender differ. Then the path of parcels in these two
    colours from the sender swaps them. It cannot end at the reader, which has no parcel of the first.
    """
    parcels = _parcels(table)
    ends = [((0, lane), (1, its)) for lane, its, _ in parcels]
    colours: defaultdict[tuple[int, int], dict[int, int]] = defaultdict(dict)  # {round: parcel} of each end
    for parcel, both in enumerate(ends):
        one, other = (next(own for own in count() if own not in colours[end]) for end in both)
        path, end, colour = list[int](), both[1], one
        while one != other and colour in colours[end]:
            path.append(colours[end][colour])
            end = ends[path[-1]][1 - end[0]]
            colour = one + other - colour
        for remove in (True, False):
            for i, moved in enumerate(path):
                for end in ends[moved]:
                    if remove:
                        del colours[end][other if i % 2 else one]
                    else:
                        colours[end][one if i % 2 else other] = moved
        for end in both:
            colours[end][one] = parcel
    found: defaultdict[int, Round] = defaultdict(Round)
    for lane in range(LANES):
        for at, parcel in colours[0, lane].items():
            found[at].add(*parcels[parcel])
    return [found[at] for at in sorted(found)]


# -- maps from lanes to lanes ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LaneMap:
    """The lane that every lane reads, in the terms of shfl.sync.

    `amount` is the bits that bfly flips, the distance of up or down, and for idx the lane that all lanes
    read, or None. Lanes with no lane at that distance read themselves.

    >>> LaneMap.of([lane ^ 4 for lane in range(32)])
    LaneMap(mode='bfly', amount=4)
    >>> LaneMap.of([max(lane - 1, 0) for lane in range(32)])
    LaneMap(mode='up', amount=1)
    """

    mode: str
    amount: int | None = None
    lanes: tuple[int, ...] = field(default=(), repr=False)
    """The lanes themselves, where the mode and the amount do not determine them."""

    @classmethod
    def of(cls, lanes: Sequence[int]) -> LaneMap:
        """Return the tidiest map that reads these lanes."""
        for mode, amount, read in _simple():
            if tuple(lanes) == read:
                return cls(mode, amount)
        return cls("idx", lanes[0]) if len(set(lanes)) == 1 else cls("idx", None, tuple(lanes))


def lane_layout(lanes: Sequence[int]) -> Layout | None:
    """Return the map as a layout from 32 lanes to `laneid`, or None where no layout is that map.

    >>> print(lane_layout([lane ^ 1 for lane in range(32)]))
    S[(16, 2) : (2@laneid, -1@laneid)] + 1@laneid
    """
    try:
        return recognise(list(lanes), Axis("laneid"))
    except Refused:
        return None


def completed(reads: Sequence[int | None]) -> tuple[int, ...]:
    """Return the lanes that are read, with any for the lanes that read nothing: the tidiest map possible.

    >>> LaneMap.of(completed([1, 0, None, 2, *[None] * 28]))
    LaneMap(mode='bfly', amount=1)
    """
    for _, _, lanes in _simple():
        if all(read in (None, lane) for read, lane in zip(reads, lanes, strict=True)):
            return lanes
    points = [(lane, read) for lane, read in enumerate(reads) if read is not None]
    known = {read for _, read in points}
    if len(known) == 1:
        return (*known,) * LANES
    affine = through(points, LANE_BITS, ((lane, lane) for lane in range(LANES)))
    if affine is not None:
        return tuple(sums(affine.flips, affine.origin[0]))
    return tuple(lane if read is None else read for lane, read in enumerate(reads))


@cache
def _simple() -> tuple[tuple[str, int, tuple[int, ...]], ...]:
    """Return (mode, amount, lanes) of butterflies, and of reading a fixed way down or up."""
    lanes = range(LANES)
    found = [("bfly", amount, tuple(lane ^ amount for lane in lanes)) for amount in lanes]
    for amount in lanes[1:]:
        up = tuple(lane - amount if lane >= amount else lane for lane in lanes)
        down = tuple(lane + amount if lane + amount < LANES else lane for lane in lanes)
        found += [("up", amount, up), ("down", amount, down)]
    return tuple(found)
