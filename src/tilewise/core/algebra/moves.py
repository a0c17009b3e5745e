"""What stays and what moves between two layouts of one tensor, axis by axis.

An element stays where its new places are among its old ones. Axes that no replica joins are asked alone.
How many elements stay is counted in one of two ways, by the number of digits:

    columns  where both maps are XORs of columns, those that stay are the solutions of a linear system
    digits   else b(x) - a(x) is a sum of w_P * (x // P), as every difference of floor forms is; between
             two places P that divide, or are divided by, all others it is a digit of its own, and how
             often the digits add up to a step between two copies is counted from the largest one down
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import gcd, prod

from tilewise.core.bits import Basis
from tilewise.core.canonical import canonical
from tilewise.core.compare import agree
from tilewise.core.facts import taken_bits
from tilewise.core.solve import BudgetSpent, reaches
from tilewise.core.swizzles import Swizzle, apply_chain, one_permutation
from tilewise.core.vectors import Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.layout import Layout

MAX_LISTED = 1 << 12
"""So many elements, or copies of one, are listed where nothing shorter decides."""

MAX_TRIED = 1 << 11
"""So many digits are tried to count sums."""

MAX_SPAN = 1 << 20
"""So many places of an axis are kept as the bits of one integer."""

Steps = tuple[int, ...]
Digit = tuple[int, Steps]
Names = tuple[str, ...]


def projected(layout: Layout, names: Collection[str]) -> Layout:
    """The layout without the other axes, in canonical form.

    >>> from tilewise import S, laneid, reg
    >>> projected(S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)], {"laneid"})
    S[(32, 2) : (1@laneid, 0)]
    """

    def kept(vector: Vector) -> Vector:
        return Vector(tuple(term for term in vector.terms if term[0].name in names))

    on = layout.swizzled_axis
    return canonical(
        replace(
            layout,
            strides=tuple(map(kept, layout.strides)),
            replica=tuple(replace(it, stride=kept(it.stride)) for it in layout.replica),
            offset=kept(layout.offset),
            swizzles=layout.swizzles if on is not None and on.name in names else (),
            outer=kept(layout.outer),
        )
    )


def moving_names(*layouts: Layout) -> list[str]:
    """The names of the axes on which a layout steps or stands aside, by first appearance.

    >>> from tilewise import S, laneid, m, reg
    >>> moving_names(S[(8, 2) : (1@laneid, 0@reg)] + 5@m)
    ['laneid', 'm']
    """
    return list(dict.fromkeys(name for layout in layouts for name in layout.moving))


# -- the questions ---------------------------------------------------------------------------------


class Movement:
    """From `a` to `b`, two canonical layouts of one size and unit: who stays, and who moves.

    >>> from tilewise import R, S, warpid
    >>> Movement(S[(4, 4) : (4, 1)], S[(4, 4) : (1, 4)]).staying("m")
    4
    >>> copied = S[8 : 1] + R[4 : 1@warpid]
    >>> Movement(copied, S[8 : 1] + 2@warpid).stays(), Movement(S[8 : 1] + 2@warpid, copied).stays()
    (True, False)
    """

    def __init__(self, a: Layout, b: Layout) -> None:
        self.a, self.b = a, b
        self.names = moving_names(a, b)
        self._counts: dict[str, int | None] = {}

    def staying(self, name: str) -> int | None:
        """How many elements have all new coordinates of an axis among the old; None: not counted."""
        if name not in self._counts:
            self._counts[name] = self._counted(name)
        return self._counts[name]

    def _counted(self, name: str) -> int | None:
        pair = _Pair(self.a, self.b, (name,))
        for count in (pair.by_columns, pair.by_digits, pair.by_listing):
            found = count()
            if found is not None:
                return found
        return None

    def stays(self, names: Iterable[str] | None = None) -> bool | None:
        """Whether every element stays, as far as some axes tell; None: not decided."""
        asked = self.names if names is None else [name for name in self.names if name in set(names)]
        open_question = False
        for group in self._joined(asked):
            answer = self._stays_on(group)
            if answer is False:
                return False
            open_question |= answer is None
        return None if open_question else True

    def _joined(self, names: Iterable[str]) -> list[Names]:
        """The axes in groups that no replica joins: the copies are all combinations of the groups'."""
        groups = [{name} for name in names]
        for it in (*self.a.replica, *self.b.replica):
            touched = {axis.name for axis in it.stride.nonzero.axes}
            met = [group for group in groups if group & touched]
            if len(met) > 1:
                groups = [group for group in groups if not group & touched] + [set().union(*met)]
        return [tuple(sorted(group)) for group in groups]

    def _stays_on(self, names: Names) -> bool | None:
        counts = [self.staying(name) for name in names]
        if any(count not in (None, self.a.size) for count in counts):
            return False
        if len(names) == 1 and counts[0] is not None:
            return True
        pair = _Pair(self.a, self.b, names)
        count = pair.by_columns()
        if count is not None:
            return count == self.a.size
        if not pair.old.copies:
            return agree(projected(self.a, names), projected(self.b, names))
        fits = pair.fits() if pair.alike else None
        if fits is not None:
            return fits
        count = pair.by_listing()
        return None if count is None else count == self.a.size


# -- a map on a few axes ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Map:
    """A layout as steps on a few axes: digits slowest first and merged, copies that move."""

    digits: tuple[Digit, ...]
    copies: tuple[Digit, ...]
    offset: Steps
    chain: tuple[Swizzle, ...]
    outer: Steps

    @classmethod
    def of(cls, layout: Layout, names: Names) -> _Map:
        """The layout on those axes alone."""
        digits: list[Digit] = []
        for it in reversed(layout.shard):
            step = _on(names, it.stride)
            if digits and step == tuple([s * digits[-1][0] for s in digits[-1][1]]):
                digits[-1] = (digits[-1][0] * it.extent, digits[-1][1])
            elif it.extent > 1:
                digits.append((it.extent, step))
        copies = [(it.extent, _on(names, it.stride)) for it in layout.replica]
        on = layout.swizzled_axis
        return cls(
            tuple(digits[::-1]),
            tuple([copy for copy in copies if any(copy[1])]),
            _on(names, layout.offset),
            layout.swizzles if on is not None and on.name in names else (),
            _on(names, layout.outer),
        )


def _on(names: Names, vector: Vector) -> Steps:
    return tuple([vector[name] for name in names])


# -- the digits of a difference --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Block:
    """A digit y of the index and what it adds: y * step + the sum of w * (y // p) over `inner`."""

    extent: int
    step: Steps
    inner: tuple[tuple[int, Steps], ...] = ()

    def values(self) -> Iterator[Steps]:
        """What every y adds."""
        for y in range(self.extent):
            value = tuple(y * s for s in self.step)
            for place, weight in self.inner:
                value = tuple(v + y // place * w for v, w in zip(value, weight, strict=True))
            yield value


def difference(a: Sequence[Digit], b: Sequence[Digit]) -> list[Block]:
    """What the digits of b add up to, less those of a, fastest first; both have one size.

    >>> difference([(4, (8,)), (8, (1,))], [(4, (1,)), (8, (4,))])
    [Block(extent=8, step=(3,), inner=()), Block(extent=4, step=(-7,), inner=())]
    """
    weights: dict[int, Steps] = {}
    size = 1
    for digits, sign in ((a, -1), (b, 1)):
        place, carry = 1, None
        for extent, step in reversed(digits):
            weight = step if carry is None else tuple([s - c for s, c in zip(step, carry, strict=True)])
            before = weights.get(place, (0,) * len(step))
            weights[place] = tuple([w + sign * s for w, s in zip(before, weight, strict=True)])
            place, carry = place * extent, tuple([s * extent for s in step])
        size = place
    acting = {place: weight for place, weight in weights.items() if any(weight)}
    places = sorted({1, size, *acting})
    waists = [q for q in places if all(p % q == 0 or q % p == 0 for p in places)]
    return [_block(low, high // low, acting) for low, high in pairwise(waists)]


def _block(low: int, extent: int, weights: dict[int, Steps]) -> Block:
    below = [(low // place, weight) for place, weight in weights.items() if place <= low]
    dimension = len(next(iter(weights.values()), ()))
    step = tuple([sum([times * weight[i] for times, weight in below]) for i in range(dimension)])
    inner = [(place // low, weight) for place, weight in weights.items() if low < place < low * extent]
    return Block(extent, step, tuple(inner))


# -- one pair --------------------------------------------------------------------------------------


class _Pair:
    """Two canonical layouts seen on a few axes, old and new."""

    def __init__(self, a: Layout, b: Layout, names: Names) -> None:
        self.a, self.b, self.names = a, b, names
        self.size = a.size
        self.old, self.new = _Map.of(a, names), _Map.of(b, names)
        self.alike = self.old.outer == self.new.outer and one_permutation(self.old.chain, self.new.chain)
        self.base = tuple([n - o for o, n in zip(self.old.offset, self.new.offset, strict=True)])

    # by columns

    def by_columns(self) -> int | None:
        """How many elements stay, where both maps are XORs of columns."""
        if self.old == self.new:
            return self.size
        if self.old.outer != self.new.outer:
            return None
        common = tuple(map(min, self.old.offset, self.new.offset)) if self.alike else (0,) * len(self.names)
        one = self._columns(self.old, common)
        other = None if one is None else self._columns(self.new, common)
        if one is None or other is None:
            return None
        span = Basis(one.copies)
        if any(span.rest(column) for column in other.copies):
            return 0
        for old, new in zip(one.columns, other.columns, strict=True):
            span.add(old ^ new)
        moving = len(span) - len(one.copies)
        return 0 if span.rest(one.origin ^ other.origin) else self.size >> moving

    def _columns(self, seen: _Map, common: Steps) -> _Columns | None:
        """The map as XORs, `common` taken from its offset, the swizzles left out where they are alike."""
        at = [o - c for o, c in zip(seen.offset, common, strict=True)]
        iters = (*seen.copies, *seen.digits)
        if min(at) < 0 or any(extent & (extent - 1) or min(step) < 0 for extent, step in iters):
            return None
        chain = () if self.alike else seen.chain
        width = self._width()
        fields = [i * width for i in range(len(self.names))]
        used = sum([steps << field for steps, field in zip(at, fields, strict=True)])
        origin, columns = used, []
        for extent, step in reversed(iters):
            column = sum([steps << field for steps, field in zip(step, fields, strict=True)])
            for _ in range(extent.bit_length() - 1):
                if column & used:
                    return None
                used |= column
                columns.append(column)
                column <<= 1
        if chain:
            field = fields[self.names.index(chain[0].axis.name)]
            origin, *columns = (_swizzled(chain, packed, field, width) for packed in (origin, *columns))
        bits = self.size.bit_length() - 1
        return _Columns(origin, columns[:bits], columns[bits:])

    def _width(self) -> int:
        """Bits that hold every coordinate, when those of several axes are packed into one integer."""
        if len(self.names) == 1:
            return 0
        both = (self.old, self.new)
        sums = [s.period for seen in both for s in seen.chain]
        for seen in both:
            iters = (*seen.copies, *seen.digits, (2, seen.offset))
            sums += [sum([extent * abs(step[i]) for extent, step in iters]) for i in range(len(self.names))]
        return max(sums).bit_length() + 1

    # by digits

    def by_digits(self) -> int | None:
        """How many elements stay on one axis: how often the difference is a step between copies."""
        if not self.alike:
            return None
        steps = _steps_inside(_on_line(self.old.copies), _on_line(self.new.copies))
        if steps is None:
            return None
        wanted = {step - self.base[0]: 1 for step in steps}
        return sums_counted(difference(self.old.digits, self.new.digits), wanted)

    # by sets

    def fits(self) -> bool | None:
        """Whether all differences, with the new copies on top, are steps between old copies."""
        blocks = difference(self.old.digits, self.new.digits)
        if any(block.inner and block.extent > MAX_LISTED for block in blocks):
            return None
        tables = [sorted(set(block.values())) for block in blocks if block.inner]
        digits = [(block.extent, block.step) for block in blocks if not block.inner and any(block.step)]
        digits += self.new.copies
        if not self._within_range(tables, digits):
            return False
        if prod([*map(len, tables), *(extent for extent, _ in digits)]) > MAX_LISTED:
            return None if len(self.names) > 1 or tables else self._fits_on_line(_on_line(digits))
        tables += [[tuple([d * s for s in step]) for d in range(extent)] for extent, step in digits]
        sums = {tuple(map(sum, zip(self.base, *chosen, strict=True))) for chosen in product(*tables)}
        vectors, ranges = [step for _, step in self.old.copies], [(0, e - 1) for e, _ in self.old.copies]
        try:
            return all(reaches(vectors, ranges, at, at) for at in sums)
        except BudgetSpent:
            return None

    def _within_range(self, tables: list[list[Steps]], digits: list[Digit]) -> bool:
        for i, base in enumerate(self.base):
            ends = [(min(v[i] for v in table), max(v[i] for v in table)) for table in tables]
            ends += [_ends(extent, step[i]) for extent, step in digits]
            room = [_ends(extent, step[i]) for extent, step in self.old.copies]
            if base + sum(low for low, _ in ends) < sum(low for low, _ in room):
                return False
            if base + sum(high for _, high in ends) > sum(high for _, high in room):
                return False
        return True

    def _fits_on_line(self, digits: list[tuple[int, int]]) -> bool | None:
        """The same for large sets on one axis, within range: as one row, or as bits."""
        (base,), old = self.base, _on_line(self.old.copies)
        if len(old) == 1:
            ((_, row),) = old
            return base % row == 0 and all(step % row == 0 for extent, step in digits if extent > 1)
        shift = base + sum(_ends(*it)[0] for it in digits) - sum(_ends(*it)[0] for it in old)
        held, asked = taken_bits(old), taken_bits(digits)
        return None if held is None or asked is None else not (asked << shift) & ~held

    # by listing

    def by_listing(self) -> int | None:
        """How many elements stay, one after another; None beyond the bound."""
        copies = max(prod(extent for extent, _ in seen.copies) for seen in (self.old, self.new))
        if self.size * copies > MAX_LISTED:
            return None
        one, other = projected(self.a, self.names), projected(self.b, self.names)
        return sum(_seen(other, flat) <= _seen(one, flat) for flat in range(self.size))


def _seen(layout: Layout, flat: int) -> set[frozenset[tuple[str, int]]]:
    return {frozenset(place.nonzero.as_dict().items()) for place in layout.places(flat)}


def _on_line(digits: Iterable[Digit]) -> list[tuple[int, int]]:
    return [(extent, step) for extent, (step,) in digits]


def _ends(extent: int, step: int) -> tuple[int, int]:
    reach = (extent - 1) * step
    return (reach, 0) if reach < 0 else (0, reach)


# -- columns ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Columns:
    """place(x, r) = origin XOR the columns of the bits of x XOR those of the bits of r."""

    origin: int
    columns: list[int]
    copies: list[int]
    """No two share a bit before the swizzle, so none is an XOR of others."""


def _swizzled(chain: Sequence[Swizzle], packed: int, field: int, width: int) -> int:
    """The packed steps with one of them swizzled."""
    if not width:
        return apply_chain(chain, packed)
    before = packed >> field & ((1 << width) - 1)
    return packed ^ (before ^ apply_chain(chain, before)) << field


# -- counting sums ---------------------------------------------------------------------------------


def _steps_inside(old: list[tuple[int, int]], new: list[tuple[int, int]]) -> list[int] | None:
    """Every v such that v + the new copies are among the old ones; None: too many."""
    if not old and not new:
        return [0]
    if sum((extent - 1) * abs(step) for extent, step in (*old, *new)) > MAX_SPAN:
        return None
    bits = taken_bits(old) or 0
    least = sum(_ends(*it)[0] for it in old) - sum(_ends(*it)[0] for it in new)
    for extent, step in new:
        done = 1
        while done < extent:
            more = min(done, extent - done)
            bits &= bits >> (more * abs(step))
            done += more
    if bits.bit_count() > MAX_LISTED:
        return None
    return [least + i for i in range(bits.bit_length()) if bits >> i & 1]


def sums_counted(blocks: Iterable[Block], wanted: dict[int, int]) -> int | None:
    """How many choices of digits add up to each wanted sum, times its number; None beyond the bound.

    >>> sums_counted([Block(8, (3,)), Block(4, (-7,))], {0: 1})
    2
    """
    free, digits, states = 1, [], wanted
    for block in blocks:
        if block.inner:
            following = _after_table(states, block)
            if following is None:
                return None
            states = following
        elif any(block.step):
            digits.append((block.extent, block.step[0]))
        else:
            free *= block.extent
    digits.sort(key=lambda digit: abs(digit[1]), reverse=True)
    tried = 0
    while len(digits) > 2:
        (extent, step), *digits = digits
        rest = _Rest.of(digits)
        following = Counter()
        for left, times in states.items():
            candidates = rest.candidates(left, extent, step)
            tried += len(candidates) + 1
            if tried > MAX_TRIED:
                return None
            for digit in candidates:
                following[left - digit * step] += times
        states = following
    return free * sum(times * _last_two(digits, left) for left, times in states.items())


def _after_table(states: dict[int, int], block: Block) -> Counter[int] | None:
    if block.extent > MAX_LISTED:
        return None
    table = Counter(value for (value,) in block.values())
    if len(states) * len(table) > MAX_TRIED:
        return None
    following: Counter[int] = Counter()
    for left, times in states.items():
        for value, often in table.items():
            following[left - value] += times * often
    return following


def _last_two(digits: Sequence[tuple[int, int]], left: int) -> int:
    if not digits:
        return int(left == 0)
    (extent, step), *others = digits
    return len(_Rest.of(others).candidates(left, extent, step))


@dataclass(frozen=True, slots=True)
class _Rest:
    """What the digits after one can add: at least, at most, and in multiples of what."""

    low: int
    high: int
    unit: int

    @classmethod
    def of(cls, digits: Sequence[tuple[int, int]]) -> _Rest:
        ends = [_ends(*digit) for digit in digits]
        return cls(
            sum([low for low, _ in ends]),
            sum([high for _, high in ends]),
            gcd(*[step for _, step in digits]),
        )

    def candidates(self, left: int, extent: int, step: int) -> range:
        """The digits after which the rest may still add what is left; for a rest of one digit, it does."""
        least, most = left - self.high, left - self.low
        if step < 0:
            least, most = most, least
        first, last = max(0, -(-least // step)), min(extent - 1, most // step)
        if not self.unit:
            return range(first, last + 1)
        common = gcd(step, self.unit)
        if left % common:
            return range(0)
        cycle = self.unit // common
        residue = left // common * pow(step // common, -1, cycle) % cycle
        return range(first + (residue - first) % cycle, last + 1, cycle)
