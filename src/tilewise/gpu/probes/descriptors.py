"""Descriptors to ask about: legal ones as kernels have them, and odd ones that no kernel should.

They are drawn with a seed, cell by cell, so that every type, operand, major and mode is asked alike. All stay
inside the shared memory of a block.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from tilewise.gpu.probes.bench import AREA, Bench
from tilewise.gpu.probes.instruction import Instruction
from tilewise.gpu.probes.spelling import BASE, END, Integers, indices
from tilewise.hardware.modes import CHUNK, MODES, ROWS, Mode
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.instructions import INPUTS, OPERANDS
from tilewise.hardware.wgmma.reads import Operand
from tilewise.tables.build import table

SEED = 20_261
LEGAL, ODD, RESERVED = 14, 48, 2
"""Descriptors of a cell; the last have bits set that no field has."""

MIDDLE = 64 * 1024
"""Odd descriptors start about here, so that what they read stays inside."""

SOME_N = (8, 16, 24, 40, 64, 72, 96, 128, 160, 256)
"""N of the MN-major instructions that are asked with some types and operands; with f16 it is every N."""

KINDS = [
    *((name, name, d) for name in INPUTS for d in INPUTS[name].accumulators),
    ("e4m3", "e5m2", "f32"),
    ("s8", "u8", "s32"),
]
"""Types of A, B and D."""


@dataclass(frozen=True, slots=True)
class Case:
    """A descriptor that an instruction reads an operand by."""

    instruction: Instruction
    operand: str
    descriptor: Descriptor
    reserved: int = 0
    """Bits that are set where the descriptor has no field."""

    @property
    def value(self) -> int:
        """The 64 bits that the instruction is given."""
        return self.descriptor.value | self.reserved

    @property
    def dtype(self) -> str:
        """The operand's type."""
        return self.instruction.a if self.operand == "A" else self.instruction.b

    @property
    def major(self) -> str:
        """The operand's major direction."""
        return self.instruction.a_major if self.operand == "A" else self.instruction.b_major


def cases(seed: int = SEED) -> list[Case]:
    """All descriptors, the same for the same seed."""
    dice = random.Random(seed)
    found: list[Case] = []
    for kind, operand, mode in product(KINDS, OPERANDS, MODES.values()):
        for major in INPUTS[kind[0]].majors:
            cell = _cell(dice, kind, operand, major, mode)
            found += [next(cell) for _ in range(LEGAL + ODD + RESERVED)]
    return found


def expected(case: Case) -> Integers:
    """[rows, K]: the index of the element at each byte that the tables say is read, from address 0 on."""
    bits, this = case.instruction.bits, case.instruction
    rows = 64 if case.operand == "A" else this.n
    byte = np.empty((rows, this.k), np.int64)
    for piece in Operand(case.dtype, case.major, case.operand, this.n).pieces(case.descriptor):
        (top, below), (left, right) = piece.box
        byte[top:below, left:right] = table(piece.layout).array.reshape(below - top, right - left)
    if bits >= 8:
        return byte // (bits // 8)
    each = 8 // bits
    return byte * each + np.arange(this.k) % each


def read(bench: Bench, asked: Sequence[Case], told: Callable[[int], None]) -> list[Integers]:
    """What the hardware read for each case, [rows, K]: indices of elements from address 0 on, -1 where it
    read no single element; `told` hears how many cases are done."""
    groups: dict[tuple[Instruction, str], list[int]] = {}
    for at, case in enumerate(asked):
        groups.setdefault((case.instruction, case.operand), []).append(at)
    found: dict[int, Integers] = {}
    for (this, operand), places in groups.items():
        words = bench.reads(this, operand, [asked[at].value for at in places])
        found |= zip(places, indices(words, this), strict=True)
        told(len(found))
    return [found[at] for at in range(len(asked))]


def chunks(read: Integers, case: Case) -> Integers | None:
    """The 16-byte chunks of shared memory that are read, in order; None where they are not whole ones.

    They run along the major direction: [rows, 2] K-major, [rows / T, K] MN-major, T elements each.
    """
    each = CHUNK * 8 // case.instruction.bits
    numbers = (read[:, ::each] if case.major == "k" else read[::each]) // each
    return numbers if np.array_equal(spread(numbers, case), read) else None


def spread(numbers: Integers, case: Case) -> Integers:
    """The elements of chunks: the inverse of `chunks`."""
    each = CHUNK * 8 // case.instruction.bits
    along = np.arange(each)
    if case.major == "k":
        whole = numbers[:, :, None] * each + along
        return whole.reshape(len(numbers), -1)
    return (numbers[:, None, :] * each + along[:, None]).reshape(-1, numbers.shape[1])


def _cell(
    dice: random.Random, kind: tuple[str, str, str], operand: str, major: str, mode: Mode
) -> Iterator[Case]:
    """Legal descriptors, then odd ones, then legal ones with reserved bits, without end."""
    count = 0
    while True:
        n = dice.choice(_sizes(kind, operand, major))
        majors = (major, "k") if operand == "A" else ("k", major)
        this = Instruction(*kind, n, *majors)
        draw = _odd if LEGAL <= count < LEGAL + ODD else _legal
        bits = Descriptor.reserved_bits(dice.getrandbits(64)) if count >= LEGAL + ODD else []
        reserved = sum(1 << bit for bit in bits)
        case = Case(this, operand, draw(dice, this, operand, major, mode), reserved)
        if _inside(case):
            count += 1
            yield case


def _sizes(kind: tuple[str, str, str], operand: str, major: str) -> tuple[int, ...]:
    if major == "k" or (operand == "B" and kind == ("f16", "f16", "f32")):
        return INPUTS[kind[0]].n
    return SOME_N


def _legal(dice: random.Random, this: Instruction, operand: str, major: str, mode: Mode) -> Descriptor:
    """A step of K in a tile of atoms, in either order of atoms, anywhere that is aligned."""
    rows = 64 if operand == "A" else this.n
    deep = dice.choice((1, 2, 4))
    atom = ROWS * mode.width
    start = BASE + mode.period * dice.randrange(256 * 64 // mode.period)
    step = dice.randrange(mode.width // 32) * 32 if mode.bits else 0
    if major == "k" and mode.bits:
        return Descriptor(start + step, CHUNK, atom * dice.choice((1, deep)), mode)
    if major == "k":
        down_first = dice.choice((True, False))
        lbo, sbo = (atom * rows // ROWS, atom) if down_first else (atom, atom * 2 * deep)
        return Descriptor(start, lbo, sbo, mode)
    atoms = -(-rows // mode.elements(this.a))
    near, far = atom, atom * atoms
    sbo, lbo = (far, near) if dice.choice((True, False)) else (near, atom * 2 * deep)
    if not mode.bits:
        sbo, lbo = lbo, sbo
    return Descriptor(start, lbo, sbo, mode)


def _odd(dice: random.Random, this: Instruction, operand: str, major: str, mode: Mode) -> Descriptor:
    """Any start, any strides, any base offset; or a legal one with one field changed."""
    top = dice.choice((8, 16, 64, 256, 1024))
    odd = Descriptor(
        start=MIDDLE + CHUNK * dice.randrange(dice.choice((64, 2048))),
        lbo=CHUNK * dice.randrange(top),
        sbo=CHUNK * dice.randrange(top),
        mode=mode,
        base_offset=dice.randrange(8),
    )
    kind = dice.randrange(6)
    if kind < 2:
        legal = _legal(dice, this, operand, major, mode)
        changes = ({"start": odd.start}, {"lbo": odd.lbo}, {"sbo": odd.sbo}, {"base_offset": odd.base_offset})
        return replace(legal, **dice.choice(changes))  # type: ignore[arg-type]
    return replace(odd, base_offset=0) if kind < 4 else odd


def _inside(case: Case) -> bool:
    """Whether everything that is read lies where the probe put it; a swizzle stays in its row of the atom."""
    d, rows = case.descriptor, 64 if case.operand == "A" else case.instruction.n
    groups, width = rows // ROWS - 1, d.mode.width
    if case.major == "k":
        last = groups * d.sbo + (ROWS - 1) * width + (CHUNK if d.mode.bits else d.lbo)
    elif d.mode.bits:
        chunks = rows * case.instruction.bits // 8 // CHUNK - 1
        across, along = divmod(chunks, d.mode.chunks)
        last = across * d.lbo + CHUNK * (d.mode.chunks - 1 if across else along) + d.sbo + (ROWS - 1) * width
    else:
        last = groups * d.sbo + d.lbo + (ROWS - 1) * CHUNK
    first, end = d.start // width * width, (d.start + last) // width * width + width
    return first >= BASE and end <= (AREA if case.operand == "A" else END)
