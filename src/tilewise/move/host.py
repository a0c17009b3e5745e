"""The move on the CPU, with NumPy: strided views where there are some, else addresses, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from tilewise.core.swizzles import Swizzle
from tilewise.move.digits import simplest
from tilewise.move.pair import Digit, Pair, Side
from tilewise.tables import table

Array = np.ndarray[Any, Any]
Int64s = np.ndarray[Any, np.dtype[np.int64]]

WORDS = {8: "u1", 16: "u2", 32: "u4", 64: "u8", 128: "c16"}
"""NumPy's words by their bits: bits are moved, whatever they mean."""

CHUNK = 1 << 20
"""Elements whose addresses are held at once."""


def move_bytes(source: Array, target: Array, pair: Pair) -> None:
    """Move the elements of a pair from one array of bytes to another; what takes no element is left alone.

        postcondition  for all elements and all copies: target's bytes at the target's place are the source's
                       bytes at the source's place

    >>> from tilewise import DType, S
    >>> from tilewise.move.pair import pair_of
    >>> out = np.zeros(6, np.uint8)
    >>> move_bytes(np.arange(6, dtype=np.uint8), out, pair_of(S[2, 3], S[(2, 3) : (1, 2)], DType.of("u8")))
    >>> out.tolist()
    [0, 3, 1, 4, 2, 5]
    """
    if pair.bits < 8:
        narrow = _elements(source, pair.bits), _elements(target, pair.bits)
        _move_listed(*narrow, pair)
        target[:] = _packed(narrow[1], pair.bits)
        return
    if pair.digits is not None:
        pair = simplest(pair, 8 * _alignment(source, target))
    words = WORDS[pair.bits]
    unit = pair.bits // 8
    sides = [array[: len(array) // unit * unit].view(words) for array in (source, target)]
    if pair.digits is None or pair.limits or any(s.swizzles or s.outer for s in (pair.source, pair.target)):
        _move_listed(sides[0], sides[1], pair)
    else:
        _strided(sides[1], pair.target, pair.digits, "write")[...] = _strided(
            sides[0], pair.source, pair.digits, "read"
        )


def _alignment(*arrays: Array) -> int:
    """Bytes, to which all arrays begin."""
    together = 16
    for array in arrays:
        together |= int(array.ctypes.data)
    return together & -together


def _strided(array: Array, side: Side, digits: tuple[Digit, ...], name: str) -> Array:
    """The elements of a side, digit by digit."""
    steps = [getattr(digit, name) * array.itemsize for digit in digits]
    return np.lib.stride_tricks.as_strided(array[side.start :], [digit.extent for digit in digits], steps)


# -- by addresses ----------------------------------------------------------------------------------


def _move_listed(source: Array, target: Array, pair: Pair) -> None:
    lists = _by_digits(pair) if pair.digits is not None else _by_index(pair)
    for read, write in lists:
        target[write] = source[read]


def _by_digits(pair: Pair) -> Iterator[tuple[Int64s, Int64s]]:
    """(addresses of the source, addresses of the target), a part of the elements at a time."""
    digits = pair.digits or ()
    inner = len(digits)
    while inner and prod(digit.extent for digit in digits[inner - 1 :]) <= CHUNK:
        inner -= 1
    fast, slow = digits[inner:], digits[:inner]
    sums = [_sums(fast, name) for name in ("read", "write")]
    counts = [_sums(fast, place) for place in range(len(pair.limits))]
    for outer in np.ndindex(*[digit.extent for digit in slow]):
        steps = list(zip(outer, slow, strict=True))
        at = [sum(number * getattr(digit, name) for number, digit in steps) for name in ("read", "write")]
        kept = np.ones(len(sums[0]), bool)
        for place, limit in enumerate(pair.limits):
            beyond = sum(number * digit.counts[place] for number, digit in steps)
            kept &= counts[place] + beyond < limit.bound
        yield _on(pair.source, sums[0][kept] + at[0]), _on(pair.target, sums[1][kept] + at[1])


def _sums(digits: tuple[Digit, ...], step: str | int) -> Int64s:
    """What all values of some digits add up to, in a side or in a limit."""
    total = np.zeros(1, np.int64)
    for digit in digits:
        each = digit.counts[step] if isinstance(step, int) else getattr(digit, step)
        total = (total[:, None] + np.arange(digit.extent, dtype=np.int64) * each).reshape(-1)
    return total


def _on(side: Side, sums: Int64s) -> Int64s:
    """The addresses of a side, of what its digits add up to."""
    places = sums + side.start
    for swizzle in reversed(side.swizzles):
        places = _swizzled(swizzle, places)
    return places + side.outer


def _swizzled(swizzle: Swizzle, places: Int64s) -> Int64s:
    read = places & swizzle.source
    return places ^ (read >> swizzle.shift if swizzle.shift >= 0 else read << -swizzle.shift)


def _by_index(pair: Pair) -> Iterator[tuple[Int64s, Int64s]]:
    """The addresses of both layouts, index by index; of the source one copy of each element."""
    source, target = pair.layouts
    box = pair.box
    window = tuple((0, extent) for extent in box) if box else None
    read, write = (table(layout, window=window).columns[layout.axes[0].name] for layout in (source, target))
    elements = prod(box) if box else source.size
    first = read.reshape(elements, -1)[:, 0]
    copies = write.reshape(elements, -1)
    for copy in range(copies.shape[1]):
        yield first, copies[:, copy]


# -- elements of less than a byte ------------------------------------------------------------------


def _elements(array: Array, bits: int) -> Array:
    """The elements of packed bytes, the lowest bits first, a byte each."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return (array[:, None] >> shifts & ((1 << bits) - 1)).reshape(-1)


def _packed(elements: Array, bits: int) -> Array:
    """Elements of less than a byte, packed: the inverse of `_elements`."""
    parts = elements.reshape(-1, 8 // bits) << np.arange(0, 8, bits, dtype=np.uint8)
    packed: Array = np.bitwise_or.reduce(parts, axis=1)
    return packed
