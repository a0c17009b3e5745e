"""The rate of memory under the accesses of a move alone: the same kernels, which turn nothing.

python bench/move_bounds.py [--only TEXT]

Each block reads the vectors that its tile reads, and writes the vectors that it writes, in the same order, by
as many threads; only nothing goes through shared memory, so that what is written is wrong. A move whose rate
is that of its accesses alone is held up by memory: rows of some hundred bytes far apart take longer than a
copy. Cases of whole vectors alone, all of whose tiles are whole, and whose threads write what they have read.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields
from typing import Any

from move import Case, cases, copied, in_turn, random_bytes
from tilewise.gpu.compile import Source, cubin
from tilewise.gpu.device import find
from tilewise.moves.arrays.device import Loaded
from tilewise.moves.kernels.spelling import NAME, added
from tilewise.moves.kernels.tile_kernel import TileKernel
from tilewise.moves.memory import Plan
from tilewise.moves.tiles.tile import Tile


class Accesses(TileKernel):
    """A kernel that reads a tile and stores nothing, and writes as many vectors, those that it read."""

    def _store(self, value: str, part: tuple[int, int]) -> Iterator[str]:
        yield "    ;"

    def _turned(self, tested: bool) -> Iterator[str]:
        tile = self.tile
        step = tile.digits[tile.read_run[0]].write * tile.unit
        for number in range(tile.words):
            yield "    {"
            yield from self._written(f"i * {tile.words} + {number}", number * step)
            yield "    }"

    def _gathered(self, tested: bool) -> Iterator[str]:
        yield from self._written("i")

    def _written(self, vector: str, further: int = 0) -> Iterator[str]:
        place = added("run", f"k * {self.tile.unit}", further)
        yield from self._put(f"held0[{vector}]", place, tested=False)


def chosen(only: str) -> list[Case]:
    """Return the cases whose tiles are whole, and whose threads write as many vectors as they read."""
    found = []
    for case in cases():
        way = case.plan.way
        if only not in case.name or case.plan.bytes < 64 << 20 or not isinstance(way, Tile):
            continue
        read = way.row_count * way.run_vectors
        vectors = way.run_bytes % 16 == 0 and read % (way.threads * way.words) == 0
        if vectors and not (
            way.read_shift or way.write_shift or way.ragged or way.pair.limits or way.pair.spread
        ):
            found.append(case)
    return found


@dataclass(frozen=True)
class Alone(Plan):
    """The plan whose kernel makes the accesses alone."""

    def code(self, name: str = NAME) -> str:
        """Return the kernel under that name."""
        assert isinstance(self.way, Tile)
        storage = self.pair.source.size * self.pair.bits // 8
        return Accesses(self.way, storage, self.fill).source(name).replace("__syncthreads();", "")


def alone(case: Case) -> Alone:
    """Return the rate of a case."""
    own = case.plan
    return Alone(**{field.name: getattr(own, field.name) for field in fields(own)})


def compiled(text: str) -> None:
    """Into the cache."""
    cubin(Source(f"{NAME}.cu", text, find().arch))


def measured(case: Case) -> tuple[float, float, float]:
    """Seconds of a copy, of the move, and of its accesses alone."""
    import torch

    found = case.plan
    sizes = [-(-side.size * found.pair.bits // 8) for side in (found.pair.source, found.pair.target)]
    source, target = random_bytes(sizes[0]), torch.empty(sizes[1], dtype=torch.uint8, device="cuda")
    given, copy = copied(source, target, found.bytes // 2)
    stream = torch.cuda.current_stream().cuda_stream
    move, bare = Loaded(found, 0), Loaded(alone(case), 0)

    def launch(kernel: Any) -> Any:
        return lambda i: kernel(source.data_ptr(), target.data_ptr(), stream)

    works = {"copy": lambda i: copy.copy_(given), "move": launch(move), "alone": launch(bare)}
    seconds = in_turn(works, 1)
    return seconds["copy"], seconds["move"], seconds["alone"]


def main() -> None:
    """Measure, and print each row as it comes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="cases that have this in their names")
    own = chosen(parser.parse_args().only)
    with ProcessPoolExecutor() as pool:
        list(pool.map(compiled, [text for case in own for text in (case.plan.kernel, alone(case).kernel)]))
    print("| case | tilewise | accesses alone |\n|---|--:|--:|")
    for case in own:
        copy, move, accesses = measured(case)
        print(f"| {case.name} | {copy / move:.3f} | {copy / accesses:.3f} |", flush=True)


if __name__ == "__main__":
    main()
