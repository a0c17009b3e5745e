"""The encodings of shared memory, as linear maps from (offset, block) to elements, and paddings.

The meaning is Triton's own, lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp; each function names what
it follows. A basis of 0 of the offset stands for a hole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from tilewise.core.errors import Refused
from tilewise.notation.dialects.triton.attributes import Encoding, spelled
from tilewise.notation.dialects.triton.clusters import OLD, blocks_of, row_major
from tilewise.notation.dialects.triton.context import Context
from tilewise.notation.dialects.triton.tile import (
    BLOCK,
    OFFSET,
    PARTITION,
    Basis,
    Tile,
    shape_of_a_block,
    unit,
)

BOX = 256
"""A box of TMA has at most so many elements in each dimension."""


@dataclass(frozen=True, slots=True)
class InMemory:
    """A linear map from offsets, and the paddings: after every interval so many elements."""

    tile: Tile
    paddings: tuple[tuple[int, int], ...] = ()
    notes: tuple[str, ...] = ()


def in_memory(encoding: Encoding, shape: Sequence[int], context: Context) -> InMemory:
    """Return the map of an encoding of shared memory for the shape of an allocation."""
    return KINDS[encoding.kind](encoding, shape, context)


def rank_in_memory(encoding: Encoding, rank: int) -> int:
    """Return how many dimensions an encoding lays out; a descriptor may have more before, for buffers."""
    kind = encoding.kind
    if "order" in encoding.items:
        return len(encoding.numbers("order"))
    if kind == "partitioned_shared":
        return rank_in_memory(_partition_layout(encoding), rank)
    if kind in ("padded_shared", "shared_linear"):
        bases = encoding.bases(OFFSET) or encoding.bases(BLOCK)
        return len(bases[0]) if bases else rank
    if kind == "nvmma_shared":
        blocks = encoding.bases("CGALayout") if "CGALayout" in encoding.items else ()
        if blocks:
            return len(blocks[0])
        if "CTAOrder" in encoding.items:
            return len(encoding.numbers("CTAOrder"))
        return encoding.number("rank", 2) if rank > 1 else rank
    return rank


def swizzled(encoding: Encoding, shape: Sequence[int], context: Context) -> InMemory:
    """Return the map of #ttg.swizzled_shared or #ttg.amd_rotating_shared: vectors XORed with a row's phase.

    swizzledSharedToLinearLayout, sharedToLinearLayoutAMDRotating.
    """
    old = ("hasLeadingOffset",) if encoding.kind == "shared" else ()
    encoding.only("vec", "perPhase", "maxPhase", "order", "CGALayout", *OLD, *old)
    rank = len(shape)
    order = encoding.order(rank)
    vector, per_phase, phases = (encoding.power(key) for key in ("vec", "perPhase", "maxPhase"))
    blocks = blocks_of(encoding, rank)
    inside = shape_of_a_block(blocks, shape)
    tile = Tile(rank, bases={OFFSET: []}).step(OFFSET, inside[order[0]], order[0])
    if rank > 1:
        columns, rows = order[:2]

        def phase(row: int) -> int:
            found = row // per_phase % phases
            if encoding.kind == "amd_rotating_shared":
                found ^= row // phases // per_phase % phases
            return vector * found % inside[columns]

        _rows(tile, rows, columns, inside[rows], phase)
        tile.steps(OFFSET, inside, order[2:])
    return InMemory(tile.over_blocks(blocks, shape, OFFSET))


def _rows(tile: Tile, rows: int, columns: int, many: int, phase: Callable[[int], int]) -> None:
    """Add rows, of which row r has its columns XORed with phase(r)."""
    row = 1
    while row < many:
        basis = unit(tile.rank, rows, row)
        tile.bases[OFFSET].append((*basis[:columns], phase(row), *basis[columns + 1 :]))
        row *= 2
    tile.size[rows] = max(1, many)


def leading(encoding: Encoding, shape: Sequence[int], context: Context) -> InMemory:
    """Return the map of #triton_gpu.shared: swizzled, or with tiles of 8 rows where it `hasLeadingOffset`.

    sharedToLinearLayoutLeadingOffset; the width of the swizzle follows from the phases.
    """
    if not encoding.flag("hasLeadingOffset", False):
        return swizzled(encoding, shape, context)
    rank = len(shape)
    encoding.only("vec", "perPhase", "maxPhase", "order", *OLD, "hasLeadingOffset")
    order = encoding.order(rank)
    vector, per_phase, phases = (encoding.power(key) for key in ("vec", "perPhase", "maxPhase"))
    if (per_phase, phases) not in ((4, 2), (2, 4), (1, 8)):
        raise encoding.error(
            "TW003",
            f"perPhase = {per_phase} and maxPhase = {phases} are no swizzle of Hopper",
            "perPhase",
            "hasLeadingOffset has perPhase and maxPhase 4 and 2, 2 and 4, or 1 and 8",
        )
    if rank < 2:
        raise encoding.error("TW202", "hasLeadingOffset lays out a matrix", "hasLeadingOffset")
    columns, rows = order[:2]
    wide = vector * phases
    blocks = blocks_of(encoding, rank)
    inside = shape_of_a_block(blocks, shape)
    if inside[rows] < 8 or inside[columns] < wide:
        raise _too_small(encoding, shape, 8, wide)
    tile = Tile(rank, [rows, columns, *order[2:]], {OFFSET: []}).step(OFFSET, wide, columns)
    _rows(tile, rows, columns, 8, lambda row: vector * (row // per_phase % phases))
    tile.steps(OFFSET, inside, order[2:])
    return InMemory(tile.over_blocks(blocks, shape, OFFSET))


def for_mma(encoding: Encoding, shape: Sequence[int], context: Context) -> InMemory:
    """Return the map of #ttg.nvmma_shared: tiles of 8 rows with a swizzle of 32, 64 or 128 bytes, box by box.

    nvmmaSharedToLinearLayout. With fp4Padded, 8 of 16 bytes are holes.
    """
    encoding.only(
        "swizzlingByteWidth", "transposed", "elementBitWidth", "fp4Padded", "rank", "CGALayout", *OLD
    )
    rank = len(shape)
    width, bits = encoding.number("swizzlingByteWidth"), encoding.power("elementBitWidth")
    if width not in (0, 32, 64, 128):
        raise encoding.error(
            "TW602", f"no swizzle has {width} bytes", "swizzlingByteWidth", "known: 0 32 64 128"
        )
    if not 8 <= bits <= 128:
        raise encoding.error("TW602", f"no element here has {bits} bits", "elementBitWidth", "from 8 to 128")
    transposed, padded = encoding.flag("transposed", False), encoding.flag("fp4Padded", False)
    blocks = blocks_of(encoding, rank)
    inside = shape_of_a_block(blocks, shape)
    order = [*range(1, rank), 0] if transposed else [*range(rank)]  # of the storage, the slowest first
    box = [min(inside[dimension], BOX) for dimension in order]
    if width == 0:
        tile = Tile(rank, row_major(rank), {OFFSET: []})
        for position in reversed(range(rank)):
            along = (position - 1) % rank if transposed else position
            tile.step(OFFSET, box[position], along)
        return InMemory(tile.over_blocks(blocks, shape, OFFSET))
    columns, packing = 8 * width // bits, 2 if padded else 1
    box[-1] = min(box[-1], columns // packing)
    # All dimensions but one are the rows. Where it is transposed, Triton takes the tensor's last for them.
    wide = prod(box) // box[-2] if transposed and rank > 1 else box[-1]
    high = prod(box) // wide
    if rank < 2 or high < 8 or wide * packing < columns:
        raise _too_small(encoding, shape, 8, columns // packing)
    tile = Tile(rank, [*range(rank)], {OFFSET: []})
    for row, column in _core_matrices(width, bits, high, wide, columns, padded):
        tile.bases[OFFSET].append(_in_box(row * wide + column, box, order))
    for position, dimension in enumerate(order):
        tile.size[dimension] = box[position]
    return InMemory(tile.over_blocks(blocks, shape, OFFSET))


def _core_matrices(
    width: int, bits: int, high: int, wide: int, columns: int, padded: bool
) -> list[tuple[int, int]]:
    """Return (row, column) that each bit of the offset moves: 8 rows with phases, more rows, columns.

    getCoreMatrixLinearLayout. With `padded`, 8 of 16 columns are holes.
    """

    def packed(column: int) -> int:
        return column // 16 * 8 + column % 8 if padded else column

    vector, per_phase, phases = 128 // bits, 128 // width, width // 16
    found = [(0, packed(1 << bit)) for bit in range(columns.bit_length() - 1)]
    row = 1
    while row < high:
        found.append((row, packed(vector * (row // per_phase % phases)) if row < 8 else 0))
        row *= 2
    column = packed(columns)
    while column < wide:
        found.append((0, column))
        column *= 2
    return found


def _in_box(index: int, box: Sequence[int], order: Sequence[int]) -> Basis:
    """Return the coordinates of a flat index of a box, whose dimensions are in an order of the tensor's."""
    basis = [0] * len(box)
    for extent, dimension in zip(reversed(box), reversed(order), strict=True):
        index, basis[dimension] = divmod(index, extent)
    return tuple(basis)


def by_bases(encoding: Encoding, shape: Sequence[int], context: Context) -> InMemory:
    """Return the map of #ttg.shared_linear: the bases themselves."""
    encoding.only(OFFSET, BLOCK, "alignment")
    rank = len(shape)
    bases = {place: list(encoding.bases(place, rank)) for place in (OFFSET, BLOCK)}
    _check_reach(encoding, bases, shape)
    note = f"aligned to {encoding.number('alignment')} bytes" if "alignment" in encoding.items else ""
    return InMemory(Tile(rank, (), bases, list(shape)), notes=(note,) if note else ())


def padded(encoding: Encoding, shape: Sequence[int], context: Context) -> InMemory:
    """Return the map of #ttg.padded_shared, by bases or by an order, and its paddings."""
    encoding.only("paddings", "order", "shape", OFFSET, BLOCK, "CGALayout", *OLD)
    rank = len(shape)
    if not encoding.items.get("paddings"):
        raise encoding.error(
            "TW004", f"{encoding.name} has no paddings", hint="such as padded_shared<[128:+4] {...}>"
        )
    pairs: list[tuple[int, int]] = []
    for interval, padding in encoding.bases("paddings", 2):
        if interval < 1 or interval & interval - 1 or padding < 1 or padding & padding - 1:
            raise encoding.error(
                "TW102", f"the padding {interval}:+{padding} is no pair of powers of two", "paddings"
            )
        if interval in (known for known, _ in pairs):
            raise encoding.error("TW003", f"the interval {interval} stands here twice", "paddings")
        pairs.append((interval, padding))
    if "order" in encoding.items:
        order = encoding.order(rank)
        whole = encoding.powers("shape", rank) if "shape" in encoding.items else tuple(shape)
        blocks = blocks_of(encoding, rank)
        tile = Tile(rank, order, {OFFSET: [], BLOCK: []})
        tile.steps(OFFSET, shape_of_a_block(blocks, whole), order)
        tile.over_blocks(blocks, whole, OFFSET)
    else:
        bases = {place: list(encoding.bases(place, rank)) for place in (OFFSET, BLOCK)}
        tile = Tile(rank, (), bases, list(shape))
    _check_reach(encoding, tile.bases, shape)
    return InMemory(tile, tuple(pairs))


def partitioned(encoding: Encoding, shape: Sequence[int], context: Context) -> InMemory:
    """Return the map of #ttg.partitioned_shared: pieces of a tensor, in turn in several buffers.

    partitionedSharedToLinearLayout.
    """
    encoding.only("numPartitions", "numGroups", "partitionDim", "partitionLayout")
    parts, groups = encoding.power("numPartitions"), encoding.power("numGroups")
    dimension = encoding.number("partitionDim")
    if dimension >= len(shape):
        raise encoding.error(
            "TW202", f"partitionDim = {dimension} is no dimension of the tensor", "partitionDim"
        )
    piece = shape[dimension] // (parts * groups)
    if piece < 1:
        raise encoding.error(
            "TW202",
            f"an extent of {shape[dimension]} is not to be cut into {parts * groups} pieces",
            "numPartitions",
        )
    inner = in_memory(
        _partition_layout(encoding), [*shape[:dimension], piece, *shape[dimension + 1 :]], context
    )
    tile = Tile(len(shape), (), inner.tile.bases, inner.tile.size)
    tile.step(PARTITION, parts, dimension).step(OFFSET, groups, dimension)
    return InMemory(tile, inner.paddings, inner.notes)


def _partition_layout(encoding: Encoding) -> Encoding:
    layout = encoding.items.get("partitionLayout")
    if not isinstance(layout, Encoding) or layout.kind not in KINDS or layout.kind == "partitioned_shared":
        raise encoding.error("TW004", f"{encoding.name} has no encoding of its pieces", "partitionLayout")
    return layout


KINDS: dict[str, Callable[[Encoding, Sequence[int], Context], InMemory]] = {
    "swizzled_shared": swizzled,
    "amd_rotating_shared": swizzled,
    "shared": leading,
    "nvmma_shared": for_mma,
    "shared_linear": by_bases,
    "padded_shared": padded,
    "partitioned_shared": partitioned,
}


def _too_small(encoding: Encoding, shape: Sequence[int], rows: int, columns: int) -> Refused:
    error = Refused(
        "TW202",
        f"{encoding.name} has tiles of {rows} x {columns}, and a block has less of {spelled(tuple(shape))}",
        hint="Triton refuses it as well: choose a narrower swizzle",
    )
    error.span, error.source = encoding.span, encoding.source
    return error


def _check_reach(encoding: Encoding, bases: dict[str, list[Basis]], shape: Sequence[int]) -> None:
    """Refuse bases that reach beyond the shape, or do not reach its end."""
    size = [1] * len(shape)
    for basis in (basis for moved in bases.values() for basis in moved):
        size = [max(extent, 1 << x.bit_length() if x else 1) for extent, x in zip(size, basis, strict=True)]
    if size != [*shape]:
        raise encoding.error(
            "TW202",
            f"{encoding.name} lays out a tensor of {spelled(tuple(size))}, not of {spelled(tuple(shape))}",
        )
