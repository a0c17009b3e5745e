"""`choose`: the layout of a tile under which all its accesses together take the fewest wavefronts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tilewise.check.access import Access, access_of
from tilewise.check.access.addresses import INACTIVE
from tilewise.check.banks import Conflicts, conflicts
from tilewise.check.swizzling import candidates
from tilewise.check.swizzling.candidates import FAMILIES, Candidate
from tilewise.check.swizzling.engines import Readers, readers
from tilewise.check.swizzling.kernels import BUDGET
from tilewise.check.swizzling.linear import linear, linear_layouts
from tilewise.check.swizzling.points import Asked, Points, points_of
from tilewise.core.axes import m
from tilewise.core.bits import affine_map
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.layout import Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import extents_of, size_of
from tilewise.core.vectors import along
from tilewise.hardware.memory.banks import WORD, Operation

WHOLE = (8, 16, 32, 64, 128)
"""Bits of elements that banks can be counted for."""

Count = tuple[int, int]
"""Wavefronts, and the ideal."""

_WEIGHTED = re.compile(r"(\d+)\s*\*\s*(.+)")

BRIEFLY = 1_000
"""The budget of the linear search where another family has what nothing is better than."""


@dataclass(frozen=True)
class Found:
    """The best of a family."""

    candidate: Candidate
    wavefronts: tuple[int, ...]
    """Of each access, counted on the layout itself; without weights."""
    ideals: tuple[int, ...]
    """The ideal of each, as `conflicts` has it."""
    cost: int
    """Their sum, with weights."""
    bytes: int
    dtype: DType = field(repr=False)
    base: int = field(default=0, repr=False)
    """The tile's address."""
    order: str = field(default="row", repr=False)
    """The order in which the tile was given."""

    @property
    def family(self) -> str:
        """Which family."""
        return self.candidate.family

    @property
    def layout(self) -> Layout:
        """The layout, in elements."""
        return self.candidate.layout.in_order(self.order)

    @cached_property
    def readers(self) -> Readers:
        """Whether TMA and wgmma take it."""
        return readers(self.candidate.layout, self.dtype, self.base)


@dataclass(frozen=True)
class Searched:
    """What was searched of a family, and what came of it."""

    family: str
    tried: int
    best: Found | None
    """None where no member keeps the vectors of all accesses together, or none was asked."""
    note: str = ""


@dataclass(frozen=True)
class Choice:
    """The best layout that was found, and what is known of all others.

    postcondition  best.cost <= found.cost for all that was searched; `proof` says what is below it
    """

    asked: tuple[Asked, ...]
    dtype: DType
    best: Found
    searched: tuple[Searched, ...]
    free: int
    """Wavefronts where nothing conflicts, with weights; the ideal may be less."""
    bound: int | None
    """Wavefronts that no layout is below which keeps all vectors together; None where they are not linear."""
    proof: str
    """ideal, phases, bound, searched or open: see PROOFS."""

    @property
    def ideal(self) -> int:
        """The fewest that the bytes of the accesses need under the best layout, with weights."""
        return sum(one.weight * own for one, own in zip(self.asked, self.best.ideals, strict=True))

    @property
    def cost(self) -> int:
        """Wavefronts of the best, with weights."""
        return self.best.cost

    def __str__(self) -> str:
        return f"{self.best.layout}: {self.cost} wavefronts, ideal {self.ideal}; {PROOFS[self.proof]}"


PROOFS = {
    "ideal": "no access conflicts",
    "phases": "no access conflicts; lanes that go together ask for less than a wavefront moves",
    "bound": "no layout takes fewer, of any kind, that keeps the vectors together",
    "searched": "no layout of those searched takes fewer",
    "open": "whether a linear layout takes fewer was not decided within the bound",
}
"""What is known of the layouts that were not found."""


def choose(
    tile: Layout | Sequence[int],
    accesses: Iterable[Access | Layout | str | tuple[int, Access | Layout | str]],
    *,
    dtype: DType | str,
    operation: Operation | str | None = None,
    base: int = 0,
    among: Sequence[str] = tuple(FAMILIES),
    ideal: bool = False,
    budget: int = BUDGET,
) -> Choice:
    """The layout of a tile with the fewest wavefronts for all accesses at once, each with its weight.

    The tile begins at the byte address `base`; `operation` loads or stores what does not say so itself.

        requires       a shape, which is meant row-major, or a layout; an access as `access_of` takes them,
                       of that layout, or (weight, access)
        postcondition  the least sum of weight * wavefronts of all members of the families; of equal ones the
                       least memory, then the simplest family; counted on the layout that is given back
        refused        TW610 vectors that cannot begin at the base; TW611 no member of a family keeps all
                       vectors together; with `ideal` also where none
                       is without conflicts

    >>> found = choose((128, 64), ["row:16B@st", "ldmatrix.x4"], dtype="bf16")
    >>> print(found)
    Swizzle<3,3,3> o S[(128, 64) : (64, 1)]: 256 wavefronts, ideal 256; no access conflicts
    >>> print(choose((128, 64), ["row:16B@st", "col:2B"], dtype="bf16"))
    Swizzle<3,3,3> o S[(128, 64) : (64, 1)]: 1152 wavefronts, ideal 384; no layout takes fewer, of any kind, \
that keeps the vectors together
    """
    element = _element(dtype)
    layout = _layout(tile)
    asked = tuple(_asked(one, layout, element, operation, base) for one in _several(accesses))
    if not asked:
        raise LayoutError("TW401", "no access was given", hint="such as row:16B@st and ldmatrix.x4")
    _check_base(base, asked)
    return _Search(layout, element, asked, budget, base).choice(_known(among), ideal)


def _element(dtype: DType | str) -> DType:
    element = DType.of(dtype)
    if element.bits not in WHOLE:
        raise LayoutError("TW602", f"elements of {element.bits} bits", hint="of 8, 16, 32, 64 or 128 bits")
    return element


def _layout(tile: object) -> Layout:
    if isinstance(tile, Layout):
        return tile
    if isinstance(tile, str) or not isinstance(tile, Sequence):
        raise LayoutError(
            "TW107",
            f"a shape or a layout belongs here, not the {type(tile).__name__} {tile!r}",
            hint=_meant(tile),
        )
    extents: tuple[int, ...] = tuple(tile)
    strides = [along(m, size_of(extents[mode + 1 :])) for mode in range(len(extents))]
    return Layout(extents, tuple(strides))


def _meant(tile: object) -> str:
    extents = str(tile).split("x")
    if len(extents) > 1 and all(extent.strip().isdecimal() for extent in extents):
        return f"such as ({', '.join(map(str.strip, extents))})"
    return "such as (128, 64); parse(text) makes a layout of text"


def _several(accesses: object) -> Iterable[object]:
    if isinstance(accesses, str | Layout | Access) or not isinstance(accesses, Iterable):
        raise LayoutError(
            "TW107",
            f"a list of accesses belongs here, not the {type(accesses).__name__} {accesses!s}",
            hint=f"such as [{accesses!r}]",
        )
    return accesses


def _check_base(base: int, asked: Sequence[Asked]) -> None:
    """Refuse a base at which vectors cannot begin; banks are counted from a whole word on."""
    widest = max((WORD, *(one.access.bytes for one in asked)))
    if base < 0 or base % widest:
        raise Refused(
            "TW610",
            f"the tile is at byte {base}, " + ("below 0" if base < 0 else f"no multiple of {widest}"),
            witness={"rule": "base", "base": base},
            hint=f"put it at a multiple of {widest}",
        )


def _asked(one: object, tile: Layout, element: DType, operation: Operation | str | None, base: int) -> Asked:
    weight, own = one if isinstance(one, tuple) else (1, one)
    if not isinstance(weight, int) or weight < 1:
        raise LayoutError("TW401", f"a weight of {weight}", hint="a weight is 1 or more, such as 2*row:16B")
    weighted = isinstance(own, str) and _WEIGHTED.fullmatch(own)
    if weighted:
        raise LayoutError(
            "TW601", f"{own!r} is no access", hint=f"a weight is a number: ({weighted[1]}, {weighted[2]!r})"
        )
    return Asked(access_of(own, tile, element, operation, base), weight)


def _known(among: Sequence[str]) -> Sequence[str]:
    for family in among:
        if family not in FAMILIES:
            raise LayoutError(
                "TW601", f"{family!r} is no family of layouts", hint="known: " + " ".join(FAMILIES)
            )
    return among


class _Search:
    """One question, and what its families answer."""

    def __init__(
        self, tile: Layout, dtype: DType, asked: tuple[Asked, ...], budget: int, base: int = 0
    ) -> None:
        self.tile, self.order = by_coordinates(tile), tile.order
        self.dtype, self.asked, self.budget, self.base = dtype, asked, budget, base
        self.size = dtype.bits // 8
        self.points: Points | None = points_of(asked)
        self.free = sum(one.free for one in asked)
        self.bound = self._bound()
        self.proven = False
        """Whether a layout was found without conflicts, or one that costs as little as the bound."""
        self.together = max(one.access.elements for one in asked).bit_length() - 1

    def choice(self, among: Sequence[str], ideal: bool) -> Choice:
        searched = tuple(self._searched(family) for family in FAMILIES if family in among)
        best = min(
            (one.best for one in searched if one.best),
            key=lambda found: (found.cost, found.bytes),
            default=None,
        )
        if best is None:
            raise self._none(searched)
        found = Choice(
            self.asked,
            self.dtype,
            best,
            searched,
            self.free,
            self.bound,
            self._proof(best, searched),
        )
        if ideal and found.cost > found.free:
            raise _conflicts(found)
        return found

    def _proof(self, best: Found, searched: Sequence[Searched]) -> str:
        if best.cost <= self.free:
            return "ideal" if best.wavefronts == best.ideals else "phases"
        if best.cost == self.bound:
            return "bound"
        return "open" if any(one.note == _OPEN for one in searched) else "searched"

    def _bound(self) -> int | None:
        if self.points is None:
            return None
        return self.points.bound + sum(one.free for one in self.asked if one.in_order_of_memory)

    def _none(self, searched: Sequence[Searched]) -> Refused:
        names = " and ".join(one.access.name for one in self.asked)
        return Refused(
            "TW611",
            f"no layout that was searched keeps the vectors of {names} together",
            witness={"families": [one.family for one in searched]},
            hint="narrower vectors, such as :4B, ask for less; a lane moves neighbouring bytes",
        )

    # -- families ----------------------------------------------------------------------------------

    def _searched(self, family: str) -> Searched:
        if family == "linear":
            return self._linear()
        tried, least, best = 0, 0, None
        for candidate in self._candidates(family):
            tried += 1
            cost = self._cost(candidate.layout)
            if cost is not None and (best is None or cost < least):
                least, best = cost, candidate
            if best and self._reached(least):
                break
        return Searched(family, tried, self._found(best) if best else None)

    def _reached(self, cost: int) -> bool:
        """Whether nothing costs less, which the search then need not ask any more."""
        reached = cost in (self.free, self.bound)
        self.proven |= reached
        return reached

    def _candidates(self, family: str) -> Iterable[Candidate]:
        if family == "plain":
            return candidates.plain(self.tile)
        if family == "mode":
            return candidates.modes(self.tile, self.dtype)
        make = candidates.swizzles if family == "swizzle" else candidates.paddings
        return make(self.tile, self.size, self.together)

    def _linear(self) -> Searched:
        if self.points is None:
            return Searched("linear", 0, None, "the vectors do not begin at the same digits everywhere")
        if not linear_layouts(self.points):
            return Searched(
                "linear", 0, None, "more than one extent is no power of two, or blocks are too small"
            )
        found = linear(self.points, min(self.budget, BRIEFLY) if self.proven else self.budget)
        if found is None:
            return Searched("linear", self.budget, None, _OPEN)
        candidate = Candidate("linear", "linear over GF(2)", found.layout)
        return Searched("linear", found.tried, self._found(candidate), "" if found.least else _OPEN)

    # -- what a layout costs -----------------------------------------------------------------------

    def _found(self, candidate: Candidate) -> Found:
        each = self._each(candidate.layout)
        assert each is not None, "a layout was chosen that an access refuses"
        wavefronts, ideals = (tuple(counts) for counts in zip(*each, strict=True))
        cost, span = self._weighted(wavefronts), candidate.layout.span(m)
        bytes = span * self.size
        return Found(candidate, wavefronts, ideals, cost, bytes, self.dtype, self.base, self.order)

    def _cost(self, layout: Layout) -> int | None:
        """The weighted wavefronts; None where an access cannot be made."""
        columns = self._columns(layout)
        if columns is None or self.points is None:
            each = self._each(layout)
            return None if each is None else self._weighted(wavefronts for wavefronts, _ in each)
        cost = self.points.cost(columns)
        if cost is None:
            return None
        for one in self.asked:
            if one.in_order_of_memory:
                own = self._in_order_of_memory(one, layout)
                if own is None:
                    return None
                cost += one.weight * own[0]
        return cost

    def _weighted(self, each: Iterable[int]) -> int:
        return sum(one.weight * own for one, own in zip(self.asked, each, strict=True))

    def _columns(self, layout: Layout) -> list[int] | None:
        """What every digit flips, where the index is made of digits and the addresses are linear."""
        found = None if _odd(layout) else affine_map(layout)
        if found is None or len(found.axes) != 1 or found.origin[0]:
            return None
        return [flip for (flip,) in found.columns]

    def _each(self, layout: Layout) -> list[Count] | None:
        """What every access takes, counted on its addresses; None where one cannot be made."""
        where = Places(layout, self.size) if _odd(layout) else None
        found = []
        for one in self.asked:
            if one.in_order_of_memory:
                own = self._in_order_of_memory(one, layout)
            else:
                own = self._of_layout(one, layout) if where is None else where.count(one)
            if own is None:
                return None
            found.append(own)
        return found

    def _of_layout(self, one: Asked, layout: Layout) -> Count | None:
        try:
            return _count(conflicts(layout, one.access))
        except Refused:
            return None

    def _in_order_of_memory(self, one: Asked, layout: Layout) -> Count | None:
        try:
            return _count(conflicts(layout, one.access.name, dtype=self.dtype))
        except Refused:
            return None


def _count(found: Conflicts) -> Count:
    return found.wavefronts, found.ideal


def _odd(layout: Layout) -> bool:
    """Whether an extent is no power of two: its accesses are seldom layouts, and are listed at once."""
    return any(extent & extent - 1 for extent in extents_of(layout.shape))


class Places:
    """Where a layout has the elements of a tile, one by one, and what accesses cost there."""

    def __init__(self, layout: Layout, size: int) -> None:
        from tilewise.tables import table

        self.where = table(layout).array.reshape(-1)
        self.size = size

    def count(self, one: Asked) -> Count | None:
        """What an access takes; None where it cannot be made."""
        import numpy as np

        from tilewise.check.banks.counting import count

        access, elements = one.access, one.elements
        active = elements[:, :, 0] >= 0
        there = self.where[np.maximum(elements, 0)]
        first = there[:, :, 0]
        following = first[:, :, None] + np.arange(access.elements)
        aligned = first % access.elements == 0
        if not ((there == following).all(axis=2) & aligned | ~active).all():
            return None
        addresses = np.where(active, first * self.size, INACTIVE)
        found = count(access.operation, access.bytes, addresses)
        return int(found.wavefronts.sum()), int(found.ideal.sum())


_OPEN = "the search ended at its bound"


def _conflicts(found: Choice) -> Refused:
    if found.proof == "open":
        raise NotDecided("whether a layout is without conflicts was not decided within the bound")
    return Refused(
        "TW611",
        f"none is without conflicts: {found.cost} wavefronts at least, {found.free} without any",
        witness={"wavefronts": found.cost, "free": found.free, "layout": str(found.best.layout)},
        hint=PROOFS[found.proof],
    )
