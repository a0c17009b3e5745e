"""Floor forms, one level along one digit, and the gcd law, against listed values."""

from itertools import product
from random import Random

import pytest
from tests.core.maps import form_of

from tilewise import S, laneid, m, reg
from tilewise.core.algebra.levels import (
    Code,
    along,
    beginning,
    broken,
    digits_of,
    floors,
    is_chain,
    wraps,
)


def value(form, x):
    return sum(weight * (x // place) for place, weight in form.items())


@pytest.mark.parametrize("place", range(2, 12))
def test_a_level_along_a_digit_is_classified_exactly(place):
    """`along` says yes iff the listed values are a layout, and then what they are."""
    for t, rho, extent in product(range(-2 * place, 2 * place + 1), range(place), range(2, 20)):
        if t % place == 0:
            continue
        values = [(rho + t * x) // place for x in range(extent)]
        found, listed = along(place, t, rho, extent), form_of(values)
        if found is None:
            assert isinstance(listed, tuple), (place, t, rho, extent)
            near = {w + d for w in wraps(place, t, rho, extent) for d in (-1, 0, 1)}
            assert near, (place, t, rho, extent)
            continue
        moved = [found.slope * x + sum(s * (x // p) for p, s in found.floors) for x in range(extent)]
        assert [v - values[0] for v in values] == moved
        rest = [t * x - place * (v - values[0]) for x, v in enumerate(values)]
        assert (min(rest), max(rest)) == (found.least, found.most)


def test_a_listed_layout_gives_its_form_and_anything_else_two_positions():
    rng = Random(5)
    layouts = broken_law = 0
    for _ in range(4000):
        values = [0]
        for _ in range(rng.randint(1, 11)):
            values.append(values[-1] + rng.choice((1, 1, 1, 5)))
        listed = form_of(values)
        if isinstance(listed, dict):
            layouts += 1
            assert [value(listed, x) for x in range(len(values))] == values
        else:
            broken_law += 1
            position, other = listed
            assert broken(values.__getitem__, len(values), [position, other])
        reached, positions, form = beginning(values)
        assert (reached == len(values)) == isinstance(listed, dict)
        assert [value(form, x) for x in range(reached)] == values[:reached]
        if positions:
            assert broken(values.__getitem__, len(values), positions)
    assert layouts > 300
    assert broken_law > 300


def test_digits_and_forms_are_each_others_inverse():
    rng = Random(6)
    for _ in range(500):
        digits = [(rng.choice((2, 3, 4, 5)), rng.randint(-9, 9)) for _ in range(rng.randint(1, 4))]
        form = floors(digits)
        weights = dict(zip(form.places, form.weights, strict=True))
        assert floors(digits_of(weights, form.size)) == form
        listed = S[tuple(e for e, _ in digits) : tuple(s for _, s in digits)]
        assert [form(x) for x in range(form.size)] == [listed.place(x)[m] for x in range(form.size)]


def test_the_slowest_digit_has_no_end():
    assert [floors([(2, 100), (4, 1)])(x) for x in (-1, 8, 12)] == [-97, 200, 300]


def test_chains():
    assert is_chain([4, 2, 12], 24)
    assert not is_chain([4, 6], 24)
    assert not is_chain([4], 6)


def test_vectors_as_integers_add_up():
    code = Code((m, laneid, reg), 12)
    one, other = 5 @ m - 3 @ laneid, -7 @ m + 100 @ reg
    assert code.vector(3 * code.number(one) - code.number(other)) == one * 3 - other
    assert not code.vector(code.number(one) - code.number(one))
