"""The encodings of Blackwell's tensor memory, as linear maps from (row, col, block) to elements.

tensorMemoryToLinearLayout and tensorMemoryScalesToLinearLayout in LinearLayoutConversions.cpp, which say of
bases of 0: those of rows 32 and 64 are copies, and all others holes. A column has the width of an element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewise.core.dtypes import DType
from tilewise.notation.dialects.triton.attributes import Encoding
from tilewise.notation.dialects.triton.clusters import blocks_of
from tilewise.notation.dialects.triton.tile import BLOCK, COL, ROW, Basis, Tile, shape_of_a_block

COPIED_ROWS = (32, 64)
_OLD_BLOCKS = ("CTASplitM", "CTASplitN")


def in_tensor_memory(encoding: Encoding, shape: Sequence[int], dtype: DType | None) -> Tile:
    """Return the map of an encoding of tensor memory for the shape of an allocation."""
    if len(shape) != 2:
        raise encoding.error(
            "TW202", f"tensor memory holds matrices, and no tensor of {len(shape)} dimensions"
        )
    return KINDS[encoding.kind](encoding, shape, dtype)


def accumulator(encoding: Encoding, shape: Sequence[int], dtype: DType | None) -> Tile:
    """Return the map of #ttng.tensor_memory_encoding: blocks of blockM x blockN, along M, then along N."""
    encoding.only(
        "blockM",
        "blockN",
        "colStride",
        "unpacked",
        "CGALayout",
        *_OLD_BLOCKS,
        "twoCTAs",
        "ctaMode",
        "fp4Padded",
    )
    rows, blocks = encoding.power("blockM"), _blocks(encoding)
    if rows not in (64, 128):
        raise encoding.error(
            "TW602", f"blockM = {rows}: tensor memory has blocks of 64 or 128 rows", "blockM"
        )
    inside = shape_of_a_block(blocks, shape)
    columns = min(encoding.power("blockN"), inside[1])
    two, mode = encoding.flag("twoCTAs", False), encoding.word("ctaMode", "DEFAULT").rpartition("::")[2]
    pads = 2 if encoding.flag("fp4Padded", False) else 1
    tile = Tile(2, bases={ROW: [], COL: []}).still(COL, _stride(encoding, dtype))

    def whole(many: int) -> Tile:
        return tile.step(ROW, many, 0).still(COL, pads).step(COL, columns, 1)

    if mode == "TwoCTA_LHS":
        whole(rows).still(ROW, 2)
    elif mode == "TwoCTA_RHS":
        tile.bases[COL].clear()
        tile.step(ROW, rows, 0).step(COL, columns // 2, 1).step(ROW, 2, 1)
    elif mode != "DEFAULT":
        raise encoding.error(
            "TW002", f"ctaMode {mode} is not known here", "ctaMode", "known: DEFAULT TwoCTA_LHS TwoCTA_RHS"
        )
    elif rows == 64 and not two:
        whole(16)
        tile.bases[ROW].append(
            (64, 0) if inside[0] > rows else (0, columns) if inside[1] > columns else (0, 0)
        )
        tile.bases[ROW] += [(16, 0), (32, 0)]
        tile.size = [
            128 if inside[0] > rows else 64,
            columns * (2 if inside[0] <= rows and inside[1] > columns else 1),
        ]
    else:
        whole(rows)
        if rows == 64:
            if not tile.bases[COL]:
                raise encoding.error(
                    "TW202", "two CTAs share the columns of a block, and here there is one", "blockN"
                )
            tile.bases[ROW].append(tile.bases[COL].pop())
    if any(extent < size for extent, size in zip(inside, tile.size, strict=True)):
        raise encoding.error(
            "TW202",
            f"a block of {tile.size[0]} x {tile.size[1]} is larger than the tensor {inside[0]} x {inside[1]}",
        )
    tile.order = (0, 1)
    return tile.over_blocks(blocks, shape, COL)


def scales(encoding: Encoding, shape: Sequence[int], dtype: DType | None) -> Tile:
    """Return the map of #ttng.tensor_memory_scales_encoding: 32 x 4 scales, copied to all warps."""
    encoding.only("CGALayout", *_OLD_BLOCKS, "blockRepOrder")
    blocks = _blocks(encoding)
    inside = shape_of_a_block(blocks, shape)
    tile = Tile(2, bases={ROW: [], COL: []}).step(ROW, 32, 0).still(ROW, 4).step(COL, 4, 1).step(COL, 2, 0)
    if inside[0] > 64:
        tile.step(COL, 2, 0)
    order = encoding.word("blockRepOrder", "mnThenK")
    if order not in ("mnThenK", "kThenMn"):
        raise encoding.error(
            "TW002", f"blockRepOrder {order} is not known here", "blockRepOrder", "known: mnThenK kThenMn"
        )
    tile.order = (0, 1) if order == "mnThenK" else (1, 0)
    return tile.over_blocks(blocks, shape, COL)


KINDS: dict[str, Callable[[Encoding, Sequence[int], DType | None], Tile]] = {
    "tensor_memory_encoding": accumulator,
    "tensor_memory_scales_encoding": scales,
}


def _stride(encoding: Encoding, dtype: DType | None) -> int:
    """Return how many columns an element takes; before 3.6 it was packed, or had a column of 32 bits."""
    if "unpacked" not in encoding.items:
        return encoding.power("colStride", 1)
    if not encoding.flag("unpacked"):
        return 1
    if dtype is None:
        raise encoding.error(
            "TW105", "unpacked columns have 32 bits: say what an element has", "unpacked", "--dtype f16"
        )
    return max(1, 32 // dtype.bits)


def _blocks(encoding: Encoding) -> list[Basis]:
    if not any(key in encoding.items for key in _OLD_BLOCKS):
        return blocks_of(encoding, 2)
    tile = Tile(2, bases={BLOCK: []})
    for dimension, key in enumerate(_OLD_BLOCKS):
        tile.step(BLOCK, encoding.power(key, 1), dimension)
    return tile.bases[BLOCK]
