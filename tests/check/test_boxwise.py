"""Two parts of a tile, box by box, and what `agree` and `match` say where digits of the two cross."""

from __future__ import annotations

import random

import pytest

from tilewise import Layout, parse
from tilewise.check.agree import agree, boxwise
from tilewise.check.match import match
from tilewise.core.algebra.slicing import Piece
from tilewise.core.vectors import as_vector

WIDE, PLAIN = "0x4002000800800000", "0x0008008000080000"


def random_piece(rng, rows, columns):
    """Digits that divide the extents, with strides of any size."""
    digits = [
        rng.choice([(rows,), (2, rows // 2), (3, rows // 3)]),
        rng.choice([(columns,), (2, columns // 2)]),
    ]
    strides = tuple(as_vector(rng.randrange(50)) for mode in digits for _ in mode)
    corner = rng.randrange(5), rng.randrange(5)
    box = tuple((first, first + extent) for first, extent in zip(corner, (rows, columns), strict=True))
    return Piece(box, Layout(tuple(digits), strides))


def at(piece, index):
    return piece.layout.place(*(i - first for i, (first, _) in zip(index, piece.box, strict=True)))


def elements(box):
    (top, bottom), (left, right) = box
    return [(row, column) for row in range(top, bottom) for column in range(left, right)]


@pytest.mark.parametrize("seed", range(3))
def test_boxes_cover_the_region_and_both_layouts_are_those_of_the_parts(seed):
    rng = random.Random(seed)
    for _ in range(40):
        one, other = random_piece(rng, 12, 8), random_piece(rng, 18, 8)
        region = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(one.box, other.box, strict=True))
        seen = []
        for box, here, there in boxwise(one, other, region):
            corner = Piece(box, here), Piece(box, there)
            for index in elements(box):
                assert (at(corner[0], index), at(corner[1], index)) == (at(one, index), at(other, index))
            seen += elements(box)
        assert sorted(seen) == elements(region)


@pytest.mark.parametrize(
    ("writer", "reader", "dtype", "index"),
    [
        (
            "Swizzle<3,2,3> o S[((3, 9), 8) : ((512, 32), 1)]",
            f"descriptor({WIDE}, B, k, n=24)",
            "tf32",
            (0, 0),
        ),
        (
            "S[((2, 8), (8, 3, 2, 2)) : ((128, 16), (2, 512, 256, 1))]",
            f"descriptor({PLAIN}, B, n=16)",
            "s8",
            (0, 2),
        ),
        ("S[(8, (12, 2)) : (32, (2, 1))]", "S[(8, (3, 7)) : (32, (7, 1))]", "s8", None),
        ("S[(8, (4, 8)) : (32, (9, 1))]", "S[(8, (4, 7)) : (32, (7, 1))]", "s8", (0, 8)),
    ],
)
def test_the_first_element_where_the_digits_of_writer_and_reader_cross(writer, reader, dtype, index):
    found = agree(writer, reader, dtype=dtype)
    assert found.answer is (index is None)
    if index is not None:
        assert found.first.index == index


def test_rows_that_end_inside_an_atom_under_digits_of_three():
    """96 rows MN-major are an atom and a half, the layout's digits thirds of them."""
    tile = parse("Swizzle<3,3,3> o S[((2, 3, 8, 2), (2, 8)) : ((1664, 16, 2, 1), (576, 64))]")
    found = match(tile, operand="B", dtype="f16")
    assert found.legal
    assert (found.mode.name, found.major, found.instruction[1], found.sbo) == ("128B", "mn", 48, 1152)
