"""`move` across real processes: over gloo against the plain definition, of DTensors against `redistribute`.

Processes are forked from one that has imported torch, and meet on the loopback. Each answers a list of lines.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.moves.mesh.drawn import check_sum, drawn, drawn_sum, parted, total, wanted

from tilewise import LayoutError, NotDecided, move, parse, plan
from tilewise.moves.mesh import bound
from tilewise.moves.mesh import ranks as ranks_module
from tilewise.moves.mesh.plan import mesh_plan
from tilewise.moves.types import given_type

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

TIMEOUT = 10
MOVES = 300
SUMS = 100
NAMES = ("dp", "tp")
SPREAD, GATHERED = "S[(({}, 4), 8) : ((1@gpuid_x, 8), 1)]", "S[({}, 8) : (8, 1)] + R[{} : 1@gpuid_x]"


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


def ranks(
    size: int, work: Callable[[int], list[str]], folder: Path, timeout: int = TIMEOUT
) -> list[list[str]]:
    """Return what each rank of a group answers; a rank that ends otherwise answers nothing."""
    return answers(*started(size, work, folder, timeout))


def started(
    size: int, work: Callable[[int], list[str]], folder: Path, timeout: int
) -> tuple[Any, list[Path]]:
    """Return the processes of a group, and the files of their answers."""
    context = get_context("fork")
    folder.mkdir(exist_ok=True)
    files = [folder / f"rank{rank}" for rank in range(size)]
    every = [
        context.Process(target=_rank, args=(rank, size, work, files[rank], timeout)) for rank in range(size)
    ]
    for one in every:
        one.start()
    return every, files


def answers(every: Any, files: list[Path]) -> list[list[str]]:
    """Return what each rank answers when all have ended."""
    for one in every:
        one.join(12 * TIMEOUT)
        assert one.exitcode is not None, "a rank hangs"
    return [file.read_text().splitlines() if file.exists() else [] for file in files]


def _rank(rank: int, size: int, work: Callable[[int], list[str]], file: Path, timeout: int) -> None:
    dist: Any = sys.modules["torch.distributed"]
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    sys.modules["torch"].set_num_threads(1)
    store = dist.FileStore(str(file.parent / "store"), size)
    patience = timedelta(seconds=timeout)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=patience)
    file.write_text("\n".join(work(rank)))
    os._exit(0)


# -- the definition ------------------------------------------------------------------------------------------


def seeds(size: int) -> list[int]:
    """Return moves that take so many devices, so that all sizes have about as many."""
    found, seed = [], 0
    while len(found) < MOVES // 6 and seed < 4000:
        try:
            if drawn(seed).plan.devices.size == size:
                found.append(seed)
        except NotDecided:
            pass
        seed += 1
    return found


@pytest.mark.parametrize("size", [2, 3, 4, 6, 8])
def test_ranks_hold_what_the_definition_says(torch, tmp_path, size):
    chosen = seeds(size)

    def work(rank: int) -> list[str]:
        return [f"{len(chosen)} moves", *wrong_moves(torch, chosen, rank)]

    assert ranks(size, work, tmp_path) == [[f"{len(chosen)} moves"]] * size


def wrong_moves(torch: Any, chosen: list[int], rank: int) -> Iterator[str]:
    """Yield the moves after which a rank has not what the definition says."""
    from tilewise.moves import bind

    for seed in chosen:
        given = drawn(seed)
        expected = wanted(given, given.plan, seed)
        x = torch.from_numpy(expected.before[rank].view(np.uint8))
        move_of_rank = bind(given.plan)
        made = move_of_rank(x).numpy()
        out = torch.full_like(torch.from_numpy(made), 255)
        move_of_rank(x, out)
        after = expected.after[rank].view(np.uint8)
        if not (made == after).all() or not ((out.numpy() == after) | (after == 0)).all():
            yield f"move {seed}"


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("way", ["all-to-all", "pairs"])
def test_messages_that_go_together_are_the_same(torch, tmp_path, monkeypatch, size, way):
    """The code path of GPUs, on CPUs: gloo has no all-to-all of lists, and pairs stand in for it."""
    dist = torch.distributed
    whole = dist.get_world_size

    def all_to_all(taken: list[Any], sent: list[Any], group: Any, async_op: bool) -> Any:
        ops = [
            dist.P2POp(way, row, at, group)
            for way, rows in ((dist.isend, sent), (dist.irecv, taken))
            for at, row in enumerate(rows)
            if len(row)
        ]
        return Waits(dist.batch_isend_irecv(ops) if ops else [])

    monkeypatch.setattr(ranks_module, "_on_gpu", lambda device: True)
    monkeypatch.setattr(bound, "SHARED_FROM", 16)
    monkeypatch.setattr(dist, "all_to_all", all_to_all)
    monkeypatch.setattr(dist, "get_world_size", lambda group=None: whole(group) + (way == "pairs"))
    moves, every = seeds(size)[:20], sums(size)[:10]

    def work(rank: int) -> list[str]:
        return [f"{size} ranks", *wrong_moves(torch, moves, rank), *wrong_sums(torch, every, rank, size)]

    assert ranks(size, work, tmp_path) == [[f"{size} ranks"]] * size


@dataclass
class Waits:
    """The works of several messages as one."""

    works: list[Any]

    def wait(self) -> None:
        for work in self.works:
            work.wait()


def gathered(torch: Any, own: Any, size: int) -> list[Any]:
    """Return the storages of all ranks."""
    every = [torch.empty_like(own) for _ in range(size)]
    torch.distributed.all_gather([one.view(torch.uint8) for one in every], own.view(torch.uint8))
    return every


def sums(size: int) -> list[int]:
    """Return moves of sums that take so many devices."""
    found, seed = [], 0
    while len(found) < SUMS // 5 and seed < 4000:
        given = drawn_sum(seed)
        if given is not None and given.reduce and given.plan.devices.size == size:
            found.append(seed)
        seed += 1
    return found


@pytest.mark.parametrize("size", [2, 3, 4, 6, 8])
def test_ranks_hold_the_sums(torch, tmp_path, size):
    """Each rank checks all storages, its own by `move`, and those of others as they gather them."""
    chosen = sums(size)

    def work(rank: int) -> list[str]:
        return [f"{len(chosen)} sums", *wrong_sums(torch, chosen, rank, size)]

    assert ranks(size, work, tmp_path) == [[f"{len(chosen)} sums"]] * size


def wrong_sums(torch: Any, chosen: list[int], rank: int, size: int) -> Iterator[str]:
    """Yield the sums of which some rank has another."""
    from tilewise.moves import bind

    def run(plan: Any, before: list[np.ndarray]) -> list[np.ndarray]:
        made = bind(plan)(torch.from_numpy(before[rank]))
        out = torch.full_like(made, 77)
        assert torch.equal(bind(plan)(torch.from_numpy(before[rank]), out)[made != 0], made[made != 0])
        return [one.numpy() for one in gathered(torch, made, size)]

    yield from filter(None, (check_sum(drawn_sum(seed), seed, run) for seed in chosen))


@pytest.mark.parametrize("size", [2, 3, 4, 6, 8])
def test_gradients_are_the_sums_over_all_copies(torch, tmp_path, size):
    """The gradient of an element, over the source's copies of it, is the sum over all that it went to."""
    chosen = [*sums(size), *seeds(size)[:10]]

    def work(rank: int) -> list[str]:
        from tilewise.moves import bind

        faults = []
        for seed in chosen:
            drawn_one = drawn_sum(seed)
            reduce = drawn_one.reduce if drawn_one and seed in sums_here else ()
            move = drawn(seed)
            kind = {8: torch.float16, 16: torch.bfloat16, 32: torch.float32, 64: torch.float64}[move.bits]
            plan = mesh_plan(
                move.source,
                move.target,
                given_type(kind),
                shape=move.box,
                link=move.link,
                reduce=dict.fromkeys(reduce, "avg" if seed % 3 == 0 else "sum"),
            )
            x = torch.zeros(plan.reads, dtype=kind, requires_grad=True)
            made = bind(plan)(x)
            weight = torch.from_numpy(np.random.default_rng([seed, rank]).integers(0, 4, plan.writes)).to(
                kind
            )
            (made * weight).sum().backward()
            gradients, weights = (
                [one.double() for one in gathered(torch, own, size)] for own in (x.grad, weight)
            )
            for index in np.ndindex(*move.box):
                wanted = total(plan.devices, weights, move.target, index) / plan.divisor
                layouts = parted(move.source, reduce).values()
                found = [total(plan.devices, gradients, layout, index) for layout in layouts]
                if any(abs(one - wanted) > 0.02 * abs(wanted) for one in found):
                    faults.append(f"{seed} {index} {found} {wanted}")
                    break
        return [f"{len(chosen)} gradients", *faults]

    sums_here = set(sums(size))
    assert ranks(size, work, tmp_path) == [[f"{len(chosen)} gradients"]] * size


def refusals(torch: Any, rank: int) -> list[str]:
    """Return the errors of gradients that no plan carries back."""
    whole = parse("S[4] + R[2 : 1@x]")
    found = []

    def tell(work: Callable[[], Any]) -> None:
        try:
            work()
            found.append("no error")
        except (LayoutError, RuntimeError) as error:
            found.append(str(error).splitlines()[0])

    x = torch.ones(2, 2, requires_grad=True)
    group = {"mesh": torch.distributed.group.WORLD}
    tell(lambda: move(x, whole, whole, reduce={"x": "max"}, **group))
    tell(lambda: move(x, whole, whole, out=torch.zeros(4), **group))
    tell(lambda: move(x, whole, whole, dtype="b32", **group))
    tell(lambda: move(x.detach() if rank else x, whole, whole, **group))
    # y is the sum of both parts on each rank: the second derivative of the sum of all y^3 / 6 is 2 y
    made = move(x, whole, whole, reduce="x", **group)
    (once,) = torch.autograd.grad((made**3).sum() / 6, x, create_graph=True)
    (twice,) = torch.autograd.grad(once.sum(), x)
    assert once.shape == x.shape
    assert torch.equal(once, torch.full((2, 2), 4.0))
    assert torch.equal(twice, torch.full((2, 2), 8.0))
    return found


def test_gradients_that_no_plan_carries_back_are_refused(torch, tmp_path):
    for lines in ranks(2, lambda rank: refusals(torch, rank), tmp_path):
        assert [line.partition(": ")[2][:60] for line in lines] == [
            "x needs a gradient, and the max of parts has none",
            "x needs a gradient, and `out` has none to pass on",
            "x needs a gradient, and its torch.float32 is moved as b32",
            "the ranks do not agree: rank 1 has another need of a gradien",
        ]


def test_lengths_beyond_what_is_remembered_are_right(torch, tmp_path):
    def work(rank: int) -> list[str]:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import DTensor, Replicate, Shard

        mesh = init_device_mesh("cpu", (1,), mesh_dim_names=("dp",))
        for length in range(1, 2500):
            x = DTensor.from_local(torch.ones(length), mesh, (Shard(0),), run_check=False)
            assert move(x, None, (Replicate(),)).to_local().shape == (length,)
        return ["done"]

    assert ranks(1, work, tmp_path) == [["done"]]


# -- DTensor -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mesh", [(2,), (3,), (2, 2)])
def test_dtensors_are_those_that_redistribute_makes(torch, tmp_path, mesh):
    def work(rank: int) -> list[str]:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import Replicate, Shard, distribute_tensor

        devices = init_device_mesh("cpu", mesh, mesh_dim_names=("dp", "tp")[: len(mesh)])
        placements = [*product((Shard(0), Shard(1), Replicate()), repeat=len(mesh))]
        bad = []
        for shape in ((16, 24), (15, 7)):
            whole = torch.arange(shape[0] * shape[1]).reshape(shape).float()
            tensors = {after: distribute_tensor(whole, devices, after) for after in placements}
            for before, after in product(placements, repeat=2):
                try:
                    made = move(tensors[before], None, after)
                except LayoutError as error:
                    bad += [f"refused {error}"] if shape == (16, 24) else []
                    continue
                same = torch.equal(made.to_local(), tensors[after].to_local())
                if not same or made.shape != whole.shape or made.placements != after:
                    bad.append(f"{shape} {before} {after}")
        return [*bad, "done"]

    size = int(np.prod(mesh))
    assert ranks(size, work, tmp_path) == [["done"]] * size


@pytest.mark.parametrize("mesh", [(2,), (3,), (2, 2)])
def test_sums_and_gradients_of_dtensors(torch, tmp_path, mesh):
    """A part is the tensor times a number; gradients are those of `redistribute`."""

    def work(rank: int) -> list[str]:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

        devices = init_device_mesh("cpu", mesh, mesh_dim_names=None if mesh == (3,) else NAMES[: len(mesh)])
        every = [*product((Shard(0), Shard(1), Replicate(), Partial()), repeat=len(mesh))]
        whole = [Replicate()] * len(mesh)
        bad = []

        def held(tensor: Any, placements: Any, times: bool) -> Any:
            known = [Replicate() if one.is_partial() else one for one in placements]
            found = distribute_tensor(tensor, devices, known).to_local().clone()
            for placement, at in zip(placements, devices.get_coordinate(), strict=True):
                found *= 1 + at if placement.is_partial() and times else 1
            like = {"shape": tensor.shape, "stride": tensor.stride()}
            return DTensor.from_local(found, devices, placements, run_check=False, **like)

        for shape, before, after in product(((16, 24), (15, 7)), every, every):
            tensor = torch.arange(shape[0] * shape[1]).reshape(shape).float()
            total = np.prod([n * (n + 1) // 2 for n, it in zip(mesh, before, strict=True) if it.is_partial()])
            made = move(held(tensor, before, True), None, after)
            if not torch.equal(made.redistribute(devices, whole).to_local(), tensor * int(total)):
                bad.append(f"{shape} {before} {after}")
            if shape == (15, 7) or any(one.is_partial() for one in after):
                continue
            found = []
            for way in (lambda x, to: move(x, None, to), lambda x, to: x.redistribute(devices, to)):
                x = held(tensor, before, False).detach().requires_grad_()
                (way(x, after) * distribute_tensor(tensor, devices, after)).sum().backward()
                found.append(x.grad.redistribute(devices, whole).to_local())
            bad += [] if torch.equal(*found) else [f"gradient {before} {after}"]
        return [*bad, "done"]

    assert ranks(int(np.prod(mesh)), work, tmp_path) == [["done"]] * int(np.prod(mesh))


# -- JAX -----------------------------------------------------------------------------------------------------


def test_jax_moves_what_the_definition_says():
    pytest.importorskip("jax", reason="jax is not installed")
    counts = ["300", "100", "100", "60"]
    made = subprocess.run(
        [sys.executable, "-m", "tests.oracle.mesh_on_jax", *counts],
        capture_output=True,
        text=True,
        check=False,
    )
    names = ("shardings", "layouts", "sums", "gradients")
    wanted = [f"{many} {name} []" for many, name in zip(counts, names, strict=True)]
    assert made.stdout.splitlines() == wanted, made.stderr


# -- faults --------------------------------------------------------------------------------------------------


def call(torch: Any, size: int, what: str, rank: int) -> str:
    """Return the error of a call that one rank makes in another way, or what it got."""
    source, target = parse(SPREAD.format(size)), parse(GATHERED.format(4 * size, size))
    x = torch.arange(32.0) + 100 * rank
    kept = x.clone()
    odd = rank == size - 1
    try:
        if odd and what == "dies":
            os._exit(3)
        if odd and what == "sleeps":
            time.sleep(2 * TIMEOUT)
        made = move(
            {"short": x[:16], "type": x.double(), "array": x.numpy()}.get(what, x) if odd else x,
            source,
            target + 1 if odd and what == "layout" else target,
            mesh=torch.distributed.group.WORLD,
        )
    except LayoutError as error:
        assert torch.equal(x, kept)
        return f"{error.code} {error.message}"
    expected = torch.cat([torch.arange(32.0) + 100 * other for other in range(size)])
    return "right" if torch.equal(made, expected) else "wrong"


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("nothing", "right"),
        ("layout", "TW708 the ranks do not agree: rank {} has another target"),
        ("type", "TW708 the ranks do not agree: rank {} has another type"),
        ("short", "TW708 the ranks do not agree: rank {} refuses its call"),
        ("array", "TW708 the ranks do not agree: rank {} refuses its call"),
        ("dies", "TW707 rank {} does not answer"),
        ("sleeps", "TW707 rank {} does not answer"),
    ],
)
def test_each_rank_names_the_one_that_differs(torch, tmp_path, size, what, words):
    found = ranks(size, lambda rank: [call(torch, size, what, rank)], tmp_path)
    if size == 2 and what in ("layout", "type"):
        words = words.partition(": ")[0]  # each of two ranks differs from the other
    for rank, lines in enumerate(found):
        if rank == size - 1 and what in ("short", "array", "dies", "sleeps"):
            continue
        assert lines[0].startswith(words.format(size - 1)), (rank, lines)


@pytest.mark.parametrize(
    ("backends", "device"),
    [("cpu:gloo,cuda:nccl", "cpu"), ("cpu:gloo,cuda:gloo", "cpu"), ("cuda:nccl", "cuda:1")],
)
def test_a_group_agrees_on_the_device_whose_tensors_it_sends(torch, monkeypatch, backends, device):
    """`init_process_group()` without a backend has that of the accelerator alone."""
    from tilewise.moves.mesh.ranks import GroupRanks

    monkeypatch.setattr(torch.distributed, "get_backend_config", lambda group: backends)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    assert str(GroupRanks(None, (0, 1), 0).device) == device


# -- drills --------------------------------------------------------------------------------------------------

WHOLE = "S[4096] + R[{0} : 1@x]"
PLANS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "all-to-all": ("S[({0}, 8, 96) : (1@x, 96, 1)]", "S[({0}, 8, {0}, {2}) : ({3}, {2}, 1@x, 1)]", {}),
    "all-reduce": (WHOLE, WHOLE, {"reduce": "x"}),
    "broadcast": ("S[4096]", WHOLE, {"link": {"x": 1e-6}}),
    "slow": (
        "S[4096] + R[(2, {1}) : (1@x, 1@y)]",
        "S[4096] + R[(2, {1}) : (1@x, 1@y)]",
        {"reduce": ["x", "y"], "link": {"x": 1e-6, "y": 1e-5}},
    ),
}
"""Plans of one stage, two and four: source, target and options, by the number of devices."""
PATIENCE = 2
"""Seconds after which a group misses a rank, in drills."""


@dataclass(frozen=True)
class Drill:
    """A fault: a rank that ends or sleeps when a stage begins, or when its messages are on their way."""

    plan: str
    size: int
    fault: str
    stage: int = -1
    sent: bool = False
    out: bool = False


def planned(drill: Drill) -> Any:
    source, target, options = PLANS[drill.plan]
    size = drill.size
    spelled = [text.format(size, size // 2, 96 // size, 768 // size) for text in (source, target)]
    return plan(*map(parse, spelled), "f32", **options)


def drills() -> list[Drill]:
    found = []
    for name, sizes in (
        ("all-to-all", (2, 3, 4)),
        ("all-reduce", (2, 3, 4)),
        ("broadcast", (2, 3, 4)),
        ("slow", (4,)),
    ):
        for size in sizes:
            stages = len(planned(Drill(name, size, "")).stages)
            found += [
                Drill(name, size, fault) for fault in ("layout", "type", "short", "version", "dies", "sleeps")
            ]
            found += [
                Drill(name, size, fault, stage, sent, out)
                for fault in ("dies", "sleeps")
                for stage in range(stages)
                for sent in (False, True)
                for out in (False, True)
            ]
    return found


def drilled(torch: Any, drill: Drill, rank: int) -> str:
    """Return what a rank has of a drill: "right", or an error; anything else is a fault."""
    from tilewise.moves import bind, simulated
    from tilewise.moves.mesh import ranks as running

    own = planned(drill)
    every = [np.random.default_rng(at).integers(0, 50, own.reads).astype("f4") for at in range(drill.size)]
    expected = torch.from_numpy(simulated(own, every).storages[rank])
    x = torch.from_numpy(every[rank].copy())
    odd = rank == drill.size - 1
    out = torch.full_like(expected, -1.0) if drill.out else None

    failed: list[str] = []

    def fail() -> None:
        if drill.fault == "dies":
            os._exit(3)
        if not failed:
            failed.append("asleep")
            time.sleep(2 * PATIENCE)

    if odd and drill.fault == "version":
        running.version = lambda: "0.0"
    if odd and drill.stage < 0 and drill.fault in ("dies", "sleeps"):
        fail()
    if odd and drill.stage >= 0:
        usual = running.Messages

        class Failing(usual):  # type: ignore[misc, valid-type]
            def __init__(self, group: Any, tag: int, **named: Any) -> None:
                super().__init__(group, tag, **named)
                if tag == drill.stage and not drill.sent:
                    fail()

            def wait(self, work: Any, device: int) -> bool:
                if self.tag == drill.stage and drill.sent:
                    fail()
                return super().wait(work, device)

        running.Messages = Failing
    try:
        if odd and drill.fault in ("layout", "type", "short"):
            source, target = own.source, own.target
            if drill.fault == "layout":
                target = target + 4
            given = {"type": x.double(), "short": x[:-1]}.get(drill.fault, x)
            move(given, source, target, mesh=torch.distributed.group.WORLD, reduce=own.reduce or None)
        elif drill.fault in ("layout", "type", "short"):
            named = {"mesh": torch.distributed.group.WORLD, "reduce": own.reduce or None}
            move(x, own.source, own.target, **named)
        else:
            made = bind(own)(x, out)
            if not torch.equal(made, expected):
                return "wrong"
        found = "right"
    except LayoutError as error:
        if out is not None and not (torch.equal(out, expected) or bool((out == -1).all())):
            return "out is half written"
        found = f"{error.code} {error.message}"
    return found if np.array_equal(x.numpy(), every[rank]) else "x was changed"


def test_two_hundred_drills(torch, tmp_path):
    """Each live rank ends in time, with the right result or an error that names the rank that is odd."""
    waiting = list(enumerate(drills()))
    assert len(waiting) >= 200
    faults: list[str] = []
    while waiting:
        some = [(drill, _drill(torch, drill, tmp_path / f"{at}")) for at, drill in waiting[:6]]
        waiting = waiting[6:]
        for drill, processes in some:
            faults += [f"{drill} {line}" for line in odd_answers(drill, answers(*processes))]
    assert faults == []


def _drill(torch: Any, drill: Drill, folder: Path) -> tuple[Any, list[Path]]:
    return started(drill.size, lambda rank: [drilled(torch, drill, rank)], folder, PATIENCE)


def odd_answers(drill: Drill, found: list[list[str]]) -> Iterator[str]:
    """Yield the answers that are neither right nor name the rank that is odd."""
    for rank, lines in enumerate(found):
        line, is_odd = lines[0] if lines else "nothing", rank == drill.size - 1
        if drill.fault in ("dies", "sleeps") and (line == "right" or (is_odd and line == "nothing")):
            continue
        names = f"rank {drill.size - 1} " in line or (drill.size == 2 and line.startswith("TW708"))
        if not line.startswith("TW" if is_odd else ("TW707", "TW708")) or not (names or is_odd):
            yield f"rank {rank}: {line}"
