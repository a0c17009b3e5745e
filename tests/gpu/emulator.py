"""The probe's kernel on the CPU, multiplying as the catalogue says that wgmma does.

It knows the planes, the overlay and the jobs from the kernel's text alone, and shares no code with the
host's half: memory is bytes, elements are cut out of them one at a time.
"""

from __future__ import annotations

import numpy as np

from tilewise.gpu.probes.instruction import ONE, SHARED, Instruction
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.fragments import a_fragment, d_fragment
from tilewise.hardware.wgmma.instructions import Input
from tilewise.hardware.wgmma.reads import addresses
from tilewise.tables.build import table

BASE = 1024
WINDOW = 1 << 18


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
            memory = filled(this, plane, this.b if from_held else this.a)
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
                columns = table(d_fragment(this.d, this.n)).columns
                out[job, columns["reg"], 32 * columns["wid_in_wg"] + columns["laneid"]] |= word

    def _of_registers(self, this, words):
        columns = table(a_fragment(this.a)).columns
        thread, element = 32 * columns["wid_in_wg"] + columns["laneid"], columns["reg"]
        each = 32 // this.bits
        return number(words[thread, element // each] >> (element % each * this.bits), this.a)

    def _of_memory(self, this, memory, descriptor, operand):
        dtype, major = (this.a, this.a_major) if operand == "A" else (this.b, this.b_major)
        byte = np.array(
            self.reading(Descriptor.decode(descriptor), dtype=dtype, major=major, operand=operand, n=this.n)
        )
        column = np.arange(byte.shape[1])
        bit = 8 * byte + (column % 8 if this.bits == 1 else 0)
        assert byte.min() >= BASE
        assert byte.max() < BASE + SHARED
        return number(memory[bit // 32] >> (bit % 32), dtype)


def filled(this: Instruction, plane: int, dtype: str):
    """Memory from address 0 on, as 32-bit words; nothing below the base."""
    each = 32 // this.bits
    index = np.arange(WINDOW // 4 * each).reshape(-1, each)
    on = np.ones_like(index) if plane >= this.planes - 1 else index >> plane & 1
    memory = np.zeros(WINDOW // 4, np.uint32)
    for place in range(each):
        memory |= (on[:, place] * ONE[dtype] << this.bits * place).astype(np.uint32)
    memory[: BASE // 4] = 0
    memory[(BASE + SHARED) // 4 :] = 0
    return memory


def number(bits, dtype):
    """Zero or one, from the low bits of words."""
    width = Input.of(dtype).dtype.bits
    low = bits & np.uint32((1 << width) - 1)
    assert np.isin(low, (0, ONE[dtype])).all()
    return (low == ONE[dtype]).astype(np.int64)
