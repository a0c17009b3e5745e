"""Layouts as documents have them: each index is written in digits, and every digit has its stride."""

from __future__ import annotations

from collections.abc import Sequence

from tilewise.core.layout import Iter, Layout
from tilewise.core.shapes import one_mode
from tilewise.core.vectors import ZERO, Vector

Digit = tuple[int, Vector]
"""An extent and its stride."""
Digits = Sequence[Digit]
"""The digits of one index, the slowest first."""


def layout_of(*modes: Digits, offset: Vector = ZERO, copies: Sequence[Iter] = ()) -> Layout:
    """Return the layout with a mode for each index: a number where it has one digit, else a tuple.

        postcondition  an index with the digits d_i is at offset + sum(d_i * stride_i)

    >>> from tilewise.core.axes import Axis
    >>> lane, reg = Axis("laneid"), Axis("reg")
    >>> print(layout_of([(8, 4 @ lane), (2, 1 @ lane)], [(16, 1 @ reg)], offset=2 @ lane))
    S[((8, 2), 16) : ((4@laneid, 1@laneid), 1@reg)] + 2@laneid
    """
    shape = tuple(one_mode(tuple(extent for extent, _ in digits)) for digits in modes)
    strides = tuple(stride for digits in modes for _, stride in digits)
    return Layout(shape, strides, replica=tuple(copies), offset=offset)


def without_ones(digits: Digits) -> Digits:
    """Return the digits of extents above 1, or else the last digit.

        postcondition  layout_of(without_ones(digits)) places every index where layout_of(digits) does

    >>> from tilewise.core.axes import Axis
    >>> reg = Axis("reg")
    >>> [len(without_ones(digits)) for digits in ([(1, 4 @ reg), (4, 1 @ reg)], [(1, 4 @ reg), (1, 1 @ reg)])]
    [1, 1]
    """
    return [digit for digit in digits if digit[0] != 1] or digits[-1:]
