"""Questions to wgmma: every instruction, and descriptors to read operands by.

Descriptors are legal ones as kernels have them, and odd ones that no kernel should. They are drawn with a
seed, cell by cell, so that every type, operand, major and mode has as many, inside the shared memory of
a block. Those of `descriptors.end` end with it or go past it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, partial
from itertools import product
from typing import Any

from tilewise.gpu.verify.part import Questions
from tilewise.gpu.verify.wgmma import AREA, BASE, END, DescriptorCase, WgmmaProbe, expected
from tilewise.hardware.modes import CHUNK, MODES, ROWS, Mode
from tilewise.hardware.operands.template import LIMIT, OPERANDS
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.instructions import INPUTS


def instructions() -> list[WgmmaProbe]:
    """Return every dense wgmma with both operands K-major: every type, accumulator and legal N.

    >>> len(instructions()), len({(i.a, i.b, i.d) for i in instructions()})
    (474, 17)
    """
    return [
        WgmmaProbe(a.name, b, d, n)
        for a in INPUTS.values()
        for b in a.partners
        for d in a.accumulators
        for n in a.n
    ]


SEED = 20_261
LEGAL, ODD, RESERVED = 14, 48, 2
"""Descriptors of a cell; the last have bits set that no field has."""

MIDDLE = 64 * 1024
"""Odd descriptors start about here, so that what they read stays inside."""

SOME_N = (8, 16, 24, 40, 64, 72, 96, 128, 160, 256)
"""N of the MN-major instructions with some types and operands; with f16 it is every N."""

KINDS = [
    *((name, name, d) for name in INPUTS for d in INPUTS[name].accumulators),
    ("e4m3", "e5m2", "f32"),
    ("s8", "u8", "s32"),
]
"""Types of A, B and D."""


@cache
def drawn(seed: int = SEED) -> tuple[DescriptorCase, ...]:
    """Return all descriptors, the same for the same seed."""
    dice = random.Random(seed)
    cases: list[DescriptorCase] = []
    for kind, operand, mode in product(KINDS, OPERANDS, MODES.values()):
        for major in INPUTS[kind[0]].majors:
            for number in range(LEGAL + ODD + RESERVED):
                cases.append(_drawn(dice, kind, operand, major, mode, number))
    return tuple(cases)


def asked(dtype: str) -> list[DescriptorCase]:
    """Return the cases of the instructions whose A has a type."""
    return [case for case in drawn() if case.instruction.a == dtype]


def _drawn(
    dice: random.Random, kind: tuple[str, str, str], operand: str, major: str, mode: Mode, number: int
) -> DescriptorCase:
    """Return a legal descriptor, an odd one, or a legal one with reserved bits, by its number in the cell."""
    every = major == "k" or (operand == "B" and kind == ("f16", "f16", "f32"))
    majors = (major, "k") if operand == "A" else ("k", major)
    while True:
        this = WgmmaProbe(*kind, dice.choice(INPUTS[kind[0]].n if every else SOME_N), *majors)
        draw = _odd if LEGAL <= number < LEGAL + ODD else _legal
        bits = Descriptor.reserved_bits(dice.getrandbits(64)) if number >= LEGAL + ODD else []
        reserved = sum(1 << bit for bit in bits)
        empty = DescriptorCase(this, operand, Descriptor(mode=mode), reserved)
        case = replace(empty, descriptor=draw(dice, empty))
        if _inside(case):
            return case


def _legal(dice: random.Random, empty: DescriptorCase) -> Descriptor:
    """Return a step of K in a tile of atoms, in either order of atoms, anywhere that is aligned."""
    mode = empty.descriptor.mode
    deep = dice.choice((1, 2, 4))
    atom = ROWS * mode.width
    start = BASE + mode.period * dice.randrange(256 * 64 // mode.period)
    step = dice.randrange(mode.width // 32) * 32 if mode.bits else 0
    if empty.major == "k" and mode.bits:
        return Descriptor(start + step, CHUNK, atom * dice.choice((1, deep)), mode)
    if empty.major == "k":
        down_first = dice.choice((True, False))
        lbo, sbo = (atom * empty.rows // ROWS, atom) if down_first else (atom, atom * 2 * deep)
        return Descriptor(start, lbo, sbo, mode)
    atoms = -(-empty.rows // mode.elements(empty.instruction.a))
    near, far = atom, atom * atoms
    sbo, lbo = (far, near) if dice.choice((True, False)) else (near, atom * 2 * deep)
    return Descriptor(start, lbo, sbo, mode) if mode.bits else Descriptor(start, sbo, lbo, mode)


def _odd(dice: random.Random, empty: DescriptorCase) -> Descriptor:
    """Return any start, any strides, any base offset; or a legal one with one field changed."""
    top = dice.choice((8, 16, 64, 256, 1024))
    odd = Descriptor(
        start=MIDDLE + CHUNK * dice.randrange(dice.choice((64, 2048))),
        lbo=CHUNK * dice.randrange(top),
        sbo=CHUNK * dice.randrange(top),
        mode=empty.descriptor.mode,
        base_offset=dice.randrange(8),
    )
    kind = dice.randrange(6)
    if kind < 2:
        legal = _legal(dice, empty)
        field = dice.choice(("start", "lbo", "sbo", "base_offset"))
        return replace(legal, **{field: getattr(odd, field)})
    return replace(odd, base_offset=0) if kind < 4 else odd


def _inside(case: DescriptorCase) -> bool:
    """Return whether all that is read lies where the probe put it; a swizzle stays in its row of the atom."""
    d = case.descriptor
    groups, width = case.rows // ROWS - 1, d.mode.width
    if case.major == "k":
        last = groups * d.sbo + (ROWS - 1) * width + (CHUNK if d.mode.bits else d.lbo)
    elif d.mode.bits:
        across, along = divmod(case.rows // case.chunk - 1, d.mode.chunks)
        last = across * d.lbo + CHUNK * (d.mode.chunks - 1 if across else along) + d.sbo + (ROWS - 1) * width
    else:
        last = groups * d.sbo + d.lbo + (ROWS - 1) * CHUNK
    first, end = d.start // width * width, (d.start + last) // width * width + width
    return first >= BASE and end <= (AREA if case.operand == "A" else END)


# -- the end of shared memory ----------------------------------------------------------------------


def at_the_end() -> list[DescriptorCase]:
    """Return operands that end where shared memory does, that go past its end row by row, and strides that
    would come back if sums were taken modulo 2^18."""
    k_major = WgmmaProbe("f16", "f16", "f32", 16)
    mn_major = WgmmaProbe("f16", "f16", "f32", 128, "k", "mn")
    probes = [(k_major, mode) for mode in MODES.values()]
    probes += [(mn_major, MODES[name]) for name in ("none", "128B")]
    cases = []
    for this, mode in probes:
        plain = DescriptorCase(this, "B", Descriptor(start=MIDDLE, lbo=1024, sbo=2048, mode=mode))
        length = (int(expected(plain).max()) + 1) * this.bits // 8 - MIDDLE
        last = (END - length) // mode.period * mode.period
        starts = [*(last + row * mode.width for row in range(ROWS + 1)), END, LIMIT - 1024]
        changed: list[dict[str, Any]] = [{"start": start} for start in starts]
        changed += [{"lbo": LIMIT - 1024}, {"sbo": LIMIT - 1024}]
        cases += [replace(plain, descriptor=replace(plain.descriptor, **change)) for change in changed]
    return cases


# -- as they are recorded --------------------------------------------------------------------------


def row(case: DescriptorCase) -> dict[str, Any]:
    """Return a case as it is recorded; `DescriptorCase.of` reads it."""
    this = case.instruction
    return {
        "types": [this.a, this.b, this.d],
        "n": this.n,
        "operand": case.operand,
        "major": case.major,
        "value": hex(case.value),
    }


def _fragments(operand: str, *confirms: str) -> Questions:
    rows = [{"operand": operand, "a": i.a, "b": i.b, "d": i.d, "n": i.n} for i in instructions()]
    return Questions(confirms, rows)


def _descriptors(cases: Iterable[DescriptorCase]) -> Questions:
    return Questions(("wgmma.smem", "wgmma.atom", "wgmma.canonical"), [row(case) for case in cases])


def _of_type(dtype: str) -> Questions:
    return _descriptors(asked(dtype))


QUESTIONS: dict[str, Callable[[], Questions]] = {
    "fragments.d": lambda: _fragments("D", "wgmma.D", "wgmma.shapes"),
    "fragments.a": lambda: _fragments("A", "wgmma.A"),
    **{f"descriptors.{dtype}": partial(_of_type, dtype) for dtype in INPUTS},
    "descriptors.end": lambda: _descriptors(at_the_end()),
}
"""The questions of each part, drawn when called."""
