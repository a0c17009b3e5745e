"""Source text with slots: a whole program is one text, and what varies is put into it."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SLOT = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_ALONE = re.compile(r"^([ ]*)\$(\w+)$")


def filled(template: str, slots: Mapping[str, object]) -> str:
    """The template with a value for every `$slot` or `${slot}`.

    A slot that is alone on its line stands for any number of lines, each indented as it is; for none, no line
    is left.

        requires  every slot has a value

    >>> print(filled("if (x)\\n    $body\\n$rest\\nreturn $x;", {"body": "a();\\nb();", "rest": "", "x": 3}))
    if (x)
        a();
        b();
    return 3;
    """
    lines: list[str] = []
    for line in template.splitlines():
        alone = _ALONE.match(line)
        if alone is None:
            lines.append(_SLOT.sub(lambda slot: str(slots[slot[1] or slot[2]]), line))
        else:
            inside = str(slots[alone[2]])
            lines += [f"{alone[1]}{own}".rstrip() for own in inside.splitlines()]
    return "\n".join(lines)
