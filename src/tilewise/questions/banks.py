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

from functools import partial

from tilewise.core.errors import Refused
from tilewise.questions.accesses import (
    ACCESS,
    ADDRESSES,
    LAYOUT,
    NARROWER,
    REQUEST,
    addresses_in,
    listed,
    refuse_two_questions,
    tile_and_base,
    tile_costs,
    unserved,
    width_in,
)
from tilewise.questions.asking import asks
from tilewise.questions.report import Report
from tilewise.questions.texts import Texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Unpack

    from tilewise.check.banks import Request
    from tilewise.hardware.memory.banks import Operation
    from tilewise.questions.asking import LayoutText, Many, Number, TensorOptions, Type


@asks(
    {
        "one request by its addresses": {
            "bytes": "B: bytes of one lane (16 for ldmatrix and stmatrix)",
            "addresses": ADDRESSES,
        }
    },
    layout=LAYOUT,
    access=ACCESS,
    base="N: the address of the tile in shared memory (0)",
    op="OP: ld, st, ldmatrix, stmatrix, cp.async, atom or tma",
    request=REQUEST,
    phases="draw the phases of the worst request",
)
def banks(
    layout: LayoutText | None = None,
    dtype: Type | None = None,
    *,
    access: Many = (),
    base: Number | None = None,
    op: str | None = None,
    request: Number | None = None,
    phases: bool = False,
    bytes: Number | None = None,
    addresses: str | Sequence[int | None] | None = None,
    **reading: Unpack[TensorOptions],
) -> Report:
    """Return the wavefronts of every access of a tile, or of one request, and the fewest that could be.

    >>> report = banks("S[(64, 64) : (64, 1)]", "bf16", access="ldmatrix.x4")
    >>> report.wavefronts, report.ideal
    (512, 64)
    """
    of_tiles = {"access": access, "base": base, "request": request}
    of_requests = {"bytes": bytes, "addresses": addresses}
    refuse_two_questions(layout, of_tiles, of_requests, "banks", "--op ld --bytes 4 --addresses 0,128,256")
    if layout is None:
        assert addresses is not None
        return _of_addresses(op or "ld", bytes, addresses, phases)
    from tilewise.check.banks import conflicts

    texts, accesses = Texts(dtype, **reading), listed(access)
    tile, address = tile_and_base(texts, layout, accesses, base, "banks")
    try:
        costs = [conflicts(tile, each, dtype=texts.dtype, operation=op, base=address) for each in accesses]
    except Refused as no:
        return texts.reported(unserved(no, "wavefronts", NARROWER))
    fields, lines, shown = tile_costs(
        texts,
        (tile, address),
        request,
        costs,
        ("wavefronts", "ideal", "excess", "ways"),
        lambda cost: (cost.wavefronts, cost.ideal, cost.excess, cost.ways),
    )
    drawn = [(name, worst) for name, _, worst in shown] if phases or request is not None else []
    lines += [line for name, _, worst in shown if not drawn for line in _why(name, worst)]
    texts.note(*_unknown([(cost.access.operation, cost.access.bytes) for cost in costs]))
    return texts.report(fields, partial(_print, lines, drawn) if drawn else "\n".join(lines))


def _of_addresses(
    op: str, bytes: Number | None, addresses: str | Sequence[int | None], phases: bool
) -> Report:
    from tilewise.check.banks import collision, counted, said
    from tilewise.hardware.memory.banks import Operation

    operation = Operation.of(op)
    request = counted(operation, width_in(bytes, operation.widths, 16), addresses_in(addresses))
    several = sum(len(phase.lanes) for phase in request.phases) > 1
    merged = f"; lanes n and n^{request.merged} ask as one" if request.merged and several else ""
    plural = "" if request.wavefronts == 1 else "s"
    lines = [f"{request.wavefronts} wavefront{plural}, ideal {request.ideal}{merged}"]
    for number, phase in enumerate([] if phases else request.phases):
        why = collision(phase)
        lines += [f"  {said(request, number)}", *([f"    {why}"] if why else [])]
    text = partial(_print, lines, [("", request)]) if phases else "\n".join(lines)
    return Report(request.as_dict(), text).noted(*_unknown([(operation, request.bytes)]))


def _why(name: str, request: Request) -> Iterator[str]:
    """Yield the phase that takes most, where there are conflicts, and the lanes whose words meet there."""
    from tilewise.check.banks import collision, said

    if request.ways > 1:
        worst = [phase.wavefronts for phase in request.phases].index(request.ways)
        yield f"{name}, {said(request, worst)}"
        yield f"  {collision(request.phases[worst])}"


def _print(lines: Sequence[str], drawn: Sequence[tuple[str, Request]]) -> None:
    """Print lines, and the phases of requests below them."""
    from tilewise.check.banks import said
    from tilewise.pictures.corner import phase_lines
    from tilewise.pictures.terminal import print_out

    print(*lines, sep="\n")
    for name, request in drawn:
        for number, phase in enumerate(request.phases):
            print(f"\n{name}{', ' if name else ''}{said(request, number)}")
            print_out(phase_lines(phase))


def _unknown(counted: Sequence[tuple[Operation, int]]) -> list[str]:
    """Return the gaps in what is known of the operations that were counted, as a note."""
    gaps = {operation.name: operation.unknown for operation, bytes in counted if operation.guessed(bytes)}
    more = {operation.name: operation.least for operation, _ in counted if operation.least}
    notes = [f"of {name} it is not known {unknown}" for name, unknown in gaps.items()]
    notes += [f"{name} takes at least so many: {least}" for name, least in more.items()]
    return ["; ".join(notes)] if notes else []
