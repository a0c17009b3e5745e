"""Kernels of moves on a GPU: compiled once for a device, kept on disk, launched on the caller's stream."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from tilewise.gpu import device as devices
from tilewise.gpu.compile import Source, cubin
from tilewise.moves.kernels.spelling import NAME
from tilewise.moves.kernels.tile_kernel import STATIC
from tilewise.moves.memory import Plan
from tilewise.moves.ways import Bulk

FILL_THREADS = 256
_FILL = """
typedef unsigned char u8; typedef unsigned long long u64;
extern "C" __global__ void fill(u8* target, u64 bytes, u64 low, u64 high)
{
    const u64 each = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i * 8 < bytes; i += each) {
        const u64 word = i % 2 ? high : low;
        if (i * 8 + 8 <= bytes && ((u64)target & 7) == 0) *(u64*)(target + i * 8) = word;
        else for (u64 b = 0; b < 8 && i * 8 + b < bytes; ++b) target[i * 8 + b] = (u8)(word >> 8 * b);
    }
}
"""

_FREE: list[tuple[Any, int]] = []
"""Room for arguments that no launch uses now: making it takes longer than writing it."""


def _arguments(*values: int) -> tuple[Any, int]:
    """Return the arguments of a kernel and, behind them, their addresses."""
    count = len(values)
    cells = (ctypes.c_uint64 * (2 * count))(*values)
    first = ctypes.addressof(cells)
    cells[count:] = [first + 8 * place for place in range(count)]
    return cells, first + 8 * count


HOPPER = (9, 0)
"""The capability of the GPU on which launches with spare shared memory were measured."""


class Loaded:
    """The kernel of a plan on one device. A call with addresses launches it, and does not wait.

    A kernel for all shapes is given with the blocks and the sizes of one, and with bytes of shared memory to
    spare, which a launch on Hopper takes.
    """

    def __init__(
        self,
        plan: Plan,
        index: int,
        kernel: str = "",
        blocks: int = 0,
        sizes: Sequence[int] = (),
        spare: int = 0,
    ) -> None:
        driver = self._driver = devices.driver()
        self._current, self._start = driver.cuCtxGetCurrent, driver.cuLaunchKernel
        gpu = gpu_of(index)
        self._index, self._arch = index, gpu.arch
        self._context = devices.context(index)
        self._element = plan.fill
        self.fills, self.fills_apart = plan.fills, plan.fills_apart
        self.fill_from = plan.fill_from
        self._bulk = plan.way if isinstance(plan.way, Bulk) else None
        self._blocks, self._threads, shared = plan.launch
        self._blocks, self._sizes = blocks or self._blocks, tuple(sizes)
        self._free: list[tuple[Any, int]] = [] if sizes else _FREE
        self._shared = (shared if shared > STATIC else 0) + (spare if gpu.capability == HOPPER else 0)
        self._function = None
        if self._bulk is None:
            self._function = self._loaded(kernel or plan.kernel, NAME, self._shared)

    def __call__(self, source: int, target: int, stream: int) -> None:
        """Move from one address to the other, in the order of a stream."""
        way = self._bulk
        if way is not None:
            copy = self._driver.cuMemcpyDtoDAsync
            self._in_context(copy, target + way.write, source + way.read, way.bytes, stream)
            return
        try:
            taken = self._free.pop()  # no other call has it until it is given back
        except IndexError:
            taken = _arguments(0, 0, *self._sizes)
        cells, arguments = taken
        cells[0], cells[1] = source, target
        shared = self._shared
        if int(self._current()[1]) != self._context:
            self._launch(self._function, self._blocks, self._threads, shared, stream, arguments)
        else:
            (status,) = self._start(
                self._function, self._blocks, 1, 1, self._threads, 1, 1, shared, stream, arguments, 0
            )
            if status:
                raise _failed(status)
        self._free.append(taken)

    def fill(self, target: int, count: int, stream: int) -> None:
        """Fill that many bytes with the plan's element."""
        if len(set(self._element)) == 1:
            self._in_context(self._driver.cuMemsetD8Async, target, self._element[0], count, stream)
            return
        whole = self._element * (16 // len(self._element))
        low, high = (int.from_bytes(whole[at : at + 8], "little") for at in (0, 8))
        function = self._loaded(_FILL, "fill", 0)
        blocks = max(1, min(1 << 14, -(-count // (8 * FILL_THREADS))))
        _cells, arguments = _arguments(target, count, low, high)  # held until it is launched
        self._launch(function, blocks, FILL_THREADS, 0, stream, arguments)

    def _loaded(self, text: str, name: str, shared: int) -> Any:
        return self._in_context(_function, text, name, self._arch, shared, self._index)[0]

    def _launch(
        self, function: Any, blocks: int, threads: int, shared: int, stream: int, arguments: int
    ) -> None:
        self._in_context(self._start, function, blocks, 1, 1, threads, 1, 1, shared, stream, arguments, 0)

    def _in_context(self, call: Any, *words: Any) -> tuple[Any, ...]:
        """Call the driver in the device's context; return the answer."""
        return _checked(devices.in_context(self._driver, self._context, call, *words))


class Tested(Loaded):
    """The kernel of a checked plan. A call waits for it, and raises an access outside its storage."""

    def __init__(self, plan: Plan, index: int) -> None:
        super().__init__(plan, index)
        self._fault = self._in_context(_global, plan.kernel, NAME, self._arch, index)[0]

    def __call__(self, source: int, target: int, stream: int) -> None:
        """Move, wait, and raise the fault that the kernel kept."""
        from tilewise.moves.kernels.checked import BeyondStorage, Fault

        super().__call__(source, target, stream)
        self._in_context(self._driver.cuStreamSynchronize, stream)
        fault = Fault()
        size, at = ctypes.sizeof(fault), int(self._fault)
        self._in_context(self._driver.cuMemcpyDtoH, ctypes.addressof(fault), at, size)
        if fault.found:
            self._in_context(self._driver.cuMemsetD8, at, 0, size)
            raise BeyondStorage(fault)


def loaded(plan: Plan, index: int) -> Loaded:
    """Return a plan loaded on a device, ready for launches."""
    return (Tested if plan.checked and plan.kernel else Loaded)(plan, index)


@lru_cache(maxsize=64)
def gpu_of(index: int) -> devices.Gpu:
    """Return the GPU of that number, as the driver knows it; refuse a missing one."""
    try:
        driver = devices.driver()
        _checked(driver.cuInit(0))
        (device,) = _checked(driver.cuDeviceGet(index))
        names = driver.CUdevice_attribute
        asked = (
            names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        )
        major, minor = (int(_checked(driver.cuDeviceGetAttribute(own, device))[0]) for own in asked)
        (name,) = _checked(driver.cuDeviceGetName(128, device))
    except Exception:  # the binding has its own exceptions; `find` gives the reason
        return devices.find(index)
    return devices.Gpu(index, bytes(name).partition(b"\0")[0].decode(), (major, minor))


SET, SET_FOR_A_LAUNCH = 256 << 20, 50 << 20
"""Bytes that a device sets at once, and bytes that it sets while the host makes one launch."""


class Clock:
    """A stopwatch of a device, with memory of the device while it runs; in its context."""

    def __init__(self, index: int) -> None:
        self._driver, self._context = devices.driver(), devices.context(index)
        self._held: list[Any] = []
        self._events: list[Any] = []

    def __enter__(self) -> Clock:
        _checked(self._driver.cuCtxPushCurrent(self._context))
        try:
            self._set = self.memory(SET)
            for _ in range(2):
                self._events += _checked(self._driver.cuEventCreate(0))
        except BaseException:  # who is not entered is not left
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        driver = self._driver
        driver.cuCtxSynchronize()
        for held in self._held:
            driver.cuMemFree(held)
        for event in self._events:
            driver.cuEventDestroy(event)
        driver.cuCtxPopCurrent()

    def memory(self, size: int) -> int:
        """Return the address of this many bytes, without a value, which are freed with the clock."""
        (held,) = _checked(self._driver.cuMemAlloc(max(size, 16)))
        self._held.append(held)
        return int(held)

    def seconds(self, works: Sequence[Callable[[], None]]) -> float:
        """Return the seconds of works on the usual stream, from the first launch to the last end.

        The device is kept busy until all is launched: it never waits for the host.
        """
        driver, (start, end) = self._driver, self._events
        for _ in range(-(-len(works) * SET_FOR_A_LAUNCH // SET)):
            _checked(driver.cuMemsetD8Async(self._set, 0, SET, 0))
        _checked(driver.cuEventRecord(start, 0))
        for work in works:
            work()
        _checked(driver.cuEventRecord(end, 0))
        _checked(driver.cuEventSynchronize(end))
        return float(_checked(driver.cuEventElapsedTime(start, end))[0]) / 1e3


@lru_cache(maxsize=4096)
def _function(text: str, name: str, arch: str, shared: int, index: int) -> tuple[int, Any]:
    """Return the driver's answer: a kernel loaded on the current device; the last ones are kept."""
    driver = devices.driver()
    module = _module(text, name, arch, index)
    (function,) = _checked(driver.cuModuleGetFunction(module, name.encode()))
    if shared:
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        _checked(driver.cuFuncSetAttribute(function, attribute, shared))
    return 0, function


@lru_cache(maxsize=4096)
def _module(text: str, name: str, arch: str, index: int) -> Any:
    """Return a source, compiled and loaded on the current device."""
    driver = devices.driver()
    return _checked(driver.cuModuleLoadData(cubin(Source(f"{name}.cu", text, arch))))[0]


def _global(text: str, name: str, arch: str, index: int) -> tuple[int, Any]:
    """Return the driver's answer: the address where a checked kernel keeps its fault."""
    driver = devices.driver()
    status, at, _ = driver.cuModuleGetGlobal(_module(text, name, arch, index), f"{name}_fault".encode())
    return status, at


def _checked(answer: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values of a driver's answer without its status; raise a failure."""
    status, *rest = answer
    if status:
        raise _failed(status)
    return tuple(rest)


def _failed(status: Any) -> RuntimeError:
    return RuntimeError(f"the driver answered {status!r}")
