"""Every rule of a tensor map on both sides of its bound, and its whole message."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.notation.conftest import golden  # noqa: F401 - a fixture

from tilewise.hardware.tma.rules import ADVICE, DRIVER, RULES, remarks, violations
from tilewise.hardware.tma.tensor_map import TensorMap

GOLDENS = Path(__file__).with_name("goldens")

U4_8, U4_16, U6 = "16U4_ALIGN8B", "16U4_ALIGN16B", "16U6_ALIGN16B"


def made(dtype="bf16", shape=(64, 64), strides=None, box=(8, 64), **more):
    where = {
        name: more.pop(name) for name in ("shared", "map_address", "coordinates", "stores") if name in more
    }
    address = more.pop("address", 0)
    if strides is None:
        return TensorMap.of(dtype, shape, box, **more), address, where
    return TensorMap(dtype, shape, strides, box, **more), address, where


def rank(count):
    return {"shape": (64,) * count, "box": (1,) * (count - 1) + (64,) if count else ()}


CASES = {
    "rank": [
        (rank(1), True),
        (rank(5), True),
        (rank(0), False),
        (rank(6), False),
    ],
    "rank-interleaved": [
        (rank(3) | {"interleave": "16B"}, True),
        (rank(2) | {"interleave": "16B"}, False),
        (rank(2) | {"interleave": "none"}, True),
    ],
    "type": [({"dtype": "FLOAT32_FTZ"}, True), ({"dtype": U4_8}, False)],
    "address": [({"address": 16}, True), ({"address": 8}, False)],
    "address-32": [
        (rank(3) | {"interleave": "32B", "mode": "32B", "address": 32}, True),
        (rank(3) | {"interleave": "32B", "mode": "32B", "address": 16}, False),
        (rank(3) | {"interleave": "16B", "address": 16}, True),
        ({"dtype": U4_16, "address": 16}, False),
    ],
    "extent": [
        ({"shape": (1 << 32, 64)}, True),
        ({"shape": ((1 << 32) + 1, 64)}, False),
        ({"shape": (1, 64)}, True),
        ({"shape": (0, 64)}, False),
    ],
    "extent-packed": [
        ({"dtype": U4_8, "shape": (64, 66)}, True),
        ({"dtype": U4_8, "shape": (64, 65)}, False),
        ({"dtype": U6, "shape": (64, 256)}, True),
        ({"dtype": U6, "shape": (64, 192)}, False),
        ({"shape": (64, 65)}, True),
    ],
    "stride-multiple": [
        ({"strides": (144,)}, True),
        ({"strides": (136,)}, False),
        ({"strides": (0,)}, True),
    ],
    "stride-multiple-32": [
        (rank(3) | {"strides": (8192, 160), "interleave": "32B", "mode": "32B"}, True),
        (rank(3) | {"strides": (8192, 144), "interleave": "32B", "mode": "32B"}, False),
        (rank(3) | {"strides": (8192, 144), "interleave": "16B"}, True),
        ({"dtype": U6, "strides": (144,)}, False),
    ],
    "stride-range": [
        ({"strides": ((1 << 40) - 16,)}, True),
        ({"strides": (1 << 40,)}, False),
        ({"strides": (0,)}, True),
        ({"strides": (-128,)}, False),
    ],
    "box-extent": [
        ({"box": (256, 64)}, True),
        ({"box": (257, 64)}, False),
        ({"box": (1, 64)}, True),
        ({"box": (0, 64)}, False),
        ({"dtype": "u8", "box": (8, 256)}, True),
        ({"dtype": "u8", "box": (8, 272)}, False),
    ],
    "box-multiple": [
        ({"box": (8, 8)}, True),
        ({"box": (8, 9)}, False),
        ({"dtype": "u8", "box": (8, 8)}, False),
        ({"dtype": "f64", "box": (8, 2)}, True),
        ({"dtype": "f64", "box": (8, 1)}, False),
        (rank(3) | {"box": (1, 1, 8), "interleave": "16B"}, True),
        (rank(3) | {"box": (1, 1, 4), "interleave": "16B"}, False),
    ],
    "box-bytes": [
        ({"shape": (256, 4, 256), "box": (228, 4, 128)}, True),
        ({"shape": (256, 4, 256), "box": (229, 4, 128)}, False),
        ({"shape": (256, 8, 256), "box": (228, 9, 128), "element_strides": (1, 2, 1)}, True),
        ({"shape": (256, 8, 256), "box": (255, 8, 256), "element_strides": (2, 2, 1)}, False),
        ({"shape": (256, 8, 256), "box": (255, 8, 256), "element_strides": (2, 2, 2)}, True),
        ({"shape": (256, 4, 256), "box": (256, 4, 256), "element_strides": (1, 8, 1)}, True),
    ],
    "box-packed": [
        ({"dtype": U4_16, "shape": (64, 256), "box": (8, 128)}, True),
        ({"dtype": U4_16, "shape": (64, 256), "box": (8, 256)}, False),
        ({"dtype": U4_8, "shape": (64, 256), "box": (8, 256)}, True),
    ],
    "element-stride": [
        ({"element_strides": (8, 1)}, True),
        ({"element_strides": (9, 1)}, False),
        ({"element_strides": (1, 1)}, True),
        ({"element_strides": (0, 1)}, False),
    ],
    "interleave-swizzle": [
        (rank(3) | {"interleave": "32B", "mode": "32B"}, True),
        (rank(3) | {"interleave": "32B", "mode": "64B"}, False),
        (rank(3) | {"interleave": "32B", "mode": "none"}, False),
        (rank(3) | {"interleave": "16B", "mode": "none"}, True),
    ],
    "box-swizzle": [
        ({"box": (8, 64), "mode": "128B"}, True),
        ({"box": (8, 72), "mode": "128B"}, False),
        ({"box": (8, 32), "mode": "64B"}, True),
        ({"box": (8, 40), "mode": "64B"}, False),
        ({"box": (8, 16), "mode": "32B"}, True),
        ({"box": (8, 24), "mode": "32B"}, False),
        ({"box": (8, 128), "mode": "none"}, True),
        ({"box": (8, 8), "mode": "128B"}, True),
    ],
    "swizzle-packed": [
        ({"dtype": U6, "mode": "128B"}, True),
        ({"dtype": U6, "mode": "64B"}, False),
        ({"dtype": U4_8, "mode": "64B"}, True),
    ],
    "interleave-packed": [
        (rank(3) | {"dtype": U6, "interleave": "none"}, True),
        (rank(3) | {"dtype": U6, "interleave": "16B"}, False),
        (rank(3) | {"dtype": U4_16, "interleave": "16B"}, True),
    ],
    "fill": [
        ({"dtype": "bf16", "fill": "nan"}, True),
        ({"dtype": "s32", "fill": "nan", "box": (8, 32)}, False),
        ({"dtype": "e4m3", "fill": "nan"}, False),
        ({"dtype": "tf32", "fill": "nan", "box": (8, 32)}, True),
        ({"dtype": "u8", "fill": "zero"}, True),
    ],
    "map-address": [({"map_address": 64}, True), ({"map_address": 32}, False), ({"map_address": -64}, False)],
    "shared-address": [({"shared": 128}, True), ({"shared": 64}, False), ({"shared": -128}, False)],
    "shared-size": [
        ({"shape": (256, 4, 256), "box": (227, 4, 128)}, True),
        ({"shape": (256, 4, 256), "box": (228, 4, 128)}, False),
        ({"shape": (256, 4, 256), "box": (227, 4, 128), "shared": 128}, False),
    ],
    "coordinate": [
        ({"coordinates": (0, (1 << 31) - 1)}, True),
        ({"coordinates": (0, 1 << 31)}, False),
        ({"coordinates": (0, -(1 << 31))}, True),
        ({"coordinates": (0, -(1 << 31) - 1)}, False),
    ],
    "coordinate-multiple": [
        ({"coordinates": (8, 3)}, True),
        ({"coordinates": (-8, 3)}, True),
        ({"coordinates": (4, 3)}, False),
        ({"coordinates": (-1, 3)}, False),
        ({"dtype": "f64", "shape": (64, 8), "box": (8, 8), "coordinates": (2, 0)}, True),
        ({"dtype": "u8", "coordinates": (8, 0)}, False),
    ],
    "store-coordinate": [
        ({"coordinates": (0, 0), "stores": True}, True),
        ({"coordinates": (0, 200), "stores": True}, True),
        ({"coordinates": (0, -1), "stores": True}, False),
        ({"coordinates": (-8, 3), "stores": True}, False),
        ({"coordinates": (-8, -1)}, True),
    ],
    "store-row": [
        ({"shape": (100, 64), "stores": True}, True),
        ({"shape": (100, 67), "strides": (144,), "stores": True}, False),
        ({"shape": (100, 67), "strides": (144,)}, True),
        ({"dtype": "u8", "shape": (31,), "box": (16,), "stores": True}, False),
    ],
    "shared-pattern": [
        ({"mode": "128B", "shared": 1024}, True),
        ({"mode": "128B", "shared": 512}, False),
        ({"mode": "64B", "box": (8, 32), "shared": 512}, True),
        ({"mode": "32B", "box": (8, 16), "shared": 128}, False),
        ({"mode": "none", "shared": 128}, True),
    ],
    "address-swizzled": [
        ({"mode": "128B", "address": 128}, True),
        ({"mode": "128B", "address": 64}, False),
        ({"mode": "none", "address": 64}, True),
    ],
    "stride-covers": [
        ({"strides": (128,)}, True),
        ({"strides": (112,)}, False),
    ],
}
"""{rule: (arguments, whether this rule lets them through)}."""


def found(rule, asked):
    tensor_map, address, where = made(**asked)
    every = (remarks if RULES[rule].kind == ADVICE else violations)(tensor_map, address, **where)
    return [violation for violation in every if violation.rule == rule]


def test_every_rule_has_cases_on_both_sides():
    assert set(CASES) == set(RULES)
    assert all({legal for _, legal in cases} == {True, False} for cases in CASES.values())


@pytest.mark.parametrize(
    ("rule", "asked", "legal"),
    [(rule, asked, legal) for rule, cases in CASES.items() for asked, legal in cases],
)
def test_a_rule_lets_through_and_refuses(rule, asked, legal):
    assert (not found(rule, asked)) is legal


def test_whole_messages(golden):  # noqa: F811
    lines = []
    for rule, cases in CASES.items():
        lines += [f"{rule} ({RULES[rule].kind}): {RULES[rule].sentence}", f"  {RULES[rule].source}"]
        for asked, legal in cases:
            if not legal:
                (violation,) = found(rule, asked)
                lines += [f"    {violation.message}", f"      {violation.hint}"]
    golden(GOLDENS / "tma_rules.txt", "\n".join([*lines, ""]))


def test_a_usual_map_breaks_nothing():
    tensor_map, address, where = made(mode="128B", address=128, shared=1024, map_address=64)
    assert violations(tensor_map, address, **where) == remarks(tensor_map, address, **where) == ()


def test_all_broken_rules_are_named_in_the_order_of_the_arguments():
    tensor_map, address, where = made(shape=(64, 100), box=(300, 100), mode="128B", fill="nan", address=8)
    names = [violation.rule for violation in violations(tensor_map, address, **where)]
    assert names == ["address", "stride-multiple", "box-extent", "box-multiple", "box-swizzle"]
    assert [name for name in RULES if name in names] == names


def test_what_the_driver_refuses_is_told_from_what_the_hardware_does():
    kinds = {rule.kind for rule in RULES.values()}
    assert kinds == {"driver", "hardware", "advice"}
    assert RULES["box-swizzle"].kind == DRIVER
    assert RULES["shared-address"].kind == "hardware"
    assert RULES["interleave-swizzle"].kind == ADVICE


def test_a_padded_row_takes_its_width_of_shared_memory():
    padded = TensorMap.of("bf16", (256, 64), (256, 8), mode="128B")
    assert (padded.bytes, padded.shared_bytes) == (4096, 32768)
    many = TensorMap.of("bf16", (8, 256, 64), (8, 256, 8), mode="128B")
    assert [found.rule for found in violations(many)] == ["shared-size"]
