"""How the address of each step follows from the first one: what is added to it, and what it is XORed with.

Both count from where the swizzle does: from the tile, whose address is added last. So one sum is right for a
tile at any address that is aligned for the instruction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from operator import xor

from tilewise.check.feeding.forms import Fill, Part, Step, sums
from tilewise.check.operand import OPERANDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.check.feeding.question import Feed

WITHIN = "r"
"""What counts the loads of one instruction."""

DIRECTIONS = {name: (down.lower(), along.lower()) for name, (down, along) in OPERANDS.items()}
"""{operand: what counts its instructions, down the rows and along the columns}."""


@dataclass(frozen=True, slots=True)
class Way:
    """The steps in one direction: one number for each, all added or all XORed."""

    name: str
    """r, where one instruction takes several loads; else the mode: m, n or k."""
    flips: bool
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Stepping:
    """What takes the first address of a lane to those of all steps.

    postcondition  for every lane, and every number of each way, the step of these numbers is at
                   tile + (first ^ each that flips) + each that does not
    """

    ways: tuple[Way, ...]
    """The fastest first."""
    function: str
    """The name of the function that gives the first address."""
    from_zero: bool
    """Whether addresses count from address 0, and no tile is added."""

    def __str__(self) -> str:
        return address_text(
            f"{self.function}(lane)",
            [way.name for way in self.ways if way.flips],
            [way.name for way in self.ways if not way.flips],
            self.from_zero,
        )

    def numbers(self) -> Iterator[tuple[int, ...]]:
        """One number of each way, step by step."""
        for slowest_first in product(*(way.numbers for way in reversed(self.ways))):
            yield slowest_first[::-1]


def address_text(first: str, flipped: Sequence[object], added: Sequence[object], from_zero: bool) -> str:
    """An address from the first one of a lane, the same in C++ and for people.

    >>> address_text("first", [32], [2048], False), address_text("first", [], [64], True)
    ('tile + (first ^ 32) + 2048', 'first + 64')
    """
    text = " ^ ".join(map(str, (first, *flipped)))
    inner = f"({text})" if flipped and (added or not from_zero) else text
    return " + ".join([*([] if from_zero else ["tile"]), inner, *map(str, added)]).replace("+ -", "- ")


def from_zero(found: Feed) -> bool:
    """Whether the addresses of an answer count from address 0: then so does its swizzle."""
    return found.pattern == "address"


def from_the_tile(found: Feed) -> Fill:
    """How an answer's form fills the tile, with addresses that count from where its swizzle does.

    >>> from tilewise import S
    >>> from tilewise.check.feeding.question import feed
    >>> found = feed(S[(16, 16) : (16, 1)], operand="A", shape="m16n8k16", dtype="f16", base=1024)
    >>> print(found.addresses, from_the_tile(found).addresses)
    S[(2, 16) : (16, 32)] + 1024 S[(2, 16) : (16, 32)]
    """
    assert found.fill is not None
    return replace(found.fill, tile=replace(found.fill.tile, base=0))


def stepping(found: Feed) -> Stepping | None:
    """How the steps of an answer follow from the first; None where that takes more than a number a direction.

    >>> from tilewise import S, Swizzle
    >>> from tilewise.check.feeding.question import feed
    >>> tile = Swizzle(3, 3, 3) @ S[(64, 64) : (64, 1)]
    >>> found = stepping(feed(tile, operand="A", shape="m16n8k16", dtype="f16"))
    >>> print(found, *((way.name, way.numbers) for way in found.ways))
    tile + (a_address(lane) ^ k) + m ('k', (0, 32, 64, 96)) ('m', (0, 2048, 4096, 6144))
    """
    choices: list[list[Way]] = []
    for name, own in _directions(found).items():
        lines = [step.add for step in own], [step.xor for step in own]
        either = [Way(name, bool(flips), _known(line)) for flips, line in enumerate(lines)]
        choices.append([way for way in either if len(way.numbers) == len(own)])
    table = None
    for ways in sorted(product(*choices), key=lambda ways: sum(way.flips for way in ways)):
        table = table or addresses_of(from_the_tile(found))
        how = Stepping(ways, f"{found.operand.lower()}_address", from_zero(found))
        if _follow(how, table):
            return how
    return None


def terms(found: Feed) -> list[tuple[int, int] | None]:
    """(flipped, added) of every step: all lanes are at (first ^ flipped) + added; None where they are not.

    >>> from tilewise import S, Swizzle
    >>> from tilewise.check.feeding.question import feed
    >>> terms(feed(Swizzle(2, 3, 3) @ S[(32, 32) : (32, 1)], operand="A", shape="m16n8k16", dtype="f16"))
    [(0, 0), (32, 0), (0, 1024), (32, 1024)]
    """
    how = stepping(found)
    if how is not None:
        return [_both(how.ways, numbers) for numbers in how.numbers()]
    return [_alone(step) for step in found.steps]


def _alone(step: Step) -> tuple[int, int] | None:
    if step.add is not None:
        return 0, step.add
    return None if step.xor is None else (step.xor, 0)


def _both(ways: Sequence[Way], numbers: Sequence[int]) -> tuple[int, int]:
    """All that is XORed, and all that is added, of one number of each way."""
    flipped = (number for way, number in zip(ways, numbers, strict=True) if way.flips)
    added = (number for way, number in zip(ways, numbers, strict=True) if not way.flips)
    return reduce(xor, flipped, 0), sum(added)


def _known(numbers: Iterable[int | None]) -> tuple[int, ...]:
    return tuple(number for number in numbers if number is not None)


def _directions(found: Feed) -> dict[str, tuple[Step, ...]]:
    """The steps in each direction in which there are several, from the first one on, the fastest first."""
    down, along = DIRECTIONS[found.operand]
    said, stride = {}, 1
    for name, many in zip((WITHIN, along, down), _extents(from_the_tile(found)), strict=True):
        if many > 1:
            said[name] = found.steps[: stride * many : stride]
        stride *= many
    return said


def _extents(fill: Fill) -> Iterator[int]:
    """How many loads one instruction takes, how many there are along the columns, and how many down."""
    for counts in ("byte", "column", "row"):
        many = 1
        for digit in fill.left:
            many *= digit.extent if digit.counts == counts else 1
        yield many


def addresses_of(fill: Fill) -> list[list[int]]:
    """[step][lane] -> the address that the lane gives."""
    lanes = sums(fill.lanes)
    return [[fill.tile.at(lane + inside) for lane in lanes] for inside in sums(fill.left)]


def _follow(how: Stepping, table: list[list[int]]) -> bool:
    """Whether the numbers of all steps give every address."""
    for numbers, there in zip(how.numbers(), table, strict=True):
        flipped, added = _both(how.ways, numbers)
        if any((first ^ flipped) + added != at for first, at in zip(table[0], there, strict=True)):
            return False
    return True


def firsts(found: Feed, way: Way) -> list[int]:
    """The first instruction, along the mode of a way, that each of its numbers feeds."""
    own = _directions(found)[way.name]
    down = way.name == DIRECTIONS[found.operand][0]
    return [step.row if down else step.column for step in own]


# -- words ---------------------------------------------------------------------------------------------


def elements(found: Feed, part: Part) -> str:
    """What a part of a lane's registers holds, as the document names elements.

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
    """Which instructions a step feeds, and with which of their elements.

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


__all__ = ["DIRECTIONS", "Stepping", "Way", "elements", "feeds", "firsts", "stepping"]
