"""What an encoding's meaning hangs on beside its text: the version of Triton, and the type of an element."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.notation.dialects.triton.attributes import Encoding
from tilewise.notation.dialects.triton.tile import REGISTER, Tile

NEWEST = (3, 9)


@dataclass(slots=True)
class Context:
    """The version that printed a text, the type of an element, and what is to be said of choices."""

    number: tuple[int, ...] = NEWEST
    given: bool = False
    dtype: DType | None = None
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, text: str | None, dtype: DType | None = None) -> Context:
        """Return the context for a version; without one it is the newest that is known here.

        >>> Context.of("3.2.0").number, Context.of(None).number
        ((3, 2), (3, 9))
        """
        if text is None:
            return cls(dtype=dtype)
        found = re.fullmatch(r"v?(\d{1,4})\.(\d{1,4})(?:\.\S{0,20})?", text)
        if found is None:
            raise LayoutError("TW001", f"{text!r} is no version of Triton", hint="such as --triton 3.2")
        return cls((int(found[1]), int(found[2])), True, dtype)

    def before(self, major: int, minor: int) -> bool:
        """Return whether the text is older than a version."""
        return self.number < (major, minor)

    def note(self, sentence: str) -> None:
        """Say something of the reading, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def elements_in_32_bits(self, encoding: Encoding) -> int:
        """Return how many elements a register or an unpacked column of 32 bits holds."""
        if self.dtype is None:
            message = f"{encoding.name} fills 32 bits with elements: say how many bits one has"
            raise encoding.error("TW105", message, hint="--dtype f16")
        return max(1, 32 // self.dtype.bits)

    def without_spare_registers(self, tile: Tile, encoding: Encoding) -> Tile:
        """Drop the registers of #ttg.blocked that reach beyond the shape; before 3.9 they held copies.

        Found with the compilers themselves: 3.8.0 answers to_linear_layout with bases of 0 for them, 3.9.0
        with none.
        """
        spare = sum(not any(basis) for basis in tile.bases[REGISTER])
        if not spare:
            return tile
        copies, beyond = f"{1 << spare} copies in registers", f"{encoding.name} reaches beyond the shape"
        if self.before(3, 9):
            self.note(f"{beyond}: {copies}, as in Triton before 3.9")
            return tile
        if not self.given:
            self.note(f"{beyond}: Triton before 3.9 made {copies} (--triton 3.8)")
        return tile.without(REGISTER)
