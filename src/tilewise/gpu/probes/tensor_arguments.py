"""Arguments of cuTensorMapEncodeTiled at and beyond each of its bounds, for the driver to judge."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from itertools import product

from tilewise.hardware.modes import MODES
from tilewise.hardware.tma.rules import DRIVER, RULES, violations
from tilewise.hardware.tma.tensor_map import TensorMap
from tilewise.hardware.tma.types import ELEMENT_TYPES, FILLS, INTERLEAVES, L2_PROMOTIONS, SWIZZLE_VALUES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

BITS = {0: 8, 1: 16, 2: 32, 3: 32, 4: 64, 5: 64, 6: 16, 7: 32, 8: 64, 9: 16, 10: 32, 11: 32, 12: 32}
"""Bits of an element by the code of CUtensorMapDataType; the packed types 13, 14, 15 are apart."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """What the driver is given, fastest dimension first, strides in bytes, enumerators as numbers."""

    dtype: int = 1
    rank: int = 3
    address: int = 0
    """After an address that is a multiple of 256."""
    dims: tuple[int, ...] = (256, 64, 32)
    strides: tuple[int, ...] = (512, 32768)
    box: tuple[int, ...] = (16, 8, 4)
    element_strides: tuple[int, ...] = (1, 1, 1)
    interleave: int = 0
    swizzle: int = 0
    l2: int = 0
    fill: int = 0

    @property
    def numbers(self) -> dict[str, Any]:
        """By the driver's names."""
        return {
            "tensorDataType": self.dtype,
            "tensorRank": self.rank,
            "globalDim": self.dims,
            "globalStrides": self.strides,
            "boxDim": self.box,
            "elementStrides": self.element_strides,
            "interleave": self.interleave,
            "swizzle": self.swizzle,
            "l2Promotion": self.l2,
            "oobFill": self.fill,
        }

    @property
    def tensor_map(self) -> TensorMap | None:
        """The same for our rules; None where a number is no enumerator that our tables have."""
        try:
            tables = (INTERLEAVES, L2_PROMOTIONS, FILLS)
            numbers = (self.interleave, self.l2, self.fill)
            interleave, l2, fill = (
                next(name for name, (_, value) in table.items() if value == number)
                for table, number in zip(tables, numbers, strict=True)
            )
            dtype = next(row for row in ELEMENT_TYPES.values() if row.value == self.dtype)
            mode = next(mode for name, mode in MODES.items() if SWIZZLE_VALUES[name] == self.swizzle)
        except (StopIteration, RuntimeError):
            return None
        return TensorMap(
            dtype,
            self.dims[::-1],
            self.strides[::-1],
            self.box[::-1],
            self.element_strides[::-1],
            interleave,
            mode,
            l2,
            fill,
        )

    @property
    def broken(self) -> list[str] | None:
        """The driver's rules that these arguments break, as our tables have them."""
        tensor_map = self.tensor_map
        if tensor_map is None:
            return None
        names = (found.rule for found in violations(tensor_map, self.address))
        return [name for name in names if RULES[name].kind == DRIVER]


def of_rank(rank: int, base: Arguments | None = None) -> Arguments:
    """Plain arguments of a rank; the strides are dense."""
    base = base or Arguments()
    dims = ((256, 64, 32, 16, 8, 4) if rank > 0 else ())[:rank]
    strides, at = [], 512
    for extent in dims[1:]:
        strides.append(at)
        at *= extent
    box = (16, 8, 4, 2, 2, 1)[:rank]
    return replace(base, rank=rank, dims=dims, strides=tuple(strides), box=box, element_strides=(1,) * rank)


def _with(values: tuple[int, ...], at: int, value: int) -> tuple[int, ...]:
    return (*values[:at], value, *values[at + 1 :])


def at_the_bounds() -> Iterator[Arguments]:
    """One rule at a time: values at its bound, before it and beyond it."""
    base = Arguments()
    yield base
    yield from (of_rank(rank) for rank in range(7))
    yield from _types(base)
    yield from _addresses(base)
    yield from _extents(base)
    yield from _strides(base)
    yield from _boxes(base)
    yield from _steps(base)
    yield from _swizzles(base)
    yield from _interleaves(base)
    yield from _packed(base)
    yield from (replace(base, l2=l2) for l2 in range(-1, 6))


def _types(base: Arguments) -> Iterator[Arguments]:
    for dtype, fill in product(range(-1, 18), (0, 1, 2, -1)):
        yield replace(base, dtype=dtype, fill=fill)


def _addresses(base: Arguments) -> Iterator[Arguments]:
    for address, interleave in product((1, 2, 4, 8, 16, 24, 32, 48, 64), (0, 1, 2)):
        yield replace(base, address=address, interleave=interleave, swizzle=interleave == 2)


def _extents(base: Arguments) -> Iterator[Arguments]:
    for at, extent in product(range(3), (0, 1, 2, 255, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**40)):
        yield replace(base, dims=_with(base.dims, at, extent))
        sparse = replace(base, strides=(2**35, 2**39))
        yield replace(sparse, dims=_with(base.dims, at, extent))


def _strides(base: Arguments) -> Iterator[Arguments]:
    lengths = (
        0,
        1,
        2,
        8,
        15,
        16,
        24,
        32,
        48,
        496,
        504,
        512,
        520,
        528,
        2**39,
        2**40 - 32,
        2**40 - 16,
        2**40,
        2**40 + 16,
    )
    for at, length in product(range(2), lengths):
        yield replace(base, strides=_with(base.strides, at, length))
    for length, interleave in product((16, 32, 48, 64, 512, 528, 544), (1, 2)):
        yield replace(base, strides=(length, 32768), interleave=interleave, swizzle=interleave == 2)
    yield replace(base, strides=(32768, 512))


def _boxes(base: Arguments) -> Iterator[Arguments]:
    for at, extent in product(range(3), (0, 1, 2, 255, 256, 257, 512, 2**31, 2**32 - 1)):
        yield replace(base, box=_with(base.box, at, extent))
    for dtype, inner in product(
        (0, 1, 2, 4), (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 128, 256)
    ):
        yield replace(base, dtype=dtype, box=(inner, 8, 4))
    for outer in (
        (128, 64),
        (224, 64),
        (227, 64),
        (167, 87),
        (228, 64),
        (229, 64),
        (253, 59),
        (256, 63),
        (256, 64),
    ):
        yield replace(base, dtype=0, box=(16, *outer))  # about the shared memory of a block
        yield replace(base, dtype=0, swizzle=3, box=(16, *outer))
        yield replace(base, dtype=0, interleave=1, box=(16, *outer))
        yield replace(base, dtype=4, box=(2, *outer))
        yield replace(base, dtype=0, box=(16, outer[0], 2 * outer[1]), element_strides=(1, 1, 2))
        yield replace(base, dtype=0, box=(16, outer[0], 2 * outer[1] + 1), element_strides=(1, 1, 2))
        yield replace(base, dtype=0, box=(32, *outer), element_strides=(2, 1, 1))
        yield replace(of_rank(4, base), dtype=0, box=(16, *outer, 1), element_strides=(1, 1, 1, 2))
    yield replace(base, box=(256, 256, 256))
    yield replace(base, box=(256, 256, 4))
    yield replace(base, box=(16, 128, 64))  # larger than the tensor
    yield replace(base, dims=(8, 64, 32), box=(16, 8, 4))


def _steps(base: Arguments) -> Iterator[Arguments]:
    for at, step in product(range(3), (0, 1, 2, 7, 8, 9, 16, 2**32 - 1)):
        yield replace(base, element_strides=_with(base.element_strides, at, step))
        yield replace(
            base, element_strides=_with(base.element_strides, at, step), interleave=1, box=(16, 16, 16)
        )
    for extent in (8, 64, 255, 256, 257, 512):
        yield replace(base, box=(16, extent, 4), element_strides=(1, 8, 1))


def _swizzles(base: Arguments) -> Iterator[Arguments]:
    for swizzle, dtype in product(range(-1, 9), (0, 1, 2, 4)):
        each = BITS[dtype] // 8
        for inner in (16, 32, 48, 64, 80, 96, 128, 144, 256):
            if inner // each <= 256 and inner % each == 0:
                yield replace(base, dtype=dtype, swizzle=swizzle, box=(inner // each, 8, 4))


def _interleaves(base: Arguments) -> Iterator[Arguments]:
    for interleave, swizzle in product(range(-1, 4), range(8)):
        yield replace(base, interleave=interleave, swizzle=swizzle)
    for interleave, rank in product((1, 2), range(1, 6)):
        yield replace(of_rank(rank), interleave=interleave, swizzle=interleave == 2)
    for interleave, inner in product((1, 2), (1, 4, 7, 8, 12, 16, 24, 32, 64, 128, 256, 257)):
        yield replace(base, interleave=interleave, swizzle=interleave == 2, box=(inner, 8, 4))
        yield replace(base, interleave=interleave, swizzle=1, box=(inner, 8, 4), dtype=0)
        yield replace(base, interleave=1, swizzle=3, box=(inner, 8, 4))


def _packed(base: Arguments) -> Iterator[Arguments]:
    for dtype, swizzle, address, stride in product((13, 14, 15), range(7), (0, 16, 32), (512, 528, 544)):
        yield replace(
            base, dtype=dtype, swizzle=swizzle, address=address, strides=(stride, 65536), box=(128, 8, 4)
        )
    for dtype, inner, extent in product((13, 14, 15), (16, 32, 64, 96, 127, 128, 256), (127, 128, 130, 256)):
        yield replace(base, dtype=dtype, box=(inner, 8, 4), dims=(extent, 64, 32))
    for dtype, interleave in product((13, 14, 15), (1, 2)):
        yield replace(base, dtype=dtype, interleave=interleave, swizzle=interleave == 2, box=(128, 8, 4))


def at_random(seed: int, count: int) -> Iterator[Arguments]:
    """Several arguments at once, each near one of its bounds."""
    dice = random.Random(seed)
    for _ in range(count):
        yield _thrown(dice)


def _thrown(dice: random.Random) -> Arguments:
    base = of_rank(dice.choice((1, 2, 2, 3, 3, 3, 4, 5)))
    dtype = dice.randrange(13)
    interleave = dice.choice((0, 0, 0, 0, 1, 2))
    swizzle = dice.randrange(4)
    each = BITS[dtype] // 8
    inner = dice.choice((16, 16, 32, 32, 48, 64, 96, 128, 160)) // each
    outer = tuple(dice.choice((1, 1, 2, 3, 8, 8, 16, 64, 256, 257)) for _ in base.box[1:])
    result = replace(
        base,
        dtype=dtype,
        interleave=interleave,
        swizzle=swizzle,
        box=(inner, *outer),
        element_strides=tuple(dice.choice((*(1,) * 12, 2, 3, 8, 9)) for _ in base.box),
        address=dice.choice((0, 0, 0, 0, 0, 0, 16, 32, 48, 8)),
        l2=dice.randrange(4),
        fill=dice.choice((0, 0, 0, 0, 0, 0, 1)),
    )
    if dice.random() < 0.2:
        bad = dice.choice((16, 32, 504, 544, 2**40 - 32, 2**40))
        result = replace(result, strides=tuple(dice.choice((s, s, bad)) for s in result.strides))
    return result
