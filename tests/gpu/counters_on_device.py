"""The profiler's counters, asked on a GPU: wavefronts, ideals and sectors of thousands of patterns.

    PYTHONPATH=src:. python -m tests.gpu.counters_on_device --out DIR --seconds 430
    PYTHONPATH=src:. python -m tests.gpu.counters_on_device --out DIR --dry

It needs NumPy, NVRTC or nvcc, a GPU of the Hopper generation, and Nsight Compute (ncu) with leave to read
counters; pytest does not run it. --dry takes an emulated profiler and no GPU. Every batch of answers is
kept in DIR/answers.jsonl as soon as it is there, and a second run with the same DIR goes on from it. At the
end, or when the seconds are over, DIR has

    counters.zip  the record: patterns and counts, for tests/gpu/truth
    report.txt    what was counted, what the model counts otherwise, which rules explain the counts
    profiler.txt  what the profiler printed last, batch by batch

The exit code is 1 where counts differ from the model's, 2 where there are too few, or none.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.codegen import nvrtc
from tests.gpu import rival_counts
from tools.counters import counted, kernels, launches, patterns, profiler
from tools.counters.kinds import KINDS, Kind

from tilewise.core.errors import LayoutError
from tilewise.gpu.verify.truth import save
from tilewise.hardware.memory.counters import ACTUAL, IDEAL, REQUESTS, SECTORS, SHARED
from tilewise.hardware.memory.counters import KINDS as COUNTED_AS

ROOT = Path(__file__).parents[2]
GROUPS = ("shared", "global", "ideal", "other")
ENOUGH = {"shared": 3000, "global": 500, "ideal": 200}
PACKED = ("shared", "global")
"""Groups of which several patterns can share a launch."""

ARCH = "sm_90a"
BATCH_SECONDS, MOST_IN_BATCH, LEAST_IN_BATCH = 20, 500, 40

Known = dict[str, tuple[str, launches.Constants]]
"""By what is counted: the metric that counts it, and its constants."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask for everything, as far as time allows; write the record and the report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True, help="where answers, record and report go")
    parser.add_argument("--seconds", type=float, default=430, help="ask for no more after so long")
    parser.add_argument("--dry", action="store_true", help="an emulated profiler, and no GPU")
    parser.add_argument("--only", choices=GROUPS, action="append", help="this group alone; repeatable")
    parser.add_argument("--most", type=int, help="so many patterns of a group at most")
    parser.add_argument(
        "--together", type=int, choices=range(1, kernels.MOST_PATTERNS + 1), help="patterns of one launch"
    )
    args = parser.parse_args(arguments)
    args.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, children_find_the_sources():
        run = Run(args, Path(scratch))
        try:
            run.ready()
            run.ask()
        except Exception:  # whatever it is, what was answered so far is to be written
            run.told(f"ENDED: {traceback.format_exc()[-2500:]}")
        return run.finished()


@contextmanager
def children_find_the_sources() -> Iterator[None]:
    """The path of modules for the processes that are started meanwhile."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT / "src"), str(ROOT), before)))
    try:
        yield
    finally:
        del os.environ["PYTHONPATH"]
        os.environ |= {} if before is None else {"PYTHONPATH": before}


@dataclass
class Run:
    """One run: its questions, the answers, and their cost so far."""

    args: argparse.Namespace
    scratch: Path
    begin: float = field(default_factory=time.monotonic)
    device: dict = field(default_factory=dict)
    answers: dict[str, dict[int, dict[str, int]]] = field(default_factory=lambda: {g: {} for g in GROUPS})
    constants: dict[Kind, Known] = field(default_factory=dict)
    have: frozenset[str] = frozenset()
    section: str = ""
    each: float = 0.05
    strays: dict[str, dict[str, int]] = field(default_factory=dict)
    """By metric: what a launch counted beside its patterns, and how many launches did."""

    # -- what is asked ------------------------------------------------------------------------------

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(self.args.only or GROUPS)

    def patterns(self, group: str) -> tuple[patterns.Pattern, ...]:
        every = patterns.for_the_ideal(ENOUGH["ideal"]) if group == "ideal" else patterns.patterns(group)
        return every[: self.args.most]

    @property
    def left(self) -> float:
        """Seconds."""
        return self.args.seconds - (time.monotonic() - self.begin)

    def told(self, words: str) -> None:
        print(f"{time.monotonic() - self.begin:6.1f} s  {words}", flush=True)

    # -- before -------------------------------------------------------------------------------------

    def ready(self) -> None:
        """The profiler, the device, the kernels, what was answered before, and the constants."""
        emulated = profiler.Profiler((sys.executable, "-m", "tests.gpu.emulated_profiler"))
        self.profiler = emulated if self.args.dry else profiler.Profiler.found()
        self.device = described(self.profiler, dry=self.args.dry)
        self.told(", ".join(f"{name} {value}" for name, value in self.device.items()))
        self.resume()
        self.code = self.scratch / "counted.cubin"
        self.code.write_bytes(compiled(kernels.source(KINDS.values())))
        if not self.args.dry:
            before = time.monotonic()
            self.told(self.without_profiler(launches.calibrating(("shared", "global", "other"))))
            self.told(f"the same kernels run without the profiler, in {time.monotonic() - before:.1f} s")
        try:
            self.have = self.profiler.metrics()
        except TimeoutError as error:
            self.told(str(error))
        alike = sorted(name for name in self.have if "wavefronts_mem_shared" in name)
        self.told(
            f"{len(self.have)} metrics; of wavefronts of shared memory: {' '.join(alike) or 'not told'}"
        )
        self.calibrate()

    def without_profiler(self, asked: Sequence[launches.Launch]) -> str:
        """The program by itself: what fails here is no fault of the profiler."""
        said = profiler.run(self.program(asked), seconds=120).strip()
        if not said.endswith(f"{len(asked)} launches"):
            raise LayoutError("TW402", f"the kernels do not run: {said[-1500:]}")
        return said

    def program(self, asked: Sequence[launches.Launch]) -> list[str]:
        path = self.scratch / "launches.json"
        path.write_text(json.dumps([launch.data() for launch in asked]), encoding="utf-8")
        return [sys.executable, "-m", "tests.gpu.counted_launches", str(self.code), str(path)]

    def metrics(self, group: str) -> list[str]:
        """Those of a group that the device has; all of them where it does not tell."""
        wanted = profiler.WANTED[group]
        known = [m for m in wanted if "__" not in m or m.removesuffix(".sum") in self.have]
        return list(known if self.have and known else wanted)

    def calibrate(self) -> None:
        """Find what counters add, by kind, and what a launch takes."""
        spent = []
        for group in ("shared", "global", "other"):
            if group not in self.groups:
                continue
            asked, before = launches.calibrating((group,)), time.monotonic()
            try:
                found = self.counts(group, asked)
            except (LayoutError, TimeoutError) as error:
                self.told(f"{group}: one word cannot be counted: {str(error)[:1500]}")
                continue
            spent.append((time.monotonic() - before, len(asked)))
            for at in range(0, len(asked), len(launches.CALIBRATING)):
                self.learn(group, asked[at].kind, found[at : at + len(launches.CALIBRATING)])
            self.told(f"{group}: one word in {len(asked)} launches, {spent[-1][0]:.1f} s")
        self.each = each_of(spent)
        self.told(f"some {1000 * self.each:.0f} ms a launch")
        said: dict[tuple[str, launches.Constants], list[str]] = {}
        for kind, known in self.constants.items():
            for metric, constants in known.values():
                said.setdefault((metric, constants), []).append(kind.name)
        for (metric, constants), names in said.items():
            self.told(f"+{constants.instruction} an execution: {metric}")
            self.told(f"    {' '.join(names)}")

    def learn(self, group: str, kind: Kind, found: Sequence[Mapping[str, int]]) -> None:
        """The first metric that counts a kind, and its constants; what else is counted may have none."""
        first, *more = metrics_of(kind)
        for metric in (first, *(m for m in found[0] if m != first and "wavefronts_mem_shared" in m)):
            try:
                constants = launches.Constants.of(kind, [one.get(metric, 0) for one in found])
            except LayoutError as error:
                self.told(f"{metric} does not count: {error}")
                continue
            self.constants[kind] = {counted.GROUPS[group][0]: (metric, constants)}
            break
        for name, metric in zip(counted.GROUPS[group][1:], more, strict=True):
            try:
                constants = launches.Constants.of(kind, [one.get(metric, 0) for one in found])
            except LayoutError as error:
                self.told(f"{metric} is taken as it is: {error}")
                constants = launches.Constants()
            self.constants.setdefault(kind, {})[name] = metric, constants

    # -- asking -------------------------------------------------------------------------------------

    def ask(self) -> None:
        """Batch after batch, every group in its turn, until all is answered or time is over."""
        together = self.args.together or self.together()
        for _ in range(3):
            batches = list(self.batches(together))
            if not batches:
                return
            done = sum(len(batch) for _, batch in batches)
            self.told(f"{done} launches in {len(batches)} batches, {together} patterns in one")
            for group, batch in batches:
                if self.left < 3:
                    self.told("time is over")
                    return
                self.one_batch(group, batch)

    def together(self) -> int:
        """The fewest patterns of one launch with which all of them fit in the time that is left."""
        missing = {g: len(self.patterns(g)) - len(self.answers[g]) for g in self.groups}
        for together in range(1, kernels.MOST_PATTERNS + 1):
            count = sum(n / (together if g in PACKED else 1) for g, n in missing.items())
            needed = 1.2 * self.each * count
            self.told(f"{together} in a launch: {count:.0f} launches, {needed:.0f} s, of {self.left:.0f} s")
            if needed < self.left:
                break
        return together

    def batches(self, together: int) -> Iterator[tuple[str, list[launches.Launch]]]:
        """Yield the launches without an answer: groups side by side, each with its share of the time."""
        size = min(MOST_IN_BATCH, max(LEAST_IN_BATCH, int(BATCH_SECONDS / self.each)))
        found = []
        for group in self.groups:
            missing = [
                (number, pattern)
                for number, pattern in enumerate(self.patterns(group))
                if number not in self.answers[group] and (group == "ideal" or pattern.kind in self.constants)
            ]
            dealt = launches.dealt(missing, together if group in PACKED else 1, once=group == "ideal")
            each = 50 if group in ("ideal", "other") else size
            cut = [dealt[at : at + each] for at in range(0, len(dealt), each)]
            found += [((place + 1) / len(cut), group, batch) for place, batch in enumerate(cut)]
        found.sort(key=lambda one: one[0])
        yield from ((group, batch) for _, group, batch in found)

    def one_batch(self, group: str, batch: Sequence[launches.Launch]) -> None:
        """Ask, keep what was answered, and say how it went."""
        before = time.monotonic()
        try:
            found = self.counts(group, batch)
            answers: dict[int, dict[str, int]] = {}
            for launch, metrics in zip(batch, found, strict=True):
                answers |= self.read(group, launch, metrics)
        except (LayoutError, TimeoutError, KeyError) as error:
            self.told(f"{group}: FAILED, {type(error).__name__} {str(error)[:400]}")
            if group == "ideal" and not self.section:
                self.section = "SourceCounters"
            return
        self.keep(group, answers)
        spent, wrong = time.monotonic() - before, self.differing(group, answers)
        total = f"{len(self.answers[group])} of {len(self.patterns(group))}"
        rate = f"{1000 * spent / len(batch):.0f} ms a launch"
        self.told(f"{group:6} {total} patterns, {rate}, {wrong} of {len(answers)} not as the model has them")

    def read(self, group: str, launch: launches.Launch, metrics: Mapping[str, int]) -> dict:
        """The counts of each pattern of a launch, by the record's names."""
        known = SOURCE_LEVEL if group == "ideal" else self.constants[launch.kind]
        found: dict[int, dict[str, int]] = {number: {} for number in launch.numbers}
        for name, (metric, constants) in known.items():
            apart = launches.told_apart(launch, metrics[metric], constants)
            stray = launches.strays(launch, metrics[metric])
            seen = self.strays.setdefault(metric, {})
            seen[str(stray)] = seen.get(str(stray), 0) + 1
            for number, count in zip(launch.numbers, apart, strict=True):
                found[number][name] = count
        return found

    def counts(self, group: str, batch: Sequence[launches.Launch]) -> list[Mapping[str, int]]:
        """Return what the metrics of a group say of each launch of a batch."""
        expected = 15 + 6 * self.each * len(batch)
        limit = max(30, min(self.left + 20, max(150, expected)))
        log = self.scratch / "log.txt"
        section = self.section if group == "ideal" else ""
        try:
            found = self.profiler.counts(
                self.metrics(group), self.program(batch), log, seconds=limit, section=section
            )
        finally:
            self.kept_log(log)
        names = [launch.kind.kernel for launch in batch]
        if [one.kernel.partition("(")[0] for one in found] != names:
            raise LayoutError("TW402", f"{len(found)} launches were counted, and the batch has {len(names)}")
        return [one.metrics for one in found]

    def kept_log(self, log: Path) -> None:
        """The end of what the profiler wrote, for whoever has to look."""
        if log.exists():
            text = log.read_text(encoding="utf-8", errors="replace")
            with (self.args.out / "profiler.txt").open("a", encoding="utf-8") as kept:
                kept.write(f"-- {len(text)} characters\n{text[:1500]}\n...\n{text[-3000:]}\n")

    def differing(self, group: str, answers: Mapping[int, Mapping[str, int]]) -> int:
        every = self.patterns(group)
        return sum(
            any(counts[name] != want for name, want in counted.predicted(every[number], group).items())
            for number, counts in answers.items()
        )

    # -- what was answered --------------------------------------------------------------------------

    def key(self) -> str:
        """Answers belong to these patterns, this device and this driver."""
        asked = [str(self.device.get(name)) for name in ("name", "driver", "profiler")]
        asked += [repr(self.patterns(group)) for group in GROUPS]
        return hashlib.sha256("\n".join(asked).encode()).hexdigest()[:16]

    @property
    def file(self) -> Path:
        return self.args.out / "answers.jsonl"

    def resume(self) -> None:
        """Answers of an earlier run, if they are to these questions."""
        lines = self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []
        if not lines or json.loads(lines[0]) != self.key():
            self.file.write_text(json.dumps(self.key()) + "\n", encoding="utf-8")
            return
        for line in lines[1:]:
            one = json.loads(line)
            self.answers[one["group"]] |= {int(n): counts for n, counts in one["counts"].items()}
        self.told("answers kept: " + ", ".join(f"{len(self.answers[g])} {g}" for g in GROUPS))

    def keep(self, group: str, answers: Mapping[int, Mapping[str, int]]) -> None:
        self.answers[group] |= answers
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"group": group, "counts": answers}) + "\n")

    # -- after --------------------------------------------------------------------------------------

    def finished(self) -> int:
        """Write the record and the report, print the report; the exit code."""
        added = {
            kind.name: [[metric, constants.instruction] for metric, constants in known.values()]
            for kind, known in self.constants.items()
        }
        device = {**self.device, "constants": added, "strays": self.strays}
        truths = [
            counted.truth_of(
                group,
                [(self.patterns(group)[number], counts) for number, counts in sorted(answers.items())],
                device,
            )
            for group, answers in sorted(self.answers.items())
            if answers
        ]
        if truths:
            save(self.args.out / "counters.zip", truths)
        lines, wrong = report(truths)
        few = [
            f"{group}: {len(self.answers[group])} of the {count} that are needed"
            for group, count in ENOUGH.items()
            if group in self.groups and len(self.answers[group]) < min(count, self.args.most or count)
        ]
        text = "\n".join([*lines, *few])
        (self.args.out / "report.txt").write_text(text + "\n", encoding="utf-8")
        self.told("done")
        print(text, flush=True)
        return 2 if few else int(bool(wrong))


SOURCE_LEVEL: Known = {
    "wavefronts": (ACTUAL, launches.Constants()),
    "ideal": (IDEAL, launches.Constants()),
}
"""Counts by instruction, and not by the hardware's counters, which add constants."""


def metrics_of(kind: Kind) -> tuple[str, ...]:
    """The metrics that a kind should be counted by, in the order of what is counted of its group."""
    if kind.space == "global":
        return SECTORS[kind.operation], REQUESTS[kind.operation]
    if kind.operation in profiler.OTHERS:
        return profiler.OTHERS[kind.operation], profiler.SHARED_ALL
    return (SHARED[COUNTED_AS.get(kind.operation, kind.operation)],)


def each_of(spent: Sequence[tuple[float, int]]) -> float:
    """Seconds of a launch, from runs of different lengths: what they have in common is the start."""
    if not spent:
        return 0.05
    (most, many), (least, few) = spent[0], spent[-1] if len(spent) < 2 else spent[1]
    each = (most - least) / (many - few) if many > few else most / many
    return min(max(each, 0.1 * most / many, 0.001), most / many)


def report(truths: Sequence[counted.Truth]) -> tuple[list[str], int]:
    """Return the counts against the model's, with the rules that explain them; and how many differ."""
    lines, wrong = [], 0
    for truth in truths:
        found = counted.compare(truth)
        lines.append(f"{truth.part}: {found.different} of {found.cases} patterns differ from the model")
        wrong += found.different if truth.part != "counters.other" else 0
        tally: dict[str, int] = {}
        for difference in found.differences:
            tally[difference.case.partition(", pattern")[0]] = (
                tally.get(difference.case.partition(", pattern")[0], 0) + 1
            )
        lines += [
            f"    {count:4} {case}" for case, count in sorted(tally.items(), key=lambda one: -one[1])[:12]
        ]
        for difference in found.differences[:3]:
            lanes = " ".join("x" if a is None else str(a) for a in difference.witness["addresses"])
            lines.append(f"    {difference.case}: {difference.message}: {lanes}")
        if truth.part == "counters.shared":
            fits = rival_counts.fitted_merges(truth)
            right = [fit for fit in fits if not fit.wrong]
            lines.append(f"    rules of merging that give every count: {len(right)} of {len(fits)}")
            lines += [f"    {fit}" for fit in fits[:8]]
        if truth.part == "counters.other":
            for kind in (one for one in KINDS.values() if one.group == "other"):
                ways = rival_counts.explained(truth, "wavefronts", rival_counts.OTHERS, [kind])
                best = list(ways.items())[:2]
                lines += [f"    {kind.name}: {count:3} counts are not the {words}" for words, count in best]
        if truth.part == "counters.global":
            ways = rival_counts.explained(truth, "sectors", rival_counts.SECTORS)
            lines += [f"    {count:4} counts are not the {words}" for words, count in ways.items()]
    return lines, wrong


def compiled(source: str) -> bytes:
    """Machine code: by NVRTC where there is one, else by nvcc."""
    library = nvrtc.load()
    if library is not None:
        return nvrtc.compile_to_cubin(library, source, f"--gpu-architecture={ARCH}")[0]
    with tempfile.TemporaryDirectory() as folder:
        text, code = Path(folder) / "counted.cu", Path(folder) / "counted.cubin"
        text.write_text(source, encoding="utf-8")
        said = profiler.run(["nvcc", f"-arch={ARCH}", "-cubin", str(text), "-o", str(code)], seconds=120)
        if not code.exists():
            raise LayoutError("TW402", f"nvcc says {said[-800:]}")
        return code.read_bytes()


def described(profile: profiler.Profiler, *, dry: bool) -> dict:
    """Name, capability and driver of the device, the profiler, the day."""
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    if dry:
        found = {"name": "emulated", "capability": "9.0", "driver": "none"}
    else:
        from tests.codegen.driver import Driver

        driver = Driver()
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        try:
            version = profiler.run(query, seconds=30).split("\n")[0].strip()
        except OSError:
            version = "unknown"
        found = {"name": driver.name, "capability": "{}.{}".format(*divmod(driver.capability, 10))}
        found["driver"] = version
    return {**found, "profiler": f"ncu {profile.version()}", "Python": sys.version.split()[0], "date": day}


if __name__ == "__main__":
    sys.exit(main())
