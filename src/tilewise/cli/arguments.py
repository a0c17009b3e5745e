"""From words to the arguments of a question, by the question's signature."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from tilewise import __version__
from tilewise.core.layout import UNITS
from tilewise.questions import FORMS, GROUPS, SUMMARIES
from tilewise.questions.asking import (
    HIDDEN,
    METAVAR,
    TENSOR,
    ShellInput,
    as_a_shell_calls,
    inputs,
    module_of,
    page,
    question,
    reads_texts,
)
from tilewise.questions.texts import misused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from tilewise.core.errors import LayoutError
    from tilewise.questions.report import Report

PROLOGUE = "tilewise tells where every element of a tensor lives."
EPILOGUE = """\
LAYOUT is text, such as 'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]', or what a compiler printed: Triton's
'#ttg.blocked<...>' and 'tensor<128x64xf16, #ttg...>', CuTe's '(8,4):(4,1)' and 'Tiled MMA', shardings of JAX,
XLA and torch, 'lambda i, j: ...' (docs/paste.md). It may be an entry of `tilewise catalog` as a call, such as
'wgmma.D(f32, n=64)', a file that has such a text, a document that `tilewise say --as json` wrote, or - for
standard input, where another command's answer in JSON will do as well.

An operation of the algebra is a command as well: tilewise compose A B, tilewise reshape LAYOUT SHAPE.

Every command takes --json anywhere. Exit codes: 0 yes, 1 no or none, 2 not understood, 3 not decided.
`tilewise COMMAND --help` shows examples."""

JOINED = ("IndexText", "Place")
"""Inputs that may be several words: 5 3 1 is 5,3,1."""

_VALUE = re.compile(r"[^\W\d]\w*=[\w.]+")
"""A name with its value, such as M=4096."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are errors like all others, and that guesses no option."""

    words: Sequence[str] = ()
    """The words to read: a question may leave out options that they cannot use."""
    subject: Callable[[], str] = str
    """A function that returns the words behind the command whose help an error names."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        """Refuse the words."""
        hint = f"{' '.join(filter(None, (self.prog, self.subject())))} --help shows how it is called"
        if message.startswith("unrecognized arguments"):
            hint = self._meant(message.partition(": ")[2].split()) or hint
        if ": invalid choice: " in message:
            hint = _nearest(*re.findall(r"[\w.]+", message.partition("invalid choice: ")[2])) or hint
        if message.endswith(": expected one argument"):
            hint = self._kept_apart(message.removeprefix("argument ").partition(":")[0]) or hint
        raise misused(message, hint)

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Return the arguments of words, where options may stand before an optional PLACE or INDEX."""
        takes_rest = any(action.nargs == argparse.REMAINDER for action in self._actions)
        return self.parse_args(words) if takes_rest else self.parse_intermixed_args(words)

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Return the value of a word; words of a fixed list may be in any case."""
        known = {choice for choice in action.choices or () if isinstance(choice, str)}
        meant = known if arg_string in known else {one for one in known if one.lower() == arg_string.lower()}
        word = meant.pop() if len(meant) == 1 else arg_string
        return super()._get_value(action, word)

    def _kept_apart(self, option: str) -> str:
        """Return a hint if a value that begins with - was read as an option."""
        for word, value in pairwise(self.words):
            if word == option and value.startswith("-") and not value.startswith("--"):
                return f"a value that begins with - follows an equals sign: {option}={value}"
        return ""

    def _meant(self, words: Sequence[str]) -> str:
        """Return a hint: a near option, a missing option, or words that belong in quotes."""
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

        from tilewise.questions.hints import ELSEWHERE

        other, theirs = ELSEWHERE.get(self.prog, ("", ()))
        if options[0] in theirs:
            return f"{other} takes --{options[0]}"
        own = [name[2:] for name in self._option_string_actions if name.startswith("--")]
        if "engine" in own and options[0] in ("wgmma", "tcgen05", "mma"):
            return f"an engine is a word: {options[0]}, or {options[0]}.B with its operand"
        near = get_close_matches(options[0], own, n=1, cutoff=0.8)
        return f"did you mean --{near[0]}?" if near else ""

    def _get_formatter(self) -> argparse.HelpFormatter:
        return argparse.RawDescriptionHelpFormatter(self.prog, width=100)


def _nearest(word: str, *known: str) -> str:
    """Return a hint to the nearest word, or an empty text."""
    from difflib import get_close_matches

    near = get_close_matches(word, known, n=1)
    return f"did you mean {near[0]}?" if near else ""


class WordAction(argparse.Action):
    """An action that keeps a word, and refuses a word that an option contradicts."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Keep the word."""
        if getattr(namespace, self.dest, values) != values:
            parser.error(f"the {self.dest} is {values}, and {getattr(namespace, self.dest)}")
        setattr(namespace, self.dest, values)


def read(words: Sequence[str], as_json: bool = False) -> Callable[[], Report]:
    """Return the question that words ask, ready to be answered."""
    for word in words:
        if "\0" in word:
            raise misused(f"the word {word!r} has the character U+0000", "no path and no text has it")
    words = _completed(words)
    if words and words[0] in SUMMARIES:
        name, arguments = call_of(words)
        if getattr(module_of(name), "TAKES_JSON", False):
            arguments["json"] = as_json
        return lambda: _report(name, arguments)
    if words and not words[0].startswith("-"):
        raise _unknown(words[0])
    if as_json and words[:1] in ([], ["--help"], ["-h"], ["--version"]):
        from tilewise.questions.report import Report

        about = {"version": __version__} if "--version" in words else {"commands": dict(SUMMARIES)}
        return lambda: Report(about, "")
    overview().parse_args(words or ["--help"])
    raise misused("no command was given", "commands: " + " ".join(SUMMARIES))


def _completed(words: Sequence[str]) -> Sequence[str]:
    """Return words with a missing word added: algebra before an operation, move before two layouts."""
    if words and words[0] not in SUMMARIES and not words[0].startswith("-"):
        from tilewise.questions.operations import OPERATIONS

        return ["algebra", *words] if words[0].strip().replace("-", "_") in OPERATIONS else words
    if words[:1] == ["emit"] and not {"gemm", "wgmma", "mma", "move"} & {*words}:
        from tilewise.questions.moving import may_be_a_side

        return ["emit", "move", *words[1:]] if any(map(may_be_a_side, words[1:])) else words
    return words


def _named(command: str, words: Sequence[str]) -> Iterator[str]:
    """Yield the words, with `M=4096` as `--let M=4096` unless the question has another use for it."""
    kinds = {parameter.kind for parameter in inputs(command)}
    lets = reads_texts(command) and not kinds & {"Place", "Words", "Files", "Word"}
    for before, word in pairwise(("", *words)):
        if lets and _VALUE.fullmatch(word) and not before.startswith("--"):
            yield "--let"
        yield word


def call_of(words: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Return the name of the function that a command calls, and its arguments.

    >>> call_of(["at", "S[(4, 4) : (1, 4)]", "3", "2", "--dtype", "f16"])
    ('at', {'dtype': 'f16', 'layout': 'S[(4, 4) : (1, 4)]', 'index': '3,2'})
    """
    command, *rest = words
    if rest[:1] in (["--help"], ["-h"]):
        rest = [*rest[1:], rest[0]]
    form = FORMS.get(command, {}).get(rest[0], "") if rest else ""
    if form:
        command, *rest = form, *rest[1:]
    rest = [*_named(command, rest)]
    given = vars(parser_for(command, rest).read(rest))
    joined = {each.name for each in inputs(command) if each.is_word and each.kind in JOINED}
    return command, {
        name: ",".join(value) if name in joined else value
        for name, value in given.items()
        if name != "json" and (name not in joined or value)
    }


def _report(name: str, arguments: dict[str, Any]) -> Report:
    report: Report = as_a_shell_calls(question(name))(**arguments)
    return report


def parser_for(command: str, words: Sequence[str] = ()) -> Parser:
    """Return the parser of one command, for words or for any; the other commands are not imported."""
    shown = page(command, words)
    parser = Parser(
        prog=f"tilewise {command.replace('_', ' ')}",
        usage=shown.usage,
        description=shown.description,
        epilog=shown.epilog,
    )
    parser.words, parser.subject = words, shown.subject
    groups: dict[str, Any] = {"": parser}
    for each in shown.inputs:
        if each.group not in groups:
            groups[each.group] = parser.add_argument_group(each.group)
        if each.name not in ("dtype", "json") or each.help:
            _add(groups[each.group], each)
    if shown.inputs[:1] and shown.inputs[0].group:  # that group goes before those without a title
        parser._action_groups.insert(0, parser._action_groups.pop(2))
    if reads_texts(command):
        _add_reading(parser, {each.name: each for each in inputs(command)})
    parser.add_argument("--json", action="store_true", help="answer in JSON")
    return parser


def _add(group: argparse._ActionsContainer, parameter: ShellInput) -> None:
    """Add a parameter, as its annotation and its default say."""
    told = METAVAR.match(parameter.help)
    settings: dict[str, Any] = {"help": parameter.help[told.end() :] if told else parameter.help}
    other = told[1] if told else None
    if told:
        settings["metavar"] = told[2]
    if parameter.help == HIDDEN:
        settings["help"] = argparse.SUPPRESS
    if parameter.kind == "bool":
        settings = {"action": "store_true", "help": settings["help"]}
    elif parameter.kind == "Many" or parameter.kind.startswith("Sequence["):
        settings |= {"action": "append"}
    elif parameter.choices:
        settings |= {"choices": parameter.choices}
    elif parameter.kind == "int":
        settings |= {"type": int}
    if parameter.is_word:
        if parameter.kind in ("Words", "Files", *JOINED):
            settings["nargs"] = "+" if parameter.required else "*"
        elif not parameter.required:
            settings["nargs"] = "?"
        if other:
            settings["action"] = WordAction
        group.add_argument(parameter.name, **settings, **_default(parameter))
        if other:
            settings = {"metavar": settings["metavar"], "help": "the same, as an option"}
            group.add_argument(other, dest=parameter.name, **settings, **_default(parameter))
    else:
        if parameter.required:
            settings["required"] = True
        spellings = [parameter.spelled, *([other] if other else [])]
        group.add_argument(*spellings, dest=parameter.name, **settings, **_default(parameter))
        as_in_python = f"--{parameter.name.rstrip('_')}"
        if as_in_python not in spellings and not parameter.required:
            settings["help"] = argparse.SUPPRESS
            group.add_argument(as_in_python, dest=parameter.name, **settings, **_default(parameter))


def _default(parameter: ShellInput) -> dict[str, Any]:
    return {} if parameter.required else {"default": argparse.SUPPRESS}


def _add_reading(parser: Parser, own: dict[str, ShellInput]) -> None:
    """Add the options that say how to read a layout; --shape is the tensor's, unless the question has one."""
    group = parser.add_argument_group("reading the layout")
    absent: dict[str, Any] = {"default": argparse.SUPPRESS}
    group.add_argument(
        "--let", metavar="NAME=N", action="append", help="a value for a name in it; repeatable", **absent
    )
    group.add_argument(
        "--where",
        metavar="FACTS",
        action="append",
        help="names without a value, and what is known of them: 'M %% 64 == 0, lda >= N'",
        **absent,
    )
    group.add_argument(
        "--storage",
        metavar="AXIS",
        action="append",
        help="an axis of your own that holds elements",
        **absent,
    )
    group.add_argument("--unit", choices=UNITS, help="what strides count (element)", **absent)
    if "dtype" not in own or not own["dtype"].help:
        group.add_argument("--dtype", help="the type of an element, such as bf16", **absent)
    group.add_argument(
        "--dialect",
        metavar="NAME",
        help="whose text it is, where its looks do not tell, such as cute or triton",
        **absent,
    )
    parts = ["--part"] if "operand" in own else ["--part", "--operand"]
    group.add_argument(
        *parts,
        dest="part",
        metavar="NAME",
        action="append",
        help="one of several layouts in a text, such as A; given twice, one for each text",
        **absent,
    )
    group.add_argument(
        "--triton", metavar="VERSION", help="the version that printed an encoding, such as 3.2", **absent
    )
    if "shape" not in own:
        group.add_argument("--shape", metavar="S", help=TENSOR[3:], **absent)
    elif own["shape"].kind != "ShapeText":
        group.add_argument("--tensor", metavar="S", help=TENSOR[3:], **absent)


def overview() -> Parser:
    """Return the parser that knows the commands by name."""
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

    from tilewise.questions.hints import ALIASES
    from tilewise.questions.operations import OPERATIONS

    near = get_close_matches(command.strip(), [*SUMMARIES, *OPERATIONS], n=1)
    hint = f"did you mean {near[0]}?" if near else "commands: " + " ".join(SUMMARIES)
    operation = command.strip().replace("-", "_")
    if operation in ALIASES:
        hint = f"here that is {ALIASES[operation]}"
    return misused(f"there is no command {command.strip()!r}", hint)
