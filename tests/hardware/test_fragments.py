"""wgmma's fragments against the formulas of the manual, element by element, for every type and every N.

The manual draws wgmma's fragments (figures 148 to 155) and writes those of mma.sync down; a warp of wgmma
holds 16 rows as mma.sync's m16n8 fragments do. `written` is its text. `TV` is what CUTLASS has for the same.
"""

from itertools import product

import pytest

from tilewise import LayoutError, Refused
from tilewise.cli.main import main
from tilewise.hardware.catalog import find
from tilewise.hardware.catalog.places import asked_place, position_of, positions_at
from tilewise.hardware.wgmma.fragments import a_fragment, d_fragment

TYPES = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "b1": 1}
EVERY_8 = range(8, 257, 8)
LEGAL = {
    "f16": list(EVERY_8),
    "f32": list(EVERY_8),
    "s32": [8, 16, 24, *range(32, 257, 16)],
}


def written_a(bits, i, group, in_group):
    """(row, column) of a_i in the 16 rows of a warp, as mma.m16n8k16, k8, k32 and k256 have it."""
    if bits == 16:
        row = group if 0 <= i < 2 or 4 <= i < 6 else group + 8
        return row, in_group * 2 + (i & 1) + (8 if i >= 4 else 0)
    if bits == 32:
        return (group if i in (0, 2) else group + 8), in_group + (4 if i >= 2 else 0)
    if bits == 8:
        row = group if 0 <= i < 4 or 8 <= i < 12 else group + 8
        return row, in_group * 4 + (i & 3) + (16 if i >= 8 else 0)
    row = group if 0 <= i < 32 or 64 <= i < 96 else group + 8
    return row, in_group * 32 + (i & 31) + (128 if i >= 64 else 0)


def written_d(i, group, in_group):
    """(row, column) of d_i in the 16 rows of a warp: every four are those of m16n8, 8 columns on."""
    return (group if i % 4 < 2 else group + 8), 8 * (i // 4) + in_group * 2 + (i & 1)


def threads():
    return product(range(4), range(32))


def place_of(layout, row, column):
    place = layout.place(row, column)
    return place["wid_in_wg"], place["laneid"], place["reg"]


@pytest.mark.parametrize("dtype", TYPES)
def test_a_is_as_written(dtype):
    bits, layout = TYPES[dtype], a_fragment(dtype)
    k = 256 // bits
    assert layout.size == 64 * k
    seen = set()
    for (warp, lane), i in product(threads(), range(128 // bits)):
        row, column = written_a(bits, i, lane >> 2, lane % 4)
        assert place_of(layout, 16 * warp + row, column) == (warp, lane, i)
        seen.add((16 * warp + row, column))
    assert len(seen) == 64 * k


@pytest.mark.parametrize(("dtype", "n"), [(dtype, n) for dtype, every in LEGAL.items() for n in every])
def test_d_is_as_written(dtype, n):
    layout = d_fragment(dtype, n)
    assert layout.size == 64 * n
    warp, group = n // 8 % 4, n % 8 + n // 64  # a thread for each N, and all for some
    some = threads() if n in (8, 24, 64, 256) else [(warp, 4 * group + t) for t in range(4)]
    for (warp, lane), i in product(some, range(n // 2)):
        row, column = written_d(i, lane >> 2, lane % 4)
        assert place_of(layout, 16 * warp + row, column) == (warp, lane, i)
    assert layout.injective
    assert layout.span("reg") == n // 2


TV = {
    16: (((4, 8, 4), (2, 2, 2)), ((128, 1, 16), (64, 8, 512))),
    32: (((4, 8, 4), (2, 2)), ((64, 1, 16), (8, 256))),
    8: (((4, 8, 4), (4, 2, 2)), ((256, 1, 16), (64, 8, 1024))),
}
"""(thread, value) to row + 64 column, in CuTe's order of digits."""


def along(digits, strides, flat):
    total = 0
    for extent, stride in zip(digits, strides, strict=True):
        total += flat % extent * stride
        flat //= extent
    return total


@pytest.mark.parametrize("dtype", [name for name, bits in TYPES.items() if bits > 1])
def test_a_is_as_cutlass_has_it(dtype):
    bits = TYPES[dtype]
    shape, strides = TV[bits]
    for thread, value in product(range(128), range(128 // bits)):
        at = along(shape[0], strides[0], thread) + along(shape[1], strides[1], value)
        assert place_of(a_fragment(dtype), at % 64, at // 64) == (thread // 32, thread % 32, value)


@pytest.mark.parametrize("n", [8, 40, 256])
def test_d_is_as_cutlass_has_it(n):
    layout = d_fragment("f32", n)
    for thread, value in product(range(128), range(n // 2)):
        at = along((4, 8, 4), (128, 1, 16), thread) + along((2, 2, n // 8), (64, 8, 512), value)
        assert place_of(layout, at % 64, at // 64) == (thread // 32, thread % 32, value)


# -- what is not there -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", LEGAL)
def test_every_other_n_is_refused(dtype):
    for n in (n for n in range(-8, 300) if n not in LEGAL[dtype]):
        with pytest.raises(Refused, match=f"N = {n} with {dtype}") as refused:
            d_fragment(dtype, n)
        assert refused.value.code == "TW602"


@pytest.mark.parametrize("dtype", ["f32", "s32", "f64", "e2m1", "u32"])
def test_other_types_are_no_operand(dtype):
    with pytest.raises(Refused, match="does not multiply"):
        a_fragment(dtype)


@pytest.mark.parametrize("dtype", ["bf16", "tf32", "s8"])
def test_other_types_are_no_accumulator(dtype):
    with pytest.raises(Refused, match="does not accumulate"):
        d_fragment(dtype, 64)


# -- registers, both ways --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "values", "letter"),
    [(("wgmma.A"), {"dtype": dtype}, "a") for dtype in TYPES]
    + [("wgmma.D", {"dtype": dtype, "n": 24}, "d") for dtype in LEGAL],
)
def test_registers_hold_their_elements_low_to_high(entry, values, letter):
    built = find(entry)(**values)
    bits = built.dtype.bits
    each = 32 // bits
    for position in positions_at(built, {"wid_in_wg": 2, "laneid": 13}):
        reg = position.place["reg"]
        assert (position.register, position.bits[0]) == (reg // each, reg % each * bits)
        assert position.bits[1] - position.bits[0] == bits - 1
        assert position.name == f"{letter}{reg}"
        assert position_of(built, position.index) == position
    held = positions_at(built, {"wid_in_wg": 2, "laneid": 13})
    assert len(held) == built.facts["elements"]["count"] == each * built.facts["registers"]["count"]


def fragments():
    """An instance of every sort: elements of 1 to 64 bits, those in a container, those of a lane alone."""
    for entry, values in [
        ("mma.A", ("m16n8k16", "f16")), ("mma.B", ("m16n8k16", "f16")), ("mma.A", ("m16n8k256", "b1")),
        ("mma.A", ("m16n8k64", "s4")), ("mma.A", ("m16n8k32", "e2m1")), ("mma.A", ("m16n8k16", "f64")),
        ("mma.A", ("m8n8k4", "f64")), ("mma.B", ("m16n8k4", "tf32")), ("mma.D", ("m16n8k16", "f32")),
        ("mma.sp.A", ("m16n8k32", "f16")), ("wgmma.D", ("f16", 16)), ("wgmma.A", ("e4m3",)),
        ("ldmatrix", ("x2",)), ("mma.A", ("m8n8k16", "u8")),
    ]:  # fmt: skip
        yield pytest.param(entry, values, id=f"{entry} {' '.join(map(str, values))}")


@pytest.mark.parametrize(("entry", "values"), [*fragments()])
def test_a_register_is_asked_as_it_is_told(entry, values):
    """--who takes the words of --at's answer: the register, and the element by its name."""
    built = find(entry)(*values)
    lanes = {name: 3 for name in ("laneid", "wid_in_wg") if name in map(str, built.layout.axes)}
    whole = positions_at(built, lanes)
    assert whole
    for position in whole:
        last = position.register + position.bits[1] // 32
        for register in range(position.register, last + 1):
            same = [other for other in whole if other.register == position.register]
            assert sorted(map(str, positions_at(built, {**lanes, "register": register}))) == sorted(
                map(str, same)
            )
        spelled = ",".join([*(f"{name}={at}" for name, at in lanes.items()), position.name])
        assert position in positions_at(built, asked_place(built, spelled))


def test_registers_and_elements_are_not_mixed_up(capsys):
    words = ["catalog", "mma.A", "--shape", "m16n8k16", "--dtype", "f16", "--who"]
    assert main([*words, "laneid=5,register=3"]) == 0
    out = capsys.readouterr().out
    assert "(9, 10) -> lane 5, register 3, bits 0..15: a6" in out
    assert "(9, 11) -> lane 5, register 3, bits 16..31: a7" in out
    assert main([*words, "a7, laneid=5"]) == 0
    assert capsys.readouterr().out.endswith("(9, 11) -> lane 5, register 3, bits 16..31: a7\n")
    assert main([*words, "register=4"]) == 1
    assert "reg goes from 0 to 7" in capsys.readouterr().out
    assert main([*words, "reg=1,register=3"]) == 2
    assert "reg counts elements" in capsys.readouterr().err
    assert main(["who", "mma.A(m16n8k16, f16)", "laneid=5,register=3"]) == 2
    assert "reg counts elements of one thread" in capsys.readouterr().err
    assert main(["catalog", "wgmma.smem(A, k, 128B, bf16, 64, 64)", "--who", "register=3"]) == 2


@pytest.mark.parametrize(
    ("dtype", "n", "registers"), [("f16", 64, 16), ("f32", 64, 32), ("s32", 256, 128), ("f16", 8, 2)]
)
def test_d_has_the_registers_of_the_manual(dtype, n, registers):
    """N/4 registers of two f16, N/2 of one f32 or s32."""
    assert find("wgmma.D")(dtype, n).facts["registers"]["count"] == registers


def test_a_has_four_registers():
    assert {find("wgmma.A")(dtype).facts["registers"]["count"] for dtype in TYPES} == {4}


def test_a_table_has_no_places():
    with pytest.raises(LayoutError, match="is a table"):
        position_of(find("wgmma.shapes")("s8"), (0, 0))
