"""What is written: a function from arguments to results, before it is spelled in a language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewise.emit.expressions import Expr, Variable, parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.layout import Layout


@dataclass(frozen=True, slots=True)
class Range:
    """An integer by its name, and the ends between which it lies; None where they were not decided."""

    name: str
    low: int | None
    high: int | None

    def __str__(self) -> str:
        if self.low is None:
            return self.name
        if self.low == self.high:
            return f"{self.name} = {self.low}"
        return f"{self.name} in {self.low}..{self.high}"


@dataclass(frozen=True, slots=True)
class Function:
    """A function of named arguments; its results are the expressions, in order."""

    name: str
    arguments: tuple[Range, ...]
    results: tuple[Range, ...]
    expressions: tuple[Expr, ...]
    layout: Layout
    sentences: tuple[str, ...]
    """What it computes, for the comment above it."""

    @property
    def comment(self) -> tuple[str, ...]:
        """The lines of the comment: the layout, what is computed, the ranges."""
        ranges = [", ".join(map(str, ends)) for ends in (self.arguments, self.results)]
        return (str(self.layout), *self.sentences, "; ".join(filter(None, ranges)))

    @property
    def unused(self) -> tuple[str, ...]:
        """The arguments on which no result depends."""
        used = {part.name for part in parts_of(self.expressions) if isinstance(part, Variable)}
        return tuple(argument.name for argument in self.arguments if argument.name not in used)


def listed(names: Sequence[str]) -> str:
    """Names as words of a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
