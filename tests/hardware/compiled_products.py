"""Products of tcgen05 that compilers made: a record of the declarations, and of the words in the PTX.

`tests/oracle/compiled.py` wrote it. A kernel of it has its case, the layouts of its
operands in the words of their author, and for each instruction the two descriptors of shared memory, the
instruction descriptor, and the addresses of tensor memory.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from tilewise import Layout, parse
from tilewise.core.dtypes import DType
from tilewise.hardware.tcgen05.operand import Operand
from tilewise.tables import table

RECORDS = Path(__file__).with_name("compiled")
START = 0x400
"""Where the shared memory of a kernel begins."""

COMPILERS = ("gluon", "cute")
Kernel = dict[str, Any]


@cache
def recorded(compiler: str) -> list[Kernel]:
    """The kernels of a compiler."""
    found: list[Kernel] = json.loads(gzip.decompress((RECORDS / f"{compiler}.json.gz").read_bytes()))
    return found


def name_of(kernel: Kernel) -> str:
    """The case in a line."""
    return " ".join(f"{name}={value}" for name, value in kernel["case"].items()).replace(" ", "")


@dataclass(frozen=True)
class Side:
    """One operand of a kernel: what one instruction reads of it, and where its author has put all of it."""

    operand: Operand
    bytes: np.ndarray
    """[rows, K] of one CTA: the byte of each element, from the start of the operand's memory."""

    @property
    def tiles(self) -> dict[int, tuple[int, int]]:
        """{byte: the row and the column of K that is there}, where an instruction may begin."""
        rows, depth = self.bytes.shape
        return {
            int(self.bytes[row, k]): (row, k)
            for row in range(0, rows, self.operand.rows)
            for k in range(0, depth, self.operand.depth)
        }

    def tile(self, row: int, k: int) -> np.ndarray:
        """The bytes of what an instruction reads that begins there."""
        return self.bytes[row : row + self.operand.rows, k : k + self.operand.depth]


def sides(kernel: Kernel) -> Iterator[tuple[str, Side]]:
    """The operands that are in shared memory, by the letters `a` and `b`."""
    case = kernel["case"]
    for side, declared in kernel["declared"].items():
        sizes = {name: case[name] for name in ("m", "n", "kind", "cta_group")}
        operand = Operand(case[side], case[f"{side}_major"], side.upper(), **sizes)
        read = _by_bases if "bases" in declared else _by_cute
        yield side, Side(operand, read(declared, operand))


# -- Triton ----------------------------------------------------------------------------------------


def _by_bases(declared: Kernel, operand: Operand) -> np.ndarray:
    """For each bit of an offset the element that it adds, as XORs; B is K x N.

    Elements of 4 bits are in pairs, which it counts as bytes; padding is a bit that adds nothing.
    """
    bits = DType.of(operand.dtype).bits
    bases = [tuple(basis if operand.operand == "A" else basis[::-1]) for basis in declared["bases"]]
    by_row, by_column = _inverse({basis: 1 << bit for bit, basis in enumerate(bases) if any(basis)})
    found = _spread(by_row)[:, None] ^ _spread(by_column)[None, :]
    return found * (bits // 8) if bits >= 8 else np.repeat(found, 8 // bits, axis=1)


def _inverse(offsets: dict[tuple[int, int], int]) -> tuple[list[int], list[int]]:
    """The offsets of rows 1, 2, 4, ... and of columns, from those of bases that move along one or both."""
    rows = {row: offset for (row, column), offset in offsets.items() if not column}
    columns = {column: offset for (row, column), offset in offsets.items() if not row}
    for (row, column), offset in offsets.items():
        if row and column and column in columns:
            rows[row] = offset ^ columns[column]
        elif row and column:
            columns[column] = offset ^ rows[row]
    return [rows[row] for row in sorted(rows)], [columns[column] for column in sorted(columns)]


def _spread(steps: list[int]) -> np.ndarray:
    """The XOR of the steps of every number's bits."""
    found = np.zeros(1, dtype=np.int64)
    for step in steps:
        found = np.concatenate([found, found ^ step])
    return found


# -- CuTe ------------------------------------------------------------------------------------------


def _by_cute(declared: Kernel, operand: Operand) -> np.ndarray:
    """((rows, K), instructions down, instructions along K, stages), the leftmost digit the fastest."""
    bits = operand.stored_bits
    layout = cute_layout(declared["declared"], bits)
    _, down, steps, _ = (prod(_flat(mode)) for mode in layout.shape)
    places = table(layout).array.reshape(operand.depth, operand.rows, down, steps)
    whole = places.transpose(2, 1, 3, 0).reshape(down * operand.rows, steps * operand.depth)
    return whole * bits // 8


def _flat(mode: Any) -> Iterator[int]:
    for part in mode if isinstance(mode, tuple) else (mode,):
        yield from _flat(part) if isinstance(part, tuple) else (part,)


def cute_layout(text: str, bits: int) -> Layout:
    """Read the text of CuTe's DSL for a tile in shared memory: the swizzle is a pointer's, and counts bytes.

    >>> print(cute_layout("S<3,4,3> o 0 o ((128,16),1,4,1):((64,1),0,16,0)", 16))
    Swizzle<3,3,3> o S[((16, 128), 1, 4, 1) : ((1, 64), 0, 16, 0)]
    """
    swizzle, _, plain = text.partition(" o 0 o ")
    return parse(f"{swizzle.replace('S<', 'Sw<')} o smem_ptr[{bits}b](unset) o {plain}")
