"""Questions as functions: the signature of each says how Python, a shell and a tool of others call it.

A question is a function of the module that has its name. Its parameters say by their annotations how a shell
gives them: before `*` a `LayoutText`, an `IndexText`, a `Place`, a `Word` and a choice are words; all others
are options. `asks` has the help of each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from importlib import import_module
from inspect import Parameter as Given
from inspect import signature

from tilewise.core.axes import KNOWN
from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.core.polynomials import Polynomial
from tilewise.questions import OF_THE_SHELL
from tilewise.questions.report import NamesWanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any, Literal, TypedDict, TypeVar

    from tilewise.core.dtypes import DType
    from tilewise.core.shapes import Shape
    from tilewise.core.vectors import Vector

    Answering = TypeVar("Answering", bound=Callable[..., Any])

    LayoutText = Layout | str
    IndexText = int | str | Sequence[Any]
    Place = str | int | Vector | Mapping[Any, int]
    Word = str
    Words = Sequence[str]
    Files = object
    Tile = Layout | str | Sequence[int]
    Type = DType | str
    ShapeText = Shape | Sequence[int] | int | str
    Range = Sequence[int | None] | slice | range | int | None
    Ranges = Sequence[Range] | str
    Order = Sequence[int] | int | str
    Number = int | str
    Many = str | Layout | Sequence[str | Layout]

    class TextOptions(TypedDict, total=False):
        """The options that decide the reading of a layout's text."""

        let: Mapping[str, int] | Sequence[str]
        where: Sequence[str] | str
        storage: Sequence[str]
        unit: Literal["element", "byte", "bit"]
        dialect: str | None
        part: Sequence[str] | str
        triton: str | None
        tensor: ShapeText | None

    class TensorOptions(TextOptions, total=False):
        """The same, where a shape is the tensor's and no other."""

        shape: ShapeText | None


_MAY_HAVE_NAMES = (Layout, Polynomial, tuple, list)
"""Kinds of values that may have names in them; texts have those of `where`."""

WORDS = ("LayoutText", "IndexText", "Place", "Word", "Words", "Files", "Tile")
"""Annotations of parameters that a shell gives as words, in their order."""

READING = ("let", "where", "storage", "unit", "dialect", "part", "triton", "tensor")
"""The names of `TextOptions`."""

METAVAR = re.compile(r"(?:(--[\w-]+) )?(\[?[A-Z][\w,.|=*\]]*): ")
"""The word that stands for a value, where a help begins with one; an option before it is another spelling."""

HIDDEN = "hidden"
"""The help of an input that help does not show."""

_HELP: dict[str, dict[str, tuple[str, str]]] = {}
"""{question: {parameter: (title of its group, help)}}."""


@dataclass(frozen=True, slots=True)
class ShellInput:
    """An input of a question, as a shell gives it."""

    name: str
    kind: str
    """The annotation, or the first of its alternatives: how a shell gives it."""
    default: Any
    required: bool
    help: str
    group: str
    by_name: bool
    """True where Python gives it by its name alone."""

    @property
    def is_word(self) -> bool:
        """Return whether a shell gives it as a word, and not as an option."""
        return not self.by_name and (self.kind in WORDS or bool(self.choices))

    @property
    def hidden(self) -> ShellInput:
        """Return the input as help does not show it."""
        return replace(self, help=HIDDEN)

    @property
    def spelled(self) -> str:
        """Return the option."""
        return option_of(self.name)

    @property
    def choices(self) -> tuple[str, ...]:
        """Return the only values that there are, or nothing."""
        return choices_of(self.kind)


def asks(
    groups: Mapping[str, Mapping[str, str]] | None = None, /, **helps: str
) -> Callable[[Answering], Answering]:
    """Give the parameters of a question their help: `METAVAR: help`, or the help of a flag.

    Before METAVAR may stand another spelling: `--swizzle MODE: help`. Groups with a title of their own follow
    in a mapping. The question is then as Python calls it; `as_a_shell_calls` gives it back.
    """

    def asked(function: Answering) -> Answering:
        told = {name: ("", text) for name, text in helps.items()}
        for title, members in (groups or {}).items():
            told |= {name: (title, text) for name, text in members.items()}
        _HELP[function.__name__] = told
        return _for_python(_in_cases(function))

    return asked


def _in_cases(function: Answering) -> Answering:
    """Return a question that answers for all values of names, where its values have any."""
    positions = [*signature(function).parameters]

    @wraps(function)
    def answered(*words: Any, **options: Any) -> Any:
        given = {**dict(zip(positions, words, strict=False)), **options}
        where = given.pop("where", ())
        try:
            if not where and not any(type(value) in _MAY_HAVE_NAMES for value in given.values()):
                return function(*words, **options)
            from tilewise.questions.cases import by_cases, has_names

            if not where and not has_names(given):
                return function(*words, **options)
            return by_cases(function, given, where)
        except NamesWanted as wanted:
            said = [where] if isinstance(where, str) else [*where]
            if {*wanted.facts} <= {*said}:
                raise
            return answered(**given, where=[*filter(None, said), *wanted.facts])

    return answered  # type: ignore[return-value]


def as_a_shell_calls(function: Answering) -> Answering:
    """Return a question whose errors speak of options; its values come from a shell's words."""
    plain: Answering = getattr(function, "__wrapped__", function)
    return plain


def _for_python(function: Answering) -> Answering:
    """Return a question as Python calls it: values of its parameters' kinds, errors in Python's spelling."""
    parameters = signature(function).parameters
    kinds = {
        name: str(each.annotation) for name, each in parameters.items() if each.kind is not Given.VAR_KEYWORD
    }
    words_of = [name for name, each in parameters.items() if each.kind is Given.POSITIONAL_OR_KEYWORD]
    rest = next((str(each.annotation) for each in parameters.values() if each.kind is Given.VAR_KEYWORD), "")
    known = {*kinds, *READING} if rest.startswith("Unpack") else {*kinds}
    known |= {"shape"} if rest == "Unpack[TensorOptions]" else set()
    any_name = bool(rest) and not rest.startswith("Unpack")
    picky = ("Literal", "Sequence[str]", "int", "Word")
    looked_at = {name for name, kind in kinds.items() if kind.startswith(picky)}
    looked_at.add("dtype")

    @wraps(function)
    def called(*words: Any, **options: Any) -> Any:
        if options and not any_name and not options.keys() <= known:
            raise TypeError(_unknown(function.__name__, min(options.keys() - known), known, parameters))
        given = dict(zip(words_of, words, strict=False))
        if len(given) < len(words) or not given.keys().isdisjoint(options):
            return function(*words, **options)  # which Python refuses
        given.update(options)
        try:
            for name, value in given.items():
                if name in looked_at or hasattr(value, "tolist"):
                    given[name] = _in_kind(name, value, kinds.get(name, ""))
            return function(**given)
        except LayoutError as error:
            from tilewise.questions.hints import in_python

            flags = [name for name, kind in kinds.items() if kind == "bool"]
            error.message, error.hint = in_python(error.message, flags), in_python(error.hint, flags)
            error.args = (error.message,)
            raise

    return called  # type: ignore[return-value]


def documented(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a question whose docstring has its arguments, as `help` of Python shows them."""
    from tilewise.questions.hints import in_python

    told = {name: help for name, (_, help) in _HELP.get(function.__name__, {}).items() if help != HIDDEN}
    flags = [each.name for each in inputs(function.__name__) if each.kind == "bool"]
    lines = []
    for name, help in told.items():
        metavar = METAVAR.match(help)
        lines += (
            [f"    :param {name}: {in_python(help[metavar.end() if metavar else 0 :], flags)}"]
            if help
            else []
        )
    if signature(function).parameters.keys() >= {"reading"}:
        names = ", ".join(name for name in READING if name not in told)
        lines.append(f"    :param reading: how the texts of layouts are read: {names}")
    function.__doc__ = "\n".join([(function.__doc__ or "").rstrip(), "", *lines, ""])
    return function


def _in_kind(name: str, value: Any, kind: str) -> Any:
    """Return a value as the question takes it: NumPy's numbers and arrays as Python's, one text as a list.

    It refuses a value that is not among the few of a parameter, and a number where a type belongs.
    """
    if hasattr(value, "tolist") and not isinstance(value, type):
        value = value.tolist()
    few = choices_of(kind)
    if few and str(value) not in few and (value is not None or "None" not in kind):
        raise LayoutError("TW401", f"{name}={value!r} is not one of {', '.join(few)}")
    if kind.startswith("Sequence[str]") and isinstance(value, str):
        return [value]
    if kind.startswith("int") and value is not None:
        return as_int(value, name)
    if kind.startswith("Word") and "int" not in kind and not isinstance(value, str | Iterable | None):
        raise LayoutError("TW107", f"{name}={value!r} is no word", hint='such as "wgmma"')
    if name == "dtype" and isinstance(value, int):
        hint = "an index of several numbers is one value, such as (5, 3)"
        raise LayoutError("TW105", f"dtype={value!r} is no type of an element", hint=hint)
    return value


def _unknown(question: str, name: str, known: Iterable[str], parameters: Iterable[str]) -> str:
    """Return what is wrong with an argument by a name that a question does not have."""
    from difflib import get_close_matches

    message = f"{question}() has no argument {name!r}"
    if "place" in parameters and name in KNOWN:
        return f"{message}; a place is one value: {{'{name}': 5}}"
    if near := get_close_matches(name, known, n=1):
        return f"{message}; did you mean {near[0]}?"
    if "let" in known and name.isupper():
        return f"{message}; a value for a name in a text is let={{'{name}': 64}}"
    return message


def choices_of(annotation: str) -> tuple[str, ...]:
    """Return the only values that a parameter takes, or nothing.

    >>> choices_of('Literal["k", "mn"] | None'), choices_of("str")
    (('k', 'mn'), ())
    """
    return tuple(re.findall("""["'](.*?)["']""", annotation)) if annotation.startswith("Literal[") else ()


def option_of(name: str) -> str:
    """Return the option of a parameter: `--as` of `as_`, for a word of Python has an underscore behind it."""
    return "--" + name.rstrip("_").replace("_", "-")


def question(name: str) -> Callable[..., Any]:
    """Return the function of a question; its module is imported when it is first needed."""
    function: Callable[..., Any] = getattr(module_of(name), name)
    return function


def module_of(name: str) -> ModuleType:
    """Return the module of a question; what is about the command line itself is there."""
    return import_module(f"tilewise.{'cli' if name in OF_THE_SHELL else 'questions'}.{name}")


def reads_texts(name: str) -> bool:
    """Return whether a question takes the options that say how to read layouts."""
    return signature(question(name)).parameters.keys() >= {"reading"}


@dataclass(frozen=True, slots=True)
class Page:
    """The help of a question, and its inputs in a shell; a module's `page(words)` has one for some words."""

    usage: str | None
    description: str | None
    epilog: str | None
    inputs: Sequence[ShellInput]
    subject: Callable[[], str] = str
    """The words behind the command that have this help, for errors."""


def page(name: str, words: Sequence[str]) -> Page:
    """Return the help and the inputs of a question, for words or for any."""
    module = module_of(name)
    return module.page(words) if hasattr(module, "page") else usual_page(name)


def usual_page(name: str) -> Page:
    """Return the help of a question out of its module, and the inputs of its signature."""
    module = module_of(name)
    return Page(getattr(module, "USAGE", None), module.__doc__, None, inputs(name))


def inputs(name: str) -> list[ShellInput]:
    """Return the inputs of a question, those with a title of their own last, in the order of their help."""
    given = signature(question(name)).parameters.values()
    helps = _HELP.get(name, {})
    found = [
        ShellInput(
            each.name,
            str(each.annotation).split(" | ")[0],
            None if each.default is Given.empty else each.default,
            each.default is Given.empty,
            helps.get(each.name, ("", ""))[1],
            helps.get(each.name, ("", ""))[0],
            each.kind is Given.KEYWORD_ONLY,
        )
        for each in given
        if each.kind is not Given.VAR_KEYWORD
    ]
    unknown = helps.keys() - {parameter.name for parameter in found}
    if unknown:
        raise TypeError(f"{name} has help for {', '.join(sorted(unknown))}, which it does not take")
    return sorted(found, key=lambda parameter: [*helps].index(parameter.name) if parameter.group else -1)


LAYOUT = "LAYOUT: a layout, a file that has one, or - for standard input"
ASKED_IN = (
    "S: ask in this shape of the same size, such as 8,8; an encoding or a sharding has its tensor's from here"
)
TENSOR = "S: the tensor's, where an encoding or a sharding has none, such as 128,64"
