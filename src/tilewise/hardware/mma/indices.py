"""The indices of a sparse A: the type of one in the metadata, and what it says of a stored element.

A module of its own, for mma and tcgen05 share it and little else.
"""

from __future__ import annotations

from tilewise.core.dtypes import DType

INDEX = DType("index", 2)
"""An index of the metadata, which `reg` counts: sixteen in a 32-bit register."""

MEANS = {
    2: "stored element s of a row is column 2 s + (index 2 s) // 2",
    4: "stored element s of a row is column 4 (s // 2) + index s",
    8: "stored element s of a row is column 8 (s // 4) + 2 (index s // 2) + s % 2",
}
"""{neighbours of which half are stored: where a stored element was}."""
