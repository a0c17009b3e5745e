"""The enumerations of a tensor map: element types, interleave, L2 promotion, fill.

The enumerators are the driver's, with their values; each row has our names for it. Types of less than a byte
travel as bytes on Hopper: TMA moves bits, whatever they mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.hardware.sources import cells

_TYPE = "CU_TENSOR_MAP_DATA_TYPE_"


@dataclass(frozen=True, slots=True)
class ElementType:
    """A row of CUtensorMapDataType.

    >>> bf16 = ElementType.of("bf16")
    >>> bf16.name, bf16.value, bf16.bits, bf16.floating
    ('CU_TENSOR_MAP_DATA_TYPE_BFLOAT16', 9, 16, True)
    >>> ElementType.of("CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ").value
    10
    """

    name: str
    value: int
    bits: int
    carries: tuple[str, ...] = ()
    """Our dtypes that are written with it."""
    floating: bool = False
    """True if elements out of bounds can be filled with NaN."""
    packed: bool = False
    """True if it counts elements of less than a byte: such types came with Blackwell."""

    @classmethod
    def of(cls, dtype: ElementType | DType | str) -> ElementType:
        """Return the row for a dtype, or for the enumerator's name, with its prefix or without."""
        if isinstance(dtype, ElementType):
            return dtype
        short = str(dtype).upper().removeprefix(_TYPE)
        if short in ELEMENT_TYPES:
            return ELEMENT_TYPES[short]
        name = DType.of(dtype).name
        for row in ELEMENT_TYPES.values():
            if name in row.carries:
                return row
        raise Refused(
            "TW602",
            f"no type of a tensor map is one element of {name}",
            witness={"dtype": name},
            hint=_instead(DType.of(dtype)),
        )

    def __repr__(self) -> str:
        return f"ElementType.of({self.name.removeprefix(_TYPE)!r})"

    def __str__(self) -> str:
        return self.name


def _instead(dtype: DType) -> str:
    if dtype.bits > 64:
        return "count halves: u64, with twice the extents and steps"
    if dtype.bits == 6:
        return "a packed type of Blackwell takes 6 bits; on Hopper keep a byte an element (u8)"
    return f"on Hopper {8 // dtype.bits} of them travel as one u8"


_TABLE = """
UINT8         |  8 | u8 s8 b8 e4m3 e5m2 e4m3fnuz e5m2fnuz ue4m3 ue8m0 |
UINT16        | 16 | u16 s16 b16                                      |
UINT32        | 32 | u32 b32                                          |
INT32         | 32 | s32                                              |
UINT64        | 64 | u64 b64                                          |
INT64         | 64 | s64                                              |
FLOAT16       | 16 | f16                                              | floating
FLOAT32       | 32 | f32 xf32                                         | floating
FLOAT64       | 64 | f64                                              | floating
BFLOAT16      | 16 | bf16                                             | floating
FLOAT32_FTZ   | 32 |                                                  | floating
TFLOAT32      | 32 | tf32                                             | floating
TFLOAT32_FTZ  | 32 |                                                  | floating
16U4_ALIGN8B  |  4 |                                                  | packed
16U4_ALIGN16B |  4 |                                                  | packed
16U6_ALIGN16B |  6 |                                                  | packed
"""
"""CUtensorMapDataType from value 0 on: bits, our types that it carries, its sort."""


def _read(table: str) -> Iterator[tuple[str, ElementType]]:
    """Yield (name without its prefix, row) of the table."""
    for value, ((short,), (bits,), carries, sort) in enumerate(cells(table)):
        row = ElementType(
            _TYPE + short, value, int(bits), tuple(carries), "floating" in sort, "packed" in sort
        )
        yield short, row


ELEMENT_TYPES = dict(_read(_TABLE))
"""Every row of CUtensorMapDataType by its name without the prefix, in the order of their values.

FTZ variants flush subnormal numbers on the way; TFLOAT32 keeps 32 bits in memory. The last three count
elements of 4 and 6 bits and came with Blackwell: Hopper has none of them.
"""

INTERLEAVES = {
    "none": ("CU_TENSOR_MAP_INTERLEAVE_NONE", 0),
    "16B": ("CU_TENSOR_MAP_INTERLEAVE_16B", 1),
    "32B": ("CU_TENSOR_MAP_INTERLEAVE_32B", 2),
}
"""{our name: (enumerator, value)}. The channels of a convolution in slices: NC/8HWC8 and NC/16HWC16."""

L2_PROMOTIONS = {
    "none": ("CU_TENSOR_MAP_L2_PROMOTION_NONE", 0),
    "64B": ("CU_TENSOR_MAP_L2_PROMOTION_L2_64B", 1),
    "128B": ("CU_TENSOR_MAP_L2_PROMOTION_L2_128B", 2),
    "256B": ("CU_TENSOR_MAP_L2_PROMOTION_L2_256B", 3),
}
"""{our name: (enumerator, value)}. The bytes that L2 fetches from DRAM for any part of them."""

FILLS = {
    "zero": ("CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE", 0),
    "nan": ("CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA", 1),
}
"""{our name: (enumerator, value)}. The value that lands where the box reaches beyond the tensor."""


def nan_fill(bits: int) -> int:
    """Return the NaN that fills elements of so many bits: every 16 of them are 0x7ff7, as a device showed.

    >>> hex(nan_fill(16)), hex(nan_fill(32))
    ('0x7ff7', '0x7ff77ff7')
    """
    return int("7ff7" * (bits // 16), 16)


SWIZZLE_VALUES = {"none": 0, "32B": 1, "64B": 2, "128B": 3, "128B_ATOM_32B": 4}
"""The values of CUtensorMapSwizzle; a descriptor of wgmma numbers the same modes in reverse."""


def one_of(table: dict[str, tuple[str, int]], name: str, what: str) -> str:
    """Return our name of a row of a table above, from any spelling.

    >>> one_of(L2_PROMOTIONS, "CU_TENSOR_MAP_L2_PROMOTION_L2_128B", "an L2 promotion")
    '128B'
    """
    for own, (enumerator, value) in table.items():
        if str(name).upper() in (own.upper(), enumerator, str(value)):
            return own
    raise LayoutError("TW601", f"{name!r} is not {what}", hint="known: " + " ".join(table))
