"""mfma's entries against the formulas of AMD's document, written plainly, and what they refuse."""

import json
import re
from itertools import product
from pathlib import Path

import pytest

from tilewise import LayoutError, Refused, parse
from tilewise.cli.main import main
from tilewise.core.dtypes import DType
from tilewise.hardware.catalog import find
from tilewise.hardware.catalog.instances import instances_of
from tilewise.hardware.mfma.instructions import ELSEWHERE, BlockShape, instructions, named, operands, results
from tilewise.pictures.scene.build import scene_of

# -- the document's table, and its formulas (7.1.2 and 7.1.4) --------------------------------------

TABLE = """
v_mfma_f32_32x32x1_2b_f32 64    v_mfma_f32_16x16x1_4b_f32 32    v_mfma_f32_4x4x1_16b_f32 8
v_mfma_f32_32x32x2_f32 64       v_mfma_f32_16x16x4_f32 32
v_mfma_f32_32x32x4_2b_f16 64    v_mfma_f32_16x16x4_4b_f16 32    v_mfma_f32_4x4x4_16b_f16 8
v_mfma_f32_32x32x8_f16 32       v_mfma_f32_16x16x16_f16 16
v_mfma_f32_32x32x4_2b_bf16 64   v_mfma_f32_16x16x4_4b_bf16 32   v_mfma_f32_4x4x4_16b_bf16 8
v_mfma_f32_32x32x8_bf16 32      v_mfma_f32_16x16x16_bf16 16
v_mfma_i32_32x32x4_2b_i8 64     v_mfma_i32_16x16x4_4b_i8 32     v_mfma_i32_4x4x4_16b_i8 8
v_mfma_i32_32x32x16_i8 32       v_mfma_i32_16x16x32_i8 16
v_mfma_f32_16x16x8_xf32 16      v_mfma_f32_32x32x4_xf32 32
v_mfma_f64_16x16x4_f64 32       v_mfma_f64_4x4x4_4b_f64 16
v_mfma_f32_16x16x32_bf8_bf8 16  v_mfma_f32_16x16x32_bf8_fp8 16
v_mfma_f32_16x16x32_fp8_bf8 16  v_mfma_f32_16x16x32_fp8_fp8 16
v_mfma_f32_32x32x16_bf8_bf8 32  v_mfma_f32_32x32x16_bf8_fp8 32
v_mfma_f32_32x32x16_fp8_bf8 32  v_mfma_f32_32x32x16_fp8_fp8 32
"""
"""Every instruction and its cycles."""

WORDS = TABLE.split()
LANES = 64


def input_place(m, k, blocks, b, i, kk):
    """(item, lane) of A[b, i, k]; of B[b, k, j] the same with N and j."""
    k_l = k // (LANES // (m * blocks))
    return kk % k_l, i + m * (b + blocks * (kk // k_l))


def result_place(m, n, h, b, i, j):
    """(item, lane) of D[b, i, j], and of C[b, i, j]."""
    b_i = -(-LANES // (n * m // h))
    m_i = (LANES // b_i) // n
    g = m // (h * m_i)
    return (i % h) + h * (i // (h * m_i) + g * (b // b_i)), j + n * ((i // h) % m_i + m_i * (b % b_i))


def f64_blocks_place(b, i, j):
    """(item, lane) of D[b, i, j] of v_mfma_f64_4x4x4_4b_f64, as AMD's calculator and lab notes have it."""
    return 0, 16 * i + 4 * b + j


def asked(capsys, *words):
    """(exit code, JSON) of a command."""
    code = main(["catalog", *words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_the_instructions_and_cycles_are_the_documents():
    assert {str(this): this.cycles for this in instructions()} == dict(
        zip(WORDS[::2], map(int, WORDS[1::2]), strict=True)
    )


def test_the_page_has_every_instruction():
    page = (Path(__file__).parents[2] / "docs/mfma.md").read_text(encoding="utf-8")
    shown = [
        (types, shape, int(blocks or 1))
        for words, shapes in re.findall(r"^\| ([a-z][^|]*) \| (\d+x[^|]*) \|$", page, re.MULTILINE)
        for one in [words.removesuffix(", in any pairs").split(", ")]
        for types in (product(one, one) if "pairs" in words else zip(one, one, strict=True))
        for shape, blocks in re.findall(r"(\w+)(?: \((\d+)\))?", shapes)
    ]
    there = [(spelled_types(this), str(this.shape), this.blocks) for this in instructions()]
    assert sorted(shown) == sorted(there)


def spelled_types(this):
    """The types of A and B as the name of an instruction has them."""
    first, *second = re.sub(r".*x\d+(_\d+b)?_", "", str(this)).split("_")
    return first, *(second or [first])


@pytest.mark.parametrize("this", instructions(), ids=str)
def test_every_operand_is_where_the_document_has_it(this):
    m, n, k, blocks = this.shape.m, this.shape.n, this.shape.k, this.blocks
    high = 1 if this.d == "f64" else 4
    apart = (this.a, blocks) == ("f64", 4)
    expected = {
        "A": lambda b, i, j: input_place(m, k, blocks, b, i, j),
        "B": lambda b, i, j: input_place(n, k, blocks, b, i, j),
        "D": f64_blocks_place if apart else lambda b, i, j: result_place(m, n, high, b, i, j),
    }
    expected["C"] = expected["D"]
    for operand, extents in {"A": (m, k), "B": (n, k), "C": (m, n), "D": (m, n)}.items():
        layout = find(f"mfma.{operand}")(str(this.shape), this.dtype(operand), this.blocks).layout
        assert layout.size == blocks * extents[0] * extents[1]
        places = set()
        for b, i, j in product(range(blocks), *map(range, extents)):
            place = layout.place(*((b, i, j) if blocks > 1 else (i, j)))
            assert (place["reg"], place["laneid"]) == expected[operand](b, i, j), (operand, b, i, j)
            places.add((place["reg"], place["laneid"]))
        assert len(places) == layout.size
        assert {lane for _, lane in places} == set(range(LANES))


def test_where_the_document_is_not_followed_it_says_otherwise():
    """Its formula for the results of f64 in four blocks is another map, and the entry says so."""
    written = [result_place(4, 4, 1, *index) for index in product(range(4), repeat=3)]
    ours = [f64_blocks_place(*index) for index in product(range(4), repeat=3)]
    assert sorted(written) == sorted(ours)
    assert written != ours
    for entry in ("mfma.C", "mfma.D"):
        noted = {
            name: any("the document's formula" in note for note in find(entry).build(**values).notes)
            for name, values in instances_of(find(entry)).items()
        }
        assert [name for name, said in noted.items() if said] == ["4x4x4 f64"]
        built = find(entry)("4x4x4", "f64")
        assert find(entry).confirmed_for(built, "4x4x4 f64") == ("oracle: AMD calculator",)


# -- what is said beside the layout ----------------------------------------------------------------


@pytest.mark.parametrize("this", instructions(), ids=str)
@pytest.mark.parametrize("operand", "ABCD")
def test_what_is_said_of_every_operand(this, operand):
    dtype = this.dtype(operand)
    built = find(f"mfma.{operand}")(str(this.shape), dtype, this.blocks)
    facts = built.facts
    assert built.dtype == DType.of(dtype)
    assert str(this) in facts["instructions"]
    assert facts["builtins"][facts["instructions"].index(str(this))] == this.builtin
    assert (facts["blocks"], facts["cycles"]) == (this.blocks, this.cycles)
    assert facts["passes"] * 4 == this.cycles
    assert facts["architecture"] == "gfx942 (CDNA3)"
    assert facts["registers"]["count"] == this.registers(operand)
    assert facts["registers"]["count"] * 32 * LANES == built.layout.size * built.dtype.bits
    assert facts["elements"]["count"] * LANES == built.layout.size
    if operand in "AB" or this.blocks_of_result is None:
        assert find(f"mfma.{operand}")(str(this.shape), dtype).layout == built.layout


def test_the_example_of_the_documents_third_subsection():
    """7.1.3.3: register 1, upper half, of lane 63 has A[15, 3, 3]; register 3 of lane 63 has D[15, 3, 3]."""
    assert parse("mfma.A(4x4x4, f16)").place(15, 3, 3).as_dict() == {"laneid": 63, "reg": 3}
    assert parse("mfma.D(4x4x4, f32)").place(15, 3, 3).as_dict() == {"laneid": 63, "reg": 3}
    assert parse("mfma.D(32x32x2, f32)").place(27, 31).as_dict() == {"laneid": 31, "reg": 15}


def test_calls_are_read_wherever_layouts_are():
    layout = "S[((4, 2, 4), 32) : ((4@reg, 32@laneid, 1@reg), 1@laneid)]"
    for call in (
        "mfma.D(32x32x8, f32)",
        "mfma.D(shape=32x32x8, dtype=f32)",
        "mfma.D(32x32x8, dtype=f32, blocks=1)",
        "mfma.C(32x32x8,f32)",
        "mfma.C(32x32x8,bf16)",
    ):
        assert parse(call) == parse(layout)
    with pytest.raises(LayoutError, match="a number runs into 'x'"):
        parse("S[(8x4x2, 3) : (3, 1)]")
    with pytest.raises(LayoutError, match="a number runs into 'x'"):
        parse("mfma.D(32x32x8 f32)")


def test_the_issues_command(capsys):
    code, data = asked(capsys, "mfma.D", "--shape", "32x32x8", "--dtype", "f32")
    assert (code, data["shape"], data["registers"]["count"], data["lanes"]) == (0, [32, 32], 16, 64)
    assert data["instructions"] == ["v_mfma_f32_32x32x8_f16", "v_mfma_f32_32x32x8_bf16"]
    assert data["register_files"] == ["VGPR", "AccVGPR"]
    _, data = asked(capsys, "mfma.D(32x32x8, f32)", "--who", "laneid=45,register=3")
    assert [where["element"] for where in data["elements_at"]] == [[7, 13]]
    assert data["elements_at"][0]["thread"] == 45
    _, data = asked(capsys, "mfma.A(32x32x8, f16)", "--who", "laneid=63,register=1")
    assert [where["element"] for where in data["elements_at"]] == [[31, 6], [31, 7]]
    assert [where["bits"] for where in data["elements_at"]] == [[0, 15], [16, 31]]


def test_scenes_have_64_lanes():
    """Scenes, which show, the page and pictures draw, have a row for each lane."""
    for call, shape in (("mfma.D(32x32x8, f32)", (64, 16)), ("mfma.A(4x4x4, f16)", (64, 4))):
        panels = {panel.title: panel for panel in scene_of(parse(call)).panels}
        assert panels["laneid by reg"].cells == shape
    hints = [note.text for note in scene_of(parse(call)).notes if note.kind == "hint"]
    assert hints == ["laneid reaches 63: a wave of CDNA has lanes 0 to 63, and a warp 0 to 31"]


@pytest.mark.parametrize(
    "words",
    [
        ("banks", "S[(64, 64) : (64, 1)]", "--dtype", "f32", "--access", "mfma.D(32x32x8, f32)"),
        ("shuffle", "mfma.D(32x32x8, f32)", "mfma.D(32x32x8, f32)", "--dtype", "f32", "--permute", "1,0"),
    ],
    ids=lambda words: words[0],
)
def test_what_is_known_of_warps_alone_refuses_a_wave(capsys, words):
    assert main([*words]) == 2
    assert "a warp has" in capsys.readouterr().err


# -- types -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("fp8", "e4m3fnuz"),
        ("BF8", "e5m2fnuz"),
        ("i8", "s8"),
        ("float8_e4m3fnuz", "e4m3fnuz"),
        ("xf32", "xf32"),
    ],
)
def test_amds_names_of_types(word, name):
    assert find("mfma.A").parameter("dtype").read(word) == name


@pytest.mark.parametrize(("word", "instead"), [("e4m3", "e4m3fnuz"), ("float8_e5m2", "e5m2fnuz")])
def test_nobody_takes_ocps_types_for_gfx942s(word, instead):
    with pytest.raises(Refused, match=f"is OCP's, and gfx942 multiplies {instead}") as no:
        find("mfma.A")("16x16x32", word)
    assert "bias" in no.value.hint
    assert any("FNUZ" in note for note in find("mfma.A")("16x16x32", instead).notes)


def test_mixed_types_are_the_types_of_a_and_b():
    first = find("mfma.A")("16x16x32", "e4m3fnuz").facts["instructions"]
    second = find("mfma.B")("16x16x32", "e4m3fnuz").facts["instructions"]
    assert first == ["v_mfma_f32_16x16x32_fp8_fp8", "v_mfma_f32_16x16x32_fp8_bf8"]
    assert second == ["v_mfma_f32_16x16x32_fp8_fp8", "v_mfma_f32_16x16x32_bf8_fp8"]


# -- what there is not -----------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "dtype"), ELSEWHERE, ids="-".join)
def test_what_other_generations_have(shape, dtype):
    with pytest.raises(Refused, match=r"gfx950 \(CDNA4\) has it|has it no longer"):
        find("mfma.A")(shape, dtype)
    with pytest.raises(Refused, match=r"gfx950 \(CDNA4\) has it|has it no longer"):
        find("mfma.D")(shape, dtype)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("mfma.A(32x32x8, s4)",), "no v_mfma multiplies s4 on gfx942"),
        (("mfma.A(8x8x8, f16)",), "no v_mfma 8x8x8 multiplies f16 on gfx942"),
        (("mfma.D(4x4x4, f32, blocks=2)",), "4x4x4 into f32 multiplies 16 blocks, not 2"),
        (("mfma.D(4x4x4, f16, blocks=2)",), "4x4x4 of f16 multiplies 16 blocks, not 2"),
        (("mfma.D(32x32x8, f32, blocks=2)",), "multiplies 1 block, not 2"),
        (("mfma.D(32x32x4, f32, blocks=4)",), "multiplies 1 block or 2 blocks, not 4"),
        (("mfma.D(32x32x8, f64)",), "no v_mfma 32x32x8 accumulates in f64 on gfx942"),
        (("mfma.shapes", "--shape", "8x8x8"), "no v_mfma has the shape 8x8x8 on gfx942"),
        (
            ("mfma.shapes", "--shape", "32x32x8", "--dtype", "f64"),
            "no v_mfma 32x32x8 multiplies f64 on gfx942",
        ),
        (("mfma.sp",), "sparse products"),
        (("mfma.scale",), "gfx950's"),
        (("v_smfmac_f32_16x16x32_f16",), "sparse products"),
        (("v_mfma_scale_f32_16x16x128_f8f6f4",), "gfx950's"),
        (("v_mfma_f32_32x32x16_f16",), "gfx950 (CDNA4) has it"),
        (("v_mfma_f32_32x32x8_f15",), "gfx942 has no v_mfma_f32_32x32x8_f15"),
    ],
)
def test_what_is_refused_says_why(capsys, words, reason):
    code, data = asked(capsys, *words)
    assert code == 1
    assert reason in data["reason"]
    assert data["hint"]


def test_result_of_a_type_that_no_instruction_has_is_refused():
    with pytest.raises(Refused, match="no v_mfma 32x32x8 accumulates in s32 on gfx942") as no:
        find("mfma.D")("32x32x8", "s32")
    assert no.value.hint == (
        "s32 has 32x32x4, 16x16x4, 4x4x4, 32x32x16, 16x16x32; 32x32x8 accumulates in f32"
    )


@pytest.mark.parametrize("this", [one for one in instructions() if one.a not in results()], ids=str)
@pytest.mark.parametrize("operand", "CD")
def test_result_by_the_type_of_a_is_that_of_its_instruction(this, operand):
    """As calls once had it: the type of A names the instruction, and the answer the type of D."""
    entry = find(f"mfma.{operand}")
    older = entry.bind((str(this.shape), this.a))
    assert older == entry.bind((str(this.shape), this.d, this.blocks))
    assert entry.spelled(older) == operands(this)[operand]
    assert str(this) in entry.build(**older).facts["instructions"]


@pytest.mark.parametrize(("shape", "blocks"), [("16x16x4", (1, 4)), ("32x32x4", (1, 2))])
def test_result_whose_blocks_are_open_asks_for_them(shape, blocks):
    with pytest.raises(LayoutError, match=f"{shape} into f32 multiplies") as wrong:
        find("mfma.D")(shape, "f32")
    assert wrong.value.hint == f"say which: blocks={blocks[0]} or blocks={blocks[1]}"
    sizes = {find("mfma.D")(shape, "f32", many).layout.size // many for many in blocks}
    assert len(sizes) == 1


@pytest.mark.parametrize(
    ("word", "hint"), [("m32n32k8", "32x32x8"), ("32x32x4_2b", "32x32x4"), ("32x32", "such as")]
)
def test_words_that_are_no_shape(word, hint):
    with pytest.raises(LayoutError, match="is no shape of an mfma") as wrong:
        BlockShape.of(word)
    assert hint in wrong.value.hint


# -- tables and instructions -----------------------------------------------------------------------


def test_the_table_of_a_type(capsys):
    code, data = asked(capsys, "mfma.shapes", "--dtype", "f16")
    assert code == 0
    assert data["shapes"][0] == {
        "shape": "32x32x4",
        "blocks": 2,
        "cycles": 64,
        "passes": 16,
        "registers": {"A": 2, "B": 2, "C": 32, "D": 32},
    }
    assert data["instructions"] == [str(this) for this in instructions(dtype="f16")]
    _, data = asked(capsys, "mfma.shapes")
    assert {name: set(shapes) for name, shapes in data["types"].items()} == {
        this.a: {str(each.shape) for each in instructions(dtype=this.a)} for this in instructions()
    }
    assert data["types"]["f16"]["4x4x4"] == "16 blocks"


@pytest.mark.parametrize("this", instructions(), ids=str)
def test_instructions_are_read_in_every_spelling(this):
    intrinsic = this.builtin.replace("__builtin_amdgcn_", "llvm.amdgcn.").replace("mfma_", "mfma.")
    for word in (str(this), this.builtin, intrinsic, str(this).upper(), f"{this} v[0:3], v4, v5, 0"):
        assert named(word) == this
    for operand, call in operands(this).items():
        assert this.registers(operand) * 32 * LANES == parse(call).size * _bits(this, operand)


def _bits(this, operand):
    return DType.of(this.dtype(operand)).bits


def test_an_instruction_names_its_operands(capsys):
    code, data = asked(capsys, "v_mfma_f32_16x16x32_fp8_bf8")
    assert (code, data["entry"]) == (0, "mfma.instruction")
    assert data["operands"]["B"] == "mfma.B(16x16x32, dtype=e5m2fnuz)"
    assert data["registers"] == {"A": 2, "B": 2, "C": 4, "D": 4}
    assert data["builtin"] == "__builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8"
