"""Descriptors at the end of shared memory and past it: read, or ended by a fault.

A fault takes the process with it, so each descriptor is asked in a process of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

from tilewise.gpu.probes.bench import Bench
from tilewise.gpu.probes.descriptors import MIDDLE, Case, expected, read
from tilewise.gpu.probes.instruction import Instruction
from tilewise.gpu.probes.spelling import END, Integers
from tilewise.hardware.modes import CHUNK, MODES
from tilewise.hardware.wgmma.descriptor import LIMIT, Descriptor

FAULT = "ILLEGAL_ADDRESS"


def cases() -> list[Case]:
    """Operands that end where shared memory does, that go past its end, and strides that would come back if
    sums were taken modulo 2^18."""
    k_major = Instruction("f16", "f16", "f32", 16)
    mn_major = Instruction("f16", "f16", "f32", 128, "k", "mn")
    asked = [(k_major, mode) for mode in MODES.values()]
    asked += [(mn_major, MODES[name]) for name in ("none", "128B")]
    return [case for this, mode in asked for case in _cases(Case(this, "B", Descriptor(mode=mode)))]


def ask(asked: Sequence[Case], told: Callable[[int], None]) -> list[Integers | None]:
    """What each case reads, [rows, K]; None where it faults. `told` hears how many cases are done."""
    found: list[Integers | None] = []
    for case in asked:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_quiet) as worker:
            found.append(worker.submit(_read, case).result())
        told(len(found))
    return found


def _cases(empty: Case) -> Iterator[Case]:
    plain = Descriptor(start=MIDDLE, lbo=1024, sbo=2048, mode=empty.descriptor.mode)
    bits = empty.instruction.bits
    length = (int(expected(replace(empty, descriptor=plain)).max()) + 1) * bits // 8 - MIDDLE
    last = (END - length) // plain.mode.period * plain.mode.period
    for descriptor in (
        replace(plain, start=last),
        replace(plain, start=last + max(plain.mode.period, CHUNK)),
        replace(plain, start=END),
        replace(plain, start=LIMIT - 1024),
        replace(plain, lbo=LIMIT - 1024),
        replace(plain, sbo=LIMIT - 1024),
    ):
        yield replace(empty, descriptor=descriptor)


def _read(case: Case) -> Integers | None:
    try:
        (found,) = read(Bench.of([case.instruction], told=_nothing), [case], _nothing)
    except Exception as error:  # the binding's own kind, of which the name is all that is of use
        if FAULT in str(error):
            return None
        raise RuntimeError(f"{type(error).__name__}: {error}") from None
    return found


def _nothing(*count: int) -> None:
    """Nobody listens."""


def _quiet() -> None:
    """A context that is lost says so for each of its buffers, to no one's use."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
