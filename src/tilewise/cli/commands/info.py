"""The facts of a layout, by its iters and not by its elements.

  tilewise info 'Swizzle<3,3,3> o S[(8, 64) : (64, 1)]'
  tilewise info 'S[(32, 4) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]'

onto: every place between min and max of every axis is taken; holes: those that are not.
contiguous: element x lives at base + x on one storage axis, in one copy.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from tilewise.cli.answer import UNDECIDED, YES, Answer, order_data, place_data, table_lines
from tilewise.cli.arguments import layout_from, one_layout, text_from
from tilewise.core.errors import LayoutError, NotDecided
from tilewise.core.layout import Layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def arguments(parser: argparse.ArgumentParser) -> None:
    """LAYOUT."""
    one_layout(parser)


def answer(args: argparse.Namespace) -> Answer:
    """Every fact; null where it was not decided."""
    from tilewise.notation import to_cute, to_latex
    from tilewise.show.facts import left_behind

    text = text_from(args.layout)
    layout = layout_from(text, args)
    undecided: list[str] = []

    def ask(name: str, question: Callable[[], Any]) -> Any:
        try:
            return question()
        except NotDecided:
            undecided.append(name)
            return None

    def ends(axis: str) -> dict[str, int | None]:
        decided = ask(axis, lambda: layout.extremes(axis))
        if decided is None:
            return {"min": None, "max": None, "span": None}
        low, high = decided
        return {"min": low, "max": high, "span": 1 + high - low}

    try:
        cute = to_cute(layout)
    except LayoutError:
        cute = None
    holes = layout.holes
    data: dict[str, Any] = {
        "shape": _listed(layout.shape),
        "size": layout.size,
        "axes": {axis.name: ends(axis.name) for axis in layout.axes},
        "copies": ask("copies", lambda: layout.copies),
        "injective": ask("injective", lambda: bool(layout.injective)),
        "onto": ask("onto", lambda: bool(layout.onto)),
        "holes": {
            "count": holes.count,
            "witness": None if holes.witness is None else place_data(holes.witness),
        },
        "contiguous": ask("contiguous", lambda: bool(layout.contiguous)),
        "canonical": ask("canonical", lambda: str(layout.canonical())),
        "swizzle": _swizzle(layout),
        "text": {"tilewise": str(layout), "cute": cute, "latex": to_latex(layout)},
    }
    data |= order_data(layout)
    if layout.unit != "element":
        data["unit"] = layout.unit
    witnesses = _witnesses(layout)
    if witnesses:
        data["witnesses"] = witnesses
    if holes.count is None:
        undecided.append("holes")
    notes = [*left_behind(layout), *_comma_for_colon(text, layout)]
    if notes:
        data["notes"] = notes
    if undecided:
        data["undecided"] = undecided
    return Answer(data, _text(layout, data), UNDECIDED if undecided else YES)


def _comma_for_colon(text: str, layout: Layout) -> list[str]:
    """Where what stands for a second mode may be meant as strides."""
    from tilewise.core.shapes import spell

    if "S[" not in text or ":" in text or len(layout.shape) != 2:
        return []
    shape, strides = layout.shape
    if not (isinstance(shape, tuple) and isinstance(strides, tuple)) or _profile(shape) != _profile(strides):
        return []
    return [f"no strides were given, so it is row-major; did you mean S[{spell(shape)} : {spell(strides)}]?"]


def _profile(mode: Any) -> Any:
    return tuple(map(_profile, mode)) if isinstance(mode, tuple) else None


def _witnesses(layout: Layout) -> dict[str, str]:
    """The reason for every no."""
    facts = {
        "injective": layout.injective,
        "onto": layout.onto,
        "contiguous": layout.contiguous,
        "disjoint_copies": layout.disjoint_copies,
    }
    return {name: verdict.reason for name, verdict in facts.items() if verdict.answer is False}


def _listed(mode: Any) -> Any:
    return [_listed(inner) for inner in mode] if isinstance(mode, tuple) else mode


def _swizzle(layout: Layout) -> dict[str, Any] | None:
    if not layout.swizzles:
        return None
    first = layout.swizzles[0]
    data: dict[str, Any] = {"B": first.bits, "M": first.base, "S": first.shift, "axis": first.axis.name}
    data |= {"period": layout.period, "align": layout.period}
    if len(layout.swizzles) > 1:
        data["chain"] = [{"B": s.bits, "M": s.base, "S": s.shift} for s in layout.swizzles]
    return data


def _text(layout: Layout, data: dict[str, Any]) -> str:
    copies = "" if data["copies"] == 1 else f", {_known(data['copies'])} copies of each"
    rows = [
        ("layout", str(layout)),
        ("canonical", data["canonical"]),
        ("CuTe", data["text"]["cute"] or "cannot say this"),
        ("size", f"{layout.size} elements{copies}"),
    ]
    for name, ends in data["axes"].items():
        low, high, span = map(_known, ends.values())
        rows.append((f"axis {name}", f"{low} .. {high}, span {span}"))
    witnesses = data.get("witnesses", {})
    said = {None: "not decided within the bound", True: "yes"}
    for name in ("injective", "onto", "contiguous"):
        rows.append((name, said.get(data[name]) or f"no: {witnesses.get(name, '')}"))
    if "disjoint_copies" in witnesses:
        rows.append(("copies", witnesses["disjoint_copies"]))
    holes = data["holes"]
    if holes["count"] is None:
        rows.append(("holes", "how many was not decided within the bound"))
    elif holes["count"]:
        such = f", such as {layout.holes.witness}" if holes["witness"] else ""
        rows.append(("holes", f"{holes['count']}{such}"))
    if layout.swizzles:
        rows.append(("swizzle", f"repeats every {layout.period} {layout.unit}s; align the base to that"))
    rows += [("note", note) for note in data.get("notes", [])]
    return "\n".join(table_lines(rows))


def _known(value: Any) -> str:
    return "not decided" if value is None else str(value)
