"""The algebra as methods of a layout; every operation's law stands where it is defined."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, SupportsIndex

    from tilewise.core.algebra.relations import Relation
    from tilewise.core.algebra.slicing import Slices
    from tilewise.core.axes import Axis
    from tilewise.core.dtypes import DType
    from tilewise.core.layout import Layout
    from tilewise.core.vectors import Vector


class Algebra:
    """What can be made of a layout. A result is exact, or `Refused` says why there is none."""

    # -- modes: the same map under another shape ---------------------------------------------------

    def coalesce(self: Any, by_mode: bool = False) -> Layout:
        """Neighbouring digits merged; with `by_mode` inside every mode, which keeps the modes."""
        from tilewise.core.algebra.modes import coalesce

        return coalesce(self, by_mode)

    def flatten(self: Any) -> Layout:
        """Every digit a mode of its own."""
        from tilewise.core.algebra.modes import flatten

        return flatten(self)

    def group(self: Any, *shape: Any) -> Layout:
        """The same map with modes of these sizes, digits split where they must be, none merged."""
        from tilewise.core.algebra.modes import group

        return group(self, *shape)

    def reshape(self: Any, *shape: Any) -> Layout:
        """The same map in another shape of the same size."""
        from tilewise.core.algebra.modes import reshape

        return reshape(self, *shape)

    def split(self: Any, mode: int, *extents: int) -> Layout:
        """One mode as several, the first slowest."""
        from tilewise.core.algebra.modes import split

        return split(self, mode, *extents)

    def regroup(self: Any, *parts: Any) -> Layout:
        """Modes bracketed: `regroup((0, 1), 2)` makes the first two one mode."""
        from tilewise.core.algebra.modes import regroup

        return regroup(self, *parts)

    def permute(self: Any, *order: int) -> Layout:
        """The modes in another order: a view under another index."""
        from tilewise.core.algebra.modes import permute

        return permute(self, *order)

    def refinement(self: Any, other: Layout) -> tuple[Layout, Layout]:
        """Both maps over one flat shape: the coarsest that has the digits of both."""
        from tilewise.core.algebra.modes import refinement

        return refinement(self, other)

    # -- maps: one layout after another ------------------------------------------------------------

    def compose(self: Any, inner: Any, *more: Any, modes: Sequence[str] | None = None) -> Layout:
        """`self o inner`: the layout of x -> self(inner(x)); several go mode by mode."""
        from tilewise.core.algebra.composition import compose

        return compose(self, _tiler(inner, more), modes)

    def slice(self: Any, *region: Any, shape: Any = None) -> Slices:
        """A box of the index space as one layout, or as an exact list of (box, layout)."""
        from tilewise.core.algebra.slicing import slices

        return slices(self, *region, shape=shape)

    def inverse(self: Any, axes: Any = None) -> Layout:
        """From places to indices: `left_inverse`."""
        from tilewise.core.algebra.inverses import left_inverse

        return left_inverse(self, axes)

    def left_inverse(self: Any, axes: Any = None) -> Layout:
        """G with G(self(x)) == x; one mode an axis, in the order of `self.axes` or of `axes`."""
        from tilewise.core.algebra.inverses import left_inverse

        return left_inverse(self, axes)

    def right_inverse(self: Any, axes: Any = None) -> Layout:
        """G with self(G(i)) == i for every i that it has."""
        from tilewise.core.algebra.inverses import right_inverse

        return right_inverse(self, axes)

    def quasi_inverse(self: Any, axes: Any = None) -> Layout:
        """From a place to the smallest index that lives there."""
        from tilewise.core.algebra.inverses import quasi_inverse

        return quasi_inverse(self, axes)

    def complement(self: Any, size: int | None = None, weak: bool = False, round_up: bool = False) -> Layout:
        """The layout that fills what this one leaves of [0, size) by moving it."""
        from tilewise.core.algebra.complements import complement

        return complement(self, size, weak, round_up)

    # -- divides and products ----------------------------------------------------------------------

    def logical_divide(self: Any, tiler: Any, *more: Any) -> Layout:
        """(what lies in a tile, which tile); several tilers go mode by mode."""
        from tilewise.core.algebra.divide import logical_divide

        return logical_divide(self, _tiler(tiler, more))

    def zipped_divide(self: Any, tiler: Any, *more: Any) -> Layout:
        """((all modes in a tile), (which tile, all modes))."""
        from tilewise.core.algebra.divide import zipped_divide

        return zipped_divide(self, _tiler(tiler, more))

    def tiled_divide(self: Any, tiler: Any, *more: Any) -> Layout:
        """((all modes in a tile), which tile, mode by mode)."""
        from tilewise.core.algebra.divide import tiled_divide

        return tiled_divide(self, _tiler(tiler, more))

    def flat_divide(self: Any, tiler: Any, *more: Any) -> Layout:
        """(in a tile, mode by mode, which tile, mode by mode)."""
        from tilewise.core.algebra.divide import flat_divide

        return flat_divide(self, _tiler(tiler, more))

    def logical_product(self: Any, other: Any, *more: Any) -> Layout:
        """(self, its repetitions in the order of `other`)."""
        from tilewise.core.algebra.product import logical_product

        return logical_product(self, _tiler(other, more))

    def zipped_product(self: Any, other: Any, *more: Any) -> Layout:
        """((self), (repetitions))."""
        from tilewise.core.algebra.product import zipped_product

        return zipped_product(self, _tiler(other, more))

    def tiled_product(self: Any, other: Any, *more: Any) -> Layout:
        """((self), repetitions, mode by mode)."""
        from tilewise.core.algebra.product import tiled_product

        return tiled_product(self, _tiler(other, more))

    def flat_product(self: Any, other: Any, *more: Any) -> Layout:
        """(self, mode by mode, repetitions, mode by mode)."""
        from tilewise.core.algebra.product import flat_product

        return flat_product(self, _tiler(other, more))

    def blocked_product(self: Any, other: Any) -> Layout:
        """Mode by mode: blocks of self, side by side."""
        from tilewise.core.algebra.product import blocked_product

        return blocked_product(self, other)

    def raked_product(self: Any, other: Any) -> Layout:
        """Mode by mode: the elements of self dealt out, cyclically."""
        from tilewise.core.algebra.product import raked_product

        return raked_product(self, other)

    def tile_to_shape(self: Any, shape: Any, order: Sequence[int] | None = None) -> Layout:
        """Blocks of self up to a whole shape, blocks laid out in `order`."""
        from tilewise.core.algebra.product import tile_to_shape

        return tile_to_shape(self, shape, order)

    # -- tiles and sums ----------------------------------------------------------------------------

    def tile(self: Any, outer: Any, *more: Any) -> Layout:
        """self as the tile, laid out again and again by `outer`, whose steps are scaled by its span."""
        from tilewise.core.algebra.tiles import tile

        return tile(_tiler(outer, more), self)

    def direct_sum(self: Any, other: Layout) -> Layout:
        """Both side by side in every mode, steps as they are."""
        from tilewise.core.algebra.tiles import direct_sum

        return direct_sum(self, other)

    # -- widths and axes ---------------------------------------------------------------------------

    def pack(self: Any, count: int, axis: Axis | str | None = None) -> Layout:
        """`count` neighbouring elements as one."""
        from tilewise.core.algebra.widths import pack

        return pack(self, count, axis)

    def unpack(self: Any, count: int, axis: Axis | str | None = None) -> Layout:
        """Every element as `count` neighbouring ones."""
        from tilewise.core.algebra.widths import unpack

        return unpack(self, count, axis)

    def recast(self: Any, old: DType | str, new: DType | str, axis: Axis | str | None = None) -> Layout:
        """The same bytes as elements of another width."""
        from tilewise.core.algebra.widths import recast

        return recast(self, old, new, axis)

    def broadcast(self: Any, extent: int, position: int = 0) -> Layout:
        """A new mode along which nothing moves."""
        from tilewise.core.algebra.places import broadcast

        return broadcast(self, extent, position)

    def relabel(self: Any, names: Mapping[Any, Any]) -> Layout:
        """The same map with axes renamed."""
        from tilewise.core.algebra.places import relabel

        return relabel(self, names)

    def split_axis(self: Any, axis: Axis | str, into: Sequence[Any] | None = None) -> Layout:
        """One axis as two: `tx` as `warpid` and `laneid`."""
        from tilewise.core.algebra.places import split_axis

        return split_axis(self, axis, into)

    def fuse_axes(self: Any, axes: Sequence[Any], into: Axis | str | None = None) -> Layout:
        """Two axes as one: `warpid` and `laneid` as `tx`."""
        from tilewise.core.algebra.places import fuse_axes

        return fuse_axes(self, axes, into)

    def footprint(self: Any, *axes: Axis | str) -> Layout:
        """What one owner holds: the layout without the axes that tell owners apart."""
        from tilewise.core.algebra.places import footprint

        return footprint(self, *axes)

    # -- swizzles and bits -------------------------------------------------------------------------

    def swizzle_chain(self: Any) -> Layout:
        """The same map with the smallest and fewest swizzles that act on its places."""
        from tilewise.core.algebra.swizzling import swizzle_chain

        return swizzle_chain(self)  # type: ignore[no-any-return]  # of a layout it is a layout

    def move_offset(self: Any, vector: Vector | SupportsIndex | None = None, outside: bool = True) -> Layout:
        """The same map with some of its offset moved out of the swizzles, or back into them."""
        from tilewise.core.algebra.swizzling import move_offset

        return move_offset(self, vector, outside)

    def recognise_map(self: Any) -> Layout:
        """The same map with at most one swizzle, where it is one of XORs."""
        from tilewise.core.algebra.recognition import recognise_map
        from tilewise.core.bits import affine

        return recognise_map(affine(self))

    def bases(self: Any) -> dict[str, tuple[int, ...]]:
        """What every bit of the flat index flips on every axis, the lowest bit first."""
        from tilewise.core.algebra.linear import bases

        return bases(self)

    def rank(self: Any) -> int:
        """r, where the layout has 2^r places."""
        from tilewise.core.algebra.linear import rank

        return rank(self)

    def kernel(self: Any) -> tuple[int, ...]:
        """A basis of the d for which x and x ^ d have one place."""
        from tilewise.core.algebra.linear import kernel

        return kernel(self)

    # -- two layouts -------------------------------------------------------------------------------

    def relation(
        self: Any,
        other: Layout,
        permute: Any = None,
        reshape: Any = None,
        dtype_a: DType | str | None = None,
        dtype_b: DType | str | None = None,
    ) -> Relation:
        """What it takes to turn this layout into another: nothing, a view, or a move."""
        from tilewise.core.algebra.relations import relation

        return relation(self, other, permute, reshape, dtype_a, dtype_b)


def _tiler(first: Any, more: tuple[Any, ...]) -> Any:
    """One tiler as it is, several as a tuple by mode."""
    return (first, *more) if more else first
