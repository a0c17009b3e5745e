"""The directive `phase`: which bank serves which lane in which wavefront, as `tilewise banks` colours it."""

from __future__ import annotations

from html import escape
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives

from tilewise import parse
from tilewise.check.banks import MARKS, Phase, conflicts, drawing_of
from tilewise.hardware.memory.banks import BANKS

COLOURS = 8
LABELLED = 4
"""Every so many banks have their number above them."""


class PhasePicture(Directive):
    """`phase` LAYOUT, with the options dtype, access and caption: the first phase of the worst request."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = dict.fromkeys(("dtype", "access", "caption"), directives.unchanged_required)

    def run(self) -> list[nodes.Node]:
        """Return the table, as HTML."""
        layout = parse(self.arguments[0])
        found = conflicts(layout, self.options["access"], dtype=self.options["dtype"])
        phase = found.request(found.worst).phases[0]
        title = f"{layout}, {self.options['access']}"
        return [nodes.raw("", table_of(phase, title, self.options.get("caption", "")), format="html")]


def table_of(phase: Phase, title: str, caption: str = "") -> str:
    """Return a phase as an HTML table: a row a lane, a column a bank."""
    drawing = drawing_of(phase)
    head = "".join(
        f'<th scope="colgroup" colspan="{LABELLED}">{bank}</th>' for bank in range(0, BANKS, LABELLED)
    )
    rows = "".join(
        f'<tr><th scope="row">{lane}</th>{"".join(map(_cell, row))}</tr>'
        for lane, row in zip(drawing.lanes, drawing.cells, strict=True)
    )
    told = f"<code>{escape(title)}</code>" + (f"<br>{escape(caption)}" if caption else "")
    return (
        f'<figure class="picture phase"><figcaption>{told}</figcaption>'
        f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table></figure>"
    )


def _cell(wavefront: int | None) -> str:
    return "<td></td>" if wavefront is None else f'<td class="c{wavefront % COLOURS}">{MARKS[wavefront]}</td>'


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("phase", PhasePicture)
    return {"parallel_read_safe": True}
