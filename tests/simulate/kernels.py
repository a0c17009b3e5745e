"""The kernels that run a program on a device: bytes in, one instruction or copy, bytes out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.simulate.programs import (
    ChainProgram,
    CopyProgram,
    MatrixProgram,
    MmaProgram,
    Program,
    WgmmaProgram,
)

import tilewise.gpu.verify as probes
from tilewise.gpu.verify.matrices import Matrices
from tilewise.gpu.verify.mma import MmaCase, Products
from tilewise.hardware.wgmma.instructions import Input
from tilewise.simulate.wgmma import Wgmma

TOGETHER = 8
"""Kernels of one source."""


def kernel_of(program: Program) -> str:
    """The name of a program's kernel."""
    if isinstance(program, WgmmaProgram):
        return wgmma_name(program.this, program.a is None)
    if isinstance(program, MmaProgram):
        return MmaCase(program.this).probe.kernel
    if isinstance(program, MatrixProgram):
        return Matrices.name(program.form)
    if isinstance(program, ChainProgram):
        return "tilewise_chain"
    return "tilewise_land" if program.verb == "load" else "tilewise_leave"


def sources(programs: Iterable[Program]) -> list[tuple[str, tuple[str, ...]]]:
    """CUDA C++ of all the kernels, and the names of those that each text has."""
    every = list(programs)
    wgmmas = list(dict.fromkeys((p.this, p.a is None) for p in every if isinstance(p, WgmmaProgram)))
    mmas = list(dict.fromkeys(MmaCase(p.this).probe for p in every if isinstance(p, MmaProgram)))
    forms = list(dict.fromkeys(p.form for p in every if isinstance(p, MatrixProgram)))
    found = []
    for some in _dealt(wgmmas):
        text = _WGMMA_HEAD + "\n".join(_wgmma(*one) for one in some)
        found.append((text, tuple(wgmma_name(*one) for one in some)))
    for some in _dealt(mmas):
        found.append((Products.source(some), tuple(probe.kernel for probe in some)))
    if forms:
        names = tuple(Matrices.name(form) for form in forms)
        found.append((Matrices.source(forms), names))
    if any(isinstance(p, CopyProgram | ChainProgram) for p in every):
        load = Path(probes.__file__).with_name("tma.cu").read_text(encoding="utf-8")
        names = ("tilewise_land", "tilewise_leave", "tilewise_chain")
        found.append((load + _LEAVE + _CHAIN, names))
    return found


def _dealt(every: Sequence) -> list[Sequence]:
    return [every[at : at + TOGETHER] for at in range(0, len(every), TOGETHER)]


# -- wgmma on given bytes ----------------------------------------------------------------------------

_WGMMA_HEAD = """
#define THREADS 128
"""


def wgmma_name(this: Wgmma, registers: bool) -> str:
    """The kernel's name."""
    words = [this.a, this.b, this.d, f"n{this.n}", this.a_major, this.b_major]
    flags = ["negate_a", "negate_b", "saturate"]
    words += [flag for flag in flags if getattr(this, flag)]
    return "_".join(["given", *words, "registers" if registers else "memory"])


def _wgmma(this: Wgmma, registers: bool) -> str:
    kind, letter = ("float", "f") if this.d == "f32" else ("unsigned", "r")
    count = this.registers
    outs = ", ".join(f"%{i}" for i in range(count))
    wide = 4 if registers else 1
    a = ", ".join(f"%{count + i}" for i in range(wide))
    a = f"{{{a}}}" if registers else a
    kinds = f"{this.d}.{this.a}.{this.b}"
    kinds += (".satfinite" if this.saturate else "") + (".and.popc" if this.a == "b1" else "")
    text = (
        f"wgmma.mma_async.sync.aligned.m64n{this.n}k{this.k}.{kinds} {{{outs}}}, {a}, %{count + wide}, p"
        f"{_immediates(this, registers)};"
    )
    gives = [f'"r"(a[threadIdx.x * 4 + {i}])' for i in range(4)] if registers else ['"l"(at_a)']
    gives += ['"l"(at_b)', '"r"(scale)']
    results = ", ".join(f'"+{letter}"(d[{i}])' for i in range(count))
    cast = "__uint_as_float" if kind == "float" else ""
    back = "__float_as_uint" if kind == "float" else ""
    return f"""
extern "C" __global__ void __launch_bounds__(THREADS, 1) {wgmma_name(this, registers)}(
    const uint4* image, int chunks, const unsigned* a, const unsigned* c, unsigned long long at_a,
    unsigned long long at_b, int scale, unsigned* out) {{
    extern __shared__ __align__(1024) uint4 memory[];
    if (__cvta_generic_to_shared(memory) != 1024) return;  // what descriptors say is counted from there
    for (int i = threadIdx.x; i < chunks; i += THREADS) memory[i] = image[i];
    {kind} d[{count}];
#pragma unroll
    for (int i = 0; i < {count}; ++i) d[i] = {cast}(c[threadIdx.x * {count} + i]);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    asm volatile("" : {results} :: "memory");
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{{ .reg .pred p; setp.ne.b32 p, %{count + wide + 1}, 0; {text} }}"
        : {results}
        : {", ".join(gives)});
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    asm volatile("" : {results} :: "memory");
#pragma unroll
    for (int i = 0; i < {count}; ++i) out[threadIdx.x * {count} + i] = {back}(d[i]);
}}
"""


def _immediates(this: Wgmma, registers: bool) -> str:
    """Scales of A and of B, then transpose bits, as far as the types have them."""
    if this.d == "s32":
        return ""
    words = ["-1" if negate else "1" for negate in (this.negate_a, this.negate_b)]
    if "mn" in Input.of(this.a).majors:
        majors = [this.b_major] if registers else [this.a_major, this.b_major]
        words += ["1" if major == "mn" else "0" for major in majors]
    return "".join(f", {word}" for word in words)


# -- a TMA store -------------------------------------------------------------------------------------


def _leaving() -> str:
    """A case for each rank: the box leaves shared memory."""
    cases = []
    for rank in range(1, 6):
        corner = ", ".join(f"%{2 + i}" for i in range(rank))
        gives = ", ".join(f'"r"(c[{i}])' for i in range(rank))
        cases.append(
            f"        case {rank}:\n"
            f'            asm volatile("cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group"\n'
            f'                " [%0, {{{corner}}}], [%1];" :: "l"(map), "r"(from), {gives} : "memory");\n'
            "            break;\n"
        )
    return "".join(cases)


_LEAVE = (
    """
__device__ void leave(const TensorMap* map, const Request& r, unsigned from) {
    const int* c = r.corner;
    switch (r.rank) {
"""
    + _leaving()
    + """    }
}

extern "C" __global__ void tilewise_leave(const __grid_constant__ TensorMap map, const Request request,
                                          const unsigned char* content) {
    extern __shared__ unsigned char memory[];
    const unsigned raw = static_cast<unsigned>(__cvta_generic_to_shared(memory));
    unsigned char* const base = memory + (1024 - raw % 1024) % 1024;
    for (unsigned i = threadIdx.x; i < request.window; i += blockDim.x) base[i] = content[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        leave(&map, request, static_cast<unsigned>(__cvta_generic_to_shared(base)) + request.start);
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
"""
)


# -- a tile's whole way ------------------------------------------------------------------------------

_CHAIN = """
template <bool trans>
__device__ void multiplied(unsigned from, const unsigned* rows, const unsigned* held) {
    const unsigned lane = threadIdx.x;
    unsigned a[4], b[2], d[2];
    const unsigned c[2] = {held[2 * lane], held[2 * lane + 1]};
    if (trans) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
            : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(from + rows[lane]) : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
            : "=r"(b[0]), "=r"(b[1]) : "r"(from + rows[32 + lane]) : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
            : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(from + rows[lane]) : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
            : "=r"(b[0]), "=r"(b[1]) : "r"(from + rows[32 + lane]) : "memory");
    }
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"
        " {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9};"
        : "=r"(d[0]), "=r"(d[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]));
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
        :: "r"(from + rows[64 + lane]), "r"(d[0]), "r"(d[1]) : "memory");
}

extern "C" __global__ void tilewise_chain(
    const __grid_constant__ TensorMap map, const Request request, const __grid_constant__ TensorMap out_map,
    const Request out_request, const unsigned* rows, const unsigned* held, int trans, unsigned char* out) {
    extern __shared__ unsigned char memory[];
    __shared__ alignas(8) unsigned long long state;
    const unsigned raw = static_cast<unsigned>(__cvta_generic_to_shared(memory));
    unsigned char* const base = memory + (1024 - raw % 1024) % 1024;
    const unsigned from = static_cast<unsigned>(__cvta_generic_to_shared(base));
    const unsigned barrier = static_cast<unsigned>(__cvta_generic_to_shared(&state));
    for (unsigned i = threadIdx.x; i < request.window; i += blockDim.x) {
        base[i] = static_cast<unsigned char>(request.poison);
    }
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(barrier) : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
            :: "r"(barrier), "r"(request.bytes) : "memory");
        load(&map, request, from + request.start, barrier);
    }
    passed_within(barrier, 1 << 21);
    __syncthreads();
    if (threadIdx.x < 32) {
        if (trans) multiplied<true>(from, rows, held);
        else multiplied<false>(from, rows, held);
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        leave(&out_map, out_request, from + out_request.start);
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < request.window; i += blockDim.x) out[i] = base[i];
}
"""
