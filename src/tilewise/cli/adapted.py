"""How the words and options of an operation become one call, where that is more than passing them on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewise.cli.answer import misused
from tilewise.core import algebra
from tilewise.core.axes import m
from tilewise.core.layout import Layout
from tilewise.core.orders import turned
from tilewise.core.shapes import as_shape, extents_of, mirrored
from tilewise.core.swizzles import Swizzle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.cli.words import Asked
    from tilewise.core.axes import Axis
    from tilewise.core.shapes import Shape
    from tilewise.notation.formulas import Formula


def fact(name: str) -> Callable[..., Any]:
    """Return the call of a fact of a layout."""
    return lambda ask, a: getattr(a, name)


def by_tilers(name: str) -> Callable[..., Any]:
    """Return the call of an operation of one tiler, or of several, one a mode."""
    return lambda ask, a, *tilers: getattr(algebra, name)(a, one_tiler(tilers))


# -- modes and maps --------------------------------------------------------------------------------


def regroup(ask: Asked, a: Layout, *words: Any) -> Any:
    """Bracket modes; each word has one bracket or several."""
    return algebra.regroup(a, *(part for word in words for part in word))


def compose(ask: Asked, a: Layout, *tilers: Any) -> Any:
    """Compose with one layout, or mode by mode."""
    tiler = one_tiler(tilers)
    if isinstance(tiler, tuple) and ask["modes"]:
        raise misused("--modes names the axes of one layout B", "drop it, or give one B")
    return algebra.compose(a, tiler, modes=ask["modes"])


def one_tiler(tilers: Sequence[Any]) -> Any:
    """Return one layout or extent; or a tuple by mode, from several words, a shape, or `_`."""
    return tilers[0] if len(tilers) == 1 and tilers[0] is not None else tuple(tilers)


def sliced(ask: Asked, a: Layout, region: tuple[Any, ...]) -> Any:
    """Slice a region of the modes, or of --shape's."""
    return algebra.slices(a, *region, shape=ask["shape"])


def inverse_modes(ask: Asked, a: Layout) -> dict[str, Any]:
    """Return the axes of which the inverse's modes count the steps."""
    return {"modes": list(ask["axes"] or map(str, a.axes))}


def complement(ask: Asked, a: Layout, size: int | None = None) -> Any:
    """Complement up to SIZE, as a word or as an option."""
    asked = ask["size"] if size is None else size
    return algebra.complement(a, asked, bool(ask["weak"]), bool(ask["round_up"]))


# -- tiles and places ------------------------------------------------------------------------------


def footprint(ask: Asked, a: Layout, *words: Any) -> Any:
    """Axes, some in each word."""
    return algebra.footprint(a, *(axis for word in words for axis in word))


def fuse_axes(ask: Asked, a: Layout, axes: Any, axis: str | None = None) -> Any:
    """With a number between the axes, the new one has to be named."""
    if axis is None and any(isinstance(part, int) for part in axes):
        written = ",".join(map(str, axes))
        raise misused("AXIS is missing: the axis that they become", f"such as {written} tx, as two words")
    return algebra.fuse_axes(a, axes, axis) if axis is not None else algebra.fuse_axes(a, axes)


# -- swizzles, listed maps, GF(2) ------------------------------------------------------------------


def merge_swizzles(ask: Asked, one: Any, other: Any) -> Any:
    """Two swizzles as one."""
    swizzles = _joined((one, other))
    if len(swizzles) != 2:
        raise misused("one swizzle a word belongs here", "swizzle_chain takes several")
    return algebra.merge_swizzles(*swizzles)


def swizzle_chain(ask: Asked, *chains: Any) -> Any:
    """A chain in one word or in several, or the chain of a layout."""
    if isinstance(chains[0], Layout) and len(chains) == 1:
        return algebra.swizzle_chain(chains[0])
    return chain(algebra.swizzle_chain(_joined(chains)))


def inverse_chain(ask: Asked, *chains: Any) -> Any:
    """The chain that undoes one."""
    return chain(algebra.inverse_chain(_joined(chains)))


def _joined(chains: Sequence[Any]) -> list[Swizzle]:
    if any(isinstance(part, Layout) for part in chains):
        raise misused("swizzles belong here, such as 'Swizzle<1,0,3>'")
    return [swizzle for part in chains for swizzle in part]


def chain(swizzles: Sequence[Swizzle]) -> str:
    """A chain as it is written; that of none is the swizzle without bits."""
    return " o ".join(map(str, swizzles)) or str(Swizzle(0, 0, 0))


def move_offset(ask: Asked, a: Layout, offset: Any = None) -> Any:
    """Offsets know no order of indices."""
    return algebra.move_offset(a, offset, outside=not ask["inside"])


def recognise(ask: Asked, table: Any) -> Any:
    """Recognise a table or a function; a flat table counts as --dialect says."""
    from tilewise.notation.dialects.function import layout_of
    from tilewise.notation.formulas import Formula

    if isinstance(table, Formula):
        return layout_of(table, _shape_of(ask, table)).in_order(ask.order)
    return _listed(ask, table, algebra.recognise(table, *_kept(ask)))


def explanations(ask: Asked, table: Any) -> Any:
    """Return all layouts of a table or of a function."""
    from tilewise.notation.formulas import Formula

    if isinstance(table, Formula):
        table = table.listed(extents_of(_shape_of(ask, table)))
    return [_listed(ask, table, found.layout) for found in algebra.explanations(table, *_kept(ask))]


def _shape_of(ask: Asked, function: Formula[Axis]) -> Shape:
    """Return the shape on which a function is evaluated."""
    from tilewise.notation.dialects import Given

    if ask["shape"] is None:
        Given(function.source.text).needs_shape("a function of coordinates")
    return as_shape(ask["shape"])


def _kept(ask: Asked) -> tuple[Any, Any]:
    """Return the axes of a table's numbers, and the shape that is kept."""
    return ask["axes"] or [m], ask["shape"]


def _listed(ask: Asked, table: Any, found: Layout) -> Layout:
    nested = isinstance(table, list) and any(isinstance(row, list) for row in table)
    return found.in_order(ask.order) if nested or ask["shape"] else in_flat_order(found, ask.order)


def in_flat_order(layout: Layout, order: str) -> Layout:
    """Return the layout in an order, with the same place at every flat index."""
    return layout if layout.order == order else turned(layout)


def recognise_map(ask: Asked, a: Layout) -> Any:
    """Recognise the map of the flat index, over GF(2), with one swizzle or none."""
    return in_flat_order(algebra.recognise_map(a), a.order)


def from_bases(ask: Asked, bases: Any, origin: int = 0) -> Any:
    """Return the layout of bases, in the shape of --shape."""
    shape = ask["shape"]
    if ask.order != "row":
        shape = mirrored(shape)
    return in_flat_order(algebra.from_bases(bases, origin, shape), ask.order)
