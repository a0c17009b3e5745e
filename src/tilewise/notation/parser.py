"""The notation, read by recursive descent.

    sum      =  part { ("+" | "-") part }
    part     =  chain | "R" "[" tuple ":" tuple "]" | "O" "[" vector { "," vector } "]" | vector
    chain    =  { swizzle "o" | "O" "[" ... "]" "o" } ( "S" "[" tuple [ ":" tuple ] "]" | "(" sum ")" | call )
    swizzle  =  "Swizzle" "<" B "," M "," S ">" [ "@" axis ]  |  "SWIZZLE_128B" [ "(" dtype ")" ]
    call     =  an entry of a catalogue and its arguments; see `calls`

`o` is also written `∘` or, as in Python, `@`; `Swizzle(B, M, S)` is Python's spelling.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tilewise.core.axes import Axis, m
from tilewise.core.builders import in_pieces, row_major
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Iter, Layout, Replicas
from tilewise.core.shapes import MAX_NESTING, as_shape, leaves
from tilewise.core.swizzles import NAMED_BITS, Swizzle
from tilewise.core.vectors import Term, Vector, as_vector
from tilewise.notation.calls import Catalog, call, opens_call
from tilewise.notation.guesses import unknown_word
from tilewise.notation.tokens import END, NAME, Cursor, Token, shortened
from tilewise.notation.trees import (
    Branch,
    Names,
    Tree,
    axis,
    congruent,
    integer,
    product,
    shape_of,
    term,
    total,
    tree,
    vector,
)

Part = Layout | Replicas | Vector
_COMPOSE = ("o", "∘", "@")
_EXAMPLES = {
    "S": "S[8 : 1] has a stride, S[8] the row-major one, and S[()] is a single element",
    "R": "copies are written R[2 : 4@warpid]",
}


@dataclass(slots=True)
class Parser:
    """One text in the notation."""

    cursor: Cursor
    names: Names
    unit: str = "element"
    dtype: DType | None = None
    catalog: Catalog | None = None
    depth: int = 0

    def layout(self) -> Layout:
        """The whole text as a layout."""
        start = self.cursor.next
        if start.kind == END:
            raise self.cursor.error(
                "TW001", "there is no text", hint="a layout looks like S[(8, 4) : (4, 1)]"
            )
        value = self.sum()
        self.cursor.expect_end("the layout")
        if not isinstance(value, Layout):
            raise self._no_shard(start)
        return value

    def sum(self) -> Part:
        """Parts joined by + and -, of which one is a layout; or copies or an offset alone."""
        cursor, start = self.cursor, self.cursor.next
        layout: Layout | None = None
        copies: list[Iter] = []
        before: list[Term] = []
        terms: list[Term] = []
        sign: Token | None = None
        while True:
            first = cursor.next
            part = self.part()
            if isinstance(part, Layout):
                layout = self._only(layout, part, first, sign)
                before, terms = terms, []
            elif isinstance(part, Replicas):
                if sign is not None and sign.text == "-":
                    raise cursor.error("TW004", "copies cannot be taken away", cursor.since(sign))
                copies += part.iters
            else:
                terms += (-part if sign is not None and sign.text == "-" else part).terms
            sign = cursor.accept("+", "-")
            if sign is None:
                break
        if layout is None:
            if copies and terms:
                raise self._no_shard(start)
            return Replicas(tuple(copies)) if copies else total(cursor, terms, start)
        with cursor.blame(start):
            offset = total(cursor, [*before, *layout.offset.terms, *terms], start)
            return replace(layout, replica=(*layout.replica, *copies), offset=offset)

    def _no_shard(self, start: Token) -> LayoutError:
        hint = "a layout has a shard; a single element is S[()]"
        return self.cursor.error("TW001", "there is no S[...] here", self.cursor.since(start), hint)

    def _only(self, before: Layout | None, part: Layout, first: Token, sign: Token | None) -> Layout:
        span = self.cursor.since(first)
        if sign is not None and sign.text == "-":
            raise self.cursor.error("TW107", "a layout cannot be subtracted", span)
        if before is not None:
            raise self.cursor.error(
                "TW107", "a second layout in one sum", span, "join the modes of both in one S[...]"
            )
        return part

    def part(self) -> Part:
        """One addend."""
        cursor, token = self.cursor, self.cursor.next
        if token.text == "R" and cursor.ahead(1).text == "[":
            return self.replicas()
        if token.text == "O" and cursor.ahead(1).text == "[":
            offset = self.offset()
            return self.composed(offset, token) if cursor.accept(*_COMPOSE) else offset
        if token.text == "(":
            return self.parenthesised()
        if self._opens_layout(token):
            return self.chain()
        if token.kind == END:
            raise cursor.error("TW004", "expected a layout, copies or an offset, found the end")
        if token.kind == NAME and token.text not in self.names.values:
            if error := unknown_word(cursor, self.catalog is not None):
                raise error
            if self.catalog is not None and opens_call(cursor):
                return self.called(self.catalog)
        return term(cursor, self.names)

    def _opens_layout(self, token: Token) -> bool:
        after = self.cursor.ahead(1).text
        return (
            (token.text == "S" and after == "[")
            or (token.text == "Swizzle" and after in ("<", "("))
            or token.text in NAMED_BITS
        )

    def chain(self) -> Layout:
        """`S[...]`, or swizzles before a layout."""
        cursor, start = self.cursor, self.cursor.next
        if start.text == "S":
            return self.shard()
        swizzle = self.swizzle()
        if not cursor.accept(*_COMPOSE):
            raise cursor.error(
                "TW004",
                f"expected 'o' and a layout after {swizzle}, found {cursor.next}",
                hint=f"write {swizzle} o S[...]",
            )
        if start.text in NAMED_BITS and self._goes_on_in_cute():
            raise cursor.error(
                "TW008",
                f"{start.text} is no word of CuTe's dialect, in which the layout is written",
                start.span,
                hint=f"write its numbers, {swizzle} o ..., or the layout as S[...]",
            )
        inner = self._operand(str(swizzle))
        with cursor.blame(start):
            return inner.swizzled((swizzle,))

    def _goes_on_in_cute(self) -> bool:
        """Whether what follows is shape:stride: no bracket of this notation is anywhere, and a colon is."""
        texts = [token.text for token in self.cursor.tokens]
        return ":" in texts and "[" not in texts

    def composed(self, outer: Vector, start: Token) -> Layout:
        """What follows `O[...] o`."""
        inner = self._operand("O[...]")
        with self.cursor.blame(start):
            return inner.swizzled((), outer)

    def _operand(self, before: str) -> Layout:
        cursor, first = self.cursor, self.cursor.next
        if first.kind == END:
            raise cursor.error("TW004", f"expected a layout after {before} o, found the end")
        with self._deeper("compositions", first):
            part = self.part()
        if not isinstance(part, Layout):
            raise cursor.error("TW004", f"expected a layout after {before} o", cursor.since(first))
        return part

    def parenthesised(self) -> Part:
        """`( sum )`."""
        cursor, opened = self.cursor, self.cursor.take()
        with self._deeper("parentheses", opened):
            value = self.sum()
        cursor.expect(")", opened)
        return value

    @contextmanager
    def _deeper(self, what: str, at: Token) -> Iterator[None]:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise self.cursor.error("TW005", f"{what} nested deeper than {MAX_NESTING}", at.span)
        yield
        self.depth -= 1

    def called(self, catalog: Catalog) -> Layout:
        """An entry of the catalogue with its arguments."""
        start = self.cursor.next
        layout: Layout = call(self.cursor, self.names, catalog)
        if self.unit != layout.unit:
            raise self.cursor.error(
                "TW106",
                f"the catalogue counts {layout.unit}s, and strides count {self.unit}s",
                self.cursor.since(start),
                "drop the unit",
            )
        return layout

    # -- S, R, O, Swizzle ----------------------------------------------------------------------------

    def shard(self) -> Layout:
        """`S[shape : strides]` or `S[shape]`."""
        start = self.cursor.next
        shape, strides = self._bracketed("S")
        modes = shape_of(self.cursor, shape)
        with self.cursor.blame(start):
            if strides is None:
                return Layout(modes, row_major(as_shape(modes)), unit=self.unit)
            return Layout(modes, congruent(self.cursor, shape, strides, "S"), unit=self.unit)

    def replicas(self) -> Replicas:
        """`R[shape : strides]`."""
        start = self.cursor.next
        shape, strides = self._bracketed("R")
        modes = shape_of(self.cursor, shape)
        if strides is None:
            raise self.cursor.error(
                "TW003",
                "R needs strides: where would the copies go?",
                self.cursor.since(start),
                _EXAMPLES["R"],
            )
        with self.cursor.blame(start):
            return Replicas(
                tuple(map(Iter, leaves(as_shape(modes)), congruent(self.cursor, shape, strides, "R")))
            )

    def _bracketed(self, letter: str) -> tuple[Tree, Tree | None]:
        cursor = self.cursor
        cursor.take()
        opened = cursor.expect("[")
        if cursor.next.text in ("]", ":"):
            raise cursor.error("TW004", f"{letter}[ needs a shape", hint=_EXAMPLES[letter])
        shape = self._shape(letter)
        strides = None
        if cursor.accept(":"):
            if cursor.next.text == "]":
                raise cursor.error("TW004", f"expected strides, found {cursor.next}", hint=_EXAMPLES[letter])
            strides = tree(cursor, vector(self.names))
            if cursor.next.text == ",":
                raise cursor.error(
                    "TW003",
                    "several strides without parentheses",
                    hint=f"put both sides in parentheses: {letter}[(8, 4) : (4, 1)]",
                )
        if cursor.next.text == ":":
            raise cursor.error("TW004", "a second ':'", hint=f"{letter}[shape : strides] has one colon")
        cursor.expect("]", opened)
        return shape, strides

    def _shape(self, letter: str) -> Tree:
        """A tree, or trees with commas between them and no parentheses around, as in `S[8, 4]`."""
        cursor, start, leaf = self.cursor, self.cursor.next, integer(self.names)
        parts = [tree(cursor, leaf)]
        comma = False
        while cursor.accept(","):
            comma = True
            if cursor.next.text in ("]", ":"):
                break
            parts.append(tree(cursor, leaf))
        if comma and cursor.next.text == ":":
            raise self._unparenthesised(letter, cursor.since(start))
        return Branch(tuple(parts), cursor.since(start)) if comma else parts[0]

    def _unparenthesised(self, letter: str, span: tuple[int, int]) -> LayoutError:
        colon, *rest = self.cursor.tokens[self.cursor.at :]
        closing = next((token for token in rest if token.text == "]"), rest[-1])
        source = self.cursor.source
        sides = (source[slice(*span)], source[colon.end : closing.start].strip())
        error = in_pieces(letter, *map(shortened, sides))
        return self.cursor.error(error.code, error.message, span, error.hint)

    def offset(self) -> Vector:
        """`O[5@m]`, also `O[5@m, 1@laneid]`."""
        cursor, start = self.cursor, self.cursor.take()
        opened = cursor.expect("[")
        terms = [*as_vector(vector(self.names)(cursor).value).terms]
        while cursor.accept(","):
            terms += as_vector(vector(self.names)(cursor).value).terms
        cursor.expect("]", opened)
        return total(cursor, terms, start)

    def swizzle(self) -> Swizzle:
        """`Swizzle<B,M,S>`, `Swizzle(B, M, S)`, or a mode of the hardware by name."""
        cursor, start = self.cursor, self.cursor.take()
        with cursor.blame(start):
            if start.text in NAMED_BITS:
                return self._named(start)
            opened = cursor.take()
            closing = {"<": ">", "(": ")"}[opened.text]
            numbers = [product(cursor, self.names)]
            while len(numbers) < 3:
                cursor.expect(",", opened, "a swizzle has three numbers: bits, base, shift")
                numbers.append(product(cursor, self.names))
            on = None
            if closing == ")" and cursor.accept(","):
                cursor.expect("axis", hint="name the axis with axis=")
                cursor.expect("=")
                on = axis(cursor, self.names)
            cursor.expect(closing, opened, "a swizzle has three numbers: bits, base, shift")
            bits, base, shift = numbers
            return Swizzle(bits, base, shift, on or self._axis_tag() or m)

    def _axis_tag(self) -> Axis | None:
        """`@buf` right after a swizzle, unless the `@` is Python's composition."""
        cursor = self.cursor
        names_axis = cursor.ahead(1).kind == NAME and cursor.ahead(2).text not in ("[", "<", "(", ".")
        if cursor.next.text == "@" and names_axis and cursor.ahead(1).text not in NAMED_BITS:
            cursor.take()
            return axis(cursor, self.names)
        return None

    def _named(self, start: Token) -> Swizzle:
        cursor, dtype = self.cursor, self.dtype
        if opened := cursor.accept("(", "["):
            word = cursor.take()
            with cursor.blame(word):
                dtype = DType.of(word.text)
            cursor.expect({"(": ")", "[": "]"}[opened.text], opened)
            if self.unit != "element":
                raise cursor.error(
                    "TW106",
                    f"{start.text} is given a type, and strides count {self.unit}s",
                    cursor.since(start),
                    f"drop ({word.text}), or the unit: with a type, strides count its elements",
                )
        on = self._axis_tag() or m
        in_bytes = Swizzle.named(start.text, axis=on)
        if self.unit == "byte" or not in_bytes.bits:
            return in_bytes
        if self.unit == "bit":
            return in_bytes.scaled(8, 1)
        if dtype is None:
            raise cursor.error(
                "TW106",
                f"{start.text} is a pattern of bytes, and strides count elements here",
                start.span,
                f"say of which type: {start.text}(bf16) o ..., or --dtype bf16, or --unit byte",
            )
        return Swizzle.named(start.text, dtype, on)
