"""Whether TMA fills a tile, and wgmma reads it."""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of


@dataclass(frozen=True, slots=True)
class Readers:
    """What TMA and wgmma say of a tile; a reason where it is no."""

    tma: int | None
    """Boxes that fill it."""
    wgmma: tuple[str, ...]
    """The operands that it is read as."""
    why_tma: str = ""
    why_wgmma: str = ""


def readers(layout: Layout, dtype: DType) -> Readers:
    """What the engines say of a tile [rows, K] in elements.

    The tensor that TMA copies from is row-major, or column-major where the tile is, and larger than the tile.

    >>> from tilewise import S, Swizzle
    >>> readers(Swizzle(3, 3, 3) @ S[(128, 64) : (64, 1)], DType.of("bf16"))
    Readers(tma=1, wgmma=('A', 'B'), why_tma='', why_wgmma='')
    >>> readers(S[(128, 64) : (72, 1)], DType.of("bf16")).wgmma
    ()
    """
    boxes, why_tma = _boxes(layout, dtype)
    operands, why_wgmma = _operands(layout, dtype)
    return Readers(boxes, operands, why_tma, why_wgmma)


TIMES = 16
"""The tensor has so many tiles along every mode."""


def _boxes(layout: Layout, dtype: DType) -> tuple[int | None, str]:
    from tilewise.check.tma import plan_copy

    shape = [extent * TIMES for extent in extents_of(layout.shape)]
    reasons = []
    for strides in ((shape[-1], 1), (1, shape[0])) if len(shape) == 2 else (None,):
        try:
            return plan_copy(shape, layout, dtype=dtype, strides=strides).count, ""
        except LayoutError as no:
            reasons.append(no.message)
    return None, reasons[0]


def _operands(layout: Layout, dtype: DType) -> tuple[tuple[str, ...], str]:
    from tilewise.check.match import Match, Mismatch, match

    operands, why = [], ""
    for operand in ("A", "B") if len(layout.shape) == 2 else ():
        try:
            found = match(layout, operand=operand, dtype=dtype)
        except LayoutError as no:
            why = why or no.message
            continue
        if isinstance(found, Match):
            operands.append(operand)
        elif isinstance(found, Mismatch):
            why = why or str(found).partition("\n")[0]
    return tuple(operands), "" if operands else why or "a tile [rows, K] has two modes"
