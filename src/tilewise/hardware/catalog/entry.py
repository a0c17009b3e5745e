"""Entries of the catalogue: data, and one function that builds the layout.

An engine adds entries and nothing else: a name, a summary, parameters, the source, an example and `build`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.hardware import sources
from tilewise.hardware.architectures import Architecture
from tilewise.hardware.catalog.confirmed import PROJECTS, confirmed_by, project_of
from tilewise.hardware.limits import REGISTER_BITS
from tilewise.hardware.sources import table_beside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TABLE = "entries.json"
Value = str | int
_NAME = re.compile(r"[a-z]\w*(\.[A-Za-z]\w*)*")
_TRUE, _FALSE = ("1", "true", "yes"), ("0", "false", "no")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an entry.

    >>> major = Parameter("major", "which direction is contiguous", legal=("k", "mn"))
    >>> major.read("mn")
    'mn'
    >>> major.read("m")
    Traceback (most recent call last):
        ...
    tilewise.LayoutError: TW601: 'm' is no major
      hint: did you mean mn? known: k mn
    """

    name: str
    meaning: str
    legal: tuple[Value, ...] = ()
    """Every value, where they can be listed."""
    rule: str = ""
    """Further conditions on a value, in words."""
    default: Value | None = None
    optional: bool = False
    """May be left out though it has no default."""
    number: bool = False
    flag: bool = False
    """True for a flag: true or false, and false by default."""
    normal: Callable[[str], str] | None = None
    """The function that gives types and modes their one spelling; it refuses unknown words."""

    def __post_init__(self) -> None:
        if self.flag:
            object.__setattr__(self, "legal", (False, True))
            object.__setattr__(self, "default", False)
        if not self.name.isidentifier() or not self.meaning or not (self.legal or self.rule):
            raise ValueError(f"the parameter {self.name!r} does not say what it is")
        if self.default is not None and self.read(self.default) != self.default:
            raise ValueError(f"the default {self.default!r} of {self.name} is no value of it")

    @property
    def needed(self) -> bool:
        """Return True if the parameter has no default."""
        return self.default is None and not self.optional

    def read(self, given: Value) -> Value:
        """Return the value that a word stands for, or raise an error that names the nearest one."""
        if self.flag:
            return self._flag(str(given).lower())
        return self._number(given) if self.number else self._word(str(given))

    def _flag(self, given: str) -> bool:
        if given in (*_TRUE, self.name):
            return True
        if given in _FALSE:
            return False
        raise LayoutError(
            "TW601", f"{self.name} is given or not, and {given!r} says neither", hint=f"{self.name}=1, or 0"
        )

    def _number(self, given: Value) -> int:
        try:
            value = int(given, 0) if isinstance(given, str) else as_int(given, self.name)
        except ValueError:
            hint = f"such as {self.name}={self.default or (self.legal or (64,))[0]}"
            raise LayoutError("TW101", f"{self.name} is a number, not {given!r}", hint=hint) from None
        if self.legal and value not in self.legal:
            near = min(self.legal, key=lambda legal: abs(int(legal) - value))
            raise LayoutError(
                "TW601", f"there is no {self.name} {value}", hint=f"did you mean {near}? {self._known()}"
            )
        return value

    def _word(self, given: str) -> str:
        if self.normal is not None:
            return self.normal(given)
        for legal in self.legal:
            if given.lower() == str(legal).lower():
                return str(legal)
        raise LayoutError(
            "TW601",
            f"{given!r} is no {self.name}",
            hint=did_you_mean(given, map(str, self.legal)) + self._known(),
        )

    def _known(self) -> str:
        return "known: " + " ".join(map(str, self.legal)) if self.legal else self.rule


@dataclass(frozen=True, slots=True)
class Built:
    """The result of an entry for some values."""

    layout: Layout | None
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The facts that follow from the values, as JSON, in the order in which they are shown."""
    dtype: DType | None = None
    """The type of the layout's elements."""
    letter: str = ""
    """The letter of a fragment's elements: d0, d1, ..."""
    held: tuple[int, int] | None = None
    """(bits that an element takes, the lowest of its own bits): it may take more than it has."""
    notes: tuple[str, ...] = ()
    source: sources.Source | None = None
    """Its place in the document, where that is more exact than the entry's."""
    measurable: bool = True
    """True if a device can show it: no instruction reads some layouts of the documents."""
    documented: bool = True
    """True if it follows the document; others may have found the document wrong."""
    stored: Mapping[str, int] = field(default_factory=dict)
    """{the word for a mode's elements: their number}, mode by mode, where padding fills the layout up."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A family of layouts of the hardware, by name.

    postcondition  entry.build(**entry.bind(...)) is the layout and the facts that follow from the values
    """

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    source: sources.Source
    build: Callable[..., Built]
    example: Mapping[str, Value] = field(default_factory=dict)
    """Values that are legal."""
    words: str = ""
    """Further words that find it."""
    listed: Callable[[], Iterable[Mapping[str, Value]]] | None = None
    """The values of its instances, where the parameters' legal values do not list them."""
    looks: str = ""
    """A pattern of small letters: the beginning of words that are an instruction, no name of an entry."""
    said_by: Callable[[str], Mapping[str, Value]] | None = None
    """Parse values from the words of an instruction. Without a parser, the words are the first value."""
    settled: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """The function that gives equivalent values their one spelling."""

    def __post_init__(self) -> None:
        names = [parameter.name for parameter in self.parameters]
        if not _NAME.fullmatch(self.name) or not self.summary or len(set(names)) != len(names):
            raise ValueError(f"the entry {self.name!r} does not hold together")

    @property
    def confirmed(self) -> tuple[str, ...]:
        """Return the entry's confirmations."""
        return confirmed_by(self.name)

    @property
    def engine(self) -> str:
        """Return the first word of the name."""
        return self.name.partition(".")[0]

    @property
    def call(self) -> str:
        """Return the example, as a call."""
        return self.spelled(self.bind(named=self.example))

    def __repr__(self) -> str:
        return f"<{self.usage}: {self.summary}>"

    def __call__(self, *given: Value, **named: Value) -> Built:
        """Return the layout and the facts for some values, in the order of the parameters or by name."""
        return self.build(**self.bind(given, named))

    def confirmed_for(self, built: Built, instance: str | None = None) -> tuple[str, ...]:
        """Return the confirmations for the values of an instance; a document does not confirm itself."""
        said = {"device": built.measurable, "document": built.documented}
        own = PROJECTS.get((built.source or self.source).document)
        ways = (how for how in confirmed_by(self.name, instance) if said.get(how.split(":")[0], True))
        return tuple(how for how in ways if project_of(how) != own)

    def values_in(self, words: str) -> Mapping[str, Value]:
        """Return the values that the words of an instruction give."""
        return self.said_by(words) if self.said_by else {self.parameters[0].name: words}

    def parameter(self, name: str) -> Parameter:
        """Return the parameter of that name."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        names = [parameter.name for parameter in self.parameters]
        raise LayoutError(
            "TW601",
            f"{self.name} has no parameter {name}",
            hint=did_you_mean(name, names) + "it has " + (" ".join(names) or "none"),
        )

    def bind(self, given: tuple[Value, ...] = (), named: Mapping[str, Value] | None = None) -> dict[str, Any]:
        """Return {parameter: value} of all parameters; each value parsed, each missing one at its default."""
        if len(given) > len(self.parameters):
            raise LayoutError(
                "TW601",
                f"{self.name} has {len(self.parameters)} parameters, and {len(given)} values were given",
                hint=self.usage,
            )
        values: dict[str, Any] = {
            parameter.name: parameter.read(value)
            for parameter, value in zip(self.parameters, given, strict=False)
        }
        for name, value in (named or {}).items():
            parameter = self.parameter(name)
            if name in values:
                raise LayoutError("TW601", f"{name} is given twice", hint=self.usage)
            values[name] = parameter.read(value)
        missing = [p.name for p in self.parameters if p.needed and p.name not in values]
        if missing:
            raise LayoutError("TW601", f"{self.name} needs {' and '.join(missing)}", hint=self.usage)
        whole = {p.name: values.get(p.name, p.default) for p in self.parameters}
        return whole if self.settled is None else self.settled(whole)

    @property
    def usage(self) -> str:
        """Return the usage of the entry as a call: optional parameters in brackets."""
        words = [p.name if p.needed else f"[{p.name}]" for p in self.parameters]
        return f"{self.name}({', '.join(words)})"

    def spelled(self, values: Mapping[str, Any]) -> str:
        """Return the call that gives these values: a first word bare, the others by name.

        >>> from tilewise.hardware.catalog import find
        >>> find("wgmma.D").spelled({"dtype": "f32", "n": 64})
        'wgmma.D(f32, n=64)'
        """
        shown = [
            (p, values[p.name])
            for p in self.parameters
            if values.get(p.name) is not None and values[p.name] != p.default
        ]
        first = self.parameters[0] if self.parameters else None
        words = [
            p.name if p.flag else str(value) if p is first else f"{p.name}={value}" for p, value in shown
        ]
        return f"{self.name}({', '.join(words)})"


@cache
def texts() -> Mapping[str, Any]:
    """Return the table of the catalogue's texts: of its entries, and of names that are left out.

    >>> texts()["entries"]["wgmma.D"]["example"]
    {'dtype': 'f32', 'n': 64}
    """
    table: dict[str, Any] = table_beside(__file__, TABLE)
    return table


def entry(
    name: str,
    parameters: tuple[Parameter, ...],
    build: Callable[..., Built],
    listed: Callable[[], Iterable[Mapping[str, Value]]] | None = None,
    **more: Any,
) -> Entry:
    """Return an entry; its summary, source, example and words are the row of its name in the table."""
    row = texts()["entries"][name]
    source = sources.Source(**row["source"])
    return Entry(
        name, row["summary"], parameters, source, build, row["example"], row["words"], listed, **more
    )


def did_you_mean(given: str, known: Any) -> str:
    """Return `did you mean X? `, or "" where no known word is near."""
    from difflib import get_close_matches

    spelled = {word.lower(): word for word in known}
    near = get_close_matches(given.lower(), spelled, n=1)
    return f"did you mean {spelled[near[0]]}? " if near else ""


# -- parameters of several engines ---------------------------------------------------------------


def dtype_named(given: str) -> str:
    """Return the one name of a type.

    >>> dtype_named("float16")
    'f16'
    """
    return DType.of(given).name


def of_type(
    whose: str, legal: Iterable[str] = (), normal: Callable[[str], str] = dtype_named, rule: str = ""
) -> Parameter:
    """Return the parameter that is the type of something.

    >>> of_type("A's elements", ["f16", "bf16"]).meaning
    "the type of A's elements"
    """
    return Parameter("dtype", f"the type of {whose}", legal=tuple(legal), normal=normal, rule=rule)


ARCH = Parameter(
    "arch",
    "an architecture that has to have it",
    rule="such as sm_90",
    optional=True,
    normal=lambda given: str(Architecture.of(given)),
)


def number(
    name: str, meaning: str, rule: str, default: int | None = None, *, optional: bool = False
) -> Parameter:
    """Return a parameter that is a number, with a rule in words."""
    return Parameter(name, meaning, rule=rule, default=default, optional=optional, number=True)


def choice(
    name: str, meaning: str, legal: Iterable[int], default: int | None = None, *, optional: bool = False
) -> Parameter:
    """Return a parameter that is one of some numbers.

    >>> choice("cta_group", "CTAs that multiply together", (1, 2), 1).read("2")
    2
    """
    numbers = tuple(legal)
    return Parameter(name, meaning, legal=numbers, default=default, optional=optional, number=True)


def flag(name: str, meaning: str) -> Parameter:
    """Return a parameter that is given or not."""
    return Parameter(name, meaning, flag=True)


# -- fragments -----------------------------------------------------------------------------------


def registers_of(layout: Layout, dtype: DType, letter: str, taken: int = 0) -> dict[str, object]:
    """Return a thread's elements and registers as facts; an element takes `taken` bits, if more.

    Registers have 32 bits; an element of 64 is in two.

    >>> from tilewise import S, laneid, reg
    >>> f64 = S[(8, 8) : (4 @ laneid, 1 @ reg)]
    >>> registers_of(f64, DType.of("f64"), "d")["registers"]
    {'count': 16, 'bits': 32, 'registers_each': 2}
    >>> registers_of(f64, DType.of("s4"), "a")["registers"]
    {'count': 1, 'bits': 32, 'elements_each': 8}
    """
    elements, bits = layout.span("reg"), taken or dtype.bits
    wide = bits > REGISTER_BITS
    each = bits // REGISTER_BITS if wide else REGISTER_BITS // bits
    count = elements * each if wide else elements // each
    return {
        "dtype": dtype.name,
        "elements": {"count": elements, "first": f"{letter}0", "last": f"{letter}{elements - 1}"},
        "registers": {
            "count": count,
            "bits": REGISTER_BITS,
            ("registers_each" if wide else "elements_each"): each,
        },
    }


def in_container(element: DType, taken: int, lowest: int) -> dict[str, object]:
    """Return the bits of a register that an element has, where it takes more.

    >>> in_container(DType.of("e2m1"), 8, 2)
    {'container': {'bits': 8, 'lowest': 2, 'highest': 5}}
    """
    if taken == element.bits:
        return {}
    return {"container": {"bits": taken, "lowest": lowest, "highest": lowest + element.bits - 1}}


def fragment_built(
    layout: Layout,
    element: DType,
    letter: str,
    facts: Mapping[str, object],
    held: tuple[int, int] | None = None,
    **rest: Any,
) -> Built:
    """Return the result of an entry for a fragment: facts of its own, and then those of a thread."""
    taken, lowest = held or (element.bits, 0)
    holds = registers_of(layout, element, letter, taken) | in_container(element, taken, lowest)
    return Built(layout, {**facts, **holds}, element, letter, held, **rest)
