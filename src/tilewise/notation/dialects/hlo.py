"""The shardings of HLO, read and written.

    {devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}

`devices` has the tiles of each dimension, and dimensions more for what holds copies. The numbers of devices
fill that grid in row-major order: listed, or counted from 0 in the shape after `<=` and transposed by T. They
are logical partitions, of which the device assignment of a module makes devices (xla/hlo/ir/hlo_sharding.cc,
tile_assignment.h). Where tiles do not divide an extent, XLA pads every shard to the larger one.

    {mesh[x=2,y=4], [{x}, {y:(1)2}]}

Newer versions also name the axes of a mesh, as Shardy does (named_sharding.cc, mesh_and_axis.cc).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Iter, Layout
from tilewise.core.vectors import ZERO, Vector
from tilewise.notation.dialects.annotations import annotated, unquoting
from tilewise.notation.dialects.given import Given, Reading, integer, integers, listed
from tilewise.notation.dialects.shards import (
    GPU,
    MAX_DEVICES,
    Digits,
    axes_in_braces,
    checked_mesh,
    counted,
    device_extents,
    grid,
    sharding_of,
    tiled,
)
from tilewise.notation.dialects.values import named_numbers, single, value
from tilewise.notation.tokens import NAME, NUMBER, Cursor, Token

EXAMPLES = (
    Given("{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}", shape=(16, 8)),
    Given("{devices=[2,2]0,2,1,3}", shape=(16, 16)),
    Given("{maximal device=3}", shape=(16, 8)),
    Given("%p = f32[16,8]{1,0} parameter(0), sharding={devices=[2,1,4]<=[8] last_tile_dim_replicate}"),
    Given("{mesh[x=2,y=4], [{y}, {x:(1)2, ?}]}", shape=(16, 8)),
    Given('%arg0: tensor<16x8xf32> {mhlo.sharding = "{devices=[8,1]<=[2,4]T(1,0)}"}'),
)

_BEGINS = r"(?:mhlo\.)?sharding\s*=\s*\"?\{"
_WHY_NOT = {
    "manual": "the program inside splits the tensor, so the text does not tell how",
    "unknown": "the compiler has not chosen yet",
    "unreduced": "every device holds a part of a sum, and no element is at a place",
}
_MANUAL_AXES = "each device along the manual axes has a tensor of its own, and this is the first one's"
_REPLICATED, _MANUAL = "replicated", "manual"
_SUM = "unreduced"
_WHOLE_OR_SHARD = (
    "the extents of the line are taken as the whole tensor's; in a module that is partitioned already they"
    " are those of a shard"
)


@dataclass(slots=True)
class _Tiles:
    """A sharding before a shape is known: what cuts each dimension, or None where each device has all."""

    cuts: list[Digits] | None
    copies: Digits
    first: Vector = ZERO
    notes: list[str] = field(default_factory=list)


def read(given: Given) -> Reading:
    """Return the layout of a tensor that devices share: `gpuid` numbers them, `m` is inside the shard."""
    cursor = Cursor(given.text, unquoting)
    found = annotated(cursor, _BEGINS, "{devices=[4,2]<=[8]}")
    parts: dict[str, tuple[int, tuple[int, ...] | None, DType | None]] = {}
    for this in found:
        cursor.at = this.at
        is_hlo = cursor.accept("sharding") is not None or cursor.accept("mhlo.sharding") is None
        cursor.accept("=")
        ats = _elements(cursor)
        types = this.types if is_hlo else this.types[-1:]
        for i, at in enumerate(ats):
            shape, dtype, _ = types[i] if i < len(types) else (None, None, None)
            parts[f"{this.name}.{i}" if len(ats) > 1 else this.name] = at, shape, dtype
    cursor.at, shape, dtype = parts[given.chosen(parts, "the text")]
    start = cursor.next
    tiles = (_on_mesh if cursor.ahead(1).text == "mesh" else _sharding)(cursor, given)
    span, notes, cuts = cursor.since(start), tiles.notes, tiles.cuts
    if len(found) == 1 and found[0].at == 0:
        cursor.expect_end("the sharding")
    if shape is not None and cuts and "tensor" not in given.text:
        if "_spmd" in given.text and len(cuts) == len(shape):
            counts = [prod(it.extent for it in cut) for cut in cuts]
            shape = tuple(extent * count for extent, count in zip(shape, counts, strict=True))
        else:
            notes.append(_WHOLE_OR_SHARD)
    hint = "a last dimension of copies is marked: last_tile_dim_replicate"
    is_whole = cuts is None
    found_here = tiled(cursor, given, span, cuts, tiles.copies, shape, tiles.first, is_whole, hint)
    return replace(found_here, dtype=dtype, notes=tuple(notes))


def _elements(cursor: Cursor) -> list[int]:
    """Return where the shardings of a tuple begin, or the one that there is."""
    if cursor.ahead(1).text != "{":
        return [cursor.at]
    opened, ats = cursor.take(), []
    while cursor.next.text == "{":
        ats.append(cursor.at)
        value(cursor)
        cursor.accept(",")
    cursor.expect("}", opened)
    return ats


def _refuse(cursor: Cursor, word: Token) -> None:
    """Refuse a word that says why a sharding is no layout."""
    if word.text in _WHY_NOT:
        raise cursor.error("TW008", f"{word} is no layout: {_WHY_NOT[word.text]}", word.span)


def _sharding(cursor: Cursor, given: Given) -> _Tiles:
    """Take `{devices=[4,2]<=[8]}`, `{replicated}` or `{maximal device=3}`."""
    opened = cursor.expect("{")
    word = cursor.take()
    _refuse(cursor, word)
    if word.text == _REPLICATED:
        if given.let.get("devices", 0) < 1:
            message = "a copy is on every device, and the text does not tell how many there are"
            raise cursor.error("TW007", message, word.span, "--let devices=8")
        tiles = _Tiles(None, [Iter(given.let["devices"], 1 @ GPU)])
    elif word.text == "maximal":
        cursor.expect("device")
        cursor.expect("=")
        device = integer(cursor)
        if device < 0:
            raise cursor.error("TW003", "devices are numbered from 0", cursor.behind.span)
        tiles = _Tiles(None, [], (device @ GPU).nonzero)
    elif word.text == "devices":
        cursor.expect("=")
        tiles = _grid(cursor)
    else:
        known = "known: devices=[...], replicated, maximal device=n"
        code = "TW002" if word.kind == NAME else "TW004"
        raise cursor.error(code, f"{word} is no sharding of HLO that is read here", word.span, known)
    while cursor.accept("shard_as", "shard_like", "metadata"):
        if cursor.behind.text == "metadata":
            cursor.expect("=")
            value(cursor)
        else:
            members = f"{cursor.behind.text} {integer(cursor)}"
            tiles.notes.append(f"{members}: the compiler shards the members of a group alike")
    cursor.expect("}", opened)
    return tiles


def _grid(cursor: Cursor) -> _Tiles:
    """Take `[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate`: a grid of devices."""
    start = cursor.next
    extents = device_extents(cursor, integers(cursor), cursor.since(start))
    count, devices = prod(extents), list[int]()
    if cursor.accept("<="):
        shape = integers(cursor)
        order = integers(cursor, "(", ")") if cursor.accept("T") else tuple(range(len(shape)))
        if prod(shape) == count and sorted(order) == [*range(len(shape))]:
            devices = counted((shape[i], prod(shape[i + 1 :])) for i in order)
    else:
        devices.append(integer(cursor))
        while cursor.next.text == "," and cursor.ahead(1).kind == NUMBER and cursor.take():
            devices.append(integer(cursor))
    if sorted(devices) != [*range(count)]:
        message = f"[{listed(extents)}] has {count} devices, which 0 to {count - 1} number once each"
        raise cursor.error("TW003", message, cursor.since(start), f"<=[{count}] counts them in order")
    kinds = _kinds(cursor)
    span, data = cursor.since(start), len(extents) - len(kinds)
    if data < 0:
        message = f"kinds of dimensions: {len(kinds)}; dimensions: {len(extents)}"
        raise cursor.error("TW003", message, span)
    if kinds[-1:] == [_REPLICATED]:  # the devices of a group of copies are a set
        groups = [sorted(devices[at : at + extents[-1]]) for at in range(0, count, extents[-1])]
        devices = [device for group in groups for device in group]
    digits, first_device = grid(cursor, span, devices, extents)
    found = _Tiles(digits[:data], [], first_device)
    manual: Digits = []
    for kind, along in zip(kinds, digits[data:], strict=True):
        (found.copies if kind == _REPLICATED else manual).extend(along)
    if manual:
        steps = " and ".join(f"{it.extent} by {it.stride}" for it in manual)
        found.notes.append(
            f"manual over {steps}: each of these groups has a tensor of its own, and this is the first one's"
        )
    return found


def _kinds(cursor: Cursor) -> list[str]:
    """Take the kinds of the last dimensions of a grid."""
    if cursor.accept("last_tile_dim_replicate"):
        return [_REPLICATED]
    if not cursor.accept("last_tile_dims"):
        return []
    cursor.expect("=")
    words = [item.values[0].token for item in value(cursor).items]
    for word in words:
        if word.text not in (_REPLICATED, _MANUAL):
            if word.text == _SUM:
                _refuse(cursor, word)
            raise cursor.error("TW002", f"{word} is no kind of tiles", word.span, "known: replicated, manual")
    return [word.text for word in words]


def _on_mesh(cursor: Cursor, given: Given) -> _Tiles:
    """Take `{mesh[x=2,y=4], device_ids=(...), [{x}, {y}], replicated={...}}`."""
    sharding = value(cursor)
    axes = sharding.items[0].values[-1]
    if axes.text != "[":
        raise cursor.error("TW004", "a mesh has its axes: mesh[x=2,y=4]", axes.span)
    mesh = checked_mesh(cursor, named_numbers(cursor, axes.items))
    found = _Tiles(None, [])
    for item in sharding.items[1:]:
        word, last = item.key or item.values[0].token, item.values[-1]
        if word.text == "[":
            found.cuts = [
                axes_in_braces(cursor, mesh, single(cursor, cut), quoted=False) for cut in last.items
            ]
        elif item.key and word.text in (_REPLICATED, _MANUAL):
            held = axes_in_braces(cursor, mesh, last, quoted=False)
            found.copies += held if word.text == _REPLICATED else []
            found.notes += [_MANUAL_AXES] if word.text == _MANUAL else []
        elif word.text == "device_ids":
            found.notes.append(f"the order of the devices: {cursor.source[slice(*item.span)]}")
        elif word.text not in (_REPLICATED, "metadata"):
            _refuse(cursor, word)
            raise cursor.error("TW002", f"{word} is no part of a sharding on a mesh", word.span)
    found.copies += mesh.unused(cursor)
    return found


def write(layout: Layout, given: Given) -> str:
    """Return the sharding of a layout whose one axis of devices is `gpuid`.

    >>> from tilewise import parse
    >>> layout = parse("S[((4, 4), 8) : ((1@gpuid, 8), 1)] + R[2 : 4@gpuid]")
    >>> write(layout, Given())
    '{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}'
    """
    sharding = sharding_of(layout, "HLO")
    digits, first = sharding.on_devices, sharding.first[GPU]
    named = [axis for vector in (sharding.first, *[it.stride for it in digits]) for axis in vector.axes]
    if {*named} - {GPU}:
        others = ", ".join(sorted({axis.name for axis in named} - {GPU.name}))
        message = f"HLO numbers its devices along {GPU}, and this has {others}"
        raise LayoutError("TW008", message, hint="--as shardy has names")
    sharding.check_even()
    if not digits and first >= 0:
        return f"{{maximal device={first}}}"
    steps = [(it.extent, it.stride[GPU]) for it in digits]
    count = prod(extent for extent, _ in steps)
    if count > MAX_DEVICES:
        raise LayoutError("TW301", f"more than {MAX_DEVICES} devices to list")
    devices = counted(steps, first)
    if sorted(devices) != [*range(count)]:
        wanted = f"devices that are counted through once each, from 0 to {count - 1}"
        raise sharding.unsaid(wanted, f"the steps {listed(step for _, step in steps)} from {first}")
    tiles = [prod(it.extent for it in cut if it.stride[GPU]) for cut in sharding.dimensions]
    copies = prod(it.extent for it in sharding.copies)
    suffix = " last_tile_dim_replicate" if copies > 1 else ""
    shown = listed(devices) if first else _transposed(steps)
    return f"{{devices=[{listed([*tiles, copies] if copies > 1 else tiles)}]{shown}{suffix}}}"


def _transposed(steps: list[tuple[int, int]]) -> str:
    """Return `<=[2,4]T(1,0)`: the digits of the numbers by their steps, and the order in which they come."""
    by_step = sorted(steps, key=lambda digit: -digit[1])
    order = [by_step.index(digit) for digit in steps]
    if order == sorted(order):
        return f"<=[{prod(extent for extent, _ in steps)}]"
    return f"<=[{listed(extent for extent, _ in by_step)}]T({listed(order)})"
