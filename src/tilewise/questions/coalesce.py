"""Coalescing: the sectors of global memory that an access takes, and how few would hold its bytes.

  tilewise coalesce 'S[(64, 64) : (64, 1)]' --dtype f16 --access row:16B --access col:2B
  tilewise coalesce 'S[(64, 64) : (66, 1)]' --dtype f16 --access row --widths
  tilewise coalesce 'S[4096 : 3]' --dtype f32 --access row:4B@st --base 0x40 --request 1
  tilewise coalesce 'S[(8, 4, 4) : (4@laneid, 1@laneid, 1@reg)]' --dtype f32
  tilewise coalesce --bytes 4 --addresses 0,4,8,x,16,1024
  tilewise coalesce --op st --bytes 16 --addresses 16,32,48,64

LAYOUT is a tile of global memory, in elements of --dtype, which begins at --base. An access says which
elements each lane of a warp asks for, one instruction after the other, as in `tilewise banks`: row:16B,
col:2B, mma.D:m16n8k16:f32, or a layout [lane, element] or [request, lane, element] to flat indices of the
tile, such as 'S[(32, 8) : (64, 1)]'. Without a width it has the widest vectors that there are; --widths
shows the narrower ones as well. --op says ld, st or cp.async where the access does not.

A LAYOUT over threads and registers, such as Triton's #ttg.blocked, may stand without an access: the tensor of
its shape lies row-major, and each thread moves its own elements in the widest vectors.

Without LAYOUT one request is counted: --addresses has one byte address a lane, x where a lane is inactive.

sectors: different blocks of 32 bytes that a request asks for; ideal: the fewest that hold as many different
bytes; lines: of 128 bytes, a tag each; used: the part of the moved bytes that lanes ask for. Below the table
is the request that loses most; --request I tells of another. An H200 counts
loads and stores so; the page on coalescing says how that is known.
"""

from __future__ import annotations

from tilewise.core.builders import S
from tilewise.core.errors import Refused
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
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
    from collections.abc import Sequence
    from typing import Unpack

    from tilewise.check.access import Access
    from tilewise.check.coalesce import Coalescing, Transfer
    from tilewise.questions.asking import LayoutText, Many, Number, TensorOptions, Type

THREADS = ("laneid", "tid_in_wg", "tx")
"""Axes of threads, of which lanes are counted."""


@asks(
    {"one request by its addresses": {"bytes": "B: bytes of one lane", "addresses": ADDRESSES}},
    layout=LAYOUT,
    access=ACCESS,
    base="N: the address of the tile in global memory (0)",
    op="OP: ld, st or cp.async",
    request=REQUEST,
    widths="narrower vectors too",
)
def coalesce(
    layout: LayoutText | None = None,
    dtype: Type | None = None,
    *,
    access: Many = (),
    base: Number | None = None,
    op: str | None = None,
    request: Number | None = None,
    widths: bool = False,
    bytes: Number | None = None,
    addresses: str | Sequence[int | None] | None = None,
    **reading: Unpack[TensorOptions],
) -> Report:
    """Return the sectors of every access of a tile, or of one request, and how few would hold its bytes.

    >>> report = coalesce("S[(64, 64) : (64, 1)]", "f16", access="col:2B")
    >>> report.sectors, report.ideal
    (4096, 256)
    """
    from tilewise.check.access import access_of, widest
    from tilewise.check.coalesce import coalescing, counted

    of_tiles = {"access": access, "base": base, "request": request, "widths": widths}
    of_requests = {"bytes": bytes, "addresses": addresses}
    refuse_two_questions(layout, of_tiles, of_requests, "coalesce", "--bytes 4 --addresses 0,128,256")
    if layout is None:
        assert addresses is not None
        transfer = counted(op or "ld", width_in(bytes, (), 4), addresses_in(addresses))
        return Report(transfer.as_dict(), said(transfer))
    texts, given = Texts(dtype, **reading), listed(access)
    if not given:
        layout, given = _held_by_threads(texts, layout)
    tile, address = tile_and_base(texts, layout, given, base, "coalesce")
    accesses: list[Access] = []
    try:
        for each in given:
            if widths:
                width = widest(each, tile, texts.dtype, op, address)
                accesses += [width.access, *width.narrower]
            else:
                accesses.append(access_of(each, tile, texts.dtype, op, address))
        costs = [coalescing(tile, each, dtype=texts.dtype, base=address) for each in accesses]
    except Refused as no:
        return texts.reported(unserved(no, "sectors", NARROWER))
    head = ("sectors", "ideal", "excess", "lines", "used", "aligned")
    fields, lines, shown = tile_costs(texts, (tile, address), request, costs, head, _counts)
    why = [f"{name}: {said(each)}" for name, _, each in shown if each.excess or request is not None]
    return texts.report(fields, "\n".join([*lines, *why]))


def _held_by_threads(texts: Texts, layout: LayoutText) -> tuple[LayoutText, list[str | Layout]]:
    """Return a row-major tensor, and its layout over threads and registers as the access of it.

    Any other layout is a tile without an access.
    """
    text, _ = texts.told_by(layout, "dtype")
    held = texts.layout(text)
    if not any(axis.name in THREADS for axis in held.axes):
        return text, []
    texts.note("the tensor lies row-major, and each thread moves its own elements")
    return S[extents_of(held.shape)], [held]


def _counts(found: Coalescing) -> tuple[object, ...]:
    counts = found.sectors, found.ideal, found.excess, found.lines
    return *counts, f"{found.efficiency:.0%}", found.alignment or "-"


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
