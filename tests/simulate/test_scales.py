"""Scale factors packed into blocks of 128 x 4 and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise import LayoutError
from tilewise.simulate.scales import pack, unpack

SHAPES = st.tuples(st.integers(1, 300), st.integers(1, 13))


@given(SHAPES, st.integers(0, 2**32 - 1), st.integers(0, 255))
def test_as_a_loop_packs(shape, seed, fill):
    scales = np.random.default_rng(seed).integers(0, 256, shape, np.uint8)
    rows, sf_k = shape
    down, along = -(-rows // 128), -(-sf_k // 4)
    wanted = np.full(down * along * 512, fill, np.uint8)
    for row in range(rows):
        for j in range(sf_k):
            block = row // 128 * along + j // 4
            wanted[512 * block + row % 32 * 16 + row % 128 // 32 * 4 + j % 4] = scales[row, j]
    packed = pack(scales, fill)
    assert np.array_equal(packed, wanted)
    assert np.array_equal(unpack(packed, rows, sf_k), scales)


def test_as_views_pack():
    """The same by reshaping and permuting, as libraries write it."""
    scales = np.random.default_rng(7).integers(0, 256, (256, 8), np.uint8)
    blocks = scales.reshape(2, 4, 32, 2, 4).transpose(0, 3, 2, 1, 4)
    assert np.array_equal(pack(scales), blocks.reshape(-1))


def test_the_type_stays():
    scales = np.arange(-8, 8, dtype=np.int8).reshape(4, 4)
    assert pack(scales).dtype == np.int8
    assert np.array_equal(unpack(pack(scales), 4, 4), scales)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pack(np.zeros((4, 4))), "a byte each, not [4, 4] of float64"),
        (lambda: pack(np.zeros(16, np.uint8)), "not [16] of uint8"),
        (lambda: pack(np.zeros((0, 4), np.uint8)), "not [0, 4] of uint8"),
        (lambda: pack(np.zeros((4, 4), np.uint8), fill=300), "a fill of 300 is no byte"),
        (lambda: pack(np.zeros((4, 4), np.uint8), fill=-1), "a fill of -1 is no byte"),
        (lambda: pack(np.zeros((4, 4), np.int8), fill=-128), "a fill of -128 is no byte"),
        (lambda: pack(np.zeros((4, 4), np.uint8), fill="x"), "the fill must be an integer"),
        (lambda: pack(np.zeros((4, 4), np.uint8), fill=0.5), "the fill must be an integer"),
        (lambda: unpack(np.zeros(500, np.uint8), 3, 2), "packed in 512 bytes, not 500 elements"),
        (lambda: unpack(np.zeros(512, np.uint16), 3, 2), "not 512 elements of uint16"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(LayoutError) as no:
        call()
    assert message in no.value.message
    assert no.value.code == ("TW101" if "must be an integer" in message else "TW401")
