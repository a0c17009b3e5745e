"""Reading digits back off a place: the arithmetic under the inverses.

Along one axis a place is p = start + d_1 x_1 + ... + d_k x_k, steps d_i > 0, every x_i with a weight W_i.
Wanted is a layout G of p with G(p) == W_1 x_1 + ... + W_k x_k for all these places. In its floor form

    G(p) = c + sum of w_P * (p // P),   P in a chain in which each divides the next

a level P reads d_i x_i // P where P divides d_i, and nothing where all digits that it does not divide
stay below it together with the start: start % P + sum of (e_i - 1) d_i < P. Levels chosen among the steps
make the weights a triangular system, solved from the smallest step up. That is the rule. It reads every
layout whose steps divide one another without overlap, padding, copies and offsets that fit included.

Behind a swizzle the low bits of a place are XORs of bits of the digits: a linear map over GF(2), whose
inverse is a layout that picks one bit of the place for every bit of the index, then XORs of index bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from tilewise.core.chains import as_swizzles
from tilewise.core.swizzles import Swizzle, apply_chain, period_of

Reading = tuple[int, int, int, int]
"""(step, extent, weight, whole): `whole` is the extent that the digit has in the index, 0 for the slowest,
1 where it runs so that none of its bits is a bit of the index."""

MAX_END = 1 << 10
MAX_CHAINS = 1 << 8
"""Other levels than the rule's are looked for up to so many places and chains of them."""

Level = tuple[int, int]
"""(place, stride): from this place on, until the next level, so much for every such place."""


class Unread(Exception):
    """The digits cannot be read back by the rule; the reason is the message."""


def levels_of(digits: Iterable[Reading], start: int) -> list[Level]:
    """The levels of G for digits sorted by step; `Unread` where the rule ends.

        postcondition  value_at(levels, p) - value_at(levels, start) == sum of weight * digit

    >>> levels_of([(1, 4, 1, 4), (8, 4, 4, 0)], 2)
    [(1, 1), (8, 4)]
    """
    levels: list[Level] = []
    place = stride = reach = 0
    for step, extent, weight, _ in digits:
        if place:
            turns, rest = divmod(step, place)
            if rest:
                raise Unread(f"step {step} is no multiple of step {place}")
            known = turns * stride
        else:
            known = 0
        if known != weight:
            if start % step + reach >= step:
                raise Unread(_overlap(step, reach, start % step))
            place, stride = step, weight
            levels.append((place, stride))
        reach += step * (extent - 1)
    return levels


def _overlap(step: int, reach: int, offset: int) -> str:
    if reach >= step:
        return f"step {step} is shorter than what the smaller steps reach, {reach}"
    return f"with an offset of {offset} the smaller steps, which reach {reach}, carry over step {step}"


def value_at(levels: Sequence[Level], place: int) -> int:
    """Return what the levels give at a place.

    >>> value_at([(1, 1), (8, 4)], 19)
    11
    """
    total = 0
    for level, stride in reversed(levels):
        turns, place = divmod(place, level)
        total += turns * stride
    return total


def digits_up_to(levels: Sequence[Level], end: int) -> list[tuple[int, int]]:
    """(extent, stride) of the levels for the places 0..end, slowest first.

    >>> digits_up_to([(2, 1), (8, 4)], 31), digits_up_to([], 4)
    ([(4, 4), (4, 1), (2, 0)], [(5, 0)])
    """
    if not levels:
        return [(end + 1, 0)]
    digits: list[tuple[int, int]] = []
    top = 0
    for place, stride in reversed(levels):
        digits.append((top // place if top else end // place + 1, stride))
        top = place
    if top > 1:
        digits.append((top, 0))
    return digits


def merged(levels: Iterable[Level]) -> list[Level]:
    """Without the levels that only continue the one below."""
    kept: list[Level] = []
    for place, stride in levels:
        known = place // kept[-1][0] * kept[-1][1] if kept else 0
        if known != stride:
            kept.append((place, stride))
    return kept


# -- other levels ----------------------------------------------------------------------------------


def searched(digits: Sequence[Reading], start: int) -> ReadBack | None:
    """An axis read by any levels at all, in place of those of the rule; None where none are found.

    A place P can be a level if the remainders of all steps by P, upwards or downwards to the next
    multiple, never carry together: then p // P is a sum of whole multiples of the digits. A chain of such
    places reads the axis iff their multiples combine to the weights: a linear system in integers.

    >>> searched([(2, 2, 1, 2), (3, 2, 2, 0)], 0)  # p - p // 2 is the index of 2 x + 3 y
    ReadBack(levels=[(1, 1), (2, 1)], end=5, constant=0, swizzles=())
    """
    end = start + sum([step * (extent - 1) for step, extent, _, _ in digits])
    if end > MAX_END:
        return None
    multiples = {place: found for place in range(1, end + 1) if (found := _multiples(digits, start, place))}
    wanted = [weight for _, _, weight, _ in digits]
    for chain in islice(_chains(list(multiples)), MAX_CHAINS):
        weights = integer_solution([multiples[place] for place in chain], wanted)
        if weights is not None:
            levels = _strided(chain, weights)
            return ReadBack(levels, end, -value_at(levels, start))
    return None


def _multiples(digits: Sequence[Reading], start: int, place: int) -> list[int] | None:
    """The whole multiples of `place` in every step, where what is left over never carries."""
    found = []
    least = most = start % place
    for step, extent, _, _ in digits:
        whole, rest = divmod(step, place)
        if rest and start % place + rest >= place:
            whole, rest = whole + 1, rest - place
        least += min(0, rest * (extent - 1))
        most += max(0, rest * (extent - 1))
        found.append(whole)
    return found if least >= 0 and most < place else None


def _chains(places: Sequence[int]) -> Iterator[list[int]]:
    """The longest chains of places, from 1 on, in which each divides the next."""
    stack = [[1]]
    while stack:
        chain = stack.pop()
        above = [place for place in places if place > chain[-1] and place % chain[-1] == 0]
        nearest = [place for place in above if not any(place % p == 0 for p in above if p < place)]
        if not nearest:
            yield chain
        stack += [[*chain, place] for place in reversed(nearest)]


def integer_solution(columns: Sequence[Sequence[int]], wanted: Sequence[int]) -> list[int] | None:
    """Whole numbers with which the columns add up to what is wanted, by Euclid's steps on the columns.

    >>> integer_solution([[2, 3], [1, 1]], [1, 2])
    [1, -1]
    >>> integer_solution([[2, 4]], [1, 2]) is None
    True
    """
    count = len(columns)
    rest = [[*column, *(int(i == j) for j in range(count))] for i, column in enumerate(columns)]
    total = [*wanted, *([0] * count)]
    for row in range(len(wanted)):
        live = sorted((column for column in rest if column[row]), key=lambda column: abs(column[row]))
        while len(live) > 1:
            for column in live[1:]:
                _subtract(column, live[0], column[row] // live[0][row])
            live = sorted((column for column in live if column[row]), key=lambda column: abs(column[row]))
        if live:
            _subtract(total, live[0], total[row] // live[0][row])
            rest = [column for column in rest if column is not live[0]]
        if total[row]:
            return None
    return [-weight for weight in total[len(wanted) :]]


def _subtract(column: list[int], other: Sequence[int], times: int) -> None:
    for i, value in enumerate(other):
        column[i] -= times * value


def _strided(chain: Sequence[int], weights: Sequence[int]) -> list[Level]:
    """Levels from the weights of a floor form."""
    levels: list[Level] = []
    for place, weight in zip(chain, weights, strict=True):
        if weight:
            below = place // levels[-1][0] * levels[-1][1] if levels else 0
            levels.append((place, below + weight))
    return levels


# -- behind a swizzle ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadBack:
    """How an axis is read: levels for the places 0..end, a constant, and XORs of the index after them."""

    levels: list[Level]
    end: int
    constant: int
    swizzles: tuple[Swizzle, ...] = ()


def plain(digits: list[Reading], start: int) -> ReadBack:
    """An axis without a swizzle.

        requires  digits sorted by step, start >= 0

    >>> plain([(1, 4, 2, 4), (5, 2, 1, 2)], 0)
    ReadBack(levels=[(1, 2), (5, 1)], end=8, constant=0, swizzles=())
    """
    levels = levels_of(digits, start)
    end = start + sum([step * (extent - 1) for step, extent, _, _ in digits])
    return ReadBack(levels, end, -value_at(levels, start) if start else 0)


def swizzled(digits: list[Reading], start: int, swizzles: Sequence[Swizzle]) -> ReadBack:
    """An axis whose places are swizzled: p = Sw(start + sum of step * digit).

        requires       digits sorted by step, start >= 0
        postcondition  Sw'(value of the levels at p, and the constant) == sum of weight * digit

    >>> swizzled([(1, 8, 1, 8), (8, 8, 8, 0)], 0, [Swizzle(3, 0, 3)])
    ReadBack(levels=[(1, 1)], end=63, constant=0, swizzles=(Swizzle(3, 0, 3),))
    """
    reach = sum([step * (extent - 1) for step, extent, _, _ in digits])
    if all(start + reach < (swizzle.source & -swizzle.source or start + reach + 1) for swizzle in swizzles):
        return plain(digits, start)  # every swizzle reads zeros alone
    period = period_of(swizzles)
    bits = _Bits(period)
    above = bits.take(digits, start)
    low, constant, chain = bits.read(swizzles)
    base = start - start % period
    high = levels_of(sorted(above), base)
    last = base + sum([step * (extent - 1) for step, extent, _, _ in above])
    end = last + period - 1 if last else bits.end - 1
    strides = low | {period: 0} | dict(high)
    levels = merged([(place, strides[place]) for place in sorted(strides) if place <= end])
    return ReadBack(levels, end, constant - value_at(high, base), chain)


class _Bits:
    """The low bits of the places of an axis as XORs of variables, which are bits of the digits."""

    def __init__(self, period: int) -> None:
        self.period = period
        count = period.bit_length() - 1
        self.forms = [0] * count
        self.fixed = 0
        self.weights: list[int] = []
        self.home: list[int] = []
        self.turned = self.noise = self.bound = 0
        self.constant = 0
        self.end = 1

    def take(self, digits: Iterable[Reading], start: int) -> list[Reading]:
        """Take the bits of the digits below the period in; the digits above it are left."""
        self.fixed = used = start % self.period
        above: list[Reading] = []
        for step, extent, weight, whole in digits:
            column, rest = step, extent
            turned = weight < 0 and whole != 1
            while rest > 1 and column % self.period:
                if column & used or column >= self.period:
                    raise Unread(f"step {step} carries among the bits that the swizzle permutes")
                used |= column
                self._variable(column, weight, turned, bool(whole % (column // step * 2)))
                column, weight, rest = 2 * column, 2 * weight, (rest + 1) // 2
            if rest > 1:
                above.append((column, rest, weight, whole))
        return above

    def _variable(self, column: int, weight: int, turned: bool, bound: bool) -> None:
        """One more variable, in the bits of its column.

        `turned`: the digit of the index runs the other way. `bound`: its bit does not stand alone in
        the index, so nothing can be XORed with it there.
        """
        number = 1 << len(self.weights)
        for bit in range(column.bit_length()):
            if column >> bit & 1:
                self.forms[bit] |= number
        self.home.append((column & -column).bit_length() - 1)
        self.turned |= number * turned
        self.noise |= number * (weight == 0)
        self.bound |= number * (bound or abs(weight).bit_count() != 1 or (weight < 0 and not turned))
        self.constant += weight if turned else 0
        self.weights.append(-weight if turned else weight)

    def read(self, swizzles: Sequence[Swizzle]) -> tuple[dict[int, int], int, tuple[Swizzle, ...]]:
        """({place: stride} of the low bits, constant, XORs of the index)."""
        for swizzle in reversed(swizzles):
            self._permute(swizzle)
        fixed = apply_chain(swizzles, self.fixed)
        self.end = 1 << max((i + 1 for i, form in enumerate(self.forms) if form or fixed >> i & 1), default=0)
        bit_of, moves = self._solved()
        strides = dict.fromkeys((1 << bit for bit in range(len(self.forms))), 0)
        for variable, bit in bit_of.items():
            weight = self.weights[variable]
            if ((self.forms[bit] & self.turned).bit_count() ^ (fixed >> bit)) & 1:
                self.constant += weight
                weight = -weight
            strides[1 << bit] = weight
        return strides, self.constant, self._chain(moves)

    def _permute(self, swizzle: Swizzle) -> None:
        first = swizzle.base + max(swizzle.shift, 0)
        for bit in range(first, first + swizzle.bits):
            self.forms[bit - swizzle.shift] ^= self.forms[bit]

    def _solved(self) -> tuple[dict[int, int], list[tuple[int, int]]]:
        """Gauss: {variable: the bit of the place that stands for it}, and (flipped, read) after that."""
        rows = {bit: form for bit, form in enumerate(self.forms) if form and not form & self.noise}
        bit_of: dict[int, int] = {}
        moves: list[tuple[int, int]] = []
        free = set(rows)
        for variable, home in enumerate(self.home):
            if self.noise >> variable & 1:
                continue
            holding = [bit for bit, form in rows.items() if form >> variable & 1]
            candidates = [bit for bit in holding if bit in free]
            if not candidates:
                raise Unread("the swizzle mixes a copy into a bit of the index")
            pivot = home if home in candidates else candidates[0]
            free.discard(pivot)
            bit_of[variable] = pivot
            for bit in holding:
                if bit != pivot:
                    rows[bit] ^= rows[pivot]
                    moves.append((bit, pivot))
        variable_of = {bit: variable for variable, bit in bit_of.items()}
        return bit_of, [(variable_of[a], variable_of[b]) for a, b in moves if a in variable_of]

    def _chain(self, moves: list[tuple[int, int]]) -> tuple[Swizzle, ...]:
        """The XORs between variables as swizzles of the index, the last of the chain first to act."""
        pairs = []
        for flipped, read in moves:
            if self.bound >> flipped & 1 or self.bound >> read & 1:
                raise Unread("the swizzle mixes bits of the index that are not bits of their own")
            pairs.append((self.weights[read].bit_length() - 1, self.weights[flipped].bit_length() - 1))
        return tuple(reversed(as_swizzles(pairs)))
