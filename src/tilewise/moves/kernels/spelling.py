"""How kernels spell types, numbers and sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewise.codegen.parts.template import filled
from tilewise.core.swizzles import Swizzle
from tilewise.moves.pairs.pair import Pair

NAME = "move"
INT = 1 << 31

TYPES = {1: "u8", 2: "u16", 4: "u32", 8: "u64", 16: "V16"}

PRELUDE = """\
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned u32; typedef unsigned long long u64;
struct alignas(16) V16 { u32 x[4]; };
"""
"""The names that kernels have for integers, and for a vector."""

_FETCHED = """\
// What is at an address of the source. The $bytes bytes around it come to the L2 cache as well, for who asks
// next.
__device__ __forceinline__ $type fetched(const $pointer* at)
{
#if __CUDA_ARCH__ >= $least
    $type x;
    asm volatile("ld.global.nc.L2::${bytes}B.$loads;"
                 : $results : "l"(at));
    return x;
#else
    return *(const $type*)at;
#endif
}
"""


_FETCHES = {
    "V16": (128, 750, "u8", "v4.u32 {%0, %1, %2, %3}, [%4]", [f"x.x[{i}]" for i in range(4)]),
    "u32": (256, 800, "u32", "u32 %0, [%1]", ["x"]),
}
"""By what is read: bytes that come along, the first architecture that can, the pointer, the instruction."""


def fetching(kind: str) -> str:
    """Return the function by which kernels read a vector, or a word, of the source."""
    bytes_, least, pointer, loads, results = _FETCHES[kind]
    told = ", ".join(f'"=r"({result})' for result in results)
    slots = {
        "bytes": bytes_,
        "type": kind,
        "pointer": pointer,
        "least": least,
        "loads": loads,
        "results": told,
    }
    return filled(_FETCHED, slots)


def counting(most: int) -> str:
    """Return the type that counts so far, and a tile further."""
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
    kept = [str(term) for term in terms if term not in (0, "0")]
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
