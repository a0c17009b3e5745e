"""The directive `picture`: a layout drawn as `tilewise show --svg` does it, and a link to it in the explorer.

The explorer is one file of the built pages, `try.html`. The colours follow the theme of the pages.
"""

from __future__ import annotations

from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives

from tilewise import Layout, parse
from tilewise.notation import parse_shape, parse_window
from tilewise.pictures.address import fragment
from tilewise.pictures.paper.compose import drawing_of
from tilewise.pictures.paper.html import html_of
from tilewise.pictures.paper.svg import DARK, LIGHT, TYPE, rules, svg_of
from tilewise.pictures.scene.build import document_of
from tilewise.pictures.scene.compare import compared
from tilewise.pictures.scene.model import Document

EXPLORER = "try.html"
ROOM = {"wide": 760, "narrow": 400}
"""As wide as the text of a page, and of a page in a hand; the style sheet shows one of them."""

OPTIONS = "shape dtype access with window step preset panels caption".split()


class Picture(Directive):
    """`picture` LAYOUT, with options as those of `tilewise show`; `panels` all draws more than the index.

    `preset` is the name that the picture has in the explorer.
    """

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = dict.fromkeys(OPTIONS, directives.unchanged)

    def run(self) -> list[nodes.Node]:
        """Return the figure, as HTML."""
        page = self.state.document.settings.env
        number = page.new_serialno("picture")
        up = "../" * page.docname.count("/")
        return [nodes.raw("", figure(self.arguments[0], self.options, number, up), format="html")]


def figure(expression: str, options: dict[str, str], number: int = 0, up: str = "") -> str:
    """Return a layout as an HTML figure; `up` leads to the folder of the first page."""
    layout = parse(expression)
    document = document_for(layout, options)
    step = options.get("step")
    moment = None if step is None else int(step)
    svgs = (
        f'<div class="{name}">{svg_of(drawing_of(document, step=moment, room=room), "host", number=at)}</div>'
        for at, (name, room) in enumerate(ROOM.items(), start=len(ROOM) * number)
    )
    caption = escape(options.get("caption", ""))
    link = f'<a href="{up}{EXPLORER}{escape(address_of(layout, options))}">open in the explorer</a>'
    return f'<figure class="scene">{"".join(svgs)}<figcaption>{caption} {link}</figcaption></figure>'


def document_for(layout: Layout, options: dict[str, str]) -> Document:
    """Return what is drawn: the index alone, where the options ask for nothing more."""
    asked: dict[str, Any] = {"dtype": options.get("dtype"), "access": options.get("access")}
    if "shape" in options:
        asked["shape"] = parse_shape(options["shape"])
    if "window" in options:
        asked["window"] = parse_window(options["window"], {})
    if "with" in options:
        return compared(layout, parse(options["with"]), **asked)
    document = document_of(layout, **asked)
    if options.get("panels") == "all":
        return document
    (scene,) = document.scenes
    return replace(document, scenes=(replace(scene, panels=scene.panels[:1], notes=()),))


def address_of(layout: Layout, options: dict[str, str]) -> str:
    """Return the picture as an address of the explorer."""
    step = {"c": options["step"]} if "step" in options else {}
    if "preset" in options:
        return "#" + "&".join(["1", f"p={options['preset']}", *(f"c={number}" for number in step.values())])
    beside = str(parse(options["with"])) if "with" in options else None
    known = {name: options.get(option) for name, option in (("a", "access"), ("s", "shape"), ("w", "window"))}
    return fragment(str(layout), options.get("dtype"), e2=beside, **known, **step)


def sheet() -> str:
    """Return the colours of all pictures, which follow the theme that the reader chose for these pages."""
    chosen = rules('body[data-theme="dark"] .tilewise', DARK)
    preferred = rules('body:not([data-theme="light"]) .tilewise', DARK)
    light = rules(".tilewise", LIGHT)
    return f"{TYPE}\n{light}\n{chosen}\n@media (prefers-color-scheme: dark) {{{preferred}}}\n"


def write_files(app: Any) -> None:
    """Write the style sheet and the explorer beside the other files of the pages."""
    folder = Path(app.doctreedir) / "pictures"
    styles, pages = folder / "styles", folder / "pages"
    for made in (styles, pages):
        made.mkdir(parents=True, exist_ok=True)
    (styles / "pictures.css").write_text(sheet(), encoding="utf-8")
    first = drawing_of(document_of(parse("S[(4, 2, 2, 4) : (16, 4, 8, 1)]"), shape=(8, 8), title="tilewise"))
    (pages / EXPLORER).write_text(html_of("", first), encoding="utf-8")
    app.config.html_static_path.append(str(styles))
    app.config.html_extra_path.append(str(pages))


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("picture", Picture)
    app.add_css_file("pictures.css")
    app.connect("builder-inited", write_files)
    return {"parallel_read_safe": True}
