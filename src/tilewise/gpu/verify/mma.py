"""The parts `mma.*`: what mma.sync and mma.sp multiply by what, and where the sum comes out.

What is asked for is the structure of the whole product, free of any name for a row or a column: for each
place of A the places of D that it reaches, and the place of B that it is multiplied by there. The
catalogue says it as well: A[m, k] reaches D[m, n] by B[n, k], for every n.

The metadata of a sparse case are words of all 32 lanes, those that no one says are read as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tilewise.core.layout import Layout
from tilewise.gpu.launch import Array
from tilewise.gpu.probes.kernels import Progress, places
from tilewise.gpu.probes.mma import NOTHING, MmaProbe, Products, WarpOperand
from tilewise.gpu.verify.part import Answered, Findings, Part, measured
from tilewise.hardware.limits import LANES
from tilewise.hardware.mma.fragments import a_fragment, b_fragment, d_fragment
from tilewise.hardware.mma.instructions import (
    Instruction,
    Shape,
)
from tilewise.hardware.mma.kinds import INDEX
from tilewise.hardware.mma.sparse import Sparse
from tilewise.tables import table


@dataclass(frozen=True, slots=True)
class MmaCase:
    """An instruction, and the selector and the words of metadata of a sparse one."""

    instruction: Instruction
    selector: int | None = None
    metadata: tuple[int, ...] = ()
    """A word of each lane; none where nothing is multiplied."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> MmaCase:
        """Return the case of a recorded row."""
        shape = Shape.of(row["shape"])
        if "selector" in row:
            a, b, d = row["types"]
            stored = Instruction(shape, a, b, d, sparse=True, ordered=row["ordered"])
            return cls(stored, row["selector"], tuple(row.get("metadata", ())))
        a, b, c, d = row["types"]
        return cls(Instruction(shape, a, b, d, row["op"], c, tuple(row["majors"])))

    @property
    def types(self) -> tuple[str, str, str, str]:
        """The types of A, B, C and D."""
        this = self.instruction
        return this.a, this.b, this.c, this.d

    @property
    def half(self) -> Sparse:
        """The form in which a sparse instruction stores A."""
        return Sparse.of(self.instruction.shape, self.instruction.a)

    @property
    def fragments(self) -> tuple[tuple[Layout, ...], ...]:
        """The catalogue's fragments of A, B, C and D, one for each product."""
        this = self.instruction
        if this.sparse:
            half = self.half
            return (half.a_fragment,), (half.b_fragment,), (half.d_fragment,), (half.d_fragment,)
        parts = (
            partial(a_fragment, this.shape, this.a, this.majors[0]),
            partial(b_fragment, this.shape, this.b, this.majors[1]),
            partial(d_fragment, this.shape, this.c),
            partial(d_fragment, this.shape, this.d),
        )
        return tuple(tuple(map(part, range(this.products))) for part in parts)

    @property
    def probe(self) -> MmaProbe:
        """The instruction as a kernel has it."""
        sizes = [sum(fragment.size for fragment in every) for every in self.fragments]
        a, b, c, d = map(WarpOperand.of, self.types, sizes)
        return MmaProbe(str(self.instruction), a, b, c, d, self.selector)

    def places(self, operand: str) -> Array:
        """Return [product, rows, columns]: the place of every element of an operand."""
        fragments = self.fragments["ABCD".index(operand)]
        each = sum(fragment.size for fragment in fragments) // LANES
        return np.stack([places(fragment, each) for fragment in fragments])

    @property
    def columns(self) -> Array:
        """[M, K/2]: the column that each stored element of A has by the metadata."""
        half, words = self.half, np.array(self.metadata, np.int64)
        where = table(half.metadata(self.selector or 0)).columns
        lane, place = (where[axis].reshape(half.shape.m, half.indices) for axis in ("laneid", "reg"))
        indices = words[lane] >> INDEX.bits * place & (1 << INDEX.bits) - 1
        return np.array([[half.column(s, row) for s in range(half.stored)] for row in indices.tolist()])

    @property
    def pairs(self) -> tuple[Array, Array]:
        """The pairs of every place of A in order: A[m, k] reaches D[m, n] by B[n, k]."""
        b = self.places("B").swapaxes(1, 2)[:, None]
        if self.metadata:
            b = b[0, 0][self.columns][None]
        return meeting(self.places("A"), self.places("D")[:, :, None], b)

    def __str__(self) -> str:
        return str(self.instruction) + ("" if self.selector is None else f", selector {self.selector}")


def meeting(a: Array, d: Array, b: Array) -> tuple[Array, Array]:
    """Return for every place of A in order the places of D that it reaches, in order, and those of B there.

    requires       d and b have one more dimension than a, of N places, and broadcast to it
    postcondition  both flat, N for each place of A
    """
    by_place = np.argsort(a.ravel())
    shape = (*a.shape, d.shape[-1])
    reached, met = (np.broadcast_to(one, shape).reshape(a.size, -1)[by_place] for one in (d, b))
    order = np.argsort(reached, axis=1)
    return np.take_along_axis(reached, order, axis=1).ravel(), np.take_along_axis(met, order, axis=1).ravel()


# -- what is asked ---------------------------------------------------------------------------------


def _ask_pairs(products: Products, some: list[MmaCase]) -> Iterator[Answered]:
    this, words = some[0], np.array([case.metadata or (0,) * LANES for case in some], np.uint32)
    return (listed(pairs, this.instruction.shape.n) for pairs in products.pairs(this.probe, words))


def _ask_passed(products: Products, some: list[MmaCase]) -> Iterator[Answered]:
    return ({"c": products.passed(case.probe)} for case in some)


def listed(pairs: Array, n: int) -> Answered:
    """Return what is recorded of [place of A, place of D]: [place of A, N], the places of D, and those of B.

    NOTHING stands for a place of A that does not reach N places of D.
    """
    reached = pairs != NOTHING
    clean = (reached.sum(axis=1) == n) & (pairs >= NOTHING).all(axis=1)
    d, b = np.full((2, len(pairs), n), NOTHING, np.int64)
    d[clean] = np.nonzero(reached[clean])[1].reshape(-1, n)
    b[clean] = pairs[clean][reached[clean]].reshape(-1, n)
    return {"d": d, "b": b}


# -- how it is judged ------------------------------------------------------------------------------


def judge_pairs(findings: Findings, case: MmaCase, row: Mapping[str, Any], d: Array, b: Array) -> None:
    """Hold every pair against the catalogue."""
    this, n = case.instruction, case.instruction.shape.n
    want, seen = np.stack(case.pairs, axis=1), np.stack([d, b], axis=1)

    def pair(places: Array) -> list[int] | None:
        return None if places[0] == NOTHING else [int(place) for place in places]

    findings.hold(case, want, seen, lambda number: {"place": number // n}, "places of D and B", pair)
    aspects: dict[str, object] = {"types": f"{this.a} x {this.b} -> {this.d}", "shape": this.shape}
    if this.sparse:
        metadata = "ordered" if this.ordered else "not said to be ordered"
        aspects |= {"selector": case.selector, "metadata": metadata}
    findings.count(d.size, **aspects)


def judge_passed(findings: Findings, case: MmaCase, row: Mapping[str, Any], came: Array) -> None:
    """C[m, n] comes out in D[m, n]."""
    c, d = case.places("C"), case.places("D")
    want = np.empty(d.size, np.int64)
    want[d.ravel()] = c.ravel()
    findings.hold(case, want, came, lambda place: {"place": place}, "place of C")
    this = case.instruction
    accumulators = this.d if this.sparse else f"{this.c} -> {this.d}"
    findings.count(len(came), accumulators=accumulators, shape=this.shape)


def _ready(cases: Sequence[MmaCase], told: Progress) -> Products:
    return Products.of((case.probe for case in cases), told=told)


def _without_metadata(case: MmaCase) -> MmaCase:
    return replace(case, metadata=())


def _parts(pairs: str, passed: str, title: str, words: str) -> Iterator[Part]:
    ask = partial(measured, ready=_ready, together=_without_metadata)
    yield Part(pairs, f"{title}: {words}", ("d", "b"), MmaCase.of, partial(ask, ask=_ask_pairs), judge_pairs)
    where = f"{title}: where each element of the accumulator C comes out in D"
    yield Part(passed, where, ("c",), MmaCase.of, partial(ask, ask=_ask_passed), judge_passed)


PARTS = (
    *_parts(
        "mma.dense",
        "mma.accumulators",
        "mma",
        "the elements of D that each element of A reaches, and those of B that it meets",
    ),
    *_parts(
        "mma.sparse",
        "mma.sparse.accumulators",
        "mma.sp",
        "the elements of D and B that each stored element of A meets, by any metadata",
    ),
)
"""The dense instructions, then the sparse ones."""
