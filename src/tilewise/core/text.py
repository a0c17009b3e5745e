"""The canonical text of a layout, and its spelling in Python. `parse(str(L)) == L`.

`@m` is written only where another axis is named. A swizzle's operand stands in parentheses when it
is a sum, so that the reader sees what the XOR acts on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tilewise.core.axes import m
from tilewise.core.shapes import Mode, spell
from tilewise.core.vectors import Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.layout import Iter, Layout


def layout_text(layout: Layout) -> str:
    """The canonical text.

    >>> from tilewise import S, R, O, Swizzle, laneid, m
    >>> print(S[(8, 4) : (4@laneid, 1@m)] + R[2 : 32] - 1@m)
    S[(8, 4) : (4@laneid, 1@m)] + R[2 : 32@m] - 1@m
    >>> print(O[128@m] @ Swizzle(3, 4, 3) @ (S[8 : 128] - 128@m))
    O[128] o Swizzle<3,4,3> o (S[8 : 128] - 128)
    """
    return _joined(layout, " o ", str, named=any(axis != m for axis in layout.axes))


def layout_python(layout: Layout) -> str:
    """The spelling in Python, which evaluates to the layout where its axes are defined.

    >>> from tilewise import S, Swizzle
    >>> Swizzle(3, 3, 3) @ S[(8, 128) : (128, 1)] + 5
    Swizzle(3, 3, 3) @ (S[(8, 128) : (128, 1)] + 5)
    """
    text = _joined(layout, " @ ", repr, named=any(axis != m for axis in layout.axes))
    if layout.unit == "element":
        return text
    is_sum = layout.swizzles or layout.replica or layout.offset.terms
    return f"({text}).counted({layout.unit!r})" if is_sum else f"{text}.counted({layout.unit!r})"


def _joined(layout: Layout, o: str, swizzle_text: Callable[[object], str], named: bool) -> str:
    body, is_sum = _body(layout, named)
    if not layout.swizzles:
        return body
    prefix = [f"O[{vector_text(layout.outer, True if o == ' @ ' else named)}]"] if layout.outer.terms else []
    prefix += [swizzle_text(swizzle) for swizzle in layout.swizzles]
    return o.join([*prefix, f"({body})" if is_sum else body])


def _body(layout: Layout, named: bool) -> tuple[str, bool]:
    strides = iter(layout.strides)
    text = f"S[{spell(layout.shape)} : {_congruent(layout.shape, strides, named, True)}]"
    if not layout.shape:
        text = "S[()]"
    tail = ""
    if layout.replica:
        tail += f" + {replica_text(layout.replica, named)}"
    tail += "".join(
        f" {'-' if steps < 0 else '+'} {term_text(axis.name, abs(steps), named)}"
        for axis, steps in layout.offset.terms
    )
    return text + tail, bool(tail)


def _congruent(mode: Mode, strides: Iterator[Vector], named: bool, top: bool = False) -> str:
    """The strides in the nesting of the shape."""
    if isinstance(mode, int):
        return vector_text(next(strides), named)
    parts = [_congruent(inner, strides, named) for inner in mode]
    if top and len(parts) == 1 and isinstance(mode[0], int):
        return parts[0]
    return "(" + ", ".join(parts) + ("," if len(parts) == 1 else "") + ")"


def replica_text(iters: tuple[Iter, ...], named: bool = True) -> str:
    """`R[...]` for replica iters."""
    strides = iter([it.stride for it in iters])
    shape = tuple(it.extent for it in iters)
    return f"R[{spell(shape)} : {_congruent(shape, strides, named, True)}]"


def vector_text(vector: Vector, named: bool = True) -> str:
    """A vector as a stride: `0`, `4@laneid`, `1@x + 1@y`."""
    if not vector.terms:
        return "0"
    (axis, steps), *rest = vector.terms
    return term_text(axis.name, steps, named) + "".join(
        f" {'-' if steps < 0 else '+'} {term_text(axis.name, abs(steps), named)}" for axis, steps in rest
    )


def term_text(axis: str, steps: int, named: bool) -> str:
    """`4@laneid`; the axis of a bare number is `m`, except that a bare 0 names none."""
    return f"{steps}@{axis}" if named or steps == 0 else str(steps)
