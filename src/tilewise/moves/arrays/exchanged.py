"""Arrays known by DLPack alone, such as JAX's: read where they lie, results handed over.

They cannot be written: results are always new. Their library has its own streams: a move waits for
the array, and returns when the result is there.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from tilewise.bridge.dlpack import read_capsule, tensor_in
from tilewise.core.errors import LayoutError
from tilewise.gpu import device as devices
from tilewise.moves.arrays.storage import NUMPY, Library, Storage, first_line, reach

_CPU, _CUDA = 1, 2


class _Exchanged(Library):
    """A library known by DLPack. A storage's array is the library's array, and what keeps its memory."""

    name = "DLPack"

    def seen(self, array: Any) -> Storage:
        place, index = array.__dlpack_device__()
        if place == _CPU:
            host = _on_host(array)
            return replace(NUMPY.seen(host), array=(array, host), library=self)
        if place != _CUDA:
            raise LayoutError(
                "TW704",
                f"an array on DLPack's device {int(place)} is not moved",
                hint="on the CPU, or an NVIDIA GPU",
            )
        capsule = array.__dlpack__(stream=int(_own(index)[1].handle))
        said = read_capsule(capsule)
        itemsize = said.bits // 8
        strides = _strides(said.shape, said.strides)
        size = itemsize * (1 + reach(said.shape, strides)) if prod(said.shape) else 0
        return Storage(
            (array, capsule), self, int(index), said.data + said.byte_offset, size, array.dtype, itemsize
        )

    def steps(self, array: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
        _, held = array
        if isinstance(held, np.ndarray):
            return NUMPY.steps(held)
        said = read_capsule(held)
        return said.shape, _strides(said.shape, said.strides)

    def empty(self, like: Storage, count: int, stream: Any) -> Storage:
        if like.device is None:
            host = np.empty(count, like.type)
            return Storage((None, host), self, None, host.ctypes.data, host.nbytes, like.type, like.itemsize)
        device, own = _own(like.device)
        size = count * like.itemsize
        buffer = device.allocate(size, stream=own)
        return Storage((None, buffer), self, like.device, int(buffer.handle), size, like.type, like.itemsize)

    def writable(self, out: Storage) -> str:
        return "cannot be written: arrays of its library never change"

    def stream(self, device: int, stream: Any) -> int:
        if stream is not None:
            raise LayoutError(
                "TW704",
                "a stream for an array that is known by DLPack alone",
                hint="its library has its own: leave it out",
            )
        return int(_own(device)[1].handle)

    def ended(self, given: Storage, made: Storage) -> Any:
        (array, held), (_, result) = given.array, made.array
        names = array.__array_namespace__()
        if made.device is None:
            return names.asarray(result)
        _own(made.device)[1].sync()
        return names.from_dlpack(_Typed(result, tensor_in(held).dtype, made.size // made.itemsize))


def _on_host(array: Any) -> np.ndarray[Any, Any]:
    """Return the array as NumPy's.

    `__array__` comes first: it gives types that NumPy does not read from DLPack, such as bfloat16. Without it
    `np.asarray` would make an object of the array.
    """
    try:
        return np.asarray(array) if hasattr(array, "__array__") else np.from_dlpack(array)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise LayoutError(
            "TW704",
            f"NumPy does not read the {type(array).__name__}: {first_line(error)}",
            hint="on the CPU NumPy reads an array by __array__, or by __dlpack__ where it has none",
        ) from error


class _Typed:
    """A buffer of bytes that DLPack exports as elements of a type."""

    def __init__(self, buffer: Any, kind: Any, count: int) -> None:
        self._buffer, self._kind, self._count = buffer, (kind.code, kind.bits, kind.lanes), count

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CUDA, int(self._buffer.device_id)

    def __dlpack__(self, *, stream: Any = None, **asked: Any) -> Any:
        capsule = self._buffer.__dlpack__(stream=stream)
        tensor = tensor_in(capsule)
        tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = self._kind
        tensor.shape[0] = self._count
        return capsule


def _strides(shape: tuple[int, ...], strides: tuple[int, ...] | None) -> tuple[int, ...]:
    """Return the given strides, or row-major ones."""
    if strides is not None:
        return strides
    return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))


@lru_cache(maxsize=64)
def _own(index: int) -> tuple[Any, Any]:
    """Return a device, and the stream on which its arrays are moved."""
    device = devices.package("cuda.core").Device(index)
    device.set_current()
    return device, device.create_stream()


EXCHANGED = _Exchanged()
