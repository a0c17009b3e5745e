"""Floats of machine code that integer divisions are made of.

Products, comparisons and conversions of 32-bit floats are exact. A reciprocal is within one unit of its last
place: its register has the least and the greatest number that it may be, and counts as unknown. Products of
positive floats keep that order. Where both ends give one integer, every float between them does, and it is
known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewise.compiled.lanes import ALL, LaneReader, Lanes, Near, Taking, Value, applied, near_of
from tilewise.compiled.program import Compute
from tilewise.compiled.sass.integers import COMPARED, Words, between, both, selected, step_of
from tilewise.compiled.sass.operands import named, number_of, put, put_wide, truth, wide, word

F32, F64, U32 = np.float32, np.float64, np.uint32
ROUNDED = ("RN", "RZ", "RM", "RP")
SIGN, SIZE = U32(1 << 31), U32((1 << 31) - 1)
LEAST = U32(1 << 23)
"""The bits of the least float that has all its digits."""
INFINITE = U32(0x7F800000)


def real(text: str) -> LaneReader:
    """Return the reader of a float by its bits: R4, -R4, |R4|, 0.25, 1."""
    bare = text.lstrip("-").strip("|")
    bits = None if bare[0] in "RUc" else number_of(f"{bare}.0" if bare.isdigit() else bare)
    value = None if bits is None else Value.of(bits)
    plain = word(bare) if value is None else lambda lanes: value
    negative, absolute = text.startswith("-"), "|" in text
    if not negative and not absolute:
        return plain

    def signed(numbers: np.ndarray) -> np.ndarray:
        kept = numbers & SIZE if absolute else numbers
        return kept ^ SIGN if negative else kept

    return lambda lanes: applied(signed, plain(lanes))


def flushed(bits: np.ndarray) -> np.ndarray:
    """Return floats with 0 in the place of those that are too small for all digits."""
    return np.where(bits & SIZE < LEAST, bits & SIGN, bits)


def rounded(exact: np.ndarray, parts: tuple[str, ...]) -> Any:
    """Return the bits of the nearest floats, or of those in a direction."""
    near = exact.astype(F32)
    wide = near.astype(exact.dtype)
    for mode, beyond, end in (
        ("RZ", abs(wide) > abs(exact), F32(0)),
        ("RM", wide > exact, F32(-np.inf)),
        ("RP", wide < exact, F32(np.inf)),
    ):
        if mode in parts:
            return np.where(beyond, np.nextafter(near, end), near).view(U32)
    return near.view(U32)


def product(words: Words) -> Compute | None:
    """Return the step of a * b; of positive floats also where one of them lies between two ends."""
    if not {*words.parts} <= {"FTZ", *ROUNDED}:
        return None
    register, first, second = words.operands[:3]
    reads = [real(first), real(second)]

    def of(a: np.ndarray, b: np.ndarray) -> Any:
        if "FTZ" in words.parts:
            a, b = flushed(a), flushed(b)
        with np.errstate(all="ignore"):
            exact = a.view(F32).astype(F64) * b.view(F32).astype(F64)
            found = rounded(exact, words.parts)
        return flushed(found) if "FTZ" in words.parts else found

    def read(lanes: Lanes) -> Value:
        values = [one(lanes) for one in reads]
        value = sure_number(between(of, *values))
        if value.near is None:
            return value
        positive = [near_of(one).high < INFINITE for one in values]  # the ends of others turn around
        lanes_of = np.logical_and.reduce(np.broadcast_arrays(value.near.lanes, *positive))
        return value._replace(near=value.near._replace(lanes=lanes_of))

    return step_of(register, read)


def sure_number(value: Value) -> Value:
    """Return floats, unknown where they are no numbers: their bits depend on the hardware."""
    wrong = value.bits & SIZE > INFINITE
    if not wrong.any():
        return value
    return Value(value.bits, wrong if value.unknown is None else wrong | value.unknown, value.near)


def reciprocal(words: Words) -> Compute:
    """Return the step of 1 / a, within one unit of the last place."""
    read = real(words.operands[1])

    def run(lanes: Lanes, where: Taking) -> None:
        value = read(lanes)
        with np.errstate(all="ignore"):
            bits = (F32(1) / value.bits.view(F32)).view(U32)
        low = bits - np.where(bits & (LEAST - U32(1)) == 0, U32(2), U32(1))  # floats are denser below 2^n
        known = near_of(value).lanes & (low > LEAST) & (bits < INFINITE)
        if value.unknown is not None:
            known = known & ~value.unknown
        near = Near(bits + U32(1), known, near_of(value).divides)
        put(lanes, words.operands[0], Value(low, ALL, near), where)

    return Compute(run, named(words.operands[0], 1))


def comparison(words: Words) -> Compute | None:
    """Return the step of a comparison of floats, joined with a predicate; those with U hold of what is no
    number.
    """
    first, second, a, b, *truths = words.operands
    relation = words.parts[0]
    if relation.removesuffix("U") not in COMPARED:
        return None
    left, right, also = real(a), real(b), truth(truths[0]) if truths else truth("PT")
    join = next((part for part in words.parts if part in ("AND", "OR", "XOR")), "AND")

    def compared(x: np.ndarray, y: np.ndarray) -> Any:
        if "FTZ" in words.parts:
            x, y = flushed(x), flushed(y)
        x, y = x.view(F32), y.view(F32)
        ordered = (x == x) & (y == y)
        holds = COMPARED[relation.removesuffix("U")](x, y)
        return holds | ~ordered if relation.endswith("U") else holds & ordered

    def run(lanes: Lanes, where: Taking) -> None:
        result, other = applied(compared, left(lanes), right(lanes)), also(lanes)
        for name, mine in ((first, result), (second, applied(np.logical_not, result))):
            put(lanes, name, both(join, mine, other), where)

    return Compute(run, (first, second))


def selection(words: Words) -> Compute:
    """Return the step of one of two floats, by a predicate."""
    register, a, b, which = words.operands[:4]
    return step_of(register, selected(truth(which), real(a), real(b)))


# -- conversions -----------------------------------------------------------------------------------------


def from_integer(words: Words) -> Compute | None:
    """Return the step of an integer as a float."""
    kinds = [part for part in words.parts if part[0] in "US" and part[1:].isdigit()]
    kind = kinds[-1] if kinds else "S32"
    others = {*words.parts} - {"F32", kind, *ROUNDED}
    width = int(kind[1:])
    if others or width not in (8, 16, 32, 64):
        return None
    source = words.operands[-1]
    read = wide(source) if width == 64 else word(source)

    def of(bits: np.ndarray) -> Any:
        unsigned = np.dtype(f"u{width // 8}").type
        numbers = bits.astype(unsigned)
        if kind[0] == "S":
            numbers = numbers.view(f"i{width // 8}")
        return rounded(numbers.astype(np.longdouble if width == 64 else F64), words.parts)

    def divisor(lanes: Lanes) -> Value:
        value = applied(of, read(lanes))
        return value._replace(near=near_of(value)._replace(divides=ALL))

    return step_of(
        words.operands[0], divisor if "RP" in words.parts else lambda lanes: applied(of, read(lanes))
    )


INTEGERS = {"TRUNC": np.trunc, "FLOOR": np.floor, "CEIL": np.ceil}


def to_integer(words: Words) -> Compute | None:
    """Return the step of a float as an integer, cut to its numbers; known where both ends agree."""
    register, source = words.operands[0], words.operands[-1]
    kind = next((part for part in words.parts if part in ("U32", "S32", "U64", "S64")), "S32")
    function = next((INTEGERS[part] for part in words.parts if part in INTEGERS), np.rint)
    if {*words.parts} - {kind, "FTZ", "NTZ", "F32", *INTEGERS}:
        return None
    read, width = real(source), int(kind[1:])
    low, high = (0, (1 << width) - 1) if kind[0] == "U" else (-1 << width - 1, (1 << width - 1) - 1)

    def of(bits: np.ndarray) -> Any:
        if "FTZ" in words.parts:
            bits = flushed(bits)
        with np.errstate(invalid="ignore"):
            number = function(bits.view(F32).astype(F64))
        inside = np.where((number > low) & (number < high), number, 0.0)
        whole = inside.astype(np.int64).view(np.uint64) if kind[0] == "S" else inside.astype(np.uint64)
        ends = np.where(
            number >= high, np.uint64(high), np.where(number <= low, np.uint64(low % (1 << 64)), whole)
        )
        return ends if width == 64 else ends.astype(U32)

    def run(lanes: Lanes, where: Taking) -> None:
        value = read(lanes)
        result = applied(of, value)
        no_number = value.bits & SIZE > INFINITE
        if no_number.any():
            result = Value(result.bits, no_number if result.unknown is None else no_number | result.unknown)
        if value.near is not None and result.unknown is not None:
            high, lanes_of, divides = value.near
            middle = np.where(divides, of(high - U32(1)), result.bits)
            agreed = lanes_of & (divides | (of(high) == result.bits))
            result = Value(middle, result.unknown & ~agreed)
        (put_wide if width == 64 else put)(lanes, register, result, where)

    return Compute(run, named(register, width // 32))


EXACT: dict[str, Callable[[Words], Compute | None]] = {
    "FMUL": product,
    "FSETP": comparison,
    "FSEL": selection,
    "I2F": from_integer,
    "I2FP": from_integer,
    "F2I": to_integer,
    "MUFU": lambda words: reciprocal(words) if words.parts == ("RCP",) else None,
}
"""The instructions of floats that are computed, by their base; None where one is not read here."""
