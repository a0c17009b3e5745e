"""Chains of swizzles as linear maps: the bits that they flip, and their normal form.

A swizzle is linear over GF(2): I + E, where E takes each bit that it reads to the bit that it flips. A
chain is a product of such, so it is one swizzle iff every bit that the product moves flips one bit, all at
one distance, and those bits are one run, no longer than the distance:

    Sw1 o Sw2 = I + E1 + E2 + E1 E2    S is equal, or E1 and E2 differ in it; E1 E2 = 0: no bit that Sw2
                                       flips is read by Sw1; and the masks XOR to one run of <= |S| bits

On a layout, bits that are 0 in every address may be read or not: that lets swizzles shrink and merge
that do not merge on all addresses. The digits show which bits those are: bit k of a sum is not
changed by steps that are multiples of 2^(k+1), and is 0 where all sums of the other steps agree that it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_

from tilewise.core.axes import Axis, m
from tilewise.core.canonical import merged_replica
from tilewise.core.integers import bits_of
from tilewise.core.swizzles import Swizzle, apply_chain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.layout import Layout

Chain = tuple[Swizzle, ...]


def as_one(chain: Sequence[Swizzle], zeros: int = 0) -> Swizzle | None:
    """Return the smallest swizzle that acts as a chain on all addresses whose bits in `zeros` are 0, or None.

    >>> as_one([Swizzle(3, 3, 3)], zeros=~0xFF), as_one([Swizzle(1, 0, 1), Swizzle(1, 0, 2)])
    (Swizzle(2, 3, 3), None)
    """
    flips = {
        bit: apply_chain(chain, 1 << bit) ^ 1 << bit
        for bit in bits_of(reduce(or_, [swizzle.source for swizzle in chain]))
    }
    moved = [bit for bit, flip in flips.items() if flip and not zeros >> bit & 1]
    axis = chain[0].axis
    if not moved:
        return Swizzle(0, 0, 0, axis)
    distances = {bit + 1 - flips[bit].bit_length() for bit in moved}
    first, last, shift = min(moved), max(moved), distances.pop()
    free = all(bit in moved or zeros >> bit & 1 for bit in range(first, last))
    single = all(flips[bit].bit_count() == 1 for bit in moved)
    if distances or not free or not single or last - first >= abs(shift):
        return None
    return Swizzle(last - first + 1, first - max(shift, 0), shift, axis)


# -- normal form -----------------------------------------------------------------------------------


def as_swizzles(moves: Iterable[tuple[int, int]], axis: Axis = m) -> list[Swizzle]:
    """Return XORs of bit `read` into bit `flipped`, first to last, as swizzles; neighbours that commute join.

    >>> as_swizzles([(3, 0), (4, 1), (0, 7)])
    [Swizzle(2, 0, 3), Swizzle(1, 0, -7)]
    """
    batches: list[list[tuple[int, int]]] = []
    for read, flipped in moves:
        if not batches or any(read == f or flipped == r for r, f in batches[-1]):
            batches.append([])
        batches[-1].append((read, flipped))
    found: list[Swizzle] = []
    for batch in batches:
        first = len(found)
        for shift, low in sorted((read - flipped, min(read, flipped)) for read, flipped in batch):
            last = found[-1] if len(found) > first else None
            if last and last.shift == shift and last.base + last.bits == low and last.bits < abs(shift):
                found[-1] = Swizzle(last.bits + 1, last.base, shift, axis)
            else:
                found.append(Swizzle(1, low, shift, axis))
    return found


# -- on the places of a layout ---------------------------------------------------------------------


def swizzle_chain(layout: Layout) -> Layout:
    """Return the same map with swizzles that read no more bits than its addresses set, and merge if they can.

        postcondition  swizzle_chain(L).same(L);  swizzle_chain(swizzle_chain(L)) == swizzle_chain(L)

    >>> from tilewise import S
    >>> swizzle_chain(Swizzle(3, 3, 3) @ S[(4, 64) : (64, 1)])
    Swizzle(2, 3, 3) @ S[(4, 64) : (64, 1)]
    """
    while layout.swizzles:
        chain = normal_form(layout.swizzles, zero_bits(layout))
        if chain == layout.swizzles:
            break
        layout = replace(layout, swizzles=chain)
    return layout


def normal_form(chain: Sequence[Swizzle], zeros: int = 0) -> Chain:
    """Return the chain with all that are one, and every neighbours that are one, as the smallest swizzle.

    That is so on addresses whose bits in `zeros` are 0.

    >>> normal_form([Swizzle(1, 0, 3), Swizzle(1, 1, 3), Swizzle(1, 6, 2)])
    (Swizzle(2, 0, 3), Swizzle(1, 6, 2))
    """
    whole = as_one(chain, zeros) if chain else None
    if whole is not None:
        return (whole,) if whole.bits else ()
    acting: list[tuple[Swizzle, int]] = []  # the first to act first, each with the zeros that it meets
    for swizzle in reversed(chain):
        while True:
            found = as_one((swizzle,), zeros)
            assert found is not None
            swizzle = found
            pair = as_one((swizzle, acting[-1][0]), acting[-1][1]) if acting and swizzle.bits else None
            if pair is None:
                break
            swizzle, zeros = pair, acting.pop()[1]
        if swizzle.bits:
            acting.append((swizzle, zeros))
            read, shift = swizzle.source & ~zeros, swizzle.shift
            zeros &= ~(read >> shift if shift > 0 else read << -shift)
    return tuple(swizzle for swizzle, _ in reversed(acting))


def zero_bits(layout: Layout) -> int:
    """Return the bits that are 0 in every address on the swizzled axis before the swizzles, up to the period.

    >>> from tilewise import S
    >>> bin(zero_bits(Swizzle(2, 0, 3) @ (S[(2, 3) : (8, 2)] + 16)))
    '0b1'
    """
    axis = layout.swizzles[0].axis
    copies, start = merged_replica(layout.replica)
    digits = [(extent, stride[axis]) for extent, stride in layout.digits]
    digits += [(it.extent, it.stride[axis]) for it in copies]
    zeros = 0
    for bit in range(layout.period.bit_length() - 1):
        low = high = (layout.offset + start)[axis]
        for extent, step in digits:
            reach = (extent - 1) * step if step % (2 << bit) else 0
            low, high = low + min(0, reach), high + max(0, reach)
        if low >> bit == high >> bit and not low >> bit & 1:
            zeros |= 1 << bit
    return zeros
