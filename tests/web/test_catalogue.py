"""The explorer's table of the catalogue is the catalogue's."""

from __future__ import annotations

import json
import re

import pytest
from tests.web import catalogue

from tilewise import parse


def test_the_table_is_what_the_catalogue_says(request: pytest.FixtureRequest):
    fresh = catalogue.text()
    if request.config.getoption("--update-goldens"):
        catalogue.TABLE.write_text(fresh)
    assert catalogue.TABLE.read_text() == fresh, "write it anew with --update-goldens"


def test_each_call_is_read_as_its_layout():
    seen = set()
    for name, _, _, layouts in json.loads(catalogue.TABLE.read_text()):
        for layout, _, arguments in layouts:
            for given in arguments.split("|"):
                call = f"{name}({given})"
                n = re.search(r"n=(\d+)", given)
                assert str(parse(call)) == layout.replace("{n/8}", str(int(n[1]) // 8 if n else "")), call
                assert call not in seen
                seen.add(call)
    assert len(seen) > 200
