"""`access_of`: from a user's request to the access of a tile; `widest`: the widest vectors, and the obstacle
to wider ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tilewise.check.access.access import BYTE, Access, Stored
from tilewise.check.access.addresses import lanes_in
from tilewise.check.access.patterns import Pattern, Words, pattern_from, pattern_of, spelled
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused, of_kind
from tilewise.core.layout import Layout
from tilewise.hardware.memory.banks import Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FIXED = ("ldmatrix", "stmatrix", "tma")
"""Patterns of one instruction, which no other instruction moves."""


def access_of(
    asked: Access | Layout | str,
    layout: Layout,
    dtype: DType | str,
    operation: Operation | str | None = None,
    base: int = 0,
) -> Access:
    """Return the access of a tile that a text, or a layout, describes.

    Without a width, vectors are the widest possible, of a tile at the byte address `base`.

        requires       a text as docs/banks.md has them; a layout of (lane), (lane, element) or (request,
                       lane, element) to flat indices, or of who holds which element over laneid and reg
        postcondition  access_of(access.name, layout, dtype) == access
        refused        TW610 no instruction makes it, and why; TW502 an index that the tile has not

    >>> from tilewise import S
    >>> tile = S[(64, 64) : (64, 1)]
    >>> access = access_of("row", tile, "f16")
    >>> print(access.name, access.operation.name, access.index)
    row:16B ld S[(16, 32, 8) : (256, 8, 1)]
    >>> access_of("wgmma.D:f32:n64", tile, "f16").name
    'wgmma.D:f32:n64:4B'
    >>> access_of(S[(32, 4) : (64, 1)], tile, "f16", "st").name
    'S[(32, 4) : (64, 1)]:8B@st'
    """
    if not isinstance(asked, Access):
        question = Question.of(asked, layout, dtype, operation, base)
        return question.widest().access if question.bytes is None else question.access(question.bytes)
    asked.check_size(layout.size)
    element = DType.of(dtype)
    if element != asked.dtype:
        raise LayoutError(
            "TW202", f"{asked.name} is an access of elements of {asked.dtype}, not of {element}"
        )
    mover = asked.operation if operation is None else Operation.of(operation)
    if mover == asked.operation:
        return asked
    words = Words.of(asked.name)
    if mover.matrix or words.subject.split(".")[0] in FIXED:
        raise LayoutError(
            "TW601", f"{asked.name} by {mover.name}", hint=f"its instruction is {asked.operation.name}"
        )
    return replace(asked, name=spelled(words.subject, words.bytes, mover.name), operation=mover)


def widest(
    asked: Layout | str,
    layout: Layout,
    dtype: DType | str,
    operation: Operation | str | None = None,
    base: int = 0,
) -> Width:
    """Return the widest vectors with which an access can be made, of a tile at the byte address `base`.

        requires       what `access_of` requires; a width in the text is left aside
        postcondition  `lanes_of` has addresses for .access, and refuses the next width
        refused        TW610 where no width can be moved, with what is wrong with the narrowest

    >>> from tilewise import S
    >>> print(widest("row", S[(64, 96) : (100, 1)], "f16"))
    row:8B: 16 bytes are too many: lane 12 of request 0 asks for 16 bytes from element 96 on, which is at \
byte 200, no multiple of 16
    >>> print(widest("row", S[(64, 96) : (96, 1)], "f16", base=8))
    row:8B: 16 bytes are too many: the tile is at byte 8, no multiple of 16
    """
    return Question.of(asked, layout, dtype, operation, base).widest()


@dataclass(frozen=True, slots=True)
class Question:
    """A pattern of a tile, for an instruction."""

    pattern: Pattern
    operation: Operation
    stored: Stored
    bytes: int | None
    """The width of a vector, where the words have one."""
    base: int
    """The tile's address."""

    @classmethod
    def of(
        cls,
        asked: Layout | str,
        layout: Layout,
        dtype: DType | str,
        operation: Operation | str | None = None,
        base: int = 0,
    ) -> Question:
        """Return the question of a text, or of a layout."""
        stored = Stored.of(layout, dtype, base)
        if isinstance(asked, str):
            words = Words.of(asked)
            pattern = pattern_of(words.subject, stored)
        else:
            asked = of_kind(asked, Layout, "an access", "such as row:16B, or a layout of (lane, element)")
            words, pattern = Words("", None, None), pattern_from(asked, stored)
        mover = _operation(pattern, words, operation)
        if pattern.bytes is not None and words.bytes not in (None, pattern.bytes):
            raise LayoutError(
                "TW602",
                f"{pattern.name} of {words.bytes} bytes a lane",
                hint=f"its rows have {pattern.bytes}",
            )
        return cls(pattern, mover, stored, pattern.bytes or words.bytes, base)

    def access(self, bytes: int) -> Access:
        """Return the access with vectors of so many bytes.

        refused  TW610 elements of which no whole number has so many bytes
        """
        self.operation.together(bytes)
        dtype, pattern = self.stored.dtype, self.pattern
        elements, rest = divmod(bytes * BYTE, dtype.bits)
        if rest or not elements:
            raise Refused(
                "TW610",
                f"{bytes} byte{'s are' if bytes > 1 else ' is'} no whole number of elements of {dtype}, "
                f"which have {dtype.bits} bits",
                witness={"rule": "type", "bytes": bytes, "bits": dtype.bits},
            )
        width = None if pattern.bytes else bytes
        mover = None if self.operation.name == pattern.operation else self.operation.name
        name = spelled(pattern.name, width, mover)
        shape = self.stored.layout.shape
        return Access(name, self.operation, dtype, shape, pattern.index(elements), pattern.trans)

    def widest(self) -> Width:
        """Return the widest access, and the reason against a wider one."""
        only = self.pattern.bytes
        blocked: tuple[int, Refused] | None = None
        for bytes in sorted((only,) if only else self.operation.widths, reverse=True):
            try:
                access = self.access(bytes)
                lanes_in(self.stored, access)
            except Refused as no:
                # a fault of the narrowest vector of whole elements is a fault of all
                blocked = (bytes, no) if blocked is None or _in_memory(no) else blocked
                continue
            if blocked is None:
                return Width(access, None, None, self)
            return Width(access, blocked[0], self._by_base(*blocked), self)
        assert blocked is not None
        if _in_memory(blocked[1]) or only:
            raise self._by_base(*blocked)
        dtype, widths = self.stored.dtype, self.operation.widths
        raise Refused(
            "TW610",
            f"no vector of {', '.join(map(str, widths))} bytes is whole elements of {dtype}, "
            f"which have {dtype.bits} bits",
            witness={"rule": "type", "bytes": max(widths), "bits": dtype.bits},
            hint="ask about the bytes that they are packed into, as u8" if dtype.bits % BYTE else "",
        )

    def refusal(self, bytes: int) -> Refused | None:
        """Return the reason against vectors of so many bytes, or None."""
        try:
            lanes_in(self.stored, self.access(bytes))
        except Refused as no:
            return self._by_base(bytes, no)
        return None

    def _by_base(self, bytes: int, no: Refused) -> Refused:
        """Return the refusal of a width: the tile's address, where there is no other reason."""
        if not self.base % bytes or not isinstance(no.witness, dict):
            return no
        unmoved = Stored.of(self.stored.tile, self.stored.dtype)
        if replace(self, stored=unmoved, base=0).refusal(bytes):
            return no
        return Refused(
            "TW610",
            f"the tile is at byte {self.base}, no multiple of {bytes}",
            witness={"rule": "base", "base": self.base},
            hint=f"nothing else is in the way: put it at a multiple of {bytes}",
        )


def _operation(pattern: Pattern, words: Words, argument: Operation | str | None) -> Operation:
    """Return the operation of the name, of the suffix, or of the argument, which must agree."""
    names = [words.operation] if words.operation else []
    names += [Operation.of(argument).name] if argument is not None else []
    names += [pattern.operation] if pattern.bytes or not names else []
    operation = Operation.of(names[-1])
    if len(set(names)) > 1:
        raise LayoutError(
            "TW601",
            f"{pattern.name} by {operation.name}, and by {names[0]}",
            hint="say one of them; the operation of one access alone stands behind it: row:16B@cp.async",
        )
    if operation.matrix and not pattern.bytes:
        raise LayoutError(
            "TW601", f"{operation.name} has patterns of its own", hint=f"such as {operation.name}.x4"
        )
    return operation


def _in_memory(no: Refused) -> bool:
    """Return True if a refusal is about elements in memory, not about a width that holds no whole element."""
    return isinstance(no.witness, dict) and no.witness.get("rule") != "type"


@dataclass(frozen=True)
class Width:
    """The widest possible access, and the reason against a wider one."""

    access: Access
    next: int | None
    """Bytes of the next wider vector; None where no instruction has it."""
    blocked: Refused | None
    """The refusal of that width: `rule` in its witness names the broken rule."""
    question: Question = field(repr=False, compare=False)

    @property
    def asked(self) -> int | None:
        """Return the width in the text, where it is too wide; `widest` ignores it."""
        bytes = self.question.bytes
        return bytes if bytes is not None and bytes > self.bytes else None

    @property
    def refusal(self) -> Refused | None:
        """Return the reason why the width in the text is no width of this access, or None."""
        return None if self.asked is None else self.question.refusal(self.asked)

    @property
    def bytes(self) -> int:
        """Return the bytes of a lane."""
        return self.access.bytes

    @property
    def narrower(self) -> tuple[Access, ...]:
        """Return the access with narrower vectors, the widest first: a part of a legal vector is legal."""
        bits = self.question.stored.dtype.bits
        widths = sorted(self.question.operation.widths, reverse=True)
        fitting = [bytes for bytes in widths if bytes < self.bytes and not bytes * BYTE % bits]
        return tuple(self.question.access(bytes) for bytes in fitting)

    def as_dict(self) -> dict[str, Any]:
        """Return the width as plain data."""
        return self.access.as_dict() | {
            "elements": self.access.elements,
            "narrower": [access.name for access in self.narrower],
            "next": self.next,
            "reason": None if self.blocked is None else self.blocked.reason,
            "witness": None if self.blocked is None else self.blocked.witness,
        }

    def __str__(self) -> str:
        if self.blocked is None:
            return f"{self.access.name}: no instruction is wider"
        return f"{self.access.name}: {self.next} bytes are too many: {self.blocked.reason}"
