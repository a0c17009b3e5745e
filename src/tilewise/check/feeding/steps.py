"""The address of each step from the first one: a number to add, and a number to XOR.

Both count from the origin of the swizzle, the tile, whose address is added last. So one sum is right for a
tile at any address that is aligned for the instruction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from tilewise.check.feeding.forms import Fill, Part, Step
from tilewise.check.operand import OPERANDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.check.feeding.question import Feed

WITHIN = "r"
"""The name of the counter of one instruction's loads."""

DIRECTIONS = {name: (down.lower(), along.lower()) for name, (down, along) in OPERANDS.items()}
"""{operand: the counters of its instructions, down the rows and along the columns}."""


@dataclass(frozen=True, slots=True)
class Way:
    """The steps in one direction: one number for each, all added or all XORed."""

    name: str
    """r, where one instruction takes several loads; else the mode: m, n or k."""
    flips: bool
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Stepping:
    """The numbers that lead from the first address of a lane to those of all steps.

    postcondition  for every lane, and every number of each way, the step of these numbers is at
                   tile + (first ^ each that flips) + each that does not
    """

    ways: tuple[Way, ...]
    """The fastest first."""
    function: str
    """The name of the function that gives the first address."""
    from_zero: bool
    """True if addresses count from address 0, and no tile is added."""

    def __str__(self) -> str:
        return address_text(
            f"{self.function}(lane)",
            [way.name for way in self.ways if way.flips],
            [way.name for way in self.ways if not way.flips],
            self.from_zero,
        )

    def terms(self) -> Iterator[tuple[int, int]]:
        """Yield (the XOR, the sum) of the numbers of every step."""
        slowest_first = self.ways[::-1]
        for numbers in product(*(way.numbers for way in slowest_first)):
            flipped = added = 0
            for way, number in zip(slowest_first, numbers, strict=True):
                if way.flips:
                    flipped ^= number
                else:
                    added += number
            yield flipped, added


def address_text(first: str, flipped: Sequence[object], added: Sequence[object], from_zero: bool) -> str:
    """Return an address from the first one of a lane, in words that C++ reads too.

    >>> address_text("first", [32], [2048], False), address_text("first", [], [64], True)
    ('tile + (first ^ 32) + 2048', 'first + 64')
    """
    text = " ^ ".join(map(str, (first, *flipped)))
    inner = f"({text})" if flipped and (added or not from_zero) else text
    return " + ".join([*([] if from_zero else ["tile"]), inner, *map(str, added)]).replace("+ -", "- ")


def from_zero(found: Feed) -> bool:
    """Return True if the addresses of an answer count from address 0: then so does its swizzle."""
    return found.pattern == "address"


def from_the_tile(found: Feed) -> Fill:
    """Return the fill of an answer, with addresses that count from the origin of its swizzle.

    >>> from tilewise import S
    >>> from tilewise.check.feeding.question import feed
    >>> found = feed(S[(16, 16) : (16, 1)], operand="A", shape="m16n8k16", dtype="f16", base=1024)
    >>> print(found.addresses, from_the_tile(found).addresses)
    S[(2, 16) : (16, 32)] + 1024 S[(2, 16) : (16, 32)]
    """
    tile = found.fill.tile
    return replace(found.fill, tile=replace(tile, cells=replace(tile.cells, base=0)))


def stepping(found: Feed) -> Stepping | None:
    """Return the steps of an answer from the first, by one number a direction, or None.

    >>> from tilewise import S, Swizzle
    >>> from tilewise.check.feeding.question import feed
    >>> tile = Swizzle(3, 3, 3) @ S[(64, 64) : (64, 1)]
    >>> found = stepping(feed(tile, operand="A", shape="m16n8k16", dtype="f16"))
    >>> print(found, *((way.name, way.numbers) for way in found.ways))
    tile + (a_address(lane) ^ k) + m ('k', (0, 32, 64, 96)) ('m', (0, 2048, 4096, 6144))
    """
    choices = []
    for name, own in _directions(found).items():
        lines = [step.add for step in own], [step.xor for step in own]
        every = [[number for number in line if number is not None] for line in lines]
        choices.append(
            [Way(name, bool(x), tuple(line)) for x, line in enumerate(every) if len(line) == len(own)]
        )
    several = sorted(product(*choices), key=lambda ways: sum(way.flips for way in ways))
    table = from_the_tile(found).table if several else []
    for ways in several:
        how = Stepping(ways, f"{found.operand.lower()}_address", from_zero(found))
        if all(
            (first ^ flipped) + added == at
            for (flipped, added), there in zip(how.terms(), table, strict=True)
            for first, at in zip(table[0], there, strict=True)
        ):
            return how
    return None


def terms(found: Feed) -> list[tuple[int, int] | None]:
    """Return (flipped, added) of every step: all lanes are at (first ^ flipped) + added; None where they are
    not.

    >>> from tilewise import S, Swizzle
    >>> from tilewise.check.feeding.question import feed
    >>> terms(feed(Swizzle(2, 3, 3) @ S[(32, 32) : (32, 1)], operand="A", shape="m16n8k16", dtype="f16"))
    [(0, 0), (32, 0), (0, 1024), (32, 1024)]
    """
    how = stepping(found)
    if how is not None:
        return [*how.terms()]
    return [
        (0, step.add) if step.add is not None else None if step.xor is None else (step.xor, 0)
        for step in found.steps
    ]


def _directions(found: Feed) -> dict[str, tuple[Step, ...]]:
    """Return the steps in each direction in which there are several, from the first one on, the fastest
    first."""
    down, along = DIRECTIONS[found.operand]
    directions, stride = {}, 1
    for name, counts in ((WITHIN, "byte"), (along, "column"), (down, "row")):
        many = prod(digit.extent for digit in found.fill.left if digit.counts == counts)
        if many > 1:
            directions[name] = found.steps[: stride * many : stride]
        stride *= many
    return directions


def firsts(found: Feed, way: Way) -> list[int]:
    """Return the first instruction, along the mode of a way, that each of its numbers feeds."""
    down = way.name == DIRECTIONS[found.operand][0]
    return [step.row if down else step.column for step in _directions(found)[way.name]]


# -- words ---------------------------------------------------------------------------------------------


def elements(found: Feed, part: Part) -> str:
    """Return the elements in a part of a lane's registers, as the document names them.

    >>> from tilewise import S
    >>> from tilewise.check.feeding.question import feed
    >>> found = feed(S[(16, 16) : (16, 1)], operand="B", shape="m16n8k16", dtype="f16")
    >>> [elements(found, part) for part in found.steps[0].parts]
    ['b0-b1', 'b2-b3', 'b0-b1 at (1, 0)', 'b2-b3 at (1, 0)']
    """
    first, many = part.byte * 8 // found.bits, max(1, part.bytes * 8 // found.bits)
    letter = found.operand.lower()
    name = f"{letter}{first}" + (f"-{letter}{first + many - 1}" if many > 1 else "")
    return name + (f" at ({part.row}, {part.column})" if part.row or part.column else "")


def feeds(found: Feed, step: Step) -> str:
    """Return the instructions that a step feeds, with their elements.

    >>> from tilewise import S
    >>> from tilewise.check.feeding.question import feed
    >>> found = feed(S[(16, 16) : (16, 1)], operand="B", shape="m16n8k16", dtype="f16")
    >>> print(feeds(found, found.steps[0]))
    (0, 0): b0-b1, b2-b3; (1, 0): b0-b1, b2-b3
    """
    said: dict[tuple[int, int], list[str]] = {}
    for part in step.parts:
        said.setdefault((part.row, part.column), []).append(elements(found, replace(part, row=0, column=0)))
    return "; ".join(f"{where}: {', '.join(names)}" for where, names in said.items())
