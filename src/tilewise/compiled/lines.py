"""Lines of the source, which a text names for its instructions."""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True, slots=True, order=True)
class Line:
    """A line of the source.

    >>> str(Line("a.cu", 7))
    'a.cu:7'
    """

    file: str
    number: int

    def __str__(self) -> str:
        return f"{self.file}:{self.number}"


def line_data(line: Line | None) -> dict[str, Any] | None:
    """Return a line of the source as plain data."""
    return None if line is None else {"file": line.file, "number": line.number}
