"""Descriptors of a tile as steps: one an instruction of wgmma or tcgen05, its elements and its 64 bits."""

from __future__ import annotations

import re
from itertools import chain

from tilewise.check.match import Match, Mismatch, match
from tilewise.check.operand import major_name, mode_name
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.hardware.engines import Engine
from tilewise.hardware.engines import engine as engine_of
from tilewise.hardware.fields import WORD_BITS
from tilewise.pictures.scene.model import Asked, Encoded, Field, Note, Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from tilewise.hardware.operands.sentences import Said

ACCESS = "descriptor"
"""The word with which these accesses begin."""

OPERANDS = {f"{ACCESS}.{name}": name for name in ("A", "B")}
"""{access: operand}; behind it may stand an engine, and options of its instructions."""

HINT = f"{ACCESS}.A and {ACCESS}.B are wgmma's; tcgen05's are {ACCESS}.A:tcgen05, {ACCESS}.B:tcgen05:mxf4:k96"

ENGINE = "wgmma"
"""The engine of an access that names no engine."""

NAMES = {
    "start": "start address",
    "lbo": "LBO",
    "sbo": "SBO",
    "base_offset": "base offset",
    "lbo_mode": "LBO mode",
}
"""Fields that are called otherwise than in their table."""

CALLED = {"wgmma": "matrix descriptor", "tcgen05": "shared-memory descriptor"}
"""{engine: its word}, as the documents have it."""

_NUMBER = re.compile(r"(m|n|k|cta_group)=?(\d{1,9})")
_FLAGS = ("sparse", "ws")


def descriptors_asked(layout: Layout, access: str, dtype: DType, base: int = 0) -> Asked:
    """Return how an engine reads a tile as the operand that an access names; no steps where it does not.

        requires       access begins with one of `OPERANDS`
        postcondition  the elements of a step are where `reads` of its descriptor has them

    >>> from tilewise import S, Swizzle
    >>> found = descriptors_asked(Swizzle(3, 3, 3) @ S[(128, 64)], "descriptor.A", DType.of("bf16"))
    >>> print(*(note.text for note in found.notes), sep="\\n")
    descriptor.A: 128B mode, K-major, LBO not read, SBO 1024 bytes, 8 wgmma
    the tile's address is a multiple of 1024 bytes
    >>> step = found.steps[5]
    >>> step.title, step.note, step.encoded.value
    ('wgmma 6 of 8: rows 64..127, k 16..31', 'start + 8224 bytes', '0x4000004000010202')
    >>> for field in step.encoded.fields:
    ...     print(field.high, field.low, field.name, field.held, "|", field.words)
    13 0 start address 514 | byte 8224, in units of 16
    29 16 LBO 1 | not read in this mode and major; 1 is written by custom
    45 32 SBO 64 | 1024 bytes from the first 8 rows to the next 8
    51 49 base offset 0 | the swizzle pattern begins at a multiple of 1024
    63 62 mode 1 | 128B: Swizzle<3,4,3> on byte addresses
    >>> found = descriptors_asked(Swizzle(3, 3, 3) @ S[(128, 64)], "descriptor.A:tcgen05", DType.of("bf16"))
    >>> found.notes[0].text.partition("SBO ")[2]
    '1024 bytes, 4 tcgen05.mma of kind::f16, m128nNk16'
    >>> found.steps[1].encoded.value
    '0x4000404000010002'
    """
    engine, operand, asked = question_of(access, dtype)
    scarce = _no_room(engine, operand, dtype, asked)
    if scarce is not None:
        return Asked.refused(access, *scarce, _nearest(engine))
    found = match(layout, engine=engine.name, operand=operand, dtype=dtype, base=base, **asked)
    if isinstance(found, Mismatch):
        first = found.reasons[0]
        return Asked.refused(access, first.message, first.hint, _nearest(engine))
    assert isinstance(found, Match)
    steps = _steps(engine, found, extents_of(layout.shape), asked)
    hints = [f"the tile's address is a multiple of {found.alignment} bytes"]
    if found.descriptor.base_offset:
        hints[0] += f", or it has base offset {found.descriptor.base_offset} as here"
    if found.lbo_mode == "absolute":
        hints.append("absolute LBO mode is of sm_103a")
    hints += found.notes
    notes = Note("yes", f"{access}: {_words(found)}"), *(Note("hint", hint) for hint in hints)
    return Asked.of(access, steps, len(found.steps), _instruction(found), notes)


def question_of(access: str, dtype: DType) -> tuple[Engine, str, dict[str, Any]]:
    """Return the engine, the operand, and the other wishes for its instructions.

    Of a type that some kind packs, a question that names no kind gets that kind.

    >>> engine, *words = question_of("descriptor.B:tcgen05:n64:cta_group2", DType.of("bf16"))
    >>> engine.name, words
    ('tcgen05', ['B', {'n': 64, 'cta_group': 2}])
    >>> question_of("descriptor.A:tcgen05:k96", DType.of("e2m1"))[2]
    {'kind': 'mxf4', 'k': 96}
    """
    head, *words = access.split(":")
    if head not in OPERANDS:
        raise LayoutError("TW601", f"{access!r} is no access", hint=HINT)
    engine = engine_of(words[0] if words else ENGINE)
    asked = _options(engine, words[1:])
    if "kind" in engine.options:
        from tilewise.check.engines import PACKED

        asked = PACKED.get(dtype.name, {}) | asked
    return engine, OPERANDS[head], asked


def _options(engine: Engine, words: Sequence[str]) -> dict[str, Any]:
    """Return what words ask for, each thing once; what is no number and no flag is a kind."""
    asked: dict[str, Any] = {}
    said: dict[str, str] = {}
    for word in words:
        number = _NUMBER.fullmatch(word)
        value: Any = True
        if number and number[1] in engine.options:
            name, value = number[1], int(number[2])
        elif word in _FLAGS and word in engine.options:
            name = word
        elif "kind" in engine.options:
            from tilewise.hardware.tcgen05.kinds import Kind

            name, value = "kind", Kind.of(word.removeprefix("kind=")).name
        else:
            known = ", ".join(engine.options)
            reason = f"{engine.name} takes no {word!r}"
            raise LayoutError("TW601", reason, hint=f"it takes {known}")
        if name in said:
            raise LayoutError("TW601", f"{name} is given twice", hint=f"say {said[name]} or {word} alone")
        asked[name], said[name] = value, word
    return asked


def _no_room(engine: Engine, operand: str, dtype: DType, asked: dict[str, Any]) -> tuple[str, str] | None:
    """Why elements in their own bits are not those that an instruction reads, and what to do."""
    try:
        general = {name: value for name, value in asked.items() if name not in engine.sizes}
        stored = engine.intake(dtype, operand, **general).dtype
    except Refused:  # `match` says so
        return None
    if stored.bits == dtype.bits:
        return None
    why = f"an element of {dtype} has a byte to itself in shared memory, and {dtype.bits} bits here"
    return why, "K-major elements of e4m3 lie as these do"


def _nearest(engine: Engine) -> str:
    said = "" if engine.name == ENGINE else f" --engine {engine.name}"
    return f"tilewise match{said} says what is nearest"


def _steps(engine: Engine, found: Match, extents: tuple[int, ...], asked: dict[str, Any]) -> Iterator[Step]:
    """Yield a step for each instruction, with the part of the tile that it reads."""
    m, n, _ = found.instruction
    said = {**asked, **{name: size for name, size in (("m", m), ("n", n)) if size is not None}}
    options = {name: value for name, value in said.items() if name in engine.options}
    operand = engine.operand(found.dtype, found.major, found.operand, **options)
    rows, columns = extents
    many, deep = rows // found.mn_steps, columns // found.k_steps
    for number, step in enumerate(found.steps):
        top, left = step.mn * many, step.k * deep
        starts = range(top * columns + left, (top + many) * columns + left, columns)
        where = f"rows {top}..{top + many - 1}, k {left}..{left + deep - 1}"
        words = engine.words(step.descriptor, operand=operand)
        fields = tuple(
            Field(NAMES.get(own.name, own.name), field.low, field.high, own.encoded, _field_words(found, own))
            for field, own in zip(engine.fields, words, strict=True)
        )
        yield Step(
            title=f"{_instruction(found)} {number + 1} of {len(found.steps)}: {where}",
            elements=tuple(chain.from_iterable(range(start, start + deep) for start in starts)),
            note=f"start + {step.bytes} bytes",
            encoded=Encoded(CALLED[engine.name], WORD_BITS, str(step.descriptor), fields),
        )


def _instruction(found: Match) -> str:
    """Return the name of one instruction."""
    return (found.product or found.engine).partition(" ")[0]


def _field_words(found: Match, said: Said) -> str:
    if said.name == "start":
        return f"byte {said.bytes}, in units of 16"
    if said.bytes is None or not said.read:
        return said.says
    if said.name == "lbo" and found.lbo_mode == "absolute":
        return f"byte {said.bytes}, {said.says}"
    return f"{said.bytes} bytes {said.says}"


def _words(found: Match) -> str:
    lbo, sbo = ("not read" if value is None else f"{value} bytes" for value in (found.lbo, found.sbo))
    many = f"{len(found.steps)} {found.product or found.engine}"
    if found.product:
        m, n, k = found.instruction
        many += f", m{m or 'M'}n{n or 'N'}k{k}"
    lbo = "an address" if found.lbo_mode == "absolute" else lbo
    parts = mode_name(found.mode), major_name(found.major), f"LBO {lbo}", f"SBO {sbo}", many
    return ", ".join(parts)
