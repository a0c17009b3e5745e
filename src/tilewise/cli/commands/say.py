"""The layout in another notation.

  tilewise say '((8,2),(4,4)):((8,64),(1,4))'
  tilewise say 'S[(8, 64) : (64, 1)]' --as cute
  tilewise say 'S[(8, 4) : (4@laneid, 1@laneid)]' --as json | tilewise at - 3,2

Without --as, in all of them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable

from tilewise.cli.answer import NO, YES, Answer
from tilewise.cli.arguments import layout_from, one_layout
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout


def arguments(parser: argparse.ArgumentParser) -> None:
    """LAYOUT [--as NOTATION]."""
    one_layout(parser)
    parser.add_argument("--as", dest="notation", choices=[*_notations()], help="one notation alone")


def _notations() -> dict[str, Callable[[Layout], str]]:
    from tilewise.notation import to_cute, to_json, to_latex, to_markdown

    return {
        "tilewise": lambda layout: str(layout.in_order("row")),
        "python": repr,
        "cute": to_cute,
        "latex": to_latex,
        "markdown": to_markdown,
        "json": lambda layout: json.dumps(to_json(layout)),
    }


def answer(args: argparse.Namespace) -> Answer:
    """The texts; no where a notation cannot say it."""
    layout = layout_from(args.layout, args)
    wanted = {args.notation: _notations()[args.notation]} if args.notation else _notations()
    said: dict[str, str | None] = {}
    reasons: dict[str, str] = {}
    for name, write in wanted.items():
        try:
            said[name] = write(layout)
        except LayoutError as error:
            said[name], reasons[name] = None, error.message
    if args.notation:
        text = said[args.notation]
        data = {"as": args.notation, "text": text}
        if text is None:
            return Answer(data | {"reason": reasons[args.notation]}, reasons[args.notation], NO)
        return Answer(data, text, YES)
    lines = [
        f"{name}\n{_indented(text or 'cannot say this: ' + reasons[name])}" for name, text in said.items()
    ]
    return Answer({"text": said, "reasons": reasons}, "\n".join(lines), YES)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
