"""Atoms and tiles against the plainest enumeration, and LBO and SBO against the words that define them."""

from itertools import product

import pytest
from tests.hardware.of_wgmma import reads

from tilewise import LayoutError, Refused
from tilewise.hardware.catalog import find
from tilewise.hardware.modes import Mode
from tilewise.hardware.operands.canonical import canonical
from tilewise.hardware.operands.figures import figure
from tilewise.hardware.operands.tiles import atom, tile
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.fragments import d_fragment
from tilewise.hardware.wgmma.instructions import INPUTS, Input

MODES = {"none": 16, "32B": 32, "64B": 64, "128B": 128}
TABLE_38 = {
    ("128B", "mn"): (8, 8),
    ("128B", "k"): (8, 8),
    ("64B", "mn"): (4, 8),
    ("64B", "k"): (8, 4),
    ("32B", "mn"): (2, 8),
    ("32B", "k"): (8, 2),
    ("none", "mn"): (1, 8),
    ("none", "k"): (8, 1),
}
"""Rows and columns of an atom in elements of 128 bits, as the document prints them."""
WIDTHS = {"b1": 1, "e2m1": 4, "e4m3": 8, "bf16": 16, "tf32": 32, "f64": 64, "b128": 128}


def bit_in_atom(mode, major, bits, row, column):
    """The bit where an element of the atom begins: the line it is in, its chunk permuted by the line."""
    width = MODES[mode]
    line, along = (row, column) if major == "k" else (column, row)
    chunk, inside = divmod(along * bits, 128)
    lines_of_128_bytes = line * width // 128
    permuted = chunk ^ lines_of_128_bytes if mode != "none" else chunk
    return (line * width + permuted * 16) * 8 + inside


def bit_in_tile(mode, major, bits, rows, k, order, row, column):
    """The same in a tile of atoms, one after another."""
    deep, wide = TABLE_38[mode, major]
    deep, wide = (deep, wide * 128 // bits) if major == "k" else (deep * 128 // bits, wide)
    down, across = row // deep, column // wide
    number = across * (rows // deep) + down if order == "mn" else down * (k // wide) + across
    return number * deep * wide * bits + bit_in_atom(mode, major, bits, row % deep, column % wide)


@pytest.mark.parametrize(("mode", "major", "dtype"), [*product(MODES, ("k", "mn"), WIDTHS)])
def test_atoms(mode, major, dtype):
    bits = WIDTHS[dtype]
    layout = atom(mode, major, dtype)
    rows, columns = TABLE_38[mode, major]
    shape = (rows, columns * 128 // bits) if major == "k" else (rows * 128 // bits, columns)
    assert layout.shape == shape
    for row, column in product(*map(range, shape)):
        assert layout.place(row, column)["m"] * bits == bit_in_atom(mode, major, bits, row, column)
    assert layout.injective
    assert layout.span("m") == layout.size


def test_the_documents_example_of_an_atom():
    assert atom("128B", "mn", "tf32").shape == (32, 8)


@pytest.mark.parametrize("dtype", ["e2m3", "e3m2"])
def test_elements_of_6_bits_fill_no_chunk(dtype):
    with pytest.raises(Refused, match="do not fill 16 bytes"):
        atom("128B", "k", dtype)


TILES = [
    (mode, major, dtype, order)
    for mode, dtype, order in product(MODES, INPUTS, ("mn", "k"))
    for major in INPUTS[dtype].majors
]


def extents(mode, major, dtype):
    """Two and three atoms each way, in whole instructions."""
    bits = INPUTS[dtype].dtype.bits
    deep, wide = atom(mode, major, dtype).shape
    steps = INPUTS[dtype].k
    return 3 * deep, max(2 * wide, steps) if bits == 1 else 2 * wide * (1 if 2 * wide >= steps else 2)


@pytest.mark.parametrize(("mode", "major", "dtype", "order"), TILES)
def test_tiles(mode, major, dtype, order):
    bits = INPUTS[dtype].dtype.bits
    rows, k = extents(mode, major, dtype)
    layout = tile(mode, major, dtype, rows, k, order)
    for row, column in product(range(rows), range(0, k, 5)):
        wanted = bit_in_tile(mode, major, bits, rows, k, order, row, column)
        assert layout.place(row, column)["m"] * bits == wanted
    assert layout.injective
    assert layout.span("m") == layout.size


def unswizzled(mode, byte):
    """Where a byte was before the swizzle, which undoes itself."""
    return Mode.of(mode).swizzle(byte)


def byte_of(mode, major, dtype, rows, k, order, row, column):
    """The byte of an element in the tile as it is without its swizzle."""
    bits = INPUTS[dtype].dtype.bits
    return unswizzled(mode, bit_in_tile(mode, major, bits, rows, k, order, row, column) // 8)


@pytest.mark.parametrize(("mode", "major", "dtype", "order"), TILES)
def test_lbo_and_sbo_are_what_the_document_defines(mode, major, dtype, order):
    rows, k = extents(mode, major, dtype)
    t = 128 // INPUTS[dtype].dtype.bits
    sheet = find("wgmma.smem")("B", major, mode, dtype, rows, k, order).facts

    def at(row, column):
        return byte_of(mode, major, dtype, rows, k, order, row, column)

    if major == "k":
        assert sheet["sbo"] == at(8, 0) - at(0, 0)  # the first 8 rows to the next 8
        assert sheet["lbo"] == (None if mode != "none" else at(0, t) - at(0, 0))
    elif mode == "none":
        assert sheet["lbo"] == at(0, 8) - at(0, 0)  # the first 8 columns to the next 8
        assert sheet["sbo"] == at(t, 0) - at(0, 0)  # a row of 128-bit elements to the next
    else:
        assert sheet["lbo"] == at(MODES[mode] // 16 * t, 0) - at(0, 0)
        assert sheet["sbo"] == at(0, 8) - at(0, 0)


@pytest.mark.parametrize(("mode", "major", "dtype", "order"), TILES)
def test_a_descriptor_with_them_reads_the_first_step_of_the_tile(mode, major, dtype, order):
    """`reads` of the descriptor gives the first columns of the tile."""
    row = INPUTS[dtype]
    _, k = extents(mode, major, dtype)
    built = find("wgmma.smem")("B", major, mode, dtype, 128, k, order)
    lbo, sbo = (16 if count is None else count for count in (built.facts["lbo"], built.facts["sbo"]))
    read = reads(Descriptor(0, lbo, sbo, Mode.of(mode)), dtype=dtype, major=major, operand="B", n=128)
    assert read.shape
    assert read.unit == "byte"
    for r, c in product(range(0, 128, 3), range(0, row.k, 3)):
        assert read.place(r, c)["m"] == built.layout.place(r, c)["m"] * row.dtype.bits // 8


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (("A", "k", "128B", "bf16", 96, 64), "every wgmma reads 64"),
        (("B", "k", "none", "bf16", 64, 24), "no whole number of wgmmas"),
        (("B", "mn", "128B", "bf16", 64, 8), "no whole number of wgmmas"),
        (("B", "k", "128B", "bf16", 12, 64), "12 rows are no whole number"),
        (("B", "k", "128B", "bf16", 64, 32), "32 elements along K"),
        (("B", "mn", "128B", "tf32", 64, 32), "K-major alone"),
        (("B", "k", "128B", "f32", 64, 32), "does not multiply f32"),
    ],
)
def test_tiles_that_no_wgmma_reads_are_refused(values, reason):
    with pytest.raises(Refused, match=reason):
        find("wgmma.smem")(*values)


def test_a_tile_of_one_pattern_has_no_next():
    facts = find("wgmma.smem")("B", "k", "128B", "bf16", 8, 64).facts
    assert (facts["lbo"], facts["sbo"]) == (None, None)
    assert "any value will do" in facts["meaning"]["sbo"]
    assert "any value" not in facts["meaning"]["lbo"]


@pytest.mark.parametrize(
    ("ask", "code", "said"),
    [
        (lambda: atom("128B", "row", "bf16"), "TW601", "'row' is no major direction"),
        (lambda: tile("128B", "K", "bf16", 64, 64), "TW601", "'K' is no major direction"),
        (lambda: tile("128B", "k", "bf16", "64", 64), "TW101", "rows must be an integer"),
        (lambda: tile("128B", "k", "bf16", 64, 64.0), "TW101", "elements along K must be an integer"),
        (lambda: canonical("128B", "k", "bf16", m="2"), "TW101", "m must be an integer"),
        (lambda: canonical("none", "k", "bf16", lbo="16"), "TW101", "LBO must be an integer"),
        (lambda: figure("wgmma", "170"), "TW101", "the number of a figure"),
        (lambda: d_fragment("f32", "64"), "TW101", "N must be an integer"),
        (lambda: Input.of("bf16").check_n(None), "TW101", "N must be an integer"),
        (lambda: Input.of("bf16").check_n(True), "TW101", "N must be an integer"),
    ],
)
def test_words_and_numbers_are_what_they_must_be(ask, code, said):
    with pytest.raises(LayoutError) as error:
        ask()
    assert error.value.code == code
    assert said in error.value.message
