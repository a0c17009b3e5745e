"""A word that the hardware is given: its bits from the highest to the lowest, field by field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilewise.hardware.fields import bit_range
from tilewise.pictures.scene.model import Encoded, Field


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring bits of one field, or of none."""

    field: Field | None
    high: int
    low: int
    role: str

    @property
    def where(self) -> str:
        """Return its bits, the highest first.

        >>> Run(None, 15, 14, "empty").where, Run(None, 46, 46, "empty").where
        ('15-14', '46')
        """
        return bit_range(self.high, self.low)

    @property
    def digits(self) -> str:
        """Return the bits of a field; of a field without a value the text says only that they are there.

        >>> Run(Field("a", 0, 3, 6, ""), 3, 1, "c0").digits, Run(None, 5, 4, "empty").digits
        ('011', '..')
        """
        many = self.high - self.low + 1
        if self.field is None:
            return "." * many
        return f"{self.field.held >> (self.low - self.field.low):0{many}b}"[-many:]


def runs_of(encoded: Encoded) -> Iterator[Run]:
    """Yield all bits, from the highest to the lowest, each field in a colour of its own; reserved ones have
    none.

    >>> word = Encoded("word", 8, "0x13", (Field("a", 0, 3, 3, ""), Field("b", 4, 5, 1, "")))
    >>> [(run.where, run.digits, run.role) for run in runs_of(word)]
    [('7-6', '..', 'empty'), ('5-4', '01', 'c0'), ('3-0', '0011', 'c1')]
    """
    above = encoded.width
    for number, field in enumerate(reversed(encoded.fields)):
        if field.high + 1 < above:
            yield Run(None, above - 1, field.high + 1, "empty")
        yield Run(field, field.high, field.low, f"c{number % 8}")
        above = field.low
    if above:
        yield Run(None, above - 1, 0, "empty")


def encoded_words(encoded: Encoded) -> str:
    """Return the word for those who do not see it."""
    fields = (
        f"bits {run.where}, {run.field.name} {run.field.held}: {run.field.words}"
        for run in runs_of(encoded)
        if run.field
    )
    return f"{encoded.name} {encoded.value}: {'; '.join(fields)}."
