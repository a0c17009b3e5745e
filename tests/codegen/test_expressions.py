"""The facts that an expression keeps are true of all its values, and no rewriting changes a value."""

from __future__ import annotations

from random import Random

import pytest

from tilewise.codegen.bits import Diagonals, image_of
from tilewise.codegen.expressions import (
    Expr,
    Masked,
    Quotient,
    Remainder,
    Shifted,
    Sum,
    Variable,
    Xor,
    bits_between,
    constant,
    linear,
    masked,
    quotient,
    remainder,
    shifted,
    variable,
    xored,
)
from tilewise.codegen.names import FreeNames
from tilewise.codegen.text import Spelling, spelled, width_of, with_shared_quotients
from tilewise.core.swizzles import Swizzle, apply_chain


def value_of(expression: Expr, values: dict[str, int]) -> int:
    """The value, by what the classes say of themselves."""
    if isinstance(expression, Variable):
        return values[expression.name]
    inner = [value_of(operand, values) for operand in expression.of]
    if isinstance(expression, Sum):
        constant, *factors = expression.numbers
        return constant + sum(f * v for f, v in zip(factors, inner, strict=True))
    if isinstance(expression, Xor):
        result = expression.number
        for value in inner:
            result ^= value
        return result
    if isinstance(expression, Masked):
        return inner[0] & expression.number
    assert isinstance(expression, Quotient | Shifted | Remainder)
    divides = isinstance(expression, Quotient | Shifted)
    return inner[0] // expression.number if divides else inner[0] % expression.number


def random_expression(rng: Random, variables: list[Expr], depth: int) -> Expr:
    if not depth or rng.random() < 0.15:
        return rng.choice([*variables, constant(rng.randint(-9, 70))])
    kind = rng.randrange(6)
    inner = [random_expression(rng, variables, depth - 1) for _ in range(rng.choice((1, 2, 2, 3)))]
    if kind == 0:
        factors = [rng.choice((1, -1, 2, 3, 8, 64, -5, 72)) for _ in inner]
        return linear(zip(factors, inner, strict=True), rng.choice((0, 0, 5, -64, 100)))
    if kind == 1:
        return xored(inner, rng.choice((0, 7, -1)))
    if kind == 2:
        return masked(inner[0], rng.choice((7, 0x38, 1, 0x1C0, -8)))
    if inner[0].low < 0:
        return inner[0]
    if kind == 3:
        return shifted(inner[0], rng.randrange(5))
    return (quotient if kind == 4 else remainder)(inner[0], rng.choice((2, 3, 5, 8, 12, 48)))


def random_values(rng: Random, variables: list[Expr]) -> dict[str, int]:
    return {v.name: rng.randint(v.low, v.high) for v in variables if isinstance(v, Variable)}


def variables_of(rng: Random) -> list[Expr]:
    ends = [(rng.choice((0, 0, 0, 5, -20)), rng.choice((0, 1, 6, 7, 63, 100))) for _ in range(3)]
    return [variable(name, low, max(low, high)) for name, (low, high) in zip("abc", ends, strict=True)]


def test_what_is_known_is_true(times) -> None:
    rng = Random(1)
    for _ in range(times(4_000)):
        variables = variables_of(rng)
        expression = random_expression(rng, variables, 3)
        for _ in range(6):
            value = value_of(expression, random_values(rng, variables))
            assert expression.low <= value <= expression.high, expression
            assert value & ~expression.bits == 0, expression


def test_the_text_has_the_same_values(times) -> None:
    rng = Random(2)
    for _ in range(times(1_500)):
        variables = variables_of(rng)
        expressions = [random_expression(rng, variables, 3) for _ in range(2)]
        body = spelled(expressions, FreeNames("abc"))
        values = random_values(rng, variables)
        scope: dict[str, int] = dict(values)
        for name, text in body.steps:
            scope[name] = eval(text, {}, scope)
        expected = [value_of(expression, values) for expression in expressions]
        assert [eval(text, {}, scope) for text in body.results] == expected, body
        assert [value_of(expression, values) for expression in with_shared_quotients(expressions)] == expected


def test_bits_move_as_numbers_do(times) -> None:
    rng = Random(3)
    for _ in range(times(2_000)):
        variables = variables_of(rng)
        first, second = (random_expression(rng, variables, 2) for _ in range(2))
        values = random_values(rng, variables)
        a, b = value_of(first, values), value_of(second, values)
        bits = rng.randrange(4)
        chain = [
            Swizzle(bits, rng.randrange(3), rng.choice((1, -1)) * (bits + rng.randrange(2))) for _ in range(2)
        ]
        mask = rng.choice((7, 0x38, 0xFF))
        pairs = [
            (Diagonals.of(first), a),
            (Diagonals.of(first) ^ Diagonals.of(second), a ^ b),
            (Diagonals.of(first).moved(3), a << 3),
            (Diagonals.of(first).kept(mask), a & mask),
            (Diagonals.of(first).kept(mask).moved(-2), (a & mask) >> 2),
            (Diagonals.of(first).swizzled(chain), apply_chain(chain, a)),
        ]
        for made, expected in pairs:
            assert value_of(made.expression, values) == expected
            assert expected & ~made.possible == 0
        assert apply_chain(chain, a) & ~image_of(first.bits, chain) == 0


def test_unsigned_integers_have_no_sign_in_masks() -> None:
    x = variable("x", 0, 99)
    unsigned = Spelling("/", (1 << 31) - 1, "u")
    assert spelled([xored([x], -29)], FreeNames("x"), unsigned).results == ("x ^ ~0x1cu",)
    assert spelled([xored([x], -1)], FreeNames("x"), unsigned).results == ("x ^ ~0u",)
    assert spelled([xored([x], -29)], FreeNames("x")).results == ("x ^ -29",)


@pytest.mark.parametrize(("low", "high"), [(0, 0), (0, 9), (8, 11), (-8, -5), (-1, 1), (-9, -2), (64, 127)])
def test_bits_between(low: int, high: int) -> None:
    bits = bits_between(low, high)
    assert all(number & ~bits == 0 for number in range(low, high + 1))


def test_widths_hold_every_value_on_the_way() -> None:
    x = variable("x", 0, (1 << 31) - 1)
    assert width_of([x], signed=True) == 32
    assert width_of([linear([(2, x)])], signed=False) == 32
    assert width_of([linear([(2, x)])], signed=True) == 64
    assert width_of([linear([(-1, x)])], signed=False) == 32
    assert width_of([linear([(-2, x)])], signed=False) == 64
    assert width_of([linear([(4, x)])], signed=False) == 64
    bit = variable("bit", 0, 1)
    assert width_of([linear([(-(1 << 31), bit)])], signed=True) == 64  # it is shifted up before it is negated
    assert width_of([linear([(-(1 << 31), bit)])], signed=False) == 32
