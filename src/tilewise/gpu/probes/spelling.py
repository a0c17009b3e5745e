"""Operands that the host writes, and what the words of D mean: the other half of the probe's kernel.

Operands lie in shared memory as PTX has them without a swizzle, K-major: core matrices of 8 rows of 16
bytes, the two of a group of rows 128 bytes apart, the groups 256.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tilewise.gpu.probes.instruction import ONE, THREADS, Instruction
from tilewise.hardware.limits import SHARED_BYTES
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.fragments import a_fragment, d_fragment
from tilewise.hardware.wgmma.instructions import Input, M
from tilewise.tables.build import table

Words = np.ndarray[Any, np.dtype[np.uint32]]
Bits = np.ndarray[Any, np.dtype[np.bool_]]
Integers = np.ndarray[Any, np.dtype[np.int64]]

BASE = 1024
"""The address at which the driver puts dynamic shared memory; the probe checks it."""

END = BASE + SHARED_BYTES
ROW_BYTES, GROUP, CORE = 32, 256, 128


@dataclass(frozen=True, slots=True)
class Job:
    """One multiplication: a descriptor of B, and a descriptor of A or the number of a row of registers."""

    b: int
    a: int = 0
    registers: int = 0


def packed(ones: Bits, dtype: str) -> Words:
    """Rows of K elements, each one or zero, as 32-bit words in the order of K."""
    bits = Input.of(dtype).dtype.bits
    kind = np.dtype(f"<u{max(bits, 8) // 8}")
    numbers = ones.astype(kind) * kind.type(ONE[dtype])
    cut: Words = (numbers if bits >= 8 else np.packbits(ones, axis=-1, bitorder="little")).view("<u4")
    return cut


def core_matrices(ones: Bits, dtype: str) -> Words:
    """Rows of one instruction's K as they lie without a swizzle: [..., rows, K] to [..., words]."""
    words = packed(ones, dtype)
    *outer, rows, _ = words.shape
    cut = words.reshape(*outer, rows // 8, 8, 2, 4)
    return np.ascontiguousarray(np.swapaxes(cut, -3, -2)).reshape(*outer, rows * ROW_BYTES // 4)


def canonical(start: int) -> int:
    """The descriptor of core matrices from `start` on."""
    return Descriptor(start=start, lbo=CORE, sbo=GROUP).value


def select_k(this: Instruction) -> tuple[Words, list[int]]:
    """B that picks columns of A, and from where on each of them lies.

    Row n of the s-th has a one at k = n + N s, and nothing else; the last may have rows of nothing.
    """
    starts = range(0, this.k, this.n)
    ones = np.eye(len(starts) * this.n, this.k, dtype=bool)
    return core_matrices(ones, this.b), [row * ROW_BYTES for row in starts]


def select_registers(this: Instruction) -> Words:
    """A in registers that picks rows of K: row m of the s-th has a one at k = m + 64 s."""
    many = -(-this.k // M)
    ones = np.zeros((many, M, this.k), bool)
    for s in range(many):
        m = np.arange(min(M, this.k))
        ones[s, m, m + M * s] = True
    return in_registers(ones, this.a)


def in_registers(ones: Bits, dtype: str) -> Words:
    """A [..., 64, K] as every thread holds it: [..., thread, four registers]."""
    thread, element = a_places(dtype)
    held = np.zeros((*ones.shape[:-2], THREADS, ones.shape[-2] * ones.shape[-1] // THREADS), bool)
    held[..., thread, element] = ones
    return packed(held, dtype)


@cache
def a_places(dtype: str) -> tuple[Integers, Integers]:
    """(thread, element) of A [64, K], as the catalogue has it."""
    return _places(a_fragment(dtype))


@cache
def d_places(dtype: str, n: int) -> tuple[Integers, Integers]:
    """(thread, element) of D [64, N], as the catalogue has it."""
    return _places(d_fragment(dtype, n))


def _places(layout: Any) -> tuple[Integers, Integers]:
    columns = table(layout).columns
    return 32 * columns["wid_in_wg"] + columns["laneid"], columns["reg"]


def of_d(words: Words, this: Instruction) -> Words:
    """Words of jobs [..., element, thread] as D [..., 64, N]."""
    thread, element = d_places(this.d, this.n)
    return words[..., element, thread]


def of_b(words: Words, this: Instruction) -> Words:
    """Words of the jobs of one descriptor of B, [..., select, element, thread], as B [..., N, K]."""
    spelt = of_d(words, this)[..., : min(M, this.k), :]
    *outer, many, rows, n = spelt.shape
    return np.swapaxes(spelt.reshape(*outer, many * rows, n), -1, -2)


def of_a(words: Words, this: Instruction) -> Words:
    """Words of the jobs of one descriptor of A, [..., select, element, thread], as A [..., 64, K]."""
    spelt = np.moveaxis(of_d(words, this), -3, -2)
    *outer, rows, many, n = spelt.shape
    return spelt.reshape(*outer, rows, many * n)[..., : this.k]


def indices(words: Words, this: Instruction) -> Integers:
    """The index of the element that each word spells, from address 0 on; -1 where none was read."""
    last = this.planes - 1
    clean = (words >> last) == 1
    return np.where(clean, (words & ((1 << last) - 1)).astype(np.int64), -1)


def launch(
    session: Any,
    kernel: Any,
    this: Instruction,
    jobs: Sequence[Job],
    *,
    planes: int,
    registers: Words | None = None,
    overlay: Words | None = None,
    at: int = BASE,
    blocks: int = 132,
) -> Words:
    """Run jobs and give the words of D: [job, element, thread].

    `registers` are [row, thread, 4], or [plane, row, thread, 4]; `overlay` is [words], or [plane, words], and
    lies from the address `at` on.
    """
    a, b = (np.array([getattr(job, name) for job in jobs], np.uint64) for name in ("a", "b"))
    rows = np.array([job.registers for job in jobs], np.uint32)
    held = np.zeros((1, THREADS, 4), np.uint32) if registers is None else registers
    laid = np.zeros(0, np.uint32) if overlay is None else overlay
    held_each = held.shape[1] if held.ndim == 4 else 0
    chunks = laid.shape[-1] // 4
    buffers = [session.upload(array) for array in (a, b, rows, held, laid)]
    out = session.empty(len(jobs) * this.elements * THREADS * 4)
    kernel(
        min(blocks, len(jobs)),
        THREADS,
        *buffers[:3],
        np.int32(len(jobs)),
        buffers[3],
        np.int32(held_each),
        buffers[4],
        np.int32(chunks),
        np.int32(chunks if laid.ndim == 2 else 0),
        np.uint32(at),
        np.int32(planes),
        np.int32(registers is not None),
        out,
    )
    words: Words = session.download(out, "<u4", (len(jobs), this.elements, THREADS))
    return words
