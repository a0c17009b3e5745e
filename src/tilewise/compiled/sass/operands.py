"""Operands of machine code as functions of the lanes.

R4  -R4  ~R4  |R4|  R4.reuse        32 bits of a register; RZ is 0
UR4  URZ                            a register that the lanes of a warp share
P0  !P0  UP0  PT                    predicates
0x10  -0x7  5.9e-08                 numbers
c[0x0][0x210]  c[0x0][R4+0x8]       constants: parameters, and the extents of the launch
[R4.64+UR6+0x10]                    addresses
"""

from __future__ import annotations

import re
import struct

import numpy as np

from tilewise.compiled.lanes import (
    FALSE,
    TRUE,
    UNKNOWN,
    LaneReader,
    Lanes,
    Taking,
    Value,
    applied,
    unknown_of,
)
from tilewise.hardware.limits import LANES

MASK = (1 << 32) - 1

_REGISTER = re.compile(r"(U?)R(\d+)")
_NUMBER = re.compile(r"[-+]?0x[0-9a-f]+|[-+]?\d+")
CONSTANT = re.compile(r"cx?\[(\w+)\]\[([^\]]*)\]")
_TERM = re.compile(r"([-+]?)([^-+]+)")
ZEROS = ("RZ", "URZ", "SRZ")


def split(text: str) -> list[str]:
    """Return the operands of a text, cut at the commas outside of brackets.

    >>> split("P0, [R4.64+0x8], R2.reuse")
    ['P0', '[R4.64+0x8]', 'R2']
    """
    parts: list[str] = []
    depth, begin = 0, 0
    for position, letter in enumerate(text):
        if letter in "[({":
            depth += 1
        elif letter in "])}":
            depth -= 1
        elif letter == "," and not depth:
            parts.append(text[begin:position])
            begin = position + 1
    parts.append(text[begin:])
    return [part.strip().replace(".reuse", "") for part in parts if part.strip()]


def is_truth(text: str) -> bool:
    """Return True for a predicate: `P0`, `!UPT`."""
    return re.fullmatch(r"!?U?P[T\d]", text) is not None


def nth(register: str, step: int) -> str:
    """Return the register that many after another.

    >>> nth("R7", 1), nth("UR4", 3), nth("RZ", 1)
    ('R8', 'UR7', 'RZ')
    """
    match = _REGISTER.fullmatch(register)
    return register if match is None else f"{match[1]}R{int(match[2]) + step}"


def named(register: str, count: int) -> tuple[str, ...]:
    """Return the names of registers from one on; an empty tuple for RZ.

    >>> named("R4", 2), named("RZ", 2)
    (('R4', 'R5'), ())
    """
    register = register.split(".")[0]
    return () if _REGISTER.fullmatch(register) is None else tuple(nth(register, n) for n in range(count))


# -- reading ---------------------------------------------------------------------------------------------


def number_of(text: str) -> int | None:
    """Return the 32 bits of a number, as an integer or as a float of 32 bits.

    >>> number_of("-0x1"), number_of("1.5"), number_of("R4")
    (4294967295, 1069547520, None)
    """
    if _NUMBER.fullmatch(text):
        return int(text, 0) & MASK
    plain = (
        text.replace("+INF", "inf").replace("-INF", "-inf").replace("+QNAN", "nan").replace("-QNAN", "-nan")
    )
    try:
        return int.from_bytes(struct.pack("<f", float(plain)), "little")
    except (ValueError, OverflowError):
        return None


def half_of(text: str) -> int:
    """Return the bits of a float of 16 bits.

    >>> half_of("5.9604644775390625e-08")
    1
    """
    return int.from_bytes(struct.pack("<e", float(text)), "little")


def word(text: str, carry: bool = False) -> LaneReader:
    """Return the reader of 32 bits.

    A negative register is 2^32 less its number in 64 bits, so that sums carry as the hardware has it.
    """
    sign = text[0] if text[0] in "-~|" else ""
    bare = text.lstrip("-~").strip("|")
    number = None if CONSTANT.match(bare) else number_of(text if sign == "-" else bare)
    if sign == "-" and bare in ZEROS and not carry:
        return word(bare)
    if number is not None and sign != "~":
        value = Value.of(number)
        return lambda lanes: value
    plain = _plain(bare)
    if not sign:
        return plain
    if sign == "~":
        return lambda lanes: applied(np.invert, plain(lanes))
    if sign == "|":
        return lambda lanes: applied(_absolute, plain(lanes))
    if carry:
        return lambda lanes: applied(_complement, plain(lanes))
    return lambda lanes: applied(np.negative, plain(lanes))


def _complement(bits: np.ndarray) -> np.ndarray:
    return np.uint64(1 << 32) - bits.astype(np.uint64)


def _absolute(bits: np.ndarray) -> np.ndarray:
    return np.abs(bits.view(np.int32)).view(np.uint32)


def _plain(text: str) -> LaneReader:
    text, *parts = text.split(".")
    if "H1_H1" in parts or "H1" in parts:
        return lambda lanes: applied(lambda bits: bits >> np.uint32(16), lanes.read(text))
    if "H0_H0" in parts or "H0" in parts:
        return lambda lanes: applied(lambda bits: bits & np.uint32(0xFFFF), lanes.read(text))
    if parts and parts[0][:1] == "B" and parts[0][1:].isdigit():
        shift = np.uint32(8 * int(parts[0][1:]))
        return lambda lanes: applied(lambda bits: bits >> shift & np.uint32(0xFF), lanes.read(text))
    if text in ZEROS:
        zero = Value.of(0)
        return lambda lanes: zero
    if _REGISTER.fullmatch(text):
        return lambda lanes: lanes.read(text)
    constant = CONSTANT.fullmatch(text)
    if constant:
        return constant_of(constant[1], constant[2], 0)
    return lambda lanes: UNKNOWN


def wide(text: str, carry: bool = False) -> LaneReader:
    """Return the reader of 64 bits: a register and the next, or two words of constants."""
    sign = text[0] if text[0] in "-~" else ""
    bare = text.lstrip("-~")
    number = number_of(text) if _NUMBER.fullmatch(text) else None
    if number is not None:
        signed = int(text, 0) & (1 << 64) - 1
        value = Value.of(signed, np.uint64)
        return lambda lanes: value
    constant = CONSTANT.fullmatch(bare)
    if constant:
        low, high = (constant_of(constant[1], constant[2], step) for step in (0, 1))
    else:
        bare = bare.split(".")[0]
        low, high = _plain(bare), _plain(nth(bare, 1))

    def read(lanes: Lanes) -> Value:
        value = applied(joined, low(lanes), high(lanes))
        if not sign:
            return value
        return applied(np.invert if sign == "~" else np.negative, value)

    return read


def joined(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the 64 bits of two words."""
    return low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)


def truth(text: str) -> LaneReader:
    """Return the reader of a predicate."""
    negated = text.startswith("!")
    name = text.lstrip("!")
    if name in ("PT", "UPT"):
        value = FALSE if negated else TRUE
        return lambda lanes: value
    if not negated:
        return lambda lanes: lanes.truth(name)
    return lambda lanes: applied(np.logical_not, lanes.truth(name))


def constant_of(bank: str, place: str, step: int) -> LaneReader:
    """Return the reader of a word of constants; `step` counts words."""
    if place in ZEROS or _NUMBER.fullmatch(place):
        offset = 4 * step + (int(place, 0) if place not in ZEROS else 0)
        return lambda lanes: constants(lanes, bank, offset)
    address = offset_of(place)

    def read(lanes: Lanes) -> Value:
        places = applied(lambda bits: bits + np.uint64(4 * step), address(lanes))
        return lanes.constant(_bank(bank), places, np.uint32)

    return read


def _bank(text: str) -> int:
    """Return the number of a bank; -1 for one that a register names."""
    return int(text, 0) if text[0].isdigit() else -1


def constants(lanes: Lanes, bank: str, offset: int) -> Value:
    """Return a word of constants at an offset of a bank."""
    return lanes.constants.get((_bank(bank), offset), UNKNOWN)


def offset_of(text: str) -> LaneReader:
    """Return the reader of a sum of registers and numbers, as it stands in brackets, of 64 bits.

    [R4.64+UR6+0x10]   [R4.X4+-0x20]   [UR4]
    """
    terms: list[LaneReader] = []
    for sign, term in _TERM.findall(text.replace("+-", "-")):
        terms.append(_term(sign == "-", term.strip()))

    def read(lanes: Lanes) -> Value:
        values = [term(lanes) for term in terms]
        total = values[0].bits.astype(np.uint64)
        for value in values[1:]:
            total = total + value.bits.astype(np.uint64)
        return Value(total, unknown_of(values))

    return read


def _term(negative: bool, text: str) -> LaneReader:
    if _NUMBER.fullmatch(text):
        value = Value.of(-int(text, 0) if negative else int(text, 0), np.uint64)
        return lambda lanes: value
    name, *parts = text.split(".")
    if "64" in parts:
        read = wide(name)
    elif "S32" in parts:
        plain = word(name)
        read = lambda lanes: applied(signed, plain(lanes))  # noqa: E731
    else:
        read = word(name)
    scale = next((int(part[1:]) for part in parts if re.fullmatch(r"X\d+", part)), 1)
    if scale == 1:
        return read
    return lambda lanes: applied(lambda bits: bits.astype(np.uint64) * np.uint64(scale), read(lanes))


def signed(bits: np.ndarray) -> np.ndarray:
    """Return 32 bits as 64, filled up with their sign."""
    return bits.astype(np.uint32).view(np.int32).astype(np.int64).view(np.uint64)


def address_of(text: str, shared: bool, extended: bool = False) -> LaneReader:
    """Return the reader of an address: `[R4+0x10]`, `desc[UR6][R4.64]`; an extended one has 64 bits."""
    inside = re.findall(r"\[([^\[\]]*)\]", text)[-1]
    if extended and ".64" not in inside:
        inside = re.sub(r"\bR\d+", r"\g<0>.64", inside, count=1)
    total = offset_of(inside)
    if not shared:
        return total
    return lambda lanes: applied(lambda bits: bits & np.uint64(MASK), total(lanes))


# -- writing ---------------------------------------------------------------------------------------------


def put(lanes: Lanes, register: str, value: Value, where: Taking) -> None:
    """Write a register or a predicate; RZ and PT take nothing."""
    if register in ("RZ", "URZ", "PT", "UPT"):
        return
    if register[0] == "U" and not where.whole:
        warps = where.mask.reshape(-1, LANES).any(axis=1)
        where = Taking(np.repeat(warps, LANES), False)
    lanes.write(register, value, where)


def put_wide(lanes: Lanes, register: str, value: Value, where: Taking) -> None:
    """Write 64 bits to a register and the next."""
    if register in ZEROS:
        return
    put(lanes, register, applied(low_word, value), where)
    put(lanes, nth(register, 1), applied(high_word, value), where)


def low_word(bits: np.ndarray) -> np.ndarray:
    """Return the low 32 of 64 bits."""
    return (bits & np.uint64(MASK)).astype(np.uint32)


def high_word(bits: np.ndarray) -> np.ndarray:
    """Return the high 32 of 64 bits."""
    return (bits >> np.uint64(32)).astype(np.uint32)
