"""Buffers of shared and tensor memory: what they hold, who writes and reads them, and whether engines can.

A value names a whole buffer or a part of it. Parts, loops and branches hand buffers on under other names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

from tilewise.compiled.lines import Line, line_data
from tilewise.compiled.ttgir.text import ModuleText, Op
from tilewise.compiled.ttgir.types import BYTE, TypeInText
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.notation.dialects.triton.tile import BLOCK

ENGINES = {
    "ttng.warp_group_dot": "wgmma",
    "ttng.tc_gen5_mma": "tcgen05",
}
"""{product: the engine that reads its operands A and B from shared memory}."""
MAX_NAMES = 1 << 18
"""The most names of buffers and of their parts that are followed."""
ALLOCATIONS = ("local_alloc", "tmem_alloc")
HANDED_ON = ("select", "warp_group_dot_wait")
NO_USE = ("local_dealloc", "inval_barrier", "yield", "for", "if", "while", "condition", "return")
WRITERS = (
    "local_alloc",
    "tmem_alloc",
    "local_store",
    "tmem_store",
    "tmem_copy",
    "init_barrier",
    "async_copy_global_to_local",
    "async_tma_copy_global_to_local",
    "async_tma_gather",
    "buffer_load_to_local",
)
"""Operations that fill a buffer, or signal its barrier; a product does so from its third operand on."""


@dataclass(frozen=True, slots=True)
class BufferUse:
    """An operation that reads or writes a buffer, and the engine that does it."""

    line: Line | None
    op: str
    engine: str = ""
    operand: str = ""
    able: bool | None = None
    """True if the engine reads the tile as it lies; None for an operation without an engine."""
    said: str = ""
    """The way in which the engine reads it, or the reason why it cannot."""

    def as_dict(self) -> dict[str, Any]:
        """Return the use as plain data."""
        asked = {"engine": self.engine, "operand": self.operand, "able": self.able, "said": self.said}
        return {"line": line_data(self.line), "op": self.op} | (asked if self.engine else {})


@dataclass(frozen=True, slots=True)
class SharedBuffer:
    """An allocation of shared or tensor memory."""

    line: Line | None
    row: int
    type: TypeInText
    loops: int
    writers: tuple[BufferUse, ...]
    readers: tuple[BufferUse, ...]

    @property
    def swizzle(self) -> str:
        """Return the swizzles of the layout, or ""."""
        layout = self.type.layout
        return " o ".join(map(str, layout.swizzles)) if layout else ""

    @property
    def bytes(self) -> int:
        """Return the bytes that it takes of a block, with its paddings."""
        elements = prod(self.type.shape)
        padded = sum((elements - 1) // interval * padding for interval, padding in self.type.paddings)
        parts = sum(map(bool, (self.type.bases or {}).get(BLOCK, ())))
        return ((elements + padded) * self.type.bits // BYTE) >> parts

    def as_dict(self) -> dict[str, Any]:
        """Return the buffer as plain data."""
        names = ("row", "loops", "swizzle", "bytes")
        return {
            "line": line_data(self.line),
            **self.type.as_dict(),
            **{name: getattr(self, name) for name in names},
            "writers": [use.as_dict() for use in self.writers],
            "readers": [use.as_dict() for use in self.readers],
        }


def buffers_in(text: ModuleText, types_of: Callable[[Op], Iterable[TypeInText]]) -> Iterator[SharedBuffer]:
    """Yield the allocations of a module in order; `types_of` has the types of an operation."""
    visited = 0
    handed, users = _handed_on(text.ops), dict[str, list[tuple[Op, int]]]()
    for op in text.ops:
        for at, value in enumerate(op.operands):
            users.setdefault(value, []).append((op, at))
    for op in text.ops:
        types = [written for written in types_of(op) if not written.in_registers]
        if _short(op) not in ALLOCATIONS or not types or not op.results:
            continue
        names, waiting = {op.results[0]}, [op.results[0]]
        while waiting:
            further = handed.get(waiting.pop(), set()) - names
            names |= further
            visited += len(further)
            if visited > MAX_NAMES:
                raise LayoutError("TW005", f"buffers have more than {MAX_NAMES} names", hint="read a part")
            waiting += further
        used = {(id(user), at): (user, at) for name in names for user, at in users.get(name, ())}
        by_row = sorted(used.values(), key=lambda own: (own[0].row, own[1]))
        writers = [BufferUse(text.line(op), op.name)] if op.operands else []
        readers = list[BufferUse]()
        for user, at in by_row:
            if _short(user) in (*NO_USE, *HANDED_ON) or _short(user).startswith("memdesc_"):
                continue
            if _short(user) == "wait_barrier" and at:  # it only keeps what it names alive
                continue
            writes = _short(user) in WRITERS or (user.kind in ENGINES and at >= 2)
            use = BufferUse(text.line(user), user.name)
            if writes:
                writers.append(use)
            elif user.kind in ENGINES and at < 2:
                readers.append(_by_engine(use, user, at, [*types_of(user)]))
            else:
                readers.append(use)
        yield SharedBuffer(text.line(op), op.row, types[-1], op.loops, tuple(writers), tuple(readers))


def _short(op: Op) -> str:
    return op.name.rpartition(".")[2]


def _handed_on(ops: Sequence[Op]) -> dict[str, set[str]]:
    """Return {a value: the values that are the same buffer, or a part of it}."""
    found: dict[str, set[str]] = {}
    for op in ops:
        short, around = _short(op), op.inside
        pairs: list[tuple[Sequence[str], Sequence[str]]] = []
        if short.startswith("memdesc_"):
            pairs = [(op.operands[:1], op.results)]
        elif short == "select":
            pairs = [(op.operands[1:2], op.results), (op.operands[2:], op.results)]
        elif short == "warp_group_dot_wait":
            pairs = [(op.operands, op.results)]
        elif op.name == "scf.for":
            pairs = [(op.operands[3:], op.arguments[1:]), (op.arguments[1:], op.results)]
        elif op.name == "scf.yield" and around is not None:
            pairs = [(op.operands, around.results), (op.operands, around.arguments[1:])]
        for ones, others in pairs:
            for one, other in zip(ones, others, strict=False):
                found.setdefault(one, set()).add(other)
    return found


def _by_engine(use: BufferUse, op: Op, operand: int, types: Sequence[TypeInText]) -> BufferUse:
    """Return the use of an operand with the answer of its engine."""
    tile = types[operand] if operand < len(types) else None
    if tile is None or tile.layout is None or tile.dtype is None or "TCol" in tile.layout.moving:
        return use
    name = "AB"[operand]
    able, said = _asked(ENGINES[op.kind], name, tile.layout, tile.dtype)
    return BufferUse(use.line, use.op, ENGINES[op.kind], name, able, said)


@lru_cache(maxsize=256)
def _asked(engine: str, operand: str, tile: Layout, dtype: DType) -> tuple[bool, str]:
    """Return True if an engine reads a tile [M, K] or [K, N], and how, or why not."""
    from tilewise.check.match import (
        match,
    )  # the rules of engines take longer to load than most modules to read

    try:
        tile = tile.permute((1, 0)) if operand == "B" else tile
        found = match(tile, engine=engine, operand=operand, dtype="tf32" if dtype.name == "f32" else dtype)
    except LayoutError as error:
        return False, error.message
    return found.legal, str(found)
