"""What commands share: reading words, layouts, and the options that say how to read them."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from math import prod

from tilewise import __version__
from tilewise.cli.answer import Answer, misused, refuse_given
from tilewise.cli.commands import GROUPS, SUMMARIES
from tilewise.core.errors import LayoutError
from tilewise.core.layout import UNITS, Layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    Told = str | tuple[str | Sequence[str], str] | Mapping[str, Any]

    from tilewise.notation.dialects import Reading
    from tilewise.notation.read import Options

PROLOGUE = "tilewise tells where every element of a tensor lives."
EPILOGUE = """\
LAYOUT is text, such as 'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]', or what a compiler printed: Triton's
'#ttg.blocked<...>' and 'tensor<128x64xf16, #ttg...>', CuTe's '(8,4):(4,1)' and 'Tiled MMA', shardings of JAX,
XLA and torch, 'lambda i, j: ...' (docs/paste.md). It may be an entry of `tilewise catalog` as a call, such as
'wgmma.D(f32, n=64)', a file that has such a text, a document that `tilewise say --as json` wrote, or - for
standard input, where another command's answer in JSON will do as well.

Every command takes --json anywhere. Exit codes: 0 yes, 1 no or none, 2 not understood, 3 not decided.
`tilewise COMMAND --help` shows examples."""

_BY = re.compile(r"\s*[1-9]\d*(\s*[xX]\s*\d+)+\s*")
"""Extents with x between them; 0x10 is a number."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are errors like all others, and that guesses no option."""

    words: Sequence[str] = ()
    """What it is about to read: a command may leave out options that these cannot ask for."""
    subject: Callable[[Sequence[str]], str] | None = None
    """What those words are about, where that has a help of its own; it is asked when they are refused."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        """Refuse the words."""
        about = self.subject(self.words) if self.subject else ""
        hint = f"{self.prog}{about and ' '}{about} --help shows how it is called"
        if message.startswith("unrecognized arguments"):
            hint = self._meant(message.partition(": ")[2].split()) or hint
        if message.endswith(": expected one argument"):
            hint = self._kept_apart(message.removeprefix("argument ").partition(":")[0]) or hint
        raise misused(message, hint)

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Return the arguments of words, where options may stand before an optional PLACE or INDEX."""
        takes_rest = any(action.nargs == argparse.REMAINDER for action in self._actions)
        return self.parse_args(words) if takes_rest else self.parse_intermixed_args(words)

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """The value of a word, which may be in any case where it is one of a few words."""
        known = {choice for choice in action.choices or () if isinstance(choice, str)}
        meant = known if arg_string in known else {one for one in known if one.lower() == arg_string.lower()}
        word = meant.pop() if len(meant) == 1 else arg_string
        return super()._get_value(action, word)

    def _kept_apart(self, option: str) -> str:
        """A hint to a value that was taken for an option, as it begins like one."""
        for word, value in pairwise(self.words):
            if word == option and value.startswith("-") and not value.startswith("--"):
                return f"a value that begins with - follows an equals sign: {option}={value}"
        return ""

    def _meant(self, words: Sequence[str]) -> str:
        """A hint to the option that is near or left out, or that words were not kept together."""
        options = [word.partition("=")[0][2:] for word in words if word.startswith("--")]
        if not options:
            from tilewise.core.dtypes import known_type

            takes_type = "--dtype" in self._option_string_actions and "--dtype" not in self.words
            types = [word for word in words if takes_type and known_type(word)]
            return (
                f"did you mean --dtype {types[0]}?"
                if types
                else "an index, a place or a layout is one word: 37,21, or in quotes"
            )
        from difflib import get_close_matches

        from tilewise.cli.hints import ELSEWHERE

        other, theirs = ELSEWHERE.get(self.prog, ("", ()))
        if options[0] in theirs:
            return f"{other} takes --{options[0]}"
        own = [name[2:] for name in self._option_string_actions if name.startswith("--")]
        near = get_close_matches(options[0], own, n=1, cutoff=0.8)
        return f"did you mean --{near[0]}?" if near else ""

    def _get_formatter(self) -> argparse.HelpFormatter:
        return argparse.RawDescriptionHelpFormatter(self.prog, width=100)


def read(words: Sequence[str], as_json: bool = False) -> argparse.Namespace:
    """The arguments of the command that `words` name, with its `answer`."""
    for word in words:
        if "\0" in word:
            raise misused(f"the word {word!r} has the character U+0000", "no path and no text has it")
    if words and words[0] in SUMMARIES:
        command, *rest = words
        asks_help = rest[:1] in (["--help"], ["-h"])
        return parser_for(command, rest).read([*rest[1:], "--help"] if asks_help else rest)
    if words and not words[0].startswith("-"):
        raise _unknown(words[0])
    if as_json and words[:1] in ([], ["--help"], ["-h"], ["--version"]):
        about = {"version": __version__} if "--version" in words else {"commands": dict(SUMMARIES)}
        return argparse.Namespace(answer=lambda _: Answer(about, ""), notes=[], told={})
    overview().parse_args(words or ["--help"])
    raise misused("no command was given", "commands: " + " ".join(SUMMARIES))


def parser_for(command: str, words: Sequence[str] = ()) -> Parser:
    """The parser of one command, for words or for any; the other commands are not imported."""
    module = import_module(f"tilewise.cli.commands.{command}")
    parser = Parser(prog=f"tilewise {command}", description=module.__doc__)
    parser.words = words
    module.arguments(parser)
    parser.add_argument("--json", action="store_true", help="answer in JSON")
    parser.set_defaults(answer=module.answer, notes=[], told={})
    return parser


def overview() -> Parser:
    """The parser that knows the commands by name."""
    width = max(map(len, SUMMARIES))
    commands = "\n\n".join(
        "\n".join([f"{asked}:", *(f"  {name:<{width}}  {summary}" for name, summary in group.items())])
        for asked, group in GROUPS.items()
    )
    parser = Parser(
        prog="tilewise",
        usage="tilewise COMMAND ...",
        description=f"{PROLOGUE}\n\n{commands}",
        epilog=EPILOGUE,
    )
    parser.add_argument("--version", action="version", version=f"tilewise {__version__}")
    return parser


def _unknown(command: str) -> LayoutError:
    from difflib import get_close_matches

    from tilewise.cli.hints import ALIASES
    from tilewise.cli.operations import OPERATIONS

    operation = command.strip().replace("-", "_")
    near = get_close_matches(command.strip(), SUMMARIES, n=1)
    hint = f"did you mean {near[0]}?" if near else "commands: " + " ".join(SUMMARIES)
    if operation in OPERATIONS:
        hint = f"an operation: tilewise algebra {operation}"
    elif operation in ALIASES:
        hint = f"here that is {ALIASES[operation]}; operations are words of tilewise algebra"
    return misused(f"there is no command {command.strip()!r}", hint)


# -- layouts ---------------------------------------------------------------------------------------


TENSOR = "the tensor's, where an encoding or a sharding has none, such as 128,64"
ASKED = (
    "ask in this shape of the same size, such as 8,8; an encoding or a sharding has its tensor's from here"
)

TENSOR_OPTION = ("--shape", "--tensor")
"""The option that says the tensor's shape: the second where --shape is another thing."""

OF_FILES = (".txt", ".json", ".mlir", ".ttir", ".ttgir", ".hlo", ".log")
"""Ends of words that name files of layouts."""

DIALECT = "whose text it is, where its looks do not tell, such as cute or triton"


def add_options(parser: argparse._ActionsContainer, told: Mapping[str, Told], title: str = "") -> None:
    """Add options and words: {name: help} of a flag, {name: (what stands for its value, help)} of the others.

    A tuple of words in the place of the value's name holds the only values that there are. `name...` may be
    given several times, and the word `[name]` may be left out. What is more has the settings of argparse.
    A title begins a group of the help.
    """
    group = parser.add_argument_group(title) if title else parser
    for spelled, about in told.items():
        if isinstance(about, str):
            settings: dict[str, Any] = {"action": "store_true", "help": about}
        elif isinstance(about, tuple):
            settings = {"metavar" if isinstance(about[0], str) else "choices": about[0], "help": about[1]}
        else:
            settings = {**about}
        if spelled.endswith("..."):
            settings |= {"action": "append", "default": []}
        elif spelled.startswith("["):
            settings["nargs"] = "?"
        group.add_argument(spelled.strip("[]."), **settings)


def layout_options(
    parser: argparse.ArgumentParser, *, has_dtype: bool = False, shape: str | None = TENSOR
) -> None:
    """Add the options that say how to read a layout.

    `has_dtype` where --dtype is the command's own; `shape` is the help of --shape, None where the command's
    own --shape is something else than the shape of the layout's tensor.
    """
    add_options(
        parser,
        {
            "--let...": ("NAME=N", "a value for a name in it; repeatable"),
            "--storage...": ("AXIS", "an axis of your own that holds elements"),
            "--unit": {"choices": UNITS, "default": "element", "help": "what strides count (element)"},
            **({} if has_dtype else {"--dtype": {"help": "the type of an element, such as bf16"}}),
            "--dialect": ("NAME", DIALECT),
            "--part...": (
                "NAME",
                "one of several layouts in a text, such as A; given twice, one for each text",
            ),
            "--triton": ("VERSION", "the version that printed an encoding, such as 3.2"),
            TENSOR_OPTION[shape is None]: ("S", shape or TENSOR),
        },
        "reading the layout",
    )
    parser.set_defaults(shape_help=shape)


def one_layout(parser: argparse.ArgumentParser, shape: str | None = TENSOR) -> None:
    """Add the positional LAYOUT and the options that go with it."""
    add_options(parser, {"layout": ("LAYOUT", "a layout, a file that has one, or - for standard input")})
    layout_options(parser, shape=shape)


def layout_from(word: str, args: argparse.Namespace, *, as_counted: bool = False) -> Layout:
    """Return the layout that LAYOUT spells, as the options say; `as_counted` in the unit of the text.

    A word that spells no layout may name a file that has one. What the text tells beside its layout goes to
    the notes of `args`, and to `args.told`.
    """
    text = text_from(word)
    try:
        found = _reading(text, args, as_counted)
    except LayoutError as error:
        if word == "-" or not os.path.isfile(text):  # noqa: PTH113 - pathlib costs more than the question
            if args.shape_help is None:
                error.hint = error.hint.replace("shape=", "tensor=")
            if text.endswith(OF_FILES) and len(text.split()) == 1:
                raise LayoutError("TW402", f"there is no file {text}") from None
            raise
        path, text = text, text_from(_content(text))
        try:
            found = _reading(text, args, as_counted)
        except LayoutError as inside:
            inside.message = f"{path}: {inside.message}"
            raise
    args.told["texts"] = args.told.get("texts", 0) + 1
    _refuse_another_shape(found, args)
    if is_document(text):
        return found.layout
    _settle_type(found, args)
    if found.box is not None:
        args.told["box"] = list(found.box)
        args.notes.append(f"the tensor is {_by(found.box)}, and the layout is padded beyond it")
    args.notes += [note for note in found.notes if note not in args.notes]
    note_doubts(text, found.layout, args, args.unit, args.dtype)
    return found.layout


def _reading(text: str, args: argparse.Namespace, as_counted: bool) -> Reading:
    """Return what a text says, read as the options tell; the shape is for a text without its own."""
    if is_document(text):
        from tilewise.notation.dialects import Reading

        return Reading(_as_asked(_document(text), args))
    from tilewise.hardware.calls import reading

    options: Options = {  # --part names a part of each text in turn, and the last one goes on
        "dialect": args.dialect,
        "storage": [name for names in args.storage for name in names.split(",")],
        "unit": args.unit,
        "dtype": None if as_counted and args.unit != "element" else args.dtype,
        "let": let_from(args),
        "part": args.part[min(args.told.get("texts", 0), len(args.part) - 1)] if args.part else None,
        "triton": args.triton,
    }
    try:
        return reading(text, **options)
    except LayoutError as error:
        shape = _tensor_shape(args)
        if error.code != "TW202" or shape is None:
            raise
        return reading(text, **(options | {"shape": shape}))


def _tensor_shape(args: argparse.Namespace) -> Any:
    """Return the shape that is given for texts without their own, or None."""
    option = TENSOR_OPTION[args.shape_help is None]
    given = getattr(args, option[2:])
    return None if given is None else _shape(option, given, args)


def _settle_type(found: Reading, args: argparse.Namespace) -> None:
    """Take the type that a text says; note where --dtype is another one."""
    from tilewise.core.dtypes import DType

    if found.dtype is None:
        return
    if args.dtype is None:
        args.dtype = args.told["dtype"] = found.dtype.name
    elif DType.of(args.dtype) != found.dtype:
        args.notes.append(f"the text says {found.dtype}, and is taken as {args.dtype}")


def _refuse_another_shape(found: Reading, args: argparse.Namespace) -> None:
    """Refuse a --shape that is not the tensor's, unless the question is about that shape."""
    from tilewise.core.shapes import as_shape, extents_of, spell

    given = None if args.shape_help == ASKED else _tensor_shape(args)
    shape = found.box or extents_of(found.layout.shape)
    if given is not None and shape != extents_of(as_shape(given)):
        option = TENSOR_OPTION[args.shape_help is None]
        raise LayoutError(
            "TW202",
            f"{option} {spell(as_shape(given))} is not the shape of this tensor, which is {_by(shape)}",
            hint=f"{option} is for encodings and shardings that have no shape of their own",
        )


def _by(extents: Sequence[int]) -> str:
    return " x ".join(map(str, extents))


def is_document(text: str) -> bool:
    """Return whether a text is JSON, and no layout or sharding in braces.

    >>> is_document('{"schema": 1}'), is_document("{1,0:T(8,128)}")
    (True, False)
    """
    return text.startswith("{") and text[1:].lstrip()[:1] in ('"', "}", "")


def _content(path: str) -> str:
    """Return the text of a file."""
    from tilewise.notation.tokens import MAX_TEXT

    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - likewise
            return file.read(MAX_TEXT + 1).strip()
    except UnicodeDecodeError as error:
        raise LayoutError("TW402", f"{path} is not UTF-8 text: {error.reason}") from None


def note_doubts(
    text: str, layout: Layout, args: argparse.Namespace, unit: str = "element", dtype: Any = None
) -> None:
    """Note what a text leaves open of its layout, which the answer then says beside all else."""
    from tilewise.hardware.calls import doubts

    args.notes += [doubt for doubt in doubts(text, layout, unit, dtype) if doubt not in args.notes]


def in_cute(text: str, dialect: str | None) -> bool:
    """Whether the text of a layout is read in CuTe's dialect."""
    from tilewise.notation import is_cute

    return dialect == "cute" or (dialect is None and not is_document(text) and is_cute(text))


def _as_asked(layout: Layout, args: argparse.Namespace) -> Layout:
    """A document's layout, converted by --dtype; the document itself says all that it counts and names."""
    if args.unit not in ("element", layout.unit):
        raise LayoutError("TW106", f"the document counts {layout.unit}s, and --unit says {args.unit}")
    refuse_given(args, ("storage", "dialect"), "says how to read text, and this is a document")
    if args.dtype is None:
        return layout
    from tilewise.core.units import converted

    return converted(layout, "element", args.dtype)


def let_from(args: argparse.Namespace) -> dict[str, int]:
    """{name: value} of every --let."""
    values = {}
    for spelled in args.let:
        name, equals, value = (part.strip() for part in spelled.partition("="))
        try:
            values[name] = int(value, 0) if equals and name.isidentifier() else int("")
        except ValueError:
            raise misused(f"--let {spelled} is not NAME=N", "such as --let M=4096") from None
    return values


def filled_in(text: str, args: argparse.Namespace, *names: str) -> str:
    """Return `text`, or standard input where it is -, and fill in options that the text tells.

    An answer in JSON tells any of `names`; a text of another system tells the type.
    """
    text = _standard_input() if text.strip() == "-" else text
    if is_document(text):
        from tilewise.cli.piped import told_in

        for name, value in told_in(text).items():
            if name in names and getattr(args, name) is None:
                setattr(args, name, value)
    elif "dtype" in names and args.dtype is None:
        args.dtype = _type_in(text, args)
    return text


def type_from(texts: Sequence[str], args: argparse.Namespace) -> None:
    """Take the type of an element from the first text that says one, where --dtype does not."""
    for text in texts:
        if args.dtype is None and not is_document(text):
            args.dtype = _type_in(text, args)


def _type_in(text: str, args: argparse.Namespace) -> str | None:
    """Return the type of an element that a text of another system says, or None."""
    from tilewise.notation.dialects import dialect_of

    if dialect_of(text) is None:
        return None
    dtype = _reading(text, args, as_counted=False).dtype
    return None if dtype is None else dtype.name


def text_from(text: str) -> str:
    """`text`, or standard input where it is -; of an answer in JSON what it holds."""
    text = text.strip() if text != "-" else _standard_input()
    if not is_document(text):
        return text
    from tilewise.cli.piped import result_in

    return result_in(text)


def _standard_input() -> str:
    if sys.stdin is None:
        raise LayoutError("TW402", "there is no standard input to read")
    binary = getattr(sys.stdin, "buffer", None)
    try:
        return (binary.read().decode() if binary else sys.stdin.read()).strip()
    except UnicodeDecodeError as error:
        raise LayoutError("TW402", f"standard input is not UTF-8 text: {error.reason}") from None
    except OSError as error:
        raise LayoutError("TW402", f"standard input cannot be read: {error.strerror}") from None


def two_texts(one: str, other: str) -> list[str]:
    """The texts of two layouts, of which one may come from standard input."""
    if one == other == "-":
        raise misused(
            "only one layout can come from standard input",
            "write the other one as text, such as 'S[(8, 4) : (4, 1)]'",
        )
    return [text_from(one), text_from(other)]


def _document(text: str) -> Layout:
    import json

    from tilewise.notation import from_json

    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LayoutError("TW108", f"not a JSON document: {error}") from None
    return from_json(document.get("layout", document) if isinstance(document, dict) else document)


def layout_and_index(args: argparse.Namespace) -> tuple[Layout, int, tuple[int, ...]]:
    """LAYOUT, INDEX as a flat index, and as one number a mode of the shape that is asked in."""
    from tilewise.notation import parse_index

    layout, shape = layout_from(args.layout, args), shape_from(args)
    index, box = parse_index(args.index, let_from(args)), box_from(args)
    if box is not None and shape is None:
        index = _in_box(index, box)
    flat = layout.flat_index(index, shape=shape)
    return layout, flat, layout.coordinates(flat, shape)


def box_from(args: argparse.Namespace) -> tuple[int, ...] | None:
    """Return the extents of a tensor whose layout is padded beyond them, or None."""
    box = args.told.get("box")
    return None if box is None else tuple(box)


def is_padding(index: Sequence[Any], box: tuple[int, ...] | None) -> bool:
    """Return whether an index lies beyond the tensor, in what its layout is padded by."""
    numbers = all(isinstance(number, int) for number in index)
    return box is not None and numbers and any(i >= extent for i, extent in zip(index, box, strict=False))


def _in_box(index: Any, box: tuple[int, ...]) -> Any:
    """Return an index of a padded layout by coordinates: a flat number counts the tensor's elements."""
    from tilewise.core.shapes import coordinates

    if isinstance(index, int):
        if not 0 <= index < prod(box):
            raise LayoutError("TW201", f"element {index} is not of the tensor, which is {_by(box)}")
        return coordinates(index, box)
    if is_padding(index, box):
        raise LayoutError("TW201", f"{index} is padding: the tensor is {_by(box)}")
    return index


def sizes_from(option: str, text: str, form: str, such: str) -> Any:
    """Return the sizes that an option gives with x or commas between them, as many as its form has."""
    parts = [part.strip() for part in re.split("[xX×,]", text)]
    if len(parts) != len(form.split("x")) or not all(map(str.isdecimal, parts)):
        raise misused(f"{option} {text} is not {form}", f"such as {such}")
    return tuple(map(int, parts))


def shape_from(args: argparse.Namespace) -> Any:
    """Return the shape that --shape asks in, or None, also where it is that of a padded tensor."""
    given = None if args.shape is None else _shape("--shape", args.shape, args)
    return None if given == box_from(args) else given


def _shape(option: str, text: str, args: argparse.Namespace) -> Any:
    """The shape that an option gives; its extents may stand with x between them, as in 64x64."""
    from tilewise.notation import parse_shape

    by = _BY.fullmatch(text)
    try:
        return parse_shape(text.lower().replace("x", ",") if by else text, let_from(args))
    except LayoutError as error:
        if error.hint:
            raise
        hint = f"a shape is its extents alone: {option} 8,8"
        raise LayoutError(
            error.code, error.message, hint=hint, span=error.span, source=error.source
        ) from None


def permute_from(args: argparse.Namespace) -> Any:
    """The value of --permute, a mode or several, or None."""
    from tilewise.core.shapes import spell
    from tilewise.notation import parse_index

    if args.permute is None:
        return None
    order = parse_index(args.permute, let_from(args))
    if isinstance(order, tuple) and not all(isinstance(mode, int) for mode in order):
        raise misused(f"--permute {spell(order)} is not a list of modes", "such as 1,0")
    return order


def reshape_from(args: argparse.Namespace) -> Any:
    """The value of --reshape, or None."""
    return None if args.reshape is None else _shape("--reshape", args.reshape, args)
