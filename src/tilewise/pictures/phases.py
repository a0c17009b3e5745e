"""Phases of a request as lines, in the colours of the wavefronts."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.check.banks import MARKS, NOTHING, Phase, drawing_of
from tilewise.pictures.terminal import PALETTE, Line, Piece


def phase_lines(phase: Phase) -> Iterator[Line]:
    """A row a lane, a column a bank; a colour is a wavefront.

        postcondition  without colours they are the lines of `drawing_of`

    >>> from tilewise.check.banks import counted
    >>> _, line, _, _ = phase_lines(counted("ld", 4, [0, 128]).phases[0])
    >>> line[:3]
    (Piece(text='lane  0 ', role='dim'), Piece(text='1 ', role='c0'), Piece(text='. ', role='dim'))
    """
    drawing = drawing_of(phase)
    head, *_, foot = drawing.lines()
    yield (Piece(head, "dim"),)
    for lane, row in zip(drawing.lanes, drawing.cells, strict=True):
        yield (Piece(f"lane {lane:>2} ", "dim"), *map(_cell, row))
    yield (Piece(foot, "dim"),)


def _cell(wavefront: int | None) -> Piece:
    if wavefront is None:
        return Piece(f"{NOTHING} ", "dim")
    return Piece(f"{MARKS[wavefront]} ", f"c{wavefront % len(PALETTE)}")
