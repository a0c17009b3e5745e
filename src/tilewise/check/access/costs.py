"""What a whole access costs, whatever is counted: by ranks, or request by request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from operator import mul
from typing import Any, Generic, TypeVar

from tilewise.check.access.access import Access, Lanes
from tilewise.check.access.folding import Folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray

Ranks = TypeVar("Ranks")

FEW = 16
"""Requests that are sooner counted by the definition than NumPy is loaded."""


@dataclass(frozen=True)
class Costs(Generic[Ranks]):
    """The counts of an access: those of all its requests together, and the request that loses most."""

    lanes: Lanes = field(repr=False)
    ranks: Ranks | None
    """What proves the counts without counting, where addresses are affine over GF(2)."""
    counts: Mapping[str, Sequence[int]] = field(default_factory=dict, repr=False)
    """The counts of every request by their names, where they are not; of those that stand for all, where
    `folded` says so."""
    folded: Folded | None = field(default=None, repr=False)

    @classmethod
    def by_request(
        cls,
        lanes: Lanes,
        names: Sequence[str],
        distance: int,
        one: Callable[[Sequence[int | None]], Sequence[int]],
        many: Callable[[NDArray[np.int64]], object],
    ) -> Self:
        """Every request counted, where no ranks decide.

        Where the addresses are a layout, of requests that are moved by multiples of the distance the first is
        counted. Where these are few, the definition does, which needs no NumPy.

            requires  requests moved so far cost the same; one(addresses) has the counts of a request, in the
                      order of their names; many(table) has arrays of these names for addresses[request, lane]
        """
        folded = None if lanes.layout is None else Folded.of(lanes.layout, distance)
        if folded is not None and prod(folded.own) <= FEW:
            each = zip(*map(one, folded.rows()), strict=True)
            return cls(lanes, None, dict(zip(names, each, strict=True)), folded)
        found = many(lanes.table if folded is None else folded.table())
        return cls(lanes, None, {name: getattr(found, name).tolist() for name in names}, folded)

    @property
    def access(self) -> Access:
        """What was asked for."""
        return self.lanes.access

    @property
    def closed(self) -> bool:
        """Whether ranks decided it; else requests were counted."""
        return self.ranks is not None

    @property
    def requests(self) -> int:
        """Instructions that a warp executes."""
        return self.access.requests

    def total(self, name: str) -> int:
        """A count of all requests together, where they were counted."""
        each = self.counts[name]
        return sum(each if self.folded is None else map(mul, each, self.folded.weights()))

    def first_most(self, each: Sequence[int]) -> int:
        """The first request with the largest entry; `each` has one for every request that was counted."""
        if not each:
            return 0
        found = max(range(len(each)), key=each.__getitem__)
        return found if self.folded is None else self.folded.number(found)

    def as_dict(self) -> dict[str, Any]:
        """What was asked, as plain data."""
        return {
            "access": self.access.name,
            "operation": self.access.operation.name,
            "bytes": self.access.bytes,
            "requests": self.requests,
            "lanes": self.access.lanes,
            "idle": self.access.idle,
        }
