"""TMA by its definition, element by element: the oracle of landings and plans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

SWIZZLES = {"none": 0, "32B": 1, "64B": 2, "128B": 3}


def swizzled(address: int, mode: str) -> int:
    """The address with bits 7.. XORed into bits 4.., as many as the mode has."""
    bits = SWIZZLES[mode]
    return address ^ (address >> 7 & (1 << bits) - 1) << 4


def landed(box: Sequence[int], bits: int, mode: str, start: int, pitch: int) -> Iterator[int]:
    """The byte of every element of a box, row-major, the last dimension innermost."""
    for row, _ in enumerate(product(*map(range, box[:-1]))):
        for column in range(box[-1]):
            yield swizzled(start + row * pitch + column * bits // 8, mode)


def copied(
    numbers: dict, coordinates: Sequence[int], size: int, mode: str, start: int, pitch: int
) -> Iterator[tuple[int | None, int]]:
    """(byte of the tensor, byte of shared memory) of every element; None where the fill lands.

    `numbers` are the driver's arguments: all lists have the innermost dimension first.
    """
    dims, box = numbers["globalDim"], numbers["boxDim"]
    steps, strides = numbers["elementStrides"], [size, *numbers["globalStrides"]]
    ranges = [range(0, extent, step) for extent, step in zip(box, steps, strict=True)]
    columns = len(ranges[0])
    for flat, index in enumerate(product(*reversed(ranges))):
        at = [c + i for c, i in zip(coordinates, reversed(index), strict=True)]
        inside = all(0 <= a < extent for a, extent in zip(at, dims, strict=True))
        source = sum(a * stride for a, stride in zip(at, strides, strict=True)) if inside else None
        row, column = divmod(flat, columns)
        yield source, swizzled(start + row * pitch + column * size, mode)
