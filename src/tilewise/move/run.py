"""`move`: a tensor from one layout to another, on the GPU or the CPU where it lies."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.move.host import move_bytes
from tilewise.move.plan import Plan, plan
from tilewise.move.storage import Storage, storage_of


def move(
    x: Any,
    source: Layout | None,
    target: Layout,
    out: Any = None,
    *,
    dtype: DType | str | None = None,
    shape: Any = None,
    fill: float = 0,
    stream: Any = None,
) -> Any:
    """The tensor x, which lies as `source` says, as `target` says: in new storage, or in `out`.

    x is storage, read as one row of elements from its first one; without a source it is read by its own
    strides. `dtype` says what the elements are where x's type does not: two u4 are in a byte. `shape` is the
    box that moves where source and target differ. Places of the target that no element takes are filled.

        postcondition  for all elements i and all copies: result[target's place of i] = x[source's place of i]
        refused        TW701 addresses below zero; TW702 sizes; TW703 a target where elements meet;
                       TW704 a storage that is too small, elsewhere, of another type, or the source itself

    >>> from tilewise import S
    >>> move(np.arange(6), S[2, 3], S[(2, 3) : (1, 2)])
    array([0, 3, 1, 4, 2, 5])
    >>> move(np.arange(6), None, S[(2, 4) : (4, 1)], shape=(2, 3), fill=-1)
    Traceback (most recent call last):
    tilewise.LayoutError: TW702: the box (2, 3) is not in both 6 and (2, 4)
      hint: a box has one extent for each mode, and lies in the source and in the target
    """
    given = storage_of(x, dtype)
    source = source if source is not None else given.layout
    taken = given.aligned if out is None else min(given.aligned, storage_of(out, dtype).aligned)
    key = (source, target, given.dtype, shape, given.element(fill), taken)
    return bound_of(*key)(x, out, stream=stream)


@lru_cache(maxsize=1024)
def bound_of(source: Layout, target: Layout, dtype: DType, shape: Any, fill: bytes, aligned: int) -> Bound:
    """A move that is ready for arrays of one type and alignment; the last ones are kept."""
    return Bound(plan(source, target, dtype, shape=shape, fill=fill, aligned=aligned))


@dataclass
class Bound:
    """A plan with its kernel loaded; called with a source, and a target or none.

    >>> from tilewise import S
    >>> turn = Bound(plan(S[2, 3], S[(2, 3) : (1, 2)], "b64"))
    >>> turn(np.arange(6))
    array([0, 3, 1, 4, 2, 5])
    """

    plan: Plan
    kernels: dict[int, Any] = field(default_factory=dict)

    def __call__(self, x: Any, out: Any = None, *, stream: Any = None) -> Any:
        """The result in new storage, or in `out`."""
        given = storage_of(x, self.plan.dtype)
        self._check_source(given)
        if out is None:
            made = storage_of(given.empty(self.plan.pair.target.size), self.plan.dtype)
            fills = self.plan.fills
        else:
            made = storage_of(out, self.plan.dtype)
            self._check_target(given, made)
            fills = False
        if given.device is None:
            self._on_host(given, made, fills)
        else:
            self._on_device(given, made, fills, stream)
        return made.array

    # -- what is refused ---------------------------------------------------------------------------

    def _check_source(self, given: Storage) -> None:
        wanted = self.plan.pair.source.size
        if given.elements < wanted:
            raise LayoutError(
                "TW704",
                f"the source has {given.elements} elements, and its layout reaches {wanted}",
                hint=f"the layout is {self.plan.pair.layouts[0]}",
            )
        if given.pointer % max(1, self.plan.dtype.bits // 8):
            raise LayoutError("TW704", "the source does not begin at a whole element", hint="copy it first")

    def _check_target(self, given: Storage, made: Storage) -> None:
        wanted = self.plan.pair.target.size
        if made.elements < wanted:
            raise LayoutError(
                "TW704",
                f"out has {made.elements} elements, and the target's layout reaches {wanted}",
                hint=f"the layout is {self.plan.pair.layouts[1]}",
            )
        if (given.kind, given.device) != (made.kind, made.device):
            raise LayoutError(
                "TW704",
                f"the source is {_where(given)}, out is {_where(made)}",
                hint="both belong to one library, on one device",
            )
        last = made.pointer + -(-wanted * self.plan.dtype.bits // 8)
        if made.pointer < given.pointer + given.size and given.pointer < last:
            raise LayoutError(
                "TW704",
                "out and the source share memory",
                hint="a move reads all of the source: give another out",
            )

    # -- where it is done --------------------------------------------------------------------------

    def _on_host(self, given: Storage, made: Storage, fills: bool) -> None:
        pair = self.plan.pair
        source, target = (_row(storage) for storage in (given, made))
        if fills or any(limit.fills for limit in pair.limits):
            repeats = -(-len(target) // len(self.plan.fill))
            target[:] = np.frombuffer(self.plan.fill * repeats, np.uint8)[: len(target)]
        move_bytes(source, target, pair)

    def _on_device(self, given: Storage, made: Storage, fills: bool, stream: Any) -> None:
        from tilewise.move.device import Loaded, stream_of

        assert given.device is not None
        loaded = self.kernels.get(given.device)
        if loaded is None:
            loaded = self.kernels[given.device] = Loaded(self.plan, given.device)
        handle = stream_of(given.kind, stream)
        if fills:
            loaded.fill(made.pointer, made.size, handle)
        loaded(given.pointer, made.pointer, handle)


def _where(storage: Storage) -> str:
    where = "the CPU" if storage.device is None else f"GPU {storage.device}"
    return f"{storage.kind}'s on {where}"


def _row(storage: Storage) -> np.ndarray[Any, np.dtype[np.uint8]]:
    if storage.kind == "torch":
        memory = (ctypes.c_uint8 * storage.size).from_address(storage.pointer)
        return np.ctypeslib.as_array(memory)
    return storage.row
