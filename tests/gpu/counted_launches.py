"""The program under the profiler: launches one after the other, as a file says.

    python -m tests.gpu.counted_launches CODE.cubin LAUNCHES.json

It needs the driver and nothing else. A launch is a warp of one block.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path

from tests.codegen.driver import Driver
from tools.counters.kernels import MOST_PATTERNS, WINDOW

from tilewise.hardware.limits import LANES

GLOBAL_BYTES = 2 * WINDOW


class Request(ctypes.Structure):
    """The argument of every kernel, as its text has it."""

    _fields_ = (
        ("addresses", ctypes.c_uint32 * LANES * MOST_PATTERNS),
        ("times", ctypes.c_uint32 * MOST_PATTERNS),
    )


def main(code: str, launches: str) -> None:
    """All launches, and a word when they are done."""
    asked = json.loads(Path(launches).read_text(encoding="utf-8"))
    driver = Driver()
    module, kernels = ctypes.c_void_p(), {}
    driver("cuModuleLoadData", ctypes.byref(module), Path(code).read_bytes())
    for name in {launch["kernel"] for launch in asked}:
        kernels[name] = ctypes.c_void_p()
        driver("cuModuleGetFunction", ctypes.byref(kernels[name]), module, name.encode())
    with driver.memory(bytes(GLOBAL_BYTES)) as (buffer,):
        for launch in asked:
            request = requested(launch)
            driver.launch(kernels[launch["kernel"]], (1, 1), LANES, WINDOW, (request, buffer))
        driver("cuCtxSynchronize")
    print(f"{len(asked)} launches")


def requested(launch: dict) -> Request:
    """The argument of a launch."""
    request = Request()
    for row, addresses in zip(request.addresses, launch["addresses"], strict=True):
        row[:] = addresses
    request.times[:] = launch["times"]
    return request


if __name__ == "__main__":
    main(*sys.argv[1:])
