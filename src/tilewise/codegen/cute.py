"""CuTe: the layout as a static C++ value, coordinates kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilewise.codegen.functions import Function, Index
from tilewise.codegen.numbers import NumberText
from tilewise.codegen.text import LARGEST_INT
from tilewise.core.algebra.inverses import left_inverse
from tilewise.core.algebra.modes import permute
from tilewise.core.axes import m
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.orders import turned
from tilewise.core.polynomials import is_named
from tilewise.core.shapes import Mode, leaves
from tilewise.core.vectors import Term, Vector
from tilewise.notation import to_cute

_HEAD = ("#include <cute/tensor.hpp>", "using namespace cute;", "")


def cute_source(function: Function) -> str:
    """Return a constant layout; a call of it is a call of the function.

    refused  TW008 where CuTe has no words for the layout: copies, an offset without a swizzle, ...
    """
    layout = _said_in_cute(function.layout, function.index, function.is_inverse)
    lines = [*_HEAD, *(f"// {line}" for line in function.comment)]
    return "\n".join([*lines, f"constexpr auto {function.name} = {_layout_text(layout)};"])


def dynamic_source(
    layout: Layout, name: str, index: Index, inverse: bool, names: Sequence[str], comment: Sequence[str]
) -> str:
    """Return a function of names whose result is the layout.

    refused  what `cute_source` refuses
    """
    text = _layout_text(_said_in_cute(layout, index, inverse)).replace("\n", "\n    ")
    given = ", ".join(f"int64_t {own}" for own in names)
    lines = [*_HEAD, *(f"// {line}" for line in comment)]
    lines += [f"CUTE_HOST_DEVICE constexpr auto {name}({given})", "{", f"    return {text};", "}"]
    return "\n".join(lines)


def _said_in_cute(layout: Layout, index: Index, is_inverse: bool) -> Layout:
    """Return the layout of which CuTe's function is the one asked for."""
    if is_inverse:
        layout = _inverse(layout, index)
    elif index.flat and not index.leftmost_fastest:  # CuTe's flat index runs from the left
        layout = turned(replace(layout, shape=tuple(leaves(layout.shape))))
    numbers = _in_numbers(layout)
    try:
        to_cute(numbers)
    except LayoutError as error:
        message = error.message.replace(str(numbers.offset), str(layout.offset))
        raise Refused(error.code, message, hint=error.hint) from None
    if {m} < {axis for stride in layout.strides for axis, _ in _moving(stride)}:
        raise Refused("TW008", "in CuTe strides are numbers or basis vectors, not both in one layout")
    return layout


def _inverse(layout: Layout, index: Index) -> Layout:
    if not index.flat:
        raise Refused(
            "TW008",
            "an inverse in CuTe gives one number, the flat index",
            hint="the coordinates follow from it; the other languages give them",
        )
    counted = index.counted(layout)
    made = left_inverse(counted)
    if len(layout.axes) == 1:
        return made
    return permute(made, [counted.axes.index(axis) for axis in layout.axes])  # a mode for each axis


def _layout_text(layout: Layout) -> str:
    layout = layout.in_order("cute")
    extents, steps = "Int<1>{}", "Int<0>{}"
    if layout.shape:
        extents = _nested("make_shape", layout.shape, map(_number, leaves(layout.shape)))
        steps = _nested("make_stride", layout.shape, map(_step, layout.strides))
    text = f"make_layout(\n    {extents},\n    {steps})"
    head, offset = "composition", f"{_number(layout.offset[m])}, " if layout.offset else ""
    for swizzle in reversed(layout.swizzles):
        name = f"Swizzle<{swizzle.bits}, {swizzle.base}, {swizzle.shift}>{{}}"
        text = f"{head}({name}, {offset}{text})"
        head, offset = "make_composed_layout", "Int<0>{}, "
    return text


def _nested(make: str, mode: Mode, words: Iterator[str]) -> str:
    if not isinstance(mode, tuple):
        return next(words)
    return f"{make}({', '.join(_nested(make, inner, words) for inner in mode)})"


def _moving(stride: Vector) -> list[Term]:
    """Return the terms of a stride that are not 0; a name may be 0, and stays."""
    return [(axis, steps) for axis, steps in stride.terms if is_named(steps) or steps]


def _in_numbers(layout: Layout) -> Layout:
    """Return a layout of the same form, without names: CuTe has words for both, or for neither."""
    return layout.with_numbers(lambda number: 3 if is_named(number) else number)


def _number(number: int) -> str:
    if is_named(number):
        return NumberText("/", rounds_up=False).sum(number)
    return f"Int<{number}>{{}}" if abs(number) <= LARGEST_INT else f"C<{number}ll>{{}}"


def _step(stride: Vector) -> str:
    moving = _moving(stride)
    if not moving:
        return _number(0)
    ((axis, steps),) = moving
    if axis == m:
        return _number(steps)
    basis = f"E<{axis.name[1:]}>{{}}"  # `to_cute` has seen that it is e0, e1, ...
    if is_named(steps):
        return f"{NumberText('/', rounds_up=False).number(steps)} * {basis}"
    return basis if steps == 1 else f"{_number(steps)} * {basis}"
