"""All parts, in the order in which a device is asked."""

from __future__ import annotations

from collections.abc import Sequence

from tilewise.core.errors import LayoutError
from tilewise.gpu.verify import matrices, mma, tma, wgmma
from tilewise.gpu.verify.part import Part

PARTS = {part.name: part for part in (*wgmma.PARTS, *tma.PARTS, *mma.PARTS, *matrices.PARTS)}
"""Every part by name."""


def chosen(names: Sequence[str]) -> list[Part]:
    """The parts of those names or families; all where there are none.

    >>> [part.name for part in chosen(["tma"])]
    ['tma.boxes', 'tma.rules', 'tma.faults']
    """
    for name in names:
        if name not in PARTS and all(part.family != name for part in PARTS.values()):
            raise LayoutError(
                "TW601", f"there is no part {name!r} to verify", hint="known: " + " ".join(PARTS)
            )
    return [part for part in PARTS.values() if not names or part.name in names or part.family in names]
