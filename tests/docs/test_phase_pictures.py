"""Pictures of phases on the pages: a row a lane, a column a bank, a colour a wavefront."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tilewise.check.banks import counted

pytest.importorskip("docutils", reason="the packages of the documentation are not installed")
sys.path.insert(0, str(Path(__file__).parents[2] / "docs/extensions"))

from phases import table_of


def cells(html: str) -> list[list[str]]:
    """The classes of the cells, row by row; '' where a bank serves the lane nothing."""
    rows = html.partition("<tbody>")[2].split("</tr>")[:-1]
    return [re.findall(r'<td(?: class="(c\d)")?>', row) for row in rows]


def test_each_lane_has_the_colour_of_its_wavefront() -> None:
    (phase,) = counted("ld", 8, [0, 8, None, 128, 0]).phases
    rows = cells(table_of(phase, "three vectors"))
    assert [row[:4] for row in rows] == [
        ["c0", "c0", "", ""],
        ["", "", "c0", "c0"],
        ["c1", "c1", "", ""],
        ["c0", "c0", "", ""],
    ]
    assert all(len(row) == 32 for row in rows)


def test_the_title_is_text() -> None:
    (phase,) = counted("ld", 4, [0]).phases
    html = table_of(phase, "Swizzle<3,3,3> o S[8]", "one & only")
    assert "Swizzle&lt;3,3,3&gt; o S[8]" in html
    assert "one &amp; only" in html
    assert html.count('scope="colgroup"') == 8
