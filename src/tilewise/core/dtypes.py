"""Element types: a name and a width in bits. Layouts never interpret the bits."""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.errors import LayoutError


@dataclass(frozen=True, slots=True)
class DType:
    """An element type as layouts see it.

    >>> DType.of("bf16"), DType.of("float16").bits
    (bf16, 16)
    """

    name: str
    bits: int

    @classmethod
    def of(cls, value: DType | str) -> DType:
        """Return the dtype of that name, or of a usual alias of it."""
        if isinstance(value, DType):
            return value
        is_numpys = hasattr(value, "itemsize")  # np.float32 is a class, and str of it no name
        found = known_type(str(getattr(value, "__name__", value) if is_numpys else value))
        if found is None:
            raise LayoutError("TW105", f"unknown dtype {value!r}", hint=_suggestion(value))
        return found

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name


DTYPES = {
    name: DType(name, bits)
    for bits, names in {
        128: "b128",
        64: "f64 s64 u64 b64",
        32: "f32 tf32 xf32 s32 u32 b32",
        16: "f16 bf16 s16 u16 b16",
        8: "e4m3 e5m2 e4m3fnuz e5m2fnuz ue4m3 ue8m0 s8 u8 b8",
        6: "e2m3 e3m2",
        4: "e2m1 s4 u4",
        1: "b1",
    }.items()
    for name in names.split()
}
"""Every dtype by name. tf32, and AMD's xf32, occupy 32 bits in memory and in registers; b32 is 32 bits of any
kind. e4m3 and e5m2 are OCP's; e4m3fnuz and e5m2fnuz are AMD's of CDNA3, whose bits mean other numbers."""

_ALIASES = {
    "float64": "f64",
    "double": "f64",
    "fp64": "f64",
    "float32": "f32",
    "float": "f32",
    "fp32": "f32",
    "float16": "f16",
    "half": "f16",
    "fp16": "f16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "e4m3",
    "e4m3fn": "e4m3",
    "fp8_e4m3": "e4m3",
    "float8_e5m2": "e5m2",
    "fp8_e5m2": "e5m2",
    "float8_e4m3fnuz": "e4m3fnuz",
    "float8_e5m2fnuz": "e5m2fnuz",
    "float8_e8m0fnu": "ue8m0",
    "e8m0": "ue8m0",
    "int64": "s64",
    "i64": "s64",
    "int32": "s32",
    "i32": "s32",
    "int16": "s16",
    "i16": "s16",
    "int8": "s8",
    "i8": "s8",
    "uint64": "u64",
    "uint32": "u32",
    "uint16": "u16",
    "uint8": "u8",
    "int4": "s4",
    "i4": "s4",
    "uint4": "u4",
}


def known_type(name: str) -> DType | None:
    """Return the dtype of that name, or of a usual alias of it, or None.

    >>> known_type("torch.half"), known_type("bool")
    (f16, None)
    """
    name = name.lower().removeprefix("torch.")
    return DTYPES.get(_ALIASES.get(name, name))


_SEVERAL = {"fp8": "e4m3 or e5m2", "float8": "e4m3 or e5m2", "fp6": "e2m3 or e3m2", "fp4": "e2m1"}
"""Ambiguous names of types, and the types that they may mean."""


_AS_BITS = {"bool": "b8", "complex32": "b32", "complex64": "b64", "complex128": "b128"}
"""Types of arrays that have no dtype here, and the bits that stand for them."""


def _suggestion(value: object) -> str:
    name = str(getattr(value, "__name__", value)).lower().removeprefix("torch.")
    if name in _AS_BITS:
        return f"{name} is {_AS_BITS[name]}, as layouts see it: bits"
    name = str(value)
    if name.lower() in _SEVERAL:
        return f"{name} is {_SEVERAL[name.lower()]}"
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), [*DTYPES, *_ALIASES], n=1)
    return (f"did you mean {near[0]}? " if near else "") + "known: " + " ".join(DTYPES)
