"""`tilewise emit wgmma`: its styles, its JSON, its refusals."""

from __future__ import annotations

import pytest

D64 = "S[((4, 2, 8), (8, 4, 2)) : ((1@wid_in_wg, 2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]"


def emit(tilewise, *words):
    return tilewise("emit", "wgmma", *words)


def test_constants_are_the_style_unless_another_is_named(tilewise):
    run = emit(tilewise, "--tile", "64x64x64", "--dtype", "bf16")
    assert (run.code, run.err) == (0, "")
    assert "constexpr unsigned long long B_DESCRIPTOR = 0x4000004000010000;" in run.out
    words = "--tile", "64,64,64", "--dtype", "bf16", "--style", "constants"
    assert run.out == emit(tilewise, *words).out


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--style", "cute"], "SM90_64x64x16_F32BF16BF16_SS<GMMA::Major::K, GMMA::Major::K>"),
        (["--a", "reg"], "const unsigned (&a)[4]"),
        (
            ["--major-a", "mn", "--mode-a", "32B", "--order-a", "k"],
            "A [64, 64] bf16, MN-major in global memory, mode 32B",
        ),
    ],
)
def test_what_is_asked_is_written(tilewise, words, shown):
    run = emit(tilewise, "--tile", "64x64x64", "--dtype", "bf16", *words)
    assert (run.code, run.err) == (0, "")
    assert shown in run.out


def test_two_types(tilewise):
    run = emit(tilewise, "--tile", "64x64x64", "--dtype-a", "e4m3", "--dtype-b", "e5m2", "--acc", "f16")
    assert "m64n64k32.f16.e4m3.e5m2" in run.out
    assert (
        "m64n64k32.s32.s8.u8" in emit(tilewise, "--tile", "64x64x64", "--dtype", "s8", "--dtype-b", "u8").out
    )


def test_json(tilewise):
    run = emit(tilewise, "--tile", "128x64x128", "--dtype", "bf16", "--json")
    data = run.json
    code = data.pop("code")
    assert code.startswith("// wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16")
    assert data == {
        "engine": "wgmma",
        "style": "constants",
        "tile": [128, 64, 128],
        "instruction": "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16",
        "threads": 256,
        "shared_bytes": 49152,
        "A": {
            "dtype": "bf16",
            "major": "k",
            "place": "smem",
            "layout": "Swizzle<3,3,3> o S[((16, 8), (2, 64)) : ((512, 64), (8192, 1))]",
            "mode": "128B",
            "order": "mn",
            "offset": 0,
            "descriptor": {"value": "0x4000004000010000", "lbo": 16, "sbo": 1024},
            "steps": {"k": [0, 2, 4, 6, 1024, 1026, 1028, 1030], "mn": [0, 512], "unit": 16},
        },
        "B": {
            "dtype": "bf16",
            "major": "k",
            "place": "smem",
            "layout": "Swizzle<3,3,3> o S[((8, 8), (2, 64)) : ((512, 64), (4096, 1))]",
            "mode": "128B",
            "order": "mn",
            "offset": 32768,
            "descriptor": {"value": "0x4000004000010000", "lbo": 16, "sbo": 1024},
            "steps": {"k": [0, 2, 4, 6, 512, 514, 516, 518], "mn": [0], "unit": 16},
        },
        "D": {"dtype": "f32", "layout": D64},
    }


def test_a_in_registers_has_no_descriptor(tilewise):
    data = emit(tilewise, "--tile", "64x64x64", "--dtype", "f16", "--a", "reg", "--json").json
    assert data["A"] == {
        "dtype": "f16",
        "major": "k",
        "place": "reg",
        "layout": "S[((4, 2, 8), (2, 4, 2)) : ((1@wid_in_wg, 2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]",
    }


@pytest.mark.parametrize(
    "text",
    [
        "Swizzle<2,3,3> o S[((8, 8), (2, 32)) : ((256, 32), (2048, 1))]",
        "wgmma.smem(A, k, 64B, bf16, rows=64, k=64)",
        "Sw<2,3,3> o _0 o ((8,8),(32,2)):((32,256),(1,2048))",
    ],
)
def test_a_layout_of_ones_own(tilewise, text):
    asked = emit(tilewise, "--tile", "64x64x64", "--dtype", "bf16", "--layout-a", text, "--json").json["A"]
    usual = emit(tilewise, "--tile", "64x64x64", "--dtype", "bf16", "--mode-a", "64B", "--json").json["A"]
    assert asked.pop("order") is None
    assert usual.pop("order") == "mn"
    assert asked == usual


def test_a_layout_that_wgmma_does_not_read(tilewise):
    run = emit(tilewise, "--tile", "64x64x64", "--dtype", "bf16", "--layout-a", "S[(64, 64) : (64, 1)]")
    assert run.code == 1
    assert "the addresses are not swizzled" in run.err
    assert "Swizzle<3,3,3> o S[(64, 64) : (64, 1)]" in run.err


def test_a_no_has_its_reason_and_what_would_do(tilewise):
    run = emit(tilewise, "--tile", "64x100x64", "--dtype", "bf16")
    assert run.code == 1
    assert run.out == "", "standard output is for a file, and has no answer in it"
    assert run.err == "no: m64n100k16 does not exist for bf16\n  hint: the nearest N are 96 and 104\n"
    data = emit(tilewise, "--tile", "64x100x64", "--dtype", "bf16", "--json").json
    assert data == {
        "code": None,
        "reason": "m64n100k16 does not exist for bf16",
        "witness": {"dtype": "bf16", "n": 100},
        "hint": "the nearest N are 96 and 104",
    }


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--tile", "64x64", "--dtype", "bf16"], "TW401"),
        (["--tile", "64x64x64"], "TW401"),
        (["--tile", "64x64x64", "--dtype-a", "bf16"], "TW401"),
        (["--dtype", "bf16"], "TW401"),
        (["--tile", "64x64x64", "--dtype", "bf15"], "TW105"),
        (["--tile", "64x64x64", "--dtype", "bf16", "--stages", "two"], "TW401"),
        (["--tile", "64x64x64", "--dtype", "bf16", "--mode-a", "256B"], "TW601"),
        (["--tile", "64x64x64", "--dtype", "bf16", "--style", "cute", "--host"], "TW401"),
        (["--tile", "64x64x64", "--dtype", "bf16", "--name", "2nd"], "TW401"),
    ],
)
def test_what_is_not_understood(tilewise, words, code):
    run = emit(tilewise, *words, "--json")
    assert run.code == 2
    assert run.json["error"]["code"] == code


def test_another_engine(tilewise):
    assert tilewise("emit", "tcgen05", "--tile", "64x64x64", "--dtype", "bf16").code == 2


# -- mma --------------------------------------------------------------------------------------------


def mma(tilewise, *words):
    return tilewise("emit", "mma", "--tile", "64x64x32", *words)


def test_mma_is_a_kernel_and_its_facts(tilewise) -> None:
    words = ("--dtype", "bf16", "--warps", "2x2", "--stages", "3", "--name", "mine")
    run = mma(tilewise, *words)
    assert run.code == 0
    assert "__launch_bounds__(128, 1) mine(" in run.out
    data = mma(tilewise, *words, "--json").json
    assert data["code"] == run.out.removesuffix("\n")
    assert (data["engine"], data["name"], data["arch"]) == ("mma", "mine", "sm_80")
    assert data["instruction"] == "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
    assert (data["warps"], data["threads"], data["load"]) == ([2, 2], 128, "cp.async")
    assert data["shared_bytes"] == 3 * 8192
    assert data["A"]["form"] == "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
    assert data["A"]["arguments"] == ["down", "s", "i", "lane"]
    assert data["B"]["arguments"] == ["along", "s", "i", "lane"]
    assert (data["A"]["offset"], data["B"]["offset"], data["B"]["copied_bytes"]) == (0, 4096, 16)
    assert data["D"] == {
        "dtype": "f32",
        "fragment": "S[((2, 8), (1, 4, 2)) : ((2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]",
        "store": "direct",
    }


def test_mma_takes_any_layout_in_either_dialect(tilewise) -> None:
    layouts = ("--layout-a", "S[(64, 32) : (34, 1)]", "--layout-b", "((_64),(_32)):((_1),(_72))")
    data = mma(tilewise, "--dtype", "f16", *layouts, "--json").json
    assert data["A"]["form"] == "ld.shared.b32"
    assert data["B"]["form"] == "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
    assert data["B"]["major"] == "mn"


def test_mma_stores_through_shared_memory_and_rounds(tilewise) -> None:
    words = ("--dtype", "f16", "--out", "f16", "--store", "stmatrix", "--layout-d", "S[(64, 64) : (72, 1)]")
    data = mma(tilewise, *words, "--json").json
    assert data["D"]["store"] == "stmatrix.sync.aligned.m8n8.x4.shared.b16"
    assert data["D"]["layout"] == "S[(64, 64) : (72, 1)]"
    assert (data["D"]["dtype"], data["arch"]) == ("f16", "sm_90")


def test_mma_has_a_host_and_older_architectures(tilewise) -> None:
    run = mma(tilewise, "--dtype", "f16", "--arch", "sm_75", "--acc", "f16", "--host")
    assert "m16n8k8.row.col.f16" in run.out
    assert "nvcc -arch=sm_75." in run.out
    bits = tilewise("emit", "mma", "--tile", "32x32x256", "--dtype", "b1", "--op", "xor.popc")
    assert ".xor.popc" in bits.out


def test_mma_says_no_with_the_reason(tilewise) -> None:
    run = mma(tilewise, "--dtype", "bf16", "--arch", "sm_75", "--json")
    assert run.code == 1
    assert run.json["code"] is None
    assert "sm_75 has no mma.sync that multiplies bf16" in run.json["reason"]
    assert run.json["witness"] == {"arch": "sm_75", "needs": "sm_80 and later"}
    assert mma(tilewise, "--dtype", "bf16", "--arch", "sm_75").out == ""


def test_mma_says_what_is_slow_beside_the_kernel(tilewise) -> None:
    words = ("--dtype", "f16", "--layout-a", "S[(64, 32) : (33, 1)]")
    run = mma(tilewise, *words)
    assert run.code == 0
    assert run.err.startswith("note: A by ld.shared.b16, not by ldmatrix: from m = 0 to 1 is 66 B")
    assert "// NOTE A by ld.shared.b16" in run.out
    assert mma(tilewise, *words, "--json").json["note"] in run.err
    assert mma(tilewise, "--dtype", "f16").err == ""
    assert mma(tilewise, *words, "--form", "matrices").code == 1


def test_mma_on_hopper_knows_of_what_is_faster(tilewise) -> None:
    assert "tilewise emit gemm" in mma(tilewise, "--dtype", "f16", "--arch", "sm_90").err
    assert mma(tilewise, "--dtype", "f16", "--arch", "sm_100").err == ""


def test_mma_has_stages_unless_it_is_asked(tilewise) -> None:
    assert mma(tilewise, "--dtype", "f16", "--json").json["stages"] == 3
    assert mma(tilewise, "--dtype", "f16", "--stages", "1", "--json").json["stages"] == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--dtype", "bf16", "--mode-a", "64B"),
        ("--dtype", "bf16", "--order-b", "k"),
        ("--dtype", "bf16", "--a", "reg"),
        ("--dtype", "bf16", "--style", "cute"),
        ("--dtype", "bf16", "--load", "tma"),
        ("--dtype", "bf16", "--warps", "two"),
        ("--dtype", "bf16", "--arch", "hopper"),
        ("--dtype", "bf16", "--layout-d", "S[(64, 64) : (64, 1)]"),
        (),
    ],
)
def test_what_mma_does_not_understand(tilewise, words: tuple[str, ...]) -> None:
    run = mma(tilewise, *words, "--json")
    assert run.code == 2
    assert run.json["error"]["code"].startswith("TW")


@pytest.mark.parametrize("words", ["--warps 2x2", "--out f16", "--arch sm_90", "--op and.popc"])
def test_what_is_mmas_is_not_wgmmas(tilewise, words: str) -> None:
    run = emit(tilewise, "--tile", "64x64x64", "--dtype", "f16", *words.split(), "--json")
    assert run.code == 2
    assert "is for mma" in run.json["error"]["message"]


@pytest.mark.parametrize(
    ("layout", "banks"),
    [
        ("S[(64, 64) : (64, 1)]", {"wavefronts": 32, "ideal": 4, "ways": 8}),
        ("Swizzle<3,3,3> o S[(64, 64) : (64, 1)]", {"wavefronts": 4, "ideal": 4, "ways": 1}),
    ],
    ids=["plain", "swizzled"],
)
def test_the_json_has_the_conflicts_of_all_three_tiles(tilewise, layout, banks):
    """The note says so of D where it has any; who reads JSON does not read notes."""
    words = ("--tile", "64x64x64", "--dtype", "f16", "--out", "f16", "--store", "stmatrix")
    data = tilewise("emit", "mma", *words, "--layout-d", layout, "--json").json
    assert set(data["D"]["banks"]) == set(data["A"]["banks"]) == set(data["B"]["banks"])
    each = data["D"]["banks"]
    assert (each["wavefronts"] * banks["ideal"], each["ways"]) == (
        each["ideal"] * banks["wavefronts"],
        banks["ways"],
    )


# -- gemm --------------------------------------------------------------------------------------------


def gemm(tilewise, *words):
    return tilewise("emit", "gemm", *words)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--dtype", "bf16"], "gemm_bf16_128x256x64("),
        (["--dtype", "bf16", "--host", "--name", "mine"], "cudaError_t launch_mine("),
        (["--dtype", "bf16", "--tile", "128x128", "--cluster", "1x2"], "In a cluster of 1 x 2 blocks"),
        (["--dtype", "bf16", "--problem", "512x512x16384"], "gemm_bf16_128x128x64_total("),
        (["--dtype", "bf16", "--grouped", "--cluster", "1x2"], "struct Groups {"),
        (["--dtype-a", "e4m3", "--dtype-b", "e5m2", "--out", "bf16"], "m64n256k32.f32.e4m3.e5m2"),
        (["--dtype", "e4m3", "--scales", "row", "--bias"], "scale_a[m] scale_b[n] A B^T + bias[n]"),
        (["--dtype", "f16", "--alpha", "--c"], "float beta, const float *C"),
        (["--dtype", "f16", "--major-a", "mn", "--batched"], "int M, int N, int K, int batches"),
        (["--dtype", "bf16", "--stages", "3", "--workers", "1", "--tile", "64x256"], "full[3]"),
    ],
)
def test_a_product_has_what_is_asked(tilewise, words, shown):
    run = gemm(tilewise, *words)
    assert (run.code, run.err) == (0, "")
    assert shown in run.out


def test_the_json_of_a_product_has_its_schedule(tilewise):
    data = gemm(tilewise, "--dtype", "bf16", "--out", "bf16", "--json").json
    assert data["schedule"] == {
        "cluster": [2, 1],
        "group": 8,
        "stages": 4,
        "stage_bytes": 49152,
        "workers": 2,
        "barriers": {"full": 1, "empty": 4},
    }
    assert (data["B"]["shared_by"], data["B"]["box"], data["D"]["box"]) == (2, [64, 128], [64, 64])
    assert data["code"].startswith("// D [M, N] = A B^T\n// by wgmma")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], 2, "the types of A and B are not given"),
        (["--dtype", "bf16", "--tile", "128x60"], 1, "m64n60k16 does not exist"),
        (["--dtype", "bf16", "--tile", "128x128x64"], 2, "--tile 128x128x64 is not MxN"),
        (["--dtype", "bf16", "--problem", "9x9x9", "--tile", "64x64"], 2, "--tile is chosen where"),
        (["--dtype", "bf16", "--problem", "0x0x0"], 2, "a product of 0 x 0 x 0"),
        (["--dtype", "bf16", "--group", "0"], 2, "a group of 0 tiles"),
        (["--dtype", "bf16", "--stages", "-1"], 2, "-1 stages hold no tile"),
        (["--dtype", "bf16", "--scales", "block"], 2, "'block' is no kind of scales"),
        (["--dtype", "s8", "--bias"], 2, "sums in s32 are D as they are"),
        (["--dtype", "bf16", "--cluster", "3x1"], 1, "3 blocks do not share the 256 rows of B"),
    ],
)
def test_a_product_that_is_refused_or_not_understood(tilewise, words, code, said):
    run = gemm(tilewise, *words)
    assert (run.code, run.out) == (code, "")
    assert said in run.err


def test_a_kernel_around_wgmma_is_that_of_gemm(tilewise):
    run = emit(tilewise, "--tile", "64x64x64", "--dtype", "bf16", "--host")
    assert run.code == 2
    assert "tilewise emit gemm has it" in run.err
