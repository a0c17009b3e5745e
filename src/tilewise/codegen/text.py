"""Expressions as text: operators that C, C++, CUDA, Python and Triton share, and literals that differ.

Python and Triton need nothing else; integers of C have a width.

Parentheses stand wherever two kinds of operators meet, except for a product in a sum. A product by a power
of two is a shift.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tilewise.codegen.expressions import (
    Expr,
    Masked,
    Quotient,
    Remainder,
    Shifted,
    Sum,
    Variable,
    Xor,
    is_power,
    lowest_bit,
    parts_of,
    quotient,
)
from tilewise.codegen.functions import Function
from tilewise.codegen.names import FreeNames
from tilewise.core.errors import Refused
from tilewise.core.integers import number_text

XOR, AND, SHIFT, SUM, PRODUCT, ATOM = range(6)
_PLAIN_DIGITS = 10
LARGEST_INT = (1 << 31) - 1
WIDTHS = (32, 64)
"""Bits of the integers of C."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """The differences between languages: the sign of a division that rounds down, and large literals.

    With `fields_by_product` a sum has `(i & 7) * 8`: a CPU's compiler makes one instruction of the product
    and the sum. It would turn a shift after a mask into a mask after a shift, which costs more.
    """

    division: str = "//"
    large: int | None = None
    suffix: str = ""
    fields_by_product: bool = False

    def number(self, number: int, mask: bool = False) -> str:
        """Return a literal; masks of several digits in hexadecimal, without a sign if integers have none."""
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


def python_source(function: Function) -> str:
    """Return Python: for integers of any size, and elementwise for NumPy arrays of wide enough ones."""
    first, *rest = function.comment
    comment = [f'    """{first}', "", *(f"    {line}" for line in rest), '    """']
    return "\n".join([_signature(function), *comment, *_statements(function)])


def triton_source(function: Function) -> str:
    """Return Triton: a helper for a kernel, for tensors and scalars alike; no negative value is divided."""
    wide = []
    if width_of(function.expressions, signed=True) > WIDTHS[0]:
        names = [own.name for own in function.arguments if own.name not in function.unused]
        wide = [f"    {name} = tl.cast({name}, tl.int64)" for name in names]
    head = ["import triton", *(["import triton.language as tl"] if wide else []), "", ""]
    comment = [f"    # {line}" for line in function.comment]
    return "\n".join([*head, "@triton.jit", _signature(function), *comment, *wide, *_statements(function)])


def _signature(function: Function) -> str:
    return f"def {function.name}({', '.join(own.name for own in function.arguments)}):"


def _statements(function: Function) -> list[str]:
    body = body_of(function)
    return [*(f"    {name} = {text}" for name, text in body.steps), f"    return {', '.join(body.results)}"]


def body_of(function: Function, spelling: Spelling = PYTHON) -> Body:
    """Return the expressions of a function as text; expressions that are used twice have a name."""
    return spelled(
        function.expressions, FreeNames([function.name, *(own.name for own in function.arguments)]), spelling
    )


def spelled(expressions: Sequence[Expr], names: FreeNames, spelling: Spelling = PYTHON) -> Body:
    """Return expressions as text, with names that are free.

    >>> from tilewise.codegen.expressions import remainder, variable
    >>> x = variable("x", 0, 99)
    >>> spelled([quotient(x, 7), remainder(x, 7)], FreeNames(["x"]))
    Body(steps=(('q', 'x // 7'),), results=('q', 'x - q * 7'))
    """
    written = with_shared_quotients(expressions)
    uses = Counter(written)
    parts = parts_of(written)
    for part in parts:
        uses.update(part.of)
    shared = [part for part in parts if uses[part] > 1 and part.of]
    letters = [_letter(part) for part in shared]
    text = _Text(spelling, {})
    steps = []
    for i, (part, letter) in enumerate(zip(shared, letters, strict=True)):
        number = str(letters[:i].count(letter)) if letters.count(letter) > 1 else ""
        line = text.of(part)[0]
        text.known[part] = names.free(letter + number)
        steps.append((text.known[part], line))
    return Body(tuple(steps), tuple(text.of(expression)[0] for expression in written))


def with_shared_quotients(expressions: Sequence[Expr]) -> list[Expr]:
    """Return expressions in their written form: `x - q * 7` instead of `x % 7` where q = x // 7 exists."""
    parts = parts_of(expressions)
    quotients = {part for part in parts if isinstance(part, Quotient)}
    made: dict[Expr, Expr] = {}

    def remade(part: Expr) -> Expr:
        return type(part)(tuple(made[inner] for inner in part.of), part.numbers, part.known, part.name)

    for part in parts:
        whole = quotient(part.of[0], part.number) if isinstance(part, Remainder) else None
        made[part] = (
            Sum((made[part.of[0]], remade(whole)), (0, 1, -part.number), part.known)
            if whole and whole in quotients
            else remade(part)
        )
    return [made[expression] for expression in expressions]


def width_of(expressions: Sequence[Expr], signed: bool) -> int:
    """Return the bits that hold all intermediate values, in their written form.

    With `signed`, no partial sum overflows either. Without, sums and products may wrap: only values that are
    divided, shifted or masked count, with the results and the literals.

        refused  TW302 where 64 bits are too few

    >>> from tilewise.codegen.expressions import linear, variable
    >>> x = variable("x", 0, 1 << 26)
    >>> width_of([linear([(60, x)])], signed=False), width_of([linear([(60, x)])], signed=True)
    (32, 64)
    """
    low = high = 0
    for part in parts_of(with_shared_quotients(expressions)):
        ends = [part.low, part.high]
        if isinstance(part, Sum):
            ends += part.numbers
            below, above = min(0, part.number), max(0, part.number)
            for factor, term in part.terms if signed else ():
                reaches = factor * term.low, factor * term.high
                below, above = below + min(0, *reaches), above + max(0, *reaches)
                ends.append(abs(factor) * term.high)  # `a - (b << 3)`: the subtracted term is a value too
            ends += [below, above]
        elif part.bits >= 0:
            ends.append(part.bits)
        low, high = min(low, *ends), max(high, *ends)
    negative = signed or low < 0
    for bits in WIDTHS:
        if -(1 << bits - 1) <= low and high < 1 << bits - negative:
            return bits
    beyond = high if high > -low else low
    raise Refused(
        "TW302",
        f"a value on the way is {number_text(beyond)}, beyond {WIDTHS[-1]}-bit integers",
        witness=beyond,
        hint="Python's integers have any size: --lang python",
    )


def _letter(part: Expr) -> str:
    """Return q for a quotient, r for a remainder, t for the rest."""
    if isinstance(part, Quotient):
        return "q"
    leaves = isinstance(part, Sum) and any(
        factor < -1 and isinstance(term, Quotient) and term.number % -factor == 0
        for factor, term in part.terms
    )
    return "r" if leaves or isinstance(part, Remainder) else "t"


@dataclass(frozen=True, slots=True)
class _Text:
    """Texts of expressions, each (text, kind of the outermost operator), with names for the known ones."""

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
        if isinstance(expression, Shifted):
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
        terms = sorted(total.terms, key=lambda term: term[0] < 0)  # subtracted terms come last
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
        """Return a shift if the factor is a power of two and no value is negative, else a product."""
        if factor == 1:
            return self.of(term)
        if factor < 0:
            text, kind = self._product(-factor, term, in_sum)
            return f"-{text}" if kind == ATOM else f"-({text})", PRODUCT
        is_field = in_sum and isinstance(term, Shifted | Masked)
        if is_power(factor) and term.low >= 0 and not (is_field and self.spelling.fields_by_product):
            return f"{self._operand(term)} << {lowest_bit(factor)}", SHIFT
        return f"{self._operand(term)} * {self.spelling.number(factor)}", PRODUCT
