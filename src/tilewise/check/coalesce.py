"""Coalescing: the sectors of global memory that an access takes, and the fewest that its bytes need.

`counted` is the definition, of one request of a warp: the sectors and lines that its lanes ask for.
`coalescing` has a whole access of a tile; `count` many requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import or_, sub

from tilewise.check.access import Access, Lanes, access_of, lanes_of
from tilewise.check.access.access import INACTIVE, checked
from tilewise.check.access.costs import Costs, blocks_of, touched, whole_warps
from tilewise.core.bits import Bits, rank, sums
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.hardware.limits import LANES
from tilewise.hardware.memory.banks import Operation
from tilewise.hardware.memory.counters import sectors_of
from tilewise.hardware.memory.sectors import LINE, OPERATIONS, SECTOR, TOGETHER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.check.access.costs import Int64s


# -- one request -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Transfer:
    """One request, and the sectors that it moves."""

    operation: str
    bytes: int
    """The bytes of one lane."""
    groups: tuple[dict[int, tuple[int, ...]], ...] = field(repr=False)
    """{sector: the lanes that ask for it}, of the lanes that are looked up at once."""
    useful: int
    """Different bytes that lanes ask for."""
    first: int | None
    """The lowest address; None where no lane is active."""

    @property
    def sectors(self) -> int:
        """Return the number of sectors moved."""
        return sum(map(len, self.groups))

    @property
    def lines(self) -> int:
        """Return the number of lines of the sectors: one tag lookup each."""
        return sum(len({sector * SECTOR // LINE for sector in group}) for group in self.groups)

    @property
    def ideal(self) -> int:
        """Return the fewest sectors that hold as many bytes."""
        return -(-self.useful // SECTOR)

    @property
    def excess(self) -> int:
        """Return the number of sectors beyond the ideal."""
        return self.sectors - self.ideal

    @property
    def efficiency(self) -> float:
        """Return the part of the moved bytes that lanes ask for; 1 where nothing is moved."""
        return efficiency(self.useful, self.sectors)

    def as_dict(self) -> dict[str, Any]:
        """Return the request as plain data.

        >>> counted("ld", 4, [0, 96, None, 4]).as_dict()["touched"]
        [{'0': [0, 3], '3': [1]}]
        """
        names = ("operation", "bytes", "sectors", "ideal", "excess", "lines", "useful", "efficiency", "first")
        return {name: getattr(self, name) for name in names} | {
            "efficiency": round(self.efficiency, 4),
            "touched": [
                {str(sector): list(lanes) for sector, lanes in group.items()} for group in self.groups
            ],
        }


def efficiency(useful: int, sectors: int) -> float:
    """Return the useful part of the bytes that so many sectors move.

    >>> efficiency(128, 4), efficiency(128, 32), efficiency(0, 0)
    (1.0, 0.125, 1.0)
    """
    return useful / (sectors * SECTOR) if sectors else 1.0


def counted(operation: str, bytes: int, addresses: Sequence[int | None]) -> Transfer:
    """Return one request whose lane n asks for `bytes` at addresses[n], None where it is inactive.

        requires  up to 32 addresses, multiples of `bytes`

    >>> [counted("ld", 4, [step * lane for lane in range(32)]).sectors for step in (4, 8, 32, 128)]
    [4, 8, 32, 32]
    >>> shifted = counted("ld", 4, [4 + 4 * lane for lane in range(32)])
    >>> shifted.sectors, shifted.ideal, shifted.lines
    (5, 4, 2)
    """
    check_operation(operation, bytes)
    addresses = checked(bytes, addresses)
    active = {address for address in addresses if address is not None}
    lanes, together = range(len(addresses)), TOGETHER[bytes]
    dealt = [lanes[first : first + together] for first in lanes[::together]]
    groups = tuple([touched(own, bytes, addresses, SECTOR) for own in dealt])
    return Transfer(operation, bytes, groups, bytes * len(active), min(active, default=None))


def check_operation(operation: str, bytes: int) -> None:
    """Refuse an operation that does not reach global memory, or that cannot move so many bytes."""
    if operation not in OPERATIONS:
        raise LayoutError(
            "TW601",
            f"{operation} does not reach global memory",
            hint=f"known: {' '.join(OPERATIONS)}",
        )
    if bytes not in TOGETHER:
        widths = ", ".join(map(str, TOGETHER))
        raise LayoutError("TW602", f"{operation} of {bytes} bytes a lane", hint=f"it has {widths}")


# -- a whole access --------------------------------------------------------------------------------------


class Coalescing(Costs):
    """The sectors of an access, the fewest that would hold its bytes, and the places where they are lost."""

    def request(self, number: int) -> Transfer:
        """Return one request, as the definition has it."""
        return counted(self.access.operation.name, self.access.bytes, self.lanes.request(number))

    @cached_property
    def sectors(self) -> int:
        """Return the sectors of all requests."""
        return self.total("sectors")

    @cached_property
    def lines(self) -> int:
        """Return the lines of all requests."""
        return self.total("lines")

    @cached_property
    def useful(self) -> int:
        """Return the bytes that lanes ask for, each once a request."""
        return self.total("useful")

    @cached_property
    def ideal(self) -> int:
        """Return the fewest sectors that hold as many bytes, request by request."""
        return self.total("ideal")

    @property
    def excess(self) -> int:
        """Return the number of sectors beyond the ideal."""
        return self.sectors - self.ideal

    @property
    def efficiency(self) -> float:
        """Return the part of the moved bytes that lanes ask for."""
        return efficiency(self.useful, self.sectors)

    @property
    def alignment(self) -> int | None:
        """Return the largest power of two, up to a line, that divides every request's lowest address.

        It is None where addresses have names: the lowest one depends on them.
        """
        if self.lanes.layout is not None and self.lanes.layout.has_names:
            return None
        together = reduce(or_, self.counts["first"])
        return min(LINE, together & -together or LINE)

    @property
    def worst(self) -> int:
        """Return the first request with the most sectors beyond its ideal."""
        return self.first_most(map(sub, self.counts["sectors"], self.counts["ideal"]))

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as plain data; a request has its own `as_dict`."""
        names = ("sectors", "ideal", "excess", "lines", "useful", "efficiency", "alignment", "closed")
        counts = {name: getattr(self, name) for name in names} | {"efficiency": round(self.efficiency, 4)}
        return self.access.as_dict() | counts | {"metric": sectors_of(self.access.operation.name)}

    def __str__(self) -> str:
        return f"{self.access.name}: {self.sectors} sectors, ideal {self.ideal}, {self.efficiency:.0%} used"


def coalescing(
    layout: Layout,
    access: Access | Layout | str,
    *,
    dtype: DType | str,
    operation: Operation | str | None = None,
    base: int = 0,
) -> Coalescing:
    """Return the sectors of an access of a tile of global memory at the byte address `base`.

        requires       a tile of one address an element; loads and stores, and copies by cp.async
        postcondition  request by request what `counted` says; by ranks where the addresses are affine
        refused        TW610 where no one instruction makes the access; TW201 more lanes than a warp has

    >>> from tilewise import S
    >>> print(coalescing(S[(64, 64) : (64, 1)], "row:16B", dtype="f16"))
    row:16B: 256 sectors, ideal 256, 100% used
    >>> print(coalescing(S[(64, 64) : (64, 1)], "col:2B", dtype="f16"))
    col:2B: 4096 sectors, ideal 256, 6% used
    """
    own = access_of(access, layout, dtype, operation, base)
    check_operation(own.operation.name, own.bytes)
    return coalescing_of(lanes_of(own, layout, base))


def coalescing_of(lanes: Lanes) -> Coalescing:
    """Return the sectors of lanes whose addresses are known."""
    names = ("sectors", "lines", "useful", "ideal", "first")
    return Coalescing.counted(lanes, names, LINE, _by_ranks, counted, count)


def _by_ranks(access: Access, bits: Bits) -> Mapping[str, int]:
    """Return the counts of every request by ranks; `first` has the bits of all lowest addresses.

    The addresses of a group of lanes are a coset of the space that their bits flip, and so are their
    sectors and their lines: with the bits inside them left out, 2^rank different ones.
    """
    inside = access.lanes.bit_length() - 1
    lanes, requests = bits.flips[:inside], bits.flips[inside:]
    together = min(TOGETHER[access.bytes], access.lanes)
    group, groups = lanes[: together.bit_length() - 1], access.lanes // together
    useful = access.bytes << rank(lanes)
    reach = 1 << max((LINE, *lanes)).bit_length()  # higher bits change no lower bit
    starts = {start % reach for start in (bits.origin[0], *requests)}
    return {
        "sectors": groups << rank(flip // SECTOR for flip in group),
        "lines": groups << rank(flip // LINE for flip in group),
        "useful": useful,
        "ideal": -(-useful // SECTOR),
        "first": reduce(or_, (min(sums(lanes, start)) for start in starts)),
    }


def count(operation: str, bytes: int, addresses: Int64s, targets: Int64s | None = None) -> dict[str, Int64s]:
    """Return the counts of requests: addresses[request, lane], INACTIVE where a lane asks for nothing.

        requires       up to 32 lanes; addresses that are multiples of `bytes`; targets[request, lane] of
                       copies that bypass the L1: where they write to shared memory
        postcondition  as `counted` says of every request without targets; `first` is 0 where no lane is
                       active

    >>> import numpy as np
    >>> counts = count("ld", 4, np.array([[8 * lane for lane in range(32)], [0] * 32]))
    >>> counts["sectors"].tolist(), counts["ideal"].tolist(), counts["lines"].tolist()
    ([8, 1], [4, 1], [2, 1])
    >>> row = 16 * np.arange(8)[None]
    >>> [count("cp.async", 16, row, row + begin)["sectors"].tolist() for begin in (0, 16)]
    [[4], [5]]
    """
    import numpy as np

    check_operation(operation, bytes)
    whole = whole_warps(addresses)
    sectors, lines = (blocks_of(whole, bytes, size, TOGETHER[bytes]).sum(axis=1) for size in (SECTOR, LINE))
    if targets is not None:
        landed = whole_warps(targets) // SECTOR
        pairs = np.where(whole < 0, INACTIVE, whole // LINE * (1 + landed.max(initial=0)) + landed)
        sectors = blocks_of(pairs, 1, 1, LANES)[:, 0]
    useful = bytes * blocks_of(whole, bytes, bytes, LANES)[:, 0]
    lowest = np.where(whole < 0, np.iinfo(np.int64).max, whole).min(axis=1)
    first = np.where((whole < 0).all(axis=1), 0, lowest)
    ideal = -(-useful // SECTOR)
    return {"sectors": sectors, "lines": lines, "useful": useful, "ideal": ideal, "first": first}
