"""Nsight Compute on the command line: found, asked for metrics, and its CSV read.

    ncu --csv --page raw --print-units base --metrics ... --clock-control none --cache-control none PROGRAM

Metrics of one pass cost tens of milliseconds a launch. Caches and clocks are left as they are, for counts
do not depend on them.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewise.core.errors import LayoutError, Refused
from tilewise.hardware.memory.counters import ACTUAL, IDEAL, REQUESTS, SECTORS, SHARED

SHARED_ALL = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
OTHERS = {
    "atom": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
    "cp.async": "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",
}

WANTED: Mapping[str, tuple[str, ...]] = {
    "shared": (SHARED["ld"], SHARED["st"], SHARED_ALL),
    "global": (SECTORS["ld"], SECTORS["st"], REQUESTS["ld"], REQUESTS["st"]),
    "other": (*OTHERS.values(), SHARED["st"], SHARED_ALL),
    "ideal": (ACTUAL, IDEAL),
}
"""{question to a launch: its metrics}; a metric that a device does not have is left out."""

AS_IT_IS = ("--clock-control", "none", "--cache-control", "none")
"""Options that leave the device's clocks and caches as they are."""

REFUSED = {
    "ERR_NVGPUCTRPERM": "the driver lets administrators alone read the counters",
    "LibraryNotLoaded": "the profiler's library cannot be loaded here",
    "Failed to find metric": "the device does not have one of the metrics",
    "No kernels were profiled": "the program launched no kernel",
}
"""{words of the profiler where it gives nothing: the same plainly}."""


@dataclass(frozen=True, slots=True)
class Profiler:
    """A profiler by its command."""

    command: tuple[str, ...]

    @classmethod
    def found(cls) -> Profiler:
        """Return the newest one of the PATH or of the usual places."""
        usual = [*Path("/usr/local").glob("cuda*/bin/ncu"), *Path("/opt/nvidia/nsight-compute").glob("*/ncu")]
        path = shutil.which("ncu") or next(map(str, sorted(usual, reverse=True)), None)
        if path is None:
            hint = "it is part of the CUDA toolkit; put ncu on the PATH"
            raise Refused("TW608", "Nsight Compute is not installed", witness={"command": "ncu"}, hint=hint)
        return cls((path,))

    def version(self) -> str:
        """Return its own name and version."""
        said = self._said("--version", seconds=60)
        found = re.search(r"Version (\S+)", said)
        return found[1] if found else said.strip()[-60:]

    def metrics(self) -> frozenset[str]:
        """Return the metrics that the device has, without their suffixes; none where it does not tell."""
        said = self._said("--query-metrics", seconds=120)
        return frozenset(re.findall(r"^\s*([a-z]\w*__\w+)", said, re.MULTILINE))

    def counts(
        self,
        metrics: Sequence[str],
        program: Sequence[str],
        log: Path,
        *,
        seconds: float,
        section: str = "",
        kernels: str = "^counted_",
    ) -> list[Counts]:
        """Return what the metrics, or those of a section, say of each launch of a program, in order.

        `kernels` is a pattern of the names of the kernels that are counted.
        """
        options = ["--csv", "--page", "raw", "--print-units", "base", "--print-metric-instances", "values"]
        options += ["--section", section] if section else ["--metrics", ",".join(metrics)]
        options += [*AS_IT_IS, "--kernel-name", f"regex:{kernels}", "--print-kernel-base", "mangled"]
        options += ["--log-file", str(log)]
        log.unlink(missing_ok=True)
        said = run([*self.command, *options, *program], seconds=seconds)
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        found = parsed(text)
        if not found:
            raise LayoutError("TW402", f"the profiler counted nothing: {_why(text + said)}")
        return found

    def source_page(self, program: Sequence[str], report: Path, *, seconds: float) -> str:
        """Return what the source page says of each instruction of each launch of a program, as it prints it.

        The report is written beside it, with the ending that the profiler gives it.
        """
        asked = ["--section", "SourceCounters", *AS_IT_IS, "--force-overwrite", "--export", str(report)]
        said = run([*self.command, *asked, *program], seconds=seconds)
        written = report.with_name(f"{report.name}.ncu-rep")
        if not written.exists():
            raise LayoutError("TW402", f"the profiler wrote no report: {_why(said)}")
        shown = ["--import", str(written), "--page", "source", "--csv", "--print-source", "sass"]
        return run([*self.command, *shown, "--print-kernel-base", "mangled"], seconds=seconds)

    def _said(self, option: str, *, seconds: float) -> str:
        return run([*self.command, option], seconds=seconds)


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts that the profiler gives of one launch."""

    kernel: str
    metrics: Mapping[str, int]


def run(command: Sequence[str], *, seconds: float) -> str:
    """Return what a command prints, with an end after so many seconds: it and all that it started are ended.

    >>> run(["echo", "yes"], seconds=10)
    'yes\\n'
    """
    plain = {**os.environ, "LC_ALL": "C"}
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=plain,
        start_new_session=True,
    ) as process:
        try:
            return process.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said = process.communicate()[0]
            raise TimeoutError(f"{command[0]} took more than {seconds:.0f} s: {said[-500:]}") from None


def parsed(text: str) -> list[Counts]:
    """Return the launches of a CSV, whatever stands before it: one row each, or one row for each metric.

    >>> parsed('==PROF== Connected\\n"ID","Kernel Name","a.sum","b.sum"\\n"0","k","1,024","n/a"\\n')
    [Counts(kernel='k', metrics={'a.sum': 1024})]
    >>> parsed('"ID","Kernel Name","Metric Name","Metric Value"\\n"0","k","a.sum","7"\\n"0","k","b.sum","8"')
    [Counts(kernel='k', metrics={'a.sum': 7, 'b.sum': 8})]
    """
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if first is None:
        return []
    launches: dict[int, tuple[str, dict[str, int]]] = {}
    for row in csv.DictReader(line for line in lines[first:] if line.startswith('"')):
        if not (row["ID"] or "").isdecimal():
            continue
        _, found = launches.setdefault(int(row["ID"]), (row["Kernel Name"], {}))
        pairs = [(row["Metric Name"], row["Metric Value"])] if "Metric Name" in row else row.items()
        for metric, value in pairs:
            number = _number(value)
            if metric not in _COLUMNS and number is not None:
                found[str(metric)] = number
    return [Counts(*launches[number]) for number in sorted(launches)]


def tables(text: str) -> list[dict[str, Any]]:
    """Return what a source page says of each launch: the instructions, and what is counted of accesses.

    An instruction is 16 bytes after the one before it. A page that comes twice is taken once: the profiler
    prints that of a kernel with lines of its source again.

    >>> page = '"Kernel Name","k"\\n"Address","Source","Instructions Executed","Address Space"\\n'
    >>> page += '"0x7f00"," LDG.E R1, [R2]","4","Global"\\n"0x7f10"," EXIT","4","-"\\n'
    >>> tables(page + page)[0]["accesses"]
    [{'offset': 0, 'text': 'LDG.E R1, [R2]', 'Address Space': 'Global'}]
    """
    parts = re.split(r'^"Kernel Name",', text, flags=re.MULTILINE)[1:]
    kept = [part for number, part in enumerate(parts) if not number or part != parts[number - 1]]
    return [_table(part) for part in kept]


def _table(part: str) -> dict[str, Any]:
    name, *lines = part.splitlines()
    rows = [row for row in csv.DictReader(lines) if (row["Address"] or "").startswith("0x")]
    begin = int(rows[0]["Address"], 16)
    counts = {short: [_number(row.get(long)) for row in rows] for short, long in EXECUTED.items()}
    accesses = [
        {"offset": int(row["Address"], 16) - begin, "text": row["Source"].strip()}
        | {column: _cell(row[column]) for column in OF_ACCESSES if row.get(column) not in (None, "-")}
        for row in rows
        if row["Address Space"] not in ("-", "")
    ]
    return {"kernel": name.strip('",'), **counts, "accesses": accesses}


def _cell(value: str) -> int | str:
    number = _number(value)
    return value if number is None else number


EXECUTED = {
    "executed": "Instructions Executed",
    "threads": "Thread Instructions Executed",
    "active": "Predicated-On Thread Instructions Executed",
}
"""{by what name a record has it: a column of the source page, of every instruction}."""

OF_ACCESSES = (
    "Address Space",
    "Access Operation",
    "Access Size",
    "L1 Tag Requests Global",
    "L1 Conflicts Shared N-Way",
    "L1 Wavefronts Shared",
    "L1 Wavefronts Shared Ideal",
    "L2 Theoretical Sectors Global",
    "L2 Theoretical Sectors Global Ideal",
    "L2 Theoretical Sectors Local",
)
"""Columns of the source page, of instructions that access memory."""

_COLUMNS = frozenset(
    ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size")
) | {"Grid Size", "Device", "CC", None}


def _number(value: str | None) -> int | None:
    """Return a whole number as it is printed: with commas, a fraction of zeros, or its instances behind it.

    >>> _number("1,024"), _number("3.00"), _number("7 (3; 4)"), _number("(3; 4)"), _number("n/a")
    (1024, 3, 7, 7, None)
    """
    total, _, instances = (value or "").replace(",", "").partition("(")
    if total.strip():
        found = re.fullmatch(r"(\d+)(?:\.0*)?", total.strip())
        return int(found[1]) if found else None
    every = [_number(one) for one in instances.rstrip(") ").split(";") if one.strip()]
    return sum(one or 0 for one in every) if every else None


def _why(said: str) -> str:
    for words, plain in REFUSED.items():
        if words in said:
            return plain
    return said.strip()[-600:] or "it said nothing"
