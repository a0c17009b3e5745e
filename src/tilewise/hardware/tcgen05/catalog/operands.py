"""The entries of tcgen05's operands in shared memory: tiles, atoms, canonical layouts, figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.hardware.catalog.entry import Built, Entry, Parameter, Value
from tilewise.hardware.catalog.parameters import dtype_named
from tilewise.hardware.modes import BLACKWELL, CHUNK, Mode, mode_of
from tilewise.hardware.operands.catalog import (
    ANY,
    MAJOR,
    ORDER,
    PATTERNS_OF_FORM,
    atom_built,
    canonical_built,
    figure_built,
    tile_built,
)
from tilewise.hardware.operands.template import MAJORS, OPERANDS
from tilewise.hardware.sources import ptx
from tilewise.hardware.tcgen05.engine import ENGINE
from tilewise.hardware.tcgen05.figures import FIGURES, figure
from tilewise.hardware.tcgen05.kinds import KINDS, Kind, kind_of
from tilewise.hardware.tcgen05.operand import check_major, check_mode, modes_of, stored_as
from tilewise.hardware.tcgen05.stepping import check_depth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PTX_ATOMS = ptx(
    "Shared Memory Layout and Swizzling (tcgen05), Table 55", "tcgen05-shared-memory-layout-swizzling"
)
PTX_STRIDES = ptx("Major-ness supported by Strides (tcgen05)", "tcgen05-majorness-supported-by-strides")
PTX_CANONICAL = ptx("Canonical Layouts (tcgen05)", "tcgen05-canonical-layouts")

ABSENT = {
    "tcgen05.B": "tcgen05.mma reads B from shared memory alone, where it is tcgen05.smem",
}
"""Names that are left out, and why."""

TYPES = tuple(dict.fromkeys(name for kind in KINDS.values() for name in kind.types))

ROW_STARTS = {True: 64, False: 32}
"""{whether the kind has scales: the fewest rows of A that one CTA reads}."""

_LACKING = "the document's table of canonical layouts lacks this mode: the row is that of CUTLASS"
_ALIGNED = (
    "its pattern repeats after 512 bytes; the document has 1024 for 128-byte swizzles, whatever the atom"
)


# -- parameters ------------------------------------------------------------------------------------


def _kind(given: str) -> str:
    return Kind.of(given).name


INPUT = Parameter("dtype", "the type of the tile's elements", legal=TYPES, normal=dtype_named)


def _mode(given: str) -> str:
    return mode_of(given).name


MODE = Parameter("mode", "the swizzle mode", legal=tuple(BLACKWELL), normal=_mode)
ATOMICITY = Parameter(
    "atomicity",
    "bytes that the swizzle keeps together: 128B with 32 is 128B_ATOM_32B",
    legal=(16, 32),
    optional=True,
    number=True,
)


def _one_mode(values: dict[str, Any]) -> dict[str, Any]:
    """The mode by its own name, which says the atomicity."""
    chosen = mode_of(values["mode"], values["atomicity"])
    return {name: value for name, value in values.items() if name != "atomicity"} | {"mode": chosen.name}


KIND = Parameter("kind", "the kind of the product", legal=tuple(KINDS), optional=True, normal=_kind)


# -- what is built ---------------------------------------------------------------------------------


def _atom(mode: str, major: str, dtype: str) -> Built:
    chosen = _mode_of_atom(mode, major)
    return _noted(atom_built(chosen, major, dtype, _read(chosen, major, dtype)), chosen)


def _smem(
    operand: str,
    major: str,
    mode: str,
    dtype: str,
    rows: int,
    k: int,
    order: str,
    kind: str | None,
    sparse: bool,
) -> Built:
    which = kind_of(dtype) if kind is None else KINDS[kind]
    chosen = BLACKWELL[mode]
    check_major(which, dtype, major)
    element = stored_as(which, dtype)
    check_mode(element, major, chosen)
    product = ENGINE.intake(dtype, operand, kind=which.name, sparse=sparse)
    check_depth(product, chosen, major)
    built = tile_built(chosen, major, element, rows, k, order, product.k, dtype)
    _check_whole(operand, which, dtype, rows, k, product.k)
    facts = {**built.facts, "kind": which.name, "stored_bits": which.stored_bits(dtype)}
    notes = (*_padding(which, dtype), *built.notes)
    return _noted(replace(built, facts=facts, notes=notes), chosen)


def _padding(kind: Kind, dtype: str) -> tuple[str, ...]:
    bits = DType.of(dtype).bits
    if kind.stored_bits(dtype) == bits:
        return ()
    return (
        f"the layout counts bytes, one an element: of 16 bytes 16 elements of {bits} bits fill the first "
        f"{CHUNK * bits // 8}, and the rest is padding",
    )


def _check_whole(operand: str, kind: Kind, dtype: str, rows: int, k: int, depth: int) -> None:
    fewest = ROW_STARTS[kind.scaled]
    if operand == "A" and rows % fewest:
        raise Refused(
            "TW603",
            f"A has {rows} rows, and a product of kind::{kind.name} reads {fewest} at least in one CTA",
            witness={"operand": "A", "rows": rows},
            hint=f"take a multiple of {fewest}",
        )
    if k % depth:
        raise Refused(
            "TW603",
            f"K = {k} is no whole number of products, which read {depth} of {dtype}",
            witness={"dtype": dtype, "k": k},
            hint=f"take a multiple of {depth}",
        )


def _canonical(mode: str, major: str, dtype: str, m: int, k: int, lbo: int | None, sbo: int | None) -> Built:
    chosen = _mode_of_atom(mode, major)
    built = canonical_built(chosen, major, dtype, m, k, lbo, sbo, _read(chosen, major, dtype))
    return replace(built, notes=(*built.notes, _LACKING)) if chosen.keeps != CHUNK else built


def _figure(number: int) -> Built:
    drawn = figure(number)
    built = figure_built(drawn, "Table 55", _read(drawn.mode, drawn.major, drawn.dtype.name))
    return replace(built, facts={**built.facts, "atomicity": drawn.mode.keeps})


def _mode_of_atom(mode: str, major: str) -> Mode:
    """The mode; refused where the document has no atom of it."""
    chosen = BLACKWELL[mode]
    if chosen.keeps != CHUNK and major == "k":
        raise Refused(
            "TW602",
            f"there is no K-major atom of {mode}",
            witness={"mode": mode, "major": major},
            hint="take 128B, or the MN-major one",
        )
    return chosen


def _read(mode: Mode, major: str, dtype: str) -> bool:
    """Whether a product reads such."""
    return any(
        dtype in kind.types and major in kind.majors(dtype) and mode in modes_of(dtype, major)
        for kind in KINDS.values()
    )


def _noted(built: Built, mode: Mode) -> Built:
    return built if mode.keeps == CHUNK else replace(built, notes=(*built.notes, _ALIGNED))


# -- instances -------------------------------------------------------------------------------------

_DEEP = 1024
"""Rows and columns that are whole atoms of every mode, and whole products of every type."""


def _patterns() -> Iterator[Mapping[str, Value]]:
    for name, major in product(TYPES, MAJORS):
        if 128 % DType.of(name).bits == 0 and major in kind_of(name).majors(name):
            for mode in modes_of(name, major):
                yield {"mode": mode.name, "major": major, "dtype": name}


def _tiles() -> Iterator[Mapping[str, Value]]:
    for kind, operand in product(KINDS.values(), OPERANDS):
        for name in kind.types:
            for major in kind.majors(name):
                for mode in modes_of(stored_as(kind, name), major):
                    such: dict[str, Value] = {"rows": _DEEP, "k": _DEEP}
                    if kind != kind_of(name):
                        such["kind"] = kind.name
                    yield {"operand": operand, "major": major, "mode": mode.name, "dtype": name, **such}


def _figures() -> Iterator[Mapping[str, Value]]:
    yield from ({"number": number} for number in FIGURES)


# -- the entries -----------------------------------------------------------------------------------

_TILE: dict[str, Value] = {
    "operand": "B",
    "major": "k",
    "mode": "128B",
    "dtype": "bf16",
    "rows": 128,
    "k": 64,
}

ENTRIES = (
    Entry(
        "tcgen05.smem",
        "a tile in the shared memory of one CTA that tcgen05.mma reads: swizzled, with LBO and SBO",
        (
            Parameter("operand", "A is [M, K], B is [N, K]; of a pair half of either", legal=OPERANDS),
            MAJOR,
            MODE,
            INPUT,
            Parameter("rows", "rows of the tile", rule="whole atoms; of A 32s, 64s with scales", number=True),
            Parameter("k", "columns of the tile, along K", rule="whole atoms and products", number=True),
            ORDER,
            ATOMICITY,
            KIND,
            Parameter("sparse", "A is sparse: half of it is stored, and of B twice as much read", flag=True),
        ),
        PTX_STRIDES,
        _smem,
        _TILE,
        "layout shared memory leading stride dimension byte offset descriptor swizzle blackwell",
        _tiles,
        settled=_one_mode,
    ),
    Entry(
        "tcgen05.atom",
        "a swizzle atom of Table 55: the smallest block that repeats, [rows, K]",
        (MODE, MAJOR, ANY, ATOMICITY),
        PTX_ATOMS,
        _atom,
        {"mode": "128B_ATOM_32B", "major": "mn", "dtype": "tf32"},
        "layout shared memory core matrix blackwell",
        _patterns,
        settled=_one_mode,
    ),
    Entry(
        "tcgen05.canonical",
        "a canonical layout, with symbols and with numbers, in both notations",
        (MODE, MAJOR, ANY, *PATTERNS_OF_FORM, ATOMICITY),
        PTX_CANONICAL,
        _canonical,
        {"mode": "64B", "major": "mn", "dtype": "bf16"},
        "layout shared memory CuTe T LBO SBO blackwell",
        _patterns,
        settled=_one_mode,
    ),
    Entry(
        "tcgen05.figure",
        "figures 188 to 192 and 219 to 228 of the PTX manual, with the numbers printed beside them",
        (Parameter("number", "the number of the figure", rule="188 to 192, 219 to 228", number=True),),
        PTX_CANONICAL,
        _figure,
        {"number": 192},
        "layout shared memory example blackwell",
        _figures,
    ),
)
