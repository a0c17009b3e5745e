"""Pictures as files: what `tilewise show --svg FILE`, `--png` and `--html` write."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tilewise.cli.answer import Answer
from tilewise.cli.arguments import layout_from, let_from, shape_from, text_from
from tilewise.core.errors import LayoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.layout import Layout
    from tilewise.show.scene.model import Document

FORMS = ("svg", "png", "html")
ONLY_IN_FILES = ("access", "beside", "theme", "step")


def picture_arguments(parser: argparse.ArgumentParser) -> None:
    """--svg, --png, --html, and what goes with them."""
    group = parser.add_argument_group("a picture as a file")
    for form, what in (
        ("svg", "text as text, light and dark"),
        ("png", "twice as large; needs Pillow"),
        ("html", "the explorer with this layout, in one file that needs nothing else"),
    ):
        group.add_argument(f"--{form}", metavar="FILE", help=f"{what}; - for standard output")
    group.add_argument("--access", metavar="A", help="whose wavefronts are the steps, such as col:16B")
    group.add_argument("--with", dest="beside", metavar="LAYOUT2", help="a second layout, beside the first")
    group.add_argument(
        "--step", type=int, metavar="N", help="what moves in step N, from 0 on; the rest is pale"
    )
    group.add_argument("--theme", choices=("auto", "light", "dark"), help="auto: as the reader prefers")


def files_asked(args: argparse.Namespace) -> dict[str, str]:
    """{form: file} of the pictures that are asked for."""
    found = {form: getattr(args, form) for form in FORMS if getattr(args, form) is not None}
    if not found:
        for name in ONLY_IN_FILES:
            if getattr(args, name) is not None:
                option = "with" if name == "beside" else name
                raise LayoutError(
                    "TW401", f"--{option} is of a picture in a file", hint="add --svg FILE, --png or --html"
                )
        return {}
    for name in ("colour", "ascii"):
        if getattr(args, name):
            raise LayoutError("TW401", f"--{name} is of the picture in a terminal")
    if list(found.values()).count("-") > (0 if args.json else 1):
        said = "--json writes to standard output" if args.json else "one picture goes to standard output"
        raise LayoutError("TW401", said, hint="name a file for the others")
    return found


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
    from tilewise.show.paper.compose import drawing_of

    layouts = _layouts(args)
    drawing = drawing_of(_document(args, layouts), step=args.step)
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

            found[form] = html_of(_address(args, layouts), drawing).encode()
    return found


def _layouts(args: argparse.Namespace) -> list[Layout]:
    texts = [args.layout] if args.beside is None else [args.layout, args.beside]
    if texts.count("-") > 1:
        raise LayoutError("TW401", "only one layout can come from standard input")
    return [layout_from(text_from(text), args) for text in texts]


def _document(args: argparse.Namespace, layouts: list[Layout]) -> Document:
    from tilewise.notation import parse_window
    from tilewise.show.scene.build import document_of
    from tilewise.show.scene.compare import compared

    window = None if args.window is None else parse_window(args.window, let_from(args))
    options: dict[str, Any] = {
        "dtype": args.dtype,
        "shape": shape_from(args),
        "window": window,
        "access": args.access,
    }
    return compared(*layouts, **options) if len(layouts) > 1 else document_of(layouts[0], **options)


def _address(args: argparse.Namespace, layouts: list[Layout]) -> str:
    """What the page shows first, as its addresses say it."""
    from tilewise.show.address import fragment

    if args.let and (args.shape or args.window):
        raise LayoutError(
            "TW401", "names in --shape and --window are not known in the page", hint="numbers are"
        )
    texts = list(map(str, layouts))
    steps = {} if args.step is None else {"c": str(args.step)}
    themes = {"t": args.theme} if args.theme in ("light", "dark") else {}
    return fragment(
        texts[0],
        args.dtype,
        e2=texts[1] if len(texts) > 1 else None,
        a=args.access,
        s=args.shape,
        w=args.window,
        **steps,
        **themes,
    )


def _write(file: str, content: bytes) -> None:
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
