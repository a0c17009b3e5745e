"""`agree`: over 80 pairs of writers and readers, each held to a byte-by-byte oracle and to its golden."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from tests.check.naive import addresses, first_difference

from tilewise import Axis, Layout, LayoutError, NotDecided, Refused, S, Swizzle, parse
from tilewise.check.agree import MAX_LISTED, _meeting, agree
from tilewise.check.sides import Boxes, Copied, Described, Fed, Part
from tilewise.check.spelling import side_of
from tilewise.core.dtypes import DType
from tilewise.core.solve import BudgetSpent
from tilewise.core.vectors import as_vector
from tilewise.hardware.modes import Mode
from tilewise.hardware.wgmma.instructions import Input

GOLDENS = Path(__file__).parent / "goldens"

ROW_MAJOR = "S[(128, 64) : (64, 1)]"
SWIZZLED = "Swizzle<3,3,3> o S[(128, 64) : (64, 1)]"
CUTE = "Sw<3,3,3> o _0 o ((8,16),(64,1)):((64,512),(1,0))"
D128 = "0x4000004000010000"
D64 = "0x8000002000010000"
D32 = "0xC000001000010000"

PAIRS = {
    # -- TMA and wgmma, one mode for both ----------------------------------------------------------
    "A 128B": ("tma(128x64, 128B)", "wgmma(A, 128B)", "bf16"),
    "A 128B, all instructions": ("tma(128x64, 128B)", "wgmma(A, 128B)", "bf16", {}),
    "A 64B": ("tma(128x32, 64B)", "wgmma(A, 64B)", "f16", {}),
    "A 32B": ("tma(64x16, 32B)", "wgmma(A, 32B)", "f16", {}),
    "A none, chunks of 16 bytes": ("tma(64x64, none, inner=8)", "wgmma(A, none)", "f16", {}),
    "A none, row-major": ("tma(64x64, none)", "wgmma(A, none)", "f16", {}),
    "B 128B, wide": ("tma(256x128, 128B)", "wgmma(B, 128B)", "bf16", {}),
    "B 128B, N below the rows": ("tma(256x64, 128B)", "wgmma(B, 128B, n=64)", "bf16", {}),
    "B 64B, e4m3": ("tma(96x128, 64B)", "wgmma(B, 64B, n=96)", "e4m3", {}),
    "B 128B, s8": ("tma(80x128, 128B)", "wgmma(B, 128B)", "s8", {}),
    "A tf32": ("tma(64x32, 128B)", "wgmma(A, 128B)", "tf32", {}),
    "B tf32 32B": ("tma(8x8, 32B)", "wgmma(B, 32B)", "tf32", {}),
    "A b1": ("tma(64x1024, 128B)", "wgmma(A, 128B)", "b1", {}),
    "B b1 64B": ("tma(16x512, 64B)", "wgmma(B, 64B)", "b1", {}),
    "A MN-major": ("tma(128x64, 128B, mn)", "wgmma(A, 128B, mn)", "bf16", {}),
    "A MN-major 64B": ("tma(64x32, 64B, mn)", "wgmma(A, 64B, mn)", "f16", {}),
    "A MN-major 32B": ("tma(64x32, 32B, mn)", "wgmma(A, 32B, mn)", "f16", {}),
    "A MN-major none": ("tma(64x32, none, mn, inner=8)", "wgmma(A, none, mn)", "f16", {}),
    "B MN-major": ("tma(192x64, 128B, mn)", "wgmma(B, 128B, mn)", "bf16", {}),
    "B MN-major, order mn": (
        "tma(128x64, 128B, mn, order=mn)", "wgmma(B, 128B, mn, order=mn)", "bf16", {},
    ),
    "A K-major, order k": (
        "tma(128x128, 128B, order=k)", "wgmma(A, 128B, order=k)", "bf16", {},
    ),
    "boxes one by one": ("tma(128x128, 128B, box=128x64)", "wgmma(A, 128B)", "bf16", {}),
    "boxes of rows": ("tma(128x64, 128B, box=64x64)", "wgmma(A, 128B)", "bf16", {}),
    "the later instruction": ("tma(128x64, 128B)", "wgmma(A, 128B, at=(64, 48))", "bf16"),
    "boxes at addresses of their own": (
        "tma(64x64, 128B) + tma(64x64, 128B, at=(64, 0), start=0x2000)",
        "wgmma(A, 128B, tile=128x64)", "bf16", {},
    ),
    "boxes with a gap between": (
        "tma(64x64, 128B) + tma(64x64, 128B, at=(64, 0), start=0x2400)",
        "wgmma(A, 128B, tile=128x64)", "bf16", {},
    ),
    "descriptors one by one": (
        "tma(64x64, 128B)",
        "descriptor(0x4000004000010000, A) + descriptor(0x4000004000010002, A, at=(0, 16))", "bf16",
    ),
    "a box of rows that TMA takes apart": ("tma(512x64, 128B)", "wgmma(B, 128B)", "bf16", {}),
    "a wide row, box by box": ("tma(64x512, none, box=1x256, order=k)", "S[(64, 512) : (512, 1)]", "bf16"),
    # -- one mode, another order, another major ----------------------------------------------------
    "orders differ": ("tma(128x128, 128B, order=k)", "wgmma(A, 128B)", "bf16", {}),
    "orders differ, the first instruction": ("tma(128x128, 128B, order=k)", "wgmma(A, 128B)", "bf16"),
    "boxes of rows of a wide tile": (
        "tma(128x128, 128B, box=64x128)", "wgmma(A, 128B)", "bf16", {},
    ),
    "majors differ": ("tma(64x64, 128B)", "wgmma(A, 128B, mn)", "bf16", {}),
    "majors differ, the other way": ("tma(64x64, 128B, mn)", "wgmma(A, 128B)", "bf16", {}),
    # -- modes differ ------------------------------------------------------------------------------
    "written 64B, read 128B": ("tma(128x64, 64B)", "wgmma(A, 128B)", "bf16"),
    "written 128B, read 64B": ("tma(128x64, 128B)", "wgmma(A, 64B)", "bf16"),
    "written 32B, read 64B": ("tma(64x32, 32B)", "wgmma(A, 64B)", "bf16"),
    "written none, read 128B": ("tma(128x64, none)", "wgmma(A, 128B)", "bf16"),
    "written 128B, read none": ("tma(128x64, 128B)", "wgmma(A, none)", "bf16"),
    "a box narrower than its swizzle": ("tma(64x32, 128B)", "wgmma(A, 64B)", "bf16", {}),
    "a box narrower than its swizzle, read in part": (
        "tma(64x32, 128B)", "descriptor(0x4000004000010002, A, at=(0, 16))", "bf16",
    ),
    "a row of half the swizzle, twice": ("tma(64x64, 128B, inner=32)", "wgmma(A, 128B)", "bf16"),
    # -- layouts -----------------------------------------------------------------------------------
    "threads, swizzled": (SWIZZLED, "wgmma(A, 128B)", "bf16", {}),
    "threads, swizzled, in CuTe": (CUTE, "wgmma(A, 128B)", "bf16", {}),
    "threads, row-major": (ROW_MAJOR, "wgmma(A, 128B)", "bf16"),
    "threads, bytes meant": ("Swizzle<3,4,3> o S[(128, 64) : (64, 1)]", "wgmma(A, 128B)", "bf16"),
    "threads, in bytes": (
        "copy(Swizzle<3,4,3> o S[(128, 64) : (128, 2)], unit=byte)", "wgmma(A, 128B)", "bf16",
    ),
    "threads, padded rows": ("S[(64, 64) : (72, 1)]", "tma(64x64, none)", "bf16"),
    "threads read what TMA wrote": ("tma(128x64, 128B)", SWIZZLED, "bf16"),
    "threads read plainly what TMA wrote": ("tma(128x64, 128B)", ROW_MAJOR, "bf16"),
    "threads to threads": (ROW_MAJOR, "(128,64):(64,1)", "bf16"),
    "threads to threads, transposed": (ROW_MAJOR, "(128,64):(1,128)", "bf16"),
    "an entry of the catalogue": (
        "tma(128x64, 128B)", "wgmma.smem(operand=A, major=k, mode=128B, dtype=bf16, rows=128, k=64)", "bf16",
    ),
    "figure 167 of the catalogue": ("wgmma.figure(167)", "descriptor(0xC000001000010000, B, n=16)", "tf32"),
    "a layout that overlaps itself": (
        "((8,2),(4,4)):((8,64),(1,4))", "((8,2),(4,4)):((8,64),(1,4))", "tf32",
    ),
    "odd extents": ("S[(12, 40) : (40, 1)]", "S[(12, 40) : (41, 1)]", "f32"),
    "a tall swizzle of threads": (
        "Swizzle<3,3,4> o S[(128, 64) : (64, 1)]", "wgmma(A, 128B)", "bf16",
    ),
    # -- descriptors -------------------------------------------------------------------------------
    "descriptor of A": ("tma(128x64, 128B)", f"descriptor({D128}, A)", "bf16"),
    "descriptor of B": ("tma(128x64, 128B)", f"descriptor({D128}, B, n=128)", "f16"),
    "descriptor of 64B": ("tma(128x32, 64B)", f"descriptor({D64}, B, n=128)", "f16"),
    "descriptor of 32B": ("tma(64x16, 32B)", f"descriptor({D32}, B, n=64)", "f16"),
    "descriptor, the wrong mode": ("tma(128x64, 128B)", f"descriptor({D64}, A)", "bf16"),
    "descriptor past the tile": ("tma(64x64, 128B)", f"descriptor({D128}, B, n=128)", "bf16"),
    "descriptor without SBO": (SWIZZLED, "descriptor(0x4000000000010000, A)", "bf16"),
    "descriptor, SBO too large": (SWIZZLED, "descriptor(0x4000008000010000, A)", "bf16"),
    "descriptor, the second step": (
        "tma(128x64, 128B)", "descriptor(0x4000004000010002, A, at=(0, 16))", "bf16",
    ),
    "descriptor, a step too far": (
        "tma(128x64, 128B)", "descriptor(0x4000004000010004, A, at=(0, 16))", "bf16",
    ),
    "descriptor with a base offset": ("tma(128x64, 128B)", "descriptor(0x4002004000010000, A)", "bf16"),
    "descriptor, MN-major": ("tma(64x64, 128B, mn)", "descriptor(0x4000004000010000, A, mn)", "bf16"),
    "descriptor writes, descriptor reads": (
        f"descriptor({D128}, B, n=64)", "descriptor(0x4000004000200000, B, n=64)", "f16",
    ),
    "figure 168": (
        "((8,1,2),(8,2)):((1,8,64),(8,128))", "descriptor(0x0000000800100000, B, mn, n=16)", "bf16",
    ),
    "figure 169": (
        "Swizzle<1,3,3> o ((8,2,2),(8,2)):((1,8,128),(16,256))",
        "descriptor(0xC000002000100000, B, mn, n=32)", "bf16",
    ),
    "figure 170": (
        "Swizzle<2,3,3> o ((8,4,2),(8,2)):((1,8,256),(32,512))",
        "descriptor(0x8000004000200000, B, mn, n=64)", "bf16",
    ),
    "figure 166": (
        "((8,2),(4,4)):((4,32),(1,64))", "descriptor(0x0000000800100000, B, n=16)", "tf32",
    ),
    # -- base addresses ----------------------------------------------------------------------------
    "aligned base": (SWIZZLED, "wgmma(A, 128B)", "bf16", {"base": 0x2C00}),
    "misaligned base, threads": (SWIZZLED, "wgmma(A, 128B)", "bf16", {"base": 0x200}),
    "misaligned base, and the wrong mode": (
        "Swizzle<2,3,3> o S[(128, 64) : (64, 1)]", "wgmma(A, 128B)", "bf16", {"base": 0x200},
    ),
    "misaligned base, threads read": ("tma(128x64, 128B)", SWIZZLED, "bf16", {"base": 0x480}),
    "misaligned base, TMA to wgmma": (
        "tma(128x64, 128B)", "wgmma(A, 128B)", "bf16", {"base": 0x480},
    ),
    "misaligned base, a base offset for threads": (
        SWIZZLED, "wgmma(A, 128B, pattern=tile)", "bf16", {"base": 0x480},
    ),
    "misaligned base, a base offset for TMA": (
        "tma(128x64, 128B)", "wgmma(A, 128B, pattern=tile)", "bf16", {"base": 0x480},
    ),
    "misaligned base, addresses swizzled": (
        f"copy({SWIZZLED}, swizzle=address)", "tma(128B)", "bf16", {"base": 0x480},
    ),
    "misaligned base, 64B": (
        "Swizzle<2,3,3> o S[(64, 32) : (32, 1)]", "tma(64B)", "bf16", {"base": 0x600},
    ),
    "misaligned base, 64B aligned enough": (
        "Swizzle<2,3,3> o S[(64, 32) : (32, 1)]", "tma(64B)", "bf16", {"base": 0x400},
    ),
    "misaligned base, no swizzle": (ROW_MAJOR, "tma(none)", "bf16", {"base": 0x80}),
    "a start of its own": ("tma(128x64, 128B, start=0x400)", SWIZZLED, "bf16"),
    "a start of its own, and the base": ("tma(128x64, 128B, start=0x400)", SWIZZLED, "bf16", {"base": 0x400}),
    # -- types, sizes ------------------------------------------------------------------------------
    "f16 and bf16": ("tma(64x64, 128B, dtype=f16)", "wgmma(A, 128B, dtype=bf16)", None),
    "f32 and tf32": ("tma(64x32, 128B, dtype=f32)", "wgmma(A, 128B, dtype=tf32)", None),
    "f32 and bf16": ("copy(S[(64, 64) : (64, 1)], dtype=f32)", "wgmma(A, 128B, dtype=bf16)", None),
    "bf16 and e4m3": (ROW_MAJOR, "wgmma(A, 128B, dtype=e4m3)", "bf16"),
    "bf16, and two descriptors of e4m3": (
        ROW_MAJOR, f"descriptor({D128}, A, e4m3) + descriptor({D64}, A, e4m3, at=(0, 32))", "bf16",
    ),
    "b1 and s8": ("copy(S[(64, 256) : (256, 1)], dtype=b1)", "wgmma(A, 32B, tile=64x32, dtype=s8)", None),
    "a writer too narrow": ("S[(64, 32) : (32, 1)]", "wgmma(A, 64B, tile=64x64)", "bf16", {}),
    "a writer too short": ("S[(64, 64) : (64, 1)]", "tma(128x64, none)", "bf16"),
    "a writer larger than the reader": (ROW_MAJOR, "S[(64, 64) : (64, 1)]", "bf16"),
}  # fmt: skip


def asked(name):
    writer, reader, dtype, *more = PAIRS[name]
    return writer, reader, dtype, more[0] if more else {}


def naive_bits(name):
    writer, reader, dtype, _ = asked(name)
    return [(getattr(side_of(text), "dtype", None) or DType.of(dtype)).bits for text in (writer, reader)]


def naive(name):
    """Return the answer of the plainest loops: nothing where the two agree, else the first difference."""
    writer, reader, dtype, options = asked(name)
    sides = [side_of(text) for text in (writer, reader)]
    types = [getattr(side, "dtype", None) or DType.of(dtype) for side in sides]
    tiles = [side.tile for side in sides]
    for i, side in enumerate(sides):
        if tiles[i] is None:
            tiles[i] = (
                (64 if side.operand == "A" else side.n, 256 // types[i].bits)
                if isinstance(side, Described)
                else None
            )
    tiles = [tiles[0] or tiles[1], tiles[1] or tiles[0]]
    maps = []
    for side, dtype_, tile in zip(sides, types, tiles, strict=True):
        n = None
        if isinstance(side, Fed) and side.operand == "B":
            legal = Input.of(dtype_).n
            n = side.n or max(n for n in legal if tile[0] % n == 0)
        maps.append(addresses(side, dtype_.bits, tile, options.get("base", 0), n))
    return maps, [dtype_.bits for dtype_ in types]


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_against_the_plainest_loops(name):
    writer, reader, dtype, options = asked(name)
    found = agree(writer, reader, dtype=dtype, **options)
    if found.writer.dtype.bits != found.reader.dtype.bits:
        assert found.answer is False
        assert "bits an element" in found.reason
        return
    maps, _ = naive(name)
    assert found.elements == len(maps[1])
    expected = first_difference(*maps)
    if expected is not None:
        assert found.answer is False
        first = found.first
        assert (first.index, first.written, first.read) == expected[:3]
        if expected[3] is None:
            assert first.holds is None
        else:
            assert maps[0][first.holds] == first.read
        return
    twice = len(set(maps[0].values())) < len(maps[0])
    assert found.answer is (not twice), found.reason
    if twice:
        assert maps[0][found.first.index] == maps[0][found.first.holds] == found.first.written
        assert found.first.index != found.first.holds


def test_the_oracle_sees_both_answers():
    alike = [name for name in PAIRS if len(set(naive_bits(name))) == 1]
    answers = [first_difference(*maps) is None for name in alike for maps, _ in [naive(name)]]
    assert len(PAIRS) >= 80
    assert answers.count(True) >= 30
    assert answers.count(False) >= 30


def test_what_is_said_of_every_pair(tilewise, golden):
    lines = []
    for name in PAIRS:
        writer, reader, dtype, options = asked(name)
        words = ["agree", writer, reader]
        words += ["--dtype", dtype] if dtype else []
        words += ["--base", hex(options["base"])] if "base" in options else []
        run = tilewise(*words)
        assert run.err == ""
        lines += [f"# {name}", "tilewise " + " ".join(f"'{w}'" if " " in w or "(" in w else w for w in words)]
        lines += [run.out.rstrip(), f"exit {run.code}", ""]
        as_json = tilewise(*words, "--json")
        assert as_json.code == run.code == (0 if as_json.json["agree"] else 1)
    golden(GOLDENS / "agree.txt", "\n".join(lines))


# -- from Python -----------------------------------------------------------------------------------


def test_sides_made_by_hand():
    tile = Swizzle(3, 3, 3) @ S[(128, 64) : (64, 1)]
    read = Fed("A", Mode.of("128B"))
    assert agree(tile, read, dtype="bf16")
    assert agree(Copied(tile), Boxes(Mode.of("128B")), dtype="bf16")
    found = agree(tile, read, dtype="bf16", base=128)
    assert (found.answer, found.first.index) == (False, (0, 0))
    assert "align the base to 1024" in found.hint


def test_a_large_tile_costs_no_more():
    huge = S[(1 << 20, 1 << 20) : (1 << 20, 1)]
    found = agree(huge, huge + 1, dtype="bf16")
    assert (found.answer, found.first.index, found.first.read) == (False, (0, 0), 2)
    assert agree(huge, S[((1 << 10, 1 << 10), 1 << 20) : ((1 << 30, 1 << 20), 1)], dtype="bf16")


def test_an_axis_of_addresses_by_another_name():
    smem = Axis("smem", storage=True)
    tile = S[(128, 64) : (64 @ smem, 1 @ smem)]
    assert agree(tile, "tma(none)", dtype="bf16")
    assert not agree(tile + 8 @ smem, "tma(none)", dtype="bf16")
    with pytest.raises(LayoutError, match="moves on m, which is no address"):
        agree(S[(128, 64) : (64 @ smem, 1)], "tma(none)", dtype="bf16")


def test_names_with_values():
    assert agree("S[(M, K) : (K, 1)]", "tma(tile=(M, K), mode=none)", dtype="f16", let={"M": 16, "K": 32})


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("writer", "reader", "code", "words", "at"),
    [
        ("tmma(64x64, 128B)", ROW_MAJOR, "TW002", "did you mean tma", "tmma"),
        ("tma(64x64, moed=128B)", ROW_MAJOR, "TW002", "did you mean mode", "moed=128B"),
        ("tma(64x64, 96B)", ROW_MAJOR, "TW002", "'96B' says nothing here", "96B"),
        ("tma(64x64, mode=96B)", ROW_MAJOR, "TW601", "no swizzle mode", "96B"),
        ("tma(64x64", ROW_MAJOR, "TW004", "never closed", "("),
        ("tma(64x64, 128B) twice", ROW_MAJOR, "TW004", "ends before", "twice"),
        ("tma(64x64, 128B) + S[4 : 1]", ROW_MAJOR, "TW004", "calls with +", "+ S[4 : 1]"),
        ("tma(64x64, 128B) + tmb(64x64)", ROW_MAJOR, "TW002", "did you mean tma", "tmb"),
        ("tma(64x64, 128B, f16) + tma(64x64, 128B, f32)", ROW_MAJOR, "TW106", "one type", ""),
        ("tma(64x64, 128B, mode=64B)", ROW_MAJOR, "TW004", "mode is given twice", "mode=64B"),
        ("tma(64x0, 128B)", ROW_MAJOR, "TW102", "not positive", "64x0"),
        ("tma(tile=64, mode=128B)", ROW_MAJOR, "TW004", "no pair of rows and K", "64"),
        ("tma(64x64)", ROW_MAJOR, "TW004", "does not say its mode", ""),
        ("tma(64x64, 128B, inner=few)", ROW_MAJOR, "TW101", "no whole number", "few"),
        ("tma(64x64, 128B, dtype=f15)", ROW_MAJOR, "TW105", "did you mean f16", "f15"),
        ("tma(64x64, 128B, order=rows)", ROW_MAJOR, "TW601", "known: mn k", "rows"),
        (ROW_MAJOR, "wgmma(128B)", "TW004", "operand", ""),
        (ROW_MAJOR, "wgmma(operand=C, mode=128B)", "TW601", "known: A B", "C"),
        (ROW_MAJOR, "descriptor(A)", "TW101", "no whole number", "A"),
        (ROW_MAJOR, "descriptor(operand=A)", "TW004", "does not say its value", ""),
        (ROW_MAJOR, "descriptor(0x1ffffffffffffffff, A)", "TW604", "64 bits", "0x1ffffffffffffffff"),
        (ROW_MAJOR, f"descriptor({D128}, B)", "TW004", "needs n", ""),
        ("copy(S[(4, 4) : (4, x)])", ROW_MAJOR, "TW007", "no value", "x"),
        ("copy()", ROW_MAJOR, "TW004", "does not say its layout", ""),
        ("S[(4, 4) : (4, x)]", ROW_MAJOR, "TW007", "no value", "x"),
        ("S[8192 : 1]", ROW_MAJOR, "TW202", "a tile is [rows, K]", ""),
        ("S[(128, 64) : (64@laneid, 1)]", ROW_MAJOR, "TW203", "laneid", ""),
        ("S[(128, 64) : (64, 1)] + R[2 : 8192]", ROW_MAJOR, "TW509", "2 places", ""),
        ("copy(S[(128, 64) : (65, 1)], unit=byte)", ROW_MAJOR, "TW106", "no multiple", ""),
        ("tma(128B)", "wgmma(A, 128B)", "TW004", "neither side says its tile", ""),
        ("tma(128x64, 128B)", "wgmma(A, 128B, at=(1, 0))", "TW201", "no instruction begins", ""),
    ],
)  # fmt: skip
def test_what_is_not_understood(writer, reader, code, words, at):
    with pytest.raises(LayoutError) as refused:
        agree(writer, reader, dtype="bf16")
    error = refused.value
    assert not isinstance(error, Refused)
    assert error.code == code
    assert words in str(error)
    if at:
        assert error.source[slice(*error.span)] == at


@pytest.mark.parametrize(
    ("writer", "reader", "dtype", "options", "code", "words"),
    [
        ("tma(128x64, 128B)", ROW_MAJOR, "bf16", {"base": 64}, "TW607", "does not write to 0x40"),
        ("tma(128x64, 64B, inner=64)", ROW_MAJOR, "bf16", {}, "TW607", "wider than the 64B swizzle"),
        ("tma(128x4, none)", "S[(128, 4) : (4, 1)]", "bf16", {}, "TW607", "inner row of 8 bytes"),
        ("tma(128x96, 128B)", "S[(128, 96) : (96, 1)]", "bf16", {}, "TW603", "no whole number of 64"),
        ("tma(64x512, none)", "S[(64, 512) : (512, 1)]", "bf16", {}, "TW607", "row of 512 elements"),
        (
            "tma(64x64, none, box=1x32)",
            "S[(64, 64) : (64, 1)]",
            "bf16",
            {},
            "TW607",
            "the second box begins there",
        ),
        ("tma(128x64, 128B, box=48x64)", ROW_MAJOR, "bf16", {}, "TW603", "boxes of 48 x 64"),
        (ROW_MAJOR, "wgmma(A, 128B)", "f64", {}, "TW602", "does not multiply f64"),
        ("tma(64x64, 128B)", "wgmma(A, 128B, mn)", "e4m3", {}, "TW602", "K-major alone"),
        (ROW_MAJOR, "wgmma(B, 128B, n=20)", "bf16", {}, "TW602", "n20"),
        ("S[(100, 64) : (64, 1)]", "wgmma(B, 128B)", "bf16", {}, "TW603", "100 rows"),
        ("S[(100, 64) : (64, 1)]", "wgmma(A, 128B)", "bf16", {}, "TW603", "100"),
    ],
)
def test_what_is_refused(tilewise, writer, reader, dtype, options, code, words):
    with pytest.raises(Refused) as refused:
        agree(writer, reader, dtype=dtype, **options)
    assert refused.value.code == code
    assert words in refused.value.reason
    base = ["--base", str(options["base"])] if "base" in options else []
    run = tilewise("agree", writer, reader, "--dtype", dtype, *base, "--json")
    assert run.code == 1
    assert (run.json["agree"], run.json["code"], run.json["reason"]) == (False, code, refused.value.reason)


def test_no_type_no_bytes():
    with pytest.raises(LayoutError, match="TW004: bytes need the type"):
        agree(ROW_MAJOR, ROW_MAJOR)


def test_a_negative_base():
    with pytest.raises(LayoutError, match="TW203"):
        agree(ROW_MAJOR, ROW_MAJOR, dtype="bf16", base=-128)


# -- the command -----------------------------------------------------------------------------------


def test_json_of_a_yes(tilewise):
    run = tilewise("agree", "tma(64x64, 128B)", "wgmma(A, 128B)", "--dtype", "bf16", "--json")
    assert run.code == 0
    assert run.json == {
        "agree": True,
        "elements": 4096,
        "compared": {"rows": [0, 64], "k": [0, 64], "instructions": 4},
        "writer": {
            "is": "TMA, 64 x 64 bf16 a box, K-major, 128B swizzle",
            "mode": "128B",
            "dtype": "bf16",
            "tile": [64, 64],
        },
        "reader": {
            "is": "wgmma's A, K-major, 128B swizzle, 4 of 4 instructions",
            "mode": "128B",
            "dtype": "bf16",
            "tile": [64, 64],
        },
        "proof": run.json["proof"],
        "notes": [],
    }
    assert run.json["proof"].startswith("in closed form")


def test_json_of_a_no(tilewise):
    run = tilewise("agree", ROW_MAJOR, "wgmma(A, 128B)", "--dtype", "bf16", "--json")
    assert run.code == 1
    assert run.json["first"] == {
        "index": [1, 0], "written": 128, "read": 144, "holds": [1, 8], "unit": "byte",
    }  # fmt: skip
    assert run.json["code"] == "TW606"
    assert run.json["reason"] == (
        "written unswizzled, read 128B: "
        "element (1, 0) is written to byte 128 and read from byte 144, where (1, 8) is"
    )


def test_all_instructions_are_compared_and_one_where_it_is_named():
    """The first 32 of K are where they are read, and the next start at another multiple of the atom."""
    wide = "Swizzle<2,3,3> o S[(64, (2, 32)) : (32, (4096, 1))]"
    whole = agree(wide, "wgmma(A, 64B)", dtype="bf16")
    assert (whole.answer, whole.first.index, whole.elements) == (False, (0, 32), 64 * 64)
    one = agree(wide, "wgmma(A, 64B, at=(0, 16))", dtype="bf16")
    assert (one.answer, one.elements) == (True, 64 * 16)
    assert not agree(wide, "wgmma(A, 64B, at=(0, 32))", dtype="bf16").answer


def test_a_layout_from_standard_input(tilewise):
    run = tilewise("agree", "-", "wgmma(A, 128B)", "--dtype", "bf16", stdin=SWIZZLED)
    assert run.code == 0
    document = tilewise("say", SWIZZLED, "--as", "json").out
    assert tilewise("agree", "-", "wgmma(A, 128B)", "--dtype", "bf16", stdin=document).code == 0
    assert tilewise("agree", "-", "-", "--dtype", "bf16", stdin=SWIZZLED).code == 2


def test_not_decided(tilewise, monkeypatch):
    from tilewise.core.compare import Comparison
    from tilewise.core.layout import Layout

    monkeypatch.setattr(Layout, "same", lambda *_: Comparison(None, "not decided within the bound: test"))
    run = tilewise("agree", ROW_MAJOR, "tma(none)", "--dtype", "bf16", "--json")
    assert run.code == 3
    assert run.json["agree"] is None


# -- at random -------------------------------------------------------------------------------------

MODES = ("none", "32B", "64B", "128B")


def random_way(rng):
    return rng.choice(MODES), rng.choice(("k", "mn")), rng.choice(("k", "mn"))


def random_side(rng, mode, major, order):
    """A side over a tile of 64 x 64 elements of 16 bits, legal or not."""
    kind = rng.randrange(4)
    if kind == 0:
        inner = rng.choice((8, 16, 32, 64))
        box = rng.choice(((64, 64), (32, 64), (64, 32), (8, 64)))
        return f"tma(64x64, {mode}, {major}, order={order}, inner={inner}, box={box[0]}x{box[1]})"
    if kind == 1:
        return f"wgmma({rng.choice('AB')}, {mode}, {major}, order={order}, tile=64x64)"
    if kind == 2:
        lbo, sbo = rng.choice((1, 8, 64, 128, 512)), rng.choice((8, 16, 32, 64, 128))
        code = {"none": 0, "128B": 1, "64B": 2, "32B": 3}[mode]
        value = rng.choice((0, 0, 2, 64)) | lbo << 16 | sbo << 32 | code << 62
        return f"descriptor({value:#x}, B, {major}, n={rng.choice((8, 24, 64))})"
    swizzle = f"Swizzle<{rng.randrange(4)},{rng.choice((2, 3, 4))},3> o "
    strides = rng.choice(("(64, 1)", "(1, 64)", "((512, 64), (8, 1))", "((512, 8), (64, 1))"))
    shape = "(64, 64)" if strides[1] != "(" else "((8, 8), (8, 8))"
    return f"{swizzle}S[{shape} : {strides}]"


def test_parts_of_a_writer_that_share_a_byte_disagree():
    """Rows from 16 on lie in another atom, half of which is the first one's."""
    writer, reader = (f"descriptor(0xc000002000080000, B, mn, n={n})" for n in (24, 8))
    found = agree(writer, reader, dtype="f16")
    assert (found.answer, found.first.index, found.first.holds) == (False, (16, 0), (0, 4))
    assert "are both written to byte 144" in found.reason
    apart = [side.replace("0020000800", "0020008000") for side in (writer, reader)]
    assert agree(*apart, dtype="f16").answer


def test_parts_under_two_swizzles_meet_where_their_addresses_do(times):
    rng = random.Random(3)

    def part():
        strides = f"{rng.randrange(1, 9)}, {rng.randrange(1, 9)}"
        swizzle = f"Swizzle<{rng.randrange(1, 3)},{rng.randrange(2)},{rng.randrange(2, 4)}>"
        return Part(((0, 4), (0, 4)), parse(f"{swizzle} o S[(4, 4) : ({strides})] + {rng.randrange(40)}"))

    outcomes = Counter()
    for _ in range(times(200)):
        one, other = part(), part()
        met = _meeting(one, other)
        places = [
            {index: side.layout.place(side.layout.flat_index(*index))["m"] for index in np.ndindex(4, 4)}
            for side in (one, other)
        ]
        shared = set(places[0].values()) & set(places[1].values())
        assert (met is not None) == bool(shared), (one, other)
        if met is not None:
            assert places[0][met[0]] == places[1][met[1]] in shared
        outcomes[bool(shared)] += 1
    assert min(outcomes.values()) >= times(20)


def test_parts_under_two_swizzles_are_listed_up_to_a_bound():
    rows = 2 * MAX_LISTED // 64
    one, other = (
        Part(((0, rows), (0, 64)), parse(f"Swizzle<{bits},3,3> o S[({rows}, 64) : (64, 1)]"))
        for bits in (2, 3)
    )
    with pytest.raises(BudgetSpent):
        _meeting(one, other)


def check_agree(rng):
    """A yes, or the first element that lands elsewhere, as the plainest loops over bytes have it."""
    dtype, base = rng.choice(("f16", "bf16")), rng.choice((0, 0, 1024, 128))
    ways = [random_way(rng), random_way(rng)]
    ways[1] = rng.choice(ways)
    writer, reader = (random_side(rng, *way) for way in ways)
    try:
        found = agree(writer, reader, dtype=dtype, base=base)
    except LayoutError:
        return "refused"
    maps = []
    for text in (writer, reader):
        side = side_of(text)
        n = 64 if isinstance(side, Fed) and side.operand == "B" else None
        maps.append(addresses(side, 16, (64, 64), base, n))
    expected = first_difference(*maps)
    said = f"{writer} | {reader} | {base}"
    if expected is None:
        assert found.answer is (len(set(maps[0].values())) == len(maps[0])), said
    else:
        first = found.first
        assert (first.index, first.written, first.read) == expected[:3], said
    return f"answered {found.answer}"


def test_at_random_against_the_plainest_loops(times):
    rng = random.Random(7)
    outcomes = Counter(check_agree(rng) for _ in range(times(200)))
    assert outcomes["answered True"] >= times(6)
    assert outcomes["answered False"] >= times(60)
    assert outcomes["refused"] < times(140)


def test_no_text_ends_in_anything_but_an_answer_or_an_error(times):
    rng = random.Random(11)
    sources = [text for writer, reader, *_ in PAIRS.values() for text in (writer, reader)]
    letters = "()[],=:+ 0123456789xBkmnAS<>'@-"
    for _ in range(times(1500)):
        text = list(rng.choice(sources))
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(text) + 1)
            text[at : at + rng.randrange(3)] = rng.choice(("", rng.choice(letters)))
        with suppress(LayoutError):
            agree("".join(text), ROW_MAJOR, dtype="bf16")


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("sbo=2048", 0x4000008000010000),
        ("lbo=4096", 0x4000004001000000),
        ("base_offset=3", 0x4006004000010000),
        ("start=0x800", 0x4000004000010080),
        ("at=(64, 32)", 0x4000004000010204),
        ("order=k, tile=128x128", 0x4000008000010000),
    ],
)
def test_fields_of_the_descriptor_that_are_said(said, value):
    """An option changes its field, and nothing else: the one descriptor reads the same bytes."""
    tile = "" if "tile" in said else ", tile=128x64"
    where, one = (", at=(64, 32)", "") if said.startswith("at") else ("", ", at=(0, 0)")
    descriptor = f"descriptor({value:#x}, A{where})"
    assert agree(descriptor, f"wgmma(A, 128B, {said}{tile}{one})", dtype="bf16")
    other = f"descriptor({value ^ 1 << 32:#x}, A{where})"
    assert not agree(other, f"wgmma(A, 128B, {said}{tile})", dtype="bf16")


def test_a_byte_whose_element_is_hard_to_find():
    """Steps that no digit divides: whether some sum of them is the byte is a search with a bound."""
    rng = random.Random(3)
    hard = Layout((2,) * 48, tuple(as_vector(rng.getrandbits(60) | 1) for _ in range(48)))
    writer = hard.group(1 << 24, 1 << 24)
    middle = sum(stride["m"] for stride in hard.strides) // 2
    found = agree(writer, writer + middle, dtype="u8")
    assert (found.answer, found.first.index) == (False, (0, 0))
    assert (found.first.holds, found.first.searched) == (None, False)
    assert found.reason.endswith(f"read from byte {middle}")
    alike = agree(writer, writer, dtype="u8")
    assert (alike.answer, alike.reason) == (
        None,
        "not decided within the bound: whether two elements share a place",
    )
    with pytest.raises(NotDecided):
        bool(alike)


def test_bits_are_told_apart():
    tile = S[(64, 256) : (256, 1)]
    turned = S[(64, (32, 8)) : (256, (8, -1))] + 7
    found = agree(tile, turned, dtype="b1")
    assert (found.answer, found.first.index, found.first.unit) == (False, (0, 0), "bit")
    assert (found.first.written, found.first.read, found.first.holds) == (0, 7, (0, 7))
    assert "bit 0 of byte 0 and read from bit 7 of byte 0, where (0, 7) is" in found.reason
