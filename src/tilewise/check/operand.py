"""An operand in shared memory as digits: the byte of each element of [rows, K].

    cell (r, c) is at Sw(start + D_rows(r) + D_columns(c)) + outer + base

`match` computes with these integers alone, in bytes. Elements smaller than a byte share a cell: a cell holds
`elements` of them, and K counts cells.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from tilewise.core.axes import STORAGE, m
from tilewise.core.digits import halves, merged, value
from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.core.polynomials import LeftOpen, Stuck
from tilewise.core.shapes import extents_of, leaves, size_of
from tilewise.core.swizzles import Swizzle, apply_chain, undo_chain
from tilewise.core.vectors import along
from tilewise.hardware.modes import Mode
from tilewise.hardware.operands.stepping import PATTERNS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Protocol

    from tilewise.core.dtypes import DType
    from tilewise.core.errors import Refused
    from tilewise.hardware.engines import Engine, Intake

    Digits = list[tuple[int, int]]
    """(extent, bytes), slowest first."""

    class Row(Protocol):
        """A type's row in the table of an engine."""

        @property
        def name(self) -> str:
            """Return the type's name."""

        @property
        def dtype(self) -> DType:
            """Return the type of an element in memory."""

        @property
        def k(self) -> int:
            """Return the elements along the second mode that one instruction takes."""


OPERANDS = {"A": ("M", "K"), "B": ("N", "K"), "C": ("M", "N"), "D": ("M", "N")}
"""{operand: its two modes}. D is stored, the others are loaded."""

NOT_SHARED = {"reg": "registers", "TCol": "tensor memory"}
"""Storage that is no shared memory."""

MAX_LISTED = 1 << 12
"""The number of elements searched for the first two that share a byte."""


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason why a layout cannot be read: the broken rule, a sentence, and the witness."""

    rule: str
    message: str
    witness: Any = None
    hint: str = ""
    repair: SharedTile | None = None
    """The tile with this one fault mended, where that makes it legal."""
    mode: Mode | None = None
    """The mode that the author seems to mean."""

    @classmethod
    def of(cls, rule: str, no: Refused) -> Reason:
        """Return the reason that a refusal is."""
        return cls(rule, no.reason, no.witness, no.hint)

    def __str__(self) -> str:
        return self.message


class Unreadable(Exception):
    """A reason after which nothing else can be checked."""

    def __init__(self, *reasons: Reason) -> None:
        super().__init__(*reasons)
        self.reasons = reasons


@dataclass(frozen=True, slots=True)
class Near:
    """A tile that is read: in elements, with the cost and the changes that lead to it."""

    layout: Layout
    """Each mode has the fewest digits, and the fewest swizzles are kept."""
    cost: str
    message: str
    mode: Mode | None = None
    """The mode of the descriptor; None where lanes load matrices."""
    major: str = ""
    moved: int | None = None
    """Elements that threads have to move; None where they were not counted, or where TMA writes the tile."""

    def __str__(self) -> str:
        return f"{self.layout}: {self.message}"


@dataclass(frozen=True)
class Mismatch:
    """A tile that an engine does not take: the reasons, and the nearest tiles that it takes."""

    reasons: tuple[Reason, ...]
    search: Callable[[], tuple[Near, ...]] | None = field(default=None, repr=False, compare=False)
    """A function that finds the nearest tiles; None where the layout is no operand at all."""
    folded: bool = field(default=False, repr=False, compare=False)
    """True if the nearest layouts include the tile's address: they then count from address 0."""
    order: str = "row"
    """The order in which the tile was given."""

    legal = False

    def __str__(self) -> str:
        return "\n".join(f"{reason.rule}: {reason.message}" for reason in self.reasons)

    @cached_property
    def nearest(self) -> tuple[Near, ...]:
        """Return the nearest layouts that work, the cheapest first; none where names take cases for them."""
        try:
            found = self.search() if self.search else ()
        except (LeftOpen, Stuck):
            found = ()
        return tuple([replace(near, layout=near.layout.in_order(self.order)) for near in found])


# -- digits --------------------------------------------------------------------------------------------


def first_of(digits: Digits, many: int) -> Digits | None:
    """Return the digits of the first `many` numbers, or None where these end inside a digit.

    >>> first_of([(4, 100), (16, 2)], 48), first_of([(4, 100), (16, 2)], 24)
    ([(3, 100), (16, 2)], None)
    """
    kept = []
    for extent, step in reversed(digits):
        if extent < many and many % extent:
            return None
        kept.append((min(extent, many), step))
        many = max(1, many // extent)
    return merged(kept[::-1])


@dataclass(frozen=True)
class SharedTile:
    """[rows, K] in bytes of shared memory."""

    name: str
    row: Row
    digits: tuple[Digits, Digits]
    """The digits of the rows and those of the columns, as few as can be."""
    start: int = 0
    """The address of cell (0, 0) before the swizzle."""
    chain: tuple[Swizzle, ...] = ()
    """The swizzles on bytes, as written, without those that do nothing."""
    outer: int = 0
    base: int = 0
    """The tile's address, which the swizzle does not see."""
    elements: int = 1
    """Elements in a cell: 8 where they are bits."""

    @cached_property
    def rows(self) -> int:
        """Return the number of rows: M of A, N of B."""
        return prod(extent for extent, _ in self.digits[0])

    @cached_property
    def columns(self) -> int:
        """Return the number of cells along K."""
        return prod(extent for extent, _ in self.digits[1])

    @property
    def size(self) -> int:
        """Return the bytes of a cell."""
        return max(8, self.row.dtype.bits) // 8

    @property
    def k(self) -> int:
        """Return the cells along K that one instruction reads."""
        return self.row.k // self.elements

    @property
    def pattern(self) -> int:
        """Return the address at which the swizzle's pattern starts."""
        return self.outer + self.base

    def step(self, row: int, column: int) -> int:
        """Return the bytes from cell (0, 0) to another, before the swizzle."""
        return value(self.digits[1], column, value(self.digits[0], row, 0))

    def byte(self, row: int, column: int) -> int:
        """Return the address of a cell."""
        return apply_chain(self.chain, self.start + self.step(row, column)) + self.pattern

    def step_to(self, address: int) -> int:
        """Return the bytes from cell (0, 0) to a cell at an address, before the swizzle."""
        return undo_chain(self.chain, address - self.pattern) - self.start

    @property
    def high(self) -> int:
        """Return the largest address before the swizzle, its last byte included."""
        return max(self.ends) + self.pattern + self.size - 1

    @property
    def ends(self) -> tuple[int, int]:
        """Return the lowest and the highest address before the swizzle, counted from the pattern."""
        reach = [(extent - 1) * step for digits in self.digits for extent, step in digits]
        return self.start + sum(min(0, r) for r in reach), self.start + sum(max(0, r) for r in reach)

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of rows and of elements along K."""
        return self.rows, self.columns * self.elements

    def turned(self) -> SharedTile:
        """Return the same with its modes swapped."""
        return replace(self, digits=self.digits[::-1])

    def scaled(self, numerator: int, denominator: int) -> SharedTile | None:
        """Return the same with all its steps times a ratio, or None where one is then no whole number."""
        steps = [step for digits in self.digits for _, step in digits] + [self.start, self.outer]
        if any(step * numerator % denominator for step in steps):
            return None
        try:
            chain = tuple([swizzle.scaled(numerator, denominator) for swizzle in self.chain])
        except LayoutError:
            return None
        rows, columns = (
            [(extent, step * numerator // denominator) for extent, step in digits] for digits in self.digits
        )
        start, outer = (step * numerator // denominator for step in (self.start, self.outer))
        return replace(self, digits=(rows, columns), start=start, outer=outer, chain=chain)

    def layout(self, unit: str = "byte") -> Layout | None:
        """Return the layout of the cells in bytes, or of the elements, by the fewest digits.

        Return None where elements do not lie at whole elements. The base is left out.
        """
        cells, (rows, columns) = self, self.digits
        if unit == "element":
            counted = self.scaled(8, self.row.dtype.bits)
            if counted is None:
                return None
            cells, (rows, columns) = counted, counted.digits
            columns = merged([*columns, (self.elements, 1)])
        chain = cells.chain
        if len(chain) > 1:
            from tilewise.core.chains import normal_form

            chain = normal_form(chain)
        modes = [[extent for extent, _ in digits] for digits in (rows, columns)]
        return Layout(
            tuple([mode[0] if len(mode) == 1 else tuple(mode) or 1 for mode in modes]),
            tuple([along(m, step) for digits in (rows, columns) for _, step in digits or [(1, 0)]]),
            offset=along(m, cells.start),
            swizzles=chain,
            outer=along(m, cells.outer),
            unit=unit,
        )

    @property
    def apart(self) -> bool | None:
        """Return True if no two cells start at one byte; None where this was not decided."""
        reach = 0
        for step, extent in sorted((abs(step), extent) for digits in self.digits for extent, step in digits):
            if step <= reach:
                return self._layout.injective.answer
            reach += step * (extent - 1)
        return True

    @property
    def _layout(self) -> Layout:
        layout = self.layout()
        assert layout is not None
        return layout

    def check_apart(self) -> None:
        """Raise `NotDecided` where it is not decided if two cells share a byte."""
        if self.apart is None:
            bool(self._layout.injective)

    def reach(self) -> tuple[int, int]:
        """Return the first and the last byte of all cells."""
        low, high = self._layout.extremes()
        return low + self.base, high + self.base + self.size - 1

    @property
    def key(self) -> object:
        """Return a key that is equal for two tiles iff they place every cell alike before their swizzles."""
        rows, columns = (tuple(merged(digits)) for digits in self.digits)
        return rows, columns, self.start, self.outer

    def moved(self, other: SharedTile) -> int | None:
        """Return the number of elements that lie elsewhere in another tile of the same shape, or None."""
        cells = self._layout.relation(other._layout, permute=(0, 1)).moves.get("m", 0)
        return None if cells is None else cells * self.elements

    def contiguous(self) -> str | None:
        """Return the major direction in which elements follow one another, or None."""
        for major, extent, index in (("k", self.columns, (0, 1)), ("mn", self.rows, (1, 0))):
            if extent > 1 and self.step(*index) == self.size:
                return major
        return None


def not_contiguous(
    cells: SharedTile, found: tuple[int, int], steps: tuple[str, str], witness: object, hint: str
) -> Reason:
    """Return the reason of elements that follow one another in neither direction."""
    one, other = (f"{in_bytes(at, cells.size)} from {step}" for at, step in zip(found, steps, strict=True))
    wants = f"{cells.row.name} wants {cells.size} B in one of them"
    return Reason("contiguous", f"neither direction is contiguous: {one} and {other}; {wants}", witness, hint)


def overlap(cells: SharedTile) -> list[Reason]:
    """Return the reason that two elements share a byte, if that is decided."""
    if cells.apart is not False:
        return []
    first, second = first_shared(cells._layout) or sorted(cells._layout.injective.witness[:2])
    one, other = (
        (row, column * cells.elements)
        for row, column in (divmod(flat, cells.columns) for flat in (first, second))
    )
    at = cells.byte(*divmod(first, cells.columns))
    return [
        Reason(
            "overlap",
            f"elements {one} and {other} share byte {at}: the tile overlaps itself",
            {"elements": [list(one), list(other)], "byte": at},
            "every element of a tile needs bytes of its own",
        )
    ]


def first_shared(layout: Layout, most: int = MAX_LISTED) -> tuple[int, int] | None:
    """Return the first element at the place of an earlier one, after that one; among the first `most`.

    Places with names are not compared.

    >>> from tilewise import S
    >>> first_shared(S[(4, 4) : (3, 1)])
    (3, 4)
    """
    taken: dict[object, int] = {}
    for flat in range(0 if layout.has_names else min(layout.size, most)):
        earlier = taken.setdefault(layout.before_swizzle(flat), flat)
        if earlier != flat:
            return earlier, flat
    return None


# -- words ---------------------------------------------------------------------------------------------


def known_hint(name: object, known: Iterable[str]) -> str:
    """Return the known names as a hint, after the one that the user perhaps meant.

    >>> known_hint("tcgen5", ("wgmma", "tcgen05")), known_hint("abacus", ("k", "mn"))
    ('did you mean tcgen05? known: wgmma tcgen05', 'known: k mn')
    """
    from difflib import get_close_matches

    names = [*known]
    near = get_close_matches(str(name).lower(), names, n=1)
    return (f"did you mean {near[0]}? " if near else "") + "known: " + " ".join(names)


def mode_name(mode: Mode) -> str:
    """Return a mode as a sentence has it."""
    return f"{mode.name} mode" if mode.bits else "no swizzle"


def major_name(major: str) -> str:
    """Return a major as the documents have it."""
    return "K-major" if major == "k" else "MN-major"


def in_bytes(count: int, size: int) -> str:
    """Return bytes as text, with the number of elements of `size` bytes where these are larger than a byte.

    >>> in_bytes(136, 2), in_bytes(7, 2)
    ('136 B (68 elements)', '7 B')
    """
    if size == 1 or count % size:
        return f"{count} B"
    return f"{count} B ({count // size} element{'' if abs(count) == size else 's'})"


def check_place(base: int, pattern: str) -> None:
    """Refuse a base that is no address, and an unknown origin of the pattern."""
    if pattern not in PATTERNS:
        hint = "known: " + " ".join(PATTERNS)
        raise LayoutError("TW601", f"{pattern!r} is no origin of a pattern", hint=hint)
    if as_int(base, "a base") < 0:
        raise LayoutError("TW604", f"a base of {base} is no address", hint="addresses are 0 and more")


# -- from a layout -------------------------------------------------------------------------------------


def cells_of(
    layout: Layout, name: str, row: Row, elsewhere: tuple[str, str], base: int = 0, pattern: str = "tile"
) -> SharedTile:
    """Return the operand that a layout describes.

    With the pattern "address" the swizzle counts from address 0: it acts on the base too. `elsewhere` is the
    other storage of the operand, and the advice for a layout of it.

        refused  `Unreadable` where the layout is no [rows, K] of bytes in one memory, in one copy
    """
    offset = layout.offset
    if layout.replica:
        if layout.copies != 1:
            message = f"every element has {layout.copies} copies (R), and an address names one"
            hint = "match the layout without R, one copy at a time"
            raise Unreadable(Reason("copies", message, {"copies": layout.copies}, hint))
        offset = layout.canonical().offset
        layout = replace(layout, replica=(), offset=offset)
    axis = _one_memory(layout, elsewhere)
    if len(layout.shape) != 2:
        raise Unreadable(_rank(layout, name, row))
    bits, many = row.dtype.bits, max(1, 8 // row.dtype.bits)
    unit = {"element": bits, "byte": 8, "bit": 1}[layout.unit]
    strides = iter(layout.strides)
    rows, columns = (
        merged([(extent, next(strides)[axis] * unit) for extent in leaves((mode,))]) for mode in layout.shape
    )
    parts = halves(columns, many)
    together = merged([(many, 0 if layout.unit == "byte" else bits)])
    if parts is None or (many > 1 and merged(parts[1]) != together):
        if layout.unit == "byte":
            message = f"{many} {row.name} that follow along K are in several bytes"
            raise Unreadable(Reason("unit", message, hint="addresses count bytes"))
        raise Unreadable(_scattered(columns, row, many))
    start, base = offset[axis] * unit, 8 * base
    start, base = (start, base) if pattern == "tile" else (start + base, 0)
    try:
        chain = tuple([replace(one, axis=m).scaled(unit, 1) for one in layout.swizzles if one.bits])
        in_bits = SharedTile(name, row, (rows, parts[0]), start, chain, layout.outer[axis] * unit, base, many)
        whole = in_bits.scaled(1, 8)
    except LayoutError:
        whole = None
    if whole is None:
        message = (
            f"steps of {layout.unit}s that are no whole bytes: {row.name} elements do not lie at whole bytes"
        )
        raise Unreadable(Reason("unit" if many == 1 else "chunk", message, hint="addresses count bytes"))
    return replace(whole, base=base // 8)


def _one_memory(layout: Layout, elsewhere: tuple[str, str]) -> str:
    """Return the name of the one axis on which a layout moves."""
    moving = [layout.axis(name) for name in layout.moving]
    names = [axis.name for axis in moving]
    owners = [axis.name for axis in moving if axis.kind != STORAGE]
    others = {name: NOT_SHARED[name] for name in names if name in NOT_SHARED}
    if owners or others:
        what = ", ".join([*owners, *(f"{name} ({where})" for name, where in others.items())])
        home, hint = elsewhere
        hint = hint if home in others else "slice the layout of one owner's memory first"
        message = f"the layout moves on {what}: a tile is bytes of shared memory, on one storage axis"
        raise Unreadable(Reason("axis", message, {"axes": names}, hint))
    if len(moving) > 1:
        message = f"the layout moves on {' and '.join(names)}, and a tile lies in one memory"
        raise Unreadable(Reason("axis", message, {"axes": names}, "match each of them alone"))
    return names[0] if names else m.name


def departed(layout: Layout, deep: int) -> Layout | None:
    """Return the first stage [rows, K] of an operand that CuTe has partitioned, or None for other layouts.

    CuTe prints it as ((MN, K), mn, k), and stages last, of instructions of `deep` along K. Inside a mode CuTe
    counts the first digit fastest, and a layout here the last. So the first mode, read here, is (K, MN).

        postcondition  departed(layout, deep) at (mn * MN + i, k * K + j) is layout at (j * MN + i, mn, k, 0)

    >>> from tilewise import parse
    >>> print(departed(parse("((_64,_16),_2,_4,_3):((_64,_1),_4096,_16,_8192)").in_order("row"), 16))
    S[(128, 64) : (64, 1)]
    >>> departed(parse("S[(4, 128, 64) : (8192, 64, 1)]"), 16)
    """
    if len(layout.shape) not in (3, 4):
        return None
    first, *many = layout.shape
    if not isinstance(first, tuple) or len(first) != 2 or size_of(first[0]) != deep:
        return None
    strides = iter(layout.strides)
    columns, rows, many_rows, many_k = (
        (mode, [next(strides) for _ in leaves((mode,))]) for mode in (*first, *many[:2])
    )
    order = many_rows, rows, many_k, columns
    shape = (many_rows[0], rows[0]), (many_k[0], columns[0])
    moved = tuple(stride for _, own in order for stride in own)
    return layout.with_parts(shape, moved, layout.replica, layout.offset).coalesce(by_mode=True)


def _rank(layout: Layout, name: str, row: Row) -> Reason:
    extents = extents_of(layout.shape)
    wanted = f"[{', '.join(OPERANDS[name])}]"
    witness: dict[str, Any] = {"shape": list(extents)}
    tile = departed(layout, row.k)
    if tile is not None:
        rows = wanted[1]
        stages, what = (", stages", "its first stage") if len(extents) == 4 else ("", "it")
        partition = f"(({rows}, K), {rows.lower()}, k{stages})"
        shape = list(extents_of(tile.shape))
        hint = f"CuTe's partition {partition}? match a tile: {what}, {shape}, is {tile}"
    elif len(extents) == 3:
        hint = (
            "of several stages match one: tilewise algebra slice LAYOUT 0, "
            "or ':,:,0' where the last mode says which"
        )
    else:
        hint = f"give it the shape ({wanted[1:-1]}): tilewise algebra reshape"
        witness["modes"] = wanted[1:-1].split(", ")
    message = f"{name} is {wanted}, two modes, and the layout has {len(extents)}: {extents}"
    return Reason("rank", message, witness, hint)


def _scattered(columns: Digits, row: Row, many: int) -> Reason:
    """Return the reason that elements of one byte are apart; the digits count bits."""
    bits = row.dtype.bits
    for k in range(min(prod(extent for extent, _ in columns), many)):
        found, wanted = value(columns, k, 0), k * bits
        if found != wanted:
            counted = {8: "eight", 2: "two"}.get(many, str(many))
            return Reason(
                "chunk",
                f"{counted} {row.name} elements along K share a byte: k = {k} is {found} bits "
                f"from k = 0, wanted {wanted}",
                {"element": k, "found": found, "wanted": wanted},
                f"elements of one byte are read along K: lay {row.name} out with K contiguous",
            )
    extent = prod(extent for extent, _ in columns)
    message = f"K of {extent} {row.name} ends inside a byte: {row.name} elements do not stay together"
    return Reason("chunk", message, hint=f"{many} of them fill a byte")


# -- of engines with descriptors -----------------------------------------------------------------------


def intake_of(engine: Engine, dtype: DType | str, operand: str, asked: Mapping[str, Any]) -> Intake:
    """Return the part of an engine's instructions that these options select; options of None are left out.

    >>> from tilewise.hardware.engines import engine
    >>> intake_of(engine("wgmma"), "bf16", "B", {"n": 96}).rows
    (96,)
    >>> intake_of(engine("wgmma"), "bf16", "B", {"cta_group": 2})
    Traceback (most recent call last):
    tilewise.LayoutError: TW601: wgmma takes no cta_group
      hint: it takes n
    """
    said = {name: value for name, value in asked.items() if value is not None}
    for name in said:
        if name not in engine.options:
            raise LayoutError(
                "TW601",
                f"{engine.name} takes no {name}",
                hint=f"it takes {', '.join(engine.options)}",
            )
    return engine.intake(dtype, operand, **said)


def pair_notes(intake: Intake, rows: int, one: int) -> tuple[str, ...]:
    """Return a note on a tile of `rows` in one CTA of a pair, where an instruction reads only `one` of them.

    >>> from tilewise.hardware.engines import engine
    >>> of_pair = engine("tcgen05").intake("bf16", "A", m=256, cta_group=2)
    >>> pair_notes(of_pair, 128, 128), len(pair_notes(of_pair, 256, 128))
    ((), 1)
    """
    if intake.ctas == 1 or rows <= one:
        return ()
    whole = f"{'M' if intake.operand == 'A' else 'N'} = {one * intake.ctas}"
    return (
        f"the tile is one CTA's: of {whole} each CTA of the pair has {one} rows, "
        f"and {rows} take {rows // one} instructions",
    )
