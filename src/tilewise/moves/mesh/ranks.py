"""A plan on the ranks of torch.distributed: each sends and takes its messages, and all agree before anything moves.

The rank at a device's coordinates holds what the layout has there. Messages are bytes, so a backend without the type
of the elements moves them too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Thread
from typing import Any

from tilewise.core.errors import LayoutError
from tilewise.core.integers import counted
from tilewise.moves.mesh.bound import BoundPart
from tilewise.moves.mesh.plan import MeshPlan

FIELDS = ("version of tilewise", "source", "target", "type", "shape", "mesh", "number of bytes", "answer")
"""The parts of a call on which all ranks agree."""
DIGEST = 8
"""Bytes of the digest of each."""
SAID_WITHIN = 2.0
"""Seconds in which the store of a group says which rank others have missed."""
MARK = "tilewise/missed"


@dataclass(frozen=True)
class Ranks:
    """The ranks of a group by the numbers of their devices, and this process among them."""

    group: Any
    ranks: tuple[int, ...]
    """The global rank of each device."""
    me: int
    """The number of this process's device."""

    @classmethod
    def of(cls, mesh: Any, plan: MeshPlan) -> Ranks:
        """Return the ranks of a DeviceMesh or a process group; None is the group of all ranks.

        refused  TW701 a group of another size than the plan's mesh, or a mesh with other axes
        """
        import torch.distributed as dist

        names, size = plan.devices.names, plan.devices.size
        if hasattr(mesh, "get_group"):
            own = tuple(mesh.mesh_dim_names or ())
            extents = tuple(mesh.mesh.shape)
            if set(own) != set(names) and len(names) > 1:
                raise LayoutError(
                    "TW701",
                    f"the layouts are on the axes {', '.join(names)}, and the mesh has {', '.join(own) or 'no names'}",
                    hint="DeviceMesh(..., mesh_dim_names=...) names them",
                )
            order = [own.index(name) for name in names] if set(own) == set(names) else range(len(extents))
            numbers = mesh.mesh.permute(*order).reshape(-1).tolist()
            group = dist.group.WORLD
        else:
            group = mesh if mesh is not None else dist.group.WORLD
            numbers = dist.get_process_group_ranks(group)
        if len(numbers) != size:
            raise LayoutError(
                "TW701",
                f"the layouts are on {counted(size, 'device')}, and the group has {counted(len(numbers), 'rank')}",
                hint="mesh= names more devices than the layouts use, such as {'gpuid_x': 8}",
            )
        me = dist.get_rank()
        if me not in numbers:
            raise LayoutError("TW701", f"rank {me} is not among the ranks of the mesh")
        return cls(group, tuple(numbers), numbers.index(me))

    def send(self, row: Any, device: int, tag: int) -> Any:
        """Begin to send bytes to a device."""
        import torch.distributed as dist

        return dist.isend(row, self.ranks[device], group=self.group, tag=tag)

    def take(self, row: Any, device: int, tag: int) -> Any:
        """Begin to take bytes from a device."""
        import torch.distributed as dist

        return dist.irecv(row, self.ranks[device], group=self.group, tag=tag)

    def wait(self, work: Any, device: int, what: str) -> None:
        """Wait for a message; name the rank that is missed where it does not come.

        refused  TW707
        """
        try:
            work.wait()
        except RuntimeError as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else "no answer"
            missed = self.missed(self.ranks[device])
            raise LayoutError(
                "TW707",
                f"rank {missed} does not answer: {what} rank {self.ranks[device]} failed: {reason[:200]}",
                hint="x is as it was; start the ranks that are gone again, and make a new group",
            ) from error

    def missed(self, rank: int) -> int:
        """Tell the group which rank is missed, and return the one that a missed rank misses itself, if it said so."""
        found = [rank]

        def ask() -> None:
            from torch.distributed.distributed_c10d import _get_default_store

            store = _get_default_store()
            while store.check([f"{MARK}/{found[-1]}"]) and len(found) < len(self.ranks):
                found.append(int(store.get(f"{MARK}/{found[-1]}")))
            store.set(f"{MARK}/{self.ranks[self.me]}", str(found[-1]))

        def quietly() -> None:
            try:
                ask()
            except Exception:  # noqa: BLE001, S110 - the rank that keeps the store may be the one that is gone
                pass

        asking = Thread(target=quietly, daemon=True)
        asking.start()
        asking.join(SAID_WITHIN)
        return found[-1]


class MeshMove:
    """A plan that the ranks of a group have agreed on; called with a rank's storage, and optionally a target's."""

    def __init__(self, plan: MeshPlan, ranks: Ranks, *, on_gpu: bool = False) -> None:
        self.plan, self.ranks = plan, ranks
        self.parts = [BoundPart(exchange, ranks.me, plan.dtype, fused=on_gpu) for exchange in plan.exchanges]
        self._sizes = [-(-exchange.target.size * plan.dtype.bits // 8) for exchange in plan.exchanges]
        self._reads = -(-plan.exchanges[0].source.size * plan.dtype.bits // 8)

    @property
    def reads(self) -> int:
        """Return the bytes of a rank's storage in the source."""
        return self._reads

    @property
    def writes(self) -> int:
        """Return the bytes of a rank's storage in the target."""
        return self._sizes[-1]

    def __call__(self, x: Any, out: Any = None) -> Any:
        """Return this rank's storage of the target, or fill `out`, from its storage of the source."""
        import torch

        held = _row(x, "x")
        if held.numel() < self._reads:
            raise LayoutError(
                "TW704", f"x has {held.numel()} bytes, and the source reaches {self._reads} on a device"
            )
        given = None if out is None else _row(out, "out")
        if given is not None and given.numel() < self.writes:
            raise LayoutError("TW704", f"out has {given.numel()} bytes, and the target reaches {self.writes}")

        def empty(size: int) -> Any:
            return torch.empty(size, dtype=torch.uint8, device=held.device)

        for step, part in enumerate(self.parts):
            is_last = step == len(self.parts) - 1
            room = self._sizes[step]
            if is_last and given is not None:
                made = given[:room]
            else:
                made = (
                    torch.zeros(room, dtype=torch.uint8, device=held.device)
                    if self._has_room(step)
                    else empty(room)
                )
            self._exchange(part, held, made, empty, tag=step, apart=is_last and given is not None)
            held = made
        return (
            out if out is not None else held.view(x.dtype) if held.numel() % x.element_size() == 0 else held
        )

    def _has_room(self, step: int) -> bool:
        """Return True if the storage has places that no element takes: they are 0."""
        exchange = self.plan.exchanges[step]
        me = self.ranks.me
        taken = int(exchange.wanted[me])
        for extent, _ in exchange.target.local_copies:
            taken *= extent
        return taken != exchange.target.size

    def _exchange(
        self, part: BoundPart, x: Any, made: Any, empty: Callable[[int], Any], *, tag: int, apart: bool
    ) -> None:
        taken, slots = part.taken(made, empty, apart=apart)
        takes = [(self.ranks.take(row, peer, tag), peer, slot) for peer, row, slot in slots]
        sends = [(self.ranks.send(row, peer, tag), peer) for peer, row in part.sent(x, empty)]
        if not apart:
            part.keep(x, made)
        for work, peer, slot in takes:
            self.ranks.wait(work, peer, "the message of")
            if not apart:
                part.unpack(slot, taken, made)
        for work, peer in sends:
            self.ranks.wait(work, peer, "the message to")
        if apart:
            for _, _, slot in takes:
                part.unpack(slot, taken, made)
            part.keep(x, made)
        part.unpack_all(taken, made)


def _row(tensor: Any, name: str) -> Any:
    """Return a tensor's storage from its first element on, as bytes."""
    import torch

    if not tensor.is_contiguous():
        raise LayoutError("TW704", f"{name} is not contiguous", hint=f"{name}.contiguous()")
    return tensor.detach().reshape(-1).view(torch.uint8)


# -- agreement ---------------------------------------------------------------------------------------------


def digests(plan: MeshPlan | None, size: int, version: str, refusal: str = "") -> bytes:
    """Return a digest of each part of a call."""
    parts = ["", "", "", "", ""]
    if plan is not None:
        mesh = dict(zip(plan.devices.names, plan.devices.extents, strict=True))
        parts = [str(plan.source), str(plan.target), str(plan.dtype), str(plan.box), str(mesh)]
        parts[4] += str(sorted(plan.links.items()))
    every = [version, *parts, str(size), refusal]
    return b"".join(sha256(part.encode()).digest()[:DIGEST] for part in every)


def agree(ranks: Ranks, own: bytes, device: Any) -> None:
    """Return when all ranks have the same call; refuse on all ranks where one has another.

    refused  TW708, which names the rank and what it has
    """
    import torch

    mine = torch.frombuffer(bytearray(own), dtype=torch.uint8).to(device)
    others = [at for at in range(len(ranks.ranks)) if at != ranks.me]
    rows = {at: torch.empty_like(mine) for at in others}
    takes = [(ranks.take(rows[at], at, TAG), at) for at in others]
    sends = [(ranks.send(mine, at, TAG), at) for at in others]
    for work, at in [*takes, *sends]:
        ranks.wait(work, at, "the agreement with")
    said = [own if at == ranks.me else bytes(rows[at].cpu().numpy()) for at in range(len(ranks.ranks))]
    found = list(differing(said, ranks.ranks))
    if found:
        raise LayoutError("TW708", f"the ranks do not agree: {'; '.join(found)}", hint="nothing was moved")


TAG = 1 << 12
"""The tag of the agreement's messages; those of exchanges count from 0."""


def differing(said: Sequence[bytes], ranks: Sequence[int]) -> Iterator[str]:
    """Yield what each rank has that most others have not.

    >>> a, b = digests(None, 4, "1.0"), digests(None, 8, "1.0")
    >>> list(differing([a, b, a], [0, 1, 2]))
    ['rank 1 has another number of bytes']
    """
    fields = [[row[at * DIGEST : (at + 1) * DIGEST] for row in said] for at in range(len(FIELDS))]
    refuses = sha256(b"").digest()[:DIGEST]
    refused = [at for at, row in enumerate(fields[-1]) if row != refuses]
    for at in refused:
        yield f"rank {ranks[at]} refuses its call"
    for name, column in zip(FIELDS[:-1], fields, strict=False):
        counts = Counter(row for at, row in enumerate(column) if at not in refused)
        usual = counts.most_common(1)[0][0] if counts else b""
        for at, row in enumerate(column):
            if row != usual and at not in refused:
                yield f"rank {ranks[at]} has another {name}"
