"""Moves of a warp between shared memory and its registers, one instruction after another.

`check.feeding` finds the form, and the digits of its registers. Here its digits become the arguments
of one function of addresses, and its steps become lines of a kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from math import prod
from operator import or_

from tilewise.check.feeding.forms import Digit, Fill, Part, Vector, places
from tilewise.codegen.mma.operands import WarpTile
from tilewise.codegen.parts.template import call
from tilewise.codegen.source import Source, source_of
from tilewise.core.bits import affine_map
from tilewise.core.layout import Layout

LANE = "lane"
COUNTING = ("s", "c", "i", "p")
"""Arguments that count the loads of a lane."""

WARPS = {"A": ("down", ""), "B": ("along", ""), "D": ("down", "along")}
"""{operand: arguments for the warps that share its rows, and its columns}."""


@dataclass(frozen=True, slots=True)
class AddressTerm:
    """The number that an argument's digit adds to an address, or flips in it; its place value, its extent."""

    by: int
    flips: bool
    place: int
    extent: int


@dataclass(frozen=True)
class Moves:
    """All moves of a warp for a tile in one turn of the loop along K, which is `span` instructions long.

    The address is a function of the place of the warp; of `s`, the turn; of `c`, `i` and `p`, which load of
    the columns, the rows and the bytes of a lane; and of the lane.
    """

    own: WarpTile
    span: int

    @property
    def fill(self) -> Fill:
        """Return the instructions that move it."""
        return self.own.fill

    @property
    def form(self) -> object:
        """Return the form of ldmatrix or stmatrix, or the vector, that moves it."""
        return self.fill.form

    @property
    def vector(self) -> Vector | None:
        """Return the vector, or None for matrices."""
        return self.fill.form if isinstance(self.fill.form, Vector) else None

    @property
    def part_bits(self) -> int:
        """Return the bits that stay together in a register."""
        return self.fill.part * 8

    @property
    def whole(self) -> bool:
        """Return True if these bits are the whole register."""
        return self.part_bits == self.own.register_bits

    @cached_property
    def digits(self) -> dict[str, list[Digit]]:
        """Return the digits of each argument, the fastest first."""
        down, along = WARPS[self.own.name]
        digits: dict[str, list[Digit]] = {down: [], along: [], "s": [], "i": [], "c": [], "p": []}
        arguments = {"warp row": down, "warp column": along, "row": "i", "byte": "p"}
        for digit in (*self.fill.tile.warps, *self.fill.left):
            column = "s" if digit.weight >= self.span else "c"
            digits[arguments.get(digit.counts, column)].append(digit)
        return digits | {LANE: [*self.fill.lanes]}

    @cached_property
    def extents(self) -> dict[str, int]:
        """Return the count of numbers of each argument; arguments of a single number are left out."""
        counts = {name: prod(digit.extent for digit in own) for name, own in self.digits.items()}
        return {name: count for name, count in counts.items() if count > 1 or name == LANE}

    @property
    def loads_of_bytes(self) -> int:
        """Return the number of loads or stores for the bytes of a lane in one instruction."""
        return self.extents.get("p", 1)

    @property
    def place(self) -> Layout:
        """Return the byte at which a lane's part begins, from the start of the tile."""
        return self.place_by(list(self.extents))

    def place_by(self, names: Sequence[str]) -> Layout:
        """Return that byte by some of the arguments; the others are 0."""
        digits = [digit for name in names for digit in reversed(self.digits[name])]
        return self.fill.tile.layout(digits).group(*(self.extents[name] for name in names)).coalesce(True)

    @cached_property
    def _steps(self) -> dict[str, list[AddressTerm]] | None:
        """Return the terms of each argument that counts loads; None if a digit changes addresses unevenly."""
        tile = self.fill.tile
        flips: dict[Digit, int] = {}
        origin = 0
        if tile.cells.chain:
            linear = affine_map(tile.layout(tile.digits))
            if linear is None:
                return None
            flips, (origin,) = dict(zip(reversed(tile.digits), linear.flips, strict=True)), linear.origin
        steps: dict[str, list[AddressTerm]] = {}
        for own in COUNTING:
            place, steps[own] = 1, []
            for digit in self.digits[own]:
                by = flips.get(digit, digit.stride)
                others = reduce(or_, (bits for other, bits in flips.items() if other is not digit), origin)
                steps[own].append(
                    AddressTerm(by, bool(tile.cells.chain and by & others), place, digit.extent)
                )
                place *= digit.extent
        return steps

    @property
    def given(self) -> list[str]:
        """Return the arguments of the function of addresses."""
        return [own for own in self.extents if self._steps is None or own not in COUNTING]

    @cached_property
    def source(self) -> Source:
        """Return the address of a warp's lane as a function: of its first load if others follow from that."""
        return source_of(self.place_by(self.given), name=f"{self.own.letter}_at", arguments=self.given)

    @property
    def first(self) -> str:
        """Return `NAME = VALUE` of the first load's address; empty if no other load follows from it."""
        if self._steps is None:
            return ""
        return f"{self.own.letter}_first = {call(self.source, **{own: own for own in self.given})}"

    def address(self, numbers: dict[str, str]) -> str:
        """Return the address of one load in C++, given the arguments as numbers or as variables."""
        if self._steps is None:
            return call(self.source, **{own: own for own in self.extents} | numbers)
        sides = []
        for flips in (True, False):
            words, number = [], 0
            for own in COUNTING:
                given, steps = (
                    numbers.get(own, own),
                    [step for step in self._steps[own] if step.flips == flips],
                )
                if not given.isdigit():
                    words += _products(given, self.extents.get(own, 1), steps)
                    continue
                for step in steps:
                    by = step.by * (int(given) // step.place % step.extent)
                    number = number ^ by if flips else number + by
            sides.append([*words, *([str(number)] if number else [])])
        flipped, added = sides
        apart = (f"({term})" if "%" in term or "/" in term else term for term in flipped)
        first = f"{self.own.letter}_first"
        start = f"({' ^ '.join([first, *apart])})" if flipped else first
        return " + ".join([start, *added]).replace("+ -", "- ")

    def all(self) -> Iterator[tuple[list[Part], dict[str, str]]]:
        """Yield the parts of each load or store of a turn, and the arguments of its address that are numbers.

        Columns count from the first column of the turn.
        """
        names = [name for name in "icp" if name in self.extents]
        numbers = product(*(range(self.extents[name]) for name in names))
        starts = places([digit for name in reversed(names) for digit in self.digits[name]])
        moved = places(self.fill.moved)
        for at, (row, column, byte) in zip(numbers, starts, strict=True):
            parts = [Part(row + r, column + c, byte + b, self.fill.part) for r, c, b in moved]
            yield parts, dict(zip(names, map(str, at), strict=True))

    @property
    def in_order(self) -> bool:
        """Return True if the bytes of a lane come one after another, so that loops can count them."""
        step = self.fill.part
        for digit in (*self.fill.moved, *self.digits["p"]):
            if digit.counts != "byte" or digit.weight != step:
                return False
            step *= digit.extent
        return True


def _products(word: str, count: int, steps: Sequence[AddressTerm]) -> list[str]:
    """Return products of a variable of `count` numbers: one of all of it, or one for each of its digits."""
    if steps and prod(step.extent for step in steps) == count:
        unit = steps[0].by // steps[0].place
        if all(step.by == unit * step.place for step in steps):
            return [_product(unit, word)]
    terms = []
    for step in steps:
        digit = f"{word} / {step.place}" if step.place > 1 else word
        is_slowest = step.place * step.extent >= count
        terms.append(_product(step.by, digit if is_slowest else f"{digit} % {step.extent}"))
    return terms


def _product(by: int, word: str) -> str:
    if by < 0:
        return f"-({word}) * {-by}" if " " in word else f"-{word} * {-by}"
    return f"{word} * {by}" if by > 1 else word


def span_of(fills: Sequence[Fill], columns: int) -> int:
    """Return the instructions along K in a turn of the loop: those whose parts come in one load."""
    moved = [digit for fill in fills for digit in fill.moved if digit.counts == "column"]
    span = max([1, *(digit.weight * digit.extent for digit in moved)])
    steps = [digit for fill in fills for digit in fill.tile.own_steps if digit.counts == "column"]
    whole = all(digit.weight >= span or digit.weight * digit.extent <= span for digit in steps)
    return span if whole and columns % span == 0 else columns
