"""The accesses that the page knows: `show --html` refuses those that the page would not read."""

from __future__ import annotations

import pytest
from tests.web.chromium import Page

from tilewise.pictures.address import fragment, page_knows

ACCESSES = (
    "row:16B",
    "col:2B@st",
    "ldmatrix.x4.trans",
    "stmatrix.x1",
    "row@cp.async",
    "S[(32, 8) : (64, 1)]",
    "S[(8, (4, 2)) : (4@laneid, (1@laneid, 1@reg))]",
    "S[(8, 4) : (8@e0, 1@e1)]",
    "S[8 : 1@e1] + 2@e0",
    "(32,8):(64,1)",
    "descriptor.A",
    "descriptor.B",
    "descriptor.A:tcgen05:m64",
    "descriptor.B:tcgen05:n64:cta_group2",
    "boxes",
    "tma",
    "wgmma.D:f32:n64",
    "mma.A:m16n8k16",
    "mma.A(m16n8k16, dtype=bf16)",
    "mma.A:m8n8k4:f16:product1",
    "mma.A(m8n8k4, f16, product=1)",
    "ldmatrix.x1.m16n16",
    "ldmatrix.x4.b16",
)


@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
def test_the_page_knows_what_is_said_that_it_knows(explorer: Page, served: str, known: bool):
    for access in ACCESSES:
        if page_knows(access, "bf16") is not known:
            continue
        explorer.open(served + fragment("Swizzle<3,3,3> o S[(64, 64) : (64, 1)]", "bf16", a=access))
        explorer.wait("access => document.querySelector('#control-a').value === access", access)
        explorer.settle()
        assert (explorer.text("#controls-fault") == "") is known, access
