"""The GPU of this machine, or a plain reason why it has none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any

from tilewise.core.errors import Refused

INSTALL = "pip install 'tilewise[gpu]'"
HOPPER = (9, 0)


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU of this machine.

    >>> Gpu(0, "NVIDIA H200", (9, 0)).arch
    'sm_90a'
    """

    index: int
    name: str
    capability: tuple[int, int]

    @property
    def arch(self) -> str:
        """Return the target of the compiler; `a` for the instructions of this generation alone."""
        major, minor = self.capability
        return f"sm_{major}{minor}" + ("a" if major >= 9 else "")


def find(index: int = 0, *, capability: tuple[int, int] | None = None) -> Gpu:
    """Return the GPU of that number.

    requires       NVIDIA's packages, a driver, the GPU, and its capability if one is given
    """
    core = package("cuda.core")
    try:
        device = core.Device(index)
        major, minor = device.compute_capability
        gpu = Gpu(index, device.name, (int(major), int(minor)))
    except Exception as error:  # every binding raises its own exceptions, which do not help a caller
        raise _no_gpu(index, error) from error
    if capability is not None and gpu.capability != capability:
        wanted, found = (".".join(map(str, pair)) for pair in (capability, gpu.capability))
        raise Refused(
            "TW608",
            f"{gpu.name} has compute capability {found}; {wanted} is needed",
            witness={"name": gpu.name, "capability": found, "wanted": wanted},
            hint="wgmma is Hopper's alone: take an H100, H200 or GH200" if capability == HOPPER else "",
        )
    return gpu


def package(name: str) -> ModuleType:
    """Return a module of NVIDIA's Python packages; refuse a missing one with its installation."""
    try:
        return import_module(name)
    except ImportError as error:
        raise Refused(
            "TW608",
            f"no GPU can be reached: the Python package {name} is not installed",
            witness={"package": name},
            hint=INSTALL,
        ) from error


def _no_gpu(index: int, error: Exception) -> Refused:
    first = next(iter(str(error).strip().splitlines()), type(error).__name__)
    without_driver = type(error).__name__ == "DynamicLibNotFoundError"
    why = "no NVIDIA driver is installed" if without_driver else first
    return Refused(
        "TW608",
        f"no GPU {index} can be used here: {why}",
        witness={"gpu": index},
        hint="it takes an NVIDIA GPU and its driver; everything but `verify` works without",
    )


def driver() -> Any:
    """Return NVIDIA's binding of the driver."""
    return package("cuda.bindings.driver")


class DriverError(RuntimeError):
    """A call of the driver that failed, or a kernel that faulted."""

    def __init__(self, code: int, name: str) -> None:
        super().__init__(code, name)
        self.code, self.name = code, name

    def __str__(self) -> str:
        return f"the driver says {self.name}"


def checked(answer: tuple[Any, ...]) -> Any:
    """Return the values of a driver's answer without its status: one value, or all of them.

    refused  DriverError if the status is not 0
    """
    status, *values = answer
    if int(status):
        raise DriverError(int(status), getattr(status, "name", str(status)))
    return values[0] if len(values) == 1 else tuple(values)


@lru_cache(maxsize=64)
def context(index: int) -> int:
    """Return the context of a device that all libraries share."""
    binding = driver()
    checked(binding.cuInit(0))
    return int(checked(binding.cuDevicePrimaryCtxRetain(checked(binding.cuDeviceGet(index)))))


def in_context(
    binding: Any, wanted: int, call: Callable[..., tuple[Any, ...]], *words: Any
) -> tuple[Any, ...]:
    """Call the driver in a context, mostly the thread's already; return its answer with the status."""
    if int(checked(binding.cuCtxGetCurrent())) == wanted:
        return call(*words)
    checked(binding.cuCtxPushCurrent(wanted))
    try:
        return call(*words)
    finally:
        checked(binding.cuCtxPopCurrent())
