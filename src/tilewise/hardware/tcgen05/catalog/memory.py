"""The entries of tensor memory: its addresses, tcgen05.ld, tcgen05.st and tcgen05.cp."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.hardware.catalog.entry import Built, Entry, Parameter, Value, choice, dtype_named, entry, number
from tilewise.hardware.sources import Source
from tilewise.hardware.tcgen05.addresses import (
    ALLOCATIONS,
    COLUMN_BITS,
    COLUMNS,
    LANES,
    WARP_LANES,
    WARPS,
    Address,
    Cells,
    lanes_of,
)
from tilewise.hardware.tcgen05.copies import COPIES, SOURCES, Copy
from tilewise.hardware.tcgen05.loads import FORMS, PTX_LOADS, PTX_STORES, Form, instruction
from tilewise.hardware.tcgen05.opcodes import COPY, LOAD, STORE, Opcode

# -- addresses ---------------------------------------------------------------------------------------


def _located(lane: int | None, column: int | None, address: int | None, dtype: str | None) -> Built:
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
    facts: dict[str, object] = {
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


# -- copies -------------------------------------------------------------------------------------------


def _moved(store: bool, form: str, repeat: str, split: int | None, **halves: bool) -> Built:
    this, (packed,) = Form.of(form), halves.values()
    count = this.check_repeat(repeat)
    apart = this.check_split(split, count, packed)
    span = count * this.span(packed)
    half = f" or {WARP_LANES} w + {this.lanes}" * (this.lanes < WARP_LANES)
    facts = {
        "instruction": instruction(store, this, count, packed),
        "registers": count * this.registers,
        "lanes": this.lanes,
        "columns": span if apart is None else {"each": span, "split": apart},
        "address": f"lane {WARP_LANES} w{half}, for warp w of a warpgroup",
    }
    layout = this.layout(count, packed)
    return Built(layout, facts, DType.of("b16" if packed else "b32"), "r" if not packed else "h")


def _copied(form: str, multicast: str | None, source: str | None, cta_group: int) -> Built:
    this = Copy.of(form, multicast)
    read, written = this.moved
    facts: dict[str, object] = {
        "instruction": this.instruction(cta_group, source),
        "multicast": this.multicast or None,
        "rows": this.row_count,
        "bytes": {"read": read, "written": written},
        "columns": this.bytes * 8 // 32,
        "operand": "a descriptor of shared memory, K-major: tilewise descriptor --engine tcgen05",
    }
    if source is not None:
        bits, taken = SOURCES[source]
        facts["spread"] = (
            f"16 elements of {bits} bits in {taken} bytes and {16 - taken} of padding, to 16 bytes"
        )
    notes = (
        () if cta_group == 1 else ("each CTA of the pair copies from its own shared memory to its own lanes",)
    )
    return Built(this.layout, facts, DType.of("b8"), notes=notes, source=this.source)


def _forms(flag: str) -> Iterator[Mapping[str, Value]]:
    for form in FORMS.values():
        for repeat in form.repeats:
            yield {"form": form.name, "repeat": f"x{repeat}"}
            yield {"form": form.name, "repeat": f"x{repeat}", flag: "true"}


def _copies() -> Iterator[Mapping[str, Value]]:
    for one in COPIES:
        yield {"form": one.form} | ({"multicast": one.multicast} if one.multicast else {})


def _repeat(given: str) -> str:
    return f"x{given.lower().removeprefix('.').removeprefix('x')}"


def _form(opcode: Opcode) -> Parameter:
    legal = tuple(opcode.patterns["form"].split("|"))
    return Parameter("form", "lanes and bits of one repeat, or of one copy", legal=legal, normal=opcode.form)


def _entry(opcode: Opcode, summary: str, flag: str, means: str, source: Source) -> Entry:
    return entry(
        opcode.name,
        (
            _form(opcode),
            Parameter(
                "repeat", "how often the form is repeated", rule="x1 to x128", default="x1", normal=_repeat
            ),
            Parameter(flag, means, flag=True),
            number(
                "split", "columns from the first half of 16x32bx2 to the second", "0 or more", optional=True
            ),
        ),
        partial(_moved, opcode is STORE),
        partial(_forms, flag),
        looks=opcode.looks,
        said_by=opcode.said,
    )


ADDRESS = entry(
    "tcgen05.address",
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
    _located,
)

ENTRIES = (
    _entry(
        LOAD,
        "a load of tensor memory by a warp: which lane's register gets word [lane, column]",
        "pack",
        "each register gets the low halves of two columns",
        PTX_LOADS,
    ),
    _entry(
        STORE,
        "a store to tensor memory by a warp: which lane's register goes to word [lane, column]",
        "unpack",
        "each register goes to the low halves of two columns",
        PTX_STORES,
    ),
    entry(
        "tcgen05.cp",
        (
            _form(COPY),
            Parameter(
                "multicast",
                "the warps whose lanes get copies",
                legal=tuple(c.multicast for c in COPIES if c.multicast),
                optional=True,
            ),
            Parameter(
                "source",
                "the format of elements that are spread to bytes",
                legal=tuple(SOURCES),
                optional=True,
            ),
            choice("cta_group", "CTAs that copy, each its own", (1, 2), 1),
        ),
        _copied,
        _copies,
        looks=COPY.looks,
        said_by=COPY.said,
    ),
)
