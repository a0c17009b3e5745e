"""Plans: every element of a tile lands where the tile says, from where the tensor has it, in few boxes."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from math import prod

import pytest
from tests.hardware.naive_tma import copied

from tilewise import Layout, LayoutError, R, Refused, S, Swizzle, laneid, parse
from tilewise.check.boxes import Digit, Tensor, fold, hindrance
from tilewise.check.tma import LAYOUT_RULES, default_tile, orders, plan_copy
from tilewise.core.dtypes import DType
from tilewise.core.shapes import coordinates, extents_of
from tilewise.hardware.modes import MODES, Mode
from tilewise.hardware.operands.tiles import tile
from tilewise.hardware.tma.landing import row_pitch
from tilewise.hardware.tma.rules import RULES, violations
from tilewise.hardware.tma.types import ElementType


def wanted(shape, strides, at, layout, dtype):
    """{byte of shared memory: byte of the tensor, or None for the fill}, from the tile's own map."""
    size, in_bytes, extents = DType.of(dtype).bits // 8, layout.in_bytes(dtype), extents_of(layout.shape)
    result = {}
    for flat in range(layout.size):
        index = [a + i for a, i in zip(at, coordinates(flat, extents), strict=True)]
        inside = all(0 <= x < extent for x, extent in zip(index, shape, strict=True))
        source = sum(x * step for x, step in zip(index, strides, strict=True)) * size
        result[in_bytes.place(flat)["m"]] = source if inside else None
    return result


def written(plan, dtype):
    """The same of a plan, as TMA is defined, with how many elements of each box lie in the tensor."""
    size, result, counts = DType.of(dtype).bits // 8, {}, []
    pitch = row_pitch(plan.mode, plan.tensor_map.inner_bytes)
    numbers = plan.tensor_map.numbers
    for box in plan.boxes:
        pairs = list(copied(numbers, box.coordinates, size, plan.mode.name, box.start, pitch))
        assert not result.keys() & {byte for _, byte in pairs}
        result |= {byte: source for source, byte in pairs}
        counts.append(sum(source is not None for source, _ in pairs))
    return result, counts


def any_question(rng):
    """A tensor, a tile of it and where it starts: usual, odd and impossible ones."""
    rank = rng.choice([1, 2, 2, 2, 3, 4])
    dtype = rng.choice(["u8", "bf16", "f32", "f64"])
    size = DType.of(dtype).bits // 8
    mode = rng.choice(list(MODES))
    contiguous = rng.choice([rank - 1, rank - 1, rng.randrange(rank)])
    extents = [rng.choice([1, 2, 3, 4, 8]) for _ in range(rank)]
    extents[contiguous] = rng.choice([16, 32, 64, 128, 256, 48, 80]) // size
    shape = [rng.choice([e, e * 2, e * 3 + rng.randrange(3), 20, 17, 40]) for e in extents]
    strides, run = [1] * rank, -(-shape[contiguous] * size // 16) * 16 // size
    others = [dim for dim in range(rank) if dim != contiguous]
    for dim in rng.sample(others, len(others)):
        strides[dim] = run
        run *= shape[dim] + rng.choice([0, 0, 1])
    at = [rng.choice([0, e, rng.randrange(-3, x + 3)]) for e, x in zip(extents, shape, strict=True)]
    if rng.random() < 0.9:
        at[contiguous] -= at[contiguous] % (16 // size)
    return shape, strides, extents, contiguous, dtype, mode, at


def any_tile(rng, extents, contiguous, dtype, mode):
    """Digits of the extents in any order, mostly the contiguous ones first, seldom with gaps."""
    digits = []
    for dim, extent in enumerate(extents):
        while extent > 1:
            part = rng.choice([d for d in range(2, extent + 1) if extent % d == 0])
            digits.append([dim, part])
            extent //= part
    order = rng.sample(digits, len(digits))
    first = [digit for digit in digits if digit[0] == contiguous][-1:]
    if rng.random() < 0.8:
        order.sort(key=lambda digit: digit not in first or digit is not first[0])
    step = 1
    for digit in order:
        digit.append(step)
        step *= digit[1] * (2 if rng.random() < 0.05 else 1)
    by_dim = [[digit for digit in digits if digit[0] == dim] for dim in range(len(extents))]
    shape = tuple(tuple(part for _, part, _ in own) or 1 for own in by_dim)
    layout = Layout(shape, tuple(step for own in by_dim for *_, step in own or [(0, 1, 0)]))
    swizzle = Mode.of(mode).swizzle.scaled(8, DType.of(dtype).bits)
    return layout.swizzled((swizzle,)) if swizzle.bits else layout


def check_plan(rng):
    """Every element of a plan comes from its place in the tensor, and lands in its own of the tile."""
    shape, strides, extents, contiguous, dtype, mode, at = any_question(rng)
    known = rng.random() < 0.7
    try:
        if rng.random() < 0.5:
            order = rng.choice([None, "mn", "k"]) if len(shape) == 2 else None
            layout = default_tile(shape, extents, dtype, mode, strides=strides, order=order)
        else:
            layout = any_tile(rng, extents, contiguous, dtype, mode)
        plan = plan_copy(shape, layout, dtype=dtype, strides=strides, at=at if known else None)
    except Refused as no:
        return f"refused {(no.witness or {}).get('rule', no.code)}"
    start = at if known else [0] * len(shape)
    found, counts = written(plan, dtype)
    assert found == wanted(shape, strides, start, layout, dtype)
    assert [box.inside for box in plan.boxes] == (counts if known else [None] * plan.count)
    assert plan.bytes == len(found) * (DType.of(dtype).bits // 8)
    assert not violations(plan.tensor_map)
    return "boxes" if plan.count > 1 else "box"


@pytest.mark.parametrize("seed", range(4))
def test_every_element_of_a_plan_comes_from_its_place_and_lands_in_it(seed):
    rng = random.Random(seed)
    outcomes = Counter(check_plan(rng) for _ in range(100))
    assert outcomes["box"] > 25
    assert outcomes["boxes"] > 1
    rules = {f"refused {rule}" for rule in ("box-multiple", "contiguous", "shared-address")}
    assert rules <= outcomes.keys()


# -- the boxes of usual tiles ----------------------------------------------------------------------


def boxes(shape, layout, dtype="bf16", **more):
    plan = plan_copy(shape, layout, dtype=dtype, **more)
    return plan.count, plan.tensor_map.arguments["boxDim"]


def test_a_tile_as_wide_as_the_swizzle_is_one_plain_box():
    assert boxes((4096, 4096), tile("128B", "k", "bf16", 128, 64)) == (1, [64, 128])


def test_a_wide_row_becomes_a_dimension():
    plan = plan_copy((4096, 4096), tile("128B", "k", "bf16", 128, 128), dtype="bf16", at=(256, 128))
    assert plan.count == 1
    asked = plan.tensor_map.arguments
    assert (asked["globalDim"], asked["globalStrides"]) == ([64, 4096, 64], [8192, 128])
    assert asked["boxDim"] == [64, 128, 2]
    assert plan.boxes[0].coordinates == (0, 256, 2)


def test_a_dimension_that_would_read_past_the_edge_is_not_made():
    plan = plan_copy((4096, 4128), tile("128B", "k", "bf16", 128, 128), dtype="bf16")
    assert (plan.count, plan.tensor_map.box) == (2, (128, 64))
    assert [box.coordinates for box in plan.boxes] == [(0, 0), (64, 0)]
    assert "past the edge" in plan.notes[0]


def test_a_row_is_cut_where_that_takes_fewer_boxes():
    assert boxes((4096, 4096), Swizzle(3, 3, 3) @ S[(128, 128) : (128, 1)]) == (1, [64, 2, 128])
    wide = S[(16, 384) : (384, 1)]
    assert boxes((4096, 4224), wide, "u8") == (1, [192, 2, 16])
    assert boxes((4096, 4128), wide, "u8") == (1, [96, 4, 16])
    assert boxes((4096, 4112), wide, "u8") == (1, [16, 24, 16])
    assert boxes((4096, 4111), wide, "u8", strides=(4112, 1)) == (48, [128, 1])


def test_a_row_narrower_than_the_swizzle_is_padded_to_its_width():
    with pytest.raises(Refused) as no:
        plan_copy((64, 32), Swizzle(3, 3, 3) @ S[(64, 32) : (32, 1)], dtype="bf16")
    assert no.value.witness["rule"] == "shared-address"
    eight = plan_copy((64, 32), Swizzle(3, 3, 3) @ S[(8, 32) : (32, 1)], dtype="bf16")
    assert (eight.mode.name, eight.count) == ("64B", 1)  # on 512 bytes both swizzles are one map
    layout = default_tile((64, 32), (8, 32), "bf16", "128B")
    assert str(layout) == "Swizzle<3,3,3> o S[(8, 32) : (64, 1)]"
    plan = plan_copy((64, 32), layout, dtype="bf16")
    assert (plan.count, plan.bytes, plan.tensor_map.shared_bytes) == (1, 512, 1024)


def test_a_tile_that_starts_inside_a_group_takes_more_boxes():
    layout = tile("128B", "k", "bf16", 8, 128)
    assert boxes((64, 4096), layout, at=(0, 128))[0] == 1
    plan = plan_copy((64, 4096), layout, dtype="bf16", at=(0, 96))
    assert [box.coordinates for box in plan.boxes] == [(96, 0), (160, 0)]


@pytest.mark.parametrize(("order", "box"), [("mn", [64, 8]), ("k", [64, 64])])
def test_two_dimensional_boxes_of_mn_major_tiles_are_those_of_cute(order, box):
    layout = tile("128B", "mn", "f16", 128, 64, order=order)
    plan = plan_copy((4096, 4096), layout, dtype="f16", strides=(1, 4096), max_rank=2)
    assert plan.tensor_map.arguments["boxDim"] == box
    assert plan.count == 128 * 64 // (box[0] * box[1])
    more = plan_copy((4096, 4096), layout, dtype="f16", strides=(1, 4096))
    assert more.count == 1


def test_core_matrices_without_swizzle_have_the_boxes_of_cute():
    layout = tile("none", "k", "f16", 128, 64)
    assert boxes((4096, 4096), layout, "f16", max_rank=2) == (8, [8, 128])
    assert boxes((4096, 4096), layout, "f16") == (1, [8, 128, 8])


def test_boxes_above_256_are_split():
    assert boxes((4096, 64), default_tile((4096, 64), (512, 64), "bf16", "128B")) == (1, [64, 256, 2])
    assert boxes((4000, 64), default_tile((4000, 64), (512, 64), "bf16", "128B")) == (1, [64, 32, 16])
    assert boxes((4001, 64), default_tile((4001, 64), (512, 64), "bf16", "128B")) == (2, [64, 256])
    assert boxes((16, 512), default_tile((16, 512), (16, 512), "u8", "none"), "u8") == (1, [256, 2, 16])


def test_a_tile_of_some_dimensions_stands_in_the_last_ones():
    plan = plan_copy((8, 512, 4096), tile("128B", "k", "bf16", 128, 64), dtype="bf16", at=(3, 128, 64))
    assert plan.tensor_map.rank == 3
    assert plan.boxes[0].coordinates == (64, 128, 3)


def test_a_tile_of_five_dimensions_has_no_room_for_one_more():
    shape, extents = (4, 4, 4, 4, 128), (1, 2, 1, 2, 128)
    assert boxes(shape, default_tile(shape, extents, "bf16", "128B")) == (2, [64, 2, 2, 1, 1])
    assert boxes(shape[1:], default_tile(shape[1:], extents[1:], "bf16", "128B")) == (1, [64, 2, 2, 2, 1])


def test_a_dimension_of_one_element_has_a_stride_that_the_driver_takes():
    plan = plan_copy((1, 100), S[(1, 64) : (64, 1)], dtype="bf16")
    assert plan.tensor_map.global_strides_bytes == (208,)


@pytest.mark.parametrize("dtype", ["e2m1", "s4", "b1"])
def test_elements_below_a_byte_travel_as_bytes(dtype):
    each = 8 // DType.of(dtype).bits
    layout = tile("128B", "k", dtype, 64, 128 * each)
    plan = plan_copy((256, 1024 * each), layout, dtype=dtype, at=(64, 128 * each))
    assert plan.tensor_map.arguments["tensorDataType"].endswith("UINT8")
    assert plan.tensor_map.arguments["boxDim"] == [128, 64]
    assert plan.boxes[0].coordinates == (128, 64)
    assert plan.boxes[0].inside == 64 * 128 * each
    split = plan_copy((256, 1024 * each + 16 * each), tile("128B", "k", dtype, 8, 256 * each), dtype=dtype)
    assert [box.index for box in split.boxes] == [(0, 0), (0, 128 * each)]
    own = default_tile((256, 1024 * each), (64, 256 * each), dtype, "128B")
    assert boxes((256, 1024 * each), own, dtype) == (1, [128, 64, 2])
    with pytest.raises(Refused, match="inside a byte"):
        plan_copy((256, 1024 * each), layout, dtype=dtype, at=(0, 1))
    with pytest.raises(Refused, match="no whole bytes"):
        plan_copy((256, 1024 * each + 1), layout, dtype=dtype)


@pytest.mark.parametrize(
    "text",
    [
        "Swizzle<3,3,3> o S[(128, 64) : (64, 1)]",
        "Swizzle<3,3,3> o S[((16, 8), (4, 16)) : ((512, 64), (16, 1))]",
        "Swizzle<3,3,3> o ((8,16),(64,1)):((64,512),(1,0))",
        "Swizzle<1,3,3> o Swizzle<2,4,3> o S[(128, 64) : (64, 1)]",
    ],
)
def test_a_tile_is_known_by_its_map_not_by_its_spelling(text):
    assert boxes((4096, 4096), parse(text)) == (1, [64, 128])


def test_a_tile_in_bytes_is_the_tile_in_elements():
    layout = tile("128B", "k", "bf16", 128, 64)
    assert boxes((4096, 4096), layout.in_bytes("bf16")) == (1, [64, 128])


def test_stages_are_offsets():
    layout = tile("64B", "k", "bf16", 32, 32) + 3 * 1024
    assert plan_copy((64, 64), layout, dtype="bf16").boxes[0].start == 3 * 2048
    shifted = Swizzle(3, 3, 3) @ (S[(8, 64) : (64, 1)] + 64)
    assert plan_copy((64, 64), shifted, dtype="bf16").boxes[0].start == 128


def test_the_other_order_is_known():
    found = orders((4096, 1004), (128, 64), "bf16", "128B", strides=(1, 4096))
    assert {order: plan.count for order, plan in found.items()} == {"mn": 8, "k": 1}
    assert orders((64, 64, 64), (8, 8, 64), "bf16", "128B") == {}


def test_a_plan_costs_by_digits_and_not_by_elements():
    plan = plan_copy((1 << 32, 1 << 32), S[(1 << 10, 128) : (128, 1)], dtype="u8", strides=(1 << 39, 1))
    assert (plan.count, plan.tensor_map.box) == (4, (256, 128))
    assert "2^40" in plan.notes[0]
    with pytest.raises(Refused, match="shared memory") as no:
        plan_copy((1 << 30, 1 << 30), S[(1 << 30, 1 << 30) : (1 << 30, 1)], dtype="u8")
    assert no.value.witness["rule"] == "shared-size"


def fewest_boxes(digits, tensor, mode, max_rank):
    """(whether some start where none may, the fewest boxes) over every way of cutting every digit."""

    def after(box, rest, reach):
        counts = [(any(digit.stride % 128 for digit in rest), prod(digit.extent for digit in rest))]
        if rest and not hindrance(rest[0], reach, box, tensor, max_rank):
            for size in range(2, min(rest[0].extent, 256) + 1):
                if rest[0].extent % size == 0:
                    taken, left = rest[0].split(size)
                    others = [*left, *rest[1:]]
                    counts.append(after([*box, taken], others, reach * size))
        return min(counts)

    counts = []
    widest = min(256, mode.width // tensor.element if mode.bits else 256)
    for row in range(1, widest + 1):
        if digits[0].extent % row == 0 and row * tensor.element % 16 == 0:
            first, left = digits[0].split(row)
            others = [*left, *digits[1:]]
            counts.append(after([first], others, row_pitch(mode, row * tensor.element)))
    return min(counts)


def test_no_cut_takes_fewer_boxes(times):
    rng, several = random.Random(7), 0
    for _ in range(times(400)):
        dtype, mode = ElementType.of(rng.choice(["u8", "bf16"])), rng.choice(list(MODES.values()))
        element = dtype.bits // 8
        shape = tuple(rng.choice([96, 512, 520, 768, 960, 1000, 4096, 4128]) for _ in range(2))
        columns, rows = (
            rng.choice([(64,), (128,), (384,), (32, 4), (16, 8), (48, 3)]),
            rng.choice([(300,), (512,), (8, 16), (24,), (6, 50)]),
        )
        digits = [(dim, part) for dim, parts in ((1, columns), (0, rows)) for part in parts]
        order = [digits[0], *rng.sample(digits[1:], len(digits) - 1)]
        if any(one[0] == other[0] for one, other in pairwise(order)):
            continue  # they are one digit
        steps, stride, made = [1, 1], element, []
        for dim, part in order:
            made.append(Digit(dim, steps[dim], part, stride))
            steps[dim] *= part
            stride *= part
        tensor = Tensor(dtype, shape, (-(-shape[1] * element // 16) * 16, element))
        rank = rng.choice([2, 3, 4, 5])
        found = fold(made, tensor, mode, rank)
        misaligned, fewest = fewest_boxes(made, tensor, mode, rank)
        assert found.aligned is not misaligned
        if found.aligned:
            assert found.boxes == fewest
            several += found.boxes > 1
    assert times(30) < several < times(250)


# -- refusals --------------------------------------------------------------------------------------

K_MAJOR = tile("128B", "k", "bf16", 128, 64)

REFUSED = {
    "storage": [
        ((64, 64), S[(8, 64) : (1 @ laneid, 1)], {}),
        ((64, 64), S[(8, 64) : (64, 1)] + R[2:512], {}),
    ],
    "overlap": [((64, 64), S[(8, 64) : (32, 1)], {}), ((64, 64), S[(8, 64) : (0, 1)], {})],
    "ascending": [((64, 64), S[(8, 64) : (-64, 1)] + 448, {})],
    "swizzle": [
        ((64, 64), Swizzle(3, 4, 3) @ S[(32, 64) : (64, 1)], {}),
        ((64, 64), Swizzle(2, 3, 4) @ S[(32, 64) : (64, 1)], {}),
    ],
    "element": [((64, 64), S[(8, 64) : (128, 2)], {})],
    "contiguous": [
        ((4096, 4096), tile("128B", "mn", "bf16", 128, 64), {}),
        ((4096, 4096), K_MAJOR, {"strides": (1, 4096)}),
        ((64, 64), S[(8, (32, 2)) : (64, (1, 32))], {}),
        ((64, 64), K_MAJOR, {"strides": (128, 2)}),
    ],
    "stride-multiple": [((64, 100), K_MAJOR, {})],
    "address": [((4096, 4096), K_MAJOR, {"address": 8})],
    "box-multiple": [((64, 64), S[(8, 4) : (4, 1)], {})],
    "shared-address": [
        ((64, 64), S[(8, 64) : (72, 1)], {}),
        ((64, 64), S[(8, 64) : (64, 1)] + 8, {}),
    ],
    "rank": [((8,) * 6, S[(8, 8) : (8, 1)], {}), ((), S[()], {})],
    "fill": [((64, 64), S[(8, 64) : (64, 1)], {"dtype": "s8", "fill": "nan"})],
    "type": [((64, 64), S[(8, 64) : (64, 1)], {"dtype": "e2m3"})],
    "coordinate": [((1 << 32, 64), S[(8, 64) : (64, 1)], {"at": (1 << 31, 0)})],
    "coordinate-multiple": [((64, 64), S[(8, 32) : (32, 1)], {"at": (0, 4)})],
    "extent": [((1, (1 << 32) + 1), S[(1, 64) : (64, 1)], {"dtype": "u8"})],
    "stride-range": [((2, 1 << 32), S[(2, 64) : (64, 1)], {"dtype": "u8", "strides": (1 << 40, 1)})],
}


@pytest.mark.parametrize(
    ("rule", "shape", "layout", "more"),
    [(rule, *asked) for rule, questions in REFUSED.items() for asked in questions],
)
def test_a_refusal_names_its_rule(rule, shape, layout, more):
    with pytest.raises(Refused) as no:
        plan_copy(shape, layout, **{"dtype": "bf16"} | more)
    assert no.value.code == "TW607"
    assert no.value.witness["rule"] == rule
    assert no.value.hint


def test_every_rule_of_layouts_is_refused_by():
    assert LAYOUT_RULES.keys() <= REFUSED.keys()
    assert REFUSED.keys() <= LAYOUT_RULES.keys() | RULES.keys()


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"strides": (64,)}, "and 1 stride"),
        ({"at": (0,)}, "and 1 coordinate"),
        ({"shape": (64,)}, "a tile of 2 modes"),
        ({"shape": (64, 0)}, "positive"),
        ({"dtype": "f33"}, "unknown dtype"),
        ({"dtype": "b128"}, "no type of a tensor map"),
        ({"l2": "1B"}, "L2"),
        ({"at": (0, 0.5)}, "integer"),
    ],
)
def test_what_is_not_understood(asked, says):
    with pytest.raises(LayoutError, match=says):
        plan_copy(**{"shape": (64, 64), "tile": S[(8, 64) : (64, 1)], "dtype": "bf16"} | asked)


def test_tiles_that_are_no_whole_rows_of_the_swizzle():
    with pytest.raises(Refused, match="no whole rows") as no:
        default_tile((64, 96), (8, 96), "bf16", "128B")
    assert no.value.code == "TW603"
    assert default_tile((64, 96), (8, 96), "bf16", "64B").size == 8 * 96
    with pytest.raises(LayoutError, match="order"):
        default_tile((64, 64), (8, 64), "bf16", "128B", order="z")
    with pytest.raises(LayoutError, match="3 modes"):
        default_tile((64, 64, 64), (8, 8, 64), "bf16", "128B", order="k")
    with pytest.raises(Refused, match="contiguous"):
        default_tile((64, 64), (64,), "bf16", "none", strides=(1, 64))


@pytest.mark.parametrize("major", ["k", "mn"])
@pytest.mark.parametrize("mode", ["32B", "64B", "128B"])
def test_the_default_tile_is_one_of_wgmma_s(major, mode):
    strides = (4096, 1) if major == "k" else (1, 4096)
    own = default_tile((4096, 4096), (128, 64), "bf16", mode, strides=strides)
    assert own.same(tile(mode, major, "bf16", 128, 64, order="mn" if major == "k" else "k")).answer
    assert boxes((4096, 4096), own, strides=strides)[0] == 1
