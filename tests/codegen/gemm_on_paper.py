"""A product's kernel on paper: its own lines, read from the text, run on the simulated engines.

The lines that load, multiply and store are evaluated for each block of a cluster and each warpgroup, with the
addresses that a cluster has: a block's number stands above them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from tilewise.codegen.gemm import HopperPlan, kernel_source
from tilewise.codegen.parts.copies import Staged
from tilewise.hardware.tma.tensor_map import TensorMap
from tilewise.hardware.wgmma.instructions import M
from tilewise.simulate import Memory, tma
from tilewise.simulate.faults import Step
from tilewise.simulate.numbers import encode, joined
from tilewise.simulate.registers import Registers
from tilewise.simulate.wgmma import Wgmma, multiply

FIRST = 1024
"""The address at which dynamic shared memory begins."""
ABOVE = 24
"""Bits of an address below the number of a block."""
ELEMENTS = {"e4m3": "u8", "e5m2": "u8", "s8": "u8", "tf32": "f32"}
"""Types of tensor maps that stand for others."""


@lru_cache
def compiled(text: str) -> CodeType:
    """Return an expression of C++ on whole numbers, in Python."""
    text = re.sub(r"\(int\)|\(size_t\)|(?<=\d)u\b", "", text).replace("/", "//")
    return compile(text.replace("&&", "and").replace("||", "or").strip(), "kernel", "eval")


def value(text: str, names: dict[str, Any]) -> int:
    """Return the value of an expression of C++ on whole numbers."""
    return int(eval(compiled(text), {"min": min, "max": max}, names))


def constants(text: str, names: dict[str, Any]) -> None:
    """Add the constants of all lines to names."""
    for kind in re.findall(r"const (?:unsigned long long|unsigned|int) ([^;]*);", text):
        for one in re.split(r", (?=\w+ = )", kind):
            name, _, expression = one.partition(" = ")
            names[name] = value(expression, names)


def tile_of(text: str, t: int, down: int, along: int) -> tuple[int, ...]:
    """Return what the kernel's function gives for tile number t."""
    found = re.search(r"Tile tile_of\(int t, int down, int along\)\n\{\n(.*?)\n\}\n", text, re.DOTALL)
    assert found
    names = {"t": t, "down": down, "along": along}
    body, _, result = found[1].partition("return {")
    for line in body.splitlines():
        constants(line, names)
        if again := re.match(r"\s*t %= (.*);", line):
            names["t"] = t % value(again[1], names)
    return tuple(value(word, names) for word in result.removesuffix("};").split(", "))


@dataclass
class Block:
    """A block of a cluster: its number, its shared memory, the names of its constants."""

    number: int
    memory: Memory
    names: dict[str, Any]


class Paper:
    """A plan's kernel, run for one tile of a cluster."""

    def __init__(
        self, plan: HopperPlan, m: int, n: int, k: int, *, ends: Sequence[int] = (), parts: int = 1
    ) -> None:
        self.plan, self.text, self.ends, self.parts = plan.first, kernel_source(plan), ends, parts
        plan = self.plan
        self.extents = {"M": m, "N": n, "K": k}
        self._stores: dict[Any, tuple[Any, Any, Any]] = {}
        self.maps = {own.letter: self._map(own) for own in (*plan.operands, plan.d)}
        size = FIRST + plan.shared_bytes
        self.out = Memory(-(-parts * m * n * plan.out.bits // 8) + 64, name="global")
        self.blocks = [
            Block(at, Memory(size, name=f"block {at}"), dict(self.extents)) for at in range(plan.blocks)
        ]

    def _map(self, own: Staged) -> TensorMap:
        rows = self.extents["N" if own.name == "B" else "M"]
        line = self.extents["N" if own.name == "D" else "K"]
        shape = (rows, line) if own.major == "k" else (line, rows)
        box, mode = self.plan.box_and_mode(own)
        kind = ELEMENTS.get(own.dtype.name, own.dtype.name)
        if self.plan.is_many(own):
            return TensorMap.of(kind, (len(self.ends) or self.parts, *shape), (1, *box[::-1]), mode=mode)
        return TensorMap.of(kind, shape, box[::-1], mode=mode)

    def product(self, a: Memory, b: Memory, group: int = 0) -> np.ndarray[Any, Any]:
        """Return D after the first tile of a cluster, or of a group: that of the whole, if it is as large."""
        for block in self.blocks:
            self._begin(block, group)
        sums = self._multiplied({"a": a, "b": b})
        for block in self.blocks:
            for worker in range(self.plan.workers):
                self._out(block, worker, sums[block.number, worker])
        shape = self.extents["M"], self.extents["N"]
        at = group * shape[0] * shape[1] * self.plan.out.bits // 8 if self.parts > 1 else 0
        return self.out.take(self.plan.out, shape, at=at)

    def _begin(self, block: Block, group: int) -> None:
        names = block.names
        names |= {"base": FIRST + (block.number << ABOVE), "block": block.number}
        head = re.search(r"unsigned char shared\[\];\n(.*?)    if \(threadIdx", self.text, re.DOTALL)
        begins = r"^(    const int (?:down|along) = .*?)^    Ring ring;"
        rest = re.search(begins, self.text, re.DOTALL | re.MULTILINE)
        assert head
        assert rest
        lines = [line for line in head[1].splitlines() if "__shfl" not in line and "threadIdx" not in line]
        text = "\n".join(lines).replace("base = (unsigned)__cvta_generic_to_shared(shared), ", "")
        names["batches"] = self.parts
        constants(text, names)
        constants(rest[1], names)
        begin, end = ([0, *self.ends][group], self.ends[group]) if self.ends else (0, self.extents["M"])
        down = names.get("down") or -(-(end - begin) // (self.plan.m * self.plan.cluster[0]))
        row, column, *_ = tile_of(self.text, 0, down, names["along"])
        names |= {"tile_row": row + begin, "tile_column": column, "tile_batch": group, "tile_end": end}

    def _multiplied(self, tensors: dict[str, Memory]) -> dict[tuple[int, int], Any]:
        """Return the registers of each block and warpgroup after all steps along K."""
        loads = self._between("expect(barrier, ", "            }\n")
        steps = self.blocks[0].names["steps"]
        sums: dict[tuple[int, int], Any] = {}
        for step in range(steps):
            for block in self.blocks:
                self._load(block, loads, tensors, step)
            for block in self.blocks:
                for worker in range(self.plan.workers):
                    parts = sums.setdefault((block.number, worker), [None] * self.plan.parts)
                    self._chain(block, worker, parts, step)
        return sums

    def _between(self, begin: str, end: str) -> str:
        return self.text.partition(begin)[2].partition(end)[0]

    def _load(self, block: Block, loads: str, tensors: dict[str, Memory], step: int) -> None:
        names = dict(block.names)
        stage = step % self.plan.stages
        places = self._between("if (warpgroup == 0) {", "for (int k = 0").replace("tile.", "tile_")
        constants("\n".join(line for line in places.splitlines() if "const int" in line), names)
        names |= {"k": step, "to": names["base"] + stage * self.plan.stage_bytes}
        expected, arrived = value(loads.partition(")")[0], names), 0
        for verb, words in re.findall(r"(fetch|share)\(([^;]*)\);", loads):
            to, letter, _, *more = [word.strip() for word in words.split(",")]
            targets = [block.number]
            if verb == "share":
                mask = value(more.pop(0), names)
                targets = [at for at in range(self.plan.blocks) if mask >> at & 1]
            corner = [value(word.replace("tile.", "tile_"), names) for word in more]
            at = value(to, names)
            assert at >> ABOVE == block.number
            own = self.maps[letter.removeprefix("map_")]
            for target in targets:
                memory = self.blocks[target].memory
                address = at & ((1 << ABOVE) - 1)
                tma.load(own, tensors[letter[-1]], memory, corner=corner[::-1], to=address)
                arrived += own.bytes if target == block.number or verb == "fetch" else 0
        shares = {own.letter: self.plan.shared_by(own) for own in self.plan.operands}
        assert expected == sum(own.bytes for own in self.plan.operands)
        if max(shares.values()) == 1:
            assert arrived == expected

    def _chain(self, block: Block, worker: int, parts: list[Any], step: int) -> None:
        names = dict(block.names)
        names |= {"worker": worker, "k": step}
        text = self._between("// it is there", "wgmma.commit_group").replace(
            "ring.stage", str(step % self.plan.stages)
        )
        constants("\n".join(line for line in text.splitlines() if "const " in line), names)
        words = self.plan.instruction.partition("aligned.")[2]
        majors = {f"{own.letter}_major": own.major for own in self.plan.core.operands}
        this = Wgmma.of(words, **majors)
        if self.plan.widened:
            parts[0] = self._widened(block, names, this, text, parts[0])
            return
        chain = re.findall(r"multiply\((d|stage_sums)\[(\d)\], ([^,]*), ([^,]*), ([^)]*)\);", text)
        held = list(parts)
        for _, part, a, b, adds in chain:
            before = held[int(part)] if value(adds, names) else None
            given = value(a, names), value(b, names)
            held[int(part)] = multiply(this, *given, block.memory, before)
        if chain[0][0] == "stage_sums" and step:
            layout, kind = self.plan.fragment, self.plan.accumulator
            for at, (old, new) in enumerate(zip(parts, held, strict=True)):
                held[at] = Registers.holding(
                    old.numbers(layout, kind) + new.numbers(layout, kind), layout, kind
                )
        parts[:] = held

    def _widened(self, block: Block, names: dict[str, Any], this: Wgmma, text: str, held: Any) -> Registers:
        """Return the sums after a stage of which A passes through registers."""
        plan = self.plan
        source = names["rows"] & ((1 << ABOVE) - 1)
        place = re.search(r"widened\(rows \+ (.*)\);", self.text)[1]  # type: ignore[index]
        product = re.search(r"multiply\(d\[0\], a\[step % 2\], ([^,]*), ([^)]*)\);", self.text)
        index, of_place = self._function("d_index"), self._function("a_place")
        assert product
        assert plan.widened
        wide = plan.widened.dtype
        for step in range(value(re.search(r"step < (\d+)", self.text)[1], names)):  # type: ignore[index]
            words = np.zeros((4, 32, 4), np.uint32)
            for warp, lane, r in np.ndindex(words.shape):
                i, j = index(warp=warp, lane=lane, reg=r)
                own = names | {"own_i": i, "own_j": j, "step": step, "a_place": of_place}
                two = block.memory.take(
                    plan.a.dtype, 2, at=source + value(place.replace("own.", "own_"), own)
                )
                low, high = (int(code) for code in encode(two, wide))
                words[warp, lane, r] = low | high << 16
            own = names | {"step": step}
            before = held if value(product[2], own) else None
            held = multiply(this, Registers.of(words), value(product[1], own), block.memory, before)
        return held

    def _function(self, name: str) -> Any:
        """Return a function of places of the text, in Python."""
        body = re.search(rf" {name}\(([^)]*)\)\n\{{\n    return ([^;]*);", self.text)
        assert body
        names = re.findall(r"unsigned (\w+)", body[1])
        text = re.sub(r"^\w+_t\{(.*)\}$", r"(\1)", body[2])
        return eval(f"lambda {', '.join(names)}: {text}")

    def _out(self, block: Block, worker: int, sums: list[Registers]) -> None:
        """Put boxes of D into shared memory by the text's addresses, and store them."""
        plan, names = self.plan, dict(block.names)
        text = self._between("// D: from registers", "\n        }\n").replace("tile.", "tile_")
        places = "\n".join(re.findall(r"const int (?:row|column) = .*;", text))
        names |= {"worker": worker}
        constants(places, names)
        boxes = value(re.search(r"box < (\d+)", text)[1], names)  # type: ignore[index]
        put = re.search(r"put\(to \+ (.*?),(?=\s*pair_of)", text, re.DOTALL)[1]  # type: ignore[index]
        index = re.findall(r"const auto at = d_index\(([^)]*)\)", text)[-1]
        corner = re.search(r"store\(to, map_d, ([^;]*)\);", text)[1].split(", ")  # type: ignore[index]
        each = value(re.search(r"p < (\d+)", text)[1], names)  # type: ignore[index]
        for box in range(boxes):
            names |= {"box": box, "sent": box}
            constants("\n".join(re.findall(r"const unsigned (?:part|to) = .*;", text)), names)
            numbers = sums[names["part"]].numbers(plan.fragment, plan.accumulator)
            self._fill(block, names, numbers, put, index, each)
            at = names["to"] & ((1 << ABOVE) - 1)
            place = [value(word, names) for word in corner]
            own = self.maps["d"]
            apart = re.findall(r"const int inside = .*;", text)
            constants("\n".join(apart), names)
            if names.get("inside", M) < M:
                self._rows_apart(block, names, text)
            elif place[1] < self.extents["M"] and place[0] < self.extents["N"]:
                tma.store(own, block.memory, self.out, corner=place[::-1], start=at)

    def _rows_apart(self, block: Block, names: dict[str, Any], text: str) -> None:
        """Copy the rows of a box that are of the group, as the threads do."""
        size = self.plan.out.bits // 8
        count = re.search(r"x < (.*?); x \+= 128", text)[1]  # type: ignore[index]
        places = "\n".join(re.findall(r"const int [in] = (?:x|column) .*?;", text))
        start = re.search(r"\*from = shared \+ (.*);", text)[1]  # type: ignore[index]
        line = re.search(r"\*line = D \+ (.*);", text)[1]  # type: ignore[index]
        inner = re.search(r"\(line \+ (.*)\) = \*\(const uint4", text)[1]  # type: ignore[index]
        to = f"{line} + {inner}"
        for x in range(max(0, value(count, names))):
            own = dict(names) | {"x": x, "pitch": self.extents["N"] * size, "d_place": self._functions()[1]}
            constants(places, own)
            if own["n"] < self.extents["N"]:
                row = block.memory.take(self.plan.out, 16 // size, at=FIRST + value(start, own))
                self.out.put(row, self.plan.out, at=value(to, own))

    def _fill(
        self, block: Block, names: dict[str, Any], numbers: Any, put: str, index: str, each: int
    ) -> None:
        """Store the pairs of a box: single ones, or four matrices by stmatrix."""
        which = names["box"], put, index, each
        if which not in self._stores:  # the same of all blocks, warpgroups and parts of K
            self._stores[which] = self._pairs(*which)
        addresses, rows, columns = self._stores[which]
        codes = encode(numbers[rows, columns], self.plan.out)
        to = names["to"] & ((1 << ABOVE) - 1)
        block.memory.write(Step("put"), to + addresses, joined(codes, self.plan.out.bits))

    def _pairs(self, box: int, put: str, index: str, each: int) -> tuple[Any, Any, Any]:
        """Return the address of each store of a box, from its begin, and the places in D that it has."""
        plan = self.plan
        of_index, of_place = self._functions()
        size = plan.out.bits // 8
        by_matrices = plan.out.bits == 16
        found = []
        for warp in range(4):
            for p in range(0, each, 4 if by_matrices else 1):
                for lane in range(32):
                    first = box % (plan.n // plan.d.k) * each + p
                    own = {"box": box, "warp": warp, "lane": lane, "p": p, "first": first, "pair": first}
                    i, j = of_index(*(value(word, own) for word in index.split(", ")))
                    own |= {"at_i": i, "at_j": j, "d_place": of_place}
                    own["byte"] = 2 * j * size % (plan.d.k * size)
                    address = value(put.replace("at.", "at_"), own)
                    if by_matrices:  # the row lane % 8 of matrix lane / 8 is held by four threads
                        pairs = [of_index(warp, first + lane // 8, lane % 8 * 4 + four) for four in range(4)]
                    else:
                        pairs = [(i, j)]
                    found.append((address, pairs))
        places = np.array([[(i, 2 * j + one) for i, j in pairs for one in range(2)] for _, pairs in found])
        return np.array([address for address, _ in found]), places[..., 0], places[..., 1]

    def _functions(self) -> tuple[Any, Any]:
        """Return the kernel's own functions of places, in Python."""
        return self._function("d_index"), self._function("d_place")
