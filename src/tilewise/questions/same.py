"""Tell if two layouts are one map, by flat index.

  tilewise same 'S[(4, 4) : (4, 1)]' 'S[16 : 1]'
  tilewise same 'Swizzle<3,3,3> o S[(8, 64) : (64, 1)]' 'S[(8, 64) : (64, 1)]'

A layout in CuTe's notation counts as CuTe does, the leftmost digit fastest. One of either kind are compared
by coordinates where their modes have the same extents, and else each by its own flat index. A no shows the
first index that differs, and where both put it.
"""

from __future__ import annotations

from tilewise.questions.asking import asks
from tilewise.questions.orders import how_paired
from tilewise.questions.report import Report, index_text, order_of
from tilewise.questions.texts import Texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Unpack

    from tilewise.questions.asking import LayoutText, TensorOptions, Type


@asks(a="A: a layout, or - for standard input", b="B: a layout, or - for standard input")
def same(a: LayoutText, b: LayoutText, dtype: Type | None = None, **reading: Unpack[TensorOptions]) -> Report:
    """Return yes if two layouts are one map, else no with the first index where they differ.

    >>> bool(same("S[(4, 4) : (4, 1)]", "S[16 : 1]"))
    True
    """
    texts = Texts(dtype, **reading)
    one, other = texts.pair(a, b)
    verdict = one.same(other)
    texts.note(*how_paired(one, other))
    if verdict.answer:
        return texts.report({"same": True}, "the same map")
    if verdict.answer is None:
        return texts.report({"same": None, "reason": verdict.reason}, verdict.reason, None)
    flat = verdict.witness
    index = None if flat is None else (one if flat < one.size else other).coordinates(flat)
    fields = {
        "same": False,
        "witness": index,
        "flat": flat,
        "a": verdict.a,
        "b": verdict.b,
        "reason": verdict.reason,
        **order_of(one),
        **({} if verdict.first else {"first": False}),
    }
    sides = [" and ".join(map(str, side)) or "no element" for side in (verdict.a, verdict.b)]
    text = f"not the same: {verdict.reason}"
    if index is not None:
        text = f"not the same: index {index_text(index)}\n  a: {sides[0]}\n  b: {sides[1]}"
    details = [verdict.reason] if one.size != other.size else []
    return texts.report(fields, "\n  ".join([text, *details]), False)
