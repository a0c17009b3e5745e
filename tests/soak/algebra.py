"""Many generated operations against the definition: how many are answered, how many wrong.

    python -m tests.soak.algebra --count 1000000 --seed 1 --jobs 2

Every `check_<operation>(rng)` of tests/core/test_algebra_*.py and of `OTHERS` draws one case, runs the
operation and holds it to the naive definition; it returns "refused", "undecided", "none" where no case came
up, or what it answered. Compositions are also counted beside CuTe's rule, on the families of inputs in
`families`. With --hardware the cases are those of `HARDWARE`: tiles, plans and pairs against plain loops.
A fault is met again with `--first NUMBER --count 1 --seed SEED --only NAME`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from inspect import signature
from multiprocessing import Pool
from pathlib import Path
from random import Random

from tests.soak import families
from tests.wellformed import hold_parts

CHUNK = 250
OUTCOMES = ("answered", "refused", "undecided")
OTHERS = (
    "tests.core.test_bits",
    "tests.bridge.test_strides",
    "tests.codegen.definition",
    "tests.cli.test_cute_order",
)
"""Modules with checks beside the algebra's own tests."""

HARDWARE = (
    "tests.check.test_match_oracle",
    "tests.check.test_feeding_oracle",
    "tests.check.test_tma",
    "tests.check.test_agree",
    "tests.check.test_banks_oracle",
)
"""Modules with checks of what engines can use: the cases of --hardware."""

Check = Callable[[Random], str]


@cache
def checks() -> dict[str, Check]:
    """Every `check_` of the algebra's tests, of strided views and of generated code, by name."""
    core = Path(__file__).parent.parent / "core"
    return checks_of(*sorted(f"tests.core.{path.stem}" for path in core.glob("test_algebra_*.py")), *OTHERS)


@cache
def checks_of(*modules: str) -> dict[str, Check]:
    """Every `check_` of some modules, by name."""
    found: dict[str, Check] = {}
    for module in modules:
        for name, call in vars(import_module(module)).items():
            if name.startswith("check_") and signature(call).parameters.keys() == {"rng"}:
                found[name.removeprefix("check_")] = call
    return found


@dataclass
class Report:
    """Outcomes by operation, compositions by family, and the first fault."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    families: Counter[tuple[str, str]] = field(default_factory=Counter)
    fault: str = ""

    def add(self, other: Report) -> None:
        """Another report joined to this one."""
        self.outcomes += other.outcomes
        self.families += other.families
        self.fault = self.fault or other.fault


def check_chunk(work: tuple[int, range, tuple[str, ...]]) -> Report:
    """The cases of a range of numbers, an operation each in turn, up to the first fault."""
    seed, numbers, names = work
    hold_parts()
    report = Report()
    for number in numbers:
        name = names[number % len(names)]
        rng = Random(seed * 1_000_000_007 + number)
        try:
            if name in families.FAMILIES:
                for outcome in families.compared(name, rng):
                    report.families[name, outcome] += 1
            else:
                check = (checks() | checks_of(*HARDWARE))[name]
                outcome = check(rng).partition(" ")[0]  # "refused outside" is refused
                report.outcomes[name, outcome if outcome in (*OUTCOMES, "none") else "answered"] += 1
        except Exception as error:
            again = f"--seed {seed} --first {number} --count 1" + (
                f" --only {name}" if len(names) == 1 else " --hardware" * (name in checks_of(*HARDWARE))
            )
            report.fault = f"{name} is wrong: {again}\n  {type(error).__name__}: {error}"
            break
    return report


def reports(seed: int, numbers: range, names: tuple[str, ...], jobs: int) -> Iterator[Report]:
    """A report a chunk, from one process or several."""
    chunks = [(seed, numbers[start : start + CHUNK], names) for start in range(0, len(numbers), CHUNK)]
    if jobs == 1:
        yield from map(check_chunk, chunks)
        return
    with Pool(jobs) as pool:
        yield from pool.imap_unordered(check_chunk, chunks)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print, and return the exit code: 1 on the first fault."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--count", type=int, default=20_000, help="how many operations")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--first", type=int, default=0, help="the number of the first case")
    options.add_argument("--jobs", type=int, default=1, help="how many processes")
    options.add_argument("--only", action="append", metavar="NAME", help="these operations alone; repeatable")
    options.add_argument("--hardware", action="store_true", help="match, feeding, plans and agree instead")
    given = options.parse_args(arguments)
    usual = checks_of(*HARDWARE) if given.hardware else [*checks(), *families.FAMILIES]
    names = tuple(given.only or usual)
    total, started, done = Report(), time.perf_counter(), 0
    for report in reports(given.seed, range(given.first, given.first + given.count), names, given.jobs):
        total.add(report)
        done = min(done + CHUNK, given.count)
        print(f"\r{done} operations, {time.perf_counter() - started:.0f} s", end="", file=sys.stderr)
        if total.fault:
            print(f"\n{total.fault}")
            return 1
    print(file=sys.stderr)
    print("\n".join(table(total, names)))
    seconds = time.perf_counter() - started
    print(f"{given.count} operations, seed {given.seed}: 0 wrong, {seconds:.1f} s on {given.jobs} processes")
    return 0


def table(report: Report, names: Sequence[str]) -> Iterator[str]:
    """A line an operation, and a line a family."""
    for name in names:
        if name in families.FAMILIES:
            continue
        counts = [report.outcomes[name, outcome] for outcome in OUTCOMES]
        share = counts[0] / max(1, sum(counts))
        answered, refused, undecided = counts
        yield f"{name:26} {answered:8} answered {share:6.1%}, {refused:7} refused, {undecided:5} not decided"
    for name in families.FAMILIES:
        if name in names:
            yield families.line(
                name, {key: n for (family, key), n in report.families.items() if family == name}
            )


if __name__ == "__main__":
    sys.exit(main())
