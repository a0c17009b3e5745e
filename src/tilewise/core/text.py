"""The canonical text of a layout, in the notation or in CuTe's, and its spelling in Python.

`parse(str(L)) == L`. A layout that counts in CuTe's order is written as CuTe writes it, and in the notation
where CuTe has no words for it. `@m` is written only where another axis is named. A swizzle's operand stands
in parentheses when it is a sum, so that the reader sees the operand of the XOR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tilewise.core.axes import m
from tilewise.core.errors import LayoutError
from tilewise.core.polynomials import signed
from tilewise.core.shapes import Mode, Shape, leaves, spell
from tilewise.core.vectors import Term, Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.layout import Iter, Layout

BASIS = "e"
"""CuTe's basis stride `1@0` steps along axis e0."""


def layout_text(layout: Layout) -> str:
    """Return the canonical text.

    >>> from tilewise import S, R, O, Swizzle, laneid, m
    >>> print(S[(8, 4) : (4@laneid, 1@m)] + R[2 : 32] - 1@m)
    S[(8, 4) : (4@laneid, 1@m)] + R[2 : 32@m] - 1@m
    >>> print(O[128@m] @ Swizzle(3, 4, 3) @ (S[8 : 128] - 128@m))
    O[128] o Swizzle<3,4,3> o (S[8 : 128] - 128)
    """
    if layout.order == "cute":
        try:
            return cute_text(layout, strict=False)
        except LayoutError:
            layout = layout.in_order("row")
    return _joined(layout, " o ", str, named=any(axis != m for axis in layout.axes))


def layout_python(layout: Layout) -> str:
    """Return the spelling in Python, which evaluates to the layout where its axes are defined.

    >>> from tilewise import S, Swizzle
    >>> Swizzle(3, 3, 3) @ S[(8, 128) : (128, 1)] + 5
    Swizzle(3, 3, 3) @ (S[(8, 128) : (128, 1)] + 5)
    """
    text = _joined(layout, " @ ", repr, named=any(axis != m for axis in layout.axes))
    calls = f".counted({layout.unit!r})" if layout.unit != "element" else ""
    calls += f".ordered({layout.order!r})" if layout.order != "row" else ""
    is_sum = layout.swizzles or layout.replica or layout.offset.terms
    return f"({text}){calls}" if calls and is_sum else text + calls


def cute_text(layout: Layout, strict: bool = True) -> str:
    """Return the layout in CuTe's notation; it is refused where CuTe has no words for it.

    Unless `strict`, it has words that `parse` reads and CuTe does not write: an offset without a swizzle, and
    the axis of a stride of 0.

    >>> from tilewise import S, Swizzle
    >>> cute_text(S[((2, 8), (4, 4)) : ((64, 8), (4, 1))])
    '((8,2),(4,4)):((8,64),(1,4))'
    >>> cute_text(Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)])
    'Sw<3,3,3> o 0 o (8,64):(64,1)'
    """
    if layout.unit != "element":
        raise _unsayable(f"CuTe's strides count elements, not {layout.unit}s", "convert it: --dtype bf16")
    if layout.replica:
        raise _unsayable("CuTe has no replicas: a layout has one place an index")
    if layout.outer:
        raise _unsayable("CuTe has no offset outside a swizzle")
    if layout.swizzled_axis not in (None, m):
        raise _unsayable("CuTe swizzles linear offsets alone")
    if any(steps for axis, steps in layout.offset.terms if axis != m):
        raise _unsayable(f"CuTe's offset is a number, not {layout.offset}")
    if strict and layout.offset and not layout.swizzles:
        raise _unsayable(
            f"a CuTe layout sends 0 to 0; add {layout.offset} to the pointer",
            "the layout without its offset can",
        )
    layout = layout.in_order("cute")
    extents = _nested(layout.shape, map(str, leaves(layout.shape)), ",")
    strides = [_cute_stride(stride.nonzero if strict else stride) for stride in layout.strides]
    steps = _nested(layout.shape, iter(strides), ",")
    is_lone = layout.has_names and len(strides) == 1  # of which parentheses tell the ends
    text = f"({extents}):({steps})" if is_lone and extents[0] != "(" else f"{extents}:{steps}"
    if layout.swizzles or layout.offset:
        offset = layout.offset["m"]
        text = f"{offset if isinstance(offset, int) else f'({offset})'} o {text}"
    return "".join([f"Sw<{sw.bits},{sw.base},{sw.shift}> o " for sw in layout.swizzles]) + text


def _cute_stride(stride: Vector) -> str:
    if not stride.terms:
        return "0"
    (axis, steps), *more = stride.terms
    if more:
        raise _unsayable(f"{stride} moves on two axes in one step")
    if axis == m:
        return str(steps)
    number = axis.name.removeprefix(BASIS)
    if axis.name != number and number.isascii() and number.isdigit() and number == str(int(number)):
        return f"{steps}@{number}"
    raise _unsayable(f"CuTe has no axis {axis}", f"rename it to a basis, such as {BASIS}0")


def _unsayable(reason: str, hint: str = "") -> LayoutError:
    return LayoutError("TW008", reason, hint=hint)


def _nested(mode: Mode, words: Iterator[str], comma: str, top: bool = True) -> str:
    """Return words in the nesting of a shape; a lone word in parentheses gets the comma that Python needs."""
    if not isinstance(mode, tuple) or (top and len(mode) == 1 and not isinstance(mode[0], tuple)):
        return next(words)
    parts = [_nested(inner, words, comma, False) for inner in mode]
    return "(" + comma.join(parts) + ("," if len(parts) == 1 and comma == ", " else "") + ")"


def _more(terms: Iterable[Term], named: bool) -> str:
    """Return terms as the rest of a sum."""
    return "".join(
        f" {'-' if negative else '+'} {term_text(axis.name, size, named)}"
        for axis, steps in terms
        for negative, size in signed(steps)
    )


def _joined(layout: Layout, o: str, swizzle_text: Callable[[object], str], named: bool) -> str:
    body, is_sum = _body(layout, named)
    if not layout.swizzles:
        return body
    prefix = [f"O[{vector_text(layout.outer, True if o == ' @ ' else named)}]"] if layout.outer.terms else []
    prefix += [swizzle_text(swizzle) for swizzle in layout.swizzles]
    return o.join([*prefix, f"({body})" if is_sum else body])


def _body(layout: Layout, named: bool) -> tuple[str, bool]:
    text = f"S[{_strided(layout.shape, layout.strides, named)}]"
    if not layout.shape:
        text = "S[()]"
    tail = ""
    if layout.replica:
        tail += f" + {replica_text(layout.replica, named)}"
    tail += _more(layout.offset.terms, named)
    return text + tail, bool(tail)


def replica_text(iters: tuple[Iter, ...], named: bool = True) -> str:
    """Return `R[...]` for replica iters."""
    return f"R[{_strided(tuple(it.extent for it in iters), [it.stride for it in iters], named)}]"


def _strided(shape: Shape, strides: Iterable[Vector], named: bool) -> str:
    """Return a shape and its strides, nested alike."""
    words = (vector_text(stride, named) for stride in strides)
    return f"{spell(shape)} : {_nested(shape, words, ', ')}"


def vector_text(vector: Vector, named: bool = True) -> str:
    """Return a vector as a stride: `0`, `4@laneid`, `1@x + 1@y`."""
    if not vector.terms:
        return "0"
    (axis, steps), *rest = vector.terms
    if type(steps) is int:
        first = term_text(axis.name, steps, named)
        return first + _more(rest, named) if rest else first
    sum_text = _more(vector.terms, named)
    return "-" + sum_text.removeprefix(" - ") if sum_text[1] == "-" else sum_text.removeprefix(" + ")


def term_text(axis: str, steps: int | str, named: bool) -> str:
    """Return `4@laneid`; the axis of a bare number is `m`, except that a bare 0 names no axis."""
    return f"{steps}@{axis}" if named or steps == 0 else str(steps)
