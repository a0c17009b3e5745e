"""Functions and arrays in an asked shape: found again as they were written, or refused at an index."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import prod
from random import Random

import pytest
from tests.core.maps import form_of
from tests.core.test_algebra_recognise import EVERY, attempt, check_witness, some_swizzle

from tilewise import Layout, LayoutError, Refused, S, Swizzle, laneid, m, reg
from tilewise.core.algebra.recognition import explanations, recognise
from tilewise.core.axes import Axis
from tilewise.core.shapes import extents_of
from tilewise.testing import naive_map, naive_xor


def places(layout):
    """The one place of every element, by the definition."""
    return [{name: steps for name, steps in place if steps} for (place,) in naive_map(layout)]


def as_function(layout, names):
    """A function of the coordinates that looks its places up."""
    extents = extents_of(layout.shape)
    listed = dict(zip(product(*map(range, extents)), places(layout), strict=True))
    return lambda *index: {name: listed[index].get(name, 0) for name in names}


def some_mode(rng):
    odd = rng.random() < 0.5
    count = rng.choice((1, 1, 2, 3))
    extents = tuple(rng.choice((2, 3, 5, 6, 7) if odd else (2, 4, 8)) for _ in range(count))
    return extents if count > 1 else extents[0]


def some_layout(rng):
    """One to three modes of one to three digits each, dense or with any strides, on one to three axes."""
    shape = tuple(some_mode(rng) for _ in range(rng.randint(1, 3)))
    while prod(extents_of(shape)) > 1024:
        shape = tuple(some_mode(rng) for _ in range(rng.randint(1, 3)))
    digits = [e for mode in shape for e in (mode if isinstance(mode, tuple) else (mode,))]
    order = rng.sample(range(len(digits)), len(digits))
    dense = rng.random() < 0.5
    axes = rng.choice(((m,), (m,), (m, laneid), (m, reg, laneid)))
    strides, step = [0] * len(digits), 1
    for at in order:
        strides[at] = step if dense else rng.choice((0, 1, 2, 3, 4, 8, 16, 24, 64, -1, -8, 100))
        step *= digits[at]
        strides[at] = strides[at] @ rng.choice(axes)
    return Layout(shape, tuple(strides), offset=rng.choice((0, 0, 0, 1, 8, 24, 100, -3)) @ m), axes


def check_found_again(rng):
    written, axes = some_layout(rng)
    written = some_swizzle(rng) @ written
    names = [axis.name for axis in axes]
    shape = extents_of(written.shape)
    found = recognise(as_function(written, names), shape=shape)
    assert extents_of(found.shape) == shape, written
    assert places(found) == places(written), written
    assert sum(sw.bits for sw in found.swizzles) <= written.swizzles[0].bits
    return "even" if all(extent & extent - 1 == 0 for extent in shape) else "odd"


def test_every_swizzled_layout_is_found_again_in_its_shape(times):
    count = times(2000)
    found = Counter(check_found_again(Random(seed)) for seed in range(count))
    assert sum(found.values()) == count
    assert min(found["even"], found["odd"]) > 0.2 * count


# -- where no layout explains a map ----------------------------------------------------------------


def in_shape(listed, shape):
    """Return whether a list is a layout of a shape: a sum over the modes, and along each of them a layout."""
    rows = dict(zip(product(*map(range, shape)), listed, strict=True))
    zero = (0,) * len(shape)

    def along(mode, number):
        return rows[tuple(number if at == mode else 0 for at in range(len(shape)))]

    if any(
        value - rows[zero] != sum(along(mode, number) - rows[zero] for mode, number in enumerate(index))
        for index, value in rows.items()
    ):
        return False
    lines = [[along(mode, number) for number in range(extent)] for mode, extent in enumerate(shape)]
    return all(isinstance(form_of(line), dict) for line in lines)


def check_small_shape(rng):
    """Small tables, random or nearly a layout's: the answer is that of asking every swizzle."""
    shape = rng.choice(((2, 2), (2, 3), (3, 4), (4, 4), (2, 2, 3), (6, 2), (9,), (4, 8)))
    size = prod(shape)
    inner = rng.choice([d for d in range(1, size + 1) if size % d == 0])
    one, two, sw = rng.randint(0, 6), rng.randint(0, 6), some_swizzle(rng, 3)
    listed = [sw(x // inner * one + x % inner * two) for x in range(size)]
    if rng.random() < 0.5:
        listed[rng.randrange(size)] ^= rng.choice((1, 2, 4))
    if max(listed) >= 128:
        return "large"
    exists = in_shape(listed, shape) or any(
        in_shape([naive_xor(value, b, base, s) for value in listed], shape) for b, _, _, base, s in EVERY
    )
    table = dict(zip(product(*map(range, shape)), listed, strict=True))
    found, no = attempt(lambda: recognise(lambda *index: table[index], shape=shape))
    if no:
        assert no.code == "TW510"
        assert not exists, (listed, shape)
        index = no.witness if isinstance(no.witness, tuple) else (no.witness,)
        flat = list(table).index(index)
        check_witness(listed, flat, [prod(shape[at:]) for at in range(1, len(shape))])
        return "refused"
    assert exists
    assert extents_of(found.shape) == shape
    assert [place.get("m", 0) for place in places(found)] == listed
    return "answered"


def test_any_function_has_the_answer_of_asking_every_swizzle(times):
    count = times(800)
    outcomes = Counter(check_small_shape(Random(seed)) for seed in range(count))
    assert min(outcomes["refused"], outcomes["answered"]) > 0.2 * count


def test_a_wrong_element_of_a_swizzled_tile_is_named():
    def wrong(i, j):
        return i * 64 + (j ^ i % 8 * 8) + 2 * ((i, j) == (5, 3))

    with pytest.raises(Refused) as refused:
        recognise(wrong, shape=(64, 64))
    assert refused.value.witness == (5, 3)
    assert str(refused.value) == (
        "TW510: element (5, 3) is at 365@m, and no layout of (64, 64) that has the elements before it puts "
        "it there, swizzled on m or not\n"
        "  hint: Swizzle<3,3,3> o S[(64, 64) : (64, 1)] has the elements before it, and puts it at 363@m"
    )


def test_a_layout_in_another_shape_alone_is_refused_in_the_asked_one():
    across = [0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32]
    assert recognise(across) == S[(4, 3) : (10, 1)]
    assert recognise(across, shape=(2, 6)) == S[(2, (2, 3)) : (20, (10, 1))]
    with pytest.raises(Refused) as refused:
        recognise(across, shape=(3, 4))
    assert refused.value.witness == (0, 3)


# -- what may be asked -----------------------------------------------------------------------------


def test_a_nested_shape_is_kept_and_its_modes_are_the_coordinates():
    found = recognise(lambda i, j: i * 8 + j, shape=((2, 4), 8))
    assert found == S[((2, 4), 8) : ((32, 8), 1)]
    assert recognise(lambda x: x * 3, shape=16) == S[16:3]
    assert recognise(lambda: 7, shape=()) == S[()] + 7


def test_what_a_function_may_give():
    np = pytest.importorskip("numpy")
    owners = S[(8, (4, 2)) : (4 @ laneid, (1 @ laneid, 1 @ reg))]
    assert recognise(lambda i, j: (i * 4 + j // 2, j % 2), ("laneid", "reg"), (8, 8)) == owners
    assert recognise(lambda i, j: {laneid: i * 4 + j // 2, reg: j % 2}, shape=(8, 8)) == owners
    assert recognise(lambda i, j: owners.place(i, j), shape=(8, 8)) == owners
    assert recognise(lambda i: np.int32(i) * 2, shape=(8,)) == S[8:2]
    assert recognise(lambda i: i, "tx", 4) == S[4 : 1 @ Axis("tx")]
    array = np.arange(64).reshape(8, 8).T
    assert recognise(array, shape=(8, 8)) == recognise(array) == S[(8, 8) : (1, 8)]
    assert recognise(array.ravel(), shape=((2, 4), 8)) == S[((2, 4), 8) : ((4, 1), 8)]


def test_all_explanations_of_a_function_are_in_its_shape():
    found = [one.layout for one in explanations(lambda i, j: [0, 3, 4, 7][i * 2 + j], shape=(2, 2))]
    assert [one.shape for one in found] == [(2, 2)] * 3
    assert found[0] == S[(2, 2) : (4, 3)]
    assert found[1].swizzles == (Swizzle(1, 0, 1),)


@pytest.mark.parametrize(
    ("question", "code"),
    [
        (lambda: recognise(lambda i: i), "TW202"),
        (lambda: recognise([1, 2, 3], shape=(2, 2)), "TW202"),
        (lambda: recognise(lambda i: i, shape=(1 << 21,)), "TW301"),
        (lambda: recognise(lambda i: (i, i), shape=(4,)), "TW107"),
        (lambda: recognise(lambda i: i, ("laneid", "reg"), (4,)), "TW107"),
        (lambda: recognise(lambda i: (i,) * (1 + i % 2), shape=(4,)), "TW107"),
        (lambda: recognise(lambda i: {"m": i} if i else {}, shape=(4,)), "TW107"),
        (lambda: recognise(lambda i: i / 2, shape=(4,)), "TW101"),
        (lambda: recognise(lambda i: i > 2, shape=(4,)), "TW101"),
        (lambda: recognise(lambda i: None, shape=(4,)), "TW101"),
    ],
)
def test_what_is_refused(question, code):
    with pytest.raises(LayoutError) as error:
        question()
    assert error.value.code == code


def test_a_fault_of_the_function_is_its_own():
    with pytest.raises(ZeroDivisionError):
        recognise(lambda i: 1 // i, shape=(4,))
