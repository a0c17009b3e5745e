"""Emitted moves inside a warp as kernels, and as programs for the host; their data, and what comes out."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from tests.check import shuffle_machine as machine
from tests.check.shuffle_cases import Case

from tilewise.check.registers.warp import nearest, transfer
from tilewise.codegen.shuffle import cuda_source
from tilewise.core.dtypes import DType

LANES = 32


def function_name(at: int) -> str:
    """The name of the function of a case."""
    return f"move_{at}"


def source_of(case: Case, at: int) -> str:
    """The function of a case."""
    return cuda_source(case.plan, function_name(at))


NOTHING_PREPARED = "#define PREPARED"


def kernels(cases: Sequence[Case]) -> str:
    """A program with a kernel a case: every thread reads its registers, moves, and writes them."""
    parts = [f"{source_of(case, at)}\n\n{kernel_of(case, at)}" for at, case in enumerate(cases)]
    return "\n\n".join([NOTHING_PREPARED, *parts])


def kernel_of(case: Case, at: int) -> str:
    """A kernel around the function of a case."""
    before, after = case.plan.registers
    return f"""\
extern "C" __global__ void kernel_{at}(const unsigned *in, unsigned *out)
{{
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    PREPARED
    unsigned from[{before}], to[{after}] = {{}};
    #pragma unroll
    for (int i = 0; i < {before}; i++)
        from[i] = in[thread * {before} + i];
    {function_name(at)}(from, to);
    #pragma unroll
    for (int i = 0; i < {after}; i++)
        out[thread * {after} + i] = to[i];
}}"""


def through_shared(case: Case) -> str:
    """The same move through shared memory, as a function of the same name: registers stored, units loaded.

    Where each lane finds what it needs is prepared once, in registers.
    """
    plan = case.plan
    before, after = plan.registers
    table = transfer(plan.source, plan.target, plan.dtype).coarser()
    size = table.per_register
    rows = []
    for at in range(after * size):
        row = []
        for lane in range(LANES):
            sources = table.wanted[lane][at] if at < table.positions else frozenset()
            its, position = nearest(lane, sources) if sources else (lane, 0)
            word, bit = position // size * 33 + its, position % size * table.bits
            row.append(4 * word + bit // 8 | bit % 8 << 16)
        rows.append(row)
    listed = ",\n    ".join("{" + ", ".join(map(str, row)) + "}" for row in rows)
    kind = {32: "unsigned", 16: "unsigned short"}.get(table.bits, "unsigned char")
    mask = (1 << min(table.bits, 32)) - 1
    loads = []
    for at in range(after * size):
        read = f"*(const {kind} *)(room + (where[{at}] & 0xffff))"
        if table.bits < 8:
            read = f"({read} >> (where[{at}] >> 16) & {mask}u)"
        slot = at % size * table.bits
        loads.append(
            f"to[{at // size}] {'|=' if slot else '='} (unsigned){read}{f' << {slot}' if slot else ''};"
        )
    text = "\n    ".join(loads)
    return f"""\
__device__ const unsigned table[{after * size}][32] = {{
    {listed}
}};

__device__ __forceinline__ void move_0(const unsigned (&from)[{before}], unsigned (&to)[{after}],
                                       const unsigned (&where)[{after * size}])
{{
    __shared__ unsigned rooms[4][{before} * 33];
    const unsigned lane = threadIdx.x % 32;
    unsigned char *room = (unsigned char *)rooms[threadIdx.x / 32];
    #pragma unroll
    for (int i = 0; i < {before}; i++)
        ((unsigned *)room)[i * 33 + lane] = from[i];
    __syncwarp();
    {text}
    __syncwarp();
}}

#define PREPARED unsigned where[{after * size}]; \\
    for (int i = 0; i < {after * size}; i++) where[i] = table[i][threadIdx.x % 32];
#define move_0(from, to) move_0(from, to, where)"""


# -- data ------------------------------------------------------------------------------------------


class Data:
    """Random elements of a case, as often as asked, in the registers of FROM; what TO must hold."""

    def __init__(self, case: Case, times: int, draw: np.random.Generator) -> None:
        source, target = case.layouts
        self.bits = DType.of(case.dtype).bits
        self.registers = case.plan.registers
        before, after = machine.places(source), machine.places(target)
        warps = sorted({warp for own in (*before, *after) for warp, _, _ in own})
        self.shape = (times, len(warps), LANES)
        self.threads = times * len(warps) * LANES
        kinds = machine.kinds(source)
        self.values = draw.integers(0, 2, (times, source.size, self.bits), dtype=np.uint8)
        self.values = self.values[:, kinds]
        self.after = _indexed(after, warps, self.bits)
        held = draw.integers(0, 2, (*self.shape, 32 * self.registers[0]), dtype=np.uint8)
        elements, warp, lane, bit = _indexed(before, warps, self.bits)
        held[:, warp, lane, bit] = self.values[:, elements].reshape(times, -1)
        packed = np.packbits(held, axis=-1, bitorder="little")
        self.inputs = packed.view("<u4").reshape(self.threads, self.registers[0])

    @property
    def places(self) -> int:
        """Places of TO that are compared."""
        return self.shape[0] * self.after[0].size

    def wrong(self, out: np.ndarray) -> int:
        """Elements of TO, in all of their copies, that are not what FROM has."""
        held = np.unpackbits(np.ascontiguousarray(out).view(np.uint8), axis=-1, bitorder="little")
        held = held.reshape(*self.shape, 32 * self.registers[1])
        elements, warp, lane, bit = self.after
        found = held[:, warp, lane, bit].reshape(self.shape[0], -1, self.bits)
        return int((found != self.values[:, elements]).any(axis=-1).sum())


def _indexed(
    places: list[set[tuple[machine.Warp, int, int]]], warps: list[machine.Warp], bits: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(element, warp, lane, bit) of all places, the last three bit by bit."""
    listed = [
        (element, warps.index(warp), lane, at)
        for element, own in enumerate(places)
        for warp, lane, at in sorted(own)
    ]
    element, warp, lane, at = np.array(listed).T
    bit = (at[:, None] * bits + np.arange(bits)).ravel()
    return element, np.repeat(warp, bits), np.repeat(lane, bits), bit


# -- for the host ----------------------------------------------------------------------------------

HOST = """\
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#define EVERY(lane) for (unsigned lane = 0; lane < 32; lane++)
#define __shfl_sync(mask, v, other) (&(v))[(int)((other) & 31u) - (int)lane]
#define __shfl_xor_sync(mask, v, by) (&(v))[(int)inside(lane ^ (by)) - (int)lane]
#define __shfl_up_sync(mask, v, by) (lane >= (by) ? (&(v))[-(by)] : (v))
#define __shfl_down_sync(mask, v, by) (lane + (by) < 32 ? (&(v))[by] : (v))
#define __popc(x) __builtin_popcount(x)
static inline unsigned inside(unsigned lane)
{
    if (lane > 31) abort();
    return lane;
}
static inline uint32_t __funnelshift_l(uint32_t low, uint32_t high, uint32_t by)
{
    return (uint32_t)((((uint64_t)high << 32 | low) << (by & 31)) >> 32);
}
static inline uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t selector)
{
    const uint64_t both = (uint64_t)b << 32 | a;
    uint32_t d = 0;
    for (int i = 0; i < 4; i++)
        d |= (uint32_t)(both >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
    return d;
}
static inline void transpose(const uint32_t *a, uint32_t *d)
{
    EVERY(lane) {
        d[lane] = 0;
        for (unsigned e = 0; e < 2; e++) {
            const unsigned row = 2 * (lane % 4) + e, column = lane / 4;
            d[lane] |= (a[4 * row + column / 2] >> 16 * (column % 2) & 0xffff) << 16 * e;
        }
    }
}
"""
"""A warp on the host: every register is an array of 32 numbers, and every statement is done in all lanes."""

_VALUE = re.compile(r"\b([at]\d+)\b")
_BALLOT = re.compile(r"const unsigned (t\d+) = __ballot_sync\(0xffffffffu, \((.*)\) != 0\);")
_MATRIX = re.compile(r'asm volatile\("movmatrix.*" : "=r"\((t\d+)\) : "r"\(([at]\d+)\)\);')
_MADE = re.compile(r"const unsigned ([at]\d+) = (.*);")
_RESULT = re.compile(r"to\[(\d+)\] = (.*);")


def host_program(cases: Sequence[Case], times: int) -> str:
    """All functions, and a main that runs them on what it reads and writes what they make."""
    parts = [HOST]
    for at, case in enumerate(cases):
        parts.append(_host_function(source_of(case, at), at, case))
    calls = "".join(f"    run_{at}();\n" for at in range(len(cases)))
    return "\n".join([*parts, f"int main()\n{{\n{calls}    return 0;\n}}\n"])


def _host_function(text: str, at: int, case: Case) -> str:
    """The statements of a function, each done in all lanes before the next."""
    before, after = case.plan.registers
    lines = [
        f"static void run_{at}()",
        "{",
        "    int warps;",
        "    if (fread(&warps, 4, 1, stdin) != 1) return;",
        "    while (warps--) {",
        f"        uint32_t from[32][{before}], to[32][{after}] = {{}};",
        "        if (fread(from, sizeof from, 1, stdin) != 1) return;",
    ]
    for line in text[text.index("{\n") + 2 : text.rindex("}")].splitlines():
        lines += [f"        {own}" for own in _in_all_lanes(line.strip())]
    return "\n".join([*lines, "        fwrite(to, sizeof to, 1, stdout);", "    }", "}"])


def _in_all_lanes(line: str) -> list[str]:
    if line == "unsigned lane;" or line.startswith(("asm(", "unsigned t")):
        return []
    if found := _BALLOT.fullmatch(line):
        name, asked = found[1], _VALUE.sub(r"\1[lane]", found[2])
        return [f"uint32_t {name}[32], vote_{name} = 0;",
                f"EVERY(lane) vote_{name} |= (uint32_t)(({asked}) != 0) << lane;",
                f"EVERY(lane) {name}[lane] = vote_{name};"]  # fmt: skip
    if found := _MATRIX.fullmatch(line):
        return [f"uint32_t {found[1]}[32];", f"transpose({found[2]}, {found[1]});"]
    if found := _RESULT.fullmatch(line):
        return [f"EVERY(lane) to[lane][{found[1]}] = {found[2]}[lane];"]
    found = _MADE.fullmatch(line)
    assert found, line
    made = re.sub(r"\bfrom\[", "from[lane][", _VALUE.sub(r"\1[lane]", found[2]))
    return [f"uint32_t {found[1]}[32];", f"EVERY(lane) {found[1]}[lane] = {made};"]
