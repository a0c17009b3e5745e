"""The spelling of a tile's writer and reader.

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
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from tilewise.check.sides import Boxes, Copied, Described, Fed, Together
from tilewise.core.dtypes import DType, known_type
from tilewise.core.errors import LayoutError
from tilewise.core.layout import UNITS
from tilewise.hardware.engines import ENGINES, engine_of_word
from tilewise.hardware.engines import engine as engine_of
from tilewise.hardware.modes import BLACKWELL, mode_named, mode_of
from tilewise.hardware.operands.stepping import PATTERNS
from tilewise.hardware.operands.template import MAJORS, OPERANDS
from tilewise.hardware.operands.tiles import ORDERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.check.sides import Spec
    from tilewise.hardware.engines import MatrixDescriptor

    OneSide = Copied | Boxes | Fed | Described
    Let = Mapping[str, int]

_CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*\(")
_WORD = re.compile(r"\s*(?:([A-Za-z_]\w*)\s*=(?!=)\s*)?(.*?)\s*", re.DOTALL)
_PAIR = re.compile(r"(\d+)\s*[xX×]\s*(\d+)|\(\s*(\w+)\s*,\s*(\w+)\s*\)")
_OPENS, _CLOSES = "([<{", ")]>}"


@dataclass(frozen=True, slots=True)
class Reading:
    """The way to read a side's layouts, where the side does not give it."""

    let: Mapping[str, int] | None = None
    unit: str = "element"
    dialect: str | None = None
    storage: tuple[str, ...] = ()
    dtype: DType | None = None

    def stored(self, text: str) -> Copied:
        """Return the side of threads that a layout is."""
        from tilewise.hardware.calls import parse

        layout = parse(
            text,
            let=self.let,
            dialect=self.dialect,
            storage=self.storage,
            unit=self.unit,
            dtype=self.dtype if self.unit != "element" else None,
        )
        return Copied(layout, self.dtype)


def side_of(text: str, reading: Reading | None = None) -> Spec:
    """Return the side that a text spells.

    >>> side_of("tma(128x64, 64B)").mode
    Mode.of('64B')
    >>> print(side_of("copy(S[(8, 64) : (64, 1)])").layout)
    S[(8, 64) : (64, 1)]
    """
    how = reading or Reading()
    called = _CALL.match(text)
    if called is None:
        return how.stored(text)
    sides: list[OneSide] = []
    while called is not None:
        name = called[1]
        if name not in _CALLS:
            hint = _near(name, _CALLS, "(...)") + f"known: {', '.join(_CALLS)}, or a layout as it is"
            raise _error("TW002", f"'{name}(' is neither a writer nor a reader", text, called.span(1), hint)
        call = _Call(text, name, called.end(), how)
        sides.append(call.side())
        rest = text[call.end :].lstrip()
        plus = len(text) - len(rest)
        called = _CALL.match(text, plus + 1) if rest[:1] == "+" else None
        if rest and called is None:
            hint = "a side is a layout, or calls with + between them"
            raise _error(
                "TW004", f"the side ends before '{rest[:20].rstrip()}'", text, (plus, len(text)), hint
            )
    return sides[0] if len(sides) == 1 else Together(tuple(sides))


def _error(code: str, message: str, source: str, span: tuple[int, int], hint: str) -> LayoutError:
    return LayoutError(code, message, hint=hint, span=span, source=source)


def _near(word: str, known: Iterable[str], end: str = "") -> str:
    """Return a question after a known word that is near, or ""."""
    from difflib import get_close_matches

    near = get_close_matches(word.lower(), known, n=1, cutoff=0.5)
    return f"did you mean {near[0]}{end}? " if near else ""


# -- a call and its words --------------------------------------------------------------------------


class _Call:
    """A call: its words by their names, and the side that they spell."""

    def __init__(self, source: str, name: str, start: int, how: Reading) -> None:
        self.source, self.name, self.how, self.let = source, name, how, how.let or {}
        self.form = _CALLS[name]
        self.takes = f"{name} takes " + ", ".join(self.form.takes)
        self.words: dict[str, tuple[str, int]] = {}
        depth, first = 0, start
        for here, character in enumerate(source[start:], start):
            if depth == 0 and character in ",)":
                self._put(first, here)
                first = self.end = here + 1
                if character == ")":
                    return
            else:
                depth += (character in _OPENS) - (character in _CLOSES)
        raise _error("TW004", f"'{name}(' is never closed", source, (start - 1, start), "close it with ')'")

    def _put(self, first: int, end: int) -> None:
        """Keep the text between two commas by its name, and the position where its value begins."""
        found = _WORD.fullmatch(self.source, first, end)
        assert found is not None
        name, value = found.groups()
        start = found.start(2)
        whole = found.start(1 if name else 2), found.end(2)
        if not (name or value):
            return
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value, start = value[1:-1], start + 1
        if not name and (self.form.first in self.words or not self.form.first):
            fits = (bare for bare in _BARE if bare in self.form.takes and _looks_like(bare, value))
            name = next(fits, "")
            if not name:
                raise _error("TW002", f"'{value}' says nothing here", self.source, whole, self.takes)
        name = name or self.form.first
        if name not in self.form.takes:
            hint = _near(_OTHERS.get(name.lower(), name), self.form.takes) + self.takes
            raise _error("TW002", f"{self.name} takes no {name}", self.source, whole, hint)
        if name in self.words:
            raise _error("TW004", f"{name} is given twice", self.source, whole, "say it once")
        self.words[name] = value, start

    def side(self) -> OneSide:
        """Return the side that the call spells."""
        values = {name: self._value(name) for name in self.words}
        for name, such in self.form.needs.items():
            if name not in values:
                message = f"{self.name} does not say its {name}"
                raise _error("TW004", message, self.source, (self.end, self.end), f"such as {such}")
        asked = tuple((name, values.pop(name)) for name in OF_INSTRUCTIONS if name in values)
        return self.form.made(**values, **({"asked": asked} if asked else {}))

    def _value(self, name: str) -> Any:
        """Return the value of a word, read by its name; the name's reader refuses wrong ones."""
        value, start = self.words[name]
        try:
            if name == "layout":
                said = {other: self._value(other) for other in _OF_READING if other in self.words}
                return replace(self.how, **said).stored(value)
            if name == "value":
                number = _integer(value, self.let)
                engine = self._value("engine") if "engine" in self.words else engine_of_word(number)
                return engine_of(engine).descriptors.decode(number)
            return _READ[name](value, self.let)
        except LayoutError as error:
            if error.span is None or error.source == value:
                first, last = error.span or (0, len(value))
                error.span, error.source = (start + first, start + last), self.source
            raise


# -- the words -------------------------------------------------------------------------------------


def _choice(name: str, known: tuple[str, ...], value: str, let: Let) -> str:
    found = next((word for word in known if word.lower() == value.lower()), None)
    if found is None:
        message = f"'{value}' is no {name.replace('_', ' ')}"
        raise LayoutError("TW601", message, hint="known: " + " ".join(known))
    return found


def _flag(name: str, value: str, let: Let) -> bool:
    """Return True if a flag such as ws, or ws=true, is set."""
    return _choice(name, ("true", "false", name), value, let) != "false"


def _integer(value: str, let: Let) -> int:
    try:
        return let[value] if value in let else int(value, 0)
    except ValueError:
        raise LayoutError("TW101", f"'{value}' is no whole number", hint="such as 64, or 0x40") from None


def _positive(name: str, value: str, let: Let) -> int:
    number = _integer(value, let)
    if number < 1:
        raise LayoutError("TW102", f"{name} of {number} is not positive")
    return number


def _pair(least: int, value: str, let: Let) -> tuple[int, int]:
    found = _PAIR.fullmatch(value)
    if found is None:
        raise LayoutError("TW004", f"'{value}' is no pair of rows and K", hint="such as 128x64, or (M, K)")
    first, second = (_integer(part, let) for part in found.groups() if part)
    if min(first, second) < least:
        raise LayoutError("TW102", f"'{value}' has an extent that is not positive")
    return first, second


def _kind(value: str, let: Let) -> str:
    from tilewise.hardware.tcgen05.kinds import Kind

    return Kind.of(value).name


_CHOICES: dict[str, tuple[str, ...]] = {
    "major": MAJORS,
    "order": ORDERS,
    "operand": OPERANDS,
    "unit": UNITS,
    "dialect": ("tilewise", "cute"),
    "pattern": PATTERNS,
    "swizzle": ("pointer", "address"),
    "engine": tuple(ENGINES),
    "lbo_mode": ("relative", "absolute"),
}

_READ: dict[str, Callable[[str, Let], Any]] = {
    **{name: partial(_choice, name, known) for name, known in _CHOICES.items()},
    **{name: partial(_flag, name) for name in ("sparse", "ws")},
    **{name: partial(_positive, name) for name in ("n", "m", "k", "cta_group", "inner")},
    **dict.fromkeys(("lbo", "sbo", "start", "base_offset"), _integer),
    **dict.fromkeys(("tile", "box"), partial(_pair, 1)),
    "at": partial(_pair, 0),
    "kind": _kind,
    "mode": lambda value, let: mode_of(value),
    "dtype": lambda value, let: DType.of(value),
    "storage": lambda value, let: tuple(value.split()),
}
"""{name: the reader of its word}."""

_BARE = (
    *("mode", "operand", "major", "dtype", "tile", "unit", "swizzle", "lbo_mode", "sparse", "ws", "engine"),
)
"""The names whose words may stand alone, in the order in which they are tried."""


def _looks_like(name: str, value: str) -> bool:
    """Return True if a bare word can stand for a name."""
    if name == "mode":
        return not value.isdecimal() and mode_named(value) in BLACKWELL
    if name == "dtype":
        return known_type(value) is not None
    if name == "tile":
        return _PAIR.fullmatch(value) is not None
    return value in _CHOICES.get(name, (name,))


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
"""{another library's name of a word: the project's}."""


# -- the calls -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Form:
    """A call: its words, its builder, examples of the words that it needs, the word that comes first."""

    takes: tuple[str, ...]
    made: Callable[..., OneSide]
    needs: Mapping[str, str]
    first: str = ""


def _copied(layout: Copied, swizzle: str = "", at: tuple[int, int] = (0, 0), **_: Any) -> Copied:
    return replace(layout, absolute=swizzle == "address", at=at)


def _described(value: MatrixDescriptor, engine: str = "", **said: Any) -> Described:
    return Described(value, engine=engine or engine_of_word(value.value), **said)


OF_INSTRUCTIONS = ("kind", "m", "cta_group", "sparse", "ws", "k", "lbo_mode")
"""The options of tcgen05's instructions besides type and N."""

_OF_READING = ("dtype", "unit", "dialect", "storage")

_OF_TILE = (
    *("operand", "mode", "tile", "major", "order", "n", "lbo", "sbo", "start", "base_offset"),
    *("at", "dtype", "pattern"),
)
_OPERAND, _MODE = {"operand": "operand=B"}, {"mode": "mode=128B"}

_CALLS = {
    "copy": _Form(
        ("layout", *_OF_READING, "swizzle", "at"),
        _copied,
        {"layout": "copy(S[(128, 64) : (64, 1)])"},
        "layout",
    ),
    "tma": _Form(("tile", "mode", "major", "order", "box", "inner", "start", "at", "dtype"), Boxes, _MODE),
    "wgmma": _Form(_OF_TILE, partial(Fed, engine="wgmma"), _OPERAND | _MODE),
    "tcgen05": _Form((*_OF_TILE, *OF_INSTRUCTIONS), partial(Fed, engine="tcgen05"), _OPERAND | _MODE),
    "descriptor": _Form(
        ("value", "operand", "major", "n", "at", "dtype", "engine", *OF_INSTRUCTIONS),
        _described,
        {"value": "descriptor(0x4000004000010000, operand=A)"} | _OPERAND,
        "value",
    ),
}
"""Every call by name."""
