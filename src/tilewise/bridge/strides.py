"""Strided tensors as layouts, and layouts as strided views.

A strided tensor is a layout without copies and swizzles: one digit a dimension, on one storage axis. The
way in reads the tensor's shape and strides. The way back is exact: element 0 and one step along every
dimension fix the only possible strides, and `same` decides that they are the layout.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from ctypes import c_void_p, sizeof
from dataclasses import dataclass, replace
from math import prod

from tilewise.core.axes import STORAGE
from tilewise.core.canonical import canonical
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.layout import UNITS, Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import coordinates, extents_of, spell
from tilewise.core.vectors import Vector, as_vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.axes import Axis

BYTE = 8


@dataclass(frozen=True, slots=True)
class _Strided:
    """A strided tensor, all distances in bits: the place of element 0, and the tensor's place in its storage.

    `memory` is the start and the end of all the storage, and `owner` its owner, where the array tells them.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    bits: int
    offset: int
    address: int | None = None
    memory: tuple[int, int] | None = None
    owner: Any = None

    @property
    def ends(self) -> tuple[int, int]:
        """Return the first bit of all elements and the first one after them, counted from element 0."""
        reach = [(extent - 1) * stride for extent, stride in zip(self.shape, self.strides, strict=True)]
        return sum(min(0, r) for r in reach), sum(max(0, r) for r in reach) + self.bits

    @property
    def reach(self) -> tuple[int, int]:
        """Return the addresses of its storage, or of its elements where the storage is unknown."""
        start = self.address or 0
        return self.memory or (start + self.ends[0], start + self.ends[1])


# -- from a tensor to a layout ---------------------------------------------------------------------


def layout_of(array: Any, origin: Any = None, unit: str = "element") -> Layout:
    """Return the layout of a strided array: NumPy, torch, JAX, CuPy, or any object with a shape and strides.

    Places count from the start of the storage that the array is part of, or from the first element of
    the array `origin`. With unit "byte" strides are given as they are in memory.

        requires       at least one element; strides of whole elements, or unit="byte"
        postcondition  element (i, j, ..) is at start + i * strides[0] + j * strides[1] + ..
        refused        TW511 an origin that is not seen to share memory with the array

    >>> import numpy as np
    >>> a = np.arange(12, dtype="f4").reshape(3, 4)
    >>> layout_of(a), layout_of(a.T), layout_of(a[1:, ::-2])
    (S[(3, 4) : (4, 1)], S[(4, 3) : (1, 4)], S[(2, 2) : (4, -2)] + 7)
    """
    if unit not in UNITS:
        raise LayoutError("TW106", f"unknown unit {unit!r}", hint="known: " + " ".join(UNITS))
    said = _strided(array)
    if 0 in said.shape:
        raise LayoutError(
            "TW102",
            f"an array of shape {spell(said.shape)} holds no element, so it has no layout",
            hint="every extent of a layout is positive",
        )
    size = {"element": said.bits, "byte": BYTE, "bit": 1}[unit]
    strides = [
        _counted(stride, size, f"the stride of dimension {i}") if extent > 1 else 0
        for i, (extent, stride) in enumerate(zip(said.shape, said.strides, strict=True))
    ]
    distance = said.offset if origin is None else _distance(said, array, origin)
    offset = _counted(distance, size, "the distance to the first element")
    return Layout(said.shape, tuple(map(as_vector, strides)), offset=as_vector(offset), unit=unit)


def _distance(said: _Strided, array: Any, origin: Any) -> int:
    other = _strided(origin)
    for one, its in ((array, said), (origin, other)):
        if its.address is None:
            raise LayoutError("TW511", f"the {type(one).__name__} does not tell its address")
    (first, last), (start, end) = said.reach, other.reach
    one_owner = said.owner is not None and said.owner is other.owner
    if not one_owner and not (first < end and start < last):
        raise Refused(
            "TW511",
            "the array and the origin share no memory, so the distance between them says nothing",
            hint="the origin is an array of which the other is a view, or a view of the same one",
        )
    return said.address - other.address  # type: ignore[operator]  # neither is None


def _counted(bits: int, size: int, what: str) -> int:
    """Return a distance in units of so many bits, or refuse one that is no multiple."""
    count, rest = divmod(bits, size)
    if rest:
        spelled = f"{bits // BYTE} bytes" if bits % BYTE == 0 else f"{bits} bits"
        raise LayoutError(
            "TW106",
            f"{what} is {spelled}, no multiple of an element of {size} bits",
            hint='layout_of(array, unit="byte") counts bytes',
        )
    return count


def _strided(array: Any) -> _Strided:
    """Return the shape, strides and addresses of an array."""
    if _is_torch(array):
        return _from_torch(array)
    if _interface(array) is not None:
        return _from_interface(array)
    if hasattr(array, "__dlpack__"):
        return _from_dlpack(array)
    try:
        view = memoryview(array)
    except TypeError:
        raise LayoutError(
            "TW107",
            f"the {type(array).__name__} does not say its shape and strides",
            hint="NumPy, torch, and what has __array_interface__, __dlpack__ or a buffer do",
        ) from None
    with view:
        return _from_buffer(view)


def _is_torch(array: Any) -> bool:
    """Return True if an array has torch's methods; no package is imported."""
    return all(callable(getattr(array, name, None)) for name in ("stride", "storage_offset", "element_size"))


def _from_torch(tensor: Any) -> _Strided:
    kind = str(getattr(tensor, "layout", "torch.strided"))
    if not kind.endswith("strided"):
        raise Refused("TW511", f"a tensor of layout {kind} has no strides", hint="a dense one has")
    bits = int(tensor.element_size()) * BYTE
    strides = tuple(int(stride) * bits for stride in tensor.stride())
    shape = tuple(int(extent) for extent in tensor.shape)
    offset, address = int(tensor.storage_offset()) * bits, _bits(lambda: tensor.data_ptr()) or None
    said = _Strided(shape, strides, bits, offset, address)
    if address is None:
        return said
    start = address - offset
    return replace(
        said, memory=(start, max(said.reach[1], start + _bits(lambda: tensor.untyped_storage().nbytes())))
    )


def _bits(bytes: Callable[[], Any]) -> int:
    """Return a tensor's bytes as bits; 0 where it has no memory, as on a meta device."""
    try:
        return int(bytes()) * BYTE
    except (AttributeError, RuntimeError):
        return 0


def _interface(array: Any) -> Any:
    """Return `__array_interface__`, or its CUDA counterpart, or None."""
    for name in ("__array_interface__", "__cuda_array_interface__"):
        said = getattr(array, name, None)
        if isinstance(said, dict):
            return said
    return None


def _from_interface(array: Any) -> _Strided:
    said = _read_interface(_interface(array))
    owner = array
    while _interface(base := getattr(owner, "base", None)) is not None:
        owner = base
    whole = _read_interface(_interface(owner))
    if said.address is None or whole.address is None:
        return said
    memory = whole.reach
    under = base.obj if isinstance(base, memoryview) else base
    return replace(
        said, offset=said.address - memory[0], memory=memory, owner=owner if under is None else under
    )


def _read_interface(interface: dict[str, Any]) -> _Strided:
    shape = tuple(map(int, interface["shape"]))
    kind, digits = interface["typestr"][1:2], interface["typestr"][2:]
    size = int(digits) if digits else sizeof(c_void_p)  # an object is a pointer
    if kind == "t" or not size:
        raise Refused("TW511", f"elements of type {interface['typestr']} have no strides in bytes")
    bits = size * BYTE * (4 if kind == "U" else 1)
    given = interface.get("strides")
    strides = _row_major(shape, bits) if given is None else tuple(int(s) * BYTE for s in given)
    data = interface.get("data")
    if isinstance(data, tuple):
        return _Strided(shape, strides, bits, 0, int(data[0]) * BYTE)
    return _Strided(shape, strides, bits, int(interface.get("offset", 0)) * BYTE)


def _from_dlpack(array: Any) -> _Strided:
    from tilewise.bridge.dlpack import described

    said = described(array)
    bits, offset = said.bits, said.byte_offset * BYTE
    strides = _row_major(said.shape, bits) if said.strides is None else tuple(s * bits for s in said.strides)
    return _Strided(said.shape, strides, bits, offset, said.data * BYTE + offset)


def _from_buffer(view: memoryview) -> _Strided:
    bits = view.itemsize * BYTE
    shape = tuple(view.shape or ())
    strides = tuple(s * BYTE for s in view.strides or ()) or _row_major(shape, bits)
    said = _Strided(shape, strides, bits, 0)
    return _Strided(shape, strides, bits, -said.ends[0])


def _row_major(shape: Sequence[int], bits: int) -> tuple[int, ...]:
    return tuple(bits * prod(shape[i + 1 :]) for i in range(len(shape)))


# -- from a layout to strides ----------------------------------------------------------------------


def strides_of(layout: Layout, shape: Any = None) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Return (shape, strides, offset) of the strided tensor that a layout is: one dimension a mode.

    With `shape`, they are those of the layout in that shape of the same size. They count the layout's unit.

        requires       one copy, on one storage axis
        postcondition  S[shape : strides] + offset is the same map
        refused        TW511 with an index whose place is not the sum of its steps, or with the part of
                       the layout that a strided tensor cannot have

    >>> from tilewise import S, Swizzle
    >>> strides_of(S[((4, 2), 8) : ((16, 8), 1)] + 5)
    ((8, 8), (8, 1), 5)
    >>> strides_of(S[(4, 2, 2, 4) : (16, 4, 8, 1)], shape=(8, 8))
    Traceback (most recent call last):
    tilewise.Refused: TW511: no strides of (8, 8) are this layout: (0, 4) lives at 8@m, and they say 4@m
      hint: in shape (4, 2, 2, 4) it has strides
    """
    if not isinstance(layout, Layout):
        raise LayoutError(
            "TW107",
            f"strides are those of a layout, not of the {type(layout).__name__} {layout!r}",
            hint="parse(text) makes one of text; layout_of(array) of an array",
        )
    if layout.order != "row":
        return strides_of(by_coordinates(layout, shape), shape)
    asked = extents_of(layout.asked_in(shape))
    axis = _only_axis(layout)
    start = layout.place(0)[axis]
    steps = [
        _step(layout, asked, mode, axis) - start if extent > 1 else 0 for mode, extent in enumerate(asked)
    ]
    strided = Layout(
        asked, tuple(_along(axis, step) for step in steps), offset=_along(axis, start), unit=layout.unit
    )
    answer = layout.same(strided)
    if answer.answer is None:
        raise NotDecided(f"whether the layout is {strided}: {answer.reason}")
    if not answer:
        index = coordinates(answer.witness, asked)
        raise Refused(
            "TW511",
            f"no strides of {spell(asked)} are this layout: {index} lives at {answer.a[0]}, "
            f"and they say {answer.b[0]}",
            witness=index,
            hint=_other_shape(layout, asked),
        )
    return asked, tuple(steps), start


def _step(layout: Layout, shape: tuple[int, ...], mode: int, axis: Axis) -> int:
    """Return the place of the element at 1 along a mode and 0 along the others."""
    return layout.place(prod(shape[mode + 1 :]))[axis]


def _along(axis: Axis, steps: int) -> Vector:
    return Vector(((axis, steps),)) if steps else Vector()


def _only_axis(layout: Layout) -> Axis:
    """Return the one storage axis on which the layout lives, in one copy."""
    plain = canonical(layout)
    if plain.replica:
        raise Refused(
            "TW511",
            "every element has several copies, and a strided view has one",
            witness=tuple((it.extent, it.stride) for it in plain.replica),
            hint="leave out R for the first copy",
        )
    vectors = (*plain.strides, plain.offset, plain.outer)
    axes = list(dict.fromkeys(axis for vector in vectors for axis in vector.nonzero.axes))
    if len(axes) > 1 or (axes and axes[0].kind != STORAGE):
        names = tuple(axis.name for axis in axes)
        raise Refused(
            "TW511",
            f"elements live along {' and '.join(names)}, and a strided view is of one storage",
            witness=names,
            hint="footprint() is what one owner holds",
        )
    stored = [axis for axis in layout.axes if axis.kind == STORAGE]
    return axes[0] if axes else stored[0] if stored else Layout((), ()).axes[0]


def _other_shape(layout: Layout, asked: tuple[int, ...]) -> str:
    """Return a hint: the shape of the layout's digits has strides, where no swizzle acts."""
    plain = canonical(layout)
    if plain.swizzles:
        return "a swizzle is no part of a stride; the elements have to be copied"
    digits = extents_of(plain.shape)
    return f"in shape {spell(digits)} it has strides" if digits != asked else ""


# -- views -----------------------------------------------------------------------------------------


def strided_view(layout: Layout, array: Any, shape: Any = None) -> Any:
    """Return the view of an array's memory that a layout describes: a NumPy array, or a torch tensor.

    Place 0 is the array's first element, place n is n elements of memory further. No element of the
    view lies outside the array's memory.

        requires       a layout with strides in its shape, or in `shape`
        postcondition  layout_of(strided_view(L, array), array).same(L)
        refused        TW511 where there are no strides, an element lies outside, or torch has no such

    >>> import numpy as np
    >>> from tilewise import S
    >>> strided_view(S[(2, 3) : (1, 4)] + 1, np.arange(12))
    array([[ 1,  5,  9],
           [ 2,  6, 10]])
    """
    strides = strides_of(layout, shape)
    if _is_torch(array) and callable(getattr(array, "as_strided", None)):
        return _torch_view(layout, array, strides)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(array, numpy.ndarray):
        return _numpy_view(layout, array, strides, numpy)
    raise LayoutError(
        "TW107",
        f"a view is taken of a NumPy array or a torch tensor, not of the {type(array).__name__}",
        hint="a list has no memory of its elements to view; numpy.array(...) copies them to some"
        if isinstance(array, list | tuple)
        else "numpy.asarray and torch.from_dlpack make one without a copy",
    )


def _placed(layout: Layout, array: Any, strides: tuple[tuple[int, ...], tuple[int, ...], int]) -> _Strided:
    """Return the view in bits, within the array's memory, or refuse an element that lies outside."""
    said = _strided(array)
    if 0 in said.shape:
        raise Refused("TW511", "the array has no element to view")
    unit = {"element": said.bits, "byte": BYTE, "bit": 1}[layout.unit]
    shape, steps, offset = strides
    view = _Strided(shape, tuple(step * unit for step in steps), said.bits, offset * unit)
    low, high = said.ends
    first, last = view.offset + view.ends[0], view.offset + view.ends[1]
    if first < low or last > high:
        index = tuple(
            extent - 1 if (step < 0) == (first < low) and step else 0
            for extent, step in zip(shape, steps, strict=True)
        )
        place = offset + sum(i * step for i, step in zip(index, steps, strict=True))
        raise Refused(
            "TW511",
            f"element {index} lives at {place}, and the array's memory is "
            f"{low // unit}..{high // unit - 1}, counted in {layout.unit}s from its first element",
            witness=index,
            hint="the view of a larger array, or another offset",
        )
    return view


def _torch_view(layout: Layout, tensor: Any, strides: tuple[tuple[int, ...], tuple[int, ...], int]) -> Any:
    view = _placed(layout, tensor, strides)
    steps = [
        _counted(stride, view.bits, f"the stride of dimension {i}") for i, stride in enumerate(view.strides)
    ]
    negative = next((i for i, step in enumerate(steps) if step < 0), None)
    if negative is not None:
        raise Refused(
            "TW511",
            f"dimension {negative} steps by {steps[negative]}, and torch has no negative strides",
            witness=(negative, steps[negative]),
            hint="view it with NumPy, or reverse the dimension with torch.flip, which copies",
        )
    offset = _counted(view.offset, view.bits, "the offset")
    return tensor.as_strided(view.shape, steps, tensor.storage_offset() + offset)


class _Window:
    """Memory of an array under another shape, as NumPy's array interface spells it; it keeps the array."""

    def __init__(self, array: Any, interface: dict[str, Any]) -> None:
        self.base, self.__array_interface__ = array, interface


def _numpy_view(
    layout: Layout, array: Any, strides: tuple[tuple[int, ...], tuple[int, ...], int], numpy: Any
) -> Any:
    view = _placed(layout, array, strides)
    said = dict(array.__array_interface__)
    address, read_only = said["data"]
    said["shape"] = view.shape
    said["strides"] = tuple(_counted(stride, BYTE, "a stride") for stride in view.strides)
    said["data"] = (address + _counted(view.offset, BYTE, "the offset"), read_only)
    result = numpy.asarray(_Window(array, said))
    if result.dtype != array.dtype:  # structured types and extensions do not survive the interface
        result.dtype = array.dtype
    return result
