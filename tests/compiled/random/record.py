"""The record of random kernels: machine code and PTX, launches, and the bytes that each thread touches.

    python -m tests.compiled.random.record

writes it anew. Each batch has a folder: `machine.sass`, `program.ptx`, `cases.json`, and in `threads.bin` and
`addresses.bin` the accesses of all cases, site by site: threads as 16 bits, addresses as differences of 32
bits from one access to the next.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from tests.codegen import nvrtc
from tests.compiled.random.compare import Case, Row, case_of
from tests.compiled.random.compile import TARGETS, Compiled, compiled, nvdisasm
from tests.compiled.random.kernels import kernel

FILE = Path(__file__).parent / "record.zip"
BATCH = 40
PLAN = (*(TARGETS[0],) * 7, *TARGETS[1:])
"""The target of each batch."""


@dataclass(frozen=True)
class Batch:
    """Cases that were compiled together."""

    target: str
    machine: str
    ptx: str
    cases: tuple[Case, ...]


def batch_of(made: Compiled, seeds: range) -> Batch:
    """Return a batch with what the interpreter says of its kernels."""
    kernels = map(kernel, seeds)
    return Batch(
        made.target, made.machine, made.ptx, tuple(case_of(it, made.lines[it.name]) for it in kernels)
    )


def batches(file: Path = FILE) -> Iterator[Batch]:
    """Yield the batches of the record."""
    with zipfile.ZipFile(file) as archive:
        folders = sorted({name.split("/")[0] for name in archive.namelist()})
        for folder in folders:
            yield read(archive, folder)


def read(archive: zipfile.ZipFile, folder: str) -> Batch:
    """Return one batch."""
    facts = json.loads(archive.read(f"{folder}/cases.json"))
    threads = np.frombuffer(archive.read(f"{folder}/threads.bin"), "<u2").tolist()
    steps = (
        np.frombuffer(archive.read(f"{folder}/addresses.bin"), "u1").reshape(4, -1).T.copy().view("<i4")[:, 0]
    )
    cases, at = [], 0
    for it in facts["cases"]:
        rows: list[Row] = []
        for site, kind, space, size, first, count in it.pop("sites"):
            addresses = first + np.cumsum(steps[at : at + count], dtype=np.int64)
            rows += [
                Row(site, kind, space, thread, address, size)
                for thread, address in zip(threads[at : at + count], addresses.tolist(), strict=True)
            ]
            at += count
        it["lines"] = {int(line): site for line, site in it["lines"].items()}
        shape = {name: tuple(it.pop(name)) for name in ("grid", "block", "arguments")}
        cases.append(Case(**it, **shape, rows=rows))
    machine, ptx = (archive.read(f"{folder}/{name}").decode() for name in ("machine.sass", "program.ptx"))
    return Batch(facts["target"], machine, ptx, tuple(cases))


def write(archive: zipfile.ZipFile, folder: str, batch: Batch) -> None:
    """Add a batch to an archive."""
    threads: list[int] = []
    steps: list[int] = []
    facts = []
    for case in batch.cases:
        it: dict[str, Any] = {name: value for name, value in vars(case).items() if name != "rows"}
        it["sites"] = []
        rows = sorted(case.rows, key=lambda row: (row[:3], row.bytes))
        # A step between accesses is less than 32 bits where one site stays within 2 GiB.
        buckets = groupby(rows, key=lambda row: (*row[:3], row.bytes, row.address >> 30))
        for (site, kind, space, size, _), group in buckets:
            some = list(group)
            addresses = [row.address for row in some]
            it["sites"].append((site, kind, space, size, addresses[0], len(some)))
            threads += [row.thread for row in some]
            steps += [b - a for a, b in zip(addresses[:1] + addresses, addresses, strict=False)]
        facts.append(it)
    planes = np.array(steps, "<i4").view("u1").reshape(-1, 4).T
    archive.writestr(
        f"{folder}/cases.json", json.dumps({"target": batch.target, "cases": facts}, separators=(",", ":"))
    )
    archive.writestr(f"{folder}/threads.bin", np.array(threads, "<u2").tobytes())
    archive.writestr(f"{folder}/addresses.bin", planes.tobytes())
    archive.writestr(f"{folder}/machine.sass", batch.machine)
    archive.writestr(f"{folder}/program.ptx", batch.ptx)


def main() -> int:
    """Write the record."""
    library, disassembler = nvrtc.load(), nvdisasm()
    if library is None or disassembler is None:
        print("this takes NVRTC and nvdisasm")
        return 2
    with zipfile.ZipFile(FILE, "w", zipfile.ZIP_LZMA) as archive:
        for number, target in enumerate(PLAN):
            seeds = range(number * BATCH, (number + 1) * BATCH)
            made = compiled(library, disassembler, [kernel(seed) for seed in seeds], target)
            write(archive, f"{number:02}", batch_of(made, seeds))
    print(f"{len(PLAN) * BATCH} kernels, {FILE.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
