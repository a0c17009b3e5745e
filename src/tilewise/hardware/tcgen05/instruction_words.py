"""Every field of an instruction descriptor in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilewise.hardware.instructions import values
from tilewise.hardware.tcgen05.instruction import BITS, InstructionWord, fields_of
from tilewise.hardware.tcgen05.kinds import BLOCKS, Kind


@dataclass(frozen=True, slots=True)
class Said:
    """One field in words."""

    name: str
    where: str
    encoded: int
    says: str


def words(one: InstructionWord) -> tuple[Said, ...]:
    """Every field, the lowest first.

    >>> for said in words(InstructionWord("mxf4", 128, 64))[:3]:
    ...     print(said.where, said.name, said.encoded, said.says)
    2 sparse 0 A is dense
    5-4 sfb_id 0 B's scales begin in byte 0 of their 32-bit words
    9-7 a 1 A is of e2m1
    """
    says = dict(_says(one))
    held = one.encoded
    return tuple(Said(f.name, f.where, held[f.name], says[f.name]) for f in fields_of(one.kind))


def remarks(one: InstructionWord) -> tuple[str, ...]:
    """What the word does not hold, and a program has to say elsewhere.

    >>> for remark in remarks(InstructionWord("f16", 256, 64, cta_group=2)):
    ...     print(remark)
    the word has no CTA group: M = 256 is that of a pair, each CTA of which has 128 rows of A and 32 of B
    CUTLASS hands it on in the upper 32 bits of 64: 0x1010001000000000
    """
    return tuple(_remarks(one))


def _remarks(one: InstructionWord) -> Iterator[str]:
    kind = Kind.of(one.kind)
    if one.cta_group == 2:
        yield (
            f"the word has no CTA group: M = {one.m} is that of a pair, each CTA of which has "
            f"{one.m // 2} rows of A and {one.n // 2} of B"
        )
    other_group = replace(one.product, cta_group=3 - one.cta_group, ws=False)
    if one.n in other_group.shapes.get(one.m, ()) and not one.ws:
        other = "one CTA" if one.cta_group == 2 else "a pair of CTAs"
        yield f"it is the word of {other} as well: the instruction says which"
    if one.scale in values(kind.scalings, "word"):
        yield f"in code for sm_100a {BLOCKS[one.scale]} may be called scale_vec::{one.scale}"
    several = [scaling.word for scaling in kind.scalings if scaling.dtype == one.scale_dtype]
    if len(several) > 1 and not one.sfa_id and not one.sfb_id:
        yield f"the word does not say how many scales a row has, {' or '.join(several)}: the instruction does"
    needed = one.product.needs
    if needed != kind.needs() or one.kind == "i8":
        yield f"it is on {needed}"
    yield f"CUTLASS hands it on in the upper 32 bits of 64: {one.value << BITS:#018x}"


def _says(one: InstructionWord) -> Iterator[tuple[str, str]]:
    yield "selector", f"metadata of selector {one.selector}" if one.sparse else "not read: A is dense"
    yield "sparse", "A is sparse" if one.sparse else "A is dense"
    sums = "sums saturate" if one.saturate else "sums wrap"
    yield "saturate", sums if one.d == "s32" else "floats do not saturate"
    for operand, dtype in (("d", one.d), ("a", one.a), ("b", one.b)):
        yield operand, f"{operand.upper()} is of {dtype}"
    for operand, negated in (("a", one.negate_a), ("b", one.negate_b)):
        yield f"negate_{operand}", f"{operand.upper()} is {'negated' if negated else 'as it is'}"
    for operand, rows, major in (("a", "M", one.a_major), ("b", "N", one.b_major)):
        name = "K-major" if major == "k" else f"{rows}-major, transposed"
        yield f"transpose_{operand}", f"{operand.upper()} is {name}"
    yield "n", f"N = {one.n}"
    yield "m", f"M = {one.m}"
    yield "max_shift", f"columns of B are shifted by {one.max_shift} at most" if one.max_shift else "no shift"
    yield "scale", f"scales are of {one.scale_dtype}"
    for operand, number in (("a", one.sfa_id), ("b", one.sfb_id)):
        yield f"sf{operand}_id", f"{operand.upper()}'s scales begin in byte {number} of their 32-bit words"
    yield "deep", f"K = {one.k}"
