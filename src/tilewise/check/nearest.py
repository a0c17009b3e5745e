"""The nearest tiles that wgmma reads, and what it takes to get there, the cheapest first.

nothing    the bytes stay: they are read by another spelling, another index, another transpose bit
address    the tile stays as it is, elsewhere in shared memory
tma        TMA writes it: the contiguous direction stays, the box, its order or the swizzle changes
copy       elements change their direction, and threads have to move them
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilewise.check.operand import Operand, Reason
from tilewise.check.strides import major_name, mode_name
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.hardware.modes import MODES, Mode
from tilewise.hardware.wgmma.instructions import M
from tilewise.hardware.wgmma.tiles import ORDERS, tile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewise.check.match import Question

COSTS = ("nothing", "address", "tma", "copy")
"""What it takes, the cheapest first."""

SHOWN = 3
BOX = 256
"""Most elements of a TMA box in one direction."""

_REPAIRED = {
    "unit": ("nothing", "the same numbers, read in their own unit"),
    "swizzle-unit": ("nothing", "the same tile, with its swizzle written for elements"),
    "transposed": ("nothing", "the same bytes, with the modes in the operand's order"),
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
    cost: str
    message: str
    mode: Mode
    major: str
    moved: int | None = None
    """Elements that live elsewhere than they did; None where they were not counted."""

    def __str__(self) -> str:
        return f"{self.layout}: {self.message}"


def nearest(question: Question, reasons: Sequence[Reason], shown: int = SHOWN) -> tuple[Near, ...]:
    """The nearest tiles that are read, the cheapest first.

    postcondition  each is legal for the question's operand and type
    """
    mended = list(_mended(question, reasons))
    if any(near.cost in ("nothing", "address") for near in mended):
        return tuple(mended[:shown])
    made = sorted(_tiles(question, _wanted_mode(question, reasons)), key=lambda ranked: ranked[0])
    found: list[Near] = []
    for near in (*mended, *(near for _, near in made)):
        if len(found) == shown:
            break
        if not any(_one_tile(near, other) for other in found):
            found.append(near)
    return tuple(found)


def _one_tile(near: Near, other: Near) -> bool:
    return near.layout.size == other.layout.size and near.layout.same(other.layout).answer is True


# -- one fault mended ----------------------------------------------------------------------------------


def _mended(question: Question, reasons: Sequence[Reason]) -> Iterator[Near]:
    operand = question.operand
    for reason in reasons:
        if reason.repair is None or reason.rule not in _REPAIRED:
            continue
        repaired = operand.with_layout(reason.repair)
        fit = _legal(question, repaired)
        layout = repaired.in_elements()
        if fit is None or layout is None:
            continue
        cost, message = _REPAIRED[reason.rule]
        mode, major = fit
        moved = 0 if cost != "tma" else _moved(operand, repaired.layout)
        yield Near(layout, cost, f"{mode_name(mode)}, {major_name(major)}: {message}", mode, major, moved)


def _legal(question: Question, operand: Operand) -> tuple[Mode, str] | None:
    """The mode and the major in which a tile at an aligned address is read."""
    from dataclasses import replace

    if operand.layout.injective.answer is not True:
        return None
    fit = question.fit(replace(operand, base=0), operand.row.majors)
    return None if fit is None else (fit.form.mode, fit.form.major)


# -- tiles of atoms ------------------------------------------------------------------------------------


def _tiles(question: Question, wanted: Mode | None) -> Iterator[tuple[tuple[int, ...], Near]]:
    """Every tile of whole atoms that holds the operand, with its rank."""
    operand = question.operand
    rows, k = _padded(question)
    major_now = contiguous_along(operand)
    for mode in MODES.values():
        for major in question.majors:
            for order in ORDERS:
                try:
                    layout = tile(mode, major, operand.row.dtype, rows, k, order)
                except Refused:
                    continue
                cost = "tma" if major == major_now else "copy"
                near = _near(question, layout, mode, major, order, cost)
                if near is None:
                    continue
                few_boxes = order == ("mn" if major == "k" else "k")
                rank = (COSTS.index(near.cost), int(not few_boxes), int(mode is not wanted), -mode.width)
                yield rank, near


def _near(question: Question, layout: Layout, mode: Mode, major: str, order: str, cost: str) -> Near | None:
    operand = question.operand
    try:
        other = operand.of(layout)
    except LayoutError:
        return None
    if _legal(question, other) is None:
        return None
    same_shape = (other.rows, other.columns) == (operand.rows, operand.columns)
    moved = _moved(operand, other.layout) if same_shape else None
    if moved == 0:
        cost = "nothing"
    changes = [*_padding(operand, other), *_changes(operand, other, mode, major)]
    how = _how(operand, other, mode, major, order, cost, moved)
    message = f"{mode_name(mode)}, {major_name(major)}: " + "; ".join([*changes, how])
    return Near(layout.coalesce(by_mode=True), cost, message, mode, major, moved)


def _padded(question: Question) -> tuple[int, int]:
    """Rows and K, in elements, up to whole instructions."""
    operand = question.operand
    k, deep = operand.columns * operand.elements, operand.row.k
    rows = operand.rows
    if operand.name == "A":
        return -(-rows // M) * M, -(-k // deep) * deep
    legal = operand.row.n if question.n is None else (question.n,)
    while all(rows % n for n in legal):
        rows += 1
    return rows, -(-k // deep) * deep


def _padding(operand: Operand, other: Operand) -> Iterator[str]:
    for name, now, then in (
        ("rows", operand.rows, other.rows),
        ("K", operand.columns * operand.elements, other.columns * other.elements),
    ):
        if now != then:
            yield f"{name} padded from {now} to {then}"


def _changes(operand: Operand, other: Operand, mode: Mode, major: str) -> Iterator[str]:
    """In words, what the tile has otherwise than the layout at hand."""
    if operand.rows < 2 or operand.columns < 2:
        return
    at = (1, 0) if major == "k" else (0, 1)
    name = "rows" if major == "k" else "columns of K"
    now, then = (side.plain(*at) - side.plain(0, 0) for side in (operand, other))
    if now != then:
        yield f"{name} {then} B apart instead of {now}"
    chains = [tuple(s for s in side.layout.swizzles if s.bits) for side in (operand, other)]
    if chains[0] != chains[1]:
        swizzle = mode.swizzle.scaled(8, other.row.dtype.bits)
        yield f"{swizzle} on the addresses" if mode.bits else "no swizzle"


def _how(
    operand: Operand, other: Operand, mode: Mode, major: str, order: str, cost: str, moved: int | None
) -> str:
    if cost == "nothing":
        return "every element is there already"
    if cost == "copy":
        count = (
            ""
            if moved is None
            else f", {moved * operand.elements} of {operand.layout.size * operand.elements}"
        )
        return f"a copy that moves elements{count}"
    inner, outer = mode.elements(other.row.dtype), other.rows
    k = other.columns * other.elements
    along, across = (k, other.rows) if major == "k" else (outer, k)
    whole = order == ("mn" if major == "k" else "k")
    deep = min(across, BOX) if whole else 8
    boxes = along // inner * -(-across // deep)
    names = ("K", "rows") if major == "k" else ("rows", "K")
    return (
        f"TMA writes it in {boxes} box{'es' if boxes > 1 else ''} of {inner} {names[0]} x {deep} {names[1]}, "
        f"{mode.tma_name.removeprefix('CU_TENSOR_MAP_')}"
    )


def _moved(operand: Operand, layout: Layout) -> int | None:
    """Elements that live elsewhere in another layout of the same shape."""
    identity = tuple(range(len(layout.shape)))
    found = operand.layout.relation(layout, permute=identity)
    if found.kind in ("same", "view"):
        return 0
    return found.moves.get("m")


# -- what the layout at hand is like -------------------------------------------------------------------


def contiguous_along(operand: Operand) -> str | None:
    """The major direction of a layout: that in which elements follow one another; None for neither."""
    for major, row, column in (("k", 0, 1), ("mn", 1, 0)):
        inside = row < operand.rows and column < operand.columns
        if inside and operand.plain(row, column) - operand.plain(0, 0) == operand.size:
            return major
    return None


def _wanted_mode(question: Question, reasons: Sequence[Reason]) -> Mode | None:
    """The mode that the layout's swizzle or its rows are meant for, if any is told."""
    for reason in reasons:
        if reason.rule in ("swizzle-unit", "no-swizzle", "swizzle-strides", "swizzle") and reason.mode:
            return reason.mode
    return None
