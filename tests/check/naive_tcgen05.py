"""The plainest answer of `match` for tcgen05: loops over every element, mode and base offset.

As `naive_wgmma`, from the document's words, and sharing no code with the package. A product reads 32 bytes of
K, 64 of a B beside sparse A, 48 of K = 96. Three things are Blackwell's: a fifth mode, that keeps 32 bytes
together and repeats after four rows; the modes that a type is read in; and an LBO that is an address.
"""

from __future__ import annotations

from typing import NamedTuple

Table = list[list[int]]

WIDTHS = {"none": 16, "32B": 32, "64B": 64, "128B": 128, "128B_ATOM_32B": 128}
SWIZZLED = {"none": (0, 4), "32B": (1, 4), "64B": (2, 4), "128B": (3, 4), "128B_ATOM_32B": (2, 5)}
"""{mode: (so many bits, the lowest that is flipped)}; those that flip begin at bit 7."""
TOP = 1 << 18

BY_8, BY_16 = range(8, 257, 8), range(16, 257, 16)


class Product(NamedTuple):
    """A product and its reads of an operand: the document's tables, for the products of the tests."""

    dtype: str
    asked: dict[str, object]
    size: int
    """Bytes of an element, two of 4 bits taken as one."""
    deep: int
    """Bytes of K."""
    a: tuple[int, ...]
    """Rows of A in one CTA."""
    b: tuple[int, ...]
    mn: bool
    """True where the operand may be MN-major."""


PRODUCTS = (
    Product("bf16", {}, 2, 32, (64, 128), tuple(BY_8), True),
    Product("tf32", {}, 4, 32, (64, 128), tuple(BY_8), True),
    Product("e4m3", {}, 1, 32, (64, 128), tuple(BY_8), True),
    Product("s8", {}, 1, 32, (64, 128), (8, 16, 24, *range(32, 257, 16)), True),
    Product("f16", {"cta_group": 2}, 2, 32, (64, 128), tuple(n // 2 for n in BY_16), True),
    Product("e5m2", {"cta_group": 2}, 1, 32, (64, 128), tuple(n // 2 for n in BY_16), True),
    Product("f16", {"ws": True}, 2, 32, (32, 64, 128), (64, 128, 256), True),
    Product("e2m1", {"kind": "mxf4"}, 1, 32, (128,), tuple(BY_8), False),
    Product("e2m1", {"kind": "f8f6f4"}, 1, 32, (64, 128), tuple(BY_8), False),
    Product("e2m3", {}, 1, 32, (64, 128), tuple(BY_8), False),
    Product("e2m1", {"kind": "mxf4nvf4", "lbo_mode": "absolute"}, 1, 48, (128,), tuple(BY_16), False),
)


class Read(NamedTuple):
    """A way in which a table is read; None for a field that says nothing."""

    mode: str
    major: str
    lbo: int | None
    sbo: int | None
    steps: tuple[tuple[int, int, int | None], ...]
    """(start, base offset, address of the second chunk) of every part."""
    rows: int


def swizzled(address: int, mode: str) -> int:
    """Some bits from bit 4, or 5, on are flipped by as many from bit 7 on."""
    bits, lowest = SWIZZLED[mode]
    for bit in range(bits):
        if address >> (7 + bit) & 1:
            address ^= 1 << (lowest + bit)
    return address


def modes_of(product: Product, major: str) -> list[str]:
    """The modes that the document has for an element size and a major."""
    if major == "mn":
        return ["128B_ATOM_32B"] if product.size == 4 else ["none", "32B", "64B", "128B"]
    if product.deep == 48:
        return ["128B"]
    return ["none", "32B", "64B", "128B"]


def terms(mode: str, major: str, row: int, k: int, size: int) -> tuple[int, int, int]:
    """(bytes, LBOs, SBOs) from the start to an element, before the swizzle."""
    width = WIDTHS[mode]
    deep = 4 if mode == "128B_ATOM_32B" else 8
    if major == "k":
        chunk, inside = divmod(k * size, 16)
        if mode == "none":
            return row % 8 * 16 + inside, chunk, row // 8
        return row % 8 * width + chunk * 16 + inside, 0, row // 8
    chunk, inside = divmod(row * size, 16)
    if mode == "none":
        return k % 8 * 16 + inside, k // 8, chunk
    atom, chunk = divmod(chunk, width // 16)
    return k % deep * width + chunk * 16 + inside, atom, k // deep


def ways(table: Table, operand: str, product: Product) -> list[Read]:
    """Every way in which a whole tile is read: one mode, major and SBO, one LBO unless it is an address."""
    deep, found = product.deep // product.size, []
    if len(table[0]) % deep:
        return []
    for rows in product.a if operand == "A" else product.b:
        if len(table) % rows:
            continue
        for major in ("k", "mn") if product.mn else ("k",):
            if major == "mn" and rows * product.size % 16:
                continue
            for mode in modes_of(product, major):
                way = _of_mode(table, mode, major, rows, product)
                if way is not None:
                    found.append(way)
    return found


def _of_mode(table: Table, mode: str, major: str, rows: int, product: Product) -> Read | None:
    deep = product.deep // product.size
    common: dict[str, int] = {}
    steps = []
    for row in range(0, len(table), rows):
        for k in range(0, len(table[0]), deep):
            part = [line[k : k + deep] for line in table[row : row + rows]]
            found = _of_part(part, mode, major, product)
            if found is None:
                return None
            start, offset, second, fields = found
            if any(common.setdefault(name, value) != value for name, value in fields.items()):
                return None
            steps.append((start, offset, second))
    return Read(mode, major, common.get("lbo"), common.get("sbo"), tuple(steps), rows)


def _of_part(
    part: Table, mode: str, major: str, product: Product
) -> tuple[int, int, int | None, dict[str, int]] | None:
    absolute = product.deep == 48
    for offset in range(8 if mode != "none" and not absolute else 1):
        found = _with_offset(part, mode, major, product, 128 * offset)
        if found is not None:
            start, second, fields = found
            return start, offset, second, fields
    return None


def _with_offset(
    part: Table, mode: str, major: str, product: Product, moved: int
) -> tuple[int, int | None, dict[str, int]] | None:
    start = swizzled(part[0][0] - moved, mode) + moved
    if start % 16 or not 0 <= start < TOP:
        return None
    width, inside, absolute = WIDTHS[mode], start % WIDTHS[mode], product.deep == 48
    if major == "k" and mode != "none" and inside + product.deep > width and not absolute:
        return None
    fields: dict[str, int] = {}
    second = None
    for row, line in enumerate(part):
        for k, at in enumerate(line):
            fixed, lbos, sbos = terms(mode, major, row, k, product.size)
            beyond = absolute and inside + k * product.size >= width
            if beyond and second is None:
                second = swizzled(at - moved, mode) + moved
            begins = second - width + inside if beyond else start
            rest = swizzled(at - moved, mode) + moved - begins - fixed
            if (lbos, sbos) == (1, 0):
                fields.setdefault("lbo", rest)
            if (lbos, sbos) == (0, 1):
                fields.setdefault("sbo", rest)
            if rest != lbos * fields.get("lbo", 0) + sbos * fields.get("sbo", 0):
                return None
    held = [*fields.values(), *([] if second is None else [second])]
    if any(value % 16 or not 0 <= value < TOP for value in held):
        return None
    return start, second, fields
