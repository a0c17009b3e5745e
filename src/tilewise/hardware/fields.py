"""Words of the hardware as tables of fields: packed, unpacked, and drawn bit by bit.

A descriptor of any engine is such a table. Bits that no field has are reserved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from tilewise.core.integers import bits_of

WORD_BITS = 64
HALF = 32


@dataclass(frozen=True, slots=True)
class Field:
    """Some neighbouring bits of a word.

    >>> lbo = Field("lbo", 16, 14, 16, "leading dimension byte offset")
    >>> lbo.where, lbo.of(0x4000004000010000)
    ('29-16', 1)
    """

    name: str
    low: int
    bits: int
    unit: int
    """Bytes that a count of 1 stands for; 1 where the field counts no bytes."""
    title: str

    @property
    def high(self) -> int:
        """Return the highest bit."""
        return self.low + self.bits - 1

    @property
    def mask(self) -> int:
        """Return the mask of its bits in the word."""
        return ((1 << self.bits) - 1) << self.low

    @property
    def where(self) -> str:
        """Return its bits, the highest first, as the documents write them."""
        return bit_range(self.high, self.low)

    def of(self, word: int) -> int:
        """Return the number that the field holds in a word."""
        return (word & self.mask) >> self.low


def packed(fields: Sequence[Field], held: Mapping[str, int]) -> int:
    """Return the word whose fields hold these numbers; the others, and reserved bits, are 0.

        requires       every number fits its field
        postcondition  unpacked(fields, packed(fields, held)) == held

    >>> pair = (Field("a", 0, 4, 1, ""), Field("b", 8, 4, 1, ""))
    >>> hex(packed(pair, {"a": 3, "b": 5}))
    '0x503'
    """
    return sum(held.get(field.name, 0) << field.low for field in fields)


def unpacked(fields: Sequence[Field], word: int) -> dict[str, int]:
    """Return the number in every field."""
    return {field.name: field.of(word) for field in fields}


def reserved(fields: Sequence[Field], word: int) -> list[int]:
    """Return the set bits that no field has, the lowest first.

    >>> reserved((Field("a", 0, 4, 1, ""),), 0x8002)
    [15]
    """
    return bits_of(word & ~sum(field.mask for field in fields))


def picture(fields: Sequence[Field], word: int, bits: int = WORD_BITS) -> list[str]:
    """Return the bits of a word, 32 in a row, high bits first: their numbers, their values, their fields.

    A reserved bit is a dot, and `!` where it is set.
    """
    owners = {bit: field for field in fields for bit in range(field.low, field.high + 1)}
    lines: list[str] = []
    for top in range(bits - 1, 0, -HALF):
        runs = groupby(range(top, top - HALF, -1), owners.get)
        columns = [_column(field, [*run], word) for field, run in runs]
        widths = [max(map(len, column)) for column in columns]
        lines += [""] if lines else []
        lines += [
            "  ".join(
                f"{column[row]:<{width}}" for column, width in zip(columns, widths, strict=True)
            ).rstrip()
            for row in range(3)
        ]
    return lines


def _column(field: Field | None, run: Sequence[int], word: int) -> tuple[str, str, str]:
    where, bits = bit_range(run[0], run[-1]), "".join(str(word >> bit & 1) for bit in run)
    if field is None:
        return where, bits.replace("0", ".").replace("1", "!"), ""
    return where, bits, field.name


def bit_range(high: int, low: int) -> str:
    """Return the text of neighbouring bits, the highest first, as the documents write them.

    >>> bit_range(29, 16), bit_range(46, 46)
    ('29-16', '46')
    """
    return str(low) if high == low else f"{high}-{low}"
