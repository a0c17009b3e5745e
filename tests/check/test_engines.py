"""The engines that take a tile: the screen and the choice of a swizzle have the answer of match and TMA."""

from __future__ import annotations

import pytest

from tilewise import LayoutError, parse
from tilewise.check.engines import described, engines_of, tma
from tilewise.check.match import match
from tilewise.check.swizzling.choose import readers
from tilewise.check.tma import plan_copy
from tilewise.core.dtypes import DType
from tilewise.core.shapes import extents_of

TILES = [
    ("Swizzle<3,3,3> o S[(128, 64) : (64, 1)]", "bf16"),
    ("Swizzle<3,3,3> o S[(64, 128) : (1, 64)]", "bf16"),
    ("S[(128, 64) : (64, 1)]", "bf16"),
    ("S[(128, 64) : (72, 1)]", "bf16"),
    ("S[(64, 128) : (1, 64)]", "f16"),
    ("S[(48, 96) : (96, 1)]", "e4m3"),
    ("S[(32, 32) : (0, 1)]", "s8"),
    ("S[(7, 5) : (5, 1)]", "f16"),
    ("S[(32, 32) : (32, 1)]", "f64"),
    ("S[(4, 4, 64) : (256, 64, 1)]", "bf16"),
    ("S[4096 : 1]", "f32"),
]
TWO_MODES = [(text, dtype) for text, dtype in TILES if len(parse(text).shape) == 2]


def boxes(layout, dtype, times):
    """The boxes of a copy from a tensor so many tiles long, row-major or else column-major; None for none."""
    shape = [extent * times for extent in extents_of(layout.shape)]
    for strides in (None, (1, shape[0])) if len(shape) == 2 else (None,):
        try:
            return plan_copy(shape, layout, dtype=dtype, strides=strides).count
        except LayoutError:
            continue
    return None


def operands(layout, dtype):
    """The operands that match lets wgmma read the tile as."""
    found = []
    for operand in "AB" if len(layout.shape) == 2 else "":
        try:
            found += [operand] if match(layout, operand=operand, dtype=dtype).legal else []
        except LayoutError:
            continue
    return tuple(found)


@pytest.mark.parametrize(("text", "dtype"), TILES)
def test_tma_and_wgmma_are_what_plans_and_matches_say(text, dtype):
    layout, element = parse(text), DType.of(dtype)
    assert tma(layout, element).boxes == boxes(layout, dtype, 16) == boxes(layout, dtype, 64)
    found = readers(layout, element)
    assert (found.tma, found.wgmma) == (boxes(layout, dtype, 16), operands(layout, dtype))
    assert (found.why_tma == "") == (found.tma is not None)
    assert (found.why_wgmma == "") == (found.wgmma != ())


@pytest.mark.parametrize(("text", "dtype"), TWO_MODES)
def test_the_screen_and_the_choice_of_a_swizzle_ask_alike(text, dtype):
    layout, element = parse(text), DType.of(dtype)
    found = readers(layout, element)
    said = {taken.engine: taken for taken in engines_of(layout, element)}
    assert said["TMA"].boxes == found.tma
    assert said["TMA"].legal or said["TMA"].said == found.why_tma
    for operand in "AB" if "wgmma A" in said else "":
        assert said[f"wgmma {operand}"].legal == (operand in found.wgmma)
    if "wgmma A" in said and not found.wgmma:
        assert said["wgmma A"].said == found.why_wgmma


def test_the_nearest_layout_is_searched_where_it_is_asked_for():
    taken = described("wgmma", parse("S[(128, 64) : (64, 1)]"), DType.of("bf16"), "A")
    assert "nearest" not in vars(taken.found)
    assert taken.near is taken.found.nearest[0]


@pytest.mark.parametrize(
    ("dtype", "asked"),
    [
        ("bf16", ["wgmma A", "wgmma B", "tcgen05 A", "tcgen05 B", "mma m16n8k16 A", "mma m16n8k16 B", "TMA"]),
        ("e2m1", ["tcgen05 A", "tcgen05 B", "TMA"]),
        ("b1", ["wgmma A", "wgmma B", "mma m16n8k256 A", "mma m16n8k256 B", "TMA"]),
        ("e2m3", ["wgmma", "TMA"]),
    ],
)
def test_the_engines_that_are_asked_multiply_the_type(dtype, asked):
    """Packed elements of 4 bits are those of mxf4; those that have a byte each would be another tile."""
    layout = parse("Swizzle<3,5,3> o S[(128, 256) : (256, 1)]")
    assert [taken.engine for taken in engines_of(layout, DType.of(dtype))] == asked


def test_what_hopper_does_not_read_and_blackwell_does():
    columns = parse("Swizzle<3,4,3> o S[(128, 64) : (1, 128)]")
    said = {taken.engine: taken for taken in engines_of(columns, DType.of("e4m3"))}
    assert (said["wgmma A"].legal, said["tcgen05 A"].legal) == (False, True)
    assert said["tcgen05 A"].descriptor == 0x4000404000010000
    packed = described("tcgen05", parse("Swizzle<3,5,3> o S[(128, 256) : (256, 1)]"), DType.of("e2m1"), "B")
    assert packed.said == "K-major, 128B mode, SBO 1024 B: 4 steps of mMn128k64"
