"""Code on a device: find one, compile for it, launch, and let the hardware say what it does.

Everything of NVIDIA's Python packages is in `device`, `compile` and `launch`, imported when first used.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

Way = TypeVar("Way", covariant=True)


class Tunable(Protocol[Way]):
    """A plan that can be made in several ways."""

    def tuned(self, index: int = 0) -> Way:
        """The plan with the fastest of its ways on a GPU."""


def tune(plan: Tunable[Way], index: int = 0) -> Way:
    """The plan with the fastest of its ways on that GPU: each is measured there, and the fastest remembered.

    Moves of the plan's class of shapes take it from then on, here and in other processes. `tilewise.plan`
    makes plans, `bind()` calls them.

        refused  TW608 where there is no GPU; TW701 where nothing is in memory
    """
    return plan.tuned(index)
