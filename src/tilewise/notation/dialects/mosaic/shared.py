"""Arrays in shared memory: tiles one after another, and a swizzle of the bytes.

`TileTransform` cuts as XLA's tiles do (launch_context.py). The swizzles are those of TMA and wgmma: groups of
16 bytes change their places inside lines of so many bytes.
"""

from __future__ import annotations

from math import prod

from tilewise.core.axes import m
from tilewise.core.errors import LayoutError
from tilewise.core.swizzles import Swizzle
from tilewise.notation.dialects.given import Given, Reading, listed, positive
from tilewise.notation.dialects.mosaic.arguments import CLOSING, arguments, kind_of, numbers
from tilewise.notation.dialects.tiling import MAX_TILES, layout_in_tiles, row_major, tiled
from tilewise.notation.tokens import Cursor

_SWIZZLES = {16: 0, 32: 1, 64: 2, 128: 3}
"""Bytes of a swizzle, and the bits that it exchanges."""
TRANSFORMS = {"TileTransform": "tiling", "TilingTransform": "tiling", "tile": "tiling"}
TRANSFORMS |= {"SwizzleTransform": "swizzle", "swizzle": "swizzle"}


def transformed(cursor: Cursor, given: Given) -> Reading:
    """Take the transforms of an array in shared memory: tiles, and a swizzle of its bytes."""
    opened = cursor.accept("[", "(")
    tiles: list[tuple[int, ...]] = []
    swizzle = min(_SWIZZLES)
    while True:
        word = cursor.take()
        kind = TRANSFORMS.get(kind_of(word))
        if kind == "tiling":
            tiles += arguments(cursor, tiling=numbers)[0]
        elif kind == "swizzle":
            (swizzle,), (span,) = arguments(cursor, swizzle=positive)
            if swizzle not in _SWIZZLES:
                raise cursor.error("TW104", f"no swizzle of {swizzle} bytes", span, "known: 16 32 64 128")
        else:
            message = f"{word} is no transform that is read here"
            raise cursor.error("TW002", message, word.span, "known: TileTransform, SwizzleTransform")
        if opened is None or not cursor.accept(","):
            break
    if opened is not None:
        cursor.expect(CLOSING[opened.text], opened)
    cursor.expect_end("the layout")
    return _in_shared_memory(tiles, swizzle, given)


def _in_shared_memory(tiles: list[tuple[int, ...]], swizzle: int, given: Given) -> Reading:
    """Return the layout of an array in shared memory, its tiles one after another."""
    shape = given.needs_shape("an array in shared memory")
    if len(tiles) > MAX_TILES:
        raise LayoutError("TW005", f"more than {MAX_TILES} tiles")
    extents = tiled(shape, tiles)
    if prod(extents) != prod(shape):
        said = " and ".join(map(listed, tiles))
        raise LayoutError("TW503", f"a tile of {said} does not divide {listed(shape)}")
    layout = layout_in_tiles(shape, tiles, row_major(extents, m))
    bits = _SWIZZLES[swizzle]
    if not bits:
        return Reading(layout)
    if given.dtype is None:
        hint = "say the type of an element: --dtype f16"
        raise LayoutError("TW105", f"a swizzle of {swizzle} bytes counts bytes", hint=hint)
    chunk = 128 // given.dtype.bits
    return Reading(layout.swizzled((Swizzle(bits, chunk.bit_length() - 1, 3),)), given.dtype)
