"""Why no instruction serves a lane: the first thing that is wrong with its vector, with a witness."""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.check.access.access import Access
from tilewise.check.access.stored import BYTE, Stored
from tilewise.core.errors import Refused
from tilewise.core.integers import counted
from tilewise.core.shapes import extents_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True, slots=True)
class Unserved:
    """A lane whose elements no instruction moves at once.

    >>> from tilewise import S
    >>> from tilewise.check.access import access_of
    >>> tile = Stored.of(S[(64, 64) : (1, 64)], "f16")
    >>> access = access_of("row:4B", S[(64, 64) : (64, 1)], "f16")
    >>> print(Unserved(tile, access, 0, 3, [6, 7]).why().reason)
    lane 3 of request 0 asks for 4 bytes, and elements 6 and 7 are at bytes 768 and 896: no neighbours
    """

    stored: Stored
    access: Access
    request: int
    lane: int
    asked: list[int]
    """The flat indices that it asks for."""

    def why(self) -> Refused:
        """The first thing that is wrong with them."""
        outside = [index for index in self.asked if not 0 <= index < self.stored.size]
        if outside:
            return self._past_the_end(outside[0])
        at = [self.stored.at(index) for index in self.asked]
        for one in range(len(at) - 1):
            if at[one + 1] != at[one] + self.stored.step:
                return self._no_neighbours(one)
        return self._no_beginning(at[0])

    def _past_the_end(self, index: int) -> Refused:
        return self._refused(
            f" of which element {index} is past the end of the tile",
            {"rule": "end", "elements": [self.asked[0], index]},
            "a narrower vector ends with the tile",
        )

    def _no_neighbours(self, one: int) -> Refused:
        first, second = self.asked[one : one + 2]
        at = [self._address(first), self._address(second)]
        return self._refused(
            f", and elements {first} and {second} are at bytes {at[0]} and {at[1]}: no neighbours",
            {"rule": "neighbours", "elements": [first, second], "addresses": at},
            self._turned() or self._whole_rows(),
        )

    def _no_beginning(self, units: int) -> Refused:
        first, below = self.asked[0], units < 0
        at = self._address(first)
        kind = "below 0" if below else f"no multiple of {self.access.bytes}"
        return self._refused(
            f" from element {first} on, which is at byte {at}, {kind}",
            {"rule": "negative" if below else "alignment", "elements": [first], "addresses": [at]},
            "" if below else self._whole_rows(),
        )

    def _refused(self, why: str, witness: dict[str, Any], hint: str) -> Refused:
        said = (
            f"lane {self.lane} of request {self.request} asks for {counted(self.access.bytes, 'byte')}{why}"
        )
        return Refused(
            "TW610", said, witness={"request": self.request, "lane": self.lane} | witness, hint=hint
        )

    def _whole_rows(self) -> str:
        """What ldmatrix and stmatrix ask of memory, which have no narrower vectors."""
        own = self.access.operation
        return f"{own.name} takes 16-byte rows as they lie, from multiples of 16 on" if own.matrix else ""

    def _turned(self) -> str:
        """What to do where elements are neighbours down the columns, not along the rows."""
        stored = self.stored
        extents = extents_of(stored.layout.shape)
        if len(extents) != 2 or min(extents) < 2 or stored.at(extents[1]) != stored.at(0) + stored.step:
            return ""
        name = self.access.name
        across = {"row": "col", "col": "row"}.get(name[:3])
        asked = f", and ask for {across}{name[3:]}" if across else ""
        return f"elements are neighbours down the columns: swap the modes, {stored.tile.permute(1, 0)}{asked}"

    def _address(self, index: int) -> int | str:
        """Where an element is in bytes; in bytes and bits where that is no whole byte."""
        byte, bit = divmod(self.stored.at(index) * self.stored.unit, BYTE)
        return f"{byte} + {bit} bits" if bit else byte
