"""`tilewise tmem`: its lists, what fits, what does not, and the JSON of all of it."""

from __future__ import annotations

import shlex

import pytest
from tests.interpreter import said

OWN = "S[(128, 64) : (1@tid_in_wg, 1@reg)]"


def test_every_form(tilewise):
    run = tilewise("tmem", "tcgen05.D(f32, m=64, n=64)")
    head, columns, *rows = run.out.splitlines()
    assert run.code == 0
    assert head == "f32 in columns 0 to 63, lanes 0 to 15 of warps 0 to 3"
    assert columns.split() == ["form", "of", "each", "warp", "registers", "fragment"]
    assert [row.split()[:3] for row in rows] == [
        ["32x32b", "x64", "64"],
        ["16x64b", "x32", "32"],
        ["16x128b", "x16", "32"],
        ["16x256b", "x8", "32"],
        ["16x32bx2", "x32", "32"],
    ]


def test_one_form_says_its_instructions(tilewise):
    lines = tilewise("tmem", "tcgen05.D(f32, m=128, n=256)", "--form", "16x256b").out.splitlines()
    assert "2 * x32 in 2 rounds" in lines[2]
    assert [line.split()[1:] for line in lines[3:]] == [
        "lane 32 w, column 0: registers 0 to 127".split(),
        "lane 32 w + 16, column 0: registers 128 to 255".split(),
    ]


def test_the_json_has_addresses(tilewise):
    data = tilewise("tmem", "tcgen05.D(f16, m=64, n=64, slab=1)", "--form", "16x64b", "--json").json
    assert data["slabs"] == [1]
    assert data["columns"] == {"first": 0, "count": 64}
    plain, packed = data["ways"]
    assert plain["instructions"][0]["addresses"] == ["0x00100000", "0x00300000", "0x00500000", "0x00700000"]
    assert packed["instructions"][0]["instruction"] == "tcgen05.ld.sync.aligned.16x64b.x16.pack::16b.b32"
    assert (plain["registers"], packed["registers"]) == (32, 16)


def test_what_fits(tilewise):
    run = tilewise("tmem", "tcgen05.D(f32, m=64, n=64)", "--to", "wgmma.D(f32, n=64)")
    assert run.code == 0
    assert run.out.splitlines() == [
        "16x256b: 1 instruction of each warp, 32 registers of a thread",
        "  tcgen05.ld.sync.aligned.16x256b.x8.b32  lane 32 w, column 0: registers 0 to 31",
    ]
    data = tilewise("tmem", "tcgen05.D(f32, m=64, n=64)", "--to", "wgmma.D(f32, n=64)", "--json").json
    assert data["fits"]
    assert data["way"]["instructions"][0]["registers"] == [*range(32)]


def test_registers_are_named_as_the_fragment_has_them(tilewise):
    to = "S[((4, 32), (2, 8)) : ((1@warpid, 1@laneid), (1@reg, 2@reg))]"
    line = tilewise("tmem", "tcgen05.D(f32, m=128, n=16)", "--to", to).out.splitlines()[1]
    assert line.endswith("registers 0, 2, 4, 6, 8, 10, 12, ...")


def test_what_fits_not(tilewise):
    to = "S[((4, 8, 2), (4, 16)) : ((1@wid_in_wg, 1@laneid, 1@reg), (8@laneid, 2@reg))]"
    run = tilewise("tmem", "tcgen05.D(f32, m=64, n=64)", "--to", to)
    lines = run.out.splitlines()
    assert run.code == 1
    assert lines[0] == "no: no load brings it there"
    assert lines[1] == "  32x32b    element (0, 16) gets to lane 0, and lane 8 shall have it"
    assert lines[-2] == "  nearest: 16x32bx2, and after it 16 times at least 2 exchanges between lanes"
    data = tilewise("tmem", "tcgen05.D(f32, m=64, n=64)", "--to", to, "--json").json
    assert data["fits"] is False
    assert (data["nearest"]["exchanges_at_least"], data["nearest"]["times"]) == (2, 16)
    assert data["reasons"][0]["element"] == [0, 16]
    assert data["hint"].startswith("tilewise shuffle 'S[((4, 16), (2, 32))")
    assert lines[-1] == f"  hint: {data['hint']}"


HINTED = [
    (
        "tcgen05.D(f32, m=64, n=16)",
        "S[((4, 8, 2), (4, 4)) : ((1@warpid, 1@laneid, 1@reg), (8@laneid, 2@reg))]",
    ),
    ("tcgen05.D(f32, m=128, n=8)", "S[((4, 8, 4), 8) : ((32@tx, 1@tx, 8@tx), 1@reg)]"),
    ("tcgen05.D(f16, m=128, n=16)", "S[(128, (8, 2)) : (1@tid_in_wg, (1@reg, 8@reg))]"),
    ("tcgen05.A(e2m1, m=128, k=64)", "S[(4, 8, 4, 64) : (1@wid_in_wg, 1@laneid, 8@laneid, -1@reg)] + 63@reg"),
    ("tcgen05.D(f32, m=128, n=16)", "S[((4, 8, 4), (2, 8)) : ((32@tx, 1@tx, 8@tx), (128@tx, 1@reg))]"),
    (
        "tcgen05.D(f16, m=128, n=32)",
        "S[((4, 4, 8), (2, 16)) : ((1@wid_in_wg, 1@laneid, 4@laneid), (1@wgid, 1@reg))] + 1@wgid",
    ),
    (
        "tcgen05.D(f32, m=256, n=32, cta_group=2)",
        "S[(2, 4, 8, 4, 32) : (1@cbx, 1@warpid, 1@laneid, 8@laneid, 1@reg)]",
    ),
]


@pytest.mark.parametrize("store", [False, True])
@pytest.mark.parametrize(("layout", "to"), HINTED)
def test_the_shuffle_of_the_hint_runs(tilewise, layout, to, store):
    data = tilewise("tmem", layout, "--to", to, "--json", *["--store"] * store).json
    command, told, _ = data["hint"].partition(" has the steps")
    assert told
    run = tilewise(*shlex.split(command)[1:])
    assert run.code == 0, run.err
    assert data["nearest"]["exchanges_at_least"] or "shfl" not in run.out


def test_another_warp(tilewise):
    run = tilewise("tmem", "tcgen05.D(f32, m=64, n=8)", "--to", "S[(64, 8) : (1@tx, 1@reg)]")
    assert run.code == 1
    hint = "warps reach their own lanes alone: go through shared memory"
    assert run.out.splitlines()[-1] == f"  hint: {hint}"
    folded = ("tmem", "tcgen05.D(f32, m=64, n=64, ws)", "--to", "wgmma.D(f32, n=64)")
    assert tilewise(*folded, "--json").json["hint"] == hint
    assert tilewise(*folded).out.splitlines()[-1] == f"  hint: {hint}"


def test_a_hint_where_there_is_one_alone(tilewise):
    fits = tilewise("tmem", "tcgen05.D(f32, m=64, n=64)", "--to", "wgmma.D(f32, n=64)", "--json").json
    assert "hint" not in fits
    back = [
        "--store",
        "--to",
        "S[((4, 8, 2), 8) : ((1@wid_in_wg, 4@laneid, 1@reg), 2@reg)] + R[4 : 1@laneid]",
    ]
    asked = ("tmem", "tcgen05.D(f32, m=64, n=8)", *back)
    lines = [line for line in tilewise(*asked).out.splitlines() if line.startswith("  hint: ")]
    assert [f"  hint: {tilewise(*asked, '--json').json['hint']}"] == lines


def test_a_store(tilewise):
    run = tilewise("tmem", "tcgen05.A(bf16, m=128, k=64)", "--store", "--to", OWN)
    assert "tcgen05.st.sync.aligned.32x32b.x32.b32" in run.out
    half = tilewise("tmem", "tcgen05.D(f32, m=64, n=64)", "--store").out
    assert "not 32x32b: it would write 8192 words of 4 warps, of which 4096 have elements" in half
    away = tilewise("tmem", "tcgen05.D(f32, m=64, n=8)", "--store", "--to", "S[((4, 8, 2), 8) : "
                    "((1@wid_in_wg, 4@laneid, 1@reg), 2@reg)] + R[4 : 1@laneid]")  # fmt: skip
    assert away.out.startswith("no: no store takes it from there")


def test_the_code(tilewise):
    words = ["tcgen05.D(f32, m=64, n=16)", "--to", "wgmma.D(f32, n=16)", "--code"]
    run = tilewise("tmem", *words, "--name", "epilogue")
    assert run.code == 0
    assert "void epilogue(unsigned d, unsigned warp, unsigned (&to)[8])" in run.out
    assert "// warp is 0 to 3, its number in the warpgroup: (threadIdx.x / 32) % 4" in run.out
    assert tilewise("tmem", *words, "--json").json["source"].startswith("// tcgen05.ld of S[")
    nothing = tilewise("tmem", "tcgen05.D(f32, m=64, n=16)", "--to", "S[(64, 16) : (1@tx, 1@reg)]", "--code")
    assert (nothing.code, nothing.out) == (1, "")
    assert "no load brings it there" in nothing.err
    unnamed = tilewise("tmem", "tcgen05.D(f32, m=64, n=16)", "--name", "f")
    assert unnamed.code == 2


def test_a_layout_of_ones_own(tilewise):
    text = "S[(128, 32) : (1@TLane, 1@TCol)] + 256@TCol"
    data = tilewise("tmem", text, "--dtype", "f32", "--json").json
    assert data["columns"] == {"first": 256, "count": 32}
    bare = tilewise("tmem", text)
    assert bare.code == 2
    assert "the type of an element is not given" in bare.err
    assert "such as --dtype f32" in bare.err


@pytest.mark.parametrize(
    ("form", "hint"),
    [
        ("32x32", "did you mean 32x32b?"),
        ("32x32b.x32", "the plan says how often, and where it packs: --form 32x32b"),
        (
            "tcgen05.ld.sync.aligned.16x256b.x8.pack::16b.b32",
            "the plan says how often, and where it packs: --form 16x256b",
        ),
        ("rows", "known: 32x32b 16x64b 16x128b 16x256b 16x32bx2"),
    ],
)
def test_the_form_that_is_meant(tilewise, form, hint):
    run = tilewise("tmem", "tcgen05.D(f32, m=128, n=64)", "--form", form)
    assert run.code == 2
    assert run.err.splitlines()[-1] == f"  hint: {hint}"


def test_rows_of_two_ctas(tilewise):
    for asked, rows in (
        ("tcgen05.D(f32, m=256, n=256, cta_group=2)", "S[(256, 256) : (1@tid_in_wg, 1@reg)]"),
        ("tcgen05.D(f16, m=256, n=32, cta_group=2)", "S[(256, 32) : (1@tx, 1@reg)]"),
        ("tcgen05.D(f32, m=128, n=64, cta_group=2)", "S[(128, (2, 32)) : (1@tx, (128@tx, 1@reg))]"),
        ("S[(2, 8) : (1@cbx, 1@TCol)]", "S[(2, 8) : (128@tx, 1@reg)]"),
    ):
        asked = (asked, "--dtype", "f32") if asked.startswith("S") else (asked,)
        no = tilewise("tmem", *asked, "--to", rows)
        _, told, fragment = (no.out + no.err).strip().partition("alone: such as ")
        assert no.code == (1 if "@tx" in rows else 2)  # thread 128 is one of a further warpgroup
        assert told
        assert tilewise("tmem", *asked, "--to", fragment).code == 0


HALVES = "S[(128, (2, 128)) : (1@tid_in_wg, (1@wgid, 1@reg))]"


@pytest.mark.parametrize(
    "to",
    [
        HALVES,
        "S[(128, (2, 128)) : (1@tx, (128@tx, 1@reg))]",
        "S[(4, 32, 2, 128) : (1@warpid, 1@laneid, 4@warpid, 1@reg)]",
    ],
)
def test_two_warpgroups(tilewise, to):
    run = tilewise("tmem", "tcgen05.D(f32, m=128, n=256)", "--to", to)
    load = "    tcgen05.ld.sync.aligned.32x32b.x128.b32  lane 32 w, column"
    assert run.code == 0
    assert run.out.splitlines() == [
        "32x32b: 1 instruction of each warp, 128 registers of a thread",
        "  warpgroup 0, warps 0 to 3:",
        f"{load} 0: registers 0 to 127",
        "  warpgroup 1, warps 4 to 7:",
        f"{load} 128: registers 0 to 127",
        "  w is warpid % 4: a warp reaches lanes 32 w to 32 w + 31 alone, in any warpgroup",
    ]


def test_two_warpgroups_in_json_and_as_code(tilewise):
    asked = ("tmem", "tcgen05.D(f32, m=128, n=256)", "--to", HALVES)
    one, other = tilewise(*asked, "--json").json["way"]["instructions"]
    assert (one["warpgroup"], one["warps"], one["column"]) == (0, [0, 1, 2, 3], 0)
    assert (other["warpgroup"], other["warps"], other["column"]) == (1, [4, 5, 6, 7], 128)
    assert other["addresses"] == ["0x00000080", "0x00200080", "0x00400080", "0x00600080"]
    assert other["registers"] == [*range(128)]
    assert "d + (warp % 4 << 21) + warp / 4 * 0x80;" in tilewise(*asked, "--code").out


def test_warpgroups_that_have_the_same(tilewise):
    d = "tcgen05.D(f32, m=128, n=16)"
    both = tilewise("tmem", d, "--to", "S[(128, 16) : (1@tid_in_wg, 1@reg)] + R[2 : 1@wgid]").out
    assert "  warpgroups 0 to 1, warps 0 to 7:" in both.splitlines()
    second = tilewise("tmem", d, "--to", "S[(128, 16) : (1@tx, 1@reg)] + 128@tx", "--json").json
    (only,) = second["way"]["instructions"]
    assert (only["warpgroup"], only["warps"], only["column"]) == (1, [4, 5, 6, 7], 0)


def test_what_nobody_wants_is_said(tilewise):
    held = ("S[(128, 2, 8) : (1@TLane, 16@TCol, 1@TCol)]", "--dtype", "f32")
    to = ("--to", "S[(128, 2, 8) : (1@tid_in_wg, 8@reg, 1@reg)]")
    assert tilewise("tmem", *held, *to).out.splitlines()[1:] == [
        "  tcgen05.ld.sync.aligned.32x32b.x16.b32  lane 32 w, column 0: registers 0 to 7, 16 to 23",
        "  tcgen05.ld.sync.aligned.32x32b.x8.b32  lane 32 w, column 16: registers 8 to 15",
        "  registers 16 to 23 hold nothing that is wanted",
    ]
    assert tilewise("tmem", *held, *to, "--json").json["way"]["spare"] == [*range(16, 24)]
    assert "// registers 16 to 23 hold nothing that is wanted" in tilewise("tmem", *held, *to, "--code").out


def test_the_modes_of_a_fragment_in_another_order(tilewise):
    """[warp, two halves of the registers, lane, register] is 128 x 64 once lanes follow warps."""
    d = "tcgen05.D(f32, m=128, n=64)"
    no = tilewise("tmem", d, "--to", "S[(4, 16, 32, 4) : (1@warpid, 4@reg, 1@laneid, 1@reg)]")
    assert no.code == 2
    head, _, fragment = no.err.strip().partition("  hint: its modes in the order (0, 2, 1, 3) are: ")
    assert head.endswith("they are not layouts of one tensor\n")
    assert fragment == "S[((4, 32), (16, 4)) : ((1@warpid, 1@laneid), (4@reg, 1@reg))]"
    assert tilewise("tmem", d, "--to", fragment).code == 0
    none = tilewise("tmem", d, "--to", "S[(3, 16, 32, 4) : (1@warpid, 4@reg, 1@laneid, 1@reg)]")
    assert "hint: give a fragment of all of it" in none.err


def test_another_cta(tilewise):
    pair = "tcgen05.D(f32, m=256, n=16, cta_group=2)"
    no = tilewise("tmem", pair, "--to", "S[((128, 2), 16) : ((1@tid_in_wg, 1@cbx), 1@reg)]")
    assert no.code == 1
    assert "  32x32b    element (1, 0) gets to CTA 0, and CTA 1 shall have it" in no.out.splitlines()
    assert no.out.splitlines()[-1] == (
        "  hint: each CTA reaches its own tensor memory alone: such as "
        "S[((2, 128), 16) : ((1@cbx, 1@tid_in_wg), 1@reg)]"
    )


@pytest.mark.parametrize(
    "call",
    ["tcgen05.D(f32, m=128, n=64)", "tcgen05.D(f16, m=64, n=64, slab=1)", "tcgen05.A(e2m1, m=128, k=64)"],
)
def test_an_answer_of_the_catalogue(tilewise, call):
    asked = tilewise("catalog", call, "--json").out
    assert tilewise("tmem", "-", stdin=asked).out == tilewise("tmem", call).out
    assert tilewise("tmem", asked).out == tilewise("tmem", call).out


def test_the_type_of_another_answer(tilewise):
    said = '{"schema": 1, "layout": "S[(128, 8) : (1@TLane, 1@TCol)]", "dtype": "f16"}'
    assert tilewise("tmem", "-", stdin=said).out.startswith("f16 in columns 0 to 3")
    assert tilewise("tmem", "-", "--dtype", "f32", stdin=said).out.startswith("f32 in columns 0 to 7")


def test_no_engine_is_loaded_that_is_not_asked_for():
    """In an interpreter of its own, for others load them all."""
    program = (
        "import sys; from tilewise.cli.main import main; main(['tmem', 'tcgen05.D(f32, m=64, n=64)']); "
        "print(*[name for name in sys.modules if name.endswith(('mma.catalog', 'tcgen05.catalog'))])"
    )
    assert said(program).splitlines()[-1] == "tilewise.hardware.tcgen05.catalog"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tcgen05.D(f32, m=64, n=64)", "--form", "16x16b"], "no form 16x16b"),
        (["tcgen05.D(f32, m=64, n=64)", "--to", "S[64 : 1@reg]"], "not layouts of one tensor"),
        (["wgmma.D(f32, n=64)"], "the axis wid_in_wg"),
    ],
)
def test_what_is_not_understood(tilewise, words, message):
    run = tilewise("tmem", *words)
    assert run.code == 2
    assert message in run.err
