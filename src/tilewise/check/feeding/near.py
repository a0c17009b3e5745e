"""The nearest layouts that matrices move, and what it takes to get there, the cheapest first.

nothing    the bytes stay: they are read in another unit, or with the modes swapped
address    the tile stays as it is, elsewhere in shared memory
chunks     the contiguous direction stays: who fills the tile writes its 16 bytes elsewhere
copy       the contiguous direction changes: elements move one by one
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilewise.check.feeding.forms import named
from tilewise.check.feeding.why import impossible
from tilewise.check.operand import OPERANDS, Near, Reason, SharedTile
from tilewise.core.errors import LayoutError
from tilewise.core.swizzles import Swizzle
from tilewise.hardware.modes import CHUNK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.check.feeding.question import Question
    from tilewise.core.layout import Layout

COSTS = ("nothing", "address", "chunks", "copy")
"""What it takes, the cheapest first."""

SHOWN = 3
LINE = 128
"""Bytes that all banks of shared memory have side by side."""


def nearest(question: Question, reasons: Sequence[Reason], shown: int = SHOWN) -> tuple[Near, ...]:
    """Return the nearest layouts that matrices move, the cheapest first.

    postcondition  each is moved by matrices, for the question's operand, shape and type
    """
    found: list[Near] = []
    candidates = [] if question.packed else [*_mended(question, reasons), *_dense(question, reasons)]
    for cost, cells, message in sorted(candidates, key=lambda one: COSTS.index(one[0])):
        near = _near(question, cost, cells, message)
        if near is not None and not any(_one_tile(near.layout, other.layout) for other in found):
            found.append(near)
    return tuple(found[:shown])


def _one_tile(layout: Layout, other: Layout) -> bool:
    return layout.size == other.size and layout.same(other).answer is True


def _mended(question: Question, reasons: Sequence[Reason]) -> Iterator[tuple[str, SharedTile, str]]:
    """Yield the tile with one fault mended."""
    cells, rules = question.cells, {reason.rule for reason in reasons}
    for reason in reasons:
        if reason.rule == "unit" and reason.repair is not None:
            yield "nothing", reason.repair, "the same numbers, read in their own unit"
        if reason.rule == "transposed" and reason.repair is not None:
            yield "nothing", reason.repair, "the same tile, with its modes swapped"
    if rules & {"base", "start"} or ("range" in rules and cells.base):
        yield "address", replace(cells, start=0, outer=0), "the tile as it is, at a multiple of 16 bytes"
    if "swizzle" in rules:
        try:
            chain = tuple([Swizzle(one.bits, max(4, one.base), one.shift) for one in cells.chain])
        except LayoutError:
            return
        message = "the same strides under a swizzle that keeps 16 bytes together"
        yield "chunks", replace(cells, chain=chain), message


def _dense(question: Question, reasons: Sequence[Reason]) -> Iterator[tuple[str, SharedTile, str]]:
    """Yield dense tiles, row by row or column by column: padded so that eight rows meet all banks,
    or swizzled so."""
    if any(reason.rule in ("fewer", "arch", "form", "lanes") for reason in reasons):
        return
    cells, size = question.cells, question.cells.size
    one = question.whole
    rows, columns = (
        -(-many // each) * each for many, each in zip((cells.rows, cells.columns), one, strict=True)
    )
    grown = "".join(
        f"; {name} padded from {now * many} to {then * many}"
        for name, now, then, many in (
            (OPERANDS[cells.name][0], cells.rows, rows, 1),
            (OPERANDS[cells.name][1], cells.columns, columns, cells.elements),
        )
        if now != then
    )
    for major in ("k", "mn"):
        across, inside = (rows, columns) if major == "k" else (columns, rows)
        cost = "chunks" if major == cells.contiguous() else "copy"
        width = inside * size
        padded = -(-width // CHUNK) * CHUNK
        padded += CHUNK if padded // CHUNK % 2 == 0 else 0
        ways: list[tuple[int, tuple[Swizzle, ...], str]] = []
        if width % CHUNK == 0 and not width & (width - 1):  # a swizzle spreads eight rows over all banks
            bits = (min(width, LINE) // CHUNK).bit_length() - 1
            swizzle = Swizzle(bits, 4, max(3, width.bit_length() - 1 - 4))
            ways.append(
                (
                    width,
                    (swizzle,) if bits else (),
                    f"rows of {width} B" + (f" under {swizzle} on bytes" if bits else ""),
                )
            )
        if padded != width:
            ways.append((padded, (), f"rows padded from {width} to {padded} B"))
        for far, chain, message in ways:
            tile = replace(cells, digits=([(across, far)], [(inside, size)]), start=0, outer=0, chain=chain)
            yield cost, tile if major == "k" else tile.turned(), message + grown


def _near(question: Question, cost: str, cells: SharedTile, message: str) -> Near | None:
    """Return the answer, where matrices move a tile at an aligned address."""
    cells = replace(cells, base=0)
    asked = replace(question, cells=cells, plainly=False)
    found = None if impossible(asked) else asked.by_matrices(asked.tile())
    elements = cells.layout("element")
    if found is None or elements is None:
        return None
    moved = 0 if cost in ("nothing", "address") else None
    if moved is None and cells.rows * cells.columns == question.cells.rows * question.cells.columns:
        moved = question.cells.moved(cells)
    return Near(elements, cost, f"{named(found.form)}: {message}", moved=moved)
