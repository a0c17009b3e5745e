"""The facts of a layout, by its iters and not by its elements.

  tilewise info 'Swizzle<3,3,3> o S[(8, 64) : (64, 1)]'
  tilewise info 'S[(32, 4) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]'

onto: every place between min and max of every axis is taken; holes: those that are not.
contiguous: element x lives at base + x on one storage axis, in one copy.
"""

from __future__ import annotations

from collections.abc import Callable

from tilewise.core.errors import LayoutError, NotDecided
from tilewise.core.layout import Layout
from tilewise.questions.asking import LAYOUT, asks
from tilewise.questions.report import Report, fields_of, order_of, table_lines
from tilewise.questions.texts import Texts, text_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Unpack

    from tilewise.questions.asking import LayoutText, TensorOptions, Type


@asks(layout=LAYOUT)
def info(layout: LayoutText, dtype: Type | None = None, **reading: Unpack[TensorOptions]) -> Report:
    """Return every fact of a layout; None where it was not decided.

    >>> report = info("Swizzle<3,3,3> o S[(8, 64) : (64, 1)]")
    >>> report.size, report.injective, report.swizzle["period"]
    (512, True, 512)
    """
    from tilewise.notation import to_cute, to_latex
    from tilewise.pictures.scene.words import left_behind

    texts = Texts(dtype, **reading)
    text = text_from(layout, texts.let) if isinstance(layout, str) else layout
    facts = texts.layout(text)
    undecided: list[str] = []

    def ask(name: str, question: Callable[[], Any]) -> Any:
        try:
            return question()
        except NotDecided:
            undecided.append(name)
            return None

    def ends(axis: str) -> dict[str, int | None]:
        decided: tuple[int, int] | None = ask(axis, lambda: facts.extremes(axis))
        if decided is None:
            return {"min": None, "max": None, "span": None}
        low, high = decided
        return {"min": low, "max": high, "span": 1 + high - low}

    try:
        cute = to_cute(facts)
    except LayoutError:
        cute = None
    holes = facts.holes
    fields: dict[str, Any] = {
        "shape": facts.shape,
        "size": facts.size,
        "axes": {axis.name: ends(axis.name) for axis in facts.axes},
        "copies": ask("copies", lambda: facts.copies),
        "injective": ask("injective", lambda: bool(facts.injective)),
        "onto": ask("onto", lambda: bool(facts.onto)),
        "holes": fields_of(holes, "count", "witness"),
        "contiguous": ask("contiguous", lambda: bool(facts.contiguous)),
        "canonical": ask("canonical", lambda: str(facts.canonical())),
        "swizzle": _swizzle(facts),
        "text": {"tilewise": str(facts), "cute": cute, "latex": to_latex(facts)},
        **order_of(facts),
    }
    if facts.unit != "element":
        fields["unit"] = facts.unit
    if witnesses := _witnesses(facts):
        fields["witnesses"] = witnesses
    if holes.count is None:
        undecided.append("holes")
    if notes := [*left_behind(facts), *_comma_for_colon(text, facts)]:
        fields["notes"] = notes
    if undecided:
        fields["undecided"] = undecided
    return texts.report(fields, _text(facts, fields), None if undecided else True)


def _comma_for_colon(text: object, layout: Layout) -> list[str]:
    """Return a note where the writer of a text may mean its second mode as strides."""
    from tilewise.core.shapes import spell

    if not isinstance(text, str) or "S[" not in text or ":" in text or len(layout.shape) != 2:
        return []
    shape, strides = layout.shape
    if not (isinstance(shape, tuple) and isinstance(strides, tuple)) or _profile(shape) != _profile(strides):
        return []
    return [f"no strides were given, so it is row-major; did you mean S[{spell(shape)} : {spell(strides)}]?"]


def _profile(mode: Any) -> Any:
    return tuple(map(_profile, mode)) if isinstance(mode, tuple) else None


def _witnesses(layout: Layout) -> dict[str, str]:
    """Return the reason for every no."""
    facts = {
        "injective": layout.injective,
        "onto": layout.onto,
        "contiguous": layout.contiguous,
        "disjoint_copies": layout.disjoint_copies,
    }
    return {name: verdict.reason for name, verdict in facts.items() if verdict.answer is False}


def _swizzle(layout: Layout) -> dict[str, Any] | None:
    if not layout.swizzles:
        return None
    first = layout.swizzles[0]
    data: dict[str, Any] = {"B": first.bits, "M": first.base, "S": first.shift, "axis": first.axis.name}
    data |= {"period": layout.period, "align": layout.period}
    if len(layout.swizzles) > 1:
        data["chain"] = [{"B": s.bits, "M": s.base, "S": s.shift} for s in layout.swizzles]
    return data


def _text(layout: Layout, fields: dict[str, Any]) -> str:
    copies = "" if fields["copies"] == 1 else f", {_known(fields['copies'])} copies of each"
    rows = [
        ("layout", str(layout)),
        ("canonical", fields["canonical"]),
        ("CuTe", fields["text"]["cute"] or "cannot say this"),
        ("size", f"{layout.size} elements{copies}"),
    ]
    for name, ends in fields["axes"].items():
        low, high, span = map(_known, ends.values())
        rows.append((f"axis {name}", f"{low} .. {high}, span {span}"))
    witnesses = fields.get("witnesses", {})
    said = {None: "not decided within the bound", True: "yes"}
    for name in ("injective", "onto", "contiguous"):
        rows.append((name, said.get(fields[name]) or f"no: {witnesses.get(name, '')}"))
    if "disjoint_copies" in witnesses:
        rows.append(("copies", witnesses["disjoint_copies"]))
    holes = fields["holes"]
    if holes["count"] is None:
        rows.append(("holes", "how many was not decided within the bound"))
    elif holes["count"]:
        such = f", such as {layout.holes.witness}" if holes["witness"] else ""
        rows.append(("holes", f"{holes['count']}{such}"))
    if layout.swizzles:
        rows.append(("swizzle", f"repeats every {layout.period} {layout.unit}s; align the base to that"))
    rows += [("note", note) for note in fields.get("notes", [])]
    return "\n".join(table_lines(rows))


def _known(value: Any) -> str:
    return "not decided" if value is None else str(value)
