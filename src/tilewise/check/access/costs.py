"""The cost of a whole access, in any unit: counts of a few requests, and for how many each of them stands.

Where sums of addresses are XORs, one request stands for all. Its lanes ask for a coset of the space that the
bits of a lane flip, and another request XORs a constant to all of it: that renames banks, sectors and lines.

Where they only are a layout, requests repeat. Moved by a word, the words of a request lie in other banks, and
meet as before; moved by a line of 128 bytes, it touches other sectors and lines, and as many. Swizzles move
with them by their own period. A digit of the requests with stride s comes back to a multiple of that distance
after distance / gcd(s, distance) steps: of a padded tile one or two of its values are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import gcd, prod
from operator import mul

from tilewise.check.access.access import INACTIVE, Access, Lanes, check_lanes, check_listed
from tilewise.core.bits import Bits, affine_map
from tilewise.core.digits import value
from tilewise.core.layout import Layout
from tilewise.core.shapes import leaves
from tilewise.core.swizzles import apply_chain, period_of
from tilewise.hardware.limits import LANES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

    import numpy as np
    from numpy.typing import NDArray

    Int64s = NDArray[np.int64]

FEW = 16
"""Requests that are sooner counted by the definition than NumPy is loaded."""


@dataclass(frozen=True)
class Costs:
    """The counts of an access: those of all its requests together, and the request that loses most.

    A subclass has the `names` of its counts, the `distance` by which requests may move at no cost, the
    definition of one request, and two that agree with it: for every request by bits, for many in NumPy.
    """

    names = tuple[str, ...]()
    distance = 1

    lanes: Lanes = field(repr=False)
    sample: Sample = field(repr=False)
    """The requests that stand for all, and were counted."""
    counts: Mapping[str, Sequence[int]]
    """Their counts by names."""
    closed: bool
    """True if addresses are XORs, so that every request costs the same."""

    @classmethod
    def of(cls, lanes: Lanes) -> Self:
        """Return the costs of lanes whose addresses are known.

        postcondition  request by request those of the definition
        """
        access, layout = lanes.access, lanes.layout
        check_lanes(access.lanes)
        bits = None if layout is None else _affine(layout, access.bytes)
        every = None if bits is None else cls._every(access, bits)
        if every is not None:
            alike = Sample((1,), (access.requests,))
            return cls(lanes, alike, {name: (count,) for name, count in every.items()}, True)
        if layout is None:
            sample, table = Sample((access.requests,), (access.requests,)), lanes.table
        else:
            sample = Sample.of(layout, cls.distance)
            layout, requests = sample.cut(layout), prod(sample.counted)
            if requests <= FEW:
                each = [cls._one(access, addresses) for addresses in _rows(layout, requests)]
                return cls(
                    lanes, sample, {name: [getattr(own, name) for own in each] for name in cls.names}, False
                )
            from tilewise.tables import table as listed

            check_listed(layout.size)
            table = listed(layout).array.reshape(requests, access.lanes)
        counts = {name: array.tolist() for name, array in cls._many(access, table).items()}
        return cls(lanes, sample, counts, False)

    @staticmethod
    def _every(access: Access, bits: Bits) -> Mapping[str, int] | None:
        """Return the counts of every request by the bits of request and lane, or None if they differ."""
        raise NotImplementedError

    @staticmethod
    def _one(access: Access, addresses: Sequence[int | None]) -> Any:
        """Return a request by the definition; its attributes are the counts."""
        raise NotImplementedError

    @staticmethod
    def _many(access: Access, addresses: Int64s) -> Mapping[str, Int64s]:
        """Return the counts of the requests of addresses[request, lane]."""
        raise NotImplementedError

    @property
    def access(self) -> Access:
        """The access whose requests were counted."""
        return self.lanes.access

    @property
    def requests(self) -> int:
        """Instructions that a warp executes."""
        return self.access.requests

    def request(self, number: int) -> Any:
        """Return one request, as the definition has it."""
        return self._one(self.access, self.lanes.request(number))

    def total(self, name: str) -> int:
        """Return a count of all requests together."""
        return sum(map(mul, self.counts[name], self.sample.weights))

    def first_most(self, each: Iterable[int]) -> int:
        """Return the first request with the largest entry; `each` has one for every request of the sample."""
        entries = [*each]
        return self.sample.number(entries.index(max(entries)))


@dataclass(frozen=True)
class Sample:
    """Requests that stand for all others, by the digits of a request's number.

    postcondition  the addresses of any request are those of the one that stands for it, moved by a multiple
                   of the distance

    >>> from tilewise import S
    >>> sample = Sample.of(S[((5000, 157), 32) : ((10006, 64), 2)], 128)
    >>> sample.counted, sample.of_all
    ((64, 2), (5000, 157))
    >>> sample.weights[:3], sum(sample.weights) == 5000 * 157, sample.number(3)
    ([6241, 6162, 6241], True, 158)
    """

    counted: tuple[int, ...]
    """How many values each digit has in the sample."""
    of_all: tuple[int, ...]
    """How many it has."""

    @classmethod
    def of(cls, layout: Layout, distance: int) -> Sample:
        """Return the fewest requests, digit by digit, of a layout [request, lane] to bytes.

        requires  distance: a power of two by which addresses may move at no cost, where nothing is swizzled
        """
        (axis,) = layout.axes
        period = max(distance, period_of(layout.swizzles))
        digits = layout.digits[: sum(1 for _ in leaves(layout.shape[:1]))]
        counted = (min(extent, period // gcd(stride[axis], period)) for extent, stride in digits)
        return cls(tuple(counted), tuple(extent for extent, _ in digits))

    @cached_property
    def weights(self) -> list[int]:
        """For how many requests each of them stands."""
        weights = [1]
        for counted, extent in zip(self.counted, self.of_all, strict=True):
            whole, rest = divmod(extent, counted)
            weights = [weight * (whole + (digit < rest)) for weight in weights for digit in range(counted)]
        return weights

    def number(self, position: int) -> int:
        """Return the number of the request at a position of the sample."""
        steps = [prod(self.of_all[digit + 1 :]) for digit in range(len(self.of_all))]
        return value(zip(self.counted, steps, strict=True), position, 0)

    def cut(self, layout: Layout) -> Layout:
        """Return the part of a layout [request, lane] that the sample has."""
        requests = self.counted if len(self.counted) > 1 else self.counted[0]
        return layout.with_parts((requests, *layout.shape[1:]), layout.strides, (), layout.offset)


def _affine(layout: Layout, bytes: int) -> Bits | None:
    """Return the addresses by the bits of request and lane, if they are XORs and multiples of `bytes`.

    A request only moves where its phases begin. So its extents may be any: rounded up to powers of two they
    are digits of the same map.
    """
    if any(extent & extent - 1 for extent, _ in layout.digits):
        *requests, lanes = layout.shape
        extents = [1 << (extent - 1).bit_length() for extent in leaves(tuple(requests))]
        layout = replace(layout, shape=(*extents, lanes))
    bits = affine_map(layout)
    aligned = bits is not None and not any(flip % bytes for flip in (bits.origin[0], *bits.flips))
    return bits if aligned else None


def _rows(layout: Layout, requests: int) -> list[list[int]]:
    """Return the addresses of a layout [request, lane] to bytes, request by request, without NumPy.

    >>> from tilewise import S, Swizzle
    >>> [row[:3] for row in _rows(Swizzle(1, 4, 3) @ S[(2, 32) : (144, 16)], 2)]
    [[0, 16, 32], [128, 176, 160]]
    """
    (axis,) = layout.axes
    places = [layout.offset[axis]]
    for extent, stride in layout.digits:
        places = [place + step * stride[axis] for place in places for step in range(extent)]
    outer = layout.outer[axis]
    addresses = [apply_chain(layout.swizzles, place) + outer for place in places]
    lanes = len(addresses) // requests
    return [addresses[first : first + lanes] for first in range(0, len(addresses), lanes)]


# -- blocks: the words of banks, sectors, lines ----------------------------------------------------------


def touched(
    lanes: Iterable[int], bytes: int, addresses: Sequence[int | None], block: int
) -> dict[int, tuple[int, ...]]:
    """Return {block: the lanes whose vectors touch it}, in order, of lanes that go together.

    >>> touched(range(3), 8, [0, 8, None], 4)
    {0: (0,), 1: (0,), 2: (1,), 3: (1,)}
    """
    blocks: dict[int, list[int]] = {}
    for lane in lanes:
        address = addresses[lane]
        if address is not None:
            for number in range(address // block, (address + bytes - 1) // block + 1):
                blocks.setdefault(number, []).append(lane)
    return {number: tuple(who) for number, who in sorted(blocks.items())}


def blocks_of(addresses: Int64s, bytes: int, block: int) -> tuple[Int64s, NDArray[np.bool_]]:
    """Return the blocks that vectors touch, sorted along the last axis, and where each differs from the last.

    >>> import numpy as np
    >>> [array.tolist() for array in blocks_of(np.array([4, 8, INACTIVE, 4]), 4, 4)]
    [[-1, 1, 1, 2], [False, True, False, True]]
    """
    import numpy as np

    inside = np.arange(max(1, bytes // block))
    blocks = np.where(addresses[..., None] < 0, INACTIVE, addresses[..., None] // block + inside)
    blocks = np.sort(blocks.reshape(*addresses.shape[:-1], -1), axis=-1)
    new = blocks != INACTIVE
    new[..., 1:] &= blocks[..., 1:] != blocks[..., :-1]
    return blocks, new


def whole_warps(addresses: Int64s) -> Int64s:
    """Return addresses[request, lane] with inactive lanes up to a whole warp."""
    import numpy as np

    requests, lanes = addresses.shape
    check_lanes(lanes)
    whole = np.full((requests, LANES), INACTIVE, np.int64)
    whole[:, :lanes] = addresses
    return whole
