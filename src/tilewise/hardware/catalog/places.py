"""From an element to its places and back: bits of a register, bits of tensor memory, the byte of memory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tilewise.core.axes import SPLITS
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.vectors import Vector
from tilewise.hardware.catalog.entry import Built
from tilewise.hardware.limits import REGISTER_BITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

REGISTER = "register"
"""The name of a 32-bit register, which a place in a fragment may give besides its axes."""

TENSOR_MEMORY = {"TLane", "TCol"}
"""The axes of tensor memory, whose columns have as many bits as a register."""

WORDS = {REGISTER: ("reg", REGISTER_BITS), "column": ("TCol", REGISTER_BITS), "byte": ("m", 8)}
"""{name of a holder: (the axis that counts it, its bits)}: in a thread, tensor memory and memory."""


@dataclass(frozen=True, slots=True)
class Position:
    """The place of one element.

    >>> from tilewise.hardware.catalog import find
    >>> print(position_of(find("wgmma.D")("f16", n=64), (9, 3)))
    (9, 3) -> thread 5 (warp 0, lane 5), register 1, bits 16..31: d3
    >>> print(position_of(find("wgmma.atom")("128B", "k", "bf16"), (1, 8)))
    (1, 8) -> byte 128: 64@m
    >>> print(positions_of(find("tcgen05.sfa")("mxf4", rows=128), (70, 2))[1])
    (70, 2) -> lane 38, column 2, bits 16..23, address 0x00260002: 10@TCol + 38@TLane
    >>> print(position_of(find("tcgen05.sf")(rows=100, sf_k=6), (100, 5)))
    (100, 5) -> byte 589: 589@m; padding: there are rows 0..99, factors 0..5
    """

    index: tuple[int, ...]
    place: Vector
    bits: tuple[int, int]
    """The lowest and the highest of its bits, from its register, column or byte on."""
    word: str
    """The name of its holder: a register, a column of tensor memory, or a byte."""
    number: int
    """The holder's number."""
    name: str = ""
    beyond: str = ""
    """For padding: the extents of the real elements."""

    @property
    def register(self) -> int | None:
        """Return the register of a fragment; None elsewhere."""
        return self.number if self.word == REGISTER else None

    @property
    def column(self) -> int | None:
        """Return the column of tensor memory, of 32 bits; None elsewhere."""
        return self.number if self.word == "column" else None

    @property
    def byte(self) -> int | None:
        """Return the byte of memory; None elsewhere."""
        return self.number if self.word == "byte" else None

    @property
    def thread(self) -> int | None:
        """Return the number of the thread in its warpgroup, or in its only warp; None in memory."""
        ((warp, lanes, lane),) = SPLITS["tid_in_wg"]
        steps = self.place.as_dict()
        return lanes * steps.get(warp, 0) + steps.get(lane, 0) if self.word == REGISTER else None

    @property
    def _in_tensor_memory(self) -> dict[str, Any]:
        """Return the lane and the address of a word of tensor memory; {} elsewhere."""
        if self.word != "column":
            return {}
        from tilewise.hardware.tcgen05.addresses import Address

        lane = self.place.as_dict().get("TLane", 0)
        return {"lane": lane, "column": self.number, "address": str(Address(lane, self.number))}

    def as_json(self) -> dict[str, Any]:
        """Return the element, its place, and its register, column or byte."""
        thread = {} if self.thread is None else {"thread": self.thread}
        return {
            "element": list(self.index),
            "place": self.place.as_dict(),
            **thread,
            **({"name": self.name} if self.name else {}),
            **(self._in_tensor_memory or {self.word: self.number}),
            "bits": list(self.bits),
            **({"padding": True} if self.beyond else {}),
        }

    def __str__(self) -> str:
        (low, high), steps = self.bits, self.place.as_dict()
        bits = f"bit {low}" if low == high else f"bits {low}..{high}"
        if said := self._in_tensor_memory:
            owner = f"CTA {steps['cbx']}, " if "cbx" in steps else ""
            where = f"{owner}lane {said['lane']}, column {self.number}, {bits}, address {said['address']}"
        elif self.word == "byte":
            where = f"byte {self.number}" + f", {bits}" * bool((high + 1) % 8 or low)
        else:
            lane = f"lane {steps.get('laneid', 0)}"
            owner = (
                f"thread {self.thread} (warp {steps['wid_in_wg']}, {lane})" if "wid_in_wg" in steps else lane
            )
            last = self.number + high // REGISTER_BITS
            several = f"s {self.number}..{last}" if last > self.number else f" {self.number}"
            where = f"{owner}, register{several}, {bits}"
        padding = f"; padding: there are {self.beyond}" if self.beyond else ""
        return f"{self.index} -> {where}: {self.name or self.place}{padding}"


def position_of(built: Built, index: Any) -> Position:
    """Return the one place of an element."""
    layout = _layout(built)
    flat = layout.flat_index(index)
    return _position(built, layout.coordinates(flat), layout.place(flat))


def positions_of(built: Built, index: Any) -> list[Position]:
    """Return all places of an element: one for each copy."""
    layout = _layout(built)
    flat = layout.flat_index(index)
    return [_position(built, layout.coordinates(flat), place) for place in layout.places(flat)]


def positions_at(built: Built, place: Mapping[str, int], limit: int | None = None) -> list[Position]:
    """Return the elements at a place. The place may name only some axes: then all elements of a lane, say.

    `reg` counts elements, as in the layout, and `register` the registers of 32 bits that hold them.

    >>> from tilewise.hardware.catalog import find
    >>> d = find("wgmma.D")("f16", n=8)
    >>> [str(p) for p in positions_at(d, {"laneid": 5, "wid_in_wg": 0, "reg": 3})]
    ['(9, 3) -> thread 5 (warp 0, lane 5), register 1, bits 16..31: d3']
    >>> [p.name for p in positions_at(d, {"laneid": 5, "wid_in_wg": 0, "register": 1})]
    ['d2', 'd3']
    """
    layout = _layout(built)
    asked = in_registers(built, place)
    found = [(one, layout.flat_index(index)) for one in asked for index in layout.who(one, limit=limit)]
    return [
        _position(built, layout.coordinates(flat), place)
        for one, flat in found
        for place in layout.places(flat)
        if layout.copies == 1 or one.items() <= place.as_dict().items()
    ]


def in_registers(built: Built, place: Mapping[str, int]) -> list[dict[str, int]]:
    """Return a place in the layout's counts, once for each element of a word.

    `register` is one of 32 bits, `column` one of tensor memory, `byte` one of memory, `lane` that of either.

    >>> from tilewise.hardware.catalog import find
    >>> in_registers(find("tcgen05.sfa")("mxf4", rows=128), {"lane": 38, "column": 2})[:2]
    [{'TLane': 38, 'TCol': 8}, {'TLane': 38, 'TCol': 9}]
    """
    axes = {axis.name for axis in _layout(built).axes}
    lane = next((axis for axis in ("TLane", "laneid") if axis in axes), "lane")
    asked = {lane if name == "lane" else name: at for name, at in place.items()}
    word = _word(built)
    if word not in asked or (word == "byte" and "m" not in axes):
        return [asked]
    axis, bits = WORDS[word]
    if axis in asked:
        raise LayoutError(
            "TW203",
            f"a place has {axis} or {word}",
            hint=f"{axis} counts elements, {word} those of {bits} bits",
        )
    number, taken = asked.pop(word), _taken(built)
    if taken > bits:
        return [{**asked, axis: number * bits // taken}]
    each = bits // taken
    return [{**asked, axis: number * each + part} for part in range(each)]


def asked_place(built: Built, text: str, let: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return a place that `parse_place` reads; an element of a fragment may stand by its name: a7.

    >>> from tilewise.hardware.catalog import find
    >>> asked_place(find("mma.A")("m16n8k16", "f16"), "laneid=5,a7")
    {'laneid': 5, 'reg': 7}
    """
    from tilewise.notation import parse_place

    named = rf"(^|,)(\s*){built.letter}(\d+)(?=\s*(?:,|$))"
    return parse_place(re.sub(named, r"\1\2reg=\3", text) if built.letter else text, let)


def _taken(built: Built) -> int:
    """Return the bits of a register that an element takes."""
    assert built.dtype is not None
    return built.held[0] if built.held else built.dtype.bits


def _word(built: Built) -> str:
    """Return the name of the elements' holder. A fragment has a letter: a lane with one element may count
    none.
    """
    in_tensor_memory = TENSOR_MEMORY & {axis.name for axis in _layout(built).axes}
    return REGISTER if built.letter else "column" if in_tensor_memory else "byte"


def _position(built: Built, index: tuple[int, ...], place: Vector) -> Position:
    assert built.dtype is not None
    word = _word(built)
    axis, wide = WORDS[word]
    element = place.as_dict().get(axis, 0)
    number, low = divmod(element * _taken(built), wide)
    low += built.held[1] if built.held else 0
    many = built.stored
    padding = any(i >= stored for i, stored in zip(index, many.values(), strict=False))
    return Position(
        index,
        place,
        (low, low + built.dtype.bits - 1),
        word,
        number,
        f"{built.letter}{element}" if built.letter else "",
        ", ".join(f"{what} 0..{stored - 1}" for what, stored in many.items()) if padding else "",
    )


def _layout(built: Built) -> Layout:
    if built.layout is None or built.dtype is None:
        raise LayoutError("TW601", "the entry is a table, and nothing has a place in it")
    return built.layout
