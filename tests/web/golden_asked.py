"""Python's answers to many accesses, steps in brief: for the page's own accesses, descriptors and boxes.

A step is its title, note, cost, word, and of its elements and lanes their number, ends and a sum that
knows their order. Of what is refused as a note only the kinds of notes are kept, for the page has words of
its own.

    PYTHONPATH=src:. python -m tests.web.golden_asked     writes it anew
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import islice, product
from pathlib import Path
from random import Random
from typing import Any

from tests.web.kept import save

from tilewise.check.suggest import suggest
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.hardware.engines import engine
from tilewise.hardware.modes import BLACKWELL
from tilewise.hardware.operands.tiles import tile
from tilewise.hardware.wgmma.instructions import INPUTS
from tilewise.notation.read import parse as read_plain
from tilewise.pictures.scene.model import Step
from tilewise.pictures.scene.steps import asked_of

GOLDEN = Path(__file__).with_name("golden") / "asked.json.gz"
SEED = 11

Asked = dict[str, Any]

FIRST = 4
"""Steps of an answer that are kept, besides the last; all of them are in a sum."""

MODES = ("none", "32B", "64B", "128B")


def golden() -> dict[str, Any]:
    """Return the questions with their answers, as JSON has them."""
    return {"cases": [answered(*question) for question in all_questions()]}


Question = tuple[str, str, str, int]
"""Layout, dtype, access, base."""


def all_questions() -> list[Question]:
    """Return every question once."""
    return [*dict.fromkeys(questions())]


def questions() -> Iterator[Question]:
    """Yield every question."""
    yield from _operands()
    yield from _strides(Random(SEED))
    yield from PLAIN_DESCRIPTORS
    yield from _of_tcgen05(Random(SEED))
    yield from _boxes(Random(SEED))
    yield from _lanes(Random(SEED))
    yield from product_of(HELD_IN, FRAGMENTS)
    yield from ((tile, "f32", access, 0) for tile in CUTE_TILES for access in CUTE)
    yield from product_of(TILES, COORDINATES)
    yield from _rows_of_boxes(Random(SEED))
    yield from product_of(ELSEWHERE, ("row", "tma"))


# -- descriptors ---------------------------------------------------------------------------------------

ROWS = (8, 24, 64, 128)
BASES = (0, 0, 128, 512, 1024, 1280, 16, 8)


def _operands() -> Iterator[Question]:
    """Tiles of atoms in every mode, major, type and order, and those that are suggested."""
    rng = Random(SEED)
    for mode in MODES:
        for row in INPUTS.values():
            for major in row.majors:
                for order in ("mn", "k"):
                    for rows in ROWS:
                        k = row.k * rng.choice((1, 2, 4, 8))
                        try:
                            layout = tile(mode, major, row.dtype, rows, k, order)
                        except LayoutError:
                            continue
                        name = rng.choice("AB") if rows % 64 == 0 else "B"
                        yield str(layout), row.name, f"descriptor.{name}", rng.choice(BASES)
    for dtype, operand, rows, k, major in (
        ("bf16", "A", 128, 64, "k"),
        ("bf16", "B", 192, 64, "mn"),
        ("f16", "B", 40, 48, "k"),
        ("tf32", "A", 64, 40, "k"),
        ("e4m3", "B", 256, 128, "k"),
        ("s8", "B", 80, 64, "k"),
        ("b1", "A", 64, 512, "k"),
    ):
        found = suggest(operand=operand, rows=rows, k=k, dtype=dtype, major=major)
        yield str(found.tile), dtype, f"descriptor.{operand}", 0


def _strides(rng: Random) -> Iterator[Question]:
    """Tiles of two digits a mode whose far strides are any, with the swizzle of a mode or another."""
    for _ in range(160):
        row = rng.choice(list(INPUTS.values()))
        if row.dtype.bits < 8:
            continue
        size = row.dtype.bits // 8
        together, width = 16 // size, rng.choice((16, 32, 64, 128)) // size
        groups, chunks = rng.choice((1, 2, 3, 4, 8)), rng.choice((2, 4, 6))
        far = [rng.choice((1, 2, 3, 4, 8, 9, 16)) * rng.choice((8, 8 * width, 64, 4)) for _ in range(2)]
        strides = f"(({far[0]}, {width}), ({far[1]}, 1))"
        shape = f"(({groups}, 8), ({chunks}, {together}))"
        if "mn" in row.majors and rng.random() < 0.4:
            shape = f"(({groups}, {together}), ({chunks}, 8))"
            strides = f"(({far[0]}, 1), ({far[1]}, {width}))"
        own = (width * size // 16).bit_length() - 1
        bits = rng.choice((own, own, own, own, 0, 2))
        base = {1: 4, 2: 3, 4: 2}[size]
        swizzle = f"Swizzle<{bits},{base},3> o " if bits else ""
        offset = rng.choice(("", "", "", " + 64", " + 512"))
        text = f"S[{shape} : {strides}]{offset}"
        text = f"{swizzle}({text})" if offset and swizzle and rng.random() < 0.5 else swizzle + text
        name = "A" if groups == 8 and rng.random() < 0.5 else "B"
        yield text, row.name, f"descriptor.{name}", rng.choice(BASES)


TYPES_OF_TCGEN05 = ("bf16", "f16", "tf32", "e4m3", "e5m2", "s8", "u8", "e2m1", "e2m1", "e3m2")
MORE_WORDS = ("", "", "", "", ":cta_group2", ":sparse", ":ws", ":m64", ":n64", ":n=96", ":mxf8f6f4", ":k96")


def _of_tcgen05(rng: Random) -> Iterator[Question]:
    """Yield the same for tcgen05.mma: tiles of atoms, any strides, a K of 48 bytes, and wrong words."""
    of = engine("tcgen05")
    for mode, dtype, order in product(BLACKWELL.values(), TYPES_OF_TCGEN05, ("mn", "k")):
        stored = DType.of(dtype) if dtype != "e3m2" else DType.of("b8")
        for major, rows in product(("k", "mn"), rng.sample((8, 16, 32, 64, 96, 128, 256), 3)):
            k = 256 // stored.bits * rng.choice((1, 2, 4, 8))
            try:
                layout = of.tile(mode, major, stored, rows, k, order)
            except LayoutError:
                continue
            name = rng.choice("AB") if rows >= 32 else "B"
            access = f"descriptor.{name}:tcgen05{rng.choice(MORE_WORDS)}"
            yield str(layout), dtype, access, rng.choice(BASES)
    for layout, dtype, access, base in islice(_strides(Random(SEED + 1)), 80):
        yield layout, dtype, f"{access}:tcgen05", base
    yield from _deep(rng)
    yield from ((str(TILE_OF_128B), dtype, access, 0) for dtype, access in OF_TCGEN05)


def _deep(rng: Random) -> Iterator[Question]:
    """Tiles of which a product reads 48 bytes of K, that begin anywhere, and far atoms that lie anywhere."""
    words_of_deep = ("k96", "mxf4nvf4:k96", "k96:cta_group2")
    for rows, k, words in product((8, 64, 128, 256), (96, 384, 768), words_of_deep):
        far = 256 * rows * rng.choice((1, 1, 1, 2))
        shape, strides = f"({k // 256}, 256)", f"({far}, 1)"
        if k < 256:
            shape, strides = str(k), "1"
        layout = f"Swizzle<3,5,3> o S[({rows}, {shape}) : (256, {strides})]"
        yield layout, "e2m1", f"descriptor.{rng.choice('AB')}:tcgen05:{words}", rng.choice(BASES)
        moved = layout.replace("S[", "(S[") + f" + {rng.choice((32, 64, 160, 192))})"
        yield moved, "e2m1", f"descriptor.A:tcgen05:{words}", rng.choice(BASES)
    for mode in ("64B", "none"):
        layout = engine("tcgen05").tile(BLACKWELL[mode], "k", DType.of("e2m1"), 128, 384, "mn")
        yield str(layout), "e2m1", "descriptor.A:tcgen05:k96", 0


TILE_OF_128B = tile("128B", "k", "bf16", 128, 64)
OF_TCGEN05 = (
    ("bf16", "descriptor.A:tcgen05:m=64"),
    ("bf16", "descriptor.A:tcgen05:m128:n256"),
    ("bf16", "descriptor.B:tcgen05:n8:m64"),
    ("bf16", "descriptor.B:tcgen05:n264"),
    ("bf16", "descriptor.B:tcgen05:m96"),
    ("bf16", "descriptor.A:tcgen05:k16"),
    ("bf16", "descriptor.A:tcgen05:k32"),
    ("bf16", "descriptor.A:tcgen05:cta_group=1:ws"),
    ("bf16", "descriptor.A:tcgen05:cta_group2:ws"),
    ("bf16", "descriptor.A:tcgen05:cta_group3"),
    ("f32", "descriptor.A:tcgen05:cta_group3"),
    ("e4m3", "descriptor.A:tcgen05:f16:cta_group3"),
    ("bf16", "descriptor.A:tcgen05:f8f6f4"),
    ("bf16", "descriptor.A:tcgen05:kind=F16"),
    ("bf16", "descriptor.A:tcgen05:kind=x"),
    ("bf16", "descriptor.A:tcgen05:fp4"),
    ("bf16", "descriptor.A:tcgen05:sparse:k32"),
    ("bf16", "descriptor.A:tcgen05:"),
    ("bf16", "descriptor.A:tcgen05:lbo_mode1"),
    ("bf16", "descriptor.A:tcgen06"),
    ("bf16", "descriptor.A:"),
    ("bf16", "descriptor.C:tcgen05"),
    ("bf16", "descriptor.A(tcgen05)"),
    ("bf16", "descriptor"),
    ("bf16", " descriptor.A:tcgen05 "),
    ("bf16", "descriptor.A:tcgen05:m64:m128"),
    ("bf16", "descriptor.A:tcgen05:f16:kind=f16"),
    ("bf16", "descriptor.A:tcgen05:x:m64:m128"),
    ("bf16", "descriptor.A:tcgen05:m64:m128:x"),
    ("bf16", "descriptor.B:wgmma:n64:n=64"),
    ("bf16", "descriptor.A:wgmma"),
    ("bf16", "descriptor.B:wgmma:n32"),
    ("bf16", "descriptor.B:wgmma:n=33"),
    ("bf16", "descriptor.A:wgmma:m64"),
    ("bf16", "descriptor.A:wgmma:sparse"),
    ("f32", "descriptor.A:tcgen05"),
    ("f64", "descriptor.A:tcgen05:mxf8f6f4"),
    ("e2m1", "descriptor.A:tcgen05:f8f6f4"),
    ("e2m3", "descriptor.A:tcgen05"),
)
"""Accesses that fit a tile's type, and others that do not."""


# -- boxes ---------------------------------------------------------------------------------------------

BOX_TYPES = ("bf16", "f32", "e4m3", "f64", "e2m1", "s4", "b1", "tf32", "u8")


def _boxes(rng: Random) -> Iterator[Question]:
    """Tiles that TMA fills, and those that it does not: of wgmma, of digits in any order, plain ones."""
    for layout, dtype, access, base in [*_operands(), *_strides(Random(SEED))]:
        if rng.random() < 0.2 and access.startswith("descriptor"):
            yield layout, dtype, "boxes", base
    for _ in range(120):
        dtype = rng.choice(BOX_TYPES)
        yield _box_tile(rng, DType.of(dtype).bits), dtype, "boxes", rng.choice(BASES)
    yield from PLAIN_BOXES


def _box_tile(rng: Random, bits: int) -> str:
    """A tile whose digits lie in some order of memory, seldom with gaps, under a swizzle or none."""
    modes = [
        rng.choice(((8,), (2, 4), (16,), (3, 8), (64,), (5,), (2, 2, 8))) for _ in range(rng.randint(0, 3))
    ]
    width = rng.choice((1, 1, 2, 4, 8)) * 128 // bits
    modes.append(rng.choice(((width,), (rng.choice((2, 3, 4)), width), (width // 2, 2))))
    digits = [(dim, at) for dim, mode in enumerate(modes) for at in range(len(mode))]
    order = sorted(digits[:-1], key=lambda digit: (rng.random() < 0.3, digit), reverse=True)
    strides, reach = {digits[-1]: 1}, modes[-1][-1]
    if rng.random() < 0.4:
        reach = max(reach, 1024 // bits)
    for dim, at in order:
        strides[dim, at] = reach
        reach *= modes[dim][at] * rng.choice((1, 1, 1, 1, 1, 1, 2))
    shape = ", ".join(_one(mode) for mode in modes)
    steps = ", ".join(_one(strides[dim, at] for at in range(len(mode))) for dim, mode in enumerate(modes))
    own = rng.choice((0, 0, 1, 2, 3, 3))
    swizzle = f"Swizzle<{own},{(128 // bits).bit_length() - 1},3> o " if own else ""
    return f"{swizzle}S[({shape}) : ({steps})]" + rng.choice(("", "", "", "", f" + {1024 // bits}"))


def _one(numbers: Iterable[int]) -> str:
    words = [str(number) for number in numbers]
    return words[0] if len(words) == 1 else f"({', '.join(words)})"


PLAIN_BOXES: tuple[Question, ...] = (
    ("S[(64, 64) : (1, 64)]", "bf16", "boxes", 0),
    ("S[(64, 64) : (65, 1)]", "bf16", "boxes", 0),
    ("S[(64, 64) : (72, 1)]", "bf16", "boxes", 0),
    ("S[(8, 4)]", "bf16", "boxes", 0),
    ("S[(300, 8)]", "bf16", "boxes", 0),
    ("S[(257, 8)]", "bf16", "boxes", 0),
    ("S[(2048, 64)]", "bf16", "boxes", 0),
    ("S[(4096, 64)]", "bf16", "boxes", 0),
    ("S[4096]", "bf16", "boxes", 0),
    ("S[(1, 4096)]", "u8", "boxes", 0),
    ("S[(4096, 1)]", "u8", "boxes", 0),
    ("S[(2, 2, 2, 2, 2, 64)]", "u8", "boxes", 0),
    ("S[(2, 2, 2, 2, 64)]", "u8", "boxes", 0),
    ("S[(64, 64)]", "e3m2", "boxes", 0),
    ("S[(64, 64)]", "b128", "boxes", 0),
    ("S[(64, 63)]", "e2m1", "boxes", 0),
    ("S[(64, 64) : (1@laneid, 1@reg)]", "bf16", "boxes", 0),
    ("S[(64, 64)] + R[2 : 4096]", "bf16", "boxes", 0),
    ("S[(64, 64) : (0, 1)]", "bf16", "boxes", 0),
    ("S[(64, 64) : (-64, 1)] + 4032", "bf16", "boxes", 0),
    ("S[(64, 64)] - 64", "bf16", "boxes", 0),
    ("S[(64, 64) : (128, 2)]", "bf16", "boxes", 0),
    ("S[(200, 64)]", "bf16", "boxes", 226 * 1024),
    ("Swizzle<3,3,3> o S[(64, 128) : (128, 1)]", "bf16", "boxes", 0),
    ("Swizzle<3,3,3> o S[(64, (2, 64)) : (64, (4096, 1))]", "bf16", "boxes", 1024),
    ("Swizzle<3,3,3> o S[(8, 8) : (64, 1)]", "bf16", "boxes", 0),
    ("Swizzle<2,4,3> o S[(64, 64)]", "bf16", "boxes", 0),
    ("S[(150, 8, 64) : (512, 64, 1)]", "bf16", "boxes", 0),
)


# -- fragments -----------------------------------------------------------------------------------------

HELD_IN = (
    ("S[(64, 64) : (64, 1)]", "bf16"),
    ("Swizzle<3,3,3> o S[(64, 64) : (64, 1)]", "bf16"),
    ("S[(16, 16) : (16, 1)]", "f16"),
    ("S[(64, 64) : (72, 1)]", "f32"),
    ("S[(16, 8) : (8, 1)]", "f32"),
    ("S[(32, 32) : (1, 32)]", "f16"),
    ("S[(128, 32) : (32, 1)]", "e4m3"),
    ("S[4096]", "bf16"),
    ("S[(32, 64)]", "e2m1"),
)
FRAGMENTS = (
    "wgmma.D:f32:n64",
    "wgmma.D:f32:n64:8B",
    "wgmma.D:n64",
    "wgmma.A",
    "wgmma.A:bf16",
    "mma.A:m16n8k16",
    "mma.A(m16n8k16, dtype=f16)",
    "mma.B:m16n8k16",
    "mma.D:m16n8k16",
    "mma.D:m16n8k16:f32",
    "mma.A:m16n8k16@st",
    "ldmatrix(x4)",
    "mma.E:m16n8k16",
    "S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]",
    "S[(8, 8) : (4@laneid, 1@reg)]",
    "S[(32, 4) : (1@laneid, 1@reg)]",
    "S[(2, 32, 2) : (1@warpid, 1@laneid, 1@reg)]",
    "S[(64, 2) : (1@tx, 1@reg)]",
    "S[(128, 32) : (1@tid_in_wg, 1@reg)]",
    "S[(64, 4) : (1@tx, 1@reg)]:4B@st",
    "S[(32, 4) : (1@laneid, 1@reg)] + R[2 : 4@reg]",
    "S[(32, 2) : (1@laneid, 2@reg)]",
    "S[(32, 2) : (1@laneid, 1@reg)] + 1@laneid",
    "S[(64, 64) : (1@laneid, 1@reg)]",
    "mma.A(m16n8k16",
    "wgmma.D:f32:n63",
)


COORDINATES = (
    "S[(32, 4) : (1@e0, 1@e1)]",
    "S[(8, 4, 4) : (1@e0, 2@e1, 1@e1)] + 4@e0",
    "S[(4, 8) : (2@e1, 1@e0)] + 8@e1",
    "S[(32, 2) : (2@e1, 1@e1)]",
    "S[(32, 2) : (0@e1, 1)]",
    "S[32 : 1@e0]",
    "S[32 : 1@e7]",
    "S[(2, 32) : (-1@e0, 1@e1)] + 1@e0",
    "S[(2, 32) : (-1@e0, 1@e1)]",
    "S[(32, 2) : (1@e0, 1)]",
    "S[(32, 2) : (1@e0, 1@a)]",
    "S[(2, 2, 2, 2) : (1@e0, 1@e1, 1@e1, 1@e1)]",
    "S[(33, 2) : (1@e0, 1@e1)]",
    "S[8 : 1@e1] + R[2 : 1@e0]",
    "Swizzle<1,1,1> o S[8 : 1@e1]",
    "S[(32, 4) : (1@e0, 1@e1)]:4B@st",
    "(8,2):(E<0>,E<1>)",
    "(4,(2,4)):(1@1,(4@1,1@0))",
)
"""Accesses by coordinates of the tile, a mode of it on each axis."""


def product_of(tiles: Iterable[tuple[str, str]], accesses: Iterable[str]) -> Iterator[Question]:
    """Each access of each tile."""
    return ((layout, dtype, access, 0) for (layout, dtype), access in product(tiles, accesses))


# -- lanes ---------------------------------------------------------------------------------------------

TILES = (
    ("S[(32, 64) : (64, 1)]", "f16"),
    ("Swizzle<3,3,3> o S[(32, 64) : (64, 1)]", "bf16"),
    ("S[(64, 32) : (1, 64)]", "f16"),
    ("S[(32, 32) : (40, 1)]", "f32"),
    ("Swizzle<2,3,3> o S[(16, (2, 32)) : (32, (512, 1))]", "bf16"),
    ("S[(16, 8) : (8, 1)]", "f32"),
    ("S[(64, 40) : (40, 1)]", "f16"),
    ("S[(32, 32) : (33, 1)]", "f32"),
    ("S[(8, (4, 16)) : (16, (128, 1))]", "f16"),
    ("S[(32, 64) : (64, 1)]", "e4m3"),
    ("S[(32, 64) : (64, 1)]", "e2m1"),
    ("S[(16, 16) : (16, 1)]", "f64"),
)
MOVED = (
    "row",
    "row:4B",
    "row:8B",
    "col",
    "col:4B",
    "S[(32, 4) : (4, 1)]",
    "S[(2, 32, 2) : (0, 0, 1)]",
    "S[32 : 0]",
)
BY = ("@st", "@atom", "@cp.async", "@tma")


def _lanes(rng: Random) -> Iterator[Question]:
    """Yield the accesses of lanes, by every operation that moves them."""
    for layout, dtype in TILES:
        for access in MOVED:
            for by in BY:
                yield layout, dtype, access + by, rng.choice((0, 0, 0, 16, 4))


CUTE_TILES = (
    "S[(64, 64) : (64, 1)]",
    "S[(16, 128) : (1, 16)]",
    "Swizzle<3,2,3> o S[(4, 16, 32) : (512, 32, 1)]",
)
CUTE = (
    "32:64",
    "32:1",
    "(32,8):(64,1)",
    "((8,4),(2,2)):((1,32),(8,16))",
    "(32,2):(2,1)",
    "(2,32,2):(64,2,1)",
)
"""Accesses in CuTe's words, which count the tile's first mode fastest."""

# -- what a box writes ------------------------------------------------------------------------------------

ROW_TYPES = ("u8", "bf16", "f32", "f64", "b128", "e2m1", "b1", "e3m2")
ROW_TILES = (
    ("S[(8, 64) : (64, 1)]", "bf16"),
    ("S[(64, 8) : (1, 64)]", "bf16"),
    ("Swizzle<3,3,3> o S[(64, 64) : (64, 1)]", "bf16"),
    ("Swizzle<3,3,3> o S[(64, 64) : (1, 64)]", "bf16"),
    ("Swizzle<3,3,3> o S[(16, (2, 64)) : (64, (2048, 1))]", "bf16"),
    ("S[(8, (4, 16)) : (16, (128, 1))]", "f16"),
    ("S[(24, 40) : (40, 1)]", "bf16"),
    ("S[(24, 40) : (1, 24)]", "bf16"),
    ("S[(2, 12, 8) : (1, 2, 24)]", "bf16"),
    ("S[(4, 2) : (1, 4)]", "bf16"),
    ("S[(8, 9) : (1, 8)]", "bf16"),
    ("S[(128, 3) : (1, 128)]", "u8"),
    ("S[4]", "bf16"),
    ("S[1]", "u8"),
    ("S[(8, 64) : (0, 1)]", "bf16"),
    ("S[(8, 64) : (-64, 1)]", "bf16"),
    ("S[(8, 64) : (1, -8)] + 504", "bf16"),
    ("S[(8, 64) : (1@TCol, 8@TCol)]", "bf16"),
    ("S[(64, 64)] + R[2 : 4096]", "bf16"),
)


def _rows_of_boxes(rng: Random) -> Iterator[Question]:
    """Tiles in any order of memory as `tma` writes them, and its words."""
    yield from product_of(ROW_TILES, ("tma", "tma:16B", "tma@tma", "tma:8B", "tma@st", "row@tma"))
    for base in BASES:
        yield "Swizzle<3,3,3> o S[(64, 8) : (1, 64)]", "bf16", "tma", base
    for _ in range(160):
        dtype = rng.choice(ROW_TYPES)
        yield _row_tile(rng), dtype, "tma", rng.choice(BASES)
    for _ in range(60):
        dtype = rng.choice(BOX_TYPES)
        yield _box_tile(rng, DType.of(dtype).bits), dtype, "tma", 0


def _row_tile(rng: Random) -> str:
    """A tile whose digits lie in any order of memory, seldom with gaps."""
    extents = [rng.choice((2, 3, 4, 8, 8, 16, 24)) for _ in range(rng.randint(1, 3))]
    strides, reach = {}, 1
    for at in rng.sample(range(len(extents)), len(extents)):
        strides[at] = reach
        reach *= extents[at] * rng.choice((1, 1, 1, 1, 2))
    return f"S[({_all(extents)}) : ({_all(strides[at] for at in range(len(extents)))})]"


def _all(numbers: Iterable[int]) -> str:
    """Numbers as a tuple has them, one with its comma."""
    words = [str(number) for number in numbers]
    return ", ".join(words) + "," * (len(words) == 1)


ELSEWHERE = (
    ("S[(8, 8) : (1@b, 1@a)]", "f32"),
    ("S[(8, 8) : (1@b, 1@a)] + 1@c", "f32"),
    ("S[(8, 1, 8) : (1@m, 1@laneid, 1@reg)]", "f32"),
    ("S[(8, 8) : (1@m, 1@reg)] + 3@laneid", "f32"),
    ("S[(1, 8) : (1@a, 1@b)] + 2@a", "f32"),
    ("S[(8, 8) : (8 + 1@TLane, 1)] + 1@x", "f32"),
    ("S[(8, 8) : (1@m, 1@TLane)]", "f32"),
    ("S[8 : 1@b] + R[2 : 1@a]", "f32"),
    ("S[(1, 1) : (1@a, 1@b)]", "f32"),
    ("S[(1, 4) : (1@laneid, 1@m)]", "f32"),
)
"""Tiles on other axes than memory's: the refusal names the first axis that moves."""

PLAIN_DESCRIPTORS: tuple[Question, ...] = (
    ("S[(128, 64) : (64, 1)]", "bf16", "descriptor.A", 0),
    ("S[(128, 64) : (65, 1)]", "bf16", "descriptor.A", 0),
    ("S[(64, 64) : (64, 1)]", "f32", "descriptor.A", 0),
    ("S[(64, 60) : (64, 1)]", "bf16", "descriptor.B", 0),
    ("S[(60, 64) : (64, 1)]", "bf16", "descriptor.B", 0),
    ("S[(8, 64)]", "bf16", "descriptor.A", 0),
    ("S[(64, 64) : (0, 1)]", "bf16", "descriptor.A", 0),
    ("S[(64, 16) : (-8, 1)]", "bf16", "descriptor.A", 0),
    ("S[(64, 16) : (8192, 1)]", "bf16", "descriptor.A", 0),
    ("S[64]", "bf16", "descriptor.A", 0),
    ("S[(2, 64, 64)]", "bf16", "descriptor.A", 0),
    ("S[(64, 64) : (1@laneid, 1@reg)]", "bf16", "descriptor.A", 0),
    ("S[(64, 64)] + R[2 : 4096]", "bf16", "descriptor.A", 0),
    ("S[(64, 256) : (1, 64)]", "b1", "descriptor.A", 0),
    ("S[(64, 32) : (1, 64)]", "e4m3", "descriptor.A", 0),
    ("Swizzle<3,3,3> o S[(128, 64) : (64, 1)]", "bf16", "descriptor.A", 1 << 20),
    ("Swizzle<3,3,3> o S[(128, 64) : (64, 1)]", "bf16", "descriptor.A", 224 * 1024),
    ("Swizzle<3,3,3> o S[(8, 64) : (64, 1)]", "bf16", "descriptor.C", 0),
    ("S[((512, 8), (2, 16)) : ((256, 16), (128, 1))]", "s8", "descriptor.B", 0),
    ("Swizzle<3,3,3> o S[(8, 64) : (64, 1)]", "bf16", "descriptor.B", 227 * 1024),
    ("Swizzle<3,3,3> o S[(8, 64) : (64, 1)]", "bf16", "descriptor.B", 228 * 1024),
    ("S[((5, 8), (2, 16)) : ((256, 16), (128, 1))]", "s8", "descriptor.B", 0),
    ("S[((5, 8), (2, 16)) : ((256, 16), (128, 1))]", "e4m3", "descriptor.B", 0),
    ("S[((9, 8), (2, 16)) : ((256, 16), (128, 1))]", "u8", "descriptor.B", 0),
    ("S[((7, 8), (2, 128)) : ((2048, 128), (1024, 1))]", "b1", "descriptor.B", 0),
)


def answered(e: str, dtype: str, access: str, base: int) -> Asked:
    """Return a question with its notes and steps, or with its refusal."""
    question: Asked = {"e": e, "dtype": dtype, "access": access} | ({"base": base} if base else {})
    try:
        found = asked_of(read_plain(e), access, DType.of(dtype), base)
    except LayoutError as error:
        return question | {"refused": [] if access in FRAGMENTS else [error.code, error.message]}
    own = not found.steps  # words of Python's own
    name, called = found.name, found.name
    if access in CUTE:  # Python says the layout that it has made of it, the page what was typed
        called = access + name[name.rindex(":") :]
    return question | {
        "name": called,
        "notes": [
            note.kind if own else f"{note.kind}: {note.text}".replace(name, called) for note in found.notes
        ],
        "steps": [_brief(step) for step in (*found.steps[:FIRST], *found.steps[FIRST:][-1:])],
        "all": [len(found.steps), sum(_weight(step) for step in found.steps)],
        "encoded": [_plain(step.encoded) for step in (*found.steps[:1], *found.steps[-1:])],
    }


def _plain(encoded: Any) -> Any:
    return None if encoded is None else asdict(encoded) | {"fields": [asdict(own) for own in encoded.fields]}


def _brief(step: Step) -> list[Any]:
    word = None if step.encoded is None else step.encoded.value
    lists = (number for numbers in (step.elements, step.lanes) for number in _summed(numbers))
    return [step.title, step.note, step.cost, word, *lists]


def _weight(step: Step) -> int:
    """A number that knows of every element and lane."""
    return sum(_summed(step.elements)) + sum(_summed(step.lanes)) + (step.cost or 0)


def _summed(numbers: tuple[int, ...]) -> tuple[int, ...]:
    if not numbers:
        return (0,)
    return len(numbers), numbers[0], numbers[-1], sum(at % 97 * number for at, number in enumerate(numbers))


if __name__ == "__main__":
    save(GOLDEN, golden())
