"""Types of elements by the names that MLIR, C++ and CUTLASS have for them."""

from __future__ import annotations

import re

from tilewise.core.dtypes import DType

_WORDS = {
    "f64": "f64 double",
    "f32": "f32 float",
    "tf32": "tf32 tfloat32_t",
    "f16": "f16 half_t __half half",
    "bf16": "bf16 bfloat16_t __nv_bfloat16",
    "e4m3": "f8E4M3FN float_e4m3_t",
    "e5m2": "f8E5M2 float_e5m2_t",
    "ue4m3": "float_ue4m3_t",
    "ue8m0": "f8E8M0FNU float_ue8m0_t",
    "e2m3": "f6E2M3FN float_e2m3_t",
    "e3m2": "f6E3M2FN float_e3m2_t",
    "e2m1": "f4E2M1FN float_e2m1_t",
    "b128": "i128",
    "b64": "i64",
    "b32": "i32",
    "b16": "i16",
    "b8": "i8",
    "s4": "i4 int4b_t",
    "s8": "char signed-char int8_t",
    "s16": "short int16_t",
    "s32": "int int32_t",
    "s64": "long long-long int64_t",
    "u4": "uint4b_t",
    "u8": "unsigned-char uint8_t",
    "u16": "unsigned-short uint16_t",
    "u32": "unsigned-int unsigned uint32_t",
    "u64": "unsigned-long unsigned-long-long uint64_t",
}
"""{our name: MLIR's, which the DSL prints, then those of C++ and CUTLASS without their namespaces}.

i8 stands for Int8 and for Uint8 alike, so it is 8 bits of any kind.
"""
_OURS = {word.replace("-", " "): ours for ours, words in _WORDS.items() for word in words.split()}


def element_of(word: str) -> DType | None:
    """Return the type of that name, or None.

    >>> element_of("f8E4M3FN"), element_of("half_t"), element_of("i1")
    (e4m3, f16, None)
    """
    return DType.of(_OURS[word]) if word in _OURS else None


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
