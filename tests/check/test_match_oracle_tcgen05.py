"""`match` of tcgen05 against the plainest answer: every way to read a tile, tried element by element."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from tests.check.naive_tcgen05 import PRODUCTS, WIDTHS, modes_of, swizzled, terms, ways
from tests.check.naive_wgmma import overlaps
from tests.check.test_match_oracle import changed

from tilewise import tables
from tilewise.check.match import match
from tilewise.core.errors import Refused
from tilewise.core.shapes import size_of
from tilewise.hardware.modes import BLACKWELL
from tilewise.hardware.operands.tiles import tile
from tilewise.hardware.tcgen05.descriptor import Descriptor

CASES = 20
"""Tiles of each product."""

MEMORY = 233472
"""Bytes of shared memory of an SM; nothing else is read."""


def stored(product):
    """As which the elements lie in memory: those of 4 bits together, or a byte each."""
    if product.dtype == "e2m1" and product.asked["kind"] != "f8f6f4":
        return "e2m1"
    return {1: "u8", 2: "u16", 4: "u32"}[product.size]


def random_tile(rng, product):
    """(layout, operand, base): a small tile of atoms, often with a fault or two."""
    together = 2 if stored(product) == "e2m1" else 1
    k = product.deep // product.size * together
    while True:
        operand, major = rng.choice("ABB"), rng.choice(["k", "mn"] if product.mn else ["k"])
        mode = BLACKWELL[rng.choice([*modes_of(product, major) * 2, *WIDTHS])]
        rows = rng.choice(product.a[:2] if operand == "A" else product.b[: 2 if product.deep == 48 else 6])
        deep = 8 if product.deep == 48 else rng.choice([1, 1, 2, 3])
        try:
            layout = tile(mode, major, stored(product), rows, k * deep, rng.choice(["mn", "k"]))
        except Refused:
            continue
        for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
            layout = changed(layout, rng)
        return layout, operand, rng.choice([0, 0, 0, 16, 64, 128, 1024])


def table_of(layout, product, base):
    """The byte of every element, or of every two that share one, and whether these stay together."""
    places = tables.table(layout).array.reshape(size_of(layout.shape[:1]), -1)
    if stored(product) != "e2m1":
        return (base + places * product.size).tolist(), True
    even, odd = places[:, ::2], places[:, 1::2]
    return (base + even // 2).tolist(), bool((even % 2 == 0).all() and (odd == even + 1).all())


def check_match(rng, product):
    """A yes, its fields and its steps, or a no whose nearest tiles are read, as trying everything has it."""
    layout, operand, base = random_tile(rng, product)
    asked = {"engine": "tcgen05", "operand": operand, "dtype": product.dtype, **product.asked}
    answer = match(layout, **asked, base=base)
    table, paired = table_of(layout, product, base)
    found = ways(table, operand, product)
    inside = max(map(max, table)) + product.size <= MEMORY
    legal = bool(found) and not overlaps(table, product.size) and inside and paired
    assert answer.legal == legal, (layout, asked, base, str(answer))
    if not legal:
        assert answer.reasons
        assert all(reason.message and reason.rule for reason in answer.reasons)
        for near in answer.nearest:
            assert match(near.layout, **asked).legal, near
        return "refused"
    assert len({way.mode for way in found}) == len({way.major for way in found}) == 1
    most = max(found, key=lambda way: way.rows)
    rows = len(table) // answer.mn_steps
    fields = answer.mode.name, answer.major, answer.lbo, answer.sbo, rows
    assert fields == (most.mode, most.major, most.lbo, most.sbo, most.rows)
    every_step_reads_its_part(answer, table, product, rows)
    return "answered"


def every_step_reads_its_part(answer, table, product, rows):
    deep = product.deep // product.size
    assert len(answer.steps) == len(table) // rows * (len(table[0]) // deep)
    for step in answer.steps:
        d = step.descriptor
        assert Descriptor.decode(d.value) == d
        assert step.bytes == d.start - answer.descriptor.start
        for row in range(rows):
            for k in range(deep):
                assert (
                    byte_of(d, answer.major, row, k, product)
                    == table[step.mn * rows + row][step.k * deep + k]
                )


def byte_of(d, major, row, k, product):
    """Return the byte that a descriptor reads, from the document's words."""
    moved = 128 * d.base_offset if d.mode.bits else 0
    fixed, lbos, sbos = terms(d.mode.name, major, row, k, product.size)
    lbo, start = d.lbo, d.start
    if d.lbo_mode == "absolute":
        inside = start % 128
        start = start if inside + k * product.size < 128 else d.lbo - 128 + inside
    return swizzled(start + fixed + lbos * lbo + sbos * d.sbo - moved, d.mode.name) + moved


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: f"{product.dtype}-{product.asked}")
def test_match_says_what_trying_everything_says(product):
    rng = random.Random(str(product))
    seen = Counter(check_match(rng, product) for _ in range(CASES))
    assert min(seen["answered"], seen["refused"]) > 1


def test_the_oracle_can_say_no():
    product = next(one for one in PRODUCTS if one.dtype == "bf16")
    rows = [[128 * r + 2 * k for k in range(16)] for r in range(8)]
    assert not ways(rows, "B", product)
    assert ways([[swizzled(at, "128B") for at in line] for line in rows], "B", product)
    inside = [[swizzled(at + 112, "128B") for at in line] for line in rows]
    assert not ways(inside, "B", product), "K that goes on past its row"
