"""Tuples of numbers and vectors as they are written, with their spans: shapes, strides, indices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from tilewise.core.axes import KNOWN, Axis
from tilewise.core.errors import LayoutError, printable
from tilewise.core.integers import MAX_DIGITS, as_int, counted
from tilewise.core.polynomials import floor_of, is_named, positive, whole
from tilewise.core.shapes import MAX_NESTING, Mode
from tilewise.core.vectors import Term, Vector, as_vector
from tilewise.notation.tokens import END, NAME, NUMBER, Cursor, Scan, Span, Token, shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True, slots=True)
class Leaf:
    """A number or a vector."""

    value: int | Vector
    span: Span


@dataclass(frozen=True, slots=True)
class Branch:
    """A tuple, by Python's rules: `(8)` is 8, `(8,)` is a tuple."""

    parts: tuple[Tree, ...]
    span: Span


Tree = Leaf | Branch


@dataclass(frozen=True, slots=True)
class Names:
    """The meaning of words in a text: values of names, if it may have any, and axes declared storage."""

    values: Mapping[str, int]
    storage: frozenset[str]
    given: bool = True

    def axis(self, name: str) -> Axis:
        """Return the axis of that name."""
        return Axis(name, storage=True) if name in self.storage else Axis(name)

    def number(self, cursor: Cursor, token: Token) -> int:
        """Return the value of a name, the token taken last."""
        if token.text in self.values:
            with cursor.blame(token):
                return as_int(self.values[token.text], f"the value of {token.text}")
        name = shortened(token.text)
        if token.text in ("S", "R", "O"):
            raise cursor.error("TW004", f"expected a number, found '{name}'", token.span)
        if token.text in KNOWN:
            hint = f"say how many steps: 1@{name}"
            raise cursor.error("TW007", f"'{name}' is an axis, not a number", token.span, hint)
        hint = f"give it one: --let {name}=64, or parse(text, let={{'{name}': 64}})" if self.given else ""
        if any(map(is_named, self.values.values())):
            hint = f"--where names it too: --where '..., {name}', or --let {name}=64"
        from difflib import get_close_matches

        if near := get_close_matches(name, self.values, n=1):
            hint = f"did you mean {near[0]}?"
        raise cursor.error("TW007", f"'{name}' has no value", token.span, hint)


OPERATORS = ("*", "//", "@", "+", "-")
"""The signs with which a number goes on."""

_ROUNDED = ("ceildiv", "floordiv")

NAMELESS = Names({}, frozenset())
"""No name has a value."""


class NumberCursor(Cursor):
    """A cursor that takes numbers, vectors and tuples of them, with values for names."""

    def __init__(
        self, source: str, names: Names = NAMELESS, scan: Scan | None = None, span: Span | None = None
    ) -> None:
        super().__init__(source, scan, span)
        self.names = names
        self.depth = 0

    @contextmanager
    def deeper(self, what: str, at: Token) -> Iterator[None]:
        """Count one level of nesting more; refuse too many."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise self.error("TW005", f"{what} nested deeper than {MAX_NESTING}", at.span)
        yield
        self.depth -= 1

    def tree(self, leaf: Callable[[], Leaf], grouping: bool = True, depth: int = 1) -> Tree:
        """Take a leaf, or a tuple of trees in parentheses.

        With `grouping`, as in Python, parentheses around one entry without a comma make no tuple, and the
        number may go on behind them: `(M + 1) * 64`. Without it, as in CuTe, they make one.
        """
        first = self.at
        opened = self.accept("(")
        if opened is None:
            return leaf()
        if depth > MAX_NESTING:
            raise self.error("TW005", f"parentheses nested deeper than {MAX_NESTING}", opened.span)
        parts: list[Tree] = []
        comma = False
        while not self.accept(")"):
            if parts and not comma:
                raise self._not_closed(opened)
            if self.next.text == ",":
                raise self.error("TW004", "an entry is missing before ','")
            parts.append(self.tree(leaf, grouping, depth + 1))
            comma = self.accept(",") is not None
        span = self.since(opened)
        if grouping and len(parts) == 1 and not comma:
            if self.next.text in OPERATORS and isinstance(parts[0], Leaf):
                self.at = first
                return leaf()
            return parts[0] if isinstance(parts[0], Branch) else Leaf(parts[0].value, span)
        return Branch(tuple(parts), span)

    def _not_closed(self, opened: Token) -> LayoutError:
        found = self.next
        if found.kind == END:
            return self.error("TW004", "'(' is never closed", opened.span)
        if found.text in (":", "]", ">"):
            return self.error("TW004", f"'(' is not closed before {found}", opened.span)
        another = found.kind in (NUMBER, NAME) or found.text == "("
        hint = "separate the entries of a tuple with commas" if another else ""
        hint = "strides follow a colon: S[(8, 4) : (4@laneid, 1)]" if found.text == "@" else hint
        return self.error("TW004", f"expected ',' or ')', found {found}", hint=hint)

    def trees(self, leaf: Callable[[], Leaf], *ends: str) -> tuple[Tree, bool]:
        """Take a tree, or trees with commas between and no parentheses around, as in `S[8, 4]`: then True."""
        start = self.next
        parts = [self.tree(leaf)]
        comma = False
        while self.accept(","):
            comma = True
            if self.next.text in ends:
                break
            parts.append(self.tree(leaf))
        return (Branch(tuple(parts), self.since(start)) if comma else parts[0]), comma

    def integer(self) -> Leaf:
        """Take a sum of products of integers: `8`, `4*K`, `M//8`, `-1`, `M + 2`."""
        start = self.next
        value = self.number()
        return Leaf(value, self.since(start))

    def number(self) -> int:
        """Take a sum of products of integers and names."""
        start = self.next
        value = self.product()
        while sign := self.accept("+", "-"):
            value += self.product() if sign.text == "+" else -self.product()
            with self.blame(start):
                as_int(value, "a sum")
        return value

    def vector(self) -> Leaf:
        """Take a stride or an offset: `4@laneid`, `16`, `1@x + 1@y`, `-2@m`."""
        start = self.next
        terms = [*self.term().terms]
        while sign := self.accept("+", "-"):
            addend = self.term()
            terms += (-addend if sign.text == "-" else addend).terms
        return Leaf(self.total(terms, start), self.since(start))

    def total(self, terms: list[Term], start: Token) -> Vector:
        """Return the vector of all terms, joined once: a long sum costs by its length."""
        vector = Vector(tuple(terms))
        with self.blame(start):
            for _, steps in vector.terms:
                as_int(steps, "a sum")
        return vector

    def term(self) -> Vector:
        """Take `4@laneid`, or a bare number, which is on `m`; a bare 0 names no axis."""
        start = self.next
        steps = self.product()
        if self.accept("@"):
            moved = Vector(((self.axis(), steps),))
            if self.next.text == "@":
                hint = f"a step along two axes is a sum: {moved} + 1@reg"
                raise self.error("TW004", "a second axis for one step", hint=hint)
            return moved
        if self.next.text in KNOWN:
            said = self.on_one_line(self.since(start))
            hint = f"put @ between steps and axis: {said}@{self.next.text}"
            raise self.error("TW004", f"expected an operator, found {self.next}", hint=hint)
        return as_vector(steps)

    def axis(self) -> Axis:
        """Take the name of an axis."""
        token = self.next
        if token.kind != NAME:
            hint = "name the axis, such as @m or @laneid"
            if token.kind == NUMBER:
                hint = f"a basis stride of CuTe's dialect is spelled @e{token.text} here"
            raise self.error("TW103", f"expected the name of an axis, found {token}", hint=hint)
        if self.ahead(1).text == ".":
            after = self.ahead(2)
            raise self.error(
                "TW002",
                f"'{shortened(token.text)}.' is no part of an axis",
                (token.start, self.ahead(1).end),
                f"write @{after.text}" if after.kind == NAME else "",
            )
        with self.blame(token):
            return self.names.axis(self.take().text)

    def product(self) -> int:
        """Take a product of integers and names; `//` must divide without a rest."""
        start = self.next
        value = self.factor()
        while self.next.text in ("*", "//"):
            sign = self.take()
            other = self.factor()
            if sign.text == "*":
                value *= other
            else:
                value = self.quotient(value, other, self.since(start))
            with self.blame(start):
                as_int(value, "a product")
        return value

    def quotient(self, value: int, by: int, span: Span) -> int:
        """Return an exact quotient."""
        if is_named(value) or is_named(by):
            if not is_named(by) and by == 0:
                raise self.error("TW101", "division by 0", span, "only exact quotients are numbers here")
            if not whole(value, by):
                hint = "ceildiv(a, b) and floordiv(a, b) round"
                raise self.error("TW101", f"{value} // {by} leaves a rest", span, hint)
            return floor_of(value, by)  # type: ignore[return-value]  # a number with names is one here
        if by == 0 or value % by:
            reason = "division by 0" if by == 0 else f"{value} // {by} leaves a rest"
            raise self.error("TW101", reason, span, "only exact quotients are numbers here")
        return value // by

    def factor(self) -> int:
        """Take a number with or without a sign before it."""
        if self.accept("-"):
            return -self.factor_after_sign()
        self.accept("+")
        return self.factor_after_sign()

    def factor_after_sign(self) -> int:
        """Take an integer literal, a name with a value, a rounded quotient, or a sum in parentheses."""
        token = self.next
        if token.kind == NUMBER:
            return self.literal(self.take().text)
        if self.rounds:
            return self._rounded()
        if token.kind == NAME:
            return self.names.number(self, self.take())
        if token.text == "(":
            opened = self.take()
            with self.deeper("parentheses", opened):
                value = self.number()
            self.expect(")", opened)
            return value
        raise self.no_number(token)

    @property
    def rounds(self) -> bool:
        """Return True if `ceildiv(` or `floordiv(` is ahead."""
        return self.next.text in _ROUNDED and self.ahead(1).text == "("

    def _rounded(self) -> int:
        """Take `ceildiv(a, b)` or `floordiv(a, b)`."""
        word, opened = self.take(), self.take()
        with self.deeper("parentheses", opened):
            over = self.number()
            self.expect(",", opened, f"{word.text} takes two numbers")
            by = self.number()
        self.expect(")", opened)
        if not self.divides(by):
            raise self.error("TW101", f"{by} divides nothing here", self.since(word), "take 1 or more")
        return floor_of(over + by - 1 if word.text == "ceildiv" else over, by)  # type: ignore[return-value]

    def divides(self, by: int) -> bool:
        """Return True if numbers may be divided by this one."""
        return positive(by)

    def no_number(self, token: Token) -> LayoutError:
        """Return the refusal of a token where a number belongs."""
        hint = ""
        if token.text == "@":
            hint = "say how many steps: 1@laneid"
        elif token.text in ("[", "{"):
            hint = "tuples stand in parentheses: (8, 4)"
        elif token.text == self.behind.text == "*":
            hint = "no powers are read: write the number, such as 1024 or 0x400"
        return self.error("TW004", f"expected a number, found {token}", token.span, hint)

    def literal(self, digits: str) -> int:
        """Return the number that the digits of the token taken last spell, in decimal or hexadecimal."""
        token = self.behind
        if len(digits) > MAX_DIGITS:
            raise self.error(
                "TW005",
                f"a number of {len(digits)} digits; at most {MAX_DIGITS} are read",
                token.span,
                "layouts describe real machines; look for a typing error",
            )
        with self.blame(token):
            return as_int(int(digits, 16 if digits[:2] in ("0x", "0X") else 10), "a number")

    def shape_of(self, node: Tree) -> tuple[Mode, ...]:
        """Return the shape that a tree of integers spells; every extent positive."""
        return tuple(map(self._mode, node.parts if isinstance(node, Branch) else (node,)))

    def _mode(self, node: Tree) -> Mode:
        if isinstance(node, Branch):
            if not node.parts:
                hint = "leave it out, or give it extent 1"
                raise self.error("TW102", "an empty mode inside a shape", node.span, hint)
            return tuple(map(self._mode, node.parts))
        extent = node.value
        assert not isinstance(extent, Vector)  # a tree of integers
        if not positive(extent):
            hint = "a mode of extent 0 holds no element; leave the mode out or give it extent 1"
            hint = "a negative stride runs backwards, an extent counts" if extent < 0 else hint
            raise self.error("TW102", f"an extent must be positive, not {extent}", node.span, hint)
        return extent

    def congruent(self, shape: Tree, strides: Tree, letter: str) -> tuple[Vector, ...]:
        """Return the strides in the order of the shape's extents; the nesting must be the same."""
        top_shape, top_strides = _as_branch(shape), _as_branch(strides)
        return tuple(self._pair(top_shape, top_strides, letter))

    def _pair(self, shape: Tree, strides: Tree, letter: str) -> Iterator[Vector]:
        if isinstance(shape, Leaf) and isinstance(strides, Leaf):
            yield strides.value  # type: ignore[misc]  # a vector tree
            return
        wanted = len(shape.parts) if isinstance(shape, Branch) else 1
        given = len(strides.parts) if isinstance(strides, Branch) else 1
        if isinstance(shape, Leaf) or isinstance(strides, Leaf) or wanted != given:
            spelled = self.on_one_line(shape.span)
            nested = isinstance(shape, Branch) and any(isinstance(part, Branch) for part in shape.parts)
            noun = "mode" if nested else "extent"
            raise self.error(
                "TW003",
                f"{letter} has {counted(wanted, noun)} in {spelled} and {counted(given, 'stride')}",
                strides.span,
                "write one stride for every extent, in the same nesting; 0 for a digit that does not move",
            )
        for inner, step in zip(shape.parts, strides.parts, strict=True):
            yield from self._pair(_unwrapped(inner), _unwrapped(step), letter)

    def on_one_line(self, span: Span) -> str:
        return printable(shortened(" ".join(self.source[slice(*span)].split())))


def plain(node: Tree) -> Any:
    """Return the values of a tree as nested tuples."""
    return node.value if isinstance(node, Leaf) else tuple(plain(part) for part in node.parts)


def _as_branch(node: Tree) -> Branch:
    return node if isinstance(node, Branch) else Branch((node,), node.span)


def _unwrapped(node: Tree) -> Tree:
    while isinstance(node, Branch) and len(node.parts) == 1:
        node = node.parts[0]
    return node
