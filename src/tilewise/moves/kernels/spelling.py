"""How kernels spell types, numbers and sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

NAME = "move"
INT = 1 << 31

TYPES = {1: "u8", 2: "u16", 4: "u32", 8: "u64", 16: "V16"}

PRELUDE = """\
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned u32; typedef unsigned long long u64;
struct alignas(16) V16 { u32 x[4]; };
"""
"""The names that kernels have for integers, and for a vector."""


def counting(most: int) -> str:
    """The type that counts so far, and a tile further."""
    return "long long" if most >= INT // 2 else "int"


def cast(kind: str) -> str:
    """A cast of an int to that type."""
    return "" if kind == "int" else f"({kind})"


def added(*terms: str | int) -> str:
    """Terms and numbers as a sum.

    >>> added("a", "b * 4", -31), added("a", 0), added(0)
    ('a + b * 4 - 31', 'a', '0')
    """
    kept = [str(term) for term in terms if term not in (0, "0")]
    return " + ".join(kept).replace("+ -", "- ") or "0"


def bracketed(text: str) -> str:
    """A sum as a factor."""
    return f"({text})" if " " in text else text


def split(name: str, digits: Sequence[int], extents: Sequence[int] | dict[int, int]) -> Iterator[str]:
    """The digits of an index, the fastest first."""
    inner = 1
    for i in digits:
        text = name if inner == 1 else f"{name} / {inner}"
        yield (
            f"    const int q{i} = {text};"
            if i == digits[-1]
            else f"    const int q{i} = {text} % {extents[i]};"
        )
        inner *= extents[i]


def swizzled(bits: int, base: int, shift: int, unit: int) -> str:
    """A statement that swizzles a byte address x, by a swizzle over elements of some bytes."""
    base += unit.bit_length() - 1
    source = (1 << bits) - 1 << base + max(shift, 0)
    way = f">> {shift}" if shift >= 0 else f"<< {-shift}"
    return f"x ^= (x & {source}ll) {way};"


def constant(value: int, unit: int) -> str:
    if unit < 16:
        return f"({TYPES[unit]}){value}ull"
    words = ", ".join(f"{value >> 32 * word & 0xFFFFFFFF}u" for word in range(4))
    return f"V16{{{{{words}}}}}"
