"""From one layout to another: the plan, its kernel, and the move itself, at the speed of a copy.

pairs      two layouts as one list of digits, as few and as wide as can be
tiles      the box that a block of threads moves: which one, and how it lies in shared memory
kernels    CUDA C++ of tiles, and of what no tile takes
types      types of elements, by name or as arrays have them
ways       how elements go: all together, by tiles, or one by one
plan       the plan in memory, and its cost
lines      plans in lines of text
named      moves that have names
source     a kernel as a file, with its launch
arrays     moves of arrays of NumPy, torch, CuPy, JAX, on their device or the CPU
exchange   moves between registers
mesh       moves across devices
"""

from __future__ import annotations

from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.moves.pairs.fills import is_no_bit
from tilewise.moves.plan import Plan, memory_plan, plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Unpack

    from tilewise.core.dtypes import DType
    from tilewise.moves.arrays.run import Bound
    from tilewise.moves.exchange import Exchange
    from tilewise.moves.mesh.plan import MeshPlan
    from tilewise.moves.mesh.ranks import MeshMove
    from tilewise.moves.mesh.simulated import Simulated
    from tilewise.moves.named import Named
    from tilewise.moves.plan import OfMemory

__all__ = ["Bound", "Exchange", "MeshPlan", "Plan"]
__all__ += ["bind", "move", "plan", "shard_function", "simulated", "tune"]


def move(
    x: Any,
    source: Layout | Named | None,
    target: Layout | None = None,
    out: Any = None,
    *,
    dtype: DType | str | None = None,
    shape: Any = None,
    fill: Any = 0,
    stream: Any = None,
    mesh: Any = None,
    reduce: Any = None,
    parts: Any = None,
) -> Any:
    """Return the tensor x, moved from the layout `source` to `target`: in new storage, or in `out`.

    x is storage: one row of elements from its first one. Without a source, the move reads x by its strides.
    A named move takes the place of both layouts, and has its box. `shape` is the box that moves
    where source and target differ: the move fills elements of the target beyond the box. Addresses that no
    element of the target has are filled in new storage, and stay unchanged in `out`.

    `dtype` is the type that x's bytes are read as, whatever x's type is. Source, target and fill are
    then of this type: two u4 are in a byte, two f32 in a complex64. No number is converted, and the result is
    of x's type.

    Across devices x is the storage of this process's own device, `mesh` is a DeviceMesh or a process group of
    torch.distributed, and every rank calls it. For a DTensor `target` has placements, and the result is one.
    The source's copies along axes `reduce` are parts of a sum, as `plan` has it; so are the target's along
    `parts`. Gradients go back the same way.

    On a GPU the kernel runs on `stream`, or on the stream that x's library works on.

        postcondition  for all elements i and all copies: result[target's place of i] = x[source's place of i]
        refused        TW106 elements of another width than the named move's, or than x's own strides count,
                       or packed ones where x's have a byte each; TW302 storages beyond 64 bits; TW701
                       addresses below zero; TW702 sizes; TW703 a target where elements meet; TW704 a storage
                       that is too small, elsewhere, of another type, no whole elements, the source itself, or
                       under a mask, and a stream on the CPU; TW705 a fill that is no element; TW706 no memory
                       for the result; TW707 a rank that does not answer; TW708 ranks that do not agree

    >>> import numpy as np
    >>> from tilewise import S
    >>> move(np.arange(6), S[2, 3], S[(2, 3) : (1, 2)])
    array([0, 3, 1, 4, 2, 5])
    >>> from tilewise.moves.named import transpose
    >>> move(np.arange(6), transpose(2, 3))
    array([0, 3, 1, 4, 2, 5])
    >>> move(np.array([1 + 2j, 3 + 4j]), S[2, 2], S[(2, 2) : (1, 2)], dtype="f64")
    array([1.+3.j, 2.+4.j])
    >>> move(np.arange(6), None, S[(2, 4) : (4, 1)], shape=(2, 3), fill=-1)
    Traceback (most recent call last):
    tilewise.LayoutError: TW702: the box (2, 3) is not in both 6 and (2, 4)
      hint: a box has one extent for each mode, and lies in the source and in the target
    """
    is_spread = hasattr(x, "device_mesh")
    if (is_spread or mesh is not None) and (stream is not None or not is_no_bit(fill)):
        hint = "places without elements are 0, and it runs on the stream on which torch works"
        raise LayoutError("TW401", "a move across devices takes no fill and no stream", hint=hint)
    if mesh is None and (reduce is not None or parts is not None):
        raise LayoutError(
            "TW401", "sums are across devices", hint="mesh= is their DeviceMesh or process group"
        )
    if is_spread:
        from tilewise.moves.mesh.dtensor import redistributed

        return redistributed(x, source, target, out, _bound)
    if hasattr(target, "shard_shape"):
        from tilewise.moves.mesh.shard_map import resharded

        return resharded(x, source, target, out)
    if mesh is not None:
        from tilewise.moves.mesh.ranks import moved as moved_on_mesh

        return moved_on_mesh(x, source, target, out, mesh, dtype, shape, reduce, parts, _bound)
    if target is None:
        from tilewise.moves.named import whole_move

        named = whole_move(source, target, shape)
        source, target, shape = named.source, named.target, named.shape
        if named.dtype is not None:
            from tilewise.moves.arrays.storage import storage_of

            kind = getattr(x, "dtype", None)  # torch may only trace the array
            dtype = named.element_of(int(getattr(kind, "itemsize", 0)) or storage_of(x).itemsize, dtype)
    from tilewise.moves.arrays.run import moved  # NumPy comes with the first move, not with its name

    return moved(x, source, target, out, dtype, shape, fill, stream)


def bind(plan: MeshPlan, mesh: Any = None) -> MeshMove:
    """Return a plan across devices, ready for the ranks of a DeviceMesh or a process group; all call this.

    They agree on the plan here, once: a call of the result, with x and perhaps `out`, sends the plan's bytes
    alone. A plan in memory has a method for this, `plan.bind()`.

        refused  TW707 a rank that does not answer; TW708 ranks with different plans
    """
    from tilewise.moves.mesh.ranks import agreed

    return agreed(mesh, lambda: plan, _bound)


def simulated(plan: MeshPlan, storages: Sequence[Any]) -> Simulated:
    """Return the storages of all devices after a plan across devices, run in this process, and its traffic.

    `storages` has an array for each device, in the order of their numbers. Places of the target that no
    element takes are 0.

    >>> import numpy as np
    >>> from tilewise import parse
    >>> turn = plan(parse("S[(2, 2) : (1@x, 1)]"), parse("S[(2, 2) : (1, 1@x)]"), "u8")
    >>> after = simulated(turn, [np.array([1, 2], np.uint8), np.array([3, 4], np.uint8)])
    >>> [storage.tolist() for storage in after.storages], sorted(after.traffic.items())
    ([[1, 3], [2, 4]], [((0, 1), 1), ((1, 0), 1)])
    """
    from tilewise.moves.mesh.simulated import simulated as made

    return made(plan, storages, _bound)


def shard_function(plan: MeshPlan) -> Callable[[Any], Any]:
    """Return a plan across devices as a function of a device's storage, for the body of `jax.shard_map`.

    The mesh of `shard_map` has the plan's axes. JAX differentiates the function.

        refused  NotDecided where shards are uneven or storage is swizzled
    """
    from tilewise.moves.mesh.shard_map import shard_function as made

    return made(plan)


def _bound(source: Layout, target: Layout, dtype: DType) -> Bound:
    return memory_plan(source, target, dtype).bind()


def tune(
    source: Layout | Named,
    target: Layout | None = None,
    dtype: DType | str | None = None,
    **asked: Unpack[OfMemory],
) -> Plan:
    """Return the plan whose tile is the fastest on a GPU: measured there, and remembered.

    The arguments are those of `plan` for memory. Moves of the same class of shapes take that tile from then
    on, here and in other processes.

        refused  TW608 where there is no GPU
    """
    return memory_plan(source, target, dtype, **asked).tuned()


def __getattr__(name: str) -> Any:
    """Return `Bound` or `Exchange`: modules that need NumPy are imported late."""
    if name == "Bound":
        from tilewise.moves.arrays.run import Bound

        return Bound
    if name == "Exchange":
        from tilewise.moves.exchange import Exchange

        return Exchange
    if name == "MeshPlan":
        from tilewise.moves.mesh.plan import MeshPlan

        return MeshPlan
    raise AttributeError(f"module 'tilewise.moves' has no attribute {name!r}")
