"""Every rule for a tensor map, by name: its demand, its source, and the check.

    driver    cuTensorMapEncodeTiled returns CUDA_ERROR_INVALID_VALUE
    hardware  the map is made, and the copy faults or cannot be placed
    advice    nothing enforces it: a document's advice, or a side effect of a store

`violations` has the first two, `remarks` the third. A rule is a row of the table. A check names the broken
rule, the numbers that break it, and the change that helps. Where documents are silent, or the driver departs
from them, a device gave the answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path

from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int, counted
from tilewise.hardware.limits import SHARED_BYTES, SM_SHARED_BYTES
from tilewise.hardware.sources import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from tilewise.hardware.tma.tensor_map import TensorMap

    Found: TypeAlias = Iterator[tuple[str, str, str]]
    """(the broken rule, the numbers that break it, the change that helps)."""

DRIVER, HARDWARE, ADVICE = "driver", "hardware", "advice"

MAX_RANK = 5
MAX_EXTENT = 1 << 32
MAX_STRIDE = 1 << 40
MAX_BOX = 256
MAX_ELEMENT_STRIDE = 8
SHARED_ALIGNMENT = 128
MAP_ALIGNMENT = 64
STORED_AT_ONCE = 16
"""Bytes: a store writes whole pieces of this size, past a row's end too."""
MAX_BOX_BYTES = SM_SHARED_BYTES
"""The driver counts floor(box / element stride) elements along every dimension, the innermost too."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of a copy: the tensor, the box in shared memory, the map, the box in the tensor."""

    tensor: int = 0
    shared: int = 0
    map: int = 0
    coordinates: tuple[int, ...] = ()
    """In the instruction's order: the innermost first."""
    stores: bool = False
    """True if the copy goes out, from shared memory to the tensor."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule: its name, the numbers that break it, and the change that helps."""

    rule: str
    message: str
    hint: str
    source: Source

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its demand in a sentence, its document, and its enforcer."""

    sentence: str
    source: Source
    kind: str


def violations(
    tensor_map: TensorMap,
    address: int = 0,
    *,
    shared: int = 0,
    map_address: int = 0,
    coordinates: Sequence[int] = (),
    stores: bool = False,
) -> tuple[Violation, ...]:
    """Return every rule of the driver or the hardware that this copy breaks.

    `address` is the tensor's, `shared` that of the box in shared memory, `map_address` the map's own.
    `coordinates` are the instruction's, the innermost first; `stores` is True if the box goes out.

    >>> from tilewise.hardware.tma.tensor_map import TensorMap
    >>> for broken in violations(TensorMap.of("bf16", (64, 100), (300, 100), mode="128B")):
    ...     print(broken)
    stride-multiple: the stride of dimension 0 is 200 bytes
    box-extent: the box takes 300 elements of dimension 0
    box-multiple: a row of the box is 100 elements, 200 bytes
    box-swizzle: a row of the box is 200 bytes, and the swizzle is 128 wide
    """
    if coordinates and len(coordinates) != tensor_map.rank:
        tensor = f"a tensor of {counted(tensor_map.rank, 'dimension')}"
        hint = "one a dimension, the innermost first"
        raise LayoutError("TW003", f"{tensor} and {counted(len(coordinates), 'coordinate')}", hint=hint)
    where = Addresses(address, shared, map_address, tuple(coordinates), stores)
    return _broken(tensor_map, (DRIVER, HARDWARE), where)


def remarks(
    tensor_map: TensorMap,
    address: int = 0,
    *,
    shared: int = 0,
    map_address: int = 0,
    stores: bool = False,
) -> tuple[Violation, ...]:
    """Return the documents' advice that this copy does not follow, and side effects of a store; both work.

    >>> from tilewise.hardware.tma.tensor_map import TensorMap
    >>> for remark in remarks(TensorMap.of("bf16", (64, 64), (8, 64), mode="128B"), shared=128):
    ...     print(remark)
    shared-pattern: the box is at shared address 128, 128 bytes past a start of the pattern
    """
    return _broken(tensor_map, (ADVICE,), Addresses(address, shared, map_address, stores=stores))


def _broken(tensor_map: TensorMap, kinds: tuple[str, ...], at: Addresses) -> tuple[Violation, ...]:
    """Return the rules of these kinds that a copy breaks, in the order of the table."""
    for number in (at.tensor, at.shared, at.map, *at.coordinates):
        as_int(number, "an address or a coordinate")
    found: dict[str, list[Violation]] = {}
    for check in (_of_tensor, _of_box, _of_addresses, _of_coordinates):
        for name, message, hint in check(tensor_map, at):
            found.setdefault(name, []).append(Violation(name, message, hint, RULES[name].source))
    return tuple(
        violation for name, rule in RULES.items() if rule.kind in kinds for violation in found.get(name, ())
    )


# -- the checks ------------------------------------------------------------------------------------

_ALIGN16 = (14, 15)
"""16U4_ALIGN16B and 16U6_ALIGN16B."""

_U6 = 15


def _of_tensor(m: TensorMap, at: Addresses) -> Found:
    """Yield the rules that the tensor breaks: by its type, its extents and its strides."""
    if not 1 <= m.rank <= MAX_RANK:
        hint = "merge dimensions that follow one another in memory" if m.rank else "name one dimension"
        yield "rank", f"the tensor has {counted(m.rank, 'dimension')}", hint
    if m.interleave != "none" and m.rank < 3:
        found = f"interleave {m.interleave} on {counted(m.rank, 'dimension')}"
        yield "rank-interleaved", found, "give it dimensions of extent 1, or interleave none"
    if m.dtype.packed:
        yield "type", f"{m.dtype} is a type of Blackwell", "on Hopper move the bytes: UINT8"
    for i, extent in enumerate(m.global_shape):
        if not 1 <= extent <= MAX_EXTENT:
            hint = "leave it out, or give it extent 1" if extent < 1 else "split it into two dimensions"
            yield "extent", f"dimension {i} has {extent} elements", hint
    inner = m.global_shape[-1] if m.rank else 0
    unit = 128 if m.dtype.value in _ALIGN16 else 2 if m.dtype.packed else 1
    if inner % unit:
        found = f"the innermost dimension has {inner} elements"
        yield "extent-packed", found, f"make it a multiple of {unit}"
    for i, stride in enumerate(m.global_strides_bytes):
        found = f"the stride of dimension {i} is {stride} bytes"
        for rule, unit in (("stride-multiple", 16), ("stride-multiple-32", 32)):
            if stride % unit and (unit == 16 or _in_32_bytes(m)):
                yield rule, found, f"pad the rows to {-(-stride // unit) * unit} bytes"
        if stride < 0:
            yield "stride-range", found, "a stride runs upwards: turn the dimension round"
        elif stride >= MAX_STRIDE:
            yield "stride-range", found, "copy from nearer parts"
    row = inner * m.dtype.bits // 8
    if m.rank > 1 and 0 <= (pitch := m.global_strides_bytes[-1]) < row:
        found = f"rows are {row} bytes and follow one another by {pitch}"
        hint = "rows that overlap can be read; what is stored through such a map is not defined"
        yield "stride-covers", found, hint
    if m.fill == "nan" and not m.dtype.floating:
        hint = "take fill zero, or a floating-point type of the same width"
        yield "fill", f"fill nan for {m.dtype}", hint
    if at.stores and row % STORED_AT_ONCE:
        more = counted(-row % STORED_AT_ONCE, "byte")
        found = f"rows of the tensor are {row} bytes, and a store that reaches their end writes {more} more"
        hint = (
            f"leave the bytes up to the next multiple of {STORED_AT_ONCE} to the store, or give the box what "
        )
        yield "store-row", found, hint + "stands there"


def _of_box(m: TensorMap, at: Addresses) -> Found:
    """Yield the rules that the box breaks: by its extents, its steps and its swizzle."""
    for i, extent in enumerate(m.box):
        if not 1 <= extent <= MAX_BOX:
            few, many = (
                "a box has an element at least",
                f"take {-(-extent // MAX_BOX)} boxes, or a dimension more",
            )
            found = f"the box takes {counted(extent, 'element')} of dimension {i}"
            yield "box-extent", found, few if extent < 1 else many
    inner = m.box[-1] if m.box else 0
    bits = inner * m.dtype.bits
    row = f"a row of the box is {counted(inner, 'element')}"
    if bits % 128:
        size = f"{bits // 8} bytes" if bits % 8 == 0 else f"{bits} bits"
        yield "box-multiple", f"{row}, {size}", f"take a multiple of {max(1, 128 // m.dtype.bits)} elements"
    if 0 not in m.element_strides:
        floors = [extent // step for extent, step in zip(m.box, m.element_strides, strict=True)]
        whole = prod(floors) * m.dtype.bits // 8
        if whole > MAX_BOX_BYTES:
            hint = f"the driver makes maps of {MAX_BOX_BYTES} at most: take more boxes"
            yield "box-bytes", f"the box is {whole} bytes", hint
    for i, stride in enumerate(m.element_strides):
        if not 1 <= stride <= MAX_ELEMENT_STRIDE:
            found = f"the element stride of dimension {i} is {stride}"
            yield "element-stride", found, "take every element, or one in 2 to 8"
    if m.interleave == "none" and m.mode.bits and m.inner_bytes > m.mode.width:
        found = f"a row of the box is {m.inner_bytes} bytes, and the swizzle is {m.mode.width} wide"
        most = m.mode.width * 8 // m.dtype.bits
        yield "box-swizzle", found, f"take {most} elements a row, and the rest as a dimension of its own"
    if m.interleave == "32B" and m.mode.name != "32B":
        yield "interleave-swizzle", f"interleave 32B with swizzle {m.mode}", "take swizzle 32B"
    if m.dtype.value in _ALIGN16:
        if m.rank and inner != 128:
            yield "box-packed", row, "take 128"
        if m.mode.name not in ("none", "128B"):
            yield "swizzle-packed", f"{m.dtype} with swizzle {m.mode}", "take swizzle none or 128B"
    if m.dtype.value == _U6 and m.interleave != "none":
        yield "interleave-packed", f"{m.dtype} with interleave {m.interleave}", "take interleave none"


def _of_addresses(m: TensorMap, at: Addresses) -> Found:
    """Yield the rules that the addresses break: those of the tensor, of the map and of the box."""
    swizzled = bool(m.mode.bits)
    for rule, where, address, unit, holds in (
        ("address", "the tensor", at.tensor, 16, True),
        ("address-32", "the tensor", at.tensor, 32, _in_32_bytes(m)),
        ("address-swizzled", "the tensor", at.tensor, 128, swizzled and at.tensor % 16 == 0),
        ("map-address", "the map", at.map, MAP_ALIGNMENT, True),
        ("shared-address", "the box", at.shared, SHARED_ALIGNMENT, True),
    ):
        if holds and address < 0:
            yield rule, f"{where} is at {address}", "addresses begin at 0"
        elif holds and address % unit:
            above = -(-address // unit) * unit
            yield rule, f"{where} is at {address:#x}", f"the next multiple of {unit} is {above:#x}"
    if m.shared_bytes > max(0, SHARED_BYTES - at.shared):
        start = f", from {at.shared:#x} on" if at.shared else ""
        found = f"the box takes {m.shared_bytes} bytes{start}"
        yield "shared-size", found, f"a block has {SHARED_BYTES} bytes at most"
    past = at.shared % m.mode.period
    if swizzled and past and at.shared % SHARED_ALIGNMENT == 0:
        found = f"the box is at shared address {at.shared}, {past} bytes past a start of the pattern"
        hint = f"start at a multiple of {m.mode.period}, or read with the base offset that belongs to it"
        yield "shared-pattern", found, hint


def _of_coordinates(m: TensorMap, at: Addresses) -> Found:
    """Yield the rules that the coordinates of an instruction break."""
    for coordinate in at.coordinates:
        if not -(1 << 31) <= coordinate < 1 << 31:
            found = f"a box starts at coordinate {coordinate}"
            yield "coordinate", found, "make the map of a nearer part of the tensor"
    if at.coordinates and at.coordinates[0] * m.dtype.bits % 128:
        hint = f"start at a multiple of {max(1, 128 // m.dtype.bits)}: "
        hint += "the instruction is illegal anywhere else, also before the row"
        yield "coordinate-multiple", f"a box starts at element {at.coordinates[0]} of a row", hint
    least = min(at.coordinates, default=0)
    if at.stores and least < 0:
        hint = "before the tensor a load is filled, and a store is illegal: store what is inside, from 0 on"
        yield "store-coordinate", f"a store starts at coordinate {least}", hint


def _in_32_bytes(m: TensorMap) -> bool:
    """Return True if addresses and strides are multiples of 32 bytes."""
    return m.interleave == "32B" or m.dtype.value in _ALIGN16


def _read() -> dict[str, Rule]:
    table = json.loads(Path(__file__).with_name("rules.json").read_text(encoding="utf-8"))
    documents = {name: Source(**said) for name, said in table["sources"].items()}
    return {
        name: Rule(row["sentence"], documents[row["source"]], row["kind"])
        for name, row in table["rules"].items()
    }


RULES = _read()
"""Every rule by its name, in the order of the driver's arguments: `rules.json`."""
