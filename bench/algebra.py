"""The algebra beside the neighbours', at 3, 8 and 20 digits.

Layouts are dense, their digits in random order. Ours are made anew for every call, so that nothing a
layout remembers of itself is met again; the neighbours' remember nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from types import ModuleType
from typing import Any

from clock import side_by_side
from page import Row, Section
from tilewise import Layout, S, algebra

COUNTS = (3, 8, 20)
MOST_CALLS = 60_000
OURS = ("tilewise", "group", "slice", "tile")

Work = Callable[[], Any]
Digits = list[tuple[int, int]]
"""(extent, stride), slowest first."""


def dense(count: int, seed: int) -> Digits:
    """Return a dense layout's digits, moving in random order."""
    rng = Random(seed)
    extent = 4 if count <= 12 else 2
    strides, step = [0] * count, 1
    for i in rng.sample(range(count), count):
        strides[i], step = step, step * extent
    return [(extent, stride) for stride in strides]


def ours(digits: Digits) -> Layout:
    """Return the digits as our layout."""
    return S[tuple(e for e, _ in digits) : tuple(s for _, s in digits)]


def theirs(peer: ModuleType, digits: Digits) -> Any:
    """Return the digits as a layout of pycute's or tensor-layouts', whose first mode is the fastest."""
    return peer.Layout(tuple(e for e, _ in reversed(digits)), tuple(s for _, s in reversed(digits)))


def bare(layout: Layout) -> Layout:
    """Return the same value, knowing nothing of itself."""
    return layout.with_parts(layout.shape, layout.strides, layout.replica, layout.offset)


def anew(arguments: list[Any]) -> Iterator[list[Any]]:
    """Yield the arguments again and again; no layout has computed anything yet."""
    return iter([[bare(a) if isinstance(a, Layout) else a for a in arguments] for _ in range(MOST_CALLS)])


def sections(peers: dict[str, ModuleType]) -> list[Section]:
    """Measure every operation at every count, and questions of 2^50 elements."""
    rows = [
        row for count in COUNTS for what in OPERATIONS for row in _rows(what, count, OPERATIONS[what], peers)
    ]
    note = (
        "The neighbours give no proof that an answer is right, and take neither copies, offsets nor named "
        "axes; the aim is 1 for compose, divide and left inverse, and 2 for the others."
    )
    return [Section("Algebra", note, rows), _tiles(peers.get("tvm.tirx.layout")), _relations()]


class _Operation:
    """One operation: how it is called here, what the neighbours call it, and the aim."""

    def __init__(self, call: Callable[..., Any], pycute: str, tensor_layouts: str, aim: float) -> None:
        self.call, self.aim = call, aim
        self.names = {"pycute": pycute, "tensor_layouts": tensor_layouts}


OPERATIONS = {
    "compose": _Operation(algebra.compose, "composition", "compose", 1),
    "logical_divide": _Operation(algebra.logical_divide, "logical_divide", "logical_divide", 1),
    "left_inverse": _Operation(algebra.left_inverse, "left_inverse", "left_inverse", 1),
    "right_inverse": _Operation(algebra.right_inverse, "right_inverse", "right_inverse", 2),
    "complement": _Operation(algebra.complement, "complement", "complement", 2),
}


def _arguments(what: str, count: int) -> list[Any]:
    first = dense(count, count)
    if what == "compose":
        return [first, dense(count, count + 1)]
    if what == "logical_divide":
        return [first, dense(count, count + 1)[: count // 2]]
    if what == "complement":
        return [first[: count // 2], first[0][0] ** count]
    return [first]


def _rows(what: str, count: int, operation: _Operation, peers: dict[str, ModuleType]) -> list[Row]:
    arguments = _arguments(what, count)
    own = [ours(a) if isinstance(a, list) else a for a in arguments]

    fresh = anew(own)
    works: dict[str, Work] = {"tilewise": lambda: operation.call(*next(fresh))}
    for name, function in operation.names.items():
        if name in peers:
            foreign = [theirs(peers[name], a) if isinstance(a, list) else a for a in arguments]
            works[name] = _calling(getattr(peers[name], function), foreign)
    seconds = side_by_side(_answering(works))
    label = f"{what}, {count} digits"
    beside = [
        Row(label, seconds["tilewise"], f"{name} `{operation.names[name]}`", taken, operation.aim)
        for name, taken in seconds.items()
        if name != "tilewise"
    ]
    return beside or [Row(label, seconds["tilewise"])]


def _calling(function: Callable[..., Any], arguments: list[Any]) -> Work:
    return lambda: function(*arguments)


def _answering(works: dict[str, Work]) -> dict[str, Work]:
    """Ours, and those of the neighbours that take the question at all."""
    return {name: work for name, work in works.items() if name in OURS or _runs(work)}


def _runs(work: Work) -> bool:
    try:
        work()
    except Exception:
        return False
    return True


def _tiles(tirx: ModuleType | None) -> Section:
    """Group, tile and slice, which of the neighbours only TIRx has."""
    rows = []
    for count in COUNTS:
        digits = dense(count, count)
        layout, shape = ours(digits), [e for e, _ in digits]
        halves = [layout.size // shape[-1], shape[-1]]
        region = [(0, e) for e in shape[:-1]] + [(0, shape[-1] // 2)]
        row_major = tuple((2,) * count)
        works: dict[str, Work] = {
            "group": lambda layout=layout, halves=halves: bare(layout).group(*halves),
            "slice": lambda layout=layout, region=region: bare(layout).slice(*region),
            "tile": lambda layout=layout, row_major=row_major: bare(layout).tile(row_major),
        }
        if tirx is not None:
            tile = tirx.TileLayout(tirx.S[tuple(shape) : tuple(s for _, s in digits)])
            outer = tirx.TileLayout(tirx.S[row_major])
            works |= {
                "TIRx `group`": lambda tile=tile, halves=halves: tile.group(halves),
                "TIRx `slice`": lambda tile=tile, shape=shape, region=region: tile.slice(shape, region),
                "TIRx `tile`": lambda tile=tile, outer=outer, shape=shape, row_major=row_major: tile.tile(
                    outer, list(row_major), shape
                ),
            }
        seconds = side_by_side(_answering(works))
        for name in ("group", "slice", "tile"):
            other = f"TIRx `{name}`"
            rows.append(Row(f"{name}, {count} digits", seconds[name], other, seconds.get(other)))
    note = "TIRx is C++ behind a foreign-function call. Its slice may be wrong where a carry ripples."
    return Section("Group, slice, tile", note, rows)


def _relations() -> Section:
    """Questions about two layouts of 2^50 elements, and a swizzle found in a table."""
    one = S[(32, 32, *(16,) * 10)]
    other = one.permute(*reversed(range(12)))
    swizzled = algebra.compose(S[8192:1], S[8192:1])
    from tilewise import Swizzle
    from tilewise.tables import table

    listed = table(Swizzle(3, 3, 3) @ swizzled.reshape(128, 64)).columns["m"].tolist()
    works: dict[str, Work] = {
        "same, 2^50 elements, 12 digits": lambda: bare(one).same(bare(other)),
        "relation, 2^50 elements, 12 digits": lambda: bare(one).relation(bare(other)),
        "recognise a swizzled 128 x 64 table": lambda: algebra.recognise(listed),
    }
    seconds = side_by_side(works)
    note = "Aimed at: under 5 ms for `same` and `relation`, under 20 ms for recognition."
    return Section("Two layouts, and a table", note, [Row(what, taken) for what, taken in seconds.items()])
