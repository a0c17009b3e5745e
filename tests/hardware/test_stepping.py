"""Every step of a tile reads the tile's own part: over modes, majors, types, shapes, orders, bases."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hardware.of_wgmma import Stages, addresses, feeding, pieces, placements, reads

from tilewise import LayoutError, Refused
from tilewise.hardware.modes import MODES
from tilewise.hardware.operands.tiles import ORDERS
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.instructions import INPUTS

SWIZZLED = [mode for mode in MODES.values() if mode.bits]


def holds(fed, step):
    """Return whether the step's descriptor reads the tile's part, piece by piece."""
    asked = {"dtype": fed.dtype, "major": fed.major, "operand": fed.operand, "n": fed.n}
    part = fed.part(step)
    found = pieces(step.descriptor, **asked)
    return all(part.slice(*piece.box).layout.same(piece.layout).answer for piece in found)


def legal(mode, major, dtype, rows, k):
    row, long = INPUTS[dtype], MODES[mode].elements(dtype)
    deep = (8, long) if major == "k" else (long, 8)
    return major in row.majors and rows % deep[0] == 0 == k % deep[1] and k % row.k == 0


GRID = [
    (mode, major, dtype, rows, k, order, operand)
    for mode, major, dtype, rows, chunks, order, operand in product(
        MODES, ("k", "mn"), ("f16", "tf32", "e4m3", "b1"), (64, 192), (4, 16), ORDERS, "AB"
    )
    if legal(mode, major, dtype, rows, k := chunks * 128 // INPUTS[dtype].dtype.bits)
]


@pytest.mark.parametrize("case", GRID, ids=lambda case: "-".join(map(str, case)))
def test_every_step_reads_the_tiles_part(case):
    mode, major, dtype, rows, k, order, operand = case
    fed = feeding(mode, major, dtype, rows, k, order, operand=operand, base=3 * 1024)
    assert len(fed.steps) == rows // fed.n * (k // fed.depth)
    assert fed.steps[0].descriptor == fed.descriptor
    assert {(step.mn, step.k) for step in fed.steps} == {
        *product(range(rows // fed.n), range(k // fed.depth))
    }
    for step in fed.steps if len(fed.steps) < 9 else (*fed.steps[:5], fed.steps[-1]):
        assert holds(fed, step)
        assert step.encoded * 16 == step.bytes
        assert step.descriptor.value - fed.descriptor.value == step.encoded


@st.composite
def tiles_of_wgmma(draw):
    row = INPUTS[draw(st.sampled_from(list(INPUTS)))]
    mode, major = draw(st.sampled_from(list(MODES.values()))), draw(st.sampled_from(row.majors))
    operand, order = draw(st.sampled_from("AB")), draw(st.sampled_from(ORDERS))
    long = mode.elements(row.dtype)
    deep_rows, deep_k = (8, long) if major == "k" else (long, 8)
    one = 64 if operand == "A" else draw(st.sampled_from(row.n[:12]))
    rows = one * draw(st.integers(1, 4)) * deep_rows // 8
    k = max(row.k, deep_k) * draw(st.integers(1, 3))
    return (
        {"mode": mode, "major": major, "dtype": row.name, "rows": rows, "k": k, "order": order},
        operand,
        one,
    )


@given(
    tiles_of_wgmma(),
    st.integers(0, 24),
    st.sampled_from(["tile", "address"]),
    st.randoms(use_true_random=False),
)
def test_any_tile_at_any_base(case, place, pattern, dice):
    named, operand, one = case
    base = 128 * place if pattern == "tile" else 16 * place
    settings = {"operand": operand, "n": one, "base": base, "pattern": pattern}
    atom = named["mode"].elements(named["dtype"]) if named["major"] == "mn" else 8
    if one % atom and atom % one and one != named["rows"]:
        with pytest.raises(Refused, match="begins inside an atom"):
            feeding(**named, **settings)
        return
    fed = feeding(**named, **settings)
    asked = {"dtype": fed.dtype, "major": fed.major, "operand": operand, "n": one}
    for step in dice.sample(fed.steps, min(3, len(fed.steps))):
        assert holds(fed, step)
        table = addresses(step.descriptor, **asked)
        row, k = dice.randrange(fed.n), dice.randrange(fed.depth)
        there = fed.tile.place(step.mn * fed.n + row, step.k * fed.depth + k).as_dict()["m"]
        assert table[row][k] == there


@pytest.mark.parametrize("mode", SWIZZLED, ids=str)
@pytest.mark.parametrize(("major", "dtype"), [("k", "bf16"), ("mn", "bf16"), ("k", "e4m3")])
def test_which_bases_are_read_with_which_base_offset(mode, major, dtype):
    """The base offset of the formula is right, and where it is refused no base offset is."""
    aligned = feeding(mode, major, dtype, 64, max(64, mode.elements(dtype)), operand="A")
    asked = {"dtype": dtype, "major": major, "operand": "A"}
    for base in (*range(0, 2048, 128), 16, 48, 64, 192, 528, 1040):
        tile = replace(aligned.tile, outer=aligned.tile.outer + base)
        part = tile.slice((0, 64), (0, aligned.depth)).layout
        right = [
            b
            for b in range(8)
            if reads(replace(aligned.descriptor, start=base, base_offset=b), **asked).same(part).answer
        ]
        if base % 128:
            assert right == []
            with pytest.raises(Refused, match="has no base offset"):
                feeding(mode, major, dtype, 64, aligned.k, operand="A", base=base)
        else:
            fed = feeding(mode, major, dtype, 64, aligned.k, operand="A", base=base)
            assert fed.descriptor.base_offset in right
            assert (0 in right) == (base % mode.period == 0)


def test_nothing_swizzled_is_read_at_every_16_bytes():
    for base in range(0, 256, 16):
        fed = feeding("none", "k", "f16", 64, 64, operand="A", base=base)
        assert fed.descriptor.base_offset == 0
        assert all(holds(fed, step) for step in fed.steps)


@pytest.mark.parametrize(
    ("asked", "advance"),
    [
        (("128B", "k", "bf16", 128, 128), "S[(2, (2, 4)) : (8192, (16384, 32))]"),
        (("64B", "k", "bf16", 128, 128), "S[(2, (4, 2)) : (4096, (8192, 32))]"),
        (("32B", "k", "bf16", 128, 64), "S[(2, 4) : (2048, 4096)]"),
        (("none", "k", "bf16", 128, 64), "S[(2, 4) : (1024, 4096)]"),
        (("128B", "mn", "bf16", 128, 64), "S[(2, 4) : (1024, 4096)]"),
        (("128B", "mn", "bf16", 128, 64, "k"), "S[(2, 4) : (8192, 2048)]"),
        (("none", "mn", "bf16", 128, 64), "S[(2, 4) : (1024, 4096)]"),
    ],
)
def test_what_a_step_adds(asked, advance):
    assert str(feeding(*asked, operand="A").advance) == advance


def test_n_inside_an_atom_steps_by_its_own_rows():
    fed = feeding("128B", "mn", "bf16", 128, 16, operand="B", n=32)
    assert str(fed.advance) == "S[((2, 2), 1) : ((1024, 64), 4096)]"
    assert all(holds(fed, step) for step in fed.steps)


def test_n_is_the_largest_that_feeds_the_tile():
    assert feeding("128B", "k", "bf16", 192, 64, operand="B").n == 192
    assert feeding("128B", "k", "bf16", 512, 64, operand="B").n == 256
    assert feeding("128B", "k", "s8", 40 * 2, 128, operand="B").n == 80
    assert feeding("128B", "mn", "bf16", 320, 64, operand="B").n == 64


@pytest.mark.parametrize(
    ("asked", "settings", "code", "said"),
    [
        (("128B", "mn", "bf16", 192, 64), {"operand": "B", "n": 96}, "TW603", "begins inside an atom of 64"),
        (("128B", "mn", "bf16", 192, 64), {"operand": "B", "n": 24}, "TW603", "begins inside an atom of 64"),
        (
            ("128B", "k", "bf16", 96, 64),
            {"operand": "A"},
            "TW603",
            "96 rows is not fed by instructions of 64",
        ),
        (("128B", "k", "bf16", 128, 64), {"operand": "B", "n": 48}, "TW603", "not fed by instructions of 48"),
        (("128B", "k", "bf16", 128, 64), {"operand": "B", "n": 44}, "TW602", "m64n44k16 does not exist"),
        (("none", "k", "bf16", 128, 24), {"operand": "A"}, "TW603", "no whole number of instructions"),
        (("128B", "k", "bf16", 128, 32), {"operand": "A"}, "TW603", "no whole number of 128B atoms"),
        (("128B", "mn", "e4m3", 128, 64), {"operand": "A"}, "TW602", "K-major alone"),
        (("128B", "k", "bf16", 64, 64), {"operand": "A", "base": 64}, "TW605", "has no base offset"),
        (("none", "k", "bf16", 64, 64), {"operand": "A", "base": 8}, "TW605", "has no base offset"),
        (("128B", "k", "bf16", 64, 64), {"operand": "A", "pattern": "x"}, "TW601", "no origin of a pattern"),
        (("128B", "k", "bf16", 64, 64), {"operand": "A", "base": 1 << 18}, "TW604", "does not fit"),
    ],
)
def test_what_is_not_fed(asked, settings, code, said):
    with pytest.raises(LayoutError, match=said) as refused:
        feeding(*asked, **settings)
    assert refused.value.code == code


def test_a_hint_names_the_rows_that_do():
    with pytest.raises(Refused) as refused:
        feeding("128B", "mn", "bf16", 192, 64, operand="B", n=96)
    assert refused.value.hint == "rows of one instruction may be 8, 16, 32, 64, 192"


# -- stages ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize("pattern", ["tile", "address"])
def test_every_stage_is_read(mode, pattern):
    first = feeding(mode, "k", "bf16", 64, 64, operand="A", base=2048, pattern=pattern)
    ring = Stages(first, 3)
    assert ring.one_step
    for number, stage in enumerate(ring):
        assert stage.descriptor.value == first.descriptor.value + number * ring.stride // 16
        assert all(holds(stage, step) for step in stage.steps)


def test_a_stride_that_the_pattern_does_not_repeat_by_changes_the_base_offset():
    ring = Stages(feeding("128B", "k", "bf16", 64, 64, operand="A"), 4, 8192 + 128)
    assert not ring.one_step
    assert [stage.descriptor.base_offset for stage in ring] == [0, 1, 2, 3]
    assert all(holds(stage, step) for stage in ring for step in stage.steps)


def test_small_tiles_are_spaced_to_the_pattern():
    first = feeding("none", "k", "bf16", 8, 16, operand="B")
    assert Stages(first, 2).stride == 256
    assert Stages(feeding("128B", "k", "bf16", 8, 64, operand="B"), 2).stride == 1024


def test_stages_that_are_refused():
    first = feeding("128B", "k", "bf16", 64, 64, operand="A")
    with pytest.raises(Refused, match="overlap"):
        Stages(first, 2, 4096)
    with pytest.raises(Refused, match="has no base offset"):
        list(Stages(first, 2, 8192 + 64))
    with pytest.raises(LayoutError, match="stage 2 is outside"):
        Stages(first, 2).stage(2)
    with pytest.raises(LayoutError, match="does not fit"):
        list(Stages(first, 40))


@pytest.mark.parametrize("mode", list(MODES))
def test_the_table_of_placements_is_what_feeding_does(mode):
    for base in range(0, 2048, 8):
        row = next(row for row in placements(mode) if base % row.multiple == 0)
        try:
            found = feeding(mode, "k", "bf16", 64, 64, operand="A", base=base).descriptor.base_offset
        except Refused:
            assert row.base_offset == "-"
        else:
            assert found == (0 if row.base_offset == "0" else base >> 7 & 7)


def test_the_first_descriptor_is_cutlass_own():
    fed = feeding("128B", "k", "f16", 128, 64, operand="B")
    assert fed.descriptor == Descriptor.decode(0x4000004000010000)
