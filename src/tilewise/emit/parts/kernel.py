"""A kernel in CUDA C++ and its launch: texts with slots, of which an engine fills its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewise.emit.parts.plan import Plan
from tilewise.emit.parts.template import REGISTER, check_free, each, element, filled, wrapped

KERNEL = """\
// D [M, N] = A [M, K] B [N, K]^T, by $instruction
//
$facts
//
// Launch it on a grid of (N / $n, M / $m) blocks of $threads threads with $shared_bytes bytes of dynamic
// shared memory$needs M, N and K are multiples of $m, $n and $k.

$places

$head
$multiply

$counted
extern "C" __global__ void __launch_bounds__($bounds) $name(
    $parameters
    $element *D, int M, int N, int K)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    $base
    const unsigned thread = threadIdx.x, $threads_by;
    $warp
    const unsigned row = blockIdx.y * $m, column = blockIdx.x * $n, tiles = K / $k;
    $before
    $accumulator d$registers = {};

    $loop

    $store
}"""

BASE = "const unsigned base = (unsigned)__cvta_generic_to_shared(shared);"

MULTIPLY = """\
// d += A B^T, $shape, by $those.
__device__ __forceinline__ void multiply(${broken}$accumulator (&d)[$count], $a, $b)
{
    asm volatile(
        "$instruction\\n"
        "{$d},\\n"
        "$read;"
        : $outputs
        : $inputs);
}"""

PROGRAM = """\
$includes

$kernel

// The host's part, for nvcc $flags. A, B and D are on the device.
cudaError_t launch_$name(const void *A, const void *B, void *D, int M, int N, int K, cudaStream_t stream)
{
    if (M % $m || N % $n || K % $k)
        return cudaErrorInvalidValue;
    $maps
    const cudaError_t allowed =
        cudaFuncSetAttribute($name, cudaFuncAttributeMaxDynamicSharedMemorySize, $shared_bytes);
    if (allowed != cudaSuccess)
        return allowed;
    $name<<<dim3(N / $n, M / $m), $threads, $shared_bytes, stream>>>($arguments, ($element *)D, M, N, K);
    return cudaGetLastError();
}"""


def kernel_text(plan: Plan, facts: Sequence[str], slots: Mapping[str, object]) -> str:
    """Return the program: self-contained, no header is included."""
    all_slots = _common(plan) | {
        "facts": "\n".join(f"// {line}" for line in facts),
        "accumulator": REGISTER[plan.accumulator.name][0],
        **slots,
    }
    check_free(plan.name, filled(KERNEL, all_slots | {"name": ""}))
    return filled(KERNEL, all_slots)


def multiply(plan: Plan, count: int, slots: Mapping[str, object]) -> str:
    """Return the function around one instruction, which adds to `count` registers of D."""
    kind, constraint = REGISTER[plan.accumulator.name]
    outputs = each(f'"+{constraint}"(d[#])', range(count))
    common = {
        "accumulator": kind,
        "count": count,
        "broken": "",
        "d": in_asm(range(count)),
        "outputs": wrapped(outputs, "\n          "),
    }
    return filled(MULTIPLY, {**common, **slots})


def in_asm(numbers: range) -> str:
    """Return operands of an asm statement as its text names them, in lines."""
    return wrapped(each("%#", numbers), '\\n"\n        "')


def host_text(
    plan: Plan,
    kernel: str,
    flags: str,
    arguments: Sequence[str],
    maps: str = "",
    includes: Sequence[str] = (),
) -> str:
    """Return kernel and host together, one .cu file."""
    slots = _common(plan) | {
        "includes": "\n".join([*includes, "#include <cuda_runtime.h>"]),
        "kernel": kernel,
        "flags": flags,
        "maps": maps,
        "arguments": ", ".join(arguments),
    }
    check_free(plan.name, filled(PROGRAM, slots | {"kernel": "", "name": ""}))
    return filled(PROGRAM, slots)


def _common(plan: Plan) -> dict[str, object]:
    return {
        "name": plan.called,
        "m": plan.m,
        "n": plan.n,
        "k": plan.k,
        "threads": plan.threads,
        "shared_bytes": plan.shared_bytes,
        "element": element(plan.out),
    }
