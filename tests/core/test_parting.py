"""Where two chains of swizzles part over one map: the first index, by the definition."""

from __future__ import annotations

import random

import pytest

from tilewise import S, Swizzle
from tilewise.core import chains
from tilewise.core.chains import first_parting
from tilewise.core.solve import BudgetSpent


def _address(digits, base, flat):
    for extent, stride in reversed(digits):
        flat, digit = divmod(flat, extent)
        base += digit * stride
    return base


def _through(chain, address):
    for bits, base, shift in reversed([(s.bits, s.base, s.shift) for s in chain]):
        mask = (1 << bits) - 1
        if shift >= 0:
            address ^= (address >> (base + shift) & mask) << base
        else:
            address ^= (address >> base & mask) << (base - shift)
    return address


def _first_by_listing(digits, base, one, other):
    size = 1
    for extent, _ in digits:
        size *= extent
    for flat in range(size):
        address = _address(digits, base, flat)
        if _through(one, address) != _through(other, address):
            return flat
    return None


def _swizzle(rng):
    bits = rng.randrange(4)
    return Swizzle(bits, rng.randrange(4), rng.choice([-1, 1]) * rng.randrange(max(bits, 1), 6))


def test_the_first_index_is_the_one_that_listing_finds(times):
    rng = random.Random(4)
    found = 0
    for _ in range(times(3_000)):
        digits = [
            (rng.randrange(1, 7), rng.randrange(-40, 200) * rng.choice([1, 1, 8, 64]))
            for _ in range(rng.randrange(5))
        ]
        base = rng.randrange(-300, 300)
        one = [_swizzle(rng) for _ in range(rng.randrange(3))]
        other = one[:-1] if rng.random() < 0.3 else [_swizzle(rng) for _ in range(rng.randrange(2))]
        first = first_parting(digits, base, one, other)
        assert first == _first_by_listing(digits, base, one, other), (digits, base, one, other)
        found += first is not None
    assert times(1_000) < found < times(2_500)


def test_a_large_map_is_not_listed(monkeypatch):
    monkeypatch.setattr(chains, "DEFAULT_BUDGET", 100)
    assert first_parting([(99991, 99989), (99989, 1)], 0, [Swizzle(3, 30, 3)], []) == 2**33
    assert first_parting([(2**40, 8192), (3, 100)], 0, [Swizzle(3, 6, 4)], []) is None


def test_a_spent_budget_is_no_answer(monkeypatch):
    digits = [(97, 193), (89, 2), (83, 3)]
    assert first_parting(digits, 0, [Swizzle(1, 9, 3)], []) == _first_by_listing(
        digits, 0, [Swizzle(1, 9, 3)], []
    )
    monkeypatch.setattr(chains, "DEFAULT_BUDGET", 1)
    with pytest.raises(BudgetSpent):
        first_parting(digits, 0, [Swizzle(1, 9, 3)], [])


def test_same_names_the_first_difference_and_proves_that_there_is_none():
    plain = S[(99991, 99989) : (99989, 1)]
    answer = (Swizzle(3, 30, 3) @ plain).same(plain)
    assert (answer.answer, answer.witness, answer.first) == (False, 2**33, True)
    carried = S[(1048576, 3, 2) : (512, 128, 96)]
    assert (Swizzle(1, 0, 5) @ carried).same(Swizzle(1, 0, 6) @ carried).answer is True
