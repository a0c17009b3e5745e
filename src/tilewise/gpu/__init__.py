"""Code on a device: find one, compile for it, launch, and compare the hardware with the catalogue.

`device`, `compile` and `launch` have all uses of NVIDIA's Python packages, imported when first used.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

Way = TypeVar("Way", covariant=True)


class Tunable(Protocol[Way]):
    """A plan that can be made in several ways."""

    def tuned(self, index: int = 0) -> Way:
        """Return the plan with the fastest of its ways on a GPU."""


def tune(plan: Tunable[Way], index: int = 0) -> Way:
    """Return the plan with the fastest of its ways on that GPU: all are measured, the fastest is remembered.

    Moves of the plan's class of shapes take that way from then on, here and in other processes.
    `tilewise.plan` makes plans, `bind()` calls them.

        refused  TW608 without a GPU; TW701 a plan that is not in memory
    """
    return plan.tuned(index)
