"""Time moves across ranks beside DTensor's redistribute, in turn, in one run.

    python bench/mesh.py                     gloo, 2 and 4 ranks on the CPU
    python bench/mesh.py --ranks 2 --rounds 5 --side 4096

It takes torch. The ranks are forked, and meet on the loopback. The slowest rank gives the time of a move.
"""

from __future__ import annotations

import argparse
import logging
import os
import socket
import statistics
import time
import warnings
from collections.abc import Callable
from datetime import timedelta
from itertools import product
from multiprocessing import get_context
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

import tilewise

MESHES = {2: [(2,)], 4: [(4,), (2, 2)], 8: [(8,), (2, 4)]}


def main() -> None:
    """Print the times of each pair of placements, and the median of their ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, action="append", choices=sorted(MESHES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--side", type=int, default=4096, help="rows and columns of f32: 4096 are 64 MB")
    args = parser.parse_args()
    context = get_context("fork")
    print(f"torch {torch.__version__}, gloo, {os.cpu_count()} cores, {args.side} x {args.side} f32")
    ratios: list[float] = []
    for size in args.ranks or [2, 4]:
        for mesh in MESHES[size]:
            with socket.socket() as found:
                found.bind(("127.0.0.1", 0))
                port = found.getsockname()[1]
            answers = context.SimpleQueue()
            every = [
                context.Process(target=rank_of, args=(rank, size, port, mesh, args, answers))
                for rank in range(size)
            ]
            for one in every:
                one.start()
            ratios += answers.get()
            for one in every:
                one.join()
    print(f"median of {len(ratios)} ratios: {statistics.median(ratios):.2f}; largest {max(ratios):.2f}")


def rank_of(rank: int, size: int, port: int, mesh: tuple[int, ...], args: Any, answers: Any) -> None:
    """Time all pairs of placements on one rank; the first rank prints."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=size, timeout=timedelta(seconds=120))
    devices = init_device_mesh("cpu", mesh, mesh_dim_names=("dp", "tp")[: len(mesh)])
    whole = torch.rand(args.side, args.side, generator=torch.Generator().manual_seed(1))
    placements = [*product((Shard(0), Shard(1), Replicate()), repeat=len(mesh))]
    ratios = []
    for before, after in product(placements, repeat=2):
        x = distribute_tensor(whole, devices, before)
        if not sends(x, after):
            continue
        ours, theirs = side_by_side(x, after, args.rounds)
        ratios.append(ours / theirs)
        if rank == 0:
            words = f"{' '.join(map(str, before))} to {' '.join(map(str, after))}"
            times = f"{ours * 1e3:7.1f} ms, DTensor {theirs * 1e3:7.1f} ms, {ours / theirs:.2f}"
            print(f"{mesh}  {words:70} {times}", flush=True)
    if rank == 0:
        answers.put(ratios)
    dist.barrier()
    dist.destroy_process_group()


def side_by_side(x: Any, after: tuple[Any, ...], rounds: int) -> tuple[float, float]:
    """Return the median seconds of a move and of DTensor's, in turn, of results that are equal."""
    ways = (lambda: tilewise.move(x, None, after)), (lambda: x.redistribute(x.device_mesh, after))
    assert torch.equal(*(way().to_local() for way in ways))
    times = [[timed(lambda way=way: way().to_local()) for way in ways] for _ in range(rounds)]
    ours, theirs = (statistics.median(column) for column in zip(*times, strict=True))
    return ours, theirs


def sends(x: Any, after: tuple[Any, ...]) -> bool:
    """Return True if a move of a DTensor has something to send."""
    from tilewise.moves.mesh.dtensor import reading_of

    layouts = [reading_of(one, x.device_mesh, tuple(x.shape)).layout for one in (x.placements, after)]
    return sum(tilewise.plan(*layouts, "f32").bytes_sent) > 0


def timed(move: Callable[[], Any]) -> float:
    """Return the seconds from one barrier to the next."""
    dist.barrier()
    begin = time.perf_counter()
    move()
    dist.barrier()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
