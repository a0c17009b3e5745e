"""A tensor core's arithmetic: D = A B^T + C, exactly, or by a device's known rounding.

Integers are exact: the low 32 bits of the sum, or, with satfinite, the nearest integer of the type. Bits
are compared and counted. f64 is a chain of fused multiply-adds, each rounded to the nearest, as PTX has it;
the chain starts with the first of K, as MMA_SIM found.

No document says how the other floats are added. The model adds exactly and rounds once, to the nearest.
Devices do not: they line all terms up to the largest, cut each off, add, and cut off the sum. An `Adder` has
the bits of these cuts. They come from experiments (MMA_SIM), and agree with an H200 for sm_90, bit for bit.
`summed` follows an adder. `slack` bounds the distance of its result, and so of a device's, from the exact
one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter
from typing import Any, ClassVar

import numpy as np

from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.hardware.architectures import Architecture
from tilewise.hardware.sources import Source
from tilewise.simulate.numbers import FLOATS, Float, decode, encode, is_float, whole_range

Array = np.ndarray[Any, Any]

MMA_SIM = Source(
    "P. Xie et al., MMA-Sim: Bit-Accurate Reference Model of Tensor Cores and Matrix Cores (2025)",
    "the NVIDIA models; compared with GPUs bit for bit by its authors",
    "https://arxiv.org/abs/2511.10909",
)

DOUBLE = 53
"""Bits of a double: sums of whole multiples of one step below 2^53 of it have no error."""

F8_LOST = 2.0**-53
"""Largest loss of a product of two subnormal f16 numbers if 25 bits are kept: 2^(-14 - 14 - 25)."""

NO_EXPONENT = -126
"""The exponent of a zero on a device."""


@dataclass(frozen=True, slots=True)
class Adder:
    """A tensor core's addition of floats.

    All products and C are lined up to the largest exponent among them. A product's exponent is the sum of its
    factors' exponents; `fraction` bits behind the point are kept of each term. Their sum loses all bits
    behind the last bit of D: towards zero in f32, to the nearest in f16.

    >>> Adder.of("mma", "bf16", "bf16", 16)
    Adder(least=(-126, -126), fraction=25, parts=1, kept=23)
    >>> Adder.of("wgmma", "e4m3", "e5m2", 32)
    Adder(least=(-6, -14), fraction=13, parts=1, kept=13)
    >>> Adder.of("mma", "f16", "f16", 16, arch="sm_80")
    Adder(least=(-14, -14), fraction=24, parts=2, kept=23)
    """

    least: tuple[int, int]
    """The exponent of the subnormal numbers of A and of B, by which they are lined up."""
    fraction: int
    parts: int = 1
    """Number of parts of K, one after the other: D of a part is C of the next."""
    kept: int = 23
    """Bits behind the point of a sum in f32."""
    source: ClassVar[Source] = MMA_SIM

    @classmethod
    def of(
        cls, engine: str, a: DType | str, b: DType | str, k: int, arch: Architecture | str = "sm_90"
    ) -> Adder:
        """Return the adder of an engine, `mma` or `wgmma`, for the types of A and B and an instruction's K.

        requires  floats; for mma an architecture of the source: 7.0, 7.5, 8.0 to 8.9, 9.0 without
                  8-bit floats, which run there as products of f16 in an order that no document gives
        """
        bits, target = DType.of(a).bits, Architecture.of(arch).number
        least = tuple(FLOATS[DType.of(name).name].least for name in (a, b))
        assert len(least) == 2
        if engine == "wgmma":
            return cls(least, 13, kept=13) if bits == 8 else cls(least, 25)
        fraction = next((kept for first, last, kept in FRACTIONS if first <= target <= last), None)
        if fraction is None or (target == 90 and bits == 8):
            raise Refused(
                "TW602",
                f"how {arch} adds floats of mma.sync is not known for {DType.of(a)}",
                witness={"arch": str(arch), "dtype": DType.of(a).name},
                hint="leave the adder out: sums are exact then, and rounded once",
            )
        parts = 2 if 80 <= target < 90 and k * bits == SPLIT_BITS else 1
        narrow = target == 89 and bits == 8
        return cls(least, 13, parts, 13) if narrow else cls(least, fraction, parts)


FRACTIONS = ((70, 72, 23), (75, 75, 24), (80, 89, 24), (90, 90, 25))
"""(first and last architecture, bits that mma.sync keeps behind the point); from MMA_SIM."""

SPLIT_BITS = 256
"""Bits of a row of A that 8.0 to 8.9 multiply in two halves; from MMA_SIM."""


# -- D = A B^T + C ---------------------------------------------------------------------------------


def product(
    a: Array,
    b: Array,
    c: Array,
    dtype: DType | str,
    *,
    op: str = "",
    saturate: bool = False,
    adder: Adder | None = None,
) -> Array:
    """Return D [M, N] of a type, from numbers A [M, K], B [N, K] and C [M, N]; more dimensions go before.

        requires       numbers from `decode`; `op` if they are bits
        postcondition  numbers that the type has

    >>> a, b = np.array([[1, 2]]), np.array([[3, 4]])
    >>> product(a, b, np.array([[2**31 - 1]]), "s32").item()
    -2147483638
    >>> product(a, b, np.array([[2**31 - 1]]), "s32", saturate=True).item()
    2147483647
    >>> product(np.array([[1.0, 2.0**-25]]), np.ones((1, 2)), np.zeros((1, 1)), "f32").item()
    1.0
    """
    if not is_float(dtype):
        return _whole(a, b, c, dtype, op, saturate)
    own = FLOATS[DType.of(dtype).name]
    if own.name == "f64":
        return _chained(a, b, c)
    with np.errstate(invalid="ignore"):
        plain = a @ np.swapaxes(b, -1, -2) + c
    finite = np.isfinite(plain)
    a, b, c = (np.where(np.isfinite(numbers), numbers, 0.0) for numbers in (a, b, c))
    if adder is not None:
        return np.where(finite, summed(a, b, c, own, adder), plain)
    return decode(encode(np.where(finite, _exact(a, b, c, own), plain), own.name), own.name)


def _whole(a: Array, b: Array, c: Array, dtype: DType | str, op: str, saturate: bool) -> Array:
    both = a @ np.swapaxes(b, -1, -2)
    if op == "xor.popc":
        both = a.sum(-1)[..., :, None] + b.sum(-1)[..., None, :] - 2 * both
    low, high = whole_range(dtype)
    sums = both + c
    found: Array = np.clip(sums, low, high) if saturate else (sums - low) % (high - low + 1) + low
    return found


def _chained(a: Array, b: Array, c: Array) -> Array:
    """Return the sum of fused multiply-adds in doubles, element by element, K upwards."""
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-2])
    found = np.broadcast_to(c, shape).astype(np.float64)
    for k in range(a.shape[-1]):
        left, right = a[..., :, None, k], b[..., None, :, k]
        found = _fused(*np.broadcast_arrays(left, right, found))
    return found


def _fused(x: Array, y: Array, z: Array) -> Array:
    """Return x y + z, rounded once; infinities, NaN and zeros as doubles have them."""
    with np.errstate(invalid="ignore", over="ignore"):
        plain = np.where(np.isfinite(x) & np.isfinite(y) & np.isinf(z), z, x * y + z)
        size = np.frexp(np.abs(x * y) + np.abs(z))[1]
    finite = np.isfinite(x) & np.isfinite(y) & np.isfinite(z)
    exact = np.isfinite(plain) & (size < np.minimum(_last_bit(x) + _last_bit(y), _last_bit(z)) + DOUBLE)
    for at in map(tuple, np.argwhere(finite & ~exact)):
        whole = Fraction(float(x[at])) * Fraction(float(y[at])) + Fraction(float(z[at]))
        if whole:
            plain[at] = _nearest(whole)
    return plain


def _nearest(whole: Fraction) -> float:
    try:
        return float(whole)
    except OverflowError:
        return inf if whole > 0 else -inf


# -- exactly ---------------------------------------------------------------------------------------


def _exact(a: Array, b: Array, c: Array, own: Float) -> Array:
    """Return doubles that round to the same numbers as the exact sums, in a float of up to 51 bits.

    If all terms are multiples of one step, and less than 2^52 of them together, the double is exact. If all
    numbers near it round to one number, it is good enough. Else the sum is a fraction, rounded to odd: an
    inexact double has its last bit set, so that it is no tie, and on the right side of every tie.
    """
    found: Array = a @ np.swapaxes(b, -1, -2) + c
    every = np.abs(a) @ np.abs(np.swapaxes(b, -1, -2)) + np.abs(c)
    step = np.minimum(_last_bit(a).min(-1)[..., :, None] + _last_bit(b).min(-1)[..., None, :], _last_bit(c))
    inexact = np.frexp(every)[1] > step + DOUBLE - 1
    near = every * (a.shape[-1] + 2) * 2.0 ** (2 - DOUBLE)  # four times the loss of a sum in any order
    apart = encode(found - near, own.name) != encode(found + near, own.name)
    for at in map(tuple, np.argwhere(inexact & apart)):
        *more, m, n = at
        pairs = zip(a[(*more, m)].tolist(), b[(*more, n)].tolist(), strict=True)
        start = Fraction(float(np.broadcast_to(c, found.shape)[at]))
        found[at] = _to_odd(sum((Fraction(x) * Fraction(y) for x, y in pairs), start))
    return found


def _last_bit(numbers: Array) -> Array:
    """Return the exponent of the last bit that is set; for 0 a high one, which limits nothing."""
    fraction, exponent = np.frexp(np.where(np.isfinite(numbers), numbers, 0.0))
    whole = np.ldexp(fraction, DOUBLE).astype(np.int64)
    trailing = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return np.where(whole == 0, 1 << 20, exponent - DOUBLE + trailing)


def _to_odd(whole: Fraction) -> float:
    near = float(whole)
    if Fraction(near) == whole:
        return near
    below = near if Fraction(near) < whole else nextafter(near, -inf)
    above = nextafter(below, inf)
    return below if int(np.float64(below).view(np.int64)) % 2 else above


# -- sums of devices -------------------------------------------------------------------------------


def summed(a: Array, b: Array, c: Array, dtype: Float | str, adder: Adder) -> Array:
    """Return D by an adder, for finite numbers.

    >>> terms, hopper = np.array([[1.0, 2.0**-25, 2.0**-26]]), Adder.of("mma", "tf32", "tf32", 8)
    >>> summed(terms, np.ones((1, 3)), np.array([[-1.0]]), "f32", hopper).item() == 2.0**-25
    True
    """
    own = FLOATS[dtype] if isinstance(dtype, str) else dtype
    for left, right in _parts(a, b, adder):
        terms, exponents = _terms(left, right, c, own, adder)
        largest = exponents.max(-1)
        lined = np.trunc(np.ldexp(terms, adder.fraction - largest[..., None])).sum(-1)
        c = _cut(np.ldexp(lined, largest - adder.fraction), own, adder)
    return c


def rounding_float(dtype: DType | str) -> Float | None:
    """Return the float if no document says how its sums are rounded; None for integers and f64."""
    name = DType.of(dtype).name
    return FLOATS[name] if is_float(name) and name != "f64" else None


def slack(a: Array, b: Array, c: Array, dtype: DType | str, adder: Adder) -> Array:
    """Return a bound of the distance between an adder's D and the exact sum, rounded once, [M, N].

    Lined up to exponent e, each of n terms loses less than 2^(e - fraction). The sum loses less than a step
    of its last bit, 2^-kept of its size, or the smallest number; the exact sum loses half of that.

        requires       finite numbers
        postcondition  product(..., adder=adder) is that near product(...); 0 for integers and f64, and
                       infinite if an intermediate sum may be larger than the type holds

    >>> ones = np.ones((1, 16))
    >>> slack(ones, ones, np.zeros((1, 1)), "f32", Adder.of("mma", "f16", "f16", 16)).item() < 1e-5
    True
    """
    shape = (a @ np.swapaxes(b, -1, -2)).shape
    own = rounding_float(dtype)
    if own is None:
        return np.zeros(shape)
    kept = own.mantissa if own.name == "f16" else min(own.mantissa, adder.kept)
    exact, lost = np.broadcast_to(c, shape).astype(np.float64), np.zeros(shape)
    for left, right in _parts(a, b, adder):
        start = np.minimum(np.abs(exact) + lost, own.largest)
        terms, exponents = _terms(left, right, start, own, adder)
        cut_off = terms.shape[-1] * np.ldexp(1.0, exponents.max(-1) - adder.fraction)
        exact = exact + left @ np.swapaxes(right, -1, -2)
        lost = lost + cut_off
        lost = lost + 2.0**-kept * (np.abs(exact) + lost) + own.smallest
        lost = np.where(np.abs(exact) + lost < own.largest, lost, np.inf)
    return lost + 2.0**-own.mantissa * np.abs(exact) + own.smallest


def slack_in_any_order(a: Array, b: Array, c: Array, dtype: DType | str) -> Array:
    """Return the bound for unknown adders whose every step keeps the bits of D, [M, N].

    There are no more than 2 K + 2 steps, products and sums, whatever their order and grouping, and no step
    has more than all terms together in it. Products of 8-bit floats as f16 may lose 2^-53 each.

        requires       finite numbers
        postcondition  slack(...) of any adder whose terms keep those bits is no larger, except for losses of
                       subnormal factors; infinite if a sum may be larger than the type holds

    >>> ones = np.ones((1, 32))
    >>> slack_in_any_order(ones, ones, np.zeros((1, 1)), "f32").item() < 3e-4
    True
    """
    every = np.abs(a) @ np.abs(np.swapaxes(b, -1, -2)) + np.abs(c)
    own, steps = rounding_float(dtype), 2 * a.shape[-1] + 2
    if own is None:
        return np.zeros(every.shape)
    lost = steps * (2.0**-own.mantissa * (1 + 2.0**-4) * every + own.smallest + F8_LOST)
    return np.where(every + lost < own.largest, lost, np.inf)


def _parts(a: Array, b: Array, adder: Adder) -> list[tuple[Array, Array]]:
    """Return A and B, cut along K into the adder's parts."""
    return list(zip(np.split(a, adder.parts, axis=-1), np.split(b, adder.parts, axis=-1), strict=True))


def _terms(a: Array, b: Array, c: Array, own: Float, adder: Adder) -> tuple[Array, Array]:
    """Return [M, N, K + 1]: every product and C, and the exponent of each."""
    left, right = a[..., :, None, :], b[..., None, :, :]
    products = left * right
    start = np.broadcast_to(c[..., None], (*products.shape[:-1], 1))
    of_a, of_b = (_exponent(*pair) for pair in zip((left, right), adder.least, strict=True))
    exponents = [np.broadcast_to(of_a + of_b, products.shape), _exponent(start, own.least)]
    return np.concatenate([products, start], axis=-1), np.concatenate(exponents, axis=-1)


def _exponent(numbers: Array, least: int) -> Array:
    return np.where(numbers == 0, NO_EXPONENT, np.maximum(np.frexp(numbers)[1] - 1, least))


def _cut(sums: Array, own: Float, adder: Adder) -> Array:
    """Return the part of sums that D keeps."""
    if own.name == "f16":
        return decode(encode(sums, own.name), own.name)
    exponent = np.maximum(np.frexp(sums)[1] - 1, own.least)
    kept: Array = np.ldexp(np.trunc(np.ldexp(sums, adder.kept - exponent)), exponent - adder.kept)
    return np.where(np.abs(kept) > own.largest, np.copysign(np.inf, kept), kept)
