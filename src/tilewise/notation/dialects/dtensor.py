"""The placements of torch's DTensor, read and written.

    (Shard(dim=0), Replicate()) on DeviceMesh((dp=2, tp=4))

Each dimension of the mesh has a placement, and they act from left to right: Shard cuts the rest of a
dimension, after earlier placements, into as many chunks as the mesh has devices. _StridedShard(dim, sf) cuts
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

from tilewise.core.axes import m
from tilewise.core.dtypes import known_type
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Iter, Layout
from tilewise.core.vectors import ZERO
from tilewise.notation.dialects.given import Given, Reading, layout_of_modes
from tilewise.notation.dialects.meshes import device_mesh, mesh_of_names
from tilewise.notation.dialects.shards import GPU, Digits, shape_of, sharded, sharding_of
from tilewise.notation.dialects.values import Value, Written, between, values

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
_PLACEMENT = (
    r"\s*(?P<word>Replicate\(\s*\)|R(?!eplicate)"
    r"|(?P<strided>_Strided|_)?S(?:hard)?\(\s*(?:dim\s*=\s*)?(?P<dim>-?\d{1,9})\s*"
    r"(?(strided),\s*(?:(?:sf|split_factor)\s*=\s*)?(?P<pieces>[1-9]\d{0,9})\s*)\)(?:\[(?P<order>\d{1,9})\])?)[\s,]*"
)
_SUM = r"\s*(?P<word>(?:_?Partial|P(?!\w))(?:\(\s*(?:reduce_op\s*=\s*)?['\"]?(?P<op>\w*)['\"]?\s*\))?)[\s,]*"
_NO_SUM = r"_?MaskP|_?Partial|P(?!\w*Shard)"


@dataclass(slots=True)
class _Placement(Written):
    """A placement: a dimension of the mesh does nothing, or cuts a dimension of the tensor."""

    dim: int | None = None
    pieces: int = 1
    order: int | None = None
    op: str = ""
    """The operation that combines parts, where the devices have parts of a sum."""


_Cut = tuple[_Placement, Digits]


def read(given: Given) -> Reading:
    """Return the layout of a tensor that placements share among the devices of a mesh."""
    words = values(given.cursor(), commas=True)
    on = next((at for at, word in enumerate(words) if word.text == "on"), len(words))
    placed, mesh_words = words[:on], words[on + 1 :]
    own: Sequence[int] | None = None
    dtype = None
    match placed:
        case [Value(text="DTensor"), call]:
            match call.keyed:
                case {"device_mesh": mesh_item, "placements": item} if len(item.values) == 1:
                    placed, mesh_words = item.values, mesh_item.values
                case _:
                    message = "a DTensor has device_mesh=DeviceMesh(...) and placements=(...)"
                    raise call.error("TW004", message)
        case [Value(text="Spec"), Value(items=[item, *_]) as call]:
            if len(item.values) < 2:
                raise call.error("TW004", "a Spec is such as Spec(f32[16, 8](S(0)R))")
            element, *extents, brackets = item.values
            dtype = known_type(element.text)
            own = extents[0].numbers() if extents else None
            placed = (brackets,)
    if not placed or (placed[0].items and len(placed) > 1):
        hint = "such as (Shard(dim=0), Replicate()) on DeviceMesh((dp=2, tp=4))"
        raise words[on and on - 1].error("TW004", "a text has placements, and 'on' before their mesh", hint)
    where = between(placed[0], placed[-1])
    inside = int(bool(placed[0].items))
    placements = _placements(where, where.span[0] + inside, where.span[1] - inside, given.sums)
    shape = shape_of(where, given, own)
    if mesh_words:
        mesh, first = device_mesh(mesh_words)
    else:
        mesh, first = mesh_of_names(where, given, "write it beside, ... on (2, 4)").whole_axes, ZERO
    if len(placements) != len(mesh):
        message = f"{len(placements)} placements, and the mesh has {len(mesh)} dimensions"
        raise where.error("TW003", message)
    copies: Digits = []
    sums: dict[str, str] = {}
    cuts: list[list[_Cut]] = [[] for _ in shape]
    for placement, devices in zip(placements, mesh, strict=True):
        if placement.dim is None:
            copies += devices
            if placement.op and prod(it.extent for it in devices) > 1:
                sums |= {axis.name: placement.op for it in devices for axis in it.stride.axes}
                if GPU.name in sums and len(mesh) > 1:
                    hint = "such as DeviceMesh((dp=2, tp=4))"
                    raise placement.error(
                        "TW008", "parts of a sum are along a dimension without a name", hint
                    )
        elif not -len(shape) <= placement.dim < len(shape):
            message = f"Shard({placement.dim}) of a tensor of {len(shape)} dimensions"
            raise placement.error("TW003", message, "dimensions count from 0")
        elif prod(it.extent for it in devices) > 1:
            cuts[placement.dim].append((placement, devices))
    dimensions = []
    for dimension, (extent, its) in enumerate(zip(shape, cuts, strict=True)):
        if all(placement.order is not None for placement, _ in its):
            its.sort(key=lambda cut: cut[0].order or 0)
        with its[0][0].blame() if its else where.blame():
            dimensions.append([*_after_cuts(dimension, extent, its).shard])
    found = sharded(shape, dimensions, copies, first)
    return replace(found, dtype=dtype, notes=(_UNEVEN,) if found.box else (), sums=sums)


def _placements(where: Written, at: int, end: int, sums: bool) -> list[_Placement]:
    """Return the placements in a part of the text, `S(0)RR` or `Shard(dim=0), Replicate()`."""
    found: list[_Placement] = []
    while at < end:
        part = re.compile(_SUM).match(where.source, at, end) if sums else None
        if part is not None:
            at = part.end()
            found.append(_Placement(where.source, part.span("word"), op=part["op"] or "sum"))
            continue
        placement = re.compile(_PLACEMENT).match(where.source, at, end)
        if placement is None:
            word = re.compile(r"\s*(\w+|\S)").match(where.source, at)
            here = Written(where.source, word.span(1) if word else where.span)
            if re.match(_NO_SUM, here.source[here.span[0] :]):
                message = (
                    "a sum is no layout: every device holds a part of a sum, and no element is at a place"
                )
                raise here.error("TW008", message, "redistribute it to Shard or Replicate first")
            known = "known: Shard(dim), Replicate(), _StridedShard(dim, sf=n), and S(0), R, _S(0, 2)"
            raise here.error("TW002", "no placement is here", known)
        dim, pieces, order = (
            int(text) if text else None for text in placement.group("dim", "pieces", "order")
        )
        at = placement.end()
        found.append(_Placement(where.source, placement.span("word"), dim, pieces or 1, order))
    return found


# -- cuts ------------------------------------------------------------------------------------------


def _after_cuts(dimension: int, extent: int, cuts: Sequence[_Cut]) -> Layout:
    """Return the layout of a dimension after its cuts: devices, and `m` inside the chunk."""
    if len(cuts) == 1:
        placement, devices = cuts[0]
        filled = -(-extent // -(-extent // placement.pieces))  # the pieces after these are empty
        cuts = [(replace(placement, pieces=filled), devices)]
    found = _cut(extent, cuts)
    if found is not None:
        return found
    levels = [many for cut, on in cuts for many in (cut.pieces, prod(it.extent for it in on))]
    chunk = extent
    for many in levels:
        chunk = -(-chunk // many)
    padded = _cut(chunk * prod(levels), cuts)
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


def _cut(extent: int, cuts: Sequence[_Cut]) -> Layout | None:
    """Return the layout of a dimension after its cuts, or None where a cut does not divide the rest.

    A cut is a layout of the positions in the chunk, composed with the rest that earlier cuts leave.
    """
    found, size = Layout((extent,), (1 @ m,)), extent
    for placement, devices in cuts:
        chunk, rest = divmod(size, placement.pieces * prod(it.extent for it in devices))
        if rest:
            return None
        digits = [(placement.pieces, chunk @ m), *[(it.extent, it.stride) for it in devices], (chunk, 1 @ m)]
        size = placement.pieces * chunk
        inside = replace(found, strides=tuple(it if it["m"] else ZERO for it in found.strides))
        before = replace(found, strides=tuple(ZERO if it["m"] else it for it in found.strides))
        try:
            one, other = layout_of_modes([digits]).compose(inside).refinement(before)
        except Refused:
            return None
        strides = [a + b for a, b in zip(one.strides, other.strides, strict=True)]
        found = Layout(one.shape, tuple(strides))
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
    wanted = sharding.axes(given.let)
    if not wanted:
        raise LayoutError("TW008", "a DTensor is on a mesh, and this layout has no axis of devices")
    ranks = [*wanted] == [GPU.name]
    if ranks:
        by_step = sorted(sharding.on_devices, key=lambda it: -it.stride[GPU])
        wanted = {f"{it.stride}": it.extent for it in by_step}
    dimensions = [
        [(f"{it.stride}" if ranks else f"{it.stride.axes[0]}", it) for it in digits]
        for digits in sharding.dimensions
    ]
    mesh: dict[str, int] = {}
    placements: list[str] = []
    while len(mesh) < len(wanted):
        left = [name for name in wanted if name not in mesh]
        for name in left[:1] if given.let else left:
            placement = _placement_of(dimensions, name, wanted[name])
            if placement:
                mesh[name] = wanted[name]
                placements.append(placement)
                dimensions = [[digit for digit in digits if digit[0] != name] for digits in dimensions]
                break
        else:
            raise LayoutError(
                "TW008",
                f"{SYSTEM} cuts a dimension by the whole of {left[0]} at once, and this has parts of it",
                hint="--as shardy has parts of axes",
            )
    sizes = [f"{extent}" if ranks else f"{name}={extent}" for name, extent in mesh.items()]
    comma = "," if len(mesh) == 1 else ""
    shown = ", ".join(sizes) + (comma if ranks else "")
    return f"({', '.join(placements)}{comma}) on DeviceMesh(({shown}))"


def _placement_of(dimensions: Sequence[Sequence[tuple[str, Iter]]], name: str, extent: int) -> str:
    """Return the placement of a dimension of the mesh on the rest of other placements, or ''.

    Digits before its own make the pieces of a strided placement.
    """
    for dimension, digits in enumerate(dimensions):
        mine = [at for at, (on, _) in enumerate(digits) if on == name]
        if mine:
            cut = [it for _, it in digits[mine[0] : mine[-1] + 1]]
            steps = [it.stride.terms[0][1] for it in cut]
            is_whole = len(cut) == len(mine) and prod(it.extent for it in cut) == extent
            if not is_whole or steps != sorted(steps, reverse=True):
                return ""
            pieces = prod(it.extent for _, it in digits[: mine[0]])
            return f"_StridedShard(dim={dimension}, sf={pieces})" if pieces > 1 else f"Shard(dim={dimension})"
    return "Replicate()"
