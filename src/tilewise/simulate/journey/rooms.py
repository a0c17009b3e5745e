"""Room in memory for the tiles of a journey, and the layouts that they have there."""

from __future__ import annotations

from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.core.layout import Layout
from tilewise.core.vectors import as_vector
from tilewise.hardware.modes import Mode
from tilewise.hardware.tma.landing import landing, row_pitch
from tilewise.simulate.memory import Memory


def room(memory: Memory, name: str, bytes: int, align: int, at: int | None) -> int:
    """The first address of a new part of memory, or `at` where that lies inside a part that there is.

    >>> shared = Memory(4096)
    >>> room(shared, "a", 2048, 1024, None), room(shared, "b", 512, 1024, at=1024)
    (0, 1024)
    >>> room(shared, "c", 64, 1024, None)
    2048
    """
    if at is not None:
        for one in memory.regions:
            if one.start <= at and at + bytes <= one.end:
                return at
    return memory.region(name, bytes, align=align, at=at).start


def row_major(shape: tuple[int, int], dtype: DType, at: int, pitch: int) -> Layout:
    """Rows `pitch` bytes apart, in bytes."""
    step = dtype.bits // 8
    return Layout(shape, (as_vector(pitch), as_vector(step)), offset=as_vector(at), unit="byte")


def box_columns(columns: int, dtype: DType, mode: Mode) -> int:
    """Columns of one box of a tile: as many as the swizzle is wide.

    >>> [box_columns(columns, DType.of("bf16"), Mode.of("128B")) for columns in (256, 16)]
    [64, 16]
    """
    wide = mode.elements(dtype) if mode.bits else columns
    if columns > wide and columns % wide:
        raise Refused(
            "TW603",
            f"{columns} columns are no whole number of boxes, which are {wide} wide in mode {mode}",
            witness={"columns": columns, "box": wide},
            hint=f"take a multiple of {wide}, or mode none",
        )
    return min(columns, wide)


def boxes(shape: tuple[int, int], dtype: DType, mode: Mode, at: int) -> tuple[Layout, int]:
    """A tile as boxes of TMA lie one behind the other, and the bytes from one to the next.

    >>> print(*boxes((64, 128), DType.of("bf16"), Mode.of("128B"), 1024))
    Swizzle<3,4,3> o (S[(64, (2, 64)) : (128, (8192, 2))] + 1024) 8192
    """
    rows, columns = shape
    inner = box_columns(columns, dtype, mode)
    size = rows * row_pitch(mode, inner * dtype.bits // 8)
    if inner == columns:
        return landing(shape, dtype, mode, at), size
    own = landing((columns // inner, rows, inner), dtype, mode, at)
    far, down, along = own.strides
    return (
        Layout(
            (rows, (columns // inner, inner)),
            (down, far, along),
            offset=own.offset,
            swizzles=own.swizzles,
            unit="byte",
        ),
        size,
    )
