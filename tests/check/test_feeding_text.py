"""The words of `match --engine mma` in text, JSON and code, followed to the letter for tiles anywhere."""

from __future__ import annotations

import re
from itertools import product

import pytest
from tests.check.feeding_cases import MATRICES, VECTORS, cases
from tests.check.naive_feeding import Asked, addresses, wanted
from tests.codegen import nvrtc

from tilewise import S, Swizzle, parse
from tilewise.check.feeding import feed
from tilewise.check.feeding.steps import from_the_tile
from tilewise.check.match import match
from tilewise.codegen.feeding import source_of_tile
from tilewise.core.errors import LayoutError

MMA = ("--engine", "mma", "--shape", "m16n8k16", "--dtype", "f16")
BASES = (0, 0x10, 0x40, 0x400, 0x410, 0x1230)

TILES = [
    ("A", "f16", "Swizzle<3,3,3> o S[(64, 64) : (64, 1)]", ()),
    ("B", "f16", "Swizzle<3,3,3> o S[(64, 64) : (1, 64)]", ()),
    ("A", "f16", "Swizzle<2,3,3> o S[(128, 32) : (32, 1)]", ()),
    ("A", "f16", "Swizzle<3,3,4> o S[(16, 128) : (128, 1)]", ()),
    ("B", "bf16", "S[(64, 64) : (72, 1)]", ()),
    ("A", "f16", "Swizzle<3,3,3> o S[(64, 64) : (64, 1)]", ("--form", "x2")),
    ("A", "f16", "Swizzle<3,3,3> o S[(64, 64) : (64, 1)]", ("--form", "x1")),
    ("D", "bf16", "Swizzle<3,3,3> o S[(64, 64) : (64, 1)]", ()),
    ("D", "bf16", "Swizzle<3,3,3> o S[(64, 64) : (64, 1)]", ("--arch", "sm_80")),
    ("D", "f32", "Swizzle<3,2,3> o S[(64, 32) : (32, 1)]", ()),
    ("D", "f32", "S[(16, 64) : (64, 1)]", ()),
    ("C", "f32", "S[(32, 32) : (1, 36)]", ()),
    ("A", "f16", "S[(64, 64) : (68, 1)]", ()),
    ("A", "f16", "S[(64, 64) : (1, 68)]", ()),
    ("A", "f16", "Swizzle<3,2,3> o S[(64, 64) : (64, 1)]", ()),
]


def first_byte(found, step, lane):
    """(lane, row, column, byte) of what lies where a lane's address points, by the document."""
    if found.form.bits != 16 or not hasattr(found.form, "count"):
        part = step.parts[0]
        return lane, part.row, part.column, part.byte
    matrix, row = divmod(lane % (8 * found.form.count), 8)
    part = step.parts[matrix]
    if found.trans:
        return row // 2, part.row, part.column, part.byte + 2 * (row % 2)
    return 4 * row, part.row, part.column, part.byte


def numbers(words):
    """{name: its numbers} of the lines of an answer."""
    found = {}
    for line in words.splitlines():
        said = re.match(r"  (along [A-Z]  +|in one  +)(\w) = ", line)
        if said and said[1].startswith("along"):
            assert "..." not in line
            found[said[2]] = [int(n) for n in re.findall(r"\d+", line.partition("=")[2].partition(" B")[0])]
    block = re.search(r"in one +r = (.*?), in bytes", words, re.DOTALL)
    if block:
        found["r"] = [int(n) for n in re.findall(r"(-?\d+) for", block[1])]
    return found


def words_of(out, name):
    return re.search(rf"^  {name} +(.*)$", out, re.MULTILINE)[1]


def ids():
    return ["-".join((operand, dtype, text, *options)) for operand, dtype, text, options in TILES]


def asked(operand, dtype, text, options, **more):
    """The same question in Python."""
    words = {option.strip("-"): value for option, value in zip(options[::2], options[1::2], strict=True)}
    return feed(parse(text, dtype=dtype), operand=operand, shape="m16n8k16", dtype=dtype, **words, **more)


@pytest.mark.parametrize(("operand", "dtype", "text", "options"), TILES, ids=ids())
def test_the_arithmetic_of_the_text_is_right_for_a_tile_anywhere(operand, dtype, text, options, tilewise):
    """The tile's address is added last, with --base and without it."""
    found = asked(operand, dtype, text, options)
    places = wanted(parse(text, dtype=dtype), Asked(operand, "m16n8k16", dtype))
    names = {"A": "mkr", "B": "nkr"}.get(operand, "mnr")
    for more, bases in (((), BASES), (("--base", "0x410"), (0x410,))):
        out = tilewise("match", text, *MMA[:-1], dtype, "--operand", operand, *options, *more).out
        own = addresses(parse(words_of(out, "addresses").partition(", lane")[0], unit="byte"))
        formula, known = compile(words_of(out, "each at"), "text", "eval"), numbers(out)
        turns = list(product(*(known.get(name, [0]) for name in names)))
        assert len(found.steps) == len(turns)
        function = {f"{operand.lower()}_address": own.__getitem__}
        for (step, values), lane in product(zip(found.steps, turns, strict=True), range(32)):
            at = places[first_byte(found, step, lane)]
            for base in bases:
                there = eval(formula, function, dict(zip(names, values, strict=True), tile=base, lane=lane))
                assert there == base + at, (values, lane, base)


@pytest.mark.parametrize(("operand", "dtype", "text", "options"), TILES[::2], ids=ids()[::2])
def test_the_steps_of_json_count_from_its_origin(operand, dtype, text, options, tilewise):
    for more in ((), ("--base", "0x410"), ("--base", "0x410", "--pattern", "address")):
        about = (*MMA[:-1], dtype, "--operand", operand, *options, *more)
        run = tilewise("match", text, *about, "--json").json
        base, pattern = run["base"], run["pattern"]
        found = asked(operand, dtype, text, options, base=base, pattern=pattern)
        first, origin = addresses(parse(run["addresses"], unit="byte")), run["origin"]
        assert [at - origin for at in first] == addresses(parse(run["offsets"], unit="byte"))
        for own, step in zip(run["steps"], found.steps, strict=True):
            here = addresses(step.addresses)
            assert own["add"] is None or here == [at + own["add"] for at in first]
            assert own["xor"] is None or here == [origin + ((at - origin) ^ own["xor"]) for at in first]


@pytest.mark.parametrize(("operand", "dtype", "text", "options"), TILES, ids=ids())
def test_the_text_names_every_element_of_one_instruction(operand, dtype, text, options, tilewise):
    out = tilewise("match", text, *MMA[:-1], dtype, "--operand", operand, *options).out
    said = words_of(out, "registers").partition(";")[0]
    block = re.search(r"in one +r = (.*?), in bytes", out, re.DOTALL)
    if block:
        assert said in block[1]
        said = block[1]
    own = re.sub(r"\w+(-\w+)? at \(", "", said)
    shown = set()
    for first, last in re.findall(rf"\b{operand.lower()}(\d+)(?:-{operand.lower()}(\d+))?", own):
        shown |= {*range(int(first), int(last or first) + 1)}
    assert shown == {*range({"A": 8, "B": 4, "C": 4, "D": 4}[operand])}


# -- code ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("operand", "dtype", "text", "options"), TILES, ids=ids())
def test_the_code_alone_moves_every_step(operand, dtype, text, options, tilewise):
    out = tilewise("match", text, *MMA[:-1], dtype, "--operand", operand, *options, "--code").out
    assert (out[:3], out[-2:]) == ("// ", "}\n")
    found = asked(operand, dtype, text, options)
    verb = "store" if operand == "D" else "load"
    lines = re.findall(rf"{verb}\(r\[(\d+)\], (.*)\);  // (.*)", out)
    assert [int(number) for number, _, _ in lines] == [*range(len(found.steps))]
    places = wanted(parse(text, dtype=dtype), Asked(operand, "m16n8k16", dtype))
    for (_, text, _), step in zip(lines, found.steps, strict=True):
        expression = compile(text, "code", "eval")
        for (lane, first), base in product(enumerate(addresses(found.addresses)), BASES):
            there = eval(expression, {}, {"tile": base, "first": first})
            assert there == base + places[first_byte(found, step, lane)]


def test_a_step_that_is_no_number_has_a_function_of_its_own(tilewise):
    text = "Swizzle<1,3,3> o S[(16, (3, 16)) : (48, (16, 1))]"
    out = tilewise("match", text, *MMA, "--operand", "A").out
    assert "each at      an address of its own" in out
    code = tilewise("match", text, *MMA, "--operand", "A", "--code").out
    assert "a_address_1(unsigned lane)" in code
    assert "a_load(r[1], tile + a_address_1(lane));" in code
    found = feed(parse(text), operand="A", shape="m16n8k16", dtype="f16", base=64)
    assert addresses(from_the_tile(found).addresses) == [at - 64 for at in addresses(found.addresses)]


LIBRARY = nvrtc.load()


@pytest.mark.slow
@pytest.mark.skipif(LIBRARY is None, reason="needs NVRTC")
def test_the_code_of_every_tile_compiles_and_gives_the_addresses():
    """Every answer of the tables, with each lane's first address as the compiler computes it."""
    programs = {}
    for table in (MATRICES, VECTORS):
        for number, (operand, shape, dtype, _, spelled) in enumerate(cases(table)):
            text, _, options = spelled.partition(" --")
            if options and not options.startswith("arch sm_1"):
                continue
            arch = options.split()[1] if options else None
            layout = parse(text.strip(), dtype=dtype)
            found = feed(layout, operand=operand, shape=shape, dtype=dtype, arch=arch)
            name = f"{operand.lower()}_address"
            asserted = (
                f"static_assert({name}({i}) == {at});" for i, at in enumerate(addresses(found.addresses))
            )
            code = "\n".join([source_of_tile(found), *asserted])
            programs.setdefault(arch or "sm_90", []).append(
                f"namespace case{id(table)}_{number} {{\n{code}\n}}"
            )
    assert set(programs) >= {"sm_90", "sm_100a", "sm_120a"}
    for arch, spaces in programs.items():
        said = f"--gpu-architecture={arch.replace('sm', 'compute')}"
        nvrtc.compile_to_ptx(LIBRARY, "\n".join(spaces), said)


# -- one lane ------------------------------------------------------------------------------------------


def test_one_lane_is_told_step_by_step(tilewise):
    about = ("match", "Swizzle<3,3,3> o S[(64, 64) : (64, 1)]", *MMA, "--operand", "A", "--base", "0x400")
    found = feed(Swizzle(3, 3, 3) @ S[(64, 64) : (64, 1)], operand="A", shape="m16n8k16", dtype="f16")
    expected = [0x400 + step.addresses.place(17)["m"] for step in found.steps]
    run = tilewise(*about, "--lane", "17", "--json").json
    assert (run["lane"], run["names"], [step["address"] for step in run["steps"]]) == (17, [2, 1], expected)
    out = tilewise(*about, "--lane", "17").out.splitlines()
    assert "row 1 of matrix 2" in out[1]
    assert [int(line.split()[0]) for line in out[2:]] == expected
    assert out[3].endswith("(0, 1): a0-a1, a2-a3, a4-a5, a6-a7")


def test_a_lane_whose_address_is_not_read_is_told_so(tilewise):
    about = ("match", "S[(16, 16) : (16, 1)]", *MMA, "--operand", "A", "--form", "x2", "--lane")
    assert "not read" in tilewise(*about, "17").out
    assert "not read" not in tilewise(*about, "15").out
    vector = tilewise("match", "S[(16, 16) : (18, 1)]", *MMA, "--operand", "A", "--lane", "17").out
    assert "row" not in vector


# -- words ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--lane", "32"), "no lane 32"),
        (("--lane", "-1"), "no lane -1"),
        (("--lane", "l"), "no number"),
        (("--lane", "3", "--code"), "leave one of them out"),
    ],
)
def test_lanes_that_are_none_are_refused(options, words, tilewise):
    run = tilewise("match", "S[(16, 16) : (16, 1)]", *MMA, "--operand", "A", *options)
    assert (run.code, words in run.err) == (2, True), run.err


def test_a_shape_says_which_engine(tilewise):
    about = ("match", "S[(64, 64) : (72, 1)]", "--operand", "A", "--dtype", "f16")
    both = [tilewise(*about, *engine, "--shape", "m16n8k16") for engine in ((), ("--engine", "mma"))]
    assert (both[0].out, both[0].code) == (both[1].out, 0)
    assert tilewise(*about, "--shape", "m16n8k16", "--json").json["engine"] == "mma"
    wgmma = tilewise(*about, "--shape", "m16n8k16", "--engine", "wgmma")
    assert (wgmma.code, "say --engine mma" in wgmma.err) == (2, True)
    for option in (("--form", "x4"), ("--code",), ("--lane", "3"), ("--arch", "sm_80"), ("--sparse",)):
        run = tilewise(*about, *option)
        assert (run.code, "say --engine mma" in run.err) == (2, True)
    with pytest.raises(LayoutError, match='engine="mma"'):
        match(S[(64, 64) : (72, 1)], operand="A", dtype="f16", shape="m16n8k16")


def test_all_that_is_missing_is_said_at_once(tilewise):
    run = tilewise("match", "S[(64, 64) : (72, 1)]", "--engine", "mma")
    assert "match needs --operand and --dtype and --shape" in run.err


def test_code_has_no_words_for_people_in_it(tilewise):
    about = ("match", "S[(64, 64) : (68, 1)]", *MMA, "--operand", "A", "--code")
    refused = tilewise(*about, "--form", "ldmatrix")
    assert (refused.code, refused.out) == (1, "")
    assert "stride-16" in refused.err
    narrow = tilewise(*about)
    assert (narrow.code, narrow.out[:2]) == (0, "//")
    assert "note: plain vectors move it: from m = 0 to 1 is 136 B" in narrow.err
    assert tilewise(*about[:1], "S[(64, 64) : (72, 1)]", *about[2:]).err == ""


@pytest.mark.parametrize(("operand", "word"), [("A", "ldmatrix"), ("D", "stmatrix")])
def test_what_moves_matrices_may_be_asked_for_by_its_name(operand, word, tilewise):
    for text in ("S[(64, 64) : (72, 1)]", "S[(64, 64) : (68, 1)]"):
        about = ("match", text, *MMA, "--operand", operand, "--form")
        assert tilewise(*about, word, "--json").out == tilewise(*about, "matrices", "--json").out


def test_single_bytes_want_no_alignment(tilewise):
    about = (
        "match",
        "S[(32, 32) : (1, 32)]",
        *MMA[:2],
        "--shape",
        "m16n8k32",
        "--dtype",
        "s8",
        "--operand",
        "B",
    )
    assert words_of(tilewise(*about).out, "alignment") == "the tile anywhere"
    at_zero = tilewise(*about, "--pattern", "address").out
    assert words_of(at_zero, "alignment") == "every address will do"


def test_only_who_has_tma_is_told_of_it(tilewise):
    about = ("match", "Swizzle<3,3,3> o S[(64, 64) : (64, 1)]", *MMA, "--operand", "A")
    assert "where TMA writes it, align the tile to 1024 B" in tilewise(*about).out
    assert "TMA" in tilewise(*about, "--arch", "sm_90").out
    assert "TMA" not in tilewise(*about, "--arch", "sm_80").out
    for none in ("Swizzle<3,3,4> o S[(64, 128) : (128, 1)]", "Swizzle<3,4,3> o S[(64, 64) : (64, 1)]"):
        assert "TMA" not in tilewise("match", none, *MMA, "--operand", "A").out


# -- units ---------------------------------------------------------------------------------------------


def noted(tilewise, text, *options):
    """Return the text of a note, which text and JSON share."""
    about = ("match", text, "--engine", "mma", *options)
    run, data = tilewise(*about), tilewise(*about, "--json").json
    assert ("note: " + data["note"] + "\n" if "note" in data else "") == run.err
    return data.get("note", "")


A16 = ("--shape", "m16n8k16", "--operand", "A", "--dtype")


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_a_swizzle_in_the_other_unit_is_noted(dtype, tilewise):
    about = (*A16, dtype)
    note = noted(tilewise, "Swizzle<3,4,3> o S[(128, 64) : (64, 1)]", *about)
    assert "Swizzle<3,4,3> counts elements here, which is Swizzle<3,5,3> on bytes" in note
    assert "of 128B mode" in note
    assert f"for {dtype} write Swizzle<3,3,3>" in note
    assert note == noted(tilewise, "Sw<3,4,3> o (128,64):(64,1)", *about)
    for right in (
        "Swizzle<3,3,3> o S[(128, 64) : (64, 1)]",
        "Swizzle<3,3,4> o S[(64, 128) : (128, 1)]",
        "Sw<3,4,3> o smem_ptr[16b](0) o (128,64):(64,1)",
        "S[(64, 64) : (64, 1)]",
    ):
        assert noted(tilewise, right, *about) == ""
    assert (
        noted(tilewise, "Swizzle<3,4,3> o S[(64, 128) : (128, 1)]", *A16[:1], "m16n8k32", *A16[2:], "s8")
        == ""
    )


def test_a_swizzle_of_elements_before_bytes_is_noted(tilewise):
    about = (*A16, "f16", "--unit", "byte")
    text = "Swizzle<3,3,3> o S[(64, 64) : (128, 2)]"
    assert "on f16 elements it is that of 128B mode; on bytes write Swizzle<3,4,3>" in noted(
        tilewise, text, *about
    )
    assert "keep 16 bytes together: Swizzle<3,3,3> on f16" in tilewise("match", text, *about).out


@pytest.mark.parametrize(
    ("text", "operand", "shape", "dtype", "unit"),
    [
        ("S[(64, 32) : (80, 2)]", "A", "m16n8k16", "f16", "byte"),
        ("S[(64, 64) : (256, 4)]", "D", "m16n8k16", "f32", "byte"),
        ("S[(64, 64) : (264, 4)]", "C", "m16n8k16", "f32", "byte"),
        ("S[(64, 64) : (136, 2)]", "A", "m16n8k16", "f16", "byte"),
    ],
)
def test_bytes_for_elements_are_seen_in_narrow_vectors(text, operand, shape, dtype, unit, tilewise):
    about = ("match", text, "--operand", operand, "--shape", shape, "--dtype", dtype)
    run = tilewise(*about, "--json").json
    assert run["kind"] == "vector"
    assert run["reasons"][0]["rule"] == "unit"
    assert run["reasons"][0]["hint"] == f"say --unit {unit}"
    again = tilewise(*about, "--unit", unit, "--json").json
    assert again["name"] in run["reasons"][0]["message"]
    assert again["instructions"] < run["instructions"]


@pytest.mark.parametrize("text", ["S[(64, 64) : (64, 1)]", "S[(64, 64) : (68, 1)]", "S[(64, 64) : (1, 64)]"])
def test_elements_are_not_taken_for_bytes(text, tilewise):
    run = tilewise("match", text, "--operand", "D", "--shape", "m16n8k16", "--dtype", "f32", "--json").json
    assert [reason["rule"] for reason in run["reasons"]] == ["lanes"]
