"""Moves inside a warp: the steps that turn one layout of a warp's registers into another, and their cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

from tilewise.check.registers.programs import direct, programs, proved
from tilewise.check.registers.reading import in_words, read_as
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
from tilewise.core.errors import LayoutError, Refused
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
    """Loads of registers, or of their parts that lie in one lane: several make a register."""
    steps: int
    """Steps that put the parts together."""

    @property
    def cycles(self) -> float:
        """Return the cycles of a multiprocessor for one warp."""
        return max(ACCESS * (self.stores + self.loads), STEP * self.steps)


_CONVERSIONS = {
    ("f32", "f16"): "cvt.rn.f16x2.f32 d, hi, lo",
    ("f32", "bf16"): "cvt.rn.bf16x2.f32 d, hi, lo",
    ("f32", "e4m3"): "cvt.rn.satfinite.e4m3x2.f32 d, hi, lo",
    ("f32", "e5m2"): "cvt.rn.satfinite.e5m2x2.f32 d, hi, lo",
    ("f32", "tf32"): "cvt.rna.tf32.f32 d, a",
    ("f16", "e4m3"): "cvt.rn.satfinite.e4m3x2.f16x2 d, a",
    ("f16", "e5m2"): "cvt.rn.satfinite.e5m2x2.f16x2 d, a",
    ("s32", "s8"): "cvt.pack.sat.s8.s32.b32 d, hi, lo, c",
    ("s32", "u8"): "cvt.pack.sat.u8.s32.b32 d, hi, lo, c",
}
"""PTX's conversions with their operands, by both types; c goes to the upper half of d."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """The conversion of elements before they move: element 2 i of a lane is the low one of its pair.

    >>> print(Conversion(DType.of("f32"), DType.of("bf16")))
    convert f32 to bf16 first: cvt.rn.bf16x2.f32 d, hi, lo
    >>> print(Conversion(DType.of("bf16"), DType.of("e4m3")))
    convert bf16 to e4m3 first
    """

    before: DType
    after: DType

    @property
    def instruction(self) -> str | None:
        """Return the name of PTX's instruction, or None where no single instruction is known."""
        return self._spelled.partition(" ")[0] or None

    @property
    def _spelled(self) -> str:
        return _CONVERSIONS.get((self.before.name, self.after.name), "")

    def __str__(self) -> str:
        first = f"convert {self.before} to {self.after} first"
        return f"{first}: {self._spelled}" if self._spelled else first


@dataclass(frozen=True)
class WarpPlan:
    """Steps that turn FROM into TO inside a warp.

    postcondition  after the steps every place of `target` holds the bits that `source` has of its element
    """

    source: Layout
    target: Layout
    dtype: DType
    unit: int
    """Bits that always go together: those of one element, of several, or of a register's part of one."""
    program: Program = field(repr=False)
    bound: ExchangeBound
    places: int = 0
    """The number of places of the target that were followed: all of them, in units."""
    cheaper: Program | None = field(repr=False, compare=False, default=None)
    """A program with more exchanges that costs less, where one was found."""
    shared: ByMemory = field(repr=False, compare=False, default=ByMemory(0, 0, 0))
    """The same move through shared memory."""
    tiles: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """Numbers of tiles of FROM and of TO by mode, where the smaller was repeated to be as large
    as the other.
    """
    computed: DType | None = None
    """The type of the elements before their conversion to `dtype` and the move, if it was given."""

    @property
    def repeated(self) -> str:
        """Return the tiles that FROM and TO are made of, in words; empty where neither is repeated."""
        return in_words(self.tiles)

    @property
    def convert(self) -> Conversion | None:
        """Return the conversion that comes before the move, or None where the elements have their type."""
        before, after = self.computed, self.dtype
        if before is None or before == after or after.name == f"b{after.bits}":
            return None
        return Conversion(before, after)

    @cached_property
    def reorder(self) -> Reorder | None:
        """Return an order of one mode by which nothing would leave its lane, or None."""
        return reorder(self.source, self.target, self.dtype) if self.exchanges else None

    @property
    def exchanges(self) -> int:
        """Return the number of steps that move data to another lane: shuffles, movmatrix, ballots."""
        return self.program.exchanges

    @property
    def free(self) -> bool:
        """Return True if registers are only renamed."""
        return not self.program.steps

    @property
    def least(self) -> bool:
        """Return True if no plan has fewer exchanges."""
        return self.exchanges == self.bound.count

    @cached_property
    def cost(self) -> dict[str, int]:
        """Return the number of steps of each operation."""
        return self.program.counts()

    @property
    def cycles(self) -> float:
        """Return the cycles of a multiprocessor, where many warps run."""
        return cycles(self.program)

    @property
    def likely_slower(self) -> bool:
        """Return True if the same move through shared memory likely takes less."""
        return self.shared.cycles < self.cycles

    @property
    def registers(self) -> tuple[int, int]:
        """Return the 32-bit registers of a lane, before and after."""
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
    computed: DType | str | None = None,
) -> WarpPlan:
    """Return the steps that turn `source` into `target` inside a warp, with the fewest exchanges found.

    `without` leaves out movmatrix or ballot. With `cheapest` the cycles of a multiprocessor count instead.
    `reshape` reads `source` in that shape first, and `permute` takes its modes in that order. If the other
    layout is a whole number of tiles of one, that one is repeated, its tiles in registers one after another.
    `computed` is the first type of the elements: they are converted to `dtype`, and then move.

        requires       modes that are each other's, cut or joined, or that tiles make up; layouts over laneid
                       and reg, and over warps that nothing leaves
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
    >>> from tilewise import parse
    >>> chained = shuffle(parse("wgmma.D(f32, n=128)"), parse("wgmma.A(bf16)"), "bf16", computed="f32")
    >>> chained.free, chained.repeated, chained.convert.instruction
    (True, '1 x 8 tiles of TO, registers one after another', 'cvt.rn.bf16x2.f32')
    """
    left_out = frozenset([without] if isinstance(without, str) else without)
    for name in sorted(left_out - set(OPTIONAL)):
        raise LayoutError(
            "TW401", f"a plan cannot do without {name!r}", hint="it can without " + " and ".join(OPTIONAL)
        )
    element = DType.of(dtype)

    def steps(one: Layout, other: Layout) -> str:
        """Return the steps that would be needed, in words, or ""."""
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
    source, target, tiles = read_as(source, target, reshape, permute, steps)
    if tiles is not None and by_flat:
        tiles = tiles[0][::-1], tiles[1][::-1]
    try:
        table = transfer(source, target, element).coarser()
    except Refused as no:
        no.hint = "; ".join(filter(None, (in_words(tiles), no.hint)))
        raise
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
        tiles,
        None if computed is None else DType.of(computed),
    )


def _tried(table: WarpTable, without: frozenset[str]) -> Iterator[Program]:
    """Yield programs that make a transfer, up to one that has only exchanges, the fewest possible."""
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
    """Return an order of one mode by which nothing leaves its lane, or None. The last such mode is taken.

    The columns of FROM are matched to those of TO by the lanes that they need, in whichever registers. A sum,
    as over the K of a product, may take its terms in any order, if A and B agree.

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
