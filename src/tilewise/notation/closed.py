"""The layout of a formula: by all its values where they can be listed, in closed form where they cannot.

A closed form is built from the coordinates upwards. Each part of the formula is a layout as long as the
operation has an exact one: sums over common digits, multiples, `//` and `%` as compositions. Operations on
bits are XORs of columns (`gf2`), where all extents are powers of two; so are sums whose operands share no
bit. Every step is exact, so the result is proven without a list; where a step has no exact result, there is
no closed form.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_

from tilewise.core.algebra.composition import compose
from tilewise.core.algebra.modes import refinement, reshape
from tilewise.core.algebra.recognition import recognise, recognise_map
from tilewise.core.axes import Axis, m
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.gf2 import AffineMap, affine_map
from tilewise.core.layout import Layout
from tilewise.core.shapes import Shape, extents_of
from tilewise.core.vectors import along
from tilewise.notation.formulas import Formula

Form = Layout | AffineMap

MAX_SHIFT = 64
"""No form of 64 bits is shifted further."""


class NoForm(Exception):
    """A part of a formula has no exact closed form here."""


def layout_of(formula: Formula[Axis], shape: Shape) -> Layout:
    """Return the layout that a formula is on a shape, or refuse.

    >>> from tilewise.notation.formulas import read_lambda
    >>> layout_of(read_lambda("lambda i, j: i * 4096 + (j ^ i % 8 * 8)", {}), (1 << 20, 4096))
    Swizzle(3, 3, 9) @ S[(1048576, 4096) : (4096, 1)]
    """
    extents = extents_of(shape)
    try:
        columns = formula.listed(extents)
    except LayoutError as error:
        if error.code != "TW301":
            raise
        try:
            return closed(formula, shape)
        except NoForm:
            raise error from None
    return recognise(columns, shape=shape)


def closed(formula: Formula[Axis], shape: Shape) -> Layout:
    """Return the layout of a formula without asking its elements; NoForm where that cannot be done."""
    extents = extents_of(shape)
    forms = {axis: _form(value.node, extents) for axis, value in formula.checked(extents).items()}
    if all(isinstance(form, Layout) for form in forms.values()):
        parts = [_on(axis, form) for axis, form in forms.items() if isinstance(form, Layout)]
        return _in_shape(reduce(_added, parts), shape)
    maps = [_as_xors(form) for form in forms.values()]
    columns = zip(*(part.columns for part in maps), strict=True)
    origin = tuple(part.origin[0] for part in maps)
    flips = tuple(tuple(place for (place,) in column) for column in columns)
    return _in_shape(recognise_map(AffineMap(origin, flips, tuple(forms))), shape)


def _in_shape(layout: Layout, shape: Shape) -> Layout:
    try:
        return reshape(layout, shape)
    except Refused as no:
        raise NoForm from no


# -- parts of a formula ----------------------------------------------------------------------------


def _form(node: ast.expr, shape: Sequence[int]) -> Form:
    """Return the closed form of a checked expression, whose coordinates are `_0`, `_1` and so on."""
    match node:
        case ast.Constant(value=int(number)):
            return _constant(number, shape)
        case ast.Name(id=name):
            steps = [0] * len(shape)
            steps[int(name[1:])] = 1
            return Layout(tuple(shape), tuple(along(m, step) for step in steps))
        case ast.UnaryOp(ast.USub(), operand):
            return _times(_form(operand, shape), -1)
        case ast.UnaryOp(ast.Invert(), operand):
            return _sum(_times(_form(operand, shape), -1), _constant(-1, shape))
        case ast.BinOp(left, op, right):
            one, other = _form(left, shape), _form(right, shape)
            operation = _OPERATIONS.get(type(op))
            if operation is not None:
                return operation(one, other)
    raise NoForm


def _constant(number: int, shape: Sequence[int]) -> Layout:
    return Layout(tuple(shape), (along(m, 0),) * len(shape), offset=along(m, number))


def _number(form: Form) -> int:
    """Return the number that a form is everywhere; NoForm for others."""
    if isinstance(form, AffineMap) or any(stride.nonzero.terms for stride in form.strides):
        raise NoForm
    return form.offset["m"]


def _is_number(form: Form) -> bool:
    try:
        _number(form)
    except NoForm:
        return False
    return True


def _on(axis: Axis, layout: Layout) -> Layout:
    """Return a layout on `m` as one on another axis."""
    strides = tuple(along(axis, stride["m"]) for stride in layout.strides)
    return Layout(layout.shape, strides, offset=along(axis, layout.offset["m"]))


# -- sums and multiples ----------------------------------------------------------------------------


def _sum(one: Form, other: Form) -> Form:
    if isinstance(one, Layout) and isinstance(other, Layout):
        return _added(one, other)
    return _disjoint(one, other)


def _added(one: Layout, other: Layout) -> Layout:
    """Return the sum of two layouts, over the digits of both."""
    try:
        a, b = refinement(one, other)
    except Refused as no:
        raise NoForm from no
    strides = tuple(s + t for s, t in zip(a.strides, b.strides, strict=True))
    return Layout(a.shape, strides, offset=one.offset + other.offset)


def _difference(one: Form, other: Form) -> Form:
    return _sum(one, _times(other, -1))


def _product(one: Form, other: Form) -> Form:
    return _times(other, _number(one)) if _is_number(one) else _times(one, _number(other))


def _times(form: Form, factor: int) -> Form:
    if isinstance(form, Layout):
        strides = tuple(stride * factor for stride in form.strides)
        return Layout(form.shape, strides, offset=form.offset * factor)
    if factor < 1 or factor & factor - 1:
        raise NoForm
    return _each(form, lambda place: place * factor)


def _quotient(one: Form, other: Form) -> Form:
    return _part(one, _number(other), 1, 0)


def _remainder(one: Form, other: Form) -> Form:
    return _part(one, _number(other), 0, 1)


def _part(form: Form, divisor: int, high: int, low: int) -> Form:
    """Return the quotient, or the remainder, of a form that is never below 0."""
    if divisor < 1:
        raise NoForm
    if isinstance(form, AffineMap):
        if divisor & divisor - 1:
            raise NoForm
        bits = divisor.bit_length() - 1
        return _each(form, (lambda place: place >> bits) if high else (lambda place: place & divisor - 1))
    steps = [(extent - 1) * stride["m"] for extent, stride in form.digits]
    most = form.offset["m"] + sum(step for step in steps if step > 0)
    parts = Layout((most // divisor + 1, divisor), (along(m, high), along(m, low)))
    try:
        return compose(parts, form)
    except LayoutError:
        if all(extent & extent - 1 == 0 for extent, _ in form.digits) and divisor & divisor - 1 == 0:
            return _part(_as_xors(form), divisor, high, low)
        raise NoForm from None


# -- bits ------------------------------------------------------------------------------------------


def _as_xors(form: Form) -> AffineMap:
    if isinstance(form, AffineMap):
        return form
    found = affine_map(form)
    if found is None:
        raise NoForm
    return found


def _each(form: AffineMap, change: Callable[[int], int]) -> AffineMap:
    """Return a map with its places changed in a way that XORs pass through."""
    columns = tuple((change(place),) for (place,) in form.columns)
    return AffineMap((change(form.origin[0]),), columns)


def _xor(one: Form, other: Form) -> Form:
    a, b = _as_xors(one), _as_xors(other)
    columns = tuple((p ^ q,) for (p,), (q,) in zip(a.columns, b.columns, strict=True))
    return AffineMap((a.origin[0] ^ b.origin[0],), columns)


def _disjoint(one: Form, other: Form) -> Form:
    """Return the sum of two forms that share no bit, which is their XOR and their OR."""
    a, b = _as_xors(one), _as_xors(other)
    if _bits(a) & _bits(b):
        raise NoForm
    return _xor(a, b)


def _bits(form: AffineMap) -> int:
    return reduce(or_, (place for (place,) in form.columns), form.origin[0])


def _and(one: Form, other: Form) -> Form:
    form, mask = (other, _number(one)) if _is_number(one) else (one, _number(other))
    if mask >= 0 and mask & mask + 1 == 0:
        return _part(form, mask + 1, 0, 1)
    return _each(_as_xors(form), lambda place: place & mask)


def _shifted_left(one: Form, other: Form) -> Form:
    return _times(one, 1 << _number(other))


def _shifted_right(one: Form, other: Form) -> Form:
    bits = _number(other)
    if bits > MAX_SHIFT:
        raise NoForm
    return _part(one, 1 << bits, 1, 0)


_OPERATIONS: dict[type[ast.operator], Callable[[Form, Form], Form]] = {
    ast.Add: _sum,
    ast.Sub: _difference,
    ast.Mult: _product,
    ast.FloorDiv: _quotient,
    ast.Mod: _remainder,
    ast.BitXor: _xor,
    ast.BitOr: _disjoint,
    ast.BitAnd: _and,
    ast.LShift: _shifted_left,
    ast.RShift: _shifted_right,
}
