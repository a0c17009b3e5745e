"""Tell what turns layout A into layout B: nothing, a view, or a move.

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

from tilewise.core.errors import Refused
from tilewise.core.layout import Layout
from tilewise.questions.asking import asks
from tilewise.questions.hints import in_a_shell
from tilewise.questions.orders import how_paired
from tilewise.questions.report import Report
from tilewise.questions.texts import Texts, two_texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Unpack

    from tilewise.core.algebra.relations import Relation
    from tilewise.questions.asking import LayoutText, Order, ShapeText, TensorOptions, Type


@asks(
    a="A: where the elements are: a layout, or - for standard input",
    b="B: where they shall be: a layout, or - for standard input",
    permute="P: the modes of A in B's order, such as 1,0",
    reshape="S: read A in this shape first, such as 8,8",
    dtype_a="T: the type of A's elements, such as f32",
    dtype_b="T: the type of B's elements, such as bf16",
)
def relation(
    a: LayoutText,
    b: LayoutText,
    dtype: Type | None = None,
    *,
    permute: Order | None = None,
    reshape: ShapeText | None = None,
    dtype_a: Type | None = None,
    dtype_b: Type | None = None,
    **reading: Unpack[TensorOptions],
) -> Report:
    """Return the class of what turns layout A into layout B, how, and what moves.

    >>> relation("S[(8, 4) : (4, 1)]", "S[(4, 8) : (1, 4)]").data()["class"]
    'view'
    """
    texts = Texts(dtype, **reading)
    if isinstance(a, str) and isinstance(b, str):
        a, b = two_texts(a, b, texts.let)
    one = texts.of_type(dtype_a).layout(a)
    other = texts.of_type(dtype_b).layout(b)
    given = {
        "permute": texts.order(permute),
        "reshape": None if reshape is None else texts.extents(reshape, "--reshape"),
    }
    try:
        found = one.relation(other, **given, dtype_a=dtype_a, dtype_b=dtype_b)
    except Refused as no:
        fields = {"class": None, "reason": no.reason, "witness": no.witness}
        hint = f"\n  hint: {in_a_shell(no.hint)}" if no.hint else ""
        return texts.report(fields, f"{no.code}: {no.reason}{hint}", False)
    texts.note(*how_paired(one, other))
    spelled = {name: value for name, value in (("reshape", reshape), ("permute", permute)) if value}
    return texts.reported(_report(found, spelled, one, other))


def _report(found: Relation, given: Mapping[str, Any], a: Layout, b: Layout) -> Report:
    fields: dict[str, Any] = {
        "class": found.kind,
        "via": found.via,
        "moves": found.moves,
        "copies": found.copies,
        "elements": found.elements,
    }
    if found.kind is None:
        return Report(fields | {"reason": found.sentence}, found.sentence, None)
    if found.reading:
        fields["reading"] = found.reading
    fields["sentence"] = found.sentence
    return Report(fields, "\n  ".join([found.sentence, *_notes(found, given, a, b)]))


def _notes(found: Relation, given: Mapping[str, Any], a: Layout, b: Layout) -> list[str]:
    """Return lines about copies, about other ways to read A, and the command that has the steps."""
    from tilewise.core.facts import WARP, lanes_of

    notes = []
    if found.kind not in ("drop", None) and (found.added or found.dropped):
        count, done = (found.added, "added") if found.added else (found.dropped, "dropped")
        notes.append(f"{count} {'copy' if count == 1 else 'copies'} of every element {done}")
    if found.kind == "view" and "permute" in found.via and "permute" not in given:
        shape = f"--reshape {given['reshape']} " if "reshape" in given else ""
        order = ",".join(map(str, range(len(found.via["permute"]))))
        notes.append(f"{shape}--permute {order} asks what moves index by index")
    in_a_warp = found.kind == "lane" and lanes_of(a, b) == WARP
    if in_a_warp and found.moves.keys() <= {"laneid", "reg", "tx", "tid_in_wg"}:
        notes.append(f"tilewise shuffle FROM TO --dtype T{_read_as(given, a, b)} has the steps")
    if found.reading:
        shape, order = (",".join(map(str, found.reading[way])) for way in ("reshape", "permute"))
        notes.append(f"under another index it is a view: --reshape {shape} --permute {order}")
    return notes


def _read_as(given: Mapping[str, Any], a: Layout, b: Layout) -> str:
    """Return the options that say the same reading of A to shuffle, which asks where shapes do not fit."""
    from tilewise.check.registers.reading import fit
    from tilewise.core.shapes import extents_of

    shapes = extents_of(a.shape), extents_of(b.shape)
    if given or fit(*shapes):
        return "".join(f" --{name} {value}" for name, value in given.items())
    return f" --reshape {','.join(map(str, shapes[1]))}"
