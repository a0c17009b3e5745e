"""Plan TMA's copy of a tensor in global memory to a tile in shared memory, in the fewest boxes.

    plan_copy(shape, tile, dtype=...)          the tensor map and the boxes that fill exactly that tile
    default_tile(shape, tile, dtype, mode)     the tile that one box fills, if the user gives no layout

A plan is proven when it is made: the bytes where its boxes land, put together, are the tile's own map.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod

from tilewise.check.boxes import Digit, Fold, Tensor, digits_of, fold
from tilewise.core.axes import STORAGE, m
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_extent, as_int, counted
from tilewise.core.layout import Layout, as_layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import spell
from tilewise.core.vectors import Vector, as_vector
from tilewise.hardware.digits import layout_of
from tilewise.hardware.limits import SHARED_BYTES
from tilewise.hardware.modes import CHUNK, MODES, Mode
from tilewise.hardware.operands.tiles import ORDERS
from tilewise.hardware.operands.tiles import tile as tile_of_atoms
from tilewise.hardware.tma.landing import in_shared_bytes, stacked
from tilewise.hardware.tma.rules import MAX_RANK, RULES, SHARED_ALIGNMENT, Violation, violations
from tilewise.hardware.tma.tensor_map import TensorMap
from tilewise.hardware.tma.types import ElementType

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

PADDED = 8
"""The divisor of a row that bounds its padding."""

CHECK = "in bytes: tma check"
"""The command that takes strides in bytes."""


def refusal(rule: str, message: str, hint: str, **witness: Any) -> Refused:
    """Return the refusal of a copy, with the broken rule in its witness.

    >>> refusal("contiguous", "the tile runs along M", "turn it").witness
    {'rule': 'contiguous'}
    """
    assert rule in LAYOUT_RULES or rule in RULES
    return Refused("TW607", message, witness={"rule": rule, **witness}, hint=hint)


@dataclass(frozen=True, slots=True)
class Box:
    """One copy of a plan."""

    coordinates: tuple[int, ...]
    """The arguments of the instruction, in the driver's order."""
    index: tuple[int, ...]
    """Its first element in the tile."""
    start: int
    """Bytes from the start of the tile's shared memory."""
    bytes: int
    """Bytes that the mbarrier expects for it."""
    inside: int | None = None
    """Elements that lie in the tensor; None where the tile's place is not given."""


@dataclass(frozen=True)
class Plan:
    """A tensor map and the boxes that fill a tile."""

    tensor_map: TensorMap
    tile: Layout
    """The byte at which every element of the tile lands, on the tile's shape."""
    fold: Fold = field(repr=False)
    tensor: Tensor = field(repr=False)
    elements: int = 1
    """Elements of the asked type in one of the map: 8 where bits travel as bytes."""
    notes: tuple[str, ...] = ()

    @property
    def mode(self) -> Mode:
        """Return the swizzle."""
        return self.tensor_map.mode

    @property
    def count(self) -> int:
        """Return the number of boxes."""
        return self.fold.boxes

    @property
    def bytes(self) -> int:
        """Return the bytes that the mbarrier expects for all boxes together."""
        return self.count * self.tensor_map.bytes

    @property
    def shared_bytes(self) -> int:
        """Return the bytes of shared memory to the end of the last box, with the padding of narrow rows."""
        return self.boxes[-1].start + self.tensor_map.shared_bytes

    @property
    def elementwise(self) -> Layout:
        """Return the byte that holds each element of the asked type; `tile`, but for elements below a byte.

        >>> from tilewise import S
        >>> print(plan_copy((64, 256), S[(8, 256) : (256, 1)], dtype="e2m1").elementwise)
        S[(8, (128, 2)) : (128, (1, 0))]
        """
        return in_shared_bytes(self.tile, self.elements)

    @property
    def alignment(self) -> int:
        """Return the number that divides the start of the tile's shared memory."""
        return max(SHARED_ALIGNMENT, self.mode.period)

    @cached_property
    def boxes(self) -> tuple[Box, ...]:
        """Return every box, in the order of their addresses."""
        slow_first, tensor, size = self.fold.rest[::-1], self.tensor, self.tensor_map.bytes
        at, dimensions, boxes = tensor.at or [0] * len(tensor.shape), self.fold.dimensions, []
        for steps in product(*(range(digit.extent) for digit in slow_first)):
            index = [0] * len(tensor.shape)
            start = self.tile.offset[m]
            for digit, number in zip(slow_first, steps, strict=True):
                index[digit.dim] += number * digit.step
                start += number * digit.stride
            element = [first + i for first, i in zip(at, index, strict=True)]
            coordinates = tuple(dimension.coordinate(element) for dimension in dimensions)
            inside = tensor.elements * prod(
                max(0, min(dimension.extent, first + dimension.box) - max(0, first))
                for first, dimension in zip(coordinates, dimensions, strict=True)
            )
            index[-1] *= tensor.elements
            boxes.append(Box(coordinates, tuple(index), start, size, None if tensor.at is None else inside))
        return tuple(boxes)


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
    stores: bool = False,
    modes: Iterable[Mode] = MODES.values(),
) -> Plan:
    """Return the copy of a tile of a tensor into shared memory, or out of it, in the fewest boxes.

    `shape` and `strides` are the tensor's, in elements, row-major by default. The modes of `tile` are the
    tensor's last dimensions. `at` is the tile's first element; without it, tiles start at multiples of their
    extents. `modes` are the possible swizzles, by default Hopper's.

        postcondition  the boxes' landings, put together, are `tile`
        refused        TW607 where no box lands so; the witness names the rule

    >>> from tilewise.hardware.operands.tiles import tile
    >>> plan = plan_copy((4096, 4096), tile("128B", "k", "bf16", 128, 128), dtype="bf16")
    >>> plan.tensor_map.arguments["boxDim"], plan.count, plan.bytes
    ([64, 128, 2], 1, 32768)
    >>> plan_copy((4096, 4096), tile("128B", "mn", "bf16", 128, 64), dtype="bf16")
    Traceback (most recent call last):
    tilewise.Refused: TW607: the tile is contiguous along dimension 0, the tensor along dimension 1
      hint: TMA does not transpose: lay the tile out along dimension 1, or copy by threads
    """
    if not 1 <= as_int(max_rank, "the rank of a map") <= MAX_RANK:
        raise LayoutError(
            "TW602", f"a map of {max_rank} dimensions", hint=f"TMA copies 1 to {MAX_RANK} dimensions"
        )
    tensor, shared = asked(shape, tile, DType.of(dtype), strides, at)
    made = [
        _planned(tensor, *reading, max_rank, l2, fill) for reading in readings(shared, tensor.element, modes)
    ]
    best = min(made, key=lambda plan: (bool(violations(plan.tensor_map, address)), plan.count))
    doubt = bytes_for_elements(tensor)
    if broken := violations(best.tensor_map, address):
        raise broken_rules(broken, doubt)
    _check_shared(best)
    for box in best.boxes[:: max(1, best.count - 1)] if at is not None else ():
        if broken := violations(best.tensor_map, coordinates=box.coordinates, stores=stores):
            raise broken_rules(broken)
    proof = best.tile.same(shared)
    if not proof.answer:
        found = f"the boxes land elsewhere: {proof.reason}"
        raise refusal("swizzle", found, "take one of the hardware's tiles")
    return replace(best, notes=(*best.notes, doubt)) if doubt else best


def _planned(tensor: Tensor, mode: Mode, plain: Layout, max_rank: int, l2: str, fill: str) -> Plan:
    """Return the copy of a tile whose layout before the mode's swizzle is `plain`."""
    digits = digits_of(plain) or [Digit(tensor.contiguous, 1, 1, tensor.element)]
    check_digits(digits, tensor)
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
    # where the boxes land, put together on the tile's shape: what TMA does, not what the tile says
    landed = tensor_map.landing(plain.offset[m])
    strides = (stride[m] for stride in landed.strides[::-1])
    boxed = (
        Digit(d.dim, d.step, d.box, stride) for d, stride in zip(folded.dimensions, strides, strict=True)
    )
    modes: list[list[tuple[int, Vector]]] = [[] for _ in plain.shape]
    for digit in sorted((*boxed, *folded.rest), key=lambda digit: -digit.step):
        if digit.extent > 1:
            modes[digit.dim].append((digit.extent, as_vector(digit.stride)))
    whole = layout_of(*(digits or [(1, Vector())] for digits in modes), offset=landed.offset)
    whole = replace(whole, swizzles=landed.swizzles, unit="byte")
    notes = (f"{folded.boxes} boxes, since {folded.stopped}",) if folded.boxes > 1 else ()
    return Plan(tensor_map, whole, folded, tensor, tensor.elements, notes)


# -- checks ----------------------------------------------------------------------------------------


def broken_rules(found: Sequence[Violation], doubt: str = "") -> Refused:
    """Return one refusal for all rules that a tensor map breaks; a doubt about words joins its hint."""
    first, *more = found
    others = f"; and {counted(len(more), 'rule')} more" if more else ""
    rules = [{"rule": rule.rule, "message": rule.message, "hint": rule.hint} for rule in found]
    hint = "; ".join(filter(None, (first.hint, doubt)))
    return refusal(first.rule, first.message + others, hint, rules=rules)


def _check_shared(plan: Plan) -> None:
    """Refuse boxes that start where no box may, or lie outside a block's shared memory."""
    first, mode = plan.tile.offset[m], plan.mode
    room = f"every box lands at a multiple of {SHARED_ALIGNMENT} bytes: take more rows, "
    room += "or leave room between what two boxes take"
    if mode.bits and plan.tensor_map.inner_bytes < mode.width:
        room = f"under {mode} rows are {mode.width} bytes apart: leave the room, or swizzle narrower"
    if first % SHARED_ALIGNMENT:
        raise refusal("shared-address", f"the tile starts at byte {first}", room, bytes=first)
    for digit in plan.fold.rest:
        if digit.stride % SHARED_ALIGNMENT:
            found = f"boxes are {digit.stride} bytes apart, since {plan.fold.stopped}"
            raise refusal("shared-address", found, room, bytes=digit.stride)
    if first < 0:
        found = f"the tile starts at byte {first}"
        raise refusal("shared-size", found, "shared memory begins at 0", bytes=first)
    end = plan.shared_bytes
    if end > SHARED_BYTES:
        hint = f"a block has {SHARED_BYTES} bytes of shared memory at most"
        raise refusal("shared-size", f"the last box ends at byte {end}", hint, bytes=end)


# -- the question ----------------------------------------------------------------------------------


def asked(
    shape: Sequence[int],
    tile: Layout,
    dtype: DType,
    strides: Sequence[int] | None = None,
    at: Sequence[int] | None = None,
) -> tuple[Tensor, Layout]:
    """Return a tensor, and a tile of it in bytes; refuse a tensor or type that TMA cannot describe.

    >>> from tilewise import S
    >>> tensor, tile = asked((64, 256), S[(8, 256) : (256, 1)], DType.of("e2m1"))
    >>> tensor.shape, tensor.strides, tile.size, tensor.elements
    ((64, 128), (128, 1), 1024, 2)
    """
    tile, extents = by_coordinates(as_layout(tile)), tuple(as_extent(extent) for extent in shape)
    steps, rank = steps_of(extents, strides), len(extents)
    starts = None if at is None else tuple(as_int(n, "a coordinate") for n in at)
    tensor = f"a tensor of {counted(rank, 'dimension')}"
    if not 1 <= rank <= MAX_RANK:
        message = f"the tensor has {counted(rank, 'dimension')}, and TMA takes 1 to {MAX_RANK}"
        raise refusal("rank", message, "merge dimensions that follow one another in memory", rank=rank)
    if len(tile.shape) > rank:
        hint = "one mode a dimension; digits of one dimension share a mode: S[((16, 8), 64) : ...]"
        raise LayoutError("TW003", f"{tensor} and a tile of {counted(len(tile.shape), 'mode')}", hint=hint)
    if starts is not None and len(starts) != rank:
        hint = "one a dimension, slowest first"
        raise LayoutError("TW003", f"{tensor} and {counted(len(starts), 'coordinate')}", hint=hint)
    tile = tile if tile.unit == "element" else tile.in_elements(dtype)
    elements = 8 // dtype.bits if dtype.bits < 8 else 1
    if dtype.bits < 8:
        _check_whole_bytes(dtype, extents, steps, starts)
        extents = (*extents[:-1], extents[-1] // elements)
        steps = (*(step // elements for step in steps[:-1]), 1)
        starts = None if starts is None else (*starts[:-1], starts[-1] // elements)
        tile, dtype = tile.pack(elements), DType.of("u8")
    contiguous = contiguous_dimension(extents, steps)
    row = ElementType.of(dtype)
    size = row.bits // 8
    in_bytes = tuple(  # the stride of a single element is replaced by a legal one
        -(-abs(step) * size // CHUNK) * CHUNK if extent == 1 and dim != contiguous else step * size
        for dim, (extent, step) in enumerate(zip(extents, steps, strict=True))
    )
    return Tensor(row, extents, in_bytes, starts, contiguous, elements), _on_m(tile, dtype, rank)


def steps_of(extents: Sequence[int], strides: Sequence[int] | None) -> tuple[int, ...]:
    """Return the strides of a tensor, in elements: row-major and without gaps where none are given.

    >>> steps_of((4, 100), None), steps_of((4, 100), (128, 1))
    ((100, 1), (128, 1))
    """
    if strides is None:
        return tuple(prod(extents[i + 1 :]) for i in range(len(extents)))
    if len(strides) != len(extents):
        hint = "one stride a dimension, in elements, slowest first"
        if len(strides) + 1 == len(extents):
            hint += f"; without the contiguous one, {CHECK}"
        tensor = f"a tensor of {counted(len(extents), 'dimension')}"
        raise LayoutError("TW003", f"{tensor} and {counted(len(strides), 'stride')}", hint=hint)
    return tuple(as_int(step, "a stride of the tensor") for step in strides)


def contiguous_dimension(extents: Sequence[int], steps: Sequence[int]) -> int:
    """Return the dimension along which the tensor's elements follow one another, the longest of several."""
    found = [dim for dim, step in enumerate(steps) if step == 1]
    if not found:
        least = min(steps, key=abs)
        may_be_bytes = least in (2, 4, 8) and all(step % least == 0 for step in steps)
        raise refusal(
            "contiguous",
            f"no dimension of the tensor is contiguous: its strides are {spell(tuple(steps))}",
            "TMA reads rows of neighbouring elements; view the tensor so that one stride is 1"
            + (f"; these count elements, {CHECK}" if may_be_bytes else ""),
            strides=list(steps),
        )
    return max(found, key=lambda dim: (extents[dim], dim))


def bytes_for_elements(tensor: Tensor) -> str:
    """Return a remark on strides that would be right in bytes: rows one after another, or a little padded.

    >>> from tilewise import S
    >>> tensor, _ = asked((64, 4096), S[(8, 64) : (64, 1)], DType.of("bf16"), strides=(8200, 1))
    >>> bytes_for_elements(tensor)
    'a row has 4096 elements, and rows are 8200 apart: these count elements; in bytes: tma check'
    """
    row, element = tensor.shape[tensor.contiguous], tensor.element
    pitches = [
        stride // element
        for dim, (extent, stride) in enumerate(zip(tensor.shape, tensor.strides, strict=True))
        if dim != tensor.contiguous and extent > 1
    ]
    pitch, dense = min(pitches, default=0), row * element
    if element == 1 or not dense <= pitch <= dense + dense // PADDED:
        return ""
    return f"a row has {row} elements, and rows are {pitch} apart: these count elements; {CHECK}"


def _check_whole_bytes(
    dtype: DType, extents: tuple[int, ...], steps: tuple[int, ...], at: tuple[int, ...] | None
) -> None:
    """Refuse elements below a byte that do not fill whole ones along the last dimension."""
    each, rest = divmod(8, dtype.bits)
    if rest:
        found = f"on Hopper TMA has no elements of {dtype.bits} bits"
        raise refusal("type", found, "keep one in a byte (u8)", dtype=dtype.name)
    if steps[-1] != 1 or any(count % each for count in (extents[-1], *steps[:-1])):
        raise refusal(
            "type",
            f"{each} elements of {dtype} travel as a byte, and rows of the tensor are no whole bytes",
            f"the last dimension is contiguous, and its extent and all other strides are multiples of {each}",
            shape=list(extents),
            strides=list(steps),
        )
    if at is not None and at[-1] % each:
        found = f"a tile that starts at element {at[-1]} starts inside a byte"
        raise refusal("type", found, f"start at a multiple of {each}", at=list(at))


def _on_m(tile: Layout, dtype: DType, rank: int) -> Layout:
    """Return the tile on the axis m, in bytes, with a mode for every dimension; refuse other memory."""
    missing = rank - len(tile.shape)
    tile = replace(tile, shape=(1,) * missing + tile.shape, strides=(Vector(),) * missing + tile.strides)
    axis, *others = tile.axes
    if others or axis.kind != STORAGE or tile.replica:
        raise refusal(
            "storage",
            f"the tile names {' and '.join(axis.name for axis in tile.axes)}"
            + (", and has copies" if tile.replica else ""),
            "a tile of shared memory is a map to addresses: one axis, one copy",
        )
    in_bytes = tile.in_bytes(dtype)
    return in_bytes if axis == m else in_bytes.relabel({axis: m})


def readings(
    shared: Layout, element: int = 1, modes: Iterable[Mode] = MODES.values()
) -> list[tuple[Mode, Layout]]:
    """Return every mode that explains the tile, with the layout before its swizzle: one map can be several.

    The mode as written comes first. `element` is the bytes of one.
    """
    reach = shared.span(m) - 1 + element
    if reach > SHARED_BYTES:
        found = f"the tile reaches over {reach} bytes"
        raise refusal("shared-size", found, f"a block has {SHARED_BYTES} bytes of shared memory at most")
    alone = shared.injective
    if alone.answer is False:
        raise refusal("overlap", f"the tile overlaps itself: {alone.reason}", "give every element a place")
    undone = [
        (mode, (shared.swizzled((mode.swizzle,)) if mode.bits else shared).swizzle_chain())
        for mode in sorted(modes, key=lambda mode: shared.swizzles != (mode.swizzle,))
    ]
    explained = [(mode, plain) for mode, plain in undone if not plain.swizzles and not plain.outer]
    if not explained:
        raise refusal(
            "swizzle",
            f"no swizzle of the hardware explains the tile, in bytes {shared}",
            "they are Swizzle<1|2|3,4,3> on bytes, Swizzle<1|2|3,3,3> on 16-bit elements",
            swizzles=[str(swizzle) for swizzle in shared.swizzles],
        )
    return explained


def check_digits(digits: Sequence[Digit], tensor: Tensor) -> None:
    """Refuse digits that make no box: its rows have to begin with the first digit."""
    first, contiguous = digits[0], tensor.contiguous
    if first.stride < 0:
        raise refusal(
            "ascending",
            f"dimension {first.dim} of the tile runs backwards, by {first.stride} bytes",
            "TMA writes upwards: turn the dimension round in the tensor and the tile",
            stride=first.stride,
        )
    if first.stride != tensor.element:
        raise refusal(
            "element",
            f"neighbours in the tile are {first.stride} bytes apart, and an element is {tensor.element}",
            "is the layout in elements? --unit byte reads bytes"
            if first.stride % tensor.element
            else "TMA leaves no gaps inside a row",
            stride=first.stride,
        )
    if first.dim != contiguous:
        raise refusal(
            "contiguous",
            f"the tile is contiguous along dimension {first.dim}, the tensor along dimension {contiguous}",
            f"TMA does not transpose: lay the tile out along dimension {contiguous}, or copy by threads",
            tile=first.dim,
            tensor=contiguous,
        )
    if first.step != 1:
        found = f"neighbours in the tile are {first.step} elements apart along dimension {first.dim}"
        raise refusal("contiguous", found, "TMA takes rows of neighbouring elements", step=first.step)


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
    """Return the tile that TMA fills in one box: rows as wide as the swizzle, all of them, the next columns.

    It is contiguous where the tensor is. With `order` it is a tile of wgmma's atoms, which follow one another
    down the rows (mn) or along K (k) first: for swizzled K-major tiles mn is the tile without `order`, for
    MN-major ones k is.

    >>> print(default_tile((4096, 4096), (128, 128), "bf16", "128B"))
    Swizzle<3,3,3> o S[(128, (2, 64)) : (64, (8192, 1))]
    >>> print(default_tile((4096, 4096), (128, 64), "bf16", "128B", strides=(1, 4096)))
    Swizzle<3,3,3> o S[((2, 64), 64) : ((4096, 1), 64)]
    """
    mode, element = Mode.of(mode), DType.of(dtype)
    extents = tuple(as_extent(extent) for extent in tile)
    dim = contiguous_dimension(shape, steps_of(shape, strides)) - len(shape) + len(extents)
    if dim < 0:
        found = "the tile has one element of the dimension along which the tensor is contiguous"
        raise refusal("contiguous", found, "give the tile a mode for that dimension")
    if order is not None:
        if len(extents) != 2:
            found = f"atoms in order {order} for a tile of {counted(len(extents), 'mode')}"
            raise LayoutError("TW003", found, hint="[rows, K]")
        return tile_of_atoms(mode, ("mn", "k")[dim], element, *extents, order=order)
    row = min(extents[dim], mode.elements(element)) if mode.bits else extents[dim]
    groups, rest = divmod(extents[dim], row)
    if rest:
        raise Refused(
            "TW603",
            f"{extents[dim]} elements of {element} are no whole rows of the {mode} swizzle, {row} each",
            witness={"mode": mode.name, "row": row, "tile": list(extents)},
            hint=f"take a multiple of {row}, or a narrower mode",
        )
    others = [(i, extent) for i, extent in enumerate(extents) if i != dim]
    digits = [(dim, row), *others[::-1], *([(dim, groups)] if groups > 1 else [])]
    return stacked(digits, len(extents), element, mode)


def orders(
    shape: Sequence[int], tile: Sequence[int], dtype: DType | str, mode: Mode | str, **more: Any
) -> dict[str, Plan]:
    """Return {order: plan} of a tile of wgmma's atoms, for each order that has one; `more` is plan_copy's.

    >>> found = orders((4096, 1004), (128, 64), "bf16", "128B", strides=(1, 4096))
    >>> {order: (plan.count, plan.tensor_map.box) for order, plan in found.items()}
    {'mn': (8, (2, 8, 64)), 'k': (1, (2, 64, 64))}
    """
    found = {}
    for order in ORDERS if len(tile) == 2 else ():
        try:
            atoms = default_tile(shape, tile, dtype, mode, strides=more.get("strides"), order=order)
            found[order] = plan_copy(shape, atoms, dtype=dtype, **more)
        except Refused:
            continue
    return found
