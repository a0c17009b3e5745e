"""Maps from lanes to lanes: which lane every lane reads, and which mode of shfl that is."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from tilewise.core.algebra.recognition import recognise
from tilewise.core.axes import Axis
from tilewise.core.bits import sums, through
from tilewise.core.errors import Refused
from tilewise.hardware.limits import LANE_BITS, LANES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewise.core.layout import Layout


@dataclass(frozen=True, slots=True)
class LaneMap:
    """Which lane every lane reads, as shfl.sync says it.

    `amount` is what bfly flips, how far up or down reads, and for idx the lane that all lanes read, or None.
    Lanes without a lane so far down or up read their own.

    >>> LaneMap.of([lane ^ 4 for lane in range(32)])
    LaneMap(mode='bfly', amount=4)
    >>> LaneMap.of([max(lane - 1, 0) for lane in range(32)])
    LaneMap(mode='up', amount=1)
    """

    mode: str
    amount: int | None = None
    lanes: tuple[int, ...] = field(default=(), repr=False)
    """The lanes themselves, where the mode and the amount do not say them."""

    @classmethod
    def of(cls, lanes: Sequence[int]) -> LaneMap:
        """Return the tidiest map that reads these lanes."""
        for mode, amount, read in _simple():
            if tuple(lanes) == read:
                return cls(mode, amount)
        return cls("idx", lanes[0]) if len(set(lanes)) == 1 else cls("idx", None, tuple(lanes))


def lane_layout(lanes: Sequence[int]) -> Layout | None:
    """Return the map as a layout from 32 lanes to `laneid`; None where no layout says it.

    >>> print(lane_layout([lane ^ 1 for lane in range(32)]))
    S[(16, 2) : (2@laneid, -1@laneid)] + 1@laneid
    """
    try:
        return recognise(list(lanes), Axis("laneid"))
    except Refused:
        return None


def completed(reads: Sequence[int | None]) -> tuple[int, ...]:
    """Return the lanes that are read, with any for the lanes that read nothing: the tidiest map there is.

    >>> LaneMap.of(completed([1, 0, None, 2, *[None] * 28]))
    LaneMap(mode='bfly', amount=1)
    """
    for _, _, lanes in _simple():
        if all(read in (None, lane) for read, lane in zip(reads, lanes, strict=True)):
            return lanes
    points = [(lane, read) for lane, read in enumerate(reads) if read is not None]
    known = {read for _, read in points}
    if len(known) == 1:
        return (*known,) * LANES
    affine = through(points, LANE_BITS, ((lane, lane) for lane in range(LANES)))
    if affine is not None:
        return tuple(sums(affine.flips, affine.origin[0]))
    return tuple(lane if read is None else read for lane, read in enumerate(reads))


@cache
def _simple() -> tuple[tuple[str, int, tuple[int, ...]], ...]:
    """Return (mode, amount, lanes) of butterflies, and of reading a fixed way down or up."""
    lanes = range(LANES)
    found = [("bfly", amount, tuple(lane ^ amount for lane in lanes)) for amount in lanes]
    for amount in lanes[1:]:
        up = tuple(lane - amount if lane >= amount else lane for lane in lanes)
        down = tuple(lane + amount if lane + amount < LANES else lane for lane in lanes)
        found += [("up", amount, up), ("down", amount, down)]
    return tuple(found)
