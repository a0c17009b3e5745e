"""The claims of programs about packed weights, instance by instance, as the record has them."""

from __future__ import annotations

from collections.abc import Iterator

from tests.oracle.claims import Claim, Place, claim
from tests.oracle.weight_packers import Answer, answers_of

from tilewise.hardware.catalog import find


def claims(program: str) -> Iterator[Claim]:
    """Yield the claims of one of them."""
    for answer in answers_of(program):
        yield claim(answer.function, answer.entry, places_of(answer), **answer.values)


def places_of(answer: Answer) -> Iterator[Place]:
    """The index of each element, and its place."""
    layout = find(answer.entry)(**answer.values).layout
    assert layout is not None
    for flat, place in enumerate(answer.places):
        yield layout.coordinates(flat), {"m": place}
