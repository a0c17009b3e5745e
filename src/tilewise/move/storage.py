"""Arrays of NumPy, torch and CuPy as what a move needs of them: where they are, of what, and how long.

No neighbour is imported: who has an array of a library has imported it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tilewise.bridge.strides import layout_of
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout

DEFAULT_ALIGNMENT = 256
"""Bytes; allocators of devices align to this or more."""

_WIDTHS = {1: "b8", 2: "b16", 4: "b32", 8: "b64", 16: "b128"}


@dataclass(frozen=True)
class Storage:
    """An array as one row of bytes from its first element on."""

    array: Any
    kind: str
    """`numpy`, `torch` or `cupy`."""
    device: int | None
    """The number of the GPU; None for the CPU."""
    pointer: int
    size: int
    """Bytes."""
    dtype: DType

    @property
    def aligned(self) -> int:
        """Bytes to which it is aligned, as far as a plan asks."""
        return min(DEFAULT_ALIGNMENT, self.pointer & -self.pointer or DEFAULT_ALIGNMENT)

    @property
    def elements(self) -> int:
        """How many elements there are from the first on."""
        return self.size * 8 // self.dtype.bits

    @cached_property
    def layout(self) -> Layout:
        """The array's own layout, from its first element."""
        return layout_of(self.array, self.array)

    @property
    def row(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The bytes of an array of NumPy's."""
        own = self.array
        start = own[(slice(0, 1),) * own.ndim].reshape(-1).view(np.uint8)
        return np.lib.stride_tricks.as_strided(start, (self.size,), (1,))

    def element(self, fill: float) -> bytes:
        """The bytes of an element of that value; for elements of less than a byte, a byte full of them."""
        if self.dtype.bits < 8:
            bits = self.dtype.bits
            value = int(fill) & ((1 << bits) - 1)
            return bytes([sum(value << shift for shift in range(0, 8, bits))])
        if self.kind == "torch":
            torch = sys.modules["torch"]
            return bytes(torch.full((1,), fill, dtype=self.array.dtype).view(torch.uint8).numpy())
        return np.full(1, fill, self.array.dtype).tobytes()

    def empty(self, elements: int) -> Any:
        """New storage of that many elements, of the same library, type and device."""
        count = -(-elements * self.dtype.bits // 8) // self.array.dtype.itemsize
        if self.kind == "torch":
            return sys.modules["torch"].empty(count, dtype=self.array.dtype, device=self.array.device)
        if self.kind == "cupy":
            return sys.modules["cupy"].empty(count, self.array.dtype)
        return np.empty(count, self.array.dtype)


def storage_of(array: Any, dtype: DType | str | None = None) -> Storage:
    """What an array is; `dtype` says what its bytes hold where its own type does not.

    >>> found = storage_of(np.zeros((4, 6), np.float32))
    >>> found.kind, found.device, found.dtype, found.elements
    ('numpy', None, b32, 24)
    >>> storage_of(np.zeros(8, np.uint8), "u4").elements
    16
    """
    library = type(array).__module__.partition(".")[0]
    if library == "torch":
        return _of_torch(array, dtype)
    if library == "cupy":
        return _of_cupy(array, dtype)
    if isinstance(array, np.ndarray):
        return _of_numpy(array, dtype)
    raise LayoutError(
        "TW704",
        f"{type(array).__name__} is no array that can be moved",
        hint="NumPy on the CPU, torch or CuPy on a GPU",
    )


def _dtype(itemsize: int, dtype: DType | str | None) -> DType:
    if dtype is not None:
        return DType.of(dtype)
    if itemsize not in _WIDTHS:
        raise LayoutError(
            "TW704", f"elements of {itemsize} bytes are not moved", hint="view it as bytes or words"
        )
    return DType.of(_WIDTHS[itemsize])


def _of_numpy(array: Any, dtype: DType | str | None) -> Storage:
    if any(step < 0 for step in array.strides):
        raise _before_first()
    reach = sum((extent - 1) * step for extent, step in zip(array.shape, array.strides, strict=True))
    bytes_in_all = reach + array.itemsize if array.size else 0
    return Storage(array, "numpy", None, array.ctypes.data, bytes_in_all, _dtype(array.itemsize, dtype))


def _of_torch(array: Any, dtype: DType | str | None) -> Storage:
    device = array.device.index if array.device.type == "cuda" else None
    if array.device.type not in ("cuda", "cpu"):
        raise LayoutError(
            "TW704", f"a tensor on {array.device} is not moved", hint="on the CPU, or an NVIDIA GPU"
        )
    itemsize = array.element_size()
    end = array.untyped_storage().nbytes() - array.storage_offset() * itemsize
    return Storage(array, "torch", device, array.data_ptr(), end, _dtype(itemsize, dtype))


def _of_cupy(array: Any, dtype: DType | str | None) -> Storage:
    memory = array.data
    end = memory.mem.size - (memory.ptr - memory.mem.ptr)
    return Storage(array, "cupy", array.device.id, memory.ptr, end, _dtype(array.itemsize, dtype))


def _before_first() -> LayoutError:
    return LayoutError(
        "TW701",
        "the array steps down: its elements lie before its first one",
        hint="pass the storage from its lowest element, and say the steps in the source layout",
    )
