"""The parts of a kernel that wgmma decides: arrival of tiles, the chain of instructions, D's way out."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.codegen.parts.copies import WIDTHS, copies, place_of
from tilewise.codegen.parts.kernel import host_text, kernel_text, multiply
from tilewise.codegen.parts.template import call, each, filled, listed, made, pair, plus
from tilewise.codegen.source import Source, source_of
from tilewise.codegen.wgmma.boxes import Fetch, Symbolic
from tilewise.codegen.wgmma.plan import DescribedOperand, WgmmaPlan
from tilewise.hardware.limits import REGISTER_BITS
from tilewise.hardware.modes import CHUNK
from tilewise.hardware.wgmma.instructions import M

LOOP = """\
for (unsigned t = 0; t < tiles; ++t) {
    $brought
    $arrived

    // Each step multiplies ${plan.a.input.k} of K. What a descriptor moves by counts 16 bytes.
    $descriptors
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); // registers are as they were written
    $chain
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); // one group, to be waited for
    asm volatile("wgmma.wait_group.sync.aligned $running;" ::: "memory");
    __syncthreads(); // every warpgroup has read the $which: it may be overwritten
    $again
}
$end"""

WAIT_FOR_ALL = 'asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");'

STORE = """\
// A thread holds pairs of neighbours of a row.
#pragma unroll
for (unsigned pair = 0; pair < $pairs; ++pair) {
    const auto at = $d_index;
    const size_t to = (size_t)(row + 64 * warpgroup + at.i) * N + column + 2 * at.j;
    *($pair_type *)(D + to) = $pair;
}"""

A_REGISTERS = 4
"""Registers of a thread that hold A of one instruction."""


def kernel_source(plan: WgmmaPlan) -> str:
    """Return the program: self-contained, without headers.

    >>> from tilewise.codegen.wgmma import planned
    >>> source = kernel_source(planned((64, 8, 16), "f16", load="copy"))
    >>> "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16" in source, "#include" in source
    (True, False)
    """
    sources = [_place_of(own) for own in plan.operands if own.load != "tma"]
    by_tma = _by_tma(plan) if plan.by_tma else {"head": "", "before": "", "arrived": "", "again": ""}
    pair_type = pair(plan.out)
    pairs = ["d[pair]"] if plan.out.bits == 16 else ["d[2 * pair]", "d[2 * pair + 1]"]
    steps = ([_argument(own, k) for own in plan.operands] for k in range(plan.k_steps))
    slots = by_tma | {
        "plan": plan,
        "brought": "\n".join(_brought(plan)),
        "descriptors": "\n".join(_descriptor(plan, own) for own in plan.in_shared),
        "chain": "\n".join(f"multiply(d, {a}, {b});" for a, b in steps),
        "running": int(plan.overlaps),
        "which": "tile before" if plan.overlaps else "tile",
        "end": WAIT_FOR_ALL if plan.overlaps else "",
        "pairs": plan.n // 4,
        "d_index": call(plan.d_index, wid_in_wg="warp", laneid="lane", reg="pair"),
        "pair_type": pair_type,
        "pair": made(pair_type, pairs),
        "needs": ", for sm_90a.",
        "places": "\n\n".join(source.code for source in (*sources, plan.d_index)),
        "multiply": multiplied(plan),
        "bounds": plan.threads,
        "parameters": "\n".join(f"{_parameter(own)}," for own in plan.operands),
        "threads_by": "warpgroup = thread / 128, warp = thread / 32 % 4, lane = thread % 32",
        "registers": f"[{plan.registers}]",
    }
    return kernel_text(
        plan, facts(plan), slots | {"loop": filled(LOOP, slots), "store": filled(STORE, slots)}
    )


def facts(plan: WgmmaPlan) -> list[str]:
    """Return the places of the operands, line by line."""
    lines = []
    for own in plan.operands:
        held = f"in registers [{M}, {own.input.k}]"
        where = held if own.in_registers else f"mode {own.mode} in shared memory"
        lines += [f"{own.heading}, {where}:", f"    {own.tile}"]
    d = f"D [{plan.m}, {plan.n}] {plan.accumulator}, a warpgroup for each {M} rows:"
    return [*lines, d, f"    {plan.fragment}"]


def host_source(plan: WgmmaPlan) -> str:
    """Return kernel and host together, one .cu file.

    >>> from tilewise.codegen.wgmma import planned
    >>> "cuTensorMapEncodeTiled(&map_b" in host_source(planned((64, 64, 64), "bf16"))
    True
    """
    arguments = (
        f"map_{own.letter}" if own.load == "tma" else f"(const unsigned char *){own.name}"
        for own in plan.operands
    )
    slots = {
        "kernel": kernel_source(plan),
        "flags": "-gencode arch=compute_90a,code=sm_90a" + " -lcuda" * bool(plan.by_tma),
        "arguments": ", ".join(arguments),
        "maps": "\n".join(map(_map, plan.by_tma)),
        "includes": "#include <cuda.h>" * bool(plan.by_tma),
    }
    return host_text(plan, slots)


# -- the chain ---------------------------------------------------------------------------------------


def multiplied(plan: WgmmaPlan) -> str:
    """Return the function around one instruction."""
    count, held = plan.registers, plan.a.in_registers
    a_count = A_REGISTERS if held else 1
    a = listed("%#", range(count, count + a_count))
    immediates, said = ["1"], ["d is added to (1)"]
    if plan.accumulator.name != "s32":  # signs for floats, then a transpose bit for 16-bit tiles
        immediates += ["1", "1"]
        said.append("nothing is negated (1, 1)")
    for own in plan.in_shared if plan.a.dtype.bits == 16 else ():
        turned = int(own.major == "mn")
        immediates.append(str(turned))
        said.append(f"{own.name} is {own.major.upper()}-major ({turned})")
    slots = {
        "shape": f"{M} x {plan.n} x {plan.a.input.k}",
        "those": f"the 128 threads of a warpgroup.\n// After the operands: {', '.join(said)}",
        "a": f"const unsigned (&a)[{A_REGISTERS}]" if held else "unsigned long long a",
        "b": "unsigned long long b",
        "read": f"{f'{{{a}}}' if held else a}, %{count + a_count}, {', '.join(immediates)}",
        "inputs": ", ".join([*(each('"r"(a[#])', range(a_count)) if held else ['"l"(a)']), '"l"(b)']),
    }
    return multiply(plan, count, slots)


def _descriptor(plan: WgmmaPlan, own: DescribedOperand) -> str:
    start = plus("base" if plan.stages == 1 else f"base + stage * {plan.stage_bytes}", plan.offsets[own.name])
    if own.along_rows[1:]:
        start += f" + warpgroup * {(own.along_rows[1] - own.along_rows[0]) * CHUNK}"
    start = f"({start})" if " " in start else start
    return f"const unsigned long long {own.letter} = {own.descriptor.value:#018x} + ({start} >> 4);"


def _argument(own: DescribedOperand, k: int) -> str:
    return f"{own.letter}[{k}]" if own.in_registers else plus(own.letter, own.along_k[k])


def _parameter(own: DescribedOperand) -> str:
    if own.load == "tma":
        return f"const __grid_constant__ CUtensorMap map_{own.letter}"
    return f"const unsigned char *{own.name}"


# -- by threads --------------------------------------------------------------------------------------

COPIED = """\
asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); // the tensor core sees what threads stored
__syncthreads();"""

WORDS = """\
// ${own.name} straight into registers, each of them 32 bits along K.
unsigned a[$steps][4];
#pragma unroll
for (unsigned s = 0; s < $steps; ++s)
    #pragma unroll
    for (unsigned r = 0; r < 4; ++r) {
        const auto at = $index;
        const unsigned char *line = ${own.name} + (size_t)(row + 64 * warpgroup + at.i) * ${own.pitch};
        a[s][r] = *((const unsigned *)(line + $inner) + s * $words + at.j);
    }"""

ELEMENTS = """\
// ${own.name} straight into registers, element by element: neighbours along K are apart in global memory.
unsigned a[$steps][4] = {};
#pragma unroll
for (unsigned s = 0; s < $steps; ++s)
    #pragma unroll
    for (unsigned r = 0; r < 4 * $each; ++r) {
        const auto at = $index;
        const unsigned char *line = \
${own.name} + (size_t)(t * ${own.k} + s * ${own.input.k} + at.j) * ${own.pitch};
        a[s][r / $each] |= \
(unsigned)((const $type *)line)[row + 64 * warpgroup + at.i] << r % $each * ${own.dtype.bits};
    }"""


def _brought(plan: WgmmaPlan) -> Iterator[str]:
    """Yield the lines by which threads bring a tile."""
    for own in plan.operands:
        if own.in_registers:
            yield _in_registers(own)
        elif own.load == "copy":
            yield copies(own, plan.threads, plus("shared", plan.offsets[own.name]))
    if "copy" in (plan.a.load, plan.b.load):
        yield COPIED


def _place_of(own: DescribedOperand) -> Source:
    """Return the place of the 16 bytes (i, j) of a tile; in registers, the element of a register."""
    if not own.in_registers:
        return place_of(own)
    fragment = own.tile if own.major == "mn" else own.tile.pack(REGISTER_BITS // own.dtype.bits, "reg")
    return source_of(fragment, inverse=True, flat=False, name=f"{own.letter}_index")


def _in_registers(own: DescribedOperand) -> str:
    bits, step = own.dtype.bits, own.input.k
    slots = {
        "own": own,
        "each": REGISTER_BITS // bits,
        "steps": own.k // step,
        "words": step * bits // REGISTER_BITS,
        "type": WIDTHS.get(bits // 8, ""),
        "inner": f"t * {own.k * bits // 8}",
        "index": call(_place_of(own), wid_in_wg="warp", laneid="lane", reg="r"),
    }
    return filled(WORDS if own.major == "k" else ELEMENTS, slots)


# -- by TMA ------------------------------------------------------------------------------------------

HEAD = """\
#ifndef CUDA_VERSION // cuda.h has it
struct alignas(128) CUtensorMap { unsigned long long opaque[16]; };
#endif

// The barrier will count so many bytes, and its one arrival is this.
__device__ __forceinline__ void expect(unsigned barrier, unsigned bytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(barrier), "r"(bytes) : "memory");
}

// Until the phase of that parity is over: all bytes are there.
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
"""

FETCH = """\
// The box of a tensor map at ($at), to shared memory; the barrier counts its bytes.
__device__ __forceinline__ void fetch(unsigned to, const CUtensorMap &map, unsigned barrier, $given)
{
    asm volatile(
        "cp.async.bulk.tensor.${rank}d.shared::cluster.global.mbarrier::complete_tx::bytes\\n"
        "[%0], [%1, {$slots}], [%2];"
        :: "r"(to), "l"(&map), "r"(barrier), $operands : "memory");
}"""

BEFORE = """\

// One thread asks for tiles by TMA; each stage has a barrier.
const unsigned barriers = base + $barriers;
const auto load = [&](unsigned t) {
    const unsigned stage = t % ${plan.stages}, to = base + stage * ${plan.stage_bytes}, \
barrier = barriers + 8 * stage;
    expect(barrier, $bytes);
    $copies
};
if (thread == 0) {
    for (unsigned stage = 0; stage < ${plan.stages}; ++stage)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(barriers + 8 * stage) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); // TMA sees the barriers
    for (unsigned t = 0; t < ${plan.stages} && t < tiles; ++t)
        load(t);
}
__syncthreads();
"""

BEFORE_ONE = """\

// One thread asks for tiles by TMA, and a barrier counts their bytes.
const unsigned barrier = base + $barriers;
const auto load = [&](unsigned t) {
    expect(barrier, $bytes);
    $copies
};
if (thread == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(barrier) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); // TMA sees the barrier
    load(0);
}
__syncthreads();
"""

WAIT = """\
const unsigned stage = t % ${plan.stages};
wait(barriers + 8 * stage, t / ${plan.stages} % 2);"""

WAIT_ONE = "wait(barrier, t % 2);"

AGAIN = """\
if (thread == 0 && t + ${plan.stages} < tiles)
    load(t + ${plan.stages});"""

AGAIN_LATER = """\
if (thread == 0 && t > 0 && t + $later < tiles)
    load(t + $later);"""

MAP = """\
// ${own.name}: dimensions from the fastest, strides in bytes of all but the first.
CUtensorMap map_${own.letter};
const cuuint64_t sizes_${own.letter}[] = {$sizes};
const cuuint64_t strides_${own.letter}[] = {$strides};
const cuuint32_t box_${own.letter}[] = {$box}, every_${own.letter}[] = {$every};
if (cuTensorMapEncodeTiled(&map_${own.letter}, $tensorDataType, $rank, (void *)${own.name},
                           sizes_${own.letter}, strides_${own.letter}, box_${own.letter}, every_${own.letter},
                           $interleave, $swizzle,
                           $l2Promotion,
                           $oobFill) != CUDA_SUCCESS)
    return cudaErrorInvalidValue;
"""


def _by_tma(plan: WgmmaPlan) -> dict[str, str]:
    """Return the texts before the kernel, before its loop, and in the loop before and after the chain."""
    fetches = [(own, fetch) for own in plan.by_tma for fetch in Symbolic(own).fetches(own.first_row, "t")]
    ranks = sorted({len(fetch.coordinates) for _, fetch in fetches})
    slots = {
        "plan": plan,
        "later": plan.stages - 1,
        "barriers": plan.stages * plan.stage_bytes,
        "bytes": sum(own.bytes for own in plan.by_tma),
        "copies": "\n".join(_fetched(plan, own, fetch) for own, fetch in fetches),
    }
    one = plan.stages == 1
    return {
        "head": "\n".join([HEAD, *map(_fetch, ranks), "\n"]),
        "before": filled(BEFORE_ONE if one else BEFORE, slots),
        "arrived": filled(WAIT_ONE if one else WAIT, slots),
        "again": filled(AGAIN_LATER if plan.overlaps else AGAIN, slots),
    }


def _fetch(rank: int) -> str:
    numbers = range(rank)
    slots = {
        "at": listed("x#", numbers),
        "given": listed("int x#", numbers),
        "rank": rank,
        "slots": listed("%#", range(3, 3 + rank)),
        "operands": listed('"r"(x#)', numbers),
    }
    return filled(FETCH, slots)


def _fetched(plan: WgmmaPlan, own: DescribedOperand, fetch: Fetch) -> str:
    to = plus("base" if plan.stages == 1 else "to", plan.offsets[own.name] + fetch.start)
    return f"fetch({to}, map_{own.letter}, barrier, {', '.join(fetch.coordinates)});"


def _map(own: DescribedOperand) -> str:
    made = Symbolic(own)
    slots = made.map.arguments | {
        "own": own,
        "sizes": ", ".join(map(_wide, made.sizes)),
        "strides": ", ".join(map(_wide, made.strides)),
        "box": ", ".join(map(str, made.box)),
        "every": ", ".join("1" for _ in made.box),
        "rank": len(made.box),
    }
    return filled(MAP, slots)


def _wide(size: str) -> str:
    """Return a size or a stride computed in 64 bits."""
    return size if size.isdigit() else f"(cuuint64_t){size}"
