"""A plan on the ranks of torch.distributed: all agree, then each sends and takes its messages.

The rank at a device's coordinates holds what the layout has there. Messages are bytes, so a backend needs not
know the type of the elements.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from hashlib import sha256
from importlib import import_module, metadata
from threading import Thread
from time import monotonic, sleep
from typing import Any

from tilewise.core.errors import LayoutError, of_kind
from tilewise.core.integers import counted
from tilewise.core.layout import Layout
from tilewise.moves.mesh.bound import Binding, BoundPart, BoundSum, bound_parts
from tilewise.moves.mesh.held import Devices, device_axes
from tilewise.moves.mesh.plan import MeshPlan, mesh_plan
from tilewise.moves.types import given_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Made = TypeVar("Made")

FIELDS = (
    *("version of tilewise", "source", "target", "type", "shape", "mesh or sum"),
    *("number of bytes", "need of a gradient", "answer"),
)
"""The parts of a call on which all ranks agree."""
DIGEST = 8
"""Bytes of the digest of each."""
SAID_WITHIN = 2.0
"""Seconds in which the store of a group says which rank others have missed."""
MARK = "tilewise/missed"


@dataclass(frozen=True)
class GroupRanks:
    """The ranks of a group by the numbers of their devices, and this process among them."""

    group: Any
    ranks: tuple[int, ...]
    """The global rank of each device."""
    me: int
    """The number of this process's device."""

    @cached_property
    def numbers(self) -> list[int]:
        """Return the number of each device's rank in the group."""
        dist: Any = sys.modules["torch.distributed"]
        return [dist.get_group_rank(self.group, rank) for rank in self.ranks]

    @classmethod
    def of(cls, mesh: Any) -> GroupRanks:
        """Return the ranks of a DeviceMesh or a group, in its order; None is the group of all ranks."""
        dist = import_module("torch.distributed") if "torch" in sys.modules else None
        if dist is None or not dist.is_initialized():
            hint = "torchrun starts ranks, and torch.distributed.init_process_group joins them"
            raise LayoutError("TW707", "there is no process group", hint=hint)
        is_mesh = hasattr(mesh, "get_group")
        if is_mesh:
            group = mesh.get_group() if mesh.ndim == 1 else dist.group.WORLD
            numbers = mesh.mesh.reshape(-1).tolist()
        else:
            group = dist.group.WORLD if mesh is None else mesh
            numbers = dist.get_process_group_ranks(group)
        me = dist.get_rank()
        if me not in numbers:
            raise LayoutError("TW701", f"rank {me} is not among the ranks of the mesh")
        return cls(group, tuple(numbers), numbers.index(me))

    @property
    def device(self) -> Any:
        """Return the device whose tensors the group sends."""
        torch: Any = sys.modules["torch"]
        backends = torch.distributed.get_backend_config(self.group)  # such as cpu:gloo,cuda:nccl
        return "cpu" if "cpu:" in backends else torch.device("cuda", torch.cuda.current_device())

    def placed(self, mesh: Any, devices: Devices) -> GroupRanks:
        """Return the ranks in the order of the devices' numbers.

        refused  TW701 a group of another size than the devices, or a mesh with other axes
        """
        names, numbers = devices.names, list(self.ranks)
        is_mesh = hasattr(mesh, "get_group")
        own = axes_of(mesh) if is_mesh else ()
        if is_mesh and len(names) > 1:
            if set(own) != set(names):
                has = ", ".join(mesh.mesh_dim_names or ()) or "no names"
                raise LayoutError(
                    "TW701",
                    f"the layouts are on the axes {', '.join(names)}, and the mesh has {has}",
                    hint="init_device_mesh(..., mesh_dim_names=...) names them",
                )
            numbers = mesh.mesh.permute(*map(own.index, names)).reshape(-1).tolist()
        if len(numbers) != devices.size:
            raise LayoutError(
                "TW701",
                f"the layouts are on {counted(devices.size, 'device')}, and the group has"
                f" {counted(len(numbers), 'rank')}",
                hint="pass the group of those ranks as mesh=",
            )
        me = self.ranks[self.me]
        return GroupRanks(self.group, tuple(numbers), numbers.index(me))

    def missed(self, rank: int) -> int:
        """Tell the group which rank is missed; return the one that the missed rank misses, if it said so."""
        found = [rank]

        def ask() -> None:
            store = sys.modules["torch.distributed"].distributed_c10d._get_default_store()
            store.set(f"{MARK}/{self.ranks[self.me]}", str(rank))
            end = monotonic() + SAID_WITHIN
            while monotonic() < end:  # a rank that ends at the same time says it a moment later
                if not store.check([f"{MARK}/{found[-1]}"]):
                    sleep(SAID_WITHIN / 20)
                    continue
                other = int(store.get(f"{MARK}/{found[-1]}"))
                if other in (self.ranks[self.me], *found):  # it woke up, and misses those that missed it
                    break
                found.append(other)

        def quietly() -> None:
            with suppress(Exception):  # the rank that keeps the store may be the one that is gone
                ask()

        asking = Thread(target=quietly, daemon=True)
        asking.start()
        asking.join(SAID_WITHIN)
        return found[-1]


def axes_of(mesh: Any) -> tuple[str, ...]:
    """Return the names of a DeviceMesh's dimensions, or names by their numbers where it has none."""
    return tuple(mesh.mesh_dim_names or [f"dim{at}" for at in range(mesh.mesh.dim())])


class Messages:
    """The messages of one step. Where one fails, the others still go on before the error is raised.

    On GPUs they go together, as one call: one by one they would wait for each other.
    """

    def __init__(self, ranks: GroupRanks, tag: int, *, together: bool) -> None:
        self.ranks, self.tag, self.together = ranks, tag, together
        self.dist: Any = sys.modules["torch.distributed"]
        self._rows: dict[Any, dict[int, Any]] = {self.dist.isend: {}, self.dist.irecv: {}}
        self._works: list[Any] = []
        self.failed: dict[int, str] = {}
        """{device: the reason why its messages do not come}."""

    def send(self, row: Any, device: int) -> Any:
        """Begin to send bytes to a device."""
        return self._begun(self.dist.isend, row, device)

    def take(self, row: Any, device: int) -> Any:
        """Begin to take bytes from a device."""
        return self._begun(self.dist.irecv, row, device)

    def _begun(self, way: Any, row: Any, device: int) -> Any:
        if self.together:
            self._rows[way][device] = row
            return None
        with self._failing(device):
            return way(row, self.ranks.ranks[device], group=self.ranks.group, tag=self.tag)

    def start(self, like: Any) -> None:
        """Begin the messages that go together; all ranks call it, also those that have no message."""
        group, numbers = self.ranks.group, self.ranks.numbers
        if not self.together:
            return
        if len(numbers) == self.dist.get_world_size(group):
            every = [[like.new_empty(0)] * len(numbers) for _ in self._rows]
            for rows, own in zip(every, self._rows.values(), strict=True):
                for device, row in own.items():
                    rows[numbers[device]] = row
            sent, taken = every
            self._works = [self.dist.all_to_all(taken, sent, group, async_op=True)]
        else:
            ops = [
                self.dist.P2POp(way, row, self.ranks.ranks[device], group)
                for way, rows in self._rows.items()
                for device, row in rows.items()
            ]
            self._works = self.dist.batch_isend_irecv(ops) if ops else []

    def wait(self, work: Any, device: int) -> bool:
        """Return True when a message has arrived, False where it does not come."""
        while self._works:
            self._works.pop().wait()  # the stream waits, and this process goes on
        if work is not None and device not in self.failed:
            with self._failing(device):
                work.wait()
        return device not in self.failed

    @contextmanager
    def _failing(self, device: int) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            self.failed[device] = (str(error).strip().splitlines() or ["no answer"])[0][:200]

    def end(self) -> None:
        """Name the rank whose messages do not come.

        refused  TW707
        """
        for device, reason in self.failed.items():
            rank = self.ranks.ranks[device]
            raise LayoutError(
                "TW707",
                f"rank {self.ranks.missed(rank)} does not answer: messages of rank {rank} fail: {reason}",
                hint="x is as it was; start the ranks that are gone again, and make a new group",
            )


def moved(
    x: Any,
    source: Any,
    target: Any,
    out: Any,
    mesh: Any,
    dtype: Any,
    shape: Any,
    reduce: Any,
    parts: Any,
    bind: Binding,
) -> Any:
    """Return the result of `tilewise.move` on the ranks of a mesh; all of them call it."""

    def planned() -> MeshPlan:
        if not _is_tensor(x):
            hint = "torch.from_numpy(x); arrays of all devices in one process go to `simulated`"
            raise LayoutError(
                "TW704", f"across devices x is a tensor of torch, not {type(x).__name__}", hint=hint
            )
        for layout, name in ((source, "the source"), (target, "the target")):
            of_kind(layout, Layout, f"a layout for {name}", "such as S[(2, 8) : (1@gpuid_x, 1)]")
        kind = given_type(x.dtype if dtype is None else dtype)
        asked = {
            "shape": shape,
            "mesh": named_extents(mesh, source, target),
            "reduce": reduce,
            "parts": parts,
        }
        return remembered(
            (source, target, kind, repr(asked)), lambda: mesh_plan(source, target, kind, **asked)
        )

    return agreed(mesh, planned, bind, x, out)(x, out)


def named_extents(mesh: Any, *layouts: Layout) -> dict[str, int] | None:
    """Return the axes of a DeviceMesh, or None where its names are not those of the layouts."""
    names = getattr(mesh, "mesh_dim_names", None) or ()
    used = {axis.name for layout in layouts for axis in device_axes(layout)}
    return dict(zip(names, mesh.mesh.shape, strict=True)) if names and used <= set(names) else None


def agreed(
    mesh: Any, planned: Callable[[], MeshPlan], bind: Binding, x: Any = None, out: Any = None
) -> MeshMove:
    """Return a move that all ranks have agreed on; an error of one rank is an error of all.

    refused  TW707 a rank that does not answer, TW708 ranks with different calls
    """
    ranks = remembered((GroupRanks, mesh, _world()), lambda: GroupRanks.of(mesh))
    plan, error, move = None, None, None
    size = x.numel() * x.element_size() if _is_tensor(x) else -1
    device = x.device if _is_tensor(x) else ranks.device
    on_gpu = _on_gpu(device)
    try:
        plan = planned()
        move = remembered(
            (id(plan), mesh, _world(), on_gpu),  # the move keeps the plan, and so its number
            lambda: MeshMove(plan, ranks.placed(mesh, plan.devices), bind, on_gpu=on_gpu),
        )
        if x is not None:
            move.check(x, out)
    except LayoutError as own:
        error = own
    try:
        parts = move.words if move is not None else words_of(plan)
        needs = str(_is_tensor(x) and needs_gradient(x))
        agree(ranks, digests(parts, size, version(), str(error or ""), needs), device)
    except LayoutError:
        if error is None:
            raise
    if error is not None:
        raise error
    assert move is not None
    return move


_REMEMBERED: dict[Any, Any] = {}
MOST = 1024
"""Plans and moves that are remembered, at most."""


def remembered(key: Any, make: Callable[[], Made]) -> Made:
    """Return what was made for a key, or make it."""
    if key not in _REMEMBERED:
        made = make()
        if len(_REMEMBERED) >= MOST:
            _REMEMBERED.clear()
        _REMEMBERED[key] = made
    found: Made = _REMEMBERED[key]
    return found


def needs_gradient(x: Any) -> bool:
    """Return True if torch shall pass a gradient back to x."""
    return bool(sys.modules["torch"].is_grad_enabled() and x.requires_grad)


def _world() -> Any:
    """Return the group of all ranks; what is remembered of one is not taken for another."""
    dist = sys.modules.get("torch.distributed")
    return dist.group.WORLD if dist is not None and dist.is_available() else None


def _on_gpu(device: Any) -> bool:
    return bool(device != "cpu" and device.type != "cpu")


def _is_tensor(x: Any) -> bool:
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


@cache
def version() -> str:
    """Return the version of tilewise."""
    try:
        return metadata.version("tilewise")
    except metadata.PackageNotFoundError:
        return ""


class MeshMove:
    """A plan that the ranks of a group have agreed on; a rank calls it with its storage."""

    def __init__(self, plan: MeshPlan, ranks: GroupRanks, bind: Binding, *, on_gpu: bool = False) -> None:
        self.plan, self.ranks = plan, ranks
        self._bound = partial(bound_parts, plan, ranks.me, bind, fused=on_gpu)
        self.parts = self._bound()
        self._reads = -(-plan.reads * plan.dtype.bits // 8)

    @cached_property
    def words(self) -> list[str]:
        """Return the parts of the plan on which all ranks agree."""
        return words_of(self.plan)

    @property
    def reads(self) -> int:
        """Return the bytes of a rank's storage in the source."""
        return self._reads

    @property
    def writes(self) -> int:
        """Return the bytes of a rank's storage in the target."""
        return self.parts[-1].room

    def check(self, x: Any, out: Any = None) -> tuple[Any, Any]:
        """Return the bytes of x, and of `out`.

        refused  TW704 a tensor that is not contiguous, or too small
        """
        if needs_gradient(x):
            self._check_gradient(x, out)
        held = _row(x, "x")
        given = None if out is None else _row(out, "out")
        for name, row, reach in (("x", held, self._reads), ("out", given, self.writes)):
            if row is not None and row.numel() < reach:
                layout = self.plan.source if name == "x" else self.plan.target
                raise LayoutError(
                    "TW704",
                    f"{name} has {row.numel()} bytes, and a device's part of {layout} reaches {reach}",
                    hint="each rank passes the storage of its own device",
                )
        return held, given

    def _check_gradient(self, x: Any, out: Any) -> None:
        """Refuse gradients that the plan does not carry back."""
        hint = "call it under torch.no_grad()"
        if out is not None:
            raise LayoutError("TW704", "x needs a gradient, and `out` has none to pass on", hint=hint)
        if self.plan.summed and self.plan.op not in ("sum", "avg"):
            raise LayoutError(
                "TW704", f"x needs a gradient, and the {self.plan.op} of parts has none", hint=hint
            )
        if given_type(x.dtype) != self.plan.dtype:
            message = f"x needs a gradient, and its {x.dtype} is moved as {self.plan.dtype}"
            raise LayoutError("TW704", message, hint=hint)

    def __call__(self, x: Any, out: Any = None) -> Any:
        """Return this rank's storage of the target, or fill `out`, from its storage of the source.

        A gradient goes back by the same stages, and arrives at each rank as its part of the sum.
        """
        held, given = self.check(x, out)
        if needs_gradient(x):
            return _with_gradient()(self, x)
        made = self._run(self.parts, held, given)
        if out is not None:
            return out
        return made if made.numel() % x.element_size() else made.view(x.dtype)

    def back(self, gradient: Any) -> Any:
        """Return the gradient of this rank's storage of the source from that of its target."""
        given = gradient / self.plan.divisor if self.plan.divisor > 1 else gradient.contiguous()
        return self._run(self._back, _row(given, "the gradient")).view(gradient.dtype)

    @cached_property
    def _back(self) -> list[BoundPart | BoundSum]:
        return self._bound(back=True)

    def _run(self, parts: Sequence[BoundPart | BoundSum], held: Any, out: Any = None) -> Any:
        """Return the bytes after all stages; `out` is written in the last one, after all messages."""
        for at, part in enumerate(parts):
            apart = out is not None and at == len(parts) - 1
            if apart:
                made = out[: part.room]
            else:
                made = held.new_empty(part.room) if part.fills else held.new_zeros(part.room)
            if isinstance(part, BoundSum):
                self._reduce(part, at, held, made)
            else:
                self._exchange(part, at, held, made, apart=apart)
            held = made
        return held

    def _reduce(self, part: BoundSum, tag: int, x: Any, made: Any) -> None:
        messages = Messages(self.ranks, tag, together=_on_gpu(x.device))
        rows = part.taken(x.new_empty)
        takes = [(messages.take(row, peer), peer) for peer, row in rows.items()]
        sends = []
        for peer, row in part.sent(x, x.new_empty):
            if peer == self.ranks.me:
                rows[peer] = row
            else:
                sends.append((messages.send(row, peer), peer))
        messages.start(x)
        for work, peer in [*takes, *sends]:
            messages.wait(work, peer)
        messages.end()
        self._clear(made)
        part.finish(rows, made, x.new_zeros)

    def _exchange(self, part: BoundPart, tag: int, x: Any, made: Any, *, apart: bool) -> None:
        packed, taken = part.packed(x, x.new_empty), part.taken(made, x.new_empty, apart=apart)
        begun = []
        for share, batches in enumerate(part.takes):
            messages = Messages(self.ranks, tag, together=_on_gpu(x.device))
            takes = [
                (batch, [(messages.take(row, peer), peer) for peer, row in part.places(taken, batch)])
                for batch in batches
            ]
            sends = [(messages.send(row, peer), peer) for peer, row in part.sent(x, packed, share)]
            messages.start(x)
            begun.append((messages, takes, sends))
        if not apart:
            part.keep(x, made)
        for messages, takes, sends in begun:
            for batch, works in takes:
                arrived = [messages.wait(work, peer) for work, peer in works]
                if all(arrived) and not apart:
                    part.unpack(batch, taken, made)
            for work, peer in sends:
                messages.wait(work, peer)
            messages.end()
        if apart:
            self._clear(made)
            part.finish(x, taken, made)

    def _clear(self, made: Any) -> None:
        """Make the target 0 if it has parts of a sum: this rank may have nothing of it."""
        if self.plan.parts:
            made.zero_()


@cache
def _with_gradient() -> Callable[[MeshMove, Any], Any]:
    """Return the move through which torch passes gradients on."""
    torch: Any = sys.modules["torch"]

    class OfMesh(torch.autograd.Function):  # type: ignore[misc]
        """The move, or with the shape of its source the way back: each is the gradient of the other."""

        @staticmethod
        def forward(ctx: Any, given: Any, move: MeshMove, back: Any) -> Any:
            ctx.move, ctx.back = move, given.shape if back is None else None
            with torch.no_grad():
                if back is None:
                    return move(given)
                found, made = given.new_zeros(back), move.back(given)
                found.view(-1)[: made.numel()] = made
                return found

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> tuple[Any, None, None]:
            return OfMesh.apply(gradient.contiguous(), ctx.move, ctx.back), None, None

    return lambda move, x: OfMesh.apply(x, move, None)


def _row(tensor: Any, name: str) -> Any:
    """Return a tensor's storage from its first element on, as bytes."""
    if not tensor.is_contiguous():
        raise LayoutError("TW704", f"{name} is not contiguous", hint=f"{name}.contiguous()")
    return tensor.detach().reshape(-1).view(sys.modules["torch"].uint8)


# -- agreement ---------------------------------------------------------------------------------------------


def words_of(plan: MeshPlan | None) -> list[str]:
    """Return the parts of a plan on which all ranks agree."""
    if plan is None:
        return ["", "", "", "", ""]
    mesh = dict(zip(plan.devices.names, plan.devices.extents, strict=True))
    more = (sorted(plan.links.items()), plan.reduce, plan.parts, plan.op)
    return [str(plan.source), str(plan.target), str(plan.dtype), str(plan.box), f"{mesh} {more}"]


def digests(parts: Sequence[str], size: int, version: str, refusal: str = "", needs: str = "") -> bytes:
    """Return a digest of each part of a call."""
    return b"".join(map(_digest, [version, *parts, str(size), needs, refusal]))


@lru_cache(4 * MOST)
def _digest(part: str) -> bytes:
    return sha256(part.encode()).digest()[:DIGEST]


def agree(ranks: GroupRanks, own: bytes, device: Any) -> None:
    """Return when all ranks have the same call; refuse on all ranks where one has another.

    refused  TW708, which names the rank and what it has
    """
    torch: Any = sys.modules["torch"]
    mine = torch.frombuffer(bytearray(own), dtype=torch.uint8).to(device)
    others = [at for at in range(len(ranks.ranks)) if at != ranks.me]
    rows = mine.expand(len(ranks.ranks), -1).clone()
    messages = Messages(ranks, TAG, together=_on_gpu(device))
    takes = [(messages.take(rows[at], at), at) for at in others]
    sends = [(messages.send(mine, at), at) for at in others]
    messages.start(mine)
    for work, at in [*takes, *sends]:
        messages.wait(work, at)
    messages.end()
    refuse_differing(list(map(bytes, rows.cpu().numpy())), ranks.ranks)


TAG = 1 << 12
"""The tag of the agreement's messages; those of exchanges count from 0."""


def refuse_differing(said: Sequence[bytes], ranks: Sequence[int]) -> None:
    """Refuse calls that differ from rank to rank."""
    found = list(differing(said, ranks))
    if found:
        raise LayoutError("TW708", f"the ranks do not agree: {'; '.join(found)}", hint="nothing was moved")


def differing(said: Sequence[bytes], ranks: Sequence[int]) -> Iterator[str]:
    """Yield what each rank has that most others have not.

    >>> a, b = (digests(words_of(None), size, "1.0") for size in (4, 8))
    >>> list(differing([a, b, a], [0, 1, 2]))
    ['rank 1 has another number of bytes']
    """
    if len(set(said)) == 1 and said[0].endswith(_digest("")):
        return
    fields = [[row[at * DIGEST : (at + 1) * DIGEST] for row in said] for at in range(len(FIELDS))]
    refused = [at for at, row in enumerate(fields[-1]) if row != _digest("")]
    for at in refused:
        yield f"rank {ranks[at]} refuses its call"
    for name, column in zip(FIELDS[:-1], fields, strict=False):
        counts = Counter(row for at, row in enumerate(column) if at not in refused)
        usual = counts.most_common(1)[0][0] if counts else b""
        for at, row in enumerate(column):
            if row != usual and at not in refused:
                yield f"rank {ranks[at]} has another {name}"
