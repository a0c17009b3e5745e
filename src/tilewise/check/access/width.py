"""The widest vectors that an access can have, and what blocks wider ones."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewise.check.access.access import Access
from tilewise.check.access.addresses import lanes_in
from tilewise.check.access.question import Question
from tilewise.check.access.stored import BYTE
from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.core.layout import Layout
from tilewise.hardware.memory.banks import Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True)
class Width:
    """The widest access that there is, and why there is no wider one."""

    access: Access
    next: int | None
    """Bytes of the next wider one; None where no instruction has it."""
    blocked: Refused | None
    """Why it is none: `rule` in its witness says what is broken."""
    question: Question = field(repr=False, compare=False)

    @property
    def asked(self) -> int | None:
        """The width that was asked for, where the answer to it is no; `widest` itself leaves it aside."""
        said = self.question.bytes
        return said if said is not None and said > self.bytes else None

    @property
    def refusal(self) -> Refused | None:
        """Why what was asked for is no width of this access."""
        if self.asked is None:
            return None
        try:
            access = self.question.access(self.asked)
            lanes_in(self.question.stored, access)
        except Refused as no:
            return _by_base(self.question, self.asked, no)
        raise AssertionError(f"{self.access.name} is not the widest")

    @property
    def bytes(self) -> int:
        """Bytes of a lane."""
        return self.access.bytes

    @property
    def narrower(self) -> tuple[Access, ...]:
        """The same with narrower vectors, the widest first: a part of a legal vector is legal."""
        held = self.question.stored.dtype.bits
        widths = sorted(self.question.operation.widths, reverse=True)
        fitting = [bytes for bytes in widths if bytes < self.bytes and not bytes * BYTE % held]
        return tuple(self.question.access(bytes) for bytes in fitting)

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "access": self.access.name,
            "operation": self.access.operation.name,
            "bytes": self.bytes,
            "elements": self.access.elements,
            "requests": self.access.requests,
            "lanes": self.access.lanes,
            "idle": self.access.idle,
            "narrower": [access.name for access in self.narrower],
            "next": self.next,
            "reason": None if self.blocked is None else self.blocked.reason,
            "witness": None if self.blocked is None else self.blocked.witness,
        }

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
        postcondition  `lanes_of` has addresses for .access, and refuses the next width
        refused        TW610 where no width can be moved, with what is wrong with the narrowest

    >>> from tilewise import S
    >>> print(widest("row", S[(64, 96) : (100, 1)], "f16"))
    row:8B: 16 bytes are too many: lane 12 of request 0 asks for 16 bytes from element 96 on, which is at \
byte 200, no multiple of 16
    >>> print(widest("row", S[(64, 96) : (96, 1)], "f16", base=8))
    row:8B: 16 bytes are too many: the tile is at byte 8, no multiple of 16
    """
    return widest_of(Question.of(asked, layout, dtype, operation, base))


def widest_of(question: Question) -> Width:
    """The same, of a question that is understood."""
    own = question.pattern.bytes
    blocked: tuple[int, Refused] | None = None
    for bytes in sorted((own,) if own else question.operation.widths, reverse=True):
        try:
            access = question.access(bytes)
            lanes_in(question.stored, access)
        except Refused as no:
            # what is wrong with the narrowest vector of whole elements is wrong with all
            blocked = (bytes, no) if blocked is None or _whole(no) else blocked
            continue
        if blocked is None:
            return Width(access, None, None, question)
        return Width(access, blocked[0], _by_base(question, *blocked), question)
    assert blocked is not None
    raise _by_base(question, *blocked) if _whole(blocked[1]) or own else _of_type(question)


def _whole(no: Refused) -> bool:
    """Whether a refusal is about elements in memory, not about a width that holds no whole one."""
    return isinstance(no.witness, dict) and no.witness.get("rule") != "type"


def _of_type(question: Question) -> Refused:
    """Why there is no width at all: none that an instruction has is whole elements."""
    dtype, widths = question.stored.dtype, question.operation.widths
    return Refused(
        "TW610",
        f"no vector of {', '.join(map(str, widths))} bytes is whole elements of {dtype}, "
        f"which have {dtype.bits} bits",
        witness={"rule": "type", "bytes": max(widths), "bits": dtype.bits},
        hint="ask about the bytes that they are packed into, as u8" if dtype.bits % BYTE else "",
    )


def _by_base(question: Question, bytes: int, no: Refused) -> Refused:
    """Why a width is refused: the tile's address, where nothing else is in the way."""
    if not question.base % bytes or not isinstance(no.witness, dict):
        return no
    try:
        lanes_in(question.unmoved, question.access(bytes))
    except Refused:
        return no
    return Refused(
        "TW610",
        f"the tile is at byte {question.base}, no multiple of {bytes}",
        witness={"rule": "base", "base": question.base},
        hint=f"nothing else is in the way: put it at a multiple of {bytes}",
    )
