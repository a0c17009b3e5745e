"""Python's documents of many layouts, for the page's own builder of scenes.

The file has questions, and their documents or refusals. A test asks Python again, and a page
asks its builder.

    PYTHONPATH=src:. python -m tests.web.golden_scenes     writes it anew
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from tests.web.kept import save

from tilewise.core.errors import LayoutError
from tilewise.hardware.calls import parse
from tilewise.notation.read import parse as read_plain
from tilewise.pictures.scene.build import scene_of
from tilewise.pictures.scene.compare import compared
from tilewise.pictures.scene.model import Document
from tilewise.pictures.steps import steps_of
from tilewise.testing.generate import random_layout

GOLDEN = Path(__file__).with_name("golden") / "scenes.json.gz"
SEED = 7
RANDOM = 70
MOST = 256
"""Places of a random layout at most."""
STORAGE = ("buf",)
EXPLAINED = 3
"""Elements of a document whose arithmetic is written out."""

Asked = dict[str, Any]

DTYPES = (None, "bf16", "e4m3", "f32", "f64", "b128", "e2m1", "b1", "e3m2")

DRAWN: tuple[Asked, ...] = (
    {"e": "S[(4, 2, 2, 4) : (16, 4, 8, 1)]", "shape": [8, 8]},
    {"e": "S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]", "shape": [8, 8]},
    {"e": "S[(2, 4, 2, 4) : (1@gpuid_y, 4@m, 1@gpuid_x, 1@m)]", "shape": [8, 8]},
    {"e": "S[(2, 4, 8) : (1@gpuid_y, 8@m, 1@m)] + R[2 : 1@gpuid_x]", "shape": [8, 8]},
    {"e": "S[(2, 4, 8) : (1@gpuid_y, 8@m, 1@m)] + 1@gpuid_x", "shape": [8, 8]},
    {"e": "S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)]", "dtype": "e4m3", "shape": [128, 4]},
    {"e": "S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane]", "shape": [128, 4]},
    {"e": "S[(8, 4) : (1@gpuid_x, 1@TLane)] + 3@TCol", "dtype": "f32"},
    {"e": "S[(2, 32, 4) : (1@cbx, 1@TLane, 1@TCol)]", "dtype": "bf16"},
    {"e": "S[(2, 32, 2, 2) : (1@gpuid_x, 1@laneid, 1@reg, 1@warpid)]"},
    {"e": "S[(2, 2, 32, 3) : (1@wgid, 1@wid_in_wg, 1@laneid, 1@reg)]"},
    {"e": "S[(2, 40, 3) : (1@warpid, 1@laneid, 1@reg)]"},
    {"e": "S[(4, 2, 16) : (1@wid_in_wg, 1@laneid, 1@reg)]"},
    {"e": "S[(4, 2, 17) : (1@wid_in_wg, 1@laneid, 1@reg)]"},
    {"e": "S[(2, 2, 4, 5) : (1@gpuid_y, 1@gpuid_z, 1@laneid, 1@m)]"},
    {"e": "S[(2, 2, 65) : (1@gpuid_y, 70, 1)]"},
    {"e": "S[(2, 2, 64) : (1@gpuid_y, 64, 1)]"},
    {"e": "S[(2, 3) : (1@gpuid_x, 1@gpuid_y)]"},
    {"e": "S[65 : 1]"},
    {"e": "S[(2, 65) : (65, 1)]"},
    {"e": "S[(2, 3) : (3, 1)]"},
    {"e": "S[(4, 5) : (1@x, 1@y)]"},
    {"e": "S[(3, 4, 5) : (1@x, 1@y, 1@z)]"},
    {"e": "S[8 : 1@x + 1@y]"},
    {"e": "S[16 : 1@reg]", "dtype": "bf16"},
    {"e": "S[(8, 4) : (4@buf, 1@buf)]", "dtype": "f16"},
    {"e": "S[(4, 4, 2) : (1@laneid, 1@m, 1@buf)]", "dtype": "f16"},
    {"e": "S[20 : 3]"},
    {"e": "S[20 : 3]", "window": [[1, 2], [2, 9]]},
    {"e": "S[()]"},
    {"e": "S[(1, 1) : (5, 7)] + 3"},
    {"e": "S[(64, 64) : (64, 1)]", "dtype": "bf16", "window": [[8, 16], [0, 12]]},
    {"e": "S[(1048576, 1048576) : (1048576, 1)]", "window": [[1048570, 1048576], [1048570, 1048576]]},
    {"e": "S[(8, 8) : (8, 1)]", "dtype": "f16", "base": 1028},
    {"e": "S[(8, 8) : (-8, 1)]", "dtype": "f16"},
    {"e": "S[(4, 4) : (0, 1)]", "dtype": "f64"},
    {"e": "S[(4, 4) : (1048576, 1)]"},
    {"e": "S[4 : 1000003] + R[3 : 7]"},
    {"e": "S[4 : 4000000000@laneid + 5000000001@m]"},
    {"e": "Swizzle<5,0,5> o S[(32, 8) : (32, 1)]"},
    {"e": "((8,2),(4,4)):((8,64),(1,4))"},
    {"e": "(4,(2,3),5):(1,(40,4),8)"},
    {"e": "(4,6):(1,4)", "shape": [6, 4]},
    {"e": "((2,3),4):((1,2),6)", "shape": [3, 8], "window": [[1, 3], [2, 7]]},
    {"e": "(64,64):(64,1)", "dtype": "f32", "access": "col:4B", "window": [[0, 8], [0, 8]]},
    {"e": "Sw<3,4,3> o _0 o (8,8):(8,1)"},
)

CALLS = (
    "wgmma.D(f32, n=8)",
    "wgmma.A(bf16)",
    "mma.A(m16n8k16, dtype=bf16)",
    "mma.B(m16n8k16, dtype=bf16)",
    "mma.D(m16n8k16, dtype=f32)",
)

TYPED_CALLS = (
    ("tcgen05.D(f32, m=64, n=64)", "f32"),
    ("tcgen05.D(f32, m=64, n=16, slab=1)", "f32"),
    ("tcgen05.D(f16, m=128, n=8)", "f16"),
    ("tcgen05.D(f32, m=128, n=16, cta_group=2)", "f32"),
    ("tcgen05.D(f32, m=32, n=64, ws)", "f32"),
    ("tcgen05.A(bf16, m=64, ws)", "bf16"),
    ("tcgen05.A(e2m1, m=64)", "e2m1"),
    ("tcgen05.sfa(mxf8f6f4, rows=128)", "ue8m0"),
    ("tcgen05.sfa(mxf4, rows=128, cta_group=2)", "ue8m0"),
    ("tcgen05.sfb(mxf8f6f4, rows=32)", "ue8m0"),
    ("tcgen05.sfb(mxf8f6f4, rows=128, cta_group=2)", "ue8m0"),
    ("tcgen05.cp(64x128b, multicast=warpx2::02_13)", "u8"),
    ("tcgen05.ld(16x256b, repeat=x2)", "b32"),
    ("tcgen05.ld(16x32bx2, repeat=x4, pack)", "b16"),
    ("mfma.D(32x32x8, f32)", "f32"),
    ("mfma.D(4x4x4, f32)", "f32"),
    ("mfma.A(16x16x32, e4m3fnuz)", "e4m3fnuz"),
)
"""Tensor memory with copies, pairs of CTAs, waves of 64 lanes; with the types that their elements have."""

TILES = (
    ("S[(8, 8) : (8, 1)]", "b128"),
    ("Swizzle<3,0,3> o S[(8, 8) : (8, 1)]", "b128"),
    ("S[(16, 64) : (64, 1)]", "bf16"),
    ("Swizzle<3,3,3> o S[(16, 64) : (64, 1)]", "bf16"),
    ("S[(16, 16) : (1, 16)]", "f16"),
    ("S[(40, 8) : (9, 1)]", "f32"),
    ("S[(16, 64) : (64, 1)]", "e2m1"),
)
ACCESSES = ("row", "row:2B@st", "row:16B", "col", "col:4B", "ldmatrix.x1", "ldmatrix.x4.trans", "stmatrix.x2")

REFUSED: tuple[Asked, ...] = (
    {"e": "S[(4096, 4096)]"},
    {"e": "S[(8, 8)]", "window": [[0, 9], None]},
    {"e": "S[(8, 8)]", "window": [None, [4, 4]]},
    {"e": "S[(8, 8)]", "shape": [3, 3]},
    {"e": "S[4 : 35184372088832]"},
    {"e": "S[(1000000000000, 1000000000000)]", "window": [[0, 2], [0, 2]]},
    {"e": "S[(9007199254740992, 2)]", "window": [[9007199254740990, 9007199254740992], None]},
    {"e": "S[(8, 8)]", "dtype": "bf17"},
    {"e": "S[(8, 8)]", "access": "row"},
    {"e": "S[(8, 8)]", "dtype": "bf16", "access": "rows"},
    {"e": "S[(8, 8)]", "dtype": "bf16", "access": "row:3B"},
    {"e": "S[(8, 8)]", "dtype": "bf16", "access": "row:16B@ldmatrix"},
    {"e": "S[(8, 8)]", "dtype": "bf16", "access": "ldmatrix.x4:8B"},
    {"e": "S[(8, 8)]", "dtype": "bf16", "access": ":4B"},
    {"e": "S[64]", "dtype": "bf16", "access": "col"},
    {"e": "S[(8, 8)] + R[2 : 64]", "dtype": "bf16", "access": "row"},
    {"e": "S[(8, 8) : (1@laneid, 1@reg)]", "dtype": "bf16", "access": "row"},
    {"e": "S[(8, 8) : (1, 1@buf)]", "dtype": "bf16", "access": "row"},
    {"e": "S[(8, 8)] - 5", "dtype": "f32", "access": "row"},
    {"e": "S[(8, 8)]", "dtype": "e3m2", "access": "row"},
    {"e": "S[(8, 8)]", "dtype": "bf16", "access": "row:16B", "base": 8},
    {"e": "S[(8, 8)]", "dtype": "bf16", "access": "ldmatrix.x1", "base": 8},
    {"e": "S[(8, 8)]", "dtype": "bf16", "access": "S[(8, 2) : (8, 5)]"},
    {"e": "S[(8, 8)]", "dtype": "bf16", "access": "S[(33, 2) : (1, 1)]"},
)

LAYOUT_ACCESSES = ("S[(8, 8) : (8, 1)]", "S[8 : 8]", "S[(2, 16, 2) : (32, 2, 1)]@st", "S[(8, 4) : (8, 1)]:4B")

PAIRS = (
    ("S[(4, 8) : (8, 1)]", "S[(4, 8) : (8, 1)]"),
    ("S[(4, 8) : (8, 1)]", "S[32 : 1]"),
    ("S[(4, 8) : (8, 1)]", "S[(8, 4) : (1, 8)]"),
    ("S[(2, 3, 4)]", "S[(4, 2, 3) : (1, 12, 4)]"),
    ("S[(4, 8) : (8, 1)]", "S[(4, 8) : (8, 1)] + 5"),
    ("S[(4, 8) : (8, 1)]", "S[(4, 8) : (1, 4)]"),
    ("S[(4, 8) : (8, 1)] + R[2 : 1@gpuid_x]", "S[(4, 8) : (8, 1)]"),
    ("S[(4, 8) : (8, 1)]", "S[(4, 8) : (8, 1)] + R[2 : 1@gpuid_x]"),
    ("S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]", "S[(8, 2, 4) : (4@laneid, 1@reg, 1@laneid)]"),
    ("S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]", "S[(8, 8)]"),
    ("S[(8, 8)]", "Swizzle<3,0,3> o S[(8, 8)]"),
    ("S[(8, 8)]", "S[(8, 8) : (9, 1)]"),
    ("S[(8, 8)]", "S[(8, 4)]"),
    ("S[1]", "S[1] + R[2 : 3]"),
    ("S[(2, 2)] + R[2 : 8]", "S[(2, 2)] + R[3 : 8]"),
    ("S[4] + R[3 : 8]", "S[4] + R[2 : 8]"),
    ("S[3]", "S[3] + R[2 : 1]"),
    ("S[(2, 2)]", "S[(2, 2) : (1, 2)]"),
    ("S[2] + R[2 : 1]", "S[2] + R[2 : 2]"),
    ("S[(4, 4) : (1@warpid, 1@x)]", "S[(4, 4) : (1@x, 1@warpid)]"),
    ("S[256 : 1@tx]", "S[(2, 4, 32) : (1@wgid, 1@wid_in_wg, 1@laneid)]"),
    ("S[(4, 32) : (32@tid_in_wg, 1@tid_in_wg)]", "S[(4, 32) : (1@warpid, 1@laneid)]"),
    ("S[64 : 1@tx]", "S[(32, 2) : (1@laneid, 1@warpid)]"),
    ("S[64 : 1@laneid]", "S[64 : 1@tx]"),
    ("S[(2, 4) : (1@gpuid_x, 1@reg)]", "S[(2, 4) : (-1@gpuid_x, 1@m)] + 1@gpuid_x"),
    ("S[4 : 1@reg]", "S[4 : 1] + R[2 : 4]"),
    ("S[(2, 4, 8) : (1@gpuid_y, 8, 1)] + R[2 : 1@gpuid_x]", "S[(2, 4, 2, 4) : (1@gpuid_y, 4, 1@gpuid_x, 1)]"),
)


def golden() -> dict[str, Any]:
    """Return the questions with their answers, as JSON has them."""
    return {"storage": list(STORAGE), "cases": [answered(asked) for asked in questions()]}


def questions() -> Iterator[Asked]:
    """Yield the questions."""
    yield from DRAWN
    for call in CALLS:
        yield {"e": str(parse(call))}
    for call, dtype in TYPED_CALLS:
        yield {"e": str(parse(call)), "dtype": dtype}
    rng = Random(SEED)
    for _ in range(RANDOM):
        yield {"e": _random_text(rng)} | _options(rng)
    for e, dtype in TILES:
        for access in ACCESSES:
            yield {"e": e, "dtype": dtype, "access": access}
    for access in LAYOUT_ACCESSES:
        yield {"e": "Swizzle<2,3,3> o S[(8, 8)]", "dtype": "bf16", "access": access}
    yield {"e": "S[(8, 64) : (64, 1)]", "dtype": "bf16", "access": "row:4B", "base": 132}
    yield from REFUSED
    for e, e2 in PAIRS:
        yield {"e": e, "e2": e2, "dtype": "bf16"}
    yield {"e": "S[(64, 64)]", "e2": "S[(64, 64) : (1, 64)]", "window": [[0, 4], [0, 4]]}


def _random_text(rng: Random) -> str:
    while True:
        layout = random_layout(rng)
        try:
            text = str(layout)
            if read_plain(text, storage=STORAGE).same(layout) and layout.size * layout.copies <= MOST:
                return text
        except LayoutError:
            continue


def _options(rng: Random) -> Asked:
    dtype = rng.choice(DTYPES)
    return {} if dtype is None else {"dtype": dtype}


def answered(asked: Asked) -> Asked:
    """Return a question with its document and some of its arithmetic, or with its refusal."""
    options = {name: value for name, value in asked.items() if name not in ("e", "e2")}
    if "shape" in options:
        options["shape"] = tuple(options["shape"])
    try:
        layouts = [read_plain(asked[name], storage=STORAGE) for name in ("e", "e2") if name in asked]
        if len(layouts) > 1:
            return asked | {"document": _plain(compared(*layouts, **options))}
        scene = scene_of(layouts[0], **options)
    except LayoutError as error:
        return asked | {"refused": [error.code, error.message, error.hint]}
    size = layouts[0].size
    told = {flat: [[step.name, *step.lines] for step in steps_of(layouts[0], flat)] for flat in _some(size)}
    return asked | {"document": _plain(Document((scene,), scene.title)), "why": told}


def _some(size: int) -> list[int]:
    return sorted({0, size // 2, size - 1}) if size < 1 << 40 else []


def _plain(document: Document) -> Any:
    return json.loads(json.dumps(document.as_dict()))


if __name__ == "__main__":
    save(GOLDEN, golden())
