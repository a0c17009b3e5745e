"""The emitted wgmma kernels, run on a Hopper GPU: the exact product on integer-valued random data.

    PYTHONPATH=src:. python -m tests.codegen.wgmma_on_device --random 300 --bench

It needs PyTorch, NVRTC and a GPU of compute capability 9.0; pytest does not run it. Values are whole numbers,
so small that every sum is exact in its accumulator, and results are compared with the product in float64. D
is poisoned before each launch. --random adds kernels that are drawn at random. Where there is nvcc, the C++
of the host is compiled and run too, and with --bench the rate of a large product is measured. The exit code
is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.codegen import nvrtc
from tests.codegen.wgmma_cases import CASES, Case, random_cases

from tilewise.codegen.wgmma import Operand, Plan, kernel_source, planned
from tilewise.codegen.wgmma.boxes import copy_of
from tilewise.codegen.wgmma.kernel import host_source

DEVICE = "cuda"
_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_EXACT = {"f16": 1 << 11, "e4m3": 1 << 13, "e5m2": 1 << 13}
"""Below what sums are exact: f16 has 11 bits, and of 8-bit floats the core keeps some 13."""
_LARGEST = {"e4m3": 15, "e5m2": 7, "bf16": 100, "f16": 100, "tf32": 100}
"""Whole numbers up to here that the type has all of."""


def main() -> int:
    """Every case, and a table of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--random", type=int, default=0, help="so many more kernels, drawn at random")
    parser.add_argument("--bench", action="store_true", help="time a large product as well")
    args = parser.parse_args()
    import torch

    torch.manual_seed(args.seed)
    torch.zeros(1, device=DEVICE)  # makes the context current
    library = nvrtc.load()
    assert library is not None, "there is no NVRTC"
    driver = Driver()
    print(f"{torch.cuda.get_device_name()}, seed {args.seed}")
    wrong = _all_of(CASES, driver, library)
    wrong += not _a_wrong_step_is_noticed(driver, library)
    wrong += _host_parts()
    if args.bench:
        bench(driver, library)
    if args.random:
        print(f"drawn at random, seed {args.seed}; those that differ are shown")
        wrong += _all_of(tuple(random_cases(args.random, args.seed)), driver, library, shown=False)
    return 1 if wrong else 0


def _all_of(cases: tuple[Case, ...], driver: Driver, library: ctypes.CDLL, shown: bool = True) -> int:
    """Compile, run, compare, print a line each; how many differ."""
    wrong = 0
    for i, case in enumerate(cases):
        plan = replace(case.plan, name=f"kernel_{i}")
        data = Data(plan, case)
        code, said = nvrtc.compile_to_cubin(library, kernel_source(plan), "--gpu-architecture=sm_90a")
        differ = data.differences(
            lambda out, plan=plan, code=code, data=data: driver.run(code, plan, data, out)
        )
        wrong += bool(differ)
        verdict = "exact" if not differ else f"{differ} of {data.size} differ"
        if shown or differ or said.strip():
            print(f"{i:3} {case}  [{data.m} x {data.n} x {data.k}]  {verdict}  {said.strip()}", flush=True)
    print(f"{len(cases) - wrong} of {len(cases)} kernels give the exact product; {wrong} do not", flush=True)
    return wrong


def _a_wrong_step_is_noticed(driver: Driver, library: ctypes.CDLL) -> bool:
    """A kernel whose second instruction reads the first one's K again must differ."""
    case = next(case for case in CASES if "b + 2)" in kernel_source(case.plan))
    plan = replace(case.plan, name="mutant")
    source = kernel_source(plan).replace("b + 2)", "b)")
    code, _ = nvrtc.compile_to_cubin(library, source, "--gpu-architecture=sm_90a")
    data = Data(plan, case)
    differ = data.differences(lambda out: driver.run(code, plan, data, out))
    print(f"a kernel with a wrong step: {differ} of {data.size} differ, as they must")
    return differ > 0


# -- data -----------------------------------------------------------------------------------------


class Data:
    """A and B of a problem on the device, as the kernel reads them, and the product."""

    def __init__(self, plan: Plan, case: Case) -> None:
        self.m, self.n, self.k = (
            extent * many for extent, many in zip((plan.m, plan.n, plan.k), case.tiles, strict=True)
        )
        self.size = self.m * self.n
        self.accumulator = plan.accumulator.name
        a, b = (_numbers(own, rows, self.k, plan) for own, rows in ((plan.a, self.m), (plan.b, self.n)))
        self.expected = a.double() @ b.double().T
        self.a, self.b = (_stored(own, values) for own, values in ((plan.a, a), (plan.b, b)))

    def differences(self, launch: Any) -> int:
        """Elements of D that are not the product, after `launch` has written it."""
        import torch

        bytes_each = 2 if self.accumulator == "f16" else 4
        out = torch.full((self.size * bytes_each,), 0xCD, dtype=torch.uint8, device=DEVICE)
        launch(out)
        torch.cuda.synchronize()
        kind = {"f16": torch.float16, "f32": torch.float32, "s32": torch.int32}[self.accumulator]
        found = out.view(kind).reshape(self.m, self.n).double()
        return int((found != self.expected).sum())


def _numbers(own: Operand, rows: int, k: int, plan: Plan) -> Any:
    """Whole numbers whose products can be summed exactly, no zeros but for bits."""
    import torch

    name = own.input.name
    if name == "b1":
        return torch.randint(0, 2, (rows, k), device=DEVICE)
    if name in ("s8", "u8"):
        low, high = (-128, 128) if name == "s8" else (0, 256)
        return torch.randint(low, high, (rows, k), device=DEVICE)
    bound = min(
        _EXACT.get(plan.accumulator.name, 1 << 22), _EXACT.get(name, 1 << 22) if name[0] == "e" else 1 << 22
    )
    largest = min(int((bound / k) ** 0.5), _LARGEST[name])
    assert largest >= 1, (own, k)
    sign = torch.randint(0, 2, (rows, k), device=DEVICE) * 2 - 1
    return torch.randint(1, largest + 1, (rows, k), device=DEVICE) * sign


def _stored(own: Operand, values: Any) -> Any:
    """The bytes of an operand in global memory."""
    import torch

    name = own.input.name
    if name == "b1":
        weights = 2 ** torch.arange(8, device=DEVICE)
        values = (values.reshape(len(values), -1, 8) * weights).sum(-1)
    kinds = {
        "f16": torch.float16,
        "bf16": torch.bfloat16,
        "tf32": torch.float32,
        "e4m3": torch.float8_e4m3fn,
        "e5m2": torch.float8_e5m2,
        "s8": torch.int8,
    }
    kind = kinds.get(name, torch.uint8)
    typed = values.float().to(kind) if name[0] in "fbte" and name != "b1" else values.to(kind)
    assert (typed.double() == values.double()).all()  # each value is one of the type
    return (typed if own.major == "k" else typed.T).contiguous()


# -- the driver -------------------------------------------------------------------------------------


class Driver:
    """The CUDA driver through ctypes, every call checked."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")

    def __call__(self, function: str, *arguments: Any) -> None:
        status = getattr(self._library, function)(*arguments)
        assert status == 0, f"{function}: CUresult {status}"

    def run(self, code: bytes, plan: Plan, data: Data, out: Any, times: int = 1) -> float:
        """Launch a kernel that many times; milliseconds of one."""
        import torch

        module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        self("cuModuleLoadData", ctypes.byref(module), code)
        self("cuModuleGetFunction", ctypes.byref(kernel), module, plan.called.encode())
        self("cuFuncSetAttribute", kernel, _MAX_DYNAMIC_SHARED, plan.shared_bytes)
        values = [
            self._operand(plan.a, data.a, data.m, data.k),
            self._operand(plan.b, data.b, data.n, data.k),
            ctypes.c_uint64(out.data_ptr()),
            *map(ctypes.c_int, (data.m, data.n, data.k)),
        ]
        pointers = (ctypes.c_void_p * len(values))(
            *(value.value if isinstance(value, Aligned) else ctypes.addressof(value) for value in values)
        )
        grid = (data.n // plan.n, data.m // plan.m, 1)
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(times):
            self(
                "cuLaunchKernel",
                kernel,
                *grid,
                *(plan.threads, 1, 1),
                plan.shared_bytes,
                stream,
                pointers,
                None,
            )
        end.record()
        torch.cuda.synchronize()
        self("cuModuleUnload", module)
        return float(start.elapsed_time(end)) / times

    def _operand(self, own: Operand, values: Any, rows: int, k: int) -> Any:
        if own.load != "tma":
            return ctypes.c_uint64(values.data_ptr())
        made, numbers = Aligned(), copy_of(own, rows, k).tensor_map.numbers
        self(
            "cuTensorMapEncodeTiled",
            ctypes.c_void_p(made.value),
            numbers["tensorDataType"],
            numbers["tensorRank"],
            ctypes.c_void_p(values.data_ptr()),
            (ctypes.c_uint64 * 5)(*numbers["globalDim"]),
            (ctypes.c_uint64 * 5)(*numbers["globalStrides"]),
            (ctypes.c_uint32 * 5)(*numbers["boxDim"]),
            (ctypes.c_uint32 * 5)(*numbers["elementStrides"]),
            *(numbers[word] for word in ("interleave", "swizzle", "l2Promotion", "oobFill")),
        )
        return made


class Aligned:
    """128 bytes at an address that is a multiple of 128."""

    def __init__(self) -> None:
        self._room = ctypes.create_string_buffer(256)
        self.value = -(-ctypes.addressof(self._room) // 128) * 128


# -- the host's part --------------------------------------------------------------------------------


def _host_parts() -> int:
    """Some cases by the C++ that makes the tensor maps and launches; how many are wrong."""
    if shutil.which("nvcc") is None:
        print("there is no nvcc: the host's part was not run")
        return 0
    wrong = 0
    chosen = [*[case for case in CASES if case.asked.get("load") != "copy"][::4], CASES[0]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hosts.cu"
        plans = [replace(case.plan, name=f"host_{i}") for i, case in enumerate(chosen)]
        texts = [host_source(plan) for plan in plans]
        heads = sorted(
            {line for text in texts for line in text.splitlines() if line.startswith("#include <c")}
        )
        spaced = [
            f"namespace space_{i} {{\n{text}\n}}".replace(
                "cudaError_t launch_", 'extern "C" cudaError_t launch_'
            )
            for i, text in enumerate(
                "\n".join(line for line in text.splitlines() if not line.startswith("#include <c"))
                for text in texts
            )
        ]
        path.write_text("\n".join([*heads, *spaced]))
        arch = ["-gencode", "arch=compute_90a,code=sm_90a"]
        flags = ["-std=c++17", *arch, "-shared", "-Xcompiler", "-fPIC", "-lcuda"]
        stubs = Path(shutil.which("nvcc") or "").resolve().parent.parent / "lib64/stubs"
        command = ["nvcc", *flags, f"-L{stubs}", "-o", "hosts.so", "hosts.cu"]
        if subprocess.run(command, cwd=folder, check=False).returncode:
            print("the host's part does not compile")
            return 1
        library = ctypes.CDLL(str(Path(folder) / "hosts.so"))
        for plan, case in zip(plans, chosen, strict=True):
            data = Data(plan, case)
            launch = getattr(library, f"launch_{plan.name}")

            def call(out: Any, launch: Any = launch, data: Data = data) -> None:
                addresses = [ctypes.c_void_p(part.data_ptr()) for part in (data.a, data.b, out)]
                status = launch(*addresses, data.m, data.n, data.k, None)
                assert status == 0, f"cudaError {status}"

            differ = data.differences(call)
            wrong += bool(differ)
            print(f"host: {case}  {'exact' if not differ else f'{differ} of {data.size} differ'}")
    print(f"{len(chosen) - wrong} of {len(chosen)} launched by their C++ host give the exact product")
    return wrong


# -- speed --------------------------------------------------------------------------------------------


def bench(driver: Driver, library: ctypes.CDLL, size: int = 8192, times: int = 20) -> None:
    """TFLOP/s of some kernels on a square product of bf16, and of the vendor's library."""
    asked: list[tuple[tuple[int, int, int], dict[str, Any]]] = [
        ((128, 128, 64), {"load": "copy"}),
        ((128, 128, 64), {"stages": 1}),
        ((128, 128, 64), {"stages": 3}),
        ((128, 128, 64), {"stages": 6}),
        ((128, 256, 64), {"stages": 4}),
        ((192, 192, 64), {"stages": 4}),
        ((128, 256, 64), {"stages": 4, "a_from": "reg"}),
    ]
    for tile, more in asked:
        plan = planned(tile, "bf16", name="bench", **more)
        whole = tuple(-(-size // extent) for extent in tile)
        data = Data(plan, Case(tile, ("bf16",), more, whole))  # type: ignore[arg-type]
        code, _ = nvrtc.compile_to_cubin(library, kernel_source(plan), "--gpu-architecture=sm_90a")
        print(
            f"bench: {plan.m}x{plan.n}x{plan.k} {more}: {_timed(driver, plan, code, data, times)}", flush=True
        )
    print(f"bench: torch {_of_the_library(size, times):.0f} TFLOP/s")


def _timed(driver: Driver, plan: Plan, code: bytes, data: Data, times: int) -> str:
    """The rate of a kernel once it is warm, and whether its product is exact."""
    rates = []

    def launch(out: Any) -> None:
        driver.run(code, plan, data, out, 3)
        rates.append(2 * data.m * data.n * data.k / driver.run(code, plan, data, out, times) / 1e9)

    differ = data.differences(launch)
    return f"{rates[0]:.0f} TFLOP/s, {f'{differ} differ' if differ else 'exact'}"


def _of_the_library(size: int, times: int) -> float:
    import torch

    a, b = (torch.randint(-3, 4, (size, size), device=DEVICE).bfloat16() for _ in range(2))
    for _ in range(3):
        a @ b.T
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(times):
        a @ b.T
    end.record()
    torch.cuda.synchronize()
    return 2 * size**3 / (float(start.elapsed_time(end)) / times) / 1e9


if __name__ == "__main__":
    sys.exit(main())
