"""What fills the places that no element takes: a number, as the bytes of an element."""

from __future__ import annotations

import struct
from math import isfinite

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FLOATS = {"f64": "<d", "f32": "<f", "tf32": "<f", "xf32": "<f", "f16": "<e"}


def element_of(fill: Any, dtype: DType) -> bytes:
    """The bytes of an element of that value; for elements of less than a byte, a byte full of them.

    Bytes are taken as they are. Numbers are refused where the type does not hold them.

    >>> element_of(-1, DType.of("s16")), element_of(1.5, DType.of("bf16")), element_of(3, DType.of("u4"))
    (b'\\xff\\xff', b'\\xc0?', b'3')
    >>> element_of(256, DType.of("u8"))
    Traceback (most recent call last):
    tilewise.LayoutError: TW705: the fill 256 is no u8
      hint: from 0 to 255
    """
    size = max(1, dtype.bits // 8)
    if isinstance(fill, bytes | bytearray):
        if len(fill) != size:
            raise LayoutError(
                "TW705",
                f"the fill has {len(fill)} bytes, an element of {dtype} has {size}",
                hint="one element, as its bytes lie in memory",
            )
        return bytes(fill)
    if dtype.name in _FLOATS:
        return _float(fill, dtype.name, _FLOATS[dtype.name])
    if dtype.name == "bf16":
        return _bfloat16(fill)
    if dtype.name[0] in "sub" and dtype.name[1:].isdigit():
        return _integer(fill, dtype)
    if fill == 0:
        return bytes(size)
    raise LayoutError(
        "TW705", f"the fill {fill!r} is not known as {dtype}", hint="give its bits: the bytes of one element"
    )


def kept(fill: Any, made: Any) -> bool:
    """Whether a type has the value: integers as they are, other numbers rounded, but finite ones finite."""
    if isinstance(made, int):
        return bool(made == fill)
    return isfinite(abs(made)) or not isfinite(abs(fill))


def no_element(fill: Any, name: str, hint: str = "") -> LayoutError:
    """The error of a fill that its type does not hold."""
    hint = hint or "a number that the type holds, or the bytes of one element"
    return LayoutError("TW705", f"the fill {fill!r} is no {name}", hint=hint)


def _float(fill: Any, name: str, form: str) -> bytes:
    try:
        return struct.pack(form, fill)
    except (OverflowError, struct.error) as error:
        raise no_element(fill, name) from error


def _bfloat16(fill: Any) -> bytes:
    """The upper half of the f32, rounded to even."""
    word = int.from_bytes(_float(fill, "bf16", "<f"), "little")
    if word & 0x7FFFFFFF > 0x7F800000:
        return (word >> 16 | 0x40).to_bytes(2, "little")
    rounded = word + 0x7FFF + (word >> 16 & 1)
    if rounded & 0x7F800000 == 0x7F800000 and isfinite(fill):
        raise no_element(fill, "bf16")
    return (rounded >> 16).to_bytes(2, "little")


def _integer(fill: Any, dtype: DType) -> bytes:
    low = -(1 << (dtype.bits - 1)) if dtype.name[0] == "s" else 0
    high = low + (1 << dtype.bits) - 1
    try:
        value = int(fill)
    except (TypeError, ValueError, OverflowError):
        value = low - 1
    if value != fill or not low <= value <= high:
        raise no_element(fill, dtype.name, f"from {low} to {high}")
    value %= 1 << dtype.bits
    if dtype.bits >= 8:
        return value.to_bytes(dtype.bits // 8, "little")
    return bytes([sum(value << shift for shift in range(0, 8, dtype.bits))])
