"""The parts `fragments.*` and `descriptors.*`: what registers of wgmma hold, and what descriptors read.

Descriptors are legal ones as kernels have them, and odd ones that no kernel should. They are drawn with a
seed, cell by cell, so that every type, operand, major and mode has as many, inside the shared memory of
a block. Those of `descriptors.end` end with it or go past it, each in a process of its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from operator import attrgetter
from typing import Any

import numpy as np

from tilewise.core.layout import Layout
from tilewise.gpu.launch import Array
from tilewise.gpu.probes.kernels import Progress, alone, places, result_name
from tilewise.gpu.probes.wgmma import AREA, BASE, END, NOTHING, THREADS, Bench, WgmmaProbe
from tilewise.gpu.verify.part import Answered, Findings, Part, measured
from tilewise.hardware.modes import CHUNK, MODES, ROWS, Mode
from tilewise.hardware.wgmma.descriptor import BASE_UNIT, LIMIT, Descriptor
from tilewise.hardware.wgmma.fragments import a_fragment, d_fragment
from tilewise.hardware.wgmma.instructions import INPUTS, OPERANDS, M
from tilewise.hardware.wgmma.reads import Operand
from tilewise.tables import table

# -- fragments -------------------------------------------------------------------------------------


def instructions() -> list[WgmmaProbe]:
    """Return every dense wgmma with both operands K-major: every type, accumulator and legal N.

    >>> len(instructions()), len({(i.a, i.b, i.d) for i in instructions()})
    (474, 17)
    """
    return [
        WgmmaProbe(a.name, b, d, n)
        for a in INPUTS.values()
        for b in a.partners
        for d in a.accumulators
        for n in a.n
    ]


def owners(fragment: Layout) -> Array:
    """Return the flat index of what each element of each thread in turn holds, as the catalogue has it."""
    owned = np.full(fragment.size, NOTHING, np.int64)
    owned[places(fragment).ravel()] = np.arange(fragment.size)
    return owned


def judge_fragment(findings: Findings, row: Mapping[str, Any], owned: Array) -> None:
    """Hold the owner of every element against the catalogue's fragment."""
    fragment = a_fragment(row["a"]) if row["operand"] == "A" else d_fragment(row["d"], row["n"])
    width = fragment.size // M

    def element(index: int) -> list[int] | None:
        return None if index == NOTHING else list(divmod(int(index), width))

    def register(place: int) -> dict[str, int]:
        return dict(zip(("thread", "element"), divmod(place, fragment.size // THREADS), strict=True))

    types = f"{row['a']} x {row['b']} -> {row['d']}"
    case = f"{row['operand']} of m64n{row['n']}, {types}"
    findings.hold(case, owners(fragment), owned, register, "element", element)
    findings.count(len(owned), types=types, n=row["n"])


def _fragments(operand: str, confirms: tuple[str, ...]) -> Part:
    def ask(bench: Bench, probes: list[WgmmaProbe]) -> Iterator[Answered]:
        return ({"owned": (bench.a if operand == "A" else bench.d)(probe)} for probe in probes)

    return Part(
        f"fragments.{operand.lower()}",
        f"wgmma: the element of {operand} in each register of each thread, every type at every N",
        confirms,
        ("owned",),
        instructions,
        lambda probe: {"operand": operand, "a": probe.a, "b": probe.b, "d": probe.d, "n": probe.n},
        partial(measured, ready=partial(Bench.of, instructions()), ask=ask),
        judge_fragment,
    )


# -- descriptors -----------------------------------------------------------------------------------

SEED = 20_261
LEGAL, ODD, RESERVED = 14, 48, 2
"""Descriptors of a cell; the last have bits set that no field has."""

MIDDLE = 64 * 1024
"""Odd descriptors start about here, so that what they read stays inside."""

SOME_N = (8, 16, 24, 40, 64, 72, 96, 128, 160, 256)
"""N of the MN-major instructions with some types and operands; with f16 it is every N."""

KINDS = [
    *((name, name, d) for name in INPUTS for d in INPUTS[name].accumulators),
    ("e4m3", "e5m2", "f32"),
    ("s8", "u8", "s32"),
]
"""Types of A, B and D."""


@dataclass(frozen=True, slots=True)
class DescriptorCase:
    """A descriptor that an instruction reads an operand by."""

    instruction: WgmmaProbe
    operand: str
    descriptor: Descriptor
    reserved: int = 0
    """Bits that are set where the descriptor has no field."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> DescriptorCase:
        """Return the case of a recorded row."""
        majors = (row["major"], "k") if row["operand"] == "A" else ("k", row["major"])
        (a, b, d), value = row["types"], int(row["value"], 16)
        descriptor = Descriptor.decode(value)
        instruction = WgmmaProbe(a, b, d, row["n"], *majors)
        return cls(instruction, row["operand"], descriptor, value ^ descriptor.value)

    @property
    def row(self) -> dict[str, Any]:
        """The case as it is recorded."""
        this = self.instruction
        return {
            "types": [this.a, this.b, this.d],
            "n": this.n,
            "operand": self.operand,
            "major": self.major,
            "value": hex(self.value),
        }

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

    @property
    def rows(self) -> int:
        """The operand's rows: M of A, N of B."""
        return M if self.operand == "A" else self.instruction.n

    @property
    def chunk(self) -> int:
        """Elements of 16 bytes."""
        return CHUNK * 8 // self.instruction.bits

    def __str__(self) -> str:
        d = self.descriptor
        return (
            f"{self.instruction}: {self.operand} by {self.value:#018x}, mode {d.mode}, start {d.start},"
            f" LBO {d.lbo}, SBO {d.sbo}, base offset {d.base_offset}"
        )


@cache
def drawn(seed: int = SEED) -> tuple[DescriptorCase, ...]:
    """Return all descriptors, the same for the same seed."""
    dice = random.Random(seed)
    cases: list[DescriptorCase] = []
    for kind, operand, mode in product(KINDS, OPERANDS, MODES.values()):
        for major in INPUTS[kind[0]].majors:
            for number in range(LEGAL + ODD + RESERVED):
                cases.append(_drawn(dice, kind, operand, major, mode, number))
    return tuple(cases)


def asked(dtype: str) -> list[DescriptorCase]:
    """Return the cases of the instructions whose A has a type."""
    return [case for case in drawn() if case.instruction.a == dtype]


def expected(case: DescriptorCase) -> Array:
    """Return [rows, K]: the index of the element at each byte that the tables read, from address 0 on."""
    bits, this = case.instruction.bits, case.instruction
    byte = np.empty((case.rows, this.k), np.int64)
    for piece in Operand(case.dtype, case.major, case.operand, this.n).pieces(case.descriptor):
        (top, below), (left, right) = piece.box
        byte[top:below, left:right] = table(piece.layout).array.reshape(below - top, right - left)
    if bits >= 8:
        return byte // (bits // 8)
    each = 8 // bits
    return byte * each + np.arange(this.k) % each


def chunks(read: Array, case: DescriptorCase) -> Array | None:
    """Return the 16-byte chunks of shared memory that are read, in order; None where they are not whole ones.

    They run along the major direction: [rows, 2] K-major, [rows / T, K] MN-major, T elements each.
    """
    along = read if case.major == "k" else read.T
    whole = along.reshape(len(along), -1, case.chunk)
    numbers = whole[..., 0] // case.chunk
    if not np.array_equal(whole, numbers[..., None] * case.chunk + np.arange(case.chunk)):
        return None
    return numbers if case.major == "k" else numbers.T


def spread(numbers: Array, case: DescriptorCase) -> Array:
    """Return the elements of chunks, row by row: the inverse of `chunks`."""
    lines = numbers.reshape(case.rows, -1) if case.major == "k" else numbers.reshape(-1, case.instruction.k).T
    elements = (lines[..., None] * case.chunk + np.arange(case.chunk)).reshape(len(lines), -1)
    return (elements if case.major == "k" else elements.T).ravel()


def places_read(bench: Bench, cases: Sequence[DescriptorCase]) -> list[Array]:
    """Return [rows, K] for each case, all of one instruction and operand: the index of each element read."""
    first = cases[0]
    return list(bench.reads(first.instruction, first.operand, [case.value for case in cases]))


def kept(case: DescriptorCase, read: Array) -> Answered:
    """Return what is recorded: chunks of 16 bytes where they were read whole, else single elements."""
    whole = chunks(read, case)
    return {"places": read if whole is None else whole, "whole": whole is not None}


def judge_descriptor(findings: Findings, row: Mapping[str, Any], read: Array) -> None:
    """Hold the place of every element against what the catalogue says is read."""
    case = DescriptorCase.of(row)
    want = expected(case).ravel()

    def element(place: int) -> dict[str, list[int]]:
        return {"element": list(divmod(place, case.instruction.k))}

    def byte(index: int) -> int | None:
        return None if index == NOTHING else int(index) * case.instruction.bits // 8

    findings.hold(case, want, spread(read, case) if row["whole"] else read, element, "byte", byte)
    descriptor, this = case.descriptor, case.instruction
    unit = descriptor.mode.period
    past = descriptor.start % max(unit, BASE_UNIT)
    inside = past % descriptor.mode.width
    odd = descriptor.sbo % unit or (descriptor.lbo % unit and descriptor.lbo > CHUNK)
    findings.count(
        want.size,
        types=f"{this.a} x {this.b} -> {this.d}",
        operand=f"{case.operand}, {case.major}-major",
        mode=descriptor.mode.name,
        n=this.n,
        start=f"{'inside a row of' if inside else 'at a row of'} the atom" if past else "at the pattern",
        base_offset=descriptor.base_offset,
        strides=f"{'not ' if odd else ''}multiples of the pattern",
        reserved_bits="some set" if case.reserved else "none set",
    )


def _ask(cases: Sequence[DescriptorCase], told: Progress) -> list[Answered]:
    def ask(bench: Bench, some: list[DescriptorCase]) -> Iterable[Answered]:
        return map(kept, some, places_read(bench, some))

    return measured(
        cases,
        told,
        ready=partial(Bench.of, {case.instruction for case in cases}),
        ask=ask,
        together=lambda case: (case.instruction, case.operand),
    )


def _drawn(
    dice: random.Random, kind: tuple[str, str, str], operand: str, major: str, mode: Mode, number: int
) -> DescriptorCase:
    """Return a legal descriptor, an odd one, or a legal one with reserved bits, by its number in the cell."""
    every = major == "k" or (operand == "B" and kind == ("f16", "f16", "f32"))
    majors = (major, "k") if operand == "A" else ("k", major)
    while True:
        this = WgmmaProbe(*kind, dice.choice(INPUTS[kind[0]].n if every else SOME_N), *majors)
        draw = _odd if LEGAL <= number < LEGAL + ODD else _legal
        bits = Descriptor.reserved_bits(dice.getrandbits(64)) if number >= LEGAL + ODD else []
        reserved = sum(1 << bit for bit in bits)
        empty = DescriptorCase(this, operand, Descriptor(mode=mode), reserved)
        case = replace(empty, descriptor=draw(dice, empty))
        if _inside(case):
            return case


def _legal(dice: random.Random, empty: DescriptorCase) -> Descriptor:
    """Return a step of K in a tile of atoms, in either order of atoms, anywhere that is aligned."""
    mode = empty.descriptor.mode
    deep = dice.choice((1, 2, 4))
    atom = ROWS * mode.width
    start = BASE + mode.period * dice.randrange(256 * 64 // mode.period)
    step = dice.randrange(mode.width // 32) * 32 if mode.bits else 0
    if empty.major == "k" and mode.bits:
        return Descriptor(start + step, CHUNK, atom * dice.choice((1, deep)), mode)
    if empty.major == "k":
        down_first = dice.choice((True, False))
        lbo, sbo = (atom * empty.rows // ROWS, atom) if down_first else (atom, atom * 2 * deep)
        return Descriptor(start, lbo, sbo, mode)
    atoms = -(-empty.rows // mode.elements(empty.instruction.a))
    near, far = atom, atom * atoms
    sbo, lbo = (far, near) if dice.choice((True, False)) else (near, atom * 2 * deep)
    return Descriptor(start, lbo, sbo, mode) if mode.bits else Descriptor(start, sbo, lbo, mode)


def _odd(dice: random.Random, empty: DescriptorCase) -> Descriptor:
    """Return any start, any strides, any base offset; or a legal one with one field changed."""
    top = dice.choice((8, 16, 64, 256, 1024))
    odd = Descriptor(
        start=MIDDLE + CHUNK * dice.randrange(dice.choice((64, 2048))),
        lbo=CHUNK * dice.randrange(top),
        sbo=CHUNK * dice.randrange(top),
        mode=empty.descriptor.mode,
        base_offset=dice.randrange(8),
    )
    kind = dice.randrange(6)
    if kind < 2:
        legal = _legal(dice, empty)
        field = dice.choice(("start", "lbo", "sbo", "base_offset"))
        return replace(legal, **{field: getattr(odd, field)})
    return replace(odd, base_offset=0) if kind < 4 else odd


def _inside(case: DescriptorCase) -> bool:
    """Return whether all that is read lies where the probe put it; a swizzle stays in its row of the atom."""
    d = case.descriptor
    groups, width = case.rows // ROWS - 1, d.mode.width
    if case.major == "k":
        last = groups * d.sbo + (ROWS - 1) * width + (CHUNK if d.mode.bits else d.lbo)
    elif d.mode.bits:
        across, along = divmod(case.rows // case.chunk - 1, d.mode.chunks)
        last = across * d.lbo + CHUNK * (d.mode.chunks - 1 if across else along) + d.sbo + (ROWS - 1) * width
    else:
        last = groups * d.sbo + d.lbo + (ROWS - 1) * CHUNK
    first, end = d.start // width * width, (d.start + last) // width * width + width
    return first >= BASE and end <= (AREA if case.operand == "A" else END)


# -- the end of shared memory ----------------------------------------------------------------------

OUTSIDE = 700
"""The CUresult of an address that no block has."""

INSIDE, PAST, WHOLE = "inside", "past with a part of a core matrix", "past with a whole core matrix"


def at_the_end() -> list[DescriptorCase]:
    """Return operands that end where shared memory does, that go past its end row by row, and strides that
    would come back if sums were taken modulo 2^18."""
    k_major = WgmmaProbe("f16", "f16", "f32", 16)
    mn_major = WgmmaProbe("f16", "f16", "f32", 128, "k", "mn")
    probes = [(k_major, mode) for mode in MODES.values()]
    probes += [(mn_major, MODES[name]) for name in ("none", "128B")]
    cases = []
    for this, mode in probes:
        plain = DescriptorCase(this, "B", Descriptor(start=MIDDLE, lbo=1024, sbo=2048, mode=mode))
        length = (int(expected(plain).max()) + 1) * this.bits // 8 - MIDDLE
        last = (END - length) // mode.period * mode.period
        starts = [*(last + row * mode.width for row in range(ROWS + 1)), END, LIMIT - 1024]
        changed: list[dict[str, Any]] = [{"start": start} for start in starts]
        changed += [{"lbo": LIMIT - 1024}, {"sbo": LIMIT - 1024}]
        cases += [replace(plain, descriptor=replace(plain.descriptor, **change)) for change in changed]
    return cases


def reach(case: DescriptorCase) -> str:
    """Return INSIDE, PAST the end with a part of a core matrix, or past it with a WHOLE one."""
    past = expected(case) * case.instruction.bits // 8 >= END
    deep, wide = (ROWS, case.chunk) if case.major == "k" else (case.chunk, ROWS)
    rows, columns = past.shape
    whole = past.reshape(rows // deep, deep, columns // wide, wide).all(axis=(1, 3))
    return WHOLE if whole.any() else PAST if past.any() else INSIDE


def read_alone(case: DescriptorCase) -> Array:
    """Return [rows, K] of one case; a fault may end the process."""
    return places_read(Bench.of([case.instruction], told=lambda done, total: None), [case])[0]


def _ask_at_the_end(cases: Sequence[DescriptorCase], told: Progress) -> Iterator[Answered]:
    for result, read in alone(read_alone, cases, told):
        if result not in (0, OUTSIDE):
            raise RuntimeError(f"it ends with {result_name(result)}")
        yield {"places": [] if read is None else read, "faults": read is None}


def judge_end(findings: Findings, row: Mapping[str, Any], read: Array) -> None:
    """Hold what was read, and what faulted, against where the tables say that it is read.

    Where a part of a core matrix is past the end, the device may fault or not: no document says.
    """
    case, faults = DescriptorCase.of(row), row["faults"]
    want, far = expected(case), reach(case)
    byte = want * case.instruction.bits // 8
    wrong = {
        (WHOLE, False): "it goes past the end of shared memory, and the device did not fault",
        (INSIDE, True): "it stays inside shared memory, and the device faulted",
    }
    if (far, faults) in wrong:
        findings.differs(case, wrong[far, faults], last=int(byte.max()), end=END)
    elif not faults and not np.array_equal(np.where(byte < END, want, NOTHING).ravel(), read):
        findings.differs(case, "other elements are read than the catalogue has")
    fault = f"{far}: {'a fault' if faults else 'no fault'}"
    findings.count(max(1, len(read)), mode=case.descriptor.mode.name, reach=fault)


def _descriptors(name: str, title: str, cases: Callable[[], Any], ask: Any, judge: Any) -> Part:
    confirms = ("wgmma.smem", "wgmma.atom", "wgmma.canonical")
    row = attrgetter("row")
    return Part(f"descriptors.{name}", f"wgmma{title}", confirms, ("places",), cases, row, ask, judge)


PARTS = (
    _fragments("D", ("wgmma.D", "wgmma.shapes")),
    _fragments("A", ("wgmma.A",)),
    *(
        _descriptors(
            dtype,
            f", {dtype}: the byte that is read for every element, by descriptors legal and odd",
            partial(asked, dtype),
            _ask,
            judge_descriptor,
        )
        for dtype in INPUTS
    ),
    _descriptors(
        "end",
        ": what ends with shared memory is read, what goes past it faults, nothing wraps around",
        at_the_end,
        _ask_at_the_end,
        judge_end,
    ),
)
"""D and A in registers, descriptors by the type of A, and those at the end of shared memory."""
