"""Kernels for all shapes of a class, run for values of their names, against the naive move."""

from __future__ import annotations

import numpy as np
import pytest
from tests.moves.shim import aligned, run

from tilewise import Layout, LayoutError, S, Swizzle, name
from tilewise.core.polynomials import valued
from tilewise.core.swizzles import apply_chain
from tilewise.moves.shapes import ShapesPlan, shapes_plan

M8, N8 = name("M", multiple=8, least=8), name("N", multiple=8, least=8)
M64 = name("M", multiple=64, least=64)
M16, N16 = name("M", multiple=16, least=16), name("N", multiple=16, least=16)
B = name("B", least=2)

CLASSES = {
    "turned": (S[M8, N8], S[(M8, N8) : (1, M8)], "bf16"),
    "turned bytes": (S[M16, N16], S[(M16, N16) : (1, M16)], "u8"),
    "turned words": (S[M8, N8], S[(M8, N8) : (1, M8)], "f32"),
    "turned elements of 8 bytes": (S[M8, N8], S[(M8, N8) : (1, M8)], "f64"),
    "rows further apart": (S[(M8, N8) : (N8, 1)], S[(M8, N8) : (N8 + 8, 1)], "f32"),
    "batches": (S[(B, M8, N8) : (M8 * N8, N8, 1)], S[(B, M8, N8) : (M8 * N8, 1, M8)], "bf16"),
    "heads": (S[(M8, 8, 64) : (512, 64, 1)], S[(M8, 8, 64) : (64, 64 * M8, 1)], "bf16"),
    "padded": (S[(M8, 64) : (64, 1)], S[(M8, 64) : (1, M8 + 8)], "f16"),
    "from an offset": (S[(M8, N8) : (N8, 1)] + 8 * M8, S[(M8, N8) : (1, M8)] + 16, "f16"),
    "rows that begin anywhere": (S[(M8, N8 + 3) : (N8 + 3, 1)], S[(M8, N8 + 3) : (1, M8)], "f16"),
    "both begin anywhere": (S[(M8 + 5, N8 + 3) : (N8 + 3, 1)], S[(M8 + 5, N8 + 3) : (1, M8 + 5)], "bf16"),
    "swizzled": (S[(M64, 64) : (64, 1)], Swizzle(3, 3, 3) @ S[(64, M64) : (M64, 1)].permute(1, 0), "bf16"),
    "all together": (S[M8, N8], S[M8 * N8] + 24, "bf16"),
}


def places(layout: Layout) -> np.ndarray:
    """Return the place of each element, by its definition."""
    at = np.array([layout.offset["m"]])
    for it in layout.shard:
        at = (at[:, None] + np.arange(it.extent) * it.stride["m"]).reshape(-1)
    return np.array([apply_chain(layout.swizzles, int(own)) for own in at]) if layout.swizzles else at


def values_of(found: ShapesPlan, count: int) -> list[dict[str, int]]:
    """Return values that the facts admit: small ones, and a little more than a tile."""
    rng = np.random.default_rng(5)
    drawn = []
    while len(drawn) < count:
        sizes = {own: int(rng.integers(1, 28)) * int(rng.choice([1, 2, 8, 16])) for own in found.names}
        try:
            found.check(sizes)
        except LayoutError:
            continue
        drawn.append(sizes)
    return drawn


@pytest.mark.parametrize("called", CLASSES)
def test_one_kernel_makes_all_moves_of_a_class(called: str, times) -> None:
    source, target, dtype = CLASSES[called]
    found = shapes_plan(source, target, dtype)
    for values in values_of(found, times(8)):
        check(found, values)


def check(found: ShapesPlan, values: dict[str, int]) -> None:
    source, target = (own.with_numbers(lambda number: valued(number, values)) for own in found.layouts)
    assert found.takes(values)
    unit = found.dtype.bits // 8
    given, made = aligned((source.max("m") + 1) * unit), aligned((target.max("m") + 1) * unit)
    given[:] = np.random.default_rng(given.size).integers(0, 256, given.size)
    made[:] = 0 if found.fills else 0x5A
    if found.kind == "copy":
        read, write, count = (valued(number, values) for number in found.copied)
        made[write : write + count] = given[read : read + count]
    else:
        sizes = [values[own] for own in found.names]
        run(found.kernel, found.blocks_of(values), found.typical.launch[1], given, made, sizes)
    wanted = np.full(made.size, 0 if found.fills else 0x5A, np.uint8).reshape(-1, unit)
    wanted[places(target)] = given.reshape(-1, unit)[places(source)]
    assert made.tobytes() == wanted.tobytes(), values
    assert valued(found.written, values) == made.size
