"""Which element each place of a thread holds, as the hardware has it: D, and A in registers."""

from __future__ import annotations

import numpy as np

from tilewise.gpu.probes.bench import ROW_BITS, Bench
from tilewise.gpu.probes.instruction import THREADS, Instruction
from tilewise.gpu.probes.spelling import Integers
from tilewise.hardware.wgmma.instructions import INPUTS, M

NOBODY = -1
"""Where a place does not hold one element, or none."""


def instructions() -> list[Instruction]:
    """Every dense wgmma with both operands K-major: all types, all accumulators, all legal N.

    >>> len(instructions()), len({(i.a, i.b, i.d) for i in instructions()})
    (474, 17)
    """
    return [
        Instruction(a.name, b, d, n)
        for a in INPUTS.values()
        for b in a.partners
        for d in a.accumulators
        for n in a.n
    ]


def owned_of_d(bench: Bench, this: Instruction) -> Integers:
    """The flat index in D [64, N] that each place holds, places in the order thread, element."""
    words = bench.d(this).astype(np.int64)
    code = words ^ 1 << ROW_BITS + 8
    m, n = code & (1 << ROW_BITS) - 1, code >> ROW_BITS
    return np.where((n >= 0) & (n < this.n), m * this.n + n, NOBODY).ravel()


def owned_of_a(bench: Bench, this: Instruction) -> Integers:
    """The flat index in A [64, K] that each place holds, places in the order thread, element.

    Read through D, whose places are taken from the catalogue: they are asked for first.
    """
    size = M * this.k
    words = bench.a_registers(this).astype(np.int64).ravel()
    place = words ^ 1 << (size - 1).bit_length()
    owned = np.full(size, NOBODY, np.int64)
    clean = (place >= 0) & (place < size)
    owned[place[clean]] = np.flatnonzero(clean)
    assert size % THREADS == 0
    return owned
