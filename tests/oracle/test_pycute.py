"""CuTe's dialect held against pycute: coordinates, flat order, swizzles; and pycute's defects, shown."""

from __future__ import annotations

import random
from itertools import product

import pytest

from tilewise import parse
from tilewise.notation import to_cute

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def pycute():
    return pytest.importorskip("pycute", reason="nvidia-cutlass is not installed")


def _mode(rng: random.Random, depth: int):
    """(shape, stride) of one mode, nested at random."""
    if depth and rng.random() < 0.4:
        modes = [_mode(rng, depth - 1) for _ in range(rng.randrange(1, 4))]
        return tuple(shape for shape, _ in modes), tuple(stride for _, stride in modes)
    return rng.choice([1, 2, 3, 4, 5]), rng.randrange(0, 50)


def _spelled(value) -> str:
    return str(value).replace(" ", "").replace(",)", ")")


def test_coordinates_of_generated_layouts(pycute):
    rng = random.Random(3)
    for _ in range(400):
        modes = [_mode(rng, 2) for _ in range(rng.randrange(1, 4))]
        shape, stride = tuple(s for s, _ in modes), tuple(d for _, d in modes)
        theirs = pycute.Layout(shape, stride)
        ours = parse(f"{_spelled(shape)}:{_spelled(stride)}")
        assert parse(to_cute(ours)) == ours
        extents = [pycute.size(mode) for mode in shape]
        assert ours.size == pycute.size(theirs)
        for coordinate in random.Random(5).sample([*product(*map(range, extents))], min(12, ours.size)):
            assert ours.place(*coordinate)["m"] == theirs(*coordinate), (shape, stride, coordinate)


def test_the_flat_order_of_cute_is_the_other_one(pycute):
    from tilewise.notation.cute import leftmost_fastest

    theirs = pycute.Layout((4, (2, 3)), (10, (1, 100)))
    ours = leftmost_fastest(parse("(4,(2,3)):(10,(1,100))"))
    assert [ours.place(flat)["m"] for flat in range(24)] == [theirs(flat) for flat in range(24)]


def test_swizzles(pycute):
    for bits, base, shift in product((1, 2, 3), (0, 3, 4), (3, 4, -3)):
        theirs = pycute.Swizzle(bits, base, shift)
        ours = parse(f"Sw<{bits},{base},{shift}> o 0 o (1024):(1)")
        assert all(ours.place(x)["m"] == theirs(x) for x in range(1024))


def test_defect_a_swizzle_of_no_bits_and_no_shift_never_ends(pycute):
    with pytest.raises(RecursionError):
        pycute.Swizzle(0, 4, 0)(5)
    assert parse("Sw<0,4,0> o 0 o (8):(1)").place(5)["m"] == 5


def test_defect_cosize_of_a_negative_stride(pycute):
    assert pycute.cosize(pycute.Layout(4, -1)) == -2
    assert parse("4:-1").span() == 4
