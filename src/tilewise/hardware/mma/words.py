"""An mma by its words in PTX: the instruction, the mistakes in its words, and its operands' entries."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from tilewise.core.errors import Refused
from tilewise.hardware.catalog.entry import did_you_mean
from tilewise.hardware.instructions import Slot, first_fault, listed, read_words, values, where
from tilewise.hardware.mma.instructions import EVERY, USUAL, Instruction
from tilewise.hardware.mma.kinds import KINDS

MODIFIERS = {"satfinite": "integers of 8 and 4 bits", **dict.fromkeys(("rn", "rz", "rm", "rp"), "f64")}
"""{modifier that moves nothing: the instructions that take it}, by the assembler."""

_MODIFIERS = re.compile(rf"\.({'|'.join(MODIFIERS)})(?=\.|$)")
_KIND = r"kind::\w+(?:\.block_scale)?(?:\.scale_vec::\w+)?"
_KIND_FIRST = re.compile(rf"aligned\.({_KIND})\.(m\d+n\d+k\d+\.row\.col)")
"""CUTLASS's spelling: the kind before the shape, which the assembler accepts too."""
_UNSAID = re.compile(r"(kind::(\w+)\.block_scale)(?!\.scale_vec)")
"""A kind's scales without their number in a row: right where the kind has one number alone."""
_CLOSE = 0.8

_FROM_SHAPE = re.compile(r"(mma\.)?m\d+n\d+k\d+\.")
LOOKS = rf"{_FROM_SHAPE.pattern}|mma\.(sync\.|sp\.sync\.|sp::|[\w:.]*m\d+n\d+k\d+)"
"""A pattern for the beginning of an instruction, whole or from its shape on, or with a mistake before it."""

_TYPE = "|".join(sorted({name for this in EVERY for name in (this.a, this.b, this.d)}))
SLOTS = (
    Slot("name", r"mma(?:\.sp(?:::ordered_metadata)?)?", "the name"),
    Slot("sync", r"sync\.aligned", "sync.aligned"),
    Slot("shape", r"m\d+n\d+k\d+", "the shape"),
    Slot("majors", r"(?:row|col)\.(?:row|col)", "the pair of majors"),
    Slot("kind", r"kind::\w+", "the kind", optional=True),
    Slot("scales", r"block_scale(?:\.scale_vec::\w+)?", "the scaling", optional=True),
    *(Slot(name, _TYPE, f"the type of {name.upper()}") for name in "dabc"),
    Slot("scale_type", r"ue\w+", "the type of scales", optional=True),
    Slot("op", r"\w+\.popc", "the operation on bits", optional=True),
)
"""The words of an mma, in their order."""

_TELLING = ("kind", "name", "shape", "a", "b", "d", "c", "majors", "scales", "scale_type", "op")
"""The slots in the order in which their mistakes are reported."""


@cache
def every() -> dict[str, Instruction]:
    """Return {its words: an instruction}, dense and sparse, of kinds and not.

    >>> len(every()) > 250
    True
    """
    plain = [replace(this, ordered=False) for this in EVERY if this.sparse and not this.kind]
    return {str(this): this for this in (*EVERY, *plain)}


def named(words: str) -> Instruction:
    """Return the instruction that words name, with or without `mma.sync.aligned` and modifiers.

    Operands may follow, the kind may stand before the shape, and a scale_vec be left out, as PTX has it.

    >>> print(named("m16n8k32.row.col.satfinite.s32.s8.u8.s32"))
    mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32
    >>> print(named("mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e2m1.e3m2.f32 {%0, %1, %2, %3}, ..."))
    mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32
    """
    spelled = _spelled(words)
    found, modifiers = every().get(_MODIFIERS.sub("", spelled)), _MODIFIERS.findall(spelled)
    if found and len(modifiers) < 2 and all(takes(found, word) for word in modifiers):
        return found
    from difflib import get_close_matches

    near = get_close_matches(spelled, every(), n=2, cutoff=_CLOSE)
    raise Refused(
        "TW602",
        f"there is no {spelled}: {mistake(spelled)}",
        witness={"instruction": spelled},
        hint=f"near are {', '.join(near)}" if near else _listing(spelled),
    )


def _listing(spelled: str) -> str:
    """Return the command that lists the instructions: those of a shape, where words name one."""
    shapes = {str(this.shape) for this in EVERY if not this.sparse}
    shape = next((f" --shape {word}" for word in spelled.split(".") if word in shapes), "")
    return f"tilewise catalog mma.shapes{shape} lists what there is"


def _spelled(words: str) -> str:
    """Return the words in the manual's order and case, without operands."""
    first = re.split(r"[\s{;]", words.strip(), maxsplit=1)[0].lower()
    whole = first.startswith("mma.") and not _FROM_SHAPE.match(first)
    bare = first if whole else f"mma.sync.aligned.{first.removeprefix('mma.')}"
    said = _UNSAID.sub(_with_scale, _KIND_FIRST.sub(r"aligned.\2.\1", bare))
    return re.sub(r"(scale_vec::\d)x", r"\1X", said)


def _with_scale(said: re.Match[str]) -> str:
    """Return a kind and its one scale_vec; the kind alone where it has several."""
    several = {scaling.word for scaling in KINDS[said[2]].scalings} if said[2] in KINDS else set()
    return f"{said[1]}.scale_vec::{several.pop()}" if len(several) == 1 else said[1]


# -- mistakes --------------------------------------------------------------------------------------


def takes(this: Instruction, modifier: str) -> bool:
    """Return True if an instruction has a modifier: integers saturate, doubles round, and bits do neither."""
    return this.d == "s32" and this.a != "b1" if modifier == "satfinite" else this.d == "f64"


def mistake(spelled: str) -> str:
    """Return the first mistake in the words of an instruction, or "" where all is right.

    >>> mistake("mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32")
    'mma m16n8k16 f16: the type of B is f16, not bf16'
    """
    modifiers, plain = _MODIFIERS.findall(spelled), _MODIFIERS.sub("", spelled)
    found, rest, wanted = read_words(plain, SLOTS)
    if rest or wanted != "nothing more":
        word, legal = rest.partition(".")[0], {part for this in every() for part in this.split(".")}
        if word and word not in legal and wanted != "the shape":
            return f"no mma has the word {word!r}: {did_you_mean(word, legal)}".strip().rstrip(":")
        if not found:
            return "it begins with mma.sync.aligned, or mma.sp::ordered_metadata.sync.aligned"
        return f"after {'.'.join(found.values())} stands {wanted}, not {word or 'the end'}"
    slots = {slot.name: slot for slot in SLOTS}
    read = [read_words(words, SLOTS)[0] for words in every()]
    slot, wrong = first_fault(found, read, [slots[name] for name in _TELLING])
    if wrong:
        return wrong + (_elsewhere(found) if slot == "a" else "")
    for modifier in modifiers:
        if not takes(every()[plain], modifier):
            return f"{found['a']} does not take .{modifier}, which is for {MODIFIERS[modifier]}"
    return f"it takes one modifier, not .{' and .'.join(modifiers)}" if len(modifiers) > 1 else ""


def _elsewhere(found: dict[str, str]) -> str:
    """Return the shapes of the type of A, and the kinds, or sparse A, that have the shape for it."""
    alike = where(EVERY, a=found["a"])
    plain = [this for this in alike if this.sparse == ("sp" in found["name"]) and not this.kind]
    of_shape = [this for this in alike if str(this.shape) == found["shape"]]
    others = listed((f"kind::{this.kind.name}" if this.kind else this.name for this in of_shape), " and ")
    has = f"; {found['a']} has {listed(values(plain, 'shape'))}" if plain else ""
    return has + (f"; the shape has it with {others}" if others else "")


# -- operands --------------------------------------------------------------------------------------


def operands(this: Instruction) -> dict[str, str]:
    """Return {operand: the call of its entry}.

    >>> operands(named("m16n8k16.row.col.f32.bf16.bf16.f32"))["C"]
    'mma.C(m16n8k16, dtype=f32)'
    """
    first = "mma.sp." if this.sparse else "mma."
    a, b = (
        "" if major == usual else f", major={major}" for major, usual in zip(this.majors, USUAL, strict=True)
    )
    found = {
        "A": f"{first}A({this.shape}, dtype={this.a}{a})",
        "B": f"{first}B({this.shape}, dtype={this.b}{b})",
        "C": f"{first}{'D' if this.sparse else 'C'}({this.shape}, dtype={this.c})",
        "D": f"{first}D({this.shape}, dtype={this.d})",
    }
    if this.sparse:
        found["E"] = f"mma.E({this.shape}, dtype={this.a})"
    if this.kind and this.scaling:
        said = f"{this.kind.name}, scale={this.scaling.word}"
        said += "" if this.scaling.dtype == "ue8m0" else f", dtype={this.scaling.dtype}"
        said += ", sparse" * this.sparse
        found |= {operand: f"mma.{operand}({said})" for operand in ("SFA", "SFB")}
    return found
