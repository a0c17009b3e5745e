"""The widest vectors with which an access can be made, and what blocks wider ones.

  tilewise vector 'S[(64, 96) : (100, 1)]' --dtype f16
  tilewise vector 'S[(64, 64) : (1, 64)]' --dtype f16 --access row --access col
  tilewise vector 'Swizzle<3,3,3> o S[(64, 64) : (64, 1)]' --dtype bf16 --access mma.A:m16n8k16 --base 0x400
  tilewise vector 'S[(64, 64) : (64, 1)]' --dtype f32 --access 'S[(32, 8) : (64, 1)]' --op st
  tilewise vector 'S[(64, 96) : (100, 1)]' --dtype f16 --access row:16B

A lane moves 1, 2, 4, 8 or 16 neighbouring bytes, from an address that is a multiple of their number. LAYOUT
is a tile of memory, in elements of --dtype, which begins at --base. An access says which elements each lane
asks for, as in `tilewise banks`; without one, lanes go along the rows.

What blocks is the first lane that asks for what no instruction moves: elements that are no neighbours, or
that begin at no multiple of the width; the tile's own address; the end of the tile or of a row; the elements
that a lane holds. Exit code 1 where no width can be moved, or where an access says a width that cannot be.
"""

from __future__ import annotations

import argparse

from tilewise.cli.accesses import access_options, tile_and_base, unserved
from tilewise.cli.answer import NO, YES, Answer, refusal_data, witness_data
from tilewise.cli.arguments import layout_options
from tilewise.cli.hints import in_a_shell
from tilewise.core.errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tilewise.check.access import Width


def arguments(parser: argparse.ArgumentParser) -> None:
    """LAYOUT --dtype T [--access A ...] [--base N] [--op OP]."""
    parser.add_argument("layout", metavar="LAYOUT", help="a tile, or - for standard input")
    access_options(parser, "such as row (that is meant) or col", "", "ld, st or cp.async")
    layout_options(parser)


def answer(args: argparse.Namespace) -> Answer:
    """The widest vectors of every access; no, where one has none."""
    from tilewise.check.access import widest

    args.access = args.access or ["row"]
    layout, base = tile_and_base(args, "vector")
    try:
        found = [widest(asked, layout, args.dtype, args.op, base) for asked in args.access]
    except Refused as no:
        return unserved(no, "accesses")
    data = {"layout": str(layout), "dtype": args.dtype, "base": base, "accesses": list(map(_data, found))}
    refusals = [own.refusal for own in found if own.refusal]
    if refusals:
        data |= refusal_data(refusals[0])
    lines = "\n".join(line for own in found for line in _lines(own))
    return Answer(data, lines, NO if refusals else YES)


def _data(found: Width) -> dict[str, Any]:
    asked = {"asked": found.asked} if found.asked else {}
    return found.as_dict() | {"witness": witness_data(found.as_dict()["witness"])} | asked


def _lines(found: Width) -> Iterator[str]:
    if found.refusal is None:
        yield from _widest(found)
        return
    yield f"no: {found.refusal.reason}"
    yield f"the widest is {next(_widest(found))}"
    if found.next != found.asked:
        yield from [*_widest(found)][1:]
    elif found.refusal.hint:
        yield f"  hint: {in_a_shell(found.refusal.hint)}"


def _widest(found: Width) -> Iterator[str]:
    access = found.access
    one = access.elements == 1
    held = f"one element of {access.dtype}" if one else f"{access.elements} elements of {access.dtype}"
    plural = "" if access.requests == 1 else "s"
    yield f"{access.name}: {held} a lane, {access.requests:,} request{plural} of {access.lanes} lanes"
    if found.blocked is None:
        return
    yield f"  {found.next} bytes: {found.blocked.reason}"
    if found.blocked.hint:
        yield f"  hint: {in_a_shell(found.blocked.hint)}"
