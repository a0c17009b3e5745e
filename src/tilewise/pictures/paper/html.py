"""The explorer as one file: its bundles, what it shows first, and a policy that lets it do nothing else."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files

from tilewise.pictures.bundle import ending_with_hardware
from tilewise.pictures.paper.drawing import Drawing
from tilewise.pictures.paper.svg import styles, svg_of

MOST_PICTURE = 96_000
"""A picture of more bytes is left out of a page that works without scripts."""

_START = 'const page=document.getElementById("explorer");{}(page,page.dataset.state);'


def html_of(state: str, drawing: Drawing) -> str:
    """A page of HTML that needs no other file, and no network.

    `state` is what `pictures.address.fragment` writes. Where scripts are off it shows the drawing, if that is
    small, else its words.
    """
    script, style, picture = _script(), _style(), svg_of(drawing)
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
    """What the page may do: run this script, use these sheets, show pictures that it drew."""
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


def _script() -> str:
    """Both bundles, with a call of `mount` in the place of their exports."""
    script = ending_with_hardware("mount", _START)
    return re.sub(r"<(?=/script|!--)", r"\\x3c", script, flags=re.IGNORECASE)


def _style() -> str:
    return files("tilewise.pictures").joinpath("web/page.css").read_text(encoding="utf-8")
