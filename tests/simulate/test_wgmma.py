"""wgmma in the model: the programs that an H200 ran, with its answers; numbers against plain loops."""

import random
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.gpu.emulator import BASE, SHARED, Emulator, filled

from tilewise import LayoutError, Refused
from tilewise.gpu.verify.kernels import ONE
from tilewise.gpu.verify.parts import PARTS
from tilewise.gpu.verify.run import recorded_truth
from tilewise.gpu.verify.wgmma import Bench, DescriptorCase, WgmmaProbe, chunks, places_read
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.fragments import a_fragment, d_fragment
from tilewise.hardware.wgmma.instructions import INPUTS
from tilewise.simulate.faults import HOST
from tilewise.simulate.memory import Memory
from tilewise.simulate.numbers import FLOATS, decode, encode, is_float, joined
from tilewise.simulate.registers import Registers
from tilewise.simulate.sums import slack
from tilewise.simulate.wgmma import Wgmma, bound, multiply, places, read

TRUTH = Path(__file__).parents[1] / "hardware" / "truth"
KINDS = [(a, b, d) for a, row in INPUTS.items() for b in row.partners for d in row.accumulators]


# -- the programs that an H200 ran -----------------------------------------------------------------------


class Model(Emulator):
    """Stands where a device does: the probe's kernel with the model for its wgmma."""

    def _run(
        self, this, a, b, rows, jobs, held, held_each, laid, chunks, laid_each, at, planes, from_held, out
    ):
        out = out[: jobs * this.n // 2 * 128].reshape(jobs, this.n // 2, 128)
        held, laid = held.reshape(-1, 4, 32, 4), laid.reshape(-1)
        one = Wgmma(this.a, this.b, this.d, this.n, this.a_major, this.b_major)
        for plane in range(planes):
            memory = memory_of(plane, this.planes - 1, this.b if from_held else this.a).copy()
            memory.put(laid[laid_each * 4 * plane :][: 4 * chunks], "u32", at=at)
            for job in range(jobs):
                left = Registers.of(held[held_each * plane + rows[job]]) if from_held else int(a[job])
                d = multiply(one, left, int(b[job]), memory)
                out[job] |= spelled(d, this, plane)


@cache
def memory_of(plane, last, dtype):
    """Shared memory in which each element holds a bit of its own index."""
    memory = Memory(SHARED, start=BASE)
    memory.put(filled(plane, last, dtype)[BASE // 4 : (BASE + SHARED) // 4], "u32", at=BASE)
    return memory


def spelled(d, this, plane):
    """Return what the kernel makes of D: [element, thread]."""
    bits = {"f16": 16}.get(this.d, 32)
    codes = d.words.reshape(128, -1).view(f"<u{bits // 8}").T
    one = {"s32": 1}.get(this.d, ONE[this.d])
    return np.where(codes == one, 1 << plane, np.where(codes == 0, 0, 1 << 31)).astype(np.uint32)


def bench_of(this):
    device = Model()
    return Bench(device, {this: device.kernel(this)})


@cache
def recorded(part):
    truth = recorded_truth(PARTS[part], TRUTH)
    (name,) = truth.arrays
    return list(zip(truth.cases, truth.parted(name), strict=True))


@pytest.mark.parametrize(("a", "b", "d"), KINDS, ids=map("-".join, KINDS))
def test_the_owners_of_d_that_the_device_told(a, b, d):
    own = {(case["a"], case["b"], case["d"], case["n"]): owned for case, owned in recorded("fragments.d")}
    for n in (8, 24, 64):
        this = WgmmaProbe(a, b, d, n)
        found = bench_of(this).d(this)
        assert np.array_equal(found.ravel(), own[a, b, d, n]), this


@pytest.mark.parametrize("a", list(INPUTS))
def test_the_owners_of_a_that_the_device_told(a):
    case, owned = next((case, owned) for case, owned in recorded("fragments.a") if case["a"] == a)
    this = WgmmaProbe(a, case["b"], case["d"], case["n"])
    assert np.array_equal(bench_of(this).a(this).ravel(), owned)


@pytest.mark.parametrize("dtype", list(INPUTS))
def test_what_descriptors_read_by_the_words_of_d(dtype):
    """A few descriptors through whole products, as in the questions to the device."""
    dice = random.Random(dtype)
    few = [one for one in recorded(f"descriptors.{dtype}") if one[0]["n"] == 32]
    for case, numbers in dice.sample(few, 2):
        asked = DescriptorCase.of(case)
        (found,) = places_read(bench_of(asked.instruction), [asked])
        assert np.array_equal(chunks(found, asked).ravel(), numbers), case


@pytest.mark.parametrize("dtype", list(INPUTS))
def test_the_numbers_that_recorded_descriptors_read(dtype):
    """Random bytes, gathered from the chunks that the device read, against what the model reads."""
    memory = Memory(SHARED, start=BASE)
    data = np.random.default_rng(5).integers(0, 256, SHARED, np.uint8)
    memory.write(HOST, BASE + np.arange(SHARED), data[:, None])
    cases = recorded(f"descriptors.{dtype}")[::3]
    for case, numbers in cases:
        asked = DescriptorCase.of(case)
        this = asked.instruction
        one = Wgmma(this.a, this.b, this.d, this.n, this.a_major, this.b_major)
        rows = 64 if asked.operand == "A" else this.n
        want = gathered(data, numbers, asked, rows, this.k)
        found = read(one, asked.operand, asked.value, memory)
        assert np.array_equal(found, want, equal_nan=is_float(dtype)), case
    assert len(cases) >= 150


def gathered(data, chunks, asked: DescriptorCase, rows, k):
    """The numbers in chunks of 16 bytes, row by row K-major, else column by column."""
    held = data[16 * chunks[:, None] - BASE + np.arange(16)]
    if asked.dtype == "b1":
        return np.unpackbits(held.reshape(rows, -1), axis=-1, bitorder="little").astype(np.int64)
    codes = held.view(f"<u{asked.instruction.bits // 8}")
    if asked.major == "k":
        return decode(codes.reshape(rows, k), asked.dtype)
    each = codes.shape[-1]
    return decode(np.moveaxis(codes.reshape(rows // each, k, each), 1, 2).reshape(rows, k), asked.dtype)


def test_what_faulted_past_the_end_is_refused_by_the_model():
    """Every recorded descriptor whose operand ends inside is read; where the device faulted, so does it."""
    memory = Memory(SHARED, start=BASE)
    memory.put(np.zeros(SHARED), "u8", at=BASE)
    faults = 0
    for case, _ in recorded("descriptors.end"):
        asked = DescriptorCase.of(case)
        this = asked.instruction
        one = Wgmma(this.a, this.b, this.d, this.n, this.a_major, this.b_major)
        past = places(one, asked.operand, asked.value).max() >= BASE + SHARED
        if past:
            with pytest.raises(Refused) as refused:
                read(one, asked.operand, asked.value, memory)
            assert refused.value.witness["fault"] == "outside"
        else:
            assert not case["faults"]
            read(one, asked.operand, asked.value, memory)
        faults += case["faults"]
    assert faults > 10


# -- numbers, against plain loops ------------------------------------------------------------------------

A_DESCRIPTOR, B_DESCRIPTOR = Descriptor(lbo=128, sbo=256), Descriptor(start=2048, lbo=128, sbo=256)


def laid_out(numbers, dtype):
    """The bytes of an operand [rows, K] in core matrices without a swizzle, K-major: row by row by hand."""
    rows = joined(encode(numbers, dtype), INPUTS[dtype].dtype.bits)
    data = np.zeros(rows.size, np.uint8)
    for row, line in enumerate(rows):
        for chunk in range(2):
            at = row // 8 * 256 + chunk * 128 + row % 8 * 16
            data[at : at + 16] = line[16 * chunk : 16 * chunk + 16]
    return data


def product(this, a, b, d=None, adder=None):
    """D of the model, as numbers, for operands and a D of numbers."""
    memory = Memory(65536)
    memory.put(laid_out(a, this.a), "u8")
    memory.put(laid_out(b, this.b), "u8", at=2048)
    fragment = d_fragment(this.d, this.n)
    start = None if d is None else Registers.holding(d, fragment, this.d)
    found = multiply(this, A_DESCRIPTOR, B_DESCRIPTOR, memory, start, adder=adder)
    return found.numbers(fragment, this.d)


def by_hand(a, b, d):
    """Whole numbers, one at a time."""
    return [
        [int(d[m][n]) + sum(int(x) * int(y) for x, y in zip(a[m], b[n], strict=True)) for n in range(len(b))]
        for m in range(len(a))
    ]


LOW_HIGH = {"s8": (-128, 128), "u8": (0, 256), "b1": (0, 2), "e4m3": (-8, 9), "e5m2": (-4, 5)}
"""Whole numbers that a type has; those of the other floats are -50 to 50."""


@pytest.mark.parametrize(("a", "b", "d"), KINDS, ids=map("-".join, KINDS))
def test_whole_numbers_are_exact(a, b, d):
    rng = np.random.default_rng(len(a + b + d))
    this = Wgmma(a, b, d, 24)
    small = 6 if d == "f16" else 51
    left, right = (
        rng.integers(*LOW_HIGH.get(dtype, (1 - small, small)), size=(rows, this.k))
        for dtype, rows in ((a, 64), (b, 24))
    )
    start = rng.integers(-9, 10, size=(64, 24))
    assert product(this, left, right, start).tolist() == by_hand(left, right, start)
    assert product(this, left, right).tolist() == by_hand(left, right, np.zeros((64, 24)))


def test_what_is_negated():
    ones = np.ones((64, 16)), np.full((8, 16), 3)
    for words, sign in (({}, 1), ({"negate_a": True}, -1), ({"negate_b": True}, -1)):
        this = Wgmma("bf16", "bf16", "f32", 8, **words)
        assert (product(this, *ones, np.full((64, 8), 5)) == 5 + sign * 48).all()
    both = Wgmma("bf16", "bf16", "f32", 8, negate_a=True, negate_b=True)
    assert (product(both, *ones) == 48).all()


def test_integers_wrap_or_saturate():
    left, right = np.full((64, 32), 127), np.full((8, 32), 127)
    start = np.full((64, 8), 2**31 - 10)
    total = 2**31 - 10 + 32 * 127 * 127
    assert (product(Wgmma("s8", "s8", "s32", 8), left, right, start) == total - 2**32).all()
    saturating = Wgmma("s8", "s8", "s32", 8, saturate=True)
    assert (product(saturating, left, right, start) == 2**31 - 1).all()
    assert (product(saturating, -left, right, -start) == -(2**31)).all()


def test_infinities_and_no_numbers():
    this = Wgmma("f16", "f16", "f32", 8)
    left, right = np.zeros((64, 16)), np.zeros((8, 16))
    left[0, 0], right[1, 0], left[2, 3], right[2, 3] = np.inf, 2.0, np.nan, 1.0
    found = product(this, left, right)
    assert np.isnan(found[0, 0])  # an infinity times zero
    assert found[0, 1] == np.inf
    assert np.isnan(found[2]).all()
    assert (found[3] == 0).all()


def test_sums_are_rounded_once():
    """1 and 16 times 2^-25 lie halfway between neighbours of f32; one after another they would vanish."""
    this = Wgmma("f16", "f16", "f32", 8)
    left, right = np.full((64, 16), 2.0**-12), np.full((8, 16), 2.0**-13)
    assert (product(this, left, right, np.ones((64, 8))) == 1 + 2.0**-21).all()


def test_the_lowest_bits_of_tf32_are_not_read():
    this = Wgmma("tf32", "tf32", "f32", 8)
    memory = Memory(65536)
    memory.put(np.full(64 * 8, 0x3F801FFF), "u32")
    memory.put(np.full(8 * 8, 0x3F800000), "u32", at=2048)
    d = multiply(this, A_DESCRIPTOR, B_DESCRIPTOR, memory)
    assert (d.numbers(d_fragment("f32", 8), "f32") == 8).all()


def test_a_of_registers_is_a_of_memory():
    rng = np.random.default_rng(3)
    for a, b, d in KINDS:
        this = Wgmma(a, b, d, 8)
        left, right = (
            rng.integers(*LOW_HIGH.get(dtype, (-9, 10)), size=(rows, this.k))
            for dtype, rows in ((a, 64), (b, 8))
        )
        memory = Memory(65536)
        memory.put(laid_out(right, b), "u8", at=2048)
        held = Registers.holding(left, a_fragment(a), a)
        found = multiply(this, held, B_DESCRIPTOR, memory).numbers(d_fragment(d, 8), d)
        assert np.array_equal(found, product(this, left, right)), this


# -- as a device adds ------------------------------------------------------------------------------------


def on_a_device(a, b, d, this):
    """One sum as the source of `sums` has it, by fractions: lined up, cut off, added, cut off."""
    bits = 13 if this.a in ("e4m3", "e5m2") else 25
    terms = [(exponent(x, this.a) + exponent(y, this.b), x, y) for x, y in zip(a, b, strict=True)]
    terms.append((exponent(d, this.d), d, 1.0))
    top = max(scale for scale, x, y in terms if x and y)
    unit = Fraction(2) ** (top - bits)
    total = sum(int(Fraction(x) * Fraction(y) / unit) for _, x, y in terms) * unit
    if this.d == "f16":
        return float(decode(encode(float(total), "f16"), "f16"))
    step = Fraction(2) ** (exponent(float(total), "f32") - min(bits, 23))
    return float(int(total / step) * step)


SOME = [0, 5, 17, 30, 42, 51, 60, 63]
"""Rows that are added by fractions as well."""


def exponent(value, dtype):
    return max(int(np.frexp(abs(value))[1]) - 1, FLOATS[dtype].least)


@pytest.mark.parametrize(
    ("a", "b", "d"), [kind for kind in KINDS if is_float(kind[2])], ids=lambda name: name
)
def test_sums_as_a_device_adds_and_their_slack(a, b, d):
    rng = np.random.default_rng(len(a + b + d))
    this = Wgmma(a, b, d, 8)
    differ = 0
    for spread in (0, 3, 6):
        left, right, start = (
            decode(
                encode(rng.normal(size=shape) * 2.0 ** rng.integers(-spread, spread + 1, shape), kind), kind
            )
            for shape, kind in (((64, this.k), a), ((8, this.k), b), ((64, 8), d))
        )
        exact = product(this, left, right, start)
        device = product(this, left, right, start, this.adder)
        by_fractions = [[on_a_device(left[m], right[n], start[m, n], this) for n in range(8)] for m in SOME]
        assert device[SOME].tolist() == by_fractions
        assert (np.abs(device - exact) <= slack(left, right, start, d, this.adder)).all()
        differ += int((device != exact).sum())
    assert differ or d == "f16"


def test_the_bound_knows_what_is_negated():
    """A sum that is 0 but for the sign of A: the bound follows the sum of the instruction."""
    left, right, start = np.ones((64, 16)), np.ones((8, 16)), np.full((64, 8), 16.0)
    memory = Memory(65536)
    memory.put(laid_out(left, "f16"), "u8")
    memory.put(laid_out(right, "f16"), "u8", at=2048)
    d = Registers.holding(start, d_fragment("f32", 8), "f32")
    for negate in (False, True):
        this = Wgmma("f16", "f16", "f32", 8, negate_a=negate)
        found = bound(this, A_DESCRIPTOR, B_DESCRIPTOR, memory, d)
        sign = -1 if negate else 1
        assert np.array_equal(found, slack(sign * left, right, start, "f32", this.adder))
    assert not bound(Wgmma("s8", "s8", "s32", 8), A_DESCRIPTOR, B_DESCRIPTOR, memory).any()


# -- what is refused -------------------------------------------------------------------------------------


def test_an_operand_that_nothing_wrote_is_told_with_its_element():
    memory = Memory(4096)
    memory.put([1] * 1024, "f16")
    memory.put([1] * 64, "f16", at=2048)
    with pytest.raises(Refused) as refused:
        multiply("m64n8k16.f32.f16.f16", A_DESCRIPTOR, B_DESCRIPTOR, memory)
    witness = refused.value.witness
    assert refused.value.code == "TW612"
    assert (witness["fault"], witness["n"], witness["k"], witness["address"]) == ("unwritten", 0, 8, 2176)
    assert witness["instruction"] == "wgmma.m64n8k16.f32.f16.f16, B"


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: Wgmma.of("m64n8k8.f32.f16.f16"), "TW602"),
        (lambda: Wgmma.of("m64n12k16.f32.f16.f16"), "TW602"),
        (lambda: Wgmma("f16", "bf16", "f32", 8), "TW602"),
        (lambda: Wgmma("s8", "s8", "s32", 8, "mn"), "TW602"),
        (lambda: Wgmma("s8", "s8", "s32", 8, negate_a=True), "TW602"),
        (lambda: Wgmma("f16", "f16", "f32", 8, saturate=True), "TW602"),
        (lambda: Wgmma.of("m64n8"), "TW601"),
    ],
    ids=["k", "n", "types", "major", "negated", "saturated", "words"],
)
def test_instructions_that_there_are_not(make, code):
    with pytest.raises(LayoutError) as refused:
        make()
    assert refused.value.code == code


def test_a_of_registers_has_no_major():
    this = Wgmma("f16", "f16", "f32", 8, a_major="mn")
    with pytest.raises(Refused, match="no major"):
        multiply(this, Registers.of(np.zeros((4, 32, 4))), B_DESCRIPTOR, Memory(4096))


def test_words_that_say_more_than_shape_and_types():
    """The product saturates where its words say so; words of sparsity name no dense product."""
    for words in (
        "m64n8k32.s32.s8.s8.satfinite",
        "m64n8k32.satfinite.s32.s8.s8",
        "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8.satfinite",
    ):
        assert Wgmma.of(words).saturate
        assert str(Wgmma.of(words)) == "m64n8k32.s32.s8.s8.satfinite"
    assert not Wgmma.of("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8").saturate
    assert Wgmma.of("m64n8k32.s32.s8.s8", saturate=True).saturate
    assert Wgmma.of("wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc").k == 256
    for words in (
        "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16",
        "m64n8k16.f32.f16.f16.f32",
        "m64n8k256.s32.b1.b1.xor.popc",
        "xm64n8k16.f32.f16.f16",
    ):
        with pytest.raises(LayoutError, match="is no dense wgmma"):
            Wgmma.of(words)
    with pytest.raises(Refused, match="does not saturate"):
        Wgmma.of("m64n8k16.f32.f16.f16.satfinite")


def test_registers_that_nothing_wrote_are_told_with_their_operand():
    shared, full = Memory(4096), Registers.of(np.zeros((4, 32, 4)))
    shared.put(np.zeros(4096), "u8")
    b, empty = Descriptor(lbo=128, sbo=256), Registers.empty(4, warps=4)
    for a, d, operand in ((empty, full, "A"), (full, empty, "D"), (b, empty, "D")):
        with pytest.raises(Refused) as refused:
            multiply("m64n8k16.f32.f16.f16", a, b, shared, d)
        assert refused.value.witness == {
            "fault": "unwritten",
            "instruction": f"wgmma.m64n8k16.f32.f16.f16, {operand}",
            "warp": 0,
            "lane": 0,
            "register": 0,
        }
