"""Integer instructions of PTX against the definition of the ISA manual, in plain Python integers."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compiled.ptx import naive
from tests.compiled.ptx.naive import JOINS, RELATIONS, cut, of_type, signed
from tests.compiled.ptx_texts import numbers, ran

MANY = 32
"""Rows of numbers of one example, each in a lane of its own."""

few = settings(max_examples=12)

REGISTERS = {16: "%rs", 32: "%r", 64: "%rd"}


def edges(width):
    """Return numbers near the ends of a width, and small ones that shifts and fields take."""
    small = [0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 255, 256]
    ends = [1 << width - 1, (1 << width - 1) - 1, (1 << width) - 1, (1 << width) - 2]
    return [cut(number, width) for number in (*small, *ends)]


def bits(width):
    """Draw one number of a width."""
    return st.one_of(st.sampled_from(edges(width)), st.integers(0, (1 << width) - 1))


def rows(*widths):
    """Draw the numbers of the operands for all lanes, by a seed: half of them edges, half any."""

    def drawn(seed):
        random = Random(seed)
        return [
            tuple(random.choice([random.choice(edges(width)), random.getrandbits(width)]) for width in widths)
            for _ in range(MANY)
        ]

    return st.integers(0, 1 << 32).map(drawn)


def results(name, widths, given_rows, width, target="%x0", tail=""):
    """Return the target of an instruction over rows of numbers."""
    names = [f"{REGISTERS[each]}{place + 1}" for place, each in enumerate(widths)]
    columns = [[row[place] for row in given_rows] for place in range(len(widths))]
    statement = f"{name} {target}, {', '.join(names)}{tail}"
    lanes, _, trace = ran([statement], dict(zip(names, columns, strict=True)))
    assert not trace.program.unread
    found = numbers(lanes, target)
    return [None if one is None else cut(one, width) for one in found[: len(given_rows)]]


BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul.lo": lambda a, b: a * b,
    "min": min,
    "max": max,
    "div": naive.divided,
    "rem": naive.remaining,
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("type", ["u16", "s16", "u32", "s32", "u64", "s64"])
@few
@given(data=st.data())
def test_two_numbers(name, type, data):
    width = int(type[1:])
    drawn = data.draw(rows(width, width))
    expected = [BINARY[name](of_type(a, type), of_type(b, type)) for a, b in drawn]
    expected = [None if one is None else cut(one, width) for one in expected]
    assert results(f"{name}.{type}", (width, width), drawn, width) == expected


@pytest.mark.parametrize("type", ["u16", "s16", "u32", "s32", "u64", "s64"])
@few
@given(data=st.data())
def test_high_and_wide_products(type, data):
    width = int(type[1:])
    drawn = data.draw(rows(width, width, width))
    whole = [of_type(a, type) * of_type(b, type) for a, b, _ in drawn]
    pairs = [row[:2] for row in drawn]
    assert results(f"mul.hi.{type}", (width,) * 2, pairs, width) == [cut(w >> width, width) for w in whole]
    added = [cut((w >> width) + row[2], width) for w, row in zip(whole, drawn, strict=True)]
    assert results(f"mad.hi.{type}", (width,) * 3, drawn, width) == added
    low = [cut(w + row[2], width) for w, row in zip(whole, drawn, strict=True)]
    assert results(f"mad.lo.{type}", (width,) * 3, drawn, width) == low
    if width < 64:
        assert results(f"mul.wide.{type}", (width,) * 2, pairs, 2 * width) == [
            cut(w, 2 * width) for w in whole
        ]


@pytest.mark.parametrize("type", ["u16", "s16", "u32", "s32"])
@few
@given(data=st.data())
def test_wide_sums(type, data):
    width = int(type[1:])
    drawn = data.draw(rows(width, width, 2 * width))
    expected = [cut(of_type(a, type) * of_type(b, type) + c, 2 * width) for a, b, c in drawn]
    assert results(f"mad.wide.{type}", (width, width, 2 * width), drawn, 2 * width) == expected


@pytest.mark.parametrize("part", ["lo", "hi"])
@pytest.mark.parametrize("type", ["u32", "s32"])
@few
@given(drawn=rows(32, 32, 32))
def test_products_of_24_bits(part, type, drawn):
    expected = [naive.product24(a, b, type, part == "hi") for a, b, _ in drawn]
    assert results(f"mul24.{part}.{type}", (32, 32), [row[:2] for row in drawn], 32) == expected
    added = [cut(e + row[2], 32) for e, row in zip(expected, drawn, strict=True)]
    assert results(f"mad24.{part}.{type}", (32, 32, 32), drawn, 32) == added


@pytest.mark.parametrize("type", ["u16", "s16", "u32", "s32", "u64", "s64"])
@few
@given(data=st.data())
def test_distances(type, data):
    width = int(type[1:])
    drawn = data.draw(rows(width, width, width))
    expected = [cut(c + abs(of_type(a, type) - of_type(b, type)), width) for a, b, c in drawn]
    assert results(f"sad.{type}", (width,) * 3, drawn, width) == expected


ONE = {
    "abs.s16": lambda a: abs(signed(a, 16)),
    "abs.s32": lambda a: abs(signed(a, 32)),
    "abs.s64": lambda a: abs(signed(a, 64)),
    "neg.s16": lambda a: -a,
    "neg.s32": lambda a: -a,
    "neg.s64": lambda a: -a,
    "not.b16": lambda a: ~a,
    "not.b32": lambda a: ~a,
    "not.b64": lambda a: ~a,
    "cnot.b32": lambda a: int(a == 0),
    "cnot.b64": lambda a: int(a == 0),
    "brev.b32": lambda a: int(f"{a:032b}"[::-1], 2),
    "brev.b64": lambda a: int(f"{a:064b}"[::-1], 2),
    "popc.b32": lambda a: a.bit_count(),
    "popc.b64": lambda a: a.bit_count(),
    "clz.b32": lambda a: 32 - a.bit_length(),
    "clz.b64": lambda a: 64 - a.bit_length(),
    **{
        f"bfind{end}.{type}": lambda a, type=type, end=end: naive.bfind(a, type, bool(end))
        for type in ("u32", "s32", "u64", "s64")
        for end in ("", ".shiftamt")
    },
}


@pytest.mark.parametrize("name", ONE)
@few
@given(data=st.data())
def test_one_number(name, data):
    width = int(name[-2:])
    out = 32 if name.startswith(("popc", "clz", "bfind")) else width
    drawn = data.draw(rows(width))
    assert results(name, (width,), drawn, out) == [cut(ONE[name](a), out) for (a,) in drawn]


@pytest.mark.parametrize("width", [16, 32, 64])
@few
@given(data=st.data())
def test_logic(width, data):
    drawn = data.draw(rows(width, width))
    for name, function in (("and", int.__and__), ("or", int.__or__), ("xor", int.__xor__)):
        expected = [function(a, b) for a, b in drawn]
        assert results(f"{name}.b{width}", (width, width), drawn, width) == expected


@pytest.mark.parametrize("width", [16, 32, 64])
@few
@given(data=st.data())
def test_shifts(width, data):
    drawn = data.draw(rows(width, 32))
    left = [cut(a << min(n, 99), width) for a, n in drawn]
    assert results(f"shl.b{width}", (width, 32), drawn, width) == left
    right = [a >> n for a, n in drawn]
    assert results(f"shr.u{width}", (width, 32), drawn, width) == right
    filled = [cut(signed(a, width) >> n, width) for a, n in drawn]
    assert results(f"shr.s{width}", (width, 32), drawn, width) == filled


@pytest.mark.parametrize("side", ["l", "r"])
@pytest.mark.parametrize("mode", ["wrap", "clamp"])
@few
@given(drawn=rows(32, 32, 32))
def test_funnels(side, mode, drawn):
    expected = [naive.funnel(*row, side == "l", mode == "wrap") for row in drawn]
    assert results(f"shf.{side}.{mode}.b32", (32, 32, 32), drawn, 32) == expected


@pytest.mark.parametrize("type", ["u32", "s32", "u64", "s64"])
@few
@given(data=st.data())
def test_fields(type, data):
    width = int(type[1:])
    drawn = data.draw(rows(width, 32, 32))
    expected = [cut(naive.bfe(*row, type), width) for row in drawn]
    assert results(f"bfe.{type}", (width, 32, 32), drawn, width) == expected
    four = data.draw(rows(width, width, 32, 32))
    expected = [cut(naive.bfi(*row, width), width) for row in four]
    assert results(f"bfi.b{width}", (width, width, 32, 32), four, width) == expected


@few
@given(drawn=rows(32, 32, 32), table=st.integers(0, 255))
def test_bytes_and_tables(drawn, table):
    assert results("prmt.b32", (32, 32, 32), drawn, 32) == [naive.prmt(*row) for row in drawn]
    expected = [naive.lop3(*row, table) for row in drawn]
    assert results("lop3.b32", (32, 32, 32), drawn, 32, tail=f", {table:#x}") == expected


@pytest.mark.parametrize("mode", ["wrap", "clamp"])
@few
@given(drawn=rows(32, 32))
def test_masks(mode, drawn):
    for type in ("s32", "u32"):
        expected = [naive.szext(*row, type, mode == "wrap") for row in drawn]
        assert results(f"szext.{mode}.{type}", (32, 32), drawn, 32) == expected
    expected = [naive.bmsk(*row, mode == "wrap") for row in drawn]
    assert results(f"bmsk.{mode}.b32", (32, 32), drawn, 32) == expected


# -- sums of several words -------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [32, 64])
@few
@given(data=st.data())
def test_carries_make_one_long_number(width, data):
    r = REGISTERS[width]
    given_numbers = data.draw(st.lists(bits(width), min_size=6, max_size=6))
    registers = {f"{r}{place}": number for place, number in enumerate(given_numbers)}
    a = sum(number << width * place for place, number in enumerate(given_numbers[:3]))
    b = sum(number << width * place for place, number in enumerate(given_numbers[3:]))
    for name, total in (("add", a + b), ("sub", a - b)):
        lines = [
            f"{name}.cc.u{width} {r}10, {r}0, {r}3",
            f"{name}c.cc.u{width} {r}11, {r}1, {r}4",
            f"{name}c.u{width} {r}12, {r}2, {r}5",
        ]
        lanes, _, _ = ran(lines, registers)
        found = sum(numbers(lanes, f"{r}1{place}")[0] << width * place for place in range(3))
        assert found == cut(total, 3 * width)


@few
@given(st.tuples(*[bits(32)] * 4))
def test_products_of_two_words(drawn):
    a0, a1, b0, c = drawn
    lines = [
        "mad.lo.cc.u32 %r10, %r0, %r2, %r3",
        "madc.hi.cc.u32 %r11, %r0, %r2, 0",
        "madc.hi.u32 %r12, %r1, %r2, 0",
        "mad.lo.cc.u32 %r13, %r1, %r2, %r11",
        "addc.u32 %r14, %r12, 0",
    ]
    lanes, _, _ = ran(lines, {"%r0": a0, "%r1": a1, "%r2": b0, "%r3": c})
    low, high, carry = (numbers(lanes, register)[0] for register in ("%r10", "%r13", "%r14"))
    first = a0 * b0 + c
    assert low == cut(first, 32)
    assert high == cut(a1 * b0 + (first >> 32), 32)
    # The second madc had no carry in: that of the first went into it.
    top = (a1 * b0 >> 32) + (cut(a1 * b0, 32) + cut(first >> 32, 32) >> 32)
    assert carry == cut(top, 32)


# -- comparisons, selections, conversions ----------------------------------------------------------------


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("type", ["u16", "s16", "b32", "u32", "s32", "u64", "s64"])
@few
@given(data=st.data())
def test_comparisons(relation, type, data):
    width = int(type[1:])
    drawn = data.draw(rows(width, width))
    holds = [RELATIONS[relation](of_type(a, type), of_type(b, type)) for a, b in drawn]
    assert results(f"setp.{relation}.{type}", (width, width), drawn, 1, "%p9") == holds
    as_number = [0xFFFFFFFF if one else 0 for one in holds]
    assert results(f"set.{relation}.u32.{type}", (width, width), drawn, 32) == as_number


@pytest.mark.parametrize("join", JOINS)
@few
@given(a=bits(32), b=bits(32), also=st.booleans(), negated=st.booleans())
def test_joined_comparisons(join, a, b, also, negated):
    line = f"setp.lt.{join}.s32 %p1|%p2, %r1, %r2, {'!' if negated else ''}%p3"
    lanes, _, _ = ran([line], {"%r1": a, "%r2": b, "%p3": int(also)})
    less, other = signed(a, 32) < signed(b, 32), also != negated
    assert numbers(lanes, "%p1")[0] == JOINS[join](less, other)
    assert numbers(lanes, "%p2")[0] == JOINS[join](not less, other)


def test_one_known_predicate_may_decide():
    lines = ["and.pred %p3, %p1, %p2", "or.pred %p4, %p1, %p2", "setp.lt.and.f32 %p5, %f1, %f2, %p1"]
    lanes, _, _ = ran(lines, {"%p1": [0] * 16 + [1] * 16})
    assert numbers(lanes, "%p3") == [0] * 16 + [None] * 16
    assert numbers(lanes, "%p4") == [None] * 16 + [1] * 16
    assert numbers(lanes, "%p5") == [0] * 16 + [None] * 16


def test_selections_know_what_they_take():
    lanes, _, _ = ran(["selp.b32 %r3, %r1, %r2, %p1"], {"%r1": 5, "%p1": [1] * 4 + [0] * 28})
    assert numbers(lanes, "%r3") == [5] * 4 + [None] * 28
    lines = ["slct.u64.s32 %rd3, 10, 20, %r1"]
    lanes, _, _ = ran(lines, {"%r1": [-1, 0, 1, -(1 << 31)] * 8})
    assert numbers(lanes, "%rd3")[:4] == [20, 10, 10, 20]


TYPES = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]


@pytest.mark.parametrize("target", TYPES)
@pytest.mark.parametrize("source", TYPES)
@few
@given(data=st.data())
def test_conversions(target, source, data):
    width, out = int(source[1:]), int(target[1:])
    drawn = data.draw(rows(max(width, 16)))
    plain = [of_type(a, source) for (a,) in drawn]
    wide = max(out, 16)
    assert results(f"cvt.{target}.{source}", (max(width, 16),), drawn, wide) == [
        cut(of_type(a, target), wide) for a in plain
    ]
    assert results(f"cvt.sat.{target}.{source}", (max(width, 16),), drawn, wide) == [
        cut(naive.saturated(a, target), wide) for a in plain
    ]


@few
@given(st.lists(bits(16), min_size=4, max_size=4))
def test_numbers_are_packed_and_unpacked(parts):
    lines = [
        "mov.b64 %rd1, {%rs1, %rs2, %rs3, %rs4}",
        "mov.b64 {%r1, _}, %rd1",
        "mov.b64 {_, %r2}, %rd1",
        "mov.b32 {%rs5, %rs6}, %r2",
        "mov.b64 %rd2, {%r1, %r2}",
    ]
    lanes, _, _ = ran(lines, {f"%rs{place + 1}": part for place, part in enumerate(parts)})
    whole = sum(part << 16 * place for place, part in enumerate(parts))
    assert numbers(lanes, "%rd1")[0] == numbers(lanes, "%rd2")[0] == whole
    assert [numbers(lanes, register)[0] for register in ("%rs5", "%rs6")] == parts[2:]


def test_immediates():
    lines = [
        "mov.u32 %r1, 0x10",
        "mov.u32 %r2, -1",
        "mov.u32 %r3, 017",
        "mov.u32 %r4, 0b101",
        "mov.f32 %f5, 0f3F800000",
        "mov.f64 %fd6, 0d3FF0000000000000",
        "mov.u32 %r7, 12U",
        "mov.u32 %r8, WARP_SZ",
    ]
    lanes, _, _ = ran(lines)
    names = ("%r1", "%r2", "%r3", "%r4", "%f5", "%fd6", "%r7", "%r8")
    assert [numbers(lanes, name)[0] for name in names] == [
        16,
        0xFFFFFFFF,
        15,
        5,
        0x3F800000,
        0x3FF0000000000000,
        12,
        32,
    ]


@pytest.mark.parametrize("name", ["add.f32", "fma.rn.f32", "mul.f64", "cvt.rn.f32.s32", "cvt.rzi.s32.f32"])
def test_floats_are_not_known(name):
    lanes, _, trace = ran([f"{name} %x0, %r1, %r2, %r3"], {"%x0": 7, "%r1": 1, "%r2": 2, "%r3": 3})
    assert numbers(lanes, "%x0") == [None] * 32
    assert not trace.program.unread


@pytest.mark.parametrize(
    "line", ["add.s16x2 %r0, %r1, %r2", "frobnicate.u32 %r0, %r1", "add.u32 %r0, %r1, ((3))"]
)
def test_what_is_not_read_is_counted_and_unknown(line):
    lanes, _, trace = ran([line], {"%r0": 7, "%r1": 1, "%r2": 2})
    assert trace.program.unread == {line.split()[0]: 1}
    assert numbers(lanes, "%r0") == [None] * 32
