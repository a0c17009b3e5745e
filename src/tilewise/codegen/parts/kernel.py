"""A kernel in CUDA C++ and its launch: texts with slots, some of them for an engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tilewise.codegen.parts.plan import GemmPlan
from tilewise.codegen.parts.template import REGISTER, check_free, each, element, filled, wrapped

KERNEL = """\
// D [M, N] = A [M, K] B [N, K]^T, by ${plan.instruction}
//
$facts
//
// Launch it on a grid of (N / ${plan.n}, M / ${plan.m}) blocks of ${plan.threads} threads \
with ${plan.shared_bytes} bytes of dynamic
// shared memory$needs M, N and K are multiples of ${plan.m}, ${plan.n} and ${plan.k}.

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
    const unsigned row = blockIdx.y * ${plan.m}, column = blockIdx.x * ${plan.n}, tiles = K / ${plan.k};
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
        $guard
        "${plan.instruction}\\n"
        "{$d},\\n"
        "$read;$closed"
        : $outputs
        : $inputs);
}"""

PROGRAM = """\
$includes
#include <cuda_runtime.h>

$kernel

// The host's part, for nvcc $flags. A, B and D are on the device.
cudaError_t launch_$name(const void *A, const void *B, void *D, int M, int N, int K, cudaStream_t stream)
{
    if (M % ${plan.m} || N % ${plan.n} || K % ${plan.k})
        return cudaErrorInvalidValue;
    $maps
    const cudaError_t allowed =
        cudaFuncSetAttribute($name, cudaFuncAttributeMaxDynamicSharedMemorySize, ${plan.shared_bytes});
    if (allowed != cudaSuccess)
        return allowed;
    $name<<<dim3(N / ${plan.n}, M / ${plan.m}), ${plan.threads}, ${plan.shared_bytes}, stream>>>(\
$arguments, ($element *)D, M, N, K);
    return cudaGetLastError();
}"""


def kernel_text(plan: GemmPlan, facts: Iterable[str], slots: Mapping[str, object]) -> str:
    """Return the program: self-contained, without headers."""
    accumulator = REGISTER[plan.accumulator.name][0]
    lines = "\n".join(f"// {line}" for line in facts)
    usual = {"facts": lines, "accumulator": accumulator, "base": BASE, "counted": "", "warp": ""}
    return _named(KERNEL, plan, {**usual, **slots})


def host_text(plan: GemmPlan, slots: Mapping[str, object]) -> str:
    """Return kernel and host together, one .cu file."""
    return _named(PROGRAM, plan, {"includes": "", "maps": "", **slots})


def _named(template: str, plan: GemmPlan, slots: dict[str, object]) -> str:
    """Return the text with the name of the kernel; refuse a name that the text has for something else."""
    slots |= {"plan": plan, "element": element(plan.out), "name": plan.called}
    check_free(plan.name, filled(template, slots | {"name": "", "kernel": ""}))
    return filled(template, slots)


def multiply(plan: GemmPlan, count: int, slots: Mapping[str, object]) -> str:
    """Return the function around one instruction, which adds to `count` registers of D."""
    kind, constraint = REGISTER[plan.accumulator.name]
    outputs = each(f'"+{constraint}"(d[#])', range(count))
    common = {
        "plan": plan,
        "accumulator": kind,
        "count": count,
        "broken": "",
        "guard": "",
        "closed": "",
        "d": in_asm(range(count)),
        "outputs": wrapped(outputs, "\n          "),
    }
    return filled(MULTIPLY, {**common, **slots})


def in_asm(numbers: range) -> str:
    """Return operands of an asm statement as its text names them, in lines."""
    return wrapped(each("%#", numbers), '\\n"\n        "')
