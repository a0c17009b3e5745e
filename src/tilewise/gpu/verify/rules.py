"""The part `tma.rules`: which arguments of a tensor map the driver takes, held against our rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from tilewise.gpu.probes import tensor_arguments
from tilewise.gpu.probes.tensor_arguments import Arguments
from tilewise.gpu.verify.part import Findings, Part, Told
from tilewise.gpu.verify.truth import Truth

SEED = 20_261


def cases() -> Iterator[Arguments]:
    """All arguments that the driver is asked about, each once."""
    every = [*tensor_arguments.at_the_bounds(), *tensor_arguments.at_random(SEED, 1000)]
    yield from dict.fromkeys(every)


def measure(told: Told) -> Truth:
    """What the driver says of each."""
    from tilewise.gpu.probes.tensor_copy import Aligned, TensorCopies, encode, encoder

    base, function, room = TensorCopies().anywhere, encoder(), Aligned(128)
    every = list(cases())
    results = []
    for done, arguments in enumerate(every):
        results.append(encode(function, room, base + arguments.address, arguments.numbers))
        told(done + 1, len(every))
    return truth_of(every, results)


def truth_of(every: list[Arguments], results: list[int]) -> Truth:
    """The record of all cases."""
    rows = [asdict(arguments) | {"length": 1} for arguments in every]
    return Truth("tma.rules", rows, {"results": np.array(results, np.int32)})


def compare(truth: Truth) -> Findings:
    """The driver refuses what breaks a rule of ours or has no name in our tables, and nothing else."""
    found = Findings()
    for case, (result,) in zip(truth.cases, truth.parted("results"), strict=True):
        arguments = arguments_of(case)
        broken = arguments.broken
        if bool(result) != (broken is None or bool(broken)):
            found.differs(
                named(arguments),
                f"the driver refuses it with {result}, and no rule of ours does"
                if result
                else f"the driver takes it, and we name {', '.join(broken or ['no such value'])}",
                result=int(result),
                rules=broken,
            )
        found.count(
            1,
            outcome="refused" if result else "taken",
            rules_broken="a value without a name" if broken is None else len(set(broken)),
        )
        for rule in set(broken or ()):
            tally = found.covered.setdefault("rule", {})
            tally[rule] = tally.get(rule, 0) + 1
    return found


def arguments_of(case: Mapping[str, Any]) -> Arguments:
    """The arguments of a recorded case."""
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in case.items()
    }
    return Arguments(**{field.name: values[field.name] for field in fields(Arguments)})


def named(arguments: Arguments) -> str:
    """The arguments in words: those that are not the usual ones."""
    usual = tensor_arguments.of_rank(arguments.rank)
    own, plain = asdict(arguments), asdict(usual)
    return ", ".join(f"{name} {own[name]}" for name in own if own[name] != plain[name] or name == "rank")


PART = Part(
    "tma.rules",
    "TMA: which tensor maps the driver takes, and the rule that the others break",
    ("tma.rules",),
    lambda: sum(1 for _ in cases()),
    measure,
    compare,
)
