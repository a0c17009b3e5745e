"""What an mma.sync multiplies by what, and where the sum comes out, with no word on what a register means.

A place is an element of a lane: E lane + element, where a lane holds E. A has a number other than zero in
one place alone, and B spells its places bit by bit, one a plane, with one plane in which every place
has a number. So every place of D tells whether that place of A reaches it, and which place of B it was
multiplied by: for a product of M x N x K, each place of A has N such pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from tilewise.gpu.device import HOPPER, Gpu, find
from tilewise.gpu.launch import Kernel, Session
from tilewise.gpu.probes.instruction import ONE
from tilewise.gpu.probes.mma import Held, Probe, factor, source
from tilewise.gpu.probes.programs import compiled, loaded
from tilewise.hardware.limits import LANES

Words = np.ndarray[Any, np.dtype[np.uint32]]
Bits = np.ndarray[Any, np.dtype[np.bool_]]
Integers = np.ndarray[Any, np.dtype[np.int64]]

TOGETHER = 8
"""Kernels of one program."""

BLOCKS = 132 * 16
NOTHING, STRANGE = -1, -2
"""A place of D that is not reached, and one that holds what no single product gives."""

NO_METADATA = np.zeros((1, LANES), np.uint32)


class Products:
    """Kernels of some instructions, ready on a device."""

    def __init__(self, session: Session, kernels: Mapping[Probe, Kernel]) -> None:
        self._session, self._kernels = session, kernels

    @classmethod
    def of(
        cls, wanted: Iterable[Probe], *, gpu: Gpu | None = None, told: Callable[[int, int], None]
    ) -> Products:
        """Compile for Hopper and load; `told` hears how many programs are compiled, and of how many."""
        session = Session(gpu or find(capability=HOPPER))
        groups = programs(wanted)
        return cls(session, loaded(session, groups, compiled(groups, source, told)))

    def pairs(self, this: Probe, metadata: Words = NO_METADATA) -> Integers:
        """[words of metadata, place of A, place of D]: the place of B, NOTHING or STRANGE."""
        alone, spelling = one_by_one(this.a.places), planes(this.b.places)
        a = packed(np.concatenate([alone, nothing(this.a)]), this.a, *factor(this.a.dtype, "A")[:1])
        b = packed(spelling, this.b, *factor(this.b.dtype, "B")[:1])
        c = packed(nothing(this.c), this.c, 0)
        count, each = len(alone) + 1, len(spelling)
        which, plane = np.divmod(np.arange(count * each), each)
        found = []
        for row in range(len(metadata)):
            jobs = np.stack([which, plane, 0 * which, 0 * which + row], axis=1)
            out = self._launch(this, a, b, c, metadata, jobs).reshape(count, each, -1)
            found.append(spelt(out[:-1], out[-1], this))
        return np.stack(found)

    def passed(self, this: Probe) -> Integers:
        """[place of D]: the place of C whose number comes out there, where nothing is multiplied."""
        a = packed(nothing(this.a), this.a, 0)
        b = packed(nothing(this.b), this.b, 0)
        spelling = planes(this.c.places)
        c = packed(np.concatenate([spelling, nothing(this.c)]), this.c, ONE[this.c.dtype])
        jobs = np.zeros((len(spelling) + 1, 4), int)
        jobs[:, 2] = np.arange(len(jobs))
        out = self._launch(this, a, b, c, NO_METADATA, jobs)
        return _read(out[:-1] - out[-1] == 1, out[:-1] == out[-1])

    def _launch(self, this: Probe, *operands: Any) -> Any:
        """D's numbers of jobs, [job, place]."""
        *held, jobs = operands
        session = self._session
        buffers = [session.upload(np.asarray(array, np.uint32)) for array in held]
        buffers.append(session.upload(np.asarray(jobs, np.int32)))
        shape = (len(jobs), LANES, this.d.registers)
        out = session.empty(4 * int(np.prod(shape)))
        self._kernels[this](min(BLOCKS, len(jobs)), LANES, *buffers, np.int32(len(jobs)), out)
        return numbers(session.download(out, "<u4", shape), this.d)


def programs(wanted: Iterable[Probe]) -> list[tuple[Probe, ...]]:
    """Instructions in groups of one program each."""
    every = sorted(set(wanted), key=lambda this: this.kernel)
    return [tuple(every[at : at + TOGETHER]) for at in range(0, len(every), TOGETHER)]


# -- operands as words, and words as numbers -------------------------------------------------------


def one_by_one(places: int) -> Bits:
    """[place, place]: each place alone."""
    return np.eye(places, dtype=bool)


def nothing(held: Held) -> Bits:
    """[1, place]: none."""
    return np.zeros((1, held.places), bool)


def planes(places: int) -> Bits:
    """[plane, place]: a plane for each bit of a place's number, and one that has every place."""
    number = np.arange(places)
    bits = (places - 1).bit_length()
    return np.stack([number >> bit & 1 == 1 for bit in range(bits)] + [number >= 0])


def packed(ones: Bits, held: Held, value: int) -> Words:
    """Rows of places, each with a value or zero, as registers: [row, lane, register].

    A lane's elements fill its registers in their order, from the low bits on.
    """
    each = max(1, 8 // held.bits)
    kind = np.dtype(f"<u{max(held.bits, 8) // 8}")
    wide = ones.reshape(len(ones), -1, each).astype(kind) * kind.type(value)
    for place in range(1, each):
        wide[..., 0] |= wide[..., place] << kind.type(place * held.bits)
    words: Words = np.ascontiguousarray(wide[..., 0]).view("<u4")
    return words.reshape(len(ones), LANES, held.registers)


def numbers(words: Words, held: Held) -> Any:
    """What registers of D [job, lane, register] hold, as numbers [job, place]."""
    kind = {"s32": "<i4", "f16": "<f2", "f32": "<f4", "f64": "<f8"}[held.dtype]
    found = np.ascontiguousarray(words).view(kind).reshape(len(words), -1)
    return found.astype(np.int64) if held.dtype == "s32" else found.astype(np.float64)


def spelt(out: Any, background: Any, this: Probe) -> Integers:
    """[place of A, place of D]: the place of B that numbers [place of A, plane, place of D] spell.

    `background` has what comes out where A has no number at all, [plane, place of D].
    """
    change = out - background
    if this.differs:
        # A's bit alone: a one of B goes with it, and a zero of B no longer
        return _read_planes(change == -1, np.where(change[:, -1:] == 0, change == 0, change == 1))
    product = factor(this.a.dtype, "A")[1] * factor(this.b.dtype, "B")[1]
    return _read_planes(change == product, change == 0)


def _read_planes(one: Bits, zero: Bits) -> Integers:
    return np.stack([_read(*pair) for pair in zip(one, zero, strict=True)])


def _read(one: Bits, zero: Bits) -> Integers:
    """[place]: the number that planes [plane, place] spell, the last of them there for every number."""
    bits = len(one) - 1
    weights = 1 << np.arange(bits, dtype=np.int64)
    spelled = (one[:bits] * weights[:, None]).sum(axis=0)
    clean = (one | zero).all(axis=0) & (one[-1] | ~one.any(axis=0))
    return np.where(clean, np.where(one[-1], spelled, NOTHING), STRANGE)
