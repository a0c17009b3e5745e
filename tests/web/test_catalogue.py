"""The explorer's table of the catalogue is the catalogue's."""

from __future__ import annotations

import pytest
from tests.web import catalogue
from tests.web.chromium import Page

from tilewise import parse
from tilewise.pictures.address import dtype_of_call


def test_the_table_is_what_the_catalogue_says(request: pytest.FixtureRequest):
    fresh = catalogue.text()
    if request.config.getoption("--update-goldens"):
        catalogue.TABLE.write_text(fresh)
    assert catalogue.TABLE.read_text() == fresh, "write it anew with --update-goldens"


def test_each_call_is_read_as_its_layout(explorer: Page):
    """The calls that the page makes of the table, each read in Python; none is missing, none said twice."""
    rows = explorer.evaluate("import('./hardware.js').then(({calls}) => calls())")
    wanted = [call for entry, values in catalogue.kept() for call in [entry.spelled(values)]]
    assert sorted(row["call"] for row in rows) == sorted(wanted)
    assert len(set(wanted)) == len(wanted) > 200
    for row in rows:
        assert str(parse(row["call"])) == row["layout"], row["call"]
        assert row["dtype"] == (dtype_of_call(row["call"]) or ""), row["call"]
