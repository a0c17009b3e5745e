"""Boxes and texts in pixels: all that a picture is made of, whatever file it becomes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

LETTER = 0.6
"""The width of a letter of a monospaced font in its height; of another one it is a little less."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Fill:
    """Boxes of one colour, which is named by its role."""

    role: str
    boxes: tuple[Box, ...]

    def at(self, x: int, y: int) -> Fill:
        """Return the same, moved."""
        moved = tuple(Box(box.x + x, box.y + y, box.width, box.height) for box in self.boxes)
        return Fill(self.role, moved)


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text on its baseline."""

    x: float
    y: float
    text: str
    size: int
    role: str = "ink"
    anchor: str = "start"
    """start, middle or end: what of it is at x."""
    mono: bool = False
    bold: bool = False

    def at(self, x: int, y: int) -> Text:
        """Return the same, moved."""
        return Text(self.x + x, self.y + y, self.text, *self.style)

    @property
    def style(self) -> tuple[int, str, str, bool, bool]:
        """Return everything but its place and its text."""
        return self.size, self.role, self.anchor, self.mono, self.bold


Item = Fill | Text


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a picture, which begins at (0, 0) until it is placed."""

    width: int
    height: int
    items: tuple[Item, ...]

    def at(self, x: int, y: int) -> tuple[Item, ...]:
        """Return its items, placed."""
        return tuple(item.at(x, y) for item in self.items) if x or y else self.items


@dataclass(frozen=True, slots=True)
class Drawing:
    """A whole picture, and what it shows in words."""

    width: int
    height: int
    title: str
    words: str
    items: tuple[Item, ...]


def below(parts: Iterable[Part], gap: int) -> Part:
    """Parts one below the other.

    >>> below([Part(3, 2, ()), Part(5, 1, ())], 4)
    Part(width=5, height=7, items=())
    """
    items: list[Item] = []
    width = height = 0
    for part in parts:
        height += gap if height else 0
        items.extend(part.at(0, height))
        width, height = max(width, part.width), height + part.height
    return Part(width, height, tuple(items))


def flowed(parts: Iterable[Part], room: int, across: int, down: int) -> Part:
    """Parts side by side, in as many rows as the room asks for.

    >>> flowed([Part(3, 2, ()), Part(3, 1, ()), Part(3, 1, ())], 7, 1, 1)
    Part(width=7, height=4, items=())
    """
    rows: list[Part] = []
    for part in parts:
        width = rows[-1].width + across + part.width if rows else room + 1
        if width > room:
            rows.append(part)
        else:
            row = rows[-1]
            items = (*row.items, *part.at(row.width + across, 0))
            rows[-1] = Part(width, max(row.height, part.height), items)
    return below(rows, down)


def wide(text: str, size: int) -> int:
    """Room enough for a text."""
    return int(len(text) * size * LETTER) + 1


def paragraph(
    text: str, room: int, size: int, role: str = "ink", *, mono: bool = False, bold: bool = False
) -> Part:
    """Return a text in lines."""
    from textwrap import wrap

    lines = wrap(text, max(12, int(room / (size * LETTER)))) or [""]
    pitch = size * 7 // 5
    texts = tuple(
        Text(0, pitch * number + size, line, size, role, mono=mono, bold=bold)
        for number, line in enumerate(lines)
    )
    return Part(max(wide(line, size) for line in lines), pitch * len(lines), texts)
