"""The layout in another notation.

  tilewise say '((8,2),(4,4)):((8,64),(1,4))'
  tilewise say 'S[(8, 64) : (64, 1)]' --as cute
  tilewise say 'S[(8, 4) : (4@laneid, 1@laneid)]' --as json | tilewise at - 3,2

Without --as, in all that can say it. `--as DIALECT` writes what Triton, JAX, XLA and others print, or says
why the dialect has no word for it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from textwrap import indent

from tilewise.cli.answer import NO, Answer
from tilewise.cli.arguments import layout_from, one_layout
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout


def arguments(parser: argparse.ArgumentParser) -> None:
    """LAYOUT [--as NOTATION]."""
    one_layout(parser)
    parser.add_argument("--as", dest="notation", choices=_notations(), help="one notation alone")


def _notations() -> list[str]:
    from tilewise.notation.dialects import DIALECTS

    return [*dict.fromkeys((*_OWN, *(name for name, dialect in DIALECTS.items() if dialect.writes)))]


_OWN = ("tilewise", "python", "cute", "latex", "markdown", "json")


def _writer(notation: str, args: argparse.Namespace) -> Callable[[Layout], str]:
    """Return what writes a layout in a notation."""
    from tilewise.core.dtypes import DType
    from tilewise.notation import to_cute, to_json, to_latex, to_markdown
    from tilewise.notation.dialects import DIALECTS, Given, write

    own: dict[str, Callable[[Layout], str]] = {
        "tilewise": lambda layout: str(layout.in_order("row")),
        "python": repr,
        "cute": to_cute,
        "latex": to_latex,
        "markdown": to_markdown,
        "json": lambda layout: json.dumps(to_json(layout)),
    }
    if notation in own:
        return own[notation]
    given = Given(dtype=None if args.dtype is None else DType.of(args.dtype), triton=args.triton)
    return lambda layout: write(DIALECTS[notation], layout, given)


def answer(args: argparse.Namespace) -> Answer:
    """Return the texts, those of dialects where they can say it; no where --as names one that cannot."""
    layout = layout_from(args.layout, args)
    said: dict[str, str | None] = {}
    reasons: dict[str, str] = {}
    for name in [args.notation] if args.notation else _notations():
        try:
            said[name] = _writer(name, args)(layout)
        except LayoutError as error:
            if args.notation or name in _OWN:
                said[name], reasons[name] = None, error.message
    if args.notation:
        text = said[args.notation]
        data = {"as": args.notation, "text": text, "layout": str(layout)}
        if text is None:
            return Answer(data | {"reason": reasons[args.notation]}, reasons[args.notation], NO)
        return Answer(data, text)
    lines = [
        f"{name}\n{indent(text or 'cannot say this: ' + reasons[name], '    ')}"
        for name, text in said.items()
    ]
    return Answer({"text": said, "reasons": reasons}, "\n".join(lines))
