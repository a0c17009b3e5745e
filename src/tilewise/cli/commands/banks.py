"""Bank conflicts: how many wavefronts an access of shared memory takes, and how few it could.

  tilewise banks 'S[(64, 64) : (64, 1)]' --dtype bf16 --access row:16B --access ldmatrix.x4
  tilewise banks 'Swizzle<3,3,3> o S[(64, 64) : (64, 1)]' --dtype bf16 --access ldmatrix.x4 --phases
  tilewise banks 'S[(32, 32) : (32, 1)]' --dtype f32 --access col:4B --request 7
  tilewise banks --op ld --bytes 16 --addresses 0,128,256,x,512,640,768,896
  tilewise banks --op st --bytes 4 --addresses 0,4,128 --phases

LAYOUT is a tile of shared memory, in elements of --dtype, which begins at --base; its swizzle counts from
there. An access says which elements each lane of a warp asks for, one instruction after the other: row:16B,
col:2B, ldmatrix.x4.trans, stmatrix.x2, mma.A:m16n8k16, tma, or a layout [lane, element] or [request, lane,
element] to flat indices of the tile, such as 'S[(32, 8) : (64, 1)]'. --op says load or store where its name
does not; behind one access it stands as row:16B@cp.async or col:2B@st. Fewer lanes than 32 leave the others
idle, and the answer says so.

Without LAYOUT one request is counted: --addresses has one byte address a lane, x where a lane is inactive.

wavefronts: what the profiler counts; ideal: 128 bytes of the active lanes each, the fewest;
ways: wavefronts of the worst phase.
--phases draws the request that takes most: a row a lane, a column a bank, in each cell the wavefront that
serves it, a to w after 9. --request I draws another. The counts are those of an H200: the page on bank
conflicts says how that is known, and what is a guess.
"""

from __future__ import annotations

import argparse

from tilewise.cli.accesses import (
    NARROWER,
    access_arguments,
    access_lines,
    by_addresses,
    idle_lines,
    named,
    refused,
    requested,
    requests_shown,
    tile_and_base,
    tile_data,
    width_from,
)
from tilewise.cli.answer import Answer
from tilewise.core.errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewise.check.banks import Conflicts, Request
    from tilewise.hardware.memory.banks import Operation


def arguments(parser: argparse.ArgumentParser) -> None:
    """[LAYOUT --access A ...] or [--bytes B --addresses A,A,...], --op, --request, --phases."""
    access_arguments(
        parser,
        "shared",
        "ld, st, ldmatrix, stmatrix, cp.async, atom or tma",
        " (16 for ldmatrix and stmatrix)",
    )
    parser.add_argument("--phases", action="store_true", help="draw the phases of the worst request")


def answer(args: argparse.Namespace) -> Answer:
    """The wavefronts of every access, or of one request."""
    one = by_addresses(args, "banks", "--op ld --bytes 4 --addresses 0,128,256", of_tiles=())
    return _of_addresses(args) if one else _of_layout(args)


# -- one request -----------------------------------------------------------------------------------


def _of_addresses(args: argparse.Namespace) -> Answer:
    from tilewise.check.banks import counted
    from tilewise.hardware.memory.banks import Operation

    operation = Operation.of(args.op or "ld")
    request = counted(operation, width_from(args.bytes, operation.widths, 16), requested(args.addresses))
    drawn = [("", request)] if args.phases else []
    lines = [_counts(request), *([] if args.phases else _sentences(request))]
    return Answer(request.as_dict(), _Text(lines, drawn)).noted(_unknown([(operation, request.bytes)]))


def _counts(request: Request) -> str:
    several = sum(len(phase.lanes) for phase in request.phases) > 1
    merged = f"; lanes n and n^{request.merged} ask as one" if request.merged and several else ""
    plural = "" if request.wavefronts == 1 else "s"
    return f"{request.wavefronts} wavefront{plural}, ideal {request.ideal}{merged}"


def _sentences(request: Request) -> list[str]:
    from tilewise.check.banks import collision, said

    lines = []
    for number, phase in enumerate(request.phases):
        why = collision(phase)
        lines += [f"  {said(request, number)}", *([f"    {why}"] if why else [])]
    return lines


# -- accesses of a tile ----------------------------------------------------------------------------


def _of_layout(args: argparse.Namespace) -> Answer:
    from tilewise.check.banks import conflicts

    layout, base = tile_and_base(args, "banks")
    try:
        found = [
            conflicts(layout, access, dtype=args.dtype, operation=args.op, base=base)
            for access in args.access
        ]
    except Refused as no:
        return refused(no, "wavefronts", NARROWER)
    shown = requests_shown(found, args.request)
    data = tile_data(args, layout, base, shown, "wavefronts")
    draws = args.phases or args.request is not None
    drawn = [(named(own, at), request) for own, at, request in shown if draws]
    why = [line for own, at, request in shown if not draws for line in _why(own, at, request)]
    asked = [(own.access.operation, own.access.bytes) for own in found]
    return Answer(data, _Text([*_rows(found), *idle_lines(found), *why], drawn)).noted(_unknown(asked))


def _rows(found: Sequence[Conflicts]) -> list[str]:
    return access_lines(found, ("wavefronts", "ideal", "excess", "ways"), _numbers)


def _numbers(found: Conflicts) -> tuple[int, ...]:
    return found.wavefronts, found.ideal, found.excess, found.ways


def _why(found: Conflicts, number: int, request: Request) -> list[str]:
    """The phase that takes most, where there are conflicts, and whose words meet there."""
    from tilewise.check.banks import collision, said

    if request.ways <= 1:
        return []
    worst = max(range(len(request.phases)), key=lambda phase: request.phases[phase].wavefronts)
    return [f"{named(found, number)}, {said(request, worst)}", f"  {collision(request.phases[worst])}"]


# -- for people ------------------------------------------------------------------------------------


class _Text:
    """Lines, and phases drawn below them: printed when the answer is a text."""

    def __init__(self, lines: Sequence[str], drawn: Sequence[tuple[str, Request]]) -> None:
        self.lines, self.drawn = lines, drawn

    def __call__(self) -> None:
        print(*self.lines, sep="\n")
        if not self.drawn:
            return
        from tilewise.check.banks import said
        from tilewise.show.phases import phase_lines
        from tilewise.show.terminal import print_out

        for name, request in self.drawn:
            for number, phase in enumerate(request.phases):
                print(f"\n{name}{', ' if name else ''}{said(request, number)}")
                print_out(phase_lines(phase))


def _unknown(asked: Sequence[tuple[Operation, int]]) -> str:
    """What is not known of the operations that were counted."""
    told = {operation.name: operation.unknown for operation, bytes in asked if operation.guessed(bytes)}
    return "; ".join(f"of {name} it is not known {unknown}" for name, unknown in told.items())
