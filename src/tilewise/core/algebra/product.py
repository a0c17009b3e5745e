"""Products: a layout repeated, in the order of another.

    logical    (A, C o B) with C the complement of A:   (in the block, which repetition)
    zipped     ((block), (repetitions));   tiled  ((block), repetition, ...);   flat  all side by side
    blocked    mode by mode (B_i, A_i): blocks side by side;   raked  (A_i, B_i): elements dealt out

B numbers the repetitions: its value k is the k-th translate of A, in ascending order, of those that fill
the axis without overlap. So the first mode is A, with its copies, offset and swizzles; a swizzle is the
same for all repetitions only where they are whole periods apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewise.core import orders
from tilewise.core.algebra.complements import Image, image_of, repeated, tiling_of
from tilewise.core.algebra.composition import as_tiler, compose
from tilewise.core.algebra.modes import as_tilers
from tilewise.core.algebra.pieces import Cut, Piece, acting, joined, layout_of, one_mode, split_evenly
from tilewise.core.builders import dense
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.core.shapes import as_shape, size_of, spell
from tilewise.core.vectors import ZERO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def logical_product(layout: Layout, other: Any, *more: Any) -> Layout:
    """(the block, its repetitions in the order of `other`); of a tuple of layouts, so for every mode.

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
    """((block), (repetitions)): the logical product, of a tuple with its modes sorted so.

    >>> from tilewise import S
    >>> zipped_product(S[(2, 4) : (4, 1)], S[(3, 2) : (2, 1)])
    S[((2, 4), (3, 2)) : ((4, 1), (16, 8))]
    """
    return _cut(layout, other, more).zipped()


def tiled_product(layout: Layout, other: Any, *more: Any) -> Layout:
    """((block), repetitions, mode by mode).

    >>> from tilewise import S
    >>> tiled_product(S[(2, 4) : (4, 1)], S[(3, 2) : (2, 1)])
    S[((2, 4), 3, 2) : ((4, 1), 16, 8)]
    """
    return _cut(layout, other, more).tiled()


def flat_product(layout: Layout, other: Any, *more: Any) -> Layout:
    """(the block, mode by mode, repetitions, mode by mode).

    >>> from tilewise import S
    >>> flat_product(S[(2, 4) : (4, 1)], S[(3, 2) : (2, 1)])
    S[(2, 4, 3, 2) : (4, 1, 16, 8)]
    """
    return _cut(layout, other, more).flat()


def blocked_product(layout: Layout, other: Any) -> Layout:
    """Mode by mode blocks of A, one beside another: mode i is (which block, where in the block).

        postcondition  result[(b_i, a_i) in mode i] == logical_product(A, other)(a, b), the shorter of the
                       two with modes of one element at its end

    >>> from tilewise import S
    >>> blocked_product(S[(2, 5) : (5, 1)], S[(3, 4) : (1, 3)])
    S[((3, 2), (4, 5)) : ((10, 5), (30, 1))]
    """
    return _interleaved(layout, other, outer_first=True)


def raked_product(layout: Layout, other: Any) -> Layout:
    """Mode by mode the elements of A dealt out: mode i is (where in the block, which block).

    >>> from tilewise import S
    >>> raked_product(S[(2, 5) : (5, 1)], S[(3, 4) : (1, 3)])
    S[((2, 3), (5, 4)) : ((5, 10), (1, 30))]
    """
    return _interleaved(layout, other, outer_first=False)


def tile_to_shape(block: Layout, shape: Any, order: Sequence[int] | None = None) -> Layout:
    """Blocks up to a whole shape: the modes of the result are those of `shape`.

    Blocks lie in the order in which the block counts, or as `order` says: order[i] ranks mode i by its
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
            raise Refused(
                "TW503",
                f"mode {number}: blocks of {part} do not make up {extent}",
                witness={"mode": number, "extent": extent, "block": part},
                hint=_next_multiples(extent, part),
            )
    counts = [extent // part for extent, part in zip(extents, modes, strict=True)]
    if order is None and block.order != "row":
        order = range(len(counts))
    grid = dense(tuple(counts), _ranks(order, len(counts))).in_order(block.order)
    return blocked_product(block, grid).coalesce(by_mode=True)


def _next_multiples(extent: int, part: int) -> str:
    below = extent - extent % part
    return f"the next multiples are {below} and {below + part}" if below else f"one block is {part}"


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
    """Block and repetitions, for a tuple mode by mode: each mode as though it were alone."""
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
    """The logical product with one layout: two modes."""
    image = image_of(layout)
    layout = acting(layout)
    repeats = _repetitions(layout, image, as_tiler(other))
    shape = one_mode(layout.shape), one_mode(repeats.shape)
    strides = (layout.strides or (ZERO,)) + (repeats.strides or (ZERO,))
    offset = layout.offset + repeats.offset if repeats.offset.terms else layout.offset
    return layout.with_parts(shape, strides, layout.replica, offset)


def _repetitions(layout: Layout, image: Image, other: Layout) -> Layout:
    """C o other: how far the block moves for every repetition."""
    if other.replica or any(swizzle.bits for swizzle in other.swizzles):
        raise Refused(
            "TW509" if other.replica else "TW504",
            f"{other} has {'copies' if other.replica else 'a swizzle'}, and a repetition one number",
            hint="give the copies or the swizzle to the block, or to the product",
        )
    tiling = tiling_of(image.steps)
    numbers = image_of(other)
    last = other.offset[numbers.axis] + sum(
        [max(0, stride[numbers.axis]) * (extent - 1) for extent, stride in other.digits]
    )
    inside = prod([extent for _, extent in tiling.repeats])
    blocks = last // inside + 1
    steps = [*tiling.repeats, (tiling.block, blocks)] if blocks > 1 else tiling.repeats
    moves = repeated(layout, image.axis, steps)
    repeats = split_evenly(moves, other) or compose(moves, other)
    if layout.swizzles:
        _check_periods(layout, repeats)
    return repeats


def _check_periods(layout: Layout, repeats: Layout) -> None:
    axis, period = layout.swizzles[0].axis, layout.period
    for step in (repeats.offset, *repeats.strides):
        if step[axis] % period:
            raise Refused(
                "TW504",
                f"the swizzle repeats every {period} places, and the block every {step[axis]}",
                witness=step[axis],
                hint="make the block whole periods long, or swizzle the product of the plain block",
            )


def _interleaved(layout: Layout, other: Any, outer_first: bool) -> Layout:
    """The product with the modes of block and repetitions paired."""
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
