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
    from collections.abc import Iterator, Sequence

    from tilewise.check.access import Access
    from tilewise.check.coalesce import Coalescing, Transfer
    from tilewise.core.layout import Layout


def arguments(parser: argparse.ArgumentParser) -> None:
    """[LAYOUT --access A ...] or [--bytes B --addresses A,A,...], --op, --request, --widths."""
    access_arguments(parser, "global", "ld, st or cp.async")
    parser.add_argument("--widths", action="store_true", help="narrower vectors too")


def answer(args: argparse.Namespace) -> Answer:
    """The sectors of every access, or of one request."""
    one = by_addresses(args, "coalesce", "--bytes 4 --addresses 0,128,256", of_tiles=("widths",))
    return _of_addresses(args) if one else _of_layout(args)


def _of_addresses(args: argparse.Namespace) -> Answer:
    from tilewise.check.coalesce import counted

    bytes = width_from(args.bytes, (), 4)
    found = counted(args.op or "ld", bytes, requested(args.addresses))
    return Answer(found.as_dict(), said(found))


def _of_layout(args: argparse.Namespace) -> Answer:
    from tilewise.check.coalesce import coalescing

    layout, base = tile_and_base(args, "coalesce")
    try:
        accesses = [access for asked in args.access for access in _widths(asked, layout, base, args)]
        found = [coalescing(layout, access, dtype=args.dtype, base=base) for access in accesses]
    except Refused as no:
        return refused(no, "sectors", NARROWER)
    shown = requests_shown(found, args.request)
    data = tile_data(args, layout, base, shown, "sectors")
    why = [
        f"{named(own, at)}: {said(request)}"
        for own, at, request in shown
        if request.excess or args.request is not None
    ]
    return Answer(data, "\n".join([*_rows(found), *idle_lines(found), *why]))


def _widths(asked: str, layout: Layout, base: int, args: argparse.Namespace) -> Iterator[Access]:
    """The access, or with --widths the widest of its kind and all that are narrower."""
    from tilewise.check.access import access_of, widest

    if not args.widths:
        yield access_of(asked, layout, args.dtype, args.op, base)
        return
    width = widest(asked, layout, args.dtype, args.op, base)
    yield width.access
    yield from width.narrower


def _rows(found: Sequence[Coalescing]) -> list[str]:
    return access_lines(found, ("sectors", "ideal", "excess", "lines", "used", "aligned"), _numbers)


def _numbers(found: Coalescing) -> tuple[object, ...]:
    counts = found.sectors, found.ideal, found.excess, found.lines
    return *counts, f"{found.efficiency:.0%}", found.alignment


def said(found: Transfer) -> str:
    """One request in a sentence."""
    from tilewise.hardware.memory.sectors import SECTOR

    text = (
        f"{_many(found.useful, 'byte')} in {_many(found.sectors, 'sector')} of {_many(found.lines, 'line')}"
    )
    if not found.excess:
        return text
    into = (found.first or 0) % SECTOR
    begins = f"; the first byte is {into} into its sector" if into else ""
    return f"{text}; {_many(found.ideal, 'sector')} would do{begins}"


def _many(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
