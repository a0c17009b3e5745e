"""The parts `fragments.*`: which element each register of each thread holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tilewise.core.layout import Layout
from tilewise.gpu.probes.fragments import instructions
from tilewise.gpu.probes.instruction import THREADS, Instruction
from tilewise.gpu.verify.part import Findings, Part, Told, measured
from tilewise.gpu.verify.truth import Truth
from tilewise.hardware.wgmma.fragments import a_fragment, d_fragment
from tilewise.hardware.wgmma.instructions import M
from tilewise.tables import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.gpu.probes.bench import Bench

Array = np.ndarray[Any, Any]

NOTHING = -1
"""What is recorded for a register that holds no single element."""

ROW_BITS, D_BITS = 6, 14
"""What `Bench.d` spells: the row, then the column, then a bit that is always there."""


def measure_d(told: Told) -> Truth:
    """Ask which element of D each register of each thread holds."""
    every = instructions()
    owned = measured(every, _bench, lambda bench, this: owned_d(bench.d(this), this), told)
    return truth_of("fragments.d", "D", every, owned)


def measure_a(told: Told) -> Truth:
    """Ask which element of A each register of each thread holds."""
    every = instructions()
    owned = measured(every, _bench, lambda bench, this: owned_a(bench.a_registers(this), this), told)
    return truth_of("fragments.a", "A", every, owned)


def _bench(told: Told) -> Bench:
    from tilewise.gpu.probes.bench import Bench

    return Bench.of(instructions(), told=told)


def owned_d(words: Array, this: Instruction) -> Array:
    """Flat index of the element that each [thread, element] holds, out of what the device spelled."""
    clean = words >> D_BITS == 1
    row, column = words & (1 << ROW_BITS) - 1, words >> ROW_BITS & 255
    return np.where(clean & (column < this.n), row.astype(np.int64) * this.n + column, NOTHING)


def owned_a(words: Array, this: Instruction) -> Array:
    """The same for A: the device spelled, for every element, the place that holds it."""
    size = M * this.k
    owned = np.full(size, NOTHING, np.int64)
    places = words.astype(np.int64).ravel() - (1 << (size - 1).bit_length())
    inside = (places >= 0) & (places < size)
    owned[places[inside]] = np.flatnonzero(inside)
    return owned.reshape(THREADS, -1)


def truth_of(part: str, operand: str, every: Iterable[Instruction], owned: Iterable[Array]) -> Truth:
    """The record of all instructions."""
    rows, numbers = [], []
    for this, found in zip(every, owned, strict=True):
        types = {"a": this.a, "b": this.b, "d": this.d, "n": this.n}
        rows.append({"operand": operand, **types, "length": found.size})
        numbers.append(found.ravel())
    return Truth(part, rows, {"owned": np.concatenate(numbers)})


def compare(truth: Truth) -> Findings:
    """Hold the owner of every element against the catalogue's fragment."""
    found = Findings()
    for case, owned in zip(truth.cases, truth.parted("owned"), strict=True):
        want = expected(fragment_of(case))
        if not np.array_equal(want, owned):
            _differs(found, case, want, owned)
        found.count(len(owned), types=f"{case['a']} x {case['b']} -> {case['d']}", n=case["n"])
    return found


def fragment_of(case: Mapping[str, Any]) -> Layout:
    """The catalogue's layout for a case."""
    return a_fragment(case["a"]) if case["operand"] == "A" else d_fragment(case["d"], case["n"])


def expected(fragment: Layout) -> Array:
    """For each element of each thread in turn: the flat index of what it holds."""
    columns = {axis: column.ravel() for axis, column in table(fragment).columns.items()}
    thread = 32 * columns["wid_in_wg"] + columns["laneid"]
    owned = np.full(fragment.size, NOTHING, np.int64)
    owned[thread * (fragment.size // THREADS) + columns["reg"]] = np.arange(fragment.size)
    return owned


def _differs(found: Findings, case: Mapping[str, Any], want: Array, owned: Array) -> None:
    at = int(np.flatnonzero(want != owned)[0])
    thread, element = divmod(at, len(want) // THREADS)
    wanted, seen = (list(divmod(int(index), len(want) // M)) for index in (want[at], owned[at]))
    held = "no single element" if owned[at] == NOTHING else tuple(seen)
    found.differs(
        f"{case['operand']} of m64n{case['n']}, {case['a']} x {case['b']} -> {case['d']}",
        f"element {element} of thread {thread} is {held}, not {tuple(wanted)};"
        f" {int((want != owned).sum())} of {len(want)} differ",
        thread=thread,
        element=element,
        found=None if owned[at] == NOTHING else seen,
        expected=wanted,
    )


PARTS = (
    Part(
        "fragments.d",
        "wgmma: the element of D in each register of each thread, every type at every N",
        ("wgmma.D", "wgmma.shapes"),
        lambda: len(instructions()),
        measure_d,
        compare,
    ),
    Part(
        "fragments.a",
        "wgmma: the element of A in each register of each thread, every type at every N",
        ("wgmma.A",),
        lambda: len(instructions()),
        measure_a,
        compare,
    ),
)
"""D, then A."""
