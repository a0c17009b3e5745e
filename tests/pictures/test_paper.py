"""Pictures: every cell against a loop over the scene's rules, as SVG and as pixels; and what they refuse."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

from tilewise import LayoutError, R, S, Swizzle, parse
from tilewise.core.shapes import coordinates
from tilewise.hardware.catalog.instances import instances_of
from tilewise.hardware.catalog.registry import entries
from tilewise.pictures.paper.compose import MOST_CELLS, drawing_of
from tilewise.pictures.paper.drawing import Text
from tilewise.pictures.paper.encoded import encoded_part
from tilewise.pictures.paper.png import SCALE, png_of, written
from tilewise.pictures.paper.svg import DARK, LIGHT, PALETTES, escaped, svg_of
from tilewise.pictures.scene.build import document_of, scene_of
from tilewise.pictures.scene.compare import compared
from tilewise.pictures.scene.model import COLUMN, ROW, Document, Encoded, Field, Panel, Scene, Step, value
from tilewise.testing.strategies import layouts

SVG = "{http://www.w3.org/2000/svg}"
TILE = "Swizzle<3,3,3> o S[(128, 64) : (64, 1)]"
CASES = {
    "tiles": ("S[(4, 2, 2, 4) : (16, 4, 8, 1)]", {"shape": (8, 8)}),
    "lanes": ("S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]", {}),
    "mesh": ("S[(2, 4, 8) : (1@gpuid_y, 8@m, 1@m)] + R[2 : 1@gpuid_x]", {}),
    "tensor memory": ("S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane]", {"shape": (128, 4)}),
    "half words": ("Swizzle<1,3,3> o S[(8, 16) : (16, 1)]", {"dtype": "bf16"}),
    "two banks": ("Swizzle<3,1,3> o S[(8, 16) : (16, 1)]", {"dtype": "f64"}),
    "four banks": ("S[(8, 8) : (8, 1)]", {"dtype": "b128", "access": "col:16B"}),
    "shared": ("S[(4, 8) : (0, 1)]", {}),
    "holes": ("S[(4, 5) : (8, 1)] + 3", {}),
    "window": ("S[(64, 64) : (64, 1)]", {"window": ((3, 7), (60, 64))}),
    "line": ("S[21 : 2]", {}),
    "warps": ("wgmma.D(f32, n=8)", {}),
}


def drawn(name: str) -> tuple[Scene, str]:
    text, options = CASES[name]
    document = document_of(parse(text), **options)
    return document.scenes[0], svg_of(drawing_of(document), "light")


# -- an own reading of the picture -----------------------------------------------------------------


def boxes_of(svg: str) -> list[tuple[str, int, int, int, int]]:
    """(class, x, y, width, height) of every box, in the order in which they are painted."""
    found = []
    for path in ElementTree.fromstring(svg).iter(f"{SVG}path"):
        for parts in re.findall(r"M(\d+) (\d+)h(\d+)v(\d+)h-(\d+)z", path.attrib["d"]):
            x, y, width, height, back = map(int, parts)
            assert width == back
            found.append((path.attrib["class"], x, y, width, height))
        assert re.fullmatch(r"(M\d+ \d+h\d+v\d+h-\d+z)+", path.attrib["d"])
    return found


def texts_of(svg: str) -> list[tuple[float, float, int, str, str]]:
    """(x, y, size, class, text) of every text."""
    found = []
    for text in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        y, size, kind = float(text.attrib["y"]), int(text.attrib["font-size"]), text.attrib["class"]
        parts = [text] if "x" in text.attrib else list(text)
        found.extend((float(part.attrib["x"]), y, size, kind, part.text or "") for part in parts)
    return found


def role_at(boxes: list[tuple[str, int, int, int, int]], x: float, y: float) -> str:
    return [
        role for role, left, top, wide, high in boxes if left <= x < left + wide and top <= y < top + high
    ][-1]


def in_cells(svg: str) -> Counter[tuple[str, str]]:
    """{(text, class of the box behind it)} of all texts in coloured cells."""
    boxes, found = boxes_of(svg), Counter()
    for x, y, size, _, text in texts_of(svg):
        role = role_at(boxes, x, y - size / 3)
        if re.fullmatch(r"[cf]\d", role):
            found[text, role] += 1
    return found


# -- and of the scene ------------------------------------------------------------------------------


def expected(scene: Scene, *brief: bool) -> Counter[tuple[str, str]]:
    """{(text, class)} of the cells of all panels and of the legend, by the plainest loop.

    `brief` says of each panel whether its texts are the short ones.
    """
    found: Counter[tuple[str, str]] = Counter()
    colours = set()
    for panel, short in zip(scene.panels, brief or [False] * len(scene.panels), strict=True):
        seen: dict[tuple[int, ...], tuple[str, str]] = {}
        for position, flat, place in placed(scene):
            where = cell_of(panel, place)
            if where is None:
                continue
            colour = scene.colour.rule(scene.places[scene.colour.rule.axis][position * scene.copies]) % 8
            colours.add(colour)
            seen.setdefault(where, (text_of(scene, panel, position, flat, short), f"c{colour}"))
        found.update(seen.values())
    return found + Counter((str(colour), f"c{colour}") for colour in colours)


def placed(scene: Scene):
    (top, bottom), (left, right) = scene.window
    broad = 1
    for extent in scene.columns:
        broad *= extent
    flats = [row * broad + column for row in range(top, bottom) for column in range(left, right)]
    entries = len(next(iter(scene.places.values())))
    for entry in range(entries):
        position = entry // scene.copies
        flat = flats[position]
        own = {axis: values[entry] for axis, values in scene.places.items()}
        yield position, flat, own | {ROW: flat // broad, COLUMN: flat % broad}


def cell_of(panel: Panel, place: dict[str, int]) -> tuple[int, ...] | None:
    rules = (panel.block_row, panel.block_column, panel.row, panel.column, panel.slot)
    where = tuple(value(rule, place) for rule in rules)
    limits = (*panel.blocks, *panel.cells, panel.slots)
    return where if all(0 <= at < limit for at, limit in zip(where, limits, strict=True)) else None


def text_of(scene: Scene, panel: Panel, position: int, flat: int, short: bool) -> str:
    if panel.text == "index":
        return str(flat) if short else ",".join(map(str, coordinates(flat, scene.shape)))
    owners = [axis.name for axis in scene.axes if axis.kind != "storage"]
    parts = []
    for axis in (*owners, *(axis.name for axis in scene.axes if axis.name not in owners)):
        values = scene.places[axis][position * scene.copies : (position + 1) * scene.copies]
        parts.append("|".join(map(str, dict.fromkeys(values))))
    return ":".join(parts)


# -- SVG -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_every_cell_has_its_text_on_its_colour(name):
    scene, svg = drawn(name)
    brief = [panel.text == "index" and name in ("half words", "window") for panel in scene.panels]
    assert in_cells(svg) == expected(scene, *brief)


def test_that_a_wrong_colour_is_noticed():
    scene, _ = drawn("tiles")
    wrong = replace(scene, colour=replace(scene.colour, rule=replace(scene.colour.rule, subtract=-8)))
    svg = svg_of(drawing_of(Document((wrong,), wrong.title)), "light")
    assert in_cells(svg) != expected(scene)


@settings(max_examples=40)
@given(layouts(max_size=64).filter(lambda layout: layout.copies <= 16))
def test_any_layout_is_drawn_or_refused(layout):
    try:
        drawing = drawing_of(document_of(layout))
    except LayoutError as error:
        if error.code == "TW301":  # too large, or too far away
            return
        raise
    root = ElementTree.fromstring(svg_of(drawing))
    allowed = {f"{SVG}{name}" for name in ("svg", "title", "desc", "style", "path", "text", "tspan")}
    assert {element.tag for element in root.iter()} <= allowed
    names = {name for element in root.iter() for name in element.attrib}
    assert names <= set("class viewBox width height role aria-labelledby id d x y font-size".split())


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_drawn_outside(name):
    _, svg = drawn(name)
    root = ElementTree.fromstring(svg)
    wide, high = int(root.attrib["width"]), int(root.attrib["height"])
    for _, x, y, width, height in boxes_of(svg):
        assert 0 <= x < x + width <= wide
        assert 0 <= y < y + height <= high
    for x, y, size, kind, text in texts_of(svg):
        letters = len(text) * size * 0.55
        left = x - letters * (0.5 if "middle" in kind else 1 if "end" in kind else 0)
        assert left >= 0, text
        assert left + letters <= wide, text
        assert 0 < y < high, text


def test_it_says_what_it_shows():
    svg = svg_of(drawing_of(compared(S[(4, 8) : (8, 1)], S[(8, 4) : (1, 8)], title="two")))
    root = ElementTree.fromstring(svg)
    assert root.attrib["role"] == "img"
    named = {element.attrib.get("id"): element.text for element in root.iter()}
    title, words = (named[name] for name in root.attrib["aria-labelledby"].split())
    assert title == "two"
    for part in ("nothing moves", "S[(8, 4) : (1, 8)]", "one to one", "index: 4 x 8 cells"):
        assert part in words


def test_the_layout_stands_below_a_title_of_its_own_and_once_without_one():
    layout = S[(4, 8) : (8, 1)]
    for title in (None, "the tile"):
        drawing = drawing_of(document_of(layout, title=title))
        head = [(item.text, item.mono, item.bold) for item in drawing.items if isinstance(item, Text)]
        titled = [("the tile", False, True), (str(layout), True, False)]
        wanted = titled if title else [(str(layout), True, True)]
        assert [said for said in head if said[0] in (str(layout), title)] == wanted


def test_both_themes_are_in_it_or_the_one_that_is_asked_for():
    drawing = drawing_of(document_of(S[(2, 4)]))
    auto, light, dark = (svg_of(drawing, theme) for theme in ("auto", "light", "dark"))
    assert "@media (prefers-color-scheme:dark)" in auto
    assert all(fill in auto for palette in PALETTES.values() for fill in palette.fills)
    assert DARK.ink not in light
    assert LIGHT.ink not in dark
    assert "<style>" not in svg_of(drawing, "host")
    with pytest.raises(LayoutError, match="TW401: there is no theme 'blue'"):
        svg_of(drawing, "blue")


def test_the_bytes_are_the_same_in_every_process():
    code = (
        "import sys, hashlib; from tilewise import parse\n"
        "from tilewise.pictures.paper.compose import drawing_of\n"
        "from tilewise.pictures.paper.svg import svg_of\n"
        "from tilewise.pictures.paper.png import png_of\n"
        "from tilewise.pictures.scene.build import document_of\n"
        "drawing = drawing_of(document_of(parse('wgmma.D(f32, n=8)'), access=None))\n"
        "print([hashlib.sha256(x).hexdigest() for x in (svg_of(drawing).encode(), png_of(drawing))])\n"
    )
    src = str(Path(__file__).parents[2] / "src")
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONPATH": src, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "]]></style><img onerror=x>",
        "a & b \"c\" 'd'",
        "\0\x1b[31m\ud800\u202e",
        "&lt;",
    ],
    ids=["script", "markup", "quotes", "controls", "entity"],
)
def test_hostile_text_is_text(text):
    document = replace(document_of(S[(2, 2)]), title=text, words=text)
    svg = svg_of(drawing_of(document))
    root = ElementTree.fromstring(svg.encode())
    assert not [element for element in root.iter() if element.tag in (f"{SVG}script", f"{SVG}img")]
    said = re.sub("[\0\x1b\ud800\u202e]", "\ufffd", text)
    assert root.find(f"{SVG}title").text == said


def test_characters_that_turn_text_around_are_taken_out():
    assert escaped("a\u202eb\u2066c\u200fd") == "a\ufffdb\ufffdc\ufffdd"
    assert escaped("π∘é — 𝛼") == "π∘é — 𝛼"


def test_a_large_tile_stays_small():
    svg = svg_of(drawing_of(document_of(parse(TILE), dtype="bf16")))
    assert len(svg) < 80_000
    assert len(svg_of(drawing_of(document_of(S[(256, 256)], dtype="bf16")))) < 20_000


def test_runs_stay_within_their_cells():
    """Merged boxes have the colour of each of their cells, also where texts have no room."""
    scene = scene_of(parse(TILE), dtype="bf16", window=((0, 64), (0, 64)))
    svg = svg_of(drawing_of(Document((replace(scene, panels=scene.panels[:1]),), "")), "light")
    boxes = [box for box in boxes_of(svg) if re.fullmatch(r"c\d", box[0])]
    area: Counter[str] = Counter()
    heads = {text: x for x, _, _, kind, text in texts_of(svg) if "quiet" in kind and "middle" in kind}
    pitch = round((heads["2"] - heads["0"]) / 2)
    for role, _, _, wide, high in boxes:
        if wide != 17:  # the legend's
            area[role] += ((wide + 1) // pitch) * ((high + 1) // pitch)
    assert area == {f"c{colour}": 64 * 64 // 8 for colour in range(8)}


# -- steps -----------------------------------------------------------------------------------------


def test_a_step_leaves_the_others_pale_and_names_lanes():
    document = document_of(Swizzle(3, 0, 3) @ S[(8, 8)], dtype="b128", access="col:16B")
    found = in_cells(svg_of(drawing_of(document, step=2), "light"))
    lit = {text for text, role in found if role.startswith("c") and text.startswith("L")}
    assert lit == {f"L{lane}" for lane in range(16, 24)}
    pale = sum(count for (_, role), count in found.items() if role.startswith("f"))
    assert pale == 2 * 56


def test_copies_come_step_by_step():
    document = document_of(S[(4, 4) : (4, 1)] + R[2:16])
    once, twice = (in_cells(svg_of(drawing_of(document, step=step), "light")) for step in (0, 1))
    assert once["1,2", "c1"] == 1
    assert twice["1,2", "c1"] == 2


@pytest.mark.parametrize("step", [-1, 8])
def test_a_step_that_is_none(step):
    document = document_of(Swizzle(3, 0, 3) @ S[(8, 8)], dtype="b128", access="col:16B")
    with pytest.raises(LayoutError, match=f"TW201: there is no step {step}") as caught:
        drawing_of(document, step=step)
    assert caught.value.hint == "they are 0 to 7"


@pytest.mark.parametrize(
    ("layout", "access", "hint"),
    [
        (S[(8, 8)], None, "an access has steps, and so has a layout with copies"),
        (S[(64, 65)], "boxes", "boxes: the stride of dimension 0 is 130 bytes; and 1 rule more"),
        (S[(8, 8)], "boxes", "there is one, step 0"),
    ],
    ids=["no access", "refused", "one"],
)
def test_why_a_step_is_none(layout, access, hint):
    document = document_of(layout, dtype="bf16", access=access)
    with pytest.raises(LayoutError, match="TW201: there is no step 1") as caught:
        drawing_of(document, step=1)
    assert caught.value.hint == hint


# -- words of the hardware -------------------------------------------------------------------------

WORDS = {
    "128B": (TILE, "descriptor.A", 5),
    "64B, eight rows": ("Swizzle<2,3,3> o S[(8, 32) : (32, 1)]", "descriptor.B", 1),
    "none": ("S[((8, 8), (2, 8)) : ((64, 8), (512, 1))]", "descriptor.A", 0),
}


@pytest.mark.parametrize("name", WORDS)
def test_a_word_is_drawn_bit_by_bit(name):
    """The digits that stand on the strip are the bits of the word, and each field is one box of a colour."""
    text, access, step = WORDS[name]
    document = document_of(parse(text), dtype="bf16", access=access)
    word = document.scenes[0].steps[step].encoded
    svg = svg_of(drawing_of(document, step=step), "light")
    texts = texts_of(svg)
    (top,) = {
        y for _, y, _, _, said in texts if said == "61-52"
    }  # reserved bits are named on the strip alone
    bits = [(x, y, said) for x, y, _, _, said in texts if top < y < top + 24 and said in ("0", "1", ".")]
    bits = sorted(bits, reverse=True)
    assert "".join(said for *_, said in bits[::-1]).replace(".", "0") == f"{int(word.value, 16):064b}"
    roles = [role_at(boxes_of(svg), x, y - 3) for x, y, _ in bits]
    owners = ["empty"] * word.width
    for number, field in enumerate(reversed(word.fields)):
        owners[field.low : field.high + 1] = [f"c{number}"] * (field.high - field.low + 1)
    assert roles == owners
    assert [said == "." for *_, said in bits] == [owner == "empty" for owner in owners]


@pytest.mark.parametrize("name", WORDS)
def test_a_word_is_said_field_by_field(name):
    text, access, step = WORDS[name]
    document = document_of(parse(text), dtype="bf16", access=access)
    scene = document.scenes[0]
    word = scene.steps[step].encoded
    svg = svg_of(drawing_of(document, step=step), "light")
    texts = texts_of(svg)
    lines = [
        [said for _, at, _, _, said in sorted(texts) if at == y] for y in sorted({y for _, y, *_ in texts})
    ]
    for field in word.fields:
        where, held = f"{field.high}-{field.low}", str(field.held)
        assert [where, field.name, held, field.words] in lines
    assert [field.name for field in word.fields[::-1]] in lines
    assert [str(field.held) for field in word.fields[::-1]] in lines
    said = ElementTree.fromstring(svg).find(f"{SVG}desc").text
    assert f"matrix descriptor {word.value}: " in said
    assert all(f"{field.name} {field.held}: {field.words}" in said for field in word.fields)
    wide = int(ElementTree.fromstring(svg).attrib["width"])
    assert all(x >= 0 and x + width <= wide for _, x, _, width, _ in boxes_of(svg))


@pytest.mark.parametrize("room", [50, 318, 720, 1400])
def test_a_word_has_as_many_lines_as_it_needs(room):
    """The digits, line by line, are the bits of the word; each is on a box of its field."""
    text, access, step = WORDS["128B"]
    word = document_of(parse(text), dtype="bf16", access=access).scenes[0].steps[step].encoded
    part = encoded_part(word, room)
    digits = sorted((item.y, item.x, item.text) for item in part.items if getattr(item, "size", 0) == 10)
    assert "".join(digit for *_, digit in digits).replace(".", "0") == f"{int(word.value, 16):064b}"
    lines = Counter(y for y, *_ in digits)
    assert len(lines) == -(-64 // (room // 8))
    boxes = [(item.role, box) for item in part.items for box in getattr(item, "boxes", ())]
    for (y, x, digit), bit in zip(digits, reversed(range(64)), strict=True):
        (role,) = [
            role for role, box in boxes if box.x <= x <= box.x + box.width and box.y < y < box.y + box.height
        ]
        owner = next((n for n, field in enumerate(word.fields[::-1]) if field.low <= bit <= field.high), None)
        assert role == ("empty" if owner is None else f"c{owner}")
        assert (digit == ".") is (owner is None)


def test_a_narrow_picture_is_as_narrow_as_its_room():
    text, access, step = WORDS["64B, eight rows"]
    document = document_of(parse(text), dtype="bf16", access=access)
    assert drawing_of(document, step=step, room=358).width <= 358


def test_a_word_of_any_document_is_drawn():
    """Widths that nothing has, names that are long, fields that touch: all have their place."""
    fields = tuple(Field("name " * 9, low, low + 1, 2**31, "words " * 90) for low in range(0, 128, 2))
    for word in (Encoded("w", 128, "0x0", fields), Encoded("w", 1, "x", ()), Encoded("w", 3, "", fields[:1])):
        step = Step("s", (0,), encoded=word)
        document = document_of(S[(2, 2)])
        scene = replace(document.scenes[0], steps=(step,))
        svg = svg_of(drawing_of(replace(document, scenes=(scene,)), step=0, room=600))
        assert all(x >= 0 for _, x, *_ in boxes_of(svg))


# -- PNG -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", PALETTES)
@pytest.mark.parametrize("name", ["tiles", "two banks", "warps", "shared"])
def test_pixels_have_the_colours_of_the_boxes(name, theme):
    image_of = pytest.importorskip("PIL.Image").open
    text, options = CASES[name]
    drawing = drawing_of(document_of(parse(text), **options))
    boxes, roles = boxes_of(svg_of(drawing)), PALETTES[theme].roles
    image = image_of(io.BytesIO(png_of(drawing, theme)))
    assert image.size == (SCALE * drawing.width, SCALE * drawing.height)
    for _, x, y, wide, high in boxes:
        for corner in ((x, y), (x + wide - 1, y + high - 1)):
            red, green, blue = image.getpixel((corner[0] * SCALE, corner[1] * SCALE))
            assert f"#{red:02x}{green:02x}{blue:02x}" == roles[role_at(boxes, *corner)]


def test_png_says_what_it_shows():
    image_of = pytest.importorskip("PIL.Image").open
    image = image_of(io.BytesIO(png_of(drawing_of(document_of(S[(2, 4)])))))
    assert image.text["Title"] == "S[(2, 4) : (4, 1)]"
    assert "one to one" in image.text["Description"]


def test_letters_are_written():
    image_of = pytest.importorskip("PIL.Image").open
    drawing = drawing_of(document_of(S[(2, 4)]))
    with_texts = image_of(io.BytesIO(png_of(drawing))).getcolors(1 << 16)
    bare = replace(drawing, items=tuple(item for item in drawing.items if hasattr(item, "boxes")))
    without = image_of(io.BytesIO(png_of(bare))).getcolors(1 << 16)
    assert len(with_texts) > 10 * len(without)


def test_the_font_has_the_letters_that_are_written():
    font = pytest.importorskip("PIL.ImageFont").load_default(24)
    lacking = bytes(font.getmask("\uffff"))
    shown = [chr(code) for code in range(33, 1 << 16) if written(chr(code)) == chr(code)]
    assert len(shown) > 94 + 10
    assert [letter for letter in shown if bytes(font.getmask(letter)) == lacking] == []


@pytest.mark.parametrize("name", list(entries()))
def test_what_the_catalogue_says_has_no_letter_that_the_font_lacks(name):
    """In the panels of an entry, and in questions about it as a tile."""
    entry = entries()[name]
    first, *_ = instances_of(entry).values()
    layout = entry.build(**first).layout
    if layout is None:
        return
    window = ((0, 1), (0, 1)) if layout.size > 4096 else None
    title = entry.spelled(first)
    documents = [document_of(layout, title=title, window=window), compared(layout, layout, window=window)]
    for access in ("descriptor.A", "boxes"):
        with contextlib.suppress(LayoutError):
            documents.append(document_of(layout, window=window, dtype="bf16", access=access))
    for document in documents:
        drawing = drawing_of(document, step=0 if document.scenes[0].steps else None)
        texts = [item.text for item in drawing.items if isinstance(item, Text)]
        assert len(texts) > 3
        assert not [text for text in texts if "?" in written(text) or len(written(text)) != len(text)]


def test_without_pillow_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(LayoutError, match="TW403: PNG needs Pillow") as caught:
        png_of(drawing_of(document_of(S[(2, 4)])))
    assert caught.value.hint == "pip install 'tilewise[png]'"


# -- refusals --------------------------------------------------------------------------------------


def test_too_many_cells_are_refused_before_they_are_drawn():
    with pytest.raises(LayoutError, match=f"TW301: .* {MOST_CELLS} are the most on paper") as caught:
        drawing_of(document_of(S[(512, 1024)]))
    assert "--window" in caught.value.hint


def test_too_many_pixels_are_refused():
    drawing = replace(drawing_of(document_of(S[(2, 4)])), width=1 << 20, height=1 << 20)
    with pytest.raises(LayoutError, match="TW301: a picture of 2097152 x 2097152 pixels"):
        png_of(drawing)


# -- the palette -----------------------------------------------------------------------------------


def test_the_colours_are_those_of_the_component():
    source = (Path(__file__).parents[2] / "web/src/view/palette.ts").read_text(encoding="utf-8")
    for palette in PALETTES.values():
        own = re.search(rf"const {palette.name.upper()} = {{(.*?)}};", source, re.DOTALL)[1]
        for name in ("paper", "ink", "quiet", "rule", "empty"):
            assert re.search(rf'{name}: "(#\w+)"', own)[1] == getattr(palette, name)
        fills = re.search(r"fills: \[(.*?)\]", own)[1]
        assert re.findall(r"#\w+", fills) == list(palette.fills)
