"""Rows, columns and blocks: what of a place they are, how many there are, and what stands at their heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from tilewise.pictures.scene.model import Axis, Head, Heads, Rule, Term


@dataclass(frozen=True, slots=True)
class Line:
    """One direction of a panel."""

    rule: Rule = ()
    extent: int = 1
    heads: Heads = ()
    slot: Rule = ()
    """Where in its cell an element lies, of `slots`."""
    slots: int = 1
    width: int = 1
    """Cells that an element takes."""

    @property
    def name(self) -> str:
        """What the numbers of its heads are."""
        return ", ".join(head.name for head in self.heads if head.name)


def along(axes: Sequence[Axis]) -> Line:
    """All places of some axes, the last axis fastest.

    >>> line = along([Axis("wgid", "owner", 0, 1), Axis("wid_in_wg", "owner", 0, 3)])
    >>> line.extent, [head(5) for head in line.heads]
    (8, [1, 1])
    """
    if len(axes) == 1:
        (axis,) = axes
        return Line((Term(axis.name, axis.low),), extent(axis), (Head(axis.name, low=axis.low),))
    extents = [extent(axis) for axis in axes]
    terms, heads = [], []
    for i, axis in enumerate(axes):
        below = prod(extents[i + 1 :])
        terms.append(Term(axis.name, axis.low, multiply=below))
        heads.append(Head(axis.name, divide=below, modulo=extents[i], low=axis.low))
    return Line(tuple(terms), prod(extents), tuple(heads))


def of_index(axis: str, extents: Sequence[int], first: int, last: int) -> Line:
    """The rows or columns of the logical grid, headed by their coordinates.

    >>> [tuple(head(row) for head in of_index("@row", (4, 2), 2, 8).heads) for row in (0, 1)]
    [(1, 0), (1, 1)]
    """
    heads = []
    for i, own in enumerate(extents):
        below = prod(extents[i + 1 :])
        heads.append(Head("", start=first, divide=below, modulo=own if i else 0))
    return Line((Term(axis, first),), last - first, tuple(heads))


def wrapped(axis: Axis, wide: int) -> tuple[Line, Line]:
    """Rows and columns of an axis that goes on in the next row after `wide` places.

    >>> rows, columns = wrapped(Axis("m", "storage", 5, 21), 8)
    >>> rows.extent, columns.extent, [head(1) for head in rows.heads]
    (3, 8, [8])
    """
    first = axis.low // wide
    rows = Line(
        (Term(axis.name, first * wide, divide=wide),),
        axis.high // wide - first + 1,
        (Head(axis.name, start=first, multiply=wide),),
    )
    return rows, Line((Term(axis.name, modulo=wide),), wide, (Head("+"),))


def packs(bits: int | None) -> bool:
    """Whether elements fill words of 32 bits, or words an element."""
    return bits is not None and (32 % bits == 0 or bits % 32 == 0)


def packed(axis: Axis, bits: int, base: int = 0) -> Line:
    """Elements of so many bits in words of 32, counted from address 0, each a cell; `base` is in bits.

    >>> found = packed(Axis("TCol", "storage", 0, 7), 8)
    >>> found.extent, found.slots, [found.slot[0](x) for x in (0, 3, 4)]
    (2, 4, [0, 3, 0])
    """
    slots, width = max(1, 32 // bits), max(1, bits // 32)
    first, last = (axis.low * bits + base) // 32, (axis.high * bits + base) // 32 + width - 1
    slot = (Term(axis.name, -base, scale=bits, divide=bits, modulo=slots),) if slots > 1 else ()
    word = Term(axis.name, 32 * first - base, scale=bits, divide=32)
    return Line((word,), last - first + 1, (Head("column", start=first),), slot, slots, width)


def banked(axis: Axis, bits: int, base: int) -> tuple[Line, Line]:
    """Memory as rows of 32 banks of 4 bytes; `base` is in bits.

    >>> rows, words = banked(Axis("m", "storage", 0, 255), 16, 0)
    >>> rows.extent, words.extent, words.slots
    (4, 32, 2)
    """
    first, last = (axis.low * bits + base) // 1024, (axis.high * bits + base) // 1024
    rows = Line(
        (Term(axis.name, 1024 * first - base, scale=bits, divide=1024),),
        last - first + 1,
        (Head("byte", start=first, multiply=128),),
    )
    bank = Term(axis.name, -base, scale=bits, divide=32, modulo=32)
    return rows, replace(packed(axis, bits, base), rule=(bank,), extent=32, heads=(Head("bank"),))


def extent(axis: Axis) -> int:
    """How many places lie between an axis's ends."""
    return axis.high - axis.low + 1
