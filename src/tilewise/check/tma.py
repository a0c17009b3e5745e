"""From a tensor in global memory and a tile in shared memory to TMA's copy, in as few boxes as can be.

    plan_copy(shape, tile, dtype=...)          the tensor map and the boxes that fill exactly that tile
    default_tile(shape, tile, dtype, mode)     the tile that one box fills, where nothing else is asked

A plan is proven when it is made: the bytes where its boxes land, put together, are the tile's own map.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
    readings,
    refusal,
)
from tilewise.check.tma_tiles import default_tile
from tilewise.core.axes import m
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int, counted
from tilewise.core.layout import Layout
from tilewise.core.vectors import as_vector
from tilewise.hardware.limits import SHARED_BYTES
from tilewise.hardware.modes import MODES, Mode
from tilewise.hardware.operands.tiles import ORDERS
from tilewise.hardware.tma.rules import (
    MAX_RANK,
    SHARED_ALIGNMENT,
    Violation,
    violations,
)
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
        if self.elements == 1:
            return self.tile
        *outer, inner = self.tile.shape
        digits = inner if isinstance(inner, tuple) else (inner,)
        shape = (*outer, (*digits, self.elements))
        return replace(self.tile, shape=shape, strides=(*self.tile.strides, as_vector(0)))

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
            inside[-1] *= self.elements
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
    _check_map(best, address, doubt)
    _check_starts(best)
    _check_room(best)
    _check_coordinates(best, stores)
    _prove(best, question.tile)
    return replace(best, notes=(*best.notes, doubt)) if doubt else best


def _planned(question: Question, mode: Mode, plain: Layout, max_rank: int, l2: str, fill: str) -> Plan:
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
    notes = (f"{folded.boxes} boxes, since {folded.stopped}",) if folded.boxes > 1 else ()
    landed = _landed(tensor_map, folded, plain)
    return Plan(tensor_map, landed, folded, tensor, question.elements, notes)


# -- checks and proof ------------------------------------------------------------------------------


def broken_rules(found: Sequence[Violation], doubt: str = "") -> Refused:
    """One refusal for all rules that a tensor map breaks; a doubt about the words goes with the hint."""
    first, *more = found
    others = f"; and {counted(len(more), 'rule')} more" if more else ""
    return Refused(
        "TW607",
        f"{first.message}{others}",
        witness={
            "rule": first.rule,
            "rules": [{"rule": v.rule, "message": v.message, "hint": v.hint} for v in found],
        },
        hint="; ".join(filter(None, (first.hint, doubt))),
    )


def _check_map(plan: Plan, address: int, doubt: str) -> None:
    if found := violations(plan.tensor_map, address):
        raise broken_rules(found, doubt)


def _check_coordinates(plan: Plan, stores: bool) -> None:
    """The rules of the first and the last box, where it is known where they are."""
    if plan.tensor.at is not None:
        for box in (plan.boxes[0], plan.boxes[-1]):
            if found := violations(plan.tensor_map, coordinates=box.coordinates, stores=stores):
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
                _room_for_boxes(plan),
                bytes=stride,
            )


def _check_room(plan: Plan) -> None:
    """The boxes lie inside a block's shared memory."""
    if plan.boxes[0].start < 0:
        raise refusal(
            "shared-size",
            f"the tile starts at byte {plan.boxes[0].start}",
            "shared memory begins at 0",
            bytes=plan.boxes[0].start,
        )
    if plan.shared_bytes > SHARED_BYTES:
        raise refusal(
            "shared-size",
            f"the last box ends at byte {plan.shared_bytes}",
            f"a block has {SHARED_BYTES} bytes of shared memory at most",
            bytes=plan.shared_bytes,
        )


def _room_for_boxes(plan: Plan) -> str:
    narrow = plan.mode.bits and plan.tensor_map.inner_bytes < plan.mode.width
    if narrow:
        return (
            f"under {plan.mode} rows are {plan.mode.width} bytes apart: leave the room, or swizzle narrower"
        )
    return (
        f"every box lands at a multiple of {SHARED_ALIGNMENT} bytes: take more rows, "
        "or leave room between what two boxes take"
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
