"""Files of kernels: by NVRTC for every architecture, and whole, with the host's part, on the CPU."""

from __future__ import annotations

import ctypes
import re
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from tests.codegen import nvrtc
from tests.codegen.test_c import tool
from tests.moves import shim
from tests.moves.pairs import WORDS, Case, naive

from tilewise import LayoutError, R, Refused, S, Swizzle
from tilewise.hardware.limits import BLOCKS
from tilewise.moves import plan
from tilewise.moves.named import core_matrices, pack_scales_128x4, permute, tile_for_wgmma, transpose
from tilewise.moves.source import alignment, host_source, kernel_source, name_of

PLANS = {
    "transpose": transpose(256, 128).plan("bf16"),
    "transpose of bytes, more shared memory than is static": transpose(8192, 8192).plan("u8"),
    "transpose of primes": transpose(131, 257).plan("u8"),
    "transpose of 16 bytes": transpose(64, 48).plan("b128"),
    "transpose of doubles, of unaligned storages": transpose(60, 52).plan("f64", aligned=8),
    "permute": permute((3, 5, 7, 16, 6), (4, 2, 0, 3, 1)).plan("f32"),
    "scales": pack_scales_128x4(300, 5).plan(fill=b"\x7f"),
    "swizzled": tile_for_wgmma(128, 128, "bf16").plan(),
    "from core matrices": plan(core_matrices(64, 64, "bf16").target, S[64, 64], "bf16"),
    "4 bits": transpose(23, 21).plan("u4", fill=b"\x33"),
    "4 bits one by one": plan(Swizzle(2, 0, 3) @ S[15, 63], S[(15, 63) : (1, 16)], "u4", fill=b"\x33"),
    "4 bits in long rows": transpose(131, 203).plan("u4", fill=b"\x33"),
    "4 bits in rows of whole bytes": transpose(90, 50).plan("u4"),
    "copies and gaps": plan(S[30, 7], S[(30, 7) : (1, 32)] + R[2:256] + 5, "s16", fill=b"\x01\x02"),
    "swizzles that part vectors": plan(Swizzle(3, 0, 3) @ S[16, 64], S[(16, 64) : (1, 16)], "f16"),
    "no common digits": plan(S[(6, 4) : (9, 2)], S[(4, 6) : (1, 5)], "f32", fill=b"\0\0\x80\x3f"),
    "no common digits, of 4 bits": plan(S[(6, 4) : (9, 2)], S[(4, 6) : (1, 5)], "u4", fill=b"\x33"),
    "no digits, of 4 bits": plan(S[1], S[1] + 1, "u4"),
    "gaps of 16 bytes": plan(S[9], S[9:3], "b128", fill=bytes(range(16))),
}
COPY = plan(S[64], S[64] + 16, "f32", fill=b"\0\0\x80\x3f")
ARCHITECTURES = ("sm_80", "sm_90a", "sm_100a")


@pytest.mark.slow
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_nvrtc_takes_them_all(arch):
    library = nvrtc.load()
    if library is None:
        pytest.skip("there is no NVRTC")
    program = "\n".join(kernel_source(own, f"move_{number}") for number, own in enumerate(PLANS.values()))
    ptx = nvrtc.compile_to_ptx(library, program, f"-arch={arch}", nvrtc.MINIMAL)
    assert re.findall(r"\.entry (\w+)", ptx) == [f"move_{number}" for number in range(len(PLANS))]


PAPER = """
#include <barrier>
#include <cstring>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>
static std::barrier<> *all;
static void gate() { all->arrive_and_wait(); }
enum cudaError_t { cudaSuccess, cudaErrorMisalignedAddress, cudaErrorIllegalAddress };
enum Attribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
enum Way { cudaMemcpyDeviceToDevice };
typedef struct stream *cudaStream_t;
static int allowed = 48 * 1024;
template <class Kernel> cudaError_t cudaFuncSetAttribute(Kernel, Attribute, int bytes)
{
    allowed = bytes;
    return cudaSuccess;
}
static cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t)
{
    std::memset(to, value, bytes);
    return cudaSuccess;
}
static cudaError_t cudaMemcpyAsync(void *to, const void *of, size_t bytes, Way, cudaStream_t)
{
    std::memcpy(to, of, bytes);
    return cudaSuccess;
}
static cudaError_t cudaGetLastError() { return cudaSuccess; }
static cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
template <class T> cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes)
{
    std::memcpy(to, &symbol, bytes);
    return cudaSuccess;
}
template <class T> cudaError_t cudaMemcpyToSymbol(T &symbol, const void *of, size_t bytes)
{
    std::memcpy(&symbol, of, bytes);
    return cudaSuccess;
}
static void launched(unsigned blocks, unsigned threads, int bytes, std::function<void()> kernel)
{
    if (bytes > allowed) std::abort();
    std::barrier<> own(threads);
    all = &own;
    meet = gate;
    std::vector<std::thread> some;
    for (unsigned t = 0; t < threads; ++t)
        some.emplace_back([=] {
            threadIdx = {t, 0, 0};
            for (unsigned b = 0; b < blocks; ++b) {
                if (t == 0) blockIdx = {b, 0, 0};
                gate();
                kernel();
                gate();
            }
        });
    for (auto &thread : some) thread.join();
}
"""
"""CUDA's runtime as far as a host's part calls it."""


def on_paper(own, name):
    """A file with its host's part as C++ of the CPU, and a function that calls it from elsewhere."""
    text = host_source(own, name).replace("#include <cuda_runtime.h>", "")
    dynamic = "extern __shared__ __align__(128) u8 tile[];"
    text = text.replace(dynamic, f"static __align__(128) u8 tile[{own.launch[2]}];")
    launch = re.compile(r"([\w:]+)<<<(\d+), (\d+), (\d+), stream>>>\((.*)\);")
    text = launch.sub(r"launched(\2, \3, \4, [=] { \1(\5); });", text)
    assert "<<<" not in text
    called = f"{{ return launch_{name}(source, target, nullptr); }}"
    found = f'extern "C" int found_{name}() {{ return {name}_parts::{name}_fault.found; }}\n' * own.checked
    return f'{text}extern "C" int run_{name}(const void *source, void *target) {called}\n{found}'


SHORT, LONG = (plan(S[64, 6], S[(64, 6) : (1, pitch)], "bf16", checked=True) for pitch in (64, 72))
BEYOND = replace(SHORT, chosen=LONG.way)
"""A kernel for a larger target than there is."""

CHECKED = {"checked": SHORT, "checked, and beyond": BEYOND}
ON_PAPER = {name: own for name, own in PLANS.items() if own.launch[0] <= 32} | {"a copy": COPY} | CHECKED


def stored(own):
    """Random bytes for the source of a plan, and a target in which nothing is what it shall be."""
    sizes = [-(-side.size * own.pair.bits // 8) for side in (own.pair.source, own.pair.target)]
    source, target = map(shim.aligned, sizes)
    source[:] = np.random.default_rng(sizes[0]).integers(0, 256, sizes[0], dtype=np.uint8)
    target[:] = 0x5A
    return source, target


def moved_plainly(own, source, room):
    """Return what the naive move makes of bytes, the rest filled."""
    asked = Case(*own.pair.layouts, own.dtype, own.pair.box, 0)
    target = np.frombuffer(own.fill * -(-room // len(own.fill)), np.uint8)[:room].copy()
    if own.dtype.bits == 4:
        halves = [np.stack([bytes_ & 15, bytes_ >> 4], axis=1).reshape(-1) for bytes_ in (source, target)]
        naive(asked, *halves)
        return halves[1][0::2] | halves[1][1::2] << 4
    word = WORDS[own.dtype.bits]
    naive(asked, source.view(word), target.view(word))
    return target


def test_there_is_much_to_run():
    kinds = {own.kind for own in ON_PAPER.values()}
    fills = {len(set(own.fill)) > 1 for own in ON_PAPER.values() if own.fills}
    assert kinds == {"copy", "tile", "gather"}
    assert fills == {True, False}
    assert len(ON_PAPER) > 10


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """All files with their hosts' parts, in one program: nothing of one is in another's way."""
    folder = tmp_path_factory.mktemp("files")
    files = (on_paper(own, f"move_{number}") for number, own in enumerate(ON_PAPER.values()))
    (folder / "program.cpp").write_text("\n".join([shim._HEAD, PAPER, *files]))
    options = ["-std=c++20", "-O0", "-w", "-fno-strict-aliasing", "-shared", "-fPIC", "-pthread"]
    command = [tool("g++"), *options, "-o", "program.so", "program.cpp"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:4_000]
    return ctypes.CDLL(str(folder / "program.so"))


@pytest.mark.parametrize("name", [name for name in ON_PAPER if "beyond" not in name])
def test_files_move_what_a_move_moves(library, name):
    own, number = ON_PAPER[name], [*ON_PAPER].index(name)
    source, target = stored(own)
    run = getattr(library, f"run_move_{number}")
    assert run(ctypes.c_void_p(source.ctypes.data), ctypes.c_void_p(target.ctypes.data)) == 0
    assert target.tobytes() == moved_plainly(own, source, target.size).tobytes()


def test_what_is_beyond_a_storage_is_told_each_time_and_forgotten(library, capfd):
    number = [*ON_PAPER].index("checked, and beyond")
    run, found = (getattr(library, f"{word}_move_{number}") for word in ("run", "found"))
    source, target = stored(BEYOND)
    for _ in range(2):
        assert run(ctypes.c_void_p(source.ctypes.data), ctypes.c_void_p(target.ctypes.data)) == 2
        assert found() == 0
        said = capfd.readouterr().err
        assert re.search(r"16 bytes at byte \d+ of the target, which has 768: thread \d+ of", said), said


def test_pointers_that_are_not_aligned_are_refused(library):
    own = ON_PAPER["transpose"]
    source, target = stored(own)
    number = [*ON_PAPER].index("transpose")
    run = getattr(library, f"run_move_{number}")
    assert run(ctypes.c_void_p(source.ctypes.data + 8), ctypes.c_void_p(target.ctypes.data)) == 1
    assert set(target) == {0x5A}


def test_words_of_a_fill_are_aligned_where_a_copy_has_no_kernel():
    assert "(unsigned *)target" in host_source(COPY)
    assert alignment(COPY) == 4
    assert "Both pointers are multiples of 4 bytes" in host_source(COPY)
    assert "% 4)\n        return cudaErrorMisalignedAddress" in host_source(COPY)
    by_bytes = plan(S[64], S[64] + 16, "f32")
    assert alignment(by_bytes) == 1
    assert "Misaligned" not in host_source(by_bytes)


@pytest.mark.parametrize("ask", [kernel_source, host_source], ids=["kernel", "host"])
def test_a_kernel_has_no_more_blocks_than_a_grid(ask):
    large = plan(S[1000003, 999983], S[(1000003, 999983) : (999979, 1000033)], "u8")
    assert large.launch[0] > BLOCKS
    with pytest.raises(Refused, match="a grid has at most 2147483647") as no:
        ask(large)
    assert no.value.code == "TW602"


def test_a_copy_has_no_kernel():
    with pytest.raises(Refused) as no:
        kernel_source(COPY)
    assert no.value.code == "TW602"


@pytest.mark.parametrize("name", ["V16", "source", "7up", "a b", "class"])
def test_names_that_the_text_has_are_refused(name):
    own = PLANS["transpose"]
    with pytest.raises(LayoutError) as refused:
        name_of(own, name)
    assert refused.value.code == "TW401"


def test_what_stands_above_a_kernel():
    own = plan(S[30, 7] + 2, S[(30, 8) : (1, 64)], "s16", shape=(30, 7), fill=b"\1\2", aligned=2)
    head = kernel_source(own).partition("namespace")[0].splitlines()
    assert head[:4] == [
        "// move_s16: from S[(30, 7) : (7, 1)] + 2",
        "//           to   S[(30, 8) : (1, 64)]",
        "//           of   s16, the box (30, 7)",
        "//",
    ]
    numbered = [line for line in head if line.startswith("// 1. fill 478 elements of the target with 513: ")]
    blocks, threads, _ = own.launch
    assert len(numbered) == 1
    assert head[-5:] == [
        "//",
        f"// Launched with {blocks} blocks of {threads} threads.",
        "// Before it, the target's 956 bytes are filled with 01 02.",
        "// Both pointers are multiples of 2 bytes, and their memory does not overlap.",
        "",
    ]


def test_what_need_not_be_said_is_not_said():
    assert "// Both pointers may be any addresses, and" in kernel_source(plan(S[4], S[4:2], "u8"))
    whole = host_source(plan(S[4], S[4], "u8"))
    assert "//\n\n" not in whole
    assert "a new storage is one copy of memory\n\n// The host's part" in whole
