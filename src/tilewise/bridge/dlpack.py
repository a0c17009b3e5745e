"""The fields of a DLPack capsule's tensor, read without consuming the capsule.

The structures are those of dlpack.h: DLManagedTensor, and from version 1.0 on DLManagedTensorVersioned.
"""

from __future__ import annotations

from ctypes import (
    POINTER,
    Structure,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    cast,
    py_object,
    pythonapi,
)
from dataclasses import dataclass

from tilewise.core.errors import LayoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NEWEST_MAJOR = 1


class _Device(Structure):
    _fields_ = (("type", c_int32), ("id", c_int32))


class _DataType(Structure):
    _fields_ = (("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16))


class _Tensor(Structure):
    _fields_ = (
        ("data", c_void_p),
        ("device", _Device),
        ("rank", c_int32),
        ("dtype", _DataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )


class _Managed(Structure):
    _fields_ = (("tensor", _Tensor), ("context", c_void_p), ("deleter", c_void_p))


class _Versioned(Structure):
    _fields_ = (
        ("major", c_uint32),
        ("minor", c_uint32),
        ("context", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", _Tensor),
    )


_KINDS = {b"dltensor": _Managed, b"dltensor_versioned": _Versioned}

_is_valid = pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = c_int, (py_object, c_char_p)
_pointer = pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c_void_p, (py_object, c_char_p)


@dataclass(frozen=True, slots=True)
class Described:
    """A tensor as a capsule describes it: strides count elements, None stands for row-major ones."""

    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    bits: int
    data: int
    byte_offset: int


def described(array: Any) -> Described:
    """Return the fields of an array's DLPack capsule."""
    try:
        capsule = array.__dlpack__(max_version=(NEWEST_MAJOR, 0))
    except TypeError:  # from before versions
        capsule = array.__dlpack__()
    return read_capsule(capsule)


def read_capsule(capsule: Any) -> Described:
    """Return the fields of a capsule's tensor. The capsule is not consumed: its maker still frees it."""
    tensor = tensor_in(capsule)
    rank = tensor.rank
    return Described(
        tuple(tensor.shape[:rank]) if rank else (),
        tuple(tensor.strides[:rank]) if rank and tensor.strides else None if rank else (),
        tensor.dtype.bits * tensor.dtype.lanes,
        tensor.data or 0,
        tensor.byte_offset,
    )


def tensor_in(capsule: Any) -> Any:
    """Return the DLTensor itself, in the capsule's memory."""
    name = next((name for name in _KINDS if _is_valid(capsule, name)), None)
    if name is None:
        raise LayoutError(
            "TW511",
            f"{capsule!r} is no DLPack capsule that can still be read",
            hint="a capsule is consumed once; ask the array for a new one",
        )
    managed = cast(_pointer(capsule, name), POINTER(_KINDS[name])).contents
    if isinstance(managed, _Versioned) and managed.major > NEWEST_MAJOR:
        raise LayoutError(
            "TW511",
            f"a DLPack capsule of version {managed.major}.{managed.minor}",
            hint=f"versions up to {NEWEST_MAJOR} are read; __dlpack__(max_version=...) asks for one",
        )
    return managed.tensor
