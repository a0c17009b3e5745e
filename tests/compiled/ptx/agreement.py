"""PTX against the machine code that ptxas made of it: the bytes that every thread touches.

    PYTHONPATH=src:. python -m tests.compiled.ptx.agreement [NAME ...] [--blocks 2]

Both texts of a kernel run with one launch. ptxas merges, splits, moves and drops accesses; `EXPLAINED` names
the kernels whose bytes differ therefore.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from zipfile import ZipFile

import numpy as np

from tilewise.compiled.launch import Launch
from tilewise.compiled.machine import Event
from tilewise.compiled.program import KernelProgram
from tilewise.compiled.ptx.reader import programs_of as in_ptx
from tilewise.compiled.sass.reader import programs_of as in_machine_code
from tilewise.compiled.trace import traces
from tilewise.hardware.limits import LANES

COMPILED = Path(__file__).parent.parent

LATER = "ptxas moves a load behind the branch of the stores that need it"
DATA = "the data decide about a branch, which ptxas made into predicates"
EXPLAINED = {
    "matmul_wmma": "PTX leaves open which lane loads which element of a wmma fragment",
    "bitonic_sort": DATA,
    "triton_row_sums": LATER,
    "triton_transpose": LATER,
    "bias_between_dots": LATER,
    "group_peak_transposed": LATER,
    "bounded_spill": "addresses that ptxas spills to local memory are known in PTX alone",
}
"""{kernel: why its bytes differ}."""
LONG = {
    "nearest_three": "each thread runs a loop of 16,384 turns",
    "triton_grouped_matmul": "the data decide how often a loop runs, and the machine guesses",
}
"""Kernels that take long, and why; they are compared only if they are named."""


@dataclass(frozen=True)
class Case:
    """One launch of a kernel of which there are both texts."""

    name: str
    kernel: str
    launch: Launch
    ptx: str
    code: str


@cache
def _record(path: Path) -> dict[str, str]:
    with ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.endswith((".ptx", ".sass"))]
        return {name: archive.read(name).decode() for name in names}


def _bits(argument: dict[str, float | str]) -> int | None:
    """Return an argument as an integer; None for a pointer, which gets an address of its own."""
    kind = argument["type"]
    if kind == "ptr":
        return None
    value = float(argument["value"])
    if kind == "f32":
        return int(np.float32(value).view(np.uint32))
    return int(np.float64(value).view(np.uint64)) if kind == "f64" else int(value)


def cases() -> Iterator[Case]:
    """Return the kernels of the slow ones and, where it is there, of the corpus."""
    texts = _record(COMPILED / "slow" / "artifacts.zip")
    for one in json.loads((COMPILED / "slow" / "causes.json").read_text(encoding="utf-8")):
        given = one["launch"]
        args = [
            None
            if isinstance(arg, str)
            else _bits({"type": "f32" if isinstance(arg, float) else "i", "value": arg})
            for arg in given["args"]
        ]
        launch = Launch(_three(given["grid"]), _three(given["block"]), args, given.get("shared", 0))
        name = one["name"]
        yield Case(name, one["kernel"], launch, texts[f"{name}.ptx"], texts[f"{name}.sass"])
    corpus = COMPILED / "corpus"
    if not (corpus / "record.zip").exists():
        return
    texts = _record(corpus / "record.zip")
    for one in json.loads((corpus / "launches.json").read_text(encoding="utf-8"))["launches"]:
        args = [_bits(arg) for arg in one["args"]]
        launch = Launch(_three(one["grid"]), _three(one["block"]), args, one["shared"])
        files = one["files"]
        yield Case(one["name"], one["kernel"], launch, texts[files["ptx"]], texts[files["sass"]])


def _three(extents: list[int]) -> tuple[int, int, int]:
    x, y, z = [*extents, 1, 1][:3]
    return x, y, z


PLACE = 1 << 46
"""A byte of a thread is one number: this times the thread, plus the address."""
NO_BYTE = np.empty(0, np.int64)

Touched = dict[tuple[str, str], np.ndarray]


def touched(program: KernelProgram, launch: Launch, blocks: int) -> tuple[Touched, Counter[tuple[str, str]]]:
    """Return {(space, operation): bytes of threads}, and how often such an access is not known."""
    found: dict[tuple[str, str], list[np.ndarray]] = defaultdict(list)
    unknown: Counter[tuple[str, str]] = Counter()
    for trace in traces(program, launch, range(min(blocks, launch.blocks))):
        for event in trace:
            if not isinstance(event, Event):
                continue
            touch, lanes = event.touch, trace.lanes
            key = touch.space, "atom" if touch.operation == "red" else touch.operation
            active = np.flatnonzero(event.active & (lanes.threads % LANES < touch.supplied))
            blind = event.address.unknown
            if event.unsure or (blind is not None and lanes.spread(blind)[active].any()):
                unknown[key] += 1
            elif len(active):
                threads = (lanes.blocks[active] << 12) + lanes.threads[active]
                places = lanes.spread(event.address.bits)[active].astype(np.int64)
                bytes = np.arange(touch.bytes)
                every = (places[:, None] + bytes) & PLACE - 1
                assert threads[-1] < 1 << 17
                found[key].append(np.unique(threads[:, None] * PLACE + every))
        assert trace.cut is None
    return {key: np.unique(np.concatenate(parts)) for key, parts in found.items()}, unknown


def differences(case: Case, blocks: int) -> list[str]:
    """Return what the two texts of a kernel do not have in common; local memory is ptxas's own."""
    ptx = next(in_ptx(case.ptx, case.kernel))
    (a, dim_a), (b, dim_b) = (
        touched(program, case.launch, blocks)
        for program in (ptx, next(in_machine_code(case.code, case.kernel)))
    )
    lines = [f"not read: {name}" for name in ptx.unread]
    for key in sorted({*a, *b, *dim_a, *dim_b}):
        if key[0] == "local":
            continue
        ours, theirs = a.get(key, NO_BYTE), b.get(key, NO_BYTE)
        if not np.array_equal(ours, theirs):
            lines.append(
                f"{' '.join(key)}: {len(ours)} bytes of threads in PTX, {len(theirs)} in machine code"
            )
        if (dim_a[key] > 0) != (dim_b[key] > 0):
            lines.append(f"{' '.join(key)}: {dim_a[key]} unknown in PTX, {dim_b[key]} in machine code")
    return lines


def main() -> None:
    """Print the kernels whose texts differ, and how many agree."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*")
    parser.add_argument("--blocks", type=int, default=2)
    args = parser.parse_args()
    chosen = [one for one in cases() if one.name in args.names or (not args.names and one.name not in LONG)]
    alike = 0
    for case in chosen:
        lines = differences(case, args.blocks)
        alike += not lines
        if lines:
            print(case.name, "--", EXPLAINED.get(case.name, "not explained"))
        for line in lines:
            print("   ", line)
    print(f"{alike} of {len(chosen)} kernels touch the same bytes")


if __name__ == "__main__":
    main()
