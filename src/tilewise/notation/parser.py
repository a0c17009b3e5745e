"""The notation, read by recursive descent.

    sum      =  part { ("+" | "-") part }
    part     =  chain | "R" "[" tuple ":" tuple "]" | "O" "[" vector { "," vector } "]" | vector
    chain    =  { swizzle "o" | "O" "[" ... "]" "o" } ( "S" "[" tuple [ ":" tuple ] "]" | "(" sum ")" )
    swizzle  =  "Swizzle" "<" B "," M "," S ">" [ "@" axis ]  |  "SWIZZLE_128B" [ "(" dtype ")" ]

`o` is also written `∘` or, as in Python, `@`; `Swizzle(B, M, S)` is Python's spelling.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tilewise.core.axes import Axis, m
from tilewise.core.builders import row_major
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Iter, Layout, Replicas
from tilewise.core.shapes import MAX_NESTING, as_shape, leaves
from tilewise.core.swizzles import NAMED_BITS, Swizzle
from tilewise.core.vectors import Term, Vector, as_vector
from tilewise.notation.tokens import END, NAME, Cursor, Token
from tilewise.notation.trees import (
    Branch,
    LeafParser,
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


@dataclass(slots=True)
class Parser:
    """One text in the notation."""

    cursor: Cursor
    names: Names
    unit: str = "element"
    dtype: DType | None = None
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

    def sum(self) -> Layout | Vector:
        """Parts joined by + and -, of which one is a layout; or an offset alone."""
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
            if copies:
                raise self._no_shard(start)
            return total(cursor, terms, start)
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
        if token.kind == NAME and token.text not in self.names.values:
            self._refuse_word(token)
        return term(cursor, self.names)

    def _opens_layout(self, token: Token) -> bool:
        after = self.cursor.ahead(1).text
        return (
            (token.text == "S" and after == "[")
            or (token.text == "Swizzle" and after in ("<", "("))
            or token.text in NAMED_BITS
        )

    def _refuse_word(self, token: Token) -> None:
        cursor, after = self.cursor, self.cursor.ahead(1).text
        span = token.span
        if token.text in ("S", "R", "O"):
            raise cursor.error(
                "TW004", f"{token.text} takes square brackets", span, f"write {token.text}[...]"
            )
        if token.text in ("s", "r", "o") and after == "[":
            raise cursor.error("TW002", f"'{token.text}[' is not known", span, f"write {token.text.upper()}[")
        if token.text.upper().startswith("SWIZZLE"):
            known = "Swizzle<B,M,S>, " + ", ".join(NAMED_BITS)
            raise cursor.error("TW002", f"'{token.text}' is not known", span, f"swizzles are {known}")
        if after in ("[", "<"):
            near = "S[" if after == "[" else "Swizzle<"
            raise cursor.error("TW002", f"'{token.text}{after}' is not known", span, f"did you mean {near}?")
        if after == "." and cursor.ahead(2).text in ("S", "R", "TileLayout", "ComposeLayout"):
            raise cursor.error(
                "TW002", f"'{token.text}.' is not known", span, "drop the prefixes: S[...], R[...], 4@laneid"
            )
        if after in (".", "("):
            raise cursor.error(
                "TW007", "there is no catalogue entry of that name", span, "write the layout out: S[...]"
            )
        if cursor.at == 0 and cursor.ahead(1).kind in (END, NAME):
            raise cursor.error(
                "TW001", f"'{token.text}' is no layout", span, "a layout looks like S[(8, 4) : (4, 1)]"
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
        inner = self._operand(str(swizzle))
        with cursor.blame(start):
            return inner.swizzled((swizzle,))

    def composed(self, outer: Vector, start: Token) -> Layout:
        """What follows `O[...] o`."""
        inner = self._operand("O[...]")
        with self.cursor.blame(start):
            return inner.swizzled((), outer)

    def _operand(self, before: str) -> Layout:
        first = self.cursor.next
        with self._deeper("compositions", first):
            part = self.part()
        if not isinstance(part, Layout):
            raise self.cursor.error(
                "TW004", f"expected a layout after {before} o", self.cursor.since(first), "such as S[...]"
            )
        return part

    def parenthesised(self) -> Layout | Vector:
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
                "write R[2 : 4@warpid]",
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
            raise cursor.error("TW004", f"{letter}[ needs a shape", hint=f"write {letter}[8 : 1]")
        shape = self._listed(integer(self.names))
        strides = None
        if cursor.next.text == ":" and isinstance(shape, Branch) and cursor.source[shape.span[0]] != "(":
            raise self._unparenthesised(letter, shape)
        if cursor.accept(":"):
            strides = tree(cursor, vector(self.names))
            if cursor.next.text == ",":
                raise cursor.error(
                    "TW003",
                    "several strides without parentheses",
                    hint="put shape and strides in parentheses: S[(8, 4) : (4, 1)]",
                )
        if cursor.next.text == ":":
            raise cursor.error("TW004", "a second ':'", hint=f"{letter}[shape : strides] has one colon")
        cursor.expect("]", opened)
        return shape, strides

    def _listed(self, leaf: LeafParser) -> Tree:
        """A tree, or trees with commas between them and no parentheses around, as in `S[8, 4]`."""
        cursor, start = self.cursor, self.cursor.next
        parts = [tree(cursor, leaf)]
        comma = False
        while cursor.accept(","):
            comma = True
            if cursor.next.text in ("]", ":"):
                break
            parts.append(tree(cursor, leaf))
        return Branch(tuple(parts), cursor.since(start)) if comma else parts[0]

    def _unparenthesised(self, letter: str, shape: Branch) -> LayoutError:
        return self.cursor.error(
            "TW003",
            f"{letter}[8, 4 : 4, 1] is three things to Python, not a shape and its strides",
            shape.span,
            f"put both sides in parentheses: {letter}[(8, 4) : (4, 1)]",
        )

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
            on = m
            if closing == ")" and cursor.accept(","):
                cursor.expect("axis")
                cursor.expect("=")
                on = axis(cursor, self.names)
            cursor.expect(closing, opened, "a swizzle has three numbers: bits, base, shift")
            bits, base, shift = numbers
            return Swizzle(bits, base, shift, self._axis_tag() or on)

    def _axis_tag(self) -> Axis | None:
        """`@buf` right after a swizzle, unless the `@` is Python's composition."""
        cursor = self.cursor
        names_axis = cursor.ahead(1).kind == NAME and cursor.ahead(2).text not in ("[", "<", "(")
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
