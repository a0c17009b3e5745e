"""Scenes of generated layouts: every place, every cell and every word is held to the definition."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any, TypeVar

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.pictures.documents import document_from

from tilewise import Axis, Layout, LayoutError, O, R, S, Swizzle, gpuid_x, laneid, parse, reg, warpid
from tilewise.check.banks import conflicts
from tilewise.core.dtypes import DTYPES
from tilewise.core.shapes import extents_of
from tilewise.pictures.grid import grid_of
from tilewise.pictures.scene.build import document_of, scene_of
from tilewise.pictures.scene.cells import Elements, located
from tilewise.pictures.scene.compare import compared
from tilewise.pictures.scene.model import COLUMN, ROW, Panel, Scene, value
from tilewise.testing import naive_places
from tilewise.testing.strategies import layouts

T = TypeVar("T")
Place = dict[str, int]
dtypes = st.sampled_from([None, *DTYPES])
drawn_layouts = layouts(max_size=64).filter(lambda layout: layout.copies <= 16)


def entries_of(scene: Scene) -> list[Place]:
    """The place of every copy of every element, its position in the grid with it."""
    (top, _), (left, right) = scene.window
    columns = list(scene.places.items())
    return [
        {axis: places[at] for axis, places in columns}
        | {
            ROW: top + at // scene.copies // (right - left),
            COLUMN: left + at // scene.copies % (right - left),
        }
        for at in range(len(columns[0][1]))
    ]


def cell_of(panel: Panel, place: Place) -> tuple[int, ...]:
    rules = panel.block_row, panel.block_column, panel.row, panel.column, panel.slot
    return tuple(value(rule, place) for rule in rules)


def naive(layout: Layout, flat: int, names: list[str] | None = None) -> list[tuple[int, ...]]:
    names = [axis.name for axis in layout.axes] if names is None else names
    return sorted(tuple(dict(place).get(name, 0) for name in names) for place in naive_places(layout, flat))


def _or_error(ask: Callable[[], T]) -> T | LayoutError:
    try:
        return ask()
    except LayoutError as error:
        return error


# -- places ----------------------------------------------------------------------------------------


@given(drawn_layouts, dtypes)
def test_places_are_those_of_the_definition(layout: Layout, dtype: str | None):
    scene = scene_of(layout, dtype=dtype)
    found = [tuple(place[axis.name] for axis in layout.axes) for place in entries_of(scene)]
    wanted = [place for flat in range(layout.size) for place in naive(layout, flat)]
    assert found == wanted
    assert [axis.name for axis in scene.axes] == [axis.name for axis in layout.axes]
    for axis in scene.axes:
        assert (axis.low, axis.high) == (min(scene.places[axis.name]), max(scene.places[axis.name]))


@given(drawn_layouts, st.data())
def test_a_window_has_its_part(layout: Layout, data: st.DataObject):
    whole = scene_of(layout)
    rows, columns = prod(whole.rows), prod(whole.columns)
    left = data.draw(st.integers(0, columns - 1))
    right = data.draw(st.integers(left + 1, columns))
    top = data.draw(st.integers(0, rows - 1))
    bottom = data.draw(st.integers(top + 1, rows))
    flats = [row * columns + column for row in range(top, bottom) for column in range(left, right)]
    inside = [flat for flat in flats if flat < layout.size]
    if not inside:
        with pytest.raises(LayoutError, match="no elements"):
            scene_of(layout, window=((top, bottom), (left, right)))
        return
    scene = scene_of(layout, window=((top, bottom), (left, right)))
    assert Elements(scene).flats.tolist() == inside
    found = [tuple(place[axis.name] for axis in layout.axes) for place in entries_of(scene)]
    assert found == [place for flat in inside for place in naive(layout, flat)]


# -- panels ----------------------------------------------------------------------------------------


@given(drawn_layouts, dtypes, st.integers(0, 40))
def test_cells_are_places(layout: Layout, dtype: str | None, base: int):
    """An entry is in one cell of a panel, and two are in one slot of it exactly where their places agree."""
    scene = scene_of(layout, dtype=dtype, base=4 * base)
    entries = entries_of(scene)
    everywhere, drawn = Elements(scene), set[str]()
    for panel in scene.panels:
        rules = panel.block_row, panel.block_column, panel.row, panel.column, panel.slot
        axes = sorted({term.axis for rule in rules for term in rule})
        cells = [cell_of(panel, place) for place in entries]
        on_axes = [tuple(place[axis] for axis in axes) for place in entries]
        assert len(set(zip(cells, on_axes, strict=True))) == len(set(cells)) == len(set(on_axes))
        ends = (*panel.blocks, *panel.cells, panel.slots)
        assert all(0 <= number < end for cell in cells for number, end in zip(cell, ends, strict=True))
        drawn |= set(axes)
        found = located(everywhere, panel)
        numbers = (found.block_row, found.block_column, found.row, found.column, found.slot)
        assert list(zip(*(array.tolist() for array in numbers), strict=True)) == cells
    if not any("is not drawn" in note.text for note in scene.notes):
        assert drawn == {ROW, COLUMN, *(axis.name for axis in scene.axes)}


@given(drawn_layouts, dtypes, st.integers(0, 40))
def test_heads_say_what_is_there(layout: Layout, dtype: str | None, base: int):
    scene = scene_of(layout, dtype=dtype, base=4 * base)
    names = {axis.name for axis in scene.axes}
    for panel in scene.panels:
        for place in entries_of(scene):
            block_row, block_column, row, column, slot = cell_of(panel, place)
            told = [
                (head.name, head(at))
                for heads, at in (
                    (panel.block_row_heads, block_row),
                    (panel.block_column_heads, block_column),
                    (panel.row_heads, row),
                    (panel.column_heads, column),
                )
                for head in heads
            ]
            said = dict(told)
            if panel.kind == "index":
                assert [number for _, number in told] == coordinates(scene, place)
            elif "byte" in said:
                assert scene.bits is not None
                (axis,) = {term.axis for term in panel.row}
                bits = place[axis] * scene.bits + 32 * base
                room = min(scene.bits, 32)
                assert bits == 8 * said["byte"] + 32 * said["bank"] + room * slot
            elif "+" in said:
                (name,) = said.keys() & names & {term.axis for term in panel.row}
                assert said.pop(name) + said.pop("+") == place[name]
                assert all(place[name] == number for name, number in said.items())
            elif "column" in said:
                assert scene.bits is not None
                assert place["TCol"] * scene.bits == 32 * said.pop("column") + min(scene.bits, 32) * slot
                assert all(place[name] == number for name, number in said.items())
            else:
                assert all(place[name] == number for name, number in said.items())


def coordinates(scene: Scene, place: Place) -> list[int]:
    found = []
    for extents, at in ((scene.rows, place[ROW]), (scene.columns, place[COLUMN])):
        own: list[int] = []
        for extent in reversed(extents):
            own.insert(0, at % extent)
            at //= extent
        found += own
    return found


KINDS = {
    "S[(4, 2, 2, 4) : (16, 4, 8, 1)]": ["index 8x8", "memory 8x8"],
    "S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]": ["index 8x8", "registers 32x2"],
    "S[(2, 4, 2, 4) : (1@gpuid_y, 4@m, 1@gpuid_x, 1@m)]": ["index 8x8", "mesh 4x4"],
    "S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)]": ["index 128x4", "tensor memory 128x16"],
    "S[(4, 5) : (1@x, 1@y)]": ["index 4x5", "places 4x5"],
    "S[(4, 2, 8, 3) : (1@wid_in_wg, 1@x, 1@laneid, 1@reg)]": ["index 8x24", "registers 8x3"],
    "S[(4, 4) : (1@laneid, 1@m)]": ["index 4x4", "registers 4x4"],
}


@pytest.mark.parametrize("text", KINDS)
def test_panels_are_chosen_by_the_axes(text: str):
    panels = scene_of(parse(text)).panels
    assert [f"{panel.kind} {panel.cells[0]}x{panel.cells[1]}" for panel in panels] == KINDS[text]


@given(drawn_layouts.filter(lambda layout: layout.copies <= 4))  # the terminal draws no more of them
def test_colours_are_those_of_the_terminal(layout: Layout):
    scene, grid = scene_of(layout), grid_of(layout, window=((None, None), (None, None)))
    shown = [cell.colour for line in grid.cells for cell in line]
    if len(shown) == layout.size:
        assert Elements(scene).colours.tolist() == shown


# -- steps and notes -------------------------------------------------------------------------------

TILES = (
    S[(8, 8) : (8, 1)],
    S[(16, 16) : (16, 1)],
    S[(40, 8) : (8, 1)],
    S[(16, 16) : (20, 1)],
    Swizzle(3, 3, 3) @ S[(16, 64) : (64, 1)],
    Swizzle(2, 0, 2) @ S[(8, 8) : (8, 1)],
)
ACCESSES = (
    "row",
    "row:4B",
    "row@st",
    "col",
    "col:4B",
    "ldmatrix.x1",
    "stmatrix.x4",
    "tma",
    "row:16B@cp.async",
)


@pytest.mark.parametrize("access", ACCESSES)
@pytest.mark.parametrize("dtype", ["u8", "bf16", "f32", "b128"])
@pytest.mark.parametrize("tile", TILES, ids=str)
def test_steps_are_wavefronts(tile: Layout, dtype: str, access: str):
    found = _or_error(lambda: conflicts(tile, access, dtype=dtype))
    if isinstance(found, LayoutError):
        with pytest.raises(LayoutError) as error:
            scene_of(tile, dtype=dtype, access=access)
        assert error.value.message == found.message
        return
    scene = scene_of(tile, dtype=dtype, access=access)
    assert scene.access == found.access.name
    assert len(scene.steps) == min(found.wavefronts, 128)
    assert str(found) in [note.text for note in scene.notes]
    asked: dict[tuple[int, int], int] = defaultdict(int)
    bits = DTYPES[dtype].bits
    for step in scene.steps:
        assert 1 <= step.cost <= found.ways
        for element, lane in zip(step.elements, step.lanes, strict=True):
            asked[element, lane] += 1
        words = {scene.places["m"][element] * bits // 32 for element in step.elements if bits <= 32}
        assert len({word % 32 for word in words}) == len(words)
    if len(scene.steps) == found.wavefronts:
        index, held = found.access.index, found.access
        wanted: dict[tuple[int, int], int] = defaultdict(int)
        for at in range(index.size):
            element = index.points(at)[0][0]
            if element < tile.size:
                wanted[element, at // held.elements % held.lanes] += 1
        assert asked == wanted


def test_copies_are_steps():
    scene = scene_of(S[(4, 2) : (1 @ laneid, 1 @ reg)] + R[3 : 4 @ laneid])
    assert [(step.copies, step.elements) for step in scene.steps] == [(1, ()), (3, ())]
    assert scene_of(S[(4, 2)]).steps == ()


@given(drawn_layouts)
def test_facts_are_those_of_the_layout(layout: Layout):
    assume(layout.unit == "element")
    words = " / ".join(note.text for note in scene_of(layout).notes)
    assert (f"every element has {layout.copies} copies" in words) is (layout.copies > 1)
    if layout.injective.answer is not None:
        assert ("/ one to one" in words) is layout.injective.answer
    holes = layout.holes
    if holes.count is not None and layout.injective.answer is True:
        assert ("without holes" in words) is (holes.count == 0)
        assert holes.count == 0 or f"; {holes.count} place" in words
    for axis in layout.axes:
        assert f"{axis} = {layout.min(axis)}..{layout.max(axis)}" in words


def test_an_axis_that_is_left_behind_is_a_hint():
    hints = [note.text for note in scene_of(S[64 : 1 @ laneid]).notes if note.kind == "hint"]
    assert hints == ["laneid reaches 63: a wave of CDNA has lanes 0 to 63, and a warp 0 to 31"]
    hints = [note.text for note in scene_of(S[65 : 1 @ laneid]).notes if note.kind == "hint"]
    assert hints == ["laneid reaches 64, and goes from 0 to 31: lane of the warp (64 on CDNA)"]


# -- comparison ------------------------------------------------------------------------------------

PERMUTED = "modes in the order"


@settings(max_examples=40)
@given(drawn_layouts, st.data())
def test_words_between_a_layout_and_another_of_its_size(first: Layout, data: st.DataObject):
    permuted = first.permute(*data.draw(st.permutations(range(len(first.shape))))) if first.shape else first
    fewer = Layout(first.shape, first.strides, (), first.offset, first.swizzles, first.outer, first.unit)
    moved = first + data.draw(st.integers(1, 5)) if not first.swizzles else first
    strides = tuple(data.draw(st.permutations(first.strides)))
    other = Layout(first.shape, strides, first.replica, first.offset, first.swizzles, first.outer, first.unit)
    for second in (first, permuted, fewer, moved, other):
        _expect_words(first, second)


@settings(max_examples=15)
@given(drawn_layouts.filter(lambda layout: extents_of(layout.shape) != extents_of(layout.shape)[::-1]))
def test_words_of_another_shape_count_each_in_its_own_order(layout: Layout):
    turned = layout.permute(*reversed(range(len(layout.shape))))
    for first, second in product(("row", "cute"), repeat=2):
        _expect_words(layout.ordered(first), turned.ordered(second))


@pytest.mark.parametrize(
    ("first", "second", "between"),
    [
        ("S[(4, 4) : (1@gpuid_x, 1@m)]", "S[16 : 1@reg]", "between devices"),
        ("S[(4, 4) : (1@bx, 1@m)]", "S[16 : 1@reg]", "between CTAs"),
        ("S[8 : 1@laneid] + 0@m", "S[8 : 2@laneid] + 0@reg", "between lanes"),
        ("S[8 : 1@m]", "S[8 : 1@reg]", "lives in m, the second in reg"),
    ],
)
def test_words_name_the_class_of_the_relation(first: str, second: str, between: str):
    assert between in compared(parse(first), parse(second)).words


def _expect_words(first: Layout, second: Layout) -> None:
    assume(first.unit == second.unit == "element")
    words = compared(first, second).words
    if first.size != second.size:
        assert words == f"They have {first.size} and {second.size} elements, and are not of one tensor."
        return
    names = list(dict.fromkeys(axis.name for axis in (*first.axes, *second.axes)))
    here, there = ([set(naive(a, flat, names)) for flat in range(a.size)] for a in (first, second))
    staying = sum(new <= old for old, new in zip(here, there, strict=True))
    if here == there:
        assert words.startswith("The same map")
    elif staying == first.size:
        assert words.startswith("Nothing moves")
    elif " along " in words:
        many = first.size - staying
        start = f"{many} of {first.size} elements" if staying else "All" if many > 1 else "The element"
        assert words.startswith(start)
        relation = first.relation(second)
        if relation.kind is not None and not relation.via:
            assert all(f"{n} along {axis}" in words for axis, n in relation.moves.items() if n is not None)
    elif words.startswith("Every element moves by"):
        assert first.relation(second).kind in ("shift", "view", "relabel")
    else:
        assert words.startswith("A view, with")
    if PERMUTED in words:
        order = [int(digit) for digit in words.partition("order (")[2].partition(")")[0].split(",")]
        assert first.permute(*order).same(second)


PAIRS = {
    ("S[(4, 8)]", "S[(4, 8)]"): "The same map: nothing moves.",
    ("S[(4, 8)]", "S[32]"): "The same map in another shape: nothing moves.",
    ("S[(4, 8)]", "S[(8, 4) : (1, 8)]"): "A view, with the modes in the order (1, 0): nothing moves.",
    ("S[(3, 3)]", "S[(3, 3) : (1, 3)]"): (
        "6 of 9 elements move in memory: 6 along m; 3 stay where they are. "
        "Read with the modes in the order (1, 0), the second is the first."
    ),
    ("S[8] + R[2 : 8]", "S[8]"): "Nothing moves: of 2 copies of every element 1 is kept.",
    ("S[8]", "S[8] + 3"): "Every element moves by 3@m.",
    ("S[(2, 2)]", "S[(2, 2) : (2@laneid, 1@laneid)]"): (
        "3 of 4 elements move between lanes: 3 along m, 3 along laneid; 1 stays where it is."
    ),
    ("S[(8, 4) : (4@laneid, 1@laneid)]", "S[(8, 4) : (4@tx, 1@tx)]"): (
        "The same map, with threads counted in another way: nothing moves."
    ),
    ("S[256 : 1@tx]", "S[(2, 4, 32) : (1@wgid, 1@wid_in_wg, 1@laneid)]"): (
        "The same map in another shape, with threads counted in another way: nothing moves."
    ),
    ("S[8 : 8@tid_in_wg]", "S[8 : 8@tx]"): (
        "The same map, with threads counted in another way: nothing moves."
    ),
    ("S[64 : 1@tx]", "S[(32, 2) : (1@laneid, 1@warpid)]"): (
        "62 of 64 elements move between warps: 32 along wid_in_wg, 62 along laneid; 2 stay where they are."
    ),
    ("S[(8, 4)]", "S[(8, 4) : (4@laneid, 1@reg)]"): (
        "The first lives in m, the second in reg: every element is copied."
    ),
    ("S[4 : 1@reg]", "S[4 : 1] + R[2 : 4]"): (
        "The first lives in reg, the second in m: every element is copied. "
        "Every element has 2 places instead of 1."
    ),
    ("S[(2, 4) : (1@gpuid_x, 1@reg)]", "S[(2, 4) : (-1@gpuid_x, 1@m)] + 1@gpuid_x"): (
        "All 8 elements move between devices: 8 along gpuid_x, 6 along reg, 6 along m."
    ),
    ("S[64 : 1@laneid]", "S[64 : 1@tx]"): (
        "63 of 64 elements move between warps: 63 along laneid, 63 along tx; 1 stays where it is."
    ),
    ("S[4]", "S[4] + R[2 : 1@gpuid_x]"): (
        "All 4 elements move between devices: 4 along gpuid_x. Every element has 2 places instead of 1."
    ),
}


@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
def test_words_between_two(pair: tuple[str, str]):
    assert compared(*map(parse, pair)).words == PAIRS[pair]


# -- sizes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "options", "words"),
    [
        (S[(2048, 1024)], {}, "2097152 places"),
        (S[1024] + R[2048:1024], {}, "2097152 places"),
        (S[4 : 1 << 43], {}, "too far away"),
        (S[(1 << 40, 1 << 40)], {"window": ((0, 1), (0, 1))}, "too large to draw"),
        (S[8], {"window": ((0, 1), (0, 1), (0, 1))}, "3 ranges"),
        (S[8], {"window": ((0, 1, 2),)}, "two numbers"),
        (S[8], {"window": ((0, 2),)}, "not within 0:1"),
        (S[8], {"base": -1}, "a base of -1"),
        (S[8], {"base": True}, "a base must be an integer"),
        (S[(2048, 1024)], {"window": ((0, 8), (0, 8)), "dtype": "u8", "access": "row"}, "an access of"),
        (S[8], {"access": "row"}, "the type of an element"),
        (S[8], {"dtype": "bf17"}, "unknown dtype"),
    ],
    ids=str,
)
def test_what_is_too_much_is_said(layout: Layout, options: dict[str, Any], words: str):
    with pytest.raises(LayoutError, match=words):
        scene_of(layout, **options)


def test_many_elements_are_drawn():
    scene = scene_of(S[(1024, 1024)], dtype="f32")
    assert [panel.cells for panel in scene.panels] == [(1024, 1024), (32768, 32)]


def test_a_panel_of_too_many_cells_is_left_out_and_said():
    scene = scene_of(S[4 : 1 << 30])
    assert [panel.kind for panel in scene.panels] == ["index"]
    assert any("memory is not drawn" in note.text for note in scene.notes)


# -- as plain data ---------------------------------------------------------------------------------


@settings(max_examples=40)
@given(drawn_layouts, dtypes)
def test_a_document_comes_back(layout: Layout, dtype: str | None):
    document = document_of(layout, dtype=dtype, words="Some words.")
    assert document_from(json.loads(json.dumps(document.as_dict()))) == document


def test_documents_of_all_kinds_come_back():
    own = Axis("own", storage=True)
    for document in (
        compared(S[(4, 8)], S[(8, 4) : (1, 8)], dtype="f64"),
        document_of(Swizzle(3, 3, 3) @ S[(16, 64)], dtype="bf16", access="ldmatrix.x4", base=1024),
        document_of(O[1 @ own] @ Swizzle(1, 0, 1, axis=own) @ S[4 : 1 @ own]),
        document_of(S[(2, 2, 2) : (1 @ gpuid_x, 1 @ warpid, 1 @ reg)], window=((0, 1), None)),
    ):
        assert document_from(json.loads(json.dumps(document.as_dict()))) == document
