"""Every rule for a tensor map, by name: what it asks, where it is written, and what breaks it.

    driver    cuTensorMapEncodeTiled returns CUDA_ERROR_INVALID_VALUE
    hardware  the map is made, and the copy faults or cannot be placed
    advice    nothing enforces it: what a document asks for, or what a store does besides

`violations` has the first two, `remarks` the third. A rule is a row of the table; each check tells what
it found in numbers, and what to change. Where the documents are silent, or say what the driver does not
hold to, a device was asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int, counted
from tilewise.hardware import sources
from tilewise.hardware.limits import SHARED_BYTES, SM_SHARED_BYTES
from tilewise.hardware.sources import (
    DEVICE_TENSOR_MAP,
    DEVICE_TENSOR_STORE,
    DRIVER_TENSOR_MAP,
    GUIDE_CAPABILITIES,
    GUIDE_TMA,
    PTX_TENSOR_COPY,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from tilewise.hardware.tma.tensor_map import TensorMap

    Found: TypeAlias = Iterator[tuple[str, str]]
    """(what was found, what to change)."""

DRIVER, HARDWARE, ADVICE = "driver", "hardware", "advice"

MAX_RANK = 5
MAX_EXTENT = 1 << 32
MAX_STRIDE = 1 << 40
MAX_BOX = 256
MAX_ELEMENT_STRIDE = 8
SHARED_ALIGNMENT = 128
MAP_ALIGNMENT = 64
STORED_AT_ONCE = 16
"""Bytes: a store writes whole pieces of so many, behind a row's end too."""
MAX_BOX_BYTES = SM_SHARED_BYTES
"""Of floor(box / element stride) along every dimension, the innermost too: so a driver counts."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the parts of a copy lie: the tensor, the box in shared memory, the map, the box in the tensor."""

    tensor: int = 0
    shared: int = 0
    map: int = 0
    coordinates: tuple[int, ...] = ()
    """As the instruction takes them: the innermost first."""
    stores: bool = False
    """Whether the copy goes out, from shared memory to the tensor."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that is broken: its name, by what, and what to change."""

    rule: str
    message: str
    hint: str
    source: sources.Source

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its name, what it asks in a sentence, its document, who enforces it, its check."""

    name: str
    sentence: str
    source: sources.Source
    kind: str
    check: Callable[[TensorMap, Addresses], Iterator[tuple[str, str]]]

    def broken(self, tensor_map: TensorMap, at: Addresses) -> Iterator[Violation]:
        """Every way in which it is broken."""
        for message, hint in self.check(tensor_map, at):
            yield Violation(self.name, message, hint, self.source)


def violations(
    tensor_map: TensorMap,
    address: int = 0,
    *,
    shared: int = 0,
    map_address: int = 0,
    coordinates: Sequence[int] = (),
    stores: bool = False,
) -> tuple[Violation, ...]:
    """Every rule that the driver or the hardware holds a copy to and this one breaks.

    `address` is the tensor's, `shared` that of the box in shared memory, `map_address` the map's own,
    `coordinates` what the instruction is given, the innermost first; `stores` says that the box goes out.

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
    """What documents advise and this copy does not follow, and what a store does besides; both work.

    >>> from tilewise.hardware.tma.tensor_map import TensorMap
    >>> for remark in remarks(TensorMap.of("bf16", (64, 64), (8, 64), mode="128B"), shared=128):
    ...     print(remark)
    shared-pattern: the box is at shared address 128, 128 bytes past a start of the pattern
    """
    return _broken(tensor_map, (ADVICE,), Addresses(address, shared, map_address, stores=stores))


def _broken(tensor_map: TensorMap, kinds: tuple[str, ...], at: Addresses) -> tuple[Violation, ...]:
    for number in (at.tensor, at.shared, at.map, *at.coordinates):
        as_int(number, "an address or a coordinate")
    return tuple(
        broken for rule in RULES.values() if rule.kind in kinds for broken in rule.broken(tensor_map, at)
    )


# -- the checks ------------------------------------------------------------------------------------


def _aligned(what: str, address: int, unit: int) -> Found:
    if address < 0:
        yield f"{what} is at {address}", "addresses begin at 0"
    elif address % unit:
        yield f"{what} is at {address:#x}", f"the next multiple of {unit} is {-(-address // unit) * unit:#x}"


def _rank(m: TensorMap, at: Addresses) -> Found:
    if not 1 <= m.rank <= MAX_RANK:
        yield (
            f"the tensor has {counted(m.rank, 'dimension')}",
            "merge dimensions that follow one another in memory" if m.rank else "name one dimension",
        )


def _rank_interleaved(m: TensorMap, at: Addresses) -> Found:
    if m.interleave != "none" and m.rank < 3:
        yield (
            f"interleave {m.interleave} on {counted(m.rank, 'dimension')}",
            "give it dimensions of extent 1, or interleave none",
        )


def _type(m: TensorMap, at: Addresses) -> Found:
    if m.dtype.packed:
        yield f"{m.dtype} is a type of Blackwell", "on Hopper move the bytes: UINT8"


def _address(m: TensorMap, at: Addresses) -> Found:
    yield from _aligned("the tensor", at.tensor, 16)


def _address_32(m: TensorMap, at: Addresses) -> Found:
    if m.interleave == "32B" or m.dtype.value in _ALIGN16:
        yield from _aligned("the tensor", at.tensor, 32)


def _extent(m: TensorMap, at: Addresses) -> Found:
    for i, extent in enumerate(m.global_shape):
        if not 1 <= extent <= MAX_EXTENT:
            yield (
                f"dimension {i} has {extent} elements",
                "leave it out, or give it extent 1" if extent < 1 else "split it into two dimensions",
            )


def _extent_packed(m: TensorMap, at: Addresses) -> Found:
    unit = 128 if m.dtype.value in _ALIGN16 else 2 if m.dtype.packed else 1
    if m.rank and m.global_shape[-1] % unit:
        yield f"the innermost dimension has {m.global_shape[-1]} elements", f"make it a multiple of {unit}"


def _stride_multiple(m: TensorMap, at: Addresses) -> Found:
    yield from _stride_of(m, 16)


def _stride_multiple_32(m: TensorMap, at: Addresses) -> Found:
    if m.interleave == "32B" or m.dtype.value in _ALIGN16:
        yield from _stride_of(m, 32)


def _stride_of(m: TensorMap, unit: int) -> Found:
    for i, stride in enumerate(m.global_strides_bytes):
        if stride % unit:
            yield (
                f"the stride of dimension {i} is {stride} bytes",
                f"pad the rows to {-(-stride // unit) * unit} bytes",
            )


def _stride_range(m: TensorMap, at: Addresses) -> Found:
    for i, stride in enumerate(m.global_strides_bytes):
        if not 0 <= stride < MAX_STRIDE:
            yield (
                f"the stride of dimension {i} is {stride} bytes",
                "a stride runs upwards: turn the dimension round" if stride < 0 else "copy from nearer parts",
            )


def _stride_covers(m: TensorMap, at: Addresses) -> Found:
    inner = m.global_shape[-1] * m.dtype.bits // 8 if m.rank else 0
    if m.rank > 1 and 0 <= m.global_strides_bytes[-1] < inner:
        yield (
            f"rows are {inner} bytes and follow one another by {m.global_strides_bytes[-1]}",
            "rows that overlap can be read; what is stored through such a map is not defined",
        )


def _box_extent(m: TensorMap, at: Addresses) -> Found:
    for i, extent in enumerate(m.box):
        if not 1 <= extent <= MAX_BOX:
            yield (
                f"the box takes {counted(extent, 'element')} of dimension {i}",
                "a box has an element at least"
                if extent < 1
                else f"take {-(-extent // MAX_BOX)} boxes, or a dimension more",
            )


def _box_multiple(m: TensorMap, at: Addresses) -> Found:
    bits = m.box[-1] * m.dtype.bits if m.rank else 0
    if bits % 128:
        size = f"{bits // 8} bytes" if bits % 8 == 0 else f"{bits} bits"
        yield (
            f"a row of the box is {counted(m.box[-1], 'element')}, {size}",
            f"take a multiple of {max(1, 128 // m.dtype.bits)} elements",
        )


def _box_bytes(m: TensorMap, at: Addresses) -> Found:
    if 0 in m.element_strides:
        return
    floors = [extent // step for extent, step in zip(m.box, m.element_strides, strict=True)]
    size = prod(floors) * m.dtype.bits // 8
    if size > MAX_BOX_BYTES:
        yield f"the box is {size} bytes", f"the driver makes maps of {MAX_BOX_BYTES} at most: take more boxes"


def _box_packed(m: TensorMap, at: Addresses) -> Found:
    if m.dtype.value in _ALIGN16 and m.rank and m.box[-1] != 128:
        yield f"a row of the box is {counted(m.box[-1], 'element')}", "take 128"


def _element_stride(m: TensorMap, at: Addresses) -> Found:
    for i, stride in enumerate(m.element_strides):
        if not 1 <= stride <= MAX_ELEMENT_STRIDE:
            yield f"the element stride of dimension {i} is {stride}", "take every element, or one in 2 to 8"


def _interleave_swizzle(m: TensorMap, at: Addresses) -> Found:
    if m.interleave == "32B" and m.mode.name != "32B":
        yield f"interleave 32B with swizzle {m.mode}", "take swizzle 32B"


def _box_swizzle(m: TensorMap, at: Addresses) -> Found:
    if m.interleave == "none" and m.mode.bits and m.inner_bytes > m.mode.width:
        most = m.mode.width * 8 // m.dtype.bits
        yield (
            f"a row of the box is {m.inner_bytes} bytes, and the swizzle is {m.mode.width} wide",
            f"take {most} elements a row, and the rest as a dimension of its own",
        )


def _swizzle_packed(m: TensorMap, at: Addresses) -> Found:
    if m.dtype.value in _ALIGN16 and m.mode.name not in ("none", "128B"):
        yield f"{m.dtype} with swizzle {m.mode}", "take swizzle none or 128B"


def _interleave_packed(m: TensorMap, at: Addresses) -> Found:
    if m.dtype.value == _U6 and m.interleave != "none":
        yield f"{m.dtype} with interleave {m.interleave}", "take interleave none"


def _fill(m: TensorMap, at: Addresses) -> Found:
    if m.fill == "nan" and not m.dtype.floating:
        yield f"fill nan for {m.dtype}", "take fill zero, or a floating-point type of the same width"


def _map_address(m: TensorMap, at: Addresses) -> Found:
    yield from _aligned("the map", at.map, MAP_ALIGNMENT)


def _shared_address(m: TensorMap, at: Addresses) -> Found:
    yield from _aligned("the box", at.shared, SHARED_ALIGNMENT)


def _shared_size(m: TensorMap, at: Addresses) -> Found:
    size = m.shared_bytes
    if size > 0 and at.shared + size > SHARED_BYTES:
        yield (
            f"the box takes {size} bytes" + (f", from {at.shared:#x} on" if at.shared else ""),
            f"a block has {SHARED_BYTES} bytes at most",
        )


def _coordinate(m: TensorMap, at: Addresses) -> Found:
    for coordinate in at.coordinates:
        if not -(1 << 31) <= coordinate < 1 << 31:
            yield (
                f"a box starts at coordinate {coordinate}",
                "make the map of a nearer part of the tensor",
            )


def _coordinate_multiple(m: TensorMap, at: Addresses) -> Found:
    if at.coordinates and at.coordinates[0] * m.dtype.bits % 128:
        first = at.coordinates[0]
        yield (
            f"a box starts at element {first} of a row",
            f"start at a multiple of {max(1, 128 // m.dtype.bits)}: "
            "the instruction is illegal anywhere else, also before the row",
        )


def _store_coordinate(m: TensorMap, at: Addresses) -> Found:
    if at.stores and min(at.coordinates, default=0) < 0:
        first = min(at.coordinates)
        yield (
            f"a store starts at coordinate {first}",
            "before the tensor a load is filled, and a store is illegal: store what is inside, from 0 on",
        )


def _store_row(m: TensorMap, at: Addresses) -> Found:
    row = m.global_shape[-1] * m.dtype.bits // 8 if m.rank else 0
    if at.stores and row % STORED_AT_ONCE:
        behind = -row % STORED_AT_ONCE
        yield (
            f"rows of the tensor are {row} bytes, and a store that reaches their end writes "
            f"{counted(behind, 'byte')} more",
            f"leave the bytes up to the next multiple of {STORED_AT_ONCE} to the store, or give the box what "
            "stands there",
        )


def _shared_pattern(m: TensorMap, at: Addresses) -> Found:
    past = at.shared % m.mode.period if m.mode.bits else 0
    if past and at.shared % SHARED_ALIGNMENT == 0:
        yield (
            f"the box is at shared address {at.shared}, {past} bytes past a start of the pattern",
            f"start at a multiple of {m.mode.period}, or read with the base offset that belongs to it",
        )


def _address_swizzled(m: TensorMap, at: Addresses) -> Found:
    if m.mode.bits and at.tensor % 16 == 0:
        yield from _aligned("the tensor", at.tensor, 128)


_ALIGN16 = (14, 15)
"""16U4_ALIGN16B and 16U6_ALIGN16B."""

_U6 = 15

RULES = {
    rule.name: rule
    for rule in (
        Rule("rank", "a tensor has 1 to 5 dimensions", DRIVER_TENSOR_MAP, DRIVER, _rank),
        Rule(
            "rank-interleaved",
            "an interleaved tensor has 3 dimensions or more",
            DRIVER_TENSOR_MAP,
            DRIVER,
            _rank_interleaved,
        ),
        Rule("type", "elements are 8, 16, 32 or 64 bits on Hopper", DRIVER_TENSOR_MAP, DRIVER, _type),
        Rule("address", "the tensor starts at a multiple of 16 bytes", DRIVER_TENSOR_MAP, DRIVER, _address),
        Rule(
            "address-32",
            "an interleave of 32 B, or a packed type aligned to 16 B, starts at a multiple of 32 bytes",
            DRIVER_TENSOR_MAP,
            DRIVER,
            _address_32,
        ),
        Rule("extent", "a dimension has 1 to 2^32 elements", DRIVER_TENSOR_MAP, DRIVER, _extent),
        Rule(
            "extent-packed",
            "a packed type has a multiple of 2, or of 128 where it is aligned to 16 B, as innermost extent",
            DRIVER_TENSOR_MAP,
            DRIVER,
            _extent_packed,
        ),
        Rule(
            "stride-multiple",
            "strides are multiples of 16 bytes",
            DRIVER_TENSOR_MAP,
            DRIVER,
            _stride_multiple,
        ),
        Rule(
            "stride-multiple-32",
            "with an interleave of 32 B, or a packed type aligned to 16 B, strides are multiples of 32 bytes",
            DRIVER_TENSOR_MAP,
            DRIVER,
            _stride_multiple_32,
        ),
        Rule(
            "stride-range",
            "strides are at least 0 and below 2^40 bytes",
            DRIVER_TENSOR_MAP,
            DRIVER,
            _stride_range,
        ),
        Rule(
            "box-extent", "a box takes 1 to 256 elements a dimension", DRIVER_TENSOR_MAP, DRIVER, _box_extent
        ),
        Rule(
            "box-multiple",
            "a row of the box is a multiple of 16 bytes",
            DRIVER_TENSOR_MAP,
            DRIVER,
            _box_multiple,
        ),
        Rule(
            "box-bytes",
            "a box is no more than 228 KiB, the shared memory of an SM",
            DEVICE_TENSOR_MAP,
            DRIVER,
            _box_bytes,
        ),
        Rule(
            "box-packed",
            "a row of the box of a packed type aligned to 16 B is 128 elements",
            DRIVER_TENSOR_MAP,
            DRIVER,
            _box_packed,
        ),
        Rule("element-stride", "element strides are 1 to 8", DRIVER_TENSOR_MAP, DRIVER, _element_stride),
        Rule(
            "box-swizzle",
            "a row of the box is no wider than the swizzle",
            DRIVER_TENSOR_MAP,
            DRIVER,
            _box_swizzle,
        ),
        Rule(
            "swizzle-packed",
            "a packed type aligned to 16 B takes swizzle none or 128B",
            DRIVER_TENSOR_MAP,
            DRIVER,
            _swizzle_packed,
        ),
        Rule(
            "interleave-packed",
            "6-bit elements take interleave none",
            DRIVER_TENSOR_MAP,
            DRIVER,
            _interleave_packed,
        ),
        Rule("fill", "NaN fills floating-point types alone", DRIVER_TENSOR_MAP, DRIVER, _fill),
        Rule(
            "map-address", "the map lies at a multiple of 64 bytes", DRIVER_TENSOR_MAP, DRIVER, _map_address
        ),
        Rule(
            "shared-address",
            "the box lands at a multiple of 128 bytes of shared memory",
            GUIDE_TMA,
            HARDWARE,
            _shared_address,
        ),
        Rule(
            "shared-size",
            "the box fits the shared memory of a block",
            GUIDE_CAPABILITIES,
            HARDWARE,
            _shared_size,
        ),
        Rule(
            "coordinate",
            "a coordinate fits 32 bits with a sign",
            PTX_TENSOR_COPY,
            HARDWARE,
            _coordinate,
        ),
        Rule(
            "coordinate-multiple",
            "the innermost coordinate is a multiple of 16 bytes",
            DEVICE_TENSOR_MAP,
            HARDWARE,
            _coordinate_multiple,
        ),
        Rule(
            "store-coordinate",
            "a store has no negative coordinate",
            DEVICE_TENSOR_STORE,
            HARDWARE,
            _store_coordinate,
        ),
        Rule(
            "store-row",
            "a row of a tensor that is stored to is a multiple of 16 bytes: a store writes so many at once",
            DEVICE_TENSOR_STORE,
            ADVICE,
            _store_row,
        ),
        Rule(
            "shared-pattern",
            "a swizzled box starts where the pattern does: 8 rows of its width",
            GUIDE_TMA,
            ADVICE,
            _shared_pattern,
        ),
        Rule(
            "address-swizzled",
            "a tensor that is swizzled on its way starts at a multiple of 128 bytes",
            GUIDE_TMA,
            ADVICE,
            _address_swizzled,
        ),
        Rule(
            "interleave-swizzle",
            "an interleave of 32 B takes swizzle 32B",
            DRIVER_TENSOR_MAP,
            ADVICE,
            _interleave_swizzle,
        ),
        Rule(
            "stride-covers",
            "the stride of rows is no less than a row",
            DRIVER_TENSOR_MAP,
            ADVICE,
            _stride_covers,
        ),
    )
}
"""Every rule by name, in the order of the driver's arguments."""
