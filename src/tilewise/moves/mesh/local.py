"""One device's part in an exchange: what it packs, sends, takes and unpacks, as moves between layouts.

A message is a row of elements. Where these lie side by side in the source, they are sent from there; where
they lie side by side in the target, they are taken there. Otherwise a move packs them, or unpacks them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from tilewise.core.axes import m
from tilewise.core.builders import S
from tilewise.core.layout import Layout
from tilewise.moves.mesh.exchange import MeshExchange
from tilewise.moves.mesh.held import EachInt, Held
from tilewise.moves.mesh.modes import Piece

LocalMove = tuple[Layout, Layout]
"""The layouts of a local move."""
_Message = tuple[int, int, Sequence[Piece]]
"""A peer, the number of a share, and its elements."""


@dataclass(frozen=True, slots=True)
class MessageSlot:
    """A message: the other device, its begin in a storage or a buffer, its elements, and their moves."""

    peer: int
    begin: int
    size: int
    moves: tuple[LocalMove, ...] = ()
    """Between the storage and the buffer; none where it goes from, or to, the storage itself."""
    share: int = 0
    """The share of the elements for the peer that it has."""


@dataclass(frozen=True)
class LocalPart:
    """The part of one device in an exchange."""

    sends: tuple[MessageSlot, ...]
    takes: tuple[MessageSlot, ...]
    keeps: tuple[LocalMove, ...]
    """Moves from the source's storage to the target's, of what stays."""


def fewest(slots: Sequence[MessageSlot]) -> Sequence[LocalMove]:
    """Return the moves of all these messages, as few as there can be."""
    moves: Sequence[LocalMove] = [pair for slot in slots for pair in slot.moves]
    while True:
        joined = [_joined(run) for run in _even_runs(moves)]
        if len(joined) == len(moves):
            return moves
        moves = joined


def room_of(slots: Sequence[MessageSlot]) -> int:
    """Return the elements of a buffer for messages; 0 where they need none."""
    return max((slot.begin + slot.size for slot in slots if slot.moves), default=0)


def local_part(exchange: MeshExchange, device: int, together: int = 1, shares: int = 1) -> LocalPart:
    """Return the part of a device; `together` elements share a byte, with which every message begins.

    With several `shares`, what goes to a peer is sent in as many messages, in their order.
    """
    order = _Order.of(exchange)
    sends = [(int(peer), order.pieces(device, int(peer))) for peer in np.flatnonzero(exchange.sends(device))]
    takes = {int(peer): order.pieces(int(peer), device) for peer in np.flatnonzero(exchange.takes(device))}
    keeps = takes.pop(device, [])
    return LocalPart(
        tuple(_slots(exchange.source, _shared(sends, shares), together, is_source=True)),
        tuple(_slots(exchange.target, _shared(takes.items(), shares), together, is_source=False)),
        tuple(pair for piece in keeps for pair in _kept(exchange, piece)),
    )


def _shared(messages: Iterable[tuple[int, Sequence[Piece]]], shares: int) -> list[_Message]:
    """Return each share of all messages, those of the first share first."""
    found: list[_Message] = []
    for share, (peer, pieces) in product(range(shares), list(messages)):
        own = [part for piece in pieces for part in piece.share(share, shares)]
        if own:
            found.append((peer, share, own))
    return found


@dataclass(frozen=True)
class SumPart:
    """The part of one device in a reduction."""

    sends: tuple[tuple[MessageSlot, ...], ...]
    """For each device, itself too: the slots of the source's storage whose rows add up to its message."""
    sums: tuple[tuple[MessageSlot, tuple[int, ...]], ...]
    """Slots of the target's storage, and the devices whose messages have parts of these elements."""
    meet: bool
    """True if several slots may have the same elements."""


def sum_part(forth: MeshExchange, device: int) -> SumPart:
    """Return the part of a device in the reduction that runs an exchange backwards.

    The moves of its slots have the row of a message at the begin of a buffer.
    """
    order, once = _Order.of(forth), replace(forth.target, local_copies=())
    sends: list[tuple[MessageSlot, ...]] = []
    sums: dict[object, tuple[MessageSlot, list[int]]] = {}
    for peer in np.flatnonzero(forth.takes(device)).tolist():
        pieces = order.pieces(peer, device)
        copies = [
            [replace(piece, write=piece.write + begin) for piece in pieces]
            for begin in forth.target.local_begins
        ]
        slots = [_slots(once, [(peer, 0, own)], 1, is_source=False) for own in copies]
        sends.append(tuple(_backwards(slot) for (slot,) in slots))
    counts = forth.sends(device)
    counts[device] = forth.takes(device)[device]
    for peer in np.flatnonzero(counts).tolist():
        pieces = order.pieces(device, peer)
        places = tuple((piece.read, tuple((it[0], it[1]) for it in piece.digits)) for piece in pieces)
        (slot,) = _slots(forth.source, [(peer, 0, pieces)], 1, is_source=True)
        sums.setdefault(places, (_backwards(slot), []))[1].append(peer)
    return SumPart(tuple(sends), tuple((slot, tuple(peers)) for slot, peers in sums.values()), forth.shared)


def _backwards(slot: MessageSlot) -> MessageSlot:
    return replace(slot, moves=tuple((target, source) for source, target in slot.moves))


def _kept(exchange: MeshExchange, piece: Piece) -> Iterator[LocalMove]:
    """Yield the moves of elements that stay on their device."""
    source = _in_storage(exchange.source, piece, is_source=True)
    for target in _copied(exchange.target, _in_storage(exchange.target, piece, is_source=False)):
        yield source, target


def _slots(
    held: Held, messages: Sequence[_Message], together: int, *, is_source: bool
) -> Iterator[MessageSlot]:
    """Yield the messages of one side."""
    plain = not held.swizzles and (is_source or not held.local_copies)
    if plain and all(_is_row_of_bytes(pieces, together, is_source) for _, _, pieces in messages):
        for peer, share, (piece,) in messages:
            yield MessageSlot(peer, _begin(piece, is_source), piece.size, share=share)
        return
    end = 0
    for peer, share, pieces in messages:
        begin = end = -(-end // together) * together
        moves: list[LocalMove] = []
        for piece in pieces:
            row = S[tuple(extent for extent, _, _ in piece.digits) or 1] + end
            storage = _in_storage(held, piece, is_source=is_source)
            moves += [(storage, row)] if is_source else [(row, copy) for copy in _copied(held, storage)]
            end += piece.size
        yield MessageSlot(peer, begin, end - begin, tuple(moves), share)


def _even_runs(moves: Sequence[LocalMove]) -> Iterator[Sequence[LocalMove]]:
    """Yield runs of moves that differ in evenly spaced begins alone."""

    def step(to: int) -> list[int]:
        found: list[int] = (_begins(moves[to]) - _begins(moves[to - 1])).tolist()
        return found

    at = 0
    while at < len(moves):
        end = at + 1
        while end < len(moves) and _without_begin(moves[end]) == _without_begin(moves[at]):
            if step(end) != step(at + 1):
                break
            end += 1
        yield moves[at:end]
        at = end


def _joined(run: Sequence[LocalMove]) -> LocalMove:
    """Return an even run of moves as one."""
    if len(run) == 1:
        return run[0]
    read, write = (_begins(run[1]) - _begins(run[0])).tolist()
    source, target = run[0]
    return _with_digit(source, len(run), read), _with_digit(target, len(run), write)


def _begins(move: LocalMove) -> EachInt:
    return np.array([layout.offset["m"] for layout in move])


def _without_begin(move: LocalMove) -> tuple[object, ...]:
    return tuple((layout.shape, layout.strides, layout.swizzles, layout.outer) for layout in move)


def _with_digit(layout: Layout, extent: int, step: int) -> Layout:
    return replace(layout, shape=(extent, *layout.shape), strides=(step @ m, *layout.strides))


# -- pieces ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Order:
    """The order of the elements of every message: that of the target's memory, or of the source's."""

    exchange: MeshExchange
    by_source: bool

    @classmethod
    def of(cls, exchange: MeshExchange) -> _Order:
        """Return the order with the fewest moves; all devices find the same one."""
        rows = []
        for by_source in (False, True):
            piece = _sorted(Piece(tuple(exchange.local_digits)), by_source=by_source)
            rows.append((sum(_is_row(piece, side) for side in (True, False)), not by_source))
        return cls(exchange, not max(rows)[1])

    def pieces(self, sender: int, receiver: int) -> list[Piece]:
        """Return the elements of a message."""
        found = self.exchange.pieces(sender, receiver)
        return [_sorted(piece, by_source=self.by_source) for piece in found]


def _sorted(piece: Piece, *, by_source: bool) -> Piece:
    """Return the piece with its digits in the order of one side's steps, the fastest last, and merged."""
    ordered = sorted(piece.digits, key=lambda digit: -abs(digit[1 if by_source else 2]))
    found: list[tuple[int, int, int]] = []
    for extent, read, write in ordered:
        if extent == 1:
            continue
        if found and found[-1][1:] == (read * extent, write * extent):
            found[-1] = found[-1][0] * extent, read, write
        else:
            found.append((extent, read, write))
    return Piece(tuple(found), piece.read, piece.write)


def _is_row(piece: Piece, is_source: bool) -> bool:
    """Return True if the elements lie side by side on one side, in their order."""
    pitch = 1
    for extent, read, write in reversed(piece.digits):
        if (read if is_source else write) != pitch:
            return False
        pitch *= extent
    return True


def _is_row_of_bytes(pieces: Sequence[Piece], together: int, is_source: bool) -> bool:
    """Return True if a message is one row of whole bytes on one side."""
    if len(pieces) != 1 or not _is_row(pieces[0], is_source):
        return False
    return _begin(pieces[0], is_source) % together == pieces[0].size % together == 0


def _begin(piece: Piece, is_source: bool) -> int:
    return piece.read if is_source else piece.write


def _in_storage(held: Held, piece: Piece, *, is_source: bool) -> Layout:
    """Return the places of a piece in a storage."""
    steps = tuple((read if is_source else write) @ m for _, read, write in piece.digits)
    shape = tuple(extent for extent, _, _ in piece.digits)
    return Layout(
        shape or (1,), steps or (0 @ m,), (), _begin(piece, is_source) @ m, held.swizzles, held.outer @ m
    )


def _copied(held: Held, layout: Layout) -> Iterator[Layout]:
    """Yield a layout of the target at each of its copies on the device."""
    yield from (layout + begin for begin in held.local_begins)
