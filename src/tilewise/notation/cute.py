"""CuTe's texts at a glance: the texts that are in CuTe's words, and the units of a pointer in one.

`tilewise.notation.dialects.cute` reads them.
"""

from __future__ import annotations

import re
from itertools import count

from tilewise.core.text import cute_text as to_cute

__all__ = ["has_rows_below", "looks_like_cute", "pointer_in", "to_cute"]

CUTE_BLOCK = r"(?:Tiled ?MMA|MMA[ _]Atom|Tiled ?Copy|Copy[ _]Atom)[ \t]*\n"

SWIZZLES = ("Sw", "Swizzle", "S")
POINTERS = ("smem_ptr", "gmem_ptr", "rmem_ptr", "tmem_ptr", "ptr", "tmem_")
ATTACHED = tuple(f"_{pointer}" for pointer in POINTERS)  # `Sw<3,4,3>_smem_ptr[16b](...)`

CUTE_OPERATIONS = (
    *("tile_to_shape", "logical_divide", "zipped_divide", "tiled_divide", "flat_divide", "logical_product"),
    *("blocked_product", "raked_product", "complement", "coalesce", "right_inverse", "left_inverse"),
)
"""Calls that compute a layout from others. They are refused by their names."""

_TYPES = ("Layout", "ComposedLayout", "Tensor")
_CALLS = (
    *("make_layout", "make_ordered_layout", "make_composed_layout", "make_identity_layout"),
    *("make_identity_tensor", "composition"),
)
CUTE_NAMED = (
    r"(?:(?:const|typename|struct|class)\s+|(?:cute|pycute)(?:::|\.)|::|decltype\()*"
    rf"(?:(?:{'|'.join(_TYPES)})\s*<(?!0x)|(?:{'|'.join((*_CALLS, *CUTE_OPERATIONS))})\s*\("
    r"|(?:Composed)?Layout\((?:\s*\(*\s*\d|Swizzle|make_swizzle))"
)
"""The beginning of a type or a call that makes a layout."""

CUTE_PRINTED = (
    r"(?:tensor<\s*(?:ptr<|\(|[\d?]+\s+o\b)|tensor\(\s*(?:raw_ptr\(|\([\d,?()\s-]*\)\s*o\b)|Tensor<0x|raw_ptr\("
    r"|(?:[sgrt]mem_)?ptr\[|ptr<\w|tmem_\[|ArithTuple\(|counting_(?:ptr|iter(?:ator)?)\(|SW_\d"
    r"|(?:Sw|S|Swizzle)<\s*\d+\s*,\s*\d+\s*,\s*-?\d+\s*>\s*(?:[o∘]\s|_?\w*ptr|_tmem)(?!.*\b[SRO]\[))"
)
"""The beginning of a printed layout that has more before it than a shape."""

CUTE_SHAPE = r"(?:\(+\s*-?[\w?]|-?_?[\d?])[^:=\n\[]*:\s*[(\w?-]"
"""The beginning of a shape and strides."""

CUTE_LABEL = r"(?:_*[A-Za-z][\w .-]{0,80}[:=]|[^\n]{0,1000}\[(?:with )?\w{1,80} =)[ \t]*"
"""A name before a layout: `sA :`, `using Atom =`, or the `[with T =` of a compiler."""

CUTE = rf"(?:{CUTE_LABEL})?(?:{CUTE_NAMED}|{CUTE_PRINTED})|{CUTE_LABEL}{CUTE_SHAPE}"
"""The beginning of a text in which a layout of CuTe has more before it than a shape."""

_TYPED = (
    r"(?:ptr|tmem_)\s*\[\s*(?P<width>\d{1,5})b\s*\]\s*\(\s*(?P<address>(?:0[xX][0-9a-fA-F]+|\d+)(?![\w.…]))?"
    r"|(?<!\w)ptr<\s*(?P<type>\w+)\s*,"
    r"|raw_ptr\(\s*0[xX][0-9a-fA-F]+\s*:\s*(?P<raw>\w+)"
    r"|smem_ptr_flag_bits<\s*(?P<flag>\d{1,5})\s*>"
)
_BEGINS = rf"\(|(?:{'|'.join(POINTERS + ATTACHED)})(?!\w)|(?:[-_\d]|(?:{'|'.join(SWIZZLES)})\s*<)[^:]*:"
_OTHERS = r"(?<!\w)[SRO]\s*\[|(?<!\w)[^\W\d]\w*\s*\."
"""A layout of the notation, or an entry of a catalogue."""


def pointer_in(text: str) -> tuple[int, int] | None:
    """Read the typed pointer in a text: the bits of an element, and the byte address that a swizzle acts on.

    A swizzle acts on the address where it stands before the pointer; else 0 stands for it. A pointer that
    the DSL prints has its swizzle and no address: the reader of the layout notes its alignment.

    >>> pointer_in("Sw<3,4,3>_smem_ptr[16b](0x480) o 8:1"), pointer_in("ptr[8b](0x480) o Sw<1,4,3> o 8:1")
    ((16, 1152), (8, 0))
    >>> pointer_in("tensor<ptr<f16, smem, align<1024>, S<3,4,3>> o 8:1>")
    (16, 0)
    """
    found = re.search(_TYPED, text) if "ptr" in text or "tmem_" in text else None
    if found is None:
        return None
    if word := found["type"] or found["raw"]:
        from tilewise.notation.elements import bits_of

        bits = bits_of(word)
        return None if bits is None else (bits, 0)
    if found["flag"]:
        return int(found["flag"]), 0
    swizzled = ">" in text[: found.start()]
    return int(found["width"]), int(found["address"], 0) if swizzled and found["address"] else 0


def looks_like_cute(text: str) -> bool:
    """Return True if a text begins as a layout of CuTe does, and has no `S[`, `R[` or `O[`.

    >>> looks_like_cute("(8,4):(4,1)"), looks_like_cute("S<3,4,3> o 0 o 8:1"), looks_like_cute("mma.A : 1")
    (True, True, False)
    """
    return re.match(_BEGINS, text.lstrip()) is not None and re.search(_OTHERS, text) is None


def named_sizes(text: str, before: int = 0, others: str = "") -> tuple[str, list[str]]:
    """Return a text of CuTe with names for its dynamic values, and the facts about them.

    The first names are `before` further, and none of them is in other texts.

    >>> named_sizes("(?,64):(?{i64 div=8},1)")
    ('(d0,64):(d1,1)', ['d0 <= 2147483647', 'd1 % 8 == 0'])
    """
    if not (looks_like_cute(text) or re.match(rf"\s*(?:{CUTE})", text)):
        return text, []
    facts: list[str] = []
    taken = {*re.findall(r"\bd\d+\b", f"{text} {others}")}
    free = (name for name in map("d{}".format, count(before)) if name not in taken)

    def named(found: re.Match[str]) -> str:
        name, said = next(free), found[1] or ""
        divisor = re.search(r"\bdiv\s*=\s*(\d+)", said)
        most = "" if "i64" in said else f"{name} <= {2**31 - 1}"
        facts.append(f"{name} % {divisor[1]} == 0" if divisor else most or name)
        return name

    return re.sub(r"\?(?:\{([^{}]*)\})?", named, text), facts


def has_rows_below(text: str) -> bool:
    """Return True if a text has a shape and strides in its first line, and more lines.

    >>> has_rows_below("(2,2):(1,2)\\n 0 | 0 | 2 |"), has_rows_below("(8,4):(4,1)")
    (True, False)
    """
    return "\n" in text and re.match(CUTE_SHAPE, text.lstrip()) is not None
