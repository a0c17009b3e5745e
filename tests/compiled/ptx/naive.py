"""Integer instructions of PTX on one lane, in plain Python integers, as the PTX ISA manual has them."""

from __future__ import annotations

from collections.abc import Callable


def cut(value: int, width: int) -> int:
    """Return the low bits."""
    return value % (1 << width)


def signed(value: int, width: int) -> int:
    """Return the number that bits stand for in two's complement."""
    value = cut(value, width)
    return value - (1 << width) if value >> width - 1 else value


def of_type(value: int, type: str) -> int:
    """Return the number that bits stand for in a type: `s32`, `u16`, `b64`."""
    width = int(type[1:])
    return signed(value, width) if type[0] == "s" else cut(value, width)


def divided(a: int, b: int) -> int | None:
    """Return the quotient cut off towards 0."""
    if b == 0:
        return None
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remaining(a: int, b: int) -> int | None:
    """Return what a quotient leaves."""
    quotient = divided(a, b)
    return None if quotient is None else a - b * quotient


def bfe(a: int, begin: int, count: int, type: str) -> int:
    """Return a field, bit by bit."""
    width = int(type[1:])
    top = width - 1
    begin, count = begin % 256, count % 256
    fill = 0 if type[0] == "u" or count == 0 else a >> min(begin + count - 1, top) & 1
    result = 0
    for place in range(width):
        bit = a >> begin + place & 1 if place < count and begin + place <= top else fill
        result |= bit << place
    return result


def bfi(a: int, b: int, begin: int, count: int, width: int) -> int:
    """Return b with a field of a, bit by bit."""
    begin, count = begin % 256, count % 256
    for place in range(count):
        if begin + place < width:
            b = b & ~(1 << begin + place) | (a >> place & 1) << begin + place
    return b


def bfind(a: int, type: str, amount: bool) -> int:
    """Return the position of the leading bit that is no sign."""
    width = int(type[1:])
    value = cut(a, width)
    if type[0] == "s" and value >> width - 1:
        value = cut(~value, width)
    for place in reversed(range(width)):
        if value >> place & 1:
            return width - 1 - place if amount else place
    return 0xFFFFFFFF


def funnel(a: int, b: int, count: int, left: bool, wrap: bool) -> int:
    """Return a word of {b, a} shifted."""
    n = count % 32 if wrap else min(count, 32)
    if left:
        return cut(b << n | a >> 32 - n, 32)
    return cut(b << 32 - n | a >> n, 32)


def prmt(a: int, b: int, selector: int) -> int:
    """Return four bytes of {b, a}."""
    both = a | b << 32
    result = 0
    for place in range(4):
        digit = selector >> 4 * place & 15
        byte = both >> 8 * (digit & 7) & 255
        if digit & 8:
            byte = 255 if byte & 128 else 0
        result |= byte << 8 * place
    return result


def szext(a: int, count: int, type: str, wrap: bool) -> int:
    """Return the low bits filled up."""
    n = count % 32 if wrap else min(count, 32)
    if n == 0:
        return 0
    return cut(signed(a, n), 32) if type[0] == "s" else cut(a, n)


def bmsk(begin: int, count: int, wrap: bool) -> int:
    """Return so many ones from a position on."""
    if wrap:
        begin, count = begin % 32, count % 32
    return cut(((1 << min(count, 32)) - 1) << min(begin, 32), 32)


def lop3(a: int, b: int, c: int, table: int) -> int:
    """Return what a table says for the bits of three words."""
    return sum((table >> ((a >> n & 1) << 2 | (b >> n & 1) << 1 | c >> n & 1) & 1) << n for n in range(32))


def product24(a: int, b: int, type: str, high: bool) -> int:
    """Return 32 of the 48 bits of a product of 24 bits each."""
    x, y = (signed(v, 24) if type[0] == "s" else cut(v, 24) for v in (a, b))
    return cut(x * y >> (16 if high else 0), 32)


def saturated(value: int, type: str) -> int:
    """Return the number of a type that is nearest."""
    width = int(type[1:])
    least, most = (-1 << width - 1, (1 << width - 1) - 1) if type[0] == "s" else (0, (1 << width) - 1)
    return min(max(value, least), most)


RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lo": lambda a, b: a < b,
    "ls": lambda a, b: a <= b,
    "hi": lambda a, b: a > b,
    "hs": lambda a, b: a >= b,
}
JOINS: dict[str, Callable[[bool, bool], bool]] = {
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "xor": lambda a, b: a != b,
}
