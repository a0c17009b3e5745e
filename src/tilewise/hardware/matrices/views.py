"""What a lane gets of elements that are not as wide as those that the instruction speaks of.

ldmatrix moves bytes: eight rows of 16 bytes are eight rows of 16 elements of 8 bits as well, or of four of
32 bits. Only what is turned, or unpacked, is turned or unpacked in elements of the instruction's own width.
"""

from __future__ import annotations

from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.core.layout import Layout
from tilewise.core.vectors import Vector
from tilewise.hardware.limits import REGISTER_BITS
from tilewise.hardware.matrices.forms import LANE, REG, THREADS, Form
from tilewise.hardware.matrices.kinds import ROW_BYTES


def seen_as(form: Form, dtype: DType | str) -> Layout:
    """Who holds element c of row r of matrix j, [j, r, c], where memory holds elements of that type.

    requires       an element is in one register of one lane
    postcondition  reg counts elements of the type: 32-bit register reg * bits // 32

    >>> print(seen_as(Form("ldmatrix", 1), "e4m3"))
    S[(1, 8, (4, 4)) : (4@reg, 4@laneid, (1@laneid, 1@reg))]
    >>> print(seen_as(Form("ldmatrix", 1), "tf32"))
    S[(1, 8, 4) : (1@reg, 4@laneid, 1@laneid)]
    >>> print(seen_as(Form("ldmatrix", 1, trans=True), "e4m3"))
    S[(1, (4, 2), (8, 2)) : (4@reg, (1@laneid, 2@reg), (4@laneid, 1@reg))]
    """
    element = DType.of(dtype)
    if form.kind.stored != form.bits:
        return _unpacked(form, element)
    return _turned(form, element) if form.trans else _in_rows(form, element)


def _unpacked(form: Form, element: DType) -> Layout:
    """A form that unpacks has elements of one width, each in a byte of its own."""
    if element.bits != form.kind.stored:
        raise Refused(
            "TW602",
            f"{form} unpacks elements of {form.kind.stored} bits, and {element} has {element.bits}",
            witness={"dtype": element.name, "bits": element.bits},
            hint=f"memory holds {form.columns} elements of {form.kind.stored} bits in a row",
        )
    return form.layout


def _in_rows(form: Form, element: DType) -> Layout:
    """Four lanes share a row, 32 bits each."""
    each, left = divmod(ROW_BYTES * 8 // THREADS, element.bits)
    if left and each:
        raise _uneven(form, element)
    if not each:
        raise _torn(form, element, 1)
    columns, steps = ((THREADS, each), (1 @ LANE, 1 @ REG)) if each > 1 else (THREADS, (1 @ LANE,))
    return Layout((form.count, form.rows, columns), (each @ REG, 4 @ LANE, *steps))


def _turned(form: Form, element: DType) -> Layout:
    """What is turned stays whole: elements side by side inside it are side by side in the lane as well."""
    inside, left = divmod(form.bits, element.bits)
    if left and inside:
        raise _uneven(form, element)
    if not inside:
        raise _torn(form, element, 4)
    if inside == 1:
        return form.layout
    matrices, rows, columns = form.layout.shape
    digits = columns if isinstance(columns, tuple) else (columns,)
    strides = [_times(stride, inside) for stride in form.layout.strides]
    return Layout((matrices, rows, (*digits, inside)), (*strides, 1 @ REG))


def _uneven(form: Form, element: DType) -> Refused:
    return Refused(
        "TW602",
        f"elements of {element.bits} bits do not fill the {form.bits} bits that {form} moves together",
        witness={"dtype": element.name, "bits": element.bits},
        hint="ldmatrix m8n16 and m16n16 unpack elements of 6 and 4 bits into a byte each",
    )


def _torn(form: Form, element: DType, step: int) -> Refused:
    """An element whose parts lie in two lanes, a step apart."""
    return Refused(
        "TW602",
        f"{form} gives an element of {element.bits} bits to more than one lane",
        witness={"element": [0, 0, 0], "bits": element.bits, "lanes": [0, step]},
        hint=f"it moves {form.bits if form.trans else REGISTER_BITS} bits together at most",
    )


def _times(stride: Vector, factor: int) -> Vector:
    """The stride with its step of reg in smaller elements."""
    return Vector(tuple((axis, step * factor if axis == REG else step) for axis, step in stride.terms))
