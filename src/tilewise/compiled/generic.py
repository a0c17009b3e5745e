"""Generic addresses: an access without a space goes to the space that each lane's address lies in."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tilewise.compiled.lanes import LaneReader, Lanes, Value, applied
from tilewise.compiled.program import Step, Touch, UnreadStep

WINDOWS = {"shared": 1 << 56, "local": 1 << 57}
"""{space: where generic addresses of it begin}: numbers of this reader; the hardware chooses others."""

LOW = np.uint64((1 << 32) - 1)


def low(read: LaneReader) -> LaneReader:
    """Return the reader of the low 32 bits of an address: the place in its window."""
    return lambda lanes: applied(lambda bits: bits & LOW, read(lanes))


def inside(read: LaneReader, space: str, lanes: Lanes) -> Value:
    """Return the lanes whose address lies in a window, or outside of all (`global`), or is not known."""
    where = read(lanes)
    unknown = np.zeros(1, np.bool_) if where.unknown is None else where.unknown
    if space == "generic":
        return Value(unknown)
    high = where.bits & ~LOW
    if space in WINDOWS:
        return Value((high == WINDOWS[space]) & ~unknown)
    return Value((high != WINDOWS["shared"]) & (high != WINDOWS["local"]) & ~unknown)


def touches(
    operation: str, bytes: int, read: LaneReader, writes: tuple[str, ...], windows: Sequence[str]
) -> tuple[Step, ...]:
    """Return one access for each space that lanes may reach, and one for lanes whose space is not known."""
    steps: list[Step] = []
    for space in (*windows, "global", "generic"):
        place = low(read) if space in WINDOWS else read
        when = partial(inside, read, space)
        steps.append(Touch(space, operation, bytes, place, when=when, apart=True))
    return (*steps, UnreadStep(writes))
