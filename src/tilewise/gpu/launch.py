"""Machine code on a device: arrays there and back, kernels launched, every call checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewise.gpu.device import Gpu, checked, driver, package

Array = np.ndarray[Any, Any]


class LoadedKernel:
    """A kernel that is loaded on a device."""

    def __init__(self, session: Session, handle: Any, shared: int) -> None:
        self._session, self._handle, self._shared = session, handle, shared

    def __call__(self, blocks: int, threads: int, *arguments: Any) -> None:
        """Launch, and return at once: `Session.wait` waits. Arguments are NumPy scalars and buffers."""
        core = package("cuda.core")
        config = core.LaunchConfig(grid=blocks, block=threads, shmem_size=self._shared)
        core.launch(self._session.stream, config, self._handle, *arguments)


class Session:
    """A device made current, with one stream on which all work is in order."""

    def __init__(self, gpu: Gpu) -> None:
        core = package("cuda.core")
        self.gpu = gpu
        self._device = core.Device(gpu.index)
        self._device.set_current()
        self.stream = self._device.create_stream()

    def kernel(self, code: bytes, name: str, *, shared: int = 0) -> LoadedKernel:
        """Return a kernel of some machine code, with as many bytes of dynamic shared memory."""
        (kernel,) = self.kernels(code, [name], shared=shared)
        return kernel

    def kernels(self, code: bytes, names: Sequence[str], *, shared: int = 0) -> list[LoadedKernel]:
        """Return kernels of one piece of machine code."""
        module = package("cuda.core").ObjectCode.from_cubin(code)
        handles = [module.get_kernel(name) for name in names]
        for handle in handles:
            self._allow(handle, shared)
        return [LoadedKernel(self, handle, shared) for handle in handles]

    def empty(self, size: int) -> Any:
        """Return a buffer of the device of that many bytes."""
        return self._device.allocate(max(size, 16), stream=self.stream)

    def upload(self, array: Array) -> Any:
        """Return a buffer of the device with a copy of an array."""
        array = np.ascontiguousarray(array)
        buffer = self.empty(array.nbytes)
        self.wait()  # the stream orders the allocation, but not the copy
        if array.nbytes:
            checked(driver().cuMemcpyHtoD(int(buffer.handle), array.ctypes.data, array.nbytes))
        return buffer

    def download(self, buffer: Any, dtype: str, shape: tuple[int, ...]) -> Array:
        """Return the content of a buffer of the device as an array, when all work is done."""
        array = np.empty(shape, dtype)
        self.wait()
        checked(driver().cuMemcpyDtoH(array.ctypes.data, int(buffer.handle), array.nbytes))
        return array

    def wait(self) -> None:
        """Wait for all work; raise an error of the device."""
        self.stream.sync()

    def _allow(self, handle: Any, shared: int) -> None:
        """Request shared memory beyond 48 KB for a kernel."""
        if shared <= 48 * 1024:
            return
        names = driver()
        attribute = names.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        device = checked(names.cuDeviceGet(self.gpu.index))
        kernel = names.CUkernel(int(handle.handle))
        checked(names.cuKernelSetAttribute(attribute, shared, kernel, device))
