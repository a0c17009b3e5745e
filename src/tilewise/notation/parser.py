"""The notation, read by recursive descent.

    sum      =  part { ("+" | "-") part }
    part     =  chain | "R" "[" tuple ":" tuple "]" | "O" "[" vector { "," vector } "]" | vector
    chain    =  { swizzle "o" | "O" "[" ... "]" "o" } ( "S" "[" tuple [ ":" tuple ] "]" | "(" sum ")" | call )
    swizzle  =  "Swizzle" "<" B "," M "," S ">" [ "@" axis ]  |  "SWIZZLE_128B" [ "(" dtype ")" ]
    call     =  an entry of a catalogue and its arguments; see `calls`

`o` is also written `∘` or, as in Python, `@`; `Swizzle(B, M, S)` is Python's spelling.
"""

from __future__ import annotations

from dataclasses import replace

from tilewise.core.axes import Axis, m
from tilewise.core.builders import in_pieces, row_major
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Iter, Layout, Replicas
from tilewise.core.shapes import Shape, as_shape, leaves
from tilewise.core.swizzles import NAMED_BITS, Swizzle
from tilewise.core.vectors import Term, Vector, as_vector
from tilewise.notation.calls import Catalog, call, dotted, opens_call
from tilewise.notation.tokens import END, NAME, Span, Token, shortened
from tilewise.notation.trees import OPERATORS, Names, NumberCursor

_LETTERS = ("S", "R", "O")
_ELSEWHERE = {
    "TileLayout": "drop the wrapper: S[...] + R[...], with 4@laneid for an axis",
    "ComposeLayout": "write Swizzle<B,M,S> o S[...]; TIRx's own order is (M, B, S)",
    "SwizzleLayout": "write Swizzle<B,M,S> o S[...]; TIRx's own order is (M, B, S)",
    "Layout": "a layout of CuTe is the whole text: Layout((8,4),(4,1)), or (8,4):(4,1)",
    "make_layout": "a layout of CuTe is the whole text: make_layout((8,4),(4,1)), or (8,4):(4,1)",
}
Part = Layout | Replicas | Vector
_COMPOSE = ("o", "∘", "@")
_EXAMPLES = {
    "S": "S[8 : 1] has a stride, S[8] the row-major one, and S[()] is a single element",
    "R": "copies are written R[2 : 4@warpid]",
}


class Parser(NumberCursor):
    """One text in the notation."""

    def __init__(
        self,
        source: str,
        names: Names,
        unit: str = "element",
        dtype: DType | None = None,
        catalog: Catalog | None = None,
    ) -> None:
        super().__init__(source, names)
        self.unit, self.dtype, self.catalog = unit, dtype, catalog

    def layout(self) -> Layout:
        """Take the whole text as a layout."""
        start = self.next
        if start.kind == END:
            raise self.error("TW001", "there is no text", hint="a layout looks like S[(8, 4) : (4, 1)]")
        value = self.sum()
        self.expect_end("the layout")
        if not isinstance(value, Layout):
            raise self._no_shard(start)
        return value

    def sum(self) -> Part:
        """Take parts joined by + and -, one of them a layout; or copies or an offset alone."""
        start = self.next
        layout: Layout | None = None
        copies: list[Iter] = []
        before: list[Term] = []
        terms: list[Term] = []
        sign: Token | None = None
        while True:
            first = self.next
            part = self.part()
            if isinstance(part, Layout):
                layout = self._only(layout, part, first, sign)
                before, terms = terms, []
            elif isinstance(part, Replicas):
                if sign is not None and sign.text == "-":
                    raise self.error("TW004", "copies cannot be taken away", self.since(sign))
                copies += part.iters
            else:
                terms += (-part if sign is not None and sign.text == "-" else part).terms
            sign = self.accept("+", "-")
            if sign is None:
                break
        if layout is None:
            if copies and terms:
                raise self._no_shard(start)
            return Replicas(tuple(copies)) if copies else self.total(terms, start)
        with self.blame(start):
            offset = self.total([*before, *layout.offset.terms, *terms], start)
            return replace(layout, replica=(*layout.replica, *copies), offset=offset)

    def _no_shard(self, start: Token) -> LayoutError:
        hint = "a layout has a shard; a single element is S[()]"
        return self.error("TW001", "there is no S[...] here", self.since(start), hint)

    def _only(self, before: Layout | None, part: Layout, first: Token, sign: Token | None) -> Layout:
        span = self.since(first)
        if sign is not None and sign.text == "-":
            raise self.error("TW107", "a layout cannot be subtracted", span)
        if before is not None:
            raise self.error(
                "TW107", "a second layout in one sum", span, "join the modes of both in one S[...]"
            )
        return part

    def part(self) -> Part:
        """Take one addend."""
        token = self.next
        if token.text == "R" and self.ahead(1).text == "[":
            return self.replicas()
        if token.text == "O" and self.ahead(1).text == "[":
            offset = self.offset()
            return self.composed(offset, token) if self.accept(*_COMPOSE) else offset
        if token.text == "(":
            return self.parenthesised()
        if self._opens_layout(token):
            return self.chain()
        if token.kind == END:
            raise self.error("TW004", "expected a layout, copies or an offset, found the end")
        if token.kind == NAME and token.text not in self.names.values and not self.rounds:
            if error := self._unknown_word():
                raise error
            if self.catalog is not None and opens_call(self):
                return self.called(self.catalog)
        return self.term()

    def _opens_layout(self, token: Token) -> bool:
        after = self.ahead(1).text
        return (
            (token.text == "S" and after == "[")
            or (token.text == "Swizzle" and after in ("<", "("))
            or token.text in NAMED_BITS
        )

    def chain(self) -> Layout:
        """Take `S[...]`, or swizzles before a layout."""
        start = self.next
        if start.text == "S":
            return self.shard()
        swizzle = self.swizzle()
        if not self.accept(*_COMPOSE):
            raise self.error(
                "TW004",
                f"expected 'o' and a layout after {swizzle}, found {self.next}",
                hint=f"write {swizzle} o S[...]",
            )
        if start.text in NAMED_BITS and self._goes_on_in_cute():
            raise self.error(
                "TW008",
                f"{start.text} is no word of CuTe's dialect, in which the layout is written",
                start.span,
                hint=f"write its numbers, {swizzle} o ..., or the layout as S[...]",
            )
        inner = self._operand(str(swizzle))
        with self.blame(start):
            return inner.swizzled((swizzle,))

    def _goes_on_in_cute(self) -> bool:
        """Return True if shape:stride follows: the text has a colon, and no bracket of this notation."""
        texts = [token.text for token in self.tokens]
        return ":" in texts and "[" not in texts

    def composed(self, outer: Vector, start: Token) -> Layout:
        """Take the layout that follows `O[...] o`."""
        inner = self._operand("O[...]")
        with self.blame(start):
            return inner.swizzled((), outer)

    def _operand(self, before: str) -> Layout:
        first = self.next
        if first.kind == END:
            raise self.error("TW004", f"expected a layout after {before} o, found the end")
        with self.deeper("compositions", first):
            part = self.part()
        if not isinstance(part, Layout):
            raise self.error("TW004", f"expected a layout after {before} o", self.since(first))
        return part

    def parenthesised(self) -> Part:
        """Take `( sum )`, or a term that begins with a number in parentheses."""
        first = self.at
        opened = self.take()
        with self.deeper("parentheses", opened):
            value = self.sum()
        self.expect(")", opened)
        if self.next.text in OPERATORS[:3] and isinstance(value, Vector):
            self.at = first
            return self.term()
        return value

    def called(self, catalog: Catalog) -> Layout:
        """Take an entry of the catalogue with its arguments."""
        start = self.next
        layout: Layout = call(self, catalog)
        if self.unit != layout.unit:
            raise self.error(
                "TW106",
                f"the catalogue counts {layout.unit}s, and strides count {self.unit}s",
                self.since(start),
                "drop the unit",
            )
        return layout

    # -- S, R, O, Swizzle ----------------------------------------------------------------------------

    def shard(self) -> Layout:
        """Take `S[shape : strides]` or `S[shape]`."""
        start = self.next
        modes, strides = self._bracketed("S")
        with self.blame(start):
            return Layout(modes, row_major(as_shape(modes)) if strides is None else strides, unit=self.unit)

    def replicas(self) -> Replicas:
        """Take `R[shape : strides]`."""
        start = self.next
        modes, strides = self._bracketed("R")
        if strides is None:
            message = "R needs strides: where would the copies go?"
            raise self.error("TW003", message, self.since(start), _EXAMPLES["R"])
        with self.blame(start):
            return Replicas(tuple(map(Iter, leaves(as_shape(modes)), strides)))

    def _bracketed(self, letter: str) -> tuple[Shape, tuple[Vector, ...] | None]:
        self.take()
        opened = self.expect("[")
        if self.next.text in ("]", ":"):
            raise self.error("TW004", f"{letter}[ needs a shape", hint=_EXAMPLES[letter])
        start = self.next
        shape, comma = self.trees(self.integer, "]", ":")
        if comma and self.next.text == ":":
            raise self._unparenthesised(letter, self.since(start))
        strides = None
        if self.accept(":"):
            if self.next.text == "]":
                raise self.error("TW004", f"expected strides, found {self.next}", hint=_EXAMPLES[letter])
            strides = self.tree(self.vector)
            if self.next.text == ",":
                raise self.error(
                    "TW003",
                    "several strides without parentheses",
                    hint=f"put both sides in parentheses: {letter}[(8, 4) : (4, 1)]",
                )
        if self.next.text == ":":
            raise self.error("TW004", "a second ':'", hint=f"{letter}[shape : strides] has one colon")
        self.expect("]", opened)
        modes = self.shape_of(shape)
        return modes, None if strides is None else self.congruent(shape, strides, letter)

    def _unparenthesised(self, letter: str, span: Span) -> LayoutError:
        colon, *rest = self.tokens[self.at :]
        closing = next((token for token in rest if token.text == "]"), rest[-1])
        source = self.source
        sides = (source[slice(*span)], source[colon.end : closing.start].strip())
        error = in_pieces(letter, *map(shortened, sides))
        return self.error(error.code, error.message, span, error.hint)

    def offset(self) -> Vector:
        """Take `O[5@m]`, also `O[5@m, 1@laneid]`."""
        start = self.take()
        opened = self.expect("[")
        terms = [*as_vector(self.vector().value).terms]
        while self.accept(","):
            terms += as_vector(self.vector().value).terms
        self.expect("]", opened)
        return self.total(terms, start)

    def swizzle(self) -> Swizzle:
        """Take `Swizzle<B,M,S>`, `Swizzle(B, M, S)`, or a mode of the hardware by name."""
        start = self.take()
        with self.blame(start):
            if start.text in NAMED_BITS:
                return self._named(start)
            opened = self.take()
            closing = {"<": ">", "(": ")"}[opened.text]
            numbers = [self.product()]
            while len(numbers) < 3:
                self.expect(",", opened, "a swizzle has three numbers: bits, base, shift")
                numbers.append(self.product())
            on = None
            if closing == ")" and self.accept(","):
                self.expect("axis", hint="name the axis with axis=")
                self.expect("=")
                on = self.axis()
            self.expect(closing, opened, "a swizzle has three numbers: bits, base, shift")
            bits, base, shift = numbers
            return Swizzle(bits, base, shift, on or self._axis_tag() or m)

    def _axis_tag(self) -> Axis | None:
        """Take `@buf` right after a swizzle, unless the `@` is Python's composition."""
        names_axis = self.ahead(1).kind == NAME and self.ahead(2).text not in ("[", "<", "(", ".")
        if self.next.text == "@" and names_axis and self.ahead(1).text not in NAMED_BITS:
            self.take()
            return self.axis()
        return None

    def _named(self, start: Token) -> Swizzle:
        dtype = self.dtype
        if opened := self.accept("(", "["):
            word = self.take()
            with self.blame(word):
                dtype = DType.of(word.text)
            self.expect({"(": ")", "[": "]"}[opened.text], opened)
            if self.unit != "element":
                raise self.error(
                    "TW106",
                    f"{start.text} is given a type, and strides count {self.unit}s",
                    self.since(start),
                    f"drop ({word.text}), or the unit: with a type, strides count its elements",
                )
        on = self._axis_tag() or m
        in_bytes = Swizzle.named(start.text, axis=on)
        if self.unit == "byte" or not in_bytes.bits:
            return in_bytes
        if self.unit == "bit":
            return in_bytes.scaled(8, 1)
        if dtype is None:
            raise self.error(
                "TW106",
                f"{start.text} is a pattern of bytes, and strides count elements here",
                start.span,
                f"say of which type: {start.text}(bf16) o ..., or --dtype bf16, or --unit byte",
            )
        return Swizzle.named(start.text, dtype, on)

    # -- hints for unknown words ---------------------------------------------------------------------

    def _unknown_word(self) -> LayoutError | None:
        """Return the error of a word that begins no addend, or None if it may name a number or an entry.

        The hint guesses the intention: another system's word, or a spelling that is nearly right.
        """
        words = dotted(self)
        first, last, after = words[0], words[-1], self.ahead(2 * len(words) - 1)
        span = (first.start, last.end)
        spelled = shortened(self.source[slice(*span)])
        if last.text in _ELSEWHERE:
            return self.error("TW002", f"'{spelled}' is not known", span, _ELSEWHERE[last.text])
        if len(words) > 1 and last.text in _LETTERS:
            hint = "drop the prefixes: S[...], R[...], 4@laneid"
            return self.error("TW002", f"'{spelled}' is not known", span, hint)
        if spelled in _LETTERS:
            return self.error("TW004", f"{spelled} takes square brackets", span, f"write {spelled}[...]")
        if spelled.upper().startswith("SWIZ"):
            return self._near_swizzle(spelled, span)
        if after.text == "[":
            near = spelled.upper() if spelled.upper() in _LETTERS else "S"
            return self.error("TW002", f"'{spelled}[' is not known", span, f"did you mean {near}[?")
        if after.text == "<":
            return self.error("TW002", f"'{spelled}<' is not known", span, "did you mean Swizzle<B,M,S>?")
        if len(words) > 1 or after.text == "(":
            hint = "tilewise.parse knows the catalogue; or write the layout out: S[...]"
            return None if self.catalog else self.error("TW001", f"'{spelled}' is no layout here", span, hint)
        if after.text == "=":
            return self.error("TW004", "a layout is given no name here", span, "write what follows the '='")
        if self.at == 0 and after.kind in (END, NAME):
            hint = "a layout looks like S[(8, 4) : (4, 1)]"
            return self.error("TW001", f"'{spelled}' is no layout", span, hint)
        return None

    def _near_swizzle(self, spelled: str, span: Span) -> LayoutError:
        if spelled == "Swizzle":
            hint = "write Swizzle<B,M,S> o S[...]"
            return self.error("TW002", "Swizzle has three numbers", span, hint)
        from difflib import get_close_matches

        known = {"SWIZZLE": "Swizzle<B,M,S>", **{mode: mode for mode in NAMED_BITS}}
        near = get_close_matches(spelled.upper(), known, n=1, cutoff=0.75)
        hint = f"did you mean {known[near[0]]}?" if near else f"swizzles are {', '.join(known.values())}"
        return self.error("TW002", f"'{spelled}' is not known", span, hint)
