"""Generated functions between registers, run on the CPU: the text itself, each statement in all threads.

Matrices are those of `hardware.matrices`; the layouts say, place by place, what a target must hold.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
from tests.check.shuffle_machine import LANES

from tilewise import Layout
from tilewise.check.registers.steps import Program
from tilewise.core.dtypes import DType
from tilewise.hardware.matrices.forms import Form
from tilewise.moves.exchange import Exchange
from tilewise.moves.exchange.source import function

ROOM = 16 * 37
"""Where shared memory begins."""

WEIGHTS = {"laneid": 1, "tid_in_wg": 1, "tx": 1, "wid_in_wg": 32, "warpid": 32, "wgid": 128}


@dataclass
class Machine:
    """All threads of a block, and their shared memory, byte by byte: which warp wrote it, and when."""

    threads: int
    given: np.ndarray
    made: np.ndarray
    values: dict[str, np.ndarray] = field(default_factory=dict)
    memory: np.ndarray = field(default_factory=lambda: np.zeros(1 << 18, np.uint8))
    writer: np.ndarray = field(default_factory=lambda: np.full(1 << 18, -1))
    epoch: np.ndarray = field(default_factory=lambda: np.full(1 << 18, -1))
    read: np.ndarray = field(default_factory=lambda: np.full(1 << 18, -1))
    now: int = 0
    reach: int = 0
    alone: bool = False
    active: np.ndarray | None = None

    def run(self, text: str) -> None:
        """Every statement of the function's body."""
        self.values["tid"] = np.arange(self.threads)
        for line in text[text.index("{\n") + 2 : text.rindex("}")].splitlines():
            self.statement(line.strip())

    def statement(self, line: str) -> None:
        """One statement, in all threads."""
        if line in ("{", "}"):
            self.active = None
        elif found := re.fullmatch(r"if \((.*)\) \{", line):
            self.active = self.of(found[1]) != 0
        elif found := re.fullmatch(r"if \((thread < \d+)\) (asm.*)", line):
            before = self.active
            own = self.of(found[1]) != 0
            self.active = own if before is None else own & before
            self.statement(found[2])
            self.active = before
        elif line in ("__syncthreads();", "__syncwarp();") or "bar.sync" in line:
            self.now += 1
            self.alone = line == "__syncwarp();"
        elif line.startswith("unsigned "):
            for name in re.findall(r"d\d+", line):
                self.values[name] = np.zeros(self.threads, np.int64)
        elif found := re.fullmatch(r"const unsigned (\w+) = (.*);", line):
            self.values[found[1]] = self.of(found[2])
        elif found := re.fullmatch(r"to\[(\d+)\] = (\w+);", line):
            active = slice(None) if self.active is None else self.active
            self.made[active, int(found[1])] = self.of(found[2])[active]
        else:
            self.access(line)

    def of(self, text: str) -> np.ndarray:
        """The value of an expression in every thread."""
        text = text.replace("(unsigned)__cvta_generic_to_shared(shared)", str(ROOM))
        text = re.sub(
            r"(0x[0-9a-f]+|\d+)u\b", r"\1", text.replace("threadIdx.x", "tid").replace(" / ", " // ")
        )
        text = re.sub(r"from\[(\d+)\]", r"given[:, \1]", text).replace("&&", "&")
        names = self.values | {"given": self.given, "__byte_perm": permuted}
        return np.broadcast_to(np.asarray(eval(text, {}, names)), (self.threads,)) & 0xFFFFFFFF

    def access(self, line: str) -> None:
        """A store or a load."""
        found = re.fullmatch(r'asm volatile\("(\S+) (.*);" : ?(.*) : "memory"\);', line)
        assert found, line
        name, offset = found[1], int((re.findall(r"\+ (\d+)\]", found[2]) or ["0"])[0])
        operands = re.findall(r'"=?r"\(([^()]*)\)', found[3])
        stores = name.startswith("st")
        words = operands[1:] if stores else operands[:-1]
        at = self.of(operands[0] if stores else operands[-1]) + offset
        active = np.ones(self.threads, bool) if self.active is None else self.active
        if "matrix" in name:
            assert active.reshape(-1, LANES).any(axis=1).repeat(LANES).tolist() == active.tolist()
            places = self.of_matrices(name, at, len(words))
        else:
            places = self.of_vectors(name, at, len(words), active)
        for thread, word, byte, address in places:
            if active[thread]:
                self.byte(stores, thread, words[word], byte, address)

    def of_vectors(self, name: str, at: np.ndarray, words: int, active: np.ndarray):
        """(thread, word, byte, address) of every byte."""
        width = int(name.rpartition(".b")[2]) // 8
        assert not (at[active] % (width * words) != ROOM % (width * words)).any(), name
        for thread in range(self.threads):
            for word in range(words):
                for byte in range(width):
                    yield thread, word, byte, int(at[thread]) + 4 * word + byte

    def of_matrices(self, name: str, at: np.ndarray, words: int):
        """The same, where other lanes supply the addresses of rows."""
        form = Form(name.split(".")[0], words, ".trans" in name)
        for matrix in range(words):
            for row in range(8):
                supplier = form.addresses.place(matrix, row).as_dict().get("laneid", 0)
                for column in range(8):
                    held = form.layout.place(matrix, row, column).as_dict()
                    word, half = divmod(held.get("reg", 0), 2)
                    for warp in range(0, self.threads, LANES):
                        address = int(at[warp + supplier])
                        assert address % 16 == 0
                        for byte in range(2):
                            yield (
                                warp + held.get("laneid", 0),
                                word,
                                2 * half + byte,
                                address + 2 * column + byte,
                            )

    def byte(self, stores: bool, thread: int, word: str, byte: int, address: int) -> None:
        """One byte to memory, or from it: what is read was written before the wait."""
        self.reach = max(self.reach, address + 1 - ROOM)
        assert address >= ROOM
        if stores:
            assert self.read[address] < self.now, "it was loaded, and nobody waited"
            value = (
                int(self.of(word)[thread]) >> 8 * byte & 0xFF
                if word not in self.values
                else (int(self.values[word][thread]) >> 8 * byte & 0xFF)
            )
            if self.epoch[address] == self.now:
                assert self.memory[address] == value, "two threads write different bytes to one address"
            self.memory[address], self.writer[address], self.epoch[address] = value, thread // LANES, self.now
            return
        assert self.epoch[address] < self.now
        self.read[address] = self.now
        if self.alone:
            assert self.writer[address] in (-1, thread // LANES)
        self.values[word][thread] |= int(self.memory[address]) << 8 * byte


def permuted(a: np.ndarray, b: np.ndarray, order: int) -> np.ndarray:
    """prmt."""
    both = np.asarray(b).astype(np.uint64) << np.uint64(32) | np.asarray(a).astype(np.uint64)
    made = np.zeros_like(both)
    for at in range(4):
        made |= (both >> np.uint64(8 * (order >> 4 * at & 7)) & np.uint64(255)) << np.uint64(8 * at)
    return made.astype(np.int64)


def places(layout: Layout) -> list[list[tuple[int, int]]]:
    """(thread, position) of every copy of every element."""
    found = []
    for index in range(layout.size):
        own = []
        for place in layout.points(index):
            steps = dict(zip((axis.name for axis in layout.axes), place, strict=True))
            position = steps.pop("reg", 0)
            own.append((sum(WEIGHTS[name] * count for name, count in steps.items()), position))
        found.append(own)
    return found


def wrong(plan: Exchange, seed: int = 0, text: str = "") -> int:
    """Return how many places of the target do not hold what the source had of their element."""
    draw = np.random.default_rng(seed)
    bits, before = DType.of(plan.dtype).bits, plan.registers[0]
    held = draw.integers(0, 1 << 32, (plan.threads, before))
    source, target = places(plan.source), places(plan.target)
    for own in source:
        for copy in own[1:]:
            _put(held, copy, bits, _get(held, own[0], bits))
    made = ran(plan, held, text)
    return sum(
        _get(made, place, bits) != _get(held, source[index][0], bits)
        for index, own in enumerate(target)
        for place in own
    )


def ran(plan: Exchange, held: np.ndarray, text: str = "") -> np.ndarray:
    """The registers of the target."""
    if isinstance(plan.way, Program):
        return _shuffled(plan.way, held)
    machine = Machine(plan.threads, held, np.zeros((plan.threads, plan.registers[1]), np.int64))
    machine.run(text or function(plan))
    assert machine.reach <= plan.shared_bytes
    return machine.made


def _shuffled(program: Program, held: np.ndarray) -> np.ndarray:
    """Steps of a warp, in all warps."""
    lanes = np.arange(LANES)
    registers = [held[:, own].reshape(-1, LANES) for own in range(program.inputs)]
    for step in program.steps:
        a = registers[step.of[0]]
        by = np.array(step.by) if step.by else lanes
        b = registers[step.of[-1]]
        if step.operation == "shfl":
            made = a[:, by]
        elif step.operation == "select":
            made = np.where(by, b, a)
        elif step.operation == "prmt":
            made = np.stack([permuted(a[:, i], b[:, i], int(by[i])) for i in lanes], axis=1)
        elif step.operation == "movmatrix":
            made = np.zeros_like(a)
            for lane in range(LANES):
                for half in range(2):
                    row, column = 2 * (lane % 4) + half, lane // 4
                    made[:, lane] |= (a[:, 4 * row + column // 2] >> 16 * (column % 2) & 0xFFFF) << 16 * half
        elif step.operation == "rotate":
            made = (a << by | a >> (32 - by)) & 0xFFFFFFFF
        elif step.operation == "merge":
            made = a & by | b & ~by & 0xFFFFFFFF
        else:
            made = np.zeros_like(a)
            for lane in range(LANES):
                made |= ((a[:, lane] >> by[lane] & 1) << lane)[:, None]
        registers.append(made)
    results = [registers[own].ravel() if own is not None else held[:, 0] * 0 for own in program.results]
    return np.stack(results, axis=1)


def _get(registers: np.ndarray, place: tuple[int, int], bits: int) -> int:
    thread, position = place
    if bits >= 32:
        each = bits // 32
        return sum(int(registers[thread, position * each + part]) << 32 * part for part in range(each))
    register, slot = divmod(position, 32 // bits)
    return int(registers[thread, register]) >> slot * bits & (1 << bits) - 1


def _put(registers: np.ndarray, place: tuple[int, int], bits: int, value: int) -> None:
    thread, position = place
    if bits >= 32:
        for part in range(bits // 32):
            registers[thread, position * (bits // 32) + part] = value >> 32 * part & 0xFFFFFFFF
        return
    register, slot = divmod(position, 32 // bits)
    mask = (1 << bits) - 1 << slot * bits
    registers[thread, register] = registers[thread, register] & ~mask | value << slot * bits
