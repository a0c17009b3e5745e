"""The page "Paste it" lists every dialect, and says which are written."""

from __future__ import annotations

import re
from pathlib import Path

from tilewise.notation.dialects import DIALECTS

PAGE = Path(__file__).parents[2] / "docs/paste.md"


def test_the_table_has_every_dialect():
    rows = re.findall(r"^\| `([\w-]+)` \|.*\| (yes|no|only) \|$", PAGE.read_text(encoding="utf-8"), re.M)
    ways = {(True, True): "yes", (True, False): "no", (False, True): "only"}
    assert dict(rows) == {name: ways[found.reads, found.writes] for name, found in DIALECTS.items()}
