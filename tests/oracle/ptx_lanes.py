"""A warp that runs straight-line PTX: all lanes one instruction after another, as plainly as can be.

It knows what a compiler writes for copies through shared memory, and refuses all else. Its caller
defines ldmatrix and stmatrix: which lane names which row, and who has which element of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product

from tilewise.hardware.matrices.forms import Form

LANES = range(32)
PAGE = 1 << 16
"""Where the second parameter points; the first points to 0."""

_STATEMENT = re.compile(r"^\s+([a-z][\w.:]*)\s+(.*);\s*$", re.MULTILINE)
_OPERAND = re.compile(r"\{[^}]*\}|\[[^\]]*\]|[^,\s{}\[\]]+")
_LOGIC: dict[str, Callable[..., int]] = {
    "add": lambda a, b: a + b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
    "bfe": lambda a, first, count: a >> first & (1 << count) - 1,
    "mad": lambda a, b, c: a * b + c,
    "mov": lambda a: a,
    "cvt": lambda a: a,
    "prmt": lambda a, b, chosen: _permuted(a, b, chosen),
}


def run(ptx: str, given: bytes, form: Form) -> tuple[bytes, list[str]]:
    """Return what the kernel leaves where its second parameter points, and its moves of matrices."""
    warp = _Warp(given, form)
    for name, rest in _STATEMENT.findall(ptx[ptx.index("{") :]):
        warp.step(name, _OPERAND.findall(rest))
    return bytes(warp.memory[PAGE : PAGE + len(given)]), warp.moves


class _Warp:
    def __init__(self, given: bytes, form: Form) -> None:
        self.memory = bytearray(2 * PAGE)
        self.memory[: len(given)] = given
        self.shared = bytearray(PAGE)
        self.registers: dict[str, list[int]] = {"%tid.x": [*LANES]}
        self.form = form
        self.moves: list[str] = []

    def step(self, name: str, operands: list[str]) -> None:
        kind, *words = name.split(".")
        if kind in ("ldmatrix", "stmatrix"):
            self.moves.append(name)
            self._matrices(kind, operands)
        elif name == "ld.param.b64":
            self.registers[operands[0]] = [PAGE * int(operands[1][-2])] * 32
        elif kind in ("ld", "st"):
            self._move(
                kind, self.shared if words[0] == "shared" else self.memory, int(words[1][1:]) // 8, operands
            )
        elif kind == "mov" and operands[0].startswith("{"):
            bits = int(words[0][1:]) // len(names := _names(operands[0]))
            for number, register in enumerate(names):
                self.registers[register] = [
                    value >> bits * number & (1 << bits) - 1 for value in self._read(operands[1])
                ]
        elif kind == "mov" and operands[1].startswith("{"):
            parts = [self._read(register) for register in _names(operands[1])]
            bits = int(words[0][1:]) // len(parts)
            self.registers[operands[0]] = [
                sum(value << bits * number for number, value in enumerate(each))
                for each in zip(*parts, strict=True)
            ]
        elif kind in _LOGIC:
            wide = 64 if words[-1] == "s64" or words[0] == "wide" else int(words[0][1:])
            values = zip(*map(self._read, operands[1:]), strict=True)
            self.registers[operands[0]] = [_LOGIC[kind](*each) % (1 << wide) for each in values]
        elif kind not in ("bar", "ret"):
            raise ValueError(f"the warp does not know {name}")

    def _read(self, operand: str) -> list[int]:
        if operand in self.registers:
            return self.registers[operand]
        return [0 if operand == "global_smem" else int(operand.rstrip("U"), 0)] * 32

    def _addresses(self, operand: str) -> list[int]:
        base, _, further = operand.strip("[] ").partition("+")
        return [at + int(further or 0) for at in self._read(base.strip())]

    def _move(self, kind: str, memory: bytearray, size: int, operands: list[str]) -> None:
        register, address = (operands[0], operands[1]) if kind == "ld" else (operands[1], operands[0])
        name = register.strip("{} ")
        if kind == "ld":
            self.registers[name] = [
                int.from_bytes(memory[a : a + size], "little") for a in self._addresses(address)
            ]
            return
        for a, value in zip(self._addresses(address), self._read(name), strict=True):
            memory[a : a + size] = (value % (1 << 8 * size)).to_bytes(size, "little")

    def _matrices(self, kind: str, operands: list[str]) -> None:
        """The form's two layouts: which lane names a row, and in which lane and register its elements are."""
        form, size = self.form, self.form.bits // 8
        names, address = (operands[0], operands[1]) if kind == "ldmatrix" else (operands[1], operands[0])
        registers = _names(names)
        rows = self._addresses(address)
        if kind == "ldmatrix":
            self.registers |= {name: [0] * 32 for name in registers}
        for matrix, row, column in product(range(form.count), range(form.rows), range(form.columns)):
            supplier = form.addresses.place(matrix, row).as_dict().get("laneid", 0)
            place = form.layout.place(matrix, row, column).as_dict()
            number, low = divmod(place.get("reg", 0) * form.bits, 32)
            at = rows[supplier] + column * size
            held = self.registers[registers[number]]
            lane = place.get("laneid", 0)
            if kind == "ldmatrix":
                held[lane] |= int.from_bytes(self.shared[at : at + size], "little") << low
            else:
                self.shared[at : at + size] = (held[lane] >> low & (1 << form.bits) - 1).to_bytes(
                    size, "little"
                )


def _names(vector: str) -> list[str]:
    return [name.strip() for name in vector.strip("{} ").split(",")]


def _permuted(low: int, high: int, chosen: int) -> int:
    both = low | high << 32
    picked = [both >> 8 * (chosen >> 4 * byte & 7) & 255 for byte in range(4)]
    return sum(value << 8 * byte for byte, value in enumerate(picked))
