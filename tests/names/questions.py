"""Generated questions with names in them: each answer, filled in, is the answer for the numbers.

    PYTHONPATH=src:. python -m tests.names.questions --questions 200000

A question has one to three names. For values of the names, drawn among those that its facts admit, the case
that admits them is taken, its answer is filled in, and the same question is run with numbers.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import Pool
from random import Random
from typing import Any

from tilewise import LayoutError, NotDecided, S, Swizzle
from tilewise.check.access import widest
from tilewise.check.banks import Conflicts, conflicts
from tilewise.core.cases import Case, cases
from tilewise.core.known import NOTHING, NameFacts
from tilewise.core.layout import Layout
from tilewise.core.polynomials import Condition, Polynomial, named, valued
from tilewise.core.vectors import Vector
from tilewise.questions.cases import filled

NAMES = ("M", "N", "K")
TOLD = 10_000
"""Questions after which it prints their number."""
VALUES = 20
"""Values of the names that each answer is held to."""


def decided(verdict: Any) -> bool:
    if verdict.answer is None:
        raise NotDecided(verdict.reason)
    answer: bool = verdict.answer
    return answer


def counts_of(found: Conflicts) -> tuple[int, int, int]:
    return found.wavefronts, found.ideal, found.ways


COMMANDS: dict[str, Callable[[Layout, Layout, tuple[int, ...]], Any]] = {
    "size": lambda a, b, index: a.size,
    "at": lambda a, b, index: a.place(*index),
    "canonical": lambda a, b, index: a.canonical(),
    "same": lambda a, b, index: decided(a.same(b)),
    "contiguous": lambda a, b, index: decided(a.contiguous),
    "injective": lambda a, b, index: decided(a.injective),
    "onto": lambda a, b, index: decided(a.onto),
    "extremes": lambda a, b, index: a.extremes("m"),
    "compose": lambda a, b, index: a.compose(b),
    "inverse": lambda a, b, index: a.inverse(),
    "right inverse": lambda a, b, index: a.right_inverse(),
    "divide": lambda a, b, index: a.logical_divide(b),
    "tile": lambda a, b, index: a.tile(b),
    "transpose": lambda a, b, index: a.T,
    "slice": lambda a, b, index: a.slice(*index)[0].layout,
    "group": lambda a, b, index: a.group((2, a.size // 2)),
    "banks": lambda a, b, index: counts_of(conflicts(a, ACCESSES[index[0]], dtype="f16")),
    "vector": lambda a, b, index: widest(ACCESSES[index[0]].split(":")[0], a, "f16").bytes,
}
ACCESSES = ("row:4B", "col:2B", "ldmatrix.x4", "row:16B")


@dataclass(frozen=True)
class Question:
    """A command, its layouts and index, what is known of the names, and True if no stride has two names."""

    command: str
    a: Layout
    b: Layout
    index: tuple[int, ...]
    known: NameFacts
    is_plain: bool

    def __str__(self) -> str:
        return f"{self.command} {self.a} | {self.b} | {self.index}"

    def asked(self, fill: Callable[[Any], Any]) -> Any:
        return COMMANDS[self.command](fill(self.a), fill(self.b), self.index)


def drawn(seed: int) -> Question:
    """Return a question drawn at random."""
    rng = Random(seed)
    command = rng.choice([*COMMANDS])
    names = NAMES[: rng.randint(1, 3)]
    is_plain = rng.random() < 0.6
    a, b = (_layout(rng, names, is_plain) for _ in "ab")
    if command == "same" and rng.random() < 0.6:
        b = rng.choice([S[a.size : 1], S[a.shape : a.strides], a])
    if command in ("compose", "divide", "tile") and rng.random() < 0.7:
        b = S[rng.choice([2, 4, 8]) : rng.choice([1, 2, 4])]
    index = tuple(rng.choice([0, 0, 1, 3]) for _ in a.shape)
    if command in ("banks", "vector"):
        a, index = _tile(rng, names), (rng.randrange(2 if command == "vector" else len(ACCESSES)),)
    known = NOTHING.with_names(*names)
    for own in names:
        conditions = []
        if rng.random() < 0.4:
            conditions.append(Condition(">=", named(own) - rng.choice([1, 2, 8])))
        if rng.random() < 0.3:
            conditions.append(Condition("%", named(own), rng.choice([2, 8, 64])))
        for condition in conditions:
            known = known.with_fact(condition) or known
    return Question(command, a, b, index, known, is_plain)


def _layout(rng: Random, names: tuple[str, ...], is_plain: bool) -> Layout:
    def number(is_extent: bool) -> Any:
        draw = rng.random()
        if draw < 0.45:
            return rng.choice([1, 2, 3, 4, 8, 16, 64] + ([] if is_extent else [0, 128, -1]))
        own = named(rng.choice(names))
        if draw < 0.75:
            return own
        if draw < 0.9:
            return own * rng.choice([2, 4, 8, 64])
        if is_plain:
            return own * 2 if is_extent else own + rng.choice([1, 8])
        return own * named(rng.choice(names)) if draw < 0.96 else (own + 63) // 64

    extents = [number(True) for _ in range(rng.randint(1, 3))]
    strides = [number(False) for _ in extents]
    if rng.random() < 0.5 and not (is_plain and sum(isinstance(e, Polynomial) for e in extents[1:]) > 1):
        step: Any = 1
        for at in reversed(range(len(extents))):
            strides[at], step = step, step * extents[at]
        if rng.random() < 0.4 and len(extents) > 1:
            strides[0] = named(rng.choice(names))
    return S[tuple(extents) : tuple(strides)] + rng.choice([0, 0, 0, 5])


def _tile(rng: Random, names: tuple[str, ...]) -> Layout:
    """Return a tile of rows whose stride has a name in it, some of them swizzled."""
    rows, columns, pad = rng.choice([16, 32, 64]), rng.choice([32, 64]), named(rng.choice(names))
    stride = rng.choice([pad * 8, columns + pad * 8, columns + pad * 2, pad * 64, columns + pad * 64])
    tile = S[(rows, columns) : (stride, 1)]
    return Swizzle(3, 3, 3) @ tile if rng.random() < 0.3 else tile


def in_numbers(answer: Any, values: dict[str, int]) -> Any:
    """Return an answer with values for its names."""
    if isinstance(answer, Layout):
        return answer.with_numbers(lambda number: valued(number, values))
    if isinstance(answer, Polynomial):
        return valued(answer, values)
    if isinstance(answer, Vector):
        return Vector(tuple((axis, valued(steps, values)) for axis, steps in answer.terms))
    if isinstance(answer, tuple):
        return tuple(in_numbers(part, values) for part in answer)
    return answer


def fault(question: Question) -> tuple[str, str]:
    """Return (the state, a sentence on a fault): right, open or wrong."""
    try:
        found = cases(
            lambda known: question.asked(lambda part: filled(part, known)),
            question.known,
            lambda answer: answer is False,
        )
    except NotDecided:
        return "open", ""
    left_open = [case for case in found if isinstance(case.error, NotDecided)]
    for case in left_open:
        if case.example is not None and (why := _no_example(question, case, case.example)):
            return "wrong", f"{question}: {why}"
    is_open = any(case.example is None for case in left_open)
    for values in question.known.values(VALUES, seed=1):
        try:
            want = _outcome(question.asked, lambda part, values=values: in_numbers(part, values))
        except NotDecided:
            continue
        if want == ("refused", "TW102"):  # an extent of 0: there is no question
            continue
        case = next((own for own in found if _admits(own, values)), None)
        if case is None:
            return "wrong", f"{question}: no case has {values}"
        if isinstance(case.error, NotDecided):
            continue
        got = ("refused", case.error.code) if case.error else ("is", in_numbers(case.answer, values))
        if got != want and not _one_map(got[1], want[1]):
            return "wrong", f"{question}: {got} for {want} at {values}"
    return ("open" if is_open else "right"), ""


def _no_example(question: Question, case: Case, example: Case) -> str:
    """Return the fault of values that a case gives as an example of a no, or an empty text."""
    values = {name: int(value) for name, value in example.known.meanings.items()}  # type: ignore[arg-type]
    if not _admits(case, values):
        return f"{values} are not of their case"
    kind, got = _outcome(question.asked, lambda part: in_numbers(part, values))
    return "" if kind == "refused" or got is False else f"the answer for {values} is {got}, not no"


def _admits(case: Case, values: dict[str, int]) -> bool:
    return all(condition.holds(values) is truth for condition, truth in case.path)


def _outcome(asked: Callable[[Any], Any], fill: Callable[[Any], Any]) -> tuple[str, Any]:
    try:
        return "is", asked(fill)
    except NotDecided:
        raise
    except LayoutError as no:
        return "refused", no.code


def _one_map(one: Any, other: Any) -> bool:
    return isinstance(one, Layout) and isinstance(other, Layout) and bool(one.same(other))


def run(seeds: range) -> tuple[Counter[tuple[str, bool, str]], list[str]]:
    """Return how many questions had each state, by command, and all faults."""
    counts: Counter[tuple[str, bool, str]] = Counter()
    faults = []
    for seed in seeds:
        question = drawn(seed)
        try:
            state, words = fault(question)
        except Exception as raised:  # the other questions go on
            state, words = "wrong", f"{question}: {raised!r}"
        counts[question.command, question.is_plain, state] += 1
        faults += [f"{seed}: {words}"] if words else []
    return counts, faults


def main() -> int:
    """Print the faults, and for each command how many questions were not decided."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    end = args.first + args.questions
    blocks = [range(at, min(at + 200, end)) for at in range(args.first, end, 200)]
    counts: Counter[tuple[str, bool, str]] = Counter()
    wrong = 0
    with Pool(args.processes) as pool:
        for more, faults in pool.imap_unordered(run, blocks):
            counts += more
            wrong += len(faults)
            print(*faults, sep="\n", end="\n" * bool(faults), flush=True)
            if sum(counts.values()) % TOLD == 0:
                print(f"{sum(counts.values())} questions, {wrong} wrong", file=sys.stderr, flush=True)
    assert sum(counts.values()) == args.questions, "some were not asked"
    for command in COMMANDS:
        shares = []
        for is_plain in (True, False):
            own = {state: counts[command, is_plain, state] for state in ("right", "open", "wrong")}
            shares.append(f"{own['open'] / max(1, sum(own.values())):6.1%} of {sum(own.values()):6}")
        print(f"{command:14} not decided: one name a stride {shares[0]}, else {shares[1]}")
    print(f"{args.questions} questions, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
