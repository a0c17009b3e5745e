"""Formulas: integer expressions of the coordinates in text, such as `lambda i, j: i * 64 + (j ^ i % 8 * 8)`.

Python's grammar and meaning, and of that arithmetic alone. Text is parsed and never run: each part is
evaluated here, for many indices at once, and its numbers are checked. So nothing is too large, nothing is
divided by 0, and what is listed is what Python would say.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import islice, pairwise, product
from math import prod
from typing import Generic, NoReturn, TypeVar

from tilewise.core.axes import Axis, m
from tilewise.core.errors import LayoutError, printable
from tilewise.core.integers import counted
from tilewise.core.shapes import spell
from tilewise.notation.tokens import shortened

Rewrite = Callable[[Sequence[ast.expr]], ast.expr | None]
"""What gives the expression that a call of a function stands for, None for other arguments."""
Name = TypeVar("Name")

MAX_TEXT = 1 << 12
MAX_DEPTH = 200
MAX_LISTED = 1 << 20
MAX_STEPS = 1 << 25
"""So many operations are done to list a formula."""

_BATCH = 1 << 12
"""So many indices are evaluated at once."""
_LIMIT = 1 << 63
_KNOWN = "known: + - * // % << >> & | ^ ~, comparisons, a if c else b"
_UNARY: dict[type, Callable[[int], int]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_BINARY: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_ORDERS: dict[type, Callable[[int, int], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_LOGIC: dict[type, Callable[[int, int], int]] = {
    ast.And: lambda one, other: one and other,
    ast.Or: lambda one, other: one or other,
}
_NAMED: dict[str, Callable[[int, int], int]] = {"min": min, "max": max}
_INSTEAD: dict[type, tuple[str, str]] = {
    ast.Div: ("/ gives a fraction", "// divides integers"),
    ast.Pow: ("** is not read", "write the number, or 1 << n for a power of two"),
    ast.MatMult: ("@ is not read", "axes are named in braces, such as {laneid: j, reg: i}"),
    ast.Call: ("no functions are called", _KNOWN),
    ast.Attribute: ("a name has no parts", _KNOWN),
    ast.Subscript: ("nothing is looked up in tables", "algebra recognise reads tables"),
}


@dataclass(frozen=True)
class Formula(Generic[Name]):
    """Expressions of named coordinates in a text, each by a name of its own, such as an axis.

    >>> formula = read_lambda("lambda i, j: {laneid: i * 4 + j // 2, reg: j % 2}", {})
    >>> formula.arguments, [axis.name for axis in formula.listed((2, 4))]
    (('i', 'j'), ['laneid', 'reg'])
    """

    source: Source
    arguments: tuple[str, ...]
    parts: Mapping[Name, ast.expr]
    let: Mapping[str, int]

    def listed(self, shape: Sequence[int]) -> dict[Name, list[int]]:
        """Return the values at all indices of a shape, in the order of the flat index."""
        if len(shape) != len(self.arguments):
            raise LayoutError(
                "TW202",
                f"a function of {counted(len(self.arguments), 'coordinate')}, and the shape "
                f"{spell(tuple(shape))} has {counted(len(shape), 'mode')}",
                hint="a function has one coordinate a mode",
            )
        elements = prod(shape)
        steps = elements * sum(1 for node in self.parts.values() for _ in ast.walk(node))
        if elements > MAX_LISTED or steps > MAX_STEPS:
            raise LayoutError(
                "TW301",
                f"a function of {elements} elements, in {steps} steps; "
                f"at most {MAX_LISTED} are evaluated, in {MAX_STEPS}",
                hint="an exact answer takes every element; ask about a tile, or write S[...]",
            )
        found: dict[Name, list[int]] = {name: [] for name in self.parts}
        indices = product(*map(range, shape))
        while batch := [*islice(indices, _BATCH)]:
            columns = {name: [value] * len(batch) for name, value in self.let.items()}
            columns |= zip(self.arguments, map(list, zip(*batch, strict=True)), strict=True)
            for name, node in self.parts.items():
                found[name] += self.source.column(node, columns, len(batch))
        return found


# -- the text --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Source:
    """A text that has formulas, and how calls in them are written otherwise."""

    text: str
    calls: Mapping[str, Rewrite] = field(default_factory=dict)
    """{name: what gives the expression that a call stands for, None for other arguments}."""

    def error(self, code: str, message: str, span: tuple[int, int], hint: str = "") -> LayoutError:
        """Return a refusal at a span of the text."""
        return LayoutError(code, message, hint=hint, span=span, source=self.text)

    def refuse(self, node: ast.AST, code: str, message: str, hint: str = "") -> NoReturn:
        """Refuse an expression."""
        raise self.error(code, message, self.span(node), hint)

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return where an expression stands: its columns count the bytes of one line."""
        line = self.text.encode(errors="surrogatepass")
        start, end = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", None) or len(line)
        return len(line[:start].decode(errors="replace")), len(line[:end].decode(errors="replace"))

    def parsed(self, start: int = 0, end: int | None = None) -> ast.expr:
        """Return the tree of an expression in the text, its columns those of the text."""
        end = len(self.text) if end is None else end
        piece = self.text[start:end]
        if len(piece) > MAX_TEXT:
            raise self.error(
                "TW005", f"a formula of {len(piece)} characters; at most {MAX_TEXT} are read", (start, end)
            )
        for sign in "#\\\0":
            if sign in piece:
                at = start + piece.index(sign)
                raise self.error("TW002", f"a formula has no '{printable(sign)}'", (at, at + 1))
        start += len(piece) - len(piece.lstrip())
        line = " ".join(piece.strip().split("\n")).translate(dict.fromkeys(map(ord, "\t\r\f\v"), " "))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(line, mode="eval").body
        except SyntaxError as error:
            offset = (error.offset or 0) - 1
            at = start + (offset if error.lineno == 1 and 0 <= offset < len(line) else len(line))
            if "never closed" in str(error.msg):
                raise self.error("TW004", f"'{self.text[at]}' is never closed", (at, at + 1)) from None
            message = "Python's grammar has no such expression"
            raise self.error("TW001", message, (at, min(at + 1, end))) from None
        except UnicodeEncodeError as error:
            at = start + error.start
            raise self.error("TW002", "a character that is no text", (at, at + 1)) from None
        except (RecursionError, MemoryError):
            raise self.error("TW005", "a formula that is nested too deeply", (start, end)) from None
        before = len(self.text[:start].encode(errors="surrogatepass"))
        for node in ast.walk(tree):
            if isinstance(node, ast.expr | ast.arg):
                node.col_offset += before
                node.end_col_offset = (node.end_col_offset or 0) + before
        return tree

    def column(
        self, node: ast.expr, columns: Mapping[str, list[int]], size: int, depth: int = 0
    ) -> list[int]:
        """Return the values of an expression, where names have these; refuse all but integer arithmetic.

        >>> source = Source("i * 8 + 1")
        >>> source.column(source.parsed(), {"i": [0, 1, 2]}, 3)
        [1, 9, 17]
        """
        if depth > MAX_DEPTH:
            self.refuse(node, "TW005", f"a formula that is nested more than {MAX_DEPTH} deep")

        def of(part: ast.expr) -> list[int]:
            return self.column(part, columns, size, depth + 1)

        match node:
            case ast.Constant(value=int(number)) if not isinstance(number, bool):
                found = [number] * size
            case ast.Name(id=name):
                if name not in columns:
                    known = ", ".join(columns) or "no name"
                    hint = f"--let {name}=64 gives it one" if name.isascii() else ""
                    self.refuse(node, "TW007", f"'{shortened(name)}' has no value; known: {known}", hint)
                found = columns[name]
            case ast.BinOp(left, op, right) if type(op) in _BINARY:
                one, other = of(left), of(right)
                self._check_operand(node, other)
                found = [*map(_BINARY[type(op)], one, other)]
            case ast.UnaryOp(op, operand):
                found = [*map(int, map(_UNARY[type(op)], of(operand)))]
            case ast.Compare(left, ops, rest) if all(type(op) in _ORDERS for op in ops):
                pairs = pairwise(map(of, (left, *rest)))
                orders = [map(_ORDERS[type(op)], *pair) for op, pair in zip(ops, pairs, strict=True)]
                found = [int(all(told)) for told in zip(*orders, strict=True)]
            case ast.BoolOp(op, values):
                found = [reduce(_LOGIC[type(op)], told) for told in zip(*map(of, values), strict=True)]
            case ast.IfExp(test, body, orelse):
                told = zip(of(test), of(body), of(orelse), strict=True)
                found = [one if is_so else other for is_so, one, other in told]
            case ast.Call(args=[first, second]) if self._called(node) in _NAMED:
                found = [*map(_NAMED[self._called(node)], of(first), of(second))]
            case ast.Call() if rewritten := self.calls.get(self._called(node), _unknown)(node.args):
                found = of(ast.copy_location(rewritten, node))
            case _:
                self._refuse_kind(node)
        if max(found) >= _LIMIT or min(found) < -_LIMIT:
            self.refuse(node, "TW302", "this is beyond 64-bit integers")
        return found

    def _check_operand(self, node: ast.BinOp, values: Sequence[int]) -> None:
        """Refuse an operation that has no value, or one that is far too large."""
        ends = f"it goes from {min(values)} to {max(values)}"
        if isinstance(node.op, ast.FloorDiv | ast.Mod) and 0 in values:
            self.refuse(node.right, "TW101", f"the divisor comes to 0: {ends}")
        if isinstance(node.op, ast.LShift | ast.RShift) and min(values) < 0:
            self.refuse(node.right, "TW101", f"the shift comes below 0: {ends}")
        if isinstance(node.op, ast.LShift) and max(values) > _LIMIT.bit_length():
            self.refuse(node, "TW302", "this is beyond 64-bit integers")

    def _called(self, call: ast.Call) -> str:
        """Return the name of a function that the text may call, else nothing; TVM's begin with T."""
        match call.func:
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="T"), attr=name):
                return name if name in self.calls and not call.keywords else ""
        return ""

    def _refuse_kind(self, node: ast.expr) -> NoReturn:
        kind: type = type(node.op) if isinstance(node, ast.BinOp) else type(node)
        if isinstance(node, ast.Constant):
            what = "a float" if isinstance(node.value, float) else "no integer"
            self.refuse(node, "TW101", f"{shortened(str(node.value))} is {what}", "a formula is of integers")
        message, hint = _INSTEAD.get(kind, ("this is no integer arithmetic", _KNOWN))
        if kind is ast.Call and self.calls:
            message, hint = "this call is not read", "known: " + " ".join(self.calls)
        self.refuse(node, "TW002", message, hint)


def _unknown(arguments: Sequence[ast.expr]) -> None:
    """Return nothing for a call that is not known."""


# -- lambdas ---------------------------------------------------------------------------------------


def read_lambda(text: str, let: Mapping[str, int], axes: Sequence[Axis] = (m,)) -> Formula[Axis]:
    """Return the formula of a lambda; `axes` name the numbers of a result without names of its own.

    >>> read_lambda("lambda i, j: i * 64 + (j ^ i % 8 * 8)", {}).listed((2, 3))
    {m: [0, 1, 2, 72, 73, 74]}
    """
    source = Source(text)
    tree = source.parsed()
    if not isinstance(tree, ast.Lambda):
        source.refuse(tree, "TW001", "no lambda", "such as lambda i, j: i * 64 + j")
    given = tree.args
    plain = [*given.posonlyargs, *given.args]
    odd = [*given.defaults, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    if odd:
        source.refuse(
            odd[0], "TW002", "coordinates have a name each, and nothing else", "such as lambda i, j: ..."
        )
    arguments = tuple(argument.arg for argument in plain)
    for at, argument in enumerate(plain):
        if argument.arg in arguments[:at]:
            source.refuse(argument, "TW002", f"two coordinates have the name {argument.arg}")
    return Formula(source, arguments, _parts(source, tree.body, axes, {*arguments, *let}), let)


def _parts(source: Source, body: ast.expr, axes: Sequence[Axis], taken: set[str]) -> dict[Axis, ast.expr]:
    """Return the expressions of a result by axis."""
    if isinstance(body, ast.Dict):
        return _named(source, body, taken)
    values = body.elts if isinstance(body, ast.Tuple | ast.List) else [body]
    if len(values) != len(axes):
        source.refuse(
            body,
            "TW107",
            f"{counted(len(values), 'number')} an element, and {counted(len(axes), 'axis name')}",
            "name the axes: {laneid: ..., reg: ...}",
        )
    return dict(zip(axes, values, strict=True))


def _named(source: Source, body: ast.Dict, taken: set[str]) -> dict[Axis, ast.expr]:
    """Return the expressions of {axis: expression}; the axes are words, in quotes or not."""
    parts: dict[Axis, ast.expr] = {}
    for key, value in zip(body.keys, body.values, strict=True):
        match key:
            case ast.Name(id=name) if name not in taken:
                pass
            case ast.Constant(value=str(name)):
                pass
            case _:
                source.refuse(
                    key or value, "TW103", "this is no name of an axis", 'such as {laneid: j} or {"tx": j}'
                )
        try:
            axis = Axis(name)
        except LayoutError as error:
            error.span, error.source = source.span(key), source.text
            raise
        if axis in parts:
            source.refuse(key, "TW103", f"two numbers on the axis {axis}")
        parts[axis] = value
    if not parts:
        source.refuse(body, "TW004", "a place without an axis", "such as {laneid: j, reg: i}")
    return parts
