"""A device's part in an exchange, ready to run on storages of bytes: of NumPy, or of torch on its GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import Any

from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.moves.mesh.adding import combined
from tilewise.moves.mesh.exchange import MeshExchange
from tilewise.moves.mesh.local import LocalMove, MessageSlot, fewest, local_part, room_of, sum_part
from tilewise.moves.mesh.plan import MeshPlan
from tilewise.moves.mesh.sums import Reduction, backwards

Empty = Callable[[int], Any]
"""From a number of bytes to new storage."""

Binding = Callable[[Layout, Layout, DType], Callable[[Any, Any], Any]]
"""From two layouts of memory to the move between them, as `move` has it."""


def bound_parts(
    plan: MeshPlan, device: int, bind: Binding, *, fused: bool = False, back: bool = False
) -> list[BoundPart | BoundSum]:
    """Return the part of one device in each stage of a plan, or, for gradients, of the plan backwards.

    Backwards, what came from one element to many places is added.
    """
    stages = [backwards(stage) for stage in reversed(plan.stages)] if back else plan.stages
    sums = [at for at, stage in enumerate(stages) if isinstance(stage, Reduction)]
    found: list[BoundPart | BoundSum] = []
    for at, stage in enumerate(stages):
        if isinstance(stage, Reduction):
            op, divisor = ("sum", 1) if back else (plan.op, plan.divisor if at == sums[-1] else 1)
            found.append(BoundSum(stage.forth, device, plan.dtype, bind, op, divisor))
        else:
            found.append(BoundPart(stage, device, plan.dtype, bind, fused=fused))
    return found


class _InBytes:
    """Storages of bytes, by numbers of elements."""

    dtype: DType

    def _bytes(self, elements: int) -> int:
        return -(-elements * self.dtype.bits // 8)

    def _row(self, storage: Any, slot: MessageSlot) -> Any:
        begin = slot.begin * self.dtype.bits // 8
        return storage[begin : begin + self._bytes(slot.size)]


SHARED_FROM = 1 << 30
"""Bytes that a device takes, from which on messages go in shares: fewer travel faster as one."""
SHARES = 2


@dataclass(frozen=True)
class Batch:
    """Messages that are packed, or unpacked, together."""

    slots: Sequence[MessageSlot]
    moves: Sequence[Callable[[Any, Any], Any]]


class BoundPart(_InBytes):
    """The part of one device: packs and unpacks by the kernels of `move`, and names what is sent and taken.

    On a GPU many bytes go in shares. One kernel packs all messages of a share, and one unpacks them, while
    the other share is on its way. On a CPU each message is packed when the one before it is on its way.
    """

    def __init__(
        self, exchange: MeshExchange, device: int, dtype: DType, bind: Binding, *, fused: bool = False
    ) -> None:
        def bound(moves: Sequence[LocalMove]) -> list[Callable[[Any, Any], Any]]:
            return [bind(*move, dtype) for move in moves]

        def batches(slots: Sequence[MessageSlot], share: int) -> list[Batch]:
            own = [slot for slot in slots if slot.share == share]
            return [Batch(some, bound(fewest(some))) for some in ([own] if fused else zip(own))]

        self.dtype = dtype
        self.room = self._bytes(exchange.target.size)
        """The bytes of the target's storage."""
        copies = prod(extent for extent, _ in exchange.target.local_copies)
        self.fills = int(exchange.wanted[device]) * copies == exchange.target.size
        """True if elements take all of them."""
        shares = SHARES if fused and self._bytes(int(exchange.received.max())) >= SHARED_FROM else 1
        self.part = local_part(exchange, device, max(1, 8 // dtype.bits), shares)
        self._keep = bound(self.part.keeps)
        self.sends, self.takes = (
            [batches(slots, share) for share in range(shares)] for slots in (self.part.sends, self.part.takes)
        )
        """The messages of each share."""

    def packed(self, x: Any, empty: Empty) -> Any:
        """Return the storage from which messages are sent: that of x, or a buffer to pack them in."""
        room = room_of(self.part.sends)
        return empty(self._bytes(room)) if room else x

    def sent(self, x: Any, packed: Any, share: int) -> Iterator[tuple[int, Any]]:
        """Yield each other device with the bytes of a share for it, packed where they have to be."""
        for batch in self.sends[share]:
            for move in batch.moves:
                move(x, packed)
            for slot in batch.slots:
                yield slot.peer, self._row(packed, slot)

    def taken(self, out: Any, empty: Empty, *, apart: bool = False) -> Any:
        """Return the storage in which messages arrive: that of the target, or a buffer.

        `apart` takes all of it in storage of its own: `out` stays as it is until all is there.
        """
        room = room_of(self.part.takes)
        return empty(self._bytes(room) or len(out)) if room or apart else out

    def places(self, taken: Any, batch: Batch) -> Iterator[tuple[int, Any]]:
        """Yield each other device with the place for its bytes."""
        for slot in batch.slots:
            yield slot.peer, self._row(taken, slot)

    def finish(self, x: Any, taken: Any, out: Any) -> None:
        """Put what was taken, and what stays, where the target has it."""
        for batch in chain(*self.takes):
            self.unpack(batch, taken, out)
        self.keep(x, out)

    def keep(self, x: Any, out: Any) -> None:
        """Put what stays where the target has it."""
        for move in self._keep:
            move(x, out)

    def unpack(self, batch: Batch, taken: Any, out: Any) -> None:
        """Put messages where the target has them."""
        for move in batch.moves:
            move(taken, out)
        if taken is not out:
            for slot in batch.slots:
                if not slot.moves:
                    self._row(out, slot)[:] = self._row(taken, slot)


class BoundSum(_InBytes):
    """The part of one device in a reduction: what it sends, and the sums of what it takes.

    Parts are added in the order of their devices, narrow floats as f32, and rounded once.
    """

    def __init__(
        self, forth: MeshExchange, device: int, dtype: DType, bind: Binding, op: str, divisor: int
    ) -> None:
        self.device, self.dtype, self.op, self.divisor = device, dtype, op, divisor
        self.room, self.fills = self._bytes(forth.source.size), False
        self.part = sum_part(forth, device)
        slots = [slot for message in self.part.sends for slot in message]
        slots += [slot for slot, _ in self.part.sums]
        self._moves = {slot: [bind(*move, dtype) for move in slot.moves] for slot in slots}

    def sent(self, x: Any, empty: Empty) -> Iterator[tuple[int, Any]]:
        """Yield each device with the bytes for it, this device too."""
        for message in self.part.sends:
            rows = [self._packed(slot, x, empty) for slot in message]
            yield message[0].peer, combined(rows, self.dtype, "sum")

    def taken(self, empty: Empty) -> dict[int, Any]:
        """Return a buffer for the bytes of each other device."""
        sizes = {peer: slot.size for slot, peers in self.part.sums for peer in peers if peer != self.device}
        return {peer: empty(self._bytes(size)) for peer, size in sizes.items()}

    def finish(self, rows: dict[int, Any], out: Any, zeros: Empty) -> None:
        """Put the sums of all rows, this device's own too, where the target has them."""
        for at, (slot, peers) in enumerate(self.part.sums):
            row = combined([rows[peer] for peer in sorted(peers)], self.dtype, self.op, self.divisor)
            if at and self.part.meet:
                apart = zeros(len(out))
                self._put(slot, row, apart)
                out[:] = combined([out, apart], self.dtype, "sum")
            else:
                self._put(slot, row, out)

    def _packed(self, slot: MessageSlot, x: Any, empty: Empty) -> Any:
        if not slot.moves:
            return self._row(x, slot)
        row = empty(self._bytes(slot.size))
        for move in self._moves[slot]:
            move(x, row)
        return row

    def _put(self, slot: MessageSlot, row: Any, out: Any) -> None:
        for move in self._moves[slot]:
            move(row, out)
        if not slot.moves:
            self._row(out, slot)[:] = row
