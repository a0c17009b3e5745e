"""Three-valued answers: yes, no with a witness, or not decided within the bound."""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.errors import NotDecided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to a yes-or-no question; a no has a reason and, where there is one, a witness.

    In an `if` it is its answer; an undecided one raises `NotDecided` there.

    >>> bool(Verdict(True)), bool(Verdict(False, "(0, 1) and (1, 0) share 5@m"))
    (True, False)
    """

    answer: bool | None
    reason: str = ""
    witness: Any = None

    def __bool__(self) -> bool:
        if self.answer is None:
            raise NotDecided(self.reason)
        return self.answer


YES = Verdict(True)


def undecided(question: str) -> Verdict:
    """The verdict on a question whose search ended at its bound."""
    return Verdict(None, f"not decided within the bound: {question}")
