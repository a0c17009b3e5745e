"""The parts of kernels that never change, CUDA C++; the text of a kernel fills in each $name."""

from __future__ import annotations

PRELUDE = """\
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned u32; typedef unsigned long long u64;
struct alignas(16) V16 { u32 x[4]; };
"""
"""The kernels' names for integers, and for a vector."""

FETCHED = {
    "V16": """\
// What is at an address of the source. The 128 bytes around it come to the L2 cache as well, for who asks
// next.
__device__ __forceinline__ V16 fetched(const u8* at)
{
#if __CUDA_ARCH__ >= 750
    V16 x;
    asm volatile("ld.global.nc.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.x[0]), "=r"(x.x[1]), "=r"(x.x[2]), "=r"(x.x[3]) : "l"(at));
    return x;
#else
    return *(const V16*)at;
#endif
}""",
    "u32": """\
// What is at an address of the source. The 256 bytes around it come to the L2 cache as well, for who asks
// next.
__device__ __forceinline__ u32 fetched(const u32* at)
{
#if __CUDA_ARCH__ >= 800
    u32 x;
    asm volatile("ld.global.nc.L2::256B.u32 %0, [%1];"
                 : "=r"(x) : "l"(at));
    return x;
#else
    return *(const u32*)at;
#endif
}""",
}
"""The functions by which kernels read a vector, or a word, of the source."""

TILE = """\
$prelude

$functions

extern "C" __global__ void __launch_bounds__($bounds)
$name(const u8* __restrict__ source, u8* __restrict__ target$sizes)
{
    $shared
    $head
    $origins
    const $wide from = $from, into = $into;
    $read
    __syncthreads();
    $write
}
"""
"""The kernel of a tile."""

AT_ONCE = """\
// Threads that a multiprocessor has at once.
#if __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ / 100 == 10
#define MOVE_AT_ONCE 2048
#else
#define MOVE_AT_ONCE 1024
#endif
"""

PART = """\
// The 16 bytes at an address, those of them that are in the storage, which goes to `end`.
__device__ __forceinline__ V16 part(const u8* at, const u8* source, const u8* end)
{
    V16 v = {};
    for (int i = 0; i < 16; ++i)
        if (at + i >= source && at + i < end) v.x[i / 4] |= (u32)at[i] << i % 4 * 8;
    return v;
}
"""

SPREAD = """\
// 8 bytes of a storage, in the first half of a vector.
__device__ __forceinline__ V16 eight(const u8* at)
{
    const u64 x = *(const u64*)at;
    return V16{{(u32)x, (u32)(x >> 32)}};
}

// The 16 elements of 8 bytes, a byte each.
__device__ __forceinline__ V16 spread(u32 low, u32 high)
{
    const u32 a = low & 0x0f0f0f0fu, b = low >> 4 & 0x0f0f0f0fu;
    const u32 c = high & 0x0f0f0f0fu, d = high >> 4 & 0x0f0f0f0fu;
    return V16{{__byte_perm(a, b, 0x5140), __byte_perm(a, b, 0x7362),
                __byte_perm(c, d, 0x5140), __byte_perm(c, d, 0x7362)}};
}

// And back.
__device__ __forceinline__ u64 packed(V16 v)
{
    const u32 low = __byte_perm(v.x[0] | v.x[0] >> 4, v.x[1] | v.x[1] >> 4, 0x6420);
    const u32 high = __byte_perm(v.x[2] | v.x[2] >> 4, v.x[3] | v.x[3] >> 4, 0x6420);
    return (u64)high << 32 | low;
}

// Some bits of 8 bytes; what else is in their words is other threads'.
__device__ __forceinline__ void put(u32* words, u64 x, u64 mask)
{
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
        const u32 own = (u32)(mask >> 32 * i), bits = (u32)(x >> 32 * i);
        if (own == 0xffffffffu) words[i] = bits;
        else if (own) {
            atomicAnd(words + i, bits | ~own);
            atomicOr(words + i, bits & own);
        }
    }
}
"""

WORDS_IN_ORDER = """\
// A vector that was gathered from one of its words on.
__device__ __forceinline__ V16 in_order(V16 v, int first)
{
    if (first & 1) v = V16{{v.x[3], v.x[0], v.x[1], v.x[2]}};
    if (first & 2) v = V16{{v.x[2], v.x[3], v.x[0], v.x[1]}};
    return v;
}
"""

ELEMENTS_IN_ORDER = """\
// A vector each of whose words was gathered from one of its elements on.
__device__ __forceinline__ V16 in_order(V16 v, int first)
{
    for (int i = 0; i < 4; ++i) v.x[i] = __funnelshift_r(v.x[i], v.x[i], -$bits * first);
    return v;
}
"""

PACKED = {
    1: """\
    V16 out;
    out.x[0] = __byte_perm(__byte_perm(e0, e1, 0x0040), __byte_perm(e2, e3, 0x0040), 0x5410);
    out.x[1] = __byte_perm(__byte_perm(e4, e5, 0x0040), __byte_perm(e6, e7, 0x0040), 0x5410);
    out.x[2] = __byte_perm(__byte_perm(e8, e9, 0x0040), __byte_perm(e10, e11, 0x0040), 0x5410);
    out.x[3] = __byte_perm(__byte_perm(e12, e13, 0x0040), __byte_perm(e14, e15, 0x0040), 0x5410);
""",
    2: """\
    V16 out;
    out.x[0] = __byte_perm(e0, e1, 0x5410);
    out.x[1] = __byte_perm(e2, e3, 0x5410);
    out.x[2] = __byte_perm(e4, e5, 0x5410);
    out.x[3] = __byte_perm(e6, e7, 0x5410);
""",
    4: """\
    V16 out;
    ((u32*)&out)[0] = e0;
    ((u32*)&out)[1] = e1;
    ((u32*)&out)[2] = e2;
    ((u32*)&out)[3] = e3;
""",
    8: """\
    V16 out;
    ((u64*)&out)[0] = e0;
    ((u64*)&out)[1] = e1;
""",
    16: """\
    V16 out;
    out = e0;
""",
}
"""Elements e0, e1, ... put into one vector, by the bytes of an element."""

TURNED = {
    2: """\
    V16 out0, out1;
    out0.x[0] = __byte_perm(w0, w1, 0x5410);
    out1.x[0] = __byte_perm(w0, w1, 0x7632);
    out0.x[1] = __byte_perm(w2, w3, 0x5410);
    out1.x[1] = __byte_perm(w2, w3, 0x7632);
    out0.x[2] = __byte_perm(w4, w5, 0x5410);
    out1.x[2] = __byte_perm(w4, w5, 0x7632);
    out0.x[3] = __byte_perm(w6, w7, 0x5410);
    out1.x[3] = __byte_perm(w6, w7, 0x7632);
""",
    4: """\
    V16 out0, out1, out2, out3;
    const u32 a0 = __byte_perm(w0, w1, 0x5140), b0 = __byte_perm(w2, w3, 0x5140);
    const u32 c0 = __byte_perm(w0, w1, 0x7362), d0 = __byte_perm(w2, w3, 0x7362);
    out0.x[0] = __byte_perm(a0, b0, 0x5410);
    out1.x[0] = __byte_perm(a0, b0, 0x7632);
    out2.x[0] = __byte_perm(c0, d0, 0x5410);
    out3.x[0] = __byte_perm(c0, d0, 0x7632);
    const u32 a1 = __byte_perm(w4, w5, 0x5140), b1 = __byte_perm(w6, w7, 0x5140);
    const u32 c1 = __byte_perm(w4, w5, 0x7362), d1 = __byte_perm(w6, w7, 0x7362);
    out0.x[1] = __byte_perm(a1, b1, 0x5410);
    out1.x[1] = __byte_perm(a1, b1, 0x7632);
    out2.x[1] = __byte_perm(c1, d1, 0x5410);
    out3.x[1] = __byte_perm(c1, d1, 0x7632);
    const u32 a2 = __byte_perm(w8, w9, 0x5140), b2 = __byte_perm(w10, w11, 0x5140);
    const u32 c2 = __byte_perm(w8, w9, 0x7362), d2 = __byte_perm(w10, w11, 0x7362);
    out0.x[2] = __byte_perm(a2, b2, 0x5410);
    out1.x[2] = __byte_perm(a2, b2, 0x7632);
    out2.x[2] = __byte_perm(c2, d2, 0x5410);
    out3.x[2] = __byte_perm(c2, d2, 0x7632);
    const u32 a3 = __byte_perm(w12, w13, 0x5140), b3 = __byte_perm(w14, w15, 0x5140);
    const u32 c3 = __byte_perm(w12, w13, 0x7362), d3 = __byte_perm(w14, w15, 0x7362);
    out0.x[3] = __byte_perm(a3, b3, 0x5410);
    out1.x[3] = __byte_perm(a3, b3, 0x7632);
    out2.x[3] = __byte_perm(c3, d3, 0x5410);
    out3.x[3] = __byte_perm(c3, d3, 0x7632);
""",
}
"""Words w0, w1, ... of neighbours in the source turned into vectors of as many target runs, by the elements
of a word."""
