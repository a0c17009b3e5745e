"""Bank conflicts: how many wavefronts an access takes, how few it could, and which lanes collide.

phases      one request, phase by phase: the definition
linear      in closed form, where addresses are affine over GF(2)
counting    many requests at once, in NumPy
conflicts   a whole access of a tile, by one of the three
drawing     a phase as a picture: lanes down, banks across
"""

from __future__ import annotations

from tilewise.check.banks.conflicts import Conflicts, conflicts, conflicts_of
from tilewise.check.banks.phases import Phase, Request, counted

__all__ = ["Conflicts", "Phase", "Request", "conflicts", "conflicts_of", "counted"]
