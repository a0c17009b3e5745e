"""One TMA load as the hardware does it: a box of a tensor, and what then stands in shared memory.

The element at place i of the global buffer holds i + 1, in as many passes as its bytes need; the tensor
begins inside the buffer, so that an element from outside it would be known as well. Shared memory is
poisoned in two ways, so that bytes which the copy left alone are known from those it wrote.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.gpu.compile import Source, cubin
from tilewise.gpu.device import HOPPER, find, package
from tilewise.gpu.launch import Array, checked
from tilewise.hardware.modes import Mode
from tilewise.hardware.tma.tensor_map import TensorMap
from tilewise.hardware.tma.types import ElementType

POISONS = (0xA5, 0x5A)
"""Bytes that shared memory holds before the copy: they differ in every bit."""

MARGIN = 1024
"""Elements of the buffer before the tensor."""

TOO_MANY = 16
"""Bytes that the barrier is told to expect besides a box's, in the last pass: it has to miss just these."""

SLACK = 2048
"""Bytes behind the box that are watched as well."""

MOST_SHARED = 230_000
"""Bytes of dynamic shared memory that a box may take with its slack."""

ELEMENTS = {1: 1 << 20, 2: 1 << 20, 4: 1 << 19, 8: 1 << 19}
"""Elements of the buffer, by bytes of one."""

UNTOUCHED, FILL, TORN, OTHER = -1, 0, -2, -3
"""What a slot of shared memory holds besides element i, which is i + 1: what it held before, zero, a part
of an element, or, at OTHER - i, the i-th value that is no element of the buffer."""


@dataclass(frozen=True, slots=True)
class BoxLoad:
    """A load of one box, all dimensions slowest first."""

    dtype: str
    mode: str
    shape: tuple[int, ...]
    box: tuple[int, ...]
    corner: tuple[int, ...]
    start: int = 0
    """The copy's address, after a multiple of 1024."""
    steps: tuple[int, ...] = ()
    """Element strides; ones where there are none."""
    fill: str = "zero"

    @property
    def tensor_map(self) -> TensorMap:
        """The arguments of the driver."""
        return TensorMap(
            ElementType.of(self.dtype),
            self.shape,
            tuple(stride * self.bytes_each for stride in self.strides[:-1]),
            self.box,
            self.element_strides,
            "none",
            Mode.of(self.mode),
            fill=self.fill,
        )

    @property
    def bytes_each(self) -> int:
        """Bytes of an element."""
        return DType.of(self.dtype).bits // 8

    @property
    def element_strides(self) -> tuple[int, ...]:
        """One element stride a dimension."""
        return self.steps or (1,) * len(self.box)

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours along each dimension; rows begin at multiples of 32 bytes."""
        strides, each = [1], self.bytes_each
        for extent in reversed(self.shape[1:]):
            dense = strides[-1] * extent
            strides.append(-(-dense * each // 32) * 32 // each)
        return tuple(reversed(strides))

    @property
    def landed(self) -> tuple[int, ...]:
        """The box as it stands in shared memory."""
        return self.tensor_map.loaded

    @property
    def bytes(self) -> int:
        """Bytes of the box in shared memory, which the barrier is told to expect."""
        return self.tensor_map.bytes

    @property
    def window(self) -> int:
        """Bytes of shared memory that are watched."""
        width = Mode.of(self.mode).width
        rows, inner = prod(self.landed[:-1]), self.landed[-1] * self.bytes_each
        reach = rows * max(inner, width)
        return -(-(self.start + reach + SLACK) // 16) * 16


@dataclass(frozen=True, eq=False)
class Landed:
    """What stands in shared memory after a copy, one number an element-sized slot."""

    slots: Array
    """UNTOUCHED, FILL, the element's place in the buffer + 1, or OTHER and below."""
    counted: int | None
    """The bytes that the barrier counted; None where no number of missing ones explains it."""
    others: tuple[int, ...] = ()
    """The bits of values that are no element of the buffer."""


def place_of(box: BoxLoad) -> Array:
    """For each element of the landed box: its place in the buffer + 1, or FILL where it is out of bounds."""
    grids = np.indices(box.landed, dtype=np.int64, sparse=True)
    steps = (*box.element_strides[:-1], 1)
    inside: Any = np.ones((), bool)
    place: Any = np.int64(MARGIN + 1)
    for grid, corner, step, extent, stride in zip(
        grids, box.corner, steps, box.shape, box.strides, strict=True
    ):
        at = corner + grid * step
        inside = inside & (at >= 0) & (at < extent)
        place = place + at * stride
    return np.where(inside, place, FILL)


def passes_of(each: int) -> int:
    """Passes that tell every element of the buffer from the others."""
    return -(-ELEMENTS[each].bit_length() // (8 * each))


def decode(passes: Sequence[Array], other: Array, each: int) -> tuple[Array, tuple[int, ...]]:
    """Slots and other values, out of the windows of all passes, and of the first pass once more with the
    other poison."""
    numbers = np.zeros(len(passes[0]) // each, np.uint64)
    for digit, window in enumerate(passes):
        numbers |= window.view(f"<u{each}").astype(np.uint64) << np.uint64(8 * each * digit)
    free = ((passes[0] == POISONS[0]) & (other == POISONS[1])).reshape(-1, each)
    slots = np.where(numbers <= ELEMENTS[each], numbers, 0).astype(np.int64)
    strange = (numbers > ELEMENTS[each]) & ~free.any(axis=1)
    values, which = np.unique(numbers[strange], return_inverse=True)
    slots[strange] = OTHER - which
    slots[free.all(axis=1)] = UNTOUCHED
    slots[free.any(axis=1) & ~free.all(axis=1)] = TORN
    element = (1 << 8 * each) - 1
    return slots, tuple(int(value) & element for value in values)


# -- the driver ------------------------------------------------------------------------------------


class Aligned:
    """Bytes at an address that is a multiple of 64."""

    def __init__(self, size: int) -> None:
        self._room = ctypes.create_string_buffer(size + 64)
        self.address = -(-ctypes.addressof(self._room) // 64) * 64


def encoder() -> Any:
    """cuTensorMapEncodeTiled of the driver, as it is: any number may be asked."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise LayoutError("TW608", "there is no CUDA driver", hint="a machine with an NVIDIA GPU") from error
    return library.cuTensorMapEncodeTiled


def encode(function: Any, out: Aligned, address: int, numbers: Iterable[Any]) -> int:
    """Return the CUresult of an encoding; `numbers` are in the driver's order, whatever they are."""
    dtype, rank, *tuples, interleave, swizzle, l2, fill = numbers
    kinds = (ctypes.c_uint64 * 8, ctypes.c_uint64 * 8, ctypes.c_uint32 * 8, ctypes.c_uint32 * 8)
    arrays = [kind(*values) for kind, values in zip(kinds, tuples, strict=True)]
    begin = (
        ctypes.c_void_p(out.address),
        ctypes.c_int(dtype),
        ctypes.c_uint32(rank),
        ctypes.c_void_p(address),
    )
    return int(function(*begin, *arrays, *map(ctypes.c_int, (interleave, swizzle, l2, fill))))


class CopyRequest(ctypes.Structure):
    """What the kernels that copy are told, as their text has it."""

    _fields_ = (
        ("rank", ctypes.c_int),
        ("corner", ctypes.c_int * 5),
        ("start", ctypes.c_uint),
        ("window", ctypes.c_uint),
        ("bytes", ctypes.c_uint),
        ("poison", ctypes.c_uint),
    )


class TensorCopies:
    """A device on which boxes are loaded, one launch a pass."""

    def __init__(self) -> None:
        gpu = find(capability=HOPPER)
        driver = self._driver = package("cuda.bindings.driver")
        checked(driver.cuInit(0))
        device = checked(driver.cuDeviceGet(gpu.index))
        self._context = checked(driver.cuDevicePrimaryCtxRetain(device))
        checked(driver.cuCtxSetCurrent(self._context))
        module = checked(driver.cuModuleLoadData(_code(gpu.arch)))
        self._kernel = checked(driver.cuModuleGetFunction(module, b"tilewise_land"))
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        checked(driver.cuFuncSetAttribute(self._kernel, attribute, MOST_SHARED + 1024))
        self._encode = encoder()
        self._map = Aligned(128)
        self._out = self._allocate(MOST_SHARED)
        self._told = self._allocate(16)
        self._buffers: dict[tuple[int, int], int] = {}

    @property
    def anywhere(self) -> int:
        """An address of device memory that is a multiple of 256."""
        return self._buffer(1, 0)

    def load(self, box: BoxLoad) -> Landed | int:
        """What the hardware does with a box, or the CUresult with which the driver refuses it."""
        if box.window > MOST_SHARED:
            raise LayoutError("TW602", f"a box of {box.bytes} bytes with its slack does not fit")
        each = box.bytes_each
        windows, missing = [], 0
        for digit, poison in [*((digit, 0) for digit in range(passes_of(each))), (0, 1)]:
            refused = self._encode_box(box, self._buffer(each, digit))
            if refused:
                return refused
            window, missing = self._launch(box, POISONS[poison], box.bytes + TOO_MANY * poison)
            windows.append(window)
        slots, others = decode(windows[:-1], windows[-1], each)
        return Landed(slots, box.bytes + TOO_MANY - missing if missing >= 0 else None, others)

    def _encode_box(self, box: BoxLoad, buffer: int) -> int:
        return encode(
            self._encode, self._map, buffer + MARGIN * box.bytes_each, box.tensor_map.numbers.values()
        )

    def _launch(self, box: BoxLoad, poison: int, expected: int) -> tuple[Array, int]:
        """The window after a copy, and how many of the expected bytes the barrier missed, or -1."""
        driver, rank = self._driver, len(box.box)
        corner = (ctypes.c_int * 5)(*box.corner[::-1])
        request = CopyRequest(rank, corner, box.start, box.window, expected, poison)
        out, told = ctypes.c_uint64(self._out), ctypes.c_uint64(self._told)
        pointers = (ctypes.c_void_p * 4)(
            self._map.address, *(ctypes.addressof(value) for value in (request, out, told))
        )
        checked(
            driver.cuLaunchKernel(
                self._kernel, 1, 1, 1, 256, 1, 1, box.window + 1024, 0, ctypes.addressof(pointers), 0
            )
        )
        checked(driver.cuCtxSynchronize())
        window = np.empty(box.window, np.uint8)
        words = np.empty(2, np.int64)
        checked(driver.cuMemcpyDtoH(window.ctypes.data, self._out, window.nbytes))
        checked(driver.cuMemcpyDtoH(words.ctypes.data, self._told, words.nbytes))
        return window, int(words[1])

    def _buffer(self, each: int, digit: int) -> int:
        """Device memory in which element i has a digit of i + 1."""
        if (each, digit) not in self._buffers:
            numbers = np.arange(1, ELEMENTS[each] + 1, dtype=np.uint64) >> np.uint64(8 * each * digit)
            values = (numbers & np.uint64((1 << 8 * each) - 1)).astype(f"<u{each}")
            address = self._allocate(values.nbytes)
            checked(self._driver.cuMemcpyHtoD(address, values.ctypes.data, values.nbytes))
            self._buffers[each, digit] = address
        return self._buffers[each, digit]

    def _allocate(self, size: int) -> int:
        return int(checked(self._driver.cuMemAlloc(size)))


def _code(arch: str) -> bytes:
    """The kernel, compiled."""
    text = Path(__file__).with_name("tma.cu").read_text(encoding="utf-8")
    return cubin(Source("tilewise_land", text, arch))
