"""The code of `suggest --code cute`, compiled with CuTe, and its tiles compared with ours, one by one.

    PYTHONPATH=src:. python -m tests.check.suggest_in_cute --cutlass PATH/TO/cutlass

It needs nvcc and a copy of CUTLASS, and no GPU: the layouts are evaluated on the host. pytest does not run
it. The exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.check.test_suggest import SAMPLE

from tilewise.check.suggest import Suggestion, suggest
from tilewise.codegen import source_of
from tilewise.codegen.suggested import cute_of

HEAD = """\
#include <cstdio>
#include <cute/tensor.hpp>
#include <cute/atom/mma_traits_sm90_gmma.hpp>
int wrong = 0, compared = 0;
template <class Layout, class Place>
void compare(const char *name, Layout bytes, int rows, int k, int stages, int stride, Place place)
{
    const auto layout = cute::as_position_independent_swizzle_layout(bytes);
    ++compared;
    for (int s = 0; s < stages; ++s)
        for (int i = 0; i < rows; ++i)
            for (int j = 0; j < k; ++j)
                if (unsigned(layout(i, j, s)) != place(i, j) + s * stride) {
                    printf("%s (%d, %d, %d): %d\\n", name, i, j, s, int(layout(i, j, s)));
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
    args = parser.parse_args()
    spaces, calls = [], []
    for number, case in enumerate(SAMPLE):
        operand, rows, k, dtype, major = case
        found = suggest(operand=operand, rows=rows, k=k, dtype=dtype, major=major, stages=1 + number % 2)
        text = cute_of(found)
        if text is None:
            continue
        place = source_of(found.tile, name="place").code
        spaces.append(f"namespace of_{number} {{\n{text}\n{place}\n}}")
        calls.append(_call(found, number, "-".join(map(str, case))))
    end = '    printf("%d tiles compared, %d differ\\n", compared, wrong);\n    return wrong > 0;'
    program = "\n".join([HEAD, *spaces, "int main()\n{", *calls, end, "}"])
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "program.cu").write_text(program)
        flags = "-std=c++17 -gencode arch=compute_90a,code=sm_90a --expt-relaxed-constexpr -w".split()
        include = str(args.cutlass.resolve() / "include")
        subprocess.run(
            [args.nvcc, *flags, "-I", include, "-o", "program", "program.cu"], cwd=folder, check=True
        )
        return subprocess.run([Path(folder) / "program"], check=False).returncode


def _call(found: Suggestion, number: int, name: str) -> str:
    space = f"of_{number}::"
    stride = found.stages.stride * 8 // found.dtype.bits
    numbers = f"{found.rows}, {found.k}, {found.stages.count}, {stride}"
    place = f"[](unsigned i, unsigned j) {{ return {space}place(i, j); }}"
    return f'    compare("{name}", {space}{found.operand}Layout{{}}, {numbers}, {place});'


if __name__ == "__main__":
    sys.exit(main())
