"""Loads, stores, copies and atomics of PTX as accesses; parameters and constants as numbers.

ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16];
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r5];
cp.async.cg.shared.global [%r1], [%rd1], 16, %r2;
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tilewise.compiled import generic
from tilewise.compiled.generic import LOW, WINDOWS
from tilewise.compiled.lanes import UNKNOWN, Entries, LaneReader, Lanes, Taking, Value, applied
from tilewise.compiled.program import Compute, Step, Touch, UnreadStep, copied
from tilewise.compiled.ptx.integers import extended
from tilewise.compiled.ptx.operands import (
    Kind,
    Place,
    PtxVariable,
    Words,
    address,
    immediate,
    number,
    truth,
    width_of,
)

Steps = tuple[Step, ...]

MATRIX_LANES = 8
ROW = 16
PARAMETERS = 0x1000
"""The begin of the parameters in bank 0 of constants, behind the words of the launch."""
BANKS = {"param": 0, "const": 3}
"""{space: its bank of constants}."""


def space_of(words: Words) -> str:
    """Return the space of an access: `generic` where none is named."""
    for part in words.parts:
        space = part.split("::")[0]
        if space in ("global", "shared", "local", "param", "const"):
            return space
    return "generic"


def _vector(words: Words) -> int:
    return next((int(part[1:]) for part in words.parts if part in ("v2", "v4", "v8")), 1)


def access(words: Words) -> Steps:
    """Return the steps of a load, a store or an atomic."""
    space, bytes = space_of(words), width_of(words.type) // 8 * _vector(words)
    if words.base in ("st", "red"):
        if space == "param":
            return (_handed(words),)
        return touches(words, space, words.base, bytes, words.operands[0], ())
    if words.base == "atom":
        operation = "atom" if words.written() else "red"
        return touches(words, space, operation, bytes, words.operands[1], words.written())
    if space in BANKS:
        return (_held(words, space),)
    return touches(words, space, "ld", bytes, words.operands[1], words.written())


def touches(
    words: Words,
    space: str,
    operation: str,
    bytes: int,
    place: str,
    writes: tuple[str, ...],
    supplied: int = 32,
) -> Steps:
    """Return one access, of each space that its address may lie in."""
    read = address(place, words)
    if space != "generic":
        if space == "shared":
            return (Touch(space, operation, bytes, generic.low(read), writes, supplied),)
        return (Touch(space, operation, bytes, read, writes, supplied),)
    windows = words.setting.windows
    if not windows:
        return (Touch("global", operation, bytes, read, writes, supplied),)
    return generic.touches(operation, bytes, read, writes, windows)


def to_generic(words: Words) -> Step:
    """Return the step of an address of a space as a generic one, or back."""
    space = space_of(words)
    window = WINDOWS.get(space, 0)
    if space in BANKS:
        return UnreadStep(words.written())
    sign = -1 if "to" in words.parts else 1
    moved = number(words.operands[1], np.uint64, words)
    offset = np.uint64(sign * window & (1 << 64) - 1) if words.width == 64 else np.uint64(0)
    return words.step(lambda lanes: applied(lambda bits: bits + offset, moved(lanes)))


def in_space(words: Words) -> Step:
    """Return the step of a predicate that is true for a generic address of a space."""
    space, read = words.parts[0].split("::")[0], number(words.operands[1], np.uint64, words)
    if space in BANKS:
        return UnreadStep(words.written())

    def holds(bits: Entries) -> Any:
        high = bits & ~LOW
        if space in WINDOWS:
            return high == WINDOWS[space]
        return ~np.isin(high, list(WINDOWS.values()))

    return words.step(lambda lanes: applied(holds, read(lanes)))


def matrices(words: Words) -> Steps:
    """Return the steps of ldmatrix and stmatrix: lanes name rows of 16 bytes."""
    count = next(int(part[1:]) for part in words.parts if part in ("x1", "x2", "x4"))
    lanes = 2 * MATRIX_LANES if "m16n16" in words.parts else MATRIX_LANES
    stores = words.base == "stmatrix"
    place, writes = (words.operands[0], ()) if stores else (words.operands[1], words.written())
    return touches(words, "shared", words.base, ROW, place, writes, lanes * count)


def copy(words: Words) -> Steps | None:
    """Return the steps of an asynchronous copy of each lane; one of no bytes stores zeros."""
    if words.parts[0] != "async" or words.parts[1] not in ("ca", "cg"):
        return ()
    operands = words.operands
    if "L2::cache_hint" in words.parts:
        operands = operands[:-1]
    target, source, size, *rest = operands
    bytes = immediate(size)
    if bytes not in (4, 8, 16):
        return None
    when, bypasses = _taken(rest[0], words) if rest else None, words.parts[1] == "cg"
    return copied(
        Touch("shared", "cp.async", bytes, generic.low(address(target, words)), bypasses=bypasses),
        Touch("global", "cp.async", bytes, address(source, words), when=when, bypasses=bypasses),
    )


def _taken(operand: str, words: Words) -> LaneReader:
    """Return where a copy loads: it has bytes, or no predicate lets it ignore its source."""
    if immediate(operand) is None:
        register = words.scope.register(operand.lstrip("! "))
        ignored = truth(operand, words)

        def read(lanes: Lanes) -> Value:
            value = lanes.read(register)
            if value.bits.dtype == np.bool_:
                return applied(np.logical_not, ignored(lanes))
            return applied(lambda bits: bits != 0, value)

        return read
    size = number(operand, np.uint32, words)
    return lambda lanes: applied(lambda bits: bits != 0, size(lanes))


# -- parameters and constants ----------------------------------------------------------------------------


def _handed(words: Words) -> Step:
    """Store what a call hands over, byte by byte."""
    variable, begin = _variable(words.operands[0], words)
    names = [name.strip() for name in words.operands[1].strip("{} \t\n").split(",")]
    size = words.width // 8
    reads = [number(name, words.kind, words) for name in names]
    written = [variable.byte(begin + place) for place in range(size * len(names))]

    def run(lanes: Lanes, where: Taking) -> None:
        for place, read in enumerate(reads):
            value = read(lanes)
            for step in range(size):
                away = words.kind(8 * step)
                byte = applied(lambda bits, away=away: (bits >> away).astype(np.uint8), value)
                lanes.write(written[size * place + step], byte, where)

    return Compute(run, tuple(written))


def _variable(place: str, words: Words) -> tuple[PtxVariable, int]:
    """Return the variable of what a call hands over, and the bytes behind its begin."""
    words_of_it = Place.of(place)
    variable = words.scope.variable(words_of_it.base)
    if variable is None or variable.space != "call":
        raise ValueError(place)
    return variable, words_of_it.offset


def _held(words: Words, space: str) -> Step:
    """Load parameters or constants."""
    count, kind = _vector(words), words.kind
    size = words.width // 8
    target = words.operands[0]
    names = [name.strip() for name in target.strip("{} \t\n").split(",")] if count > 1 else [target]
    registers = [None if name == "_" else words.scope.register(name) for name in names]
    variable = words.scope.variable(Place.of(words.operands[1]).base)
    if variable is not None and variable.space == "call":
        _, begin = _variable(words.operands[1], words)
        reads = [partial(_taken_over, variable, begin + size * place, kind) for place in range(count)]
    else:
        where = address(words.operands[1], words)
        reads = [partial(_constants, BANKS[space], where, size * place, kind) for place in range(count)]

    def run(lanes: Lanes, where: Taking) -> None:
        for register, read in zip(registers, reads, strict=True):
            if register is not None:
                wide = applied(lambda bits: extended(bits, words.signed), read(lanes))
                lanes.write(register, wide, where)

    return Compute(run, words.written())


def _taken_over(variable: PtxVariable, begin: int, kind: Kind, lanes: Lanes) -> Value:
    """Return what a call handed over."""
    parts = [lanes.read(variable.byte(begin + place)) for place in range(np.dtype(kind).itemsize)]
    return applied(lambda *bits: _together([bit.astype(kind) for bit in bits], 8), *parts)


def _together(parts: list[Entries], each: int) -> Entries:
    whole = parts[0]
    for place, part in enumerate(parts[1:], 1):
        whole = whole | part << part.dtype.type(each * place)
    return whole


def _constants(bank: int, where: LaneReader, step: int, kind: Kind, lanes: Lanes) -> Value:
    """Return constants at an address, lane by lane."""
    place = where(lanes)
    if place.bits.size == 1 and place.unknown is None:
        return _constant(lanes, bank, int(place.bits[0]) + step, kind)
    return lanes.constant(bank, applied(lambda bits: bits + np.uint64(step), place), kind)


def _constant(lanes: Lanes, bank: int, offset: int, kind: Kind) -> Value:
    """Return one constant, of the words that the launch or the text has."""
    size = np.dtype(kind).itemsize
    word = lanes.constants.get((bank, offset))
    if word is None:
        low = lanes.constants.get((bank, offset // 4 * 4), UNKNOWN)
        word = applied(lambda bits: bits >> np.uint32(8 * (offset % 4)), low)
    if size < 8:
        return applied(lambda bits: bits.astype(kind), word)
    high = lanes.constants.get((bank, offset + 4), UNKNOWN)
    return applied(lambda low, up: _together([low.astype(np.uint64), up.astype(np.uint64)], 32), word, high)


MEMORY: dict[str, Callable[[Words], Steps | None]] = {
    "ld": access,
    "ldu": access,
    "st": access,
    "atom": access,
    "red": lambda words: () if words.parts[0] == "async" else access(words),
    "ldmatrix": matrices,
    "stmatrix": matrices,
    "cp": copy,
    "cvta": lambda words: (to_generic(words),),
    "isspacep": lambda words: (in_space(words),),
}
"""The instructions that access memory or name its places."""
