"""TileLang's layouts as it prints them: index expressions of the coordinates `_i`, `_j` and so on.

    Layout((64, 64) -> (1, 8, 512), transform: (_i, _j) -> (0, _i // 8, _i % 8 * 64 + _j))
    Fragment((8, 8) -> (2,), replicate: 1, thread: 32, forward_thread: _i * 4 + _j // 2,
             forward_index: (_j % 2,))

A layout takes an element to an index of a buffer of the second shape, which lies row-major on `m`. A
fragment takes it to the thread `tx` and to an index of that thread's buffer, row-major on `reg`; `_rep`
counts the copies of an element, which are R. The printers are `LayoutNode::DebugOutput` and
`FragmentNode::DebugOutput` (tile-ai/tilelang, src/layout/layout.cc); the expressions are TVM's, whose `//`
and `%` are Python's (floordiv and floormod), with functions for the operations on bits.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from tilewise.core.algebra.modes import modes_of
from tilewise.core.algebra.recognition import recognise
from tilewise.core.axes import Axis, m
from tilewise.core.integers import counted
from tilewise.core.layout import Layout
from tilewise.core.shapes import spell
from tilewise.notation.dialects.given import Given, Reading, words
from tilewise.notation.formulas import Formula, Rewrite, Source, constants
from tilewise.notation.tokens import END, Cursor, Span

EXAMPLES = (
    Given(
        "Layout((64, 64) -> (4, 8, 128), transform: (_i, _j) -> (_j // 16, _i // 8, "
        "_i % 8 * 16 + (_j % 16 // 8 + _i % 8 // 4) % 2 * 8 + _j % 8))"
    ),
    Given("Layout((64, 64) -> (4096,), transform: (_i, _j) -> (_i * 64 + T.bitwise_xor(_j, _i % 8 * 8),))"),
    Given("Layout((48, 20) -> (16, 5, 12), transform: (_i, _j) -> (_i // 3, _j // 4, _i % 3 * 4 + _j % 4))"),
    Given(
        "Fragment((16, 16) -> (8,), replicate: 4, thread: 128, forward_thread: _rep * 32 + _i % 8 * 4 + "
        "_j % 8 // 2, forward_index: (_j // 8 * 4 + _i // 8 * 2 + _j % 2,))"
    ),
    Given(
        "Fragment((8, 16) -> (128,), replicate: 128, thread: 128, forward_thread: _rep, "
        "forward_index: (_i * 16 + _j,), thread_range: I.Range(0, 128))"
    ),
)

_THREAD = "forward_thread"


def read(given: Given) -> Reading:
    """Return the layout of a Layout or of a Fragment, one mode a coordinate."""
    text = _Text(given)
    kind = text.accept("Layout", "Fragment")
    if kind is None:
        raise text.error("TW001", "TileLang prints Layout(...) or Fragment(...)")
    opened = text.expect("(")
    shape = text.numbers(text.until("->"))
    text.expect("->", opened)
    result = text.numbers(text.until(","))
    text.expect(",", opened)
    layout = (text.layout if kind.text == "Layout" else text.fragment)(shape, result)
    text.expect(")", opened)
    text.expect_end(f"the {kind.text}")
    return Reading(layout)


class _Text(Cursor):
    """The text of an object, a piece after the other; expressions in it are Python's."""

    def __init__(self, given: Given) -> None:
        super().__init__(given.text, words)
        self.let = given.let
        self.formulas = Source(given.text, _CALLS)

    def layout(self, shape: Sequence[int], result: Sequence[int]) -> Layout:
        """Take the transform, and return the layout on storage."""
        self.label("transform")
        opened = self.expect("(")
        start, end = self.until(")")
        self.expect(")", opened)
        self.expect("->")
        arguments = [word.strip() for word in self.formulas.text[start:end].strip(", ").split(",")]
        if not all(map(str.isidentifier, arguments)):
            raise self.formulas.error(
                "TW004", "expected the names of coordinates", (start, end), "such as (_i, _j)"
            )
        if len(arguments) != len(shape):
            message = (
                f"{counted(len(arguments), 'coordinate')}, and the shape has {counted(len(shape), 'mode')}"
            )
            raise self.formulas.error("TW003", message, (start, end))
        span = self.until(")")
        parts = self.indices(span, result)
        columns = Formula(self.formulas, tuple(arguments), parts, self.let).listed(shape)
        return recognise({m: self.flat(span, columns, result)}, shape=tuple(shape))

    def fragment(self, shape: Sequence[int], result: Sequence[int]) -> Layout:
        """Take the expressions of thread and index, and return the layout over threads and registers.

        The last mode counts the copies of an element, which become R.
        """
        spans: dict[str, Span] = {}
        for name in ("replicate", "thread", _THREAD, "forward_index"):
            if spans:
                self.expect(",")
            self.label(name)
            spans[name] = self.until(",", ")")
        if self.accept(","):
            self.label("thread_range")
            self.expect("I.Range")
            span = self.until(")", ",")
            if first := self.numbers(span, least=0)[0]:
                raise self.formulas.error("TW008", f"a range of threads from {first} on is not read", span)
        (copies, *odd), (threads, *more) = (self.numbers(spans[name]) for name in ("replicate", "thread"))
        if odd or more:
            raise self.formulas.error("TW107", "several numbers where one belongs", spans["replicate"])
        whose, span = spans[_THREAD], spans["forward_index"]
        parts = {_THREAD: self.formulas.parsed(*whose), **self.indices(span, result)}
        arguments = (*(f"_{chr(ord('i') + at)}" for at in range(len(shape))), "_rep")
        columns = Formula(self.formulas, arguments, parts, self.let).listed((*shape, copies))
        threads_of = self.below(whose, columns[_THREAD], threads, "thread")
        places = {Axis("tx"): threads_of, Axis("reg"): self.flat(span, columns, result)}
        layout = recognise(places, shape=(*shape, copies))
        *_, (_, digits) = modes_of(layout)
        replica = tuple(it for it in digits if it.extent > 1)
        return layout.with_parts(layout.shape[:-1], layout.strides[: -len(digits)], replica, layout.offset)

    def label(self, name: str) -> None:
        """Take a name and its colon."""
        self.expect(name)
        self.expect(":")

    def until(self, *ends: str) -> Span:
        """Take the words up to one of `ends` outside brackets, and return their span."""
        depth = 0
        start = self.next.start
        while self.next.kind != END and (depth or self.next.text not in ends):
            depth += (self.next.text in "([{") - (self.next.text in ")]}")
            if depth < 0:
                break
            self.take()
        if self.next.start == start:
            raise self.error("TW004", f"expected an expression, found {self.next}")
        return start, self.behind.end

    def expressions(self, span: Span) -> list[ast.expr]:
        """Return the expressions at a span: one or several in brackets."""
        tree = self.formulas.parsed(*span)
        return tree.elts if isinstance(tree, ast.Tuple | ast.List) else [tree]

    def numbers(self, span: Span, least: int = 1) -> list[int]:
        """Return the numbers at a span: one or several in brackets."""
        found: list[int] = []
        for node in self.expressions(span):
            found.append(self.formulas.checked(node, constants(self.let)).low)
            if found[-1] < least:
                self.formulas.refuse(node, "TW102", f"a number from {least} on belongs here, not {found[-1]}")
        return found

    def indices(self, span: Span, result: Sequence[int]) -> dict[str, ast.expr]:
        """Return the expressions of the index at a span, one a mode of the result."""
        nodes = self.expressions(span)
        if len(nodes) != len(result):
            shown = "1 index" if len(nodes) == 1 else f"{len(nodes)} indices"
            raise self.formulas.error("TW003", f"{shown} in a buffer of {spell(tuple(result))}", span)
        return {str(at): node for at, node in enumerate(nodes)}

    def flat(self, span: Span, columns: dict[str, list[int]], result: Sequence[int]) -> list[int]:
        """Return the indices in the result as row-major offsets."""
        found = [0] * len(next(iter(columns.values())))
        for at, extent in enumerate(result):
            column = self.below(span, columns[str(at)], extent, f"index {at}")
            found = [offset * extent + index for offset, index in zip(found, column, strict=True)]
        return found

    def below(self, span: Span, values: list[int], extent: int, what: str) -> list[int]:
        """Return values that lie in an extent; refuse others."""
        if min(values) < 0 or max(values) >= extent:
            wrong = min(values) if min(values) < 0 else max(values)
            raise self.formulas.error("TW502", f"{what} comes to {wrong}, and the extent is {extent}", span)
        return values


# -- functions -------------------------------------------------------------------------------------


def _of(count: int, make: Callable[..., ast.expr | None]) -> Rewrite:
    """Return the rewriting of a call of so many arguments; None for another number of them."""
    return lambda given: make(*given) if len(given) == count else None


def _operation(operator: type[ast.operator]) -> Rewrite:
    return _of(2, lambda one, other: ast.BinOp(one, operator(), other))


def _cast(kind: ast.expr, value: ast.expr) -> ast.expr | None:
    is_integer = isinstance(kind, ast.Constant) and kind.value in ("int32", "int64")
    return value if is_integer else None


_CALLS: dict[str, Rewrite] = {
    "bitwise_xor": _operation(ast.BitXor),
    "bitwise_and": _operation(ast.BitAnd),
    "bitwise_or": _operation(ast.BitOr),
    "bitwise_not": _of(1, lambda value: ast.UnaryOp(ast.Invert(), value)),
    "shift_left": _operation(ast.LShift),
    "shift_right": _operation(ast.RShift),
    "min": lambda given: None,  # stays a call
    "max": lambda given: None,
    "if_then_else": _of(3, ast.IfExp),
    "Select": _of(3, ast.IfExp),
    "int32": _of(1, lambda value: value),
    "int64": _of(1, lambda value: value),
    "Cast": _of(2, _cast),
}
"""Functions that TVM prints, as Python's operators."""
