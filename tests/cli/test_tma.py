"""`tilewise tma`: arguments, boxes and bytes; or every rule that is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewise.check.tma import LAYOUT_RULES
from tilewise.hardware.tma.rules import RULES

USUAL = ("tma", "--dtype", "bf16", "--shape", "4096,4096", "--tile", "128,64", "--mode", "128B")
CHECK = ("tma", "check", "--dtype", "bf16", "--dims", "4096,4096", "--strides", "8192", "--box", "64,128")
PAGE = Path(__file__).parents[2] / "docs/tma.md"


def test_the_arguments_by_name_the_boxes_and_their_bytes(tilewise):
    answer = tilewise(*USUAL, "--json")
    assert answer.code == 0
    data = answer.json
    assert data["legal"] is True
    assert data["arguments"] == {
        "tensorDataType": "CU_TENSOR_MAP_DATA_TYPE_BFLOAT16",
        "tensorRank": 2,
        "globalDim": [4096, 4096],
        "globalStrides": [8192],
        "boxDim": [64, 128],
        "elementStrides": [1, 1],
        "interleave": "CU_TENSOR_MAP_INTERLEAVE_NONE",
        "swizzle": "CU_TENSOR_MAP_SWIZZLE_128B",
        "l2Promotion": "CU_TENSOR_MAP_L2_PROMOTION_L2_128B",
        "oobFill": "CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE",
    }
    assert data["boxes"] == [
        {"coordinates": [0, 0], "index": [0, 0], "start": 0, "bytes": 16384, "inside": None}
    ]
    assert (data["bytes"], data["rules"], data["remarks"]) == (16384, [], [])
    assert (data["tile"], data["alignment"]) == ("Swizzle<3,3,3> o S[(128, 64) : (64, 1)]", 1024)
    assert data["shared"] == 16384


def test_narrow_rows_take_more_room_than_bytes(tilewise):
    words = ("tma", "--dtype", "bf16", "--shape", "64,32", "--tile", "64,32", "--mode", "128B")
    data = tilewise(*words, "--json").json
    assert (data["bytes"], data["shared"]) == (4096, 8192)
    assert "1 box, 4096 bytes, in 8192 of shared memory" in tilewise(*words).out


def test_the_text_says_the_same(tilewise):
    text = tilewise(*USUAL, "--at", "4032,0").out
    assert "boxDim          64, 128\n" in text
    assert "{0, 4032} -> byte 0, 8192 elements, 4096 of them in the tensor" in text


@pytest.mark.parametrize(
    ("words", "rules"),
    [
        (
            ("tma", "--dtype", "bf16", "--shape", "100,100", "--tile", "32,64", "--mode", "128B"),
            ["stride-multiple"],
        ),
        (("tma", "--dtype", "bf16", "--shape", "64,64", "--layout", "S[(64, 64) : (1, 64)]"), ["contiguous"]),
        ((*USUAL, "--fill", "nan", "--dtype", "s8", "--tile", "128,128"), ["fill"]),
        ((*CHECK, "--mode", "64B", "--address", "8"), ["address", "box-swizzle"]),
        ((*CHECK, "--shared", "64", "--map-address", "8"), ["map-address", "shared-address"]),
    ],
)
def test_what_is_illegal_names_its_rules(tilewise, words, rules):
    answer = tilewise(*words, "--json")
    assert answer.code == 1
    data = answer.json
    assert data["legal"] is False
    assert [rule["rule"] for rule in data["rules"]] == rules
    assert data["reason"]
    assert data["bytes"] is None
    assert "code" not in data  # which is what --code asks for
    text = tilewise(*words)
    assert text.code == 1
    assert all(f"{rule}: " in text.out for rule in rules)


def test_check_takes_the_driver_s_order(tilewise):
    data = tilewise(*CHECK, "--mode", "CU_TENSOR_MAP_SWIZZLE_128B", "--json").json
    assert data["arguments"]["boxDim"] == [64, 128]
    assert (data["legal"], data["bytes"]) == (True, 16384)
    strided = tilewise(*CHECK, "--element-strides", "1,4", "--json").json
    assert strided["bytes"] == 64 * 32 * 2


def test_remarks_are_no_refusal(tilewise):
    answer = tilewise(*CHECK, "--mode", "128B", "--shared", "128", "--json")
    assert answer.code == 0
    assert [remark["rule"] for remark in answer.json["remarks"]] == ["shared-pattern"]
    layout = "Swizzle<3,3,3> o (S[(8, 64) : (64, 1)] + 64)"
    plan = tilewise("tma", "--dtype", "bf16", "--shape", "64,64", "--layout", layout, "--json")
    assert plan.code == 0
    assert [remark["rule"] for remark in plan.json["remarks"]] == ["shared-pattern"]


def test_where_each_element_lands(tilewise):
    words = (
        "tma",
        "--dtype",
        "bf16",
        "--shape",
        "100,64",
        "--tile",
        "8,64",
        "--mode",
        "128B",
        "--at",
        "96,-8",
    )
    reads = tilewise(*words, "--reads", "--json").json["reads"]
    assert (reads["shape"], reads["unit"], reads["fill"]) == ([8, 64], "byte", "zero")
    assert reads["addresses"][1][:3] == [144, 146, 148]
    assert reads["inside"] == [[0, 4], [8, 64]]
    text = tilewise(*words, "--reads").out
    assert "  [1, :]  zero  128  176" in text
    landed = tilewise(*CHECK, "--mode", "128B", "--shared", "1024", "--reads", "--json").json["reads"]
    assert landed["addresses"][0][0] == 1024


def test_elements_below_a_byte_land_in_the_byte_that_holds_them(tilewise):
    words = "tma --dtype e2m1 --shape 128,256 --tile 32,256 --mode 128B --at 0,64 --reads".split()
    reads = tilewise(*words, "--json").json["reads"]
    assert (reads["shape"], reads["inside"]) == ([32, 256], [[0, 32], [0, 192]])
    assert reads["addresses"][0][:5] == [0, 0, 1, 1, 2]
    assert reads["addresses"][1][:3] == [144, 144, 145]
    assert "byte of one element in 32 along dimension 1:\n  [0, :]     0   16 " in tilewise(*words).out


def test_where_interleaved_channels_land_is_not_told(tilewise):
    words = "tma check --dtype bf16 --dims 64,64,64 --box 8,1,1 --strides 128,8192 --interleave 16B --reads"
    answer = tilewise(*words.split(), "--json")
    assert (answer.code, answer.json["legal"], answer.json["reads"]) == (1, True, None)
    assert "interleaved" in answer.json["reason"]


@pytest.mark.parametrize(
    "spelled", ["128,64", "128x64", "(128, 64)", "128,64,", "0x80,0x40", " 128 , 64 ", "R,64"]
)
def test_numbers_have_several_spellings(tilewise, spelled):
    words = ("--dtype", "bf16", "--shape", "4096x4096", "--tile", spelled, "--let", "R=128", "--json")
    assert tilewise("tma", *words).json["arguments"]["boxDim"] == [64, 128]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--shape 4096,,4096 --tile 8,64", "--shape: nothing is no whole number"),
        ("--shape , --tile 8,64", "--shape: nothing is no whole number"),
        ("--shape 64,64 --tile 8.5,64", "--tile: '8.5' is no whole number"),
        ("--shape ((64),64) --tile 8,64", "--shape: '(64)' is no whole number"),
        ("--shape 64,64 --tile 8,64 --address x", "--address: 'x' is no whole number"),
        ("--shape 64,64 --tile 8,64 --rank 6", "a map of 6 dimensions"),
        ("--shape 64,64 --tile 8,64 --rank 0", "a map of 0 dimensions"),
        ("--shape 64,64 --tile 8,64 --strides 64", "a tensor of 2 dimensions and 1 stride"),
    ],
)
def test_the_option_at_fault_is_named(tilewise, words, said):
    answer = tilewise("tma", "--dtype", "bf16", *words.split(), "--json")
    assert answer.code == 2
    assert said in answer.json["error"]["message"]


def test_every_coordinate_is_needed(tilewise):
    answer = tilewise(*CHECK, "--at", "0", "--json")
    assert (answer.code, answer.json["error"]["code"]) == (2, "TW003")
    assert "2 dimensions and 1 coordinate" in answer.json["error"]["message"]


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        ("S[(128, 64) : (64, 1)] + 114560", "the last box ends at byte 245504"),
        ("S[(2048, 64) : (64, 1)]", "the tile reaches over 262144 bytes"),
        ("S[(8, 64) : (64, 1)] + -64", "the tile starts at byte -128"),
    ],
)
def test_what_ends_beyond_shared_memory(tilewise, layout, said):
    answer = tilewise("tma", "--dtype", "bf16", "--shape", "4096,64", "--layout", layout, "--json")
    assert (answer.code, answer.json["rules"][0]["rule"]) == (1, "shared-size")
    assert said in answer.json["reason"]


def test_the_code_has_every_argument(tilewise):
    code = tilewise(*USUAL, "--at", "256,128", "--code", "--name", "a_map").out
    assert "&a_map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, /* tensorRank */ 2, global," in code
    assert "expect_tx.shared::cta.b64 _, [%0], 16384;" in code
    assert '"r"(128), "r"(256), "r"(bar)' in code
    assert "a_map_boxDim[] = {64, 128};" in tilewise(*CHECK, "--code", "--name", "a_map").out


def test_another_order_is_said_where_it_takes_fewer_boxes(tilewise):
    words = ("tma", "--dtype", "f16", "--shape", "4096,1004", "--strides", "1,4096", "--tile", "128,64")
    notes = tilewise(*words, "--mode", "128B", "--order", "mn", "--json").json["notes"]
    assert notes[-1] == "with --order k it is 1 box of 2 x 64 x 64"
    assert tilewise(*words, "--mode", "128B", "--order", "k", "--json").json["notes"] == []


def test_a_layout_in_any_dialect_and_unit(tilewise):
    shape = ("tma", "--dtype", "bf16", "--shape", "4096,4096")
    ways = [
        tilewise(*shape, "--layout", "Swizzle<3,3,3> o S[(128, 64) : (64, 1)]", "--json"),
        tilewise(*shape, "--layout", "Sw<3,3,3> o _0 o (128,64):(64,1)", "--json"),
        tilewise(
            *shape,
            "--layout",
            "Swizzle<3,4,3> o S[(128, K) : (128, 2)]",
            "--unit",
            "byte",
            "--let",
            "K=64",
            "--json",
        ),
        tilewise(*shape, "--layout", "-", "--json", stdin="Swizzle<3,3,3> o S[(128, 64) : (64, 1)]"),
    ]
    boxes = [way.json["arguments"]["boxDim"] for way in ways]
    assert boxes == [[64, 128]] * len(ways)


@pytest.mark.parametrize(
    "words",
    [
        ("tma",),
        ("tma", "--dtype", "bf16"),
        ("tma", "--dtype", "bf16", "--shape", "64,64"),
        ("tma", "--dtype", "bf16", "--shape", "64,x", "--tile", "8,64"),
        ("tma", "--dtype", "bf16", "--shape", "64,64", "--tile", "8,64", "--box", "8,64"),
        ("tma", "--dtype", "bf16", "--shape", "64,64", "--tile", "8,64", "--interleave", "32B"),
        ("tma", "--dtype", "bf16", "--shape", "64,64", "--tile", "8,64", "--layout", "S[(8, 64) : (64, 1)]"),
        ("tma", "--dtype", "bf16", "--shape", "64,64", "--tile", "8,64", "--mode", "256B"),
        ("tma", "--dtype", "bf16", "--shape", "64,64", "--tile", "8,64", "--at", "0"),
        ("tma", "--dtype", "bf16", "--shape", "64,64", "--tile", "8,64", "--code", "--name", "a b"),
        ("tma", "check", "--dtype", "bf16", "--dims", "64,64"),
        ("tma", "check", "--dtype", "bf16", "--dims", "64,64", "--box", "64,8"),
        ("tma", "check", "--dtype", "bf16", "--dims", "64", "--box", "64", "--tile", "8,64"),
        ("tma", "check", "--dtype", "e2m3x", "--dims", "64", "--box", "64"),
    ],
)
def test_what_is_not_understood(tilewise, words):
    answer = tilewise(*words, "--json")
    assert answer.code == 2
    assert answer.json["error"]["code"].startswith("TW")


def test_the_page_has_every_rule():
    page = PAGE.read_text(encoding="utf-8")
    assert [rule for rule in (*RULES, *LAYOUT_RULES) if f"`{rule}`" not in page] == []


@pytest.mark.parametrize(
    ("words", "mode"),
    [
        ("--dtype bf16 --shape 4096,4096 --tile 128,64", "128B"),
        ("--dtype bf16 --shape 8,4096,4096 --tile 128,96", "64B"),
        ("--dtype f16 --shape 4096,4096 --strides 1,4096 --tile 64,16", "128B"),
        ("--dtype e4m3 --shape 4096,4096 --strides 1,4096 --tile 128,64", None),
        ("--dtype bf16 --shape 4096,4096 --tile 128,24", None),
        ("--dtype bf16 --shape 4096,4096 --tile 4,64", None),
        ("--dtype f32 --shape 4096,4096 --tile 128,64", None),
        ("--dtype bf16 --shape 4096,4096 --tile 128,64 --mode 128B", None),
        ("--dtype bf16 --shape 4096,4096 --tile 128,64 --mode none", None),
        ("--dtype bf16 --shape 4096,4096 --tile 128,64 --order mn", None),
        ("--dtype bf16 --shape 4096,4096 --layout S[(128,64):(64,1)]", None),
    ],
)
def test_a_tile_without_a_mode_is_told_the_one_for_wgmma(tilewise, words, mode):
    answer = tilewise("tma", *words.split(), "--json")
    assert answer.code == 0, answer.out
    told = [note for note in answer.json["notes"] if "for wgmma" in note]
    assert told == ([f"for wgmma: --mode {mode}, or tilewise suggest"] if mode else [])
    assert ("for wgmma" in tilewise("tma", *words.split()).out) is (mode is not None)
    if mode:
        assert tilewise("tma", *words.split(), "--mode", mode).code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--dtype bf16 --shape 4096,4096 --strides 8200,1", True),
        ("--dtype bf16 --shape 4096,4096 --strides 8192,1", True),
        (
            "--dtype bf16 --shape 4096,1001 --strides 2002,1",
            True,
        ),  # refused: 4004 bytes are no multiple of 16
        ("--dtype bf16 --shape 4096,4096 --strides 8192,2", True),
        ("--dtype bf16 --shape 4096,4096 --strides 8192", True),
        ("--dtype bf16 --shape 4096,4096 --strides 4104,1", False),
        ("--dtype bf16 --shape 4096,4096 --strides 16384,1", False),
        ("--dtype bf16 --shape 4096,4096 --strides 4096,3", False),
        ("--dtype u8 --shape 4096,4096 --strides 4112,1", False),
        ("--dtype e2m1 --shape 4096,4096 --strides 4096,1", False),
        ("--dtype bf16 --shape 4096,1001 --strides 1001,1", False),
        ("--dtype bf16 --shape 4096,4096 --strides 4096,1,1", False),
    ],
)
def test_strides_that_look_like_bytes_are_told_what_they_count(tilewise, words, told):
    answer = tilewise("tma", *words.split(), "--tile", "128,64", "--json")
    data = answer.json
    said = {0: lambda: "".join(data["notes"]), 1: lambda: data["hint"], 2: lambda: data["error"]["hint"]}
    assert ("in bytes: tma check" in said[answer.code]()) is told


TILE = "Swizzle<3,3,3> o S[(128, 64) : (64, 1)]"


@pytest.mark.parametrize(
    "words",
    [
        (TILE, "--dtype", "bf16", "--shape", "4096,4096"),
        ("--dtype", "bf16", "--shape", "4096,4096", TILE),
        ("plan", TILE, "--dtype", "bf16", "--shape", "4096,4096"),
        ("plan", "--dtype", "bf16", "--shape", "4096,4096", "--layout", TILE),
    ],
)
def test_the_tile_stands_where_other_commands_have_it(tilewise, words):
    answer = tilewise("tma", *words, "--json")
    assert answer.code == 0
    assert answer.json["tile"] == TILE
    assert answer.json["arguments"] == tilewise(*USUAL, "--json").json["arguments"]


def test_the_tile_is_read_from_standard_input_too(tilewise):
    words = ("tma", "-", "--dtype", "bf16", "--shape", "4096,4096", "--json")
    assert tilewise(*words, stdin=TILE).json["tile"] == TILE


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((TILE, "--layout", TILE), "twice"),
        ((TILE, TILE), "no question of tma"),
        ((TILE, "--tile", "128,64"), "by itself"),
        (("check", TILE), "tilewise tma plan"),
        ((), "LAYOUT or --tile"),
        (("chek",), "chek"),
    ],
)
def test_a_tile_is_given_once_and_to_a_plan(tilewise, words, says):
    answer = tilewise("tma", *words, "--dtype", "bf16", "--shape", "4096,4096", "--json")
    assert answer.code == 2
    error = answer.json["error"]
    assert says in error["message"] + error["hint"]


# -- stores --------------------------------------------------------------------------------------------


def test_a_store_that_begins_before_the_tensor_is_illegal_and_a_load_is_not(tilewise):
    words = "tma check --dtype bf16 --dims 64,100 --strides 128 --box 64,8 --at 0,-4".split()
    assert tilewise(*words).code == 0
    answer = tilewise(*words, "--store", "--json")
    assert answer.code == 1
    assert [broken["rule"] for broken in answer.json["rules"]] == ["store-coordinate"]
    assert "a store starts at coordinate -4" in answer.json["reason"]


def test_a_plan_that_stores_is_held_to_the_same(tilewise):
    words = "tma --dtype bf16 --shape 100,64 --tile 8,64 --mode 128B --at -4,0".split()
    assert tilewise(*words).code == 0
    answer = tilewise(*words, "--store", "--json")
    assert (answer.code, answer.json["witness"]["rule"]) == (1, "store-coordinate")


def test_what_a_store_writes_behind_a_row_is_a_note(tilewise):
    words = "tma check --dtype u8 --dims 31 --box 16".split()
    assert tilewise(*words, "--json").json["remarks"] == []
    answer = tilewise(*words, "--store")
    note = "rows of the tensor are 31 bytes, and a store that reaches their end writes 1 byte more"
    assert (answer.code, f"note: store-row: {note}" in answer.out) == (0, True)
    plan = tilewise(*"tma --dtype bf16 --shape 100,67 --strides 72,1 --tile 8,64 --store --json".split())
    assert [remark["rule"] for remark in plan.json["remarks"]] == ["store-row"]


def test_the_code_of_a_store_has_stores(tilewise):
    words = "tma --dtype bf16 --shape 4096,4096 --tile 64,128 --mode 128B --at 128,64 --code".split()
    load, store = tilewise(*words).out, tilewise(*words, "--store").out
    assert load.partition("// tile")[0] == store.partition("// tile")[0]
    assert "expect_tx" in load
    assert "expect_tx" not in store
    assert store.count("global.shared::cta.bulk_group") == load.count('complete_tx::bytes"')
    assert store.index("fence.proxy") < store.index("bulk_group") < store.index("commit_group")
