"""From an element to its places and back: bits of a register, bits of tensor memory, the byte of memory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

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
"""What a place may say of a fragment besides its axes: which register of 32 bits."""


TENSOR_MEMORY = {"TLane", "TCol"}
"""The axes of tensor memory, whose columns have as many bits as a register."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where one element is.

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
    """The lowest and the highest of its bits, from its register or its byte on."""
    register: int | None = None
    byte: int | None = None
    name: str = ""
    column: int | None = None
    """The column of tensor memory, of 32 bits."""
    beyond: str = ""
    """Of what fills the layout up: all that there is besides."""

    @property
    def thread(self) -> int | None:
        """The number of the thread in its warpgroup, or in its warp where that is all; None in memory."""
        ((warp, lanes, lane),) = SPLITS["tid_in_wg"]
        steps = self.place.as_dict()
        return None if self.register is None else lanes * steps.get(warp, 0) + steps.get(lane, 0)

    def as_json(self) -> dict[str, Any]:
        """The element, its place, and the register or the byte."""
        unit = {
            name: number
            for name, number in (
                ("byte", self.byte),
                ("register", self.register),
                ("lane", self._lane),
                ("column", self.column),
                ("address", self._address),
            )
            if number is not None
        }
        named = {"name": self.name} if self.name else {}
        thread = {} if self.thread is None else {"thread": self.thread}
        return {
            "element": list(self.index),
            "place": self.place.as_dict(),
            **thread,
            **named,
            **unit,
            "bits": list(self.bits),
            **({"padding": True} if self.beyond else {}),
        }

    def __str__(self) -> str:
        return self._where + (f"; padding: there are {self.beyond}" if self.beyond else "")

    @property
    def _where(self) -> str:
        low, high = self.bits
        bits = f"bit {low}" if low == high else f"bits {low}..{high}"
        if self.column is not None:
            owner = f"CTA {steps['cbx']}, " if "cbx" in (steps := self.place.as_dict()) else ""
            where = f"{owner}lane {self._lane}, column {self.column}, {bits}, address {self._address}"
            return f"{self.index} -> {where}: {self.place}"
        if self.register is None:
            inside = f", {bits}" if (high + 1) % 8 or low else ""
            return f"{self.index} -> byte {self.byte}{inside}: {self.place}"
        last = self.register + high // REGISTER_BITS
        registers = (
            f"register {self.register}" if last == self.register else f"registers {self.register}..{last}"
        )
        return f"{self.index} -> {self._owner}, {registers}, {bits}: {self.name}"

    @property
    def _lane(self) -> int | None:
        """The lane of tensor memory; None elsewhere."""
        return None if self.column is None else self.place.as_dict().get("TLane", 0)

    @property
    def _address(self) -> str | None:
        """The word of tensor memory, as instructions name it."""
        if self.column is None or self._lane is None:
            return None
        from tilewise.hardware.tcgen05.addresses import Address

        return str(Address(self._lane, self.column))

    @property
    def _owner(self) -> str:
        steps = self.place.as_dict()
        lane = f"lane {steps.get('laneid', 0)}"
        return f"thread {self.thread} (warp {steps['wid_in_wg']}, {lane})" if "wid_in_wg" in steps else lane


def position_of(built: Built, index: Any) -> Position:
    """Where the element of an index is, which is in one place."""
    layout = _layout(built)
    flat = layout.flat_index(index)
    return _position(built, layout.coordinates(flat), layout.place(flat))


def positions_of(built: Built, index: Any) -> list[Position]:
    """Where the element of an index is: all of its copies."""
    layout = _layout(built)
    flat = layout.flat_index(index)
    return [_position(built, layout.coordinates(flat), place) for place in layout.places(flat)]


def positions_at(built: Built, place: Mapping[str, int], limit: int | None = None) -> list[Position]:
    """The elements at a place, which may name some of the axes alone: all that a lane holds.

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
    """A place as the layout counts it, of each element where a word has several.

    `register` is one of 32 bits, `column` one of tensor memory, `byte` one of memory, `lane` that of either.

    >>> from tilewise.hardware.catalog import find
    >>> in_registers(find("tcgen05.sfa")("mxf4", rows=128), {"lane": 38, "column": 2})[:2]
    [{'TLane': 38, 'TCol': 8}, {'TLane': 38, 'TCol': 9}]
    """
    axes = {axis.name for axis in _layout(built).axes}
    lane = next((axis for axis in ("TLane", "laneid") if axis in axes), "lane")
    asked = {lane if name == "lane" else name: at for name, at in place.items()}
    for word, axis, bits, there in (
        (REGISTER, "reg", REGISTER_BITS, bool(built.letter)),
        ("column", "TCol", REGISTER_BITS, bool(TENSOR_MEMORY & axes)),
        ("byte", "m", 8, "m" in axes and not built.letter),
    ):
        if word in asked and there:
            return _in_words(asked, word, axis, bits, _taken(built))
    return [asked]


def _in_words(asked: dict[str, int], word: str, axis: str, bits: int, taken: int) -> list[dict[str, int]]:
    """The elements of a word, or the one that it is a part of."""
    if axis in asked:
        raise LayoutError(
            "TW203",
            f"a place has {axis} or {word}",
            hint=f"{axis} counts elements, {word} those of {bits} bits",
        )
    number = asked.pop(word)
    if taken > bits:
        return [{**asked, axis: number * bits // taken}]
    each = bits // taken
    return [{**asked, axis: number * each + part} for part in range(each)]


def asked_place(built: Built, text: str, let: Mapping[str, int] | None = None) -> dict[str, int]:
    """A place as `parse_place` reads it, where an element of a fragment may stand by its name: a7.

    >>> from tilewise.hardware.catalog import find
    >>> asked_place(find("mma.A")("m16n8k16", "f16"), "laneid=5,a7")
    {'laneid': 5, 'reg': 7}
    """
    from tilewise.notation import parse_place

    named = rf"(^|,)(\s*){built.letter}(\d+)(?=\s*(?:,|$))"
    return parse_place(re.sub(named, r"\1\2reg=\3", text) if built.letter else text, let)


def _taken(built: Built) -> int:
    """The bits of a register that an element takes."""
    assert built.dtype is not None
    return built.held[0] if built.held else built.dtype.bits


def _position(built: Built, index: tuple[int, ...], place: Vector) -> Position:
    found, many = _in_its_unit(built, index, place), built.stored
    if all(i < stored for i, stored in zip(index, many.values(), strict=False)):
        return found
    return replace(found, beyond=", ".join(f"{what} 0..{stored - 1}" for what, stored in many.items()))


def _in_its_unit(built: Built, index: tuple[int, ...], place: Vector) -> Position:
    """The bits of an element in its register, in tensor memory or in memory."""
    assert built.dtype is not None
    bits, steps = built.dtype.bits, place.as_dict()
    if built.letter:  # it is a fragment, though a lane that has one element of it may count none
        number, lowest = steps.get("reg", 0), built.held[1] if built.held else 0
        register, low = divmod(number * _taken(built), REGISTER_BITS)
        name, low = f"{built.letter}{number}", low + lowest
        return Position(index, place, (low, low + bits - 1), register=register, name=name)
    if TENSOR_MEMORY & {axis.name for axis in _layout(built).axes}:
        number, lowest = steps.get("TCol", 0), built.held[1] if built.held else 0
        column, low = divmod(number * _taken(built), REGISTER_BITS)
        return Position(index, place, (low + lowest, low + lowest + bits - 1), column=column)
    byte, low = divmod(steps.get("m", 0) * bits, 8)
    return Position(index, place, (low, low + bits - 1), byte=byte)


def _layout(built: Built) -> Layout:
    if built.layout is None or built.dtype is None:
        raise LayoutError("TW601", "the entry is a table, and nothing has a place in it")
    return built.layout
