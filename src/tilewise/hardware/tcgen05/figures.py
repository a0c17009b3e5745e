"""Figures 188 to 192 and 219 to 228 of the PTX manual: layouts of tcgen05's operands in shared memory.

188 to 192 are the worked examples, which have the numbers of wgmma's. 219 to 228 follow from the table of
atoms. 229 is left out: it is MN-major tf32 with 128B swizzling, and no word says in atoms of how many bytes.
"""

from __future__ import annotations

from tilewise.core.dtypes import DType
from tilewise.hardware.modes import mode_of
from tilewise.hardware.operands.figures import Figure, figure_of, worked

KNOWN = "188 to 192, 219 to 228"
"""The numbers of all of them."""


def figure(number: int) -> Figure:
    """Return the figure of that number."""
    return figure_of(FIGURES, number, KNOWN)


def _drawn(number: int, major: str, mode: str, atomicity: int = 16, dtype: str = "b128") -> Figure:
    """A figure that follows from the table of atoms."""
    how = "no-swizzling mode" if mode == "none" else f"{mode} swizzling"
    how += " with 32B atomicity" if atomicity == 32 else ""
    name = "no-swizzle" if mode == "none" else mode.lower()
    name += "-32b-atom" if atomicity == 32 else ""
    caption, anchor = f"{major.upper()} major {how}", f"{name}-{major}"
    if dtype != "b128":
        caption, anchor = f"{major.upper()} major, {how}, {dtype}", major
    return Figure(
        number,
        caption,
        f"tcgen05-smem-layout-{anchor}",
        major,
        mode_of(mode, atomicity),
        DType.of(dtype),
    )


FIGURES = {
    row.number: row
    for row in (
        *worked(188, "tcgen05"),
        _drawn(219, "mn", "128B", 32),
        _drawn(220, "mn", "128B"),
        _drawn(221, "k", "128B"),
        _drawn(222, "mn", "64B"),
        _drawn(223, "k", "64B"),
        _drawn(224, "mn", "32B"),
        _drawn(225, "k", "32B"),
        _drawn(226, "mn", "none"),
        _drawn(227, "k", "none"),
        _drawn(228, "k", "128B", dtype="tf32"),
    )
}
"""Every figure by its number."""
