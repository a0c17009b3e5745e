"""The parts `fragments.*` and `descriptors.*`: what registers of wgmma hold, and what descriptors read.

Descriptors are legal ones as kernels have them, and odd ones that no kernel should. Those of
`descriptors.end` end with shared memory or go past it, each in a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tilewise.core.layout import Layout
from tilewise.gpu.launch import Array
from tilewise.gpu.probes.kernels import Progress, alone, places, result_name
from tilewise.gpu.probes.wgmma import END, NOTHING, THREADS, Bench, WgmmaProbe
from tilewise.gpu.verify.part import Answered, Findings, Part, measured
from tilewise.hardware.modes import CHUNK, ROWS
from tilewise.hardware.wgmma.descriptor import BASE_UNIT, Descriptor
from tilewise.hardware.wgmma.fragments import a_fragment, d_fragment
from tilewise.hardware.wgmma.instructions import INPUTS, M
from tilewise.hardware.wgmma.reads import Operand
from tilewise.tables import table

# -- fragments -------------------------------------------------------------------------------------


def owners(fragment: Layout) -> Array:
    """Return the flat index of what each element of each thread in turn holds, as the catalogue has it."""
    owned = np.full(fragment.size, NOTHING, np.int64)
    owned[places(fragment).ravel()] = np.arange(fragment.size)
    return owned


def fragment_probe(row: Mapping[str, Any]) -> WgmmaProbe:
    """Return the instruction of a recorded row."""
    return WgmmaProbe(row["a"], row["b"], row["d"], row["n"])


def judge_fragment(findings: Findings, probe: WgmmaProbe, row: Mapping[str, Any], owned: Array) -> None:
    """Hold the owner of every element against the catalogue's fragment."""
    fragment = a_fragment(probe.a) if row["operand"] == "A" else d_fragment(probe.d, probe.n)
    width = fragment.size // M

    def element(index: int) -> list[int] | None:
        return None if index == NOTHING else list(divmod(int(index), width))

    def register(place: int) -> dict[str, int]:
        return dict(zip(("thread", "element"), divmod(place, fragment.size // THREADS), strict=True))

    case = f"{row['operand']} of m64n{probe.n}, {probe.types}"
    findings.hold(case, owners(fragment), owned, register, "element", element)
    findings.count(len(owned), types=probe.types, n=probe.n)


def _fragments(operand: str) -> Part:
    def ask(bench: Bench, probes: list[WgmmaProbe]) -> Iterator[Answered]:
        return ({"owned": (bench.a if operand == "A" else bench.d)(probe)} for probe in probes)

    return Part(
        f"fragments.{operand.lower()}",
        f"wgmma: the element of {operand} in each register of each thread, every type at every N",
        ("owned",),
        fragment_probe,
        partial(measured, ready=lambda probes, told: Bench.of(probes, told=told), ask=ask),
        judge_fragment,
    )


# -- descriptors -----------------------------------------------------------------------------------


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


def judge_descriptor(findings: Findings, case: DescriptorCase, row: Mapping[str, Any], read: Array) -> None:
    """Hold the place of every element against what the catalogue says is read."""
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
        types=this.types,
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
        ready=lambda cases, told: Bench.of((case.instruction for case in cases), told=told),
        ask=ask,
        together=lambda case: (case.instruction, case.operand),
    )


# -- the end of shared memory ----------------------------------------------------------------------

OUTSIDE = 700
"""The CUresult of an address that no block has."""

INSIDE, PAST, WHOLE = "inside", "past with a part of a core matrix", "past with a whole core matrix"


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


def judge_end(findings: Findings, case: DescriptorCase, row: Mapping[str, Any], read: Array) -> None:
    """Hold what was read, and what faulted, against where the tables say that it is read.

    Where a part of a core matrix is past the end, the device may fault or not: no document says.
    """
    faults = row["faults"]
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


def _descriptors(name: str, title: str, ask: Any, judge: Any) -> Part:
    return Part(f"descriptors.{name}", f"wgmma{title}", ("places",), DescriptorCase.of, ask, judge)


PARTS = (
    *map(_fragments, "DA"),
    *(
        _descriptors(
            dtype,
            f", {dtype}: the byte that is read for every element, by descriptors legal and odd",
            _ask,
            judge_descriptor,
        )
        for dtype in INPUTS
    ),
    _descriptors(
        "end",
        ": what ends with shared memory is read, what goes past it faults, nothing wraps around",
        _ask_at_the_end,
        judge_end,
    ),
)
"""D and A in registers, descriptors by the type of A, and those at the end of shared memory."""
