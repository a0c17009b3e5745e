"""The plainest loops over writers and readers: the address of every element, one by one.

Nothing here comes from the layouts' algebra or from the models of the hardware room: a swizzle is an XOR
of address bits, a box a nest of loops, a descriptor four cases of the PTX manual. Addresses count bytes, and
bits where elements are narrower.
"""

from __future__ import annotations

from itertools import product

from tilewise.check.sides import Boxes, Copied, Described, Fed, Together

WIDTH = {"none": 16, "32B": 32, "64B": 64, "128B": 128}
BITS = {"none": 0, "32B": 1, "64B": 2, "128B": 3}
CODES = {0: "none", 1: "128B", 2: "64B", 3: "32B"}

Map = dict[tuple[int, int], int]


def swizzled(byte: int, mode: str, moved: int = 0) -> int:
    """A byte address as the hardware turns it: bits 7.. into bits 4.."""
    mask = (1 << BITS[mode]) - 1
    return byte ^ ((((byte - moved) >> 7) & mask) << 4)


def chunk_of(index: int, bits: int) -> tuple[int, int]:
    """Return the 16 bytes that hold an element of a contiguous run, and its first bit in them."""
    return divmod(index * bits, 128)


def units(byte: int, bit: int, bits: int) -> int:
    return byte * 8 + bit if bits < 8 else byte + bit // 8


def copied(side: Copied, bits: int, base: int) -> Map:
    """base + layout, or with the swizzle on the sum of both."""
    layout = side.layout
    if layout.unit == "byte":
        layout = layout.in_elements({8: "u8", 16: "b16", 32: "b32"}[bits])
    rows, k = side.tile
    found = {}
    per = bits if bits < 8 else bits // 8
    start = base * 8 if bits < 8 else base
    for row, column in product(range(rows), range(k)):
        flat = layout.before_swizzle(layout.flat_index(row, column))[0] * per
        if side.absolute:
            flat += start
        for swizzle in reversed(layout.swizzles):
            scale = per.bit_length() - 1
            mask = (1 << swizzle.bits) - 1
            low = swizzle.base + scale
            if swizzle.shift >= 0:
                flat ^= ((flat >> (low + swizzle.shift)) & mask) << low
            else:
                flat ^= ((flat >> low) & mask) << (low - swizzle.shift)
        found[side.at[0] + row, side.at[1] + column] = flat if side.absolute else flat + start
    return found


def landed(side: Boxes, bits: int, tile: tuple[int, int], base: int) -> Map:
    """TMA's boxes: every element at the next bytes, then the XOR on the address."""
    mode = side.mode.name
    start = base if side.start is None else side.start
    box = side.box or tile
    order = side.order or ("mn" if side.major == "k" else "k")
    along = box[1] if side.major == "k" else box[0]
    across = box[0] if side.major == "k" else box[1]
    inner = side.inner or (min(along, WIDTH[mode] * 8 // bits) if mode != "none" else along)
    pitch = max(inner * bits, WIDTH[mode] * 8) if mode != "none" else inner * bits  # a narrow row is padded
    corners = list(product(range(0, tile[0], box[0]), range(0, tile[1], box[1])))
    if order == "mn":
        corners.sort(key=lambda corner: (corner[1], corner[0]))
    found, at = {}, start * 8
    for corner in corners:
        across_first = along == inner or order == ("mn" if side.major == "k" else "k")
        if across_first:
            walk = ((g, a) for g in range(0, along, inner) for a in range(across))
        else:
            walk = ((g, a + b) for a in range(0, across, 8) for g in range(0, along, inner) for b in range(8))
        for group, deep in walk:
            for i in range(inner):
                row, column = (deep, group + i) if side.major == "k" else (group + i, deep)
                place = at + i * bits
                byte = swizzled(place // 8, mode)
                found[side.at[0] + corner[0] + row, side.at[1] + corner[1] + column] = units(
                    byte, place % 8, bits
                )
            at += pitch
    return found


def one_read(value: int, bits: int, major: str, rows: int, at: tuple[int, int] = (0, 0)) -> Map:
    """Return what one descriptor reads, from its 64 bits."""
    start, lbo, sbo = ((value >> low & 0x3FFF) * 16 for low in (0, 16, 32))
    moved, mode = (value >> 49 & 7) * 128, CODES[value >> 62]
    wide, found = WIDTH[mode], {}
    for row, column in product(range(rows), range(256 // bits)):
        if major == "k":
            chunk, bit = chunk_of(column, bits)
            byte = row // 8 * sbo + (chunk * 16 if BITS[mode] else chunk * lbo) + row % 8 * wide
        else:
            chunk, bit = chunk_of(row, bits)
            each = wide // 16
            if BITS[mode]:
                byte = chunk // each * lbo + chunk % each * 16 + column // 8 * sbo + column % 8 * wide
            else:
                byte = chunk * sbo + column // 8 * lbo + column % 8 * 16
        byte = swizzled(start + byte, mode, moved if BITS[mode] else 0)
        found[at[0] + row, at[1] + column] = units(byte + bit // 8, bit % 8, bits)
    return found


def fed(side: Fed, bits: int, tile: tuple[int, int], base: int, n: int | None) -> Map:
    """The tile of atoms as the manual draws it, every instruction's part of it, at the absolute address.

    requires  the side says neither lbo nor sbo nor a base offset
    """
    mode, rows = side.mode.name, 64 if side.operand == "A" else n
    start = base if side.start is None else side.start
    long, order = WIDTH[mode] * 8 // bits, side.order or ("mn" if side.major == "k" else "k")
    deep = (8, long) if side.major == "k" else (long, 8)
    many = (tile[0] // deep[0], tile[1] // deep[1])
    box = (0, tile[0]), (0, tile[1])
    if side.at is not None:
        box = tuple((first, first + deep) for first, deep in zip(side.at, (rows, 256 // bits), strict=True))
    found = {}
    for row, column in product(range(*box[0]), range(*box[1])):
        i, j = row // deep[0], column // deep[1]
        atom = j * many[0] + i if order == "mn" else i * many[1] + j
        r, c = row % deep[0], column % deep[1]
        inside = r * long + c if side.major == "k" else c * long + r
        place = (atom * 8 * long + inside) * bits
        moved = start % 1024 // 128 * 128 if side.pattern == "tile" else 0
        found[row, column] = units(swizzled(start + place // 8, mode, moved), place % 8, bits)
    return found


def addresses(side, bits: int, tile, base: int, n: int | None = None) -> Map:
    """The map of any side."""
    if isinstance(side, Together):
        return {
            index: address
            for own in side.sides
            for index, address in addresses(own, bits, own.tile, base, n).items()
        }
    if isinstance(side, Copied):
        return copied(side, bits, base)
    if isinstance(side, Boxes):
        return landed(side, bits, tile, base)
    if isinstance(side, Described):
        rows = 64 if side.operand == "A" else side.n
        return one_read(side.descriptor.value, bits, side.major, rows, side.at)
    return fed(side, bits, tile, base, n)


def first_difference(writer: Map, reader: Map):
    """Return the first element that is read from elsewhere: its two addresses, and what lies at one."""
    for index in sorted(reader):
        if writer.get(index) != reader[index]:
            holds = [other for other, address in writer.items() if address == reader[index]]
            return index, writer.get(index), reader[index], min(holds, default=None)
    return None
