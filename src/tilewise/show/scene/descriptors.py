"""wgmma's descriptors of a tile as steps: one an instruction, with its elements and its 64 bits."""

from __future__ import annotations

from itertools import chain

from tilewise.check.match import Mismatch, match
from tilewise.check.strides import major_name, mode_name
from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.hardware.fields import WORD_BITS
from tilewise.hardware.wgmma.descriptor import FIELDS, Descriptor
from tilewise.hardware.wgmma.instructions import M
from tilewise.hardware.wgmma.words import Operand, Said, words
from tilewise.show.scene.asked import Asked
from tilewise.show.scene.model import Encoded, Field, Note, Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tilewise.check.match import Match

OPERANDS = {f"descriptor.{name}": name for name in ("A", "B")}
"""{access: operand}."""

NAMES = {"start": "start address", "lbo": "LBO", "sbo": "SBO", "base_offset": "base offset", "mode": "mode"}


def descriptors_asked(layout: Layout, access: str, dtype: DType, base: int = 0) -> Asked:
    """How wgmma reads a tile as the operand that an access names; no steps where it does not.

        requires       access is one of `OPERANDS`
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
    """
    found = match(layout, operand=OPERANDS[access], dtype=dtype, base=base)
    if isinstance(found, Mismatch):
        first = found.reasons[0]
        return Asked.refused(access, first.message, first.hint, "tilewise match says what is nearest")
    notes = Note("yes", f"{access}: {_words(found)}"), Note("hint", _alignment(found))
    return Asked.of(access, _steps(found, extents_of(layout.shape)[1]), len(found.steps), "wgmma", notes)


def _steps(found: Match, columns: int) -> Iterator[Step]:
    _, n, deep = found.instruction
    rows = M if n is None else n
    operand = Operand(found.dtype, found.major, found.operand, rows)
    for number, step in enumerate(found.steps):
        top, left = step.mn * rows, step.k * deep
        flats = (range(row * columns + left, row * columns + left + deep) for row in range(top, top + rows))
        where = f"rows {top}..{top + rows - 1}, k {left}..{left + deep - 1}"
        yield Step(
            title=f"wgmma {number + 1} of {len(found.steps)}: {where}",
            elements=tuple(chain.from_iterable(flats)),
            note=f"start + {step.bytes} bytes",
            encoded=encoded(step.descriptor, operand),
        )


def encoded(descriptor: Descriptor, operand: Operand) -> Encoded:
    """The 64 bits, with what each field says of the operand."""
    said = words(descriptor, operand=operand)
    fields = tuple(
        Field(NAMES[own.name], field.low, field.high, own.encoded, _field_words(own))
        for field, own in zip(FIELDS, said, strict=True)
    )
    return Encoded("matrix descriptor", WORD_BITS, str(descriptor), fields)


def _field_words(said: Said) -> str:
    if said.name == "start":
        return f"byte {said.bytes}, in units of 16"
    return said.says if said.bytes is None or not said.read else f"{said.bytes} bytes {said.says}"


def _words(found: Match) -> str:
    strides = (
        f"{name.upper()} " + ("not read" if value is None else f"{value} bytes")
        for name, value in (("lbo", found.lbo), ("sbo", found.sbo))
    )
    parts = mode_name(found.mode), major_name(found.major), *strides, f"{len(found.steps)} wgmma"
    return ", ".join(parts)


def _alignment(found: Match) -> str:
    base_offset = found.descriptor.base_offset
    or_else = f", or it has base offset {base_offset} as here" if base_offset else ""
    return f"the tile's address is a multiple of {found.alignment} bytes{or_else}"
