"""Instructions made ready on a device, and what is asked of them.

D first: its rows and columns are known by the operands' own, which lie in memory in the plainest way that
PTX has. Then A in registers, and what descriptors read, by where it shows in D. What a row or a column is
called is settled by that plainest way; everything else is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from tilewise.gpu.device import HOPPER, Gpu, find
from tilewise.gpu.launch import Kernel, Session
from tilewise.gpu.probes.instruction import THREADS, Instruction, source
from tilewise.gpu.probes.programs import compiled, loaded
from tilewise.gpu.probes.spelling import (
    BASE,
    END,
    ROW_BYTES,
    Job,
    Words,
    canonical,
    core_matrices,
    launch,
    of_a,
    of_b,
    packed,
    select_k,
    select_registers,
)
from tilewise.hardware.limits import SHARED_BYTES
from tilewise.hardware.wgmma.instructions import M

TOGETHER = 4
"""Kernels of one program: few enough that all cores have work, enough that none starts for nothing."""

AREA = END - 16 * 1024
"""Where B lies that picks columns of A: above all that descriptors of A are asked to read."""

ROW_BITS, COLUMN_BITS = 6, 8


class Bench:
    """Kernels of some instructions, ready on a device."""

    def __init__(self, session: Session, kernels: Mapping[Instruction, Kernel]) -> None:
        self._session, self._kernels = session, kernels

    @classmethod
    def of(
        cls, wanted: Iterable[Instruction], *, gpu: Gpu | None = None, told: Callable[[int, int], None]
    ) -> Bench:
        """Compile for Hopper and load; `told` hears how many programs are compiled, and of how many."""
        session = Session(gpu or find(capability=HOPPER))
        groups = programs(wanted)
        codes = compiled(groups, source, told)
        _check_memory(session, codes[0])
        return cls(session, loaded(session, groups, codes, shared=SHARED_BYTES))

    def d(self, this: Instruction) -> Words:
        """[thread, element]: m + 64 n of what each element of D is the product of, with bit 14 set.

        Row m of A and row n of B hold a bit of their code, at k = 0 alone: B is one there in the planes of
        m, and A in the planes of n.
        """
        codes = ROW_BITS + COLUMN_BITS
        a, b = np.zeros((codes + 1, M, this.k), bool), np.zeros((codes + 1, this.n, this.k), bool)
        a[..., 0], b[..., 0] = True, True
        for bit in range(ROW_BITS):
            a[bit, :, 0] = np.arange(M) >> bit & 1
        for bit in range(COLUMN_BITS):
            b[ROW_BITS + bit, :, 0] = np.arange(this.n) >> bit & 1
        overlay = np.concatenate([core_matrices(a, this.a), core_matrices(b, this.b)], axis=-1)
        jobs = [Job(canonical(BASE + M * ROW_BYTES), a=canonical(BASE))]
        words: Words = self._launch(this, jobs, planes=codes + 1, overlay=overlay)[0].T
        return words

    def a_registers(self, this: Instruction) -> Words:
        """[64, K]: element + E thread of the place that acts as A[m, k], with the bit above them all set.

        A thread holds E elements.
        """
        each = M * this.k // THREADS
        code = np.arange(THREADS * each).reshape(THREADS, each)
        bits = (code.size - 1).bit_length()
        held = np.stack([code >> bit & 1 == 1 for bit in range(bits)] + [code >= 0])
        overlay, starts = select_k(this)
        jobs = [Job(canonical(AREA + start)) for start in starts]
        registers = packed(held, this.a)[:, None]
        return of_a(
            self._launch(this, jobs, planes=bits + 1, registers=registers, overlay=overlay, at=AREA), this
        )

    def reads(self, this: Instruction, operand: str, descriptors: Sequence[int]) -> Words:
        """[descriptor, rows, K]: the words of the elements that each descriptor has the operand read."""
        if operand == "A":
            overlay, starts = select_k(this)
            jobs = [Job(canonical(AREA + start), a=value) for value in descriptors for start in starts]
            words = self._launch(this, jobs, planes=this.planes, overlay=overlay, at=AREA)
            return of_a(words.reshape(len(descriptors), len(starts), *words.shape[1:]), this)
        picks = select_registers(this)
        jobs = [Job(value, registers=row) for value in descriptors for row in range(len(picks))]
        words = self._launch(this, jobs, planes=this.planes, registers=picks)
        return of_b(words.reshape(len(descriptors), len(picks), *words.shape[1:]), this)

    def _launch(
        self,
        this: Instruction,
        jobs: Sequence[Job],
        *,
        planes: int,
        registers: Words | None = None,
        overlay: Words | None = None,
        at: int = BASE,
    ) -> Words:
        kernel = self._kernels[this]
        return launch(
            self._session, kernel, this, jobs, planes=planes, registers=registers, overlay=overlay, at=at
        )


def programs(wanted: Iterable[Instruction]) -> list[tuple[Instruction, ...]]:
    """Instructions in groups of one program each, the longest to compile first."""
    kinds: dict[tuple[str, ...], list[Instruction]] = {}
    for this in sorted(set(wanted), key=lambda this: (this.kernel, this.n)):
        kinds.setdefault((this.a, this.b, this.d), []).append(this)
    groups = [
        tuple(kind[at : at + TOGETHER]) for kind in kinds.values() for at in range(0, len(kind), TOGETHER)
    ]
    return sorted(groups, key=lambda group: -sum(this.n for this in group))


def _check_memory(session: Session, code: bytes) -> None:
    """The probe knows its addresses from where shared memory begins: it has to be where they think."""
    kernel = session.kernel(code, "shared_memory", shared=SHARED_BYTES)
    out = session.empty(8)
    kernel(1, 1, out)
    found = session.download(out, "<u4", (2,)).tolist()
    if found != [BASE, SHARED_BYTES]:
        wanted = f"{BASE}, {SHARED_BYTES}"
        raise RuntimeError(f"shared memory begins at {found[0]} with {found[1]} bytes, not {wanted}")
