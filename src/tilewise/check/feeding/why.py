"""Why a tile is not moved, or not by matrices: reasons as data, the first one to look at in front.

What ends all questions comes first: the shape, bytes that elements share, the end of shared memory. Where
vectors move the tile and no matrices do, it may be the architecture, the form that was asked for, or the
unit; else `rows` looks at the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilewise.check.diagnose import overlap, scaled
from tilewise.check.feeding.forms import Vector, filled_by, named
from tilewise.check.feeding.fragments import OPERANDS
from tilewise.check.feeding.rows import Rows
from tilewise.check.operand import Operand, Reason
from tilewise.core.axes import m
from tilewise.core.errors import LayoutError
from tilewise.core.facts import plain_extremes
from tilewise.core.shapes import extents_of
from tilewise.core.swizzles import apply_chain
from tilewise.hardware.limits import SM_SHARED_BYTES, sm_shared_bytes
from tilewise.hardware.matrices.forms import forms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.check.feeding.forms import Fill
    from tilewise.check.feeding.question import Question
    from tilewise.check.feeding.tile import Tile


def impossible(question: Question) -> tuple[Reason, ...]:
    """Why nothing moves the tile as it is: its shape, its bytes, its place."""
    shape = [*_shape(question)]
    if shape:
        return tuple(shape)
    found = [*_range(question), *overlap(question.operand)] or [*_parted(question.operand)]
    if question.packed:
        found = [_padding(question) if reason.rule == "overlap" else reason for reason in found]
    if not found:
        bool(question.operand.layout.injective)  # NotDecided, where that is open
    return tuple(found)


def _shape(question: Question) -> Iterator[Reason]:
    operand, fragment = question.operand, question.fragment
    many = operand.elements
    shape = question.instruction.shape
    whole = True
    for (rule, name), extent, one in zip(
        _directions(operand.name),
        (operand.rows, operand.columns * many),
        (fragment.rows, fragment.columns * many),
        strict=True,
    ):
        if extent % one:
            whole = False
            yield Reason(
                rule,
                f"{name} of {extent} is no multiple of {one}, the {name} of {shape}",
                {name.lower(): extent, "instruction": one},
                f"pad {name} to {-(-extent // one) * one}",
            )
    if whole and replace(question, warps=(1, 1)).tile() is None:
        yield Reason(
            "digits",
            f"the digits of {operand.layout.shape} do not divide into parts of {shape}",
            {"shape": str(operand.layout.shape)},
            "where extents divide, the rows of one instruction have digits of their own",
        )
    elif whole and question.tile() is None:
        down, along = question.warps
        yield Reason(
            "warps",
            f"the tile does not divide between {down} x {along} warps",
            {"warps": [down, along]},
            "write it with the rows of a warp as digits of their own, or take other --warps",
        )
    if not whole:
        yield from _swapped(question)


def _swapped(question: Question) -> Iterator[Reason]:
    """[K, M] given for [M, K]."""
    operand = question.operand
    if operand.elements > 1:
        return
    turned = operand.layout.permute(1, 0)
    tile = question.tile(operand.with_layout(turned))
    if tile is not None:
        down, along = OPERANDS[operand.name]
        yield Reason(
            "transposed",
            f"with its modes swapped, were they [{along}, {down}], whole instructions cover it",
            {"shape": list(extents_of(operand.layout.shape))},
            "permute the modes: tilewise algebra permute LAYOUT 1,0",
            turned,
        )


def _directions(operand: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """(rule, name) of both modes."""
    down, along = OPERANDS[operand]
    return ("rows", down), ("k" if along == "K" else "columns", along)


def _padding(question: Question) -> Reason:
    """Sixteen small elements that have no 16 bytes to themselves."""
    bits = question.packed
    return Reason(
        "padding",
        f"ldmatrix unpacks sixteen elements of {bits} bits from 16 bytes of their own, and here others begin "
        f"after {2 * bits}",
        {"bits": bits, "bytes": 2 * bits, "wanted": 16},
        f"leave {16 - 2 * bits} bytes after every sixteen, as TMA's 16U{bits}_ALIGN16B does",
    )


def _range(question: Question) -> Iterator[Reason]:
    operand = question.operand
    limit = SM_SHARED_BYTES if question.arch is None else sm_shared_bytes(question.arch)
    low, high = plain_extremes(operand.layout, m.name)
    if low >= 0 and high + operand.pattern + operand.size <= limit - operand.layout.period:
        return
    low, high = (end + operand.base for end in operand.layout.extremes())
    last = high + operand.size - 1
    if low < 0 or last >= limit:
        yield Reason(
            "range",
            f"the tile reaches from byte {low} to {last}, and shared memory has {limit}",
            {"first": low, "last": last, "limit": limit},
            "bring its parts closer together, or cut it into smaller tiles",
        )


def _parted(operand: Operand) -> Iterator[Reason]:
    """An element that a swizzle of its bytes would part: then where it lies is not where its bytes do."""
    layout, chain, size = operand.layout, operand.chain, operand.size
    lowest = min((one.base for one in chain), default=size)
    steps = (layout.offset[m], *(stride[m] for stride in layout.strides))
    if size == 1 or (1 << lowest >= size and not any(step % size for step in steps)):
        return
    for flat in range(layout.size):
        first = sum(layout.before_swizzle(flat))
        at = [apply_chain(chain, first + byte) for byte in range(size)]
        if at != [*range(at[0], at[0] + size)]:
            index = operand.index(flat)
            yield Reason(
                "swizzle",
                f"element {index} begins at byte {first} before the swizzle, which parts its {size} bytes",
                {"index": list(index), "byte": first},
                f"begin elements at multiples of {size}, and swizzle none of the bits below {size}",
            )
            return


# -- no matrices ---------------------------------------------------------------------------------------


def why_no_matrices(
    question: Question, tile: Tile, by_matrices: Fill | None, by_vectors: Fill
) -> tuple[Reason, ...]:
    """Why vectors move the tile, or nothing does where matrices were asked for."""
    if by_matrices is not None:
        counts = {"matrices": by_matrices.count, "vectors": by_vectors.count}
        message = f"{named(by_matrices.form)} would take {by_matrices.count} instructions"
        return (Reason("fewer", f"{message}, and {by_vectors.form} takes {by_vectors.count}", counts),)
    if question.form == "vectors":
        return ()
    if question.packed and not question.usable:
        return (_unpacks_nothing(question),)
    other = _other_form(question, tile) or _other_unit(question, by_vectors)
    return (other,) if other else tuple(Rows(question).faults())


def _unpacks_nothing(question: Question) -> Reason:
    """An architecture without the forms that unpack."""
    form = next(form for form in forms(question.mover) if form.kind.stored == question.packed)
    return Reason(
        "arch",
        f"{question.arch} unpacks no elements of {question.packed} bits: {named(form)} is of "
        f"{form.kind.needs}",
        {"bits": question.packed, "needs": str(form.kind.needs)},
        "lay the tile out with a byte for each, --unit byte",
    )


def _other_form(question: Question, tile: Tile) -> Reason | None:
    """A form that moves the tile, where the architecture lacks it, or another was asked for."""
    for form in sorted(forms(question.mover), key=lambda form: -form.registers):
        needs = form.kind.needs
        other = question.packed or form in question.forms or needs.since is None
        if other or filled_by(tile, form, "row") is None:
            continue
        witness = {"form": str(form), "needs": str(needs)}
        if question.arch is None or needs.met(question.arch):
            return Reason("form", f"{question.form} does not move it, and {named(form)} does", witness)
        message = f"{named(form)} would move it, and {question.arch} has none: it is of {needs}"
        return Reason("arch", message, witness)
    return None


def _other_unit(question: Question, by_vectors: Fill) -> Reason | None:
    """Numbers that count bytes where they were read as elements, or the other way round.

    Read so, matrices move the tile, or wider vectors do.
    """
    operand, unit = question.operand, question.layout.unit
    if operand.size == 1 or unit == "bit":
        return None
    ratio = (1, operand.size) if unit == "element" else (operand.size, 1)
    try:
        layout = scaled(operand.layout, *ratio)
    except LayoutError:
        return None
    tile = question.tile(operand.with_layout(layout))
    if tile is None or not layout.injective.answer:
        return None
    found = question.by_matrices(tile) or question.by_vectors(tile)
    if found.form.bits <= by_vectors.form.bits and isinstance(found.form, Vector):
        return None
    other = "byte" if unit == "element" else "element"
    return Reason(
        "unit",
        f"the strides count {other}s: read so, {named(found.form)} moves it",
        {"unit": unit, "wanted": other},
        f"say --unit {other}",
        layout,
    )
