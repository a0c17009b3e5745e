"""What the tests of the core share: whole maps as the layout itself lists them, and a tally."""

from __future__ import annotations

from dataclasses import dataclass

from tilewise import Layout
from tilewise.testing import Map, as_place


def listed(layout: Layout) -> Map:
    """The layout's own answers, in the form of `naive_map`."""
    return [frozenset(map(as_place, layout.places(flat))) for flat in range(layout.size)]


@dataclass
class Tally:
    """How often a question was asked, and how often it was not decided."""

    asked: int = 0
    undecided: int = 0

    def decided(self, answer: object) -> bool:
        """Whether there is an answer, counted."""
        self.asked += 1
        self.undecided += answer is None
        return answer is not None

    def expect_rare(self, share: float = 0.005) -> None:
        """Undecided answers are allowed, and rare on layouts that one could list."""
        assert self.asked > 0
        assert self.undecided <= share * self.asked, f"{self.undecided} of {self.asked} not decided"
