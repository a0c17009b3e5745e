"""What it takes to turn layout A into layout B: nothing, a view, or a move.

  tilewise relation 'S[(8, 4) : (4, 1)]' 'S[(4, 8) : (1, 4)]'
  tilewise relation 'S[(8, 4) : (4, 1)]' 'S[(8, 4) : (1, 8)]'
  tilewise relation 'S[8 : 1] + R[4 : 1@gpuid_x]' 'S[8 : 1] + 2@gpuid_x'
  tilewise relation 'S[64 : 1]' 'S[(8, 8) : (1, 8)]' --reshape 8,8 --permute 1,0

The classes, of which the first that holds is the answer: same, view, drop (copies are forgotten), shift
(by one constant), relabel (other names of axes), and else the outermost kind of axis along which some
element moves: device, cta, warp, lane, register, memory. Without --permute the modes of A are tried in
every order; with it they are compared as it says, 0,1,... index by index.
"""

from __future__ import annotations

import argparse

from tilewise.cli.answer import NO, UNDECIDED, YES, Answer, how_paired, witness_data
from tilewise.cli.arguments import (
    layout_from,
    layout_options,
    permute_from,
    reshape_from,
    two_texts,
)
from tilewise.cli.hints import in_a_shell
from tilewise.core.errors import Refused
from tilewise.core.layout import Layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.algebra.relations import Relation


def arguments(parser: argparse.ArgumentParser) -> None:
    """A B [--permute P] [--reshape S] [--dtype-a T --dtype-b T]."""
    parser.add_argument("a", metavar="A", help="where the elements are: a layout, or - for standard input")
    parser.add_argument("b", metavar="B", help="where they shall be: a layout, or - for standard input")
    parser.add_argument("--permute", metavar="P", help="the modes of A in B's order, such as 1,0")
    parser.add_argument("--reshape", metavar="S", help="read A in this shape first, such as 8,8")
    parser.add_argument("--dtype-a", metavar="T", help="the type of A's elements, such as f32")
    parser.add_argument("--dtype-b", metavar="T", help="the type of B's elements, such as bf16")
    layout_options(parser)


def answer(args: argparse.Namespace) -> Answer:
    """The class, how, what moves; not decided; or no, where A cannot be read as asked."""
    texts = two_texts(args.a, args.b)
    a, b = (
        layout_from(text, argparse.Namespace(**vars(args) | {"dtype": dtype or args.dtype}))
        for text, dtype in zip(texts, (args.dtype_a, args.dtype_b), strict=True)
    )
    try:
        found = a.relation(
            b,
            permute=permute_from(args),
            reshape=reshape_from(args),
            dtype_a=args.dtype_a,
            dtype_b=args.dtype_b,
        )
    except Refused as no:
        data = {"class": None, "reason": no.reason, "witness": witness_data(no.witness)}
        return Answer(
            data, f"{no.code}: {no.reason}" + (f"\n  hint: {in_a_shell(no.hint)}" if no.hint else ""), NO
        )
    return _answered(found, args, a, b).noted(how_paired(a, b))


def _answered(found: Relation, args: argparse.Namespace, a: Layout, b: Layout) -> Answer:
    data: dict[str, Any] = {
        "class": found.kind,
        "via": dict(found.via),
        "moves": dict(found.moves),
        "copies": found.copies,
        "elements": found.elements,
    }
    if found.kind is None:
        return Answer(data | {"reason": found.sentence}, found.sentence, UNDECIDED)
    if found.reading:
        data["reading"] = dict(found.reading)
    data["sentence"] = found.sentence
    return Answer(data, "\n  ".join([found.sentence, *_notes(found, args, a, b)]), YES)


def _notes(found: Relation, args: argparse.Namespace, a: Layout, b: Layout) -> list[str]:
    from tilewise.core.facts import WARP, lanes_of

    notes = []
    if found.kind not in ("drop", None) and (found.added or found.dropped):
        count, what = (found.added, "added") if found.added else (found.dropped, "dropped")
        notes.append(f"{count} {'copy' if count == 1 else 'copies'} of every element {what}")
    if found.kind == "view" and "permute" in found.via and args.permute is None:
        shape = f"--reshape {args.reshape} " if args.reshape else ""
        order = ",".join(map(str, range(len(found.via["permute"]))))
        notes.append(f"{shape}--permute {order} asks what moves index by index")
    in_a_warp = found.kind == "lane" and lanes_of(a, b) == WARP
    if in_a_warp and found.moves.keys() <= {"laneid", "reg", "tx", "tid_in_wg"}:
        notes.append(f"tilewise shuffle FROM TO --dtype T{_read_as(args, a, b)} has the steps")
    if found.reading:
        shape, order = (",".join(map(str, found.reading[way])) for way in ("reshape", "permute"))
        notes.append(f"under another index it is a view: --reshape {shape} --permute {order}")
    return notes


def _read_as(args: argparse.Namespace, a: Layout, b: Layout) -> str:
    """What says the same reading of A to shuffle, which asks where shapes do not fit."""
    from tilewise.check.registers.reading import fit
    from tilewise.core.shapes import extents_of

    given = [f" --{name} {getattr(args, name)}" for name in ("reshape", "permute") if getattr(args, name)]
    shapes = extents_of(a.shape), extents_of(b.shape)
    if given or fit(*shapes):
        return "".join(given)
    return f" --reshape {','.join(map(str, shapes[1]))}"
