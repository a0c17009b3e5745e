"""The two orders of an index: row-major, and CuTe's.

A layout of order "row" counts its index with the rightmost digit fastest. A layout of order "cute" has its
shape and strides as CuTe writes them, and counts with the leftmost digit fastest, at every level. Both
kinds take flat integers, coordinates and indices nested like the shape.

    turned(L)     the other order, with the same place at every flat index:   all digits in reverse
    mirrored(L)   the other order, with the same place at every coordinate:   digits in reverse inside modes

An operation indexes each layout in its order, and its result counts as its first layout does. Only a
composition A o B counts as B does, since its index is B's. Code that computes with digits is written for
row-major layouts: `by_flat` and `by_mode` bring it layouts of either order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from itertools import islice

from tilewise.core import shapes
from tilewise.core.shapes import extents_of, leaves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ParamSpec, TypeVar

    from tilewise.core.layout import Layout
    from tilewise.core.shapes import Shape
    from tilewise.core.vectors import Vector

    P = ParamSpec("P")
    T = TypeVar("T")


def turned(layout: Layout) -> Layout:
    """Return the layout in the other order, with the same place at every flat index.

    >>> from tilewise import S
    >>> turned(S[(4, (2, 3)) : (1, (12, 4))])
    S[((3, 2), 4) : ((4, 12), 1)].ordered('cute')
    """
    shape = tuple([shapes.mirrored(mode) for mode in reversed(layout.shape)])
    return _other_order(layout, shape, layout.strides[::-1])


def mirrored(layout: Layout) -> Layout:
    """Return the layout in the other order, with the same place at every coordinate of its modes.

    >>> from tilewise import S
    >>> mirrored(S[(4, (2, 3)) : (1, (12, 4))])
    S[(4, (3, 2)) : (1, (4, 12))].ordered('cute')
    """
    rest = iter(layout.strides)
    strides = [tuple(islice(rest, sum(1 for _ in leaves(mode))))[::-1] for mode in layout.shape]
    shape = tuple([shapes.mirrored(mode) for mode in layout.shape])
    return _other_order(layout, shape, tuple([stride for mode in strides for stride in mode]))


def by_flat_index(layout: Layout) -> Layout:
    """Return the row-major layout with the same place at every flat index.

    >>> from tilewise import parse
    >>> by_flat_index(parse("(4,(2,3)):(6,(1,2))"))
    S[((3, 2), 4) : ((2, 1), 6)]
    """
    return layout if layout.order == "row" else turned(layout)


def by_coordinates(layout: Layout, shape: Any = None) -> Layout:
    """Return the row-major layout with the same place at every coordinate of the modes, or of a shape.

        refused  TW503 where the layout counts in CuTe's order and has no digits in that shape

    >>> from tilewise import parse
    >>> by_coordinates(parse("(4,(2,3)):(6,(1,2))"))
    S[(4, (3, 2)) : (6, (2, 1))]
    >>> by_coordinates(parse("24:1"), (4, 6))
    S[(4, 6) : (1, 4)]
    """
    if layout.order == "row":
        return layout
    return mirrored(layout if shape is None else layout.reshape(shape))


def aligned(a: Layout, b: Layout) -> tuple[Layout, Layout]:
    """Return two row-major layouts, of which one flat index names the elements that belong together.

    Layouts are paired by coordinates where their modes have the same extents, and else each by its
    flat index. Of two layouts that count in one order, coordinates pair the same elements as flat indices.

    >>> from tilewise import S, parse
    >>> aligned(parse("(4,8):(1,4)"), S[(4, 8) : (1, 4)])
    (S[(4, 8) : (1, 4)], S[(4, 8) : (1, 4)])
    >>> aligned(parse("(4,8):(1,4)"), S[32 : 1])
    (S[(8, 4) : (4, 1)], S[32 : 1])
    """
    if alike_in_modes(a, b):
        return by_coordinates(a), by_coordinates(b)
    return by_flat_index(a), by_flat_index(b)


def aligned_by_flat_index(a: Layout, b: Layout) -> tuple[Layout, Layout]:
    """Return two row-major layouts as `aligned` does, and keep the flat indices of layouts that count alike.

    >>> from tilewise import parse
    >>> aligned_by_flat_index(parse("(4,8):(1,4)"), parse("(4,8):(8,1)"))
    (S[(8, 4) : (4, 1)], S[(8, 4) : (1, 8)])
    """
    return aligned(a, b) if a.order != b.order else (by_flat_index(a), by_flat_index(b))


def alike_in_modes(a: Layout, b: Layout) -> bool:
    """Return True if the modes of two layouts have the same extents.

    >>> from tilewise import S, parse
    >>> alike_in_modes(parse("((2,2),8):((1,2),4)"), S[4, 8])
    True
    """
    return extents_of(a.shape) == extents_of(b.shape)


def turned_modes(modes: Any) -> tuple[int, ...]:
    """Return a permutation of modes for the layouts that `turned` makes, or back from it.

    >>> turned_modes((2, 0, 1))
    (1, 2, 0)
    """
    order = modes if isinstance(modes, tuple | list) else (modes,)
    return tuple([len(order) - 1 - mode for mode in reversed(order)])


# -- operations ------------------------------------------------------------------------------------


def by_flat(operation: Callable[P, T]) -> Callable[P, T]:
    """Return the operation for layouts of either order: it asks and answers by flat index."""
    return _in_row_order(operation, by_flat_index, turned)


def by_mode(operation: Callable[P, T]) -> Callable[P, T]:
    """Return the operation for layouts of either order: it asks and answers by coordinates."""
    return _in_row_order(operation, by_coordinates, mirrored)


def by_flat_in_modes(operation: Callable[P, T]) -> Callable[P, T]:
    """Return the operation for layouts of either order: it asks flat indices, and its result has modes."""
    return _in_row_order(operation, by_flat_index, mirrored)


def _in_row_order(
    operation: Callable[P, T], to_row: Callable[[Layout], Layout], back: Callable[[Layout], Layout]
) -> Callable[P, T]:
    @wraps(operation)
    def asked(*given: P.args, **named: P.kwargs) -> T:
        parts: Any = given
        for part in parts:
            if getattr(part, "order", "row") != "row" or (isinstance(part, tuple | list) and in_cute(part)):
                break
        else:
            return operation(*given, **named)
        order = next(part.order for part in parts if _is_layout(part))
        result = operation(*each(given, to_row), **named)
        return result if order == "row" else each(result, back)

    return asked


def in_cute(value: Any) -> bool:
    """Return True if a layout, or some layout in a tuple, counts in CuTe's order."""
    if isinstance(value, tuple | list):
        return any(map(in_cute, value))
    return _is_layout(value) and bool(value.order == "cute")


def _is_layout(value: Any) -> bool:
    """Return True for a layout: it has an order. Layouts import this module, so it imports no layout."""
    return hasattr(value, "order")


def each(value: Any, change: Callable[[Layout], Layout]) -> Any:
    """Return a value with every layout in it changed, in tuples and lists too."""
    if _is_layout(value):
        return change(value)
    if type(value) in (tuple, list):
        return type(value)([each(part, change) for part in value])
    return value


def _other_order(layout: Layout, shape: Shape, strides: tuple[Vector, ...]) -> Layout:
    made = replace(layout, shape=shape, strides=strides, order="cute" if layout.order == "row" else "row")
    made.__dict__["axes"] = layout.axes  # first appearance is that in the layout as it was written
    return made
