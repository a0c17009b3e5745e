"""Hypothesis strategies for layouts and their parts; they need the extra `tilewise[testing]`.

from hypothesis import given
from tilewise.testing.strategies import layouts

@given(layouts(max_size=64))
def test_of_mine(layout): ...
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from tilewise.core.axes import Axis, m
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Iter, Layout
from tilewise.core.shapes import Shape, leaves
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import Vector

try:
    from hypothesis import strategies as st
except ImportError:
    raise LayoutError(
        "TW403",
        "the strategies need Hypothesis, which is not installed",
        hint="pip install hypothesis; `tilewise.testing.generate` needs nothing",
    ) from None

SOME_AXES = (m, Axis("laneid"), Axis("reg"), Axis("TLane"), Axis("gpuid_x"), Axis("own"))
"""The axes that `layouts` draws from by default: storage, owners, a device, and an unknown axis.

Text does not say which unknown axes hold elements, so the unknown one here does not: `parse(str(layout))`
is the layout.
"""


def axes(names: Sequence[Axis] = SOME_AXES) -> st.SearchStrategy[Axis]:
    """Return a strategy for one of the axes."""
    return st.sampled_from(list(names))


@st.composite
def shapes(draw: st.DrawFn, *, max_size: int = 64, max_iters: int = 5, nested: bool = True) -> Shape:
    """Draw shapes of at most `max_size` elements and `max_iters` extents, ones and odd extents among them."""
    modes: list[Any] = []
    left = max_size
    for _ in range(draw(st.integers(0, max_iters))):
        extent = draw(_extents(min(left, 9)))
        if extent <= left:
            modes.append(extent)
            left //= extent
    while nested and len(modes) > 1 and draw(st.booleans()):
        first = draw(st.integers(0, len(modes) - 2))
        last = draw(st.integers(first + 2, len(modes)))
        modes[first:last] = [tuple(modes[first:last])]
    return tuple(modes)


# Hypothesis examines every strategy that is made: those that are drawn from again and again are made once.

_Kinds = tuple[tuple[Axis, bool | None], ...]


def _with_kinds(axes: Sequence[Axis]) -> _Kinds:
    """Return the axes with their kinds, as a cache key: axes of one name are equal, whatever their kinds."""
    return tuple((axis, axis.storage) for axis in axes)


@lru_cache
def _extents(most: int) -> st.SearchStrategy[int]:
    return st.integers(1, most) | st.sampled_from([1, 2, 4, 8, 16, 32])


def vectors(
    names: Sequence[Axis] = SOME_AXES, *, max_terms: int = 2, max_step: int = 70
) -> st.SearchStrategy[Vector]:
    """Return a strategy for vectors: nearly always one term, 0 and negative steps among them."""
    return _vectors(_with_kinds(names), max_terms, max_step)


@lru_cache
def _vectors(names: _Kinds, max_terms: int, max_step: int) -> st.SearchStrategy[Vector]:
    term = st.tuples(axes([axis for axis, _ in names]), st.integers(-max_step, max_step))
    return st.lists(term, max_size=max_terms).map(lambda terms: Vector(tuple(terms)))


@st.composite
def swizzles(draw: st.DrawFn, *, axis: Axis = m, max_bits: int = 3, max_base: int = 4) -> Swizzle:
    """Draw swizzles of either sign, the idle B = 0 among them."""
    bits = draw(st.integers(0, max_bits))
    shift = bits + draw(st.integers(0, 2))
    return Swizzle(bits, draw(st.integers(0, max_base)), draw(st.sampled_from([shift, -shift])), axis)


@st.composite
def layouts(
    draw: st.DrawFn,
    *,
    max_size: int = 64,
    max_iters: int = 5,
    axes: Sequence[Axis] = SOME_AXES,
    swizzled: bool | None = None,
    replicas: bool | None = None,
    units: Sequence[str] = ("element",),
) -> Layout:
    """Draw layouts small enough to list.

    `swizzled` and `replicas`: True has them always, False never, None now and then. A layout is
    swizzled on one of the storage axes in `axes`.
    """
    shape = draw(shapes(max_size=max_size, max_iters=max_iters))
    used = draw(_used(_with_kinds(axes)))
    storage = [axis for axis in (used if swizzled is None else axes) if axis.kind == "storage"]
    chain: tuple[Swizzle, ...] = ()
    if storage and swizzled is not False:
        axis = draw(st.sampled_from(storage))
        least = 0 if swizzled is None else 1
        chain = tuple(draw(_chains(axis, least)))
    copies: list[tuple[int, Vector]] = []
    if replicas is not False:
        least = 0 if replicas is None else 1
        copies = draw(_copies(vectors(used), least))
    return Layout(
        shape=shape,
        strides=tuple(draw(vectors(used)) for _ in leaves(shape)),
        replica=tuple(Iter(extent, stride) for extent, stride in copies),
        offset=draw(vectors(used, max_terms=1, max_step=300)),
        swizzles=chain,
        outer=draw(vectors(used, max_terms=1, max_step=300)) if chain else Vector(),
        unit=draw(st.sampled_from(list(units))),
    )


@lru_cache
def _used(axes: _Kinds) -> st.SearchStrategy[list[Axis]]:
    return st.lists(st.sampled_from([axis for axis, _ in axes]), min_size=1, max_size=3, unique=True)


@lru_cache
def _chains(axis: Axis, least: int) -> st.SearchStrategy[list[Swizzle]]:
    return st.lists(swizzles(axis=axis), min_size=least, max_size=2)


@lru_cache
def _copies(steps: st.SearchStrategy[Vector], least: int) -> st.SearchStrategy[list[tuple[int, Vector]]]:
    return st.lists(st.tuples(st.integers(1, 4), steps), min_size=least, max_size=2)
