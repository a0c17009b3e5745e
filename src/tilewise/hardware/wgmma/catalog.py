"""wgmma's entries of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

from tilewise.core.dtypes import DType
from tilewise.hardware.catalog.entry import Built, Entry, Parameter, Value, fragment_built, number, of_type
from tilewise.hardware.instructions import values, where
from tilewise.hardware.modes import MODES, Mode
from tilewise.hardware.operands.catalog import (
    DEEP,
    MAJOR,
    ORDER,
    TILE,
    Documented,
    check_whole,
    mode_among,
    tile_built,
)
from tilewise.hardware.sources import PTX_ATOMS, PTX_CANONICAL, PTX_FRAGMENTS, PTX_SHAPES, PTX_STRIDES
from tilewise.hardware.wgmma.fragments import a_fragment, d_fragment
from tilewise.hardware.wgmma.instructions import EVERY_8, INPUTS, OPERANDS, Input, M

_SPARSE = (
    "sparse wgmma (wgmma.mma_async.sp) is not in the catalogue: its A is half as wide and comes "
    "with metadata; all entries are of dense wgmma"
)
ABSENT = {
    **dict.fromkeys(("wgmma.sp", "wgmma.A.sp", "wgmma.D.sp"), _SPARSE),
    "wgmma.B": "a wgmma never has B in registers: it reads B from shared memory, where it is wgmma.smem",
    "wgmma.mma_async": "the catalogue has the operands of wgmma.mma_async: wgmma.D and wgmma.A in registers, "
    "wgmma.smem in shared memory, and what goes together as wgmma.shapes",
    "wgmma.C": "a wgmma has no C of its own: it adds to D, which is wgmma.D",
}
"""Names that are left out, and why."""

_ACCUMULATORS = tuple(sorted(values(INPUTS.values(), "accumulators")))


# -- parameters ------------------------------------------------------------------------------------


INPUT = of_type("A's elements", tuple(INPUTS))
OF_TILE = replace(INPUT, meaning="the type of the tile's elements")


# -- what is built ---------------------------------------------------------------------------------


def _a(dtype: str) -> Built:
    row = Input.of(dtype)
    return fragment_built(a_fragment(dtype), row.dtype, "a", {"instruction": f"m64nNk{row.k}"})


def _d(dtype: str, n: int) -> Built:
    layout = d_fragment(dtype, n)
    inputs = [row for row in INPUTS.values() if dtype in row.accumulators and n in row.n]
    facts = {
        "instructions": [f"m64n{n}k{k}" for k in sorted({row.k for row in inputs})],
        "inputs": [row.name for row in inputs],
    }
    return fragment_built(layout, DType.of(dtype), "d", facts)


def _smem(operand: str, major: str, mode: str, dtype: str, rows: int, k: int, order: str) -> Built:
    row = Input.of(dtype)
    row.check_major(major)
    built = tile_built(Mode.of(mode), major, row.dtype, rows, k, order, row.k, row.name)
    multiplied = f"wgmmas, which multiply {row.k} of {row.name}"
    check_whole(operand, row.name, rows, k, M, row.k, "every wgmma reads 64", multiplied)
    return built


def _read(mode: Mode, major: str, dtype: str) -> bool:
    """Return whether a wgmma reads such."""
    known = INPUTS.get(DType.of(dtype).name)
    return known is not None and major in known.majors


def _shapes(dtype: str, n: int | None) -> Built:
    row = Input.of(dtype)
    if n is not None:
        row.check_n(n)
    facts = {
        "dtype": row.name,
        "instruction": f"m64n{'N' if n is None else n}k{row.k}",
        "m": M,
        "k": row.k,
        "n": list(row.n) if n is None else n,
        "illegal": [count for count in EVERY_8 if count not in row.n],
        "partners": list(row.partners),
        "accumulators": list(row.accumulators),
        "majors": list(row.majors),
    }
    return Built(None, facts, row.dtype)


# -- instances -------------------------------------------------------------------------------------


def _accumulators() -> Iterator[Mapping[str, Value]]:
    for name in _ACCUMULATORS:
        for n in sorted(values(where(INPUTS.values(), accumulators=name), "n")):
            yield {"dtype": name, "n": n}


def _tiles() -> Iterator[Mapping[str, Value]]:
    for operand, pattern in product(OPERANDS, _DOCUMENTED.patterns()):
        yield {"operand": operand, **pattern, **DEEP}


# -- the entries -----------------------------------------------------------------------------------

_EVEN = "8, 16, ..., 256; of s32 8, 16, 24, 32, 48, 64, ..., 256"
_DOCUMENTED = Documented("wgmma", "Table 38", PTX_ATOMS, PTX_CANONICAL, MODES, tuple(INPUTS), _read)

ENTRIES = (
    Entry(
        "wgmma.A",
        "the A operand of a wgmma in registers: which thread holds which element",
        (INPUT,),
        PTX_FRAGMENTS,
        _a,
        {"dtype": "bf16"},
        "layout fragment register warpgroup multiplicand",
    ),
    Entry(
        "wgmma.D",
        "the accumulator D of a wgmma in registers: which thread holds which element",
        (
            of_type("D's elements", _ACCUMULATORS),
            number("n", "columns of D", _EVEN),
        ),
        PTX_FRAGMENTS,
        _d,
        {"dtype": "f32", "n": 64},
        "layout fragment register warpgroup result C",
        _accumulators,
    ),
    Entry(
        "wgmma.smem",
        "a tile in shared memory that wgmma reads: swizzled, with LBO, SBO and alignment",
        (
            Parameter("operand", "A is [M, K], B is [N, K]", legal=OPERANDS),
            MAJOR,
            mode_among(MODES),
            OF_TILE,
            number("rows", "rows of the tile: M of A, N of B", "whole atoms; of A 64s"),
            number("k", "columns of the tile, along K", "whole atoms and whole wgmmas"),
            ORDER,
        ),
        PTX_STRIDES,
        _smem,
        TILE,
        "layout shared memory leading stride dimension byte offset descriptor swizzle",
        _tiles,
    ),
    *_DOCUMENTED.entries({"mode": "128B", "major": "k", "dtype": "bf16"}, 170),
    Entry(
        "wgmma.shapes",
        "which wgmma there are: K, the legal N, majors and accumulators of a type",
        (
            INPUT,
            number("n", "asks whether this N is legal", "a number", optional=True),
        ),
        PTX_SHAPES,
        _shapes,
        {"dtype": "s8"},
        "instructions types illegal",
    ),
)
