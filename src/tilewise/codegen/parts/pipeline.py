"""Parts of kernels on Hopper that load by TMA and multiply by wgmma: barriers, boxes, matrices, sums."""

from __future__ import annotations

from collections.abc import Sequence

from tilewise.codegen.parts.template import filled, listed
from tilewise.core.dtypes import DType

TMA_TYPES = {"bf16": "BFLOAT16", "f16": "FLOAT16", "f32": "FLOAT32", "tf32": "FLOAT32", "s32": "INT32"}
"""{type: its name in a tensor map}; types of 8 bits are moved as UINT8."""

BARRIER = 8
"""Bytes of an mbarrier."""

MAP = """\
#ifndef CUDA_VERSION // cuda.h has it
struct alignas(128) CUtensorMap { unsigned long long opaque[16]; };
#endif"""

BARRIERS = """\
// ---- barriers ----------------------------------------------------------------------------------

__device__ __forceinline__ void init(unsigned barrier, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(barrier), "r"(arrivals) : "memory");
}

// The barrier will count so many bytes, and its one arrival is this.
__device__ __forceinline__ void expect(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
        :: "r"(barrier), "r"(bytes) : "memory");
}

$arrive

// Until the phase of that parity is over.
__device__ __forceinline__ void wait(unsigned barrier, unsigned parity)
{
    unsigned over = 0;
    while (!over)
        asm volatile(
            "{\\n"
            ".reg .pred p;\\n"
            "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\\n"
            "selp.u32 %0, 1, 0, p;\\n"
            "}"
            : "=r"(over) : "r"(barrier), "r"(parity) : "memory");
}

// The stages in turn; the parity changes each time around.
struct Ring {
    unsigned stage = 0, parity = 0;
    __device__ __forceinline__ void next() { if (++stage == $stages) { stage = 0; parity ^= 1; } }
};"""

ARRIVE = """\
// One arrival at a barrier of this block.
__device__ __forceinline__ void arrive(unsigned barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(barrier) : "memory");
}"""

FETCH = """\
// The box of a tensor map at ($at), to shared memory; the barrier counts its bytes.
__device__ __forceinline__ void fetch(
    unsigned to, const CUtensorMap &map, unsigned barrier, $given)
{
    asm volatile(
        "cp.async.bulk.tensor.${rank}d.shared::cluster.global.mbarrier::complete_tx::bytes\\n"
        "[%0], [%1, {$slots}], [%2];"
        :: "r"(to), "l"(&map), "r"(barrier), $operands : "memory");
}"""

STORE = """\
// A box of $name, from shared memory.
__device__ __forceinline__ void store(unsigned from, const CUtensorMap &map, $given)
{
    asm volatile(
        "cp.async.bulk.tensor.${rank}d.global.shared::cta.bulk_group [%1, {$slots}], [%0];"
        :: "r"(from), "l"(&map), $operands : "memory");
}"""

PUT = """\
// Four 8 x 8 matrices to shared memory: eight lanes have the addresses of the rows of each.
__device__ __forceinline__ void put(unsigned at, unsigned a, unsigned b, unsigned c, unsigned d)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
        :: "r"(at), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}"""

TOUCHED = """\
#pragma unroll
for (unsigned r = 0; r < $sums; ++r) // nothing reads a sum before it is there
    asm volatile("" : $registers :: "memory");"""


def barriers(stages: int, arrive: str = ARRIVE) -> str:
    """Return the functions of barriers, and the ring of stages."""
    return filled(BARRIERS, {"stages": stages, "arrive": arrive})


def fetch(rank: int) -> str:
    """Return the function that loads a box of a tensor of so many dimensions."""
    return filled(FETCH, coordinates(rank, 3))


def store(name: str, rank: int) -> str:
    """Return the function that stores a box."""
    return filled(STORE, {"name": name, **coordinates(rank, 2)})


def coordinates(rank: int, first: int) -> dict[str, object]:
    """Return the slots of a request's coordinates, operands of its asm statement from `first` on."""
    numbers = range(rank)
    return {
        "rank": rank,
        "at": listed("x#", numbers),
        "given": listed("int x#", numbers),
        "slots": listed("%#", range(first, first + rank)),
        "operands": listed('"r"(x#)', numbers),
    }


def touched(sums: Sequence[str], count: int, letter: str = "f") -> str:
    """Return the lines after which the sums of a chain may be read: the compiler moves no read above them."""
    registers = ", ".join(f'"+{letter}"({own}[r])' for own in sums)
    return filled(TOUCHED, {"sums": count, "registers": registers})


def tma_type(dtype: DType) -> str:
    """Return the name of a type in a tensor map.

    >>> tma_type(DType.of("e4m3"))
    'UINT8'
    """
    return TMA_TYPES.get(dtype.name, "UINT8")
