"""Sectors in closed form, where sums of addresses are XORs.

Let the addresses of a request be an affine map over GF(2) of the lane's bits. Then those of a group of lanes
are a coset of the space that these bits span, and so are their sectors and their lines: with the bits inside
them left out, 2^rank different ones, whatever the request.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tilewise.check.banks.linear import affine_addresses
from tilewise.core.bits import Basis
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.hardware.memory.sectors import LINE, SECTOR, TOGETHER


@dataclass(frozen=True, slots=True)
class Each:
    """What each request takes: all take the same."""

    sectors: int
    lines: int
    useful: int
    alignment: int
    """The largest power of two, up to a line, of which every request's lowest address is a multiple."""

    @property
    def ideal(self) -> int:
        """The fewest sectors that hold as many bytes."""
        return -(-self.useful // SECTOR)


def each_of(layout: Layout, bytes: int) -> Each | None:
    """What each request takes where addresses are affine; None where they are not.

        requires       layout maps [request, lane] to bytes; up to 32 lanes, each asks for `bytes`
        postcondition  what `counted` says of every request

    >>> from tilewise import S
    >>> each_of(S[(4, 32) : (4096, 8)], 8)
    Each(sectors=8, lines=2, useful=256, alignment=128)
    >>> each_of(S[(4, 32) : (4096, 8)] + 16, 8) is None
    True
    """
    lanes = extents_of(layout.shape)[-1]
    found = affine_addresses(layout)
    if found is None or any(flip % bytes for (flip,) in (found.origin, *found.columns)):
        return None
    bits = lanes.bit_length() - 1
    flips = [flip for (flip,) in found.columns]
    together = min(TOGETHER[bytes], lanes)
    group = flips[: together.bit_length() - 1]
    groups = lanes // together
    lows = _lowest(flips[:bits], (found.origin[0], *flips[bits:]))
    return Each(
        groups * _different(group, SECTOR),
        groups * _different(group, LINE),
        bytes * _different(flips[:bits], 1),
        min(LINE, *(low & -low or LINE for low in lows)),
    )


def _different(flips: Iterable[int], size: int) -> int:
    """How many blocks of `size` bytes XORs of some flips reach."""
    return 1 << len(Basis(flip // size for flip in flips))


def _lowest(flips: Iterable[int], starts: Iterable[int]) -> list[int]:
    """The lowest address of a request, for the parts of an address that say which request it is.

    Taking the lowest of a coset is linear: that of an XOR is the XOR of theirs.
    """
    basis: list[int] = []
    for flip in flips:
        for own in basis:
            flip = min(flip, flip ^ own)
        if flip:
            basis = sorted([*basis, flip], reverse=True)
    found = []
    for start in starts:
        for own in basis:
            start = min(start, start ^ own)
        found.append(start)
    return found
