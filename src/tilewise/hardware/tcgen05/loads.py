"""tcgen05.ld and tcgen05.st: the lane and register of each word of tensor memory.

Each warp of a warpgroup moves words of its own 32 lanes, from the address that all its lanes name. Lane t has
in its register r, n being the repeats:

    form        lane                        column                          columns    registers
    32x32b      t                           r                               n          n
    16x64b      t / 4 + 8 (t % 2)           2 r + t / 2 % 2                 2 n        n
    16x128b     t / 4 + 8 (r % 2)           4 (r / 2) + t % 4               4 n        2 n
    16x256b     t / 4 + 8 (r / 2 % 2)       8 (r / 4) + 2 (t % 4) + r % 2   8 n        4 n
    16x32bx2    t % 16                      r + (t / 16) split              n, twice   n

counted from the lane and the column of the address. A form of 16 lanes reads one half of a warp's lanes. With
pack::16b (unpack::16b of st) a register has the low halves of two neighbouring columns, of twice as many.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tilewise.core.axes import Axis
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.hardware.digits import Digit, layout_of, without_ones
from tilewise.hardware.sources import ptx
from tilewise.hardware.tcgen05.addresses import COLUMNS

PTX_LOADS = ptx("tcgen05.ld", "tcgen05-instructions-tcgen05-ld")
PTX_STORES = ptx("tcgen05.st", "tcgen05-instructions-tcgen05-st")

LANE, REG = Axis("laneid"), Axis("reg")
MOST_REGISTERS = 128

Digits = tuple[Digit, ...]
"""The digits of an index, the slowest first."""


@dataclass(frozen=True, slots=True)
class Form:
    """One row of the table: the words of one repeat in registers.

        postcondition  `layout(n)` places word [lane, column] where the table has it

    >>> print(FORMS["16x64b"].layout(4))
    S[((2, 8), (4, 2)) : ((1@laneid, 4@laneid), (1@reg, 2@laneid))]
    >>> print(FORMS["32x32b"].layout(8, packed=True))
    S[(32, (8, 2)) : (1@laneid, (2@reg, 1@reg))]
    """

    name: str
    lanes: int
    rows: Digits
    """The digits of a lane of tensor memory."""
    columns: Digits
    """The digits of a column inside one repeat; empty where it has one column."""
    registers: int
    """Registers of a repeat."""
    halves: bool = False
    """True if it reads two parts of the row, `split` columns apart."""

    @classmethod
    def of(cls, form: Form | str) -> Form:
        """Return the form of that name.

        >>> Form.of(".16x256b").repeats[-1]
        32
        """
        if isinstance(form, Form):
            return form
        name = str(form).lower().removeprefix(".")
        if name not in FORMS:
            raise LayoutError(
                "TW601", f"tcgen05.ld and tcgen05.st have no form {form}", hint=f"known: {' '.join(FORMS)}"
            )
        return FORMS[name]

    @property
    def width(self) -> int:
        """Return the columns of one repeat."""
        return prod(extent for extent, _ in self.columns)

    def span(self, packed: bool = False) -> int:
        """Return the columns that one repeat takes: twice as many where registers are packed."""
        return self.width * (2 if packed else 1)

    @property
    def repeats(self) -> tuple[int, ...]:
        """Return the legal repeats: powers of two, up to 128 registers."""
        return tuple(1 << i for i in range(8) if self.registers << i <= MOST_REGISTERS)

    def check_repeat(self, repeat: int | str) -> int:
        """Return the repeats, or refuse them with the legal most.

        >>> Form.of("16x256b").check_repeat("x64")
        Traceback (most recent call last):
        tilewise.Refused: TW602: 16x256b is not repeated 64 times
          hint: x1 to x32, powers of two: a lane has 128 registers of an instruction at most
        """
        spelled = str(repeat).lower().removeprefix(".").removeprefix("x")
        count = as_int(int(spelled), "the repeats") if spelled.isdecimal() else 0
        if count not in self.repeats:
            raise Refused(
                "TW602",
                f"{self.name} is not repeated {spelled} times",
                witness={"form": self.name, "repeat": spelled},
                hint=f"x1 to x{self.repeats[-1]}, powers of two: a lane has {MOST_REGISTERS} registers of an "
                "instruction at most",
            )
        return count

    def layout(self, repeat: int, packed: bool = False) -> Layout:
        """Return words, or packed halves, [lane, column] over laneid and reg; of two parts [lane, part,
        column].
        """
        along = self.columns_of(self.check_repeat(repeat), packed)
        parts = [((2, self.lanes @ LANE),)] if self.halves else []
        return layout_of(*map(without_ones, (self.rows_of(packed), *parts, along)))

    def rows_of(self, packed: bool = False) -> Digits:
        """Return the digits of a lane of tensor memory; registers count halves where they are packed."""
        return _doubled(self.rows) if packed else self.rows

    def columns_of(self, repeats: int, packed: bool = False) -> Digits:
        """Return the digits of a column, for repeats that follow one another in columns and registers.

        >>> Form.of("16x128b").columns_of(3)
        ((3, 2@reg), (4, 1@laneid))
        """
        along: Digits = ((repeats, self.registers @ REG), *self.columns)
        return (*_doubled(along), (2, 1 @ REG)) if packed else along

    def check_split(self, split: int | None, repeat: int, packed: bool = False) -> int | None:
        """Return the columns from the first half to the second; None where there are no halves."""
        span = repeat * self.span(packed)
        if not self.halves:
            if split is not None:
                raise LayoutError("TW601", f"{self.name} reads no second half", hint="16x32bx2 does")
            return None
        found = span if split is None else as_int(split, "split")
        if not 0 <= found <= COLUMNS - span:
            raise LayoutError(
                "TW203",
                f"a second half {found} columns on ends outside tensor memory",
                hint=f"0 to {COLUMNS - span}",
            )
        return found


def _doubled(digits: Digits) -> Digits:
    """Return digits whose registers count halves."""
    return tuple((extent, step * 2 if step[REG] else step) for extent, step in digits)


FORMS = {
    form.name: form
    for form in (
        Form("32x32b", 32, ((32, 1 @ LANE),), (), 1),
        Form("16x64b", 16, ((2, 1 @ LANE), (8, 4 @ LANE)), ((2, 2 @ LANE),), 1),
        Form("16x128b", 16, ((2, 1 @ REG), (8, 4 @ LANE)), ((4, 1 @ LANE),), 2),
        Form("16x256b", 16, ((2, 2 @ REG), (8, 4 @ LANE)), ((4, 1 @ LANE), (2, 1 @ REG)), 4),
        Form("16x32bx2", 16, ((16, 1 @ LANE),), (), 1, halves=True),
    )
}
"""{name: form}."""


def instruction(store: bool, form: Form | str, repeat: int, packed: bool = False) -> str:
    """Return the instruction by PTX's name.

    >>> instruction(False, "16x64b", 8, packed=True), instruction(True, "32x32b", 1)
    ('tcgen05.ld.sync.aligned.16x64b.x8.pack::16b.b32', 'tcgen05.st.sync.aligned.32x32b.x1.b32')
    """
    form = Form.of(form)
    halves = f".{'unpack' if store else 'pack'}::16b" if packed else ""
    name = "st" if store else "ld"
    return f"tcgen05.{name}.sync.aligned.{form.name}.x{form.check_repeat(repeat)}{halves}.b32"
