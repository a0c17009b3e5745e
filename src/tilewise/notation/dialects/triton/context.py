"""What an encoding's meaning hangs on beside its text: the version of Triton, and the type of an element."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.notation.dialects.triton.attributes import Encoding

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

    def elements_in_32_bits(self, encoding: Encoding) -> int:
        """Return how many elements a register or an unpacked column of 32 bits holds."""
        if self.dtype is None:
            message = f"{encoding.name} fills 32 bits with elements: say how many bits one has"
            raise encoding.error("TW105", message, hint="--dtype f16")
        return max(1, 32 // self.dtype.bits)
