"""The function from an index to the place of its element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from math import prod

from tilewise.core.canonical import merged_replica
from tilewise.core.errors import NotDecided
from tilewise.core.shapes import extents_of, leaves
from tilewise.emit.bits import Bits
from tilewise.emit.expressions import variable
from tilewise.emit.functions import Function, Index, Range, listed
from tilewise.emit.names import Names, chosen, coordinate_names
from tilewise.emit.readings import Reading, candidates, cheapest_together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.axes import Axis
    from tilewise.core.layout import Iter, Layout


def place_function(layout: Layout, name: str, index: Index, arguments: Sequence[str] = ()) -> Function:
    """The places of the elements of a layout, one result an axis.

        requires       the coordinates lie in the shape, or the flat index below the size
        postcondition  results[a](index, copy) for all copies are the places of the index

    >>> from tilewise import S
    >>> function = place_function(S[(8, 64) : (64, 1)], "place_of", Index())
    >>> [str(argument) for argument in function.arguments], [str(place) for place in function.results]
    (['i in 0..7', 'j in 0..63'], ['m in 0..511'])
    """
    copies, start = merged_replica(layout.replica)
    modes = [index.counted(layout).shard] if index.flat else list(modes_of(layout))
    extents = [layout.size] if index.flat else list(extents_of(layout.shape))
    defaults = ["x"] if index.flat else coordinate_names(len(modes))
    if copies:
        defaults.append("copy")
        modes.append(tuple(copies))
        extents.append(prod(it.extent for it in copies))
    names = Names()
    wanted = chosen(defaults, arguments)
    given = [Range(names.free(own), 0, extent - 1) for own, extent in zip(wanted, extents, strict=True)]
    readings = [_reading(layout, argument, iters) for argument, iters in zip(given, modes, strict=True)]
    chain = {axis: layout.swizzles if axis == layout.swizzled_axis else () for axis in layout.axes}
    return Function(
        name=name,
        arguments=tuple(given),
        results=tuple(range_on(layout, axis, axis.name) for axis in layout.axes),
        expressions=cheapest_together(
            [
                candidates(readings, i, layout.offset[axis] + start[axis], chain[axis], layout.outer[axis])
                for i, axis in enumerate(layout.axes)
            ]
        ),
        layout=layout,
        sentences=_sentences(layout, name, given, index, bool(copies)),
    )


def modes_of(layout: Layout) -> Iterator[tuple[Iter, ...]]:
    """The iters of each top-level mode."""
    iters = iter(layout.shard)
    for mode in layout.shape:
        yield tuple(islice(iters, sum(1 for _ in leaves(mode))))


def _reading(layout: Layout, argument: Range, iters: tuple[Iter, ...]) -> Reading:
    assert argument.high is not None
    value = Bits.of(variable(argument.name, 0, argument.high))
    return Reading(value, tuple((it.extent, layout.on_axes(it.stride)) for it in iters))


def range_on(layout: Layout, axis: Axis, name: str) -> Range:
    """The ends of an axis."""
    try:
        return Range(name, *layout.extremes(axis))
    except NotDecided:
        return Range(name, None, None)


def _sentences(
    layout: Layout, name: str, given: list[Range], index: Index, has_copies: bool
) -> tuple[str, ...]:
    axes = listed([axis.name for axis in layout.axes])
    call = f"{name}({', '.join(argument.name for argument in given)})"
    counts = f", counted in {layout.unit}s" if layout.unit != "element" else ""
    which = f"; {given[-1].name} says which of its copies" if has_copies else ""
    place = f"{call}: where the element lives, as {axes}{counts}{which}."
    return (place, f"{given[0].name} is the flat index ({index.order}).") if index.flat else (place,)
