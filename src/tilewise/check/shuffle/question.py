"""The question: how a warp turns one layout of its registers into another, and the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from tilewise.check.shuffle.bound import Bound, bound
from tilewise.check.shuffle.cost import Shared, cycles, through_shared
from tilewise.check.shuffle.linear import linear
from tilewise.check.shuffle.programs import programs
from tilewise.check.shuffle.reading import read_as
from tilewise.check.shuffle.reorder import Reorder, reorder
from tilewise.check.shuffle.steps import Program, followed
from tilewise.check.shuffle.transfer import Transfer, transfer
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout, as_layout
from tilewise.core.orders import aligned_by_flat_index, alike_in_modes, turned_modes
from tilewise.core.shapes import mirrored
from tilewise.hardware.limits import LANES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

OPTIONAL = ("movmatrix", "ballot")
"""The operations that can be left out."""

_BYTE = 8


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
    bound: Bound
    places: int = 0
    """Places of the target that were followed: all that there are, units counted."""
    cheaper: Program | None = field(repr=False, compare=False, default=None)
    """A program with more exchanges that costs less, where one was found."""
    shared: Shared = field(repr=False, compare=False, default=Shared(0, 0, 0))
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
        """Whether registers are only renamed."""
        return not self.program.steps

    @property
    def least(self) -> bool:
        """Whether no plan has fewer exchanges."""
        return self.exchanges == self.bound.count

    @cached_property
    def cost(self) -> dict[str, int]:
        """How many steps there are of each operation."""
        return self.program.counts()

    @property
    def cycles(self) -> float:
        """What it takes of a multiprocessor, where many warps run."""
        return cycles(self.program)

    @property
    def likely_slower(self) -> bool:
        """Whether the same move through shared memory likely takes less."""
        return self.shared.cycles < self.cycles

    @property
    def registers(self) -> tuple[int, int]:
        """32-bit registers of a lane, before and after."""
        return self.program.inputs, len(self.program.results)

    def __str__(self) -> str:
        cost = ", ".join(f"{count} {name}" for name, count in self.cost.items())
        return cost or "registers are renamed"


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
    """The steps that turn `source` into `target` inside a warp, with the fewest exchanges that were found.

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
    given = _without(without)
    element = DType.of(dtype)

    def told(one: Layout, other: Layout) -> str:
        """What the steps would be, or nothing."""
        try:
            return str(shuffle(one, other, element, without=given, cheapest=cheapest))
        except LayoutError:
            return ""

    source, target = as_layout(source), as_layout(target)
    in_modes = source.order != target.order and alike_in_modes(source, target)
    by_flat = source.order != "row" and not in_modes
    source, target = aligned_by_flat_index(source, target)
    if by_flat:
        reshape, permute = mirrored(reshape), None if permute is None else turned_modes(permute)
    source = read_as(source, target, reshape, permute, told)
    table = transfer(source, target, element)
    coarse = table.coarser()
    tried = list(_tried(coarse, given))
    fewest, least = (min(tried, key=key) for key in (_by_exchanges, _by_cost))
    best = least if cheapest else fewest
    by_shuffles = all(step.operation == "shfl" for step in best.steps if step.exchanges)
    places = _proved(best, coarse)
    cheaper = least if cycles(least) < cycles(best) else None
    return WarpPlan(
        source,
        target,
        element,
        coarse.bits,
        best,
        bound(coarse, by_shuffles),
        places,
        cheaper,
        through_shared(coarse),
    )


def _tried(table: Transfer, without: frozenset[str]) -> Iterator[Program]:
    """Programs that make a transfer, up to one that does nothing but the exchanges that none is without."""
    fewest = bound(table, by_shuffles=False).count
    for program in programs(table, linear(table), without):
        yield program
        if program.exchanges == len(program.steps) == fewest:
            return


def _by_exchanges(program: Program) -> tuple[int, int]:
    return program.exchanges, len(program.steps)


def _by_cost(program: Program) -> tuple[float, int]:
    return cycles(program), len(program.steps)


def _without(names: Iterable[str]) -> frozenset[str]:
    given = frozenset([names] if isinstance(names, str) else names)
    for name in sorted(given - set(OPTIONAL)):
        raise LayoutError(
            "TW401", f"a plan cannot do without {name!r}", hint="it can without " + " and ".join(OPTIONAL)
        )
    return given


def _proved(program: Program, table: Transfer) -> int:
    """How many places were followed from the source to the target; all of them hold what belongs there."""
    width = min(table.bits, _BYTE)
    fields, count = table.bits // width, 0
    registers = followed(program, width)
    for lane, position, sources in table.at():
        register, slot = divmod(position, table.per_register)
        held = registers[register]
        assert held is not None
        found = held[lane][slot * fields : (slot + 1) * fields]
        wanted = [tuple((its, at * fields + i) for i in range(fields)) for its, at in sources]
        assert found in wanted, (lane, position, found)
        count += 1
    assert count <= LANES * table.positions
    return count
