"""Integer instructions of PTX: sums, products, quotients, shifts, bits, logic, comparisons, conversions.

Every function takes the words of one instruction and returns the step that computes it, or None where it is
not read here. The meaning is that of the PTX ISA manual.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tilewise.compiled.lanes import FALSE, UNKNOWN_TRUTH, Entries, Lanes, Taking, Value, applied
from tilewise.compiled.program import Compute, Step, UnreadStep
from tilewise.compiled.ptx.operands import KINDS, SIGNED, Kind, Words, number, width_of, write_all
from tilewise.compiled.sass.integers import both, count_ones, looked_up, permuted, reversed_bits

U32, U64 = np.uint32, np.uint64
OfEntries = Callable[..., Entries]
Reading = Callable[[Words], Step | None]

CARRY = "CC.CF"
"""The register of the carry, which the next instruction adds."""


def with_sign(bits: Entries) -> Entries:
    """Return bits as numbers with a sign."""
    return bits.view(SIGNED[8 * bits.itemsize])


def extended(bits: Entries, signed: bool) -> Entries:
    """Return numbers in 64 bits, filled up with their sign or with zeros."""
    return with_sign(bits).astype(np.int64).view(U64) if signed else bits.astype(U64)


def _plain(function: OfEntries) -> Reading:
    """Return the reading of a function of bits."""
    return lambda words: words.result(function)


def _by_sign(function: OfEntries) -> Reading:
    """Return the reading of a function of numbers, which have a sign if the type has one."""

    def reading(words: Words) -> Step:
        if not words.signed:
            return words.result(function)
        return words.result(lambda *bits: function(*map(with_sign, bits)).view(words.kind))

    return reading


def unknown(words: Words) -> UnreadStep:
    """Return the step that makes what is written unknown."""
    return UnreadStep(words.written())


# -- sums and products -----------------------------------------------------------------------------------


def total(words: Words) -> Step | None:
    """Return the step of a + b, a - b, a b + c; a carry may come in and go out."""
    if "sat" in words.parts:
        return None
    subtracts = words.base in ("sub", "subc")
    if words.base in ("mad", "madc"):
        if "wide" in words.parts:
            reads = [words.read(1), words.read(2), words.read(3, KINDS[2 * words.width])]
        else:
            reads = [words.read(place) for place in (1, 2, 3)]
        times = partial(_product, words)
    else:
        reads, times = [words.read(1), words.read(2)], None
    takes, gives = words.base in ("addc", "subc", "madc"), "cc" in words.parts
    register = words.written()

    def run(lanes: Lanes, where: Taking) -> None:
        values = [read(lanes) for read in reads]
        if times is not None:
            values = [applied(times, *values[:2]), values[2]]
        more = lanes.truth(CARRY) if takes else FALSE

        def summed(x: Entries, y: Entries, carry: Entries) -> Any:
            carry = carry.astype(x.dtype)
            return x - y - carry if subtracts else x + y + carry

        def over(x: Entries, y: Entries, carry: Entries) -> Any:
            if subtracts:
                return (x < y) | carry & (x == y)
            found = x + y
            return (found < x) | carry & (found == found.dtype.type(-1 % (1 << 8 * found.itemsize)))

        result = applied(summed, *values, more)
        if gives:
            lanes.write(CARRY, applied(over, *values, more), where)
        write_all(lanes, register, [result] * len(register), where)

    return Compute(run, (*register, CARRY) if gives else register)


def _product(words: Words, a: Entries, b: Entries) -> Entries:
    """Return the low half of a product, the high one, or all of it (wide)."""
    if "wide" not in words.parts and "hi" not in words.parts:
        return a * b
    if words.width == 64:
        return _high(a, b, words.signed)
    whole = extended(a, words.signed) * extended(b, words.signed)
    if "hi" in words.parts:
        whole = whole >> U64(words.width)
        return whole.astype(words.kind)
    return whole.astype(KINDS[2 * words.width])


def _high(a: Entries, b: Entries, signed: bool) -> Entries:
    """Return the high 64 of the 128 bits of a product."""
    half, low = U64(32), U64((1 << 32) - 1)
    a_low, a_high, b_low, b_high = a & low, a >> half, b & low, b >> half
    middle = a_high * b_low + (a_low * b_low >> half)
    other = a_low * b_high + (middle & low)
    high: Entries = a_high * b_high + (middle >> half) + (other >> half)
    if signed:
        high = high - np.where(with_sign(a) < 0, b, U64(0)) - np.where(with_sign(b) < 0, a, U64(0))
    return high


def product(words: Words) -> Step:
    """Return the step of the product a b."""
    return words.result(partial(_product, words))


def product24(words: Words) -> Step | None:
    """Return the step of a product of 24 bits of each: its low 32 bits or those from 16 on; and a sum."""
    if "sat" in words.parts:
        return None

    def of(a: Entries, b: Entries, c: Entries | None = None) -> Any:
        away = U32(8)
        parts = [with_sign(x << away) >> np.int32(8) if words.signed else (x << away) >> away for x in (a, b)]
        whole = parts[0].astype(np.int64) * parts[1].astype(np.int64)
        result = (whole >> 16 if "hi" in words.parts else whole).astype(U32)
        return result if c is None else result + c

    return words.result(of)


def distance(words: Words) -> Step:
    """Return the step of c + |a - b|."""

    def of(a: Entries, b: Entries, c: Entries) -> Any:
        less = with_sign(a) < with_sign(b) if words.signed else a < b
        return c + np.where(less, b - a, a - b)

    return words.result(of)


def quotient(words: Words) -> Step:
    """Return the step of a / b cut off, or of what remains; by 0 it is not known."""
    reads = [words.read(1), words.read(2)]

    def of(a: Entries, b: Entries) -> Any:
        if not words.signed:
            b = np.maximum(b, words.kind(1))
            return a // b if words.base == "div" else a % b
        size_a, size_b = (np.where(with_sign(x) < 0, np.negative(x), x) for x in (a, b))
        size_b = np.maximum(size_b, words.kind(1))
        if words.base == "div":
            size, minus = size_a // size_b, with_sign(a ^ b) < 0
        else:
            size, minus = size_a % size_b, with_sign(a) < 0
        return np.where(minus, np.negative(size), size)

    def read(lanes: Lanes) -> Value:
        a, b = (one(lanes) for one in reads)
        value, by_zero = applied(of, a, b), b.bits == 0
        if not by_zero.any():
            return value
        return Value(value.bits, by_zero if value.unknown is None else by_zero | value.unknown)

    return words.step(read)


def least(words: Words) -> Step | None:
    """Return the step of the least or the greatest of two or three."""
    if "relu" in words.parts:
        return None
    pick = np.minimum if words.base == "min" else np.maximum

    def of(*numbers: Entries) -> Any:
        found = numbers[0]
        for one in numbers[1:]:
            found = pick(found, one)
        return found

    return _by_sign(of)(words)


# -- shifts and bits -------------------------------------------------------------------------------------


def shift(words: Words) -> Step:
    """Return the step of a << n or a >> n; all bits but the sign are gone where n is the width or more."""
    if words.base == "shl":
        return words.result(_up, words.kind, U32)
    if not words.signed:
        return words.result(_down, words.kind, U32)

    def of(bits: Entries, count: Entries) -> Any:
        inside = np.minimum(count, U32(words.width - 1)).astype(words.kind)
        return (with_sign(bits) >> with_sign(inside)).view(words.kind)

    return words.result(of, words.kind, U32)


def funnel(words: Words) -> Step:
    """Return the step of the high word of {b, a} << n, or the low one of {b, a} >> n."""
    wrapped, left = "wrap" in words.parts, "l" in words.parts

    def of(a: Entries, b: Entries, count: Entries) -> Any:
        n = (count & U32(31) if wrapped else np.minimum(count, U32(32))).astype(U64)
        whole = a.astype(U64) | b.astype(U64) << U64(32)
        return ((whole << n) >> U64(32) if left else whole >> n).astype(U32)

    return words.result(of)


def _ones(count: Entries, kind: Kind) -> Entries:
    """Return so many ones from the lowest bit on; all of them for the width and beyond."""
    width = 8 * np.dtype(kind).itemsize
    inside = np.minimum(count, width - 1).astype(kind)
    return np.where(count >= width, ~kind(0), (kind(1) << inside) - kind(1))


def _up(bits: Entries, count: Entries) -> Entries:
    """Return bits shifted to the left, by the width or more too."""
    width = 8 * bits.itemsize
    inside = np.minimum(count, width - 1).astype(bits.dtype)
    moved: Entries = np.where(count >= width, bits.dtype.type(0), bits << inside)
    return moved


def _down(bits: Entries, count: Entries) -> Entries:
    """Return bits shifted to the right, by the width or more too."""
    width = 8 * bits.itemsize
    inside = np.minimum(count, width - 1).astype(bits.dtype)
    moved: Entries = np.where(count >= width, bits.dtype.type(0), bits >> inside)
    return moved


def extract(words: Words) -> Step:
    """Return the step of a field of bits, filled up with its sign or with zeros."""
    width, kind = words.width, words.kind

    def of(bits: Entries, begin: Entries, count: Entries) -> Any:
        begin, count = begin & U32(255), count & U32(255)
        inside = np.where(begin < width, np.minimum(count, width - np.minimum(begin, U32(width))), U32(0))
        mask = _ones(inside, kind)
        field = _down(bits, begin) & mask
        if not words.signed:
            return field
        last = np.minimum(begin + np.maximum(count, U32(1)) - U32(1), U32(width - 1))
        minus = (_down(bits, last) & kind(1) != 0) & (count != 0)
        return np.where(minus, field | ~mask, field)

    return words.result(of, kind, U32, U32)


def insert(words: Words) -> Step:
    """Return the step of b with a field of bits that is a's."""
    kind = words.kind

    def of(a: Entries, b: Entries, begin: Entries, count: Entries) -> Any:
        begin, count = begin & U32(255), count & U32(255)
        mask = _up(_ones(count, kind), begin)
        return b & ~mask | _up(a, begin) & mask

    return words.result(of, kind, kind, U32, U32)


def sign_extend(words: Words) -> Step:
    """Return the step of the low n bits, filled up with their sign or with zeros."""

    def of(bits: Entries, count: Entries) -> Any:
        count = count & U32(31) if "wrap" in words.parts else np.minimum(count, U32(32))
        mask = _ones(count, U32)
        last = np.maximum(count, U32(1)) - U32(1)
        minus = (bits >> last & U32(1) != 0) & (count != 0) & words.signed
        return np.where(minus, bits | ~mask, bits & mask)

    return words.result(of)


def bit_mask(words: Words) -> Step:
    """Return the step of n ones from a position on."""

    def of(begin: Entries, count: Entries) -> Any:
        if "wrap" in words.parts:
            begin, count = begin & U32(31), count & U32(31)
        return _up(_ones(count, U32), begin)

    return words.result(of)


def leading(bits: Entries) -> Entries:
    """Return the position of the leading one; 2^32 - 1 for the number 0."""
    step = 1
    while step < 8 * bits.itemsize:
        bits = bits | bits >> bits.dtype.type(step)
        step *= 2
    position: Entries = count_ones(bits) - U32(1)
    return position


def find(words: Words) -> Step:
    """Return the step of the position of the leading bit that is no sign; or its distance from the top."""

    def of(bits: Entries) -> Any:
        if words.signed:
            bits = np.where(with_sign(bits) < 0, ~bits, bits)
        found = leading(bits)
        if "shiftamt" not in words.parts:
            return found
        return np.where(found == ~U32(0), found, U32(words.width - 1) - found)

    return words.result(of)


def leading_zeros(words: Words) -> Step:
    """Return the step of the number of zeros above the leading one."""
    return words.result(lambda bits: U32(words.width - 1) - leading(bits))


def permute(words: Words) -> Step | None:
    """Return the step of four bytes of {b, a}, chosen by the digits of c."""
    if words.parts != ("b32",):
        return unknown(words)
    return words.result(lambda a, b, c: permuted(a, c, b))


# -- logic, comparisons, selections ----------------------------------------------------------------------


def logic(words: Words) -> Step:
    """Return the step of and, or, xor, not: of bits, or of predicates, where a known one may decide."""
    functions = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.bitwise_not}
    if words.type != "pred":
        return words.result(functions[words.base])
    reads = [words.truth(place) for place in range(1, len(words.operands))]
    if words.base == "not":
        return words.step(lambda lanes: applied(np.logical_not, reads[0](lanes)))
    return words.step(lambda lanes: both(words.base.upper(), *(read(lanes) for read in reads)))


def table_of_three(words: Words) -> Step:
    """Return the step of a function of three bits by its table; a predicate says if the result is not 0."""
    join = next((part.upper() for part in words.parts if part in ("or", "and")), None)
    reads, table = [words.read(place) for place in (1, 2, 3)], words.operands[4]
    also = words.truth(5) if join else None
    number, written = int(table, 0), words.written()
    register = written[0] if len(written) == 2 or join is None else None

    def run(lanes: Lanes, where: Taking) -> None:
        value = applied(partial(looked_up, number), *(read(lanes) for read in reads))
        if also is not None and join is not None:
            holds = applied(lambda bits: bits != 0, value)
            lanes.write(written[-1], both(join, holds, also(lanes)), where)
        if register is not None:
            lanes.write(register, value, where)

    return Compute(run, written)


RELATIONS: dict[str, OfEntries] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}


def _compared(words: Words) -> Callable[[Lanes], Value]:
    """Return the reader of a comparison of the operands 1 and 2; of floats it is not known."""
    if words.type[0] not in "usb" or words.type[:2] == "bf":
        return lambda lanes: UNKNOWN_TRUTH
    relation = RELATIONS[words.parts[0]]
    left, right = words.read(1), words.read(2)
    if words.signed:
        return lambda lanes: applied(
            lambda a, b: relation(with_sign(a), with_sign(b)), left(lanes), right(lanes)
        )
    return lambda lanes: applied(relation, left(lanes), right(lanes))


def _joined(words: Words, mine: Value, other: Value | None) -> Value:
    join = next((part.upper() for part in words.parts[1:] if part in ("and", "or", "xor")), None)
    return mine if join is None or other is None else both(join, mine, other)


def compare(words: Words) -> Step:
    """Return the step of a comparison, and its contrary, each joined with a predicate."""
    result = _compared(words)
    also = words.truth(3) if len(words.operands) > 3 else None
    names = [name.strip() for name in words.operands[0].split("|")]

    def run(lanes: Lanes, where: Taking) -> None:
        value, other = result(lanes), None if also is None else also(lanes)
        values = [value, applied(np.logical_not, value)]
        for name, mine in zip(registers, values, strict=False):
            if name is not None:
                lanes.write(name, _joined(words, mine, other), where)

    registers = [None if name == "_" else words.scope.register(name) for name in names]
    return Compute(run, words.written())


def compare_to_number(words: Words) -> Step:
    """Return the step of a comparison as a number: all ones, or 1.0, where it holds."""
    result = _compared(words)
    also = words.truth(3) if len(words.operands) > 3 else None
    kind = KINDS[width_of(words.types[0])]
    yes = kind(0x3F800000) if words.types[0] == "f32" else ~kind(0)

    def read(lanes: Lanes) -> Value:
        value = _joined(words, result(lanes), None if also is None else also(lanes))
        return applied(lambda holds: np.where(holds, yes, kind(0)), value)

    return words.step(read)


def _chosen(which: Value, x: Value, y: Value) -> Value:
    """Return one of two numbers; known where the one that is taken is."""
    bits = np.where(which.bits, x.bits, y.bits)
    if x.unknown is None and y.unknown is None:
        return Value(bits, which.unknown)
    blind_x, blind_y = (FALSE.bits if v.unknown is None else v.unknown for v in (x, y))
    blind = np.where(which.bits, blind_x, blind_y)
    return Value(bits, blind if which.unknown is None else blind | which.unknown)


def select(words: Words) -> Step:
    """Return the step of one of two numbers, by a predicate."""
    x, y, which = words.read(1), words.read(2), words.truth(3)
    return words.step(lambda lanes: _chosen(which(lanes), x(lanes), y(lanes)))


def select_by_sign(words: Words) -> Step:
    """Return the step of one of two numbers, by the sign of a third."""
    if words.type != "s32":
        return unknown(words)
    kind = KINDS[width_of(words.types[0])]
    x, y, third = words.read(1, kind), words.read(2, kind), words.read(3)

    def read(lanes: Lanes) -> Value:
        which = applied(lambda bits: with_sign(bits) >= 0, third(lanes))
        return _chosen(which, x(lanes), y(lanes))

    return words.step(read)


# -- copies and conversions ------------------------------------------------------------------------------


def move(words: Words) -> Step | None:
    """Return the step of a copy; of numbers into parts, or of parts into a number."""
    target, source = words.operands
    if words.type == "pred":
        read = words.truth(1)
        return words.step(read)
    if target.startswith("{"):
        return _unpacked(words)
    if source.startswith("{"):
        return _packed(words)
    return unknown(words) if words.width == 128 else words.step(words.read(1))


def _parts(operand: str, width: int) -> tuple[list[str], Kind]:
    names = [name.strip() for name in operand.strip("{} \t\n").split(",")]
    return names, KINDS[width // len(names)]


def _unpacked(words: Words) -> Step | None:
    names, kind = _parts(words.operands[0], words.width)
    if words.width == 128:
        return unknown(words)
    source, each = words.read(1), 8 * np.dtype(kind).itemsize
    registers = [(place, words.scope.register(name)) for place, name in enumerate(names) if name != "_"]

    def run(lanes: Lanes, where: Taking) -> None:
        value = source(lanes)
        for place, register in registers:
            away = words.kind(each * place)
            lanes.write(register, applied(lambda bits, away=away: (bits >> away).astype(kind), value), where)

    return Compute(run, words.written())


def _packed(words: Words) -> Step | None:
    if words.width == 128:
        return unknown(words)
    names, kind = _parts(words.operands[1], words.width)
    reads = [number(name, kind, words) for name in names]
    each = 8 * np.dtype(kind).itemsize

    def of(*parts: Entries) -> Any:
        whole = parts[0].astype(words.kind)
        for place, part in enumerate(parts[1:], 1):
            whole = whole | part.astype(words.kind) << words.kind(each * place)
        return whole

    return words.step(lambda lanes: applied(of, *(read(lanes) for read in reads)))


def convert(words: Words) -> Step | None:
    """Return the step of an integer in another width; what comes of a float is not known."""
    if "pack" in words.parts:
        return None
    target, source = words.types[-2:]
    if target[0] not in "usb" or source[0] not in "usb" or target[:2] == "bf" or source[:2] == "bf":
        return unknown(words)
    width, to_signed = width_of(target), target[0] == "s"

    def of(bits: Entries) -> Any:
        whole = extended(bits, words.signed)
        if "sat" in words.parts:
            whole = _clipped(whole, words.signed, width, to_signed)
        if width == 64:
            return whole
        cut = whole.astype(KINDS[width])
        return cut if width == 32 else extended(cut, to_signed)

    return words.result(of)


def _clipped(whole: Entries, signed: bool, width: int, to_signed: bool) -> Entries:
    """Return 64 bits cut to the numbers that another width has."""
    greatest = U64((1 << width - to_signed) - 1)
    if not signed:
        return np.minimum(whole, greatest)
    lowest = np.int64(-1 << width - 1) if to_signed else np.int64(0)
    numbers = np.maximum(whole.view(np.int64), lowest)
    return np.where(numbers > 0, np.minimum(numbers.view(U64), greatest), numbers.view(U64))


ARITHMETIC: dict[str, Reading] = {
    "add": total,
    "addc": total,
    "sub": total,
    "subc": total,
    "mad": total,
    "madc": total,
    "mul": product,
    "mul24": product24,
    "mad24": product24,
    "sad": distance,
    "div": quotient,
    "rem": quotient,
    "min": least,
    "max": least,
    "abs": _by_sign(np.abs),
    "neg": _plain(np.negative),
}
"""Instructions that floats have too; of those, what is written is not known."""

BITS: dict[str, Reading] = {
    "shl": shift,
    "shr": shift,
    "shf": funnel,
    "bfe": extract,
    "bfi": insert,
    "bfind": find,
    "brev": _plain(reversed_bits),
    "popc": _plain(count_ones),
    "clz": leading_zeros,
    "szext": sign_extend,
    "bmsk": bit_mask,
    "prmt": permute,
    "and": logic,
    "or": logic,
    "xor": logic,
    "not": logic,
    "cnot": lambda words: words.result(lambda bits: (bits == 0).astype(words.kind)),
    "lop3": table_of_three,
    "setp": compare,
    "set": compare_to_number,
    "selp": select,
    "slct": select_by_sign,
    "mov": move,
    "cvt": convert,
}


def computed(words: Words) -> Step | None:
    """Return the step of an instruction that computes, or None."""
    if words.base in BITS:
        return BITS[words.base](words)
    if words.base not in ARITHMETIC:
        return None
    kind = words.type
    if kind[0] in "us" and "x" not in kind:
        return ARITHMETIC[words.base](words)
    return None if kind[0] in "us" else unknown(words)
