"""The parts of a kernel that mma.sync decides: the arrival of tiles, the loop along K, the instruction."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from tilewise.codegen.mma.fragments import fragments, matrices, shape, store
from tilewise.codegen.mma.operands import WarpTile
from tilewise.codegen.mma.plan import MmaPlan
from tilewise.codegen.parts.copies import STORE, copies, place_of
from tilewise.codegen.parts.instruction import in_asm, multiply
from tilewise.codegen.parts.template import REGISTER, check_free, each, element, filled, plus
from tilewise.hardware.architectures import NUMBERS, Architecture
from tilewise.hardware.limits import shared_bytes
from tilewise.hardware.matrices.forms import Form

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

// A and B are counted in bytes, as they are copied, and D in elements.
extern "C" __global__ void __launch_bounds__(${plan.threads}, 1) $name(
    const unsigned char *A,
    const unsigned char *B,
    $element *D, int M, int N, int K)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    $base
    const unsigned thread = threadIdx.x, lane = thread % 32;
    $warp
    const unsigned row = blockIdx.y * ${plan.m}, column = blockIdx.x * ${plan.n}, tiles = K / ${plan.k};
    $before
    $accumulator d$registers = {};

    $loop

    $store
}"""

BASE = "const unsigned base = (unsigned)__cvta_generic_to_shared(shared);"

PROGRAM = """\
#include <cuda_runtime.h>

$kernel

// The host's part, for nvcc $flags. A, B and D are on the device.
cudaError_t launch_$name(const void *A, const void *B, void *D, int M, int N, int K, cudaStream_t stream)
{
    if (M % ${plan.m} || N % ${plan.n} || K % ${plan.k})
        return cudaErrorInvalidValue;
    const cudaError_t allowed =
        cudaFuncSetAttribute($name, cudaFuncAttributeMaxDynamicSharedMemorySize, ${plan.shared_bytes});
    if (allowed != cudaSuccess)
        return allowed;
    $name<<<dim3(N / ${plan.n}, M / ${plan.m}), ${plan.threads}, ${plan.shared_bytes}, stream>>>(\
(const unsigned char *)A, (const unsigned char *)B, ($element *)D, M, N, K);
    return cudaGetLastError();
}"""

LOOP = """\
for (unsigned t = 0; t < tiles; ++t) {
    $arrive

    $stage
    #pragma unroll
    for (unsigned s = 0; s < ${plan.turns}; ++s) { // $turn_k of K
        $a
        $b
        $multiplied
    }
    $again
}"""

LOOP_AHEAD = """\
// Fragments of the turn that is multiplied, and of the next one: $turn_k of K each. The last,
// of a tile that was read before, are not used, on purpose: to leave them out would be a branch.
${plan.a.declared} a[2]$a_shape;
${plan.b.declared} b[2]$b_shape;
const auto take = [&](unsigned t, unsigned s, \
${plan.a.declared} (&a)$a_shape, ${plan.b.declared} (&b)$b_shape) {
    $stage
    $a
    $b
};
$there
take(0, 0, a[0], b[0]);
for (unsigned t = 0; t < tiles; ++t) {
    $onward
    #pragma unroll
    for (unsigned s = 0; s < ${plan.turns}; ++s) {
        if (s == $last) {
            $there
        }
        take(s == $last ? t + 1 : t, (s + 1) % ${plan.turns}, a[(s + 1) % 2], b[(s + 1) % 2]);
        $multiplied
    }
}"""

MULTIPLIED = """\
#pragma unroll
for (unsigned i = 0; i < ${plan.a.blocks}; ++i)
    #pragma unroll
    for (unsigned j = 0; j < ${plan.b.blocks}; ++j)
        multiply(d[i][j], a$set[i], b$set[j]);"""

MULTIPLIED_EACH = """\
#pragma unroll
for (unsigned c = 0; c < ${plan.span}; ++c)
    #pragma unroll
    for (unsigned i = 0; i < ${plan.a.blocks}; ++i)
        #pragma unroll
        for (unsigned j = 0; j < ${plan.b.blocks}; ++j)
            multiply(d[i][j], a$set[i][c], b$set[j][c]);"""

ROUND = """\
// Two sums, rounded.
__device__ __forceinline__ unsigned rounded(float x, float y)
{
    unsigned both;
    $asm
    return both;
}"""

AT_ONCE = 'asm("cvt.rn.${plan.out}x2.f32 %0, %2, %1;" : "=r"(both) : "f"(x), "f"(y));'
ONE_BY_ONE = """\
asm("{ .reg .b16 lo, hi; cvt.rn.f16.f32 lo, %1; cvt.rn.f16.f32 hi, %2; mov.b32 %0, {lo, hi}; }"
    : "=r"(both) : "f"(x), "f"(y));"""
TWO_AT_ONCE_SINCE = 80

NOTED = 100

GRANTED = 48 * 1024
"""Bytes of shared memory that a block has without a request."""

ALLOWED = ", which\n// cudaFuncAttributeMaxDynamicSharedMemorySize is to allow"


def kernel_source(plan: MmaPlan) -> str:
    """Return the program: self-contained, without headers.

    >>> from tilewise.codegen.mma import planned
    >>> source = kernel_source(planned((64, 64, 32), "f16"))
    >>> "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" in source, "#include" in source
    (True, False)
    """
    firsts = ", ".join(filter(None, [plan.moves(own).first for own in plan.operands]))
    has_matrices = any(plan.moves(own).vector is None for own in plan.tiles)
    slots = _arrival(plan)
    slots["loop"] = _loop(plan, slots)
    slots |= {
        "facts": "\n".join(f"// {line}" for line in _facts(plan)),
        "accumulator": REGISTER[plan.accumulator.name][0],
        "needs": f"{ALLOWED * (plan.shared_bytes > GRANTED)}, for {_architectures(plan)}.\n//",
        "places": "\n\n".join(_places(plan)),
        "head": "\n".join(_heads(plan)),
        "multiply": _multiply(plan),
        "base": BASE if plan.load == "cp.async" or has_matrices else "",
        "warp": _warp(*plan.warps),
        "before": f"const unsigned {firsts};\n" * bool(firsts) + slots["before"],
        "registers": "".join(each("[#]", (*(own.blocks for own in plan.operands), plan.registers))),
        "store": store(plan),
    }
    return _named(KERNEL, plan, slots)


def host_source(plan: MmaPlan) -> str:
    """Return kernel and host together, one .cu file.

    >>> from tilewise.codegen.mma import planned
    >>> "<<<dim3(N / 64, M / 64), 128, 24576, stream>>>" in host_source(planned((64, 64, 32), "bf16"))
    True
    """
    slots = {
        "kernel": kernel_source(plan),
        "flags": f"-arch={plan.arch}" + ("" if plan.asked else ", or a later one"),
    }
    return _named(PROGRAM, plan, slots)


def _named(template: str, plan: MmaPlan, slots: dict[str, str]) -> str:
    """Return the text with the name of the kernel; refuse a name that the text has for something else."""
    named: dict[str, object] = {**slots, "plan": plan, "element": element(plan.out), "name": plan.called}
    check_free(plan.name, filled(template, named | {"name": "", "kernel": ""}))
    return filled(template, named)


def _places(plan: MmaPlan) -> Iterator[str]:
    """Yield the functions of the layouts."""
    yield from (place_of(own, own.width).code for own in plan.operands)
    yield from (plan.moves(own).source.code for own in plan.tiles)
    yield (place_of(plan.result, plan.result.width) if plan.result else plan.d_index).code


def _facts(plan: MmaPlan) -> Iterator[str]:
    """Yield the places of the operands, line by line."""
    for own in plan.operands:
        yield f"{own.heading}; in shared memory:"
        yield f"    {own.tile}"
        yield f"  and of {own.each[0]} x {own.each[1]} in a warp:"
        yield f"    {own.fragment}"
        for note in own.notes:
            yield from textwrap.wrap(f"NOTE {note}", NOTED)
    yield f"D [{plan.m}, {plan.n}] {plan.accumulator}, of {plan.shape.m} x {plan.shape.n} in a warp:"
    yield f"    {plan.fragment}"
    if plan.result is not None:
        yield f"  and of {plan.out} in shared memory, on its way out:"
        yield f"    {plan.result.tile}"


def _architectures(plan: MmaPlan) -> str:
    """Return the architectures that the kernel runs on, in words."""
    if plan.asked:
        return str(plan.arch)
    less = [own for own in NUMBERS if own >= plan.since and shared_bytes(own) < plan.shared_bytes]
    names = ", ".join(str(Architecture.of(own)) for own in less)
    return f"{plan.arch} and later" + f" but {names},\n// which have less of it" * bool(less)


def _heads(plan: MmaPlan) -> Iterator[str]:
    """Yield cp.async, the forms of ldmatrix, the rounding of sums, and stmatrix, as functions."""
    if plan.load == "cp.async":
        for width in sorted({own.width for own in plan.operands}, reverse=True):
            yield filled(FETCH, {"width": width, "cached": "cg" if width == 16 else "ca"})
    forms = dict.fromkeys(own.fill.form for own in plan.operands)
    yield from (matrices(form) for form in forms if isinstance(form, Form))
    if plan.out != plan.accumulator:
        one_by_one = plan.arch.number < TWO_AT_ONCE_SINCE
        yield filled(ROUND, {"asm": ONE_BY_ONE if one_by_one else filled(AT_ONCE, {"plan": plan})})
    if plan.result is not None and isinstance(plan.result.fill.form, Form):
        yield matrices(plan.result.fill.form)


def _multiply(plan: MmaPlan) -> str:
    """Return the function around one instruction."""
    constraint, start = "d" if plan.a.dtype.bits == 64 else "r", plan.registers
    read, inputs = [], []
    for own in plan.operands:
        read.append(f"{{{in_asm(range(start, start + own.registers))}}}")
        inputs += each(f'"{constraint}"({own.letter}[#])', range(own.registers))
        start += own.registers
    a, b = (f"const {own.declared} (&{own.letter})[{own.registers}]" for own in plan.operands)
    d = REGISTER[plan.accumulator.name][1]
    slots = {
        "shape": f"{plan.shape.m} x {plan.shape.n} x {plan.shape.k}",
        "those": "the 32 lanes of a warp",
        "broken": "\n    ",
        "a": a,
        "b": b,
        "read": f'{", ".join(read)},\\n"\n        "{{{in_asm(range(plan.registers))}}}',
        "outputs": ", ".join(each(f'"+{d}"(d[#])', range(plan.registers))),
        "inputs": ", ".join(inputs),
    }
    return multiply(plan, plan.registers, slots)


# -- tiles arrive --------------------------------------------------------------------------------------

FETCH = """\
// $width bytes from global to shared memory, on their way until they are waited for.
__device__ __forceinline__ void fetch_$width(unsigned to, const void *from)
{
    asm volatile("cp.async.$cached.shared.global [%0], [%1], $width;" :: "r"(to), "l"(from) : "memory");
}"""

MOVE = """\
$from
fetch_$width($to + $width * $place, from);"""

ARRIVE = """\
$copies
$waited
__syncthreads(); // the tile is there"""

WAITED = 'asm volatile("cp.async.wait_all;" ::: "memory");'

AGAIN = "__syncthreads(); // every warp has read the tile: it may be overwritten"

BEFORE = """\

// Tiles are on their way, $ahead of them, while another is multiplied.
const auto load = [&](unsigned t) {
    const unsigned to = base + t % ${plan.stages} * ${plan.stage_bytes};
    $copies
};
#pragma unroll
for (unsigned t = 0; t < $ahead; ++t) {
    if (t < tiles)
        load(t);
    asm volatile("cp.async.commit_group;" ::: "memory"); // a group for each tile, for none as well
}
"""

THERE = """\
asm volatile("cp.async.wait_group $behind;" ::: "memory");
__syncthreads(); // the next tile is there, and every warp has read the one before"""

ONWARD = """\
if (t + $ahead < tiles)
    load(t + $ahead);
asm volatile("cp.async.commit_group;" ::: "memory");"""


def _arrival(plan: MmaPlan) -> dict[str, str]:
    """Return the texts before the loop, in it until the tile is there, and after the tile's product."""
    slots = {
        "plan": plan,
        "copies": "\n".join(_copied(plan, own) for own in plan.operands),
        "waited": WAITED if plan.load == "cp.async" else "",
        "ahead": plan.stages - 1,
        "behind": plan.stages - 2,
    }
    if plan.stages == 1:
        return {"before": "", "arrive": filled(ARRIVE, slots), "again": AGAIN, "there": "", "onward": ""}
    there, onward, before = (filled(text, slots) for text in (THERE, ONWARD, BEFORE))
    return {"before": before, "arrive": f"{there}\n{onward}", "again": "", "there": there, "onward": onward}


def _copied(plan: MmaPlan, own: WarpTile) -> str:
    plainly = plan.load == "copy"
    to = plus("shared" if plainly else "base" if plan.stages == 1 else "to", plan.offsets[own.name])
    move, unrolled = (STORE, " 4") if plainly else (MOVE, "")
    return copies(own, plan.threads, to, width=own.width, move=move, unrolled=unrolled, by_lines=True)


def _loop(plan: MmaPlan, arrival: dict[str, str]) -> str:
    """Return the loop along K."""
    slots = arrival | {
        "plan": plan,
        "set": "[s % 2]" if plan.ahead else "",
        "stage": "\n".join(_stage(plan)),
        "a": fragments(plan, plan.a),
        "b": fragments(plan, plan.b),
        "a_shape": shape(plan, plan.a),
        "b_shape": shape(plan, plan.b),
        "last": plan.turns - 1,
        "turn_k": plan.shape.k * plan.span,
    }
    slots["multiplied"] = filled(MULTIPLIED if plan.span == 1 else MULTIPLIED_EACH, slots)
    return filled(LOOP_AHEAD if plan.ahead else LOOP, slots)


def _warp(down: int, along: int) -> str:
    """Return the place of the warp in the grid of warps."""
    if down > 1 and along > 1:
        places = f"down = thread / 32 / {along}, along = thread / 32 % {along}"
    else:
        places = f"{'down' if down > 1 else 'along'} = thread / 32" if down * along > 1 else ""
    return f"const unsigned {places}; // of {down} x {along} warps" if places else ""


def _stage(plan: MmaPlan) -> Iterator[str]:
    """Yield the begin of the stage: as an address for matrices, as a pointer for vectors."""
    further = f" + t % {plan.stages} * {plan.stage_bytes}" if plan.stages > 1 else ""
    vectors = {plan.moves(own).vector for own in plan.operands}
    if None in vectors:
        yield f"const unsigned at = base{further};"
    if vectors != {None}:
        yield f"const unsigned char *const stage = shared{further};"
