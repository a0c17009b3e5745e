"""The plainest answer to questions about feeding: loops over every lane, every register and every byte.

The holder of each element, and the work of ldmatrix and stmatrix on the addresses of lanes, are written here
from the document's words and share no code with the package. A tile is a table of byte addresses.
"""

from __future__ import annotations

import re
from itertools import product
from typing import NamedTuple

from tests.check.naive_wgmma import table_of

from tilewise.check.feeding.forms import Vector
from tilewise.core.dtypes import DType

LANES = 32
ROW = 16


class Asked(NamedTuple):
    """A question about a tile."""

    operand: str
    shape: str
    dtype: str
    sparse: bool = False
    products: tuple[int, int] = (2, 2)
    major: str = ""
    """Of Volta's A and B: row or col."""

    @property
    def volta(self):
        """Return whether the instruction makes four products."""
        return self.shape == "m8n8k4" and self.dtype != "f64"

    @property
    def extents(self):
        """Rows and elements of a row of one instruction, or of Volta's four products."""
        m, n, k = (int(part) for part in re.findall(r"\d+", self.shape))
        if self.volta:
            m, n = 8 * self.products[0], 8 * self.products[1]
        k = k // 2 if self.sparse and self.operand == "A" else k
        return {"A": (m, k), "B": (n, k)}.get(self.operand, (m, n))

    @property
    def width(self):
        """Bytes of a row."""
        return self.extents[1] * DType.of(self.dtype).bits // 8

    @property
    def lane_bytes(self):
        """Return the bytes of registers that a lane has in one instruction."""
        rows, columns = self.extents
        copies = 1
        if self.volta and self.operand in "AB":
            copies = self.products["BA".index(self.operand)]
        return rows * columns * copies * DType.of(self.dtype).bits // 8 // LANES


def held(asked, lane, byte):
    """(row, byte of the row) of a byte of a lane's registers in one instruction."""
    if asked.volta:
        return held_by_volta(asked, lane, byte)
    bits, operand = DType.of(asked.dtype).bits, asked.operand
    rows, _ = asked.extents
    group, thread = lane >> 2, lane & 3
    if operand in "CD":
        size = bits // 8
        element, rest = divmod(byte, size)
        row = group + 8 * (element // 2)
        assert row < rows
        return row, (2 * thread + element % 2) * size + rest
    width = max(4, bits // 8)
    register, rest = divmod(byte, width)
    row, group_of_k = group, register
    if operand == "A" and rows == 16:
        row, group_of_k = group + 8 * (register & 1), register >> 1
    at = (4 * group_of_k + thread) * width + rest
    assert at < asked.width
    return row, at


def held_by_volta(asked, lane, byte):
    """The same of m8n8k4, whose products have two quads each; those along M count first."""
    size = DType.of(asked.dtype).bits // 8
    element, rest = divmod(byte, size)
    product, thread, half = (lane >> 2) & 3, lane & 3, lane >> 4
    down, along = product % asked.products[0], product // asked.products[0]
    if asked.operand in "AB":
        block = down if asked.operand == "A" else along
        whole_rows = asked.major == ("row" if asked.operand == "A" else "col")
        row, column = (thread, element) if whole_rows else (element, thread)
        return 8 * block + 4 * half + row, column * size + rest
    row, column = 4 * half + thread, element
    if asked.dtype != "f16":
        row = 4 * half + (thread & 1) + 2 * ((element >> 1) & 1)
        column = 4 * (element >> 2) + (thread & 2) + (element & 1)
    return 8 * down + row, (8 * along + column) * size + rest


def wanted(layout, asked, base=0):
    """{(lane, row of instructions, column of instructions, byte of the registers): address}."""
    table = table_of(layout, asked.dtype, base)
    size = max(1, DType.of(asked.dtype).bits // 8)
    rows, _ = asked.extents
    found = {}
    for down, along in product(range(len(table) // rows), range(len(table[0]) * size // asked.width)):
        for lane, byte in product(range(LANES), range(asked.lane_bytes)):
            row, at = held(asked, lane, byte)
            column, rest = divmod(along * asked.width + at, size)
            found[lane, down, along, byte] = table[down * rows + row][column] + rest
    return found


def moved(feed):
    """The same as the steps of an answer move it: {(lane, row, column, byte): address}."""
    first = addresses(feed.addresses)
    found = {}
    for step in feed.steps:
        here = addresses(step.addresses)
        if step.add is not None:
            assert here == [at + step.add for at in first]
        if step.xor is not None:
            base = feed.base if feed.pattern == "tile" else 0
            assert here == [((at - base) ^ step.xor) + base for at in first]
        if isinstance(feed.form, Vector):
            width = feed.form.bits // 8
            assert all(at % width == 0 for at in here)
            place = vector
        else:
            assert all(at % ROW == 0 for at in here)
            place = transposed if feed.form.trans else straight
            if feed.form.shape != "m8n8":
                place = as_the_form_has_it(feed.form)
        for lane in range(LANES):
            count = 0
            for part in step.parts:
                for byte in range(part.bytes):
                    key = lane, part.row, part.column, part.byte + byte
                    assert key not in found
                    found[key] = place(here, lane, count)
                    count += 1
            assert count == (
                feed.form.bits // 8 if isinstance(feed.form, Vector) else 4 * feed.form.registers
            )
    return found


def addresses(layout):
    """The address of every lane."""
    assert layout.size == LANES
    return [layout.place(lane)["m"] for lane in range(LANES)]


def vector(here, lane, byte):
    """A vector is bytes that follow one another."""
    return here[lane] + byte


def straight(here, lane, byte):
    """Register j of lane l: the four bytes number l % 4 of row l / 4 of matrix j."""
    matrix, rest = divmod(byte, 4)
    return here[8 * matrix + lane // 4] + 4 * (lane % 4) + rest


def transposed(here, lane, byte):
    """The same of the transposed matrix: elements 2 (l % 4) and the next of column l / 4."""
    matrix, rest = divmod(byte, 4)
    element, rest = divmod(rest, 2)
    return here[8 * matrix + 2 * (lane % 4) + element] + 2 * (lane // 4) + rest


def as_the_form_has_it(form):
    """Forms of sm_100: by their own layouts, which tests of their own hold to the document."""
    holds = rows_of(form)

    def place(here, lane, byte):
        supplier, rest = holds[lane, byte]
        return here[supplier] + rest

    return place


def rows_of(form):
    """{(lane, byte of its registers): (the lane that gives the row's address, byte of the row)}."""
    holds = {}
    size = form.bits // 8
    for matrix, row, column in product(range(form.count), range(form.rows), range(form.columns)):
        place = form.layout.place(matrix, row, column)
        for rest in range(size):
            holds[place["laneid"], place["reg"] * size + rest] = (
                form.rows * matrix + row,
                column * size + rest,
            )
    return holds


# -- whether there is any --------------------------------------------------------------------------------


def matrices_move(found, trans):
    """Return whether ldmatrix moves all registers of all lanes: its rows are 16 bytes at multiples of 16."""
    registers = {(down, along, byte // 4) for _, down, along, byte in found}
    whole = {(down, along, byte) for _, down, along, byte in found}
    if any((down, along, 4 * one + 3) not in whole for down, along, one in registers):
        return False
    return all(is_matrix(found, *register, trans) for register in registers)


def is_matrix(found, down, along, register, trans):
    """Return whether one register of all lanes is one matrix in memory."""
    for row in range(8):
        start = None
        for at in range(ROW):
            if trans:
                column, rest = divmod(at, 2)
                lane, byte = 4 * column + row // 2, 2 * (row % 2) + rest
            else:
                lane, byte = 4 * row + at // 4, at % 4
            address = found[lane, down, along, 4 * register + byte]
            start = address if start is None else start
            if address != start + at:
                return False
        if start % ROW:
            return False
    return True


def in_order(keys):
    """Return how far each key is from the first."""
    return tuple(tuple(map(int.__sub__, key, keys[0])) for key in keys)


def widest(found):
    """Bytes of the widest vectors that move all: the same registers of all lanes, in one order throughout."""
    keys = sorted({key[1:] for key in found})
    for width in (16, 8, 4, 2):
        chunks = []
        for lane in range(LANES):
            own: dict[int, list] = {}
            for key in sorted(keys, key=lambda key: found[(lane, *key)]):
                own.setdefault(found[(lane, *key)] // width, []).append(key)
            chunks.append(sorted(map(tuple, own.values())))
        whole = all(len(chunk) == width for chunk in chunks[0]) and all(one == chunks[0] for one in chunks)
        if whole and len(set(map(in_order, chunks[0]))) == 1:
            return width
    return 1
