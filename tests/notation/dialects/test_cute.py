"""CuTe's texts, held to what CuTe means by them."""

from __future__ import annotations

from itertools import chain, product
from random import Random

import pytest
from tests.notation.dialects.cute_texts import differences, record_of

from tilewise import LayoutError, parse
from tilewise.hardware.calls import doubts, reading
from tilewise.notation import is_cute
from tilewise.notation.dialects import DIALECTS, Given, dialect_of, write

RULE = "    +---+---+---+\n"
TABLE = f"      0   1   2 \n{RULE} 0  | 0 | 2 | 4 |\n{RULE} 1  | 1 | 3 | 5 |\n{RULE}"


# -- one layout in each spelling, and the place of its elements by CuTe's definition ---------------------


def drawn(rng):
    """(shape, strides, swizzle or None), nested one level deep."""
    modes = [
        [rng.choice((1, 2, 3, 4, 8)) for _ in range(rng.choice((1, 1, 2)))] for _ in range(rng.randint(1, 3))
    ]
    strides = [[rng.choice((0, 1, 2, 5, 8, 64, -4)) for _ in mode] for mode in modes]
    bits = rng.randint(0, 3)
    swizzle = (bits, rng.randint(0, 4), rng.choice((bits, 3, 4))) if rng.random() < 0.4 else None
    return modes, strides, swizzle


def place(modes, strides, swizzle, index):
    """Return the place of an element: the leftmost digit counts fastest, and then bits are flipped."""
    address = 0
    for extent, stride in zip(chain(*modes), chain(*strides), strict=True):
        index, digit = divmod(index, extent)
        address += digit * stride
    if swizzle:
        bits, base, shift = swizzle
        address ^= (address >> base + shift & (1 << bits) - 1) << base
    return address


def nested(modes, number, word="", brackets="()", comma=","):
    """Numbers in the nesting of the modes, with a word before each bracket."""
    opening, closing = brackets
    parts = [
        number(mode[0]) if len(mode) == 1 else word + opening + comma.join(map(number, mode)) + closing
        for mode in modes
    ]
    end = "," if brackets == "()" and not word and len(parts) == 1 else ""
    return word + opening + comma.join(parts) + end + closing


def as_printed(rng, modes, strides, swizzle):
    constants = rng.random() < 0.5

    def number(value):
        return f"_{value}" if constants or rng.random() < 0.5 else str(value)

    text = f"{nested(modes, number)}:{nested(strides, number)}".replace(",)", ")")
    if swizzle:
        text = "{}<{},{},{}> o {} o {}".format(rng.choice(("Sw", "S")), *swizzle, number(0), text)
    label = rng.choice(("", "", "sA : ", "auto layout = ", "LayoutA_TV:  "))
    return label + text + rng.choice(("", "\n", "\n\n"))


def as_type(rng, modes, strides, swizzle):
    if rng.random() < 0.5:
        space, constant = "cute::", "cute::C<{}>"
        shape = stride = "cute::tuple"
    else:
        space, constant = "", rng.choice(("Int<{}>", "_{}", "cute::integral_constant<int, {}>"))
        shape, stride = "Shape", "Stride"

    def number(value):
        return (constant if value >= 0 or constant != "_{}" else "_m{}").format(
            value if value >= 0 or constant != "_{}" else -value
        )

    text = "{}Layout<{}, {}>".format(
        space, nested(modes, number, shape, "<>", ", "), nested(strides, number, stride, "<>", ", ")
    )
    if swizzle:
        text = "{0}ComposedLayout<{0}Swizzle<{1}, {2}, {3}>, {4}, {5}>".format(
            space, *swizzle, number(0), text
        )
    return rng.choice(("", "const ")) + text + rng.choice(("", "{}", "&", ";", " layout;"))


def as_cpp_call(rng, modes, strides, swizzle):
    def number(value):
        forms = ("{}", "Int<{}>{{}}", "C<{}>{{}}", "cute::Int<{}>{{}}", *(("_{}{{}}",) if value >= 0 else ()))
        return rng.choice(forms).format(value)

    text = f"make_layout({nested(modes, number, 'make_shape')}, {nested(strides, number, 'make_stride')})"
    if swizzle:
        written = "Swizzle<{},{},{}>{{}}".format(*swizzle)
        text = rng.choice(
            (f"composition({written}, {text})", f"make_composed_layout({written}, _0{{}}, {text})")
        )
    return (
        rng.choice(("", "cute::", "using L = decltype(")).replace("using L = decltype(", "auto l = ") + text
    )


def as_python_call(rng, modes, strides, swizzle):
    shape, stride = nested(modes, str, comma=", "), nested(strides, str, comma=", ")
    if rng.random() < 0.4:
        text = f"Layout({shape},{stride})"
        return "ComposedLayout(Swizzle({},{},{}),0,{})".format(*swizzle, text) if swizzle else text
    text = f"cute.make_layout(\n    {shape}, stride={stride})"
    if swizzle:
        text = "cute.make_composed_layout(cute.make_swizzle({}, {}, {}), 0, {})".format(*swizzle, text)
    return text


@pytest.mark.parametrize("spelled", [as_printed, as_type, as_cpp_call, as_python_call])
def test_every_spelling_is_read_as_cute_means_it(spelled, times):
    rng = Random(spelled.__name__)
    for _ in range(times(2_000)):
        modes, strides, swizzle = drawn(rng)
        text = spelled(rng, modes, strides, swizzle)
        layout = parse(text)
        assert layout.order == "cute"
        assert layout.shape == tuple(mode[0] if len(mode) == 1 else tuple(mode) for mode in modes), text
        for index in {0, layout.size - 1, *(rng.randrange(layout.size) for _ in range(4))}:
            if swizzle is None or place(modes, strides, None, index) >= 0:
                assert layout.place(index)["m"] == place(modes, strides, swizzle, index), text
        again = write(DIALECTS["cute"], layout, Given())
        assert parse(again) == layout, text
        assert is_cute(text), text


def test_an_order_makes_the_mode_of_the_lowest_number_the_fastest(times):
    rng = Random("order")
    for _ in range(times(500)):
        modes, _, _ = drawn(rng)
        order = rng.sample(range(9), len(modes))
        layout = parse(f"make_ordered_layout({nested(modes, str)}, order={tuple(order)})")
        step, wanted = 1, {}
        for mode in sorted(range(len(modes)), key=lambda mode: order[mode]):
            for digit, extent in enumerate(modes[mode]):
                wanted[mode, digit] = step
                step *= extent
        strides = [[wanted[mode, digit] for digit in range(len(modes[mode]))] for mode in range(len(modes))]
        for index in range(layout.size):
            assert layout.place(index)["m"] == place(modes, strides, None, index)


def test_what_the_dsl_said_once():
    """Its tensors in all spaces, of all types, with swizzles in their layouts and pointers; and its calls."""
    record = record_of()
    assert len(record) > 390
    assert not [*differences(record)]


# -- tensors and pointers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pointer", "swizzle", "dtype"),
    [
        ("ptr<f16, smem, align<1024>, S<3,4,3>>", "Swizzle<3,3,3>", "f16"),
        ("ptr<f32, smem, align<1024>, S<3,4,3>>", "Swizzle<3,2,3>", "f32"),
        ("ptr<i8, smem, align<1024>, S<3,4,3>>", "Swizzle<3,4,3>", "b8"),
        ("ptr<f8E4M3FN, smem, align<1024>, S<2,4,3>>", "Swizzle<2,4,3>", "e4m3"),
        ("ptr<f4E2M1FN, smem, align<1024>, S<3,4,3>>", "Swizzle<3,5,3>", "e2m1"),
        ("ptr<f16, smem, align<1024>> o S<3,4,3> o 0", "Swizzle<3,4,3>", "f16"),
        ("ptr<bf16, smem> o S<2,3,3> o 0", "Swizzle<2,3,3>", "bf16"),
    ],
)
def test_a_swizzle_in_a_pointer_counts_bytes_and_one_after_it_elements(pointer, swizzle, dtype):
    found = reading(f"tensor<{pointer} o (8,64):(64,1)>")
    assert str(found.layout.in_order("row")) == f"{swizzle} o S[(8, 64) : (64, 1)]"
    assert str(found.dtype) == dtype


@pytest.mark.parametrize(
    ("text", "dtype", "notes"),
    [
        ("tensor<ptr<f16, gmem, align<16>> o (4,8):(8,1)>", "f16", ["to global memory, aligned to 16 bytes"]),
        ("tensor<ptr<i1, rmem> o (4,8):(8,1)>", None, ["to registers"]),
        ("Tensor<0x0000556f832a47c0@generic o (4,8):(8,1)>", None, ["to memory of any kind"]),
        ("tmem_[32b](0x0000.0100) o (4,8):(8,1)", None, ["to tensor memory", "the lane above bit 16"]),
        ("raw_ptr(0x7f: f32, smem) o (4,8):(8,1)", "f32", ["to shared", "left out by the DSL"]),
        ("tensor(raw_ptr(0x7f8f...: f32, rmem, align<4>) o (4,8):(8,1)", "f32", ["aligned to 4 bytes"]),
        ("gmem_ptr[32b](0x400) o (4,8):(8,1)", None, []),
        ("smem_ptr[16b]((nil)) o (4,8):(8,1)", None, []),
        ("smem_ptr[16b](0x..) o (4,8):(8,1)", None, []),
        (
            "cute::Tensor<cute::ViewEngine<cute::gmem_ptr<float const*> >, cute::Layout<cute::tuple<"
            "cute::C<4>, cute::C<8> >, cute::tuple<cute::C<8>, cute::C<1> > > >",
            "f32",
            [],
        ),
        ("Tensor<ArrayEngine<cutlass::half_t, 32ul>, Layout<Shape<_4,_8>, Stride<_8,_1>>>", "f16", []),
        ("Tensor<ViewEngine<gmem_ptr<unsigned char*>>, Layout<Shape<_4,_8>, Stride<_8,_1>>>", "u8", []),
    ],
)
def test_pointers_say_types_and_spaces(text, dtype, notes):
    found = reading(text)
    assert found.layout == parse("(4,8):(8,1)")
    assert (str(found.dtype) if found.dtype else None) == dtype
    assert len(found.notes) == len(notes)
    assert all(part in note for part, note in zip(notes, found.notes, strict=True))


def test_a_pattern_that_may_begin_before_the_pointer_is_noted():
    text = "tensor<ptr<f16, smem, align<{}>, S<3,4,3>> o (8,64):(64,1)>"
    assert "repeats by 1024 bytes" in reading(text.format(128)).notes[-1]
    assert len(reading(text.format(1024)).notes) == 1


def test_a_typed_pointer_leaves_no_doubt_about_units():
    for text in (
        "tensor<ptr<f16, smem, align<1024>, S<3,4,3>> o (8,64):(64,1)>",
        "ComposedLayout<Swizzle<3,4,3>, smem_ptr_flag_bits<16>, Layout<Shape<_8,_64>,Stride<_64,_1>>>",
        "smem_ptr[16b](0x7f...) o Sw<3,4,3> o _0 o (8,64):(64,1)",
    ):
        assert not doubts(text, parse(text), dtype="f16")
    text = "tensor<ptr<f16, smem> o (8,64):(64,1)>"
    (other,) = doubts(text, parse(text), dtype="f32")
    assert "16 bits, and f32 has 32" in other


def test_swizzles_before_pointers_in_types_count_bytes():
    flag = "ComposedLayout<Swizzle<3,4,3>, smem_ptr_flag_bits<16>, Layout<Shape<_8,_64>,Stride<_64,_1>>>"
    pointer = (
        "cute::Tensor<cute::ViewEngine<cute::swizzle_ptr<cute::Swizzle<3, 4, 3>, cute::smem_ptr"
        "<cutlass::half_t*> > >, cute::Layout<cute::tuple<cute::C<8>, cute::C<64> >, "
        "cute::tuple<cute::C<64>, cute::C<1> > > >"
    )
    wanted = parse("Sw<3,3,3> o 0 o (8,64):(64,1)")
    assert parse(flag) == parse(pointer) == wanted
    assert str(reading(pointer).dtype) == "f16"


# -- coordinates and numbers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "(4,8):(1@0,2@1)",
        "ArithTuple(0,_0) o (4,8):(_1@0,_2@1)",
        "tensor<(0,0) o (4,8):(1@0,2@1)>",
        "tensor((0,0) o (4,8):(1@0,2@1), data=\n       [[ (0,0),  (0,2), ],\n        [ (1,0),  (1,2), ]])",
        "make_layout(make_shape(4, 8), make_stride(E<0>{}, _2{} * E<1>{}))",
        "cute.make_layout((4, 8), stride=(cute.E(0), 2 * cute.E(1)))",
        "Layout<Shape<_4,_8>, Stride<E<0>, ScaledBasis<C<2>, 1>>>",
    ],
)
def test_basis_strides(text):
    layout = parse(text)
    for i, j in product(range(4), range(8)):
        assert layout.place(i, j).as_dict() == {"e0": i, "e1": 2 * j}


def test_coordinates_and_counts_begin_where_the_text_says():
    layout = parse("ArithTuple(2,_0) o (4,8):(_1@0,_1@1)")
    assert layout.place(1, 3).as_dict() == {"e0": 3, "e1": 3}
    assert parse("counting_iter(5) o (2,3):(_1,2)").place(1, 2)["m"] == 5 + 1 + 4
    assert parse("make_identity_tensor(make_shape(4, 8))") == parse("(4,8):(1@0,1@1)")


# -- what stands around a layout ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "gmem_ptr[16b](0x7fff5f3df3c0) o (2,3):(_1,2):\n    0.00    1.00    2.00\n    0.50    1.50    2.50\n",
        "ptr[32b](0x7fff5f3df440) o (2,3):(_1,_2):\n  0.00e+00  0.00e+00\n---------------\n  0.00e+00  nan\n",
        f"(2,3):(_1,_2)\n{TABLE}",
        "raw_ptr(0x00007fffbaade940: f32, rmem, align<32>) o (2,3):(1,2) = \n  ( 0.000000, 0.000000, [...] )",
        "tensor(raw_ptr(0x7f: f16, rmem) o (2,3):(1,2), data= (\n\t(0,0)= 0.000000\n\t(1,0)= 8.000000\n)",
        "layout = (2,3):(1,2)",
        "sA.layout: (2,3):(1,2)\nShape_MNK: (16,8,8)\nand so on",
        "using SmemLayout = decltype(make_layout(make_shape(_2{}, _3{})));",
        "static constexpr auto layout = make_layout(make_shape(2, 3));",
        "char const* pretty(T const&) [with T = cute::Layout<cute::tuple<cute::C<2>, cute::C<3> > >]",
        "f() [T = cute::Layout<cute::tuple<cute::C<(int)2>,cute::C<3>>,cute::tuple<cute::C<1>, cute::C<2>>>]",
        "make_layout(\n  make_shape(2, 3),\n  make_stride(1, 2)\n);",
        "(2,\n3):(1,\n2)",
        "(2,3)\n:(1,2)",
        "smem_ptr[\n16b]\n(unset) o\n(2,3) :\n(1,2)",
        "smem_ptr[16b](0) o (2\n,3):(\n1,2)\n",
    ],
)
def test_labels_and_values_are_left_out(text):
    assert parse(text) == parse("(2,3):(1,2)")


@pytest.mark.parametrize(
    "text",
    [
        "(2,3):(1,2)\nfoo",
        "(2,3):(1,2)\n 5",
        "(2,3):(1,2)\n + 5",
        "(2,3):(1,2)\no 4:1",
        "make_layout(8)\nmore",
        "Layout<_8>\nmore",
        "smem_ptr[16b](0) o (2,3):(1,2)\n    0.00    1.00",
    ],
)
def test_what_is_no_label_and_no_value_is_refused(text):
    with pytest.raises(LayoutError):
        parse(text)


def test_a_line_break_inside_of_a_layout_ends_none():
    """The line of the pointer looks like a layout of its own."""
    text = "S\n<3,4,3> o\nsmem_ptr[16b](0) o (2,3):(1,2)"
    assert parse(text) == parse(" ".join(text.split())) == parse("Sw<3,3,3> o 0 o (2,3):(1,2)")


def test_several_layouts_are_parts_by_their_labels():
    text = "ThrLayoutVMNK:  (_32,_1):(_1,_0)\nLayoutA_TV: (4,8):(1,4)\n\nLayoutA_TV: 8:1\nmake_layout(5)\n"
    with pytest.raises(LayoutError) as error:
        parse(text)
    assert error.value.code == "TW107"
    assert "ThrLayoutVMNK, LayoutA_TV, LayoutA_TV 3, 4" in error.value.message
    assert parse(text, part="LayoutA_TV") == parse("(4,8):(1,4)")
    assert parse(text, part="LayoutA_TV 3") == parse("8:1")
    assert parse(text, part="4") == parse("5:1")


def test_the_caret_stands_in_the_whole_text():
    text = "sA : (4,8):(1,4)\nsB : (4,8):(1,4,5)\n"
    with pytest.raises(LayoutError) as error:
        parse(text, part="sB")
    start, end = error.value.span
    assert (text[start:end], error.value.source) == ("(1,4,5)", text)


def test_names_have_values():
    assert parse("make_layout(make_shape(M, 2 * K), LayoutRight{})", let={"M": 4, "K": 8}) == parse(
        "(4,16):(16,1)"
    )
    assert parse("Layout<Shape<_8,N>>", let={"N": 3}) == parse("(8,3):(1,8)")
    assert parse("layout = (M,8):(8,1)", let={"M": 4}) == parse("(4,8):(8,1)")


@pytest.mark.parametrize(
    "text",
    [
        "x = S[8 : 1]",
        "Swizzle<3,3,3> o S[(8, 64) : (64, 1)]",
        "S[8 : 1]",
        "tensor<8x4xf32>",
        "tensor<?x4xf32>",
        "tensor([[1, 2]])",
        "#ttg.blocked<{order = [1, 0]}>",
        "wgmma.D(f32, n=64)",
        "Layout([16, 16] -> [4])",
        "bf16[256,512]{1,0}",
        "TileLayout(S[8 : 1])",
    ],
)
def test_the_texts_of_others_are_left_to_them(text):
    found = dialect_of(text)
    assert found is None or found.name != "cute"


def test_the_unit_of_strides_is_that_of_the_reader():
    assert parse("layout = (8,64):(128,2)", unit="byte", dtype="bf16") == parse("(8,64):(64,1)")
    for text in ("make_layout(8)", "tensor<ptr<f16, smem> o 8:1>", "Layout<_8>"):
        with pytest.raises(LayoutError) as error:
            parse(text, unit="byte")
        assert error.value.code == "TW106"


def test_long_texts_are_read_in_time_that_grows_with_them():
    lines = "\n".join(f"  row {i} of numbers ( 1.0, 2.0" for i in range(20_000))
    assert parse(f"sA : (4,8):(1,4)\n{lines}") == parse("(4,8):(1,4)")
    for text in (
        "sA" + " " * 100_000,
        "a " * 50_000 + ":",
        "[" * 100_000,
        "x = " + "(" * 50_000,
        "Layout<" * 20_000,
    ):
        with pytest.raises(LayoutError):
            parse(text)
