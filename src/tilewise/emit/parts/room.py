"""What a block has room for: tiles in a stage of shared memory, registers of each thread."""

from __future__ import annotations

from collections.abc import Mapping

from tilewise.core.axes import m
from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.hardware.limits import REGISTERS, THREAD_REGISTERS, THREADS

ALIGNED = 1024
"""Every tile begins at a multiple of the longest period of a swizzle."""


SPARE_REGISTERS = 40
"""Registers of a thread beyond its fragments: addresses, counters, descriptors."""


def most_registers(threads: int) -> int:
    """32-bit registers that each thread of a block can have.

    >>> most_registers(32), most_registers(512)
    (255, 128)
    """
    return min(THREAD_REGISTERS, REGISTERS // threads) if threads <= THREADS else 0


def room_of(tile: Layout, dtype: DType) -> int:
    """Bytes of shared memory from the start of a tile to its end, with what is left free between.

    >>> from tilewise import S
    >>> room_of(S[(64, 32) : (40, 1)], DType.of("f16"))
    5104
    """
    return -(-(tile.max(m) + 1) * dtype.bits // 8)


def stacked(rooms: Mapping[str, int]) -> tuple[dict[str, int], int]:
    """The first byte of each tile of these sizes, one after another, and the bytes of all.

    >>> stacked({"A": 8192, "B": 9200})
    ({'A': 0, 'B': 8192}, 17408)
    """
    starts, at = {}, 0
    for name, room in rooms.items():
        starts[name] = at
        at += -(-room // ALIGNED) * ALIGNED
    return starts, at
