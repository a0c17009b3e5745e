"""The parts `mma.sparse*`: which element of B each stored element of A meets, for any metadata.

The metadata of a case are words of all 32 lanes, those that no one says are read as well. In ten cases of
each instruction with each selector every four bits of them are one of two things: all the first, all
the second, and then by each bit of their own number; so that what those ten pick tells, without a catalogue,
which four bits of which lane each stored element listens to. The others are drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from tilewise.gpu.probes.mma import Held, Probe
from tilewise.gpu.verify.confirming import confirming, having
from tilewise.gpu.verify.mma import ARCH, Array, compare_passed, differs, listed, meeting, places
from tilewise.gpu.verify.part import Findings, Part, Told, measured
from tilewise.gpu.verify.truth import Truth
from tilewise.hardware.limits import LANES
from tilewise.hardware.mma.instructions import Instruction, Shape, kind_instructions, sparse_instructions
from tilewise.hardware.mma.kinds import INDEX
from tilewise.hardware.mma.sparse import Sparse
from tilewise.tables import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.gpu.probes.products import Products

SEED = 20_263
DRAWN = 4
"""Cases of an instruction and a selector whose metadata are drawn."""

FIRST, SECOND = 0x4, 0xE
"""Four bits of metadata that mean something for every type: the lower, and the upper half of a chunk."""

PIECES = 8
"""Four bits each of a register."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An instruction and the selector of its metadata."""

    instruction: Instruction
    selector: int

    @property
    def half(self) -> Sparse:
        """How it stores A."""
        return Sparse.of(self.instruction.shape, self.instruction.a)

    @property
    def probe(self) -> Probe:
        """The instruction as a kernel has it."""
        this, half = self.instruction, self.half
        d = Held.of(this.d, half.d_fragment.size)
        a, b = Held.of(this.a, half.a_fragment.size), Held.of(this.b, half.b_fragment.size)
        return Probe(str(this), a, b, d, d, self.selector)

    def __str__(self) -> str:
        return f"{self.instruction}, selector {self.selector}"


@cache
def asked() -> tuple[Choice, ...]:
    """Every sparse instruction that sm_90 has, with and without ordered metadata, and each selector."""
    ours = [this for this in sparse_instructions() if this.needs.met(ARCH)]
    return tuple(
        Choice(replace(this, ordered=ordered), selector)
        for ordered in (True, False)
        for this in ours
        for selector in Sparse.of(this.shape, this.a).selectors
    )


def metadata_of(choice: Choice) -> Array:
    """[case, lane]: the words of all lanes, every four bits of them a pair of indices.

    They are legal; but where metadata need not be ordered, they are any two, even equal ones, of which the
    manual says nothing. The two of tf32 are halves of one element in either case.
    """
    this = choice.instruction
    legal = [first | second << INDEX.bits for first, second in choice.half.patterns]
    dice = np.random.default_rng([SEED, this.shape.k, choice.selector])
    any_two = not this.ordered and this.a != "tf32"
    drawn = [dice.choice(range(16) if any_two else legal, (LANES, PIECES)) for _ in range(DRAWN)]
    if not this.ordered:
        return np.stack([_words(pieces) for pieces in drawn])
    number = np.arange(LANES * PIECES).reshape(LANES, PIECES)
    bits = (number.size - 1).bit_length()
    told = [number >> bit & 1 == 1 for bit in range(bits)]
    whole = [np.zeros_like(number, bool), np.ones_like(number, bool)]
    spelled = [np.where(second, SECOND, FIRST) for second in (*whole, *told)]
    return np.stack([_words(pieces) for pieces in (*spelled, *drawn)])


def _words(pieces: Array) -> Array:
    """[lane]: registers of [lane, four bits]."""
    places = 4 * np.arange(PIECES, dtype=np.uint64)
    words: Array = (pieces.astype(np.uint64) << places).sum(axis=-1).astype(np.uint32)
    return words


def cases() -> Iterable[tuple[Choice, Array]]:
    """Each choice with each of its metadata."""
    return ((choice, words) for choice in asked() for words in metadata_of(choice))


# -- what is measured ------------------------------------------------------------------------------


def measure(told: Told) -> Truth:
    """Ask for the pairs of every stored place of A, with each of the metadata."""
    found = measured(
        asked(), _products, lambda products, choice: products.pairs(choice.probe, metadata_of(choice)), told
    )
    return truth_of([pairs for each in found for pairs in each])


def _products(told: Told) -> Products:
    from tilewise.gpu.probes.products import Products

    return Products.of((choice.probe for choice in asked()), told=told)


def truth_of(found: Sequence[Array]) -> Truth:
    """The record of all cases: for each stored place of A its N pairs by the place of D."""
    rows, reached, met = [], [], []
    for (choice, words), pairs in zip(cases(), found, strict=True):
        d, b = listed(pairs, choice.instruction.shape.n)
        rows.append(row_of(choice) | {"metadata": words.tolist(), "length": d.size})
        reached.append(d.ravel())
        met.append(b.ravel())
    return Truth("mma.sparse", rows, {"d": np.concatenate(reached), "b": np.concatenate(met)})


def row_of(choice: Choice) -> dict[str, Any]:
    """An instruction and its selector as they are recorded."""
    this = choice.instruction
    return {
        "shape": str(this.shape),
        "types": [this.a, this.b, this.d],
        "ordered": this.ordered,
        "selector": choice.selector,
    }


def choice_of(case: Mapping[str, Any]) -> Choice:
    """The instruction and the selector of a recorded case."""
    a, b, d = case["types"]
    shape, ordered = Shape.of(case["shape"]), case["ordered"]
    return Choice(Instruction(shape, a, b, d, sparse=True, ordered=ordered), case["selector"])


# -- what is compared ------------------------------------------------------------------------------


def compare(truth: Truth) -> Findings:
    """Hold every pair against the catalogue: where the metadata have each stored element of A."""
    found = Findings()
    both = zip(truth.parted("d"), truth.parted("b"), strict=True)
    for case, seen in zip(truth.cases, both, strict=True):
        choice = choice_of(case)
        want = expected(choice, np.array(case["metadata"], np.int64))
        if not all(map(np.array_equal, want, seen)):
            differs(found, str(choice), choice.instruction.shape.n, want, seen)
        this = choice.instruction
        found.count(
            len(seen[0]),
            types=f"{this.a} x {this.b} -> {this.d}",
            shape=this.shape,
            selector=choice.selector,
            metadata="ordered" if this.ordered else "not said to be ordered",
        )
    return found


def expected(choice: Choice, words: Array) -> tuple[Array, Array]:
    """The pairs of every stored place of A, as `mma.expected` has those of a dense one."""
    half = choice.half
    a, b, d = (places([one])[0] for one in (half.a_fragment, half.b_fragment, half.d_fragment))
    column = columns(half, choice.selector, words)
    return meeting(a, d[:, None, :], b[:, column].transpose(1, 2, 0))


def columns(half: Sparse, selector: int, words: Array) -> Array:
    """[M, K/2]: the column that each stored element has by some words of metadata."""
    where = table(half.metadata(selector)).columns
    lane, place = (where[axis].reshape(half.shape.m, half.indices) for axis in ("laneid", "reg"))
    indices = words[lane] >> INDEX.bits * place & (1 << INDEX.bits) - 1
    return np.array([[half.column(s, row) for s in range(half.stored)] for row in indices.tolist()])


# -- accumulators ----------------------------------------------------------------------------------


def measure_accumulators(told: Told) -> Truth:
    """Ask where each place of C comes out."""
    found = measured(asked(), _products, lambda products, choice: products.passed(choice.probe), told)
    return accumulators_truth(found)


def accumulators_truth(found: Sequence[Array]) -> Truth:
    """The record: for each place of D in order, the place of C."""
    rows = [row_of(choice) | {"length": came.size} for choice, came in zip(asked(), found, strict=True)]
    return Truth("mma.sparse.accumulators", rows, {"c": np.concatenate(found)})


def compare_accumulators(truth: Truth) -> Findings:
    """C[m, n] comes out in D[m, n]."""
    found = Findings()
    for case, came in zip(truth.cases, truth.parted("c"), strict=True):
        choice = choice_of(case)
        held = places([choice.half.d_fragment])
        compare_passed(found, str(choice), came, held, held)
        found.count(len(came), accumulators=choice.instruction.d, shape=choice.instruction.shape)
    return found


def _confirmed() -> tuple[str, ...]:
    """The instances that are asked about, and the types all of whose sparse instructions sm_90 has."""
    ours = {choice.instruction for choice in asked()}
    inputs = {(str(this.shape), name) for this in ours for name in (this.a, this.b)}
    later = {name for this in kind_instructions(sparse=True) for name in (this.a, this.b)}
    whole = {name for _, name in inputs} - later
    held = [word for entry in ("mma.sp.A", "mma.sp.B", "mma.E") for word in having(entry, inputs)]
    types = confirming("mma.sp.shapes", lambda of: of["dtype"] in whole)
    return (*held, *_results(), *types)


def _results() -> tuple[str, ...]:
    return having("mma.sp.D", {(str(this.instruction.shape), this.instruction.d) for this in asked()})


PARTS = (
    Part(
        "mma.sparse",
        "mma.sp: the elements of D and B that each stored element of A meets, by any metadata",
        _confirmed(),
        lambda: sum(len(metadata_of(choice)) for choice in asked()),
        measure,
        compare,
    ),
    Part(
        "mma.sparse.accumulators",
        "mma.sp: where each element of the accumulator C comes out in D",
        _results(),
        lambda: len(asked()),
        measure_accumulators,
        compare_accumulators,
    ),
)
"""The sparse instructions."""
