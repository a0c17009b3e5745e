"""CuTe's names of the types of elements: those that the DSL prints, and those of C++."""

from __future__ import annotations

import re

from tilewise.core.dtypes import DType

_PRINTED = {
    **{name: name for name in ("f64", "f32", "tf32", "f16", "bf16")},
    "f8E4M3FN": "e4m3",
    "f8E5M2": "e5m2",
    "f8E8M0FNU": "ue8m0",
    "f6E2M3FN": "e2m3",
    "f6E3M2FN": "e3m2",
    "f4E2M1FN": "e2m1",
    "i128": "b128",
    "i64": "b64",
    "i32": "b32",
    "i16": "b16",
    "i8": "b8",
    "i4": "s4",
}
"""The DSL prints MLIR's types. i8 stands for Int8 and for Uint8 alike, so it is 8 bits of any kind."""

_WRITTEN = {
    "double": "f64",
    "float": "f32",
    "tfloat32_t": "tf32",
    "half_t": "f16",
    "__half": "f16",
    "half": "f16",
    "bfloat16_t": "bf16",
    "__nv_bfloat16": "bf16",
    "float_e4m3_t": "e4m3",
    "float_e5m2_t": "e5m2",
    "float_ue4m3_t": "ue4m3",
    "float_ue8m0_t": "ue8m0",
    "float_e2m3_t": "e2m3",
    "float_e3m2_t": "e3m2",
    "float_e2m1_t": "e2m1",
    "char": "s8",
    "signed char": "s8",
    "int8_t": "s8",
    "unsigned char": "u8",
    "uint8_t": "u8",
    "short": "s16",
    "int16_t": "s16",
    "unsigned short": "u16",
    "uint16_t": "u16",
    "int": "s32",
    "int32_t": "s32",
    "unsigned int": "u32",
    "unsigned": "u32",
    "uint32_t": "u32",
    "long": "s64",
    "long long": "s64",
    "int64_t": "s64",
    "unsigned long": "u64",
    "unsigned long long": "u64",
    "uint64_t": "u64",
    "int4b_t": "s4",
    "uint4b_t": "u4",
}
"""Those of C++ and of CUTLASS, without their namespaces."""


def element_of(word: str) -> DType | None:
    """Return the type of that name, or None.

    >>> element_of("f8E4M3FN"), element_of("half_t"), element_of("i1")
    (e4m3, f16, None)
    """
    spelled = _PRINTED.get(word) or _WRITTEN.get(word)
    return None if spelled is None else DType.of(spelled)


def bits_of(word: str) -> int | None:
    """Return the bits of an element in memory, or None where the name does not tell them, as that of a bool.

    >>> bits_of("bf16"), bits_of("f8E4M3B11FNUZ"), bits_of("i1"), bits_of("what")
    (16, 8, None, None)
    """
    found = element_of(word)
    if found is not None:
        return found.bits
    spelled = re.fullmatch(r"[fi](\d{1,3})(?:E\d+M\d+\w*)?", word)
    return int(spelled[1]) if spelled and int(spelled[1]) > 1 else None
