"""The probe's kernel on the CPU, multiplying as the catalogue says that wgmma does.

It knows the planes, the overlay and the jobs from the kernel's text alone, and shares no code with the
host's half: memory is bytes, elements are cut out of them one at a time.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from tests.hardware.of_wgmma import addresses

from tilewise.gpu.verify.kernels import ONE
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.fragments import a_fragment, d_fragment
from tilewise.hardware.wgmma.instructions import Input
from tilewise.tables.build import table

BASE = 1024
SHARED, WINDOW = 227 * 1024, 1 << 18


class Emulator:
    """Stands where `Session` does; `kernel` gives what stands where a kernel does."""

    def __init__(self, reading=addresses):
        self.reading = reading

    def upload(self, array):
        return np.ascontiguousarray(array)

    def empty(self, size):
        return np.zeros(size // 4, np.uint32)

    def download(self, buffer, dtype, shape):
        return buffer.view(dtype)[: int(np.prod(shape))].reshape(shape)

    def kernel(self, this):
        return lambda blocks, threads, *arguments: self._run(this, *arguments)

    def _run(
        self, this, a, b, rows, jobs, held, held_each, laid, chunks, laid_each, at, planes, from_held, out
    ):
        out = out[: jobs * this.n // 2 * 128].reshape(jobs, this.n // 2, 128)
        out[:] = 0
        held, laid = held.reshape(-1, 128, 4), laid.reshape(-1)
        for plane in range(planes):
            memory = filled(plane, this.planes - 1, this.b if from_held else this.a).copy()
            overlay = laid[laid_each * 4 * plane :][: chunks * 4]
            memory[at // 4 : at // 4 + len(overlay)] = overlay
            for job in range(jobs):
                left = (
                    self._of_registers(this, held[held_each * plane + rows[job]])
                    if from_held
                    else self._of_memory(this, memory, int(a[job]), "A")
                )
                right = self._of_memory(this, memory, int(b[job]), "B")
                product = left @ right.T
                word = np.where(product == 1, 1 << plane, np.where(product == 0, 0, 1 << 31)).astype(
                    np.uint32
                )
                thread, element = places(d_fragment(this.d, this.n))
                out[job, element, thread] |= word

    def _of_registers(self, this, words):
        thread, element = places(a_fragment(this.a))
        each = 32 // this.bits
        return number(words[thread, element // each] >> (element % each * this.bits), this.a)

    def _of_memory(self, this, memory, descriptor, operand):
        dtype, major = (this.a, this.a_major) if operand == "A" else (this.b, this.b_major)
        byte = bytes_read(self.reading, descriptor, dtype, major, operand, this.n)
        column = np.arange(byte.shape[1])
        bit = 8 * byte + (column % 8 if this.bits == 1 else 0)
        assert byte.min() >= BASE
        assert byte.max() < BASE + SHARED
        return number(memory[bit // 32] >> (bit % 32), dtype)


@cache
def places(fragment):
    """(thread, element) of every element of a fragment."""
    columns = table(fragment).columns
    return 32 * columns["wid_in_wg"] + columns["laneid"], columns["reg"]


@cache
def bytes_read(reading, descriptor, dtype, major, operand, n):
    """The byte of every element, [rows, K]."""
    return np.array(reading(Descriptor.decode(descriptor), dtype=dtype, major=major, operand=operand, n=n))


@cache
def filled(plane: int, last: int, dtype: str):
    """Memory from address 0 on, as 32-bit words; nothing below the base."""
    bits = Input.of(dtype).dtype.bits
    each = 32 // bits
    index = np.arange(WINDOW // 4 * each).reshape(-1, each)
    on = np.ones_like(index) if plane >= last else index >> plane & 1
    memory = np.zeros(WINDOW // 4, np.uint32)
    for place in range(each):
        memory |= (on[:, place] * ONE[dtype] << bits * place).astype(np.uint32)
    memory[: BASE // 4] = 0
    memory[(BASE + SHARED) // 4 :] = 0
    return memory


def number(bits, dtype):
    """Zero or one, from the low bits of words."""
    width = Input.of(dtype).dtype.bits
    low = bits & np.uint32((1 << width) - 1)
    assert np.isin(low, (0, ONE[dtype])).all()
    return (low == ONE[dtype]).astype(np.int64)
