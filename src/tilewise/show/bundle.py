"""The explorer's script as other hosts need it: the same bundle with another end."""

from __future__ import annotations

import re
from importlib.resources import files

from tilewise.core.errors import LayoutError

_EXPORTS = re.compile(r"export\s*\{([^{}]*)\};?\s*$")
"""What a bundle ends with, and the names in it: `a as render,b as explore`."""


def ending(name: str, end: str) -> str:
    """The bundle with `end` in the place of its exports; `{}` there is what it exports as `name`.

        refused  TW402 where the bundle exports no such name

    >>> ending("render", "{}(here);").endswith("(here);")
    True
    >>> ending("draw", "")
    Traceback (most recent call last):
    tilewise.LayoutError: TW402: the explorer's bundle in this package has no `draw`
      hint: make web
    """
    bundle = files("tilewise.show").joinpath("web", "explorer.js").read_text(encoding="utf-8")
    exports = _EXPORTS.search(bundle)
    found = exports and re.search(rf"(?:^|,)\s*([\w$]+)\s+as\s+{name}\s*(?:,|$)", exports[1])
    if exports is None or found is None:
        raise LayoutError("TW402", f"the explorer's bundle in this package has no `{name}`", hint="make web")
    return bundle[: exports.start()] + end.replace("{}", found[1])
