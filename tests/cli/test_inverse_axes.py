"""`--axes`: the order of an inverse's modes, and JSON that names them."""

from __future__ import annotations

import pytest

FRAGMENT = "S[(2, 4, 8) : (1@reg, 1@laneid, 4@laneid)]"


@pytest.mark.parametrize("op", ["inverse", "left_inverse", "right_inverse", "quasi_inverse"])
def test_modes_are_named_and_may_be_ordered(tilewise, op):
    plain = tilewise("algebra", op, FRAGMENT, "--json").json
    assert plain["modes"] == ["reg", "laneid"]
    asked = tilewise("algebra", op, FRAGMENT, "--axes", "laneid,reg", "--json").json
    assert asked["modes"] == ["laneid", "reg"]
    swapped = tilewise("algebra", "permute", plain["result"], "1,0").out.strip()
    assert tilewise("same", asked["result"], swapped).code == 0
    assert tilewise("algebra", op, FRAGMENT, "--axes", "laneid,reg").out.strip() == asked["result"]


def test_other_axes_are_an_error(tilewise):
    run = tilewise("algebra", "inverse", FRAGMENT, "--axes", "laneid")
    assert run.code == 2
    assert "(laneid) is no order of the layout's axes, reg, laneid" in run.err
