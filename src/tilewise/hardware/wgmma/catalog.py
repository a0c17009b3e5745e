"""wgmma's entries of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

from tilewise.core.dtypes import DType
from tilewise.hardware.catalog.entry import (
    Built,
    Parameter,
    Value,
    entry,
    fragment_built,
    number,
    of_type,
)
from tilewise.hardware.instructions import values, where
from tilewise.hardware.modes import MODES, Mode
from tilewise.hardware.operands.catalog import (
    DEEP,
    MAJOR,
    ORDER,
    Documented,
    check_whole,
    mode_among,
    tile_built,
)
from tilewise.hardware.operands.template import OPERANDS
from tilewise.hardware.wgmma.fragments import a_fragment, d_fragment
from tilewise.hardware.wgmma.instructions import EVERY_8, INPUTS, Input, M

_ACCUMULATORS = tuple(sorted(values(INPUTS.values(), "accumulators")))


# -- parameters ------------------------------------------------------------------------------------


INPUT = of_type("A's elements", tuple(INPUTS))
OF_TILE = replace(INPUT, meaning="the type of the tile's elements")


# -- builders --------------------------------------------------------------------------------------


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
    """Return True if a wgmma reads this mode, major and type."""
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
_DOCUMENTED = Documented("wgmma", "Table 38", MODES, tuple(INPUTS), _read)

ENTRIES = (
    entry("wgmma.A", (INPUT,), _a),
    entry(
        "wgmma.D",
        (
            of_type("D's elements", _ACCUMULATORS),
            number("n", "columns of D", _EVEN),
        ),
        _d,
        _accumulators,
    ),
    entry(
        "wgmma.smem",
        (
            Parameter("operand", "A is [M, K], B is [N, K]", legal=OPERANDS),
            MAJOR,
            mode_among(MODES),
            OF_TILE,
            number("rows", "rows of the tile: M of A, N of B", "whole atoms; of A 64s"),
            number("k", "columns of the tile, along K", "whole atoms and whole wgmmas"),
            ORDER,
        ),
        _smem,
        _tiles,
    ),
    *_DOCUMENTED.entries({"mode": "128B", "major": "k", "dtype": "bf16"}, 170),
    entry(
        "wgmma.shapes",
        (
            INPUT,
            number("n", "asks whether this N is legal", "a number", optional=True),
        ),
        _shapes,
    ),
)
