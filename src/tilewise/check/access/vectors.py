"""Accesses along rows and columns, and vectors out of what lanes hold: [request, lane, element] to the tile.

An index past the end of the tile is nobody's: its lane is inactive.
"""

from __future__ import annotations

from tilewise.core.builders import S
from tilewise.core.errors import Refused
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.hardware.limits import LANES


def in_rows(size: int, elements: int, most: int = LANES) -> Layout:
    """Vectors of neighbours in row-major order, `most` a request; the last request may have fewer.

    >>> print(in_rows(1024, 8))
    S[(4, 32, 8) : (256, 8, 1)]
    >>> print(in_rows(64, 8))
    S[(1, 8, 8) : (64, 8, 1)]
    """
    lanes = min(most, -(-size // elements))
    together = lanes * elements
    return S[(-(-size // together), lanes, elements) : (together, elements, 1)]


def in_columns(rows: int, columns: int, elements: int) -> Layout:
    """Vectors along the rows in column-major order: lanes go down the first mode.

    Where a column has fewer than 32 vectors, a request takes whole columns, as many as fit and divide
    them all; where it has more, the last request of each column may have fewer lanes.

        refused  TW610 rows that are no whole number of vectors

    >>> print(in_columns(64, 32, 1))
    S[((32, 2), 32, 1) : ((1, 1024), 32, 1)]
    >>> print(in_columns(8, 64, 2))
    S[(8, (4, 8), 2) : (8, (2, 64), 1)]
    """
    if columns % elements:
        raise Refused(
            "TW610",
            f"a row of {columns} elements is no whole number of vectors of {elements}",
            witness={"rule": "row", "columns": columns, "elements": elements},
            hint="a vector of a column runs along the row, and ends with it",
        )
    across = columns // elements
    if rows > LANES:
        down = -(-rows // LANES)
        return S[((across, down), LANES, elements) : ((elements, LANES * columns), columns, 1)]
    together = max(count for count in range(1, LANES // rows + 1) if across % count == 0)
    steps = (together * elements, (elements, columns), 1)
    return S[(across // together, (together, rows), elements) : steps]


def in_vectors(index: Layout, elements: int) -> Layout:
    """[request, lane, element] with so many elements of a lane at once, in order, a request after the other.

        refused  TW610 a lane whose elements are no whole number of vectors; TW503 digits that do not divide

    >>> from tilewise import S
    >>> print(in_vectors(S[(1, 32, 8) : (0, 64, 1)], 4))
    S[(2, 32, 4) : (4, 64, 1)]
    """
    requests, lanes, held = extents_of(index.shape)
    if held == elements:
        return index
    if held % elements:
        raise Refused(
            "TW610",
            f"a lane has {held} elements, no whole number of vectors of {elements}",
            witness={"rule": "held", "elements": held, "vector": elements},
        )
    cut = index.group(requests, lanes, held // elements, elements).permute(0, 2, 1, 3)
    return cut.group(requests * (held // elements), lanes, elements)
