"""The function from a place to the index of the element that lives there.

Digits are read off an axis from the largest step down: what is left after a digit is smaller than one
step of it. That reads a place wherever every step is larger than all smaller ones together can move; an
axis that is not so may become so once digits that move it are known from another axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilewise.core.canonical import merged_replica, merged_shard
from tilewise.core.errors import Refused
from tilewise.core.facts import plain_extremes
from tilewise.core.shapes import extents_of
from tilewise.core.swizzles import period_of
from tilewise.emit.bits import Bits, image_of
from tilewise.emit.expressions import (
    bits_between,
    constant,
    is_power,
    known_variable,
    linear,
    lowest_bit,
    moved,
    quotient,
    remainder,
    variable,
)
from tilewise.emit.forward import modes_of, range_on
from tilewise.emit.functions import Function, Index, Range, listed
from tilewise.emit.names import Names, chosen, coordinate_names
from tilewise.emit.readings import Reading, candidates, cheapest_together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.axes import Axis
    from tilewise.core.layout import Layout
    from tilewise.core.vectors import Vector


@dataclass(frozen=True, slots=True)
class _Digit:
    """A digit to be found: what it moves, and what every result gains by a step of it."""

    extent: int
    stride: Vector
    gains: tuple[int, ...]


def index_function(layout: Layout, name: str, index: Index, arguments: Sequence[str] = ()) -> Function:
    """The index of the element at a place: flat, or one coordinate a mode.

        requires       the place holds an element
        postcondition  index_of(place) == index for every place of every index
        refused        TW505 where two elements share a place, or digits cannot be read one by one

    >>> from tilewise import S
    >>> function = index_function(S[(8, 64) : (64, 1)], "index_of", Index())
    >>> [str(argument) for argument in function.arguments], [str(index) for index in function.results]
    (['m in 0..511'], ['i in 0..7', 'j in 0..63'])
    """
    index = index if layout.shape else Index(True, index.leftmost_fastest)
    extents = [layout.size] if index.flat else list(extents_of(layout.shape))
    names = Names()
    spelled = [names.free(own) for own in chosen([axis.name for axis in layout.axes], arguments)]
    named = dict(zip(layout.axes, spelled, strict=True))
    search = _Search(layout, index, len(extents), named)
    search.run()
    results = ["x"] if index.flat else coordinate_names(len(extents))
    given = tuple(range_on(layout, axis, own) for axis, own in zip(layout.axes, spelled, strict=True))
    return Function(
        name=name,
        arguments=given,
        results=tuple(Range(own, 0, extent - 1) for own, extent in zip(results, extents, strict=True)),
        expressions=cheapest_together(
            [candidates(search.readings, i, search.added[i]) for i in range(len(extents))]
        ),
        layout=layout,
        sentences=_sentences(layout, name, given, results, index),
    )


def _sentences(
    layout: Layout, name: str, given: tuple[Range, ...], results: list[str], index: Index
) -> tuple[str, ...]:
    found = "the flat index" if index.flat else f"the index {listed(results)}"
    order = f" ({index.order})" if index.flat else ""
    counts = f"; places are counted in {layout.unit}s" if layout.unit != "element" else ""
    call = f"{name}({', '.join(own.name for own in given)})"
    sentence = f"{call}: {found} of the element that lives there{order}{counts}."
    if _is_full(layout, given):
        return (sentence,)
    return sentence, "Of a place that holds nothing it says nothing of use."


def _is_full(layout: Layout, given: Iterable[Range]) -> bool:
    """Whether every place within the ranges is known to hold an element."""
    places = 1
    for own in given:
        if own.low is None or own.high is None:
            return False
        places *= own.high - own.low + 1
    return not layout.replica and places == layout.size


def _digits(layout: Layout, index: Index) -> list[_Digit]:
    """The digits of the index, then those of the copies, by which nothing is gained."""
    modes = [index.counted(layout).shard] if index.flat else list(modes_of(layout))
    digits = []
    for position, mode in enumerate(modes):
        weight = 1
        for it in reversed(merged_shard(mode)):
            gains = tuple(weight if i == position else 0 for i in range(len(modes)))
            digits.append(_Digit(it.extent, it.stride, gains))
            weight *= it.extent
    nothing = (0,) * len(modes)
    return digits + [_Digit(it.extent, it.stride, nothing) for it in merged_replica(layout.replica)[0]]


class _Search:
    """Digits to be found, axis by axis, and the readings that find them.

    A reading serves the results and the axes alike: the position after the last result is what the
    digits found so far add to the first axis, and so on.
    """

    def __init__(self, layout: Layout, index: Index, results: int, names: dict[Axis, str]) -> None:
        self.layout, self.index, self.names = layout, index, names
        self.unknown = _digits(layout, index)
        self.results = results
        self.added = [0] * (self.results + len(layout.axes))
        self.start = merged_replica(layout.replica)[1]
        self.readings: list[Reading] = []

    def run(self) -> None:
        """Find every digit, or refuse."""
        while self.unknown:
            readable = (axis for axis in self.layout.axes if self._is_readable(axis))
            axis = next(readable, None)
            if axis is None:
                raise self._refusal()
            self._read(axis)

    def _moving(self, axis: Axis) -> list[_Digit]:
        """The unknown digits that move an axis, the largest step first."""
        moving = [digit for digit in self.unknown if digit.stride[axis]]
        return sorted(moving, key=lambda digit: abs(digit.stride[axis]), reverse=True)

    def _is_readable(self, axis: Axis) -> bool:
        reach = 0
        for digit in reversed(moving := self._moving(axis)):
            step = abs(digit.stride[axis])
            if step <= reach:
                return False
            reach += step * (digit.extent - 1)
        return bool(moving)

    def _refusal(self) -> Refused:
        verdict = self.layout.injective
        if verdict.answer is False:
            reason = f"{verdict.reason}, and the place alone does not say which is asked for"
            first, second, place = verdict.witness
            shared = self.index.of(self.layout, first), self.index.of(self.layout, second), place
            return Refused("TW505", reason, witness=shared)
        axis = next(axis for axis in self.layout.axes if self._moving(axis))
        steps = listed([str(digit.stride) for digit in self._moving(axis)])
        return Refused(
            "TW505",
            f"the digits that step by {steps} cannot be read off {axis} one by one",
            witness=[[digit.extent, digit.stride[axis]] for digit in self._moving(axis)],
            hint="each step must be larger than all smaller ones together can move; "
            "`who` searches for the index of a place",
        )

    # -- one axis ----------------------------------------------------------------------------------

    def _read(self, axis: Axis) -> None:
        digits = self._moving(axis)
        self.unknown = [digit for digit in self.unknown if not digit.stride[axis]]
        value = self._value(axis, digits)
        while digits:
            block = _divisible(digits, axis)
            step = abs(block[-1].stride[axis])
            digits = digits[len(block) :]
            self._add_reading(_quotient(value, step), block, axis)
            value = _remainder(value, step)

    def _add_reading(self, value: Bits, block: list[_Digit], axis: Axis) -> None:
        read = []
        radix = block[0].extent
        for i, digit in enumerate(block):
            if i:
                radix = abs(block[i - 1].stride[axis] // digit.stride[axis])
            gains = (*digit.gains, *self.layout.on_axes(digit.stride))
            if digit.stride[axis] < 0:  # what is read counts down from the last
                self.added = [a + g * (digit.extent - 1) for a, g in zip(self.added, gains, strict=True)]
                gains = tuple(-gain for gain in gains)
            read.append((radix, gains))
        self.readings.append(Reading(value, tuple(read)))

    def _value(self, axis: Axis, digits: list[_Digit]) -> Bits:
        """The sum of |step| * digit over the unknown digits of an axis, as it is read off the place."""
        layout = self.layout
        position = self.results + layout.axes.index(axis)
        down = sum(min(0, digit.stride[axis] * (digit.extent - 1)) for digit in digits)
        base = layout.offset[axis] + self.start[axis] + down
        (known,) = cheapest_together([candidates(self.readings, position, self.added[position])])
        reach, bits = _reach(digits, axis)
        place = self._before_swizzle(axis)
        if known == constant(0) and not base & bits:
            return place.kept(bits)
        value = linear([(1, place.expression), (-1, known)], -base, (0, reach))
        return Bits({(value, 0): value.bits & bits})

    def _before_swizzle(self, axis: Axis) -> Bits:
        """The place on an axis before the swizzles, as far as the layout's elements need it."""
        layout = self.layout
        name = self.names[axis]
        low, high = plain_extremes(layout, axis.name)
        bits = self._bits_on(axis)
        if axis != layout.swizzled_axis:
            return Bits.of(known_variable(name, low, high, bits))
        period = period_of(layout.swizzles)
        low, high, outer = low - low % period, high | (period - 1), layout.outer[axis]
        if outer:
            place = variable(name, low + outer, high + outer)
            return Bits.of(linear([(1, place)], -outer)).swizzled(layout.swizzles[::-1])
        place = known_variable(name, low, high, image_of(bits, layout.swizzles))
        return Bits.of(place).swizzled(layout.swizzles[::-1])

    def _bits_on(self, axis: Axis) -> int:
        """The bits that places on an axis can have before the swizzles."""
        layout = self.layout
        low, high = plain_extremes(layout, axis.name)
        moving = [
            _Digit(it.extent, it.stride, ()) for it in (*layout.shard, *layout.replica) if it.stride[axis]
        ]
        _, bits = _reach(moving, axis)
        reaches = [digit.stride[axis] * (digit.extent - 1) for digit in moving]
        base = layout.offset[axis] + sum(min(0, reach) for reach in reaches)
        return (bits | base if not bits & base else -1) & bits_between(low, high)


def _reach(digits: list[_Digit], axis: Axis) -> tuple[int, int]:
    """(the largest, the bits) of the sum of |step| * digit."""
    reach, bits, lowest, carries = 0, 0, 0, False
    for digit in digits:
        step = abs(digit.stride[axis])
        largest = step * (digit.extent - 1)
        own = bits_between(0, largest) & moved(-1, lowest_bit(step))
        carries = carries or bool(bits & own)
        reach, bits, lowest = reach + largest, bits | own, lowest | step
    if carries:
        bits = bits_between(0, reach) & moved(-1, lowest_bit(lowest))
    return reach, bits


def _divisible(digits: list[_Digit], axis: Axis) -> list[_Digit]:
    """The first digits, as long as each step divides the one before it."""
    count = 1
    while count < len(digits) and not digits[count - 1].stride[axis] % digits[count].stride[axis]:
        count += 1
    return digits[:count]


def _quotient(value: Bits, by: int) -> Bits:
    if is_power(by):
        return value.moved(-lowest_bit(by))
    return Bits.of(quotient(value.expression, by))


def _remainder(value: Bits, by: int) -> Bits:
    if is_power(by):
        return value.kept(by - 1)
    return Bits.of(remainder(value.expression, by))
