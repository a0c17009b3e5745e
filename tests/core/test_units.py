"""Elements, bytes and bits: storage rescaled exactly or not at all, owners never."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise import Axis, LayoutError, O, R, S, Swizzle, laneid, m, reg
from tilewise.core.dtypes import DTYPES
from tilewise.testing import naive_map
from tilewise.testing.strategies import layouts

WHOLE_BYTES = [dtype for dtype in DTYPES.values() if dtype.bits % 8 == 0]


@given(layouts(), st.sampled_from(WHOLE_BYTES))
def test_bytes_and_back_is_nothing(layout, dtype):
    in_bytes = layout.in_bytes(dtype)
    assert in_bytes.unit == "byte"
    assert in_bytes.in_elements(dtype) == layout
    assert in_bytes.in_bytes(dtype) == in_bytes


@given(layouts(), st.sampled_from([d for d in DTYPES.values() if d.bits != 6]))
def test_bits_and_back_is_nothing(layout, dtype):
    assert layout.in_bits(dtype).in_elements(dtype) == layout


@given(layouts(), st.sampled_from(WHOLE_BYTES))
def test_places_scale_on_storage_alone(layout, dtype):
    factor = {axis.name: dtype.bits // 8 if axis.kind == "storage" else 1 for axis in layout.axes}
    expected = [
        frozenset(tuple((name, steps * factor[name]) for name, steps in place) for place in held)
        for held in naive_map(layout)
    ]
    assert naive_map(layout.in_bytes(dtype)) == expected


def test_everything_is_scaled_together():
    buf = Axis("buf", storage=True)
    layout = S[(2, 2) : (4 @ buf, 1 @ laneid)] + R[2 : 8 @ buf] + 16 @ buf
    swizzled = O[3 @ buf] @ Swizzle(1, 2, 1, axis=buf) @ layout
    expected = S[(2, 2) : (8 @ buf, 1 @ laneid)] + R[2 : 16 @ buf] + 32 @ buf
    assert swizzled.in_bytes("f16") == replace(
        O[6 @ buf] @ Swizzle(1, 3, 1, axis=buf) @ expected, unit="byte"
    )


def test_sub_byte_elements_get_no_fractional_byte():
    assert S[(8, 2) : (2 @ laneid, 4 @ m)].in_bytes("e2m1").place(1, 1) == 2 @ laneid + 2 @ m
    for layout in (S[8:1], S[8 : 2 @ reg] + 1 @ reg, S[8:2] + R[2:1]):
        with pytest.raises(LayoutError) as error:
            layout.in_bytes("e2m1")
        assert error.value.code == "TW106"
    assert S[8:1].in_bits("e2m1").place(3)["m"] == 12
    assert S[8:4].in_bytes("e2m3").place(1)["m"] == 3


def test_a_swizzle_that_would_move_parts_of_units_is_refused():
    with pytest.raises(LayoutError) as error:
        replace(Swizzle(1, 0, 1) @ S[8:2], unit="byte").in_elements("f16")
    assert error.value.code == "TW106"
