"""A word that the hardware is given as a part of a picture: a strip of its bits, and what its fields say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tilewise.show.paper.drawing import Box, Fill, Item, Part, Text, below, paragraph, wide
from tilewise.show.scene.model import Encoded, Field

_BIT = 14
"""Pixels of a bit, where there is room."""
_TALL = 20
_LEAST_DIGIT = 8
_RANGE_FONT = 9
_FONT = 11
_SWATCH = 20
_GAP = 12
_LEAST_WORDS = 240


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring bits of one field, or of none, with where they are in the strip."""

    field: Field | None
    high: int
    low: int
    role: str
    x: int
    width: int

    @property
    def middle(self) -> float:
        """Where it is, for a text that is centred."""
        return self.x + self.width / 2

    @property
    def where(self) -> str:
        """Its bits, the highest first.

        >>> Run(None, 15, 14, "empty", 0, 28).where, Run(None, 46, 46, "empty", 0, 14).where
        ('15-14', '46')
        """
        return str(self.low) if self.low == self.high else f"{self.high}-{self.low}"


def encoded_part(encoded: Encoded, room: int) -> Part:
    """The word, its bits from the highest to the lowest, and a line of words for each field."""
    bit = max(1, min(_BIT, room // encoded.width))
    runs = list(runs_of(encoded, bit))
    title = paragraph(f"{encoded.name} {encoded.value}", room, 13, bold=True)
    return below([title, _strip(runs, encoded.width * bit, bit), _table(runs, room)], 8)


def runs_of(encoded: Encoded, bit: int = 1) -> Iterator[Run]:
    """All bits, from the highest to the lowest, each field in a colour of its own; reserved ones have none.

    >>> word = Encoded("word", 8, "0x13", (Field("a", 0, 3, 3, ""), Field("b", 4, 5, 1, "")))
    >>> [(run.where, run.role) for run in runs_of(word)]
    [('7-6', 'empty'), ('5-4', 'c0'), ('3-0', 'c1')]
    """
    above = encoded.width

    def run(field: Field | None, high: int, low: int, role: str) -> Run:
        return Run(field, high, low, role, (encoded.width - 1 - high) * bit, (high - low + 1) * bit)

    for number, field in enumerate(reversed(encoded.fields)):
        if field.high + 1 < above:
            yield run(None, above - 1, field.high + 1, "empty")
        yield run(field, field.high, field.low, f"c{number % 8}")
        above = field.low
    if above:
        yield run(None, above - 1, 0, "empty")


def encoded_words(encoded: Encoded) -> str:
    """The word for those who do not see it."""
    fields = (
        f"bits {run.where}, {run.field.name} {run.field.held}: {run.field.words}"
        for run in runs_of(encoded)
        if run.field
    )
    return f"{encoded.name} {encoded.value}: {'; '.join(fields)}."


def _strip(runs: list[Run], width: int, bit: int) -> Part:
    """Boxes of the runs with their bits; above them which bits they are, below their names and numbers."""
    fields = [(run.middle, run.field) for run in runs if run.field]
    top = _RANGE_FONT + 4
    names, numbers = top + _TALL + 14, top + _TALL + 29
    where = Text(0, _RANGE_FONT, "", _RANGE_FONT, "quiet", mono=True)
    name, held = Text(0, names, "", _FONT), Text(0, numbers, "", _FONT, mono=True, bold=True)
    items: list[Item] = [
        *_centred(((run.middle, run.where) for run in runs), width, where),
        *(Fill(run.role, (Box(run.x, top, max(1, run.width - 1), _TALL),)) for run in runs),
        *(text for run in runs if bit >= _LEAST_DIGIT for text in _digits(run, top + 14, bit)),
        *_centred(((middle, field.name) for middle, field in fields), width, name),
        *_centred(((middle, str(field.held)) for middle, field in fields), width, held),
    ]
    return Part(width, numbers + 5, tuple(items))


def _centred(told: Iterable[tuple[float, str]], width: int, like: Text) -> Iterator[Text]:
    """Texts about their places in a line, but inside it; one that has no room beside the last is left out."""
    end = 0.0
    for middle, text in told:
        half = wide(text, like.size) / 2 + 2
        middle = min(max(middle, half), width - half)
        if middle - half >= end:
            end = middle + half
            yield replace(like, x=middle, text=text, anchor="middle")


def _digits(run: Run, y: int, bit: int) -> Iterator[Text]:
    """The bits of a field; of others nothing is said but that they are there."""
    count = run.high - run.low + 1
    bits = f"{run.field.held:0{count}b}"[-count:] if run.field else "." * count
    role = "ink" if run.field else "quiet"
    for place, digit in enumerate(bits):
        yield Text(run.x + place * bit + (bit - 1) / 2, y, digit, 10, role, "middle", mono=True)


def _table(runs: list[Run], room: int) -> Part:
    """A line for each field, as the strip has them: its colour, its bits, its name, and what it says."""
    fields = [(run, run.field) for run in runs if run.field]
    ends = [_SWATCH]
    for texts in zip(*((run.where, field.name, str(field.held)) for run, field in fields), strict=True):
        ends.append(ends[-1] + max(wide(text, _FONT) for text in texts) + _GAP)
    return below((_row(run, field, ends, room) for run, field in fields), 3)


def _row(run: Run, field: Field, ends: list[int], room: int) -> Part:
    words = paragraph(field.words, max(room - ends[-1], _LEAST_WORDS), _FONT)
    items = (
        Fill(run.role, (Box(0, 1, 12, 12),)),
        Text(ends[0], _FONT, run.where, _FONT, "quiet", mono=True),
        Text(ends[1], _FONT, field.name, _FONT, bold=True),
        Text(ends[3] - _GAP, _FONT, str(field.held), _FONT, anchor="end", mono=True),
        *words.at(ends[3], 0),
    )
    return Part(ends[3] + words.width, words.height, items)
