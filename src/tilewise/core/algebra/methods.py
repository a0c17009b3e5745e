"""The operations as methods of a layout: the one list of them, from which `tilewise.algebra` comes too.

A line gives a method its function, and an editor its signature and its law. The module of the function is
imported at the first use of the method, so that a layout costs little to import.
"""

from __future__ import annotations

from importlib import import_module
from types import MethodType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core import chains
    from tilewise.core.algebra import (
        complements,
        composition,
        inverses,
        linear,
        modes,
        places,
        recognition,
        relations,
        slicing,
        tiles,
        tilings,
        widths,
    )


class Later:
    """A function of a module that is not imported yet, as a method."""

    def __init__(self, module: str, function: str) -> None:
        self.module, self.function = module, function

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name

    def __get__(self, layout: Any, owner: type) -> Any:
        function = getattr(import_module(self.module), self.function)
        setattr(self.owner, self.name, function)
        return function if layout is None else MethodType(function, layout)

    def __call__(self, *given: Any) -> Any:
        return getattr(import_module(self.module), self.function)(*given)


class LaterModule:
    """A module of the core whose functions are imported when they are called."""

    def __init__(self, name: str) -> None:
        self._name = f"tilewise.core.{name}"

    def __getattr__(self, function: str) -> Later:
        return Later(self._name, function)


if not TYPE_CHECKING:
    chains = LaterModule("chains")
    complements = LaterModule("algebra.complements")
    composition = LaterModule("algebra.composition")
    tilings = LaterModule("algebra.tilings")
    inverses = LaterModule("algebra.inverses")
    linear = LaterModule("algebra.linear")
    modes = LaterModule("algebra.modes")
    places = LaterModule("algebra.places")
    recognition = LaterModule("algebra.recognition")
    relations = LaterModule("algebra.relations")
    slicing = LaterModule("algebra.slicing")
    tiles = LaterModule("algebra.tiles")
    widths = LaterModule("algebra.widths")


class Algebra:
    """The layouts that can be made of a layout. A result is exact, or `Refused` gives the reason."""

    # the same map under another shape
    coalesce = modes.coalesce
    flatten = modes.flatten
    group = modes.group
    reshape = modes.reshape
    split = modes.split
    regroup = modes.regroup
    permute = modes.permute
    refinement = modes.refinement

    # one layout after another, parts and inverses
    compose = composition.compose
    slice = slicing.slices
    left_inverse = inverse = inverses.left_inverse
    right_inverse = inverses.right_inverse
    quasi_inverse = inverses.quasi_inverse
    complement = complements.complement

    # divides and products
    logical_divide = tilings.logical_divide
    zipped_divide = tilings.zipped_divide
    tiled_divide = tilings.tiled_divide
    flat_divide = tilings.flat_divide
    logical_product = tilings.logical_product
    zipped_product = tilings.zipped_product
    tiled_product = tilings.tiled_product
    flat_product = tilings.flat_product
    blocked_product = tilings.blocked_product
    raked_product = tilings.raked_product
    tile_to_shape = tilings.tile_to_shape

    # tiles and sums, elements of another width
    tile = tiles.tiled_by
    direct_sum = tiles.direct_sum
    pack = widths.pack
    unpack = widths.unpack
    recast = widths.recast

    # axes
    broadcast = places.broadcast
    relabel = places.relabel
    split_axis = places.split_axis
    fuse_axes = places.fuse_axes
    footprint = places.footprint

    # swizzles, and sums that are XORs
    swizzle_chain = chains.swizzle_chain
    recognise_map = recognition.recognise_map
    bases = linear.bases
    rank = linear.rank
    kernel = linear.kernel

    # two layouts
    relation = relations.relation
