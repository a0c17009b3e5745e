"""Many generated layouts against the definition, as long as one likes.

    python -m tests.soak.soak --count 200000 --seed 1 --jobs 2

Every layout has its own number and with it its own random choices, so a fault is met again with
`--first NUMBER --count 1` and the same seed. Layouts of few places are checked whole, the others
at some indices.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from multiprocessing import Pool
from random import Random
from typing import TypeVar

from tilewise import Layout, NotDecided, parse
from tilewise.notation import from_json, to_json
from tilewise.tables import table
from tilewise.testing import Map, NaiveFacts, as_place, difference_in, naive_facts, naive_places, who_in
from tilewise.testing.generate import perturbed, random_layout, rewritten

T = TypeVar("T")

FEW_PLACES = 32
SAMPLE = 4
CHUNK = 500


class Undecided(Exception):
    """The layout answered that the question is not decided within the bound."""


@dataclass
class Case:
    """A layout under test, and what the definition says of it."""

    layout: Layout
    rng: Random

    @cached_property
    def whole(self) -> bool:
        """Return whether to check every index."""
        places = self.layout.size * prod(it.extent for it in self.layout.replica)
        return places <= FEW_PLACES or self.rng.random() < 0.05

    @cached_property
    def indices(self) -> Sequence[int]:
        """The flat indices to check."""
        every = range(self.layout.size)
        return every if self.whole else [0, every[-1], *self.rng.sample(every, min(len(every), SAMPLE))]

    @cached_property
    def places(self) -> Map:
        """The definition at the indices."""
        return [naive_places(self.layout, flat) for flat in self.indices]

    @cached_property
    def facts(self) -> NaiveFacts:
        """The facts of the places at the indices: of the layout where it is checked whole."""
        return naive_facts(self.layout, self.places)

    def listed(self, layout: Layout) -> Map:
        """Return another layout's answers at the indices; `evaluation` holds answers to the definition."""
        order = sorted((axis.name, position) for position, axis in enumerate(layout.axes))
        return [
            frozenset(tuple((name, at[i]) for name, i in order if at[i]) for at in layout.points(flat))
            for flat in self.indices
        ]


def evaluation(case: Case) -> None:
    assert case.listed(case.layout) == case.places


def who_of_taken_places(case: Case) -> None:
    for _ in range(2):
        position = case.rng.randrange(len(case.places))
        place = dict.fromkeys((axis.name for axis in case.layout.axes), 0)
        place |= case.rng.choice(sorted(case.places[position]))
        if len(place) > 1 and case.rng.random() < 0.3:
            del place[case.rng.choice(sorted(place))]
        found = case.layout.who(place, shape=case.layout.size)
        assert (case.indices[position],) in found, place
        assert not case.whole or [x for (x,) in found] == who_in(case.places, place), place


def who_of_any_places(case: Case) -> None:
    place = {name: case.rng.randint(low - 1, high + 1) for name, (low, high) in case.facts.extremes.items()}
    found = [x for (x,) in case.layout.who(place, shape=case.layout.size)]
    if case.whole:
        assert found == who_in(case.places, place), place
    for x in found[:3]:
        assert as_place(place) in naive_places(case.layout, x), place


def extremes(case: Case) -> None:
    for name, (low, high) in case.facts.extremes.items():
        found = case.layout.extremes(name)
        assert found == (low, high) if case.whole else found[0] <= low <= high <= found[1]


def copies(case: Case) -> None:
    assert case.layout.copies == case.facts.copies
    disjoint = case.layout.disjoint_copies
    assert decided(disjoint.answer) is case.facts.disjoint_copies


def injectivity(case: Case) -> None:
    verdict = case.layout.injective
    if decided(verdict.answer):
        assert not case.whole or case.facts.injective
        return
    one, other, place = verdict.witness
    assert one != other
    assert as_place(place) in naive_places(case.layout, one) & naive_places(case.layout, other)


def holes(case: Case) -> None:
    found = case.layout.holes
    decided(found.count)
    assert case.layout.onto.answer is (found.count == 0)
    if case.whole:
        assert found.count == case.facts.holes
    if found.count and decided(found.witness):
        assert as_place(found.witness) not in case.facts.taken
        assert all(low <= found.witness[a] <= high for a, (low, high) in extremes_of(case.layout))


def extremes_of(layout: Layout) -> Iterator[tuple[str, tuple[int, int]]]:
    return ((axis.name, layout.extremes(axis)) for axis in layout.axes)


def contiguity(case: Case) -> None:
    verdict = case.layout.contiguous
    decided(verdict.answer)
    if case.whole:
        assert verdict.witness == case.facts.first_not_contiguous
        assert verdict.answer is case.facts.contiguous


def canonical(case: Case) -> None:
    form = case.layout.canonical()
    assert form.canonical() == form
    assert case.listed(form) == case.places


def same_respelled(case: Case) -> None:
    other = rewritten(case.rng, case.layout)
    assert decided(case.layout.same(other).answer) is True, other


def same_perturbed(case: Case) -> None:
    other = perturbed(case.rng, case.layout)
    found = case.layout.same(other)
    decided(found.answer)
    if case.whole:
        assert found.witness == difference_in(case.places, case.listed(other)), other
        assert found.answer is (found.witness is None), other
    elif found.answer:
        assert case.listed(other) == case.places, other
    else:
        assert naive_places(case.layout, found.witness) != naive_places(other, found.witness), other


def text(case: Case) -> None:
    layout = case.layout
    assert parse(str(layout), storage=storage_of_its_own(layout), unit=layout.unit) == layout


def storage_of_its_own(layout: Layout) -> tuple[str, ...]:
    return tuple(axis.name for axis in layout.axes if axis.kind == "storage" and axis.facts is None)


def json_document(case: Case) -> None:
    twin = from_json(json.loads(json.dumps(to_json(case.layout))))
    assert twin == case.layout
    assert [axis.kind for axis in twin.axes] == [axis.kind for axis in case.layout.axes]


def tables(case: Case) -> None:
    """Against `points`, which `evaluation` holds to the definition."""
    layout = case.layout
    listed = table(layout)
    per_element = [listed.columns[axis.name].reshape(layout.size, -1) for axis in layout.axes]
    for flat in case.indices:
        rows = zip(*(column[flat].tolist() for column in per_element), strict=True)
        assert list(rows) == layout.points(flat), flat


CHECKS: list[Callable[[Case], None]] = [
    *(evaluation, who_of_taken_places, who_of_any_places),
    *(extremes, copies, injectivity, holes, contiguity),
    *(canonical, same_respelled, same_perturbed),
    *(text, json_document, tables),
]


def decided(answer: T | None) -> T:
    """The answer, where there is one."""
    if answer is None:
        raise Undecided
    return answer


# -- running them ----------------------------------------------------------------------------------


@dataclass
class Report:
    """The runs of each check, those that were not decided, and the first fault."""

    asked: Counter[str] = field(default_factory=Counter)
    undecided: Counter[str] = field(default_factory=Counter)
    fault: str = ""

    def add(self, other: Report) -> None:
        """Another report joined to this one."""
        self.asked += other.asked
        self.undecided += other.undecided
        self.fault = self.fault or other.fault


def check_one(seed: int, number: int, report: Report) -> None:
    """Every check on the layout of that number."""
    rng = Random(seed * 1_000_000_007 + number)
    case = Case(random_layout(rng, max_size=rng.choice((16, 32, 64, 64, 256))), rng)
    for check in CHECKS:
        report.asked[check.__name__] += 1
        try:
            check(case)
        except (Undecided, NotDecided):
            report.undecided[check.__name__] += 1
        except Exception as error:
            report.fault = (
                f"{check.__name__} is wrong: --seed {seed} --first {number} --count 1\n"
                f"  {case.layout}\n  {case.layout!r}\n  {type(error).__name__}: {error}"
            )
            return


def check_chunk(work: tuple[int, range]) -> Report:
    """The layouts of a range of numbers, up to the first fault."""
    seed, numbers = work
    report = Report()
    for number in numbers:
        check_one(seed, number, report)
        if report.fault:
            break
    return report


def reports(seed: int, numbers: range, jobs: int) -> Iterator[Report]:
    """A report a chunk, from one process or several."""
    chunks = [(seed, numbers[start : start + CHUNK]) for start in range(0, len(numbers), CHUNK)]
    if jobs == 1:
        yield from map(check_chunk, chunks)
        return
    with Pool(jobs) as pool:
        yield from pool.imap_unordered(check_chunk, chunks)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print, and return the exit code: 1 on the first fault."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--count", type=int, default=20_000, help="how many layouts")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--first", type=int, default=0, help="the number of the first layout")
    options.add_argument("--jobs", type=int, default=1, help="how many processes")
    given = options.parse_args(arguments)
    total, started = Report(), time.perf_counter()
    for report in reports(given.seed, range(given.first, given.first + given.count), given.jobs):
        total.add(report)
        done, seconds = total.asked["evaluation"], time.perf_counter() - started
        print(f"\r{done} layouts, {seconds:.0f} s", end="", file=sys.stderr, flush=True)
        if total.fault:
            print(f"\n{total.fault}")
            return 1
    print(file=sys.stderr)
    for check in CHECKS:
        name = check.__name__
        print(f"{name:20} {total.asked[name]:9} asked, {total.undecided[name]:6} not decided")
    print(f"{given.count} layouts, seed {given.seed}: 0 wrong, {seconds:.1f} s on {given.jobs} processes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
