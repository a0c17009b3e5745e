"""Source text with slots: a whole program is one text, and slots hold the parts that vary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

from tilewise.core.errors import LayoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.codegen.source import Source
    from tilewise.core.dtypes import DType

_SLOT = re.compile(r"\$(?:(\w+)|\{([\w.]+)\})")
_ALONE = re.compile(r"^([ ]*)\$(\w+)$")

REGISTER = {"f32": ("float", "f"), "s32": ("int", "r"), "f16": ("unsigned", "r"), "f64": ("double", "d")}
"""{type of a sum: (the type of its register in C++, its constraint in asm)}."""


def filled(template: str, slots: Mapping[str, object]) -> str:
    """Return the template with a value for every `$slot` or `${slot}`, and an attribute for `${slot.name}`.

    A slot alone on its line stands for any number of lines, each indented as the slot is; an empty value
    leaves no line.

        requires  every slot has a value

    >>> print(filled("if (x)\\n    $body\\n$rest\\nreturn $x;", {"body": "a();\\nb();", "rest": "", "x": 3}))
    if (x)
        a();
        b();
    return 3;
    """

    def value(slot: re.Match[str]) -> str:
        name, *attributes = (slot[1] or slot[2]).split(".")
        return str(reduce(getattr, attributes, slots[name]))

    lines: list[str] = []
    for line in template.splitlines():
        alone = _ALONE.match(line)
        if alone is None:
            lines.append(_SLOT.sub(value, line))
        else:
            inside = str(slots[alone[2]])
            lines += [f"{alone[1]}{own}".rstrip() for own in inside.splitlines()]
    return "\n".join(lines)


def each(text: str, numbers: Iterable[int]) -> list[str]:
    """Return the text once for each number; `#` stands for the number.

    >>> each('"r"(a[#])', range(2))
    ['"r"(a[0])', '"r"(a[1])']
    """
    return [text.replace("#", str(number)) for number in numbers]


def listed(text: str, numbers: Iterable[int]) -> str:
    """Return the text once for each number, in one line, with commas."""
    return ", ".join(each(text, numbers))


def wrapped(words: Sequence[str], between: str, width: int = 88) -> str:
    """Return words with commas, broken into lines."""
    lines, line = [], ""
    for word in words:
        if line and len(line) + len(word) > width:
            lines.append(line.rstrip())
            line = ""
        line += f"{word}, "
    return between.join([*lines, line.removesuffix(", ")])


def call(source: Source, **values: str) -> str:
    """Return a call of the function, its arguments by their names."""
    return f"{source.name}({', '.join(values[argument.name] for argument in source.arguments)})"


def plus(start: str, *bytes_on: int) -> str:
    """Return a sum in C++ without the numbers that are 0.

    >>> plus("base", 0), plus("base", 1024)
    ('base', 'base + 1024')
    """
    return " + ".join([start, *(str(number) for number in bytes_on if number)])


# -- types in C++ ------------------------------------------------------------------------------------


def element(dtype: DType) -> str:
    """Return the type of D's elements; 16 bits as bits, so that no header is needed."""
    return "unsigned short" if dtype.bits == 16 else REGISTER[dtype.name][0]


def vector(kind: str, count: int) -> str:
    """Return the type of a vector of `count` values.

    >>> vector("unsigned", 4), vector("float", 2), vector("double", 1)
    ('uint4', 'float2', 'double')
    """
    return kind if count == 1 else f"{kind.replace('unsigned', 'uint')}{count}"


def pair(dtype: DType) -> str:
    """Return the type of two neighbours of a row of D, which one thread holds and stores together."""
    return "unsigned" if dtype.bits == 16 else vector(element(dtype), 2)


def made(kind: str, words: Sequence[str]) -> str:
    """Return a value of a type from its parts.

    >>> made("float2", ["x", "y"]), made("unsigned", ["x"])
    ('make_float2(x, y)', 'x')
    """
    return words[0] if len(words) == 1 else f"make_{kind}({', '.join(words)})"


def check_free(name: str, text: str, named: str = "a kernel") -> None:
    """Refuse a chosen name that the rest of the text, beside strings and comments, uses otherwise."""
    code = re.sub(r'"[^"\n]*"|//.*', "", text)
    if name and re.search(rf"\b{name}\b", code):
        raise LayoutError(
            "TW401", f"{name!r} cannot name {named}: its own text uses the word", hint="choose another name"
        )
