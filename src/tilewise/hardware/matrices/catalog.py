"""The entries of ldmatrix, stmatrix and movmatrix in the catalogue."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.hardware.catalog.entry import ARCH, Built, Parameter, Value, entry, flag, registers_of
from tilewise.hardware.instructions import lacking, met, values, where
from tilewise.hardware.matrices import moves
from tilewise.hardware.matrices.forms import Form, forms, seen_as, short
from tilewise.hardware.matrices.kinds import ROW_BYTES

_LETTER = "e"


# -- parameters ------------------------------------------------------------------------------------


def _word(form: Form) -> str:
    """Return the words of a form without .trans, which is a flag."""
    return short(form).replace(".trans", "")


def _form(instruction: str) -> Parameter:
    def normal(given: str) -> str:
        form = Form.of(instruction, given)
        if "trans" in given.lower().split("."):
            raise LayoutError(
                "TW601",
                f"trans stands beside the form, not in {given!r}",
                hint=f"--form {_word(form)} --trans, or {instruction}({_word(form)}, trans)",
            )
        return _word(form)

    legal = tuple(dict.fromkeys(map(_word, forms(instruction))))
    return Parameter("form", "how many matrices, and of which kind", legal=legal, normal=normal)


def _said_by(instruction: str, words: str) -> dict[str, Value]:
    form = Form.of(instruction, words.rstrip(";"))
    return {"form": _word(form), "trans": form.trans}


def _no_values(words: str) -> dict[str, Value]:
    """Return {}: movmatrix has one form, and its words give no value."""
    if words.lower().rstrip(";") != moves.OPCODE:
        raise LayoutError("TW601", f"{words!r} is no movmatrix", hint=f"there is one: {moves.OPCODE}")
    return {}


def _looks(instruction: str) -> str:
    """Return a pattern for the beginning of an instruction, in PTX or in short: ldmatrix.x4."""
    return rf"{instruction}\.(?!f)"  # .forms is the table of forms


def _dtype(given: str) -> str:
    return given.lower() if given.lower() in _RAW else DType.of(given).name


_RAW = {"b6": DType("b6", 6), "b4": DType("b4", 4)}
"""Elements of a form that unpacks, of any type."""

TRANS = flag("trans", "rows of memory become columns")
DTYPE = Parameter(
    "dtype",
    "the type of the elements in memory",
    rule="any that one lane gets whole; alone, the form's own bits",
    optional=True,
    normal=_dtype,
)


# -- builders --------------------------------------------------------------------------------------


def _moved(instruction: str, form: str, trans: bool, dtype: str | None, arch: str | None) -> Built:
    words = Form.of(instruction, form, trans)
    made = Form(instruction, words.count, trans, words.shape, words.type)  # trans is required
    if arch is not None:
        met([made], str(made), arch)
    said = dtype or f"b{made.kind.stored}"
    element = _RAW.get(said) or DType.of(said)
    layout, rows = seen_as(made, element), made.count * made.rows
    taken = made.bits if made.kind.padding else element.bits
    facts: dict[str, object] = {
        "addresses": str(made.addresses),
        "instruction": made.ptx,
        "matrices": {"count": made.count, "rows": made.rows, "columns": layout.size // rows},
        **registers_of(layout, element, _LETTER, taken),
        "lanes": {"read": _span(range(rows)), "unread": _span(made.unread)},
        "alignment": ROW_BYTES,
        "row": _row(made, element),
        "architectures": str(made.needs),
    }
    held = (taken, 0) if made.kind.padding else None
    return Built(layout, facts, element, _LETTER, held, notes=_notes(made))


def _span(some: range) -> dict[str, int] | None:
    return {"count": len(some), "first": some[0], "last": some[-1]} if some else None


def _row(form: Form, element: DType) -> dict[str, object]:
    """Return facts about the bytes of a row, and the bits of an element in a register."""
    kind = form.kind
    facts: dict[str, object] = {"bytes": ROW_BYTES, "elements": ROW_BYTES * 8 // element.bits}
    if not kind.padding:
        return facts
    return {
        "bytes": ROW_BYTES,
        "elements": kind.columns,
        "used_bytes": ROW_BYTES - kind.padding,
        "padding_bytes": kind.padding,
        "container_bits": kind.bits,
        "element_bits": _span(range(kind.stored)),
    }


def _notes(form: Form) -> tuple[str, ...]:
    notes = ["undefined where lanes do not execute the same instruction, or where a lane has exited"]
    if form.kind.needs.since == 75 and form.unread:
        notes.append(
            "sm_75 needs a valid address from every lane, also from those whose address is not read: "
            "give them that of a lower lane"
        )
    if form.kind.padding:
        notes.append(
            f"an element is in bits 0..{form.kind.stored - 1} of its byte of the register, the others are 0"
        )
    if form.kind.stored == 4:
        notes.append("mma.sync of kind f8f6f4 wants e2m1 in bits 2..5 of its byte: shift left by 2")
    return tuple(notes)


def _transposed(arch: str | None) -> Built:
    if arch is not None and not moves.NEEDS.met(arch):
        raise lacking([moves.NEEDS], "movmatrix", arch, {"instruction": moves.OPCODE})
    element = DType.of("b16")
    facts = {
        "from": str(moves.BEFORE),
        "to": str(moves.AFTER),
        "comes_from": str(moves.COMES_FROM),
        "instruction": moves.PTX,
        **registers_of(moves.AFTER, element, "d"),
        "architectures": str(moves.NEEDS),
    }
    notes = ("undefined where lanes do not execute the same instruction",)
    return Built(moves.AFTER, facts, element, "d", notes=notes)


def _table(instruction: str, arch: str | None) -> Built:
    had = met(forms(instruction), instruction, arch, {})
    listed = [
        {
            "needs": str(needs),
            "forms": [_word(form) + " trans" * form.trans for form in where(had, needs=needs)],
        }
        for needs in values(had, "needs")
    ]
    return Built(None, {"count": len(had), "forms": listed, "instructions": [*map(str, had)]})


# -- the entries -----------------------------------------------------------------------------------


def _listed(instruction: str) -> Iterator[dict[str, Value]]:
    for form in forms(instruction):
        yield {"form": _word(form), "trans": form.trans}


ENTRIES = (
    entry(
        "ldmatrix",
        (_form("ldmatrix"), TRANS, DTYPE, ARCH),
        partial(_moved, "ldmatrix"),
        partial(_listed, "ldmatrix"),
        looks=_looks("ldmatrix"),
        said_by=partial(_said_by, "ldmatrix"),
    ),
    entry(
        "stmatrix",
        (_form("stmatrix"), TRANS, DTYPE, ARCH),
        partial(_moved, "stmatrix"),
        partial(_listed, "stmatrix"),
        looks=_looks("stmatrix"),
        said_by=partial(_said_by, "stmatrix"),
    ),
    entry("movmatrix", (ARCH,), _transposed, looks=r"movmatrix\.", said_by=_no_values),
    entry("ldmatrix.forms", (ARCH,), partial(_table, "ldmatrix")),
    entry("stmatrix.forms", (ARCH,), partial(_table, "stmatrix")),
)
