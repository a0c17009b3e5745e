"""The page refuses to draw at the numbers at which Python refuses to make, as both sources have them."""

from __future__ import annotations

import re
from pathlib import Path

from tilewise.pictures.scene import logical, model

SOURCES = Path(__file__).parents[2] / "web/src"
NUMBER = re.compile(r"^(?:export )?const (MOST_\w+|FAR) = (\d+(?: <<| \*\*)? ?\d*);$", re.M)


def limits() -> dict[str, int]:
    """{name: number} of the page's limits, as its sources say them."""
    texts = [(SOURCES / name).read_text(encoding="utf-8") for name in ("view/checked.ts", "scene/logical.ts")]
    return {name: evaluated(said) for text in texts for name, said in NUMBER.findall(text)}


def evaluated(said: str) -> int:
    """A number, a shift or a power."""
    if "<<" in said:
        base, power = map(int, said.split(" << "))
        return base << power
    base, _, power = said.partition(" ** ")
    return int(int(base) ** int(power or 1))


def test_the_page_and_python_have_the_same_limits():
    known = vars(model) | vars(logical)
    found = limits()
    shared = {"FAR", "MOST_CELLS", "MOST_PARTS", "MOST_SCENES"}
    assert sorted(found.keys() - shared) == ["MOST_BITS", "MOST_PANELS", "MOST_SLOTS", "MOST_STEPS"]
    assert {name: found[name] for name in shared} == {name: known[name] for name in shared}
