"""Feeding against the plainest answer: every byte of every lane, and every form tried."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from tests.check.naive_feeding import Asked, addresses, matrices_move, moved, wanted, widest
from tests.check.naive_wgmma import overlaps, table_of

from tilewise.check.feeding import feed
from tilewise.check.feeding.steps import stepping, terms
from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import as_vector
from tilewise.hardware.mma.instructions import FAMILIES, sparse_instructions

CASES = 100

INPUTS = sorted({(str(family.shape), a) for family in FAMILIES for a, _ in family.inputs})
SPARSE = sorted({(str(this.shape), this.a) for this in sparse_instructions()})
RESULTS = [("m16n8k16", name) for name in ("f16", "bf16", "f32", "e4m3", "s8")]
RESULTS += [("m8n8k16", "s32"), ("m8n8k4", "f64"), ("m16n8k8", "f16"), ("m8n8k16", "u8")]
RESULTS += [("m8n8k4", "f16"), ("m8n8k4", "f32")]


def random_question(rng):
    """Draw (layout, question, base): a tile of a few instructions in any order of its digits."""
    operand = rng.choice("AABBCD")
    sparse = operand in "AB" and rng.random() < 0.15
    shape, dtype = rng.choice(SPARSE if sparse else INPUTS if operand in "AB" else RESULTS)
    asked = Asked(operand, shape, dtype, sparse, rng.choice([(2, 2), (4, 1), (1, 4)]))
    bits = DType.of(dtype).bits
    rows, columns = (extent * rng.choice([1, 1, 2, 3, 4]) for extent in asked.extents)
    layout = digits_in_some_order(rng, rows, columns, max(1, 8 // bits))
    for _ in range(rng.choice([0, 0, 1, 2])):
        layout = changed(layout, rng, bits)
    return layout, asked, rng.choice([0, 0, 0, 16, 8, 128, 1024])


def digits_in_some_order(rng, rows, columns, together):
    """A dense layout: the digits of rows and columns in any order, often the usual ones."""
    digits = [("row", extent) for extent in parts(rng, rows)]
    digits += [("column", extent) for extent in parts(rng, columns // together)]
    order = list(range(len(digits)))
    kind = rng.choice(["k", "k", "mn", "any"])
    if kind == "any":
        rng.shuffle(order)
    else:
        order.sort(key=lambda i: (digits[i][0] == ("column" if kind == "k" else "row"), i))
    strides, step = [0] * len(digits), together
    for position, i in enumerate(reversed(order)):
        strides[i] = step
        step *= digits[i][1]
        if rng.random() < 0.15 and position:
            step += together * rng.choice([1, 2, 4, 8, 16])
    shape = tuple(tuple(extent for name, extent in digits if name == mode) for mode in ("row", "column"))
    shape, strides = (shape[0], (*shape[1], together)), [*strides, 1]
    return Layout(shape, tuple(map(as_vector, strides)))


def parts(rng, extent):
    """Factors of an extent, the fastest last."""
    found = []
    while extent > 1:
        factors = [f for f in (2, 4, 8, 16, 3, extent) if extent % f == 0]
        found.append(rng.choice(factors))
        extent //= found[-1]
    return found or [1]


def changed(layout, rng, bits):
    """A swizzle, an offset, or a step of another length."""
    kind = rng.choice(["swizzle", "swizzle", "swizzle", "offset", "outer", "scale"])
    sixteen = max(0, (128 // bits).bit_length() - 1)
    if kind == "offset":
        return replace(layout, offset=as_vector(rng.choice([1, 8, 16, 64, 256]) * max(1, 8 // bits)))
    if kind == "outer":
        return replace(layout, outer=as_vector(rng.choice([8, 16, 64, 128, 192]) * max(1, 8 // bits)))
    if kind == "swizzle":
        least = (8 // bits).bit_length() - 1 if bits < 8 else 0
        base = max(least, sixteen + rng.choice([0, 0, 0, 1, -1, -2]))
        swizzle = Swizzle(rng.choice([1, 2, 3]), base, rng.choice([3, 3, 4, 5, -3]))
        return replace(layout, swizzles=(*layout.swizzles, swizzle))
    strides = list(layout.strides)
    at = rng.choice(range(len(strides) - 1))
    strides[at] = strides[at] * rng.choice([2, 3, -1])
    return replace(layout, strides=tuple(strides))


def check_feed(rng):
    """A yes that moves every byte as asked, in the widest way there is, or a no that is one."""
    layout, asked, base = random_question(rng)
    arch = rng.choice([None, None, None, "sm_100a"]) if DType.of(asked.dtype).bits == 8 else None
    words = {**asked._asdict(), "base": base, "arch": arch}
    del words["major"]
    what = f"{layout} {words}"
    answer = feed(layout, **words)
    if not answer.legal and answer.reasons[0].rule == "digits":
        return "digits"
    table = table_of(layout, asked.dtype, base)
    size = max(1, DType.of(asked.dtype).bits // 8)
    places = [at for line in table for at in line]
    legal = not overlaps(table, size) and min(places) >= 0 and max(places) + size <= 228 * 1024
    assert answer.legal == legal, what
    if not legal:
        assert all(reason.message and reason.rule for reason in answer.reasons), what
        return "refused"
    plain = feed(layout, **words, form="vectors")
    found = wanted(layout, asked._replace(major=plain.major), base)
    assert moved(plain) == found, what
    check_terms(answer, what)
    width = widest(found)
    assert plain.form.bits <= 8 * width, what
    if whole(layout):
        assert plain.form.bits == 8 * width, what
    only = feed(layout, **words, form="matrices")
    ways = [trans for trans in (False, True) if matrices_move(found, trans)]
    assert only.legal >= bool(ways), what
    assert only.legal == bool(ways) or (arch and only.form.shape != "m8n8"), what
    if not only.legal:
        assert (answer.form, answer.steps) == (plain.form, plain.steps), what
        assert only.reasons == answer.reasons, what
        return "Vector"
    assert moved(only) == found, what
    assert only.form.trans in ways or only.form.shape != "m8n8", what
    best = plain if len(plain.steps) < len(only.steps) else only
    assert (answer.form, answer.steps) == (best.form, best.steps), what
    return "Form.trans" if only.form.trans else "Form"


def check_terms(found, what):
    """Where the steps are numbers, they are so for every lane, and no way of many is left out."""
    first = [at - found.base for at in addresses(found.addresses)]
    for step, term in zip(found.steps, terms(found), strict=True):
        assert (term is None) <= (step.add is None and step.xor is None), what
        if term is not None:
            flipped, added = term
            here = [found.base + (at ^ flipped) + added for at in first]
            assert here == addresses(step.addresses), what
    how = stepping(found)
    if how is not None:
        assert len(list(how.terms())) == len(found.steps), what


def whole(layout):
    """Return whether each digit is of twos and goes up: else vectors may be wider than digits are."""
    return all(extent & (extent - 1) == 0 and stride["m"] >= 0 for extent, stride in layout.digits)


@pytest.mark.parametrize("seed", range(2))
def test_every_byte_is_where_the_plainest_loops_have_it(seed):
    counts = Counter(check_feed(random.Random(f"{seed} {number}")) for number in range(CASES // 2))
    assert counts["Form"] + counts["Form.trans"] > CASES // 20
    assert min(counts["Vector"], counts["refused"] * 4) > CASES // 20
    assert counts["digits"] < CASES // 8
