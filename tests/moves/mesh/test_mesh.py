"""Plans across devices against the plain definition: the storages they leave, and the bytes they send."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.moves.mesh.drawn import check_sum, drawn, drawn_sum, total, wanted

from tilewise import DType, LayoutError, NotDecided, Refused, move, parse, plan
from tilewise.moves import _bound, simulated
from tilewise.moves.mesh import bound
from tilewise.moves.mesh.adding import combined
from tilewise.moves.mesh.exchange import EVEN
from tilewise.moves.mesh.held import Devices, Held
from tilewise.moves.mesh.plan import mesh_plan
from tilewise.moves.mesh.simulated import run
from tilewise.questions.plan import plan as asked_plan
from tilewise.simulate.numbers import decode, encode

BF16 = DType.of("bf16")
ROWS, COLUMNS = parse("S[((2, 4), 8) : ((1@gpuid_x, 8), 1)]"), parse("S[(8, (2, 4)) : (4, (1@gpuid_x, 1))]")


@pytest.mark.parametrize("seed", range(600))
def test_devices_hold_what_the_definition_says(seed):
    move = drawn(seed)
    plan = move.plan
    expected = wanted(move, plan, seed)
    found = simulated(plan, expected.before)
    for device, storage in enumerate(found.storages):
        assert storage.tolist() == expected.after[device].tolist(), device
    assert plan.direct.received.tolist() == expected.least
    arrived = [0] * plan.devices.size
    for (_, receiver), size in found.traffic.items():
        arrived[receiver] += size
    assert arrived == plan.bytes_sent
    assert plan.least == sum(expected.least) * move.bits // 8
    assert sum(found.by_axis(plan).values()) == sum(arrived)


@pytest.mark.parametrize("seed", range(100))
def test_elements_of_four_bits_share_bytes(seed):
    in_bytes = replace(drawn(seed), bits=8)
    expected = wanted(in_bytes, in_bytes.plan, seed)
    found = simulated(replace(in_bytes, bits=4).plan, list(map(packed, expected.before)))
    for storage, after in zip(found.storages, expected.after, strict=True):
        assert storage.tolist() == packed(after).tolist()


@pytest.mark.parametrize("seed", range(60))
def test_messages_in_shares_leave_the_same(seed, monkeypatch):
    """As on a GPU: one kernel packs all messages of a share."""
    monkeypatch.setattr(bound, "SHARED_FROM", 1)
    monkeypatch.setattr(bound, "SHARES", 2 + seed % 3)
    given = replace(drawn(seed), bits=8)
    narrow = replace(given, bits=4)
    expected = wanted(given, given.plan, seed)
    for made, held in ((given.plan, lambda row: row.view("u1")), (narrow.plan, packed)):
        every = [bound.bound_parts(made, device, _bound, fused=True) for device in range(made.devices.size)]
        found, traffic = run(every, list(map(held, expected.before)))
        for storage, after in zip(found, expected.after, strict=True):
            assert storage.tolist() == held(after).tolist()
        if made is given.plan:
            assert sum(traffic.values()) == sum(made.bytes_sent)


@pytest.mark.parametrize("seed", range(400))
def test_sums_are_what_the_definition_says(seed):
    given = drawn_sum(seed)
    if given is None:
        return
    found = []

    def run(plan, before):
        found.append(simulated(plan, before))
        return found[-1].storages

    assert check_sum(given, seed, run) == ""
    plan = given.plan
    arrived = [0] * plan.devices.size
    for (_, receiver), size in found[-1].traffic.items():
        arrived[receiver] += size
    assert arrived == plan.bytes_sent
    assert sum(arrived) >= plan.least == sum(plan.least_by_axis.values())


@pytest.mark.parametrize("seed", range(200))
def test_gradients_are_sums_over_all_that_an_element_went_to(seed):
    """Run the parts of all devices backwards, and count the gradient of each element over its copies."""
    given = drawn(seed)
    plan = mesh_plan(given.source, given.target, DType.of("f32"), shape=given.box, link=given.link)
    devices = plan.devices
    weights = [np.random.default_rng([seed, one]).integers(0, 9, plan.writes) for one in range(devices.size)]
    every = [bound.bound_parts(plan, device, _bound, back=True) for device in range(devices.size)]
    held, _ = run(every, [weight.astype("f4").view("u1") for weight in weights])
    gradients = [storage.view("f4") for storage in held]
    for index in np.ndindex(*given.box):
        wanted_total = total(devices, weights, given.target, index)
        assert total(devices, gradients, given.source, index) == wanted_total, index


def packed(elements):
    """Return the low four bits of elements, two to a byte, the first in the low bits."""
    even = np.append(elements & 15, np.zeros(len(elements) % 2, np.uint8))
    return even[0::2] | even[1::2] << 4


def test_random_plans_are_of_all_kinds():
    kinds = {kind for seed in range(300) for kind in drawn(seed).plan.kinds}
    assert kinds == {"move", "all-to-all", "all-gather", "broadcast", "permutation", "point-to-point"}


@pytest.mark.parametrize("seed", range(100))
def test_least_by_axis_is_what_groups_lack(seed):
    """Count elements that no device of a group holds and some want, one by one."""
    move = drawn(seed)
    made = move.plan
    names, devices = made.devices.names, made.devices
    expected = wanted(move, made)
    order = sorted(names, key=made.rate)
    held = [
        [_elements(layout, move.box, devices)[at] for at in range(devices.size)]
        for layout in (move.source, move.target)
    ]
    assert [len(after - before) for before, after in zip(*held, strict=True)] == expected.least
    entered = 0
    for at in range(1, len(order) + 1):
        axes = [names.index(name) for name in order[:at]]
        groups: dict[tuple[int, ...], list[int]] = {}
        for device, place in enumerate(devices.coordinates[:, axes].tolist()):
            groups.setdefault(tuple(place), []).append(device)
        lacking = sum(
            len(set().union(*(held[1][one] for one in group)) - set().union(*(held[0][one] for one in group)))
            for group in groups.values()
        )
        assert made.least_by_axis[order[at - 1]] == (lacking - entered) * move.bits // 8
        entered = lacking


def _elements(layout, box, devices):
    number = {tuple(place): at for at, place in enumerate(devices.coordinates.tolist())}
    found = [set() for _ in range(devices.size)]
    for index in np.ndindex(*box):
        for place in layout.places(*index):
            found[number[tuple(place[name] for name in devices.names)]].add(index)
    return found


# -- kinds and costs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "target", "kinds"),
    [
        ("S[((4, 16), 64) : ((1@x, 64), 1)]", "S[(64, (4, 16)) : (16, (1@x, 1))]", ["all-to-all"]),
        ("S[((4, 16), 64) : ((1@x, 64), 1)]", "S[64, 64] + R[4 : 1@x]", ["all-gather"]),
        ("S[64, 64] + R[4 : 1@x]", "S[((4, 16), 64) : ((1@x, 64), 1)]", ["move"]),
        ("S[64, 64]", "S[64, 64] + R[4 : 1@x]", ["broadcast"]),
        ("S[64, 64]", "S[64, 64] + 1@x", ["permutation"]),
        ("S[((4, 16), 64) : ((1@x, 64), 1)]", "S[64, 64]", ["point-to-point"]),
        ("S[64, 64]", "S[((4, 16), 64) : ((1@x, 64), 1)]", ["point-to-point"]),
        (
            "S[((2, 2, 16), 64) : ((1@x, 1@y, 64), 1)]",
            "S[((2, 2, 16), 64) : ((1@y, 1@x, 64), 1)]",
            ["permutation"],
        ),
    ],
)
def test_kinds(source, target, kinds):
    made = mesh_plan(parse(source), parse(target), BF16)
    assert made.kinds == kinds
    assert sum(made.bytes_sent) == made.least


SUMS = [
    ("S[64, 64] + R[4 : 1@x]", "S[((4, 16), 64) : ((1@x, 64), 1)]", ["reduce-scatter"]),
    ("S[64, 64] + R[4 : 1@x]", "S[64, 64] + R[4 : 1@x]", ["reduce-scatter", "all-gather"]),
    ("S[7, 9] + R[4 : 1@x]", "S[7, 9] + R[4 : 1@x]", ["reduce-scatter", "all-gather"]),
    ("S[64, 64] + R[4 : 1@x]", "S[64, 64]", ["reduce"]),
]


@pytest.mark.parametrize(("source", "target", "kinds"), SUMS)
def test_kinds_of_sums(source, target, kinds):
    made = mesh_plan(parse(source), parse(target), BF16, reduce="x")
    assert made.kinds == kinds
    assert sum(made.bytes_sent) == made.least


def test_parts_cross_a_slow_axis_as_one():
    """Sum up parts on two hosts of eight GPUs: each host adds its own before they cross the slow link."""
    whole = parse("S[4194304] + R[(2, 8) : (1@host, 1@gpu)]")
    link, mesh = {"host": 45, "gpu": 360}, {"host": 2, "gpu": 8}
    made = mesh_plan(whole, whole, BF16, mesh=mesh, link=link, reduce=["host", "gpu"])
    assert made.kinds == ["reduce-scatter", "reduce-scatter", "all-gather", "all-gather"]
    assert made.least_by_axis["host"] == 2 * 2 * 4194304
    assert sum(made.bytes_sent) == made.least


@pytest.mark.parametrize(("op", "value"), [("sum", 12), ("avg", 3), ("max", 6), ("min", 1), ("product", 24)])
@pytest.mark.parametrize("kind", ["f64", "f32", "f16", "bf16", "e5m2"])
def test_parts_are_combined(op, value, kind):
    whole, dtype = parse("S[6] + R[4 : 1@x]"), DType.of(kind)
    plan = mesh_plan(whole, whole, dtype, reduce={"x": op})
    codes = encode(np.array([1, 6, 4, 1.0] if op == "product" else [1, 6, 2, 3.0]), dtype)
    parts = [np.full(6, code).astype(f"u{dtype.bits // 8}") for code in codes]
    value = 12 if op == "sum" else value
    for storage in simulated(plan, parts).storages:
        assert decode(storage, dtype).tolist() == [value] * 6


def test_parts_that_stay_parts_are_not_sent():
    parts, shards = parse("S[8, 8] + R[2 : 1@x]"), parse("S[((2, 4), 8) : ((1@x, 8), 1)]")
    kept = mesh_plan(parts, parts, BF16, reduce="x", parts="x")
    assert (kept.kinds, kept.bytes_sent) == (["move"], [0, 0])
    spread = mesh_plan(shards, parts, BF16, parts="x")
    assert (spread.kinds, spread.bytes_sent) == (["move"], [0, 0])
    halves = [np.full(32, value, np.uint16) for value in (1, 2)]
    found = simulated(spread, halves).storages
    assert [storage.tolist() for storage in found] == [[1] * 32 + [0] * 32, [0] * 32 + [2] * 32]


def test_one_sender_shares_its_work_where_links_are_slow():
    source, target = parse("S[4194304]"), parse("S[4194304] + R[8 : 1@x]")
    made = mesh_plan(source, target, BF16)
    assert made.kinds == ["point-to-point", "all-gather"]
    direct = mesh_plan(source, target, BF16, link={"x": 1e9})
    assert direct.kinds == ["broadcast"]


def test_elements_cross_a_slow_axis_once():
    """Sixteen shards on two hosts of eight GPUs, gathered by all: each host takes the other's half once."""
    source = parse("S[(2, 8, 65536) : (1@host, 1@gpu, 1)]")
    target = parse("S[(2, 8, 65536) : (524288, 65536, 1)] + R[(2, 8) : (1@host, 1@gpu)]")
    made = mesh_plan(source, target, BF16, mesh={"host": 2, "gpu": 8}, link={"host": 45, "gpu": 360})
    size = 16 * 65536 * 2
    assert made.least_by_axis == {"host": size, "gpu": made.least - size}
    storages = [np.full(65536, device, np.uint16) for device in range(16)]
    found = simulated(made, storages)
    assert found.by_axis(made) == made.least_by_axis
    assert all((storage.reshape(16, -1) == np.arange(16)[:, None]).all() for storage in found.storages)


def test_copies_share_what_one_receiver_takes():
    made = mesh_plan(parse("S[4096] + R[4 : 1@x]"), parse("S[4096] + 4@x"), BF16)
    assert made.stages[0].sent.tolist() == [1024] * 4
    assert made.largest_share <= EVEN


@pytest.mark.parametrize("side", [2, 8, 128])
def test_a_plan_lists_no_devices(side):
    """Turn a matrix from rows to columns: every device has one part of what each wants."""
    many = side**2
    rows = parse(f"S[(({side}, {side}, 4), {4 * many}) : ((1@x, 1@y, {4 * many}), 1)]")
    columns = parse(f"S[({4 * many}, ({side}, {side}, 4)) : (4, (1@y, 1@x, 1))]")
    made = mesh_plan(rows, columns, BF16)
    assert made.kinds == ["all-to-all"]
    assert made.bytes_sent == [2 * 16 * (many - 1)] * many


# -- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "target", "more", "words"),
    [
        ("S[8 : 1@x]", "S[4 : 1@x]", {}, "the source has 8 elements, the target 4"),
        ("S[8 : 1@x]", "S[8 : 1]", {"mesh": {"x": 4}}, "the mesh has 4 devices along x"),
        ("S[8 : 1@x]", "S[8 : 1]", {"mesh": {"y": 8}}, "the mesh has no axis x"),
        ("S[8 : 1@x]", "S[8 : 1]", {"link": {"y": 8}}, "a rate is given along y"),
        ("S[8 : 1@x]", "S[8 : 1]", {"link": {"x": 0}}, "0 GB/s along x is no rate"),
        ("S[8 : -1@x]", "S[8 : 1]", {}, "devices are counted from 0"),
        ("S[(2, 4) : (1@x, -1)]", "S[8 : 1]", {}, "the source has addresses below zero, down to -3"),
        ("S[(2, 4) : (1@x, 1)]", "S[8 : 1@reg]", {}, "the target is on no one memory of a device"),
        ("S[8] + R[2 : 1@x]", "S[8]", {"reduce": "y"}, "reduce is along 'y', and the mesh has no such axis"),
        ("S[8] + R[2 : 1@x]", "S[8]", {"reduce": {"x": "mean"}}, "parts are not combined by 'mean'"),
        ("S[(2, 4) : (1@x, 1)]", "S[8]", {"reduce": "x"}, "the source has no copies along x"),
        ("S[8] + R[2 : 1@x]", "S[8]", {"parts": "x"}, "the target has no copies along x"),
        ("S[8] + R[2 : 1@x]", "S[8]", {"reduce": 3}, "reduce names axes, not 3"),
        (
            "S[8] + R[2 : 1@x]",
            "S[8] + R[2 : 1@x]",
            {"reduce": {"x": "max"}, "parts": "x"},
            "parts combine by max in the source, and by sum in the target",
        ),
        (
            "S[(2, 4) : (1@x, 1)]",
            "S[8] + R[2 : 1@x]",
            {"parts": {"x": "max"}},
            "parts that combine by max are not made of elements",
        ),
        ("S[8, 8]", "S[8, 8]", {"reduce": "x"}, "no layout steps on devices"),
        ("S[8 : 1@x]", "S[8 : 1]", {"fill": 3}, "a move across devices has no"),
        ("S[8 : 1@x]", "S[8 : 1]", {"arch": "sm_90"}, "a move across devices has no architecture"),
        ("S[8, 8]", "S[8, 8]", {"mesh": {"x": 8}}, "no layout steps on devices"),
    ],
)
def test_what_is_refused(source, target, more, words):
    with pytest.raises(LayoutError, match=words):
        plan(parse(source), parse(target), "bf16", **more)


def test_a_move_across_devices_takes_no_fill_and_no_group_is_an_error():
    with pytest.raises(LayoutError, match="takes no fill and no stream"):
        move(np.zeros(32), ROWS, COLUMNS, mesh="any", fill=1)
    with pytest.raises(LayoutError, match="there is no process group"):
        move(np.zeros(32), ROWS, COLUMNS, mesh="any")


def test_elements_that_meet_are_refused():
    with pytest.raises(Refused, match="two elements have one place"):
        plan(ROWS, parse("S[(8, 8) : (0, 1@gpuid_x)]"), "bf16")


def test_digits_over_the_same_devices_are_not_decided():
    with pytest.raises(NotDecided, match="several digits step over the same devices"):
        plan(parse("S[(2, 2) : (1@x, 1@x)]"), parse("S[2, 2]"), "bf16")


def test_axes_of_sums_are_in_the_order_of_the_mesh():
    whole = parse("S[8] + R[(2, 2) : (1@x, 1@y)]")
    orders = (["x", "y"], ["y", "x", "y"], {"y", "x"})
    assert {mesh_plan(whole, whole, BF16, reduce=order).reduce for order in orders} == {("x", "y")}


def test_a_dimension_of_one_device_has_no_sum():
    mesh = "on DeviceMesh((a=1,b=2))"
    texts = f"(Partial(), Shard(0)) {mesh}", f"(Replicate(), Replicate()) {mesh}"
    assert asked_plan(*texts, "f32", tensor="8,8").steps[0]["kind"] == "all-gather"


def test_the_sums_of_a_text_are_those_of_its_own_side():
    mesh = "on DeviceMesh((a=2,b=2))"
    parts, whole = f"(Partial(), Replicate()) {mesh}", f"(Replicate(), Replicate()) {mesh}"
    made = asked_plan(parse(whole, shape=(4,)), parts, "f32", tensor="4")
    assert (made.steps[0]["kind"], made.parts) == ("move", {"a": "sum"})


@pytest.mark.parametrize("given", ["", "x=", "x,,y", "x=max,x=min"])
def test_axes_that_are_not_named_are_refused(given):
    with pytest.raises(LayoutError, match="does not name axes"):
        asked_plan("S[8] + R[2 : 1@x]", "S[8]", "f32", reduce=given)


@pytest.mark.parametrize(("kind", "small"), [("f16", 2.0**-12), ("bf16", 2.0**-12)])
def test_narrow_floats_are_added_as_f32(kind, small):
    """Add 2^15, 2^-12 and -2^15: f32 loses the second, and f64 does not."""
    dtype = DType.of(kind)
    codes = encode(np.array([2.0**15, small, -(2.0**15)]), dtype).astype("u2")
    found = combined([codes[at : at + 1].view("u1") for at in range(3)], dtype, "sum")
    assert decode(found.view("u2"), dtype) == 0


def test_storages_have_the_elements_of_the_plan():
    made = mesh_plan(ROWS, COLUMNS, BF16)
    with pytest.raises(LayoutError, match="the storage of device 1 has 3 elements of uint16, and 32 of bf16"):
        simulated(made, [np.zeros(32, np.uint16), np.zeros(3, np.uint16)])
    with pytest.raises(LayoutError, match="32 elements of float32"):
        simulated(made, [np.zeros(32, np.float32)] * 2)
    with pytest.raises(LayoutError, match="a plan across devices belongs here"):
        simulated(ROWS, [])


def test_storages_are_one_for_each_device():
    with pytest.raises(LayoutError, match="1 storages, and the mesh has 2 devices"):
        simulated(mesh_plan(ROWS, COLUMNS, BF16), [np.zeros(32, np.uint16)])


def test_values_of_devices_are_their_digits():
    held = Held.of(parse("S[(4, 2, 8) : (-1@x, 1@y, 1)] + 3@x"), Devices.of({"x": 4, "y": 3}), flat=True)
    assert held.holds.reshape(4, 3).tolist() == [[True, True, False]] * 4
    assert held.values[:, 0].reshape(4, 3)[:, 0].tolist() == [3, 2, 1, 0]
