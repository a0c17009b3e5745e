"""The gate through which all numbers enter: exact integers of a printable size."""

from __future__ import annotations

from itertools import pairwise
from operator import index

from tilewise.core.errors import LayoutError
from tilewise.core.polynomials import Polynomial, positive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import SupportsIndex

MAX_DIGITS = 1_000
_LARGEST = 10**MAX_DIGITS
SHOWN = 8
"""The most runs on a line."""


def as_int(value: SupportsIndex, what: str) -> int:
    """Return `value` as a Python int, by `operator.index`; refuse bool, float and oversized values.

    >>> as_int(7, "a stride")
    7
    """
    if type(value) is not int:
        value = _converted(value, what)
        if type(value) is not int:
            return value  # a polynomial over names
    if not -_LARGEST < value < _LARGEST:
        raise LayoutError(
            "TW005",
            f"{what} has more than {MAX_DIGITS} digits",
            hint="layouts describe real machines; look for a typing error",
        )
    return value


def counted(number: int, noun: str) -> str:
    """Return a number of things as words.

    >>> counted(1, "mode"), counted(2, "mode")
    ('1 mode', '2 modes')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def spans(numbers: Sequence[int]) -> str:
    """Return numbers that rise, as runs.

    >>> spans([0, 1, 2, 8, 10, 11])
    '0 to 2, 8, 10 to 11'
    """
    ends = [at for at, (one, other) in enumerate(pairwise(numbers), 1) if other != one + 1]
    runs = [(numbers[a], numbers[b - 1]) for a, b in pairwise([0, *ends, len(numbers)])]
    shown = [f"{one} to {other}" if other > one else str(one) for one, other in runs]
    return ", ".join(shown if len(shown) <= SHOWN else [*shown[: SHOWN - 1], "..."])


def as_extent(value: SupportsIndex) -> int:
    """Return `value` as an extent: a positive integer.

    >>> as_extent(48)
    48
    """
    extent = as_int(value, "an extent")
    if extent < 1 if type(extent) is int else not positive(extent):
        raise LayoutError(
            "TW102",
            f"an extent must be positive, not {extent}",
            hint="a mode of extent 0 holds no element; leave the mode out or give it extent 1",
        )
    return extent


def number_text(number: int) -> str:
    """Return a number for a sentence: in full, or its size where it is beyond all reading.

    >>> number_text(4096), number_text(3**9000)
    ('4096', 'about 2^14264')
    """
    return str(number) if abs(number) < _LARGEST else f"about 2^{number.bit_length() - 1}"


def _converted(value: SupportsIndex, what: str) -> int:
    if isinstance(value, bool):
        raise LayoutError("TW101", f"{what} must be an integer, not the bool {value}", hint="write 1 or 0")
    if isinstance(value, Polynomial):
        return value  # type: ignore[return-value]  # what is computed with it is a polynomial again
    try:
        return index(value)
    except TypeError:
        kind = type(value).__name__
        hint = {
            "float": "strides count whole elements; choose a smaller unit instead of a fraction",
            "str": "write numbers, not text; `tilewise.notation` reads text",
            "tuple": "write one number here; a tuple stands for a mode of its own nesting",
        }.get(kind, "any value with __index__ will do: int, a NumPy integer, ...")
        raise LayoutError(
            "TW101", f"{what} must be an integer, not the {kind} {value!r}", hint=hint
        ) from None


def bits_of(mask: int) -> list[int]:
    """Return the positions of the bits that are set, the lowest first.

    >>> bits_of(0b1011)
    [0, 1, 3]
    """
    return [bit for bit in range(mask.bit_length()) if mask >> bit & 1]
