"""Descriptors read from PTX and machine code, held to the encodings that TTGIR of the same kernel names.

    PYTHONPATH=src:. python -m tests.compiled.engines.agreement [NAME ...]

The descriptors of an operand agree where they read the buffer of TTGIR: one instruction after the other, each
element of each from the byte where the encoding puts it, and all of the buffer. A buffer of several stages is
as many such buffers.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

from tilewise.compiled.engines import ProductOperand, ProductRow, products_of
from tilewise.compiled.launch import Launch
from tilewise.compiled.run import counted
from tilewise.compiled.texts import programs_of
from tilewise.compiled.ttgir.module import Module, module_of
from tilewise.compiled.ttgir.types import TypeInText
from tilewise.tables import table

RECORD = Path(__file__).with_name("record.zip")
DEPTH = 256
"""K of every launch, and the length of attention: `kernels.DEPTH`, which takes Triton."""

Tables = frozenset[tuple[tuple[int, ...], ...]]
"""The byte of each element [rows, K] of each descriptor."""


@cache
def texts() -> dict[str, dict[str, str]]:
    """Return {kernel: {kind: text}}."""
    with zipfile.ZipFile(RECORD) as record:
        found: dict[str, dict[str, str]] = json.loads(record.read("texts.json"))
    return found


@dataclass(frozen=True)
class WantedOperand:
    """An operand of a product as TTGIR names it."""

    letter: str
    source: str
    """`shared`, `registers` or `tensor memory`."""
    bytes: tuple[tuple[int, ...], ...] = ()
    """The byte of each element [rows, K], from the begin of the buffer on."""
    mode: str = ""
    major: str = ""
    """The swizzle and the direction, by the words of the encoding."""


def wanted(text: str, module: Module) -> dict[int, list[WantedOperand]]:
    """Return {line: the operands A and B of the product there}."""
    encodings = dict(re.findall(r"^(#\w+) = (#ttg\.\w+<\{.*\}>)", text, re.MULTILINE))
    found: dict[int, list[WantedOperand]] = {}
    for op in module.ops:
        if op.kind in ("ttng.warp_group_dot", "ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled"):
            line = module.text.line(op)
            assert line is not None
            pairs = zip("AB", module.types_of(op), strict=False)
            found[line.number] = [_wanted(letter, one, encodings) for letter, one in pairs]
    return found


def _wanted(letter: str, written: TypeInText, encodings: Mapping[str, str]) -> WantedOperand:
    if written.in_registers:
        return WantedOperand(letter, "registers")
    if "#ttng.tensor_memory" in written.text:
        return WantedOperand(letter, "tensor memory")
    assert written.layout is not None
    words = encodings[written.name]
    width = int(re.findall(r"swizzlingByteWidth = (\d+)", words)[0])
    along_rows = ("transposed = true" in words) != (letter == "B")
    rows = table(written.layout).columns["m"] * written.bits // 8
    return WantedOperand(
        letter,
        "shared",
        tuple(map(tuple, (rows.T if letter == "B" else rows).tolist())),
        f"{width}B" if width else "none",
        "mn" if along_rows else "k",
    )


def products(text: str, module: Module) -> list[ProductRow]:
    """Return the products of a text, run for one block."""
    program = next(programs_of(text))
    args = [DEPTH if one.size == 4 else None for one in program.parameters]
    block = program.threads or (32 * module.warps, 1, 1)
    return products_of(counted(program, Launch((1, 1, 1), block, args)).calls, 1.0, module.dots)


def tables(operand: ProductOperand) -> Tables:
    """Return the bytes that each descriptor reads; elements of 4 bits share theirs."""
    assert operand.reads is not None
    step = max(1, 8 // operand.reads.stored_bits)
    found = (operand.reads.addresses(held) for held, _ in operand.descriptors)
    return frozenset(tuple(tuple(line[::step]) for line in table) for table in found)


def covered(buffer: Sequence[Sequence[int]], read: Tables) -> int:
    """Return how many whole buffers the descriptors read, element by element; 0 where any reads otherwise.

    The lowest that is left reads the first rows of a buffer, and all other parts of it have to be there.
    """
    left, buffers = set(read), 0
    while left:
        first = min(left)
        many, deep = len(first), len(first[0])
        begin = first[0][0] - buffer[0][0]
        parts = {
            tuple(
                tuple(begin + byte for byte in line[column : column + deep])
                for line in buffer[row : row + many]
            )
            for row, column in product(range(0, len(buffer), many), range(0, len(buffer[0]), deep))
        }
        if not parts <= read:
            return 0
        left -= parts
        buffers += 1
    return buffers


def differences(text: Mapping[str, str]) -> Iterator[str]:
    """Yield each operand of a kernel with what does not agree: nothing behind its colon where all does."""
    module = module_of(text["ttgir"])
    in_ptx, in_code = (products(text[kind], module) for kind in ("ptx", "sass"))
    for line, operands in wanted(text["ttgir"], module).items():
        mine = [row for row in in_ptx if row.line is not None and row.line.number == line]
        alike = {lying(row) for row in mine}
        found = {"PTX": mine, "machine code": [row for row in in_code if lying(row) in alike]}
        for number, want in enumerate(operands):
            yield f"line {line} {want.letter}: {'; '.join(_apart(found, number, want))}"


def lying(row: ProductRow) -> tuple[tuple[str, str, str], ...]:
    """Return how the operands of a product lie: Triton's machine code is off by lines, and this is not."""
    return tuple(
        (one.source, one.reads.major, one.descriptors[0][0].mode.name) if one.reads else (one.source, "", "")
        for one in row.operands
    )


def _apart(found: Mapping[str, Sequence[ProductRow]], number: int, want: WantedOperand) -> Iterator[str]:
    read: dict[str, Tables] = {}
    for text, rows in found.items():
        if not rows or any(number >= len(row.operands) for row in rows):
            yield f"{text} has no such product"
            continue
        held = {lying(row)[number] for row in rows}
        if held != {(want.source, want.major, want.mode)}:
            yield f"{text} has {held}, TTGIR {want.source} {want.major} {want.mode}"
        elif want.bytes:
            read[text] = frozenset().union(*(tables(row.operands[number]) for row in rows))
            if not covered(want.bytes, read[text]):
                yield f"{text} reads other bytes than the buffer has"
    if len({*read.values()}) > 1:
        yield "PTX and machine code read other bytes"


def main() -> None:
    """Print what differs, and how many agree."""
    kernels = operands = 0
    names = sys.argv[1:] or [*texts()]
    for name in names:
        lines = [*differences(texts()[name])]
        bad = [line for line in lines if not line.endswith(": ")]
        for line in bad:
            print(name, line)
        kernels += bool(lines) and not bad
        operands += len(lines) - len(bad)
    print(f"{kernels} of {len(names)} kernels agree, {operands} operands")


if __name__ == "__main__":
    main()
