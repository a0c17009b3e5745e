"""An atom tiled over owners and over registers: which of many threads holds which element of a large tile.

Mode by mode, the slowest digit first:

    element of the tile  =  permutation( repeat, owner, element of the atom )

The atom lies once at every owner: a warp, a warpgroup or a thread. A larger tile repeats in the
registers of all of them. That is CuTe's TiledMMA, whose permutation names the elements of the tile in the
order in which atoms take them (`thrfrg_A` and its like in cute/atom/mma_atom.hpp).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from tilewise.core import orders
from tilewise.core.algebra.composition import compose
from tilewise.core.algebra.inverses import right_inverse
from tilewise.core.algebra.places import split_axis
from tilewise.core.algebra.tiles import direct_sum, storage_axis
from tilewise.core.axes import STORAGE, Axis
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_extent
from tilewise.core.layout import Layout, Replicas
from tilewise.core.shapes import extents_of
from tilewise.core.vectors import along

Extent = Layout | int | None
"""The part of a mode that a tile has: an extent, or a permutation of that size; None for no repeats."""

OPERANDS = {"A": (0, 2), "B": (1, 2), "C": (0, 1), "D": (0, 1)}
"""{operand of an MMA: which of M, N and K its modes are}."""


def tiled(atom: Layout, owners: Layout, tile: Sequence[Extent] = ()) -> Layout:
    """Return `atom` at every owner, and in their registers again and again until it fills `tile`.

    A mode of `tile` is an extent, a permutation, or None where the owners fill it. A permutation is a layout:
    where it sends i, the i-th element of the mode lies in the tile. Repeats count on the atom's storage axis,
    the leftmost mode fastest.

        requires       atom and owners have as many modes; steps of the owners are as they are
        postcondition  tiled(A, O, P)(p(r, o, a)) = A(a) + O(o) + span(A) r     for each mode's p in P
        refused        TW507 an extent that owners and atom do not divide; TW505 no permutation

    >>> from tilewise import R, S, laneid, reg, warpid
    >>> tiled(S[(8, 4) : (4@laneid, 1@laneid)], S[(2, 1) : (1@warpid, 0)] + R[2 : 2@warpid], (32, None))
    S[((2, 2, 8), 4) : ((1@reg, 1@warpid, 4@laneid), 1@laneid)] + R[2 : 2@warpid]
    """
    return _tiled(atom, owners, [_inverse(mode, part) for mode, part in enumerate(tile)])


@orders.by_mode
def _tiled(atom: Layout, owners: Layout, asked: list[Extent]) -> Layout:
    """Return the tile, whose permutations are turned round already."""
    whole = direct_sum(owners, atom)
    have = extents_of(whole.shape)
    asked = asked or [None] * len(have)
    if len(asked) != len(have):
        raise LayoutError(
            "TW503",
            f"a tile of {len(asked)} modes for an atom of {len(have)}",
            hint="say None for a mode that does not repeat",
        )
    repeats = [_repeats(mode, *pair) for mode, pair in enumerate(zip(have, asked, strict=True))]
    if prod(repeats) > 1:
        whole = direct_sum(_repeated(atom, repeats), whole)
    if any(isinstance(part, Layout) for part in asked):
        whole = compose(whole, tuple([part if isinstance(part, Layout) else None for part in asked]))
    return whole.coalesce(by_mode=True)


def _repeats(mode: int, extent: int, part: Extent) -> int:
    """Return the number of repeats of a mode."""
    if part is None:
        return 1
    asked = part.size if isinstance(part, Layout) else as_extent(part)
    if asked % extent:
        raise Refused(
            "TW507",
            f"mode {mode} of the tile has {asked} elements, and its owners take {extent} at a time",
            witness=asked % extent,
            hint=f"a multiple of {extent}",
        )
    return asked // extent


def _repeated(atom: Layout, repeats: Sequence[int]) -> Layout:
    """Return the grid of repeats, in steps of one owner's part."""
    stored = any(axis.kind == STORAGE and axis.name in atom.moving for axis in atom.axes)
    axis = storage_axis(atom, "repeats count", None if stored else "reg")
    step = atom.span(axis)
    strides = [along(axis, step * prod(repeats[:mode])) for mode in range(len(repeats))]
    return Layout(tuple(repeats), tuple(strides))


def _inverse(mode: int, part: Extent) -> Extent:
    """Return the layout that sends the elements of a mode to the order in which atoms take them."""
    if not isinstance(part, Layout):
        return part
    inverse = right_inverse(orders.by_flat_index(part)) if part.size > 1 else part
    if inverse.size != part.size or part.moving not in ((), ("m",)):
        raise Refused(
            "TW505",
            f"{part} is no permutation of the {part.size} elements of mode {mode}",
            witness=part.size,
            hint="such as (8,2,2):(1,16,8), which puts each of 32 elements at a place of its own",
        )
    return inverse


def tiled_operand(
    atom: Layout, operand: str, axis: Axis, groups: Sequence[Layout], tile: Sequence[Extent]
) -> Layout:
    """Return the fragment of an operand of a tile, that several atoms compute.

    `groups` number the atoms along M, N and K on `axis`, and `tile` has the extents of those. Atoms along the
    one that the operand has not hold copies.
    """
    if len(groups) != 3 or len(tile) != 3:
        message = f"{len(groups)} modes of threads, {len(tile)} of a tile, and M, N and K are three"
        raise LayoutError("TW503", message, hint="such as (2,2,1); _ leaves a mode of a tile as it is")
    modes = OPERANDS[operand]
    (third,) = {0, 1, 2}.difference(modes)
    owners = on_axis(axis, [groups[mode] for mode in modes])
    copies = [it for it in on_axis(axis, [groups[third]]).shard if it.extent > 1]
    return by_warps(tiled(atom, owners + Replicas(tuple(copies)), [tile[mode] for mode in modes]))


def on_axis(axis: Axis, modes: Sequence[Layout]) -> Layout:
    """Return the layout of these modes, whose numbers are steps on an axis.

    >>> from tilewise import S, warpid
    >>> on_axis(warpid, [S[2 : 1], S[(2, 3) : (6, 2)]])
    S[(2, (2, 3)) : (1@warpid, (6@warpid, 2@warpid))]
    """
    strides = [stride["m"] @ axis for mode in modes for stride in mode.strides]
    order = modes[0].order if modes else "row"
    return Layout(tuple([mode.shape for mode in modes]), tuple(strides), order=order)


def by_warps(layout: Layout) -> Layout:
    """Return a layout of threads as one of warps and lanes; as it is where threads do not split into those.

    >>> from tilewise import S, tx
    >>> by_warps(S[(2, 64) : (64@tx, 1@tx)]), by_warps(S[(3, 20) : (20@tx, 1@tx)])
    (S[(2, (2, 32)) : (2@warpid, (1@warpid, 1@laneid))], S[(3, 20) : (20@tx, 1@tx)])
    """
    if "tx" not in layout.moving:
        return layout
    try:
        found = split_axis(layout, "tx")
    except Refused:
        return layout
    return found if len(found.shape) == len(layout.shape) else replace(found, shape=(found.shape,))
