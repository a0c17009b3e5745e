"""Numbers with names in them as text of a language."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tilewise.core.errors import NotDecided
from tilewise.core.polynomials import Condition, Polynomial, Quotient, is_positive, rooted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.polynomials import Quantity


@dataclass(frozen=True)
class NumberText:
    """Numbers with names as text, with the sign of a quotient."""

    division: str
    rounds_up: bool
    """True where a quotient below 0 rounds up, as in C."""

    def number(self, value: Quantity) -> str:
        """Return a number, as a factor: a sum stands in parentheses."""
        text, is_sum = self._text(value)
        return f"({text})" if is_sum else text

    def divisor(self, value: Quantity) -> str:
        """Return a number, as what divides."""
        text, _ = self._text(value)
        return f"({text})" if " " in text else text

    def sum(self, value: Quantity) -> str:
        """Return a number as an addend."""
        return self._text(value)[0]

    def _text(self, value: Quantity) -> tuple[str, bool]:
        over, by = rooted(value)
        if by > 1:
            return f"{self.divisor(over)} {self.division} {by}", True
        if isinstance(over, int):
            return str(over), over < 0
        words: list[str] = []
        parts = sorted(over.terms.items(), key=lambda part: (part[1] < 0, -len(part[0]), str(part[0])))
        for mono, c in parts:
            atoms = [self._quotient(atom) if isinstance(atom, Quotient) else str(atom) for atom in mono]
            text = " * ".join([*atoms, *([str(abs(c))] if abs(c) != 1 or not atoms else [])])
            if words:
                words += ["-" if c < 0 else "+", text]
            else:
                words.append(f"-{text}" if c < 0 else text)
        return " ".join(words), len(parts) > 1 or parts[0][1] < 0

    def _quotient(self, atom: Quotient) -> str:
        if self.rounds_up and not is_positive(atom.over + 1):
            raise NotDecided(
                f"{atom.over} may be below 0, and this language rounds such a quotient up",
                hint="say more of its names, or take --as python",
            )
        return f"({self.divisor(atom.over)} {self.division} {self.divisor(atom.by)})"

    def total(self, terms: Iterable[tuple[str, Quantity]], offset: Quantity) -> str:
        """Return the sum of digits times their strides."""
        words: list[str] = []
        for digit, stride in terms:
            if isinstance(stride, int) and not stride:
                continue
            is_down = isinstance(stride, int) and stride < 0
            stride = -stride if is_down else stride
            by = "" if isinstance(stride, int) and stride == 1 else f" * {self.number(stride)}"
            operand = f"({digit})" if " " in digit and (by or is_down) else digit
            words += ["-" if is_down else "+"] if words else ["-"] if is_down else []
            words.append(operand + by)
        text = " ".join(words).replace("- ", "-", 1) if words[:1] == ["-"] else " ".join(words)
        return self.plus(text, offset)

    def plus(self, text: str, more: Quantity) -> str:
        """Return a text and a number more."""
        if isinstance(more, int) and not more:
            return text or "0"
        if not text:
            return self.sum(more)
        text = f"({text})" if "^" in text else text
        if isinstance(more, int) and more < 0:
            return f"{text} - {-more}"
        return f"{text} + {self.number(more)}"

    def condition(self, condition: Condition, truth: bool) -> str:
        """Return a fact as a comparison in the language."""
        if condition.kind == "%":
            sign = "==" if truth else "!="
            return f"{self.divisor(condition.over)} % {self.divisor(condition.by)} {sign} 0"
        assert isinstance(condition.over, Polynomial)
        sign = condition.kind if truth else "!=" if condition.kind == "==" else "<"
        above = {mono: c for mono, c in condition.over.terms.items() if c > 0 and mono}
        below = {mono: -c for mono, c in condition.over.terms.items() if c < 0 and mono}
        constant = condition.over.constant
        if not above:
            above, below, constant, sign = below, above, -constant, {">=": "<=", "<": ">"}.get(sign, sign)
        other = below | ({(): -constant} if constant else {})
        return f"{self.sum(Polynomial(above))} {sign} {self.sum(Polynomial(other)) if other else 0}"
