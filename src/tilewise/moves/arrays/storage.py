"""Arrays as a move needs them: address, length and type of element. A class for each library.

No library is imported: whoever has an array of a library has imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import isfinite
from typing import Any, ClassVar

import numpy as np

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.integers import counted
from tilewise.core.layout import Layout
from tilewise.core.vectors import as_vector
from tilewise.moves.pairs.fills import element_of, is_no_bit, kept, no_element
from tilewise.moves.types import given_type, refuse_objects


@dataclass(slots=True, eq=False)
class Storage:
    """An array as bytes from its first element to its last one.

    Every call makes some, and making a frozen one takes longer.
    """

    array: Any
    library: Library
    device: int | None
    """The number of the GPU; None for the CPU."""
    pointer: int
    size: int
    """Bytes."""
    type: Any
    """The type of an element, as the library has it."""
    itemsize: int


def storage_of(array: Any) -> Storage:
    """Return the storage of an array.

    >>> found = storage_of(np.zeros((4, 6), np.float32))
    >>> found.library.name, found.device, found.size, found.itemsize
    ('NumPy', None, 96, 4)
    """
    kind = type(array)
    library = _LIBRARIES.get(kind)
    if library is None:
        library = _LIBRARIES[kind] = _library_of(array)
    return library.seen(array)


_LIBRARIES: dict[type, Library] = {}
"""Libraries by the type of an array; there are few."""


def _library_of(array: Any) -> Library:
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and isinstance(array, torch.Tensor):
        return TORCH
    if cupy is not None and isinstance(array, cupy.ndarray):
        return CUPY
    if isinstance(array, np.ma.MaskedArray):
        raise LayoutError(
            "TW704",
            "a masked array is not moved: the result would have no mask, and what the mask hides",
            hint="x.filled(value), with a value for what it hides; np.ma.getmaskarray(x) is moved by itself",
        )
    if isinstance(array, np.ndarray):
        return NUMPY
    if hasattr(kind := type(array), "__dlpack__") and hasattr(kind, "__dlpack_device__"):
        if not hasattr(array, "__array_namespace__"):
            raise LayoutError(
                "TW704",
                f"{type(array).__name__} speaks DLPack, and has no __array_namespace__ that takes the result",
                hint="np.from_dlpack(x), or on a GPU torch.from_dlpack(x): the same memory, as theirs",
            )
        from tilewise.moves.arrays.exchanged import EXCHANGED

        return EXCHANGED
    raise LayoutError(
        "TW704",
        f"{type(array).__name__} is no array that can be moved",
        hint="an array of NumPy, torch, CuPy or JAX, or one with __dlpack__, __dlpack_device__ and "
        "__array_namespace__",
    )


class Library:
    """A library of arrays, such as NumPy."""

    name = "NumPy"

    def seen(self, array: Any) -> Storage:
        """Return the array's storage."""
        kind, size = array.dtype, array.nbytes
        refuse_objects(kind)
        if size and not array.flags.c_contiguous:
            size = kind.itemsize + reach(array.shape, array.strides)
        return Storage(array, self, None, array.ctypes.data, size, kind, kind.itemsize)

    def steps(self, array: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return extents and strides, in elements."""
        rests = [step % array.itemsize for n, step in zip(array.shape, array.strides, strict=True) if n > 1]
        if any(rests):
            raise LayoutError(
                "TW704",
                f"the array's strides {array.strides} are no whole elements of {array.itemsize} bytes",
                hint="say the source, and what an element is: source=..., dtype=...",
            )
        return array.shape, tuple(step // array.itemsize for step in array.strides)

    def empty(self, like: Storage, count: int, stream: Any) -> Storage:
        """Return new storage of `count` elements of the same type, on the same device."""
        return self.seen(np.empty(count, like.type))

    def writable(self, out: Storage) -> str:
        """Return the reason why nothing can be written there, or an empty text."""
        if not out.array.flags.c_contiguous:
            return "is not contiguous"
        return "" if getattr(out.array.flags, "writeable", True) else "is read-only"

    def written(self, out: Storage) -> None:
        """Tell the library that the elements of a caller's array have changed."""

    def stream(self, device: int, stream: Any) -> int:
        """Return the handle of the given stream, or of the stream on which the library works now."""
        return handle_of(stream)

    def filling(self, fill: Any, kind: Any, itemsize: int) -> bytes:
        """Return the bytes of an element of a type and value; return bytes of its length as they are."""
        if isinstance(fill, bytes | bytearray) and len(fill) == itemsize:
            return bytes(fill)
        return self.element(fill, kind)

    def element(self, fill: Any, kind: Any) -> bytes:
        """Return the bytes of an element of that type and value."""
        return as_type(fill, np.dtype(kind))

    def ended(self, given: Storage, made: Storage) -> Any:
        """Return the result, after its kernel was launched."""
        return made.array


_CLAMPED = ("torch.float8_e4m3fn", "torch.float8_e8m0fnu")
"""Types in which torch takes the nearest number for one that they do not hold, 448 for infinity, 1 for -1."""


class _Torch(Library):
    name = "torch"

    def seen(self, array: Any) -> Storage:
        if array.is_cuda:
            index = array.get_device()
        elif array.is_cpu:
            index = None
        else:
            raise LayoutError(
                "TW704", f"a tensor on {array.device} is not moved", hint="on the CPU, or an NVIDIA GPU"
            )
        if array.requires_grad and sys.modules["torch"].is_grad_enabled():
            raise LayoutError(
                "TW704",
                "the tensor needs gradients, and a move passes none",
                hint="x.detach(), or torch.no_grad()",
            )
        kind = array.dtype
        itemsize, is_complex = self._types.get(kind) or self._type(array)
        if array.is_neg() or (is_complex and array.is_conj()):
            raise LayoutError(
                "TW704",
                "the tensor's bits are not its values: it is a lazy view",
                hint="x.resolve_conj().resolve_neg()",
            )
        if array.is_quantized:  # the type does not show it: a view may have another
            raise LayoutError(
                "TW704",
                "the tensor is quantized, and a move has no scale for its result",
                hint="x.int_repr() has the numbers that are stored",
            )
        if array.is_nested:
            raise LayoutError(
                "TW704",
                "the tensor is nested: it is several, each with a shape",
                hint="move each of x.unbind()",
            )
        try:
            if array.is_contiguous():
                size = array.nbytes
            else:
                size = itemsize * (1 + reach(array.shape, array.stride())) if array.numel() else 0
            pointer = array.data_ptr()
        except RuntimeError as error:
            raise LayoutError(
                "TW704",
                f"the tensor is no one storage with strides: {first_line(error)}",
                hint="x.to_dense(), or the tensors that it is made of",
            ) from error
        if size and not pointer:  # the move would read memory at address 0
            raise LayoutError(
                "TW704",
                f"the {type(array).__name__} has no memory of its own: it stands for other tensors",
                hint="move those that it is made of",
            )
        return Storage(array, self, index, pointer, size, kind, itemsize)

    _types: ClassVar[dict[Any, tuple[int, bool]]] = {}
    """Bytes of an element, and True if it is complex, of each type seen so far."""

    def _type(self, array: Any) -> tuple[int, bool]:
        found = self._types[array.dtype] = array.itemsize, array.dtype.is_complex
        return found

    def steps(self, array: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return tuple(array.shape), array.stride()

    def empty(self, like: Storage, count: int, stream: Any) -> Storage:
        torch, x = sys.modules["torch"], like.array
        if stream is None or like.device is None:
            made = torch.empty(count, dtype=like.type, device=x.device)
        else:  # the allocator orders memory on the current stream
            other = torch.cuda.ExternalStream(handle_of(stream), device=like.device)
            with torch.cuda.stream(other):
                made = torch.empty(count, dtype=like.type, device=x.device)
        return Storage(
            made, self, like.device, made.data_ptr(), count * like.itemsize, like.type, like.itemsize
        )

    def writable(self, out: Storage) -> str:
        return "" if out.array.is_contiguous() else "is not contiguous"

    def written(self, out: Storage) -> None:
        """Make autograd refuse a backward pass through elements that it kept from before."""
        self._raise_version(out.array)

    @cached_property
    def _raise_version(self) -> Callable[[Any], None]:
        raised: Callable[[Any], None] = sys.modules["torch"].autograd.graph.increment_version
        return raised

    def stream(self, device: int, stream: Any) -> int:
        return self._current_stream(device) if stream is None else handle_of(stream)

    @cached_property
    def _current_stream(self) -> Callable[[int], int]:
        """Return the function that gives the handle of a device's stream without making an object."""
        current: Callable[[int], int] = sys.modules["torch"]._C._cuda_getCurrentRawStream
        return current

    def element(self, fill: Any, kind: Any) -> bytes:
        if is_no_bit(fill):  # torch.export cannot read numbers of tensors that it traces
            return bytes(kind.itemsize)
        if str(kind) in _CLAMPED:
            return element_of(fill, DType.of(str(kind)))
        torch = sys.modules["torch"]
        try:
            made = torch.full((1,), fill, dtype=kind)
            value = made.item()
        except (OverflowError, RuntimeError, TypeError) as error:
            raise no_element(fill, str(kind)) from error
        if not kept(fill, value):
            raise no_element(fill, str(kind))
        return bytes(made.view(torch.uint8).numpy())


class _CuPy(Library):
    name = "CuPy"

    def seen(self, array: Any) -> Storage:
        size = array.nbytes
        if size and not array.flags.c_contiguous:
            size = array.itemsize + reach(array.shape, array.strides)
        return Storage(array, self, array.device.id, array.data.ptr, size, array.dtype, array.itemsize)

    def empty(self, like: Storage, count: int, stream: Any) -> Storage:
        cuda = sys.modules["cupy"].cuda
        other = nullcontext() if stream is None else cuda.ExternalStream(handle_of(stream), like.device)
        with cuda.Device(like.device), other:
            return self.seen(sys.modules["cupy"].empty(count, like.type))

    def stream(self, device: int, stream: Any) -> int:
        if stream is None:
            return int(sys.modules["cupy"].cuda.get_current_stream(device).ptr)
        return handle_of(stream)


NUMPY, TORCH, CUPY = Library(), _Torch(), _CuPy()


def reach(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Return how far the last element lies behind the first; refuse steps down. Extent 1 has no step.

    >>> reach((2, 1, 2), (8, -2, 1))
    9
    """
    ways = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
    if min(ways, default=0) < 0:
        raise LayoutError(
            "TW701",
            "the array steps down: its elements lie before its first one",
            hint="pass the storage from its lowest element, and say the steps in its layout",
        )
    return sum(ways)


def as_type(fill: Any, kind: np.dtype[Any]) -> bytes:
    """Return the bytes of a value in a type of NumPy; refuse a value that the type does not hold."""
    if is_no_bit(fill):
        return bytes(kind.itemsize)
    if isinstance(fill, np.generic) and fill.dtype == kind:
        return fill.tobytes()
    if np.iscomplexobj(fill) and kind.kind != "c":
        raise no_element(fill, str(kind))
    try:
        with np.errstate(all="ignore"):
            made = np.array([fill], kind)
        is_kept = made.shape == (1,) and (
            _is_no_time(fill, made) or (kept(fill, made.item()) and not _is_clamped(fill, made))
        )
    except (OverflowError, TypeError, ValueError) as error:
        raise no_element(fill, str(kind)) from error
    if not is_kept:
        raise no_element(fill, str(kind))
    return made.tobytes()


def _is_no_time(fill: Any, made: np.ndarray[Any, Any]) -> bool:
    """Return True if a fill is NaT, which every unit of its kind has, and which equals nothing."""
    kind = getattr(getattr(fill, "dtype", None), "kind", None)
    return kind in ("m", "M") and kind == made.dtype.kind and bool(np.isnat(fill))


def _is_clamped(fill: Any, made: np.ndarray[Any, Any]) -> bool:
    """Return True if a number became the largest of its type, which has no infinity, because it is larger."""
    if type(made.item()) is not float:
        return False
    with np.errstate(all="ignore"):
        (largest,) = np.array([np.inf]).astype(made.dtype).tolist()
    return isfinite(largest) and abs(fill) > largest


def element_of_type(fill: Any, kind: Any) -> bytes:
    """Return the bytes of an element of a type of NumPy or torch.

    >>> element_of_type(1, np.dtype(">u2")), element_of_type(b"12", np.dtype(">u2"))
    (b'\\x00\\x01', b'12')
    """
    library = NUMPY if isinstance(kind, np.dtype) else TORCH
    return library.filling(fill, kind, kind.itemsize)


def handle_of(stream: Any) -> int:
    """Return the handle of a stream: torch's, CuPy's, cuda.core's, or an integer."""
    for name in ("cuda_stream", "ptr", "handle"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    if isinstance(stream, int):
        return stream
    raise LayoutError(
        "TW704", f"{stream!r} is no stream", hint="torch's, CuPy's, or the handle as an integer"
    )


@lru_cache(maxsize=1024)
def own_layout(steps: tuple[tuple[int, ...], tuple[int, ...]]) -> Layout:
    """Return the layout of an array of those extents and strides.

    >>> own_layout(((3, 4), (8, 1)))
    S[(3, 4) : (8, 1)]
    """
    shape, strides = steps
    if 0 in shape:
        raise LayoutError(
            "TW704", f"an array of shape {shape} has no element to move", hint="every extent is positive"
        )
    return Layout(
        tuple(shape), tuple(as_vector(step if n > 1 else 0) for n, step in zip(shape, strides, strict=True))
    )


def check_own_width(itemsize: int, dtype: Any) -> None:
    """Refuse a type of another width than the elements that an array's strides count."""
    kind = given_type(dtype)
    if kind.bits != 8 * itemsize:
        raise LayoutError(
            "TW106",
            f"x's own strides count elements of {counted(itemsize, 'byte')}, and {kind} has {kind.bits} bits",
            hint=f"say the source, a layout of {kind}: it counts them from x's first byte on",
        )


def first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
