"""Closed forms of formulas are the layouts that their lists are."""

from __future__ import annotations

from itertools import product
from math import prod
from random import Random

import pytest

from tilewise import LayoutError, Refused, S, Swizzle, laneid, reg
from tilewise.core.shapes import extents_of
from tilewise.notation.closed import NoForm, closed, layout_of
from tilewise.notation.formulas import read_lambda
from tilewise.testing import naive_map


def some_formula(rng, shape, depth=0):
    """Sums, parts and XORs of two coordinates, with divisors that often fit the extents."""
    kind = rng.random()
    if depth > 3 or kind < 0.25:
        return rng.choice(("i", "j", "i", "j", str(rng.choice((0, 1, 3, 8)))))
    one = some_formula(rng, shape, depth + 1)
    if kind < 0.5:
        divisor = rng.choice([d for extent in shape for d in range(1, extent + 1) if extent % d == 0])
        return f"({one}) {rng.choice(('//', '%'))} {divisor}"
    if kind < 0.62:
        return f"({one}) * {rng.choice((1, 2, 3, 8, 16, -1))}"
    if kind < 0.7:
        return f"(({one}) {rng.choice(('>>', '&', '<<'))} {rng.choice((1, 2, 3, 7))})"
    if kind < 0.73:
        return f"(~({one}))"
    return f"(({one}) {rng.choice('++++-^^|')} ({some_formula(rng, shape, depth + 1)}))"


def some_swizzle(rng):
    reads, mask, flips = (rng.choice((1, 2, 4)) for _ in range(3))
    return f"i * 16 + (j ^ i // {reads} % {2 * mask} * {flips})"


def test_a_closed_form_is_what_the_elements_say(times):
    rng = Random(5)
    told = {True: 0, False: 0}
    for _ in range(times(3000)):
        shape = rng.choice(((8, 16), (4, 4), (16, 8), (6, 8), (12, 10), (9, 5)))
        text = some_formula(rng, shape) if rng.random() < 0.9 else some_swizzle(rng)
        formula = read_lambda(f"lambda i, j: {text}", {})
        try:
            found = closed(formula, shape)
        except Refused:
            with pytest.raises(Refused):
                layout_of(formula, shape)
            continue
        except (NoForm, LayoutError):
            continue
        assert extents_of(found.shape) == shape
        places = [dict(place).get("m", 0) for (place,) in naive_map(found)]
        function = eval(f"lambda i, j: {text}")
        assert places == [function(i, j) for i, j in product(*map(range, shape))], (text, shape)
        told[bool(found.swizzles)] += 1
    assert told[False] > times(700)
    assert told[True] > times(60)


def test_beyond_all_lists():
    tile = read_lambda("lambda i, j: i * 4096 + (j ^ i % 8 * 8)", {})
    assert layout_of(tile, (1 << 20, 4096)) == Swizzle(3, 3, 9) @ S[(1 << 20, 4096) : (4096, 1)]
    rows = read_lambda(
        "lambda i, j: i // 128 * 128 * K + j // 56 * 7168 + i % 128 * 56 + j % 56", {"K": 14336}
    )
    found = layout_of(rows, (12800, 14336))
    assert found == S[((100, 128), (256, 56)) : ((128 * 14336, 56), (7168, 1))]
    owners = read_lambda("lambda i, j: {laneid: i % 8 * 4 + j % 8 // 2, reg: j % 2 + j // 8 * 2}", {})
    found = layout_of(owners, (8, 1 << 24))
    assert found == S[(8, (1 << 21, 4, 2)) : (4 @ laneid, (2 @ reg, 1 @ laneid, 1 @ reg))]
    assert layout_of(tile, ((1 << 10, 1 << 10), 4096)).shape == ((1 << 10, 1 << 10), 4096)


def test_small_and_large_agree():
    for text, small, large in (
        ("lambda i, j: i * 64 + (j ^ i % 8 * 8)", (64, 64), (1 << 16, 64)),
        ("lambda i, j: i // 3 * 96 + i % 3 + j * 3", (12, 32), (3 << 20, 32)),
        ("lambda i, j: (i & 7) * 8 | j | (i >> 3) << 6", (64, 8), (1 << 20, 8)),
    ):
        formula = read_lambda(text, {})
        assert closed(formula, small).same(layout_of(formula, small)).answer
        found = layout_of(formula, large)
        function = eval(text)
        for i, j in product((0, 1, 2, 7, 8, large[0] - 1), (0, 1, 5, large[1] - 1)):
            assert found.place(i, j)["m"] == function(i, j)
        assert prod(large) > 1 << 20


def test_what_has_no_closed_form_is_too_large_to_list():
    for text in ("i * j", "i ^ j + 1", "min(i, j)", "i if j else 0", "i >> (1 << 62)", "(i < 3) * j"):
        with pytest.raises(LayoutError) as error:
            layout_of(read_lambda(f"lambda i, j: {text}", {}), (4096, 4096))
        assert error.value.code in ("TW301", "TW002")
