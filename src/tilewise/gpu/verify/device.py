"""What a report says of the device that was asked, and of the packages through which."""

from __future__ import annotations

import datetime
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tilewise.gpu.device import Gpu, package

PACKAGES = ("cuda-core", "cuda-bindings", "numpy")


def described(gpu: Gpu) -> dict[str, Any]:
    """Name, driver, versions and the day, as JSON."""
    return {
        "name": gpu.name,
        "capability": ".".join(map(str, gpu.capability)),
        "driver": _driver(),
        "NVRTC": ".".join(map(str, package("cuda.bindings.nvrtc").nvrtcVersion()[1:])),
        **{name: _version(name) for name in PACKAGES},
        "Python": platform.python_version(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def _driver() -> str:
    """The kernel's driver where NVML tells it, and the CUDA version that it speaks."""
    _, speaks = package("cuda.bindings.driver").cuDriverGetVersion()
    cuda = f"CUDA {speaks // 1000}.{speaks % 1000 // 10}"
    try:
        kernel = package("cuda.core.system").get_kernel_mode_driver_version()
    except Exception:  # no NVML: the binding says so in kinds of its own
        return cuda
    return ".".join(f"{number:02}" for number in kernel) + f", {cuda}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
