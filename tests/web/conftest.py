"""Pages of a real Chromium: one browser a process, a page of its own for every test.

A page that throws, opens a dialog, breaks its security policy or asks beyond loopback fails its test; what a
test expects of that kind it takes out with `page.forgive()`.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread

import pytest
from tests.web.chromium import Browser, Page, found

from tilewise.show.server import Server


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if found() is None:
        pytest.skip("Chromium is not installed (Debian's package chromium, or $TILEWISE_CHROMIUM)")
    with Browser() as started:
        yield started


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.page() as opened:
        yield opened
        assert not opened.errors, "the page complained:\n" + "\n".join(opened.errors)


@pytest.fixture(scope="session")
def served() -> Iterator[str]:
    """The address at which the explorer is served, as `tilewise explore` serves it."""
    with Server(0) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.address
        server.shutdown()


@pytest.fixture
def explorer(page: Page, served: str) -> Page:
    """A page on the explorer, as it starts."""
    page.open(served)
    return page
