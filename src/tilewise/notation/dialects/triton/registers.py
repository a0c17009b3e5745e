"""The encodings of tensors in registers, as linear maps from (register, lane, warp, block) to elements.

The meaning is that of Triton, lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp; each function names its
source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tilewise.notation.dialects.triton.encodings import MAX_RANK, NEWEST, Context, Encoding
from tilewise.notation.dialects.triton.tile import (
    BLOCK,
    LANE,
    REGISTER,
    WARP,
    Basis,
    Shape,
    Tile,
    fixed_along,
    order_of,
    rank_of_product,
    row_major,
)

WAVE = 64
_MFMA = ((32, 32), (16, 16), (64, 4), (4, 64))
_WMMA = ((16, 16), (32, 16))
_WMMA_LANES = 16


def blocked(encoding: Encoding, shape: Shape, context: Context) -> Tile:
    """Return the map of #ttg.blocked: registers, lanes, warps, in an order. BlockedEncodingAttr.

    Registers that reach beyond the shape held copies before 3.9. The compilers show it: for such registers
    3.8.0 answers to_linear_layout with bases of 0, 3.9.0 with no bases.
    """
    tile = _threads(encoding, shape)
    spare = sum(not any(basis) for basis in tile.bases[REGISTER])
    copies, beyond = f"{1 << spare} copies in registers", f"{encoding.name} reaches beyond the shape"
    if spare and context.number < (3, 9):
        context.notes.append(f"{beyond}: {copies}, as in Triton before 3.9")
        return tile
    if spare and not context.given:
        context.notes.append(f"{beyond}: Triton before 3.9 made {copies} (--triton 3.8)")
    return tile.without(REGISTER)


def _threads(encoding: Encoding, shape: Shape, reduced: int | None = None) -> Tile:
    """Return the map of #ttg.blocked, or of an operand of its product, of which a thread has whole rows.

    fmaDotToLinearLayout.
    """
    rank = len(shape)
    each = list(encoding.powers("sizePerThread", rank))
    if reduced is not None:
        each[reduced] = shape[reduced]
    order = encoding.order(rank=rank)
    tile = Tile(rank, order).steps(REGISTER, each, order)
    tile.steps(LANE, encoding.powers("threadsPerWarp", rank), order, reduced)
    tile.steps(WARP, encoding.powers("warpsPerCTA", rank), order, reduced)
    return tile.over_blocks(encoding, shape, still=reduced)


def linear(encoding: Encoding, shape: Shape, context: Context) -> Tile:
    """Return the map of #ttg.linear: its bases, cut or grown to the shape. LinearEncodingTrait.

    The dimensions grow in the order in which the registers' bases meet them, then row-major (getRepOrder).
    Registers beyond the shape are dropped.
    """
    rank = len(shape)
    tile = Tile(rank)
    for place in (REGISTER, LANE, WARP, BLOCK):
        tile.put(place, *encoding.bases(place, rank))
    registers = tile.bases[REGISTER]
    tile.order = order_of(registers, rank)
    tile.bases[REGISTER] = [basis for basis in registers if all(map(int.__lt__, basis, shape))]
    return tile.fit(shape, REGISTER)


def sliced(encoding: Encoding, shape: Shape, context: Context) -> Tile:
    """Return the map of #ttg.slice: the parent's, with one dimension more of extent 1. SliceEncodingAttr."""
    if len(shape) >= MAX_RANK:
        raise encoding.error("TW005", f"a slice of a tensor of more than {MAX_RANK} dimensions")
    dimension = encoding.number("dim", known=range(len(shape) + 1))
    parent, tile = encoding.inner("parent", KINDS), Tile(len(shape))
    if parent.kind == "blocked":  # copies in its registers are left out below, whatever the version
        context = replace(context, number=NEWEST, given=True)
    whole = KINDS[parent.kind](parent, [*shape[:dimension], 1, *shape[dimension:]], context)
    for place, moved in whole.bases.items():
        tile.put(place, *(basis[:dimension] + basis[dimension + 1 :] for basis in moved))
    return tile.without(REGISTER)


def nvidia_mma(encoding: Encoding, shape: Shape, context: Context) -> Tile:
    """Return the map of #ttg.nvidia_mma: accumulators of mma.sync (2), wgmma (3). NvidiaMmaEncodingAttr."""
    rank = rank_of_product(encoding, shape)
    hopper, rows, columns = _nvidia(encoding, rank)
    tile = Tile(rank)
    _matrices(tile, rows, columns, 2, rank - 1, rank - 2)
    tile.steps(WARP, encoding.powers("warpsPerCTA", rank), row_major(rank, swapped=hopper))
    return tile.over_blocks(encoding, shape)


def operand(encoding: Encoding, shape: Shape, context: Context) -> Tile:
    """Return the map of #ttg.dot_op: operand A (0) or B (1) of the parent's product. DotOperandEncoding.

    Blocks of a cluster hold all of K, but for MFMA: where they split K of the accumulators, they split K of
    its operands too.
    """
    which, rank = encoding.number("opIdx", known=(0, 1)), rank_of_product(encoding, shape)
    if context.number < (3, 2):
        context.notes.append("Triton before 3.2 had no linear layouts: operands are read as 3.2 defines them")
    reduced, kept = rank - 1 - which, rank - 2 + which
    parent = encoding.inner("parent", ("blocked", "nvidia_mma", "amd_mfma", "amd_wmma"))
    if parent.kind == "blocked":
        return _threads(parent, shape, reduced)
    tile = Tile(rank, [reduced, kept, *row_major(rank)[2:]])
    if parent.kind == "nvidia_mma":
        _nvidia_operand(tile, encoding, parent, context)
    elif parent.kind == "amd_wmma":
        wave_matrix_operand(tile, encoding, parent)
    else:
        matrix_fma_operand(tile, encoding, parent, shape)
        return tile.over_blocks(parent, shape)
    return tile.over_blocks(parent, shape, still=reduced)


def _nvidia(encoding: Encoding, rank: int) -> tuple[bool, int, int]:
    """Return True for wgmma, and the rows and columns of an instruction."""
    hopper = encoding.number("versionMajor", known=(2, 3)) == 3
    extents = encoding.powers("instrShape", 3 if hopper else rank)
    *others, rows, columns = extents[:2] if hopper else extents
    if min(rows, columns) < 8 or max(others, default=1) > 1:
        raise encoding.error(
            "TW602", f"no instruction has the shape {[*extents]}", "instrShape", "such as [16, 8]"
        )
    return hopper, rows, columns


def _matrices(tile: Tile, rows: int, columns: int, width: int, inner: int, outer: int) -> None:
    """Lay 8 x 8 matrices of mma: `width` registers and 4 lanes along the inner dimension, 8 lanes across."""
    tile.step(REGISTER, width, inner).step(LANE, 4, inner).step(LANE, 8, outer)
    tile.step(REGISTER, rows // 8, outer).step(REGISTER, max(1, columns // (width * 4)), inner)


def _nvidia_operand(tile: Tile, encoding: Encoding, parent: Encoding, context: Context) -> None:
    """Lay an operand of mma.sync, or A of wgmma. nvidiaDotToLinearLayout.

    3.0 to 3.2 printed no kWidth beside wgmma: the elements fill a register.
    """
    rank = tile.rank
    reduced, kept = tile.order[:2]
    hopper, rows, _ = _nvidia(parent, rank)
    is_a = kept < reduced
    if hopper and not is_a:
        raise encoding.error("TW602", "wgmma reads B from shared memory, and never from registers", "opIdx")
    if hopper and "kWidth" not in encoding.items:
        width = context.elements_in_32_bits(encoding)
    else:
        width = encoding.power("kWidth")
    _matrices(tile, rows if is_a else 8, width * (4 if rows == 8 else 8), width, reduced, kept)
    tile.steps(WARP, parent.powers("warpsPerCTA", rank), row_major(rank, swapped=hopper), reduced)


# -- AMD: MFMA of CDNA, whose waves have 64 lanes, and WMMA of RDNA and gfx1250, with 32 -------------


def matrix_fma(encoding: Encoding, shape: Shape, context: Context) -> Tile:
    """Return the map of #ttg.amd_mfma, the accumulators of v_mfma. AMDMfmaEncodingAttr.

    The tiles go on along N first, beyond the reach of a block's warps.
    """
    rows, columns = _mfma(encoding)
    rank = rank_of_product(encoding, shape)
    m, n = rank - 2, rank - 1
    tiles, warps = _tiles_per_warp(encoding, rank), encoding.powers("warpsPerCTA", rank)
    wide = encoding.power("elementBitWidth", 32) == 64 or encoding.items.get("elementType") == "f64"
    together = 1 if wide else 4
    along, across, lanes = (n, m, rows) if encoding.flag("isTransposed") else (m, n, columns)
    tile = Tile(rank)
    tile.step(REGISTER, together, along).step(LANE, lanes, across).step(LANE, WAVE // lanes, along)
    tile.step(REGISTER, max(1, rows * columns // (WAVE * together)), along)
    tile.step(REGISTER, tiles[n], n).step(WARP, warps[n], n)
    tile.step(REGISTER, max(1, shape[n] // (columns * warps[n] * tiles[n])), n)
    tile.step(REGISTER, tiles[m], m).steps(WARP, warps, row_major(rank)[1:])
    return tile.over_blocks(encoding, shape)


def matrix_fma_operand(tile: Tile, encoding: Encoding, parent: Encoding, shape: Shape) -> None:
    """Lay an operand of v_mfma: `kWidth` elements along K a lane, lanes across, then along K.

    mfmaDotToLinearLayout.
    """
    rows, columns = _mfma(parent)
    reduced, kept = tile.order[:2]
    across = rows if kept < reduced else columns
    tile.step(REGISTER, encoding.power("kWidth"), reduced)
    tile.step(LANE, across, kept).step(LANE, WAVE // across, reduced)
    tile.step(REGISTER, 16 if across == WAVE else 1, reduced)
    tile.step(REGISTER, max(1, shape[reduced] // tile.size[reduced]), reduced)
    tile.step(REGISTER, _tiles_per_warp(parent, tile.rank)[kept], kept)
    tile.steps(WARP, parent.powers("warpsPerCTA", tile.rank), row_major(tile.rank))


def wave_matrix(encoding: Encoding, shape: Shape, context: Context) -> Tile:
    """Return the map of #ttg.amd_wmma, the accumulators of v_wmma: 8 registers and 32 lanes a tile.

    AMDWmmaEncodingAttr.
    """
    rank = rank_of_product(encoding, shape)
    generation, rows, _, _ = _wmma(encoding)
    lanes, registers = (rank - 2, rank - 1) if encoding.flag("isTranspose", False) else (rank - 1, rank - 2)
    tile = Tile(rank).step(LANE, _WMMA_LANES, lanes)
    if generation == 1:
        tile.step(LANE, 2, registers).step(REGISTER, 8, registers)
    else:
        tile.step(REGISTER, 8, registers).step(LANE, 2, registers).step(REGISTER, rows // 16, registers)
    return tile.repeat(_tiles(encoding, rank)).over_blocks(encoding, shape)


def wave_matrix_operand(tile: Tile, encoding: Encoding, parent: Encoding) -> None:
    """Lay an operand of v_wmma. wmmaDotOperandToLinearLayout.

    In generation 1 the upper 16 lanes hold the elements of the lower; later they hold more of K.
    """
    generation, rows, columns, depth = _wmma(parent)
    reduced, kept = tile.order[:2]
    is_a = kept < reduced
    across = columns if is_a == parent.flag("isTranspose", False) else rows
    width = encoding.power("kWidth")
    tile.step(REGISTER, width, reduced).step(LANE, _WMMA_LANES, kept)
    tile.step(LANE, 2, None if generation == 1 else reduced)
    tile.step(REGISTER, max(1, depth // (2 * width)), reduced).step(REGISTER, across // _WMMA_LANES, kept)
    over = {place: fixed_along(reduced, bases) for place, bases in _tiles(parent, tile.rank).items()}
    over[REGISTER] = [basis for basis in over[REGISTER] if any(basis)]
    tile.repeat(over)


def _mfma(encoding: Encoding) -> tuple[int, int]:
    """Return the rows and columns of an instruction, of which 3.0 to 3.5 printed no K."""
    extents = encoding.numbers("instrShape")
    encoding.among("instrShape", extents[:2] if len(extents) == 3 else extents, _MFMA)
    if extents[:2] == (64, 4) and not encoding.flag("isTransposed"):
        raise encoding.error("TW602", "MFMA of 64 x 4 is transposed always", "instrShape")
    return extents[0], extents[1]


def _tiles_per_warp(encoding: Encoding, rank: int) -> tuple[int, ...]:
    return encoding.powers("tilesPerWarp", rank, (1,) * rank)


def _wmma(encoding: Encoding) -> tuple[int, int, int, int]:
    """Return the generation, and an instruction's M, N and K."""
    # Triton 3.0 and 3.1, which print #triton_gpu, have version 1 alone and print no version
    default = 1 if encoding.name.startswith("#triton_gpu.") else None
    generation = encoding.number("version", default, (1, 2, 3))
    rows, columns, depth = encoding.powers("instrShape", 3, (16, 16, 16))
    encoding.among("instrShape", (rows, columns), _WMMA if generation == 3 else _WMMA[:1])
    return generation, rows, columns, depth


def _tiles(encoding: Encoding, rank: int) -> Mapping[str, Sequence[Basis]]:
    """Return the steps of registers and warps over tiles: 3.0 to 3.5 print their number in each dimension."""
    encoding.number("rank", rank, (rank,))
    tile = Tile(rank)
    if "warpsPerCTA" in encoding.items:
        tiles, warps = _tiles_per_warp(encoding, rank), encoding.powers("warpsPerCTA", rank)
        for dimension in row_major(rank):
            tile.step(REGISTER, tiles[dimension], dimension).step(WARP, warps[dimension], dimension)
    else:
        layout = encoding.inner("ctaLayout", ("",))
        for place in (REGISTER, WARP):
            tile.put(place, *layout.bases(place, rank))
    return tile.bases


KINDS: dict[str, Callable[[Encoding, Shape, Context], Tile]] = {
    "blocked": blocked,
    "linear": linear,
    "generic_linear": linear,
    "slice": sliced,
    "nvidia_mma": nvidia_mma,
    "dot_op": operand,
    "amd_mfma": matrix_fma,
    "amd_wmma": wave_matrix,
}
