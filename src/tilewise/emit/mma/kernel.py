"""The kernel in CUDA C++: one text with slots, and the parts that depend on where the operands lie."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from tilewise.check.feeding.forms import Vector
from tilewise.emit.mma import chain, fragments, loads, store
from tilewise.emit.mma.plan import Plan
from tilewise.emit.names import checked
from tilewise.emit.parts.template import filled
from tilewise.emit.parts.words import REGISTER, check_free

KERNEL = """\
// D [M, N] = A [M, K] B [N, K]^T, by $instruction
//
$facts
//
// Launch it on a grid of (N / $n, M / $m) blocks of $threads threads with $shared_bytes bytes of dynamic
// shared memory$allowed, for $arch.
// M, N and K are multiples of $m, $n and $k.

$places

$head
$multiply

// A and B are counted in bytes, as they are copied, and D in elements.
extern "C" __global__ void __launch_bounds__($threads, 1) $name(
    const unsigned char *A,
    const unsigned char *B,
    $element *D, int M, int N, int K)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    $base
    const unsigned thread = threadIdx.x, lane = thread % 32;
    $warp
    const unsigned row = blockIdx.y * $m, column = blockIdx.x * $n, tiles = K / $k;
    $first
    $before
    $accumulator d[$down][$along][$registers] = {};

    $loop

    $store
}"""

LOOP = """\
for (unsigned t = 0; t < tiles; ++t) {
    $arrive

    $stage
    #pragma unroll
    for (unsigned s = 0; s < $turns; ++s) { // $turn_k of K
        $a
        $b
        $multiplied
    }
    $again
}"""

LOOP_AHEAD = """\
// Fragments of the turn that is multiplied, and of the next one: $turn_k of K each. The last,
// of a tile that was read before, are not used, on purpose: to leave them out would be a branch.
$a_type a[2]$a_shape;
$b_type b[2]$b_shape;
const auto take = [&](unsigned t, unsigned s, $a_type (&a)$a_shape, $b_type (&b)$b_shape) {
    $stage
    $a
    $b
};
$there
take(0, 0, a[0], b[0]);
for (unsigned t = 0; t < tiles; ++t) {
    $onward
    #pragma unroll
    for (unsigned s = 0; s < $turns; ++s) {
        if (s == $last) {
            $there
        }
        take(s == $last ? t + 1 : t, (s + 1) % $turns, a[(s + 1) % 2], b[(s + 1) % 2]);
        $multiplied
    }
}"""

MULTIPLIED = """\
#pragma unroll
for (unsigned i = 0; i < $down; ++i)
    #pragma unroll
    for (unsigned j = 0; j < $along; ++j)
        multiply(d[i][j], a$set[i], b$set[j]);"""

MULTIPLIED_EACH = """\
#pragma unroll
for (unsigned c = 0; c < $span; ++c)
    #pragma unroll
    for (unsigned i = 0; i < $down; ++i)
        #pragma unroll
        for (unsigned j = 0; j < $along; ++j)
            multiply(d[i][j], a$set[i][c], b$set[j][c]);"""

NOTED = 100

GRANTED = 48 * 1024
"""Bytes of shared memory that a block has without a word."""

ALLOWED = ", which\n// cudaFuncAttributeMaxDynamicSharedMemorySize is to allow"

BASE = "const unsigned base = (unsigned)__cvta_generic_to_shared(shared);"


def kernel_source(plan: Plan) -> str:
    """The program: self-contained, no header is included.

    >>> from tilewise.emit.mma import planned
    >>> source = kernel_source(planned((64, 64, 32), "f16"))
    >>> "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" in source, "#include" in source
    (True, False)
    """
    parts = loads.parts_of(plan)
    places = [*parts.places, *(fragments.source(plan, own).code for own in (plan.a, plan.b))]
    places += store.places(plan)
    heads = [text for text in (parts.head, *fragments.head(plan), *store.heads(plan)) if text]
    slots = {
        "instruction": plan.instruction,
        "facts": "\n".join(f"// {line}" for line in facts(plan)),
        "places": "\n\n".join(places),
        "head": "\n".join([*heads, ""]),
        "multiply": chain.multiply(plan),
        "name": name_of(plan),
        "element": store.element(plan),
        "base": BASE if _takes_addresses(plan) else "",
        "before": parts.before,
        "first": fragments.first(plan),
        "accumulator": REGISTER[plan.accumulator.name].declared,
        "registers": plan.registers,
        "loop": _loop(plan, parts),
        "down": plan.a.blocks,
        "along": plan.b.blocks,
        "warp": _warp(*plan.warps),
        "m": plan.m,
        "n": plan.n,
        "k": plan.k,
        "threads": plan.threads,
        "shared_bytes": plan.shared_bytes,
        "allowed": ALLOWED if plan.shared_bytes > GRANTED else "",
        "arch": _architectures(plan),
        "store": store.store(plan),
    }
    check_free(plan.name, filled(KERNEL, slots | {"name": ""}))
    return filled(KERNEL, slots)


def _architectures(plan: Plan) -> str:
    """What it is for."""
    if plan.asked:
        return str(plan.arch)
    if not plan.lacking:
        return f"{plan.arch} and later"
    return f"{plan.arch} and later but {', '.join(map(str, plan.lacking))},\n// which have less of it"


def _loop(plan: Plan, parts: loads.Parts) -> str:
    """The loop along K."""
    counts: dict[str, object] = {"down": plan.a.blocks, "along": plan.b.blocks, "span": plan.span}
    counts["set"] = "[s % 2]" if plan.ahead else ""
    slots = {
        "arrive": parts.arrive,
        "again": parts.again,
        "there": parts.there,
        "onward": parts.onward,
        "stage": "\n".join(_stage(plan)),
        "a": fragments.fragments(plan, plan.a),
        "b": fragments.fragments(plan, plan.b),
        "a_type": chain.declared(plan.a),
        "b_type": chain.declared(plan.b),
        "a_shape": fragments.shape(plan, plan.a),
        "b_shape": fragments.shape(plan, plan.b),
        "multiplied": filled(MULTIPLIED if plan.span == 1 else MULTIPLIED_EACH, counts),
        "turns": plan.turns,
        "last": plan.turns - 1,
        "turn_k": plan.shape.k * plan.span,
    }
    return filled(LOOP_AHEAD if plan.ahead else LOOP, slots)


def _warp(down: int, along: int) -> str:
    """The place of the warp in the grid of warps."""
    if down > 1 and along > 1:
        places = f"down = thread / 32 / {along}, along = thread / 32 % {along}"
    else:
        places = f"{'down' if down > 1 else 'along'} = thread / 32" if down * along > 1 else ""
    return f"const unsigned {places}; // of {down} x {along} warps" if places else ""


def _stage(plan: Plan) -> Iterator[str]:
    """Where the stage begins: as an address for matrices, as a pointer for vectors."""
    further = f" + t % {plan.stages} * {plan.stage_bytes}" if plan.stages > 1 else ""
    if None in _vectors(plan):
        yield f"const unsigned at = base{further};"
    if set(_vectors(plan)) != {None}:
        yield f"const unsigned char *const stage = shared{further};"


def _takes_addresses(plan: Plan) -> bool:
    """Whether anything is asked by an address of shared memory: cp.async, ldmatrix, stmatrix."""
    by_matrices = plan.result is not None and plan.result.moves.vector is None
    return plan.load == "cp.async" or by_matrices or None in _vectors(plan)


def _vectors(plan: Plan) -> list[Vector | None]:
    return [plan.moves(own).vector for own in (plan.a, plan.b)]


def name_of(plan: Plan) -> str:
    """The kernel's name: as asked, or of the types and the tile."""
    types = plan.a.dtype.name + (f"_{plan.b.dtype.name}" if plan.b.dtype != plan.a.dtype else "")
    return checked(plan.name or f"gemm_{types}_{plan.m}x{plan.n}x{plan.k}", "a kernel")


def facts(plan: Plan) -> list[str]:
    """Where the operands lie, line by line."""
    lines = []
    for own in (plan.a, plan.b):
        head = f"{own.name} [{own.rows}, {own.k}] {own.dtype}, {own.major.upper()}-major in global memory"
        lines += [f"{head}; in shared memory:", f"    {own.tile}"]
        lines += [f"  and of {own.each[0]} x {own.each[1]} in a warp:", f"    {own.fragment}"]
        lines += [line for note in own.notes for line in textwrap.wrap(f"NOTE {note}", NOTED)]
    head = f"D [{plan.m}, {plan.n}] {plan.accumulator}"
    lines += [f"{head}, of {plan.shape.m} x {plan.shape.n} in a warp:", f"    {plan.fragment}"]
    if plan.result is not None:
        lines += [f"  and of {plan.out} in shared memory, on its way out:", f"    {plan.result.tile}"]
    return lines
