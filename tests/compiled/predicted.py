"""The sums that the reader predicts for the kernels of the corpus, beside those that an H200 counted.

    python -m tests.compiled.predicted [machine|ptx] [NAME ...]

prints every counter that differs, and how many are equal.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from tilewise.compiled.counts import Tally
from tilewise.compiled.launch import Launch
from tilewise.compiled.run import Run, counted
from tilewise.compiled.sums import totals
from tilewise.compiled.texts import programs_of

HERE = Path(__file__).parent / "corpus"
WAVEFRONTS = "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op"
ISSUED = "smsp__inst_executed_op"
GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op"

COUNTERS: Mapping[tuple[str, str, str], tuple[str, ...]] = {
    ("shared", "load", "instructions"): (f"{ISSUED}_shared_ld.sum", f"{ISSUED}_ldsm.sum"),
    ("shared", "store", "instructions"): (f"{ISSUED}_shared_st.sum", f"{ISSUED}_shared_stsm.sum"),
    ("shared", "load", "wavefronts"): (f"{WAVEFRONTS}_ld.sum", f"{WAVEFRONTS}_ldsm.sum"),
    ("shared", "store", "wavefronts"): (f"{WAVEFRONTS}_st.sum", f"{WAVEFRONTS}_stsm.sum"),
    ("global", "load", "requests"): (f"{GLOBAL.format('requests')}_ld.sum",),
    ("global", "store", "requests"): (f"{GLOBAL.format('requests')}_st.sum",),
    ("global", "load", "sectors"): (f"{GLOBAL.format('sectors')}_ld.sum",),
    ("global", "store", "sectors"): (f"{GLOBAL.format('sectors')}_st.sum",),
}
"""{(space, kind, count): the profiler's metrics whose sum it is}.

Wavefronts are summed over instructions: the counter of the unit had 18 for the 16 stores of one launch,
both times.
"""


@dataclass(frozen=True)
class Difference:
    """A counter that was predicted, and what was counted."""

    name: str
    counter: tuple[str, str, str]
    predicted: int
    counted: int

    def __str__(self) -> str:
        return f"{self.name}: {' '.join(self.counter)} {self.predicted:,}, counted {self.counted:,}"


@cache
def archive() -> ZipFile:
    return ZipFile(HERE / "record.zip")


@cache
def launches() -> dict[str, Any]:
    """Return the launches of the corpus by their names."""
    listed = json.loads((HERE / "launches.json").read_text(encoding="utf-8"))["launches"]
    return {one["name"]: one for one in listed}


@cache
def record() -> Mapping[str, Any]:
    """Return {launch: what the GPU counted, and the addresses of its arguments}."""
    found: Mapping[str, Any] = json.loads(archive().read("counters.json"))["launches"]
    return found


@cache
def run_of(name: str, kind: str) -> Run:
    """Return the counts of a launch, out of its machine code (`sass`) or its PTX."""
    launch, recorded = launches()[name], record()[name]
    text = archive().read(launch["files"][kind]).decode()
    program = next(programs_of(text, launch["kernel"]))
    pairs = zip(recorded["addresses"], launch["args"], strict=True)
    args = [address if one["type"] == "ptr" else one["value"] for address, one in pairs]
    whole = [one if isinstance(one, int) else None for one in args]
    x, y, z = launch["grid"]
    a, b, c = launch["block"]
    return counted(program, Launch((x, y, z), (a, b, c), whole, launch["shared"]))


def compared(name: str, kind: str) -> Iterator[tuple[Difference, bool]]:
    """Yield every counter of a launch, and if it is equal."""
    run, counters = run_of(name, kind), record()[name]["counters"]
    sums = totals(run.tallies, run.weight)
    for counter, metrics in COUNTERS.items():
        space, access, what = counter
        wanted = sum(counters.get(metric, 0) for metric in metrics)
        if what == "instructions":
            wanted += without_space(counters, access)
        predicted = sums[space][access][what]
        yield Difference(name, counter, predicted, wanted), predicted == wanted


def without_space(counters: Mapping[str, Any], access: str) -> int:
    """Return the instructions without a space that reached shared memory.

    The profiler counts an instruction by its kind, and once more by the spaces of its addresses.
    """
    short = {"load": "ld", "store": "st"}[access]
    if not counters.get(f"{ISSUED}_generic_{short}.sum"):
        return 0
    reached = counters[f"smsp__sass_inst_executed_op_shared_{short}.sum"]
    named: int = counters[f"{ISSUED}_shared_{short}_pred_on_any.sum"]
    return int(reached) - named


@cache
def sources() -> Mapping[str, Any]:
    """Return {launch: how often each instruction ran, and what each access cost}, as the profiler has it."""
    found: Mapping[str, Any] = json.loads(archive().read("sources.json"))["launches"]
    return found


NOT_ONE_BY_ONE = ("GMMA", "LDGSTS", "ATOM", "RED", "UBLK")
"""Accesses whose numbers on the source page are of several engines, or of no request."""


def by_instruction(name: str) -> Iterator[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    """Yield (instruction, predicted, counted) of each load and store of a launch.

    The numbers: warps that execute it, wavefronts of shared memory, lines and sectors of global memory.
    A warp whose lanes reach two spaces is one, and may be in the counts of both.
    """
    run, counted_ones = run_of(name, "sass"), sources()[name]
    place = {instruction.row: number for number, instruction in enumerate(run.program.instructions)}
    tallies: dict[int, list[Tally]] = {}
    for tally in run.tallies:
        tallies.setdefault(place[tally.instruction.row], []).append(tally)
    for access in counted_ones["accesses"]:
        number = access["offset"] // 16
        executed, mine = counted_ones["executed"][number], tallies.get(number, [])
        if any(word in access["text"] for word in NOT_ONE_BY_ONE) or not (executed or mine):
            continue
        shared = [tally for tally in mine if tally.touch.space == "shared"]
        far = [tally for tally in mine if tally.touch.space == "global"]
        warps = [tally.instructions for tally in mine]
        predicted = (
            min(max(executed, *warps), sum(warps)) if len(warps) > 1 else sum(warps),
            sum(tally.cost for tally in shared),
            sum(tally.lines for tally in far),
            sum(tally.cost for tally in far),
        )
        names = ("L1 Wavefronts Shared", "L1 Tag Requests Global", "L2 Theoretical Sectors Global")
        yield access["text"], predicted, (executed, *(access.get(name, 0) for name in names))


def main(words: list[str]) -> None:
    """Print what differs."""
    kind = "ptx" if "ptx" in words else "sass"
    names = [word for word in words if word in launches()] or list(record())
    found = [one for name in names for one in compared(name, kind)]
    for difference, equal in found:
        if not equal:
            print(difference)
    equal_ones = sum(equal for _, equal in found)
    print(f"{equal_ones} of {len(found)} counters are equal: {equal_ones / len(found):.1%}")


if __name__ == "__main__":
    main(sys.argv[1:])
