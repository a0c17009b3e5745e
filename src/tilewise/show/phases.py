"""Phases of a request in the terminal, in the colours of the wavefronts."""

from __future__ import annotations

from tilewise.check.banks.drawing import MARKS, drawing_of
from tilewise.check.banks.phases import Phase
from tilewise.show.terminal import PALETTE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.console import Console


def print_phase(phase: Phase, console: Console) -> None:
    """A row a lane, a column a bank; a colour is a wavefront. Without colours it is the plain picture."""
    from rich.text import Text

    drawing = drawing_of(phase)
    if not console.color_system:
        for line in drawing.lines():
            console.print(Text(line), soft_wrap=True)
        return
    head, *_, foot = drawing.lines()
    console.print(Text(head, style="dim"), soft_wrap=True)
    for lane, row in zip(drawing.lanes, drawing.cells, strict=True):
        shown = Text.assemble((f"lane {lane:>2} ", "dim"))
        for own in row:
            shown.append("· " if own is None else f"{MARKS[own]} ", style=_style(own))
        console.print(shown, soft_wrap=True)
    console.print(Text(foot, style="dim"), soft_wrap=True)


def _style(wavefront: int | None) -> str:
    return "dim" if wavefront is None else PALETTE[wavefront % len(PALETTE)]
