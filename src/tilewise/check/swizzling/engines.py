"""Whether TMA fills a tile, and wgmma reads it."""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout


@dataclass(frozen=True, slots=True)
class Readers:
    """What TMA and wgmma say of a tile; a reason where it is no."""

    tma: int | None
    """Boxes that fill it."""
    wgmma: tuple[str, ...]
    """The operands that it is read as."""
    why_tma: str = ""
    why_wgmma: str = ""


def readers(layout: Layout, dtype: DType, base: int = 0) -> Readers:
    """What the engines say of a tile [rows, K] in elements, at the byte address `base`.

    The tensor that TMA copies from is larger than the tile: row-major, or else column-major.

    >>> from tilewise import S, Swizzle
    >>> readers(Swizzle(3, 3, 3) @ S[(128, 64) : (64, 1)], DType.of("bf16"))
    Readers(tma=1, wgmma=('A', 'B'), why_tma='', why_wgmma='')
    >>> readers(S[(128, 64) : (72, 1)], DType.of("bf16")).wgmma
    ()
    """
    from tilewise.check.engines import described, tma

    filled = tma(layout, dtype)
    two = len(layout.shape) == 2
    asked = [described("wgmma", layout, dtype, operand, base) for operand in "AB"] if two else []
    operands = tuple(one.engine[-1] for one in asked if one.legal)
    why = [one.said for one in asked if not one.legal] or ["a tile [rows, K] has two modes"]
    return Readers(filled.boxes, operands, "" if filled.legal else filled.said, "" if operands else why[0])
