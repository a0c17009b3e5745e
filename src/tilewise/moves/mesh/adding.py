"""Rows of bytes, combined as numbers: by torch where they are torch's, else by NumPy."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.simulate.numbers import decode, encode, is_float

OPS = ("sum", "avg", "max", "min", "product")
"""Operations that combine parts, by the names that torch has for them."""
NARROW = ("f16", "bf16", "e4m3", "e5m2")
"""Types whose numbers are added as f32, and rounded once."""
WHOLE = {"s8": "int8", "s16": "int16", "s32": "int32", "s64": "int64", "u8": "uint8"}
REAL = {"f64": "float64", "f32": "float32", "tf32": "float32", "xf32": "float32", "f16": "float16"}
UNSIGNED = {"u16": "int16", "u32": "int32", "u64": "int64"}
"""Types that torch does not add, by those whose sums have the same bits."""
TORCHS = WHOLE | REAL | UNSIGNED
TORCHS |= {"bf16": "bfloat16", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}


def check_sum(op: str, dtype: DType) -> None:
    """Refuse a type whose elements an operation does not combine.

    >>> check_sum("avg", DType.of("s32"))
    Traceback (most recent call last):
    tilewise.LayoutError: TW105: an average of s32 is no s32
      hint: sum, max, min or product
    """
    if dtype.name not in TORCHS:
        known = " ".join(TORCHS)
        raise LayoutError("TW105", f"elements of {dtype} are not added", hint=f"types of numbers: {known}")
    if op == "avg" and not is_float(dtype):
        raise LayoutError("TW105", f"an average of {dtype} is no {dtype}", hint="sum, max, min or product")


def combined(rows: Sequence[Any], dtype: DType, op: str, divisor: int = 1) -> Any:
    """Return a row of bytes with the elements of all rows combined, in the order of the rows.

    >>> ones = np.ones(2, np.float16).view(np.uint8)
    >>> combined([ones, ones, ones], DType.of("f16"), "sum").view(np.float16)
    array([3., 3.], dtype=float16)
    """
    if len(rows) == 1 and divisor == 1:
        return rows[0]
    return (_by_numpy if isinstance(rows[0], np.ndarray) else _by_torch)(rows, dtype, op, divisor)


def _by_numpy(rows: Sequence[Any], dtype: DType, op: str, divisor: int) -> Any:
    combine: Any = {"max": np.maximum, "min": np.minimum, "product": np.multiply}.get(op, np.add)
    name = REAL.get(dtype.name) or WHOLE.get(dtype.name) or dtype.name.replace("u", "uint")
    if dtype.name in NARROW:
        code = f"u{dtype.bits // 8}"
        numbers = [decode(row.view(code), dtype).astype(np.float32) for row in rows]
        found = encode(reduce(combine, numbers) / divisor, dtype).astype(code)
    else:
        found = reduce(combine, [row.view(name) for row in rows])
        found = (found / divisor).astype(found.dtype) if divisor > 1 else found
    return found.view(np.uint8)


def _by_torch(rows: Sequence[Any], dtype: DType, op: str, divisor: int) -> Any:
    torch: Any = sys.modules["torch"]
    kind = getattr(torch, TORCHS[dtype.name])
    wide = torch.float32 if dtype.name in NARROW else kind
    turned = dtype.name in UNSIGNED and op in ("max", "min")  # signed words in the order of unsigned ones
    total = rows[0].view(kind).to(wide, copy=True)
    if turned:
        total ^= torch.iinfo(kind).min
    combine = {"max": torch.maximum, "min": torch.minimum, "product": torch.mul}.get(op, torch.add)
    for row in rows[1:]:
        part = row.view(kind).to(wide)
        combine(total, part ^ torch.iinfo(kind).min if turned else part, out=total)
    if turned:
        total ^= torch.iinfo(kind).min
    if divisor > 1:
        total /= divisor
    return total.to(kind).view(torch.uint8)
