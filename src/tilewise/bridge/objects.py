"""Neighbours' objects as layouts, known by their attributes; no neighbour is imported.

    DTensor, (DeviceMesh, placements)     torch: placements along the dimensions of a mesh
    NamedSharding, arrays on a mesh       JAX: a mesh and a spec, and other objects that print as a sharding
    TileLayout, ComposeLayout             TIRx: its iters, copies, offset and swizzle
    Layout and its kin                    pycute and CuTe's DSL: they print in CuTe's notation
    BlockedLayout and its kin             Gluon, and all that print as a call which a dialect reads

An object that a dialect reads becomes the dialect's text, so that both have one meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from tilewise.bridge.strides import layout_of as strided_layout_of
from tilewise.core.axes import Axis
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.shapes import as_shape, extents_of
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import Vector
from tilewise.notation.dialects import Reading, dialect_of
from tilewise.notation.dialects.given import layout_of_modes
from tilewise.notation.read import is_cute, reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def layout_of(obj: Any, origin: Any = None, unit: str = "element", shape: Any = None) -> Layout:
    """Return the layout of a strided array, or of a neighbour's object that places elements.

        strided arrays   NumPy, torch, JAX, CuPy, and others with a shape and strides: places count from
                         the start of the storage, or from the first element of the array `origin`
        shape            the extents of the tensor, for an object that does not have them

    `reading_of` returns the facts of such an object beside its layout too.

    >>> import numpy as np
    >>> layout_of(np.zeros((3, 4), dtype="f4").T)
    S[(4, 3) : (1, 4)]
    """
    found = _read(obj, shape)
    if found is None:
        return strided_layout_of(obj, origin, unit)
    if origin is not None or unit != "element":
        kind = type(obj).__name__
        raise LayoutError("TW511", f"the {kind} is no array in memory: its elements count from 0")
    return found.layout


def reading_of(obj: Any, shape: Any = None) -> Reading:
    """Return an object's layout and notes, and the extents of its tensor where the layout is padded.

    >>> import numpy as np
    >>> reading_of(np.zeros((3, 4), dtype="f4")).layout
    S[(3, 4) : (4, 1)]
    """
    return _read(obj, shape) or Reading(strided_layout_of(obj))


def _read(obj: Any, shape: Any) -> Reading | None:
    """Return the reading of an object that is no strided array, or None."""
    readers = (_read_placements, _read_sharding, _read_tirx, _read_text)
    return next((found for read in readers if (found := read(obj, shape)) is not None), None)


def _extents(obj: Any, shape: Any) -> tuple[int, ...]:
    """Return the extents of an object that has them; a shape that is given has to be the same."""
    own = tuple(int(extent) for extent in obj.shape)
    if shape is not None and extents_of(as_shape(shape)) != own:
        raise LayoutError("TW202", f"the {type(obj).__name__} has the shape {own}, not {shape}")
    return own


# -- torch -----------------------------------------------------------------------------------------


def _read_placements(obj: Any, shape: Any) -> Reading | None:
    """Return the reading of a DTensor, or of a mesh and placements as a pair."""
    if hasattr(obj, "placements") and hasattr(obj, "device_mesh"):
        mesh, placements, shape = obj.device_mesh, list(map(repr, obj.placements)), _extents(obj, shape)
        _put_in_order(placements, getattr(getattr(obj, "_spec", None), "shard_order", None))
    elif isinstance(obj, tuple | list) and len(obj) == 2 and any(map(_is_mesh, obj)):
        mesh, given = obj if _is_mesh(obj[0]) else reversed(obj)
        placements = list(map(repr, given))
    else:
        return None
    names = mesh.mesh_dim_names
    extents = tuple(int(extent) for extent in mesh.shape)
    named = ", ".join(f"{name}={extent}" for name, extent in zip(names or (), extents, strict=False))
    spelled = f"({named})" if named else f"'', {mesh.mesh.tolist()}"
    text = f"[{', '.join(placements)}] on DeviceMesh({spelled})"
    return reading(text, dialect="dtensor", shape=shape)


def _is_mesh(obj: Any) -> bool:
    return hasattr(obj, "mesh_dim_names") and hasattr(obj, "shape")


def _put_in_order(placements: list[str], shard_order: Any) -> None:
    """Write beside each Shard which cut of its dimension it is, where they do not act from left to right."""
    for dims in [[*entry.mesh_dims] for entry in shard_order or ()]:
        if dims != sorted(dims) and all(placements[at].startswith("Shard(") for at in dims):
            for order, at in enumerate(dims):
                placements[at] += f"[{order}]"


# -- JAX -------------------------------------------------------------------------------------------


def _read_sharding(obj: Any, shape: Any) -> Reading | None:
    """Return the reading of a sharding, or of an array that several devices share."""
    if hasattr(obj, "spec") and hasattr(getattr(obj, "mesh", None), "axis_names"):
        mesh = {str(name): int(extent) for name, extent in obj.mesh.shape.items()}
        return reading(f"{obj.spec!r} on {mesh!r}", dialect="jax", shape=shape)
    if hasattr(obj, "num_devices") and hasattr(obj, "devices_indices_map"):
        return reading(repr(obj), dialect="jax", shape=shape, let={"devices": int(obj.num_devices)})
    sharding = getattr(obj, "sharding", None)
    if sharding is None or not hasattr(obj, "shape"):
        return None
    is_array = hasattr(obj, "__array__")
    if is_array and int(getattr(sharding, "num_devices", 1)) == 1:
        return None
    return _read_sharding(sharding, _extents(obj, shape))


# -- TIRx ------------------------------------------------------------------------------------------


def _read_tirx(obj: Any, shape: Any) -> Reading | None:
    """Return the layout of a TileLayout, or of a ComposeLayout: a swizzle on one."""
    if hasattr(obj, "tile_layout") and hasattr(obj, "swizzle_len"):
        found = _read_tirx(obj.tile_layout, None)
        if found is None:
            return None
        step = int(obj.atom_len) if obj.swizzle_inner else -int(obj.atom_len)
        swizzle = Swizzle(int(obj.swizzle_len), int(obj.per_element), step)
        return Reading(_in_shape(swizzle @ found.layout, shape))
    if not all(hasattr(obj, name) for name in ("shard", "replica", "offset")):
        return None
    shard, replica = (
        [(_number(it.extent), _steps(it.stride, it.axis)) for it in its] for its in (obj.shard, obj.replica)
    )
    offset = sum((_steps(steps, axis) for axis, steps in obj.offset.items()), Vector())
    return Reading(_in_shape(layout_of_modes([[digit] for digit in shard], replica, offset), shape))


def _number(value: Any) -> int:
    """Return a number of TIRx's, which is an expression."""
    try:
        return int(value)
    except TypeError:
        raise LayoutError("TW101", f"{value} is not a number yet", hint="bind its variables first") from None


def _steps(stride: Any, axis: Any) -> Vector:
    return _number(stride) @ Axis(str(axis.name))


def _in_shape(layout: Layout, shape: Any) -> Layout:
    """Return a layout with its digits grouped into the dimensions of a tensor, where those are given."""
    return layout if shape is None else layout.group(shape)


# -- objects that print as a text of a dialect -------------------------------------------------------


def _read_text(obj: Any, shape: Any) -> Reading | None:
    """Return the reading of an object's print: CuTe's notation, or a call of its class that parses."""
    if isinstance(obj, str | bytes | Sequence) or hasattr(obj, "__array_interface__"):
        return None
    if _is_of_cute(obj):
        return reading(str(obj), dialect="cute")
    printed = repr(obj)
    if printed.startswith(f"{type(obj).__name__}(") and dialect_of(printed) is not None:
        return reading(printed, shape=shape)
    return None


def _is_of_cute(obj: Any) -> bool:
    """Return True if an object is a layout of CuTe's: it has a shape, and prints shape:stride."""
    has_strides = hasattr(obj, "outer") or hasattr(obj, "stride")
    if not hasattr(obj, "shape") or not has_strides or callable(getattr(obj, "stride", None)):
        return False
    with suppress(LayoutError):
        return is_cute(str(obj))
    return False
