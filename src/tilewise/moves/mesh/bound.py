"""A device's part in an exchange, ready to run on storages of bytes: of NumPy, or of torch on its GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.moves.mesh.exchange import MeshExchange
from tilewise.moves.mesh.local import LocalMove, MessageSlot, local_part, room_of

Empty = Callable[[int], Any]
"""From a number of bytes to new storage."""

Binding = Callable[[Layout, Layout, DType], Callable[[Any, Any], Any]]
"""From two layouts of memory to the move between them, as `move` has it."""


class BoundPart:
    """The part of one device: packs and unpacks by the kernels of `move`, and names what is sent and taken.

    On a GPU one kernel packs all messages and one unpacks them. On a CPU each message is packed when the one
    before it is on its way.
    """

    def __init__(
        self, exchange: MeshExchange, device: int, dtype: DType, bind: Binding, *, fused: bool = False
    ) -> None:
        def bound(moves: Sequence[LocalMove]) -> list[Callable[[Any, Any], Any]]:
            return [bind(*move, dtype) for move in moves]

        self.dtype = dtype
        self.part = local_part(exchange, device, max(1, 8 // dtype.bits))
        self._keep = bound(self.part.keeps)
        self._pack = bound(self.part.pack) if fused else []
        self._unpack = bound(self.part.unpack) if fused else []
        every = () if fused else (*self.part.sends, *self.part.takes)
        self._each = {slot: bound(slot.moves) for slot in every}

    def sent(self, x: Any, empty: Empty) -> Iterator[tuple[int, Any]]:
        """Yield each other device with the bytes that are sent to it, packed where they have to be."""
        room = room_of(self.part.sends)
        storage = empty(self._bytes(room)) if room else x
        for move in self._pack:
            move(x, storage)
        for slot in self.part.sends:
            for move in self._each.get(slot, ()):
                move(x, storage)
            yield slot.peer, self._row(storage, slot)

    def taken(
        self, out: Any, empty: Empty, *, apart: bool = False
    ) -> tuple[Any, list[tuple[int, Any, MessageSlot]]]:
        """Return the storage of what is taken, and each other device with its bytes there.

        `apart` takes all of it in storage of its own: `out` stays as it is until all is there.
        """
        room = room_of(self.part.takes) or (apart and len(out))
        storage = empty(self._bytes(room_of(self.part.takes)) or len(out)) if room else out
        return storage, [(slot.peer, self._row(storage, slot), slot) for slot in self.part.takes]

    def finish(self, x: Any, taken: Any, out: Any) -> None:
        """Put what was taken, and what stays, where the target has it."""
        self.unpack_all(taken, out)
        for slot in self.part.takes:
            self.unpack(slot, taken, out)
        self.keep(x, out)

    def keep(self, x: Any, out: Any) -> None:
        """Put what stays where the target has it."""
        for move in self._keep:
            move(x, out)

    def unpack_all(self, taken: Any, out: Any) -> None:
        """Put all messages where the target has them, if one kernel does that."""
        for move in self._unpack:
            move(taken, out)

    def unpack(self, slot: MessageSlot, taken: Any, out: Any) -> None:
        """Put one message where the target has it."""
        for move in self._each.get(slot, ()):
            move(taken, out)
        if not slot.moves and taken is not out:
            self._row(out, slot)[:] = self._row(taken, slot)

    def _bytes(self, elements: int) -> int:
        return -(-elements * self.dtype.bits // 8)

    def _row(self, storage: Any, slot: MessageSlot) -> Any:
        begin = slot.begin * self.dtype.bits // 8
        return storage[begin : begin + self._bytes(slot.size)]
