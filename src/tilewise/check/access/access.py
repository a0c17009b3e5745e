"""What the lanes of a warp ask of a tile, instruction after instruction, and the addresses that follow.

An access is a layout as well: [request, lane, element] to a flat index of the tile. Composed with the tile's
layout it gives addresses; a lane's elements must follow one another there, for an instruction moves
neighbouring bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.shapes import Shape, extents_of, size_of
from tilewise.hardware.limits import LANES
from tilewise.hardware.memory.banks import Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Access:
    """Which elements of a tile the lanes of a warp ask for, one instruction after the other.

    requires  index has the shape (requests, lanes, elements of one lane); its places are flat indices of
              the tile, row-major. Lanes that it does not have are inactive, and so is one whose index
              is past the end of the tile
    """

    name: str
    """The text that asks for it again: `row:16B`, `ldmatrix.x4.trans`, or the layout itself."""
    operation: Operation
    dtype: DType
    tile: Shape
    index: Layout = field(repr=False)
    trans: bool = False
    """Whether the matrices of ldmatrix or stmatrix are transposed on the way; addresses are the same."""

    def check_size(self, size: int) -> None:
        """Refuse a tile of another number of elements."""
        own = size_of(self.tile)
        if own != size:
            raise LayoutError("TW202", f"{self.name} is an access of {own} elements, and the tile has {size}")

    @cached_property
    def requests(self) -> int:
        """Instructions that one warp executes for the whole access."""
        return extents_of(self.index.shape)[0]

    @cached_property
    def lanes(self) -> int:
        """Lanes that supply an address."""
        return extents_of(self.index.shape)[1]

    @property
    def idle(self) -> int:
        """Lanes of a warp that no request has; of matrices and of TMA fewer lanes do the whole."""
        whole = self.operation.matrix or self.operation.name == "tma"
        return 0 if whole else LANES - self.lanes

    @property
    def idle_said(self) -> str:
        """A sentence about the idle lanes, or nothing.

        >>> from tilewise import S
        >>> from tilewise.check.access import access_of
        >>> access_of("S[(2, 8, 8) : (64, 8, 1)]", S[(16, 8)], "f16").idle_said
        '8 of 32 lanes ask, and 24 are idle: of three modes the first counts requests, the second lanes'
        """
        if not self.idle:
            return ""
        of_modes = self.requests > 1 and self.name.startswith(("S[", "("))
        why = ": of three modes the first counts requests, the second lanes" if of_modes else ""
        idle = f"{self.idle} {'is' if self.idle == 1 else 'are'} idle"
        return f"{self.lanes} of {LANES} lanes ask, and {idle}{why}"

    @cached_property
    def elements(self) -> int:
        """Elements that follow the address of one lane."""
        return extents_of(self.index.shape)[2]

    @property
    def bytes(self) -> int:
        """Bytes that follow the address of one lane."""
        return self.elements * self.dtype.bits // 8


@dataclass(frozen=True)
class Lanes:
    """The byte addresses of an access of a tile that has a place.

    postcondition  table[request, lane] is the address, -1 where the lane is inactive; where all are
                   active, and composition has an answer, also a layout of those two modes
    """

    access: Access
    layout: Layout | None = field(repr=False)
    """[request, lane] to a byte address, where composition has an answer."""
    listed: np.ndarray | None = field(default=None, repr=False)
    """The same as an array, where it has none."""

    def request(self, number: int) -> list[int | None]:
        """The address of every lane in one request; None where it asks for nothing."""
        if not 0 <= number < self.access.requests:
            raise LayoutError(
                "TW201",
                f"there is no request {number}",
                hint=f"requests are 0..{self.access.requests - 1}",
            )
        if self.layout is None:
            assert self.listed is not None
            return [None if address < 0 else address for address in self.listed[number].tolist()]
        first = number * self.access.lanes
        return [self.layout.points(first + lane)[0][0] for lane in range(self.access.lanes)]

    @cached_property
    def table(self) -> np.ndarray:
        """The addresses as an array (requests, lanes)."""
        from tilewise.tables import table

        if self.layout is None:
            assert self.listed is not None
            return self.listed
        return table(self.layout).array.reshape(self.access.requests, self.access.lanes)
