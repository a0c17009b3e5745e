"""Bytes of global or shared memory, with a mark for each byte that was written.

A step of a program touches memory in rows: a row for each lane of a warp, chunk of a copy, or element of an
operand. Where a device would give an error, or arbitrary old bytes, the model refuses (TW612) with its
culprit: the instruction, the warp, the lane, the address, the byte.
"""

from __future__ import annotations

from copy import copy, deepcopy
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_extent, as_int, counted
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.core.units import unit_bits
from tilewise.core.vectors import as_vector
from tilewise.hardware.limits import SHARED_BYTES
from tilewise.simulate.faults import HOST, Step, clash, fault
from tilewise.simulate.numbers import cut, decode, encode, fitted, joined
from tilewise.tables import table

Array = np.ndarray[Any, Any]

NOBODY = -1
"""The address of a lane that is not active."""


@dataclass(frozen=True, slots=True)
class Region:
    """A named part of memory."""

    name: str
    start: int
    bytes: int

    @property
    def end(self) -> int:
        """Return the first address past it."""
        return self.start + self.bytes

    def __str__(self) -> str:
        return f"{self.name}, bytes {self.start} to {self.end - 1}"


class Memory:
    """Bytes from one address on, each written or not.

    If parts of it are named, only they may be touched, and a row of a step must stay inside the part in which
    it begins.

    >>> shared = Memory(1024)
    >>> a = shared.region("A", 256, align=128)
    >>> shared.put(range(8), "bf16", at=a.start)
    >>> shared.take("bf16", 8, at=a.start).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    >>> shared.read(Step("ld", warp=0), [0, 16], 16)
    Traceback (most recent call last):
    tilewise.Refused: TW612: ld, warp 0, lane 1 reads byte 16 of shared memory (16 of A), which nothing wrote
      hint: write it first; for what is not meant to be read, put zeros
    """

    def __init__(self, size: int = SHARED_BYTES, *, name: str = "shared", start: int = 0) -> None:
        self.name, self.start, self.size = name, as_int(start, "the first address"), as_extent(size)
        self._data = np.zeros(self.size, np.uint8)
        self._written = np.zeros(self.size, bool)
        self._regions: tuple[Region, ...] = ()

    def __repr__(self) -> str:
        held = int(self._written.sum())
        return f"Memory({self.size}, name={self.name!r}, start={self.start}): {held} bytes written"

    @property
    def end(self) -> int:
        """Return the first address past it."""
        return self.start + self.size

    @property
    def data(self) -> Array:
        """Return every byte as a read-only view, 0 where nothing was written."""
        return _read_only(self._data)

    @property
    def written(self) -> Array:
        """Return a read-only mask of the bytes that were written."""
        return _read_only(self._written)

    @property
    def regions(self) -> tuple[Region, ...]:
        """Return the named parts, by address."""
        return self._regions

    def copy(self) -> Memory:
        """Return the same bytes and parts, independent from here on."""
        return deepcopy(self)

    def region(self, name: str, bytes: int, *, align: int = 1, at: int | None = None) -> Region:
        """Name a part of memory, behind the last part and aligned, or at a given address; return it.

        >>> shared = Memory(4096)
        >>> shared.region("a", 100), shared.region("b", 1024, align=1024).start
        (Region(name='a', start=0, bytes=100), 1024)
        """
        behind = max((one.end for one in self._regions), default=self.start)
        step = as_extent(align)
        made = Region(name, -(-behind // step) * step if at is None else as_int(at, "at"), as_extent(bytes))
        if not self.start <= made.start <= made.end <= self.end:
            raise LayoutError(
                "TW203",
                f"{made}, does not fit",
                hint=f"{self.name} memory has bytes {self.start} to {self.end - 1}",
            )
        for one in self._regions:
            if one.name == name or (made.start < one.end and one.start < made.end):
                raise LayoutError(
                    "TW203", f"{made}, meets {one}", hint="parts have a name and bytes of their own"
                )
        self._regions = tuple(sorted((*self._regions, made), key=lambda one: one.start))
        return made

    def within(self, *names: str) -> Memory:
        """Return the same memory restricted to these parts; writes there are writes here.

        >>> shared = Memory(4096)
        >>> a, b = shared.region("A", 8), shared.region("B", 8)
        >>> shared.within("B").read(Step("ld"), [0], 4)
        Traceback (most recent call last):
        tilewise.Refused: TW612: ld, lane 0 reads 4 bytes at 0 of shared memory, outside of B, bytes 8 to 15
          hint: a device stops at an illegal address, or goes on with the bytes of another tile
        """
        unknown = set(names) - {one.name for one in self._regions}
        if unknown or not names:
            asked = " ".join(sorted(unknown)) or "without a name"
            known = " ".join(one.name for one in self._regions) or "none; region(...) names one"
            raise LayoutError("TW203", f"{self.name} memory has no part {asked}", hint=f"it has {known}")
        part = copy(self)
        part._regions = tuple(one for one in self._regions if one.name in names)
        return part

    # -- steps ---------------------------------------------------------------------------------------

    def read(self, step: Step, addresses: Any, bytes: int, *, aligned: int = 1) -> Array:
        """Return the bytes of every row, as a last dimension behind the addresses'; zeros for NOBODY.

        requires  each row inside one part, at a multiple of `aligned`, every byte of it written
        """
        at = self._bytes(step, addresses, bytes, aligned, "reads")
        there = np.where(at == NOBODY, 0, at - self.start)
        unwritten = (at != NOBODY) & ~self._written[there]
        if unwritten.any():
            row, byte = np.argwhere(unwritten)[0]
            address = int(at[row, byte])
            raise self._fault(
                "unwritten",
                step,
                int(row),
                address,
                f"reads {self._byte(address)}, which nothing wrote",
                "write it first; for what is not meant to be read, put zeros",
            )
        found = np.where(at == NOBODY, np.uint8(0), self._data[there])
        return found.reshape(*np.shape(addresses), bytes)

    def write(self, step: Step, addresses: Any, data: Any, *, aligned: int = 1) -> None:
        """Put the bytes of every row, the last dimension, at its address, except for NOBODY.

        requires       each row inside one part, at a multiple of `aligned`; rows of one step that meet
                       in a byte write the same to it
        postcondition  all of it is written, or, if it is refused, nothing
        """
        given = np.ascontiguousarray(data, np.uint8)
        at = self._bytes(step, addresses, given.shape[-1], aligned, "writes")
        rows = given.reshape(at.shape)
        active = at != NOBODY
        to, values = at[active], rows[active]
        if two := clash(to, values):
            one, other = (int(np.nonzero(active)[0][position]) for position in two)
            raise self._overlapping(step, one, other, int(to[two[0]]))
        self._data[to - self.start] = values
        self._written[to - self.start] = True

    # -- the host ------------------------------------------------------------------------------------

    def put(self, numbers: Any, dtype: DType | str, layout: Layout | None = None, *, at: int = 0) -> None:
        """Write numbers of a type, one after another from `at` on, or each at its place in a layout.

            requires       places in memory, in the layout's unit; `at` is added inside its swizzle, as
                           hardware adds a base
            postcondition  take(dtype, layout, at=at) gives them back

        >>> from tilewise import S
        >>> shared = Memory(64)
        >>> shared.put([[1, 2], [3, 4]], "s4", S[(2, 2) : (1, 2)])
        >>> shared.data[:2].tolist(), shared.written[:3].tolist()
        ([49, 66], [True, True, False])
        """
        element = DType.of(dtype)
        if layout is None:
            codes = encode(numbers, element).reshape(-1, 1)
            bits = _in_a_row(codes.size, element, at)
        else:
            bits = bits_of(layout, element, at)
            codes = encode(fitted(numbers, extents_of(layout.shape)), element).reshape(-1, 1)
        own = np.broadcast_to(codes, self._from_zero(bits).shape)
        if element.bits % 8 == 0:
            self.write(HOST, bits // 8, joined(own[..., None], element.bits))
        else:
            self._put_bits(own, bits, element)

    def take(self, dtype: DType | str, layout: Layout | int | tuple[int, ...], *, at: int = 0) -> Array:
        """Return the numbers of a type at a layout's places, or a row of them from `at` on.

        >>> from tilewise import S
        >>> shared = Memory(64)
        >>> shared.put(range(6), "u8")
        >>> shared.take("u8", S[(2, 3) : (1, 2)]).tolist(), shared.take("u8", (2, 2)).tolist()
        ([[0, 2, 4], [1, 3, 5]], [[0, 1], [2, 3]])
        """
        element = DType.of(dtype)
        if isinstance(layout, Layout):
            bits, shape = bits_of(layout, element, at), extents_of(layout.shape)
        else:
            shape = (layout,) if isinstance(layout, int) else tuple(layout)
            bits = _in_a_row(prod(shape), element, at)
        codes = self._codes(self._from_zero(bits), element)
        apart = codes != codes[:, :1]
        if apart.any():
            row, copy = map(int, np.argwhere(apart)[0])
            one, other = (int(bits[row, which]) // 8 for which in (0, copy))
            raise self._fault(
                "apart",
                HOST,
                row,
                one,
                f"has different numbers at {self._byte(one)} and {self._byte(other)}",
                "copies of an element are one element",
                other=other,
            )
        return decode(codes[:, 0], element).reshape(shape)

    def _codes(self, bits: Array, element: DType) -> Array:
        """Return the codes that begin at these bits."""
        if element.bits % 8 == 0:
            return cut(self.read(HOST, bits // 8, element.bits // 8), element.bits)[..., 0]
        held = self.read(HOST, np.stack([bits // 8, (bits + element.bits - 1) // 8], axis=-1), 1)
        both = cut(held[..., 0], 16)[..., 0]
        return both >> (bits % 8).astype(np.uint64) & np.uint64((1 << element.bits) - 1)

    def _put_bits(self, codes: Array, bits: Array, element: DType) -> None:
        """Write elements that share bytes with others; leave the bits beside them."""
        each = np.arange(element.bits)
        places = (bits[..., None] + each).ravel()
        values = (codes[..., None] >> each.astype(np.uint64) & np.uint64(1)).astype(np.uint8).ravel()
        if two := clash(places, values):
            one, other = (index // element.bits for index in two)
            raise self._overlapping(HOST, one, other, int(places[two[0]]) // 8)
        touched = np.unique(places // 8)
        self._bytes(HOST, touched, 1, 1, "writes")
        held = np.unpackbits(self._data[touched - self.start], bitorder="little")
        held[8 * np.searchsorted(touched, places // 8) + places % 8] = values
        self.write(HOST, touched, np.packbits(held, bitorder="little")[:, None])

    def _from_zero(self, bits: Array) -> Array:
        """Return the places; refuse one below 0, which a step would take for NOBODY's address."""
        if (bits < 0).any():
            row = int(np.argwhere(bits < 0)[0][0])
            raise self._outside(HOST, row, int(bits[bits < 0].flat[0]) // 8, 1, "reaches for")
        return bits

    # -- refusals ------------------------------------------------------------------------------------

    def _bytes(self, step: Step, addresses: Any, bytes: int, aligned: int, does: str) -> Array:
        """Return [row, byte]: the address of every byte, NOBODY in rows without an address."""
        given = np.asarray(addresses)
        if given.size and given.dtype.kind not in "iu":
            raise LayoutError(
                "TW101", f"addresses of {step.instruction} are whole numbers, not {given.dtype}"
            )
        flat = given.astype(np.int64).reshape(-1)
        active = flat != NOBODY
        low, high = self._limits(flat)
        outside = active & ((flat < low) | (flat + bytes > high))
        if outside.any():
            row = int(np.argmax(outside))
            raise self._outside(step, row, int(flat[row]), bytes, does)
        odd = active & (flat % aligned != 0)
        if odd.any():
            row = int(np.argmax(odd))
            address = int(flat[row])
            raise self._fault(
                "misaligned",
                step,
                row,
                address,
                f"{does} at {self._byte(address)}, no multiple of {aligned}",
                "an address is a multiple of what is moved there at once",
                aligned=aligned,
            )
        return np.where(active[:, None], flat[:, None] + np.arange(bytes), NOBODY)

    def _limits(self, flat: Array) -> tuple[Array, Array]:
        """Return the first address of the part that each row belongs to, and the first past it."""
        if not self._regions:
            return np.full(flat.shape, self.start), np.full(flat.shape, self.end)
        starts = np.array([one.start for one in self._regions])
        ends = np.array([one.end for one in self._regions])
        part = np.maximum(np.searchsorted(starts, flat, side="right") - 1, 0)
        return starts[part], ends[part]

    def _overlapping(self, step: Step, one: int, other: int, address: int) -> Refused:
        return self._fault(
            "overlapping",
            step,
            one,
            address,
            f"and {step.row_words(other)} write different bytes to {self._byte(address)}",
            "which of them stays is not defined",
            other=step.counted(other),
        )

    def _outside(self, step: Step, row: int, address: int, bytes: int, does: str) -> Refused:
        part = self._region_at(address)
        if part is not None:
            limits = f"past the end of {part}"
        elif len(self._regions) == 1:
            limits = f"outside of {self._regions[0]}"
        elif self._regions:
            limits = "in none of " + "; ".join(map(str, self._regions))
        else:
            limits = f"outside of bytes {self.start} to {self.end - 1}"
        return self._fault(
            "outside",
            step,
            row,
            address,
            f"{does} {counted(bytes, 'byte')} at {address} of {self.name} memory, {limits}",
            "a device stops at an illegal address, or goes on with the bytes of another tile",
            bytes=bytes,
        )

    def _fault(
        self, kind: str, step: Step, row: int, address: int, does: str, hint: str, **more: Any
    ) -> Refused:
        part = self._region_at(address)
        where = {"memory": self.name} | ({"region": part.name} if part else {})
        witness = where | step.culprit(row) | {"address": address} | more
        return fault(kind, f"{step.words(row)} {does}", witness, hint)

    def _byte(self, address: int) -> str:
        part = self._region_at(address)
        inside = f" ({address - part.start} of {part.name})" if part else ""
        return f"byte {address} of {self.name} memory{inside}"

    def _region_at(self, address: int) -> Region | None:
        return next((one for one in self._regions if one.start <= address < one.end), None)


def _in_a_row(count: int, element: DType, at: int) -> Array:
    """Return the first bit of `count` elements, one after another from a byte on: [element, 1]."""
    return as_int(at, "at") * 8 + np.arange(count)[:, None] * element.bits


def bits_of(layout: Layout, dtype: DType | str, at: int = 0) -> Array:
    """Return [element, copy]: the first bit of every place of a layout of memory, counted from address 0.

        requires  places on storage `m` alone; `at`, in bytes, is a whole number of the layout's units

    >>> from tilewise import S, Swizzle
    >>> bits_of(S[4 : 2], "f16", at=4).ravel().tolist()
    [32, 64, 96, 128]
    >>> bits_of(Swizzle(1, 3, 3) @ S[2 : 8], "bf16", at=128).ravel().tolist()
    [1152, 1024]
    """
    element = DType.of(dtype)
    unit, at = unit_bits(layout.unit, element), as_int(at, "at")
    if at * 8 % unit or (element.bits < 8 and 8 % element.bits):
        raise LayoutError(
            "TW106",
            f"elements of {element} do not begin at byte {at} of memory",
            hint="count in bytes or bits",
        )
    places = table(layout + as_vector(at * 8 // unit) if at else layout)
    if places.axes not in ((), ("m",)):
        raise LayoutError("TW203", f"{layout} has the axes {' '.join(places.axes)}, and memory has m")
    found = places.columns["m"] if places.axes else np.zeros(layout.size, np.int64)
    bits = found.reshape(layout.size, -1) * unit
    grain = min(element.bits, 8)
    odd = bits % grain != 0
    if odd.any():
        which = int(np.argwhere(odd)[0][0])
        raise LayoutError(
            "TW106",
            f"element {which} of {layout} begins at bit {int(bits[odd].flat[0])} of memory",
            hint=f"elements of {element} begin at a multiple of {counted(grain, 'bit')}",
        )
    return bits


def _read_only(array: Array) -> Array:
    seen = array.view()
    seen.flags.writeable = False
    return seen
