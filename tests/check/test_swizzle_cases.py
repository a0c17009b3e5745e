"""Swizzles that others published, each beside what the search finds, and the page's table of them.

No count here comes from the search: every request is counted by the definition, on the addresses that the
plain table of the layout gives.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tilewise import Layout, parse
from tilewise.check.access import Access
from tilewise.check.banks import counted
from tilewise.check.swizzling import Choice, choose
from tilewise.tables import table

CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("swizzle_cases.json").read_text())
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "swizzle-cases.md"
BEGIN, END = (
    "<!-- the cases, written by tests/check/test_swizzle_cases.py -->\n",
    "<!-- end of the cases -->\n",
)

each = pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"].replace(" ", "-"))


def tile_of(text: str) -> Layout | tuple[int, ...]:
    return parse(text) if "[" in text else tuple(map(int, text.split("x")))


@cache
def chosen(number: int) -> Choice:
    case = CASES[number]
    return choose(tile_of(case["tile"]), case["accesses"], dtype=case["dtype"])


def wavefronts(layout: Layout, access: Access) -> int:
    """Count request by request, lane by lane, from all elements of every vector."""
    places = table(layout).array.reshape(-1).tolist()
    asked = table(access.index).array.reshape(access.requests, access.lanes, access.elements).tolist()
    size = access.dtype.bits // 8
    total = 0
    for request in asked:
        addresses: list[int | None] = []
        for elements in request:
            if elements[0] >= len(places):
                addresses.append(None)
                continue
            where = [places[element] for element in elements]
            assert where == list(range(where[0], where[0] + len(where)))
            addresses.append(where[0] * size)
        total += counted(access.operation, access.bytes, addresses).wavefronts
    return total


def published(number: int) -> int:
    layout = parse(CASES[number]["published"])
    return sum(wavefronts(layout, one.access) for one in chosen(number).asked)


@each
def test_never_worse_than_published(case: dict[str, Any]) -> None:
    number = CASES.index(case)
    found = chosen(number)
    assert [wavefronts(found.best.layout, one.access) for one in found.asked] == list(found.best.wavefronts)
    assert found.cost <= published(number)
    if found.cost == published(number):
        places = table(parse(case["published"])).array
        assert found.best.bytes <= (int(places.max()) + 1) * found.dtype.bits // 8


@each
def test_what_is_proven_holds_for_what_was_published(case: dict[str, Any]) -> None:
    found = chosen(CASES.index(case))
    assert found.proof in ("ideal", "bound")
    assert found.bound is not None
    assert found.ideal <= found.bound == found.cost <= published(CASES.index(case))


@each
def test_every_family_is_counted_right(case: dict[str, Any]) -> None:
    found = chosen(CASES.index(case))
    for searched in found.searched:
        if searched.best is not None:
            best = searched.best
            assert [wavefronts(best.layout, one.access) for one in found.asked] == list(best.wavefronts)
            assert best.cost >= found.cost


def test_some_published_answers_have_conflicts() -> None:
    """Else the comparison would show nothing."""
    better = [case["case"] for number, case in enumerate(CASES) if chosen(number).cost < published(number)]
    assert len(CASES) >= 20
    assert len(better) >= 5


def test_the_table_of_the_page(request: pytest.FixtureRequest) -> None:
    before, found, after = _cut(PAGE.read_text())
    wanted = "\n".join(_rows()) + "\n"
    if request.config.getoption("--update-goldens"):
        PAGE.write_text(before + wanted + after)
    else:
        assert found == wanted, "if this is right: pytest --update-goldens"


def _cut(text: str) -> tuple[str, str, str]:
    first, last = text.index(BEGIN) + len(BEGIN), text.index(END)
    return text[:first], text[first:last], text[last:]


def _rows() -> Iterable[str]:
    yield "| case | of | its layout | wavefronts | found | wavefronts | no layout is below |"
    yield "|---|---|---|---|---|---|---|"
    for number, case in enumerate(CASES):
        found, source = chosen(number), f"[{case['source']}]({case['url']})"
        yield (
            f"| {case['case']} | {source} | `{case['published']}` | {published(number)} "
            f"| `{found.best.layout}` | {found.cost} | {found.bound} |"
        )
