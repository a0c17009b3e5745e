"""The worst request of an access as SVG: lanes by banks of shared memory, or sectors of global memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tilewise.check import banks, coalesce
from tilewise.check.banks import MARKS, Phase, collision, drawing_of
from tilewise.compiled.counts import SHARED
from tilewise.compiled.kernel import Row
from tilewise.core.errors import LayoutError
from tilewise.hardware.memory.banks import BANKS
from tilewise.hardware.memory.sectors import LINE, OPERATIONS, SECTOR
from tilewise.pictures.paper.svg import escaped

CELL = 13
SIDE, TOP = 52, 18
"""Room for the names of lanes, and for the numbers of banks."""
NOTE = 92
"""Room for the wavefronts of a phase, or for the lanes of a sector."""
GAP = 7
BYTE = 2
"""Pixels of a byte of global memory."""
MOST_LINES = 32
"""Lines of 128 bytes that are drawn."""

Addresses = Sequence[int | None]


def picture_of(row: Row) -> str:
    """Return the worst request of an access as an element of SVG, or an empty text without a request."""
    worst = row.worst.worst_side
    if worst is None or row.space not in ("shared", "global"):
        return ""
    addresses = worst[: row.worst.touch.supplied]
    try:
        return (_banks if row.space == "shared" else _sectors)(row, addresses)
    except LayoutError:  # a width that no instruction of the table has
        return ""


def _picture(width: int, height: int, title: str, words: str, parts: Iterable[str]) -> str:
    """Return the element; a picture without scripts, whose colours are those of the page."""
    return "".join(
        [
            f'<svg class="request" role="img" viewBox="0 0 {width} {height}" ',
            f'width="{width}" height="{height}">',
            f"<title>{escaped(title)}</title><desc>{escaped(words)}</desc>",
            *parts,
            "</svg>",
        ]
    )


# -- shared memory ---------------------------------------------------------------------------------------


def _banks(row: Row, addresses: Addresses) -> str:
    """Return a row for each lane and a column for each bank: red where a bank has several words to give."""
    request = banks.counted(SHARED.get(row.operation, row.operation), row.bytes, addresses)
    lanes = sum(len(phase.lanes) for phase in request.phases)
    height = TOP + CELL * lanes + GAP * len(request.phases)
    title = f"{request.wavefronts} wavefronts where {request.ideal} would do, lane by lane and bank by bank"
    words = "; ".join(collision(phase) for phase in request.phases if phase.wavefronts)
    return _picture(SIDE + CELL * BANKS + NOTE, height, title, words, _phases(request.phases, addresses))


def _phases(phases: Sequence[Phase], addresses: Addresses) -> Iterator[str]:
    yield f'<text class="dim" x="0" y="{TOP - 6}">bank</text>'
    for bank in range(0, BANKS, 4):
        yield f'<text class="dim" x="{SIDE + CELL * bank}" y="{TOP - 6}">{bank}</text>'
    top = TOP
    for phase in phases:
        drawing = drawing_of(phase)
        high = CELL * len(drawing.lanes)
        if not high:
            continue
        yield f'<path class="empty" d="M{SIDE} {top}h{CELL * BANKS}v{high}h-{CELL * BANKS}z"/>'
        yield f'<path class="rule" d="{_ruled(top, len(drawing.lanes))}"/>'
        for number, (lane, cells) in enumerate(zip(drawing.lanes, drawing.cells, strict=True)):
            yield from _lane(top + CELL * number, lane, addresses[lane], cells, drawing.given)
        turns = f"{phase.wavefronts} wavefront{'s' * (phase.wavefronts > 1)}"
        x, middle = SIDE + CELL * BANKS + 8, top + high // 2
        marked = "hot" if phase.wavefronts > 1 else "dim"
        yield f'<path class="brace" d="M{x - 4} {top + 1}h4v{high - 2}h-4"/>'
        yield f'<text class="{marked}" x="{x + 6}" y="{middle + 4}">{turns}</text>'
        top += high + GAP


def _ruled(top: int, rows: int) -> str:
    """Return thin lines between lanes, and between groups of four banks."""
    across = (f"M{SIDE} {top + CELL * row}h{CELL * BANKS}" for row in range(rows + 1))
    down = (f"M{SIDE + CELL * bank} {top}v{CELL * rows}" for bank in range(0, BANKS + 1, 4))
    return "".join([*across, *down])


def _lane(
    y: int, lane: int, address: int | None, cells: Sequence[int | None], given: Sequence[int]
) -> Iterator[str]:
    """Yield the words of one lane: each with its wavefront."""
    yield f"<g><title>lane {lane} asks for byte {address}</title>"
    yield f'<text class="dim" x="0" y="{y + 10}">lane {lane}</text>'
    for bank, wavefront in enumerate(cells):
        if wavefront is not None:
            x, role = SIDE + CELL * bank, "hot" if given[bank] > 1 else "fine"
            yield f'<path class="{role}" d="M{x + 1} {y + 1}h{CELL - 1}v{CELL - 1}h-{CELL - 1}z"/>'
            if given[bank] > 1:
                yield f'<text class="mark" x="{x + CELL / 2 + 0.5}" y="{y + 10}">{MARKS[wavefront]}</text>'
    yield "</g>"


# -- global memory ---------------------------------------------------------------------------------------


def _sectors(row: Row, addresses: Addresses) -> str:
    """Return the lines of 128 bytes that a request touches: what moves, and in it what lanes ask for."""
    operation = row.operation if row.operation in OPERATIONS else "ld"
    request = coalesce.counted(operation, min(row.bytes, 16), addresses)
    moved: dict[int, set[int]] = {}
    for group in request.groups:
        for sector, lanes in group.items():
            moved.setdefault(sector, set()).update(lanes)
    lines = sorted({sector * SECTOR // LINE for sector in moved})
    drawn = lines[:MOST_LINES]
    two = len(drawn) > MOST_LINES // 2
    each = -(-len(drawn) // 2) if two else len(drawn)
    pitch, wide = 18, SIDE + BYTE * LINE + 4 * 3 + NOTE
    title = f"{request.sectors} sectors where {request.ideal} would do: "
    title += f"{request.useful} bytes of {SECTOR * request.sectors} are used"
    more = (
        []
        if len(lines) == len(drawn)
        else [f'<text class="dim" x="0" y="{pitch * each + 14}">and more</text>']
    )
    parts = [
        part
        for number, line in enumerate(drawn)
        for part in _line(
            wide * (number // each),
            pitch * (number % each),
            line,
            (line - lines[0]) * LINE,
            moved,
            addresses,
            row.bytes,
        )
    ]
    height = pitch * each + (18 if more else 2)
    return _picture(wide * (1 + two), height, title, title, [*parts, *more])


def _line(
    x: int, y: int, line: int, offset: int, moved: dict[int, set[int]], addresses: Addresses, bytes: int
) -> Iterator[str]:
    """Yield one line: its sectors side by side, each with the bytes that lanes ask for."""
    who: set[int] = set()
    yield f'<text class="dim" x="{x}" y="{y + 12}">+{offset}</text>'
    for place in range(LINE // SECTOR):
        sector, left = line * LINE // SECTOR + place, x + SIDE + place * (SECTOR * BYTE + 3)
        lanes = moved.get(sector, set())
        who |= lanes
        role = "moved" if lanes else "empty"
        yield f'<path class="{role}" d="M{left} {y + 2}h{SECTOR * BYTE}v13h-{SECTOR * BYTE}z"/>'
        runs = _runs({byte for lane in lanes for byte in _bytes(addresses[lane], bytes, sector)})
        path = "".join(
            f"M{left + BYTE * first} {y + 2}h{BYTE * long}v13h-{BYTE * long}z" for first, long in runs
        )
        if path:
            yield f'<path class="fine" d="{path}"/>'
    right = x + SIDE + 4 * (SECTOR * BYTE + 3) + 6
    yield f'<text class="dim" x="{right}" y="{y + 12}">{lanes_words(sorted(who))}</text>'


def _bytes(address: int | None, bytes: int, sector: int) -> range:
    """Return the bytes of a sector that a lane asks for."""
    if address is None:
        return range(0)
    start = address - sector * SECTOR
    return range(max(0, start), min(SECTOR, start + bytes))


def _runs(places: set[int]) -> Iterator[tuple[int, int]]:
    """Yield (first, length) of the runs of some numbers."""
    for first in sorted(places):
        if first - 1 not in places:
            long = 1
            while first + long in places:
                long += 1
            yield first, long


def lanes_words(lanes: Sequence[int]) -> str:
    """Return lanes in few words.

    >>> lanes_words([3]), lanes_words([0, 1, 2, 3]), lanes_words([0, 8, 9, 31])
    ('lane 3', 'lanes 0-3', 'lanes 0, 8-9, 31')
    """
    runs = [str(first) if long == 1 else f"{first}-{first + long - 1}" for first, long in _runs({*lanes})]
    words = ", ".join(runs) if len(runs) <= 3 else f"{', '.join(runs[:2])}, ... {runs[-1]}"
    return f"lane{'s' * (len(lanes) > 1)} {words}"
