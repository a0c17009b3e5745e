"""The widget in a real JupyterLab and a real marimo, driven in Chromium: what is clicked is there in Python.

`make notebooks` runs this; the pictures come to `$TILEWISE_SHOTS`, where that is set.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.notebooks.hosts import is_installed, jupyterlab, marimo
from tests.web.chromium import Browser, Page, found

pytestmark = pytest.mark.notebooks

SOON = 60.0
"""Seconds until a kernel has started, imported and answered."""

CELLS = [
    """\
from tilewise import S, laneid, reg
from tilewise.notebook import explore

widget = explore(S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)], shape=(8, 8))
widget""",
    "print('clicked', [(element.index, *element.places) for element in widget.selected])",
    "widget.select((1, 2), (7, 7))",
]
APP = """\
import marimo

app = marimo.App()

@app.cell
def _():
    import marimo as mo
    from tilewise import S, laneid, reg
    from tilewise.notebook import explore

    widget = explore(S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)], shape=(8, 8))
    return mo, widget

@app.cell
def _(mo, widget):
    view = mo.ui.anywidget(widget)
    view
    return (view,)

@app.cell
def _(mo, view, widget):
    view.value  # that the cell runs again
    mo.plain_text(f"clicked {[(element.index, *element.places) for element in widget.selected]}")
    return

@app.cell
def _(mo, widget):
    mo.ui.button(label="two others", on_click=lambda _: widget.select((1, 2), (7, 7)))
    return
"""
CLICKED = "clicked [((5, 7), 23@laneid + 1@reg)]"
OTHERS = "Pinned (1, 2), (7, 7): 2 elements"

DEEP = """
window.all = (selector, root = document) => [
    ...root.querySelectorAll(selector),
    ...[...root.querySelectorAll("*")].flatMap(one => one.shadowRoot ? all(selector, one.shadowRoot) : []),
];
"""
"""Elements wherever they are: hosts have shadows of their own around that of the component."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if found() is None:
        pytest.skip("Chromium is not installed (Debian's package chromium, or $TILEWISE_CHROMIUM)")
    with Browser() as started:
        yield started


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.page(1280, 1400) as opened:
        opened.first(DEEP)
        yield opened


def test_a_click_in_jupyterlab_reaches_python(page: Page, tmp_path: Path):
    if not is_installed("jupyterlab"):
        pytest.skip("JupyterLab is not installed: make notebooks")
    with jupyterlab(tmp_path, CELLS) as address:
        page.open(address, timeout=SOON)
        page.wait("window.jupyterapp?.shell.currentWidget?.content?.widgets?.length === 3", timeout=SOON)
        page.evaluate("jupyterapp.shell.currentWidget.sessionContext.ready", timeout=SOON)
        run(page, 0)
        click(page, 5, 7)
        run(page, 1)
        wait_for(page, CLICKED)
        keep(page, "jupyterlab.png")
        run(page, 2)
        wait_for(page, OTHERS)
        assert beyond(page) == []


def test_a_click_in_marimo_reaches_python(page: Page, tmp_path: Path):
    if not is_installed("marimo"):
        pytest.skip("marimo is not installed: make notebooks")
    with marimo(tmp_path, APP) as address:
        page.open(address, timeout=SOON)
        click(page, 5, 7)
        wait_for(page, CLICKED)
        keep(page, "marimo.png")
        page.evaluate("all('button').find(one => one.textContent.includes('two others')).click()")
        wait_for(page, OTHERS)
        assert beyond(page) == []


def run(page: Page, cell: int) -> None:
    """Run a cell of JupyterLab's notebook."""
    page.evaluate(
        """async at => {
            jupyterapp.shell.currentWidget.content.activeCellIndex = at;
            await jupyterapp.commands.execute("notebook:run-cell");
        }""",
        cell,
        timeout=SOON,
    )


def click(page: Page, row: int, column: int) -> None:
    """Click on a cell of the first panel, which is 8 x 8, when it is there."""
    page.wait("all('.tw [role=grid]').length === 2", timeout=SOON)
    page.settle()
    x, y, width, height = page.evaluate(
        """(() => {
            const [grid] = all(".tw [role=grid]");
            grid.scrollIntoView({block: "center", behavior: "instant"});
            const box = grid.getBoundingClientRect();
            return [box.x, box.y, box.width, box.height];
        })()"""
    )
    page.click_at(x + (column + 0.5) * width / 8, y + (row + 0.5) * height / 8)
    wait_for(page, "Pinned (5, 7): laneid 23, reg 1")


def wait_for(page: Page, text: str) -> None:
    """Until the page says so, as output or below the widget."""
    condition = "text => all('p, pre').some(one => one.checkVisibility() && one.textContent.includes(text))"
    page.wait(condition, text, timeout=SOON)


def beyond(page: Page) -> list[str]:
    """Return the requests of the page beyond this machine, and the errors of the widget's own script."""
    return [error for error in page.errors if error.startswith("asked for") or "tilewise" in error]


def keep(page: Page, name: str) -> None:
    if folder := os.environ.get("TILEWISE_SHOTS"):
        page.settle()
        Path(folder, name).write_bytes(page.screenshot())
