"""The encodings of tensors in registers, as linear maps from (register, lane, warp, block) to elements.

The meaning is Triton's own, lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp; each function names what
it follows.
"""

from __future__ import annotations

from collections.abc import Callable

from tilewise.notation.dialects.triton.amd import (
    matrix_fma,
    matrix_fma_operand,
    wave_matrix,
    wave_matrix_operand,
)
from tilewise.notation.dialects.triton.attributes import Encoding
from tilewise.notation.dialects.triton.context import Context
from tilewise.notation.dialects.triton.tile import (
    BLOCK,
    LANE,
    REGISTER,
    WARP,
    Shape,
    Tile,
    order_of,
    rank_of_product,
    row_major,
)


def blocked(encoding: Encoding, shape: Shape, context: Context) -> Tile:
    """Return the map of #ttg.blocked: registers, lanes, warps, in an order. BlockedEncodingAttr.

    Registers that reach beyond the shape held copies before 3.9. Found with the compilers themselves: 3.8.0
    answers to_linear_layout with bases of 0 for them, 3.9.0 with none.
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
    dimension = encoding.number("dim", known=range(len(shape) + 1))
    parent, tile = encoding.inner("parent"), Tile(len(shape))
    if parent.kind not in KINDS:
        known = " ".join(KINDS)
        raise parent.error("TW107", f"{parent.name} lays out no registers", hint=f"known: {known}")
    whole = KINDS[parent.kind](parent, [*shape[:dimension], 1, *shape[dimension:]], context)
    for place, moved in whole.bases.items():
        tile.put(place, *(basis[:dimension] + basis[dimension + 1 :] for basis in moved))
    return tile.without(REGISTER)


def nvidia_mma(encoding: Encoding, shape: Shape, context: Context) -> Tile:
    """Return the map of #ttg.nvidia_mma: accumulators of mma.sync (2), wgmma (3). NvidiaMmaEncodingAttr."""
    rank = rank_of_product(encoding, shape)
    hopper, rows, columns = _nvidia(encoding, rank)
    tile = Tile(rank, row_major(rank))
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
    parent = encoding.inner("parent")
    if parent.kind == "blocked":
        return _threads(parent, shape, reduced)
    tile = Tile(rank, [reduced, kept, *row_major(rank)[2:]])
    if parent.kind == "nvidia_mma":
        _nvidia_operand(tile, encoding, parent, context)
    elif parent.kind == "amd_mfma":
        matrix_fma_operand(tile, encoding, parent, shape)
        return tile.over_blocks(parent, shape)
    elif parent.kind == "amd_wmma":
        wave_matrix_operand(tile, encoding, parent)
    else:
        message = f"{parent.name} is the parent of no operand that is read here"
        raise encoding.error("TW002", message, "parent", "known: blocked nvidia_mma amd_mfma amd_wmma")
    return tile.over_blocks(parent, shape, still=reduced)


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


def _nvidia(encoding: Encoding, rank: int) -> tuple[bool, int, int]:
    """Return whether it is wgmma's, and the rows and columns of an instruction."""
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
