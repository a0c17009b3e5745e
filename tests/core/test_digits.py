"""Mixed-radix digits: merging, splitting and refining keep every value."""

from itertools import accumulate, pairwise
from math import prod
from operator import mul

from hypothesis import given
from hypothesis import strategies as st

from tilewise.core.digits import clash, merged, place_values, refined, split, value

DIGITS = st.lists(st.tuples(st.sampled_from([1, 1, 2, 2, 3, 4, 6]), st.integers(-6, 30)), max_size=5)


def size(digits):
    return prod(extent for extent, _ in digits)


def values(digits):
    """The definition: nested loops, the slowest digit outermost."""
    found = [0]
    for extent, step in digits:
        found = [start + step * digit for start in found for digit in range(extent)]
    return found


@given(DIGITS)
def test_value_is_that_of_nested_loops(digits):
    assert [value(digits, n, 0) for n in range(size(digits))] == values(digits)


@given(DIGITS)
def test_merged_digits_have_the_same_values_and_nothing_left_to_merge(digits):
    found = merged(digits)
    assert values(found) == values(digits)
    assert all(slow != extent * fast for (_, slow), (extent, fast) in pairwise(found))
    assert all(extent > 1 for extent, _ in found)


@given(DIGITS, st.permutations([2, 2, 2, 3, 3, 4, 6]))
def test_split_digits_have_the_same_values(digits, factors):
    cuts = [place for place in accumulate([1, *factors], mul) if size(digits) % place == 0]
    if clash(place_values(extent for extent, _ in digits), cuts) is None:
        assert values(split(digits, cuts)) == values(digits)


@given(DIGITS, DIGITS)
def test_a_clash_names_two_place_values_of_which_neither_divides_the_other(one, other):
    ours, theirs = (place_values(extent for extent, _ in digits) for digits in (one, other))
    found = clash(ours, theirs)
    assert (found is None) == all(a % b == 0 or b % a == 0 for a in ours for b in theirs)
    if found:
        assert found[0] in ours
        assert found[1] in theirs
        assert found[0] % found[1]
        assert found[1] % found[0]


@given(DIGITS, st.permutations(range(5)))
def test_refined_digits_have_one_shape_and_the_same_values(digits, order):
    other = [digits[position] for position in order if position < len(digits)]
    both = refined(digits, other)
    if both is not None:
        one, two = both
        assert [extent for extent, _ in one] == [extent for extent, _ in two]
        assert values(one) == values(digits)
        assert values(two) == values(other)
