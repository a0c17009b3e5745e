"""A layout as arithmetic that a person would write: one formula an axis, in the modes of the index.

S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]      laneid = 4*i + j, reg = k
Swizzle<3,3,3> o S[(128, 64) : (64, 1)]         m = x ^ (x>>3 & 56), x = 64*i + j
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.axes import Axis
from tilewise.core.layout import Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import leaves
from tilewise.core.swizzles import Swizzle

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
    text = _xor(chain[0]) if len(chain) == 1 else "x"
    for swizzle in chain if len(chain) > 1 else ():
        text = f"Swizzle<{swizzle.bits},{swizzle.base},{swizzle.shift}>({text})"
    text = f"({text})" if outer and len(chain) == 1 else text
    return f"{axis} = {text}{_signed(outer)}, x = {inner}"


def _xor(swizzle: Swizzle) -> str:
    shift = f"x>>{swizzle.shift}" if swizzle.shift > 0 else f"x<<{-swizzle.shift}"
    return f"x ^ ({shift} & {swizzle.target})"


def _sum(layout: Layout, axis: Axis) -> str:
    terms = [_term(factor, of) for factor, of in _terms(layout, axis)]
    offset = layout.offset[axis]
    text = terms[0] if terms else str(offset)
    for term in terms[1:]:
        text += f" - {term[1:]}" if term.startswith("-") else f" + {term}"
    return text + (_signed(offset) if terms else "")


def _signed(steps: int) -> str:
    return f" {'-' if steps < 0 else '+'} {abs(steps)}" if steps else ""


def _term(factor: int, of: str) -> str:
    if factor in (1, -1):
        return of if factor == 1 else f"-{of}" if of.isalnum() else f"-({of})"
    return f"{factor}*{of}" if of.isalnum() else f"{factor}*({of})"


@dataclass(frozen=True, slots=True)
class _Digit:
    """Some digits of one mode that one factor counts: the mode // low % extent."""

    factor: int
    low: int
    extent: int
    first: bool
    """Whether nothing of the mode is slower."""


def _terms(layout: Layout, axis: Axis) -> list[tuple[int, str]]:
    """(factor, expression in a mode) of every digit that moves along an axis, slowest first."""
    strides, found = iter(layout.strides), []
    for name, mode in zip(index_names(layout), layout.shape, strict=True):
        extents = [*leaves((mode,))]
        digits = [(extent, next(strides)[axis]) for extent in extents]
        found += [(digit.factor, _part(name, digit)) for digit in _merged(digits) if digit.factor]
    return found


def _merged(digits: list[tuple[int, int]]) -> list[_Digit]:
    """The digits of a mode, neighbours that count on made one."""
    merged: list[_Digit] = []
    low = 1
    for extent, factor in reversed(digits):
        before = merged[-1] if merged else None
        if extent == 1:
            continue
        if before is not None and factor == before.factor * before.extent:
            merged[-1] = _Digit(before.factor, before.low, before.extent * extent, False)
        else:
            merged.append(_Digit(factor, low, extent, False))
        low *= extent
    if merged:
        last = merged[-1]
        merged[-1] = _Digit(last.factor, last.low, last.extent, True)
    return merged[::-1]


def _part(name: str, digit: _Digit) -> str:
    text = name if digit.low == 1 else f"{name}//{digit.low}"
    return text if digit.first else f"{text}%{digit.extent}"
