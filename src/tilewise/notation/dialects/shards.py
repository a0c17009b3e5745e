"""Shardings as layouts and back, for the dialects that say how a mesh of devices shares a tensor.

A dimension of the tensor is a list of cells, the slowest first: a cell on devices steps along an axis of the
mesh, and a cell inside the shard steps through its memory, which is row-major over all those cells. What no
cell of a dimension uses of the mesh holds copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from tilewise.core.axes import DEVICE, KNOWN, Axis, m
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import extents_of, leaves
from tilewise.core.vectors import Vector
from tilewise.notation.dialects.given import STRING, Reading, integer, layout_of_modes
from tilewise.notation.tokens import NAME, NUMBER, Cursor, Token

MAX_DEVICES = 1 << 16
"""The most devices of a mesh whose numbers are listed."""

GPU = Axis("gpuid")


@dataclass(frozen=True, slots=True)
class Cell:
    """A digit of a dimension: on devices, or inside the shard where `device` is None."""

    extent: int
    device: Vector | None = None

    @property
    def steps(self) -> Vector:
        """The step along devices: zero inside the shard."""
        return self.device or Vector()


@dataclass(frozen=True, slots=True)
class Sharding:
    """How devices share a tensor: the cells of each dimension, the copies, and the first device."""

    dimensions: tuple[tuple[Cell, ...], ...]
    copies: tuple[Cell, ...] = ()
    first: Vector = field(default_factory=Vector)

    @property
    def on_devices(self) -> list[Cell]:
        """The cells that step along devices, those of copies last."""
        return [
            cell
            for cells in (*self.dimensions, self.copies)
            for cell in cells
            if cell.device is not None and cell.extent > 1
        ]

    @property
    def layout(self) -> Layout:
        """The layout: a mode a dimension, and `m` inside the shard."""
        inside = prod(cell.extent for cells in self.dimensions for cell in cells if cell.device is None)
        modes: list[list[tuple[int, Vector | int]]] = []
        for cells in self.dimensions:
            mode: list[tuple[int, Vector | int]] = []
            for cell in cells:
                if cell.device is None:
                    inside //= cell.extent
                if cell.extent > 1:
                    mode.append((cell.extent, inside if cell.device is None else cell.device))
            modes.append(mode)
        copies = [(cell.extent, cell.steps) for cell in self.copies if cell.extent > 1]
        return layout_of_modes(modes, copies, self.first)

    def reading(self, shape: Sequence[int], dtype: DType | None = None, notes: Iterable[str] = ()) -> Reading:
        """Return what a text says, whose tensor has these extents."""
        layout = self.layout
        padded = tuple(extents_of(layout.shape)) if shape else ()
        return Reading(layout, dtype, tuple(shape) if padded != tuple(shape) else None, tuple(notes))


def tiled(shape: Sequence[int], cuts: Sequence[Sequence[Cell]], copies: Iterable[Cell] = ()) -> Sharding:
    """Return the sharding that cuts each dimension once into as many equal shards as there are devices.

    Where the number of shards does not divide an extent, a shard is the larger one, as XLA pads it.

    >>> tiled((15, 8), [[Cell(2, 1 @ GPU)], []]).layout
    S[((2, 8), 8) : ((1@gpuid, 8@m), 1@m)]
    """
    dimensions = []
    for extent, cut in zip(shape, cuts, strict=True):
        many = prod(cell.extent for cell in cut)
        dimensions.append((*cut, Cell(-(-extent // many))))
    return Sharding(tuple(dimensions), tuple(copies))


def check_extents(cursor: Cursor, shape: Sequence[int], span: tuple[int, int] | None = None) -> None:
    """Refuse a tensor that holds no element."""
    if any(extent < 1 for extent in shape):
        raise cursor.error("TW102", f"a tensor of {'x'.join(map(str, shape))} holds no element", span)


# -- meshes of named axes --------------------------------------------------------------------------


@dataclass(slots=True)
class Mesh:
    """The axes of a mesh with their extents, the slowest first, and what is used of each."""

    extents: dict[str, int]
    used: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def cell(self, cursor: Cursor, at: Token, name: str, before: int = 1, extent: int = 0) -> Cell:
        """Return an axis, or the part of it that has so many steps before it, and mark it as used."""
        if name not in self.extents:
            known = ", ".join(self.extents) or "no axis"
            raise cursor.error("TW007", f"the mesh has no axis {name!r}", at.span, f"it has {known}")
        whole = self.extents[name]
        span = cursor.since(at) if extent else at.span
        extent = extent or whole
        if before < 1 or extent < 1 or whole % (before * extent):
            raise cursor.error(
                "TW003",
                f"{name} has {whole} devices, which ({before}){extent} does not divide",
                span,
                "(before)extent: what lies before the part, and the part itself",
            )
        for other, its in self.used.setdefault(name, []):
            if other % (before * extent) and before % (other * its):
                raise cursor.error("TW003", f"{name} is used twice", span)
        self.used[name].append((before, extent))
        return self._part(name, before, extent)

    def _part(self, name: str, before: int, extent: int) -> Cell:
        return Cell(extent, self.extents[name] // (before * extent) @ Axis(name))

    def unused(self) -> list[Cell]:
        """Return what no dimension has used, axis by axis: it holds copies."""
        cells: list[Cell] = []
        for name, whole in self.extents.items():
            at = 1
            for before, extent in [*sorted(self.used.get(name, [])), (whole, 1)]:
                if before > at:
                    cells.append(self._part(name, at, before // at))
                at = max(at, before * extent)
        return cells


def checked_mesh(cursor: Cursor, named: Iterable[tuple[Token, str, int]]) -> Mesh:
    """Return the mesh of these axes; refuse a name twice, one with another meaning, and extent 0."""
    extents: dict[str, int] = {}
    for token, name, extent in named:
        if name in extents:
            raise cursor.error("TW003", f"the mesh has two axes {name!r}", token.span)
        if extent < 1:
            raise cursor.error("TW102", f"the axis {name} has {extent} devices", token.span)
        facts = KNOWN.get(name)
        if facts is not None and facts.kind != DEVICE:
            raise cursor.error(
                "TW103",
                f"{name} cannot be an axis of a mesh here: {facts.counts}",
                token.span,
                f"give it another name, such as mesh_{name}",
            )
        with cursor.blame(token):
            Axis(name)
        extents[name] = extent
    return Mesh(extents)


def axes_in_braces(cursor: Cursor, mesh: Mesh, quoted: bool = True) -> list[Cell]:
    """Take `{"x", "y":(2)2, ?}`: axes of a mesh and parts of them, whose names may stand without quotes."""
    opened = cursor.expect("{")
    cells: list[Cell] = []
    while cursor.next.text != "}":
        if cells:
            cursor.expect(",", opened)
        if cursor.accept("?"):
            break
        token, name = axis_name(cursor, quoted)
        before, extent = 1, 0
        if cursor.accept(":"):
            inside = cursor.expect("(")
            before = integer(cursor)
            cursor.expect(")", inside)
            extent = integer(cursor)
            if extent < 1:
                raise cursor.error("TW102", "a part of an axis has devices", cursor.since(token))
        cells.append(mesh.cell(cursor, token, name, before, extent))
    cursor.expect("}", opened)
    return cells


def axis_name(cursor: Cursor, quoted: bool) -> tuple[Token, str]:
    """Take the name of an axis, in quotes where they are asked for."""
    if not quoted and cursor.next.kind == NAME:
        token = cursor.take()
        return token, token.text
    if not quoted and cursor.next.kind != STRING:
        raise cursor.error("TW004", f"expected an axis, found {cursor.next}")
    return unquoted(cursor, "an axis")


def mesh_of_names(cursor: Cursor, let: Mapping[str, int]) -> Mesh:
    """Return the mesh whose axes were given as names with numbers."""
    return checked_mesh(cursor, [(cursor.next, name, extent) for name, extent in let.items()])


def unquoted(cursor: Cursor, what: str) -> tuple[Token, str]:
    """Take a quoted text: its token, and what is inside the quotes."""
    token = cursor.next
    if token.kind != STRING:
        raise cursor.error("TW004", f"expected {what} in quotes, found {token}")
    return cursor.take(), token.text[1:-1]


def tuple_of(cursor: Cursor) -> tuple[int, ...]:
    """Take `(2, 4)` or `(2,)`, as Python prints them.

    >>> from tilewise.notation.dialects.given import Given
    >>> tuple_of(Given("(2,)").cursor())
    (2,)
    """
    opened = cursor.expect("(")
    found: list[int] = []
    while cursor.next.text != ")":
        found.append(integer(cursor))
        if not cursor.accept(","):
            break
    cursor.expect(")", opened)
    return tuple(found)


# -- numbers of devices ----------------------------------------------------------------------------


def digits_of(values: Sequence[int]) -> list[tuple[int, int]] | int:
    """Return the digits (extent, stride), slowest first, that count through values from 0.

    Where no digits do, return the first position that those before it tell wrongly.

    >>> digits_of([0, 1, 4, 5]), digits_of([0, 1, 2, 4]), digits_of([0, 1, 4, 6])
    ([(2, 4), (2, 1)], 3, 3)
    """
    digits: list[tuple[int, int]] = []
    pitch = 1
    while len(values) > 1:
        step, run = values[1] - values[0], 2
        while run < len(values) and values[run] == values[0] + run * step:
            run += 1
        if len(values) % run:
            return run * pitch
        for at, value in enumerate(values):
            if value != values[at - at % run] + at % run * step:
                return at * pitch
        digits.insert(0, (run, step))
        values, pitch = values[::run], pitch * run
    return digits


def split_grid(numbers: Sequence[int], extents: Sequence[int]) -> list[list[tuple[int, int]]] | int:
    """Return the digits of every dimension of a grid of numbers.

    Where no digits count so, return the first position that those before it tell wrongly.

    >>> split_grid([0, 2, 1, 3], [2, 2]), split_grid([0, 1, 3, 2], [2, 2])
    ([[(2, 1)], [(2, 2)]], 3)
    """
    found: list[list[tuple[int, int]]] = []
    expected = [numbers[0]]
    for i, extent in enumerate(extents):
        pitch = prod(extents[i + 1 :])
        along = [numbers[at * pitch] - numbers[0] for at in range(extent)]
        digits = digits_of(along)
        if isinstance(digits, int):
            return digits * pitch
        found.append(digits)
        expected = [start + step for start in expected for step in along]
    return next((at for at, (a, b) in enumerate(zip(numbers, expected, strict=True)) if a != b), found)


def nested(cursor: Cursor) -> tuple[list[int], list[int]]:
    """Take numbers in nested brackets: (extents, numbers).

    >>> from tilewise.notation.dialects.given import Given
    >>> nested(Given("[[0, 1], [2, 3]]").cursor())
    ([2, 2], [0, 1, 2, 3])
    """
    start, numbers = cursor.next, list[int]()
    extents: list[int] = []
    counts: list[int] = []
    while True:
        if cursor.accept("["):
            counts.append(0)
            continue
        if not counts:
            raise cursor.error("TW004", f"expected numbers in brackets, found {cursor.next}")
        depth = len(counts)
        if cursor.next.kind == NUMBER or cursor.next.text == "-":
            if len(extents) == 0:
                extents = [0] * depth
            if depth != len(extents):
                raise cursor.error("TW003", "rows of numbers have one depth", cursor.since(start))
            numbers.append(integer(cursor))
            counts[-1] += 1
        if cursor.accept(","):
            continue
        while counts and cursor.accept("]"):
            row, depth = counts.pop(), len(counts)
            if not row or depth >= len(extents) or extents[depth] not in (0, row):
                raise cursor.error("TW003", "rows of numbers have one length", cursor.since(start))
            extents[depth] = row
            if counts:
                counts[-1] += 1
        if not counts:
            return extents, numbers
        if not cursor.accept(","):
            raise cursor.error("TW004", f"expected ',' or ']', found {cursor.next}")


# -- from a layout to a sharding -------------------------------------------------------------------


def sharding_of(layout: Layout, system: str) -> Sharding:
    """Return the sharding that a layout is, or refuse: TW008 with what the system cannot say."""
    if layout.swizzles or layout.unit != "element" or layout.outer.terms:
        raise _unsaid(system, "a layout in elements without swizzles")
    if layout.order != "row":
        layout = by_coordinates(layout)
    strides = iter(layout.strides)
    dimensions: list[list[Cell]] = []
    steps: list[tuple[int, int]] = []
    for mode in layout.shape:
        cells: list[Cell] = []
        for extent in leaves(mode):
            stride = next(strides).nonzero
            if extent == 1:
                continue
            device = _on_device(stride, extent, system)
            if device is None:
                steps.append((extent, stride["m"]))
            cells.append(Cell(extent, device))
        dimensions.append(cells)
    _check_inside(steps, system)
    copies = [
        Cell(it.extent, _on_device(it.stride.nonzero, it.extent, system) or it.stride.nonzero)
        for it in layout.replica
        if it.extent > 1
    ]
    if any(m in cell.steps.axes for cell in copies) or layout.offset["m"]:
        raise _unsaid(system, "copies on devices, and shards that begin at 0@m", "copies or an offset on m")
    copies.sort(key=lambda cell: [(axis.name, -step) for axis, step in cell.steps.terms])
    return Sharding(
        tuple(tuple(_merged(cells)) for cells in dimensions),
        tuple(_merged(copies)),
        layout.offset.nonzero,
    )


def _unsaid(system: str, wanted: str, found: str = "") -> LayoutError:
    return LayoutError("TW008", f"{system} says {wanted}" + (f", and this has {found}" if found else ""))


def _on_device(stride: Vector, extent: int, system: str) -> Vector | None:
    """Return the step of a digit along devices, or None where it is inside the shard."""
    if len(stride.terms) != 1:
        moving = f"a digit of {extent} that steps by {stride}"
        what = moving if stride.terms else "elements that share a place"
        raise _unsaid(system, "digits that each step on one axis", what)
    return None if stride.axes[0] == m else stride


def _check_inside(steps: Sequence[tuple[int, int]], system: str) -> None:
    expected = prod(extent for extent, _ in steps)
    for extent, step in steps:
        expected //= extent
        if step != expected:
            raise _unsaid(system, "shards that are row-major", f"a digit of {extent} that steps by {step}@m")


def _merged(cells: Sequence[Cell]) -> list[Cell]:
    """Return cells with those joined that count on in one axis."""
    joined: list[Cell] = []
    for cell in cells:
        last = joined[-1] if joined else None
        if last is not None and last.device is None and cell.device is None:
            joined[-1] = Cell(last.extent * cell.extent)
        elif last is not None and last.device and cell.device and last.device == cell.extent * cell.device:
            joined[-1] = Cell(last.extent * cell.extent, cell.device)
        else:
            joined.append(cell)
    return joined


def axes_of(sharding: Sharding, system: str, order: Iterable[str] = ()) -> dict[str, int]:
    """Return the axes of the mesh with their extents, in the order given, then as dimensions use them.

    refused  TW008 where the digits of an axis do not count through it, each device once
    """
    on_axis: dict[str, list[tuple[int, int]]] = {name: [] for name in order}
    for cell in sharding.on_devices:
        (axis, step), *_ = cell.steps.terms
        on_axis.setdefault(axis.name, []).append((step, cell.extent))
    if sharding.first.terms:
        raise _unsaid(system, "a tensor that begins on the first device", f"the offset {sharding.first}")
    extents: dict[str, int] = {}
    for name, digits in on_axis.items():
        if not digits:
            continue
        count = 1
        for step, extent in sorted(digits):
            if step != count:
                raise _unsaid(
                    system,
                    "a mesh whose devices are counted through once",
                    f"a step of {step}@{name} where {count}@{name} would be next",
                )
            count *= extent
        extents[name] = count
    return extents


def even(sharding: Sharding, system: str) -> None:
    """Refuse a dimension whose shards are dealt out in turns: its devices count within parts of the shard."""
    for dimension, cells in enumerate(sharding.dimensions):
        kinds = [cell.device is None for cell in cells]
        if kinds != sorted(kinds):
            raise LayoutError(
                "TW008",
                f"{system} gives every device one stretch of a dimension, and dimension {dimension}"
                " is dealt out in turns",
                hint="a _StridedShard of DTensor says this: --as dtensor",
            )
