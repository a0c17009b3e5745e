"""The shardings of HLO, read and written.

    {devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}

`devices` has the tiles of each dimension, and more dimensions for copies. The numbers of devices
fill that grid in row-major order: listed, or counted from 0 in the shape after `<=` and transposed by T. They
are logical partitions, of which the device assignment of a module makes devices (xla/hlo/ir/hlo_sharding.cc,
tile_assignment.h). Where tiles do not divide an extent, XLA pads every shard to the larger one.

    {mesh[x=2,y=4], [{x}, {y:(1)2}]}

Newer versions also name the axes of a mesh, as Shardy does (named_sharding.cc, mesh_and_axis.cc).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from tilewise.core.errors import LayoutError
from tilewise.core.layout import Iter, Layout
from tilewise.notation.dialects.annotations import TensorType, annotated, unquoting
from tilewise.notation.dialects.given import Given, Reading, listed
from tilewise.notation.dialects.meshes import (
    MANUAL,
    MAX_DEVICES,
    REPLICATED,
    checked_mesh,
    counted,
    device_extents,
    grid,
    on_mesh,
    unread,
)
from tilewise.notation.dialects.shards import GPU, Digits, Tiles, sharding_of
from tilewise.notation.dialects.values import Value, Written, between, named_numbers
from tilewise.notation.tokens import Cursor

EXAMPLES = (
    Given("{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}", shape=(16, 8)),
    Given("{devices=[2,2]0,2,1,3}", shape=(16, 16)),
    Given("{maximal device=3}", shape=(16, 8)),
    Given("%p = f32[16,8]{1,0} parameter(0), sharding={devices=[2,1,4]<=[8] last_tile_dim_replicate}"),
    Given("{mesh[x=2,y=4], [{y}, {x:(1)2, ?}]}", shape=(16, 8)),
    Given('%arg0: tensor<16x8xf32> {mhlo.sharding = "{devices=[8,1]<=[2,4]T(1,0)}"}'),
)

_BEGINS = r"(?:mhlo\.)?sharding\s*=\s*\"?\{"
_SUFFIXES = ("last_tile_dim_replicate", "last_tile_dims", "shard_as", "shard_like", "metadata")
_WHOLE_OR_SHARD = (
    "the extents of the line are taken as the whole tensor's; in a module that is partitioned already they"
    " are those of a shard"
)


def read(given: Given) -> Reading:
    """Return the layout of a tensor that devices share: `gpuid` numbers them, `m` is inside the shard."""
    parts: dict[str, tuple[Value, TensorType | None]] = {}
    for this in annotated(Cursor(given.text, unquoting), _BEGINS, "{devices=[4,2]<=[8]}"):
        braces = this.sharding
        is_tuple = bool(braces.items) and braces.items[0].text == "{"
        elements = [item.single for item in braces.items] if is_tuple else [braces]
        types = this.types[-1:] if "mhlo." in given.text else this.types
        for i, element in enumerate(elements):
            name = f"{this.name}.{i}" if len(elements) > 1 else this.name
            parts[name] = element, types[i] if i < len(types) else None
    sharding, typed = parts[given.chosen(parts, "the text")]
    first = sharding.items[0] if sharding.items else None
    if first and first.text == "mesh":
        axes = first.values[-1]
        if axes.text != "[":
            raise axes.error("TW004", "a mesh has its axes: mesh[x=2,y=4]")
        tiles = on_mesh(checked_mesh(named_numbers(axes.items)), sharding.items[1:], quoted=False)
    else:
        tiles = _sharding(sharding, given)
    cuts, shape = tiles.cuts, typed and typed.shape
    if shape is not None and cuts and "tensor" not in given.text:
        if "_spmd" in given.text and len(cuts) == len(shape):
            counts = [prod(it.extent for it in cut) for cut in cuts]
            shape = tuple(extent * count for extent, count in zip(shape, counts, strict=True))
        else:
            tiles.notes.append(_WHOLE_OR_SHARD)
    hint = "a last dimension of copies is marked: last_tile_dim_replicate"
    return tiles.reading(sharding, given, shape, typed and typed.dtype, hint=hint)


def _sharding(braces: Value, given: Given) -> Tiles:
    """Return the tiles of `{devices=[4,2]<=[8]}`, `{replicated}` or `{maximal device=3}`."""
    words = [word for item in braces.items for word in item.values]
    if not words:
        raise braces.error("TW004", "the sharding is empty", "such as {devices=[4,2]<=[8]}")
    if odd := [item for item in braces.items[1:] if item.key or item.values[0].number is None]:
        raise odd[0].unexpected("the number of a device after ','")
    notes: list[str] = []
    kinds: list[Value] = []
    rest = words[next((at for at, word in enumerate(words) if word.text in _SUFFIXES), len(words)) :]
    grid_words = words[: len(words) - len(rest)]
    while rest:
        match rest:
            case [Value(text="last_tile_dim_replicate") as copies, *rest]:
                kinds = [replace(copies, text=REPLICATED)]
            case [Value(text="last_tile_dims"), Value(text="="), Value(items=items), *rest]:
                kinds = [item.single for item in items]
            case [Value(text="metadata"), Value(text="="), _, *rest]:
                pass
            case [Value(text="shard_as" | "shard_like") as word, Value(number=int(group)), *rest]:
                notes.append(f"{word.text} {group}: the compiler shards the members of a group alike")
            case [odd_word, *_]:
                raise odd_word.error("TW004", f"the sharding ends before {odd_word}")
    match braces.items[0].key, grid_words:
        case Value(text="devices"), [extents, *numbers]:
            tiles = _grid(between(extents, grid_words[-1]), extents, numbers, kinds)
        case None, [Value(text="replicated") as word]:
            if given.let.get("devices", 0) < 1:
                message = "a copy is on every device, and the text does not tell how many there are"
                raise word.error("TW007", message, "--let devices=8")
            tiles = Tiles(None, [Iter(given.let["devices"], 1 @ GPU)])
        case None, [
            Value(text="maximal"),
            Value(text="device"),
            Value(text="="),
            Value(number=int(device)) as at,
        ]:
            if device < 0:
                raise at.error("TW003", "devices are numbered from 0")
            tiles = Tiles(None, first=(device @ GPU).nonzero)
        case key, _:
            known = "known: devices=[...], replicated, maximal device=n"
            raise unread(key or words[0], "begins no sharding of HLO that is read here", known)
    tiles.notes += notes
    return tiles


def _grid(where: Written, tiles: Value, words: Sequence[Value], kinds: Sequence[Value]) -> Tiles:
    """Return the tiles of `[4,1,2]<=[2,4]T(1,0)`, a grid of devices; its last dimensions have `kinds`."""
    extents = device_extents(tiles, tiles.numbers())
    count, devices = prod(extents), list[int]()
    match words:
        case [Value(text="<="), counts] | [Value(text="<="), counts, Value(text="T"), _]:
            shape = counts.numbers()
            along = words[3].numbers() if len(words) == 4 else range(len(shape))
            if prod(shape) == count and sorted(along) == [*range(len(shape))]:
                devices = counted((shape[i], prod(shape[i + 1 :])) for i in along)
        case _:
            devices = [word.number for word in words if word.number is not None]
            if len(devices) < len(words):
                odd = next(word for word in words if word.number is None)
                raise odd.error("TW004", f"expected the number of a device, found {odd}")
    if sorted(devices) != [*range(count)]:
        message = f"[{listed(extents)}] has {count} devices, which 0 to {count - 1} number once each"
        raise where.error("TW003", message, f"<=[{count}] counts them in order")
    for kind in kinds:
        if kind.text not in (REPLICATED, MANUAL):
            raise unread(kind, "is no kind of tiles", "known: replicated, manual")
    data = len(extents) - len(kinds)
    if data < 0:
        raise where.error("TW003", f"kinds of dimensions: {len(kinds)}; dimensions: {len(extents)}")
    if kinds and kinds[-1].text == REPLICATED:  # the devices of a group of copies are a set
        groups = [sorted(devices[at : at + extents[-1]]) for at in range(0, count, extents[-1])]
        devices = [device for group in groups for device in group]
    digits, first_device = grid(where, devices, extents)
    found = Tiles(digits[:data], first=first_device)
    manual: Digits = []
    for kind, steps in zip(kinds, digits[data:], strict=True):
        (found.copies if kind.text == REPLICATED else manual).extend(steps)
    if manual:
        over = " and ".join(f"{it.extent} by {it.stride}" for it in manual)
        found.notes.append(
            f"manual over {over}: each of these groups has a tensor of its own, and this is the first one's"
        )
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
