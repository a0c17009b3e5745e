"""A chain of swizzles on arrays of 64-bit addresses.

A swizzle is x ^= (x >> shift) & mask, where a negative shift goes left. Two's complement makes it the
swizzle of Python's integers for every address that fits, as long as no stage of the chain leaves
64 bits. A swizzle is linear over XOR: Sw(a ^ b) = Sw(a) ^ Sw(b), so where no bit of a is a bit of b,
Sw(a + b) = Sw(a) ^ Sw(b).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from tilewise.core.swizzles import Swizzle
from tilewise.tables.digits import INT64_HIGH, Int64s


class Wires(NamedTuple):
    """One swizzle: the shift to the right, and the bits that it flips."""

    shift: int
    mask: int


def wires_of(swizzles: Iterable[Swizzle]) -> tuple[Wires, ...]:
    """Return the chain in the order in which it acts, cut to 64-bit addresses.

    >>> wires_of([Swizzle(1, 0, 1), Swizzle(3, 4, 3)])
    (Wires(shift=3, mask=112), Wires(shift=1, mask=1))
    """
    wires = [Wires(s.shift, s.target & INT64_HIGH) for s in reversed(tuple(swizzles)) if s.bits]
    return tuple(w for w in wires if w.mask)


def swizzle_in_place(addresses: Int64s, wires: Iterable[Wires], scratch: Int64s | None = None) -> None:
    """Replace every address by its swizzled one.

    >>> addresses = np.array([0, 64, 128, -64])
    >>> swizzle_in_place(addresses, wires_of([Swizzle(3, 3, 3)]))
    >>> addresses.tolist(), [Swizzle(3, 3, 3)(a) for a in (0, 64, 128, -64)]
    ([0, 72, 144, -8], [0, 72, 144, -8])
    """
    scratch = np.empty_like(addresses) if scratch is None else scratch
    for shift, mask in wires:
        if shift >= 0:  # an address has only signs beyond its 63rd bit
            np.right_shift(addresses, min(shift, 63), out=scratch)
            np.bitwise_and(scratch, mask, out=scratch)
        else:
            np.bitwise_and(addresses, mask >> -shift, out=scratch)
            np.left_shift(scratch, -shift, out=scratch)
        np.bitwise_xor(addresses, scratch, out=addresses)


def carries(head: Int64s, tail: Int64s) -> bool:
    """Return True if some sum of a head and a tail is not their XOR.

        postcondition  not carries(a, b) implies a[i] + b[j] == a[i] ^ b[j] >= 0 for all i, j

    >>> carries(np.array([0, 8]), np.array([0, 1, 7])), carries(np.array([0, 8]), np.array([9]))
    (False, True)
    """
    used, more = int(np.bitwise_or.reduce(head)), int(np.bitwise_or.reduce(tail))
    return used < 0 or more < 0 or used & more != 0


def bits_reached(low: int, high: int, swizzles: Iterable[Swizzle]) -> int:
    """Return an upper bound on the address bits, the sign left out, at any stage of the chain.

        postcondition  every stage of every address in low..high lies in -2^bits..2^bits - 1

    >>> bits_reached(0, 100, [Swizzle(3, 4, 3)]), bits_reached(0, 100, [Swizzle(3, 4, -3)])
    (7, 10)
    """
    bits = max((end if end >= 0 else ~end).bit_length() for end in (low, high))
    for swizzle in reversed(tuple(swizzles)):
        read = swizzle.source if low < 0 else swizzle.source & ((1 << bits) - 1)
        flipped = read >> swizzle.shift if swizzle.shift >= 0 else read << -swizzle.shift
        bits = max(bits, flipped.bit_length())
    return bits
