"""The reasons why no descriptor reads a tile, in the order in which an engineer would look.

First the faults that one change repairs: the swizzle in bytes before strides in elements, the swizzle of
another mode, the base. Each is proved by the repaired tile, which fits. Only where no such change helps are
the digits of the tile compared with those of the template, the finest first: 16 bytes that stay together,
eight rows a mode's width apart, the swizzle of that mode, then one stride from group to group, which a field
of the descriptor holds. Each of these faults is one sentence: digit d of the template steps by t, and the
tile by s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tilewise.check.fitting import Form, Question, holds
from tilewise.check.operand import (
    Reason,
    SharedTile,
    first_of,
    in_bytes,
    major_name,
    mode_name,
    not_contiguous,
)
from tilewise.core.digits import halves, value
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.swizzles import Swizzle, one_permutation
from tilewise.hardware.modes import CHUNK, MODES, Mode, other_unit
from tilewise.hardware.operands.template import template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tilewise.hardware.engines import Engine

READ_ALL_THE_SAME = "a descriptor reads these bytes all the same, some of them for several elements"

MAX_LISTED = 1 << 12
"""The number of rows, and of columns, that are searched."""

_COUNTED = {8: "eight", 4: "four"}
_ONLY_UP = "descriptors only go up"


def diagnose(question: Question, shape: list[Reason], shared: list[Reason]) -> tuple[Reason, ...]:
    """Return every reason, the most basic in front; at least one.

    requires  the question has no fit, or its shape or its bytes forbid one
    """
    rows = "M" if question.cells.name == "A" else "N"
    turned = [*transposed(question.cells, "K", rows, lambda tile: _how(question, tile))] if shape else []
    if turned:
        return (*question.said, *shared, *shape, *turned)
    if shared and not shape and question.fit() is not None:
        shared = [replace(reason, hint=READ_ALL_THE_SAME) for reason in shared]
    whole = _whole_instructions(question)
    if whole is None:
        return (*question.said, *shared, *shape)
    if any(reason.rule == "rows" for reason in shape):
        question = replace(question, intake=question.free)
    found = _strides(replace(question, cells=whole))
    units = [reason for reason in found if reason.rule in ("unit", "swizzle-unit")]
    every = [*question.said, *shared, *units, *shape, *found]
    return tuple({(reason.rule, reason.message): reason for reason in every}.values())


# -- shape and bytes -----------------------------------------------------------------------------------


def shape_reasons(question: Question) -> list[Reason]:
    """Return the reasons of rows and K that no whole number of instructions covers, and of too many bytes."""
    cells, limit = question.cells, question.engine.limit
    deep, (rows, k) = cells.row.k, cells.shape
    found = []
    if k % deep:
        message = f"K of {k} is no multiple of {deep}, the K of one {cells.row.name} instruction"
        hint = f"pad K to {-(-k // deep) * deep} with zeros"
        found.append(Reason("k", message, {"k": k, "instruction": deep}, hint))
    if all(rows % many for many in question.intake.rows):
        found.append(_rows_reason(question))
    size = rows * cells.columns * cells.size
    if size > limit:
        message = f"the tile has {size} bytes, and a descriptor names addresses below {limit}"
        hint = "cut it into stages: shared memory is smaller still"
        found.append(Reason("range", message, {"bytes": size, "limit": limit}, hint))
    return found


def _rows_reason(question: Question) -> Reason:
    """Return the reason of rows that no whole number of instructions covers."""
    cells, intake = question.cells, question.intake
    rows, least, pair = cells.rows, intake.rows[0], intake.ctas > 1
    wanted = "M" if cells.name == "A" else "N"
    asked, which = intake.rows != question.free.rows, f"half of {wanted} = {least * 2}, "
    if asked:
        which = f"{which}as you ask" if pair else f"the {wanted} that you ask for"
    else:
        which = f"{which}the least of a pair" if pair else f"the least {wanted}"
    message = f"{cells.name} has {rows} rows, no multiple of {least}, {which}"
    if len(intake.rows) == 1 and not asked:
        product = intake.product or question.engine.name
        message = f"{cells.name} has {rows} rows, and every {product} takes {least}"
    whose = "each CTA's rows" if pair else wanted
    hint = f"pad {whose} to {-(-rows // least) * least}"
    if cells.name == "B":
        return Reason("rows", message, {"rows": rows, "n": least}, hint)
    other = question.engine.intake(intake.name, "B", **question.options).rows[0]
    hint += f", or swap the operands: B may have {other} rows"
    return Reason("rows", message, {"rows": rows, "instruction": least}, hint)


def past_the_end(engine: Engine, cells: SharedTile) -> Reason | None:
    """Return the reason of bytes past the end of shared memory,
    which is before descriptors' addresses end."""
    end = engine.shared_end
    if cells.high < end - max(mode.period for mode in engine.modes.values()):
        return None
    _, last = cells.reach()
    if last < end:
        return None
    return Reason(
        "range",
        f"the tile's last byte is {last}, past the end of shared memory, which has {end} bytes",
        {"last": last, "limit": end},
        "place it lower" if cells.base else "bring its parts closer together, or cut it into smaller tiles",
        cells if cells.base else None,
    )


def far_beyond(engine: Engine, cells: SharedTile) -> Reason | None:
    """Return the reason of bytes past the end of shared memory, wherever a swizzle moves the last ones."""
    end = engine.shared_end
    last = cells.high - max(mode.period for mode in engine.modes.values())
    if last < end:
        return None
    return Reason(
        "range",
        f"the tile goes past the end of shared memory, which has {end} bytes, to byte {last} or further",
        {"limit": end},
        "bring its parts closer together, or cut it into smaller tiles",
    )


def _whole_instructions(question: Question) -> SharedTile | None:
    """Return the largest part of the tile that whole instructions cover, to check its strides."""
    cells, unit = question.cells, question.free.rows[0]
    kept = [many - many % whole for many, whole in ((cells.rows, unit), (cells.columns, cells.k))]
    if 0 in kept:
        return None
    if kept == [cells.rows, cells.columns]:
        return cells
    rows, columns = (first_of(digits, many) for digits, many in zip(cells.digits, kept, strict=True))
    return None if rows is None or columns is None else replace(cells, digits=(rows, columns))


# -- one change that repairs it ------------------------------------------------------------------------


def _strides(question: Question) -> list[Reason]:
    """Return the fault of the addresses: one change that repairs them, or every fault that is found."""
    if question.fit() is not None:
        return []
    for repair in (_other_base, _other_major, _other_unit, _other_swizzle_unit, _other_swizzle, _offset):
        found = list(repair(question))
        if found:
            return found
    return faults(question) or [first_difference(question)]


def _other_base(question: Question) -> Iterator[Reason]:
    """Yield the reason of a tile that is read at another address, and not at its own."""
    cells, limit = question.cells, question.engine.limit
    repaired = replace(cells, outer=0, base=0)
    fit = question.fit(repaired) if cells.pattern else None
    if fit is None:
        return
    mode = fit.form.mode
    reason = pattern_reason(question.engine, cells, mode, fit.form.intake.absolute)
    last = cells.pattern + max(descriptor.start for *_, descriptor in fit.parts)
    if reason is not None:
        yield replace(reason, repair=repaired)
    elif last >= limit:
        message = f"a step would start at byte {last}, and a descriptor names addresses below {limit}"
        witness = {"base": cells.base, "start": last, "limit": limit}
        yield Reason("range", message, witness, repair=repaired, mode=mode)


def _other_major(question: Question) -> Iterator[Reason]:
    others = tuple(major for major in question.intake.majors if major not in question.majors)
    fit = question.fit(majors=others) if others else None
    if fit is not None:
        (asked, *_), (found, *_) = question.majors, others
        yield Reason(
            "major",
            f"the tile is {major_name(found)}, {mode_name(fit.form.mode)}; you ask for {major_name(asked)}",
            {"found": found, "wanted": asked},
            f"ask for --major {found}, with the transpose bit {int(found == 'mn')}",
            question.cells,
            fit.form.mode,
        )


def _other_unit(question: Question) -> Iterator[Reason]:
    apart = f", and as {question.unit}s its rows are {question.cells.step(1, 0)} B apart"
    reason = unit_reason(question.cells, question.unit, lambda cells: _how(question, cells, apart))
    if reason is not None:
        yield reason


def _how(question: Question, cells: SharedTile, more: str = "") -> str | None:
    """Return the reading of another tile in words, or None where it is not read."""
    fit = question.fit(cells)
    return None if fit is None else f": {major_name(fit.form.major)}, {mode_name(fit.form.mode)}{more}"


def unit_reason(cells: SharedTile, unit: str, read: Callable[[SharedTile], str | None]) -> Reason | None:
    """Return the reason of numbers that count bytes where they were read as elements, or elements as bytes.

    `read` returns the reading of a tile in words, or None where no descriptor reads it.
    """
    ratio = (1, cells.size) if unit == "element" else (cells.size, 1)
    repaired = cells.scaled(*ratio) if cells.size > 1 else None
    how = read(repaired) if repaired else None
    if how is None:
        return None
    other = "byte" if unit == "element" else "element"
    message = f"the strides count {other}s: read so{how}"
    return Reason("unit", message, {"unit": unit, "wanted": other}, f"say --unit {other}", repaired)


def _other_swizzle_unit(question: Question) -> Iterator[Reason]:
    """Yield the reasons where a swizzle of bytes stands before strides of elements, as PTX prints it; nothing
    where the swizzle as read is one of the hardware's.
    """
    cells, engine = question.cells, question.engine
    if len(cells.chain) != 1:
        return
    (read,) = cells.chain
    found = other_unit(read, question.unit, cells.row.dtype, engine.modes.values())
    if found is None:
        return
    meant, repaired = found.meant, replace(cells, chain=(found.meant,))
    witness = {"found": [read.bits, read.base, read.shift], "wanted": [meant.bits, meant.base, meant.shift]}
    legal = question.fit(repaired) is not None
    message = found.message + (", in which the tile is read" if legal else "")
    yield Reason("swizzle-unit", message, witness, found.hint, repaired if legal else None, found.mode)
    if not legal:
        yield from _strides(replace(question, cells=repaired))


def _other_swizzle(question: Question) -> Iterator[Reason]:
    """Yield the reason of strides of one mode under the swizzle of another, or of no swizzle, or of a swizzle
    of no mode.
    """
    cells = question.cells
    for mode in sorted(question.engine.modes.values(), key=lambda mode: -mode.width):
        repaired = replace(cells, chain=(mode.swizzle,) if mode.bits else ())
        fit = question.fit(repaired)
        if fit is not None and fit.form.mode is mode:
            yield replace(swizzle_reason(question.engine, cells, mode, fit.form.major), repair=repaired)
            return


def transposed(
    cells: SharedTile, first: str, second: str, read: Callable[[SharedTile], str | None]
) -> Iterator[Reason]:
    """Yield the reason of swapped modes, where the tile is read with them exchanged."""
    turned = cells.turned()
    how = read(turned) if cells.elements == 1 else None
    if how is not None:
        message = f"with its modes swapped, were they [{first}, {second}], it is read{how}"
        hint = "permute the modes: tilewise algebra permute LAYOUT 1,0"
        yield Reason("transposed", message, {"shape": list(cells.shape)}, hint, turned)


def _offset(question: Question) -> Iterator[Reason]:
    """Yield the reason of a start that no field can hold."""
    cells = question.cells
    repaired = replace(cells, start=0, outer=0)
    fit = question.fit(repaired)
    if fit is None:
        return
    start, form, mode = cells.start + cells.pattern, replace(fit.form, cells=cells), fit.form.mode
    fields = form.fields((0, 0), form.base_offsets[0])
    held = all(holds(question.engine, number) for number in fields.values())
    reason = start_reason(question.engine, start) or (_unsaid(form, fields) if held else None)
    reason = reason or Reason(
        "start",
        f"the tile starts at byte {start}, inside a pattern of {mode.period}, where no descriptor follows it",
        {"start": start},
        f"start at a multiple of {mode.period} bytes",
    )
    yield replace(reason, repair=repaired, mode=mode)


# -- the digits of the tile, held against the template --------------------------------------------------


def faults(question: Question) -> list[Reason]:
    """Return every fault of the strides; nothing where each step looks right by itself."""
    cells = question.cells
    down, along = cells.step(1, 0), cells.step(0, 1)
    if along == cells.size:
        return [*_walk(question, "k")]
    if down != cells.size:
        witness = {"row_step": down, "k_step": along, "wanted": cells.size}
        steps = ("k = 0 to 1", "row 0 to 1")
        reason = not_contiguous(
            cells, (along, down), steps, witness, "16 bytes of a row or of a column stay together"
        )
        if -cells.size in (along, down):
            reason = replace(
                reason, rule="negative", message=f"backwards, and {reason.message}", hint=_ONLY_UP
            )
        return [reason]
    if "mn" in question.intake.majors:
        return [*_walk(question, "mn")]
    why, hint = question.intake.no_major
    message = f"rows are contiguous (MN-major), and {why}"
    return [Reason("major-type", message, {"row_step": down, "k_step": along}, hint)]


def widths(question: Question, major: str | None) -> dict[int, Mode]:
    """Return the mode by the bytes from row to row; of two modes of a width the written one, or the first.

    Only modes of the major count; if the major is unknown or not read, all modes do.
    """
    every = tuple(question.engine.modes.values())
    written = mode_of(question.cells.chain, every)
    found: dict[int, Mode] = {}
    for mode in question.intake.modes.get(major or "", every):
        if mode is written or mode.width not in found:
            found[mode.width] = mode
    return found


def _differs(cells: SharedTile, direction: str, first: int, extent: int, step: int) -> dict[str, int] | None:
    """Return the first number of a digit that is not at its step: element, found, wanted."""
    for number in range(1, extent):
        element = number * first
        found = cells.step(0, element) if direction == "along" else cells.step(element, 0)
        if found != number * step:
            return {"element": element, "found": found, "wanted": number * step}
    return None


def _walk(question: Question, major: str) -> Iterator[Reason]:
    """Yield every fault of a tile whose elements follow one another along one direction, from the finest
    step to the widest."""
    engine, cells = question.engine, question.cells if major == "k" else question.cells.turned()
    along, across, lines = ("k", "row", "rows") if major == "k" else ("row", "k", "columns of K")
    together = CHUNK // cells.size
    if major not in question.majors:
        message = f"the tile is {major_name(major)}, and you ask for {major_name(question.majors[0])}"
        yield Reason("major", message, {"found": major, "wanted": question.majors[0]})
    if major == "mn":
        yield from _no_whole_chunks(question)
    by_width = widths(question, major)
    mode = by_width.get(cells.step(1, 0))
    place = pattern_reason(engine, cells, mode or MODES["none"], question.intake.absolute)
    place = place or start_reason(engine, cells.start + cells.pattern)
    if place:
        yield place
    apart = _differs(cells, "along", 1, min(together, cells.columns), cells.size)
    if apart:
        yield Reason(
            "chunk",
            f"16 bytes must stay together: {along} = {apart['element']} is {apart['found']} B from "
            f"{along} = 0, wanted {apart['wanted']}",
            apart,
            f"{together} elements along {along} are one chunk of 16 bytes",
        )
        return
    if mode is None:
        yield _across(cells, lines, "K" if major == "k" else "the rows", by_width)
    elif uneven := _differs(cells, "across", 1, mode.rows, mode.width):
        yield Reason(
            "core-matrix",
            f"{_COUNTED[mode.rows]} {lines} must be evenly spaced: {across} {uneven['element']} is "
            f"{uneven['found']} B from {across} 0, wanted {uneven['wanted']}",
            uneven,
            "a core matrix is 8 rows of 16 bytes",
        )
    written = mode_of(cells.chain, engine.modes.values())
    if written is None or (mode is not None and written is not mode):
        yield swizzle_reason(engine, cells, mode, major)
    if mode is None:
        return
    rows = max(question.rows(question.cells) or question.free.rows[:1])
    inside, beside = (cells.k, rows) if major == "k" else (rows, cells.k)
    for direction, first, extent, step in template(mode, major, beside, -(-inside // together)).firsts:
        if isinstance(step, str):
            what, index = (along, first * together) if direction == "along" else (across, first)
            yield from _even(question, cells, step, direction, index, extent, what) if extent > 1 else ()
        elif direction == "along" and extent > 1 and cells.step(0, first * together) != step:
            index = first * together
            found = cells.step(0, index)
            yield Reason(
                "chunk-stride",
                f"chunks of 16 bytes must follow one another: {along} = {index} is {found} B from "
                f"{along} = 0, wanted {step}",
                {"found": found, "wanted": step},
            )


def _across(cells: SharedTile, lines: str, what: str, by_width: dict[int, Mode]) -> Reason:
    """Return the reason of rows that are no mode's width apart; `what` runs along them."""
    found, used = cells.step(1, 0), cells.columns * cells.size
    witness = {"found": found, "wanted": sorted(by_width)}
    apart = f"{lines} are {in_bytes(found, cells.size)} apart"
    wanted = f"the tensor core wants {_wanted(by_width.values())}"
    if found < 0:
        return Reason("negative", f"{apart}, backwards; {wanted}", witness, _ONLY_UP)
    padding = found - used if 0 < found - used <= 64 and found < 2 * used else 0
    apart += f" with {padding} B of padding" if padding else ""
    hint = "swizzle instead of padding" if padding else ""
    if found % CHUNK:
        return Reason("stride-16", f"{apart}, no multiple of 16; {wanted}", witness, hint)
    widest = by_width[max(by_width)]
    if not padding and found > widest.width:
        atoms = f"{widest.rows} x {widest.width} B"
        hint = f"cut {what} into strips of {widest.width // cells.size} elements, which are atoms of {atoms}"
    return Reason("row-stride", f"{apart}; {wanted}", witness, hint)


def _even(
    question: Question, cells: SharedTile, field: str, direction: str, first: int, extent: int, what: str
) -> Iterator[Reason]:
    """Yield the faults of one stride, which a field must hold."""
    limit = question.engine.limit
    stride = cells.step(first, 0) if direction == "across" else cells.step(0, first)
    name, witness = field.upper(), {"field": field, "found": stride}
    where = f"{name}, from {what} 0 to {what} {first}, is {in_bytes(stride, cells.size)}"
    if stride % CHUNK:
        yield Reason("stride-16", f"{where}, no multiple of 16", witness)
    elif stride < 0:
        yield Reason("negative", f"{where}, backwards", witness, _ONLY_UP)
    elif stride >= limit:
        message = f"{where}, beyond the 14 bits of 16 bytes: at most {limit - CHUNK}"
        yield Reason("range", message, witness | {"limit": limit})
    uneven = _differs(cells, direction, first, extent, stride)
    if uneven:
        yield Reason(
            "uneven",
            f"{name} is one stride: {what} {first} is {stride} B from {what} 0, so {what} "
            f"{uneven['element']} should be {uneven['wanted']} B from it and is {uneven['found']}",
            {"field": field, **uneven},
            "a smaller N has fewer groups in one instruction" if cells.name == "B" else "",
        )


def _no_whole_chunks(question: Question) -> Iterator[Reason]:
    """Yield the reason of contiguous rows that no instruction of whole chunks of 16 bytes divides."""
    cells, together = question.cells, CHUNK // question.cells.size
    if not question.rows(cells) or question.rows(cells, "mn"):
        return
    least = next((rows for rows in question.intake.rows if rows % together == 0), None)
    message = f"{max(question.rows(cells))} contiguous rows of {cells.row.name} fill no chunk of 16 bytes"
    if least:
        message = (
            f"{cells.name} has {cells.rows} rows, contiguous, no multiple of {least}: {together} of "
            f"{cells.row.name} fill a chunk of 16 bytes"
        )
    hint = (
        f"pad {'M' if cells.name == 'A' else 'N'} to a multiple of {least or together}, or lay K contiguous"
    )
    yield Reason("rows", message, {"rows": cells.rows, "chunk": together}, hint)


# -- several instructions ------------------------------------------------------------------------------


def first_difference(question: Question) -> Reason:
    """Return the place where the nearest descriptor and a tile part, where each step looks right by itself.

    The parts of several instructions may still start where no descriptor can, have strides of their own, or
    follow another pattern than the address has.

        requires  elements follow one another in one direction, rows across it a mode's width apart
    """
    cells = question.cells
    major = "k" if cells.step(0, 1) == cells.size else "mn"
    mode = widths(question, major)[cells.step(*((1, 0) if major == "k" else (0, 1)))]
    rows = min(question.rows(cells, major))
    form = Form(question.engine, question.intake, cells, mode, major, rows)
    cut = None in [halves(digits, n) for digits, n in zip(cells.digits, (rows, cells.k), strict=True)]
    if cut and not form.intake.absolute:
        return _cut(cells, rows)
    first = form.fields((0, 0), form.base_offsets[0])
    for corner in form.corners:
        reason = _of_part(form, corner, first)
        if reason is not None:
            return reason
    raise AssertionError("every part is read, and the tile is not")


def _cut(cells: SharedTile, rows: int) -> Reason:
    """Return the reason of a step that falls inside an instruction: the first element that it moves."""
    for name, digits, many, deep, each in (
        ("k", cells.digits[1], cells.columns, cells.k, cells.elements),
        ("row", cells.digits[0], cells.rows, rows, 1),
    ):
        for i in range(min(many, MAX_LISTED)):
            begin = i - i % deep
            found, wanted = value(digits, i, 0) - value(digits, begin, 0), value(digits, i % deep, 0)
            if found != wanted:
                return Reason(
                    "uneven",
                    f"{name} {i * each} is {found} B from {name} {begin * each}, where its instruction "
                    f"begins; in the first instruction that is {wanted} B",
                    {"element": i * each, "found": found, "wanted": wanted},
                    f"a step of the layout falls inside an instruction of {deep * each} along {name}",
                )
    message = f"a step of the layout falls inside an instruction of {rows} rows x {cells.row.k} of K"
    return Reason("uneven", message, {"n": rows, "k": cells.row.k})


def _of_part(form: Form, corner: tuple[int, int], first: Mapping[str, int]) -> Reason | None:
    """Return the fault of one instruction's part, or None where its descriptor reads it; `first` are the
    fields of the first part.
    """
    engine, many, base_offset = form.engine, form.cells.elements, form.base_offsets[0]
    fields = form.fields(corner, base_offset)
    where = f"the instruction at row {corner[0]}, k {corner[1] * many}"
    reason = start_reason(engine, fields["start"], where)
    if reason is not None:
        return reason
    for name in ("lbo", "sbo"):
        found, own = fields[name], form.intake.absolute and name == "lbo"
        wanted = found if own else first[name]
        if not holds(engine, found) or found != wanted:
            alike = holds(engine, found) and corner != (0, 0)
            which = f"the first one {wanted} B" if alike else "which no field holds"
            witness = {"field": name, "found": found, "wanted": wanted}
            hint = "all instructions of a tile share LBO and SBO"
            return Reason("uneven", f"{where} has {name.upper()} {found} B, {which}", witness, hint)
    unread = _unsaid(form, fields)
    apart = None if unread else form.departs(corner, fields, base_offset)
    if apart is None:
        return unread
    row, column, counted = apart
    moved = engine.base_unit * base_offset if form.mode.bits else 0
    have, wants = form.cells.byte(row, column), form.mode.swizzle(counted - moved) + moved
    return Reason(
        "differs",
        f"read as {major_name(form.major)}, {mode_name(form.mode)}, element ({row}, {column * many}) "
        f"comes from byte {wants}, and the tile has it at {have}",
        {"element": [row, column * many], "found": have, "wanted": wants},
    )


def _unsaid(form: Form, fields: Mapping[str, int]) -> Reason | None:
    """Return why no document defines the reads of a descriptor with these fields, or None."""
    cells = form.cells
    dtype = "u8" if cells.elements > 1 else cells.row.dtype.name
    try:
        descriptor = form.descriptor(fields, form.base_offsets[0])
        form.engine.read(descriptor, dtype=dtype, major=form.major, rows=form.rows, k=cells.k)
    except Refused as no:
        return Reason.of("start", no)
    return None


# -- swizzles ------------------------------------------------------------------------------------------


def mode_of(chain: tuple[Swizzle, ...], modes: Iterable[Mode] = MODES.values()) -> Mode | None:
    """Return the mode whose permutation of bytes a chain is, or None.

    >>> print(mode_of((Swizzle(2, 4, 3),)), mode_of((Swizzle(2, 5, 3),)))
    64B None
    """
    for mode in modes:
        if one_permutation(chain, (mode.swizzle,) if mode.bits else ()):
            return mode
    return None


def swizzle_reason(engine: Engine, cells: SharedTile, mode: Mode | None, major: str) -> Reason:
    """Return the reason of a swizzle that belongs to another mode than the tile's strides, or to no mode."""
    written = cells.chain
    found = mode_of(written, engine.modes.values())
    spelled = [[one.bits, one.base, one.shift] for one in written]
    witness: dict[str, object] = {"found": found.name if found else spelled}
    strides = ""
    if mode is not None:
        witness["wanted"] = mode.name
        across = "rows" if major == "k" else "columns of K"
        strides = f"{across} are {mode.width} B apart, as {'in' if mode.bits else 'with'} {mode_name(mode)}"
    hint = how_to_write(cells, mode)
    if found is None:
        known = _permutations(engine)
        message = f"{_spelled(cells)} no mode of the hardware, which has {known} on bytes"
        return Reason("swizzle", "; ".join(filter(None, (message, strides))), witness, hint, mode=mode)
    if not written:
        message = f"{strides}, but the addresses are not swizzled"
        return Reason("no-swizzle", message, witness, hint, mode=mode)
    message = f"the swizzle is that of {mode_name(found)}, but {strides}"
    return Reason("swizzle-strides", message, witness, hint, mode=mode)


def _permutations(engine: Engine) -> str:
    """Return the swizzles of an engine's modes, those that differ in B alone as one.

    >>> from tilewise.hardware.engines import engine
    >>> _permutations(engine("wgmma"))
    'Swizzle<1|2|3,4,3>'
    """
    alike: dict[tuple[int, int], list[str]] = {}
    for mode in engine.modes.values():
        if mode.bits:
            alike.setdefault((mode.base, mode.shift), []).append(str(mode.bits))
    return " and ".join(f"Swizzle<{'|'.join(bits)},{base},{far}>" for (base, far), bits in alike.items())


def _spelled(cells: SharedTile) -> str:
    """Return the chain on bytes, and on elements where that differs, as the subject of a sentence."""
    on_bytes = " o ".join(map(str, cells.chain))
    try:
        on_elements = " o ".join(str(swizzle.scaled(8, cells.row.dtype.bits)) for swizzle in cells.chain)
    except LayoutError:
        on_elements = on_bytes
    if on_elements == on_bytes:
        return f"{on_bytes} is"
    return f"{on_elements} on {cells.row.name} is {on_bytes} on bytes and"


def how_to_write(cells: SharedTile, mode: Mode | None) -> str:
    """Return the notation for the swizzle of a mode."""
    if mode is None:
        return ""
    if not mode.bits:
        return "leave the swizzle out, or lay the rows out as its mode has them"
    of_elements = mode.swizzle.scaled(8, cells.row.dtype.bits)
    if of_elements == mode.swizzle:
        return f"{mode_name(mode)} is {mode.swizzle}"
    return f"{mode_name(mode)} is {of_elements} on {cells.row.name}, {mode.swizzle} on bytes"


def _wanted(modes: Iterable[Mode]) -> str:
    """Return the distances between rows, and the numbers of rows, for the modes of an engine.

    >>> _wanted(MODES.values())
    '16, 32, 64 or 128 B within groups of eight (no swizzle, 32B, 64B, 128B)'
    """
    *first, last = sorted(modes, key=lambda mode: mode.width)
    apart = f"{', '.join(str(mode.width) for mode in first)} or {last.width}" if first else str(last.width)
    names = ", ".join(mode.name if mode.bits else "no swizzle" for mode in (*first, last))
    return f"{apart} B within groups of {_COUNTED[last.rows]} ({names})"


# -- addresses -----------------------------------------------------------------------------------------


def start_reason(engine: Engine, start: int, what: str = "the tile") -> Reason | None:
    """Return the reason of a start that the descriptor's field does not hold."""
    if start % CHUNK:
        return Reason(
            "start",
            f"{what} starts at byte {start}, no multiple of 16",
            {"start": start},
            f"the field counts 16 bytes; {start // CHUNK * CHUNK} is the multiple below",
        )
    if not 0 <= start < engine.limit:
        return Reason(
            "range",
            f"{what} starts at byte {start}, and a descriptor names addresses in 0..{engine.limit - CHUNK}",
            {"start": start, "limit": engine.limit},
        )
    return None


def pattern_reason(engine: Engine, cells: SharedTile, mode: Mode, absolute: bool = False) -> Reason | None:
    """Return the reason for a pattern that no base offset follows, or for a tile at an odd address.

    Where LBO is an address the only base offset is 0.
    """
    unit = mode.period if absolute else engine.base_unit
    hint = f"align the tile to {mode.period} bytes" + (", 128 where TMA writes it" if not mode.bits else "")
    if cells.base % CHUNK:
        message = f"the tile's address {cells.base:#x} is no multiple of 16"
    elif mode.bits and cells.pattern % unit:
        moves = "is 0 where LBO is an address" if absolute else f"moves it by {unit} B"
        message = (
            f"the pattern of {mode} mode starts at byte {cells.pattern:#x}, no multiple of {unit}: it "
            f"repeats every {mode.period} B, and a base offset {moves}"
        )
    else:
        return None
    witness = {"base": cells.base, "pattern": cells.pattern, "alignment": mode.period}
    return Reason("base", message, witness, hint, mode=mode)
