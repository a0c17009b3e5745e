"""Coalescing: the sectors of global memory that an access takes, and how few would hold its bytes.

  tilewise coalesce 'S[(64, 64) : (64, 1)]' --dtype f16 --access row:16B --access col:2B
  tilewise coalesce 'S[(64, 64) : (66, 1)]' --dtype f16 --access row --widths
  tilewise coalesce 'S[4096 : 3]' --dtype f32 --access row:4B@st --base 0x40 --request 1
  tilewise coalesce --bytes 4 --addresses 0,4,8,x,16,1024
  tilewise coalesce --op st --bytes 16 --addresses 16,32,48,64

LAYOUT is a tile of global memory, in elements of --dtype, which begins at --base. An access says which
elements each lane of a warp asks for, one instruction after the other, as in `tilewise banks`: row:16B,
col:2B, mma.D:m16n8k16:f32, or a layout [lane, element] or [request, lane, element] to flat indices of the
tile, such as 'S[(32, 8) : (64, 1)]'. Without a width it has the widest vectors that there are; --widths
shows the narrower ones as well. --op says ld, st or cp.async where the access does not.

Without LAYOUT one request is counted: --addresses has one byte address a lane, x where a lane is inactive.

sectors: different blocks of 32 bytes that a request asks for; ideal: the fewest that hold as many different
bytes; lines: of 128 bytes, a tag each; used: the part of the moved bytes that lanes ask for. Below the table
is the request that loses most; --request I tells of another. An H200 counts
loads and stores so; the page on coalescing says how that is known.
"""

from __future__ import annotations

import argparse

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
    from tilewise.check.access import Access
    from tilewise.check.coalesce import Coalescing, Transfer


def arguments(parser: argparse.ArgumentParser) -> None:
    """[LAYOUT --access A ...] or [--bytes B --addresses A,A,...], --op, --request, --widths."""
    cost_options(parser, "global", "ld, st or cp.async")
    parser.add_argument("--widths", action="store_true", help="narrower vectors too")


def answer(args: argparse.Namespace) -> Answer:
    """Return the sectors of every access, or of one request."""
    from tilewise.check.access import access_of, widest
    from tilewise.check.coalesce import coalescing, counted

    if by_addresses(args, "coalesce", "--bytes 4 --addresses 0,128,256", ("widths",)):
        request = counted(args.op or "ld", width_from(args.bytes, (), 4), requested(args.addresses))
        return Answer(request.as_dict(), said(request))
    layout, base = tile_and_base(args, "coalesce")
    accesses: list[Access] = []
    try:
        for text in args.access:
            if args.widths:
                width = widest(text, layout, args.dtype, args.op, base)
                accesses += [width.access, *width.narrower]
            else:
                accesses.append(access_of(text, layout, args.dtype, args.op, base))
        found = [coalescing(layout, access, dtype=args.dtype, base=base) for access in accesses]
    except Refused as no:
        return unserved(no, "sectors", NARROWER)
    head = ("sectors", "ideal", "excess", "lines", "used", "aligned")
    data, lines, shown = tile_costs(args, (layout, base), found, head, _counts)
    why = [f"{name}: {said(own)}" for name, _, own in shown if own.excess or args.request is not None]
    return Answer(data, "\n".join([*lines, *why]))


def _counts(found: Coalescing) -> tuple[object, ...]:
    counts = found.sectors, found.ideal, found.excess, found.lines
    return *counts, f"{found.efficiency:.0%}", found.alignment


def said(found: Transfer) -> str:
    """Return one request in a sentence."""
    from tilewise.hardware.memory.sectors import SECTOR

    def many(count: int, word: str) -> str:
        return f"{count:,} {word}{'' if count == 1 else 's'}"

    text = f"{many(found.useful, 'byte')} in {many(found.sectors, 'sector')} of {many(found.lines, 'line')}"
    if not found.excess:
        return text
    into = (found.first or 0) % SECTOR
    begins = f"; the first byte is {into} into its sector" if into else ""
    return f"{text}; {many(found.ideal, 'sector')} would do{begins}"
