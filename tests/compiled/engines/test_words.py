"""Products and copies by their words: PTX and the machine code that ptxas makes of it say the same."""

from __future__ import annotations

from typing import Any

import pytest
from tests.compiled import sass_texts
from tests.compiled.engines.written import (
    BLACKWELL_A,
    BLACKWELL_B,
    IDESC,
    ONE_LANE,
    A,
    B,
    halves,
    in_code,
    in_ptx,
    moved,
    opened,
)

from tilewise.compiled.engines import products_of, spans, transfers_of
from tilewise.compiled.launch import Launch
from tilewise.compiled.run import Run, counted
from tilewise.compiled.texts import programs_of

# -- products -----


def said(run: Run) -> list[dict[str, Any]]:
    """Return the products without their place in the text."""
    found = [row.as_dict() for row in products_of(run.calls, 1.0)]
    return [{name: one[name] for name in one if name not in ("line", "instruction", "rows")} for one in found]


D8 = "{%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}"
WGMMA = [
    ("m64n16k16.f32.f16.f16 @, %rd1, %rd2, 1, 1, 1, 0, 1", "HGMMA.64x16x16.F32 R24, gdesc[UR4].tnspB, R24"),
    (
        "m64n16k16.f32.f16.f16 @, %rd1, %rd2, 1, -1, 1, 1, 0",
        "HGMMA.64x16x16.F32 R24, gdesc[UR4].negA.tnspA, R24, gsb0",
    ),
    (
        "m64n16k16.f32.bf16.bf16 @, {%r1,%r1,%r1,%r1}, %rd2, 1, 1, 1, 1",
        "HGMMA.64x16x16.F32.BF16 R24, R32, gdesc[UR4].tnspB, R24",
    ),
    ("m64n16k8.f32.tf32.tf32 @, %rd1, %rd2, 1, 1, 1", "HGMMA.64x16x8.F32.TF32 R24, gdesc[UR4], R24, gsb0"),
    ("m64n16k32.f32.e4m3.e5m2 @, %rd1, %rd2, 1, 1, 1", "QGMMA.64x16x32.F32.E4M3.E5M2 R24, gdesc[UR4], R24"),
    (
        "m64n16k16.f16.f16.f16 @, %rd1, %rd2, 1, 1, 1, 0, 0",
        "HGMMA.64x16x16.F16 R24, gdesc[UR4], R24, UP0, gsb0",
    ),
    ("m64n16k32.s32.s8.u8 @, %rd1, %rd2, 1", "IGMMA.64x16x32.S8.U8 R24, gdesc[UR4], R24, gsb0"),
    ("m64n16k32.s32.u8.u8.satfinite @, %rd1, %rd2, 1", "IGMMA.64x16x32.U8.U8.SAT R24, gdesc[UR4], R24"),
    ("m64n16k256.s32.b1.b1.and.popc @, %rd1, %rd2, 1", "BGMMA.64x16x256.AND.POPC R24, gdesc[UR4], R24"),
]
"""PTX behind `wgmma.mma_async.sync.aligned.`, and the machine code that ptxas 13.0 makes of it."""


@pytest.mark.parametrize(("ptx", "code"), WGMMA)
def test_wgmma_in_both_texts(ptx, code):
    in_words = said(
        in_ptx(
            f"mov.u64 %rd1, {A:#x}",
            f"mov.u64 %rd2, {B:#x}",
            f"wgmma.mma_async.sync.aligned.{ptx.replace('@', D8)}",
        )
    )
    assert in_words == said(in_code(code, {"UR4": halves(A, B)}))
    (row,) = in_words
    assert (row["engine"], row["times"], row["unknown"], row["reason"]) == ("wgmma", 1, 0, "")
    of_a, of_b = row["operands"]
    assert of_b["value"] == f"{B:#018x}"
    assert of_b["bytes"] == 16 * 32
    assert of_a["from"] == ("registers" if "R32" in code else "shared")


def test_fields_of_a_descriptor():
    (row,) = said(in_code(WGMMA[0][1], {"UR4": halves(A, B)}))
    assert row["shape"] == [64, 16, 16] or row["shape"] == (64, 16, 16)
    assert row["types"] == {"a": "f16", "b": "f16", "d": "f32"}
    of_a, of_b = row["operands"]
    assert (of_a["major"], of_a["mode"], of_a["start"], of_a["sbo"], of_a["ignored"]) == (
        *("k", "128B", 1024, 1024),
        ["lbo"],
    )
    assert (of_b["major"], of_b["mode"], of_b["start"], of_b["lbo"]) == ("mn", "64B", 2048, 16)
    assert of_a["layout"] == "Swizzle<3,4,3> o (S[((8, 8), (2, 8)) : ((1024, 128), (16, 2))] + 1024)"
    assert of_a["command"] == "tilewise descriptor 0x4000004000010040 --operand A --dtype f16"


TCGEN05 = [
    (
        "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1",
        "UTCHMMA @, tmem[UR10], tmem[UR8], idesc[UR9], UP0",
        IDESC,
    ),
    (
        "tcgen05.mma.cta_group::1.kind::tf32 [%r1], %rd1, %rd2, %r2, %p1",
        "UTCHMMA @, tmem[UR10], tmem[UR8], idesc[UR9], !UPT",
        0x08200910,
    ),
    (
        "tcgen05.mma.cta_group::1.kind::i8 [%r1], %rd1, %rd2, %r2, %p1",
        "UTCIMMA @, tmem[UR10], tmem[UR8], idesc[UR9], UPT",
        0x08200020,
    ),
    (
        "tcgen05.mma.cta_group::1.kind::f8f6f4 [%r1], %rd1, %rd2, %r2, %p1",
        "UTCQMMA @, tmem[UR10], tmem[UR8], idesc[UR9], UP0",
        0x08200010,
    ),
    (
        "tcgen05.mma.cta_group::2.kind::f16 [%r1], %rd1, %rd2, %r2, %p1",
        "UTCHMMA.2CTA @, tmem[UR10], tmem[UR8], idesc[UR9], UP0",
        0x10400490,
    ),
    (
        "tcgen05.mma.ws.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1",
        "UTCHMMA.WS @, tmem[UR10], tmem[UR8], idesc[UR9], UP0",
        IDESC,
    ),
    (
        "tcgen05.mma.sp.cta_group::1.kind::f16 [%r1], %rd1, %rd2, [%r3], %r2, %p1",
        "UTCHMMA @, tmem[UR10], tmem[UR8], idesc[UR9], UP0",
        IDESC | 4,
    ),
    (
        "tcgen05.mma.cta_group::1.kind::f16.collector::a::lastuse [%r1], %rd1, %rd2, %r2, %p1",
        "UTCHMMA gdesc[UR4].A_REUSE, gdesc[UR6], tmem[UR10], tmem[UR8], idesc[UR9], UP0",
        IDESC,
    ),
    (
        "tcgen05.mma.cta_group::1.kind::f16 [%r1], [%r3], %rd2, %r2, %p1",
        "UTCHMMA tmem[UR12], gdesc[UR6], tmem[UR10], tmem[UR8], idesc[UR9], UP0",
        IDESC,
    ),
    (
        "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%r1], %rd1, %rd2, %r2, [%r3], [%r3], %p1",
        "UTCQMMA @, tmem[UR12], tmem[UR8], idesc[UR9], tmem[UR10], UP0",
        0x08A00000,
    ),
]
"""PTX, the machine code that ptxas 13.0 makes of it, and an instruction descriptor of such a product."""


@pytest.mark.parametrize(("ptx", "code", "idesc"), TCGEN05)
def test_tcgen05_in_both_texts(ptx, code, idesc):
    in_words = said(
        in_ptx(
            f"mov.u64 %rd1, {BLACKWELL_A:#x}",
            f"mov.u64 %rd2, {BLACKWELL_B:#x}",
            f"mov.u32 %r2, {idesc:#x}",
            ptx,
            launch=ONE_LANE,
        )
    )
    registers = {"UR4": halves(BLACKWELL_A, BLACKWELL_B), "UR9": idesc}
    assert in_words == said(in_code(code.replace("@", "gdesc[UR4], gdesc[UR6]"), registers, ONE_LANE))
    (row,) = in_words
    assert (row["engine"], row["times"], row["reason"]) == ("tcgen05", 1, "")
    assert row["operands"][0]["from"] == ("shared" if "%rd1" in ptx else "tensor memory")
    assert row["operands"][1]["value"] == f"{BLACKWELL_B:#018x}"
    assert row["cta_group"] == (2 if "2CTA" in code else 1)


@pytest.mark.parametrize(
    ("ptx", "code", "shape", "types"),
    [
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
            "HMMA.16816.F32.BF16",
            (16, 8, 16),
            ("bf16", "bf16", "f32"),
        ),
        (
            "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
            "HMMA.16816.F16",
            (16, 8, 16),
            ("f16", "f16", "f16"),
        ),
        (
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
            "HMMA.1688.F32.TF32",
            (16, 8, 8),
            ("tf32", "tf32", "f32"),
        ),
        (
            "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32",
            "IMMA.16832.S8.U8",
            (16, 8, 32),
            ("s8", "u8", "s32"),
        ),
        (
            "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32",
            "QMMA.16832.F32.E4M3.E5M2",
            (16, 8, 32),
            ("e4m3", "e5m2", "f32"),
        ),
        ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "DMMA.8x8x4", (8, 8, 4), ("f64", "f64", "f64")),
    ],
)
def test_products_of_a_warp(ptx, code, shape, types):
    lines = (
        in_ptx(f"{ptx} {{%f1,%f2,%f3,%f4}}, {{%r1}}, {{%r2}}, {{%f1}}"),
        in_code(f"{code} R4, R8, R10, R4", {}),
    )
    for run in lines:
        (row,) = products_of(run.calls, 1.0)
        assert (row.words.engine, row.words.shape, row.words.types, row.times) == ("mma", shape, types, 4)
        assert row.operands == []


def test_starts_of_a_loop_are_told_by_their_steps():
    run = in_ptx(
        f"mov.u64 %rd1, {A:#x}",
        "mov.u32 %r1, 0",
        "again:",
        f"wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {D8}, %rd1, %rd1, 1, 1, 1, 0, 0",
        "add.u64 %rd1, %rd1, 2",
        "add.u32 %r1, %r1, 1",
        "setp.lt.u32 %p1, %r1, 4",
        "@%p1 bra again",
    )
    (row,) = said(run)
    assert row["times"] == 4
    assert row["operands"][0]["starts"] == {
        "first": 1024,
        "last": 1120,
        "different": 4,
        "steps": [{"count": 4, "by": 32}],
    }


def test_what_hangs_on_data_has_no_descriptor():
    run = in_ptx(
        "ld.global.u64 %rd1, [%rd9]",
        f"wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {D8}, %rd1, {A:#x}, 1, 1, 1, 0, 0",
    )
    (row,) = said(run)
    of_a, of_b = row["operands"]
    assert "not known" in of_a["reason"]
    assert of_b["value"] == f"{A:#018x}"


def test_sparse_wgmma_has_its_shape_and_a_reason():
    (row,) = said(
        in_code("HGMMA.SP.64x16x32.F32 R24, gdesc[UR4], R24, R32, 0x0, gsb0", {"UR4": halves(A, B)})
    )
    assert row["sparse"]
    assert row["operands"] == []
    assert "sparse" in row["reason"]


def test_garbled_products_are_named_as_unread():
    for line in (
        "HGMMA.64x16x16.F32 R24, R24",
        "UTCHMMA gdesc[UR4], gdesc[UR6]",
        "UTMALDG [UR8], [UR4]",
        "UBLKCP.S.G",
    ):
        program = sass_texts.program_of(line, "EXIT")
        assert program.unread == {line.split()[0]: 1}


# -- copies ----------------------------------------------------------------------------------------------


def copies(run: Run) -> list[dict[str, Any]]:
    names = ("line", "instruction", "rows")
    found = [row.as_dict() for row in transfers_of(run.calls, 1.0)]
    return [{name: one[name] for name in one if name not in names} for one in found]


LOADED = "cp.async.bulk.tensor.{}.mbarrier::complete_tx::bytes{} [%r1], [%rd1, {{{}}}], [%r2]"
BYTES = "cp.async.bulk.{}.mbarrier::complete_tx::bytes{} [%r1], [{}], 4096, [%r2]"
COPIES = [
    (
        LOADED.format("2d.shared::cluster.global.tile", "", "%r3, %r4"),
        "UTMALDG.2D [UR8], [UR4]",
        {"UR8": [0x1400, 0x2408, 31, 37]},
        ("global", "shared", 2, 0x1400, [31, 37], None),
    ),
    (
        LOADED.format("1d.shared::cta.global", ".L2::cache_hint", "%r3") + ", %rd2",
        "UTMALDG.1D [UR8], [UR4], desc[UR6]",
        {"UR8": [0x1400, 0x2408, 31]},
        ("global", "shared", 1, 0x1400, [31], None),
    ),
    (
        LOADED.format("3d.shared::cluster.global.im2col", "", "%r3, %r4, %r5") + ", {%rs1}",
        "UTMALDG.3D.IM2COL [UR8], [UR4], UR6",
        {"UR8": [0x1400, 0x2408, 31, 37, 41]},
        ("global", "shared", 3, 0x1400, [31, 37, 41], None),
    ),
    (
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r3, %r4}], [%r1]",
        "UTMASTG.2D [UR8], [UR4]",
        {"UR8": [0x1400, 31, 37]},
        ("shared", "global", 2, 0x1400, [31, 37], None),
    ),
    (
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%rd1, {%r3, %r4}], [%r1]",
        "UTMAREDG.2D.ADD [UR8], [UR4]",
        {"UR8": [0x1400, 31, 37]},
        ("shared", "global", 2, 0x1400, [31, 37], None),
    ),
    (
        "cp.async.bulk.prefetch.tensor.2d.L2.global [%rd1, {%r3, %r4}]",
        "UTMAPF.L2.2D [UR8], [UR4]",
        {"UR8": [31, 37]},
        ("global", "L2", 2, None, [31, 37], None),
    ),
    (
        LOADED.format("2d.shared::cta.global.tile::gather4", "", "%r3, %r4, %r5, %r6, %r7"),
        "UTMALDG.2D.GATHER4 [UR8], [UR4]",
        {"UR8": [0x1400, 0x2408, 31, 37, 41, 43, 47]},
        ("global", "shared", 2, 0x1400, [31, 37, 41, 43, 47], None),
    ),
    (
        BYTES.format("shared::cluster.global", "", "%rd1"),
        "UBLKCP.S.G [UR8], [UR4], UR10",
        {"UR8": [0x1400, 0x2408, 0x100]},
        ("global", "shared", None, 0x1400, [], 4096),
    ),
    (
        BYTES.format("shared::cluster.global", ".multicast::cluster", "%rd1") + ", %rs1",
        "UBLKCP.S.G.MULTICAST [UR8], [UR4], UR10",
        {"UR8": [0x1400, 0x2408, 0x30100]},
        ("global", "shared", None, 0x1400, [], 4096),
    ),
    (
        BYTES.format("shared::cluster.shared::cta", "", "%r3"),
        "UBLKCP.S.S [UR8], [UR6], UR10",
        {"UR8": [0x1400, 0x2408, 0x100]},
        ("shared", "shared", None, 0x1400, [], 4096),
    ),
    (
        "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 4096",
        "UBLKCP.G.S [UR4], [UR8], UR10",
        {"UR8": 0x1400, "UR10": 0x100},
        ("shared", "global", None, 0x1400, [], 4096),
    ),
    (
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 4096",
        "UBLKRED.G.S.ADD [UR4], [UR8], UR10",
        {"UR8": 0x1400, "UR10": 0x100},
        ("shared", "global", None, 0x1400, [], 4096),
    ),
    (
        "cp.async.bulk.prefetch.L2.global [%rd1], 4096",
        "UBLKPF.L2 [UR4], UR10",
        {"UR10": 0x100},
        ("global", "L2", None, None, [], 4096),
    ),
]
"""PTX, the machine code that ptxas 13.0 makes of it, its registers, and what both say."""

NUMBERS = [0x1400, 0x2408, 31, 37, 41, 43, 47]


@pytest.mark.parametrize(("ptx", "code", "registers", "wanted"), COPIES)
def test_copies_in_both_texts(ptx, code, registers, wanted):
    moves = [f"mov.u32 %r{number}, {value}" for number, value in enumerate(NUMBERS, 1)]
    in_words = copies(in_ptx(*moves, ptx, launch=ONE_LANE))
    assert in_words == copies(in_code(code, registers, ONE_LANE))
    (row,) = in_words
    source, target, dimensions, shared, coordinates, bytes = wanted
    assert (row["source"], row["target"], row["dimensions"], row["times"]) == (source, target, dimensions, 1)
    assert (row["shared"] and row["shared"]["first"], row["bytes"]) == (shared, bytes)
    assert [one["first"] for one in row["coordinates"]] == coordinates
    assert (row["reason"] == "") == (bytes is not None)


LOAD = "cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r3}], [%r2]"


def looped(*lines: str, times: int = 4) -> Run:
    moves = [f"mov.u32 %r{number}, {value}" for number, value in enumerate(NUMBERS, 1)]
    again = ["add.u32 %r9, %r9, 1", f"setp.lt.u32 %p1, %r9, {times}", "@%p1 bra again"]
    return in_ptx(*moves, "mov.u32 %r9, 0", "again:", *lines, *again, launch=ONE_LANE)


EXPECT = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 8192"


def test_the_bytes_of_a_box_are_those_that_its_barrier_waits_for():
    (row,) = copies(looped(EXPECT, LOAD, "add.u32 %r1, %r1, 8192", "add.u32 %r3, %r3, 64"))
    assert (row["times"], row["bytes"], row["reason"]) == (4, 8192, "")
    assert row["shared"]["steps"] == [{"count": 4, "by": 8192}]
    assert row["coordinates"] == [
        {"first": 31, "last": 223, "different": 4, "steps": [{"count": 4, "by": 64}]}
    ]


def test_bytes_of_several_boxes_are_told_together():
    (row,) = copies(looped(EXPECT, LOAD, LOAD))
    assert row["bytes"] is None
    assert row["expected"] == {"bytes": 8192, "copies": 2}
    assert "tensor map" in row["reason"]


@pytest.mark.parametrize(
    "lines",
    [
        (LOAD,),
        (EXPECT, EXPECT.replace("8192", "4096"), LOAD),
        (EXPECT.replace("8192", "%r20"), LOAD),
        ("ld.global.u32 %r2, [%rd9]", EXPECT, LOAD),
        (
            EXPECT,
            LOAD,
            "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 64, [%r2]",
        ),
    ],
)
def test_bytes_that_are_not_certain_are_left_open(lines):
    row = copies(looped(*lines))[-1]
    assert row["dimensions"] == 1
    assert row["bytes"] is row["expected"] is None


def test_expected_bytes_in_machine_code():
    registers = {"UR8": [0x1400, 0x2408, 31], "R5": 8192}
    for arrival, bytes in (
        ("ARRIVE.TRANS64", 8192),
        ("ARRIVE.TRANS64.RED.A0TR", 8192),
        ("ARRIVE.TRANS64.A1T0", None),
    ):
        text = sass_texts.text_of(
            *moved(registers), f"SYNCS.{arrival} RZ, [UR9], R5", "UTMALDG.1D [UR8], [UR4]", "EXIT"
        )
        (row,) = copies(counted(next(programs_of(text)), ONE_LANE))
        assert row["bytes"] == bytes


def test_a_loop_on_unknown_data_is_no_traceback():
    run = in_ptx("ld.global.u32 %r1, [%rd9]", "setp.eq.u32 %p1, %r1, 0", f"@%p1 {LOAD}", launch=Launch())
    (row,) = copies(run)
    assert (row["times"], row["unknown"]) == (0, 4)
    assert row["shared"] is None


def test_spans_of_many_numbers_are_told_by_their_ends():
    assert spans([1, 2, 4, 9, 11])["steps"] is None
    assert spans(range(10_000))["different"] == 10_000


def test_coordinates_have_a_sign():
    ptx = LOADED.format("1d.shared::cta.global", "", "%r3")
    (row,) = copies(in_ptx("mov.u32 %r3, -2", ptx, launch=ONE_LANE))
    assert row["coordinates"][0]["first"] == -2


def test_types_that_no_product_has_are_no_traceback():
    mma = f"wgmma.mma_async.sync.aligned.m64n8k16.f32.f64.f64 {D8}, {A}, {A}, 1, 1, 1"
    (row,) = said(in_ptx(mma))
    assert "does not multiply f64" in row["operands"][0]["reason"]
    (row,) = said(in_code("HGMMA.64x7x16.F32 R24, gdesc[UR4], R24", {"UR4": halves(A, B)}))
    assert row["operands"][1]["value"] == f"{B:#018x}"


@pytest.mark.parametrize(("a", "bits"), [(0, 8), (3, 6), (4, 6), (5, 4)])
def test_elements_of_few_bits(a, bits):
    idesc = 0x08200010 | a << 7 | a << 10
    line = "UTCQMMA gdesc[UR4], gdesc[UR6], tmem[UR10], tmem[UR8], idesc[UR9], UP0"
    registers = {"UR4": halves(BLACKWELL_A, 0x4000404000010080), "UR9": idesc}
    (row,) = said(in_code(line, registers, ONE_LANE))
    assert [one["bytes"] for one in row["operands"]] == [128 * 32, 128 * 32]
    for one in row["operands"]:
        assert (one["explore"] is None) == (bits == 6)
        assert bits == 6 or opened(one["explore"]).startswith("#1&e=")
