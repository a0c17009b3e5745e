"""Instructions that look at other lanes: shuffles, votes, reductions; special registers; constants."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilewise.compiled.generic import WINDOWS
from tilewise.compiled.lanes import TRUE, UNKNOWN, Entries, Lanes, Taking, Value, applied, unknown_of
from tilewise.compiled.program import Compute
from tilewise.compiled.sass.integers import Words
from tilewise.compiled.sass.operands import (
    CONSTANT,
    constant_of,
    is_truth,
    named,
    put,
    put_wide,
    truth,
    wide,
    word,
)
from tilewise.hardware.limits import LANES


def s2r(words: Words) -> Compute:
    """Return the step of a special register: thread, block, lane; a time or a mask is not known."""
    register, name = words.operands[:2]

    def run(lanes: Lanes, where: Taking) -> None:
        put(lanes, register, special(lanes, name), where)

    return Compute(run, named(register, 1))


def special(lanes: Lanes, name: str) -> Value:
    """Return a special register by its name."""
    for index, prefix in ((lanes.thread_index, "SR_TID."), (lanes.block_index, "SR_CTAID.")):
        if name.startswith(prefix):
            return Value(index["XYZ".index(name[-1])])
    if name == "SR_LANEID":
        return Value(lanes.lane)
    if name in ("SR_CgaCtaId", "SRZ"):
        return Value.of(0)
    if name == "SR_SWINHI":
        return Value.of(WINDOWS["shared"] >> 32)
    if name.endswith("MASK") and name[3:5].lower() in RELATIONS:
        return Value(lane_mask(lanes, name[3:5].lower()))
    return UNKNOWN


RELATIONS = ("eq", "lt", "le", "gt", "ge")


def lane_mask(lanes: Lanes, relation: str) -> Entries:
    """Return the lanes that are at, below or above each one, as bits."""
    one = np.uint32(1) << lanes.lane
    below = one - np.uint32(1)
    return {"eq": one, "lt": below, "le": below | one, "gt": ~(below | one), "ge": ~below}[relation]


def cs2r(words: Words) -> Compute:
    """Return the step of a special register of 64 bits: 0, or a time that is not known."""
    register, name = words.operands[:2]
    count = 1 if "32" in words.parts else 2

    def run(lanes: Lanes, where: Taking) -> None:
        if name != "SRZ":
            lanes.forget(named(register, count), where)
        elif count == 1:
            put(lanes, register, Value.of(0), where)
        else:
            put_wide(lanes, register, Value.of(0, np.uint64), where)

    return Compute(run, named(register, count))


def r2ur(words: Words) -> Compute:
    """Return the step of a register of the first active lane, for the whole warp."""
    plain = [one for one in words.operands if not is_truth(one)]
    register, read = plain[0], word(plain[1])
    return Compute(
        lambda lanes, where: put(lanes, register, of_first_lane(lanes, read(lanes), where), where),
        named(register, 1),
    )


def of_first_lane(lanes: Lanes, value: Value, where: Taking) -> Value:
    """Return for every lane the number of the first lane of its warp that takes the step."""
    if value.bits.size == 1:
        return value
    active = where.mask.reshape(-1, LANES)
    first = active.argmax(axis=1)[:, None]
    bits = np.take_along_axis(lanes.by_warp(value.bits), first, axis=1)
    unknown = None
    if value.unknown is not None:
        unknown = np.repeat(np.take_along_axis(lanes.by_warp(value.unknown), first, axis=1)[:, 0], LANES)
    return Value(np.repeat(bits[:, 0], LANES), unknown)


def vote(words: Words) -> Compute:
    """Return the step of a warp's predicates: a mask of those that hold, and if any or all do."""
    plain = [one for one in words.operands if not is_truth(one)]
    truths = [one for one in words.operands if is_truth(one)]
    written, read = truths[:-1], truth(truths[-1])

    def run(lanes: Lanes, where: Taking) -> None:
        value = read(lanes)
        for name in written:
            put(lanes, name, voted(lanes, value, where, "any" if "ANY" in words.parts else "all"), where)
        if plain:
            put(lanes, plain[0], voted(lanes, value, where, "ballot"), where)

    return Compute(run, (*written, *(named(plain[0], 1) if plain else ())))


def voted(lanes: Lanes, value: Value, where: Taking, mode: str) -> Value:
    """Return if `any`, `all` or none of a warp's predicates (`uni`: or all) hold, or a `ballot` of them."""
    active = where.mask.reshape(-1, LANES)
    holds = lanes.by_warp(value.bits) & active
    unknown = None
    if value.unknown is not None:
        unknown = np.repeat((lanes.by_warp(value.unknown) & active).any(axis=1), LANES)
    if mode == "ballot":
        return Value(np.repeat(_ones_of(holds), LANES), unknown)
    answer = holds.any(axis=1) if mode == "any" else (holds == active).all(axis=1)
    if mode == "uni":
        answer = answer | ~holds.any(axis=1)
    return Value(np.repeat(answer, LANES), unknown)


def _ones_of(holds: np.ndarray) -> np.ndarray:
    """Return the truths of 32 lanes as the bits of a number."""
    return np.packbits(holds, axis=-1, bitorder="little").view("<u4")[..., 0]


def shfl(words: Words) -> Compute:
    """Return the step of a number of another lane: IDX, UP, DOWN, BFLY, inside segments."""
    plain = [one for one in words.operands if not is_truth(one)]
    written = [one for one in words.operands if is_truth(one)]
    register, source, lane, clamp = plain[:4]
    read, by, bound = word(source), word(lane), word(clamp)
    mode = words.parts[0]

    def run(lanes: Lanes, where: Taking) -> None:
        value, inside = shuffled(lanes, where, mode, (read(lanes), by(lanes), bound(lanes)))
        put(lanes, register, value, where)
        for name in written:
            put(lanes, name, inside, where)

    return Compute(run, (*named(register, 1), *written))


def shuffled(
    lanes: Lanes, where: Taking, mode: str, values: tuple[Value, Value, Value]
) -> tuple[Value, Value]:
    """Return the numbers of other lanes, and where such a lane is inside its segment.

    The values are the numbers, the lane or the distance, and the bounds of the segments.
    """
    value, step, limit = values
    mine = (lanes.threads % LANES).astype(np.int64)
    b, c = lanes.spread(step.bits).astype(np.int64) & 31, lanes.spread(limit.bits).astype(np.int64)
    segment, last = c >> 8 & 31, c & 31
    most = (mine & segment) | (last & ~segment)
    if mode == "UP":
        other, inside = mine - b, mine - b >= most
    elif mode == "DOWN":
        other, inside = mine + b, mine + b <= most
    elif mode == "BFLY":
        other, inside = mine ^ b, (mine ^ b) <= most
    else:
        other = (mine & segment) | (b & ~segment)
        inside = other <= most
    other = np.where(inside, other, mine)
    partner = np.arange(lanes.count) - mine + other
    unknown = ~where.mask[partner]
    for blind, moved in ((value.unknown, True), (step.unknown, False), (limit.unknown, False)):
        if blind is not None:
            spread = lanes.spread(blind)
            unknown = unknown | (spread[partner] if moved else spread)
    bits = lanes.spread(value.bits)[partner]
    return Value(bits, unknown if unknown.any() else None), Value(inside, unknown_of([step, limit]))


def match(words: Words) -> Compute:
    """Return the step of the lanes with the same number, as bits; ALL: a predicate tells if all have it."""
    plain = [one for one in words.operands if not is_truth(one)]
    written = [one for one in words.operands if is_truth(one)]
    read = (wide if "U64" in words.parts else word)(plain[1])
    each = "ANY" in words.parts

    def run(lanes: Lanes, where: Taking) -> None:
        ones, every = matched(lanes, where, read(lanes), each)
        put(lanes, plain[0], ones, where)
        for name in written:
            put(lanes, name, every, where)

    return Compute(run, (*named(plain[0], 1), *written))


def matched(lanes: Lanes, where: Taking, value: Value, each: bool) -> tuple[Value, Value]:
    """Return the lanes of a warp with a lane's own number, as bits, and if all have one number.

    Unless `each` lane has its own, the bits are 0 where the numbers differ.
    """
    active, rows = where.mask.reshape(-1, LANES), lanes.by_warp(value.bits)
    alike = (rows[:, :, None] == rows[:, None, :]) & active[:, None, :]
    ones = _ones_of(alike)
    every = (alike == active[:, None, :]).all(axis=2)
    unknown = None
    if value.unknown is not None:
        unknown = np.repeat((lanes.by_warp(value.unknown) & active).any(axis=1), LANES)
    bits = ones if each else np.where(every, ones, np.uint32(0))
    return Value(bits.reshape(-1), unknown), Value(every.reshape(-1), unknown)


def redux(words: Words) -> Compute:
    """Return the step of the sum, the least, the greatest or the bits of a warp's numbers together."""
    register, source = words.operands[:2]
    read = word(source)
    kind = words.parts[0] if words.parts else "AND"
    is_signed = "S32" in words.parts

    def run(lanes: Lanes, where: Taking) -> None:
        put(lanes, register, reduced(lanes, where, read(lanes), kind, is_signed), where)

    return Compute(run, named(register, 1))


def reduced(lanes: Lanes, where: Taking, value: Value, kind: str, is_signed: bool) -> Value:
    """Return the sum, the least, the greatest or the bits of each warp's numbers together."""
    active = where.mask.reshape(-1, LANES)
    bits = lanes.by_warp(value.bits)
    numbers = bits.astype(np.uint32).view(np.int32) if is_signed else bits
    numbers = numbers.astype(np.int64)
    if kind in ("SUM", "ADD"):
        total = np.where(active, numbers, 0).sum(axis=1)
    elif kind == "MIN":
        total = np.where(active, numbers, 1 << 40).min(axis=1)
    elif kind == "MAX":
        total = np.where(active, numbers, -(1 << 40)).max(axis=1)
    elif kind == "OR":
        total = np.bitwise_or.reduce(np.where(active, numbers, 0), axis=1)
    elif kind == "XOR":
        total = np.bitwise_xor.reduce(np.where(active, numbers, 0), axis=1)
    else:
        total = np.bitwise_and.reduce(np.where(active, numbers, (1 << 32) - 1), axis=1)
    unknown = None
    if value.unknown is not None:
        unknown = np.repeat((lanes.by_warp(value.unknown) & active).any(axis=1), LANES)
    return Value(np.repeat(total.astype(np.uint32), LANES), unknown)


def elect(words: Words) -> Compute:
    """Return the step of a predicate that is true for the first active lane of a warp."""
    written = [one for one in words.operands if is_truth(one)]
    plain = [one for one in words.operands if not is_truth(one)]

    def run(lanes: Lanes, where: Taking) -> None:
        first = np.repeat(where.mask.reshape(-1, LANES).argmax(axis=1), LANES)
        for name in written[:1]:
            put(lanes, name, Value(lanes.threads % LANES == first), where)
        for register in plain[:1]:
            put(lanes, register, Value(first.astype(np.uint32)), where)

    return Compute(run, (*written[:1], *(named(plain[0], 1) if plain else ())))


def ldc(words: Words) -> Compute:
    """Return the step of constants of 1 to 16 bytes."""
    register, place = words.operands[-2:]
    count = next((int(part) // 32 for part in words.parts if part in ("64", "128")), 1)
    reads = [_constant(place, step) for step in range(count)]
    narrow = next((part for part in words.parts if part in ("U8", "S8", "U16", "S16")), None)

    def run(lanes: Lanes, where: Taking) -> None:
        for step, (name, read) in enumerate(zip(named(register, count), reads, strict=False)):
            value = read(lanes)
            if narrow is not None and step == 0:
                value = applied(lambda bits: _filled(bits, narrow), value)
            put(lanes, name, value, where)

    return Compute(run, named(register, count))


def _constant(place: str, step: int) -> Callable[[Lanes], Value]:
    match = CONSTANT.fullmatch(place)
    if match is None:
        return lambda lanes: UNKNOWN
    return constant_of(match[1], match[2], step)


def _filled(bits: np.ndarray, kind: str) -> np.ndarray:
    width = int(kind[1:])
    low = bits & np.uint32((1 << width) - 1)
    if kind[0] == "U":
        return low
    away = np.int32(32 - width)
    return ((low << np.uint32(32 - width)).view(np.int32) >> away).view(np.uint32)


def sure(words: Words) -> Compute:
    """Return the step of a wait that ends: its predicate becomes true."""
    written = [one for one in words.operands if is_truth(one)]

    def run(lanes: Lanes, where: Taking) -> None:
        for name in written:
            put(lanes, name, TRUE, where)

    return Compute(run, tuple(written))


WARPS: dict[str, Callable[[Words], Compute]] = {
    "S2R": s2r,
    "S2UR": s2r,
    "CS2R": cs2r,
    "CS2UR": cs2r,
    "R2UR": r2ur,
    "VOTE": vote,
    "VOTEU": vote,
    "SHFL": shfl,
    "MATCH": match,
    "REDUX": redux,
    "CREDUX": redux,
    "ELECT": elect,
    "LDC": ldc,
    "ULDC": ldc,
    "LDCU": ldc,
}
"""The instructions of warps, special registers and constants, by their base."""
