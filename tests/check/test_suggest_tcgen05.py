"""`suggest` and `agree` of tcgen05: what is suggested is matched, written and read alike, byte by byte."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hardware.of_tcgen05 import pieces

from tilewise import LayoutError, Refused, S, Swizzle
from tilewise.check.agree import agree
from tilewise.check.match import match
from tilewise.check.sides import Boxes, Copied, Described, Fed
from tilewise.check.suggest import suggest
from tilewise.hardware.modes import BLACKWELL
from tilewise.hardware.tcgen05.descriptor import Descriptor
from tilewise.hardware.tcgen05.operand import Operand

ASKED = (
    ("bf16", "k", {}),
    ("f16", "mn", {}),
    ("f16", "k", {"cta_group": 2}),
    ("f16", "k", {"sparse": True}),
    ("bf16", "mn", {"ws": True}),
    ("e4m3", "k", {}),
    ("e5m2", "mn", {}),
    ("e4m3", "mn", {"kind": "mxf8f6f4", "cta_group": 2}),
    ("s8", "mn", {}),
    ("u8", "k", {"cta_group": 2}),
    ("tf32", "k", {}),
    ("tf32", "mn", {}),
    ("e2m1", "k", {}),
    ("e3m2", "k", {"kind": "mxf8f6f4"}),
    ("e2m1", "k", {"kind": "mxf4"}),
    ("e2m1", "k", {"kind": "mxf4nvf4", "cta_group": 2}),
    ("e2m1", "k", {"kind": "mxf4nvf4", "lbo_mode": "absolute"}),
)


@st.composite
def questions(draw):
    """Draw a question for `suggest`: a tile of a few products, of every kind."""
    dtype, major, asked = draw(st.sampled_from(ASKED))
    operand, rows = draw(st.sampled_from([("A", 128), ("A", 256), ("B", 64), ("B", 128), ("B", 192)]))
    k = 768 if "lbo_mode" in asked else draw(st.sampled_from([64, 128]))
    return {"operand": operand, "rows": rows, "k": k, "dtype": dtype, "major": major, **asked}


@given(questions())
def test_what_is_suggested_is_matched(question):
    found = suggest(engine="tcgen05", **question)
    asked = {name: value for name, value in question.items() if name not in ("rows", "k")}
    again = match(found.tile, engine="tcgen05", **asked)
    assert again.legal
    assert (again.mode, again.major) == (found.mode, found.major)
    assert again.instruction == found.instruction
    silent = {*again.ignored}
    assert silent == {name for name in found.ignored if name != "lbo" or again.lbo_mode == "relative"}
    for one, other in zip(again.steps, found.steps, strict=True):
        assert (one.mn, one.k, one.bytes) == (other.mn, other.k, other.bytes)
        held = [
            {name: value for name, value in step.descriptor.named.items() if name not in silent}
            for step in (one, other)
        ]
        assert held[0] == held[1]


@given(questions())
def test_what_tma_writes_is_what_every_step_reads(question):
    """TMA's boxes land where the suggested tile has its elements, and the descriptors read them there."""
    found = suggest(engine="tcgen05", **question)
    plan = found.plan
    assert plan.tensor_map.mode == found.mode
    assert plan.tile.same(found.tile.in_bytes(found.dtype) if found.dtype.bits >= 8 else packed(found)).answer
    reader = Fed(
        found.operand,
        found.mode,
        tile=(found.rows, found.k),
        major=found.major,
        order=found.order,
        engine="tcgen05",
        asked=tuple((name, question[name]) for name in question if name in ("kind", *OF_PRODUCTS)),
    )
    told = agree(Copied(found.tile, found.dtype), reader, dtype=question["dtype"])
    assert told.answer, told.reason


OF_PRODUCTS = ("cta_group", "sparse", "ws", "lbo_mode")


def packed(found):
    """A tile of 4-bit elements in the bytes that TMA moves."""
    return found.tile.pack(2).counted("byte")


# -- what is chosen ------------------------------------------------------------------------------------


def test_tf32_that_is_contiguous_along_m_lies_in_atoms_of_32_bytes():
    found = suggest(engine="tcgen05", operand="A", rows=128, k=32, dtype="tf32", major="mn")
    assert found.mode == BLACKWELL["128B_ATOM_32B"]
    assert str(found.tile) == "Swizzle<2,3,2> o S[((4, 32), (8, 4)) : ((1024, 1), (128, 32))]"
    assert (found.descriptor.lbo, found.descriptor.sbo, found.alignment) == (4096, 512, 512)
    assert found.plan.tensor_map.arguments["swizzle"] == "CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B"
    assert found.plan.tensor_map.numbers["swizzle"] == 4
    again = suggest(engine="tcgen05", operand="A", rows=128, k=32, dtype="tf32", major="mn", mode="128B")
    assert again == found


def test_a_pair_of_ctas_has_half_of_the_rows():
    of_a = suggest(engine="tcgen05", operand="A", rows=128, k=64, dtype="bf16", cta_group=2)
    assert (of_a.instruction, len(of_a.steps)) == ((256, None, 16), 4)
    of_b = suggest(engine="tcgen05", operand="B", rows=320, k=64, dtype="bf16", cta_group=2)
    assert of_b.instruction == (None, 160, 16)
    assert of_b.notes[-1] == "N = 640 takes 4 instructions of n = 160"


def test_types_of_4_bits_have_a_byte_each_where_their_kind_mixes_them():
    mixed = suggest(engine="tcgen05", operand="A", rows=128, k=128, dtype="e2m1")
    alone = suggest(engine="tcgen05", operand="A", rows=128, k=128, dtype="e2m1", kind="mxf4")
    assert (mixed.bytes, alone.bytes) == (16384, 8192)
    assert "16U4_ALIGN16B" in mixed.notes[-1]
    assert not alone.notes


def test_a_k_of_48_bytes_goes_through_three_atoms():
    found = suggest(
        engine="tcgen05", operand="B", rows=64, k=768, dtype="e2m1", kind="mxf4", lbo_mode="absolute"
    )
    chunks = [(step.descriptor.start, step.descriptor.lbo) for step in found.steps]
    assert chunks[2] == (96, 8192)
    assert chunks[5] == (8192 + 112, 16384)
    of = Operand("e2m1", operand="B", n=64, kind="mxf4", k=96)
    boxes = [[piece.box[1] for piece in pieces(step.descriptor, of)] for step in found.steps]
    assert boxes[0] == [(0, 96)]
    assert boxes[2] == [(0, 64), (64, 96)]
    assert boxes[5] == [(0, 32), (32, 96)]


@pytest.mark.parametrize(
    ("asked", "message", "hint"),
    [
        ({"rows": 96}, "M = 96 is no whole number of 64", "tcgen05 takes 64 rows of A"),
        (
            {"rows": 96, "cta_group": 2, "m": 256},
            "M = 96 is no whole number of 128",
            "256 rows of A, of which each CTA has half",
        ),
        ({"k": 72}, "K = 72 is no whole number of 16", "takes 16 along K"),
        ({"dtype": "e2m1", "major": "mn"}, "reads e2m1 of kind::f8f6f4 K-major alone, and A", ""),
        ({"dtype": "bf16", "kind": "tf32"}, "kind::tf32 does not multiply bf16", "bf16 is of f16"),
        (
            {"dtype": "tf32", "major": "mn", "mode": "64B"},
            "tcgen05 reads no MN-major tf32 in mode 64B",
            "it is read in 128B_ATOM_32B",
        ),
        ({"operand": "B", "rows": 24, "dtype": "e4m3", "major": "mn"}, "no whole number of 16", ""),
        ({"dtype": "f64"}, "tcgen05 does not multiply f64", ""),
        (
            {"dtype": "e2m1", "kind": "mxf4", "lbo_mode": "absolute", "k": 384},
            "K = 384 is no whole number of 768",
            "8 instructions of 96 fill 3 atoms of 256: 768 fits, padded",
        ),
    ],
)
def test_what_there_is_none_of_is_refused(asked, message, hint):
    with pytest.raises(Refused) as refused:
        suggest(**{"engine": "tcgen05", "operand": "A", "rows": 128, "k": 64, "dtype": "bf16", **asked})
    assert message in refused.value.reason
    assert hint in refused.value.hint


def test_words_that_no_instruction_is_asked():
    with pytest.raises(LayoutError, match="wgmma takes no cta_group"):
        suggest(operand="A", rows=128, k=64, dtype="bf16", cta_group=2)
    with pytest.raises(LayoutError, match="tcgen05 takes no scale"):
        suggest(engine="tcgen05", operand="A", rows=128, k=64, dtype="bf16", scale="2X")


def test_the_command(tilewise):
    asked = ("--engine", "tcgen05", "--operand", "A", "--tile", "128x64", "--dtype", "bf16")
    run = tilewise("suggest", *asked, "--m", "256", "--cta-group", "2")
    assert "m256nNk16 of kind::f16, 4 a tile: 4 along K" in run.out
    assert "--m 256 --cta-group 2 --code cuda" in run.out
    code = tilewise("suggest", *asked, "--code", "cuda").out
    assert "0x4000404000010000" in code
    assert "cute::UMMA::Layout_K_SW128_Atom" in tilewise("suggest", *asked, "--code", "cute").out
    deep = ("--tile", "128x768", "--dtype", "e2m1", "--kind", "mxf4", "--lbo-mode", "absolute")
    run = tilewise("suggest", *asked[:4], *deep, "--code", "cuda")
    assert run.code == 1
    assert "steps of 48 bytes" in run.out


# -- agree ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "major"), [*product(BLACKWELL.values(), ("k", "mn"))], ids=str)
def test_every_mode_of_every_reader_against_every_writer(mode, major):
    """Only the reader of the writer's mode agrees, of those that read the type."""
    dtype = "tf32" if mode.keeps == 32 else "bf16"
    if mode.keeps == 32 and major == "k":
        return
    reader = Fed("B", mode, major=major, n=128, engine="tcgen05")
    for other in BLACKWELL.values():
        writer = Boxes(other, (128, 64), major, inner=None if other.bits else other.elements(dtype))
        assert agree(writer, reader, dtype=dtype).answer == (other == mode)


def test_sides_that_are_spelled():
    yes = agree("tma(128x64, 128B)", "tcgen05(A, 128B, m=256, cta_group=2)", dtype="bf16")
    assert yes.answer
    assert yes.reader.instructions == 4
    no = agree("tma(128x32, 128B, mn)", "tcgen05(A, 128B_ATOM_32B, mn)", dtype="tf32")
    assert no.answer is False
    assert no.first.index == (0, 1)
    assert "as in 128B_ATOM_32B mode" in no.hint
    shifted = agree("S[(128, 64) : (64, 1)]", "tcgen05(A, 128B)", dtype="bf16")
    assert "no descriptor reads what is written: rows are 128 B apart" in shifted.hint
    narrow = agree("tma(128x64, 64B)", "tcgen05(A, 128B)", dtype="bf16")
    assert "what is written is read by descriptor 0x8000402000010000: 64B swizzle" in narrow.hint


def test_two_chunks_agree_with_the_tile_that_they_are_of():
    reader = "tcgen05(B, 128B, kind=mxf4, absolute, n=64)"
    assert agree("tma(64x768, 128B)", reader, dtype="e2m1").answer
    late = "tma(64x256, 128B) + tma(64x512, 128B, at=(0, 256), start=0x4000)"
    assert agree(late, reader, dtype="e2m1").answer is False


@pytest.mark.parametrize("engine", ["tcgen05, ", ""])  # or by the version in the word
def test_one_descriptor_as_it_is(engine):
    value = Descriptor(sbo=1024, mode="128B").value
    tile = Copied(Swizzle(3, 3, 3) @ S[(128, 64) : (64, 1)])
    found = agree(tile, f"descriptor({value:#x}, A, {engine}m=128)", dtype="bf16")
    assert found.answer
    assert (found.rows, found.k) == ((0, 128), (0, 16))
    second = Described(Descriptor.decode(value + 2), "A", at=(0, 16), engine="tcgen05", asked=(("m", 128),))
    assert agree(tile, second, dtype="bf16").answer
    assert (
        agree(tile, Described(second.descriptor, "B", n=128, engine="tcgen05"), dtype="bf16").answer is False
    )


def test_elements_that_have_a_byte_each():
    reader = "tcgen05(A, 128B, m=128)"
    assert agree("tma(128x128, 128B, dtype=u8)", reader, dtype="e2m1").answer
    no = agree("tma(128x128, 64B)", reader, dtype="e2m1")
    assert no.reason == "written as e2m1, 4 bits an element, read as b8, 8 bits"


@pytest.mark.parametrize(
    ("reader", "message"),
    [
        ("descriptor(0x4000404000010000, A, engine=tcgen05)", "operand A needs m"),
        ("descriptor(0x4000404000010000, B, engine=tcgen05)", "operand B needs n"),
        ("descriptor(0x4000404000010000, A)", "operand A needs m"),
        ("descriptor(0x4000004000010000, A, m=64)", "wgmma takes no m"),
        ("descriptor(A, engine=tcgen05)", "'A' is no whole number"),
        ("descriptor(operand=A)", "does not say its value"),
        ("descriptor(0x6000404000010000, A, engine=tcgen05)", "3 is no swizzling mode"),
        ("tcgen05(A, 128B, m=96)", "no M = 96"),
        ("tcgen05(A, 128B, ws=maybe)", "'maybe' is no ws"),
        ("tcgen05(A, 128B, kind=f19)", "no kind of tcgen05.mma"),
        ("wgmma(A, 128B, kind=f16)", "wgmma takes no kind"),
        ("tcgen05(A, 128B, mn, kind=mxf4, dtype=e2m1)", "K-major alone"),
    ],
)
def test_sides_that_are_none(reader, message):
    writer = "tma(128x256, 128B, dtype=e2m1)" if "e2m1" in reader else "tma(128x64, 128B)"
    with pytest.raises(LayoutError, match=message) as refused:
        agree(writer, reader, dtype="bf16")
    if "f19" in reader:
        assert refused.value.source[slice(*refused.value.span)] == "f19"


# -- a pair of CTAs, and names that are nearly right ---------------------------------------------------

PAIR_OF_A = "the tile is one CTA's: of M = 256 each CTA of the pair has 128 rows, and 256 take 2 instructions"


@pytest.mark.parametrize(
    ("operand", "rows", "asked", "note"),
    [
        ("A", 256, {"m": 256, "n": 256, "cta_group": 2}, PAIR_OF_A),
        ("A", 128, {"m": 256, "n": 256, "cta_group": 2}, None),
        ("A", 128, {"m": 128, "cta_group": 2}, PAIR_OF_A.replace("128", "64").replace("256", "128")),
        ("A", 256, {"m": 128}, None),
        ("B", 256, {"n": 256, "cta_group": 2}, PAIR_OF_A.replace("M =", "N =")),
        ("B", 128, {"n": 256, "cta_group": 2}, None),
    ],
)
def test_a_tile_of_a_pair_is_one_ctas(operand, rows, asked, note, tilewise):
    words = [word for name, value in asked.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    words += ["--engine", "tcgen05", "--operand", operand, "--dtype", "bf16"]
    found = suggest(engine="tcgen05", operand=operand, rows=rows, k=64, dtype="bf16", **asked)
    wanted = [] if note is None else [note]
    assert [said for said in found.notes if "one CTA" in said] == wanted
    matched = match(found.tile, engine="tcgen05", operand=operand, dtype="bf16", **asked)
    assert [*matched.notes] == wanted
    run = tilewise("match", str(found.tile), *words, "--json")
    assert run.json.get("note") == note
    steps = ("descriptor", "steps", "--mode", "128B", "--tile", f"{rows}x64", *words)
    assert tilewise(*steps, "--json").json["notes"] == wanted
    assert [line for line in tilewise(*steps).out.splitlines() if line.startswith("note: ")] == [
        f"note: {said}" for said in wanted
    ]


@pytest.mark.parametrize(
    ("name", "meant"), [("tcgen5", "tcgen05"), ("TCGEN05", "tcgen05"), ("wgma", "wgmma")]
)
def test_an_engine_that_is_nearly_named(name, meant):
    tile = Swizzle(3, 3, 3) @ S[(128, 64) : (64, 1)]
    with pytest.raises(LayoutError) as refused:
        suggest(engine=name, operand="A", rows=128, k=64, dtype="bf16")
    assert refused.value.hint == f"did you mean {meant}? known: wgmma tcgen05"
    with pytest.raises(LayoutError) as refused:
        match(tile, engine=name, operand="A", dtype="bf16")
    assert refused.value.hint == f"did you mean {meant}? known: wgmma tcgen05 mma"
    with pytest.raises(LayoutError) as refused:
        match(tile, engine="abacus", operand="A", dtype="bf16")
    assert refused.value.hint == "known: wgmma tcgen05 mma"


@pytest.mark.parametrize("words", [("match", "S[(64, 64) : (64, 1)]"), ("descriptor", "decode", "0x10")])
def test_commands_tell_the_engine_that_was_meant(tilewise, words):
    run = tilewise(*words, "--operand", "A", "--dtype", "bf16", "--engine", "tcgen5", "--json")
    assert (run.code, run.json["error"]["code"]) == (2, "TW401")
    error = run.json["error"]
    assert error["message"] == "'tcgen5' is no engine"
    assert error["hint"].startswith("did you mean tcgen05? known: wgmma tcgen05")
