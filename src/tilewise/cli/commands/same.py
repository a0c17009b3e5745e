"""Whether two layouts are one map, by flat index.

  tilewise same 'S[(4, 4) : (4, 1)]' 'S[16 : 1]'
  tilewise same 'Swizzle<3,3,3> o S[(8, 64) : (64, 1)]' 'S[(8, 64) : (64, 1)]'

Two texts in CuTe's dialect are compared in CuTe's order, the leftmost mode fastest. A no shows the
first index that differs, and where both put it.
"""

from __future__ import annotations

import argparse

from tilewise.cli.answer import NO, UNDECIDED, YES, Answer, index_text, place_data
from tilewise.cli.arguments import in_cute, layout_from, layout_options, two_texts
from tilewise.core.layout import Layout
from tilewise.core.shapes import coordinates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def arguments(parser: argparse.ArgumentParser) -> None:
    """A B."""
    parser.add_argument("a", metavar="A", help="a layout, or - for standard input")
    parser.add_argument("b", metavar="B", help="a layout, or - for standard input")
    layout_options(parser)


def answer(args: argparse.Namespace) -> Answer:
    """Yes, no with the first difference, or not decided."""
    texts = two_texts(args.a, args.b)
    a, b = (layout_from(text, args) for text in texts)
    dialects = [in_cute(text, args.dialect) for text in texts]
    turned = all(dialects)
    if turned:
        from tilewise.notation.cute import leftmost_fastest

        a, b = leftmost_fastest(a), leftmost_fastest(b)
    result = a.same(b)
    if result.answer:
        return Answer({"same": True}, "the same map", YES)
    if result.answer is None:
        return Answer({"same": None, "reason": result.reason}, result.reason, UNDECIDED)
    flat = result.witness
    index = _witness(a if flat < a.size else b, flat, turned) if flat is not None else None
    data: dict[str, Any] = {
        "same": False,
        "witness": None if index is None else list(index),
        "flat": flat,
        "a": [place_data(place) for place in result.a],
        "b": [place_data(place) for place in result.b],
        "reason": result.reason,
    }
    if any(dialects) and not turned and a.size == b.size:
        data["note"] = _other_order(a, b, dialects[0])
    if not result.first:
        data["first"] = False
    sides = [" and ".join(map(str, side)) or "no element" for side in (result.a, result.b)]
    text = f"not the same: {result.reason}"
    if index is not None:
        text = f"not the same: index {index_text(index)}\n  a: {sides[0]}\n  b: {sides[1]}"
    details = [data["note"]] if "note" in data else [result.reason] if a.size != b.size else []
    return Answer(data, "\n  ".join([text, *details]), NO)


def _other_order(a: Layout, b: Layout, a_in_cute: bool) -> str:
    """What CuTe's order would have said of a text in CuTe's dialect and one that is not."""
    from tilewise.notation.cute import leftmost_fastest

    said = "flat indices count row-major, as for every pair that is not both CuTe's"
    if (leftmost_fastest(a) if a_in_cute else a).same(b if a_in_cute else leftmost_fastest(b)).answer:
        return f"{said}; in CuTe's order for the CuTe text they are the same"
    return said


def _witness(layout: Layout, flat: int, turned: bool) -> tuple[int, ...]:
    index = coordinates(flat, layout.shape)
    return index[::-1] if turned else index
