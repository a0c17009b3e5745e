"""The probe's kernel on the CPU: a warp that multiplies as the catalogue says that mma.sync does.

It knows the jobs from the kernel's text alone and shares no code with the host's half: what registers mean,
the CPU model of the engines says.
"""

from __future__ import annotations

import numpy as np

from tilewise.simulate.numbers import cut, decode
from tilewise.tables.build import table

RESULTS = {"s32": "<i4", "f16": "<f2", "f32": "<f4", "f64": "<f8"}


class Warp:
    """Stands where `Session` does; `kernel` gives what stands where a kernel does.

    `fragments` are the layouts of A, B, C and D, one for each product that the instruction computes;
    `expand` makes [product, M, K] of stored A and the words of metadata.
    """

    def upload(self, array):
        return np.ascontiguousarray(array)

    def empty(self, size):
        return np.zeros(size // 4, np.uint32)

    def download(self, buffer, dtype, shape):
        return buffer.view(dtype)[: int(np.prod(shape))].reshape(shape)

    def kernel(self, this, fragments, expand=lambda a, words: a):
        places = [places_of(every) for every in fragments]
        return lambda blocks, threads, *arguments: self._run(this, places, expand, *arguments)

    def _run(self, this, places, expand, a, b, c, metadata, jobs, count, out):
        at_a, at_b, at_c, at_d = places
        left, right, start = (numbers(words, held) for words, held in ((a, this.a), (b, this.b), (c, this.c)))
        out = out[: count * 32 * this.d.registers].reshape(count, -1)
        for job in range(count):
            row_a, row_b, row_c, row_m = jobs[job]
            full = expand(left[row_a][at_a], metadata[row_m])
            other = right[row_b][at_b]
            if this.opcode.endswith("xor.popc"):
                product = (full[..., :, None, :] != other[..., None, :, :]).sum(-1)
            else:
                product = full @ np.swapaxes(other, -1, -2)
            found = np.zeros(at_d.size, product.dtype)
            found[at_d] = product + start[row_c][at_c]
            out[job] = found.astype(RESULTS[this.d.dtype]).view("<u4")


def places_of(fragments):
    """[product, rows, columns]: E lane + element of every element, where a lane has E of all products."""
    each = sum(fragment.size for fragment in fragments) // 32
    return np.stack([one_product(fragment, each) for fragment in fragments])


def one_product(fragment, each):
    """[rows, columns]: the place of every element of one product."""
    rows, columns = map(size, fragment.shape)
    found = table(fragment).columns
    return (found["laneid"] * each + found["reg"]).reshape(rows, columns)


def size(mode):
    """The product of the extents of a mode."""
    return mode if isinstance(mode, int) else int(np.prod([size(part) for part in mode]))


def numbers(words, held):
    """[row, place]: what the elements of registers are."""
    lanes = np.ascontiguousarray(words).view("<u1").reshape(-1, 32 * held.registers * 4)
    return decode(cut(lanes, held.bits), held.dtype)
