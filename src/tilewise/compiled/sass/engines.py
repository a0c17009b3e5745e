"""Products of matrices and bulk copies of machine code as calls of engines.

HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4].tnspB, R24       A's descriptor in UR4 and UR5, B's in UR6 and UR7
HGMMA.64x128x16.F32.BF16 R24, R88, gdesc[UR4], R24        A in registers; B's descriptor is in UR6, too
UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR9], tmem[UR16], idesc[UR17], UP0
UTMALDG.2D [UR8], [UR4]                                   UR8: shared memory, barrier, coordinates
UTMASTG.2D [UR8], [UR4]                                   UR8: shared memory, coordinates
UBLKCP.S.G [UR6], [UR4], UR8                              UR6: shared memory, barrier; UR8: 16 bytes each
SYNCS.ARRIVE.TRANS64 RZ, [UR4], R5                        R5: the bytes that the barrier waits for
"""

from __future__ import annotations

import re

import numpy as np

from tilewise.compiled.lanes import LaneReader, applied
from tilewise.compiled.program import CopyWords, EngineCall, ProductWords
from tilewise.compiled.sass.integers import Words
from tilewise.compiled.sass.operands import address_of, nth, wide, word
from tilewise.core.dtypes import DTYPES
from tilewise.hardware.limits import LANES

_SHAPE = re.compile(r"(\d+)x(\d+)x(\d+)|(16|8)(8)(\d+)")
_UNIFORM = re.compile(r"\[(UR\d+)\]")
_SIZE = np.uint32(0xFFFF)
_UNIT = np.uint32(16)
"""Bulk copies count 16 bytes, in the low half of a register."""

KINDS = {"H": ("f16", "tf32"), "I": ("i8",), "Q": ("f8f6f4",), "O": ("mxf4", "mxf4nvf4")}
"""{first letter of the product: the kinds of tcgen05}."""
SCALED = {"Q": ("mxf8f6f4",)}
"""Those of products whose scales are in tensor memory."""

LOADED, STORED, FETCHED = ("shared", "barrier"), ("shared",), ()
TENSORS = {
    "UTMALDG": (CopyWords("global", "shared"), LOADED),
    "UTMASTG": (CopyWords("shared", "global"), STORED),
    "UTMAREDG": (CopyWords("shared", "global"), STORED),
    "UTMAPF": (CopyWords("global", "L2"), FETCHED),
}
"""{copy of a tensor: (its words, the registers of its first operand before the coordinates)}."""
SPACES = {"S": "shared", "G": "global"}


def engine_call(words: Words, writes: tuple[str, ...]) -> EngineCall | None:
    """Return the call of an engine that an instruction is, or None for another instruction."""
    base = words.base
    if base in TENSORS:
        return _tensor_copy(words)
    if base in ("UBLKCP", "UBLKRED", "UBLKPF"):
        return _bulk_copy(words)
    if base == "SYNCS":
        return _expected(words)
    if base.startswith("UTC") and base.endswith("MMA"):
        return _tcgen05(words)
    return _product(words, writes) if base.endswith("MMA") else None


# -- products --------------------------------------------------------------------------------------------


def _product(words: Words, writes: tuple[str, ...]) -> EngineCall | None:
    """Return a product of a warp, or of a warpgroup whose operands have descriptors."""
    shape = next((found for part in words.parts if (found := _SHAPE.fullmatch(part))), None)
    if shape is None:
        return None
    m, n, k = (int(number) for number in shape.groups() if number is not None)
    types = _types(words.base[0], [part.lower() for part in words.parts if part.lower() in DTYPES])
    sparse = "SP" in words.parts
    if not words.base.endswith("GMMA"):
        return EngineCall(ProductWords("mma", (m, n, k), types, sparse=sparse), {}, LANES, writes)
    place = next(number for number, one in enumerate(words.operands) if one.startswith("gdesc"))
    first, *signs = words.operands[place].split(".")
    register = _inside(first)
    given = {"A": wide(register), "B": wide(nth(register, 2))}
    a_from = "shared" if place == 1 else "registers"
    if place > 1:
        del given["A"]
    majors = {letter: "mn" if f"tnsp{letter}" in signs else "k" for letter in "AB"}
    return EngineCall(
        ProductWords("wgmma", (m, n, k), types, majors, a_from, sparse=sparse), given, 4 * LANES, writes
    )


def _types(letter: str, named: list[str]) -> tuple[str, str, str]:
    """Return the types of A, B and D.

    >>> _types("H", ["f32"]), _types("H", ["f32", "bf16"]), _types("Q", ["f16", "e4m3", "e5m2"])
    (('f16', 'f16', 'f32'), ('bf16', 'bf16', 'f32'), ('e4m3', 'e5m2', 'f16'))
    """
    match letter, named:
        case "H", [d, *rest]:
            a = rest[0] if rest else "f16"
            return a, a, d
        case "Q" | "O", [d, a, b, *_]:
            return a, b, d
        case "I", [a, b, *_]:
            return a, b, "s32"
    return ("f64", "f64", "f64") if letter == "D" else ("b1", "b1", "s32")


def _tcgen05(words: Words) -> EngineCall:
    """Return a product of which an instruction descriptor has the shape and the types."""
    a, b = words.operands[:2]
    place = next(number for number, one in enumerate(words.operands) if one.startswith("idesc"))
    given = {"B": wide(_inside(b)), "idesc": word(_inside(words.operands[place]))}
    if a.startswith("gdesc"):
        given["A"] = wide(_inside(a))
    scaled = any(one.startswith("tmem") for one in words.operands[place:])
    letter = words.base[3]
    said = ProductWords(
        "tcgen05",
        a_from="shared" if "A" in given else "tensor memory",
        kinds=SCALED.get(letter, KINDS[letter]) if scaled else KINDS[letter],
        cta_group=2 if "2CTA" in words.parts else 1,
        ws="WS" in words.parts,
    )
    return EngineCall(said, given, LANES)


def _inside(operand: str) -> str:
    found = _UNIFORM.search(operand)
    assert found is not None, operand
    return found[1]


# -- copies ----------------------------------------------------------------------------------------------


def _tensor_copy(words: Words) -> EngineCall:
    said, begin = TENSORS[words.base]
    dimensions = next(int(part[0]) for part in words.parts if re.fullmatch(r"[1-5]D", part))
    rows = 4 if {"GATHER4", "SCATTER4"} & {*words.parts} else 1
    names = (*begin, *(f"x{number}" for number in range(dimensions + rows - 1)))
    register = _inside(words.operands[0])
    given = {name: word(nth(register, step)) for step, name in enumerate(names)}
    return EngineCall(CopyWords(said.source, said.target, dimensions), given, LANES)


def _bulk_copy(words: Words) -> EngineCall:
    size = word(words.operands[-1])
    given: dict[str, LaneReader] = {
        "bytes": lambda lanes: applied(lambda bits: (bits & _SIZE) * _UNIT, size(lanes))
    }
    spaces = [SPACES[part] for part in words.parts if part in SPACES]
    if not spaces:
        return EngineCall(CopyWords("global", "L2"), given, LANES)
    target, source = spaces
    register = _inside(words.operands[0 if target == "shared" else 1])
    names = LOADED if target == "shared" else STORED
    given |= {name: word(nth(register, step)) for step, name in enumerate(names)}
    return EngineCall(CopyWords(source, target), given, LANES)


def _expected(words: Words) -> EngineCall | None:
    """Return the bytes that a barrier waits for from here on; A1T0 adds no bytes."""
    if words.parts[:2] != ("ARRIVE", "TRANS64") or "A1T0" in words.parts:
        return None
    place, size = words.operands[-2:]
    return EngineCall(None, {"barrier": address_of(place, True), "bytes": word(size)})
