"""The algebra: layouts out of layouts, exactly or with the reason why not.

    modes       coalesce flatten group reshape split regroup permute refinement
    maps        compose slices left_inverse right_inverse quasi_inverse complement
    divides     logical_divide zipped_divide tiled_divide flat_divide
    products    logical_product zipped_product tiled_product flat_product blocked_product
                raked_product tile_to_shape
    tiles       tile direct_sum
    widths      pack unpack recast
    axes        broadcast relabel split_axis fuse_axes footprint
    swizzles    swizzle_chain
    from maps   recognise recognise_map explanations
    over GF(2)  bases from_bases rank kernel

Every operation is closed form: it costs by the number of iters, not of elements. A result is exact, or
`Refused` gives the reason and a witness that anyone can check; `NotDecided` reports a search that ended at
its bound. Layouts have most operations as methods, and `tilewise algebra` runs them.
"""

from __future__ import annotations

from importlib import import_module

from tilewise.core.algebra.methods import Algebra, Later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HOMES = {
    **{name: later.module for name, later in vars(Algebra).items() if isinstance(later, Later)},
    "slices": "tilewise.core.algebra.slicing",
    "tile": "tilewise.core.algebra.tiles",
    "recognise": "tilewise.core.algebra.recognition",
    "explanations": "tilewise.core.algebra.recognition",
    "from_bases": "tilewise.core.algebra.linear",
}
"""{operation: its module}: the methods, and operations that take no layout or have another name there."""

__all__ = sorted(_HOMES.keys() - {"slice", "inverse", "relation"})


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'tilewise.core.algebra' has no attribute {name!r}")
