"""`coalescing`: what a whole access of a tile in global memory takes, all of its requests together."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from operator import mul

from tilewise.check.access import Access, Lanes, access_of, lanes_of
from tilewise.check.access.folding import Folded
from tilewise.check.coalesce.linear import Each, each_of
from tilewise.check.coalesce.transfers import Transfer, check_operation, counted, efficiency
from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.hardware.memory.banks import Operation
from tilewise.hardware.memory.counters import sectors_of
from tilewise.hardware.memory.sectors import LINE, SECTOR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.check.coalesce.counting import Counts


@dataclass(frozen=True)
class Coalescing:
    """The sectors of an access, the fewest that would hold its bytes, and where they are lost."""

    lanes: Lanes = field(repr=False)
    each: Each | None
    """What each request takes, where addresses are affine over GF(2)."""
    counts: Counts | None = field(default=None, repr=False)
    """The count of every request, where they are not; of those that stand for all, where `folded` says so."""
    folded: Folded | None = field(default=None, repr=False)

    @property
    def access(self) -> Access:
        """What was asked for."""
        return self.lanes.access

    @property
    def closed(self) -> bool:
        """Whether ranks decided it; else all requests were counted."""
        return self.each is not None

    @property
    def requests(self) -> int:
        """Instructions that a warp executes."""
        return self.access.requests

    @cached_property
    def sectors(self) -> int:
        """Sectors of all requests."""
        return self._total("sectors")

    @cached_property
    def lines(self) -> int:
        """Lines of all requests."""
        return self._total("lines")

    @cached_property
    def useful(self) -> int:
        """Bytes that lanes ask for, each once a request."""
        return self._total("useful")

    @cached_property
    def ideal(self) -> int:
        """The fewest sectors that hold as many bytes, request by request."""
        return self._total("ideal") if self.each is None else self.requests * -(-self.each.useful // SECTOR)

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
        if self.each is not None:
            return self.each.alignment
        assert self.counts is not None
        first = self.counts.first
        return next(size for size in _POWERS if not (first % size).any())

    @cached_property
    def worst(self) -> int:
        """The first request with the most sectors beyond its ideal."""
        if self.counts is None:
            return 0
        found = int((self.counts.sectors - self.counts.ideal).argmax())
        return found if self.folded is None else self.folded.number(found)

    def request(self, number: int) -> Transfer:
        """One request, as the definition has it."""
        return counted(self.access.operation.name, self.access.bytes, self.lanes.request(number))

    def as_dict(self) -> dict[str, Any]:
        """The counts as plain data; a request of it has its own."""
        return {
            "access": self.access.name,
            "operation": self.access.operation.name,
            "bytes": self.access.bytes,
            "requests": self.requests,
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

    def _total(self, what: str) -> int:
        if self.each is not None:
            return self.requests * int(getattr(self.each, what))
        each = getattr(self.counts, what)
        if self.folded is None:
            return int(each.sum())
        return sum(map(mul, each.tolist(), self.folded.weights()))  # which may be no 64-bit number

    def __str__(self) -> str:
        return f"{self.access.name}: {self.sectors} sectors, ideal {self.ideal}, {self.efficiency:.0%} used"


_POWERS = [1 << bit for bit in reversed(range(LINE.bit_length()))]


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
        refused        TW610 where no one instruction makes the access

    >>> from tilewise import S
    >>> print(coalescing(S[(64, 64) : (64, 1)], "row:16B", dtype="f16"))
    row:16B: 256 sectors, ideal 256, 100% used
    >>> print(coalescing(S[(64, 64) : (64, 1)], "col:2B", dtype="f16"))
    col:2B: 4096 sectors, ideal 256, 6% used
    """
    asked = access_of(access, layout, dtype, operation, base)
    check_operation(asked.operation.name, asked.bytes)
    lanes = lanes_of(asked, layout, base)
    each = each_of(lanes.layout, asked.bytes) if lanes.layout is not None else None
    if each is not None:
        return Coalescing(lanes, each)
    from tilewise.check.coalesce.counting import count

    if lanes.layout is None:
        return Coalescing(lanes, None, count(asked.bytes, lanes.table))
    folded = Folded.of(lanes.layout)
    return Coalescing(lanes, None, count(asked.bytes, folded.table()), folded)
