"""The attributes of Triton's IR: `#ttg.kind<{key = value, ...}>`, as a tree with spans.

MLIR's grammar (mlir.llvm.org/docs/LangRef, "Attributes") in the parts that Triton's encodings print. The
encodings are declared in include/triton/Dialect/TritonGPU/IR/TritonGPUAttrDefs.td and
TritonNvidiaGPUAttrDefs.td, and printed by lib/Dialect/TritonGPU/IR/Dialect.cpp. Gluon's objects become the
same tree.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.integers import counted
from tilewise.notation.dialects.given import STRING, integer
from tilewise.notation.tokens import NAME, NUMBER, Cursor, Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias, TypeGuard

    Value: TypeAlias = "int | bool | str | tuple[Value, ...] | Encoding"

MAX_DEPTH = 32
"""So many attributes and lists may stand in each other."""
MAX_EXTENT = 1 << 40
"""No extent of a tensor, and no other number of an encoding, is larger."""
PREFIXES = ("#ttg", "#ttng", "#triton_gpu", "#triton_nvidia_gpu", "#gluon")
"""The dialects of the IR, today's and those of 3.0 to 3.5."""
Span = tuple[int, int]

_CLUSTER = " CGALayout CTAsPerCGA CTASplitNum CTAOrder"
"""Keys of the blocks of a cluster: today's, and those of 3.0 to 3.5."""
_LINEAR = "register lane warp block"
_SWIZZLED = "vec perPhase maxPhase order" + _CLUSTER
KEYS = {
    "blocked": "sizePerThread threadsPerWarp warpsPerCTA order" + _CLUSTER,
    "linear": _LINEAR,
    "generic_linear": _LINEAR,
    "slice": "dim parent",
    "nvidia_mma": "versionMajor versionMinor warpsPerCTA instrShape" + _CLUSTER,
    "dot_op": "opIdx parent kWidth",
    "amd_mfma": "version versionMajor versionMinor warpsPerCTA instrShape isTransposed tilesPerWarp "
    "elementBitWidth elementType" + _CLUSTER,
    "amd_wmma": "version isTranspose ctaLayout instrShape rank warpsPerCTA tilesPerWarp" + _CLUSTER,
    "swizzled_shared": _SWIZZLED,
    "amd_rotating_shared": _SWIZZLED,
    "shared": "hasLeadingOffset " + _SWIZZLED,
    "nvmma_shared": "swizzlingByteWidth transposed elementBitWidth fp4Padded rank" + _CLUSTER,
    "shared_linear": "offset block alignment",
    "padded_shared": "paddings order shape offset block" + _CLUSTER,
    "partitioned_shared": "numPartitions numGroups partitionDim partitionLayout",
    "tensor_memory_encoding": "blockM blockN colStride unpacked twoCTAs ctaMode fp4Padded CGALayout "
    "CTASplitM CTASplitN",
    "tensor_memory_scales_encoding": "CGALayout CTASplitM CTASplitN blockRepOrder",
    "": "register warp",
}
"""The encodings that are read, with their keys; without a name, that of the tiles of #ttg.amd_wmma."""


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
    """{key: its name in the text}, where that is not the name in Triton's IR."""

    def called(self, key: str) -> str:
        """Return a key as the text calls it."""
        return self.words.get(key, key)

    def error(self, code: str, message: str, key: str = "", hint: str = "") -> LayoutError:
        """Return a refusal at a key, or at the whole encoding."""
        return LayoutError(code, message, hint=hint, span=self.spans.get(key, self.span), source=self.source)

    def _value(self, key: str, default: Value | None = None) -> Value:
        value = self.items.get(key, default)
        if value is None:
            word = self.called(key)
            raise self.error("TW004", f"{self.name} has no {word}", hint=f"write {word} = ...")
        return value

    def _wrong(self, key: str, wanted: str, value: Value) -> LayoutError:
        return self.error("TW107", f"{self.called(key)} is {wanted}, and not {spelled(value)}", key)

    def among(self, key: str, value: Value, known: Collection[Value]) -> None:
        """Refuse what is not known here."""
        if value not in known:
            listed = " ".join(map(spelled, known))
            message = f"{self.called(key)} = {spelled(value)} is not read here"
            raise self.error("TW602", message, key, f"known: {listed}")

    def number(self, key: str, default: int | None = None, known: Collection[int] = ()) -> int:
        """Return a number that is not negative, and one of those that are known if any are named."""
        value = self._value(key, default)
        if not _is_number(value):
            raise self._wrong(key, "one number", value)
        self.among(key, value, known or (value,))
        return value

    def power(self, key: str, default: int | None = None, known: Collection[int] = ()) -> int:
        """Return a number that is a power of two."""
        return self._powers(key, (self.number(key, default, known),))[0]

    def flag(self, key: str, default: bool | None = None) -> bool:
        """Return true or false."""
        value = self._value(key, default)
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false", value)
        return value

    def word(self, key: str, *known: str) -> str:
        """Return one of the words that are known: the first where none is written."""
        value = str(self._value(key, known[0]))
        self.among(key, value, known)
        return value

    def inner(self, key: str, kinds: Collection[str]) -> Encoding:
        """Return the encoding that this one is made of, of one of these kinds."""
        value = self._value(key)
        if not isinstance(value, Encoding):
            raise self._wrong(key, "an encoding", value)
        self.among(key, value.kind, kinds)
        return value

    def numbers(
        self, key: str, length: int | None = None, default: tuple[int, ...] | None = None
    ) -> tuple[int, ...]:
        """Return a list of numbers, of a length where one is given."""
        return self._numbers(key, self._value(key, default), length)

    def _numbers(self, key: str, value: Value, length: int | None) -> tuple[int, ...]:
        values = value if isinstance(value, tuple) else ()
        found = tuple(one for one in values if _is_number(one))
        if found != value:
            raise self._wrong(key, "a list of numbers", value)
        if length not in (None, len(found)):
            message = f"{self.called(key)} has {spelled(found)}, and {counted(length, 'number')} belong here"
            raise self.error("TW003", message, key)
        return found

    def powers(
        self, key: str, length: int | None = None, default: tuple[int, ...] | None = None
    ) -> tuple[int, ...]:
        """Return a list of powers of two."""
        return self._powers(key, self.numbers(key, length, default))

    def _powers(self, key: str, found: tuple[int, ...]) -> tuple[int, ...]:
        for one in found:
            if one.bit_count() != 1:
                raise self.error("TW102", f"{self.called(key)} has {one}, which is no power of two", key)
        return found

    def order(self, key: str = "order", rank: int | None = None) -> tuple[int, ...]:
        """Return the order of the dimensions, the fastest first."""
        found = self.numbers(key, rank)
        dimensions = [*range(len(found))]
        if sorted(found) != dimensions:
            raise self.error(
                "TW003",
                f"{self.called(key)} {spelled(found)} is no permutation of the {len(found)} dimensions",
                key,
                f"the fastest dimension comes first: {dimensions[::-1]} is row-major",
            )
        return found

    def bases(self, key: str, rank: int | None = None) -> tuple[tuple[int, ...], ...]:
        """Return bases: a list of vectors, a number for each dimension. A missing key has none."""
        value = self.items.get(key, ())
        if not isinstance(value, tuple):
            raise self._wrong(key, "a list of bases", value)
        found: list[tuple[int, ...]] = []
        for vector in value:
            numbers = (vector,) if isinstance(vector, int) else vector  # bases of rank 1 may be plain numbers
            found.append(self._numbers(key, numbers, rank))
            rank = len(found[0])
        return tuple(found)


def _is_number(value: Value) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= MAX_EXTENT


def spelled(value: object, most: int = 8) -> str:
    """Return a value as MLIR prints it, short: of a list so many entries at most.

    >>> spelled(((1, 0), True)), spelled((1, 2, 3), 2)
    ('[[1, 0], true]', '[1, 2, ...]')
    """
    if isinstance(value, tuple):
        entries = [spelled(one, most) for one in value[:most]]
        return f"[{', '.join([*entries, '...'] if len(value) > most else entries)}]"
    if isinstance(value, Encoding):
        return value.name
    return (str(value).lower() if isinstance(value, bool) else str(value))[:40]


@dataclass(slots=True)
class Reader:
    """Takes attributes from a cursor; aliases are what names such as `#blocked` stand for."""

    cursor: Cursor
    aliases: Mapping[str, Encoding] = field(default_factory=dict)
    depth: int = 0

    def attribute(self) -> Encoding:
        """Take `#ttg.kind<...>`, or a name that stands for one."""
        cursor, word = self.cursor, self.cursor.next
        prefix, _, kind = word.text.rpartition(".")
        if word.text in self.aliases:
            return self.aliases[cursor.take().text]
        if word.text[:1] == "#" and not prefix:
            hint = f"define it before, on a line of its own: {word.text} = #ttg.blocked<{{...}}>"
            raise cursor.error("TW007", f"{word} is defined nowhere in the text", hint=hint)
        if prefix not in PREFIXES:
            hint = f"encodings begin with {' '.join(PREFIXES)}"
            raise cursor.error("TW002", f"expected an encoding, found {word}", hint=hint)
        cursor.take()
        closing = ">" if cursor.accept("<") else ""
        return self._with_keys(kind, word.text, word, closing)

    def _with_keys(self, kind: str, name: str, start: Token, closing: str) -> Encoding:
        """Take what stands in brackets that are open, if any are: keys, in braces or not, and paddings."""
        cursor, opened = self.cursor, self.cursor.behind
        items: dict[str, Value] = {}
        spans: dict[str, Span] = {}
        outside = closing == ">"
        while closing and not cursor.accept(closing):
            key = cursor.next
            if outside and items.keys() <= {"paddings"} and cursor.accept("{"):
                inner = self._with_keys(kind, name, key, "}")
                items |= inner.items
                spans |= inner.spans
            else:
                word = "paddings" if outside and key.text == "[" else self._key(kind, name, len(items))
                if word in items:
                    raise cursor.error("TW004", f"the key {word} stands here twice", key.span)
                items[word] = self.value()
                spans[word] = cursor.since(key)
            if cursor.next.text not in (closing, "{"):
                cursor.expect(",", opened, f"close it with '{closing}'")
        return Encoding(kind, items, spans, cursor.since(start), cursor.source, name)

    def _key(self, kind: str, name: str, taken: int) -> str:
        """Take `key =`. A key that is not known is refused: without it the encoding would be read wrong."""
        cursor, key = self.cursor, self.cursor.next
        if key.kind not in (NAME, STRING):
            raise cursor.error("TW004", f"expected a key, found {key}", hint="keys look like order = [1, 0]")
        word = cursor.take().text.strip("\"'")
        cursor.expect("=", hint=f"{word} = ...")
        known = KEYS.get(kind, word)
        if word not in known.split():
            message = f"{name} has no key '{word}' that is read here"
            raise cursor.error("TW002", message, key.span, f"known: {known}")
        return word

    def value(self) -> Value:
        """Take a value: a number, true or false, a word, a list, keys in braces, or an attribute."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.cursor.error("TW005", f"more than {MAX_DEPTH} lists and attributes in each other")
        found = self._value()
        self.depth -= 1
        return found

    def _value(self) -> Value:
        cursor, token = self.cursor, self.cursor.next
        if token.kind == NUMBER or token.text == "-":
            number = integer(cursor)
            if not cursor.accept(":"):
                return number
            if cursor.accept("+"):
                return number, integer(cursor)  # a padding, 128:+4
            cursor.take()  # the type of the number
            return number
        if token.text[:1] == "#" or cursor.ahead(1).text == "(":
            return self.attribute()
        if token.kind in (NAME, STRING):
            word = cursor.take().text
            return {"true": True, "false": False}.get(word.lower(), word.strip("\"'"))
        if cursor.accept("{"):
            return self._with_keys("", "the list in braces", token, "}")
        if not cursor.accept("[", "("):
            raise cursor.error("TW004", f"expected a value, found {token}", hint="such as 4, true, or [1, 0]")
        closing = "]" if token.text == "[" else ")"
        found: list[Value] = []
        while not cursor.accept(closing):
            found.append(self.value())
            if cursor.next.text != closing:
                cursor.expect(",", token, f"close it with '{closing}'")
        return tuple(found)


# -- beside the text -------------------------------------------------------------------------------

NEWEST = (3, 9)


@dataclass(slots=True)
class Context:
    """The version that printed a text, the type of an element, and what is to be said of choices."""

    number: tuple[int, ...] = NEWEST
    given: bool = False
    dtype: DType | None = None
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, text: str | None, dtype: DType | None = None) -> Context:
        """Return the context for a version; without one it is the newest that is known here.

        >>> Context.of("3.2.0").number, Context.of(None).number
        ((3, 2), (3, 9))
        """
        if text is None:
            return cls(dtype=dtype)
        found = re.fullmatch(r"v?(\d{1,4})\.(\d{1,4})(?:\.\S{0,20})?", text)
        if found is None:
            raise LayoutError("TW001", f"{text!r} is no version of Triton", hint="such as --triton 3.2")
        return cls((int(found[1]), int(found[2])), True, dtype)

    def elements_in_32_bits(self, encoding: Encoding) -> int:
        """Return how many elements a register or an unpacked column of 32 bits holds."""
        if self.dtype is None:
            message = f"{encoding.name} fills 32 bits with elements: say how many bits one has"
            raise encoding.error("TW105", message, hint="--dtype f16")
        return max(1, 32 // self.dtype.bits)
