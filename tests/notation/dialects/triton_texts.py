"""Drawn layouts that Triton's encodings can say, and drawn encodings."""

from __future__ import annotations

from tilewise import DType, laneid, m, reg, warpid
from tilewise.core.algebra.linear import place_bits
from tilewise.core.axes import Axis

TYPES = [DType.of(name) for name in ("f16", "f32", "e4m3")]
_cbx = Axis("cbx")


def split(rng, bits, rank):
    """Extents whose product is 2^bits."""
    extents = [1] * rank
    for _ in range(bits):
        extents[rng.randrange(rank)] *= 2
    return extents


def order(rng, rank):
    return rng.sample(range(rank), rank)


def blocked(rng, rank):
    """#ttg.blocked, as it is printed."""
    parts = [split(rng, rng.randrange(4), rank), split(rng, 5, rank), split(rng, rng.randrange(4), rank)]
    keys = zip(("sizePerThread", "threadsPerWarp", "warpsPerCTA"), parts, strict=True)
    listed = ", ".join(f"{key} = {extents}" for key, extents in keys)
    return f"#ttg.blocked<{{{listed}, order = {order(rng, rank)}}}>"


def in_registers(rng):
    """A layout over registers, lanes, warps and blocks: bits dealt out in any way, and copies."""
    shape = tuple(split(rng, rng.randrange(10), rng.randint(1, 3)))
    bits = sum(extent.bit_length() - 1 for extent in shape)
    moves = [1 << bit for bit in range(bits)] + [0] * rng.randrange(3)
    rng.shuffle(moves)
    axes = [reg, laneid, warpid, *([_cbx] if rng.random() < 0.2 else [])]
    held = {axis: [] for axis in axes}
    for move in moves:
        held[rng.choice(axes)].append(move)
    return place_bits(held, shape).layout(shape)


def in_memory(rng):
    """A layout over memory: a swizzle, several, bits in any order, paddings, holes, and blocks."""
    shape = tuple(split(rng, rng.randint(1, 12), rng.randint(1, 3)))
    bits = sum(extent.bit_length() - 1 for extent in shape)
    moves = [1 << bit for bit in range(bits)]
    if rng.random() < 0.5:
        rng.shuffle(moves)
    held = {m: list(moves)}
    if rng.random() < 0.2:
        held[_cbx] = [held[m].pop()]
    if rng.random() < 0.6 and len(held[m]) > 1:
        shift, base = rng.randint(1, len(held[m]) - 1), rng.randrange(4)
        for target in range(base, min(base + shift, len(held[m]) - shift)):
            held[m][target + shift] ^= held[m][target]
    if rng.random() < 0.1:
        held[m].insert(rng.randrange(len(held[m]) + 1), None)
    return place_bits(held, shape).layout(shape)
