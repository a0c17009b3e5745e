"""The device function of a move between registers, CUDA C++ that includes nothing.

The steps of the function stand above it. Addresses are computed from the thread's number, never read; byte
permutations are `__byte_perm`; stores, loads and matrices are PTX, so that their widths are those of the
plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewise.check.registers.accesses import Accesses, Counted, SharedAccess, Xored
from tilewise.check.registers.shared import ThroughMemory
from tilewise.check.registers.steps import Packer, Program
from tilewise.check.registers.warp import ExchangeBound
from tilewise.check.shuffle import WarpPlan
from tilewise.codegen.names import checked
from tilewise.codegen.shuffle import device_function
from tilewise.core.errors import Refused
from tilewise.hardware.limits import LANE_BITS, LANES
from tilewise.moves.exchange.plan import Exchange

NAME = "exchange"

_WARP = "All 32 lanes of a warp call it."

_VECTORS = {1: ".b8", 2: ".b16", 4: ".b32", 8: ".v2.b32", 16: ".v4.b32"}


def function(plan: Exchange, name: str = NAME) -> str:
    """Return the function: `from` are the 32-bit registers of the source, `to` those of the target.

    Both may be one array. A move through shared memory takes a pointer to it, a multiple of 16.

    >>> from tilewise import S, laneid, reg
    >>> from tilewise.moves.exchange import exchange
    >>> there = S[(32, 2) : (1@laneid, -1@reg)] + 1@reg
    >>> print(function(exchange(S[(32, 2) : (1@laneid, 1@reg)], there, "f16")))
    // From S[(32, 2) : (1@laneid, 1@reg)]
    // to   S[(32, 2) : (1@laneid, -1@reg)] + 1@reg
    // of   f16: registers, for sm_70 and later.
    //
    // 1 permutation of bytes inside each thread
    __device__ __forceinline__ void exchange(const unsigned (&from)[1], unsigned (&to)[1])
    {
        const unsigned a0 = from[0];
        const unsigned t0 = __byte_perm(a0, a0, 0x1032u);
        to[0] = t0;
    }
    """
    called = checked(name, "a function")
    way = plan.way
    if isinstance(way, Program):
        warp = WarpPlan(plan.source, plan.target, plan.dtype, plan.asked.bits, way, ExchangeBound(0, ""))
        return "\n".join([*_head(plan), device_function(warp, called)])
    before, after = plan.registers
    return "\n".join(
        [
            *_head(plan),
            f"__device__ __forceinline__ void {called}"
            f"(const unsigned (&from)[{before}], unsigned (&to)[{after}], void *shared)",
            "{",
            *(f"    {line}" for line in _through(plan, way)),
            "}",
        ]
    )


def _head(plan: Exchange) -> Iterator[str]:
    """Yield comments: the steps, the threads that call it together, and the use of the memory."""
    way = "through shared memory" if plan.memory else plan.kind
    yield f"// From {plan.source}"
    yield f"// to   {plan.target}"
    yield f"// of   {plan.dtype}: {way}, for {plan.needs}."
    yield "//"
    steps = plan.steps
    for number, step in enumerate(steps, 1):
        yield f"// {number}. {step}" if len(steps) > 1 else f"// {step}"
    if plan.kind == "shuffles":
        yield f"//\n// {_WARP}"
    if not plan.memory:
        return
    scope, who = plan.asked.scope, _WARP
    if scope != "warp":
        who = f"All {plan.threads} threads of the block, which has one row of them, call it."
    if scope == "warpgroup":
        who = "All 128 threads of a warpgroup call it, each warpgroup with shared memory of its own."
    yield f"//\n// {who}"
    yield f"// `shared` is {plan.shared_bytes} bytes{' for each warp' * (scope == 'warp')}, aligned to 16."
    if plan.within_warps:
        apart = "No two warps touch one byte of it."
        yield f"// {apart} Before the next call a warp waits, __syncwarp(), and before"
        yield "// anything else uses it, all who do."
    elif scope == "warpgroup":
        yield "// Wait at named barrier 1 + the number of the warpgroup before `shared` is used again."
    else:
        yield "// Before `shared` is used again, wait: __syncthreads()."


def _permutes(packer: Packer, letter: str, names: dict[int, str]) -> list[str]:
    """Return the steps of a packer. Words have a letter and a number, or a name in `names`.

    Where lanes pick words, the thread computes which bytes of a given word to take.
    """
    lines = []
    for number, step in enumerate(packer.steps, packer.inputs):
        picked = packer.of_inputs(step) if packer.picked else 0
        order = f"{step.by[0]:#06x}u"
        if picked:
            order += " ^ " + ("picked" if picked == 0xFFFF else f"(picked & {picked:#x})")
        words = ", ".join(names.get(own, f"{letter}{own}") for own in step.of)
        lines.append(f"const unsigned {letter}{number} = __byte_perm({words}, {order});")
    return lines


# -- through shared memory -------------------------------------------------------------------------


def _through(plan: Exchange, way: ThroughMemory) -> Iterator[str]:
    """Yield stores, a wait, and loads, in turns."""
    scope, wait = plan.asked.scope, "__syncthreads();"
    if plan.within_warps:
        wait = "__syncwarp();"
    elif scope == "warpgroup":
        wait = 'asm volatile("bar.sync %0, 128;" : : "r"(1 + threadIdx.x / 128) : "memory");'
    thread = {"warp": "threadIdx.x & 31", "warpgroup": "threadIdx.x & 127", "block": "threadIdx.x"}[scope]
    room = "(unsigned)__cvta_generic_to_shared(shared)"
    if plan.slots > 1:
        number = f"({thread})" if "&" in thread else thread
        thread, room = "threadIdx.x & 31", f"{room} + {number} / 32 * {way.bytes}"
    yield f"const unsigned thread = {thread};"
    yield f"const unsigned room = {room};"
    packer, stored = way.before
    names = {own: f"from[{own}]" for own in range(packer.inputs)}
    yield from _permutes(packer, "a", names)
    given = iter([names.get(own, f"a{own}") for own in words] for words in stored)
    unpacker, results = way.after
    numbers = iter(range(unpacker.inputs))
    storing, loading = _Addresses(way.stores, "s"), _Addresses(way.loads, "l")
    for turn, (stores, loads) in enumerate(way.each_turn):
        yield from [wait] if turn else storing.lines
        yield from _side(stores, storing, given)
        yield wait
        if not turn:
            partly = not all(loads.active) or any(access.below for access in way.loads.each)
            yield f"unsigned {', '.join(f'd{own}' + ' = 0' * partly for own in range(unpacker.inputs))};"
            yield from loading.lines
        yield from _side(loads, loading, ([f"d{next(numbers)}" for _ in own.words] for own in loads.each))
    if unpacker.picked:
        yield f"const unsigned picked = ({fields(way.loads.picked.columns)}) * 0x1111;"
    yield from _permutes(unpacker, "d", {})
    yield from (f"to[{at}] = d{own};" for at, own in enumerate(results) if own is not None)


class _Addresses:
    """The names of the addresses of one side, and the lines that define them."""

    def __init__(self, side: Accesses, letter: str) -> None:
        self.lines = list[str]()
        self.names: dict[tuple[Xored | Counted, int], str] = {}
        plain: dict[Xored | Counted, str] = {}
        for access in side.each:
            base, turned = access.base, access.turned
            if base not in plain:
                plain[base] = f"{letter}at{len(plain) or ''}"
                text = fields(base.columns) if isinstance(base, Xored) else digits(base, side.threads)
                self.lines.append(f"const unsigned {plain[base]} = {text};")
            if (base, turned) not in self.names:
                name = self.names[base, turned] = f"{letter}{len(self.names)}"
                step = f"({plain[base]} ^ {turned:#x})" if turned else plain[base]
                self.lines.append(f"const unsigned {name} = room + {step};")


def _side(side: Accesses, addresses: _Addresses, words: Iterator[Sequence[str]]) -> Iterator[str]:
    """Yield the stores, or the loads, of a turn."""
    asked = condition(side.active.tolist(), side.threads)
    if asked:
        yield f"if ({asked}) {{"
    for access in side.each:
        line = _instruction(side.operation, access, addresses.names[access.base, access.turned], next(words))
        guard = f"if (thread < {access.below}) " if access.below else ""
        yield f"{'    ' if asked else ''}{guard}{line}"
    if asked:
        yield "}"


def _instruction(operation: str, access: SharedAccess, address: str, words: Sequence[str]) -> str:
    """Return one access as PTX."""
    stores, reach = operation.startswith("st"), access.reach
    name = f"{operation}.shared{_VECTORS[reach.bytes]}"
    if reach.matrix:
        name = f"{operation}.sync.aligned.m8n8.x{len(words)}{'.trans' * reach.trans}.shared.b16"
    operands = ", ".join(f"%{stores + at}" for at in range(len(words)))
    operands = f"{{{operands}}}" if reach.matrix or len(words) > 1 else operands
    added = access.offset ^ access.turned
    place = f"[%{0 if stores else len(words)}{f' + {added}' if added else ''}]"
    if stores:
        given = ", ".join(f'"r"({own})' for own in (address, *words))
        return f'asm volatile("{name} {place}, {operands};" : : {given} : "memory");'
    got = ", ".join(f'"=r"({own})' for own in words)
    return f'asm volatile("{name} {operands}, {place};" : {got} : "r"({address}) : "memory");'


# -- addresses -------------------------------------------------------------------------------------


def fields(columns: Sequence[int]) -> str:
    """Return the XOR of the columns of a thread's bits, as fields of its number, each moved.

    >>> fields((16, 32, 64, 128, 256)), fields((16, 32, 64, 0, 16))
    ('thread << 4 & 0x1f0', '(thread << 4 & 0x70) ^ (thread & 0x10)')
    """
    moved: dict[int, int] = {}
    for bit, column in enumerate(columns):
        for at in range(column.bit_length()):
            if column >> at & 1:
                moved[at - bit] = moved.get(at - bit, 0) | 1 << at
    parts = []
    for distance, mask in sorted(moved.items(), reverse=True):
        way = f" << {distance}" if distance > 0 else f" >> {-distance}" if distance else ""
        parts.append(f"thread{way} & {mask:#x}")
    if len(parts) == 1:
        return parts[0]
    return " ^ ".join(f"({part})" for part in parts) or "0"


def digits(base: Counted, threads: int) -> str:
    """Return a sum of digits of a thread's number.

    >>> digits(Counted(((2, 48), (4, 8))), 8), digits(Counted(((5, 13),)), 32)
    ('thread / 4 * 48 + thread % 4 * 8', 'thread % 5 * 13')
    """
    below, terms = 1, list[str]()
    for extent, stride in reversed(base.digits):
        own = "thread" if below == 1 else f"thread / {below}"
        if below * extent < threads:
            own = f"{own} % {extent}"
        below *= extent
        terms.insert(0, own if stride == 1 else f"{own} * {stride}")
    return " + ".join(terms).replace("+ -", "- ") or "0"


def condition(active: Sequence[bool], threads: int) -> str:
    """Return the test for a thread that takes part, or an empty text if all do.

    >>> condition([True] * 32 + [False] * 32, 64), condition([lane < 20 for lane in range(32)], 32)
    ('thread < 32', 'thread < 20')
    >>> condition([thread & 32 == 0 for thread in range(128)], 128)
    '(thread & 0x20) == 0'
    """
    count = sum(active)
    if count == threads:
        return ""
    if all(active[:count]):
        return f"thread < {count}"
    mask = 0
    for bit in range((threads - 1).bit_length()):
        if not any(own and number >> bit & 1 for number, own in enumerate(active)):
            mask |= 1 << bit
    if all(own == (not number & mask) for number, own in enumerate(active)):
        return f"(thread & {mask:#x}) == 0"
    told, kept = [], [True] * threads
    for step, number in ((LANES, f"(thread >> {LANE_BITS})"), (1, f"(thread & {LANES - 1})")):
        count = threads // LANES if step > 1 else LANES
        some = [any(own for at, own in enumerate(active) if at // step % count == i) for i in range(count)]
        kept = [own and some[at // step % count] for at, own in enumerate(kept)]
        if not all(some):
            told.append(f"({sum(1 << i for i, own in enumerate(some) if own):#x}u >> {number} & 1)")
    if kept != list(active):
        raise Refused("TW609", "threads that hold elements are not the same lanes of their warps")
    return " && ".join(told)
