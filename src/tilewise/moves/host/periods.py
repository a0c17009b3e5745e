"""Swizzled storages moved by whole periods of their swizzles, in which each has the same order of words.

A block of periods is brought from that order to the plain one, or back, by one call of NumPy's; between the
two it is a strided array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from tilewise.core.swizzles import Swizzle
from tilewise.moves.host.blocks import Array, Box, assign, blocks_within, in_threads, kept_apart
from tilewise.moves.host.parts import STEPS, Name, cut_at, ends
from tilewise.moves.pairs.pair import Digit, Pair, Side

WORDS = {8: "u1", 16: "u2", 32: "u4", 64: "u8", 128: "c16"}
"""NumPy's words by their bits: bits are moved, whatever they mean."""

LONGEST = 1 << 16
"""Bytes of a period that is worth a buffer."""

strided = np.lib.stride_tricks.as_strided


def of_periods(pair: Pair) -> Pair | None:
    """The pair with digits that end where its swizzles repeat; None where periods are not taken as a whole.

    >>> from tilewise import DType, S, Swizzle
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> pair = of_periods(pair_of(S[8, 4], Swizzle(1, 0, 1) @ S[8, 4], DType.of("u8")))
    >>> [(digit.extent, digit.write) for digit in pair.digits]
    [(8, 4), (4, 1)]
    """
    for name, step in STEPS.items():
        period, side = _period(getattr(pair, name)), getattr(pair, name)
        cut = cut_at(pair, step, [period.bit_length() - 1]) if period > 1 else pair
        if cut is None or side.start % period or period * pair.bits > 8 * LONGEST:
            return None
        pair = cut
    return pair if all(_whole(pair, name) for name in STEPS) else None


def _whole(pair: Pair, name: Name) -> bool:
    """Whether digits of a side go through each period, and then from one to another."""
    period, taken = _period(getattr(pair, name)), 1
    for step, extent in sorted((getattr(digit, STEPS[name]), digit.extent) for digit in pair.digits or ()):
        if period > 1 and 0 < step < period and step == taken:
            taken *= extent
        elif period > 1 and (step < 0 or step % period):
            return False
    return taken == period


def _period(side: Side) -> int:
    """Addresses after which the swizzles of a side repeat."""
    return max((1 << ends(it.source | it.target)[1] for it in side.swizzles if it.bits), default=1)


def move_periods(source: Array, target: Array, pair: Pair) -> None:
    """Move a pair of whole periods between words; see `of_periods`."""
    digits = sorted(pair.digits or (), key=lambda digit: -abs(digit.write))
    read = _Periods.of(source, pair.source, digits, "read")
    write = _Periods.of(target, pair.target, digits, "write")
    boxes = blocks_within(read.plain, write.plain, {*read.inner, *write.inner})
    in_threads(_Work(read, write), boxes, prod(digit.extent for digit in digits) * source.itemsize)


@dataclass(frozen=True)
class _Periods:
    """A storage by the digits that go from period to period, then by the words of a period."""

    plain: Array
    """By all digits, as if nothing were swizzled."""

    inner: dict[int, int]
    """The digits that go through a period, and their steps in bytes."""

    periods: Array
    swizzles: tuple[Swizzle, ...]

    @staticmethod
    def of(array: Array, side: Side, digits: list[Digit], step: str) -> _Periods:
        words, unit, period = array[side.start + side.outer :], array.itemsize, _period(side)
        steps = [getattr(digit, step) * unit for digit in digits]
        inner = {place: step for place, step in enumerate(steps) if 0 < step < period * unit}
        outer = [place for place in range(len(digits)) if place not in inner]
        return _Periods(
            strided(words, [digit.extent for digit in digits], steps),
            inner,
            strided(
                words, [*(digits[at].extent for at in outer), period], [*(steps[at] for at in outer), unit]
            ),
            side.swizzles,
        )

    def within(self, box: Box) -> Array:
        """The periods of a block."""
        return self.periods[tuple(part for place, part in enumerate(box) if place not in self.inner)]

    def by_digits(self, periods: Array, shape: tuple[int, ...]) -> Array:
        """A block of periods in plain order by all digits."""
        outer = iter(periods.strides)
        steps = [self.inner[at] if at in self.inner else next(outer) for at in range(len(shape))]
        return strided(periods, shape, steps)

    def ordered(self, periods: Array, back: bool) -> Array:
        """Periods that are swizzled in plain order, or back."""
        unit = periods.itemsize
        together, order = _order(self.swizzles, periods.shape[-1], max(WORDS) // 8 // unit, back)
        words = periods.view(WORDS[8 * unit * together])
        taken: Array = words.take(order, -1, mode="wrap")
        return taken.view(periods.dtype)


@lru_cache(maxsize=64)
def _order(swizzles: tuple[Swizzle, ...], period: int, most: int, back: bool) -> tuple[int, Any]:
    """How many elements stay together, and the order of such words in a period."""
    together = min(most, *(1 << ends(it.source | it.target)[0] for it in swizzles if it.bits))
    places = list(range(0, period, together))
    for swizzle in reversed(swizzles):
        places = [swizzle(place) for place in places]
    order = np.array(places) // together
    return together, np.argsort(order) if back else order


@dataclass(frozen=True)
class _Work:
    """Blocks read in plain order, and written from it."""

    source: _Periods
    target: _Periods

    def __call__(self, boxes: Iterable[Box]) -> None:
        apart: dict[tuple[int, ...], Callable[[Array], Array]] = {}
        for box in boxes:
            given, taken = self.source.plain[box], self.target.plain[box]
            if self.source.inner:
                plain = self.source.ordered(self.source.within(box), back=False)
                given = self.source.by_digits(plain, given.shape)
            if self.target.inner:
                periods = self.target.within(box)
                held = np.empty(periods.shape, periods.dtype)
                taken = self.target.by_digits(held, given.shape)
            if given.shape not in apart:
                apart[given.shape] = kept_apart(given, taken)
            assign(apart[given.shape](given), taken)
            if self.target.inner:
                periods[...] = self.target.ordered(held, back=True)
