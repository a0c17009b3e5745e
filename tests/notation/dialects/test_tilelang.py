"""TileLang's prints: held to what its expressions say, and to what TileLang answered itself."""

from __future__ import annotations

import gzip
import json
from itertools import product
from pathlib import Path

import pytest

from tilewise import LayoutError, R, Refused, S, Swizzle, parse, reg, tx
from tilewise.core.axes import Axis

RECORD = Path(__file__).with_name("records") / "tilelang.json.gz"
"""The answers of TileLang; tests/oracle/test_tilelang.py writes it."""


def check(text, answers):
    """Hold the layout of a text to places: offsets in a buffer, or [thread, register] of every copy."""
    layout = parse(text)
    for index, places in answers:
        found = layout.places(*index)
        if isinstance(places, int):
            assert [place["m"] for place in found] == [places], text
        else:
            assert sorted([place["tx"], place["reg"]] for place in found) == places, text


def test_what_tilelang_answered():
    recorded = json.loads(gzip.decompress(RECORD.read_bytes()))
    assert len(recorded["layouts"]) > 150
    for text, answers in recorded["layouts"].items():
        check(text, answers)
    for text in recorded["refused"]:  # Volta's: two bits of the row flip one of the offset
        with pytest.raises(Refused):
            parse(text)


def test_a_swizzle_that_is_written_as_sums_is_found():
    text = (
        "Layout((64, 64) -> (1, 8, 512), transform: (_i, _j) -> (0, _i // 8, _i % 8 * 64 + "
        "(_j // 32 + _i % 8 // 4) % 2 * 32 + (_j % 32 // 16 + _i % 4 // 2) % 2 * 16 + "
        "(_j % 16 // 8 + _i % 2) % 2 * 8 + _j % 8))"
    )
    assert parse(text) == Swizzle(3, 3, 3) @ S[(64, 64) : (64, 1)]


def test_the_result_is_row_major_on_storage():
    layout = parse(
        "Layout((48, 20) -> (16, 5, 12), transform: (_i, _j) -> (_i // 3, _j // 4, _i % 3 * 4 + _j % 4))"
    )
    for i, j in product(range(48), range(20)):
        assert layout.place(i, j)["m"] == (i // 3 * 5 + j // 4) * 12 + i % 3 * 4 + j % 4


def test_a_fragment_is_threads_registers_and_copies():
    text = (
        "Fragment((8, 8) -> (2,), replicate: 2, thread: 64, "
        "forward_thread: _i * 4 + _j // 2 + _rep * 32, forward_index: (_j % 2,))"
    )
    assert parse(text) == S[(8, (4, 2)) : (4 @ tx, (1 @ tx, 1 @ reg))] + R[2 : 32 @ tx]


def test_registers_that_are_swizzled_keep_their_copies():
    text = (
        "Fragment((4, 8) -> (32,), replicate: 2, thread: 2, forward_thread: _rep, "
        "forward_index: (_i * 8 + T.bitwise_xor(_j, _i),))"
    )
    layout = parse(text)
    assert layout.swizzles == (Swizzle(2, 0, 3, Axis("reg")),)
    for i, j in product(range(4), range(8)):
        places = [(place["tx"], place["reg"]) for place in layout.places(i, j)]
        assert sorted(places) == [(0, i * 8 + (j ^ i)), (1, i * 8 + (j ^ i))]


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("T.bitwise_and(_i, 3) + T.shift_right(_i, 2) * 4", lambda i: i),
        ("T.bitwise_or(_i * 2, 1)", lambda i: i * 2 | 1),
        ("T.bitwise_not(_i) + 16", lambda i: ~i + 16),
        ("T.shift_left(_i, 2)", lambda i: i << 2),
        ("T.if_then_else(_i < 16, _i, _i + 8)", lambda i: i),
        ("T.Select(_i >= 0, _i, 0)", lambda i: i),
        ("T.min(T.max(_i, 0), 40)", lambda i: i),
        ('T.Cast("int64", _i) * T.int64(3)', lambda i: i * 3),
        ("min(_i, 16) ^ 1", lambda i: i ^ 1),
    ],
)
def test_functions_of_tvm(expression, said):
    layout = parse(f"Layout((16,) -> (64,), transform: (_i,) -> ({expression},))")
    assert [layout.place(i)["m"] for i in range(16)] == [said(i) for i in range(16)]


def test_lists_in_brackets_and_names_with_values():
    text = "Layout([M, 64] -> [M * 64], transform: [_i, _j] -> [_i * 64 + _j])"
    text = text.replace("[_i, _j]", "(_i, _j)")
    assert parse(text, let={"M": 48}) == S[(48, 64) : (64, 1)]
    with pytest.raises(LayoutError) as error:
        parse(text)
    assert error.value.code == "TW007"


def test_nested_functions_take_no_time():
    nested = "T.min(" * 150 + "_i" + ", 3)" * 150
    parse(f"Layout((4,) -> (4,), transform: (_i,) -> ({nested},))")
