"""What a plan asks of the way that its elements go, whichever it is.

What writes a way's kernel is in `tilewise.moves.kernels.text`, what says it in sentences in
`tilewise.moves.lines`: a new way is a class as this one, a row in both, and a line in `choice`.
"""

from __future__ import annotations

from typing import Any, Protocol


class Way(Protocol):
    """How elements go from the source to the target."""

    @property
    def kind(self) -> str:
        """How it moves: `copy` all together, `tile` by shared memory, `gather` apart."""

    # -- the launch --------------------------------------------------------------------------------

    @property
    def blocks(self) -> int:
        """How many blocks of threads there are; none where a copy of memory is enough."""

    @property
    def threads(self) -> int:
        """Threads of a block."""

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory of a block."""

    def alignment(self, aligned: int) -> int:
        """Bytes to which both pointers are to be, where storages are aligned to as many."""

    # -- what it writes ----------------------------------------------------------------------------

    @property
    def stays(self) -> bool:
        """Whether every element stays where it is."""

    @property
    def fills_beyond(self) -> bool:
        """Whether elements beyond the box are filled on the way."""

    @property
    def changes_words(self) -> bool:
        """Whether elements of less than a byte are changed in words of 4 bytes."""

    # -- what it costs -----------------------------------------------------------------------------

    def sectors(self, aligned: int) -> tuple[float, float] | None:
        """Sectors that blocks read, and write, for as many bytes of elements as one has.

        None where threads take elements one by one: which sectors they share, a cache decides.
        """

    @property
    def rate(self) -> float | None:
        """What it reaches of a copy's rate; None where none was measured.

        It is less by as much as its sectors are more than a copy's.
        """

    @property
    def vectors(self) -> tuple[int, int]:
        """Bytes that a thread reads, and writes, at once."""

    # -- its tile ----------------------------------------------------------------------------------

    @property
    def swizzle(self) -> str | None:
        """That of the tile in shared memory, over bytes; None where its rows lie apart, or where none is."""

    @property
    def named_extents(self) -> dict[str, Any] | None:
        """The tile as JSON has it; None where none is."""

    def together(self, bits: int) -> int:
        """How many elements of so many bits, that stay neighbours on both sides, are one of the tile's."""
