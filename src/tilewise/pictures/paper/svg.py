"""A drawing as SVG: text as text, no script, the colours of both themes.

The two palettes of eight colours are those of `web/src/view/palette.ts`; a test holds them together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from tilewise.core.errors import LayoutError
from tilewise.pictures.paper.drawing import Drawing, Fill, Item, Text

FADE = 0.2
"""The part of its colour that a faded cell keeps."""


@dataclass(frozen=True, slots=True)
class Palette:
    """Return the colour that a name has in a theme."""

    name: str
    paper: str
    ink: str
    quiet: str
    rule: str
    empty: str
    fills: tuple[str, ...]

    @property
    def roles(self) -> dict[str, str]:
        """{name: colour}: c0 to c7 are the fills, f0 to f7 the same faded.

        >>> LIGHT.roles["c1"], LIGHT.roles["f1"]
        ('#75b28f', '#e3f0e9')
        """
        roles = {"paper": self.paper, "ink": self.ink, "quiet": self.quiet}
        roles |= {"rule": self.rule, "empty": self.empty}
        roles |= {f"c{number}": fill for number, fill in enumerate(self.fills)}
        return roles | {f"f{number}": _mixed(fill, self.paper) for number, fill in enumerate(self.fills)}


def _mixed(fill: str, paper: str) -> str:
    pairs = zip(bytes.fromhex(fill[1:]), bytes.fromhex(paper[1:]), strict=True)
    return "#" + "".join(f"{int(own * FADE + other * (1 - FADE) + 0.5):02x}" for own, other in pairs)


LIGHT = Palette(
    name="light",
    paper="#ffffff",
    ink="#16191f",
    quiet="#5c6370",
    rule="#d9dce1",
    empty="#f4f5f7",
    fills=("#fbc267", "#75b28f", "#c9efff", "#84baf6", "#fff2a0", "#d97d42", "#cdc8bf", "#d8a3c8"),
)
DARK = Palette(
    name="dark",
    paper="#14161a",
    ink="#f5f6f8",
    quiet="#9aa1ad",
    rule="#343941",
    empty="#1c1f24",
    fills=("#723d00", "#3b664c", "#0576b5", "#1f366c", "#6e7610", "#6a1d19", "#444b55", "#844684"),
)
PALETTES = {"light": LIGHT, "dark": DARK}
THEMES = ("auto", "light", "dark")
"""auto: as the reader prefers."""


SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif"
MONO = "ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace"


def svg_of(drawing: Drawing, theme: str = "auto", *, number: int = 0) -> str:
    """Return a picture as one element of SVG; the same bytes for the same drawing.

    `theme` is light, dark, or auto: what the reader prefers. With `host` the page around it has the
    styles, which `rules` gives. In one page every picture has a `number` of its own.

    >>> from tilewise import S
    >>> from tilewise.pictures.paper.compose import drawing_of
    >>> from tilewise.pictures.scene.build import document_of
    >>> svg_of(drawing_of(document_of(S[(2, 4)])))[:58]
    '<svg xmlns="http://www.w3.org/2000/svg" class="tilewise" v'
    """
    wide, high = drawing.width, drawing.height
    size = f'viewBox="0 0 {wide} {high}" width="{wide}" height="{high}"'
    title, words = f"tw-title-{number}", f"tw-words-{number}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tilewise" {size} '
        f'role="img" aria-labelledby="{title} {words}">',
        f'<title id="{title}">{escaped(drawing.title)}</title>',
        f'<desc id="{words}">{escaped(drawing.words)}</desc>',
        *([] if theme == "host" else [f"<style>{styles(theme)}</style>"]),
        f'<path class="paper" d="M0 0h{wide}v{high}h-{wide}z"/>',
        *_items(drawing.items),
        "</svg>\n",
    ]
    return "\n".join(parts)


def styles(theme: str = "auto") -> str:
    """Return the style sheet of a picture that stands alone."""
    if theme not in THEMES:
        raise LayoutError("TW401", f"there is no theme {theme!r}", hint="themes: " + ", ".join(THEMES))
    if theme != "auto":
        return TYPE + rules(".tilewise", PALETTES[theme])
    dark = rules(".tilewise", DARK)
    return f"{TYPE}{rules('.tilewise', LIGHT)}@media (prefers-color-scheme:dark){{{dark}}}"


def rules(selector: str, palette: Palette) -> str:
    """Return what the names of colours mean inside what a selector finds."""
    return "".join(f"{selector} .{role}{{fill:{colour}}}" for role, colour in palette.roles.items())


TYPE = (
    f".tilewise text{{font-family:{SANS};white-space:pre}}"
    f".tilewise .mono{{font-family:{MONO}}}"
    ".tilewise .bold{font-weight:600}"
    ".tilewise .middle{text-anchor:middle}"
    ".tilewise .end{text-anchor:end}"
)
"""The fonts of texts, in either theme."""


def _items(items: Iterable[Item]) -> Iterator[str]:
    """Boxes of one colour are one path; texts of one line and one style are one element."""
    for _, run in groupby(items, lambda item: item.role if isinstance(item, Fill) else (item.y, item.style)):
        listed = [*run]
        texts = [item for item in listed if isinstance(item, Text)]
        if texts:
            yield _line(texts)
            continue
        boxes = (box for fill in listed if isinstance(fill, Fill) for box in fill.boxes)
        path = "".join(f"M{box.x} {box.y}h{box.width}v{box.height}h-{box.width}z" for box in boxes)
        yield f'<path class="{listed[0].role}" d="{path}"/>'


def _line(texts: list[Text]) -> str:
    first = texts[0]
    marks = (first.role, "mono" * first.mono, "bold" * first.bold, first.anchor.removeprefix("start"))
    style = " ".join(filter(None, marks))
    head = f'<text class="{style}" font-size="{first.size}" y="{_number(first.y)}"'
    if len(texts) == 1:
        return f'{head} x="{_number(first.x)}">{escaped(first.text)}</text>'
    spans = (f'<tspan x="{_number(text.x)}">{escaped(text.text)}</tspan>' for text in texts)
    return f"{head}>{''.join(spans)}</text>"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def escaped(text: str) -> str:
    """Text inside an element; what XML has no place for becomes a question mark in a box."""
    sound = _UNSOUND.sub("\ufffd", text)
    return sound.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_UNSOUND = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
    "|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""Characters that XML may not have, and those that turn the direction of what stands around them."""
