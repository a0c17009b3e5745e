"""The mma kernels that the tests compile and that a GPU runs: shapes x types x pairs of layouts x loads."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from tilewise import Layout, Refused, parse
from tilewise.codegen.mma import Plan, planned
from tilewise.codegen.mma.operands import of_a_warp
from tilewise.core.dtypes import DType
from tilewise.hardware.mma.instructions import FAMILIES


@dataclass(frozen=True)
class Case:
    """A kernel: the arguments of `planned`, and how many tiles of it a problem has along M, N and K."""

    tile: tuple[int, int, int]
    dtypes: tuple[str, ...]
    asked: dict[str, Any] = field(default_factory=dict)
    tiles: tuple[int, int, int] = (2, 3, 3)
    layouts: tuple[str | None, str | None, str | None] = (None, None, None)

    @cached_property
    def plan(self) -> Plan:
        """The plan, made when it is first asked for: tests are collected without."""
        a, b, d = (None if text is None else layout_of(text) for text in self.layouts)
        return planned(self.tile, *self.dtypes, layouts=(a, b), layout_d=d, **{"stages": 1} | self.asked)

    @property
    def stores(self) -> bool:
        """Return whether D goes through shared memory, as a tile of its own."""
        return self.asked.get("store", "direct") != "direct"

    def __str__(self) -> str:
        words = ["x".join(map(str, self.tile)), "*".join(self.dtypes)]
        for name, value in self.asked.items():
            spelled = "/".join(map(str, value)) if isinstance(value, tuple) else str(value)
            words.append(f"{name}={spelled}")
        words += [f"{side}={text}" for side, text in zip("ABD", self.layouts, strict=True) if text]
        return " ".join(words)


def layout_of(text: str) -> Layout:
    """A layout in either dialect; one that ends in `bytes` counts them."""
    spelled = text.removesuffix(" bytes")
    dialect = "cute" if "):(" in spelled else None
    return parse(spelled, dialect=dialect, unit="byte" if spelled != text else "element")


def _instructions() -> Iterator[Case]:
    """Every family once, on small tiles; types, accumulators and loads take turns."""
    for number, family in enumerate(FAMILIES):
        shape = family.shape
        if family.products > 1:
            continue
        for turn, (a, b) in enumerate(family.inputs):
            asked: dict[str, Any] = {"shape": str(shape)}
            if family.ops[0]:
                asked["op"] = family.ops[(number + turn) % len(family.ops)]
            if len(family.results) > 1:
                asked["accumulator"] = family.results[(number + turn) % 2]
            if (number + turn) % 3 == 0:
                asked["load"] = "copy"
            elif family.since >= 80 and (number + turn) % 3 == 1:
                asked["stages"] = 2 + turn % 2
            asked["warps"] = (1 + turn % 2, 1 + number % 2)
            tile = 2 * shape.m, 4 * shape.n, 2 * shape.k
            yield Case(tile, (a, b) if a != b else (a,), asked)


PAIRS = """
# f16 and bf16, K-major: as it lies, padded, swizzled in every mode, by TMA's boxes, in CuTe's words
64x64x32 f16 warps=2x2 | S[(64, 32) : (32, 1)] | S[(64, 32) : (32, 1)]
64x64x32 bf16 warps=2x2 | S[(64, 32) : (40, 1)] | S[(64, 32) : (40, 1)]
64x64x64 f16 stages=2 warps=2x2 | Swizzle<3,3,3> o S[(64, 64) : (64, 1)] | S[(64, 64) : (72, 1)]
64x32x32 bf16 warps=4x1 | Swizzle<2,3,3> o S[(64, 32) : (32, 1)] | Swizzle<2,3,3> o S[(32, 32) : (32, 1)]
32x64x16 f16 warps=1x4 | Swizzle<1,3,3> o S[(32, 16) : (16, 1)] | S[(64, 16) : (24, 1)]
64x64x32 f16 warps=2x2 | S[((8, 8), (4, 8)) : ((64, 8), (512, 1))] | S[(64, (4, 8)) : (8, (512, 1))]
64x64x64 bf16 warps=2x2 stages=3 | Sw<3,4,3> o smem_ptr[16b](unset) o ((8,8),(64,1)):((64,512),(1,0)) | -
64x64x64 f16 warps=2x2 | Swizzle<3,4,3> o S[(64, 64) : (128, 2)] bytes | S[(64, 64) : (144, 2)] bytes
# MN-major: transposed, padded, swizzled; one each way
64x64x32 f16 warps=2x1 | S[(64, 32) : (1, 64)] | S[(64, 32) : (1, 64)]
64x64x32 bf16 stages=2 warps=2x2 | S[(64, 32) : (1, 72)] | S[(64, 32) : (32, 1)]
64x128x32 f16 warps=1x2 | Swizzle<3,3,3> o S[(64, 32) : (1, 64)] | S[((2, 64), 32) : ((2056, 1), 64)]
32x64x64 bf16 | Swizzle<2,3,3> o S[(32, 64) : (1, 32)] | S[(64, 64) : (72, 1)]
64x32x32 f16 warps=2x2 | S[(64, 32) : (1, 80)] | Swizzle<2,3,3> o S[(32, 32) : (1, 32)]
32x32x16 f16 | S[((4, 8), (2, 8)) : ((128, 1), (64, 8))] | S[(32, 16) : (1, 40)]
# in global memory the other way than in shared memory: element by element
64x64x32 f16 majors=mn/mn | S[(64, 32) : (40, 1)] | S[(64, 32) : (40, 1)]
64x64x32 bf16 majors=k/k warps=2x2 | S[(64, 32) : (1, 72)] | S[(64, 32) : (1, 72)]
# tiled: blocks of every kind, rows of a warp apart, K in pieces, holes, an order of its own
64x64x32 f16 warps=2x2 | S[((4, 16), 32) : ((1024, 32), 1)] | S[((2, 32), (2, 16)) : ((1536, 16), (512, 1))]
96x48x32 bf16 warps=3x3 | S[((3, 32), 32) : ((2048, 40), 1)] | S[((3, 16), 32) : ((640, 40), 1)]
64x64x64 f16 stages=2 warps=2x2 | S[(64, (4, 16)) : (16, (1024, 1))] | S[(64, (2, 32)) : (40, (2560, 1))]
64x64x32 bf16 warps=2x2 | S[((2, 2, 16), 32) : ((640, 1280, 40), 1)] | S[((8, 8), 32) : ((40, 320), 1)]
64x32x32 f16 warps=2x1 | S[((8, 8), (4, 8)) : ((8, 64), (512, 1))] | S[((4, 8), (4, 8)) : ((256, 8), (64, 1))]
32x64x32 f16 | S[((2, 16), (2, 16)) : ((512, 16), (256, 1))] | S[(64, 32) : (-40, 1)] + 2520
32x64x64 bf16 | S[(32, (4, 16)) : (34, (-1088, 1))] + 3264 | S[(64, (4, 16)) : (-34, (2176, 1))] + 2142
# offset: a tile that does not begin where the buffer does, also under a swizzle that sees it
64x64x32 f16 | S[(64, 32) : (32, 1)] + 64 | S[(64, 32) : (40, 1)] + 8
64x64x64 bf16 warps=2x2 | Swizzle<3,3,3> o (S[(64, 64) : (64, 1)] + 512) | S[(64, 64) : (64, 1)] + 512
64x64x32 f16 stages=2 warps=2x2 | Swizzle<3,3,3> o (S[(64, 32) : (64, 1)] + 32) | S[(64, 32) : (64, 1)] + 32
64x64x64 bf16 warps=2x2 | O[192@m] o Swizzle<3,3,3> o S[(64, 64) : (64, 1)] | S[(64, 64) : (72, 1)]
# what no matrix reads: rows that are not 16 bytes apart, elements that are spread
64x64x32 f16 load=copy warps=2x2 | S[(64, 32) : (34, 1)] | S[(64, 32) : (34, 1)]
64x64x32 bf16 warps=2x2 | S[(64, 32) : (36, 1)] | S[(64, 32) : (33, 1)]
32x32x16 f16 | S[(32, 16) : (32, 2)] | S[(32, 16) : (1, 33)]
64x64x32 f16 | S[(64, (16, 2)) : (34, (1, 16))] | S[(64, (2, 2, 8)) : (32, (8, 16, 1))]
64x64x32 bf16 warps=2x2 | Swizzle<2,1,3> o S[(64, 32) : (32, 1)] | Swizzle<1,2,3> o S[(64, 32) : (32, 1)]
64x64x32 f16 warps=2x2 | Swizzle<2,0,4> o S[(64, 32) : (32, 1)] | S[(64, 32) : (32, 1)] + 3
# the small instruction, and the narrow accumulator
64x64x16 f16 shape=m16n8k8 accumulator=f16 warps=2x2 | S[(64, 16) : (24, 1)] | S[(64, 16) : (1, 72)]
64x64x16 bf16 shape=m16n8k8 warps=2x2 | S[(64, 16) : (1, 72)] | S[(64, 16) : (16, 1)]
64x64x32 f16 accumulator=f16 majors=-/mn warps=2x2 | S[(64, 32) : (40, 1)] | -
# tf32: matrices K-major, single registers MN-major
64x64x16 tf32 stages=2 warps=2x2 | S[(64, 16) : (20, 1)] | Swizzle<2,2,3> o S[(64, 16) : (16, 1)]
64x64x32 tf32 warps=2x2 | Swizzle<3,2,3> o S[(64, 32) : (32, 1)] | S[(64, 32) : (36, 1)]
64x64x16 tf32 warps=2x2 | S[(64, 16) : (1, 72)] | S[(64, 16) : (1, 72)]
32x64x16 tf32 majors=mn/- shape=m16n8k4 | - | S[(64, 16) : (20, 1)]
64x32x16 tf32 | S[((8, 8), (4, 4)) : ((32, 4), (256, 1))] | S[(32, 16) : (17, 1)]
# f64: a register is 64 bits
32x32x16 f64 shape=m8n8k4 warps=2x2 | S[(32, 16) : (18, 1)] | S[(32, 16) : (16, 1)]
32x32x16 f64 shape=m16n8k8 | S[(32, 16) : (1, 34)] | -
32x32x16 f64 majors=mn/- | - | S[(32, 16) : (1, 36)]
16x32x16 f64 | S[(16, (4, 2, 2)) : (16, (1, 8, 4))] | Swizzle<2,1,3> o S[(32, 16) : (16, 1)]
# 8 bits: matrices K-major, single bytes MN-major
64x64x64 s8 warps=2x2 | S[(64, 64) : (80, 1)] | Swizzle<2,4,3> o S[(64, 64) : (64, 1)]
64x64x128 u8 stages=2 warps=2x2 | Swizzle<3,4,3> o S[(64, 128) : (128, 1)] | S[(64, 128) : (144, 1)]
32x32x32 s8 | S[(32, 32) : (1, 48)] | S[(32, 32) : (1, 48)]
32x32x64 u8 majors=mn/mn | - | -
32x32x32 s8 shape=m16n8k16 | S[(32, 32) : (36, 1)] | S[(32, 32) : (34, 1)]
32x32x32 s8 shape=m8n8k16 | S[(32, (4, 8)) : (8, (256, 1))] | S[(32, 32) : (48, 1)]
64x64x64 e4m3 warps=2x2 | S[(64, 64) : (80, 1)] | Swizzle<2,4,3> o S[(64, 64) : (64, 1)]
64x32x64 e5m2 accumulator=f16 warps=2x1 | Swizzle<2,4,3> o S[(64, 64) : (64, 1)] | S[(32, 64) : (1, 48)]
32x32x64 e4m3 | S[((4, 8), (4, 16)) : ((512, 16), (128, 1))] | S[(32, 64) : (68, 1)]
# parts of a byte
64x64x128 s4 stages=2 warps=2x2 | S[(64, 128) : (160, 1)] | Swizzle<2,5,3> o S[(64, 128) : (128, 1)]
32x32x64 u4 shape=m16n8k32 | S[(32, 64) : (72, 1)] | S[(32, (2, 32)) : (32, (1024, 1))]
32x32x64 s4 shape=m8n8k32 | S[((4, 8), 64) : ((512, 64), 1)] | S[(32, 64) : (66, 1)]
32x64x512 b1 stages=2 | S[(32, 512) : (640, 1)] | Swizzle<2,7,3> o S[(64, 512) : (512, 1)]
32x32x256 b1 shape=m16n8k128 | S[(32, 256) : (264, 1)] | S[(32, (2, 128)) : (128, (4096, 1))]
# large tiles, as they are used, and D that is rounded
128x128x32 bf16 stages=3 out=bf16 | - | -
128x64x64 f16 stages=2 majors=mn/mn out=f16 warps=2x2 | - | -
128x256x32 bf16 stages=3 warps=2x4 | - | -
256x64x32 f16 warps=4x2 stages=2 | S[(256, 32) : (40, 1)] | S[(64, 32) : (1, 72)]
# as many warps as tiles of all sizes have: rows of a warp that are no power of two
128x96x64 f16 stages=2 | - | -
96x80x32 bf16 warps=2x2 stages=3 | - | -
192x160x32 f16 | - | -
80x192x32 bf16 majors=mn/mn | - | -
64x96x32 f16 warps=1x2 | - | S[(96, 32) : (36, 1)]
"""
"""Tile, type and other options, the layout of A, the layout of B; `-` for the usual one."""


STORES = """
# D through shared memory: by stmatrix, as it lies and transposed, and by vectors of every width
128x128x32 bf16 stages=3 out=bf16 store=stmatrix
64x64x32 f16 accumulator=f16 store=stmatrix warps=2x2 | S[(64, 64) : (72, 1)]
64x64x32 f16 accumulator=f16 store=stmatrix warps=2x2 | S[(64, 64) : (1, 72)]
64x128x32 f16 out=f16 store=stmatrix warps=1x4 stages=2 | Swizzle<3,3,3> o S[(64, (2, 64)) : (64, (4096, 1))]
32x64x32 bf16 out=bf16 store=stmatrix warps=2x4 shape=m16n8k8 | S[((2, 16), 64) : ((2048, 64), 1)]
64x32x64 e4m3 accumulator=f16 store=stmatrix warps=2x1 | S[(64, 32) : (40, 1)] + 8
48x48x32 f16 accumulator=f16 store=stmatrix warps=3x3 | S[((3, 16), 48) : ((1024, 56), 1)]
64x64x32 bf16 store=shared warps=2x2
64x64x32 f16 accumulator=f16 store=shared warps=2x2 | S[(64, 64) : (66, 1)]
32x32x32 f16 accumulator=f16 store=shared | S[(32, 32) : (1, 33)]
64x64x32 f16 out=f16 store=shared warps=2x2 stages=2
32x32x32 f16 out=f16 store=shared | S[(32, 32) : (35, 1)]
32x64x32 s8 store=shared shape=m8n8k16 warps=1x2
64x64x64 s8 store=shared warps=2x2 | S[(64, 64) : (68, 1)]
32x32x32 u8 store=shared | S[(32, 32) : (1, 33)]
32x32x16 f64 store=shared warps=2x2
32x32x16 f64 store=shared | S[(32, 32) : (1, 33)]
64x64x16 tf32 store=shared warps=2x2 | S[(64, (2, 4, 8)) : (72, (8, 16, 1))]
"""
"""Tile, type and other options, the layout of D."""


VOLTA = """
# four products of 8 x 8 x 4 at once: the lanes hold rows or columns, as the tiles lie
64x64x32 f16 arch=sm_70 warps=2x2
32x32x16 f16 arch=sm_70 accumulator=f16 | S[(32, 16) : (24, 1)] | S[(32, 16) : (16, 1)]
32x64x16 f16 shape=m8n8k4 majors=mn/mn warps=1x2
32x32x16 f16 arch=sm_70 accumulator=f16 | S[(32, 16) : (1, 40)] | S[(32, 16) : (18, 1)]
48x32x8 f16 arch=sm_72 | S[(48, 8) : (8, 1)] | Swizzle<2,3,3> o S[(32, 8) : (1, 32)]
32x32x4 f16 arch=sm_70 accumulator=f16 store=shared warps=2x2
64x32x8 f16 shape=m8n8k4 store=shared stages=2 | S[(64, 32) : (36, 1)]
"""
"""The same of m8n8k4 of f16, which is Volta's, and later ones have as well."""


BLACKWELL = """
# single bytes are turned by ldmatrix: MN-major tiles of 8 bits
64x64x64 s8 arch=sm_100a majors=mn/mn warps=2x2
32x64x64 e4m3 arch=sm_120a majors=mn/mn stages=2
64x64x64 e5m2 arch=sm_103f warps=2x2 | S[(64, 64) : (1, 80)] | S[(64, 64) : (80, 1)]
"""
"""Kernels that later architectures alone have."""


def _lines(table: str) -> Iterator[Case]:
    for line in table.splitlines():
        if line and not line.startswith("#"):
            yield _case(line)


def _case(line: str) -> Case:
    """The case that a line of a table says."""
    asked: dict[str, Any] = {}
    words, *layouts = (part.strip() for part in line.split("|"))
    tile, dtype, *more = words.split()
    for name, _, said in (word.partition("=") for word in more):
        parts = said.split("x" if name == "warps" else "/")
        if name in ("warps", "stages"):
            numbers = tuple(map(int, parts))
            asked[name] = numbers if name == "warps" else numbers[0]
        else:
            texts = tuple(None if part == "-" else part for part in parts)
            asked[name] = texts if name == "majors" else said
    a, b, d = (*(None if text == "-" else text for text in layouts), None, None, None)[:3]
    m, n, k = map(int, tile.split("x"))
    if "store" in asked:
        a, b, d = None, None, a
    return Case((m, n, k), (dtype,), asked, layouts=(a, b, d))


INSTRUCTIONS = tuple(_instructions())
CASES = (*INSTRUCTIONS, *_lines(PAIRS), *_lines(STORES), *_lines(VOLTA))
LATER = tuple(_lines(BLACKWELL))


def random_layout(draw: random.Random, rows: int, k: int, bits: int) -> str:
    """A tile [rows, K]: rows or columns of it padded or not, in two halves or not, swizzled or not."""
    least = max(1, 8 // bits)
    pad = least * draw.choice((0, 0, 1, 2, 3, 8, 16))
    if bits >= 8 and draw.random() < 0.4:
        line, shape, strides = rows + pad, f"({rows}, {k})", f"(1, {rows + pad})"
        whole = line * k
    else:
        line = k + pad
        halved = rows % 2 == 0 and draw.random() < 0.4
        far = rows // 2 * line + least * draw.choice((0, 8, 32))
        shape = f"((2, {rows // 2}), {k})" if halved else f"({rows}, {k})"
        strides = f"(({far}, {line}), 1)" if halved else f"({line}, 1)"
        whole = 2 * far if halved else rows * line
    text = f"S[{shape} : {strides}]"
    if draw.random() < 0.4:
        reach = draw.randint(1, 3)
        keeps = least.bit_length() - 1 + draw.choice((0, 1, 2, 3, 4))
        if whole >> keeps + 2 * reach:
            text = f"Swizzle<{reach},{keeps},{draw.randint(reach, 4)}> o {text}"
    return text


def random_cases(count: int, seed: int) -> Iterator[Case]:
    """Kernels of all kinds; what does not exist or does not fit is drawn again."""
    draw = random.Random(seed)
    while count:
        family = draw.choice(FAMILIES)
        a, b = draw.choice(family.inputs)
        shape = of_a_warp(family.shape, DType.of(a))
        grid = draw.choice(((1, 1), (1, 2), (2, 1), (2, 2), (4, 1), (1, 3)))
        tile = (
            shape.m * grid[0] * draw.choice((1, 2, 3, 4)),
            shape.n * grid[1] * draw.choice((1, 2, 4, 5)),
            shape.k * draw.choice((1, 2, 3, 4)),
        )
        asked = {
            "shape": str(family.shape),
            "op": draw.choice(family.ops),
            "accumulator": draw.choice(family.results),
            "warps": grid,
            "majors": tuple(draw.choice((None, "k", "mn")) for _ in "AB"),
            "load": draw.choice((None, "copy", "cp.async")),
            "stages": draw.choice((1, 1, 2, 3, 4)),
        }
        tiles = draw.randint(1, 3), draw.randint(1, 3), draw.randint(1, 6)
        bits = DType.of(a).bits
        layouts = [
            random_layout(draw, rows, tile[2], bits) if draw.random() < 0.6 else None for rows in tile[:2]
        ]
        if any(layouts):
            asked |= {"majors": (None, None)}
        case = Case(tile, (a, b), asked, tiles, (layouts[0], layouts[1], None))
        try:
            case.plan  # noqa: B018 - asked for its refusals
        except Refused:
            continue
        count -= 1
        yield case


@dataclass(frozen=True)
class Drawn:
    """One of so many kernels that are drawn at random; `plan` draws them."""

    count: int
    seed: int
    number: int
    stores = False

    @property
    def plan(self) -> Plan:
        return drawn(self.count, self.seed)[self.number].plan

    def __str__(self) -> str:
        return f"drawn {self.number}"


@cache
def drawn(count: int, seed: int) -> tuple[Case, ...]:
    """Random cases, once."""
    return tuple(random_cases(count, seed))
