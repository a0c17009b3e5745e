"""Descriptors at the end of shared memory and past it: read, or ended by a fault.

A fault takes the process with it, so each descriptor is asked in a process of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tilewise.gpu.probes.alone import FAULTS, alone, fault_of
from tilewise.gpu.probes.bench import Bench
from tilewise.gpu.probes.descriptors import MIDDLE, Case, expected, read
from tilewise.gpu.probes.instruction import Instruction
from tilewise.gpu.probes.spelling import END, Integers
from tilewise.hardware.modes import CHUNK, MODES, ROWS
from tilewise.hardware.wgmma.descriptor import LIMIT, Descriptor

OUTSIDE = 700
"""The CUresult of an address that no block has."""

INSIDE, PART, WHOLE = "inside", "past with a part of a core matrix", "past with a whole core matrix"


def cases() -> list[Case]:
    """Operands that end where shared memory does, that go past its end row by row, and strides that would
    come back if sums were taken modulo 2^18."""
    k_major = Instruction("f16", "f16", "f32", 16)
    mn_major = Instruction("f16", "f16", "f32", 128, "k", "mn")
    asked = [(k_major, mode) for mode in MODES.values()]
    asked += [(mn_major, MODES[name]) for name in ("none", "128B")]
    return [case for this, mode in asked for case in _cases(Case(this, "B", Descriptor(mode=mode)))]


def reach(case: Case) -> str:
    """How far an operand goes: INSIDE, past the end with a PART of a core matrix, or with a WHOLE one."""
    past = expected(case) * case.instruction.bits // 8 >= END
    each = CHUNK * 8 // case.instruction.bits
    deep, wide = (ROWS, each) if case.major == "k" else (each, ROWS)
    rows, columns = past.shape
    whole = past.reshape(rows // deep, deep, columns // wide, wide).all(axis=(1, 3))
    return WHOLE if whole.any() else PART if past.any() else INSIDE


def ask(asked: Sequence[Case], told: Callable[[int], None]) -> list[Integers | None]:
    """What each case reads, [rows, K]; None where it faults. `told` hears how many cases are done."""
    return alone(_read, asked, lambda done, total: told(done))


def _cases(empty: Case) -> Iterator[Case]:
    plain = Descriptor(start=MIDDLE, lbo=1024, sbo=2048, mode=empty.descriptor.mode)
    bits = empty.instruction.bits
    length = (int(expected(replace(empty, descriptor=plain)).max()) + 1) * bits // 8 - MIDDLE
    last = (END - length) // plain.mode.period * plain.mode.period
    for descriptor in (
        *(replace(plain, start=last + row * plain.mode.width) for row in range(ROWS + 1)),
        replace(plain, start=END),
        replace(plain, start=LIMIT - 1024),
        replace(plain, lbo=LIMIT - 1024),
        replace(plain, sbo=LIMIT - 1024),
    ):
        yield replace(empty, descriptor=descriptor)


def _read(case: Case) -> Integers | None:
    try:
        (found,) = read(Bench.of([case.instruction], told=_nothing), [case], _nothing)
    except Exception as error:  # of the binding's own kind
        result = fault_of(error)
        if result != OUTSIDE:
            raise RuntimeError(f"it ends with {FAULTS[result]}") from None
        return None
    return found


def _nothing(*count: int) -> None:
    """Nobody listens."""
