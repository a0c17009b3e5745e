"""Questions to TMA: boxes to load, in order and at random, and arguments of tensor maps at their bounds."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from itertools import product
from typing import Any

from tilewise.gpu.verify.part import Questions
from tilewise.gpu.verify.tma import ELEMENTS, MARGIN, MOST_SHARED, BoxLoad, MapArguments
from tilewise.hardware.modes import CHUNK, MODES, Mode
from tilewise.hardware.tma.types import ELEMENT_TYPES

SEED = 20_260
UNSIGNED = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}
FLOATS = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}
STARTS = (0, 128, 256, 512)
MOST_BYTES = 64 * 1024

# -- boxes -----------------------------------------------------------------------------------------


def boxes() -> list[BoxLoad]:
    """Return swizzle x element size x box x rank x corner x start, in order and at random, seeded."""
    return [
        *every_inner_row(),
        *too_wide(),
        *every_corner(SEED),
        *at_random(SEED + 1, 300),
        *with_steps(SEED + 2, 60),
        *filled_with_nan(),
    ]


def every_inner_row() -> Iterator[BoxLoad]:
    """Yield all inner boxes a swizzle takes, at starts inside and at the pattern: 20 rows of a matrix."""
    for mode, each, start in product(MODES.values(), UNSIGNED, STARTS):
        widths = range(CHUNK, mode.width + 1, CHUNK) if mode.bits else (16, 48, 128, 256)
        for inner in widths:
            corner = (3, CHUNK // each)
            yield BoxLoad(UNSIGNED[each], mode.name, (32, 512), (20, inner // each), corner, start)


def too_wide() -> Iterator[BoxLoad]:
    """Yield inner boxes that are wider than the swizzle: the driver is to refuse them."""
    for mode, each, more in product(MODES.values(), UNSIGNED, (CHUNK, 2 * CHUNK)):
        if mode.bits:
            yield BoxLoad(UNSIGNED[each], mode.name, (32, 512), (8, (mode.width + more) // each), (0, 0))


def every_corner(seed: int) -> Iterator[BoxLoad]:
    """Yield all ranks, modes and sizes with each way of reaching out of the tensor."""
    dice = random.Random(seed)
    outs = ("inside", "before", "behind", "inner before", "inner behind", "apart", "far apart")
    for rank, mode, each, out in product(range(1, 6), MODES.values(), UNSIGNED, outs):
        yield _reaching(dice, rank, mode, each, out)


def at_random(seed: int, count: int) -> Iterator[BoxLoad]:
    """Yield boxes of any rank, mode, size, corner and start."""
    dice = random.Random(seed)
    outs = ("inside", "before", "behind", "inner before", "inner behind", "anywhere", "anywhere")
    for _ in range(count):
        mode, rank = dice.choice(list(MODES.values())), dice.randint(1, 5)
        yield _reaching(dice, rank, mode, dice.choice(list(UNSIGNED)), dice.choice(outs), STARTS)


def with_steps(seed: int, count: int) -> Iterator[BoxLoad]:
    """Yield boxes that take every second to eighth element along some dimensions."""
    dice = random.Random(seed)
    for _ in range(count):
        mode, each = dice.choice(list(MODES.values())), dice.choice(list(UNSIGNED))
        rank = dice.randint(2, 4)
        plain = _reaching(dice, rank, mode, each, dice.choice(("inside", "before", "behind")))
        steps = [dice.choice((1, 2, 3, 8)) for _ in range(rank - 1)]
        yield replace(plain, steps=(*steps, dice.choice((1, 1, 2))))


def filled_with_nan() -> Iterator[BoxLoad]:
    """Yield boxes of floats that reach out of the tensor, filled with zeros and NaN; u16 is to be refused."""
    for (dtype, each), mode, fill in product(FLOATS.items(), ("none", "32B", "128B"), ("zero", "nan")):
        yield BoxLoad(dtype, mode, (20, 64), (12, 32 // each), (-3, -CHUNK // each), fill=fill)
    yield BoxLoad("u16", "none", (20, 64), (12, 16), (-3, -8), fill="nan")


def copies() -> list[BoxLoad]:
    """Return boxes at innermost coordinates of whole chunks and of parts, and at starts that are multiples of
    128, and others."""
    matrix = BoxLoad("u16", "none", (16, 256), (8, 16), (0, 0))
    cases = [
        replace(matrix, dtype=dtype, box=(8, 2 * unit), corner=(2, coordinate))
        for dtype, unit in ((dtype, CHUNK // each) for each, dtype in UNSIGNED.items())
        for coordinate in (0, unit, 3 * unit, -unit, 1, unit - 1, unit + unit // 2, -1, 1 - 2 * unit)
    ]
    swizzles, starts = ("32B", "64B", "128B"), (128, 384, 16, 32, 64, 192)
    cases += [replace(matrix, mode=mode, corner=(2, x)) for mode, x in product(swizzles, (8, 4, -12))]
    return cases + [replace(matrix, mode=m, start=x) for m, x in product(("none", *swizzles), starts)]


def _reaching(
    dice: random.Random, rank: int, mode: Mode, each: int, out: str, starts: tuple[int, ...] = (0,)
) -> BoxLoad:
    """Return a box that reaches out of its tensor along some dimensions, small enough to be loaded."""
    most = mode.width if mode.bits else 256
    while True:
        inner = min(dice.choice((most, most, dice.randrange(CHUNK, most + 1, CHUNK))) // each, 256)
        box = (*(dice.choice((1, 2, 3, 5, 8, 9, 16, 24, 33)) for _ in range(rank - 1)), inner)
        shape = tuple(extent + dice.choice((0, 1, 3, 7, 20)) for extent in box)
        units = [1] * (rank - 1) + [CHUNK // each]
        corner = tuple(
            _corner(dice, *sizes) for sizes in zip(box, shape, units, _outs(dice, rank, out), strict=True)
        )
        case = BoxLoad(UNSIGNED[each], mode.name, shape, box, corner, dice.choice(starts))
        fits = case.bytes <= MOST_BYTES and case.window <= MOST_SHARED
        if fits and shape[0] * case.strides[0] <= ELEMENTS[each] - 2 * MARGIN:
            return case


def _outs(dice: random.Random, rank: int, out: str) -> list[str]:
    """Return how each dimension reaches out."""
    if out == "anywhere":
        return [dice.choice(("inside", "before", "behind")) for _ in range(rank)]
    outs = ["inside"] * rank
    innermost = out.startswith("inner") or out in ("inside", "apart", "far apart")
    outs[-1 if innermost else dice.randrange(rank)] = out.removeprefix("inner ")
    return outs


def _corner(dice: random.Random, box: int, shape: int, unit: int, out: str) -> int:
    """Return a multiple of the unit: TMA faults where an innermost coordinate is no whole chunk."""
    last = (shape - box) // unit
    if out == "inside":
        return unit * dice.randint(0, last)
    if out == "before":
        return -unit * dice.randint(1, box // unit)
    if out == "behind":
        return unit * dice.randint(last + 1, max(last + 1, shape // unit))
    if out == "apart":
        return dice.choice((-box, -box - 7 * unit, -(-shape // unit) * unit, (shape // unit + 9) * unit))
    return dice.choice((-(10**6) * unit, 10**6 * unit))


# -- arguments of tensor maps ----------------------------------------------------------------------

BYTES = {row.value: row.bits // 8 for row in ELEMENT_TYPES.values() if row.value < 13}
"""Bytes of an element by the code of CUtensorMapDataType; the packed types 13, 14, 15 are apart."""

PACKED = (13, 14, 15)


def of_rank(rank: int) -> MapArguments:
    """Return plain arguments of a rank; the strides are dense."""
    dims, strides = (256, 64, 32, 16, 8, 4)[:rank], [512]
    for extent in dims[1:]:
        strides.append(strides[-1] * extent)
    return MapArguments(
        rank=rank,
        dims=dims,
        strides=tuple(strides[:-1]),
        box=(16, 8, 4, 2, 2, 1)[:rank],
        element_strides=(1,) * rank,
    )


def maps() -> list[MapArguments]:
    """Return all arguments that the driver has to judge, each once."""
    dice = random.Random(20_261)
    return [*dict.fromkeys([*at_the_bounds(), *(_thrown(dice) for _ in range(1000))])]


def _varied(base: MapArguments, **values: Iterable[Any]) -> Iterator[MapArguments]:
    """Yield the arguments with every combination of some values."""
    for chosen in product(*values.values()):
        yield replace(base, **dict(zip(values, chosen, strict=True)))


def _one_by_one(base: MapArguments, name: str, values: Iterable[int]) -> Iterator[MapArguments]:
    """Yield the arguments with each entry of a tuple in turn at each of some values."""
    usual = getattr(base, name)
    for at, value in product(range(len(usual)), values):
        changed: dict[str, Any] = {name: (*usual[:at], value, *usual[at + 1 :])}
        yield replace(base, **changed)


def _interleaved(cases: Iterable[MapArguments], *interleaves: int) -> Iterator[MapArguments]:
    """Yield each of the arguments with interleaves; one of 32 bytes asks for a swizzle of 32 bytes."""
    for case, interleave in product(cases, interleaves):
        yield replace(case, interleave=interleave, swizzle=int(interleave == 2))


def at_the_bounds() -> Iterator[MapArguments]:
    """Yield arguments that try one rule at a time: values at its bound, before it and beyond it."""
    base = MapArguments()
    yield base
    yield from map(of_rank, range(7))
    yield from _varied(base, dtype=range(-1, 18), fill=(0, 1, 2, -1))
    yield from _interleaved(_varied(base, address=(1, 2, 4, 8, 16, 24, 32, 48, 64)), 0, 1, 2)
    for sparse in (base, replace(base, strides=(2**35, 2**39))):
        extents = (0, 1, 2, 255, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**40)
        yield from _one_by_one(sparse, "dims", extents)
    lengths = (0, 1, 2, 8, 15, 16, 24, 32, 48, 496, 504, 512, 520, 528)
    ends = (2**39, 2**40 - 32, 2**40 - 16, 2**40, 2**40 + 16)
    yield from _one_by_one(base, "strides", (*lengths, *ends))
    inner = [(length, 32768) for length in (16, 32, 48, 64, 512, 528, 544)]
    yield from _interleaved(_varied(base, strides=inner), 1, 2)
    yield replace(base, strides=(32768, 512))
    yield from _boxes(base)
    for step in _one_by_one(base, "element_strides", (0, 1, 2, 7, 8, 9, 16, 2**32 - 1)):
        yield step
        yield replace(step, interleave=1, box=(16, 16, 16))
    stepped = replace(base, element_strides=(1, 8, 1))
    yield from _varied(stepped, box=[(16, extent, 4) for extent in (8, 64, 255, 256, 257, 512)])
    yield from _swizzles(base)
    yield from _packed(base)
    yield from _varied(base, l2=range(-1, 6))


def _boxes(base: MapArguments) -> Iterator[MapArguments]:
    yield from _one_by_one(base, "box", (0, 1, 2, 255, 256, 257, 512, 2**31, 2**32 - 1))
    inner = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 128, 256)
    yield from _varied(base, dtype=(0, 1, 2, 4), box=[(extent, 8, 4) for extent in inner])
    rows = (128, 224, 227, 228, 229, 256)
    for outer in (*((row, 64) for row in rows), (167, 87), (253, 59), (256, 63)):
        middle, last = outer
        plain = replace(base, dtype=0, box=(16, *outer))  # about the shared memory of a block
        yield from _varied(plain, swizzle=(0, 3))
        yield replace(plain, interleave=1)
        yield replace(plain, dtype=4, box=(2, *outer))
        halved = [(16, middle, 2 * last), (16, middle, 2 * last + 1)]
        yield from _varied(plain, box=halved, element_strides=[(1, 1, 2)])
        yield replace(plain, box=(32, *outer), element_strides=(2, 1, 1))
        yield replace(of_rank(4), dtype=0, box=(16, *outer, 1), element_strides=(1, 1, 1, 2))
    larger_than_the_tensor = (16, 128, 64)
    yield from _varied(base, box=((256, 256, 256), (256, 256, 4), larger_than_the_tensor))
    yield replace(base, dims=(8, 64, 32), box=(16, 8, 4))


def _swizzles(base: MapArguments) -> Iterator[MapArguments]:
    for dtype, inner in product((0, 1, 2, 4), (16, 32, 48, 64, 80, 96, 128, 144, 256)):
        if inner % (each := BYTES[dtype]) == 0:
            yield from _varied(base, dtype=[dtype], swizzle=range(-1, 9), box=[(inner // each, 8, 4)])
    yield from _varied(base, interleave=range(-1, 4), swizzle=range(8))
    yield from _interleaved(map(of_rank, range(1, 6)), 1, 2)
    for box in ((inner, 8, 4) for inner in (1, 4, 7, 8, 12, 16, 24, 32, 64, 128, 256, 257)):
        yield from _interleaved([replace(base, box=box)], 1, 2)
        yield from _varied(base, interleave=(1, 2), swizzle=[1], box=[box], dtype=[0])
        yield replace(base, interleave=1, swizzle=3, box=box)


def _packed(base: MapArguments) -> Iterator[MapArguments]:
    strides, whole = [(512, 65536), (528, 65536), (544, 65536)], [(128, 8, 4)]
    yield from _varied(base, dtype=PACKED, swizzle=range(7), address=(0, 16, 32), strides=strides, box=whole)
    boxes = [(inner, 8, 4) for inner in (16, 32, 64, 96, 127, 128, 256)]
    dims = [(extent, 64, 32) for extent in (127, 128, 130, 256)]
    yield from _varied(base, dtype=PACKED, box=boxes, dims=dims)
    yield from _interleaved(_varied(base, dtype=PACKED, box=whole), 1, 2)


def _thrown(dice: random.Random) -> MapArguments:
    """Return several arguments at once, each near one of its bounds."""
    base = of_rank(dice.choice((1, 2, 2, 3, 3, 3, 4, 5)))
    dtype = dice.randrange(13)
    interleave = dice.choice((0, 0, 0, 0, 1, 2))
    swizzle = dice.randrange(4)
    inner = dice.choice((16, 16, 32, 32, 48, 64, 96, 128, 160)) // BYTES[dtype]
    outer = [dice.choice((1, 1, 2, 3, 8, 8, 16, 64, 256, 257)) for _ in base.box[1:]]
    case = replace(
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
    if dice.random() >= 0.2:
        return case
    bad = dice.choice((16, 32, 504, 544, 2**40 - 32, 2**40))
    return replace(case, strides=tuple(dice.choice((s, s, bad)) for s in case.strides))


QUESTIONS: dict[str, Callable[[], Questions]] = {
    "tma.boxes": lambda: Questions(("tma.landing",), [asdict(box) for box in boxes()]),
    "tma.rules": lambda: Questions(("tma.rules",), [asdict(arguments) for arguments in maps()]),
    "tma.faults": lambda: Questions(("tma.rules",), [asdict(box) for box in copies()]),
}
"""The questions of each part, drawn when called."""
