"""The numbers that PTX hands to an instruction: its operands, followed back from where they are used.

These compilers write every register once, so what it holds is what its one statement says. Where
that is not known before the program runs, a parameter or what memory holds, it is 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_STATEMENT = re.compile(r"(?:@!?%\w+\s+)?([a-z][\w.:]*)\s+(.*)", re.DOTALL)
_OPERAND = re.compile(r"\{[^}]*\}|\[[^\]]*\]|[^,\s{}\[\]]+")
_SHARED = re.compile(r"\.extern \.shared [^;]*?(\w+)\[\]")

_MEANINGS: dict[str, Callable[..., int]] = {
    "mov": lambda a: a,
    "cvt": lambda a: a,
    "shfl": lambda a, *_: a,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "mad": lambda a, b, c: a * b + c,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
    "bfe": lambda a, first, count: a >> first & (1 << count) - 1,
    "bfi": lambda a, b, first, count: b & ~((1 << count) - 1 << first) | (a & (1 << count) - 1) << first,
    "selp": lambda a, b, chosen: a if chosen else b,
}
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "gt": lambda a, b: a > b,
}
_UNKNOWN = ("ld", "elect")
"""Statements whose results are not known before the program runs."""


@dataclass(frozen=True)
class Use:
    """An instruction, and the operands that it has in the text."""

    name: str
    operands: tuple[str, ...]


class Values:
    """The values of a kernel's registers, its shared memory beginning at an address, for one thread."""

    def __init__(self, ptx: str, shared: int = 0, thread: int = 0) -> None:
        self.uses: list[Use] = []
        self._written: dict[str, Use] = {}
        self._known = {"%tid.x": thread, **dict.fromkeys(_SHARED.findall(ptx), shared)}
        text = re.sub(r"//.*|^\s*(\$\w+:|\.loc.*)", "", ptx[ptx.index(".reqntid") :], flags=re.MULTILINE)
        for statement in text[text.index("{") + 1 :].split(";"):
            if found := _STATEMENT.fullmatch(statement.strip()):
                self._read(Use(found[1], tuple(_OPERAND.findall(found[2]))))

    def _read(self, use: Use) -> None:
        self.uses.append(use)
        if use.operands and use.name.partition(".")[0] in (*_MEANINGS, *_UNKNOWN, "setp"):
            self._written |= dict.fromkeys(re.findall(r"%\w+", use.operands[0]), use)

    def of(self, operand: str) -> int:
        """Return the value of an operand: a number, a register, a name, or a sum of them in brackets."""
        operand = operand.strip()
        if operand.startswith("["):
            return sum(self.of(part) for part in operand.strip("[] ").split("+"))
        if operand not in self._known:
            self._known[operand] = self._made(operand) if operand.startswith("%") else int(operand, 0)
        return self._known[operand]

    def _made(self, register: str) -> int:
        use = self._written[register]
        kind, *words = use.name.split(".")
        target, *given = use.operands
        if kind in _UNKNOWN:
            return 0
        if kind == "setp":
            return int(_COMPARED[words[0]](self.of(given[0]), self.of(given[1])))
        bits = 1 if words[-1] == "pred" else int(words[-1][1:]) * (2 if "wide" in words else 1)
        if target.startswith("{"):
            parts = _parts(target)
            each = bits // len(parts)
            return self.of(given[0]) >> each * parts.index(register) & (1 << each) - 1
        if given[0].startswith("{"):
            parts = _parts(given[0])
            each = bits // len(parts)
            return sum(self.of(part) % (1 << each) << each * number for number, part in enumerate(parts))
        return _MEANINGS[kind](*map(self.of, given)) % (1 << bits)


def _parts(vector: str) -> list[str]:
    return [part.strip() for part in vector.strip("{} ").split(",")]
