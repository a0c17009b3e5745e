"""The sums of a launch, by space and by load and store, as the profiler has them."""

from __future__ import annotations

from collections.abc import Iterable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.compiled.counts import Tally

ATOMICS = ("atom", "red")

SUMMED = {
    ("shared", "ld"): "load",
    ("shared", "ldmatrix"): "load",
    ("shared", "st"): "store",
    ("shared", "stmatrix"): "store",
    ("shared", "cp.async"): "copy",
    ("shared", "atom"): "atomic",
    ("shared", "red"): "atomic",
    ("global", "ld"): "load",
    ("global", "cp.async"): "load",
    ("global", "st"): "store",
    ("global", "atom"): "atomic",
    ("global", "red"): "atomic",
    ("local", "ld"): "load",
    ("local", "st"): "store",
    ("generic", "ld"): "load",
    ("generic", "st"): "store",
    ("generic", "atom"): "atomic",
    ("generic", "red"): "atomic",
    ("local", "atom"): "atomic",
    ("local", "red"): "atomic",
}
"""{(space, operation): the sum of the profiler that has it}."""


def totals(tallies: Iterable[Tally], weight: float = 1.0) -> dict[str, dict[str, dict[str, int]]]:
    """Return the sums by space and by load and store."""
    sums: dict[str, dict[str, dict[str, int]]] = {
        "shared": {"load": zero("shared"), "store": zero("shared")},
        "global": {"load": zero("global"), "store": zero("global")},
    }
    for tally in tallies:
        space, operation = tally.touch.space, tally.touch.operation
        kind = SUMMED[space, operation]
        sums.setdefault(space, {}).setdefault(kind, zero(space))
        row = sums[space][kind]
        row["instructions"] += round(tally.instructions * weight)
        row["requests"] += round(tally.requests * weight)
        row["wavefronts" if space == "shared" else "sectors"] += round(tally.cost * weight)
        row["ideal"] += round(tally.ideal * weight)
        row["unknown"] += round(tally.unknown * weight)
    return sums


def zero(space: str) -> dict[str, int]:
    """Return a row of sums at zero."""
    cost = "wavefronts" if space == "shared" else "sectors"
    return dict.fromkeys(("instructions", "requests", cost, "ideal", "unknown"), 0)
