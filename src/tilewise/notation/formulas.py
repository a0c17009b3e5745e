"""Formulas: integer expressions of the coordinates in text, such as `lambda i, j: i * 64 + (j ^ i % 8 * 8)`.

Python's grammar and meaning, limited to arithmetic. Text is parsed and never run as it is: each part
is checked, with its least and greatest value, and made anew. So nothing is too large, nothing is
divided by 0, and the listed values are Python's.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Generic, NoReturn, TypeVar

from tilewise.core.axes import Axis, m
from tilewise.core.errors import LayoutError, printable
from tilewise.core.integers import counted
from tilewise.core.shapes import spell
from tilewise.notation.tokens import shortened

Rewrite = Callable[[Sequence[ast.expr]], ast.expr | None]
"""Returns the expression that a call of these arguments stands for, or None."""
Name = TypeVar("Name")

MAX_TEXT = 1 << 12
MAX_DEPTH = 200
MAX_LISTED = 1 << 20
MAX_STEPS = 1 << 25
"""The most operations that are done to list a formula."""

_LIMIT = 1 << 63
_KNOWN = "known: + - * // % << >> & | ^ ~, comparisons, a if c else b"
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_INSTEAD: dict[type, tuple[str, str]] = {
    ast.Div: ("/ gives a fraction", "// divides integers"),
    ast.Pow: ("** is not read", "write the number, or 1 << n for a power of two"),
    ast.MatMult: ("@ is not read", "axes are named in braces, such as {laneid: j, reg: i}"),
    ast.Call: ("no functions are called", _KNOWN),
    ast.Attribute: ("a name has no parts", _KNOWN),
    ast.Subscript: ("nothing is looked up in tables", "algebra recognise reads tables"),
}


@dataclass(frozen=True, slots=True)
class Bounded:
    """An expression that is known to be safe, and the least and the most that it may be."""

    node: ast.expr
    low: int
    high: int


@dataclass(frozen=True)
class Formula(Generic[Name]):
    """Expressions of named coordinates in a text, each by a name, such as an axis.

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
        checked = self.checked(shape)
        elements = prod(shape)
        steps = elements * sum(1 for value in checked.values() for _ in ast.walk(value.node))
        if elements > MAX_LISTED or steps > MAX_STEPS:
            raise LayoutError(
                "TW301",
                f"a function of {elements} elements, in {steps} steps; "
                f"at most {MAX_LISTED} are evaluated, in {MAX_STEPS}",
                hint="an exact answer takes every element; ask about a tile, or write S[...]",
            )
        return {name: _at_all_indices(value.node, shape) for name, value in checked.items()}

    def checked(self, shape: Sequence[int]) -> dict[Name, Bounded]:
        """Return the expressions made anew, of coordinates `_0`, `_1` and so on, with their bounds."""
        if len(shape) != len(self.arguments):
            raise LayoutError(
                "TW202",
                f"a function of {counted(len(self.arguments), 'coordinate')}, and the shape "
                f"{spell(tuple(shape))} has {counted(len(shape), 'mode')}",
                hint="a function has one coordinate a mode",
            )
        names = constants(self.let)
        for at, (name, extent) in enumerate(zip(self.arguments, shape, strict=True)):
            names[name] = Bounded(ast.Name(f"_{at}", ast.Load()), 0, extent - 1)
        return {name: self.source.checked(node, names) for name, node in self.parts.items()}


def constants(let: Mapping[str, int]) -> dict[str, Bounded]:
    """Return names that have one value each."""
    return {name: Bounded(ast.Constant(value), value, value) for name, value in let.items()}


def _at_all_indices(node: ast.expr, shape: Sequence[int]) -> list[int]:
    """Return the values of a checked expression, whose coordinates are `_0`, `_1` and so on."""
    targets: list[ast.expr] = [ast.Name(f"_{at}", ast.Store()) for at in range(len(shape))]
    indices = ast.comprehension(
        ast.Tuple(targets, ast.Store()), ast.Name("indices", ast.Load()), ifs=[], is_async=0
    )
    listing = ast.fix_missing_locations(ast.Expression(ast.ListComp(node, [indices])))
    known = {"__builtins__": _EITHER, "indices": product(*map(range, shape))}
    listed: list[int] = eval(compile(listing, "<formula>", "eval"), known)
    return listed


# -- the text --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Source:
    """A text that has formulas, and the rewriting of calls in it."""

    text: str
    calls: Mapping[str, Rewrite] = field(default_factory=dict)
    """{name: a function from a call's arguments to its expression, or to None for unfit arguments}."""

    def error(self, code: str, message: str, span: tuple[int, int], hint: str = "") -> LayoutError:
        """Return a refusal at a span of the text."""
        return LayoutError(code, message, hint=hint, span=span, source=self.text)

    def refuse(self, node: ast.AST, code: str, message: str, hint: str = "") -> NoReturn:
        """Refuse an expression."""
        raise self.error(code, message, self.span(node), hint)

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return the span of an expression: its columns count the bytes of one line."""
        line = self.text.encode(errors="surrogatepass")
        start, end = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", None) or len(line)
        return len(line[:start].decode(errors="replace")), len(line[:end].decode(errors="replace"))

    def parsed(self, start: int = 0, end: int | None = None) -> ast.expr:
        """Return the tree of an expression in the text, with columns of the text."""
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

    def checked(self, node: ast.expr, names: Mapping[str, Bounded], depth: int = 0) -> Bounded:
        """Return an expression made anew, with its bounds; refuse all that is no integer arithmetic."""
        if depth > MAX_DEPTH:
            self.refuse(node, "TW005", f"a formula that is nested more than {MAX_DEPTH} deep")

        def of(part: ast.expr) -> Bounded:
            return self.checked(part, names, depth + 1)

        match node:
            case ast.Constant(value=int(number)) if not isinstance(number, bool):
                made = Bounded(ast.Constant(number), number, number)
            case ast.Name(id=name):
                if name not in names:
                    known = ", ".join(names) or "no name"
                    hint = f"--let {name}=64 gives it one" if name.isascii() else ""
                    self.refuse(node, "TW007", f"'{shortened(name)}' has no value; known: {known}", hint)
                made = names[name]
            case ast.BinOp(left, op, right) if isinstance(op, _OPERATORS):
                one, other = of(left), of(right)
                made = Bounded(ast.BinOp(one.node, op, other.node), *self._bounds(node, one, other))
            case ast.UnaryOp(ast.USub() | ast.UAdd() | ast.Invert() as op, operand):
                one = of(operand)
                ends = sorted(_UNARY[type(op)](end) for end in (one.low, one.high))
                made = Bounded(ast.UnaryOp(op, one.node), *ends)
            case ast.UnaryOp(ast.Not() as op, operand):
                one = of(operand)
                made = _truth(ast.UnaryOp(op, one.node))
            case ast.Compare(left, ops, rest) if all(isinstance(op, _ORDERS) for op in ops):
                first, *others = map(of, (left, *rest))
                made = _truth(ast.Compare(first.node, ops, [other.node for other in others]))
            case ast.BoolOp(op, values):
                parts = [*map(of, values)]
                made = _either(ast.BoolOp(op, [part.node for part in parts]), parts)
            case ast.IfExp(test, body, orelse):
                asked, *parts = map(of, (test, body, orelse))
                made = _either(ast.IfExp(asked.node, *[part.node for part in parts]), parts)
            case ast.Call(args=[first, second]) if self._called(node) in _EITHER:
                one, other = of(first), of(second)
                made = _nearer(self._called(node), one, other)
            case ast.Call() if (rewritten := self._rewritten(node)) is not None:
                made = of(rewritten)
            case _:
                self._refuse_kind(node)
        if not (made.low >= -_LIMIT and made.high < _LIMIT):
            self.refuse(node, "TW302", "this may be beyond 64-bit integers")
        return made

    def _called(self, call: ast.Call) -> str:
        """Return the name of a function that the text may call, else ''; TVM's begin with T."""
        match call.func:
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="T"), attr=name):
                return name if name in self.calls and not call.keywords else ""
        return ""

    def _rewritten(self, call: ast.Call) -> ast.expr | None:
        """Return the expression that a call stands for."""
        rewrite = self.calls.get(self._called(call))
        made = None if rewrite is None else rewrite(call.args)
        return None if made is None else ast.fix_missing_locations(ast.copy_location(made, call))

    def _refuse_kind(self, node: ast.expr) -> NoReturn:
        kind: type = type(node.op) if isinstance(node, ast.BinOp) else type(node)
        if isinstance(node, ast.Constant):
            what = "a float" if isinstance(node.value, float) else "no integer"
            self.refuse(node, "TW101", f"{shortened(str(node.value))} is {what}", "a formula is of integers")
        message, hint = _INSTEAD.get(kind, ("this is no integer arithmetic", _KNOWN))
        if kind is ast.Call and self.calls:
            message, hint = "this call is not read", "known: " + " ".join(self.calls)
        self.refuse(node, "TW002", message, hint)

    def _bounds(self, node: ast.BinOp, a: Bounded, b: Bounded) -> tuple[int, int]:
        """Return the least and the most of an operation; refuse one that may have no value."""
        op = node.op
        if isinstance(op, ast.FloorDiv | ast.Mod) and b.low <= 0 <= b.high:
            self.refuse(node.right, "TW101", f"the divisor may be 0: it goes from {b.low} to {b.high}")
        if isinstance(op, ast.LShift | ast.RShift) and b.low < 0:
            self.refuse(node.right, "TW101", f"the shift may be below 0: it goes from {b.low} to {b.high}")
        if isinstance(op, ast.LShift) and b.high > _LIMIT.bit_length():
            self.refuse(node, "TW302", "this may be beyond 64-bit integers")
        if isinstance(op, ast.Mod):
            if a.low >= 0 and a.high < b.low:
                return a.low, a.high
            return min(0, b.low + 1), max(0, b.high - 1)
        if isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor):
            bits = max(end.bit_length() for end in (a.low, a.high, b.low, b.high))
            return (0 if min(a.low, b.low) >= 0 else -1 << bits), (1 << bits) - 1
        ends = [_BINARY[type(op)](x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        return min(ends), max(ends)


_UNARY: dict[type, Callable[[int], int]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_BINARY: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
"""Operations that rise or fall in each operand: their ends are at ends."""
_OPERATORS = (*_BINARY, ast.Mod, ast.BitAnd, ast.BitOr, ast.BitXor)


_EITHER: dict[str, Callable[..., int]] = {"min": min, "max": max}
"""Functions that stay calls: as an expression, they would hold each operand twice."""


def _nearer(name: str, one: Bounded, other: Bounded) -> Bounded:
    low, high = _EITHER[name](one.low, other.low), _EITHER[name](one.high, other.high)
    return Bounded(ast.Call(ast.Name(name, ast.Load()), [one.node, other.node], []), low, high)


def _truth(node: ast.expr) -> Bounded:
    """Return 1 for true and 0 for false."""
    return Bounded(ast.UnaryOp(ast.UAdd(), node), 0, 1)


def _either(node: ast.expr, parts: Sequence[Bounded]) -> Bounded:
    return Bounded(node, min(part.low for part in parts), max(part.high for part in parts))


# -- lambdas ---------------------------------------------------------------------------------------


def read_lambda(text: str, let: Mapping[str, int], axes: Sequence[Axis] = (m,)) -> Formula[Axis]:
    """Return the formula of a lambda; `axes` name the numbers of a result that has no names.

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
