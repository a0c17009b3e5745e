"""A tile in memory: where every element begins, in bytes, or in bits where it is smaller than a byte."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

from tilewise.core.axes import Axis, m
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int, counted
from tilewise.core.layout import Layout, as_layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import extents_of, spell
from tilewise.core.vectors import along

BYTE = 8


@dataclass(frozen=True)
class Stored:
    """A tile whose elements have one address each.

    >>> from tilewise import S
    >>> tile = Stored.of(S[(8, 64) : (64, 1)], "bf16", base=1024)
    >>> print(tile.layout, tile.step)
    S[(8, 64) : (128, 2)] + 1024 2
    >>> tile = Stored.of(S[(8, 64) : (64, 1)], "e2m1")
    >>> print(tile.layout, tile.step, tile.unit)
    S[(8, 64) : (256, 4)] 4 1
    """

    layout: Layout
    """Of the tile's modes, on one storage axis; the tile's own address is in it."""
    dtype: DType
    unit: int
    """Bits of what it counts: 8, or 1."""
    tile: Layout = field(repr=False, compare=False)
    """The tile as it was given."""

    @classmethod
    def of(cls, layout: Layout, dtype: DType | str, base: int = 0) -> Stored:
        """The tile at the byte address `base`, from which its layout, and its swizzle, count.

        refused  TW610 elements with copies, or whose places are no addresses
        """
        return _stored(by_coordinates(as_layout(layout)), DType.of(dtype), as_int(base, "a base"))

    @property
    def step(self) -> int:
        """Units from an element to the one that follows it in memory."""
        return self.dtype.bits // self.unit

    @property
    def size(self) -> int:
        """Elements of the tile."""
        return self.layout.size

    def at(self, index: int) -> int:
        """The address of the element of a flat index, in units."""
        return sum(self.layout.points(index)[0])

    def matrix(self, why: str) -> tuple[int, int]:
        """Rows and columns of the tile, which has to have both.

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


@lru_cache(maxsize=16)  # an access asks of its tile more than once, and so do several of one tile
def _stored(layout: Layout, element: DType, base: int) -> Stored:
    axis, tile = _axis(layout), layout
    if any(it.extent > 1 and it.stride for it in layout.replica):
        raise Refused(
            "TW610",
            "an element with copies has no one address",
            hint="ask about the layout without R, one copy at a time",
        )
    layout = _alone(layout, axis)
    whole = element.bits % BYTE == 0
    counted = layout.in_bytes(element) if whole else layout.in_bits(element)
    unit = BYTE if whole else 1
    moved = along(axis, base * BYTE // unit)
    if base and counted.swizzles:
        counted = replace(counted, outer=counted.outer + moved)
    elif base:
        counted = counted + moved
    return Stored(counted, element, unit, tile)


def _alone(layout: Layout, axis: Axis) -> Layout:
    """The layout on the one axis on which it moves, where it names others as well."""
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
    """The one axis on which elements lie."""
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
    if moving:
        return moving[0]
    return layout.swizzled_axis or m
