"""Conversions between layouts of registers: how far elements travel, and the least that takes.

A distributed layout is a linear map over GF(2) from a place to its element: S for the source, D for the
target. A place of the target finds its element without leaving a level, such as its warp, iff the element
differs from what S has for the coordinates that stay by a step in the span of S for those that are free:

    selected  D(x) ^ S(x) in span S(register), for each bit x of lane, warp and block
    lanes     D(x) ^ S(x) in span S(register, lane), for each bit x of warp and block; and so on

Maps are linear, so bits of places say it of all places. It is a renaming iff, more than that, D(x) = S(x) for
each such bit: then the register to read is the same in all lanes of all warps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewise.compiled.lines import Line, line_data
from tilewise.compiled.ttgir.types import BYTE, TypeInText
from tilewise.core.bits import Basis, meet, rank
from tilewise.core.integers import counted
from tilewise.hardware.limits import LANES, REGISTER_BITS
from tilewise.notation.dialects.triton.tile import BLOCK, LANE, REGISTER, WARP

PLACES = (REGISTER, LANE, WARP, BLOCK)
KINDS = ("renamed", "selected", "lanes", "warps", "blocks")
"""The classes, from the nearest to the farthest."""

PlaceSteps = Mapping[str, Sequence[int]]


def kind_of(source: PlaceSteps, target: PlaceSteps) -> str:
    """Return the class of a conversion: the nearest in which every place finds its element.

    >>> rows, columns = {"register": [1], "lane": [2, 4]}, {"register": [4], "lane": [1, 2]}
    >>> kind_of(rows, rows), kind_of(rows, columns)
    ('renamed', 'lanes')
    >>> kind_of({"register": [1], "lane": [2]}, {"register": [], "lane": [2 ^ 1]})
    'selected'
    """
    if all(_at(source, place) == _at(target, place) for place in PLACES[1:]):
        held = Basis(_at(source, REGISTER))
        if all(step in held for step in _at(target, REGISTER)):
            return "renamed"
    for free in range(1, len(PLACES)):
        held = Basis(step for place in PLACES[:free] for step in _at(source, place))
        ours = [step for place in PLACES[:free] for step in _at(target, place)]
        kept = [pair for place in PLACES[free:] for pair in _pairs(source, target, place)]
        if all(step in held for step in ours) and all(one ^ other in held for one, other in kept):
            return KINDS[free]
    return "blocks"


def received(source: PlaceSteps, target: PlaceSteps) -> int:
    """Return the most elements that some lane needs and does not hold.

    A lane wants the coset of span D(register) at its place, and holds that of span S(register). The two meet
    in a coset of the spans' meet, or nowhere.

    >>> received({"register": [1], "lane": [2, 4]}, {"register": [4], "lane": [1, 2]})
    2
    """
    ours, theirs = _at(target, REGISTER), _at(source, REGISTER)
    wanted, both = 1 << rank(ours), Basis([*ours, *theirs])
    apart = [one ^ other for place in PLACES[1:] for one, other in _pairs(source, target, place)]
    return wanted if any(step not in both for step in apart) else wanted - (1 << len(meet(ours, theirs)))


def _at(bases: PlaceSteps, place: str) -> list[int]:
    """Return the steps of a place, without those at the end that move nothing."""
    steps = [*bases.get(place, ())]
    while steps and not steps[-1]:
        steps.pop()
    return steps


def _pairs(source: PlaceSteps, target: PlaceSteps, place: str) -> list[tuple[int, int]]:
    """Return the steps of each bit of a place in both, 0 where one has no such bit."""
    one, other = _at(source, place), _at(target, place)
    size = max(len(one), len(other))
    return [*zip(one + [0] * (size - len(one)), other + [0] * (size - len(other)), strict=True)]


@dataclass(frozen=True, slots=True)
class LayoutConversion:
    """A conversion of a tensor from one layout of registers to another."""

    line: Line | None
    op: str
    row: int
    """The number of the line of the text."""
    source: TypeInText
    target: TypeInText
    kind: str
    """renamed, selected, lanes, warps or blocks; "" where a type is not read."""
    loops: int
    """The loops around it."""
    lanes: int
    """Lanes of a warp."""

    @property
    def bytes(self) -> int:
        """Return the bytes of the tensor."""
        return self.source.bytes

    @property
    def shuffles(self) -> int:
        """Return a lower bound of the exchanges that a warp makes: one brings a lane 32 bits."""
        bits = received(*self._bases) * self.source.bits
        return -(-bits // REGISTER_BITS) if self.kind in ("lanes", "warps") else 0

    @property
    def _bases(self) -> tuple[PlaceSteps, PlaceSteps]:
        return self.source.bases or {}, self.target.bases or {}

    @property
    def needs(self) -> str:
        """Return a sentence about the least that the conversion takes."""
        match self.kind:
            case "renamed":
                return "Nothing: registers take other names, alike in all lanes."
            case "selected":
                return "No exchange: every lane has its elements, and selects registers by its own number."
            case "lanes":
                return (
                    f"No element leaves its warp: at least {counted(self.shuffles, 'exchange')} between "
                    "lanes, no shared memory and no barrier."
                )
            case "warps":
                return (
                    f"Elements change their warp: {counted(self.bytes, 'byte')} through shared memory, and "
                    "a barrier."
                )
            case "blocks":
                return "Elements change their block: through the shared memory of a cluster or global memory."
        return self.source.why_not or self.target.why_not

    @property
    def command(self) -> str | None:
        """Return a command of tilewise that shows the move, or None where a side is no layout."""
        one, other = self.source.layout, self.target.layout
        if not self.kind or one is None or other is None:
            return None
        sides = f"'{one}' '{other}'"
        if self.lanes != LANES or self.kind == "blocks" or "cbx" in {*one.moving, *other.moving}:
            return f"tilewise relation {sides}"
        alike = all(step == other for step, other in _pairs(*self._bases, WARP))
        verb = "shuffle" if self.kind != "warps" and alike else "plan"
        bits = self.source.bits
        dtype = self.source.dtype if self.source.dtype and self.source.dtype.bits >= BYTE else f"b{bits}"
        return f"tilewise {verb} {sides} --dtype {dtype}"

    def as_dict(self) -> dict[str, Any]:
        """Return the conversion as plain data."""
        names = ("op", "row", "kind", "bytes", "loops", "needs", "command")
        return {
            "line": line_data(self.line),
            "shape": list(self.source.shape),
            "dtype": self.source.dtype and self.source.dtype.name,
            "source": self.source.name,
            "target": self.target.name,
            **{name: getattr(self, name) for name in names},
        }
