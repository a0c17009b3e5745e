"""A layout that was asked for as a tile of a kernel."""

from __future__ import annotations

from tilewise.core.axes import m
from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.core.layout import Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import extents_of


def check_shape(name: str, layout: Layout, rows: int, k: int) -> None:
    """Refuse a layout of another shape than the tile of the operand."""
    extents = tuple(extents_of(layout.shape))
    if extents != (rows, k):
        raise Refused(
            "TW602",
            f"the layout of {name} is {' x '.join(map(str, extents))}, and its tile {rows} x {k}",
            witness={"layout": list(extents), "tile": [rows, k]},
            hint="operands are A [M, K] and B [N, K], the result is D [M, N]",
        )


def on_m(layout: Layout, dtype: DType) -> Layout:
    """A layout of one axis on the axis m, in elements.

    >>> from tilewise import parse
    >>> print(on_m(parse("S[(2, 4) : (16@buf, 2@buf)]", storage=["buf"], unit="byte"), DType.of("f16")))
    S[(2, 4) : (8, 1)]
    """
    layout = by_coordinates(layout)
    plain = layout if layout.unit == "element" else layout.in_elements(dtype)
    return plain.relabel({plain.axes[0]: m})
