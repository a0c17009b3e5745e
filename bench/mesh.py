"""Time moves across ranks beside DTensor's redistribute, in turn, in one run.

    python bench/mesh.py                     gloo, 2 and 4 ranks on the CPU
    python bench/mesh.py --ranks 2 --rounds 5 --side 4096
    python bench/mesh.py --nccl --ranks 8    NCCL on eight GPUs, beside an all-to-all and messages of pairs
    python bench/mesh.py --local             what one of eight GPUs packs and unpacks, beside copies

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
from itertools import chain, product
from multiprocessing import get_context
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

import tilewise
import tilewise.moves

MESHES = {2: [(2,)], 4: [(4,), (2, 2)], 8: [(8,), (2, 4)]}


def main() -> None:
    """Print the times of each pair of placements, and the median of their ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, action="append", choices=sorted(MESHES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--side", type=int, default=4096, help="rows and columns of f32: 4096 are 64 MB")
    parser.add_argument("--nccl", action="store_true", help="GPUs, one for each rank")
    parser.add_argument("--local", action="store_true", help="the local steps alone, on one GPU")
    args = parser.parse_args()
    if args.local:
        local_steps(args.side, args.rounds)
        return
    context = get_context("fork")
    where = "NCCL" if args.nccl else f"gloo, {os.cpu_count()} cores"
    print(f"torch {torch.__version__}, {where}, {args.side} x {args.side} f32")
    ratios: list[float] = []
    bound: list[float] = []
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
            for found, told in zip((ratios, bound), answers.get(), strict=True):
                found += told
            for one in every:
                one.join()
    for name, found in (("ratios", ratios), ("ratios of bound plans", bound)):
        print(f"median of {len(found)} {name}: {statistics.median(found):.2f}; largest {max(found):.2f}")


def rank_of(rank: int, size: int, port: int, mesh: tuple[int, ...], args: Any, answers: Any) -> None:
    """Time all pairs of placements on one rank; the first rank prints."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    torch.set_num_threads(1)
    kind, backend = ("cuda", "nccl") if args.nccl else ("cpu", "gloo")
    if args.nccl:
        torch.cuda.set_device(rank)
    dist.init_process_group(backend, rank=rank, world_size=size, timeout=timedelta(seconds=120))
    if args.nccl:
        told = wire(args.side, args.rounds)
        if rank == 0:
            print(told, flush=True)
    devices = init_device_mesh(kind, mesh, mesh_dim_names=("dp", "tp")[: len(mesh)])
    whole = torch.rand(args.side, args.side, generator=torch.Generator().manual_seed(1)).to(kind)
    placements = [*product((Shard(0), Shard(1), Replicate()), repeat=len(mesh))]
    ratios, kept = [], []
    for before, after in product(placements, repeat=2):
        x = distribute_tensor(whole, devices, before)
        if not sends(x, after):
            continue
        ours, bound, theirs = side_by_side(x, after, args.rounds)
        ratios.append(ours / theirs)
        kept.append(bound / theirs)
        if rank == 0:
            words = f"{' '.join(map(str, before))} to {' '.join(map(str, after))}"
            times = f"{ours * 1e3:7.1f} ms, DTensor {theirs * 1e3:7.1f} ms, {ours / theirs:.2f}"
            times += f"; bound {bound * 1e3:7.1f} ms, {bound / theirs:.2f}"
            print(f"{mesh}  {words:70} {times}", flush=True)
    if rank == 0:
        answers.put((ratios, kept))
    dist.barrier()
    dist.destroy_process_group()


def side_by_side(x: Any, after: tuple[Any, ...], rounds: int) -> tuple[float, float, float]:
    """Return the median seconds of a move, of a bound plan, and of DTensor's, in turn; results are equal."""
    local, bound = x.to_local(), tilewise.moves.bind(plan_of(x, after), x.device_mesh)
    ways: list[Callable[[], Any]] = [
        lambda: tilewise.move(x, None, after).to_local(),
        lambda: bound(local),
        lambda: x.redistribute(x.device_mesh, after).to_local(),
    ]
    ours, other, theirs = (way() for way in ways)
    assert torch.equal(ours, theirs)
    assert torch.equal(other.view_as(theirs), theirs)
    times = [[timed(way) for way in ways] for _ in range(rounds)]
    medians = [statistics.median(column) for column in zip(*times, strict=True)]
    return medians[0], medians[1], medians[2]


def plan_of(x: Any, after: tuple[Any, ...]) -> Any:
    """Return the plan of a DTensor's move."""
    from tilewise.moves.mesh.dtensor import reading_of

    mesh = dict(zip(x.device_mesh.mesh_dim_names, x.device_mesh.mesh.shape, strict=True))
    layouts = [reading_of(one, x.device_mesh, tuple(x.shape)).layout for one in (x.placements, after)]
    return tilewise.plan(*layouts, "f32", mesh=mesh)


def sends(x: Any, after: tuple[Any, ...]) -> bool:
    """Return True if a move of a DTensor has something to send."""
    return sum(plan_of(x, after).bytes_sent) > 0


def timed(move: Callable[[], Any]) -> float:
    """Return the seconds from one barrier to the next."""
    settle()
    begin = time.perf_counter()
    move()
    settle()
    return time.perf_counter() - begin


def settle() -> None:
    """Return when all ranks, and their GPUs, have done all work."""
    if dist.get_backend() == "nccl":
        torch.cuda.synchronize()
    dist.barrier()


def wire(side: int, rounds: int) -> str:
    """Return the rates at which bytes arrive at a rank in an all-to-all, and in messages of pairs."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x = torch.rand(side * side // size * size, device="cuda")
    out = torch.empty_like(x)

    def messages() -> None:
        if rank < size // 2 * 2:
            both = [dist.P2POp(dist.isend, x, rank ^ 1), dist.P2POp(dist.irecv, out, rank ^ 1)]
            for work in dist.batch_isend_irecv(both):
                work.wait()

    ways = {"all-to-all": lambda: dist.all_to_all_single(out, x), "pairs": messages}
    arrive = {"all-to-all": x.nbytes * (size - 1) / size, "pairs": x.nbytes}
    for way in ways.values():
        timed(way)
    seconds = {name: statistics.median(timed(way) for _ in range(rounds)) for name, way in ways.items()}
    rates = [f"{name} {arrive[name] / taken / 1e9:.0f} GB/s" for name, taken in seconds.items()]
    return f"the wire: {', '.join(rates)}"


ROWS, COLUMNS = "S[((8, {1}), {0}) : ((1@x, {0}), 1)]", "S[({0}, (8, {1})) : ({1}, (1@x, 1))]"
LOCAL = {
    "rows to columns": (ROWS, COLUMNS),
    "rows to columns, turned": (ROWS, "S[({0}, (8, {1})) : (1, (1@x, {0}))]"),
    "columns to rows": (COLUMNS, ROWS),
    "blocks to rows": ("S[((2, {2}), (4, {3})) : ((4@x, {3}), (1@x, 1))]", ROWS),
    "all-gather of columns": (COLUMNS, "S[{0}, {0}] + R[8 : 1@x]"),
}
"""Moves between eight GPUs, by the rows of a matrix, an eighth, a half and a quarter of them."""


def local_steps(side: int, rounds: int) -> None:
    """Time what one of eight GPUs packs, unpacks and keeps, beside copies of as many bytes."""
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}, {side} x {side} bf16 on eight GPUs")
    for name, pair in LOCAL.items():
        sizes = side, side // 8, side // 2, side // 4
        source, target = (tilewise.parse(text.format(*sizes)) for text in pair)
        plan = tilewise.plan(source, target, "bf16")
        steps = steps_of(plan, device=3)
        words = [f"{step} {ratio(run, 2 * count, rounds):.2f}" for step, run, count in steps if count]
        print(f"{plan.kinds[0]:12} {name:26} {', '.join(words)} of a copy", flush=True)


def steps_of(plan: Any, device: int) -> list[tuple[str, Callable[[], Any], int]]:
    """Return the local steps of a device: names, runs, and the elements that they move."""
    from tilewise.moves import _bound
    from tilewise.moves.mesh.bound import BoundPart

    (stage,) = plan.stages
    part = BoundPart(stage, device, plan.dtype, _bound, fused=True)
    x = torch.randint(0, 255, (2 * plan.reads,), dtype=torch.uint8, device="cuda")
    out, empty = torch.zeros(2 * plan.writes, dtype=torch.uint8, device="cuda"), x.new_empty
    packed, taken = part.packed(x, empty), part.taken(out, empty)

    def pack() -> None:
        for share in range(len(part.sends)):
            list(part.sent(x, packed, share))

    def unpack() -> None:
        for batch in chain(*part.takes):
            part.unpack(batch, taken, out)

    sent, arrive = (
        sum(slot.size for slot in slots if slot.moves) for slots in (part.part.sends, part.part.takes)
    )
    kept = plan.writes - int(stage.received[device])
    return [("pack", pack, sent), ("unpack", unpack, arrive), ("keep", lambda: part.keep(x, out), kept)]


def ratio(run: Callable[[], Any], size: int, rounds: int) -> float:
    """Return the time of a copy of so many bytes over that of a step, in turn."""
    x = torch.randint(0, 255, (size,), dtype=torch.uint8, device="cuda")
    out = torch.empty_like(x)

    def seconds(work: Callable[[], Any], times: int = 10) -> float:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(times):
            work()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / times

    for work in (run, lambda: out.copy_(x)):
        seconds(work)
    pairs = [(seconds(lambda: out.copy_(x)), seconds(run)) for _ in range(rounds)]
    return statistics.median(copy / own for copy, own in pairs)


if __name__ == "__main__":
    main()
