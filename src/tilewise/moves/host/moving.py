"""The move on the CPU, with NumPy: strided arrays where a pair is some, else addresses, a few at a time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, Literal

import numpy as np

from tilewise.core.swizzles import Swizzle
from tilewise.moves.host.blocks import copy
from tilewise.moves.host.parts import within_limits, without_swizzles
from tilewise.moves.host.periods import WORDS, move_periods, of_periods
from tilewise.moves.pairs.digits import simplest
from tilewise.moves.pairs.pair import Digit, Pair, Side, by_mode

Array = np.ndarray[Any, Any]
Int64s = np.ndarray[Any, np.dtype[np.int64]]

Way = Literal["strided", "periods", "listed"]
"""As strided arrays, by whole periods of swizzles, or by lists of addresses."""

CHUNK = 1 << 15
"""Elements whose addresses are held at once."""

WORTH = 1 << 13
"""Elements whose addresses take as long as making one more part of a pair, or as moving it by periods."""


def move_bytes(source: Array, target: Array, pair: Pair) -> None:
    """Move the elements of a pair from one array of bytes to another; what takes no element is left alone.

        postcondition  for all elements and all copies: target's bytes at the target's place are the source's
                       bytes at the source's place

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> out = np.zeros(6, np.uint8)
    >>> move_bytes(np.arange(6, dtype=np.uint8), out, pair_of(S[2, 3], S[(2, 3) : (1, 2)], DType.of("u8")))
    >>> out.tolist()
    [0, 3, 1, 4, 2, 5]
    """
    if pair.digits is None:
        _move_listed(source, target, pair.bits, _by_index(pair))
        return
    for part, way in _parts(pair, 8 * _alignment(source, target)):
        if way == "listed":
            _move_listed(source, target, part.bits, _by_digits(part))
            continue
        words, places = _words(source, part.bits), _words(target, part.bits)
        if way == "periods":
            move_periods(words, places, part)
        else:
            digits = part.digits or ()
            copy(_strided(words, part.source, digits, "read"), _strided(places, part.target, digits, "write"))


def fill_bytes(target: Array, element: bytes) -> None:
    """Write an element again and again, from the first byte to the last one.

    >>> out = np.zeros(7, np.uint8)
    >>> fill_bytes(out, b"\\1\\2")
    >>> out.tolist()
    [1, 2, 1, 2, 1, 2, 1]
    """
    bits = 8 * len(element)
    _words(target, bits)[...] = np.frombuffer(element, WORDS[bits])
    rest = len(target) % len(element)
    target[len(target) - rest :] = np.frombuffer(element[:rest], np.uint8)


@lru_cache(maxsize=256)
def _parts(pair: Pair, aligned: int) -> list[tuple[Pair, Way]]:
    """A pair as pairs that are moved in some way each; `aligned` are bits of the storages."""
    found: list[tuple[Pair, Way]] = []
    for part in within_limits(simplest(pair, aligned)):
        wide = simplest(part, aligned) if pair.limits else part
        swizzled = wide.bits >= 8 and (wide.source.swizzles or wide.target.swizzles)
        whole = of_periods(wide) if swizzled and _elements(wide) >= WORTH else None
        plain = without_swizzles(wide) if whole is None and _worth(wide) else None
        if whole is not None:
            found.append((whole, "periods"))
        elif plain is None:
            found.append((wide, "listed"))
        else:
            found += [(simplest(own, aligned) if len(plain) > 1 else own, "strided") for own in plain]
    return found


def _worth(part: Pair) -> bool:
    """Whether to take it apart into strided arrays, as far as its swizzles ask."""
    if part.bits < 8:
        return False
    parts = prod(1 << swizzle.bits for side in (part.source, part.target) for swizzle in side.swizzles)
    return parts == 1 or _elements(part) >= parts * WORTH


def _elements(part: Pair) -> int:
    return prod(digit.extent for digit in part.digits or ())


def _alignment(*arrays: Array) -> int:
    """Bytes, to which all arrays begin."""
    together = 16
    for array in arrays:
        together |= int(array.ctypes.data)
    return together & -together


def _words(array: Array, bits: int) -> Array:
    """Bytes as words, as far as they are whole ones."""
    unit = bits // 8
    return array[: len(array) // unit * unit].view(WORDS[bits])


def _strided(array: Array, side: Side, digits: tuple[Digit, ...], name: str) -> Array:
    """The elements of a side, digit by digit."""
    steps = [getattr(digit, name) * array.itemsize for digit in digits]
    return np.lib.stride_tricks.as_strided(array[side.start :], [digit.extent for digit in digits], steps)


# -- by addresses ----------------------------------------------------------------------------------


def _move_listed(source: Array, target: Array, bits: int, lists: Iterator[tuple[Int64s, Int64s]]) -> None:
    if bits < 8:
        for read, write in lists:
            _write_narrow(target, bits, write, _read_narrow(source, bits, read))
        return
    words, places = _words(source, bits), _words(target, bits)
    for read, write in lists:
        places[write] = words[read]


def _by_digits(pair: Pair) -> Iterator[tuple[Int64s, Int64s]]:
    """(addresses of the source, addresses of the target), a part of the elements at a time."""
    slow, parted, fast = _listed(pair.digits or ())
    sums = [_sums(fast, name) for name in ("read", "write")]
    listed = max(1, CHUNK // len(sums[0]))
    for outer in product(*(range(digit.extent) for digit in slow)):
        steps = list(zip(outer, slow, strict=True))
        at = [sum(number * getattr(digit, name) for number, digit in steps) for name in ("read", "write")]
        for first in range(0, parted.extent, listed):
            values = np.arange(first, min(first + listed, parted.extent))
            read, write = (
                np.add.outer(values * step + begin, own).reshape(-1)
                for step, begin, own in zip((parted.read, parted.write), at, sums, strict=True)
            )
            yield _on(pair.source, read), _on(pair.target, write)


def _listed(digits: tuple[Digit, ...]) -> tuple[list[Digit], Digit, list[Digit]]:
    """Digits that are counted one by one, one that is counted in parts, and those that are listed whole."""
    slow, fast, listed = list(digits) or [Digit(1, 0, 0)], list[Digit](), 1
    while len(slow) > 1 and listed * slow[-1].extent <= CHUNK:
        listed *= slow[-1].extent
        fast.insert(0, slow.pop())
    return slow[:-1], slow[-1], fast


def _sums(digits: list[Digit], step: str) -> Int64s:
    """What all values of some digits add up to on a side."""
    total = np.zeros(1, np.int64)
    for digit in digits:
        total = np.add.outer(total, np.arange(digit.extent, dtype=np.int64) * getattr(digit, step)).reshape(
            -1
        )
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
    box = pair.box or (pair.layouts[0].size,)
    modes = [list(by_mode(layout, pair.box)) for layout in pair.layouts]
    axes = [layout.axes[0] for layout in pair.layouts]
    again = pair.layouts[1].replica
    copies = _sums([Digit(it.extent, 0, it.stride[axes[1]]) for it in again], "write").tolist()
    for start in range(0, prod(box), CHUNK):
        indices = np.unravel_index(np.arange(start, min(start + CHUNK, prod(box))), box)
        sums = [
            np.add.reduce([_places(index, mode, axis) for index, mode in zip(indices, side, strict=True)])
            for side, axis in zip(modes, axes, strict=True)
        ]
        read = _on(pair.source, sums[0])
        for copied in copies:
            yield read, _on(pair.target, sums[1] + copied)


def _places(index: Int64s, mode: tuple[Any, ...], axis: Any) -> Int64s:
    """What the index of a mode adds to the address, digit by digit."""
    places = np.zeros_like(index)
    for it in reversed(mode):
        index, own = np.divmod(index, it.extent)
        places += own * it.stride[axis]
    return places


# -- elements of less than a byte ------------------------------------------------------------------


def _read_narrow(array: Array, bits: int, places: Int64s) -> Array:
    """Elements of less than a byte, a byte each; the lowest bits come first."""
    each = 8 // bits
    held: Array = array[places // each] >> (places % each * bits).astype(np.uint8) & ((1 << bits) - 1)
    return held


def _write_narrow(array: Array, bits: int, places: Int64s, elements: Array) -> None:
    """Put elements of less than a byte into their bits; those that share a byte come one after another."""
    each = 8 // bits
    for part in range(each):
        own = places % each == part
        at, kept = places[own] // each, 0xFF ^ ((1 << bits) - 1) << part * bits
        array[at] = array[at] & kept | elements[own] << part * bits
