"""Types, numbers and sums in the text of kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewise.codegen.numbers import NumberText
from tilewise.core.swizzles import Swizzle
from tilewise.moves.pairs.pair import Pair

NAME = "move"
INT = 1 << 31

NUMBERS = NumberText("/", rounds_up=True)
"""Numbers as C, those with names in them too."""

TYPES = {1: "u8", 2: "u16", 4: "u32", 8: "u64", 16: "V16"}


def counting(most: int) -> str:
    """Return the type that counts up to `most`, and a tile further."""
    return "long long" if most >= INT // 2 else "int"


def farthest(pair: Pair) -> int:
    """Return the largest count of a place on either side of a pair, in its elements."""
    digits = pair.digits or ()
    reads = sum(abs(digit.read) * digit.extent for digit in digits)
    writes = sum(abs(digit.write) * digit.extent for digit in digits)
    return max(pair.source.size, pair.target.size, reads, writes)


def cast(kind: str) -> str:
    """Return a cast of an int to that type."""
    return "" if kind == "int" else f"({kind})"


def added(*terms: str | int) -> str:
    """Return terms and numbers as a sum.

    >>> added("a", "b * 4", -31), added("a", 0), added(0)
    ('a + b * 4 - 31', 'a', '0')
    """
    kept = [text for text in map(str, terms) if text != "0"]
    return " + ".join(kept).replace("+ -", "- ") or "0"


def bracketed(text: str) -> str:
    """Return a sum as a factor."""
    return f"({text})" if " " in text else text


def split(name: str, digits: Sequence[int], extents: Sequence[int] | dict[int, int]) -> Iterator[str]:
    """Yield the digits of an index, the fastest first."""
    inner = 1
    for i in digits:
        text = name if inner == 1 else f"{name} / {inner}"
        yield (
            f"    const int q{i} = {text};"
            if i == digits[-1]
            else f"    const int q{i} = {text} % {extents[i]};"
        )
        inner *= extents[i]


def swizzled(swizzle: Swizzle, unit: int) -> str:
    """Return a statement that swizzles a byte address x, by a swizzle over elements of some bytes."""
    shift = swizzle.shift
    way = f">> {shift}" if shift >= 0 else f"<< {-shift}"
    return f"x ^= (x & {swizzle.source * unit}ll) {way};"


def constant(value: int, unit: int) -> str:
    if unit < 16:
        return f"({TYPES[unit]}){value}ull"
    words = ", ".join(f"{value >> 32 * word & 0xFFFFFFFF}u" for word in range(4))
    return f"V16{{{{{words}}}}}"
