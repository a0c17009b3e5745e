"""ldmatrix, stmatrix and movmatrix as the manual says them, on bytes and words: the oracle of their layouts.

Shared memory is bytes. `addresses` are what the 32 lanes supply; the ones that are not read may be None.
Registers are words of 32 bits, `registers[lane][i]`. Nothing here comes from the package under test.
"""

from __future__ import annotations

from collections.abc import Sequence

LANES = 32
ROW = 16
"""Bytes of a row."""

Addresses = Sequence[int | None]
Registers = list[list[int]]


class MisalignedError(Exception):
    """An address that is no multiple of 16: the hardware stops the kernel."""


def ldmatrix(
    memory: bytes | bytearray,
    addresses: Addresses,
    count: int = 1,
    trans: bool = False,
    shape: str = "m8n8",
    type: str = "b16",
) -> Registers:
    """The registers of every lane."""
    load = {"m8n8": _m8n8_trans if trans else _m8n8, "m16n16": _m16n16, "m8n16": _m8n16}[shape]
    rows = 16 if shape == "m16n16" else 8
    lanes: Registers = [[] for _ in range(LANES)]
    for matrix in range(count):
        elements = [
            _elements(_row(memory, addresses[rows * matrix + row]), shape, type) for row in range(rows)
        ]
        for lane in range(LANES):
            lanes[lane] += load(elements, lane)
    return lanes


def stmatrix(
    memory: bytearray,
    addresses: Addresses,
    registers: Registers,
    count: int = 1,
    trans: bool = False,
    shape: str = "m8n8",
) -> None:
    """Write to memory what the lanes hold."""
    for matrix in range(count):
        words = [registers[lane][matrix] for lane in range(LANES)]
        rows = _rows_m16n8(words) if shape == "m16n8" else _rows_m8n8(words, trans)
        for row, content in enumerate(rows):
            address = addresses[8 * matrix + row]
            start = _aligned(address)
            memory[start : start + ROW] = content


def movmatrix(words: Sequence[int]) -> list[int]:
    """Register d of every lane from register a of every lane."""
    element = [[0] * 8 for _ in range(8)]
    for lane, word in enumerate(words):
        element[lane // 4][2 * (lane % 4)] = word & 0xFFFF
        element[lane // 4][2 * (lane % 4) + 1] = word >> 16
    return [
        _pair(element[2 * (lane % 4)][lane // 4], element[2 * (lane % 4) + 1][lane // 4])
        for lane in range(LANES)
    ]


# -- loads: a matrix as rows of numbers, and what one lane gets of it ----------------------------------


def _m8n8(e: list[list[int]], lane: int) -> list[int]:
    row, first = lane // 4, 2 * (lane % 4)
    return [_pair(e[row][first], e[row][first + 1])]


def _m8n8_trans(e: list[list[int]], lane: int) -> list[int]:
    column, first = lane // 4, 2 * (lane % 4)
    return [_pair(e[first][column], e[first + 1][column])]


def _m16n16(e: list[list[int]], lane: int) -> list[int]:
    """Four neighbours of a column in a register, two columns eight apart."""
    first = 4 * (lane % 4)
    return [_four(e[first + i][column] for i in range(4)) for column in (lane // 4, lane // 4 + 8)]


def _m8n16(e: list[list[int]], lane: int) -> list[int]:
    first = 4 * (lane % 4)
    return [_four(e[lane // 4][first : first + 4])]


def _elements(row: bytes, shape: str, type: str) -> list[int]:
    """The elements of a row of 16 bytes, as they come to a register."""
    if shape == "m8n8":
        return [row[2 * i] | row[2 * i + 1] << 8 for i in range(8)]
    whole = int.from_bytes(row, "little")
    bits = {"b8": 8, "b8x16.b6x16_p32": 6, "b8x16.b4x16_p64": 4}[type]
    return [whole >> bits * i & (1 << bits) - 1 for i in range(16)]


# -- stores: the rows that the registers of a matrix make ------------------------------------------------


def _rows_m8n8(words: list[int], trans: bool) -> list[bytes]:
    element = [[0] * 8 for _ in range(8)]
    for lane, word in enumerate(words):
        for half in range(2):
            line, place = lane // 4, 2 * (lane % 4) + half
            row, column = (place, line) if trans else (line, place)
            element[row][column] = word >> 16 * half & 0xFFFF
    return [b"".join(number.to_bytes(2, "little") for number in row) for row in element]


def _rows_m16n8(words: list[int]) -> list[bytes]:
    """A 16 x 8 matrix, held as an mma.sync holds D, and stored by columns: 8 rows of 16 bytes."""
    element = [[0] * 8 for _ in range(16)]
    for lane, word in enumerate(words):
        for i in range(4):
            element[lane // 4 + 8 * (i // 2)][2 * (lane % 4) + i % 2] = word >> 8 * i & 0xFF
    return [bytes(element[m][n] for m in range(16)) for n in range(8)]


# -- words -----------------------------------------------------------------------------------------------


def _row(memory: bytes | bytearray, address: int | None) -> bytes:
    start = _aligned(address)
    assert start + ROW <= len(memory), f"address {start} is past the end of memory"
    return bytes(memory[start : start + ROW])


def _aligned(address: int | None) -> int:
    assert address is not None, "an address that is read is missing"
    if address % ROW:
        raise MisalignedError(address)
    return address


def _pair(low: int, high: int) -> int:
    return low | high << 16


def _four(numbers) -> int:
    return sum(number << 8 * i for i, number in enumerate(numbers))
