"""The code of `--style cute`, compiled with CuTe, and its tiles compared with ours, element by element.

    PYTHONPATH=src:. python -m tests.codegen.wgmma_in_cute --cutlass PATH/TO/cutlass --part 0/4

It needs nvcc and a copy of CUTLASS, and no GPU: CuTe's layouts are evaluated on the host; the kernels are
compiled for sm_90a. pytest does not run it. The exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.codegen.wgmma_cases import CASES

from tilewise import Refused
from tilewise.codegen import source_of
from tilewise.codegen.wgmma import Operand, Plan
from tilewise.codegen.wgmma.styles import ELEMENT, cute_source

HEAD = """\
#define CUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED
#include <cstdio>
#include <cute/tensor.hpp>
int wrong = 0, compared = 0;
template <class Layout, class Place>
void compare(const char *name, Layout bytes, int rows, int k, Place place)
{
    const auto layout = cute::as_position_independent_swizzle_layout(bytes);
    ++compared;
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < k; ++j)
            if (unsigned(layout(i, j)) != place(i, j)) {
                printf("%s (%d, %d): %d, ours %d\\n", name, i, j, int(layout(i, j)), int(place(i, j)));
                ++wrong;
                return;
            }
}
"""


def main() -> int:
    """Compile, run, and say what differs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cutlass", type=Path, required=True, help="a copy of CUTLASS")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--part", default="0/1", help="which part of the cases: one of so many")
    args = parser.parse_args()
    number, of = map(int, args.part.split("/"))
    kernels, calls = [], []
    for i, case in list(enumerate(CASES))[number::of]:
        try:
            kernels.append(_kernel(case.plan, i))
        except Refused as no:
            print(f"{case}: {no.reason}")
            continue
        calls += [f"    {call.replace('NAME', str(case))}" for call in _comparisons(case.plan, i)]
    end = '    printf("%d tiles compared, %d differ\\n", compared, wrong);\n    return wrong > 0;'
    program = "\n".join([HEAD, *kernels, "int main()\n{", *calls, end, "}"])
    return _run(program, args.nvcc, args.cutlass)


def _kernel(plan: Plan, number: int) -> str:
    """A namespace with the text, a kernel that uses it, and our own places."""
    text = "\n".join(line for line in cute_source(plan).splitlines() if not line.startswith("#"))
    a, b = (ELEMENT[own.input.name] for own in (plan.a, plan.b))
    tile = f"Shape<Int<{plan.m}>, Int<{plan.k}>>{{}}"
    first = f"({a} *)shared"
    if plan.a.in_registers:
        matrix = f"make_tensor(make_gmem_ptr(({a} *)out), make_layout({tile}))"
        first = f"Mma{{}}.get_thread_slice(threadIdx.x).partition_fragment_A({matrix})"
    kernel = f"""\
__global__ void kernel(float *out)
{{
    extern __shared__ __align__(1024) unsigned char shared[];
    auto d = partition_fragment_C(Mma{{}}, Shape<Int<{plan.m}>, Int<{plan.n}>>{{}});
    clear(d);
    multiply({first}, ({b} *)(shared + {plan.offsets["B"]}), d);
    for (int i = 0; i < size(d); ++i)
        out[i] = float(d(i));
}}"""
    places = [source_of(own.tile, name=f"place_{own.name}").code for own in plan.in_shared]
    return "\n".join([f"namespace of_{number} {{", text, kernel, *places, "}"])


def _comparisons(plan: Plan, number: int) -> Iterator[str]:
    def compared(own: Operand) -> str:
        space = f"of_{number}::"
        arguments = f'"NAME {own.name}", {space}{own.name}Tile{{}}, {own.rows}, {own.k}'
        return (
            f"compare({arguments}, [](unsigned i, unsigned j) {{ return {space}place_{own.name}(i, j); }});"
        )

    yield from map(compared, plan.in_shared)


def _run(program: str, nvcc: str, cutlass: Path) -> int:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "program.cu").write_text(program)
        flags: Sequence[str] = (
            "-std=c++17 -gencode arch=compute_90a,code=sm_90a --expt-relaxed-constexpr -w".split()
        )
        command = [nvcc, *flags, "-I", str(cutlass.resolve() / "include"), "-o", "program", "program.cu"]
        subprocess.run(command, cwd=folder, check=True)
        return subprocess.run([Path(folder) / "program"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
