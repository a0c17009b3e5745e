"""Questions to mma.sync and mma.sp: every instruction of sm_90, and words of metadata.

In ten cases of each sparse instruction with each selector every four bits of the metadata are one of two
things: all the first, all the second, and then by each bit of their own number. The picks of those ten
show, without a catalogue, which four bits of which lane each stored element listens to. The others are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from tilewise.gpu.launch import Array
from tilewise.gpu.verify.kernels import planes
from tilewise.gpu.verify.mma import MmaCase
from tilewise.gpu.verify.part import Questions
from tilewise.hardware.limits import LANES
from tilewise.hardware.mma.instructions import instructions, kind_instructions, sparse_instructions
from tilewise.hardware.mma.kinds import INDEX
from tilewise.hardware.mma.sparse import Sparse
from tools.questions import confirming

ARCH = "sm_90a"

SEED = 20_263
DRAWN = 4
"""Cases of an instruction and a selector whose metadata are drawn."""

FIRST, SECOND = 0x4, 0xE
"""Four bits of metadata that mean something for every type: the lower, and the upper half of a chunk."""

PIECES = 8
"""Four bits each of a register."""


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


def row(case: MmaCase) -> dict[str, Any]:
    """Return a case as it is recorded; `MmaCase.of` reads it."""
    this, shape = case.instruction, str(case.instruction.shape)
    if not this.sparse:
        types = [this.a, this.b, this.c, this.d]
        return {"shape": shape, "types": types, "op": this.op, "majors": list(this.majors)}
    words = {"metadata": list(case.metadata)} if case.metadata else {}
    types = [this.a, this.b, this.d]
    return {"shape": shape, "types": types, "ordered": this.ordered, "selector": case.selector, **words}


# -- what they confirm -----------------------------------------------------------------------------


def fragments(cases: Sequence[MmaCase], entries: Mapping[str, str]) -> Iterator[str]:
    """Yield the instances of entries of fragments that the cases have, by the operands that they hold."""
    for entry, operands in entries.items():
        known = {
            (str(case.instruction.shape), case.types["ABCD".index(operand)])
            for case in cases
            for operand in operands
        }
        yield from confirming(entry, partial(_among, known))


def _among(known: set[tuple[str, str]], values: Mapping[str, Any]) -> bool:
    return (values["shape"], values["dtype"]) in known


def whole_types(cases: Sequence[MmaCase], entry: str) -> tuple[str, ...]:
    """Return the types all of whose instructions sm_90 has."""
    later = {name for this in kind_instructions(sparse=".sp." in entry) for name in (this.a, this.b)}
    types = {name for case in cases for name in case.types[:2]} - later
    return confirming(entry, lambda values: values["dtype"] in types)


def _dense() -> Questions:
    held = fragments(dense(), {"mma.A": "A", "mma.B": "B", "mma.D": "D"})
    return Questions((*held, *whole_types(dense(), "mma.shapes")), [row(case) for case in dense()])


def _sparse() -> Questions:
    held = fragments(sparse(), {"mma.sp.A": "AB", "mma.sp.B": "AB", "mma.E": "AB", "mma.sp.D": "D"})
    cases = with_metadata(sparse())
    return Questions((*held, *whole_types(sparse(), "mma.sp.shapes")), [row(case) for case in cases])


def _accumulators(cases: Sequence[MmaCase], entry: str, operand: str) -> Questions:
    return Questions(tuple(fragments(cases, {entry: operand})), [row(case) for case in cases])


QUESTIONS: dict[str, Callable[[], Questions]] = {
    "mma.dense": _dense,
    "mma.accumulators": lambda: _accumulators(dense(), "mma.C", "C"),
    "mma.sparse": _sparse,
    "mma.sparse.accumulators": lambda: _accumulators(sparse(), "mma.sp.D", "D"),
}
"""The questions of each part, drawn when called."""
