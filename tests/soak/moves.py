"""Moves of pairs drawn by chance against the naive move: on the CPU, and kernels as their text says.

python -m tests.soak.moves [--count 5000] [--kernels 300]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from tests.moves.pairs import case
from tests.moves.test_move import test_kernels_are_the_naive_moves as check_kernel
from tests.moves.test_move import test_moves_are_the_naive_moves as check_move


def wrong(check: Callable[[int], None], seeds: range) -> int:
    """How many seeds part; each is told with its case."""
    found = 0
    for seed in seeds:
        try:
            check(seed)
        except AssertionError:
            found += 1
            print(f"seed {seed}: {case(seed, 3000)}", flush=True)
    return found


def main() -> int:
    """Check as many as are asked for; 1 where one parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000, help="moves on the CPU")
    parser.add_argument("--kernels", type=int, default=300, help="kernels, run as programs of threads")
    asked = parser.parse_args()
    on_cpu = wrong(check_move, range(asked.count))
    of_kernels = wrong(check_kernel, range(1000, 1000 + asked.kernels))
    print(f"{asked.count} moves, {on_cpu} wrong; {asked.kernels} kernels, {of_kernels} wrong")
    return 1 if on_cpu or of_kernels else 0


if __name__ == "__main__":
    raise SystemExit(main())
