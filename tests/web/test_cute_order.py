"""The page asks a layout in CuTe's notation in CuTe's words, as the command line and Python do.

PYTHONPATH=src:. python -m tests.web.test_cute_order --count 100000     asks so many
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from random import Random
from typing import Any

from tests.cli.test_cute_order import Cute, drawn
from tests.web import golden_layouts
from tests.web.chromium import Browser, Page

CHECK = Path(__file__).with_name("golden") / "check.js"
CHUNK = 200
INDICES = 3


def answers(cute: Cute, rng: Random) -> dict[str, Any]:
    """Return the facts that the page must find of a layout, its places by CuTe's own definition."""
    flats = sorted({rng.randrange(cute.size) for _ in range(INDICES)})
    kept = golden_layouts.answers(cute.text, flats)
    assert kept["points"] == [[[cute.at(flat)]] for flat in flats]
    return kept


def differences(page: Page, count: int, seed: int) -> list[str]:
    """Where the page has another answer to `count` layouts: places, who lives there, tables, texts."""
    rng = Random(seed)
    page.evaluate(CHECK.read_text() + ";0")
    found: list[str] = []
    for first in range(0, count, CHUNK):
        layouts = [answers(drawn(rng), rng) for _ in range(min(CHUNK, count - first))]
        asked = {"let": {}, "storage": [], "layouts": layouts, "faulty": []}
        found += page.evaluate("asked => golden.differences(asked)", asked)
    return found


def test_generated_layouts_are_asked_as_cute_asks_them(page: Page):
    assert differences(page, 300, 20261123) == []


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with Browser() as browser, browser.page() as page:
        found = differences(page, args.count, args.seed)
    print(f"{args.count} layouts, {len(found)} differ")
    print(*found[:20], sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
