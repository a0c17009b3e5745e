"""The cost of a whole access, in any unit: counts of a few requests, each times the requests like it.

Where sums of addresses are XORs, one request stands for all. Its lanes read a coset of the space that the
bits of a lane flip. Another request XORs a constant to all addresses: that renames banks, sectors and lines.

Where they only are a layout, requests repeat. A request moved by a word has its words in other banks, and
they meet as before. A request moved by a line of 128 bytes touches as many sectors and lines. Swizzles move
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
from tilewise.core.polynomials import is_named as has_names
from tilewise.core.polynomials import lifted, rest_of
from tilewise.core.shapes import leaves
from tilewise.core.swizzles import apply_chain, period_of
from tilewise.hardware.limits import LANES
from tilewise.hardware.memory.sectors import LINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self

    import numpy as np
    from numpy.typing import NDArray

    Int64s = NDArray[np.int64]

AT_ONCE = 1 << 12
"""The most requests that NumPy counts together: a few megabytes."""

FEW = 16
"""The most requests that are counted by the definition, faster than NumPy is loaded."""


@dataclass(frozen=True)
class Costs:
    """The counts of an access: those of all its requests together, and the request that loses most."""

    lanes: Lanes = field(repr=False)
    sample: Sample = field(repr=False)
    """The requests that stand for all others, and were counted."""
    counts: Mapping[str, Sequence[int]]
    """Their counts by names."""
    closed: bool
    """True if addresses are XORs, so that every request costs the same."""

    @classmethod
    def counted(
        cls,
        lanes: Lanes,
        names: Sequence[str],
        distance: int,
        every: Callable[[Access, Bits], Mapping[str, int] | None],
        one: Callable[[str, int, Sequence[int | None]], object],
        many: Callable[[str, int, Int64s], Mapping[str, Int64s]],
    ) -> Self:
        """Return the costs of lanes whose addresses are known.

        requires       addresses of a request may move by multiples of the distance at no cost;
                       every(access, bits) has the counts of every request, or None if they differ, where
                       bits of request and lane XOR addresses; one(operation, bytes, addresses) is a
                       request by the definition, with names as its attributes; many has arrays of them
                       for addresses[request, lane]
        postcondition  request by request the counts of the definition
        """
        access, layout = lanes.access, lanes.layout
        check_lanes(access.lanes)
        is_named = layout is not None and layout.has_names
        bits = None if layout is None or is_named else _affine(layout, access.bytes)
        alike = None if bits is None else every(access, bits)
        if alike is not None:
            sample = Sample((1,), (access.requests,))
            return cls(lanes, sample, {name: (count,) for name, count in alike.items()}, True)
        if layout is None:
            sample, table = Sample((access.requests,), (access.requests,)), lanes.table
        else:
            sample = Sample.of(layout, distance)
            layout, requests = sample.cut(layout), prod(sample.counted)
            if requests <= FEW or is_named:  # the definition needs no NumPy
                rows = _rows(layout, requests)
                if is_named:
                    rows = [stand_ins(row, max(access.bytes, distance)) for row in rows]
                counted = [one(access.operation.name, access.bytes, row) for row in rows]
                each = {name: [getattr(row, name) for row in counted] for name in names}
                return cls(lanes, sample, each, False)
            from tilewise.tables import table as listed

            check_listed(layout.size)
            table = listed(layout).array.reshape(requests, access.lanes)
        counts = many(access.operation.name, access.bytes, table)
        return cls(lanes, sample, {name: array.tolist() for name, array in counts.items()}, False)

    @property
    def access(self) -> Access:
        """Return the access whose requests were counted."""
        return self.lanes.access

    @property
    def requests(self) -> int:
        """Return the number of instructions that a warp executes."""
        return self.access.requests

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
    """The number of values that each digit has in the sample."""
    of_all: tuple[int, ...]
    """The number of values that it has."""

    @classmethod
    def of(cls, layout: Layout, distance: int) -> Sample:
        """Return the fewest requests, digit by digit, of a layout [request, lane] to bytes.

        requires  distance: a power of two by which addresses may move at no cost, where nothing is swizzled
        """
        (axis,) = layout.axes
        period = max(distance, period_of(layout.swizzles))
        digits = layout.digits[: sum(1 for _ in leaves(layout.shape[:1]))]
        counted = (
            min(extent, period // gcd(rest_of(stride[axis], period), period)) for extent, stride in digits
        )
        return cls(tuple(counted), tuple(extent for extent, _ in digits))

    @cached_property
    def weights(self) -> list[int]:
        """Return the number of requests that each counted one stands for."""
        weights = [1]
        for counted, extent in zip(self.counted, self.of_all, strict=True):
            whole, rest = divmod(extent, counted)
            weights = [weight * (whole + int(digit < rest)) for weight in weights for digit in range(counted)]
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
    addresses = [layout.offset[axis]]
    for extent, stride in layout.digits:
        steps = [step * stride[axis] for step in range(extent)]
        addresses = [place + step for place in addresses for step in steps]
    if layout.swizzles:
        outer, period = layout.outer[axis], period_of(layout.swizzles)
        for place in filter(has_names, addresses):
            rest_of(place, period)  # settles the bits that a swizzle moves
        addresses = [apply_chain(layout.swizzles, place) + outer for place in addresses]
    lanes = len(addresses) // requests
    return [addresses[first : first + lanes] for first in range(0, len(addresses), lanes)]


def stand_ins(addresses: Sequence[Any], together: int) -> list[int]:
    """Return numbers that stand for addresses with names, and that cost as much.

    requires       a cost that depends on the addresses in their lines, and on those that are in one block of
                   `together` bytes
    postcondition  each has the rest of its address in a line; two are in one block iff their addresses are
    """
    starts: dict[int, list[Any]] = {}
    numbers: dict[tuple[int, Any], int] = {}
    zeros: dict[Any, bool] = {}
    """Lines and distances come again: each is decided once."""

    def is_zero(apart: Any) -> bool:
        written = lifted(apart).key
        if written not in zeros:
            zeros[written] = bool(apart == 0)
        return zeros[written]

    found = []
    for address in addresses:
        rest = rest_of(address, LINE)
        block, line = rest // together, address - rest
        written = block, lifted(line).key
        if written not in numbers:
            lines = starts.setdefault(block, [])
            same = (number for number, own in enumerate(lines) if is_zero(line - own))
            numbers[written] = next(same, len(lines))
            if numbers[written] == len(lines):
                lines.append(line)
        found.append(numbers[written] * LINE + rest)
    return found


# -- blocks: the words of banks, sectors, lines ----------------------------------------------------------


def touched(
    lanes: Iterable[int], bytes: int, addresses: Sequence[int | None], block: int
) -> dict[int, tuple[int, ...]]:
    """Return {block: the lanes whose vectors touch it}, in order, of lanes that go together.

        requires  addresses are multiples of `bytes`, a power of two like the block

    >>> touched(range(3), 8, [0, 8, None], 4)
    {0: (0,), 1: (0,), 2: (1,), 3: (1,)}
    """
    blocks: dict[int, list[int]] = {}
    for step in range(max(1, bytes // block)):
        for lane in lanes:
            address = addresses[lane]
            if address is not None:
                blocks.setdefault(address // block + step, []).append(lane)
    return {number: tuple(who) for number, who in sorted(blocks.items())}


def blocks_of(
    addresses: Int64s, bytes: int, block: int, together: int, buckets: int = 0, in_turn: bool = False
) -> Int64s:
    """Return the number of blocks that the vectors of addresses[request, lane] touch: [request, group of
    lanes].

    With buckets, block n is in bucket n % buckets, and the most of one counts; in turn, each lane does.

    >>> import numpy as np
    >>> addresses = np.array([[0, 0, 128, 4]])
    >>> [blocks_of(addresses, 4, 4, 4, *rule).tolist() for rule in ((), (32,), (32, True))]
    [[[3]], [[2]], [[3]]]
    """
    import numpy as np

    requests, lanes = addresses.shape
    counts = np.empty((requests, lanes // together), np.int64)
    inside = np.arange(max(1, bytes // block))
    for first in range(0, requests, AT_ONCE):
        part = slice(first, first + AT_ONCE)
        groups = addresses[part].reshape(-1, together, 1)
        blocks = np.where(groups < 0, INACTIVE, groups // block + inside).reshape(len(groups), -1)
        blocks.sort(axis=1)
        new = blocks >= 0
        if not in_turn:
            new[:, 1:] &= blocks[:, 1:] != blocks[:, :-1]
        if buckets:
            which = np.nonzero(new)[0] * buckets + blocks[new] % buckets
            most = np.bincount(which, minlength=len(groups) * buckets).reshape(-1, buckets).max(axis=1)
        else:
            most = new.sum(axis=1)
        counts[part] = most.reshape(-1, lanes // together)
    return counts


def whole_warps(addresses: Int64s) -> Int64s:
    """Return addresses[request, lane] with inactive lanes up to a whole warp."""
    import numpy as np

    requests, lanes = addresses.shape
    check_lanes(lanes)
    whole = np.full((requests, LANES), INACTIVE, np.int64)
    whole[:, :lanes] = addresses
    return whole
