"""How the writer and the reader of a tile are spelled.

    SIDE  = LAYOUT | CALL {+ CALL}
    CALL  = copy(LAYOUT, ...) | tma(...) | wgmma(...) | tcgen05(...) | descriptor(0x..., ...)

A layout stands in either dialect, or is an entry of the catalogue, `wgmma.smem(...)`. In the brackets stand
name=value and bare words, in any order: a word that can mean one thing alone, such as 64B, k, A, bf16 or
128x64, needs no name. Calls that are added up are parts of one tile, each `at` its first element.

    tma(tile=128x64, mode=64B)                   also major, order, box, inner, start, at, dtype
    wgmma(operand=B, mode=128B, major=k, n=128)  also tile, order, start, lbo, sbo, base_offset,
                                                 pattern=address|tile, at, dtype
    tcgen05(operand=A, mode=128B, m=128)         the same, and kind, cta_group, sparse, ws, k, lbo_mode
    descriptor(0x4000004000010000, B, n=64)      also major, at, dtype, engine, and what that one takes
    copy(S[(128, 64) : (64, 1)], dtype=f16)      also unit, dialect, storage, at, swizzle=pointer|address
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from tilewise.check.sides import Boxes, Copied, Described, Fed, Together
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import UNITS, Layout
from tilewise.hardware.engines import ENGINES, engine_of_word
from tilewise.hardware.engines import engine as engine_of
from tilewise.hardware.modes import BLACKWELL, Mode, mode_named, mode_of
from tilewise.hardware.operands.majors import MAJORS, OPERANDS
from tilewise.hardware.operands.stepping import PATTERNS
from tilewise.hardware.operands.tiles import ORDERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.check.sides import Asked, Spec
    from tilewise.hardware.engines import Descriptor

_CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*\(")
_NAMED = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)\s*")
_TIMES = re.compile(r"(\d+)\s*[xX×]\s*(\d+)")
_BRACKETS = re.compile(r"\(\s*(\w+)\s*,\s*(\w+)\s*\)")
LBO_MODES = ("relative", "absolute")
_OPENS, _CLOSES = "([<{", ")]>}"


@dataclass(frozen=True, slots=True)
class Reading:
    """How the layouts of a side are read, where it does not say so itself."""

    let: Mapping[str, int] | None = None
    unit: str = "element"
    dialect: str | None = None
    storage: tuple[str, ...] = ()
    dtype: DType | None = None


def side_of(text: str, reading: Reading | None = None) -> Spec:
    """The side that a text spells.

    >>> side_of("tma(128x64, 64B)").mode
    Mode.of('64B')
    >>> print(side_of("copy(S[(8, 64) : (64, 1)])").layout)
    S[(8, 64) : (64, 1)]
    """
    how = reading or Reading()
    called = _CALL.match(text)
    if called is None:
        return Copied(_layout(text, how), how.dtype)
    sides: list[Copied | Boxes | Fed | Described] = []
    while called is not None:
        name = called[1]
        if name not in _CALLS:
            raise _unknown_call(text, called)
        call = _Call(text, name, called.end(), how)
        sides.append(_CALLS[name].made(call))
        called = _next_call(text, call.end)
    return sides[0] if len(sides) == 1 else Together(tuple(sides))


def _next_call(text: str, at: int) -> re.Match[str] | None:
    """The call after a +, None at the end of the text."""
    rest = text[at:].strip()
    if not rest:
        return None
    plus = text.index(rest, at)
    called = _CALL.match(text, plus + 1) if rest[0] == "+" else None
    if called is None:
        raise LayoutError(
            "TW004",
            f"the side ends before '{rest[:20]}'",
            hint="a side is a layout, or calls with + between them",
            span=(plus, len(text)),
            source=text,
        )
    return called


def _unknown_call(text: str, called: re.Match[str]) -> LayoutError:
    from difflib import get_close_matches

    near = get_close_matches(called[1].lower(), _CALLS, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}(...)? " if near else ""
    return LayoutError(
        "TW002",
        f"'{called[1]}(' is neither a writer nor a reader",
        hint=f"{hint}known: {', '.join(_CALLS)}, or a layout as it is",
        span=called.span(1),
        source=text,
    )


def _layout(text: str, how: Reading, source: str = "", at: int = 0) -> Layout:
    """A layout in either dialect; what it refuses is shown in the whole text."""
    from tilewise.hardware.calls import parse

    try:
        return parse(
            text,
            let=how.let,
            dialect=how.dialect,
            storage=how.storage,
            unit=how.unit,
            dtype=how.dtype if how.unit != "element" else None,
        )
    except LayoutError as error:
        if source and error.span is not None and error.source == text:
            error.span = (error.span[0] + at, error.span[1] + at)
            error.source = source
        raise


# -- a call and its words --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Word:
    """What stands between two commas: its name, where it has one, and where the value stands."""

    name: str | None
    value: str
    start: int
    value_start: int

    @property
    def end(self) -> int:
        return self.value_start + len(self.value)


class _Call:
    """The words of one call, taken by their names; what is left over at the end is refused."""

    def __init__(self, source: str, name: str, start: int, how: Reading) -> None:
        self.source, self.name, self.how = source, name, how
        self.form = _CALLS[name]
        self.words: dict[str, _Word] = {}
        self.end = start
        for word in self._split(start):
            self._put(word)

    def error(
        self, code: str, message: str, word: _Word | None = None, hint: str = "", whole: bool = False
    ) -> LayoutError:
        """A refusal at a word's value, at the whole word, or at the call."""
        span = (self.end, self.end)
        if word is not None:
            span = (word.start if whole else word.value_start, word.end)
        return LayoutError(code, message, hint=hint, span=span, source=self.source)

    def _split(self, start: int) -> Iterator[_Word]:
        depth, first = 0, start
        for at in range(start, len(self.source)):
            character = self.source[at]
            if depth == 0 and character in ",)":
                yield from self._word(first, at)
                first = at + 1
                if character == ")":
                    self.end = first
                    return
            else:
                depth += (character in _OPENS) - (character in _CLOSES)
        raise LayoutError(
            "TW004",
            f"'{self.name}(' is never closed",
            hint="close it with ')'",
            span=(start - 1, start),
            source=self.source,
        )

    def _word(self, first: int, end: int) -> Iterator[_Word]:
        text = self.source[first:end]
        start = first + len(text) - len(text.lstrip())
        text = text.strip()
        if not text:
            return
        named = _NAMED.match(text)
        value = text[named.end() :] if named else text
        at = start + (named.end() if named else 0)
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value, at = value[1:-1], at + 1
        yield _Word(named[1] if named else None, value, start, at)

    def _put(self, word: _Word) -> None:
        name = word.name or self._meant(word)
        if name not in self.form.takes:
            raise self._unknown(word, name)
        if name in self.words:
            raise self.error("TW004", f"{name} is given twice", word, "say it once", whole=True)
        self.words[name] = word

    def _meant(self, word: _Word) -> str:
        """The one name that a bare word can stand for."""
        first = self.form.first
        if first and first not in self.words:
            return first
        fitting = [name for name, looks in _LOOKS.items() if name in self.form.takes and looks(word.value)]
        if not fitting:
            raise self.error("TW002", f"'{word.value}' says nothing here", word, self._takes())
        return fitting[0]

    def _unknown(self, word: _Word, name: str) -> LayoutError:
        from difflib import get_close_matches

        known = self.form.takes
        near = get_close_matches(_OTHERS.get(name.lower(), name), known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        return self.error("TW002", f"{self.name} takes no {name}", word, hint + self._takes(), whole=True)

    def _takes(self) -> str:
        return f"{self.name} takes " + ", ".join(self.form.takes)

    def take(self, name: str) -> Any:
        """The value of a word, None where it is not said."""
        word = self.words.get(name)
        return None if word is None else _KINDS[name](self, word)

    def need(self, name: str, such: str) -> Any:
        """The value of a word that must be there."""
        if name not in self.words:
            raise self.error("TW004", f"{self.name} does not say its {name}", hint=f"such as {such}")
        return self.take(name)


# -- the kinds of words ----------------------------------------------------------------------------


def _choice(call: _Call, word: _Word, known: tuple[str, ...]) -> str:
    for name in known:
        if word.value.lower() == name.lower():
            return name
    name = word.name or "word"
    raise call.error(
        "TW601", f"'{word.value}' is no {name.replace('_', ' ')}", word, "known: " + " ".join(known)
    )


def _number(call: _Call, word: _Word) -> int:
    return _integer(call, word, word.value)


def _integer(call: _Call, word: _Word, text: str) -> int:
    let = call.how.let or {}
    if text in let:
        return let[text]
    try:
        return int(text, 0)
    except ValueError:
        raise call.error("TW101", f"'{word.value}' is no whole number", word, "such as 64, or 0x40") from None


def _pair(call: _Call, word: _Word) -> tuple[int, int]:
    found = _TIMES.fullmatch(word.value) or _BRACKETS.fullmatch(word.value)
    if found is None:
        raise call.error(
            "TW004", f"'{word.value}' is no pair of rows and K", word, "such as 128x64, or (M, K)"
        )
    first, second = (_integer(call, word, part) for part in found.groups())
    return first, second


def _size(call: _Call, word: _Word) -> tuple[int, int]:
    pair = _pair(call, word)
    if min(pair) < 1:
        raise call.error("TW102", f"'{word.value}' has an extent that is not positive", word)
    return pair


def _positive(call: _Call, word: _Word) -> int:
    number = _number(call, word)
    if number < 1:
        raise call.error("TW102", f"{word.name or 'a size'} of {number} is not positive", word)
    return number


def _mode(call: _Call, word: _Word) -> Mode:
    with _blame(call, word):
        return mode_of(word.value)


def _dtype(call: _Call, word: _Word) -> DType:
    with _blame(call, word):
        return DType.of(word.value)


def _descriptor(call: _Call, word: _Word) -> Descriptor:
    with _blame(call, word):
        found: Descriptor = engine_of(_engine_of(call, word)).decode(_number(call, word))
        return found


def _engine_of(call: _Call, word: _Word) -> str:
    """Whose descriptor a word is: that engine's which is named, or by its version."""
    return call.take("engine") or engine_of_word(_number(call, word))


def _kind(call: _Call, word: _Word) -> str:
    from tilewise.hardware.tcgen05.kinds import Kind

    with _blame(call, word):
        return Kind.of(word.value).name


def _flag(call: _Call, word: _Word) -> bool:
    """A word that says itself, such as ws, or ws=true."""
    return _choice(call, word, ("true", "false", word.name or word.value)) != "false"


@contextmanager
def _blame(call: _Call, word: _Word) -> Iterator[None]:
    """What is refused inside is refused at the word."""
    try:
        yield
    except LayoutError as error:
        if error.span is None:
            error.span, error.source = (word.value_start, word.end), call.source
        raise


def _is_mode(value: str) -> bool:
    return not value.isdecimal() and mode_named(value) in BLACKWELL


def _is_dtype(value: str) -> bool:
    try:
        DType.of(value)
    except LayoutError:
        return False
    return True


_KINDS: dict[str, Callable[[_Call, _Word], Any]] = {
    "tile": _size,
    "box": _size,
    "at": _pair,
    "mode": _mode,
    "dtype": _dtype,
    "major": lambda call, word: _choice(call, word, MAJORS),
    "order": lambda call, word: _choice(call, word, ORDERS),
    "operand": lambda call, word: _choice(call, word, OPERANDS),
    "unit": lambda call, word: _choice(call, word, UNITS),
    "dialect": lambda call, word: _choice(call, word, ("tilewise", "cute")),
    "pattern": lambda call, word: _choice(call, word, PATTERNS),
    "swizzle": lambda call, word: _choice(call, word, ("pointer", "address")),
    "storage": lambda _, word: tuple(word.value.split()),
    "n": _positive,
    "m": _positive,
    "k": _positive,
    "cta_group": _positive,
    "kind": _kind,
    "engine": lambda call, word: _choice(call, word, tuple(ENGINES)),
    "lbo_mode": lambda call, word: _choice(call, word, LBO_MODES),
    "sparse": _flag,
    "ws": _flag,
    "inner": _positive,
    "lbo": _number,
    "sbo": _number,
    "start": _number,
    "base_offset": _number,
    "value": _descriptor,
}
"""How a word is read by its name."""

_LOOKS: dict[str, Callable[[str], bool]] = {
    "mode": _is_mode,
    "operand": lambda value: value in OPERANDS,
    "major": lambda value: value in MAJORS,
    "dtype": _is_dtype,
    "tile": lambda value: (_TIMES.fullmatch(value) or _BRACKETS.fullmatch(value)) is not None,
    "unit": lambda value: value in UNITS,
    "swizzle": lambda value: value in ("pointer", "address"),
    "lbo_mode": lambda value: value in LBO_MODES,
    "sparse": lambda value: value == "sparse",
    "ws": lambda value: value == "ws",
    "engine": lambda value: value in ENGINES,
}
"""Which bare words a name may go without, in the order in which they are tried."""

_OTHERS = {
    "swizzle": "mode",
    "swizzle_mode": "mode",
    "shape": "tile",
    "leading": "lbo",
    "leading_byte_offset": "lbo",
    "stride": "sbo",
    "stride_byte_offset": "sbo",
    "trans": "major",
    "type": "dtype",
    "address": "start",
    "base": "start",
    "smem": "start",
}
"""What others call a word."""


# -- the calls -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Form:
    """What a call takes, which of it comes first without a name, and what is made of it."""

    takes: tuple[str, ...]
    made: Callable[[_Call], Copied | Boxes | Fed | Described]
    first: str = ""


def _copied(call: _Call) -> Copied:
    if "layout" not in call.words:
        raise call.error("TW004", "copy does not say its layout", hint="such as copy(S[(128, 64) : (64, 1)])")
    word = call.words["layout"]
    dtype = call.take("dtype") or call.how.dtype
    how = Reading(
        call.how.let,
        call.take("unit") or call.how.unit,
        call.take("dialect") or call.how.dialect,
        call.take("storage") or call.how.storage,
        dtype,
    )
    layout = _layout(word.value, how, call.source, word.value_start)
    return Copied(layout, dtype, call.take("swizzle") == "address", call.take("at") or (0, 0))


def _boxes(call: _Call) -> Boxes:
    return Boxes(
        mode=call.need("mode", "mode=128B"),
        tile=call.take("tile"),
        major=call.take("major") or "k",
        order=call.take("order"),
        box=call.take("box"),
        inner=call.take("inner"),
        start=call.take("start"),
        at=call.take("at") or (0, 0),
        dtype=call.take("dtype"),
    )


def _fed(call: _Call) -> Fed:
    return Fed(
        operand=call.need("operand", "operand=B"),
        mode=call.need("mode", "mode=128B"),
        tile=call.take("tile"),
        major=call.take("major") or "k",
        order=call.take("order"),
        n=call.take("n"),
        lbo=call.take("lbo"),
        sbo=call.take("sbo"),
        start=call.take("start"),
        base_offset=call.take("base_offset"),
        at=call.take("at"),
        dtype=call.take("dtype"),
        pattern=call.take("pattern") or "address",
        engine=call.name,
        asked=_asked(call),
    )


def _asked(call: _Call) -> Asked:
    """What the instructions are asked for besides type and N."""
    return tuple((name, call.take(name)) for name in OF_INSTRUCTIONS if name in call.words)


def _described(call: _Call) -> Described:
    return Described(
        descriptor=call.need("value", "descriptor(0x4000004000010000, operand=A)"),
        operand=call.need("operand", "operand=B"),
        major=call.take("major") or "k",
        n=call.take("n"),
        at=call.take("at") or (0, 0),
        dtype=call.take("dtype"),
        engine=_engine_of(call, call.words["value"]),
        asked=_asked(call),
    )


OF_INSTRUCTIONS = ("kind", "m", "cta_group", "sparse", "ws", "k", "lbo_mode")
"""What tcgen05's instructions are asked for besides type and N."""

_OF_TILE = (
    *("operand", "mode", "tile", "major", "order", "n", "lbo", "sbo", "start", "base_offset"),
    *("at", "dtype", "pattern"),
)

_CALLS = {
    "copy": _Form(("layout", "dtype", "unit", "dialect", "storage", "swizzle", "at"), _copied, "layout"),
    "tma": _Form(("tile", "mode", "major", "order", "box", "inner", "start", "at", "dtype"), _boxes),
    "wgmma": _Form(_OF_TILE, _fed),
    "tcgen05": _Form((*_OF_TILE, *OF_INSTRUCTIONS), _fed),
    "descriptor": _Form(
        ("value", "operand", "major", "n", "at", "dtype", "engine", *OF_INSTRUCTIONS), _described, "value"
    ),
}
"""Every call by name."""
