"""Apply an operation of the algebra: a layout out of layouts, exactly, or the reason why not.

  tilewise algebra compose 'S[(2, 6) : (2, 8)]' 'S[(3, 4) : (1, 3)]'
  tilewise compose '(6,2):(8,2)' '(4,3):(3,1)'
  tilewise slice 'S[(2, 2, 4) : (100, 10, 1)]' 6:10 --shape 16
  tilewise bases 'S[(4, 2) : (2, 1)]' --json | tilewise from_bases -
  tilewise algebra --list
  tilewise complement --help

The word algebra may be left out, but before an operation that is a command too: coalesce and same. --list
shows every operation with its words; OP --help its law, and an example. A layout in CuTe's notation counts as
CuTe does, the leftmost digit fastest. The answer counts as the first layout, and of a composition A o B as B.

A refusal is an answer, with exit code 1: the reason, and a witness that shows it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tilewise.core.errors import NotDecided, Refused
from tilewise.core.facts import Verdict
from tilewise.core.integers import counted
from tilewise.core.layout import Layout
from tilewise.questions import SUMMARIES
from tilewise.questions.asking import Page, asks, usual_page
from tilewise.questions.hints import ALIASES, witness_text
from tilewise.questions.operations import FAMILIES, NOTES, OPERATIONS, OPTIONS, Asked, Operation, kind_of
from tilewise.questions.orders import IN_THEIR_ORDERS
from tilewise.questions.report import Report, order_of, refused
from tilewise.questions.texts import Texts, misused
from tilewise.questions.words import SPREAD, misplaced, paired, value_of, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Unpack

    from tilewise.core.algebra.slicing import Slices
    from tilewise.core.facts import Holes
    from tilewise.questions.asking import TextOptions, Type, Word, Words

USAGE = "tilewise algebra OP ARG... [options]\n       tilewise algebra --list"

COUNTS = "A layout in CuTe's notation counts as CuTe does, the leftmost digit fastest."


@asks(
    {"options of some operations": OPTIONS},
    op="OP: an operation, such as compose",
    words="ARG: what the operation takes",
    list="every operation, and what it takes",
)
def algebra(
    op: Word | None = None,
    words: Words = (),
    dtype: Type | None = None,
    *,
    list: bool = False,
    by_mode: bool = False,
    modes: str | None = None,
    axes: str | None = None,
    shape: str | None = None,
    size: str | None = None,
    weak: bool = False,
    round_up: bool = False,
    order: str | None = None,
    axis: str | None = None,
    **reading: Unpack[TextOptions],
) -> Report:
    """Return what an operation makes of its words; no with the reason and a witness; or not decided.

    In Python the operations are the functions of `tilewise.algebra`, and methods of layouts.

    >>> print(algebra("compose", ["S[(2, 6) : (2, 8)]", "S[(3, 4) : (1, 3)]"]))
    S[(3, (2, 2)) : (8, (2, 24))]
    """
    if list:
        return _list(OPERATIONS.values() if op is None else [_operation(op)])
    if op is None:
        raise misused("no operation was named", "--list shows them all")
    options = {"by_mode": by_mode, "modes": modes, "axes": axes, "shape": shape, "size": size, "weak": weak}
    options |= {"round_up": round_up, "order": order, "axis": axis}
    given = {name: value for name, value in options.items() if value not in (None, False)}
    return _run(_operation(op), words, given, Texts(dtype, **reading, own_shape=True))


def _operation(name: str) -> Operation:
    known = name.strip().replace("-", "_")
    if known in OPERATIONS:
        return OPERATIONS[known]
    from difflib import get_close_matches

    near = get_close_matches(known, OPERATIONS, n=1)
    hint = f"did you mean {near[0]}?" if near else "--list shows them all"
    if known in ALIASES:
        hint = f"here that is {ALIASES[known]}"
    elif known in SUMMARIES:
        hint = f"tilewise {known} is a command of its own"
    raise misused(f"there is no operation {name!r}", hint)


# -- one operation ---------------------------------------------------------------------------------


def _run(operation: Operation, words: Sequence[str], options: Mapping[str, Any], texts: Texts) -> Report:
    name, called = operation.name, f"such as {_called(operation)}"
    pairs = paired(words_of(operation.words), words)
    if pairs is None:
        given = counted(len(words), "word")
        raise misused(f"{name} takes {operation.words}; {given} given", called)
    if [*words].count("-") > 1:
        raise misused("only one word can come from standard input")
    if (wrong := misplaced(pairs)) is not None:
        word, text = pairs[wrong]
        said = f"word {wrong + 1} is {word.name}, and {text} is no layout: {name} takes {operation.words}"
        raise misused(said, called)
    for option in options.keys() - {*operation.options}:
        takes = " ".join(f"--{own.replace('_', '-')}" for own in operation.options)
        flag = f"--{option.replace('_', '-')}"
        raise misused(f"{name} has no option {flag}", f"it takes {takes}" if takes else "")
    asked = Asked(
        {
            option: value_of(texts, kind_of(option), value) if kind_of(option) else value
            for option, value in options.items()
        },
        "cute" if texts.dialect == "cute" else "row",
        texts.let,
    )
    values: Any = []
    for word, text in pairs:
        value = value_of(texts, word.name, text)
        spread = word.name in SPREAD or (word.repeated and f"{word.name}..." in SPREAD)
        values += value if spread else [value]
    try:
        fields, text, answer = _answered(operation.run(asked, values))
        if name.endswith("inverse"):
            fields["modes"] = asked["axes"] or [*values[0].axes]
        report = Report({"op": name, **fields}, text, answer)
    except Refused as no:
        witness = "" if no.witness is None else witness_text(no.witness)
        report = refused(no, {"op": name, "result": None}, witness=witness)
    except NotDecided as no:
        report = Report({"op": name, "result": None, "reason": no.message}, no.message, None)
    orders = {value.order for value in values if isinstance(value, Layout)}
    if len(orders) > 1 and "result" in report.contents:
        counts = "as CuTe does" if report.contents.get("order") == "cute" else "row-major"
        texts.note(f"{IN_THEIR_ORDERS}; the answer counts {counts}")
    return texts.reported(report)


def _answered(result: Any) -> tuple[dict[str, Any], str, bool | None]:
    """Return the fields of a result, its text, and yes, no or not decided."""
    kind = type(result).__name__  # by name: other operations do not load their modules
    if kind == "Slices":
        return *_slices(result), True
    if kind == "Holes":
        return _holes(result)
    if isinstance(result, Verdict):
        return _verdict(result)
    parts = result if isinstance(result, tuple | list) else (result,)
    layouts = [part for part in parts if isinstance(part, Layout)]
    units = {layout.unit for layout in layouts} - {"element"}
    storage = {axis.name for layout in layouts for axis in layout.axes if axis.storage and axis.facts is None}
    fields: dict[str, Any] = {"result": result, **order_of(*layouts)}
    fields |= {"unit": units.pop()} if units else {}
    fields |= {"storage": sorted(storage)} if storage else {}
    lines = [str(part) for part in parts]
    if isinstance(result, Mapping):
        width = max(map(len, result), default=0)
        lines = [f"{name:<{width}}  {' '.join(map(str, numbers))}" for name, numbers in result.items()]
    return fields, "\n".join(lines) or "none", True


def _verdict(verdict: Verdict) -> tuple[dict[str, Any], str, bool | None]:
    if verdict.answer:
        return {"result": True}, "yes", True
    fields = {"result": verdict.answer, "reason": verdict.reason}
    if verdict.answer is None:
        return fields, verdict.reason, None
    return fields | {"witness": verdict.witness}, f"no: {verdict.reason}", False


def _holes(holes: Holes) -> tuple[dict[str, Any], str, bool | None]:
    if holes.count is None:
        reason = holes.none.reason or "how many was not decided within the bound"
        return {"result": None, "reason": reason}, reason, None
    such_as = f", such as {holes.witness}" if holes.witness is not None else ""
    return {"result": holes.count, "witness": holes.witness}, f"{holes.count}{such_as}", True


def _slices(pieces: Slices) -> tuple[dict[str, Any], str]:
    fields: dict[str, Any] = order_of(*(piece.layout for piece in pieces))
    if len(pieces) == 1:
        (piece,) = pieces
        return fields | {"result": piece.layout, "box": piece.box}, str(piece.layout)
    boxes = [",".join(f"{first}:{last}" for first, last in piece.box) for piece in pieces]
    width = max(map(len, boxes))
    lines = [f"{box:<{width}}  {piece.layout}" for box, piece in zip(boxes, pieces, strict=True)]
    fields["result"] = [{"box": piece.box, "layout": piece.layout} for piece in pieces]
    return fields, "\n".join(lines)


# -- what there is ---------------------------------------------------------------------------------


def _list(asked: Iterable[Operation]) -> Report:
    operations = [*asked]
    width = max(len(f"{operation.name} {operation.words}") for operation in operations)
    lines = []
    for family, about in FAMILIES.items():
        members = [operation for operation in operations if operation.family == family]
        lines += [f"{family}: {about}"] if members else []
        lines += [f"  {each.name + ' ' + each.words:<{width}}  {each.summary}" for each in members]
    fields = [
        {
            "op": operation.name,
            "family": operation.family,
            "takes": operation.usage,
            "summary": operation.summary,
            "law": operation.law,
            "example": operation.example,
        }
        for operation in operations
    ]
    return Report({"operations": fields}, "\n".join(lines))


def page(words: Sequence[str]) -> Page:
    """Return the help of an operation where the words ask for it, else that of all."""
    usual = usual_page("algebra")
    if not words or words[0].startswith("-") or not {"-h", "--help"} & {*words}:
        return usual
    operation = _operation(words[0])
    example = f"$ {_called(operation)}\n{_run(operation, operation.example, {}, Texts())}"
    return Page(
        f"tilewise algebra {operation.name} {operation.usage}",
        "\n\n".join(filter(None, [operation.summary, operation.law, NOTES.get(operation.name)])),
        f"{example}\n\n{COUNTS}",
        [each.hidden for each in usual.inputs if each.is_word]
        + [
            replace(each, group="", help=operation.help_of(each.name))
            for each in usual.inputs
            if each.name in operation.options
        ],
    )


def _called(operation: Operation) -> str:
    return shlex.join(["tilewise", "algebra", operation.name, *operation.example])
