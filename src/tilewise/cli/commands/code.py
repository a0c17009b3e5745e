"""The index function as source text: shifts, masks and folded XORs, ready to paste.

  tilewise code 'Swizzle<3,3,3> o S[(64, 64) : (64, 1)]'
  tilewise code 'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]' --lang c --flat
  tilewise code 'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]' --inverse --coordinates
  tilewise code 'Swizzle<3,3,3> o S[(64, 64) : (64, 1)]' --lang cute --name tile
  tilewise code 'Swizzle<3,3,3> o S[(64, 64) : (64, 1)]' --dtype bf16 --bytes

A place is a number for each axis, in one struct, or a tuple in Python. An index is one argument a mode,
and with --flat one number: row-major, or in CuTe's order where LAYOUT is in CuTe's dialect. --inverse goes
from a place that is taken to the index, flat unless --coordinates. Where an element has copies, the last
argument says which one is meant.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from tilewise.cli.addresses import OF_BASE, buffer_from
from tilewise.cli.answer import Answer, refused
from tilewise.cli.arguments import add_options, layout_from, let_from, one_layout, text_from
from tilewise.core.errors import Refused
from tilewise.emit import LANGUAGES, source_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.layout import Layout
    from tilewise.emit.functions import Range


def arguments(parser: argparse.ArgumentParser) -> None:
    """LAYOUT [--lang L] [--inverse] [--flat | --coordinates] [--name F] [--args A,B] [--bytes] [--base A]."""
    one_layout(parser)
    add_options(
        parser,
        {
            "--lang": {"choices": LANGUAGES, "default": "cuda", "help": "the language (cuda)"},
            "--inverse": "from a place to the index",
        },
    )
    form = parser.add_mutually_exclusive_group()
    add_options(
        form,
        {
            "--flat": "the index as one number",
            "--coordinates": "the index as one number a mode",
        },
    )
    add_options(
        parser,
        {
            "--name": ("F", "the name of the function (place_of, index_of)"),
            "--args": ("A,B", "names of its arguments, in order"),
            "--bytes": "places are byte addresses; needs --dtype",
            "--base": OF_BASE,
        },
    )


def answer(args: argparse.Namespace) -> Answer:
    """The source; no where the language, or the layout's inverse, does not allow it."""
    text = text_from(args.layout)
    layout = layout_from(text, args)
    spelled = _own_text(text, args)
    if args.bytes or args.base is not None:
        layout, spelled = _in_bytes(layout, spelled or str(layout), args)
    try:
        source = source_of(
            layout,
            args.lang,
            inverse=args.inverse,
            flat=True if args.flat else False if args.coordinates else None,
            name=args.name,
            arguments=args.args.split(",") if args.args else (),
            text=spelled,
        )
    except Refused as no:
        return refused(no, {"lang": args.lang, "code": None}, instead=True)
    data = {
        "lang": source.lang,
        "name": source.name,
        "arguments": [_range(argument) for argument in source.arguments],
        "results": [_range(result) for result in source.results],
        "code": source.code,
    }
    return Answer(data, source.code)


def _own_text(text: str, args: argparse.Namespace) -> str:
    """The layout as it was typed, on one line; nothing where that has no place in a comment."""
    spelled = " ".join(text.split())
    if spelled.startswith("{") or not spelled.isprintable() or set(spelled) & set("\\\"'"):
        return ""
    values = ", ".join(f"{name}={value}" for name, value in let_from(args).items())
    return f"{spelled} with {values}" if values else spelled


def _in_bytes(layout: Layout, text: str, args: argparse.Namespace) -> tuple[Layout, str]:
    """The layout of byte addresses, and how the comment spells it; the swizzle acts on addresses."""
    buffer = buffer_from(layout, args)
    seen = buffer.seen(layout).in_bytes(args.dtype or "u8")
    of = f" of {args.dtype}" if args.dtype else ""
    where = f", in a buffer that begins at byte {buffer.base:#x}" if buffer.base else ""
    return replace(seen, outer=seen.outer + buffer.base), f"{text}{of}{where}"


def _range(ends: Range) -> dict[str, object]:
    return {"name": ends.name, "min": ends.low, "max": ends.high}
