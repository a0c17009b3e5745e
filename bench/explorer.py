"""The explorer in a real browser: how soon it has drawn, and how soon it follows the pointer.

A time ends when the main thread has painted the frame. Pointer events come at the beginning of a frame, so
that the time of one is the work that it makes, and no wait for the screen. A large picture is drawn in
slices: its time ends when all of it is there, and a reader may have to wait as long as the longest of the
tasks on the way. Chromium reports tasks from 50 ms on; a shorter one counts as 50 ms.
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
from tilewise import Layout, R, S, Swizzle
from tilewise.pictures.scene.build import scene_of
from tilewise.pictures.scene.model import Document
from tilewise.pictures.server import Server

sys.path.append(str(Path(__file__).parents[1]))  # for the tests' driver of Chromium

from tests.web.chromium import Browser, Page, found

SMALL = Swizzle(3, 3, 3) @ S[(256, 256) : (256, 1)]
LARGE, TURNED = S[(1024, 1024) : (1024, 1)], S[(1024, 1024) : (1, 1024)]
ACCESS, OTHER_ACCESS = (f"#1&e=S[(1024,1024):(1024,1)]&d=bf16&a={access}" for access in ("col:2B", "row:16B"))
COPIES = S[(1024, 256) : (1024, 1)] + R[4:8]
SORTED = (Swizzle(3, 3, 3) @ COPIES, Swizzle(2, 3, 3) @ COPIES)
FAR, FARTHER = (S[(1024, 1024) : (1 << bits, 1)] for bits in (32, 33))
PAINT, FRAME, OVERVIEW, ASKED, TASK = 0.100, 0.016, 1.0, 2.0, 0.100
"""Seconds that are aimed at: a first picture, a move of the pointer, a million cells, an access of them, the
longest task."""

PAINTED = """
window.painted = () => new Promise(done => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => done(performance.now());
    channel.port2.postMessage(0);
}));
const tasks = [];
const observer = new PerformanceObserver(list => tasks.push(...list.getEntries()));
observer.observe({ type: "longtask" });
const hosts = () => [...document.querySelectorAll(".picture > div, #drawn > div")];
const isDrawing = () => document.querySelector("[aria-busy=true]")
    || hosts().some(host => host.shadowRoot.querySelector(".line")?.textContent.startsWith("drawing"));
/** Seconds until all that was begun at `start` is drawn, and those of the longest task since. */
window.drawn = async start => {
    let end = await painted();
    while (isDrawing()) end = await painted();
    await new Promise(done => setTimeout(done, 100));  // tasks are reported later
    tasks.push(...observer.takeRecords());
    const since = tasks.filter(task => task.startTime + task.duration > start);
    const longest = Math.max(50, ...since.map(task => task.duration));
    return [end - start, longest].map(time => time / 1000);
};"""

RENDER = """async text => {
    const { render } = await import("/explorer.js");
    const values = { document: JSON.parse(text), selection: [], step: 0, theme: "light", options: {} };
    const model = { get: name => values[name], set() {}, on() {}, off() {}, save_changes() {} };
    window.end?.();
    document.body.replaceChildren(Object.assign(document.createElement("main"), { id: "drawn" }));
    await painted();
    const start = performance.now();
    window.end = render({ model, el: document.querySelector("#drawn") });
    return drawn(start);
}"""

TYPE = """async text => {
    const field = document.querySelector("#expression");
    field.value = text;
    await painted();
    const start = performance.now();
    field.dispatchEvent(new Event("input", { bubbles: true }));
    return drawn(start);
}"""

GO = """async fragment => {
    await painted();
    const start = performance.now();
    location.hash = fragment;
    await painted();
    return drawn(start);
}"""

STEP = """async () => {
    const root = hosts().map(host => host.shadowRoot).find(root => root.querySelector(".player"));
    await painted();
    const start = performance.now();
    root.querySelector(".tw").dispatchEvent(new KeyboardEvent("keydown", { key: "]" }));
    return drawn(start);
}"""

WATCH = """window.moves = [], addEventListener("pointermove", () => {
    const start = performance.now();
    painted().then(end => moves.push((end - start) / 1000));
}, { capture: true })"""


def sections() -> list[Section]:
    """Return one section; none where there is no Chromium."""
    if found() is None:
        return []
    with _opened() as page:
        rows = [
            *_rows("65,536 cells: a document's picture", _drawn(page, SMALL, 9), PAINT),
            _row("65,536 cells: the pointer moves, median of 200", _moves(page, 200), FRAME),
            *_rows("1,048,576 cells: a document's picture", _drawn(page, LARGE, 5), OVERVIEW),
            _row("1,048,576 cells: the pointer moves, median of 50", _moves(page, 50), FRAME),
            _row("1,048,576 cells: 65,536 are pinned by a drag", _drags(page, 9), PAINT),
        ]
    with _opened() as page:
        typed = "a letter is typed, and all is drawn anew"
        rows += [
            *_rows(f"65,536 cells: {typed}", _typed(page, (SMALL, SMALL + 1), 9), PAINT),
            *_rows(f"1,048,576 cells: {typed}", _typed(page, (LARGE, TURNED), 5), OVERVIEW),
        ]
        page.evaluate(GO, ACCESS)
        steps = [page.evaluate(f"({STEP})()") for _ in range(9)]
        copies = "1,048,576 places: copies are sorted, and all is drawn anew"
        rows += [
            *_rows("1,048,576 cells: a step of an access", steps, PAINT),
            *_rows("1,048,576 cells: another access", _gone(page, (ACCESS, OTHER_ACCESS), 5), ASKED),
            *_rows(copies, _typed(page, SORTED, 5), OVERVIEW),
            *_rows(
                "1,048,576 places beyond 2^31: all is drawn anew", _typed(page, (FAR, FARTHER), 5), OVERVIEW
            ),
        ]
        version = page.call("Browser.getVersion")["product"].partition("/")[2]
    note = (
        f"Chromium {version} without a GPU, in a window of 1280 x 1400. From the call, the key or the event "
        "of the pointer until the main thread has painted the frame; medians."
    )
    return [Section("The explorer", note, rows)]


def _rows(what: str, measured: list[list[float]], bar: float) -> Iterator[Row]:
    """Until all is drawn, and the longest task on the way."""
    times, tasks = map(list, zip(*measured, strict=True))
    yield _row(what, times, bar)
    yield _row(f"{what}: the longest task", tasks, TASK)


def _row(what: str, seconds: list[float], bar: float) -> Row:
    return Row(what, median(seconds), "the bar", bar, 1.0)


@contextmanager
def _opened() -> Iterator[Page]:
    """Yield the explorer as it is served, with a clock in it."""
    with Server(0) as server, Browser() as browser, browser.page(1280, 1400) as page:
        Thread(target=server.serve_forever, daemon=True).start()
        page.first(PAINTED)
        page.open(server.address)
        yield page
        server.shutdown()


def _drawn(page: Page, layout: Layout, times: int) -> list[list[float]]:
    text = json.dumps(Document((scene_of(layout),)).as_dict())
    page.evaluate(RENDER, text)  # the code is loaded and warm before anything counts
    return [page.evaluate(RENDER, text) for _ in range(times)]


def _moves(page: Page, times: int) -> list[float]:
    """Move the pointer to places of the first panel at random."""
    page.evaluate(WATCH)
    x, y = page.centre("#drawn > div >>> .grid")
    rng = Random(0)
    for _ in range(times):
        page.hover(x + rng.uniform(-100, 100), y + rng.uniform(-100, 100))
    taken: list[float] = page.wait("times => moves.length >= times && moves", times)
    return taken


def _drags(page: Page, times: int) -> list[float]:
    """Rectangles of at most 256 x 256 cells are drawn in the first panel, from its middle."""
    x, y = page.centre("#drawn > div >>> .grid")
    across, down = page.evaluate(
        "(() => { const { width, height } = document.querySelector('#drawn > div').shadowRoot"
        ".querySelector('.grid').getBoundingClientRect(); return [width, height]; })()"
    )
    page.evaluate("moves.length = 0")
    for turn in range(times):
        part = 0.249 - 0.01 * turn
        page.drag((x, y), (x + part * across, y + part * down))
        page.settle()
    page.wait("times => moves.length >= times", 2 * times)
    taken: list[float] = page.evaluate("moves")
    return taken[1::2]


def _gone(page: Page, pair: tuple[str, str], times: int) -> list[list[float]]:
    """Return a page and another in turn, by their fragments."""
    return [page.evaluate(GO, pair[turn % 2]) for turn in range(times + 1)][1:]


def _typed(page: Page, pair: tuple[Layout, Layout], times: int) -> list[list[float]]:
    """Return an expression and another in turn, so that each is new."""
    turns = [page.evaluate(TYPE, str(pair[turn % 2])) for turn in range(times + 1)]
    return turns[1:]
