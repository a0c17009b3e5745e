"""CuTe's layouts of (thread, value), written of fragments: ((4,8),(2,2)):((32,1),(16,8)).

They go from a thread and one of its values to the number of an element in the tile, which counts with the
first coordinate fastest (`LayoutC_TV` in cute/atom/mma_traits.hpp). A thread is a lane, a warp or a
warpgroup, put together; a value is a place on reg. Copies have stride 0.

A fragment has one where every thread from 0 on holds as many values from 0 on, and every value is one
element. The text is a layout of CuTe, and is read as that.
"""

from __future__ import annotations

from collections.abc import Iterable

from tilewise.core.algebra.modes import coalesce
from tilewise.core.axes import SPLITS
from tilewise.core.errors import LayoutError
from tilewise.core.facts import lanes_of
from tilewise.core.layout import Layout
from tilewise.core.text import cute_text
from tilewise.core.vectors import Vector
from tilewise.notation.dialects.given import Given, layout_of_modes

_FRAGMENTS = "CuTe writes fragments so: layouts over laneid, warpid and such, and reg"

Digit = tuple[int, int, int]
"""(step of the thread or value, extent, step of the element)."""


def write(layout: Layout, given: Given) -> str:
    """Return the layout from (thread, value) to an element.

    >>> from tilewise import R, S, laneid, reg, warpid
    >>> write(S[(8, (4, 2)) : (4@laneid, (1@laneid, 1@reg))] + R[2 : 1@warpid], Given())
    '((4,8,2),2):((16,1,0),8)'
    """
    del given
    if layout.unit != "element":
        raise _unsayable(f"values are elements, and this layout counts {layout.unit}s")
    if layout.swizzles:
        raise _unsayable("threads and values have no swizzle")
    settled = layout.canonical()
    if settled.offset:
        raise _unsayable(f"threads and values begin at 0, not at {settled.offset}")
    digits, element = [(it.extent, it.stride, 0) for it in settled.replica], 1
    for extent, stride in reversed(layout.in_order("cute").digits):
        digits.append((extent, stride, element))
        element *= extent
    weights = _weights(layout)
    threads: list[Digit] = []
    values: list[Digit] = []
    for extent, stride, element in digits:
        if extent > 1:
            axis, steps = _one_step(stride)
            if axis != "reg" and axis not in weights:
                raise _unsayable(f"{axis} is no thread and no register")
            held = values if axis == "reg" else threads
            held.append((steps * weights.get(axis, 1), extent, element))
    _check_filled(threads, "thread")
    _check_filled(values, "value")
    modes = [[(extent, step) for _, extent, step in sorted(held)[::-1]] for held in (threads, values)]
    return cute_text(coalesce(layout_of_modes(modes), by_mode=True))


def _weights(layout: Layout) -> dict[str, int]:
    """Return the number of threads of a step on each axis of threads."""
    weights = {"tx": 1}
    lanes = lanes_of(layout)
    for axis in ("tx", "warpid", "tid_in_wg"):
        for high, count, low in SPLITS[axis]:
            weights[low] = weights[axis]
            weights[high] = weights[axis] * (lanes if low == "laneid" else count)
    return weights


def _one_step(stride: Vector) -> tuple[str, int]:
    """Return the axis and the steps of a digit."""
    terms = stride.nonzero.terms
    if not terms:
        raise _unsayable("several elements share a place, and a value is one element")
    if len(terms) > 1:
        raise _unsayable(f"{stride} moves on two axes in one step")
    axis, steps = terms[0]
    if steps < 0:
        raise _unsayable(f"{stride} steps backwards, and threads and values count from 0")
    return axis.name, steps


def _check_filled(digits: Iterable[Digit], what: str) -> None:
    """Refuse where a thread or value is missing, or is there twice."""
    end = 1
    for step, extent, _ in sorted(digits):
        if step > end:
            raise _unsayable(f"{what} {end} holds nothing, and {what} {step} does")
        if step < end:
            raise _unsayable(f"{what} {step} holds two elements at one place")
        end *= extent


def _unsayable(reason: str) -> LayoutError:
    return LayoutError("TW008", reason, hint=_FRAGMENTS)
