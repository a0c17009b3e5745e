"""`conflicts`: what a whole access of a tile costs, all of its requests together."""

from __future__ import annotations

from functools import cached_property, partial

from tilewise.check.access import Access, Lanes
from tilewise.check.access.costs import Costs
from tilewise.check.access.lanes import MOST_LISTED, check_lanes
from tilewise.check.banks.linear import Ranks, ranks_of
from tilewise.check.banks.phases import Request, counted
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.hardware.memory.banks import WAVEFRONT, WORD, Operation
from tilewise.hardware.memory.counters import wavefronts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from tilewise.check.banks.counting import Counts


class Conflicts(Costs[Ranks]):
    """The wavefronts of an access, the fewest that its bytes need, and where they are lost."""

    @cached_property
    def wavefronts(self) -> int:
        """Those of all requests."""
        if self.ranks is None:
            return self.total("wavefronts")
        return self.requests * self.ranks.phases * self.ranks.ways

    @cached_property
    def ideal(self) -> int:
        """The fewest, as the profiler counts: 128 bytes of the active lanes each, or what it took if less."""
        if self.ranks is None:
            return self.total("ideal")
        asked = -(-self.access.lanes * self.access.bytes // WAVEFRONT)
        return self.requests * min(asked, self.ranks.phases * self.ranks.ways)

    @property
    def excess(self) -> int:
        """Wavefronts beyond the ideal: conflicts, and phases that few lanes of the warp fill."""
        return self.wavefronts - self.ideal

    @cached_property
    def ways(self) -> int:
        """Wavefronts of the worst phase: 1 where there is no conflict."""
        return max(self.counts["ways"]) if self.ranks is None else self.ranks.ways

    @cached_property
    def worst(self) -> int:
        """The first request that takes the most wavefronts."""
        return self.first_most(self.counts.get("wavefronts", ()))

    def request(self, number: int) -> Request:
        """One request, phase by phase, as the definition has it."""
        return counted(self.access.operation, self.access.bytes, self.lanes.request(number))

    def as_dict(self) -> dict[str, Any]:
        """The counts as plain data; a request of it has its own."""
        return super().as_dict() | {
            "wavefronts": self.wavefronts,
            "ideal": self.ideal,
            "excess": self.excess,
            "ways": self.ways,
            "closed": self.closed,
            "ranks": None if self.ranks is None else {"words": self.ranks.words, "banks": self.ranks.banks},
            "metric": wavefronts_of(self.access.operation.name),
        }

    def __str__(self) -> str:
        free = "no conflicts" if self.ways <= 1 else f"{self.ways} ways"
        count = f"{self.wavefronts} wavefront{'s' * (self.wavefronts != 1)}"
        return f"{self.access.name}: {count}, ideal {self.ideal}, {free}"


COUNTED = ("wavefronts", "ideal", "ways")
"""What is counted of a request."""


def conflicts(
    layout: Layout,
    access: Access | Layout | str,
    *,
    dtype: DType | str | None = None,
    operation: Operation | str | None = None,
    base: int = 0,
    most: int = MOST_LISTED,
) -> Conflicts:
    """The conflicts of an access of a tile in shared memory that begins at the byte address `base`.

        requires       the type of an element, which an `Access` has itself
        postcondition  request by request what `counted` says of the addresses
        refused        TW610 no one instruction makes the access, and why; TW301 no proof spares it to look at
                       more than `most` addresses

    >>> from tilewise import S, Swizzle
    >>> rows = S[(64, 64) : (64, 1)]
    >>> print(conflicts(rows, "ldmatrix.x4", dtype="bf16"))
    ldmatrix.x4: 512 wavefronts, ideal 64, 8 ways
    >>> print(conflicts(Swizzle(3, 3, 3) @ rows, "ldmatrix.x4", dtype="bf16"))
    ldmatrix.x4: 64 wavefronts, ideal 64, no conflicts
    """
    from tilewise.check.access import access_of, lanes_of

    own = dtype or (access.dtype if isinstance(access, Access) else None)
    if own is None:
        raise LayoutError("TW401", "the type of an element is not given", hint='such as dtype="bf16"')
    return conflicts_of(lanes_of(access_of(access, layout, own, operation, base), layout, base, most))


def conflicts_of(lanes: Lanes) -> Conflicts:
    """The conflicts of lanes whose addresses are known.

        postcondition  request by request what `counted` says; by ranks where the addresses are affine

    >>> from tilewise import S
    >>> column = Access("col", Operation.of("ld"), DType.of("f32"), (32, 32), S[(32, 32, 1) : (1, 32, 1)])
    >>> print(conflicts_of(Lanes(column, S[(32, 32) : (4, 128)])))
    col: 1024 wavefronts, ideal 32, 32 ways
    """
    access = lanes.access
    check_lanes(access.lanes)
    ranks = None
    if lanes.layout is not None:
        ranks = ranks_of(lanes.layout, access.operation, access.bytes)
    if ranks is not None:
        return Conflicts(lanes, ranks)
    return Conflicts.by_request(lanes, COUNTED, WORD, partial(_one, access), partial(_many, access))


def _one(access: Access, addresses: Sequence[int | None]) -> tuple[int, int, int]:
    found = counted(access.operation, access.bytes, addresses)
    return found.wavefronts, found.ideal, max(phase.wavefronts for phase in found.phases)


def _many(access: Access, addresses: NDArray[np.int64]) -> Counts:
    from tilewise.check.banks.counting import count

    return count(access.operation, access.bytes, addresses)
