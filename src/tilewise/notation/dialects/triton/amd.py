"""AMD's matrix encodings: MFMA of CDNA, whose waves have 64 lanes, and WMMA of RDNA and gfx1250, with 32.

What they follow: AMDMfmaEncodingAttr, AMDWmmaEncodingAttr, mfmaDotToLinearLayout and
wmmaDotOperandToLinearLayout in lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewise.notation.dialects.triton.attributes import Encoding, spelled
from tilewise.notation.dialects.triton.clusters import OLD, blocks_of, fixed_along, row_major
from tilewise.notation.dialects.triton.context import Context
from tilewise.notation.dialects.triton.tile import LANE, REGISTER, WARP, Basis, Tile

WAVE = 64
_MFMA = ((32, 32), (16, 16), (64, 4), (4, 64))
_WMMA_LANES = 16


def matrix_fma(encoding: Encoding, shape: Sequence[int], context: Context) -> Tile:
    """Return the map of #ttg.amd_mfma, the accumulators of v_mfma.

    The tiles go on along N first, beyond what a block's warps hold.
    """
    rows, columns = _mfma(encoding, shape)
    rank = len(shape)
    m, n = rank - 2, rank - 1
    tiles, warps = _tiles_per_warp(encoding, rank), encoding.powers("warpsPerCTA", rank)
    together = (
        1 if encoding.power("elementBitWidth", 32) == 64 or encoding.word("elementType", "") == "f64" else 4
    )
    transposed = encoding.flag("isTransposed")
    along, across, lanes = (n, m, rows) if transposed else (m, n, columns)
    tile = Tile(rank, row_major(rank))
    tile.step(REGISTER, together, along).step(LANE, lanes, across).step(LANE, WAVE // lanes, along)
    tile.step(REGISTER, max(1, rows * columns // (WAVE * together)), along)
    tile.step(REGISTER, tiles[n], n).step(WARP, warps[n], n)
    tile.step(REGISTER, max(1, shape[n] // (columns * warps[n] * tiles[n])), n)
    tile.step(REGISTER, tiles[m], m).step(WARP, warps[m], m)
    if rank == 3:
        tile.step(WARP, warps[0], 0)
    return tile.over_blocks(blocks_of(encoding, rank), shape, REGISTER)


def matrix_fma_operand(
    encoding: Encoding, parent: Encoding, shape: Sequence[int], reduced: int, kept: int
) -> Tile:
    """Return the map of an operand of v_mfma: `kWidth` elements along K a lane, lanes across, then along K.

    Blocks of a cluster that split K of the accumulators split K here too, unlike in other operands.
    """
    rows, columns = _mfma(parent, shape)
    rank = len(shape)
    across = rows if kept < reduced else columns
    width, tiles = encoding.power("kWidth"), _tiles_per_warp(parent, rank)
    tile = Tile(rank, [reduced, kept, *row_major(rank)[2:]])
    tile.step(REGISTER, width, reduced).step(LANE, across, kept).step(LANE, WAVE // across, reduced)
    deep = WAVE // across * width
    if across == WAVE:
        tile.step(REGISTER, 16, reduced)
        deep *= 16
    tile.step(REGISTER, max(1, shape[reduced] // deep), reduced).step(REGISTER, tiles[kept], kept)
    tile.steps(WARP, parent.powers("warpsPerCTA", rank), row_major(rank))
    return tile.over_blocks(blocks_of(parent, rank), shape, REGISTER)


def wave_matrix(encoding: Encoding, shape: Sequence[int], context: Context) -> Tile:
    """Return the map of #ttg.amd_wmma, the accumulators of v_wmma: 8 registers and 32 lanes a tile."""
    generation, (rows, columns, _), over = _wmma(encoding, shape)
    rank = len(shape)
    lanes, registers = (rank - 2, rank - 1) if encoding.flag("isTranspose", False) else (rank - 1, rank - 2)
    tile = Tile(rank, row_major(rank)).step(LANE, _WMMA_LANES, lanes)
    if generation == 1:
        tile.step(LANE, 2, registers).step(REGISTER, 8, registers)
    else:
        tile.step(REGISTER, 8, registers).step(LANE, 2, registers)
        if (rows, columns) == (32, 16):
            tile.step(REGISTER, 2, registers)
    _over_tiles(tile, over)
    return tile.over_blocks(blocks_of(encoding, rank), shape, REGISTER)


def wave_matrix_operand(
    encoding: Encoding, parent: Encoding, shape: Sequence[int], reduced: int, kept: int
) -> Tile:
    """Return the map of an operand of v_wmma.

    The upper 16 lanes hold what the lower hold in generation 1, and more of K later.
    """
    generation, (rows, columns, depth), over = _wmma(parent, shape)
    rank = len(shape)
    if parent.flag("isTranspose", False):
        rows, columns = columns, rows
    across = rows if kept < reduced else columns
    width = encoding.power("kWidth")
    tile = Tile(rank, [reduced, kept, *row_major(rank)[2:]])
    tile.step(REGISTER, width, reduced).step(LANE, _WMMA_LANES, kept)
    if generation == 1:
        tile.still(LANE, 2)
    else:
        tile.step(LANE, 2, reduced)
    tile.step(REGISTER, max(1, depth // (2 * width)), reduced)
    tile.step(REGISTER, max(1, across // _WMMA_LANES), kept)
    projected = {place: fixed_along(reduced, bases) for place, bases in over.items()}
    projected[REGISTER] = [basis for basis in projected[REGISTER] if any(basis)]
    _over_tiles(tile, projected)
    return tile.over_blocks(fixed_along(reduced, blocks_of(parent, rank)), shape, REGISTER)


def _mfma(encoding: Encoding, shape: Sequence[int]) -> tuple[int, int]:
    """Return the rows and columns of an instruction, of which 3.0 to 3.5 printed no K."""
    encoding.only(
        "version", "versionMajor", "versionMinor", "warpsPerCTA", "CGALayout", *OLD, "instrShape",
        "isTransposed", "tilesPerWarp", "elementBitWidth", "elementType",
    )  # fmt: skip
    _check_rank(encoding, shape, len(encoding.numbers("warpsPerCTA")))
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


def _wmma(
    encoding: Encoding, shape: Sequence[int]
) -> tuple[int, tuple[int, int, int], dict[str, list[Basis]]]:
    """Return the generation, an instruction's M, N and K, and how registers and warps go over tiles."""
    encoding.only(
        "version",
        "isTranspose",
        "ctaLayout",
        "CGALayout",
        *OLD,
        "instrShape",
        "rank",
        "warpsPerCTA",
        "tilesPerWarp",
    )
    # Triton 3.0 and 3.1, which print #triton_gpu, knew version 1 alone and named none
    generation = encoding.number("version", 1 if encoding.name.startswith("#triton_gpu.") else None)
    if generation not in (1, 2, 3):
        raise encoding.error("TW602", f"WMMA has no version {generation}", "version", "known: 1 2 3")
    extents = encoding.powers("instrShape", 3) if "instrShape" in encoding.items else (16, 16, 16)
    if extents[:2] not in ((16, 16), (32, 16)) or (generation < 3 and extents[0] > 16):
        raise encoding.error("TW602", f"WMMA has no shape {spelled(extents)}", "instrShape")
    if "warpsPerCTA" in encoding.items:
        rank = len(encoding.numbers("warpsPerCTA"))
        _check_rank(encoding, shape, rank)
        tiles, warps = _tiles_per_warp(encoding, rank), encoding.powers("warpsPerCTA")
        tile = Tile(rank, (), {REGISTER: [], WARP: []})
        for dimension in row_major(rank):
            tile.step(REGISTER, tiles[dimension], dimension).step(WARP, warps[dimension], dimension)
        over = tile.bases
    else:
        _check_rank(encoding, shape, encoding.number("rank", len(shape)))
        layout = encoding.items.get("ctaLayout")
        if not isinstance(layout, Encoding):
            raise encoding.error(
                "TW004",
                f"{encoding.name} has no ctaLayout",
                "ctaLayout",
                "such as ctaLayout = {warp = [[0, 1], [1, 0]]}",
            )
        layout.only(REGISTER, WARP)
        over = {place: list(layout.bases(place, len(shape))) for place in (REGISTER, WARP)}
    return generation, (extents[0], extents[1], extents[2]), over


def _check_rank(encoding: Encoding, shape: Sequence[int], rank: int) -> None:
    if rank != len(shape) or rank not in (2, 3):
        raise encoding.error("TW202", f"{encoding.name} has {rank} dimensions, and the tensor {len(shape)}")


def _over_tiles(tile: Tile, over: dict[str, list[Basis]]) -> None:
    """Let registers and warps go on from tile to tile: their bases count tiles."""
    tile_shape = list(tile.size)
    for place in (REGISTER, WARP):
        bases = tile.bases.setdefault(place, [])
        for basis in over[place]:
            moved = tuple(x * extent for x, extent in zip(basis, tile_shape, strict=True))
            bases.append(moved)
            tile.size = [
                max(size, 1 << x.bit_length() if x else 1) for size, x in zip(tile.size, moved, strict=True)
            ]
