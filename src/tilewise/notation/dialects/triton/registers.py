"""The encodings of tensors in registers, as linear maps from (register, lane, warp, block) to elements.

The meaning is Triton's own, lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp; each function names what
it follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewise.core.dtypes import DType
from tilewise.core.integers import counted
from tilewise.notation.dialects.triton.amd import (
    matrix_fma,
    matrix_fma_operand,
    wave_matrix,
    wave_matrix_operand,
)
from tilewise.notation.dialects.triton.attributes import Encoding
from tilewise.notation.dialects.triton.clusters import blocks_of, fixed_along, row_major
from tilewise.notation.dialects.triton.context import Context
from tilewise.notation.dialects.triton.tile import BLOCK, LANE, REGISTER, WARP, Tile

Shape = Sequence[int]


def in_registers(encoding: Encoding, shape: Shape, context: Context) -> Tile:
    """Return the map of an encoding of registers for a shape."""
    return KINDS[encoding.kind](encoding, shape, context)


def blocked(encoding: Encoding, shape: Shape, context: Context) -> Tile:
    """Return the map of #ttg.blocked: registers, lanes, warps, in an order. BlockedEncodingAttr."""
    encoding.only("sizePerThread", "threadsPerWarp", "warpsPerCTA", *SHARED_KEYS, "order")
    rank = _ranked(encoding, "sizePerThread", shape)
    order = encoding.order(rank)
    tile = Tile(rank, order)
    tile.steps(REGISTER, encoding.powers("sizePerThread", rank), order)
    tile.steps(LANE, encoding.powers("threadsPerWarp", rank), order)
    tile.steps(WARP, encoding.powers("warpsPerCTA", rank), order)
    tile.over_blocks(blocks_of(encoding, rank), shape, REGISTER)
    return context.without_spare_registers(tile, encoding)


def linear(encoding: Encoding, shape: Shape, context: Context) -> Tile:
    """Return the map of #ttg.linear: its bases, cut or grown to the shape. LinearEncodingTrait.

    The dimensions grow in the order in which the registers' bases meet them, then row-major (getRepOrder).
    Registers beyond the shape are dropped.
    """
    encoding.only(REGISTER, LANE, WARP, BLOCK)
    rank = len(shape)
    bases = {place: list(encoding.bases(place, rank)) for place in (REGISTER, LANE, WARP, BLOCK)}
    size = [1] * rank
    for basis in (basis for moved in bases.values() for basis in moved):
        size = [
            max(extent, 1 << x.bit_length()) if x else extent for extent, x in zip(size, basis, strict=True)
        ]
    order = list(
        dict.fromkeys(dimension for basis in bases[REGISTER] for dimension in range(rank) if basis[dimension])
    )
    order += [dimension for dimension in row_major(rank) if dimension not in order]
    bases[REGISTER] = [basis for basis in bases[REGISTER] if all(map(int.__lt__, basis, shape))]
    return Tile(rank, order, bases, size).fit(shape, REGISTER)


def sliced(encoding: Encoding, shape: Shape, context: Context) -> Tile:
    """Return the map of #ttg.slice: the parent's, with one dimension more of extent 1. SliceEncodingAttr."""
    encoding.only("dim", "parent")
    dimension = encoding.number("dim")
    if dimension > len(shape):
        raise encoding.error(
            "TW202", f"dim = {dimension} lies beyond a tensor of {len(shape) + 1} dimensions", "dim"
        )
    parent = _of_registers(encoding.parent())
    whole = in_registers(parent, [*shape[:dimension], 1, *shape[dimension:]], context)
    bases = {
        place: [basis[:dimension] + basis[dimension + 1 :] for basis in moved]
        for place, moved in whole.bases.items()
    }
    return Tile(len(shape), (), bases, list(shape)).without(REGISTER)


def nvidia_mma(encoding: Encoding, shape: Shape, context: Context) -> Tile:
    """Return the map of #ttg.nvidia_mma: accumulators of mma.sync (2), wgmma (3). NvidiaMmaEncodingAttr."""
    hopper, warps, instruction = _nvidia(encoding, shape)
    rank = len(shape)
    tile = Tile(rank, row_major(rank))
    _matrices(tile, instruction[0], instruction[1], 2, rank - 1, rank - 2)
    tile.steps(WARP, warps, row_major(rank, swapped=hopper))
    return tile.over_blocks(blocks_of(encoding, rank), shape, REGISTER)


def operand(encoding: Encoding, shape: Shape, context: Context) -> Tile:
    """Return the map of #ttg.dot_op: operand A (0) or B (1) of the parent's product. DotOperandEncoding."""
    encoding.only("opIdx", "parent", "kWidth")
    which = encoding.number("opIdx")
    if which > 1:
        raise encoding.error("TW202", f"opIdx = {which}: a product has the operands 0 and 1", "opIdx")
    rank = len(shape)
    if rank < 2:
        raise encoding.error(
            "TW202", f"an operand of a product is a matrix, and not a tensor of {rank} dimensions"
        )
    if context.before(3, 2):
        context.note("Triton before 3.2 had no linear layouts: operands are read as 3.2 defines them")
    reduced, kept = (rank - 1, rank - 2) if which == 0 else (rank - 2, rank - 1)
    parent = encoding.parent()
    if parent.kind == "blocked":
        return _fma_operand(parent, shape, reduced)
    if parent.kind == "nvidia_mma":
        return _nvidia_operand(encoding, parent, shape, (reduced, kept), context.dtype)
    if parent.kind == "amd_mfma":
        return matrix_fma_operand(encoding, parent, shape, reduced, kept)
    if parent.kind == "amd_wmma":
        return wave_matrix_operand(encoding, parent, shape, reduced, kept)
    raise encoding.error(
        "TW002",
        f"{parent.name} is the parent of no operand that is read here",
        "parent",
        "known: " + " ".join(PRODUCTS),
    )


PRODUCTS = ("blocked", "nvidia_mma", "amd_mfma", "amd_wmma")
SHARED_KEYS = ("CGALayout", "CTAsPerCGA", "CTASplitNum", "CTAOrder")
"""Keys of the blocks of a cluster: today's, and those of 3.0 to 3.5."""
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


def _of_registers(encoding: Encoding) -> Encoding:
    if encoding.kind not in KINDS:
        raise encoding.error(
            "TW107",
            f"{encoding.name} lays out no registers",
            hint="encodings of registers: " + " ".join(KINDS),
        )
    return encoding


def _ranked(encoding: Encoding, key: str, shape: Shape) -> int:
    rank = len(encoding.numbers(key))
    if rank != len(shape):
        raise encoding.error(
            "TW202", f"{encoding.name} has {counted(rank, 'dimension')}, and the tensor {len(shape)}", key
        )
    return rank


def _nvidia(encoding: Encoding, shape: Shape) -> tuple[bool, tuple[int, ...], tuple[int, int]]:
    """Return whether it is wgmma's, the warps, and the rows and columns of an instruction."""
    encoding.only("versionMajor", "versionMinor", "warpsPerCTA", *SHARED_KEYS, "instrShape")
    major = encoding.number("versionMajor")
    if major not in (2, 3):
        raise encoding.error(
            "TW002",
            f"versionMajor = {major} is not read here",
            "versionMajor",
            "known: 2 (mma.sync of Ampere), 3 (wgmma of Hopper)",
        )
    rank = _ranked(encoding, "warpsPerCTA", shape)
    if rank < 2:
        raise encoding.error(
            "TW202", f"a product has a matrix as its result, and no tensor of {rank} dimension"
        )
    warps = encoding.powers("warpsPerCTA")
    extents = encoding.powers("instrShape") if major == 2 else encoding.numbers("instrShape")
    wanted = 3 if major == 3 else rank
    if len(extents) != wanted:
        expected = "M, N and K" if major == 3 else f"the tensor's {rank} dimensions"
        raise encoding.error(
            "TW003", f"instrShape has {len(extents)} entries, and {expected} belong here", "instrShape"
        )
    rows, columns = extents[:2] if major == 3 else extents[-2:]
    if (
        rows < 8
        or rows % 8
        or columns < 8
        or columns % 8
        or any(extent != 1 for extent in extents[: wanted - 2] if major == 2)
    ):
        raise encoding.error(
            "TW602", f"no instruction has the shape {[*extents]}", "instrShape", "such as [16, 8]"
        )
    if columns & columns - 1 or rows & rows - 1:
        raise encoding.error(
            "TW102", f"an instruction of {rows} x {columns} has no powers of two", "instrShape"
        )
    return major == 3, warps, (rows, columns)


def _matrices(tile: Tile, rows: int, columns: int, width: int, inner: int, outer: int) -> Tile:
    """Lay 8 x 8 matrices of mma: `width` registers and 4 lanes along the inner dimension, 8 lanes across."""
    tile.step(REGISTER, width, inner).step(LANE, 4, inner).step(LANE, 8, outer)
    return tile.step(REGISTER, rows // 8, outer).step(REGISTER, max(1, columns // (width * 4)), inner)


def _nvidia_operand(
    encoding: Encoding, parent: Encoding, shape: Shape, dimensions: tuple[int, int], dtype: DType | None
) -> Tile:
    """Return the map of an operand of mma.sync, or of A of wgmma. nvidiaDotToLinearLayout."""
    hopper, warps, (rows, _) = _nvidia(parent, shape)
    rank = len(shape)
    reduced, kept = dimensions
    is_a = kept < reduced
    if hopper and not is_a:
        raise encoding.error("TW602", "wgmma reads B from shared memory, and never from registers", "opIdx")
    width = _width(encoding, dtype) if hopper else encoding.power("kWidth")
    deep = width * (4 if rows == 8 else 8)
    tile = Tile(rank, [reduced, kept, *row_major(rank)[2:]])
    _matrices(tile, rows if is_a else 8, deep, width, reduced, kept)
    tile.steps(WARP, warps, row_major(rank, swapped=hopper), still=reduced)
    return tile.over_blocks(fixed_along(reduced, blocks_of(parent, rank)), shape, REGISTER)


def _width(encoding: Encoding, dtype: DType | None) -> int:
    """Return how many elements of wgmma's A lie together; 3.0 to 3.2 printed none: they fill a register."""
    if "kWidth" in encoding.items:
        return encoding.power("kWidth")
    if dtype is None:
        raise encoding.error(
            "TW105", f"{encoding.name} has no kWidth: say what an element has", hint="--dtype f16"
        )
    return max(1, 32 // dtype.bits)


def _fma_operand(parent: Encoding, shape: Shape, reduced: int) -> Tile:
    """Return the map of an operand of a product of plain multiply-adds. fmaDotToLinearLayout."""
    parent.only("sizePerThread", "threadsPerWarp", "warpsPerCTA", *SHARED_KEYS, "order")
    rank = _ranked(parent, "sizePerThread", shape)
    order = parent.order(rank)
    each = list(parent.powers("sizePerThread", rank))
    each[reduced] = shape[reduced]
    tile = Tile(rank, order).steps(REGISTER, each, order)
    tile.steps(LANE, parent.powers("threadsPerWarp", rank), order, still=reduced)
    tile.steps(WARP, parent.powers("warpsPerCTA", rank), order, still=reduced)
    return tile.over_blocks(fixed_along(reduced, blocks_of(parent, rank)), shape, REGISTER)
