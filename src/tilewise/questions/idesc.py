"""Instruction descriptors of tcgen05.mma: 32 bits made, taken apart, explained.

  tilewise idesc encode --kind f16 --m 128 --n 256
  tilewise idesc encode --kind f16 --dtype bf16 --m 256 --n 256 --cta-group 2 --b-major mn
  tilewise idesc encode --kind f8f6f4 --a e4m3 --b e2m1 --m 128 --n 64 --sparse
  tilewise idesc encode --kind mxf4nvf4 --scale 4X --scale-dtype ue4m3 --m 128 --n 128 --json
  tilewise idesc decode 0x08400010 --kind f16
  tilewise idesc 0x08400010

encode makes the word out of the kind, the shape, and other options; decode shows every bit and says
every field in words, and may be left out before a word. A word is read in its kind's table, and the kind
stands in the instruction: without --kind, decode reads it as every kind that has such a product. A value
that no product has, such as an N or a type, is a no with the nearest that there is.
"""

from __future__ import annotations

from tilewise.core.errors import Refused
from tilewise.questions.asking import asks
from tilewise.questions.engines import asked_for, bits_in, operation_in
from tilewise.questions.report import Report, refused, table_lines
from tilewise.questions.texts import Texts, misused, refuse_given, refuse_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Literal

    from tilewise.hardware.tcgen05.instruction import InstructionWord
    from tilewise.questions.asking import Number, Type, Word

USAGE = """\
tilewise idesc encode --kind KIND --m M --n N [options]
       tilewise idesc [decode] VALUE [--kind KIND] [--cta-group 1|2] [--ws] [--scale 2X]"""

OPERATIONS = ("encode", "decode")


GROUPS = {
    "the instruction": {
        "kind": "KIND: f16 tf32 f8f6f4 i8 mxf8f6f4 mxf4 mxf4nvf4",
        "m": "M: M: 64 or 128, of a pair of CTAs 128 or 256, of .ws 32 too",
        "n": "N: N",
        "k": "K: K, where a kind has several: 64 or 96 (64)",
        "cta_group": "G: the CTAs that multiply together: 1 or 2 (1)",
        "ws": "tcgen05.mma.ws",
    },
    "types and operands": {
        "dtype": "T: the type of A and B (the kind's first)",
        "a": "T: the type of A",
        "b": "T: the type of B",
        "d": "T: the type of D (f32, of i8 s32)",
        "a_major": "mn: A is transposed (k)",
        "b_major": "mn: B is transposed (k)",
        "negate_a": "-A is multiplied",
        "negate_b": "-B is multiplied",
        "saturate": "sums of i8 saturate",
        "sparse": "A is sparse",
        "selector": "S: the sparsity selector, 0 to 3 (0)",
        "max_shift": "C: columns that .ws shifts B by at most: 0 8 16 32 (0)",
    },
    "scales": {
        "scale": "NX: how many scales a row has: 1X 2X 4X, of K = 96 3X 6X; block32 block16",
        "scale_dtype": "T: ue8m0 or ue4m3",
        "sfa_id": "I: the byte in which A's scales begin (0)",
        "sfb_id": "I: the byte in which B's scales begin (0)",
    },
}
"""{title: {option: its help}}."""

BESIDE = ("cta_group", "ws", "scale")
"""The options that stand in the instruction and not in its descriptor."""


@asks(
    GROUPS,
    operation="OP: encode or decode (decode)",
    value="VALUE: the 32 bits, such as 0x08400010, or CUTLASS's 64, or -",
)
def idesc(
    operation: Word | int,
    value: Word | int | None = None,
    dtype: Type | None = None,
    *,
    kind: str | None = None,
    m: Number | None = None,
    n: Number | None = None,
    k: Number | None = None,
    cta_group: Number | None = None,
    ws: bool = False,
    a: Type | None = None,
    b: Type | None = None,
    d: Type | None = None,
    a_major: Literal["k", "mn"] | None = None,
    b_major: Literal["k", "mn"] | None = None,
    negate_a: bool = False,
    negate_b: bool = False,
    saturate: bool = False,
    sparse: bool = False,
    selector: Number | None = None,
    max_shift: Number | None = None,
    scale: str | None = None,
    scale_dtype: Type | None = None,
    sfa_id: Number | None = None,
    sfb_id: Number | None = None,
) -> Report:
    """Return an instruction descriptor with all that it says; no where no product is such.

    The report has its `value`, the `fields` and the `words` that explain each. A word of several kinds has
    `readings`, one a kind.

    >>> idesc("encode", kind="f16", m=128, n=256).value
    '0x08400010'
    """
    given = dict(locals())
    operation, value = operation_in(operation, value, OPERATIONS)
    options = {
        name: given[name] for group in GROUPS.values() for name in group if name not in ("kind", "dtype")
    }
    try:
        if operation == "decode":
            beside = {name: options.pop(name) for name in BESIDE}
            refuse_given(options | {"dtype": dtype}, "is not for decode", "the word says it")
            return _shown(_decoded(value, kind, beside))
        if value is not None:
            raise misused(f"encode does not take {value}", "decode does")
        refuse_missing("encode", {"kind": kind, "m": m, "n": n}, {"kind": "f16", "m": "128", "n": "256"})
        types = {} if dtype is None else {"a": str(dtype), "b": str(dtype)}
        return _shown([_made(kind or "", types | asked_for(options))])
    except Refused as no:
        return refused(no, {"op": operation})


def _made(kind: str, given: Mapping[str, Any]) -> InstructionWord:
    from tilewise.hardware.tcgen05.instruction import InstructionWord

    return InstructionWord(kind, **given)


def _decoded(value: int | str | None, kind: str | None, beside: Mapping[str, Any]) -> list[InstructionWord]:
    """Return what a word says as one kind, or as every kind that has such a product."""
    from tilewise.hardware.tcgen05.instruction import InstructionWord, kinds_of_word, word_of

    if value is None:
        raise misused("decode takes a value", "such as 0x08400010")
    told: dict[str, str] = {}
    if value == "-":
        text, told = Texts().told_by("-", "value", "kind", "cta_group")
        value = told.get("value", str(text))
    word = word_of(bits_in(value, "instruction descriptor", "32 bits as a number, such as 0x08400010"))
    asked = {"cta_group": None, **asked_for({"kind": kind, **beside}, told)}
    kind = asked.pop("kind", None)
    kinds = [kind] if kind else kinds_of_word(word)
    if not kinds:
        raise Refused(
            "TW604",
            f"{word:#010x} is no product of any kind",
            witness={"value": word},
            hint="--kind shows the reason",
        )
    return [InstructionWord.decode(word, each, **asked) for each in kinds]


def _shown(several: Sequence[InstructionWord]) -> Report:
    """Return the word with all that it says; of several kinds, what it says of each."""
    sheets = [_sheet(word) for word in several]
    if len(sheets) == 1:
        return Report(*sheets[0])
    value = f"{several[0].value:#010x}"
    head = f"{value} is a word of {len(sheets)} kinds, and the instruction says of which"
    fields = {"engine": "tcgen05", "value": value, "readings": [fields for fields, _ in sheets]}
    return Report(fields, "\n\n".join([head, *(text for _, text in sheets)]))


def _sheet(one: InstructionWord) -> tuple[dict[str, Any], str]:
    from tilewise.hardware.fields import picture
    from tilewise.hardware.tcgen05.instruction import BITS, SOURCE, remarks, words
    from tilewise.hardware.tcgen05.instruction import fields_of as fields_of_kind

    said, noted = words(one), remarks(one)
    spelled = f"{one.value:#010x}"
    data = {
        "engine": "tcgen05",
        "value": spelled,
        "kind": one.kind,
        "cta_group": one.cta_group,
        "instruction": one.words,
        "shape": one.shape,
        "fields": one.named,
        "encoded": one.encoded,
        "bits": {field.name: field.where for field in said},
        "words": {field.name: field.says for field in said},
        "remarks": noted,
        "source": SOURCE,
    }
    rows = [("field", "bits", "encoded", ""), *((f.name, f.where, f.encoded, f.says) for f in said)]
    scales = f", {one.scale} scales of {one.scale_dtype}" if one.scale else ""
    parts = [
        [spelled, f"{one.words}: {one.shape}, {one.a} x {one.b} into {one.d}{scales}"],
        picture(fields_of_kind(one.kind), one.value, BITS),
        table_lines(rows, "<<><"),
        [f"note: {remark}" for remark in noted],
    ]
    return data, "\n\n".join("\n".join(lines) for lines in parts)
