"""Scenes: what `tilewise show --panel` prints, and what `--svg FILE`, `--png` and `--html` write."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tilewise.cli.answer import Answer, misused, refuse_given
from tilewise.cli.arguments import add_options, layout_from, let_from, shape_from, text_from
from tilewise.core.errors import LayoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.layout import Layout
    from tilewise.show.paper.drawing import Drawing
    from tilewise.show.scene.model import Document, Scene

FORMS = ("svg", "png", "html")
OF_SCENES = ("panel", "access", "beside", "step")
"""What asks for more than the index."""

ALL = "all"


def picture_arguments(parser: argparse.ArgumentParser) -> None:
    """--panel, --access, --with, --step; --svg, --png, --html, and what goes with them."""
    from tilewise.show.scene.model import KINDS

    names = ", ".join((*map(_with_short, KINDS), ALL))
    page = "the explorer with this layout, in one file that needs nothing else; - for standard output"
    access = "whose wavefronts are the steps, such as col:16B; descriptor.A, descriptor.B:tcgen05, boxes"
    add_options(
        parser,
        {
            "--panel": {"action": "append", "metavar": "P", "help": f"{names}; repeatable"},
            "--access": ("A", access),
            "--step": {
                "type": int,
                "metavar": "N",
                "help": "what moves in step N, from 0 on; the rest is pale",
            },
            "--with": {
                "dest": "beside",
                "action": "append",
                "metavar": "LAYOUT2",
                "help": "a second layout, beside the first; repeatable, up to four layouts",
            },
        },
        "more than the index",
    )
    add_options(
        parser,
        {
            "--svg": ("FILE", "text as text, light and dark; - for standard output"),
            "--png": ("FILE", "twice as large; needs Pillow; - for standard output"),
            "--html": (
                "FILE",
                page,
            ),
            "--theme": (("auto", "light", "dark"), "auto: as the reader prefers"),
        },
        "a picture as a file",
    )


def _with_short(kind: str) -> str:
    """A panel with its short word, if it has one."""
    from tilewise.show.scene.model import SHORT

    short = next((word for word, meant in SHORT.items() if meant == kind), "")
    return f"{kind} ({short})" if short else kind


def files_asked(args: argparse.Namespace) -> dict[str, str]:
    """{form: file} of the pictures that are asked for."""
    found = {form: getattr(args, form) for form in FORMS if getattr(args, form) is not None}
    if not found:
        if args.theme is not None:
            raise misused("--theme is of a picture in a file", "add --svg FILE, --png or --html")
        return {}
    refuse_given(args, ("colour", "ascii"), "is of the picture in a terminal")
    if args.panel and "html" in found:
        raise misused("--panel is of a picture, and the page has all panels")
    if list(found.values()).count("-") > (0 if args.json else 1):
        said = "--json writes to standard output" if args.json else "one picture goes to standard output"
        raise misused(said, "name a file for the others")
    return found


def asks_for_a_scene(args: argparse.Namespace) -> bool:
    """Whether more than the index is asked for."""
    return any(getattr(args, name) is not None for name in OF_SCENES)


def terminal_answer(args: argparse.Namespace, room: tuple[int, int]) -> Answer:
    """The panels that are asked for, in so many columns, and so many rows each; in JSON the document."""
    from tilewise.show.leaf import lines_of
    from tilewise.show.scene.moments import refuse_step
    from tilewise.show.sheet import Room

    document = document_from(args, _layouts(args, texts_from(args)))
    refuse_step(document, args.step)
    if args.json:
        return Answer(document.as_dict(), "")
    lines = [*lines_of(document, Room(*room), step=args.step, ruled=args.ascii)]

    def draw() -> None:
        from tilewise.show.terminal import print_out

        print_out(lines, plain=args.ascii)

    return Answer({}, draw)


def files_answer(args: argparse.Namespace, asked: dict[str, str]) -> Answer:
    """The files, written; one that was there before is replaced, as by any compiler."""
    contents = _contents(args, asked)
    files = {form: content for form, content in contents.items() if asked[form] != "-"}
    for form, content in files.items():
        _write(asked[form], content)
    told = [{"form": form, "file": asked[form], "bytes": len(content)} for form, content in files.items()]
    lines = "\n".join(f"{asked[form]}: {len(content)} bytes" for form, content in files.items())
    piped = [content for form, content in contents.items() if asked[form] == "-"]
    if not piped:
        return Answer({"files": told}, lines)
    return Answer({"files": told}, lambda: _print(piped[0]), note=lines)


def _contents(args: argparse.Namespace, asked: dict[str, str]) -> dict[str, bytes]:
    """{form: bytes} of each picture that is asked for; all of them are there before one is written."""
    from tilewise.show.paper.compose import drawing_of, heading_of

    texts = texts_from(args)
    layouts = _layouts(args, texts)
    # The explorer draws more than fits on paper: its page then has the head alone where scripts are off.
    drawn = heading_of if asked.keys() == {"html"} else drawing_of
    drawing = drawn(document_from(args, layouts), step=args.step)
    theme = args.theme or "auto"
    found: dict[str, bytes] = {}
    for form in asked:
        if form == "svg":
            from tilewise.show.paper.svg import svg_of

            found[form] = svg_of(drawing, theme).encode()
        elif form == "png":
            from tilewise.show.paper.png import png_of

            found[form] = png_of(drawing, theme)
        else:
            from tilewise.show.paper.html import html_of

            shown = _on_the_page(args, texts, layouts)
            found[form] = html_of(_address(args, texts, shown), _titled(drawing, layouts, shown)).encode()
    return found


def texts_from(args: argparse.Namespace) -> list[str]:
    """The texts of LAYOUT, and of those of --with."""
    texts = [args.layout, *(args.beside or ())]
    if texts.count("-") > 1:
        raise misused("only one layout can come from standard input")
    return [text_from(text) for text in texts]


def _layouts(args: argparse.Namespace, texts: Sequence[str]) -> list[Layout]:
    return [layout_from(text, args) for text in texts]


def document_from(args: argparse.Namespace, layouts: list[Layout]) -> Document:
    """The scenes of the layouts, with the panels that are asked for."""
    from tilewise.notation import parse_window
    from tilewise.show.scene.build import document_of
    from tilewise.show.scene.compare import compared
    from tilewise.show.scene.cut import BY_HEADS, cut

    window = None if args.window is None else parse_window(args.window, let_from(args))
    names = _panels(args.panel or [ALL])
    of_panel = window is not None and {*names} <= {*BY_HEADS}
    options: dict[str, Any] = {
        "dtype": args.dtype,
        "shape": shape_from(args),
        "window": None if of_panel else window,
        "access": args.access,
    }
    made = compared(*layouts, **options) if len(layouts) > 1 else document_of(layouts[0], **options)
    found = _with_panels(_coloured(made, layouts, args.colour), layouts, names)
    if window is None or not of_panel:
        return found
    cuts = ((scene, [cut(panel, window) for panel in scene.panels]) for scene in found.scenes)
    return _changed(found, (replace(scene, panels=tuple(panels)) for scene, panels in cuts))


def _changed(document: Document, scenes: Iterable[Scene]) -> Document:
    return replace(document, scenes=tuple(scenes))


def _panels(asked: Sequence[str]) -> list[str]:
    """The panels that words name."""
    from tilewise.show.scene.model import SHORT

    words = (" ".join(name.lower().replace("-", " ").split()) for names in asked for name in names.split(","))
    return [SHORT.get(word, word) for word in words]


def _coloured(document: Document, layouts: list[Layout], axis: str | None) -> Document:
    from tilewise.show.scene.colours import colour_of

    if axis is None:
        return document
    pairs = zip(document.scenes, layouts, strict=True)
    return _changed(
        document, (replace(scene, colour=colour_of(layout, scene.axes, axis)) for scene, layout in pairs)
    )


def _with_panels(document: Document, layouts: Sequence[Layout], names: Sequence[str]) -> Document:
    """The document with the panels of some kinds alone; each kind is there in some scene."""
    from tilewise.show.scene.model import KINDS

    if ALL in names:
        return document
    there = dict.fromkeys(panel.kind for scene in document.scenes for panel in scene.panels)
    for name in names:
        if name not in there:
            _refuse_large(name, document, layouts)
            known = "this layout has none" if name in KINDS else "there is none"
            having = ", ".join(map(_with_short, there))
            raise misused(f"--panel {name}: {known}", f"it has {having}; or {ALL}")
    scenes = (
        replace(scene, panels=tuple(panel for panel in scene.panels if panel.kind in names))
        for scene in document.scenes
    )
    return _changed(document, scenes)


def _refuse_large(name: str, document: Document, layouts: Sequence[Layout]) -> None:
    """Refuse a panel that a layout has, but that is too large to be drawn."""
    from tilewise.show.scene.logical import Logical
    from tilewise.show.scene.panels import Part, too_large

    for scene, layout in zip(document.scenes, layouts, strict=True):
        part = Logical(layout.size, scene.shape, scene.rows, scene.columns, scene.window)
        why = too_large(Part(layout, part, scene.axes, scene.bits, scene.base)).get(name)
        if why is not None:
            ends = ", ".join(f"{axis.name} = {axis.low}..{axis.high}" for axis in scene.axes)
            raise LayoutError(
                "TW301",
                f"--panel {name} would have {why}: the elements are too far apart, at {ends}",
                hint="a --window of elements that are nearer has fewer; --panel index draws all",
            )


def _on_the_page(args: argparse.Namespace, texts: Sequence[str], layouts: Sequence[Layout]) -> list[str]:
    """What the page is given of each layout: a call that it knows as such, with what it says of it."""
    from tilewise.show.calls import call_in, page_knows_call

    def known(text: str) -> bool:
        return not args.let and args.unit == "element" and page_knows_call(call_in(text))

    return [text if known(text) else str(layout) for text, layout in zip(texts, layouts, strict=True)]


def _titled(drawing: Drawing, layouts: Sequence[Layout], shown: Sequence[str]) -> Drawing:
    """A drawing whose title says layouts as the page does."""
    title = drawing.title
    for layout, text in zip(layouts, shown, strict=True):
        title = title.replace(str(layout), text)
    return replace(drawing, title=title)


def _address(args: argparse.Namespace, texts: Sequence[str], shown: Sequence[str]) -> str:
    """What the page shows first, as its addresses say it."""
    from tilewise.show.address import fragment, page_knows
    from tilewise.show.calls import dtype_of_call

    if args.access is not None and not page_knows(args.access, args.dtype):
        raise misused(f"the page does not know the access {args.access}", "--svg and --png draw it")
    if len(texts) > 2:
        raise misused(f"the page shows two layouts, not {len(texts)}", "--svg and --png draw them")
    dtype = args.dtype
    if dtype is None and shown[0] != texts[0]:  # the page is given a layout, which does not say it
        dtype = dtype_of_call(texts[0], let_from(args))
    steps = {} if args.step is None else {"c": str(args.step)}
    themes = {"t": args.theme} if args.theme in ("light", "dark") else {}
    return fragment(
        shown[0],
        dtype,
        e2=shown[1] if len(shown) > 1 else None,
        a=args.access,
        s=_in_numbers(args.shape, args),
        w=_in_numbers(args.window, args),
        **steps,
        **themes,
    )


def _in_numbers(text: str | None, args: argparse.Namespace) -> str | None:
    """The text of --shape or --window with the numbers of its names, which the page does not know."""
    values = let_from(args)
    return text and re.sub(r"\b[^\W\d]\w*", lambda name: str(values[name[0]]), text)


def _write(file: str, content: bytes) -> None:
    from pathlib import Path

    try:
        Path(file).write_bytes(content)
    except OSError as error:
        raise LayoutError("TW402", f"{file} cannot be written: {error.strerror}") from None


def _print(content: bytes) -> None:
    """Bytes as they are, where standard output takes them."""
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:
        sys.stdout.write(content.decode())
    else:
        binary.write(content)
        binary.flush()
