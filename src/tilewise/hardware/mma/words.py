"""An mma by its words in PTX: which it is, and what entries of the catalogue its operands are."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from tilewise.core.errors import Refused
from tilewise.hardware.mma.instructions import DENSE, Instruction, instructions
from tilewise.hardware.mma.kinds import KINDS, KindInstruction, kind_instructions
from tilewise.hardware.mma.mistakes import MODIFIERS, mistake, takes
from tilewise.hardware.mma.sparse_instructions import SparseInstruction, sparse_instructions

Mma = Instruction | KindInstruction | SparseInstruction

_FIRST = "mma.sync.aligned."
_MODIFIERS = re.compile(rf"\.({'|'.join(MODIFIERS)})(?=\.|$)")
_KIND = r"kind::\w+(?:\.block_scale)?(?:\.scale_vec::\w+)?"
_KIND_FIRST = re.compile(rf"aligned\.({_KIND})\.(m\d+n\d+k\d+\.row\.col)")
"""As CUTLASS spells it: the kind before the shape, which the assembler takes as well."""
_UNSAID = re.compile(r"(kind::(\w+)\.block_scale)(?!\.scale_vec)")
"""Scales of which it is not said how many a row has: the kind has one number of them."""
_CLOSE = 0.8

_FROM_SHAPE = re.compile(r"(mma\.)?m\d+n\d+k\d+\.")
LOOKS = rf"{_FROM_SHAPE.pattern}|mma\.(sync\.|sp\.sync\.|sp::|[\w:.]*m\d+n\d+k\d+)"
"""How words begin that are an instruction, whole or from its shape on, or one with a mistake before it."""


@cache
def every() -> dict[str, Mma]:
    """{its words: an instruction}, dense and sparse, of kinds and not.

    >>> len(every()) > 250
    True
    """
    sparse = [replace(this, ordered=order) for this in sparse_instructions() for order in (True, False)]
    found: tuple[Mma, ...] = (*instructions(), *kind_instructions(), *sparse)
    return {str(this): this for this in found}


def named(words: str) -> Mma:
    """The instruction that words name, with or without `mma.sync.aligned` and modifiers that move nothing.

    Operands may follow, the kind may stand before the shape, and a scale_vec be left out, as PTX has it.

    >>> print(named("m16n8k32.row.col.satfinite.s32.s8.u8.s32"))
    mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32
    >>> print(named("mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e2m1.e3m2.f32 {%0, %1, %2, %3}, ..."))
    mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32
    """
    spelled = _spelled(words)
    plain, modifiers = _MODIFIERS.sub("", spelled), _MODIFIERS.findall(spelled)
    if plain in every() and all(takes(every()[plain], word) for word in modifiers) and len(modifiers) < 2:
        return every()[plain]
    from difflib import get_close_matches

    wrong = mistake(spelled, every().values())
    near = get_close_matches(spelled, every(), n=2, cutoff=_CLOSE)
    raise Refused(
        "TW602",
        f"there is no {spelled}" + (f": {wrong}" if wrong else ""),
        witness={"instruction": spelled},
        hint=f"near are {', '.join(near)}" if near else _listing(spelled),
    )


def _listing(spelled: str) -> str:
    """What lists the instructions there are: those of a shape, where words name one."""
    shapes = {str(this.shape) for this in every().values() if not str(this).startswith("mma.sp")}
    shape = next((f" --shape {word}" for word in spelled.split(".") if word in shapes), "")
    return f"tilewise catalog mma.shapes{shape} lists what there is"


def _spelled(words: str) -> str:
    """The words in the manual's order and case, without operands."""
    first = re.split(r"[\s{;]", words.strip(), maxsplit=1)[0].lower()
    whole = first.startswith("mma.") and not _FROM_SHAPE.match(first)
    bare = first if whole else _FIRST + first.removeprefix("mma.")
    ordered = _KIND_FIRST.sub(r"aligned.\2.\1", bare)
    said = _UNSAID.sub(_with_scale, ordered)
    return re.sub(r"(scale_vec::\d)x", r"\1X", said)


def _with_scale(said: re.Match[str]) -> str:
    """A kind and its one scale_vec; of several none is meant where none is named."""
    kind = KINDS.get(said[2])
    several = {scaling.word for scaling in kind.scalings} if kind else set()
    return f"{said[1]}.scale_vec::{several.pop()}" if len(several) == 1 else said[1]


def operands(this: Mma) -> dict[str, str]:
    """{operand: the call of its entry}.

    >>> operands(named("m16n8k16.row.col.f32.bf16.bf16.f32"))["C"]
    'mma.C(m16n8k16, dtype=f32)'
    """
    if isinstance(this, Instruction):
        majors = [
            "" if major == usual else f", major={major}"
            for major, usual in zip(this.majors, DENSE, strict=True)
        ]
        return {
            "A": f"mma.A({this.shape}, dtype={this.a}{majors[0]})",
            "B": f"mma.B({this.shape}, dtype={this.b}{majors[1]})",
            "C": f"mma.C({this.shape}, dtype={this.c})",
            "D": f"mma.D({this.shape}, dtype={this.d})",
        }
    sparse = isinstance(this, SparseInstruction) or this.sparse
    first = "mma.sp." if sparse else "mma."
    found = {
        "A": f"{first}A({this.shape}, dtype={this.a})",
        "B": f"{first}B({this.shape}, dtype={this.b})",
        "C": f"{first}{'D' if sparse else 'C'}({this.shape}, dtype={this.d})",
        "D": f"{first}D({this.shape}, dtype={this.d})",
    }
    if sparse:
        found["E"] = f"mma.E({this.shape}, dtype={this.a})"
    return found | _scales(this)


def _scales(this: KindInstruction | SparseInstruction) -> dict[str, str]:
    if isinstance(this, SparseInstruction) or this.scaling is None:
        return {}
    said = f"{this.kind.name}, scale={this.scaling.word}"
    said += "" if this.scaling.dtype == "ue8m0" else f", dtype={this.scaling.dtype}"
    said += ", sparse" if this.sparse else ""
    return {operand: f"mma.{operand}({said})" for operand in ("SFA", "SFB")}
