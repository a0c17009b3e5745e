"""The catalogue's entries of dense mma.sync: what they say beside the layout, and what they refuse."""

import json
from dataclasses import replace

import pytest

from tilewise import parse
from tilewise.cli.main import main
from tilewise.hardware.calls import read_call
from tilewise.hardware.catalog import find
from tilewise.hardware.catalog.instances import instances_of
from tilewise.hardware.mma.catalog import section_of
from tilewise.hardware.mma.fragments import a_fragment, b_fragment, d_fragment
from tilewise.hardware.mma.instructions import instructions
from tilewise.hardware.mma.words import every, mistake, named, operands


def asked(capsys, *words):
    """(exit code, JSON) of a command."""
    code = main(["catalog", *words, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("operand", "shape", "layout"),
    [
        ("A", [16, 16], "S[((2, 8), (2, 4, 2)) : ((2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]"),
        ("B", [8, 16], "S[((1, 8), (2, 4, 2)) : ((2@reg, 4@laneid), (2@reg, 1@laneid, 1@reg))]"),
        ("C", [16, 8], "S[((2, 8), (1, 4, 2)) : ((2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]"),
    ],
)
def test_the_issues_example(capsys, operand, shape, layout):
    code, data = asked(capsys, f"mma.{operand}", "--shape", "m16n8k16", "--dtype", "f16")
    assert code == 0
    assert (data["shape"], data["layout"]) == (shape, layout)
    assert data["call"] == f"mma.{operand}(m16n8k16, dtype=f16)"
    assert data["architectures"] == "sm_80 and later"
    assert "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" in data["instructions"] or operand == "C"
    assert parse(data["call"]) == parse(layout)


EVERY = dict.fromkeys(
    (operand, str(this.shape), getattr(this, operand.lower()))
    for this in instructions()
    for operand in "ABCD"
)


@pytest.mark.parametrize(("operand", "shape", "dtype"), EVERY, ids="-".join)
def test_what_is_said_of_every_operand(operand, shape, dtype):
    built = find(f"mma.{operand}")(shape, dtype)
    of = {"A": a_fragment, "B": b_fragment, "C": d_fragment, "D": d_fragment}[operand]
    assert built.layout == of(shape, dtype)
    elements = built.facts["elements"]["count"]
    registers = built.facts["registers"]
    assert built.layout.size == elements * (8 if "products" in built.facts else 32)
    assert registers["count"] * 32 == elements * built.dtype.bits
    assert registers.get("elements_each", 1) * built.dtype.bits == 32 * registers.get("registers_each", 1)
    usual = {"A": ("row", 0), "B": ("col", 1)}
    meant = {
        str(this)
        for this in instructions(shape)
        if getattr(this, operand.lower()) == dtype
        and (operand in "CD" or this.majors[usual[operand][1]] == usual[operand][0])
    }
    assert {text for text in built.facts["instructions"] if "kind" not in text} == meant
    assert built.source.url.endswith(section_of(shape, dtype).url.rpartition("#")[2])


def test_voltas_lanes(capsys):
    code, data = asked(capsys, "mma.A(m8n8k4, f16, product=3)", "--who", "laneid=31")
    assert (code, data["products"], data["lanes"]) == (0, 4, [12, 13, 14, 15, 28, 29, 30, 31])
    assert [where["element"] for where in data["elements_at"]] == [[7, 0], [7, 1], [7, 2], [7, 3]]
    _, data = asked(capsys, "mma.A(m8n8k4, f16, major=col)", "--at", "6,2")
    assert (data["elements_at"][0]["thread"], data["elements_at"][0]["name"]) == (18, "a2")
    _, data = asked(capsys, "mma.C(m8n8k4, f16)")
    assert {text.split(".")[-1] for text in data["instructions"]} == {"f16"}
    _, data = asked(capsys, "mma.D(m8n8k4, f32)")
    assert len(data["instructions"]) == 8


def test_what_runs_as_something_else(capsys):
    _, data = asked(capsys, "mma.A(m16n8k32, e4m3)")
    assert data["runs_as"] == [
        {
            "architectures": "sm_90 to sm_110",
            "shapes": ["m16n8k32"],
            "as": "two products of f16, after conversion",
        }
    ]
    _, data = asked(capsys, "mma.A(m16n8k32, e4m3, arch=sm_89)")
    assert "runs_as" not in data
    _, data = asked(capsys, "mma.shapes(b1, arch=sm_90a)")
    assert [row["as"] for row in data["runs_as"]] == ["two products with and.popc"]


@pytest.mark.parametrize(
    ("call", "reason", "hint"),
    [
        ("mma.A(m16n8k16, f16, arch=sm_75)", "sm_75 has no mma.sync m16n8k16 of f16", "it needs sm_80"),
        ("mma.A(m16n8k16, f16, arch=sm_75)", "sm_75 has no", "sm_75 has m8n8k4, m16n8k8"),
        ("mma.A(m16n8k16, tf32)", "no mma.sync m16n8k16 multiplies tf32", "m16n8k4, m16n8k8"),
        ("mma.A(m8n8k4, f64, arch=sm_75)", "sm_75 has no mma.sync m8n8k4 of f64", "it needs sm_80"),
        ("mma.C(m16n8k16, bf16)", "no mma.sync accumulates in bf16", "come out as f32"),
        (
            "mma.D(m16n8k16, f64, arch=sm_80)",
            "sm_80 has no",
            "it needs sm_90 and later; sm_80 has m8n8k4",
        ),
        ("mma.A(m16n8k32, e2m1, arch=sm_90)", "sm_90 has no mma.sync m16n8k32 of e2m1", "it needs sm_120f"),
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16",
            "there is no mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16",
            "near are mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32, "
            "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
        ),
        ("mma.sync.aligned.gelu", "there is no mma.sync.aligned.gelu", "mma.shapes lists"),
        (
            "mma.sync(m16n8k16.row.col.f32.f16.f16.f32, sm_75)",
            "sm_75 has no mma.sync m16n8k16.row.col",
            "it needs sm_80",
        ),
        ("mma.shapes(f64, arch=sm_75)", "sm_75 has no mma.sync of f64", "it needs sm_80 and later"),
        ("mma.B(m16n8k16, f16, product=1)", "computes one product", "only m8n8k4 of f16"),
        ("mma.B(m16n8k16, f16, major=row)", "takes B as col alone", "ldmatrix with .trans"),
    ],
)
def test_what_there_is_not_is_a_no(capsys, call, reason, hint):
    code, data = asked(capsys, call)
    assert (code, reason in data["reason"], hint in data["hint"]) == (1, True, True), data
    assert data["witness"]


@pytest.mark.parametrize(
    ("call", "code", "hint"),
    [
        ("mma.A(m16n8, f16)", "TW601", "such as m16n8k16"),
        ("mma.A(16, f16)", "TW601", "such as m16n8k16"),
        ("mma.A(m١٦n٨k١٦, f16)", "TW601", "such as m16n8k16"),
        ("mma.A(m16n8k16, flt16)", "TW105", "did you mean float16?"),
        ("mma.A(m16n8k16, f16, arch=sm_91)", "TW601", "did you mean sm_90?"),
        ("mma.A(m16n8k16, f16, arch=hopper)", "TW601", "Hopper is sm_90"),
        ("mma.A(m16n8k16, f16, major=k)", "TW601", "known: row col"),
        ("mma.A(m8n8k4, f16, product=4)", "TW601", "did you mean 3?"),
        ("mma.a(m16n8k16, f16)", "TW601", "did you mean mma.A?"),
    ],
)
def test_what_is_not_understood(capsys, call, code, hint):
    exit_code, data = asked(capsys, call)
    assert (exit_code, data["error"]["code"]) == (2, code)
    assert hint in data["error"]["hint"]


def test_cutes_word_for_a_shape_is_understood_enough(capsys):
    code, data = asked(capsys, "mma.A", "--shape", "16x8x16", "--dtype", "f16")
    assert (code, data["error"]["hint"]) == (2, "did you mean m16n8k16?")


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("laneid=32", "laneid goes from 0 to 31"),
        ("reg=8", "reg goes from 0 to 7"),
        ("wid_in_wg=1,laneid=5", "the layout has no axis wid_in_wg"),
    ],
)
def test_why_nothing_lives_there(capsys, place, why):
    code, data = asked(capsys, "mma.A(m16n8k16, f16)", "--who", place)
    assert (code, data["reason"]) == (1, "nothing lives there")
    assert why in data["hint"]


def test_a_thread_of_a_warp_is_its_lane(capsys):
    by_thread = asked(capsys, "mma.A(m16n8k16, f16)", "--who", "tid_in_wg=5")
    assert by_thread == asked(capsys, "mma.A(m16n8k16, f16)", "--who", "laneid=5")
    assert {where["thread"] for where in by_thread[1]["elements_at"]} == {5}


def test_an_engine_that_is_named_stands_first(capsys):
    _, data = asked(capsys, "mma")
    names = [row["entry"] for row in data["entries"]]
    assert names[0] == "mma.A"
    assert "wgmma.D" in names[names.index("mma.shapes") :]
    _, data = asked(capsys, "hmma")
    assert [row["entry"] for row in data["entries"]] == ["mma.shapes"]


def test_what_every_type_has(capsys):
    _, data = asked(capsys, "mma.shapes")
    assert data["types"]["tf32"] == {"m16n8k4": "sm_80 and later", "m16n8k8": "sm_80 and later"}
    assert data["types"]["b1"]["m8n8k128"] == "sm_75 and later"
    assert "e2m1" in data["types"]
    _, data = asked(capsys, "mma.shapes", "--arch", "sm_72")
    assert data["types"] == {"f16": {"m8n8k4": "sm_70 and later"}}
    _, data = asked(capsys, "mma.shapes", "--dtype", "e5m2", "--arch", "sm_89")
    assert data["shapes"] == {"m16n8k16": "sm_89 and later", "m16n8k32": "sm_89 and later"}
    assert (data["partners"], data["results"]) == (["e4m3", "e5m2"], ["f16", "f32"])
    assert len(data["instructions"]) == 8


@pytest.mark.parametrize("words", sorted(every()))
def test_an_instruction_by_its_words(words):
    this, entry = named(words), find("mma.sync")
    assert str(this) == words
    call = entry.spelled(entry.bind((words,)))
    assert read_call(call) == (entry, [words], {})
    for operand, call in operands(this).items():
        entry, given, values = read_call(call)
        built = entry(*given, **values)
        listed = " ".join(built.facts["instructions"])
        assert words.replace("mma.sp.", "mma.sp::ordered_metadata.") in listed or "{" in listed
        expected = {"A": this.a, "B": this.b, "D": this.d}.get(operand)
        assert expected in (None, built.dtype.name)


def test_an_instruction_is_asked_as_it_stands_in_ptx(capsys):
    words = "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32"
    code, data = asked(capsys, words.replace("col.", "col.satfinite."), "--arch", "sm_80")
    assert (code, data["instruction"]) == (0, words)
    assert data["operands"]["B"] == "mma.B(m16n8k32, dtype=u8)"
    assert data["architectures"] == "sm_80 and later"
    assert asked(capsys, "mma.sync", "--instruction", words.removeprefix("mma.sync.aligned."))[1]["call"] == (
        f"mma.sync({words})"
    )
    _, data = asked(capsys, "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32")
    assert data["operands"]["E"] == "mma.E(m16n8k32, dtype=f16)"


F8F6F4 = "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32"
SCALED = "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2.f32.ue8m0"
PACKED = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"


@pytest.mark.parametrize(
    ("spelled", "words"),
    [
        ("mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e2m1.e3m2.f32", F8F6F4),
        (
            "mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e4m3.e5m2.f32.ue8m0",
            SCALED,
        ),
        (SCALED.replace(".scale_vec::1X", ""), SCALED),
        (PACKED.replace(".scale_vec::2X", ""), PACKED),
        (f"{F8F6F4} {{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9}}, {{%10, %11, %12, %13}};", F8F6F4),
        (F8F6F4.upper(), F8F6F4),
        (SCALED.lower(), SCALED),
        (f"{F8F6F4};", F8F6F4),
        (F8F6F4.replace("sync.aligned.", ""), F8F6F4),
        (F8F6F4.removeprefix("mma.sync.aligned."), F8F6F4),
    ],
)
def test_an_instruction_as_programs_spell_it(capsys, spelled, words):
    code, data = asked(capsys, *spelled.split(" "))
    assert (code, data.get("instruction")) == (0, words)
    assert str(named(spelled)) == words


@pytest.mark.parametrize(
    ("spelled", "hint"),
    [
        (SCALED.replace("mxf8f6f4", "mxf4nvf4"), "near are"),
        (SCALED.replace("mxf8f6f4.block_scale.scale_vec::1X", "mxf4nvf4.block_scale"), "near are"),
        ("mma.m16n8k16", "mma.shapes --shape m16n8k16 lists"),
        ("m16n8k16.row.col.satfinite.f32.f16.f16.f32", "near are"),
        ("m16n8k16.row.col.f32.f16.f16.f32.rn", "near are"),
        ("m8n8k4.row.col.rn.rz.f64.f64.f64.f64", "near are"),
    ],
)
def test_an_instruction_that_says_too_little_or_something_else(capsys, spelled, hint):
    code, data = asked(capsys, spelled)
    assert (code, hint in data["hint"]) == (1, True), data


@pytest.mark.parametrize(
    ("spelled", "wrong"),
    [
        ("m16n8k16.row.row.f32.f16.f16.f32", "the pair of majors is row.col, not row.row"),
        ("m16n8k16.row.col.satfinite.f32.f16.f16.f32", "f16 does not take .satfinite, which is for integers"),
        ("m16n8k16.row.col.f32.f16.f16.f32.rn", "f16 does not take .rn, which is for f64"),
        ("m8n8k4.row.col.f64.f64.f64.f64.satfinite", "f64 does not take .satfinite, which is for integers"),
        ("m8n8k4.row.col.rn.rz.f64.f64.f64.f64", "it takes one modifier, not .rn and .rz"),
        ("m16n8k16.row.col.f32.f16.f16.f32.relu", "no mma has the word 'relu'"),
        ("m16n8k16.f32.f16.f16.f32", "after mma.sync.aligned.m16n8k16 stands the pair of majors"),
        ("m16n8k16.row.col.f32.f16.f16", "stands the type of C, not the end"),
        ("m16n8k17.row.col.f32.f16.f16.f32", "mma: the shape is m8n8k4, "),
        ("m16n8k16.row.col.f32.f16.bf16.f32", "mma m16n8k16 f16: the type of B is f16, not bf16"),
        ("m16n8k16.row.col.f32.tf32.tf32.f32", "tf32 has m16n8k4, m16n8k8; the shape has it with mma.sp"),
        ("m16n8k32.row.col.f32.e2m1.e2m1.f32", "not e2m1; the shape has it with kind::f8f6f4"),
        ("m16n8k16.row.col.f16.f16.f16.f32", "the type of C is f16, not f32"),
        ("m8n8k128.row.col.s32.b1.b1.s32", "the operation on bits is xor.popc, and.popc, not left out"),
        ("m16n8k32.row.col.kind::mx.f32.e4m3.e5m2.f32", "the kind is left out, kind::f8f6f4, kind::mxf8f6f4"),
        ("mma.sync.m16n8k16.row.col.f32.f16.f16.f32", "after mma stands sync.aligned"),
        ("mma.aligned.sync.m16n8k16.row.col.f32.f16.f16.f32", "after mma stands sync.aligned"),
        ("mma.snyc.aligned.m16n8k16.row.col.f32.f16.f16.f32", "the word 'snyc': did you mean sync?"),
        ("mma.sync.aligned.row.col.f32.f16.f16.f32", "after mma.sync.aligned stands the shape, not row"),
        ("mma.sp.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "f16 has m16n8k16, m16n8k32; the shape"),
        ("mma.sp.sync.aligned.m16n8k128.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
         "the name is mma, mma.sp::ordered_metadata, not mma.sp"),
        (PACKED.replace("kind::mxf4", "kind::mxf4.kind::f8f6f4"), "stands the type of D, not kind::f8f6f4"),
        (PACKED.replace("2X", "4X"), "the scaling is block_scale.scale_vec::2X, not"),
    ],
)  # fmt: skip
def test_the_first_mistake_in_an_instruction_is_named(capsys, spelled, wrong):
    code, data = asked(capsys, spelled)
    assert (code, data.get("code"), wrong in data.get("reason", "")) == (1, "TW602", True), data
    if spelled.count(".") > 5 and "relu" not in spelled:
        assert "mma.shapes" in data["hint"] or "near are" in data["hint"]


def test_what_is_right_has_no_mistake_but_what_no_words_show():
    for words in every():
        assert mistake(words) == ""
        assert named(words) == every()[words]


def test_operands_may_stand_close_and_blanks_before(capsys):
    plain = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    whole = f"  {plain}{{%0,%1,%2,%3}}, {{%4,%5,%6,%7}}, {{%8,%9}}, {{%10,%11,%12,%13}};"
    assert asked(capsys, whole) == asked(capsys, plain)
    assert asked(capsys, f"{plain}.rn{{%0}};")[0] == 1


def test_what_every_shape_has(capsys):
    _, data = asked(capsys, "mma.shapes", "--shape", "m16n8k32", "--arch", "sm_90")
    assert data["shape"] == "m16n8k32"
    assert {*data["types"]} == {"e4m3", "e5m2", "s8", "u8", "s4", "u4"}
    _, data = asked(capsys, "mma.shapes(s8, m16n8k32)")
    assert data["shapes"] == {"m16n8k32": "sm_80 and later"}
    assert len(data["instructions"]) == 2
    code, data = asked(capsys, "mma.shapes", "--shape", "m16n16k16")
    assert (code, data["reason"]) == (1, "no mma.sync has the shape m16n16k16")
    assert data["hint"].startswith("there are m8n8k4, ")
    code, data = asked(capsys, "mma.shapes(s8, m16n8k64)")
    assert (code, data["hint"].split("; ")[0]) == (1, "s8 has m8n8k16, m16n8k16, m16n8k32")
    code, data = asked(capsys, "mma.shapes(f32, m16n8k8)")
    assert (code, data["reason"]) == (1, "no mma.sync multiplies f32")
    assert data["hint"].endswith("32-bit floats are multiplied as tf32")
    code, data = asked(capsys, "mma.shapes", "--shape", "m16n8k8", "--arch", "sm_70")
    assert (code, data["reason"]) == (1, "sm_70 has no mma.sync m16n8k8")


def test_the_text_keeps_the_names_of_architectures(capsys):
    assert main(["catalog", "mma.shapes(f64)"]) == 0
    out = capsys.readouterr().out
    assert "m8n8k4 sm_80 and later; m16n8k4 sm_90 and later" in out
    assert "(architectures sm_100 and later; shapes m16n8k4, m16n8k8, m16n8k16; as products m8n8k4)" in out


@pytest.mark.parametrize("entry", ["mma.A", "mma.B", "mma.C", "mma.D"])
def test_the_instances_are_all_that_can_be_built(entry):
    """Those that are listed, against every combination of what the parameters may be."""
    whole = find(entry)
    told = instances_of(whole)
    assert told == instances_of(replace(whole, listed=None))
    assert len(told) > 25
