"""CuTe's notation, read and written.

    ((8,2),(4,4)):((8,64),(1,4))        Sw<3,4,3> o _0 o (_8,_64):(_64,_1)        (4,8):(1@0,1@1)

The layout has CuTe's order: its index counts with the leftmost digit fastest, at every level. `str` writes
such a layout in this notation. `smem_ptr[16b]` says that the swizzle before it acts on bytes while the
strides count 16-bit elements: then it is converted. A swizzle after it counts elements. The address of a
pointer is no part of the layout.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from tilewise.core.axes import KNOWN, Axis
from tilewise.core.layout import Layout
from tilewise.core.swizzles import Swizzle
from tilewise.core.text import BASIS
from tilewise.core.text import cute_text as to_cute
from tilewise.core.vectors import Vector, as_vector
from tilewise.notation.tokens import END, NAME, NUMBER, WIDTH, Cursor, Token
from tilewise.notation.trees import Leaf, Names, congruent, literal, no_number, shape_of, tree

__all__ = ["CuteParser", "looks_like_cute", "pointer_in", "tile_mode", "to_cute"]

_SWIZZLES = ("Sw", "Swizzle", "S")
_POINTERS = ("smem_ptr", "gmem_ptr", "rmem_ptr", "tmem_ptr", "ptr")
_ATTACHED = tuple(f"_{pointer}" for pointer in _POINTERS)  # `Sw<3,4,3>_smem_ptr[16b](...)`
_TYPED = re.compile(r"ptr\s*\[\s*(\d{1,5})b\s*\]\s*\(\s*(0[xX][0-9a-fA-F]+|\d+)?")
_POINTED = "such as smem_ptr[16b](unset) o (8,64):(64,1)"
_OWN_LETTERS = ("S", "R", "O")


def pointer_in(text: str) -> tuple[int, int] | None:
    """Read the typed pointer in a text: the bits of an element, and the byte address that a swizzle acts on.

    A swizzle acts on the address where it stands before the pointer; else 0 stands for it.

    >>> pointer_in("Sw<3,4,3>_smem_ptr[16b](0x480) o 8:1"), pointer_in("ptr[8b](0x480) o Sw<1,4,3> o 8:1")
    ((16, 1152), (8, 0))
    """
    found = _TYPED.search(text)
    if found is None:
        return None
    swizzled = ">" in text[: found.start()]
    return int(found[1]), int(found[2], 0) if swizzled and found[2] else 0


@dataclass(slots=True)
class CuteParser:
    """One text in CuTe's dialect."""

    cursor: Cursor
    names: Names
    unit: str = "element"

    def layout(self) -> Layout:
        """The whole text as a layout."""
        cursor, start = self.cursor, self.cursor.next
        swizzles, offset = self.swizzles(), Vector()
        if bits := self.pointer():
            swizzles = self.in_elements(swizzles, bits, start) + self.swizzles()
        signed = cursor.next.text == "-"
        if cursor.next.text != "(" and cursor.ahead(1 + signed).text in ("o", "∘"):
            with cursor.blame(cursor.next):
                offset = as_vector(self.integer(cursor).value)
            self.compose()
        plain = self.plain()
        cursor.expect_end(
            "the layout", "copies and offsets are added to S[...]" if cursor.next.text == "+" else ""
        )
        with cursor.blame(start):
            return (plain + offset if offset.terms else plain).swizzled(tuple(swizzles))

    def compose(self) -> None:
        """The `o` between two functions."""
        if not self.cursor.accept("o", "∘"):
            hint = "functions are composed with o: Sw<3,4,3> o (8,64):(64,1)"
            raise self.cursor.error("TW004", f"expected 'o', found {self.cursor.next}", hint=hint)

    def swizzles(self) -> list[Swizzle]:
        """The swizzles that come next. An `o` follows each, unless a pointer is attached to it."""
        found: list[Swizzle] = []
        while self.cursor.next.text in _SWIZZLES and self.cursor.ahead(1).text == "<":
            found.append(self.swizzle())
            if self.cursor.next.text not in _ATTACHED:
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

    def pointer(self) -> int:
        """The bits of an element of `smem_ptr[16b](...) o`, 0 where there is no pointer."""
        cursor, start = self.cursor, self.cursor.next
        if start.text not in _POINTERS + _ATTACHED:
            return 0
        cursor.take()
        opened = cursor.expect("[")
        bits = self._width()
        cursor.expect("]", opened)
        opened = cursor.expect("(", hint=_POINTED)
        if not cursor.accept("unset", "nullptr"):
            at = cursor.next
            if self.number() * 8 % bits:
                raise cursor.error(
                    "TW106",
                    f"the address is no multiple of {bits} bits",
                    at.span,
                    "it counts bytes; where it says nothing, write unset",
                )
        cursor.expect(")", opened)
        if self.unit != "element":
            raise cursor.error(
                "TW106", "a typed pointer counts elements", cursor.since(start), f"drop --unit {self.unit}"
            )
        if cursor.next.kind == END:
            raise cursor.error("TW004", "expected 'o' and a layout after the pointer", hint=_POINTED)
        self.compose()
        return bits

    def _width(self) -> int:
        """`16b`."""
        token = self.cursor.take()
        if token.kind == WIDTH and 0 < len(token.text) <= 5 and int(token.text[:-1]) > 0:
            return int(token.text[:-1])
        raise self.cursor.error("TW004", "expected the width of an element, such as 16b", token.span)

    def in_elements(self, swizzles: list[Swizzle], bits: int, start: Token) -> list[Swizzle]:
        """The byte swizzles of a typed pointer, counted in its elements."""
        with self.cursor.blame(start):
            return [swizzle.scaled(8, bits) for swizzle in swizzles]

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
            raise cursor.error(
                "TW008",
                "a basis inside a basis has no axis here",
                (mode.start, cursor.ahead(1).end),
                "flatten the coordinates, so that every basis stride names one mode",
            )
        return Leaf(Vector(((axis, steps),)), cursor.since(start))

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


def looks_like_cute(cursor: Cursor) -> bool:
    """Whether a text is in CuTe's dialect: it has no `S[`, `R[` or `O[`, and begins as CuTe's do."""
    tokens = cursor.tokens
    if any(a.text in _OWN_LETTERS and b.text == "[" for a, b in pairwise(tokens)):
        return False
    if any(a.kind == NAME and b.text == "." for a, b in pairwise(tokens)):
        return False  # an entry of a catalogue
    first = tokens[0].text
    if first in _POINTERS + _ATTACHED:
        return True
    swizzled = first in _SWIZZLES and cursor.ahead(1).text == "<"
    opens = swizzled or first == "-" or tokens[0].kind == NUMBER or first.startswith("_")
    return first == "(" or (opens and any(token.text == ":" for token in tokens))
