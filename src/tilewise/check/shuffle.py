"""Moves inside a warp: which steps turn one layout of a warp's registers into another, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

from tilewise.check.registers.programs import direct, programs, proved
from tilewise.check.registers.reading import read_as
from tilewise.check.registers.steps import BYTE, STEP, Builder, Program, cycles
from tilewise.check.registers.warp import (
    ExchangeBound,
    WarpTable,
    bound,
    fitted,
    nearest,
    places_of,
    transfer,
)
from tilewise.core.algebra.recognition import recognise
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout, as_layout
from tilewise.core.orders import aligned_by_flat_index, alike_in_modes, turned_modes
from tilewise.core.shapes import extents_of, mirrored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from tilewise.check.registers.warp import Place, Sources

    Lanes = tuple[frozenset[tuple[object, int]], ...]

OPTIONAL = ("movmatrix", "ballot")
"""The operations that can be left out."""


ACCESS = 1.0
"""Cycles of a load or a store of shared memory, where no two lanes want one bank."""


@dataclass(frozen=True, slots=True)
class ByMemory:
    """The same move through shared memory: every register is stored, and loaded in pieces."""

    stores: int
    loads: int
    """Loads of registers, or of the parts that one lane has of one: several make a register."""
    steps: int
    """Steps that put the parts together."""

    @property
    def cycles(self) -> float:
        """Cycles of a multiprocessor for one warp."""
        return max(ACCESS * (self.stores + self.loads), STEP * self.steps)


@dataclass(frozen=True)
class WarpPlan:
    """Steps that turn FROM into TO inside a warp.

    postcondition  after the steps every place of `target` holds what `source` has of its element
    """

    source: Layout
    target: Layout
    dtype: DType
    unit: int
    """Bits that always go together: those of an element, or of several, or a register's part of one."""
    program: Program = field(repr=False)
    bound: ExchangeBound
    places: int = 0
    """Places of the target that were followed: all that there are, units counted."""
    cheaper: Program | None = field(repr=False, compare=False, default=None)
    """A program with more exchanges that costs less, where one was found."""
    shared: ByMemory = field(repr=False, compare=False, default=ByMemory(0, 0, 0))
    """The same move through shared memory."""

    @cached_property
    def reorder(self) -> Reorder | None:
        """An order of one mode by which nothing would leave its lane, where something does and one is."""
        return reorder(self.source, self.target, self.dtype) if self.exchanges else None

    @property
    def exchanges(self) -> int:
        """Steps by which something goes to another lane: shuffles, movmatrix, ballots."""
        return self.program.exchanges

    @property
    def free(self) -> bool:
        """True if registers are only renamed."""
        return not self.program.steps

    @property
    def least(self) -> bool:
        """True if no plan has fewer exchanges."""
        return self.exchanges == self.bound.count

    @cached_property
    def cost(self) -> dict[str, int]:
        """The number of steps of each operation."""
        return self.program.counts()

    @property
    def cycles(self) -> float:
        """Cycles of a multiprocessor, where many warps run."""
        return cycles(self.program)

    @property
    def likely_slower(self) -> bool:
        """True if the same move through shared memory likely takes less."""
        return self.shared.cycles < self.cycles

    @property
    def registers(self) -> tuple[int, int]:
        """32-bit registers of a lane, before and after."""
        return self.program.inputs, len(self.program.results)

    def __str__(self) -> str:
        return self.program.counted or "registers are renamed"


def shuffle(
    source: Layout,
    target: Layout,
    dtype: DType | str,
    *,
    without: Iterable[str] = (),
    cheapest: bool = False,
    reshape: Any = None,
    permute: Any = None,
) -> WarpPlan:
    """Return the steps that turn `source` into `target` inside a warp, with the fewest exchanges found.

    `without` leaves out movmatrix or ballot. With `cheapest` the cycles of a multiprocessor count instead.
    `reshape` reads `source` in that shape first, and `permute` takes its modes in that order.

        requires       one size, and modes that are each other's, cut or joined; layouts over laneid and reg,
                       and over warps that nothing leaves
        postcondition  the plan's, followed field by field through all steps in all 32 lanes
        refused        TW609 where an element changes its warp, where warps differ in what they have to do,
                       or where elements are not in registers; TW505 where TO has two elements at a place

    >>> from tilewise import S, laneid, reg
    >>> rows = S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]
    >>> columns = S[(4, 2, 8) : (1@laneid, 1@reg, 4@laneid)]
    >>> print(shuffle(rows, columns, "f16"))
    1 movmatrix
    >>> found = shuffle(rows, columns, "f32")
    >>> print(found, found.least, found.bound.count)
    2 shfl, 4 select True 2
    >>> shuffle(rows, rows, "f16").free
    True
    >>> d, b = S[((2, 8), 8) : ((2@reg, 4@laneid), 1@reg)], S[(8, (2, 8)) : (1@reg, (2@reg, 4@laneid))]
    >>> shuffle(d, b, "f16", permute=(1, 0)).free
    True
    """
    left_out = frozenset([without] if isinstance(without, str) else without)
    for name in sorted(left_out - set(OPTIONAL)):
        raise LayoutError(
            "TW401", f"a plan cannot do without {name!r}", hint="it can without " + " and ".join(OPTIONAL)
        )
    element = DType.of(dtype)

    def steps(one: Layout, other: Layout) -> str:
        """Return what the steps would be, or nothing."""
        try:
            return str(shuffle(one, other, element, without=left_out, cheapest=cheapest))
        except LayoutError:
            return ""

    source, target = as_layout(source), as_layout(target)
    in_modes = source.order != target.order and alike_in_modes(source, target)
    by_flat = source.order != "row" and not in_modes
    source, target = aligned_by_flat_index(source, target)
    if by_flat:
        reshape, permute = mirrored(reshape), None if permute is None else turned_modes(permute)
    source = read_as(source, target, reshape, permute, steps)
    table = transfer(source, target, element).coarser()
    tried = list(_tried(table, left_out))
    fewest = min(tried, key=lambda program: (program.exchanges, len(program.steps)))
    least = min(tried, key=lambda program: (cycles(program), len(program.steps)))
    best = least if cheapest else fewest
    by_shuffles = all(step.operation == "shfl" for step in best.steps if step.exchanges)
    return WarpPlan(
        source,
        target,
        element,
        table.bits,
        best,
        bound(table, by_shuffles),
        proved(best, table),
        least if cycles(least) < cycles(best) else None,
        through_shared(table),
    )


def _tried(table: WarpTable, without: frozenset[str]) -> Iterator[Program]:
    """Yield programs that make a transfer, up to one that has nothing but exchanges, as few as can be."""
    fewest = bound(table, by_shuffles=False).count
    if not fewest:
        builder = Builder(table.registers_held)
        yield (program := builder.program(direct(builder, table, range(builder.inputs), ())))
        if not program.steps:
            return
    for program in programs(table, fitted(table), without):
        yield program
        if program.exchanges == len(program.steps) == fewest:
            return


def through_shared(table: WarpTable) -> ByMemory:
    """Return the stores and loads that make a transfer."""
    size = table.per_register
    loads = steps = 0
    for first in range(0, table.positions, size):
        parts = max(
            len({(its, at // size) for its, at in _taken(lane, row[first : first + size])})
            for lane, row in enumerate(table.wanted)
        )
        loads += parts
        steps += max(0, parts - 1) if table.bits >= BYTE else 2 * size
    return ByMemory(table.registers_held, loads, steps)


def _taken(lane: int, row: Sequence[Sources]) -> list[tuple[int, int]]:
    return [nearest(lane, sources) for sources in row if sources]


# -- another order of a mode -----------------------------------------------------------------------


MAX_REORDERED = 1 << 13


@dataclass(frozen=True, slots=True)
class Reorder:
    """Index k of a mode of TO takes what index `order[k]` of FROM has: then nothing leaves its lane."""

    mode: int
    order: tuple[int, ...]
    layout: Layout
    """The order as a layout from k to the index of FROM."""
    source: Layout
    """FROM with the mode in that order."""


def reorder(source: Layout, target: Layout, dtype: DType) -> Reorder | None:
    """Return an order of one mode by which nothing leaves its lane, of the last mode that has one, or None.

    The columns of FROM are matched to those of TO by the lanes that they need, whichever registers these hold
    them in. What is summed over, as the K of a product, may be summed in any order, if A and B agree.

    >>> from tilewise import S, laneid, reg
    >>> d = S[(8, (2, 4, 2)) : (4@laneid, (2@reg, 1@laneid, 1@reg))]
    >>> a = S[(8, (4, 4)) : (4@laneid, (1@laneid, 1@reg))]
    >>> print(reorder(d, a, DType.of("e4m3")).layout)
    S[(4, 2, 2) : (2, 8, 1)]
    """
    shape = extents_of(source.shape)
    if shape != extents_of(target.shape) or len(shape) < 2 or source.size > MAX_REORDERED:
        return None
    sides = [places_of(layout, dtype, side) for layout, side in ((source, "FROM"), (target, "TO"))]
    for mode in reversed(range(len(shape))):
        order = _matched(*(_lanes(places, shape, mode) for places in sides))
        if order is None or order == tuple(range(shape[mode])):
            continue
        try:
            layout = recognise(list(order))
            tilers = tuple(layout if own == mode else None for own in range(len(shape)))
            return Reorder(mode, order, layout, source.compose(tilers))
        except LayoutError:
            continue
    return None


def _lanes(places: list[list[Place]], shape: tuple[int, ...], mode: int) -> list[Lanes]:
    """Return for every index of a mode the lanes of all elements that have it."""
    found: list[list[frozenset[tuple[object, int]]]] = [[] for _ in range(shape[mode])]
    for index, own in zip(product(*map(range, shape)), places, strict=True):
        found[index[mode]].append(frozenset((warp, lane) for warp, lane, _ in own))
    return list(map(tuple, found))


def _matched(here: list[Lanes], there: list[Lanes]) -> tuple[int, ...] | None:
    """Return for every index of TO the first free one of FROM whose elements are in the lanes it needs."""
    free: dict[Lanes, list[int]] = {}
    for k, lanes in enumerate(here):
        free.setdefault(lanes, []).append(k)
    found = []
    for lanes in there:
        fitting = (own for held, own in free.items() if own and all(map(frozenset.issubset, lanes, held)))
        known = free.get(lanes) or next(fitting, None)
        if not known:
            return None
        found.append(known.pop(0))
    return tuple(found)
