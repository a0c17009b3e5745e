"""What a warp moves between shared memory and its registers, one instruction after another, and from where.

`check.feeding` finds the form and the digits that its registers are. Here its digits become the arguments
of one function of addresses, and its steps lines of a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from math import prod
from operator import add, or_, xor

from tilewise.check.feeding import Feed, feed
from tilewise.check.feeding.forms import Digit, Fill, Part, Vector, places
from tilewise.check.match import Mismatch
from tilewise.core.bits import affine_map
from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.core.layout import Layout
from tilewise.emit.mma.warps import Unshared
from tilewise.emit.parts.words import call
from tilewise.emit.source import Source, source_of
from tilewise.hardware.architectures import Architecture
from tilewise.hardware.mma.instructions import Shape

LANE = "lane"
COUNTING = ("s", "c", "i", "p")
"""Arguments that count the loads of a lane."""


@dataclass(frozen=True, slots=True)
class Move:
    """One load or store: what it moves, and the arguments of its address that are numbers."""

    parts: tuple[Part, ...]
    at: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Step:
    """What a digit of two adds to an address, or flips in it."""

    by: int
    flips: bool


class Terms:
    """What is added to an address, or what it is XORed with: numbers, and products of variables."""

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._of: dict[str, list[tuple[int, int, int]]] = {}
        self._counts: dict[str, int] = {}

    def put(self, by: int, given: str, place: int, extent: int, count: int) -> None:
        """`by` times the digit of `given` with that place value and extent; `given` is one of `count`."""
        if given.isdigit():
            self._numbers += [by] * (int(given) // place % extent)
        else:
            self._of.setdefault(given, []).append((by, place, extent))
            self._counts[given] = count

    def texts(self, both: Callable[[int, int], int]) -> Iterator[str]:
        """The terms in C++; those that are numbers as one."""
        for variable, digits in self._of.items():
            unit, count = digits[0][0] // digits[0][1], self._counts[variable]
            whole = prod(extent for _, _, extent in digits) == count
            if whole and all(by == unit * place for by, place, _ in digits):
                yield _product(unit, variable)
                continue
            for by, place, extent in digits:
                digit = f"{variable} / {place}" if place > 1 else variable
                yield _product(by, f"{digit} % {extent}" if place * extent < count else digit)
        number = reduce(both, self._numbers, 0)
        if number:
            yield str(number)


def _apart(term: str) -> str:
    """A term beside others in a XOR: digits of a variable stand in parentheses."""
    return f"({term})" if "/" in term or "%" in term else term


def _product(by: int, word: str) -> str:
    if by < 0:
        return f"-({word}) * {-by}" if " " in word else f"-{word} * {-by}"
    return f"{word} * {by}" if by > 1 else f"{word}"


@dataclass(frozen=True)
class Moves:
    """All that a warp moves of a tile in one turn of the loop along K, which is `span` instructions long.

    The address is a function of the place of the warp; of `s`, the turn; of `c`, `i` and `p`, which load of
    the columns, the rows and the bytes of a lane; and of the lane.
    """

    fill: Fill
    span: int
    warps: tuple[str, str] = ("down", "along")
    """Arguments for the warps that share its rows, and its columns: those of B are `along`."""

    @property
    def form(self) -> object:
        """What moves it: a form of ldmatrix or stmatrix, or a vector."""
        return self.fill.form

    @property
    def vector(self) -> Vector | None:
        """The vector, where it is one."""
        return self.fill.form if isinstance(self.fill.form, Vector) else None

    @cached_property
    def _digits(self) -> dict[str, tuple[Digit, ...]]:
        """The digits of each argument, the fastest first."""
        left, warps = self.fill.left, self.fill.tile.warps
        return {
            self.warps[0]: tuple(digit for digit in warps if digit.counts == "warp row"),
            self.warps[1]: tuple(digit for digit in warps if digit.counts == "warp column"),
            "s": tuple(digit for digit in left if digit.counts == "column" and digit.weight >= self.span),
            "i": tuple(digit for digit in left if digit.counts == "row"),
            "c": tuple(digit for digit in left if digit.counts == "column" and digit.weight < self.span),
            "p": tuple(digit for digit in left if digit.counts == "byte"),
            LANE: self.fill.lanes,
        }

    @cached_property
    def extents(self) -> dict[str, int]:
        """How many numbers each argument has; those of one number are none."""
        counts = {name: prod(digit.extent for digit in own) for name, own in self._digits.items()}
        return {name: count for name, count in counts.items() if count > 1 or name == LANE}

    @cached_property
    def place(self) -> Layout:
        """The byte at which a lane's part begins, from the start of the tile."""
        return self._place(list(self.extents))

    def _place(self, names: Sequence[str]) -> Layout:
        digits = [digit for name in names for digit in reversed(self._digits[name])]
        return self.fill.tile.layout(digits).group(*(self.extents[name] for name in names)).coalesce(True)

    @cached_property
    def _steps(self) -> dict[Digit, Step] | None:
        """What each digit that counts loads does to an address; None where that is no one number."""
        tile = self.fill.tile
        counting = [digit for name in COUNTING for digit in self._digits.get(name, ())]
        if not tile.swizzles:
            return {digit: Step(digit.stride, False) for digit in counting}
        found = affine_map(tile.layout(tile.digits))
        if found is None or any(digit.extent != 2 for digit in counting):
            return None
        columns = iter(column for (column,) in found.columns)
        flips = {
            digit: [next(columns) for _ in range(digit.extent.bit_length() - 1)]
            for digit in reversed(tile.digits)
        }
        taken = {digit: reduce(or_, flips[digit], 0) for digit in tile.digits}
        steps = {}
        for digit in counting:
            others = (bits for other, bits in taken.items() if other is not digit)
            steps[digit] = Step(taken[digit], bool(taken[digit] & reduce(or_, others, found.origin[0])))
        return steps

    def source(self, name: str) -> Source:
        """The address of a warp's lane as a function: of its first load, where others follow from that."""
        return source_of(self.first_place, name=name, arguments=self.given)

    @property
    def given(self) -> list[str]:
        """The arguments of that function."""
        return [own for own in self.extents if self._steps is None or own not in COUNTING]

    @property
    def first_place(self) -> Layout:
        """The byte of the first load, or of all where they do not follow from it."""
        return self._place(self.given)

    def address(self, name: str, start: str, numbers: dict[str, str]) -> str:
        """The address of one load in C++, given the arguments as numbers or as variables.

        `start` names the address of the first load.
        """
        if self._steps is None:
            return call(self.source(name), **{own: own for own in self.extents} | numbers)
        added, flipped = Terms(), Terms()
        for own in COUNTING:
            place = 1
            for digit in self._digits[own] if own in self.extents else ():
                step = self._steps[digit]
                terms = flipped if step.flips else added
                terms.put(step.by, numbers.get(own, own), place, digit.extent, self.extents[own])
                place *= digit.extent
        text = " ^ ".join([start, *map(_apart, flipped.texts(xor))])
        total = " + ".join([f"({text})" if text != start else start, *added.texts(add)])
        return total.replace("+ -", "- ")

    def first(self, name: str) -> str:
        """The call that gives the address of the first load."""
        return "" if self._steps is None else call(self.source(name), **{own: own for own in self.extents})

    def all(self) -> Iterator[Move]:
        """The loads or stores of one turn; columns count from its first."""
        names = [name for name in "icp" if name in self.extents]
        moved = places(self.fill.moved)
        held = {name: places(self._digits[name]) for name in names}
        for numbers in product(*(range(self.extents[name]) for name in names)):
            at = tuple(zip(names, numbers, strict=True))
            row, column, byte = (sum(held[name][number][way] for name, number in at) for way in range(3))
            parts = (Part(row + r, column + c, byte + b, self.fill.part) for r, c, b in moved)
            yield Move(tuple(parts), at)

    @property
    def in_order(self) -> bool:
        """Whether the bytes of a lane come one after another, so that loops can count them."""
        run = [*self.fill.moved, *self._digits["p"]]
        step = self.fill.part
        for digit in run:
            if digit.counts != "byte" or digit.weight != step:
                return False
            step *= digit.extent
        return True


def span_of(fills: Iterable[Fill], columns: int) -> int:
    """Instructions along K that a turn of the loop is long: what one load brings of them belongs together."""
    span = 1
    fills = tuple(fills)
    for fill in fills:
        for digit in fill.moved:
            if digit.counts == "column":
                span = max(span, digit.weight * digit.extent)
    steps = [digit for fill in fills for digit in fill.tile.own_steps if digit.counts == "column"]
    whole = all(digit.weight >= span or digit.weight * digit.extent <= span for digit in steps)
    return span if whole and columns % span == 0 else columns


def fed(
    name: str,
    tile: Layout,
    shape: Shape,
    dtype: DType,
    warps: tuple[int, int],
    arch: Architecture,
    form: str | None = None,
) -> Feed:
    """How the warps of a block move a tile, or a refusal that says why they do not."""
    found = feed(tile, operand=name, shape=shape, dtype=dtype, arch=arch, form=form, warps=warps)
    if isinstance(found, Mismatch):
        raise _not_moved(name, found)
    assert found.fill is not None
    return found


def _not_moved(name: str, found: Mismatch) -> Refused:
    first = found.reasons[0]
    if first.rule == "warps":
        return Unshared(
            "TW605", f"the layout of {name}: {first.message}", witness=first.witness, hint=first.hint
        )
    near = found.nearest
    return Refused(
        "TW605",
        f"no warp moves this layout of {name}: {first.message}",
        witness={"rule": first.rule, "witness": first.witness},
        hint=f"the nearest that it moves: {near[0].layout}" if near else first.hint,
    )
