"""The screen of a layout: every number on it is what the room that knows it says, and it fits a terminal."""

from __future__ import annotations

import io
import json
import re
from functools import cache

import pytest
from rich.console import Console

from tilewise import Refused, S, Swizzle, parse
from tilewise.check.banks import conflicts
from tilewise.check.engines import WITH_DESCRIPTORS
from tilewise.check.match import Mismatch, match
from tilewise.check.tma import plan_copy
from tilewise.core.dtypes import DType
from tilewise.core.shapes import extents_of
from tilewise.hardware.wgmma.instructions import Input
from tilewise.pictures.corner import chunks_of, corner_of
from tilewise.pictures.page import page_of
from tilewise.pictures.registers import holders_of, known_as
from tilewise.pictures.screen import screen_of
from tilewise.pictures.terminal import Piece, as_text, print_lines, styles_in

TILES = [
    ("Swizzle<3,3,3> o S[(128, 64) : (64, 1)]", "bf16"),
    ("S[(128, 64) : (64, 1)]", "bf16"),
    ("S[(128, 64) : (68, 1)]", "bf16"),
    ("S[(64, 64) : (72, 1)]", "f16"),
    ("S[(64, 128) : (1, 64)]", "bf16"),
    ("Swizzle<3,4,3> o S[(128, 64) : (64, 1)]", "bf16"),
    ("S[(48, 96) : (96, 1)]", "e4m3"),
    ("S[(64, 64) : (64, 1)]", "f32"),
    ("Swizzle<3,3,3> o S[((8, 8), (64, 2)) : ((64, 1024), (1, 512))]", "bf16"),
    ("S[(32, 32) : (0, 1)]", "s8"),
    ("S[(7, 5) : (5, 1)]", "f16"),
    ("S[(64, 128) : (128, 1)]", "e2m1"),
    ("S[(1, 8) : (8, 1)]", "f16"),
]
OTHERS = [
    "S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]",
    "wgmma.D(f32, n=64)",
    "S[(2, 4, 8) : (1@gpuid_y, 8@m, 1@m)] + R[2 : 1@gpuid_x]",
    "S[(32, 4) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]",
    "S[(4, 4, 4) : (16, 4, 1)]",
    "S[4096 : 1]",
    "S[()]",
    "S[(2097152, 2097152) : (2097152, 1)]",
]


@cache
def shown(text: str, dtype: str | None):
    """The screen of a text."""
    return screen_of(parse(text), dtype)


# -- the corner ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "dtype"), TILES)
@pytest.mark.parametrize("base", [0, 16])
def test_colours_are_banks_four_by_four(text, dtype, base):
    layout, bits = parse(text), DType.of(dtype).bits
    corner = corner_of(layout, DType.of(dtype), base)
    for row, line in enumerate(corner.cells):
        for column, cell in enumerate(line):
            place = layout.place(row, column)["m"]
            assert cell.text == str(place)
            byte = base + place * bits // 8
            assert cell.colour == byte // 4 % 32 // 4


@pytest.mark.parametrize(("text", "dtype"), TILES)
def test_a_chunk_is_sixteen_bytes_that_lie_together(text, dtype):
    layout, element = parse(text), DType.of(dtype)
    each = 128 // element.bits
    grid = chunks_of(layout, element)
    if grid is None:
        return
    turned = "column" in grid.key
    for row, line in enumerate(grid.cells):
        for number, cell in enumerate(line):
            indices = [(row, number * each + i) for i in range(each)]
            places = [layout.place(*(index[::-1] if turned else index))["m"] for index in indices]
            assert places == [*range(places[0], places[0] + each)]
            assert places[0] * element.bits % 128 == 0
            assert cell.text == str(cell.colour) == str(places[0] * element.bits // 128 % 8)


def test_chunks_are_drawn_where_there_are_some():
    drawn = [text for text, dtype in TILES if chunks_of(parse(text), DType.of(dtype))]
    assert [text for text, _ in TILES if text not in drawn] == [
        "S[(128, 64) : (68, 1)]",
        "Swizzle<3,3,3> o S[((8, 8), (64, 2)) : ((64, 1024), (1, 512))]",
        "S[(7, 5) : (5, 1)]",
    ]


def test_another_layout_has_the_colours_of_show():
    assert corner_of(parse("S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]")).key.startswith("cells laneid:reg")


def test_a_corner_is_called_by_the_text_of_its_layout():
    assert corner_of(parse("(8,8):(1,8)")).title == "(8,8):(1,8)"


# -- registers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["wgmma.D(f32, n=64)", "mma.A(m16n8k16, f16)", OTHERS[2], OTHERS[3]])
def test_holders_hold_what_the_layout_says(text):
    layout = parse(text)
    holders = [*holders_of(layout)]
    assert holders
    for holder in holders:
        held = {layout.coordinates(layout.flat_index(*index)) for index in layout.who(**holder.owner)}
        assert len(held) == len(holder.elements) + holder.more
        assert set(holder.elements) <= held
        storage = [axis for axis in layout.axes if axis.kind == "storage"]
        steps = [[layout.places(*index)[0][axis] for axis in storage] for index in holder.elements]
        assert steps == sorted(steps)


def test_memory_has_no_holders():
    assert [*holders_of(S[(8, 8) : (8, 1)])] == []


@pytest.mark.parametrize(
    "call", ["wgmma.D(f32, n=64)", "mma.B(m16n8k16, dtype=f16)", "mma.D(m8n8k4, dtype=f64)"]
)
def test_a_fragment_is_known_by_what_it_maps(call):
    layout = parse(call)
    rewritten = layout.canonical().reshape(extents_of(layout.shape))
    assert call in known_as(layout)
    assert call in known_as(rewritten)


def test_what_is_no_fragment_is_not_called_one():
    assert known_as(parse("S[(16, 8) : (8@laneid, 1@reg)]")) == ()
    assert known_as(S[(16, 8) : (8, 1)]) == ()


# -- what it says ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "dtype"), TILES)
def test_accesses_cost_what_conflicts_says(text, dtype):
    layout = parse(text)
    for cost in shown(text, dtype).accesses:
        if cost.wavefronts is None:
            with pytest.raises(Refused, match=re.escape(cost.said)):
                conflicts(layout, cost.access, dtype=dtype)
            continue
        found = conflicts(layout, cost.access, dtype=dtype)
        assert (cost.wavefronts, cost.ideal, cost.ways) == (found.wavefronts, found.ideal, found.ways)
        assert (cost.said == "no conflicts") == (found.excess == 0)


def read_by(engine, layout, operand, dtype):
    """Return match's answer for an engine with descriptors, and elements without padding."""
    kind = {"kind": "mxf4"} if (engine, dtype) == ("tcgen05", "e2m1") else {}
    return match(layout, engine=engine, operand=operand, dtype=dtype, **kind)


@pytest.mark.parametrize(("text", "dtype"), TILES)
def test_engines_take_what_match_and_tma_say(text, dtype):
    layout = parse(text)
    for taken in shown(text, dtype).engines:
        name, _, operand = taken.engine.rpartition(" ")
        if taken.engine == "wgmma":
            with pytest.raises(Refused, match=re.escape(taken.said)):
                Input.of(dtype)
            continue
        if name in WITH_DESCRIPTORS:
            found = read_by(name, layout, operand, dtype)
            assert taken.descriptor == (found.value if found.legal else None)
        elif name.startswith("mma"):
            found = match(layout, engine="mma", operand=operand, dtype=dtype, shape=name.split()[1])
        elif taken.engine == "TMA" and taken.legal:
            turned = "column-major" in taken.said
            rows, columns = (extent * 64 for extent in extents_of(layout.shape))
            plan = plan_copy((rows, columns), layout, dtype=dtype, strides=(1, rows) if turned else None)
            assert taken.said.startswith(f"{plan.count} box")
            continue
        else:
            assert (taken.engine, taken.legal) == ("TMA", False)
            continue
        assert taken.legal == found.legal
        if isinstance(found, Mismatch):
            assert taken.said == found.reasons[0].message
            assert taken.near == (found.nearest[0] if found.nearest else None)


@pytest.mark.parametrize(("text", "dtype"), TILES)
def test_what_is_to_change_serves_what_it_says(text, dtype):
    screen = shown(text, dtype)
    for change in screen.changes:
        assert len(set(change.said)) == len(change.said)
        for served in change.serves:
            name, _, operand = served.rpartition(" ")
            if name in WITH_DESCRIPTORS:
                assert read_by(name, change.layout, operand, dtype).legal
            elif name.startswith("mma"):
                shape = name.split()[1]
                found = match(change.layout, engine="mma", operand=operand, dtype=dtype, shape=shape)
                assert found.legal
                assert not found.reasons
            else:
                assert served == "banks"
                asked = [cost for cost in screen.accesses if cost.access != "tma" and not cost.instead]
                now = sum(conflicts(change.layout, c.access, dtype=dtype).wavefronts for c in asked)
                assert any(f"{now} wavefronts for " in said for said in change.said)
                if all(cost.wavefronts for cost in asked):
                    assert now < sum(cost.wavefronts for cost in asked)


def test_a_good_tile_is_left_alone():
    screen = screen_of(Swizzle(3, 3, 3) @ S[(128, 64) : (64, 1)], "bf16", ["row:16B", "ldmatrix.x4"])
    assert screen.changes == ()
    assert screen.verdict == "no access has conflicts, and every engine takes the tile"


def test_conflicts_that_no_layout_avoids_are_called_that():
    screen = screen_of(Swizzle(3, 3, 3) @ S[(128, 64) : (64, 1)], "bf16", ["row:16B", "col:2B"])
    assert screen.changes == ()
    assert "no layout takes fewer" in screen.verdict


def test_what_a_list_alone_tells_is_counted_in_small_tiles():
    """No extent of these is a multiple of 32: no request is like another, and addresses are listed."""
    small, large = (screen_of(S[(rows, 997) : (10007, 1009)], "bf16") for rows in (101, 5791))
    counted = {cost.access: cost for cost in small.accesses}
    for access in ("row:2B", "col:2B"):
        found = conflicts(small.layout, access, dtype="bf16")
        assert not found.closed
        assert (counted[access].wavefronts, counted[access].ideal) == (found.wavefronts, found.ideal)
    left = {cost.access: cost for cost in large.accesses}
    assert left["row:16B"].said.endswith("no neighbours")
    assert left["col:2B"].wavefronts is None
    assert left["col:2B"].said.startswith("not counted here: 5774624 addresses")
    asked = screen_of(S[(5791, 97) : (10007, 1009)], "bf16", ["col:2B"])
    assert asked.accesses[0].wavefronts == conflicts(asked.layout, "col:2B", dtype="bf16").wavefronts


def test_the_swizzle_that_serves_engines_serves_banks():
    (change,) = screen_of(S[(128, 64) : (64, 1)], "bf16", ["row:16B", "ldmatrix.x4"]).changes
    assert str(change.layout) == "Swizzle<3,3,3> o S[(128, 64) : (64, 1)]"
    assert change.serves == ("wgmma A", "wgmma B", "tcgen05 A", "tcgen05 B", "banks")


@pytest.mark.parametrize("text", [text for text, _ in TILES[:2]] + OTHERS)
def test_without_a_type_nothing_is_asked_of_the_hardware(text):
    screen = screen_of(parse(text))
    assert (screen.accesses, screen.engines, screen.changes, screen.verdict) == ((), (), (), "")


# -- as lines --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "dtype"), [*TILES, *((text, None) for text in OTHERS)])
@pytest.mark.parametrize("width", [80, 100])
def test_it_fits_the_terminal(text, dtype, width):
    screen = shown(text, dtype)
    lines = as_text(page_of(screen, width)).splitlines()
    texts = [text for text in (str(screen.layout), screen.canonical, screen.cute) if text]
    assert [line for line in lines if len(line) > width and not any(text in line for text in texts)] == []
    assert len(lines) < (56 if width == 100 else 72)


@pytest.mark.parametrize(("text", "dtype"), [*TILES, *((text, None) for text in OTHERS)])
def test_it_is_plain_data(text, dtype):
    data = shown(text, dtype).as_dict()
    assert json.loads(json.dumps(data))["layout"] == str(parse(text))


@pytest.mark.parametrize("coloured", [True, False])
def test_colours_change_no_word(coloured):
    lines = page_of(screen_of(parse(TILES[0][0]), "bf16"))
    system = "truecolor" if coloured else None
    console = Console(file=io.StringIO(), force_terminal=coloured, color_system=system, width=200)
    print_lines(lines, console)
    printed = console.file.getvalue()
    assert ("\x1b[" in printed) == coloured
    bare = re.sub(r"\x1b\[[\d;]*m", "", printed)
    assert [line.rstrip() for line in bare.splitlines()] == as_text(lines).splitlines()


@pytest.mark.parametrize("system", ["standard", "windows", "256", "truecolor"])
def test_colours_differ_in_every_system(system):
    console = Console(file=io.StringIO(), force_terminal=True, color_system=system)
    print_lines([(Piece(str(number), f"c{number}"),) for number in range(8)], console)
    behind = re.findall(
        r"\x1b\[(?:3[0-7]|9[0-7]|38;[25];[\d;]+?);((?:4|10)[0-7]|48;[25];[\d;]+)m(\d)",
        console.file.getvalue(),
    )
    assert [number for _, number in behind] == [*"01234567"]
    assert len({colour for colour, _ in behind}) == 8


@pytest.mark.parametrize("system", ["standard", "windows", "256", "truecolor"])
def test_every_role_has_a_style(system):
    pages = [page_of(shown(text, dtype)) for text, dtype in TILES]
    roles = {piece.role for page in pages for line in page for piece in line}
    assert roles - {""} <= styles_in(system).keys()
    assert {"yes", "no", "c0", "c7"} <= roles
