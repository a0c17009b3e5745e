"""Loads and stores of a module: the width of a vector, and what the memory makes of it.

Shared memory: the layout of the registers and that of the buffer are linear maps over GF(2). Together they
are the address of every lane, and no argument matters. Global memory: addresses are what the module computes,
of the first program, in the first turn of each loop, for the arguments that are given. A vector is as wide as
all that is promised of the arguments allows; masks must not change inside one.

All of it is a prediction: the compiler chooses the instructions after this text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from tilewise.check.access.access import INACTIVE
from tilewise.check.banks import count as count_banks
from tilewise.check.coalesce import count as count_sectors
from tilewise.compiled.lines import Line, line_data
from tilewise.compiled.ttgir.text import ModuleText, Op
from tilewise.compiled.ttgir.types import BYTE, TypeInText
from tilewise.compiled.ttgir.values import IntArray, Mask, Pointers, Values, arguments_of, given
from tilewise.core.bits import Basis, sums
from tilewise.core.shapes import flat_index
from tilewise.hardware.limits import LANES, REGISTER_BITS
from tilewise.hardware.memory.sectors import LINE
from tilewise.notation.dialects.triton.tile import LANE, OFFSET, REGISTER, WARP

GLOBAL = {
    "tt.load": ("ld", 0, 1),
    "tt.store": ("st", 0, 2),
    "ttg.async_copy_global_to_local": ("cp.async", 0, 2),
    "amdg.buffer_load": ("ld", 0, 2),
    "amdg.buffer_load_to_local": ("cp.async", 0, 2),
    "amdg.buffer_store": ("st", 1, 3),
}
"""{operation: (what it does, the operand that is an address, the first that may be a mask)}.

Those of AMD's buffers have offsets as the operand after the address.
"""
SHARED = {"ttg.local_load": "ld", "ttg.local_store": "st", "ttg.local_alloc": "st"}
WIDEST = 16
"""Bytes of the widest vector of a lane, and of a row of ldmatrix."""
MOST_PLACES = 1 << 18
"""The most places of one access whose addresses are listed."""
MOST_TOGETHER = 1 << 22
"""The most of all accesses of a module."""

TypesOf: TypeAlias = Callable[[Op], Iterable[TypeInText]]


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """A load, a store or a copy, by all warps of a block, once."""

    line: Line | None
    row: int
    op: str
    space: str
    """shared or global."""
    instruction: str
    """ld, st, ldmatrix, stmatrix or cp.async, of which the side that reads global memory is counted."""
    type: TypeInText
    """The type of the tensor."""
    loops: int
    width: int = 0
    """Bytes of one lane; 0 where they are unknown."""
    requests: int = 0
    """Instructions of warps."""
    counts: Mapping[str, int] | None = None
    """{wavefronts, ideal} or {sectors, ideal}; None where they are unknown."""
    reason: str = ""
    """Why something is unknown."""

    def as_dict(self) -> dict[str, Any]:
        """Return the access as plain data."""
        names = ("row", "op", "space", "instruction", "loops", "width", "requests", "counts", "reason")
        return {
            "line": line_data(self.line),
            "name": self.type.name,
            "type": self.type.text,
            **{name: getattr(self, name) for name in names},
            "predicted": True,
        }


def accesses_in(
    text: ModuleText, types_of: TypesOf, target: str, let: Mapping[str, int]
) -> Iterator[MemoryAccess]:
    """Yield the accesses of a module in order.

    refused  TW007, TW401 arguments that the kernel has not, or that it does not allow
    """
    known = arguments_of(text.ops)
    wanted, any_value = given(known, let), given(known, {})
    turns: list[Values] = []
    left = MOST_TOGETHER
    for op in text.ops:
        types = [*types_of(op)]
        tensor = next((written for written in types if written.in_registers), None)
        buffer = next((written for written in types if not written.in_registers), None)
        if tensor is None or (op.kind not in GLOBAL and (op.kind not in SHARED or buffer is None)):
            continue
        space, does = ("global", GLOBAL[op.kind][0]) if op.kind in GLOBAL else ("shared", SHARED[op.kind])
        access = MemoryAccess(text.line(op), op.row, op.name, space, does, tensor, op.loops)
        reason = ""
        if tensor.tile is None or tensor.bases is None:
            reason = tensor.why_not
        elif tensor.bits % BYTE:
            reason = f"elements of {tensor.bits} bits have no address of their own"
        places = 1 << sum(map(len, (tensor.bases or {}).values()))
        if places > MOST_PLACES or (space == "global" and places > left):
            reason = reason or "there are too many places of elements to list their addresses"
        if reason:
            yield replace(access, reason=reason)
        elif buffer is not None and space == "shared":
            yield _of_shared(access, tensor, buffer, target)
        else:
            if not turns:
                first = Values(text.ops, types_of, any_value, odd=True)
                again = Values(text.ops, types_of, any_value, odd=True, before=first)
                turns = [Values(text.ops, types_of, wanted), first, again]
            left -= places
            yield _of_global(access, tensor, op, turns, target)


def _uncounted(what: str, target: str, written: TypeInText) -> str:
    return f"{what} of {target or 'an unknown target'} and {written.name} are not counted here"


# -- shared memory ---------------------------------------------------------------------------------


def _of_shared(access: MemoryAccess, tensor: TypeInText, buffer: TypeInText, target: str) -> MemoryAccess:
    """Return the access with its width and its wavefronts."""
    if buffer.tile is None or buffer.bases is None or OFFSET not in buffer.bases:
        return replace(access, reason=buffer.why_not or f"{buffer.name} is no shared memory")
    assert tensor.tile is not None
    (tile, shape), (_, whole) = tensor.tile, buffer.tile
    if len(shape) != len(whole) or any(map(int.__gt__, shape, whole)):
        return replace(access, reason="the tensor is no part of the buffer")
    held = Basis()
    for bit, step in enumerate(buffer.bases[OFFSET]):
        held.define(step, step and 1 << bit)
    size = tensor.bits // BYTE
    found: dict[str, list[int]] = {}
    for place in (REGISTER, LANE, WARP):
        steps = [flat_index(basis, whole) for basis in tile.bases.get(place, ())]
        offsets = [held.combination(step) for step in steps]
        if None in offsets:
            return replace(access, reason="elements of the tensor have no place in the buffer")
        found[place] = [offset * size for offset in offsets if offset is not None]
    registers, lanes = [step for step in found[REGISTER] if step], found[LANE]
    limit = min([WIDEST, *(size * part for pair in buffer.paddings for part in pair)])
    matrix = _matrix(access.instruction, registers, lanes, found[WARP], size, target)
    if matrix is not None and not buffer.paddings:
        access = replace(access, instruction=f"{access.instruction}matrix", width=WIDEST)
        left, moving = matrix
    else:
        access = replace(access, width=_widest(registers, [*lanes, *found[WARP]], size, limit))
        left, moving = [step for step in registers if step >= access.width], lanes
    requests = 1 << len(left) + len(found[WARP])
    access = replace(access, requests=requests)
    if not target.startswith("cuda:") or len(lanes) > LANES.bit_length() - 1 or buffer.paddings:
        return replace(access, reason=_uncounted("banks", target, buffer))
    # requests XOR a constant to these addresses, which renames banks alone
    counted = count_banks(access.instruction, access.width, np.array([sums(moving)]))
    return replace(
        access, counts={name: int(counted[name][0]) * requests for name in ("wavefronts", "ideal")}
    )


def _widest(registers: Sequence[int], others: Sequence[int], size: int, limit: int) -> int:
    """Return the bytes of the widest vector: registers at steps of its elements, all else beyond it."""
    width = size
    while 2 * width <= limit and width in registers:
        rest = [step for step in registers if step not in (width, *_below(width, size))]
        if any(step % (2 * width) for step in (*rest, *others)):
            break
        width *= 2
    return width


def _below(width: int, size: int) -> list[int]:
    """Return the steps of the elements inside a vector: powers of two from the size on."""
    return [1 << bit for bit in range(size.bit_length() - 1, width.bit_length() - 1)]


def _matrix(
    instruction: str, registers: list[int], lanes: list[int], warps: list[int], size: int, target: str
) -> tuple[list[int], list[int]] | None:
    """Return the steps of the registers of ldmatrix or stmatrix and of its rows, or None.

    Rows are 16 bytes. Taking they lie in the registers of 4 lanes, 8 lanes have rows; transposed, where a row
    lies in 8 lanes, whose elements of 2 bytes follow one another, its registers and 4 lanes have rows.
    """
    capability = target.removeprefix("cuda:")
    if capability == target or not capability.isdigit() or len(lanes) != LANES.bit_length() - 1:
        return None
    if int(capability) < (75 if instruction == "ld" else 90):
        return None
    inside = _below(REGISTER_BITS // BYTE, size)
    if lanes[:2] == [4, 8] and all(step in registers for step in inside):
        rows, left = lanes[2:], [step for step in registers if step not in inside]
    elif size == 2 and lanes[2:] == [2, 4, 8] and registers:
        rows, left = [registers[0], *lanes[:2]], registers[1:]
    else:
        return None
    if any(step % WIDEST for step in (*rows, *left, *warps)):
        return None
    return left[2:], [*rows, *left[:2]]


# -- global memory ---------------------------------------------------------------------------------


def _of_global(
    access: MemoryAccess, tensor: TypeInText, op: Op, turns: Sequence[Values], target: str
) -> MemoryAccess:
    """Return the access with its width and its sectors."""
    asked = [_asked(op, values, tensor) for values in turns]
    known = [(addresses, mask) for addresses, mask in asked if addresses is not None]
    if len(known) < len(turns):
        return replace(access, reason="the addresses depend on memory, or on what is not computed here")
    size = known[0][0].bytes
    bases = tensor.bases or {}
    registers = [step for step in bases.get(REGISTER, ()) if step]
    stores = access.instruction == "st"
    warps = [step for step in bases.get(WARP, ()) if step or not stores]
    lane_steps = bases.get(LANE, ())
    index = (
        np.array(sums(warps))[:, None, None] ^ np.array(sums(registers))[:, None] ^ np.array(sums(lane_steps))
    )
    width = size
    while 2 * width <= WIDEST and 2 * width // size <= 1 << len(registers):
        if not all(_together(addresses, mask, tensor, index, 2 * width) for addresses, mask in known[1:]):
            break
        width *= 2
    access = replace(access, width=width, requests=index.size * size // width // index.shape[2])
    if not target.startswith("cuda:") or index.shape[2] > LANES:
        return replace(access, reason=_uncounted("sectors", target, tensor))
    addresses, mask = known[0]
    table = _listed(addresses.offset, tensor, index)
    table = table - table.min() // LINE * LINE
    if mask is not None:
        table = np.where(_listed(mask.holds, tensor, index), table, INACTIVE)
    if stores:  # of lanes with copies one stores
        copies = sum(1 << bit for bit, step in enumerate(lane_steps) if not step)
        table = np.where(np.arange(index.shape[2]) & copies, INACTIVE, table)
    counted = count_sectors(access.instruction, width, table[:, :: width // size].reshape(-1, index.shape[2]))
    return replace(access, counts={name: int(counted[name].sum()) for name in ("sectors", "ideal")})


def _asked(op: Op, values: Values, tensor: TypeInText) -> tuple[Pointers | None, Mask | None]:
    """Return the addresses of an access and its mask; each is None if it is unknown or absent."""
    _, at, after = GLOBAL[op.kind]
    known = [values.get(name) for name in op.operands]
    found = known[at] if at < len(known) else None
    if not isinstance(found, Pointers):
        return None, None
    if op.kind.startswith("amdg."):
        offsets = known[at + 1] if at + 1 < len(known) else None
        if not isinstance(offsets, np.ndarray) or found.offset.size > 1:
            return None, None
        found = found.behind(offsets)
    mask = next((one for one in known[after:] if isinstance(one, Mask)), None)
    arrays = [found.offset, *((mask.holds, *mask.margins) if mask else ())]
    pairs = [zip(array.shape, tensor.shape, strict=False) for array in arrays]
    fits = all(own in (1, extent) for pair in pairs for own, extent in pair)
    alike = all(array.ndim == len(tensor.shape) for array in arrays)
    return (found, mask) if fits and alike else (None, None)


def _listed(array: Any, tensor: TypeInText, index: IntArray) -> Any:
    """Return the entries of an array at the flat indices of a tensor's elements."""
    return np.broadcast_to(array, tensor.shape).reshape(-1)[index]


def _together(
    addresses: Pointers, mask: Mask | None, tensor: TypeInText, index: IntArray, width: int
) -> bool:
    """Return True if registers fill vectors: neighbours, from multiples of the width, under one mask."""
    many = width // addresses.bytes
    table = _listed(addresses.offset, tensor, index)
    parts = table.reshape(table.shape[0], -1, many, table.shape[2])
    inside = np.arange(many)[:, None] * addresses.bytes
    if (parts != parts[:, :, :1] + inside).any() or (parts[:, :, 0] % width).any():
        return False
    for margin in mask.margins if mask else ():
        own = _listed(margin, tensor, index).reshape(parts.shape) // many
        if (own != own[:, :, :1]).any():
            return False
    return True
