"""Other models of a tensor core's work with a descriptor, which the record has to tell from ours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

BASE_UNIT = 128


def sums(case, *, lbo_k_major=False, base=0):
    """The byte of every element before a swizzle, from `base` on: [rows, K]."""
    d, this = case.descriptor, case.instruction
    rows = np.arange(64 if case.operand == "A" else this.n)[:, None]
    k = np.arange(this.k)[None, :]
    width, size = d.mode.width, this.bits / 8
    if case.major == "k":
        byte = (k * size).astype(np.int64)
        across = byte // 16 * (16 if d.mode.bits and not lbo_k_major else d.lbo) + byte % 16
        return base + rows // 8 * d.sbo + rows % 8 * width + across
    byte = (rows * size).astype(np.int64)
    if not d.mode.bits:
        return base + byte // 16 * d.sbo + byte % 16 + k // 8 * d.lbo + k % 8 * 16
    return base + byte // width * d.lbo + byte % width + k // 8 * d.sbo + k % 8 * width


def swizzled(address, bits):
    """Bits 4 and up XORed with as many from bit 7 on."""
    return address ^ (address >> 3 & ((1 << bits) - 1) << 4)


def ours(case):
    d = case.descriptor
    moved = BASE_UNIT * d.base_offset if d.mode.bits else 0
    return swizzled(sums(case, base=d.start) - moved, d.mode.bits) + moved


def without_base_offset(case):
    return swizzled(sums(case, base=case.descriptor.start), case.descriptor.mode.bits)


def base_offset_added(case):
    d = case.descriptor
    moved = BASE_UNIT * d.base_offset if d.mode.bits else 0
    return swizzled(sums(case, base=d.start) + moved, d.mode.bits) - moved


def base_offset_xored(case):
    """The base offset XORed into the row that the swizzle takes, not subtracted from it."""
    d = case.descriptor
    address = sums(case, base=d.start)
    row = (address >> 7 ^ d.base_offset) & (1 << d.mode.bits) - 1
    return address ^ row << 4


def base_offset_without_a_swizzle(case):
    d = case.descriptor
    return ours(case) + (0 if d.mode.bits else BASE_UNIT * d.base_offset)


def swizzle_from_the_start(case):
    """The swizzle acts on the way from the start, and not on the address."""
    d = case.descriptor
    return d.start + swizzled(sums(case), d.mode.bits)


def swizzle_from_the_pattern(case):
    """The start's place in its pattern is added after the swizzle."""
    d = case.descriptor
    inside = d.start % d.mode.width
    return inside + swizzled(sums(case, base=d.start - inside), d.mode.bits)


def start_ored(case):
    """The start is or-ed in, without carries."""
    d = case.descriptor
    return swizzled(d.start | sums(case), d.mode.bits)


def lbo_read(case):
    """K-major with a swizzle goes from chunk to chunk by LBO."""
    d = case.descriptor
    moved = BASE_UNIT * d.base_offset if d.mode.bits else 0
    return swizzled(sums(case, base=d.start, lbo_k_major=True) - moved, d.mode.bits) + moved


def strides_swapped(case):
    d = case.descriptor
    return ours(replace(case, descriptor=replace(d, lbo=d.sbo, sbo=d.lbo)))


RIVALS = [
    without_base_offset,
    base_offset_added,
    base_offset_xored,
    base_offset_without_a_swizzle,
    swizzle_from_the_start,
    swizzle_from_the_pattern,
    start_ored,
    lbo_read,
    strides_swapped,
]
