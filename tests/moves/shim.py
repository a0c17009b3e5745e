"""Kernels on the CPU: their text compiled by g++, the threads of a block as threads, block after block.

A block's threads meet at barriers as on the device, and shared memory is one array of the block, so that a
machine without a GPU tests the text that a GPU runs. A block may use nothing of what it finds in that array.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

_HEAD = r"""
template <class T> static T max(T a, T b) { return a < b ? b : a; }
template <class T> static T min(T a, T b) { return b < a ? b : a; }
struct Dim { unsigned x, y, z; };
static thread_local Dim threadIdx;
static Dim blockIdx;
static void (*meet)();
#define __global__
#define __host__
#define __device__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __restrict__
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
static void __syncthreads() { meet(); }
static void __syncwarp() {}
static void spoiled(unsigned char* at, unsigned long bytes)
{
    if (threadIdx.x == 0) __builtin_memset(at, 0xA5, bytes);
    __syncthreads();
}
static unsigned __byte_perm(unsigned a, unsigned b, unsigned order)
{
    unsigned long long both = (unsigned long long)b << 32 | a;
    unsigned made = 0;
    for (int i = 0; i < 4; ++i) made |= (unsigned)(both >> 8 * (order >> 4 * i & 7) & 255) << 8 * i;
    return made;
}
static unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by)
{
    return (unsigned)(((unsigned long long)high << 32 | low) >> (by & 31));
}
static unsigned atomicAnd(unsigned* at, unsigned mask) { return __sync_fetch_and_and(at, mask); }
static unsigned atomicExch(unsigned* at, unsigned value) { return __sync_lock_test_and_set(at, value); }
static unsigned atomicOr(unsigned* at, unsigned bits) { return __sync_fetch_and_or(at, bits); }
"""

_TAIL = r"""
extern "C" void enter(unsigned thread, unsigned block, void (*gate)())
{
    threadIdx = {thread, 0, 0};
    if (thread == 0) blockIdx = {block, 0, 0};
    if (thread == 0) meet = gate;
}
"""

_RUNNER = r"""
#include <barrier>
#include <thread>
#include <vector>
typedef unsigned char u8;
static std::barrier<>* all;
static void gate() { all->arrive_and_wait(); }
extern "C" void run(void (*enter)(unsigned, unsigned, void (*)()), void (*kernel)(const u8*, u8*),
                    unsigned blocks, unsigned count, const u8* source, u8* target)
{
    std::barrier<> own(count);
    all = &own;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < count; ++t)
        threads.emplace_back([=] {
            for (unsigned b = 0; b < blocks; ++b) {
                enter(t, b, gate);
                gate();
                kernel(source, target);
                gate();
            }
        });
    for (auto& thread : threads) thread.join();
}
"""
"""The code that runs the threads: apart from kernels, so that the library's headers are compiled once."""

_SHARED = re.compile(r"__shared__ (?:__align__\(\d+\) )?\w+ (\w+)(?:\[[^;]*\])?;")

_FOLDER = tempfile.TemporaryDirectory(prefix="tilewise-kernels-")
"""Is removed when the process ends."""


def run(
    text: str, blocks: int, threads: int, source: np.ndarray, target: np.ndarray, sizes: Sequence[int] = ()
) -> ctypes.CDLL:
    """Run a kernel named `move` of a source and a target on two arrays of bytes; the program it is in.

    Sizes are more arguments of a kernel for all shapes.
    """
    if sizes:
        given = "".join(f", sizes[{place}]" for place in range(len(sizes)))
        text = re.sub(r"\bmove\(", "shaped(", text)
        called = f"void move(const u8* s, u8* t) {{ shaped(s, t{given}); }}"
        text += f'extern "C" {{ long long sizes[{len(sizes)}]; {called} }}'
    dynamic = "extern __shared__ __align__(128) u8 tile[];"
    text = text.replace(dynamic, "__shared__ __align__(128) u8 tile[1 << 18];")
    text = _SHARED.sub(r"\g<0> spoiled((unsigned char*)\1, sizeof \1);", text)
    kernel = _built(_HEAD + text + _TAIL)
    if sizes:
        (ctypes.c_longlong * len(sizes)).in_dll(kernel, "sizes")[:] = sizes
    ends = (ctypes.c_void_p(side.ctypes.data) for side in (source, target))
    _built(_RUNNER).run(kernel.enter, kernel.move, blocks, threads, *ends)
    return kernel


def _built(program: str) -> ctypes.CDLL:
    """The library of a program, compiled when it is first asked for."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++ on this machine: kernels are not run on the CPU")
    library = Path(_FOLDER.name) / f"{hashlib.sha256(program.encode()).hexdigest()[:24]}.so"
    if not library.exists():
        code = library.with_suffix(".cpp")
        code.write_text(program)
        options = ["-std=c++20", "-O1", "-w", "-fno-strict-aliasing", "-shared", "-fPIC", "-pthread"]
        subprocess.run([compiler, *options, "-o", str(library), str(code)], check=True)
    return ctypes.CDLL(str(library))


def aligned(count: int, offset: int = 0) -> np.ndarray:
    """Zeros of that many bytes, which begin `offset` bytes after a multiple of 256."""
    room = np.zeros(count + 512 + offset, np.uint8)
    start = -room.ctypes.data % 256 + offset
    return room[start : start + count]
