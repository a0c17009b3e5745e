"""A word that the hardware is given as a part of a picture: a strip of its bits, and what its fields say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tilewise.pictures.paper.drawing import Box, Fill, Item, Part, Text, below, paragraph, wide
from tilewise.pictures.scene.encoded import Run, runs_of
from tilewise.pictures.scene.model import Encoded, Field

_BIT = 14
"""Pixels of a bit, where there is room."""
_TALL = 20
_LEAST_BIT = 8
_RANGE_FONT = 9
_TOP = 13
_FONT = 11
_SWATCH = 20
_GAP = 12
_LEAST_WORDS = 240


def encoded_part(encoded: Encoded, room: int) -> Part:
    """Return the word, from the highest bit to the lowest in as few lines as can be, and what each field
    says.
    """
    runs = list(runs_of(encoded))
    lines = -(-encoded.width // max(1, room // _LEAST_BIT))
    most = -(-encoded.width // lines)
    bit = min(_BIT, max(_LEAST_BIT, room // most))
    strips = (_strip(runs, top, max(0, top - most), bit) for top in range(encoded.width, 0, -most))
    title = paragraph(f"{encoded.name} {encoded.value}", room, 13, bold=True)
    return below([title, *strips, _table(runs, room)], 8)


def _strip(runs: list[Run], top: int, low: int, bit: int) -> Part:
    """Return the bits from `low` on and below `top` as boxes of their runs, with their digits inside.

    Above them stands which bits they are, below them the names of fields, and what the fields hold.
    """
    width = (top - low) * bit
    items: list[Item] = []
    ranges, names, helds = [], [], []
    for run in runs:
        part = replace(run, high=min(run.high, top - 1), low=max(run.low, low))
        if part.high < part.low:
            continue
        box = Box((top - 1 - part.high) * bit, _TOP, len(part.digits) * bit - 1, _TALL)
        middle = box.x + box.width / 2
        ranges.append((middle, part.where))
        if run.field and part.high == run.field.high:
            names.append((middle, run.field.name))
            helds.append((middle, str(run.field.held)))
        items.append(Fill(run.role, (box,)))
        role = "ink" if run.field else "quiet"
        for place, digit in enumerate(part.digits):
            x = box.x + place * bit + (bit - 1) / 2
            items.append(Text(x, _TOP + 14, digit, 10, role, "middle", mono=True))
    items += [
        *_centred(ranges, width, Text(0, _RANGE_FONT, "", _RANGE_FONT, "quiet", mono=True)),
        *_centred(names, width, Text(0, _TOP + _TALL + 14, "", _FONT)),
        *_centred(helds, width, Text(0, _TOP + _TALL + 29, "", _FONT, mono=True, bold=True)),
    ]
    return Part(width, _TOP + _TALL + 34, tuple(items))


def _centred(told: Iterable[tuple[float, str]], width: int, like: Text) -> Iterator[Text]:
    """Texts about their places in a line, but inside it; one that has no room beside the last is left out."""
    end = 0.0
    for middle, text in told:
        half = wide(text, like.size) / 2 + 2
        middle = min(max(middle, half), width - half)
        if middle - half >= end:
            end = middle + half
            yield replace(like, x=middle, text=text, anchor="middle")


def _table(runs: list[Run], room: int) -> Part:
    """Return a line for each field, as the strip has them: its colour, its bits, its name, and what it
    says.
    """
    fields = [(run, run.field) for run in runs if run.field]
    ends = [_SWATCH]
    for texts in zip(*((run.where, field.name, str(field.held)) for run, field in fields), strict=True):
        ends.append(ends[-1] + max(wide(text, _FONT) for text in texts) + _GAP)
    return below((_row(run, field, ends, room) for run, field in fields), 3)


def _row(run: Run, field: Field, ends: list[int], room: int) -> Part:
    items = (
        Fill(run.role, (Box(0, 1, 12, 12),)),
        Text(ends[0], _FONT, run.where, _FONT, "quiet", mono=True),
        Text(ends[1], _FONT, field.name, _FONT, bold=True),
        Text(ends[3] - _GAP, _FONT, str(field.held), _FONT, anchor="end", mono=True),
    )
    if room - ends[3] >= _LEAST_WORDS:
        words = paragraph(field.words, room - ends[3], _FONT)
        return Part(ends[3] + words.width, words.height, (*items, *words.at(ends[3], 0)))
    words = paragraph(field.words, max(room - ends[0], _LEAST_WORDS), _FONT)
    head = words.height // len(words.items)
    return Part(max(ends[3], ends[0] + words.width), head + words.height, (*items, *words.at(ends[0], head)))
