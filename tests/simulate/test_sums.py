"""Sums against whole numbers and fractions, one element at a time."""

from fractions import Fraction
from math import inf, isnan, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewise import Refused
from tilewise.core.dtypes import DType
from tilewise.simulate import sums
from tilewise.simulate.numbers import FLOATS, decode, encode, whole_range
from tilewise.simulate.sums import Adder, product, slack, slack_in_any_order

M, N = 3, 2
KINDS = [
    ("f16", "f16", 16, "f32"),
    ("f16", "f16", 8, "f16"),
    ("bf16", "bf16", 16, "f32"),
    ("tf32", "tf32", 8, "f32"),
    ("e4m3", "e5m2", 32, "f32"),
    ("e5m2", "e4m3", 32, "f16"),
    ("e2m1", "e3m2", 32, "f32"),
]
"""Types of A and B, K, the type of D."""


def drawn(rng, dtype, shape, calm=False):
    """Numbers of a type: any finite codes, or of about one size."""
    if calm:
        return decode(encode(rng.standard_normal(shape), dtype), dtype)
    numbers = decode(rng.integers(0, 1 << DType.of(dtype).bits, shape, dtype=np.uint64), dtype)
    return np.where(np.isfinite(numbers), numbers, 0.0)


def operands(seed, a, b, k, d):
    rng = np.random.default_rng(seed)
    calm = seed % 3 == 0
    left, right = drawn(rng, a, (M, k), calm), drawn(rng, b, (N, k), calm)
    start = drawn(rng, d, (M, N), calm)
    if seed % 2:  # terms that cancel, so that what is far below decides
        left[:, k // 2 :], right[:, k // 2 :] = -left[:, : k // 2], right[:, : k // 2]
        left[:, -1] = drawn(rng, a, M)
    return left, right, start


def terms_of(left, right, start, m, n):
    return [
        Fraction(x) * Fraction(y) for x, y in zip(left[m].tolist(), right[n].tolist(), strict=True)
    ], Fraction(float(start[m, n]))


def nearest(exact, name):
    """The number of f16 or f32 next to a fraction; of two as near, the one with an even code."""
    own = {"f16": np.float16, "f32": np.float32}[name]
    with np.errstate(over="ignore"):
        guess = own(float(exact))
    around = [own(guess), np.nextafter(guess, own(inf)), np.nextafter(guess, own(-inf))]
    finite = [one for one in around if np.isfinite(one)]
    largest = Fraction(float(np.finfo(own).max))
    step = largest - Fraction(float(np.nextafter(np.finfo(own).max, own(0))))
    if abs(exact) >= largest + step / 2:
        return inf if exact > 0 else -inf
    kind = "<u2" if name == "f16" else "<u4"
    return float(min(finite, key=lambda one: (abs(Fraction(float(one)) - exact), int(one.view(kind)) % 2)))


@pytest.mark.parametrize(("a", "b", "k", "d"), KINDS)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_sums_are_exact_and_rounded_once(a, b, k, d, seed):
    left, right, start = operands(seed, a, b, k, d)
    found = product(left, right, start, d)
    for m in range(M):
        for n in range(N):
            products, c = terms_of(left, right, start, m, n)
            assert found[m, n] == nearest(sum(products, c), d)


def test_what_a_double_would_lose_is_kept():
    """Two large products cancel; of f16, what is left is 81 bits below them."""
    left = np.array([[65504.0, 2.0**-24, -65504.0, 0.0]])
    right = np.array([[65504.0, 2.0**-24, 65504.0, 1.0]])
    assert product(left, right, np.zeros((1, 1)), "f32").item() == 2.0**-48
    half = np.array([[1.0, 2.0**-24, 2.0**-24]])  # just above the tie between two numbers of f32
    assert product(half, np.array([[1.0, 1.0, 2.0**-24]]), np.zeros((1, 1)), "f32").item() == 1 + 2.0**-23


@pytest.mark.parametrize("top", [51, 52, 53, 54, 55, 56, 60, 80])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_last_bit_of_a_double_decides_a_tie(top, sign):
    """2^t + 2^(t - 24) is a tie of f32; one far below it is lost in a double from 2^53 on, and decides."""
    left, right = np.array([[2.0**top, 2.0 ** (top - 24), 1.0]]), np.array([[1.0, 1.0, sign]])
    for even, below in ((0.0, 0.0), (2.0 ** (top - 23), 2.0 ** (top - 23))):  # the tie goes down, or up
        wanted = 2.0**top + below + (2.0 ** (top - 23) if sign > 0 else 0)
        assert product(left, right, np.array([[even]]), "f32").item() == wanted


def test_numbers_far_apart_take_few_fractions(monkeypatch):
    """As the weights of a softmax are: fractions are for sums that doubles leave in doubt."""
    asked = []
    monkeypatch.setattr(sums, "_to_odd", lambda whole, real=sums._to_odd: asked.append(whole) or real(whole))
    rng = np.random.default_rng(11)
    weights = decode(encode(np.exp(15 * rng.standard_normal((64, 16))), "bf16"), "bf16")
    values = decode(encode(rng.standard_normal((64, 16)), "bf16"), "bf16")
    product(weights, values, rng.standard_normal((64, 64)).astype(np.float32), "f32")
    assert len(asked) < 5
    product(
        np.array([[2.0**40, 2.0**-40]]), np.array([[1.0, 1.0 + 2.0**-7]]), np.full((1, 1), 2.0**16), "f32"
    )
    assert asked


def adders_of(*engines):
    """Each engine with each of the types that it is known to add; "mma sm_80" is that of an architecture."""
    known = [
        (engine, *kind)
        for engine in engines
        for kind in KINDS[:6]
        if not (engine == "mma" and DType.of(kind[0]).bits == 8)  # sm_90 runs it as products of f16
    ]
    return pytest.mark.parametrize(("engine", "a", "b", "k", "d"), known)


def as_a_device(left, right, start, d, m, n, fraction, kept, leasts, parts):
    """The words of the paper, with fractions: line up, cut off, add, cut off."""

    def exponent(value, least):
        value = abs(value)
        if value == 0:
            return -126
        e = 0
        while Fraction(2) ** (e + 1) <= value:
            e += 1
        while Fraction(2) ** e > value:
            e -= 1
        return max(e, least)

    def towards_zero(value, step):
        return int(value / step) * step

    c, k = Fraction(float(start[m, n])), left.shape[1]
    own = FLOATS[d]
    for part in range(parts):
        some = range(part * k // parts, (part + 1) * k // parts)
        pairs = [(Fraction(float(left[m, i])), Fraction(float(right[n, i]))) for i in some]
        lined = [(x * y, exponent(x, leasts[0]) + exponent(y, leasts[1])) for x, y in pairs]
        lined.append((c, exponent(c, own.least)))
        top = max(e for _, e in lined)
        total = sum(towards_zero(value, Fraction(2) ** (top - fraction)) for value, _ in lined)
        if d == "f16":
            value = nearest(total, d)
        else:
            value = towards_zero(total, Fraction(2) ** (exponent(total, own.least) - kept))
        if value in (inf, -inf) or abs(value) > own.largest:
            return inf if value > 0 else -inf
        c = Fraction(value)
    return float(c)


@adders_of("mma", "wgmma", "mma sm_80", "mma sm_89")
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_device_lines_up_and_cuts_off(engine, a, b, k, d, seed):
    name, _, arch = engine.partition(" ")
    adder = Adder.of(name, a, b, k, arch or "sm_90")
    left, right, start = operands(seed, a, b, k, d)
    found = product(left, right, start, d, adder=adder)
    leasts = [{"f16": -14, "bf16": -126, "tf32": -126, "e4m3": -6, "e5m2": -14}[one] for one in (a, b)]
    narrow = DType.of(a).bits == 8 and (name == "wgmma" or arch == "sm_89")
    fraction = 13 if narrow else 25 if arch == "" else 24
    parts = 2 if arch and k * DType.of(a).bits == 256 else 1
    for m in range(M):
        for n in range(N):
            wanted = as_a_device(left, right, start, d, m, n, fraction, 13 if narrow else 23, leasts, parts)
            assert found[m, n] == wanted


def test_subnormal_factors_are_lined_up_by_the_least_exponent():
    """Of f16, 2^-24 counts as an exponent of -14, so that 25 bits behind the point end at 2^-39."""
    subnormal, one, small = np.array([[2.0**-24]]), np.array([[1.0]]), np.array([[2.0**-40]])
    f16, bf16 = Adder.of("mma", "f16", "f16", 16), Adder.of("mma", "bf16", "bf16", 16)
    assert product(subnormal, one, small, "f32", adder=f16).item() == 2.0**-24
    assert product(subnormal, one, 2 * small, "f32", adder=f16).item() == 2.0**-24 + 2.0**-39
    assert product(subnormal, one, small, "f32", adder=bf16).item() == 2.0**-24 + 2.0**-40


@adders_of("mma", "wgmma", "mma sm_75", "mma sm_80", "mma sm_89")
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_no_device_is_farther_than_the_bound(engine, a, b, k, d, seed):
    name, _, arch = engine.partition(" ")
    adder = Adder.of(name, a, b, k, arch or "sm_90")
    left, right, start = operands(seed, a, b, k, d)
    with np.errstate(invalid="ignore"):
        apart = np.abs(product(left, right, start, d, adder=adder) - product(left, right, start, d))
    room = slack(left, right, start, d, adder)
    fits = np.isfinite(room)
    assert (apart <= room)[fits].all()
    assert fits.all() or (np.abs(left) @ np.abs(right).T + np.abs(start)).max() > FLOATS[d].largest / 2


@pytest.mark.parametrize(("a", "b", "k", "d"), KINDS[:6])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_no_order_of_the_terms_is_farther_than_the_wide_bound(a, b, k, d, seed):
    """8-bit floats as f16, in two products of any elements; and one element after the other, each rounded."""
    left, right, start = operands(seed, a, b, k, d)
    exact = product(left, right, start, d)
    order = np.random.default_rng(seed).permutation(k)
    halves = Adder.of("mma", "f16" if DType.of(a).bits == 8 else a, "f16" if DType.of(b).bits == 8 else b, k)
    chain, parted = start, start
    for some in np.split(order, 2):
        parted = product(left[:, some], right[:, some], parted, d, adder=halves)
    for at in order:
        chain = product(left[:, [at]], right[:, [at]], chain, d)
    room = slack_in_any_order(left, right, start, d)
    fits = np.isfinite(room)
    for other in (parted, chain):
        with np.errstate(invalid="ignore"):
            assert (np.abs(other - exact) <= room)[fits].all()
    assert fits.all() or (np.abs(left) @ np.abs(right).T + np.abs(start)).max() > FLOATS[d].largest / 2


def test_the_bound_is_no_looser_than_it_need_be():
    """On numbers of one size, a device comes within a factor of what the bound allows."""
    rng = np.random.default_rng(5)
    for engine, a, k in (("mma", "f16", 16), ("wgmma", "e4m3", 32)):
        left, right = drawn(rng, a, (64, k), calm=True), drawn(rng, a, (64, k), calm=True)
        start = np.zeros((64, 64))
        adder = Adder.of(engine, a, a, k)
        apart = np.abs(product(left, right, start, "f32", adder=adder) - product(left, right, start, "f32"))
        share = apart / slack(left, right, start, "f32", adder)
        assert 0.1 < share.max() <= 1


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90"])
@pytest.mark.parametrize("d", ["f32", "f16"])
def test_the_bound_holds_where_every_term_loses_nearly_a_whole_bit(d, arch):
    """One term is 1; every other one is just below the last bit that a device keeps beside it."""
    adder = Adder.of("mma", "f16", "f16", 8, arch)
    small = 2.0 ** (1 - adder.fraction)  # (1 - 2^-11)^2 / 2 of it is all lost
    left, right = np.full((1, 8), 0.5 * (1 - 2.0**-11)), np.full((1, 8), small * (1 - 2.0**-11))
    left[0, 0] = right[0, 0] = 1.0
    for start in (np.zeros((1, 1)), np.array([[-1.0]])):
        exact = product(left, right, start, d).item()
        found = product(left, right, start, d, adder=adder).item()
        assert found == 1 + start.item()
        assert abs(found - exact) <= slack(left, right, start, d, adder).item()
    alone = np.array([[-1.0]])  # what is left is the loss itself, of seven terms
    lost = product(left, right, alone, "f32").item()
    assert 6.9 * 2.0**-adder.fraction < lost <= slack(left, right, alone, "f32", adder).item()


@pytest.mark.parametrize("k", [8, 16, 32])
def test_the_wide_bound_holds_where_every_step_loses_the_most(k):
    """Ones that are added to 2^24, one after the other, are lost in f32, each on its own."""
    ones, start = np.ones((1, k)), np.full((1, 1), 2.0**24)
    chain = start
    for at in range(k):
        chain = product(ones[:, [at]], ones[:, [at]], chain, "f32")
    apart = abs(product(ones, ones, start, "f32") - chain).item()
    assert apart == k
    assert apart <= slack_in_any_order(ones, ones, start, "f32").item()


def test_whole_numbers_come_out_exactly_either_way():
    rng = np.random.default_rng(6)
    left, right = rng.integers(-8, 9, (16, 32)) * 1.0, rng.integers(-8, 9, (8, 32)) * 1.0
    start = rng.integers(-100, 100, (16, 8)) * 1.0
    exact = left @ right.T + start
    assert np.array_equal(product(left, right, start, "f32"), exact)
    for adder in (Adder.of("mma", "f16", "f16", 16), Adder.of("wgmma", "e4m3", "e4m3", 32)):
        assert np.array_equal(product(left, right, start, "f32", adder=adder), exact)


@pytest.mark.parametrize(("dtype", "k", "found"), [("e4m3", 32, 16384.0), ("f16", 16, 16385.0)])
def test_a_sum_of_f8_keeps_13_bits(dtype, k, found):
    one, start = np.eye(1, k), np.array([[16384.0]])
    assert product(one, one, start, "f32", adder=Adder.of("wgmma", dtype, dtype, k)).item() == found


@pytest.mark.parametrize("adder", [None, Adder.of("mma", "f16", "f16", 16)], ids=["exact", "device"])
def test_infinities_and_what_is_no_number(adder):
    a = np.zeros((5, 16))
    a[:, 0] = [inf, -inf, inf, nan, 1]
    b = np.zeros((1, 16))
    b[:, 0] = 1
    c = np.array([[0], [0], [-inf], [0], [inf]])
    found = product(a, b, c, "f32", adder=adder).ravel().tolist()
    assert found[:2] == [inf, -inf]
    assert isnan(found[2])
    assert isnan(found[3])
    assert found[4] == inf
    assert isnan(product(a[:1], b * 0, c[:1], "f32", adder=adder).item())
    assert product(np.full((1, 16), 65504.0), np.full((1, 16), 65504.0), c[:1], "f16", adder=adder) == inf


# -- whole numbers, bits, doubles ------------------------------------------------------------------


@pytest.mark.parametrize(("a", "b"), [("s8", "u8"), ("u8", "s8"), ("s4", "u4"), ("u4", "u4")])
@pytest.mark.parametrize("saturate", [False, True])
@given(seed=st.integers(0, 2**32))
def test_integers_wrap_or_saturate(a, b, saturate, seed):
    rng = np.random.default_rng(seed)
    (low_a, high_a), (low_b, high_b) = whole_range(a), whole_range(b)
    left, right = rng.integers(low_a, high_a + 1, (2, 32)), rng.integers(low_b, high_b + 1, (2, 32))
    ends = [2**31 - 1, -(2**31), 2**31 - 20_000, 7]
    start = np.array(ends).reshape(2, 2)
    found = product(left, right, start, "s32", saturate=saturate)
    for m in range(2):
        for n in range(2):
            whole = sum(int(x) * int(y) for x, y in zip(left[m], right[n], strict=True)) + int(start[m, n])
            if saturate:
                assert found[m, n] == max(-(2**31), min(2**31 - 1, whole))
            else:
                assert (int(found[m, n]) - whole) % 2**32 == 0
                assert -(2**31) <= found[m, n] < 2**31


@pytest.mark.parametrize(("op", "of"), [("xor.popc", int.__xor__), ("and.popc", int.__and__)])
def test_bits_are_compared_and_counted(op, of):
    rng = np.random.default_rng(8)
    left, right, start = (
        rng.integers(0, 2, (2, 128)),
        rng.integers(0, 2, (3, 128)),
        rng.integers(-9, 9, (2, 3)),
    )
    found = product(left, right, start, "s32", op=op)
    wanted = [
        [sum(of(int(x), int(y)) for x, y in zip(row, column, strict=True)) for column in right]
        for row in left
    ]
    assert np.array_equal(found, np.array(wanted) + start)


def test_doubles_are_a_chain_of_fused_multiply_adds():
    rng = np.random.default_rng(9)
    left, right, start = rng.standard_normal((4, 8)), rng.standard_normal((4, 8)), rng.standard_normal((4, 4))
    found = product(left, right, start, "f64")
    for m in range(4):
        for n in range(4):
            total = float(start[m, n])
            for x, y in zip(left[m].tolist(), right[n].tolist(), strict=True):
                total = float(Fraction(x) * Fraction(y) + Fraction(total))
            assert found[m, n] == total
    assert (found != left @ right.T + start).any()  # rounding every product on its own is not the same


def test_a_double_that_only_the_product_leaves():
    big = np.array([[1e200]])
    assert product(big, big, np.array([[0.0]]), "f64").item() == inf
    assert product(big, -big, np.array([[inf]]), "f64").item() == inf
    half = np.array([[2.0**512]])
    assert product(half, half, np.array([[-(2.0**1023)]]), "f64").item() == 2.0**1023


def test_batches_of_products():
    rng = np.random.default_rng(10)
    left, right, start = (
        rng.integers(-3, 4, (4, 3, 8)),
        rng.integers(-3, 4, (4, 2, 8)),
        np.zeros((4, 3, 2), int),
    )
    for dtype in ("s32", "f32", "f64"):
        found = product(
            *(one.astype(float) if dtype != "s32" else one for one in (left, right, start)), dtype
        )
        assert np.array_equal(found, np.stack([x @ y.T for x, y in zip(left, right, strict=True)]))


@pytest.mark.parametrize(("dtype", "arch"), [("f16", "sm_100"), ("e4m3", "sm_90"), ("f16", "sm_120")])
def test_how_some_add_is_not_known(dtype, arch):
    with pytest.raises(Refused, match=f"{arch} adds floats of mma.sync is not known for {dtype}"):
        Adder.of("mma", dtype, dtype, 16, arch=arch)


def test_integers_and_doubles_leave_no_room():
    ones = np.ones((2, 8))
    for dtype in ("s32", "f64"):
        assert not slack_in_any_order(ones, ones, np.ones((2, 2)), dtype).any()
        assert not slack(ones, ones, np.ones((2, 2)), dtype, Adder.of("mma", "f16", "f16", 8)).any()
