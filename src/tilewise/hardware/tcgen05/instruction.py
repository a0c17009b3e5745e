"""The 32-bit instruction descriptor of tcgen05.mma: the facts of a product that its words do not give.

Bits that no field has are 0. The kind, the CTA group and `.ws` stand in the instruction's words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache

from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.hardware.fields import Field, packed, reserved
from tilewise.hardware.instructions import listed, values
from tilewise.hardware.operands.sentences import Said
from tilewise.hardware.sources import ptx
from tilewise.hardware.tcgen05.kinds import BLOCKS, DEEP_K, DEEP_SCALES, KINDS, Kind, Product, product_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BITS = 32
SOURCE = ptx("Instruction descriptor (tcgen05)", "tcgen05-instruction-descriptor")

N_UNIT, M_UNIT, SCALED_M_UNIT = 8, 16, 128


_WORD = """
selector      1-0    -      -      sparsity selector
sparse        2      2      2      A is sparse
saturate      3      -      -      integers saturate
d             5-4    -      -      type of D
sfb_id        -      5-4    5-4    id of B's scales
a             9-7    9-7    9-7    type of A
b             12-10  12-10  11-10  type of B
negate_a      13     13     13     negate A
negate_b      14     14     14     negate B
transpose_a   15     15     15     A is M-major
transpose_b   16     16     16     B is N-major
n             22-17  22-17  22-17  N / 8
scale         -      23     23     type of the scales
m             28-24  -      -      M / 16
m             -      28-27  28-27  M / 128
sfa_id        -      30-29  30-29  id of A's scales
max_shift     31-30  -      -      maximum shift of B's columns, .ws
deep          -      -      31     K = 96
"""
"""A field; its bits where a kind has no scales, of mxf8f6f4, and of mxf4 and mxf4nvf4; its title."""


def _fields(column: int) -> tuple[Field, ...]:
    """Return the fields that have bits in a column of the table."""
    found = []
    for line in _WORD.strip().splitlines():
        name, *bits, title = line.split(maxsplit=4)
        if bits[column] != "-":
            high, _, low = bits[column].partition("-")
            first = int(low or high)
            found.append(Field(name, first, int(high) - first + 1, 1, title))
    return tuple(found)


PLAIN, SCALED, PACKED = map(_fields, range(3))
"""The fields of kinds without scales, those of mxf8f6f4, and those of mxf4 and mxf4nvf4."""

_F8F6F4 = {"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5}
TYPES: Mapping[str, Mapping[str, int]] = {
    "f16": {"f16": 0, "bf16": 1},
    "tf32": {"tf32": 2},
    "f8f6f4": _F8F6F4,
    "i8": {"u8": 0, "s8": 1},
    "mxf8f6f4": _F8F6F4,
    "mxf4": {"e2m1": 1},
    "mxf4nvf4": {"e2m1": 1},
}
"""{kind: {type of A or B: its code}}."""

RESULTS = {"f16": 0, "f32": 1, "s32": 2}
SCALES = {"ue4m3": 0, "ue8m0": 1}
SHIFTS = (0, 8, 16, 32)
MAJORS = ("k", "mn")

_FLAG: Mapping[Any, int] = {False: 0, True: 1}
_NUMBER: Mapping[Any, int] = {number: number for number in range(4)}


@cache
def _parts(kind: Kind) -> Mapping[str, tuple[str, Mapping[Any, int]]]:
    """Return {field: (the part of an instruction that it holds, {its value: its code})}."""
    m_unit = SCALED_M_UNIT if kind.scaled else M_UNIT
    major = {major: code for code, major in enumerate(MAJORS)}
    return {
        **{name: (name, _FLAG) for name in ("sparse", "saturate", "negate_a", "negate_b")},
        **{name: (name, _NUMBER) for name in ("selector", "sfa_id", "sfb_id")},
        **{name: (name, TYPES[kind.name]) for name in "ab"},
        "d": ("d", RESULTS),
        "transpose_a": ("a_major", major),
        "transpose_b": ("b_major", major),
        "n": ("n", {N_UNIT * code: code for code in range(64)}),
        "m": ("m", {m_unit * code: code for code in range(32)}),
        "max_shift": ("max_shift", {shift: code for code, shift in enumerate(SHIFTS)}),
        "scale": ("scale_dtype", SCALES),
        "deep": ("k", {0: 0, DEEP_K: 1}),
    }


def fields_of(kind: Kind | str) -> tuple[Field, ...]:
    """Return the table of a kind.

    >>> [len(fields_of(kind)) for kind in ("i8", "mxf8f6f4", "mxf4")]
    [13, 12, 13]
    """
    kind = Kind.of(kind)
    return PACKED if kind.packed else SCALED if kind.scaled else PLAIN


@dataclass(frozen=True, slots=True)
class InstructionWord:
    """A product of tcgen05.mma; defaults are the kind's first choices, and 0.

        requires       types, M, N and ids that the kind has
        postcondition  decode(i.value, i.kind, cta_group=i.cta_group, ws=i.ws, scale=i.scale) == i

    >>> one = InstructionWord("f16", 128, 256, a="bf16")
    >>> hex(one.value), one.b, one.d
    ('0x8400490', 'bf16', 'f32')
    >>> InstructionWord.decode(0x8400490, "f16") == one
    True
    """

    kind: str
    m: int
    n: int
    a: str = ""
    b: str = ""
    d: str = ""
    sparse: bool = False
    selector: int = 0
    saturate: bool = False
    negate_a: bool = False
    negate_b: bool = False
    a_major: str = "k"
    b_major: str = "k"
    max_shift: int = 0
    """The most columns by which `.ws` shifts B: 0, 8, 16 or 32."""
    scale: str = ""
    """1X, 2X or 4X; of K = 96, 3X or 6X."""
    scale_dtype: str = ""
    sfa_id: int = 0
    sfb_id: int = 0
    k: int = 0
    """K; 0 for the kind's."""
    cta_group: int = 1
    ws: bool = False

    def __post_init__(self) -> None:
        for name in _NUMBERS:
            object.__setattr__(self, name, as_int(getattr(self, name), name))
        for name in _FLAGS:
            if not isinstance(getattr(self, name), bool):
                raise LayoutError("TW101", f"{name} is True or False, not {getattr(self, name)!r}")
        kind = Kind.of(self.kind)
        a = kind.check(self.a or self.b or kind.types[0]).name
        b = kind.check(self.b or a).name
        d = self.d or ("f32" if "f32" in kind.results else kind.results[0])
        kind.check_product(a, b, d)
        settled = {"kind": kind.name, "a": a, "b": b, "d": d}
        for name, value in settled.items():
            object.__setattr__(self, name, value)
        _settled(self)

    @property
    def encoded(self) -> dict[str, int]:
        """Return the number in every field.

        >>> InstructionWord("mxf4", 128, 64).encoded["m"], InstructionWord("f16", 64, 64).encoded["m"]
        (1, 4)
        """
        kind = Kind.of(self.kind)
        parts = {field.name: _parts(kind)[field.name] for field in fields_of(kind)}
        return {name: codes.get(getattr(self, part), 0) for name, (part, codes) in parts.items()}

    @property
    def value(self) -> int:
        """Return the 32 bits."""
        return packed(fields_of(self.kind), self.encoded)

    @property
    def shape(self) -> str:
        """Return M, N and K in one word.

        >>> InstructionWord("tf32", 64, 40, sparse=True).shape
        'm64n40k16'
        """
        return f"m{self.m}n{self.n}k{self.k}"

    @property
    def words(self) -> str:
        """Return the instruction by PTX's name.

        >>> InstructionWord("mxf4nvf4", 256, 64, scale="4X", scale_dtype="ue4m3", cta_group=2).words
        'tcgen05.mma.cta_group::2.kind::mxf4nvf4.block_scale.block16'
        """
        words = self.product.words
        return f"{words}.{BLOCKS[self.scale]}" if self.scale else words

    @property
    def product(self) -> Product:
        """Return the product without its M and N."""
        return product_of(self.kind, self.cta_group, self.sparse, self.ws, self.k)

    @property
    def named(self) -> dict[str, int | str | bool]:
        """Return every part of its kind by name."""
        plain = {"d", "saturate", "selector", "max_shift", "ws"}
        scales = {"scale", "scale_dtype", "sfa_id", "sfb_id"}
        silent = plain - {"d"} if Kind.of(self.kind).scaled else scales
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in silent}

    @classmethod
    def decode(
        cls,
        value: int,
        kind: Kind | str,
        *,
        cta_group: int | None = None,
        ws: bool = False,
        scale: str | None = None,
    ) -> InstructionWord:
        """Return the product that 32 bits encode; refuse, with the field, a word of no product.

        The kind, the CTA group, `.ws` and the number of scales stand in the instruction. Their defaults are
        the smaller group and the finest scales with which the rest is legal.
        """
        kind = Kind.of(kind)
        value = word_of(value)
        if bits := reserved(fields_of(kind), value):
            many = f"bit {bits[0]} is" if len(bits) == 1 else f"bits {', '.join(map(str, bits))} are"
            raise Refused(
                "TW604",
                f"{many} set in {value:#010x}, and kind::{kind.name} has nothing there",
                witness={"bits": bits},
                hint="they are 0, or the word is of another kind",
            )
        parts = _parts(kind)
        given = {
            parts[field.name][0]: _of_code(parts[field.name][1], field.of(value), field.title, kind)
            for field in fields_of(kind)
        }
        refused: list[Refused] = []
        for group in (1, 2) if cta_group is None else (cta_group,):
            for word in _scale_words(kind, given) if scale is None else [scale]:
                try:
                    return cls(kind.name, **given, cta_group=group, ws=ws, scale=word)
                except Refused as no:
                    refused.append(no)
        raise refused[0]


def word_of(value: int) -> int:
    """Return the number of 32 bits; CUTLASS's 64 bits have it in the upper half, and 0 in the lower.

    >>> hex(word_of(0x0840001000000000))
    '0x8400010'
    """
    value = as_int(value, "an instruction descriptor")
    if not value & (1 << BITS) - 1 and 0 < value < 1 << 2 * BITS:
        value >>= BITS
    if not 0 <= value < 1 << BITS:
        raise LayoutError(
            "TW604",
            f"{value:#x} is no number of 32 bits",
            hint="an instruction descriptor has 32; of 64 that CUTLASS hands on, the upper half",
        )
    return value


def kinds_of_word(value: int) -> list[str]:
    """Return the kinds for which a word encodes a product.

    >>> kinds_of_word(InstructionWord("i8", 128, 64).value), kinds_of_word(0)
    (['i8'], [])
    """
    found = []
    for name in KINDS:
        try:
            InstructionWord.decode(value, name)
        except LayoutError:
            continue
        found.append(name)
    return found


# -- the contents of a word ------------------------------------------------------------------------

_ANY_ID = tuple(range(4))
IDS = {"1X": _ANY_ID, "2X": (0, 2), "3X": _ANY_ID, "4X": (0,), "6X": (0, 2)}
"""{number of scales in a row: the ids}. An id is the place of the first scale in a word of four."""


def _of_code(codes: Mapping[Any, int], code: int, what: str, kind: Kind) -> Any:
    for name, number in codes.items():
        if number == code:
            return name
    known = ", ".join(f"{number} {name}" for name, number in codes.items())
    raise Refused(
        "TW604",
        f"{code} is no {what} of kind::{kind.name}",
        witness={"field": what, "code": code},
        hint=f"known: {known}; or the word is of another kind",
    )


def _scale_words(kind: Kind, given: Mapping[str, Any]) -> list[str]:
    """Return the numbers of scales that a word's type allows, the most first, for the constructor."""
    words = [one.word for one in reversed(kind.scalings) if one.dtype == given.get("scale_dtype")] or [""]
    return [DEEP_SCALES.get(word, word) for word in words] if given.get("k") == DEEP_K else words


# -- illegal products ------------------------------------------------------------------------------


def _settled(one: InstructionWord) -> None:
    """Refuse an illegal product; set K and the scales to the kind's where they were left out."""
    kind = Kind.of(one.kind)
    for name in ("a_major", "b_major"):
        if (major := getattr(one, name)) not in MAJORS:
            raise LayoutError("TW601", f"{major!r} is no major direction", hint="known: k mn")
    product = one.product
    object.__setattr__(one, "k", product.k)
    product.check(one.m, one.n, one.b, one.b_major)
    for reason, witness, hint in _faults(one, kind):
        raise Refused("TW602", reason, witness=witness, hint=hint)
    if kind.scaled:
        scaling, word = product.scales(one.scale or None, one.scale_dtype or None)
        object.__setattr__(one, "scale", word)
        object.__setattr__(one, "scale_dtype", scaling.dtype)
    elif one.scale or one.scale_dtype or one.sfa_id or one.sfb_id:
        kind.scaling(one.scale or None, one.scale_dtype or None)
    for operand, number in (("A", one.sfa_id), ("B", one.sfb_id)):
        if one.scale and number not in IDS[one.scale]:
            raise Refused(
                "TW602",
                f"the id of {operand}'s scales is {number}; {one.scale} scales have {listed(IDS[one.scale])}",
                witness={"operand": operand, "id": number, "scale": one.scale},
                hint="it is the byte of a 32-bit word in which the first scale of a row lies",
            )


def _faults(one: InstructionWord, kind: Kind) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield (reason, witness, hint) for values that a word of the kind may have, and no product has."""
    name = {"kind": kind.name}
    for operand, dtype, major in (("A", one.a, one.a_major), ("B", one.b, one.b_major)):
        if major not in kind.majors(dtype):
            witness = {"operand": operand, "dtype": dtype, "major": major}
            hint = "elements of 8 bits and more may be MN-major"
            yield f"kind::{kind.name} reads {operand} of {dtype} K-major alone", witness, hint
    if kind.name == "i8" and (one.negate_a or one.negate_b):
        yield "kind::i8 negates nothing", name, "negate goes with floats"
    if one.saturate and kind.name != "i8":
        yield f"kind::{kind.name} does not saturate", name, "kind::i8 does"
    if one.selector not in ((0, 1) if one.sparse and kind.name in ("f16", "tf32") else (0,)):
        of_a = "sparse" if one.sparse else "dense"
        yield (
            f"kind::{kind.name} has no sparsity selector {one.selector} with {of_a} A",
            {"selector": one.selector, **name, "sparse": one.sparse},
            "a sparse A of kind::f16 or kind::tf32 has selectors 0 and 1, all else 0",
        )
    shift, most = one.max_shift, 16 if one.m == 32 else 32
    if shift not in SHIFTS:
        hint = "the maximum shift is 0, 8, 16 or 32"
        yield f"B is not shifted by up to {shift} columns", {"max_shift": shift}, hint
    if shift and (not one.ws or shift > most):
        yield (
            f"M = {one.m}{'' if one.ws else ' without .ws'} has no maximum shift of {shift}",
            {"max_shift": shift, "m": one.m, "ws": one.ws},
            f"of M = {one.m} it is at most {most}" if one.ws else "tcgen05.mma.ws shifts B",
        )


_NUMBERS = ("m", "n", "k", "selector", "max_shift", "sfa_id", "sfb_id", "cta_group")
_FLAGS = ("sparse", "saturate", "negate_a", "negate_b", "ws")

# -- in words ------------------------------------------------------------------------------------


def words(one: InstructionWord) -> tuple[Said, ...]:
    """Return every field, the lowest first.

    >>> for said in words(InstructionWord("mxf4", 128, 64))[:3]:
    ...     print(said.where, said.name, said.encoded, said.says)
    2 sparse 0 A is dense
    5-4 sfb_id 0 B's scales begin in byte 0 of their 32-bit words
    9-7 a 1 A is of e2m1
    """
    says = dict(_says(one))
    held = one.encoded
    return tuple(Said(f.name, f.where, None, held[f.name], True, says[f.name]) for f in fields_of(one.kind))


def remarks(one: InstructionWord) -> tuple[str, ...]:
    """Return the facts that the word does not hold, and a program has to give elsewhere.

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
