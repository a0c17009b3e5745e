"""The kernel in CUDA C++: one text with slots, and the parts that depend on where the operands lie."""

from __future__ import annotations

from tilewise.emit.names import checked
from tilewise.emit.parts.template import filled
from tilewise.emit.parts.words import ELEMENT, PAIR, REGISTER, call, check_free
from tilewise.emit.source import source_of
from tilewise.emit.wgmma import chain, loads
from tilewise.emit.wgmma.operands import Operand
from tilewise.emit.wgmma.plan import Plan
from tilewise.hardware.wgmma.instructions import M

KERNEL = """\
// D [M, N] = A [M, K] B [N, K]^T, by $instruction
//
$facts
//
// Launch it on a grid of (N / $n, M / $m) blocks of $threads threads with $shared_bytes bytes of dynamic
// shared memory, for sm_90a. M, N and K are multiples of $m, $n and $k.

$places

$head
$multiply

extern "C" __global__ void __launch_bounds__($threads) $name(
    $parameters
{
    extern __shared__ __align__(1024) unsigned char shared[];
    const unsigned base = (unsigned)__cvta_generic_to_shared(shared);
    const unsigned thread = threadIdx.x, warpgroup = thread / 128, warp = thread / 32 % 4, lane = thread % 32;
    const unsigned row = blockIdx.y * $m, column = blockIdx.x * $n, tiles = K / $k;
    $before
    $accumulator d[$registers] = {};

    for (unsigned t = 0; t < tiles; ++t) {
        $arrive

        // Each step multiplies $instruction_k of K. What a descriptor moves by counts 16 bytes.
        $descriptors
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); // registers are as they were written
        $chain
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); // one group, to be waited for
        $ended
        $again
    }
    $end

    // A thread holds pairs of neighbours of a row.
    #pragma unroll
    for (unsigned pair = 0; pair < $pairs; ++pair) {
        const auto at = $d_index;
        const size_t to = (size_t)(row + 64 * warpgroup + at.i) * N + column + 2 * at.j;
        *($pair_type *)(D + to) = $pair;
    }
}"""

ENDED = """\
asm volatile("wgmma.wait_group.sync.aligned $running;" ::: "memory");
__syncthreads(); // every warpgroup has read the $which: it may be overwritten"""

WAIT_FOR_ALL = 'asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");'


def kernel_source(plan: Plan) -> str:
    """The program: self-contained, no header is included.

    >>> from tilewise.emit.wgmma import planned
    >>> source = kernel_source(planned((64, 8, 16), "f16", load="copy"))
    >>> "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16" in source, "#include" in source
    (True, False)
    """
    parts = loads.parts_of(plan)
    d_index = source_of(plan.fragment.pack(2, "reg"), inverse=True, flat=False, name="d_index")
    kind = str(plan.accumulator)
    slots = {
        "instruction": plan.instruction,
        "facts": "\n".join(f"// {line}" for line in facts(plan)),
        "places": "\n\n".join([*parts.places, d_index.code]),
        "head": f"{parts.head}\n\n" if parts.head else "",
        "multiply": chain.multiply(plan),
        "name": name_of(plan),
        "parameters": ",\n".join([*parts.parameters, f"{ELEMENT[kind]} *D, int M, int N, int K)"]),
        "before": parts.before,
        "accumulator": REGISTER[kind].declared,
        "registers": plan.registers,
        "arrive": parts.arrive,
        "again": parts.again,
        "ended": filled(
            ENDED, {"running": int(plan.overlaps), "which": "tile before" if plan.overlaps else "tile"}
        ),
        "end": WAIT_FOR_ALL if plan.overlaps else "",
        "descriptors": chain.descriptors(plan),
        "chain": chain.calls(plan),
        "instruction_k": plan.a.input.k,
        "m": plan.m,
        "n": plan.n,
        "k": plan.k,
        "threads": plan.threads,
        "shared_bytes": plan.shared_bytes,
        "pairs": plan.n // 4,
        "d_index": call(d_index, wid_in_wg="warp", laneid="lane", reg="pair"),
        "pair_type": PAIR[kind],
        "pair": "d[pair]" if kind == "f16" else f"make_{PAIR[kind]}(d[2 * pair], d[2 * pair + 1])",
    }
    check_free(plan.name, filled(KERNEL, slots | {"name": ""}))
    return filled(KERNEL, slots)


def name_of(plan: Plan) -> str:
    """The kernel's name: as asked, or of the types and the tile."""
    types = plan.a.input.name + (f"_{plan.b.input.name}" if plan.b.input.name != plan.a.input.name else "")
    return checked(plan.name or f"gemm_{types}_{plan.m}x{plan.n}x{plan.k}", "a kernel")


def facts(plan: Plan) -> list[str]:
    """Where the operands lie, line by line."""
    return [line for own in (plan.a, plan.b) for line in _facts_of(own)] + [
        f"D [{plan.m}, {plan.n}] {plan.accumulator}, a warpgroup for each {M} rows:",
        f"    {plan.fragment}",
    ]


def _facts_of(own: Operand) -> list[str]:
    head = f"{own.name} [{own.rows}, {own.k}] {own.input.name}, {own.major.upper()}-major in global memory"
    if own.in_registers:
        return [f"{head}, in registers [{M}, {own.input.k}]:", f"    {own.fragment}"]
    return [f"{head}, mode {own.mode} in shared memory:", f"    {own.tile}"]
