"""The launch that --host writes, by a compiler for the host: a device of paper notes its calls."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tests.codegen.hosts import NAMES, Host, host
from tests.codegen.test_c import STRICT, tool

PAPER = """\
#include <cstdio>
enum cudaError_t { cudaSuccess, cudaErrorInvalidValue, cudaErrorUnknown };
enum Attribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
typedef struct stream *cudaStream_t;
struct dim3 {
    unsigned x, y;
    dim3(unsigned x, unsigned y) : x(x), y(y) {}
};
static int allowed = 0;
template <class Kernel> cudaError_t cudaFuncSetAttribute(Kernel, Attribute, int bytes)
{
    allowed = bytes;
    return bytes > 232448 ? cudaErrorUnknown : cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
void launched(dim3 grid, int threads, int bytes, cudaStream_t)
{
    std::printf("%u %u %d %d %d\\n", grid.x, grid.y, threads, bytes, allowed);
}
"""

MAIN = """\
int main()
{{
    char a = 0, b = 0, d = 0;
    int said = launch_{name}(&a, &b, &d, 3 * {m}, 2 * {n}, 5 * {k}, nullptr);
    said += 10 * launch_{name}(&a, &b, &d, 3 * {m} + 1, 2 * {n}, 5 * {k}, nullptr);
    said += 100 * launch_{name}(&a, &b, &d, 3 * {m}, 2 * {n} + 1, 5 * {k}, nullptr);
    said += 1000 * launch_{name}(&a, &b, &d, 3 * {m}, 2 * {n}, 5 * {k} + 1, nullptr);
    std::printf("%d\\n", said);
}}
"""


@pytest.mark.parametrize("name", NAMES)
def test_the_grid_its_threads_and_its_bytes_are_what_is_launched(name: str, tmp_path: Path) -> None:
    launched_as_planned(host(name), tmp_path)


def launched_as_planned(host: Host, tmp_path: Path) -> None:
    plan = host.plan
    (tmp_path / "program.cpp").write_text(on_paper(host.text) + MAIN.format(**host.facts))
    command = [tool("c++", "g++", "clang++"), "-std=c++17", *STRICT, "-o", "program", "program.cpp"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:4_000]
    ran = subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=True).stdout
    bytes_ = plan.shared_bytes
    # the grid, then that every other size is refused, three times with cudaErrorInvalidValue
    assert ran == f"2 3 {plan.threads} {bytes_} {bytes_}\n1110\n"


def on_paper(text: str) -> str:
    """The host's part, with the kernel a function that takes its arguments and does nothing."""
    kernel, _, host = text.partition("// The host's part")
    head = re.search(r'extern "C" __global__ void __launch_bounds__\([^)]*\) (\w+)\(\s*([^)]*)\)', kernel)
    assert head
    types = [re.sub(r"\w+$", "", one.strip()) for one in head[2].split(",")]
    launch, count = re.subn(r"\w+<<<(.*)>>>\((.*)\);", rf"launched(\1); {head[1]}(\2);", host)
    assert count == 1
    return f"{PAPER}void {head[1]}({', '.join(types)}) {{}}\n// {launch}\n"


def test_a_wrong_grid_would_be_seen(tmp_path: Path) -> None:
    right = host(NAMES[0])
    wrong = Host(right.plan, right.text.replace("dim3(N / ", "dim3(2 * N / "))
    with pytest.raises(AssertionError, match="4 3"):
        launched_as_planned(wrong, tmp_path)
