"""The explorer's scripts as other hosts need them: the same bundles with another end, or both as one."""

from __future__ import annotations

import re
from importlib.resources import files

from tilewise.core.errors import LayoutError

EXPLORER, HARDWARE = "explorer.js", "hardware.js"
_EXPORTS = re.compile(r"export\s*\{([^{}]*)\};?\s*$")
"""What a bundle ends with, and the names in it: `a as render,b as explore`."""
_IMPORTS = re.compile(r'\s*import\s*\{([^{}]*)\}\s*from\s*"\./explorer\.js";(?!\s*import\b)')
"""What the bundle of the hardware begins with, and the names in it: `install as a,read as b`."""
_NAMES = re.compile(r"\s*([\w$]+)(?:\s+as\s+([\w$]+))?\s*")


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
    body, exports = _split(EXPLORER)
    return body + end.replace("{}", _local(exports, name))


def ending_with_hardware(name: str, end: str) -> str:
    """The same of both bundles as one script: what the hardware's imports are its function's arguments.

        refused  TW402 where the explorer's bundle has not what the other one imports

    >>> script = ending_with_hardware("mount", "{}(here);")
    >>> script.endswith("(here);"), "movmatrix" in script, "movmatrix" in ending("mount", "")
    (True, True, False)
    """
    body, exports = _split(EXPLORER)
    inner, _ = _split(HARDWARE)
    imports = _IMPORTS.match(inner)
    if imports is None:
        raise _refused("the hardware's bundle in this package does not import of `./explorer.js` first")
    names = _pairs(imports[1])
    given = ",".join(_local(exports, outer) for outer, _ in names)
    taken = ",".join(own for _, own in names)
    return (
        f"{body}(({taken})=>{{{inner[imports.end() :]}}})({given});{end.replace('{}', _local(exports, name))}"
    )


def _split(file: str) -> tuple[str, dict[str, str]]:
    """A bundle without its exports, and {exported: what it is called inside}."""
    text = files("tilewise.pictures").joinpath("web", file).read_text(encoding="utf-8")
    exports = _EXPORTS.search(text)
    if exports is None:
        raise _refused(f"the bundle {file} in this package ends without exports")
    return text[: exports.start()], {outer: own for own, outer in _pairs(exports[1])}


def _pairs(names: str) -> list[tuple[str, str]]:
    """[(a, b)] of `a as b`; of a name alone it is both."""
    found = [_NAMES.fullmatch(name) for name in names.split(",")]
    if None in found:
        raise _refused(f"a bundle in this package has names that are none: {names[:40]}")
    return [(match[1], match[2] or match[1]) for match in found if match]


def _local(exports: dict[str, str], name: str) -> str:
    if name not in exports:
        raise _refused(f"the explorer's bundle in this package has no `{name}`")
    return exports[name]


def _refused(why: str) -> LayoutError:
    return LayoutError("TW402", why, hint="make web")
