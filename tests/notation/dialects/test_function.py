"""Functions in text: read as the layout that they are."""

from __future__ import annotations

from itertools import product

import pytest

from tilewise import LayoutError, Refused, S, Swizzle, laneid, parse, reg
from tilewise.core.shapes import extents_of


def test_a_swizzled_tile():
    layout = parse("lambda i, j: i * 64 + (j ^ (i % 8) * 8)", shape=(64, 64))
    assert layout == Swizzle(3, 3, 3) @ S[(64, 64) : (64, 1)]
    for i, j in product(range(64), range(64)):
        assert layout.place(i, j)["m"] == i * 64 + (j ^ (i % 8) * 8)


def test_several_axes_by_name():
    text = "lambda i, j: {laneid: i % 8 * 4 + j % 8 // 2, reg: i // 8 * 2 + j % 2}"
    layout = parse(text, shape=(16, 8))
    assert extents_of(layout.shape) == (16, 8)
    for i, j in product(range(16), range(8)):
        assert layout.place(i, j) == {"laneid": i % 8 * 4 + j % 8 // 2, "reg": i // 8 * 2 + j % 2}
    assert parse('lambda i: {"tx": i % 4, "reg": i // 4}', shape=8).place(5) == {"tx": 1, "reg": 1}


def test_odd_extents_names_and_a_nested_shape():
    layout = parse("lambda x, y: x // P + x % P * 7 + y * Q", shape=((7, 5), 3), let={"P": 5, "Q": 36})
    assert layout == S[((7, 5), 3) : ((1, 7), 36)]


def test_the_first_element_that_no_layout_has_is_the_witness():
    with pytest.raises(Refused) as refused:
        parse("lambda i, j: i * 32 + j + (i == 40 and j == 7)", shape=(64, 32))
    assert refused.value.code == "TW510"
    assert refused.value.witness == (40, 7)
    assert "puts it at 1287@m" in refused.value.hint


def test_owners_are_not_swizzled():
    assert parse("lambda i: {laneid: i ^ 0}", shape=4) == S[4 : 1 @ laneid]
    with pytest.raises(Refused):
        parse("lambda i: {laneid: i ^ i // 2}", shape=4)
    assert parse("lambda i: {laneid: 3, reg: i}", shape=4).same(S[4 : 1 @ reg] + 3 @ laneid).answer


def test_it_is_read_and_not_written():
    from tilewise.notation.dialects import DIALECTS, Given, write

    with pytest.raises(LayoutError) as error:
        write(DIALECTS["function"], S[8:1], Given())
    assert error.value.code == "TW008"


def test_beyond_a_list_the_refusal_says_what_to_do():
    with pytest.raises(LayoutError) as error:
        parse("lambda i, j: i * 4096 + j", shape=(4096, 4096))
    assert error.value.code == "TW301"
    assert "ask about a tile" in error.value.hint
