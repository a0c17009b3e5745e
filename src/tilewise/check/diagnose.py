"""Why no descriptor reads a tile, in the order in which an engineer would look.

First the faults that one change repairs: the swizzle in bytes before strides in elements, the swizzle of
another mode, the base. Each is proved by the repaired tile, which fits. Only where no such change helps are
the strides themselves held against what the tensor core wants.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tilewise.check.difference import first_difference, unsaid
from tilewise.check.operand import Operand, Reason
from tilewise.check.strides import (
    faults,
    major_name,
    mode_name,
    pattern_reason,
    start_reason,
    step,
    swizzle_reason,
)
from tilewise.core.axes import m
from tilewise.core.errors import LayoutError
from tilewise.core.facts import plain_extremes
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.core.vectors import Vector
from tilewise.hardware.modes import MODES, Mode, other_unit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.check.fitting import Fit
    from tilewise.check.match import Question
    from tilewise.hardware.engines import Engine

MAX_LISTED = 1 << 12
"""So many elements are looked through for the first two that share a byte."""

READ_ALL_THE_SAME = "a descriptor reads these bytes all the same, some of them for several elements"


def diagnose(question: Question, shape: list[Reason], shared: list[Reason]) -> tuple[Reason, ...]:
    """Every reason, the one to look at first in front; never none.

    requires  the question has no fit, or its shape or its bytes forbid one
    """
    turned = list(_transposed(question)) if shape else []
    if turned:
        return (*question.said, *shared, *shape, *turned)
    if shared and not shape and question.fit() is not None:
        shared = [replace(reason, hint=READ_ALL_THE_SAME) for reason in shared]
    whole = _whole_instructions(question)
    if whole is None:
        return (*question.said, *shared, *shape)
    if any(reason.rule == "rows" for reason in shape):
        question = question.any_size
    found = list(_strides(replace(question, operand=whole)))
    units = [reason for reason in found if reason.rule in ("unit", "swizzle-unit")]
    rest = [reason for reason in found if reason not in units]
    return tuple(_once([*question.said, *shared, *units, *shape, *rest]))


def _once(reasons: list[Reason]) -> list[Reason]:
    return list({(reason.rule, reason.message): reason for reason in reasons}.values())


# -- shape and bytes -----------------------------------------------------------------------------------


def shape_reasons(question: Question) -> list[Reason]:
    """Rows and K that no whole number of instructions covers, and tiles beyond what descriptors name."""
    operand = question.operand
    rows, k, name = operand.rows, operand.columns * operand.elements, operand.row.name
    found = []
    if k % operand.row.k:
        found.append(
            Reason(
                "k",
                f"K of {k} is no multiple of {operand.row.k}, the K of one {name} instruction",
                {"k": k, "instruction": operand.row.k},
                f"pad K to {-(-k // operand.row.k) * operand.row.k} with zeros",
            )
        )
    if all(rows % many for many in question.intake.rows):
        found.append(_rows_reason(question))
    size = rows * operand.columns * operand.size
    limit = question.engine.limit
    if size > limit:
        found.append(
            Reason(
                "range",
                f"the tile has {size} bytes, and a descriptor names addresses below {limit}",
                {"bytes": size, "limit": limit},
                "cut it into stages: shared memory is smaller still",
            )
        )
    return found


def _rows_reason(question: Question) -> Reason:
    """Rows that no whole number of instructions covers."""
    operand, intake = question.operand, question.intake
    rows, least = operand.rows, intake.rows[0]
    name, wanted = f"{operand.name} has {rows} rows", "M" if operand.name == "A" else "N"
    padded = f"pad {wanted} to {-(-rows // least) * least}"
    half = f"half of M = {least * 2}" if operand.name == "A" else f"half of N = {least * 2}"
    if intake.rows != question.free.rows:
        which = f"the {wanted} that was asked" if intake.ctas == 1 else f"{half}, which was asked"
        message = f"{name}, no multiple of {least}, {which}"
    elif len(intake.rows) == 1:
        message = f"{name}, and every {intake.product or question.engine.name} takes {least}"
    else:
        which = f"the least {wanted}" if intake.ctas == 1 else f"{half}, the least of a pair"
        message = f"{name}, no multiple of {least}, {which}"
    if intake.ctas > 1:
        padded = f"pad each CTA's rows to {-(-rows // least) * least}"
    if operand.name == "B":
        return Reason("rows", message, {"rows": rows, "n": least}, padded)
    other = question.engine.intake(intake.name, "B", **question.options).rows[0]
    hint = f"{padded}, or swap the operands: B may have {other} rows"
    return Reason("rows", message, {"rows": rows, "instruction": least}, hint)


def past_the_end(engine: Engine, operand: Operand) -> Reason | None:
    """A tile whose bytes are not all in shared memory, which ends before the addresses of descriptors do."""
    end = engine.shared_end
    _, plain = plain_extremes(operand.layout, m.name)
    if plain + operand.pattern + operand.size <= end - max(mode.period for mode in engine.modes.values()):
        return None
    last = operand.layout.extremes()[1] + operand.base + operand.size - 1
    if last < end:
        return None
    return Reason(
        "range",
        f"the tile's last byte is {last}, past the end of shared memory, which has {end} bytes",
        {"last": last, "limit": end},
        "place it lower" if operand.base else "bring its parts closer together, or cut it into smaller tiles",
        operand.layout if operand.base else None,
    )


def overlap(operand: Operand) -> list[Reason]:
    """Two elements in one byte, where it is decided that there are."""
    verdict = operand.layout.injective
    if verdict.answer is not False:
        return []
    first, second = _first_shared(operand) or sorted(verdict.witness[:2])
    one, other = operand.index(first), operand.index(second)
    at = operand.byte(*divmod(first, operand.columns))
    return [
        Reason(
            "overlap",
            f"elements {one} and {other} share byte {at}: the tile overlaps itself",
            {"elements": [list(one), list(other)], "byte": at},
            "every element of a tile needs bytes of its own",
        )
    ]


def _first_shared(operand: Operand) -> tuple[int, int] | None:
    """The first element, row by row, that has a byte of an earlier one, and that one."""
    taken: dict[int, int] = {}
    for flat in range(min(operand.layout.size, MAX_LISTED)):
        at = operand.byte(*divmod(flat, operand.columns))
        if at in taken:
            return taken[at], flat
        taken[at] = flat
    return None


def _whole_instructions(question: Question) -> Operand | None:
    """The most of the tile that whole instructions cover, so that its strides can be looked at."""
    operand, unit = question.operand, question.free.rows[0]
    rows, columns = operand.rows - operand.rows % unit, operand.columns - operand.columns % operand.k
    if not rows or not columns:
        return None
    if (rows, columns) == (operand.rows, operand.columns):
        return operand
    pieces = operand.layout.slice((0, rows), (0, columns))
    return operand.with_layout(pieces.layout) if len(pieces) == 1 else None


# -- one change that repairs it ------------------------------------------------------------------------


def _strides(question: Question) -> Iterator[Reason]:
    """What is wrong with the addresses: one change that repairs them, or every fault that is found."""
    if question.fit() is not None:
        return
    for repair in (
        _other_base,
        _other_major,
        _other_unit,
        _other_swizzle_unit,
        _other_swizzle,
        _offset,
    ):
        found = list(repair(question))
        if found:
            yield from found
            return
    yield from list(faults(question)) or [first_difference(question)]


def _fits(question: Question, layout: Layout) -> Fit | None:
    return question.fit(question.operand.with_layout(layout))


def _other_base(question: Question) -> Iterator[Reason]:
    """A tile that is read elsewhere, and not at its address."""
    operand = question.operand
    repaired = replace(operand.layout, outer=Vector())
    fit = question.fit(replace(operand, layout=repaired, base=0)) if operand.pattern else None
    if fit is None:
        return
    reason = pattern_reason(question.engine, operand, fit.form.mode, fit.form.absolute)
    if reason is not None:
        yield replace(reason, repair=repaired)
        return
    last, limit = operand.pattern + max(part.descriptor.start for part in fit.parts), question.engine.limit
    if last >= limit:
        message = f"a step would start at byte {last}, and a descriptor names addresses below {limit}"
        witness = {"base": operand.base, "start": last, "limit": limit}
        yield Reason("range", message, witness, repair=repaired, mode=fit.form.mode)


def _other_major(question: Question) -> Iterator[Reason]:
    others = tuple(major for major in question.intake.majors if major not in question.majors)
    fit = question.fit(majors=others) if others else None
    if fit is not None:
        asked = question.majors[0]
        yield Reason(
            "major",
            f"the tile is {major_name(others[0])}, {mode_name(fit.form.mode)}, and {major_name(asked)} "
            "was asked",
            {"found": others[0], "wanted": asked},
            f"ask for --major {others[0]}, with the transpose bit {int(others[0] == 'mn')}",
            question.operand.layout,
            fit.form.mode,
        )


def _other_unit(question: Question) -> Iterator[Reason]:
    """Numbers that count bytes where they were read as elements, or the other way round."""
    operand, unit = question.operand, question.layout.unit
    if operand.size == 1:
        return
    ratio = (1, operand.size) if unit == "element" else (operand.size, 1)
    try:
        layout = scaled(operand.layout, *ratio)
    except LayoutError:
        return
    fit = _fits(question, layout)
    if fit is not None:
        other = "bytes" if unit == "element" else "elements"
        yield Reason(
            "unit",
            f"the strides count {other}: read so it is {major_name(fit.form.major)}, "
            f"{mode_name(fit.form.mode)}, and as {unit}s its rows are {step(operand, 1, 0)} B apart",
            {"unit": unit, "wanted": other.removesuffix("s")},
            f"say --unit {other.removesuffix('s')}",
            layout,
            fit.form.mode,
        )


def scaled(layout: Layout, numerator: int, denominator: int) -> Layout:
    """The layout with all its steps times a ratio; a LayoutError where one is no whole number then."""
    from tilewise.core.units import storage_scaled

    def no_multiple(_: object, steps: int) -> LayoutError:
        return LayoutError("TW106", f"{steps} is no multiple")

    return storage_scaled(layout, numerator, denominator, no_multiple)


def _other_swizzle_unit(question: Question) -> Iterator[Reason]:
    """A swizzle of bytes before strides of elements, as PTX prints it, or of elements before bytes."""
    operand = question.operand
    found = swizzle_of_the_other_unit(operand, question.layout.unit, question.engine.modes)
    if found is None:
        return
    reason, repaired = found
    fit = _fits(question, repaired)
    read = ", in which the tile is read" if fit else ""
    yield replace(reason, message=reason.message + read, repair=repaired if fit else None)
    if fit is None:
        yield from _strides(replace(question, operand=operand.with_layout(repaired)))


def swizzle_of_the_other_unit(
    operand: Operand, unit: str, modes: Mapping[str, Mode] = MODES
) -> tuple[Reason, Layout] | None:
    """Why a swizzle seems to count bytes among elements, or the other way round, and what was meant.

    None where it is one of the hardware's as it is read, or none in the other unit either.
    """
    if len(operand.chain) != 1:
        return None
    (read,) = operand.chain
    found = other_unit(read, unit, operand.row.dtype, modes.values())
    if found is None:
        return None
    meant = found.meant
    reason = Reason(
        "swizzle-unit",
        found.message,
        {"found": [read.bits, read.base, read.shift], "wanted": [meant.bits, meant.base, meant.shift]},
        found.hint,
        mode=found.mode,
    )
    return reason, replace(operand.layout, swizzles=(meant,))


def _other_swizzle(question: Question) -> Iterator[Reason]:
    """Strides of one mode under the swizzle of another, or under none, or under what no mode has."""
    operand = question.operand
    for mode in sorted(question.engine.modes.values(), key=lambda mode: -mode.width):
        swizzles = (mode.swizzle,) if mode.bits else ()
        repaired = replace(operand.layout, swizzles=swizzles)
        fit = _fits(question, repaired)
        if fit is not None and fit.form.mode is mode:
            yield replace(swizzle_reason(question.engine, operand, mode, fit.form.major), repair=repaired)
            return


def _transposed(question: Question) -> Iterator[Reason]:
    """[K, rows] given for [rows, K]."""
    operand = question.operand
    if operand.elements > 1:
        return
    turned = operand.layout.permute(1, 0)
    fit = _fits(question, turned)
    if fit is not None:
        rows = "M" if operand.name == "A" else "N"
        yield Reason(
            "transposed",
            f"with its modes swapped, were they [K, {rows}], it is read: {major_name(fit.form.major)}, "
            f"{mode_name(fit.form.mode)}",
            {"shape": list(extents_of(operand.layout.shape))},
            "permute the modes: tilewise algebra permute LAYOUT 1,0",
            turned,
            fit.form.mode,
        )


def _offset(question: Question) -> Iterator[Reason]:
    """A start that no field holds."""
    operand = question.operand
    repaired = replace(operand.layout, offset=Vector(), outer=Vector())
    fit = _fits(question, repaired)
    if fit is None:
        return
    start, period = operand.plain(0, 0), fit.form.mode.period
    unaligned = start_reason(question.engine, start) or unsaid(question, fit.form)
    reason = unaligned or Reason(
        "start",
        f"the tile starts at byte {start}, inside a pattern of {period}, where no descriptor follows it",
        {"start": start},
        f"start at a multiple of {period} bytes",
    )
    yield replace(reason, repair=repaired, mode=fit.form.mode)
