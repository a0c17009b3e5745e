"""Engines in questions: the word that names one with its operand, and the options of each."""

from __future__ import annotations

import re

from tilewise.questions.asking import option_of
from tilewise.questions.report import fields_of
from tilewise.questions.texts import misused, number_in, with_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from tilewise.core.errors import LayoutError
    from tilewise.hardware.operands.stepping import Step

MAJOR = "refuse the other one"
N = "N: N of the instruction (the largest that reads the tile)"

OF_TCGEN05 = {
    "kind": "KIND: the kind of the product (the first with the type)",
    "m": "M: M of the product (the largest that reads the tile)",
    "cta_group": "the CTAs that multiply together (1)",
    "ws": "tcgen05.mma.ws",
    "lbo_mode": "what LBO is: absolute with K = 96 alone",
    "atomicity": "bytes that the swizzle keeps together: 32 of 128B_ATOM_32B",
    "k": "K: K of the product, where the kind has several: 64 or 96",
}
"""{an option that only tcgen05 takes: its help}."""

NUMBERS = (
    *("m", "n", "k", "cta_group", "atomicity"),
    *("selector", "max_shift", "sfa_id", "sfb_id"),
    *("start", "lbo", "sbo", "base_offset", "base", "stages", "stage_stride"),
)
"""Options that are numbers."""
FLAGS = ("ws", "sparse")

_C_SUFFIX = re.compile(r"(?<=[0-9a-f])u?l{0,2}$", re.IGNORECASE)
"""The letters that C and C++ write after an unsigned constant of 64 bits."""


def reader_in(engine: str | None, operand: str | None) -> tuple[str | None, str | None]:
    """Return the engine and the operand of `wgmma` or `wgmma.B`, and of an operand that is given beside it.

    >>> reader_in("wgmma.B", None), reader_in("wgmma", "a"), reader_in(None, "A")
    (('wgmma', 'B'), ('wgmma', 'A'), (None, 'A'))
    """
    name, _, letter = (engine or "").strip().partition(".")
    letters = {each.upper() for each in (letter, operand or "") if each}
    if len(letters) > 1:
        raise misused(f"{engine} is not the operand {operand}", "name it once: wgmma.B, or --operand B")
    return name.lower() or None, letters.pop() if letters else None


def no_engine(name: str, known: Iterable[str]) -> LayoutError:
    """Return the error of a name that no engine has, with the one that is near."""
    from tilewise.check.operand import known_hint
    from tilewise.core.dtypes import known_type

    hint = f"did you mean --dtype {name}?" if known_type(name) else known_hint(name, known)
    return misused(f"{name!r} is no engine", hint)


def asked_for(given: Mapping[str, Any], told: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the options that have a value, or that a piped answer tells; numbers as numbers.

    >>> asked_for({"kind": None, "m": "0x80", "ws": False}, {"kind": "f16", "ws": "True", "dtype": "bf16"})
    {'kind': 'f16', 'm': 128, 'ws': True}
    """
    values = dict(given)
    for name, value in (told or {}).items():
        if name in values and name not in with_values(given):
            values[name] = value
    return {
        name: number_in(value, option_of(name), "number", "64 or 0x40") if name in NUMBERS else value
        for name, value in with_values(values).items()
    } | {name: True for name in FLAGS if values.get(name)}


def is_value(word: int | str) -> bool:
    """Return whether a word is a descriptor, and no operation."""
    return str(word).strip() == "-" or str(word).strip()[:1].isdecimal()


def operation_in(word: int | str, value: Any, operations: Sequence[str]) -> tuple[str, Any]:
    """Return an operation and the value after it; of a value alone the operation is decode.

    >>> operation_in("0x10", None, ("encode", "decode")), operation_in("encode", None, ("encode", "decode"))
    (('decode', '0x10'), ('encode', None))
    """
    name = str(word).strip()
    if name.lower() in operations:
        return name.lower(), value
    if value is None and is_value(word):
        return "decode", word
    raise misused(f"{name!r} is no operation", f"one of {', '.join(operations)}")


def bits_in(given: int | str, noun: str, such: str) -> int:
    """Return the bits of a descriptor; as in C, their number may have a suffix.

    >>> hex(bits_in("0x4000004000010000ull", "descriptor", "64 bits as a number"))
    '0x4000004000010000'
    """
    spelled = _C_SUFFIX.sub("", str(given).strip())
    try:
        return int(spelled, 0)
    except ValueError:
        raise misused(f"{spelled or 'nothing'} is no {noun}", such) from None


def step_fields(step: Step[Any]) -> dict[str, Any]:
    """Return the fields of one descriptor of a tile."""
    value = f"{step.descriptor.value:#018x}"
    return fields_of(step, "mn", "k", "bytes", "encoded", "base_offset") | {"value": value}
