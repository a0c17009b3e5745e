"""The meshes of torch: DeviceMesh((dp=2, tp=4), 'cuda', stride=(4, 1)), and as older versions print them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewise.core.vectors import ZERO, Vector
from tilewise.notation.dialects.given import STRING
from tilewise.notation.dialects.shards import Digits, checked_mesh, counted, device_extents, grid, nested
from tilewise.notation.dialects.values import Value, named_numbers, numbers, single
from tilewise.notation.tokens import Cursor, Token

_HINT = "with names of its dimensions, the layout is along them: mesh_dim_names=('dp', 'tp')"


def device_mesh(cursor: Cursor, words: Sequence[Value]) -> tuple[list[Digits], Vector]:
    """Return the digits of each dimension of a mesh, and the first device.

    The mesh is any of its prints, or its sizes alone; it is along its names, or else along ranks.
    """
    *name, mesh = words
    if mesh.text != "(" or [word.text for word in name] not in ([], ["DeviceMesh"], ["DeviceMesh", ":"]):
        hint = "a mesh is written DeviceMesh((dp=2, tp=4)), or (2, 4)"
        raise cursor.error("TW004", f"expected a mesh, found {words[0].token}", words[0].span, hint)
    span = (words[0].span[0], mesh.span[1])
    sizes, ranks, steps = list[int](), list[int](), list[int]()
    names: list[Token] = []
    for key, value in [(item.name, item.values[-1]) for item in mesh.items] if name else [("", mesh)]:
        items = value.items
        if value.text == "[" and key in ("", "mesh", "Mesh"):
            sizes, ranks = nested(cursor, value)
        elif value.text != "(" or not items:
            continue
        elif key == "stride":  # a dimension that several were flattened into has steps in brackets
            is_plain = all(item.values[0].number is not None for item in items)
            steps = numbers(cursor, value) if is_plain else []
        elif key == "mesh_dim_names" or items[0].values[0].token.kind == STRING:
            names = [single(cursor, item).token for item in items]
        elif items[0].key:
            named = named_numbers(cursor, items)
            names, sizes = [token for token, _ in named], [size for _, size in named]
        elif not sizes:
            sizes = numbers(cursor, value)
    device_extents(cursor, sizes, span)
    if names:
        if len(names) != len(sizes):
            raise cursor.error("TW003", f"names: {len(names)}; dimensions of the mesh: {len(sizes)}", span)
        return checked_mesh(cursor, zip(names, sizes, strict=True)).whole_axes(cursor), ZERO
    steps = steps or [prod(sizes[i + 1 :]) for i in range(len(sizes))]
    if len(steps) != len(sizes):
        raise cursor.error("TW003", f"steps: {len(steps)}; dimensions of the mesh: {len(sizes)}", span)
    ranks = ranks or counted(zip(sizes, steps, strict=True))
    if len({*ranks}) != len(ranks) or min(ranks) < 0:
        raise cursor.error("TW003", "a mesh has every rank once", span)
    return grid(cursor, span, ranks, sizes, _HINT)
