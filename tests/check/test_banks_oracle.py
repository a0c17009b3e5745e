"""Conflicts of random accesses of random tiles against the definition, element by element."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from tests.check.banks_cases import naive_wavefronts

from tilewise import Layout, R, S, Swizzle
from tilewise.check.banks import conflicts
from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.testing import naive_places

CASES = 320
DTYPES = ("u8", "bf16", "f32", "f64", "b128")
NAMES = (
    *("row", "row:16B", "row:8B", "row:4B", "col", "col:16B", "tma"),
    *("ldmatrix.x1", "ldmatrix.x2.trans", "ldmatrix.x4", "stmatrix.x1", "stmatrix.x4.trans"),
)


def random_tile(rng: Random) -> Layout:
    """Rows at any pitch, either mode contiguous, swizzled or not, here and there with copies."""
    rows, columns = rng.choice((8, 16, 24, 32, 64)), rng.choice((8, 16, 32, 48, 64))
    pitch = columns + rng.choice((0, 0, 0, 4, 8, 24, 192 - columns))
    tile = S[(rows, columns) : (pitch, 1)] if rng.random() < 0.8 else S[(columns, rows) : (1, pitch)]
    if rng.random() < 0.2:
        tile = tile + rng.choice((1, 4, 8, 64))
    if rng.random() < 0.6:
        bits = rng.randint(1, 3)
        tile = Swizzle(bits, rng.choice((0, 1, 2, 3, 3, 4)), rng.randint(bits, 5)) @ tile
    return tile + R[2:4096] if rng.random() < 0.02 else tile


def random_access(rng: Random, tile: Layout) -> Layout | str:
    """A name, or lanes in any order over any elements."""
    if rng.random() < 0.7:
        return rng.choice(NAMES)
    bits = rng.randint(0, 5)
    steps = [rng.choice((0, 1, 2, 4, 8, 16, 32, 64, 128)) for _ in range(bits)]
    reach = sum(steps)
    return S[(1, *[2] * bits) : (0, *steps)].group(1, 1 << bits, 1) if reach < tile.size else "row"


def check_banks(rng: Random) -> str:
    """Every request takes what the plain loop says of the places of its lanes' elements."""
    tile, dtype = random_tile(rng), rng.choice(DTYPES)
    asked, operation = random_access(rng, tile), None
    if not str(asked).startswith(("ldmatrix", "stmatrix", "tma")):
        operation = rng.choice(("ld", "ld", "st"))
    base = rng.choice((0, 0, 16, 1024))
    try:
        found = conflicts(tile, asked, dtype=dtype, operation=operation, base=base)
    except Refused:
        return "refused"
    access, case = found.access, (tile, asked, dtype, operation, base)
    own = [found.request(number) for number in range(access.requests)]
    for number, request in enumerate(own):
        indices = [access.index.place(number, lane, 0)["m"] for lane in range(access.lanes)]
        lanes = [address_of(tile, index, dtype, base) for index in indices]
        assert request.wavefronts == naive_wavefronts(access.operation.name, access.bytes, lanes), case
    each = [request.wavefronts for request in own]
    assert (found.wavefronts, found.worst) == (sum(each), each.index(max(each))), case
    assert found.ideal == sum(request.ideal for request in own), case
    assert found.ways == max(phase.wavefronts for request in own for phase in request.phases), case
    return "answered"


def address_of(tile: Layout, index: int, dtype: str, base: int) -> int | None:
    """The byte address of an element by the definition; None past the end of the tile."""
    if index >= tile.size:
        return None
    (place,) = naive_places(tile, index)
    return base + dict(place).get("m", 0) * DType.of(dtype).bits // 8


@pytest.mark.parametrize("seed", range(4))
def test_conflicts_are_those_of_the_definition(seed: int, times) -> None:
    rng = Random(seed)
    seen = Counter(check_banks(rng) for _ in range(times(CASES // 4)))
    assert min(seen["answered"], seen["refused"]) > times(CASES // 64)
