"""One tile in many spellings: its answer follows from what it maps, not from how it is written."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from tilewise import Axis, parse
from tilewise.check.match import match
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import as_vector
from tilewise.hardware.operands.tiles import tile
from tilewise.hardware.wgmma.instructions import Input
from tilewise.notation import to_cute

TILES = [
    (mode, major, dtype, operand, order)
    for dtype, operand, order in (
        ("bf16", "B", "mn"),
        ("f16", "A", "k"),
        ("tf32", "B", "k"),
        ("e4m3", "A", "mn"),
        ("u8", "B", "mn"),
        ("b1", "B", "k"),
    )
    for mode, major in product(("none", "32B", "64B", "128B"), Input.of(dtype).majors)
]


def made(mode, major, dtype, operand, order):
    """A tile of several atoms both ways, with an odd number of them where there may be one."""
    per_row = 128 * 8 // Input.of(dtype).dtype.bits
    rows = 128 if operand == "A" or major == "mn" else 48
    return tile(mode, major, dtype, rows, per_row * (2 if major == "k" else 1), order)


def spellings(layout, dtype):
    """(name, layout): the same map, written otherwise."""
    yield "canonical by mode", layout.coalesce(by_mode=True)
    yield "digits of their own", nested(layout)
    yield "with extents of 1", with_ones(layout)
    yield "an axis of one's own", elsewhere(layout)
    yield "in another unit", layout.in_bits(dtype)
    if Input.of(dtype).dtype.bits >= 8:
        yield "in bytes", layout.in_bytes(dtype)
    yield "read from CuTe's notation", parse(to_cute(layout), dialect="cute")
    if layout.swizzles:
        (swizzle,) = layout.swizzles
        yield "swizzled three times", replace(layout, swizzles=(swizzle,) * 3)
        yield "one bit at a time", replace(layout, swizzles=single_bits(swizzle))
        yield "an outer offset that cancels", moved(layout)
    try:
        recognised = layout.recognise_map()
    except LayoutError:
        return
    yield "recognised from its bits", recognised.group(*map(size, layout.shape))


def size(mode):
    total = 1
    for part in mode if isinstance(mode, tuple) else (mode,):
        total *= part
    return total


def nested(layout):
    """Every digit cut into digits of 2, nested pair by pair."""
    flat = layout.group(*(tuple(prime_digits(size(mode))) for mode in layout.shape))
    shape = tuple(pairs(mode) for mode in flat.shape)
    return Layout(shape, flat.strides, flat.replica, flat.offset, flat.swizzles, flat.outer, flat.unit)


def prime_digits(extent):
    odd = extent
    while odd % 2 == 0:
        odd //= 2
    return [odd] * (odd > 1) + [2] * ((extent // odd).bit_length() - 1)


def pairs(mode):
    """(a, b, c, d) as (a, (b, (c, d)))."""
    digits = mode if isinstance(mode, tuple) else (mode,)
    return digits[0] if len(digits) == 1 else (digits[0], pairs(digits[1:]))


def with_ones(layout):
    shape = tuple((1, *(mode if isinstance(mode, tuple) else (mode,)), 1) for mode in layout.shape)
    strides = iter(layout.strides)
    spelled = []
    for mode in layout.shape:
        digits = len(mode) if isinstance(mode, tuple) else 1
        spelled += [as_vector(12345), *(next(strides) for _ in range(digits)), as_vector(-7)]
    return replace(layout, shape=shape, strides=tuple(spelled))


def elsewhere(layout):
    axis = Axis("stage", storage=True)

    def on_axis(vector):
        return vector["m"] @ axis

    return replace(
        layout,
        strides=tuple(map(on_axis, layout.strides)),
        swizzles=tuple(Swizzle(s.bits, s.base, s.shift, axis) for s in layout.swizzles),
    )


def single_bits(swizzle):
    return tuple(Swizzle(1, swizzle.base + i, swizzle.shift) for i in range(swizzle.bits))


def moved(layout):
    """The same map with a whole period outside the swizzle and taken back inside it."""
    period = layout.period
    return replace(layout, offset=layout.offset - period, outer=as_vector(period))


def said(answer):
    assert answer.legal, answer.reasons
    steps = [(step.mn, step.k, step.bytes, step.descriptor) for step in answer.steps]
    return answer.mode, answer.major, answer.lbo, answer.sbo, answer.ignored, answer.instruction, steps


@pytest.mark.parametrize("made_of", TILES, ids=lambda made_of: "-".join(made_of))
def test_a_tile_is_found_in_any_spelling(made_of):
    mode, major, dtype, operand, _ = made_of
    layout = made(*made_of)
    wanted = said(match(layout, operand=operand, dtype=dtype))
    assert (wanted[0].name, wanted[1]) == (mode, major)
    found = [*spellings(layout, dtype)]
    assert len(found) >= 6
    for name, spelled in found:
        assert said(match(spelled, operand=operand, dtype=dtype)) == wanted, name


def test_so_many_spellings():
    assert sum(len([*spellings(made(*made_of), made_of[2])]) for made_of in TILES) >= 200


def test_bits_written_as_the_bytes_that_hold_them():
    tile_of_bits = tile("128B", "k", "b1", 64, 1024)
    in_bytes = parse("Swizzle<3,4,3> o S[(64, (128, 8)) : (128, (1, 0))]", unit="byte")
    assert said(match(in_bytes, operand="B", dtype="b1")) == said(
        match(tile_of_bits, operand="B", dtype="b1")
    )


def test_a_typed_pointer_and_a_named_swizzle():
    wanted = said(match(parse("Swizzle<3,3,3> o S[(64, 64) : (64, 1)]"), operand="A", dtype="bf16"))
    for text in (
        "Sw<3,4,3> o smem_ptr[16b](0) o (64,64):(64,1)",
        "SWIZZLE_128B o S[(64, 64) : (64, 1)]",
        "((8,8),(16,4)):((64,512),(1,16))",
    ):
        layout = parse(text, dtype="bf16")
        if not layout.swizzles:
            layout = Swizzle(3, 3, 3) @ layout
        assert said(match(layout, operand="A", dtype="bf16")) == wanted


@pytest.mark.parametrize(
    ("spelled", "dtype", "code"),
    [
        ("Sw<3,4,3> o smem_ptr[32b](unset) o (64,64):(64,1)", "bf16", 1),
        ("smem_ptr[32b](unset) o ((8,8),(8,2)):((8,64),(1,512))", "bf16", 0),
        ("Sw<3,4,3>_smem_ptr[16b](unset) o (64,64):(64,1)", "tf32", 1),
        ("Sw<3,4,3> o smem_ptr[16b](unset) o (64,64):(64,1)", "bf16", 0),
        ("Sw<3,4,3> o smem_ptr[16b](unset) o (64,64):(68,1)", "bf16", 1),
        ("(64,64):(64,1)", "bf16", 1),
    ],
)
def test_a_pointer_to_elements_of_another_width_is_told(tilewise, spelled, dtype, code):
    run = tilewise("match", spelled, "--operand", "A", "--dtype", dtype, "--json")
    assert run.code == code
    said = run.json.get("note", "")
    bits, size = {"bf16": ("32", "16"), "tf32": ("16", "32")}[dtype]
    told = f"the pointer is to elements of {bits} bits, and {dtype} has {size}"
    assert (told in said) is (f"[{bits}b]" in spelled)
    text = tilewise("match", spelled, "--operand", "A", "--dtype", dtype)
    assert (told in text.out + text.err) is (f"[{bits}b]" in spelled)


@pytest.mark.parametrize("many", [7, 12, 24])
def test_a_tile_of_many_elements_costs_by_its_digits(many):
    """No instruction reads 2^50 elements; the answer comes before anything is listed."""
    layout = parse(f"Swizzle<3,3,3> o S[({1 << many + 1}, {1 << many}) : ({1 << many}, 1)]")
    answer = match(layout, operand="B", dtype="bf16")
    assert not answer.legal
    assert {"range", "row-stride", "swizzle-strides"} & {reason.rule for reason in answer.reasons}
