"""An access: the elements of a tile that the lanes of a warp request, and the tile in memory.

An access is a layout as well: [request, lane, element] to a flat index of the tile. Composed with the tile's
layout it gives addresses; a lane's elements must follow one another there, for an instruction moves
neighbouring bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from tilewise.core.axes import Axis, m
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int, counted
from tilewise.core.layout import Layout, as_layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import Shape, extents_of, size_of, spell
from tilewise.core.vectors import along
from tilewise.hardware.limits import LANES
from tilewise.hardware.memory.banks import Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import numpy as np

BYTE = 8

INACTIVE = -1
"""The address of an inactive lane, whose elements are past the end of the tile."""

MOST_LISTED = 1 << 25
"""The most addresses that are listed one by one, where no proof makes that needless: a few gigabytes."""


# -- the access ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Access:
    """The elements of a tile that the lanes of a warp request, one instruction after the other.

    requires  index has the shape (requests, lanes, elements of one lane); its places are flat indices of
              the tile, row-major. Lanes past its second extent are inactive, and so is a lane whose
              index is past the end of the tile
    """

    name: str
    """The text for it: `row:16B`, `ldmatrix.x4.trans`, or the layout itself."""
    operation: Operation
    dtype: DType
    tile: Shape
    index: Layout = field(repr=False)
    trans: bool = False
    """True if the matrices of ldmatrix or stmatrix are transposed on the way; addresses are the same."""

    def check_size(self, size: int) -> None:
        """Refuse a tile of another number of elements."""
        expected = size_of(self.tile)
        if expected != size:
            raise LayoutError(
                "TW202", f"{self.name} is an access of {expected} elements, and the tile has {size}"
            )

    @cached_property
    def requests(self) -> int:
        """Return the instructions that one warp executes for the whole access."""
        return extents_of(self.index.shape)[0]

    @cached_property
    def lanes(self) -> int:
        """Return the lanes that supply an address."""
        return extents_of(self.index.shape)[1]

    @cached_property
    def elements(self) -> int:
        """Return the elements that follow the address of one lane."""
        return extents_of(self.index.shape)[2]

    @property
    def bytes(self) -> int:
        """Return the bytes that follow the address of one lane."""
        return self.elements * self.dtype.bits // BYTE

    @property
    def idle(self) -> int:
        """Return the lanes of a warp that no request has; 0 of matrices and TMA, which need fewer."""
        whole = self.operation.matrix or self.operation.name == "tma"
        return 0 if whole else LANES - self.lanes

    @property
    def idle_said(self) -> str:
        """Return a sentence about the idle lanes, or an empty one.

        >>> from tilewise import S
        >>> from tilewise.check.access import access_of
        >>> access_of("S[(2, 8, 8) : (64, 8, 1)]", S[(16, 8)], "f16").idle_said
        '8 of 32 lanes ask, and 24 are idle: of three modes the first counts requests, the second lanes'
        """
        if not self.idle:
            return ""
        of_modes = self.requests > 1 and self.name.startswith(("S[", "("))
        why = ": of three modes the first counts requests, the second lanes" if of_modes else ""
        idle = f"{self.idle} {'is' if self.idle == 1 else 'are'} idle"
        return f"{self.lanes} of {LANES} lanes ask, and {idle}{why}"

    def as_dict(self) -> dict[str, Any]:
        """Return the request as plain data."""
        return {
            "access": self.name,
            "operation": self.operation.name,
            "bytes": self.bytes,
            "requests": self.requests,
            "lanes": self.lanes,
            "idle": self.idle,
        }


# -- the addresses of its lanes --------------------------------------------------------------------------


@dataclass(frozen=True)
class Lanes:
    """The byte addresses of an access of a tile with an address.

    postcondition  table[request, lane] is the address, -1 where the lane is inactive; where all are
                   active, and composition has an answer, also a layout of those two modes
    """

    access: Access
    layout: Layout | None = field(repr=False)
    """[request, lane] to a byte address, where composition has an answer."""
    listed: np.ndarray | None = field(default=None, repr=False)
    """The same as an array, where it has none."""

    def request(self, number: int) -> list[int | None]:
        """Return the address of every lane in one request, None where the lane is inactive."""
        if not 0 <= number < self.access.requests:
            raise LayoutError(
                "TW201",
                f"there is no request {number}",
                hint=f"requests are 0..{self.access.requests - 1}",
            )
        if self.layout is None:
            return [None if address < 0 else address for address in self.table[number].tolist()]
        first = number * self.access.lanes
        return [self.layout.points(first + lane)[0][0] for lane in range(self.access.lanes)]

    @cached_property
    def table(self) -> np.ndarray:
        """Return the addresses as an array (requests, lanes)."""
        from tilewise.tables import table

        if self.listed is not None:
            return self.listed
        assert self.layout is not None
        return table(self.layout).array.reshape(self.access.requests, self.access.lanes)


def check_listed(addresses: int, most: int = MOST_LISTED) -> None:
    """Refuse more addresses than can be listed, or than a caller allows."""
    if addresses > most:
        raise LayoutError(
            "TW301",
            f"{addresses} addresses would be computed one by one, and {most} is the most",
            hint="ask about a part of the tile, or one whose extents and strides are powers of two",
        )


def check_lanes(addresses: int) -> None:
    """Refuse a request of more lanes than a warp has."""
    if addresses > LANES:
        raise LayoutError(
            "TW201",
            f"{addresses} addresses, and a warp has {LANES} lanes",
            hint="a request is one instruction of one warp: ask about the next one by itself",
        )


def checked(bytes: int, addresses: Iterable[int | None]) -> list[int | None]:
    """Return the addresses of a request, one a lane: up to 32, from 0 on, multiples of `bytes`.

    >>> checked(4, (0, None, 8))
    [0, None, 8]
    """
    valid = [
        None if address is None else as_int(address, f"the address of lane {lane}")
        for lane, address in enumerate(addresses)
    ]
    check_lanes(len(valid))
    for lane, address in enumerate(valid):
        if address is not None and (address < 0 or address % bytes):
            raise no_vector(f"lane {lane}", bytes, address)
    return valid


def no_vector(lane: str, bytes: int, address: int) -> LayoutError:
    """Return the error of a lane whose address is below 0, or not a multiple of its width.

    >>> print(no_vector("lane 2", 4, -8))
    TW203: lane 2 asks for 4 bytes at -8, below 0
      hint: addresses are 0 and more
    """
    why, hint = f"no multiple of {bytes}", "a vector is aligned to its own width"
    if address < 0:
        why, hint = "below 0", "addresses are 0 and more"
    return LayoutError("TW203", f"{lane} asks for {counted(bytes, 'byte')} at {address}, {why}", hint=hint)


# -- the tile in memory ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stored:
    """A tile in memory: the start of every element, in bytes, or in bits where it is smaller than a byte.

    >>> from tilewise import S
    >>> tile = Stored.of(S[(8, 64) : (64, 1)], "bf16", base=1024)
    >>> print(tile.layout, tile.step)
    S[(8, 64) : (128, 2)] + 1024 2
    >>> tile = Stored.of(S[(8, 64) : (64, 1)], "e2m1")
    >>> print(tile.layout, tile.step, tile.unit)
    S[(8, 64) : (256, 4)] 4 1
    """

    layout: Layout
    """From the tile's modes to one storage axis; the tile's address is included."""
    dtype: DType
    unit: int
    """Bits of one step on that axis: 8, or 1."""
    tile: Layout = field(repr=False, compare=False)
    """The tile as the user gave it."""

    @classmethod
    def of(cls, layout: Layout, dtype: DType | str, base: int = 0) -> Stored:
        """Return the tile at the byte address `base`, from which its layout, and its swizzle, count.

        refused  TW610 elements with copies, or whose places are no addresses
        """
        tile = by_coordinates(as_layout(layout))
        # numbers with names are equal by the facts at hand, and a kept answer knows other facts
        stored = _stored.__wrapped__ if tile.has_names else _stored
        return stored(tile, DType.of(dtype), as_int(base, "a base"))

    @property
    def step(self) -> int:
        """Return the units from an element to the one that follows it in memory."""
        return self.dtype.bits // self.unit

    @property
    def size(self) -> int:
        """Return the number of elements of the tile."""
        return self.layout.size

    def at(self, index: int) -> int:
        """Return the address of the element of a flat index, in units."""
        return sum(self.layout.points(index)[0])

    def matrix(self, why: str) -> tuple[int, int]:
        """Return the tile's rows and columns; refuse a tile of another number of modes.

        refused  TW610 a tile of another rank
        """
        extents = extents_of(self.layout.shape)
        if len(extents) != 2:
            raise Refused(
                "TW610",
                f"{why} of a tile of rows and columns, and the shape {spell(self.layout.shape)} "
                f"has {counted(len(extents), 'mode')}",
                witness={"modes": len(extents)},
                hint="tilewise algebra group gives a layout two modes",
            )
        return extents[0], extents[1]


@lru_cache(maxsize=16)  # one access, or several of one tile, use it again
def _stored(tile: Layout, element: DType, base: int) -> Stored:
    axis = _axis(tile)
    if any(it.extent > 1 and it.stride for it in tile.replica):
        raise Refused(
            "TW610",
            "an element with copies has no one address",
            hint="ask about the layout without R, one copy at a time",
        )
    alone = on_one_axis(tile, axis)
    whole = element.bits % BYTE == 0
    layout = alone.in_bytes(element) if whole else alone.in_bits(element)
    unit = BYTE if whole else 1
    moved = along(axis, base * BYTE // unit)
    if base and layout.swizzles:
        layout = replace(layout, outer=layout.outer + moved)
    elif base:
        layout = layout + moved
    return Stored(layout, element, unit, tile)


def on_one_axis(layout: Layout, axis: Axis) -> Layout:
    """Return a layout without copies and without the axes on which nothing moves."""
    if layout.axes == (axis,):
        return layout
    return Layout(
        layout.shape,
        tuple(along(axis, stride[axis]) for stride in layout.strides),
        offset=along(axis, layout.offset[axis]),
        swizzles=layout.swizzles if layout.swizzled_axis == axis else (),
        outer=along(axis, layout.outer[axis]),
        unit=layout.unit,
    )


def _axis(layout: Layout) -> Axis:
    """Return the one axis on which elements lie."""
    moving = [layout.axis(name) for name in layout.moving]
    for axis in moving:
        if axis.kind != "storage" or axis.name in ("reg", "TCol"):
            raise Refused(
                "TW610",
                f"elements live on {axis}, and a lane asks for an address of memory",
                witness={"axis": axis.name},
                hint="LAYOUT is the tile in memory; who holds its elements is the access",
            )
    if len(moving) > 1:
        names = " and ".join(axis.name for axis in moving)
        raise LayoutError("TW203", f"elements live on {names}, and an address is one number")
    return moving[0] if moving else layout.swizzled_axis or m
