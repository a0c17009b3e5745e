"""The words of `tilewise algebra OP`, read by their names: layouts, tilers, shapes, numbers, tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewise.core.errors import LayoutError
from tilewise.questions.texts import Texts, misused, text_from

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
class Word:
    """A word that an operation takes."""

    name: str
    optional: bool = False
    repeated: bool = False


def words_of(spelled: str) -> list[Word]:
    """Return the words of an operation, as its usage spells them: `[X]` may be left out, `X...` repeats.

    >>> words_of("LAYOUT [SIZE]")[1]
    Word(name='SIZE', optional=True, repeated=False)
    """
    return [Word(word.strip("[]."), "[" in word, "..." in word) for word in spelled.split()]


def paired(words: Sequence[Word], given: Sequence[str]) -> list[tuple[Word, str]] | None:
    """Return (word, its text) of every given word, or None where they do not pair up."""
    needed = sum(not word.optional for word in words)
    repeated = any(word.repeated for word in words)
    if len(given) < needed or (len(given) > len(words) and not repeated):
        return None
    more = [words[-1]] * (len(given) - len(words))
    return [*zip([*words, *more], given, strict=False)]


def value_of(texts: Texts, name: str, text: str) -> Any:
    """Return the value of a word or of an option; what has no other kind is a layout."""
    text = text_from(text, texts.let)
    return KINDS[name](texts, text) if name in KINDS else texts.layout(text)


def _tiler(texts: Texts, text: str) -> Any:
    """Return a layout, an extent, None to keep a mode, or a shape: a tuple of extents by mode."""
    if text in KEEP:
        return None
    if text.startswith("<") and text.endswith(">"):  # as CuTe prints tilers by mode
        return tuple(_tiler(texts, part) for part in _parts_of(text[1:-1]))
    return texts.layout(text) if _is_layout(text) else _numbers(texts, text)


def _numbers(texts: Texts, text: str) -> Any:
    """Return a number, or nested tuples of them; CuTe's `_8` is 8."""
    from tilewise.notation import parse_index

    return parse_index(_STATIC.sub("", text), texts.let)


def _shape(texts: Texts, text: str) -> Any:
    """Return a shape as a tuple; a -1 in it is for the operation to judge."""
    numbers = _numbers(texts, text)
    return numbers if isinstance(numbers, tuple) else (numbers,)


def _number(texts: Texts, text: str) -> int:
    value = _numbers(texts, text)
    if isinstance(value, tuple):
        raise misused(f"{text} is several numbers where one belongs")
    return int(value)


def _brackets(texts: Texts, text: str) -> list[Any]:
    """Return modes to bracket, one or several: `0,1` is one bracket, `(0,1),2` a bracket and a mode."""
    parts = _numbers(texts, text.rstrip(",") + ",")
    return list(parts) if len(parts) == 1 or any(isinstance(part, tuple) for part in parts) else [parts]


def _offset(texts: Texts, text: str) -> Any:
    """Return steps on axes: `128`, `4@reg`."""
    return texts.layout(f"S[()] + O[{text}]").offset


def _region(texts: Texts, text: str) -> Any:
    from tilewise.notation import parse_region

    return parse_region(text, texts.let)


def _name(texts: Texts, text: str) -> str:
    return text


def _names(texts: Texts, text: str) -> list[Any]:
    """Return names, and numbers among them, with commas between."""
    return [int(name) if name.strip().isdecimal() else name.strip() for name in text.split(",")]


def _renamed(texts: Texts, text: str) -> dict[str, str]:
    pairs = [tuple(map(str.strip, pair.split("="))) for pair in text.split(",")]
    if any(len(pair) != 2 or not all(pair) for pair in pairs):
        raise misused(f"{text} does not rename axes", "such as laneid=tx,reg=m")
    return dict(pairs)  # type: ignore[arg-type]  # every pair has two


def _table(texts: Texts, text: str) -> Any:
    """Return numbers in JSON's nested lists, by axis if need be; or with spaces or commas between them.

    Lines of equally many numbers are rows, and lines that begin with a name are axes. A file that NumPy
    has saved is an array, and a lambda stays the text of a function.
    """
    import json

    if _LAMBDA.match(text):
        return text
    if text.endswith(".npy"):
        return _array_in(text)
    if text.startswith(("[", "{")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise misused(f"the table is no JSON: {error}") from None
    lines = [line.split() for line in text.replace(",", " ").splitlines() if line.strip()]
    if all(line[0].isidentifier() and line[0] not in texts.let for line in lines):
        return {name: [_number(texts, word) for word in words] for name, *words in lines}
    rows = [[_number(texts, word) for word in line] for line in lines]
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
    """Return the parts of a list, at the commas outside all brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([<") - (character in ")]>")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def misplaced(words: Sequence[tuple[Word, str]]) -> int | None:
    """Return the position of a word that is no layout, where one stands in another's place."""
    elsewhere = any(word.name in PLAIN and _is_layout(text) for word, text in words)
    wrong = [i for i, (word, text) in enumerate(words) if word.name not in KINDS and not _is_layout(text)]
    return wrong[0] if elsewhere and wrong and words[wrong[0]][1] != "-" else None


def _is_layout(text: str) -> bool:
    return "S[" in text or ":" in text or text.startswith("{") or _CALL.match(text) is not None


KINDS: dict[str, Callable[[Texts, str], Any]] = {
    "TILER": _tiler,
    "SHAPE": _shape,
    "MODE": _number,
    "EXTENT": _numbers,
    "COUNT": _number,
    "SIZE": _number,
    "POSITION": _number,
    "MODES": _brackets,
    "ORDER": _shape,
    "OFFSET": _offset,
    "REGION": _region,
    "AXIS": _name,
    "AXES": _names,
    "INTO": _names,
    "OUTER": _tiler,
    "OLD": _name,
    "NEW": _name,
    "NAMES": _renamed,
    "TABLE": _table,
    "BASES": _table,
    "ORIGIN": _number,
}
"""{the name of a word: what reads it}; all others are layouts."""

PLAIN = set("SHAPE MODE EXTENT COUNT SIZE POSITION MODES ORDER AXIS AXES INTO OLD NEW".split())
"""The words in which no layout can be written."""

SPREAD = ("MODES", "REGION", "AXES...")
"""Words with several values, each of which the operation takes by itself."""
