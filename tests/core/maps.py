"""Tools that the tests of the core share: whole maps as the layout itself lists them, and a tally."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tilewise import Layout
from tilewise.testing import Map, as_place


def listed(layout: Layout) -> Map:
    """The layout's own answers, in the form of `naive_map`."""
    return [frozenset(map(as_place, layout.places(flat))) for flat in range(layout.size)]


@dataclass
class Tally:
    """The number of calls of a question, and of its answers that are undecided."""

    asked: int = 0
    undecided: int = 0

    def decided(self, answer: object) -> bool:
        """Count a question, and return whether it has an answer."""
        self.asked += 1
        self.undecided += answer is None
        return answer is not None

    def expect_rare(self, share: float = 0.005) -> None:
        """Undecided answers are allowed, and rare on layouts that one could list."""
        assert self.asked > 0
        assert self.undecided <= share * self.asked, f"{self.undecided} of {self.asked} not decided"


def form_of(values: Sequence[int]) -> dict[int, int] | tuple[int, int]:
    """Return the floor form of a map less its first value, or two positions at which the gcd law fails.

    The first break of the steps must divide the extent and all later breaks; then every e-th value is
    again such a map.
    """
    form: dict[int, int] = {}
    scale, extent, carry = 1, len(values), 0
    current = list(values)
    while len(current) > 1:
        steps = [b - a for a, b in pairwise(current)]
        first = steps[0]
        form[scale] = first - carry
        e = next((m for m, step in enumerate(steps, 1) if step != first), 0)
        if not e:
            break
        if len(current) % e:
            return e * scale, extent
        later = next((m for m, step in enumerate(steps, 1) if step != first and m % e), 0)
        if later:
            return e * scale, later * scale
        carry, scale, current = first * e, scale * e, current[::e]
    return form
