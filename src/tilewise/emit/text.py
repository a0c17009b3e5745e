"""Expressions as text: operators that C, C++, CUDA, Python and Triton share, and literals that differ.

Parentheses stand wherever two kinds of operators meet, except for a product in a sum. A product by a power
of two is a shift.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tilewise.emit.expressions import (
    Expr,
    Masked,
    Quotient,
    Remainder,
    Sum,
    Variable,
    Xor,
    is_division,
    is_power,
    lowest_bit,
    parts_of,
    quotient,
)
from tilewise.emit.names import Names

XOR, AND, SHIFT, SUM, PRODUCT, ATOM = range(6)
_PLAIN_DIGITS = 10


@dataclass(frozen=True, slots=True)
class Spelling:
    """What differs between languages: the sign of a division that rounds down, and large literals.

    With `fields_by_product` a sum has `(i & 7) * 8`: a CPU's compiler makes one instruction of the product
    and the sum, but of a shift after a mask a mask after a shift, which takes more.
    """

    division: str = "//"
    large: int | None = None
    suffix: str = ""
    fields_by_product: bool = False

    def number(self, number: int, mask: bool = False) -> str:
        """A literal; masks of several digits in hexadecimal, and without a sign where integers have none."""
        if mask and number < 0 and self.suffix:
            return f"~{self.number(~number, mask=True).removesuffix(self.suffix)}{self.suffix}"
        digits = f"{number:#x}" if mask and number >= _PLAIN_DIGITS else str(number)
        return digits + (self.suffix if self.large is not None and abs(number) > self.large else "")


PYTHON = Spelling()


@dataclass(frozen=True, slots=True)
class Body:
    """Named steps, then the results."""

    steps: tuple[tuple[str, str], ...]
    results: tuple[str, ...]


def body_of(expressions: Sequence[Expr], names: Names, spelling: Spelling = PYTHON) -> Body:
    """The expressions as text; what is used twice has a name.

    >>> from tilewise.emit.expressions import remainder, variable
    >>> x = variable("x", 0, 99)
    >>> body_of([quotient(x, 7), remainder(x, 7)], Names(["x"]))
    Body(steps=(('q', 'x // 7'),), results=('q', 'x - q * 7'))
    """
    written = with_shared_quotients(expressions)
    shared = _shared(written)
    letters = [_letter(part) for part in shared]
    text = _Text(spelling, {})
    steps = []
    for i, (part, letter) in enumerate(zip(shared, letters, strict=True)):
        number = str(letters[:i].count(letter)) if letters.count(letter) > 1 else ""
        spelled = text.of(part)[0]
        text.known[part] = names.free(letter + number)
        steps.append((text.known[part], spelled))
    return Body(tuple(steps), tuple(text.of(expression)[0] for expression in written))


def with_shared_quotients(expressions: Sequence[Expr]) -> list[Expr]:
    """As they are written: `x - q * 7` instead of `x % 7` where q = x // 7 is there."""
    quotients = {part for part in parts_of(expressions) if isinstance(part, Quotient)}
    done: dict[Expr, Expr] = {}

    def rewritten(part: Expr) -> Expr:
        if part not in done:
            done[part] = rewrite(part)
        return done[part]

    def rewrite(part: Expr) -> Expr:
        if isinstance(part, Remainder):
            whole = quotient(part.of[0], part.number)
            if whole in quotients:
                return Sum((rewritten(part.of[0]), rewritten(whole)), (0, 1, -part.number), part.known)
        return type(part)(tuple(map(rewritten, part.of)), part.numbers, part.known, part.name)

    return [rewritten(expression) for expression in expressions]


def _shared(expressions: Sequence[Expr]) -> list[Expr]:
    """What is used more than once and costs something, each after what it is made of."""
    uses = Counter(expressions)
    parts = list(parts_of(expressions))
    for part in parts:
        uses.update(part.of)
    return [part for part in parts if uses[part] > 1 and part.of]


def _letter(part: Expr) -> str:
    """q for a quotient, r for what it leaves, t for the rest."""
    if is_division(part):
        return "q"
    leaves = isinstance(part, Sum) and any(
        factor < -1 and is_division(term) and term.number % -factor == 0 for factor, term in part.terms
    )
    return "r" if leaves or isinstance(part, Remainder) else "t"


@dataclass(frozen=True, slots=True)
class _Text:
    """(text, kind of the outermost operator) of expressions, with names for those that are known."""

    spelling: Spelling
    known: dict[Expr, str]

    def of(self, expression: Expr) -> tuple[str, int]:
        if expression in self.known:
            return self.known[expression], ATOM
        if isinstance(expression, Variable):
            return expression.name, ATOM
        if isinstance(expression, Sum):
            return self._sum(expression)
        operands, number = [*map(self._operand, expression.of)], expression.number
        if isinstance(expression, Xor):
            flipped = [self.spelling.number(number, mask=True)] if number else []
            return " ^ ".join([*operands, *flipped]), XOR
        if isinstance(expression, Masked):
            return f"{operands[0]} & {self.spelling.number(number, mask=True)}", AND
        if isinstance(expression, Quotient) and not is_division(expression):
            return f"{operands[0]} >> {lowest_bit(number)}", SHIFT
        sign = self.spelling.division if isinstance(expression, Quotient) else "%"
        return f"{operands[0]} {sign} {self.spelling.number(number)}", PRODUCT

    def _operand(self, expression: Expr) -> str:
        text, kind = self.of(expression)
        return text if kind == ATOM else f"({text})"

    def _sum(self, total: Sum) -> tuple[str, int]:
        added, number = total.number, self.spelling.number
        if not total.of:
            return number(added), ATOM if added >= 0 else PRODUCT
        if len(total.of) == 1 and not added:
            return self._product(*total.terms[0])
        terms = sorted(total.terms, key=lambda term: term[0] < 0)  # what is taken away comes last
        words = [number(added)] if terms[0][0] < 0 < added else []
        for factor, term in terms:
            text, kind = self._product(abs(factor) if words else factor, term, in_sum=True)
            words += [
                *(["+" if factor > 0 else "-"] if words else []),
                text if kind >= PRODUCT else f"({text})",
            ]
        if added and not terms[0][0] < 0 < added:
            words += ["+" if added > 0 else "-", number(abs(added))]
        return " ".join(words), SUM

    def _product(self, factor: int, term: Expr, in_sum: bool = False) -> tuple[str, int]:
        """A shift where the factor is a power of two; not of what may be negative, which C does not shift."""
        if factor == 1:
            return self.of(term)
        if factor < 0:
            text, kind = self._product(-factor, term, in_sum)
            return f"-{text}" if kind == ATOM else f"-({text})", PRODUCT
        is_shift = isinstance(term, Quotient) and not is_division(term)
        is_field = in_sum and (is_shift or isinstance(term, Masked))
        if is_power(factor) and term.low >= 0 and not (is_field and self.spelling.fields_by_product):
            return f"{self._operand(term)} << {lowest_bit(factor)}", SHIFT
        return f"{self._operand(term)} * {self.spelling.number(factor)}", PRODUCT
