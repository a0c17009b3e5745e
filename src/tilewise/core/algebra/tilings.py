"""Divides and products: a layout as tiles, and a layout repeated; modes in two parts.

Both make (first, second) of a layout, or of each of its modes: the elements of a tile, and the tile's number.
The parts stand side by side in each mode, or all firsts before all seconds.

    logical    A o (B, complement(B, size of A)):  (in a tile, which tile)
    zipped     ((in a tile), (which tile));   tiled  ((in a tile), which tile, ...);   flat  all side by side

A tiler is a layout B of A's flat index, an extent n (for n : 1), or a tuple of tilers, one a mode: None
keeps its mode whole, `...` all that are not named, and modes without a tiler are not cut. All is on the
side of the index: copies, offsets and swizzles of A stay as they are. Nothing is rounded up: tiles
that do not fill A exactly are refused.

    logical    (A, C o B) with C the complement of A:   (in the block, which repetition)
    zipped     ((block), (repetitions));   tiled  ((block), repetition, ...);   flat  all side by side
    blocked    mode by mode (B_i, A_i): blocks side by side;   raked  (A_i, B_i): elements dealt out

B numbers the repetitions: its value k is the k-th translate of A, in ascending order, of those that fill
the axis without overlap. So the first mode is A, with its copies, offset and swizzles; a swizzle is the
same for all repetitions only where they are whole periods apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from tilewise.core import orders
from tilewise.core.algebra.complements import Step, complement, image_of, repeated, tiling_of
from tilewise.core.algebra.composition import as_tiler, compose, tilers_of
from tilewise.core.algebra.modes import as_tilers, mode_layouts
from tilewise.core.builders import dense
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.core.polynomials import if_settled
from tilewise.core.shapes import as_shape, leaves, one_mode, size_of, spell
from tilewise.core.vectors import ZERO, Vector, along

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypeAlias

    from tilewise.core.axes import Axis
    from tilewise.core.shapes import Mode

    _Digit: TypeAlias = tuple[int, Axis | None, int]


# -- modes in two parts ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Piece:
    """A mode and the strides of its digits."""

    mode: Mode
    strides: tuple[Vector, ...]

    @property
    def modes(self) -> list[Piece]:
        """Return the modes directly inside."""
        if not isinstance(self.mode, tuple):
            return [self]
        pieces, start = [], 0
        for mode in self.mode:
            stop = start + sum(1 for _ in leaves(mode))
            pieces.append(Piece(mode, self.strides[start:stop]))
            start = stop
        return pieces


WHOLE = Piece(1, (ZERO,))
"""A mode of one element."""


def joined(pieces: Sequence[Piece]) -> Piece:
    """Return pieces as one mode of them."""
    mode = one_mode(tuple([piece.mode for piece in pieces]))
    return Piece(mode, tuple([stride for piece in pieces for stride in piece.strides]) or (ZERO,))


def piece_of(layout: Layout) -> Piece:
    """Return a whole layout as one mode, without its offset, copies and swizzles."""
    return Piece(one_mode(layout.shape), layout.strides or (ZERO,))


def layout_of(pieces: Sequence[Piece], around: Layout) -> Layout:
    """Return the layout whose modes are the pieces, with the copies, offset, swizzles and unit of another."""
    strides = tuple([stride for piece in pieces for stride in piece.strides])
    modes = tuple([piece.mode for piece in pieces])
    return around.with_parts(modes, strides, around.replica, around.offset)


def acting(layout: Layout) -> Layout:
    """Return the same map without swizzles that have no effect on it, its digits as they are written.

    Such a swizzle may have an effect on a larger layout of which this one becomes a part.

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
    """A layout whose modes are cut in two: the elements of a tile, and the tile's number.

    `pairs` has the two side by side. Copies, offset and swizzles are those of `around`.
    """

    around: Layout
    firsts: Sequence[Piece]
    seconds: Sequence[Piece]
    pairs: Sequence[Piece]

    @classmethod
    def of(cls, layout: Layout, tiler: Any, cut: Callable[[Layout, Any], Layout]) -> Cut:
        """Return the cut of a layout by a tiler, or mode by mode by a tuple; modes without one stay."""
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
        """Return every mode as (first, second)."""
        return layout_of(self.pairs, self.around)

    def zipped(self) -> Layout:
        """Return ((firsts), (seconds))."""
        return layout_of([joined(self.firsts), joined(self.seconds)], self.around)

    def tiled(self) -> Layout:
        """Return ((firsts), second, second, ...)."""
        return layout_of([joined(self.firsts), *self.seconds], self.around)

    def flat(self) -> Layout:
        """Return (first, first, ..., second, second, ...)."""
        return layout_of([*self.firsts, *self.seconds], self.around)


# -- digits that divide ----------------------------------------------------------------------------


def split_evenly(layout: Layout, inner: Layout) -> Layout | None:
    """Return `compose` where it only splits digits, or None where it may do more.

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
    """Return the digits that move, the fastest last, or None where one is diagonal."""
    digits: list[_Digit] = []
    for extent, stride in layout.digits:
        if extent > 1:
            terms = stride.terms
            if len(terms) > 1:
                return None
            digits.append((extent, *terms[0]) if terms else (extent, None, 0))
    return digits


def _append(run: list[_Digit], extent: int, axis: Axis | None, step: int) -> None:
    """Append one digit to a run, fastest first, joined to the last where it goes on with it."""
    if run:
        last, same, fast = run[-1]
        if step == last * fast and (not step or axis == same):
            run[-1] = (last * extent, same, fast)
            return
    run.append((extent, axis, step))


def _refined(mode: Mode, runs: Iterator[list[_Digit]]) -> Mode:
    """Return a mode with every digit replaced by its run."""
    if isinstance(mode, tuple):
        return tuple([_refined(inner, runs) for inner in mode])
    run = next(runs)
    if len(run) < 2:
        return mode
    return tuple([extent for extent, _, _ in reversed(run)])


# -- products --------------------------------------------------------------------------------------


def logical_product(layout: Layout, other: Any, *more: Any) -> Layout:
    """Return (the block, its repetitions in the order of `other`); of a tuple of layouts, so for every mode.

    `other` is a layout of repetition numbers, an extent n (for n : 1), or a tuple, one a mode.

        requires       A moves on one axis, its translates fill it; `other` has no copies and no swizzle
        postcondition  result(a, r) == A(a) + C(other(r)), C the complement of A, as long as is needed
        refused        TW506 A leaves holes that no translates fill; TW504 a swizzle, and repetitions that
                       are no whole periods apart; TW509 axes or copies; else what `compose` refuses

    >>> from tilewise import S
    >>> logical_product(S[(2, 2) : (1, 4)], 6)
    S[((2, 2), (3, 2)) : ((1, 4), (8, 2))]
    >>> logical_product(S[(2, 4) : (4, 1)], S[(3, 2) : (1, 3)])
    S[((2, 4), (3, 2)) : ((4, 1), (8, 24))]
    """
    if more or isinstance(other, tuple | list):
        return _cut(layout, other, more).logical()
    return _repeated(layout, other)


def zipped_product(layout: Layout, other: Any, *more: Any) -> Layout:
    """Return ((block), (repetitions)): the logical product, of a tuple with its modes sorted so.

    >>> from tilewise import S
    >>> zipped_product(S[(2, 4) : (4, 1)], S[(3, 2) : (2, 1)])
    S[((2, 4), (3, 2)) : ((4, 1), (16, 8))]
    """
    return _cut(layout, other, more).zipped()


def tiled_product(layout: Layout, other: Any, *more: Any) -> Layout:
    """Return ((block), repetitions, mode by mode).

    >>> from tilewise import S
    >>> tiled_product(S[(2, 4) : (4, 1)], S[(3, 2) : (2, 1)])
    S[((2, 4), 3, 2) : ((4, 1), 16, 8)]
    """
    return _cut(layout, other, more).tiled()


def flat_product(layout: Layout, other: Any, *more: Any) -> Layout:
    """Return (the block, mode by mode, repetitions, mode by mode).

    >>> from tilewise import S
    >>> flat_product(S[(2, 4) : (4, 1)], S[(3, 2) : (2, 1)])
    S[(2, 4, 3, 2) : (4, 1, 16, 8)]
    """
    return _cut(layout, other, more).flat()


def blocked_product(layout: Layout, other: Any) -> Layout:
    """Return blocks of A side by side, mode by mode: mode i is (block number, element of the block).

        postcondition  result[(b_i, a_i) in mode i] == logical_product(A, other)(a, b), the shorter of the
                       two with modes of one element at its end

    >>> from tilewise import S
    >>> blocked_product(S[(2, 5) : (5, 1)], S[(3, 4) : (1, 3)])
    S[((3, 2), (4, 5)) : ((10, 5), (30, 1))]
    """
    return _interleaved(layout, other, outer_first=True)


def raked_product(layout: Layout, other: Any) -> Layout:
    """Return the elements of A dealt out, mode by mode: mode i is (element of the block, block number).

    >>> from tilewise import S
    >>> raked_product(S[(2, 5) : (5, 1)], S[(3, 4) : (1, 3)])
    S[((2, 3), (5, 4)) : ((5, 10), (1, 30))]
    """
    return _interleaved(layout, other, outer_first=False)


def tile_to_shape(block: Layout, shape: Any, order: Sequence[int] | None = None) -> Layout:
    """Return blocks up to a whole shape: the modes of the result are those of `shape`.

    Blocks lie in the order in which the block counts, or by `order`: order[i] ranks mode i by its
    stride, so blocks beside each other along the mode of the lowest rank are neighbours in memory. CuTe's
    Step<_1, _2>, and its own default, are order (0, 1); its Step<_2, _1> is (1, 0), which is row-major.

        requires       every mode of the block divides that of the shape
        postcondition  coalesce(blocked_product(block, the blocks in order), by mode)
        refused        TW503 a mode that does not divide; else what `logical_product` refuses

    >>> from tilewise import S, Swizzle
    >>> atom = Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)]
    >>> tile_to_shape(atom, (16, 128))
    Swizzle(3, 3, 3) @ S[((2, 8), (2, 64)) : ((1024, 64), (512, 1))]
    >>> tile_to_shape(atom, (16, 128), order=(0, 1))
    Swizzle(3, 3, 3) @ S[(16, (2, 64)) : (64, (1024, 1))]
    """
    whole = as_shape(shape)
    modes = [size_of(mode) for mode in block.shape] + [1] * (len(whole) - len(block.shape))
    if len(modes) > len(whole):
        raise LayoutError(
            "TW202",
            f"a block of {len(modes)} modes does not tile {spell(whole)}, which has {len(whole)}",
            hint="give one extent for every mode of the block",
        )
    extents = [size_of(mode) for mode in whole]
    for number, (extent, part) in enumerate(zip(extents, modes, strict=True)):
        if extent % part:
            below = extent - extent % part
            next_ones = f"the next multiples are {below} and {below + part}"
            raise Refused(
                "TW503",
                f"mode {number}: blocks of {part} do not make up {extent}",
                witness={"mode": number, "extent": extent, "block": part},
                hint=next_ones if below else f"one block is {part}",
            )
    counts = [extent // part for extent, part in zip(extents, modes, strict=True)]
    if order is None and block.order != "row":
        order = range(len(counts))
    grid = dense(tuple(counts), _ranks(order, len(counts))).in_order(block.order)
    return blocked_product(block, grid).coalesce(by_mode=True)


def _ranks(order: Sequence[int] | None, rank: int) -> list[int]:
    if order is None:
        return list(range(rank))[::-1]
    ranks = [as_int(number, "a rank in the order") for number in order]
    if len(ranks) != rank or len(set(ranks)) != rank:
        raise LayoutError(
            "TW201",
            f"the order {spell(tuple(ranks))} does not rank {rank} modes",
            hint="one number a mode, all different: the lowest for the mode whose blocks lie together",
        )
    return ranks


# -- one product -----------------------------------------------------------------------------------


def _cut(layout: Layout, other: Any, more: tuple[Any, ...]) -> Cut:
    """Return block and repetitions, for a tuple mode by mode: each mode as though it were alone."""
    other = as_tilers(other, more)
    if isinstance(other, tuple | list) and acting(layout).swizzles:
        raise Refused(
            "TW504",
            "the block is swizzled, and its modes are no addresses of their own",
            hint="blocked_product repeats the whole block, mode by mode",
        )
    return Cut.of(layout, other, _repeated)


@orders.by_flat_in_modes
def _repeated(layout: Layout, other: Any) -> Layout:
    """Return the logical product with one layout: two modes."""
    axis, steps = image_of(layout)
    layout = acting(layout)
    repeats = _repetitions(layout, axis, steps, as_tiler(other))
    shape = one_mode(layout.shape), one_mode(repeats.shape)
    strides = (layout.strides or (ZERO,)) + (repeats.strides or (ZERO,))
    offset = layout.offset + repeats.offset if repeats.offset.terms else layout.offset
    return layout.with_parts(shape, strides, layout.replica, offset)


def _repetitions(layout: Layout, axis: Axis, steps: list[Step], other: Layout) -> Layout:
    """Return C o other: the distance of the block for every repetition."""
    if other.replica or any(swizzle.bits for swizzle in other.swizzles):
        raise Refused(
            "TW509" if other.replica else "TW504",
            f"{other} has {'copies' if other.replica else 'a swizzle'}, and a repetition one number",
            hint="give the copies or the swizzle to the block, or to the product",
        )
    tiling = tiling_of(steps)
    numbers, _ = image_of(other)
    steps_up = [max(0, stride[numbers]) * (extent - 1) for extent, stride in other.digits]
    last = other.offset[numbers] + sum(steps_up)
    inside = prod([extent for _, extent in tiling.repeats])
    blocks = last // inside + 1
    steps = [*tiling.repeats, (tiling.block, blocks)] if blocks > 1 else tiling.repeats
    moves = repeated(layout, axis, steps)
    repeats = split_evenly(moves, other) or compose(moves, other)
    if layout.swizzles:
        swizzled, period = layout.swizzles[0].axis, layout.period
        odd = next((step for v in (repeats.offset, *repeats.strides) if (step := v[swizzled]) % period), None)
        if odd is not None:
            raise Refused(
                "TW504",
                f"the swizzle repeats every {period} places, and the block every {odd}",
                witness=odd,
                hint="make the block whole periods long, or swizzle the product of the plain block",
            )
    return repeats


def _interleaved(layout: Layout, other: Any, outer_first: bool) -> Layout:
    """Return the product with the modes of block and repetitions paired."""
    slow_first = outer_first == (layout.order == "row")  # in CuTe's order the fast part stands first
    numbers = as_tiler(other)
    product = _repeated(layout, numbers)
    block, repeats = Piece(product.shape, product.strides).modes
    inner = block.modes if len(layout.shape) > 1 else [block]
    outer = repeats.modes if len(numbers.shape) > 1 else [repeats]
    pieces = []
    for i in range(max(len(inner), len(outer))):
        pair = [*outer[i : i + 1], *inner[i : i + 1]]
        pieces.append(joined(pair if slow_first else pair[::-1]))
    return layout_of(pieces, product)


# -- divides ---------------------------------------------------------------------------------------


def logical_divide(layout: Layout, tiler: Any, *more: Any) -> Layout:
    """Return (elements of a tile, tile number); of a tuple of tilers, so for every mode.

        requires       the translates of the tiler fill [0, size of A), or of the mode
        postcondition  result(t, r) == A(B(t) + C(r)) with C = complement(B, size of A)
        refused        TW506 the tiles do not fill A; else what `compose` refuses

    >>> from tilewise import S
    >>> logical_divide(S[(3, 2, 4) : (8, 1, 2)], S[4 : 2])
    S[((2, 2), (3, 2)) : ((1, 4), (8, 2))]
    >>> logical_divide(S[(8, 6) : (6, 1)], (4, None))
    S[((4, 2), 6) : ((6, 24), 1)]
    """
    if more or isinstance(tiler, tuple | list):
        return _divided(layout, tiler, more).logical()
    return _in_tiles(layout, tiler)


def zipped_divide(layout: Layout, tiler: Any, *more: Any) -> Layout:
    """Return ((all modes in a tile), (tile number, all modes)).

        postcondition  its first mode is compose(A, tiler)

    >>> from tilewise import S
    >>> zipped_divide(S[(8, 6) : (6, 1)], (4, 3))
    S[((4, 3), (2, 2)) : ((6, 1), (24, 3))]
    """
    return _divided(layout, tiler, more).zipped()


def tiled_divide(layout: Layout, tiler: Any, *more: Any) -> Layout:
    """Return ((all modes in a tile), tile number, mode by mode).

    >>> from tilewise import S
    >>> tiled_divide(S[(8, 6) : (6, 1)], (4, 3))
    S[((4, 3), 2, 2) : ((6, 1), 24, 3)]
    """
    return _divided(layout, tiler, more).tiled()


def flat_divide(layout: Layout, tiler: Any, *more: Any) -> Layout:
    """Return (in a tile, mode by mode, tile number, mode by mode).

    >>> from tilewise import S
    >>> flat_divide(S[(8, 6) : (6, 1)], (4, 3))
    S[(4, 3, 2, 2) : (6, 1, 24, 3)]
    """
    return _divided(layout, tiler, more).flat()


def _divided(layout: Layout, tiler: Any, more: tuple[Any, ...]) -> Cut:
    return Cut.of(layout, as_tilers(tiler, more), _in_tiles)


@orders.by_flat_in_modes
def _in_tiles(layout: Layout, tiler: Any) -> Layout:
    """Return `logical_divide` by one tiler of the flat index: a layout of two modes."""
    inner = acting(as_tiler(tiler))
    try:
        rest = complement(inner, layout.size)
    except Refused as no:
        if no.code != "TW506":
            raise
        raise Refused(
            "TW506",
            f"tiles {inner} do not make up {layout.size} elements: {no.message}",
            witness=no.witness,
            hint=_padded(layout, inner),
        ) from None
    shape = one_mode(inner.shape), one_mode(rest.shape)
    strides = (inner.strides or (ZERO,)) + rest.strides
    both = inner.with_parts(shape, strides, inner.replica, inner.offset)
    return split_evenly(layout, both) or compose(layout, both)


def _padded(layout: Layout, inner: Layout) -> str:
    """Return the advice for tiles that do not fill a layout: CuTe takes tiles that run over its end."""
    advice = "choose a tiler that repeats evenly, or pad the layout"
    rest = if_settled(lambda: complement(inner, layout.size, round_up=True))
    if rest is None:
        return f"{advice}: no tile is cut off or run over"
    reached = rest.size * inner.size
    return f"{advice} to {reached} elements: CuTe goes on to there, with the complement {rest}"
