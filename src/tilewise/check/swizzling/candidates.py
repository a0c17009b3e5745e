"""What a tile could be instead: the hardware's modes, one XOR swizzle, a wider pitch.

Each family is finite, and all of it is asked. Of what it leaves out, something in it is as good:

    swizzles  A bit that is flipped above the 128 bytes that the banks repeat by changes no bank, so
              Swizzle<B, M, S> ends there. Bits inside the widest vector are neither flipped nor read. Where
              bits of the bank are flipped by lower ones of the bank, banks are only renamed: with S < 0 the
              lowest bit that is read lies inside a word.
    pitches   Rows that are 128 bytes further apart lie in the same banks, and share no word more. So the
              pitches from a row's own bytes to 128 more are all; they are multiples of the widest vector.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from tilewise.core.axes import m
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import along
from tilewise.hardware.memory.banks import WAVEFRONT, WORD
from tilewise.hardware.modes import MODES

FAMILIES = {
    "plain": "the tile as it is",
    "mode": "the hardware's modes, K-major and MN-major: what wgmma reads and TMA fills",
    "swizzle": "Swizzle<B,M,S> of the tile, for all B, M and S",
    "padding": "another pitch of its rows",
    "linear": "every layout that is linear over GF(2), on the tile's own bytes",
}
"""What is searched, simplest first."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A layout of the tile, and what it is called."""

    family: str
    name: str
    layout: Layout


def plain(base: Layout) -> Iterator[Candidate]:
    """The tile as it is."""
    yield Candidate("plain", "as it is", base)


def modes(base: Layout, dtype: DType) -> Iterator[Candidate]:
    """The tiles [rows, K] of atoms that the hardware's modes have, widest first.

    >>> from tilewise import S
    >>> [found.name for found in modes(S[(64, 48) : (48, 1)], DType.of("bf16"))]
    ['32B, K-major', 'none, K-major', '128B, MN-major', '64B, MN-major', '32B, MN-major', 'none, MN-major']
    """
    from tilewise.hardware.operands.tiles import tile

    if len(base.shape) != 2:
        return
    rows, k = extents_of(base.shape)
    for major in ("k", "mn"):
        for mode in reversed(MODES.values()):
            try:
                layout = tile(mode, major, dtype, rows, k)
            except LayoutError:
                continue
            name = f"{mode}, {'K' if major == 'k' else 'MN'}-major"
            yield Candidate("mode", name, layout.coalesce(by_mode=True))


def swizzles(base: Layout, size: int, together: int) -> Iterator[Candidate]:
    """Every swizzle of the tile that keeps 2^together elements in their order, and changes a bank or a word.

    >>> from tilewise import S
    >>> [found.name for found in swizzles(S[(8, 32) : (32, 1)], 2, 3)][:4]
    ['Swizzle<1,3,1>', 'Swizzle<1,3,2>', 'Swizzle<1,3,3>', 'Swizzle<1,3,4>']
    """
    inside = (WAVEFRONT // size).bit_length() - 1
    bits = (base.span(m) - 1).bit_length()
    for low in range(together, inside):
        for width in range(1, inside - low + 1):
            for shift in range(width, bits - low - width + 1):
                yield _swizzled(base, Swizzle(width, low, shift))
    for low in range(together, (WORD // size).bit_length() - 1):
        for width in range(1, inside - low):
            for shift in range(width, inside - low - width + 1):
                yield _swizzled(base, Swizzle(width, low, -shift))


def _swizzled(base: Layout, swizzle: Swizzle) -> Candidate:
    return Candidate("swizzle", str(swizzle), base.swizzled((swizzle,)))


def paddings(base: Layout, size: int, together: int) -> Iterator[Candidate]:
    """The tile with a wider pitch of its rows, or of its columns where those are contiguous.

    >>> from tilewise import S
    >>> [found.name for found in paddings(S[(8, 32) : (32, 1)], 2, 3)][:3]
    ['pitch 40', 'pitch 48', 'pitch 56']
    """
    if base.swizzles or len(base.shape) != 2 or len(base.strides) != 2 or base.outer:
        return
    steps = [stride[m] for stride in base.strides]
    rows = steps.index(max(steps))
    if sorted(steps) != [1, prod(extents_of(base.shape)) // extents_of(base.shape)[rows]]:
        return
    for pitch in range(steps[rows] + 1, steps[rows] + WAVEFRONT // size):
        if pitch % (1 << together) == 0:
            strides = tuple(along(m, pitch) if mode == rows else base.strides[mode] for mode in (0, 1))
            yield Candidate("padding", f"pitch {pitch}", replace(base, strides=strides))
