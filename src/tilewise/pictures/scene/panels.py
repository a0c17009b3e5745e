"""The panels in which a layout is drawn, by the axes on which it lives, and the colour of each element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from tilewise.core.axes import DEVICE, OWNER, STORAGE
from tilewise.core.layout import Layout
from tilewise.pictures.scene.lines import Line, along, banked, extent, filling, of_index, packed, wrapped
from tilewise.pictures.scene.logical import FAR, MOST_CELLS, MOST_PARTS, Logical
from tilewise.pictures.scene.model import COLUMN, ROW, Axis, Colour, Note, Panel, Term

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
    """The facts by which panels are chosen."""

    layout: Layout
    logical: Logical
    axes: tuple[Axis, ...]
    bits: int | None
    base: int


def panels_of(part: Part) -> tuple[list[Panel], list[Note]]:
    """Return the panels of a scene, and why some are not drawn.

    >>> from tilewise import S
    >>> from tilewise.pictures.scene.logical import logical_of
    >>> layout = S[(8, 4, 2) : (4, 1, 32)]
    >>> part = Part(layout, logical_of(layout), (Axis("m", "storage", 0, 63),), 16, 0)
    >>> [(panel.kind, panel.cells) for panel in panels_of(part)[0]]
    [('index', (8, 8)), ('memory', (1, 32))]
    """
    panels, notes = [index_of(part.logical)], []
    for panel in _of_places(part):
        cells = prod(panel.blocks) * prod(panel.cells)
        if cells > MOST_CELLS or cells * panel.slots > MOST_PARTS:
            most = f"{MOST_CELLS} cells" if cells > MOST_CELLS else f"room for {MOST_PARTS} elements"
            notes.append(
                Note("hint", f"{undrawn(panel.kind)}it has more than {most}; a window may have fewer")
            )
        else:
            panels.append(panel)
    if part.bits and not filling(part.bits):
        notes.append(Note("hint", f"elements of {part.bits} bits fill no words: panels count elements"))
    return panels, notes


def undrawn(kind: str) -> str:
    """Return the words with which the note on a panel that is too large begins."""
    return f"{kind} is not drawn: "


def _of_places(part: Part) -> Iterator[Panel]:
    tensor = [axis for axis in part.axes if axis.name in TENSOR_MEMORY]
    devices, owners, storage = (
        [axis for axis in part.axes if axis.kind == kind and axis not in tensor]
        for kind in (DEVICE, OWNER, STORAGE)
    )
    if devices:
        yield _mesh(part, devices, tensor, owners, storage)
        storage = storage[1:] if owners or not tensor else storage
        tensor = tensor if owners else []
        owners = []
    elif not tensor and (owners or any(axis.name == "reg" for axis in storage)):
        storage = sorted(storage, key=lambda axis: axis.name != "reg")
        yield _registers(owners, storage[:1])
        storage = storage[1:]
    if tensor:
        yield _tensor_memory(part, tensor, owners)
    for axis in storage:
        yield _memory(part, axis)


def index_of(logical: Logical) -> Panel:
    """Return the logical grid, or the window of it; cells show the places of their elements."""
    rows = of_index(ROW, logical.rows, *logical.window[0])
    columns = of_index(COLUMN, logical.columns, *logical.window[1])
    panel = _panel("index", "index", "index", rows, columns)
    return replace(panel, row_name="row", column_name="column", text="places")


def _memory(part: Part, axis: Axis) -> Panel:
    bits = filling(part.bits)
    if bits and axis.name != "reg" and part.layout.unit == "element":
        rows, columns = banked(axis, bits, 8 * part.base)
        wide = "128 bytes"
    else:
        rows, columns = wrapped(axis, _grid_width(part))
        wide = f"{_grid_width(part)} {part.layout.unit}s"
    return _panel(f"memory:{axis.name}", "memory", f"{_called(axis)}, {wide} a row", rows, columns)


def _called(axis: Axis) -> str:
    return "memory" if axis.name == "m" else axis.name


def _grid_width(part: Part) -> int:
    return part.logical.broad if _NARROWEST <= part.logical.broad <= _WIDEST else _ROW


def _registers(owners: Sequence[Axis], storage: Sequence[Axis]) -> Panel:
    lane, others = _lane(owners)
    if not storage and lane and lane[0].name not in LANES:
        lane, storage, others = owners[:1], owners[1:2], owners[2:]
    held = any(axis.name in ("reg", *LANES) for axis in (*lane, *storage))
    columns = along(storage)
    return _panel(
        "registers",
        "registers" if held else "places",
        _by(*lane, *storage),
        along(lane),
        columns,
        _blocks(others, columns.extent),
    )


def _by(*axes: Axis) -> str:
    return " by ".join(axis.name for axis in axes)


def _lane(owners: Sequence[Axis]) -> tuple[Sequence[Axis], Sequence[Axis]]:
    """Return the owner that is the rows, if there is one, and the others."""
    known = [axis for name in LANES for axis in owners if axis.name == name]
    lane = [*known, *sorted(owners, key=extent, reverse=True)][:1]
    return lane, [axis for axis in owners if axis not in lane]


def _blocks(owners: Sequence[Axis], columns: int) -> tuple[Line, Line]:
    """Return blocks below and beside each other: those of the innermost owner beside, where there is room."""
    inner, outer = along(owners[-1:]), along(owners[:-1])
    return (outer, inner) if inner.extent * columns <= _BROAD else (inner, outer)


def _tensor_memory(part: Part, tensor: Sequence[Axis], owners: Sequence[Axis]) -> Panel:
    rows, columns = _lanes_and_columns(tensor)
    title = "tensor memory"
    blocks = _blocks(owners, columns.extent)
    for axis in tensor:
        if axis.name == "TCol" and (bits := filling(part.bits)):
            columns, title = packed(axis, bits), f"{title}, columns of 32 bits"
    return _panel("tensor-memory", "tensor memory", title, rows, columns, blocks)


def _lanes_and_columns(tensor: Sequence[Axis]) -> tuple[Line, Line]:
    """Return rows and columns of tensor memory; all lanes that there are, where the axis is among them."""
    lanes, columns = ([axis for axis in tensor if axis.name == name] for name in TENSOR_MEMORY)
    if lanes and 0 <= lanes[0].low <= lanes[0].high < TENSOR_LANES:
        lanes = [replace(lanes[0], low=0, high=TENSOR_LANES - 1)]
    return along(lanes), along(columns)


def _mesh(
    part: Part,
    devices: Sequence[Axis],
    tensor: Sequence[Axis],
    owners: Sequence[Axis],
    storage: Sequence[Axis],
) -> Panel:
    across = [axis for axis in devices if axis.name.endswith("_x")][:1] or devices[-1:]
    down = [axis for axis in devices if axis not in across]
    rows, columns, inside = Line(), Line(), ""
    if owners:
        lane, others = _lane(owners)
        held = [*others, *storage[:1]]
        rows, columns, inside = along(lane), along(held), _by(*lane, *held)
    elif tensor:
        (rows, columns), inside = _lanes_and_columns(tensor), "tensor memory"
    elif storage:
        (rows, columns), inside = wrapped(storage[0], _run(part, storage[0])), _called(storage[0])
    title = f"mesh {_by(*down, *across)}" + (f", {inside} inside" if inside else "")
    return _panel("mesh", "mesh", title, rows, columns, (along(down), along(across)))


def _run(part: Part, axis: Axis) -> int:
    """Return how wide rows of a device's memory are: the smallest step of more than 1 that a row has."""
    strides = [stride for count, stride in part.layout.digits if count > 1]
    steps = [abs(steps) for stride in strides for moved, steps in stride.terms if moved.name == axis.name]
    return min((wide for wide in steps if _NARROWEST <= wide <= _WIDEST), default=_grid_width(part))


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


COLOURS = 8


def colour_of(layout: Layout, axes: Sequence[Axis], asked: str | None = None) -> Colour:
    """Return the colour by the axis of the question, else the one that tells most.

    That is the owner of most values, else the swizzled axis, else the first.

    >>> from tilewise import S, Swizzle, laneid, reg
    >>> colour_of(Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)], [Axis("m", "storage", 0, 511)]).words
    'by the chunks that the swizzle permutes'
    """
    swizzle = layout.swizzles[-1] if layout.swizzles else None
    swizzled = [axis for axis in axes if swizzle and axis.name == str(layout.swizzled_axis)]
    if asked is not None:
        axis = next(axis for axis in axes if axis.name == layout.axis(asked).name)
    else:
        owners = [axis for axis in axes if axis.kind != STORAGE]
        axis = max(owners, key=extent) if owners else (*swizzled, *axes)[0]
    if swizzle and swizzle.bits and axis in swizzled:
        chunk = min(swizzle.target & -swizzle.target, FAR)
        rule = Term(axis.name, divide=chunk, modulo=min(COLOURS, 1 << swizzle.bits))
        return Colour(rule, "by the chunks that the swizzle permutes")
    if axis.kind == STORAGE:
        rule = Term(axis.name, COLOURS * axis.low, scale=COLOURS, divide=extent(axis))
        more = f" in {COLOURS} bands"
    else:
        rule, more = Term(axis.name, axis.low, modulo=COLOURS), f" mod {COLOURS}"
    return Colour(rule, f"by {axis.name}" + more * (extent(axis) > COLOURS))
