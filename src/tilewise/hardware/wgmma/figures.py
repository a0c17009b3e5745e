"""Figures 156 to 170 of the PTX manual: what they draw, as layouts, with the numbers printed beside them.

156 to 165 follow from the table of atoms. 166 to 170 are worked examples: kept as they are printed, also
where that cannot be meant.
"""

from __future__ import annotations

from tilewise.core.dtypes import DType
from tilewise.hardware.modes import Mode
from tilewise.hardware.operands.figures import Figure, figure_of, worked

__all__ = ["FIGURES", "Figure", "figure"]

KNOWN = "156 to 170"
"""The numbers of all of them."""


def figure(number: int) -> Figure:
    """Return the figure of that number."""
    return figure_of(FIGURES, number, KNOWN)


def _drawn(number: int, major: str, mode: str, dtype: str = "b128") -> Figure:
    """A figure that follows from the table of atoms."""
    name = mode.lower() if mode != "none" else "interleaved"
    how = "interleaved" if mode == "none" else f"{mode} swizzling"
    order = (major, name) if mode == "none" else (name, major)
    tail = f", {dtype}" if dtype != "b128" else ""
    return Figure(
        number,
        f"{major.upper()} major {how}{tail}",
        "-".join(("async-warpgroup-smem-layout", *order, *([dtype] if tail else []))),
        major,
        Mode.of(mode),
        DType.of(dtype),
    )


FIGURES = {
    row.number: row
    for row in (
        _drawn(156, "mn", "128B"),
        _drawn(157, "k", "128B"),
        _drawn(158, "mn", "64B"),
        _drawn(159, "k", "64B"),
        _drawn(160, "mn", "32B"),
        _drawn(161, "k", "32B"),
        _drawn(162, "mn", "none"),
        _drawn(163, "k", "none"),
        _drawn(164, "k", "128B", "tf32"),
        _drawn(165, "mn", "128B", "tf32"),
        *worked(166, "async-warpgroup"),
    )
}
"""Every figure by its number."""
