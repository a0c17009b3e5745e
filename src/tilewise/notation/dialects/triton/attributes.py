"""The attributes of Triton's IR: `#ttg.kind<{key = value, ...}>`, as a tree with spans.

MLIR's grammar (mlir.llvm.org/docs/LangRef, "Attributes") in the parts that Triton's encodings print. The
encodings are declared in include/triton/Dialect/TritonGPU/IR/TritonGPUAttrDefs.td and
TritonNvidiaGPUAttrDefs.td, and printed by lib/Dialect/TritonGPU/IR/Dialect.cpp. Gluon's objects become the
same tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tilewise.core.errors import LayoutError
from tilewise.notation.dialects.given import STRING, integer
from tilewise.notation.tokens import END, NAME, NUMBER, Cursor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Value: TypeAlias = "int | bool | str | tuple[Value, ...] | Encoding"

MAX_DEPTH = 32
"""So many attributes and lists may stand in each other."""
MAX_EXTENT = 1 << 40
"""No extent of a tensor, and no other number of an encoding, is larger."""
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Encoding:
    """An encoding as it is written: its kind, its keys, and where each of them stands in the text."""

    kind: str
    items: Mapping[str, Value]
    spans: Mapping[str, Span]
    span: Span
    source: str
    name: str = ""
    """As the text calls it, such as `#ttg.blocked`."""
    words: Mapping[str, str] = field(default_factory=dict)
    """How the text calls keys, where not as Triton's IR does."""

    def called(self, key: str) -> str:
        """Return a key as the text calls it."""
        return self.words.get(key, key)

    def error(self, code: str, message: str, key: str | None = None, hint: str = "") -> LayoutError:
        """Return a refusal at a key, or at the whole encoding."""
        span = self.span if key is None else self.spans.get(key, self.span)
        return LayoutError(code, message, hint=hint, span=span, source=self.source)

    def only(self, *known: str) -> None:
        """Refuse keys that are none of these: what is not known would be read wrong."""
        for key in self.items:
            if key not in known:
                raise self.error(
                    "TW002",
                    f"{self.name} has no key '{self.called(key)}' that is read here",
                    key,
                    "known: " + " ".join(known),
                )

    def _value(self, key: str) -> Value:
        if key not in self.items:
            raise self.error(
                "TW004", f"{self.name} has no {self.called(key)}", hint=f"write {self.called(key)} = ..."
            )
        return self.items[key]

    def number(self, key: str, default: int | None = None) -> int:
        """Return a number that is not negative."""
        value = default if default is not None and key not in self.items else self._value(key)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_EXTENT:
            raise self.error(
                "TW101",
                f"{self.called(key)} is one number, and not {spelled(value)}",
                key,
                f"such as {self.called(key)} = 1",
            )
        return value

    def power(self, key: str, default: int | None = None) -> int:
        """Return a number that is a power of two."""
        value = self.number(key, default)
        if value < 1 or value & value - 1:
            raise self.error("TW102", f"{self.called(key)} = {value} is no power of two", key)
        return value

    def flag(self, key: str, default: bool | None = None) -> bool:
        """Return true or false."""
        value = default if default is not None and key not in self.items else self._value(key)
        if not isinstance(value, bool):
            raise self.error("TW107", f"{self.called(key)} is true or false, and not {spelled(value)}", key)
        return value

    def word(self, key: str, default: str) -> str:
        """Return a word."""
        value = self.items.get(key, default)
        if not isinstance(value, str):
            raise self.error("TW107", f"{self.called(key)} is a word, and not {spelled(value)}", key)
        return value

    def numbers(self, key: str, length: int | None = None) -> tuple[int, ...]:
        """Return a list of numbers, of a length where one is given."""
        value = self._value(key)
        if not isinstance(value, tuple):
            raise self.error(
                "TW107", f"{self.called(key)} is a list of numbers, and not {spelled(value)}", key
            )
        found = tuple(one for one in value if isinstance(one, int) and not isinstance(one, bool))
        if len(found) != len(value) or any(not 0 <= one <= MAX_EXTENT for one in found):
            raise self.error(
                "TW101", f"{self.called(key)} is a list of numbers, and not {spelled(value)}", key
            )
        if length is not None and len(found) != length:
            raise self.error(
                "TW003", f"{self.called(key)} has {len(found)} entries, and {length} belong here", key
            )
        return found

    def powers(self, key: str, length: int | None = None) -> tuple[int, ...]:
        """Return a list of powers of two."""
        found = self.numbers(key, length)
        for one in found:
            if one < 1 or one & one - 1:
                raise self.error("TW102", f"{self.called(key)} has {one}, which is no power of two", key)
        return found

    def order(self, rank: int | None = None) -> tuple[int, ...]:
        """Return the order of the dimensions, the fastest first."""
        found = self.numbers("order", rank)
        if sorted(found) != [*range(len(found))]:
            wanted = ", ".join(map(str, reversed(range(len(found)))))
            raise self.error(
                "TW003",
                f"order {spelled(found)} is no permutation of the {len(found)} dimensions",
                "order",
                f"the fastest dimension comes first: [{wanted}] is row-major",
            )
        return found

    def bases(self, key: str, rank: int | None = None) -> tuple[tuple[int, ...], ...]:
        """Return bases: a list of vectors, a number for each dimension. A missing key has none."""
        value = self.items.get(key, ())
        if not isinstance(value, tuple):
            raise self.error("TW107", f"{self.called(key)} is a list of bases, and not {spelled(value)}", key)
        if len(value) > 64:
            raise self.error(
                "TW005",
                f"{self.called(key)} has {len(value)} bases: no machine has 2^{len(value)} places",
                key,
            )
        found: list[tuple[int, ...]] = []
        for vector in value:
            numbers = (vector,) if isinstance(vector, int) else vector  # bases of rank 1 may be plain numbers
            if not isinstance(numbers, tuple):
                raise self.error(
                    "TW107",
                    f"a basis of {self.called(key)} is a list of numbers, and not {spelled(vector)}",
                    key,
                )
            basis = tuple(one for one in numbers if isinstance(one, int) and not isinstance(one, bool))
            if len(basis) != len(numbers) or any(not 0 <= one <= MAX_EXTENT for one in basis):
                raise self.error(
                    "TW101",
                    f"a basis of {self.called(key)} is a list of numbers, and not {spelled(vector)}",
                    key,
                )
            if rank is not None and len(basis) != rank:
                raise self.error(
                    "TW003",
                    f"{self.called(key)} has the basis {spelled(basis)}, and {rank} numbers belong into one",
                    key,
                )
            rank = len(basis)
            found.append(basis)
        return tuple(found)

    def parent(self) -> Encoding:
        """Return the encoding that this one is made of."""
        value = self._value("parent")
        if not isinstance(value, Encoding):
            raise self.error("TW107", f"parent is an encoding, and not {spelled(value)}", "parent")
        return value


def spelled(value: object) -> str:
    """Return a value as MLIR prints it, short.

    >>> spelled(((1, 0), True))
    '[[1, 0], true]'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(spelled, value[:8])) + (", ..." if len(value) > 8 else "") + "]"
    if isinstance(value, Encoding):
        return value.name
    return str(value)[:40]


@dataclass(slots=True)
class Reader:
    """Takes attributes from a cursor; aliases are what names such as `#blocked` stand for."""

    cursor: Cursor
    aliases: Mapping[str, Encoding] = field(default_factory=dict)
    depth: int = 0

    def attribute(self) -> Encoding:
        """Take `#ttg.kind<...>`, or a name that stands for one."""
        cursor = self.cursor
        word = cursor.next
        if word.kind != NAME or word.text[0] != "#":
            raise cursor.error(
                "TW004", f"expected an encoding, found {word}", hint="such as #ttg.blocked<{...}>"
            )
        cursor.take()
        prefix, _, kind = word.text[1:].rpartition(".")
        if not prefix:
            if word.text not in self.aliases:
                raise cursor.error(
                    "TW007",
                    f"{word} is defined nowhere in the text",
                    word.span,
                    f"define it before, on a line of its own: {word.text} = #ttg.blocked<{{...}}>",
                )
            return self.aliases[word.text]
        if prefix not in PREFIXES:
            raise cursor.error(
                "TW002",
                f"{word} is no attribute of Triton's",
                word.span,
                "encodings begin with #" + ". #".join(PREFIXES),
            )
        items: dict[str, Value] = {}
        spans: dict[str, Span] = {}
        with _Nesting(self):
            opened = cursor.accept("<")
            if opened is not None:
                self._parameters(items, spans)
                cursor.expect(">", opened)
        return Encoding(kind, items, spans, cursor.since(word), cursor.source, word.text)

    def _parameters(self, items: dict[str, Value], spans: dict[str, Span]) -> None:
        """Take what stands in `<...>`: paddings, keys in braces, and keys without."""
        cursor = self.cursor
        if cursor.next.text == "[":
            start = cursor.next
            items["paddings"] = self._paddings()
            spans["paddings"] = cursor.since(start)
        opened = cursor.accept("{")
        if opened is not None:
            self._keys(items, spans, "}")
            cursor.expect("}", opened)
            if cursor.next.text != ",":
                return
            cursor.take()
        self._keys(items, spans, ">")

    def _keys(self, items: dict[str, Value], spans: dict[str, Span], closing: str) -> None:
        cursor = self.cursor
        first = True
        while cursor.next.text != closing and cursor.next.kind != END:
            if not first:
                cursor.expect(",")
            first = False
            key = cursor.next
            if key.kind not in (NAME, STRING):
                raise cursor.error(
                    "TW004", f"expected a key, found {key}", hint="keys look like order = [1, 0]"
                )
            cursor.take()
            cursor.expect("=", hint=f"{key.text} = ...")
            name = key.text.strip("\"'")
            if name in items:
                raise cursor.error("TW004", f"the key {name} stands here twice", key.span)
            items[name] = self.value()
            spans[name] = cursor.since(key)

    def _paddings(self) -> tuple[tuple[int, int], ...]:
        """Take `[interval:+padding, ...]`."""
        cursor = self.cursor
        opened = cursor.expect("[")
        found: list[tuple[int, int]] = []
        while cursor.next.text != "]":
            if found:
                cursor.expect(",", opened)
            interval = integer(cursor)
            cursor.expect(":", hint="a padding is interval:+padding, such as 128:+4")
            cursor.expect("+", hint="a padding is interval:+padding, such as 128:+4")
            found.append((interval, integer(cursor)))
        cursor.expect("]", opened)
        return tuple(found)

    def value(self) -> Value:
        """Take a value: a number, true or false, a word, a list, keys in braces, or an attribute."""
        cursor = self.cursor
        token = cursor.next
        if token.text == "[":
            with _Nesting(self):
                return self._list("]")
        if token.text == "{":
            with _Nesting(self):
                items: dict[str, Value] = {}
                spans: dict[str, Span] = {}
                cursor.take()
                self._keys(items, spans, "}")
                cursor.expect("}", token)
                return Encoding("", items, spans, cursor.since(token), cursor.source, "the list in braces")
        if token.text == "array" and cursor.ahead(1).text == "<":
            return self._array()
        if token.kind == NUMBER or token.text == "-":
            number = integer(cursor)
            if cursor.accept(":"):
                cursor.take()  # the type of the number
            return number
        if token.kind == NAME and token.text[0] == "#":
            return self.attribute()
        if token.kind in (NAME, STRING):
            cursor.take()
            return {"true": True, "false": False}.get(token.text, token.text.strip("\"'"))
        raise cursor.error("TW004", f"expected a value, found {token}", hint="such as 4, true, or [1, 0]")

    def _list(self, closing: str) -> tuple[Value, ...]:
        cursor = self.cursor
        opened = cursor.take()
        found: list[Value] = []
        while cursor.next.text != closing:
            if found:
                cursor.expect(",", opened)
            found.append(self.value())
        cursor.expect(closing, opened)
        return tuple(found)

    def _array(self) -> tuple[Value, ...]:
        """Take MLIR's dense array, `array<i32: 1, 2>`."""
        cursor = self.cursor
        cursor.take()
        opened = cursor.expect("<")
        cursor.take()  # the type of the numbers
        found: list[Value] = []
        if cursor.accept(":"):
            while cursor.next.text != ">":
                if found:
                    cursor.expect(",", opened)
                found.append(integer(cursor))
        cursor.expect(">", opened)
        return tuple(found)


PREFIXES = ("ttg", "ttng", "triton_gpu", "triton_nvidia_gpu", "gluon")
"""The dialects of the IR, today's and those of 3.0 to 3.5."""


class _Nesting:
    """One attribute or list in another, refused beyond the limit."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def __enter__(self) -> None:
        self.reader.depth += 1
        if self.reader.depth > MAX_DEPTH:
            raise self.reader.cursor.error(
                "TW005", f"more than {MAX_DEPTH} lists and attributes in each other"
            )

    def __exit__(self, *_: object) -> None:
        self.reader.depth -= 1
