"""Moves of pairs drawn by chance against the naive move: on the CPU, and kernels as their text says.

python -m tests.soak.moves [--count 5000] [--kernels 300] [--halves 300]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

from tests.moves.pairs import Case, case, of_4_bits
from tests.moves.test_move import test_kernels_are_the_naive_moves as check_kernel
from tests.moves.test_move import test_moves_are_the_naive_moves as check_move
from tests.moves.test_nibbles import check_drawn


def wrong(check: Callable[[int], object], seeds: range, drawn: Callable[[int], Case]) -> int:
    """Return how many seeds part, and print each with its case."""
    found = 0
    for seed in seeds:
        try:
            check(seed)
        except AssertionError:
            found += 1
            print(f"seed {seed}: {drawn(seed)}", flush=True)
    return found


def main() -> int:
    """Check as many as the options say; return 1 where one parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000, help="moves on the CPU")
    parser.add_argument("--kernels", type=int, default=300, help="kernels, run as programs of threads")
    parser.add_argument("--halves", type=int, default=300, help="kernels of elements of 4 bits")
    asked = parser.parse_args()
    of_all = partial(case, elements=3000)
    on_cpu = wrong(check_move, range(asked.count), of_all)
    of_kernels = wrong(check_kernel, range(1000, 1000 + asked.kernels), of_all)
    of_halves = wrong(check_drawn, range(1000, 1000 + asked.halves), of_4_bits)
    print(f"{asked.count} moves, {on_cpu} wrong; {asked.kernels} kernels, {of_kernels} wrong")
    print(f"{asked.halves} kernels of 4 bits, {of_halves} wrong")
    return 1 if on_cpu or of_kernels or of_halves else 0


if __name__ == "__main__":
    raise SystemExit(main())
