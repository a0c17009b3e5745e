"""A form of tcgen05.ld or tcgen05.st over all words: the instructions of a warp, and the fragment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tilewise.check.tensor_memory.words import COLUMN, CTA, PART, ROW, WARP, WARPGROUP, Words
from tilewise.core.axes import Axis
from tilewise.core.errors import Refused
from tilewise.core.layout import Layout
from tilewise.core.vectors import Vector, as_vector
from tilewise.hardware.limits import LANES
from tilewise.hardware.tcgen05.addresses import WARP_LANES, WARPS, Address
from tilewise.hardware.tcgen05.datapaths import SLAB
from tilewise.hardware.tcgen05.loads import FORMS, Digits, Form, instruction

REGISTER = Axis("register", storage=True)
"""A register of 32 bits."""
LANE, REG = Axis("laneid"), Axis("reg")

THREAD_REGISTERS = 255
"""Registers of a thread, at most."""


@dataclass(frozen=True, slots=True)
class Move:
    """One instruction of a way, which every warp executes with its own lanes.

    >>> from tilewise.hardware.tcgen05.datapaths import DataPath
    >>> d = DataPath.of(64).accumulator(32, slab=1) + 128 @ Axis("TCol")
    >>> print(Way(Words.of(d, "f32"), FORMS["16x64b"]).moves[0].address(2))
    0x00500080
    """

    way: Way
    lane: int
    """The first lane, counted from the first of the warp: 0, or 16."""
    column: int
    """The first."""
    repeat: int
    register: int
    """The register of the fragment that its first register is; the others follow."""
    round: int
    """The number of its round: registers of one round are filled at one time."""

    @property
    def form(self) -> Form:
        """Return the form of its way."""
        return self.way.form

    @property
    def registers(self) -> int:
        """Return the number of registers that it fills, or stores."""
        return self.repeat * self.form.registers

    @property
    def words(self) -> str:
        """Return the instruction by PTX's name."""
        return instruction(self.way.store, self.form, self.repeat, self.way.packed)

    def address(self, warp: int) -> Address:
        """Return the address that a warp names, by its number in the CTA: its lanes are those of w % 4."""
        lane, column = self.way.words.groups.begin(warp // WARPS)
        return Address(WARP_LANES * (warp % WARPS) + self.lane + lane, self.column + column)


@dataclass(frozen=True)
class Way:
    """A form over all words.

        requires       `problem` is empty
        postcondition  after `moves`, the register and the bits that `fragment` says hold each element

    >>> from tilewise.hardware.tcgen05.datapaths import DataPath
    >>> d = Words.of(DataPath.of(64).accumulator(32), "f32")
    >>> way = Way(d, FORMS["16x256b"])
    >>> print(way.fragment, way.registers)
    S[((4, 2, 8), (4, 4, 2)) : ((1@wid_in_wg, 2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))] 16
    >>> [(move.words, move.column) for move in way.moves]
    [('tcgen05.ld.sync.aligned.16x256b.x4.b32', 0)]
    """

    words: Words
    form: Form
    packed: bool = False
    split: int | None = None
    """Columns from the first half of 16x32bx2 to the second."""
    store: bool = False

    @property
    def name(self) -> str:
        """Return the project's name of the form."""
        more = ("unpack" if self.store else "pack") + "::16b" if self.packed else ""
        return " ".join(word for word in (self.form.name, more) if word)

    @property
    def problem(self) -> str:
        """Return the reason why the form does not move exactly these words; empty where it does."""
        columns = len(self.words.columns)
        block = self.form.span(self.packed) if self.split is None else 2 * self.split
        if self.form.halves and not self.split:
            return f"it moves two halves, of which each has columns, and {columns} has none that it takes"
        if columns % block:
            return f"it moves {block} columns at a time, of which {columns} is no multiple"
        if self.store and self.stored != self.words.filled:
            return (
                f"it would write {self.stored} words of {len(self.words.warps)} warps, of which "
                f"{self.words.filled} have elements"
            )
        if not self._is_layout:
            return f"what it makes of the digits of {self.words.layout} is no layout"
        return ""

    @property
    def lanes(self) -> tuple[int, ...]:
        """Return the first lane of each of its instructions."""
        return (0,) if self.form.lanes == LANES else tuple(SLAB * slab for slab in self.words.slabs)

    @property
    def stored(self) -> int:
        """Return the number of words that a store writes."""
        return len(self.words.warps) * self.form.lanes * len(self.lanes) * len(self.words.columns)

    @property
    def of_a_slab(self) -> int:
        """Return the number of registers for the words of one half of the lanes, or of all of them."""
        return len(self.words.columns) // self.form.span(self.packed) * self.form.registers // self._halves

    @property
    def _halves(self) -> int:
        return 2 if self.form.halves else 1

    @property
    def registers(self) -> int:
        """Return the number of registers of a thread, all together."""
        return self.of_a_slab * len(self.lanes)

    # -- places of elements ------------------------------------------------------------------------

    @cached_property
    def placed(self) -> Layout:
        """Return each element's CTA, warp, lane, register and part of the register."""
        inner = self.words.places + as_vector(-self.words.columns[0] @ COLUMN)
        if self.form.lanes == SLAB and self.lanes[0]:
            inner = inner + as_vector(-SLAB @ ROW)
        modes = (
            ((self.words.ctas, 1 @ CTA),),
            ((self.words.groups.numbers[-1] + 1, 1 @ WARPGROUP),),
            ((WARPS, 1 @ WARP),),
            self._rows,
            self._columns,
            ((self.words.parts, 1 @ PART),),
        )
        shape = tuple(tuple(extent for extent, _ in digits) for digits in modes)
        outer = Layout(shape, tuple(step for digits in modes for _, step in digits))
        return outer.compose(
            inner, modes=tuple(str(axis) for axis in (CTA, WARPGROUP, WARP, ROW, COLUMN, PART))
        )

    @property
    def _is_layout(self) -> bool:
        """Return True if the digits of the elements have steps: halves of columns may cut a digit."""
        try:
            return self.placed.size > 0
        except Refused:
            return False

    @cached_property
    def fragment(self) -> Layout:
        """Return the fragment over wid_in_wg, laneid and reg, in TCol's unit; over wgid too where warpgroups
        share.
        """
        if {"register", "part"} & {str(axis) for axis in self.placed.axes}:
            fused = self.placed.fuse_axes((REGISTER, self.words.parts, PART), REG)
        else:
            fused = self.placed
        return fused.coalesce(by_mode=True)

    @property
    def _rows(self) -> Digits:
        digits = _in_registers(self.form.rows_of(), 1)
        return digits if self.form.lanes == LANES else ((2, self.of_a_slab @ REGISTER), *digits)

    @property
    def _columns(self) -> Digits:
        columns, each = len(self.words.columns), self.form.span(self.packed)
        if self.split is None:
            digits = self.form.columns_of(columns // each, self.packed)
        else:
            run = self.split // each
            digits = ((columns // self.split // 2, run @ REG), (2, SLAB @ LANE), (run, 1 @ REG))
            digits = (*_scaled(digits, 2), (2, 1 @ REG)) if self.packed else digits
        return _in_registers(digits, self.words.parts) if self.packed else _in_registers(digits, 1)

    # -- instructions ------------------------------------------------------------------------------

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        """Return the fewest instructions of a warp, in rounds that fit into its registers."""
        found: list[Move] = []
        round, held = 0, 0
        for column, register, repeat in self._chunks():
            for number, lane in enumerate(self.lanes):
                held += repeat * self.form.registers
                if held > THREAD_REGISTERS:
                    round, held = round + 1, repeat * self.form.registers
                first = number * self.of_a_slab + register
                found.append(Move(self, lane, self.words.columns[0] + column, repeat, first, round))
        return tuple(found)

    @property
    def rounds(self) -> int:
        """Return the number of times that registers are filled: once, where there are enough."""
        return self.moves[-1].round + 1

    def _chunks(self) -> Iterator[tuple[int, int, int]]:
        """Yield (column, register, repeats), column and register counted from the first."""
        each, columns = self.form.span(self.packed), len(self.words.columns)
        run = columns if self.split is None else self.split
        for block in range(columns // run // self._halves):
            for at, repeat in _powers(run // each, self.form.repeats[-1]):
                column = block * run * self._halves + at * each
                yield column, (block * run // each + at) * self.form.registers, repeat


def _powers(count: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield (start, power of two up to `most`): the fewest that sum to a count, the largest first."""
    at = 0
    while at < count:
        size = min(most, 1 << (count - at).bit_length() - 1)
        yield at, size
        at += size


def _scaled(digits: Digits, by: int) -> Digits:
    return tuple((extent, step * by if step["reg"] else step) for extent, step in digits)


def _in_registers(digits: Digits, parts: int) -> Digits:
    """Return digits over REGISTER, where `reg` counts registers; over PART too, where it counts halves."""
    return tuple((extent, _in_register(step, parts)) for extent, step in digits)


def _in_register(step: Vector, parts: int) -> Vector:
    """Return a step of `reg` in registers, or in halves of registers of several parts."""
    count = step["reg"]
    if not count:
        return step
    if parts == 1:
        return as_vector(count @ REGISTER)
    if count % 2:
        return as_vector((parts // 2 * count) @ PART)
    return as_vector((count // 2) @ REGISTER)


def ways_of(
    words: Words, store: bool = False, form: Form | str | None = None, among: Layout | None = None
) -> Iterator[Way]:
    """Yield every form, packed where that is possible, with the split that takes the fewest instructions.

    `among` is a fragment, whose warpgroups share the words.
    """
    for one in FORMS.values() if form is None else (Form.of(form),):
        own = words if among is None else words.among(among, one.lanes)
        for packed in (False, True) if own.low_half else (False,):
            split = len(own.columns) // 2 if one.halves else None
            if split is not None and split % one.span(packed):
                split = 0
            way = Way(own, one, packed, split, store)
            yield next((this for this in splits_of(way) if not this.problem), way)


def splits_of(way: Way) -> Iterator[Way]:
    """Yield the way with every split that is a power of two, the most columns first; or the way alone."""
    yield way
    each, half = way.form.span(way.packed), len(way.words.columns) // 2
    if way.split:
        powers = (each << bit for bit in reversed(range(half.bit_length())))
        for at in powers:
            if at < half and half % at == 0 and at != way.split:
                yield Way(way.words, way.form, way.packed, at, way.store)
