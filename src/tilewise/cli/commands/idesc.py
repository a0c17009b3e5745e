"""Instruction descriptors of tcgen05.mma: 32 bits made, taken apart, explained.

  tilewise idesc encode --kind f16 --m 128 --n 256
  tilewise idesc encode --kind f16 --dtype bf16 --m 256 --n 256 --cta-group 2 --b-major mn
  tilewise idesc encode --kind f8f6f4 --a e4m3 --b e2m1 --m 128 --n 64 --sparse
  tilewise idesc encode --kind mxf4nvf4 --scale 4X --scale-dtype ue4m3 --m 128 --n 128 --json
  tilewise idesc decode 0x08400010 --kind f16

encode makes the word out of the kind, the shape, and what else is said; decode shows every bit and says
every field in words. A word is read in its kind's table, and the kind stands in the instruction: without
--kind, decode reads it as every kind that has such a product. What no product has, such as
an N or a type, is a no with the nearest that there is.
"""

from __future__ import annotations

import argparse

from tilewise.cli.answer import Answer, refused, table_lines
from tilewise.core.errors import LayoutError, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tilewise.hardware.tcgen05.instruction import InstructionWord

OPERATIONS = ("encode", "decode")
_NUMBERS = ("m", "n", "k", "selector", "max_shift", "sfa_id", "sfb_id", "cta_group")
_WORDS = ("a", "b", "d", "a_major", "b_major", "scale", "scale_dtype")
_FLAGS = ("sparse", "saturate", "negate_a", "negate_b", "ws")
_BESIDE = ("cta_group", "ws", "scale")
"""What stands in the instruction and not in its descriptor."""

_OPTIONS = {
    "the instruction": (
        ("kind", "KIND", ""),
        ("m", "M", "M: 64 or 128, of a pair of CTAs 128 or 256, of .ws 32 too"),
        ("n", "N", "N"),
        ("k", "K", "K, where a kind has several: 64 or 96 (64)"),
        ("cta_group", "G", "the CTAs that multiply together: 1 or 2 (1)"),
        ("ws", "", "tcgen05.mma.ws"),
    ),
    "types and operands": (
        ("dtype", "T", "the type of A and B (the kind's first)"),
        ("a", "T", "the type of A"),
        ("b", "T", "the type of B"),
        ("d", "T", "the type of D (f32, of i8 s32)"),
        ("a_major", "", "mn: A is transposed (k)"),
        ("b_major", "", "mn: B is transposed (k)"),
        ("negate_a", "", "-A is multiplied"),
        ("negate_b", "", "-B is multiplied"),
        ("saturate", "", "sums of i8 saturate"),
        ("sparse", "", "A is sparse"),
        ("selector", "S", "the sparsity selector, 0 to 3 (0)"),
        ("max_shift", "C", "columns that .ws shifts B by at most: 0 8 16 32 (0)"),
    ),
    "scales": (
        ("scale", "NX", "how many scales a row has: 1X 2X 4X, of K = 96 3X 6X; block32 block16"),
        ("scale_dtype", "T", "ue8m0 or ue4m3"),
        ("sfa_id", "I", "the byte in which A's scales begin (0)"),
        ("sfb_id", "I", "the byte in which B's scales begin (0)"),
    ),
}
"""{group: (name, what its value is called, help)}; that of the kind lists the kinds."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """OP [VALUE] and the options of each."""
    from tilewise.hardware.tcgen05.kinds import KINDS

    parser.usage = (
        "tilewise idesc encode --kind KIND --m M --n N [options]\n"
        "       tilewise idesc decode VALUE [--kind KIND] [--cta-group 1|2] [--ws] [--scale 2X]"
    )
    parser.add_argument("op", metavar="OP", choices=OPERATIONS, help="encode or decode")
    parser.add_argument(
        "value", metavar="VALUE", nargs="?", help="the 32 bits, such as 0x08400010, or CUTLASS's 64, or -"
    )
    for title, options in _OPTIONS.items():
        group = parser.add_argument_group(title)
        for name, metavar, help in options:
            if name in _FLAGS:
                group.add_argument(_flag(name), action="store_true", help=help)
            elif name.endswith("_major"):
                group.add_argument(_flag(name), choices=("k", "mn"), help=help)
            else:
                group.add_argument(_flag(name), metavar=metavar, help=help or " ".join(KINDS))


def answer(args: argparse.Namespace) -> Answer:
    """Return the word and what it says; no where no product is such."""
    try:
        return _shown([_encoded(args)] if args.op == "encode" else _decoded(args))
    except Refused as no:
        return refused(no, {"op": args.op})


def _given(args: argparse.Namespace) -> dict[str, Any]:
    """Return what is said of the instruction, numbers as numbers."""
    said = {name: getattr(args, name) for name in (*_WORDS, *_NUMBERS, *_FLAGS)}
    return {
        name: _integer(value, f"no number for {_flag(name)}", "such as 64 or 0x40")
        if name in _NUMBERS
        else value
        for name, value in said.items()
        if value not in (None, False)
    }


def _encoded(args: argparse.Namespace) -> InstructionWord:
    from tilewise.hardware.tcgen05.instruction import InstructionWord

    if args.value is not None:
        raise LayoutError("TW401", f"encode does not take {args.value}", hint="decode does")
    such = {"kind": "f16", "m": "128", "n": "256"}
    if missing := {_flag(name): value for name, value in such.items() if getattr(args, name) is None}:
        hint = "such as " + " ".join(f"{name} {value}" for name, value in missing.items())
        raise LayoutError("TW401", f"encode needs {' and '.join(missing)}", hint=hint)
    types = {} if args.dtype is None else {"a": args.dtype, "b": args.dtype}
    return InstructionWord(args.kind, **types | _given(args))


def _decoded(args: argparse.Namespace) -> list[InstructionWord]:
    from tilewise.hardware.tcgen05.instruction import InstructionWord, kinds_of_word, word_of

    own = [name for name in (*_NUMBERS, *_WORDS, *_FLAGS, "dtype") if name not in _BESIDE]
    if odd := [name for name in own if getattr(args, name)]:
        raise LayoutError("TW401", f"decode does not take {_flag(odd[0])}", hint="the word says it")
    if args.value is None:
        raise LayoutError("TW401", "decode takes a value", hint="such as 0x08400010")
    hint = "32 bits as a number, such as 0x08400010"
    value = word_of(_integer(_spelled(args), "no instruction descriptor", hint))
    kinds = [args.kind] if args.kind else kinds_of_word(value)
    if not kinds:
        raise Refused(
            "TW604",
            f"{value:#010x} is no product of any kind",
            witness={"value": value},
            hint="with --kind the reason is said",
        )
    beside = {"cta_group": None, **_given(args)}
    return [InstructionWord.decode(value, kind, **beside) for kind in kinds]


def _shown(several: Sequence[InstructionWord]) -> Answer:
    """The word with all that it says; of several kinds, what it says of each."""
    sheets = [_sheet(one) for one in several]
    if len(sheets) == 1:
        return Answer(*sheets[0])
    value = f"{several[0].value:#010x}"
    said = f"{value} is a word of {len(sheets)} kinds, and the instruction says of which"
    data = {"engine": "tcgen05", "value": value, "readings": [data for data, _ in sheets]}
    return Answer(data, "\n\n".join([said, *(text for _, text in sheets)]))


def _sheet(one: InstructionWord) -> tuple[dict[str, Any], str]:
    from tilewise.hardware.fields import picture
    from tilewise.hardware.tcgen05.instruction import BITS, SOURCE, fields_of, remarks, words

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
        "remarks": [*noted],
        "source": str(SOURCE),
    }
    rows = [("field", "bits", "encoded", ""), *((f.name, f.where, f.encoded, f.says) for f in said)]
    scales = f", {one.scale} scales of {one.scale_dtype}" if one.scale else ""
    parts = [
        [spelled, f"{one.words}: {one.shape}, {one.a} x {one.b} into {one.d}{scales}"],
        picture(fields_of(one.kind), one.value, BITS),
        table_lines(rows, "<<><"),
        [f"note: {remark}" for remark in noted],
    ]
    return data, "\n\n".join("\n".join(lines) for lines in parts)


def _spelled(args: argparse.Namespace) -> str:
    """The word; from standard input it may be an answer in JSON, which says the kind as well."""
    if args.value != "-":
        return str(args.value).strip()
    from tilewise.cli.arguments import filled_in

    args.value = None
    text = filled_in("-", args, "value", "kind", "cta_group")
    return str(args.value or text).strip()


def _integer(spelled: str, wanted: str, hint: str) -> int:
    try:
        return int(spelled.rstrip("uU"), 0)
    except ValueError:
        raise LayoutError("TW401", f"{spelled or 'nothing'} is {wanted}", hint=hint) from None


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
