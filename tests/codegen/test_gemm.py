"""The kernel of a whole product: its own lines on simulated engines, its tiles and barriers, its refusals."""

from __future__ import annotations

import itertools
import random
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.codegen.gemm_on_paper import Paper, tile_of
from tests.codegen.test_c import tool

from tilewise import LayoutError, Refused
from tilewise.check.tma import plan_copy
from tilewise.codegen.gemm import Finish, GemmProblem, HopperPlan, chosen, kernel_source, planned
from tilewise.codegen.gemm.host import host_source
from tilewise.codegen.gemm.plan import LOADER_REGISTERS, WORKER_REGISTERS
from tilewise.core.dtypes import DType
from tilewise.hardware.limits import REGISTERS, SHARED_BYTES
from tilewise.simulate import Memory
from tilewise.simulate.numbers import decode, encode

CASES: dict[str, dict[str, Any]] = {
    "bf16": {"shape": (128, 256), "dtype_a": "bf16", "out": "bf16"},
    "one block": {"shape": (128, 128), "dtype_a": "bf16", "out": "f16", "cluster": (1, 1)},
    "both MN-major": {"shape": (128, 128), "dtype_a": "f16", "out": "f16", "majors": ("mn", "mn")},
    "along N": {"shape": (128, 128), "dtype_a": "bf16", "majors": ("k", "mn"), "cluster": (1, 2)},
    "four blocks": {"shape": (128, 128), "dtype_a": "f16", "majors": ("mn", "k"), "cluster": (2, 2)},
    "128 rows each": {"shape": (256, 64), "dtype_a": "bf16", "out": "bf16", "cluster": (1, 2)},
    "e4m3": {"shape": (128, 128), "dtype_a": "e4m3", "dtype_b": "e5m2", "out": "bf16"},
    "out in 8 bits": {"shape": (128, 128), "dtype_a": "e4m3", "out": "e4m3", "cluster": (1, 1)},
    "tf32": {"shape": (64, 96), "dtype_a": "tf32", "cluster": (1, 1)},
    "s8": {"shape": (128, 64), "dtype_a": "s8", "dtype_b": "u8"},
    "promoted": {"shape": (128, 128), "dtype_a": "e4m3", "out": "bf16", "promotes": True},
    "e4m3 as bf16": {"shape": (128, 64), "dtype_a": "e4m3", "dtype_b": "bf16", "out": "bf16"},
    "u8 as f16": {
        "shape": (64, 64),
        "dtype_a": "u8",
        "dtype_b": "f16",
        "majors": ("k", "mn"),
        "cluster": (1, 1),
    },
    "s8 as bf16, shared": {"shape": (128, 64), "dtype_a": "s8", "dtype_b": "bf16", "cluster": (1, 2)},
    "narrow boxes": {"shape": (64, 80), "dtype_a": "bf16", "out": "bf16", "cluster": (1, 1)},
}


def plan_of(name: str, **more: Any) -> HopperPlan:
    """Return the plan of a case; A of groups is K-major."""
    case = {**CASES[name], **more}
    if case.get("grouped"):
        case["majors"] = ("k", case.get("majors", ("k", "k"))[1])
    return planned(**case)


def drawn(rng: Any, dtype: str, shape: tuple[int, int]) -> Any:
    """Small whole numbers, whose sums are exact in every type."""
    low = 0 if dtype == "u8" else -2
    return rng.integers(low, 3, shape)


@pytest.mark.parametrize(
    ("name", "edge"), [*((name, True) for name in CASES), ("bf16", False), ("four blocks", False)]
)
def test_a_cluster_computes_its_tile_on_simulated_engines(name: str, edge: bool) -> None:
    """Loads, descriptors, chains, boxes of D and stores are those of the text; edges are cut off."""
    plan = plan_of(name, stages=2)
    down, along = plan.m * plan.cluster[0], plan.n * plan.cluster[1]
    unit = 16 * 8 // min(plan.a.dtype.bits, plan.out.bits)
    m, n, k = (down - unit, along - unit, 3 * plan.k - unit) if edge else (down, along, 2 * plan.k)
    rng = np.random.default_rng(len(name))
    a, b = drawn(rng, plan.a.dtype.name, (m, k)), drawn(rng, plan.b.dtype.name, (n, k))
    memories = []
    for own, numbers in ((plan.a, a), (plan.b, b)):
        memory = Memory(numbers.size * own.dtype.bits // 8 + 64, name="global")
        memory.put(numbers if own.major == "k" else numbers.T, own.dtype)
        memories.append(memory)
    found = Paper(plan, m, n, k).product(*memories)
    wanted = a @ b.T
    if plan.out.bits == 8:
        wanted = decode(encode(wanted, plan.out), plan.out)
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("name", ["along N", "out in 8 bits", "128 rows each", "tf32"])
@pytest.mark.parametrize("rows", [40, 128])
def test_a_group_writes_its_own_rows_alone(name: str, rows: int) -> None:
    """The second of three groups, whose rows begin and end within tiles."""
    plan = plan_of(name, stages=2, grouped=True)
    m, n, k = 24 + rows + 30, plan.n * plan.cluster[1] - 16, 2 * plan.k
    rng = np.random.default_rng(rows)
    a = drawn(rng, plan.a.dtype.name, (m, k))
    b = drawn(rng, plan.b.dtype.name, (3 * n, k)).reshape(3, n, k)
    memories = []
    for own, numbers in ((plan.a, a), (plan.b, b)):
        memory = Memory(numbers.size * own.dtype.bits // 8 + 64, name="global")
        memory.put((numbers if own.major == "k" else numbers.swapaxes(-1, -2)).reshape(-1), own.dtype)
        memories.append(memory)
    paper = Paper(plan, m, n, k, ends=(24, 24 + rows, m))
    poison = rng.integers(1, 3, (m, n))
    paper.out.put(poison.reshape(-1), plan.out)
    found = paper.product(*memories, group=1)
    wanted = poison.astype(float)
    last = min(24 + rows, 24 + plan.m * plan.cluster[0])
    wanted[24:last] = (a @ b[1].T)[24:last]
    if plan.out.bits == 8:
        wanted = decode(encode(wanted, plan.out), plan.out)
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("name", ["both MN-major", "e4m3"])
def test_parts_of_k_add_up(name: str) -> None:
    """Each part has its own sums; the last one ends beyond K."""
    plan = plan_of(name, stages=2, splits=True)
    m, n, k = plan.m * plan.cluster[0], plan.n * plan.cluster[1], 5 * plan.k - 16
    rng = np.random.default_rng(3)
    a, b = drawn(rng, plan.a.dtype.name, (m, k)), drawn(rng, plan.b.dtype.name, (n, k))
    paper, parts = Paper(plan, m, n, k, parts=3), []
    memories = []
    for own, numbers in ((plan.a, a), (plan.b, b)):
        memory = Memory(numbers.size * own.dtype.bits // 8 + 64, name="global")
        memory.put(numbers if own.major == "k" else numbers.T, own.dtype)
        memories.append(memory)
    for part in range(3):
        parts.append(paper.product(*memories, group=part))
        some = slice(2 * part * plan.k, 2 * (part + 1) * plan.k)
        assert np.array_equal(parts[-1], a[:, some] @ b[:, some].T)
    assert np.array_equal(sum(parts), a @ b.T)


GROUPS = """
#include <cstdio>
#define __device__
#define __forceinline__ inline
static int min(int a, int b) { return a < b ? a : b; }
static int max(int a, int b) { return a > b ? a : b; }
%s
int main()
{
    const int ends[] = {%s};
    for (int first = 0; first < 3; ++first) {
        Tile tile;
        Groups all = {ends, (int)(sizeof ends / sizeof *ends), 2990, %d};
        for (int t = first; all.find(t, tile); t += 3)
            std::printf("%%d %%d %%d %%d\\n", tile.row, tile.column, tile.batch, tile.end);
    }
}
"""


def test_the_tiles_of_all_groups_are_taken_once(tmp_path: Path) -> None:
    plan = plan_of("bf16", grouped=True, cluster=(1, 2))
    text = kernel_source(plan)
    struct = text[text.index("struct Tile {") : text.index('extern "C"')]
    ends, along = (0, 100, 100, 1380, 1381, 3000), 3
    source = tmp_path / "groups.cpp"
    source.write_text(GROUPS % (struct, ", ".join(map(str, ends)), along))
    compiler = tool("c++", "g++", "clang++")
    subprocess.run([compiler, "-o", tmp_path / "groups", source], check=True)
    ran = subprocess.run([tmp_path / "groups"], check=True, capture_output=True, text=True)
    found = sorted(tuple(map(int, line.split())) for line in ran.stdout.splitlines())
    inside = [min(end, 2990) for end in ends]  # the last group ends beyond A
    wanted = [
        (row, column * 512, group, end)
        for group, (begin, end) in enumerate(itertools.pairwise((0, *inside)))
        for row in range(begin, end, plan.m)
        for column in range(along)
    ]
    assert found == sorted(wanted)


@pytest.mark.parametrize("name", CASES)
def test_boxes_of_tma_lie_in_the_tile_one_after_another(name: str) -> None:
    plan = plan_of(name)
    for own in plan.operands:
        box = plan.box_of(own)
        rows = 4 * own.rows
        strides = (8 * own.k, 1) if own.major == "k" else (1, rows)
        copy = plan_copy((rows, 8 * own.k), box.tile, dtype=own.dtype, strides=strides).tensor_map
        assert (copy.box[::-1], copy.mode) == plan.box_and_mode(own)
        for row, k in itertools.product(range(0, own.rows, 7), range(0, own.k, 5)):
            at, inside = divmod(row, box.rows)
            bits = own.tile.place(row, k)["m"] * own.dtype.bits
            assert bits == 8 * at * box.bytes + box.tile.place(inside, k)["m"] * own.dtype.bits


@pytest.mark.parametrize("name", ["bf16", "one block", "128 rows each", "batched"])
@pytest.mark.parametrize(("down", "along"), [(1, 1), (3, 5), (8, 2), (19, 7)])
@pytest.mark.parametrize("group", [1, 4, 8, 16])
def test_every_tile_is_taken_once(name: str, down: int, along: int, group: int) -> None:
    plan = plan_of("bf16", batched=True, group=group) if name == "batched" else plan_of(name, group=group)
    text, batches = kernel_source(plan), 3 if plan.batched else 1
    found = [tile_of(text, t, down, along) for t in range(down * along * batches)]
    high, wide = plan.m * plan.cluster[0], plan.n * plan.cluster[1]
    every = itertools.product(range(0, down * high, high), range(0, along * wide, wide), range(batches))
    assert sorted(found) == sorted(one[: 3 if plan.batched else 2] for one in every)


@pytest.mark.parametrize("name", CASES)
def test_a_stage_is_free_when_all_that_read_it_have_arrived(name: str) -> None:
    """The arrivals at each block's barrier, counted by the condition in the text."""
    plan = plan_of(name)
    text = kernel_source(plan)
    condition = re.search(r"if \((thread.*)\)\n\s*arrive\(empty \+ 8 \* stage(, thread)?\)", text)
    assert condition
    down = plan.cluster[0]
    arrived = dict.fromkeys(range(plan.blocks), 0)
    for block, thread in itertools.product(range(plan.blocks), range(128)):
        names = {"thread": thread, "down_turn": block % down, "along_turn": block // down}
        if eval(condition[1].replace("&&", "and").replace("||", "or").replace("/", "//"), {}, names):
            arrived[thread if condition[2] else block] += plan.workers
    assert set(arrived.values()) == {plan.readers}
    assert f"init(empty + 8 * s, {plan.readers});" in text


@dataclass
class Barrier:
    """An mbarrier: the arrivals that its phase takes, those to come, and the parity of the phase."""

    count: int
    left: int = 0
    parity: int = 0

    def __post_init__(self) -> None:
        self.left = self.count

    def arrive(self) -> None:
        assert self.left, "an arrival too many"
        self.left -= 1
        if not self.left:
            self.left, self.parity = self.count, self.parity ^ 1

    def is_over(self, parity: int) -> bool:
        """Return True if the phase of that parity is over, as `try_wait.parity` says it."""
        return self.parity != parity


class Pipeline:
    """The loader and two workers of a block over some tiles, each of which takes a step at a time."""

    def __init__(self, text: str, stages: int, steps: int, tiles: int = 3) -> None:
        found = re.findall(r"wait\((?:empty|full) \+ 8 \* ring.stage, (.*?)\);", text)
        self.loads, self.reads = (words.replace("ring.", "") for words in found)
        assert f"if (++stage == {stages}) {{ stage = 0; parity ^= 1; }}" in text
        self.stages, self.steps, self.tiles = stages, steps, tiles
        self.full = [Barrier(1) for _ in range(stages)]
        self.empty = [Barrier(2) for _ in range(stages)]
        self.held: list[int | None] = [None] * stages
        self.seen: tuple[list[int], list[int]] = ([], [])

    def ring(self, turn: int) -> tuple[int, dict[str, int]]:
        return turn % self.stages, {"parity": turn // self.stages % 2}

    def loader(self) -> Iterator[None]:
        for turn in range(self.tiles * self.steps):
            stage, names = self.ring(turn)
            while not self.empty[stage].is_over(eval(self.loads, names)):
                yield
            self.held[stage] = turn
            self.full[stage].arrive()
            yield

    def worker(self, me: int) -> Iterator[None]:
        for tile in range(self.tiles):
            before = 0
            for k in range(self.steps):
                turn = tile * self.steps + k
                stage, names = self.ring(turn)
                while not self.full[stage].is_over(eval(self.reads, names)):
                    yield
                self.seen[me].append(turn)
                assert self.held[stage] == turn
                yield
                if k > 0:
                    assert self.held[before] == turn - 1  # its chain has just ended
                    self.empty[before].arrive()
                before = stage
            self.empty[before].arrive()
            yield

    def run(self, seed: int) -> bool:
        """Take steps in a random order; return True if all parts end."""
        parts = [self.loader(), self.worker(0), self.worker(1)]
        rng = random.Random(seed)
        for _ in range(200 * self.tiles * self.steps):
            part = rng.choice(parts)
            if next(part, "ended") == "ended":
                parts.remove(part)
            if not parts:
                return True
        return False


@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("steps", [1, 2, 5, 7])
def test_no_stage_is_read_before_it_is_there_or_filled_before_it_is_read(stages: int, steps: int) -> None:
    text = kernel_source(plan_of("one block", stages=stages))
    for seed in range(20):
        pipeline = Pipeline(text, stages, steps)
        assert pipeline.run(seed), "a part waits for ever"
        assert pipeline.seen == (list(range(3 * steps)),) * 2


def test_a_wrong_parity_is_noticed() -> None:
    text = kernel_source(plan_of("one block", stages=3))
    for right, wrong in (
        ("ring.parity ^ 1)", "ring.parity)"),
        ("ring.stage, ring.parity)", "ring.stage, ring.parity ^ 1)"),
    ):
        turned = text.replace(right, wrong, 1)
        assert turned != text
        with pytest.raises(AssertionError):
            assert all(Pipeline(turned, 3, 5).run(seed) for seed in range(20))


@pytest.mark.parametrize("name", CASES)
def test_a_box_of_d_is_filled_when_its_store_has_read_it(name: str) -> None:
    """Stores end in their order; before each box all but the last few have read theirs."""
    plan = plan_of(name)
    text = kernel_source(plan)
    boxes = int(re.search(r"box < (\d+); \+\+box, \+\+sent", text)[1])  # type: ignore[index]
    fewer = int(re.search(r"wait_group.read ([1-9]\d*);", text)[1])  # type: ignore[index]
    place = re.search(r"to = boxes \+ (.*);", text)[1]  # type: ignore[index]
    pending: list[int] = []
    for sent, box in enumerate(box for _ in range(3) for box in range(boxes)):
        pending = pending[-fewer:]
        places = [eval(place, {"worker": worker, "sent": sent, "box": box}) for worker in range(plan.workers)]
        assert len(set(places)) == plan.workers
        assert places[0] not in pending
        assert max(places) + plan.box_bytes <= plan.workers * 2 * plan.box_bytes
        pending.append(places[0])


@pytest.mark.parametrize("name", CASES)
def test_texts_are_readable(name: str) -> None:
    every = Finish(alpha=True, scales="row", addend=True, bias=True)
    finish = every if plan_of(name).accumulator.name == "f32" else Finish()
    ways: list[dict[str, Any]] = [{"batched": True}]
    ways += [{"grouped": True}, {"splits": True}] if plan_of(name).widened is None else []
    for plan in (plan_of(name), *(plan_of(name, finish=finish, **way) for way in ways)):
        text = kernel_source(plan)
        assert "$" not in text
        assert "#include" not in text
        assert len(text.splitlines()) <= 350
        assert max(map(len, text.splitlines())) <= 110
        for own in (*plan.operands, plan.first.d):
            assert str(own.tile) in text
        assert plan.first.shared_bytes <= SHARED_BYTES
        host = host_source(plan)
        assert host.count("describe(&map_") == 3
        assert f"dynamicSmemBytes = {plan.first.shared_bytes};" in host


def test_sums_are_finished_in_the_order_of_the_formula() -> None:
    plan = plan_of("bf16", finish=Finish(alpha=True, scales="tensor", addend=True, bias=True))
    text = kernel_source(plan)
    assert "// D [M, N] = alpha scale_a scale_b A B^T + beta C + bias[n]\n" in text
    order = ["alpha * *scale_a * *scale_b", "x += beta * c.x", "x += b.x", "cvt.rn.bf16x2.f32"]
    assert sorted(order, key=text.index) == order


def test_large_products_take_the_largest_tile_and_small_ones_fill_the_machine() -> None:
    assert chosen(16384, 16384, 16384, "bf16").tile == (128, 256)
    assert chosen(16384, 16384, 16384, "bf16").cluster == (2, 1)
    assert chosen(2048, 2048, 2048, "bf16").cluster == (1, 1)
    assert np.prod(chosen(512, 512, 4096, "bf16").tile) < np.prod(chosen(4096, 4096, 4096, "bf16").tile)
    for m, n, k in itertools.product((1, 100, 3000), repeat=3):
        for majors in itertools.product(("k", "mn"), repeat=2):
            best = chosen(m, n, k, "bf16", majors=majors)
            planned(best.tile, "bf16", majors=majors, cluster=best.cluster, group=best.group)


def test_a_cluster_is_not_taken_where_its_last_row_of_tiles_costs_a_turn() -> None:
    types = (DType.of("bf16"),) * 2
    problem = GemmProblem(47 * 128, 14 * 224, 3008, types)  # 658 tiles are five turns, 48 x 14 are six
    assert problem.arranged((128, 224), 1).cluster == (1, 1)
    assert replace(problem, m=46 * 128).arranged((128, 224), 1).cluster == (2, 1)


@pytest.mark.parametrize(
    ("shape", "dtypes", "asked", "words"),
    [
        ((96, 64), ("bf16",), {}, "M = 96 is no multiple of the 64 of a warpgroup"),
        ((128, 60), ("bf16",), {}, "m64n60k16 does not exist"),
        ((128, 64), ("f32",), {}, "wgmma does not multiply f32"),
        ((128, 64), ("b1",), {}, "single bits"),
        ((128, 64), ("bf16",), {"out": "s32"}, "sums in f32 do not leave as s32"),
        ((128, 64), ("s8",), {"out": "bf16"}, "sums in s32 do not leave as bf16"),
        ((128, 64), ("e4m3",), {"majors": ("mn", "k")}, "reads e4m3 K-major alone"),
        ((128, 256), ("bf16",), {"workers": 3}, "3 warpgroups do not share 128 rows"),
        ((192, 128), ("bf16",), {"workers": 3}, "3 warpgroups do not share 192 rows"),
        ((384, 64), ("bf16",), {}, "2 warpgroups do not share 384 rows"),
        ((256, 256), ("bf16",), {}, "a thread holds 256 sums, and has registers for 192"),
        (
            (128, 24),
            ("bf16",),
            {"out": "bf16", "cluster": (1, 1)},
            "a tile of 24 columns has no way out as bf16",
        ),
        (
            (128, 24),
            ("e4m3",),
            {"out": "e4m3", "cluster": (1, 1)},
            "a tile of 24 columns has no way out as e4m3",
        ),
        ((128, 256), ("bf16",), {"cluster": (4, 4)}, "a cluster of 4 x 4 blocks"),
        ((128, 64), ("bf16",), {"majors": ("k", "mn")}, "2 blocks do not share the 64 rows of B"),
        ((128, 256), ("bf16",), {"stages": 9}, "bytes of shared memory"),
        ((128, 256), ("bf16",), {"stages": 1}, "one stage is read while the next comes"),
        ((128, 64), ("f16",), {"accumulator": "f16"}, "f16"),
        ((256, 64), ("s8", "bf16"), {}, "the registers to widen 64 rows"),
        ((128, 64), ("bf16", "s8"), {}, "no wgmma multiplies bf16 by s8"),
        ((128, 64), ("f16",), {"grouped": True, "majors": ("mn", "k")}, "groups begin at any row"),
    ],
)
def test_what_is_refused_and_why(shape: Any, dtypes: Any, asked: Any, words: str) -> None:
    with pytest.raises(Refused) as no:
        planned(shape, *dtypes, **asked)
    assert no.value.code == "TW602"
    assert words in no.value.reason


def test_all_candidates_of_a_problem_are_kernels() -> None:
    rng = random.Random(7)
    for _ in range(12):
        name = rng.choice(["bf16", "f16", "e4m3", "s8", "tf32"])
        majors = tuple(rng.choice(["k", "mn"]) if name in ("bf16", "f16") else "k" for _ in "AB")
        extents = (rng.choice([rng.randint(1, 300), rng.randint(1, 9000)]) for _ in range(3))
        types = DType.of(name), DType.of(name)
        promotes, batches = name == "e4m3" and rng.random() < 0.5, rng.choice([1, 1, 5])
        problem = GemmProblem(*extents, types, (majors[0], majors[1]), batches, promotes=promotes)
        found = problem.candidates
        assert found[0] == problem.chosen
        assert len(set(found)) == len(found)
        for choice in found:
            more = {"cluster": choice.cluster, "group": choice.group, "splits": choice.parts > 1}
            planned(choice.tile, *types, majors=majors, promotes=promotes, batched=batches > 1, **more)


@pytest.mark.parametrize("workers", [1, 2])
def test_warpgroups_share_the_registers_that_a_block_begins_with(workers: int) -> None:
    """`setmaxnreg` takes from the block's own pool, and waits for ever where that has no more."""
    plan = planned((64 * workers, 128), "bf16")
    each = REGISTERS // plan.threads // 8 * 8
    assert plan.workers == workers
    wanted = 128 * (LOADER_REGISTERS + workers * WORKER_REGISTERS)
    assert wanted <= plan.threads * each


def test_what_is_not_understood() -> None:
    with pytest.raises(LayoutError, match="no kind of scales") as error:
        planned((128, 64), "bf16", finish=Finish(scales="block"))
    assert error.value.code == "TW601"
    for asked, words in (
        ({"dtype_a": "e4m3", "dtype_b": "bf16", "splits": True}, "a wider A and groups or parts"),
        ({"group": 0}, "a group of 0 tiles"),
        ({"group": 1 << 20}, "a group of 1048576 tiles"),
        ({"stages": 0}, "0 stages hold no tile"),
        ({"batched": True, "grouped": True}, "exclude one another"),
        ({"promotes": True}, "the core sums bf16 in f32"),
    ):
        with pytest.raises(LayoutError, match=words) as error:
            planned((128, 64), **{"dtype_a": "bf16", **asked})
        assert error.value.code == "TW401"
    with pytest.raises(LayoutError, match="a product of 0 x 4 x 4"):
        chosen(0, 4, 4, "bf16")
    with pytest.raises(LayoutError, match="a product of 4 x 4 x 1000"):
        chosen(4, 4, 10**400, "bf16")
    with pytest.raises(LayoutError, match="are D as they are") as error:
        planned((128, 64), "s8", finish=Finish(bias=True))
    assert error.value.code == "TW401"
    with pytest.raises(LayoutError, match="its own text uses the word"):
        kernel_source(planned((128, 64), "bf16", name="base"))
    with pytest.raises(LayoutError, match="its own text uses the word"):
        host_source(planned((128, 64), "bf16", name="config"))
    with pytest.raises(LayoutError, match="cannot name a kernel"):
        kernel_source(planned((128, 64), "bf16", name="my kernel"))
