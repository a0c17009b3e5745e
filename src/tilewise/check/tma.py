"""From a tensor in global memory and a tile in shared memory to TMA's copy, in as few boxes as can be.

    plan_copy(shape, tile, dtype=...)          the tensor map and the boxes that fill exactly that tile
    default_tile(shape, tile, dtype, mode)     the tile that one box fills, where nothing else is asked

A plan is proven when it is made: the bytes where its boxes land, put together, are the tile's own map.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod

from tilewise.check.boxes import Digit, Fold, Tensor, digits_of, fold
from tilewise.check.tma_question import (
    LAYOUT_RULES,
    Question,
    asked,
    bytes_for_elements,
    check_digits,
    default_tile,
    readings,
    refusal,
)
from tilewise.core.axes import m
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int, counted
from tilewise.core.layout import Layout
from tilewise.hardware.limits import SHARED_BYTES
from tilewise.hardware.modes import MODES, Mode
from tilewise.hardware.operands.tiles import ORDERS
from tilewise.hardware.tma.landing import in_shared_bytes, of_digits
from tilewise.hardware.tma.rules import MAX_RANK, SHARED_ALIGNMENT, Violation, violations
from tilewise.hardware.tma.tensor_map import TensorMap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["LAYOUT_RULES", "Box", "Plan", "broken_rules", "default_tile", "orders", "plan_copy"]


@dataclass(frozen=True, slots=True)
class Box:
    """One copy of a plan."""

    coordinates: tuple[int, ...]
    """What the instruction is given, in the driver's order."""
    index: tuple[int, ...]
    """Its first element in the tile."""
    start: int
    """Bytes from the start of the tile's shared memory."""
    bytes: int
    """What the mbarrier expects for it."""
    inside: int | None = None
    """Elements that lie in the tensor; None where it is not said where the tile is."""


@dataclass(frozen=True)
class Plan:
    """A tensor map and the boxes that fill a tile."""

    tensor_map: TensorMap
    tile: Layout
    """Where every element of the tile lands, in bytes, on the tile's shape."""
    fold: Fold = field(repr=False)
    tensor: Tensor = field(repr=False)
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
    def shared_bytes(self) -> int:
        """Bytes of shared memory up to the end of the last box, the padding of narrow rows with it."""
        return self.boxes[-1].start + self.tensor_map.shared_bytes

    @property
    def elementwise(self) -> Layout:
        """The byte that holds each element of the asked type; `tile`, but for elements below a byte.

        >>> from tilewise import S
        >>> print(plan_copy((64, 256), S[(8, 256) : (256, 1)], dtype="e2m1").elementwise)
        S[(8, (128, 2)) : (128, (1, 0))]
        """
        return in_shared_bytes(self.tile, self.elements)

    @property
    def alignment(self) -> int:
        """What the start of the tile's shared memory is a multiple of."""
        return max(SHARED_ALIGNMENT, self.mode.period)

    @cached_property
    def boxes(self) -> tuple[Box, ...]:
        """Every box, in the order of their addresses."""
        slow_first = self.fold.rest[::-1]
        return tuple(
            self._box([*zip(slow_first, index, strict=True)])
            for index in product(*(range(digit.extent) for digit in slow_first))
        )

    def _box(self, moved: Sequence[tuple[Digit, int]]) -> Box:
        """Return the box that is so many steps of each digit away from the first."""
        index = [
            sum(steps * digit.step for digit, steps in moved if digit.dim == dim)
            for dim in range(len(self.tensor.shape))
        ]
        at, dimensions = self.tensor.at, self.fold.dimensions
        element = index if at is None else [first + i for first, i in zip(at, index, strict=True)]
        coordinates = tuple(dimension.coordinate(element) for dimension in dimensions)
        inside = self.elements * prod(
            max(0, min(dimension.extent, first + dimension.box) - max(0, first))
            for first, dimension in zip(coordinates, dimensions, strict=True)
        )
        index[-1] *= self.elements
        start = self.tile.offset[m] + sum(steps * digit.stride for digit, steps in moved)
        size = self.tensor_map.bytes
        return Box(coordinates, tuple(index), start, size, None if at is None else inside)


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
    """The copy of a tile of a tensor into shared memory, or out of it, in as few boxes as can be.

    `shape` and `strides` are the tensor's, in elements, row-major where no strides are given; the modes of
    `tile` are the tensor's last dimensions. `at` is the tile's first element; where it is not given, tiles
    start at multiples of their own extents. `modes` are the swizzles that there are: Hopper's, where nothing
    is said.

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
    question = asked(shape, tile, DType.of(dtype), strides, at)
    made = [
        _planned(question, *reading, max_rank, l2, fill)
        for reading in readings(question.tile, question.tensor.element, modes)
    ]
    best = min(made, key=lambda plan: (bool(violations(plan.tensor_map, address)), plan.count))
    doubt = bytes_for_elements(question.tensor, question.contiguous)
    if broken := violations(best.tensor_map, address):
        raise broken_rules(broken, doubt)
    _check_shared(best)
    for box in best.boxes[:: max(1, best.count - 1)] if at is not None else ():
        if broken := violations(best.tensor_map, coordinates=box.coordinates, stores=stores):
            raise broken_rules(broken)
    proof = best.tile.same(question.tile)
    if not proof.answer:
        found = f"the boxes land elsewhere: {proof.reason}"
        raise refusal("swizzle", found, "take one of the hardware's tiles")
    return replace(best, notes=(*best.notes, doubt)) if doubt else best


def _planned(question: Question, mode: Mode, plain: Layout, max_rank: int, l2: str, fill: str) -> Plan:
    """Return the copy of a tile whose layout before the mode's swizzle is `plain`."""
    tensor = question.tensor
    digits = digits_of(plain) or [Digit(question.contiguous, 1, 1, tensor.element)]
    check_digits(digits, tensor, question.contiguous)
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
    placed = sorted((*boxed, *folded.rest), key=lambda digit: -digit.step)
    modes = [
        [(digit.extent, digit.stride) for digit in placed if digit.dim == dim and digit.extent > 1]
        for dim in range(len(plain.shape))
    ]
    whole = of_digits(modes, offset=landed.offset, swizzles=landed.swizzles, unit="byte")
    notes = (f"{folded.boxes} boxes, since {folded.stopped}",) if folded.boxes > 1 else ()
    return Plan(tensor_map, whole, folded, tensor, question.elements, notes)


# -- checks ----------------------------------------------------------------------------------------


def broken_rules(found: Sequence[Violation], doubt: str = "") -> Refused:
    """Return one refusal for all rules that a tensor map breaks; a doubt about words joins its hint."""
    first, *more = found
    others = f"; and {counted(len(more), 'rule')} more" if more else ""
    rules = [{"rule": rule.rule, "message": rule.message, "hint": rule.hint} for rule in found]
    hint = "; ".join(filter(None, (first.hint, doubt)))
    return refusal(first.rule, first.message + others, hint, rules=rules)


def _check_shared(plan: Plan) -> None:
    """Refuse boxes that start where none may, or lie outside a block's shared memory."""
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
