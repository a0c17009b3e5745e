"""Where the nearest descriptor and a tile part: the first instruction that it does not feed, and why.

Asked where each step looks right by itself: the parts of several instructions may still start where no
descriptor can, have strides of their own, or follow another pattern than the address has.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.check.fitting import (
    Form,
    base_offsets,
    compared,
    described,
    fields_of,
    holds,
    parts_of,
    whole_chunks,
)
from tilewise.check.operand import Cuts, Operand, Reason
from tilewise.check.strides import major_name, mode_name, start_reason, step, widths
from tilewise.core.errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.check.match import Question
    from tilewise.core.algebra.slicing import Piece
    from tilewise.hardware.engines import Descriptor

MAX_LISTED = 1 << 12
"""So many rows and columns are looked through."""


def first_difference(question: Question) -> Reason:
    """The first element that the nearest descriptor would read elsewhere, or the field that stands apart.

    requires  elements follow one another in one direction, rows across it a mode's width apart
    """
    operand = question.operand
    major = "k" if step(operand, 0, 1) == operand.size else "mn"
    mode = widths(question, major)[step(operand, *((1, 0) if major == "k" else (0, 1)))]
    rows = min(rows for rows in question.rows if major == "k" or whole_chunks(operand, rows))
    blocks = parts_of(operand, question.intake, rows)
    if blocks is None:
        return _cut(operand, rows)
    form = Form(mode, major, rows, operand.k, operand.size, question.intake.absolute)
    return _Parts(question, blocks, form).first_difference()


def unsaid(question: Question, form: Form) -> Reason | None:
    """Why nobody says what the first part's descriptor would read; None where somebody does."""
    parts = parts_of(question.operand, question.intake, form.rows)
    return None if parts is None else _Parts(question, parts, form).unsaid()


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


@dataclass(frozen=True)
class _Parts:
    """The parts of a tile that single instructions would read, in the form that the tile looks like."""

    question: Question
    blocks: Cuts
    form: Form

    @property
    def operand(self) -> Operand:
        return self.blocks.operand

    def first_difference(self) -> Reason:
        """What is wrong with the first part that is not read."""
        first: Descriptor | None = None
        for row in range(self.blocks.counts[0]):
            for column in range(self.blocks.counts[1]):
                reason, found = self._of_block(row, column, first)
                if reason is not None:
                    return reason
                first = first or found
        raise AssertionError("every part is read, and the tile is not")

    def unsaid(self) -> Reason | None:
        """Why an engine does not say what it reads of the first part."""
        engine, operand, form = self.question.engine, self.operand, self.form
        offset = base_offsets(engine, operand, form)[0]
        fields = fields_of(engine, operand, form, (0, 0), offset)
        if not all(holds(engine, value) for value in fields.values()):
            return None
        found = described(engine, self.question.intake, form, offset, fields)
        try:
            next(compared(engine, operand, self.blocks.pieces(0, 0), form, found), None)
        except Refused as no:
            return Reason("start", no.reason, no.witness, no.hint)
        return None

    def _of_block(
        self, row: int, column: int, first: Descriptor | None
    ) -> tuple[Reason | None, Descriptor | None]:
        """What is wrong with one instruction's part, or the descriptor that reads it."""
        operand, engine, form = self.operand, self.question.engine, self.form
        corner = row * form.rows, column * operand.k
        where = f"the instruction at row {corner[0]}, k {corner[1] * operand.elements}"
        offset = base_offsets(engine, operand, form)[0]
        fields = fields_of(engine, operand, form, corner, offset)
        reason = start_reason(engine, fields["start"], where) or self._uneven(fields, first, where)
        if reason is not None:
            return reason, None
        found = described(engine, self.question.intake, form, offset, fields)
        return self._elsewhere(self.blocks.pieces(row, column), corner, found), found

    def _uneven(self, fields: dict[str, int], first: Descriptor | None, where: str) -> Reason | None:
        """A distance that no field holds, or that is another in the first instruction."""
        engine = self.question.engine
        for name in ("lbo", "sbo"):
            value, shared = fields[name], not (self.form.absolute and name == "lbo")
            wanted = value if first is None or not shared else getattr(first, name)
            if not holds(engine, value) or value != wanted:
                message = f"{where} has {name.upper()} {value} B" + (
                    f", the first one {wanted} B"
                    if first and holds(engine, value)
                    else ", which no field holds"
                )
                witness = {"field": name, "found": value, "wanted": wanted}
                return Reason("uneven", message, witness, "all instructions of a tile share LBO and SBO")
        return None

    def _elsewhere(
        self, parts: list[Piece], corner: tuple[int, int], descriptor: Descriptor
    ) -> Reason | None:
        """The first element of a part that the descriptor reads elsewhere, or why nobody says where."""
        operand, form = self.operand, self.form
        try:
            boxes = [*compared(self.question.engine, operand, parts, form, descriptor)]
        except Refused as no:
            return Reason("start", no.reason, no.witness, no.hint)
        for box, part, read in boxes:
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
                f"({row}, {column * operand.elements}) comes from byte {wants}, and the tile has it at "
                f"{have}",
                {"element": [row, column * operand.elements], "found": have, "wanted": wants},
            )
        return None
