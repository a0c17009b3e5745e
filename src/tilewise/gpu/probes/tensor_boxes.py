"""Boxes to load: swizzle x element size x box x rank x corner x start, in order and at random, seeded."""

from __future__ import annotations

import random
from itertools import product

from tilewise.gpu.probes.tensor_copy import ELEMENTS, MARGIN, MOST_SHARED, Box
from tilewise.hardware.modes import CHUNK, MODES, Mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

UNSIGNED = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}
FLOATS = ("f16", "bf16", "f32", "f64")
STARTS = (0, 128, 256, 512)
MOST_BYTES = 64 * 1024


def every_inner_row() -> Iterator[Box]:
    """All inner boxes a swizzle takes, each at starts inside and at the pattern: 20 rows of a matrix."""
    for mode, each, start in product(MODES.values(), UNSIGNED, STARTS):
        widths = range(CHUNK, mode.width + 1, CHUNK) if mode.bits else (16, 48, 128, 256)
        for inner in widths:
            corner = (3, CHUNK // each)
            yield Box(UNSIGNED[each], mode.name, (32, 512), (20, inner // each), corner, start)


def too_wide() -> Iterator[Box]:
    """Inner boxes that are wider than the swizzle: the driver is to refuse them."""
    for mode, each, more in product(MODES.values(), UNSIGNED, (CHUNK, 2 * CHUNK)):
        if mode.bits:
            yield Box(UNSIGNED[each], mode.name, (32, 512), (8, (mode.width + more) // each), (0, 0))


def every_corner(seed: int) -> Iterator[Box]:
    """All ranks, modes and sizes with each way of reaching out of the tensor."""
    dice = random.Random(seed)
    for rank, mode, each in product(range(1, 6), MODES.values(), UNSIGNED):
        for out in ("inside", "before", "behind", "inner before", "inner behind", "apart", "far apart"):
            yield _reaching(dice, rank, mode, each, out)


def at_random(seed: int, count: int) -> Iterator[Box]:
    """Boxes of any rank, mode, size, corner and start."""
    dice = random.Random(seed)
    outs = ("inside", "before", "behind", "inner before", "inner behind", "anywhere", "anywhere")
    for _ in range(count):
        mode = dice.choice(list(MODES.values()))
        yield _reaching(
            dice, dice.randint(1, 5), mode, dice.choice(list(UNSIGNED)), dice.choice(outs), STARTS
        )


def with_steps(seed: int, count: int) -> Iterator[Box]:
    """Boxes that take every second to eighth element along some dimensions."""
    dice = random.Random(seed)
    for _ in range(count):
        mode, each = dice.choice(list(MODES.values())), dice.choice(list(UNSIGNED))
        rank = dice.randint(2, 4)
        plain = _reaching(dice, rank, mode, each, dice.choice(("inside", "before", "behind")))
        steps = tuple(dice.choice((1, 2, 3, 8)) for _ in range(rank - 1))
        yield Box(
            plain.dtype, plain.mode, plain.shape, plain.box, plain.corner, 0, (*steps, dice.choice((1, 1, 2)))
        )


def filled_with_nan() -> Iterator[Box]:
    """Boxes of floats that reach out of the tensor, filled with zeros and with NaN; u16 is to be refused."""
    for dtype, mode, fill in product(FLOATS, ("none", "32B", "128B"), ("zero", "nan")):
        each = 8 if dtype == "f64" else 4 if dtype == "f32" else 2
        yield Box(dtype, mode, (20, 64), (12, 32 // each), (-3, -CHUNK // each), fill=fill)
    yield Box("u16", "none", (20, 64), (12, 16), (-3, -8), fill="nan")


def _reaching(
    dice: random.Random, rank: int, mode: Mode, each: int, out: str, starts: tuple[int, ...] = (0,)
) -> Box:
    while True:
        inner = _inner(dice, mode, each)
        box = (*(dice.choice((1, 2, 3, 5, 8, 9, 16, 24, 33)) for _ in range(rank - 1)), inner)
        shape = tuple(extent + dice.choice((0, 1, 3, 7, 20)) for extent in box)
        units = (*(1 for _ in range(rank - 1)), CHUNK // each)
        corner = tuple(map(_corner, [dice] * rank, box, shape, units, _outs(dice, rank, out)))
        case = Box(UNSIGNED[each], mode.name, shape, box, corner, dice.choice(starts))
        room = ELEMENTS[each] - 2 * MARGIN
        if case.bytes <= MOST_BYTES and case.window <= MOST_SHARED and _reach(case) <= room:
            return case


def _reach(case: Box) -> int:
    return case.shape[0] * case.strides[0]


def _inner(dice: random.Random, mode: Mode, each: int) -> int:
    most = mode.width if mode.bits else 256
    return min(dice.choice((most, most, dice.randrange(CHUNK, most + 1, CHUNK))) // each, 256)


def _outs(dice: random.Random, rank: int, out: str) -> list[str]:
    if out.startswith("inner"):
        return ["inside"] * (rank - 1) + [out.removeprefix("inner ")]
    if out == "anywhere":
        return [dice.choice(("inside", "before", "behind")) for _ in range(rank)]
    if out in ("inside", "apart", "far apart"):
        return [out if i == rank - 1 or out == "inside" else "inside" for i in range(rank)]
    which = dice.randrange(rank)
    return [out if i == which else "inside" for i in range(rank)]


def _corner(dice: random.Random, box: int, shape: int, unit: int, out: str) -> int:
    """A coordinate that is a multiple of the unit: TMA faults where an innermost one is no whole chunk."""
    if out == "inside":
        return unit * dice.randint(0, (shape - box) // unit)
    if out == "before":
        return -unit * dice.randint(1, box // unit)
    if out == "behind":
        return unit * dice.randint((shape - box) // unit + 1, max((shape - box) // unit + 1, shape // unit))
    if out == "apart":
        return dice.choice((-box, -box - 7 * unit, -(-shape // unit) * unit, (shape // unit + 9) * unit))
    return dice.choice((-(10**6) * unit, 10**6 * unit))
