"""One operation of the algebra: a layout out of layouts, exactly, or the reason why there is none.

  tilewise algebra compose 'S[(2, 6) : (2, 8)]' 'S[(3, 4) : (1, 3)]'
  tilewise algebra slice 'S[(2, 2, 4) : (100, 10, 1)]' 6:10 --shape 16
  tilewise algebra compose '(6,2):(8,2)' '(4,3):(3,1)'
  tilewise algebra bases 'S[(4, 2) : (2, 1)]' --json | tilewise algebra from_bases -
  tilewise algebra --list
  tilewise algebra complement --help

--list shows every operation with its words; OP --help its law, and an example. A layout in CuTe's notation
counts as CuTe does, the leftmost digit fastest. The answer counts as the first layout, and of a composition
A o B as B.

A refusal is an answer, with exit code 1: the reason, and a witness that shows it.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Mapping, Sequence

from tilewise.cli.answer import IN_THEIR_ORDERS, NO, UNDECIDED, YES, Answer, order_data, witness_data
from tilewise.cli.arguments import Parser, layout_options
from tilewise.cli.commands import SUMMARIES
from tilewise.cli.hints import ALIASES, in_a_shell, witness_text
from tilewise.cli.operations import FAMILIES, OPERATIONS, OPTIONS, Operation
from tilewise.cli.words import Asked, Reader, misplaced, paired, words_of
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.facts import Verdict
from tilewise.core.integers import counted
from tilewise.core.layout import Layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.algebra.slicing import Slices
    from tilewise.core.facts import Holes

_OF_ALL = (
    ("--let NAME=N", "a value for a name in a layout"),
    ("--dtype T", "the type of an element, such as bf16"),
    ("--json", "answer in JSON"),
)
_ORDER = """\
Layouts are read as by every command. One in CuTe's notation counts as CuTe does, the leftmost digit
fastest."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """OP ARG... [options], or --list."""
    parser.usage = "tilewise algebra OP ARG... [options]\n       tilewise algebra --list"
    parser.add_argument("op", metavar="OP", nargs="?", help="an operation, such as compose")
    parser.add_argument("words", metavar="ARG", nargs=argparse.REMAINDER, help="what the operation takes")
    parser.add_argument("--list", action="store_true", help="every operation, and what it takes")
    _options(parser)


def _options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("options of some operations")
    for option in OPTIONS.values():
        if option.metavar:
            group.add_argument(option.flag, metavar=option.metavar, help=option.summary)
        else:
            group.add_argument(option.flag, action="store_true", help=option.summary)
    layout_options(parser, shape=None)


def answer(args: argparse.Namespace) -> Answer:
    """The result; no with the reason and a witness; or not decided."""
    if args.list:
        return _list(OPERATIONS.values() if args.op is None else [_operation(args.op)])
    if args.op is None:
        raise LayoutError("TW401", "no operation was named", hint="--list shows them all")
    operation = _operation(args.op)
    if "--help" in args.words or "-h" in args.words:
        return _help(operation)
    words = args.words
    del args.words  # the operation's own parser reads them, options among them
    return _run(operation, _reread(operation, words, args))


def _operation(name: str) -> Operation:
    known = name.replace("-", "_")
    found = OPERATIONS.get(known)
    if found is not None:
        return found
    raise LayoutError("TW401", f"there is no operation {name!r}", hint=_instead(known))


def _instead(name: str) -> str:
    """What to ask where there is no operation of a name."""
    if name in ALIASES:
        return f"here that is {ALIASES[name]}"
    if name in SUMMARIES:
        return f"tilewise {name} is a command of its own"
    from difflib import get_close_matches

    near = get_close_matches(name, OPERATIONS, n=1)
    return f"did you mean {near[0]}?" if near else "--list shows them all"


def _reread(
    operation: Operation, words: Sequence[str], args: argparse.Namespace | None = None
) -> argparse.Namespace:
    """The words of the operation and its options, in any order."""
    parser = Parser(prog=f"tilewise algebra {operation.name}", add_help=False)
    parser.add_argument("words", metavar="ARG", nargs="*")
    _options(parser)
    return parser.parse_intermixed_args(words, args)


# -- one operation ---------------------------------------------------------------------------------


def _run(operation: Operation, args: argparse.Namespace) -> Answer:
    pairs = paired(words_of(operation.words), args.words)
    if pairs is None:
        raise LayoutError(
            "TW401",
            f"{operation.name} takes {operation.words}; {counted(len(args.words), 'word')} given",
            hint=f"such as {_called(operation)}",
        )
    if args.words.count("-") > 1:
        raise LayoutError("TW401", "only one word can come from standard input")
    if (wrong := misplaced(pairs)) is not None:
        raise LayoutError(
            "TW401",
            f"word {wrong + 1} is {pairs[wrong][0].name}, and {pairs[wrong][1]} is none: "
            f"{operation.name} takes {operation.words}",
            hint=f"such as {_called(operation)}",
        )
    reader = Reader(args)
    options = _given_options(operation, reader)
    values = [reader.read(word.name, text) for word, text in pairs]
    order = "cute" if args.dialect == "cute" else "row"
    found = _found(operation, Asked(options, order), values)
    in_orders = {value.order for value in values if isinstance(value, Layout)}
    if len(in_orders) < 2 or "result" not in found.data:
        return found
    counts = "as CuTe does" if found.data.get("order") == "cute" else "row-major"
    return found.noted(f"{IN_THEIR_ORDERS}; the answer counts {counts}")


def _found(operation: Operation, asked: Asked, values: Sequence[Any]) -> Answer:
    try:
        result = operation.run(asked, *values)
    except Refused as no:
        return _refused(operation, no)
    except NotDecided as open_question:
        data = {"op": operation.name, "result": None, "reason": open_question.message}
        return Answer(data, open_question.message, UNDECIDED)
    found = _answered(operation, result)
    if operation.tells:
        found.data.update(operation.tells(asked, *values))
    return found


def _given_options(operation: Operation, reader: Reader) -> dict[str, Any]:
    given = {}
    for name, option in OPTIONS.items():
        value = getattr(reader.args, name)
        if value in (None, False):
            continue
        if name not in operation.options:
            takes = " ".join(OPTIONS[own].flag for own in operation.options)
            raise LayoutError(
                "TW401",
                f"{operation.name} has no option {option.flag}",
                hint=f"it takes {takes}" if takes else "",
            )
        given[name] = reader.read(option.metavar, value) if option.metavar else True
    return given


def _refused(operation: Operation, no: Refused) -> Answer:
    data = {
        "op": operation.name,
        "result": None,
        "code": no.code,
        "reason": no.reason,
        "witness": witness_data(no.witness),
        "hint": in_a_shell(no.hint),
    }
    lines = [f"no: {no.reason}"]
    lines += [f"  witness: {witness_text(no.witness)}"] if no.witness is not None else []
    lines += [f"  hint: {data['hint']}"] if no.hint else []
    return Answer(data, "\n".join(lines), NO)


# -- results ---------------------------------------------------------------------------------------


def _answered(operation: Operation, result: Any) -> Answer:
    data: dict[str, Any] = {"op": operation.name}
    kind = type(result).__name__  # by name: other operations do not load their modules
    if kind == "Slices":
        return _slices(data, result)
    if kind == "Holes":
        return _holes(data, result)
    if isinstance(result, Verdict):
        return _verdict(data, result)
    layouts = [part for part in _parts(result) if isinstance(part, Layout)]
    units = {layout.unit for layout in layouts} - {"element"}
    storage = {axis.name for layout in layouts for axis in layout.axes if axis.storage and axis.facts is None}
    data["result"] = plain(result)
    data |= order_data(*layouts)
    if units:
        data["unit"] = units.pop()
    if storage:
        data["storage"] = sorted(storage)
    if isinstance(result, Mapping):
        width = max(map(len, result), default=0)
        lines = [f"{name:<{width}}  {' '.join(map(str, numbers))}" for name, numbers in result.items()]
    else:
        lines = [str(part) for part in _parts(result)]
    return Answer(data, "\n".join(lines) or "none")


def _verdict(data: dict[str, Any], verdict: Verdict) -> Answer:
    if verdict.answer:
        return Answer(data | {"result": True}, "yes", YES)
    data |= {"result": verdict.answer, "reason": verdict.reason}
    if verdict.answer is None:
        return Answer(data, verdict.reason, UNDECIDED)
    return Answer(data | {"witness": witness_data(verdict.witness)}, f"no: {verdict.reason}", NO)


def _holes(data: dict[str, Any], holes: Holes) -> Answer:
    data["result"] = holes.count
    if holes.count is None:
        reason = holes.none.reason or "how many was not decided within the bound"
        return Answer(data | {"reason": reason}, reason, UNDECIDED)
    such_as = f", such as {holes.witness}" if holes.witness is not None else ""
    return Answer(data | {"witness": witness_data(holes.witness)}, f"{holes.count}{such_as}")


def _slices(data: dict[str, Any], pieces: Slices) -> Answer:
    listed = [{"box": witness_data(piece.box), "layout": str(piece.layout)} for piece in pieces]
    data |= order_data(*(piece.layout for piece in pieces))
    if len(listed) == 1:
        return Answer(data | {"result": listed[0]["layout"], "box": listed[0]["box"]}, listed[0]["layout"])
    boxes = [",".join(f"{first}:{last}" for first, last in piece.box) for piece in pieces]
    width = max(map(len, boxes))
    lines = [f"{box:<{width}}  {each['layout']}" for box, each in zip(boxes, listed, strict=True)]
    return Answer(data | {"result": listed}, "\n".join(lines))


def _parts(result: Any) -> Sequence[Any]:
    return result if isinstance(result, tuple | list) else (result,)


def plain(value: Any) -> Any:
    """A result as JSON has it: layouts and swizzles as their texts."""
    if isinstance(value, Layout):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    return witness_data(value)


# -- what there is ---------------------------------------------------------------------------------


def _list(asked: Iterable[Operation]) -> Answer:
    rows = []
    shown = {
        family: [operation for operation in operations if operation in asked]
        for family, (_, operations) in FAMILIES.items()
    }
    width = max(len(f"{operation.name} {operation.words}") for operation in asked)
    for family, operations in shown.items():
        rows += [f"{family}: {FAMILIES[family][0]}"] if operations else []
        rows += [
            f"  {operation.name + ' ' + operation.words:<{width}}  {operation.summary}"
            for operation in operations
        ]
    data = [
        {
            "op": operation.name,
            "family": family,
            "takes": operation.usage,
            "summary": operation.summary,
            "example": list(operation.example),
        }
        for family, operations in shown.items()
        for operation in operations
    ]
    return Answer({"operations": data}, "\n".join(rows))


def _help(operation: Operation) -> Answer:
    usage = f"tilewise algebra {operation.name} {operation.usage}"
    law = law_of(operation)
    shown = _run(operation, _reread(operation, operation.example, argparse.Namespace(notes=[], told={})))
    example = f"$ {_called(operation)}\n{shown.text}"
    options = [(OPTIONS[name].spelled, OPTIONS[name].said_of(operation.name)) for name in operation.options]
    listed = [f"  {spelled:<14}  {said}" for spelled, said in (*options, *_OF_ALL)]
    parts = [f"usage: {usage}", law, operation.note, "\n".join(listed), example, _ORDER]
    data = {"op": operation.name, "usage": usage, "law": law, "example": example}
    return Answer(data, "\n\n".join(filter(None, parts)))


def law_of(operation: Operation) -> str:
    """The docstring of what the operation runs, without its Python examples."""
    from importlib import import_module
    from inspect import cleandoc

    module, _, name = (operation.law or f"tilewise.core.algebra:{operation.name}").partition(":")
    text = cleandoc(getattr(import_module(module), name).__doc__ or operation.summary)
    return text.partition(">>>")[0].rstrip()


def _called(operation: Operation) -> str:
    return shlex.join(["tilewise", "algebra", operation.name, *operation.example])
