"""`tilewise descriptor --engine tcgen05`: its four operations, their JSON, what they refuse."""

from __future__ import annotations

import json

import pytest
from tests.hardware.of_tcgen05 import addresses

from tilewise import parse
from tilewise.hardware.tcgen05.descriptor import Descriptor
from tilewise.hardware.tcgen05.operand import Operand

WORD = "0x4000404000010000"
DEEP = "0x4010404004000006"
ENGINE = ("--engine", "tcgen05")


def test_encode(tilewise):
    run = tilewise(*"descriptor encode --mode 128B --sbo 1024 --major k --json".split(), *ENGINE)
    assert (run.code, run.json["value"], run.json["engine"]) == (0, WORD, "tcgen05")
    assert run.json["fields"] == {
        "start": 0,
        "lbo": 16,
        "sbo": 1024,
        "version": 1,
        "base_offset": 0,
        "lbo_mode": "relative",
        "mode": "128B",
        "atomicity": 16,
    }
    assert run.json["bits"] == {
        "start": "13-0",
        "lbo": "29-16",
        "sbo": "45-32",
        "version": "48-46",
        "base_offset": "51-49",
        "lbo_mode": "52",
        "mode": "63-61",
    }
    assert (run.json["ignored"], run.json["reserved"], run.json["remarks"]) == (["lbo"], [], [])


@pytest.mark.parametrize(
    ("mode", "lbo", "sbo", "encoded"),
    [
        ("none", 64 * 4, 32 * 4, (16, 8)),
        ("32B", None, 64 * 4, (1, 16)),
        ("none", 128 * 2, 64 * 2, (16, 8)),
        ("32B", 128 * 2, 256 * 2, (16, 32)),
        ("64B", 256 * 2, 512 * 2, (32, 64)),
    ],
)
def test_the_documents_examples(tilewise, mode, lbo, sbo, encoded):
    given = () if lbo is None else ("--lbo", str(lbo))
    run = tilewise("descriptor", "encode", "--mode", mode, "--sbo", str(sbo), *given, *ENGINE, "--json")
    assert (run.json["encoded"]["lbo"], run.json["encoded"]["sbo"]) == encoded


def test_encode_for_an_operand(tilewise):
    words = (
        "descriptor encode --mode 128B --start 96 --lbo 0x4000 --sbo 1024 --lbo-mode absolute --json".split()
    )
    run = tilewise(*words, *"--dtype e2m1 --kind mxf4 --n 64 --k 96".split(), *ENGINE)
    assert (run.code, run.json["value"], run.json["ignored"]) == (0, DEEP, [])
    assert any("2 layouts" in remark for remark in run.json["remarks"])


def test_atomicity(tilewise):
    words = "descriptor encode --mode 128B --atomicity 32 --major mn --lbo 4096 --sbo 512 --json".split()
    run = tilewise(*words, *ENGINE)
    assert (run.json["value"], run.json["encoded"]["mode"]) == ("0x2000402001000000", 1)
    assert (run.json["fields"]["mode"], run.json["fields"]["atomicity"]) == ("128B_ATOM_32B", 32)
    assert run.json["words"]["sbo"] == "from the first 4 of K to the next 4"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("--mode 64B", "TW604", "is of 128B in 16-byte atoms alone"),
        ("--mode 128B --atomicity 32", "TW604", "is of 128B in 16-byte atoms alone"),
        ("--mode 128B --major mn", "TW604", "is K-major alone"),
        ("--mode 128B --base-offset 1", "TW604", "asks for base offset 0"),
    ],
)
def test_restrictions_of_absolute_mode(tilewise, words, code, said):
    given = ("descriptor", "encode", *words.split(), "--lbo-mode", "absolute", *ENGINE)
    run = tilewise(*given, "--json")
    assert (run.code, run.json["code"]) == (1, code)
    assert said in run.json["reason"]
    assert run.json["witness"]
    assert tilewise(*given).out.startswith("no: absolute LBO mode")


def test_an_absolute_lbo_has_no_custom(tilewise):
    run = tilewise(*"descriptor encode --mode 128B --lbo-mode absolute --json".split(), *ENGINE)
    assert run.json["fields"]["lbo"] == 0
    assert "--lbo was not given and is read here: 0" in run.json["remarks"]


def test_decode(tilewise):
    run = tilewise("descriptor", "decode", WORD, *ENGINE, "--json")
    assert run.json["words"]["lbo"] == (
        "K-major: not read in this mode and major; 1 is written by custom; "
        "MN-major: from the first 64 rows (128 bytes) to the next 64"
    )
    lines = tilewise("descriptor", "decode", WORD, *ENGINE, "--major", "k").out.splitlines()
    assert lines[2:5] == [
        "63-61  60-53     52        51-49        48-46    45-32",
        "010    ........  0         000          001      00000001000000",
        "mode             lbo_mode  base_offset  version  sbo",
    ]
    asked = lines[-1].partition(": ")[2].split()
    again = tilewise(*asked[1:], "--json").json
    assert (again["engine"], again["shape"]) == ("tcgen05", [128, 16])


def test_each_engine_tells_the_words_of_the_other(tilewise):
    ours = tilewise("descriptor", "decode", "0x4000004000010000", *ENGINE, "--json").json["remarks"]
    assert "--engine wgmma" in ours[0]
    theirs = tilewise("descriptor", "decode", WORD, "--engine", "wgmma", "--json").json["remarks"]
    assert "--engine tcgen05" in theirs[0]


@pytest.mark.parametrize(
    ("word", "engine", "whose"),
    [
        ("0x4000404000010000", "tcgen05", "tcgen05's: bits 48-46 are 0b001, wgmma's 0b000"),
        ("0x4000004000010000", "wgmma", "wgmma's: bits 48-46 are 0b000, tcgen05's 0b001"),
        ("0x4000804000010000", "wgmma", "read as wgmma's: bits 48-46 are 0b010, of no engine"),
        ("0x4001c04000010000", "wgmma", "read as wgmma's: bits 48-46 are 0b111, of no engine"),
        ("0x0000000000000000", "wgmma", "wgmma's: bits 48-46 are 0b000, tcgen05's 0b001"),
    ],
)
def test_a_word_tells_its_engine(tilewise, word, engine, whose):
    assert tilewise("descriptor", "decode", word, "--json").json["engine"] == engine
    assert tilewise("descriptor", "decode", word).out.splitlines()[0] == f"{word}, {whose}"
    for named in ("wgmma", "tcgen05"):
        run = tilewise("descriptor", "decode", word, "--engine", named)
        assert run.out.splitlines()[0] == (f"{word}, {whose}" if named == engine else word)
        assert tilewise("descriptor", "decode", word, "--engine", named, "--json").json["engine"] == named


def test_reads_goes_by_the_word_as_well(tilewise):
    words = ("descriptor", "reads", WORD, "--operand", "A", "--dtype", "bf16", "--m", "128")
    run = tilewise(*words, "--json")
    assert (run.json["engine"], run.json["shape"]) == ("tcgen05", [128, 16])
    assert "read as tcgen05's: bits 48-46 are 0b001, wgmma's 0b000" in run.json["remarks"]
    named = tilewise(*words, *ENGINE, "--json").json
    assert named | {"remarks": []} == run.json | {"remarks": []}
    assert not any("read as" in one for one in named["remarks"])
    run = tilewise("descriptor", "reads", WORD, "--operand", "A", "--dtype", "bf16")
    assert (run.code, "reads needs --m" in run.err) == (2, True)


def test_an_answer_says_the_engine_whatever_the_word_is(tilewise):
    made = tilewise(*"descriptor decode 0x4000004000010000 --engine tcgen05 --major k --json".split())
    again = tilewise("descriptor", "decode", "-", "--json", "--major", "k", stdin=made.out)
    assert again.json == made.json


def test_what_no_engine_has_is_a_no_of_the_one_that_the_word_tells(tilewise):
    run = tilewise("descriptor", "decode", "0x6000404000010000")
    assert run.code == 1
    assert run.out.rstrip().endswith("; it was read as tcgen05's: bits 48-46 are 0b001, wgmma's 0b000")
    assert tilewise("descriptor", "decode", "0x6000404000010000", "--engine", "wgmma").code == 0


@pytest.mark.parametrize(
    ("asked", "what", "hint"),
    [
        (
            "0x4000404000010000 --operand A --dtype bf16",
            "reads needs --m",
            "such as --m 128; it was read as tcgen05's: bits 48-46 are 0b001, wgmma's 0b000",
        ),
        (
            "0x4000004000010000 --operand A --dtype bf16 --m 128",
            "wgmma does not take --m",
            "--engine tcgen05 does; it was read as wgmma's: bits 48-46 are 0b000, tcgen05's 0b001",
        ),
        (
            "0x4000804000010000 --operand A --dtype bf16 --m 128",
            "wgmma does not take --m",
            "--engine tcgen05 does; it was read as wgmma's: bits 48-46 are 0b010, of no engine",
        ),
        (
            "0x4000404000010000 --engine tcgen05 --operand A --dtype bf16",
            "reads needs --m",
            "such as --m 128",
        ),
    ],
)
def test_what_an_engine_that_was_not_named_lacks_says_which_it_is(tilewise, asked, what, hint):
    run = tilewise("descriptor", "reads", *asked.split())
    assert run.code == 2
    assert run.err == f"tilewise: TW401: {what}\n  hint: {hint}\n"


def test_a_word_of_blackwell_without_its_version_is_pointed_out(tilewise):
    """Bits 52 and 61 are nothing in Hopper's descriptors; the other modes have the same bits in both."""
    run = tilewise("descriptor", "decode", "0x3010004000010000", "--json")
    (note,) = run.json["remarks"]
    assert run.json["engine"] == "wgmma"
    assert "Blackwell's have the mode of LBO in bit 52 and the swizzle mode from bit 61 on" in note
    assert note.endswith(", with 0b001 in bits 48-46")


def test_decode_of_what_was_encoded(tilewise):
    words = "descriptor encode --mode 64B --start 0x1280 --lbo 4096 --sbo 512 --base-offset 5 --json".split()
    made = tilewise(*words, *ENGINE)
    again = tilewise("descriptor", "decode", "-", "--major", "k", "--json", stdin=made.out)
    assert again.json == made.json


def test_no_such_mode(tilewise):
    run = tilewise("descriptor", "decode", hex(3 << 61), *ENGINE)
    assert run.code == 1
    assert "3 is no swizzling mode" in run.out


@pytest.mark.parametrize(
    ("words", "asked", "shape"),
    [
        (
            "--operand A --dtype bf16 --m 256 --cta-group 2",
            {"operand": "A", "m": 256, "cta_group": 2},
            [128, 16],
        ),
        ("--dtype bf16 --n 64 --major mn", {"n": 64, "major": "mn"}, [64, 16]),
        ("--dtype bf16 --n 64 --sparse", {"n": 64, "sparse": True}, [64, 32]),
        ("--operand A --dtype bf16 --m 32 --ws", {"operand": "A", "m": 32, "ws": True}, [32, 16]),
        ("--dtype e2m1 --n 16", {"dtype": "e2m1", "n": 16}, [16, 32]),
        ("--dtype e2m1 --kind mxf4 --n 16", {"dtype": "e2m1", "kind": "mxf4", "n": 16}, [16, 64]),
        ("--dtype e3m2 --n 16", {"dtype": "e3m2", "n": 16}, [16, 32]),
    ],
)
def test_reads(tilewise, words, asked, shape):
    data = tilewise("descriptor", "reads", WORD, *words.split(), *ENGINE, "--json").json
    of = Operand(**({"dtype": "bf16"} | asked))
    table = addresses(Descriptor.decode(int(WORD, 16)), of)
    assert (data["shape"], data["addresses"]) == (shape, table)
    layout, scale = parse(data["layout"], unit=data["unit"]), {"byte": 1, "bit": 8}[data["unit"]]
    assert [layout.place(row, 3)["m"] // scale for row in range(shape[0])] == [row[3] for row in table]


def test_reads_two_chunks(tilewise):
    words = ("descriptor", "reads", DEEP, *"--dtype e2m1 --kind mxf4 --n 64 --k 96".split(), *ENGINE)
    data = tilewise(*words, "--json").json
    assert data["layout"] is None
    assert [piece["box"] for piece in data["pieces"]] == [[[0, 64], [0, 64]], [[0, 64], [64, 96]]]
    assert (data["first"], data["last"]) == (96, 24575)
    lines = tilewise(*words).out.splitlines()
    assert [line.partition("  ")[0] for line in lines[1:3]] == [
        "rows 0 to 63, k 0 to 63",
        "rows 0 to 63, k 64 to 95",
    ]


def test_reads_in_bits(tilewise):
    lines = tilewise("descriptor", "reads", WORD, "--dtype", "e3m2", "--n", "8", *ENGINE).out.splitlines()
    assert lines[1].endswith(", in bits")


def test_reads_refuses_what_no_document_says(tilewise):
    words = "--dtype e2m1 --kind mxf4 --n 64 --k 96".split()
    run = tilewise("descriptor", "reads", "0x4000404000010006", *words, *ENGINE, "--json")
    assert (run.code, run.json["code"]) == (1, "TW605")
    assert run.json["witness"] == {"start": 96, "inside": 96, "k_bytes": 48, "row": 128}


def test_steps(tilewise):
    words = (
        "descriptor steps --mode 128B --operand A --dtype bf16 --tile 128x128 --m 256 --cta-group 2 --json"
    )
    data = tilewise(*words.split(), *ENGINE).json
    assert (data["engine"], data["instruction"], data["value"]) == ("tcgen05", "m256nNk16", WORD)
    assert [step["bytes"] for step in data["steps"]] == [0, 32, 64, 96, 16384, 16416, 16448, 16480]


MN_MAJOR = "--mode 128B --operand B --dtype bf16 --major mn --tile 128x64"


@pytest.mark.parametrize("engine", ["wgmma", "tcgen05"])
def test_steps_say_the_order_of_the_atoms_and_the_tile(tilewise, engine):
    words = ["descriptor", "steps", "--engine", engine, *MN_MAJOR.split()]
    head = tilewise(*words).out.splitlines()[1:3]
    assert head == [
        "tile: Swizzle<3,4,3> o S[((2, 64), (8, 8)) : ((1024, 2), (2048, 128))], in bytes",
        "order: atoms down the rows first; --order k: along K first",
    ]
    assert tilewise(*words, "--json").json["order"] == {"first": "mn", "other": "k"}
    other = tilewise(*words, "--order", "k").out.splitlines()[1:3]
    assert other[0] == "tile: Swizzle<3,4,3> o S[((2, 64), 64) : ((8192, 2), 128)], in bytes"
    assert other[1] == "order: atoms along K first; --order mn: down the rows first"


def test_steps_of_atoms_in_one_row_have_one_order(tilewise):
    words = ["descriptor", "steps", *"--mode 128B --operand A --dtype bf16 --tile 128x64".split(), *ENGINE]
    assert tilewise(*words).out.splitlines()[2] == "order: atoms in one line, the same tile for any --order"
    assert tilewise(*words, "--json").json["order"] == {"first": "mn", "other": None}


SUGGESTED = [
    "--operand B --tile 128x64 --dtype bf16 --major mn",
    "--operand A --tile 128x128 --dtype e2m3 --m 256 --cta-group 2",
    "--operand B --tile 64x64 --dtype tf32 --major mn --mode 128B",
    "--operand B --tile 128x768 --dtype e2m1 --kind mxf4 --lbo-mode absolute",
    "--operand A --tile 64x128 --dtype bf16 --sparse",
    "--operand A --tile 32x64 --dtype f16 --ws --stages 3",
]


@pytest.mark.parametrize(
    "asked",
    [
        *(f"{asked} --engine tcgen05" for asked in SUGGESTED),
        "--operand B --tile 96x64 --dtype f16 --blas NT --stages 2",
        "--operand A --tile 128x64 --dtype e4m3",
    ],
)
def test_steps_take_what_suggest_answers(tilewise, asked):
    suggested = tilewise("suggest", *asked.split(), "--json")
    found = tilewise("descriptor", "steps", "-", "--json", stdin=suggested.out)
    assert found.code == 0, found.out
    want, data = suggested.json, found.json
    assert (data["engine"], data["value"], data["order"]["first"]) == (
        want["engine"], want["value"], want["order"]["first"]
    )  # fmt: skip
    assert [(step["mn"], step["k"], step["bytes"]) for step in data["steps"]] == [
        (step["mn"], step["k"], step["bytes"]) for step in want["steps"]
    ]
    assert (data["stages"]["count"], data["stages"]["stride"]) == (
        want["stages"]["count"], want["stages"]["stride"]
    )  # fmt: skip
    sizes = "".join(f"{name}{want['instruction'][name] or name.upper()}" for name in "mnk")
    assert data["instruction"] == sizes


def test_what_is_said_goes_before_the_answer(tilewise):
    suggested = tilewise("suggest", *SUGGESTED[0].split(), *ENGINE, "--json").out
    words = ["descriptor", "steps", *MN_MAJOR.split(), *ENGINE]
    turned = tilewise("descriptor", "steps", "-", "--order", "mn", stdin=suggested).out
    assert turned == tilewise(*words).out


def test_steps_take_no_value_and_no_other_answer(tilewise):
    run = tilewise("descriptor", "steps", WORD, *MN_MAJOR.split(), "--json")
    assert (run.code, run.json["error"]["message"]) == (2, f"steps does not take {WORD}")
    matched = tilewise(
        "match", "Swizzle<3,3,3> o S[(128,64):(64,1)]", *"--operand A --dtype bf16 --json".split()
    )
    run = tilewise("descriptor", "steps", "-", "--json", stdin=matched.out)
    assert (run.code, run.json["error"]["message"]) == (2, "steps needs --tile")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (WORD, "TW108"),
        ('{"shape": [128, 64]}', "TW108"),
        ('{"schema": 1, "shape": 8, "order": "k"}', "TW401"),
    ],
)
def test_what_holds_no_tile(tilewise, text, code):
    run = tilewise("descriptor", "steps", "-", "--json", stdin=text)
    assert (run.code, run.json["error"]["code"]) == (2, code)


def test_steps_of_48_bytes(tilewise):
    words = "descriptor steps --mode 128B --operand B --dtype e2m1 --kind mxf4 --k 96 --tile 128x768".split()
    run = tilewise(*words, "--stages", "2", *ENGINE)
    assert "along K: steps of 48 bytes through rows of 128" in run.out
    assert "add 3072, to the start and to LBO" in run.out
    data = tilewise(*words, *ENGINE, "--json").json
    assert (data["advance"]["layout"], data["advance"]["k"]) == (None, [])
    assert [step["value"] for step in data["steps"]][:3] == [
        "0x4010404000000000",
        "0x4010404000000003",
        "0x4010404004000006",
    ]


def test_steps_in_absolute_mode_are_of_48_bytes(tilewise):
    words = "descriptor steps --mode 128B --operand B --dtype e2m1 --kind mxf4 --tile 128x768 --json".split()
    asked = tilewise(*words, "--lbo-mode", "absolute", *ENGINE).json
    assert asked["steps"] == tilewise(*words, "--k", "96", *ENGINE).json["steps"]
    assert asked["instruction"] == "mMn128k96"
    run = tilewise(*words, "--k", "96", "--lbo-mode", "relative", *ENGINE)
    assert (run.code, run.json["code"]) == (1, "TW602")


def test_steps_of_tf32(tilewise):
    words = (
        "descriptor steps --mode 128B --atomicity 32 --operand B --dtype tf32 --major mn --tile 64x32 --json"
    )
    data = tilewise(*words.split(), *ENGINE).json
    assert (data["fields"]["mode"], data["fields"]["sbo"]) == ("128B_ATOM_32B", 1024)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("steps --mode 128B --operand B --dtype tf32 --major mn --tile 64x32", "--atomicity 32"),
        ("steps --mode 128B --operand B --dtype e2m1 --major mn --tile 64x32", "K-major alone"),
        ("steps --mode 32B --operand B --dtype bf16 --sparse --tile 64x32", "K of 64 bytes is not read"),
        ("reads 0x4000404000010000 --dtype bf16 --n 12", "N = 12"),
    ],
)
def test_what_is_refused(tilewise, words, said):
    run = tilewise("descriptor", *words.split(), *ENGINE)
    assert run.code == 1
    assert said in run.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("reads 0x4000404000010000 --operand A --dtype bf16 --engine tcgen05", "reads needs --m"),
        ("reads 0x4000404000010000 --dtype bf16 --engine tcgen05", "reads needs --n"),
        ("decode 0x4000404000010000 --dtype bf16 --engine tcgen05", "B needs --n"),
        ("decode 0x4000404000010000 --kind f16 --engine tcgen05", "--kind needs --dtype"),
        ("decode 0x4000004000010000 --m 64 --operand A --dtype bf16", "wgmma does not take --m"),
        ("encode --mode 128B --lbo-mode absolute", "wgmma does not take --lbo-mode"),
        ("encode --mode 128B --atomicity 32", "wgmma does not take --atomicity"),
        ("decode 0x4000404000010000 --lbo-mode absolute --engine tcgen05", "decode does not take --lbo-mode"),
    ],
)
def test_words_that_do_not_go_together(tilewise, words, said):
    run = tilewise("descriptor", *words.split())
    assert run.code == 2
    assert said in run.err


def test_suggestions_of_json_keep_their_engine(tilewise):
    told = json.dumps({"schema": 1, "engine": "tcgen05", "operand": "B", "value": WORD, "dtype": "bf16"})
    run = tilewise("descriptor", "reads", "-", "--n", "64", "--json", stdin=told)
    assert (run.json["engine"], run.json["shape"]) == ("tcgen05", [64, 16])


@pytest.mark.parametrize(
    ("words", "shape"),
    [
        ("--operand A --tile 128x64 --dtype bf16 --m 256 --cta-group 2", [128, 16]),
        ("--operand A --tile 128x64 --dtype bf16 --sparse", [128, 16]),
        ("--operand B --tile 128x64 --dtype bf16 --sparse", [128, 32]),
        ("--operand B --tile 128x768 --dtype e2m1 --kind mxf4 --lbo-mode absolute", [128, 96]),
    ],
)
def test_what_is_suggested_is_read(tilewise, words, shape):
    told = tilewise("suggest", *words.split(), *ENGINE, "--json").out
    run = tilewise("descriptor", "reads", "-", "--json", stdin=told)
    assert (run.code, run.json["engine"], run.json["shape"]) == (0, "tcgen05", shape)


def test_what_is_suggested_of_hopper_is_read_too(tilewise):
    told = tilewise(*"suggest --operand A --tile 128x64 --dtype bf16 --json".split()).out
    run = tilewise("descriptor", "reads", "-", "--json", stdin=told)
    assert (run.code, run.json["engine"], run.json["shape"]) == (0, "wgmma", [64, 16])


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("0x4012404000010000", "absolute LBO mode asks for base offset 0, and it is 1"),
        ("0x4010404000010000", "absolute LBO mode is of sm_103a, for a K of 48 bytes"),
        ("0x8010404000010000", "absolute LBO mode is of 128B in 16-byte atoms alone, and the mode is 64B"),
    ],
)
def test_absolute_mode_is_k_major_without_a_word(tilewise, value, said):
    """Without a major the answer keeps the words on K-major, and they name that major."""
    run, asked = (
        tilewise("descriptor", "decode", value, *ENGINE, *major, "--json").json
        for major in ((), ("--major", "k"))
    )
    assert said in run["remarks"]
    assert run["words"] == asked["words"]
    assert [one for one in run["remarks"] if one not in asked["remarks"]] == [
        "said of K-major operands: no MN-major one has such a descriptor"
    ]


def test_another_major_of_absolute_mode_is_said_to_be_wrong(tilewise):
    run = tilewise("descriptor", "decode", "0x4010404000010000", *ENGINE, "--major", "mn")
    assert "note: absolute LBO mode is K-major alone, and the operand is MN-major" in run.out


def test_a_second_chunk_lies_in_one_row(tilewise):
    run = tilewise(
        *"descriptor reads 0x4010404004070007 --dtype e2m1 --kind mxf4 --n 16 --k 96 --json".split(), *ENGINE
    )
    assert (run.code, run.json["code"]) == (1, "TW605")
    assert run.json["witness"] == {"lbo": 0x4070, "inside": 112, "bytes": 32, "row": 128}
