"""The entry of tensor memory's addresses."""

from __future__ import annotations

from tilewise.core.errors import LayoutError
from tilewise.hardware.catalog.entry import Built, Entry, Parameter
from tilewise.hardware.catalog.parameters import dtype_named, number
from tilewise.hardware.tcgen05.addresses import (
    ALLOCATIONS,
    COLUMN_BITS,
    COLUMNS,
    LANES,
    PTX_ADDRESSING,
    WARPS,
    Address,
    Cells,
    lanes_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ALLOCATED = "tcgen05.address has its lanes, its columns, and how many of them are allocated"
_ORDERED = "orders what others move, and has no layout"
ABSENT = {
    "tcgen05.alloc": f"tcgen05.alloc gives columns of tensor memory: {_ALLOCATED}",
    "tcgen05.dealloc": f"tcgen05.dealloc gives columns of tensor memory back: {_ALLOCATED}",
    "tcgen05.relinquish_alloc_permit": "after it there is no tcgen05.alloc, and it has no layout",
    **{name: f"{name} {_ORDERED}" for name in ("tcgen05.commit", "tcgen05.wait", "tcgen05.fence")},
}
"""Names that are left out, and why."""


def _address(lane: int | None, column: int | None, address: int | None, dtype: str | None) -> Built:
    if address is not None and (lane, column) != (None, None):
        raise LayoutError(
            "TW601",
            "an address, and a lane or a column besides",
            hint="the address says both: give it alone, or the lane and the column",
        )
    if (lane, column, address, dtype) == (None, None, None, None):
        whole = {
            "address": "lane << 16 | column",
            "lanes": LANES,
            "columns": {"count": COLUMNS, "bits": COLUMN_BITS},
            "allocations": list(ALLOCATIONS),
            "warps": {f"warp_{warp}": _ends(lanes_of(warp), "_lane") for warp in range(WARPS)},
        }
        return Built(None, whole)
    word = Address(lane or 0, column or 0) if address is None else Address.of(address)
    facts: dict[str, Any] = {
        "address": str(word),
        "lane": word.lane,
        "column": word.column,
        "reached_by": {"warp": word.warp, **_ends(lanes_of(word.warp), "_lane")},
    }
    if dtype is not None:
        cells = Cells.of(dtype)
        first, past = (column * COLUMN_BITS for column in (word.column, word.column + 1))
        packed = range(first // cells.taken, (past - 1) // cells.taken + 1)
        facts["TCol"] = {"dtype": cells.dtype.name, **_ends(packed)}
    return Built(None, facts)


def _ends(some: range, noun: str = "") -> dict[str, int]:
    return {f"first{noun}": some[0], f"last{noun}": some[-1]}


ENTRIES = (
    Entry(
        "tcgen05.address",
        "an address of tensor memory: its lane and its column, who reaches it, which elements are there",
        (
            number("lane", "a lane of tensor memory", f"0 to {LANES - 1}", optional=True),
            number("column", "a column of 32 bits of tensor memory", f"0 to {COLUMNS - 1}", optional=True),
            number(
                "address",
                "an address of tensor memory",
                "a number of 32 bits, such as 0x200040",
                optional=True,
            ),
            Parameter(
                "dtype",
                "the type of elements that are packed there",
                rule="such as f16",
                optional=True,
                normal=dtype_named,
            ),
        ),
        PTX_ADDRESSING,
        _address,
        {"lane": 32, "column": 64},
        "tensor memory tmem taddr lanes columns TLane TCol warp allocation Blackwell",
    ),
)
