"""The directive `picture`: a layout as a table with the colours that `tilewise show` has in a terminal."""

from __future__ import annotations

from html import escape
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives

from tilewise import parse
from tilewise.notation import parse_shape
from tilewise.show.grid import Grid, grid_of


class Picture(Directive):
    """`picture` LAYOUT, with the options `shape` and `caption`."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = {"shape": directives.unchanged, "caption": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """The table, as HTML."""
        shape = self.options.get("shape")
        grid = grid_of(parse(self.arguments[0]), None if shape is None else parse_shape(shape))
        return [nodes.raw("", table_of(grid, self.options.get("caption", "")), format="html")]


def table_of(grid: Grid, caption: str = "") -> str:
    """A grid as an HTML table."""
    head = "".join(f'<th scope="col">{escape(label)}</th>' for label in grid.column_labels)
    rows = "".join(
        f'<tr><th scope="row">{escape(label)}</th>'
        + "".join(f'<td class="c{cell.colour}">{escape(cell.text)}</td>' for cell in row)
        + "</tr>"
        for label, row in zip(grid.row_labels, grid.cells, strict=True)
    )
    title = f"<code>{escape(grid.title)}</code>" + (f"<br>{escape(caption)}" if caption else "")
    return (
        f'<figure class="picture"><figcaption>{title}</figcaption>'
        f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table></figure>"
    )


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True}
