"""Find the nearest tiles that an engine reads, with the change that leads to each, the cheapest first.

nothing    the bytes stay: they are read by another spelling, another index, another transpose bit
address    the tile stays as it is, elsewhere in shared memory
tma        TMA writes it: the contiguous direction stays, the box, its order or the swizzle changes
copy       elements change their direction, and threads have to move them
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from heapq import merge
from math import lcm

from tilewise.check.diagnose import past_the_end, widths
from tilewise.check.operand import Near, Reason, major_name, mode_name
from tilewise.core.digits import merged
from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.hardware.modes import CHUNK, Mode
from tilewise.hardware.operands.template import ORDERS, tile_digits
from tilewise.hardware.tma.rules import MAX_BOX, SHARED_ALIGNMENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewise.check.fitting import Fit, Question
    from tilewise.check.operand import SharedTile
    from tilewise.core.layout import Layout

COSTS = ("nothing", "address", "tma", "copy")
"""The changes that lead to a tile, the cheapest first."""

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
"""{fault that one change mends: (cost, words for the change)}."""

_FEW_BOXES = {"k": "mn", "mn": "k"}
"""{major: the order of atoms in which a box takes a whole column of them}."""

_ABOUT_SWIZZLES = ("swizzle-unit", "no-swizzle", "swizzle-strides", "swizzle")


def nearest(question: Question, reasons: Sequence[Reason]) -> tuple[Near, ...]:
    """Return the nearest tiles that are read, the cheapest first.

    postcondition  each is legal for the question's operand and type
    """
    mended = sorted(_mended(question, reasons), key=_cost)
    wrong_shape = any(reason.rule in ("rows", "k") for reason in reasons)
    if mended and mended[0][0].cost in ("nothing", "address") and not wrong_shape:
        return tuple([near for near, _ in mended[:SHOWN]])
    found: dict[object, Near] = {}
    for near, tile in merge(mended, _tiles(question, reasons), key=_cost):
        found.setdefault((tile.key, near.mode), near)
        if len(found) == SHOWN:
            break
    return tuple(found.values())


def _cost(one: tuple[Near, SharedTile]) -> int:
    return COSTS.index(one[0].cost)


def _legal(question: Question, cells: SharedTile) -> Fit | None:
    """Return the reading of a tile at an aligned address, or None."""
    aligned = replace(cells, base=0)
    if not cells.apart or past_the_end(question.engine, aligned):
        return None
    return question.fit(aligned, question.intake.majors)


# -- one fault mended ----------------------------------------------------------------------------------


def _mended(question: Question, reasons: Sequence[Reason]) -> Iterator[tuple[Near, SharedTile]]:
    """Yield the tile itself, where only the given size is at fault, and the tile with one fault mended."""
    cells = question.cells
    if question.said and cells.apart and not past_the_end(question.engine, cells):
        fit, layout = question.fit(), cells.layout("element")
        if fit and layout is not None:
            _, n, _ = question.intake.shape(fit.form.rows)
            what = "the tile as it is" + (f", with N = {n}" if cells.name == "B" else "")
            yield _near(layout, "nothing", fit, what, 0), cells
    for reason in reasons:
        cost, message = _REPAIRED.get(reason.rule, ("", ""))
        repaired: SharedTile | None = reason.repair
        if not cost or repaired is None or repaired.shape != cells.shape:
            continue
        fit, layout = _legal(question, repaired), repaired.layout("element")
        if fit is None or layout is None:
            continue
        moved = None if cost == "tma" else 0
        if cost == "tma" and not _tma_writes(fit):
            cost, message = "copy", f"{message}, by threads: TMA writes at multiples of {SHARED_ALIGNMENT} B"
        yield _near(layout, cost, fit, message, moved), repaired


def _near(layout: Layout, cost: str, fit: Fit, message: str, moved: int | None) -> Near:
    mode, major = fit.form.mode, fit.form.major
    return Near(layout, cost, f"{mode_name(mode)}, {major_name(major)}: {message}", mode, major, moved)


def _tma_writes(fit: Fit) -> bool:
    """Return True if TMA writes each atom of a tile at an aligned address: eight rows of it are a box."""
    form, size = fit.form, fit.form.cells.size
    (_, _, first), *_ = fit.parts
    at = [getattr(first, name) for name in ("lbo", "sbo") if name not in form.ignored]
    for mn, k, descriptor in fit.parts:
        before = k * form.cells.k if form.major == "k" else mn * form.rows
        at.append(descriptor.start - before * size % form.mode.width)
    return not any(byte % SHARED_ALIGNMENT for byte in at) and not any(
        one.base_offset for *_, one in fit.parts
    )


# -- tiles of atoms ------------------------------------------------------------------------------------


def _tiles(question: Question, reasons: Sequence[Reason]) -> Iterator[tuple[Near, SharedTile]]:
    """Yield the tiles of whole atoms that hold the operand, the cheapest first.

    In front are those that keep the contiguous direction, take few boxes, and have the mode most likely
    meant.
    """
    cells, intake, absolute = question.cells, question.intake, question.intake.absolute
    now = cells.contiguous()
    across = 0
    if cells.rows > 1 and cells.columns > 1:
        across = cells.step(1, 0) if now == "k" else cells.step(0, 1)
    told = (reason.mode for reason in reasons if reason.rule in _ABOUT_SWIZZLES and reason.mode)
    meant = next(told, widths(question, now).get(across))
    choices = [
        (major != now, order != _FEW_BOXES[major], mode is not meant, -mode.width, mode, major, order)
        for major in question.majors
        for mode in intake.modes[major]
        for order in ORDERS
    ]
    for *_, mode, major, order in sorted(choices, key=lambda choice: choice[:4]):
        element = DType.of("u8") if cells.elements > 1 else cells.row.dtype
        deep = lcm(intake.k, mode.elements(intake.dtype)) if absolute else intake.k
        rows, k = _rows(question, major), -(-cells.shape[1] // deep) * deep
        try:
            digits = tile_digits(mode, major, element, rows, k // cells.elements, order)
        except Refused:
            continue
        down, right = (merged([(extent, step // 8) for extent, step in own]) for own in digits)
        chain = (mode.swizzle,) if mode.bits else ()
        tile = replace(cells, digits=(down, right), start=0, outer=0, base=0, chain=chain)
        fit, layout = _legal(question, tile), tile.layout("element")
        if fit is None or layout is None:
            continue
        if major == now:
            cost, moved, how = "tma", None, _boxes(tile, mode, major, order)
        else:
            cost, moved = "copy", cells.moved(tile) if tile.shape == cells.shape else None
            count = "" if moved is None else f", {moved} of {cells.rows * cells.shape[1]}"
            how = f"a copy that moves elements{count}"
        yield _near(layout, cost, fit, "; ".join([*_changes(cells, tile, fit), how]), moved), tile


def _rows(question: Question, major: str) -> int:
    """Return the rows, up to those of whole instructions of whole chunks."""
    together = CHUNK // question.cells.size if major == "mn" else 1
    legal = [many for many in question.intake.rows if many % together == 0]
    return min((-(-question.cells.rows // many) * many for many in legal), default=question.cells.rows)


def _changes(cells: SharedTile, tile: SharedTile, fit: Fit) -> Iterator[str]:
    """Yield in words the differences of a tile from the one at hand."""
    for name, now, then in zip(("rows", "K"), cells.shape, tile.shape, strict=True):
        if now != then:
            yield f"{name} padded from {now} to {then}"
    form = fit.form
    if form.major == cells.contiguous():
        lines = "rows" if form.major == "k" else "columns of K"
        fields = [
            (f"{step.upper()} {{}} B", form.first_of(way, first))
            for way, first, extent, step in form.template.firsts
            if isinstance(step, str) and extent > 1
        ]
        steps = [(f"{lines} {{}} B apart", form.index(1, 0))]
        yield from [*_moved(cells, tile, steps)] or _moved(cells, tile, sorted(fields))
    if cells.chain != tile.chain:
        swizzle = form.mode.swizzle.scaled(8, tile.row.dtype.bits)
        yield f"{swizzle} on the addresses" if form.mode.bits else "the swizzle left out"


def _moved(cells: SharedTile, tile: SharedTile, named: list[tuple[str, tuple[int, int]]]) -> Iterator[str]:
    """Yield the steps that differ from the elements' present ones."""
    for name, (row, column) in named:
        if row < cells.rows and column < cells.columns:
            now, then = cells.step(row, column), tile.step(row, column)
            if now != then:
                yield f"{name.format(then)} instead of {now}"


def _boxes(tile: SharedTile, mode: Mode, major: str, order: str) -> str:
    """Return in words the boxes of TMA that write a tile: a mode's width along the major direction."""
    inner, (rows, k) = mode.width * 8 // tile.row.dtype.bits, tile.shape
    along, across = (k, rows) if major == "k" else (rows, k)
    deep = min(across, MAX_BOX) if order == _FEW_BOXES[major] else mode.rows
    boxes = along // inner * -(-across // deep)
    names = ("K", "rows") if major == "k" else ("rows", "K")
    return (
        f"TMA writes it in {boxes} box{'es' if boxes > 1 else ''} of {inner} {names[0]} x {deep} {names[1]}, "
        f"{mode.tma_name.removeprefix('CU_TENSOR_MAP_')}"
    )
