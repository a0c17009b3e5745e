"""Choose the layout of a tile under which all its accesses together take the fewest wavefronts.

Each family of layouts is finite, and all of it is searched. Any layout that it leaves out is no better:

    swizzles  A bit that is flipped above the 128 bytes that the banks repeat by changes no bank, so
              Swizzle<B, M, S> ends there. Bits inside the widest vector are neither flipped nor read. Where
              bits of the bank are flipped by lower ones of the bank, banks are only renamed: with S < 0 the
              lowest bit that is read lies inside a word.
    pitches   Rows that are 128 bytes further apart lie in the same banks, and share no word more. So the
              pitches from a row's own bytes to 128 more are all; they are multiples of the widest vector.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tilewise.check.access import Access, access_of
from tilewise.check.access.access import INACTIVE
from tilewise.check.access.addresses import vectors_in
from tilewise.check.banks import conflicts, count
from tilewise.check.swizzling.kernels import BUDGET
from tilewise.check.swizzling.linear import linear, linear_layouts
from tilewise.check.swizzling.points import Asked, points_of
from tilewise.core.axes import m
from tilewise.core.bits import affine_map
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.layout import Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import extents_of, size_of
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import along
from tilewise.hardware.memory.banks import WAVEFRONT, WORD, Operation
from tilewise.hardware.modes import MODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FAMILIES = {
    "plain": "the tile as it is",
    "mode": "the hardware's modes, K-major and MN-major: what wgmma reads and TMA fills",
    "swizzle": "Swizzle<B,M,S> of the tile, for all B, M and S",
    "padding": "another pitch of its rows",
    "linear": "every layout that is linear over GF(2), on the tile's own bytes",
}
"""The families of layouts, simplest first."""

PROOFS = {
    "ideal": "no access conflicts",
    "bound": "no layout takes fewer, of any kind, that keeps the vectors together",
    "searched": "no layout of those searched takes fewer",
    "open": "whether a linear layout takes fewer was not decided within the bound",
}
"""Proofs about all other layouts, in words."""

WHOLE = (8, 16, 32, 64, 128)
"""The widths of elements, in bits, for which banks can be counted."""

BRIEFLY = 1_000
"""The budget of the linear search where another family has a layout that cannot be beaten."""

_OPEN = "the search ended at its bound"
_WEIGHTED = re.compile(r"(\d+)\s*\*\s*(.+)")

Candidate = tuple[str, Layout]
"""A layout of the tile, and its name."""

Count = tuple[int, int]
"""Wavefronts, and the ideal."""


# -- the answer ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """The best of a family."""

    family: str
    name: str
    tile: Layout
    """The layout, in elements, row-major."""
    wavefronts: tuple[int, ...]
    """The wavefronts of each access, counted on the layout itself; without weights."""
    ideals: tuple[int, ...]
    """The ideal of each, as `conflicts` has it."""
    cost: int
    """Their sum, with weights."""
    bytes: int
    dtype: DType = field(repr=False)
    base: int = field(default=0, repr=False)
    """The tile's address."""
    order: str = field(default="row", repr=False)
    """The order in which the user gave the tile."""

    @property
    def layout(self) -> Layout:
        """Return the layout, in elements."""
        return self.tile.in_order(self.order)

    @cached_property
    def readers(self) -> Readers:
        """Return the answers of TMA and wgmma about the layout."""
        return readers(self.tile, self.dtype, self.base)


@dataclass(frozen=True)
class Searched:
    """A family, the number of its members that were searched, and its best."""

    family: str
    tried: int
    best: Found | None
    """The best layout; None where no member keeps the vectors of all accesses together, or none was tried."""
    note: str = ""


@dataclass(frozen=True)
class Choice:
    """The best layout that was found, and the results of all other families.

    postcondition  best.cost <= found.cost for all layouts that were searched; `proof` bounds the others
    """

    asked: tuple[Asked, ...]
    dtype: DType
    best: Found
    searched: tuple[Searched, ...]
    free: int
    """Wavefronts without any conflict, with weights; the ideal may be less."""
    bound: int | None
    """A lower bound on wavefronts of layouts that keep all vectors together; None where the accesses are not
    linear.
    """
    proof: str
    """ideal, bound, searched or open: see PROOFS."""

    @property
    def ideal(self) -> int:
        """Return the fewest wavefronts, with weights, that the bytes of the accesses need under the best
        layout.
        """
        return sum(own.weight * ideal for own, ideal in zip(self.asked, self.best.ideals, strict=True))

    @property
    def cost(self) -> int:
        """Return the wavefronts of the best layout, with weights."""
        return self.best.cost

    def __str__(self) -> str:
        return f"{self.best.layout}: {self.cost} wavefronts, ideal {self.ideal}; {PROOFS[self.proof]}"


@dataclass(frozen=True, slots=True)
class Readers:
    """The answers of TMA and wgmma about a tile, with a reason for each no."""

    tma: int | None
    """Boxes that fill it."""
    wgmma: tuple[str, ...]
    """The operands that it is read as."""
    why_tma: str = ""
    why_wgmma: str = ""


def readers(layout: Layout, dtype: DType, base: int = 0) -> Readers:
    """Return the engines' answers about a tile [rows, K] in elements, at the byte address `base`.

    The tensor that TMA copies from is larger than the tile: row-major, or else column-major.

    >>> from tilewise import S, Swizzle
    >>> readers(Swizzle(3, 3, 3) @ S[(128, 64) : (64, 1)], DType.of("bf16"))
    Readers(tma=1, wgmma=('A', 'B'), why_tma='', why_wgmma='')
    >>> readers(S[(128, 64) : (72, 1)], DType.of("bf16")).wgmma
    ()
    """
    from tilewise.check.engines import described, tma

    filled = tma(layout, dtype)
    two = len(layout.shape) == 2
    taken = [described("wgmma", layout, dtype, operand, base) for operand in "AB"] if two else []
    operands = tuple(own.engine[-1] for own in taken if own.legal)
    why = [own.said for own in taken if not own.legal] or ["a tile [rows, K] has two modes"]
    return Readers(filled.boxes, operands, "" if filled.legal else filled.said, "" if operands else why[0])


# -- the question ----------------------------------------------------------------------------------------


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
    """Return the layout of a tile with the fewest wavefronts for all accesses at once, each with its weight.

    The tile begins at the byte address `base`; `operation` is that of accesses that do not name theirs.

        requires       a shape, which means row-major, or a layout; an access as `access_of` takes them,
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
    element = DType.of(dtype)
    if element.bits not in WHOLE:
        raise LayoutError("TW602", f"elements of {element.bits} bits", hint="of 8, 16, 32, 64 or 128 bits")
    layout = _layout(tile)
    if isinstance(accesses, str | Layout | Access) or not isinstance(accesses, Iterable):
        raise LayoutError(
            "TW107",
            f"a list of accesses belongs here, not the {type(accesses).__name__} {accesses!s}",
            hint=f"such as [{accesses!r}]",
        )
    asked = []
    for given in accesses:
        weight, access = given if isinstance(given, tuple) else (1, given)
        if not isinstance(weight, int) or weight < 1:
            hint = "a weight is 1 or more, such as 2*row:16B"
            raise LayoutError("TW401", f"a weight of {weight}", hint=hint)
        if isinstance(access, str) and (weighted := _WEIGHTED.fullmatch(access)):
            hint = f"a weight is a number: ({weighted[1]}, {weighted[2]!r})"
            raise LayoutError("TW601", f"{access!r} is no access", hint=hint)
        asked.append(Asked(access_of(access, layout, element, operation, base), weight))
    if not asked:
        raise LayoutError("TW401", "no access was given", hint="such as row:16B@st and ldmatrix.x4")
    widest = max((WORD, *(own.access.bytes for own in asked)))
    if base < 0 or base % widest:  # banks count from whole words
        raise Refused(
            "TW610",
            f"the tile is at byte {base}, " + ("below 0" if base < 0 else f"no multiple of {widest}"),
            witness={"rule": "base", "base": base},
            hint=f"put it at a multiple of {widest}",
        )
    for family in among:
        if family not in FAMILIES:
            known = "known: " + " ".join(FAMILIES)
            raise LayoutError("TW601", f"{family!r} is no family of layouts", hint=known)
    found = _Search(layout, element, tuple(asked), budget, base).choice(among)
    if not ideal or found.cost <= found.free:
        return found
    if found.proof == "open":
        raise NotDecided("whether a layout is without conflicts was not decided within the bound")
    raise Refused(
        "TW611",
        f"none is without conflicts: {found.cost} wavefronts at least, {found.free} without any",
        witness={"wavefronts": found.cost, "free": found.free, "layout": str(found.best.layout)},
        hint=PROOFS[found.proof],
    )


def _layout(tile: object) -> Layout:
    if isinstance(tile, Layout):
        return tile
    if isinstance(tile, str) or not isinstance(tile, Sequence):
        extents = [extent.strip() for extent in str(tile).split("x")]
        hint = "such as (128, 64); parse(text) makes a layout of text"
        if len(extents) > 1 and all(map(str.isdecimal, extents)):
            hint = f"such as ({', '.join(extents)})"
        kind = type(tile).__name__
        raise LayoutError("TW107", f"a shape or a layout belongs here, not the {kind} {tile!r}", hint=hint)
    shape: tuple[int, ...] = tuple(tile)
    return Layout(shape, tuple(along(m, size_of(shape[mode + 1 :])) for mode in range(len(shape))))


# -- families --------------------------------------------------------------------------------------------


def modes(base: Layout, dtype: DType) -> Iterator[Candidate]:
    """Return the tiles [rows, K] of atoms that the hardware's modes have, widest first.

    >>> from tilewise import S
    >>> [name for name, _ in modes(S[(64, 48) : (48, 1)], DType.of("bf16"))]
    ['32B, K-major', 'none, K-major', '128B, MN-major', '64B, MN-major', '32B, MN-major', 'none, MN-major']
    """
    from tilewise.hardware.operands.tiles import tile

    if len(base.shape) != 2:
        return
    rows, k = extents_of(base.shape)
    for major, name in (("k", "K-major"), ("mn", "MN-major")):
        for mode in reversed(MODES.values()):
            try:
                layout = tile(mode, major, dtype, rows, k)
            except LayoutError:
                continue
            yield f"{mode}, {name}", layout.coalesce(by_mode=True)


def swizzles(base: Layout, size: int, together: int) -> Iterator[Candidate]:
    """Return every swizzle that keeps 2^together elements in their order, and changes a bank or a word.

    >>> from tilewise import S
    >>> [name for name, _ in swizzles(S[(8, 32) : (32, 1)], 2, 3)][:4]
    ['Swizzle<1,3,1>', 'Swizzle<1,3,2>', 'Swizzle<1,3,3>', 'Swizzle<1,3,4>']
    """
    inside, word = ((bytes // size).bit_length() - 1 for bytes in (WAVEFRONT, WORD))
    bits = (base.span(m) - 1).bit_length()
    # (the lowest bit, one past the flipped bits, one past the bits that are read, the sign of S)
    ends = [(low, inside, bits, 1) for low in range(together, inside)]
    ends += [(low, inside - 1, inside, -1) for low in range(together, word)]
    for low, flipped, read, sign in ends:
        for width in range(1, flipped - low + 1):
            for shift in range(width, read - low - width + 1):
                swizzle = Swizzle(width, low, sign * shift)
                yield str(swizzle), base.swizzled((swizzle,))


def paddings(base: Layout, size: int, together: int) -> Iterator[Candidate]:
    """Return the tile with a wider pitch of its rows, or of its columns where those are contiguous.

    >>> from tilewise import S
    >>> [name for name, _ in paddings(S[(8, 32) : (32, 1)], 2, 3)][:3]
    ['pitch 40', 'pitch 48', 'pitch 56']
    """
    if base.swizzles or len(base.shape) != 2 or len(base.strides) != 2 or base.outer:
        return
    steps = [stride[m] for stride in base.strides]
    rows = steps.index(max(steps))
    if sorted(steps) != [1, extents_of(base.shape)[1 - rows]]:
        return
    for pitch in range(steps[rows] + 1, steps[rows] + WAVEFRONT // size):
        if pitch % (1 << together) == 0:
            strides = tuple(along(m, pitch) if mode == rows else base.strides[mode] for mode in (0, 1))
            yield f"pitch {pitch}", replace(base, strides=strides)


# -- the search ------------------------------------------------------------------------------------------


class _Search:
    """One question, and the answers of its families."""

    def __init__(self, tile: Layout, dtype: DType, asked: tuple[Asked, ...], budget: int, base: int) -> None:
        self.tile, self.order = by_coordinates(tile), tile.order
        self.dtype, self.asked, self.budget, self.base = dtype, asked, budget, base
        self.size = dtype.bits // 8
        self.points = points_of(asked)
        self.free = sum(own.free for own in asked)
        self.bound: int | None = None
        if self.points is not None:
            self.bound = self.points.bound + sum(own.free for own in asked if own.in_order_of_memory)
        self.proven = False
        """True once a layout was found without conflicts, or one that costs as little as the bound."""

    def choice(self, among: Sequence[str]) -> Choice:
        """Return the best of some families, and the results of all others."""
        searched = tuple(self._searched(family) for family in FAMILIES if family in among)
        bests = [own.best for own in searched if own.best]
        if not bests:
            names = " and ".join(own.access.name for own in self.asked)
            raise Refused(
                "TW611",
                f"no layout that was searched keeps the vectors of {names} together",
                witness={"families": [own.family for own in searched]},
                hint="narrower vectors, such as :4B, ask for less; a lane moves neighbouring bytes",
            )
        best = min(bests, key=lambda own: (own.cost, own.bytes))
        if best.cost <= self.free:
            proof = "ideal"
        elif best.cost == self.bound:
            proof = "bound"
        else:
            proof = "open" if any(own.note == _OPEN for own in searched) else "searched"
        return Choice(self.asked, self.dtype, best, searched, self.free, self.bound, proof)

    def _searched(self, family: str) -> Searched:
        if family == "linear":
            return self._linear()
        tried, least, best = 0, 0, None
        for name, layout in self._candidates(family):
            tried += 1
            try:
                cost = self._cost(layout)
            except Refused:
                continue
            if best is None or cost < least:
                least, best = cost, (name, layout)
            if least in (self.free, self.bound):  # nothing costs less
                self.proven = True
                break
        return Searched(family, tried, self._found(family, *best) if best else None)

    def _candidates(self, family: str) -> Iterable[Candidate]:
        if family == "plain":
            return [("as it is", self.tile)]
        if family == "mode":
            return modes(self.tile, self.dtype)
        together = max(own.access.elements for own in self.asked).bit_length() - 1
        return (swizzles if family == "swizzle" else paddings)(self.tile, self.size, together)

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
        best = self._found("linear", "linear over GF(2)", found.layout)
        return Searched("linear", found.tried, best, "" if found.least else _OPEN)

    # -- the cost of a layout ----------------------------------------------------------------------

    def _found(self, family: str, name: str, layout: Layout) -> Found:
        cost, counts = self._counted(layout, self.asked)
        wavefronts, ideals = zip(*counts, strict=True)
        bytes = layout.span(m) * self.size
        return Found(family, name, layout, wavefronts, ideals, cost, bytes, self.dtype, self.base, self.order)

    def _cost(self, layout: Layout) -> int:
        """Return the weighted wavefronts.

        refused  TW610 an access that cannot be made
        """
        bits = None if self.points is None or _odd(layout) else affine_map(layout)
        if self.points is None or bits is None or len(bits.axes) != 1 or bits.origin[0]:
            return self._counted(layout, self.asked)[0]
        cost = self.points.cost(bits.flips)
        if cost is None:
            raise _TORN
        return cost + self._counted(layout, [own for own in self.asked if own.in_order_of_memory])[0]

    def _counted(self, layout: Layout, asked: Sequence[Asked]) -> tuple[int, list[Count]]:
        """Return the weighted wavefronts, and the cost of every access, counted on its addresses."""
        places = None
        if _odd(layout) and not all(own.in_order_of_memory for own in asked):
            from tilewise.tables import table

            places = table(layout).array.reshape(-1)
        counts = [self._count(own, layout, places) for own in asked]
        return sum(own.weight * count[0] for own, count in zip(asked, counts, strict=True)), counts

    def _count(self, own: Asked, layout: Layout, places: NDArray[np.int64] | None) -> Count:
        access = own.access
        if places is None or own.in_order_of_memory:
            found = conflicts(layout, access.name if own.in_order_of_memory else access, dtype=self.dtype)
            return found.wavefronts, found.ideal
        first, active, wrong = vectors_in(places, own.indices, 1)
        if wrong.any():
            raise _TORN
        import numpy as np

        addresses = np.where(active, first * self.size, INACTIVE)
        counts = count(access.operation, access.bytes, addresses)
        return int(counts["wavefronts"].sum()), int(counts["ideal"].sum())


_TORN = Refused("TW610", "a vector is torn apart")


def _odd(layout: Layout) -> bool:
    """Return True if an extent is no power of two: accesses are then seldom linear, and are listed."""
    return any(extent & extent - 1 for extent in extents_of(layout.shape))
