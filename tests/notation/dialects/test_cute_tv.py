"""Layouts from (thread, value), written of fragments, held to the plain loop that evaluates them."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from tests.notation.dialects.cute_blocks import extents_of, held, said

from tilewise import Axis, Layout, LayoutError, parse
from tilewise.core.layout import Iter
from tilewise.hardware.catalog import entries
from tilewise.hardware.catalog.instances import instances_of
from tilewise.notation.dialects import DIALECTS, Given, write
from tilewise.notation.dialects.cute_block import read

FRAGMENTS = (
    "wgmma.A wgmma.D mma.A mma.B mma.C mma.D mma.sp.A mma.sp.B mma.sp.D mfma.A mfma.D ldmatrix stmatrix"
)


def as_tv(layout: Layout) -> str:
    return write(DIALECTS["cute-tv"], layout, Given())


@pytest.mark.parametrize("name", FRAGMENTS.split())
def test_every_fragment_of_the_catalogue(name):
    entry = entries()[name]
    for values in instances_of(entry).values():
        if name.startswith("mma.") and values["shape"] == "m8n8k4" and values["dtype"] != "f64":
            continue  # a quarter of the lanes each
        layout = entry(**{key: value for key, value in values.items() if value is not None}).layout
        assert np.array_equal(said(as_tv(layout), extents_of(layout)), held(layout)), values


@pytest.mark.parametrize(
    ("fragment", "text"),
    [
        ("mma.A(m16n8k16, f16)", "((4,8),(2,2,2)):((32,1),(16,8,128))"),
        ("mma.B(m16n8k16, f16)", "((4,8),(2,2)):((16,1),(8,64))"),
        ("mma.D(m16n8k16, f32)", "((4,8),(2,2)):((32,1),(16,8))"),
        ("mma.A(m16n8k8, f16)", "((4,8),(2,2)):((32,1),(16,8))"),
        ("wgmma.D(f32, n=128)", "((4,8,4),(2,2,16)):((128,1,16),(64,8,512))"),
        ("S[()]", "(1,1):(0,0)"),
    ],
)
def test_they_are_cutes_own(fragment, text):
    """The layouts of cute/atom/mma_traits_sm80.hpp and mma_traits_sm90_gmma.hpp."""
    assert as_tv(parse(fragment)) == text


def test_a_text_and_back(times):
    rng = Random(6)
    for _ in range(times(2000)):
        layout = drawn(rng)
        text = as_tv(layout)
        size = layout.size
        block = f"Copy Atom\n  ThrID: 1:0\n  TV Layout Src: {text}\n  TV Layout Dst: {text}\n"
        back = read(Given(block)).layout
        assert extents_of(back) == (size,)
        flat = back.reshape(extents_of(layout))
        assert flat.same(layout).answer is True


def drawn(rng: Random) -> Layout:
    """A fragment: lanes, warps and registers of random digits, in two modes, and copies."""
    laneid, warpid, reg = Axis("laneid"), Axis("warpid"), Axis("reg")
    digits = []
    for axis, extent in ((laneid, 32), (warpid, rng.choice((1, 2, 3, 6))), (reg, rng.choice((1, 4, 6, 8)))):
        step = 1
        while extent > step:
            rest = extent // step
            digit = rng.choice([number for number in range(2, rest + 1) if rest % number == 0])
            digits.append((digit, step @ axis))
            step *= digit
    rng.shuffle(digits)
    copies = [digits.pop() for _ in range(rng.choice((0, 0, 1, 2))) if len(digits) > 2]
    digits.append((1, 0 @ reg))
    cut = rng.randrange(1, len(digits))
    modes = digits[:cut], digits[cut:]
    return Layout(
        tuple(tuple(extent for extent, _ in mode) for mode in modes),
        tuple(stride for mode in modes for _, stride in mode),
        replica=tuple(Iter(*copy) for copy in copies),
        order=rng.choice(("row", "cute")),
    )


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        ("S[(8, 8) : (8, 1)]", "m is no thread and no register"),
        ("S[8 : 1@TLane]", "TLane is no thread"),
        ("S[8 : 2@laneid]", "thread 1 holds nothing, and thread 2 does"),
        ("S[(8, 2) : (1@laneid, 2@reg)]", "value 1 holds nothing"),
        ("S[(8, 2) : (1@laneid, 4@laneid)]", "thread 4 holds two elements"),
        ("S[(8, 2) : (1@laneid, 0)]", "several elements share a place"),
        ("S[8 : 1@laneid + 1@reg]", "two axes in one step"),
        ("S[8 : -1@laneid] + 7@laneid", "begin at 0, not at"),
        ("S[8 : -1@laneid]", "steps backwards"),
        ("S[8 : 1@laneid] + 1@reg", "begin at 0, not at"),
        ("mma.SFB(mxf8f6f4, 1X)", "thread 1 holds nothing, and thread 4 does"),
        ("Swizzle<1,0,2> o S[8 : 1@m]", "no swizzle"),
        ("S[64 : 1@tx] + R[2 : 1@warpid]", "thread 32 holds two elements"),
    ],
)
def test_what_is_none_is_refused_with_the_reason(layout, reason):
    with pytest.raises(LayoutError, match=reason) as error:
        as_tv(parse(layout))
    assert error.value.code == "TW008"
