"""From a tensor in global memory and a tile in shared memory to TMA's copy, in as few boxes as can be.

    plan_copy(shape, tile, dtype=...)          the tensor map and the boxes that fill exactly that tile
    default_tile(shape, tile, dtype, mode)     the tile that one box fills, where nothing else is asked

A plan is proven when it is made: the bytes where its boxes land, put together, are the tile's own map.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod

from tilewise.check.boxes import Digit, Fold, Tensor, digits_of, fold
from tilewise.core.axes import m
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_extent, as_int, counted
from tilewise.core.layout import Layout
from tilewise.core.shapes import spell
from tilewise.core.vectors import as_vector
from tilewise.hardware.modes import CHUNK, MODES, Mode
from tilewise.hardware.tma.landing import landing, row_bytes
from tilewise.hardware.tma.rules import (
    MAX_RANK,
    RULES,
    SHARED_ALIGNMENT,
    SHARED_LIMIT,
    Violation,
    violations,
)
from tilewise.hardware.tma.tensor_map import TensorMap
from tilewise.hardware.tma.types import ElementType
from tilewise.hardware.wgmma.tiles import ORDERS
from tilewise.hardware.wgmma.tiles import tile as tile_of_atoms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LAYOUT_RULES = {
    "storage": "a tile of shared memory lives on one storage axis, in one copy",
    "overlap": "two elements of the tile have two places",
    "ascending": "the tile runs upwards in memory",
    "swizzle": "the tile is swizzled as the hardware swizzles: Swizzle<1|2|3,4,3> on bytes, or not at all",
    "element": "the tile's elements follow one another somewhere: one digit steps by one element",
    "contiguous": "the dimension along which the tile is contiguous is the one along which the tensor is",
}
"""Rules that the driver does not have, since it never sees the tile."""


@dataclass(frozen=True, slots=True)
class Box:
    """One copy of a plan."""

    coordinates: tuple[int, ...]
    """What the instruction is given, in the driver's order."""
    index: tuple[int, ...]
    """Its first element in the tile."""
    start: int
    """Bytes from the start of the tile's shared memory."""
    inside: int | None = None
    """Elements that lie in the tensor; None where it is not said where the tile is."""


@dataclass(frozen=True)
class Plan:
    """A tensor map and the boxes that fill a tile."""

    tensor_map: TensorMap
    tile: Layout
    """Where every element of the tile lands, in bytes, on the tile's shape."""
    fold: Fold
    tensor: Tensor
    elements: int = 1
    """Elements of the asked type in one of the map: 8 where bits travel as bytes."""
    notes: tuple[str, ...] = ()

    @property
    def mode(self) -> Mode:
        """The swizzle."""
        return self.tensor_map.mode

    @property
    def count(self) -> int:
        """How many boxes there are."""
        return self.fold.boxes

    @property
    def bytes(self) -> int:
        """What the mbarrier expects for all boxes together."""
        return self.count * self.tensor_map.bytes

    @property
    def alignment(self) -> int:
        """What the start of the tile's shared memory is a multiple of."""
        return max(SHARED_ALIGNMENT, self.mode.period)

    @cached_property
    def boxes(self) -> tuple[Box, ...]:
        """Every box, in the order of their addresses."""
        return tuple(self._boxes())

    def _boxes(self) -> Iterator[Box]:
        at = self.tensor.at or (0,) * len(self.tensor.shape)
        first = self.tile.offset[m]
        slow_first = self.fold.rest[::-1]
        for index in product(*(range(digit.extent) for digit in slow_first)):
            inside = [0] * len(at)
            start = first
            for position, digit in zip(index, slow_first, strict=True):
                inside[digit.dim] += position * digit.step
                start += position * digit.stride
            coordinates = self.fold.coordinates([a + i for a, i in zip(at, inside, strict=True)])
            yield Box(
                coordinates,
                tuple(inside),
                start,
                None if self.tensor.at is None else self._inside(coordinates),
            )

    def _inside(self, coordinates: Sequence[int]) -> int:
        return self.elements * prod(
            max(0, min(d.extent, c + d.box) - max(0, c))
            for c, d in zip(coordinates, self.fold.dimensions, strict=True)
        )


def plan_copy(
    shape: Sequence[int],
    tile: Layout,
    *,
    dtype: DType | str,
    strides: Sequence[int] | None = None,
    at: Sequence[int] | None = None,
    address: int = 0,
    max_rank: int = MAX_RANK,
    l2: str = "128B",
    fill: str = "zero",
) -> Plan:
    """The copy of a tile of a tensor into shared memory, in as few boxes as can be.

    `shape` and `strides` are the tensor's, in elements, row-major where no strides are given; the modes of
    `tile` are the tensor's last dimensions. `at` is the tile's first element; where it is not given, tiles
    start at multiples of their own extents.

        postcondition  the boxes' landings, put together, are `tile`
        refused        TW607 where no box lands so; the witness names the rule

    >>> from tilewise.hardware.wgmma.tiles import tile
    >>> plan = plan_copy((4096, 4096), tile("128B", "k", "bf16", 128, 128), dtype="bf16")
    >>> plan.tensor_map.arguments["boxDim"], plan.count, plan.bytes
    ([64, 128, 2], 1, 32768)
    >>> plan_copy((4096, 4096), tile("128B", "mn", "bf16", 128, 64), dtype="bf16")
    Traceback (most recent call last):
    tilewise.Refused: TW607: the tile is contiguous along dimension 0, the tensor along dimension 1
      hint: TMA does not transpose: lay the tile out along dimension 1, or copy by threads
    """
    element, packed, extents, steps, tile = _in_whole_bytes(DType.of(dtype), shape, strides, tile)
    row = ElementType.of(element)
    extents, steps, tile, at = _same_rank(extents, steps, tile, at)
    contiguous = _contiguous(extents, steps, row)
    if at is not None:
        at = tuple(
            _parts(as_int(x, "a coordinate"), packed if dim == contiguous else 1) for dim, x in enumerate(at)
        )
    tensor = Tensor(row, extents, _stride_bytes(extents, steps, row, contiguous), at)
    shared = tile.in_bytes(element).relabel({tile.axes[0]: m}) if _is_storage(tile) else tile
    plans = [
        _planned(tensor, mode, plain, contiguous, max_rank, l2, fill) for mode, plain in _readings(shared)
    ]
    best = min(plans, key=lambda plan: (bool(violations(plan.tensor_map, address)), plan.count))
    _check_rules(best.tensor_map, address)
    _check_starts(best)
    _prove(best, shared)
    return replace(best, elements=packed)


# -- reading the question --------------------------------------------------------------------------


def refusal(rule: str, message: str, hint: str, **witness: Any) -> Refused:
    """There is no such copy: the rule that it breaks is in the witness.

    >>> refusal("contiguous", "the tile runs along M", "turn it").witness
    {'rule': 'contiguous'}
    """
    assert rule in LAYOUT_RULES or rule in RULES
    return Refused("TW607", message, witness={"rule": rule, **witness}, hint=hint)


def _in_whole_bytes(
    dtype: DType, shape: Sequence[int], strides: Sequence[int] | None, tile: Layout
) -> tuple[DType, int, tuple[int, ...], tuple[int, ...], Layout]:
    """(type, how many of the asked ones it holds, shape, strides, tile): elements below a byte as bytes."""
    extents = tuple(as_extent(extent) for extent in shape)
    steps = tuple(as_int(step, "a stride of the tensor") for step in strides or _dense(extents))
    if len(steps) != len(extents):
        raise LayoutError(
            "TW003",
            f"a tensor of {counted(len(extents), 'dimension')} and {counted(len(steps), 'stride')}",
            hint="one stride a dimension, in elements, slowest first",
        )
    if tile.unit != "element":
        tile = tile.in_elements(dtype)
    if dtype.bits >= 8:
        return dtype, 1, extents, steps, tile
    if 8 % dtype.bits:
        raise refusal(
            "type",
            f"elements of {dtype.bits} bits are none of TMA's on Hopper",
            "keep one in a byte (u8)",
            dtype=dtype.name,
        )
    each = 8 // dtype.bits
    dim = len(extents) - 1
    if steps[dim] != 1 or extents[dim] % each or any(step % each for step in steps[:-1]):
        raise refusal(
            "type",
            f"{each} elements of {dtype} travel as a byte, and rows of the tensor are no whole bytes",
            f"the last dimension is contiguous, and its extent and all other strides are multiples of {each}",
            shape=list(extents),
            strides=list(steps),
        )
    whole = (*extents[:-1], extents[-1] // each), (*(step // each for step in steps[:-1]), 1)
    return DType.of("u8"), each, *whole, tile.pack(each)


def _parts(coordinate: int, each: int) -> int:
    if coordinate % each:
        raise refusal(
            "type",
            f"a tile that starts at element {coordinate} starts inside a byte",
            f"start at a multiple of {each}",
            at=coordinate,
        )
    return coordinate // each


def _dense(extents: Sequence[int]) -> tuple[int, ...]:
    return tuple(prod(extents[i + 1 :]) for i in range(len(extents)))


def _same_rank(
    extents: tuple[int, ...], steps: tuple[int, ...], tile: Layout, at: Sequence[int] | None
) -> tuple[tuple[int, ...], tuple[int, ...], Layout, tuple[int, ...] | None]:
    """The tile with a mode for every dimension of the tensor, and `at` with a coordinate for each."""
    if not 1 <= len(extents) <= MAX_RANK:
        raise refusal(
            "rank",
            f"the tensor has {counted(len(extents), 'dimension')}, and TMA takes 1 to {MAX_RANK}",
            "merge dimensions that follow one another in memory",
            rank=len(extents),
        )
    missing = len(extents) - len(tile.shape)
    if missing < 0:
        raise LayoutError(
            "TW003",
            f"a tile of {counted(len(tile.shape), 'mode')}, a tensor of {counted(len(extents), 'dimension')}",
            hint="one mode a dimension; digits of one dimension share a mode: S[((16, 8), 64) : ...]",
        )
    if missing:
        tile = replace(
            tile, shape=(1,) * missing + tile.shape, strides=(as_vector(0),) * missing + tile.strides
        )
    if at is not None and len(at) != len(extents):
        raise LayoutError(
            "TW003",
            f"{counted(len(at), 'coordinate')} for a tensor of {counted(len(extents), 'dimension')}",
            hint="one a dimension, slowest first",
        )
    return extents, steps, tile, None if at is None else tuple(at)


def _contiguous(extents: Sequence[int], steps: Sequence[int], row: ElementType) -> int:
    """The dimension along which the tensor's elements follow one another."""
    found = [dim for dim, step in enumerate(steps) if step == 1]
    if not found:
        raise refusal(
            "contiguous",
            f"no dimension of the tensor is contiguous: its strides are {spell(tuple(steps))}",
            "TMA reads rows of neighbouring elements; view the tensor so that one stride is 1",
            strides=list(steps),
        )
    return max(found, key=lambda dim: (extents[dim], dim))


def _stride_bytes(
    extents: Sequence[int], steps: Sequence[int], row: ElementType, contiguous: int
) -> tuple[int, ...]:
    """Strides in bytes; that of a dimension with one element means nothing, and is made one that is legal."""
    size = row.bits // 8
    return tuple(
        -(-abs(step) * size // CHUNK) * CHUNK if extent == 1 and dim != contiguous else step * size
        for dim, (extent, step) in enumerate(zip(extents, steps, strict=True))
    )


# -- reading the tile ------------------------------------------------------------------------------


def _is_storage(tile: Layout) -> bool:
    return len(tile.axes) == 1 and tile.axes[0].kind == "storage"


def _readings(shared: Layout) -> list[tuple[Mode, Layout]]:
    """Every mode that explains the tile, with the layout before its swizzle: one map can be several.

    The one that is written comes first.
    """
    _check_tile(shared)
    found = []
    for mode in sorted(MODES.values(), key=lambda mode: shared.swizzles != (mode.swizzle,)):
        undone = (shared.swizzled((mode.swizzle,)) if mode.bits else shared).swizzle_chain()
        if not undone.swizzles and not undone.outer:
            found.append((mode, undone))
    if not found:
        raise refusal(
            "swizzle",
            f"no swizzle of the hardware explains the tile, in bytes {shared}",
            "they are Swizzle<1|2|3,4,3> on bytes, Swizzle<1|2|3,3,3> on 16-bit elements",
            swizzles=[str(swizzle) for swizzle in shared.swizzles],
        )
    return found


def _check_tile(shared: Layout) -> None:
    if not _is_storage(shared) or shared.replica:
        raise refusal(
            "storage",
            f"the tile names {' and '.join(axis.name for axis in shared.axes)}"
            + (", and has copies" if shared.replica else ""),
            "a tile of shared memory is a map to addresses: one axis, one copy",
        )
    if shared.span(shared.axes[0]) > SHARED_LIMIT:
        raise refusal(
            "shared-size",
            f"the tile reaches over {shared.span(shared.axes[0])} bytes",
            f"a block has {SHARED_LIMIT} bytes of shared memory at most",
        )
    alone = shared.injective
    if alone.answer is False:
        raise refusal("overlap", f"the tile overlaps itself: {alone.reason}", "give every element a place")


def _planned(
    tensor: Tensor,
    mode: Mode,
    plain: Layout,
    contiguous: int,
    max_rank: int,
    l2: str,
    fill: str,
) -> Plan:
    digits = digits_of(plain) or [Digit(contiguous, 1, 1, tensor.element)]
    _check_digits(digits, tensor, contiguous)
    folded = fold(digits, tensor, mode, max_rank)
    slow_first = folded.dimensions[::-1]
    tensor_map = TensorMap(
        tensor.dtype,
        tuple(d.extent for d in slow_first),
        tuple(d.stride for d in slow_first[:-1]),
        tuple(d.box for d in slow_first),
        mode=mode,
        l2=l2,
        fill=fill,
    )
    notes = (f"{folded.boxes} boxes, since {folded.stopped}",) if folded.boxes > 1 else ()
    return Plan(tensor_map, _landed(tensor_map, folded, plain), folded, tensor, notes=notes)


def _check_digits(digits: Sequence[Digit], tensor: Tensor, contiguous: int) -> None:
    for digit in digits:
        if digit.stride < 0:
            raise refusal(
                "ascending",
                f"dimension {digit.dim} of the tile runs backwards, by {digit.stride} bytes",
                "TMA writes upwards: turn the dimension round in the tensor and the tile",
                stride=digit.stride,
            )
    first = digits[0]
    if first.stride != tensor.element:
        raise refusal(
            "element",
            f"neighbours in the tile are {first.stride} bytes apart, and an element is {tensor.element}",
            "is the layout in elements? --unit byte reads bytes"
            if first.stride % tensor.element
            else "TMA leaves no gaps inside a row",
            stride=first.stride,
        )
    if first.dim != contiguous or first.step != 1:
        if first.dim == contiguous:
            raise refusal(
                "contiguous",
                f"neighbours in the tile are {first.step} elements apart along dimension {first.dim}",
                "TMA takes rows of neighbouring elements",
                step=first.step,
            )
        raise refusal(
            "contiguous",
            f"the tile is contiguous along dimension {first.dim}, the tensor along dimension {contiguous}",
            f"TMA does not transpose: lay the tile out along dimension {contiguous}, or copy by threads",
            tile=first.dim,
            tensor=contiguous,
        )


# -- checks and proof ------------------------------------------------------------------------------


def broken_rules(found: Sequence[Violation]) -> Refused:
    """One refusal for all rules that a tensor map breaks."""
    first, *more = found
    others = f"; and {counted(len(more), 'rule')} more" if more else ""
    return Refused(
        "TW607",
        f"{first.message}{others}",
        witness={
            "rule": first.rule,
            "rules": [{"rule": v.rule, "message": v.message, "hint": v.hint} for v in found],
        },
        hint=first.hint,
    )


def _check_rules(tensor_map: TensorMap, address: int) -> None:
    if found := violations(tensor_map, address):
        raise broken_rules(found)


def _check_starts(plan: Plan) -> None:
    """Every box starts at a multiple of 128 bytes."""
    first = plan.tile.offset[m]
    strides = [digit.stride for digit in plan.fold.rest]
    for stride in [first, *strides]:
        if stride % SHARED_ALIGNMENT:
            where = (
                f"the tile starts at byte {stride}" if stride == first else f"boxes are {stride} bytes apart"
            )
            why = "" if stride == first else f", since {plan.fold.stopped}"
            raise refusal(
                "shared-address",
                where + why,
                f"boxes land at multiples of {SHARED_ALIGNMENT} bytes; take a tile without gaps",
                bytes=stride,
            )


def _landed(tensor_map: TensorMap, folded: Fold, plain: Layout) -> Layout:
    """Where the boxes land, put together on the tile's shape: what TMA does, not what the tile says."""
    start = plain.offset[m]
    landed = tensor_map.landing(start)
    strides = [stride[m] for stride in landed.strides[::-1]]
    placed = [
        Digit(d.dim, d.step, d.box, stride)
        for d, stride in zip(folded.dimensions, strides, strict=True)
        if d.box > 1
    ]
    by_mode: list[list[Digit]] = [
        sorted(
            (digit for digit in (*placed, *folded.rest) if digit.dim == dim and digit.extent > 1),
            key=lambda digit: -digit.step,
        )
        for dim in range(len(plain.shape))
    ]
    shape = tuple(tuple(digit.extent for digit in digits) or 1 for digits in by_mode)
    steps = [step for digits in by_mode for step in ([digit.stride for digit in digits] or [0])]
    layout = Layout(shape, tuple(map(as_vector, steps)), offset=as_vector(start), unit="byte")
    return layout.swizzled(landed.swizzles) if landed.swizzles else layout


def _prove(plan: Plan, shared: Layout) -> None:
    found = plan.tile.same(shared)
    if not found.answer:
        raise refusal(
            "swizzle", f"the boxes land elsewhere: {found.reason}", "take one of the hardware's tiles"
        )


# -- tiles -----------------------------------------------------------------------------------------


def default_tile(
    shape: Sequence[int],
    tile: Sequence[int],
    dtype: DType | str,
    mode: Mode | str,
    *,
    strides: Sequence[int] | None = None,
    order: str | None = None,
) -> Layout:
    """The tile that TMA fills in one box: rows as wide as the swizzle, all of them, then the next columns.

    Contiguous where the tensor is. With `order`, a tile of wgmma's atoms, which follow one another down
    the rows (mn) or along K (k) first: for swizzled K-major tiles mn is the tile without `order`, for
    MN-major ones k is.

    >>> print(default_tile((4096, 4096), (128, 128), "bf16", "128B"))
    Swizzle<3,3,3> o S[(128, (2, 64)) : (64, (8192, 1))]
    >>> print(default_tile((4096, 4096), (128, 64), "bf16", "128B", strides=(1, 4096)))
    Swizzle<3,3,3> o S[((2, 64), 64) : ((4096, 1), 64)]
    """
    mode, element = Mode.of(mode), DType.of(dtype)
    extents = tuple(as_extent(extent) for extent in tile)
    steps = tuple(strides) if strides is not None else _dense(shape)
    dim = _contiguous(shape, steps, ElementType.of("u8")) - len(shape) + len(extents)
    if dim < 0:
        raise refusal(
            "contiguous",
            "the tile has one element of the dimension along which the tensor is contiguous",
            "give the tile a mode for that dimension",
        )
    if order is not None:
        if order not in ORDERS:
            raise LayoutError("TW601", f"{order!r} is no order of atoms", hint="known: mn k")
        if len(extents) != 2:
            raise LayoutError(
                "TW003",
                f"atoms in order {order} for a tile of {counted(len(extents), 'mode')}",
                hint="[rows, K]",
            )
        return tile_of_atoms(mode, ("mn", "k")[dim], element, *extents, order=order)
    wide = mode.elements(element) if mode.bits else extents[dim]
    if extents[dim] > wide and extents[dim] % wide:
        raise Refused(
            "TW603",
            f"{extents[dim]} elements of {element} are no whole rows of the {mode} swizzle, {wide} each",
            witness={"mode": mode.name, "row": wide, "tile": list(extents)},
            hint=f"take a multiple of {wide}, or a narrower mode",
        )
    inner = min(wide, extents[dim])
    outer = [extent for i, extent in enumerate(extents) if i != dim]
    row_bytes(inner, element)
    box = landing((extents[dim] // inner, *outer, inner), element, mode)
    return _as_tile(box, dim, len(extents)).in_elements(element)


def _as_tile(box: Layout, dim: int, rank: int) -> Layout:
    """A box (column group, other dimensions, column) as a tile of the tensor's dimensions."""
    group, *outer, inner = box.shape
    many, *steps = box.strides
    between, columns = steps[: rank - 1], steps[rank - 1 :]
    modes: list[Any] = list(outer)
    strides: list[Any] = [[step] for step in between]
    inside = inner if isinstance(inner, tuple) else (inner,)
    modes.insert(dim, inner if group == 1 else (group, *inside))
    strides.insert(dim, columns if group == 1 else [many, *columns])
    flat = tuple(step for steps in strides for step in steps)
    return replace(box, shape=tuple(modes), strides=flat)


def orders(
    shape: Sequence[int],
    tile: Sequence[int],
    dtype: DType | str,
    mode: Mode | str,
    *,
    strides: Sequence[int] | None = None,
    **more: Any,
) -> dict[str, Plan]:
    """The copy of a tile of wgmma's atoms in each order that has one: {order: plan}.

    >>> found = orders((4096, 1004), (128, 64), "bf16", "128B", strides=(1, 4096))
    >>> {order: (plan.count, plan.tensor_map.box) for order, plan in found.items()}
    {'mn': (8, (2, 8, 64)), 'k': (1, (2, 64, 64))}
    """
    found = {}
    if len(tile) == 2:
        for order in ORDERS:
            try:
                atoms = default_tile(shape, tile, dtype, mode, strides=strides, order=order)
                found[order] = plan_copy(shape, atoms, dtype=dtype, strides=strides, **more)
            except Refused:
                continue
    return found
