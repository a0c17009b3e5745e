"""Scale factors as arrays: [rows, sf] into blocks of 128 x 4 and back.

`pack` does what libraries call `to_blocked`. Rows or factors that do not fill their last blocks leave a rest,
which is `fill`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_extent, as_int, number_text
from tilewise.core.layout import Layout
from tilewise.hardware.tcgen05.scales import blocks
from tilewise.tables import table

Array = np.ndarray[Any, np.dtype[Any]]


def pack(scales: Array, fill: int = 0) -> Array:
    """Return factors [rows, sf] of one byte each, in the order of their blocks: one dimension, whole blocks.

    `fill` is a byte with the bits of a factor.

        requires       two dimensions, a type of one byte; a fill of 0 to 255
        postcondition  unpack(pack(scales), *scales.shape) == scales

    >>> scales = np.arange(8, dtype=np.uint8).reshape(2, 4)
    >>> packed = pack(scales)
    >>> packed.shape, packed[:4].tolist(), packed[16:20].tolist()
    ((512,), [0, 1, 2, 3], [4, 5, 6, 7])
    """
    given = np.asarray(scales)
    if given.ndim != 2 or given.itemsize != 1 or not given.size:
        raise LayoutError(
            "TW401",
            f"factors [rows, sf] of a byte each, not {list(given.shape)} of {given.dtype}",
            hint="such as uint8, which holds the bits of ue8m0 or ue4m3",
        )
    if not 0 <= as_int(fill, "the fill") <= 255:
        raise LayoutError(
            "TW401", f"a fill of {number_text(fill)} is no byte", hint="0 to 255, the bits of a factor"
        )
    layout = blocks(*given.shape)
    packed = np.full(layout.size, fill, np.uint8).view(given.dtype)
    packed[_places(layout, *given.shape)] = given
    return packed


def unpack(packed: Array, rows: int, sf_k: int) -> Array:
    """Return the factors [rows, sf] from blocks in memory.

    >>> unpack(np.arange(512, dtype=np.uint16).astype(np.uint8), 3, 2).tolist()
    [[0, 1], [16, 17], [32, 33]]
    """
    rows, sf_k = as_extent(rows), as_extent(sf_k)
    layout = blocks(rows, sf_k)
    flat = np.ascontiguousarray(packed).reshape(-1)
    if flat.itemsize != 1 or flat.size != layout.size:
        raise LayoutError(
            "TW401",
            f"[{rows}, {sf_k}] is packed in {layout.size} bytes, not {flat.size} elements of {flat.dtype}",
            hint="blocks have 512 bytes, for 128 rows of 4 factors",
        )
    return flat[_places(layout, rows, sf_k)]


def _places(layout: Layout, rows: int, sf_k: int) -> Array:
    """Return the byte of each factor."""
    return table(layout, window=((0, rows), (0, sf_k))).array
