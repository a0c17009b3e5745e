"""The parts `mma.dense` and `mma.accumulators`: what is multiplied by what, and where the sum comes out.

What is asked for is the structure of the whole product, free of any name for a row or a column: for each
place of A the places of D that it reaches, and the place of B that it is multiplied by there. The
catalogue says it as well: A[m, k] reaches D[m, n] by B[n, k], for every n.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.gpu.probes.mma import Held, Probe
from tilewise.gpu.verify.confirming import confirming, having
from tilewise.gpu.verify.part import Findings, Part, Told, measured
from tilewise.gpu.verify.truth import Truth
from tilewise.hardware.limits import LANES
from tilewise.hardware.mma.fragments import a_fragment, b_fragment, d_fragment
from tilewise.hardware.mma.instructions import Instruction, Shape, instructions, kind_instructions
from tilewise.tables import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.gpu.probes.products import Products

Array = np.ndarray[Any, Any]

ARCH = "sm_90a"
NONE = -1
"""What is recorded for a place of A that does not reach as many places of D as it should."""


@cache
def asked() -> tuple[Instruction, ...]:
    """Every dense instruction that sm_90 has."""
    return instructions(arch=ARCH)


def probe_of(this: Instruction) -> Probe:
    """The instruction as a kernel has it."""
    types, every = (this.a, this.b, this.c, this.d), fragments_of(this)
    sizes = [sum(fragment.size for fragment in fragments) for fragments in every]
    a, b, c, d = (Held.of(dtype, size) for dtype, size in zip(types, sizes, strict=True))
    return Probe(str(this), a, b, c, d)


def fragments_of(this: Instruction) -> tuple[tuple[Layout, ...], ...]:
    """The catalogue's fragments of A, B, C and D, one for each product."""
    shape, products = this.shape, range(this.products)
    return (
        tuple(a_fragment(shape, this.a, this.majors[0], product) for product in products),
        tuple(b_fragment(shape, this.b, this.majors[1], product) for product in products),
        tuple(d_fragment(shape, this.c, product) for product in products),
        tuple(d_fragment(shape, this.d, product) for product in products),
    )


# -- what is measured ------------------------------------------------------------------------------


def measure_dense(told: Told) -> Truth:
    """Ask for the pairs of every place of A."""
    every = asked()
    found = measured(every, _products, lambda products, this: products.pairs(probe_of(this))[0], told)
    return truth_of(every, found)


def measure_accumulators(told: Told) -> Truth:
    """Ask where each place of C comes out."""
    every = asked()
    found = measured(every, _products, lambda products, this: products.passed(probe_of(this)), told)
    return accumulators_truth(every, found)


def _products(told: Told) -> Products:
    from tilewise.gpu.probes.products import Products

    return Products.of(map(probe_of, asked()), told=told)


def truth_of(every: Iterable[Instruction], found: Iterable[Array]) -> Truth:
    """The record of every instruction: for each place of A, in order, its N pairs by the place of D."""
    rows, reached, multiplied = [], [], []
    for this, pairs in zip(every, found, strict=True):
        d, b = listed(pairs, this.shape.n)
        rows.append(row_of(this) | {"length": d.size})
        reached.append(d.ravel())
        multiplied.append(b.ravel())
    return Truth("mma.dense", rows, {"d": np.concatenate(reached), "b": np.concatenate(multiplied)})


def listed(pairs: Array, n: int) -> tuple[Array, Array]:
    """[place of A, N]: the places of D that are reached, and those of B, out of [place of A, place of D]."""
    reached = pairs != NONE
    clean = (reached.sum(axis=1) == n) & (pairs >= NONE).all(axis=1)
    d = np.full((len(pairs), n), NONE, np.int64)
    b = d.copy()
    d[clean] = np.nonzero(reached[clean])[1].reshape(-1, n)
    b[clean] = pairs[clean][reached[clean]].reshape(-1, n)
    return d, b


def accumulators_truth(every: Iterable[Instruction], found: Iterable[Array]) -> Truth:
    """The record: for each place of D in order, the place of C."""
    rows, came = [], []
    for this, c in zip(every, found, strict=True):
        rows.append(row_of(this) | {"length": c.size})
        came.append(c)
    return Truth("mma.accumulators", rows, {"c": np.concatenate(came)})


def row_of(this: Instruction) -> dict[str, Any]:
    """An instruction as it is recorded."""
    types = [this.a, this.b, this.c, this.d]
    return {"shape": str(this.shape), "types": types, "op": this.op, "majors": list(this.majors)}


def instruction_of(case: Mapping[str, Any]) -> Instruction:
    """The instruction of a recorded case."""
    a, b, c, d = case["types"]
    return Instruction(Shape.of(case["shape"]), a, b, d, case["op"], c, tuple(case["majors"]))


# -- what is compared ------------------------------------------------------------------------------


def compare_dense(truth: Truth) -> Findings:
    """Hold every pair against the catalogue's fragments."""
    found = Findings()
    both = zip(truth.parted("d"), truth.parted("b"), strict=True)
    for case, seen in zip(truth.cases, both, strict=True):
        this = instruction_of(case)
        want = expected(this)
        if not all(map(np.array_equal, want, seen)):
            differs(found, str(this), this.shape.n, want, seen)
        found.count(len(seen[0]), types=f"{this.a} x {this.b} -> {this.d}", shape=this.shape)
    return found


def compare_accumulators(truth: Truth) -> Findings:
    """C[m, n] comes out in D[m, n]."""
    found = Findings()
    for case, came in zip(truth.cases, truth.parted("c"), strict=True):
        this = instruction_of(case)
        compare_passed(found, str(this), came, *map(places, fragments_of(this)[2:]))
        found.count(len(came), accumulators=f"{this.c} -> {this.d}", shape=this.shape)
    return found


def compare_passed(found: Findings, name: str, came: Array, c: Array, d: Array) -> None:
    """Hold the place of C that each place of D has the number of against those of their elements."""
    want = np.empty(d.size, np.int64)
    want[d.ravel()] = c.ravel()
    wrong = np.flatnonzero(want != came)
    if wrong.size:
        at = int(wrong[0])
        found.differs(
            name,
            f"place {at} of D has what place {came[at]} of C had, not {want[at]};"
            f" {wrong.size} of {len(came)} differ",
            place=at,
            found=int(came[at]),
            expected=int(want[at]),
        )


def places(fragments: Sequence[Layout]) -> Array:
    """[product, rows, columns]: the place of every element."""
    each = sum(fragment.size for fragment in fragments) // LANES
    return np.stack([_places(fragment, each) for fragment in fragments])


def _places(fragment: Layout, each: int) -> Array:
    columns = table(fragment).columns
    place: Array = columns["laneid"] * each + columns["reg"]
    return place.reshape(extents_of(fragment.shape))


def expected(this: Instruction) -> tuple[Array, Array]:
    """The pairs of every place of A in order: A[m, k] reaches D[m, n] by B[n, k]."""
    a, b, _, d = map(places, fragments_of(this))
    return meeting(a, d[:, :, None, :], b.transpose(0, 2, 1)[:, None])


def meeting(a: Array, d: Array, b: Array) -> tuple[Array, Array]:
    """For every place of A in order, the places of D that it reaches, in order, and those of B there.

    requires       d and b have one more dimension than a, of N places, and broadcast to it
    postcondition  both flat, N for each place of A
    """
    by_place = np.argsort(a.ravel())
    shape = (*a.shape, d.shape[-1])
    reached, met = (np.broadcast_to(one, shape).reshape(a.size, -1)[by_place] for one in (d, b))
    order = np.argsort(reached, axis=1)
    return np.take_along_axis(reached, order, axis=1).ravel(), np.take_along_axis(met, order, axis=1).ravel()


def differs(found: Findings, name: str, n: int, want: Sequence[Array], seen: Sequence[Array]) -> None:
    """Say where the pairs of an instruction first differ."""
    wrong = np.flatnonzero((want[0] != seen[0]) | (want[1] != seen[1]))
    at = int(wrong[0])
    told = f"place {seen[0][at]} of D by place {seen[1][at]} of B"
    found.differs(
        name,
        f"place {at // n} of A reaches {'no places that can be told' if seen[0][at] == NONE else told},"
        f" not {want[0][at]} by {want[1][at]}; {wrong.size} of {len(want[0])} pairs differ",
        place=at // n,
        found=[int(one[at]) for one in seen],
        expected=[int(one[at]) for one in want],
    )


def _confirmed(*entries: str) -> tuple[str, ...]:
    """The instances of those entries that are asked about: of A, B, C or D, or whole types."""
    letters = {letter: {(str(i.shape), getattr(i, letter.lower())) for i in asked()} for letter in "ABCD"}
    return tuple(word for entry in entries for word in having(entry, letters[entry.removeprefix("mma.")]))


def _whole_types() -> tuple[str, ...]:
    """Types all of whose instructions sm_90 has."""
    every = {name for this in asked() for name in (this.a, this.b)}
    later = {name for this in kind_instructions() for name in (this.a, this.b)}
    return confirming("mma.shapes", lambda of: of["dtype"] in every - later)


PARTS = (
    Part(
        "mma.dense",
        "mma: the elements of D that each element of A reaches, and those of B that it meets",
        (*_confirmed("mma.A", "mma.B", "mma.D"), *_whole_types()),
        lambda: len(asked()),
        measure_dense,
        compare_dense,
    ),
    Part(
        "mma.accumulators",
        "mma: where each element of the accumulator C comes out in D",
        _confirmed("mma.C"),
        lambda: len(asked()),
        measure_accumulators,
        compare_accumulators,
    ),
)
"""The dense instructions."""
