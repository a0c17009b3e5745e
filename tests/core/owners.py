"""The relation of two layouts, from sets: the owners that hold every element, and those that want it.

The oracle lists both layouts by the definition. It shares no code with `tilewise.core.algebra`.
"""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product
from math import prod
from random import Random

from tilewise import Axis, Layout, bx, gpuid_x, laneid, m, reg, tid_in_wg, tx, warpid, wgid, wid_in_wg
from tilewise.core.layout import Iter
from tilewise.core.vectors import Vector
from tilewise.testing import Map, Place, as_place, naive_map

KINDS = ("device", "cta", "warp", "lane", "register", "memory")
"""The kinds of owners, outermost first."""

_KIND_OF = {
    **dict.fromkeys(("bx", "by", "bz", "cbx", "cby", "cbz"), "cta"),
    **dict.fromkeys(("wgid", "warpid", "wid_in_wg", "tx", "tid_in_wg"), "warp"),
    "laneid": "lane",
    "reg": "register",
    **dict.fromkeys(("m", "TCol", "TLane"), "memory"),
}
_THREADS = ("tx", "tid_in_wg")
_MACHINE_STORAGE = {"m", "reg", "TCol", "TLane"}

# a thread is (warpgroup, warp in it, lane), and every name is a run of these three
_RUNS = {
    "tx": (0, 3),
    "warpid": (0, 2),
    "tid_in_wg": (1, 3),
    "wgid": (0, 1),
    "wid_in_wg": (1, 2),
    "laneid": (2, 3),
}
_NAMES = {run: name for name, run in _RUNS.items()}


# -- the classes -----------------------------------------------------------------------------------


def class_of(a: Layout, b: Layout, permute: tuple[int, ...] | None = None) -> str:
    """The class of two layouts of one size; with `permute`, of a with its modes in that order."""
    held, extents = naive_map(a), extents_of(a)
    if permute is not None:
        held, extents = reordered(held, extents, permute)
    split, old, new = in_one_spelling(held, naive_map(b))
    if old == new:
        turned = permute is not None and list(permute) != sorted(permute)
        return "relabel" if split else "same" if extents == extents_of(b) and not turned else "view"
    if permute is None and any(turn == new for turn in turned_into(old, extents, extents_of(b))):
        return "view"
    if all(wanted <= there for there, wanted in zip(old, new, strict=True)):
        return "drop"
    if constant_step(old, new) is not None:
        return "shift"
    if split and constant_step(*(on_threads(x, lanes_of(old, new)) for x in (old, new))) is not None:
        return "shift"
    if renamings(a, b, old, new):
        return "relabel"
    return outermost(a, b, old, new)


def outermost(a: Layout, b: Layout, old: Map, new: Map) -> str:
    """The outermost kind of owner, some element of which none of its kind held before."""
    storage = {axis.name for layout in (a, b) for axis in layout.axes if axis.storage} | {"TLane"}
    lives = [{name for name in moving(places) if name in storage} for places in (old, new)]
    elsewhere = all(lives) and not lives[0] & lives[1]
    lanes = lanes_of(old, new)
    for kind in KINDS[:2] if elsewhere else KINDS:
        for there, wanted in zip(old, new, strict=True):
            if not seats(wanted, kind, storage, lanes) <= seats(there, kind, storage, lanes):
                return kind
    return "memory"


def seats(places: frozenset[Place], kind: str, storage: set[str], lanes: int) -> set[Place]:
    """The owners of one kind that hold the places: what lies within them is left out."""
    found = set()
    for place in places:
        seat = {}
        for name, steps in place:
            own = _KIND_OF.get(name) or ("memory" if name in storage else "device")
            if KINDS.index(own) <= KINDS.index(kind):
                seat[name] = steps // lanes if kind == "warp" and name in _THREADS else steps
        found.add(as_place(seat))
    return found


def counts(old: Map, new: Map) -> dict[str, int]:
    """{axis: how many elements have a coordinate there that they had not}, without zeros."""
    found = {}
    for name in {*moving(old), *moving(new)}:
        seen = [[{dict(place).get(name, 0) for place in places} for places in x] for x in (old, new)]
        count = sum(not wanted <= there for there, wanted in zip(*seen, strict=True))
        if count:
            found[name] = count
    return found


# -- one spelling of threads -----------------------------------------------------------------------


def in_one_spelling(one: Map, other: Map) -> tuple[bool, Map, Map]:
    """Both maps with the threads' axes cut where either has a border, and whether one was cut.

    None is cut where a layout names an axis beside a part of it, or a thread that does not exist.
    """
    lanes = lanes_of(one, other)
    ends = {"laneid": lanes, "wid_in_wg": 4, "tid_in_wg": 128}
    if lanes == 64:  # waves make no warpgroups
        ends = {"laneid": 64, "wgid": 0, "wid_in_wg": 0, "tid_in_wg": 0}
    for name, steps in {at for x in (one, other) for places in x for place in places for at in place}:
        if name in _RUNS and not 0 <= steps < ends.get(name, steps + 1):
            return False, one, other
    runs = [[_RUNS[name] for name in moving(places) if name in _RUNS] for places in (one, other)]
    if any(sum(first <= part < last for first, last in own) > 1 for own in runs for part in range(3)):
        return False, one, other
    borders = {end for run in (*runs[0], *runs[1]) for end in run}
    if not any(first < border < last for own in runs for first, last in own for border in borders):
        return False, one, other

    def cut(place: Place) -> Place:
        return as_place({part: n for name, steps in place for part, n in parted(name, steps, borders, lanes)})

    return True, *([frozenset(map(cut, places)) for places in x] for x in (one, other))


def parted(name: str, steps: int, borders: set[int], lanes: int) -> list[tuple[str, int]]:
    """An axis of threads in the parts between the borders."""
    first, last = _RUNS.get(name, (0, 0))
    if first < 2 < last and 2 in borders:
        warps = parted(_NAMES[first, 2], steps // lanes, borders, lanes)
        return [*warps, ("laneid", steps % lanes)]
    if first < 1 < last and 1 in borders:
        count = 4 if last == 2 else 128
        return [("wgid", steps // count), (_NAMES[1, last], steps % count)]
    return [(name, steps)]


def lanes_of(*maps: Map) -> int:
    """64 where the last lane of a map is one of 32 to 63, else 32."""
    last = [max(dict(place).get("laneid", 0) for places in x for place in places) for x in maps]
    return 64 if any(32 <= lane < 64 for lane in last) else 32


def on_threads(places: Map, lanes: int) -> Map:
    """The map with the number of the thread in its block."""
    worth = {"tx": 1, "laneid": 1, "tid_in_wg": 1, "wid_in_wg": lanes, "warpid": lanes, "wgid": 4 * lanes}

    def counted(place: Place) -> Place:
        thread = sum(steps * worth.get(name, 0) for name, steps in place)
        return as_place({name: n for name, n in place if name not in worth} | {"tx": thread})

    return [frozenset(map(counted, held)) for held in places]


# -- other indices, shifts and names ---------------------------------------------------------------


def extents_of(layout: Layout) -> list[int]:
    """Return how many indices every mode has."""
    return [_size(mode) for mode in layout.shape]


def _size(mode: object) -> int:
    return prod(map(_size, mode)) if isinstance(mode, tuple) else mode


def reordered(places: Map, extents: list[int], order: tuple[int, ...]) -> tuple[Map, list[int]]:
    """A map with its modes in another order, and their extents."""
    weights = [prod(extents[mode + 1 :]) for mode in range(len(extents))]
    turned = [extents[mode] for mode in order]
    flats = (
        sum(digit * weights[mode] for digit, mode in zip(index, order, strict=True))
        for index in product(*map(range, turned))
    )
    return [places[flat] for flat in flats], turned


def turned_into(places: Map, extents: list[int], wanted: list[int]):
    """The map in every order of its modes that has the wanted extents."""
    for order in permutations(range(len(extents))):
        if [extents[mode] for mode in order] == wanted:
            yield reordered(places, extents, order)[0]


def constant_step(one: Map, other: Map) -> dict[str, int] | None:
    """The one vector that takes every set of places to the other, or None."""
    start = next(iter(one[0]))
    for end in other[0]:
        step = Counter(dict(end))
        step.subtract(dict(start))
        if all(frozenset(_moved(p, step) for p in old) == new for old, new in zip(one, other, strict=True)):
            return {name: steps for name, steps in step.items() if steps} or None
    return None


def _moved(place: Place, step: Counter[str]) -> Place:
    total = Counter(dict(place))
    total.update(step)
    return as_place(total)


def moving(places: Map) -> list[str]:
    """The axes on which some place is not 0."""
    return sorted({name for held in places for place in held for name, _ in place})


def renamings(a: Layout, b: Layout, one: Map, other: Map) -> list[dict[str, str]]:
    """Every bijection of the moving axes, kind by kind, that makes the maps equal."""
    kinds = {axis.name: axis.kind for axis in (*a.axes, *b.axes)}
    ours, theirs = moving(one), moving(other)
    if len(ours) != len(theirs):
        return []
    found = []
    for order in permutations(theirs):
        names = dict(zip(ours, order, strict=True))
        if any(
            kinds.get(old, "owner") != kinds.get(new, "owner") or _clash(old, new)
            for old, new in names.items()
        ):
            continue
        renamed = [
            frozenset(tuple(sorted((names[n], s) for n, s in place)) for place in held) for held in one
        ]
        if renamed == other:
            found.append(names)
    return found


def _clash(old: str, new: str) -> bool:
    """Two storages of the machine are not one under two names."""
    known = {*_KIND_OF, "gpuid_x", "gpuid_y"}
    return old != new and {old, new} <= known and bool({old, new} & _MACHINE_STORAGE)


# -- pairs -----------------------------------------------------------------------------------------

OWN = Axis("own")
BUFFER = Axis("buf", storage=True)

_SPELLINGS = (
    (tx,),
    (tid_in_wg,),
    (tid_in_wg, wgid),
    (warpid, laneid),
    (wgid, wid_in_wg, laneid),
    (laneid,),
    (warpid,),
    (tx, warpid),
    (tid_in_wg, wgid, laneid),
)
_FAR = (bx, gpuid_x, OWN)
_STORAGE = (m, reg, BUFFER)
_STEPS = (0, 1, 1, 2, 3, 4, 8, 12, 16, 31, 32, 32, 33, 64, 96, 128, -1, -3, -32)
_THREAD_STEPS = {"laneid": (0, 1, 2, 4, 8, 16), "wid_in_wg": (0, 1, 2), "wgid": (0, 1, 2)}


def random_owners(rng: Random) -> tuple[Layout, Layout, tuple[int, ...] | None]:
    """Two layouts of one size on owners, storage and threads in several spellings; now and then an order."""
    extents = [rng.choice((2, 2, 3, 4, 4, 5, 8)) for _ in range(rng.randint(1, 3))]
    while prod(extents) > 48:
        extents.pop()
    spellings = rng.choices(_SPELLINGS, k=2)
    far, storage = rng.sample(_FAR, rng.randint(0, 2)), rng.sample(_STORAGE, rng.randint(0, 2))
    axes = [(*spelling, *far, *storage) for spelling in spellings]
    if rng.random() < 0.5:
        axes[1] = axes[0]
    a = _random_on(rng, axes[0], extents)
    how = rng.randrange(5)
    if how == 0:
        b = _random_on(rng, axes[1], extents)
    elif how == 1:
        b = _one_part_changed(rng, a, axes[1])
    elif how == 2 and spellings[0] in _SPELLINGS[3:5]:
        b = _fused(a, rng.choice((tx, tid_in_wg)))
        b = b if rng.random() < 0.5 else _one_part_changed(rng, b, (tx, *far, *storage))
    elif how == 3:
        b = _one_part_changed(rng, _one_copy(rng, a), axes[1])
    else:
        b = _one_part_changed(rng, _one_part_changed(rng, a, axes[1]), axes[1])
    if rng.random() < 0.3:
        b = b + 0 * Vector(((rng.choice((*_STORAGE, *_FAR)), 1),))
    if rng.random() < 0.2:
        a, b = b, a
    order = tuple(rng.sample(range(len(extents)), len(extents))) if rng.random() < 0.4 else None
    return a, b, order


def _random_on(rng: Random, axes: tuple[Axis, ...], extents: list[int]) -> Layout:
    strides = tuple(_step(rng, axes) for _ in extents)
    copies = tuple(_copies(rng, axes) for _ in range(rng.choice((0, 1, 1, 2))))
    return Layout(tuple(extents), strides, copies, _step(rng, axes) if rng.random() < 0.5 else Vector())


def _step(rng: Random, axes: tuple[Axis, ...]) -> Vector:
    named = rng.sample(axes, min(len(axes), rng.choice((1, 1, 1, 2))))
    return Vector(tuple((axis, rng.choice(_THREAD_STEPS.get(axis.name, _STEPS))) for axis in named))


def _copies(rng: Random, axes: tuple[Axis, ...]) -> Iter:
    named = rng.sample(axes, min(len(axes), rng.choice((1, 2, 2, 3))))
    return Iter(rng.randint(2, 4), Vector(tuple((axis, rng.choice((*_STEPS, -32, -1))) for axis in named)))


def _one_part_changed(rng: Random, layout: Layout, axes: tuple[Axis, ...]) -> Layout:
    strides, copies, offset = list(layout.strides), list(layout.replica), layout.offset
    part = rng.randrange(4)
    if part == 0:
        strides[rng.randrange(len(strides))] = _step(rng, axes)
    elif part == 1 and copies:
        copies[rng.randrange(len(copies))] = _copies(rng, axes)
    elif part == 2:
        strides = rng.sample(strides, len(strides))
    else:
        offset = offset + _step(rng, axes)
    return Layout(layout.shape, tuple(strides), tuple(copies), offset)


def _one_copy(rng: Random, layout: Layout) -> Layout:
    """The layout with one of its copies' iters at one of its digits."""
    if not layout.replica:
        return layout
    gone, *copies = layout.replica
    start = gone.stride * rng.randrange(gone.extent)
    return Layout(layout.shape, layout.strides, tuple(copies), layout.offset + start)


def _fused(layout: Layout, into: Axis) -> Layout:
    """The layout with threads counted on one axis: steps of warps and lanes are steps of threads."""
    worth = {"laneid": 1, "wid_in_wg": 32, "warpid": 32, "wgid": 128}

    def put(vector: Vector) -> Vector:
        return Vector(
            tuple(
                (into, steps * worth[axis.name]) if axis.name in worth else (axis, steps)
                for axis, steps in vector.terms
            )
        )

    return Layout(
        layout.shape,
        tuple(map(put, layout.strides)),
        tuple(Iter(it.extent, put(it.stride)) for it in layout.replica),
        put(layout.offset),
    )
