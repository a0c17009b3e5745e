"""The layout of a tile of shared memory under which all its accesses together conflict least, with the proof.

  tilewise swizzle 128x64 --dtype bf16 --access row:16B@st --access ldmatrix.x4
  tilewise swizzle 32x32 --dtype f32 --access row:4B@st --access col:4B
  tilewise swizzle 64x96 --dtype f16 --access row:16B@st --access 4*ldmatrix.x4 --among mode,padding
  tilewise swizzle 'S[(64, 128) : (1, 64)]' --dtype bf16 --access ldmatrix.x4.trans --access tma
  tilewise swizzle 128x64 --dtype bf16 --access row:16B@st --access col:2B --ideal

TILE is a shape, meant row-major, or a layout of it; it begins at --base, and its swizzle counts from there.
An access says who asks for what, as `tilewise banks` has it, and --op whether it loads or stores where its
name does not; 4*A counts A four times. Searched are the tile as it is, the hardware's modes, every
Swizzle<B,M,S>, every pitch of its rows, and every layout that is linear over GF(2); --among names some of
these families.

wavefronts are those of all accesses, each with its weight; ideal is what their bytes need, as `tilewise
banks` counts it; bound is what no layout of any kind is below that keeps every vector together. Of equal
layouts the one with the least memory is taken, then the simplest. TMA: whether boxes fill it; wgmma: the
operands that it is read as.

Exit code 0 with the best layout; 1 where no layout lets every access be made, or with --ideal where none is
without conflicts; 3 where --ideal was not decided.
"""

from __future__ import annotations

import argparse
import re

from tilewise.cli.accesses import access_options, unserved
from tilewise.cli.addresses import address_from
from tilewise.cli.answer import Answer, fields, misused, table_lines
from tilewise.cli.arguments import add_options, filled_in, layout_from, layout_options, text_from
from tilewise.core.errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tilewise.check.swizzling import Choice, Found, Searched
    from tilewise.check.swizzling.choose import Readers
    from tilewise.core.layout import Layout

_SHAPE = re.compile(r"\d+(\s*[x×]\s*\d+)+")
_WEIGHTED = re.compile(r"\s*(\d+)\s*\*\s*(.+)", re.DOTALL)


def arguments(parser: argparse.ArgumentParser) -> None:
    """TILE --dtype T --access A [--access B ...] [--op OP] [--base N] [--among F,F] [--ideal]."""
    parser.add_argument(
        "tile", metavar="TILE", help="a shape such as 128x64, a layout, or - for standard input"
    )
    such, operations = (
        "N times, such as row:16B@st or 4*ldmatrix.x4",
        "ld, st, ldmatrix, stmatrix, cp.async, atom or tma",
    )
    access_options(parser, such, " in shared memory", operations, "[N*]A")
    add_options(
        parser,
        {
            "--among": ("F,F", "plain, mode, swizzle, padding, linear (all)"),
            "--ideal": "no where every layout has conflicts",
        },
    )
    layout_options(parser)


def answer(args: argparse.Namespace) -> Answer:
    """The best layout; no, where there is none."""
    from tilewise.check.swizzling import FAMILIES, choose

    args.tile = filled_in(args.tile, args, "dtype")
    dtype = args.dtype
    for option, such in (("dtype", "--dtype bf16"), ("access", "--access ldmatrix.x4")):
        if not getattr(args, option):
            raise misused(f"swizzle needs --{option}", f"such as {such}")
    among = tuple(FAMILIES) if args.among is None else args.among.replace(" ", "").split(",")
    try:
        found = choose(
            _tile(args),
            map(_weighted, args.access),
            dtype=dtype,
            operation=args.op,
            base=address_from(args.base or "0", "--base"),
            among=among,
            ideal=args.ideal,
        )
    except Refused as no:
        return unserved(no, "layout")
    return Answer(choice_data(found), "\n".join(_lines(found)))


def _tile(args: argparse.Namespace) -> Layout | tuple[int, ...]:
    text = text_from(args.tile)
    if _SHAPE.fullmatch(text):
        return tuple(int(extent) for extent in re.split(r"\s*[x×]\s*", text))
    return layout_from(text, args)


def _weighted(text: str) -> tuple[int, str]:
    found = _WEIGHTED.fullmatch(text)
    return (int(found[1]), found[2]) if found else (1, text)


# -- as data ---------------------------------------------------------------------------------------


def choice_data(found: Choice) -> dict[str, Any]:
    """A choice as JSON."""
    from tilewise.check.swizzling import PROOFS

    return {
        **_found_data(found.best),
        "dtype": found.dtype.name,
        "base": found.best.base,
        **fields(found, "ideal", "bound", "proof"),
        "proven": PROOFS[found.proof],
        "accesses": [
            {
                "access": one.access.name,
                "weight": one.weight,
                "wavefronts": own,
                "ideal": ideal,
            }
            for one, own, ideal in zip(found.asked, found.best.wavefronts, found.best.ideals, strict=True)
        ],
        "searched": [
            {**fields(one, "family", "tried", "note"), "best": one.best and _found_data(one.best)}
            for one in found.searched
        ],
    }


def _found_data(found: Found) -> dict[str, Any]:
    readers = found.readers
    return {
        "layout": str(found.layout),
        **fields(found, "family", "name", "bytes"),
        "wavefronts": found.cost,
        "tma": {"boxes": readers.tma, "reason": readers.why_tma},
        "wgmma": {"operands": list(readers.wgmma), "reason": readers.why_wgmma},
    }


# -- as text ---------------------------------------------------------------------------------------


def _lines(found: Choice) -> Iterator[str]:
    from tilewise.check.swizzling import PROOFS

    best = found.best
    yield str(best.layout)
    yield f"  which is    {_called(best)}"
    yield f"  wavefronts  {found.cost}: {', '.join(_over(found))}"
    names = [f"{one.weight} * {one.access.name}".removeprefix("1 * ") for one in found.asked]
    counts = zip(names, best.wavefronts, best.ideals, strict=True)
    rows = [(name, f"{own}, ideal {ideal}") for name, own, ideal in counts]
    yield from (f"    {line}" for line in table_lines(rows))
    yield f"  proof       {PROOFS[found.proof]}"
    yield f"  shared      {best.bytes} bytes"
    yield from _readers(best.readers)
    yield "searched"
    head = ("family", "tried", "wavefronts", "bytes", "TMA", "wgmma", "its best")
    yield from (f"  {line}" for line in table_lines([head, *map(_row, found.searched)], "<>>>"))


def _over(found: Choice) -> Iterator[str]:
    if found.cost <= found.free:
        yield "no conflicts"
    if found.proof != "ideal":
        yield f"{found.cost - found.ideal} more than the ideal"


def _called(found: Found) -> str:
    return {
        "plain": "the tile as it is",
        "mode": f"the hardware's mode {found.name}",
        "swizzle": f"the tile under {found.name}",
        "padding": f"the tile with a {found.name}",
        "linear": "a layout that is linear over GF(2)",
    }[found.family]


def _readers(readers: Readers) -> Iterator[str]:
    boxes, operands = readers.tma, readers.wgmma
    tma = f"no: {readers.why_tma}"
    if boxes is not None:
        tma = f"fills it with {boxes} box{'es' if boxes > 1 else ''}"
    yield f"  TMA         {tma}"
    wgmma = f"reads it as {' and as '.join(operands)}" if operands else f"no: {readers.why_wgmma}"
    yield f"  wgmma       {wgmma}"


def _row(one: Searched) -> tuple[object, ...]:
    best = one.best
    if best is None:
        return one.family, one.tried, "-", "-", "-", "-", one.note or "none keeps the vectors together"
    tma = "no" if best.readers.tma is None else "yes"
    wgmma = " ".join(best.readers.wgmma) or "no"
    layout = f"{best.layout} ({one.note})" if one.note else best.layout
    return one.family, one.tried, best.cost, best.bytes, tma, wgmma, layout
