"""The text of a product on Hopper: barriers, loads, the loop of each part, and D's way out."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.codegen.gemm.finish import finished, parameters, total_source
from tilewise.codegen.gemm.plan import BUFFERS, LOADER_REGISTERS, NARROW, WORKER_REGISTERS, HopperPlan
from tilewise.codegen.parts import pipeline
from tilewise.codegen.parts.copies import BYTE, place_of
from tilewise.codegen.parts.template import call, check_free, filled, plus
from tilewise.codegen.source import Source
from tilewise.codegen.wgmma.plan import DescribedOperand
from tilewise.codegen.wgmma.text import descriptor_at, facts, multiplied, step_of
from tilewise.hardware.modes import CHUNK
from tilewise.hardware.wgmma.instructions import M

KERNEL = """\
// D [M, N] = ${plan.finish.formula}
// by ${plan.instruction}
//
$facts
//
$schedule

$map

$places

$barriers

// ---- tiles -------------------------------------------------------------------------------------

$fetches

$store

$put

$multiply

// ---- the kernel --------------------------------------------------------------------------------

struct Tile { int row, column$more_fields; };

// Tiles of a cluster in turn, ${plan.group} down M, then the next along N, so that L2 has what they share.
__device__ __forceinline__ Tile tile_of(int t, int down, int along)
{
    $batch_of
    const int each = ${plan.group} * along, first = t / each * ${plan.group};
    const int rows = min(${plan.group}, down - first);
    return {(first + t % each % rows) * $cluster_m, t % each / rows * $cluster_n$batch_value};
}

$groups

extern "C" __global__ void __launch_bounds__(${plan.threads}, 1) $name(
    const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
    const __grid_constant__ CUtensorMap map_d,
    $parameters
    $sizes)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    const unsigned base = (unsigned)__cvta_generic_to_shared(shared), boxes = base + $boxes_at;
    const unsigned full = base + $full_at, empty = base + $empty_at;
    const unsigned warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0); // the same in a warp, as is seen
    const unsigned thread = threadIdx.x % 128;
    $block
    if (threadIdx.x == 0) {
        for (unsigned s = 0; s < ${plan.stages}; ++s) {
            init(full + 8 * s, 1);
            init(empty + 8 * s, ${plan.readers});
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); // TMA and other blocks see them
    }
    $meet
    asm volatile("griddepcontrol.wait;" ::: "memory"); // for kernels before, if this one was launched ahead
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");

    $counts
    Ring ring;
    $cursor

    if (warpgroup == 0) { // one thread asks for tiles
        asm volatile("setmaxnreg.dec.sync.aligned.u32 $loader_registers;");
        for (int t = $first; thread == 0 && $more; t += $stride) {
            $tile
            $row_of_a
            $column_of_b
            for (int k = 0; k < steps; ++k, ring.next()) {
                wait(empty + 8 * ring.stage, ring.parity ^ 1); // it was read
                const unsigned to = base + ring.stage * ${plan.stage_bytes}, barrier = full + 8 * ring.stage;
                expect(barrier, $stage_content);
                $loads
            }
        }
    } else { // ${rows_each} rows of a tile
        asm volatile("setmaxnreg.inc.sync.aligned.u32 $worker_registers;");
        const unsigned worker = warpgroup - 1, warp = thread / 32, lane = thread % 32;
        const auto release = [&](unsigned stage) { // to all blocks that load for this one
            $release
        };
        unsigned sent = 0; // boxes of D so far
        $accumulator d$registers;
        $a_registers
        for (int t = $first; $more; t += $stride) {
            $before
            for (int k = 0; k < steps; ++k, ring.next()) {
                wait(full + 8 * ring.stage, ring.parity); // it is there
                // Each step multiplies $k_of_step of K. What a descriptor moves by counts 16 bytes.
                const unsigned at = $here + ring.stage * ${plan.stage_bytes};
                $descriptors
                $chain
                $ended
            }
            $last_ended

            // D: from registers to boxes of $box_shape in shared memory, and from there by TMA.
            $tile
            $row_of_d
            #pragma unroll
            for (unsigned box = 0; box < $boxes; ++box, ++sent) {
                const unsigned part = box / $across;
                const unsigned to = boxes + (worker * $buffers + sent % $buffers) * ${plan.box_bytes};
                if (thread == 0) // the store before the last one has read its box
                    asm volatile("cp.async.bulk.wait_group.read $fewer;" ::: "memory");
                asm volatile("bar.sync %0, 128;" :: "r"(warpgroup) : "memory");
                $fill
                asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); // TMA sees the box
                asm volatile("bar.sync %0, 128;" :: "r"(warpgroup) : "memory");
                $rows_apart
                if (thread == 0) {
                    $stored
                    asm volatile("cp.async.bulk.commit_group;" ::: "memory"); // one for each box
                }
            }
        }
        if (thread == 0)
            asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    $part
}"""

CHAIN = """\
asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); // registers are as they were written
$products
asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");"""

WIDENED_CHAIN = """\
#pragma unroll
for (unsigned step = 0; step < $steps; ++step) { // the core multiplies the one before
    #pragma unroll
    for (unsigned r = 0; r < 4; ++r) {
        const auto own = $index; // A lies as D has its first columns
        a[step % 2][r] = widened(rows + a_place(own.i, step * 8 + own.j) * 2);
    }
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); // registers are as written
    multiply(d[0], a[step % 2], b + $b_step, k > 0 || step > 0);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory"); // the one before has ended
    if (step == 0 && k > 0)
        release(before);
}"""

ENDED = """\
asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory"); // the chain before has ended
if (k > 0)
    release(before);
before = ring.stage;"""

LAST_ENDED = """\
asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
$touched
release(before);"""

PROMOTED = """\
asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
$touched
release(ring.stage);
#pragma unroll
for (unsigned r = 0; r < $sums; ++r) { // in f32, where the core keeps fewer bits
    $added
}"""

GROUPS = """\
// The tiles of all groups in turn. Those rows of A and D that end at ends[group] are of a group.
struct Groups {
    const int *ends;
    int count, rows, along, group = 0, begin = 0, before = 0;

    // The tile of number t, which only grows; false past the last tile.
    __device__ __forceinline__ bool find(int t, Tile &tile)
    {
        for (; group < count; ++group) {
            const int end = max(begin, min(ends[group], rows));
            const int down = (end - begin + $cluster_m_less) / $cluster_m;
            if (t < before + down * along) {
                tile = tile_of(t - before, down, along);
                tile.row += begin;
                tile.batch = group;
                tile.end = end;
                return true;
            }
            before += down * along;
            begin = end;
        }
        return false;
    }
};"""

COUNTS = """\
const int down = (M + $cluster_m_less) / $cluster_m, along = (N + $cluster_n_less) / $cluster_n;
const int tiles = down * along$times_batches, steps = $steps;"""

COUNTS_OF_GROUPS = """\
const int along = (N + $cluster_n_less) / $cluster_n, steps = (K + $k_less) / ${plan.k};"""

ROWS_APART = """\
const int inside = tile.end - row - (int)part * 64; // rows of the box that are of this group
if (inside < 64)
    for (int x = thread; x < inside * $chunks; x += 128) {
        const int i = x / $chunks, j = x % $chunks;
        const int n = column + (int)(box % $across) * ${plan.d.k} + j * $each;
        const unsigned char *from = shared + (to - base) + d_place(i, j) * 16;
        unsigned char *line = D + (row + (int)part * 64 + i) * pitch;
        if (n < N)
            *(uint4 *)(line + (size_t)n * $size) = *(const uint4 *)from;
    }"""

ARRIVE_AT = """\
// One arrival at the same barrier of a block in the cluster.
__device__ __forceinline__ void arrive(unsigned barrier, unsigned block)
{
    asm volatile(
        "{\\n"
        ".reg .b32 there;\\n"
        "mapa.shared::cluster.u32 there, %0, %1;\\n"
        "mbarrier.arrive.shared::cluster.b64 _, [there];\\n"
        "}"
        :: "r"(barrier), "r"(block) : "memory");
}"""

SHARE = """\
// The same to all blocks of a mask, at the same place of each; the barrier of each counts its bytes.
__device__ __forceinline__ void share(
    unsigned to, const CUtensorMap &map, unsigned barrier, unsigned short blocks, $given)
{
    asm volatile(
        "cp.async.bulk.tensor.${rank}d.shared::cluster.global"
        ".mbarrier::complete_tx::bytes.multicast::cluster\\n"
        "[%0], [%1, {$slots}], [%2], %$mask;"
        :: "r"(to), "l"(&map), "r"(barrier), $operands, "h"(blocks) : "memory");
}"""

WIDENED = """\
// Two neighbours of A, $own in shared memory, as $wide.
__device__ __forceinline__ unsigned widened(unsigned at)
{
    unsigned both;
    asm volatile(
        "{.reg .b16 two; .reg .$kind low, high; .reg .f32 x, y; ld.shared.u16 two, [%1];\\n"
        $steps
        : "=&r"(both) : "r"(at) : "memory");
    return both;
}"""

PUT_PAIR = """\
// Two neighbours of a row to shared memory.
__device__ __forceinline__ void put(unsigned at, $pair)
{
    asm volatile("$store [%0], $value;" :: "r"(at), $operands : "memory");
}"""

MATRICES = """\
#pragma unroll
for (unsigned p = 0; p < $pairs; p += 4) { // a lane has the address of a row of matrix lane / 8
    const unsigned first = box % $across * $pairs + p;
    const auto at = $index;
    put(to + d_place(at.i, at.j / 4 % $chunks) * 16,
        pair_of(first), pair_of(first + 1), pair_of(first + 2), pair_of(first + 3));
}"""

PAIRS = """\
#pragma unroll
for (unsigned p = 0; p < $pairs; ++p) {
    const unsigned pair = box % $across * $pairs + p;
    const auto at = $index;
    const unsigned byte = at.j * $bytes % $span;
    put(to + d_place(at.i, byte / 16) * 16 + byte % 16, $values);
}"""

ALL_MEET = "__syncthreads();"
CLUSTER_MEETS = 'asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");'


def kernel_source(plan: HopperPlan) -> str:
    """Return the program: self-contained, without headers. Parts of K are added up by a second kernel.

    >>> from tilewise.codegen.gemm import planned
    >>> source = kernel_source(planned((128, 256), "bf16", out="bf16"))
    >>> "multicast::cluster" in source, "#include" in source, len(source.splitlines()) < 350
    (True, False, True)
    """
    text = _kernel(plan.first)
    return f"{text}\n\n{total_source(plan)}" if plan.splits else text


def _kernel(plan: HopperPlan) -> str:
    down, along = plan.cluster
    one = plan.blocks == 1
    across, rows = plan.n // plan.d.k, plan.m // plan.workers
    size = plan.out.bits // BYTE
    ends: dict[str, object] = {
        "plan": plan,
        **cluster_slots(plan),
        "k_less": plan.k - 1,
        "steps": f"(K + batches * {plan.k} - 1) / (batches * {plan.k})"
        if plan.splits
        else f"(K + {plan.k - 1}) / {plan.k}",
        "times_batches": " * batches" * plan.turns,
        "across": across,
        "chunks": plan.d.k * size // 16,
        "each": 16 // size,
        "size": size,
    }
    grouped = plan.grouped
    place = f"column + box % {across} * {plan.d.k}, row + part * 64{', tile.batch' * plan.turns}"
    store = f"store(to, map_d, {place});"
    slots: dict[str, object] = {
        **ends,
        "groups": filled(GROUPS, ends) if grouped else "",
        "counts": filled(COUNTS_OF_GROUPS if grouped else COUNTS, ends),
        "cursor": "Tile tile;\nGroups all = {ends, groups, M, along};" if grouped else "",
        "more": "all.find(t, tile)" if grouped else "t < tiles",
        "tile": "" if grouped else "const Tile tile = tile_of(t, down, along);",
        "rows_apart": filled(ROWS_APART, ends) if grouped else "",
        "stored": f"if (inside >= 64)\n    {store}" if grouped else store,
        "store": pipeline.store("D", 2 + plan.turns),
        "more_fields": ", batch, end" if grouped else ", batch" * plan.turns,
        "facts": "\n".join(f"// {line}" for line in _places(plan)),
        "schedule": "\n".join(f"// {line}" for line in schedule(plan)),
        "places": "\n\n".join(source.code for source in _functions(plan)),
        "map": pipeline.MAP,
        "barriers": pipeline.barriers(plan.stages, pipeline.ARRIVE if one else ARRIVE_AT),
        "fetches": "\n\n".join(_fetches(plan)),
        "put": _put(plan),
        "multiply": "\n\n".join([*_widened(plan), multiplied(plan.core, begins=True)]),
        "batch_of": "const int batch = t / (down * along);\nt %= down * along;" if plan.turns else "",
        "batch_value": ", batch" * plan.turns,
        "parameters": "\n".join(
            f"{word}," for word in [*parameters(plan), *["const int *ends, unsigned char *D"] * grouped]
        ),
        "sizes": "int M, int N, int K"
        + ", int batches" * plan.turns
        + ", int groups, long long pitch" * grouped,
        "boxes_at": plan.stages * plan.stage_bytes,
        "full_at": plan.shared_bytes - 16 * plan.stages,
        "empty_at": plan.shared_bytes - 8 * plan.stages,
        "block": _block(plan),
        "meet": ALL_MEET if one else CLUSTER_MEETS,
        "part": "" if one else f"// No block ends while another arrives at its barriers.\n{CLUSTER_MEETS}",
        "first": "blockIdx.x" if one else f"blockIdx.x / {plan.blocks}",
        "stride": "gridDim.x" if one else f"gridDim.x / {plan.blocks}",
        "row_of_a": _begin(plan, plan.a),
        "column_of_b": _begin(plan, plan.b),
        "row_of_d": f"const int row = tile.row{_turn('down', down, plan.m)} + worker * {rows};\n"
        f"const int column = tile.column{_turn('along', along, plan.n)};",
        "stage_content": sum(own.bytes for own in plan.operands),
        "loads": "\n".join(line for own in plan.operands for line in _loads(plan, own)),
        "loader_registers": LOADER_REGISTERS,
        "worker_registers": WORKER_REGISTERS,
        "rows_each": rows,
        "accumulator": "float" if plan.accumulator.name == "f32" else "int",
        "registers": f"[{plan.parts}][{plan.registers}]"
        + f", stage_sums[{plan.parts}][{plan.registers}]" * plan.promotes,
        "descriptors": "\n".join(_sources(plan)),
        "chain": _widened_chain(plan)
        if plan.widened
        else filled(CHAIN, {"products": "\n".join(_chain(plan))}),
        "here": "base" if one else "here",
        "k_of_step": plan.core.a.input.k,
        "a_registers": "unsigned a[2][4];" if plan.widened else "",
        "release": _release(plan),
        **_chain_ends(plan),
        "box_shape": f"64 x {plan.d.k}",
        "boxes": plan.parts * across,
        "buffers": BUFFERS,
        "fewer": BUFFERS - 1,
        "fill": _fill(plan),
        "name": plan.called,
    }
    check_free(plan.name, filled(KERNEL, slots | {"name": ""}))
    return filled(KERNEL, slots)


def cluster_slots(plan: HopperPlan) -> dict[str, int]:
    """Return the extents of the tiles of a cluster, and what rounds up to them."""
    extents = {"m": plan.m * plan.cluster[0], "n": plan.n * plan.cluster[1]}
    less = {f"cluster_{name}_less": extent - 1 for name, extent in extents.items()}
    return {f"cluster_{name}": extent for name, extent in extents.items()} | less


def _places(plan: HopperPlan) -> list[str]:
    """Return the places of the operands, of their product and of D, line by line."""
    widened = [f"A [{M}, {plan.core.a.input.k}] {plan.core.a.dtype}, registers of a warpgroup:"]
    return [
        *facts(plan),
        *([*widened, f"    {plan.widened.tile}"] if plan.widened else []),
        f"A B^T [{M}, {plan.n}] {plan.accumulator}, the registers of a warpgroup:",
        f"    {plan.fragment}",
        f"D [{M}, {plan.d.k}] {plan.out}, a box in shared memory:",
        f"    {plan.d.tile}",
    ]


def schedule(plan: HopperPlan) -> Iterator[str]:
    """Yield the parts of the kernel, and how it is launched, line by line."""
    down, along = plan.cluster
    shared = [
        f"{count} neighbours {way} share {own}"
        for count, way, own in ((down, "down M", "B"), (along, "along N", "A"))
        if count > 1
    ]
    yield f"Warpgroup 0 loads; {plan.workers} multiply {plan.m // plan.workers} rows each."
    yield f"full[{plan.stages}]: the bytes of a stage are there."
    yield f"empty[{plan.stages}]: {plan.readers} warpgroups have read it."
    yield from [f"In a cluster of {down} x {along} blocks {', '.join(shared)}."] if shared else []
    each = f", in clusters of {plan.blocks}" if plan.blocks > 1 else ""
    yield f"Launch a block for each multiprocessor of sm_90a{each}, or for each tile if those are fewer,"
    yield f"with {plan.threads} threads and {plan.shared_bytes} bytes of dynamic shared memory."
    even = "; N is even" if plan.finish.by_column else ""
    yield f"M, N and K are any that the tensor maps take{even}."


def _begin(plan: HopperPlan, own: DescribedOperand) -> str:
    """Return the first row of an operand that a block loads."""
    ways = ("down", "along") if own.name == "A" else ("along", "down")
    counts = plan.cluster if own.name == "A" else plan.cluster[::-1]
    turn = _turn(ways[0], counts[0], own.rows) + _turn(ways[1], counts[1], own.rows // counts[1])
    return f"const int {own.first_row} = tile.{own.first_row}{turn};"


def _turn(way: str, count: int, extent: int) -> str:
    """Return what a block adds to the begin of its cluster's tile."""
    return f" + {way}_turn * {extent}" if count > 1 else ""


def _block(plan: HopperPlan) -> str:
    down, along = plan.cluster
    if plan.blocks == 1:
        return ""
    lines = [
        "const unsigned here = base & 0x3ffff; // in a cluster the block's number stands above its addresses",
        "unsigned block;",
        'asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(block));',
    ]
    if down > 1:
        lines.append(
            f"const unsigned down_turn = block % {down};"
            if along > 1
            else "const unsigned down_turn = block;"
        )
    if along > 1:
        lines.append(
            f"const unsigned along_turn = block / {down};"
            if down > 1
            else "const unsigned along_turn = block;"
        )
    return "\n".join(lines)


def _release(plan: HopperPlan) -> str:
    """Return the arrival of a warpgroup at the barriers of all blocks that load for it."""
    down, along = plan.cluster
    if plan.blocks == 1:
        return "if (thread == 0)\n    arrive(empty + 8 * stage);"
    these = f"thread < {plan.blocks}"
    if min(down, along) > 1:
        these += f" && (thread % {down} == down_turn || thread / {down} == along_turn)"
    return f"if ({these})\n    arrive(empty + 8 * stage, thread);"


# -- loads -------------------------------------------------------------------------------------------


def _loads(plan: HopperPlan, own: DescribedOperand) -> Iterator[str]:
    """Yield the lines that ask for the rows of an operand's tile which a block loads."""
    box, parts = plan.box_of(own), plan.shared_by(own)
    to, row = plus("to", plan.offsets[own.name]), own.first_row
    if parts > 1:
        to += f" + {_turn_of(own)} * {own.bytes // parts}"
    for at in range(own.rows // parts // box.rows):
        line, along = f"k * {plan.k}", plus(row, at * box.rows)
        line = f"(tile.batch * steps + k) * {plan.k}" if plan.splits else line
        words = [line, along] if own.major == "k" else [along, line]
        places = ", ".join([*words, *["tile.batch"] * plan.is_many(own)])
        into = f"{plus(to, at * box.bytes)}, map_{own.letter}, barrier"
        if parts > 1:
            yield f"share({into}, {_mask(plan, own)},\n    {places});"
        else:
            yield f"fetch({into}, {places});"


def _turn_of(own: DescribedOperand) -> str:
    return "along_turn" if own.name == "A" else "down_turn"


def _mask(plan: HopperPlan, own: DescribedOperand) -> str:
    """Return the blocks of the cluster that have the same tile of an operand, a bit each."""
    down, along = plan.cluster
    if own.name == "B":
        return f"{(1 << down) - 1}" + (f" << along_turn * {down}" if along > 1 else "")
    return f"{sum(1 << down * at for at in range(along))}" + (" << down_turn" if down > 1 else "")


def _fetches(plan: HopperPlan) -> Iterator[str]:
    """Yield the functions that load boxes, by one block or for several, of so many dimensions."""
    kinds = {(plan.shared_by(own) > 1, 2 + plan.is_many(own)) for own in plan.operands}
    for shared, rank in sorted(kinds):
        yield (
            filled(SHARE, {"mask": 3 + rank, **pipeline.coordinates(rank, 3)})
            if shared
            else pipeline.fetch(rank)
        )


# -- products ----------------------------------------------------------------------------------------


def _descriptor(plan: HopperPlan, own: DescribedOperand) -> str:
    start = plus("at", plan.offsets[own.name])
    if own.name == "A" and plan.workers > 1:
        start += f" + worker * {own.along_rows[plan.parts] * CHUNK}"
    return descriptor_at(own.letter, own, start)


def _chain(plan: HopperPlan) -> Iterator[str]:
    """Yield the products of a stage. The first one begins anew: of a tile, or of each stage."""
    sums, begins = ("stage_sums", "0") if plan.promotes else ("d", "k > 0")
    for step, (of_a, of_b) in enumerate(zip(plan.a.along_k, plan.b.along_k, strict=True)):
        for part in range(plan.parts):
            a = plus("a", of_a + plan.a.along_rows[part])
            yield f"multiply({sums}[{part}], {a}, {plus('b', of_b)}, {'1' if step else begins});"


def _functions(plan: HopperPlan) -> list[Source]:
    """Return the functions of places: of D, and of A where it passes through registers."""
    found = [plan.d_index, place_of(plan.d)]
    return [*found, place_of(plan.a, 2)] if plan.widened else found


def _sources(plan: HopperPlan) -> Iterator[str]:
    """Yield the begin of each operand in a stage: descriptors, or the address of rows that are widened."""
    if plan.widened:
        start = (
            f"base + ring.stage * {plan.stage_bytes} + worker * {M * plan.a.k * plan.a.dtype.bits // BYTE}"
        )
        yield f"const unsigned rows = {plus(start, plan.offsets['A'])};"
    yield from (_descriptor(plan, own) for own in plan.operands[bool(plan.widened) :])


def _widened(plan: HopperPlan) -> Iterator[str]:
    """Yield the function that widens two neighbours of A."""
    if not plan.widened:
        return
    wide, own = plan.widened.dtype.name, plan.a.dtype.name
    if own in NARROW:
        steps = [f"cvt.rn.f16x2.{own}x2 %0, two;"]
        steps += ["mov.b32 {low, high}, %0; cvt.f32.f16 x, low; cvt.f32.f16 y, high;"] * (wide == "bf16")
    else:
        sign = own[0]
        steps = [
            f"cvt.u32.u16 %0, two; bfe.{sign}32 low, %0, 0, 8; bfe.{sign}32 high, %0, 8, 8;",
            f"cvt.rn.f32.{sign}32 x, low; cvt.rn.f32.{sign}32 y, high;",
        ]
    if len(steps) > 1:
        steps[-1] += f" cvt.rn.{wide}x2.f32 %0, y, x;"
    steps[-1] += "}"
    slots = {"own": own, "wide": wide, "kind": "b16" if own in NARROW else "b32"}
    lines = [f'"{step}\\n"' for step in steps[:-1]] + [f'"{steps[-1]}"']
    yield filled(WIDENED, {**slots, "steps": "\n".join(lines)})


def _widened_chain(plan: HopperPlan) -> str:
    index = call(plan.d_index, warp="warp", lane="lane", reg="r")
    slots = {"index": index, "steps": len(plan.b.along_k), "b_step": step_of(plan.b)}
    return filled(WIDENED_CHAIN, slots)


def _chain_ends(plan: HopperPlan) -> dict[str, object]:
    """Return the lines after a chain, and after the last one of a tile."""
    letter, parts = "f" if plan.accumulator.name == "f32" else "r", range(plan.parts)
    sums = "stage_sums" if plan.promotes else "d"
    own: dict[str, object] = {
        "sums": plan.registers,
        "added": "\n".join(f"d[{at}][r] = stage_sums[{at}][r] + (k > 0 ? d[{at}][r] : 0);" for at in parts),
    }
    own["touched"] = pipeline.touched([f"{sums}[{part}]" for part in parts], plan.registers, letter)
    if plan.promotes:
        return {"before": "", "ended": filled(PROMOTED, own), "last_ended": ""}
    ended = "before = ring.stage;" if plan.widened else ENDED
    return {"before": "unsigned before = 0;", "ended": ended, "last_ended": filled(LAST_ENDED, own)}


# -- D -----------------------------------------------------------------------------------------------


def _put(plan: HopperPlan) -> str:
    if plan.out.bits == 16:
        return pipeline.PUT
    kind, code = {"f32": ("float", "f"), "s32": ("int", "r")}.get(plan.out.name, ("", ""))
    if plan.out.bits == 32:
        slots = {
            "pair": f"{kind}2 pair",
            "store": f"st.shared.v2.{'f32' if kind == 'float' else 's32'}",
            "value": "{%1, %2}",
            "operands": f'"{code}"(pair.x), "{code}"(pair.y)',
        }
    else:
        slots = {
            "pair": "unsigned short pair",
            "store": "st.shared.u16",
            "value": "%1",
            "operands": '"h"(pair)',
        }
    return filled(PUT_PAIR, slots)


def _fill(plan: HopperPlan) -> str:
    """Return the lines that put a box of D into shared memory."""
    across, pairs = plan.n // plan.d.k, plan.d.k // 4
    common: dict[str, object] = {"pairs": pairs, "across": across}
    of_pair = finished(plan)
    if plan.out.bits == 16:
        index = call(plan.d_index, warp="warp", lane="lane % 8 * 4", reg="first + lane / 8")
        slots = {"index": index, "chunks": plan.d.k // 8}
        return "\n".join([of_pair, filled(MATRICES, common | slots)])
    index = call(plan.d_index, warp="warp", lane="lane", reg="pair")
    size = plan.out.bits // BYTE
    slots = {"index": index, "bytes": 2 * size, "span": plan.d.k * size, "values": "pair_of(pair)"}
    return "\n".join([of_pair, filled(PAIRS, common | slots)])
