"""Maps from lanes to lanes: which lane every lane reads, and which mode of shfl that is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from tilewise.check.shuffle.linear import combined
from tilewise.core.algebra.recognition import recognise
from tilewise.core.axes import Axis
from tilewise.core.bits import Basis
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
    lanes: tuple[int, ...] = ()
    """The lanes themselves, where the mode and the amount do not say them."""

    @classmethod
    def of(cls, lanes: Sequence[int]) -> LaneMap:
        """The tidiest map that reads these lanes."""
        for mode, amount, read in _simple():
            if tuple(lanes) == read:
                return cls(mode, amount)
        if len(set(lanes)) == 1:
            return cls("idx", lanes[0])
        return cls("idx", None, tuple(lanes))

    def __repr__(self) -> str:
        lanes = f", lanes={self.lanes}" if self.lanes else ""
        return f"LaneMap(mode={self.mode!r}, amount={self.amount}{lanes})"

    @property
    def columns(self) -> tuple[int, tuple[int, ...]] | None:
        """(origin, what each bit of the lane flips) of lanes that are an affine map over GF(2); else None."""
        first = self.lanes[0]
        columns = tuple(self.lanes[1 << bit] ^ first for bit in range(LANE_BITS))
        if all(first ^ combined(list(columns), lane) == own for lane, own in enumerate(self.lanes)):
            return first, columns
        return None


def lane_layout(lanes: Sequence[int]) -> Layout | None:
    """The map as a layout from 32 lanes to `laneid`; None where no layout says it.

    >>> print(lane_layout([lane ^ 1 for lane in range(32)]))
    S[(16, 2) : (2@laneid, -1@laneid)] + 1@laneid
    """
    try:
        return recognise(list(lanes), Axis("laneid"))
    except Refused:
        return None


def completed(reads: Sequence[int | None]) -> tuple[int, ...]:
    """The lanes that are read, with any for the lanes that read nothing: the tidiest map there is.

    >>> LaneMap.of(completed([1, 0, None, 2, *[None] * 28]))
    LaneMap(mode='bfly', amount=1)
    """
    for _, _, lanes in _simple():
        if all(read in (None, lane) for read, lane in zip(reads, lanes, strict=True)):
            return lanes
    known = {read for read in reads if read is not None}
    if len(known) == 1:
        return (*known,) * LANES
    return _affine(reads) or tuple(lane if read is None else read for lane, read in enumerate(reads))


@cache
def _simple() -> tuple[tuple[str, int, tuple[int, ...]], ...]:
    """(mode, amount, lanes) of butterflies, and of reading a fixed way down or up."""
    lanes = range(LANES)
    found = [("bfly", amount, tuple(lane ^ amount for lane in lanes)) for amount in lanes]
    for amount in lanes[1:]:
        up = tuple(lane - amount if lane >= amount else lane for lane in lanes)
        down = tuple(lane + amount if lane + amount < LANES else lane for lane in lanes)
        found += [("up", amount, up), ("down", amount, down)]
    return tuple(found)


def _affine(reads: Sequence[int | None]) -> tuple[int, ...] | None:
    """An affine map over GF(2) through what is known."""
    basis, values = Basis(), list[int]()
    for lane, read in [
        *((x, y) for x, y in enumerate(reads) if y is not None),
        *((x, x) for x in range(LANES)),
    ]:
        if basis.add_new(1 | lane << 1):
            values.append(read)
    lanes = tuple(combined(values, basis.combination(1 | lane << 1) or 0) for lane in range(LANES))
    fits = all(read in (None, lane) for read, lane in zip(reads, lanes, strict=True))
    return lanes if fits else None
