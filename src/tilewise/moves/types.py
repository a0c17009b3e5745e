"""Types of elements as callers give them: by their names, or as libraries of arrays have them.

No library is imported: whoever has a type of a library has imported it.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import Any

from tilewise.core.dtypes import DType, known_type
from tilewise.core.errors import LayoutError
from tilewise.core.integers import counted

_NARROW = re.compile(r"(torch\.)?(u?int|float)[1-7](_[a-z0-9]+)?")
_PACKED = re.compile(r".*_x\d")
"""Names of types of less than a byte, and of those among them that pack several into a byte."""

_ABSTRACT = (
    *("generic", "number", "integer", "signedinteger", "unsignedinteger"),
    *("inexact", "floating", "complexfloating", "flexible", "character"),
)
"""Classes of NumPy that stand for several types together."""


def given_type(dtype: Any) -> DType:
    """Return the given type; refuse None.

    A dtype of NumPy or torch gives the type as which `move` takes elements of such arrays: the type of its
    name if that has the width of an element in memory, else the word of that width.

    >>> import numpy as np
    >>> given_type("bf16"), given_type(np.float32), given_type(np.dtype("bool")), given_type(np.dtype(">f4"))
    (bf16, f32, b8, b32)
    """
    if dtype is None:
        raise LayoutError("TW401", "the type of an element is not given", hint='such as dtype="bf16"')
    own = type_of_arrays(dtype)
    if own is None:
        if type_of_arrays(getattr(dtype, "dtype", None)) is not None:
            raise LayoutError(
                "TW105",
                f"a type belongs here, not the {type(dtype).__name__}",
                hint="its elements' type is x.dtype",
            )
        return DType.of(dtype)
    refuse_objects(own)
    known = known_type(str(own))
    return known if known is not None and known.bits == 8 * own.itemsize else words_of(own.itemsize)


def type_of_arrays(dtype: Any) -> Any:
    """Return a type of NumPy or torch arrays, or None for anything else.

    >>> import numpy as np
    >>> type_of_arrays(np.complex64), type_of_arrays("c8"), type_of_arrays(np.floating)
    (dtype('complex64'), None, None)
    """
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if torch is not None and isinstance(dtype, torch.dtype):
        return dtype
    if numpy is None:
        return None
    if isinstance(dtype, numpy.dtype):
        return dtype
    if not isinstance(dtype, type):
        return None
    if issubclass(dtype, numpy.generic):
        return None if dtype.__name__ in _ABSTRACT else numpy.dtype(dtype)
    own = getattr(dtype, "dtype", None)  # as JAX's classes have it
    return own if isinstance(own, numpy.dtype) else None


@lru_cache(maxsize=256)
def words_of(itemsize: int) -> DType:
    """Return the words as which elements of an array are moved; refuse other widths."""
    if itemsize not in (1, 2, 4, 8, 16):
        raise LayoutError(
            "TW704",
            f"elements of {counted(itemsize, 'byte')} are not moved",
            hint="view it as bytes or words",
        )
    return DType.of(f"b{8 * itemsize}")


def says_a_width(dtype: DType) -> bool:
    """Return True if a type is of whole numbers or of bits, which hold any type of their width.

    >>> [name for name in ("b16", "u16", "s32", "bf16", "ue8m0") if says_a_width(DType.of(name))]
    ['b16', 'u16', 's32']
    """
    return dtype.name[0] in "bsu" and dtype.name[1:].isdigit()


def refuse_objects(kind: Any) -> None:
    """Refuse a type of NumPy whose elements are references."""
    if getattr(kind, "hasobject", False):
        raise LayoutError("TW704", f"elements of type {kind} are not moved", hint="numbers or bytes are")


def refuse_apart(kind: Any, dtype: DType) -> None:
    """Refuse to read an array as packed elements if each of its elements has a byte.

    >>> refuse_apart("int4", DType.of("s4"))
    Traceback (most recent call last):
    tilewise.LayoutError: TW106: s4 have 4 bits, two to a byte, and the array's int4 have a byte each
      hint: pack them first: bytes = x.view(np.uint8) & 15, then bytes[0::2] | bytes[1::2] << 4
    >>> refuse_apart("torch.float4_e2m1fn_x2", DType.of("e2m1")), refuse_apart("int4", DType.of("u8"))
    (None, None)
    """
    name = str(kind)
    if dtype.bits < 8 and _NARROW.fullmatch(name) and not _PACKED.fullmatch(name):
        raise LayoutError(
            "TW106",
            f"{dtype} have {dtype.bits} bits, two to a byte, and the array's {name} have a byte each",
            hint="pack them first: bytes = x.view(np.uint8) & 15, then bytes[0::2] | bytes[1::2] << 4",
        )
