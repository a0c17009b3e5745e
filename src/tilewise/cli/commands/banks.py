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
from functools import partial

from tilewise.cli.accesses import (
    NARROWER,
    by_addresses,
    cost_options,
    requested,
    tile_and_base,
    tile_costs,
    unserved,
    width_from,
)
from tilewise.cli.answer import Answer
from tilewise.core.errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tilewise.check.banks import Request
    from tilewise.hardware.memory.banks import Operation


def arguments(parser: argparse.ArgumentParser) -> None:
    """[LAYOUT --access A ...] or [--bytes B --addresses A,A,...], --op, --request, --phases."""
    operations = "ld, st, ldmatrix, stmatrix, cp.async, atom or tma"
    cost_options(parser, "shared", operations, " (16 for ldmatrix and stmatrix)")
    parser.add_argument("--phases", action="store_true", help="draw the phases of the worst request")


def answer(args: argparse.Namespace) -> Answer:
    """Return the wavefronts of every access, or of one request."""
    if by_addresses(args, "banks", "--op ld --bytes 4 --addresses 0,128,256"):
        return _of_addresses(args)
    from tilewise.check.banks import conflicts

    layout, base = tile_and_base(args, "banks")
    try:
        found = [
            conflicts(layout, access, dtype=args.dtype, operation=args.op, base=base)
            for access in args.access
        ]
    except Refused as no:
        return unserved(no, "wavefronts", NARROWER)
    data, lines, shown = tile_costs(
        args,
        (layout, base),
        found,
        ("wavefronts", "ideal", "excess", "ways"),
        lambda own: (own.wavefronts, own.ideal, own.excess, own.ways),
    )
    drawn = [(name, request) for name, _, request in shown] if args.phases or args.request is not None else []
    lines += [line for name, _, request in shown if not drawn for line in _why(name, request)]
    unknown = _unknown([(own.access.operation, own.access.bytes) for own in found])
    return Answer(data, partial(_print, lines, drawn)).noted(unknown)


def _of_addresses(args: argparse.Namespace) -> Answer:
    from tilewise.check.banks import collision, counted, said
    from tilewise.hardware.memory.banks import Operation

    operation = Operation.of(args.op or "ld")
    request = counted(operation, width_from(args.bytes, operation.widths, 16), requested(args.addresses))
    several = sum(len(phase.lanes) for phase in request.phases) > 1
    merged = f"; lanes n and n^{request.merged} ask as one" if request.merged and several else ""
    plural = "" if request.wavefronts == 1 else "s"
    lines = [f"{request.wavefronts} wavefront{plural}, ideal {request.ideal}{merged}"]
    for number, phase in enumerate([] if args.phases else request.phases):
        why = collision(phase)
        lines += [f"  {said(request, number)}", *([f"    {why}"] if why else [])]
    drawn = [("", request)] if args.phases else []
    unknown = _unknown([(operation, request.bytes)])
    return Answer(request.as_dict(), partial(_print, lines, drawn)).noted(unknown)


def _why(name: str, request: Request) -> Iterator[str]:
    """Return the phase that takes most, where there are conflicts, and the lanes whose words meet there."""
    from tilewise.check.banks import collision, said

    if request.ways > 1:
        worst = [phase.wavefronts for phase in request.phases].index(request.ways)
        yield f"{name}, {said(request, worst)}"
        yield f"  {collision(request.phases[worst])}"


def _print(lines: Sequence[str], drawn: Sequence[tuple[str, Request]]) -> None:
    """Print lines, and the phases of requests below them."""
    print(*lines, sep="\n")
    if not drawn:
        return
    from tilewise.check.banks import said
    from tilewise.show.phases import phase_lines
    from tilewise.show.terminal import print_out

    for name, request in drawn:
        for number, phase in enumerate(request.phases):
            print(f"\n{name}{', ' if name else ''}{said(request, number)}")
            print_out(phase_lines(phase))


def _unknown(counted: Sequence[tuple[Operation, int]]) -> str:
    """Return the gaps in what is known of the operations that were counted."""
    told = {operation.name: operation.unknown for operation, bytes in counted if operation.guessed(bytes)}
    return "; ".join(f"of {name} it is not known {unknown}" for name, unknown in told.items())
