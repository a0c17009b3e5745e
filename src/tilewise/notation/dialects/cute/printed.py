"""CuTe's layouts as C++ and the DSL print them.

    ((8,2),(4,4)):((8,64),(1,4))        Sw<3,4,3> o _0 o (_8,_64):(_64,_1)        (4,8):(1@0,1@1)
    smem_ptr[16b](0x400) o (8,4):(4,1)  tensor<ptr<f16, smem, align<1024>, S<3,4,3>> o (8,64):(64,1)>
    ArithTuple(0,_0) o (4,8):(_1@0,_1@1)    tensor(raw_ptr(0x400: f16, gmem, align<16>) o (8,4):(4,1)

A swizzle before a pointer or in its type acts on bytes, while the strides count elements: then it is
converted. A swizzle after the pointer counts elements. tests/oracle/test_cute_texts.py holds that to what
the DSL loads. The address of a pointer is no part of the layout.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tilewise.core.axes import KNOWN, Axis
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.swizzles import Swizzle
from tilewise.core.text import BASIS
from tilewise.core.vectors import Vector, as_vector
from tilewise.notation.cute import ATTACHED, POINTERS, SWIZZLES
from tilewise.notation.dialects.cute.pointers import EXAMPLE, Pointer, space, typed_pointer, width_pointer
from tilewise.notation.dialects.given import Reading
from tilewise.notation.tokens import END, NAME, NUMBER, Cursor, Token
from tilewise.notation.trees import (
    Branch,
    Leaf,
    Names,
    Tree,
    congruent,
    leaves_of,
    literal,
    no_number,
    shape_of,
    tree,
)

_PYCUTE = re.compile(r"SW_(\d{1,4})_(\d{1,4})_(\d{1,4})")
"""A swizzle of pycute."""
_TYPED = "such as ptr<f16, smem, align<1024>, S<3,4,3>> o (8,64):(64,1)"
_COUNTING = ("counting_iter", "counting_iterator", "counting_ptr")


@dataclass(slots=True)
class CuteParser:
    """One layout as CuTe prints it, and the pointer before it."""

    cursor: Cursor
    names: Names
    unit: str = "element"
    pointed: Pointer = field(default_factory=Pointer)

    def reading(self) -> Reading:
        """The whole text as a layout, and what its pointer says beside it."""
        layout = self.layout()
        return Reading(layout, self.pointed.dtype, notes=tuple(self.pointed.notes(layout)))

    def layout(self) -> Layout:
        """The whole text as a layout."""
        cursor, start = self.cursor, self.cursor.next
        opened = self.opened()
        offset = self.first_value(opened is not None and not self.pointed.space)
        before = self.swizzles()
        with cursor.blame(start):
            swizzles = self.pointer(before)
        signed = cursor.next.text == "-"
        if cursor.next.text != "(" and cursor.ahead(1 + signed).text in ("o", "∘"):
            with cursor.blame(cursor.next):
                offset = offset + as_vector(self.integer(cursor).value)
            self.compose()
        plain = self.plain()
        if opened is not None and (opened.text == "<" or cursor.next.text == ")"):
            cursor.expect(">" if opened.text == "<" else ")", opened)
        cursor.expect_end(
            "the layout", "copies and offsets are added to S[...]" if cursor.next.text == "+" else ""
        )
        with cursor.blame(start):
            return (plain + offset if offset.terms else plain).swizzled(tuple(swizzles))

    def opened(self) -> Token | None:
        """The bracket of `tensor<`, `tensor(` or `Tensor<`, which the DSL prints around a tensor."""
        cursor = self.cursor
        if cursor.next.text not in ("tensor", "Tensor") or cursor.ahead(1).text not in ("<", "("):
            return None
        word, opened = cursor.take(), cursor.take()
        if word.text == "Tensor":  # `Tensor<0x7f00@gmem o (4,8):(8,1)>`
            self.number()
            cursor.expect("@", opened)
            self.pointed = Pointer(space=space(cursor))
            self.compose()
        return opened

    def first_value(self, in_tensor: bool) -> Vector:
        """The first value of a tensor of numbers or coordinates, such as that of `ArithTuple(2,_0) o`."""
        cursor, start = self.cursor, self.cursor.next
        if cursor.accept(*_COUNTING):
            opened = cursor.expect("(")
            with cursor.blame(start):
                first = as_vector(self.number())
            cursor.expect(")", opened)
        elif cursor.accept("ArithTuple") or (in_tensor and start.text == "("):
            with cursor.blame(start):
                first = self.coordinate(tree(cursor, self.integer, grouping=False))
        else:
            return Vector()
        self.compose()
        return first

    def coordinate(self, values: Tree) -> Vector:
        """A coordinate as a place: one axis a mode."""
        place = Vector()
        for mode, part in enumerate(values.parts if isinstance(values, Branch) else (values,)):
            if isinstance(part, Branch) and any(leaf.value for leaf in leaves_of(part)):
                raise self.nested(part.span)
            if isinstance(part, Leaf) and isinstance(part.value, int) and part.value:
                place = place + Vector(((Axis(f"{BASIS}{mode}"), part.value),))
        return place

    def compose(self) -> None:
        """The `o` between two functions."""
        if not self.cursor.accept("o", "∘"):
            hint = "functions are composed with o: Sw<3,4,3> o (8,64):(64,1)"
            raise self.cursor.error("TW004", f"expected 'o', found {self.cursor.next}", hint=hint)

    def swizzles(self) -> list[Swizzle]:
        """The swizzles that come next. An `o` follows each, unless a pointer is attached to it."""
        found: list[Swizzle] = []
        while (pycutes := _PYCUTE.fullmatch(self.cursor.next.text)) or (
            self.cursor.next.text in SWIZZLES and self.cursor.ahead(1).text == "<"
        ):
            if pycutes:
                with self.cursor.blame(self.cursor.take()):
                    bits, base, shift = map(int, pycutes.groups())
                    found.append(Swizzle(bits, base, shift))
            else:
                found.append(self.swizzle())
            if self.cursor.next.text not in ATTACHED:
                self.compose()
        return found

    def swizzle(self) -> Swizzle:
        """`Sw<B,M,S>`, `Swizzle<B,M,S>` or `S<B,M,S>`."""
        cursor, start = self.cursor, self.cursor.take()
        with cursor.blame(start):
            opened = cursor.expect("<")
            numbers = [self.number()]
            while len(numbers) < 3:
                cursor.expect(",", opened, "a swizzle has three numbers: B, M, S")
                numbers.append(self.number())
            cursor.expect(">", opened, "a swizzle has three numbers: B, M, S")
            bits, base, shift = numbers
            return Swizzle(bits, base, shift)

    def pointer(self, before: list[Swizzle]) -> list[Swizzle]:
        """The swizzles of a layout with a pointer, in elements; `before` are those that stand before it."""
        cursor, start = self.cursor, self.cursor.next
        inside: list[Swizzle] = []
        if start.text in ("ptr", "raw_ptr") and cursor.ahead(1).text in ("<", "("):
            if before:
                raise cursor.error("TW008", "the DSL has a pointer's swizzle in its type", hint=_TYPED)
            self.pointed, inside = typed_pointer(cursor, self.number, self.swizzle)
        elif start.text in POINTERS + ATTACHED:
            self.pointed = width_pointer(cursor, self.number)
        else:
            return before
        if self.unit != "element":
            raise cursor.error(
                "TW106", "a typed pointer counts elements", cursor.since(start), f"drop --unit {self.unit}"
            )
        if cursor.next.kind == END:
            raise cursor.error("TW004", "expected 'o' and a layout after the pointer", hint=EXAMPLE)
        self.compose()
        bits = self.pointed.bits or 8
        return inside + [swizzle.scaled(8, bits) for swizzle in before] + self.swizzles()

    def plain(self) -> Layout:
        """`shape:stride`."""
        cursor, start = self.cursor, self.cursor.next
        if start.kind == END:
            raise cursor.error("TW001", "there is no layout", hint="a layout of CuTe looks like (8,4):(4,1)")
        shape = tree(cursor, self.integer, grouping=False)
        if not cursor.accept(":"):
            raise cursor.error(
                "TW004",
                f"expected ':' and the strides, found {cursor.next}",
                hint="a layout is (8,4):(4,1), or S[(8, 4) : (4, 1)]",
            )
        strides = tree(cursor, self.stride, grouping=False)
        if cursor.next.text in ("o", "∘"):
            raise cursor.error(
                "TW008",
                "two layouts composed are not one layout yet",
                hint="give the result of the composition",
            )
        with cursor.blame(start):
            modes = shape_of(cursor, shape)
            vectors = congruent(cursor, shape, strides, "the layout")
            return Layout(modes, vectors, unit=self.unit, order="cute")

    def integer(self, cursor: Cursor) -> Leaf:
        """`8` or `_8`."""
        start = cursor.next
        return Leaf(self.number(), cursor.since(start))

    def stride(self, cursor: Cursor) -> Leaf:
        """`8`, `_8`, or a basis stride `1@0`, which is 1 step on axis e0."""
        start = cursor.next
        steps = self.number()
        if not cursor.accept("@"):
            return Leaf(as_vector(steps), cursor.since(start))
        mode = cursor.next
        if mode.kind == NAME and mode.text in KNOWN:
            raise cursor.error(
                "TW008", "CuTe has no named axes", mode.span, f"write S[...] with strides on @{mode.text}"
            )
        axis = Axis(f"{BASIS}{self.number()}")
        if cursor.next.text == "@":
            raise self.nested((mode.start, cursor.ahead(1).end))
        return Leaf(Vector(((axis, steps),)), cursor.since(start))

    def nested(self, span: tuple[int, int]) -> LayoutError:
        """The refusal of a basis inside a basis, `1@0@1`."""
        return self.cursor.error(
            "TW008",
            "a basis inside a basis has no axis here",
            span,
            "flatten the coordinates, so that every basis stride names one mode",
        )

    def number(self) -> int:
        """`8`, `_8`, `-8`, or a name with a value."""
        return -self.magnitude() if self.cursor.accept("-") else self.magnitude()

    def magnitude(self) -> int:
        """`8`, `_8`, or a name with a value."""
        cursor, token = self.cursor, self.cursor.next
        if token.kind == NUMBER:
            return literal(cursor, cursor.take().text)
        cursor.take()
        if token.kind == NAME:
            digits = token.text[1:]
            if token.text[0] == "_" and digits.isascii() and digits.isdigit():
                return literal(cursor, digits)
            if token.text == "_" and cursor.next.text == "-" and cursor.next.start == token.end:
                cursor.take()  # C++ prints _-1
                if cursor.next.kind == NUMBER:
                    return -literal(cursor, cursor.take().text)
                raise no_number(cursor, cursor.next)
            return self.names.number(cursor, token)
        if token.text == "?":
            raise cursor.error(
                "TW007",
                "a dynamic value is not known here",
                token.span,
                "write a name and give it a value: --let",
            )
        raise no_number(cursor, token)


def tile_mode(parser: CuteParser) -> Layout | int | None:
    """Take a mode of a tile of CuTe: an extent, a layout, or nothing for `_`.

    >>> tile_mode(CuteParser(Cursor("_32"), Names({}, frozenset())))
    32
    """
    cursor, start = parser.cursor, parser.cursor.next
    if cursor.accept("_"):
        return None
    if start.text != "(" and cursor.ahead(1).text != ":":
        extent = parser.number()
        if extent < 1:
            raise cursor.error("TW102", "an extent is positive", cursor.since(start))
        return extent
    found = parser.plain()
    if found.moving not in ((), ("m",)):
        raise cursor.error("TW008", "a permutation steps along its own mode", cursor.since(start))
    return found
