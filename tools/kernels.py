"""Record the counters of a GPU: of the kernels of the corpus, and of asynchronous copies.

    PYTHONPATH=src:. python -m tools.kernels FOLDER --out COUNTS
    PYTHONPATH=src:. python -m tools.kernels FOLDER --out COUNTS --only kernels --seconds 200

FOLDER is what `tests.compiled.corpus.compile` wrote. It takes a GPU of the Hopper generation, NumPy and
Nsight Compute (ncu) with leave to read counters; asynchronous copies take nvcc too, unless FOLDER has
`copies.cubin`. COUNTS then has

    counters.json  kernels: {launch: its counters, and the addresses of its arguments}
    sources.json   sources: {launch: what the profiler's source page counts of each instruction}
    cp_async.json  copies: each case's addresses, and its counters

A counter that differs between two runs is a list of what both said.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tilewise.core.errors import LayoutError
from tools.counters import copies, profiler

PROGRAM = "tests.compiled.corpus.launched"
PARTS = ("kernels", "copies", "sources", "more kernels", "more copies")

FIRST = (
    r"l1tex__data_pipe_lsu_wavefronts_mem_shared(_op_(ld|st|atom))?",
    r"sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_\w+",
    r"smsp__sass_inst_executed_op_(shared|global|local|generic)(_(ld|st|atom|red|stsm))?",
    r"smsp__sass_inst_executed_op_(ldsm|ldgsts\w*)",
    r"l1tex__t_(requests|sectors)_pipe_lsu_mem_(global|local)_op_(ld|st|red|atom)",
    r"sm__sass_l1tex_t_(requests|sectors)_pipe_lsu_mem_global_op_ldgsts\w*",
)
"""Metrics that are counted first, twice: patterns of their names without `.sum`."""

MORE = (
    r"l1tex__data_pipe_lsu_wavefronts_mem_shared_(cmd|op)_\w+",
    r"l1tex__data_bank_(reads|writes|conflicts_pipe_lsu_mem_shared\w*)",
    r"sm__sass_l1tex_(data_bank_conflicts|pipe_lsu_wavefronts)\w+",
    r"sm__sass_l1tex_t_sectors_pipe_lsu_mem_(global|local)_op_(ld|st|red|atom)",
    r"l1tex__t_\w+_pipe_lsu_mem_global_op_ldgsts_cache_access",
    r"smsp__inst_executed_op_(shared|global|local|generic)_(ld|st|atom|red|stsm)(_pred_on_any)?",
    r"smsp__inst_executed_op_(ldsm|ldgsts)(_pred_on_any)?",
    r"smsp__(thread_)?inst_executed",
)
"""Metrics that are counted after that, once."""

OF_COPIES = (
    r"l1tex__data_pipe_lsu_wavefronts_mem_shared(_op_st|_cmd_read|_cmd_write)?",
    r"sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts\w*",
    r"sm__sass_l1tex_t_(requests|sectors)_pipe_lsu_mem_global_op_ldgsts\w*",
    r"l1tex__t_(output_wavefronts|set_accesses|set_conflicts)_pipe_lsu_mem_global_op_ldgsts_cache_access",
    r"l1tex__t_sectors_pipe_lsu_mem_global_op_ld",
)
MORE_OF_COPIES = (
    r"l1tex__data_bank_(reads|writes|conflicts_pipe_lsu_mem_shared_op_(ldgsts|st|misc))",
    r"sm__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts\w*",
    r"l1tex__t_(requests|sectors)_pipe_lsu_mem_global_op_ldgsts_cache_access",
    r"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_(misc|ld)",
    r"(l1tex|sm__sass_l1tex)_{1,2}m_xbar2l1tex_read_sectors_mem_global_op_ldgsts\w*",
)
"""Metrics of asynchronous copies, in the same way."""

EACH_OFTEN = 3
"""Every so many cases of a copy are also counted with the copy done often."""

TOGETHER = 50
"""Metrics that one run of the profiler counts."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Count the launches that the arguments name, and write the counts; return 0 if all were counted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", choices=PARTS, action="append", help="this part alone; repeatable")
    parser.add_argument("--seconds", type=float, default=500, help="ask for no more after so long")
    parser.add_argument("--seed", type=int, default=copies.SEED, help="the seed of the copies")
    parser.add_argument("--ncu", help="the profiler, if it is not on the PATH")
    args = parser.parse_args(arguments)
    args.out.mkdir(parents=True, exist_ok=True)
    found = profiler.Profiler((args.ncu,)) if args.ncu else profiler.Profiler.found()
    run = Run(args.folder, args.out, found, time.monotonic() + args.seconds, args.seed)
    for part in args.only or PARTS:
        run.part(part)
    return int(bool(run.failed))


class Run:
    """One run on a device: its profiler, the launches, and the time to stop."""

    def __init__(self, folder: Path, out: Path, used: profiler.Profiler, end: float, seed: int) -> None:
        self.folder, self.out, self.profiler, self.end, self.seed = folder, out, used, end, seed
        self.begin, self.failed = time.monotonic(), 0
        self.scratch = Path(tempfile.mkdtemp())
        self.have = sorted(used.metrics())
        self.device = described(used)
        self.told(f"{self.device}, {len(self.have)} metrics")
        table = json.loads((folder / "launches.json").read_text(encoding="utf-8"))
        self.launches = [
            {**launch, "code": str((folder / launch["files"]["cubin"]).resolve())}
            for launch in table["launches"]
        ]

    def told(self, words: str) -> None:
        """Print some words with the time."""
        print(f"{time.monotonic() - self.begin:6.1f} s  {words}", flush=True)

    @property
    def left(self) -> float:
        """Return the seconds that are left."""
        return self.end - time.monotonic()

    def part(self, part: str) -> None:
        """Count one part, and say how it went."""
        try:
            if part == "sources":
                self.sources()
            elif part.endswith("copies"):
                more = part == "more copies"
                self.copies(MORE_OF_COPIES if more else OF_COPIES, ("once",) if more else ("once", "often"))
            else:
                self.kernels(FIRST if part == "kernels" else MORE, times=2 if part == "kernels" else 1)
        except (LayoutError, TimeoutError, OSError, KeyError, ValueError) as error:
            self.failed += 1
            self.told(f"{part}: FAILED, {type(error).__name__} {str(error)[:1500]}")

    def metrics(self, patterns: Sequence[str]) -> list[str]:
        """Return the metrics that the device has, of some patterns."""
        wanted = re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
        return [f"{name}.sum" for name in self.have if wanted.fullmatch(name)]

    # -- the kernels -------------------------------------------------------------------------------------

    def kernels(self, patterns: Sequence[str], times: int) -> None:
        """Count every launch of the corpus so often, and add it to counters.json."""
        path = self.out / "counters.json"
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"launches": {}}
        done = {name for one in kept["launches"].values() for name in one["counters"]}
        metrics = [name for name in self.metrics(patterns) if name not in done]
        for some in [*chunks(metrics)] * times:
            found, addresses = self.counted(self.launches, some)
            for launch, counts in zip(self.launches, found, strict=True):
                one = kept["launches"].setdefault(launch["name"], {"counters": {}})
                one.setdefault("addresses", addresses[launch["name"]])
                for name, count in counts.items():
                    together(one["counters"], name, count)
            kept["device"] = self.device
            path.write_text(as_lines(kept, "launches"), encoding="utf-8")
            self.told(f"{len(found)} launches, {len(some)} metrics")

    def counted(
        self, launches: Sequence[Mapping[str, Any]], metrics: Sequence[str]
    ) -> tuple[list[dict[str, int]], dict[str, list[int | None]]]:
        """Return what the metrics say of each launch, and the addresses of the arguments."""
        program, addresses = self.program(launches)
        log = self.scratch / "profiler.txt"
        found = self.profiler.counts(metrics, program, log, seconds=max(20, self.left), kernels=".")
        names = [launch["kernel"] for launch in launches]
        if [one.kernel for one in found] != names:
            raise LayoutError("TW402", f"{len(found)} launches were counted, of {len(names)}")
        kept = [{name: one.metrics[name] for name in metrics if name in one.metrics} for one in found]
        return kept, json.loads(addresses.read_text(encoding="utf-8"))

    def program(self, launches: Sequence[Mapping[str, Any]]) -> tuple[list[str], Path]:
        """Return the program that launches all of them, and the file that it writes."""
        asked, addresses = self.scratch / "asked.json", self.scratch / "addresses.json"
        asked.write_text(json.dumps(launches), encoding="utf-8")
        addresses.unlink(missing_ok=True)
        return [sys.executable, "-m", PROGRAM, str(asked), str(addresses)], addresses

    def sources(self) -> None:
        """Write what the source page says of every launch."""
        program, _ = self.program(self.launches)
        text = self.profiler.source_page(program, self.scratch / "sources", seconds=max(20, self.left))
        names = [launch["name"] for launch in self.launches]
        tables = dict(zip(names, profiler.tables(text), strict=True))
        record = {"device": self.device, "launches": tables}
        (self.out / "sources.json").write_text(as_lines(record, "launches"), encoding="utf-8")
        self.told(f"source pages of {len(tables)} launches")

    # -- asynchronous copies -----------------------------------------------------------------------------

    def copies(self, patterns: Sequence[str], ways: Sequence[str]) -> None:
        """Count every case of a copy, and some of them with the copy done often; write cp_async.json."""
        path, cases = self.out / "cp_async.json", copies.cases(self.seed)
        fresh: dict[str, Any] = {"metrics": {"once": [], "often": []}}
        fresh |= {"cases": [case_data(case) for case in cases]}
        kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else fresh
        code = str(self.code_of_copies())
        for way in ways:
            metrics = [name for name in self.metrics(patterns) if name not in kept["metrics"][way]]
            step, times = (1, 1) if way == "once" else (EACH_OFTEN, copies.OFTEN)
            asked = [case.launch(code, times) for case in cases[::step]]
            found, addresses = self.counted(asked, metrics)
            for one, counts in zip(kept["cases"][::step], found, strict=True):
                one.setdefault(way, []).extend(counts.get(name) for name in metrics)
            kept["metrics"][way] += metrics
            kept |= {"device": self.device, "often": copies.OFTEN, "global": addresses["copies"][1]}
            path.write_text(as_lines(kept, "cases"), encoding="utf-8")
            self.told(f"{len(found)} copies {way}, {len(metrics)} metrics")

    def code_of_copies(self) -> Path:
        """Return the machine code of the kernels that copy."""
        code = self.folder / "copies.cubin"
        if not code.exists():
            text = code.with_suffix(".cu")
            text.write_text(copies.source(), encoding="utf-8")
            options = ["-arch=sm_90", "-O3", "-cubin", str(text), "-o", str(code)]
            said = profiler.run(["nvcc", *options], seconds=120)
            if not code.exists():
                raise LayoutError("TW402", f"nvcc says {said[-800:]}")
        return code.resolve()


def chunks(metrics: Sequence[str]) -> list[Sequence[str]]:
    """Return the metrics in parts: what one run of the profiler counts is kept before the next one begins."""
    return [metrics[at : at + TOGETHER] for at in range(0, len(metrics), TOGETHER)]


def case_data(case: copies.Copy) -> dict[str, Any]:
    """Return a case as JSON, without counters."""
    sizes = {"sizes": case.sizes} if case.form.startswith("fill") else {}
    addresses = {"to": case.to, "from": case.source}
    return {"form": case.form, "family": case.family, **addresses, **sizes}


def together(counters: dict[str, Any], name: str, count: int) -> None:
    """Add what one run counted: one number while all runs agree, else the number of each run.

    >>> counters = {}
    >>> for count in (4, 4, 5):
    ...     together(counters, "a", count)
    >>> counters
    {'a': [4, 5]}
    """
    known = counters.get(name, count)
    every = known if isinstance(known, list) else [known]
    counters[name] = known if count in every else [*every, count]


def as_lines(record: Mapping[str, Any], long: str) -> str:
    """Return JSON with a line for each item of its longest part.

    >>> print(as_lines({"a": 1, "b": [2, 3]}, "b"))
    {"a": 1,
    "b": [
    2,
    3
    ]}
    """
    head = ",\n".join(f"{json.dumps(name)}: {json.dumps(record[name])}" for name in record if name != long)
    items = record[long]
    if isinstance(items, Mapping):
        lines, signs = [f"{json.dumps(name)}: {json.dumps(item)}" for name, item in items.items()], "{}"
    else:
        lines, signs = [json.dumps(item) for item in items], "[]"
    body = ",\n".join(lines)
    return f"{{{head}{',' if head else ''}\n{json.dumps(long)}: {signs[0]}\n{body}\n{signs[1]}}}"


def described(used: profiler.Profiler) -> dict[str, str]:
    """Return the device's name and driver, the profiler, and the day."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        name, _, driver = profiler.run(query, seconds=30).splitlines()[0].partition(", ")
    except (OSError, IndexError):
        name, driver = "unknown", "unknown"
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    return {"name": name, "driver": driver, "profiler": f"ncu {used.version()}", "date": day}


if __name__ == "__main__":
    sys.exit(main())
