"""The encodings of shared memory and of Blackwell's tensor memory, and paddings.

These are linear maps from (offset, block), and from (row, col, block), to elements. The meaning is that of
Triton, lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp; each function names its source. A basis of 0
stands for a hole; those of rows 32 and 64 of tensor memory stand for copies. A column of tensor memory has
the width of an element.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from tilewise.core.errors import LayoutError
from tilewise.core.shapes import coordinates
from tilewise.notation.dialects.triton.encodings import Context, Encoding, spelled
from tilewise.notation.dialects.triton.tile import (
    BLOCK,
    COL,
    OFFSET,
    PARTITION,
    ROW,
    Shape,
    Tile,
    flattened,
    shape_of_a_block,
)

BOX = 256
"""The most elements of a box of TMA in each dimension."""
COPIED_ROWS = (32, 64)
_PIECES = (
    "swizzled_shared",
    "amd_rotating_shared",
    "shared",
    "nvmma_shared",
    "shared_linear",
    "padded_shared",
)


def rank_in_memory(encoding: Encoding, rank: int) -> int:
    """Return the number of dimensions that an encoding lays out; descriptors may have buffers before them."""
    if encoding.kind.startswith("tensor_memory"):
        return 2
    if encoding.kind == "partitioned_shared":
        return rank_in_memory(_partition_layout(encoding), rank)
    for key in ("order", "CTAOrder"):
        if key in encoding.items:
            return len(encoding.numbers(key))
    for key in (OFFSET, BLOCK, "CGALayout"):
        for basis in encoding.bases(key):
            return len(basis)
    return encoding.number("rank", min(rank, 2)) if encoding.kind == "nvmma_shared" else rank


def swizzled(encoding: Encoding, shape: Shape, context: Context) -> Tile:
    """Return the map of #ttg.swizzled_shared or #ttg.amd_rotating_shared: vectors XORed with a row's phase.

    swizzledSharedToLinearLayout, sharedToLinearLayoutAMDRotating. #triton_gpu.shared that `hasLeadingOffset`
    has tiles of 8 rows; the width of its swizzle follows from the phases (sharedToLinearLayoutLeadingOffset).
    """
    rank = len(shape)
    order = encoding.order(rank=rank)
    columns, rows = order[0], order[:2][-1]
    vector, per_phase, phases = (encoding.power(key) for key in ("vec", "perPhase", "maxPhase"))
    inside = shape_of_a_block(encoding, shape)
    wide, high = inside[columns], inside[rows]
    if encoding.flag("hasLeadingOffset", False):
        encoding.number("maxPhase", known=(2, 4, 8))
        encoding.number("perPhase", known=(8 // phases,))
        if rank < 2 or high < 8 or wide < vector * phases:
            raise _too_small(encoding, shape, vector * phases)
        wide, high = vector * phases, 8

    def phase(row: int) -> int:
        found = row // per_phase % phases
        if encoding.kind == "amd_rotating_shared":
            found ^= row // phases // per_phase % phases
        return vector * found % wide

    tile = Tile(rank, [*order[1::-1], *order[2:]]).step(OFFSET, wide, columns)
    _put_rows(tile, rows, columns, high, phase)
    return tile.steps(OFFSET, inside, order[2:]).over_blocks(encoding, shape, OFFSET)


def _put_rows(tile: Tile, rows: int, columns: int, high: int, phase: Callable[[int], int]) -> None:
    """Add rows, of which row r has its columns XORed with phase(r)."""
    while tile.size[rows] < high:
        basis = [0] * tile.rank
        basis[rows] = tile.size[rows]
        basis[columns] = phase(basis[rows])
        tile.put(OFFSET, tuple(basis))


def for_mma(encoding: Encoding, shape: Shape, context: Context) -> Tile:
    """Return the map of #ttg.nvmma_shared: tiles of 8 rows with a swizzle of 32, 64 or 128 bytes, box by box.

    nvmmaSharedToLinearLayout, getCoreMatrixLinearLayout. With fp4Padded, 8 of 16 bytes are holes.
    """
    rank = len(shape)
    width = encoding.number("swizzlingByteWidth", known=(0, 32, 64, 128))
    bits = encoding.number("elementBitWidth", known=(8, 16, 32, 64, 128))
    transposed, padded = encoding.flag("transposed", False), encoding.flag("fp4Padded", False)
    if padded and (width, bits) != (128, 8):
        raise encoding.error("TW602", "fp4Padded belongs to bytes and a swizzle of 128 of them", "fp4Padded")
    inside = shape_of_a_block(encoding, shape)
    box = [min(extent, BOX) for extent in inside]  # its storage, the slowest dimension first
    if transposed:
        box.append(box.pop(0))
    if width == 0:
        tile = Tile(rank)
        for position in reversed(range(rank)):
            tile.step(OFFSET, box[position], (position - 1) % rank if transposed else position)
        return tile.over_blocks(encoding, shape, OFFSET)
    packing = 2 if padded else 1
    columns, vector = 8 * width // bits // packing, 128 // bits // packing
    box[-1] = min(box[-1], columns)
    # All dimensions but one are the rows. Where it is transposed, Triton takes the tensor's last for them.
    wide = prod(box) // box[-2] if transposed and rank > 1 else box[-1]
    high = prod(box) // wide
    if rank < 2 or high < 8 or wide < columns:
        raise _too_small(encoding, shape, columns)
    matrices = (
        Tile(2, (0, 1)).step(OFFSET, vector, 1).step(OFFSET, packing, None).step(OFFSET, columns // vector, 1)
    )
    _put_rows(matrices, 0, 1, 8, lambda row: vector * (row * width // 128 % (width // 16)))
    matrices.fit((high, wide), OFFSET)
    tile = Tile(rank, range(rank))
    for move in flattened(matrices.bases, (high, wide))[OFFSET]:
        basis = coordinates(move, tuple(box))
        tile.put(OFFSET, (basis[-1], *basis[:-1]) if transposed else basis)
    return tile.over_blocks(encoding, shape, OFFSET)


def by_bases(encoding: Encoding, shape: Shape, context: Context) -> Tile:
    """Return the map of #ttg.shared_linear: the bases themselves."""
    if "alignment" in encoding.items:
        context.notes.append(f"aligned to {encoding.number('alignment')} bytes")
    tile = Tile(len(shape))
    for place in (OFFSET, BLOCK):
        tile.put(place, *encoding.bases(place, tile.rank))
    return _reaching(tile, encoding, shape)


def padded(encoding: Encoding, shape: Shape, context: Context) -> Tile:
    """Return the map of #ttg.padded_shared, by bases or by an order, without its paddings."""
    if "order" not in encoding.items:
        return by_bases(encoding, shape, context)
    rank = len(shape)
    whole = encoding.powers("shape", rank, tuple(shape))
    tile = Tile(rank, encoding.order(rank=rank)).put(OFFSET)
    return _reaching(tile.over_blocks(encoding, whole, OFFSET), encoding, shape)


def paddings_of(encoding: Encoding) -> list[tuple[int, int]]:
    """Return the paddings: after every interval so many elements."""
    if encoding.kind == "partitioned_shared":
        return paddings_of(_partition_layout(encoding))
    if encoding.kind != "padded_shared":
        return []
    pairs = [(interval, padding) for interval, padding in encoding.bases("paddings", 2)]
    for interval, padding in pairs:
        if interval.bit_count() != 1 or padding.bit_count() != 1:
            message = f"the padding {interval}:+{padding} is no pair of powers of two"
            raise encoding.error("TW102", message, "paddings")
    if not pairs or len(dict(pairs)) < len(pairs):
        message = f"{encoding.name} has no paddings, or two of one interval"
        raise encoding.error("TW004", message, "paddings", "such as padded_shared<[128:+4] {...}>")
    return pairs


def partitioned(encoding: Encoding, shape: Shape, context: Context) -> Tile:
    """Return the map of #ttg.partitioned_shared: pieces of a tensor, in turn in several buffers.

    partitionedSharedToLinearLayout.
    """
    parts, groups = encoding.power("numPartitions"), encoding.power("numGroups")
    dimension = encoding.number("partitionDim", known=range(len(shape)))
    extent, pieces = shape[dimension], parts * groups
    if extent < pieces:
        message = f"an extent of {extent} is not to be cut into {pieces} pieces"
        raise encoding.error("TW202", message, "numPartitions")
    inner = _partition_layout(encoding)
    piece = [*shape[:dimension], extent // pieces, *shape[dimension + 1 :]]
    tile = KINDS[inner.kind](inner, piece, context)
    return tile.step(PARTITION, parts, dimension).step(OFFSET, groups, dimension)


def _partition_layout(encoding: Encoding) -> Encoding:
    return encoding.inner("partitionLayout", _PIECES)


# -- tensor memory ---------------------------------------------------------------------------------


def accumulator(encoding: Encoding, shape: Shape, context: Context) -> Tile:
    """Return the map of #ttng.tensor_memory_encoding: blocks of blockM x blockN, along M, then along N.

    tensorMemoryToLinearLayout.
    """
    rows = encoding.power("blockM", known=(64, 128))
    inside = shape_of_a_block(encoding, shape)
    columns = min(encoding.power("blockN"), inside[1])
    mode = encoding.word("ctaMode", "DEFAULT", "TwoCTA_LHS", "TwoCTA_RHS")
    halved = mode == "DEFAULT" and rows == 64
    two = encoding.flag("twoCTAs", False)
    tile = Tile(2, (0, 1))
    if mode == "TwoCTA_RHS":
        tile.step(ROW, rows, 0).step(COL, columns // 2, 1).step(ROW, 2, 1)
    else:
        # before 3.6 an element was packed, or had a column of 32 bits
        unpacked = encoding.flag("unpacked", False)
        tile.step(
            COL, context.elements_in_32_bits(encoding) if unpacked else encoding.power("colStride", 1), None
        )
        tile.step(ROW, 16 if halved and not two else rows, 0)
        tile.step(COL, 2 if encoding.flag("fp4Padded", False) else 1, None).step(COL, columns, 1)
    if mode == "TwoCTA_LHS":
        tile.step(ROW, 2, None)
    elif halved and two:
        if not tile.bases[COL]:
            raise encoding.error(
                "TW202", "two CTAs share the columns of a block, and here there is one", "blockN"
            )
        tile.bases[ROW].append(tile.bases[COL].pop())
    elif halved:
        beside = (64, 0) if inside[0] > rows else (0, columns) if inside[1] > columns else (0, 0)
        tile.put(ROW, beside, (16, 0), (32, 0))
    if any(map(int.__lt__, inside, tile.size)):
        block, tensor = (" x ".join(map(str, extents)) for extents in (tile.size, inside))
        raise encoding.error("TW202", f"a block of {block} is larger than the tensor {tensor}")
    return tile.over_blocks(encoding, shape, COL)


def scales(encoding: Encoding, shape: Shape, context: Context) -> Tile:
    """Return the map of #ttng.tensor_memory_scales_encoding: 32 x 4 scales, copied to all warps.

    tensorMemoryScalesToLinearLayout.
    """
    order = encoding.word("blockRepOrder", "mnThenK", "kThenMn")
    tile = Tile(2, (0, 1) if order == "mnThenK" else (1, 0))
    tile.step(ROW, 32, 0).step(ROW, 4, None).step(COL, 4, 1).step(COL, 2, 0)
    if shape_of_a_block(encoding, shape)[0] > 64:
        tile.step(COL, 2, 0)
    return tile.over_blocks(encoding, shape, COL)


KINDS: dict[str, Callable[[Encoding, Shape, Context], Tile]] = {
    "swizzled_shared": swizzled,
    "amd_rotating_shared": swizzled,
    "shared": swizzled,
    "nvmma_shared": for_mma,
    "shared_linear": by_bases,
    "padded_shared": padded,
    "partitioned_shared": partitioned,
    "tensor_memory_encoding": accumulator,
    "tensor_memory_scales_encoding": scales,
}


def _too_small(encoding: Encoding, shape: Shape, columns: int) -> LayoutError:
    return encoding.error(
        "TW202",
        f"{encoding.name} has tiles of 8 x {columns}, and a block has less of {spelled(tuple(shape))}",
        hint="Triton refuses it as well: choose a narrower swizzle",
    )


def _reaching(tile: Tile, encoding: Encoding, shape: Shape) -> Tile:
    """Refuse bases that reach beyond the shape, or do not reach its end."""
    if tile.size != [*shape]:
        found, wanted = spelled(tuple(tile.size)), spelled(tuple(shape))
        raise encoding.error("TW202", f"{encoding.name} lays out a tensor of {found}, not of {wanted}")
    return tile
