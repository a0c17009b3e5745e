"""`coalescing`: what a whole access of a tile in global memory takes, all of its requests together."""

from __future__ import annotations

from functools import cached_property, partial, reduce
from operator import or_, sub

from tilewise.check.access import Access, access_of, lanes_of
from tilewise.check.access.costs import Costs
from tilewise.check.access.lanes import check_lanes
from tilewise.check.coalesce.linear import Each, each_of
from tilewise.check.coalesce.transfers import Transfer, check_operation, counted, efficiency
from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.hardware.memory.banks import Operation
from tilewise.hardware.memory.counters import sectors_of
from tilewise.hardware.memory.sectors import LINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from tilewise.check.coalesce.counting import Counts


class Coalescing(Costs[Each]):
    """The sectors of an access, the fewest that would hold its bytes, and where they are lost."""

    @cached_property
    def sectors(self) -> int:
        """Sectors of all requests."""
        return self._of_all("sectors")

    @cached_property
    def lines(self) -> int:
        """Lines of all requests."""
        return self._of_all("lines")

    @cached_property
    def useful(self) -> int:
        """Bytes that lanes ask for, each once a request."""
        return self._of_all("useful")

    @cached_property
    def ideal(self) -> int:
        """The fewest sectors that hold as many bytes, request by request."""
        return self._of_all("ideal")

    @property
    def excess(self) -> int:
        """Sectors beyond the ideal."""
        return self.sectors - self.ideal

    @property
    def efficiency(self) -> float:
        """The part of the moved bytes that lanes ask for."""
        return efficiency(self.useful, self.sectors)

    @cached_property
    def alignment(self) -> int:
        """The largest power of two, up to a line, of which every request's lowest address is a multiple."""
        if self.ranks is not None:
            return self.ranks.alignment
        together = reduce(or_, self.counts["first"])
        return min(LINE, together & -together or LINE)

    @cached_property
    def worst(self) -> int:
        """The first request with the most sectors beyond its ideal."""
        sectors, ideal = (self.counts.get(name, ()) for name in ("sectors", "ideal"))
        return self.first_most([*map(sub, sectors, ideal)])

    def request(self, number: int) -> Transfer:
        """One request, as the definition has it."""
        return counted(self.access.operation.name, self.access.bytes, self.lanes.request(number))

    def as_dict(self) -> dict[str, Any]:
        """The counts as plain data; a request of it has its own."""
        return super().as_dict() | {
            "sectors": self.sectors,
            "ideal": self.ideal,
            "excess": self.excess,
            "lines": self.lines,
            "useful": self.useful,
            "efficiency": round(self.efficiency, 4),
            "alignment": self.alignment,
            "closed": self.closed,
            "metric": sectors_of(self.access.operation.name),
        }

    def _of_all(self, name: str) -> int:
        return self.total(name) if self.ranks is None else self.requests * int(getattr(self.ranks, name))

    def __str__(self) -> str:
        return f"{self.access.name}: {self.sectors} sectors, ideal {self.ideal}, {self.efficiency:.0%} used"


COUNTED = ("sectors", "lines", "useful", "ideal", "first")
"""What is counted of a request."""


def coalescing(
    layout: Layout,
    access: Access | Layout | str,
    *,
    dtype: DType | str,
    operation: Operation | str | None = None,
    base: int = 0,
) -> Coalescing:
    """What an access of a tile of global memory at the byte address `base` takes.

        requires       a tile of one address an element; loads and stores, and copies by cp.async
        postcondition  request by request what `counted` says; by ranks where the addresses are affine
        refused        TW610 where no one instruction makes the access; TW201 more lanes than a warp has

    >>> from tilewise import S
    >>> print(coalescing(S[(64, 64) : (64, 1)], "row:16B", dtype="f16"))
    row:16B: 256 sectors, ideal 256, 100% used
    >>> print(coalescing(S[(64, 64) : (64, 1)], "col:2B", dtype="f16"))
    col:2B: 4096 sectors, ideal 256, 6% used
    """
    asked = access_of(access, layout, dtype, operation, base)
    check_operation(asked.operation.name, asked.bytes)
    check_lanes(asked.lanes)
    lanes = lanes_of(asked, layout, base)
    each = each_of(lanes.layout, asked.bytes) if lanes.layout is not None else None
    if each is not None:
        return Coalescing(lanes, each)
    return Coalescing.by_request(lanes, COUNTED, LINE, partial(_one, asked), partial(_many, asked))


def _one(access: Access, addresses: Sequence[int | None]) -> tuple[int, ...]:
    found = counted(access.operation.name, access.bytes, addresses)
    return found.sectors, found.lines, found.useful, found.ideal, found.first or 0


def _many(access: Access, addresses: NDArray[np.int64]) -> Counts:
    from tilewise.check.coalesce.counting import count

    return count(access.bytes, addresses)
