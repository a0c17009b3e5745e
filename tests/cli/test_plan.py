"""`tilewise plan` and `tilewise emit move`: classes, pads, fills, named moves, refusals; text and JSON."""

from __future__ import annotations

import re

import pytest

from tilewise import S
from tilewise.moves import plan
from tilewise.moves.named import NAMES
from tilewise.questions.asking import module_of
from tilewise.questions.moving import EXAMPLES

TURN = ("S[64, 96]", "S[(64, 96) : (1, 64)]", "--dtype", "bf16")
KEYS = {"class", "kernel", "tile", "vector", "swizzle", "bytes", "copy_fraction", "steps"}


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("S[64, 8]", "S[512]", "--dtype", "f32"), "view"),
        (("S[64]", "S[64] + 16", "--dtype", "f32"), "copy"),
        (TURN, "tile"),
        (("S[64, 96]", "S[(64, 96) : (1, 64)]", "--dtype", "u4"), "tile"),
        (("S[64, 95]", "S[(64, 95) : (1, 64)]", "--dtype", "u4"), "tile"),
        (("S[(64, 95) : (256, 2)]", "S[(64, 95) : (1, 64)]", "--dtype", "u4"), "gather"),
        (("transpose(64, 96)", "--dtype", "bf16"), "tile"),
    ],
)
def test_classes(tilewise, words, kind):
    run = tilewise("plan", *words, "--json")
    assert run.code == 0
    assert run.json.keys() >= KEYS
    assert run.json["class"] == kind
    text = tilewise("plan", *words)
    assert text.code == 0
    assert text.out.startswith(f"{kind}: ")
    assert all(step in text.out for step in run.json["steps"])


def test_the_whole_answer(tilewise):
    made = plan(S[64, 96], S[(64, 96) : (1, 64)], "bf16")
    assert tilewise("plan", *TURN, "--json").json == made.data()
    assert tilewise("plan", *TURN).out == f"{made}\n"


def test_bytes_and_time_are_said(tilewise):
    out = tilewise("plan", "transpose(8192, 8192)", "--dtype", "bf16").out.splitlines()
    assert out[1] == "  bytes  268435456 read and written"
    assert re.fullmatch(r"  time   \d\d\.\d us expected on an H200, a copy of as much \d\d\.\d us", out[2])
    slower = tilewise("plan", "transpose(8192, 8192)", "--dtype", "bf16", "--device", "h100").out.splitlines()
    assert "us expected on an H100, " in slower[2]
    assert out[:2] + out[3:] == slower[:2] + slower[3:]
    small = tilewise("plan", "transpose(64, 64)", "--dtype", "bf16").out
    assert "; most of it is the launch\n" in small


# -- what is asked ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_named_moves_are_listed_and_planned(tilewise, name):
    assert EXAMPLES[name].startswith(f"{name}(")
    assert f"  {EXAMPLES[name]} " in str(module_of("plan").__doc__)
    assert tilewise("plan", EXAMPLES[name], "--dtype", dtype_of(name)).code == 0


def dtype_of(name):
    return "u8" if "scales" in name else "bf16"


def test_a_named_move_is_its_layouts(tilewise):
    named = tilewise("plan", "pack_scales_128x4(ROWS * 100, sf_k=5)", "--let", "ROWS=3", "--json").json
    layouts = "S[300, 5]", "S[((3, 4, 32), (2, 4)) : ((1024, 4, 16), (512, 1))]"
    plain = tilewise("plan", *layouts, "--shape", "300,5", "--dtype", "b8", "--json").json
    assert named == plain
    assert named["shape"] == [300, 5]
    swizzled = tilewise("plan", "tile_for_wgmma(64, 64, bf16, swizzle=64B)", "--json").json
    assert swizzled["target"] == "Swizzle<2,3,3> o S[((8, 8), (2, 32)) : ((256, 32), (2048, 1))]"


def test_cute_counts_the_leftmost_mode_fastest(tilewise):
    pair = ("(64,32):(1,64)", "(32,64):(1,32)", "--dtype", "f16", "--json")
    assert tilewise("plan", *pair).json["class"] == "view"
    boxed = ("(60,32):(1,60)", "(64,32):(1,64)", "--shape", "60,32", "--dtype", "f16", "--json")
    same = ("S[(60, 32) : (1, 60)]", "S[(64, 32) : (1, 64)]", *boxed[2:])
    assert tilewise("plan", *boxed).json["steps"] == tilewise("plan", *same).json["steps"]


def test_strides_in_bytes(tilewise):
    counted = tilewise("plan", "S[(64, 96) : (192, 2)]", "S[(64, 96) : (2, 128)]", "--unit", "byte",
                       "--dtype", "bf16", "--json").json  # fmt: skip
    assert counted == tilewise("plan", *TURN, "--json").json


def test_patterns_of_bytes_take_the_type(tilewise):
    rows = "S[(64, 64) : (64, 1)]"
    steps = [
        tilewise("plan", "S[64, 64]", f"{swizzle} o {rows}", "--dtype", "bf16", "--json").json["steps"]
        for swizzle in ("SWIZZLE_128B", "Swizzle<3,3,3>")
    ]
    assert steps[0] == steps[1]
    entry = tilewise("plan", "S[8, 64]", "wgmma.atom(128B, k, bf16)", "--dtype", "bf16", "--json")
    assert entry.json["target"] == "Swizzle<3,3,3> o S[(8, 64) : (64, 1)]"


def test_a_layout_from_standard_input(tilewise):
    piped = tilewise("plan", "-", *TURN[1:], "--json", stdin=TURN[0])
    assert piped.json == tilewise("plan", *TURN, "--json").json


def test_storages_that_are_not_aligned(tilewise):
    shifted = tilewise("plan", *TURN, "--aligned", "2", "--json").json
    assert shifted["swizzle"] is None
    assert tilewise("plan", *TURN, "--aligned", "16", "--json").json["swizzle"] is not None


@pytest.mark.parametrize(
    ("dtype", "fill", "bytes_"),
    [
        ("u8", "127", "0x7f"),
        ("u8", "0x7f", "0x7f"),
        ("b8", "127", "0x7f"),
        ("s16", "-2", "fe ff"),
        ("bf16", "1.5", "c0 3f"),
        ("f32", "-inf", "00 00 80 ff"),
        ("e4m3", "1", "0x38"),
        ("e4m3", "-0", "0x00"),
        ("e4m3", "-0.0", "0x80"),
        ("e2m1", "-6", "0xff"),
        ("ue8m0", "1", "0x7f"),
        ("u4", "3", "0x33"),
        ("b128", "0x0102", "02 01" + 14 * " 00"),
    ],
)
def test_fills(tilewise, dtype, fill, bytes_):
    run = tilewise("emit", "move", "S[9]", "S[9 : 2]", "--dtype", dtype, f"--fill={fill}")
    assert run.code == 0
    assert f" bytes are filled with {bytes_}.\n" in run.out


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (("S[4, 4]", "S[5, 3]"), "TW702", "to pad or to crop say which box moves: --shape 4,3"),
        (("S[4]", "S[5]"), "TW702", "to pad or to crop say which box moves: --shape 4"),
        (("S[4]", "S[2, 3]"), "TW702", "to pad or to crop write both with as many modes"),
        (("S[4]", "S[4]", "--shape", "5"), "TW702", "a box has one extent"),
        (("S[4]", "S[4 : -1]"), "TW701", "a storage begins at address zero"),
        (("S[4]", "S[4 : 1@laneid]"), "TW701", "both are layouts on m alone"),
        (("S[4]",), "TW401", "SRC DST, or a named move: transpose "),
        (("transpos(4, 4)",), "TW401", "did you mean transpose? such as 'transpose(8192, 4096)'"),
        (("pack_scales(4, 4)",), "TW401", "did you mean pack_scales_128x4 or unpack_scales_128x4? such as"),
        (("tile(4, 4)",), "TW401", "SRC DST, or a named move: transpose "),
        (("transpos(4, 4)", "S[16]"), "TW401", "did you mean transpose? such as"),
        (("S[16]", "transpos(4, 4)"), "TW401", "did you mean transpose? such as"),
        (("S[16]", "wgmma.E"), "TW601", "did you mean wgmma."),
        (("transpose",), "TW401", "such as 'transpose(8192, 4096)'"),
        (("transpose(4)",), "TW401", "such as 'transpose(8192, 4096)'"),
        (
            ("transpose(4, 4, row=4)",),
            "TW401",
            "such as 'transpose(8192, 4096)'; its arguments are rows, columns",
        ),
        (("permute(2, 3)",), "TW202", "such as 0: every mode once"),
        (("permute((2, 3), (1, 0)",), "TW004", ""),
        (("transpose(4, 4",), "TW004", "such as 'transpose(8192, 4096)'"),
        (("transpose(4, 4) + 1",), "TW004", "such as 'transpose(8192, 4096)'"),
        (("transpose(4,, 4)",), "TW004", "such as 'transpose(8192, 4096)'"),
        (("transpose(, 4, 4)",), "TW004", "such as 'transpose(8192, 4096)'"),
        (("S[4]", "S[4 : 2]", "--fill", "-inf"), "TW401", "a value that begins with - follows an equals"),
        (("S[4]", "S[4]", "--fill", "--host"), "TW401", "tilewise plan --help shows"),
        (("transpose(4, 4)", "S[16]"), "TW401", "such as 'transpose(8192, 4096)'"),
        (("transpose(4, 4)", "--shape", "2,2"), "TW401", "such as 'transpose(8192, 4096)'"),
        (("S[6]", "S[6 : 2**62]"), "TW004", "no powers are read: write the number, such as"),
        (("-", "-"), "TW401", "write the other one as text"),
        (("S[16]", "transpose(4, 4)"), "TW401", "such as 'transpose(8192, 4096)'"),
        (
            ("S[4, 4]", "S[4, 4]", "--shape", "S[(4, 4)]"),
            "TW004",
            "a shape is its extents alone: --shape 8,8",
        ),
        (("S[128 : 1@laneid]", "S[128 : 1@laneid]"), "TW203", "warpid beside it counts further warps, or tx"),
        (("S[256 : 1@tid_in_wg]", "S[256 : 1@tid_in_wg]"), "TW203", "wgid beside it counts"),
        (("S[5 : 1@wid_in_wg]", "S[5 : 1@wid_in_wg]"), "TW203", "wgid beside it counts"),
        (("S[2048 : 1@tx]", "S[2048 : 1@tx]"), "TW203", "a block has 1024 threads at most"),
        (("S[8 : 1@reg] + -1@reg", "S[8 : 1@reg]"), "TW203", "places count from 0"),
        (("S[4]", "S[4 : 2]", "--fill", "300"), "TW705", "a whole number from 0 to 255"),
        (("S[4]", "S[4 : 2]", "--fill", "9" * 310), "TW705", "a whole number from 0 to 255"),
        (("S[4]", "S[4 : 2]", "--fill", "0x100"), "TW705", "bits from 0 to 0xff"),
        (("S[4]", "S[4 : 2]", "--fill", "1.5"), "TW705", "a whole number from 0 to 255"),
        (("S[4]", "S[4 : 2]", "--fill", "x"), "TW401", "such as --fill 0"),
        (("transpose(N, 4)",), "TW007", "give it one: --let N=64"),
        (("transpose(4, rows=2)",), "TW401", "such as 'transpose("),
        (("transpose(rows=4, rows=2, columns=3)",), "TW401", "such as 'transpose("),
        (("S[8 : 1@reg]", "S[8 : 1@reg]", "--tune"), "TW401", "any"),
        (("S[4]", "S[4]", "--aligned", "3"), "TW401", "a power of two, such as 16"),
        (("S[4]", "S[4]", "--device", "none"), "TW601", "known: h200 h100; leave it out"),
    ],
)
def test_what_is_not_understood(tilewise, words, code, hint):
    run = tilewise("plan", *words, "--dtype", "u8", "--json")
    assert run.code == 2
    error = run.json["error"]
    assert error["code"] == code
    assert hint == "any" or error["hint"].startswith(hint)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("transpos(4, 4)",), "no move has the name transpos"),
        (("transpos",), "no move has the name transpos"),
        (("transpos(4, 4",), "no move has the name transpos"),
        (("S[16]", "transpos(4, 4)"), "no move has the name transpos"),
        (("wgmma.D(f32, n=64)",), "wgmma.D(f32, n=64) is one layout, and a move has two"),
        (("nothing",), "no move has the name nothing"),
        (("-",), "- is one layout, and a move has two"),
        (("SWIZZLE_128B(u8) o (8, 8):(8, 1)",), "SWIZZLE_128B is no word of CuTe's dialect"),
        (("wgmma.E(f32)",), "the catalogue has no entry wgmma.E"),
        (("S[16]", "transpose(4, 4)"), "transpose is a whole move: it takes no SRC"),
        (("transpose(4, cols=4)",), "transpose has no argument cols"),
        (("tile_for_wgmma(64, 64, u8, swizle=64B)",), "tile_for_wgmma has no argument swizle"),
    ],
)
def test_what_is_wrong_with_a_named_move_is_said(tilewise, words, said):
    run = tilewise("plan", *words, "--dtype", "u8", "--json")
    assert run.code == 2
    assert run.json["error"]["message"].startswith(said)


@pytest.mark.parametrize(
    ("dtype", "fill"), [("e5m2fnuz", "1"), ("e4m3", "1000"), ("e2m1", "1000"), ("f16", "1e6")]
)
def test_bits_fill_where_a_number_does_not(tilewise, dtype, fill):
    words = ("plan", "S[8]", "S[8 : 2]", "--dtype", dtype)
    error = tilewise(*words, "--fill", fill, "--json").json["error"]
    assert error["code"] == "TW705"
    (option,) = re.findall(r"--fill 0x\w+$", error["hint"])
    assert tilewise(*words, *option.split()).code == 0


@pytest.mark.parametrize("axes", ["(4, 32) : (1@warpid, 1@laneid)", "128 : 1@tx"])
def test_threads_beyond_a_warp_are_counted_as_the_hint_says(tilewise, axes):
    assert tilewise("plan", f"S[{axes}]", f"S[{axes}]", "--dtype", "f16").code == 0


@pytest.mark.parametrize("shape", ["30x5", "30 X 5", " 30x5 "])
def test_a_box_may_be_spelled_with_an_x(tilewise, shape):
    words = ("plan", "S[30, 5]", "S[(38, 8) : (8, 1)]", "--dtype", "u8", "--json", "--shape")
    assert tilewise(*words, shape).json == tilewise(*words, "30,5").json
    hexadecimal = tilewise("plan", "S[16]", "S[20]", "--dtype", "u8", "--json", "--shape", "0x10")
    assert hexadecimal.json["shape"] == [16]


def test_a_value_may_begin_with_a_minus(tilewise):
    for fill in ("--fill=-inf", "--fill=-1.5"):
        run = tilewise("plan", "S[4]", "S[4 : 2]", "--dtype", "f32", fill, "--json")
        assert run.json["fill"] == fill.partition("=")[2]


def test_a_list_may_end_with_a_comma(tilewise):
    asked = tilewise("plan", "transpose(4, 8,)", "--dtype", "u8")
    assert asked.out == tilewise("plan", "transpose(4, 8)", "--dtype", "u8").out


def test_what_moves_are_asked_has_its_own_help(tilewise):
    run = tilewise("emit", "move", "S[4]", "S[4 : 2]", "--dtype", "u8", "--bogus", "1")
    assert run.err.endswith("hint: tilewise emit move --help shows how it is called\n")


def test_widths_that_are_not_moved_are_refused_with_a_fill_as_well(tilewise):
    run = tilewise("plan", "S[4]", "S[4 : 2]", "--dtype", "e2m3", "--fill", "-1", "--json")
    assert (run.code, run.json["error"]["code"]) == (2, "TW602")


@pytest.mark.parametrize("option", ["--checked", "--host", "--name=turn"])
def test_options_of_the_kernel_are_the_other_command_s(tilewise, option):
    run = tilewise("plan", "S[4]", "S[4]", "--dtype", "u8", option)
    assert run.code == 2
    assert run.err.endswith(f"hint: tilewise emit move takes {option.partition('=')[0]}\n")


def test_the_type_is_asked_for(tilewise):
    for words in (("S[4]", "S[4]"), ("transpose(4, 4)",)):
        run = tilewise("plan", *words)
        assert (run.code, run.err.splitlines()[0]) == (
            2, "tilewise: TW401: the type of an element is not given",
        )  # fmt: skip


@pytest.mark.parametrize("command", [("plan",), ("emit", "move")])
def test_elements_that_meet_are_a_no(tilewise, command):
    run = tilewise(*command, "S[4, 2]", "S[(4, 2) : (1, 1)]", "--dtype", "u8", "--json")
    assert run.code == 1
    assert (run.json["class"], run.json["code"]) == (None, "TW703")
    assert "have one place in the target" in run.json["reason"]
    one, other, place = run.json["witness"]
    target = S[(4, 2) : (1, 1)]
    assert one != other
    assert target.place(one).as_dict() == target.place(other).as_dict() == place
    text = tilewise(*command, "S[4, 2]", "S[(4, 2) : (1, 1)]", "--dtype", "u8")
    assert (text.out or text.err).startswith("no: two elements have one place")
    assert (text.out == "") is (command == ("emit", "move"))


# -- emit move -------------------------------------------------------------------------------------


def test_the_kernel_is_the_plan_s(tilewise):
    run = tilewise("emit", "move", *TURN, "--name", "turn", "--json").json
    own = plan(S[64, 96], S[(64, 96) : (1, 64)], "bf16")
    assert (run["engine"], run["name"], run["class"]) == ("move", "turn", "tile")
    assert run.items() >= tilewise("plan", *TURN, "--json").json.items()
    assert own.code("turn").strip() in run["code"]
    assert run["code"].startswith("// turn: from S[(64, 96) : (96, 1)]\n")


def test_a_host_launches_it(tilewise):
    own = plan(S[64, 96], S[(64, 96) : (1, 64)], "bf16")
    blocks, threads, _ = own.launch
    out = tilewise("emit", "move", *TURN, "--host").out
    assert f"move_bf16_parts::move_bf16<<<{blocks}, {threads}, 0, stream>>>(" in out
    assert out.startswith("#include")


def test_a_copy_is_a_no_and_its_host_is_not(tilewise):
    words = ("emit", "move", "S[64]", "S[64] + 16", "--dtype", "f32")
    run = tilewise(*words)
    assert (run.code, run.out) == (1, "")
    assert tilewise(*words, "--json").json["class"] == "copy"
    assert run.err.startswith("no: no kernel is needed: copy 256 bytes ")
    assert run.err.endswith("--host writes the call\n")
    host = tilewise(*words, "--host")
    assert host.code == 0
    assert "cudaMemcpyAsync((char *)target + 64, source, 256, cudaMemcpyDeviceToDevice, stream)" in host.out


@pytest.mark.parametrize("name", ["V16", "7up", "class"])
def test_names_that_do_not_do(tilewise, name):
    assert tilewise("emit", "move", *TURN, "--name", name).code == 2


def test_help_of_moves_has_their_options(tilewise):
    out = tilewise("emit", "move", "--help").out
    assert out.startswith("usage: tilewise emit move SRC DST --dtype T [options]\n")
    assert "--fill" in out
    assert "--tile" not in out


def test_completion_knows_both(tilewise):
    out = tilewise("completion", "bash").out
    (line,) = re.findall(r"^ +emit\) .*$", out, re.MULTILINE)
    assert {"move", "mma", "--tile", "--fill", "--host"} <= {*line.replace('"', " ").split()}
