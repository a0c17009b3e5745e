"""Integer instructions of machine code: sums, products, shifts, logic, comparisons, selections.

Every function takes the words of one instruction and returns the step that computes it. Numbers of 64 bits go
in two halves, with a carry as a predicate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tilewise.compiled.lanes import LaneReader, Lanes, Near, Taking, Value, applied, near_of
from tilewise.compiled.program import Compute
from tilewise.compiled.sass.operands import (
    ZEROS,
    half_of,
    is_truth,
    joined,
    low_word,
    named,
    number_of,
    put,
    put_wide,
    signed,
    truth,
    wide,
    word,
)

U64 = np.uint64
_32, _63 = U64(32), U64(63)


@dataclass(frozen=True, slots=True)
class Words:
    """One instruction by its words: `ISETP.GE.U32.AND` and its operands."""

    base: str
    parts: tuple[str, ...]
    operands: tuple[str, ...]

    @classmethod
    def of(cls, name: str, operands: Sequence[str]) -> Words:
        """Return the words of an instruction; the twin in the uniform datapath has the same base."""
        base, *parts = name.split(".")
        return cls(TWINS.get(base, base), tuple(parts), tuple(operands))

    def parted(self) -> tuple[list[str], list[str], list[str]]:
        """Return the predicates that are written, all operands that are no predicates, those that are read.

        requires     a register and a number at least, else ValueError

        >>> Words.of("IADD3.X", ["R1", "P0", "R2", "R3", "RZ", "P1", "!PT"]).parted()
        (['P0'], ['R1', 'R2', 'R3', 'RZ'], ['P1', '!PT'])
        """
        places = [place for place, one in enumerate(self.operands) if not is_truth(one)]
        plain = [self.operands[place] for place in places]
        if len(places) < 2:
            raise ValueError(f"{self.base} has {len(places)} operands")
        second = places[1]
        written = [one for one in self.operands[:second] if is_truth(one)]
        return written, plain, [one for one in self.operands[second:] if is_truth(one)]


TWINS = {
    "UIADD3": "IADD3",
    "UIMAD": "IMAD",
    "ULEA": "LEA",
    "ULOP3": "LOP3",
    "UPLOP3": "PLOP3",
    "USHF": "SHF",
    "UISETP": "ISETP",
    "USEL": "SEL",
    "UMOV": "MOV",
    "MOV32I": "MOV",
    "UPRMT": "PRMT",
    "USGXT": "SGXT",
    "UBMSK": "BMSK",
    "UPOPC": "POPC",
    "UFLO": "FLO",
    "UBREV": "BREV",
    "UIABS": "IABS",
    "UVIADD": "VIADD",
    "UVIMNMX": "VIMNMX",
    "UIMNMX": "IMNMX",
    "UVIADDMNMX": "VIADDMNMX",
    "UI2F": "I2F",
    "UI2FP": "I2FP",
    "UF2I": "F2I",
    "UFMUL": "FMUL",
    "UFSETP": "FSETP",
    "UFSEL": "FSEL",
    "ULEPC": "LEPC",
    "UP2UR": "P2R",
    "UR2UP": "R2P",
    "LOP32I": "LOP",
    "IADD32I": "IADD",
    "ISCADD32I": "ISCADD",
}
"""Instructions that do for a warp, or for a number of 32 bits, what another does for lanes."""


def step_of(register: str, read: LaneReader) -> Compute:
    """Return the step that writes 32 bits."""

    def run(lanes: Lanes, where: Taking) -> None:
        put(lanes, register, read(lanes), where)

    return Compute(run, named(register, 1))


def _wide_step(register: str, read: LaneReader) -> Compute:
    """Return the step that writes 64 bits."""

    def run(lanes: Lanes, where: Taking) -> None:
        put_wide(lanes, register, read(lanes), where)

    return Compute(run, named(register, 2))


def _narrow(bits: np.ndarray) -> np.ndarray:
    return low_word(bits) if bits.dtype == U64 else bits.astype(np.uint32)


# -- sums and products -----------------------------------------------------------------------------------


def iadd3(words: Words) -> Compute:
    """Return the step of a + b + c, with up to two carries in and out."""
    written, plain, carried = words.parted()
    register = plain[0]
    carries = [truth(one) for one in carried] if "X" in words.parts else []
    counts = [name for name in written if name not in ("PT", "UPT")]
    reads = [word(operand, carry=bool(counts)) for operand in plain[1:] if counts or operand not in ZEROS]

    def run(lanes: Lanes, where: Taking) -> None:
        values = [*(read(lanes) for read in reads), *(carry(lanes) for carry in carries)]
        total = applied(_added, *values) if counts else between(_added_low, *values)
        for least, name in enumerate(written):
            if name in counts:
                put(lanes, name, applied(lambda bits, least=least: bits >> _32 > least, total), where)
        put(lanes, register, applied(low_word, total) if counts else total, where)

    return Compute(run, (*named(register, 1), *written))


def _added(*bits: np.ndarray) -> Any:
    """Return a sum in 64 bits."""
    total = bits[0].astype(U64)
    for one in bits[1:]:
        total = total + one.astype(U64)
    return total


def _added_low(*bits: np.ndarray) -> Any:
    """Return the low word of a sum."""
    total = bits[0].astype(np.uint32) if bits else np.zeros(1, np.uint32)
    for one in bits[1:]:
        total = total + one.astype(np.uint32)
    return total


def iadd_wide(words: Words) -> Compute:
    """Return the step of a + b of 64 bits, or a + b + c."""
    written, plain, _ = words.parted()
    reads = [wide(operand) for operand in plain[1:]]
    sum_of = _wide_step(
        plain[0],
        lambda lanes: applied(_added, *(read(lanes) for read in reads)),
    )
    carries = [name for name in written if name not in ("PT", "UPT")]

    def run(lanes: Lanes, where: Taking) -> None:
        sum_of.run(lanes, where)
        lanes.forget(carries, where)

    return Compute(run, (*sum_of.writes, *carries))


def imad(words: Words) -> Compute:
    """Return the step of a b + c: the low word, the high one (HI), or both (WIDE)."""
    written, plain, carried = words.parted()
    register, a, b, c = plain
    unsigned = "U32" in words.parts
    left, right = word(a), word(b)
    carry = truth(carried[0]) if "X" in words.parts and carried else None
    if "WIDE" not in words.parts and "HI" not in words.parts:
        add = word(c)

        def low(lanes: Lanes) -> Value:
            values = [left(lanes), right(lanes), add(lanes)]
            if carry is not None:
                values.append(carry(lanes))
            return applied(lambda x, y, z, more=0: x * y + _narrow(z) + np.uint32(more), *values)

        if carry is None and not written:
            return step_of(register, low)
        return step_of(register, lambda lanes: _with_carry(lanes, left, right, add, carry))
    add = wide(c)
    extend = (lambda bits: bits.astype(U64)) if unsigned else signed

    def run(lanes: Lanes, where: Taking) -> None:
        values = [left(lanes), right(lanes), add(lanes), *([carry(lanes)] if carry else [])]
        product = applied(lambda x, y, z, *more: extend(x) * extend(y), *values)
        total = applied(
            lambda p, z, *more: p + z + sum((m.astype(U64) for m in more), U64(0)), product, *values[2:]
        )
        for name in written:
            over = applied(lambda t, p: t < p, total, product)
            put(lanes, name, over, where)
        if "HI" in words.parts:
            put(lanes, register, applied(lambda bits: (bits >> _32).astype(np.uint32), total), where)
        else:
            put_wide(lanes, register, total, where)

    return Compute(run, (*named(register, 1 if "HI" in words.parts else 2), *written))


def _with_carry(
    lanes: Lanes, left: LaneReader, right: LaneReader, add: LaneReader, carry: LaneReader | None
) -> Value:
    values = [left(lanes), right(lanes), add(lanes), *([carry(lanes)] if carry else [])]
    return applied(
        lambda x, y, z, *more: x * y + z + sum((m.astype(np.uint32) for m in more), np.uint32(0)), *values
    )


def lea(words: Words) -> Compute:
    """Return the step of (a << n) + b; HI is its high word, with c above a; SX32 fills a up with its sign."""
    written, plain, carried = words.parted()
    register, a, b, *rest = plain
    high, fill = "HI" in words.parts, "SX32" in words.parts
    shift = number_of(rest[-1]) if rest else 0
    assert shift is not None
    negative = a.startswith("-") and not high
    low = word(a.lstrip("-") if negative else a)
    above = word(rest[0] if high and not fill and len(rest) > 1 else "RZ")
    add = word(b, carry=True)
    carry = truth(carried[0]) if "X" in words.parts and carried else truth("!PT")

    def run(lanes: Lanes, where: Taking) -> None:
        base = applied(signed, low(lanes)) if fill else applied(joined, low(lanes), above(lanes))
        if high:
            moved = applied(lambda bits: _shifted_high(bits, shift, fill), base)
        else:
            moved = applied(lambda bits: bits << U64(shift) & U64(0xFFFFFFFF), base)
            if negative:  # as everywhere, with a carry where nothing is borrowed
                moved = applied(lambda bits: U64(1 << 32) - bits, moved)
        total = applied(lambda x, y, z: x + y.astype(U64) + z.astype(U64), moved, add(lanes), carry(lanes))
        for name in written:
            put(lanes, name, applied(lambda bits: bits >> _32 > 0, total), where)
        put(lanes, register, applied(low_word, total), where)

    return Compute(run, (*named(register, 1), *written))


def _shifted_high(bits: np.ndarray, shift: int, fill: bool) -> np.ndarray:
    """Return the high word of 64 bits shifted left."""
    if fill:
        return (bits.view(np.int64) >> np.int64(32 - shift)).view(U64) & U64(0xFFFFFFFF)
    return bits >> U64(32 - shift) & U64(0xFFFFFFFF)


def viadd(words: Words) -> Compute:
    """Return the step of a + b."""
    register, a, b = words.operands[:3]
    left, right = word(a), word(b)
    return step_of(register, lambda lanes: between(np.add, left(lanes), right(lanes)))


def between(function: Callable[..., Any], *values: Value) -> Value:
    """Return a function of values that grows with each of them, and its ends where one has ends."""
    value = applied(function, *values)
    if all(one.near is None for one in values):
        return value
    parts = [near_of(one) for one in values]
    high = function(*(part.high for part in parts))
    lanes = np.logical_and.reduce(np.broadcast_arrays(value.bits <= high, *(part.lanes for part in parts)))
    divides = np.logical_or.reduce(np.broadcast_arrays(*(part.divides for part in parts)))
    return Value(value.bits, value.unknown, Near(high, lanes, divides))


def iabs(words: Words) -> Compute:
    """Return the step of |a|."""
    return step_of(words.operands[0], word(f"|{words.operands[1]}|"))


def least(words: Words) -> Compute:
    """Return the step of the least or the greatest of numbers, by the first predicate behind them."""
    written, plain, selecting = words.parted()
    is_wide = any(part in ("S64", "U64") for part in words.parts)
    unsigned = any(part in ("U32", "U64") for part in words.parts)
    reads = [(wide if is_wide else word)(operand) for operand in plain[1:]]
    if len(reads) < 2:
        raise ValueError(f"{words.base} has one number")
    added = words.base == "VIADDMNMX"
    which = truth(selecting[0]) if selecting else truth("!PT" if "MAX" in words.parts else "PT")
    kind: type[np.signedinteger[Any]] = np.int64 if is_wide else np.int32

    def chosen(is_least: np.ndarray, *bits: np.ndarray) -> Any:
        numbers = [b if unsigned else b.view(kind) for b in bits]
        low, high = numbers[0], numbers[0]
        for number in numbers[1:]:
            low, high = np.minimum(low, number), np.maximum(high, number)
        return np.where(is_least, low, high).view(U64 if is_wide else np.uint32)

    def run(lanes: Lanes, where: Taking) -> None:
        values = [one(lanes) for one in reads]
        if added:
            values = [applied(np.add, *values[:2]), *values[2:]]
        result = applied(chosen, which(lanes), *values)
        lanes.forget([name for name in written if name not in ("PT", "UPT")], where)
        (put_wide if is_wide else put)(lanes, plain[0], result, where)

    return Compute(run, (*named(plain[0], 2 if is_wide else 1), *written))


# -- shifts and bits -------------------------------------------------------------------------------------


def shf(words: Words) -> Compute:
    """Return the step of the low or high word of {high, low} shifted."""
    register, low, by, high = words.operands[:4]
    below, count, above = word(low), word(by), word(high)
    left, upper = "L" in words.parts, "HI" in words.parts
    kind = next((part for part in words.parts if part[0] in "US" and part[1:] in ("32", "64")), "U32")
    wrapped = "W" in words.parts
    most = U64(63 if kind.endswith("64") else 32)

    def shifted(lo: np.ndarray, n: np.ndarray, hi: np.ndarray) -> Any:
        n = n.astype(U64)
        n = n & U64(63 if kind.endswith("64") else 31) if wrapped else np.minimum(n, most)
        whole = joined(lo, hi)
        if left:
            return (whole << n >> (_32 if upper else U64(0))) & U64(0xFFFFFFFF)
        filled = kind == "S64" or (upper and kind == "S32")
        moved = (whole.view(np.int64) >> n.astype(np.int64)).view(U64) if filled else whole >> n
        return moved >> _32 if upper else moved & U64(0xFFFFFFFF)

    return step_of(
        register, lambda lanes: applied(_narrow, applied(shifted, below(lanes), count(lanes), above(lanes)))
    )


def sgxt(words: Words) -> Compute:
    """Return the step of the low bits of a, filled up with their sign, or with zeros (U32)."""
    register, a, count = words.operands[:3]
    read, bits_of = word(a), word(count)

    def filled(bits: np.ndarray, count: np.ndarray) -> np.ndarray:
        n = (count & np.uint32(31)) if "W" in words.parts else np.minimum(count, np.uint32(32))
        away = (np.uint32(32) - n).astype(U64)
        up = (bits.astype(U64) << away & U64(0xFFFFFFFF)).astype(np.uint32)
        if "U32" in words.parts:
            return (up.astype(U64) >> away).astype(np.uint32)
        return (up.view(np.int32).astype(np.int64) >> away.astype(np.int64)).astype(np.uint32)

    return step_of(register, lambda lanes: applied(filled, read(lanes), bits_of(lanes)))


def bmsk(words: Words) -> Compute:
    """Return the step of so many ones from a position on."""
    register, position, width = words.operands[:3]
    begin, count = word(position), word(width)

    def mask(p: np.ndarray, n: np.ndarray) -> np.ndarray:
        if "W" in words.parts:
            p, n = p & np.uint32(31), n & np.uint32(31)
        ones = (U64(1) << np.minimum(n, np.uint32(32)).astype(U64)) - U64(1)
        return low_word(ones << np.minimum(p, np.uint32(32)).astype(U64))

    return step_of(register, lambda lanes: applied(mask, begin(lanes), count(lanes)))


def prmt(words: Words) -> Compute:
    """Return the step of four bytes of {c, a}, chosen by the digits of b."""
    register, a, b, c = words.operands[:4]
    reads = [word(a), word(b), word(c)]

    if any(re.fullmatch(r"F4E|B4E|RC8|ECL|ECR|RC16", part) for part in words.parts):
        return Compute(lambda lanes, where: lanes.forget(named(register, 1), where), named(register, 1))
    return step_of(register, lambda lanes: applied(permuted, *(read(lanes) for read in reads)))


def permuted(low: np.ndarray, selector: np.ndarray, high: np.ndarray) -> Any:
    """Return four bytes of two words, chosen by the digits of a third; 8 more is the sign of that byte."""
    if selector.size == 1 and not int(selector[0]) & 0x8888:
        return _picked(low, high, [int(selector[0]) >> 4 * place & 7 for place in range(4)])
    both, digits = np.broadcast_arrays(joined(low, high)[:, None], selector[:, None] >> DIGITS)
    begins = np.arange(0, 8 * len(both), 8)[:, None]
    bytes_of_all = np.ascontiguousarray(both[:, 0]).view(np.int8)
    chosen = bytes_of_all[begins + (digits & np.uint32(7))]
    signed_ones = digits & np.uint32(8) != 0
    return np.where(signed_ones, chosen >> 7, chosen).view(np.uint32)[:, 0]


DIGITS = np.array([0, 4, 8, 12], np.uint32)


def _picked(low: np.ndarray, high: np.ndarray, digits: Sequence[int]) -> Any:
    """Return bytes of two words, neighbours together."""
    result: Any = np.zeros(1, np.uint32)
    place = 0
    while place < 4:
        digit, count = digits[place], 1
        while place + count < 4 and digits[place + count] == digit + count != 4:
            count += 1
        bits = (high if digit > 3 else low) >> np.uint32(8 * (digit & 3))
        result = result | (bits & np.uint32((1 << 8 * count) - 1)) << np.uint32(8 * place)
        place += count
    return result


def popc(words: Words) -> Compute:
    """Return the step of the number of ones."""
    read = word(words.operands[-1])
    return step_of(words.operands[0], lambda lanes: applied(count_ones, read(lanes)))


def count_ones(bits: np.ndarray) -> Any:
    """Return the number of ones of each number."""
    parts = ONES[np.ascontiguousarray(bits).view(np.uint8)].reshape(-1, bits.itemsize)
    return parts.sum(axis=1, dtype=np.uint32)


BYTES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
ONES = BYTES.sum(axis=1, dtype=np.uint32)
"""The ones of each byte."""
REVERSED = np.packbits(BYTES[:, ::-1], axis=1)[:, 0]
"""The bits of each byte in reverse."""


def flo(words: Words) -> Compute:
    """Return the step of the position of the leading one, all ones for 0; SH counts from the top."""
    plain = [one for one in words.operands if not is_truth(one)]
    written = [one for one in words.operands if is_truth(one)]
    read = word(plain[1])

    def leading(bits: np.ndarray) -> np.ndarray:
        if "U32" not in words.parts:
            bits = np.where(bits.view(np.int32) < 0, ~bits, bits)
        wide = bits.astype(np.float64)
        position = np.frexp(wide)[1] - 1
        found = (31 - position) if "SH" in words.parts else position
        return np.where(bits == 0, np.uint32(0xFFFFFFFF), found.astype(np.uint32))

    def run(lanes: Lanes, where: Taking) -> None:
        value = applied(leading, read(lanes))
        put(lanes, plain[0], value, where)
        for name in written:
            put(lanes, name, applied(lambda bits: bits != np.uint32(0xFFFFFFFF), value), where)

    return Compute(run, (*named(plain[0], 1), *written))


def brev(words: Words) -> Compute:
    """Return the step of the bits in reverse."""
    read = word(words.operands[1])

    return step_of(words.operands[0], lambda lanes: applied(reversed_bits, read(lanes)))


def reversed_bits(bits: np.ndarray) -> Any:
    """Return the bits of numbers in reverse."""
    return REVERSED[np.ascontiguousarray(bits).view(np.uint8)].view(bits.dtype).byteswap()


# -- logic and predicates --------------------------------------------------------------------------------


def lop3(words: Words) -> Compute:
    """Return the step of a function of three bits by its table; a predicate says if it is not 0."""
    written, plain, carried = words.parted()
    register, *reads, table = plain
    values = [word(operand) for operand in reads]
    number = int(table, 0)
    also = truth(carried[-1]) if carried else truth("!PT")

    def run(lanes: Lanes, where: Taking) -> None:
        value = applied(lambda *bits: looked_up(number, *bits), *(read(lanes) for read in values))
        for name in written:
            if "PAND" in words.parts:
                put(lanes, name, applied(lambda bits, p: (bits != 0) & p, value, also(lanes)), where)
            else:
                put(lanes, name, applied(lambda bits, p: (bits != 0) | p, value, also(lanes)), where)
        put(lanes, register, value, where)

    return Compute(run, (*named(register, 1), *written))


def looked_up(table: int, *operands: np.ndarray) -> Any:
    """Return the bits that a table has for the bits of three numbers: row 4 a + 2 b + c."""
    kind = operands[0].dtype
    if table in (0, (1 << (1 << len(operands))) - 1):
        zero = np.zeros(1, kind)
        return ~zero if table else zero
    place = next((n for n, bits in enumerate(operands) if not isinstance(bits, np.ndarray)), 0)
    bits, others = operands[place], operands[:place] + operands[place + 1 :]
    off, on, every = _halves(table, len(operands), place)
    if off == on:
        return looked_up(off, *others)
    if off == 0:
        return bits if on == every else bits & looked_up(on, *others)
    if on == 0:
        return ~bits if off == every else ~bits & looked_up(off, *others)
    if on == every:
        return bits | looked_up(off, *others)
    if off == every:
        return ~bits | looked_up(on, *others)
    first = looked_up(off, *others)
    return first ^ bits if on == off ^ every else first ^ (bits & (first ^ looked_up(on, *others)))


@cache
def _halves(table: int, count: int, place: int) -> tuple[int, int, int]:
    """Return the table where one operand is 0, where it is 1, and that which always holds."""
    weight = 1 << count - 1 - place
    rows = [row for row in range(1 << count) if not row & weight]
    off = sum((table >> row & 1) << number for number, row in enumerate(rows))
    on = sum((table >> row + weight & 1) << number for number, row in enumerate(rows))
    return off, on, (1 << len(rows)) - 1


def plop3(words: Words) -> Compute:
    """Return the step of two functions of three predicates by their tables."""
    first, second, a, b, c, *tables = words.operands
    reads = [truth(a), truth(b), truth(c)]
    numbers = [int(table, 0) for table in tables] + [0]

    def run(lanes: Lanes, where: Taking) -> None:
        values = [read(lanes) for read in reads]
        for name, table in zip((first, second), numbers, strict=False):
            put(lanes, name, applied(lambda *bits, table=table: looked_up(table, *bits), *values), where)

    return Compute(run, (first, second))


COMPARED: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
    "EQ": np.equal,
    "NE": np.not_equal,
}


def isetp(words: Words) -> Compute:
    """Return the step of a comparison, joined with a predicate; EX goes on from that of the low words."""
    first, second, a, b, *truths = words.operands
    relation = words.parts[0]
    unsigned = any(part in ("U32", "U64") for part in words.parts)
    is_wide = any(part in ("U64", "S64") for part in words.parts)
    left, right = (wide(a), wide(b)) if is_wide else (word(a), word(b))
    joined_with = truth(truths[0]) if truths else truth("PT")
    lower = truth(truths[1]) if "EX" in words.parts else None
    join = next((part for part in words.parts if part in ("AND", "OR", "XOR")), "AND")

    def compared(x: np.ndarray, y: np.ndarray, low: np.ndarray | None = None) -> Any:
        if relation in ("T", "F"):
            return np.full(1, relation == "T")
        if not unsigned:
            kind: Any = np.int64 if is_wide else np.int32
            x, y = x.view(kind), y.view(kind)
        if low is None:
            return COMPARED[relation](x, y)
        if relation == "NE":
            return (x != y) | low
        if relation == "EQ":
            return (x == y) & low
        return COMPARED[relation[0] + "T"](x, y) | ((x == y) & low)

    def run(lanes: Lanes, where: Taking) -> None:
        values = [left(lanes), right(lanes), *([lower(lanes)] if lower else [])]
        result = applied(compared, *values)
        other = joined_with(lanes)
        for name, negated in ((first, False), (second, True)):
            if name not in ("PT", "UPT"):
                mine = applied(np.logical_not, result) if negated else result
                put(lanes, name, both(join, mine, other), where)

    return Compute(run, (first, second))


def both(join: str, a: Value, b: Value) -> Value:
    """Return two predicates joined; known where one of them decides."""
    if join == "XOR":
        return applied(np.logical_xor, a, b)
    decides = join == "OR"
    bits = (a.bits | b.bits) if decides else (a.bits & b.bits)
    if a.unknown is None and b.unknown is None:
        return Value(bits)
    no = np.zeros(1, np.bool_)
    blind_a, blind_b = (no if v.unknown is None else v.unknown for v in (a, b))
    settled = (~blind_a & (a.bits == decides)) | (~blind_b & (b.bits == decides))
    return Value(np.where(settled, decides, bits), (blind_a | blind_b) & ~settled)


def sel(words: Words) -> Compute:
    """Return the step of one of two numbers, by a predicate."""
    register, a, b, which = words.operands[:4]
    is_wide = "64" in words.parts
    one_side = wide if is_wide else word
    left, right, wanted = one_side(a), one_side(b), truth(which)

    read = selected(wanted, left, right)
    if is_wide:
        return _wide_step(register, read)
    return step_of(register, read)


def selected(wanted: LaneReader, left: LaneReader, right: LaneReader) -> LaneReader:
    """Return the reader of one of two numbers, by a predicate; known where the one that is taken is."""

    def read(lanes: Lanes) -> Value:
        chosen, x, y = wanted(lanes), left(lanes), right(lanes)
        bits = np.where(chosen.bits, x.bits, y.bits)
        if x.unknown is None and y.unknown is None:
            return Value(bits, chosen.unknown)
        no = np.zeros(1, np.bool_)
        blind_x, blind_y = (no if v.unknown is None else v.unknown for v in (x, y))
        unknown = np.where(chosen.bits, blind_x, blind_y)
        return Value(bits, unknown if chosen.unknown is None else unknown | chosen.unknown)

    return read


def mov(words: Words) -> Compute:
    """Return the step that copies a number of 32 or 64 bits."""
    if "64" in words.parts:
        return _wide_step(words.operands[0], wide(words.operands[1]))
    return step_of(words.operands[0], word(words.operands[1]))


def hfma2(words: Words) -> Compute:
    """Return the step of a pair of halves as constants, `-RZ, RZ, high, low`; anything else is not known."""
    register, *rest = words.operands
    if rest[:2] in (["-RZ", "RZ"], ["RZ", "-RZ"], ["RZ", "RZ"]) and not any(
        p in ("BF16", "BF16_V2") for p in words.parts
    ):
        try:
            value = Value.of(half_of(rest[2]) << 16 | half_of(rest[3]))
        except (ValueError, IndexError):
            pass
        else:
            return step_of(register, lambda lanes: value)
    return Compute(lambda lanes, where: lanes.forget(named(register, 1), where), named(register, 1))


def p2r(words: Words) -> Compute:
    """Return the step of the predicates as bits, under a mask, in a byte of a number."""
    register, which, kept, mask = words.operands[:4]
    read, ones = word(kept), number_of(mask)
    prefix = "UP" if which.startswith("U") else "P"
    shift = next((8 * int(part[1]) for part in words.parts if re.fullmatch(r"B\d", part)), 0)

    def value(lanes: Lanes) -> Value:
        total = read(lanes)
        for number in range(7):
            if ones is not None and ones >> number & 1:
                bit = np.uint32(1 << number + shift)
                total = applied(
                    lambda t, p, bit=bit: np.where(p, t | bit, t & ~bit),
                    total,
                    lanes.truth(f"{prefix}{number}"),
                )
        return total

    return step_of(register, value)


def r2p(words: Words) -> Compute:
    """Return the step of bits as predicates, under a mask."""
    which, source, mask = words.operands[:3]
    read, ones = word(source.split(".B")[0]), number_of(mask)
    prefix = "UP" if which.startswith("U") else "P"
    part = re.search(r"\.B(\d)", source)
    shift = 8 * int(part[1]) if part else 0
    names = [f"{prefix}{n}" for n in range(7) if ones is not None and ones >> n & 1]

    def run(lanes: Lanes, where: Taking) -> None:
        value = read(lanes)
        for name in names:
            bit = np.uint32(1 << int(name[-1]) + shift)
            put(lanes, name, applied(lambda bits, bit=bit: bits & bit != 0, value), where)

    return Compute(run, tuple(names))


COMPUTED: dict[str, Callable[[Words], Compute]] = {
    "IADD3": iadd3,
    "IADD": iadd3,
    "IADD.64": iadd_wide,
    "IMAD": imad,
    "LEA": lea,
    "VIADD": viadd,
    "IABS": iabs,
    "IMNMX": least,
    "VIMNMX": least,
    "VIMNMX3": least,
    "VIADDMNMX": least,
    "SHF": shf,
    "SGXT": sgxt,
    "BMSK": bmsk,
    "PRMT": prmt,
    "POPC": popc,
    "FLO": flo,
    "BREV": brev,
    "LOP3": lop3,
    "PLOP3": plop3,
    "ISETP": isetp,
    "SEL": sel,
    "MOV": mov,
    "HFMA2": hfma2,
    "P2R": p2r,
    "R2P": r2p,
}
"""The instructions that are computed, by their base."""
