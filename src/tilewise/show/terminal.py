"""Lines of text in colours, as a terminal shows them; where it has none, plain text of ASCII alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import wrap

from tilewise.show.grid import Grid, fitting, longest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.console import Console

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

STYLES = {
    "head": "bold",
    "name": "bold",
    "dim": "dim",
    "note": "italic",
    "yes": "green",
    "no": "red",
    "open": "yellow",
    **{f"c{number}": style for number, style in enumerate(PALETTE)},
}
"""What the role of a piece of text looks like."""

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
    for line in lines:
        console.print(
            Text.assemble(*((piece.text, STYLES.get(piece.role, "")) for piece in line)), soft_wrap=True
        )


def length(line: Line) -> int:
    """Columns that a line takes."""
    return sum(len(piece.text) for piece in line)


def paragraph(text: str, room: int, role: str = "") -> Iterator[Line]:
    """A text in lines of so many columns."""
    return ((Piece(line, role),) for line in wrap(text, room))


def beside(parts: Sequence[Sequence[Line]], room: int) -> list[Line]:
    """Parts side by side, or one below the other with an empty line between, where they need more room.

    >>> as_text(beside([[(Piece("a"),), (Piece("bb"),)], [(Piece("c"),)]], 10))
    'a     c\\nbb'
    >>> as_text(beside([[(Piece("a"),), (Piece("bb"),)], [(Piece("c"),)]], 6))
    'a\\nbb\\n\\nc'
    """
    wide = [max(map(length, part), default=0) for part in parts]
    if sum(wide) + GAP * (len(parts) - 1) > room:
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


def grid_lines(grid: Grid, room: int | None = None, *, ruled: bool = False) -> Iterator[Line]:
    """Labels and cells, as many columns as there is room for; with rules where no colours part the cells.

    >>> from tilewise import S
    >>> from tilewise.show.grid import grid_of
    >>> print(as_text(grid_lines(grid_of(S[(2, 4) : (1, 2)]), ruled=True)))
      | 0 1 2 3
    --+--------
    0 | 0 2 4 6
    1 | 1 3 5 7
    """
    side, width = max(map(len, grid.row_labels)), longest(grid.cells, grid.column_labels)
    many = len(grid.column_labels)
    if room is not None:
        many = fitting(grid.cells, (grid.row_labels, grid.column_labels), room)
    labels = grid.column_labels[:many]
    if ruled:
        head = f"{'':>{side}} | " + " ".join(f"{label:>{width}}" for label in labels)
        yield (Piece(head),)
        yield (Piece("-" * (side + 1) + "+" + "-" * (len(head) - side - 2)),)
    else:
        yield (Piece(f"{'':>{side}}  " + "  ".join(f"{label:>{width}}" for label in labels), "dim"),)
    for label, row in zip(grid.row_labels, grid.cells, strict=True):
        if ruled:
            yield (Piece(f"{label:>{side}} | " + " ".join(f"{cell.text:>{width}}" for cell in row[:many])),)
            continue
        cells = (Piece(f" {cell.text:>{width}} ", f"c{cell.colour}") for cell in row[:many])
        yield (Piece(f"{label:>{side}} ", "dim"), *cells)


def picture_lines(grid: Grid, room: int, *, ruled: bool = False) -> Iterator[Line]:
    """A grid with its title, what its cells are, and which part of it is drawn."""
    yield (Piece(grid.title, "head"),)
    yield from paragraph(grid.key, room, "dim")
    yield ()
    yield from grid_lines(grid, ruled=ruled)
    if grid.note:
        yield ()
        yield from paragraph(grid.note, room, "note")


def print_picture(grid: Grid, *, ruled: bool = False) -> None:
    """A grid on standard output, with colours where it has them; `ruled` is ASCII without."""
    if ruled:
        print(as_text(picture_lines(grid, len(grid.key + grid.note), ruled=True)))
        return
    from rich.console import Console

    console = Console(highlight=False)
    print_lines(picture_lines(grid, console.width), console)
