"""Triton's encodings in texts: attributes, the types that have them, and definitions of names for them.

MLIR's grammar (mlir.llvm.org/docs/LangRef, "Attributes") in the parts that Triton's encodings print,
`#ttg.kind<{key = value, ...}>`. They are declared in include/triton/Dialect/TritonGPU/IR/TritonGPUAttrDefs.td
and TritonNvidiaGPUAttrDefs.td, and printed by lib/Dialect/TritonGPU/IR/Dialect.cpp. Gluon's objects become
the same encodings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.integers import counted
from tilewise.notation.dialects.given import SHAPE, STRING, Extents, Given, words
from tilewise.notation.dialects.values import (
    Item,
    Value,
    Written,
    between,
    element_type,
    extents_in,
    type_of,
    values,
)
from tilewise.notation.tokens import MAX_TEXT, NAME, NUMBER, Cursor, Span, Token

Setting: TypeAlias = "int | bool | str | tuple[Setting, ...] | Encoding"

MAX_EXTENT = 1 << 40
"""No extent of a tensor, and no other number of an encoding, is larger."""
MAX_RANK = 16
PREFIXES = ("#ttg", "#ttng", "#triton_gpu", "#triton_nvidia_gpu", "#gluon")
"""The dialects of the IR, today's and those of 3.0 to 3.5."""

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


_NOWHERE = Written("", (0, 0))


@dataclass(frozen=True, slots=True)
class Encoding:
    """An encoding as it is written: its kind, its keys, and where each of them stands in the text."""

    kind: str
    items: Mapping[str, Setting]
    where: Written = _NOWHERE
    at: Mapping[str, Written] = field(default_factory=dict)
    name: str = ""
    """As the text calls it, such as `#ttg.blocked`."""
    words: Mapping[str, str] = field(default_factory=dict)
    """{key: its name in the text}, where that is not the name in Triton's IR."""

    def called(self, key: str) -> str:
        """Return a key as the text calls it."""
        return self.words.get(key, key)

    def error(self, code: str, message: str, key: str = "", hint: str = "") -> LayoutError:
        """Return a refusal at a key, or at the whole encoding."""
        return self.at.get(key, self.where).error(code, message, hint)

    def _get(
        self, key: str, wanted: str, fits: Callable[[Setting], bool], default: Setting | None = None
    ) -> Any:
        """Return the value of a key, or refuse one that does not fit."""
        value = self.items.get(key, default)
        word = self.called(key)
        if value is None:
            raise self.error("TW004", f"{self.name} has no {word}", hint=f"write {word} = ...")
        if not fits(value):
            raise self.error("TW107", f"{word} is {wanted}, and not {spelled(value)}", key)
        return value

    def among(self, key: str, value: Setting, known: Collection[Setting]) -> None:
        """Refuse an unknown value."""
        if value not in known:
            listed = " ".join(map(spelled, known))
            message = f"{self.called(key)} = {spelled(value)} is not read here"
            raise self.error("TW602", message, key, f"known: {listed}")

    def number(self, key: str, default: int | None = None, known: Collection[int] = ()) -> int:
        """Return a number that is not negative, and one of those that are known if any are named."""
        value: int = self._get(key, "one number", _is_number, default)
        self.among(key, value, known or (value,))
        return value

    def power(self, key: str, default: int | None = None, known: Collection[int] = ()) -> int:
        """Return a number that is a power of two."""
        return self._powers(key, (self.number(key, default, known),))[0]

    def flag(self, key: str, default: bool | None = None) -> bool:
        """Return true or false."""
        found: bool = self._get(key, "true or false", lambda value: isinstance(value, bool), default)
        return found

    def word(self, key: str, *known: str) -> str:
        """Return one of the known words: the first where the key is missing."""
        value = str(self.items.get(key, known[0]))
        self.among(key, value, known)
        return value

    def inner(self, key: str, kinds: Collection[str]) -> Encoding:
        """Return the inner encoding of this one, of one of these kinds."""
        found: Encoding = self._get(key, "an encoding", lambda value: isinstance(value, Encoding))
        self.among(key, found.kind, kinds)
        return found

    def numbers(self, key: str, length: int | None = None, default: Extents | None = None) -> Extents:
        """Return a list of numbers, of a length where one is given."""
        found: Extents = self._get(key, "a list of numbers", _are_numbers, default)
        self._check_length(key, found, length)
        return found

    def _check_length(self, key: str, found: Extents, length: int | None) -> None:
        if length not in (None, len(found)):
            message = f"{self.called(key)} has {spelled(found)}, and {counted(length, 'number')} belong here"
            raise self.error("TW003", message, key)

    def powers(self, key: str, length: int | None = None, default: Extents | None = None) -> Extents:
        """Return a list of powers of two."""
        return self._powers(key, self.numbers(key, length, default))

    def _powers(self, key: str, found: Extents) -> Extents:
        for one in found:
            if one.bit_count() != 1:
                raise self.error("TW102", f"{self.called(key)} has {one}, which is no power of two", key)
        return found

    def order(self, key: str = "order", rank: int | None = None) -> Extents:
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

    def bases(self, key: str, rank: int | None = None) -> tuple[Extents, ...]:
        """Return bases: a list of vectors, a number for each dimension. A missing key has no bases."""
        found: list[Extents] = []
        for vector in self._get(key, "a list of bases", _are_bases, ()):
            found.append((vector,) if isinstance(vector, int) else vector)
            self._check_length(key, found[-1], rank)
            rank = len(found[-1])
        return tuple(found)


def _is_number(value: Setting) -> bool:
    return type(value) is int and 0 <= value <= MAX_EXTENT


def _are_numbers(value: Setting) -> bool:
    return isinstance(value, tuple) and all(map(_is_number, value))


def _are_bases(value: Setting) -> bool:
    """Return True for lists of numbers; those of rank 1 may be plain numbers."""
    return isinstance(value, tuple) and all(_is_number(one) or _are_numbers(one) for one in value)


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
class Attributes:
    """A maker of encodings from values; `aliases` has the encodings of names such as `#blocked`."""

    aliases: Mapping[str, Encoding] = field(default_factory=dict)

    def attribute(self, written: Sequence[Value]) -> Encoding:
        """Return the encoding of `#ttg.kind<...>`, or of a name that stands for one."""
        word, *brackets = written
        prefix, _, kind = word.text.rpartition(".")
        alias = self.aliases.get(word.text)
        if alias is None and word.text[:1] == "#" and not prefix:
            hint = f"define it before, on a line of its own: {word.text} = #ttg.blocked<{{...}}>"
            raise word.error("TW007", f"{word} is defined nowhere in the text", hint)
        if alias is None and prefix not in PREFIXES:
            hint = f"encodings begin with {' '.join(PREFIXES)}"
            raise word.error("TW002", f"expected an encoding, found {word}", hint)
        if brackets and (alias or len(brackets) > 1 or brackets[0].text != "<"):
            raise brackets[-1].error("TW004", f"the layout ends before {brackets[-1]}")
        return alias or self.encoding(kind, word.text, written, _entries(brackets))

    def encoding(self, kind: str, name: str, written: Sequence[Value], items: Iterable[Item]) -> Encoding:
        """Return the encoding of these keys; refuse an unknown key, which could change the meaning."""
        found: dict[str, Setting] = {}
        at: dict[str, Written] = {}
        for item in items:
            key = self.key(kind, name, item, len(found))
            if key in found:
                raise (item.key or item).error("TW004", f"the key {key} stands here twice")
            found[key], at[key] = self.setting(item.values), item
        return Encoding(kind, found, between(written[0], written[-1]), at, name)

    def key(self, kind: str, name: str, item: Item, taken: int) -> str:
        """Return the key of an item."""
        word, known = item.key, KEYS.get(kind)
        if word is None or item.sign != "=":
            raise item.error("TW004", f"expected a key, found {item}", "keys look like order = [1, 0]")
        if known is not None and word.text not in known.split():
            message = f"{name} has no key '{word.text}' that is read here"
            raise word.error("TW002", message, f"known: {known}")
        return word.text

    def setting(self, written: Sequence[Value]) -> Setting:
        """Return a number, true or false, a word, a list, keys in braces, or an attribute."""
        first, *rest = written
        match rest:
            case [Value(text=":"), Value(text="+"), Value(number=int(padding))] if first.number is not None:
                return first.number, padding  # 128:+4
            case [] | [Value(text=":"), _] if first.number is not None:  # it may have its type after it
                return first.number
            case [] if first.text == "{":
                return self.encoding("", "the list in braces", written, first.items)
            case [] if first.text in ("[", "("):
                return tuple(self.setting(item.without_key.values) for item in first.items)
            case [] if first.kind in (NAME, STRING) and first.text[:1] != "#":
                return {"true": True, "false": False}.get(first.text.lower(), first.text)
            case [] | [Value(text="<" | "(")] if first.kind == NAME:
                return self.attribute(written)
        if rest:
            raise rest[0].error("TW004", f"expected ',' before {rest[0]}")
        raise first.error("TW004", f"expected a value, found {first}", "such as 4, true, or [1, 0]")


def _entries(brackets: Sequence[Value]) -> Iterator[Item]:
    """Yield the keys in `<{...}>`, those outside of the braces, and the paddings before them."""
    for item in (item for bracket in brackets for item in bracket.items):
        if item.key:
            yield item
            continue
        for value in item.values:
            if value.text == "{":
                yield from value.items
            else:
                key = Value(value.source, value.span, NAME, "paddings" if value.text == "[" else "")
                yield Item(value.source, value.span, key if key.text else None, "=", (value,))


# -- whole texts -----------------------------------------------------------------------------------


DEFINITION = re.compile(r"^[ \t]*(#[A-Za-z_$][\w$.]*)[ \t]*=[ \t]*(#[A-Za-z_]\w*\..*)", re.MULTILINE)
_TYPE = re.compile(r"(?:\btensor|!(?:ttg|tt|triton_gpu)\.memdesc)<(?=\d)")
_BRACKETS = re.compile(r"->|<|>")
_DEPTH = {"<": 1, ">": -1}
_SPACES = ("shared_memory", "tensor_memory", "shared_cluster_memory")
MAX_PARTS = 4_096


@dataclass(frozen=True, slots=True)
class Typed:
    """An encoding, and the shape and type of element beside it."""

    encoding: Encoding
    shape: Extents | None = None
    dtype: DType | None = None
    allocation: Extents | None = None


def chosen(given: Given) -> Typed:
    """Return the layout of a text; of one with aliases and types, the chosen part.

    The parts of such a text are the aliases of layouts, and the types that have an encoding.
    """
    text = given.text
    if len(text) > MAX_TEXT:
        raise LayoutError("TW005", f"a text of {len(text)} characters; at most {MAX_TEXT} are read")
    aliases: dict[str, Encoding] = {}
    for found in DEFINITION.finditer(text):
        name = found[1]
        if name in aliases:
            raise LayoutError("TW004", f"{name} is defined twice", span=found.span(1), source=text)
        aliases[name] = typed(text, found.span(2), Attributes(aliases)).encoding
    types: dict[str, Span] = {}
    for found in _TYPE.finditer(text) if aliases or "\n" in text.strip() else ():
        start, end = found.start(), closing(text, found.end())
        if "#" in text[start:end]:
            types.setdefault(text[start:end], (start, end))
        if len(types) > MAX_PARTS:
            raise LayoutError("TW005", f"a text with more than {MAX_PARTS} layouts")
    names = [name for name, encoding in aliases.items() if encoding.kind in KEYS]
    if not names and not types:
        return typed(text, (0, len(text)), Attributes(aliases))
    only = given.part is None and len(types) == 1
    name = given.chosen(types if only else [*names, *types], "the text")
    return typed(text, types[name], Attributes(aliases)) if name in types else Typed(aliases[name])


def closing(text: str, start: int) -> int:
    """Return the position that closes the `<` before `start`, or the end of the text."""
    depth = 1
    for found in _BRACKETS.finditer(text, start):
        depth += _DEPTH.get(found[0], 0)
        if not depth:
            return found.end()
    return len(text)


def typed(text: str, span: Span, reader: Attributes) -> Typed:
    """Return a part of a text, which is a type, or an encoding alone; spans are those of the whole text."""
    start, end = span

    def scan(source: str) -> Iterator[Token]:
        for token in words(source[start:end].partition("//")[0]):
            yield Token(token.kind, token.text, token.start + start, token.end + start)

    written = values(Cursor(text, scan))
    word, *brackets = written
    if word.text.startswith("#"):
        return Typed(reader.attribute(written))
    if word.text != "tensor" and not word.text.endswith(".memdesc"):
        message = f"expected an encoding or a type, found {word}"
        raise word.error(
            "TW001", message, "such as #ttg.blocked<{...}> or tensor<128x64xf16, #ttg.blocked<{...}>>"
        )
    if len(brackets) != 1 or brackets[0].text != "<":
        raise written[-1].error("TW004", f"expected '<...>' alone after {word}, found {written[-1]}")
    shape, element = type_of(brackets[0])
    if not shape or not element:
        raise brackets[0].error(
            "TW004", f"expected a shape and a type in {brackets[0]}", "such as 128x64xf16"
        )
    _check_extents(brackets[0].items[0].values[0], shape)
    pointed = element[0].text.startswith("!")
    dtype = DType.of("b64") if pointed else element_type(element[0].text)
    if dtype is None or (len(element) > 1 and not pointed):
        message = f"{element[-1]} is no type of an element that is known here"
        raise element[-1].error("TW105", message)
    others = brackets[0].items[1:]
    if not others:
        message = "a type without an encoding has no layout"
        example = f"such as {word.text}<128xf16, #ttg.blocked<...>>"
        raise between(word, brackets[0]).error("TW004", message, example)
    if word.text != "tensor" and dtype.bits == 1:
        dtype = DType.of("b8")  # a truth value has a byte of memory
    return Typed(reader.attribute(others[0].values), shape, dtype, _allocation(others[1:]))


def _check_extents(word: Value, extents: Sequence[int]) -> None:
    if len(extents) > MAX_RANK or not 0 < min(extents) <= max(extents) <= MAX_EXTENT:
        message = f"{word} is no shape: it has up to {MAX_RANK} extents, from 1 to {MAX_EXTENT}"
        raise word.error("TW102", message, "such as 128x64xf16")


def _allocation(items: Sequence[Item]) -> Extents | None:
    """Return the allocation that a descriptor names; the space of its memory, `mutable` move no element."""
    found: Extents | None = None
    for item in items:
        word = item.single
        prefix, _, kind = word.text.rpartition(".")
        if word.kind in (SHAPE, NUMBER) and found is None:
            found = extents_in(word)
            _check_extents(word, found)
        elif word.text != "mutable" and (word.text[:1] != "#" or (prefix and kind not in _SPACES)):
            hint = "after the encoding: #ttg.shared_memory, mutable, the allocation's shape 64x128"
            raise word.error("TW002", f"{word} is no part of a descriptor", hint)
    return found


# -- beside the text -------------------------------------------------------------------------------

NEWEST = (3, 9)


@dataclass(slots=True)
class Context:
    """The version that printed a text, the type of an element, and notes on choices."""

    number: Extents = NEWEST
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
        """Return the number of elements that a register or an unpacked column of 32 bits holds."""
        if self.dtype is None:
            message = f"{encoding.name} fills 32 bits with elements: say how many bits one has"
            raise encoding.error("TW105", message, hint="--dtype f16")
        return max(1, 32 // self.dtype.bits)
