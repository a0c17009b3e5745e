"""The text of attention on Hopper: loads, two products, the softmax between them, and O's way out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilewise.codegen.attention.plan import PANEL, REGISTERS, AttentionPlan
from tilewise.codegen.parts import pipeline
from tilewise.codegen.parts.copies import place_of
from tilewise.codegen.parts.template import call, check_free, filled, plus
from tilewise.codegen.wgmma.plan import DescribedOperand
from tilewise.codegen.wgmma.text import descriptor_at, multiplied, step_of
from tilewise.hardware.wgmma.instructions import M

RANK = 4
"""Dimensions of Q, K, V and O: columns, rows, heads, batches."""

KERNEL = """\
// O = softmax(scale Q K^T) V of each head and batch$seen
// by ${plan.scores.instruction}
// and ${plan.values.instruction}
//
$facts
//
$schedule

$map

$places

$barriers

// ---- boxes, matrices, products -----------------------------------------------------------------

$fetch

$store

$put

$multiply_scores

$multiply_values

// Two neighbours of a row of P or O.
__device__ __forceinline__ unsigned packed(float x, float y)
{
    unsigned both;
    asm("cvt.rn.${plan.dtype}x2.f32 %0, %1, %2;" : "=r"(both) : "f"(y), "f"(x));
    return both;
}

// 2 to the power of x.
__device__ __forceinline__ float power(float x)
{
    asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
}

// Until all chains but the last `left` ones have ended: nothing reads their sums before.
template <int left, unsigned count>
__device__ __forceinline__ void wait_for(float (&sums)[count])
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(left) : "memory");
    #pragma unroll
    for (unsigned r = 0; r < count; ++r)
        asm volatile("" : "+f"(sums[r]) :: "memory");
}

// ---- the kernel --------------------------------------------------------------------------------

extern "C" __global__ void __launch_bounds__(${plan.threads}, 1) $name(
    const __grid_constant__ CUtensorMap map_q, const __grid_constant__ CUtensorMap map_k,
    const __grid_constant__ CUtensorMap map_v, const __grid_constant__ CUtensorMap map_o,
    float scale, int M, int N, int sharing)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    const unsigned base = (unsigned)__cvta_generic_to_shared(shared), tiles = base + $tiles_at;
    const unsigned q_full = base + $barriers_at, full = q_full + 8, empty = full + $ring;
    const unsigned warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0); // the same in a warp, as is seen
    const unsigned thread = threadIdx.x % 128;
    if (threadIdx.x == 0) {
        init(q_full, 1);
        for (unsigned s = 0; s < $tiles; ++s) {
            init(full + 8 * s, 1);
            init(empty + 8 * s, ${plan.workers});
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); // TMA sees them
    }
    __syncthreads();

    const int row = $turn * ${plan.rows}, head = blockIdx.y, batch = blockIdx.z;
    const int blocks = ($reach + $keys_less) / ${plan.keys}; // of keys

    if (warpgroup == 0) { // one thread asks for blocks, the last one first
        asm volatile("setmaxnreg.dec.sync.aligned.u32 $loader_registers;");
        Ring ring;
        const auto load = [&](const CUtensorMap &map, int block) {
            wait(empty + 8 * ring.stage, ring.parity ^ 1); // it was read
            const unsigned to = tiles + ring.stage * ${plan.k.bytes}, barrier = full + 8 * ring.stage;
            expect(barrier, ${plan.k.bytes});
            $load_tile
            ring.next();
        };
        if (thread == 0) {
            expect(q_full, $q_bytes);
            for (unsigned w = 0; w < ${plan.workers}; ++w) {
                $load_q
            }
            for (int block = blocks - 1; block >= 0; --block) {
                load(map_k, block);
                load(map_v, block);
            }
        }
    } else { // 64 rows of Q
        asm volatile("setmaxnreg.inc.sync.aligned.u32 $worker_registers;");
        const unsigned worker = warpgroup - 1, warp = thread / 32, lane = thread % 32;
        const unsigned mine = base + worker * ${plan.q.bytes}; // a tile of Q, and then of O
        const int first = row + worker * 64;
        const float nothing = __int_as_float(0xff800000), scale_2 = scale * 1.44269504f; // for powers of 2
        float s[${plan.scores.registers}], o[${plan.values.registers}] = {};
        float most[2] = {nothing, nothing}, sum[2] = {}, shrink[2]; // of the two rows of a thread
        unsigned p[$p_steps][4];

        const auto release = [&](unsigned stage) {
            if (thread == 0)
                arrive(empty + 8 * stage);
        };
        const auto multiply_keys = [&](unsigned stage) { // S = Q K^T
            $q_descriptor
            $k_descriptor
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); // registers are as they were written
            #pragma unroll
            for (unsigned step = 0; step < $q_steps; ++step)
                multiply(s, q + $q_step, k + $k_step, step > 0);
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        };
        const auto multiply_values = [&](unsigned stage) { // O += P V
            $v_descriptor
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            #pragma unroll
            for (unsigned step = 0; step < $p_steps; ++step)
                multiply(o, p[step], v + $v_step);
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        };
        const auto soften = [&](int block) { // S becomes 2^(scale S - the largest of its row)
            if ((block + 1) * ${plan.keys} > $first_edge) // some are not seen
                #pragma unroll
                for (unsigned r = 0; r < ${plan.scores.registers}; ++r) {
                    const auto at = $s_at;
                    const int key = block * ${plan.keys} + 2 * at.j + r % 2;
                    s[r] = key < $edge ? s[r] : nothing;
                }
            #pragma unroll
            for (unsigned h = 0; h < 2; ++h) { // registers 0, 1, 4, 5 and so on are of the first row
                float top = most[h];
                #pragma unroll
                for (unsigned r = 2 * h; r < ${plan.scores.registers}; r += r % 2 ? 3 : 1)
                    top = fmaxf(top, s[r]);
                top = fmaxf(top, __shfl_xor_sync(~0u, top, 1)); // four lanes have a row
                top = fmaxf(top, __shfl_xor_sync(~0u, top, 2));
                const float seen = top == nothing ? 0 : top;
                shrink[h] = power((most[h] - seen) * scale_2); // of what was added up before
                most[h] = top;
                sum[h] *= shrink[h];
                #pragma unroll
                for (unsigned r = 2 * h; r < ${plan.scores.registers}; r += r % 2 ? 3 : 1)
                    sum[h] += s[r] = power(fmaf(s[r], scale_2, -seen * scale_2));
            }
        };
        const auto hand_over = [&]() { // P is where S was: each register of A has two neighbours
            #pragma unroll
            for (unsigned x = 0; x < ${plan.scores.registers} / 2; ++x)
                p[x / 4][x % 4] = packed(s[2 * x], s[2 * x + 1]);
        };

        Ring of_k, of_v;
        of_v.next();
        wait(q_full, 0);
        wait(full, 0);
        multiply_keys(0);
        wait_for<0>(s);
        release(0);
        soften(blocks - 1);
        hand_over();
        for (int block = blocks - 2; block >= 0; --block) {
            of_k.next(), of_k.next();
            wait(full + 8 * of_k.stage, of_k.parity); // it is there
            multiply_keys(of_k.stage);
            wait(full + 8 * of_v.stage, of_v.parity);
            multiply_values(of_v.stage); // of the block before
            wait_for<1>(s);
            release(of_k.stage);
            soften(block); // while the core multiplies P V
            wait_for<0>(o);
            release(of_v.stage);
            of_v.next(), of_v.next();
            #pragma unroll
            for (unsigned r = 0; r < ${plan.values.registers}; ++r)
                o[r] *= shrink[r / 2 % 2];
            hand_over();
        }
        wait(full + 8 * of_v.stage, of_v.parity);
        multiply_values(of_v.stage);
        wait_for<0>(o);

        // O: from registers to the place of Q, and from there by TMA.
        #pragma unroll
        for (unsigned h = 0; h < 2; ++h)
            for (unsigned apart = 1; apart < 4; apart *= 2)
                sum[h] += __shfl_xor_sync(~0u, sum[h], apart);
        const auto pair_of = [&](unsigned pair) {
            return packed(o[2 * pair] / sum[pair % 2], o[2 * pair + 1] / sum[pair % 2]);
        };
        asm volatile("bar.sync %0, 128;" :: "r"(warpgroup) : "memory"); // all have read Q
        #pragma unroll
        for (unsigned x = 0; x < $o_pairs; x += 4) { // a lane has the address of a row of matrix lane / 8
            const auto at = $o_at;
            put(mine + q_place(at.i, at.j / 4) * 16,
                pair_of(x), pair_of(x + 1), pair_of(x + 2), pair_of(x + 3));
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); // TMA sees the tile
        asm volatile("bar.sync %0, 128;" :: "r"(warpgroup) : "memory");
        if (thread == 0) {
            $stores
            asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;" ::: "memory");
        }
    }
}"""


def kernel_source(plan: AttentionPlan) -> str:
    """Return the program: self-contained, without headers.

    >>> from tilewise.codegen.attention import planned
    >>> source = kernel_source(planned(128))
    >>> "softmax" in source, "#include" in source, len(source.splitlines()) <= 350
    (True, False, True)
    """
    loader, worker = REGISTERS[plan.workers]
    slots: dict[str, object] = {
        "plan": plan,
        "name": plan.called,
        "seen": ", in which row i sees the keys up to i" * plan.causal,
        "facts": "\n".join(f"// {line}" for line in _facts(plan)),
        "schedule": "\n".join(f"// {line}" for line in _schedule(plan)),
        "map": pipeline.MAP,
        "places": "\n\n".join(source.code for source in (plan.index, place_of(_named("Q", plan.q)))),
        "barriers": pipeline.barriers(2 * plan.stages),
        "fetch": pipeline.fetch(RANK),
        "store": pipeline.store("O", RANK),
        "put": pipeline.PUT,
        "multiply_scores": multiplied(plan.scores, begins=True),
        "multiply_values": multiplied(plan.values),
        "tiles": 2 * plan.stages,
        "tiles_at": plan.offsets["tiles"],
        "barriers_at": plan.offsets["barriers"],
        "ring": 16 * plan.stages,
        "turn": "(gridDim.x - 1 - blockIdx.x)" if plan.causal else "blockIdx.x",
        "reach": f"min(row + {plan.rows}, N)" if plan.causal else "N",
        "keys_less": plan.keys - 1,
        "loader_registers": loader,
        "worker_registers": worker,
        "q_bytes": plan.workers * plan.q.bytes,
        "load_q": "\n".join(_load_q(plan)),
        "load_tile": "\n".join(_load_tile(plan)),
        "p_steps": plan.keys // plan.values.a.input.k,
        "q_descriptor": descriptor_at("q", plan.q, "mine"),
        "k_descriptor": descriptor_at("k", plan.k, f"tiles + stage * {plan.k.bytes}"),
        "v_descriptor": descriptor_at("v", plan.v, f"tiles + stage * {plan.k.bytes}"),
        "q_steps": len(plan.q.along_k),
        "q_step": step_of(plan.q),
        "k_step": step_of(plan.k),
        "v_step": step_of(plan.v),
        "first_edge": "min(first + 1, N)" if plan.causal else "N",
        "edge": "min(first + (int)at.i + 1, N)" if plan.causal else "N",
        "s_at": call(plan.index, warp="warp", lane="lane", reg="r / 2"),
        "o_pairs": plan.values.registers // 2,
        "o_at": call(plan.index, warp="warp", lane="lane % 8 * 4", reg="x + lane / 8"),
        "stores": "\n".join(
            f"store({plus('mine', at * PANEL * M * 2)}, map_o, {at * PANEL}, first, head, batch);"
            for at in range(plan.panels)
        ),
    }
    check_free(plan.name, filled(KERNEL, slots | {"name": ""}))
    return filled(KERNEL, slots)


def _named(name: str, own: DescribedOperand) -> DescribedOperand:
    """Return an operand with the name that it has in the text: it is A or B of its product."""
    return replace(own, name=name)


def _facts(plan: AttentionPlan) -> Iterator[str]:
    """Yield the layouts of all operands, line by line."""
    for name, own, what in (
        ("Q", plan.q, "rows of a warpgroup, then O"),
        ("K", plan.k, "a block of keys"),
        ("V", plan.v, "a block of values, transposed"),
    ):
        yield f"{_named(name, own).heading}: {what}, mode {own.mode} in shared memory:"
        yield f"    {own.tile}"
    yield f"S [{M}, {plan.keys}] {plan.scores.accumulator}, the registers of a warpgroup:"
    yield f"    {plan.scores.fragment}"
    yield f"P [{M}, {plan.values.a.input.k}] {plan.dtype}, A of an instruction, as S of so many columns lies:"
    yield f"    {plan.values.a.tile}"


def _schedule(plan: AttentionPlan) -> Iterator[str]:
    """Yield the parts of the kernel, and how it is launched, line by line."""
    yield f"Warpgroup 0 loads; {plan.workers} have {M} rows of Q each, and take {plan.keys} keys at once."
    yield f"full[{2 * plan.stages}]: a block of keys, or in the next stage of their values, is there."
    yield f"empty[{2 * plan.stages}]: {plan.workers} warpgroups have read it."
    grid = f"ceil(M / {plan.rows}) x heads x batches blocks of {plan.threads} threads"
    boxes = f"boxes of {PANEL} x {M}, and {PANEL} x {plan.keys} of K and V"
    yield f"Launch {grid} with {plan.shared_bytes} bytes of shared memory."
    yield f"Tensor maps have columns, rows, heads and batches, and {boxes}."
    yield "`sharing` neighbouring heads of Q have the same keys and values; scale is positive, N 1 or more."


def _load_q(plan: AttentionPlan) -> Iterator[str]:
    """Yield the loads of a warpgroup's tile of Q."""
    for at in range(plan.panels):
        to = plus(f"base + w * {plan.q.bytes}", at * plan.q.bytes // plan.panels)
        yield f"fetch({to}, map_q, q_full, {at * PANEL}, row + {M} * w, head, batch);"


def _load_tile(plan: AttentionPlan) -> Iterator[str]:
    """Yield the loads of a block of keys, or of values: their boxes are the same."""
    for at in range(plan.panels):
        to = plus("to", at * plan.k.bytes // plan.panels)
        yield f"fetch({to}, map, barrier, {at * PANEL}, block * {plan.keys}, head / sharing, batch);"
