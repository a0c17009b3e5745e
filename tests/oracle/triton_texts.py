"""The types with layouts in a text of Triton's IR, each written out without aliases."""

from __future__ import annotations

import re

ALIAS = re.compile(r"^\s*(#\w+) = (#[a-z_]+\.[a-z_]\w*.*?)\s*$", re.MULTILINE)
TYPE = re.compile(r"tensor<|![a-z_]+\.memdesc<")


def types_in(text: str) -> list[str]:
    """Return the different types with layouts in a text, in order.

    >>> types_in("#b = #ttg.blocked<{order = [0]}>\\n%0 = f : tensor<2xf32, #b>")
    ['tensor<2xf32, #ttg.blocked<{order = [0]}>>']
    """
    meanings: dict[str, str] = {}
    for name, meaning in ALIAS.findall(text):
        meanings[name] = _written_out(meaning, meanings)
    found: dict[str, None] = {}
    for match in TYPE.finditer(text):
        written = _written_out(_to_its_end(text, match.start()), meanings)
        if ", #" in written and "?" not in written and not re.search(r"#(?![a-z_]+\.)", written):
            found[written] = None
    return list(found)


def _written_out(text: str, meanings: dict[str, str]) -> str:
    return re.sub(r"#\w+\b(?!\.)", lambda name: meanings.get(name[0], name[0]), text)


def _to_its_end(text: str, start: int) -> str:
    """Return the type that begins here: as far as its angles close, on one line."""
    depth = 0
    for at in range(start, len(text)):
        if text[at] == "\n":
            return ""
        depth += (text[at] == "<") - (text[at] == ">" and text[at - 1] != "-")
        if depth == 0 and text[at] == ">":
            return text[start : at + 1]
    return ""
