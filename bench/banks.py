"""The time of counting bank conflicts, and the counts: beside tensor-layouts and Triton.

tensor-layouts counts lane by lane from a layout of lanes and elements; its caller says how many lanes go
together. Triton has one number for all instructions of a load or a store, from GF(2) as here. It counts in a
process of its own, inside a kernel that it compiles, and the clock runs there around the count alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import commands
from clock import Work, side_by_side
from page import Answers, Row, Section
from tilewise import S, Swizzle
from tilewise.check.access import access_of, lanes_of
from tilewise.check.banks import conflicts, counted

ASK_TRITON = Path(__file__).parents[1] / "tests" / "oracle" / "triton_banks.py"
TRITON = "Triton `bank_conflicts`"
PEER = "tensor-layouts `per_group_bank_conflicts`"

SWIZZLE = Swizzle(3, 3, 3)
PLAIN = S[(128, (2, 64)) : (64, (8192, 1))]
"""A tile of 128 x 128 bf16 as TMA writes two boxes of 64 columns."""

REPETITIONS = 9
Said = dict[str, Any]
"""{"excess": of a phase, "seconds": taken by the count}."""

BYTES = 2
ACCESSES = {
    "TMA write": "tma",
    "`ldmatrix.x4`": "ldmatrix.x4",
    "`ldmatrix.x4.trans`": "ldmatrix.x4.trans",
    "16-byte store": "row:16B@st",
    "`stmatrix.x4`": "stmatrix.x4",
}
TOGETHER = 8
"""Lanes of a phase in all five: 16 bytes each."""

FIRST = """
import numpy
from time import perf_counter
from tilewise import parse
from tilewise.check.banks import conflicts
tile = parse({tile!r})
start = perf_counter()
for access in {accesses}:
    conflicts(tile, access, dtype="bf16").excess
print(perf_counter() - start)
"""
"""The five accesses in a new process, which imports the algebra on the way."""


def sections(peers: Mapping[str, ModuleType]) -> list[Section | Answers]:
    """Return what it costs, what was counted on the way, and where the neighbours' counts are wrong."""
    analysis = import_module("tensor_layouts.analysis") if "tensor_layouts" in peers else None
    accesses = {what: linear(access) for what, access in ACCESSES.items()}
    triton = None
    if find_spec("triton"):
        asked = [as_bits(access) for access in accesses.values()]
        triton = [ask_triton(asked) for _ in range(REPETITIONS)]
    return [
        _times(analysis, accesses, triton),
        _counts(analysis, accesses, triton),
        _wrong(analysis, triton is not None),
        _commands(),
    ]


# -- a tile under five accesses ------------------------------------------------------------------------


def _times(
    analysis: ModuleType | None, accesses: Mapping[str, Linear], triton: list[list[Said]] | None
) -> Section:
    works: dict[str, Work] = {what: _count(access) for what, access in ACCESSES.items()}
    works["all five"] = _count(*ACCESSES.values())
    beside: dict[str, Work] = {}
    if analysis is not None:
        layouts = {what: as_layout(access) for what, access in accesses.items()}
        beside = {what: _grouped(analysis, layout) for what, layout in layouts.items()}
        beside["all five"] = lambda: [_grouped(analysis, layout)() for layout in layouts.values()]
    seconds = side_by_side(works, REPETITIONS)
    theirs = side_by_side(beside, 3)
    rows = [
        Row("all five", seconds["all five"], "a bound", 5e-3, 1.0),
        Row("all five, the first time in a process", _first_time()),
        *(Row(what, seconds[what], PEER, theirs[what]) for what in theirs),
    ]
    if triton is not None:
        single = [median(said[i]["seconds"] for said in triton) for i in range(len(ACCESSES))]
        taken = dict(zip(works, [*single, sum(single)], strict=True))
        rows += [Row(what, seconds[what], TRITON, taken[what]) for what in works]
    note = (
        f"`{SWIZZLE @ PLAIN}` in bf16, 256 wavefronts an access. Accesses are given by name, and the "
        "neighbours are given layouts that are ready. tensor-layouts takes 8 lanes to go together. "
        "Triton counts neither matrices nor TMA; its case is a load of 16 bytes whose lanes have the "
        "same addresses."
    )
    return Section("Bank conflicts of a tile under five accesses", note, rows)


def _count(*accesses: str) -> Work:
    def work() -> None:
        tile = SWIZZLE @ PLAIN
        _ = [conflicts(tile, access, dtype="bf16").excess for access in accesses]

    return work


def _grouped(analysis: ModuleType, layout: Any) -> Work:
    return lambda: analysis.per_group_bank_conflicts(layout, element_bytes=BYTES, group_size=TOGETHER)


def _first_time() -> float:
    """Return the median of new processes."""
    command = [sys.executable, "-c", FIRST.format(tile=str(SWIZZLE @ PLAIN), accesses=[*ACCESSES.values()])]
    return median(
        float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for _ in range(REPETITIONS)
    )


def _counts(
    analysis: ModuleType | None, accesses: Mapping[str, Linear], triton: list[list[Said]] | None
) -> Answers:
    heads = ["access", "wavefronts (ideal)", "ways of the worst phase"]
    heads += ["tensor-layouts, ways of a warp", "told of the phases"] if analysis is not None else []
    heads += ["Triton, excess of a phase"] if triton is not None else []
    lines = []
    for i, (what, access) in enumerate(ACCESSES.items()):
        own = conflicts(SWIZZLE @ PLAIN, access, dtype="bf16")
        line = [what, f"{own.wavefronts} ({own.ideal})", str(own.ways)]
        if analysis is not None:
            layout, count = as_layout(accesses[what]), analysis.per_group_bank_conflicts
            said = [count(layout, element_bytes=BYTES, group_size=group) for group in (32, TOGETHER)]
            line += [str(each["worst_max_ways"]) for each in said]
        if triton is not None:
            line.append(str(triton[0][i]["excess"]))
        lines.append(tuple(line))
    note = "The counts of the cases above: 1 way and an excess of 0 both mean that there is no conflict."
    return Answers("The same in numbers", note, tuple(heads), lines)


def _commands() -> Section:
    tile, rows = str(SWIZZLE @ PLAIN), "S[(64, 96) : (100, 1)]"
    words = {
        "`tilewise banks`": ["banks", tile, "--dtype", "bf16", "--access", "ldmatrix.x4"],
        "`tilewise banks`, by addresses": "banks --op ld --bytes 4 --addresses 0,128,256".split(),
        "`tilewise coalesce`": ["coalesce", rows, "--dtype", "f16", "--access", "row"],
        "`tilewise vector`": ["vector", rows, "--dtype", "f16"],
        "`tilewise swizzle`": "swizzle 32x32 --dtype f32 --access row:4B@st --access col:4B".split(),
    }
    return commands.section("Commands of what accesses cost", words)


# -- an access as the neighbours are told of it --------------------------------------------------------


@dataclass(frozen=True)
class Linear:
    """Lane bit i and request bit i move an address by so many elements; neighbours follow in a lane.

    requires  no two of them share a bit, so that sums are XORs; then the swizzle is applied
    """

    bits: int
    elements: int
    lanes: tuple[int, ...]
    requests: tuple[int, ...] = ()
    swizzle: Swizzle = Swizzle(0, 0, 0)

    @property
    def bytes(self) -> int:
        """Bytes of one lane."""
        return self.bits // 8 * self.elements

    @cached_property
    def addresses(self) -> list[int]:
        """Return the addresses of every lane of every request, in bytes."""
        at = [0]
        for step in (*self.lanes, *self.requests):
            at += [x + step for x in at]
        return [self.bits // 8 * self.swizzle(x) for x in at]


def linear(access: str) -> Linear:
    """Return an access of the tile, bit by bit, read off its addresses before they are swizzled."""
    asked = access_of(access, PLAIN, "bf16")
    plain = lanes_of(asked, PLAIN).table // BYTES
    request_bits, lane_bits = ((extent - 1).bit_length() for extent in plain.shape)
    found = Linear(
        16,
        asked.elements,
        tuple(int(plain[0, 1 << bit]) for bit in range(lane_bits)),
        tuple(int(plain[1 << bit, 0]) for bit in range(request_bits)),
        SWIZZLE,
    )
    swizzled = lanes_of(access_of(access, SWIZZLE @ PLAIN, "bf16"), SWIZZLE @ PLAIN).table
    assert found.addresses == swizzled.reshape(-1).tolist(), access
    return found


def as_layout(access: Linear, *, at_once: bool = False) -> Any:
    """Return a layout for tensor-layouts: mode 0 has the lanes of all requests, mode 1 one lane's elements.

    at_once  one lane's elements are those of all requests
    """
    theirs = import_module("tensor_layouts")
    lanes, held = (access.lanes, access.requests) if at_once else ((*access.lanes, *access.requests), ())
    extents, strides = zip(*modes_of(lanes), strict=True)
    plain = theirs.Layout((extents, (access.elements, *(2,) * len(held))), (strides, (1, *held)))
    swizzle = access.swizzle
    return theirs.compose(theirs.Swizzle(swizzle.bits, swizzle.base, swizzle.shift), plain)


def modes_of(steps: Sequence[int]) -> list[tuple[int, int]]:
    """Return as few (extent, stride) as bits that move by these steps need, which their library evaluates
    faster.
    """
    found: list[tuple[int, int]] = []
    for step in steps:
        extent, stride = found[-1] if found else (1, 0)
        if found and step == extent * stride:
            found[-1] = (2 * extent, stride)
        else:
            found.append((2, step))
    return found


def as_bits(access: Linear, others: Sequence[int] = ()) -> dict[str, Any]:
    """Return layouts for Triton: of registers and lanes, and of elements in memory.

    others  what the bits of a tile's index that are no part of the access move
    """
    vector = [1 << i for i in range(access.elements.bit_length() - 1)]
    steps = [*vector, *filter(None, access.lanes), *access.requests, *others]
    at = [0]
    for step in steps:
        at += [x + step for x in at]
    index = {access.swizzle(x): i for i, x in enumerate(at)}
    bits = [1 << i for i in range(len(steps))]
    free = iter(bits[len(vector) :])
    lanes = [next(free) if step else 0 for step in access.lanes]
    return {
        "bits": access.bits,
        "registers": [*bits[: len(vector)], *free],
        "lanes": lanes,
        "offsets": [index[bit] for bit in bits],
    }


def ask_triton(cases: Sequence[Mapping[str, Any]]) -> list[Said]:
    """Return what it says, and in which time; nothing where its process ends."""
    done = subprocess.run(
        [sys.executable, ASK_TRITON], input=json.dumps(cases), capture_output=True, text=True, check=False
    )
    found: list[Said] = json.loads(done.stdout) if done.returncode == 0 else []
    return found


# -- where they are wrong ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """An access that a neighbour misjudges, and the arguments for Triton's count of it."""

    what: str
    access: Linear
    asked: dict[str, Any]


def _case(what: str, access: Linear, others: Sequence[int] = ()) -> Case:
    return Case(what, access, as_bits(access, others))


def _row(elements: int) -> tuple[int, ...]:
    """Lanes one after another."""
    return tuple(elements << i for i in range(5))


CASES = (
    _case("16 bytes a lane, one after another", Linear(32, 4, _row(4))),
    _case("8 bytes a lane, one after another", Linear(32, 2, _row(2))),
    _case("16 bytes, each for a pair of lanes", Linear(32, 4, (0, 4, 8, 16, 32)), (64,)),
    _case("4 bytes a lane, two rows by two loads", Linear(32, 1, _row(1), (32,))),
    _case(
        "column of 32 x 64 f16, swizzled by 2 bytes",
        Linear(16, 1, tuple(64 << i for i in range(5)), swizzle=Swizzle(5, 0, 6)),
        tuple(1 << i for i in range(6)),
    ),
    Case(
        "column of 32 rows of 33 words",
        Linear(32, 1, tuple(33 << i for i in range(5))),
        {"bits": 32, "registers": [], "lanes": list(_row(1)), "padding": [32, 1]},
    ),
)


def _wrong(analysis: ModuleType | None, triton: bool) -> Answers:
    heads = ["access", "wavefronts (ideal)"]
    heads += ["tensor-layouts"] if analysis is not None else []
    heads += ["Triton"] if triton else []
    lines = []
    for case in CASES:
        access = case.access
        listed = [access.addresses[at : at + 32] for at in range(0, len(access.addresses), 32)]
        requests = [counted("ld", access.bytes, addresses) for addresses in listed]
        wavefronts, ideal = sum(r.wavefronts for r in requests), sum(r.ideal for r in requests)
        line = [case.what, f"{wavefronts} ({ideal})"]
        if analysis is not None:
            layout = as_layout(access, at_once=True)
            ways = analysis.bank_conflicts(layout, element_bytes=access.bits // 8)["max_ways"]
            line.append(_judged(ways, (ways > 1) == (wavefronts > ideal)))
        if triton:
            counts = [said["excess"] for said in ask_triton([case.asked])]
            judged = [_judged(excess, (excess > 0) == (wavefronts > ideal)) for excess in counts]
            line += judged or ["**none: the process ends**"]
        lines.append(tuple(line))
    note = (
        "Loads of one warp. tensor-layouts counts ways, and 1 is no conflict. Triton counts what a phase "
        "takes beyond one wavefront, and 0 is no conflict. `tests/oracle/test_banks.py` has the rule by "
        "which each counts, and holds both to it on 1000 random accesses."
    )
    return Answers("Where the neighbours' counts are wrong", note, tuple(heads), lines)


def _judged(number: int, right: bool) -> str:
    return str(number) if right else f"**{number}, wrong**"
