"""Modes in two parts: what divides and products have in common.

Both make (first, second) of a layout, or of each of its modes: what lies in a tile and which tile it is.
The parts stand side by side in each mode, or all firsts before all seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tilewise.core.algebra.composition import tilers_of
from tilewise.core.algebra.modes import mode_layouts
from tilewise.core.errors import Refused
from tilewise.core.layout import Layout
from tilewise.core.shapes import leaves
from tilewise.core.vectors import ZERO, Vector, along

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypeAlias

    from tilewise.core.axes import Axis
    from tilewise.core.shapes import Mode, Shape

    _Digit: TypeAlias = tuple[int, Axis | None, int]


@dataclass(frozen=True, slots=True)
class Piece:
    """A mode and the strides of its digits."""

    mode: Mode
    strides: tuple[Vector, ...]

    @property
    def modes(self) -> list[Piece]:
        """The modes directly inside."""
        if isinstance(self.mode, int):
            return [self]
        pieces, start = [], 0
        for mode in self.mode:
            stop = start + sum(1 for _ in leaves(mode))
            pieces.append(Piece(mode, self.strides[start:stop]))
            start = stop
        return pieces


WHOLE = Piece(1, (ZERO,))
"""A mode of one element."""


def one_mode(shape: Shape) -> Mode:
    """A shape as one mode.

    >>> one_mode((4,)), one_mode((4, 2)), one_mode(())
    (4, (4, 2), 1)
    """
    return shape[0] if len(shape) == 1 else shape or 1


def joined(pieces: Sequence[Piece]) -> Piece:
    """Pieces as one mode of them."""
    mode = one_mode(tuple([piece.mode for piece in pieces]))
    return Piece(mode, tuple([stride for piece in pieces for stride in piece.strides]) or (ZERO,))


def piece_of(layout: Layout) -> Piece:
    """A whole layout as one mode, without its offset, copies and swizzles."""
    return Piece(one_mode(layout.shape), layout.strides or (ZERO,))


def layout_of(pieces: Sequence[Piece], around: Layout) -> Layout:
    """The layout whose modes are the pieces, with the copies, offset, swizzles and unit of another."""
    strides = tuple([stride for piece in pieces for stride in piece.strides])
    modes = tuple([piece.mode for piece in pieces])
    return around.with_parts(modes, strides, around.replica, around.offset)


def acting(layout: Layout) -> Layout:
    """The same map without swizzles that have no effect on it, its digits as they are written.

    Such a swizzle may well have one on what the layout is made part of.

    >>> from tilewise import S, Swizzle
    >>> acting(Swizzle(1, 0, 3) @ S[(2, 4) : (4, 1)])
    S[(2, 4) : (4, 1)]
    """
    if not layout.swizzles:
        return layout
    form = layout.canonical()
    plain = layout.with_parts(layout.shape, layout.strides, form.replica, form.offset)
    return replace(plain, swizzles=form.swizzles, outer=form.outer)


@dataclass(frozen=True, slots=True)
class Cut:
    """A layout whose modes are cut in two: what lies in a tile, and which tile.

    `pairs` has the two side by side. Copies, offset and swizzles are those of `around`.
    """

    around: Layout
    firsts: Sequence[Piece]
    seconds: Sequence[Piece]
    pairs: Sequence[Piece]

    @classmethod
    def of(cls, layout: Layout, tiler: Any, cut: Callable[[Layout, Any], Layout]) -> Cut:
        """The cut of a layout by a tiler, or by a tuple of them mode by mode; modes without one stay."""
        if not isinstance(tiler, tuple | list):
            made = cut(layout, tiler)
            first, second = Piece(made.shape, made.strides).modes
            return cls(made, first.modes, second.modes, (first, second))
        parts = mode_layouts(layout)
        tilers = tilers_of(tiler, len(parts))
        inside = [cls._of_mode(i, parts[i], part, cut) for i, part in enumerate(tilers)]
        beyond = list(map(piece_of, parts[len(tilers) :]))
        replica, offset = layout.replica, layout.offset
        for found in inside:
            replica, offset = replica + found.around.replica, offset + found.around.offset
        return cls(
            layout.with_parts((), (), replica, offset),
            [joined(found.firsts) for found in inside],
            [joined(found.seconds) for found in inside] + beyond,
            [joined(found.pairs) for found in inside] + beyond,
        )

    @classmethod
    def _of_mode(cls, number: int, part: Layout, tiler: Any, cut: Callable[[Layout, Any], Layout]) -> Cut:
        if tiler is None:
            whole = piece_of(part)
            return cls(part, whole.modes, [WHOLE], [whole])
        if isinstance(tiler, Layout) and any(swizzle.bits for swizzle in tiler.swizzles):
            raise Refused(
                "TW504",
                f"the tiler {tiler} swizzles one mode, and a swizzle acts on the whole address",
                hint="use one swizzled layout of the whole flat index",
            )
        try:
            return cls.of(part, tiler, cut)
        except Refused as no:
            message = f"mode {number}: {no.message}"
            raise Refused(no.code, message, witness=no.witness, hint=no.hint) from None

    def logical(self) -> Layout:
        """Every mode as (first, second)."""
        return layout_of(self.pairs, self.around)

    def zipped(self) -> Layout:
        """((firsts), (seconds))."""
        return layout_of([joined(self.firsts), joined(self.seconds)], self.around)

    def tiled(self) -> Layout:
        """((firsts), second, second, ...)."""
        return layout_of([joined(self.firsts), *self.seconds], self.around)

    def flat(self) -> Layout:
        """(first, first, ..., second, second, ...)."""
        return layout_of([*self.firsts, *self.seconds], self.around)


# -- digits that divide ----------------------------------------------------------------------------


def split_evenly(layout: Layout, inner: Layout) -> Layout | None:
    """`compose` where it is nothing but splitting digits; None where it may be more than that.

    Digits of `inner` that step upwards from 1, each by a whole turn of the one before, count indices in
    another mixed radix. Where its places and those of the layout's digits divide one another, every digit
    of `inner` is a run of the layout's digits, the first and the last of them split.

        requires       the indices that inner names are indices of the layout
        postcondition  split_evenly(A, B)(x) == A(B(x)), or None

    >>> from tilewise import S
    >>> split_evenly(S[(3, 4) : (1, 3)], S[(2, 6) : (1, 2)])
    S[(2, (3, 2)) : (3, (1, 6))]
    """
    if inner.replica or inner.offset.terms or inner.swizzles:
        return None
    asked = []
    for number, (extent, stride) in enumerate(inner.digits):
        if extent > 1:
            step = stride.terms[0][1] if len(stride.terms) == 1 else 0
            asked.append((step, extent, number))
    asked.sort()
    own = _own_digits(layout)
    runs: list[list[_Digit]] = [[] for _ in inner.strides]
    place, (rest, axis, step) = 1, (1, None, 0)
    for asked_step, wanted, number in asked:
        if asked_step != place or own is None:
            return None
        place *= wanted
        while wanted > 1:
            if rest == 1:
                rest, axis, step = own.pop()
            taken = min(rest, wanted)
            if rest % taken or wanted % taken:
                return None
            _append(runs[number], taken, axis, step)
            rest, wanted, step = rest // taken, wanted // taken, step * taken
    following = iter(runs)
    shape = tuple([_refined(mode, following) for mode in inner.shape])
    strides = tuple([along(a, s) if a else ZERO for run in runs for _, a, s in run[::-1] or [(1, None, 0)]])
    return layout.with_parts(shape, strides, layout.replica, layout.offset)


def _own_digits(layout: Layout) -> list[_Digit] | None:
    """The digits that move, the fastest last; None for a diagonal one."""
    digits: list[_Digit] = []
    for extent, stride in layout.digits:
        if extent > 1:
            terms = stride.terms
            if len(terms) > 1:
                return None
            digits.append((extent, *terms[0]) if terms else (extent, None, 0))
    return digits


def _append(run: list[_Digit], extent: int, axis: Axis | None, step: int) -> None:
    """One more digit of a run, fastest first, joined to the last where it goes on with it."""
    if run:
        last, same, fast = run[-1]
        if step == last * fast and (not step or axis == same):
            run[-1] = (last * extent, same, fast)
            return
    run.append((extent, axis, step))


def _refined(mode: Mode, runs: Iterator[list[_Digit]]) -> Mode:
    """A mode with every digit replaced by its run."""
    if isinstance(mode, tuple):
        return tuple([_refined(inner, runs) for inner in mode])
    run = next(runs)
    if len(run) < 2:
        return mode
    return tuple([extent for extent, _, _ in reversed(run)])
