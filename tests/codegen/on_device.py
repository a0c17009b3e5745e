"""The emitted code, run on a GPU: CUDA built by nvcc, Triton by Triton, every row against the definition.

    python -m tests.codegen.on_device --layouts 400 --triton 40
    TRITON_DEBUG=1 python -m tests.codegen.on_device --named 200 --values 50

It needs nvcc, PyTorch and Triton, and a GPU; pytest does not run it. The last lines count the machine
instructions of the typical functions, without what loads and stores take. `--named` runs the functions of
layouts with names instead, on so many values of these; Triton checks its asserts with TRITON_DEBUG=1.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.codegen.compiled import fields_of
from tests.codegen.definition import Calls, random_calls
from tests.codegen.instructions import TYPICAL, digit_by_digit
from tests.codegen.named_calls import named_calls

from tilewise import parse
from tilewise.codegen import source_of

_WRAP = 1 << 64


def main() -> None:
    """Run both, and print how many functions and rows were right."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--layouts", type=int, default=400)
    parser.add_argument("--triton", type=int, default=40)
    parser.add_argument("--named", type=int, default=0)
    parser.add_argument("--values", type=int, default=50)
    parser.add_argument("--seed", type=int, default=11)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if args.named:
            for lang, check in (("cuda", check_cuda), ("triton", check_triton)):
                named = list(named_calls(lang, args.named, args.values, args.seed))
                check(named, Path(folder))
                print(f"{lang}: {len(named)} functions of names, {_rows(named)} rows right", flush=True)
            return
        cuda = list(random_calls("cuda", args.layouts, args.seed))
        check_cuda(cuda, Path(folder))
        print(f"cuda: {len(cuda)} functions, {_rows(cuda)} rows right")
        triton = [calls for calls in random_calls("triton", args.triton, args.seed) if calls.rows[0]]
        check_triton(triton, Path(folder))
        print(f"triton: {len(triton)} functions, {_rows(triton)} rows right")
        for name, by_digit, ours in machine_instructions(Path(folder)):
            print(f"| {name} | {by_digit} | {ours} |")


def _rows(all_calls: Sequence[Calls]) -> int:
    return sum(len(calls.rows) for calls in all_calls)


# -- CUDA ------------------------------------------------------------------------------------------


def check_cuda(all_calls: Sequence[Calls], folder: Path) -> None:
    """One kernel a function, one thread a row."""
    import struct

    parts = ["#include <cstdint>", "#include <cstdio>", "#include <vector>"]
    runs = []
    for calls in all_calls:
        name, given, got = calls.source.name, len(calls.source.arguments), len(calls.source.results)
        arguments = ", ".join(f"in[{given} * row + {i}]" for i in range(given))
        stores = " ".join(f"out[{got} * row + {i}] = v{field};" for i, field in enumerate(fields_of(calls)))
        parts += [
            calls.source.code,
            f"__global__ void k_{name}(const int64_t *in, int64_t *out, int rows) {{",
            "    const int row = blockIdx.x * blockDim.x + threadIdx.x; if (row >= rows) return;",
            f"    const auto v = {name}({arguments}); {stores} }}",
        ]
        runs.append(f"    run(k_{name}, {len(calls.rows)}, {given}, {got});")
    parts += [_RUN, "int main() {", *runs, "    return 0; }"]
    (folder / "program.cu").write_text("\n".join(parts))
    command = ["nvcc", "-std=c++17", "-arch=native", "-o", "program", "program.cu"]
    subprocess.run(command, cwd=folder, check=True)
    numbers = [number % _WRAP for calls in all_calls for row in calls.rows for number in row]
    ran = subprocess.run(
        [folder / "program"],
        input=struct.pack(f"<{len(numbers)}Q", *numbers),
        capture_output=True,
        check=True,
    )
    found = iter(struct.unpack(f"<{len(ran.stdout) // 8}q", ran.stdout))
    for calls in all_calls:
        unsigned = [result.low is not None and result.low >= 0 for result in calls.source.results]
        calls.judge([tuple(next(found) % _WRAP if u else next(found) for u in unsigned) for _ in calls.rows])
    assert next(found, None) is None


_RUN = """
template <class Kernel> void run(Kernel kernel, int rows, int given, int got)
{
    std::vector<int64_t> in(rows * given + 1), out(rows * got);
    if (fread(in.data(), 8, rows * given, stdin) != size_t(rows * given)) return;
    int64_t *d_in, *d_out;
    cudaMalloc(&d_in, in.size() * 8);
    cudaMalloc(&d_out, out.size() * 8);
    cudaMemcpy(d_in, in.data(), in.size() * 8, cudaMemcpyHostToDevice);
    kernel<<<(rows + 127) / 128, 128>>>(d_in, d_out, rows);
    if (cudaMemcpy(out.data(), d_out, out.size() * 8, cudaMemcpyDeviceToHost) != cudaSuccess) return;
    fwrite(out.data(), 8, out.size(), stdout);
    cudaFree(d_in);
    cudaFree(d_out);
}
"""


def machine_instructions(folder: Path) -> Iterator[tuple[str, int, int]]:
    """(name, digit by digit, ours): SASS instructions beyond those of a kernel that only copies."""
    parts = ["#include <stdint.h>"]
    for i, (text, flat) in enumerate(TYPICAL.values()):
        layout = parse(text)
        source = source_of(layout, "cuda", flat=flat, name=f"ours{i}")
        plain = digit_by_digit(layout, f"plain{i}", flat)
        parts += [source.code, f"__device__ {plain}".replace("__device__ typedef", "typedef")]
        given = ", ".join(f"in[{j}]" for j in range(len(source.arguments)))
        single = len(source.results) == 1
        fields = [""] if single else [f".{result.name}" for result in source.results]
        for kind in ("ours", "plain"):
            stores = " ".join(f"out[{j}] = v{field};" for j, field in enumerate(fields))
            head = f'extern "C" __global__ void {kind}_{i}(const unsigned *in, unsigned *out)'
            parts.append(f"{head} {{ const auto v = {kind}{i}({given}); {stores} }}")
        copies = " ".join(f"out[{j}] = in[{j % len(source.arguments)}] ;" for j in range(len(fields)))
        loads = " + ".join(f"in[{j}]" for j in range(len(source.arguments)))
        parts.append(
            f'extern "C" __global__ void copy_{i}(const unsigned *in, unsigned *out)'
            f" {{ const unsigned v = {loads}; {copies} out[0] = v; }}"
        )
    text = "\n".join(parts)
    text = re.sub(r"__device__ (uint32_t|plain\d+_t) (plain\d+)\(", r"__device__ \1 \2(", text)
    text = re.sub(r"^(plain\d+_t plain\d+\()", r"__device__ \1", text, flags=re.MULTILINE)
    (folder / "counts.cu").write_text(text)
    subprocess.run(
        ["nvcc", "-std=c++17", "-arch=sm_90", "-cubin", "-o", "counts.cubin", "counts.cu"],
        cwd=folder,
        check=True,
    )
    dump = subprocess.run(
        ["cuobjdump", "-sass", "counts.cubin"], cwd=folder, capture_output=True, text=True, check=True
    ).stdout
    counts: dict[str, int] = {}
    current = ""
    for line in dump.splitlines():
        label = re.search(r"Function : (\w+)", line)
        if label:
            current = label[1]
        elif re.search(r"/\*[0-9a-f]{4}\*/\s+[A-Z]", line) and "NOP" not in line and "BRA" not in line:
            counts[current] = counts.get(current, 0) + 1
    for i, name in enumerate(TYPICAL):
        base = counts[f"copy_{i}"]
        yield name, counts[f"plain_{i}"] - base, counts[f"ours_{i}"] - base


# -- Triton ----------------------------------------------------------------------------------------


def check_triton(all_calls: Sequence[Calls], folder: Path) -> None:
    """One kernel a function, a thread for four rows."""
    import torch
    import triton

    text = ["import triton", "import triton.language as tl", ""]
    for calls in all_calls:
        code = calls.source.code
        text.append(code[code.index("@triton.jit") :])
        text.append(_triton_kernel(calls))
    module = _module(folder / "functions.py", "\n\n".join(text))
    for calls in all_calls:
        width = torch.int64 if "tl.int64" in calls.source.code else torch.int32
        rows = torch.tensor(calls.rows, dtype=width, device="cuda")
        out = torch.empty((len(calls.source.results), len(calls.rows)), dtype=torch.int64, device="cuda")
        grid = (triton.cdiv(len(calls.rows), 512),)
        getattr(module, f"k_{calls.source.name}")[grid](rows, out, len(calls.rows), BLOCK=512)
        calls.judge([tuple(row) for row in out.T.tolist()])


def _triton_kernel(calls: Calls) -> str:
    given, got = len(calls.source.arguments), len(calls.source.results)
    row = "tl.minimum(r, n - 1)"
    loads = [f"    a{i} = tl.load(rows + {row} * {given} + {i})" for i in range(given)]
    results = ", ".join(f"v{i}" for i in range(got))
    call = f"    {results} = {calls.source.name}({', '.join(f'a{i}' for i in range(given))})"
    stores = [f"    tl.store(out + {i} * n + r, v{i}, mask=r < n)" for i in range(got)]
    head = f"@triton.jit\ndef k_{calls.source.name}(rows, out, n, BLOCK: tl.constexpr):"
    return "\n".join([head, "    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)", *loads, call, *stores])


def _module(path: Path, text: str) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("functions", path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module  # type: ignore[no-any-return]


if __name__ == "__main__":
    main()
