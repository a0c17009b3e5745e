"""The explorer in a real browser: how soon it has drawn, and how soon it follows the pointer.

A time ends when the main thread has painted the frame. Pointer events come at the beginning of a frame, so
that the time of one is the work that it makes, and no wait for the screen.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from statistics import median
from threading import Thread

from page import Row, Section
from tilewise import Layout, S, Swizzle
from tilewise.show.scene.build import scene_of
from tilewise.show.scene.model import Document
from tilewise.show.server import Server

sys.path.append(str(Path(__file__).parents[1]))  # for the tests' driver of Chromium

from tests.web.chromium import Browser, Page, found

SMALL = Swizzle(3, 3, 3) @ S[(256, 256) : (256, 1)]
LARGE = S[(1024, 1024) : (1024, 1)]
PAINT, FRAME, OVERVIEW = 0.100, 0.016, 1.0
"""Seconds that are aimed at: for a first picture, for a move of the pointer, for a million cells."""

PAINTED = """window.painted = () => new Promise(done => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => done(performance.now());
    channel.port2.postMessage(0);
}))"""

RENDER = """async text => {
    const { render } = await import("/explorer.js");
    const values = { document: JSON.parse(text), selection: [], step: 0, theme: "light", options: {} };
    const model = { get: name => values[name], set() {}, on() {}, off() {}, save_changes() {} };
    window.end?.();
    document.body.replaceChildren(Object.assign(document.createElement("main"), { id: "drawn" }));
    await painted();
    const start = performance.now();
    window.end = render({ model, el: document.querySelector("#drawn") });
    return (await painted() - start) / 1000;
}"""

TYPE = """async text => {
    const field = document.querySelector("#expression");
    field.value = text;
    await painted();
    const start = performance.now();
    field.dispatchEvent(new Event("input", { bubbles: true }));
    return (await painted() - start) / 1000;
}"""

WATCH = """window.moves = [], addEventListener("pointermove", () => {
    const start = performance.now();
    painted().then(end => moves.push((end - start) / 1000));
}, { capture: true })"""


def sections() -> list[Section]:
    """One section; none where there is no Chromium."""
    if found() is None:
        return []
    with _opened() as page:
        rows = [
            _row("65,536 cells: a document's first picture", _drawn(page, SMALL, 9), PAINT),
            _row("65,536 cells: the pointer moves, median of 200", _moves(page, 200), FRAME),
            _row("1,048,576 cells: a document's first picture", _drawn(page, LARGE, 3), OVERVIEW),
            _row("1,048,576 cells: the pointer moves, median of 50", _moves(page, 50), FRAME),
        ]
    with _opened() as page:
        rows += [
            _row("65,536 cells: a letter is typed, and all is drawn anew", _typed(page, SMALL, 9), PAINT),
            _row(
                "1,048,576 cells: a letter is typed, and all is drawn anew", _typed(page, LARGE, 3), OVERVIEW
            ),
        ]
        version = page.call("Browser.getVersion")["product"].partition("/")[2]
    note = (
        f"Chromium {version} without a GPU, in a window of 1280 x 1400. From the call, the key or the event "
        "of the pointer until the main thread has painted the frame; medians."
    )
    return [Section("The explorer", note, rows)]


def _row(what: str, seconds: list[float], bar: float) -> Row:
    return Row(what, median(seconds), "the bar", bar, 1.0)


@contextmanager
def _opened() -> Iterator[Page]:
    """The explorer as it is served, with a clock in it."""
    with Server(0) as server, Browser() as browser, browser.page(1280, 1400) as page:
        Thread(target=server.serve_forever, daemon=True).start()
        page.first(PAINTED)
        page.open(server.address)
        yield page
        server.shutdown()


def _drawn(page: Page, layout: Layout, times: int) -> list[float]:
    text = json.dumps(Document((scene_of(layout),)).as_dict())
    page.evaluate(RENDER, text)  # the code is loaded and warm before anything counts
    return [page.evaluate(RENDER, text) for _ in range(times)]


def _moves(page: Page, times: int) -> list[float]:
    """The pointer goes to places of the first panel at random."""
    page.evaluate(WATCH)
    x, y = page.centre("#drawn > div >>> .grid")
    rng = Random(0)
    for _ in range(times):
        page.hover(x + rng.uniform(-100, 100), y + rng.uniform(-100, 100))
    taken: list[float] = page.wait("times => moves.length >= times && moves", times)
    return taken


def _typed(page: Page, layout: Layout, times: int) -> list[float]:
    """An expression and another in turn, so that each is new."""
    turns = [page.evaluate(TYPE, f"{layout} + {turn}@m") for turn in range(times + 1)]
    return turns[1:]
