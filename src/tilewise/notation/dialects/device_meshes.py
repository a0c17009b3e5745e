"""The meshes of torch: DeviceMesh((dp=2, tp=4), 'cuda', stride=(4, 1)), and as older versions print them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tilewise.core.errors import Refused
from tilewise.core.vectors import Vector
from tilewise.notation.dialects.annotations import skip_value
from tilewise.notation.dialects.given import STRING, integer
from tilewise.notation.dialects.shards import GPU, Cell, checked_mesh, nested, split_grid, unquoted
from tilewise.notation.tokens import NAME, NUMBER, Cursor, Token


@dataclass(frozen=True, slots=True)
class DeviceMesh:
    """The digits of each dimension of a mesh, and the first device."""

    dimensions: list[list[Cell]]
    first: Vector = Vector()


def device_mesh(cursor: Cursor) -> DeviceMesh:
    """Take a mesh of any of its prints, or its sizes alone."""
    start = cursor.next
    if cursor.accept("DeviceMesh"):
        cursor.accept(":")
    elif start.text == "(":
        sizes, tokens = _sizes(cursor)
        return _of_sizes(cursor, start, sizes, tokens, None)
    opened = cursor.expect("(", hint="a mesh is written DeviceMesh((dp=2, tp=4)), or (2, 4)")
    sizes, names, numbers, steps = list[int](), list[Token](), list[int](), None
    while cursor.next.text != ")":
        word = cursor.next
        keyword = word.text if word.kind == NAME and cursor.ahead(1).text in ("=", ":") else ""
        if keyword:
            cursor.take()
            cursor.take()
        if cursor.next.text == "[" and keyword in ("", "mesh", "Mesh"):
            sizes, numbers = nested(cursor)
        elif keyword == "mesh_dim_names" or (cursor.next.text == "(" and cursor.ahead(1).kind == STRING):
            names = _names(cursor)
        elif keyword == "stride" and cursor.next.text == "(":
            steps = _steps(cursor)
        elif cursor.next.text == "(" and not sizes:
            sizes, names = _sizes(cursor)
        else:
            skip_value(cursor)
        if not cursor.accept(","):
            break
    cursor.expect(")", opened)
    if not sizes or min(sizes) < 1:
        raise cursor.error("TW102", "a mesh has dimensions of positive extents", cursor.since(start))
    if names or not numbers:
        return _of_sizes(cursor, start, sizes, names, steps)
    return _of_numbers(cursor, start, sizes, numbers)


def _sizes(cursor: Cursor) -> tuple[list[int], list[Token]]:
    """Take `(2, 4)` or `(dp=2, tp=4)`."""
    opened = cursor.expect("(")
    sizes: list[int] = []
    names: list[Token] = []
    while cursor.next.text != ")":
        if cursor.next.kind == NAME:
            names.append(cursor.take())
            cursor.expect("=")
        sizes.append(integer(cursor))
        if not cursor.accept(","):
            break
    cursor.expect(")", opened)
    return sizes, names


def _names(cursor: Cursor) -> list[Token]:
    """Take `('dp', 'tp')`, or None."""
    if cursor.accept("None"):
        return []
    opened = cursor.expect("(")
    names: list[Token] = []
    while cursor.next.text != ")":
        token, name = unquoted(cursor, "a name")
        names.append(Token(NAME, name, token.start + 1, token.end - 1))
        if not cursor.accept(","):
            break
    cursor.expect(")", opened)
    return names


def _steps(cursor: Cursor) -> list[int] | None:
    """Take `(4, 1)`; a dimension that several were flattened into has steps in brackets, read as None."""
    opened = cursor.take()
    steps: list[int] | None = []
    while cursor.next.text != ")":
        if cursor.next.kind == NUMBER and steps is not None:
            steps.append(integer(cursor))
        else:
            steps = None
            skip_value(cursor)
        if not cursor.accept(","):
            break
    cursor.expect(")", opened)
    return steps


def _of_sizes(
    cursor: Cursor, start: Token, sizes: list[int], names: list[Token], steps: list[int] | None
) -> DeviceMesh:
    """Return the mesh of these sizes: along its names, or along ranks with these or row-major steps."""
    span = cursor.since(start)
    if not sizes or min(sizes) < 1:
        raise cursor.error("TW102", "a mesh has dimensions of positive extents", span)
    if names:
        if len(names) != len(sizes):
            raise cursor.error("TW003", f"names: {len(names)}; dimensions of the mesh: {len(sizes)}", span)
        mesh = checked_mesh(
            cursor, [(token, token.text, size) for token, size in zip(names, sizes, strict=True)]
        )
        return DeviceMesh([[mesh.cell(cursor, start, name)] for name in mesh.extents])
    row_major = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
    steps = row_major if steps is None else steps
    if len(steps) != len(sizes):
        raise cursor.error("TW003", f"steps: {len(steps)}; dimensions of the mesh: {len(sizes)}", span)
    return DeviceMesh([[Cell(size, step @ GPU)] for size, step in zip(sizes, steps, strict=True)])


def _of_numbers(cursor: Cursor, start: Token, sizes: list[int], numbers: list[int]) -> DeviceMesh:
    """Return the mesh of these ranks, where digits count through them."""
    span = cursor.since(start)
    if len(set(numbers)) != len(numbers) or min(numbers) < 0:
        raise cursor.error("TW003", "a mesh has every rank once", span)
    digits = split_grid(numbers, sizes)
    if isinstance(digits, int):
        refused = Refused(
            "TW510",
            f"rank {numbers[digits]} is at position {digits} of the mesh: no digits count so",
            hint="with names of its dimensions, the layout is along them: mesh_dim_names=('dp', 'tp')",
            witness={"position": digits, "rank": numbers[digits]},
        )
        refused.span, refused.source = span, cursor.source
        raise refused
    first = numbers[0] @ GPU if numbers[0] else Vector()
    return DeviceMesh([[Cell(extent, step @ GPU) for extent, step in along] for along in digits], first)
