"""Arrays in shared memory: tiles one after another, and a swizzle of the bytes.

`TileTransform` cuts as XLA's tiles do (launch_context.py). The swizzles are those of TMA and wgmma: groups of
16 bytes change their places inside lines of so many bytes.
"""

from __future__ import annotations

from math import prod

from tilewise.core.axes import m
from tilewise.core.errors import LayoutError
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import along
from tilewise.notation.dialects.given import Given, Reading, integer, listed
from tilewise.notation.dialects.mosaic.registers import (
    CLOSING,
    close_bracket,
    kind_of,
    numbers,
    of_modes,
    open_bracket,
    optional_name,
)
from tilewise.notation.dialects.tiling import MAX_TILES, Digits, tiled, untiled
from tilewise.notation.tokens import Cursor

_SWIZZLES = {16: 0, 32: 1, 64: 2, 128: 3}
"""Bytes of a swizzle, and the bits that it exchanges."""
TRANSFORMS = {"TileTransform": "tile", "TilingTransform": "tile", "tile": "tile"}
TRANSFORMS |= {"SwizzleTransform": "swizzle", "swizzle": "swizzle"}


def transformed(cursor: Cursor, given: Given) -> Reading:
    """Take the transforms of an array in shared memory: tiles, and a swizzle of its bytes."""
    start = cursor.next
    opened = cursor.accept("[", "(")
    tiles: list[tuple[int, ...]] = []
    swizzle: int | None = None
    while True:
        word = cursor.next
        kind = TRANSFORMS.get(kind_of(word))
        if kind is None:
            raise cursor.error(
                "TW002",
                f"{word} is no transform that is read here",
                hint="known: TileTransform, SwizzleTransform",
            )
        cursor.take()
        inside = open_bracket(cursor)
        if kind == "tile":
            optional_name(cursor, "tiling")
            tiles.append(numbers(cursor))
            if cursor.accept(","):
                optional_name(cursor, "rounding")
                cursor.expect("None", hint="a tile that is rounded has no layout of its own")
        else:
            optional_name(cursor, "swizzle")
            swizzle = integer(cursor)
            if cursor.accept(":"):
                cursor.expect("i32")
        close_bracket(cursor, inside)
        if swizzle is not None and swizzle not in _SWIZZLES:
            raise cursor.error(
                "TW104", f"no swizzle of {swizzle} bytes", cursor.since(word), "known: 16 32 64 128"
            )
        if opened is None or not cursor.accept(","):
            break
    if opened is not None:
        cursor.expect(CLOSING[opened.text], opened)
    cursor.expect_end("the layout")
    with cursor.blame(start):
        return _in_shared_memory(tiles, swizzle, given)


def _in_shared_memory(tiles: list[tuple[int, ...]], swizzle: int | None, given: Given) -> Reading:
    """Return the layout of an array in shared memory, its tiles one after another."""
    shape = given.needs_shape("an array in shared memory")
    stages = [shape]
    for tile in tiles:
        if not tile or min(tile) < 1 or len(tile) > len(stages[-1]) or len(tiles) > MAX_TILES:
            raise LayoutError("TW003", f"a tile of {listed(tile)} does not cut {listed(stages[-1])}")
        cut = stages[-1][len(stages[-1]) - len(tile) :]
        if any(size % extent for size, extent in zip(cut, tile, strict=True)):
            raise LayoutError("TW503", f"a tile of {listed(tile)} does not divide {listed(cut)}")
        stages.append(tiled(stages[-1], tile))
    last = stages[-1]
    digits: list[Digits] = [[(extent, along(m, prod(last[at + 1 :])))] for at, extent in enumerate(last)]
    for stage, tile in zip(reversed(stages[:-1]), reversed(tiles), strict=True):
        digits = untiled(digits, stage, tile)
    layout = of_modes(digits)
    bits = _SWIZZLES[swizzle or 16]
    if not bits:
        return Reading(layout)
    if given.dtype is None:
        raise LayoutError(
            "TW105",
            f"a swizzle of {swizzle} bytes counts bytes",
            hint="say the type of an element: --dtype f16",
        )
    return Reading(
        layout.swizzled((Swizzle(bits, (128 // given.dtype.bits).bit_length() - 1, 3),)), given.dtype
    )
