"""`move` across real processes: over gloo against the plain definition, of DTensors against `redistribute`.

Processes are forked from one that has imported torch, and meet on the loopback. Each answers a list of lines.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.moves.mesh.drawn import drawn, wanted

from tilewise import LayoutError, NotDecided, move, parse

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

TIMEOUT = 10
MOVES = 300
SPREAD, GATHERED = "S[(({}, 4), 8) : ((1@gpuid_x, 8), 1)]", "S[({}, 8) : (8, 1)] + R[{} : 1@gpuid_x]"


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


def ranks(size: int, work: Callable[[int], list[str]], folder: Path) -> list[list[str]]:
    """Return what each rank of a group answers; a rank that ends otherwise answers nothing."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    context = get_context("fork")
    files = [folder / f"rank{rank}" for rank in range(size)]
    every = [
        context.Process(target=_rank, args=(rank, size, port, work, files[rank])) for rank in range(size)
    ]
    for one in every:
        one.start()
    for one in every:
        one.join(12 * TIMEOUT)
        assert one.exitcode is not None, "a rank hangs"
    return [file.read_text().splitlines() if file.exists() else [] for file in files]


def _rank(rank: int, size: int, port: int, work: Callable[[int], list[str]], file: Path) -> None:
    dist: Any = sys.modules["torch.distributed"]
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    sys.modules["torch"].set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=size, timeout=timedelta(seconds=TIMEOUT))
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
        from tilewise.moves import bind

        bad = []
        for seed in chosen:
            given = drawn(seed)
            plan = given.plan
            expected = wanted(given, plan, seed)
            x = torch.from_numpy(expected.before[rank].view(np.uint8))
            bound = bind(plan)
            made = bound(x).numpy()
            out = torch.full_like(torch.from_numpy(made), 255)
            bound(x, out)
            after = expected.after[rank].view(np.uint8)
            if not (made == after).all() or not ((out.numpy() == after) | (after == 0)).all():
                bad.append(f"{seed}")
        return [f"{len(chosen)} moves", *bad]

    assert ranks(size, work, tmp_path) == [[f"{len(chosen)} moves"]] * size


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
