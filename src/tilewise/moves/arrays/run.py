"""`move`: a tensor from one layout to another, on the GPU or the CPU where it lies."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from tilewise.core.builders import S
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, NotDecided, of_kind
from tilewise.core.integers import counted
from tilewise.core.layout import Layout
from tilewise.core.shapes import Shape, as_shape
from tilewise.moves.arrays.host import fill_bytes, move_bytes
from tilewise.moves.arrays.storage import (
    Storage,
    check_own_width,
    first_line,
    own_layout,
    storage_of,
)
from tilewise.moves.memory import Plan, memory_plan
from tilewise.moves.pairs.fills import given_fill
from tilewise.moves.tiles.tiling import ALIGNED
from tilewise.moves.types import given_type, refuse_apart, type_of_arrays, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.moves.arrays.device import Loaded
    from tilewise.moves.shapes import ShapesPlan

REMEMBERED = 4096
"""Calls whose plans are found again by the identity of their layouts."""

SHAPES = 1024
"""Shapes of one class that are ready at once."""

_PRINTED = {int, float, complex, bool, str, bytes, type(None)}
"""Types of fills whose repr has all their digits; that of arrays and tensors has not."""


def moved(
    x: Any,
    source: Any,
    target: Layout,
    out: Any,
    dtype: DType | str | None,
    shape: Any,
    fill: Any,
    stream: Any,
) -> Any:
    """Return the result of `tilewise.move`."""
    if stream is None and _is_traced():
        from tilewise.moves.arrays import traced

        return traced.moved(x, source, target, out, dtype, shape, fill)
    given = storage_of(x)
    steps = given.library.steps(given.array) if source is None else None
    if fill.__class__ not in _PRINTED:
        fill = _element(fill, given, dtype)
    exact = fill if fill.__class__ is int else repr(fill)  # -0.0 is 0, and NaN is not itself
    try:
        box = None if shape is None else repr(shape)  # 6.0 is 6, and no extent
        key = (id(source), id(target), steps, given.type, dtype, shape, box, exact)
        known = _known.get(key)
    except ValueError:  # a shape of more digits than are read, by which plans refuse it
        as_box(shape)
        raise
    except TypeError:  # a shape as a list
        kind = dtype if dtype is None or type_of_arrays(dtype) is not None else DType.of(dtype)
        return moved(x, source, target, out, kind, as_box(shape), fill, stream)
    if known is None:
        if steps is not None and dtype is not None:
            check_own_width(given.itemsize, dtype)
        layout = own_layout(steps) if steps is not None else source
        known = _remember(key, given, layout, target, dtype, shape, fill)
    return known[0]._moved(given, out, stream)


def _is_traced() -> bool:
    """Return True if torch.compile traces this call instead of running it."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.compiler.is_compiling()


_known: dict[Any, tuple[Bound, Any, Any]] = {}
"""Moves by the identity of their layouts, which are kept: hashing layouts takes longer than a launch."""


def _remember(
    key: Any, given: Storage, source: Any, target: Any, dtype: Any, shape: Any, fill: Any
) -> tuple[Bound, Any, Any]:
    for layout, name in ((source, "the source"), (target, "the target")):
        of_kind(layout, Layout, f"a layout for {name}", "such as S[(4, 8) : (8, 1)]; parse() reads texts")
    kind = words_of(given.itemsize) if dtype is None else given_type(dtype)
    refuse_apart(given.type, kind)
    element = _element(fill, given, dtype)
    if len(_known) >= REMEMBERED:
        _known.clear()
    made = _known[key] = bound_of(source, target, kind, as_box(shape), element), source, target
    return made


def _element(fill: Any, given: Storage, dtype: Any) -> bytes:
    """Return the bytes of a fill: of the type that was given, or of the array's type."""
    if dtype is not None:
        return given_fill(fill, dtype, given_type(dtype))
    return given.library.filling(fill, given.type, given.itemsize)


@lru_cache(maxsize=1024)
def bound_of(
    source: Layout, target: Layout, dtype: DType, shape: Any, fill: bytes, checked: bool | None = None
) -> Bound:
    """Return a move that is ready for arrays of one type; the last ones are kept."""
    return Bound(memory_plan(source, target, dtype, shape=shape, fill=fill, checked=checked))


def forget() -> None:
    """Forget all moves, so that they are bound anew: a tile was measured that may be theirs."""
    _known.clear()
    bound_of.cache_clear()


def as_box(shape: Any) -> Shape | None:
    """Return the box of a shape, as a key to remember: its extents are integers, not values equal to some.

    >>> as_box([2, (3, 4)]), as_box(6), as_box(None)
    ((2, (3, 4)), (6,), None)
    """
    if shape is None:
        return None
    if shape.__hash__ is None and not isinstance(shape, list):
        raise LayoutError("TW702", f"{shape!r} is no shape", hint="a tuple of extents, such as (128, 64)")
    return as_shape(shape)


class Bound:
    """A plan that is ready to run; called with a source, and optionally a target.

    It compiles kernels on first need: for a device, and for the alignment of storages.

    >>> from tilewise import S
    >>> turn = Bound(memory_plan(S[2, 3], S[(2, 3) : (1, 2)], "b64"))
    >>> turn(np.arange(6))
    array([0, 3, 1, 4, 2, 5])
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._ready: dict[tuple[int, int], Loaded] = {}
        self._unit = max(1, plan.dtype.bits // 8)
        self._reads, self._writes = plan.sizes
        self._beyond = plan.pair.beyond > 0
        self._fills = plan.has_room or plan.ends_amid

    def __call__(self, x: Any, out: Any = None, *, stream: Any = None) -> Any:
        """Return the result in new storage, or in `out`. The bytes of x are read as the plan's type."""
        if stream is None and _is_traced():
            from tilewise.moves.arrays.traced import moved

            plan = self.plan
            return moved(x, *plan.pair.layouts, out, plan.dtype, plan.pair.box, plan.fill, plan.checked)
        given = storage_of(x)
        if self.plan.dtype.bits < 8:
            refuse_apart(given.type, self.plan.dtype)
        return self._moved(given, out, stream)

    def __repr__(self) -> str:
        return f"<Bound of {self.plan!r}>"

    def _moved(self, given: Storage, out: Any, stream: Any) -> Any:
        library, device = given.library, given.device
        if stream is not None and device is None:
            raise LayoutError(
                "TW704",
                f"a stream is given, and x is {_where(given)}, where a move ends before it returns",
                hint="leave stream= out, or move an array on the stream's GPU",
            )
        if given.size < self._reads or (given.pointer | given.size) % self._unit:
            plan = self.plan
            if given.size >= self._reads:
                raise _not_whole("x", given, self)
            raise LayoutError(
                "TW704",
                f"x has {given.size} bytes, and the source reaches {self._reads}: "
                f"{counted(plan.pair.source.size, 'element')} of {plan.dtype}",
                hint=f"the source is {plan.source}; x counts from its first element on",
            )
        if out is None:
            made = self._empty(given, stream)
        else:
            made = storage_of(out)
            _check_target(given, made, self)
        if device is None:
            self._on_host(given, made, out is None)
        else:
            self._on_device(given, made, out is None, stream)
        if out is not None:
            library.written(made)
        return library.ended(given, made)

    def _empty(self, given: Storage, stream: Any) -> Storage:
        count = -(-self._writes // given.itemsize)
        try:
            return given.library.empty(given, count, stream)
        except LayoutError:
            raise
        except (MemoryError, RuntimeError, ValueError) as error:
            size, where = count * given.itemsize, _place(given)
            raise LayoutError(
                "TW706",
                f"the result takes {size} bytes, which {where} does not give: {first_line(error)}",
                hint="free some, move a part at a time, or give storage that is there as out",
            ) from error

    def _prepared(self, device: int, aligned: int) -> Loaded:
        """Return the plan for storages of that alignment, loaded on a device."""
        from tilewise.moves.arrays.device import loaded
        from tilewise.moves.arrays.tuned import remembered

        plan = remembered(self.plan.for_alignment(aligned), device)
        made = self._ready[device, aligned] = loaded(plan, device)
        return made

    def _on_device(self, given: Storage, made: Storage, new: bool, stream: Any) -> None:
        device, source, target = given.device, given.pointer, made.pointer
        assert device is not None
        aligned = source | target | ALIGNED
        aligned &= -aligned
        ready = self._ready.get((device, aligned)) or self._prepared(device, aligned)
        handle = given.library.stream(device, stream)
        if not new:
            if ready.fills_apart:
                one = given.library.empty(given, -(-len(self.plan.fill) // given.itemsize), stream)
                ready.fill(one.pointer, len(self.plan.fill), handle)
                self._filling._on_device(one, made, False, stream)
        elif ready.fills or made.size != self._writes:
            first = ready.fill_from
            ready.fill(target + first, made.size - first, handle)
        ready(source, target, handle)

    def _on_host(self, given: Storage, made: Storage, new: bool) -> None:
        source, target = row_of(given), row_of(made)
        written = target[: self._writes]
        if new and (self._fills or made.size != self._writes):
            fill_bytes(target, self.plan.fill)
        elif self._beyond and not new:
            move_bytes(np.frombuffer(self.plan.fill, np.uint8), written, self._filling.plan.pair)
        move_bytes(source, written, self.plan.pair)

    @cached_property
    def _filling(self) -> Bound:
        """Return a move of one element to all elements of the target, and to nothing between them."""
        target = self.plan.pair.layouts[1]
        one = S[(target.size,) : (0,)]
        return Bound(memory_plan(one, target, self.plan.dtype, checked=self.plan.checked))


# -- for all shapes --------------------------------------------------------------------------------


class BoundShapes:
    """A plan for all shapes that is ready to run; called with a source, and a value for each name.

    Small shapes, those of middle size and large ones have one kernel each, and one for shapes of whole tiles.
    """

    def __init__(self, plan: ShapesPlan) -> None:
        self.plan = plan
        self._shapes: dict[tuple[tuple[str, int], ...], Bound] = {}
        self._sized: dict[int, ShapesPlan] = {}
        self._whole: dict[int, ShapesPlan] = {}

    def __call__(self, x: Any, let: Mapping[str, int], out: Any = None, *, stream: Any = None) -> Any:
        """Return the result in new storage, or in `out`, as a plan of the shape does."""
        return self.of(let)(x, out, stream=stream)

    def of(self, let: Mapping[str, int]) -> Bound:
        """Return the move of one shape; the last ones are kept."""
        key = tuple(let.items())
        found = self._shapes.get(key)
        if found is None:
            values = self.plan.admitted(let)
            own = self.plan.of(values)
            found = _OfShape(own, self._plan_of(own, values), values)
            if len(self._shapes) >= SHAPES:
                self._shapes.clear()
            self._shapes[key] = found
        return found

    def _plan_of(self, own: Plan, values: Mapping[str, int]) -> ShapesPlan:
        """Return the plan whose tile is for tensors of that size, with edges only if a tile is cut."""
        place = self.plan.size_class(own.sizes[0])
        if place not in self._sized:
            try:
                self._sized[place] = self.plan.sized(place)
            except NotDecided:  # a small tile would not fit all: the given one does
                self._sized[place] = self.plan
        sized = self._sized[place]
        if not sized.fits(values):
            return sized
        if place not in self._whole:
            self._whole[place] = sized.of_whole_tiles or sized
        return self._whole[place]

    def __repr__(self) -> str:
        return f"<BoundShapes of {self.plan!r}>"


class _OfShape(Bound):
    """A move of one shape, by a kernel of all."""

    def __init__(self, plan: Plan, shapes: ShapesPlan, values: Mapping[str, int]) -> None:
        super().__init__(plan)
        self._shapes, self._values = shapes, values

    def _prepared(self, device: int, aligned: int) -> Loaded:
        """Return the kernel of all, with the sizes of this shape, or one of its own if that serves it not."""
        from tilewise.moves.arrays.device import Loaded

        shapes = self._shapes
        if not shapes.text or aligned < shapes.aligned or not shapes.takes(self._values):
            return super()._prepared(device, aligned)
        plan = replace(self.plan, chosen=shapes.way)
        sizes = [self._values[own] for own in shapes.names]
        blocks, spare = shapes.blocks_of(self._values), shapes.spare_of(self.plan)
        made = Loaded(plan, device, shapes.kernel, blocks, sizes, spare)
        self._ready[device, aligned] = made
        return made


# -- storages --------------------------------------------------------------------------------------


def row_of(storage: Storage) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the bytes of a storage on the CPU as an array of NumPy; nothing is copied."""
    memory = (ctypes.c_uint8 * storage.size).from_address(storage.pointer)
    return np.ctypeslib.as_array(memory)


# -- what is refused -------------------------------------------------------------------------------


def _not_whole(name: str, storage: Storage, bound: Bound) -> LayoutError:
    """Return the error for storage that begins, or ends, inside an element."""
    kind = bound.plan.dtype
    if storage.size % bound._unit:
        return LayoutError(
            "TW704",
            f"{name} has {storage.size} bytes, no whole elements of {kind}, {bound._unit} bytes each",
            hint=f"give as many bytes as are {kind}, such as {name}[:n]",
        )
    return LayoutError(
        "TW704",
        f"{name} begins at {storage.pointer:#x}, no multiple of an element's {bound._unit} bytes",
        hint="copy it to storage of its own first",
    )


def _check_target(given: Storage, made: Storage, bound: Bound) -> None:
    """Refuse an `out` that cannot take the result, or that the move would read while it writes."""
    if given.library is not made.library or given.device != made.device:
        raise LayoutError(
            "TW704",
            f"x is {_where(given)}, out is {_where(made)}",
            hint="both belong to one library, on one device",
        )
    if why := made.library.writable(made):
        raise LayoutError(
            "TW704", f"out {why}", hint="out is storage: one contiguous row that can be written"
        )
    if made.type != given.type:
        raise LayoutError(
            "TW704",
            f"x has elements of type {given.type}, out of {made.type}",
            hint="bits are moved as they are: view one as the other",
        )
    if made.size < bound._writes:
        plan = bound.plan
        raise LayoutError(
            "TW704",
            f"out has {made.size} bytes, and the target reaches {bound._writes}: "
            f"{counted(plan.pair.target.size, 'element')} of {plan.dtype}",
            hint=f"the target is {plan.pair.layouts[1]}",
        )
    if (made.pointer | made.size) % bound._unit:
        raise _not_whole("out", made, bound)
    if made.pointer < given.pointer + bound._reads and given.pointer < made.pointer + bound._writes:
        raise LayoutError(
            "TW704",
            "out and x share memory: what is written would be read",
            hint="give another out, or none",
        )


def _where(storage: Storage) -> str:
    return f"{storage.library.name}'s on {_place(storage)}"


def _place(storage: Storage) -> str:
    return "the CPU" if storage.device is None else f"GPU {storage.device}"
