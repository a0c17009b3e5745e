"""A phase as a picture: a row a lane, a column a bank, and in each cell the wavefront that serves it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilewise.check.banks.phases import Phase, Request
from tilewise.hardware.memory.banks import BANKS, WORD

MARKS = "123456789abcdefghijklmnopqrstuvw"
"""What stands for a wavefront: the first is 1, the tenth a."""

NOTHING = "."

TOLD = 3
"""Lanes of a collision that are told one by one."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """The cells of a phase: cells[row][bank] is the wavefront that serves lane lanes[row] there; or None."""

    lanes: tuple[int, ...]
    cells: tuple[tuple[int | None, ...], ...]
    given: tuple[int, ...]
    """How many words every bank gives, or lanes it serves in turn: the most is the count of the phase."""
    in_turn: bool = False

    def lines(self) -> Iterator[str]:
        """The picture as plain text."""
        yield "   bank " + "".join(f"{bank:<8}" for bank in range(0, BANKS, 4)).rstrip()
        for lane, row in zip(self.lanes, self.cells, strict=True):
            yield f"lane {lane:>2} " + " ".join(NOTHING if own is None else MARKS[own] for own in row)
        counts = " ".join(MARKS[given - 1] if given else NOTHING for given in self.given)
        yield f"  {'turns' if self.in_turn else 'words'} {counts}"


def drawing_of(phase: Phase) -> Drawing:
    """A phase whose banks give their words in the order of their addresses, one a wavefront.

    Where lanes take turns, each has a wavefront of its own, those of one word in the order of the lanes.

    >>> from tilewise.check.banks import counted
    >>> (phase,) = counted("ld", 4, [0, 128, 128, 4]).phases
    >>> for line in drawing_of(phase).lines():
    ...     print(line[:23].rstrip())
       bank 0       4
    lane  0 1 . . . . . . .
    lane  1 2 . . . . . . .
    lane  2 2 . . . . . . .
    lane  3 . 1 . . . . . .
      words 2 1 . . . . . .
    """
    cells: dict[int, list[int | None]] = {lane: [None] * BANKS for lane in phase.lanes}
    given = [0] * BANKS
    for bank in phase.banks:
        served = _served(phase, bank)
        given[bank] = len(served)
        for wavefront, (_, lanes) in enumerate(served):
            for lane in lanes:
                cells[lane][bank] = wavefront
    return Drawing(phase.lanes, tuple(map(tuple, cells.values())), tuple(given), phase.in_turn)


def _served(phase: Phase, bank: int) -> list[tuple[int, tuple[int, ...]]]:
    """The word and the lanes of every wavefront that a bank takes."""
    words = phase.banks[bank].items()
    if phase.in_turn:
        return [(word, (lane,)) for word, lanes in words for lane in lanes]
    return list(words)


def drawn(phase: Phase) -> str:
    """The picture of a phase as plain text.

    >>> from tilewise.check.banks import counted
    >>> print(drawn(counted("st", 16, [0, 16]).phases[0]).splitlines()[1].rstrip(" ."))
    lane  0 1 1 1 1
    """
    return "\n".join(drawing_of(phase).lines())


def said(request: Request, number: int) -> str:
    """What one phase of a request is, in a line.

    >>> from tilewise.check.banks import counted
    >>> said(counted("ld", 4, [0, 128, 256, 4]), 0)
    'phase 0: lanes 0..3, 3 wavefronts: bank 0 gives 3 words'
    >>> said(counted("atom", 4, [0, 0, 128, 4]), 0)
    'phase 0: lanes 0..3, 3 wavefronts: bank 0 serves 3 lanes in turn'
    """
    phase = request.phases[number]
    if phase.busiest is None:
        return f"phase {number}: no lane is active"
    many = phase.wavefronts > 1
    does = f"serves {phase.wavefronts} lanes in turn" if phase.in_turn else f"gives {phase.wavefronts} words"
    why = f": bank {phase.busiest} {does}" if many else ""
    return f"phase {number}: {_lanes(phase.lanes)}, {phase.wavefronts} wavefront{'s' * many}{why}"


def collision(phase: Phase) -> str:
    """Which lanes ask the busiest bank for which bytes: the first of them; '' where nothing collides.

    >>> from tilewise.check.banks import counted
    >>> collision(counted("ld", 4, [0, 128, 256, 384, 4]).phases[0])
    'lane 0 asks it for byte 0, lane 1 for byte 128, lane 2 for byte 256, ...'
    >>> collision(counted("atom", 4, [0, 0, 128, 4]).phases[0])
    'lane 0 asks it for byte 0, lane 1 for byte 0, lane 2 for byte 128'
    """
    if phase.busiest is None or phase.wavefronts == 1:
        return ""
    served = _served(phase, phase.busiest)
    told = [f"lane {lanes[0]} for byte {word * WORD}" for word, lanes in served[:TOLD]]
    told[0] = told[0].replace(" for ", " asks it for ", 1)
    return ", ".join(told) + ", ..." * (len(served) > TOLD)


def _lanes(lanes: tuple[int, ...]) -> str:
    """The lanes of a phase, neighbours as a range."""
    if len(lanes) == 1:
        return f"lane {lanes[0]}"
    whole = len(lanes) == lanes[-1] - lanes[0] + 1
    return f"lanes {lanes[0]}..{lanes[-1]}" if whole else f"{len(lanes)} lanes of {lanes[0]}..{lanes[-1]}"
