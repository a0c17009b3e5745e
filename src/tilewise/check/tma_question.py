"""A question to TMA: a tensor and a tile in bytes and of one rank; or the rule that forbids it."""

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
from tilewise.core.vectors import Vector
from tilewise.hardware.limits import SHARED_BYTES
from tilewise.hardware.modes import CHUNK, MODES, Mode
from tilewise.hardware.operands.tiles import ORDERS
from tilewise.hardware.operands.tiles import tile as tile_of_atoms
from tilewise.hardware.tma.landing import stacked
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

CHECK = "in bytes: tma check"
"""Where strides in bytes belong."""


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
    """Return the question that these words ask; refuse what TMA has no tensor or type for.

    >>> from tilewise import S
    >>> question = asked((64, 256), S[(8, 256) : (256, 1)], DType.of("e2m1"))
    >>> question.tensor.shape, question.tensor.strides, question.tile.size, question.elements
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
    in_bytes = tuple(  # a stride of one element means nothing, and is made one that is legal
        -(-abs(step) * size // CHUNK) * CHUNK if extent == 1 and dim != contiguous else step * size
        for dim, (extent, step) in enumerate(zip(extents, steps, strict=True))
    )
    return Question(Tensor(row, extents, in_bytes, starts), _on_m(tile, dtype, rank), contiguous, elements)


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


def bytes_for_elements(tensor: Tensor, contiguous: int) -> str:
    """Return a word on strides that would be those of rows one after another, or a little padded, in bytes.

    >>> from tilewise import S
    >>> question = asked((64, 4096), S[(8, 64) : (64, 1)], DType.of("bf16"), strides=(8200, 1))
    >>> bytes_for_elements(question.tensor, question.contiguous)
    'a row has 4096 elements, and rows are 8200 apart: these count elements; in bytes: tma check'
    """
    row, element = tensor.shape[contiguous], tensor.element
    pitches = [
        stride // element
        for dim, (extent, stride) in enumerate(zip(tensor.shape, tensor.strides, strict=True))
        if dim != contiguous and extent > 1
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
        found = f"elements of {dtype.bits} bits are none of TMA's on Hopper"
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


# -- the tile ------------------------------------------------------------------------------------


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

    The one that is written comes first. `element` is the bytes of one.
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


def check_digits(digits: Sequence[Digit], tensor: Tensor, contiguous: int) -> None:
    """Refuse digits of which no box can be made: its rows begin with the first of them."""
    first = digits[0]
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
    dim = contiguous_dimension(shape, steps_of(shape, strides)) - len(shape) + len(extents)
    if dim < 0:
        found = "the tile has one element of the dimension along which the tensor is contiguous"
        raise refusal("contiguous", found, "give the tile a mode for that dimension")
    if order is not None:
        if order not in ORDERS:
            raise LayoutError("TW601", f"{order!r} is no order of atoms", hint="known: mn k")
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
