"""axe-core in a page: what it finds fault with, in words.

The source is the one that the package axe-playwright-python carries; the package itself is not imported.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.web.chromium import Page

RUN = """async only => {
    const rules = only ? { runOnly: only } : {};
    const { violations } = await axe.run(document, { resultTypes: ["violations"], ...rules });
    return violations.flatMap(({ id, impact, help, nodes }) =>
        nodes.map(({ target, failureSummary }) =>
            `${id} (${impact}): ${help}\\n  at ${target.flat().join(" >>> ")}\\n  ${failureSummary}`));
}"""


def axe(page: Page, only: str = "") -> list[str]:
    """The violations of a page as it is now, of all rules or one; colours are judged when they rest."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(f"{_source()};0")
    page.evaluate(
        "Promise.all(document.getAnimations().map(one => one.finished.catch(() => 0))).then(() => 0)"
    )
    found: list[str] = page.evaluate(RUN, only)
    return found


@cache
def _source() -> str:
    package = find_spec("axe_playwright_python")
    for place in (package.submodule_search_locations or []) if package else []:
        return (Path(place) / "axe.min.js").read_text(encoding="utf-8")
    pytest.skip("axe-core is not installed: pip install --no-deps axe-playwright-python")
