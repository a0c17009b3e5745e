"""CuTe's layouts as C++ and the DSL print them, with the pointers before them.

    ((8,2),(4,4)):((8,64),(1,4))        Sw<3,4,3> o _0 o (_8,_64):(_64,_1)        (4,8):(1@0,1@1)
    smem_ptr[16b](0x400) o (8,4):(4,1)  tensor<ptr<f16, smem, align<1024>, S<3,4,3>> o (8,64):(64,1)>
    ArithTuple(0,_0) o (4,8):(_1@0,_1@1)    tensor(raw_ptr(0x400: f16, gmem, align<16>) o (8,4):(4,1)

A swizzle before a pointer or in its type acts on bytes, while the strides count elements: then it is
converted. A swizzle after the pointer counts elements. tests/oracle/test_cute_texts.py compares that with
the loads of the DSL. The address of a pointer is no part of the layout. The DSL prints the pointer's
swizzle only while it traces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tilewise.core.axes import KNOWN, Axis
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.shapes import leaves, size_of
from tilewise.core.swizzles import Swizzle
from tilewise.core.text import BASIS
from tilewise.core.vectors import Vector, as_vector
from tilewise.notation.cute import ATTACHED, POINTERS, SWIZZLES
from tilewise.notation.dialects.given import Reading
from tilewise.notation.elements import bits_of, element_of
from tilewise.notation.tokens import END, NAME, WIDTH, Cursor, Scan, Span, Token
from tilewise.notation.trees import NAMELESS, Leaf, Names, NumberCursor, Tree, plain

_PYCUTE = re.compile(r"SW_(\d{1,4})_(\d{1,4})_(\d{1,4})")
"""A swizzle of pycute."""
_TYPED = "such as ptr<f16, smem, align<1024>, S<3,4,3>> o (8,64):(64,1)"
_O = ("o", "∘")


_SPACES = {
    "smem": "shared memory",
    "dsmem": "the cluster's shared memory",
    "gmem": "global memory",
    "rmem": "registers",
    "tmem": "tensor memory",
    "generic": "memory of any kind",
}
_EXAMPLE = "such as smem_ptr[16b](unset) o (8,64):(64,1)"


@dataclass(slots=True)
class Pointer:
    """A pointer, as a text has it. Its address is no part of the layout."""

    bits: int | None = None
    """The bits of an element in memory; None where the type does not tell them."""
    dtype: DType | None = None
    space: str = ""
    alignment: int = 0
    """In bytes, or 0 where the text has none."""
    swizzled: bool = False
    """True where its type has a swizzle, which acts on the bytes of the address."""
    ran: bool = False
    """True where the text was printed at run time."""

    def notes(self, layout: Layout) -> Iterator[str]:
        """Yield notes on the pointer for a reader of the layout."""
        words = [f"to {_SPACES[self.space]}"] if self.space else []
        words += [f"aligned to {self.alignment} bytes"] if self.alignment else []
        if words:
            yield f"the pointer is {', '.join(words)}"
        if self.space == "tmem":
            yield "a place in tensor memory is an offset of its address, which has the lane above bit 16"
        if self.ran and self.space in ("smem", "dsmem", "generic"):
            yield "a swizzle that the pointer has is left out by the DSL where it prints at run time"
        period = layout.period * (self.bits or 8) // 8
        if self.swizzled and self.alignment % period:
            yield f"the swizzle repeats by {period} bytes, and the pointer may begin inside its pattern"


class CuteParser(NumberCursor):
    """One layout as CuTe prints it, and the pointer before it."""

    def __init__(
        self,
        source: str,
        names: Names = NAMELESS,
        unit: str = "element",
        scan: Scan | None = None,
        span: Span | None = None,
    ) -> None:
        super().__init__(source, names, scan, span)
        self.unit = unit
        self.pointed = Pointer()

    def reading(self) -> Reading:
        """Take the whole text as a layout, and return it with the facts of its pointer."""
        layout = self.layout()
        return Reading(layout, self.pointed.dtype, notes=tuple(self.pointed.notes(layout)))

    def layout(self) -> Layout:
        """Take the whole text as a layout."""
        opened = self.opened()
        offset = self.first_value(opened is not None and not self.pointed.space)
        swizzles = self.pointer(self.swizzles())
        signed = self.next.text == "-"
        if self.opens_sum:
            opened_sum = self.expect("(")
            offset = offset + as_vector(self.number())
            self.expect(")", opened_sum)
            self.compose()
        elif self.next.text != "(" and self.ahead(1 + signed).text in _O:
            offset = offset + as_vector(self.factor())
            self.compose()
        plain = self.plain()
        if opened is not None and (opened.text == "<" or self.next.text == ")"):
            self.expect(">" if opened.text == "<" else ")", opened)
        hint = "copies and offsets are added to S[...]" if self.next.text == "+" else ""
        self.expect_end("the layout", hint)
        return (plain + offset if offset.terms else plain).swizzled(tuple(swizzles))

    @property
    def opens_sum(self) -> bool:
        """Return True if an offset with names is ahead, in parentheses: `(8*M + 3) o`."""
        depth, names = 0, False
        for at, token in enumerate(self.tokens[self.at :]):
            depth += {"(": 1, ")": -1}.get(token.text, 0)
            names |= token.kind == NAME and token.text[0] != "_"
            if not depth:
                return names and at > 0 and self.ahead(at + 1).text in _O
        return False

    def opened(self) -> Token | None:
        """Take the bracket of `tensor<`, `tensor(` or `Tensor<`, which the DSL prints around a tensor."""
        if self.next.text not in ("tensor", "Tensor") or self.ahead(1).text not in ("<", "("):
            return None
        word, opened = self.take(), self.take()
        if word.text == "Tensor":  # `Tensor<0x7f00@gmem o (4,8):(8,1)>`
            self.factor()
            self.expect("@", opened)
            self.pointed = Pointer(space=self.space())
            self.compose()
        return opened

    def first_value(self, in_tensor: bool) -> Vector:
        """Take the first value of a tensor of numbers or coordinates, as in `ArithTuple(2,_0) o`."""
        if self.accept("counting_iter"):
            opened = self.expect("(")
            first = as_vector(self.factor())
            self.expect(")", opened)
        elif self.accept("ArithTuple") or (in_tensor and self.next.text == "("):
            start = self.next
            values = plain(self.tree(self.integer, grouping=False))
            first = coordinate(self, values, self.since(start))
        else:
            return Vector()
        self.compose()
        return first

    def compose(self) -> None:
        """Take the `o` between two functions."""
        if not self.accept(*_O):
            hint = "functions are composed with o: Sw<3,4,3> o (8,64):(64,1)"
            raise self.error("TW004", f"expected 'o', found {self.next}", hint=hint)

    def swizzles(self) -> list[Swizzle]:
        """Take the swizzles that come next. An `o` follows each, unless a pointer is attached to it."""
        found: list[Swizzle] = []
        while _PYCUTE.fullmatch(self.next.text) or (self.next.text in SWIZZLES and self.ahead(1).text == "<"):
            found.append(self.swizzle())
            if self.next.text not in ATTACHED:
                self.compose()
        return found

    def swizzle(self) -> Swizzle:
        """Take `Sw<B,M,S>`, `Swizzle<B,M,S>`, `S<B,M,S>` or `SW_B_M_S`."""
        start = self.take()
        with self.blame(start):
            if pycutes := _PYCUTE.fullmatch(start.text):
                numbers = [*map(int, pycutes.groups())]
            else:
                opened = self.expect("<")
                numbers = [self.factor()]
                while len(numbers) < 3:
                    self.expect(",", opened, "a swizzle has three numbers: B, M, S")
                    numbers.append(self.factor())
                self.expect(">", opened, "a swizzle has three numbers: B, M, S")
            bits, base, shift = numbers
            return Swizzle(bits, base, shift)

    def pointer(self, before: list[Swizzle]) -> list[Swizzle]:
        """Take the swizzles of a layout with a pointer, in elements; `before` are the ones in front of it."""
        start = self.next
        inside: list[Swizzle] = []
        if start.text in ("ptr", "raw_ptr") and self.ahead(1).text in ("<", "("):
            if before:
                raise self.error("TW008", "the DSL has a pointer's swizzle in its type", hint=_TYPED)
            self.pointed, inside = self.typed_pointer()
        elif start.text in POINTERS + ATTACHED:
            self.pointed = self.width_pointer()
        else:
            return before
        if self.unit != "element":
            hint = f"drop --unit {self.unit}"
            raise self.error("TW106", "a typed pointer counts elements", self.since(start), hint)
        if self.next.kind == END:
            raise self.error("TW004", "expected 'o' and a layout after the pointer", hint=_EXAMPLE)
        self.compose()
        bits = self.pointed.bits or 8
        return inside + [swizzle.scaled(8, bits) for swizzle in before] + self.swizzles()

    def width_pointer(self) -> Pointer:
        """Take `smem_ptr[16b](0x400)`."""
        start = self.take()
        opened = self.expect("[")
        width = self.take()
        bits = int(width.text[:-1]) if width.kind == WIDTH and len(width.text) <= 5 else 0
        if bits < 1:
            raise self.error("TW004", "expected the width of an element, such as 16b", width.span)
        self.expect("]", opened)
        opened = self.expect("(", hint=_EXAMPLE)
        at = self.next
        if self.accept("("):  # C prints a null pointer as (nil)
            self.expect("nil")
            self.expect(")", at)
        elif start.text == "tmem_" and at.kind == WIDTH:  # lane and column, 0x0000.0100
            self.take()
        elif not self.accept("unset", "nullptr") and self.factor() * 8 % bits:
            hint = "it counts bytes; where it says nothing, write unset"
            raise self.error("TW106", f"the address is no multiple of {bits} bits", at.span, hint)
        self.expect(")", opened)
        return Pointer(bits, space="tmem" if start.text == "tmem_" else "")

    def typed_pointer(self) -> tuple[Pointer, list[Swizzle]]:
        """Take `ptr<f16, smem, align<1024>, S<3,4,3>>` or `raw_ptr(0x400: f16)`.

        Return it with its swizzle in elements.
        """
        word, opened = self.take(), self.take()
        if opened.text == "(":
            self.factor()
            self.expect(":", opened)
        element = self.take()
        bits = bits_of(element.text)
        if bits is None and element.text != "i1":
            message = f"{element} is no type of an element that is known here"
            raise self.error("TW105", message, element.span, "such as f16, bf16, f8E4M3FN or i32")
        pointer = Pointer(bits, element_of(element.text), ran=word.text == "raw_ptr")
        swizzles: list[Swizzle] = []
        while self.accept(","):
            start = self.next
            if start.text == "S":
                on_bytes = self.swizzle()
                with self.blame(start):
                    if bits is None:
                        message = "the bytes of a bool in memory are not known here"
                        raise LayoutError("TW106", f"{message}, and the swizzle acts on bytes")
                    swizzles.append(on_bytes.scaled(8, bits))
            elif self.accept("align"):
                bracket = self.expect("<")
                pointer.alignment = self.factor()
                self.expect(">", bracket)
            else:
                pointer.space = self.space()
        self.expect(">" if opened.text == "<" else ")", opened)
        pointer.swizzled = bool(swizzles)
        return pointer, swizzles

    def space(self) -> str:
        """Take the memory that a pointer is to."""
        word = self.take()
        if word.text in _SPACES:
            return word.text
        hint = f"known: {', '.join(_SPACES)}, align<16>, S<3,4,3>"
        raise self.error("TW002", f"{word} is no part of a pointer of CuTe", word.span, hint)

    def plain(self) -> Layout:
        """Take `shape:stride`."""
        found = self.shape_or_layout()
        if isinstance(found, Layout):
            return found
        hint = "a layout is (8,4):(4,1), or S[(8, 4) : (4, 1)]"
        raise self.error("TW004", f"expected ':' and the strides, found {self.next}", hint=hint)

    def shape_or_layout(self) -> Layout | Tree:
        """Take `shape:stride`, or a shape where no strides follow."""
        start = self.next
        if start.kind == END:
            raise self.error("TW001", "there is no layout", hint="a layout of CuTe looks like (8,4):(4,1)")
        shape = self.tree(self.integer, grouping=False)
        if not self.accept(":"):
            return shape
        strides = self.tree(self.stride, grouping=False)
        if self.next.text in _O:
            hint = "give the result of the composition"
            raise self.error("TW008", "two layouts composed are not one layout yet", hint=hint)
        with self.blame(start):
            modes = self.shape_of(shape)
            vectors = self.congruent(shape, strides, "the layout")
            return Layout(modes, vectors, unit=self.unit, order="cute")

    def integer(self) -> Leaf:
        """Take `8` or `_8`."""
        start = self.next
        return Leaf(self.number(), self.since(start))

    def stride(self) -> Leaf:
        """Take `8`, `_8`, or a basis stride `1@0`, which is 1 step on axis e0."""
        start = self.next
        vector = as_vector(self.number())
        if self.accept("@"):
            mode = self.next
            if mode.kind == NAME and mode.text in KNOWN:
                hint = f"write S[...] with strides on @{mode.text}"
                raise self.error("TW008", "CuTe has no named axes", mode.span, hint)
            vector = along_basis(self.factor(), vector["m"])
            if self.next.text == "@":
                raise nested_basis(self, (mode.start, self.ahead(1).end))
        return Leaf(vector, self.since(start))

    def number(self) -> int:
        """Take `8`, `_8`, `-8`, or a name with a value; between parentheses a sum of products of them too."""
        return super().number() if self.behind.text in ("(", ",") else self.factor()

    def factor(self) -> int:
        """Take a number without operators."""
        return -self.factor_after_sign() if self.accept("-") else self.factor_after_sign()

    def factor_after_sign(self) -> int:
        """Take `8`, `_8`, `_-8`, a name with a value, or a rounded quotient."""
        token = self.next
        if token.text == "(":
            raise self.no_number(token)
        if token.text == "_" and self.ahead(1).text == "-":  # C++ prints _-1
            self.take()
            return self.factor()
        if token.text == "?":
            hint = "write a name and give it a value: --let"
            raise self.error("TW007", "a dynamic value is not known here", token.span, hint)
        if token.text[:1] == "_":
            value = static(self, self.take().text)
            return self.names.number(self, token) if value is None else value
        return super().factor_after_sign()


def static(reader: NumberCursor, word: str) -> int | None:
    """Return the number that a static one is: the 8 of `_8`, the -8 of `_m8`; else None."""
    digits = word.removeprefix("_").removeprefix("m")
    if word[:1] != "_" or not (digits.isascii() and digits.isdigit()):
        return None
    return -reader.literal(digits) if word[1] == "m" else reader.literal(digits)


def along_basis(mode: int, steps: int) -> Vector:
    """Return steps along a mode's coordinate, CuTe's `steps@mode`."""
    return Vector(((Axis(f"{BASIS}{mode}"), steps),))


def coordinate(cursor: Cursor, values: Any, span: Span) -> Vector:
    """Return a coordinate as a place: one axis a mode."""
    place = Vector()
    for mode, part in enumerate(values if isinstance(values, tuple) else (values,)):
        if isinstance(part, tuple) and any(leaves(part)):
            raise nested_basis(cursor, span)
        if isinstance(part, int) and part:
            place = place + along_basis(mode, part)
    return place


def nested_basis(cursor: Cursor, span: Span) -> LayoutError:
    """Return the refusal of a basis inside a basis, `1@0@1`."""
    hint = "flatten the coordinates, so that every basis stride names one mode"
    return cursor.error("TW008", "a basis inside a basis has no axis here", span, hint)


def tile_mode(parser: CuteParser) -> Layout | int | None:
    """Take a mode of a tile of CuTe: an extent, a layout, or nothing for `_`.

    >>> tile_mode(CuteParser("_32"))
    32
    """
    start = parser.next
    if parser.accept("_"):
        return None
    found = parser.plain() if start.text == "(" else parser.shape_or_layout()
    if isinstance(found, Layout):
        if found.moving not in ((), ("m",)):
            message = "a permutation steps along its own mode"
            raise parser.error("TW008", message, parser.since(start))
        return found
    return size_of(parser.shape_of(found))
