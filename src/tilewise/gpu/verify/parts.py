"""All parts, in the order of a run."""

from __future__ import annotations

from collections.abc import Sequence

from tilewise.core.errors import LayoutError
from tilewise.gpu.verify import matrices, mma, tma, wgmma
from tilewise.gpu.verify.part import Part

PARTS = {part.name: part for part in (*wgmma.PARTS, *tma.PARTS, *mma.PARTS, *matrices.PARTS)}
"""All parts by name."""


def chosen(names: Sequence[str]) -> list[Part]:
    """Return the parts of those names or families; all parts without names.

    >>> [part.name for part in chosen(["tma"])]
    ['tma.boxes', 'tma.rules', 'tma.faults']
    """
    for name in names:
        if name not in PARTS and all(part.family != name for part in PARTS.values()):
            raise LayoutError(
                "TW601", f"there is no part {name!r} to verify", hint="known: " + " ".join(PARTS)
            )
    return [part for part in PARTS.values() if not names or part.name in names or part.family in names]
