"""What is asked of TMA: a tensor and a tile in bytes and of one rank; or the rule that forbids it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod

from tilewise.check.boxes import Digit, Tensor
from tilewise.core.axes import STORAGE, m
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_extent, as_int, counted
from tilewise.core.layout import Layout, as_layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import spell
from tilewise.core.vectors import as_vector
from tilewise.hardware.limits import SHARED_BYTES
from tilewise.hardware.modes import CHUNK, MODES, Mode
from tilewise.hardware.tma.rules import MAX_RANK, RULES
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
"""Padding of a row is at most one part in so many."""


def refusal(rule: str, message: str, hint: str, **witness: Any) -> Refused:
    """There is no such copy: the rule that it breaks is in the witness.

    >>> refusal("contiguous", "the tile runs along M", "turn it").witness
    {'rule': 'contiguous'}
    """
    assert rule in LAYOUT_RULES or rule in RULES
    return Refused("TW607", message, witness={"rule": rule, **witness}, hint=hint)


@dataclass(frozen=True)
class Question:
    """A tensor and a tile of it, in bytes, with a mode of the tile for every dimension of the tensor."""

    tensor: Tensor
    tile: Layout
    contiguous: int
    """The dimension along which the tensor's elements follow one another."""
    elements: int = 1
    """Elements of the asked type in one that TMA moves: those below a byte travel as bytes."""


def asked(
    shape: Sequence[int],
    tile: Layout,
    dtype: DType,
    strides: Sequence[int] | None = None,
    at: Sequence[int] | None = None,
) -> Question:
    """The question that is asked with these words; refused where TMA has no such tensor or type.

    >>> from tilewise import S
    >>> question = asked((64, 256), S[(8, 256) : (256, 1)], DType.of("e2m1"))
    >>> question.tensor.shape, question.tensor.strides, question.tile.size, question.elements
    ((64, 128), (128, 1), 1024, 2)
    """
    tile, extents = by_coordinates(as_layout(tile)), tuple(as_extent(extent) for extent in shape)
    steps = steps_of(extents, strides)
    starts = None if at is None else tuple(as_int(n, "a coordinate") for n in at)
    _check_rank(extents)
    _check_counts(extents, tile, starts)
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
    tensor = Tensor(row, extents, _stride_bytes(extents, steps, row.bits // 8, contiguous), starts)
    return Question(tensor, _in_bytes(tile, dtype, len(extents)), contiguous, elements)


def steps_of(extents: Sequence[int], strides: Sequence[int] | None) -> tuple[int, ...]:
    """The strides of a tensor, in elements: those of a row-major one without gaps where none are given.

    >>> steps_of((4, 100), None), steps_of((4, 100), (128, 1))
    ((100, 1), (128, 1))
    """
    if strides is None:
        return tuple(prod(extents[i + 1 :]) for i in range(len(extents)))
    if len(strides) != len(extents):
        raise LayoutError(
            "TW003",
            f"a tensor of {counted(len(extents), 'dimension')} and {counted(len(strides), 'stride')}",
            hint="one stride a dimension, in elements, slowest first"
            + (
                "; without the contiguous one, in bytes: tma check"
                if len(strides) + 1 == len(extents)
                else ""
            ),
        )
    return tuple(as_int(step, "a stride of the tensor") for step in strides)


def contiguous_dimension(extents: Sequence[int], steps: Sequence[int]) -> int:
    """The dimension along which the tensor's elements follow one another, the longest where several do."""
    found = [dim for dim, step in enumerate(steps) if step == 1]
    if not found:
        raise refusal(
            "contiguous",
            f"no dimension of the tensor is contiguous: its strides are {spell(tuple(steps))}",
            "TMA reads rows of neighbouring elements; view the tensor so that one stride is 1"
            + ("; these count elements, in bytes: tma check" if _may_be_bytes(steps) else ""),
            strides=list(steps),
        )
    return max(found, key=lambda dim: (extents[dim], dim))


def _may_be_bytes(steps: Sequence[int]) -> bool:
    """Whether all strides are multiples of one that is the size of an element: they may be bytes."""
    least = min(steps, key=abs)
    return least in (2, 4, 8) and all(step % least == 0 for step in steps)


def bytes_for_elements(tensor: Tensor, contiguous: int) -> str:
    """A word on strides that would be those of rows one after another, or a little padded, in bytes.

    >>> from tilewise import S
    >>> question = asked((64, 4096), S[(8, 64) : (64, 1)], DType.of("bf16"), strides=(8200, 1))
    >>> bytes_for_elements(question.tensor, question.contiguous)
    'a row has 4096 elements, and rows are 8200 apart: these count elements; in bytes: tma check'
    """
    row = tensor.shape[contiguous]
    pitch = min(
        (
            stride // tensor.element
            for dim, (extent, stride) in enumerate(zip(tensor.shape, tensor.strides, strict=True))
            if dim != contiguous and extent > 1
        ),
        default=0,
    )
    dense = row * tensor.element
    if tensor.element == 1 or not dense <= pitch <= dense + dense // PADDED:
        return ""
    return f"a row has {row} elements, and rows are {pitch} apart: these count elements; in bytes: tma check"


def _check_rank(extents: tuple[int, ...]) -> None:
    if not 1 <= len(extents) <= MAX_RANK:
        raise refusal(
            "rank",
            f"the tensor has {counted(len(extents), 'dimension')}, and TMA takes 1 to {MAX_RANK}",
            "merge dimensions that follow one another in memory",
            rank=len(extents),
        )


def _check_counts(extents: tuple[int, ...], tile: Layout, at: tuple[int, ...] | None) -> None:
    rank = len(extents)
    tensor = f"a tensor of {counted(rank, 'dimension')}"
    if len(tile.shape) > rank:
        hint = "one mode a dimension; digits of one dimension share a mode: S[((16, 8), 64) : ...]"
        raise LayoutError("TW003", f"{tensor} and a tile of {counted(len(tile.shape), 'mode')}", hint=hint)
    if at is not None and len(at) != rank:
        hint = "one a dimension, slowest first"
        raise LayoutError("TW003", f"{tensor} and {counted(len(at), 'coordinate')}", hint=hint)


def _check_whole_bytes(
    dtype: DType, extents: tuple[int, ...], steps: tuple[int, ...], at: tuple[int, ...] | None
) -> None:
    """Elements below a byte fill whole ones, along the last dimension."""
    each, rest = divmod(8, dtype.bits)
    if rest:
        raise refusal(
            "type",
            f"elements of {dtype.bits} bits are none of TMA's on Hopper",
            "keep one in a byte (u8)",
            dtype=dtype.name,
        )
    if steps[-1] != 1 or extents[-1] % each or any(step % each for step in steps[:-1]):
        raise refusal(
            "type",
            f"{each} elements of {dtype} travel as a byte, and rows of the tensor are no whole bytes",
            f"the last dimension is contiguous, and its extent and all other strides are multiples of {each}",
            shape=list(extents),
            strides=list(steps),
        )
    if at is not None and at[-1] % each:
        raise refusal(
            "type",
            f"a tile that starts at element {at[-1]} starts inside a byte",
            f"start at a multiple of {each}",
            at=list(at),
        )


def _stride_bytes(
    extents: Sequence[int], steps: Sequence[int], size: int, contiguous: int
) -> tuple[int, ...]:
    """Strides in bytes; that of a dimension with one element means nothing, and is made one that is legal."""
    return tuple(
        -(-abs(step) * size // CHUNK) * CHUNK if extent == 1 and dim != contiguous else step * size
        for dim, (extent, step) in enumerate(zip(extents, steps, strict=True))
    )


# -- the tile ------------------------------------------------------------------------------------


def _in_bytes(tile: Layout, dtype: DType, rank: int) -> Layout:
    """The tile on the axis m, in bytes, with a mode for every dimension; of shared memory, and no other."""
    missing = rank - len(tile.shape)
    shape = (1,) * missing + tile.shape
    tile = replace(tile, shape=shape, strides=(as_vector(0),) * missing + tile.strides)
    if len(tile.axes) != 1 or tile.axes[0].kind != STORAGE or tile.replica:
        raise refusal(
            "storage",
            f"the tile names {' and '.join(axis.name for axis in tile.axes)}"
            + (", and has copies" if tile.replica else ""),
            "a tile of shared memory is a map to addresses: one axis, one copy",
        )
    in_bytes = tile.in_bytes(dtype)
    return in_bytes if tile.axes[0] == m else in_bytes.relabel({tile.axes[0]: m})


def readings(
    shared: Layout, element: int = 1, modes: Iterable[Mode] = MODES.values()
) -> list[tuple[Mode, Layout]]:
    """Every mode that explains the tile, with the layout before its swizzle: one map can be several.

    The one that is written comes first. `element` is the bytes of one.
    """
    _check_places(shared, element)
    found = []
    for mode in sorted(modes, key=lambda mode: shared.swizzles != (mode.swizzle,)):
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


def _check_places(shared: Layout, element: int) -> None:
    reach = shared.span(m) - 1 + element
    if reach > SHARED_BYTES:
        raise refusal(
            "shared-size",
            f"the tile reaches over {reach} bytes",
            f"a block has {SHARED_BYTES} bytes of shared memory at most",
        )
    alone = shared.injective
    if alone.answer is False:
        raise refusal("overlap", f"the tile overlaps itself: {alone.reason}", "give every element a place")


def check_digits(digits: Sequence[Digit], tensor: Tensor, contiguous: int) -> None:
    """Refuse digits of which no box can be made: its rows begin with the first of them."""
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
