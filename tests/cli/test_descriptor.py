"""`tilewise descriptor`: its four operations, their JSON, what they refuse."""

from __future__ import annotations

import pytest
from tests.hardware.of_wgmma import addresses

from tilewise import parse
from tilewise.hardware.wgmma.descriptor import Descriptor

CUTLASS = "0x4000004000010000"


def test_encode(tilewise):
    run = tilewise(
        *"descriptor encode --engine wgmma --mode 128B --lbo 16 --sbo 1024 --start 0".split(),
        *"--base-offset 0 --json".split(),
    )
    assert run.code == 0
    assert run.json["value"] == CUTLASS
    assert run.json["fields"] == {"start": 0, "lbo": 16, "sbo": 1024, "base_offset": 0, "mode": "128B"}
    assert run.json["encoded"] == {"start": 0, "lbo": 1, "sbo": 64, "base_offset": 0, "mode": 1}
    assert run.json["bits"] == {
        "start": "13-0",
        "lbo": "29-16",
        "sbo": "45-32",
        "base_offset": "51-49",
        "mode": "63-62",
    }
    assert (run.json["ignored"], run.json["reserved"], run.json["remarks"]) == (["lbo"], [], [])


@pytest.mark.parametrize(
    ("mode", "major", "lbo", "notes"),
    [
        ("128B", (), 16, []),
        ("SWIZZLE_32B", ("--major", "k"), 16, []),
        ("128B", ("--major", "mn"), 0, ["--lbo was not given and is read here: 0"]),
        ("none", (), 0, ["--lbo was not given and is read here: 0"]),
    ],
)
def test_an_omitted_lbo(tilewise, mode, major, lbo, notes):
    run = tilewise("descriptor", "encode", "--mode", mode, "--sbo", "0x400", *major, "--json")
    assert run.json["fields"]["lbo"] == lbo
    assert run.json["remarks"] == notes


@pytest.mark.parametrize(
    ("mode", "lbo", "sbo", "encoded"),
    [
        ("none", 256, 128, (16, 8)),
        ("32B", None, 256, (1, 16)),
        ("32B", 256, 512, (16, 32)),
        ("64B", 512, 1024, (32, 64)),
    ],
)
def test_the_documents_examples(tilewise, mode, lbo, sbo, encoded):
    given = () if lbo is None else ("--lbo", str(lbo))
    run = tilewise("descriptor", "encode", "--mode", mode, "--sbo", str(sbo), *given, "--json")
    assert (run.json["encoded"]["lbo"], run.json["encoded"]["sbo"]) == encoded


@pytest.mark.parametrize("spelled", [CUTLASS, str(int(CUTLASS, 16))])
def test_decode(tilewise, spelled):
    run = tilewise("descriptor", "decode", spelled, "--engine", "wgmma", "--json")
    assert run.json["fields"] == {"start": 0, "lbo": 16, "sbo": 1024, "base_offset": 0, "mode": "128B"}
    assert run.json["words"]["lbo"] == (
        "K-major: not read in this mode and major; 1 is written by custom; "
        "MN-major: from the first 64 rows (128 bytes) to the next 64"
    )
    assert run.json["ignored"] == []
    k_major = tilewise("descriptor", "decode", spelled, "--major", "k", "--json").json
    assert k_major["ignored"] == ["lbo"]
    assert k_major["words"]["sbo"] == "from the first 8 rows to the next 8"


@pytest.mark.parametrize(
    "spelled", ["0x4000004000010000ULL", "0x4000004000010000ull", "4611686293305360384u"]
)
def test_decode_reads_a_constant_of_c(tilewise, spelled):
    assert tilewise("descriptor", "decode", spelled, "--json").json["value"] == CUTLASS


def test_sixteen_digits_were_probably_hexadecimal(tilewise):
    said = tilewise("descriptor", "decode", CUTLASS.removeprefix("0x"), "--json").json["remarks"]
    assert f"in hexadecimal it is {CUTLASS}" in said[0]
    assert tilewise("descriptor", "decode", str(int(CUTLASS, 16)), "--json").json["remarks"] == []


def test_steps_of_a_know_the_instruction_too(tilewise):
    words = "descriptor steps --mode 128B --dtype f16 --operand A --tile 64x64 --json".split()
    assert tilewise(*words).json["instruction"] == "m64nNk16"
    assert tilewise(*words, "--n", "72").json["instruction"] == "m64n72k16"


def test_decode_names_reserved_bits(tilewise):
    words = ("descriptor", "decode", "0x4000404000010000", "--engine", "wgmma")
    run = tilewise(*words, "--json")
    assert (run.code, run.json["reserved"]) == (0, [46])
    text = tilewise(*words).out
    assert "48-46" in text
    assert "..!" in text
    assert "note: reserved bit 46 is set" in text


def test_decode_of_what_was_encoded(tilewise):
    made = tilewise(
        *"descriptor encode --mode 64B --start 0x1280 --lbo 4096 --sbo 512 --base-offset 5 --json".split()
    ).json
    again = tilewise("descriptor", "decode", made["value"], "--major", "k", "--json").json
    assert again == made


def test_the_picture_of_the_bits(tilewise):
    lines = tilewise("descriptor", "decode", "0x4002004000010040").out.splitlines()
    assert lines[2:9] == [
        "63-62  61-52       51-49        48-46  45-32",
        "01     ..........  001          ...    00000001000000",
        "mode               base_offset         sbo",
        "",
        "31-30  29-16           15-14  13-0",
        "..     00000000000001  ..     00000001000000",
        "       lbo                    start",
    ]


@pytest.mark.parametrize(
    ("words", "shape"),
    [
        ("--operand B --major k --dtype f16 --n 64", [64, 16]),
        ("--operand A --dtype b1", [64, 256]),
        ("--operand A --major mn --dtype bf16", [64, 16]),
        ("--dtype s8 --n 24", [24, 32]),
    ],
)
def test_reads(tilewise, words, shape):
    run = tilewise("descriptor", "reads", CUTLASS, "--engine", "wgmma", *words.split(), "--json")
    data = run.json
    assert (run.code, data["shape"], data["unit"]) == (0, shape, "byte")
    table = data["addresses"]
    assert [len(table), len(table[0])] == shape
    asked = dict(zip(words.replace("--", "").split()[::2], words.split()[1::2], strict=True))
    n = int(asked.pop("n", 8))
    assert table == addresses(Descriptor.decode(int(CUTLASS, 16)), **asked, n=n)
    layout = parse(data["layout"], unit="byte")
    assert [layout.place(row, 0).as_dict()["m"] for row in range(shape[0])] == [row[0] for row in table]
    assert (data["first"], data["last"] >= max(map(max, table))) == (min(map(min, table)), True)


def test_reads_past_the_end_of_shared_memory(tilewise):
    words = ("--operand", "A", "--dtype", "f16")
    assert tilewise("descriptor", "reads", CUTLASS, *words, "--json").json["faults"] is False
    far = tilewise("descriptor", "reads", "0x4000004000013980", *words, "--json").json
    assert (far["first"], far["faults"]) == (0x39800, True)
    assert "illegal address" in far["remarks"][0]


def test_reads_in_pieces(tilewise):
    value = tilewise(*"descriptor encode --mode 128B --lbo 4096 --sbo 1024 --major mn --json".split()).json
    words = ("--operand", "B", "--major", "mn", "--dtype", "f16", "--n", "96")
    run = tilewise("descriptor", "reads", value["value"], *words, "--json")
    assert run.json["layout"] is None
    assert [piece["box"] for piece in run.json["pieces"]] == [[[0, 64], [0, 16]], [[64, 96], [0, 16]]]
    text = tilewise("descriptor", "reads", value["value"], *words).out
    assert "rows 0 to 63  Swizzle<3,4,3> o" in text
    assert "rows 64 to 95  Swizzle<3,4,3> o" in text


def test_reads_in_words(tilewise):
    text = tilewise("descriptor", "reads", CUTLASS, "--operand", "B", "--dtype", "f16", "--n", "64").out
    assert text.startswith("B [64, 16] of f16, K-major: bytes 0 to 8191\nSwizzle<3,4,3> o S[")
    assert "  1   144   146" in text
    assert text.endswith("not read: lbo\n")


def test_steps(tilewise):
    words = "descriptor steps --mode 128B --major k --dtype bf16 --operand A --tile 128x64 --base 1024"
    run = tilewise(*words.split(), "--json")
    data = run.json
    assert (data["instruction"], data["value"], data["bytes"]) == ("m64nNk16", "0x4000004000010040", 16384)
    assert data["advance"] == {
        "layout": "S[(2, 4) : (8192, 32)]",
        "mn": [{"count": 2, "bytes": 8192, "encoded": 512}],
        "k": [{"count": 4, "bytes": 32, "encoded": 2}],
    }
    assert [(step["mn"], step["k"], step["encoded"]) for step in data["steps"]][2:6] == [
        (0, 2, 4),
        (0, 3, 6),
        (1, 0, 512),
        (1, 1, 514),
    ]
    assert all(int(step["value"], 16) - int(data["value"], 16) == step["encoded"] for step in data["steps"])
    assert data["stages"]["count"] == 1


def test_stages(tilewise):
    words = "descriptor steps --mode 64B --dtype bf16 --operand B --tile 64x32 --n 64 --stages 3"
    ring = tilewise(*words.split(), "--json").json["stages"]
    assert (ring["stride"], ring["encoded"], ring["alignment"], ring["one_step"]) == (4096, 256, 512, True)
    assert ring["values"] == [f"0x{0x8000002000010000 + 256 * stage:016x}" for stage in range(3)]
    text = tilewise(*words.split()).out
    assert "3 stages of 4096 bytes:" in text
    assert "add 256, and nothing else changes" in text


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("encode", "TW401", "encode needs --mode"),
        ("encode --mode 128B --sbo 8", "TW604", "sbo of 8 bytes is no multiple of 16"),
        ("encode --mode 128B --sbo 262144", "TW604", "does not fit its 14 bits"),
        ("encode --mode 128B --start -16", "TW604", "does not fit its 14 bits"),
        ("encode --mode 128B --base-offset 8", "TW604", "does not fit 3 bits"),
        ("encode --mode 256B", "TW601", "no swizzle mode"),
        ("encode --mode 128B --sbo x", "TW401", "--sbo x is no number"),
        ("encode --mode 128B --tile 64x64", "TW401", "encode does not take --tile"),
        ("encode 0x1 --mode 128B", "TW401", "encode does not take 0x1"),
        ("encode --mode 128B --n 8", "TW401", "--n needs --dtype"),
        ("decode", "TW401", "decode takes a value"),
        ("decode 0x1ffffffffffffffff", "TW604", "no number of 64 bits"),
        ("decode -1", "TW604", "no number of 64 bits"),
        ("decode two", "TW401", "two is no descriptor"),
        ("decode 0x0 --dtype f16", "TW401", "B needs --n"),
        ("reads 0x0", "TW401", "reads needs --dtype and --n"),
        ("reads 0x0 --operand A", "TW401", "reads needs --dtype"),
        ("reads 0x0 --dtype f17 --n 8", "TW105", "unknown dtype"),
        ("steps --mode 128B", "TW401", "steps needs --dtype and --operand and --tile"),
        ("steps --mode 128B --dtype f16 --operand A --tile 64", "TW401", "--tile 64 is not rows x K"),
        ("steps --mode 128B --dtype f16 --operand A --tile 0x64", "TW102", "an extent must be positive"),
        ("decode 0x4000ULLL", "TW401", "is no descriptor"),
        ("encode --mode 128B --sbo 999999999999", "TW604", "does not fit"),
        ("steps --mode 128B --dtype f16 --operand A --tile 64x64 --stages 0", "TW102", "number of stages"),
        ("steps --mode 128B --dtype f16 --operand A --tile 64x64 --stage-stride 64", "TW401", "goes with"),
        ("steps --mode 128B --dtype f16 --operand A --tile 64x64 --base 0x40000", "TW604", "does not fit"),
        ("steps --mode 128B --dtype f16 --operand A --tile 64x64 --base -1024", "TW604", "does not fit"),
        (
            "steps --mode 128B --dtype f16 --operand A --tile 64x64 --stages 2 --stage-stride 0",
            "TW401",
            "in one place",
        ),
        ("frobnicate", "TW401", "is no operation"),
        ("decode 0x0 --engine wmma", "TW401", "did you mean wgmma?"),
    ],
)
def test_what_is_not_understood(tilewise, words, code, said):
    run = tilewise("descriptor", *words.split(), "--json")
    assert (run.code, run.json["error"]["code"]) == (2, code)
    assert said in run.json["error"]["message"] + run.json["error"]["hint"]
    assert tilewise("descriptor", *words.split()).err.startswith(f"tilewise: {code}: ")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("reads 0x0 --dtype f32 --n 8", "TW602", "wgmma does not multiply f32"),
        ("reads 0x0 --dtype s8 --n 40", "TW602", "m64n40k32 does not exist"),
        ("reads 0x0 --dtype s8 --n 0", "TW602", "m64n0k32 does not exist"),
        ("reads 0x0 --dtype e4m3 --n 8 --major mn", "TW602", "K-major alone"),
        ("reads 0x0 --dtype f16 --operand A --n 77", "TW602", "m64n77k16 does not exist"),
        ("steps --mode 128B --dtype f16 --operand A --tile 64x64 --n 77", "TW602", "m64n77k16"),
        ("steps --mode 128B --dtype f16 --operand A --tile 64x32", "TW603", "no whole number of 128B atoms"),
        ("steps --mode 128B --dtype f16 --operand A --tile 64x64 --base 64", "TW605", "no base offset"),
        (
            "steps --mode 128B --dtype f16 --operand B --major mn --tile 192x16 --n 96",
            "TW603",
            "begins inside an atom",
        ),
        (
            "steps --mode 128B --dtype f16 --operand A --tile 1024x512",
            "TW605",
            "the tile ends at byte 1048576",
        ),
        (
            "steps --mode 128B --dtype f16 --operand A --tile 128x64 --stages 15",
            "TW605",
            "15 stages end at byte 245760",
        ),
        (
            "steps --mode 128B --dtype f16 --operand A --tile 64x64 --stages 2 --stage-stride 64",
            "TW605",
            "overlap",
        ),
    ],
)
def test_good_questions_whose_answer_is_no(tilewise, words, code, said):
    run = tilewise("descriptor", *words.split(), "--json")
    assert (run.code, run.json["code"]) == (1, code)
    assert said in run.json["reason"]
    assert run.json["witness"]
    assert tilewise("descriptor", *words.split()).out.startswith("no: ")


@pytest.mark.parametrize("op", ["reads", "decode"])
def test_where_the_rule_that_b_needs_n_comes_from(tilewise, op):
    hint = tilewise("descriptor", op, CUTLASS, "--dtype", "f16", "--json").json["error"]["hint"]
    assert "the instruction's shape m64nNk16 has them" in hint
    assert "A has 64 and needs none (--operand A)" in hint
    assert tilewise("descriptor", op, CUTLASS, "--dtype", "f16", "--operand", "A").code == 0
    hint = tilewise("descriptor", op, CUTLASS, "--dtype", "f17", "--n", "8", "--json").json["error"]["hint"]
    assert "needs none" not in hint


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("", "--operand A --dtype bf16"),
        ("--major mn", "--operand A --dtype bf16 --major mn"),
        ("--dtype s8 --n 24", "--operand B --dtype s8 --n 24"),
        ("--dtype f16 --operand A --major mn", "--operand A --dtype f16 --major mn"),
    ],
)
def test_decode_ends_with_the_command_that_lists_what_is_read(tilewise, given, asked):
    *_, last = tilewise("descriptor", "decode", CUTLASS, *given.split()).out.rstrip().splitlines()
    before, _, words = last.partition(": tilewise ")
    assert (before, words) == ("the byte of every element", f"descriptor reads {CUTLASS} {asked}")
    assert tilewise(*words.split()).code == 0
