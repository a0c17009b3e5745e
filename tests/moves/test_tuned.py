"""Tiles that are measured on a device that is made up: the fastest is remembered, and taken."""

import json
import sys
from dataclasses import replace

import pytest
from tests.moves.test_run import Driver

from tilewise import LayoutError, O, S, Swizzle, parse, plan
from tilewise.gpu import tune
from tilewise.moves.arrays import device, run
from tilewise.moves.arrays import tuned as tuning
from tilewise.moves.arrays.tuned import remembered, shape_class, tiles_of, traits, tuned
from tilewise.moves.tiles.tile import Tile

TURN = S[512, 256], S[(512, 256) : (1, 512)], "f32"


class Timed(Driver):
    """A driver whose events say how long the kernels between them are made to take."""

    def __init__(self, monkeypatch):
        super().__init__(monkeypatch)
        self.times, self.freed, self.given, self.room = {}, [], [], None
        words = {
            "cuDeviceGetName": lambda room, number: (0, b"made up\0\0"),
            "cuEventCreate": lambda flags: (0, object()),
            "cuEventDestroy": lambda event: (0,),
            "cuEventRecord": lambda event, stream: (0,),
            "cuEventSynchronize": lambda event: (0,),
            "cuEventElapsedTime": self._elapsed,
            "cuMemAlloc": self._memory,
            "cuMemFree": lambda held: (self.freed.append(held), (0,))[1],
            "cuCtxSynchronize": lambda: (0,),
        }
        for name, function in words.items():
            setattr(sys.modules["cuda.bindings.driver"], name, function)
        self.seen = 0

    def _memory(self, size):
        if len(self.given) == self.room:
            return (2,)
        self.given.append(size)
        return 0, 1 << 20

    def _elapsed(self, start, end):
        launched = [words for words in self.said[self.seen :] if words[0] == "move"]
        self.seen = len(self.said)
        return 0, sum(self.times.get(words[1:3], 10.0) for words in launched)


@pytest.fixture
def timed(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWISE_CACHE", str(tmp_path))
    for kept in (tuning.kept.known, device.gpu_of):
        kept.cache_clear()
    yield Timed(monkeypatch)
    for kept in (tuning.kept.known, device.gpu_of, device.devices.context, run.bound_of):
        kept.cache_clear()


def slowest_first(timed, asked):
    """The last tile is the fastest one."""
    tiles = tiles_of(asked)
    timed.times = {(tile.blocks, tile.threads): 10.0 for tile in tiles}
    timed.times[tiles[-1].blocks, tiles[-1].threads] = 1.0
    return tiles


def test_the_fastest_is_taken_and_remembered_by_other_processes(timed, tmp_path):
    asked = plan(*TURN)
    tiles = slowest_first(timed, asked)
    assert len(tiles) > 2
    assert remembered(asked, 0) is asked
    assert tuned(asked).way == tiles[-1]
    tuning.kept.known.cache_clear()
    assert remembered(asked, 0).way == tiles[-1]
    said = json.loads((tmp_path / "moves.json").read_text())
    assert said == {"version": 1, "devices": {"made up": {shape_class(asked): list(traits(tiles[-1]))}}}


def test_it_is_taken_by_other_shapes_of_the_class_and_by_no_other(timed):
    asked = plan(*TURN)
    best = slowest_first(timed, asked)[-1]
    tuned(asked)
    near = plan(S[480, 256], S[(480, 256) : (1, 480)], "f32")
    assert traits(remembered(near, 0).way) == traits(best)
    for other in (plan(S[512, 255], S[(512, 255) : (1, 512)], "f32"), plan(*TURN[:2], "f64")):
        assert remembered(other, 0) is other


def test_what_is_faster_by_chance_is_not_remembered(timed):
    asked = plan(*TURN)
    tiles = tiles_of(asked)
    timed.times = {(tiles[1].blocks, tiles[1].threads): 9.9}
    assert tuned(asked).way == tiles[0]


def test_a_plan_is_given_to_the_gpu_to_tune(timed):
    asked = plan(*TURN)
    best = slowest_first(timed, asked)[-1]
    assert tune(asked).way == best


def test_what_is_in_no_array_is_not_tuned():
    with pytest.raises(LayoutError, match="registers are in no array") as refused:
        tune(plan(parse("S[(8, 8) : (1@laneid, 8@reg)]"), parse("S[(8, 8) : (8@reg, 1@laneid)]"), "f32"))
    assert refused.value.code == "TW701"


def test_memory_is_given_back(timed):
    tuned(plan(*TURN))
    assert len(timed.freed) == len(timed.given) > 2


def test_a_broadcast_is_measured_on_as_much_memory_as_others(timed):
    """All but nothing of it is read: it is what is written that counts."""
    asked = plan(S[(4096, 1024) : (0, 1)], S[4096, 1024], "f32")
    tuned(asked)
    _, *buffers = timed.given
    assert buffers == [*asked.sizes] * (tuning.ROUND // asked.sizes[1])


@pytest.mark.parametrize("what", ["memory", "event"])
def test_a_clock_that_cannot_be_made_is_left_as_it_was_entered(timed, monkeypatch, what):
    """With all memory given back, and the context that was current before."""
    driver, made, gone = sys.modules["cuda.bindings.driver"], [], []
    monkeypatch.setattr(
        driver, "cuEventCreate", lambda flags: (2,) if made else (0, made.append("event") or "event")
    )
    monkeypatch.setattr(driver, "cuEventDestroy", lambda event: (gone.append(event), (0,))[1])
    timed.room = 0 if what == "memory" else None
    with pytest.raises(RuntimeError, match="answered 2"):
        tuned(plan(*TURN))
    assert [words[0] for words in timed.said] == ["push", "pop"]
    assert len(timed.freed) == len(timed.given) == (what == "event")
    assert gone == made == ["event"] * (what == "event")


def test_the_device_is_busy_until_all_is_launched(timed):
    tuned(plan(*TURN))
    names = [words[0] for words in timed.said if words[0] in ("set", "move")]
    launches = min(tuning.MOST, tuning.ROUND // (512 * 256 * 4))
    sets = -(-launches * device.SET_FOR_A_LAUNCH // device.SET)
    assert names[: sets + launches + 1] == ["set"] * sets + ["move"] * launches + ["set"]


@pytest.mark.parametrize(
    "target",
    [S[(4095, 4095) : (1, 4095)], S[(130, 3, 1153) : (1, 130, 390)], S[(300, 302) : (1, 300)]],
    ids=str,
)
def test_tiles_of_4_bits_are_measured_of_all_kinds_and_told_apart(timed, target):
    asked = plan(S[target.shape], target, "u4")
    tiles = tiles_of(asked)
    assert tiles[0] == asked.way
    assert len({traits(tile) for tile in tiles}) == len(tiles)
    kinds = {(type(tile).__name__, isinstance(tile, Tile) and tile.pair.spread) for tile in tiles}
    assert {("Turned", False), ("Tile", True)} <= kinds
    tuned(asked)
    slowest_first(timed, asked)
    assert tuned(asked).way == tiles[-1]
    assert remembered(asked, 0).way == tiles[-1]


def test_a_bound_plan_launches_what_is_remembered(timed):
    asked = plan(*TURN)
    best = slowest_first(timed, asked)[-1]
    tuned(asked)
    tuning.kept.known.cache_clear()
    small = plan(S[64, 32], S[(64, 32) : (1, 64)], "f32")
    for own, launch in ((asked, (best.blocks, best.threads)), (small, small.launch[:2])):
        timed.said.clear()
        own.bind()._prepared(0, 256)(1 << 20, 2 << 20, 3)
        assert [words[:3] for words in timed.said] == [("move", *launch)]


def test_a_move_that_was_made_before_takes_what_is_measured(timed):
    asked = plan(*TURN)
    best = slowest_first(timed, asked)[-1]
    words = (*TURN[:2], asked.dtype, None, asked.fill)
    for launch in (asked.launch[:2], (best.blocks, best.threads)):
        timed.said.clear()
        run.bound_of(*words)._prepared(0, 256)(1 << 20, 2 << 20, 3)
        assert [said[:3] for said in timed.said] == [("move", *launch)]
        tuned(asked)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"version": 0, "devices": {}}',
        '{"version": 1}',
        '{"version": 1, "devices": {"a": 5}}',
        "5",
        '{"version": 1, "devices": {"a": {"b": [1e999]}}}',
        pytest.param("[" * 100_000, id="brackets"),
    ],
)
def test_a_file_that_is_not_ours_is_as_none(timed, tmp_path, text):
    (tmp_path / "moves.json").write_text(text)
    asked = plan(*TURN)
    assert remembered(asked, 0) is asked
    tuned(asked)
    assert json.loads((tmp_path / "moves.json").read_text())["version"] == 1


def test_the_file_is_read_once(timed, tmp_path):
    asked = plan(*TURN)
    remembered(asked, 0)
    (tmp_path / "moves.json").write_text(
        json.dumps({"version": 1, "devices": {"made up": {shape_class(asked): traits(tiles_of(asked)[-1])}}})
    )
    assert remembered(asked, 0) is asked


def test_a_folder_that_cannot_be_written_to_is_no_error(timed, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILEWISE_CACHE", str(tmp_path / "file"))
    asked = plan(*TURN)
    best = slowest_first(timed, asked)[-1]
    assert tuned(asked).way == best
    assert remembered(asked, 0).way == best


def test_a_folder_in_the_place_of_the_file_is_no_error(timed, tmp_path):
    (tmp_path / "moves.json").mkdir()
    asked = plan(*TURN)
    best = slowest_first(timed, asked)[-1]
    assert tuned(asked).way == best
    assert [path.name for path in tmp_path.iterdir()] == ["moves.json"]


def test_what_has_no_tile_has_nothing_to_choose(timed):
    for asked in (plan(S[64], S[64] + 16, "f32"), plan(S[64:2], S[64:3], "f32")):
        assert tuned(asked) is asked


def test_a_class_has_where_storages_begin_what_permutes_them_and_limits():
    source, target = S[64, 48], S[(64, 48) : (1, 64)]
    rows, cropped, blocks = (60, 48), S[(60, 48) : (1, 64)], S[((4, 16), 48) : ((800, 48), 1)]
    swizzle = Swizzle(2, 4, 4)
    asked = [
        (source, target, None),
        (source + 1, target, None),
        (source, target + 2, None),
        (swizzle @ source, target, None),
        (source, swizzle @ target, None),
        (Swizzle(3, 4, 4) @ source, target, None),
        (O[2] @ swizzle @ source, target, None),
        (S[60, 48], target, rows),
        (S[60, 48], target, (20, 48)),
        (blocks, target, rows),
        (blocks, cropped, rows),
    ]
    classes = [shape_class(plan(*sides, "f32", shape=box)) for *sides, box in asked]
    assert len({*classes}) == len(asked)
    assert shape_class(plan(source + 8, target + 4, "f32")) == classes[0]
    assert shape_class(plan(S[60, 48], target, "f32", shape=(59, 48))) == classes[7]


def test_a_checked_plan_stays_one(timed):
    asked = replace(plan(*TURN), checked=True)
    assert tuned(asked).checked


def test_a_class_has_how_rows_are_aligned():
    def of(rows, columns, aligned=256):
        return shape_class(plan(S[rows, columns], S[(rows, columns) : (1, rows)], "bf16", aligned=aligned))

    assert of(4096, 2048) == of(4000, 2000 + 48)
    assert of(4096, 2048) != of(4095, 2048)
    assert of(4096, 2048) != of(4096, 2044)
    assert of(4096, 2048) != of(4096, 2048, aligned=4)
    assert of(4095, 2048) != of(4095, 2048, aligned=4)
