"""Instructions whose cost a profiler counts: of shared memory and of global memory, by width and form."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tilewise.hardware.limits import LANES
from tilewise.hardware.matrices.forms import ROWS
from tilewise.hardware.matrices.kinds import ROW_BYTES
from tilewise.hardware.memory.sectors import WIDTHS


@dataclass(frozen=True, slots=True)
class Kind:
    """One instruction.

    >>> Kind.of("ldmatrix.x2.trans").supplied, Kind.of("ld.16").supplied
    (16, 32)
    """

    operation: str
    """As `hardware.memory.banks` calls it."""
    bytes: int
    """Bytes at the address of one lane."""
    matrices: int = 0
    trans: bool = False
    space: str = "shared"

    @classmethod
    def of(cls, name: str) -> Kind:
        """Return the kind of that name."""
        return KINDS[name]

    @property
    def name(self) -> str:
        """`ld.16`, `ldmatrix.x4.trans`, `global.st.4`."""
        if self.matrices:
            return f"{self.operation}.x{self.matrices}" + (".trans" if self.trans else "")
        return f"{'global.' if self.space == 'global' else ''}{self.operation}.{self.bytes}"

    @property
    def kernel(self) -> str:
        """Return the kernel's name."""
        return "counted_" + re.sub(r"\W", "_", self.name)

    @property
    def supplied(self) -> int:
        """Lanes whose addresses are read."""
        return ROWS * self.matrices or LANES

    @property
    def stores(self) -> bool:
        """Return whether it writes what it addresses."""
        return self.operation in ("st", "stmatrix", "cp.async")

    @property
    def group(self) -> str:
        """Return the group, whose kinds have the same counters."""
        if self.space == "global":
            return "global"
        return "other" if self.operation in ("atom", "cp.async") else "shared"


def _kinds() -> list[Kind]:
    plain = [Kind(operation, bytes) for operation in ("ld", "st") for bytes in WIDTHS]
    matrices = [
        Kind(operation, ROW_BYTES, count, trans)
        for operation in ("ldmatrix", "stmatrix")
        for count in (1, 2, 4)
        for trans in (False, True)
    ]
    others = [Kind("atom", 4), *(Kind("cp.async", bytes) for bytes in (4, 8, 16))]
    beyond = [Kind(operation, bytes, space="global") for operation in ("ld", "st") for bytes in WIDTHS]
    return [*plain, *matrices, *others, *beyond]


KINDS = {kind.name: kind for kind in _kinds()}
"""Every kind by name."""
