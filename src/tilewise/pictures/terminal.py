"""Lines of text in colours, as a terminal shows them; where it has none, plain text of ASCII alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.console import Console

PALE = 8
"""The colour of what is there and nobody asks for, behind the eight of a palette."""

PALETTE = (
    "#000000 on #56b4e9",
    "#000000 on #e69f00",
    "#ffffff on #00795c",
    "#000000 on #f0e442",
    "#ffffff on #0072b2",
    "#ffffff on #c0500a",
    "#000000 on #cc79a7",
    "#000000 on #b8bec6",
)
"""Okabe and Ito's hues, told apart by the colour-blind too; two darkened for contrast with white."""

PALETTE_OF_16 = (
    "black on bright_cyan",
    "bright_white on bright_black",
    "black on green",
    "black on bright_yellow",
    "bright_white on blue",
    "bright_white on red",
    "black on bright_magenta",
    "black on white",
)
"""The same where a terminal has 16 colours, each of which is another one of them."""

STYLES = {
    "head": "bold",
    "name": "bold",
    "dim": "dim",
    "note": "italic",
    "yes": "green",
    "no": "red",
    "open": "yellow",
    f"c{PALE}": "dim",
}
"""{role of a piece of text: its style}, beside the colours c0 to c7."""

_FORCED = ("FORCE_COLOR", "TTY_COMPATIBLE")
"""Variables of the environment that ask for colours where there is no terminal."""

GAP = 4
"""Columns between what stands side by side."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a line, and its role."""

    text: str
    role: str = ""


Line = tuple[Piece, ...]


def as_text(lines: Iterable[Line]) -> str:
    """Lines without colour."""
    return "\n".join("".join(piece.text for piece in line).rstrip() for line in lines)


def print_lines(lines: Iterable[Line], console: Console) -> None:
    """Lines on a console of rich; without colours they are the plain text."""
    from rich.text import Text

    if not console.color_system:
        print(as_text(lines), file=console.file)
        return
    styles = styles_in(console.color_system)
    with console.capture() as drawn:
        for line in lines:
            pieces = ((piece.text, styles.get(piece.role, "")) for piece in line)
            console.print(Text.assemble(*pieces), soft_wrap=True)
    print(drawn.get(), end="", file=console.file)  # rich would end the process where nobody reads


def styles_in(system: str) -> dict[str, str]:
    """{role: style} where colours are of a system of rich: windows and standard have 16.

    >>> styles_in("truecolor")["c0"], styles_in("standard")["c0"]
    ('#000000 on #56b4e9', 'black on bright_cyan')
    """
    palette = PALETTE_OF_16 if system in ("windows", "standard") else PALETTE
    return STYLES | {f"c{number}": style for number, style in enumerate(palette)}


def length(line: Line) -> int:
    """Columns that a line takes."""
    return sum(len(piece.text) for piece in line)


def paragraph(text: str, room: int, role: str = "") -> Iterator[Line]:
    """Yield a text in lines of so many columns."""
    if len(text) <= room:
        yield (Piece(text, role),)
        return
    from textwrap import wrap

    yield from ((Piece(line, role),) for line in wrap(text, room))


def hanging(head: Line, text: str, room: int, role: str = "") -> Iterator[Line]:
    """Yield a head and a text beside it, in lines of so many columns together.

    >>> print(as_text(hanging((Piece("a: "),), "one two", 7)))
    a: one
       two
    """
    first, *more = [*paragraph(text, room - length(head), role)] or [()]
    yield (*head, *first)
    yield from ((Piece(" " * length(head)), *line) for line in more)


def beside(parts: Sequence[Sequence[Line]], room: int) -> list[Line]:
    """Parts side by side, or one below the other with an empty line between, where they need more room.

    >>> as_text(beside([[(Piece("a"),), (Piece("bb"),)], [(Piece("c"),)]], 10))
    'a     c\\nbb'
    >>> as_text(beside([[(Piece("a"),), (Piece("bb"),)], [(Piece("c"),)]], 6))
    'a\\nbb\\n\\nc'
    """
    wide = [*map(_width, parts)]
    if not abreast(parts, room):
        return [line for i, part in enumerate(parts) for line in ([(), *part] if i else part)]
    rows = []
    for row in zip_longest(*parts, fillvalue=()):
        own: list[Piece] = []
        for line, columns in zip(row, wide, strict=True):
            own += [*line, Piece(" " * (columns + GAP - length(line)))]
        while own and not own[-1].text.strip() and not own[-1].role:
            own.pop()
        rows.append(tuple(own))
    return rows


def abreast(parts: Sequence[Sequence[Line]], room: int) -> bool:
    """Return whether parts can stand side by side."""
    return sum(map(_width, parts)) + GAP * (len(parts) - 1) <= room


def _width(part: Sequence[Line]) -> int:
    return max(map(length, part), default=0)


def print_out(lines: Iterable[Line], *, plain: bool = False) -> None:
    """Lines on standard output, with the colours that it has and wants, or plain."""
    if plain or not (sys.stdout.isatty() or any(map(os.environ.get, _FORCED))):
        print(as_text(lines))  # rich would say the same, and takes longer to import than all else
        return
    from rich.console import Console

    print_lines(lines, Console(highlight=False))


def size(columns: int, rows: int) -> tuple[int, int]:
    """Columns and rows of standard output, as COLUMNS and LINES say, or it; as given where nobody says.

    It is `shutil.get_terminal_size` without what an import of shutil costs.
    """
    said = [
        int(text) if text.isdecimal() else 0 for text in map(os.environ.get, ("COLUMNS", "LINES"), ("", ""))
    ]
    try:
        there = os.get_terminal_size(1)
    except OSError:
        there = os.terminal_size((0, 0))
    return said[0] or there.columns or columns, said[1] or there.lines or rows
