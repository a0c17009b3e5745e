"""Count the bytes of moves between placements beside those of DTensor's own steps, on ranks of the CPU.

    python bench/mesh_bytes.py                300 pairs: shards, sums, strided shards, uneven tensors
    python bench/mesh_bytes.py --pairs 40

It takes torch. DTensor's steps are those that it takes on a CUDA mesh. Each collective counts with
the bytes that arrive at a rank in its best algorithm: of n ranks, an all-gather brings n - 1
inputs, an all-to-all and a reduce-scatter (n - 1)/n of one, an all-reduce twice that. An all-to-all over gloo
is run as an all-gather, and counted as an all-to-all. Results of both are compared with the definition.
"""

from __future__ import annotations

import argparse
import logging
import os
import socket
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing import get_context
from random import Random
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import _functional_collectives as funcol
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, placement_types

import tilewise
from tilewise.moves.mesh.dtensor import reading_of
from tilewise.moves.mesh.plan import MeshPlan, mesh_plan

KINDS = ("shards", "sums", "strided", "uneven")
MESHES = ((4,), (2, 2), (2, 2, 2), (2, 4))
NAMES = ("pp", "dp", "tp")
EVEN, UNEVEN = ((16, 24), (8, 16, 24)), ((15, 7), (10, 9, 6))
SHARES: dict[str, Callable[[int], float]] = {
    "all_gather": lambda many: many - 1,
    "reduce_scatter": lambda many: (many - 1) / many,
    "all_reduce": lambda many: 2 * (many - 1) / many,
    "shard_dim_alltoall": lambda many: (many - 1) / many,
}
"""Inputs that arrive at a rank in a collective of so many."""

Pair = tuple[str, tuple[int, ...], tuple[int, ...], Sequence[Any], Sequence[Any]]
"""The kind of a pair, its mesh, the extents of its tensor, and both placements."""


def main() -> None:
    """Print the pairs in which either sends more, and the counts of each kind."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=300)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    print(f"torch {torch.__version__}")
    context = get_context("fork")
    told: list[str] = []
    chosen = list(pairs(args.pairs))
    for mesh in MESHES:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
        answers = context.SimpleQueue()
        size = torch.Size(mesh).numel()
        own = [pair for pair in chosen if pair[1] == mesh]
        every = [
            context.Process(target=rank_of, args=(rank, port, mesh, own, answers)) for rank in range(size)
        ]
        for one in every:
            one.start()
        told += answers.get()
        for one in every:
            one.join()
    for line in told:
        if not line.endswith("both right"):
            print(line)
    counts = Counter(tuple(line.split()[:2]) for line in told)
    for kind in KINDS:
        print(
            f"{kind:8}", {verdict: count for (verdict, own), count in sorted(counts.items()) if own == kind}
        )


def pairs(many: int) -> Iterator[Pair]:
    """Yield pairs of placements with something to send, as many of each kind."""
    rng, seen = Random(20261129), set()
    found: Counter[str] = Counter()
    while sum(found.values()) < many:
        kind = min(KINDS, key=lambda name: found[name])
        mesh = rng.choice(MESHES)
        shape = rng.choice(UNEVEN if kind == "uneven" else EVEN)
        before, after = (drawn(rng, kind, mesh, len(shape), source) for source in (True, False))
        words = f"{mesh} {shape} {before} {after}"
        has = {"sums": Partial, "strided": placement_types._StridedShard}.get(kind)
        if words in seen or (has and not any(isinstance(one, has) for one in (*before, *after))):
            continue
        seen.add(words)
        if kind == "sums" and not any(one.is_partial() for one in before):
            continue
        try:
            if not sum(plan_of(mesh, shape, before, after).bytes_sent):
                continue
        except (tilewise.LayoutError, tilewise.Refused):
            continue
        found[kind] += 1
        yield kind, mesh, shape, before, after


def drawn(rng: Random, kind: str, mesh: Sequence[int], rank: int, is_source: bool) -> tuple[Any, ...]:
    """Return random placements."""
    found = []
    for _ in mesh:
        word = rng.choice(["S", "S", "R", {"sums": "P", "strided": "SS"}.get(kind, "S")])
        if word == "P" and not is_source and rng.random() < 0.7:
            word = "R"
        dim = rng.randrange(rank)
        strided = placement_types._StridedShard(dim, split_factor=rng.choice([2, 4]))
        found.append({"S": Shard(dim), "R": Replicate(), "P": Partial(), "SS": strided}[word])
    return tuple(found)


class Sizes:
    """A mesh of these extents, without ranks."""

    def __init__(self, extents: Sequence[int]) -> None:
        self.mesh = torch.zeros(tuple(extents))
        self.mesh_dim_names = NAMES[: len(extents)]


def plan_of(mesh: Sequence[int], shape: tuple[int, ...], before: Any, after: Any) -> MeshPlan:
    """Return the plan from one placement to another, of f32."""
    ours, theirs = (reading_of(one, Sizes(mesh), shape) for one in (before, after))
    extents = dict(zip(NAMES, mesh, strict=False))
    dtype = tilewise.DType.of("f32")
    layouts = ours.layout, theirs.layout
    return mesh_plan(*layouts, dtype, shape=shape, mesh=extents, reduce=ours.sums, parts=theirs.sums)


# -- one rank ------------------------------------------------------------------------------------------------


def rank_of(rank: int, port: int, mesh: tuple[int, ...], own: list[Pair], answers: Any) -> None:
    """Run all pairs of a mesh on one rank; the first one answers."""
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    torch.set_num_threads(1)
    size = torch.Size(mesh).numel()
    dist.init_process_group("gloo", rank=rank, world_size=size, timeout=timedelta(seconds=60))
    devices = init_device_mesh("cpu", mesh, mesh_dim_names=NAMES[: len(mesh)])
    told = [compared(devices, *pair) for pair in own]
    if rank == 0:
        answers.put(told)
    dist.barrier()
    dist.destroy_process_group()


def compared(devices: Any, kind: str, mesh: Any, shape: Any, before: Any, after: Any) -> str:
    """Return a line with both bytes, and if both results are right."""
    whole = torch.arange(torch.Size(shape).numel()).reshape(shape).float()
    x = held(whole, devices, before)
    plan = plan_of(mesh, shape, before, after)
    ours = sum(plan.bytes_sent)
    words = f"{mesh} {shape} {before} to {after}: {ours} bytes, least {plan.least}"
    fault = (
        "" if is_right(tilewise.move(x, None, after), whole, devices, before, after) else ", OURS IS WRONG"
    )
    with counted() as bytes_of:
        try:
            made, refusal = x.redistribute(devices, after), ""
        except (RuntimeError, ValueError, NotImplementedError, AssertionError, IndexError) as error:
            made, refusal = None, (str(error).splitlines() or [type(error).__name__])[0][:80]
    total = torch.tensor([sum(bytes_of), bool(refusal)], dtype=torch.float64)
    dist.all_reduce(total)
    if total[1]:
        return f"refused {kind} {words}, DTensor refuses: {refusal}{fault}"
    right = torch.tensor([is_right(made, whole, devices, before, after)])
    dist.all_reduce(right, dist.ReduceOp.MIN)
    theirs = round(float(total[0]))
    if not right:
        return f"wrong {kind} {words}, DTensor {theirs} and wrong{fault}"
    verdict = "MORE" if ours > theirs else "above" if ours > plan.least else "least"
    return f"{verdict} {kind} {words}, DTensor {theirs}{fault}, " + ("both right" if ours <= theirs else "")


def held(whole: Any, devices: Any, placements: Any) -> Any:
    """Return the tensor with placements, from the definition; a part is the tensor times 1 + its number."""
    found = local_of(whole, devices, placements)
    for at, placement in enumerate(placements):
        if placement.is_partial():
            found = found * (1 + devices.get_coordinate()[at])
    return DTensor.from_local(
        found, devices, placements, run_check=False, shape=whole.shape, stride=whole.stride()
    )


def local_of(whole: Any, devices: Any, placements: Any) -> Any:
    """Return this rank's part of a tensor, from left to right; parts of a sum are whole."""
    found = whole
    pieces: list[tuple[int, int, int, int]] = []
    for at, placement in enumerate(placements):
        if placement.is_replicate() or placement.is_partial():
            continue
        pieces.append(
            (
                placement.dim,
                getattr(placement, "split_factor", 1),
                devices.size(at),
                devices.get_coordinate()[at],
            )
        )
    for dim, factor, many, own in pieces:
        parts = []
        for piece in torch.chunk(found, factor, dim):
            chunks = torch.chunk(piece, many, dim)
            parts.append(chunks[own] if own < len(chunks) else piece.narrow(dim, 0, 0))
        found = torch.cat(parts, dim)
    return found.contiguous()


def is_right(made: Any, whole: Any, devices: Any, before: Any, after: Any) -> bool:
    """Return True if a result has the sum of all parts, where the placements have it."""
    parts = [at for at, one in enumerate(before) if one.is_partial()]
    times = 1
    for at in parts:
        times *= devices.size(at) * (devices.size(at) + 1) // 2
    local = made.to_local().clone()
    for at, placement in enumerate(after):
        if placement.is_partial():
            dist.all_reduce(local, group=devices.get_group(at))
    return tuple(made.placements) == tuple(after) and torch.equal(
        local, times * local_of(whole, devices, after)
    )


@contextmanager
def counted() -> Iterator[list[float]]:
    """Count the bytes that arrive at this rank in the collectives of DTensor's steps."""
    found: list[float] = []
    inside: list[str] = []

    def counting(name: str, collective: Any) -> Any:
        def called(tensor: Any, *given: Any, **named: Any) -> Any:
            if not inside:
                flat = [*given, *named.values()]
                grouped = next((one for one in flat if isinstance(one, tuple) and len(one) == 2), None)
                mesh, dim = grouped or (given[-2], given[-1])
                size = tensor.numel() * tensor.element_size()
                found.append(SHARES[name](mesh.size(dim)) * size)
            inside.append(name)
            try:
                return collective(tensor, *given, **named)
            finally:
                inside.pop()

        return called

    places = [
        (module, spelled, name)
        for module in (funcol, placement_types)
        for name in SHARES
        for spelled in (name, f"{name}_tensor", f"{name}_single")
        if hasattr(module, spelled)
    ]
    kept = [(module, spelled, getattr(module, spelled)) for module, spelled, _ in places]
    for module, spelled, name in places:
        setattr(module, spelled, counting(name, getattr(module, spelled)))
    try:
        yield found
    finally:
        for module, spelled, own in kept:
            setattr(module, spelled, own)


if __name__ == "__main__":
    main()
