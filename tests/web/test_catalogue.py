"""The explorer's table of the catalogue is the catalogue's."""

from __future__ import annotations

import json

import pytest
from tests.web import catalogue
from tilewise import parse


def test_the_table_is_what_the_catalogue_says(request: pytest.FixtureRequest):
    fresh = catalogue.text()
    if request.config.getoption("--update-goldens"):
        catalogue.TABLE.write_text(fresh)
    assert catalogue.TABLE.read_text() == fresh, "write it anew with --update-goldens"


def test_each_call_is_read_as_its_layout():
    rows = json.loads(catalogue.TABLE.read_text())["rows"]
    assert len({call for call, _, _ in rows}) == len(rows)
    for call, _, layout in rows:
        assert str(parse(call)) == layout, call
