"""Loads, stores, copies and atomics of machine code as accesses.

LDG.E.64 R4, desc[UR6][R2.64+0x10]      8 bytes a lane of global memory
LDS.U.128 R4, [R2]                      16 bytes of shared memory
LDSM.16.M88.4 R8, [R2]                  ldmatrix.x4
LDGSTS.E.BYPASS.128 [R3], desc[UR6][R4.64], P0
"""

from __future__ import annotations

import re

from tilewise.compiled import generic
from tilewise.compiled.lanes import LaneReader
from tilewise.compiled.program import Step, Touch, copied
from tilewise.compiled.sass.integers import Words
from tilewise.compiled.sass.operands import address_of, is_truth, named, truth

MATRIX_LANES = 8
ROW = 16

SPACES = {
    "LDG": ("global", "ld"),
    "STG": ("global", "st"),
    "LDS": ("shared", "ld"),
    "STS": ("shared", "st"),
    "LDL": ("local", "ld"),
    "STL": ("local", "st"),
    "LD": ("generic", "ld"),
    "ST": ("generic", "st"),
    "ATOMS": ("shared", "atom"),
    "ATOMG": ("global", "atom"),
    "ATOM": ("generic", "atom"),
    "REDG": ("global", "red"),
    "RED": ("global", "red"),
    "REDS": ("shared", "red"),
    "LDSM": ("shared", "ldmatrix"),
    "STSM": ("shared", "stmatrix"),
}
"""{instruction: (space, operation)}."""


def touches(words: Words) -> tuple[Step, ...] | None:
    """Return the accesses of an instruction, or None if it accesses no memory that is counted."""
    if words.base == "LDGSTS":
        return _copied(words)
    if words.base not in SPACES:
        return None
    space, operation = SPACES[words.base]
    places = [one for one in words.operands if "[" in one]
    if not places:
        return None
    address = address_of(places[-1], space in ("shared", "local"), "E" in words.parts)
    if operation in ("ldmatrix", "stmatrix"):
        count = next((int(part) for part in words.parts if part in ("2", "4")), 1)
        writes = named(words.operands[0], count) if operation == "ldmatrix" else ()
        return (Touch(space, operation, ROW, address, writes, MATRIX_LANES * count),)
    bytes = bytes_of(words)
    written: list[str] = []
    if operation in ("ld", "atom"):
        for operand in words.operands[: words.operands.index(places[0])]:
            if is_truth(operand):
                written.append(operand)
            else:
                written.extend(named(operand, max(1, bytes // 4)))
    if space == "generic":
        return generic.touches(operation, bytes, address, tuple(written), tuple(generic.WINDOWS))
    return (Touch(space, operation, bytes, address, tuple(written)),)


def bytes_of(words: Words) -> int:
    """Return the bytes of one lane.

    >>> [bytes_of(Words.of(name, [])) for name in ("LDG.E.128", "LDS.U8", "STG.E.U16", "STS")]
    [16, 1, 2, 4]
    """
    for part in words.parts:
        if part in ("64", "128", "256"):
            return int(part) // 8
        match = re.fullmatch(r"[USFB](8|16|32|64)(x[24])?(_V\d)?", part) or re.fullmatch(
            r"(F16|BF16)x2.*", part
        )
        if match and match[1].isdigit():
            return int(match[1]) // 8 * int((match[2] or "x1")[1:])
    return 4


def _copied(words: Words) -> tuple[Step, ...]:
    """Return the store to shared memory and the load from global memory of an asynchronous copy.

    A predicate at the end holds the load back; the lane then stores zeros.
    """
    target, source = [one for one in words.operands if "[" in one][:2]
    bytes = bytes_of(words)
    last = [one for one in words.operands if is_truth(one)]
    when: LaneReader | None = truth(last[-1]) if last else None
    beyond, bypasses = address_of(source, False, "E" in words.parts), "BYPASS" in words.parts
    return copied(
        Touch("shared", "cp.async", bytes, address_of(target, True), bypasses=bypasses),
        Touch("global", "cp.async", bytes, beyond, when=when, bypasses=bypasses),
    )
