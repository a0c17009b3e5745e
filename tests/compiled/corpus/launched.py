"""The program under the profiler: launches one after the other, as a file says.

    python -m tests.compiled.corpus.launched LAUNCHES.json ADDRESSES.json

It needs the driver and NumPy. Each launch is as `launches.json` has it, with the path of its machine code as
`code`; an argument can also be `{"type": "bytes", "hex": ...}`, a structure by value. The addresses of the
pointers are written to the second file: {launch: one for each argument, or null}.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.codegen.driver import Driver
from tests.compiled.corpus.contents import contents

SCALARS = {"i32": ctypes.c_int32, "i64": ctypes.c_int64, "f32": ctypes.c_float}
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


def main(launches: str, addresses: str) -> None:
    """Launch all, write where their arguments were, and print a word when they are done."""
    asked = json.loads(Path(launches).read_text(encoding="utf-8"))
    driver, modules, found = Driver(), {}, {}
    for launch in asked:
        code = launch["code"]
        if code not in modules:
            modules[code] = ctypes.c_void_p()
            driver("cuModuleLoadData", ctypes.byref(modules[code]), Path(code).read_bytes())
        try:
            found[launch["name"]] = launched(driver, modules[code], launch)
        except AssertionError as error:
            raise RuntimeError(f"{launch['name']}: {error}") from error
    Path(addresses).write_text(json.dumps(found), encoding="utf-8")
    print(f"{len(asked)} launches")


def launched(driver: Driver, module: ctypes.c_void_p, launch: Mapping[str, Any]) -> list[int | None]:
    """Launch once and wait; return the address of each argument that is a pointer."""
    kernel = ctypes.c_void_p()
    driver("cuModuleGetFunction", ctypes.byref(kernel), module, launch["kernel"].encode())
    if launch["shared"] > 48 * 1024:
        driver("cuFuncSetAttribute", kernel, MAX_DYNAMIC_SHARED, launch["shared"])
    pointers = [arg["type"] == "ptr" for arg in launch["args"]]
    with ExitStack() as memory:
        values: list[Any] = []
        for place, arg in enumerate(launch["args"]):
            if arg["type"] != "ptr":
                values.append(scalar(arg))
            elif not arg["elements"]:
                values.append(ctypes.c_uint64(0))
            else:
                content = contents(arg, launch["name"], place).tobytes()
                values += memory.enter_context(driver.memory(content))
        sizes = (*launch["grid"], *launch["block"], launch["shared"])
        driver("cuLaunchKernel", kernel, *sizes, None, packed(values), None)
        driver("cuCtxSynchronize")
    return [value.value if pointer else None for value, pointer in zip(values, pointers, strict=True)]


def scalar(argument: Mapping[str, Any]) -> Any:
    """Return an argument by value, as C has it."""
    if argument["type"] == "bytes":
        data = bytes.fromhex(argument["hex"])
        return (ctypes.c_uint8 * len(data)).from_buffer_copy(data)
    return SCALARS[argument["type"]](argument["value"])


def packed(values: Sequence[Any]) -> Any:
    """Return the addresses of values, as the driver takes them."""
    return (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))


if __name__ == "__main__":
    main(*sys.argv[1:])
