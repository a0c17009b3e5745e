"""Formulas in text say what Python says, and nothing in them runs."""

from __future__ import annotations

import ast
from itertools import product
from random import Random

import pytest

from tilewise import LayoutError
from tilewise.core.axes import m
from tilewise.notation.formulas import MAX_DEPTH, MAX_TEXT, Bounded, Source, read_lambda

SHAPE = (6, 8)


def listed(text, shape=SHAPE, **let):
    return read_lambda(text, let).listed(shape)[m]


def error_of(text):
    with pytest.raises(LayoutError) as error:
        read_lambda(text, {}).listed(SHAPE)
    start, end = error.value.span
    return error.value.code, text[start:end]


# -- what Python says ------------------------------------------------------------------------------


def some_expression(rng, depth=0):
    kind = rng.random()
    if depth > 3 or kind < 0.3:
        return rng.choice(("i", "j", "K", "0", "1", "3", "8", "0x1f", "-2"))
    parts = [some_expression(rng, depth + 1) for _ in range(3)]
    if kind < 0.75:
        operator = rng.choice("+ - * // % << >> & | ^".split())
        one, other = parts[0], rng.choice((parts[1], "2", "8", "5", "(j + 1)"))
        return rng.choice((f"({one} {operator} {other})", f"{one} {operator} {other}"))
    if kind < 0.85:
        return rng.choice("+-~") + parts[0]
    if kind < 0.9:
        return f"({parts[0]} if {parts[1]} {rng.choice(('<', '==', '!=', '>='))} {parts[2]} else 7)"
    if kind < 0.95:
        return f"({parts[0]} {rng.choice(('and', 'or'))} {parts[1]})"
    return rng.choice((f"(0 < {parts[0]} <= {parts[1]})", f"(not {parts[0]})"))


def test_a_formula_is_what_python_makes_of_it(times):
    rng = Random(1)
    told, refused = 0, set()
    for _ in range(times(3000)):
        text = f"lambda i, j: {some_expression(rng)}"
        try:
            found = listed(text, K=11)
        except LayoutError as error:
            refused.add(error.code)
            continue
        function = eval(text, {"K": 11})
        assert found == [function(i, j) for i, j in product(range(6), range(8))], text
        assert all(type(value) is int for value in found)
        told += 1
    assert told > 0.5 * times(3000)
    assert refused <= {"TW101", "TW302"}  # what may be divided by 0, shifted back or too large


def test_bounds_hold(times):
    rng = Random(2)
    told = 0
    for _ in range(times(1500)):
        text = some_expression(rng)
        source = Source(text)
        names = {"i": (0, 5), "j": (0, 7), "K": (11, 11)}
        values = {name: Bounded(ast.Name(name, ast.Load()), *ends) for name, ends in names.items()}
        try:
            found = source.checked(source.parsed(), values)
        except LayoutError:
            continue
        for i, j in product(range(6), range(8)):
            assert found.low <= eval(text, {"i": i, "j": j, "K": 11}) <= found.high, text
        told += 1
    assert told > 0.5 * times(1500)


def test_precedence_lines_and_the_names_of_python():
    assert listed("lambda i, j: i ^ j % 8 * 8") == [i ^ j * 8 for i, j in product(range(6), range(8))]
    assert listed("  lambda i, j:\n\ti * 8 +\n    j ") == [*range(48)]
    assert listed("lambda range, eval: range * 8 + eval") == [*range(48)]
    assert listed("lambda _1, _0: _1 * 8 + _0") == [*range(48)]
    assert listed("lambda: 7", ()) == [7]
    assert listed("lambda K: K", (4,), K=11) == [0, 1, 2, 3]


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code", "at"),
    [
        ("lambda i, j: __import__('os')", "TW002", "__import__('os')"),
        ("lambda i, j: (lambda: 0)()", "TW002", "(lambda: 0)()"),
        ("lambda i, j: i.__class__", "TW002", "i.__class__"),
        ("lambda i, j: [k for k in (1,)]", "TW002", "[k for k in (1,)]"),
        ("lambda i, j: i + (yield)", "TW002", "(yield)"),
        ("lambda i, j: f'{i}'", "TW002", "f'{i}'"),
        ("lambda i, j: i + 'ü' + k", "TW101", "'ü'"),
        ("lambda i, j: j + ünknown", "TW007", "ünknown"),
        ("lambda i, j: 8 // (i - j)", "TW101", "i - j"),
        ("lambda i, j: 2 * (1 << i * 20)", "TW302", "1 << i * 20"),
        ("lambda i, j: 1 << (1 << 62)", "TW302", "1 << (1 << 62)"),
        ("i * 64 + j", "TW001", "i * 64 + j"),
        ("lambda i, j: i + \udcff + j", "TW002", "\udcff"),
    ],
)
def test_a_refusal_points_at_the_fault(text, code, at):
    assert error_of(text) == (code, at.replace("(yield)", "yield"))


def test_texts_without_end_are_refused_at_once():
    for text in (
        "lambda i, j: " + "(" * 3000,
        "lambda i, j: " + "~" * 3000 + "i",
        "lambda i, j: " + "i" + " + i" * (MAX_DEPTH + 9),
        "lambda i, j: " + "i + " * MAX_TEXT + "j",
        "lambda i, j: " + "9" * 5000,
        "lambda i, j: " + "9" * 3000,
        "lambda i, j: i" + " if i else i" * 300,
    ):
        code, _ = error_of(text)
        assert code in ("TW001", "TW004", "TW005", "TW302"), text[:40]


def test_too_many_elements_or_steps_are_refused_before_any_is_listed():
    for text, shape in (("lambda i: i", (1 << 21,)), ("lambda i:" + " i +" * 150 + " i", (1 << 20,))):
        with pytest.raises(LayoutError) as error:
            read_lambda(text, {}).listed(shape)
        assert error.value.code == "TW301"
