"""The algebra: layouts out of layouts, exactly or with the reason why not.

    modes       coalesce flatten group reshape split regroup permute refinement
    maps        compose slices left_inverse right_inverse quasi_inverse complement
    divides     logical_divide zipped_divide tiled_divide flat_divide
    products    logical_product zipped_product tiled_product flat_product blocked_product
                raked_product tile_to_shape
    tiles       tile direct_sum
    widths      pack unpack recast
    axes        broadcast relabel split_axis fuse_axes footprint
    swizzles    merge_swizzles swizzle_chain inverse_chain move_offset
    from maps   recognise recognise_map explanations
    over GF(2)  bases from_bases rank kernel

Every operation is closed form: it costs by the number of iters, not of elements. A result is exact, or
there is none: `Refused` says why and carries a witness that anyone can check, `NotDecided` says that
the search ended at its bound. Layouts have most of them as methods, and `tilewise algebra` runs them.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ROOM = "tilewise.core.algebra"
_FAMILIES = {
    "modes": "coalesce flatten group reshape split regroup permute refinement",
    "composition": "compose",
    "slicing": "slices",
    "inverses": "left_inverse right_inverse quasi_inverse",
    "complements": "complement",
    "divide": "logical_divide zipped_divide tiled_divide flat_divide",
    "product": "logical_product zipped_product tiled_product flat_product blocked_product raked_product "
    "tile_to_shape",
    "tiles": "tile direct_sum",
    "widths": "pack unpack recast",
    "places": "broadcast relabel split_axis fuse_axes footprint",
    "swizzling": "merge_swizzles swizzle_chain inverse_chain move_offset",
    "recognition": "recognise recognise_map explanations",
    "linear": "bases from_bases rank kernel",
}
_HOME = {name: module for module, names in _FAMILIES.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"{_ROOM}.{_HOME[name]}"), name)
    raise AttributeError(f"module {_ROOM!r} has no attribute {name!r}")
