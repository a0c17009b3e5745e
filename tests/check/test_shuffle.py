"""Moves inside a warp: every plan run on paper, on random numbers; the bounds; what is refused."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.check import shuffle_machine as machine
from tests.check.conftest import golden, tilewise
from tests.check.shuffle_cases import CASES, Case, random_cases

from tilewise import Layout, LayoutError, Refused, S, laneid, parse, reg, warpid, wid_in_wg
from tilewise.check.registers.programs import programs
from tilewise.check.registers.reading import fit
from tilewise.check.registers.rounds import LaneMap, completed, lane_layout
from tilewise.check.registers.steps import Program, WarpStep, followed
from tilewise.check.registers.warp import LANE, LabelMap, WarpTable, bound, fitted
from tilewise.check.shuffle import reorder, shuffle
from tilewise.core.bits import Basis
from tilewise.core.dtypes import DType
from tilewise.core.shapes import extents_of
from tilewise.hardware.limits import LANE_BITS
from tilewise.questions.report import as_json
from tilewise.questions.shuffle import plan_fields, plan_text

__all__ = ["golden", "tilewise"]

GOLDENS = Path(__file__).parent / "goldens"
RANDOM = 80


def plan_data(plan: Any) -> Any:
    """Return the fields of a plan as JSON has them."""
    return as_json(plan_fields(plan))


def wrong_in(case: Case, data: dict[str, Any] | None = None, seed: int = 1) -> int:
    """Places that end up wrong when the plan is run as its JSON tells it."""
    data = plan_data(case.plan) if data is None else data
    return machine.differences(data, *case.layouts, DType.of(case.dtype).bits, seed)


# -- plans are right -------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_case_moves_every_element_where_it_belongs(case: Case) -> None:
    assert wrong_in(case) == 0


def test_moves_drawn_at_random(times) -> None:
    kinds: Counter[str] = Counter()
    for case in random_cases(times(RANDOM), seed=11):
        assert wrong_in(case) == 0, (case.source, case.target, case.dtype)
        kinds.update(case.plan.cost)
        kinds["free"] += case.plan.free
    assert set(kinds) >= {"shfl", "select", "prmt", "rotate", "merge", "free"}


@pytest.mark.slow
def test_a_wrong_step_is_noticed() -> None:
    """Each step of some plans, made wrong in one lane or left out."""
    chosen = [case for case in CASES if 0 < len(case.plan.program.steps) < 14]
    tried = 0
    for case in chosen:
        for at, step in enumerate(plan_data(case.plan)["steps"]):
            if step["operation"] == "movmatrix":
                continue
            data = plan_data(case.plan)
            mutant = dict(step, mode="idx", amount=None, by=[0] * 32)
            if step["operation"] == "prmt":
                mutant["by"] = [0x1111] * 32
            if mutant["by"] != step["by"]:
                data["steps"][at] = mutant
                tried += 1
                assert wrong_in(case, data) > 0, (case, step)
    assert tried > 60


def test_goldens(golden: Any) -> None:
    """The golden has the printed plan of every case."""
    lines = []
    for case in CASES:
        shown = plan_text(case.plan).splitlines()
        if len(shown) > 24:
            shown = [*shown[:12], f"  ... {len(shown) - 16} more", *shown[-4:]]
        lines += [f"## {case.name}, {case.dtype}", case.source, case.target, *shown, ""]
    golden(GOLDENS / "shuffle.txt", "\n".join(lines))


# -- tables that no layout spells ------------------------------------------------------------------


def random_table(rng: Random) -> WarpTable:
    """Any positions from anywhere: a permutation of all, an affine map, or every one drawn alone."""
    bits, kind = rng.choice((1, 4, 8, 16, 32)), rng.choice(("any", "permuted", "affine"))
    held, count = rng.choice((1, 2, 4)), rng.choice((1, 2, 4))
    everything = [(lane, at) for lane in range(32) for at in range(held)]
    if kind == "affine":
        return _affine_table(rng, bits, (held - 1).bit_length())
    drawn = rng.sample(everything, len(everything)) if kind == "permuted" else []
    if kind == "permuted":
        count = held
    drawn = drawn or [rng.choice(everything) for _ in range(32 * count)]
    rows = [tuple(frozenset({drawn[lane * count + at]}) for at in range(count)) for lane in range(32)]
    return WarpTable(bits, tuple(rows), held)


def _affine_table(rng: Random, bits: int, width: int) -> WarpTable:
    basis, columns = Basis(), list[int]()
    while len(columns) < LANE_BITS + width:
        column = rng.randrange(1, 1 << LANE_BITS + width)
        if basis.add_new(column):
            columns.append(column)
    found = LabelMap(
        rng.randrange(1 << LANE_BITS + width), tuple(columns[LANE_BITS:]), tuple(columns[:LANE_BITS])
    )
    rows = [
        tuple(frozenset({(place & LANE, place >> LANE_BITS)}) for place in row)
        for row in ([found.label(lane, at) for at in range(1 << width)] for lane in range(32))
    ]
    return WarpTable(bits, tuple(rows), 1 << width)


def holds(table: WarpTable, program: Program, rng: Random) -> bool:
    """Return whether the program, run on random numbers, puts everything where the table says."""
    filled = [[rng.getrandbits(32) for _ in range(32)] for _ in range(table.registers_held)]
    names = [f"a{own}" for own in range(program.inputs)] + [f"t{i}" for i in range(len(program.steps))]
    steps = [
        {"name": f"t{at}", "operation": step.operation, "of": [names[own] for own in step.of], "by": step.by,
         "mode": "idx", "amount": None}
        for at, step in enumerate(program.steps)
    ]  # fmt: skip
    data = {"steps": steps, "result": [None if own is None else names[own] for own in program.results]}
    result = machine.run(data, {f"a{i}": register for i, register in enumerate(filled)})
    return all(
        machine.read(result, lane, at, table.bits)
        in {machine.read(filled, its, position, table.bits) for its, position in sources}
        for lane, at, sources in table.at()
    )


def test_every_program_that_is_tried_is_right() -> None:
    """Not only the one that is taken; and where lanes have all positions to themselves, the bound is met."""
    rng = Random(5)
    met: Counter[tuple[bool, bool]] = Counter()
    for _ in range(60):
        table = random_table(rng)
        tried = list(programs(table, fitted(table), frozenset()))
        assert all(holds(table, program, rng) for program in tried)
        least = bound(table, by_shuffles=False).count
        fewest = min(program.exchanges for program in tried)
        assert fewest >= least
        one_to_one = len({unit for _, _, (unit,) in table.at()}) == 32 * table.positions
        met[table.bits == 32 and one_to_one, fewest == least] += 1
    assert met[True, True] > 5
    assert not met[True, False]


def test_what_steps_do_is_told_alike_field_by_field_and_on_numbers() -> None:
    """`followed`, which proves plans, against the machine on paper."""
    rng = Random(3)
    steps = (
        WarpStep("shfl", (0,), tuple(rng.randrange(32) for _ in range(32))),
        WarpStep("select", (0, 1), tuple(rng.randrange(2) for _ in range(32))),
        WarpStep("prmt", (2, 3), tuple(rng.randrange(0x10000) & 0x7777 for _ in range(32))),
        WarpStep("movmatrix", (4,)),
        WarpStep("rotate", (5,), tuple(8 * rng.randrange(4) for _ in range(32))),
        WarpStep("merge", (6, 0), tuple(rng.choice((0xFF, 0xFF00FF00)) for _ in range(32))),
    )
    program = Program(2, steps, tuple(range(8)))
    filled = [[rng.getrandbits(32) for _ in range(32)] for _ in range(2)]
    names = [*(f"a{i}" for i in range(2)), *(f"t{i}" for i in range(6))]
    told = [
        {"name": f"t{i}", "operation": step.operation, "of": [names[own] for own in step.of], "by": step.by,
         "mode": "idx", "amount": None}
        for i, step in enumerate(steps)
    ]  # fmt: skip
    numbers = machine.run({"steps": told, "result": names}, dict(zip(names, filled, strict=False)))
    for register, labels in zip(numbers, followed(program, 8), strict=True):
        assert register is not None
        assert labels is not None
        for lane in range(32):
            for i, label in enumerate(labels[lane]):
                assert label is not None
                its, field = label
                assert register[lane] >> 8 * i & 0xFF == filled[field // 4][its] >> 8 * (field % 4) & 0xFF


# -- bounds ----------------------------------------------------------------------------------------


def test_the_bound_is_what_a_lane_needs_and_has_not() -> None:
    """Counted from the layouts alone, for elements that fill a register."""
    for case in [*CASES, *random_cases(60, seed=2)]:
        if DType.of(case.dtype).bits != 32:
            continue
        before, after = (machine.places(layout) for layout in case.layouts)
        needs: Counter[tuple[object, int]] = Counter()
        for element, own in enumerate(after):
            for warp, lane in {(warp, lane) for warp, lane, _ in own}:
                needs[warp, lane] += (warp, lane) not in {(w, its) for w, its, _ in before[element]}
        assert case.plan.bound.count >= max(needs.values(), default=0)
        assert case.plan.exchanges >= case.plan.bound.count


@pytest.mark.parametrize("name", ["32x32 transposed, f32", "rows to columns, 32x8 f32"])
def test_transposes_of_registers_take_one_shuffle_less_than_registers(name: str) -> None:
    plan = next(case.plan for case in CASES if case.name == name)
    assert plan.exchanges == plan.registers[0] - 1
    assert plan.least
    assert {LaneMap.of(step.by).mode for step in plan.program.steps if step.exchanges} == {"bfly"}


def test_each_bit_exchanged_halves_what_stays() -> None:
    """With r bits of the lane exchanged with r of the register, 1 - 2^-r of the registers are shuffled."""
    for r in range(1, 6):
        low, high = "1@reg", f"{1 << 5 - r}@laneid"
        rest = f"S[({1 << r}, {1 << 5 - r}, {1 << r}) : "
        source, target = (
            parse(f"{rest}({one}, 1@laneid, {other})]") for one, other in ((low, high), (high, low))
        )
        assert shuffle(source, target, "f32").exchanges == (1 << r) - 1


def test_without_and_cheapest() -> None:
    source, target = parse("S[32 : 1@laneid]"), parse("S[32 : 1@reg] + R[32 : 1@laneid]")
    assert shuffle(source, target, "b1").cost == {"ballot": 1}
    by_shuffles = shuffle(source, target, "b1", without="ballot")
    assert by_shuffles.cost["shfl"] == 5 == by_shuffles.bound.count
    fewest = shuffle(source, target, "f32")
    assert (fewest.exchanges, fewest.least) == (31, True)
    assert fewest.cheaper is not None
    cheapest = shuffle(source, target, "f32", cheapest=True)
    assert cheapest.cost == {"shfl": 32}
    assert not cheapest.least
    assert cheapest.cheaper is None
    with pytest.raises(LayoutError, match="cannot do without 'shfl'"):
        shuffle(source, target, "b1", without=["shfl"])


def test_long_plans_say_that_shared_memory_is_likely_faster() -> None:
    """As an H200 timed them."""
    by_name = {case.name: case.plan for case in CASES}
    slower = {name for name, plan in by_name.items() if plan.likely_slower}
    assert slower >= {"32x32 transposed, f32", "rows to columns, 32x8 f32", "32x32 transposed, u8"}
    assert not slower & {"D of four m16n8k32 to A, e4m3", "16x16 transposed, f16", "8x8 transposed, f32",
                         "two lane bits for two register bits", "32x32 transposed, b1"}  # fmt: skip
    shared = by_name["16x16 transposed, f16"].shared
    assert (shared.stores, shared.loads, shared.steps) == (4, 8, 4)


# -- another order of a mode -----------------------------------------------------------------------


def test_a_mode_in_another_order() -> None:
    """Where there is one, nothing leaves its lane with it, and it is a permutation."""
    found = 0
    for case in CASES:
        order = case.plan.reorder
        if order is None:
            continue
        found += 1
        source, target = case.layouts
        modes = [range(extent) for extent in extents_of(source.shape)]
        assert sorted(order.order) == list(modes[order.mode])
        for index in product(*modes):
            taken = (*index[: order.mode], order.order[index[order.mode]], *index[order.mode + 1 :])
            assert set(order.source.places(*index)) == set(source.places(*taken))
        assert shuffle(order.source, target, case.dtype).exchanges == 0
    assert found >= 4


@pytest.mark.parametrize("dtype", ["e4m3", "e5m2"])
def test_the_accumulator_of_a_wgmma_as_8_bit_a(dtype: str) -> None:
    """Four shuffles, or none where K is 16 g + 8 c + 2 t + e, as neighbours that need no shuffle have it."""
    plan = shuffle(parse("wgmma.D(f32, n=32)"), parse(f"wgmma.A({dtype})"), dtype)
    assert (plan.exchanges, plan.least) == (4, True)
    assert plan.reorder is not None
    assert str(plan.reorder.layout) == "S[(2, 4, 2, 2) : (16, 2, 8, 1)]"


# -- lanes -----------------------------------------------------------------------------------------


def test_maps_of_lanes_are_completed_and_named() -> None:
    up = [None, *range(31)]
    assert LaneMap.of(completed(up)) == LaneMap("up", 1)
    assert LaneMap.of(completed([None, 3, *[None] * 30])) == LaneMap("bfly", 2)
    assert LaneMap.of(completed([7, *[None] * 30, 7])) == LaneMap("idx", 7)
    swapped = [lane >> 1 & 1 | lane & 28 | (lane & 1) << 1 for lane in range(32)]
    some = [own if lane in (0, 1, 2, 3, 4, 8, 16) else None for lane, own in enumerate(swapped)]
    assert list(completed(some)) == swapped
    for lanes in (swapped, [lane ^ 5 for lane in range(32)], [lane // 4 for lane in range(32)]):
        layout = lane_layout(lanes)
        assert layout is not None
        assert [layout.place(lane)["laneid"] for lane in range(32)] == lanes
    assert lane_layout([(lane * lane) % 32 for lane in range(32)]) is None


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "target", "dtype", "code", "words"),
    [
        ("S[(2, 32) : (1@warpid, 1@laneid)]", "S[64 : 1@tx] + 32@tx", "f32", "TW609",
         "changes its warp"),
        ("S[64 : 1@tx]", "S[64 : -1@tx] + 63@tx", "f32", "TW609", "changes its warp"),
        ("S[32 : 1@laneid]", "S[32 : 1]", "f32", "TW609", "TO has elements at m"),
        ("S[32 : 1@TLane]", "S[32 : 1@laneid]", "f32", "TW609", "changes its warp"),
        ("S[(2, 2) : (1@warpid, 1@laneid)]", "S[(2, 2) : (1@warpid, 1@laneid)] + 1@warpid", "f32", "TW609",
         "changes its warp"),
        ("S[32 : 1@laneid]", "S[(8, 4) : (1@laneid, 0)]", "f32", "TW505", "two elements at"),
    ],
)  # fmt: skip
def test_what_is_no_move_inside_a_warp(source: str, target: str, dtype: str, code: str, words: str) -> None:
    with pytest.raises(Refused, match=words) as refused:
        shuffle(parse(source), parse(target), dtype)
    assert refused.value.code == code
    assert refused.value.witness


def test_warps_that_differ_in_what_they_do() -> None:
    """Warp 1 turns its lanes around, warp 0 does not: there is no one program."""
    source = parse("S[(2, 2) : (1@wid_in_wg, 1@laneid)]")
    target = parse("S[(2, 2) : (1@wid_in_wg + 1@laneid, 1@laneid)]")
    with pytest.raises(Refused, match="warps have different things to do") as refused:
        shuffle(source, target, "f32")
    assert refused.value.code == "TW609"


@pytest.mark.parametrize(
    ("source", "target", "dtype", "code"),
    [
        ("S[32 : 1@laneid]", "S[24 : 1@laneid]", "f32", "TW202"),
        ("S[(4, 8) : (8@laneid, 1@laneid)]", "S[(8, 4) : (4@laneid, 1@laneid)]", "f32", "TW202"),
        ("S[(3, 32) : (1@reg, 1@laneid)]", "S[(32, 3) : (1@laneid, 1@reg)]", "f32", "TW202"),
        ("S[64 : 1@laneid]", "S[64 : 1@laneid]", "f32", "TW203"),
        ("S[4 : -1@reg]", "S[4 : 1@reg]", "f32", "TW203"),
        ("S[256 : 1@reg]", "S[256 : 1@reg]", "f32", "TW203"),
        ("S[32 : 1@laneid]", "S[32 : 1@laneid]", "e2m3", "TW106"),
        ("S[32 : 1@laneid]", "S[32 : 1@laneid]", "f31", "TW105"),
        (
            "S[(8192, 32) : (1@wid_in_wg, 1@laneid)]",
            "S[(8192, 32) : (1@wid_in_wg, 1@laneid)]",
            "f32",
            "TW301",
        ),
    ],
)
def test_what_is_not_understood(source: str, target: str, dtype: str, code: str) -> None:
    with pytest.raises(LayoutError) as error:
        shuffle(parse(source), parse(target), dtype)
    assert error.value.code == code
    assert not isinstance(error.value, Refused)


# -- the command -----------------------------------------------------------------------------------


def test_the_command_in_json(tilewise: Any) -> None:
    run = tilewise("shuffle", "S[32 : 1@laneid]", "S[32 : -1@laneid] + 31@laneid", "--dtype", "f32", "--json")
    assert run.code == 0
    assert run.json == {
        "dtype": "f32",
        "free": False,
        "exchanges": 1,
        "bound": {"exchanges": 1, "reason": "lane 0 needs 1 register from other lanes", "lane": 0},
        "least": True,
        "cost": {"shfl": 1},
        "unit_bits": 32,
        "registers": {"from": 1, "to": 1},
        "steps": [
            {
                "name": "t0",
                "operation": "shfl",
                "of": ["a0"],
                "by": [31 - lane for lane in range(32)],
                "text": "shfl.bfly(a0, 31)",
                "mode": "bfly",
                "amount": 31,
                "lane": "lane ^ 31",
                "lanes": "S[32 : -1@laneid] + 31@laneid",
            }
        ],
        "result": ["t0"],
        "places": 32,
        "cycles": 1.0,
        "shared": {"stores": 1, "loads": 1, "cycles": 2.0, "likely_faster": False},
        "cheaper": None,
        "reorder": None,
    }


def test_the_command_refuses(tilewise: Any) -> None:
    layout = "S[(2, 32) : (1@warpid, 1@laneid)]"
    target = "S[(2, 16, 2) : (16@laneid, 1@laneid, 1@warpid)]"
    run = tilewise("shuffle", layout, target, "--dtype", "f32", "--json")
    assert run.code == 1
    found = run.json
    assert found["code"] == "TW609"
    assert found["witness"] == {
        "index": [0, 0, 1],
        "from": {"warpid": 0, "laneid": 1},
        "to": {"laneid": 0, "warpid": 1},
    }
    assert "changes its warp" in found["reason"]
    for words in (
        [layout, layout],
        ["-", "-", "--dtype", "f32"],
        [layout, layout, "--dtype", "f32", "--name", "f"],
    ):
        assert tilewise("shuffle", *words).code == 2


def test_the_command_reads_bytes_names_and_standard_input(tilewise: Any) -> None:
    entry = tilewise("catalog", "mma.D", "--shape", "m16n8k16", "--dtype", "f32", "--json").out
    piped = tilewise("shuffle", "-", "mma.C(m16n8k16, f32)", "--dtype", "f16", stdin=entry)
    assert piped.code == 0
    assert piped.out.startswith("no shuffles: registers are renamed")
    counted = tilewise("shuffle", "S[(32, 2) : (1@laneid, 2@reg)]", "S[(32, 2) : (1@laneid, 2@reg)]",
                       "--dtype", "f16", "--unit", "byte", "--json")  # fmt: skip
    assert counted.json["registers"] == {"from": 1, "to": 1}


D, B, A = "mma.D(m16n8k16, f16)", "mma.B(m16n8k16, f16)", "mma.A(m16n8k16, f16)"


def test_shapes_that_do_not_say_which_element_is_which(tilewise: Any) -> None:
    """D is 16 x 8 and B 8 x 16: the answer offers a transpose, which movmatrix does, and a reshape."""
    run = tilewise("shuffle", D, B, "--dtype", "f16")
    assert run.code == 2
    assert "FROM is 16 x 8 and TO 8 x 16" in run.err
    assert "--permute 1,0 takes its modes in that order: 2 movmatrix" in run.err
    assert "--reshape 8,16" in run.err
    turned = tilewise("shuffle", D, B, "--dtype", "f16", "--permute", "1,0", "--json").json
    assert turned["cost"] == {"movmatrix": 2}
    row_by_row = tilewise("shuffle", D, B, "--dtype", "f16", "--reshape", "8,16", "--json").json
    assert row_by_row["cost"] == {"shfl": 2, "select": 4}
    both = ["--reshape", "4,32", "--permute", "1,0"]
    assert tilewise("shuffle", D, "mma.A(m16n8k8, f16)", "--dtype", "f16", *both).code == 2
    assert tilewise("shuffle", D, B, "--dtype", "f16", "--permute", "1,(0,)").code == 2
    assert tilewise("shuffle", D, B, "--dtype", "f16", "--permute", "0,0").code == 2
    assert tilewise("shuffle", D, B, "--dtype", "f16", "--reshape", "7,16").code == 2


def test_a_reshape_that_no_digits_say_is_a_flat_index_all_the_same() -> None:
    source, target = parse("S[(3, 32) : (1@reg, 1@laneid)]"), parse("S[(32, 3) : (1@laneid, 1@reg)]")
    case = next(case for case in CASES if case.name == "three registers to lanes in threes")
    assert shuffle(source, target, "f32", reshape=(32, 3)).program == case.plan.program
    with pytest.raises(Refused, match="the map steps every"):
        shuffle(source, target, "f32", reshape=(32, 3), permute=(0, 1))


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ((16, 8), (16, 8), True),
        ((16, 8), (8, 16), False),
        ((128,), (8, 16), True),
        ((16, 8), (2, 8, 2, 4), True),
        ((8, 4, 2), (4, 2, 8), True),
        ((16, 1, 8), (16, 8), True),
        ((2, 32), (4, 16), False),
        ((8, 16, 2), (16, 8, 2), False),
        ((1,), (1, 1), True),
    ],
)
def test_modes_that_are_each_others_cut_or_joined(one: Any, other: Any, alike: bool) -> None:
    assert fit(one, other) is fit(other, one) is alike


# -- tiles, repeated ------------------------------------------------------------------------------


def test_two_tiles_of_d_for_one_of_a(tilewise: Any) -> None:
    run = tilewise("shuffle", D, A)
    assert run.out.startswith(
        "no shuffles: registers are renamed\n  1 x 2 tiles of FROM, registers one after"
    )
    back = tilewise("shuffle", A, D, "--json").json
    assert back["free"]
    assert back["repeated"] == {"from": [1, 1], "to": [1, 2]}
    assert "convert" not in back
    assert "repeated" not in tilewise("shuffle", D, D, "--json").json
    for other in ("S[24 : 1@laneid]", "S[(3, 5) : (1@laneid, 1@reg)]", "S[(16, 12) : (1@laneid, 1@reg)]"):
        refused = tilewise("shuffle", D, other, "--dtype", "f16")
        assert refused.code == 2
        assert "TW202" in refused.err
        assert "a whole number of tiles of the other" in refused.err


def test_both_are_repeated_where_the_order_of_modes_is_given(tilewise: Any) -> None:
    """D is 16 x 8 and B 8 x 32: as they are, both are repeated; transposed, D alone."""
    words = ("shuffle", D, "mma.B(m16n8k32, e4m3)")
    asked = tilewise(*words)
    assert asked.code == 2
    assert "--permute 0,1 repeats both to 16 x 32" in asked.err
    both = tilewise(*words, "--permute", "0,1", "--json").json
    assert both["repeated"] == {"from": [1, 4], "to": [2, 1]}
    assert tilewise(*words, "--permute", "1,0", "--json").json["repeated"] == {"from": [1, 2], "to": [1, 1]}


def test_warps_that_have_other_rows_refuse_tiles_in_one_lane(tilewise: Any) -> None:
    run = tilewise("shuffle", D, "wgmma.A(f16)")
    assert run.code == 1
    assert "hint: 4 x 2 tiles of FROM, registers one after another; warps exchange" in run.out


def naive_tiles(layout: Layout, rows: int, columns: int) -> list[set[tuple[Any, int, int]]]:
    """Places of every element of a grid of tiles: tile (r, c) has the registers r * columns + c of tiles."""
    places = machine.places(layout)
    height, width = extents_of(layout.shape)
    held = 1 + max(position for own in places for _, _, position in own)
    return [
        {(warp, lane, position + held * (i // height * columns + j // width)) for warp, lane, position in own}
        for i in range(height * rows)
        for j in range(width * columns)
        for own in [places[i % height * width + j % width]]
    ]


CHAINED = [
    *((f"wgmma.D(f32, n={n})", f"wgmma.A({dtype})", n, depth)
      for dtype, depth in (("f16", 16), ("bf16", 16), ("e4m3", 32)) for n in (16, 32, 64, 96, 128, 256)),
    *((f"mma.D(m16n8k{depth}, f32)", f"mma.A(m16n8k{depth}, {dtype})", 8, depth)
      for dtype, depth in (("f16", 8), ("f16", 16), ("bf16", 8), ("bf16", 16), ("e4m3", 32))),
    ("mma.D(m16n8k8, f32)", "mma.A(m16n8k4, tf32)", 8, 4),
    ("mma.D(m16n8k32, s32)", "mma.A(m16n8k32, s8)", 8, 32),
]  # fmt: skip


@pytest.mark.parametrize(("source", "target", "n", "depth"), CHAINED)
def test_the_accumulator_as_a_of_the_next_product(source: str, target: str, n: int, depth: int) -> None:
    """The layouts are those of the definition, and the program is right on random numbers."""
    dtype = target.split(",")[-1].split("(")[-1].strip(" )")
    plan = shuffle(parse(source), parse(target), dtype)
    large = max(n, depth)
    tiles = (1, large // n), (1, large // depth)
    assert plan.tiles == (None if n == depth else tiles)
    assert machine.places(plan.source) == naive_tiles(parse(source), *tiles[0])
    assert machine.places(plan.target) == naive_tiles(parse(target), *tiles[1])
    assert machine.differences(plan_data(plan), plan.source, plan.target, DType.of(dtype).bits, 3) == 0
    assert plan.free is (DType.of(dtype).bits == 16)


def test_rows_of_tiles() -> None:
    tall = S[(32, (8, 4)) : (1 @ reg, (4 @ laneid, 1 @ laneid))]
    plan = shuffle(parse(D), tall, "f16", permute=(0, 1))
    assert plan.tiles == ((2, 4), (1, 1))
    assert machine.places(plan.source) == naive_tiles(parse(D), 2, 4)
    assert machine.differences(plan_data(plan), plan.source, plan.target, 16, 5) == 0


def test_tiles_of_layouts_in_the_order_of_cute() -> None:
    """Numbers of tiles are in the order of the modes, as they are written."""
    wide = S[(16, 32) : (1 @ laneid, 1 @ reg)].ordered("cute")
    narrow = S[(16, 8) : (1 @ laneid, 1 @ reg)].ordered("cute")
    plan = shuffle(narrow, wide, "f16")
    assert (plan.free, plan.tiles) == (True, ((1, 4), (1, 1)))


@pytest.mark.parametrize(
    ("source", "target", "instruction"),
    [
        ("wgmma.D(f32, n=64)", "wgmma.A(bf16)", "cvt.rn.bf16x2.f32"),
        ("wgmma.D(f32, n=64)", "wgmma.A(f16)", "cvt.rn.f16x2.f32"),
        ("wgmma.D(f32, n=64)", "wgmma.A(e4m3)", "cvt.rn.satfinite.e4m3x2.f32"),
        ("wgmma.D(f32, n=64)", "wgmma.A(e5m2)", "cvt.rn.satfinite.e5m2x2.f32"),
        ("wgmma.D(f16, n=64)", "wgmma.A(e4m3)", "cvt.rn.satfinite.e4m3x2.f16x2"),
        ("wgmma.D(s32, n=64)", "wgmma.A(s8)", "cvt.pack.sat.s8.s32.b32"),
        ("mma.D(m16n8k8, f32)", "mma.A(m16n8k8, tf32)", "cvt.rna.tf32.f32"),
        ("wgmma.D(f16, n=64)", "wgmma.A(bf16)", None),
    ],
)
def test_the_conversion_that_comes_first(tilewise: Any, source: str, target: str, instruction: Any) -> None:
    """In text, in JSON and above the code, whether --dtype says TO's type or is left out."""
    found = tilewise("shuffle", source, target, "--json").json
    assert found["convert"]["instruction"] == instruction
    assert found["convert"]["to"] == found["dtype"]
    assert tilewise("shuffle", source, target, "--dtype", found["dtype"], "--json").json == found
    first = f"convert {found['convert']['from']} to {found['dtype']} first"
    for words in ((), ("--code",)):
        said = tilewise("shuffle", source, target, *words).out
        assert first + (f": {instruction} d, " if instruction else "") in said
    bits = f"b{DType.of(found['dtype']).bits}"
    assert "convert" not in tilewise("shuffle", source, target, "--dtype", bits).out


def test_the_type_is_asked_where_it_is_not_known(tilewise: Any) -> None:
    run = tilewise("shuffle", D, "S[(16, 8) : (1@laneid, 1@reg)]")
    assert (run.code, "TW401" in run.err) == (2, True)


def test_relation_names_the_command(tilewise: Any) -> None:
    rows, columns = "S[(32, 2) : (1@laneid, 1@reg)]", "S[(16, 2, 2) : (2@laneid, 1@reg, 1@laneid)]"
    run = tilewise("relation", rows, columns)
    assert "tilewise shuffle FROM TO --dtype T has" in run.out
    assert "--dtype T --reshape 8,16 has" in tilewise("relation", D, B).out
    assert "--dtype T --permute 1,0 has" in tilewise("relation", D, B, "--permute", "1,0").out


def test_an_order_is_found_whichever_axes_say_the_warp():
    written = S[(4, 8, (2, 4, 2)) : (1 @ warpid, 4 @ laneid, (2 @ reg, 1 @ laneid, 1 @ reg))]
    read = [S[(4, 8, (4, 4)) : (1 @ own, 4 @ laneid, (1 @ laneid, 1 @ reg))] for own in (warpid, wid_in_wg)]
    orders = [reorder(written, one, DType.of("e4m3")) for one in read]
    assert orders[0] is not None
    assert orders[1] == orders[0]
