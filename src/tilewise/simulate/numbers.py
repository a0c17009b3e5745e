"""Numbers from bits, and bits from numbers: every type, whole arrays at once.

A code is the bits of one element as a whole number. Of a float with m bits of mantissa, least exponent e and
code s|x|f, the number is (-1)^s 2^(e - m) times

    f                          where x = 0        (subnormal)
    (2^m + f) 2^(x - 1)        where x > 0

Numbers are doubles for floats, and 64-bit integers for integers: both hold all of them exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.hardware.sources import Source, ptx

Array = np.ndarray[Any, Any]

IEEE = Source(
    "IEEE 754-2019", "Table 3.5, binary interchange formats", "https://standards.ieee.org/ieee/754/6210/"
)
PTX_ALTERNATE = ptx("Alternate Floating-Point Data Formats", "alternate-floating-point-data-formats")
OCP_MX = Source(
    "OCP Microscaling Formats (MX) Specification",
    "Section 5.3, Element Data Types; Section 5.4, E8M0",
    "https://www.opencompute.org/documents/ocp-microscaling-formats-mx-v1-0-spec-final-pdf",
)

SPECIAL = ("ieee", "one nan", "none")
"""Meanings of a float's highest codes: infinity and NaNs, one NaN a sign, or numbers like the others."""


@dataclass(frozen=True, slots=True)
class Float:
    """The fields of a float's bits.

    >>> FLOATS["e4m3"].largest, FLOATS["e5m2"].largest, FLOATS["e2m1"].largest
    (448.0, 57344.0, 6.0)
    >>> FLOATS["f16"].smallest == 2.0**-24
    True
    """

    name: str
    exponent: int
    """Bits of the exponent."""
    mantissa: int
    """Bits behind the point."""
    bias: int
    special: str
    source: Source
    signed: bool = True
    unread: int = 0
    """Low bits of the code that belong to no number: tf32 lies in 32 bits and is read as 19."""

    def __post_init__(self) -> None:
        taken = self.signed + self.exponent + self.mantissa + self.unread
        spare = DType.of(self.name).bits - taken  # an unsigned type of 8 bits leaves its sign's bit
        if self.special not in SPECIAL or spare not in (0, 1 - self.signed):
            raise ValueError(f"{self.name} does not hold together")

    @property
    def least(self) -> int:
        """Return the exponent of the smallest normal number, and of the subnormal ones."""
        return 1 - self.bias

    @property
    def top(self) -> int:
        """Return the code of the largest number, without the unread bits."""
        every = (1 << self.exponent + self.mantissa) - 1
        return every - {"ieee": 1 << self.mantissa, "one nan": 1, "none": 0}[self.special]

    @property
    def largest(self) -> float:
        """Return the largest number."""
        return float(_magnitude(np.array(self.top), self))

    @property
    def smallest(self) -> float:
        """Return the smallest number above zero; all others are multiples of it."""
        return float(_magnitude(np.array(1), self))

    @property
    def step(self) -> float:
        """Return the step from 1 to the next number: twice the largest relative error of a nearest rounding.

        >>> FLOATS["bf16"].step == 2.0**-7
        True
        """
        return 2.0**-self.mantissa


FLOATS = {
    this.name: this
    for this in (
        Float("f64", 11, 52, 1023, "ieee", IEEE),
        Float("f32", 8, 23, 127, "ieee", IEEE),
        Float("tf32", 8, 10, 127, "ieee", PTX_ALTERNATE, unread=13),
        Float("f16", 5, 10, 15, "ieee", IEEE),
        Float("bf16", 8, 7, 127, "ieee", PTX_ALTERNATE),
        Float("e5m2", 5, 2, 15, "ieee", PTX_ALTERNATE),
        Float("e4m3", 4, 3, 7, "one nan", PTX_ALTERNATE),
        Float("ue4m3", 4, 3, 7, "one nan", PTX_ALTERNATE, signed=False),
        Float("e3m2", 3, 2, 3, "none", OCP_MX),
        Float("e2m3", 2, 3, 1, "none", OCP_MX),
        Float("e2m1", 2, 1, 1, "none", OCP_MX),
    )
}
"""{name: float}; ue8m0 has only powers of two, and a separate rule."""

SCALE_BIAS, SCALE_NAN = 127, 0xFF
"""ue8m0: code x is 2^(x - 127), and the last code is NaN."""

SIGNED = ("s4", "s8", "s16", "s32", "s64")
UNSIGNED = ("b1", "u4", "u8", "u16", "u32")


def is_float(dtype: DType | str) -> bool:
    """Return True if numbers of the type are floats.

    >>> is_float("bf16"), is_float("s8")
    (True, False)
    """
    return DType.of(dtype).name in (*FLOATS, "ue8m0")


# -- numbers from bits -----------------------------------------------------------------------------


def decode(codes: Any, dtype: DType | str) -> Array:
    """Return the numbers of codes: doubles for floats, 64-bit integers for integers.

    Bits above those of the type are ignored.

    >>> decode([0x3C00, 0x0001, 0xFC00], "f16").tolist()
    [1.0, 5.960464477539063e-08, -inf]
    >>> decode([0x38, 0x7E, 0x7F, 0xFE], "e4m3").tolist()
    [1.0, 448.0, nan, -448.0]
    >>> decode([0x7F, 0x80, 0xFF], "s8").tolist()
    [127, -128, -1]
    """
    element = DType.of(dtype)
    given = np.asarray(codes).astype(np.uint64)
    if element.bits < 64:
        given = given & np.uint64((1 << element.bits) - 1)
    if element.name == "f64":
        return given.view(np.float64)
    if element.name in FLOATS:
        return _decoded(given, FLOATS[element.name])
    if element.name == "ue8m0":
        return np.where(given == SCALE_NAN, np.nan, np.exp2(given.astype(np.float64) - SCALE_BIAS))
    _check_known(element)
    wide = given.view(np.int64)
    if element.name in SIGNED and element.bits < 64:
        return np.where(wide >> element.bits - 1 == 1, wide - (1 << element.bits), wide)
    return wide


def _decoded(codes: Array, own: Float) -> Array:
    seen = (codes >> np.uint64(own.unread)).astype(np.int64)
    magnitude = seen & (1 << own.exponent + own.mantissa) - 1
    value = _magnitude(np.minimum(magnitude, own.top), own)
    value = np.where(magnitude > own.top, np.nan, value)
    if own.special == "ieee":
        value = np.where(magnitude == own.top + 1, np.inf, value)
    negative = seen >> own.exponent + own.mantissa & int(own.signed)
    return np.where(negative == 1, -value, value)


def _magnitude(codes: Array, own: Float) -> Array:
    exponent, fraction = codes >> own.mantissa, codes & (1 << own.mantissa) - 1
    whole = np.where(exponent > 0, fraction + (1 << own.mantissa), fraction)
    steps: Array = np.ldexp(whole.astype(np.float64), np.maximum(exponent, 1) - 1 + own.least - own.mantissa)
    return steps


# -- bits from numbers -----------------------------------------------------------------------------

ROUNDINGS = ("nearest", "zero")
"""To the nearest, in a tie to the even code; or towards zero."""


def encode(numbers: Any, dtype: DType | str, *, rounding: str = "nearest", saturate: bool = False) -> Array:
    """Return the codes of numbers, rounded once.

    A number too large for a float becomes infinity, or NaN if the type has no infinity, or the largest
    number if it has neither, as with `saturate`. NaN is the code with all bits but the sign's set,
    for f64 the usual one. Integers outside the type are refused, or saturate; ue8m0 has only the powers
    of two.

        requires       numbers that a double holds; whole ones for integers
        postcondition  decode(encode(x)) == x for every x that the type has

    >>> [hex(code) for code in encode([1.0, 65519.9, 65520.0], "f16").tolist()]
    ['0x3c00', '0x7bff', '0x7c00']
    >>> hex(int(encode(65520.0, "f16", rounding="zero")))
    '0x7bff'
    >>> hex(int(encode(1000.0, "e4m3"))), hex(int(encode(1000.0, "e4m3", saturate=True)))
    ('0x7f', '0x7e')
    >>> encode([-1, 127], "s8").tolist()
    [255, 127]
    """
    element = DType.of(dtype)
    if rounding not in ROUNDINGS:
        raise LayoutError("TW601", f"{rounding!r} is no rounding", hint=f"known: {' '.join(ROUNDINGS)}")
    if element.name in FLOATS:
        return _encoded(np.asarray(numbers, np.float64), FLOATS[element.name], rounding, saturate)
    if element.name == "ue8m0":
        return _encoded_scale(np.asarray(numbers, np.float64))
    _check_known(element)
    return _encoded_whole(np.asarray(numbers), element, saturate)


def _encoded(numbers: Array, own: Float, rounding: str, saturate: bool) -> Array:
    if own.name == "f64":
        return np.ascontiguousarray(numbers).view(np.uint64).reshape(numbers.shape)
    nan, size = np.isnan(numbers), np.abs(numbers)
    finite = np.where(np.isfinite(size), size, 0.0)
    exponent = np.where(finite == 0, own.least, np.frexp(finite)[1].astype(np.int64) - 1)
    exponent = np.maximum(exponent, own.least)
    steps = np.ldexp(finite, own.mantissa - exponent)
    whole = (np.rint(steps) if rounding == "nearest" else np.trunc(steps)).astype(np.int64)
    magnitude = whole + (exponent - own.least << own.mantissa)
    every = (1 << own.exponent + own.mantissa) - 1
    infinite = own.top if saturate or own.special == "none" else own.top + 1
    past = infinite if rounding == "nearest" else own.top
    magnitude = np.where(magnitude > own.top, past, magnitude)
    magnitude = np.where(np.isinf(numbers), infinite, magnitude)
    magnitude = np.where(nan, every, magnitude)
    negative = np.signbit(numbers) & ~nan
    if not own.signed:
        magnitude, negative = np.where(negative, 0, magnitude), np.zeros_like(negative)
    code = magnitude + (negative.astype(np.int64) << own.exponent + own.mantissa)
    found: Array = code.astype(np.uint64) << np.uint64(own.unread)
    return found


def _encoded_scale(numbers: Array) -> Array:
    nan = np.isnan(numbers)
    fraction, exponent = np.frexp(np.where(nan, 1.0, numbers))
    code = exponent - 1 + SCALE_BIAS
    outside = ~nan & ((fraction != 0.5) | (code < 0) | (code >= SCALE_NAN))
    if outside.any():
        raise LayoutError(
            "TW106",
            f"ue8m0 does not hold {numbers[outside].flat[0]}",
            hint="it holds the powers of two from 2^-127 to 2^127",
        )
    return np.where(nan, SCALE_NAN, code).astype(np.uint64)


def _encoded_whole(numbers: Array, element: DType, saturate: bool) -> Array:
    low, high = whole_range(element)
    with np.errstate(invalid="ignore"):  # NaN, and numbers too large for 64 bits, are refused below
        given = numbers.astype(np.int64)
    if not np.array_equal(given, numbers):
        odd = numbers[given != numbers].flat[0]
        raise LayoutError(
            "TW101", f"{element} does not hold {odd}", hint="it holds whole numbers alone, below 2^63"
        )
    if saturate:
        given = np.clip(given, low, high)
    outside = (given < low) | (given > high)
    if outside.any():
        raise LayoutError(
            "TW106",
            f"{element} does not hold {int(given[outside].flat[0])}",
            hint=f"it holds {low} to {high}; saturate=True takes the nearest",
        )
    return given.view(np.uint64) & np.uint64((1 << element.bits) - 1)


def fitted(numbers: Any, extents: tuple[int, ...]) -> Array:
    """Return the numbers of a tile, given in its extents, or one after another; refuse other extents.

    >>> fitted(range(6), (2, 3)).shape
    (6,)
    >>> fitted(np.zeros((3, 2)), (2, 3))
    Traceback (most recent call last):
    tilewise.LayoutError: TW203: numbers of the shape (3, 2) for a tile of (2, 3)
      hint: give them in its extents, or one after another
    """
    given = np.asarray(numbers)
    if given.size != prod(extents) or (given.ndim == len(extents) and given.shape != extents):
        raise LayoutError(
            "TW203",
            f"numbers of the shape {given.shape} for a tile of {extents}",
            hint="give them in its extents, or one after another",
        )
    return given


def whole_range(dtype: DType | str) -> tuple[int, int]:
    """Return the least and the largest integer of a type.

    >>> whole_range("s4"), whole_range("b1")
    ((-8, 7), (0, 1))
    """
    element = DType.of(dtype)
    _check_known(element)
    half = 1 << element.bits - 1
    return (-half, half - 1) if element.name in SIGNED else (0, 2 * half - 1)


def _check_known(element: DType) -> None:
    if element.name not in (*SIGNED, *UNSIGNED):
        known = " ".join([*FLOATS, "ue8m0", *SIGNED, *UNSIGNED])
        raise LayoutError("TW105", f"{element} says no number of its bits", hint=f"known: {known}")


# -- codes in bytes --------------------------------------------------------------------------------


def cut(data: Array, bits: int) -> Array:
    """Return the codes in the bytes of the last dimension, one after another from the lowest bit on.

        requires  a whole number of codes of 1 to 64 bits in those bytes

    >>> cut(np.array([0x21, 0x43], np.uint8), 4).tolist()
    [1, 2, 3, 4]
    >>> cut(np.array([[0x34, 0x12]], np.uint8), 16).tolist()
    [[4660]]
    """
    given = np.ascontiguousarray(data, np.uint8)
    if bits in (8, 16, 32, 64):
        return given.view(f"<u{bits // 8}").astype(np.uint64)
    each = np.unpackbits(given, axis=-1, bitorder="little")
    parted = each.reshape(*given.shape[:-1], -1, bits)
    padded = np.zeros((*parted.shape[:-1], 64), np.uint8)
    padded[..., :bits] = parted
    return np.packbits(padded, axis=-1, bitorder="little").view("<u8")[..., 0]


def joined(codes: Array, bits: int) -> Array:
    """Return the bytes of the codes in the last dimension, one after another: the inverse of `cut`.

        requires       a whole number of bytes
        postcondition  cut(joined(codes, bits), bits) == codes

    >>> joined(np.array([1, 2, 3, 4]), 4).tolist()
    [33, 67]
    """
    given = np.ascontiguousarray(codes).astype("<u8")
    if bits in (8, 16, 32, 64):
        return np.ascontiguousarray(given.astype(f"<u{bits // 8}")).view(np.uint8)
    each = np.unpackbits(given[..., None].view(np.uint8), axis=-1, bitorder="little")[..., :bits]
    return np.packbits(each.reshape(*given.shape[:-1], -1), axis=-1, bitorder="little")
