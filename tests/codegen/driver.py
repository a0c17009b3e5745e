"""The CUDA driver through ctypes: the device's memory, and kernels that are launched there."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR


class Driver:
    """The driver, every call checked, and the first device's own context, which PyTorch has as well."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")
        self("cuInit", 0)
        self.device, context = ctypes.c_int(), ctypes.c_void_p()
        self("cuDeviceGet", ctypes.byref(self.device), 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self("cuCtxSetCurrent", context)

    def __call__(self, function: str, *arguments: Any) -> None:
        status = getattr(self._library, function)(*arguments)
        assert status == 0, f"{function}: CUresult {status}"

    @property
    def name(self) -> str:
        """The device's name."""
        text = ctypes.create_string_buffer(128)
        self("cuDeviceGetName", text, 128, self.device)
        return text.value.decode()

    @property
    def capability(self) -> int:
        """Its compute capability, times ten."""
        found = ctypes.c_int(), ctypes.c_int()
        for number, attribute in zip(found, (_MAJOR, _MINOR), strict=True):
            self("cuDeviceGetAttribute", ctypes.byref(number), attribute, self.device)
        return 10 * found[0].value + found[1].value

    @contextmanager
    def memory(self, *contents: bytes) -> Iterator[list[ctypes.c_uint64]]:
        """Device memory that holds these bytes, freed at the end."""
        held = []
        try:
            for content in contents:
                at = ctypes.c_uint64()
                self("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(len(content)))
                held.append(at)
                self("cuMemcpyHtoD_v2", at, content, ctypes.c_size_t(len(content)))
            yield held
        finally:
            for at in held:
                self("cuMemFree_v2", at)

    def read(self, at: ctypes.c_uint64, count: int) -> bytes:
        """Bytes of device memory, once all that was launched has ended."""
        self("cuCtxSynchronize")
        found = ctypes.create_string_buffer(count)
        self("cuMemcpyDtoH_v2", found, at, ctypes.c_size_t(count))
        return found.raw

    @contextmanager
    def kernel(self, code: bytes, name: str, shared_bytes: int) -> Iterator[ctypes.c_void_p]:
        """A kernel of machine code, allowed so much shared memory."""
        module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        self("cuModuleLoadData", ctypes.byref(module), code)
        try:
            self("cuModuleGetFunction", ctypes.byref(kernel), module, name.encode())
            self("cuFuncSetAttribute", kernel, _MAX_DYNAMIC_SHARED, shared_bytes)
            yield kernel
        finally:
            self("cuModuleUnload", module)

    def launch(
        self,
        kernel: ctypes.c_void_p,
        grid: tuple[int, int],
        threads: int,
        shared_bytes: int,
        values: Sequence[Any],
        stream: int | None = None,
    ) -> None:
        """One launch of a kernel on these arguments."""
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        blocks = (*grid, 1, threads, 1, 1)
        self("cuLaunchKernel", kernel, *blocks, shared_bytes, ctypes.c_void_p(stream), pointers, None)
