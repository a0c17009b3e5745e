"""Panels in the terminal: each element stands in the cell that its places say, read off what is printed."""

from __future__ import annotations

import re
from itertools import product

import pytest
from tests.core.test_house import imported, modules

from tilewise.core.errors import LayoutError
from tilewise.core.shapes import coordinates
from tilewise.hardware.calls import parse
from tilewise.pictures.grid import grid_lines
from tilewise.pictures.leaf import lines_of
from tilewise.pictures.scene.build import document_of, scene_of
from tilewise.pictures.scene.cells import Elements
from tilewise.pictures.scene.compare import compared
from tilewise.pictures.scene.model import COLUMN, ROW, Panel, Scene, value
from tilewise.pictures.sheet import Room, Sheet, sheet_of
from tilewise.pictures.terminal import as_text, beside

TILE = "Swizzle<3,3,3> o S[(16, 64) : (64, 1)]"
LAYOUTS = {
    TILE: "bf16",
    "S[(16, 40) : (44, 1)]": "f32",
    "Swizzle<2,1,3> o S[(8, 16) : (16, 1)]": "f64",
    "S[(8, 8) : (9, 1)] + 3": "b128",
    "S[(6, 5) : (-5, 1)]": None,
    "S[(4, 4) : (2, 1)]": "bf16",
    "S[64 : 3]": "u8",
    "S[(8, 6) : (6, 1)]": "u8",
    "wgmma.D(f32, n=16)": None,
    "S[(2, 4, 8) : (1@gpuid_y, 8@m, 1@m)] + R[2 : 1@gpuid_x]": None,
    "S[(32, 16) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]": "u8",
    "S[(4, 32, 2) : (1@wid_in_wg, 1@laneid, 2@reg)]": None,
    "S[(3, 4) : (1@warpid, 1@blockid)]": None,
    "S[()]": None,
}
WIDE = Room(1 << 20, 1 << 20)

Spot = tuple[int, int, int]
"""Block, row, and column of a small cell."""


def naive(scene: Scene, panel: Panel, copies: int | None = None) -> dict[Spot, list[int]]:
    """{where: elements}, by the definition of a panel, element by element and copy by copy."""
    (top, _), (left, right) = scene.window
    covers = panel.width if panel.slots == 1 else 1
    found: dict[Spot, list[int]] = {}
    entries = len(next(iter(scene.places.values())))
    for entry in range(entries):
        element, copy = divmod(entry, scene.copies)
        if copies is not None and copy >= copies:
            continue
        place = {axis: values[entry] for axis, values in scene.places.items()}
        place |= {ROW: top + element // (right - left), COLUMN: left + element % (right - left)}
        block = value(panel.block_row, place) * panel.blocks[1] + value(panel.block_column, place)
        column = value(panel.column, place)
        for reached in range(min(covers, panel.cells[1] - column)):
            small = (column + reached) * panel.slots + value(panel.slot, place)
            own = found.setdefault((block, value(panel.row, place), small), [])
            own.extend([element] if element not in own else [])
    return found


def said(scene: Scene, panel: Panel, element: int) -> str:
    if panel.text == "index":
        return ",".join(map(str, coordinates(element, scene.shape))) or "0"
    owners = sorted(scene.axes, key=lambda axis: axis.kind == "storage")
    at = range(element * scene.copies, (element + 1) * scene.copies)
    texts = ["|".join(map(str, dict.fromkeys(scene.places[axis.name][i] for i in at))) for axis in owners]
    return ":".join(texts)


def elements_in_a_cell(sheet: Sheet) -> int:
    shared = re.search(r", (\d+) elements each", sheet.key)
    return int(shared[1]) if shared else 1


PANELS = [
    pytest.param(text, dtype, number, id=f"{number} of {text}")
    for text, dtype in LAYOUTS.items()
    for number in range(len(scene_of(parse(text), dtype=dtype).panels))
]


@pytest.mark.parametrize(("text", "dtype", "number"), PANELS)
@pytest.mark.parametrize("width", [1 << 20, 90, 40])
def test_every_element_stands_where_its_places_say(text: str, dtype: str | None, number: int, width: int):
    scene = scene_of(parse(text), dtype=dtype)
    panel = scene.panels[number]
    there = naive(scene, panel)
    sheet = sheet_of(panel, Elements(scene), Room(width, 1 << 20))
    share = elements_in_a_cell(sheet) * (panel.width if panel.slots == 1 else 1)
    share = 1 if len(sheet.blocks[0].column_labels) * share > panel.cells[1] * panel.slots else share
    cut = re.search(r"columns? (\d+)", sheet.note)
    assert cut is None or int(cut[1]) == 0
    for block, grid in enumerate(sheet.blocks):
        assert len(grid.cells) == panel.cells[0]
        for (row, line), at in product(enumerate(grid.cells), range(len(grid.column_labels))):
            small = [there.get((block, row, at * share + i), []) for i in range(share)]
            first = small[0]
            expected = (
                "" if not first else said(scene, panel, first[0]) + "+" * any(len(e) > 1 for e in small)
            )
            assert line[at].text == expected
            flats = [own[0] for own in small if own]
            assert len(flats) in (0, share)
            if flats:  # what one cell says is true of all that share it
                covers = panel.width if panel.slots == 1 and share >= panel.width else 1
                assert flats == [flats[0] + i // covers for i in range(share)]
                assert len({flat // (scene.shape or (1,))[-1] for flat in flats}) == 1
    if not sheet.note:
        shown = len(sheet.blocks) * len(sheet.blocks[0].cells) * len(sheet.blocks[0].column_labels) * share
        size = panel.blocks[0] * panel.blocks[1] * panel.cells[0] * panel.cells[1] * panel.slots
        assert shown == size


@pytest.mark.parametrize("text", [*LAYOUTS])
@pytest.mark.parametrize(("width", "height"), [(40, 8), (80, 16), (120, 40)])
def test_nothing_is_wider_than_the_room_and_what_is_left_out_is_said(text: str, width: int, height: int):
    document = document_of(parse(text), dtype=LAYOUTS[text])
    for ruled in (False, True):
        page = as_text(lines_of(document, Room(width, height), ruled=ruled))
        _expression, *drawn = page.splitlines()
        assert max(map(len, drawn)) <= width
        assert page.isascii()
    for panel in document.scenes[0].panels:
        sheet = sheet_of(panel, Elements(document.scenes[0]), Room(width, height))
        blocks, rows, columns = (
            len(sheet.blocks),
            len(sheet.blocks[0].cells),
            len(sheet.blocks[0].column_labels),
        )
        assert rows <= height
        for name, some, all_of_them in (
            ("row", rows, panel.cells[0]),
            ("block", blocks, panel.blocks[0] * panel.blocks[1]),
        ):
            assert (some < all_of_them) == bool(re.search(rf"\b{name}s? \d", sheet.note))
        assert columns > 0


def test_heads_are_those_of_the_panel():
    scene = scene_of(parse(TILE), dtype="bf16")
    (grid,) = sheet_of(scene.panels[1], Elements(scene), Room(80, 40)).blocks
    assert grid.column_labels == tuple(str(bank) for bank in range(0, 32, 4))
    assert grid.row_labels == tuple(str(byte) for byte in range(0, 2048, 128))
    blocks = sheet_of(scene_of(parse("wgmma.D(f32, n=16)")).panels[1], _elements("wgmma.D(f32, n=16)"), WIDE)
    assert [grid.title for grid in blocks.blocks] == [f"wid_in_wg {warp}" for warp in range(4)]


def _elements(text: str):
    return Elements(scene_of(parse(text)))


ACCESSES = {
    "col:2B": (TILE, "bf16"),
    "row:16B": (TILE, "bf16"),
    "col:16B": ("S[(8, 8) : (8, 1)]", "b128"),
    "ldmatrix.x4": (TILE, "bf16"),
    "descriptor.A": ("Swizzle<3,3,3> o S[(64, 64) : (64, 1)]", "bf16"),
    "boxes": (TILE, "bf16"),
}


@pytest.mark.parametrize("access", [*ACCESSES])
@pytest.mark.parametrize("width", [1 << 20, 100])
def test_a_step_marks_its_elements_and_no_others(access: str, width: int):
    text, dtype = ACCESSES[access]
    scene = scene_of(parse(text), dtype=dtype, access=access)
    for step in scene.steps[:: max(1, len(scene.steps) // 5)]:
        lanes = dict(zip(step.elements, step.lanes, strict=False))
        for panel in scene.panels:
            there = naive(scene, panel)
            sheet = sheet_of(panel, Elements(scene, step), Room(width, 1 << 20))
            (grid,) = sheet.blocks
            share = panel.cells[1] * panel.slots // len(grid.column_labels)
            if "column" in sheet.note:
                continue
            for (row, line), at in product(enumerate(grid.cells), range(len(grid.column_labels))):
                own = {e for i in range(share) for e in there.get((0, row, at * share + i), [])}
                lit = sorted(own & set(step.elements))
                cell = line[at]
                if not lit:
                    assert (cell.text, cell.colour) == ((".", 8) if own else ("", 9))
                elif lanes:
                    assert {cell.text} == {f"L{lanes[element]}" for element in lit}
                else:
                    assert cell.text == said(scene, panel, lit[0])
                    assert cell.colour < 8


def test_what_moves_is_in_sight():
    scene = scene_of(parse("S[(128, 64) : (64, 1)]"), dtype="bf16", access="col:2B")
    step = scene.steps[100]
    sheet = sheet_of(scene.panels[1], Elements(scene, step), Room(100, 10))
    assert [cell.text for row in sheet.blocks[0].cells for cell in row if cell.text != "."] == [
        f"L{lane}" for lane in step.lanes
    ]
    assert sheet.note.startswith(f"rows {step.elements[0] // 64}..")


def test_copies_come_one_after_the_other():
    text = "S[(2, 4, 8) : (1@gpuid_y, 8@m, 1@m)] + R[2 : 1@gpuid_x]"
    scene = scene_of(parse(text))
    mesh = scene.panels[1]
    for step in scene.steps:
        sheet = sheet_of(mesh, Elements(scene, step), WIDE)
        held = {
            (block, row, column)
            for block, grid in enumerate(sheet.blocks)
            for row, line in enumerate(grid.cells)
            for column, cell in enumerate(line)
            if cell.text
        }
        assert held == set(naive(scene, mesh, step.copies))


def test_the_word_of_a_step_is_told_field_by_field():
    document = document_of(parse(ACCESSES["descriptor.A"][0]), dtype="bf16", access="descriptor.A")
    page = as_text(lines_of(document, Room(100, 8), step=1))
    word = document.scenes[0].steps[1].encoded
    assert f"{word.name} {word.value}" in page
    for field in word.fields:
        assert re.search(rf"^ +{field.high}-{field.low} +{field.name} +{field.held}  ", page, re.MULTILINE)
    assert "0x" not in as_text(lines_of(document, Room(100, 8)))


def test_two_layouts_side_by_side_where_there_is_room():
    layouts = parse("S[(8, 8) : (8, 1)]"), parse("Swizzle<3,0,3> o S[(8, 8) : (8, 1)]")
    document = compared(*layouts, dtype="b128", access="col:16B")
    wide, narrow = (as_text(lines_of(document, Room(width, 40), step=2)) for width in (100, 60))
    assert document.words in wide
    for title in (panel.title for panel in document.scenes[0].panels):
        assert re.search(f"^{title} +{title}$", wide, re.MULTILINE)
    assert narrow.count("\nindex\n") == 2


def test_a_step_that_is_none_is_refused():
    with pytest.raises(LayoutError, match="there is no step 64"):
        [*lines_of(document_of(parse("S[(8, 8)]"), dtype="b128", access="col:16B"), WIDE, step=64)]


@pytest.mark.parametrize("ruled", [False, True])
def test_cells_are_printed_below_their_labels(ruled: bool):
    scene = scene_of(parse("S[(3, 4) : (5, 1)]"))
    (grid,) = sheet_of(scene.panels[1], Elements(scene), WIDE).blocks
    head, *lines = as_text(grid_lines(grid, ruled=ruled)).splitlines()
    ends = [found.end() for found in re.finditer(r"\d+", head)]
    for line, row in zip(lines[ruled:], grid.cells, strict=True):
        for end, cell in zip(ends, row, strict=True):
            assert line[:end].endswith(cell.text) or not cell.text
            assert cell.text or line[end - 3 : end].strip() == ""


def test_parts_are_beside_each_other_line_by_line():
    from tilewise.pictures.terminal import Piece

    parts = [[(Piece("one"),), (Piece("two"),)], [], [(Piece("three"),)]]
    assert as_text(beside(parts, 80)) == "one        three\ntwo"


OUTSIDE = [
    (name, path) for name, path in modules() if re.match(r"tilewise\.pictures\.(?!paper|kernel)", name)
]


@pytest.mark.parametrize(("module", "path"), OUTSIDE, ids=[name for name, _ in OUTSIDE])
def test_what_is_no_paper_needs_none(module, path):
    """The terminal and paper share the rooms `view` and `scene`; a kernel's page is paper."""
    needed = [name for _, name in imported(path.read_text(encoding="utf-8"), module)]
    assert not [name for name in needed if name.startswith("tilewise.pictures.paper")]
    if ".view." in module or ".scene." in module:
        shown = {name.split(".")[2] for name in needed if name.startswith("tilewise.pictures.")}
        assert shown <= {"scene", "view"} - ({"view"} if ".scene." in module else set())
