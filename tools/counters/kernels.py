"""The kernels that are counted: a warp that executes one instruction, at addresses which are its arguments.

Addresses come as kernel arguments, so that no load of another kind is counted. A kernel compares what a load
gives, so that none ends before its load; nothing else touches shared or global memory. A launch can execute
several patterns, each so many times.
"""

from __future__ import annotations

from collections.abc import Iterable

from tilewise.hardware.limits import LANES
from tools.counters.kinds import Kind

MOST_PATTERNS = 3
"""Patterns of one launch."""

WINDOW = 32 * 1024
"""Bytes of shared memory that patterns can ask for."""

NOBODY = 0xFFFFFFFF
"""The address of a lane that is not active."""

NEVER = 0x9E3779B9
"""A value that the words of a lane, all combined, almost never have."""

_HEAD = f"""
struct Request {{
    unsigned addresses[{MOST_PATTERNS}][{LANES}];
    unsigned times[{MOST_PATTERNS}];
}};

template <class Access>
__device__ void counted(const Request& request, unsigned char* global) {{
    extern __shared__ __align__(1024) unsigned char window[];
    const unsigned lane = threadIdx.x;
    const unsigned long long base =
        Access::global ? reinterpret_cast<unsigned long long>(global) : __cvta_generic_to_shared(window);
    unsigned seen = 0;
#pragma unroll 1
    for (int pattern = 0; pattern < {MOST_PATTERNS}; ++pattern) {{
        const unsigned address = request.addresses[pattern][lane];
        const unsigned times = request.times[pattern];
        if (address != {NOBODY:#x}u) {{
#pragma unroll 1
            for (unsigned i = 0; i < times; ++i) {{
                const unsigned moved = seen == {NEVER:#x}u ? 16 : 0;  // so that no load leaves the loop
                Access::go(base + address + moved, lane, global, seen);
            }}
        }}
    }}
    if (seen == {NEVER:#x}u) reinterpret_cast<unsigned*>(global)[lane] = seen;
}}
"""


def source(kinds: Iterable[Kind]) -> str:
    """CUDA C++ of a kernel for each of the kinds."""
    return "\n".join([_HEAD, *map(_kernel, kinds)])


def _kernel(kind: Kind) -> str:
    name, beyond = kind.kernel, kind.space == "global"
    return "\n".join(
        [
            f"struct {name}_access {{",
            f"    static constexpr bool global = {str(beyond).lower()};",
            "    static __device__ void go(unsigned long long at, unsigned lane, unsigned char* buffer,",
            "                              unsigned& seen) {",
            *(f"        {line}" for line in _body(kind)),
            "    }",
            "};",
            f'extern "C" __global__ void __launch_bounds__({LANES}) {name}(',
            "    const __grid_constant__ Request request, unsigned char* global) {",
            f"    counted<{name}_access>(request, global);",
            *(
                ['    asm volatile("cp.async.wait_all;" ::: "memory");']
                if kind.operation == "cp.async"
                else []
            ),
            "}",
            "",
        ]
    )


def _body(kind: Kind) -> list[str]:
    at = '"l"(at)' if kind.space == "global" else '"r"(static_cast<unsigned>(at))'
    if kind.matrices:
        return _matrices(kind, at)
    if kind.operation == "atom":
        line = 'asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(old) : '
        return ["unsigned old;", f'{line}{at}, "r"(lane) : "memory");', "seen ^= old;"]
    if kind.operation == "cp.async":
        from_ = '"l"(buffer + 16 * lane)'
        form = f"cp.async.ca.shared.global [%0], [%1], {kind.bytes};"
        return [f'asm volatile("{form}" :: {at}, {from_} : "memory");']
    return _plain(kind, at)


def _matrices(kind: Kind, at: str) -> list[str]:
    count = kind.matrices
    form = f"{kind.operation}.sync.aligned.m8n8.x{count}{'.trans' if kind.trans else ''}.shared.b16"
    if kind.operation == "ldmatrix":
        return _load(form, "=r", count, at)
    return _store(form, "r", count, at)


def _plain(kind: Kind, at: str) -> list[str]:
    words = max(1, kind.bytes // 4)
    vector = {1: "", 2: ".v2", 4: ".v4"}[words]
    form = f"{kind.operation}.{kind.space}{vector}.u{8 * min(kind.bytes, 4)}"
    letter = "r" if kind.bytes >= 4 else "h"
    if kind.operation == "ld":
        return _load(form, f"={letter}", words, at)
    return _store(form, letter, words, at)


def _load(form: str, letter: str, words: int, at: str) -> list[str]:
    kind = "unsigned short" if letter == "=h" else "unsigned"
    names = [f"w{i}" for i in range(words)]
    outs = ", ".join(f'"{letter}"({name})' for name in names)
    return [
        f"{kind} {', '.join(names)};",
        f'asm volatile("{form} {_registers(words, 0)}, [%{words}];" : {outs} : {at} : "memory");',
        f"seen ^= {' ^ '.join(names)};",
    ]


def _store(form: str, letter: str, words: int, at: str) -> list[str]:
    cast = "static_cast<unsigned short>(lane)" if letter == "h" else "lane"
    values = ", ".join(f'"{letter}"({cast})' for _ in range(words))
    return [f'asm volatile("{form} [%0], {_registers(words, 1)};" :: {at}, {values} : "memory");']


def _registers(words: int, first: int) -> str:
    """Operands of an instruction, a vector of one among them."""
    return "{" + ", ".join(f"%{first + i}" for i in range(words)) + "}"
