"""The entries of tcgen05's operands in shared memory: tiles, atoms, canonical layouts, figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

from tilewise.core.dtypes import DType
from tilewise.hardware.catalog.entry import Built, Parameter, Value, entry, flag, number, of_type
from tilewise.hardware.modes import BLACKWELL, CHUNK, Mode
from tilewise.hardware.operands.catalog import (
    ATOMICITY,
    DEEP,
    MAJOR,
    ORDER,
    Documented,
    alignment_note,
    check_whole,
    mode_among,
    one_mode,
    tile_built,
)
from tilewise.hardware.operands.template import OPERANDS
from tilewise.hardware.tcgen05.catalog.products import INPUTS, KIND
from tilewise.hardware.tcgen05.engine import ENGINE, check_depth
from tilewise.hardware.tcgen05.kinds import KINDS, kind_of
from tilewise.hardware.tcgen05.operand import check_major, check_mode, modes_of, stored_as

ROW_STARTS = {True: 64, False: 32}
"""{True if the kind has scales: the fewest rows of A that one CTA reads}."""


# -- builders --------------------------------------------------------------------------------------


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
    fewest = ROW_STARTS[which.scaled]
    reader = f"a product of kind::{which.name} reads {fewest} at least in one CTA"
    multiplied = f"products, which read {product.k} of {dtype}"
    check_whole(operand, dtype, rows, k, fewest, product.k, reader, multiplied)
    facts = {**built.facts, "kind": which.name, "stored_bits": which.stored_bits(dtype)}
    bits, notes = DType.of(dtype).bits, built.notes
    if which.stored_bits(dtype) != bits:
        padded = (
            f"the layout counts bytes, one an element: of 16 bytes 16 elements of {bits} bits fill the first "
            f"{CHUNK * bits // 8}, and the rest is padding"
        )
        notes = (padded, *notes)
    return replace(built, facts=facts, notes=(*notes, *alignment_note(chosen)))


def _read(mode: Mode, major: str, dtype: str) -> bool:
    """Return True if a product reads this mode, major and type."""
    return any(
        dtype in kind.types and major in kind.majors(dtype) and mode in modes_of(dtype, major)
        for kind in KINDS.values()
    )


# -- instances -------------------------------------------------------------------------------------


def _tiles() -> Iterator[Mapping[str, Value]]:
    for kind, operand in product(KINDS.values(), OPERANDS):
        for name in kind.types:
            for major in kind.majors(name):
                for mode in modes_of(stored_as(kind, name), major):
                    such = dict(DEEP)
                    if kind != kind_of(name):
                        such["kind"] = kind.name
                    yield {"operand": operand, "major": major, "mode": mode.name, "dtype": name, **such}


# -- the entries -----------------------------------------------------------------------------------

_TYPES = tuple(name for name in INPUTS if 128 % DType.of(name).bits == 0)
_DOCUMENTED = Documented("tcgen05", "Table 55", BLACKWELL, _TYPES, _read)

ENTRIES = (
    entry(
        "tcgen05.smem",
        (
            Parameter("operand", "A is [M, K], B is [N, K]; of a pair half of either", legal=OPERANDS),
            MAJOR,
            mode_among(BLACKWELL),
            of_type("the tile's elements", INPUTS),
            number("rows", "rows of the tile", "whole atoms; of A 32s, 64s with scales"),
            number("k", "columns of the tile, along K", "whole atoms and products"),
            ORDER,
            ATOMICITY,
            KIND,
            flag("sparse", "A is sparse: half of it is stored, and of B twice as much read"),
        ),
        _smem,
        _tiles,
        settled=one_mode,
    ),
    *_DOCUMENTED.entries({"mode": "128B_ATOM_32B", "major": "mn", "dtype": "tf32"}, 192),
)
