"""Which panels a layout is drawn in, by the axes on which it lives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from tilewise.core.axes import DEVICE, OWNER, STORAGE
from tilewise.core.layout import Layout
from tilewise.pictures.scene.lines import Line, along, banked, extent, of_index, packed, packs, wrapped
from tilewise.pictures.scene.logical import MOST_CELLS, MOST_PARTS, Logical
from tilewise.pictures.scene.model import COLUMN, ROW, Axis, Note, Panel

LANES = ("laneid", "tid_in_wg", "tx")
"""Owners that are rows of registers, the first of them that there is."""

TENSOR_MEMORY = ("TLane", "TCol")
TENSOR_LANES = 128
_ROW = 16
_NARROWEST, _WIDEST = 4, 64
_BROAD = 64
"""Blocks stand side by side as long as they have no more columns together."""


@dataclass(frozen=True, slots=True)
class Part:
    """What panels are chosen by."""

    layout: Layout
    logical: Logical
    axes: tuple[Axis, ...]
    bits: int | None
    base: int


def panels_of(part: Part) -> tuple[tuple[Panel, ...], tuple[Note, ...]]:
    """The panels of a scene, and why some are not drawn.

    >>> from tilewise import S
    >>> from tilewise.pictures.scene.logical import logical_of
    >>> layout = S[(8, 4, 2) : (4, 1, 32)]
    >>> part = Part(layout, logical_of(layout), (Axis("m", "storage", 0, 63),), 16, 0)
    >>> [(panel.kind, panel.cells) for panel in panels_of(part)[0]]
    [('index', (8, 8)), ('memory', (1, 32))]
    """
    panels, notes = [index_of(part.logical)], []
    for panel in _of_places(part):
        too_many = _too_many(panel)
        if too_many:
            text = f"{panel.kind} is not drawn: it has more than {too_many}; a window may have fewer"
            notes.append(Note("hint", text))
        else:
            panels.append(panel)
    if part.bits is not None and not packs(part.bits):
        notes.append(Note("hint", f"elements of {part.bits} bits fill no words: panels count elements"))
    return tuple(panels), tuple(notes)


def too_large(part: Part) -> dict[str, str]:
    """{kind: why} of the panels that `panels_of` leaves out.

    >>> from tilewise import S
    >>> from tilewise.pictures.scene.logical import logical_of
    >>> layout = S[8 : 1000000000]
    >>> too_large(Part(layout, logical_of(layout), (Axis("m", "storage", 0, 7 * 10**9),), None, 0))
    {'memory': '875000001 x 8 cells, and 1048576 are the most'}
    """
    found = {}
    for panel in _of_places(part):
        if _too_many(panel):
            (down, across), (rows, columns) = panel.blocks, panel.cells
            cells = f"{down * rows} x {across * columns} cells"
            many = prod(panel.blocks) * prod(panel.cells)
            room = f" with room for {many * panel.slots} elements, and {MOST_PARTS} are the most"
            said = f", and {MOST_CELLS} are the most" if many > MOST_CELLS else room
            found[panel.kind] = cells + said
    return found


def _too_many(panel: Panel) -> str:
    cells = prod(panel.blocks) * prod(panel.cells)
    if cells > MOST_CELLS:
        return f"{MOST_CELLS} cells"
    return f"room for {MOST_PARTS} elements" if cells * panel.slots > MOST_PARTS else ""


def _of_places(part: Part) -> Iterator[Panel]:
    devices = [axis for axis in part.axes if axis.kind == DEVICE]
    tensor = [axis for axis in part.axes if axis.name in TENSOR_MEMORY]
    owners = [axis for axis in part.axes if axis.kind == OWNER and axis not in tensor]
    storage = [axis for axis in part.axes if axis.kind == STORAGE and axis not in tensor]
    if devices:
        yield _mesh(part, devices, tensor, owners, storage)
        storage = storage[1:] if owners or not tensor else storage
        tensor = tensor if owners else []
    elif tensor:
        yield _tensor_memory(part, tensor, owners)
        tensor = []
    elif owners or any(axis.name == "reg" for axis in storage):
        storage = sorted(storage, key=lambda axis: axis.name != "reg")
        yield _registers(owners, storage[:1])
        storage = storage[1:]
    if tensor:
        yield _tensor_memory(part, tensor, [])
    for axis in storage:
        yield _memory(part, axis)


def index_of(logical: Logical) -> Panel:
    """The logical grid, or the part of it that is looked at; in a cell stand the places of its element."""
    rows = of_index(ROW, logical.rows, *logical.window[0])
    columns = of_index(COLUMN, logical.columns, *logical.window[1])
    panel = _panel("index", "index", "index", rows, columns)
    return replace(panel, row_name="row", column_name="column", text="places")


def _memory(part: Part, axis: Axis) -> Panel:
    called = "memory" if axis.name == "m" else axis.name
    if part.bits is not None and packs(part.bits) and axis.name != "reg" and part.layout.unit == "element":
        rows, columns = banked(axis, part.bits, 8 * part.base)
        wide = "128 bytes"
    else:
        rows, columns = wrapped(axis, _grid_width(part))
        wide = f"{_grid_width(part)} {part.layout.unit}s"
    return _panel(f"memory:{axis.name}", "memory", f"{called}, {wide} a row", rows, columns)


def _grid_width(part: Part) -> int:
    return part.logical.broad if _NARROWEST <= part.logical.broad <= _WIDEST else _ROW


def _registers(owners: Sequence[Axis], storage: Sequence[Axis]) -> Panel:
    lane, others = _lane(owners)
    if not storage and lane is not None and lane.name not in LANES:
        lane, storage, others = owners[0], owners[1:2], list(owners[2:])
    shown = [*([] if lane is None else [lane]), *storage[:1]]
    held = any(axis.name in ("reg", *LANES) for axis in shown)
    title = " by ".join(axis.name for axis in shown)
    rows, columns = along(shown[: lane is not None]), along(storage)
    blocks = _blocks(others, columns.extent)
    return _panel("registers", "registers" if held else "places", title, rows, columns, blocks)


def _lane(owners: Sequence[Axis]) -> tuple[Axis | None, list[Axis]]:
    """The owner that is the rows, and the others."""
    if not owners:
        return None, []
    known = [axis for name in LANES for axis in owners if axis.name == name]
    lane = known[0] if known else max(owners, key=extent)
    return lane, [axis for axis in owners if axis != lane]


def _blocks(owners: Sequence[Axis], columns: int) -> tuple[Line, Line]:
    """Blocks one below the other, and side by side: the innermost owner side by side where there is room."""
    inner, outer = along(owners[-1:]), along(owners[:-1])
    return (outer, inner) if inner.extent * columns <= _BROAD else (inner, outer)


def _tensor_memory(part: Part, tensor: Sequence[Axis], owners: Sequence[Axis]) -> Panel:
    rows, columns = _lanes_and_columns(tensor)
    title = "tensor memory"
    blocks = _blocks(owners, columns.extent)
    for axis in tensor:
        if axis.name == "TCol" and part.bits is not None and packs(part.bits):
            columns, title = packed(axis, part.bits), f"{title}, columns of 32 bits"
    return _panel("tensor-memory", "tensor memory", title, rows, columns, blocks)


def _lanes_and_columns(tensor: Sequence[Axis]) -> tuple[Line, Line]:
    """Rows and columns of tensor memory; all lanes that there are, where the axis is among them."""
    lanes = [
        replace(axis, low=0, high=TENSOR_LANES - 1) if 0 <= axis.low <= axis.high < TENSOR_LANES else axis
        for axis in tensor
        if axis.name == "TLane"
    ]
    return along(lanes), along([axis for axis in tensor if axis.name == "TCol"])


def _mesh(
    part: Part,
    devices: Sequence[Axis],
    tensor: Sequence[Axis],
    owners: Sequence[Axis],
    storage: Sequence[Axis],
) -> Panel:
    across = [axis for axis in devices if axis.name.endswith("_x")][:1] or list(devices[-1:])
    down = [axis for axis in devices if axis not in across]
    rows, columns, inside = Line(), Line(), ""
    if owners:
        lane, others = _lane(owners)
        assert lane is not None
        held = [*others, *storage[:1]]
        rows, columns = along([lane]), along(held)
        inside = " by ".join(axis.name for axis in (lane, *held))
    elif tensor:
        rows, columns = _lanes_and_columns(tensor)
        inside = "tensor memory"
    elif storage:
        rows, columns = wrapped(storage[0], _run(part, storage[0]))
        inside = "memory" if storage[0].name == "m" else storage[0].name
    title = "mesh " + " by ".join(axis.name for axis in (*down, *across))
    title = f"{title}, {inside} inside" if inside else title
    return _panel("mesh", "mesh", title, rows, columns, (along(down), along(across)))


def _run(part: Part, axis: Axis) -> int:
    """How wide the rows of a device's memory are: the smallest step of more than 1, which a row has."""
    steps = [
        abs(steps)
        for count, stride in part.layout.digits
        for own, steps in stride.terms
        if own.name == axis.name and count > 1 and abs(steps) > 1
    ]
    fitting = [wide for wide in steps if _NARROWEST <= wide <= _WIDEST]
    return min(fitting) if fitting else _grid_width(part)


def _panel(
    identity: str,
    kind: str,
    title: str,
    rows: Line,
    columns: Line,
    blocks: tuple[Line, Line] = (Line(), Line()),
) -> Panel:
    below, side = blocks
    return Panel(
        id=identity,
        kind=kind,
        title=title,
        blocks=(below.extent, side.extent),
        cells=(rows.extent, columns.extent),
        row=rows.rule,
        column=columns.rule,
        block_row=below.rule,
        block_column=side.rule,
        slot=columns.slot,
        slots=columns.slots,
        row_name=rows.name,
        column_name=columns.name,
        block_name=", ".join(filter(None, (below.name, side.name))),
        text="index",
        width=columns.width,
        row_heads=rows.heads,
        column_heads=columns.heads,
        block_row_heads=below.heads,
        block_column_heads=side.heads,
    )
