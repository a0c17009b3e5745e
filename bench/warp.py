"""The time of questions about a warp's own engines: feeding mma.sync, moves between lanes, fragments.

No neighbour answers the first two. Beside feeding stands the least that anyone must do who checks it lane by
lane: evaluating the address of every element of the tile, with pycute.
"""

from __future__ import annotations

from types import ModuleType

import commands
from clock import Work
from page import Section
from questions import ROWS, K, every_place, section
from tilewise import R, S, Swizzle, laneid, reg
from tilewise.check.match import match
from tilewise.check.shuffle import shuffle
from tilewise.hardware.mma.fragments import a_fragment, d_fragment

ENGINE = {"engine": "mma", "shape": "m16n8k16"}


def sections(peers: dict[str, ModuleType]) -> list[Section]:
    """Measure the questions in one process, and the commands in processes of their own."""
    return [_questions(peers), _commands()]


def _questions(peers: dict[str, ModuleType]) -> Section:
    swizzled = Swizzle(3, 3, 3) @ S[(ROWS, K) : (K, 1)]
    broken, down = S[(ROWS, K) : (K + 4, 1)], S[(ROWS, K) : (1, ROWS + 8)]
    d = S[((2, 8), (4, 4, 2)) : ((2 @ reg, 4 @ laneid), (4 @ reg, 1 @ laneid, 1 @ reg))]
    a = a_fragment("m16n8k32", "e4m3")
    across, back = S[(32, 32) : (1 @ laneid, 1 @ reg)], S[(32, 32) : (1 @ reg, 1 @ laneid)]
    vote = S[32 : 1 @ reg] + R[32 : 1 @ laneid]
    works: dict[str, Work] = {
        "feed A by ldmatrix, 128 x 64 f16": lambda: match(swizzled, operand="A", dtype="f16", **ENGINE),
        "feed B transposed, 128 x 64 f16": lambda: match(down, operand="B", dtype="f16", **ENGINE),
        "feed by vectors, 128 x 64 f16": lambda: match(broken, operand="A", dtype="f16", **ENGINE),
        "store D by stmatrix, 128 x 64 bf16": lambda: match(swizzled, operand="D", dtype="bf16", **ENGINE),
        "move D to A, e4m3": lambda: shuffle(d, a, dtype="e4m3"),
        "transpose 32 x 32 f32 in a warp": lambda: shuffle(across, back, dtype="f32"),
        "a vote": lambda: shuffle(S[32 : 1 @ laneid], vote, dtype="b1"),
        "a fragment": lambda: d_fragment("m16n8k16", "f32"),
    }
    theirs = {"feed A by ldmatrix, 128 x 64 f16": every_place(peers)}
    note = (
        "No neighbour says which instruction feeds a tile. Beside the first: only evaluating all "
        f"{ROWS * K} elements, with pycute."
    )
    return section("A warp's engines", note, works, theirs)


def _commands() -> Section:
    text = "Swizzle<3,3,3> o S[(128, 64) : (64, 1)]"
    asked = ["--engine", "mma", "--shape", "m16n8k16", "--dtype", "f16"]
    words = {
        "`tilewise match --engine mma`": ["match", text, "--operand", "A", *asked],
        "`tilewise match --engine mma`, vectors": [
            "match",
            "S[(128, 64) : (68, 1)]",
            "--operand",
            "A",
            *asked,
        ],
        "`tilewise shuffle`": ["shuffle", "mma.D(m16n8k16, f32)", "mma.C(m16n8k16, f32)", "--dtype", "f32"],
        "`tilewise catalog mma.A`": ["catalog", "mma.A", "--shape", "m16n8k16", "--dtype", "f16"],
        "`tilewise catalog ldmatrix`": ["catalog", "ldmatrix", "--form", "x4"],
        "`tilewise emit mma`": ["emit", "mma", "--tile", "64x64x32", "--dtype", "f16"],
    }
    return commands.section("Commands of a warp's engines", words)
