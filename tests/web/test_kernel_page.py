"""The page of `tilewise read` in a browser: its policy lets it run, its links open, axe-core is content."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compiled.test_slow import HERE, texts
from tests.web.axe import axe
from tests.web.chromium import Page

import tilewise

pytestmark = pytest.mark.slow


@pytest.fixture
def shown(page: Page, tmp_path: Path) -> Page:
    """A page on two kernels, one of them with layouts."""
    for name in ("transpose_unused_pad.sass", "byte_matvec.sass", "byte_matvec.ttgir"):
        (tmp_path / name).write_text(texts()[name])
    for name in ("transpose_unused_pad.cu", "byte_matvec.py"):
        (tmp_path / name).write_text((HERE / name).read_text())
    file = tmp_path / "page.html"
    tilewise.read(tmp_path, block=(16, 8), html=file)
    page.open(file.as_uri())
    return page


def test_commands_can_be_copied(shown):
    assert shown.evaluate("[...document.querySelectorAll('button')].every(one => !one.hidden)")
    shown.evaluate(
        "window.copied = []; navigator.clipboard.writeText = async text => { copied.push(text); }; 0"
    )
    shown.click("button")
    shown.wait("document.querySelector('button').textContent == 'copied'")
    assert shown.evaluate("copied[0] == document.querySelector('.command code').textContent")


def test_a_link_opens_what_it_leads_to(shown):
    shown.evaluate("location.hash = document.querySelector('.badge').hash; 0")
    shown.wait("document.querySelector(':target') != null")
    assert shown.evaluate("document.querySelector(':target').tagName") == "ARTICLE"


def test_nothing_is_wider_than_the_window(shown):
    for width in (1280, 600, 380):
        shown.resize(width, 900)
        assert shown.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_no_fault(shown, dark):
    shown.media(dark=dark)
    shown.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; }); 0")
    assert axe(shown) == []
