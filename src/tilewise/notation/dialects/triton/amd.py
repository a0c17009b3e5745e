"""AMD's matrix encodings: MFMA of CDNA, whose waves have 64 lanes, and WMMA of RDNA and gfx1250, with 32.

What they follow: AMDMfmaEncodingAttr, AMDWmmaEncodingAttr, mfmaDotToLinearLayout and
wmmaDotOperandToLinearLayout in lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewise.notation.dialects.triton.attributes import Encoding, spelled
from tilewise.notation.dialects.triton.context import Context
from tilewise.notation.dialects.triton.tile import (
    LANE,
    REGISTER,
    WARP,
    Basis,
    Shape,
    Tile,
    fixed_along,
    rank_of_product,
    row_major,
)

WAVE = 64
_MFMA = ((32, 32), (16, 16), (64, 4), (4, 64))
_WMMA_LANES = 16


def matrix_fma(encoding: Encoding, shape: Shape, context: Context) -> Tile:
    """Return the map of #ttg.amd_mfma, the accumulators of v_mfma.

    The tiles go on along N first, beyond what a block's warps hold.
    """
    rows, columns = _mfma(encoding)
    rank = rank_of_product(encoding, shape)
    m, n = rank - 2, rank - 1
    tiles, warps = _tiles_per_warp(encoding, rank), encoding.powers("warpsPerCTA", rank)
    wide = encoding.power("elementBitWidth", 32) == 64 or encoding.items.get("elementType") == "f64"
    together = 1 if wide else 4
    along, across, lanes = (n, m, rows) if encoding.flag("isTransposed") else (m, n, columns)
    tile = Tile(rank, row_major(rank))
    tile.step(REGISTER, together, along).step(LANE, lanes, across).step(LANE, WAVE // lanes, along)
    tile.step(REGISTER, max(1, rows * columns // (WAVE * together)), along)
    tile.step(REGISTER, tiles[n], n).step(WARP, warps[n], n)
    tile.step(REGISTER, max(1, shape[n] // (columns * warps[n] * tiles[n])), n)
    tile.step(REGISTER, tiles[m], m).steps(WARP, warps, row_major(rank)[1:])
    return tile.over_blocks(encoding, shape)


def matrix_fma_operand(tile: Tile, encoding: Encoding, parent: Encoding, shape: Shape) -> None:
    """Lay an operand of v_mfma: `kWidth` elements along K a lane, lanes across, then along K."""
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
    """Return the map of #ttg.amd_wmma, the accumulators of v_wmma: 8 registers and 32 lanes a tile."""
    rank = rank_of_product(encoding, shape)
    generation, rows, _, _ = _wmma(encoding)
    lanes, registers = (rank - 2, rank - 1) if encoding.flag("isTranspose", False) else (rank - 1, rank - 2)
    tile = Tile(rank, row_major(rank)).step(LANE, _WMMA_LANES, lanes)
    if generation == 1:
        tile.step(LANE, 2, registers).step(REGISTER, 8, registers)
    else:
        tile.step(REGISTER, 8, registers).step(LANE, 2, registers).step(REGISTER, rows // 16, registers)
    return tile.repeat(_tiles(encoding, rank)).over_blocks(encoding, shape)


def wave_matrix_operand(tile: Tile, encoding: Encoding, parent: Encoding) -> None:
    """Lay an operand of v_wmma.

    The upper 16 lanes hold what the lower hold in generation 1, and more of K later.
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
    if len(extents) not in (2, 3) or extents[:2] not in _MFMA:
        known = " ".join(f"[{rows}, {columns}, K]" for rows, columns in _MFMA)
        raise encoding.error(
            "TW602", f"MFMA has no shape {spelled(extents)}", "instrShape", f"known: {known}"
        )
    if extents[:2] == (64, 4) and not encoding.flag("isTransposed"):
        raise encoding.error("TW602", "MFMA of 64 x 4 is transposed always", "instrShape")
    return extents[0], extents[1]


def _tiles_per_warp(encoding: Encoding, rank: int) -> tuple[int, ...]:
    return encoding.powers("tilesPerWarp", rank) if "tilesPerWarp" in encoding.items else (1,) * rank


def _wmma(encoding: Encoding) -> tuple[int, int, int, int]:
    """Return the generation, and an instruction's M, N and K."""
    # Triton 3.0 and 3.1, which print #triton_gpu, knew version 1 alone and named none
    default = 1 if encoding.name.startswith("#triton_gpu.") else None
    generation = encoding.number("version", default, (1, 2, 3))
    rows, columns, depth = encoding.powers("instrShape", 3) if "instrShape" in encoding.items else (16,) * 3
    if columns != 16 or rows not in ((16, 32) if generation == 3 else (16,)):
        raise encoding.error("TW602", f"WMMA has no shape {rows} x {columns}", "instrShape")
    return generation, rows, columns, depth


def _tiles(encoding: Encoding, rank: int) -> Mapping[str, Sequence[Basis]]:
    """Return how registers and warps go over tiles: 3.0 to 3.5 said how many there are in each dimension."""
    encoding.number("rank", rank, (rank,))
    tile = Tile(rank)
    if "warpsPerCTA" in encoding.items:
        tiles, warps = _tiles_per_warp(encoding, rank), encoding.powers("warpsPerCTA", rank)
        for dimension in row_major(rank):
            tile.step(REGISTER, tiles[dimension], dimension).step(WARP, warps[dimension], dimension)
    else:
        layout = encoding.inner("ctaLayout")
        for place in (REGISTER, WARP):
            tile.put(place, *layout.bases(place, rank))
    return tile.bases
