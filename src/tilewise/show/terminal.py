"""A grid in the terminal: with colour where there is colour, else plain ASCII."""

from __future__ import annotations

from tilewise.show.grid import Grid

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


def as_ascii(grid: Grid) -> str:
    """A grid as plain text.

    >>> from tilewise import S
    >>> from tilewise.show.grid import grid_of
    >>> print(as_ascii(grid_of(S[(2, 4) : (1, 2)])))
    S[(2, 4) : (1, 2)]
    cells m; colour by m
    <BLANKLINE>
      | 0 1 2 3
    --+--------
    0 | 0 2 4 6
    1 | 1 3 5 7
    """
    side, width = _widths(grid)
    head = f"{'':>{side}} | " + " ".join(f"{label:>{width}}" for label in grid.column_labels)
    lines = [grid.title, grid.key, "", head, "-" * (side + 1) + "+" + "-" * (len(head) - side - 2)]
    for label, row in zip(grid.row_labels, grid.cells, strict=True):
        lines.append(f"{label:>{side}} | " + " ".join(f"{cell.text:>{width}}" for cell in row))
    return "\n".join([*lines, *(["", grid.note] if grid.note else [])])


def print_grid(grid: Grid, console: Console) -> None:
    """A grid with coloured cells on a console of rich."""
    from rich.text import Text

    side, width = _widths(grid)
    console.print(Text(grid.title, style="bold"), soft_wrap=True)
    console.print(Text(grid.key, style="dim"))
    console.print()
    labels = "  ".join(f"{label:>{width}}" for label in grid.column_labels)
    console.print(Text(f"{'':>{side}}  {labels}", style="dim"), soft_wrap=True)
    for label, row in zip(grid.row_labels, grid.cells, strict=True):
        line = Text.assemble((f"{label:>{side}} ", "dim"))
        for cell in row:
            line.append(f" {cell.text:>{width}} ", style=PALETTE[cell.colour])
        if not console.color_system:
            line.rstrip()
        console.print(line, soft_wrap=True)
    if grid.note:
        console.print()
        console.print(Text(grid.note, style="italic"))


def _widths(grid: Grid) -> tuple[int, int]:
    """The width of the row labels, and of a cell."""
    texts = [cell.text for row in grid.cells for cell in row]
    return max(map(len, grid.row_labels)), max(map(len, (*texts, *grid.column_labels)))
