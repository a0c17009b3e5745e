"""Tuples of numbers and vectors as they are written, with their spans: shapes, strides, indices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tilewise.core.axes import KNOWN, Axis, m
from tilewise.core.errors import LayoutError, printable
from tilewise.core.integers import MAX_DIGITS, as_int, counted
from tilewise.core.shapes import MAX_NESTING, Mode
from tilewise.core.vectors import Term, Vector
from tilewise.notation.tokens import END, NAME, NUMBER, Cursor, Token, shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True, slots=True)
class Leaf:
    """A number or a vector."""

    value: int | Vector
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Branch:
    """A tuple, by Python's rules: `(8)` is 8, `(8,)` is a tuple."""

    parts: tuple[Tree, ...]
    span: tuple[int, int]


Tree = Leaf | Branch
LeafParser = Callable[[Cursor], Leaf]


@dataclass(frozen=True, slots=True)
class Names:
    """What words mean in a text: values for names, where they can be given, and axes declared storage."""

    values: Mapping[str, int]
    storage: frozenset[str]
    given: bool = True

    def axis(self, name: str) -> Axis:
        """The axis of that name."""
        return Axis(name, storage=True) if name in self.storage else Axis(name)

    def number(self, cursor: Cursor, token: Token) -> int:
        """The value of a name, the token taken last."""
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
        from difflib import get_close_matches

        if near := get_close_matches(name, self.values, n=1):
            hint = f"did you mean {near[0]}?"
        raise cursor.error("TW007", f"'{name}' has no value", token.span, hint)


def tree(cursor: Cursor, leaf: LeafParser, depth: int = 1, grouping: bool = True) -> Tree:
    """A leaf, or a tuple of trees in parentheses.

    With `grouping`, parentheses around one entry and no comma are no tuple, as in Python; without, as
    in CuTe, they are.
    """
    opened = cursor.accept("(")
    if opened is None:
        return leaf(cursor)
    if depth > MAX_NESTING:
        raise cursor.error("TW005", f"parentheses nested deeper than {MAX_NESTING}", opened.span)
    parts, comma = _parts(cursor, leaf, depth, opened, grouping)
    span = cursor.since(opened)
    if grouping and len(parts) == 1 and not comma:
        return parts[0] if isinstance(parts[0], Branch) else Leaf(parts[0].value, span)
    return Branch(tuple(parts), span)


def _parts(
    cursor: Cursor, leaf: LeafParser, depth: int, opened: Token, grouping: bool
) -> tuple[list[Tree], bool]:
    parts: list[Tree] = []
    comma = False
    while not cursor.accept(")"):
        if parts and not comma:
            raise _not_closed(cursor, opened)
        if cursor.next.text == ",":
            raise cursor.error("TW004", "an entry is missing before ','")
        parts.append(tree(cursor, leaf, depth + 1, grouping))
        comma = cursor.accept(",") is not None
    return parts, comma or not parts


def _not_closed(cursor: Cursor, opened: Token) -> LayoutError:
    found = cursor.next
    if found.kind == END:
        return cursor.error("TW004", "'(' is never closed", opened.span)
    if found.text in (":", "]", ">"):
        return cursor.error("TW004", f"'(' is not closed before {found}", opened.span)
    another = found.kind in (NUMBER, NAME) or found.text == "("
    hint = "separate the entries of a tuple with commas" if another else ""
    hint = "strides follow a colon: S[(8, 4) : (4@laneid, 1)]" if found.text == "@" else hint
    return cursor.error("TW004", f"expected ',' or ')', found {found}", hint=hint)


def integer(names: Names) -> LeafParser:
    """A parser of products of integers: `8`, `4*K`, `M//8`, `-1`."""

    def parse(cursor: Cursor) -> Leaf:
        start = cursor.next
        value = product(cursor, names)
        return Leaf(value, cursor.since(start))

    return parse


def vector(names: Names) -> LeafParser:
    """A parser of strides and offsets: `4@laneid`, `16`, `1@x + 1@y`, `-2@m`."""

    def parse(cursor: Cursor) -> Leaf:
        start = cursor.next
        terms = [*term(cursor, names).terms]
        while sign := cursor.accept("+", "-"):
            addend = term(cursor, names)
            terms += (-addend if sign.text == "-" else addend).terms
        return Leaf(total(cursor, terms, start), cursor.since(start))

    return parse


def total(cursor: Cursor, terms: list[Term], start: Token) -> Vector:
    """The vector of all terms, joined once: a long sum costs by its length."""
    vector = Vector(tuple(terms))
    with cursor.blame(start):
        for _, steps in vector.terms:
            as_int(steps, "a sum")
    return vector


def term(cursor: Cursor, names: Names) -> Vector:
    """`4@laneid`, or a bare number, which is on `m`; a bare 0 names no axis."""
    start = cursor.next
    steps = product(cursor, names)
    if cursor.accept("@"):
        moved = Vector(((axis(cursor, names), steps),))
        if cursor.next.text == "@":
            hint = f"a step along two axes is a sum: {moved} + 1@reg"
            raise cursor.error("TW004", "a second axis for one step", hint=hint)
        return moved
    if cursor.next.text in KNOWN:
        said = _on_one_line(cursor, cursor.since(start))
        hint = f"put @ between steps and axis: {said}@{cursor.next.text}"
        raise cursor.error("TW004", f"expected an operator, found {cursor.next}", hint=hint)
    return Vector(((m, steps),)) if steps else Vector()


def axis(cursor: Cursor, names: Names) -> Axis:
    """The name of an axis."""
    token = cursor.next
    if token.kind != NAME:
        hint = "name the axis, such as @m or @laneid"
        if token.kind == NUMBER:
            hint = f"a basis stride of CuTe's dialect is spelled @e{token.text} here"
        raise cursor.error("TW103", f"expected the name of an axis, found {token}", hint=hint)
    if cursor.ahead(1).text == ".":
        after = cursor.ahead(2)
        raise cursor.error(
            "TW002",
            f"'{shortened(token.text)}.' is no part of an axis",
            (token.start, cursor.ahead(1).end),
            f"write @{after.text}" if after.kind == NAME else "",
        )
    with cursor.blame(token):
        return names.axis(cursor.take().text)


def product(cursor: Cursor, names: Names) -> int:
    """A product of integers and names; `//` must divide without a rest."""
    start = cursor.next
    value = factor(cursor, names)
    while cursor.next.text in ("*", "//"):
        sign = cursor.take()
        other = factor(cursor, names)
        if sign.text == "*":
            value *= other
        elif other == 0 or value % other:
            reason = "division by 0" if other == 0 else f"{value} // {other} leaves a rest"
            raise cursor.error("TW101", reason, cursor.since(start), "only exact quotients are numbers here")
        else:
            value //= other
        with cursor.blame(start):
            as_int(value, "a product")
    return value


def factor(cursor: Cursor, names: Names) -> int:
    """An integer literal or a name with a value, signs before it."""
    if cursor.accept("-"):
        return -factor_after_sign(cursor, names)
    cursor.accept("+")
    return factor_after_sign(cursor, names)


def factor_after_sign(cursor: Cursor, names: Names) -> int:
    """An integer literal or a name with a value."""
    token = cursor.next
    if token.kind == NUMBER:
        return literal(cursor, cursor.take().text)
    if token.kind == NAME:
        return names.number(cursor, cursor.take())
    raise no_number(cursor, token)


def no_number(cursor: Cursor, token: Token) -> LayoutError:
    """The refusal of a token where a number belongs."""
    hint = ""
    if token.text == "@":
        hint = "say how many steps: 1@laneid"
    elif token.text in ("[", "{"):
        hint = "tuples stand in parentheses: (8, 4)"
    elif token.text == cursor.behind.text == "*":
        hint = "no powers are read: write the number, such as 1024 or 0x400"
    return cursor.error("TW004", f"expected a number, found {token}", token.span, hint)


def literal(cursor: Cursor, digits: str) -> int:
    """The number that the digits of the token taken last spell, in decimal or hexadecimal."""
    token = cursor.behind
    if len(digits) > MAX_DIGITS:
        raise cursor.error(
            "TW005",
            f"a number of {len(digits)} digits; at most {MAX_DIGITS} are read",
            token.span,
            "layouts describe real machines; look for a typing error",
        )
    with cursor.blame(token):
        return as_int(int(digits, 16 if digits[:2] in ("0x", "0X") else 10), "a number")


def leaves_of(node: Tree) -> Iterator[Leaf]:
    """The leaves of a tree from left to right."""
    if isinstance(node, Leaf):
        yield node
    else:
        for part in node.parts:
            yield from leaves_of(part)


def plain(node: Tree) -> Any:
    """The values of a tree as nested tuples."""
    return node.value if isinstance(node, Leaf) else tuple(plain(part) for part in node.parts)


def shape_of(cursor: Cursor, node: Tree) -> tuple[Mode, ...]:
    """The shape that a tree of integers spells; every extent positive."""
    for leaf in leaves_of(node):
        if leaf.value < 1:  # type: ignore[operator]  # an integer tree
            raise cursor.error(
                "TW102",
                f"an extent must be positive, not {leaf.value}",
                leaf.span,
                "a negative stride runs backwards, an extent counts"
                if leaf.value < 0  # type: ignore[operator]
                else "a mode of extent 0 holds no element; leave the mode out or give it extent 1",
            )
    modes = node.parts if isinstance(node, Branch) else (node,)
    return tuple(_mode(cursor, mode) for mode in modes)


def _mode(cursor: Cursor, node: Tree) -> Mode:
    if isinstance(node, Leaf):
        return node.value  # type: ignore[return-value]  # an integer tree
    if not node.parts:
        raise cursor.error(
            "TW102", "an empty mode inside a shape", node.span, "leave it out, or give it extent 1"
        )
    return tuple(_mode(cursor, part) for part in node.parts)


def congruent(cursor: Cursor, shape: Tree, strides: Tree, letter: str) -> tuple[Vector, ...]:
    """The strides in the order of the shape's extents; the nesting must be the same."""
    top_shape, top_strides = _as_branch(shape), _as_branch(strides)
    return tuple(_pair(cursor, top_shape, top_strides, letter))


def _as_branch(node: Tree) -> Branch:
    return node if isinstance(node, Branch) else Branch((node,), node.span)


def _pair(cursor: Cursor, shape: Tree, strides: Tree, letter: str) -> Iterator[Vector]:
    if isinstance(shape, Leaf) and isinstance(strides, Leaf):
        yield strides.value  # type: ignore[misc]  # a vector tree
        return
    wanted = len(shape.parts) if isinstance(shape, Branch) else 1
    given = len(strides.parts) if isinstance(strides, Branch) else 1
    if isinstance(shape, Leaf) or isinstance(strides, Leaf) or wanted != given:
        spelled = _on_one_line(cursor, shape.span)
        nested = isinstance(shape, Branch) and any(isinstance(part, Branch) for part in shape.parts)
        noun = "mode" if nested else "extent"
        raise cursor.error(
            "TW003",
            f"{letter} has {counted(wanted, noun)} in {spelled} and {counted(given, 'stride')}",
            strides.span,
            "write one stride for every extent, in the same nesting; 0 for a digit that does not move",
        )
    for inner, step in zip(shape.parts, strides.parts, strict=True):
        yield from _pair(cursor, _unwrapped(inner), _unwrapped(step), letter)


def _on_one_line(cursor: Cursor, span: tuple[int, int]) -> str:
    return printable(shortened(" ".join(cursor.source[slice(*span)].split())))


def _unwrapped(node: Tree) -> Tree:
    while isinstance(node, Branch) and len(node.parts) == 1:
        node = node.parts[0]
    return node
