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

from dataclasses import dataclass
from math import prod

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.vectors import Vector
from tilewise.notation.dialects.annotations import annotated, skip_brackets, skip_value, unquoting
from tilewise.notation.dialects.given import Given, Reading, integer, integers, listed
from tilewise.notation.dialects.shards import (
    GPU,
    MAX_DEVICES,
    Cell,
    Mesh,
    Sharding,
    axes_in_braces,
    axes_of,
    axis_name,
    check_extents,
    checked_mesh,
    even,
    sharding_of,
    split_grid,
    tiled,
)
from tilewise.notation.tokens import END, NAME, NUMBER, Cursor, Token

EXAMPLES = (
    Given("{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}", shape=(16, 8)),
    Given("{devices=[2,2]0,2,1,3}", shape=(16, 16)),
    Given("{maximal device=3}", shape=(16, 8)),
    Given("%p = f32[16,8]{1,0} parameter(0), sharding={devices=[2,1,4]<=[8] last_tile_dim_replicate}"),
    Given("{mesh[x=2,y=4], [{y}, {x:(1)2, ?}]}", shape=(16, 8)),
    Given('%arg0: tensor<16x8xf32> {mhlo.sharding = "{devices=[8,1]<=[2,4]T(1,0)}"}'),
)

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


@dataclass(frozen=True, slots=True)
class _Tiles:
    """A sharding before a shape is known: the digits of the numbers along each dimension of the grid."""

    dimensions: list[list[tuple[int, int]]]
    copies: list[tuple[int, int]]
    manual: list[tuple[int, int]]
    first: int = 0
    span: tuple[int, int] = (0, 0)
    everywhere: bool = False
    notes: tuple[str, ...] = ()


def read(given: Given) -> Reading:
    """Return the layout of a tensor that devices share: `gpuid` numbers them, `m` is inside the shard."""
    cursor = Cursor(given.text, unquoting)
    found = annotated(cursor, _begins)
    if not found:
        whole = (0, len(given.text))
        raise cursor.error("TW004", "no sharding is here", whole, "such as {devices=[4,2]<=[8]}")
    parts: dict[str, tuple[int, tuple[int, ...] | None, DType | None]] = {}
    for this in found:
        cursor.at = this.at
        opened = _opened(cursor)
        ats = _elements(cursor, opened)
        types = [*this.types] if opened.text == "sharding" or not this.types else this.types[-1:]
        for i, at in enumerate(ats):
            shape, dtype, _ = types[i] if i < len(types) else (None, None, None)
            parts[f"{this.name}.{i}" if len(ats) > 1 else this.name] = at, shape, dtype
    at, shape, dtype = parts[given.chosen(parts, "the text")]
    cursor.at = at
    alone = len(found) == 1 and found[0].at == 0
    if cursor.ahead(1).text == "mesh":
        return _on_mesh(cursor, given, shape, dtype, alone)
    tiles = _sharding(cursor)
    if alone:
        cursor.expect_end("the sharding")
    return _reading(cursor, given, tiles, shape, dtype)


def _begins(cursor: Cursor) -> bool:
    """Return whether a sharding begins here: in braces by itself, or after `sharding=`."""
    named = cursor.next.text in ("sharding", "mhlo.sharding") and cursor.ahead(1).text == "="
    return (cursor.at == 0 and cursor.next.text == "{") or (named and cursor.ahead(2).text == "{")


def _opened(cursor: Cursor) -> Token:
    """Take `sharding=` where it is there, and return the word that a sharding begins with."""
    start = cursor.next
    if start.text != "{":
        cursor.take()
        cursor.take()
    return start


def _elements(cursor: Cursor, start: Token) -> list[int]:
    """Return where the shardings of a tuple begin, or the one that there is."""
    if cursor.ahead(1).text != "{":
        return [cursor.at]
    opened, ats = cursor.take(), []
    while cursor.next.text == "{":
        ats.append(cursor.at)
        skip_value(cursor)
        while cursor.next.text == "/" or (cursor.accept(",") and cursor.next.text == "/"):
            _comment(cursor)
    cursor.expect("}", opened)
    return ats


def _comment(cursor: Cursor) -> None:
    """Take `/*index=5*/`, which XLA prints in long tuples."""
    opened = cursor.take()
    while cursor.next.kind != END:
        if cursor.take().text == "*" and cursor.accept("/") and cursor.behind.start > opened.end + 1:
            return
    raise cursor.error("TW004", "'/*' is never closed", opened.span)


def _sharding(cursor: Cursor) -> _Tiles:
    """Take `{...}`."""
    opened = cursor.expect("{")
    word = cursor.next
    if word.kind != NAME:
        raise cursor.error("TW004", f"expected a sharding, found {word}", hint="such as {devices=[4,2]<=[8]}")
    cursor.take()
    if word.text in _WHY_NOT:
        raise cursor.error("TW008", f"{word} is no layout: {_WHY_NOT[word.text]}", word.span)
    if word.text == _REPLICATED:
        notes = _suffixes(cursor, opened)
        return _Tiles([], [], [], span=cursor.since(opened), everywhere=True, notes=notes)
    if word.text == "maximal":
        cursor.expect("device")
        cursor.expect("=")
        device = integer(cursor)
        if device < 0:
            raise cursor.error("TW003", "devices are numbered from 0", cursor.behind.span)
        notes = _suffixes(cursor, opened)
        return _Tiles([], [], [], device, cursor.since(opened), notes=notes)
    if word.text != "devices":
        known = "known: devices=[...], replicated, maximal device=n"
        raise cursor.error("TW002", f"{word} is no sharding of HLO that is read here", word.span, known)
    cursor.expect("=")
    start = cursor.next
    extents = integers(cursor)
    if not extents or min(extents) < 1:
        raise cursor.error("TW102", "a grid of devices has positive extents", cursor.since(start))
    if prod(extents) > MAX_DEVICES:
        raise cursor.error("TW005", f"more than {MAX_DEVICES} devices", cursor.since(start))
    numbers = _numbers(cursor, extents, start)
    kinds = _kinds(cursor, extents)
    notes = _suffixes(cursor, opened)
    return _grid(cursor, extents, numbers, kinds, cursor.since(opened), notes)


def _on_mesh(
    cursor: Cursor, given: Given, shape: tuple[int, ...] | None, dtype: DType | None, alone: bool
) -> Reading:
    """Take `{mesh[x=2,y=4], [{x}, {y}], replicated={...}}`."""
    opened = cursor.take()
    mesh, notes = _mesh(cursor)
    cuts: list[list[Cell]] | None = None
    while cursor.accept(","):
        word = cursor.next
        if word.text == "[":
            inside, cuts = cursor.take(), []
            while cursor.next.text != "]":
                if cuts:
                    cursor.expect(",", inside)
                cuts.append(axes_in_braces(cursor, mesh, quoted=False))
            cursor.expect("]", inside)
        elif word.text == _REPLICATED and cursor.ahead(1).text == "}":
            cursor.take()
        elif word.text in _WHY_NOT and (word.text == _SUM or cursor.ahead(1).text != "="):
            raise cursor.error("TW008", f"{word} is no layout: {_WHY_NOT[word.text]}", word.span)
        elif cursor.accept("metadata"):
            cursor.expect("=")
            skip_brackets(cursor)
        elif cursor.accept(_REPLICATED, _MANUAL):
            cursor.expect("=")
            seen = Mesh(mesh.extents, {name: [*used] for name, used in mesh.used.items()})
            axes_in_braces(cursor, mesh if word.text == _MANUAL else seen, quoted=False)
            notes += [_MANUAL_AXES] if word.text == _MANUAL else []
        else:
            raise cursor.error("TW002", f"{word} is no part of a sharding on a mesh", word.span)
    cursor.expect("}", opened)
    span = cursor.since(opened)
    if alone:
        cursor.expect_end("the sharding")
    if shape is None:
        shape = given.needs_shape("a sharding of HLO")
    elif "tensor" not in given.text:
        notes.append(_WHOLE_OR_SHARD)
    check_extents(cursor, shape, span)
    cuts = [[] for _ in shape] if cuts is None else cuts
    if len(cuts) != len(shape):
        raise cursor.error(
            "TW003", f"dimensions of the sharding: {len(cuts)}; of the tensor: {len(shape)}", span
        )
    return tiled(shape, cuts, mesh.unused()).reading(shape, dtype, notes)


def _mesh(cursor: Cursor) -> tuple[Mesh, list[str]]:
    """Take `mesh[x=2,y=4], device_ids=(...)`."""
    start = cursor.take()
    opened = cursor.expect("[")
    named: list[tuple[Token, str, int]] = []
    while cursor.next.text != "]":
        if named:
            cursor.expect(",", opened)
        token, name = axis_name(cursor, quoted=False)
        cursor.expect("=")
        named.append((token, name, integer(cursor)))
    cursor.expect("]", opened)
    mesh, notes = checked_mesh(cursor, named), list[str]()
    if cursor.next.text == "," and cursor.ahead(1).text == "device_ids" and cursor.ahead(3).text == "(":
        for _ in range(3):
            cursor.take()
        skip_brackets(cursor)
        notes.append(f"the order of the devices: {cursor.source[start.start : cursor.behind.end]}")
    return mesh, notes


def _numbers(cursor: Cursor, extents: tuple[int, ...], start: Token) -> list[int]:
    """Take the numbers of the devices in the order of the grid."""
    count = prod(extents)
    if cursor.accept("<="):
        first = cursor.next
        counted = integers(cursor)
        if not counted or min(counted) < 1 or prod(counted) != count:
            raise cursor.error(
                "TW003",
                f"[{listed(extents)}] has {count} devices, and [{listed(counted)}] counts {prod(counted)}",
                cursor.since(start),
                hint=f"<=[{count}] counts them in order",
            )
        order = tuple(range(len(counted)))
        if cursor.next.text == "T" and cursor.take():
            order = integers(cursor, "(", ")")
        if sorted(order) != [*range(len(counted))]:
            raise cursor.error(
                "TW003", f"T({listed(order)}) is no order of {len(counted)} dimensions", cursor.since(first)
            )
        pitches = [prod(counted[i + 1 :]) for i in range(len(counted))]
        numbers = [0]
        for dimension in order:
            steps = range(0, counted[dimension] * pitches[dimension], pitches[dimension])
            numbers = [number + step for number in numbers for step in steps]
        return numbers
    first = cursor.next
    numbers = [integer(cursor)]
    while cursor.next.text == "," and cursor.ahead(1).kind == NUMBER and cursor.take():
        numbers.append(integer(cursor))
    if sorted(numbers) != [*range(count)]:
        raise cursor.error(
            "TW003",
            f"[{listed(extents)}] has {count} devices, which 0 to {count - 1} number once each",
            cursor.since(first),
        )
    return numbers


def _kinds(cursor: Cursor, extents: tuple[int, ...]) -> list[str]:
    """Take the kinds of the last dimensions of the grid."""
    if cursor.accept("last_tile_dim_replicate"):
        return [_REPLICATED]
    if not cursor.accept("last_tile_dims"):
        return []
    cursor.expect("=")
    opened = cursor.expect("{")
    kinds: list[str] = []
    while cursor.next.text != "}":
        if kinds:
            cursor.expect(",", opened)
        word = cursor.take()
        if word.text == _SUM:
            raise cursor.error("TW008", f"{word} is no layout: {_WHY_NOT[_SUM]}", word.span)
        if word.text not in (_REPLICATED, _MANUAL):
            raise cursor.error("TW002", f"{word} is no kind of tiles", word.span, "known: replicated, manual")
        kinds.append(word.text)
    cursor.expect("}", opened)
    if len(kinds) > len(extents):
        raise cursor.error(
            "TW003", f"kinds of dimensions: {len(kinds)}; dimensions: {len(extents)}", cursor.since(opened)
        )
    return kinds


def _suffixes(cursor: Cursor, opened: Token) -> tuple[str, ...]:
    """Take what stands after a sharding: the group that the compiler shards alike, and metadata."""
    notes: list[str] = []
    while (word := cursor.accept("shard_as", "shard_like", "metadata")) is not None:
        if word.text == "metadata":
            cursor.expect("=")
            if cursor.next.text != "{":
                raise cursor.error("TW004", f"expected '{{', found {cursor.next}")
            skip_brackets(cursor)
        else:
            notes.append(f"{word.text} {integer(cursor)}: the compiler shards the members of a group alike")
    cursor.expect("}", opened)
    return tuple(notes)


def _grid(
    cursor: Cursor,
    extents: tuple[int, ...],
    numbers: list[int],
    kinds: list[str],
    span: tuple[int, int],
    notes: tuple[str, ...],
) -> _Tiles:
    """Return the digits by which the numbers step along every dimension of the grid."""
    digits = split_grid(numbers, extents)
    if isinstance(digits, int) and kinds[-1:] == [_REPLICATED]:
        group = extents[-1]
        groups = [sorted(numbers[at : at + group]) for at in range(0, len(numbers), group)]
        digits = split_grid([number for members in groups for number in members], extents)
    if isinstance(digits, int):
        where, rest = list[int](), digits
        for extent in reversed(extents):
            rest, at = divmod(rest, extent)
            where.insert(0, at)
        refused = Refused(
            "TW510",
            f"tile ({listed(where)}) is on device {numbers[digits]}: no digits of the tiles count so",
            witness={"tile": tuple(where), "device": numbers[digits]},
        )
        refused.span, refused.source = span, cursor.source
        raise refused
    data = len(extents) - len(kinds)
    ends = list(zip(kinds, digits[data:], strict=True))
    copies = [digit for kind, found in ends if kind == _REPLICATED for digit in found]
    manual = [digit for kind, found in ends if kind == _MANUAL for digit in found]
    return _Tiles(digits[:data], copies, manual, numbers[0], span, notes=notes)


def _reading(
    cursor: Cursor, given: Given, tiles: _Tiles, shape: tuple[int, ...] | None, dtype: DType | None
) -> Reading:
    notes = list(tiles.notes)
    if shape is None:
        shape = given.needs_shape("a sharding of HLO")
    elif "tensor" not in given.text:
        if "_spmd" in given.text and len(tiles.dimensions) == len(shape):
            counts = [prod(extent for extent, _ in digits) for digits in tiles.dimensions]
            shape = tuple(extent * count for extent, count in zip(shape, counts, strict=True))
        elif tiles.dimensions:
            notes.append(_WHOLE_OR_SHARD)
    check_extents(cursor, shape)
    copies = tiles.copies
    dimensions = tiles.dimensions or [[] for _ in shape]
    if tiles.everywhere:
        if given.let.get("devices", 0) < 1:
            raise cursor.error(
                "TW007",
                "a copy is on every device, and the text does not tell how many there are",
                tiles.span,
                "--let devices=8",
            )
        copies = [(given.let["devices"], 1)]
    if len(dimensions) != len(shape):
        raise cursor.error(
            "TW003",
            f"dimensions that are tiled: {len(dimensions)}; of the tensor: {len(shape)}",
            tiles.span,
            hint="a last dimension of copies is marked: last_tile_dim_replicate",
        )
    if tiles.manual:
        steps = " and ".join(f"{extent} by {step}@{GPU}" for extent, step in tiles.manual)
        notes.append(
            f"manual over {steps}: each of these groups has a tensor of its own, and this is the first one's"
        )
    sharding = tiled(
        shape,
        [[Cell(extent, step @ GPU) for extent, step in digits] for digits in dimensions],
        [Cell(extent, step @ GPU) for extent, step in copies],
    )
    first = tiles.first @ GPU if tiles.first else Vector()
    return Sharding(sharding.dimensions, sharding.copies, first).reading(shape, dtype, notes)


def write(layout: Layout, given: Given) -> str:
    """Return the sharding of a layout whose one axis of devices is `gpuid`.

    >>> from tilewise import parse
    >>> layout = parse("S[((4, 4), 8) : ((1@gpuid, 8), 1)] + R[2 : 4@gpuid]")
    >>> write(layout, Given())
    '{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}'
    """
    system = "HLO"
    sharding = sharding_of(layout, system)
    cells, first = sharding.on_devices, sharding.first[GPU]
    others = {axis for cell in cells for axis in cell.steps.axes} - {GPU}
    if others or set(sharding.first.axes) - {GPU}:
        named = ", ".join(sorted(map(str, others or sharding.first.axes)))
        message = f"HLO numbers its devices along {GPU}, and this has {named}"
        raise LayoutError("TW008", message, hint="--as shardy has names")
    even(sharding, system)
    if not cells:
        if first < 0:
            raise LayoutError("TW008", "HLO numbers its devices from 0")
        return f"{{maximal device={first}}}"
    tiles = [prod(cell.extent for cell in dimension if cell.device) for dimension in sharding.dimensions]
    copies = prod(cell.extent for cell in sharding.copies)
    suffix = " last_tile_dim_replicate" if copies > 1 else ""
    grid = [*tiles, copies] if copies > 1 else tiles
    if not sharding.first.terms and _counts_up(cells):
        axes_of(sharding, system)
        numbers = _transposed(cells)
    else:
        numbers = listed(_table(cells, first))
    return f"{{devices=[{listed(grid)}]{numbers}{suffix}}}"


def _counts_up(cells: list[Cell]) -> bool:
    return all(cell.steps[GPU] > 0 for cell in cells)


def _transposed(cells: list[Cell]) -> str:
    """Return `<=[2,4]T(1,0)`: the digits of the numbers by their steps, and the order in which they come."""
    steps = [cell.steps[GPU] for cell in cells]
    by_step = sorted(range(len(cells)), key=lambda i: -steps[i])
    counted = [cells[i].extent for i in by_step]
    order = [by_step.index(i) for i in range(len(cells))]
    if order == sorted(order):
        return f"<=[{prod(counted)}]"
    return f"<=[{listed(counted)}]T({listed(order)})"


def _table(cells: list[Cell], first: int) -> list[int]:
    """Return the number of every device in the order of the grid, where each is there once."""
    count = prod(cell.extent for cell in cells)
    if count > MAX_DEVICES:
        raise LayoutError("TW301", f"more than {MAX_DEVICES} devices to list")
    numbers = [first]
    for cell in cells:
        step = cell.steps[GPU]
        numbers = [number + step * i for number in numbers for i in range(cell.extent)]
    if sorted(numbers) != [*range(count)]:
        raise LayoutError("TW008", f"HLO numbers {count} devices once each, from 0 to {count - 1}")
    return numbers
