"""The parts `mma.*`: what mma.sync and mma.sp multiply by what, and where the sum comes out.

What is asked for is the structure of the whole product, free of any name for a row or a column: for each
place of A the places of D that it reaches, and the place of B that it is multiplied by there. The
catalogue says it as well: A[m, k] reaches D[m, n] by B[n, k], for every n.

The metadata of a sparse case are words of all 32 lanes, those that no one says are read as well. In ten
cases of each instruction with each selector every four bits of them are one of two things: all the first,
all the second, and then by each bit of their own number; so that what those ten pick tells, without a
catalogue, which four bits of which lane each stored element listens to. The others are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from operator import attrgetter
from typing import Any

import numpy as np

from tilewise.core.layout import Layout
from tilewise.gpu.launch import Array
from tilewise.gpu.probes.kernels import Progress, places, planes
from tilewise.gpu.probes.mma import NOTHING, MmaProbe, Products, WarpOperand
from tilewise.gpu.verify.part import Answered, Findings, Part, confirming, measured
from tilewise.hardware.limits import LANES
from tilewise.hardware.mma.fragments import a_fragment, b_fragment, d_fragment
from tilewise.hardware.mma.instructions import (
    Instruction,
    Shape,
    instructions,
    kind_instructions,
    sparse_instructions,
)
from tilewise.hardware.mma.kinds import INDEX
from tilewise.hardware.mma.sparse import Sparse
from tilewise.tables import table

ARCH = "sm_90a"

SEED = 20_263
DRAWN = 4
"""Cases of an instruction and a selector whose metadata are drawn."""

FIRST, SECOND = 0x4, 0xE
"""Four bits of metadata that mean something for every type: the lower, and the upper half of a chunk."""

PIECES = 8
"""Four bits each of a register."""


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
    def row(self) -> dict[str, Any]:
        """The case as it is recorded."""
        this, shape = self.instruction, str(self.instruction.shape)
        if not this.sparse:
            types = [this.a, this.b, this.c, this.d]
            return {"shape": shape, "types": types, "op": this.op, "majors": list(this.majors)}
        words = {"metadata": list(self.metadata)} if self.metadata else {}
        types = [this.a, this.b, this.d]
        return {"shape": shape, "types": types, "ordered": this.ordered, "selector": self.selector, **words}

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


# -- the cases -------------------------------------------------------------------------------------


@cache
def dense() -> tuple[MmaCase, ...]:
    """Return every dense instruction that sm_90 has."""
    return tuple(map(MmaCase, instructions(arch=ARCH)))


@cache
def sparse() -> tuple[MmaCase, ...]:
    """Return every sparse one, with and without ordered metadata, and each selector."""
    ours = [this for this in sparse_instructions() if this.needs.met(ARCH)]
    return tuple(
        MmaCase(replace(this, ordered=ordered), selector)
        for ordered in (True, False)
        for this in ours
        for selector in Sparse.of(this.shape, this.a).selectors
    )


def with_metadata(cases: Iterable[MmaCase]) -> list[MmaCase]:
    """Return sparse cases, each with each of its metadata."""
    return [replace(case, metadata=tuple(words)) for case in cases for words in metadata_of(case).tolist()]


def metadata_of(case: MmaCase) -> Array:
    """Return [case, lane]: the words of all lanes, every four bits of them a pair of indices.

    They are legal; but where metadata need not be ordered, they are any two, even equal ones, of which the
    manual says nothing. The two of tf32 are halves of one element in either case.
    """
    this, half = case.instruction, case.half
    ordered = this.sparse and this.ordered
    legal = [first | second << INDEX.bits for first, second in half.patterns]
    dice = np.random.default_rng([SEED, this.shape.k, case.selector or 0])
    choices = legal if ordered or this.a == "tf32" else range(16)
    pieces = [dice.choice(choices, (LANES, PIECES)) for _ in range(DRAWN)]
    if ordered:
        *bits, whole = planes(LANES * PIECES).reshape(-1, LANES, PIECES)
        pieces = [*(np.where(second, SECOND, FIRST) for second in (~whole, whole, *bits)), *pieces]
    shifts = 4 * np.arange(PIECES, dtype=np.uint64)
    words: Array = (np.stack(pieces).astype(np.uint64) << shifts).sum(axis=-1).astype(np.uint32)
    return words


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


def judge_pairs(findings: Findings, row: Mapping[str, Any], d: Array, b: Array) -> None:
    """Hold every pair against the catalogue."""
    case = MmaCase.of(row)
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


def judge_passed(findings: Findings, row: Mapping[str, Any], came: Array) -> None:
    """C[m, n] comes out in D[m, n]."""
    case = MmaCase.of(row)
    c, d = case.places("C"), case.places("D")
    want = np.empty(d.size, np.int64)
    want[d.ravel()] = c.ravel()
    findings.hold(case, want, came, lambda place: {"place": place}, "place of C")
    this = case.instruction
    accumulators = this.d if this.sparse else f"{this.c} -> {this.d}"
    findings.count(len(came), accumulators=accumulators, shape=this.shape)


def _confirmed(cases: Sequence[MmaCase], entries: Mapping[str, str]) -> Iterator[str]:
    """Yield the instances of entries of fragments that the cases have, by the operands that they hold."""
    for entry, operands in entries.items():
        known = {
            (str(case.instruction.shape), case.types["ABCD".index(operand)])
            for case in cases
            for operand in operands
        }
        yield from _having(entry, known)


def _having(entry: str, known: set[tuple[str, str]]) -> tuple[str, ...]:
    return confirming(entry, lambda values: (values["shape"], values["dtype"]) in known)


def _whole_types(cases: Sequence[MmaCase], entry: str) -> tuple[str, ...]:
    """Return the types all of whose instructions sm_90 has."""
    later = {name for this in kind_instructions(sparse=".sp." in entry) for name in (this.a, this.b)}
    types = {name for case in cases for name in case.types[:2]} - later
    return confirming(entry, lambda values: values["dtype"] in types)


def parts_of(
    name: str,
    words: str,
    every: Callable[[], Sequence[MmaCase]],
    with_pairs: Callable[[], Sequence[MmaCase]],
    held: Mapping[str, str],
    passed: Mapping[str, str],
    shapes: str,
) -> Iterator[Part]:
    def ready(told: Progress) -> Products:
        return Products.of((case.probe for case in every()), told=told)

    def together(case: MmaCase) -> MmaCase:
        return replace(case, metadata=())

    ask = partial(measured, ready=ready, together=together)
    row: Callable[[MmaCase], Mapping[str, Any]] = attrgetter("row")
    confirms = (*_confirmed(every(), held), *_whole_types(every(), shapes))
    prefix = "mma" if name == "dense" else "mma.sparse"
    yield Part(
        f"mma.{name}", words, confirms, ("d", "b"), with_pairs, row, partial(ask, ask=_ask_pairs), judge_pairs
    )
    yield Part(
        f"{prefix}.accumulators",
        f"{words.partition(':')[0]}: where each element of the accumulator C comes out in D",
        tuple(_confirmed(every(), passed)),
        ("c",),
        every,
        row,
        partial(ask, ask=_ask_passed),
        judge_passed,
    )


PARTS = (
    *parts_of(
        "dense",
        "mma: the elements of D that each element of A reaches, and those of B that it meets",
        dense,
        dense,
        {"mma.A": "A", "mma.B": "B", "mma.D": "D"},
        {"mma.C": "C"},
        "mma.shapes",
    ),
    *parts_of(
        "sparse",
        "mma.sp: the elements of D and B that each stored element of A meets, by any metadata",
        sparse,
        lambda: with_metadata(sparse()),
        {"mma.sp.A": "AB", "mma.sp.B": "AB", "mma.E": "AB", "mma.sp.D": "D"},
        {"mma.sp.D": "D"},
        "mma.sp.shapes",
    ),
)
"""The dense instructions, then the sparse ones."""
