"""Triton kernels whose products read shared memory by descriptors, and how each one is compiled.

A name says all of it: `boxes_bf16_kn_128x64x32_90` loads boxes by TMA, its elements are bf16, A is K-major
and B N-major in global memory, the tile of a product is 128 x 64 x 32, and the target is sm_90.
"""

# ruff: noqa: N803 - constants of kernels are capitals

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import triton
import triton.language as tl


@triton.jit
def loads(
    a,
    b,
    c,
    N,
    K,
    far_a,
    far_b,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    K_A: tl.constexpr,
    K_B: tl.constexpr,
    SUM: tl.constexpr,
):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=SUM)
    for begin in range(0, K, BK):
        k = begin + tl.arange(0, BK)
        if K_A:
            one = tl.load(a + row[:, None] * far_a + k[None, :])
        else:
            one = tl.load(a + row[:, None] + k[None, :] * far_a)
        if K_B:
            other = tl.load(b + k[:, None] + column[None, :] * far_b)
        else:
            other = tl.load(b + k[:, None] * far_b + column[None, :])
        total = tl.dot(one, other, total)
    tl.store(c + row[:, None] * N + column[None, :], total)


@triton.jit
def boxes(
    a,
    b,
    c,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    K_A: tl.constexpr,
    K_B: tl.constexpr,
    SUM: tl.constexpr,
):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), dtype=SUM)
    for begin in range(0, K, BK):
        one = a.load([row, begin]) if K_A else a.load([begin, row]).T
        other = b.load([column, begin]).T if K_B else b.load([begin, column])
        total = tl.dot(one, other, total)
    at = (row + tl.arange(0, BM))[:, None] * N + (column + tl.arange(0, BN))[None, :]
    tl.store(c + at, total)


@triton.jit
def attention(
    q,
    k,
    v,
    out,
    length,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    K_A: tl.constexpr,
    K_B: tl.constexpr,
):
    row, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BK)
    query = tl.load(q + row[:, None] * BK + d[None, :])
    best = tl.full((BM,), -float("inf"), dtype=tl.float32)
    weight = tl.zeros((BM,), dtype=tl.float32)
    total = tl.zeros((BM, BK), dtype=tl.float32)
    for begin in range(0, length, BN):
        column = begin + tl.arange(0, BN)
        scores = tl.dot(query, tl.load(k + column[None, :] * BK + d[:, None]))
        peak = tl.maximum(best, tl.max(scores, axis=1))
        p = tl.exp2(scores - peak[:, None])
        shrink = tl.exp2(best - peak)
        weight = weight * shrink + tl.sum(p, axis=1)
        value = tl.load(v + column[:, None] * BK + d[None, :])
        total = tl.dot(p.to(query.dtype), value, total * shrink[:, None])
        best = peak
    tl.store(out + row[:, None] * BK + d[None, :], total / weight[:, None])


@triton.jit
def scaled(
    a,
    scale_a,
    b,
    scale_b,
    c,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    K_A: tl.constexpr,
    K_B: tl.constexpr,
    KIND: tl.constexpr,
    PACK: tl.constexpr,
):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for begin in range(0, K, BK):
        k, s = begin // PACK + tl.arange(0, BK // PACK), begin // 32 + tl.arange(0, BK // 32)
        one = tl.load(a + row[:, None] * (K // PACK) + k[None, :])
        other = tl.load(b + k[:, None] + column[None, :] * (K // PACK))
        of_one = tl.load(scale_a + row[:, None] * (K // 32) + s[None, :])
        of_other = tl.load(scale_b + column[:, None] * (K // 32) + s[None, :])
        total = tl.dot_scaled(one, of_one, KIND, other, of_other, KIND, total)
    tl.store(c + row[:, None] * N + column[None, :], total)


DEPTH = 256
"""K of every launch, and the length of attention."""
TYPES = {
    "bf16": "bf16",
    "f16": "fp16",
    "e4m3": "fp8e4nv",
    "e5m2": "fp8e5",
    "tf32": "fp32",
    "s8": "i8",
    "e2m1": "u8",
}
"""{element: the word of Triton's signatures for it}."""
TILES = {
    "bf16": ((128, 128, 64), (64, 64, 32), (64, 32, 16), (128, 256, 32), (64, 16, 64)),
    "f16": ((128, 64, 64),),
    "e4m3": ((128, 128, 64), (64, 64, 32), (128, 64, 128)),
    "e5m2": ((64, 128, 64),),
    "tf32": ((128, 64, 32), (64, 64, 16), (64, 128, 32)),
    "s8": ((128, 64, 64),),
}
"""{element: M, N and K of tiles}."""
FUNCTIONS = {"loads": loads, "boxes": boxes, "attention": attention, "scaled": scaled}


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel as it is compiled."""

    source: str
    dtype: str
    k_a: bool
    k_b: bool
    tile: tuple[int, int, int]
    capability: int
    warps: int = 4

    @property
    def name(self) -> str:
        """Return the name, which says all but the warps."""
        majors = ("k" if self.k_a else "m") + ("k" if self.k_b else "n")
        tile = "x".join(map(str, self.tile))
        return f"{self.source}_{self.dtype}_{majors}_{tile}_{self.capability}"

    @property
    def constants(self) -> dict[str, object]:
        """Return the constants of the function."""
        m, n, k = self.tile
        found: dict[str, object] = {"BM": m, "BN": n, "BK": k, "K_A": self.k_a, "K_B": self.k_b}
        if self.source == "scaled":
            return found | {"KIND": self.dtype, "PACK": 2 if self.dtype == "e2m1" else 1}
        return found if self.source == "attention" else found | {"SUM": self._sum}

    @property
    def _sum(self) -> object:
        return tl.int32 if self.dtype == "s8" else tl.float32

    @property
    def signature(self) -> dict[str, str]:
        """Return {argument: its type} of the arguments that are no constants."""
        m, n, k = self.tile
        word, numbers = TYPES[self.dtype], {"N": "i32", "K": "i32"}
        of_sum = "*i32" if self.dtype == "s8" else "*fp32"
        match self.source:
            case "loads":
                found = {"a": f"*{word}", "b": f"*{word}", "c": of_sum, **numbers}
                return found | {"far_a": "i32", "far_b": "i32"}
            case "boxes":
                of_a, of_b = (m, k) if self.k_a else (k, m), (n, k) if self.k_b else (k, n)
                a, b = (f"tensordesc<{word}[{x},{y}]>" for x, y in (of_a, of_b))
                return {"a": a, "b": b, "c": of_sum, **numbers}
            case "attention":
                return {**dict.fromkeys(("q", "k", "v"), f"*{word}"), "out": "*fp32", "length": "i32"}
        pairs = {"a": f"*{word}", "scale_a": "*u8", "b": f"*{word}", "scale_b": "*u8"}
        return pairs | {"c": "*fp32", **numbers}


def cases() -> Iterator[Case]:
    """Yield the kernels of the record."""
    number = 0
    for dtype, tiles in TILES.items():
        for tile, k_a, k_b, capability in product(tiles, (True, False), (True, False), (90, 100)):
            number += 1
            source, warps = (
                ("loads", "boxes")[number // 2 % 2],
                8 if tile[0] == 128 and number % 3 == 0 else 4,
            )
            yield Case(source, dtype, k_a, k_b, tile, capability, warps)
    for capability, dtype in product((90, 100), ("f16", "bf16")):
        yield Case("attention", dtype, True, True, (64 if dtype == "f16" else 128, 64, 64), capability)
    yield Case("scaled", "e4m3", True, True, (128, 128, 128), 100)
    yield Case("scaled", "e2m1", True, True, (128, 64, 128), 100)
