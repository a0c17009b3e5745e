"""One request of a warp to global memory: the sectors and lines that its lanes ask for.

This is the definition that closed forms are held against.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tilewise.check.access.lanes import checked
from tilewise.core.errors import LayoutError
from tilewise.hardware.memory.sectors import LINE, OPERATIONS, SECTOR, TOGETHER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True, slots=True)
class Transfer:
    """What one request moves."""

    operation: str
    bytes: int
    """Of one lane."""
    groups: tuple[dict[int, tuple[int, ...]], ...] = field(repr=False)
    """{sector: the lanes that ask for it}, of the lanes that are looked up at once."""
    useful: int
    """Different bytes that lanes ask for."""
    first: int | None
    """The lowest address; None where no lane is active."""

    @property
    def sectors(self) -> int:
        """Sectors that are moved."""
        return sum(map(len, self.groups))

    @property
    def lines(self) -> int:
        """Lines that they belong to: tags that are looked up."""
        return sum(len({sector * SECTOR // LINE for sector in group}) for group in self.groups)

    @property
    def ideal(self) -> int:
        """The fewest sectors that hold as many bytes."""
        return -(-self.useful // SECTOR)

    @property
    def excess(self) -> int:
        """Sectors beyond the ideal."""
        return self.sectors - self.ideal

    @property
    def efficiency(self) -> float:
        """The part of the moved bytes that lanes ask for; 1 where nothing is moved."""
        return efficiency(self.useful, self.sectors)

    def as_dict(self) -> dict[str, Any]:
        """As plain data.

        >>> counted("ld", 4, [0, 96, None, 4]).as_dict()["touched"]
        [{'0': [0, 3], '3': [1]}]
        """
        groups = [{str(sector): list(lanes) for sector, lanes in group.items()} for group in self.groups]
        return {
            "operation": self.operation,
            "bytes": self.bytes,
            "sectors": self.sectors,
            "ideal": self.ideal,
            "excess": self.excess,
            "lines": self.lines,
            "useful": self.useful,
            "efficiency": round(self.efficiency, 4),
            "first": self.first,
            "touched": groups,
        }


def efficiency(useful: int, sectors: int) -> float:
    """Useful bytes of those that so many sectors move.

    >>> efficiency(128, 4), efficiency(128, 32), efficiency(0, 0)
    (1.0, 0.125, 1.0)
    """
    return useful / (sectors * SECTOR) if sectors else 1.0


def counted(operation: str, bytes: int, addresses: Sequence[int | None]) -> Transfer:
    """The sectors of one request whose lane n asks for `bytes` at addresses[n]; None where it is inactive.

        requires  up to 32 addresses, multiples of `bytes`

    >>> [counted("ld", 4, [step * lane for lane in range(32)]).sectors for step in (4, 8, 32, 128)]
    [4, 8, 32, 32]
    >>> shifted = counted("ld", 4, [4 + 4 * lane for lane in range(32)])
    >>> shifted.sectors, shifted.ideal, shifted.lines
    (5, 4, 2)
    """
    check_operation(operation, bytes)
    addresses = checked(bytes, addresses)
    active = [address for address in addresses if address is not None]
    firsts = range(0, len(addresses), TOGETHER[bytes])
    groups = tuple(_sectors(range(first, first + TOGETHER[bytes]), addresses) for first in firsts)
    return Transfer(operation, bytes, groups, bytes * len(set(active)), min(active, default=None))


def check_operation(operation: str, bytes: int) -> None:
    """Refuse what does not reach global memory, or not by so many bytes."""
    if operation not in OPERATIONS:
        raise LayoutError(
            "TW601",
            f"{operation} does not reach global memory",
            hint=f"known: {' '.join(OPERATIONS)}",
        )
    if bytes not in TOGETHER:
        widths = ", ".join(map(str, TOGETHER))
        raise LayoutError("TW602", f"{operation} of {bytes} bytes a lane", hint=f"it has {widths}")


def _sectors(lanes: range, addresses: Sequence[int | None]) -> dict[int, tuple[int, ...]]:
    """A vector is aligned to its width, of 16 bytes at most: it lies in one sector."""
    found: dict[int, list[int]] = {}
    for lane in lanes:
        address = addresses[lane] if lane < len(addresses) else None
        if address is not None:
            found.setdefault(address // SECTOR, []).append(lane)
    return {sector: tuple(who) for sector, who in sorted(found.items())}
