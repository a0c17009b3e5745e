"""The nearest tiles that an engine reads, and what it takes to get there, the cheapest first.

nothing    the bytes stay: they are read by another spelling, another index, another transpose bit
address    the tile stays as it is, elsewhere in shared memory
tma        TMA writes it: the contiguous direction stays, the box, its order or the swizzle changes
copy       elements change their direction, and threads have to move them
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from heapq import merge
from math import lcm

from tilewise.check.diagnose import past_the_end
from tilewise.check.fitting import whole_chunks
from tilewise.check.operand import Operand, Reason
from tilewise.check.strides import major_name, mode_name, step, widths
from tilewise.core.algebra.swizzling import swizzle_chain
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.hardware.modes import Mode
from tilewise.hardware.tma.rules import MAX_BOX, SHARED_ALIGNMENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewise.check.fitting import Fit, Part
    from tilewise.check.match import Question

    Choice = tuple[Mode, str, str]
    """(mode, major, order of atoms)."""

COSTS = ("nothing", "address", "tma", "copy")
"""What it takes, the cheapest first."""

_ABOUT_SWIZZLES = ("swizzle-unit", "no-swizzle", "swizzle-strides", "swizzle")

SHOWN = 3

_REPAIRED = {
    "unit": ("nothing", "the same numbers, read in their own unit"),
    "swizzle-unit": ("nothing", "the same tile, with its swizzle in the unit of its strides"),
    "major": ("nothing", "the tile as it is, with the other transpose bit"),
    "base": ("address", "the tile as it is, at an address that its pattern allows"),
    "start": ("address", "the tile as it is, from another start"),
    "range": ("address", "the tile as it is, at an address that descriptors name"),
    "no-swizzle": ("tma", "the same strides, swizzled as it is written"),
    "swizzle": ("tma", "the same strides under the swizzle of their mode"),
    "swizzle-strides": ("tma", "the same strides under the swizzle of their mode"),
}
"""What mends a fault that one change mends."""


@dataclass(frozen=True, slots=True)
class Near:
    """A tile that is read: in elements, with what it costs to get there and what changes."""

    layout: Layout
    """Each of its modes by the fewest digits that say it, its swizzles by the fewest that are they."""
    cost: str
    message: str
    mode: Mode | None = None
    """That of a descriptor; None where matrices are loaded by lanes."""
    major: str = ""
    moved: int | None = None
    """Elements that threads have to move; None where they were not counted, or where TMA writes the tile."""

    def __post_init__(self) -> None:
        chain = swizzle_chain(self.layout.swizzles)
        object.__setattr__(self, "layout", replace(self.layout, swizzles=chain).coalesce(by_mode=True))

    def __str__(self) -> str:
        return f"{self.layout}: {self.message}"


def nearest(question: Question, reasons: Sequence[Reason], shown: int = SHOWN) -> tuple[Near, ...]:
    """The nearest tiles that are read, the cheapest first.

    postcondition  each is legal for the question's operand and type
    """
    mended = [*_as_it_is(question), *_mended(question, reasons)]
    if mended and _rank(mended[0]) < COSTS.index("tma") and not _shape_is_wrong(reasons):
        return tuple(mended[:shown])
    found: list[Near] = []
    tiles = _tiles(question, _wanted_mode(question, reasons))
    for near in merge(sorted(mended, key=_rank), tiles, key=_rank):
        if not any(one_tile(near, other) for other in found):
            found.append(near)
        if len(found) == shown:
            break
    return tuple(found)


def _rank(near: Near) -> int:
    return COSTS.index(near.cost)


def _shape_is_wrong(reasons: Sequence[Reason]) -> bool:
    return any(reason.rule in ("rows", "k") for reason in reasons)


def one_tile(near: Near, other: Near) -> bool:
    """Whether two answers are the same tile."""
    return near.layout.size == other.layout.size and near.layout.same(other.layout).answer is True


# -- one fault mended ----------------------------------------------------------------------------------


def _as_it_is(question: Question) -> Iterator[Near]:
    """The tile itself, where only what was asked of the instruction is at fault."""
    operand = question.operand
    layout = operand.in_elements()
    if not question.said or layout is None or operand.layout.injective.answer is not True:
        return
    fit = None if past_the_end(question.engine, operand) else question.fit()
    if fit is not None:
        mode, major = fit.form.mode, fit.form.major
        _, n, _ = question.intake.shape(fit.form.rows)
        what = "the tile as it is" + (f", with N = {n}" if operand.name == "B" else "")
        yield Near(layout, "nothing", f"{mode_name(mode)}, {major_name(major)}: {what}", mode, major, 0)


def _mended(question: Question, reasons: Sequence[Reason]) -> Iterator[Near]:
    operand = question.operand
    for reason in reasons:
        if reason.repair is None or reason.rule not in _REPAIRED:
            continue
        repaired = operand.with_layout(reason.repair)
        fit = _legal(question, repaired)
        layout = repaired.in_elements()
        if fit is None or layout is None or repaired.layout.size != operand.layout.size:
            continue
        cost, message = _REPAIRED[reason.rule]
        mode, major = fit.form.mode, fit.form.major
        moved = None if cost == "tma" else 0
        if cost == "tma" and not _tma_writes(repaired, fit):
            cost, message = "copy", f"{message}, by threads: TMA writes at multiples of {SHARED_ALIGNMENT} B"
        yield Near(layout, cost, f"{mode_name(mode)}, {major_name(major)}: {message}", mode, major, moved)


def _tma_writes(operand: Operand, fit: Fit) -> bool:
    """Whether TMA writes each atom of a tile at an aligned address: eight rows of it are a box."""
    form, first = fit.form, fit.descriptor

    def atom(part: Part) -> int:
        before = part.k * operand.k if form.major == "k" else part.mn * form.rows
        return part.descriptor.start - before * operand.size % form.mode.width

    steps = [getattr(first, name) for name in ("lbo", "sbo") if name not in form.ignored]
    aligned = all(at % SHARED_ALIGNMENT == 0 for at in (*map(atom, fit.parts), *steps))
    return aligned and not any(part.descriptor.base_offset for part in fit.parts)


def _legal(question: Question, operand: Operand) -> Fit | None:
    """How a tile is read at an aligned address; None where it is not."""
    if operand.layout.injective.answer is not True:
        return None
    aligned = replace(operand, base=0)
    return None if past_the_end(question.engine, aligned) else question.fit(aligned, question.intake.majors)


# -- tiles of atoms ------------------------------------------------------------------------------------


def _tiles(question: Question, wanted: Mode | None) -> Iterator[Near]:
    """The tiles of whole atoms that hold the operand, the cheapest first.

    In front are those whose contiguous direction stays, that few boxes write, in the wanted mode.
    """
    now = contiguous_along(question.operand)

    def rank(choice: Choice) -> tuple[bool, bool, bool, int]:
        mode, major, order = choice
        return major != now, order != _few_boxes(major), mode is not wanted, -mode.width

    for mode, major, order in sorted(_choices(question), key=rank):
        rows, k = _padded(question, mode, major)
        try:
            layout = question.engine.tile(mode, major, question.operand.row.dtype, rows, k, order)
        except Refused:
            continue
        near = _near(question, layout, (mode, major, order), "tma" if major == now else "copy")
        if near is not None:
            yield near


def _choices(question: Question) -> Iterator[Choice]:
    """Every mode of every major, in both orders of atoms, the narrowest first."""
    pairs = [(mode, major) for major in question.majors for mode in question.intake.modes[major]]
    for mode, major in sorted(pairs, key=lambda pair: pair[0].width):
        for order in question.engine.orders:
            yield mode, major, order


def _few_boxes(major: str) -> str:
    """The order of atoms in which a box takes a whole column of them."""
    return "mn" if major == "k" else "k"


def _near(question: Question, layout: Layout, choice: Choice, cost: str) -> Near | None:
    operand, (mode, major, order) = question.operand, choice
    try:
        other = operand.of(layout)
    except LayoutError:
        return None
    fit = _legal(question, other)
    if fit is None:
        return None
    same_shape = (other.rows, other.columns) == (operand.rows, operand.columns)
    moved = moved_elements(operand, other.layout) if same_shape and cost == "copy" else None
    changes = [*_padding(operand, other), *_changes(operand, other, fit)]
    how = _boxes(other, mode, major, order) if cost == "tma" else _copied(operand, moved)
    message = f"{mode_name(mode)}, {major_name(major)}: " + "; ".join([*changes, how])
    return Near(layout, cost, message, mode, major, moved)


def _padded(question: Question, mode: Mode, major: str) -> tuple[int, int]:
    """Rows and K, in elements, up to whole instructions; where LBO is an address, to whole atoms as well."""
    operand, intake = question.operand, question.intake
    k, deep = operand.columns * operand.elements, operand.row.k
    if intake.absolute:
        deep = lcm(deep, mode.elements(intake.dtype))
    rows, legal = operand.rows, [many for many in intake.rows if major == "k" or whole_chunks(operand, many)]
    while legal and all(rows % many for many in legal):
        rows += 1
    return rows, -(-k // deep) * deep


def _padding(operand: Operand, other: Operand) -> Iterator[str]:
    for name, now, then in (
        ("rows", operand.rows, other.rows),
        ("K", operand.columns * operand.elements, other.columns * other.elements),
    ):
        if now != then:
            yield f"{name} padded from {now} to {then}"


def _changes(operand: Operand, other: Operand, fit: Fit) -> Iterator[str]:
    """In words, what the tile has otherwise than the layout at hand."""
    form = fit.form
    mode, major = form.mode, form.major
    if major == contiguous_along(operand):
        across, name = ((1, 0), "rows") if major == "k" else ((0, 1), "columns of K")
        fields = (("LBO", form.lbo_at), ("SBO", form.sbo_at))
        steps = _steps(operand, other, [(f"{name} {{}} B apart", across)])
        yield from steps or _steps(operand, other, [(f"{field} {{}} B", at) for field, at in fields if at])
    if operand.chain != other.chain:
        swizzle = mode.swizzle.scaled(8, other.row.dtype.bits)
        yield f"{swizzle} on the addresses" if mode.bits else "the swizzle left out"


def _steps(operand: Operand, other: Operand, named: list[tuple[str, tuple[int, int]]]) -> list[str]:
    """The steps to some elements that are others now."""
    found = []
    for name, (row, column) in named:
        if row < operand.rows and column < operand.columns:
            now, then = step(operand, row, column), step(other, row, column)
            found += [f"{name.format(then)} instead of {now}"] if now != then else []
    return found


def _copied(operand: Operand, moved: int | None) -> str:
    count = "" if moved is None else f", {moved} of {operand.layout.size * operand.elements}"
    return f"a copy that moves elements{count}"


def _boxes(other: Operand, mode: Mode, major: str, order: str) -> str:
    """The boxes of TMA that write the tile: a mode's width along the major direction."""
    inner, k = mode.elements(other.row.dtype), other.columns * other.elements
    along, across = (k, other.rows) if major == "k" else (other.rows, k)
    deep = min(across, MAX_BOX) if order == _few_boxes(major) else mode.rows
    boxes = along // inner * -(-across // deep)
    names = ("K", "rows") if major == "k" else ("rows", "K")
    return (
        f"TMA writes it in {boxes} box{'es' if boxes > 1 else ''} of {inner} {names[0]} x {deep} {names[1]}, "
        f"{mode.tma_name.removeprefix('CU_TENSOR_MAP_')}"
    )


def moved_elements(operand: Operand, layout: Layout) -> int | None:
    """Elements that live elsewhere in another layout of the same shape; None where counting is too hard."""
    cells = operand.layout.relation(layout, permute=(0, 1)).moves.get("m", 0)
    return None if cells is None else cells * operand.elements


# -- what the layout at hand is like -------------------------------------------------------------------


def contiguous_along(operand: Operand) -> str | None:
    """The major direction of a layout: that in which elements follow one another; None for neither."""
    for major, row, column in (("k", 0, 1), ("mn", 1, 0)):
        inside = row < operand.rows and column < operand.columns
        if inside and step(operand, row, column) == operand.size:
            return major
    return None


def _wanted_mode(question: Question, reasons: Sequence[Reason]) -> Mode | None:
    """The mode that the layout's swizzle or its rows are meant for, if any is told."""
    operand = question.operand
    told = (reason.mode for reason in reasons if reason.rule in _ABOUT_SWIZZLES and reason.mode)
    major = contiguous_along(operand)
    inside = operand.rows > 1 and operand.columns > 1
    across = step(operand, *((1, 0) if major == "k" else (0, 1))) if inside else 0
    return next(told, widths(question, major).get(across))
