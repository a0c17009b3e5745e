"""The canonical layouts and figures 156 to 170: what the manual prints, digit for digit."""

import re
from functools import partial
from itertools import product

import pytest

from tilewise import LayoutError, Refused, S, Swizzle, parse
from tilewise.hardware.catalog import find
from tilewise.hardware.modes import Mode
from tilewise.hardware.operands import figures
from tilewise.hardware.operands.canonical import FORMS, canonical, offsets
from tilewise.hardware.operands.tiles import atom, tile
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.engine import Operand
from tilewise.hardware.wgmma.instructions import INPUTS

figure = partial(figures.figure, "wgmma")
FIGURES = figures.figures_of("wgmma")

TABLE = """
mn none Swizzle<0,4,3> o ((T,1,m),(8,k)):((1,T,SBO),(1T,LBO))
mn 32B  Swizzle<1,4,3> o ((T,2,m),(8,k)):((1,T,LBO),(2T,SBO))
mn 64B  Swizzle<2,4,3> o ((T,4,m),(8,k)):((1,T,LBO),(4T,SBO))
mn 128B Swizzle<3,4,3> o ((T,8,m),(8,k)):((1,T,LBO),(8T,SBO))
k  none Swizzle<0,4,3> o ((8,m),(T,2k)):((1T,SBO),(1,LBO))
k  32B  Swizzle<1,4,3> o ((8,m),(T,2k)):((2T,SBO),(1,T))
k  64B  Swizzle<2,4,3> o ((8,m),(T,2k)):((4T,SBO),(1,T))
k  128B Swizzle<3,4,3> o ((8,m),(T,2k)):((8T,SBO),(1,T))
"""
"""The table of canonical layouts as it is printed."""
ROWS = [tuple(line.split(maxsplit=2)) for line in TABLE.strip().splitlines()]

WORKED = {
    166: ("tf32", "Swizzle<0,4,3> o ((8,2),(4,4)):((4,32),(1,64))", "k none", 4, 64, 32, 16, 8),
    167: ("tf32", "Swizzle<1,4,3> o ((8,2),(4,4)):((8,64),(1,4))", "k 32B", 4, None, 64, 1, 16),
    168: ("bf16", "Swizzle<0,4,3> o ((8,1,2),(8,2)):((1,8,64),(8,128))", "mn none", 8, 128, 64, 16, 8),
    169: ("bf16", "Swizzle<1,4,3> o ((8,2,2),(8,2)):((1,8,128),(16,256))", "mn 32B", 8, 128, 256, 16, 32),
    170: ("bf16", "Swizzle<2,4,3> o ((8,4,2),(8,2)):((1,8,256),(32,512))", "mn 64B", 8, 256, 512, 32, 64),
}
"""(type, exact layout, row of the table, T, LBO and SBO in elements, their encodings), as printed."""


@pytest.mark.parametrize(("major", "mode", "printed"), ROWS, ids=str)
def test_forms_are_printed_as_in_the_table(major, mode, printed):
    assert FORMS[major, mode].cute == printed
    assert len(FORMS) == len(ROWS)


@pytest.mark.parametrize(("major", "mode", "printed"), ROWS, ids=str)
@pytest.mark.parametrize(("m", "k"), [(1, 1), (2, 2), (3, 5)])
def test_canonical_layouts_are_the_printed_text_with_numbers(major, mode, printed, m, k):
    lbo, sbo = 4096, 7680
    values = {"T": 8, "m": m, "k": k, "LBO": lbo // 2, "SBO": sbo // 2}
    text = re.sub(r"(\d*)(LBO|SBO|T|m|k)", lambda found: str(int(found[1] or 1) * values[found[2]]), printed)
    typed = text.replace(" o ", " o smem_ptr[16b](unset) o ")
    layout = canonical(mode, major, "bf16", m, k, lbo, sbo)
    assert layout.same(parse(typed)).answer


@pytest.mark.parametrize(("major", "mode"), FORMS)
def test_our_spelling_of_a_form_is_the_layout(major, mode):
    """The symbols put into our notation and into CuTe's are one layout."""
    form = FORMS[major, mode]
    lbo, sbo = offsets(mode, major, 2)
    values = {"T": 8, "m": 2, "k": 2, "LBO": lbo // 2, "SBO": sbo // 2}
    ours = re.sub(
        r"(?<!\w)(\d*)(LBO|SBO|T|m|k)\b", lambda found: str(int(found[1] or 1) * values[found[2]]), str(form)
    )
    swizzle = Mode.of(mode).swizzle.scaled(8, 16)
    wanted = swizzle @ parse(ours) if swizzle.bits else parse(ours)
    assert canonical(mode, major, "bf16") == wanted


@pytest.mark.parametrize("dtype", INPUTS)
@pytest.mark.parametrize(("major", "mode"), FORMS)
def test_dense_canonical_layouts_are_the_tiles(major, mode, dtype):
    """With patterns one after another a canonical layout is a tile of atoms, rows first."""
    deep, wide = atom(mode, major, dtype).shape
    t, bits = 128 // INPUTS[dtype].dtype.bits, Mode.of(mode).bits
    k = wide // (2 * t) if bits and major == "k" else 3
    columns = 2 * t * k if major == "k" else 8 * k
    if columns >= wide:
        assert canonical(mode, major, dtype, 3, k).same(tile(mode, major, dtype, 3 * deep, columns))


@pytest.mark.parametrize("number", WORKED)
def test_worked_examples_digit_for_digit(number):
    dtype, printed, row, t, lbo, sbo, lbo_encoded, sbo_encoded = WORKED[number]
    size = INPUTS[dtype].dtype.bits // 8
    drawn = figure(number)
    assert (drawn.dtype.name, drawn.printed, drawn.m, drawn.k) == (dtype, printed, 2, 2)
    assert (drawn.lbo, drawn.sbo) == (None if lbo is None else lbo * size, sbo * size)
    assert drawn.encoded == (lbo_encoded, sbo_encoded)
    major, mode = row.split()
    facts = find("wgmma.figure")(number).facts
    assert (drawn.major, drawn.mode.name, facts["canonical"]) == (major, mode, FORMS[major, mode].cute)
    assert facts["T"] == t
    typed = printed.replace(" o ", f" o smem_ptr[{8 * size}b](unset) o ")
    assert drawn.layout.same(parse(typed)).answer
    assert drawn.layout.shape == parse(typed).in_order("row").shape
    assert find("wgmma.canonical")(mode, major, dtype).facts["as_printed"] == printed
    assert find("wgmma.canonical")(mode, major, dtype).facts["encoded"] == {
        "lbo": lbo_encoded,
        "sbo": sbo_encoded,
    }


@pytest.mark.parametrize("number", [168, 169, 170])
def test_a_descriptor_with_the_strides_of_a_figure_reads_its_layout(number):
    drawn = figure(number)
    operand = Operand("bf16", "mn", n=drawn.layout.size // 16)
    read = operand.reads(Descriptor(lbo=drawn.lbo, sbo=drawn.sbo, mode=drawn.mode))
    assert read.same(drawn.layout.in_bytes("bf16")).answer


def test_figure_167_overlaps_itself_as_printed_and_no_other_does():
    assert [number for number in FIGURES if not figure(number).layout.injective] == [167]
    layout = figure(167).layout
    assert layout.place(0, 8) == layout.place(1, 0)
    assert "overlaps" in find("wgmma.figure")(167).notes[0]
    assert canonical("32B", "k", "tf32", k=1).injective


@pytest.mark.parametrize(
    ("number", "shape", "first_rows"),
    [
        (156, (8, 8), [[0, 9, 18, 27, 36, 45, 54, 63], [1, 8, 19, 26, 37, 44, 55, 62]]),
        (157, (8, 8), [[0, 1, 2, 3, 4, 5, 6, 7], [9, 8, 11, 10, 13, 12, 15, 14]]),
        (158, (4, 8), [[0, 4, 9, 13, 18, 22, 27, 31]]),
        (159, (8, 4), [[0, 1, 2, 3], [4, 5, 6, 7], [9, 8, 11, 10]]),
        (160, (2, 8), [[0, 2, 4, 6, 9, 11, 13, 15]]),
        (161, (8, 2), [[0, 1], [2, 3], [4, 5], [6, 7], [9, 8]]),
        (162, (1, 8), [[0, 1, 2, 3, 4, 5, 6, 7]]),
        (163, (8, 1), [[0], [1], [2]]),
    ],
)
def test_figures_in_elements_of_128_bits(number, shape, first_rows):
    layout = figure(number).layout
    assert layout.shape == shape
    for row, wanted in enumerate(first_rows):
        assert [layout.place(row, column)["m"] for column in range(shape[1])] == wanted


def test_figures_of_tf32():
    assert figure(164).layout == Swizzle(3, 2, 3) @ S[(8, 32) : (32, 1)]
    assert figure(165).layout == Swizzle(3, 2, 3) @ S[(32, 8) : (1, 32)]


def test_every_figure_of_the_range_is_there_with_its_place():
    assert [*FIGURES] == [*range(156, 171)]
    anchors = [figure(number).source.url.partition("#")[2] for number in FIGURES]
    assert len(set(anchors)) == len(anchors)
    assert anchors[0] == "async-warpgroup-smem-layout-128b-mn"
    assert anchors[7] == "async-warpgroup-smem-layout-k-interleaved"
    assert anchors[8] == "async-warpgroup-smem-layout-128b-k-tf32"
    assert anchors[10] == "async-warpgroup-k-no-swizzle-tf32"
    assert anchors[14] == "async-warpgroup-mn-64b-swizzle-bf16"


def test_figures_that_wgmma_does_not_read_are_confirmed_by_the_document_alone():
    measurable = [number for number in FIGURES if find("wgmma.figure")(number).measurable]
    assert measurable == [164, 166, 167, 168, 169, 170]


@pytest.mark.parametrize(("number", "hint"), [(150, "wgmma.A and wgmma.D"), (171, "156 to 170")])
def test_other_figures(number, hint):
    with pytest.raises(LayoutError) as error:
        figure(number)
    assert hint in error.value.hint


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"m": 0}, "TW601"),
        ({"k": -1}, "TW601"),
        ({"lbo": 15, "dtype": "tf32"}, "TW106"),
        ({"dtype": "e2m3"}, "TW602"),
        ({"major": "n"}, "TW601"),
        ({"mode": "256B"}, "TW601"),
    ],
    ids=str,
)
def test_what_has_no_canonical_layout(values, code):
    with pytest.raises(LayoutError) as error:
        canonical(**({"mode": "none", "major": "k", "dtype": "bf16"} | values))
    assert error.value.code == code


def test_the_refusal_is_an_answer_where_the_type_is_one():
    with pytest.raises(Refused):
        canonical("none", "k", "e3m2")


def test_the_words_about_strides_follow_the_major():
    for mode, major in product(("none", "32B"), ("k", "mn")):
        facts = find("wgmma.smem")("B", major, mode, "bf16", 64, 32).facts
        assert facts["meaning"]["lbo"]
        assert facts["meaning"]["sbo"]
