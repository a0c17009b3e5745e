"""Kernels of moves on a GPU: compiled once for a device, kept on disk, launched on the caller's stream."""

from __future__ import annotations

import ctypes
import sys
from functools import lru_cache
from typing import Any

from tilewise.core.errors import LayoutError
from tilewise.gpu import device as devices
from tilewise.gpu.compile import Source, cubin
from tilewise.move.plan import Bulk, Plan
from tilewise.move.tile_kernel import NAME, STATIC

FILL_THREADS = 256
_FILL = """
typedef unsigned char u8; typedef unsigned long long u64;
extern "C" __global__ void fill(u8* target, u64 bytes, u64 low, u64 high, u64 period)
{
    const u64 each = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i * 8 < bytes; i += each) {
        const u64 word = i * 8 % period < 8 ? low : high;
        if (i * 8 + 8 <= bytes && ((u64)target & 7) == 0) *(u64*)(target + i * 8) = word;
        else for (u64 b = 0; b < 8 && i * 8 + b < bytes; ++b) target[i * 8 + b] = (u8)(word >> 8 * b);
    }
}
"""


class Loaded:
    """The kernel of a plan on one device."""

    def __init__(self, plan: Plan, index: int) -> None:
        self._driver = devices.package("cuda.bindings.driver")
        self._plan = plan
        self._blocks, self._threads, shared = plan.launch
        self._shared = shared if shared > STATIC else 0
        self._function = None
        self._arch = devices.find(index).arch
        devices.package("cuda.core").Device(index).set_current()
        if not isinstance(plan.way, Bulk):
            self._function = _function(plan.kernel, NAME, self._arch, self._shared, index)
        self._index = index

    def __call__(self, source: int, target: int, stream: int) -> None:
        """Move from one address to the other, in the order of a stream."""
        way = self._plan.way
        if isinstance(way, Bulk):
            _checked(self._driver.cuMemcpyDtoDAsync(target + way.write, source + way.read, way.bytes, stream))
            return
        self._launch(self._function, self._blocks, self._threads, self._shared, stream, (source, target))

    def fill(self, target: int, count: int, stream: int) -> None:
        """Fill that many bytes with the plan's element."""
        element = self._plan.fill
        if len(set(element)) == 1:
            _checked(self._driver.cuMemsetD8Async(target, element[0], count, stream))
            return
        whole = element * (16 // len(element))
        low, high = (int.from_bytes(whole[at : at + 8], "little") for at in (0, 8))
        function = _function(_FILL, "fill", self._arch, 0, self._index)
        blocks = max(1, min(1 << 14, -(-count // (8 * FILL_THREADS))))
        self._launch(function, blocks, FILL_THREADS, 0, stream, (target, count, low, high, 16))

    def _launch(
        self, function: Any, blocks: int, threads: int, shared: int, stream: int, values: tuple[int, ...]
    ) -> None:
        arguments = (values, (ctypes.c_uint64,) * len(values))
        _checked(
            self._driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared, stream, arguments, 0)
        )


@lru_cache(maxsize=4096)
def _function(text: str, name: str, arch: str, shared: int, index: int) -> Any:
    """A kernel of a source, loaded on the current device; the last ones are kept."""
    driver = devices.package("cuda.bindings.driver")
    (module,) = _checked(driver.cuModuleLoadData(cubin(Source(f"{name}.cu", text, arch))))
    (function,) = _checked(driver.cuModuleGetFunction(module, name.encode()))
    if shared > STATIC:
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        _checked(driver.cuFuncSetAttribute(function, attribute, shared))
    return function


def stream_of(kind: str, stream: Any) -> int:
    """The handle of the stream that is given, or of the one on which the library works now."""
    if stream is None:
        if kind == "torch":
            return int(sys.modules["torch"].cuda.current_stream().cuda_stream)
        return int(sys.modules["cupy"].cuda.get_current_stream().ptr)
    for name in ("cuda_stream", "ptr", "handle"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    if isinstance(stream, int):
        return stream
    raise LayoutError(
        "TW704", f"{stream!r} is no stream", hint="torch's, CuPy's, or the handle as an integer"
    )


def _checked(answer: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a call of the driver gives besides its status."""
    status, *rest = answer
    if int(status) != 0:
        raise RuntimeError(f"the driver answered {status!r}")
    return tuple(rest)
