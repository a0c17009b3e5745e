"""Many random kernels, compiled, read by tilewise, and held to an interpreter of their source.

    python -m tests.soak.read --count 2000 --seed 1
    python -m tests.soak.read --seed 1 --first 17 --count 1 --target sm_90 --show

Machine code, as nvdisasm prints it, and PTX are counted apart: how many kernels have the same bytes by
line, by kernel, or fewer where the compiler may leave out what is loaded twice; in how many a loaded value
decides, and what is known is right; how many are refused, by kind; and how many are wrong, each with the
arguments that meet it again. It takes NVRTC and nvdisasm and no GPU. The exit code is 1 if one is wrong, or
if of a hundred more than three are refused or have something unknown.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import cycle

from tests.codegen import nvrtc
from tests.compiled.random.compare import (
    GOOD,
    MOST_LEFT_OUT,
    Case,
    Outcome,
    Reader,
    Tally,
    case_of,
    outcome,
    reader,
)
from tests.compiled.random.compile import FORMS, TARGETS, Compiled, compiled, nvdisasm
from tests.compiled.random.kernels import kernel
from tests.compiled.random.tree import Kernel, source

BATCH = 50
APART = 1_000_000
"""The kernels of one seed have numbers of their own, so many."""
ORDER = (TARGETS[0], TARGETS[1], TARGETS[0], TARGETS[2], TARGETS[0], TARGETS[3])
"""The targets of batches, in turn."""
MOST_SHOWN = 40
MANY = 100
"""From so many kernels on it matters how many are left out."""


def outcomes(
    made: Compiled, kernels: Sequence[Kernel], forms: Sequence[str], read: Reader
) -> Iterator[tuple[Kernel, Case, str, Outcome]]:
    """Yield how a reader does on some forms of each kernel of a batch."""
    for it in kernels:
        case = case_of(it, made.lines[it.name])
        for form in forms:
            yield it, case, form, outcome(read, getattr(made, form), case)


def shown(it: Kernel, case: Case, seed: int, target: str, form: str, found: Outcome, whole: bool) -> str:
    """Return what there is to say of a kernel that is read wrong."""
    again = f"--seed {seed} --first {it.seed - seed * APART} --count 1 --target {target} --show"
    text = (
        f"{form} of {target} is wrong ({it.way}{', hangs on data' * it.hangs_on_data}): {again}\n{found.why}"
    )
    if whole:
        number = {site: line for line, site in case.lines.items()}
        made = source(it)
        offset = next(number[site] - line for site, line in made.lines.items())
        lines = (f"{at + offset:5} {line}" for at, line in enumerate(made.text, 1))
        arguments = ", ".join(f"{one.name} = {one.value:#x}" for one in it.parameters)
        text = "\n".join([text, f"grid {it.grid}, block {it.block}, {arguments}", *lines])
    return text


def main(arguments: Sequence[str] | None = None, read: Reader = reader) -> int:
    """Compile, read, compare and count; return 1 if a kernel is read wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="how many kernels")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first kernel")
    parser.add_argument("--target", choices=TARGETS, help="one architecture for all; otherwise all in turn")
    parser.add_argument("--form", choices=FORMS, action="append", help="one form alone; otherwise both")
    parser.add_argument("--show", action="store_true", help="print the source of what is wrong")
    given = parser.parse_args(arguments)
    library, disassembler = nvrtc.load(), nvdisasm()
    if library is None or disassembler is None:
        print("this takes NVRTC and nvdisasm; make .venv/ready-for-cuda", file=sys.stderr)
        return 2
    forms = given.form or FORMS
    tallies = {form: Tally() for form in forms}
    began, wrong = time.perf_counter(), 0
    targets = cycle([given.target] if given.target else ORDER)
    first = given.seed * APART + given.first
    for start in range(first, first + given.count, BATCH):
        target = next(targets)
        kernels = [kernel(number) for number in range(start, min(start + BATCH, first + given.count))]
        made = compiled(library, disassembler, kernels, target, forms)
        for it, case, form, found in outcomes(made, kernels, forms, read):
            tallies[form].add(found)
            wrong += found.word == "wrong"
            if found.word == "wrong" and wrong <= MOST_SHOWN:
                print(shown(it, case, given.seed, target, form, found, given.show), flush=True)
        done, seconds = start + len(kernels) - first, time.perf_counter() - began
        print(f"\r{done} kernels, {wrong} wrong, {seconds:.0f} s", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    left_out = False
    for form, tally in tallies.items():
        left_out |= tally.total() >= MANY and tally.left_out() > MOST_LEFT_OUT * tally.total()
        counts = ", ".join(f"{tally.words[word]} {word}" for word in (*GOOD, "wrong"))
        print(f"{form:8} {tally.total()} kernels: {counts}")
        for reason, count in tally.reasons.most_common():
            print(f"{count:13} {reason}")
    return int(wrong > 0 or left_out)


if __name__ == "__main__":
    sys.exit(main())
