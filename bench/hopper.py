"""The time of Hopper's questions: whether wgmma reads a tile, what a descriptor reads, boxes, agreement.

No neighbour answers them. Beside the first stands the least that anyone must do who checks a tile
element by element: evaluating it everywhere, with pycute.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from types import ModuleType

import commands
from clock import Work
from page import Section
from questions import ROWS, K, every_place, section
from tilewise import S, Swizzle
from tilewise.check.agree import agree
from tilewise.check.match import match
from tilewise.check.suggest import suggest
from tilewise.check.tma import plan_copy
from tilewise.hardware.engines import engine
from tilewise.hardware.modes import MODES
from tilewise.hardware.operands.tiles import tile
from tilewise.hardware.wgmma.descriptor import Descriptor

TIRX_TILES = "tvm.backend.cuda.tile_primitive.tma_utils"


def sections(peers: dict[str, ModuleType]) -> list[Section]:
    """Measure the questions in one process, and the commands in processes of their own."""
    return [_questions(peers), _commands()]


def _questions(peers: dict[str, ModuleType]) -> Section:
    legal = Swizzle(3, 3, 3) @ S[(ROWS, K) : (K, 1)]
    padded = S[(ROWS, K) : (K + 8, 1)]
    large, wide = tile("128B", "k", "bf16", 256, 512), tile("128B", "k", "bf16", 128, 128)
    descriptor = Descriptor(start=1024, lbo=16, sbo=1024, mode=MODES["128B"])
    works: dict[str, Work] = {
        "match, 128 x 64 bf16": lambda: match(legal, operand="B", dtype="bf16"),
        "match, 256 x 512 bf16, 128 wgmma": lambda: match(large, operand="A", dtype="bf16"),
        "match, refused, with the nearest": lambda: match(padded, operand="B", dtype="bf16").nearest,
        "what a descriptor reads": lambda: engine("wgmma").operand("bf16", n=128).reads(descriptor),
        "agree, TMA and wgmma": lambda: agree("tma(128x64, 128B)", "wgmma(A, 128B)", dtype="bf16"),
        "suggest, 128 x 64": lambda: suggest(operand="A", rows=ROWS, k=K, dtype="bf16"),
        "boxes of a 128 x 128 tile": lambda: plan_copy((4096, 4096), wide, dtype="bf16"),
        "a tile of atoms": lambda: tile("128B", "k", "bf16", ROWS, K),
    }
    theirs = {"match, 128 x 64 bf16": every_place(peers), "a tile of atoms": _tirx_tile()}
    note = (
        "No neighbour says whether an engine reads a tile. Beside `match`: only evaluating all "
        f"{ROWS * K} elements, with pycute."
    )
    return section("Hopper", note, works, theirs)


def _tirx_tile() -> tuple[str, Work | None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = import_module(TIRX_TILES)
            made.mma_shared_layout("float16", made.SwizzleMode(3), (ROWS, K))
    except (ImportError, AttributeError, ValueError, TypeError):
        return "", None
    mode = made.SwizzleMode(3)
    return "TIRx `mma_shared_layout`", lambda: made.mma_shared_layout("float16", mode, (ROWS, K))


def _commands() -> Section:
    tile_text = "Swizzle<3,3,3> o S[(128, 64) : (64, 1)]"
    words = {
        "`tilewise match`": ["match", tile_text, "--operand", "B", "--dtype", "bf16"],
        "`tilewise descriptor encode`": ["descriptor", "encode", "--mode", "128B", "--sbo", "1024"],
        "`tilewise suggest`": ["suggest", "--operand", "A", "--tile", "128x64", "--dtype", "bf16"],
        "`tilewise tma`": "tma --dtype bf16 --shape 4096,4096 --tile 128,64 --mode 128B".split(),
        "`tilewise catalog wgmma.D`": ["catalog", "wgmma.D", "--dtype", "f32", "--n", "64"],
    }
    return commands.section("Hopper's commands", words)
