"""The plainest answer of `match`: loops over every element, mode, major, base offset and start.

A tile is a table of byte addresses, one for each (row, k), listed by the definition of a layout. The reads of
a descriptor are written here once more, from the document's words, and share no code with the package.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.testing import naive_places

WIDTHS = {"none": 16, "32B": 32, "64B": 64, "128B": 128}
SWIZZLED_BITS = {"none": 0, "32B": 1, "64B": 2, "128B": 3}
TOP = 1 << 18

Table = list[list[int]]


class Read(NamedTuple):
    """A way in which a table is read; None for a field that says nothing."""

    mode: str
    major: str
    lbo: int | None
    sbo: int | None
    starts: tuple[tuple[int, int], ...]
    """(start, base offset) of every part."""
    n: int


def table_of(layout: Layout, dtype: str, base: int = 0) -> Table:
    """The byte of every element, eight one-bit elements as one."""
    bits = DType.of(dtype).bits
    unit = {"element": bits, "byte": 8}[layout.unit]
    rows, columns = map(_size, layout.shape)
    step = max(1, 8 // bits)
    table = []
    for row in range(rows):
        line = []
        for k in range(0, columns, step):
            (place,) = naive_places(layout, row * columns + k)
            line.append(base + dict(place).get("m", 0) * unit // 8)
        table.append(line)
    return table


def _size(mode: object) -> int:
    return prod(map(_size, mode)) if isinstance(mode, tuple) else mode


def overlaps(table: Table, size: int) -> bool:
    """Return whether two elements share a byte."""
    places = [at + i for line in table for at in line for i in range(size)]
    return len(set(places)) < len(places)


def swizzled(address: int, mode: str) -> int:
    """Bits 4, 5, 6 of an address are flipped by bits 7, 8, 9: as many of them as the mode has."""
    for bit in range(SWIZZLED_BITS[mode]):
        if address >> (7 + bit) & 1:
            address ^= 1 << (4 + bit)
    return address


def terms(mode: str, major: str, row: int, k: int, size: int) -> tuple[int, int, int]:
    """(bytes, LBOs, SBOs) from the start to an element, before the swizzle."""
    width = WIDTHS[mode]
    if major == "k":
        chunk, inside = divmod(k * size, 16)
        if mode == "none":
            return row % 8 * 16 + inside, chunk, row // 8
        return row % 8 * width + chunk * 16 + inside, 0, row // 8
    chunk, inside = divmod(row * size, 16)
    if mode == "none":
        return k % 8 * 16 + inside, k // 8, chunk
    atom, chunk = divmod(chunk, width // 16)
    return k % 8 * width + chunk * 16 + inside, atom, k // 8


def ways(
    table: Table, operand: str, dtype: str, majors: tuple[str, ...], ns: tuple[int, ...]
) -> Iterator[Read]:
    """Every way in which a whole tile is read: one mode, major, LBO and SBO, and a start for each part."""
    bits = DType.of(dtype).bits
    size = max(1, bits // 8)
    rows, columns, deep = len(table), len(table[0]), 32 // size
    if columns % deep:
        return
    for n in (64,) if operand == "A" else ns:
        if rows % n:
            continue
        for mode in WIDTHS:
            for major in majors:
                found = _of_mode(table, mode, major, n, deep, size)
                if found is not None:
                    yield found


def _of_mode(table: Table, mode: str, major: str, n: int, deep: int, size: int) -> Read | None:
    common: dict[str, int] = {}
    starts = []
    for row in range(0, len(table), n):
        for k in range(0, len(table[0]), deep):
            part = [line[k : k + deep] for line in table[row : row + n]]
            found = _of_part(part, mode, major, size)
            if found is None:
                return None
            start, offset, fields = found
            if any(common.setdefault(name, value) != value for name, value in fields.items()):
                return None
            starts.append((start, offset))
    return Read(mode, major, common.get("lbo"), common.get("sbo"), tuple(starts), n)


def _of_part(part: Table, mode: str, major: str, size: int) -> tuple[int, int, dict[str, int]] | None:
    for offset in range(8 if mode != "none" else 1):
        found = _with_offset(part, mode, major, size, 128 * offset)
        if found is not None:
            return found[0], offset, found[1]
    return None


def _with_offset(
    part: Table, mode: str, major: str, size: int, moved: int
) -> tuple[int, dict[str, int]] | None:
    start = swizzled(part[0][0] - moved, mode) + moved
    if start % 16 or not 0 <= start < TOP:
        return None
    fields: dict[str, int] = {}
    for row, line in enumerate(part):
        for k, at in enumerate(line):
            fixed, lbos, sbos = terms(mode, major, row, k, size)
            rest = swizzled(at - moved, mode) + moved - start - fixed
            if (lbos, sbos) == (1, 0):
                fields.setdefault("lbo", rest)
            if (lbos, sbos) == (0, 1):
                fields.setdefault("sbo", rest)
            if rest != lbos * fields.get("lbo", 0) + sbos * fields.get("sbo", 0):
                return None
    if any(value % 16 or not 0 <= value < TOP for value in fields.values()):
        return None
    return start, fields
