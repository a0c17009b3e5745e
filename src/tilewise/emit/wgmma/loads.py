"""How the tiles of A and B get to where the tensor core reads them: TMA, copies by threads, or registers."""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.emit.parts.copies import copies, pitch, place_of
from tilewise.emit.parts.template import filled
from tilewise.emit.parts.words import call
from tilewise.emit.source import Source, source_of
from tilewise.emit.wgmma.boxes import Fetch, Symbolic
from tilewise.emit.wgmma.operands import Operand
from tilewise.emit.wgmma.plan import Plan


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a kernel that its loads decide."""

    places: tuple[str, ...]
    """Functions of the layouts."""
    parameters: tuple[str, ...]
    head: str = ""
    """What TMA needs before the kernel: the type of a tensor map, and its instructions as functions."""
    before: str = ""
    """Before the loop over K."""
    arrive: str = ""
    """In the loop, before the chain: the tile is there when it ends."""
    again: str = ""
    """In the loop, after the chain."""


def parts_of(plan: Plan) -> Parts:
    """The loads of both operands."""
    functions = [_place_of(own) for own in (plan.a, plan.b) if own.load != "tma"]
    threads_load = any(own.load == "copy" for own in plan.in_shared)
    fetched = "\n".join(_in_registers(own) for own in (plan.a, plan.b) if own.in_registers)
    copied = "\n".join(_copies(plan, own) for own in plan.in_shared if own.load == "copy")
    if threads_load:
        copied += "\n" + COPIED
    by_tma = [own for own in plan.in_shared if own.load == "tma"]
    head, before, waited, again = _by_tma(plan, by_tma) if by_tma else ("", "", "", "")
    return Parts(
        places=tuple(own.code for own in functions),
        parameters=tuple(_parameter(own) for own in (plan.a, plan.b)),
        head=head,
        before=before,
        arrive="\n".join(filter(None, [fetched, copied, waited])),
        again=again,
    )


def _parameter(own: Operand) -> str:
    if own.load == "tma":
        return f"const __grid_constant__ CUtensorMap map_{own.name.lower()}"
    return f"const unsigned char *{own.name}"


def _place_of(own: Operand) -> Source:
    """Where the 16 bytes (i, j) of a tile go; for registers which element a register holds."""
    letter = own.name.lower()
    if not own.in_registers:
        return place_of(own)
    fragment = own.fragment if own.major == "mn" else own.fragment.pack(_in_a_register(own), "reg")
    return source_of(fragment, inverse=True, flat=False, name=f"{letter}_index")


def _in_a_register(own: Operand) -> int:
    return 32 // own.input.dtype.bits


# -- copies by threads --------------------------------------------------------------------------------

COPIED = """\
asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); // the tensor core sees what threads stored
__syncthreads();"""


def _copies(plan: Plan, own: Operand) -> str:
    offset = plan.offsets[own.name]
    return copies(own, plan.threads, f"(shared + {offset})" if offset else "shared")


# -- A in registers -----------------------------------------------------------------------------------

WORDS = """\
// $name straight into registers, each of them 32 bits along K.
unsigned a[$steps][4];
#pragma unroll
for (unsigned s = 0; s < $steps; ++s)
    #pragma unroll
    for (unsigned r = 0; r < 4; ++r) {
        const auto at = $index;
        const unsigned char *line = $name + (size_t)(row + 64 * warpgroup + at.i) * $pitch;
        a[s][r] = *((const unsigned *)(line + $inner) + s * $words + at.j);
    }"""

ELEMENTS = """\
// $name straight into registers, element by element: neighbours along K are apart in global memory.
unsigned a[$steps][4] = {};
#pragma unroll
for (unsigned s = 0; s < $steps; ++s)
    #pragma unroll
    for (unsigned r = 0; r < 4 * $each; ++r) {
        const auto at = $index;
        const unsigned char *line = $name + (size_t)(t * $k + s * $step + at.j) * $pitch;
        a[s][r / $each] |= (unsigned)((const $type *)line)[row + 64 * warpgroup + at.i] << r % $each * $bits;
    }"""

_UNSIGNED = {8: "unsigned char", 16: "unsigned short", 32: "unsigned"}


def _in_registers(own: Operand) -> str:
    each = _in_a_register(own)
    slots = {
        "name": own.name,
        "each": each,
        "steps": own.k // own.input.k,
        "step": own.input.k,
        "words": own.input.k // each,
        "k": own.k,
        "bits": own.input.dtype.bits,
        "type": _UNSIGNED.get(own.input.dtype.bits, ""),
        "pitch": pitch(own),
        "inner": f"t * {own.k * own.input.dtype.bits // 8}",
        "index": call(_place_of(own), wid_in_wg="warp", laneid="lane", reg="r"),
    }
    return filled(WORDS if own.major == "k" else ELEMENTS, slots)


# -- TMA ----------------------------------------------------------------------------------------------

MAP_TYPE = """\
#ifndef CUDA_VERSION // cuda.h has it
struct alignas(128) CUtensorMap { unsigned long long opaque[16]; };
#endif
"""

BARRIER = """\
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
// The box of a tensor map at $at, to shared memory; the barrier counts its bytes.
__device__ __forceinline__ void fetch(unsigned to, const CUtensorMap &map, unsigned barrier, $given)
{
    asm volatile(
        "cp.async.bulk.tensor.${rank}d.shared::cluster.global.mbarrier::complete_tx::bytes\\n"
        "[%0], [%1, {$slots}], [%2];"
        :: "r"(to), "l"(&map), "r"(barrier), $operands : "memory");
}
"""

BEFORE = """\

// One thread asks for tiles by TMA; each stage has a barrier.
const unsigned barriers = base + $barriers;
const auto load = [&](unsigned t) {
    const unsigned stage = t % $stages, to = base + stage * $stage_bytes, barrier = barriers + 8 * stage;
    expect(barrier, $bytes);
    $copies
};
if (thread == 0) {
    for (unsigned stage = 0; stage < $stages; ++stage)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(barriers + 8 * stage) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); // TMA sees the barriers
    for (unsigned t = 0; t < $stages && t < tiles; ++t)
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
const unsigned stage = t % $stages;
wait(barriers + 8 * stage, t / $stages % 2);"""

WAIT_ONE = "wait(barrier, t % 2);"

AGAIN = """\
if (thread == 0 && t + $stages < tiles)
    load(t + $stages);"""

AGAIN_LATER = """\
if (thread == 0 && t > 0 && t + $later < tiles)
    load(t + $later);"""


def _by_tma(plan: Plan, own: list[Operand]) -> tuple[str, str, str, str]:
    """What stands before the kernel, before its loop, and in the loop before and after the chain."""
    fetches = [
        (each, fetch)
        for each in own
        for fetch in Symbolic(each).fetches("row" if each.name == "A" else "column", "t")
    ]
    slots = {
        "stages": plan.stages,
        "later": plan.stages - 1,
        "stage_bytes": plan.stage_bytes,
        "barriers": plan.stages * plan.stage_bytes,
        "bytes": sum(each.bytes for each in own),
        "copies": "\n".join(_fetched(plan, each, fetch) for each, fetch in fetches),
    }
    ranks = sorted({len(fetch.coordinates) for _, fetch in fetches})
    head = "\n".join([MAP_TYPE, BARRIER, *map(_fetch, ranks)])
    single = plan.stages == 1
    before, wait = (BEFORE_ONE, WAIT_ONE) if single else (BEFORE, WAIT)
    again = AGAIN_LATER if plan.overlaps else AGAIN
    return head, filled(before, slots), filled(wait, slots), filled(again, slots)


def _fetch(rank: int) -> str:
    names = [f"x{i}" for i in range(rank)]
    slots = {
        "at": f"({', '.join(names)})",
        "given": ", ".join(f"int {name}" for name in names),
        "rank": rank,
        "slots": ", ".join(f"%{3 + i}" for i in range(rank)),
        "operands": ", ".join(f'"r"({name})' for name in names),
    }
    return filled(FETCH, slots)


def _fetched(plan: Plan, own: Operand, fetch: Fetch) -> str:
    to, offset = "base" if plan.stages == 1 else "to", plan.offsets[own.name] + fetch.start
    coordinates = ", ".join(fetch.coordinates)
    return f"fetch({to}{f' + {offset}' if offset else ''}, map_{own.name.lower()}, barrier, {coordinates});"
