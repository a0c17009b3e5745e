"""Every mma kernel of the cases, and some that are drawn, compiled for every architecture that has it.

    python -m tests.soak.kernels [--random 50] [--seed 1]

The tests compile each for one of them, a kernel as the next; all together take some minutes. NVRTC is
needed and no GPU. The exit code is 1 if the compiler has a word to say.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from tests.codegen import nvrtc
from tests.codegen.mma_cases import CASES, random_cases
from tests.codegen.test_mma_nvrtc import MODERN, compiled, in_one

from tilewise.codegen.mma import Plan, kernel_source

TOGETHER = 8
"""So many kernels are one program."""


def main() -> int:
    """Compile, tell how far it is, and count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--random", type=int, default=50, metavar="N", help="kernels drawn at random (50)")
    parser.add_argument("--seed", type=int, default=1, help="what they are drawn from (1)")
    args = parser.parse_args()
    library = nvrtc.load()
    if library is None:
        print("there is no NVRTC on this machine; make .venv/ready-for-cuda", file=sys.stderr)
        return 2
    plans = [case.plan for case in (*CASES, *random_cases(args.random, seed=args.seed))]
    began, done, wrong = time.perf_counter(), 0, 0
    for number in [number for number in MODERN if number in nvrtc.architectures(library)]:
        having = [plan for plan in plans if plan.since <= number]
        for some in in_eights(having):
            texts = [kernel_source(replace(plan, name=f"kernel_{i}")) for i, plan in enumerate(some)]
            said = compiled(library, in_one(texts), f"sm_{number}")
            wrong += bool(said)
            done += len(some)
            if said:
                print(f"\nsm_{number}: {said}")
        print(f"\rsm_{number}: {done} kernels, {time.perf_counter() - began:.0f} s", end="", file=sys.stderr)
    print(f"\n{done} kernels compiled, {wrong} programs of which the compiler had something to say")
    return int(wrong > 0)


def in_eights(plans: Sequence[Plan]) -> Iterator[list[Plan]]:
    """The plans in order, some together."""
    left = iter(plans)
    while some := list(islice(left, TOGETHER)):
        yield some


if __name__ == "__main__":
    sys.exit(main())
