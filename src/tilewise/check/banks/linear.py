"""Wavefronts in closed form, where sums of addresses are XORs.

Let the addresses of a request be an affine map over GF(2) of the lane's bits. The words that the lanes of a
phase ask for are then a coset of the space V that is spanned by what those bits, and the words inside a
vector, flip. With r = rank of V there are 2^r words; with b = rank of V seen in the 5 bits of the bank, they
fall into 2^b banks, and every bank has as many as every other: V's words of one bank are a coset of the
kernel. So each phase takes exactly 2^(r - b) wavefronts, whatever the request, and the ideal is 1.

Lanes n and n ^ d ask for one address iff bit d of the lane flips nothing: that is the merge of wide loads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tilewise.core.bits import Basis, Bits, affine_map
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of, leaves
from tilewise.hardware.limits import LANES
from tilewise.hardware.memory.banks import BANKS, WORD, Operation


@dataclass(frozen=True, slots=True)
class Ranks:
    """What the words of every phase span, and what their banks do.

    >>> Ranks(words=5, banks=2, phases=1, merged=0).ways
    8
    """

    words: int
    """A phase asks for 2^words different words."""
    banks: int
    """They lie in 2^banks banks, as many in each."""
    phases: int
    """Phases of a request that have an active lane."""
    merged: int
    """The d of the pairs of lanes that doubled the phases; or 0."""

    @property
    def ways(self) -> int:
        """Wavefronts of a phase."""
        return 1 << (self.words - self.banks)


def ranks_of(layout: Layout, operation: Operation, bytes: int) -> Ranks | None:
    """The ranks of an access whose addresses are affine; None where they are not.

        requires       layout maps [request, lane] to bytes; up to 32 lanes, each asks for `bytes`
        postcondition  every phase of every request takes 2^(words - banks) wavefronts

    None where lanes take turns as well: those that meet at a word go one after the other.

    >>> from tilewise import S
    >>> ranks_of(S[(4, 32) : (4, 128)], Operation.of("ld"), 4)
    Ranks(words=5, banks=0, phases=1, merged=0)
    >>> ranks_of(S[(4, 32) : (4, 132)], Operation.of("ld"), 4) is None
    True
    """
    lanes = extents_of(layout.shape)[-1]
    found = None if operation.in_turn else affine_addresses(layout)
    if found is None or any(flip % bytes for (flip,) in (found.origin, *found.columns)):
        return None
    steps = [flip for (flip,) in found.columns[: lanes.bit_length() - 1]]
    together = min(operation.together(bytes), lanes)
    wide = operation.together(bytes) < LANES
    merged = next((d for d in operation.pairs if wide and _paired(steps, d)), 0)
    together = min(2 * together, lanes) if merged else together
    inside = [WORD << bit for bit in range((bytes // WORD).bit_length() - 1)]
    flips = [flip // WORD for flip in (*steps[: together.bit_length() - 1], *inside)]
    words, banks = Basis(flips), Basis(flip % BANKS for flip in flips)
    return Ranks(len(words), len(banks), lanes // together, merged)


def _paired(steps: Sequence[int], distance: int) -> bool:
    """Whether lanes n and n ^ distance ask for one address, or one of them does not exist."""
    bit = distance.bit_length() - 1
    return bit >= len(steps) or steps[bit] == 0


def affine_addresses(layout: Layout) -> Bits | None:
    """The addresses, on one axis, by the bits of request and lane, if they are an affine map of them.

    A request only moves where its phases begin. So its extents may be any: rounded up to powers of two they
    are digits of the same map.
    """
    whole = layout if all(extent & extent - 1 == 0 for extent, _ in layout.digits) else _rounded(layout)
    return affine_map(whole)


def _rounded(layout: Layout) -> Layout:
    """The layout with extents of requests that are powers of two."""
    *requests, lanes = layout.shape
    extents = [1 << (extent - 1).bit_length() for extent in leaves(tuple(requests))]
    return replace(layout, shape=(*extents, lanes))
