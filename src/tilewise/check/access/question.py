"""What is asked of a tile, once its words are understood: a pattern, what moves it, and how wide."""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.check.access.access import Access
from tilewise.check.access.patterns import Pattern, pattern_from, pattern_of
from tilewise.check.access.spelling import Words, spelled
from tilewise.check.access.stored import BYTE, Stored
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused, of_kind
from tilewise.core.layout import Layout
from tilewise.hardware.memory.banks import Operation


@dataclass(frozen=True, slots=True)
class Question:
    """A pattern of a tile, for an instruction."""

    pattern: Pattern
    operation: Operation
    stored: Stored
    bytes: int | None
    """The width of a vector, where it is said."""
    base: int
    """The tile's address."""
    unmoved: Stored
    """The tile at address 0."""

    @classmethod
    def of(
        cls,
        asked: Layout | str,
        layout: Layout,
        dtype: DType | str,
        operation: Operation | str | None = None,
        base: int = 0,
    ) -> Question:
        """What a text, or a layout, asks."""
        stored = Stored.of(layout, dtype, base)
        if not isinstance(asked, str):
            asked = of_kind(asked, Layout, "an access", "such as row:16B, or a layout of (lane, element)")
            words, pattern = Words("", None, None), pattern_from(asked, stored)
        else:
            words = Words.of(asked)
            pattern = pattern_of(words.subject, stored)
        own = _operation(pattern, words, operation)
        unmoved = Stored.of(layout, dtype) if base else stored
        return cls(pattern, own, stored, _bytes(pattern, words), base, unmoved)

    def access(self, bytes: int) -> Access:
        """The access with vectors of so many bytes.

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
        said = None if self.operation.name == pattern.operation else self.operation.name
        name = spelled(pattern.name, width, said)
        shape = self.stored.layout.shape
        return Access(name, self.operation, dtype, shape, pattern.index(elements), pattern.trans)


def _bytes(pattern: Pattern, words: Words) -> int | None:
    """The width that the instruction has, or that words say."""
    if pattern.bytes is not None and words.bytes not in (None, pattern.bytes):
        raise LayoutError(
            "TW602", f"{pattern.name} of {words.bytes} bytes a lane", hint=f"its rows have {pattern.bytes}"
        )
    return pattern.bytes or words.bytes


def _operation(pattern: Pattern, words: Words, asked: Operation | str | None) -> Operation:
    """What moves it: as the name has it, the suffix, or the argument."""
    said = [words.operation] if words.operation else []
    said += [Operation.of(asked).name] if asked is not None else []
    said += [pattern.operation] if pattern.bytes or not said else []
    own = Operation.of(said[-1])
    if len(set(said)) > 1:
        raise LayoutError(
            "TW601",
            f"{pattern.name} by {own.name}, and by {said[0]}",
            hint="say one of them; the operation of one access alone stands behind it: row:16B@cp.async",
        )
    if own.matrix and not pattern.bytes:
        raise LayoutError("TW601", f"{own.name} has patterns of its own", hint=f"such as {own.name}.x4")
    return own
