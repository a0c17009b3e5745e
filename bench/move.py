"""Moves on a GPU beside a copy of as many bytes and PyTorch's own, in one run: a copy for each row, between
the same storages.

python bench/move.py [--only TEXT] [--write FILE]

A move has fresh random bytes. Rows of less than 64 MB go round as many buffers as make 256 MB, so that
no cache holds them. Bytes are those that the layouts touch once, read and written.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from math import prod
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from tilewise import DType, Layout, S, Swizzle
from tilewise.gpu.compile import Source, cubin
from tilewise.gpu.device import find
from tilewise.moves.arrays.device import Loaded
from tilewise.moves.memory import Plan, memory_plan

WARM, REPEATS = 3, 15
LAUNCHED, CYCLES = 1e-4, 2e9
"""Seconds in which a host launches one work at least, and cycles of a device in a second at most."""

ROUND = 256 << 20
"""Bytes of all sources of a row together, so that none of them stays in a cache."""

BARS = {"whole": 0.95, "shifted": 0.85, "narrow": 0.80, "small": 0.97}
"""The aims, as fractions of a copy: rows of whole vectors, others, 4 bits or runs under 8 bytes;
small ones are compared with the better of PyTorch's instead."""


@dataclass(frozen=True)
class Case:
    """A move that is measured, and the bar that it is held to."""

    name: str
    dtype: str
    source: Layout
    target: Layout
    bar: str
    shape: tuple[int, ...] | None = None

    @property
    def plan(self) -> Plan:
        """Return how tilewise does it."""
        return memory_plan(self.source, self.target, self.dtype, shape=self.shape)


def permuted(name: str, dtype: str, shape: Sequence[int], order: Sequence[int], bar: str) -> Case:
    """Return a row-major tensor whose dimensions come in another order."""
    strides, step = [0] * len(shape), 1
    for i in reversed(order):
        strides[i] = step
        step *= shape[i]
    return Case(name, dtype, S[tuple(shape)], S[tuple(shape) : tuple(strides)], bar)


def transposed(dtype: str, rows: int, columns: int, bar: str) -> Case:
    """Return a matrix turned."""
    return permuted(f"transpose {dtype} {rows} x {columns}", dtype, (rows, columns), (1, 0), bar)


def blocks(rows: int, columns: int) -> Layout:
    """128 x 4 blocks of scale factors."""
    down, along = -(-rows // 128), -(-columns // 4)
    return S[((down, 4, 32), (along, 4)) : ((512 * along, 4, 16), (512, 1))]


def tiles(rows: int, columns: int, tall: int, wide: int) -> Layout:
    """Row-major tiles, one after another."""
    down, along = rows // tall, columns // wide
    return S[((down, tall), (along, wide)) : ((tall * columns, wide), (tall * wide, 1))]


def cases() -> Iterator[Case]:
    """Yield the table."""
    for dtype, rows, columns in (
        ("u8", 16384, 16384),
        ("bf16", 16384, 8192),
        ("f32", 8192, 8192),
        ("f64", 8192, 4096),
        ("b128", 4096, 4096),
    ):
        yield transposed(dtype, rows, columns, "whole")
    for dtype, side in (("u8", 16381), ("bf16", 11587), ("f32", 8191), ("f64", 5791), ("b128", 4093)):
        yield transposed(dtype, side, side, "shifted")
    for dtype, rows, columns in (
        ("u8", 16384, 16381),
        ("u8", 16381, 16384),
        ("u8", 16380, 16380),
        ("bf16", 11588, 11588),
        ("bf16", 11584, 11587),
        ("f32", 8190, 8190),
    ):
        yield transposed(dtype, rows, columns, "shifted")
    for dtype, rows, columns in (
        ("u8", 1 << 22, 64),
        ("u8", 64, 1 << 22),
        ("bf16", 1 << 24, 8),
        ("bf16", 8, 1 << 24),
        ("f32", 1 << 22, 16),
        ("u8", 1 << 24, 16),
    ):
        yield transposed(dtype, rows, columns, "whole")
    yield transposed("u8", 1 << 26, 4, "narrow")
    yield transposed("u8", 4, 1 << 26, "narrow")
    yield transposed("bf16", 1 << 25, 3, "narrow")
    yield permuted("BSHD to BHSD bf16", "bf16", (8, 4096, 64, 64), (0, 2, 1, 3), "whole")
    yield permuted("NCHW to NHWC bf16", "bf16", (64, 256, 96, 96), (0, 2, 3, 1), "whole")
    yield permuted("NHWC to NCHW bf16", "bf16", (64, 96, 96, 256), (0, 3, 1, 2), "whole")
    yield permuted("NCHW to NHWC f32", "f32", (64, 256, 64, 64), (0, 2, 3, 1), "whole")
    yield permuted("NCHW to NHWC u8, odd", "u8", (64, 125, 181, 181), (0, 2, 3, 1), "shifted")
    yield permuted("3 planes to pixels u8", "u8", (64, 3, 1152, 1152), (0, 2, 3, 1), "narrow")
    yield permuted("pixels to 3 planes u8, odd", "u8", (64, 1151, 1151, 3), (0, 3, 1, 2), "narrow")
    yield permuted("3 planes to pixels u8, odd", "u8", (64, 3, 1151, 1151), (0, 2, 3, 1), "narrow")
    yield permuted("rank 3 bf16", "bf16", (512, 512, 512), (2, 0, 1), "whole")
    yield permuted("rank 3 bf16, middle first", "bf16", (512, 512, 512), (1, 0, 2), "whole")
    yield permuted("rank 4 u8 reversed", "u8", (64, 64, 256, 256), (3, 2, 1, 0), "whole")
    yield permuted("rank 5 bf16", "bf16", (32, 16, 32, 64, 128), (4, 1, 3, 0, 2), "whole")
    yield permuted("rank 5 bf16, odd", "bf16", (31, 17, 33, 67, 127), (4, 1, 3, 0, 2), "shifted")
    yield permuted("rank 6 f32", "f32", (8, 12, 16, 20, 24, 90), (5, 3, 1, 0, 2, 4), "shifted")
    yield permuted("rank 3 bf16, odd", "bf16", (511, 513, 515), (2, 0, 1), "shifted")
    yield permuted("rank 3 u8, odd", "u8", (511, 1025, 513), (2, 0, 1), "shifted")
    yield permuted("rank 3 f64, odd", "f64", (511, 257, 515), (2, 0, 1), "shifted")
    yield permuted("rank 4 f32 reversed, odd", "f32", (63, 65, 129, 255), (3, 2, 1, 0), "shifted")
    yield permuted("rank 4 u8 reversed, odd", "u8", (63, 65, 257, 255), (3, 2, 1, 0), "shifted")
    yield permuted("rank 6 bf16, odd", "bf16", (15, 17, 15, 17, 31, 65), (5, 3, 1, 0, 2, 4), "shifted")
    yield permuted("BSHD to BHSD bf16, odd", "bf16", (9, 4095, 65, 63), (0, 2, 1, 3), "shifted")
    yield permuted("rank 6 bf16", "bf16", (16, 16, 16, 16, 32, 64), (5, 3, 1, 0, 2, 4), "whole")
    yield permuted("matrices of 12 x 12 f16", "f16", (1000000, 12, 12), (0, 2, 1), "whole")
    yield permuted("matrices of 12 x 12 u8", "u8", (2000000, 12, 12), (0, 2, 1), "whole")
    yield permuted("matrices of 13 x 13 u8", "u8", (1704144, 13, 13), (0, 2, 1), "whole")
    yield permuted("images to patches f16", "f16", (256, 3, 16, 14, 16, 14), (0, 2, 4, 3, 5, 1), "whole")
    plain = S[16384, 8192]
    yield Case("tiles of 128 x 64 bf16", "bf16", plain, tiles(16384, 8192, 128, 64), "whole")
    yield Case("core matrices 8 x 8 bf16", "bf16", plain, tiles(16384, 8192, 8, 8), "whole")
    atoms = S[((256, 64), (128, 64)) : ((64 * 8192, 64), (4096, 1))]
    yield Case("swizzled tiles bf16", "bf16", plain, Swizzle(3, 3, 3) @ atoms, "whole")
    turned = S[(16384, 8192) : (1, 16384)]
    yield Case("swizzled tiles bf16, turned", "bf16", turned, Swizzle(3, 3, 3) @ atoms, "whole")
    yield Case("swizzled tiles bf16, back", "bf16", Swizzle(3, 3, 3) @ atoms, plain, "whole")
    yield Case("scales 128 x 4 u8", "u8", S[65536, 4096], blocks(65536, 4096), "narrow")
    yield Case("scales 128 x 4 u8, back", "u8", blocks(65536, 4096), S[65536, 4096], "narrow")
    box = (65500, 4093)
    yield Case("scales 128 x 4 u8, ragged", "u8", S[box], blocks(*box), "narrow", box)
    yield Case("scales 128 x 4 u8, ragged, back", "u8", blocks(*box), S[box], "narrow", box)
    yield Case("padded rows bf16", "bf16", S[16384, 8190], S[16384, 8192], "shifted", (16384, 8190))
    yield Case(
        "broadcast bf16",
        "bf16",
        S[(64, 2048, 1024) : (0, 1024, 1)],
        S[(64, 2048, 1024) : (2048 * 1024, 1, 2048)],
        "whole",
    )
    yield Case("transpose u4 16384 x 32768", "u4", S[16384, 32768], S[(16384, 32768) : (1, 16384)], "narrow")
    yield Case("tiles of 128 x 128 u4", "u4", S[16384, 32768], tiles(16384, 32768, 128, 128), "narrow")
    yield transposed("u4", 32767, 32767, "narrow")
    yield transposed("u4", 32768, 32767, "narrow")
    yield permuted("rank 3 u4, odd", "u4", (511, 1023, 769), (2, 0, 1), "narrow")
    yield permuted("rank 4 u4 reversed", "u4", (66, 62, 258, 254), (3, 2, 1, 0), "narrow")
    yield permuted("6 planes to pixels u4", "u4", (64, 6, 1154, 1154), (0, 2, 3, 1), "narrow")
    yield permuted("3 pixels to planes u4, odd", "u4", (64, 1153, 1153, 3), (0, 3, 1, 2), "narrow")
    for dtype, side in (("u8", 1024), ("u8", 2048), ("bf16", 2048), ("f32", 512), ("f32", 2048)):
        yield transposed(dtype, side, side, "small")
    for dtype, side in (("u8", 1447), ("bf16", 1447), ("f32", 1447)):
        yield transposed(dtype, side, side, "small")
    yield permuted("NCHW to NHWC bf16, small", "bf16", (8, 64, 64, 64), (0, 2, 3, 1), "small")
    yield permuted("BSHD to BHSD bf16, small", "bf16", (1, 1024, 32, 128), (0, 2, 1, 3), "small")


@dataclass(frozen=True)
class Figure:
    """The times of a case: seconds of a copy, of ours, of PyTorch's."""

    case: Case
    copy: float
    ours: float
    eager: float | None
    compiled: float | None

    @property
    def reached(self) -> float:
        """Our rate: of a copy's, or for small ones of the better of PyTorch's."""
        return (min(self._rivals) if self.case.bar == "small" and self._rivals else self.copy) / self.ours

    @property
    def by_sectors(self) -> float:
        """Return a copy's sectors, of those that blocks read and write."""
        return 2 / sum(self.case.plan.sectors)

    @property
    def _rivals(self) -> list[float]:
        return [seconds for seconds in (self.eager, self.compiled) if seconds is not None]

    @property
    def line(self) -> str:
        """Return a row of the table."""
        rivals = ["" if own is None else f"{self.copy / own:.2f}" for own in (self.eager, self.compiled)]
        bar = BARS[self.case.bar]
        missed = "" if self.reached >= bar else " missed"
        size = self.case.plan.bytes / 1e6
        rate = self.case.plan.bytes / self.copy / 1e12
        cells = [
            self.case.name,
            f"{size:.0f} MB",
            f"{rate:.2f}",
            f"{self.copy / self.ours:.3f}",
            "" if self.by_sectors > 0.995 else f"{self.by_sectors:.2f}",
            *rivals,
            f"{bar:.2f}{missed}",
        ]
        return f"| {' | '.join(cells)} |"


HEAD = """| case | bytes | copy, TB/s | tilewise | by sectors | eager | compiled | bar |
|---|--:|--:|--:|--:|--:|--:|--:|"""


def measured(case: Case) -> Figure:
    """Return the case, ours and the rivals in turn."""
    import torch

    found = case.plan
    pair = found.pair
    sizes = [-(-side.size * pair.bits // 8) for side in (pair.source, pair.target)]
    count = max(1, min(64, ROUND // sizes[0])) if sizes[0] < ROUND // 4 else 1
    sources = [random_bytes(sizes[0]) for _ in range(count)]
    targets = [torch.empty(-(-sizes[1] // 4) * 4, dtype=torch.uint8, device="cuda") for _ in range(count)]
    pairs = [
        copied(source, target, found.bytes // 2) for source, target in zip(sources, targets, strict=True)
    ]
    loaded = Loaded(found, 0)
    stream = torch.cuda.current_stream().cuda_stream

    def ours(i: int) -> None:
        if found.fills:
            loaded.fill(targets[i].data_ptr() + loaded.fill_from, sizes[1] - loaded.fill_from, stream)
        loaded(sources[i].data_ptr(), targets[i].data_ptr(), stream)

    works = {"copy": lambda i: pairs[i][1].copy_(pairs[i][0]), "ours": ours}
    works |= _rivals(case, sources)
    seconds = in_turn(works, count)
    return Figure(case, seconds["copy"], seconds["ours"], seconds.get("eager"), seconds.get("compiled"))


def copied(source: Any, target: Any, size: int) -> tuple[Any, Any]:
    """Return what a copy of so many bytes reads and writes: the move's own storages, where they are as large.

    A copy between others is some hundredths faster or slower by where in memory they are.
    """
    import torch

    if len(source) >= size and len(target) >= size:
        return source[:size], target[:size]
    return random_bytes(size), torch.empty(size, dtype=torch.uint8, device="cuda")


def random_bytes(size: int) -> Any:
    """Fresh ones on the GPU."""
    import torch

    return torch.randint(0, 256, (size,), dtype=torch.uint8, device="cuda")


def _rivals(case: Case, sources: list[Any]) -> dict[str, Callable[[int], Any]]:
    """PyTorch's permute and contiguous, where the case is a permutation of whole elements."""
    import torch

    words = {8: torch.uint8, 16: torch.int16, 32: torch.int32, 64: torch.int64}
    bits = DType.of(case.dtype).bits
    shape = case.target.shape
    steps = [stride[case.target.axes[0]] for stride in case.target.strides]
    flat = all(isinstance(extent, int) for extent in shape)
    dense = sorted(zip(steps, shape, strict=True), reverse=True) if flat else []
    expected = prod(extent for _, extent in dense)
    for step, extent in dense:
        expected //= extent
        if step != expected:
            return {}
    if not dense or case.target.swizzles or bits not in words or case.source != S[shape]:
        return {}
    order = sorted(range(len(shape)), key=lambda i: -steps[i])
    views = [source.view(words[bits]).view(shape).permute(order) for source in sources]
    torch._dynamo.reset()  # each case is compiled for itself
    compiled = torch.compile(lambda view: view.contiguous(), dynamic=False)
    compiled(views[0])
    return {"eager": _kept(lambda view: view.contiguous(), views), "compiled": _kept(compiled, views)}


def _kept(made: Callable[[Any], Any], views: list[Any]) -> Callable[[int], None]:
    """Return what is made of one of them, kept for a round: no target of a round is that of another."""
    held: list[Any] = [None] * len(views)

    def work(i: int) -> None:
        held[i] = made(views[i])

    return work


def in_turn(works: dict[str, Callable[[int], Any]], count: int) -> dict[str, float]:
    """{name: median seconds of the device}, each sample a round through all buffers.

    The device is kept busy until all is launched, so that it never waits for the host.
    """
    import torch

    samples: dict[str, list[float]] = {name: [] for name in works}
    busy = dict.fromkeys(works, LAUNCHED * count)
    for repeat in range(REPEATS + WARM):
        for name, work in works.items():
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(int(busy[name] * CYCLES))
            launched = -perf_counter()
            begin.record()
            for i in range(count):
                work(i)
            end.record()
            launched += perf_counter()
            end.synchronize()
            if repeat >= WARM:
                samples[name].append(begin.elapsed_time(end) / 1e3 / count)
            elif repeat:  # the first call loads what it needs
                busy[name] = max(busy[name], 2 * launched)
    return {name: median(taken) for name, taken in samples.items()}


def _compiled_before(case: Case) -> None:
    found = case.plan
    if found.kernel:
        cubin(Source("move.cu", found.kernel, find().arch))


def main() -> None:
    """Measure, print each row as it comes, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="cases that have this in their names")
    parser.add_argument("--shard", default="0/1", help="which part, of how many, such as 0/2")
    parser.add_argument("--write", type=Path, help="the page to write")
    asked = parser.parse_args()
    part, parts = map(int, asked.shard.split("/"))
    chosen = [case for case in cases() if asked.only in case.name][part::parts]
    with ProcessPoolExecutor() as pool:
        list(pool.map(_compiled_before, chosen))
    print(HEAD)
    lines = []
    for case in chosen:
        lines.append(measured(case).line)
        print(lines[-1], flush=True)
    if asked.write:
        title = f"{find().name}, Python {platform.python_version()}"
        asked.write.write_text("\n".join([title, "", HEAD, *lines, ""]))


if __name__ == "__main__":
    main()
