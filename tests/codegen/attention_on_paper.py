"""Attention's kernel on paper: its own lines in Python, on simulated barriers, engines and registers.

The lines of the loader and of each warpgroup become generators that stop where the kernel waits. They are run
in random orders, as hardware is free to.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from tilewise.codegen.attention import AttentionPlan, kernel_source
from tilewise.hardware.tma.tensor_map import TensorMap
from tilewise.simulate import Memory, tma
from tilewise.simulate.matrices import stmatrix
from tilewise.simulate.numbers import encode
from tilewise.simulate.registers import Registers
from tilewise.simulate.wgmma import Wgmma, multiply

FIRST = 1024
"""The address at which dynamic shared memory begins."""
WARPS, LANES = 4, 32
WORDS = r"(?:const )?(?:unsigned long long|unsigned|float|int|auto) "


def in_python(text: str) -> str:
    """Return statements of the kernel in Python: lines keep their indentation, and lose the rest.

    >>> print(in_python("for (unsigned r = 2; r < 8; r += 2)\\n    sum[h] += s[r] = power(s[r] / 2);"))
    for r in steps(2, lambda r: r < 8, lambda r: r + (2)):
        s[r] = power(s[r] // 2); sum[h] += s[r]
    """
    lines: list[str] = []
    joined = re.sub(r",\n\s+", ", ", text)
    for line in joined.splitlines():
        line = re.sub(r"\s*//.*", "", line).rstrip()
        indent, own = re.match(r"(\s*)(.*)", line).groups()  # type: ignore[union-attr]
        own = re.sub(r'asm volatile\("wgmma.commit_group.*', "commit(worker);", own)
        if not own or own.startswith(("#pragma", "asm volatile", "}")):
            continue
        lines.append(indent + statement(own.removesuffix(";").replace("(int)", "").replace("~0u", "0")))
    return "\n".join(lines)


def statement(own: str) -> str:
    """Return one statement in Python."""
    own = re.sub(r" / (?=\d|sharing)", " // ", own)
    own = re.sub(r"(?<=\.)(\d+)f\b", r"\1", own)
    if found := re.match(r"for \(\w+ (\w+) = (.*?); (.*?); (.*)\)(?: \{)?$", own):
        name, begin, goes_on, step = found.groups()
        if step.startswith(("++", "--")):
            after = f"{name} {step[0]} 1"
        else:
            _, sign, amount = re.match(r"(\w+) ([+*])= (.*)", step).groups()  # type: ignore[union-attr]
            after = f"{name} {sign} ({chosen(amount)})"
        return f"for {name} in steps({begin}, lambda {name}: {goes_on}, lambda {name}: {after}):"
    if found := re.match(r"if \((.*)\)(?: \{)?$", own):
        return f"if {found[1]}:"
    if found := re.match(r"const auto (\w+) = \[&\]\((.*)\) \{$", own):
        given = [word.split()[-1].lstrip("&") for word in found[2].split(", ") if word]
        return f"def {found[1]}({', '.join(given)}):"
    if found := re.match(r"Ring (.*)$", own):
        return "; ".join(f"{name} = Ring()" for name in found[1].split(", "))
    if found := re.match(r"(?:wait)\((.*)\)$", own):
        return f"yield ({found[1]})"
    if own.startswith("load("):
        return f"yield from {own}"
    if found := re.match(r"wait_for<(\d)>\(", own):
        return f"yield None; wait_for(worker, {found[1]})"
    if found := re.match(r"(sum\[h\]) \+= (s\[r\]) = (.*)$", own):
        return f"{found[2]} = {found[3]}; {found[1]} += {found[2]}"
    own = re.sub(rf"^{WORDS}", "", own)
    parts = re.split(r", (?=\w+ = )", own)
    return "; ".join(chosen(part) for part in parts)


def chosen(own: str) -> str:
    """Return an expression, or an assignment, with C++'s choice of two values as a function."""
    found = re.match(r"(.* = )?(.*) \? (.*) : (.*)$", own)
    return f"{found[1] or ''}where({found[2]}, {found[3]}, {found[4]})" if found else own


def steps(begin: Any, goes_on: Any, after: Any) -> Iterator[Any]:
    """Yield the values of a loop's counter."""
    while goes_on(begin):
        yield begin
        begin = after(begin)


@dataclass
class Barrier:
    """An mbarrier: the phase that it is in, and for how much of that one it still waits."""

    arrivals: int
    phase: int = 0
    arrived: int = 0
    bytes: int = 0

    def counted(self) -> None:
        """Begin the next phase where all of this one is there."""
        assert self.arrived <= self.arrivals
        if self.arrived == self.arrivals and not self.bytes:
            self.phase, self.arrived = self.phase + 1, 0


class Ring:
    """The text's ring."""

    stages = 0

    def __init__(self) -> None:
        self.stage = self.parity = 0

    def next(self) -> None:
        self.stage += 1
        if self.stage == self.stages:
            self.stage, self.parity = 0, self.parity ^ 1


class Paper:
    """A plan's kernel, run for one block of threads."""

    def __init__(
        self, plan: AttentionPlan, extents: tuple[int, int, int, int, int], seed: int = 0, text: str = ""
    ) -> None:
        self.plan, self.text = plan, text or kernel_source(plan)
        self.batches, self.heads, self.sharing, self.m, self.n = extents
        self.random = random.Random(seed)
        self.memory = Memory(FIRST + plan.shared_bytes, name="shared")
        self.barriers: dict[int, Barrier] = {}
        self.asked: list[tuple[Any, ...]] = []
        """Boxes that are under way."""
        self.begun: list[list[Any]] = [[] for _ in range(plan.workers)]
        """The products of the chain that a warpgroup writes."""
        self.chains: list[list[list[Any]]] = [[] for _ in range(plan.workers)]
        """Chains for which it has not waited."""
        size = self.batches * self.heads * self.m * plan.head
        self.out = Memory(2 * size, name="O")
        self.maps = {
            name: self._map(own, rows, heads)
            for name, own, rows, heads in (
                ("q", plan.q, self.m, self.heads),
                ("k", plan.k, self.n, self.heads // self.sharing),
                ("v", plan.v, self.n, self.heads // self.sharing),
                ("o", plan.q, self.m, self.heads),
            )
        }

    def _map(self, own: Any, rows: int, heads: int) -> TensorMap:
        box, mode = self.plan.box_and_mode(own)
        shape = (self.batches, heads, rows, self.plan.head)
        return TensorMap.of(self.plan.dtype.name, shape, (1, 1, *box[::-1]), mode=mode)

    def run(self, tensors: dict[str, Memory], block: tuple[int, int, int], scale: float) -> None:
        """Run a block of threads: its rows of O are written."""
        self.tensors = tensors
        grid = SimpleNamespace(x=-(-self.m // self.plan.rows))
        names: dict[str, Any] = dict(
            shared=0,
            base=FIRST,
            gridDim=grid,
            blockIdx=SimpleNamespace(x=block[0], y=block[1], z=block[2]),
            threadIdx=SimpleNamespace(x=0),
            M=self.m,
            N=self.n,
            sharing=self.sharing,
            scale=scale,
            min=np.minimum,
            init=self._init,
            expect=self._expect,
            arrive=self._arrive,
            fetch=self._fetch,
            store=self._store,
            steps=steps,
            where=np.where,
            Ring=type("OwnRing", (Ring,), {"stages": self._stages()}),
            **{f"map_{name}": name for name in self.maps},
        )
        head = self._between("extern __shared__", "\n    if (warpgroup == 0) {")
        head = head.replace("(unsigned)__cvta_generic_to_shared(shared)", str(FIRST))
        head = "\n".join(line for line in head.splitlines()[1:] if "threadIdx" not in line or "if" in line)
        exec(in_python(head).replace("__syncthreads()", "").replace("\n    ", "\n").strip(), names)
        agents = [self._loader(names)] + [self._worker(names, at) for at in range(self.plan.workers)]
        with np.errstate(invalid="ignore", divide="ignore"):
            self._in_turn(agents)

    def _stages(self) -> int:
        return int(re.search(r"\+\+stage == (\d+)", self.text)[1])  # type: ignore[index]

    def _between(self, begin: str, end: str) -> str:
        return self.text.partition(begin)[2].partition(end)[0]

    def _in_turn(self, agents: list[Iterator[tuple[int, int]]]) -> None:
        """Run all to their ends, in a random order; one that waits is taken up again when it may go on.

        A box lands at any time after its request.
        """
        waits: dict[int, tuple[int, int] | None] = dict.fromkeys(range(len(agents)))
        while waits:
            ready = [at for at, wait in waits.items() if wait is None or self._over(*wait)]
            ready += [-1] * bool(self.asked)
            assert ready, f"all wait: {waits}"
            at = self.random.choice(ready)
            if at < 0:
                self._land(*self.asked.pop(self.random.randrange(len(self.asked))))
                continue
            try:
                waits[at] = next(agents[at])
            except StopIteration:
                del waits[at]

    def _over(self, barrier: int, parity: int) -> bool:
        return self.barriers[barrier].phase & 1 != parity

    # -- what the text calls ---------------------------------------------------------------------------

    def _init(self, at: int, arrivals: int) -> None:
        assert at not in self.barriers
        assert FIRST <= at <= FIRST + self.plan.shared_bytes - 8
        self.barriers[at] = Barrier(arrivals)

    def _expect(self, at: int, bytes: int) -> None:
        own = self.barriers[at]
        own.bytes += bytes
        self._arrive(at)

    def _arrive(self, at: int) -> None:
        self.barriers[at].arrived += 1
        self.barriers[at].counted()

    def _fetch(self, *words: Any) -> None:
        self.asked.append(words)

    def _land(self, to: int, name: str, barrier: int, *corner: int) -> None:
        own = self.maps[name]
        tma.load(own, self.tensors[name], self.memory, corner=[int(x) for x in corner[::-1]], to=to)
        self.barriers[barrier].bytes -= own.bytes
        self.barriers[barrier].counted()

    def _store(self, start: int, name: str, *corner: int) -> None:
        tma.store(self.maps[name], self.memory, self.out, corner=[int(x) for x in corner[::-1]], start=start)

    # -- agents ----------------------------------------------------------------------------------------

    def _loader(self, names: dict[str, Any]) -> Iterator[tuple[int, int]]:
        text = self._between("if (warpgroup == 0) {", "    } else {").partition("\n")[2]
        return self._generator(text, names | {"thread": 0})

    def _worker(self, names: dict[str, Any], worker: int) -> Iterator[tuple[int, int]]:
        plan, text = self.plan, self._between("// 64 rows of Q\n", "\n    }\n}")
        declared = r" *float s\[.*\n.*float most.*\n *unsigned p\[.*\n"
        assert re.search(declared, text)
        text = re.sub(declared, "", text)
        text = re.sub(r" *const unsigned worker = .*\n", "", text)
        warp, lane = np.indices((WARPS, LANES))
        nothing, zero = np.full(warp.shape, -np.inf), np.zeros(warp.shape)
        own = {
            "worker": worker,
            "warpgroup": worker + 1,
            "warp": warp,
            "lane": lane,
            "thread": 0,
            "s": [None] * plan.scores.registers,
            "o": [zero.copy() for _ in range(plan.values.registers)],
            "most": [nothing, nothing],
            "sum": [zero.copy(), zero.copy()],
            "shrink": [None, None],
            "p": [[None] * 4 for _ in range(plan.keys // plan.values.a.input.k)],
            "power": np.exp2,
            "fmaxf": np.fmax,
            "fmaf": lambda a, b, c: a * b + c,
            "packed": self._packed,
            "__int_as_float": lambda bits: -np.inf,
            "__shfl_xor_sync": lambda lanes, x, by: x[:, lane[0] ^ by],
            "multiply": lambda *product: self.begun[worker].append(product),
            "commit": self._commit,
            "wait_for": self._wait_for,
            "put": self._put,
            "d_index": self._function("d_index"),
            "q_place": self._function("q_place"),
        }
        return self._generator(text, names | own)

    def _generator(self, text: str, names: dict[str, Any]) -> Iterator[tuple[int, int]]:
        depth = min(len(line) - len(line.lstrip()) for line in text.splitlines() if line.strip())
        body = in_python("\n".join(line[depth:] for line in text.splitlines()))
        held = "\n".join(f"    {line}" for line in body.splitlines())
        exec(f"def agent():\n{held}\n    yield from ()\n", names)
        found: Iterator[tuple[int, int]] = names["agent"]()
        return found

    def _function(self, name: str) -> Any:
        """Return a function of places of the text, in Python."""
        body = re.search(rf" {name}\(([^)]*)\)\n\{{\n    return ([^;]*);", self.text)
        assert body
        given = ", ".join(re.findall(r"unsigned (\w+)", body[1]))
        text = re.sub(r"^\w+_t\{(.*), (.*)\}$", r"Place(i=\1, j=\2)", body[2])
        found: Any = eval(f"lambda {given}: {text}", {"Place": SimpleNamespace})
        return found

    def _packed(self, x: Any, y: Any) -> Any:
        codes = [encode(part, self.plan.dtype).astype(np.uint32) for part in (x, y)]
        return codes[0] | codes[1] << 16

    def _commit(self, worker: int) -> None:
        self.chains[worker].append(self.begun[worker])
        self.begun[worker] = []

    def _wait_for(self, worker: int, left: int) -> None:
        """Do the products of all chains but the last ones: the core may read that late."""
        chains = self.chains[worker]
        while len(chains) > left:
            for product in chains.pop(0):
                self._product(*product)

    def _product(self, sums: list[Any], a: Any, b: int, adds: Any = 1) -> None:
        """Multiply and add: A is a descriptor, or four registers of each lane."""
        plan = self.plan
        product = plan.values if isinstance(a, list) else plan.scores
        this = Wgmma.of(product.instruction.partition("aligned.")[2], b_major=product.b.major)
        before = None
        if adds:
            before = Registers.of(np.stack(sums, -1).astype(np.float32).view(np.uint32))
        given = Registers.of(np.stack(a, -1)) if isinstance(a, list) else a
        found = multiply(this, given, b, self.memory, before)
        sums[:] = np.moveaxis(found.words.view(np.float32).astype(np.float64), -1, 0)

    def _put(self, at: Any, *registers: Any) -> None:
        for warp in range(WARPS):
            words = np.stack([np.broadcast_to(own, (WARPS, LANES))[warp] for own in registers], -1)
            stmatrix(self.memory, "x4", at[warp], Registers.of(words))
