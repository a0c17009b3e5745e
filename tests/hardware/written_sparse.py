"""Sparse mma as the PTX manual (9.2, sections 9.7.14.6.1 and 2) writes it, and as an instruction would do it.

A formula of A gives, for an element i of a lane, its row and the columns [first, last] of A among which it
is: group is the lane divided by 4, t the rest. The figures of the metadata are written as formulas of
(row, index) -> (lane, lowest bit). `machine` is an mma.sp that reads registers by these formulas alone.
"""

from collections.abc import Callable
from dataclasses import dataclass

# -- 9.7.14.6.2.1 to 8: A ---------------------------------------------------------------------------


def a_16816_16bit(group, t, i):
    return group if i in (0, 1) else group + 8, t * 4, t * 4 + 3


def a_16832_16bit(group, t, i):
    first = t * 4 if i < 4 else t * 4 + 16
    return group if 0 <= i < 2 or 4 <= i < 6 else group + 8, first, first + 3


def a_16816_tf32(group, t, i):
    first = t * 2 if i in (0, 1) else t * 2 + 8
    return group if i in (0, 2) else group + 8, first, first + 1


def a_1688_tf32(group, t, i):
    return group if i == 0 else group + 8, t * 2, t * 2 + 1


def a_16832_8bit(group, t, i):
    return group if 0 <= i < 4 else group + 8, t * 8, t * 8 + 7


def a_16864_8bit(group, t, i):
    first = t * 8 if i < 8 else t * 8 + 32
    return group if 0 <= i < 4 or 8 <= i < 12 else group + 8, first, first + 7


def a_16864_4bit(group, t, i):
    return group if 0 <= i < 8 else group + 8, t * 16, t * 16 + 15


def a_168128_4bit(group, t, i):
    first = t * 16 if i < 16 else t * 16 + 64
    return group if 0 <= i < 8 or 16 <= i < 24 else group + 8, first, first + 15


# -- the figures of B, whose row is along K -----------------------------------------------------------


def b_neighbours(each):
    """All figures of B: a register has `each` neighbours of a column, the next one those 4 `each` further."""
    return lambda group, t, i: (each * t + i % each + 4 * each * (i // each), group)


def d_168(group, t, i):
    return group if i < 2 else group + 8, t * 2 + (i & 1)


# -- the figures of the metadata ----------------------------------------------------------------------


def e_one(row, index, selector):
    return 4 * (row % 8) + selector, 16 * (row // 8) + 2 * index


def e_pair_for_wide(row, index, selector):
    return 4 * (row % 8) + 2 * selector + index // 8, 16 * (row // 8) + 2 * (index % 8)


def e_pair_for_narrow(row, index, selector):
    return 4 * (row % 8) + 2 * selector + row // 8, 2 * index


def e_all(row, index, selector):
    return 4 * (row % 8) + row // 8 + 2 * (index // 16), 2 * (index % 16)


@dataclass(frozen=True)
class Written:
    """The manual's numbers for a shape and types."""

    k: int
    each: int
    """Elements of a 32-bit register."""
    chunk: int
    a: Callable
    e: Callable
    selectors: tuple[int, ...]

    @property
    def b(self):
        return b_neighbours(self.each)


_ALL8 = ("s8", "u8", "e4m3", "e5m2")
WRITTEN = {
    **{("m16n8k16", name): Written(16, 2, 4, a_16816_16bit, e_one, (0, 1, 2, 3)) for name in ("f16", "bf16")},
    **{
        ("m16n8k32", name): Written(32, 2, 4, a_16832_16bit, e_pair_for_wide, (0, 1))
        for name in ("f16", "bf16")
    },
    ("m16n8k8", "tf32"): Written(8, 1, 2, a_1688_tf32, e_one, (0, 1, 2, 3)),
    ("m16n8k16", "tf32"): Written(16, 1, 2, a_16816_tf32, e_pair_for_wide, (0, 1)),
    **{
        ("m16n8k32", name): Written(32, 4, 4, a_16832_8bit, e_pair_for_narrow, (0, 1))
        for name in ("s8", "u8")
    },
    **{
        ("m16n8k64", name): Written(64, 4, 4, a_16864_8bit, e_all, (0,))
        for name in (*_ALL8, "e3m2", "e2m3", "e2m1")
    },
    **{
        ("m16n8k64", name): Written(64, 8, 8, a_16864_4bit, e_pair_for_narrow, (0, 1))
        for name in ("s4", "u4")
    },
    **{("m16n8k128", name): Written(128, 8, 8, a_168128_4bit, e_all, (0,)) for name in ("s4", "u4", "e2m1")},
}
"""{(shape, type of A): what is written}."""


def indices_of(chunk, number):
    """Return the indices of a row that say where its stored element of a number is."""
    return {2: (2 * number, 2 * number + 1), 4: (number,), 8: (number // 2,)}[chunk]


def column(chunk, number, indices):
    """The column of a stored element of a row, by section 9.7.14.6.1, from the indices that are its own."""
    if chunk == 2:
        return 2 * number + {(0, 1): 0, (2, 3): 1}[tuple(indices)]
    if chunk == 4:
        return 4 * (number // 2) + indices[0]
    return 8 * (number // 4) + 2 * indices[0] + number % 2


def machine(this, selector, a, b, e):
    """D of an mma.sp, {(row, column): sum}, from each lane's elements of A and of B and its metadata."""
    columns, factors = {}, {}
    for lane in range(32):
        group, t = divmod(lane, 4)
        for i, value in enumerate(b[lane]):
            row, n = this.b(group, t, i)
            factors[row, n] = value
        for i, value in enumerate(a[lane]):
            row, first, last = this.a(group, t, i)
            number = first // 2 + i % this.each
            said = []
            for index in indices_of(this.chunk, number):
                supplier, bit = this.e(row, index, selector)
                said.append(e[supplier] >> bit & 3)
            at = column(this.chunk, number, said)
            assert first <= at <= last
            columns[row, at] = value
    return {
        (m, n): sum(columns.get((m, k), 0) * factors[k, n] for k in range(this.k))
        for m in range(16)
        for n in range(8)
    }
