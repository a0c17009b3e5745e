"""The explorer as one file: its scripts, what it shows first, and a policy that lets it do nothing else.

Other hosts need the same bundles with another end, or both as one.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from html import escape
from importlib.resources import files

from tilewise.core.errors import LayoutError
from tilewise.pictures.paper.drawing import Drawing
from tilewise.pictures.paper.svg import styles, svg_of

EXPLORER, HARDWARE = "explorer.js", "hardware.js"
_NAME = r"[\w$]+(?: as [\w$]+)?"
_NAMES = rf"\{{({_NAME}(?:,{_NAME})*)\}}"
_EXPORTS = re.compile(rf"export{_NAMES};?\s*$")
"""The end of a bundle, with the names in it: `a as render,b as explore`."""
_IMPORTS = re.compile(rf'^import{_NAMES}from"\./explorer\.js";(?!\s*import\b)')
"""The start of the hardware's bundle, with the names in it: `install as a,read as b`."""


def ending(name: str, end: str) -> str:
    """Return the bundle with `end` in the place of its exports; `{}` there is what it exports as `name`.

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
    """Return both bundles as one script: what the hardware's imports are its function's
    arguments.

        refused  TW402 where the explorer's bundle has not what the other one imports

    >>> script = ending_with_hardware("mount", "{}(here);")
    >>> script.endswith("(here);"), "movmatrix" in script, "movmatrix" in ending("mount", "")
    (True, True, False)
    """
    body, exports = _split(EXPLORER)
    inner, _ = _split(HARDWARE)
    imports = _sought(_IMPORTS, inner, HARDWARE)
    names = _pairs(imports)
    given = ",".join(_local(exports, outer) for outer, _ in names)
    taken = ",".join(inside for _, inside in names)
    return (
        f"{body}(({taken})=>{{{inner[imports.end() :]}}})({given});{end.replace('{}', _local(exports, name))}"
    )


def _split(file: str) -> tuple[str, dict[str, str]]:
    """Return a bundle without its exports, and {exported: what it is called inside}."""
    text = files("tilewise.pictures").joinpath("web", file).read_text(encoding="utf-8")
    exports = _sought(_EXPORTS, text, file)
    return text[: exports.start()], {outer: inside for inside, outer in _pairs(exports)}


def _sought(pattern: re.Pattern[str], text: str, file: str) -> re.Match[str]:
    found = pattern.search(text)
    if found is None:
        raise _refused(f"the bundle {file} in this package has other imports or exports than it should")
    return found


def _pairs(names: re.Match[str]) -> list[tuple[str, str]]:
    """Return [(a, b)] of `a as b`; of a name alone it is both."""
    found = (name.partition(" as ") for name in names[1].split(","))
    return [(before, after or before) for before, _, after in found]


def _local(exports: Mapping[str, str], name: str) -> str:
    if name not in exports:
        raise _refused(f"the explorer's bundle in this package has no `{name}`")
    return exports[name]


def _refused(why: str) -> LayoutError:
    return LayoutError("TW402", why, hint="make web")


MOST_PICTURE = 96_000
"""A picture of more bytes is left out of a page that works without scripts."""

_START = 'const page=document.getElementById("explorer");{}(page,page.dataset.state);'


def html_of(state: str, drawing: Drawing) -> str:
    """Return a page of HTML that needs no other file, and no network.

    `state` is what `pictures.address.fragment` writes. Where scripts are off it shows the drawing, if that is
    small, else its words.
    """
    script = re.sub(r"<(?=/script|!--)", r"\\x3c", ending_with_hardware("mount", _START), flags=re.IGNORECASE)
    style = files("tilewise.pictures").joinpath("web/page.css").read_text(encoding="utf-8")
    picture = svg_of(drawing)
    if len(picture) > MOST_PICTURE:
        picture = f"<p>{escape(drawing.words)}</p>\n"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(script, style, styles())}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(drawing.title)}</title>\n"
        '<link rel="icon" href="data:,">\n'
        f"<style>{style}</style>\n</head>\n<body>\n"
        f'<div id="explorer" data-state="{escape(state)}"><noscript>\n{picture}</noscript></div>\n'
        f'<script type="module">{script}</script>\n</body>\n</html>\n'
    )


def policy(script: str, *sheets: str) -> str:
    """Return the page's rights: run this script, use these sheets, show pictures that it drew."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_digest(script)}'",
            "style-src " + " ".join(f"'{_digest(sheet)}'" for sheet in sheets),
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )


def _digest(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()
