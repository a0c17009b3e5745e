"""Whether what writes a tile of shared memory and what reads it mean the same byte by every element.

  tilewise agree 'tma(tile=128x64, mode=128B)' 'wgmma(operand=A, mode=128B)' --dtype bf16
  tilewise agree 'tma(tile=128x64, mode=64B)' 'wgmma(operand=A, mode=128B)' --dtype bf16
  tilewise agree 'Swizzle<3,3,3> o S[(64, 64) : (64, 1)]' 'descriptor(0x4000004000010000, A)' --dtype f16
  tilewise agree 'Swizzle<3,3,3> o S[(128, 64) : (64, 1)]' 'wgmma(A, 128B)' --dtype bf16 --base 0x200
  tilewise agree 'tma(128x32, 128B_ATOM_32B, mn)' 'tcgen05(A, 128B_ATOM_32B, mn)' --dtype tf32

A side is a layout [rows, K] in either dialect, which threads store or load through a pointer, or one of

  copy(LAYOUT, ...)           dtype= unit= dialect= storage= at= swizzle=pointer|address
  tma(mode=, tile=, ...)      major= order= box= inner= start= at= dtype=
  wgmma(operand=, mode=, ...) tile= major= order= n= start= lbo= sbo= base_offset= at= dtype=
                              pattern=address|tile: whether the base offset is 0, or that of the tile's start
  tcgen05(operand=, mode=, ...) the same, and kind= m= cta_group= sparse ws k= lbo_mode=; of one CTA's tile
  descriptor(0x..., operand=) major= n= at= dtype= engine=, and what that engine takes: where none is named
                              that of the version in the word

A word that can mean one thing alone needs no name: tma(128x64, 64B). What does not say its tile takes the
other side's. Calls with + between them are parts of one tile, each at its first element: at=(64, 0). Of a
tile that an engine takes several instructions for all are compared, and with at= the one that begins there.
"""

from __future__ import annotations

import argparse

from tilewise.cli.addresses import address_from
from tilewise.cli.answer import NO, UNDECIDED, Answer, fields, misused, refused, witness_data
from tilewise.cli.arguments import add_options, layout_from, layout_options, let_from, note_doubts, text_from
from tilewise.core.errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.check.sides import Spec
    from tilewise.core.dtypes import DType


def arguments(parser: argparse.ArgumentParser) -> None:
    """WRITER READER --dtype T [--base ADDR]."""
    add_options(
        parser,
        {
            "writer": ("WRITER", "what writes the tile, or - for standard input"),
            "reader": ("READER", "what reads it, or - for standard input"),
            "--base": {"metavar": "ADDR", "default": "0", "help": "the tile's byte address (0)"},
        },
    )
    layout_options(parser)


def answer(args: argparse.Namespace) -> Answer:
    """Yes with its proof, no with the first element that differs, or not decided."""
    from tilewise.check.agree import agree_of
    from tilewise.core.dtypes import DType

    if args.writer == args.reader == "-":
        raise misused("only one side can come from standard input")
    dtype = None if args.dtype is None else DType.of(args.dtype)
    sides = [_side(text_from(text), dtype, args) for text in (args.writer, args.reader)]
    try:
        found = agree_of(*sides, dtype=dtype, base=address_from(args.base, "--base"))
    except Refused as no:
        return refused(no, {"agree": False, "first": None})
    writer, reader, first = found.writer, found.reader, found.first
    data: dict[str, Any] = {
        "agree": found.answer,
        "elements": found.elements,
        "compared": {"rows": found.rows, "k": found.k, "instructions": reader.instructions},
    }
    for name, side in (("writer", writer), ("reader", reader)):
        data[name] = {"is": side.words, "mode": side.label, "dtype": side.dtype.name, "tile": side.tile}
    box, part = (found.rows, found.k), ""
    if (0, 0) not in box and box != ((0, writer.tile[0]), (0, writer.tile[1])):
        (top, bottom), (left, right) = box
        part = f": rows {top}..{bottom - 1}, K {left}..{right - 1}"
    about = [f"written by {writer.words}", f"read by {reader.words}{part}"]
    if found.answer:
        data |= {"proof": found.proof, "notes": found.notes}
        told = f"agree: {found.elements} elements, {found.proof}"
        return Answer(data, "\n  ".join([told, *about, *found.notes]))
    data |= {"reason": found.reason}
    if found.answer is None:
        return Answer(data, "\n  ".join([found.reason, *about]), UNDECIDED)
    names = ("index", "written", "read", "holds", "unit")
    data |= {"code": "TW606", "first": first and fields(first, *names)}
    data |= {"witness": witness_data(found.witness), "hint": found.hint}
    hints = [f"hint: {found.hint}"] if found.hint else []
    return Answer(data, "\n  ".join([f"no: {found.reason}", *about, *hints]), NO)


def _side(text: str, dtype: DType | None, args: argparse.Namespace) -> Spec:
    from tilewise.check.sides import Copied
    from tilewise.check.spelling import Reading, side_of

    if text.startswith("{"):
        return Copied(layout_from(text, args), dtype)
    storage = tuple(name for names in args.storage for name in names.split(","))
    side = side_of(text, Reading(let_from(args), args.unit, args.dialect, storage, dtype))
    if isinstance(side, Copied):
        note_doubts(text, side.layout, args, args.unit, side.dtype)
    return side
