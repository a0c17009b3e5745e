"""The question: the loads that bring elements of tensor memory to registers, or the stores that put them
back.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from tilewise.check.registers.warp import ExchangeBound, bound, transfer
from tilewise.check.tensor_memory.wanted import BETWEEN_WARPS, STAGES, Fit, Misfit, Wanted
from tilewise.check.tensor_memory.ways import Way, splits_of, ways_of
from tilewise.check.tensor_memory.words import Words
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout, as_layout
from tilewise.core.orders import by_coordinates
from tilewise.hardware.catalog.entry import Built
from tilewise.hardware.tcgen05.loads import Form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Nearest:
    """The way whose fragment is nearest to the wanted one, by the lower bound on exchanges between lanes.

    No steps are planned here: the bound takes no time, and a plan would take seconds.
    """

    way: Way
    bound: ExchangeBound
    """The bound for one repeat."""
    times: int

    @property
    def exchanges(self) -> int:
        """Return the exchanges of all repeats, if each has the fewest possible."""
        return self.bound.count * self.times


@dataclass(frozen=True)
class Plan:
    """The ways to bring elements of tensor memory to registers, or back.

    postcondition  each of `ways` moves every element, and `fit` moves each to the wanted place
    """

    words: Words
    ways: tuple[Way, ...]
    left_out: tuple[Way, ...]
    """Those that cannot: each has its `problem`."""
    store: bool = False
    wanted: Layout | None = None
    fit: Fit | None = None
    misfits: tuple[tuple[Way, Misfit], ...] = ()
    """The difference of each way from the wanted fragment, where no way fits."""
    near: Nearest | None = None

    @property
    def answer(self) -> bool:
        """Return True if there is a way, and for a wanted fragment one that fits."""
        return bool(self.ways) if self.wanted is None else self.fit is not None

    @property
    def best(self) -> Way | None:
        """Return the way that fits; without a wanted fragment, one with the fewest instructions."""
        if self.wanted is not None:
            return self.fit.way if self.fit else None
        return min(self.ways, key=lambda way: len(way.moves), default=None)


def plan(
    layout: Layout | Built,
    dtype: DType | str | None = None,
    *,
    to: Layout | None = None,
    form: Form | str | None = None,
    store: bool = False,
    taken: int = 0,
) -> Plan:
    """Return the loads of all elements that `layout` has in tensor memory, or with `store` the stores.

    `to` is the fragment wanted, or for a store the one in registers; `form` allows only that form. Warpgroups
    share the elements as the fragment has them on wgid; `Move.address` gives the start of each warp. `taken`
    is the bits of 1@TCol, by default those of an element. An entry of the catalogue gives its type and
    `taken`.

        requires       a layout over TLane and TCol, and cbx of a pair
        postcondition  the plan's; with `to` its `fit` has the fewest instructions of all that fit
        refused        TW610 where elements are no parts of words, or are swizzled

    >>> from tilewise.hardware.catalog import find
    >>> d = find("tcgen05.D")("f32", 64, 64)
    >>> [(way.name, len(way.moves), way.registers) for way in plan(d).ways]  # doctest: +NORMALIZE_WHITESPACE
    [('32x32b', 1, 64), ('16x64b', 1, 32), ('16x128b', 1, 32), ('16x256b', 1, 32), ('16x32bx2', 1, 32)]
    >>> found = plan(d, to=find("wgmma.D")("f32", n=64).layout)
    >>> found.fit.way.name, found.fit.registers[:4]
    ('16x256b', (0, 1, 2, 3))
    """
    words = _words(layout, dtype, taken)
    wanted = None if to is None else Wanted.of(by_coordinates(as_layout(to)), words)
    every = [*ways_of(words, store, form, wanted.threads if wanted else None)]
    ways = tuple(way for way in every if not way.problem)
    found = Plan(words, ways, tuple(way for way in every if way.problem), store, to)
    return found if wanted is None else _fitting(found, wanted)


def _words(layout: Layout | Built, dtype: DType | str | None, taken: int) -> Words:
    if isinstance(layout, Built):
        if layout.layout is None:
            raise LayoutError("TW601", "the entry is a table, and nothing of it lies in tensor memory")
        held = layout.held[0] if layout.held else 0
        return Words.of(layout.layout, dtype or layout.dtype or "b32", taken or held)
    if dtype is None:
        raise LayoutError("TW401", "the type of an element is not given", hint='such as dtype="f32"')
    return Words.of(by_coordinates(as_layout(layout)), dtype, taken)


def _fitting(found: Plan, wanted: Wanted) -> Plan:
    """Return the plan with the way that fits, or with the misfit of each way and the nearest one."""
    compared = [(way, wanted.compare(way)) for one in found.ways for way in splits_of(one) if not way.problem]
    fits = [fit for _, fit in compared if isinstance(fit, Fit)]
    if fits:
        return replace(found, fit=min(fits, key=lambda fit: (fit.way.rounds, len(fit.way.moves))))
    misfits = tuple(
        (way, misfit) for way, misfit in compared if way in found.ways and isinstance(misfit, Misfit)
    )
    return replace(found, misfits=misfits, near=_nearest(misfits, wanted, found.store))


def _nearest(misfits: Iterable[tuple[Way, Misfit]], wanted: Wanted, store: bool) -> Nearest | None:
    """Return the way whose fragment is the fewest exchanges from the wanted one; None where warps differ."""
    near: list[Nearest] = []
    for way, misfit in sorted(misfits, key=lambda one: -STAGES.index(one[1].stage)):
        if misfit.stage in BETWEEN_WARPS or (near and not min(one.exchanges for one in near)):
            break  # a difference in lanes needs exchanges
        with suppress(Refused):
            source, target, times = wanted.nearing(way)
            ends = (target, source) if store else (source, target)
            table = transfer(*ends, DType.of(f"b{wanted.words.taken}")).coarser()
            near.append(Nearest(way, bound(table, by_shuffles=False), times))
    return min(near, key=lambda one: (one.exchanges, one.bound.count, len(one.way.moves)), default=None)
