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
from tilewise.notation.dialects.given import Given, Reading, items
from tilewise.notation.formulas import Formula, Source, constants
from tilewise.notation.tokens import END, NAME, Cursor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.notation.formulas import Rewrite

    Span = tuple[int, int]

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
    cursor = given.cursor()
    source = Source(given.text, _CALLS)
    kind = cursor.accept("Layout", "Fragment")
    if kind is None:
        raise cursor.error("TW001", "TileLang prints Layout(...) or Fragment(...)")
    opened = cursor.expect("(")
    shape = _numbers(source, _until(cursor, "->"), given)
    cursor.expect("->", opened)
    result = _numbers(source, _until(cursor, ","), given)
    cursor.expect(",", opened)
    read_rest = _layout if kind.text == "Layout" else _fragment
    layout = read_rest(cursor, source, given, shape, result)
    cursor.expect(")", opened)
    cursor.expect_end(f"the {kind.text}")
    return Reading(layout)


def _layout(
    cursor: Cursor, source: Source, given: Given, shape: Sequence[int], result: Sequence[int]
) -> Layout:
    """Take the transform, and return the layout on storage."""
    _label(cursor, "transform")
    opened = cursor.expect("(")
    arguments = items(cursor, opened, ")", _coordinate)
    if len(arguments) != len(shape):
        raise cursor.error(
            "TW003",
            f"{counted(len(arguments), 'coordinate')}, and the shape has {counted(len(shape), 'mode')}",
            cursor.since(opened),
        )
    cursor.expect("->")
    span = _until(cursor, ")")
    parts = _indices(source, span, result)
    columns = Formula(source, tuple(arguments), parts, given.let).listed(shape)
    return recognise({m: _flat(source, span, columns, result)}, shape=tuple(shape))


def _coordinate(cursor: Cursor) -> str:
    if cursor.next.kind != NAME:
        raise cursor.error("TW004", f"expected the name of a coordinate, found {cursor.next}")
    return cursor.take().text


def _fragment(
    cursor: Cursor, source: Source, given: Given, shape: Sequence[int], result: Sequence[int]
) -> Layout:
    """Take the expressions of thread and index, and return the layout over threads and registers."""
    spans: dict[str, Span] = {}
    for name in ("replicate", "thread", _THREAD, "forward_index"):
        if spans:
            cursor.expect(",")
        _label(cursor, name)
        spans[name] = _until(cursor, ",", ")")
    if cursor.accept(","):
        _thread_range(cursor, source, given)
    copies, threads = (_number(source, spans[name], given) for name in ("replicate", "thread"))
    whose, span = spans[_THREAD], spans["forward_index"]
    parts = {_THREAD: source.parsed(*whose), **_indices(source, span, result)}
    arguments = (*(f"_{chr(ord('i') + at)}" for at in range(len(shape))), "_rep")
    columns = Formula(source, arguments, parts, given.let).listed((*shape, copies))
    held = _flat(source, span, columns, result)
    places = {Axis("tx"): _below(source, whose, columns[_THREAD], threads, "thread"), Axis("reg"): held}
    return _with_copies(recognise(places, shape=(*shape, copies)))


def _with_copies(layout: Layout) -> Layout:
    """Return a layout whose last mode counts copies, with the copies as R."""
    *_, (_, copies) = modes_of(layout)
    replica = tuple(it for it in copies if it.extent > 1)
    return layout.with_parts(layout.shape[:-1], layout.strides[: -len(copies)], replica, layout.offset)


def _thread_range(cursor: Cursor, source: Source, given: Given) -> None:
    """Take the range of the threads, which has to begin at 0."""
    _label(cursor, "thread_range")
    cursor.expect("I.Range")
    span = _until(cursor, ")", ",")
    first, *_ = _numbers(source, span, given, least=0)
    if first:
        raise source.error("TW008", f"a range of threads from {first} on is not read", span)


# -- pieces of the text ----------------------------------------------------------------------------


def _label(cursor: Cursor, name: str) -> None:
    cursor.expect(name)
    cursor.expect(":")


def _until(cursor: Cursor, *ends: str) -> Span:
    """Take the words up to one of `ends` outside brackets, and return their span."""
    start, depth = cursor.next.start, 0
    while cursor.next.kind != END and (depth or cursor.next.text not in ends):
        depth += (cursor.next.text in "([{") - (cursor.next.text in ")]}")
        if depth < 0:
            break
        cursor.take()
    if cursor.next.start == start:
        raise cursor.error("TW004", f"expected an expression, found {cursor.next}")
    return start, cursor.behind.end


def _expressions(source: Source, span: Span) -> list[ast.expr]:
    """Return the expressions at a span: one or several in brackets."""
    tree = source.parsed(*span)
    return tree.elts if isinstance(tree, ast.Tuple | ast.List) else [tree]


def _numbers(source: Source, span: Span, given: Given, least: int = 1) -> tuple[int, ...]:
    """Return the numbers at a span: one or several in brackets."""
    found: list[int] = []
    for node in _expressions(source, span):
        value = source.checked(node, constants(given.let))
        if value.low < least:
            source.refuse(node, "TW102", f"a number from {least} on belongs here, not {value.low}")
        found.append(value.low)
    return tuple(found)


def _number(source: Source, span: Span, given: Given) -> int:
    """Return the one number at a span."""
    found = _numbers(source, span, given)
    if len(found) != 1:
        raise source.error("TW107", f"{len(found)} numbers where one belongs", span)
    return found[0]


def _indices(source: Source, span: Span, result: Sequence[int]) -> dict[str, ast.expr]:
    """Return the expressions of the index at a span, one a mode of the result."""
    nodes = _expressions(source, span)
    if len(nodes) != len(result):
        shown = "1 index" if len(nodes) == 1 else f"{len(nodes)} indices"
        raise source.error("TW003", f"{shown} in a buffer of {spell(tuple(result))}", span)
    return {str(at): node for at, node in enumerate(nodes)}


def _flat(source: Source, span: Span, columns: dict[str, list[int]], result: Sequence[int]) -> list[int]:
    """Return the indices in the result as row-major offsets."""
    flat = [0] * len(next(iter(columns.values())))
    for at, extent in enumerate(result):
        column = _below(source, span, columns[str(at)], extent, f"index {at}")
        flat = [offset * extent + index for offset, index in zip(flat, column, strict=True)]
    return flat


def _below(source: Source, span: Span, values: list[int], extent: int, what: str) -> list[int]:
    """Return values that lie in an extent; refuse others."""
    if min(values) < 0 or max(values) >= extent:
        wrong = min(values) if min(values) < 0 else max(values)
        raise source.error("TW502", f"{what} comes to {wrong}, and the extent is {extent}", span)
    return values


# -- functions -------------------------------------------------------------------------------------


def _of(count: int, make: Callable[..., ast.expr | None]) -> Rewrite:
    """Return what gives the expression for a call of so many arguments."""
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
