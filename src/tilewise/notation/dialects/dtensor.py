"""The placements of torch's DTensor, read and written.

    (Shard(dim=0), Replicate()) on DeviceMesh((dp=2, tp=4))

Each dimension of the mesh has a placement, and they act from left to right: Shard cuts what the placements
before have left of a dimension into as many chunks as the mesh has devices there. _StridedShard(dim, sf) cuts
it into sf pieces first, and every piece into chunks (torch/distributed/tensor/placement_types.py, _utils.py).
Meshes are read as torch 2.2 to 2.14 print them, and as sizes alone: `on (2, 4)`. The axes are the names of
the mesh; a mesh without names has the ranks along `gpuid`.

torch does not pad: chunks are as large as the first one, and the last ones are short or empty. Where the
short chunks of one cut would be cut anew in another way, no layout has the whole, and it is refused with an
element.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from tilewise.core.dtypes import DType, known_type
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.vectors import Vector
from tilewise.notation.dialects.annotations import skip_value
from tilewise.notation.dialects.device_meshes import DeviceMesh, device_mesh
from tilewise.notation.dialects.given import Given, Reading, integer, integers
from tilewise.notation.dialects.shards import (
    GPU,
    Cell,
    Sharding,
    axes_of,
    check_extents,
    checked_mesh,
    sharding_of,
)
from tilewise.notation.tokens import NAME, Cursor, Token

EXAMPLES = (
    Given(
        "DTensor(local_tensor=tensor([[0., 1.], [2., 3.]]), device_mesh=DeviceMesh((dp=2, tp=4), 'cuda',"
        " stride=(4, 1)), placements=(Shard(dim=0), Replicate()))",
        shape=(4, 2),
    ),
    Given("(_StridedShard(dim=0, sf=2), Shard(dim=0)) on DeviceMesh((dp=2, tp=2))", shape=(8, 8)),
    Given("[Shard(0), Shard(1)] on (2, 4)", shape=(16, 8)),
    Given(
        "(Replicate(), Shard(dim=1)) on DeviceMesh('cuda', [[0, 1], [2, 3]], mesh_dim_names=('dp', 'tp'))",
        shape=(16, 8),
    ),
    Given("Spec(f32[16, 8](S(0)[1]S(0)[0]R)) on DeviceMesh((2, 2, 2), 'cuda', stride=(4, 2, 1))"),
)

SYSTEM = "DTensor"
_UNEVEN = (
    "short chunks are not padded: on their ranks, m counts as in a whole chunk, and torch in what is there"
)
_LONG = {"S": "Shard", "_S": "_StridedShard", "R": "Replicate", "P": "Partial", "MaskP": "_MaskPartial"}
_SHARDS = ("Shard", "_StridedShard")
_SUMS = ("Partial", "_Partial", "_MaskPartial")


@dataclass(frozen=True, slots=True)
class _Placement:
    """What a dimension of the mesh does: nothing, or a cut of a dimension of the tensor."""

    token: Token
    dim: int | None = None
    pieces: int = 1
    order: int | None = None


def read(given: Given) -> Reading:
    """Return the layout of a tensor that placements share among the devices of a mesh."""
    cursor = given.cursor()
    start = cursor.next
    shape, dtype = given.shape, None
    mesh: DeviceMesh | None = None
    if start.text == "DTensor":
        mesh, placements = _dtensor(cursor)
    elif start.text == "Spec":
        placements, shape, dtype = _spec(cursor, shape)
    elif start.text in ("(", "["):
        placements = _placements(cursor)
    else:
        placements = _run_together(cursor)
    span = cursor.since(start)
    if shape is None:
        shape = given.needs_shape("a DTensor's placements")
    check_extents(cursor, shape)
    if mesh is None and cursor.accept("on"):
        mesh = device_mesh(cursor)
    cursor.expect_end("the text of the placements", "a mesh follows: on DeviceMesh((dp=2, tp=4))")
    if mesh is None:
        if not given.let:
            hint = "write it beside, ... on (2, 4), or say its axes: --let dp=2 --let tp=4"
            raise cursor.error("TW007", "the placements have no mesh", span, hint)
        named = checked_mesh(cursor, [(start, *item) for item in given.let.items()])
        mesh = DeviceMesh([[named.cell(cursor, start, name)] for name in named.extents])
    if len(placements) != len(mesh.dimensions):
        count = len(mesh.dimensions)
        raise cursor.error(
            "TW003", f"{len(placements)} placements, and the mesh has {count} dimensions", span
        )
    return _reading(cursor, placements, mesh, shape, dtype)


def _dtensor(cursor: Cursor) -> tuple[DeviceMesh, list[_Placement]]:
    """Take `DTensor(local_tensor=..., device_mesh=DeviceMesh(...), placements=(...))`."""
    cursor.take()
    opened = cursor.expect("(")
    mesh, placements = None, None
    while cursor.next.text != ")":
        word = cursor.next
        if cursor.ahead(1).text == "=":
            cursor.take()
            cursor.take()
        if word.text in ("device_mesh", "mesh"):
            mesh = device_mesh(cursor)
        elif word.text == "placements":
            placements = _placements(cursor)
        else:
            skip_value(cursor)
        if not cursor.accept(","):
            break
    cursor.expect(")", opened)
    if mesh is None or placements is None:
        raise cursor.error("TW004", "a DTensor has device_mesh= and placements=", cursor.since(opened))
    return mesh, placements


def _spec(
    cursor: Cursor, shape: tuple[int, ...] | None
) -> tuple[list[_Placement], tuple[int, ...] | None, DType | None]:
    """Take `Spec(f32[16, 8](S(0)R))`."""
    cursor.take()
    opened = cursor.expect("(")
    dtype = known_type(cursor.take().text)
    if cursor.next.text == "[":
        shape = integers(cursor)
    inside = cursor.expect("(", opened)
    placements = _run_together(cursor)
    cursor.expect(")", inside)
    cursor.expect(")", opened)
    return placements, shape, dtype


def _placements(cursor: Cursor) -> list[_Placement]:
    """Take `(Shard(dim=0), Replicate())` or `[S(0), R]`."""
    opened = cursor.take()
    if opened.text not in ("(", "["):
        raise cursor.error("TW004", f"expected placements in brackets, found {opened}", opened.span)
    closing = ")" if opened.text == "(" else "]"
    found: list[_Placement] = []
    while cursor.next.text != closing:
        found.append(_placement(cursor, cursor.take()))
        if not cursor.accept(","):
            break
    cursor.expect(closing, opened)
    return found


def _run_together(cursor: Cursor) -> list[_Placement]:
    """Take `S(0)RR`, as torch writes placements in a row."""
    found: list[_Placement] = []
    while cursor.next.kind == NAME and cursor.next.text != "on":
        word = cursor.take()
        pieces = re.findall(r"MaskP|_S|[SRP]", word.text)
        if "".join(pieces) != word.text:
            pieces = [word.text]
        at = word.start
        for piece in pieces[:-1]:
            token = Token(NAME, piece, at, at + len(piece))
            if piece != "R":
                raise _no_placement(cursor, token)
            found.append(_Placement(token))
            at = token.end
        found.append(_placement(cursor, Token(NAME, pieces[-1], at, word.end)))
        cursor.accept(",")
    if not found:
        raise cursor.error("TW004", f"expected placements, found {cursor.next}")
    return found


def _no_placement(cursor: Cursor, token: Token) -> LayoutError:
    kind = _LONG.get(token.text, token.text)
    if kind in _SUMS:
        message = f"{kind} is no layout: every device holds a part of a sum, and no element is at a place"
        hint = "redistribute it to Shard or Replicate first"
        return cursor.error("TW008", message, token.span, hint)
    known = "known: Shard(dim), Replicate(), _StridedShard(dim, sf=n), and S(0), R, _S(0, 2)"
    return cursor.error("TW002", f"{token} is no placement", token.span, known)


def _placement(cursor: Cursor, token: Token) -> _Placement:
    """Take what follows the word of a placement."""
    kind = _LONG.get(token.text, token.text)
    if kind == "Replicate":
        if cursor.accept("("):
            cursor.expect(")", cursor.behind)
        return _Placement(token)
    if kind not in _SHARDS:
        raise _no_placement(cursor, token)
    opened = cursor.expect("(")
    values = {"dim": 0, "sf": 1}
    names = ["dim", "sf"] if kind == "_StridedShard" else ["dim"]
    seen: list[str] = []
    while cursor.next.text != ")":
        name = names[len(seen)] if len(seen) < len(names) else ""
        if cursor.next.kind == NAME:
            word = cursor.take()
            name = "sf" if word.text == "split_factor" else word.text
            if name not in names:
                raise cursor.error(
                    "TW002", f"{kind} has no {word}", word.span, f"it takes {' and '.join(names)}"
                )
            cursor.expect("=")
        if name not in names or name in seen:
            hint = f"{kind} takes {' and '.join(names)}"
            raise cursor.error("TW004", f"expected ')', found {cursor.next}", hint=hint)
        values[name] = integer(cursor)
        seen.append(name)
        if not cursor.accept(","):
            break
    cursor.expect(")", opened)
    if seen != names:
        raise cursor.error("TW004", f"{kind} takes {' and '.join(names)}", cursor.since(token))
    if values["sf"] < 1:
        raise cursor.error("TW102", "a split factor is positive", cursor.since(token))
    order = None
    if cursor.next.text == "[":
        order, *more = integers(cursor) or (None,)
        if more or order is None:
            raise cursor.error("TW004", "one number says which cut comes first", cursor.since(token))
    return _Placement(token, values["dim"], values["sf"], order)


# -- cuts ------------------------------------------------------------------------------------------


def _reading(
    cursor: Cursor,
    placements: Sequence[_Placement],
    mesh: DeviceMesh,
    shape: tuple[int, ...],
    dtype: DType | None,
) -> Reading:
    copies: list[Cell] = []
    cuts: list[list[tuple[_Placement, list[Cell]]]] = [[] for _ in shape]
    for placement, cells in zip(placements, mesh.dimensions, strict=True):
        if placement.dim is None:
            copies += cells
            continue
        if not -len(shape) <= placement.dim < len(shape):
            raise cursor.error(
                "TW003",
                f"Shard({placement.dim}) of a tensor of {len(shape)} dimensions",
                placement.token.span,
                "dimensions count from 0",
            )
        if prod(cell.extent for cell in cells) > 1:
            cuts[placement.dim].append((placement, cells))
    dimensions = []
    for dimension, (extent, ordered) in enumerate(zip(shape, map(_ordered, cuts), strict=True)):
        try:
            dimensions.append(_cut(dimension, extent, ordered))
        except Refused as refused:
            refused.span, refused.source = ordered[0][0].token.span, cursor.source
            raise
    found = Sharding(tuple(map(tuple, dimensions)), tuple(copies), mesh.first).reading(shape, dtype)
    return Reading(found.layout, dtype, found.box, (_UNEVEN,) if found.box else ())


def _ordered(cuts: list[tuple[_Placement, list[Cell]]]) -> list[tuple[_Placement, list[Cell]]]:
    """Return the cuts of a dimension in the order in which they act."""
    if any(placement.order is None for placement, _ in cuts):
        return cuts
    return sorted(cuts, key=lambda cut: cut[0].order or 0)


def _cut(dimension: int, extent: int, cuts: list[tuple[_Placement, list[Cell]]]) -> list[Cell]:
    """Return the cells of a dimension after its cuts."""
    cells = _cells(extent, cuts)
    if cells is None and len(cuts) == 1:
        placement, on = cuts[0]
        filled = -(-extent // -(-extent // placement.pieces))  # the pieces after these are empty
        cuts = [(replace(placement, pieces=filled), on)]
        cells = _cells(extent, cuts)
    if cells is not None:
        return cells
    levels = [many for placement, on in cuts for many in (placement.pieces, prod(c.extent for c in on))]
    chunk = extent
    for many in levels:
        chunk = -(-chunk // many)
    padded = _cells(chunk * prod(levels), cuts)
    if padded is None or (len(cuts) > 1 and any(placement.pieces > 1 for placement, _ in cuts)):
        raise Refused(
            "TW503",
            f"the cuts of dimension {dimension}, of {extent}, do not divide what is left of it",
            witness={"dimension": dimension, "extent": extent, "cuts": levels},
        )
    stray = _first_stray(extent, levels, chunk)
    if stray is not None:
        raise Refused(
            "TW510",
            f"index {stray} of dimension {dimension}, of {extent}, is in a chunk of another size: no layout"
            " has uneven chunks that are cut anew",
            witness={"dimension": dimension, "index": stray},
        )
    return padded


def _cells(extent: int, cuts: list[tuple[_Placement, list[Cell]]]) -> list[Cell] | None:
    """Return the cells of a dimension after its cuts, or None where one does not divide what is there."""
    cells = [Cell(extent)]
    for placement, devices in cuts:
        pieces = _split(cells, placement.pieces)
        if pieces is None:
            return None
        kept, rest = pieces
        chunks = _split(rest, prod(cell.extent for cell in devices))
        if chunks is None:
            return None
        taken, rest = chunks
        on = _along(devices, [cell.extent for cell in taken if cell.device is None])
        if on is None:
            return None
        cells = [*kept, *_exchanged(taken, on), *rest]
    return cells


def _exchanged(taken: list[Cell], on: list[Cell]) -> list[Cell]:
    """Return cells with those inside the shard exchanged for digits of devices that count as much."""
    left, found = list(on), list[Cell]()
    for cell in taken:
        if cell.device is not None:
            found.append(cell)
            continue
        many = cell.extent
        while many > 1:
            found.append(left.pop(0))
            many //= found[-1].extent
    return found


def _split(cells: list[Cell], many: int) -> tuple[list[Cell], list[Cell]] | None:
    """Return the cells that count the slowest `many` steps inside the shard, and the rest; or None.

    Cells on devices that lie between them go along.
    """
    front: list[Cell] = []
    for at, cell in enumerate(cells):
        if many == 1:
            return front, cells[at:]
        if cell.device is not None:
            front.append(cell)
        elif many % cell.extent == 0:
            front.append(cell)
            many //= cell.extent
        elif cell.extent % many == 0:
            return [*front, Cell(many)], [Cell(cell.extent // many), *cells[at + 1 :]]
        else:
            return None
    return (front, []) if many == 1 else None


def _along(devices: list[Cell], counts: Sequence[int]) -> list[Cell] | None:
    """Return the digits of devices cut so that they count by these extents, slowest first; or None."""
    left, found = list(devices), list[Cell]()
    for many in counts:
        while many > 1:
            cell = left.pop(0)
            extent = min(many, cell.extent)
            if cell.extent % extent or many % extent:
                return None
            step, rest = cell.device or Vector(), cell.extent // extent
            found.append(Cell(extent, step * rest))
            left[:0] = [Cell(rest, step)] if rest > 1 else []
            many //= extent
    return found


def _first_stray(extent: int, levels: Sequence[int], chunk: int) -> int | None:
    """Return the first index that chunks of chunks put elsewhere than equal, padded chunks do, or None.

    >>> _first_stray(15, [2, 2], 4), _first_stray(9, [2, 4], 2)
    (None, 5)
    """
    begins = {extent: 0}
    for at, many in enumerate(levels):
        padded = chunk * prod(levels[at + 1 :])
        after: dict[int, int] = {}
        for size, start in begins.items():
            real = -(-size // many)
            if real != padded and size > min(real, padded):
                return start + min(real, padded)
            after.setdefault(min(size, real), start)
            if size % real:
                after.setdefault(size % real, start + size - size % real)
        begins = after
    return None


# -- writing ---------------------------------------------------------------------------------------


def write(layout: Layout, given: Given) -> str:
    """Return placements and their mesh; `given.let` has the order of the mesh's dimensions.

    >>> from tilewise import parse
    >>> write(parse("S[((2, 4, 2), 8) : ((16, 1@tp, 8), 1)] + R[2 : 1@dp]"), Given())
    '(_StridedShard(dim=0, sf=2), Replicate()) on DeviceMesh((tp=4, dp=2))'
    """
    sharding = sharding_of(layout, SYSTEM)
    extents = axes_of(sharding, SYSTEM, given.let)
    if not extents:
        raise LayoutError("TW008", "a DTensor is on a mesh, and this layout has no axis of devices")
    ranks = [*extents] == [GPU.name]
    if ranks:
        steps = {cell.steps[GPU]: cell.extent for cell in sharding.on_devices}
        wanted = {f"{GPU}{step}": steps[step] for step in sorted(steps, reverse=True)}
    else:
        wanted = extents
    mesh: dict[str, int] = {}
    placements: list[str] = []
    while len(mesh) < len(wanted):
        left = [name for name in wanted if name not in mesh]
        for name in left if not given.let else left[:1]:
            placement = _placement_of(sharding, name, wanted[name], mesh, ranks)
            if placement is not None:
                mesh[name] = wanted[name]
                placements.append(placement)
                break
        else:
            raise LayoutError(
                "TW008",
                f"{SYSTEM} cuts a dimension by the whole of {left[0]} at once, and this has parts of it",
                hint="--as shardy has parts of axes",
            )
    comma = "," if len(mesh) == 1 else ""
    shown = [str(extent) if ranks else f"{name}={extent}" for name, extent in mesh.items()]
    sizes = ", ".join(shown) + (comma if ranks else "")
    return f"({', '.join(placements)}{comma}) on DeviceMesh(({sizes}))"


def _placement_of(
    sharding: Sharding, name: str, extent: int, placed: dict[str, int], ranks: bool
) -> str | None:
    """Return the placement of a dimension of the mesh after those that are placed; None where no cut is it.

    The cut is of what those have left, and what lies before it then makes the pieces of a strided one.
    """
    for dimension, cells in enumerate(sharding.dimensions):
        left = [cell for cell in cells if _name(cell, ranks) not in placed]
        mine = [i for i, cell in enumerate(left) if _name(cell, ranks) == name]
        if not mine:
            continue
        digits = left[mine[0] : mine[-1] + 1]
        steps = [sum(step for _, step in cell.steps.terms) for cell in digits]
        if len(digits) > len(mine) or prod(cell.extent for cell in digits) != extent:
            return None
        if steps != sorted(steps, reverse=True):
            return None
        pieces = prod(cell.extent for cell in left[: mine[0]])
        return f"_StridedShard(dim={dimension}, sf={pieces})" if pieces > 1 else f"Shard(dim={dimension})"
    return "Replicate()"


def _name(cell: Cell, ranks: bool) -> str | None:
    """Return the dimension of the mesh that a cell is on, a name or a step along ranks; None in the shard."""
    if cell.device is None:
        return None
    ((axis, step),) = cell.device.terms
    return f"{axis}{step}" if ranks else axis.name
