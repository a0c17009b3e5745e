"""A layout as arithmetic that a person would write: one formula an axis, in the modes of the index.

S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]      laneid = 4*i + j, reg = k
Swizzle<3,3,3> o S[(128, 64) : (64, 1)]         m = x ^ (x>>3 & 56), x = 64*i + j
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from tilewise.core.axes import Axis
from tilewise.core.digits import Digit, merged
from tilewise.core.layout import Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import leaves

LETTERS = "ijklnpqr"
"""Names of modes; m is an axis."""


def index_names(layout: Layout) -> tuple[str, ...]:
    """What the modes of the index are called: i, j, k, ..., or i0, i1, ... where there are many.

    >>> from tilewise import S
    >>> index_names(S[(8, (4, 2)) : (8, (2, 1))])
    ('i', 'j')
    """
    modes = len(layout.shape)
    return tuple(LETTERS[:modes]) if modes <= len(LETTERS) else tuple(f"i{mode}" for mode in range(modes))


def formulas_of(layout: Layout) -> tuple[str, ...]:
    """Where the first copy of an element lives, a formula for each axis that something moves along.

    >>> from tilewise import S, Swizzle, laneid, reg
    >>> formulas_of(S[(16, (4, 2)) : (4@laneid, (1@laneid, 1@reg))])
    ('laneid = 4*i + j//2', 'reg = j%2')
    >>> formulas_of(Swizzle(3, 3, 3) @ S[(128, 64) : (64, 1)])
    ('m = x ^ (x>>3 & 56), x = 64*i + j',)
    """
    layout = by_coordinates(layout)
    return tuple(_formula(layout, layout.axis(name)) for name in layout.moving)


def _formula(layout: Layout, axis: Axis) -> str:
    inner = _sum(layout, axis)
    chain = [swizzle for swizzle in reversed(layout.swizzles) if swizzle.bits]
    outer = layout.outer[axis]
    if axis != layout.swizzled_axis or not (chain or outer):
        return f"{axis} = {inner}"
    text = "x"
    if len(chain) == 1:
        (swizzle,) = chain
        shift = f">>{swizzle.shift}" if swizzle.shift > 0 else f"<<{-swizzle.shift}"
        text = f"x ^ (x{shift} & {swizzle.target})"
        text = f"({text})" if outer else text
    for swizzle in chain[len(chain) == 1 :]:
        text = f"Swizzle<{swizzle.bits},{swizzle.base},{swizzle.shift}>({text})"
    return f"{axis} = {text}{_signed(outer)}, x = {inner}"


def _sum(layout: Layout, axis: Axis) -> str:
    terms = [*_terms(layout, axis)]
    offset = layout.offset[axis]
    if not terms:
        return str(offset)
    return " + ".join(terms).replace("+ -", "- ") + _signed(offset)


def _signed(steps: int) -> str:
    return f" {'-' if steps < 0 else '+'} {abs(steps)}" if steps else ""


def mode_digits(layout: Layout, axis: Axis) -> list[list[Digit]]:
    """Return for each mode the fewest digits that move along an axis as it does, slowest first.

    >>> from tilewise import S, m
    >>> mode_digits(S[(8, (4, 2)) : (8, (2, 1))], m)
    [[(8, 8)], [(8, 1)]]
    """
    strides = iter(layout.strides)
    return [merged([(extent, next(strides)[axis]) for extent in leaves((mode,))]) for mode in layout.shape]


def _terms(layout: Layout, axis: Axis) -> Iterator[str]:
    """Yield a term for each digit that moves along an axis: its part of the mode, times its stride."""
    for name, digits in zip(index_names(layout), mode_digits(layout, axis), strict=True):
        below = prod(extent for extent, _ in digits)
        for position, (extent, factor) in enumerate(digits):
            below //= extent
            text = name if below == 1 else f"{name}//{below}"
            text = f"{text}%{extent}" if position else text
            text = text if text.isalnum() or factor == 1 else f"({text})"
            if factor:
                yield f"{'-' * (factor < 0)}{text}" if abs(factor) == 1 else f"{factor}*{text}"
