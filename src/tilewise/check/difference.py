"""Where the nearest descriptor and a tile part: the first instruction that it does not feed, and why.

Asked where each step looks right by itself: the parts of several instructions may still start where no
descriptor can, have strides of their own, or follow another pattern than the address has.
"""

from __future__ import annotations

from tilewise.check.fitting import Form, base_offsets, compared, counted, holds
from tilewise.check.operand import Blocks, Operand, Reason
from tilewise.check.strides import WIDTHS, major_name, mode_name, start_reason, step
from tilewise.hardware.wgmma.descriptor import SWIZZLED_K_MAJOR_LBO, Descriptor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.check.match import Question
    from tilewise.core.layout import Layout

MAX_LISTED = 1 << 12
"""So many rows and columns are looked through."""


def first_difference(question: Question) -> Reason:
    """The first element that the nearest descriptor would read elsewhere, or the field that stands apart.

    requires  elements follow one another in one direction, rows across it a mode's width apart
    """
    operand = question.operand
    major = "k" if step(operand, 0, 1) == operand.size else "mn"
    mode = WIDTHS[step(operand, *((1, 0) if major == "k" else (0, 1)))]
    n = min(question.ns)
    form = Form.of(mode, major, operand.name, n, operand.size)
    blocks = operand.blocks(n)
    if blocks is None:
        return _cut(operand, n)
    first: Descriptor | None = None
    for row in range(blocks.counts[0]):
        for column in range(blocks.counts[1]):
            reason, found = _of_block(blocks, form, row, column, first)
            if reason is not None:
                return reason
            first = first or found
    raise AssertionError("every part is read, and the tile is not")


def _cut(operand: Operand, n: int) -> Reason:
    """A step of the layout that falls inside an instruction: the first element that it moves."""
    along_k = [step(operand, 0, i) for i in range(min(operand.columns, MAX_LISTED))]
    down = [step(operand, i, 0) for i in range(min(operand.rows, MAX_LISTED))]
    for name, at, deep, each in (("k", along_k, operand.k, operand.elements), ("row", down, n, 1)):
        for i in range(len(at)):
            begin = i - i % deep
            found, wanted = at[i] - at[begin], at[i % deep]
            if found != wanted:
                return Reason(
                    "uneven",
                    f"{name} {i * each} is {found} B from {name} {begin * each}, where its instruction "
                    f"begins; in the first instruction that is {wanted} B",
                    {"element": i * each, "found": found, "wanted": wanted},
                    f"a step of the layout falls inside an instruction of {deep * each} along {name}",
                )
    message = f"a step of the layout falls inside an instruction of {n} rows x {operand.row.k} of K"
    return Reason("uneven", message, {"n": n, "k": operand.row.k})


def _of_block(
    blocks: Blocks, form: Form, row: int, column: int, first: Descriptor | None
) -> tuple[Reason | None, Descriptor | None]:
    """What is wrong with one instruction's part, or the descriptor that reads it."""
    operand = blocks.operand
    corner = row * form.n, column * operand.k
    where = f"the instruction at row {corner[0]}, k {corner[1] * operand.elements}"
    start, fields = _fields(operand, form, corner)
    reason = start_reason(start, where)
    if reason is not None:
        return reason, None
    for name, value in fields.items():
        wanted = value if first is None else getattr(first, name)
        if not holds(value) or value != wanted:
            message = f"{where} has {name.upper()} {value} B" + (
                f", the first one {wanted} B" if first and holds(value) else ", which no field holds"
            )
            hint = "all instructions of a tile share LBO and SBO"
            return Reason("uneven", message, {"field": name, "found": value, "wanted": wanted}, hint), None
    found = Descriptor(start, mode=form.mode, base_offset=base_offsets(operand, form.mode)[0], **fields)
    return _elsewhere(operand, form, blocks.block(row, column), corner, found), found


def _fields(operand: Operand, form: Form, corner: tuple[int, int]) -> tuple[int, dict[str, int]]:
    """The start, LBO and SBO that the addresses of a part give."""
    offset = base_offsets(operand, form.mode)[0]

    def at(element: tuple[int, int]) -> int:
        return counted(operand, form.mode, offset, corner[0] + element[0], corner[1] + element[1])

    start = at((0, 0))
    lbo = SWIZZLED_K_MAJOR_LBO if form.lbo_at is None else at(form.lbo_at) - start
    return start, {"lbo": lbo, "sbo": 0 if form.sbo_at is None else at(form.sbo_at) - start}


def _elsewhere(
    operand: Operand, form: Form, block: Layout, corner: tuple[int, int], descriptor: Descriptor
) -> Reason | None:
    """The first element of a part that the descriptor reads elsewhere."""
    for box, part, read in compared(operand, block, form, descriptor):
        found = part.same(read)
        if found.answer is not False or found.witness is None:
            continue
        (top, _), (left, right) = box
        down, along = divmod(found.witness, right - left)
        row, column = corner[0] + top + down, corner[1] + left + along
        have = operand.byte(row, column)
        wants = sum(read.after_swizzle(read.before_swizzle(found.witness)))
        return Reason(
            "differs",
            f"read as {major_name(form.major)}, {mode_name(form.mode)}, element "
            f"({row}, {column * operand.elements}) comes from byte {wants}, and the tile has it at {have}",
            {"element": [row, column * operand.elements], "found": have, "wanted": wants},
        )
    return None
