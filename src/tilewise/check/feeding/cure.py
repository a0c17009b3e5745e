"""The swizzle under which a warp moves a tile with fewer wavefronts."""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.check.feeding.banks import Wavefronts, wavefronts_of
from tilewise.check.feeding.forms import Vector
from tilewise.check.feeding.question import Feed, feed
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout

MOST = 1 << 14
"""So many elements of a tile are searched a swizzle for: a tenth of a second."""


@dataclass(frozen=True, slots=True)
class Cure:
    """A layout of the same tile, and what it takes to move it."""

    layout: Layout
    banks: Wavefronts


def cure_of(found: Feed) -> Cure | None:
    """The hardware's mode, or the swizzle, under which a tile that has conflicts takes the fewest wavefronts.

        postcondition  moved as `feed` has it, it takes fewer than now; None where none does, or none is
                       sought: for tiles of more than MOST elements, of another unit, at a base of their own

    >>> from tilewise import S
    >>> cure = cure_of(feed(S[(64, 64) : (64, 1)], operand="A", shape="m16n8k16", dtype="f16"))
    >>> print(cure.layout, cure.banks)
    Swizzle<3,3,3> o S[(64, 64) : (64, 1)] 64 wavefronts, ideal 64: no conflicts
    """
    question = found.question
    assert question is not None
    assert found.fill is not None
    now = wavefronts_of(found.fill)
    layout, this = question.layout, question.instruction
    other = question.packed or this.sparse or found.base or layout.unit != "element"
    if now.ways == 1 or other or layout.size > MOST:
        return None
    from tilewise.check.swizzling import choose

    try:
        chosen = choose(layout, [_access(found)], dtype=found.dtype, among=("mode", "swizzle"))
        again = feed(
            chosen.best.layout,
            operand=found.operand,
            shape=this.shape,
            dtype=found.dtype,
            arch=question.arch,
            form=question.form,
            pattern=found.pattern,
            products=this.products,
        )
    except LayoutError:
        return None
    if not isinstance(again, Feed) or again.fill is None:
        return None
    banks = wavefronts_of(again.fill)
    return Cure(chosen.best.layout, banks) if banks.wavefronts < now.wavefronts else None


def _access(found: Feed) -> str:
    """The access that the loads, or stores, make together."""
    from tilewise.hardware.matrices.forms import short

    if isinstance(found.form, Vector):
        return f"mma.{found.operand.replace('C', 'D')}:{found.shape}"
    return f"{found.form.instruction}.{short(found.form)}"
