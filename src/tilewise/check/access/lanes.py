"""The addresses of a request, one a lane; and why some are none, or too many to look at."""

from __future__ import annotations

from collections.abc import Iterable

from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int, counted
from tilewise.hardware.limits import LANES

MOST_LISTED = 1 << 25
"""Addresses that are looked at one by one, where no proof spares it: a few gigabytes at most."""


def check_listed(addresses: int, most: int = MOST_LISTED) -> None:
    """Refuse more addresses than can, or shall, be looked at one by one."""
    if addresses > most:
        raise LayoutError(
            "TW301",
            f"{addresses} addresses would be looked at one by one, and {most} is the most",
            hint="ask about a part of the tile, or one whose extents and strides are powers of two",
        )


def checked(bytes: int, addresses: Iterable[int | None]) -> list[int | None]:
    """The addresses of a request, one a lane: up to 32, from 0 on, multiples of `bytes`.

    >>> checked(4, (0, None, 8))
    [0, None, 8]
    """
    found = [
        None if address is None else as_int(address, f"the address of lane {lane}")
        for lane, address in enumerate(addresses)
    ]
    check_lanes(len(found))
    for lane, address in enumerate(found):
        if address is not None and (address < 0 or address % bytes):
            raise no_vector(f"lane {lane}", bytes, address)
    return found


def no_vector(lane: str, bytes: int, address: int) -> LayoutError:
    """The error of a lane whose address is below 0, or no multiple of its width.

    >>> print(no_vector("lane 2", 4, -8))
    TW203: lane 2 asks for 4 bytes at -8, below 0
      hint: addresses are 0 and more
    """
    wide = counted(bytes, "byte")
    if address < 0:
        why, hint = "below 0", "addresses are 0 and more"
    else:
        why, hint = f"no multiple of {bytes}", "a vector is aligned to its own width"
    return LayoutError("TW203", f"{lane} asks for {wide} at {address}, {why}", hint=hint)


def check_lanes(addresses: int) -> None:
    """Refuse a request of more lanes than a warp has."""
    if addresses > LANES:
        raise LayoutError(
            "TW201",
            f"{addresses} addresses, and a warp has {LANES} lanes",
            hint="a request is one instruction of one warp: ask about the next one by itself",
        )
