"""The words of `tilewise algebra OP`, read by their kind: layouts, tilers, shapes, numbers, tables."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tilewise.cli.answer import misused
from tilewise.cli.arguments import layout_from, let_from, text_from
from tilewise.core.axes import Axis, m
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_ENTRIES = 1 << 22
"""An array has so many entries at most."""

KEEP = ("_", ":")
"""The tilers of a mode that stays as it is."""

_STATIC = re.compile(r"(?<!\w)_(?=\d)")
_LAMBDA = re.compile(r"\s*lambda\b")
_CALL = re.compile(r"\s*[A-Za-z]\w*\.[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of an operation, and the order in which tables count that name none."""

    options: Mapping[str, Any]
    order: str = "row"

    def __getitem__(self, option: str) -> Any:
        return self.options.get(option)


@dataclass(frozen=True, slots=True)
class Word:
    """A word that an operation takes."""

    name: str
    optional: bool = False
    repeated: bool = False


def words_of(spelled: str) -> list[Word]:
    """The words of an operation, as its usage spells them: `[X]` may be left out, `X...` repeats.

    >>> words_of("LAYOUT [SIZE]")[1]
    Word(name='SIZE', optional=True, repeated=False)
    """
    return [Word(word.strip("[]."), "[" in word, "..." in word) for word in spelled.split()]


def paired(words: Sequence[Word], given: Sequence[str]) -> list[tuple[Word, str]] | None:
    """(word, what was given for it) of every given word, or None where they do not pair up."""
    needed = sum(not word.optional for word in words)
    repeated = any(word.repeated for word in words)
    if len(given) < needed or (len(given) > len(words) and not repeated):
        return None
    more = [words[-1]] * (len(given) - len(words))
    return [*zip([*words, *more], given, strict=False)]


class Reader:
    """Reads words as the options say."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.let = let_from(args)

    def read(self, name: str, text: str) -> Any:
        """The value of a word or of an option."""
        kind: Callable[[Reader, str], Any] = _KINDS.get(name, Reader.layout)
        return kind(self, text_from(text))

    def layout(self, text: str) -> Layout:
        """A layout in either dialect, or a document."""
        return layout_from(text, self.args)

    def tiler(self, text: str) -> Any:
        """A layout, an extent, `_`, or a shape: a tuple of extents by mode."""
        if text in KEEP:
            return None
        if text.startswith("<") and text.endswith(">"):  # as CuTe prints tilers by mode
            return tuple(map(self.tiler, _parts_of(text[1:-1])))
        return self.layout(text) if _is_layout(text) else self.numbers(text)

    def numbers(self, text: str) -> Any:
        """A number, or nested tuples of them; CuTe's `_8` is 8."""
        from tilewise.notation import parse_index

        return parse_index(_STATIC.sub("", text), self.let)

    def shape(self, text: str) -> Any:
        """A shape as a tuple; a -1 in it is for the operation to judge."""
        numbers = self.numbers(text)
        return numbers if isinstance(numbers, tuple) else (numbers,)

    def number(self, text: str) -> int:
        """One number."""
        value = self.numbers(text)
        if isinstance(value, tuple):
            raise misused(f"{text} is several numbers where one belongs")
        return int(value)

    def brackets(self, text: str) -> list[Any]:
        """Modes to bracket, one or several: `0,1` is one bracket, `(0,1),2` a bracket and a mode."""
        parts = self.numbers(text.rstrip(",") + ",")
        return list(parts) if len(parts) == 1 or any(isinstance(part, tuple) for part in parts) else [parts]

    def offset(self, text: str) -> Any:
        """Steps on axes: `128`, `4@reg`."""
        return layout_from(f"S[()] + O[{text}]", self.args).offset

    def region(self, text: str) -> Any:
        """A range or an index a mode."""
        from tilewise.notation import parse_region

        return parse_region(text, self.let)

    def name(self, text: str) -> str:
        """The name of an axis or of a dtype."""
        return text

    def names(self, text: str) -> list[Any]:
        """Names, and numbers among them, with commas between."""
        return [int(name) if name.strip().isdecimal() else name.strip() for name in text.split(",")]

    def renamed(self, text: str) -> dict[str, str]:
        """`old=new,...`."""
        pairs = [tuple(map(str.strip, pair.split("="))) for pair in text.split(",")]
        if any(len(pair) != 2 or not all(pair) for pair in pairs):
            raise misused(f"{text} does not rename axes", "such as laneid=tx,reg=m")
        return dict(pairs)  # type: ignore[arg-type]  # every pair has two

    def table(self, text: str) -> Any:
        """Numbers in JSON's nested lists, by axis if need be; or with spaces or commas between them.

        Lines of equally many numbers are rows, and lines that begin with a name are axes. A file that NumPy
        has saved is an array, and a lambda is a function of the coordinates.
        """
        import json

        if _LAMBDA.match(text):
            return self._function(text)
        if text.endswith(".npy"):
            return _array_in(text)
        if not text.startswith(("[", "{")):
            return self._lines([line.split() for line in text.replace(",", " ").splitlines() if line.strip()])
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise misused(f"the table is no JSON: {error}") from None

    def _function(self, text: str) -> Any:
        from tilewise.notation.formulas import read_lambda

        names = self.args.axes
        return read_lambda(
            text, self.let, [m] if names is None else [Axis(str(n)) for n in self.names(names)]
        )

    def _lines(self, lines: list[list[str]]) -> Any:
        if all(line[0].isidentifier() and line[0] not in self.let for line in lines):
            return {name: list(map(self.number, words)) for name, *words in lines}
        rows = [list(map(self.number, words)) for words in lines]
        even = len(rows) > 1 and len(rows[0]) > 1 and len(set(map(len, rows))) == 1
        return rows if even else [number for row in rows for number in row]


def _array_in(path: str) -> Any:
    """Return the numbers in a file that NumPy has saved, as nested lists."""
    from numpy.lib.format import open_memmap

    try:
        array = open_memmap(path, mode="r")
    except (OSError, ValueError, EOFError) as error:
        why = getattr(error, "strerror", None) or error
        raise LayoutError("TW402", f"{path} holds no array of numbers: {why}") from None
    if array.size > MAX_ENTRIES:
        raise LayoutError(
            "TW301",
            f"{path} has {array.size} entries; at most {MAX_ENTRIES} are read",
            hint="an exact answer takes every entry; save a tile",
        )
    return array.tolist()


def _parts_of(text: str) -> list[str]:
    """The parts of a list, at the commas outside all brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([<") - (character in ")]>")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def misplaced(words: Sequence[tuple[Word, str]]) -> int | None:
    """The position of a word that is no layout, where one stands in another's place."""
    elsewhere = any(word.name in _PLAIN and _is_layout(text) for word, text in words)
    wrong = [i for i, (word, text) in enumerate(words) if word.name not in _KINDS and not _is_layout(text)]
    return wrong[0] if elsewhere and wrong and words[wrong[0]][1] != "-" else None


def _is_layout(text: str) -> bool:
    return "S[" in text or ":" in text or text.startswith("{") or _CALL.match(text) is not None


_KINDS: dict[str, Callable[[Reader, str], Any]] = {
    "TILER": Reader.tiler,
    "SHAPE": Reader.shape,
    "MODE": Reader.number,
    "EXTENT": Reader.numbers,
    "COUNT": Reader.number,
    "SIZE": Reader.number,
    "POSITION": Reader.number,
    "MODES": Reader.brackets,
    "ORDER": Reader.shape,
    "OFFSET": Reader.offset,
    "REGION": Reader.region,
    "AXIS": Reader.name,
    "AXES": Reader.names,
    "INTO": Reader.names,
    "OUTER": Reader.tiler,
    "OLD": Reader.name,
    "NEW": Reader.name,
    "NAMES": Reader.renamed,
    "TABLE": Reader.table,
    "BASES": Reader.table,
    "ORIGIN": Reader.number,
}
"""How words are read by their names; all others are layouts."""

_PLAIN = {
    "SHAPE",
    "MODE",
    "EXTENT",
    "COUNT",
    "SIZE",
    "POSITION",
    "MODES",
    "ORDER",
    "AXIS",
    "AXES",
    "INTO",
    "OLD",
    "NEW",
}
"""The words in which no layout can be written."""
