"""The wavefronts that a warp needs to move a tile, and the swizzle under which it needs fewer."""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.check.banks import Request, counted
from tilewise.check.feeding.forms import Fill, Vector
from tilewise.check.feeding.question import Feed, feed
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.hardware.limits import LANES
from tilewise.hardware.matrices.forms import Form, short
from tilewise.hardware.matrices.kinds import ROW_BYTES
from tilewise.hardware.memory.banks import WORD

MOST = 1 << 14
"""The largest tile, in elements, for which a better swizzle is searched: a tenth of a second."""


@dataclass(frozen=True, slots=True)
class Wavefronts:
    """The wavefronts of all loads or stores of a tile, and the fewest possible."""

    wavefronts: int
    ideal: int
    ways: int
    """Wavefronts of the worst phase."""

    @property
    def excess(self) -> int:
        """Return the wavefronts beyond the ideal: conflicts, and phases that few lanes of the warp fill."""
        return self.wavefronts - self.ideal

    def __str__(self) -> str:
        how_bad = f"{self.ways} ways" if self.ways > 1 else "no conflicts"
        many = f"{self.wavefronts} wavefront{'s' if self.wavefronts > 1 else ''}"
        return f"{many}, ideal {self.ideal}: {how_bad}"


def given(form: Form | Vector) -> tuple[int, int]:
    """Return the bytes behind each address of an instruction, and the number of lanes that give one.

    >>> from tilewise.hardware.matrices.forms import Form
    >>> given(Vector("ld", 64)), given(Form("ldmatrix", 2))
    ((8, 32), (16, 16))
    """
    if isinstance(form, Vector):
        return form.bits // 8, LANES
    return ROW_BYTES, form.count * form.rows


def wavefronts_of(fill: Fill) -> Wavefronts:
    """Return the wavefronts of the steps of one warp.

        postcondition  the sum of `counted` of every step

    >>> from tilewise import S, Swizzle
    >>> from tilewise.check.feeding import feed
    >>> rows = S[(64, 64) : (64, 1)]
    >>> print(wavefronts_of(feed(rows, operand="A", shape="m16n8k16", dtype="f16").fill))
    512 wavefronts, ideal 64: 8 ways
    >>> print(wavefronts_of(feed(Swizzle(3, 3, 3) @ rows, operand="A", shape="m16n8k16", dtype="f16").fill))
    64 wavefronts, ideal 64: no conflicts
    """
    form = fill.form
    bytes, lanes = given(form)
    seen: dict[tuple[int, ...], Request] = {}
    requests = []
    for addresses in (one[warp : warp + LANES] for one in fill.table for warp in range(0, len(one), LANES)):
        first = min(addresses) // WORD * WORD  # whole words further, other banks are just as busy
        pattern = tuple(address - first for address in addresses[:lanes])
        if pattern not in seen:
            seen[pattern] = counted(form.instruction, bytes, pattern)
        requests.append(seen[pattern])
    return Wavefronts(
        sum(request.wavefronts for request in requests),
        sum(request.ideal for request in requests),
        max(phase.wavefronts for request in seen.values() for phase in request.phases),
    )


@dataclass(frozen=True, slots=True)
class Cure:
    """A layout of the same tile, and the wavefronts to move it."""

    layout: Layout
    banks: Wavefronts


def cure_of(found: Feed) -> Cure | None:
    """Return the mode, or the swizzle, under which a tile that has conflicts takes the fewest wavefronts.

        postcondition  moved as `feed` has it, it takes fewer than now; None where no swizzle helps, and for
                       tiles of more than MOST elements, of another unit, at a base of their own

    >>> from tilewise import S
    >>> cure = cure_of(feed(S[(64, 64) : (64, 1)], operand="A", shape="m16n8k16", dtype="f16"))
    >>> print(cure.layout, cure.banks)
    Swizzle<3,3,3> o S[(64, 64) : (64, 1)] 64 wavefronts, ideal 64: no conflicts
    """
    question = found.question
    now = wavefronts_of(found.fill)
    layout, this = question.layout, question.instruction
    other = question.packed or this.sparse or found.base or layout.unit != "element"
    if now.ways == 1 or other or layout.size > MOST:
        return None
    from tilewise.check.swizzling import choose

    access = f"mma.{found.operand.replace('C', 'D')}:{found.shape}"
    if isinstance(found.form, Form):
        access = f"{found.form.instruction}.{short(found.form)}"

    try:
        chosen = choose(layout, [access], dtype=found.dtype, among=("mode", "swizzle"))
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
    if not isinstance(again, Feed):
        return None
    banks = wavefronts_of(again.fill)
    return Cure(chosen.best.layout, banks) if banks.wavefronts < now.wavefronts else None
