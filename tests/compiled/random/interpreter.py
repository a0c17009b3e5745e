"""Runs a random kernel thread by thread and tells each access: the plainest Python that does it.

A thread is a Python generator. It yields at statements that it takes together with others, which `run`
gathers: all threads of a block come to the same one. Memory never changes: what a load gives is a function
of its address, for kernels let loaded values decide only where nothing is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.compiled.random.tree import (
    U32,
    Access,
    Assign,
    Binary,
    Body,
    Break,
    Call,
    Cast,
    Cell,
    Compare,
    Const,
    Continue,
    Declare,
    Expr,
    For,
    If,
    Intrinsic,
    Kernel,
    Local,
    LocalLoad,
    LocalStore,
    Logic,
    Name,
    Point,
    Return,
    Select,
    Statement,
    Step,
    Switch,
    Sync,
    Unary,
    Warp,
    While,
)

LANES = 32
SHARED = 1 << 60
"""Shared memory begins here, beyond all buffers."""


@dataclass(frozen=True)
class Event:
    """One access of one thread."""

    number: int
    kind: str
    space: str
    address: int
    """The address in global memory; in shared memory, the distance from the first array."""
    bytes: int


def content(address: int, cell: Cell) -> int:
    """Return the 32 bits that a load of a scalar gives, as a formula of its address."""
    bits = 0
    for at in reversed(range(cell.bytes)):
        place = address + at
        bits = bits << 8 | (place * 167 + (place >> 8) * 59 + 13) & 0xFF
    if cell.word in ("signed char", "short") and bits >> (8 * cell.bytes - 1):
        bits -= 1 << (8 * cell.bytes)
    return bits & 0xFFFFFFFF


# -- numbers ---------------------------------------------------------------------------------------


def quotient(a: int, b: int) -> int:
    """Return a / b as C has it: towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


BINARY: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": quotient,
    "%": lambda a, b: a - quotient(a, b) * b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}
COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def leading(value: int, bits: int) -> int:
    """Return how many zeros come before the first one."""
    return bits - (value & ((1 << bits) - 1)).bit_length()


def permuted(x: int, y: int, selector: int) -> int:
    """Return four bytes, each chosen out of eight by three bits of a selector."""
    source = (y << 32 | x).to_bytes(8, "little")
    return int.from_bytes(bytes(source[selector >> (4 * at) & 7] for at in range(4)), "little")


INTRINSICS: dict[str, Callable[..., int]] = {
    "min": min,
    "max": max,
    "__umulhi": lambda a, b: a * b >> 32,
    "__mulhi": lambda a, b: a * b >> 32,
    "__umul64hi": lambda a, b: a * b >> 64,
    "__popc": lambda a: a.bit_count(),
    "__popcll": lambda a: a.bit_count(),
    "__clz": lambda a: leading(a, 32),
    "__clzll": lambda a: leading(a, 64),
    "__ffs": lambda a: (a & -a).bit_length(),
    "__brev": lambda a: int(f"{a:032b}"[::-1], 2),
    "__brevll": lambda a: int(f"{a:064b}"[::-1], 2),
    "__byte_perm": permuted,
    "__funnelshift_l": lambda low, high, by: ((high << 32 | low) << (by & 31)) >> 32,
    "__funnelshift_r": lambda low, high, by: (high << 32 | low) >> (by & 31),
    "__funnelshift_lc": lambda low, high, by: ((high << 32 | low) << min(by, 32)) >> 32,
}

# -- one thread ------------------------------------------------------------------------------------

Request = Warp | Sync
Running = Generator[tuple[Request, int, int], int, str]
"""Yields what a thread takes together with others and its two operands; returns how its statements ended."""


@dataclass
class Thread:
    """The variables of one thread, and what it has touched."""

    kernel: Kernel
    special: dict[str, int]
    values: dict[str, int]
    arrays: dict[str, list[int]] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    returned: int = 0

    def value(self, it: Expr) -> int:
        """Return the value of an expression, in the range of its type."""
        match it:
            case Const(value):
                return value
            case Name(name):
                return self.special[name] if "." in name else self.values[name]
            case Binary(operator, left, right, type, fits):
                exact = BINARY[operator](self.value(left), self.value(right))
                assert not fits or exact == type.wrap(exact), "C leaves open what this gives"
                return type.wrap(exact)
            case Unary(operator, operand, type):
                value = self.value(operand)
                return type.wrap(-value if operator == "-" else ~value)
            case Compare(operator, left, right):
                return int(COMPARE[operator](self.value(left), self.value(right)))
            case Logic(operator, left, right):
                one, other = self.value(left), self.value(right)
                return int(one != 0 and other != 0) if operator == "&&" else int(one != 0 or other != 0)
            case Select(condition, yes, no):
                return self.value(yes) if self.value(condition) else self.value(no)
            case Cast(operand, type, through):
                value = self.value(operand)
                return type.wrap(through.wrap(value) if through else value)
            case Intrinsic(name, operands, type):
                return type.wrap(INTRINSICS[name](*map(self.value, operands)))

    def run(self, body: Body) -> Running:
        """Run statements; return "" at their end, or break, continue or return."""
        for it in body:
            ended = yield from self.step(it)
            if ended:
                return ended
        return ""

    def step(self, it: Statement) -> Running:
        """Run one statement."""
        match it:
            case Declare(name, _, value) | Assign(name, _, value):
                self.values[name] = self.value(value)
            case If(condition, then, other):
                return (yield from self.run(then if self.value(condition) else other))
            case For(name, _, start, test, following, body):
                self.values[name] = self.value(start)
                while self.value(test):
                    ended = yield from self.run(body)
                    if ended == "return":
                        return ended
                    if ended == "break":
                        break
                    self.values[name] = self.value(following)
            case While(fuel, _, following, body, at_end):
                while at_end or self.values[fuel]:
                    self.values[fuel] = self.value(following)
                    ended = yield from self.run(body)
                    if ended == "return":
                        return ended
                    if ended == "break" or (at_end and not self.values[fuel]):
                        break
            case Switch():
                return (yield from self.switch(it))
            case Break():
                return "break"
            case Continue():
                return "continue"
            case Return(value):
                self.returned = self.value(value) if value else 0
                return "return"
            case Sync():
                yield it, 0, 0
            case Warp(name, type, _, value, other):
                got = yield it, self.value(value), self.value(other) if other else 0
                self.values[name] = type.wrap(got)
            case Access():
                self.access(it)
            case Point(name, buffer, offset):
                self.values[name] = self.values[buffer] + self.value(offset)
            case Step(name, by):
                self.values[name] += by
            case Local(name, length):
                self.arrays[name] = [0] * length
            case LocalStore(name, index, value):
                self.arrays[name][self.value(index)] = self.value(value)
            case LocalLoad(name, index, into):
                self.keep(self.arrays[name][self.value(index)], into, alone=True)
            case Call(name, type):
                yield from self.call(it)
                added = self.values["acc"] if name == "acc" else 0
                self.values[name] = type.wrap(self.returned + added)
        return ""

    def switch(self, it: Switch) -> Running:
        """Run the case of a value, and those that it falls into."""
        on = self.value(it.on)
        found = [at for at, case in enumerate(it.cases) if case.value == on]
        for case in it.cases[found[0] :] if found else ():
            ended = yield from self.run(case.body)
            if ended or not case.falls:
                return ended
        return (yield from self.run(it.default))

    def call(self, it: Call) -> Running:
        """Run a function on variables of its own."""
        function = next(one for one in self.kernel.functions if one.name == it.function)
        given = [self.values[one] if isinstance(one, str) else self.value(one) for one in it.operands]
        names = [parameter.name for parameter in function.parameters]
        kept, self.values = self.values, dict(zip(names, given, strict=True))
        yield from self.run(function.body)
        self.values = kept
        return ""

    def access(self, it: Access) -> None:
        """Note an access, and keep what it gives."""
        address = self.values[it.buffer] + self.value(it.index) * it.cell.bytes
        shared = address >= SHARED
        assert shared == (it.space == "shared")
        assert self.inside(address, it.cell.bytes), "outside of its buffer"
        self.events.append(Event(it.number, it.kind, it.space, address - SHARED * shared, it.cell.bytes))
        if it.kind == "ld":
            self.keep(content(address, it.cell) if it.decides else 0, it.into)

    def inside(self, address: int, size: int) -> bool:
        """Return whether some bytes lie in one buffer, or in shared memory."""
        own = self.kernel.static + self.kernel.dynamic
        places = [(SHARED, own), *((one.value, one.size) for one in self.kernel.parameters if one.size)]
        return any(first <= address and address + size <= first + length for first, length in places)

    def keep(self, value: int, into: str, *, alone: bool = False) -> None:
        """Add a loaded value to the sum, and give it to a variable."""
        if into:
            self.values[into] = value
        if not (into and alone):
            self.values["acc"] = U32.wrap(self.values["acc"] + value)


# -- all threads -----------------------------------------------------------------------------------


def run(kernel: Kernel) -> dict[tuple[int, int], list[Event]]:
    """Return the accesses of each thread in its order, by linear block and linear thread in the block."""
    made = {}
    gx, gy, gz = kernel.grid
    for block in range(gx * gy * gz):
        at = (block % gx, block // gx % gy, block // (gx * gy))
        threads = [thread_of(kernel, at, thread) for thread in range(kernel.threads)]
        together(kernel, threads)
        made |= {(block, number): thread.events for number, thread in enumerate(threads)}
    return made


def thread_of(kernel: Kernel, block: tuple[int, int, int], thread: int) -> Thread:
    """Return a thread before its first statement."""
    x, y, _ = kernel.block
    place = (thread % x, thread // x % y, thread // (x * y))
    words = {"threadIdx": place, "blockIdx": block, "blockDim": kernel.block, "gridDim": kernel.grid}
    special = {f"{word}.{letter}": it[at] for word, it in words.items() for at, letter in enumerate("xyz")}
    values = {parameter.name: parameter.value for parameter in kernel.parameters}
    values |= {"fixed": SHARED, "given": SHARED + kernel.static}
    return Thread(kernel, special, values)


def together(kernel: Kernel, threads: list[Thread]) -> None:
    """Run the threads of a block, from one common statement to the next."""
    running = [thread.run(kernel.body) for thread in threads]
    answers: list[Any] = [None] * len(threads)
    while True:
        asked = []
        for generator, answer in zip(running, answers, strict=True):
            with suppress(StopIteration):
                asked.append(generator.send(answer))
        if not asked:
            return
        assert len(asked) == len(threads), "some threads have ended where others wait"
        request = asked[0][0]
        assert all(one[0] is request for one in asked)
        if isinstance(request, Sync):
            answers = [0] * len(threads)
            continue
        answers = []
        for first in range(0, len(threads), LANES):
            warp = asked[first : first + LANES]
            answers += of_warp(request, [one[1] for one in warp], [one[2] for one in warp])


def of_warp(it: Warp, values: list[int], others: list[int]) -> list[int]:
    """Return what each of 32 lanes gets."""
    assert len(values) == LANES
    if it.operation.startswith("__shfl"):
        return [values[source_lane(it, lane, others[lane])] for lane in range(LANES)]
    match it.operation:
        case "__ballot_sync":
            return [sum(1 << lane for lane in range(LANES) if values[lane])] * LANES
        case "__any_sync":
            return [int(any(values))] * LANES
        case "__all_sync":
            return [int(all(values))] * LANES
        case "__match_any_sync":
            return [sum(1 << lane for lane in range(LANES) if values[lane] == mine) for mine in values]
        case "__reduce_add_sync":
            return [sum(values)] * LANES
        case "__reduce_min_sync":
            return [min(values)] * LANES
        case "__reduce_max_sync":
            return [max(values)] * LANES
    reduced = values[0]
    for value in values[1:]:
        reduced = BINARY[{"or": "|", "xor": "^", "and": "&"}[it.operation.split("_")[3]]](reduced, value)
    return [reduced] * LANES


def source_lane(it: Warp, lane: int, other: int) -> int:
    """Return the lane that a shuffle reads: its own, where the other would be outside its group."""
    first = lane - lane % it.width
    match it.operation:
        case "__shfl_sync":
            return first + other % it.width
        case "__shfl_up_sync":
            return lane - other if lane - other >= first else lane
        case "__shfl_down_sync":
            return lane + other if lane + other < first + it.width else lane
    return lane ^ other
