"""What axe-core says of the explorer in each of its states: nothing."""

from __future__ import annotations

from tests.web.axe import axe
from tests.web.chromium import Page


def test_a_fault_is_noticed(page: Page):
    page.open("data:text/html,<html lang=en><title>x</title><main><h1>x</h1><img src='data:,'><input></main>")
    assert {line.split(" ")[0] for line in axe(page)} == {"image-alt", "label"}
