"""The widest vectors that an access can have, and what blocks wider ones."""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.check.access.access import Access
from tilewise.check.access.addresses import lanes_in
from tilewise.check.access.question import Question
from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.core.layout import Layout
from tilewise.hardware.memory.banks import Operation


@dataclass(frozen=True)
class Width:
    """The widest access that there is, and why there is no wider one."""

    access: Access
    next: int | None
    """Bytes of the next wider one; None where no instruction has it."""
    blocked: Refused | None
    """Why it is none."""

    @property
    def bytes(self) -> int:
        """Bytes of a lane."""
        return self.access.bytes

    def __str__(self) -> str:
        if self.blocked is None:
            return f"{self.access.name}: no instruction is wider"
        return f"{self.access.name}: {self.next} bytes are too many: {self.blocked.reason}"


def widest(
    asked: Layout | str,
    layout: Layout,
    dtype: DType | str,
    operation: Operation | str | None = None,
    base: int = 0,
) -> Width:
    """The widest vectors with which an access can be made, of a tile at the byte address `base`.

        requires       what `access_of` requires; a width that is said is left aside
        postcondition  `lanes_of` has addresses for .access, and refuses the next width with .blocked
        refused        TW610 where no width can be moved, with what is wrong with the narrowest

    >>> from tilewise import S
    >>> print(widest("row", S[(64, 96) : (100, 1)], "f16"))
    row:8B: 16 bytes are too many: lane 12 of request 0 asks for 16 bytes from element 96 on, which is at \
byte 200, no multiple of 16
    """
    return widest_of(Question.of(asked, layout, dtype, operation, base))


def widest_of(question: Question) -> Width:
    """The same, of a question that is understood."""
    wider: int | None = None
    blocked: Refused | None = None
    own = question.pattern.bytes
    for bytes in sorted((own,) if own else question.operation.widths, reverse=True):
        try:
            access = question.access(bytes)
            lanes_in(question.stored, access)
        except Refused as no:
            # the narrowest width that fails says what is wrong, unless it is no whole element at all
            if blocked is None or _of_lanes(no) or not _of_lanes(blocked):
                wider, blocked = bytes, no
            continue
        return Width(access, wider, blocked)
    assert blocked is not None
    raise blocked


def _of_lanes(no: Refused) -> bool:
    """Whether a refusal is about elements in memory, not about their size."""
    return isinstance(no.witness, dict) and "bits" not in no.witness
