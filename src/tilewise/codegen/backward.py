"""The function from a place to the index of the element that lives there.

Digits are read off an axis from the largest step down: the rest after a digit is smaller than one
step of it. A place can be read so if every step is larger than the reach of all smaller ones. Another
axis may become readable once digits that move it are known from the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from tilewise.codegen.bits import Diagonals, image_of
from tilewise.codegen.expressions import bits_between, constant, known_of_sum, linear, variable
from tilewise.codegen.forward import range_on
from tilewise.codegen.functions import Function, Index, Range, listed
from tilewise.codegen.names import FreeNames, chosen
from tilewise.codegen.readings import DigitReading, candidates, cheapest, cheapest_together
from tilewise.core.canonical import merged_replica, merged_shard
from tilewise.core.errors import Refused
from tilewise.core.facts import plain_extremes
from tilewise.core.swizzles import period_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.axes import Axis
    from tilewise.core.layout import Layout
    from tilewise.core.vectors import Vector


@dataclass(frozen=True, slots=True)
class _Unknown:
    """A digit to find: its extent, its steps on the axes, and its steps in every result."""

    extent: int
    stride: Vector
    gains: tuple[int, ...]


def index_function(layout: Layout, name: str, index: Index, arguments: Sequence[str] = ()) -> Function:
    """Return the index of the element at a place: flat, or one coordinate a mode.

        requires       the place holds an element
        postcondition  index_of(place) == index for every place of every index
        refused        TW505 where two elements share a place, or digits cannot be read one by one

    >>> from tilewise import S
    >>> function = index_function(S[(8, 64) : (64, 1)], "index_of", Index())
    >>> [str(argument) for argument in function.arguments], [str(index) for index in function.results]
    (['m in 0..511'], ['i in 0..7', 'j in 0..63'])
    """
    asked, index = index, index if layout.shape else Index(True, index.leftmost_fastest)
    names = FreeNames()
    spelled = [names.free(own) for own in chosen([axis.name for axis in layout.axes], arguments)]
    search = _Search(layout, index, spelled)
    search.run()
    given = tuple(range_on(layout, axis, own) for axis, own in zip(layout.axes, spelled, strict=True))
    results = index.names(layout)
    extents = (prod(it.extent for it in mode) for mode in index.modes(layout))
    ways = [candidates(search.readings, i, search.added[i]) for i in range(len(results))]
    order = f" ({index.order})" if index.flat else ""
    counts = f"; places are counted in {layout.unit}s" if layout.unit != "element" else ""
    what = "the flat index" if index.flat else f"the index {listed(results)}"
    call = f"{name}({', '.join(spelled)})"
    sentences = [f"{call}: {what} of the element that lives there{order}{counts}."]
    if not _is_full(layout, given):
        sentences.append("Of a place that holds nothing it says nothing of use.")
    found = tuple(Range(own, 0, extent - 1) for own, extent in zip(results, extents, strict=True))
    return Function(name, given, found, cheapest_together(ways), layout, asked, tuple(sentences), True)


def _is_full(layout: Layout, given: Iterable[Range]) -> bool:
    """Return True if every place within the ranges is known to hold an element."""
    places = 1
    for own in given:
        if own.low is None or own.high is None:
            return False
        places *= own.high - own.low + 1
    return not layout.replica and places == layout.size


class _Search:
    """Digits to find, axis by axis, and the readings that find them.

    A reading serves the results and the axes alike: the position after the last result is the sum that
    the digits found so far add to the first axis, and so on.
    """

    def __init__(self, layout: Layout, index: Index, names: Sequence[str]) -> None:
        self.layout, self.index, self.names = layout, index, names
        modes = index.modes(layout)
        self.results = len(modes)
        self.added = [0] * (self.results + len(layout.axes))
        self.readings: list[DigitReading] = []
        copies, self.start = merged_replica(layout.replica)
        self.unknown = []
        for position, mode in enumerate([*modes, copies]):
            weight = 1
            for it in reversed(merged_shard(tuple(mode)) if position < len(modes) else copies[::-1]):
                # copies add nothing to the index
                gains = tuple(weight if i == position else 0 for i in range(len(modes)))
                self.unknown.append(_Unknown(it.extent, it.stride, gains))
                weight *= it.extent

    def run(self) -> None:
        """Find every digit, or refuse."""
        while self.unknown:
            axis = next(filter(self._is_readable, self.layout.axes), None)
            if axis is None:
                raise self._refusal()
            self._read(axis)

    def _moving(self, axis: Axis) -> list[_Unknown]:
        """Return the unknown digits that move an axis, the largest step first."""
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
            reason = f"{verdict.reason}, and the place alone does not say which one to return"
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
        """Find the digits that move an axis, in blocks in which each step divides the one before it."""
        digits = self._moving(axis)
        self.unknown = [digit for digit in self.unknown if not digit.stride[axis]]
        value = self._value(axis, digits)
        while digits:
            block = [digits.pop(0)]
            while digits and not block[-1].stride[axis] % digits[0].stride[axis]:
                block.append(digits.pop(0))
            step = abs(block[-1].stride[axis])
            read, coarser = [], block[0].stride[axis] * block[0].extent
            for digit in block:
                gains = (*digit.gains, *self.layout.on_axes(digit.stride))
                if digit.stride[axis] < 0:  # the value counts down from the last
                    last = digit.extent - 1
                    self.added = [a + gain * last for a, gain in zip(self.added, gains, strict=True)]
                    gains = tuple(-gain for gain in gains)
                read.append((abs(coarser // digit.stride[axis]), gains))
                coarser = digit.stride[axis]
            self.readings.append(DigitReading(value.divided(step), tuple(read)))
            value = value.modulo(step)

    def _value(self, axis: Axis, digits: list[_Unknown]) -> Diagonals:
        """Return the sum of |step| * digit over the unknown digits of an axis, read off the place."""
        layout = self.layout
        position = self.results + layout.axes.index(axis)
        down = sum(min(0, digit.stride[axis] * (digit.extent - 1)) for digit in digits)
        base = layout.offset[axis] + self.start[axis] + down
        known = cheapest(candidates(self.readings, position, self.added[position]))
        reach, bits = _reach((digit.extent, digit.stride[axis]) for digit in digits)
        place = self._before_swizzle(axis)
        if known == constant(0) and not base & bits:
            return place.kept(bits)
        value = linear([(1, place.expression), (-1, known)], -base, (0, reach))
        return Diagonals({(value, 0): value.bits & bits})

    def _before_swizzle(self, axis: Axis) -> Diagonals:
        """Return the place on an axis before the swizzles, as far as the layout's elements need it."""
        layout = self.layout
        name = self.names[layout.axes.index(axis)]
        low, high = plain_extremes(layout, axis.name)
        iters = (*layout.shard, *layout.replica)
        _, bits = _reach((it.extent, it.stride[axis]) for it in iters if it.stride[axis])
        bits = (-1 if bits & low else bits | low) & bits_between(low, high)
        if axis != layout.swizzled_axis:
            return Diagonals.of(variable(name, low, high, bits))
        chain, period, outer = layout.swizzles, period_of(layout.swizzles), layout.outer[axis]
        low, high = low - low % period + outer, (high | (period - 1)) + outer
        place = variable(name, low, high) if outer else variable(name, low, high, image_of(bits, chain))
        return Diagonals.of(linear([(1, place)], -outer)).swizzled(chain[::-1])


def _reach(digits: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Return the largest value, and the bits, of the sum of |step| * digit."""
    _, reach, bits = known_of_sum((abs(step), variable("", 0, extent - 1)) for extent, step in digits)
    return reach, bits
