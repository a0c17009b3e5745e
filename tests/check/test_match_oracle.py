"""`match` against the plainest answer: every way to read a tile, tried element by element."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import product

import pytest
from tests.check.naive_wgmma import TOP, WIDTHS, overlaps, swizzled, table_of, terms, ways
from tests.hardware.of_wgmma import unread

from tilewise.check.match import match
from tilewise.core.errors import Refused
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import as_vector
from tilewise.hardware.operands.tiles import tile
from tilewise.hardware.wgmma.instructions import Input

CASES = 120


def random_tile(rng):
    """(layout, dtype, operand, base): a small tile of atoms, often with a fault or two."""
    while True:
        dtype = rng.choice(["bf16", "f16", "tf32", "e4m3", "s8"])
        row = Input.of(dtype)
        operand, mode, major = rng.choice("ABB"), rng.choice([*WIDTHS]), rng.choice(row.majors)
        rows = 64 if operand == "A" else rng.choice([8, 16, 24, 32, 64, 96])
        try:
            layout = tile(mode, major, dtype, rows, row.k * rng.choice([1, 1, 2, 3]), rng.choice(["mn", "k"]))
        except Refused:
            continue
        for _ in range(rng.choice([0, 1, 1, 2])):
            layout = changed(layout, rng)
        return layout, dtype, operand, rng.choice([0, 0, 0, 16, 64, 128, 1024])


def changed(layout, rng):
    """Make one fault, or a change that does no harm."""
    strides = list(layout.strides)
    at, other = rng.choice(range(len(strides))), rng.choice(range(len(strides)))
    kind = rng.choice(["scale", "add", "offset", "outer", "swizzle", "swap"])
    if kind == "offset":
        return replace(layout, offset=as_vector(rng.choice([1, 4, 8, 16, 32, 64, 256, 1024])))
    if kind == "outer":
        return replace(layout, outer=as_vector(rng.choice([8, 16, 64, 128, 192, 1024])))
    if kind == "swizzle":
        bits, base, shift = rng.choice([0, 1, 2, 3]), rng.choice([2, 3, 4, 5]), rng.choice([3, 3, 4, -3])
        return replace(layout, swizzles=(Swizzle(bits, base, shift),) if bits else ())
    if kind == "scale":
        strides[at] = strides[at] * rng.choice([0, 2, -1, 3])
    elif kind == "add":
        strides[at] = strides[at] + rng.choice([1, 2, 4, 8, -8, 16, 32, 64, 128, 512])
    else:
        strides[at], strides[other] = strides[other], strides[at]
    return replace(layout, strides=tuple(strides))


def check_match(rng):
    """A yes, its fields and its steps, or a no whose nearest tiles are read, as trying everything has it."""
    layout, dtype, operand, base = random_tile(rng)
    row = Input.of(dtype)
    table = table_of(layout, dtype, base)
    found = [*ways(table, operand, dtype, row.majors, row.n)]
    legal = bool(found) and not overlaps(table, row.dtype.bits // 8)
    answer = match(layout, operand=operand, dtype=dtype, base=base)
    assert answer.legal == legal, (layout, dtype, operand, base)
    if not legal:
        assert answer.reasons
        assert all(reason.message and reason.rule for reason in answer.reasons)
        for near in answer.nearest:
            assert match(near.layout, operand=operand, dtype=dtype).legal, near
        return "refused"
    assert len({way.mode for way in found}) == len({way.major for way in found}) == 1
    most = next(way for way in found if way.n == max(way.n for way in found))
    n = answer.instruction[1] or 64
    fields = answer.mode.name, answer.major, answer.lbo, answer.sbo, n
    assert fields == (most.mode, most.major, most.lbo, most.sbo, most.n)
    every_step_reads_its_part(answer, table, row.dtype.bits // 8, n)
    return "answered"


@pytest.mark.parametrize("seed", range(4))
def test_match_says_what_trying_everything_says(seed):
    rng = random.Random(seed)
    seen = Counter(check_match(rng) for _ in range(CASES // 4))
    assert min(seen["answered"], seen["refused"]) > CASES // 16


def every_step_reads_its_part(answer, table, size, n):
    deep = 32 // size
    assert len(answer.steps) == len(table) // n * (len(table[0]) // deep)
    for step in answer.steps:
        d = step.descriptor
        assert step.bytes == d.start - answer.descriptor.start
        moved = 128 * d.base_offset if d.mode.bits else 0
        for row, k in product(range(n), range(deep)):
            fixed, lbos, sbos = terms(d.mode.name, answer.major, row, k, size)
            plain = d.start + fixed + lbos * d.lbo + sbos * d.sbo
            byte = swizzled(plain - moved, d.mode.name) + moved
            assert byte == table[step.mn * n + row][step.k * deep + k]


def test_ignored_fields_are_those_that_change_nothing():
    """Any value in an ignored field reads the same bytes; in another one it does not."""
    for dtype, n, mode in product(("bf16", "tf32"), (8, 16, 64), WIDTHS):
        for major in Input.of(dtype).majors:
            try:
                layout = tile(mode, major, dtype, n, Input.of(dtype).k * 4)
            except Refused:
                continue
            answer = match(layout, operand="B", dtype=dtype, n=n)
            said = unread(answer.descriptor, dtype=dtype, major=major, operand="B", n=n)
            assert set(answer.ignored) == set(said) - {"base_offset"}
            assert [getattr(answer, name) for name in answer.ignored] == [None] * len(answer.ignored)


@pytest.mark.parametrize(
    ("mode", "major", "lbo", "sbo"), [("none", "k", 512, 128), ("32B", "mn", 256, 512), ("64B", "k", 0, 512)]
)
def test_all_descriptors_of_a_window_of_strides(mode, major, lbo, sbo):
    """One small tile against every LBO and SBO below 1 KiB: those that read it are those that are named."""
    elements = [*product(range(16), range(16))]

    def read(lbo, sbo):
        counts = [terms(mode, major, row, k, 2) for row, k in elements]
        return [swizzled(fixed + lbos * lbo + sbos * sbo, mode) for fixed, lbos, sbos in counts]

    wanted = read(lbo, sbo)
    every = [*product(range(0, 1024, 16), repeat=2)]
    readers = {pair for pair in every if read(*pair) == wanted}
    listed = [wanted[16 * row : 16 * row + 16] for row in range(16)]
    (way,) = ways(listed, "B", "bf16", ("k", "mn"), (16,))
    assert (way.mode, way.major) == (mode, major)
    assert readers == {(l, s) for l, s in every if way.lbo in (None, l) and way.sbo in (None, s)}


def test_the_oracle_can_say_no():
    rows = [[128 * r + 2 * k for k in range(16)] for r in range(8)]
    assert not [*ways(rows, "B", "bf16", ("k", "mn"), (8,))]
    assert [*ways([[swizzled(at, "128B") for at in line] for line in rows], "B", "bf16", ("k",), (8,))]
    assert overlaps([[0, 1]], 2)
    assert TOP == 1 << 18
