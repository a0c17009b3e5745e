"""Whether two layouts are one map, by flat index.

  tilewise same 'S[(4, 4) : (4, 1)]' 'S[16 : 1]'
  tilewise same 'Swizzle<3,3,3> o S[(8, 64) : (64, 1)]' 'S[(8, 64) : (64, 1)]'

A layout in CuTe's notation counts as CuTe does, the leftmost digit fastest. One of either kind are compared
by coordinates where their modes have the same extents, and else each by its own flat index. A no shows the
first index that differs, and where both put it.
"""

from __future__ import annotations

import argparse

from tilewise.cli.answer import NO, UNDECIDED, Answer, how_paired, index_text, order_data, place_data
from tilewise.cli.arguments import add_options, layout_from, layout_options, two_texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def arguments(parser: argparse.ArgumentParser) -> None:
    """A B."""
    add_options(
        parser,
        {
            "a": ("A", "a layout, or - for standard input"),
            "b": ("B", "a layout, or - for standard input"),
        },
    )
    layout_options(parser)


def answer(args: argparse.Namespace) -> Answer:
    """Yes, no with the first difference, or not decided."""
    a, b = (layout_from(text, args) for text in two_texts(args.a, args.b))
    result = a.same(b)
    note = how_paired(a, b)
    if result.answer:
        return Answer({"same": True}, "the same map").noted(note)
    if result.answer is None:
        return Answer({"same": None, "reason": result.reason}, result.reason, UNDECIDED).noted(note)
    flat = result.witness
    index = None if flat is None else (a if flat < a.size else b).coordinates(flat)
    data: dict[str, Any] = {
        "same": False,
        "witness": None if index is None else list(index),
        "flat": flat,
        "a": [place_data(place) for place in result.a],
        "b": [place_data(place) for place in result.b],
        "reason": result.reason,
        **order_data(a),
    }
    if not result.first:
        data["first"] = False
    sides = [" and ".join(map(str, side)) or "no element" for side in (result.a, result.b)]
    text = f"not the same: {result.reason}"
    if index is not None:
        text = f"not the same: index {index_text(index)}\n  a: {sides[0]}\n  b: {sides[1]}"
    details = [result.reason] if a.size != b.size else []
    return Answer(data, "\n  ".join([text, *details]), NO).noted(note)
