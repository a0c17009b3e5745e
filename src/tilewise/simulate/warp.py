"""Single lanes of a warp: their loads and stores of 1 to 16 bytes, and shuffles.

Each lane has an address; None if the lane is not active. A layout of lanes is allowed too, such as the
addresses from `tilewise match`. Addresses are multiples of the bytes, as hardware requires.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewise.check.access.access import check_lanes
from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.hardware.limits import LANES, REGISTER_BITS
from tilewise.hardware.memory.sectors import WIDTHS
from tilewise.simulate.faults import Step, fault
from tilewise.simulate.memory import NOBODY, Memory
from tilewise.simulate.registers import EVERY, Registers
from tilewise.tables import table

Array = np.ndarray[Any, Any]

Addresses = Sequence[int | None] | Array | Layout

MODES = ("idx", "up", "down", "bfly")
"""Ways in which shfl.sync finds the lane to read."""

_WORD = REGISTER_BITS // 8


def by_lane(addresses: Addresses, step: Step) -> Array:
    """Return the address of every lane of a warp; NOBODY for None, and for lanes past the last.

    >>> by_lane([0, None, 8], Step("ld"))[:4].tolist()
    [0, -1, 8, -1]
    >>> from tilewise import S
    >>> by_lane(S[(2, 16) : (16, 128)], Step("ld"))[:18].tolist()[-3:]
    [1920, 16, 144]
    """
    if isinstance(addresses, Layout):
        check_lanes(addresses.size)
        if len(addresses.axes) > 1 or addresses.copies > 1:
            raise LayoutError(
                "TW203",
                f"{addresses} gives a lane no one address",
                hint="lanes to bytes of one axis, without copies",
            )
        addresses = table(addresses).array.reshape(-1)
    check_lanes(len(addresses))
    for lane, at in enumerate(addresses):
        if at is not None and at < 0:
            raise fault(
                "outside",
                f"{step.words(lane)} has the address {at}, and none is below 0",
                step.culprit(lane) | {"address": int(at)},
                "a lane that is not active has None",
            )
    given = [NOBODY if at is None else as_int(at, "an address") for at in addresses]
    return np.array(given + [NOBODY] * (LANES - len(given)), np.int64)


def load(
    memory: Memory, addresses: Addresses, bytes: int, *, signed: bool = False, step: Step | None = None
) -> Registers:
    """Return the registers after each active lane has loaded `bytes` bytes; those of others are not written.

    One or two bytes fill a register with zeros, or with copies of the sign.

    >>> shared = Memory(128)
    >>> shared.put(range(32), "u32")
    >>> load(shared, [8 * lane for lane in range(16)], 8).words[0, 3].tolist()
    [6, 7]
    """
    this = step or Step(f"ld.{_width(bytes)}B")
    at = by_lane(addresses, this)
    data = memory.read(this, at, bytes, aligned=bytes)
    count = max(1, bytes // _WORD)
    held = np.zeros((LANES, count * _WORD), np.uint8)
    held[:, :bytes] = data
    if signed and bytes < _WORD:
        held[:, bytes:] = np.where(data[:, -1:] >= 1 << 7, 0xFF, 0)
    known = np.where(at[:, None] == NOBODY, np.uint32(0), EVERY)
    return Registers(held.view("<u4")[None], np.repeat(known, count, axis=1)[None])


def store(
    memory: Memory, addresses: Addresses, registers: Registers, bytes: int, *, step: Step | None = None
) -> None:
    """Write the first bytes of the registers of each active lane.

    >>> shared = Memory(128)
    >>> store(shared, [2 * lane for lane in range(32)], Registers.of(np.arange(32)[:, None]), 2)
    >>> shared.take("u16", 4).tolist()
    [0, 1, 2, 3]
    """
    this = step or Step(f"st.{_width(bytes)}B")
    at = by_lane(addresses, this)
    count = max(1, bytes // _WORD)
    if registers.count < count or registers.warps != 1:
        raise LayoutError("TW203", f"{bytes} bytes of each lane of one warp are not in {registers}")
    active = (at != NOBODY)[None, :, None]
    own = np.uint32((1 << 8 * min(bytes, _WORD)) - 1)
    known = np.where(active, registers.known[:, :, :count] | ~own, EVERY)
    words = Registers(registers.words[:, :, :count], known).held(this)
    data = np.ascontiguousarray(words[0], "<u4").view(np.uint8)[:, :bytes]
    memory.write(this, at, data, aligned=bytes)


def _width(bytes: int) -> int:
    if bytes not in WIDTHS:
        raise LayoutError(
            "TW602", f"{bytes} bytes a lane", hint=f"an instruction moves {', '.join(map(str, WIDTHS))}"
        )
    return bytes


def shuffle(
    registers: Registers,
    mode: str,
    amount: int | Sequence[int],
    *,
    width: int = LANES,
    active: Sequence[int] = range(LANES),
) -> Registers:
    """Return for every lane the registers of another lane of its group: shfl.sync, as CUDA spells it.

    The warp falls into groups of `width` lanes. A lane reads lane `amount` of the group (idx), a lane
    that many lower (up) or higher (down), or its number XOR the amount (bfly); it reads itself if that leaves
    the group. Registers from or for a lane that is not active count as not written.

        requires  width a power of two up to 32; amounts of 0 to 31, one for all lanes or one each

    >>> lanes = Registers.of(np.arange(32)[:, None])
    >>> shuffle(lanes, "bfly", 1).words[0, :4, 0].tolist()
    [1, 0, 3, 2]
    >>> shuffle(lanes, "up", 2, width=8).words[0, 6:12, 0].tolist()
    [4, 5, 8, 9, 8, 9]
    """
    if mode not in MODES:
        raise LayoutError("TW601", f"{mode!r} is no shuffle", hint=f"known: {' '.join(MODES)}")
    if width not in (1, 2, 4, 8, 16, 32):
        raise LayoutError("TW203", f"groups of {width} lanes", hint="1, 2, 4, 8, 16 or 32")
    source = _source(mode, _amounts(amount), width)
    takes_part = np.isin(np.arange(LANES), list(active))
    gives = (takes_part & takes_part[source])[None, :, None]
    return Registers(registers.words[:, source], np.where(gives, registers.known[:, source], np.uint32(0)))


def _amounts(amount: int | Sequence[int]) -> Array:
    """Return the amount of every lane."""
    given = np.asarray(amount)
    if (
        given.shape not in ((), (LANES,))
        or given.dtype.kind not in "iu"
        or ((given < 0) | (given >= LANES)).any()
    ):
        raise LayoutError(
            "TW203", f"a shuffle by {amount}", hint=f"0 to {LANES - 1}, one for all or one a lane"
        )
    return np.broadcast_to(given.astype(np.int64), (LANES,))


def _source(mode: str, amount: Array, width: int) -> Array:
    """Return the lane that each lane reads; the numbers of a lane and of a group are in different bits."""
    lane = np.arange(LANES)
    first = lane & -width
    if mode == "idx":
        return first | amount & width - 1
    found = {"up": lane - amount, "down": lane + amount, "bfly": lane ^ amount}[mode]
    inside = found >= first if mode == "up" else found < first + width
    return np.where(inside, found, lane)
