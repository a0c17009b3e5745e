"""The relation of two layouts of a tensor: one map, a view, or a move.

The classes, in the order in which they are tried; the elements are at `a` and go to `b`:

    same      b places every flat index as a does, in a shape of the same modes
    view      the same elements under another index: a's modes in another order, or another shape
    drop      every place of b is one of a's: copies are forgotten, nothing is sent
    shift     b is a, moved by one constant
    relabel   b is a with other names for its axes
    device, cta, warp, lane, register, memory
              the outermost kind of axis along which some element has to move

An element stays where all its new places are among its old ones; along one axis, where all its new
coordinates are among the old ones. So copies that are forgotten move nothing, and a new copy does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import gcd, prod

from tilewise.core import orders
from tilewise.core.algebra.moves import (
    MAX_LISTED,
    Movement,
    dressed_alike,
    find_digits,
    find_modes,
    moving_names,
    projected,
)
from tilewise.core.axes import DEVICE, KNOWN, SPLITS, STORAGE, Axis
from tilewise.core.canonical import canonical
from tilewise.core.compare import agree
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.facts import WAVE, lanes_of, plain_extremes
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout, as_layout
from tilewise.core.polynomials import LeftOpen, Stuck
from tilewise.core.shapes import extents_of, spell
from tilewise.core.vectors import Vector, point

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Via = dict[str, Any]

OUTERMOST_FIRST = ("device", "cta", "warp", "lane", "register", "memory")
"""The kinds of axes, by the distance of their owners."""

FREE = ("same", "view", "drop")
"""The classes in which no element goes anywhere."""

_KIND = {
    **dict.fromkeys(("bx", "by", "bz", "cbx", "cby", "cbz"), "cta"),
    **dict.fromkeys(("wgid", "warpid", "wid_in_wg", "tx", "tid_in_wg"), "warp"),
    "laneid": "lane",
    "reg": "register",
    "TLane": "memory",
}
_THREADS = ("tx", "tid_in_wg")
_OF_WAVES = {"tx", "warpid", "laneid"}
_OF_THREADS = _OF_WAVES | {"tid_in_wg", "wgid", "wid_in_wg"}


def kind_of(axis: Axis) -> str:
    """Return the kind of an axis, by the distance of a step along it.

    The lanes and columns of tensor memory are its addresses. An unknown owner may be anything, and
    counts as a device, so that no move is understated.

    >>> from tilewise import Axis, TLane, laneid, m, tx
    >>> [kind_of(axis) for axis in (Axis("gpuid_z"), tx, laneid, m, TLane, Axis("own"))]
    ['device', 'warp', 'lane', 'memory', 'memory', 'device']
    """
    return _KIND.get(axis.name) or ("memory" if axis.kind == STORAGE else DEVICE)


@dataclass(frozen=True, slots=True)
class Relation:
    """The change of one layout into another, and the elements that move.

    `kind` is the class, None if not decided. `via` is the way: `permute`, `reshape`, `shift`,
    `relabel`, `convert` or `recast`. `moves` has, axis by axis, the number of elements that need a new
    coordinate, None if not counted. `added` and `dropped` count copies of every element. `reading` would make
    b a view of a, were all digits of the index free to be taken in another order: both then arrange the same
    places.

    >>> from tilewise import S, laneid, reg
    >>> fragment = S[(8, (4, 2)) : (4@laneid, (1@laneid, 1@reg))]
    >>> found = fragment.relation(S[(8, (2, 4)) : (4@laneid, (1@reg, 1@laneid))])
    >>> found.kind, found.moves, found.free
    ('lane', {'laneid': 48, 'reg': 32}, False)
    """

    kind: str | None
    sentence: str
    elements: int
    via: Mapping[str, Any] = field(default_factory=dict)
    moves: Mapping[str, int | None] = field(default_factory=dict)
    added: int | None = 0
    dropped: int | None = 0
    reading: Mapping[str, list[int]] | None = None

    @property
    def copies(self) -> dict[str, int | None]:
        """Return the number of copies of every element that are added and dropped."""
        return {"added": self.added, "dropped": self.dropped}

    @property
    def free(self) -> bool:
        """Return True if no element moves or changes; raise `NotDecided` where that is open."""
        if self.kind is None:
            raise NotDecided(self.sentence)
        return (
            self.kind in FREE or (self.kind == "relabel" and not self.moves)
        ) and "convert" not in self.via

    def __str__(self) -> str:
        return self.sentence

    def __bool__(self) -> bool:
        raise LayoutError(
            "TW107",
            "a relation is neither true nor false",
            hint="ask .free, whether nothing moves, or compare .kind; a.same(b) is whether both are one map",
        )


def relation(
    a: Layout,
    b: Layout,
    permute: Any = None,
    reshape: Any = None,
    dtype_a: DType | str | None = None,
    dtype_b: DType | str | None = None,
) -> Relation:
    """Return the relation that turns `a` into `b`: the same map, a view, or a move.

    The search tries permutations of a's modes. With `permute`, or `reshape` and `permute`, the view is
    given: b is compared with a read by it, and with (0, 1, ...) index by index. With `reshape` alone, the
    search tries permutations of those modes.

        requires       one size; with dtypes of other widths, one size or the same number of bits;
                       both dtypes or neither
        postcondition  kind is the first of the classes that holds

    >>> from tilewise import R, S, Swizzle, gpuid_x, laneid, tx
    >>> relation(S[(8, 4) : (4, 1)], S[(4, 8) : (1, 4)]).sentence
    'a view: permute the modes of a by (1, 0) and it is b; nothing moves'
    >>> relation(S[8 : 1] + R[4 : 1@gpuid_x], S[8 : 1] + 2@gpuid_x).kind
    'drop'
    >>> relation(S[8 : 1@laneid], S[8 : 1@tx]).via["relabel"]
    {'laneid': 'tx'}
    >>> relation(S[(8, 64) : (64, 1)], Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)]).moves
    {'m': 448}
    """
    as_layout(b)
    a, b, via = _in_one_unit(a, b, dtype_a, dtype_b)
    if reshape is not None:
        shape = a.asked_in(reshape)
        if extents_of(shape) != extents_of(a.shape):
            via["reshape"] = list(extents_of(shape))
        try:
            a = a.reshape(*shape)
        except Refused:  # where no digits of it are the map, its flat index alone is
            if permute is not None:
                raise
    if permute is not None:
        modes = permute if isinstance(permute, tuple | list) else [permute]
        order = [as_int(mode, "a mode") for mode in modes]
        if order != sorted(order):
            via["permute"] = order
        a = a.permute(*order)
    one, other = orders.aligned_by_flat_index(a, b)
    found = _Question(one, other, via, search=permute is None, lanes=lanes_of(a, b)).answer()
    by_coordinates = a.order != b.order and orders.alike_in_modes(a, b)
    if permute is not None or a.order == "row" or by_coordinates:
        return found
    # the relation is that of a turned layout: its modes are counted from the left again
    via, reading = dict(found.via), None if found.reading is None else dict(found.reading)
    for view in (via, reading or {}):
        if "permute" in view:
            view["permute"] = list(orders.turned_modes(view["permute"]))
        if "reshape" in view and not (view is via and reshape is not None):
            view["reshape"] = view["reshape"][::-1]
    sentence = view_sentence(via) if found.kind == "view" else found.sentence
    return replace(found, via=via, reading=reading, sentence=sentence)


# -- units and dtypes ------------------------------------------------------------------------------


def _in_one_unit(
    a: Layout, b: Layout, dtype_a: DType | str | None, dtype_b: DType | str | None
) -> tuple[Layout, Layout, Via]:
    """Return both layouts in one unit and of one size, and the effect of their dtypes."""
    if (dtype_a is None) != (dtype_b is None):
        raise LayoutError(
            "TW401",
            f"the dtype of {'b' if dtype_b is None else 'a'}'s elements is missing",
            hint="give both or neither: dtype_a and dtype_b, --dtype-a and --dtype-b",
        )
    if dtype_a is None and a.unit != b.unit:
        raise LayoutError(
            "TW106",
            f"one layout counts {a.unit}s, the other {b.unit}s",
            hint="dtypes tell how large an element is: dtype_a and dtype_b, --dtype-a and --dtype-b",
        )
    one, other = (None if dtype is None else DType.of(dtype) for dtype in (dtype_a, dtype_b))
    via: Via = {}
    if one and other and one.bits != other.bits and a.size != b.size:
        a, b = _recast(a, b, one, other)
        via["recast"] = [one.name, other.name]
    elif one and other and (a.unit != b.unit or one.bits != other.bits):
        if one.bits % 8 or other.bits % 8 or "bit" in (a.unit, b.unit):
            a, b = a.in_bits(one), b.in_bits(other)
        else:
            a, b = a.in_bytes(one), b.in_bytes(other)
    if one and other and one != other and "recast" not in via:
        via["convert"] = [one.name, other.name]
    if a.size != b.size:
        raise LayoutError(
            "TW202",
            f"a has {a.size} elements and b {b.size}: they are not layouts of one tensor",
            hint="compare layouts of one size, such as a slice of the larger one",
        )
    return a, b, via


def _recast(a: Layout, b: Layout, one: DType, other: DType) -> tuple[Layout, Layout]:
    """Return both layouts, that of the wider elements as one of the narrower."""
    if a.size * one.bits != b.size * other.bits:
        raise LayoutError(
            "TW202",
            f"a has {a.size} elements of {one}, {a.size * one.bits} bits, and b {b.size} of {other}, "
            f"{b.size * other.bits}: neither one tensor nor the same bytes",
            hint="compare layouts of one size, or of the same number of bytes",
        )
    a, b = (x if x.unit == "element" else x.in_elements(d) for x, d in ((a, one), (b, other)))
    return (a.recast(one, other), b) if one.bits > other.bits else (a, b.recast(other, one))


# -- the classes -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Moved:
    """The answer for an axis: some element moves along it, and the number that do; None: not decided."""

    some: bool | None
    count: int | None


class _Undecided(Exception):
    """A class that could not be distinguished from another."""


def _first(*classes: Callable[[], Relation | None]) -> Relation:
    """Return the first class that holds; the last one always does."""
    return next(found for holds in classes if (found := holds()) is not None)


class _Question:
    """Two layouts of one size and unit, and the view that led to them."""

    def __init__(self, a: Layout, b: Layout, via: Via, search: bool, lanes: int) -> None:
        self.a, self.b, self.via, self.search, self.lanes = a, b, via, search, lanes
        self.one, self.other = canonical(a), canonical(b)
        self.movement = Movement(self.one, self.other)

    def answer(self) -> Relation:
        """Return the first class that holds."""
        try:
            return _first(
                self._same, self._view, self._respelled, self._drop, self._shift, self._relabel, self._move
            )
        except _Undecided as question:
            return Relation(None, f"not decided within the bound: {question}", self.a.size, self.via)

    def _found(self, kind: str, sentence: str, via: Via | None = None, **more: Any) -> Relation:
        via = self.via | (via or {})
        if "convert" in via:
            sentence += f"; every element is converted from {via['convert'][0]} to {via['convert'][1]}"
        return Relation(kind, sentence, self.a.size, via, **more)

    # nothing moves

    def _same(self) -> Relation | None:
        if not _decided(agree(self.one, self.other), "whether both are one map"):
            return None
        if self.via.keys() & {"permute", "reshape", "recast"}:
            return self._found("view", view_sentence(self.via))
        shape = extents_of(self.b.shape)
        if extents_of(self.a.shape) == shape:
            return self._found("same", "the same map; nothing moves")
        via = {"reshape": list(shape)}
        return self._found("view", view_sentence(via), via)

    def _view(self) -> Relation | None:
        order = find_modes(self.a, self.b) if self.search else None
        if order is None:
            return None
        if not _decided(self.dressed_alike, "whether the swizzles make a difference"):
            return None
        via = self.via | {"permute": order}
        return self._found("view", view_sentence(via), via)

    @cached_property
    def dressed_alike(self) -> bool | None:
        """Return True if only a view may differ: copies, offsets and swizzles make no difference."""
        return dressed_alike(self.one, self.other)

    def _drop(self) -> Relation | None:
        if not self.one.replica:
            return None  # the only place of an element is b's if b is a
        if not _decided(self.movement.stays(), "whether b's places are all among a's"):
            return None
        kept, all_copies = _copies(self.b), _copies(self.a)
        dropped = None if kept is None or all_copies is None else all_copies - kept
        how_many = "some" if dropped is None else f"{kept} of {all_copies}"
        sentence = f"b keeps {how_many} copies of every element; nothing moves"
        return self._found("drop", sentence, dropped=dropped)

    def _respelled(self) -> Relation | None:
        """Return the answer with all threads in one spelling: tx in one, warpid and laneid in the other."""
        a, b, split = _spelled_alike(self.a, self.b, self.lanes)
        if not split:
            return None
        via = self.via | {"relabel": split}
        respelled = _Question(a, b, via, self.search, self.lanes)
        if not _decided(agree(respelled.one, respelled.other), "whether both are one map, axes split"):
            a, b = (_on_threads(x, self.lanes) for x in (self.a, self.b))
            on_threads = _Question(a, b, via, self.search, self.lanes)
            return _first(
                respelled._view,
                respelled._drop,
                respelled._shift,
                on_threads._shift,  # a carry from lanes to warps shifts neither alone
                respelled._relabel,
                respelled._move,
            )
        names = _names_matched(self.one, self.other)
        if names and agree(_renamed(self.one, names, self.other), self.other):
            return self._found("relabel", f"b is a with {_called(names)}; nothing moves", {"relabel": names})
        spelled = ", ".join(f"{name} split into {' and '.join(parts)}" for name, parts in split.items())
        return respelled._found("relabel", f"one map with {spelled}; nothing moves")

    # everything moves alike

    def _shift(self) -> Relation | None:
        plain = not self.one.swizzles and not self.other.swizzles
        if plain and self.one.shard != self.other.shard:
            return None  # merged digits are unique
        step = _step_between(self.one, self.other)
        if step is None or not step:
            return None
        shifted = canonical(replace(self.one, outer=self.one.outer + step))
        if not _decided(agree(shifted, self.other), "whether b is a, moved by one constant"):
            return None
        sentence = f"every element moves by {step}"
        moves = dict.fromkeys(step.as_dict(), self.a.size)
        return self._found("shift", sentence, {"shift": step.as_dict()}, moves=moves)

    def _relabel(self) -> Relation | None:
        names = _names_matched(self.one, self.other)
        if not names or not agree(_renamed(self.one, names, self.other), self.other):
            return None
        # another name may be all that differs where it is free, and one of them is no known axis
        ours, theirs = moving_names(self.one), moving_names(self.other)
        free = {old: new for old, new in names.items() if new not in ours and old not in theirs}
        fresh = {old: new for old, new in free.items() if not KNOWN.keys() >= {old, new}}
        sentence = f"b is a with {_called(names)}"
        via = {"relabel": self.via.get("relabel", {}) | names}
        if fresh == names:
            return self._found("relabel", sentence + "; nothing moves where both names mean one thing", via)
        moves = _Question(_renamed(self.one, fresh, self.other), self.other, {}, False, self.lanes).moves()
        sentence += f", and those are different things: {_spelled_moves(moves, self.a.size)}"
        return self._found("relabel", sentence, via, moves=_counts(moves))

    # something moves

    def _move(self) -> Relation:
        moves = self.moves()
        kind = self._kind()
        ours, theirs = self._storage()
        if self._changes_storage() and kind == "memory":
            sentence = (
                f"a lives in {' and '.join(ours)}, b in {' and '.join(theirs)}: every element is copied"
            )
        else:
            owner = "wave" if self.lanes == WAVE else "warp"
            sentence = f"{_SENTENCES[kind].format(owner=owner)}: {_spelled_moves(moves, self.a.size)}"
        try:
            reading = find_digits(self.a, self.b) if self.search and self.dressed_alike else None
        except (LeftOpen, Stuck):  # of names it may hang on cases that the class does not
            reading = None
        before, after = _copies(self.a), _copies(self.b)
        more = None if before is None or after is None else after - before
        return self._found(
            kind,
            sentence,
            moves=_counts(moves),
            added=None if more is None else max(0, more),
            dropped=None if more is None else max(0, -more),
            reading=reading,
        )

    def moves(self) -> dict[str, _Moved]:
        """Return the movement along every axis, and the number of elements that move."""
        found = {}
        for name in self.movement.names:
            count = self.movement.staying(name)
            if count is None:
                stay = self.movement.stays([name])
                found[name] = _Moved(None if stay is None else not stay, 0 if stay else None)
            else:
                found[name] = _Moved(count < self.a.size, self.a.size - count)
        return found

    def _kind(self) -> str:
        """Return the outermost kind of axis along which some element moves."""
        so_far: list[str] = []
        for kind in ("device", "cta") if self._changes_storage() else OUTERMOST_FIRST:
            so_far += [name for name in self.movement.names if kind_of(self._axis(name)) == kind]
            stays = self._warps_stay(so_far) if kind == "warp" else self.movement.stays(so_far)
            if stays is None:
                raise _Undecided(f"whether some element moves along {' or '.join(so_far)}")
            if not stays:
                return kind
        return "memory"

    def _warps_stay(self, names: Sequence[str]) -> bool | None:
        """Return True if every element stays on some axes; on those of threads, in its warp."""
        stays = self.movement.stays(names)
        threads = [name for name in names if name in _THREADS]
        if stays or not threads:
            return stays
        if self.movement.stays(set(names) - set(threads)) is False:
            return False
        one, other = projected(self.one, names), projected(self.other, names)
        warps = []  # with the warp of a thread, t // lanes, in the place of the thread
        try:
            for layout in (one, other):
                for name in threads:
                    moving = moving_names(layout)
                    if name in moving:
                        layout = projected(layout.split_axis(name, (name, self.lanes, "laneid")), moving)
                warps.append(layout)
        except Refused:
            return _warps_listed(one, other, names, self.lanes)
        return Movement(*warps).stays()

    def _axis(self, name: str) -> Axis:
        return next(axis for x in (self.one, self.other) for axis in x.axes if axis.name == name)

    def _storage(self) -> list[list[str]]:
        """Return the storage axes on which the elements of each layout are anywhere but at 0."""
        return [
            [name for name in moving_names(x) if kind_of(self._axis(name)) in ("register", "memory")]
            for x in (self.one, self.other)
        ]

    def _changes_storage(self) -> bool:
        ours, theirs = self._storage()
        return bool(ours) and bool(theirs) and not set(ours) & set(theirs)


_SENTENCES = {
    "device": "elements move to other devices",
    "cta": "elements move to other thread blocks",
    "warp": "elements move to other warps",
    "lane": "elements move to other lanes of their {owner}",
    "register": "every thread keeps its elements, in other registers",
    "memory": "elements move to other addresses",
}


def _counts(moves: Mapping[str, _Moved]) -> dict[str, int | None]:
    return {name: moved.count for name, moved in moves.items() if moved.some is not False}


def _spelled_moves(moves: Mapping[str, _Moved], size: int) -> str:
    spelled = []
    for name, moved in moves.items():
        if moved.some is None:
            spelled.append(f"whether {name} changes is not decided")
        elif moved.some:
            spelled.append(f"{name} changes" + (f" for {moved.count} of {size}" if moved.count else ""))
    return ", ".join(spelled) or "along several axes at once"


def _called(names: Mapping[str, str]) -> str:
    return ", ".join(f"{old} called {new}" for old, new in names.items())


def view_sentence(via: Mapping[str, Any]) -> str:
    """Return the sentence that describes a view.

    >>> view_sentence({"reshape": [4, 16], "permute": [1, 0]})
    'a view: read a in shape (4, 16), permute the modes by (1, 0) and it is b; nothing moves'
    """
    steps = []
    if "recast" in via:
        steps.append("take {} of a as {}".format(*via["recast"]))
    if "reshape" in via:
        steps.append(f"read a in shape {spell(tuple(via['reshape']))}")
    if "permute" in via:
        whose = "" if steps else " of a"
        steps.append(f"permute the modes{whose} by ({', '.join(map(str, via['permute']))})")
    return f"a view: {', '.join(steps)} and it is b; nothing moves"


def _decided(answer: bool | None, question: str) -> bool:
    if answer is None:
        raise _Undecided(question)
    return answer


def _copies(layout: Layout) -> int | None:
    try:
        return layout.copies
    except NotDecided:
        return None


# -- shifts ----------------------------------------------------------------------------------------


def _step_between(a: Layout, b: Layout) -> Vector | None:
    """Return the vector from a's places to b's, or None where a few places disagree."""
    if not a.swizzles and not b.swizzles:
        return (b.offset - a.offset).nonzero  # copies start at 0 in canonical form
    if max(prod(it.extent for it in x.replica) for x in (a, b)) > MAX_LISTED:
        raise _Undecided("whether b is a, moved by one constant: there are too many copies")
    axes = tuple({axis.name: axis for layout in (a, b) for axis in layout.axes}.values())

    def step_at(flat: int) -> tuple[int, ...]:
        old, new = (min(tuple(place[axis] for axis in axes) for place in x.places(flat)) for x in (a, b))
        return tuple(n - o for o, n in zip(old, new, strict=True))

    first = step_at(0)
    turns = {prod(it.extent for it in x.shard[i:]) for x in (a, b) for i in range(len(x.shard))}
    probes = {flat for turn in turns for flat in (turn - 1, turn // 2)}
    alike = all(step_at(flat) == first for flat in sorted(probes))
    return point(axes, first).nonzero if alike else None


# -- names of axes ---------------------------------------------------------------------------------


def _names_matched(a: Layout, b: Layout) -> dict[str, str] | None:
    """Return {name in a: other name in b} of axes along which the maps are alike, one to one, or None."""
    ours, theirs = _maps_by_name(a), _maps_by_name(b)
    names: dict[str, str] = {}
    left = {name: map_ for name, map_ in theirs.items() if ours.get(name) != map_}
    for name, map_ in ours.items():
        if theirs.get(name) == map_:
            continue
        found = next((o for o, its in left.items() if its == map_ and _may_be_called(name, o)), None)
        if found is None:
            return None
        names[name] = found
        del left[found]
    return None if left else names


def _may_be_called(old: str, new: str) -> bool:
    """Return True unless both names are known and one is storage: registers are not memory renamed."""
    stored = {kind_of(Axis(old)), kind_of(Axis(new))} & {"register", "memory"}
    return not (stored and KNOWN.keys() >= {old, new})


def _maps_by_name(layout: Layout) -> dict[str, Any]:
    """Return the map of a canonical layout along each axis, without the axis's name."""
    axes = {axis.name: axis for axis in layout.axes}
    return {name: _map_along(layout, axes[name]) for name in layout.moving}


def _map_along(layout: Layout, axis: Axis) -> Any:
    """Return a map on one axis as numbers; the direction of a copy along several axes makes no difference."""
    alone = projected(layout, {axis.name})
    digits = tuple([(extent, step[axis]) for extent, step in alone.digits])
    copies = tuple([(it.extent, it.stride[axis]) for it in alone.replica])
    chain = tuple([(s.bits, s.base, s.shift) for s in alone.swizzles])
    return axis.kind, digits, copies, alone.offset[axis], chain, alone.outer[axis]


def _renamed(layout: Layout, names: Mapping[str, str], other: Layout) -> Layout:
    """Return the layout with the axis names of `other`, in canonical form."""
    axes = {axis.name: axis for axis in other.axes}
    return canonical(layout.relabel({old: axes[new] for old, new in names.items()}))


# -- axes that split -------------------------------------------------------------------------------


def _spelled_alike(a: Layout, b: Layout, lanes: int) -> tuple[Layout, Layout, dict[str, list[str]]]:
    """Return both layouts with axes of threads split where an axis of either begins or ends, and the splits.

    They stay as they are where one of them names an axis beside a part of it, or goes beyond its end. Where
    a split makes no layout, all threads are on tx.
    """
    if not _names_threads(a, lanes) or not _names_threads(b, lanes):
        return a, b, {}
    parts = [_parts_of(name) for name in moving_names(a, b)]
    first, last = {part[0] for part in parts}, {part[-1] for part in parts}
    split: dict[str, list[str]] = {}
    one, other = a, b
    for name, ways in SPLITS.items():  # whole axes come before their parts
        ways = tuple(way for way in ways if _parts_of(way[0])[-1] in last or _parts_of(way[2])[0] in first)
        if not ways or name not in moving_names(one, other):
            continue
        high, count, low = ways[0]
        into = (high, lanes if low == "laneid" else count, low)
        split[name] = [high, low]
        try:
            one, other = (x.split_axis(name, into) if name in x.moving else x for x in (one, other))
        except Refused:
            return _on_threads(a, lanes), _on_threads(b, lanes), split
    return one, other, split


def _parts_of(name: str) -> tuple[str, ...]:
    """Return the parts of an axis, outermost first: of tx the warpgroup, its warp and the lane."""
    if name not in SPLITS:
        return (name,)
    high, _, low = SPLITS[name][0]
    return *_parts_of(high), *_parts_of(low)


def _names_threads(layout: Layout, lanes: int) -> bool:
    """Return True if its axes of threads name one thread a place: no part twice, all within 0 and the end."""
    own = [name for name in layout.moving if name in _OF_THREADS]
    parts = [part for name in own for part in _parts_of(name)]
    if len(parts) > len(set(parts)) or (lanes == WAVE and not _OF_WAVES.issuperset(own)):
        return False
    for name in own:
        least, most = plain_extremes(layout, name)
        end = lanes if name == "laneid" else KNOWN[name].extent
        if least < 0 or (end is not None and most >= end):
            return False
    return True


def _on_threads(layout: Layout, lanes: int) -> Layout:
    """Return the layout with warps and lanes fused to tx."""
    ways = [("warpid", "wgid", 4, "wid_in_wg"), ("tx", "warpid", lanes, "laneid")]
    if "tid_in_wg" in layout.moving:
        ways = [("tx", "wgid", 128, "tid_in_wg")]
    for into, high, count, low in ways:
        if {high, low} & set(layout.moving):
            layout = layout.fuse_axes((high, count, low), into=into)
    return layout


# -- warps of threads ------------------------------------------------------------------------------


def _warps_listed(a: Layout, b: Layout, names: Sequence[str], lanes: int) -> bool | None:
    """Return True if every element stays in its warp, one after another; None beyond the bound."""
    ends = [x.shard[-1:] for x in (a, b)]
    still = gcd(*(last[0].extent if last and not last[0].stride else 1 for last in ends))
    flats = range(0, a.size, still)
    listed = flats[: MAX_LISTED // max(prod(it.extent for it in x.replica) for x in (a, b))]

    def warps(layout: Layout, flat: int) -> set[tuple[int, ...]]:
        return {
            tuple([place[name] // lanes if name in _THREADS else place[name] for name in names])
            for place in layout.places(flat)
        }

    if not all(warps(b, flat) <= warps(a, flat) for flat in listed):
        return False
    return True if listed == flats else None
