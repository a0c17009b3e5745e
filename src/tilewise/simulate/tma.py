"""TMA in the model: a box of a tensor into shared memory, and back.

Element i of the box, dimension by dimension, is element corner + i * step of the tensor.
`hardware.tma.landing` has its place: rows one after another from the copy's address, swizzled by absolute
address.

    load     all of the box arrives; elements outside the tensor as zeros, or as the NaN of the map
    store    elements outside the tensor are not written, except those that fill a row's last 16 bytes

Copies that the driver or the hardware refuses are refused, with the rules that they break (TW607).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int, counted
from tilewise.hardware.tma.rules import STORED_AT_ONCE, violations
from tilewise.hardware.tma.tensor_map import TensorMap
from tilewise.hardware.tma.types import ElementType, nan_fill
from tilewise.simulate.faults import Step
from tilewise.simulate.memory import NOBODY, Memory
from tilewise.simulate.numbers import FLOATS, joined
from tilewise.tables import table

Array = np.ndarray[Any, Any]

DIMENSIONS = ("i0", "i1", "i2", "i3", "i4")
"""Names of the index of an element of the box, the slowest dimension first."""


@dataclass(frozen=True, eq=False)
class Copy:
    """One copy, element by element: arrays of the extents of the box that lands, slowest dimension first."""

    tensor_map: TensorMap
    corner: tuple[int, ...]
    tensor: Array
    """The byte of global memory at which each element begins; NOBODY outside the tensor."""
    shared: Array
    """The byte of shared memory at which each element begins."""

    @property
    def bytes(self) -> int:
        """Return the bytes that the mbarrier of a load counts: the whole box, filled or not."""
        return self.tensor_map.bytes

    @property
    def inside(self) -> Array:
        """Return True for each element that is moved."""
        inside: Array = self.tensor != NOBODY
        return inside

    def instruction(self, verb: str) -> Step:
        """Return the step that names the copy as a culprit."""
        rank = self.tensor_map.rank
        return Step(f"TMA {verb}", rows=DIMENSIONS[:rank], shape=self.tensor.shape)


def copy_of(
    tensor_map: TensorMap, *, address: int = 0, corner: Sequence[int], to: int = 0, stores: bool = False
) -> Copy:
    """Return the place of every element of a copy in both memories.

    `address` is the tensor's, `to` that of the box in shared memory, `corner` the box's first element in the
    tensor, the slowest dimension first; with `stores` the box goes out.

        requires  a copy that the driver and the hardware take; interleave none

    >>> tensor_map = TensorMap.of("bf16", (100, 64), (8, 64), mode="128B")
    >>> copy = copy_of(tensor_map, address=4096, corner=(96, 0), to=1024)
    >>> copy.tensor[3, :2].tolist(), copy.tensor[4, :2].tolist(), copy.shared[3, :2].tolist()
    ([16768, 16770], [-1, -1], [1456, 1458])
    """
    first = tuple(as_int(number, "a coordinate") for number in corner)
    if len(first) != tensor_map.rank:
        raise LayoutError(
            "TW003",
            f"a tensor of {counted(tensor_map.rank, 'dimension')} and a corner of {len(first)}",
            hint="one coordinate a dimension, the slowest first",
        )
    broken = violations(tensor_map, address, shared=to, coordinates=first[::-1], stores=stores)
    if broken:
        raise Refused(
            "TW607",
            "; ".join(map(str, broken)),
            witness={"rules": [one.rule for one in broken]},
            hint=broken[0].hint,
        )
    shared = table(tensor_map.landing(to)).array.reshape(tensor_map.loaded)
    return Copy(tensor_map, first, _of_the_tensor(tensor_map, address, first, stores), shared)


def load(
    tensor_map: TensorMap,
    source: Memory,
    target: Memory,
    *,
    address: int = 0,
    corner: Sequence[int],
    to: int = 0,
) -> Copy:
    """Do the work of cp.async.bulk.tensor from global to shared memory, and return the copy.

        requires       a legal copy; every element of the box that the tensor has was written
        postcondition  the bytes of the box are those of the tensor, or of its fill; bytes beside a row
                       narrower than its swizzle are unchanged

    >>> tensor, tile = Memory(4096, name="global"), Memory(2048)
    >>> tensor.put(range(12 * 32), "f32")
    >>> done = load(TensorMap.of("f32", (12, 32), (8, 32), mode="128B"), tensor, tile, corner=(8, 0), to=1024)
    >>> done.bytes, tile.take("f32", done.tensor_map.landing(1024))[3:5, :2].tolist()
    (1024, [[352.0, 353.0], [0.0, 0.0]])
    """
    copy = copy_of(tensor_map, address=address, corner=corner, to=to)
    row = tensor_map.dtype
    held = source.read(copy.instruction("load"), copy.tensor, row.bits // 8)
    _check_unchanged(row, held)
    code = nan_fill(row.bits) if tensor_map.fill == "nan" else 0
    held[~copy.inside] = joined(np.array([code]), row.bits)
    target.write(copy.instruction("load"), copy.shared, held)
    return copy


def store(
    tensor_map: TensorMap,
    source: Memory,
    target: Memory,
    *,
    address: int = 0,
    corner: Sequence[int],
    start: int = 0,
) -> Copy:
    """Do the work of cp.async.bulk.tensor from shared to global memory, and return the copy.

    `start` is the box's address in shared memory.

        requires       a legal copy, with no negative coordinate; every element of the box that is stored was
                       written; element strides of 1: no document describes a store with others
        postcondition  the tensor has the box's bytes where it meets the box, and the bytes behind a
                       row up to a multiple of 16 have them too, as on an H200; nothing else is written

    >>> tile, tensor = Memory(2048), Memory(4096, name="global")
    >>> out = TensorMap.of("f32", (12, 32), (8, 32), mode="128B")
    >>> tile.put([[column for column in range(32)]] * 8, "f32", out.landing(), at=1024)
    >>> done = store(out, tile, tensor, corner=(8, 0), start=1024)
    >>> int(done.inside.sum()), int(tensor.written.sum()), tensor.take("f32", 2, at=9 * 128 + 8).tolist()
    (128, 512, [2.0, 3.0])
    """
    if set(tensor_map.element_strides) - {1}:
        raise Refused(
            "TW607",
            f"a store with element strides {tensor_map.element_strides} is not in the tables",
            witness={"element_strides": list(tensor_map.element_strides)},
            hint="store through a map of element strides 1, and let its own strides step",
        )
    copy = copy_of(tensor_map, address=address, corner=corner, to=start, stores=True)
    row = tensor_map.dtype
    held = source.read(copy.instruction("store"), np.where(copy.inside, copy.shared, NOBODY), row.bits // 8)
    _check_unchanged(row, held)
    target.write(copy.instruction("store"), copy.tensor, held)
    return copy


def _of_the_tensor(tensor_map: TensorMap, address: int, corner: tuple[int, ...], stores: bool) -> Array:
    """Return the byte of every element of the box that is moved, NOBODY for the others."""
    each = tensor_map.dtype.bits // 8
    strides = (*tensor_map.global_strides_bytes, each)
    steps = (*tensor_map.element_strides[:-1], 1)
    *outer, row = tensor_map.global_shape
    if stores:
        row = -(-row * each // STORED_AT_ONCE) * STORED_AT_ONCE // each
    byte: Any = np.int64(address)
    inside: Any = np.True_
    for grid, first, step, extent, stride in zip(
        np.indices(tensor_map.loaded, np.int64, sparse=True),
        corner,
        steps,
        (*outer, row),
        strides,
        strict=True,
    ):
        at = first + step * grid
        inside = inside & (at >= 0) & (at < extent)
        byte = byte + stride * at
    places: Array = np.where(inside, byte, NOBODY)
    return places


# -- types that change numbers -----------------------------------------------------------------------

_F32, _TF32 = FLOATS["f32"], FLOATS["tf32"]
_FLUSHED = ("FLOAT32_FTZ", "TFLOAT32_FTZ")
_SHORTENED = ("TFLOAT32", "TFLOAT32_FTZ")
"""CUTLASS's main loops for Hopper say of TFLOAT32 that TMA converts f32 to tf32 on the way."""


def _check_unchanged(row: ElementType, held: Array) -> None:
    """Refuse numbers that a type of a tensor map may change on the way: no document says how."""
    name = row.name.removeprefix("CU_TENSOR_MAP_DATA_TYPE_")
    if name not in (*_FLUSHED, *_SHORTENED):
        return
    codes = np.ascontiguousarray(held).view("<u4").ravel()
    magnitude = codes & 0x7FFFFFFF
    changed = np.zeros(codes.shape, bool)
    if name in _FLUSHED:
        changed |= (magnitude > 0) & (magnitude < 1 << _F32.mantissa)
    if name in _SHORTENED:
        changed |= codes % (1 << _TF32.unread) != 0
    if changed.any():
        code = int(codes[np.argmax(changed)])
        raise Refused(
            "TW607",
            f"what {name} makes of the number {code:#x} on the way is not in the tables",
            witness={"type": name, "code": code},
            hint="FLOAT32 moves every number as it is",
        )
