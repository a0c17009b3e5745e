"""`match` of tcgen05: what it says of legal and illegal tiles, in Python and on the command line."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from pathlib import Path

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from tests.check.match_cases import LEGAL as OF_WGMMA
from tests.check.match_cases import cases as cases_of_wgmma
from tests.check.tcgen05_cases import ILLEGAL, LEGAL, cases
from tests.hardware.of_tcgen05 import addresses, feeding

from tilewise import S, Swizzle, parse
from tilewise.check.match import match
from tilewise.check.nearest import COSTS
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.shapes import size_of
from tilewise.hardware.modes import BLACKWELL
from tilewise.hardware.operands.tiles import tile
from tilewise.hardware.tcgen05.descriptor import Descriptor
from tilewise.hardware.tcgen05.kinds import KINDS, Product
from tilewise.hardware.tcgen05.operand import Operand, modes_of

GOLDENS = Path(__file__).parent / "goldens"


def words(operand, dtype, spelled):
    """The words of a command for one case."""
    text, _, options = spelled.partition(" --")
    more = f"--{options}".split() if options else []
    return "match", text.strip(), "--engine", "tcgen05", "--operand", operand, "--dtype", dtype, *more


def ids(table):
    return [f"{operand}-{dtype}-{spelled}" for operand, dtype, _, spelled in cases(table)]


@pytest.mark.parametrize("case", [*cases(LEGAL)], ids=ids(LEGAL))
def test_a_legal_tile_is_found(case, tilewise):
    operand, dtype, expected, spelled = case
    run = tilewise(*words(operand, dtype, spelled), "--json")
    assert run.code == 0, run.out
    found = run.json
    fields = {name: "-" if name in found["ignored"] else found[name] for name in ("lbo", "sbo")}
    lbo, sbo = ("@" if value is None else str(value) for value in fields.values())
    size = found["instruction"]
    instruction = f"m{size['m'] or 'M'}n{size['n'] or 'N'}k{size['k']}"
    assert [found["mode"], found["major"], lbo, sbo, instruction] == expected
    assert (lbo == "@") == ("lbo" in found["steps"][0])
    assert found["engine"] == "tcgen05"
    assert found["trans"] == {"k": 0, "mn": 1}[found["major"]]
    assert found["value"] == found["steps"][0]["value"]
    assert int(found["value"], 16) >> 46 & 7 == 1, "the fixed constant"
    assert len(found["steps"]) == found["k_steps"] * found["mn_steps"]
    assert "document" in found["confirmed"]


@pytest.mark.parametrize("case", [*cases(ILLEGAL)], ids=ids(ILLEGAL))
def test_an_illegal_tile_is_refused_for_the_right_reason(case, tilewise):
    operand, dtype, expected, spelled = case
    run = tilewise(*words(operand, dtype, spelled), "--json")
    assert run.code == 1, run.out
    found = run.json
    assert found["legal"] is False
    rules = [reason["rule"] for reason in found["reasons"]]
    assert rules[0] == expected[0]
    assert set(expected) <= set(rules)
    no_tile = rules[0] in ("type", "axis", "chunk")
    assert bool(found["nearest"]) != no_tile
    costs = [near["cost"] for near in found["nearest"]]
    assert costs == sorted(costs, key=COSTS.index)


def test_what_is_said_of_all_of_them(tilewise, golden):
    """But for what the tables of kinds refuse: these are their own words."""
    said = []
    for table in (LEGAL, ILLEGAL):
        for operand, dtype, expected, spelled in cases(table):
            run = tilewise(*words(operand, dtype, spelled))
            assert "wgmma" not in run.out
            if expected[0] in ("type", "m", "n"):
                continue
            said.append(f"$ tilewise match {spelled} --operand {operand} --dtype {dtype}\n{run.out}")
    golden(GOLDENS / "match_tcgen05.txt", "\n".join(said))


@pytest.mark.parametrize("case", [*cases(ILLEGAL)], ids=ids(ILLEGAL))
def test_what_is_nearest_is_read(case, tilewise):
    operand, dtype, _, spelled = case
    run = tilewise(*words(operand, dtype, spelled), "--json")
    _, _, options = spelled.partition(" --")
    kept = [f"--{option}" for option in options.split(" --") if option.split()[:1] in (
        ["kind"], ["k"], ["cta-group"], ["ws"], ["atomicity"], ["lbo-mode"]
    )]  # fmt: skip
    for near in run.json["nearest"]:
        again = tilewise(*words(operand, dtype, " ".join([near["layout"], *kept])), "--json")
        assert again.code == 0, again.out
        assert (again.json["mode"], again.json["major"]) == (near["mode"], near["major"])


# -- what wgmma reads ----------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [*cases_of_wgmma(OF_WGMMA)], ids=lambda case: case[-1])
def test_what_wgmma_reads_tcgen05_reads_in_the_same_strides(case):
    """The document has one table of canonical layouts for both, but for what each leaves out."""
    operand, dtype, expected, spelled = case
    text, _, options = spelled.partition(" --")
    if dtype == "b1" or options or text.startswith("SWIZZLE"):
        return
    layout = parse(text.strip())
    asked = {"operand": operand, "dtype": dtype}
    one = match(layout, **asked)
    other = match(layout, engine="tcgen05", **asked, **({"m": 64} if operand == "A" else {}))
    assert [one.mode.name, one.major] == [other.mode.name, other.major] == expected[:2]
    assert (one.mode, one.major, one.lbo, one.sbo) == (other.mode, other.major, other.lbo, other.sbo)
    if one.mn_steps == other.mn_steps:
        assert [step.bytes for step in one.steps] == [step.bytes for step in other.steps]


# -- descriptors read what the layout says -------------------------------------------------------------


@st.composite
def products(draw):
    """Draw (options, rows, K of one product in elements, its operand): a product that exists."""
    kind = draw(st.sampled_from([*KINDS.values()]))
    dtype = draw(st.sampled_from(kind.types))
    major = draw(st.sampled_from(kind.majors(dtype)))
    cta_group, sparse, ws = draw(st.sampled_from([(1, 0, 0), (2, 0, 0), (1, 1, 0), (1, 0, 1)]))
    shapes = Product(kind, cta_group, sparse, ws).shapes
    if not shapes:
        cta_group, sparse, ws = 1, 0, 0
        shapes = Product(kind).shapes
    operand = draw(st.sampled_from("AB"))
    deep = {"k": 96} if kind.packed and not sparse and draw(st.booleans()) else {}
    m = draw(st.sampled_from([*shapes]))
    legal = [n for n in shapes[m] if n % (16 * cta_group) == 0]
    n = draw(st.sampled_from(legal))
    said = {"kind": kind.name, "cta_group": cta_group, "sparse": bool(sparse), "ws": bool(ws), **deep}
    try:
        of = Operand(dtype, major, operand, m=m, n=n, **said)
    except Refused:
        reject()  # K = 96 has fewer shapes
    size = {"m": m} if operand == "A" else {"n": n}
    return {"engine": "tcgen05", "operand": operand, "dtype": dtype, **said, **size}, of


@given(products(), st.data())
def test_every_descriptor_of_a_tile_reads_its_part(asked, data):
    question, of = asked
    legal = [mode for mode in modes_of(of.element, of.major) if of.major == "mn" or room(mode, of)]
    mode = data.draw(st.sampled_from(legal))
    deep = data.draw(st.sampled_from([8] if of.bytes == 48 else [4, 8]))
    rows = of.rows * data.draw(st.integers(1, 2))
    try:
        order = data.draw(st.sampled_from(["mn", "k"]))
        layout = tile(mode, of.major, of.element, rows, of.depth * deep, order)
    except LayoutError:
        return
    base = data.draw(st.sampled_from([0, 1024, 2048 * 3]))
    found = match(layout, base=base, **question)
    if not found.legal:
        (reason,) = found.reasons
        cut = of.major == "mn" and rows > of.rows and of.rows * of.element.bits // 8 % mode.width
        assert reason.rule == ("uneven" if cut else "range")
        return
    assert (found.mode, found.major) == (mode, of.major)
    assert found.mn_steps * of.rows == rows
    for step in found.steps[:: max(1, len(found.steps) // 3)]:
        assert Descriptor.decode(step.descriptor.value) == step.descriptor
        read = addresses(step.descriptor, of)
        for row in range(0, of.rows, 5):
            for k in range(of.depth):
                at = layout.place(step.mn * of.rows + row, step.k * of.depth + k)["m"]
                assert read[row][k] == base + bytes_of(at, of, k)


def room(mode, of):
    """Return whether a K so deep is read in rows of a mode."""
    if of.bytes == 48:
        return mode.name == "128B"
    return not mode.bits or of.bytes <= mode.width


def bytes_of(at, of, k):
    """The byte of an element that has a place in elements; of padded ones by their place in 16 bytes."""
    if of.stored_bits != 8 or of.dtype not in ("e2m1", "e2m3", "e3m2"):
        return at * of.stored_bits // 8
    return at // 16 * 16 + at % 16 * {"e2m1": 4, "e2m3": 6, "e3m2": 6}[of.dtype] // 8


@pytest.mark.parametrize("mode", [*BLACKWELL.values()], ids=str)
def test_match_and_stepping_say_the_same_of_a_tile(mode):
    for dtype, operand, rows, k, asked in (
        ("bf16", "A", 256, 128, {"m": 128}),
        ("bf16", "A", 128, 128, {"m": 256, "cta_group": 2}),
        ("e4m3", "B", 128, 256, {"n": 128}),
        ("tf32", "B", 128, 64, {"n": 128}),
        ("e2m1", "B", 64, 768, {"n": 64, "kind": "mxf4"}),
        ("e2m1", "B", 64, 768, {"n": 64, "kind": "mxf4", "k": 96}),
    ):
        of = Operand(dtype, "k", operand, **asked)
        for major in KINDS[of.kind].majors(dtype):
            if mode not in modes_of(of.element, major) or (major == "k" and not room(mode, of)):
                continue
            for order in ("mn", "k"):
                said = {"depth" if name == "k" else name: value for name, value in asked.items()}
                fed = feeding(mode, major, dtype, rows, k, order, operand=operand, **said)
                layout = tile(mode, major, of.element, rows, k, order)
                found = match(layout, engine="tcgen05", operand=operand, dtype=dtype, **asked)
                silent = dict.fromkeys(found.ignored, 0)
                assert [replace(step.descriptor, **silent) for step in found.steps] == [
                    replace(step.descriptor, **silent) for step in fed.steps
                ]


# -- a K of 48 bytes -----------------------------------------------------------------------------------


def test_two_chunks_of_k_are_two_layouts():
    layout = Swizzle(3, 5, 3) @ S[(128, (3, 256)) : (256, (32768, 1))]
    found = match(layout, engine="tcgen05", operand="A", dtype="e2m1", kind="mxf4", lbo_mode="absolute")
    assert (found.lbo, found.ignored, found.lbo_mode) == (None, (), "absolute")
    assert str(found) == "128B, k-major, lbo by step, sbo 1024: 0x4010404000000000, 8 steps"
    starts = [(step.descriptor.start, step.descriptor.lbo) for step in found.steps]
    assert starts[:4] == [(0, 0), (48, 0), (96, 16384), (16400, 16384)]
    assert starts[5] == (16384 + 112, 32768)


def test_the_second_chunk_may_lie_anywhere_on_a_pattern():
    """Buffers that stand in another order: each step has the address of the one that it goes on in."""
    layout = Swizzle(3, 5, 3) @ (S[(64, (3, 256)) : (256, (-16384, 1))] + 32768)
    asked = {"engine": "tcgen05", "operand": "B", "dtype": "e2m1", "kind": "mxf4nvf4", "k": 96}
    found = match(layout, **asked)
    assert [step.descriptor.lbo for step in found.steps[:6]] == [16384, 16384, 8192, 8192, 8192, 0]
    assert match(Swizzle(3, 5, 3) @ S[(64, (3, 256)) : (256, (16384 + 512, 1))], **asked).legal
    off = match(Swizzle(3, 5, 3) @ S[(64, (3, 256)) : (256, (16384 + 64, 1))], **asked)
    assert not off.legal, "rows of the second buffer go on past 128 bytes where they should not"


# -- refusals of the question itself -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"kind": "f19"}, "no kind of tcgen05.mma"),
        ({"cta_group": 3}, "no cta_group 3"),
        ({"shape": "m16n8k16"}, "tcgen05 takes no shape"),
        ({"lbo_mode": "far"}, "no mode of LBO"),
    ],
)
def test_a_question_that_means_nothing_is_an_error(asked, message):
    with pytest.raises(LayoutError, match=message):
        match(S[(64, 64) : (64, 1)], engine="tcgen05", operand="B", dtype="bf16", **asked)


@pytest.mark.parametrize(
    ("engine", "asked", "hint"),
    [
        ("wgmma", {"cta_group": 2}, 'leave cta_group out, or ask engine="tcgen05"'),
        ("wgmma", {"shape": "m16n8k16"}, 'leave shape out, or ask engine="mma"'),
        ("tcgen05", {"form": "x4"}, 'leave form out, or ask engine="mma"'),
    ],
)
def test_who_is_asked_for_it_is_said(engine, asked, hint):
    with pytest.raises(LayoutError) as refused:
        match(S[(64, 64) : (64, 1)], engine=engine, operand="B", dtype="bf16", **asked)
    assert refused.value.hint == hint


def test_wgmma_is_not_asked_for_what_is_tcgen05s(tilewise):
    text = "Swizzle<3,3,3> o S[(64, 64) : (64, 1)]"
    run = tilewise("match", text, "--operand", "B", "--dtype", "bf16", "--cta-group", "2", "--json")
    assert run.code == 2
    assert run.json["error"]["message"] == "wgmma takes no cta_group"
    assert run.json["error"]["hint"] == "say --engine tcgen05, or leave --cta-group out"
    run = tilewise("match", text, "--engine", "tcgen05", "--operand", "B", "--dtype", "bf16", "--lane", "3")
    assert run.code == 2
    assert "tcgen05 takes no lane" in run.err
    run = tilewise("match", text, "--engine", "tcgen05", "--operand", "D", "--dtype", "bf16")
    assert run.code == 2
    assert "no operand in shared memory" in run.err


@pytest.mark.parametrize("engine", ["wgmma", "tcgen05"])
@pytest.mark.parametrize(
    ("text", "simplified"),
    [
        (
            "Swizzle<1,3,3> o Swizzle<1,3,3> o Swizzle<3,3,3> o S[(128, 64) : (64, 1)]",
            "Swizzle<3,3,3> o S[(128, 64) : (64, 1)]",
        ),
        ("Swizzle<1,3,3> o Swizzle<2,4,3> o S[((4, 32), (8, 8)) : ((2048, 64), (8, 1))]", None),
        (
            "Swizzle<2,4,3> o Swizzle<1,3,3> o S[(128, (2, 64)) : (64, (8192, 1))]",
            "Swizzle<3,3,3> o S[(128, (2, 64)) : (64, (8192, 1))]",
        ),
    ],
)
def test_what_is_nearest_is_said_in_its_simplest_form(engine, text, simplified, tilewise):
    layout = parse(text)
    (near,) = match(layout, engine=engine, operand="B", dtype="bf16", major="mn").nearest
    assert str(near.layout) == (simplified or "Swizzle<3,3,3> o S[(128, 64) : (64, 1)]")
    assert near.layout.same(layout)
    words = ("match", text, "--engine", engine, "--operand", "B", "--dtype", "bf16", "--major", "mn")
    assert f"\n  {near.layout}\n" in tilewise(*words).out


PARTITIONED = [
    ("A", "k", "Sw<3,4,3> o smem_ptr[16b](unset) o ((_128,_16),_1,_4,_4):((_64,_1),_0,_16,_8192)"),
    ("B", "k", "Sw<3,4,3> o smem_ptr[16b](unset) o ((_128,_16),_2,_4):((_64,_1),_8192,_16)"),
    (
        *("A", "mn"),
        "Sw<3,4,3> o smem_ptr[16b](unset) o (((_64,_2),_16),_1,_4,_3):(((_1,_4096),_64),_0,_1024,_8192)",
    ),
]
"""Operands as CUTLASS prints them once they are partitioned: ((MN, K), mn, k) and stages."""


@pytest.mark.parametrize(("operand", "major", "printed"), PARTITIONED)
def test_a_partitioned_operand_is_told_as_its_first_stage(operand, major, printed, tilewise):
    partitioned = parse(printed).in_order("row")
    (reason,) = match(partitioned, engine="tcgen05", operand=operand, dtype="bf16").reasons
    assert reason.rule == "rank"
    said, _, text = reason.hint.partition(", is ")
    rows = "M" if operand == "A" else "N"
    whose = "its first stage" if len(partitioned.shape) == 4 else "it"
    assert said.startswith(f"CuTe's partition (({rows}, K), {rows.lower()}, k")
    assert f"? match a tile: {whose}, [" in said
    tile = parse(text)
    (of_k, _), count, many_k, *pipe = partitioned.shape
    high = 128
    for row in range(0, high * count, 5):
        for k in range(of_k * many_k):
            at = (k % of_k) * high + row % high, row // high, k // of_k, *(0 for _ in pipe)
            assert tile.place(row, k) == partitioned.place(*at)
    found = match(tile, engine="tcgen05", operand=operand, dtype="bf16")
    assert (found.legal, found.major) == (True, major)
    words = ("match", printed, "--engine", "tcgen05", "--operand", operand, "--dtype", "bf16")
    assert text in tilewise(*words).out


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            "S[(128, 64, 4) : (64, 1, 8192)]",
            "of several stages match one: tilewise algebra slice LAYOUT 0, "
            "or ':,:,0' where the last mode says which",
        ),
        ("S[((16, 64), 2, 2, 2, 2) : ((1, 16), 1024, 2048, 4096, 8192)]", "give it the shape (M, K)"),
        ("S[((8, 64), 2, 2, 2) : ((1, 16), 1024, 2048, 4096)]", "give it the shape (M, K)"),
        ("S[(4, 16, 64) : (1024, 1, 16)]", "of several stages match one"),
    ],
)
def test_other_ranks(text, hint):
    (reason,) = match(parse(text), engine="tcgen05", operand="A", dtype="bf16").reasons
    assert reason.hint.startswith(hint)


BLOCKS = [
    # (a tile in four modes, which of them are rows and K, the tile as two)
    (
        "Swizzle<3,3,3> o S[(2, 8, 8, 64) : (4096, 512, 64, 1)]",
        "(0, 1, 2) as N and 3",
        "Swizzle<3,3,3> o S[(128, 64) : (64, 1)]",
    ),
    (
        "Swizzle<3,3,3> o S[(16, 2, 8, 32) : (512, 32, 64, 1)]",
        "(0, 2) as N and (1, 3)",
        "Swizzle<3,3,3> o S[(128, 64) : (64, 1)]",
    ),
    (
        "S[(8, 8, 8, 8) : (8, 512, 64, 1)]",
        "(1, 0) as N and (2, 3)",
        "S[((8, 8), (8, 8)) : ((512, 8), (64, 1))]",
    ),
    ("(8,8,8,8):(8,512,64,1)", "(1, 0) as N and (2, 3)", "S[((8, 8), (8, 8)) : ((512, 8), (64, 1))]"),
]


@pytest.mark.parametrize("engine", ["wgmma", "tcgen05"])
@pytest.mark.parametrize(("text", "modes", "tile"), BLOCKS)
def test_four_modes_are_told_as_the_two_that_are_read(text, modes, tile, engine):
    (reason,) = match(parse(text), engine=engine, operand="B", dtype="bf16").reasons
    assert reason.rule == "rank"
    head, *others = reason.hint.removeprefix("it takes its modes ").split("; or ")
    told = dict(one.split(" as K, ") for one in (head, *others))
    assert told[modes].partition(": ")[2] == tile
    assert len(told) <= 3
    for one in told.values():
        extents, _, text = one.partition(": ")
        found = match(parse(text), engine=engine, operand="B", dtype="bf16")
        assert found.legal
        assert str([size_of(mode) for mode in parse(text).shape]) == extents


def test_four_modes_that_mma_is_fed_with_and_four_that_nobody_reads(tilewise):
    asked = ("--operand", "B", "--dtype", "bf16")
    fed = tilewise("match", "S[(2, 8, 2, 8) : (1024, 16, 8, 1)]", *asked, "--shape", "m16n8k16")
    assert "it takes its modes (0, 1) as N and (2, 3) as K, [16, 16]: S[((2, 8), 16)" in fed.out
    no = tilewise("match", "S[(3, 5, 7, 11) : (385, 77, 11, 1)]", *asked)
    assert "give it the shape (N, K): tilewise algebra reshape" in no.out


def test_answers_go_from_one_command_to_the_next(tilewise):
    asked = ("--engine", "tcgen05", "--operand", "A", "--dtype", "e2m1", "--kind", "mxf4")
    more = ("--tile", "128x768", "--lbo-mode", "absolute")
    suggested = tilewise("suggest", *asked, *more, "--json")
    found = tilewise("match", "-", "--json", stdin=suggested.out).json
    assert (found["value"], found["kind"]) == (suggested.json["value"], "mxf4")
    asked = ("--engine", "tcgen05", "--operand", "A", "--tile", "32x64", "--dtype", "bf16", "--ws")
    suggested = tilewise("suggest", *asked, "--json")
    assert tilewise("match", "-", "--json", stdin=suggested.out).json["instruction"]["m"] == 32


def test_the_sizes_of_atoms_are_those_of_the_manual():
    """Table 55: chunks of 16 bytes along M or N, and along K."""
    table = {"none": 1, "32B": 2, "64B": 4, "128B": 8}
    for name, wide in table.items():
        layout = tile(name, "k", "b128", 8, wide)
        assert (layout.size, BLACKWELL[name].rows, prod((8, wide))) == (8 * wide, 8, layout.size)
    assert tile(BLACKWELL["128B_ATOM_32B"], "mn", "b128", 8, 4).size == 8 * 4


@pytest.mark.parametrize("text", ["S[()]", "S[8]", "S[(2, 3, 4, 5, 6)]"])
def test_a_layout_of_other_modes_is_no_partition(text):
    found = match(parse(text), operand="A", dtype="bf16", engine="tcgen05")
    assert [reason.rule for reason in found.reasons] == ["rank"]
    assert "partition" not in found.reasons[0].hint
