"""From PTX as any compiler writes it to programs.

    .visible .entry kernel(.param .u64 .ptr .global .align 16 out)
    .reqntid 128
    {
        .loc 1 7 5
        ld.param.b64 %rd1, [out];
        @!%p1 bra $L__BB0_2;
    }

Functions that a kernel calls stand before it, so that lanes which call one come back before others go on. A
register is unknown until it is written.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

import numpy as np

from tilewise.compiled.lanes import TRUE, LaneReader, Lanes, Taking, Value, applied
from tilewise.compiled.launch import POINTER_STEP
from tilewise.compiled.program import (
    Compute,
    Guard,
    Instruction,
    Jump,
    JumpTo,
    KernelParameter,
    KernelProgram,
    Leave,
    Step,
    UnreadStep,
    work_of,
)
from tilewise.compiled.ptx.engines import engine_call
from tilewise.compiled.ptx.integers import computed
from tilewise.compiled.ptx.memory import MEMORY, PARAMETERS
from tilewise.compiled.ptx.operands import PtxVariable, Scope, Setting, Words, split
from tilewise.compiled.ptx.text import PtxBody, PtxText, Statement, called_in, named_in
from tilewise.compiled.ptx.warps import WARPS

RESERVED = {90: 1024, 0: 0}
"""{least architecture: the bytes of shared memory that lie before a kernel's own}."""
GLOBALS = 8 * POINTER_STEP
"""The begin of the variables of global memory: a number of this reader; the loader chooses another."""
LOOSE = 256
"""A multiple of this begins each of them."""

IDLE = (
    "bar barrier membar fence griddepcontrol nanosleep prefetch prefetchu discard applypriority mbarrier "
    "setmaxnreg pmevent brkpt wgmma tcgen05 cp tensormap clusterlaunchcontrol multimem st "
    "red sust stackrestore"
).split()
"""Instructions that write registers only in a vector or behind `p`, if at all."""

UNKNOWN = (
    "fma sqrt rcp rsqrt sin cos ex2 lg2 tanh copysign testp mma wmma tex tld4 txq suld suq mapa "
    "getctarank createpolicy dp4a dp2a alloca stacksave istypep movmatrix vset vadd fns"
).split()
"""Instructions whose results are not known: floats, products, textures, other blocks."""

MISSED = re.compile(r"wmma\.(?:load|store)")
"""Instructions that access memory at places which PTX leaves open."""


def programs_of(text: str, kernel: str | None = None) -> Iterator[KernelProgram]:
    """Return the programs of a text, or that of one kernel."""
    parts = PtxText.of(text)
    for body in parts.bodies.values():
        if body.kernel and body.begin >= 0 and kernel in (None, body.name):
            yield _program(parts, body)


def _program(parts: PtxText, kernel: PtxBody) -> KernelProgram:
    bodies = _reached(parts, kernel, [])
    texts = [parts.text[body.begin : body.end] for body in bodies]
    _lay_out(parts, bodies, set().union(*map(named_in, texts)))
    windows = tuple(space for space in ("shared", "local") if any(f"cvta.{space}" in text for text in texts))
    setting = Setting(kernel.extents.get("reqnctapercluster", (1, 1, 1)), windows)
    reader = _Reader(parts, setting)
    if len(bodies) > 1:
        begin = 1 + sum(len(body.statements) for body in bodies[:-1])
        head = f".entry {kernel.name}"
        reader.instructions.append(Instruction(".entry", head, (Jump(begin),), row=parts.row(kernel.begin)))
    for body in bodies:
        reader.begin = len(reader.instructions)
        for statement in body.statements:
            reader.add(statement, body)
        reader.begins[body.name] = reader.begin
    most = kernel.extents.get("maxntid")
    return KernelProgram(
        kernel.name,
        parts.target,
        reader.instructions,
        [KernelParameter(one.address, one.size, one.name, one.pointer) for one in kernel.parameters],
        kernel.extents.get("reqntid"),
        prod(most) if most else None,
        dict(reader.unread),
        _constants(parts, bodies),
        "PTX",
    )


def _reached(parts: PtxText, body: PtxBody, callers: list[str]) -> list[PtxBody]:
    """Return a body behind those that it calls, each once; one that calls itself is not followed."""
    parts.read(body)
    found: list[PtxBody] = []
    for _, name in called_in(body):
        callee = parts.bodies.get(name)
        if callee is not None and callee.begin >= 0 and name not in (*callers, body.name):
            found += [one for one in _reached(parts, callee, [*callers, body.name]) if one not in found]
    return [*found, body]


# -- where variables lie ---------------------------------------------------------------------------------


def _lay_out(parts: PtxText, bodies: list[PtxBody], names: set[str]) -> None:
    """Give variables their addresses: in order, each at the next multiple of its alignment."""
    architecture = int(re.sub(r"\D", "", parts.target) or 0)
    reserved = next(bytes for least, bytes in RESERVED.items() if architecture >= least)
    scopes = [parts.module, *(scope for body in bodies for scope in _scopes(body))]
    variables = [one for scope in scopes for one in scope.variables.values()]
    used = [one for one in variables if one.name in names or one.space in ("param", "const", "global")]
    used.sort(key=lambda one: one.space == "const" and one.content is None)
    at = {"shared": reserved, "local": 0, "const": 0, "global": GLOBALS, "param": PARAMETERS}
    for one in (one for one in used if one.space in at and (one.size or one.space != "shared")):
        align = max(LOOSE, one.align) if one.space == "global" else one.align
        one.address = -(-at[one.space] // align) * align
        at[one.space] = one.address + one.size
    given = [one for one in used if one.space == "shared" and not one.size]
    align = max((one.align for one in given), default=1)
    for one in given:
        one.address = -(-at["shared"] // align) * align


def _scopes(body: PtxBody) -> list[Scope]:
    """Return the scopes of a body, each once, in the order of the text."""
    return list({id(one): one for one in (body.scope, *(each.scope for each in body.statements))}.values())


def _constants(parts: PtxText, bodies: list[PtxBody]) -> dict[int, bytes]:
    """Return the constants that the text has, at their places in their bank; others are not known."""
    scopes = [parts.module, *(scope for body in bodies for scope in _scopes(body))]
    content = bytearray()
    for one in (one for scope in scopes for one in scope.variables.values()):
        if one.space == "const" and one.content is not None:
            content = content.ljust(one.address, b"\0") + one.content
    return {3: bytes(content.ljust(-(-len(content) // 4) * 4, b"\0"))} if content else {}


# -- instructions ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reader:
    """Reads the instructions of a kernel and of the functions that it calls."""

    parts: PtxText
    setting: Setting
    begin: int = 0
    """The first instruction of the body that is read."""
    begins: dict[str, int] = field(default_factory=dict)
    """{body that was read: its first instruction}."""
    instructions: list[Instruction] = field(default_factory=list)
    unread: Counter[str] = field(default_factory=Counter)

    def add(self, statement: Statement, body: PtxBody) -> None:
        """Read one statement."""
        base, *kinds = statement.name.split(".")
        operands = split(statement.operands)
        words = Words(base, tuple(kinds), operands, statement.scope, self.setting)
        guard = None
        try:
            steps = self._steps(words, body)
            if statement.guard is not None:
                guard = Guard(statement.scope.register(statement.guard), statement.negated)
        except (ArithmeticError, AssertionError, LookupError, StopIteration, TypeError, ValueError):
            steps = None
        if steps is None or MISSED.match(statement.name):
            self.unread[statement.name] += 1
        if steps is None:
            steps = (UnreadStep(_maybe_written(words)),)
        text = f"{statement.name} {' '.join(statement.operands.split())}".strip()
        self.instructions.append(
            Instruction(statement.name, text, steps, guard, statement.line, statement.row, work_of(base))
        )

    def _steps(self, words: Words, body: PtxBody) -> tuple[Step, ...] | None:
        """Return the steps of an instruction, or None if it is not read here."""
        step = computed(words)
        if step is not None:
            return (step,)
        call = engine_call(words, _maybe_written(words))
        if call is not None:
            return (call,)
        if words.base in MEMORY:
            return MEMORY[words.base](words)
        if words.base in WARPS:
            return (WARPS[words.base](words),)
        if words.base in ("bra", "brx", "ret", "exit", "trap", "call"):
            return self._control(words, body)
        if words.base == "mbarrier" and words.parts[0] in ("try_wait", "test_wait"):
            return (words.step(lambda lanes: TRUE),)
        if words.base in IDLE:
            written = _maybe_written(words) if words.operands and words.operands[0][0] == "{" else ()
            return (UnreadStep(written),)
        if words.base in UNKNOWN:
            return (UnreadStep(_maybe_written(words)),)
        return None

    def _control(self, words: Words, body: PtxBody) -> tuple[Step, ...] | None:
        match words.base:
            case "bra":
                return (Jump(self.begin + words.scope.label(words.operands[0])),)
            case "brx":
                targets = [self.begin + target for target in words.scope.table(words.operands[1])]
                return (JumpTo(_switched(words.read(0, np.uint32), targets)),)
            case "ret":
                return (Leave(),) if body.kernel else (JumpTo(_returned(body.name)),)
            case "call":
                return self._call(words)
        return (Leave(),)

    def _call(self, words: Words) -> tuple[Step, ...] | None:
        """Hand over the arguments, and go to a function that is read; its result stands in a variable."""
        operands = list(words.operands)
        results = _listed(operands.pop(0)) if operands[0].startswith("(") else []
        callee = self.parts.bodies.get(operands[0])
        given = _listed(operands[1]) if len(operands) > 1 and operands[1].startswith("(") else []
        if callee is None or callee.name not in self.begins:
            return None
        pairs = []
        for name, parameter in zip(given, callee.parameters, strict=True):
            variable = words.scope.variable(name)
            if variable is None or variable.space != "call":
                return None
            pairs.append((variable, parameter))
        for name, result in zip(results, callee.results, strict=True):
            _replace(words, name, result)
        return (_handed_over(pairs, callee.name, len(self.instructions) + 1), Jump(self.begins[callee.name]))


def _listed(text: str) -> list[str]:
    return text.strip("() \t\n").replace(",", " ").split()


def _replace(words: Words, name: str, variable: PtxVariable) -> None:
    """Let a name stand for another variable from here on."""
    scope = words.scope
    while name not in scope.variables and scope.parent is not None:
        scope = scope.parent
    scope.variables[name] = variable


def _handed_over(pairs: list[tuple[PtxVariable, PtxVariable]], callee: str, back: int) -> Compute:
    """Return the step that copies arguments, and notes the instruction to which the function returns."""
    names = [(a.byte(step), b.byte(step)) for a, b in pairs for step in range(b.size)]

    def run(lanes: Lanes, where: Taking) -> None:
        for source, target in names:
            lanes.write(target, lanes.read(source), where)
        lanes.write(f"return@{callee}", Value.of(back), where)

    return Compute(run, (*(target for _, target in names), f"return@{callee}"))


def _returned(body: str) -> LaneReader:
    return lambda lanes: lanes.read(f"return@{body}")


def _switched(index: LaneReader, targets: list[int]) -> LaneReader:
    """Return the reader of the instruction at which a branch of a switch begins."""
    table = np.array(targets, np.int64)
    return lambda lanes: applied(lambda bits: table[np.minimum(bits, len(table) - 1)], index(lanes))


def _maybe_written(words: Words) -> tuple[str, ...]:
    """Return the registers that the first operand names; none if it is an address or a number."""
    if not words.operands or words.operands[0][:1] in tuple("[(-0123456789") or words.operands[0] == "":
        return ()
    try:
        return words.written()
    except ValueError:
        return ()
