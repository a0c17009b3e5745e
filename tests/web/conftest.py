"""Pages of a real Chromium: one browser a process, and a page for every test, cleared of the one before.

A page that throws, opens a dialog, breaks its security policy or asks beyond loopback fails its test; what a
test expects of that kind it takes out with `page.forgive()`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from threading import Thread

import pytest
from tests.web.chromium import Browser, Hung, Page, found

from tilewise.pictures.server import Server


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if found() is None:
        pytest.skip("Chromium is not installed (Debian's package chromium, or $TILEWISE_CHROMIUM)")
    with Browser() as started:
        yield started


@pytest.fixture(scope="session")
def pages(browser: Browser) -> Iterator[Pages]:
    with ExitStack() as stack:
        yield Pages(browser, stack)


class Pages:
    """Pages that are as new; a test whose page complains, or hangs, leaves none."""

    def __init__(self, browser: Browser, stack: ExitStack) -> None:
        self._browser, self._stack, self._cleared = browser, stack, list[Page]()

    def take(self) -> Page:
        """One that another test has done with, or a new one."""
        return self._cleared.pop() if self._cleared else self._stack.enter_context(self._browser.page())

    def give_back(self, page: Page) -> None:
        """Clear it for the next test."""
        with suppress(Hung):
            page.clear()
            self._cleared.append(page)


@pytest.fixture
def page(pages: Pages) -> Iterator[Page]:
    opened = pages.take()
    yield opened
    assert not opened.errors, "the page complained:\n" + "\n".join(opened.errors)
    pages.give_back(opened)


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
