"""The component alone, in a page under the explorer's policy: what is drawn, said, lit, pinned and stepped.

The oracle is the layout itself: where an element is, `Layout.places` says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest
from tests.web.axe import axe
from tests.web.chromium import CONTROL, SHIFT, Page

from tilewise import parse
from tilewise.pictures.scene.build import document_of, scene_of
from tilewise.pictures.scene.model import Document
from tilewise.pictures.server import File, Server, files

HTML = b"""<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>component</title><link rel="icon" href="data:,"><script type="module" src="host.js"></script>
<body><main><h1>component</h1><div id="host"></div></main></body></html>"""

HOST = b"""import { render } from "./explorer.js";
const heard = new Map();
const values = {};
window.saved = 0;
window.model = {
  get: (name) => values[name],
  set: (name, value) => {
    values[name] = value;
    for (const callback of [...(heard.get("change:" + name) ?? [])]) callback();
  },
  on: (event, callback) => heard.set(event, [...(heard.get(event) ?? []), callback]),
  off: (event, callback) => heard.set(event, (heard.get(event) ?? []).filter((one) => one !== callback)),
  save_changes: () => { window.saved++; },
};
window.listeners = () => [...heard.values()].flat().length;
window.host = document.getElementById("host");
window.show = (given) => {
  Object.assign(values, { selection: [], step: -1, theme: "light", options: {} }, given);
  window.end = render({ model, el: host });
};
window.shadow = () => host.firstElementChild.shadowRoot;
window.grids = () => [...shadow().querySelectorAll("[role=grid]")];
window.outlined = (at) => {
  const { width, height } = grids()[at].children[1];
  const pixels = grids()[at].children[1].getContext("2d").getImageData(0, 0, width, height).data;
  const across = new Set();
  const down = new Set();
  for (let i = 0; i < width * height; i++) {
    if (pixels[4 * i + 3] > 200) {
      across.add(i % width);
      down.add(Math.floor(i / width));
    }
  }
  return [[...across].sort((a, b) => a - b), [...down].sort((a, b) => a - b)];
};
"""

TILED = parse("S[(4, 2, 2, 4) : (16, 4, 8, 1)]")
MESH = parse("S[(2, 4, 8) : (1@gpuid_y, 8@m, 1@m)] + R[2 : 1@gpuid_x]")
ROWS = parse("S[(8, 8) : (8, 1)]")
LARGE = parse("S[(128, 64) : (64, 1)]")
TILED_DOCUMENT = document_of(TILED, shape=(8, 8))
LINE = "#host > div >>> .line"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    pages = files() | {"/blank": File("text/html; charset=utf-8", HTML)}
    pages["/host.js"] = File("text/javascript; charset=utf-8", HOST)
    with Server(0, pages) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.address
        server.shutdown()


@pytest.fixture
def blank(page: Page, address: str) -> Page:
    """A page that shows nothing yet."""
    page.open(address + "blank")
    page.wait("window.show !== undefined")
    return page


def show(page: Page, document: Document | dict[str, Any] | Any, **values: Any) -> Page:
    plain = document.as_dict() if isinstance(document, Document) else document
    page.evaluate("given => show(given)", {"document": plain, **values})
    page.settle()
    return page


def cell(
    page: Page, panel: int, row: int, column: int, rows: int = 8, columns: int = 8
) -> tuple[float, float]:
    """The middle of a cell of a panel of one block, in the window."""
    x, y, width, height = page.evaluate(
        """at => {
            grids()[at].scrollIntoView({block: "nearest"});
            const box = grids()[at].getBoundingClientRect();
            return [box.x, box.y, box.width, box.height];
        }""",
        panel,
    )
    return x + (column + 0.5) * width / columns, y + (row + 0.5) * height / rows


def line(page: Page) -> str:
    page.settle()
    return page.text(LINE)


def selection(page: Page) -> list[int]:
    page.settle()
    return sorted(page.evaluate("model.get('selection')"))


def runs(positions: list[int]) -> list[tuple[int, int]]:
    """Where numbers follow each other: the first and the last of each run."""
    found: list[tuple[int, int]] = []
    for position in positions:
        if found and position <= found[-1][1] + 8:
            found[-1] = found[-1][0], position
        else:
            found.append((position, position))
    return found


def place(row: int, column: int) -> int:
    """Where the tiled index has an element, asked in 8 x 8."""
    (found,) = TILED.places(8 * row + column)
    return int(found["m"])


# -- what is drawn and said ----------------------------------------------------------------------------


def test_panels_and_their_names(blank: Page):
    show(blank, TILED_DOCUMENT)
    labels = blank.evaluate("grids().map(grid => grid.getAttribute('aria-label'))")
    assert labels == ["index: 8 rows, 8 columns", "memory, 8 elements a row: 8 rows, 8 columns"]
    assert blank.evaluate("grids().map(grid => grid.tabIndex)") == [0, 0]
    heads = blank.evaluate(
        "[...shadow().querySelectorAll('.panel:last-child .side span')].map(one => one.textContent)"
    )
    assert heads == [str(8 * row) for row in range(8)]


@pytest.mark.parametrize(("row", "column"), [(0, 0), (3, 5), (7, 7), (1, 4)])
def test_hover_says_where_an_element_is_and_outlines_it_there(blank: Page, row: int, column: int):
    show(blank, TILED_DOCUMENT)
    blank.hover(*cell(blank, 0, row, column))
    m = place(row, column)
    assert line(blank) == f"({row}, {column}): m {m}"
    for panel, (r, c) in enumerate([(row, column), divmod(m, 8)]):
        width = blank.evaluate("at => grids()[at].children[1].width", panel) / 8
        across, down = blank.evaluate("at => outlined(at)", panel)
        ((left, right),) = runs(across)
        assert left == pytest.approx(c * width, abs=4)
        assert right == pytest.approx((c + 1) * width, abs=4)
        ((top, bottom),) = runs(down)
        assert (top + bottom) // 2 // ((bottom - top) or 1) == r


def test_hover_lights_all_copies(blank: Page):
    show(blank, document_of(MESH))
    blank.hover(*cell(blank, 0, 3, 1))
    assert line(blank) == "(0, 3, 1): gpuid_y 0, gpuid_x 0, m 25; gpuid_y 0, gpuid_x 1, m 25"
    across, down = blank.evaluate("outlined(1)")
    assert len(runs(across)) == 2
    assert len(runs(down)) == 1


def test_leaving_forgets(blank: Page):
    show(blank, TILED_DOCUMENT)
    blank.hover(*cell(blank, 0, 3, 5))
    blank.hover(2, 2)
    assert "?" in line(blank)
    assert blank.evaluate("outlined(0)") == [[], []]


def test_an_empty_cell_is_said_to_be_empty(blank: Page):
    show(blank, document_of(parse("S[8 : 2]")))
    blank.evaluate("grids()[1].focus()")
    blank.press("ArrowRight")
    assert line(blank).endswith(": empty")


def test_two_scenes_are_linked(blank: Page):
    scenes = (scene_of(ROWS, title="rows"), scene_of(parse("S[(8, 8) : (1, 8)]"), title="columns"))
    show(blank, Document(scenes, "a pair"))
    blank.hover(*cell(blank, 0, 2, 3))
    assert line(blank) == "rows: (2, 3): m 19\ncolumns: (2, 3): m 26"
    assert blank.evaluate("grids().map((_, at) => outlined(at)[0].length > 0)") == [True] * 4


def test_a_glance_is_told_to_the_host(blank: Page):
    show(blank, TILED_DOCUMENT)
    blank.evaluate(
        "window.told = []; host.addEventListener('tilewise-glance', event => told.push(event.detail)); 0"
    )
    blank.hover(*cell(blank, 0, 3, 5))
    blank.settle()
    assert blank.evaluate("told.at(-1).elements") == [29]
    assert blank.evaluate("told.at(-1).panel") == "index"


# -- pins ----------------------------------------------------------------------------------------------


def test_click_pins_and_click_lets_go(blank: Page):
    show(blank, TILED_DOCUMENT)
    blank.click_at(*cell(blank, 0, 3, 5))
    assert selection(blank) == [29]
    assert blank.evaluate("saved") > 0
    blank.hover(2, 2)
    assert line(blank) == f"Pinned (3, 5): m {place(3, 5)}"
    blank.click_at(*cell(blank, 0, 1, 1))
    assert selection(blank) == [9]
    blank.click_at(*cell(blank, 0, 1, 1))
    assert selection(blank) == []


def test_control_adds(blank: Page):
    show(blank, TILED_DOCUMENT)
    blank.click_at(*cell(blank, 0, 0, 0))
    blank.click_at(*cell(blank, 0, 5, 2), modifiers=CONTROL)
    assert selection(blank) == [0, 42]
    blank.click_at(*cell(blank, 0, 0, 0), modifiers=CONTROL)
    assert selection(blank) == [42]


def rectangle(top: int, left: int, bottom: int, right: int) -> list[int]:
    return sorted(8 * row + column for row in range(top, bottom + 1) for column in range(left, right + 1))


def test_shift_click_pins_a_rectangle(blank: Page):
    show(blank, TILED_DOCUMENT)
    blank.click_at(*cell(blank, 0, 5, 4))
    blank.click_at(*cell(blank, 0, 2, 1), modifiers=SHIFT)
    assert selection(blank) == rectangle(2, 1, 5, 4)


def test_drag_pins_a_rectangle_of_the_panel_in_which_it_is_drawn(blank: Page):
    show(blank, TILED_DOCUMENT)
    blank.drag(cell(blank, 1, 0, 0), cell(blank, 1, 0, 7))
    expected = sorted(8 * r + c for r in range(8) for c in range(8) if place(r, c) < 8)
    assert selection(blank) == expected
    blank.press("Escape")
    assert selection(blank) == []


def test_the_host_may_pin(blank: Page):
    show(blank, TILED_DOCUMENT, selection=[3])
    assert line(blank) == f"Pinned (0, 3): m {place(0, 3)}"
    blank.evaluate("model.set('selection', [1, 'x', -4, 1e12, 2.5, null, 64, 2])")
    assert line(blank) == "Pinned (0, 1), (0, 2): 2 elements"
    blank.evaluate("model.set('selection', {length: 3})")
    assert "?" in line(blank)
    blank.click_at(*cell(blank, 0, 3, 5))
    told = blank.evaluate("window.told = model.get('selection')")
    blank.evaluate("model.set('selection', [4]); model.set('selection', told)")
    assert told == [29]
    assert line(blank) == f"Pinned (3, 5): m {place(3, 5)}"


# -- keys ----------------------------------------------------------------------------------------------


def where(page: Page, panel: int = 0) -> tuple[int, int]:
    row, column = page.evaluate(
        """at => [grids()[at].querySelector("[role=row]").ariaRowIndex,
                  grids()[at].querySelector("[role=gridcell]").ariaColIndex].map(Number)""",
        panel,
    )
    return row - 1, column - 1


def test_arrows_and_the_like_move_the_cell(blank: Page):
    show(blank, TILED_DOCUMENT)
    blank.evaluate("grids()[0].focus()")
    seen = {}
    for keys in ("ArrowDown", "ArrowRight", "End", "PageDown", "Home", "ArrowLeft", "ArrowUp"):
        blank.press(keys)
        seen[keys] = where(blank)
    assert seen == {
        "ArrowDown": (1, 0),
        "ArrowRight": (1, 1),
        "End": (1, 7),
        "PageDown": (7, 7),
        "Home": (7, 0),
        "ArrowLeft": (7, 0),
        "ArrowUp": (6, 0),
    }
    blank.press("End", modifiers=CONTROL)
    assert where(blank) == (7, 7)
    assert line(blank) == "(7, 7): m 63"
    blank.press("Home", modifiers=CONTROL)
    assert where(blank) == (0, 0)


def test_enter_pins_and_shift_selects(blank: Page):
    show(blank, TILED_DOCUMENT)
    blank.evaluate("grids()[0].focus()")
    blank.press("ArrowDown", "ArrowRight", "Enter")
    assert selection(blank) == [9]
    assert blank.evaluate("grids()[0].querySelector('[role=gridcell]').ariaSelected") == "true"
    blank.press("ArrowDown", "ArrowRight", modifiers=SHIFT)
    assert selection(blank) == rectangle(1, 1, 2, 2)
    blank.press("Escape")
    assert selection(blank) == []


def test_tab_goes_from_panel_to_panel(blank: Page):
    show(blank, TILED_DOCUMENT)
    blank.evaluate("grids()[0].focus()")
    blank.press("Tab")
    assert blank.evaluate("shadow().activeElement === grids()[1]")


def test_help_is_the_host_s_where_it_wants_it(blank: Page):
    show(blank, TILED_DOCUMENT)
    blank.evaluate("grids()[0].focus()")
    blank.press("?")
    assert blank.evaluate("shadow().querySelector('dialog').open")
    blank.press("Escape")
    assert not blank.evaluate("shadow().querySelector('dialog').open")
    blank.evaluate(
        "host.addEventListener('tilewise-help', event => event.preventDefault()); grids()[0].focus()"
    )
    blank.press("?")
    assert not blank.evaluate("shadow().querySelector('dialog').open")


def test_keys_of_the_page_are_heard_where_the_host_says_so(blank: Page):
    show(blank, TILED_DOCUMENT)
    blank.evaluate("document.activeElement.blur()")
    blank.press("d")
    assert blank.evaluate("model.get('theme')") == "light"
    blank.evaluate("model.set('options', {keys: 'page'})")
    blank.press("d")
    assert blank.evaluate("model.get('theme')") == "dark"
    blank.evaluate("host.after(Object.assign(document.createElement('input'), {id: 'field'})); field.focus()")
    blank.press("d")
    assert blank.evaluate("model.get('theme')") == "dark"


# -- steps ---------------------------------------------------------------------------------------------


CONFLICT = document_of(ROWS, dtype="f32", access="col:4B")


def test_steps_by_keys_buttons_and_scrubber(blank: Page):
    (scene,) = CONFLICT.scenes
    show(blank, CONFLICT)
    step = "#host > div >>> .step"
    blank.evaluate("grids()[0].focus()")
    blank.press("]")
    assert blank.evaluate("model.get('step')") == 0
    assert scene.steps[0].title in blank.text(step)
    assert f"{scene.steps[0].cost} wavefront" in blank.text(step)
    blank.click("#host > div >>> .player button:last-of-type")
    assert blank.evaluate("model.get('step')") == min(1, len(scene.steps) - 1)
    blank.press("[", "[", "[")
    assert blank.evaluate("model.get('step')") == -1
    slider = "shadow().querySelector('.player input')"
    blank.evaluate(f"{slider}.value = 0; {slider}.dispatchEvent(new Event('input')); 0")
    assert blank.evaluate("model.get('step')") == 0
    assert blank.evaluate(f"{slider}.getAttribute('aria-valuetext')") == f"step 1 of {len(scene.steps)}"


def test_a_step_says_its_lanes(blank: Page):
    (scene,) = CONFLICT.scenes
    show(blank, CONFLICT, step=0)
    flat, lane = scene.steps[0].elements[0], scene.steps[0].lanes[0]
    blank.hover(*cell(blank, 0, *divmod(flat, 8)))
    assert line(blank).endswith(f"asked by lane {lane}")


def test_a_step_of_copies_shows_so_many(blank: Page):
    show(blank, document_of(MESH), step=0)
    blank.hover(*cell(blank, 0, 3, 1))
    assert line(blank) == "(0, 3, 1): gpuid_y 0, gpuid_x 0, m 25"
    assert len(runs(blank.evaluate("outlined(1)")[0])) == 1


@pytest.mark.parametrize("step", [99, -7, "1", None, 0.5, [0]], ids=repr)
def test_steps_that_are_none(blank: Page, step: Any):
    show(blank, CONFLICT, step=step)
    said = blank.text("#host > div >>> .player .mono")
    count = len(CONFLICT.scenes[0].steps)
    assert said == (f"step {count} of {count}" if step == 99 else f"all of {count} steps")


# -- the table -----------------------------------------------------------------------------------------


def rows_of_table(page: Page) -> list[list[str]]:
    found: list[list[str]] = page.evaluate(
        "[...shadow().querySelectorAll('tbody tr')].filter(row => row.closest('.rows'))"
        ".map(row => [...row.children].slice(1).map(one => one.textContent))"
    )
    return found


def test_the_table_says_the_same(blank: Page):
    show(blank, document_of(MESH))
    blank.evaluate("grids()[0].focus()")
    blank.press("t")
    assert blank.evaluate("model.get('options').table")
    assert blank.evaluate("shadow().querySelector('.panels').hidden")
    rows = rows_of_table(blank)
    assert len(rows) == MESH.size
    for flat, row in enumerate(rows):
        index = flat // 32, flat // 8 % 4, flat % 8
        places = MESH.places(*index)
        expected = [
            " | ".join(dict.fromkeys(str(p[axis]) for p in places)) for axis in ("gpuid_y", "gpuid_x", "m")
        ]
        assert row[:5] == [str(flat), f"({', '.join(map(str, index))})", *expected]


def test_the_table_of_a_layout_in_cutes_notation_has_cutes_numbers(blank: Page):
    layout = parse("(4,8):(1,4)")
    show(blank, document_of(layout), options={"table": True}, selection=[1])
    rows = rows_of_table(blank)
    assert [row[0] for row in rows] == [str(i + 4 * j) for i in range(4) for j in range(8)]
    assert [row[1] for row in rows[:9]] == [*(f"(0, {j})" for j in range(8)), "(1, 0)"]
    pinned = "[...shadow().querySelectorAll('.rows input')].findIndex(box => box.checked)"
    assert blank.evaluate(pinned) == 8


def test_the_table_has_pages_and_pins(blank: Page):
    show(blank, document_of(LARGE), options={"table": True})
    assert len(rows_of_table(blank)) == 64
    blank.click("#host > div >>> .pages button:nth-of-type(2)")
    assert rows_of_table(blank)[0][:2] == ["64", "(1, 0)"]
    blank.click("#host > div >>> [data-flat='66']")
    assert selection(blank) == [66]
    assert blank.evaluate("shadow().activeElement.dataset.flat") == "66"
    blank.press("t")
    assert not blank.evaluate("shadow().querySelector('.panels').hidden")
    assert line(blank) == "Pinned (1, 2): m 66"


# -- zoom ----------------------------------------------------------------------------------------------


def test_the_wheel_zooms_to_the_cursor_and_a_drag_pans(blank: Page):
    show(blank, document_of(LARGE))
    at = cell(blank, 0, 100, 40, 128, 64)
    blank.hover(*at)
    before = line(blank)
    assert before.startswith("(100, 40)")
    for _ in range(6):
        blank.wheel(*at, -120, modifiers=CONTROL)
    blank.settle()
    assert blank.evaluate("grids()[0].classList.contains('zoomed')")
    blank.hover(at[0] + 0.5, at[1])
    assert line(blank) == before
    blank.drag(at, (at[0] + 60, at[1] + 60))
    assert selection(blank) == []
    blank.hover(*at)
    assert line(blank) != before
    blank.evaluate("grids()[0].focus()")
    blank.press("0")
    assert not blank.evaluate("grids()[0].classList.contains('zoomed')")


def test_zoom_by_keys_and_buttons(blank: Page):
    show(blank, document_of(LARGE))
    zoomed = "grids()[0].classList.contains('zoomed')"
    blank.evaluate("grids()[0].focus()")
    blank.press("+")
    assert blank.evaluate(zoomed)
    blank.press("-")
    assert not blank.evaluate(zoomed)
    blank.click("#host > div >>> .zooms button:nth-of-type(2)")
    assert blank.evaluate(zoomed)
    blank.click("#host > div >>> .zooms button:nth-of-type(3)")
    assert not blank.evaluate(zoomed)


def touch(page: Page, kind: str, *points: tuple[float, float]) -> None:
    page.call(
        "Input.dispatchTouchEvent",
        type=kind,
        touchPoints=[{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)],
    )


def test_two_fingers_zoom_and_one_pins(blank: Page):
    show(blank, document_of(LARGE))
    x, y = cell(blank, 0, 100, 40, 128, 64)
    touch(blank, "touchStart", (x - 20, y))
    touch(blank, "touchStart", (x - 20, y), (x + 20, y))
    for spread in (30, 40, 60):
        touch(blank, "touchMove", (x - spread, y), (x + spread, y))
    touch(blank, "touchEnd")
    blank.settle()
    assert blank.evaluate("grids()[0].classList.contains('zoomed')")
    assert selection(blank) == []
    touch(blank, "touchStart", (x, y))
    touch(blank, "touchEnd")
    (pinned,) = selection(blank)
    assert abs(pinned // 64 - 100) <= 1
    assert abs(pinned % 64 - 40) <= 1


def test_the_wheel_scrolls_the_page_past_a_panel_without_the_focus(blank: Page):
    show(blank, document_of(LARGE))
    blank.wheel(*cell(blank, 0, 3, 3, 128, 64), 50)
    blank.settle()
    assert not blank.evaluate("grids()[0].classList.contains('zoomed')")


# -- the host ------------------------------------------------------------------------------------------


PIXEL = "[...grids()[0].children[0].getContext('2d').getImageData(4, 4, 1, 1).data]"


def test_themes(blank: Page):
    show(blank, TILED_DOCUMENT, theme="auto")
    themes = {}
    for dark in (False, True):
        blank.media(dark=dark)
        blank.settle()
        themes[dark] = (blank.evaluate("shadow().querySelector('.tw').dataset.theme"), blank.evaluate(PIXEL))
    assert [themes[False][0], themes[True][0]] == ["light", "dark"]
    assert sum(themes[False][1]) > sum(themes[True][1])
    blank.evaluate("model.set('theme', 'light')")
    assert blank.evaluate(PIXEL) == themes[False][1]
    blank.press("d")


def test_colours_are_those_of_the_page_around(blank: Page):
    """Notebooks have themes of their own, whatever the system has; they may turn at any time."""
    blank.evaluate("document.body.style.color = 'oklch(0.9 0 0)'")
    show(blank, TILED_DOCUMENT, theme="auto")
    theme = "shadow().querySelector('.tw').dataset.theme"
    assert blank.evaluate(theme) == "dark"
    dark = blank.evaluate(PIXEL)
    blank.evaluate("document.body.style.color = '#222'")
    blank.wait(f"{theme} === 'light'")
    assert blank.evaluate(PIXEL) != dark
    blank.media(dark=True)
    blank.settle()
    assert blank.evaluate(theme) == "light"


def test_paper_is_light(blank: Page):
    show(blank, TILED_DOCUMENT, theme="dark")
    theme = "shadow().querySelector('.tw').dataset.theme"
    blank.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert blank.evaluate(theme) == "light"
    blank.evaluate("dispatchEvent(new Event('afterprint'))")
    assert blank.evaluate(theme) == "dark"


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_it_fits_its_host(blank: Page, width: int):
    show(blank, document_of(MESH))
    blank.resize(width, 800)
    blank.settle()
    assert blank.evaluate("document.documentElement.scrollWidth") <= width
    blank.evaluate("host.style.width = '300px'")
    blank.settle()
    blank.settle()
    assert blank.evaluate("Math.max(...grids().map(grid => grid.getBoundingClientRect().right))") <= 310


def test_a_canvas_has_the_pixels_of_its_screen(blank: Page):
    show(blank, TILED_DOCUMENT)
    blank.resize(800, 800, scale=2)
    blank.settle()
    sizes = blank.evaluate("grids().map(grid => [grid.children[0].width, grid.clientWidth])")
    assert all(pixels == pytest.approx(2 * width, abs=2) for pixels, width in sizes)


def test_another_document_keeps_the_focus_and_the_cell(blank: Page):
    show(blank, TILED_DOCUMENT)
    blank.evaluate("grids()[0].focus()")
    blank.press("ArrowDown", "ArrowDown", "ArrowRight")
    blank.evaluate("given => model.set('document', given)", document_of(ROWS).as_dict())
    blank.settle()
    assert blank.evaluate("shadow().activeElement === grids()[0]")
    assert where(blank) == (2, 1)
    assert line(blank) == "(2, 1): m 17"


def test_the_end_takes_everything_away(blank: Page):
    show(blank, TILED_DOCUMENT)
    assert blank.evaluate("listeners()") > 0
    blank.evaluate("end()")
    assert blank.evaluate("[listeners(), host.childElementCount]") == [0, 0]
    blank.press("d", "t", "?")


# -- hostile documents ---------------------------------------------------------------------------------


def spoiled(**changes: Any) -> dict[str, Any]:
    plain = json.loads(json.dumps(TILED_DOCUMENT.as_dict()))
    for path, value in changes.items():
        at: Any = plain
        *way, last = [int(part) if part.isdigit() else part for part in path.split("__")]
        for part in way:
            at = at[part]
        at[last] = value
    return plain


REFUSED: dict[str, Any] = {
    "nothing": None,
    "text": "<img src=x onerror='canary=1'>",
    "list": [],
    "other kind": spoiled(kind="elsewhere"),
    "other version": spoiled(schema=2),
    "no scenes": spoiled(scenes=[]),
    "scenes of nothing": spoiled(scenes=[None]),
    "many scenes": spoiled(scenes=[{}] * 1000),
    "no axes": spoiled(scenes__0__axes=None),
    "huge copies": spoiled(scenes__0__copies=10**9),
    "no copies": spoiled(scenes__0__copies=0),
    "huge panel": spoiled(scenes__0__panels__0__cells=[10**9, 10**9]),
    "panel of text": spoiled(scenes__0__panels__0__cells=["8", 8]),
    "panel without cells": spoiled(scenes__0__panels__0__cells=[]),
    "huge slots": spoiled(scenes__0__panels__0__slots=10**6),
    "slots of many cells": spoiled(scenes__0__panels__0__cells=[1024, 1024], scenes__0__panels__0__slots=32),
    "prototype": spoiled(scenes__0__axes__0__name="__proto__"),
    "window backwards": spoiled(scenes__0__window=[[8, 0], [0, 8]]),
    "too many places": spoiled(scenes__0__window=[[0, 1], [0, 8]]),
    "no rules": spoiled(scenes__0__panels__0__row=None),
    "no heads": spoiled(scenes__0__panels__0__row_heads=None),
    "steps of nothing": spoiled(scenes__0__steps=[None]),
}


@pytest.mark.parametrize("document", REFUSED.values(), ids=REFUSED)
def test_what_is_no_document_is_refused_in_a_sentence(blank: Page, document: Any):
    show(blank, document)
    said = blank.text("#host > div >>> .fault")
    assert said.endswith(".")
    assert blank.evaluate("typeof canary") == "undefined"
    blank.evaluate("given => model.set('document', given)", TILED_DOCUMENT.as_dict())
    blank.settle()
    assert blank.evaluate("grids().length") == 2


SCRIPT = "<img src=x onerror='canary=1'><script>canary=1</script>\u202e\u0000${canary=1}" + "x" * 5000
STRANGE: dict[str, Any] = {
    "words": spoiled(title=SCRIPT, words=SCRIPT, scenes__0__title=SCRIPT, scenes__0__expression=SCRIPT),
    "names": spoiled(
        scenes__0__panels__0__title=SCRIPT,
        scenes__0__panels__0__id=SCRIPT,
        scenes__0__panels__0__row_heads__0__name=SCRIPT,
        scenes__0__notes=[{"kind": SCRIPT, "text": SCRIPT}],
        scenes__0__colour__words=SCRIPT,
    ),
    "places that are no numbers": spoiled(scenes__0__places__m=[None, "x", {}, [], "<b>", *range(59)]),
    "places far away": spoiled(scenes__0__places__m=[10**300, -(10**300), *range(62)]),
    "dividing by nothing": spoiled(scenes__0__panels__1__row__0__divide=0),
    "steps elsewhere": spoiled(
        scenes__0__steps=[
            {
                "title": SCRIPT,
                "elements": [-1, 1e99, "x", None],
                "lanes": [SCRIPT],
                "cost": SCRIPT,
                "note": "",
            }
        ]
    ),
}


@pytest.mark.parametrize("document", STRANGE.values(), ids=STRANGE)
def test_strange_documents_are_drawn_and_run_nothing(blank: Page, document: Any):
    show(blank, document, step=0)
    for row in range(8):
        blank.hover(*cell(blank, 0, row, row))
    blank.evaluate("grids().at(-1).focus()")
    blank.press("ArrowRight", "Enter", "t", "t")
    blank.settle()
    assert blank.evaluate("typeof canary") == "undefined"
    assert blank.evaluate("shadow().querySelectorAll('img, script, svg').length") == 0
    assert blank.evaluate("document.documentElement.scrollWidth") <= 1280


MILLION = """plain => {
    const scene = plain.scenes[0];
    const side = 1000;
    scene.shape = [side, side];
    [scene.rows, scene.columns, scene.window] = [[side], [side], [[0, side], [0, side]]];
    scene.places.m = Float64Array.from({ length: side * side }, (_, at) => at);
    scene.axes[0].high = side * side - 1;
    for (const panel of scene.panels) panel.cells = [side, side];
    const term = { axis: "m", subtract: 0, scale: 1, multiply: 1 };
    scene.panels[1].row = [{ ...term, divide: side, modulo: 0 }];
    scene.panels[1].column = [{ ...term, divide: 1, modulo: side }];
    show({ document: plain });
    return shadow().querySelector(".line").textContent;
}"""
"""A document of a million elements begins to be drawn; what the line says then."""
DRAWN = "!shadow().querySelector('.line').textContent.startsWith('drawing')"


def test_a_million_elements(blank: Page):
    """An overview comes in slices, says of each element where it is, and pins no more than it can."""
    said = blank.evaluate(MILLION, TILED_DOCUMENT.as_dict(), timeout=60)
    assert said == "drawing 1,000,000 places…"
    assert blank.evaluate("shadow().querySelectorAll('.panel[inert]').length") > 0
    blank.wait(DRAWN, timeout=30)
    assert blank.evaluate("shadow().querySelectorAll('.panel[inert]').length") == 0
    blank.hover(*cell(blank, 1, 700, 300, 1000, 1000))
    row, column = map(int, line(blank)[1:].split(")")[0].split(", "))
    assert line(blank) == f"({row}, {column}): m {1000 * row + column}"
    assert abs(row - 700) <= 2
    assert abs(column - 300) <= 2
    blank.evaluate("grids()[0].focus()")
    blank.press("Enter")
    blank.press("End", modifiers=CONTROL | SHIFT)
    assert line(blank) == "1,000,000 elements: 65,536 are pinned at most"
    assert selection(blank) == [0]


TIMERS = """{
    window.late = 0;
    const own = window.setTimeout;
    window.setTimeout = (act, ...rest) => own(() => { window.late += 1; act(); }, ...rest);
}"""
"""Slices from now on are counted."""
SLICES = "new Promise(done => requestIdleCallback(() => done(window.late)))"


def test_another_document_stops_one_that_is_drawn(blank: Page):
    blank.evaluate(TIMERS)
    blank.evaluate(MILLION, TILED_DOCUMENT.as_dict(), timeout=60)
    blank.wait("window.late > 0")
    blank.evaluate("given => model.set('document', given)", TILED_DOCUMENT.as_dict())
    before = blank.evaluate(SLICES)
    assert "?" in line(blank)
    assert blank.evaluate("grids().map(grid => grid.ariaRowCount)") == ["8", "8"]
    blank.settle()
    assert blank.evaluate(SLICES) == before
    blank.evaluate(MILLION, TILED_DOCUMENT.as_dict(), timeout=60)
    blank.evaluate("end()")
    before = blank.evaluate(SLICES)
    blank.settle()
    assert blank.evaluate(SLICES) == before
    assert blank.evaluate("host.children.length") == 0


def test_who_went_elsewhere_while_it_is_drawn_stays_there(blank: Page):
    blank.evaluate("given => show({ document: given })", TILED_DOCUMENT.as_dict())
    blank.evaluate("document.body.append(Object.assign(document.createElement('input'), { id: 'own' }))")
    blank.evaluate("grids()[0].focus()")
    begun = MILLION.replace("show({ document: plain })", "model.set('document', plain)")
    blank.evaluate(begun, TILED_DOCUMENT.as_dict(), timeout=60)
    blank.evaluate("document.querySelector('#own').focus()")
    blank.wait(DRAWN, timeout=30)
    assert blank.evaluate("document.activeElement.id") == "own"


# -- everybody -----------------------------------------------------------------------------------------


STATES: dict[str, dict[str, Any]] = {
    "panels": {},
    "dark": {"theme": "dark"},
    "pinned": {"selection": [3, 4, 5]},
    "step": {"step": 0},
    "table": {"options": {"table": True}},
    "dark table": {"theme": "dark", "options": {"table": True}, "selection": [1]},
}


@pytest.mark.parametrize("values", STATES.values(), ids=STATES)
def test_axe_finds_no_fault(blank: Page, values: dict[str, Any]):
    if values.get("theme") == "dark":
        blank.evaluate("document.body.style.background = '#14161a'; document.body.style.color = '#fff'")
    show(blank, CONFLICT, **values)
    assert axe(blank) == []
    blank.evaluate("shadow().querySelector('button, [role=grid]').focus()")
    blank.press("?")
    assert axe(blank) == []
