"""Tell if the writer of a tile of shared memory and its reader mean the same byte by every element.

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

A word that can mean one thing alone needs no name: tma(128x64, 64B). A side that does not say its tile takes
the other side's. Calls with + between them are parts of one tile, each at its first element: at=(64, 0). Of a
tile that an engine takes several instructions for all are compared, and with at= the one that begins there.
"""

from __future__ import annotations

from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.core.layout import Layout
from tilewise.questions.addresses import address_in
from tilewise.questions.asking import asks
from tilewise.questions.report import Report, fields_of, refused
from tilewise.questions.texts import Texts, misused, text_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Unpack

    from tilewise.check.sides import Spec
    from tilewise.questions.asking import LayoutText, Number, TensorOptions, Type


@asks(
    writer="WRITER: what writes the tile, or - for standard input",
    reader="READER: what reads it, or - for standard input",
    base="ADDR: the tile's byte address (0)",
)
def agree(
    writer: LayoutText,
    reader: LayoutText,
    dtype: Type | None = None,
    *,
    base: Number | None = None,
    **reading: Unpack[TensorOptions],
) -> Report:
    """Return yes with its proof, no with the first element of a tile that differs, or that it is not decided.

    A no has that element as `first`: where it is written and read, and the element that lies there.

    >>> report = agree("tma(tile=64x64, mode=64B)", "wgmma(A, 128B)", "bf16")
    >>> report.first["index"], report.first["written"], report.first["read"]
    ((0, 32), 4096, 64)
    """
    from tilewise.check.agree import agree_of

    if writer == reader == "-":
        raise misused("only one side can come from standard input")
    texts = Texts(dtype, **reading)
    element = None if dtype is None else DType.of(dtype)
    sides = [_side(side, element, texts) for side in (writer, reader)]
    try:
        found = agree_of(*sides, dtype=element, base=address_in(base))
    except Refused as no:
        return texts.reported(refused(no, {"agree": False, "first": None}))
    rows, k = found.rows, found.k
    fields: dict[str, Any] = {
        "agree": found.answer,
        "elements": found.elements,
        "compared": {"rows": rows, "k": k, "instructions": found.reader.instructions},
    }
    for name, side in (("writer", found.writer), ("reader", found.reader)):
        fields[name] = {"is": side.words, "mode": side.label, "dtype": side.dtype.name, "tile": side.tile}
    part = ""
    if (0, 0) not in (rows, k) and (rows, k) != tuple((0, extent) for extent in found.writer.tile):
        part = f": rows {rows[0]}..{rows[1] - 1}, K {k[0]}..{k[1] - 1}"
    about = [f"written by {found.writer.words}", f"read by {found.reader.words}{part}"]
    if found.answer:
        head, ends = f"agree: {found.elements} elements, {found.proof}", found.notes
        fields |= fields_of(found, "proof", "notes")
    elif found.answer is None:
        head, ends = found.reason, ()
        fields["reason"] = found.reason
    else:
        head, ends = f"no: {found.reason}", (f"hint: {found.hint}",) if found.hint else ()
        first = found.first and fields_of(found.first, "index", "written", "read", "holds", "unit")
        fields |= {"code": "TW606", "first": first, **fields_of(found, "reason", "witness", "hint")}
    return texts.report(fields, "\n  ".join([head, *about, *ends]), found.answer)


def _side(given: LayoutText, dtype: DType | None, texts: Texts) -> Spec:
    from tilewise.check.sides import Copied
    from tilewise.check.spelling import Reading, side_of

    text = given if isinstance(given, Layout) else text_from(given, texts.let)
    if isinstance(text, Layout) or text.startswith("{"):
        return Copied(texts.layout(text), dtype)
    side = side_of(text, Reading(texts.let, texts.unit, texts.dialect, tuple(texts.storage), dtype))
    if isinstance(side, Copied):
        texts.of_type(side.dtype).note_doubts(text, side.layout)
    return side
