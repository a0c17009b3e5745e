"""The encodings of Blackwell's tensor memory, as linear maps from (row, col, block) to elements.

tensorMemoryToLinearLayout and tensorMemoryScalesToLinearLayout in LinearLayoutConversions.cpp, which say of
bases of 0: those of rows 32 and 64 are copies, and all others holes. A column has the width of an element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewise.notation.dialects.triton.attributes import Encoding
from tilewise.notation.dialects.triton.context import Context
from tilewise.notation.dialects.triton.tile import COL, ROW, Tile, shape_of_a_block

COPIED_ROWS = (32, 64)


def accumulator(encoding: Encoding, shape: Sequence[int], context: Context) -> Tile:
    """Return the map of #ttng.tensor_memory_encoding: blocks of blockM x blockN, along M, then along N."""
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
        tile.still(COL, context.elements_in_32_bits(encoding) if unpacked else encoding.power("colStride", 1))
        tile.step(ROW, 16 if halved and not two else rows, 0)
        tile.still(COL, 2 if encoding.flag("fp4Padded", False) else 1).step(COL, columns, 1)
    if mode == "TwoCTA_LHS":
        tile.still(ROW, 2)
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


def scales(encoding: Encoding, shape: Sequence[int], context: Context) -> Tile:
    """Return the map of #ttng.tensor_memory_scales_encoding: 32 x 4 scales, copied to all warps."""
    order = encoding.word("blockRepOrder", "mnThenK", "kThenMn")
    tile = Tile(2, (0, 1) if order == "mnThenK" else (1, 0))
    tile.step(ROW, 32, 0).still(ROW, 4).step(COL, 4, 1).step(COL, 2, 0)
    if shape_of_a_block(encoding, shape)[0] > 64:
        tile.step(COL, 2, 0)
    return tile.over_blocks(encoding, shape, COL)


KINDS: dict[str, Callable[[Encoding, Sequence[int], Context], Tile]] = {
    "tensor_memory_encoding": accumulator,
    "tensor_memory_scales_encoding": scales,
}
