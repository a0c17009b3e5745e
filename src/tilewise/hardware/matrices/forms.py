"""ldmatrix and stmatrix: the lane that supplies each address, and the lane that holds each element.

A matrix is rows of 16 bytes. Where it has n rows, lane n j + r supplies the address of row r of matrix j. In
registers one picture serves every form. Lane 4 g + t holds f neighbours, number t of their direction: columns
of row g, or with .trans rows of column g. The other direction has eight lines for the eight g, or sixteen in
two halves, which follow one another in a lane. Registers of matrix j + 1 follow those of matrix j.

ldmatrix moves bytes: eight rows of 16 bytes are eight rows of 16 elements of 8 bits as well, or of four of 32
bits. Only transposing and unpacking work in elements of the instruction's own width.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.axes import Axis
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.core.shapes import flat_index
from tilewise.core.vectors import Vector
from tilewise.hardware.architectures import Needs
from tilewise.hardware.instructions import sort_words, where
from tilewise.hardware.limits import LANES, REGISTER_BITS
from tilewise.hardware.matrices.kinds import INSTRUCTIONS, KINDS, ROW_BYTES, Kind, kind_of

LANE, REG = Axis("laneid"), Axis("reg")
ROWS = 8
"""Rows of a matrix m8n8, and its elements of 16 bits along a row."""
GROUPS, THREADS = 8, 4
"""The warp as g and t: lane 4 g + t."""


@dataclass(frozen=True, slots=True)
class Form:
    """One form of ldmatrix or stmatrix: the number of matrices, transposed or not, their shape and type.

    Both layouts are indexed by memory: matrix j, its row r, the element c of that row.

    >>> form = Form("ldmatrix", 4)
    >>> print(form)
    ldmatrix.sync.aligned.m8n8.x4.shared.b16
    >>> print(form.addresses)
    S[(4, 8) : (8@laneid, 1@laneid)]
    >>> print(form.layout)
    S[(4, 8, (4, 2)) : (2@reg, 4@laneid, (1@laneid, 1@reg))]
    >>> print(Form("ldmatrix", 4, trans=True).layout)
    S[(4, (4, 2), 8) : (2@reg, (1@laneid, 1@reg), 4@laneid)]
    >>> print(Form("ldmatrix", 2, True, "m16n16", "b8").layout)
    S[(2, (4, 4), (2, 8)) : (8@reg, (1@laneid, 1@reg), (4@reg, 4@laneid))]
    """

    instruction: str
    count: int
    trans: bool = False
    shape: str = "m8n8"
    type: str = "b16"

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", as_int(self.count, "how many matrices"))
        kind = kind_of(self.instruction, self.shape, self.type)
        if kind is None or self.count not in kind.counts or self.trans not in kind.trans:
            raise _no_such(self, kind)

    @classmethod
    def of(cls, instruction: str, words: Form | str, trans: bool = False) -> Form:
        """Return the form that words such as `x4` or `m16n16.x2.b8` name, alone or inside PTX's.

        A shape that is always transposed needs no trans; a shape of one type needs no type.

        >>> print(Form.of("ldmatrix", "x4", trans=True))
        ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
        >>> print(Form.of("ldmatrix", "m8n16.x1.b4x16_p64"))
        ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64
        >>> print(Form.of("stmatrix", "stmatrix.sync.aligned.m16n8.x4.trans.shared.b8"))
        stmatrix.sync.aligned.m16n8.x4.trans.shared.b8
        """
        if isinstance(words, Form):
            return words
        found, unknown = sort_words(words.lower().removeprefix(f"{instruction}."), _PATTERNS)
        if unknown == [instruction]:
            raise LayoutError(
                "TW601",
                f"{words!r} does not say how many matrices",
                hint=f"write {instruction}.x4 or another form, {_some('', instruction)}",
            )
        if unknown or "count" not in found or instruction not in INSTRUCTIONS:
            from tilewise.hardware.catalog.entry import did_you_mean

            near = did_you_mean(unknown[0], [*_FILLERS, instruction, "trans"]) if unknown else ""
            hint = near + _some(words, instruction)
            raise LayoutError("TW601", f"{words!r} is no form of {instruction}", hint=hint)
        count, shape, type = int(found["count"]), found.get("shape", "m8n8"), found.get("type", "")
        turned = trans or "trans" in found
        rows = [
            kind
            for kind in where(KINDS, instruction=instruction, shape=shape)
            if type in ("", kind.type, kind.type.split(".")[-1])
        ]
        if not rows:
            return cls(instruction, count, turned, shape, type or "b16")
        if len(rows) > 1 and rows[0].type != "b8":
            hint = f"one of {' '.join(kind.type for kind in rows)}"
            raise LayoutError("TW601", f"{shape} of {instruction} needs a type", hint=hint)
        return cls(instruction, count, turned or False not in rows[0].trans, shape, rows[0].type)

    @property
    def kind(self) -> Kind:
        """Return its row of the table."""
        kind = kind_of(self.instruction, self.shape, self.type)
        assert kind is not None
        return kind

    @property
    def needs(self) -> Needs:
        """Return the architectures that have it."""
        return self.kind.needs

    @property
    def rows(self) -> int:
        """Return the rows of a matrix in memory."""
        return self.kind.rows

    @property
    def columns(self) -> int:
        """Return the elements of a row in memory."""
        return self.kind.columns

    @property
    def bits(self) -> int:
        """Return the bits of an element in a register."""
        return self.kind.bits

    @property
    def registers(self) -> int:
        """Return the 32-bit registers of a lane.

        >>> [form.registers for form in forms("ldmatrix") if form.shape == "m16n16" and form.type == "b8"]
        [2, 4]
        """
        return self.count * self.rows * self.columns * self.bits // (LANES * REGISTER_BITS)

    @property
    def addresses(self) -> Layout:
        """Return the lane that supplies the address of row r of matrix j, [j, r]."""
        return Layout((self.count, self.rows), (self.rows @ LANE, 1 @ LANE))

    @property
    def unread(self) -> range:
        """Return the lanes whose address is not read.

        >>> Form("ldmatrix", 2).unread
        range(16, 32)
        """
        return range(self.count * self.rows, LANES)

    @property
    def layout(self) -> Layout:
        """Return the place of element c in row r of matrix j, [j, r, c]; reg counts elements of `bits`."""
        along, other = (self.rows, self.columns) if self.trans else (self.columns, self.rows)
        each, halves = along // THREADS, other // GROUPS
        near = ((THREADS, each), (1 @ LANE, 1 @ REG))
        far = ((halves, GROUPS), (each @ REG, 4 @ LANE)) if halves > 1 else (GROUPS, (4 @ LANE,))
        rows, columns = (near, far) if self.trans else (far, near)
        held = each * halves
        return Layout((self.count, rows[0], columns[0]), (held @ REG, *rows[1], *columns[1]))

    def stored_at(self, column: int) -> tuple[int, int]:
        """Return the first and the last bit of an element in its row; bit 0 is the lowest of byte 0.

        >>> Form.of("ldmatrix", "m8n16.x1.b6x16_p32").stored_at(15)
        (90, 95)
        """
        first = flat_index(column, (self.columns,)) * self.kind.stored
        return first, first + self.kind.stored - 1

    @property
    def ptx(self) -> str:
        """Return the instruction with names for its operands.

        >>> print(Form("stmatrix", 2).ptx)
        stmatrix.sync.aligned.m8n8.x2.shared.b16 [address], {r0, r1};
        """
        registers = "{" + ", ".join(f"r{i}" for i in range(self.registers)) + "}"
        operands = (registers, "[address]") if self.instruction == "ldmatrix" else ("[address]", registers)
        return f"{self} {', '.join(operands)};"

    def __str__(self) -> str:
        trans = ".trans" if self.trans else ""
        return f"{self.instruction}.sync.aligned.{self.shape}.x{self.count}{trans}.shared.{self.type}"


_FILLERS = ("sync", "aligned", "shared", "shared::cta", "b8x16", "")
_PATTERNS = {
    "": "|".join(_FILLERS),
    "count": "x([0-9]+)",
    "shape": "m[0-9].*",
    "type": "b[0-9].*",
    "trans": "trans",
}


def forms(instruction: str = "") -> tuple[Form, ...]:
    """Return every form of an instruction, or of both.

    >>> [short(form) for form in forms("stmatrix")][-4:]
    ['x4.trans', 'm16n8.x1.trans.b8', 'm16n8.x2.trans.b8', 'm16n8.x4.trans.b8']
    """
    return tuple(
        Form(kind.instruction, count, trans, kind.shape, kind.type)
        for kind in KINDS
        if instruction in ("", kind.instruction)
        for count in kind.counts
        for trans in kind.trans
    )


def short(form: Form) -> str:
    """Return the words that tell a form from the others of its instruction.

    requires       nothing
    postcondition  Form.of(form.instruction, short(form)) == form
    """
    shape, type = ("", "") if form.shape == "m8n8" else (form.shape, form.type.split(".")[-1])
    return ".".join(filter(None, [shape, f"x{form.count}", "trans" * form.trans, type]))


def _some(words: str, instruction: str) -> str:
    """Return three forms that look like the words, and the command that lists all.

    >>> _some("ldmatrix.x4.tran", "ldmatrix")
    'such as x4.trans x2.trans x1.trans; tilewise catalog ldmatrix lists all 18'
    """
    from difflib import get_close_matches

    known = [short(form) for form in forms(instruction)]
    if not known:
        return f"known: {' '.join(INSTRUCTIONS)}"
    asked = words.strip().removeprefix(instruction).lstrip(".")
    near = get_close_matches(asked, known, n=3, cutoff=0.0) if asked else [f"x{n}" for n in KINDS[0].counts]
    return f"such as {' '.join(near)}; tilewise catalog {instruction} lists all {len(known)}"


def _no_such(form: Form, kind: Kind | None) -> LayoutError:
    """Return the error for a form that does not exist."""
    if form.instruction not in INSTRUCTIONS:
        return LayoutError(
            "TW601", f"{form.instruction!r} moves no matrices", hint=f"known: {' '.join(INSTRUCTIONS)}"
        )
    if kind is None:
        had = where(KINDS, instruction=form.instruction)
        reason = f"there is no {form.instruction} of {form.shape} and {form.type}"
        hint = "it has " + ", ".join(f"{row.shape} {row.type}" for row in had)
    elif form.count not in kind.counts:
        reason = f"{form.instruction} moves no {form.count} matrices of {form.shape} at once"
        hint = f"{form.shape} has {' '.join(f'x{count}' for count in kind.counts)}"
    else:
        turned = "transposed" if form.trans else "as it lies"
        reason = f"no {form.instruction} moves {form.shape} of {form.type} {turned}"
        hint = "leave .trans out" if form.trans else f"{form.shape} is always .trans"
    return Refused("TW602", reason, witness={"instruction": form.instruction, "shape": form.shape}, hint=hint)


# -- elements of other widths --------------------------------------------------------------------


def seen_as(form: Form, dtype: DType | str) -> Layout:
    """Return the place of element c of row r of matrix j, [j, r, c], for elements of a type in memory.

    requires       an element is in one register of one lane
    postcondition  reg counts elements of the type: 32-bit register reg * bits // 32

    >>> print(seen_as(Form("ldmatrix", 1), "e4m3"))
    S[(1, 8, (4, 4)) : (4@reg, 4@laneid, (1@laneid, 1@reg))]
    >>> print(seen_as(Form("ldmatrix", 1), "tf32"))
    S[(1, 8, 4) : (1@reg, 4@laneid, 1@laneid)]
    >>> print(seen_as(Form("ldmatrix", 1, trans=True), "e4m3"))
    S[(1, (4, 2), (8, 2)) : (4@reg, (1@laneid, 2@reg), (4@laneid, 1@reg))]
    """
    element = DType.of(dtype)
    if form.kind.stored != form.bits:
        return _unpacked(form, element)
    return _turned(form, element) if form.trans else _in_rows(form, element)


def _unpacked(form: Form, element: DType) -> Layout:
    """Return the layout of a form that unpacks: elements of one width, each in its own byte."""
    if element.bits != form.kind.stored:
        raise Refused(
            "TW602",
            f"{form} unpacks elements of {form.kind.stored} bits, and {element} has {element.bits}",
            witness={"dtype": element.name, "bits": element.bits},
            hint=f"memory holds {form.columns} elements of {form.kind.stored} bits in a row",
        )
    return form.layout


def _in_rows(form: Form, element: DType) -> Layout:
    """Return the layout of rows: four lanes share a row, 32 bits each."""
    each, left = divmod(ROW_BYTES * 8 // THREADS, element.bits)
    if left and each:
        raise _uneven(form, element)
    if not each:
        raise _torn(form, element, 1)
    columns, steps = ((THREADS, each), (1 @ LANE, 1 @ REG)) if each > 1 else (THREADS, (1 @ LANE,))
    return Layout((form.count, form.rows, columns), (each @ REG, 4 @ LANE, *steps))


def _turned(form: Form, element: DType) -> Layout:
    """Return the layout of a transposing form: neighbours inside its elements stay neighbours in the lane."""
    inside, left = divmod(form.bits, element.bits)
    if left and inside:
        raise _uneven(form, element)
    if not inside:
        raise _torn(form, element, 4)
    if inside == 1:
        return form.layout
    matrices, rows, columns = form.layout.shape
    digits = columns if isinstance(columns, tuple) else (columns,)
    strides = [_times(stride, inside) for stride in form.layout.strides]
    return Layout((matrices, rows, (*digits, inside)), (*strides, 1 @ REG))


def _uneven(form: Form, element: DType) -> Refused:
    return Refused(
        "TW602",
        f"elements of {element.bits} bits do not fill the {form.bits} bits that {form} moves together",
        witness={"dtype": element.name, "bits": element.bits},
        hint="ldmatrix m8n16 and m16n16 unpack elements of 6 and 4 bits into a byte each",
    )


def _torn(form: Form, element: DType, step: int) -> Refused:
    """Return the refusal of an element whose parts lie in two lanes, a step apart."""
    return Refused(
        "TW602",
        f"{form} gives an element of {element.bits} bits to more than one lane",
        witness={"element": [0, 0, 0], "bits": element.bits, "lanes": [0, step]},
        hint=f"it moves {form.bits if form.trans else REGISTER_BITS} bits together at most",
    )


def _times(stride: Vector, factor: int) -> Vector:
    """Return the stride with its step of reg in smaller elements."""
    return Vector(tuple((axis, step * factor if axis == REG else step) for axis, step in stride.terms))
