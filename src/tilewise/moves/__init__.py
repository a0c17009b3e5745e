"""From one layout to another: the plan, its kernel, and the move itself, at the speed of a copy.

pairs      two layouts as one list of digits, as few and as wide as can be
tiles      the box that a block of threads moves: which one, and how it lies in shared memory
kernels    CUDA C++ of tiles, and of what no tile takes
types      types of elements, by name or as arrays have them
ways       how elements go: all together, by tiles, or one by one
memory     the plan in memory, and its cost
shapes     the plan for all shapes of a class: sizes are names, and arguments of one kernel
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
from tilewise.moves.memory import Plan, between_registers, memory_plan
from tilewise.moves.pairs.fills import is_no_bit
from tilewise.moves.types import given_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Unpack

    from tilewise.core.dtypes import DType
    from tilewise.hardware.architectures import Architecture
    from tilewise.moves.arrays.run import Bound, BoundShapes
    from tilewise.moves.exchange import Exchange
    from tilewise.moves.memory import OfMemory
    from tilewise.moves.mesh.plan import MeshPlan
    from tilewise.moves.mesh.ranks import MeshMove
    from tilewise.moves.mesh.simulated import Simulated
    from tilewise.moves.named import Named
    from tilewise.moves.shapes import ShapesPlan

    Axes = str | Sequence[str] | Mapping[str, str]

__all__ = ["Bound", "Exchange", "MeshPlan", "Plan"]
__all__ += ["bind", "move", "plan", "shard_function", "simulated", "tune"]


_OF_MEMORY = {
    "shape": "box",
    "device": "device whose times are expected",
    "fill": "fill",
    "aligned": "storages that are aligned",
    "checked": "accesses that are checked",
    "arch": "architecture",
}
"""Options of plans in memory alone, with the noun for errors."""


def plan(
    source: Layout | Named,
    target: Layout | None = None,
    dtype: DType | str | None = None,
    *,
    arch: Architecture | str | int | None = None,
    mesh: Mapping[str, int] | None = None,
    link: Mapping[str, float] | None = None,
    reduce: Axes | None = None,
    parts: Axes | None = None,
    **asked: Unpack[OfMemory],
) -> Plan | ShapesPlan | Exchange | MeshPlan:
    """Return the plan that moves a tensor of that type from one layout to another, or as a named move says.

    `dtype` is a type by name, or as NumPy or torch has it: that of an array gives the plan of its move.

    Between two layouts of memory it is a `Plan`. `shape=None` is the box that moves, where the two differ;
    `fill=0` is a number, or the bytes of an element, for places of the target that no element takes;
    `aligned=256` are bytes to which both storages are, a power of two; `device="h200"` is whose times are
    expected. A plan with `checked=True` has a kernel that tests every access; so has each where the
    environment says TILEWISE_CHECKED=1.

    Where sizes are names, it is a `ShapesPlan`: one kernel for all their values, which are its arguments.

    Between two layouts of registers, over reg and the axes of threads, it is an `Exchange`. `arch` is the
    architecture that has its instructions, sm_90 by default.

    Where a layout steps on devices, it is a `MeshPlan`: `mesh={"gpuid_x": 8}` names more devices than the
    layouts use, and `link={"gpuid_y": 45}` the GB/s of an axis. The source's copies along `reduce="gpuid_x"`,
    one axis or several, are parts of a sum; `{"gpuid_x": "max"}` combines them otherwise. The target's along
    `parts` are.

    Each has `kind`, `source`, `target`, `dtype`, `steps`; the first two `vector`, `swizzle`, `shared_bytes`,
    the code as `kernel`, and as `code(name)` under another name. `str` says them in lines, `data()` as JSON.

        postcondition  for all elements i: every place of `target` of i gets what a place of `source` of i has
        refused        TW302 storages beyond 64 bits; TW701 layouts that are not both of one memory, or of
                       registers; TW702 sizes; TW703 a target where elements meet; TW705 a fill that is no
                       element; TW609 no way for registers

    >>> from tilewise import S, parse, reg, tx
    >>> from tilewise.moves.named import transpose
    >>> plan(transpose(8192, 8192), dtype="bf16") == plan(S[8192, 8192], S[(8192, 8192) : (1, 8192)], "bf16")
    True
    >>> print(plan(S[512], S[512] + 64, "f32"))
    copy: one copy of memory
      bytes  4096 read and written
      time   4.0 us expected on an H200, a copy of as much 2.0 us; most of it is the launch
      1  fill 576 elements of the target with 0: it has places that no element takes
      2  copy 2048 bytes from byte 0 to byte 256, all together
    >>> print(plan(parse("wgmma.D(f32, n=64)"), S[(64, 64) : (1 @ reg, 1 @ tx)], "bf16"))
    shared: through shared memory, about 44 cycles for a warp, for sm_90 and later
      shared memory  8192 bytes, 1 barrier
      1  store 4 times by stmatrix.x4.trans: 64 wavefronts for the block
      2  wait for the block, once
      3  load 8 vectors of 16 B a thread: 64 wavefronts for the block
    """
    if isinstance(source, Layout) and isinstance(target, Layout) and between_registers(source, target):
        _refuse(asked, "between registers", "arch= says which GPUs it is for")
        from tilewise.moves.exchange import exchange
        from tilewise.moves.exchange.plan import ARCH

        return exchange(source, target, given_type(dtype), arch=ARCH if arch is None else arch)
    if isinstance(source, Layout) and isinstance(target, Layout) and _on_devices(source, target):
        from tilewise.moves.mesh.plan import mesh_plan

        box = asked.pop("shape", None)
        _refuse({"arch": arch, **asked}, "across devices", "link= says how fast its links are")
        return mesh_plan(
            source, target, given_type(dtype), shape=box, mesh=mesh, link=link, reduce=reduce, parts=parts
        )
    for name, given in (("mesh", mesh), ("link", link), ("reduce", reduce), ("parts", parts)):
        if given is not None:
            hint = f"leave out {name}=, or name devices in a layout, such as S[(2, 8) : (1@gpuid_x, 1)]"
            raise LayoutError("TW401", f"no layout steps on devices, and {name} is about them", hint=hint)
    if arch is not None:
        raise LayoutError(
            "TW401",
            "a move in memory is planned for no architecture: its kernel is for each that has room for it",
            hint="leave out arch=",
        )
    source, target, dtype = _sides(source, target, dtype, asked)
    if source.has_names or target.has_names:
        from tilewise.moves.shapes import shapes_plan  # few moves have sizes that are names

        return shapes_plan(source, target, dtype, **asked)
    return memory_plan(source, target, dtype, **asked)


def _sides(
    source: Layout | Named, target: Layout | None, dtype: DType | str | None, asked: OfMemory
) -> tuple[Layout, Layout, DType | str | None]:
    """Return two layouts and their type, those of a named move too, whose box is an option then."""
    if isinstance(source, Layout) and isinstance(target, Layout):
        return source, target, dtype
    from tilewise.moves.named import whole_move

    named = whole_move(source, target, asked.get("shape"))
    asked["shape"] = named.shape
    return named.source, named.target, named.element(dtype)


def _on_devices(source: Layout, target: Layout) -> bool:
    """Return True if a layout steps on devices, and none on the threads of one."""
    if all(axis.storage for layout in (source, target) for axis in layout.axes):
        return False
    from tilewise.moves.mesh.held import device_axes  # NumPy comes with it

    every = [axis for layout in (source, target) for axis in layout.axes if not axis.storage]
    return len(every) == sum(len(device_axes(layout)) for layout in (source, target))


def _refuse(asked: Mapping[str, Any], where: str, of_device: str) -> None:
    """Refuse options of plans in memory, where they are not as usual."""
    usual = memory_plan.__kwdefaults__ or {}
    for name, given in asked.items():
        if isinstance(given, str | int | float | None) and given in (usual.get(name), None, False):
            continue
        raise LayoutError(
            "TW401",
            f"a move {where} has no {_OF_MEMORY.get(name, name)}",
            hint=of_device if name == "device" else f"leave out {name}=",
        )


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


def bind(plan: MeshPlan | ShapesPlan, mesh: Any = None) -> MeshMove | BoundShapes:
    """Return a plan for all shapes, or across devices, ready to run. A plan of one shape has `plan.bind()`.

    A plan for all shapes is called with x and a value for each name. All shapes have one kernel.

    A plan across devices is for the ranks of a DeviceMesh or a process group; all call this. They agree on
    the plan here, once: a call of the result, with x and perhaps `out`, sends the plan's bytes alone.

        refused  TW707 a rank that does not answer; TW708 ranks with different plans

    >>> import numpy as np
    >>> from tilewise import S, name
    >>> m = name("M", multiple=8, least=8)
    >>> turn = bind(plan(S[m, 64], S[(m, 64) : (1, m)], "u16"))
    >>> turn(np.arange(512, dtype=np.uint16), {"M": 8})[:4].tolist()
    [0, 64, 128, 192]
    """
    from tilewise.moves.shapes import ShapesPlan

    if isinstance(plan, ShapesPlan):
        from tilewise.moves.arrays.run import BoundShapes

        return BoundShapes(plan)
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
    source, target, dtype = _sides(source, target, dtype, asked)
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
