"""How C++ and asm spell what a kernel computes with, and the names that its text leaves free."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tilewise.core.errors import LayoutError
from tilewise.emit.source import Source


@dataclass(frozen=True, slots=True)
class Register:
    """How a register of D is declared in C++, and its constraint in asm."""

    declared: str
    constraint: str


REGISTER = {
    "f32": Register("float", "f"),
    "s32": Register("int", "r"),
    "f16": Register("unsigned", "r"),
    "f64": Register("double", "d"),
}

ELEMENT = {
    "f32": "float",
    "s32": "int",
    "f16": "unsigned short",
    "bf16": "unsigned short",
    "f64": "double",
}
"""How D's elements are declared; 16 bits as bits, so that no header is needed."""

PAIR = {"f32": "float2", "s32": "int2", "f16": "unsigned", "bf16": "unsigned", "f64": "double2"}
"""Two neighbours of a row of D, which one thread holds and stores together."""

WORDS = {
    ("unsigned", 128): "uint4",
    ("unsigned", 64): "uint2",
    ("unsigned", 32): "unsigned",
    ("unsigned", 16): "unsigned short",
    ("unsigned", 8): "unsigned char",
    ("double", 128): "double2",
    ("double", 64): "double",
}
"""What C++ loads so many bits by, into registers of a type."""


def made(kind: str, words: Sequence[str]) -> str:
    """A value of a type, of its parts.

    >>> made("float2", ["x", "y"]), made("unsigned", ["x"])
    ('make_float2(x, y)', 'x')
    """
    return words[0] if len(words) == 1 else f"make_{kind}({', '.join(words)})"


def call(source: Source, **values: str) -> str:
    """A call of the function, its arguments by their names."""
    return f"{source.name}({', '.join(values[argument.name] for argument in source.arguments)})"


def wrapped(words: Sequence[str], between: str, width: int = 88) -> str:
    """Words with commas, broken into lines."""
    lines, line = [], ""
    for word in words:
        if line and len(line) + len(word) > width:
            lines.append(line.rstrip())
            line = ""
        line += f"{word}, "
    return between.join([*lines, line.removesuffix(", ")])


def check_free(name: str, text: str) -> None:
    """Refuse a chosen name that the rest of the text has for something else."""
    code = re.sub("//.*", "", text)
    if name and re.search(rf"\b{name}\b", code):
        raise LayoutError(
            "TW401", f"{name!r} cannot name a kernel: its own text uses the word", hint="choose another name"
        )
