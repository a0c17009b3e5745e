"""From an element to its place and back: the thread and the bits of a register, or the byte of memory."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class Position:
    """Where one element is.

    >>> from tilewise.hardware.catalog import find
    >>> print(position_of(find("wgmma.D")("f16", n=64), (9, 3)))
    (9, 3) -> thread 5 (warp 0, lane 5), register 1, bits 16..31: d3
    >>> print(position_of(find("wgmma.atom")("128B", "k", "bf16"), (1, 8)))
    (1, 8) -> byte 128: 64@m
    """

    index: tuple[int, ...]
    place: Vector
    bits: tuple[int, int]
    """The lowest and the highest of its bits, in its register or from its byte on."""
    register: int | None = None
    byte: int | None = None
    name: str = ""

    @property
    def thread(self) -> int | None:
        """The number of the thread in its warpgroup; None in memory."""
        ((warp, lanes, lane),) = SPLITS["tid_in_wg"]
        steps = self.place.as_dict()
        return None if self.register is None else lanes * steps[warp] + steps[lane]

    def as_json(self) -> dict[str, Any]:
        """The element, its place, and the register or the byte."""
        unit = {"byte": self.byte} if self.register is None else {"register": self.register}
        named = {"name": self.name} if self.name else {}
        thread = {} if self.thread is None else {"thread": self.thread}
        return {
            "element": list(self.index),
            "place": self.place.as_dict(),
            **thread,
            **named,
            **unit,
            "bits": list(self.bits),
        }

    def __str__(self) -> str:
        low, high = self.bits
        bits = f"bit {low}" if low == high else f"bits {low}..{high}"
        if self.register is None:
            inside = f", {bits}" if (high + 1) % 8 or low else ""
            return f"{self.index} -> byte {self.byte}{inside}: {self.place}"
        owners = ", ".join(
            f"{_OWNERS.get(axis.name, axis.name)} {steps}"
            for axis, steps in sorted(self.place.terms, key=lambda term: [*_OWNERS].index(term[0].name))
            if axis.name != "reg"
        )
        return (
            f"{self.index} -> thread {self.thread} ({owners}), register {self.register}, {bits}: {self.name}"
        )


_OWNERS = {"wid_in_wg": "warp", "laneid": "lane", "reg": "reg"}


def position_of(built: Built, index: Any) -> Position:
    """Where the element of an index is."""
    layout = _layout(built)
    flat = layout.flat_index(index)
    return _position(built, layout.coordinates(flat), layout.place(flat))


def positions_at(built: Built, place: Mapping[str, int], limit: int | None = None) -> list[Position]:
    """The elements at a place, which may name some of the axes alone: all that a lane holds.

    >>> from tilewise.hardware.catalog import find
    >>> d = find("wgmma.D")("f16", n=8)
    >>> [str(p) for p in positions_at(d, {"laneid": 5, "wid_in_wg": 0, "reg": 3})]
    ['(9, 3) -> thread 5 (warp 0, lane 5), register 1, bits 16..31: d3']
    """
    layout = _layout(built)
    found = (layout.flat_index(index) for index in layout.who(dict(place), limit=limit))
    return [_position(built, layout.coordinates(flat), layout.place(flat)) for flat in found]


def _position(built: Built, index: tuple[int, ...], place: Vector) -> Position:
    assert built.dtype is not None
    bits, steps = built.dtype.bits, place.as_dict()
    if "reg" in steps:
        register, low = divmod(steps["reg"] * bits, REGISTER_BITS)
        name = f"{built.letter}{steps['reg']}"
        return Position(index, place, (low, low + bits - 1), register=register, name=name)
    byte, low = divmod(steps.get("m", 0) * bits, 8)
    return Position(index, place, (low, low + bits - 1), byte=byte)


def _layout(built: Built) -> Layout:
    if built.layout is None or built.dtype is None:
        raise LayoutError("TW601", "the entry is a table, and nothing has a place in it")
    return built.layout
