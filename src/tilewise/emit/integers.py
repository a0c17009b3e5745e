"""Which integers of C hold every value of a function."""

from __future__ import annotations

from collections.abc import Iterable

from tilewise.core.errors import Refused
from tilewise.core.integers import number_text
from tilewise.emit.expressions import Expr, Sum, parts_of

WIDTHS = (32, 64)


def width_of(expressions: Iterable[Expr], signed: bool) -> int:
    """How many bits hold all values on the way.

    With `signed`, no partial sum overflows either. Without, sums and products may wrap: only what is
    divided, shifted or masked counts, with the results and the literals.

        refused  TW302 where 64 bits are too few

    >>> from tilewise.emit.expressions import linear, variable
    >>> x = variable("x", 0, 1 << 26)
    >>> width_of([linear([(60, x)])], signed=False), width_of([linear([(60, x)])], signed=True)
    (32, 64)
    """
    low = high = 0
    for part in parts_of(expressions):
        ends = [part.low, part.high]
        if isinstance(part, Sum):
            ends += [*part.numbers, *(_partial_sums(part) if signed else ())]
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


def _partial_sums(total: Sum) -> tuple[int, int]:
    low, high = min(0, total.number), max(0, total.number)
    reach = 0
    for factor, term in total.terms:
        reach = max(reach, abs(factor) * term.high)  # `a - (b << 3)`: what is taken away is a value too
        ends = factor * term.low, factor * term.high
        low, high = low + min(0, *ends), high + max(0, *ends)
    return low, max(high, reach)
