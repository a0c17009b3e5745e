"""Tensor maps: names, the driver's order, what lands, what is not understood."""

from __future__ import annotations

import pytest

from tilewise import LayoutError, Refused
from tilewise.core.dtypes import DTYPES
from tilewise.hardware.tma.tensor_map import TensorMap
from tilewise.hardware.tma.types import ELEMENT_TYPES, FILLS, INTERLEAVES, L2_PROMOTIONS, ElementType, one_of


def test_arguments_are_in_the_driver_s_order_and_by_its_names():
    made = TensorMap.of(
        "f32",
        (2, 3, 50),
        (1, 2, 8),
        (512, 64, 1),
        element_strides=(1, 2, 1),
        mode="32B",
        l2="256B",
        fill="nan",
    )
    assert list(made.arguments.items()) == [
        ("tensorDataType", "CU_TENSOR_MAP_DATA_TYPE_FLOAT32"),
        ("tensorRank", 3),
        ("globalDim", [50, 3, 2]),
        ("globalStrides", [256, 2048]),
        ("boxDim", [8, 2, 1]),
        ("elementStrides", [1, 2, 1]),
        ("interleave", "CU_TENSOR_MAP_INTERLEAVE_NONE"),
        ("swizzle", "CU_TENSOR_MAP_SWIZZLE_32B"),
        ("l2Promotion", "CU_TENSOR_MAP_L2_PROMOTION_L2_256B"),
        ("oobFill", "CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA"),
    ]
    assert made.numbers == made.arguments | {
        "tensorDataType": 7,
        "interleave": 0,
        "swizzle": 1,
        "l2Promotion": 3,
        "oobFill": 1,
    }


def test_values_are_those_of_the_driver_s_header():
    driver = pytest.importorskip("cuda.bindings.driver")
    for row in ELEMENT_TYPES.values():
        known = getattr(driver.CUtensorMapDataType, row.name, None)
        assert known is None or int(known) == row.value
    for table, enum in (
        (INTERLEAVES, driver.CUtensorMapInterleave),
        (L2_PROMOTIONS, driver.CUtensorMapL2promotion),
        (FILLS, driver.CUtensorMapFloatOOBfill),
    ):
        for name, value in table.values():
            assert int(getattr(enum, name)) == value
    for mode in ("none", "32B", "64B", "128B"):
        made = TensorMap.of("u8", (64,), (16,), mode=mode)
        assert int(getattr(driver.CUtensorMapSwizzle, made.mode.tma_name)) == made.numbers["swizzle"]


def test_every_dtype_has_a_row_or_a_reason():
    for name, dtype in DTYPES.items():
        if dtype.bits in (8, 16, 32, 64):
            row = ElementType.of(name)
            assert (row.bits, name in row.carries) == (dtype.bits, True)
        else:
            with pytest.raises(Refused, match="no type of a tensor map") as no:
                ElementType.of(name)
            assert no.value.hint
    carried = [name for row in ELEMENT_TYPES.values() for name in row.carries]
    assert len(carried) == len(set(carried))


def test_what_no_type_carries_is_moved_as_another():
    for name, dtype in DTYPES.items():
        if dtype.bits in (8, 16, 32, 64):
            continue
        with pytest.raises(Refused) as no:
            ElementType.of(name)
        if dtype.bits > 64:
            assert no.value.hint == "count halves: u64, with twice the extents and steps"
        elif 8 % dtype.bits:
            assert "takes 6 bits; on Hopper keep a byte an element (u8)" in no.value.hint
        else:
            assert no.value.hint == f"on Hopper {8 // dtype.bits} of them travel as one u8"


@pytest.mark.parametrize(
    ("box", "steps", "loaded"),
    [
        ((16, 32), (1, 1), (16, 32)),
        ((16, 32), (2, 1), (8, 32)),
        ((16, 32), (3, 1), (6, 32)),
        ((15, 32), (8, 1), (2, 32)),
        ((16, 32), (1, 4), (16, 32)),
    ],
)
def test_a_box_with_element_strides_loads_fewer(box, steps, loaded):
    made = TensorMap.of("u8", (64, 64), box, element_strides=steps)
    assert made.loaded == loaded
    assert made.bytes == loaded[0] * loaded[1]
    assert made.landing().shape == loaded


def test_the_innermost_element_stride_counts_where_channels_are_interleaved():
    made = TensorMap.of("u8", (4, 4, 64), (1, 1, 32), element_strides=(1, 1, 2), interleave="16B")
    assert made.loaded == (1, 1, 16)
    with pytest.raises(Refused, match="interleaved"):
        made.landing()


def test_bytes_are_those_of_the_whole_box_also_beyond_the_tensor():
    assert TensorMap.of("f16", (10, 8), (64, 64), mode="128B").bytes == 64 * 64 * 2
    assert TensorMap.of("16U4_ALIGN8B", (10, 64), (8, 32)).bytes == 8 * 16


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"box": (8,)}, "1 extent of the box"),
        ({"element_strides": (1,)}, "1 element stride"),
        ({"global_strides_bytes": (128, 2)}, "2 strides in bytes"),
        ({"interleave": "64B"}, "interleave"),
        ({"l2": "512B"}, "L2 promotion"),
        ({"fill": "one"}, "fill"),
        ({"mode": "256B"}, "swizzle mode"),
        ({"dtype": "f33"}, "unknown dtype"),
        ({"box": (8, 1.5)}, "integer"),
    ],
)
def test_what_is_not_understood(asked, says):
    usual = {"dtype": "bf16", "global_shape": (64, 64), "global_strides_bytes": (128,), "box": (8, 64)}
    with pytest.raises(LayoutError, match=says):
        TensorMap(**usual | asked)


def test_strides_in_elements_are_one_a_dimension_the_last_1():
    assert TensorMap.of("bf16", (4, 64), (4, 64), (72, 1)).global_strides_bytes == (144,)
    for strides in ((64,), (1, 64)):
        with pytest.raises(LayoutError, match="strides"):
            TensorMap.of("bf16", (4, 64), (4, 64), strides)


def test_names_may_be_ours_or_the_driver_s_or_numbers():
    assert one_of(FILLS, "NAN", "a fill") == one_of(FILLS, "1", "a fill") == "nan"
    assert TensorMap.of("CU_TENSOR_MAP_DATA_TYPE_TFLOAT32", (64,), (16,)).dtype is ElementType.of("tf32")
    assert TensorMap.of("u8", (64,), (16,), mode="CU_TENSOR_MAP_SWIZZLE_64B").mode.name == "64B"
