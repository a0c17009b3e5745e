"""Fills of places that no element takes: a number, as the bytes of an element."""

from __future__ import annotations

import struct
from cmath import isfinite, isnan
from math import copysign

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.integers import counted, number_text
from tilewise.moves.types import says_a_width, type_of_arrays

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PACKED = {"f64": "<d", "f32": "<f", "xf32": "<f", "f16": "<e"}
"""Floats that the standard library packs. The CPU model knows the bits of the others, and needs NumPy."""


def element_of(fill: Any, dtype: DType) -> bytes:
    """Return the bytes of an element of that value; for elements of less than a byte, a byte full of them.

    Bytes are returned unchanged; an element of less than a byte is in the lowest bits. For 0 no bit is set,
    in every type. Numbers are rounded to the nearest float; a value that the type does not hold is refused.

    >>> element_of(-1, DType.of("s16")), element_of(1.5, DType.of("bf16")), element_of(3, DType.of("u4"))
    (b'\xff\xff', b'\xc0?', b'3')
    >>> element_of(0.5, DType.of("e4m3")), element_of(-6, DType.of("e2m1"))
    (b'0', b'\xff')
    >>> element_of(256, DType.of("u8"))
    Traceback (most recent call last):
    tilewise.LayoutError: TW705: the fill 256 is no u8
      hint: a whole number from 0 to 255
    """
    size = max(1, dtype.bits // 8)
    if isinstance(fill, bytes | bytearray):
        if len(fill) != size:
            raise LayoutError(
                "TW705",
                f"the fill has {counted(len(fill), 'byte')}, an element of {dtype} has {size}",
                hint="one element, as its bytes lie in memory",
            )
        return bytes(fill) if dtype.bits >= 8 else _alone(fill[0], dtype)
    if is_no_bit(fill):
        return bytes(size)
    if dtype.name in _PACKED:
        return _float(fill, dtype.name, _PACKED[dtype.name])
    if says_a_width(dtype):
        return _integer(fill, dtype)
    return packed(_rounded(fill, dtype), dtype)


def _alone(byte: int, dtype: DType) -> bytes:
    """Return the bytes of an element of less than a byte that is alone in a byte, or fills it already."""
    full = packed(byte & (1 << dtype.bits) - 1, dtype)
    if byte >> dtype.bits and byte != full[0]:
        raise LayoutError(
            "TW705",
            f"the fill {byte:#04x} is two elements of {dtype} that differ",
            hint="one element fills all: its bits are the lowest of the byte",
        )
    return full


def given_fill(fill: Any, dtype: Any, kind: DType) -> bytes:
    """Return the bytes of a fill of elements that move as `kind`, where the caller gave `dtype`.

    For a dtype of an array library, the library converts the fill.

    >>> import numpy as np
    >>> given_fill(1, np.dtype(">f4"), DType.of("b32")), given_fill(1, "b32", DType.of("b32"))
    (b'?\\x80\\x00\\x00', b'\\x01\\x00\\x00\\x00')
    """
    own = type_of_arrays(dtype)
    if own is None:
        return element_of(fill, kind)
    from tilewise.moves.arrays.storage import element_of_type  # NumPy is there, as the type is

    return element_of_type(fill, own)


def packed(code: int, dtype: DType) -> bytes:
    """Return the bytes of an element with those bits; for elements of less than a byte, a byte full of them.

    >>> packed(0x3F80, DType.of("bf16")), packed(0xA, DType.of("e2m1"))
    (b'\x80?', b'\xaa')
    """
    if not 0 <= code < 1 << dtype.bits:
        raise LayoutError(
            "TW705", f"the fill {code:#x} is no {dtype}", hint=f"bits from 0 to {(1 << dtype.bits) - 1:#x}"
        )
    if dtype.bits >= 8:
        return code.to_bytes(dtype.bits // 8, "little")
    together = 8 // dtype.bits
    return bytes([sum(code << each * dtype.bits for each in range(together))])


def spelled(element: bytes, dtype: DType) -> str:
    """Return an element as text: signed numbers and floats of C as numbers, all others as bits.

    >>> spelled(b"3", DType.of("u4")), spelled(b"?", DType.of("s8")), spelled(bytes(2), DType.of("b16"))
    ('0x3', '63', '0')
    """
    if not any(element):
        return "0"
    if dtype.name in _PACKED:
        form = _PACKED[dtype.name]
        (number,) = struct.unpack(form, element)
        if struct.pack(form, number) == element and not isnan(number):
            return repr(number)
    code = int.from_bytes(element, "little") & ((1 << dtype.bits) - 1)
    if dtype.name[0] == "s":
        return str(code - (code >> (dtype.bits - 1) << dtype.bits))
    return f"0x{code:0{dtype.bits // 4}x}"


def is_no_bit(fill: Any) -> bool:
    """Return True if a fill sets no bit, in any type: 0, but not -0.0.

    >>> is_no_bit(0), is_no_bit(-0.0), is_no_bit("")
    (True, False, False)
    """
    return isinstance(fill, int | float) and fill == 0 and copysign(1, fill) > 0


def kept(fill: Any, made: Any) -> bool:
    """Return True if a type has the value: floats may be rounded, but stay finite; all others are equal.

    >>> kept(0.1, 0.09997558593750), kept(1e6, float("inf")), kept(float("inf"), 448.0)
    (True, False, False)
    """
    if isinstance(made, int) or not _is_number(made):
        return bool(made == fill)
    return _is_number(fill) and isfinite(made) == isfinite(fill) and isnan(made) == isnan(fill)


def _is_number(value: Any) -> bool:
    return hasattr(value, "__float__") or isinstance(value, complex)


def no_element(fill: Any, name: str, hint: str = "") -> LayoutError:
    """Return the error for a fill that its type does not hold."""
    hint = hint or "a value that the type holds, or the bytes of one element"
    shown = number_text(fill) if type(fill) is int else repr(fill)
    return LayoutError("TW705", f"the fill {shown} is no {name}", hint=hint)


def _float(fill: Any, name: str, form: str) -> bytes:
    try:
        return struct.pack(form, fill)
    except (OverflowError, struct.error) as error:
        raise no_element(fill, name) from error


def _rounded(fill: Any, dtype: DType) -> int:
    """Return the bits of the nearest number of a float type."""
    from tilewise.simulate.numbers import FLOATS, decode, encode, is_float

    if not is_float(dtype):
        raise LayoutError(
            "TW705",
            f"the fill {fill!r} is not known as {dtype}",
            hint="give its bits: the bytes of one element",
        )
    (number,) = struct.unpack("<d", _float(fill, dtype.name, "<d"))
    try:
        code = int(encode(number, dtype))
    except LayoutError as error:
        raise no_element(fill, dtype.name, error.hint) from None
    made, own = float(decode(code, dtype)), FLOATS.get(dtype.name)
    too_large = own is not None and own.special == "none" and abs(number) > own.largest
    if (
        not kept(number, made)
        or (not isnan(number) and copysign(1, number) != copysign(1, made))
        or too_large
    ):
        raise no_element(fill, dtype.name)
    return code


def _integer(fill: Any, dtype: DType) -> bytes:
    low = -(1 << (dtype.bits - 1)) if dtype.name[0] == "s" else 0
    high = low + (1 << dtype.bits) - 1
    try:
        value = int(fill)
        is_held = bool(value == fill) and low <= value <= high
    except (TypeError, ValueError, OverflowError):
        is_held = False
    if not is_held:
        raise no_element(fill, dtype.name, f"a whole number from {low} to {high}")
    return packed(value % (1 << dtype.bits), dtype)
