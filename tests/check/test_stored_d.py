"""`match` of D of wgmma: each thread of the warpgroup stores what it holds where the tile has it."""

from __future__ import annotations

import pytest

from tilewise import LayoutError, S, Swizzle
from tilewise.check.feeding import Feed
from tilewise.check.feeding.forms import Vector
from tilewise.check.match import Mismatch, match
from tilewise.core.dtypes import DType
from tilewise.core.shapes import extents_of

TILES = [
    ("bf16", Swizzle(3, 3, 3) @ S[(64, 64) : (64, 1)], "stmatrix.x4", 4),
    ("f16", Swizzle(3, 3, 3) @ S[(128, (2, 64)) : (64, (8192, 1))], "stmatrix.x4", 16),
    ("bf16", S[(128, 64) : (72, 1)], "stmatrix.x4", 8),
    ("bf16", S[(64, 8) : (8, 1)], "stmatrix.x2", 1),
    ("bf16", S[(64, 24) : (24, 1)], "stmatrix.x2", 3),
    ("f16", S[(64, 64) : (1, 64)], "stmatrix.x4.trans", 4),
    ("f16", Swizzle(2, 3, 3) @ S[(192, 32) : (32, 1)], "stmatrix.x4", 6),
    ("bf16", S[(64, 64) : (68, 1)], "st.b32", 16),
    ("f32", S[(128, 64) : (64, 1)], "st.v2.b32", 32),
    ("s32", S[(64, 16) : (1, 64)], "st.b32", 8),
    ("e4m3", S[(64, 32) : (32, 1)], "st.b16", 8),
]
"""(type in memory, tile, form, stores of a thread)."""


def held(thread, part, size):
    """(row, column) of each element of a part of a thread's registers, as the PTX manual draws D."""
    warp, lane = divmod(thread, 32)
    for number in range(part.byte // size, (part.byte + part.bytes) // size):
        row = 64 * part.row + 16 * warp + lane // 4 + 8 * (number // 2)
        yield row, 8 * part.column + 2 * (lane % 4) + number % 2


def stored(found, size):
    """{(row, column): byte} of everything that the warpgroup stores."""
    places = {}
    for step in found.steps:
        for thread in range(128):
            if isinstance(found.form, Vector):
                at = step.addresses.place(thread)["m"]
                for part in step.parts:
                    for element in held(thread, part, size):
                        places[element] = at
                        at += size
                continue
            matrix, row = divmod(thread % 32, 8)
            if matrix >= len(step.parts):
                continue
            for column in range(8):
                mine, number = (column, row) if found.trans else (row, column)
                holder = thread // 32 * 32 + 4 * mine + number // 2
                element = [*held(holder, step.parts[matrix], size)][number % 2]
                places[element] = step.addresses.place(thread)["m"] + size * column
    return places


@pytest.mark.parametrize(("dtype", "tile", "form", "count"), TILES, ids=lambda part: str(part))
@pytest.mark.parametrize("base", [0, 2048])
def test_every_element_of_d_is_stored_where_the_tile_has_it(dtype, tile, form, count, base):
    size = DType.of(dtype).bits // 8
    found = match(tile, operand="D", dtype=dtype, base=base)
    assert isinstance(found, Feed)
    short = str(found.form).replace(".shared", "").replace(".sync.aligned.m8n8", "").removesuffix(".b16")
    assert (short + ".b16" * (form == "st.b16"), len(found.steps)) == (form, count)
    wanted = {
        (row, column): tile.in_bytes(dtype).place(row, column)["m"] + base
        for row in range(64 * found.counts[0])
        for column in range(8 * found.counts[1])
    }
    assert stored(found, size) == wanted


def test_a_tile_that_matrices_do_not_store_names_one_that_they_do():
    found = match(S[(64, 64) : (68, 1)], operand="D", dtype="bf16", form="matrices")
    assert isinstance(found, Mismatch)
    assert [reason.rule for reason in found.reasons] == ["stride-16"]
    for near in found.nearest:
        again = match(near.layout, operand="D", dtype="bf16", form="matrices")
        assert isinstance(again, Feed)


def test_rows_are_whole_warpgroups():
    found = match(S[(96, 64) : (64, 1)], operand="D", dtype="bf16")
    assert found.reasons[0].rule == "rows"
    assert found.reasons[0].witness == {"m": 96, "instruction": 64}
    assert found.nearest
    assert all(extents_of(near.layout.shape)[0] % 64 == 0 for near in found.nearest)


def test_n_and_major_are_not_asked_of_d():
    for asked in ({"n": 64}, {"major": "k"}, {"shape": "m16n8k16"}):
        with pytest.raises(LayoutError, match="wgmma takes no"):
            match(S[(64, 64) : (64, 1)], operand="D", dtype="bf16", **asked)


def test_the_command_answers_for_d(tilewise):
    run = tilewise(
        "match", "SWIZZLE_128B o S[(128, 64) : (64, 1)]", "--operand", "D", "--dtype", "bf16", "--json"
    )
    assert (run.code, run.json["name"], run.json["tiles"]) == (0, "stmatrix.x4", {"m": 2, "n": 8})
    lane = ["match", "S[(64, 64) : (64, 1)]", "--operand", "D", "--dtype", "bf16", "--lane"]
    assert tilewise(*lane, "127", "--json").json["names"] == [3, 7]
    assert tilewise(*lane, "128").code == 2
    no = tilewise("match", "S[(64, 64) : (64, 1)]", "--operand", "D", "--dtype", "f32", "--form", "matrices")
    assert no.code == 1
    assert "a warpgroup does not store it as D of f32" in no.out


def test_a_type_that_no_accumulator_has_is_refused():
    found = match(S[(64, 64) : (64, 1)], operand="D", dtype="f64")
    assert isinstance(found, Mismatch)
    assert (found.reasons[0].rule, found.reasons[0].witness) == ("type", {"dtype": "f64"})
