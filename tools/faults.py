"""Plant faults in a copy of the project, one at a time, and say which of them the tests find.

    git worktree add --detach ../planted
    PYTHONPATH=src:. python -m tools.faults ../planted --seed 1 --out faults.jsonl

A fault is one small change of meaning in one line of a function. Each room has faults in proportion to its
size. The tests of the fault's room run first, then all others. The first run plants nothing, and has to pass.
A run that was interrupted goes on where it ended; faults for which the time ran out are planted anew.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryFile

from tools.mutations import Fault, faults_of, planted

LEAST = 2
"""Each room has at least so many faults."""
FACADE = "facade"
"""The room of the modules that stand in no folder."""
TESTED_IN = {FACADE: "contract", "questions": "cli"}
"""Rooms whose tests stand in the folder of another name."""
QUICK = ("-x", "-q", "--quick", "-p", "no:xdist", "--tb=no")
BLIND = ("tests/core/test_size.py",)
"""Tests that count the words of a source, which is no way to find a fault."""
FOUND, SURVIVED, OUT_OF_TIME = "found", "survived", "out of time"


def room(fault: Fault) -> str:
    """Return the room of a fault: the folder of `src/tilewise` that has its module."""
    parts = Path(fault.path).parts
    return parts[2] if len(parts) > 3 else FACADE


def draw(root: Path, seed: int, count: int) -> list[Fault]:
    """Return the faults of a seed, no two of them in one line: each room draws kinds, then places."""
    possible: dict[str, list[Fault]] = {}
    lines: Counter[str] = Counter()
    for path in sorted((root / "src" / "tilewise").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        name = path.relative_to(root).as_posix()
        place = room(Fault(name))
        lines[place] += source.count("\n")
        possible.setdefault(place, []).extend(faults_of(source, name))
    return [
        fault
        for place, share in shares(lines, count).items()
        for fault in drawn(possible[place], Random(f"{seed} {place}"), share)
    ]


def shares(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """Return how many faults each room has.

    >>> shares({"core": 900, "tables": 90, "testing": 10}, 12)
    {'core': 8, 'tables': 2, 'testing': 2}
    """
    given = dict.fromkeys(sorted(sizes), LEAST)
    while sum(given.values()) < count:
        given[max(given, key=lambda place: sizes[place] / (given[place] + 1))] += 1
    return given


def drawn(possible: Sequence[Fault], random: Random, count: int) -> list[Fault]:
    """Return so many of the possible faults, each kind as likely as any other."""
    chosen: dict[tuple[str, int], Fault] = {}
    kinds = sorted({fault.kind for fault in possible})
    while len(chosen) < count:
        kind = random.choice(kinds)
        fault = random.choice([fault for fault in possible if fault.kind == kind])
        chosen.setdefault((fault.path, fault.line), fault)
    return list(chosen.values())


def hunt(root: Path, fault: Fault | None, limit: float) -> tuple[str, str]:
    """Plant a fault, run the tests, take it out; return how that ended and by which test it was found."""
    if fault is None:
        return run(root, [], limit)
    path = root / fault.path
    source, before = path.read_bytes(), path.stat()
    path.write_text(planted(source.decode(), fault), encoding="utf-8")
    try:
        own = f"tests/{TESTED_IN.get(room(fault), room(fault))}"
        end = run(root, [fault.path, own], limit)
        return end if end[0] == FOUND else run(root, [f"--ignore={own}"], limit)
    finally:
        path.write_bytes(source)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # what Python compiled of it holds again


def run(root: Path, words: Sequence[str], limit: float) -> tuple[str, str]:
    """Run tests until one fails; return how that ended and the name of the test."""
    pytest = [sys.executable, "-m", "pytest", *QUICK, *(f"--ignore={test}" for test in BLIND), *words]
    paths = os.pathsep.join(str(place) for place in (root / "src", root))
    variables = os.environ | {"PYTHONPATH": paths, "TILEWISE_SEED": "1"}
    with TemporaryFile("w+") as told:
        process = subprocess.Popen(
            pytest, cwd=root, env=variables, stdout=told, stderr=told, start_new_session=True
        )
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            return OUT_OF_TIME, ""
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # the processes that tests have started, too
                process.wait()
        told.seek(0)
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", told.read(), re.MULTILINE)
    return (SURVIVED, "") if code in (0, 5) else (FOUND, failed[1] if failed else f"exit code {code}")


def main(words: Sequence[str] | None = None) -> int:
    """Plant the faults of a seed, one JSON line for each; return 1 if the tests fail without a fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("root", type=Path, help="the copy of the project; faults are planted there")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60, help="faults in all; default 60")
    parser.add_argument("--limit", type=float, default=240, help="seconds of a run of tests; default 240")
    parser.add_argument("--out", type=Path, default=Path("faults.jsonl"), help="a line for each fault")
    args = parser.parse_args(words)
    lines = args.out.read_text(encoding="utf-8").splitlines() if args.out.exists() else []
    done = {told["fault"] for told in map(json.loads, lines) if told["end"] != OUT_OF_TIME}
    faults = [None, *draw(args.root.resolve(), args.seed, args.count)]
    print(f"seed {args.seed}: {len(faults) - 1} faults, {len(done)} runs done before", flush=True)
    for fault in (fault for fault in faults if str(fault) not in done):
        began = time.monotonic()
        end, test = hunt(args.root.resolve(), fault, args.limit if fault else 10 * args.limit)
        seconds = round(time.monotonic() - began, 1)
        where = room(fault) if fault else ""
        line = {"room": where, "fault": str(fault), "end": end, "test": test, "seconds": seconds}
        print(f"{where:10} {end:11} {seconds:6.1f} s  {fault}  {test}", flush=True)
        with args.out.open("a", encoding="utf-8") as out:
            print(json.dumps(line, ensure_ascii=False), file=out)
        if fault is None and end != SURVIVED:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
