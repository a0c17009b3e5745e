"""Kernels for all shapes of a class beside the kernel of each shape and a copy, in one run on a GPU.

    PYTHONPATH=bench python bench/shapes.py [--random 40] [--write FILE]

A row is one shape: the part of a copy's rate that the kernel of this shape reaches, and the kernel of all,
and the time of the first divided by that of the second. Bytes are random. Both results are compared byte by
byte; `--random` compares so many more shapes of each class, which are drawn anew.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from move import ROUND, copied, in_turn, random_bytes
from tilewise import Layout, S, name
from tilewise.moves.arrays.device import Loaded
from tilewise.moves.arrays.run import BoundShapes
from tilewise.moves.shapes import ShapesPlan, shapes_plan

M, N = name("M", multiple=8, least=8), name("N", multiple=8, least=8)
M16, N16 = name("M", multiple=16, least=16), name("N", multiple=16, least=16)
B = name("B", least=2)

BAR = 0.95
"""The aim: the kernel of all takes at most 5 % longer."""


@dataclass(frozen=True)
class Class:
    """A class of shapes, and the values that are measured."""

    title: str
    source: Layout
    target: Layout
    dtype: str
    values: tuple[tuple[int, ...], ...]

    @property
    def plan(self) -> ShapesPlan:
        """Return the plan for all values."""
        return shapes_plan(self.source, self.target, self.dtype)


SQUARES = ((16384, 8192), (8192, 8192), (4096, 32768), (1024, 1024), (1040, 1056))


def classes() -> Iterator[Class]:
    """Yield the table."""
    turned = S[(M, N) : (1, M)]
    yield Class("M x N turned", S[M, N], turned, "bf16", (*SQUARES, (8200, 8216)))
    yield Class("M x N turned", S[M, N], turned, "f32", (*SQUARES, (8200, 8216)))
    yield Class("M x N turned", S[M, N], turned, "f64", ((8192, 8192), (4096, 4096)))
    bytes_ = (*SQUARES, (8208, 8224), (8208, 8208), (12304, 6176), (8224, 8208))
    yield Class("M x N turned", S[M16, N16], S[(M16, N16) : (1, M16)], "u8", bytes_)
    shape = B, M, N
    batches = S[shape : (M * N, N, 1)], S[shape : (M * N, 1, M)]
    yield Class("B matrices M x N turned", *batches, "bf16", ((64, 1024, 1024), (8, 4096, 2048)))
    heads = S[(B, M, 64, 64) : (4096 * M, 4096, 64, 1)], S[(B, M, 64, 64) : (4096 * M, 64, 64 * M, 1)]
    yield Class("BSHD to BHSD", *heads, "bf16", ((8, 4096), (64, 512)))
    images = S[(B, 256, M) : (256 * M, M, 1)], S[(B, 256, M) : (256 * M, 1, 256)]
    yield Class("NCHW to NHWC, 256 channels", *images, "bf16", ((64, 9216), (256, 3136)))
    odd = S[M + 3, N + 5], S[(M + 3, N + 5) : (1, M + 3)]
    yield Class("M + 3 x N + 5 turned", *odd, "bf16", ((11584, 11584), (8192, 8192)))
    yield Class("M + 3 x N + 5 turned", *odd, "f32", ((8192, 8192),))


def ready(plan: ShapesPlan, values: Mapping[str, int]) -> tuple[Loaded, Loaded, int, int, int]:
    """Return the kernel of a shape, that of all, and the bytes of the source, of the target and of both."""
    own = plan.of(values)
    of_all = BoundShapes(plan).of(values)._prepared(0, 256)
    return Loaded(own, 0), of_all, *own.sizes, own.bytes


def measured(plan: ShapesPlan, values: Mapping[str, int]) -> dict[str, float]:
    """Return the seconds of a copy, of the kernel of a shape, and of that of all."""
    import torch

    own, of_all, read, written, moved = ready(plan, values)
    count = max(1, min(64, ROUND // read)) if read < ROUND // 4 else 1
    sources = [random_bytes(read) for _ in range(count)]
    targets = [torch.empty(written, dtype=torch.uint8, device="cuda") for _ in range(count)]
    pairs = [copied(source, target, moved // 2) for source, target in zip(sources, targets, strict=True)]
    stream = torch.cuda.current_stream().cuda_stream

    def run(loaded: Loaded) -> Any:
        return lambda i: loaded(sources[i].data_ptr(), targets[i].data_ptr(), stream)

    works = {"copy": lambda i: pairs[i][1].copy_(pairs[i][0]), "own": run(own), "all": run(of_all)}
    return in_turn(works, count)


def check(plan: ShapesPlan, values: Mapping[str, int]) -> None:
    """Compare the results of both kernels byte by byte."""
    import torch

    own, of_all, read, written, _ = ready(plan, values)
    source = random_bytes(read)
    made = [torch.full((written,), 90, dtype=torch.uint8, device="cuda") for _ in range(2)]
    stream = torch.cuda.current_stream().cuda_stream
    for loaded, target in zip((own, of_all), made, strict=True):
        loaded(source.data_ptr(), target.data_ptr(), stream)
    assert torch.equal(*made), (str(plan), values)


def drawn(plan: ShapesPlan, count: int, rng: Random) -> Iterator[dict[str, int]]:
    """Yield values that the facts admit, of at most 64 MB."""
    while count:
        sizes = {own: 8 * rng.randint(1, 1 << rng.randint(1, 9)) for own in plan.names}
        facts = (condition.holds(sizes) is truth for condition, truth in plan.conditions)
        if all(facts) and plan.of(sizes).sizes[0] < 1 << 26:
            yield sizes
            count -= 1


def main() -> None:
    """Print the table, and the number of shapes that were compared."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--write", type=Path)
    args = parser.parse_args()
    lines = [
        "| class | type | shape | of this shape | of all | share | bar |",
        "|---|---|---|--:|--:|--:|--:|",
    ]
    compared = 0
    for one in classes():
        plan = one.plan
        for sizes in one.values:
            values = dict(zip(plan.names, sizes, strict=True))
            check(plan, values)
            seconds = measured(plan, values)
            share = seconds["own"] / seconds["all"]
            rates = [f"{seconds['copy'] / seconds[way]:.3f}" for way in ("own", "all")]
            shape = ", ".join(f"{own} = {value}" for own, value in values.items())
            missed = "" if share >= BAR else " missed"
            lines.append(
                f"| {one.title} | {one.dtype} | {shape} | {' | '.join(rates)} | {share:.3f}{missed} |"
            )
            print(lines[-1], flush=True)
        for values in drawn(plan, args.random, Random(f"{one.title} {one.dtype}")):
            check(plan, values)
            compared += 1
    print(f"{compared} more shapes compared: all bytes equal")
    if args.write:
        args.write.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
