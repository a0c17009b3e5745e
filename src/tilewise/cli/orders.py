"""How the operations that are not one call meet CuTe's order of flat indices.

CuTe's dialect keeps coordinates, and counts a flat index from the left where this notation counts from
the right. So a layout that is read by its flat index is turned round before (`Asked.flat`), a result whose
flat index means something is turned back, and what goes by coordinates, mode i to mode i, stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tilewise.core import algebra
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.shapes import leaves, size_of
from tilewise.core.swizzles import Swizzle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.cli.words import Asked


def flat(name: str) -> Callable[..., Any]:
    """A map of flat indices becomes another."""
    return lambda ask, a, *rest: ask.flat(_op(name)(ask.flat(a), *map(ask.flat, rest)))


def kept(name: str, *options: str) -> Callable[..., Any]:
    """Mode i stays mode i."""
    return lambda ask, *values: _op(name)(*values, **{option: ask[option] for option in options})


def fact(name: str) -> Callable[..., Any]:
    """A fact of the map of flat indices."""
    return lambda ask, a: getattr(ask.flat(a), name)


def _op(name: str) -> Callable[..., Any]:
    return getattr(algebra, name)  # type: ignore[no-any-return]  # every name there is an operation


# -- modes -----------------------------------------------------------------------------------------


def coalesce(ask: Asked, a: Layout) -> Any:
    """Whole, by the flat index; by mode, as it stands."""
    if ask["by_mode"]:
        return algebra.coalesce(a, by_mode=True)
    return ask.flat(algebra.coalesce(ask.flat(a)))


def shaped(name: str) -> Callable[..., Any]:
    """Another shape of the flat index."""
    return lambda ask, a, shape: ask.flat(_op(name)(ask.flat(a), ask.shape(shape)))


def split(ask: Asked, a: Layout, mode: int, *extents: Any) -> Any:
    """The first extent is the slowest; in CuTe's order the fastest."""
    extents = extents[0] if len(extents) == 1 and isinstance(extents[0], tuple) else extents
    rank = len(a.shape)
    if not ask.cute or not 0 <= mode < rank:
        return algebra.split(a, mode, *extents)
    return ask.flat(algebra.split(ask.flat(a), rank - 1 - mode, ask.shape(extents)))


def regroup(ask: Asked, a: Layout, *words: Any) -> Any:
    """Brackets, some in each word, in which CuTe's leftmost mode is the fastest."""
    parts = tuple(part for word in words for part in word)
    if not ask.cute:
        return algebra.regroup(a, *parts)
    last = len(a.shape) - 1

    def from_the_end(part: Any) -> Any:
        return tuple(map(from_the_end, part)) if isinstance(part, tuple) else last - part

    return ask.flat(algebra.regroup(ask.flat(a), *from_the_end(ask.shape(parts))))


def refinement(ask: Asked, a: Layout, b: Layout) -> Any:
    """Both by their flat index."""
    return tuple(map(ask.flat, algebra.refinement(ask.flat(a), ask.flat(b))))


# -- maps ------------------------------------------------------------------------------------------


def compose(ask: Asked, a: Layout, *tilers: Any) -> Any:
    """A's flat index, or its coordinates where B's axes or tilers name modes; B's modes as they stand."""
    tiler = one_tiler(tilers)
    names = ask["modes"]
    if isinstance(tiler, tuple):
        if names:
            raise LayoutError(
                "TW401", "--modes names the axes of one layout B", hint="drop it, or give one B"
            )
        return algebra.compose(_endless_modes(ask, a, tiler), tuple(map(ask.flat, tiler)))
    if names or _by_basis(tiler):
        return algebra.compose(a, tiler, names)
    made = algebra.compose(_endless(ask, ask.flat(a), tiler), tiler)
    return made if isinstance(tiler, Layout) and len(tiler.shape) > 1 else ask.flat(made)


def one_tiler(tilers: Sequence[Any]) -> Any:
    """One layout or extent; or a tuple by mode, from several words, a shape, or `_`."""
    return tilers[0] if len(tilers) == 1 and tilers[0] is not None else tuple(tilers)


def _by_basis(tiler: Any) -> bool:
    axes = tiler.axes if isinstance(tiler, Layout) else ()
    return any(axis.name[:1] == "e" and axis.name[1:].isdigit() for axis in axes)


def _endless(ask: Asked, a: Layout, tiler: Any) -> Layout:
    """In CuTe's order the last mode, here the first digit, runs on as far as the tiler asks."""
    last = _last_index(tiler) if ask.cute else 0
    if last < a.size or not a.shape:
        return a
    first, *others = leaves(a.shape)
    extents = iter((-(-(last + 1) // (a.size // first)), *others))

    def extended(mode: Any) -> Any:
        return tuple(map(extended, mode)) if isinstance(mode, tuple) else next(extents)

    return a.with_parts(extended(a.shape), a.strides, a.replica, a.offset)


def _endless_modes(ask: Asked, a: Layout, tilers: tuple[Any, ...]) -> Layout:
    from tilewise.core.algebra.composition import mode_layouts

    parts = [_endless(ask, part, tiler) for part, tiler in zip(mode_layouts(a), tilers, strict=False)]
    modes = [part.shape[0] if len(part.shape) == 1 else part.shape for part in parts]
    return a.with_parts((*modes, *a.shape[len(modes) :]), a.strides, a.replica, a.offset)


def _last_index(tiler: Any) -> int:
    if isinstance(tiler, Layout):
        return tiler.max("m") if [axis.name for axis in tiler.axes] == ["m"] else 0
    return tiler - 1 if isinstance(tiler, int) else 0


def sliced(ask: Asked, a: Layout, region: tuple[Any, ...]) -> Any:
    """A region of the modes, or of --shape's."""
    if ask["shape"] is not None:
        a = ask.flat(algebra.reshape(ask.flat(a), ask.shape(ask["shape"])))
    pieces = algebra.slices(a, *region)
    kept = len(a.shape) - sum(isinstance(part, int) for part in region)
    if not ask.cute or kept != 1:
        return pieces
    # what is left is one mode, whose digits the pieces have for modes
    return type(pieces)(replace(piece, layout=ask.flat(piece.layout)) for piece in pieces)


def inverse(name: str) -> Callable[..., Any]:
    """To flat indices; places on one axis are flat as well, on several they are coordinates."""

    def run(ask: Asked, a: Layout) -> Any:
        made = _op(name)(ask.flat(a), ask["axes"] or a.axes)
        return made if len(a.axes) > 1 or not ask.cute else ask.flat(algebra.flatten(made))

    return run


def inverse_modes(ask: Asked, a: Layout) -> dict[str, Any]:
    """The axes of which the inverse's modes count the steps."""
    return {"modes": list(ask["axes"] or map(str, a.axes))}


def complement(ask: Asked, a: Layout, size: int | None = None) -> Any:
    """What is left of flat places, in the order of its flat index."""
    size = ask["size"] if size is None else size
    return ask.flat(algebra.complement(ask.flat(a), size, bool(ask["weak"])))


# -- divides and products --------------------------------------------------------------------------


def parted(name: str) -> Callable[..., Any]:
    """(first, second) of the flat index, or of every mode by itself.

    What an operation puts side by side inside one mode counts from the left in CuTe's order: there the
    parts are turned round. Modes of the result stay where they are.
    """

    def run(ask: Asked, a: Layout, *tilers: Any) -> Any:
        tiler = one_tiler(tilers)
        if not ask.cute:
            return _op(name)(a, tiler)
        if isinstance(tiler, tuple):
            return _parted_by_mode(ask, name, a, tiler)
        made = _op(name)(ask.flat(a), ask.flat(tiler))
        form, _, kind = name.partition("_")
        if form in ("tiled", "flat"):
            firsts = 1 if form == "tiled" else _parts_in(_op(f"zipped_{kind}")(ask.flat(a), ask.flat(tiler)))
            made = algebra.permute(made, [*range(firsts)[::-1], *range(firsts, len(made.shape))[::-1]])
        return made

    return run


def _parted_by_mode(ask: Asked, name: str, a: Layout, tilers: tuple[Any, ...]) -> Any:
    if any(isinstance(tiler, tuple) for tiler in tilers):
        raise LayoutError(
            "TW401", "a tiler inside a tiler has no word in CuTe's order here", hint="give one a mode"
        )
    made = _op(name)(a, tuple(map(ask.flat, tilers)))
    form = name.partition("_")[0]
    if form == "logical":
        return _turned(made, [mode for mode, tiler in enumerate(tilers) if tiler is not None])
    joined = [len(tilers), len(a.shape)] if form == "zipped" else [len(tilers)] if form == "tiled" else []
    return _turned(made, [mode for mode, parts in enumerate(joined) if parts > 1])


def _parts_in(zipped: Layout) -> int:
    first = zipped.shape[0]
    return len(first) if isinstance(first, tuple) else 1


def _turned(layout: Layout, modes: Sequence[int]) -> Layout:
    """The layout with what stands directly inside some modes in the other order."""
    from tilewise.core.algebra.modes import modes_of

    whole: list[Any] = list(modes_of(layout))
    for position in modes:
        mode, digits = whole[position]
        if isinstance(mode, tuple):
            inner = layout.with_parts(mode, tuple(it.stride for it in digits), (), layout.offset)
            parts = modes_of(inner)[::-1]
            whole[position] = tuple(part for part, _ in parts), [it for _, held in parts for it in held]
    strides = tuple(it.stride for _, digits in whole for it in digits)
    return layout.with_parts(tuple(mode for mode, _ in whole), strides, layout.replica, layout.offset)


def tile_to_shape(ask: Asked, block: Layout, shape: Any) -> Any:
    """Mode by mode; without an order the last mode's blocks lie together, in CuTe's the first's."""
    order = ask["order"]
    if order is None and ask.cute:
        order = range(len(shape))
    return algebra.tile_to_shape(block, shape, order)


# -- tiles, widths, places -------------------------------------------------------------------------


def tile(ask: Asked, outer: Any, inner: Layout) -> Any:
    """Mode by mode; a grid that is a shape counts its tiles by the flat index."""
    if isinstance(outer, Layout):
        return algebra.tile(outer, inner)
    return ask.flat(algebra.tile(ask.shape(outer), ask.flat(inner)))


def footprint(ask: Asked, a: Layout, *words: Any) -> Any:
    """Axes, some in each word."""
    return algebra.footprint(a, *(axis for word in words for axis in word))


def fuse_axes(ask: Asked, a: Layout, axes: Any, axis: str | None = None) -> Any:
    """With a number between the axes, the new one has to be named."""
    if axis is None and any(isinstance(part, int) for part in axes):
        written = ",".join(map(str, axes))
        raise LayoutError(
            "TW401", "AXIS is missing: the axis that they become", hint=f"such as {written} tx, as two words"
        )
    return algebra.fuse_axes(a, axes, axis) if axis is not None else algebra.fuse_axes(a, axes)


def direct_rest(ask: Asked, whole: Layout, piece: Layout) -> Any:
    """The other summand, the slow or the fast one."""
    return algebra.direct_rest(whole, piece, right=not ask["left"])


def width(name: str) -> Callable[..., Any]:
    """Neighbours along the last mode; in CuTe's dialect along the mode that has a step of 1."""

    def run(ask: Asked, a: Layout, *widths: Any) -> Any:
        rank = len(a.shape)
        along = _unit_mode(a) if ask.cute and rank else rank - 1
        order = [*(mode for mode in range(rank) if mode != along), along]
        made = _op(name)(algebra.permute(a, order) if rank else a, *widths, ask["axis"])
        if not ask.cute or len(made.shape) != rank or not rank:
            return made
        merged = algebra.split(made, rank - 1, size_of(made.shape[-1]))
        return algebra.permute(merged, [order.index(mode) for mode in range(rank)])

    return run


def _unit_mode(a: Layout) -> int:
    """The mode of the first step of 1, or 0."""
    from tilewise.core.algebra.modes import modes_of

    for position, (_, digits) in enumerate(modes_of(a)):
        if any(it.extent > 1 and abs(steps) == 1 for it in digits for _, steps in it.stride.terms):
            return position
    return 0


# -- swizzles, listed maps, GF(2) ------------------------------------------------------------------


def merge_swizzles(ask: Asked, one: Any, other: Any) -> Any:
    """Two swizzles as one."""
    swizzles = _joined((one, other))
    if len(swizzles) != 2:
        raise LayoutError("TW401", "one swizzle a word belongs here", hint="swizzle_chain takes several")
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
        raise LayoutError("TW401", "swizzles belong here, such as 'Swizzle<1,0,3>'")
    return [swizzle for part in chains for swizzle in part]


def chain(swizzles: Sequence[Swizzle]) -> str:
    """A chain as it is written; that of none is the swizzle without bits."""
    return " o ".join(map(str, swizzles)) or str(Swizzle(0, 0, 0))


def move_offset(ask: Asked, a: Layout, offset: Any = None) -> Any:
    """Offsets know no order of indices."""
    return algebra.move_offset(a, offset, outside=not ask["inside"])


def recognise(ask: Asked, table: Any) -> Any:
    """A flat table counts by the flat index; a nested one has coordinates."""
    return _listed(ask, table, algebra.recognise(table))


def explanations(ask: Asked, table: Any) -> Any:
    """All layouts of a table."""
    return [_listed(ask, table, found.layout) for found in algebra.explanations(table)]


def _listed(ask: Asked, table: Any, found: Layout) -> Layout:
    nested = isinstance(table, list) and any(isinstance(row, list) for row in table)
    return found if nested else ask.flat(found)


def recognise_map(ask: Asked, a: Layout) -> Any:
    """The map of the flat index, over GF(2), with one swizzle or none."""
    from tilewise.core.gf2 import affine

    return ask.flat(algebra.recognise_map(affine(ask.flat(a))))


def linear(name: str) -> Callable[..., Any]:
    """Bits of the flat index."""
    return lambda ask, a: _op(name)(ask.flat(a))


def from_bases(ask: Asked, bases: Any, origin: int = 0) -> Any:
    """Bits of the flat index, in the shape of --shape."""
    return ask.flat(algebra.from_bases(bases, origin, ask.shape(ask["shape"])))
