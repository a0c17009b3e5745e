"""Numbers of lanes that every turn of a loop moves by a constant.

A step of a program is a function of NumPy arrays. Given `Moving` numbers in their place, the same function
gives what it writes in every turn: again `Moving`, or an array where all turns have one number. Each rule is
exact for as many turns as `Turns.most` says then; what has no rule raises `NotAlike`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from tilewise.compiled.lanes import Bools, Entries

U64, I64 = np.uint64, np.int64
FEWEST = 8
"""Turns that are worth it."""
FASTEST = 1 << 60
"""Half of the largest step that is compared."""


class NotAlike(Exception):
    """The turns of a loop are not shown to be alike."""


class TooFew(NotAlike):
    """Only a few turns are alike: the next ones may be alike again."""


@dataclass(slots=True)
class Turns:
    """The turns of a loop for which what was derived holds."""

    most: int
    live: Bools
    """The lanes that matter."""

    def hold(self, room: Entries, pace: Entries) -> None:
        """Keep the turns in which no lane goes farther than its room; one of pace 0 stays."""
        room, pace = np.broadcast_arrays(room.astype(U64), np.abs(pace).astype(U64))
        moves = pace != 0
        if moves.size == self.live.size:
            moves = moves & self.live.reshape(moves.shape)
        if moves.any():
            self.most = min(self.most, int((room[moves] // pace[moves]).min()) + 1)
        if self.most < FEWEST:
            raise TooFew


class Moving(NDArrayOperatorsMixin):
    """Numbers that are first + turn * step, as integers that do not wrap around in these turns."""

    __slots__ = ("first", "step", "turns")

    def __init__(self, first: Entries, step: Entries, turns: Turns) -> None:
        self.first, self.step, self.turns = first, step, turns

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the type of the numbers."""
        return self.first.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the extents of the array."""
        return self.first.shape

    @property
    def size(self) -> int:
        """Return the entries of the array."""
        return self.first.size

    @property
    def itemsize(self) -> int:
        """Return the bytes of a number."""
        return self.first.itemsize

    def at(self, turn: int) -> Entries:
        """Return the numbers of one turn."""
        with np.errstate(over="ignore"):
            moved: Entries = self.first.astype(U64) + self.step.view(U64) * U64(turn)
            return moved.astype(self.dtype)

    def astype(self, kind: Any) -> Any:
        """Return the numbers in another type, cut to its width."""
        if np.dtype(kind) == np.bool_:
            return self != 0
        return made(self.first.astype(kind), self.step, self.turns)

    def view(self, kind: Any) -> Any:
        """Return the bits as numbers of another type of that width."""
        if np.dtype(kind).itemsize != self.itemsize:
            raise NotAlike
        return made(self.first.view(kind), self.step, self.turns)

    def reshape(self, *shape: int) -> Moving:
        """Return the numbers in other extents."""
        return self._arranged(lambda entries: entries.reshape(*shape))

    def __getitem__(self, place: Any) -> Moving:
        return self._arranged(lambda entries: entries[place])

    def _arranged(self, arrange: Callable[[Entries], Entries]) -> Moving:
        return Moving(arrange(self.first), arrange(self.step), self.turns)

    def __array_ufunc__(self, function: np.ufunc, method: str, *operands: Any, **_: Any) -> Any:
        rule = RULES.get(function.__name__)
        if rule is None or method != "__call__":
            raise NotAlike
        with np.errstate(all="ignore"):
            return rule(self.turns, function, *operands)

    def __array_function__(self, function: Any, _: Any, operands: Any, named: Any) -> Any:
        if function is np.where:
            return _chosen(self.turns, *operands)
        if function not in (np.broadcast_to, np.repeat, np.take_along_axis):
            raise NotAlike
        entries, *more = operands
        if not isinstance(entries, Moving):
            raise NotAlike
        return entries._arranged(lambda each: function(each, *more, **named))

    def _refused(self, *_: Any, **__: Any) -> Any:
        raise NotAlike

    __array__ = __int__ = __index__ = __bool__ = __iter__ = __len__ = _refused

    def __getattr__(self, name: str) -> Any:
        raise NotAlike


def made(first: Entries, step: Entries, turns: Turns) -> Any:
    """Return numbers that move, in as many turns as they do not wrap around; an array where none moves."""
    kind = first.dtype
    if kind.kind not in "iu":
        raise NotAlike
    width = 8 * kind.itemsize
    if width < 64:
        half = 1 << width - 1
        step = (step + half & (1 << width) - 1) - half
    step = np.broadcast_to(step, first.shape)
    if not step.any():
        return first
    bounds, bits = np.iinfo(kind), first.astype(U64)
    up, down = U64(bounds.max) - bits, bits - np.array(bounds.min).astype(U64)
    turns.hold(np.where(step > 0, up, down), step)
    return Moving(first, np.ascontiguousarray(step), turns)


def moving_of(bits: Any) -> Moving | None:
    """Return numbers if they move."""
    return bits if isinstance(bits, Moving) else None


def begin_of(bits: Any) -> tuple[Entries, Entries]:
    """Return the numbers of the first turn, and by how much each turn moves them."""
    return (bits.first, bits.step) if isinstance(bits, Moving) else (bits, np.zeros(1, I64))


# -- rules -----------------------------------------------------------------------------------------------


def _first(operand: Any) -> Any:
    return operand.first if isinstance(operand, Moving) else operand


def _step(operand: Any) -> Entries:
    return operand.step if isinstance(operand, Moving) else np.zeros(1, I64)


def _still(operand: Any) -> Entries:
    """Return an operand that does not move."""
    if isinstance(operand, Moving):
        raise NotAlike
    return np.atleast_1d(operand)


def _sum(turns: Turns, function: np.ufunc, a: Any, b: Any) -> Any:
    sign = -1 if function is np.subtract else 1
    return made(function(_first(a), _first(b)), _step(a) + sign * _step(b), turns)


def _product(turns: Turns, function: np.ufunc, a: Any, b: Any) -> Any:
    moving, factor = (a, b) if isinstance(a, Moving) else (b, a)
    return made(function(_first(a), _first(b)), moving.step * _still(factor).astype(I64), turns)


def _negated(turns: Turns, function: np.ufunc, a: Moving) -> Any:
    return made(function(a.first), -a.step, turns)


def _up(turns: Turns, function: np.ufunc, a: Any, count: Any) -> Any:
    away = _still(count).astype(I64)
    if ((away < 0) | (away > 63)).any():
        raise NotAlike
    return made(function(a.first, count), a.step << away, turns)


def _divided(a: Moving, size: Entries, quotient: Entries) -> tuple[Any, Any]:
    """Return the quotient and the remainder of numbers by positive ones; the quotient of the first is given.

    The step is q * size + r, with r as near to 0 as it can be: the quotient moves by q until r leads out of
    0 .. size - 1.
    """
    size = size.astype(I64)
    if (size <= 0).any():
        raise NotAlike
    rest = a.first.astype(U64) - quotient.astype(U64) * size.astype(U64)
    by, r = np.divmod(a.step, size)
    nearer = r > size - r
    by, r = by + nearer, r - size * nearer
    a.turns.hold(np.where(r > 0, (size - 1).astype(U64) - rest, rest), r)
    return made(quotient, by, a.turns), made(rest.astype(a.dtype), r, a.turns)


def _down(_: Turns, function: np.ufunc, a: Any, count: Any) -> Any:
    away = _still(count)
    if not isinstance(a, Moving) or (away >= min(63, 8 * a.itemsize)).any():
        raise NotAlike
    return _divided(a, I64(1) << away.astype(I64), function(a.first, count))[0]


def _quotient(_: Turns, function: np.ufunc, a: Any, size: Any) -> Any:
    if not isinstance(a, Moving):
        raise NotAlike
    quotient, rest = _divided(a, _still(size), np.floor_divide(a.first, size))
    return quotient if function is np.floor_divide else rest.astype(function(a.first, size).dtype)


def _and(turns: Turns, function: np.ufunc, a: Any, b: Any) -> Any:
    """Return the bits of numbers under a mask: those below each step stay, runs of others are remainders."""
    moving, mask = (a, _still(b)) if isinstance(a, Moving) else (b, _still(a))
    kind = function(a.first if moving is a else a, b.first if moving is b else b).dtype
    if kind.kind != "u":
        raise NotAlike
    moving, mask = moving.astype(kind), mask.astype(kind)
    steps = int(np.bitwise_or.reduce(moving.step, axis=None))
    below = (steps & -steps) - 1
    result: Any = moving.first & mask & kind.type(below)
    high = mask & kind.type(~below & np.iinfo(kind).max)
    if (high != high.flat[0]).any():
        raise NotAlike
    left = int(high.flat[0])
    while left:
        low = (left & -left).bit_length() - 1
        top = low + (~(left >> low) & (left >> low) + 1).bit_length() - 1
        part = moving if top == 8 * kind.itemsize else np.remainder(moving, kind.type(1 << top))
        result = result + (part >> kind.type(low) << kind.type(low))
        left = left >> top << top
    return result


def _or(turns: Turns, function: np.ufunc, a: Any, b: Any) -> Any:
    """Return the sum of numbers without common bits; else of one and the bits that the other lacks."""
    for upper, lower in ((a, b), (b, a)):
        bits = int(np.bitwise_or.reduce(np.atleast_1d(_first(upper)), axis=None))
        bits |= int(np.bitwise_or.reduce(_step(upper), axis=None))
        unit = bits & -bits
        first = np.atleast_1d(_first(lower))
        if first.dtype.kind == "u" and (first < unit).all():
            step = _step(lower)
            turns.hold(np.where(step > 0, U64(unit - 1) - first.astype(U64), first.astype(U64)), step)
            return upper + lower
    moving, mask = (a, _still(b)) if isinstance(a, Moving) else (b, _still(a))
    return moving + mask - (moving & mask)


def _xor(turns: Turns, function: np.ufunc, a: Any, b: Any) -> Any:
    moving, mask = (a, _still(b)) if isinstance(a, Moving) else (b, _still(a))
    common = moving & mask
    return moving + mask - common - common


def _apart(a: Any, b: Any) -> tuple[Any, Any, Entries]:
    """Return where a is less than b, how far they are apart, and by how much a gains on b in a turn."""
    x, y = np.atleast_1d(_first(a)), np.atleast_1d(_first(b))
    kind = np.result_type(_first(a), _first(b))
    if kind.kind not in "iu" or any((abs(_step(one) >> 1) > FASTEST).any() for one in (a, b)):
        raise NotAlike
    x, y = x.astype(kind), y.astype(kind)
    less = x < y
    apart = np.where(less, y.astype(U64) - x.astype(U64), x.astype(U64) - y.astype(U64))
    return less, apart, _step(a) - _step(b)


def _less(turns: Turns, function: np.ufunc, a: Any, b: Any) -> Any:
    if function in (np.greater, np.less_equal):
        a, b = b, a
    less, apart, gain = _apart(a, b)
    nears = np.where(less, gain > 0, gain < 0)
    turns.hold(apart - less, np.where(nears, gain, 0))
    return less if function in (np.less, np.greater) else ~less


def _equal(turns: Turns, function: np.ufunc, a: Any, b: Any) -> Any:
    less, apart, gain = _apart(a, b)
    equal, pace = apart == 0, np.abs(gain).astype(U64)
    meets = np.where(less, gain > 0, gain < 0) & (apart % np.maximum(pace, U64(1)) == 0)
    room = np.where(equal, U64(0), apart - pace)
    turns.hold(room, np.where(equal | meets, gain, 0))
    return equal if function is np.equal else ~equal


def _least(turns: Turns, function: np.ufunc, a: Any, b: Any) -> Any:
    less = _less(turns, np.less, a, b)
    return _chosen(turns, less, a, b) if function is np.minimum else _chosen(turns, less, b, a)


def _chosen(turns: Turns, which: Any, a: Any, b: Any) -> Any:
    which = _still(which)
    return made(np.where(which, _first(a), _first(b)), np.where(which, _step(a), _step(b)), turns)


def _size(turns: Turns, function: np.ufunc, a: Moving) -> Any:
    return _chosen(turns, a < 0, -a, a)


RULES: dict[str, Callable[..., Any]] = {
    "add": _sum,
    "subtract": _sum,
    "multiply": _product,
    "negative": _negated,
    "invert": _negated,
    "left_shift": _up,
    "right_shift": _down,
    "floor_divide": _quotient,
    "remainder": _quotient,
    "bitwise_and": _and,
    "bitwise_or": _or,
    "bitwise_xor": _xor,
    "less": _less,
    "less_equal": _less,
    "greater": _less,
    "greater_equal": _less,
    "equal": _equal,
    "not_equal": _equal,
    "minimum": _least,
    "maximum": _least,
    "absolute": _size,
}
"""{function of NumPy: what it makes of numbers that move, in so many turns as it holds}."""
