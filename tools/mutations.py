"""Changes of meaning, one in one line of a function, that tests should find.

Messages, annotations and asserts stay as they are: no caller computes with them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_COMPARED = (
    (ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.In, ast.NotIn), (ast.Is, ast.IsNot)
)  # fmt: skip
_COMPUTED = ((ast.Add, ast.Sub), (ast.FloorDiv, ast.Mod))
TURNED: dict[type[ast.AST], Any] = {
    one: other for pair in (*_COMPARED, *_COMPUTED) for one, other in (pair, pair[::-1])
}
"""{operator: the one that stands for it in a fault}."""
EXTREMES = {"min": "max", "max": "min"}
SILENT = (ast.Assert, ast.Raise, ast.JoinedStr)
"""Checks of the author's own, and texts."""
OUTSIDE = ("annotation", "returns", "decorator_list")
"""Parts of a definition that are not run when the function is called."""
LISTS = (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)
"""Values whose sum mostly joins texts or lists; a difference of those fails wherever it runs."""


@dataclass(frozen=True)
class Fault:
    """One expression of a file, and what stands in its place."""

    path: str
    kind: str = ""
    line: int = 0
    start: int = 0
    end: int = 0
    before: str = ""
    after: str = ""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.start}: {self.before} → {self.after}"


def planted(source: str, fault: Fault) -> str:
    """Return the source with the fault in it; Python can read it, and it says something else."""
    lines = source.splitlines(keepends=True)
    line = lines[fault.line - 1].encode()
    lines[fault.line - 1] = (line[: fault.start] + fault.after.encode() + line[fault.end :]).decode()
    changed = "".join(lines)
    if ast.dump(ast.parse(changed)) == ast.dump(ast.parse(source)):
        raise ValueError(f"nothing changes: {fault}")
    return changed


def faults_of(source: str, path: str) -> Iterator[Fault]:
    """Yield each fault that a source can have.

    >>> source = '''
    ... def first(words, text=""):
    ...     return 0 if not words and text else min(words)
    ... '''
    >>> for fault in faults_of(source, "first.py"):
    ...     print(fault.kind, "|", fault.before, "|", fault.after)
    condition | not words and text | not (not words and text)
    and, or | not words and text | not words or text
    not | not words | words
    integer | 0 | 1
    extreme | min(words) | max(words)
    """
    for node in inside_functions(ast.parse(source)):
        for kind, old, new in changes(node):
            if old.lineno == old.end_lineno and old.end_col_offset is not None:
                before = ast.get_source_segment(source, old) or ""
                yield Fault(
                    path, kind, old.lineno, old.col_offset, old.end_col_offset, before, ast.unparse(new)
                )


def inside_functions(node: ast.AST, inside: bool = False) -> Iterator[ast.AST]:
    """Yield the nodes that run when a function is called."""
    if isinstance(node, SILENT) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
        return
    if inside:
        yield node
    for field, value in ast.iter_fields(node):
        body = inside or (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and field == "body")
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and field not in OUTSIDE:
                yield from inside_functions(child, body)


def changes(node: ast.AST) -> Iterator[tuple[str, ast.expr, ast.expr]]:
    """Yield the kind of each change at a node, the expression that goes and the one that comes."""
    match node:
        case ast.If(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.UnaryOp):
            yield "condition", test, ast.UnaryOp(ast.Not(), test)
        case ast.comprehension(ifs=[ast.expr() as test]) if not isinstance(test, ast.UnaryOp):
            yield "condition", test, ast.UnaryOp(ast.Not(), test)
        case _:
            pass
    match node:
        case ast.Compare(left, ops, right):
            for at, op in enumerate(ops):
                turned = [*ops[:at], TURNED[type(op)](), *ops[at + 1 :]]
                yield "comparison", node, ast.Compare(left, turned, right)
        case ast.BinOp(left, op, right) if type(op) in TURNED and not isinstance(left, LISTS):
            if not isinstance(right, LISTS) or isinstance(getattr(right, "value", None), int):
                yield "arithmetic", node, ast.BinOp(left, TURNED[type(op)](), right)
        case ast.BoolOp(ast.And(), values):
            yield "and, or", node, ast.BoolOp(ast.Or(), values)
        case ast.BoolOp(ast.Or(), values):
            yield "and, or", node, ast.BoolOp(ast.And(), values)
        case ast.UnaryOp(ast.Not(), operand):
            yield "not", node, operand
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            yield "integer", node, ast.Constant(value + 1)
            if value > 0:
                yield "integer", node, ast.Constant(value - 1)
        case ast.Call(ast.Name(name), words, named) if name in EXTREMES:
            yield "extreme", node, ast.Call(ast.Name(EXTREMES[name]), words, named)
        case _:
            pass
