"""Some of the explorer's presets as it shows them, for docs/show.md and README.

    PYTHONPATH=src:. python -m tests.web.screenshots

It needs Chromium and Pillow. The pictures have few colours, and are kept with as many: some 50 kB each.
"""

from __future__ import annotations

import io
from pathlib import Path
from threading import Thread
from typing import Any

from PIL import Image
from tests.web.chromium import Browser, Page

from tilewise.pictures.server import Server

FOLDER = Path(__file__).parents[2] / "docs/static/explorer"
WIDTH, COLOURS = 1280, 255

SEEN: dict[str, dict[str, Any]] = {
    "conflict": {"c": 0},
    "accumulator": {"t": "dark"},
    "tmem": {},
    "descriptor": {"c": 1},
}
"""{preset: the pins, the step or the theme of its picture}."""

FRAGMENTS = """seen => import("/explorer.js").then(({PRESETS, toFragment}) => {
  const shown = PRESETS.filter(({id}) => id in seen);
  return shown.map(({id, choices}) => {
    const which = id === "tmem" ? 1 : 0;
    const chosen = choices.map(({options}) => options[which].replace(/[ .]/g, "_"));
    return [id, toFragment({v: 1, e: "", p: [id, ...chosen].join("."), ...seen[id]})];
  });
})"""


def main() -> None:
    """Take them all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with Server(0) as server, Browser() as browser:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        with browser.page(WIDTH, 640) as page:
            page.open(server.address)
            fragments = page.evaluate(FRAGMENTS, SEEN)
        for name, fragment in fragments:
            with browser.page(WIDTH, 640) as page:
                page.open(server.address + fragment)
                print(f"{name:12} {taken(page, FOLDER / f'{name}.png')} bytes")
        server.shutdown()


def taken(page: Page, file: Path) -> int:
    """Write what a page shows; its bytes."""
    page.settle()
    page.evaluate("new Promise(done => setTimeout(done, 300))")
    whole = Image.open(io.BytesIO(page.screenshot(whole=True))).convert("RGB")
    few = whole.quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(file, optimize=True)
    return file.stat().st_size


if __name__ == "__main__":
    main()
