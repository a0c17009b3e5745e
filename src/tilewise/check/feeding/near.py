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
from tilewise.check.feeding.fragments import OPERANDS
from tilewise.check.feeding.why import impossible
from tilewise.check.nearest import Near, contiguous_along, moved_elements, one_tile
from tilewise.check.operand import Operand, Reason
from tilewise.core.axes import m
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import ZERO, along
from tilewise.hardware.modes import CHUNK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.check.feeding.question import Question

COSTS = ("nothing", "address", "chunks", "copy")
"""What it takes, the cheapest first."""

SHOWN = 3
LINE = 128
"""Bytes that all banks of shared memory have side by side."""


def nearest(question: Question, reasons: Sequence[Reason], shown: int = SHOWN) -> tuple[Near, ...]:
    """The nearest layouts that matrices move, the cheapest first; none where no layout of the type is one.

    postcondition  each is moved by matrices, for the question's operand, shape and type
    """
    found: list[Near] = []
    for near in sorted(_candidates(question, reasons), key=lambda near: COSTS.index(near.cost)):
        if not any(one_tile(near, other) for other in found):
            found.append(near)
    return tuple(found[:shown])


def _candidates(question: Question, reasons: Sequence[Reason]) -> Iterator[Near]:
    if question.packed:
        return
    yield from _mended(question, reasons)
    if not any(reason.rule in ("fewer", "arch", "form", "lanes") for reason in reasons):
        yield from _dense(question)


# -- one fault mended ----------------------------------------------------------------------------------


def _mended(question: Question, reasons: Sequence[Reason]) -> Iterator[Near]:
    operand = question.operand
    rules = {reason.rule for reason in reasons}
    for reason in reasons:
        if reason.rule == "unit" and reason.repair is not None:
            yield from _near(question, reason.repair, "nothing", "the same numbers, read in their own unit")
        if reason.rule == "transposed" and reason.repair is not None:
            yield from _near(question, reason.repair, "nothing", "the same tile, with its modes swapped")
    if rules & {"base", "start"} or ("range" in rules and operand.base):
        moved = replace(operand.layout, offset=ZERO, outer=ZERO)
        yield from _near(question, moved, "address", "the tile as it is, at a multiple of 16 bytes")
    if "swizzle" in rules:
        swizzles = tuple(Swizzle(one.bits, max(4, one.base), one.shift) for one in operand.chain)
        try:
            kept = replace(operand.layout, swizzles=swizzles)
        except LayoutError:
            return
        yield from _near(
            question, kept, "chunks", "the same strides under a swizzle that keeps 16 bytes together"
        )


# -- dense tiles ---------------------------------------------------------------------------------------


def _dense(question: Question) -> Iterator[Near]:
    """Row by row, or column by column: padded so that eight rows meet all banks, or swizzled so."""
    operand = question.operand
    rows, columns = _padded(question)
    now = contiguous_along(operand)
    for major in ("k", "mn"):
        across, inside = (rows, columns) if major == "k" else (columns, rows)
        for layout, what in _ways(operand, across, inside):
            turned = layout if major == "k" else layout.permute(1, 0)
            cost = "chunks" if major == now else "copy"
            message = f"{what}{_grown(operand, rows, columns)}"
            yield from _near(question, turned, cost, message)


def _ways(operand: Operand, across: int, inside: int) -> Iterator[tuple[Layout, str]]:
    """Layouts in bytes [across, inside] whose rows are contiguous, each with words for it."""
    size = operand.size
    width = inside * size
    padded = -(-width // CHUNK) * CHUNK
    if padded // CHUNK % 2 == 0:
        padded += CHUNK
    swizzle = _swizzle(width)
    if swizzle is not None:
        layout = Layout((across, inside), (along(m, width), along(m, size)), unit="byte")
        if swizzle.bits:
            yield replace(layout, swizzles=(swizzle,)), f"rows of {width} B under {swizzle} on bytes"
        else:
            yield layout, f"rows of {width} B"
    if padded != width:
        layout = Layout((across, inside), (along(m, padded), along(m, size)), unit="byte")
        yield layout, f"rows padded from {width} to {padded} B"


def _swizzle(width: int) -> Swizzle | None:
    """The swizzle that spreads eight rows of so many bytes over all banks; None where rows are no power."""
    if width % CHUNK or width & (width - 1):
        return None
    chunks = min(width, LINE) // CHUNK
    bits = chunks.bit_length() - 1
    return Swizzle(bits, 4, max(3, width.bit_length() - 1 - 4))


def _padded(question: Question) -> tuple[int, int]:
    """Rows and cells of a row, up to whole instructions."""
    operand, fragment = question.operand, question.fragment
    rows = -(-operand.rows // fragment.rows) * fragment.rows
    return rows, -(-operand.columns // fragment.columns) * fragment.columns


def _grown(operand: Operand, rows: int, columns: int) -> str:
    names = OPERANDS[operand.name]
    grown = [
        f"{name} padded from {now * many} to {then * many}"
        for name, now, then, many in (
            (names[0], operand.rows, rows, 1),
            (names[1], operand.columns, columns, operand.elements),
        )
        if now != then
    ]
    return "".join(f"; {words}" for words in grown)


# -- proof ---------------------------------------------------------------------------------------------


def _near(question: Question, layout: Layout, cost: str, message: str) -> Iterator[Near]:
    """The answer, where matrices move that layout, in bytes, at an aligned address."""
    operand = replace(question.operand.with_layout(layout.coalesce(by_mode=True)), base=0)
    asked = replace(question, operand=operand, plainly=False)
    tile = None if impossible(asked) else asked.tile()
    found = asked.by_matrices(tile) if tile else None
    elements = operand.in_elements()
    if found is None or elements is None:
        return
    moved = 0 if cost in ("nothing", "address") else None
    if moved is None and operand.layout.size == question.operand.layout.size:
        moved = moved_elements(question.operand, operand.layout)
    yield Near(elements, cost, f"{named(found.form)}: {message}", moved=moved)
