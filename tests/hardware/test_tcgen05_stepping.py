"""Every step of a tile reads the tile's own part: over kinds, modes, majors, shapes, orders, bases."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from tests.hardware.of_tcgen05 import Stages, addresses, feeding, pieces_of, placements

from tilewise import Refused
from tilewise.hardware.engines import engine
from tilewise.hardware.modes import BLACKWELL, mode_of
from tilewise.hardware.operands.tiles import ORDERS, extents
from tilewise.hardware.tcgen05.descriptor import Descriptor
from tilewise.hardware.tcgen05.engine import Deep
from tilewise.hardware.tcgen05.kinds import KINDS, Kind
from tilewise.hardware.tcgen05.operand import Operand, modes_of, stored_as

TCGEN05 = engine("tcgen05")


def holds(fed, step):
    """Return whether the step's descriptor reads the tile's part, piece by piece."""
    found = pieces_of(step.descriptor, dtype=fed.dtype, major=fed.major, rows=fed.n, k=fed.depth)
    whole = fed.parts(step)
    return all(
        any(part.box == piece.box and part.layout.same(piece.layout).answer for part in whole)
        if len(whole) > 1
        else whole.layout.slice(*piece.box).layout.same(piece.layout).answer
        for piece in found
    )


def cases():
    for kind, dtype in (
        ("f16", "bf16"),
        ("tf32", "tf32"),
        ("f8f6f4", "e4m3"),
        ("f8f6f4", "e2m1"),
        ("mxf4", "e2m1"),
    ):
        which = Kind.of(kind)
        for major, sparse in product(which.majors(dtype), (False, True)):
            element = stored_as(which, dtype)
            for mode, operand, order in product(modes_of(element, major), "AB", ORDERS):
                if major == "k" and sparse and operand == "B" and mode.name == "32B":
                    continue
                k = 4 * 1024 // element.bits
                yield kind, dtype, major, mode.name, operand, order, sparse, 256, k


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: "-".join(map(str, case)))
def test_every_step_reads_the_tiles_part(case):
    kind, dtype, major, mode, operand, order, sparse, rows, k = case
    fed = feeding(
        mode_of(mode), major, dtype, rows, k, order, operand=operand, kind=kind, sparse=sparse, base=3 * 1024
    )
    assert len(fed.steps) == rows // fed.n * (k // fed.depth)
    assert fed.steps[0].descriptor == fed.descriptor
    assert fed.start_alone
    for step in fed.steps if len(fed.steps) < 9 else (*fed.steps[:5], fed.steps[-1]):
        assert holds(fed, step)
        assert step.encoded * 16 == step.bytes
        assert step.descriptor.value - fed.descriptor.value == step.encoded


@pytest.mark.parametrize(
    ("asked", "rows_of_one", "descriptors"),
    [
        ({"operand": "A"}, 128, 2 * 4),
        ({"operand": "A", "m": 64}, 64, 4 * 4),
        ({"operand": "A", "m": 128, "cta_group": 2}, 64, 4 * 4),
        ({"operand": "A", "m": 32, "ws": True}, 32, 8 * 4),
        ({"operand": "B"}, 256, 4),
        ({"operand": "B", "cta_group": 2}, 128, 2 * 4),
        ({"operand": "B", "n": 64, "cta_group": 2}, 32, 8 * 4),
        ({"operand": "B", "n": 64, "ws": True}, 64, 4 * 4),
        ({"operand": "B", "sparse": True}, 256, 2),
    ],
    ids=str,
)
def test_rows_of_one_cta(asked, rows_of_one, descriptors):
    fed = feeding("128B", "k", "bf16", 256, 64, **asked)
    assert (fed.n, len(fed.steps)) == (rows_of_one, descriptors)
    assert all(holds(fed, step) for step in fed.steps)


def test_the_first_descriptor_is_cutlass_own():
    """CUTLASS's make_umma_desc of a K-major 128B tile of 16-bit elements, at address 0."""
    assert feeding("128B", "k", "f16", 128, 64, operand="A", m=128).descriptor.value == 0x4000404000010000


def test_tf32_mn_major_takes_two_atoms_of_4_a_step():
    fed = feeding(BLACKWELL["128B_ATOM_32B"], "mn", "tf32", 64, 32, operand="B", n=64)
    assert (fed.descriptor.lbo, fed.descriptor.sbo) == (512, 1024)
    assert [step.bytes for step in fed.steps] == [0, 2048, 4096, 6144]
    assert all(holds(fed, step) for step in fed.steps)


# -- 48 bytes of K ---------------------------------------------------------------------------------

DEEP = {"operand": "B", "kind": "mxf4", "depth": 96}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("base", [0, 0x2000])
def test_eight_steps_fill_three_atoms(order, base):
    fed = feeding("128B", "k", "e2m1", 64, 768, order, n=64, base=base, **DEEP)
    assert isinstance(fed, Deep)
    far = 64 * 128 if order == "mn" else 1024
    begins = [(0, 0), (0, 48), (0, 96), (1, 16), (1, 64), (1, 112), (2, 32), (2, 80)]
    seconds = [0, 0, 1, 1, 1, 2, 2, 2]
    assert [step.descriptor.start for step in fed.steps] == [base + far * a + inside for a, inside in begins]
    assert [step.descriptor.lbo for step in fed.steps] == [base + far * atom for atom in seconds]
    assert {step.descriptor.lbo_mode for step in fed.steps} == {"absolute"}
    of = Operand("e2m1", kind="mxf4", n=64, k=96)
    whole = fed.tile
    for step in fed.steps:
        table = addresses(step.descriptor, of)
        for row, k in ((0, 0), (9, 31), (17, 32), (33, 63), (63, 64), (63, 95)):
            assert table[row][k] == whole.place(row, 96 * step.k + k).as_dict().get("m", 0)
    with pytest.raises(Refused, match="are no layout"):
        _ = fed.advance


def test_deep_stages_move_both_addresses():
    fed = feeding("128B", "k", "e2m1", 64, 768, n=64, **DEEP)
    ring = Stages(fed, 3)
    assert not ring.one_step
    for number, stage in enumerate(ring):
        moved = number * ring.stride
        assert [(step.descriptor.start - moved, step.descriptor.lbo - moved) for step in stage.steps] == [
            (step.descriptor.start, step.descriptor.lbo) for step in fed.steps
        ]


def test_rows_of_several_instructions_move_both_addresses():
    fed = feeding("128B", "k", "e2m1", 128, 768, n=64, **DEEP)
    assert len(fed.steps) == 16
    first, second = fed.step(0, 2).descriptor, fed.step(1, 2).descriptor
    assert (second.start - first.start, second.lbo - first.lbo) == (8192, 8192)


# -- what is not fed -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "major", "dtype", "tile", "asked", "code", "said"),
    [
        ("128B", "mn", "tf32", (64, 32), {"operand": "B"}, "TW602", "MN-major tf32 in mode 128B"),
        ("128B_ATOM_32B", "mn", "bf16", (64, 32), {"operand": "B"}, "TW602", "bf16 in mode 128B_ATOM_32B"),
        ("128B_ATOM_32B", "k", "tf32", (64, 32), {"operand": "B"}, "TW602", "K-major tf32 in mode 128B_ATOM"),
        (
            "32B",
            "k",
            "bf16",
            (64, 32),
            {"operand": "B", "sparse": True},
            "TW602",
            "K of 64 bytes is not read",
        ),
        ("64B", "k", "e2m1", (64, 768), DEEP, "TW602", "K of 48 bytes is not read in mode 64B"),
        ("none", "k", "e2m1", (64, 768), DEEP, "TW602", "K of 48 bytes is not read in mode none"),
        ("128B", "k", "e2m1", (64, 512), DEEP, "TW603", "K = 512 does not end with"),
        (
            "128B",
            "k",
            "e2m1",
            (64, 768),
            DEEP | {"base": 128},
            "TW604",
            "asks for base offset 0, and it is 1",
        ),
        (
            "128B",
            "k",
            "bf16",
            (96, 64),
            {"operand": "A", "m": 128},
            "TW603",
            "is not fed by instructions of 128",
        ),
        ("128B", "k", "bf16", (100, 64), {"operand": "B"}, "TW603", "no whole number of 128B atoms"),
        ("128B", "k", "bf16", (64, 60), {"operand": "B"}, "TW603", "no whole number of 128B atoms"),
        ("32B", "k", "bf16", (64, 16), {"operand": "B", "sparse": True}, "TW602", "is not read"),
        ("none", "k", "bf16", (64, 24), {"operand": "B"}, "TW603", "no whole number of instructions"),
        (
            "none",
            "mn",
            "e4m3",
            (16, 32),
            {"operand": "B", "n": 8},
            "TW602",
            "8 rows of an N-major B of e4m3",
        ),
        ("128B", "k", "bf16", (64, 64), {"operand": "A", "m": 48}, "TW602", "no M = 48"),
    ],
    ids=str,
)
def test_what_is_not_fed(mode, major, dtype, tile, asked, code, said):
    with pytest.raises(Refused, match=said) as refused:
        feeding(mode, major, dtype, *tile, **asked)
    assert refused.value.code == code


def test_a_hint_of_48_bytes_is_a_whole_turn():
    with pytest.raises(Refused) as refused:
        feeding("128B", "k", "e2m1", 64, 512, **DEEP)
    assert refused.value.hint == "take a multiple of 768"


# -- as an engine ----------------------------------------------------------------------------------


def intakes():
    for kind in KINDS.values():
        for dtype, operand, cta_group in product(kind.types, "AB", (1, 2)):
            yield dtype, operand, {"kind": kind.name, "cta_group": cta_group}


@pytest.mark.parametrize(("dtype", "operand", "asked"), list(intakes()), ids=str)
def test_an_intake_is_what_is_fed(dtype, operand, asked):
    taken = TCGEN05.intake(dtype, operand, **asked)
    for major, modes in taken.modes.items():
        for mode in modes:
            deep = extents(mode, major, taken.dtype)
            rows, k = 256, 4 * max(taken.k, deep[1])
            fed = TCGEN05.feed(taken, mode, major, rows, k, "mn")
            assert fed.n in taken.rows
            assert fed.depth == taken.k
            read = TCGEN05.read(fed.descriptor, dtype=taken.dtype, major=major, rows=fed.n, k=fed.depth)
            assert fed.part(fed.steps[0]).same(read.layout).answer


def test_an_intake_says_what_the_product_is():
    of = TCGEN05.intake("bf16", "A", m=256, n=128, cta_group=2)
    assert (of.rows, of.shape(128)) == ((128,), (256, 128, 16))
    sparse = TCGEN05.intake("bf16", "A", m=128, sparse=True)
    assert (sparse.k, sparse.shape(128)) == (16, (128, None, 32))
    deep = TCGEN05.intake("e2m1", "B", kind="mxf4", k=96)
    assert (deep.absolute, deep.fixed, [mode.name for mode in deep.modes["k"]]) == (
        True,
        {"lbo_mode": "absolute"},
        ["128B"],
    )
    assert deep.rows == tuple(range(8, 257, 8))
    assert TCGEN05.intake("e2m1", "B").no_major[0] == "tcgen05 reads e2m1 of kind::f8f6f4 K-major alone"
    assert TCGEN05.intake("bf16", "B").no_major == ("", "")


def test_descriptors_are_made_of_what_an_intake_fixes():
    deep = TCGEN05.intake("e2m1", "B", kind="mxf4", k=96)
    found = TCGEN05.descriptor(start=96, lbo=4096, sbo=1024, mode="128B", **deep.fixed)
    assert found == Descriptor(96, 4096, 1024, BLACKWELL["128B"], 0, "absolute")


@pytest.mark.parametrize("mode", list(BLACKWELL.values()), ids=str)
def test_the_table_of_placements(mode):
    rows = placements(mode)
    assert rows[0].multiple == (mode.period if mode.bits else 16)
    assert rows[-1].multiple == 1


def test_feeding_moves_as_a_value():
    fed = feeding("128B", "k", "bf16", 64, 64, operand="B", n=64)
    moved = fed.moved(0x500, 2)
    assert moved.descriptor == replace(fed.descriptor, start=0x500, base_offset=2)
    assert moved.base == 0x500
