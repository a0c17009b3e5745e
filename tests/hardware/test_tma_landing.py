"""Where boxes land, held to the definition element by element."""

from __future__ import annotations

from itertools import product

import pytest
from tests.hardware.naive_tma import SWIZZLES, landed

from tilewise import LayoutError, Refused
from tilewise.core.dtypes import DType
from tilewise.hardware.modes import MODES
from tilewise.hardware.tma.landing import landing, row_bytes, row_pitch

BOXES = [(16,), (4, 16), (9, 8), (3, 5, 8), (2, 3, 2, 4), (2, 1, 3, 2, 16), (1, 1), (256, 1)]


def addresses(layout):
    return [layout.place(x)["m"] for x in range(layout.size)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["u8", "bf16", "f32", "f64", "e2m1", "b1"])
def test_every_element_is_where_the_definition_puts_it(mode, dtype):
    bits = DType.of(dtype).bits
    for box, start in product(BOXES, (0, 128, 1024 + 384)):
        if box[-1] * bits % 8:
            continue
        pitch = row_pitch(MODES[mode], box[-1] * bits // 8)
        layout = landing(box, dtype, mode, start)
        assert layout.unit == "byte"
        assert layout.size == len(addresses(layout))
        assert addresses(layout) == list(landed(box, bits, mode, start, pitch)), (box, start)


def test_the_shape_is_the_box():
    assert landing((4, 2, 64), "bf16", "128B").shape == (4, 2, 64)
    assert landing(64, "u8", "none").shape == (64,)


def test_rows_of_the_full_width_follow_one_another():
    for name, mode in MODES.items():
        width = mode.width if SWIZZLES[name] else 48
        assert row_pitch(mode, width) == width


def test_a_row_at_an_address_inside_the_pattern_is_turned_by_it():
    aligned, shifted = (addresses(landing((8, 64), "bf16", "128B", start)) for start in (0, 128))
    assert aligned[:16] == list(range(0, 32, 2))
    assert shifted[0] == 128 + 16


@pytest.mark.parametrize("box", [(), (1,) * 6])
def test_a_box_has_1_to_5_dimensions(box):
    with pytest.raises(LayoutError, match="dimensions"):
        landing(box, "bf16", "none")


def test_what_ends_inside_a_byte_or_crosses_bytes_is_refused():
    with pytest.raises(Refused, match="inside a byte") as half:
        row_bytes(3, DType.of("e2m1"))
    assert half.value.witness == {"box": 3, "bits": 4}
    with pytest.raises(Refused, match="cross bytes"):
        landing((8, 16), "e2m3", "none")
