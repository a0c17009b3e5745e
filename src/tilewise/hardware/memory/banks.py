"""The banks of shared memory: the lanes of a request that go together, and the pairs of groups that become
one.

A word is 4 bytes and lies in bank (address // 4) % 32; one wavefront takes at most one word of each bank. A
request of a warp is dealt in lane order to phases of 128 bytes: 32 lanes of up to 4 bytes, 16 of 8, 8 of 16.
A phase takes one wavefront for each different word of the busiest bank; all lanes that ask for a word get it
at once. Loads of 8 and of 16 bytes whose lanes ask in pairs need half the phases: if in the whole warp lanes
n and n ^ 1, wherever both are active, ask for one address, or lanes n and n ^ 2 do; conflicts do not hinder
it.

An asynchronous copy reads words of the L1 and writes words of shared memory in one wavefront. Its lanes go
in their order: a lane waits for those before it in its phase that read or write one of its banks. A phase
takes as many wavefronts as the longest row of lanes of which each waits for the one before. A copy that
bypasses the L1 takes no wavefront.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.errors import LayoutError
from tilewise.hardware.limits import LANES
from tilewise.hardware.matrices.kinds import PTX_LDMATRIX, ROW_BYTES
from tilewise.hardware.modes import CHUNK
from tilewise.hardware.sources import DEVICE_COUNTERS, FORUM_PAIRS, GUIDE_BANKS, GUIDE_TMA, Source

BANKS = 32
"""Banks of shared memory."""

WORD = 4
"""Bytes of a word: a bank's transfer in a wavefront."""

WAVEFRONT = BANKS * WORD
"""Bytes that one wavefront moves at most."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One instruction's access to shared memory, by a warp or by an engine for it.

    >>> load = Operation.of("ld")
    >>> [load.together(bytes) for bytes in load.widths]
    [32, 32, 32, 16, 8]
    """

    name: str
    widths: tuple[int, ...]
    """Bytes of one lane that it can have."""
    stores: bool
    pairs: tuple[int, ...]
    """The distances d: if all pairs of lanes n and n ^ d ask for one address, the phases are halved."""
    source: Source
    unknown: str = ""
    """A property that no document states and no counter showed: the count is a guess there."""
    unknown_widths: tuple[int, ...] = ()
    """The widths at which that is unknown; empty for all."""
    in_turn: bool = False
    """True if lanes that meet at a word go one after the other; else one wavefront serves them all."""
    least: str = ""
    """Why it can take more than a count by these addresses alone; empty where nothing else matters."""

    def __post_init__(self) -> None:
        assert all(WAVEFRONT % width == 0 for width in self.widths)
        assert all(0 < distance < LANES and distance & distance - 1 == 0 for distance in self.pairs)

    @classmethod
    def of(cls, name: Operation | str) -> Operation:
        """Return the operation of that name."""
        if isinstance(name, Operation):
            return name
        if name not in OPERATIONS:
            known = " ".join(OPERATIONS)
            raise LayoutError("TW601", f"{name!r} is no access of shared memory", hint=f"known: {known}")
        return OPERATIONS[name]

    @property
    def matrix(self) -> bool:
        """Return True if lanes supply addresses of rows that other lanes hold."""
        return self.name in ("ldmatrix", "stmatrix")

    def together(self, bytes: int) -> int:
        """Return the lanes of a phase."""
        if bytes not in self.widths:
            widths = ", ".join(map(str, self.widths))
            raise LayoutError("TW602", f"{self.name} of {bytes} bytes a lane", hint=f"it has {widths}")
        return min(LANES, WAVEFRONT // bytes)

    def guessed(self, bytes: int) -> bool:
        """Return True if the count is a guess at that width.

        >>> atom = Operation.of("atom")
        >>> [atom.guessed(bytes) for bytes in atom.widths]
        [False, True]
        """
        return bool(self.unknown) and (not self.unknown_widths or bytes in self.unknown_widths)


OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation("ld", (1, 2, 4, 8, 16), False, (1, 2), FORUM_PAIRS),
        Operation("st", (1, 2, 4, 8, 16), True, (), GUIDE_BANKS),
        Operation("ldmatrix", (ROW_BYTES,), False, (), PTX_LDMATRIX),
        Operation("stmatrix", (ROW_BYTES,), True, (), PTX_LDMATRIX),
        Operation(
            "cp.async",
            (4, 8, 16),
            True,
            (),
            DEVICE_COUNTERS,
            in_turn=True,
            least="its lanes take turns at the banks that they read, too. Along a row these differ, and "
            "nothing is added; cp.async.cg, past the L1, takes none",
        ),
        Operation(
            "atom",
            (4, 8),
            True,
            (),
            DEVICE_COUNTERS,
            "what 8 bytes cost: those of 4 were counted",
            unknown_widths=(8,),
            in_turn=True,
        ),
        Operation("tma", (CHUNK,), True, (), GUIDE_TMA, "in which order its rows go, which no counter shows"),
    )
}
"""Every operation by name.

The counters of an H200 agreed with this table for all of 3,400 requests: loads, stores, ldmatrix and
stmatrix, and atomics of 4 bytes. Of asynchronous copies they agreed with the rule for both sides. The
record is in the tests. `unknown` marks rows that go further. A measurement that disagrees changes one row.
"""


def bank(address: int) -> int:
    """Return the bank that holds the byte at an address.

    >>> [bank(address) for address in (0, 3, 4, 124, 128)]
    [0, 0, 1, 31, 0]
    """
    return address // WORD % BANKS
