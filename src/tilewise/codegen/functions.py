"""A function from arguments to results, before its text in a language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from tilewise.codegen.expressions import Expr, Variable, parts_of
from tilewise.core.orders import by_flat_index
from tilewise.core.polynomials import is_named
from tilewise.core.shapes import coordinates, flat_index, leaves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.layout import Iter, Layout


@dataclass(frozen=True, slots=True)
class Range:
    """An integer by its name, and the ends between which it lies; None where they are not decided.

    Ends may have names in them.
    """

    name: str
    low: Any
    high: Any

    def __str__(self) -> str:
        if self.low is None:
            return self.name
        if not is_named(self.high) and not is_named(self.low) and self.low == self.high:
            return f"{self.name} = {self.low}"
        return f"{self.name} in {self.low}..{self.high}"


@dataclass(frozen=True, slots=True)
class Index:
    """The form of an element's index: one number a mode, or flat in one of two orders."""

    flat: bool = False
    leftmost_fastest: bool = False

    @property
    def order(self) -> str:
        """Return the order of a flat index, in words."""
        if self.leftmost_fastest:
            return "CuTe's order, the first mode fastest"
        return "row-major, the last mode fastest"

    def counted(self, layout: Layout) -> Layout:
        """Return the layout whose row-major flat index is this one."""
        if not (self.flat and self.leftmost_fastest):
            return layout
        return by_flat_index(layout.in_order("cute"))

    def modes(self, layout: Layout) -> list[Sequence[Iter]]:
        """Return the iters that each number of the index counts."""
        if self.flat:
            return [self.counted(layout).shard]
        iters = iter(layout.shard)
        return [[*islice(iters, sum(1 for _ in leaves(mode)))] for mode in layout.shape]

    def names(self, layout: Layout) -> list[str]:
        """Return the names of its numbers: `x`, `i, j, k` for up to three modes, or `i0, i1, ...`."""
        count = len(layout.shape)
        return ["x"] if self.flat else [*"ijk"[:count]] if count <= 3 else [f"i{n}" for n in range(count)]

    def of(self, layout: Layout, row_major: int) -> int:
        """Return a row-major flat index in the order of this one.

        >>> from tilewise import S
        >>> Index(leftmost_fastest=True).of(S[4, 8], 1)
        4
        """
        if not self.leftmost_fastest:
            return row_major
        return flat_index(coordinates(row_major, layout.shape), layout.shape, "cute")


@dataclass(frozen=True, slots=True)
class Function:
    """A function of named arguments; its results are the expressions, in order."""

    name: str
    arguments: tuple[Range, ...]
    results: tuple[Range, ...]
    expressions: tuple[Expr, ...]
    layout: Layout
    index: Index
    sentences: tuple[str, ...]
    """Sentences on its results, for the comment above it."""
    is_inverse: bool = False
    """True if it goes from places to indices."""
    text: str = ""
    """The layout's spelling in the comment, if it differs from this project's."""

    @property
    def comment(self) -> tuple[str, ...]:
        """Return the lines of the comment: the layout, the results, the ranges."""
        ranges = [", ".join(map(str, ends)) for ends in (self.arguments, self.results)]
        return (self.text or str(self.layout), *self.sentences, "; ".join(filter(None, ranges)))

    @property
    def unused(self) -> tuple[str, ...]:
        """Return the arguments on which no result depends."""
        used = {part.name for part in parts_of(self.expressions) if isinstance(part, Variable)}
        return tuple(argument.name for argument in self.arguments if argument.name not in used)


def listed(names: Sequence[str]) -> str:
    """Return names as words of a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
